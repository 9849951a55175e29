//! The world as the engine sees it: a database, a clock, randomness. Each host lends its own.

use statewright_core::ids::Millis;

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Param {
    /// SQL null.
    Null,
    /// An integer within ±2^53, so that every host can carry it.
    Integer(i64),
    /// A text without NUL.
    Text(String),
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Param {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<Millis> for Param {
    fn from(time: Millis) -> Self {
        Self::Integer(time.0)
    }
}

/// One statement with its parameters `?1`, `?2`, ….
///
/// Every `SELECT` and `RETURNING` of the engine gives exactly one text column: a JSON array of what it found. So a
/// row crosses into a host and out of it as one string, and no number is altered on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The SQL. A fixed text: hosts may cache it prepared.
    pub sql: &'static str,
    /// The parameters in order.
    pub params: Vec<Param>,
}

impl Statement {
    /// A statement and its parameters.
    pub fn new<const N: usize>(sql: &'static str, params: [Param; N]) -> Self {
        Self {
            sql,
            params: params.into(),
        }
    }
}

/// What can go wrong with a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// A constraint or a `RAISE` refused it: for certain, nothing of it was committed.
    #[error("{0}")]
    Constraint(String),
    /// Anything else: it may have been committed or not.
    #[error("{0}")]
    Uncertain(String),
}

/// A database that runs a batch of statements atomically.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on their host's thread; a host that needs Send wraps them"
)]
pub trait Database {
    /// Runs the statements in order, in one transaction, all or nothing. Gives for each the text column of its rows;
    /// none for a statement that returns none.
    ///
    /// # Errors
    /// [`DatabaseError::Constraint`] only where nothing was committed for certain.
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError>;
}

/// A clock.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on their host's thread; a host that needs Send wraps them"
)]
pub trait Clock {
    /// The time now. May step back; the engine never moves a timer to fire early for it.
    fn now(&self) -> Millis;

    /// Waits.
    async fn sleep(&self, millis: u64);
}

/// Randomness that nobody can guess.
pub trait Random {
    /// Sixteen random bytes.
    fn bytes(&self) -> [u8; 16];
}

/// A random name for a commit or an incarnation: 96 bits as 16 characters, since it stands in every index.
pub(crate) fn random_name(random: &(impl Random + ?Sized)) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |six: u32| char::from(DIGITS.get(six as usize & 63).copied().unwrap_or(b'-'));
    let bytes = random.bytes();
    let threes = bytes.chunks_exact(3).take(4);
    threes
        .map(|three| {
            three
                .iter()
                .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
        })
        .flat_map(|bits| [18, 12, 6, 0].map(|shift| digit(bits >> shift)))
        .collect()
}

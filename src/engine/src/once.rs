//! One request, one effect: receipts of requests with an Idempotency-Key, of webhooks by their delivery ids, and of effects
//! that send events (design 5, S4.90 to S4.112).
//!
//! The receipt is a row of the effect's own batch. A twin that comes second loses its batch, finds the receipt at its next
//! read, and answers what it says.

use std::cell::{Cell, RefCell};

use serde_json::Value;
use statewright_core::code::Code;
use statewright_core::error::Error as Core;
use statewright_core::ids::TenantId;
use statewright_core::sorted::{Gather, SortedMap};

use crate::Engine;
use crate::cache::content_hash;
use crate::database::{Clock, Database, DatabaseError, Random, Statement};
use crate::error::Error;
use crate::evaluate::ROW_NUMBERS;
use crate::load::{decode, text};
use crate::outbound::Outbound;

/// How long receipts of Idempotency-Keys are kept (S4.100).
pub const KEPT_MS: i64 = 7 * 86_400_000;
/// How long those of webhooks are kept, and those of effects at least.
pub(crate) const KEPT_LONG_MS: i64 = 30 * 86_400_000;
/// Most characters of an Idempotency-Key (S4.99).
const MOST_KEY: usize = 255;
/// Most bytes of an answer that is kept: a row has at most 2 MB.
const MOST_ANSWER_BYTES: usize = 1_500_000;

/// What became of a key: tenant, key, scope.
pub(crate) const RECEIPT: &str = "SELECT json_array(fingerprint, status, answer, numbers, commit_id, expires_at) FROM inbox \
     WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND part = -1";

/// Keeps a receipt: [tenant, key, scope, fingerprint, status, answer, numbers, outcome, uid, commit, created, expires].
pub(crate) const KEEP: &str = "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, answer, numbers, outcome, \
       uid, commit_id, created_at, expires_at) \
     SELECT ?1->>0, ?1->>1, ?1->>2, -1, ?1->>3, ?1->>4, ?1->>5, ?1->>6, ?1->>7, ?1->>8, ?1->>9, ?1->>10, ?1->>11";

/// Makes room for a receipt where an expired one stands.
pub(crate) const EXPIRE: &str =
    "DELETE FROM inbox WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND expires_at <= ?4";

/// Purges expired receipts, the oldest first.
pub(crate) const PURGE: &str = "DELETE FROM inbox WHERE (tenant, key, scope, part) IN ( \
       SELECT tenant, key, scope, part FROM inbox WHERE expires_at <= ?1 AND (status <> 0 OR expires_at <= ?1 - 604800000) \
       ORDER BY expires_at LIMIT 5000)";

/// A request that is to have one effect, however often it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    pub(crate) key: String,
    pub(crate) scope: String,
    pub(crate) fingerprint: String,
    pub(crate) kept_ms: i64,
    /// The HTTP status of a success.
    pub(crate) success: u16,
}

impl Once {
    /// A request by its Idempotency-Key (S4.97 to S4.99). `scope` is the method and the path as it was sent; the query and the
    /// body are what a twin must have the same. `success` is the status that the route answers with when all is well.
    ///
    /// # Errors
    /// The key is not 1 to 255 printable ASCII characters.
    pub fn request(key: &str, scope: &str, query: &str, body: &[u8], success: u16) -> Result<Self, Error> {
        if !is_key(key) {
            return Err(Error::invalid(
                "Idempotency-Key",
                "it is no key",
                "1 to 255 printable ASCII characters",
            ));
        }
        Ok(Self {
            key: key.to_owned(),
            scope: scope.to_owned(),
            fingerprint: fingerprint(query, body),
            kept_ms: KEPT_MS,
            success,
        })
    }

    /// What a name given from outside identifies: a webhook's delivery, an effect. A name that is no key stands as its hash.
    pub(crate) fn named(scope: String, name: &str, fingerprint: String, kept_ms: i64) -> Self {
        let key = if is_key(name) {
            name.to_owned()
        } else {
            content_hash(name)
        };
        Self {
            key,
            scope,
            fingerprint,
            kept_ms,
            success: 200,
        }
    }
}

fn is_key(text: &str) -> bool {
    (1..=MOST_KEY).contains(&text.len()) && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
}

/// What two requests have the same exactly when they ask for the same: the query, and the body as JSON whatever its spaces
/// and the order of its keys (S4.98).
pub(crate) fn fingerprint(query: &str, body: &[u8]) -> String {
    let canonical = match serde_json::from_slice::<Value>(body) {
        // Maps keep their keys sorted.
        Ok(value) if !has_long_number(body) => value.to_string(),
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    content_hash(&format!("{query}\n{canonical}"))
}

/// Whether a number may have more digits than its value keeps: then the bytes themselves are what is the same. A long run of
/// digits within a text is taken for one too, which costs nothing but being exact.
fn has_long_number(body: &[u8]) -> bool {
    let mut run = 0_usize;
    body.iter().any(|byte| {
        let counts = byte.is_ascii_digit() || *byte == b'.';
        run = if counts { run.saturating_add(1) } else { 0 };
        run > 15
    })
}

/// An answer that was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its HTTP status.
    pub status: u16,
    /// Its body as JSON; none for a 204.
    pub answer: Option<String>,
}

/// What a receipt says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Receipt {
    /// The HTTP status of the answer, where it is not the route's usual one.
    pub(crate) status: Option<u16>,
    pub(crate) answer: Option<String>,
    /// Where ids of history rows belong in the answer, which are not known before they are written: JSON pointer, incarnation,
    /// identity key.
    pub(crate) numbers: Vec<(String, String, String)>,
    pub(crate) outcome: &'static str,
    /// The incarnation that it tells of: deleting it forgets the receipt (R17).
    pub(crate) uid: Option<String>,
    pub(crate) commit_id: Option<String>,
}

/// How a request came here, and what it may do only once.
#[derive(Debug, Default)]
pub struct Scope {
    pub(crate) keyed: Option<Keyed>,
    /// Who asked.
    pub(crate) origin: Origin,
}

/// Who caused a transition (S0.37, S0.41).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Origin {
    /// `api`, `timer`, `hook:…` or `effect:…`.
    pub source: String,
    /// The operation.
    pub stack: String,
    /// The request's id.
    pub trace: String,
    /// What the caller says it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How many effects led here, one by the other.
    #[serde(skip)]
    pub hops: u32,
}

/// A request that is to have one effect, on its way.
#[derive(Debug)]
pub(crate) struct Keyed {
    pub(crate) once: Once,
    pub(crate) tenant: RefCell<String>,
    /// Whether the receipt is written.
    pub(crate) written: Cell<bool>,
    /// Whether it could be looked for.
    pub(crate) looked: Cell<bool>,
    /// Whether an expired receipt stands in its place.
    pub(crate) expired: Cell<bool>,
    /// What became of an event that wrote nothing.
    pub(crate) outcome: Cell<Option<&'static str>>,
    /// The incarnation that it met: deleting it forgets the receipt (R17).
    pub(crate) uid: RefCell<Option<String>>,
}

impl Keyed {
    pub(crate) fn new(once: Once, tenant: Option<&TenantId>) -> Self {
        Self {
            once,
            tenant: RefCell::new(
                tenant
                    .map(|tenant| tenant.as_str().to_owned())
                    .unwrap_or_default(),
            ),
            written: Cell::new(false),
            looked: Cell::new(false),
            expired: Cell::new(false),
            outcome: Cell::new(None),
            uid: RefCell::default(),
        }
    }

    /// Tenant, key and scope.
    pub(crate) fn names(&self) -> [String; 3] {
        let tenant = self.tenant.borrow().clone();
        [tenant, self.once.key.clone(), self.once.scope.clone()]
    }

    pub(crate) fn look_up(&self) -> Statement {
        let tenant = self.tenant.borrow();
        let (key, scope) = (self.once.key.as_str(), self.once.scope.as_str());
        Statement::new(RECEIPT, [tenant.as_str().into(), key.into(), scope.into()])
    }

    /// The statements that keep a receipt, or that it is too large.
    fn keep(&self, status: u16, receipt: &Receipt, now: i64) -> Vec<Statement> {
        let tenant = self.tenant.borrow();
        let Once { key, scope, .. } = &self.once;
        let mut statements = Vec::new();
        if self.expired.get() {
            let params = [
                tenant.as_str().into(),
                key.as_str().into(),
                scope.as_str().into(),
                now.into(),
            ];
            statements.push(Statement::new(EXPIRE, params));
        }
        let numbers = (!receipt.numbers.is_empty())
            .then(|| serde_json::to_string(&receipt.numbers).unwrap_or_default());
        let row = serde_json::json!([
            *tenant,
            key,
            scope,
            self.once.fingerprint,
            status,
            receipt.answer,
            numbers,
            receipt.outcome,
            receipt.uid,
            receipt.commit_id,
            now,
            now.saturating_add(self.once.kept_ms),
        ]);
        statements.push(Statement::new(KEEP, [row.to_string().into()]));
        statements
    }
}

impl Origin {
    /// What happens by itself: a timeout, in a pass or request of that id. No effect led to it.
    pub(crate) fn timer(trace: &str) -> Self {
        Self {
            source: "timer".to_owned(),
            stack: "tick".to_owned(),
            trace: trace.to_owned(),
            run: None,
            hops: 0,
        }
    }
}

impl Scope {
    /// One effect for one name, from `origin`.
    pub(crate) fn once(once: Once, tenant: &TenantId, origin: Origin) -> Self {
        Self {
            keyed: Some(Keyed::new(once, Some(tenant))),
            origin,
        }
    }

    /// Says whose request it is, where the host did not know.
    pub(crate) fn of_tenant(&self, tenant: &TenantId) {
        if let Some(keyed) = &self.keyed {
            tenant.as_str().clone_into(&mut keyed.tenant.borrow_mut());
        }
    }
}

/// Whether an answer can be kept: looked at before what it tells of is written.
pub(crate) fn check_receipt(receipt: &Receipt) -> Result<(), Error> {
    let bytes = receipt.answer.as_ref().map_or(0, String::len);
    if bytes > MOST_ANSWER_BYTES {
        return Err(Error::Core(Core::TooLarge {
            what: "the answer, which an Idempotency-Key keeps,",
            bytes,
            most: MOST_ANSWER_BYTES,
        }));
    }
    Ok(())
}

type ReceiptRow = (String, u16, Option<String>, Option<String>, Option<String>, i64);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Runs a batch that only reads: a failure changed nothing. Where the request has a key, its receipt is looked for in the same
    /// batch.
    ///
    /// # Errors
    /// The database failed; or the request was answered before ([`Error::Replayed`]), or asks for something else
    /// under the same key.
    pub(crate) async fn read_in(
        &self,
        scope: &Scope,
        mut statements: Vec<Statement>,
    ) -> Result<Vec<Vec<String>>, Error> {
        let Some(keyed) = scope.keyed.as_ref().filter(|keyed| !keyed.written.get()) else {
            return self.run(statements).await;
        };
        statements.push(keyed.look_up());
        let mut results = match self.run(statements).await {
            Ok(results) => results,
            Err(_) if !keyed.looked.get() => return Err(Error::InboxUnavailable),
            Err(error) => return Err(error),
        };
        keyed.looked.set(true);
        if let Some(row) = results.pop().unwrap_or_default().first() {
            self.look_at(keyed, row).await?;
        }
        Ok(results)
    }

    async fn run(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, Error> {
        let failed = |error| match error {
            DatabaseError::Constraint(message) | DatabaseError::Uncertain(message) => {
                Error::Database(message)
            }
        };
        self.batch(statements).await.map_err(failed)
    }

    /// A receipt that stands: its answer, or that it is another request's.
    async fn look_at(&self, keyed: &Keyed, row: &str) -> Result<(), Error> {
        let (fingerprint, status, answer, numbers, commit_id, expires): ReceiptRow = decode(row)?;
        if expires <= self.clock.now().0 {
            keyed.expired.set(true);
            return Ok(());
        }
        if fingerprint != keyed.once.fingerprint {
            return Err(Error::IdempotencyMismatch(keyed.once.key.clone()));
        }
        if status == 0 {
            return Err(Error::IdempotencyInFlight(keyed.once.key.clone()));
        }
        let answer = match (answer, numbers) {
            (Some(answer), Some(numbers)) => {
                Some(self.numbered_answer(answer, &numbers, commit_id.as_deref()).await)
            }
            (answer, _) => answer,
        };
        Err(Error::Replayed(Box::new(Replay { status, answer })))
    }

    /// A kept answer with the ids that its history rows got.
    pub(crate) async fn numbered_answer(
        &self,
        answer: String,
        numbers: &str,
        commit_id: Option<&str>,
    ) -> String {
        let kept = vec![(
            answer,
            numbers.to_owned(),
            commit_id.unwrap_or_default().to_owned(),
        )];
        self.numbered_answers(kept).await.pop().unwrap_or_default()
    }

    /// Kept answers with the ids that their history rows got: answer, [`Receipt::numbers`] and commit of each. One statement for each
    /// commit.
    pub(crate) async fn numbered_answers(&self, kept: Vec<(String, String, String)>) -> Vec<String> {
        let mut places: Vec<Vec<(String, String, String)>> = Vec::with_capacity(kept.len());
        let mut rows: SortedMap<&str, Vec<(String, String)>> = SortedMap::new();
        for (_, numbers, commit_id) in &kept {
            let numbers: Vec<(String, String, String)> = serde_json::from_str(numbers).unwrap_or_default();
            let of_commit = rows.or_insert_with(commit_id, Vec::new);
            of_commit.extend(numbers.iter().map(|(_, uid, key)| (uid.clone(), key.clone())));
            places.push(numbers);
        }
        let statements = rows
            .iter()
            .map(|(commit_id, rows)| Statement::new(ROW_NUMBERS, [text(rows), (*commit_id).into()]));
        // That they cannot be read must not hide what became of the request.
        let results = self.run(statements.collect()).await.unwrap_or_default();
        let found = results.iter().flatten().filter_map(|row| {
            let (uid, key, id): (String, String, u64) = decode(row).ok()?;
            Some(((uid, key), id))
        });
        let found: SortedMap<(String, String), u64> = found.gather();
        let mut answers = Vec::with_capacity(kept.len());
        for ((answer, ..), places) in kept.into_iter().zip(places) {
            let Ok(mut value) = serde_json::from_str::<Value>(&answer) else {
                answers.push(answer);
                continue;
            };
            for (pointer, uid, key) in places {
                if let (Some(place), Some(id)) = (value.pointer_mut(&pointer), found.get(&(uid, key))) {
                    *place = (*id).into();
                }
            }
            answers.push(value.to_string());
        }
        answers
    }

    /// Runs a batch that writes, with the receipt of a request that has a key.
    ///
    /// # Errors
    /// As the database's; where a twin came first, [`DatabaseError::Constraint`]: the next read finds its receipt.
    pub(crate) async fn write_in(
        &self,
        scope: &Scope,
        mut statements: Vec<Statement>,
        receipt: &dyn Fn() -> Receipt,
    ) -> Result<Vec<Vec<String>>, DatabaseError> {
        let Some(keyed) = &scope.keyed else {
            return self.batch(statements).await;
        };
        let wanted = statements.len();
        let receipt = receipt();
        let status = receipt.status.unwrap_or(keyed.once.success);
        statements.extend(keyed.keep(status, &receipt, self.clock.now().0));
        let mut results = self.batch(statements).await?;
        results.truncate(wanted);
        keyed.written.set(true);
        Ok(results)
    }

    /// Keeps the answer of a request that wrote nothing: a refusal that stands, an event that moved nothing (S4.96). To be called
    /// by the host with every answer of a request with a key; it does nothing where the receipt is written, or is not
    /// to be kept: answers that invite a retry, failures, and what could not be understood.
    ///
    /// # Errors
    /// A twin came first: its answer; or the receipt could not be kept.
    pub async fn settle(&self, status: u16, code: Option<Code>, body: Option<&str>) -> Result<(), Error> {
        self.settle_in(&self.scope, status, code, body).await
    }

    pub(crate) async fn settle_in(
        &self,
        scope: &Scope,
        status: u16,
        code: Option<Code>,
        body: Option<&str>,
    ) -> Result<(), Error> {
        let Some(keyed) = scope.keyed.as_ref().filter(|keyed| !keyed.written.get()) else {
            return Ok(());
        };
        let passing = code.is_some_and(|code| code.retry() || code.status() >= 500);
        if passing || matches!(status, 400 | 401 | 405 | 413 | 415 | 422) || !keyed.looked.get() {
            return Ok(());
        }
        let receipt = Receipt {
            answer: body
                .filter(|body| body.len() <= MOST_ANSWER_BYTES)
                .map(str::to_owned),
            outcome: match code {
                None => keyed.outcome.get().unwrap_or("applied"),
                Some(code) if code.status() == 409 => "conflict",
                Some(_) => "refused",
            },
            uid: keyed.uid.take(),
            ..Receipt::default()
        };
        let statements = keyed.keep(status, &receipt, self.clock.now().0);
        match self.batch(statements).await {
            Ok(_) => {
                keyed.written.set(true);
                Ok(())
            }
            // A twin came first.
            Err(DatabaseError::Constraint(_)) => {
                self.read_in(scope, Vec::new()).await?;
                Err(Error::InboxUnavailable)
            }
            Err(DatabaseError::Uncertain(_)) => Err(Error::InboxUnavailable),
        }
    }
}

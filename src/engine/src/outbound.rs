//! The way out as the engine sees it: HTTP requests, queues, and a vault for secrets. Each host lends its own.

/// A request to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundRequest {
    /// GET, POST, PUT, PATCH or DELETE.
    pub method: &'static str,
    /// The address; it was checked.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<String>,
    /// How long an answer is waited for.
    pub timeout_ms: u64,
    /// Whether the body of an acceptance is wanted too.
    pub wants_body: bool,
}

/// What came back. Redirects are not followed: they come back as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundResponse {
    /// The HTTP status.
    pub status: u16,
    /// The header Retry-After.
    pub retry_after: Option<String>,
    /// The first bytes of the body as text, at most [`MOST_BODY_BYTES`]; hosts may leave that of an acceptance out.
    pub body: String,
}

/// How much of an answer's body is kept.
pub const MOST_BODY_BYTES: usize = 1024;

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendFailure {
    /// No answer in time.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// No connection, or it broke.
    #[error("{0}")]
    Failed(String),
}

/// What the vault cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultFailure {
    /// The host has no key.
    #[error("the service has no SECRETS_KEY")]
    NoKey,
    /// What is to be opened was sealed with another key, for another name, or altered.
    #[error("the sealed value cannot be opened: {0}")]
    Sealed(String),
}

/// Seals secrets so that the database never holds them in the clear.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on their host's thread; a host that needs Send wraps them"
)]
pub trait Vault {
    /// Seals a value for one use, named by `context`, which is authenticated with it.
    ///
    /// # Errors
    /// There is no key.
    async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure>;

    /// Opens what [`Vault::seal`] gave for the same context.
    ///
    /// # Errors
    /// There is no key, or the value was not sealed so.
    async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure>;
}

/// Sends what leaves the service.
#[expect(
    async_fn_in_trait,
    reason = "futures stay on their host's thread; a host that needs Send wraps them"
)]
pub trait Outbound: Vault {
    /// Whether it sends at all. Where it does not, effects wait in the outbox.
    fn sends(&self) -> bool {
        true
    }

    /// Sends one request and gives what came back, whatever its status.
    ///
    /// # Errors
    /// Nothing came back.
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, SendFailure>;

    /// Puts a message into the queue of a binding.
    ///
    /// # Errors
    /// There is no such queue, or it does not take the message.
    async fn enqueue(&self, binding: &str, message: &str) -> Result<(), SendFailure>;
}

/// No way out: effects wait in the outbox, and secrets are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Closed;

impl Vault for Closed {
    async fn seal(&self, _: &str, _: &str) -> Result<String, VaultFailure> {
        Err(VaultFailure::NoKey)
    }

    async fn open(&self, _: &str, _: &str) -> Result<String, VaultFailure> {
        Err(VaultFailure::NoKey)
    }
}

impl Outbound for Closed {
    fn sends(&self) -> bool {
        false
    }

    async fn send(&self, _: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        Err(SendFailure::Failed("this host sends nothing".to_owned()))
    }

    async fn enqueue(&self, _: &str, _: &str) -> Result<(), SendFailure> {
        Err(SendFailure::Failed("this host has no queues".to_owned()))
    }
}

//! What an operation may answer instead of its result, and how that is told.

use serde::Serialize;
use serde_json::{Value, json};
use statewright_core::code::Code;
use statewright_core::commit::Refusal;
use statewright_core::error::{Error as Core, body_of};

use crate::once::Replay;
use crate::records::StateError;

/// An error of an operation. [`Error::code`] gives its code, and with it the HTTP status and whether to retry.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// What is so wherever an operation runs: a part of the request is wrong, the event is refused, …
    #[error("{0}")]
    Core(#[from] Core),
    /// What the events of a batch write and answer has reached its bound.
    #[error(
        "the other events of the batch write and answer about {most} bytes, which is the most for one; send this one in \
         another"
    )]
    BatchFull {
        /// The bound.
        most: usize,
    },
    /// A revision of a machine is unknown.
    #[error("machine `{machine}` has no revision {revision}")]
    NoRevision {
        /// The machine.
        machine: String,
        /// The revision.
        revision: u64,
    },
    /// Live entities are where a new revision has no place for them (design 6).
    #[error(
        "live entities of machine `{machine}` are in states that the new revision does not have; \
         move them first, keep the states, or leave them on their revision with in_flight=pin"
    )]
    LiveStates {
        /// The machine.
        machine: String,
        /// Where they are.
        live: Vec<LiveState>,
    },
    /// The database has another schema version.
    #[error("the database has schema version {found}, this program needs {needed}; {}", upgrade(*found, *needed))]
    SchemaMismatch {
        /// The version found; 0 for none.
        found: i64,
        /// The version needed.
        needed: i64,
    },
    /// Other writers won until the time for this request was over (M13).
    #[error(
        "other writers kept changing what this request was decided on, for {seconds} seconds; send it again"
    )]
    Contention {
        /// How long it was tried.
        seconds: u64,
    },
    /// The entity was deleted while the event was being applied.
    #[error(
        "entity `{entity}` was deleted while the event was being applied; send the event again to start a new one"
    )]
    DeletedMeanwhile {
        /// The entity.
        entity: String,
    },
    /// The Idempotency-Key was used with another request (S4.92).
    #[error("the Idempotency-Key `{0}` was used with another request; send the same one, or another key")]
    IdempotencyMismatch(String),
    /// A batch with that Idempotency-Key is under way (S4.93).
    #[error("a batch with the Idempotency-Key `{0}` is under way; send it again to learn what became of it")]
    IdempotencyInFlight(String),
    /// What became of Idempotency-Keys cannot be read (S4.104).
    #[error("what became of Idempotency-Keys cannot be read; nothing was applied, send it again")]
    InboxUnavailable,
    /// The request was answered before: this is its answer again. No failure.
    #[error("the request was answered before")]
    Replayed(Box<Replay>),
    /// A webhook is of no source, or not signed as its source asks for: which of these is not told.
    #[error("there is no such source, or the request is not signed with its secret")]
    Unauthorized,
    /// A thing of that kind and name is unknown.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A tenant has as many of these as it may have.
    #[error("the tenant has {most} {what}, which is the most; delete one first")]
    LimitReached {
        /// What kind of thing.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// The status of an outbox row does not allow what is asked for.
    #[error("the outbox row `{id}` is {status}; {expected}")]
    OutboxStatus {
        /// The row.
        id: String,
        /// Its status.
        status: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The service has no key to keep secrets with, or they were sealed with another.
    #[error(
        "secrets cannot be kept or read: {0}; the operator sets SECRETS_KEY (npx wrangler secret put SECRETS_KEY)"
    )]
    SecretsDisabled(String),
    /// The operator's settings are wrong or against each other.
    #[error("the service is misconfigured: {}", .0.join("; "))]
    Misconfigured(Vec<String>),
    /// An operation of state records is refused (S0.11 to S0.27).
    #[error("{0}")]
    State(#[from] StateError),
    /// The database failed, and whether it had committed could not be found out in time.
    #[error("the database failed: {0}")]
    Database(String),
}

/// Live entities in a state that a new revision lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LiveState {
    /// The region.
    pub region: String,
    /// The state; null for a region that the new revision adds, in which they have no entry.
    pub state: Option<String>,
    /// How many entities, counted up to 1,000.
    pub entities: u64,
}

fn upgrade(found: i64, needed: i64) -> &'static str {
    if found < needed {
        "apply the migrations"
    } else {
        "deploy the newer program"
    }
}

impl Error {
    /// A part of the request is wrong.
    pub fn invalid(path: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Core(Core::invalid(path, problem, expected))
    }

    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Core(error) => error.code(),
            Self::BatchFull { .. } => Code::PayloadTooLarge,
            Self::NoRevision { .. } | Self::Unknown { .. } => Code::NotFound,
            Self::Contention { .. }
            // Hosts answer what it holds.
            | Self::Replayed(_)
            | Self::DeletedMeanwhile { .. } => Code::Conflict,
            Self::LiveStates { .. } => Code::LiveStates,
            Self::SchemaMismatch { .. } => Code::SchemaMismatch,
            Self::Database(_) => Code::InternalError,
            Self::IdempotencyMismatch(_) => Code::IdempotencyMismatch,
            Self::IdempotencyInFlight(_) => Code::IdempotencyInFlight,
            Self::InboxUnavailable => Code::InboxUnavailable,
            Self::Unauthorized => Code::Unauthorized,
            Self::LimitReached { .. } => Code::LimitReached,
            Self::OutboxStatus { .. } => Code::OutboxStatus,
            Self::SecretsDisabled(_) => Code::SecretsDisabled,
            Self::Misconfigured(_) => Code::Misconfigured,
            Self::State(error) => error.code(),
        }
    }

    /// The HTTP status of its code.
    pub fn status(&self) -> u16 {
        self.code().status()
    }

    /// The body of the answer: `{"error":{"code","message","retry",…}}` (S2.262).
    pub fn body(&self) -> Value {
        if let Self::Core(error) = self {
            return json!({ "error": error.body() });
        }
        let mut error = body_of(self.code(), &self.to_string());
        match self {
            Self::LiveStates { live, .. } => {
                error.insert("live".to_owned(), json!(live));
            }
            Self::State(refused) => refused.describe(&mut error),
            _ => {}
        }
        json!({ "error": error })
    }
}

impl Error {
    /// The body as JSON text: what it tells of a stored record is so to the digit.
    pub fn text(&self) -> String {
        let mut body = self.body();
        let current = match self {
            Self::State(refused) => refused.current(),
            _ => None,
        };
        let Some(current) = current.and_then(|current| serde_json::to_string(current).ok()) else {
            return body.to_string();
        };
        if let Some(Value::Object(error)) = body.get_mut("error") {
            error.remove("current");
        }
        let text = body.to_string();
        let rest = text.strip_suffix("}}").unwrap_or(&text);
        format!("{rest},\"current\":{current}}}}}")
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Core(refusal.into())
    }
}

/// The body of an error that a host answers by itself, such as an unknown route.
pub fn error_body(code: Code, message: &str) -> Value {
    json!({ "error": body_of(code, message) })
}

//! What an operation may answer instead of its result, and how that is told.

use serde::Serialize;
use serde_json::{Map, Value, json};
use statewright_core::code::Code;
use statewright_core::commit::Refusal;
use statewright_core::fault::Fault;

use crate::once::Replay;
use crate::records::StateError;

/// An error of an operation. [`Error::code`] gives its code, and with it the HTTP status and whether to retry.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A part of the request is wrong.
    #[error("{path}: {problem}; expected {expected}")]
    Invalid {
        /// The JSON path, the parameter or the header.
        path: String,
        /// What is wrong.
        problem: String,
        /// What would be right.
        expected: String,
    },
    /// The definition has faults (S2.39).
    #[error("{}", summary(.0))]
    InvalidDefinition(Vec<Fault>),
    /// The request is larger than a bound.
    #[error("{what} has {bytes} bytes; at most {most} are allowed")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// What the events of a batch write and answer has reached its bound.
    #[error(
        "the other events of the batch write and answer about {most} bytes, which is the most for one; send this one in \
         another"
    )]
    BatchFull {
        /// The bound.
        most: usize,
    },
    /// A machine of that id is unknown.
    #[error("there is no machine `{0}`")]
    NoMachine(String),
    /// A revision of a machine is unknown.
    #[error("machine `{machine}` has no revision {revision}")]
    NoRevision {
        /// The machine.
        machine: String,
        /// The revision.
        revision: u64,
    },
    /// An entity of that id is unknown.
    #[error("machine `{machine}` has no entity `{entity}`")]
    NoEntity {
        /// The machine.
        machine: String,
        /// The entity.
        entity: String,
    },
    /// A machine of that id exists (S2.50).
    #[error("machine `{0}` exists; replace it with PUT")]
    MachineExists(String),
    /// An entity of that id exists (S2.236).
    #[error("machine `{machine}` has an entity `{entity}` already")]
    EntityExists {
        /// The machine.
        machine: String,
        /// The entity.
        entity: String,
    },
    /// A machine with entities cannot be deleted (S2.53).
    #[error("machine `{0}` has entities; delete them first")]
    HasEntities(String),
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
    /// A managed child that its parent needs is not deleted by itself (R9a).
    #[error(
        "`{entity}` is a child that its parent needs, alive or to wake with it; delete that one, or move it out of the \
         child's state"
    )]
    InstanceActive {
        /// The child.
        entity: String,
    },
    /// The core refuses the event.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// More timeouts are due than one request applies (M5).
    #[error(
        "more than {most} timeouts of the entity were due; the first {most} were applied, send the event again"
    )]
    TimeoutsPending {
        /// The bound.
        most: usize,
    },
    /// Stored rows cannot be read (M8).
    #[error("the stored rows of {what} cannot be read: {problem}")]
    Corrupt {
        /// Whose.
        what: String,
        /// Why.
        problem: String,
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

fn summary(faults: &[Fault]) -> String {
    let Some(first) = faults.first() else {
        return "the definition is invalid".to_owned();
    };
    let more = match faults.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (and 1 more fault)".to_owned(),
        more => format!(" (and {more} more faults)"),
    };
    format!(
        "{}: {}; expected {}{more}",
        first.path, first.problem, first.expected
    )
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
        Self::Invalid {
            path: path.into(),
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } | Self::InvalidDefinition(_) => Code::BadRequest,
            Self::TooLarge { .. } | Self::BatchFull { .. } => Code::PayloadTooLarge,
            Self::NoMachine(_) | Self::NoRevision { .. } | Self::NoEntity { .. } | Self::Unknown { .. } => {
                Code::NotFound
            }
            Self::MachineExists(_)
            | Self::EntityExists { .. }
            | Self::HasEntities(_)
            | Self::Contention { .. }
            // Hosts answer what it holds.
            | Self::Replayed(_)
            | Self::DeletedMeanwhile { .. } => Code::Conflict,
            Self::LiveStates { .. } => Code::LiveStates,
            Self::InstanceActive { .. } => Code::InstanceActive,
            Self::Refused(refusal) => refusal.code(),
            Self::TimeoutsPending { .. } => Code::TimeoutsPending,
            Self::Corrupt { .. } => Code::CorruptInstance,
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
        let mut error = body_of(self.code(), &self.to_string());
        let mut add = |key: &str, value: Value| error.insert(key.to_owned(), value);
        match self {
            Self::Invalid { path, .. }
            | Self::Refused(Refusal::TargetNotActive { path, .. } | Refusal::NoManagedState { path, .. }) => {
                add("path", json!(path));
            }
            Self::InvalidDefinition(faults) => {
                if let Some(first) = faults.first() {
                    add("path", json!(first.path));
                }
                add("faults", json!(faults));
            }
            Self::LiveStates { live, .. } => {
                add("live", json!(live));
            }
            Self::Refused(Refusal::VersionConflict { expected, actual }) => {
                add("expected", json!(expected));
                add("actual", json!(actual));
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

fn body_of(code: Code, message: &str) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("code".to_owned(), json!(code));
    error.insert("message".to_owned(), json!(message));
    error.insert("retry".to_owned(), json!(code.retry()));
    error
}

/// The body of an error that a host answers by itself, such as an unknown route.
pub fn error_body(code: Code, message: &str) -> Value {
    json!({ "error": body_of(code, message) })
}

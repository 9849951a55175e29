//! What an operation answers instead of its result, and how that is told: the same wherever it runs.

use serde_json::{Map, Value, json};

use crate::code::Code;
use crate::commit::Refusal;
use crate::fault::Fault;
use crate::machine::CompileError;

/// Why an operation on machines and entities is not done. [`Error::code`] gives its code, and with it the HTTP status and
/// whether to retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// A machine of that id is unknown.
    #[error("there is no machine `{0}`")]
    NoMachine(String),
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
    /// A managed child that its parent needs is not deleted by itself (R9a).
    #[error(
        "`{entity}` is a child that its parent needs, alive or to wake with it; delete that one, or move it out of the \
         child's state"
    )]
    InstanceActive {
        /// The child.
        entity: String,
    },
    /// The event is refused.
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
    /// What is stored cannot be read, or contradicts itself (M8): it fails closed.
    #[error("{what} cannot be read: {problem}")]
    Corrupt {
        /// Whose.
        what: String,
        /// Why.
        problem: String,
    },
}

/// What was read compiles; were it not so, the definition would be refused where it is registered, and not at its first event.
impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        Self::invalid("$", error.to_string(), "names that are defined")
    }
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

impl Error {
    /// A part of the request is wrong.
    pub fn invalid(path: impl Into<String>, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.into(),
            problem: problem.into(),
            expected: expected.into(),
        }
    }

    /// The same of a part of what was given: a path from `$` goes on from that of the part.
    #[must_use]
    pub fn within(self, part: &str) -> Self {
        match self {
            Self::Invalid {
                path,
                problem,
                expected,
            } => Self::Invalid {
                path: path.replacen('$', part, 1),
                problem,
                expected,
            },
            other => other,
        }
    }

    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } | Self::InvalidDefinition(_) => Code::BadRequest,
            Self::TooLarge { .. } => Code::PayloadTooLarge,
            Self::NoMachine(_) | Self::NoEntity { .. } => Code::NotFound,
            Self::MachineExists(_) | Self::EntityExists { .. } | Self::HasEntities(_) => Code::Conflict,
            Self::InstanceActive { .. } => Code::InstanceActive,
            Self::Refused(refusal) => refusal.code(),
            Self::TimeoutsPending { .. } => Code::TimeoutsPending,
            Self::Corrupt { .. } => Code::CorruptInstance,
        }
    }

    /// Whether an event that an effect sends is worth another try after it: also a machine or an entity that is unknown
    /// may be made meanwhile.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NoMachine(_) | Self::NoEntity { .. }) || self.code().may_pass()
    }

    /// The inside of an answer's `error`: `{"code","message","retry",…}` (S2.262).
    pub fn body(&self) -> Map<String, Value> {
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
            Self::Refused(Refusal::VersionConflict { expected, actual }) => {
                add("expected", json!(expected));
                add("actual", json!(actual));
            }
            _ => {}
        }
        error
    }
}

/// What every error tells.
pub fn body_of(code: Code, message: &str) -> Map<String, Value> {
    let mut error = Map::new();
    error.insert("code".to_owned(), json!(code));
    error.insert("message".to_owned(), json!(message));
    error.insert("retry".to_owned(), json!(code.retry()));
    error
}

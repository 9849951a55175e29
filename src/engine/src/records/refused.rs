//! Why an operation of a state record is refused, and how that is told.

use serde::Serialize;
use serde_json::{Map, Value, json};
use statewright_core::code::Code;

use super::Record;

/// What of a record is not as the caller says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its version, whatever its state (R23).
    Version,
    /// Its state alone.
    State,
}

/// Why an operation of a state record is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StateError {
    /// State records are not served here (S0.26, S0.64).
    #[error("state records are not served here: PERSONALITIES has no `state`")]
    Disabled,
    /// An argument is missing or wrong (S0.17, S0.27).
    #[error("{path}: {problem}; expected {expected}")]
    Invalid {
        /// Its JSON path.
        path: String,
        /// What is wrong.
        problem: String,
        /// What would be right.
        expected: String,
    },
    /// There is such a record (S0.13).
    #[error("machine `{}` has a record `{}` already", .0.machine, .0.id)]
    Exists(Box<Record>),
    /// The record is at another version, or in another state (S0.18, S0.19).
    #[error(
        "record `{}` of machine `{}` is in state `{}` at version {}, not in `{from}` at {expected_version}", .current.id,
        .current.machine, .current.state, .current.version
    )]
    Conflict {
        /// Which of the two.
        reason: Reason,
        /// The state that the caller says it is in.
        from: String,
        /// The version that the caller says it is at.
        expected_version: u64,
        /// The record as it is.
        current: Box<Record>,
    },
    /// There is no such record (S0.20).
    #[error("machine `{machine}` has no record `{id}`")]
    NotFound {
        /// The machine.
        machine: String,
        /// The id.
        id: String,
    },
    /// The database failed (S0.26).
    #[error("the store of state records failed: {0}")]
    Store(String),
}

impl StateError {
    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Disabled => Code::StateDisabled,
            Self::Invalid { .. } => Code::StateInvalidArg,
            Self::Exists(_) => Code::StateExists,
            Self::Conflict { .. } => Code::StateConflict,
            Self::NotFound { .. } => Code::StateNotFound,
            Self::Store(_) => Code::StateStore,
        }
    }

    /// The record as it is, where that is what stands in the way.
    pub fn current(&self) -> Option<&Record> {
        match self {
            Self::Exists(current) | Self::Conflict { current, .. } => Some(current),
            _ => None,
        }
    }

    /// Adds to an error's body what it tells beyond its message.
    pub(crate) fn describe(&self, error: &mut Map<String, Value>) {
        match self {
            Self::Invalid { path, .. } => {
                error.insert("path".to_owned(), json!(path));
            }
            Self::Conflict { reason, .. } => {
                error.insert("reason".to_owned(), json!(reason));
            }
            _ => {}
        }
        if let Some(current) = self.current() {
            error.insert("current".to_owned(), json!(current));
        }
    }
}

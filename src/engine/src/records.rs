//! State records: a state, a version and data, without a definition (S0.1 to S0.29).

use serde_json::{Map, Value};
use statewright_core::code::Code;

/// Why an operation of a state record is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StateError {
    /// State records are not served here (S0.26, S0.64).
    #[error("state records are not served here: PERSONALITIES has no `state`")]
    Disabled,
}

impl StateError {
    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::Disabled => Code::StateDisabled,
        }
    }

    /// Adds to an error's body what it tells beyond its message.
    pub(crate) fn describe(&self, _error: &mut Map<String, Value>) {}
}

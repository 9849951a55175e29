//! Errors and what definitions are told, in the words of `wit/`.

use serde_json::{Map, Value};
use statewright_core::code::Code;
use statewright_core::error::Error;
use statewright_core::explain::RefusalView;
use statewright_core::fault::{Fault, Warning, WarningKind};

use crate::bindings::exports::statewright::core::types as wit;

/// The error of a code. What only a service can answer is none that the core has.
fn of_code(code: Code, message: String) -> wit::Error {
    match code {
        Code::BadRequest => wit::Error::BadRequest(message),
        Code::NotFound => wit::Error::NotFound(message),
        Code::Conflict => wit::Error::Conflict(message),
        Code::EventIdentityConflict => wit::Error::EventIdentityConflict(message),
        Code::TargetNotActive => wit::Error::TargetNotActive(message),
        Code::InstanceNotActive => wit::Error::InstanceNotActive(message),
        Code::InstanceConflict => wit::Error::InstanceConflict(message),
        Code::InstanceActive => wit::Error::InstanceActive(message),
        Code::UncorrelatedChildFinal => wit::Error::UncorrelatedChildFinal(message),
        Code::NestingDepthExceeded => wit::Error::NestingDepthExceeded(message),
        Code::CascadeLimit => wit::Error::CascadeLimit(message),
        Code::VersionConflict => wit::Error::VersionConflict(message),
        Code::JoinCascadeLimit => wit::Error::JoinCascadeLimit(message),
        Code::LiveStates => wit::Error::LiveStates(message),
        Code::PayloadTooLarge => wit::Error::PayloadTooLarge(message),
        Code::CorruptInstance => wit::Error::CorruptInstance(message),
        Code::TimeoutsPending => wit::Error::TimeoutsPending(message),
        Code::Unauthorized
        | Code::MethodNotAllowed
        | Code::OutboxStatus
        | Code::LimitReached
        | Code::IdempotencyInFlight
        | Code::IdempotencyMismatch
        | Code::InboxUnavailable
        | Code::StateExists
        | Code::StateConflict
        | Code::StateNotFound
        | Code::StateInvalidArg
        | Code::StateStore
        | Code::StateDisabled
        | Code::SecretsDisabled
        | Code::Misconfigured
        | Code::UnsupportedMediaType
        | Code::InternalError
        | Code::SchemaMismatch => wit::Error::InternalError(message),
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidDefinition(faults) => {
                Self::InvalidDefinition(faults.into_iter().map(Into::into).collect())
            }
            error => of_code(error.code(), error.to_string()),
        }
    }
}

/// An error from the inside of an answer's `error`.
pub(crate) fn refusal_out(error: &Map<String, Value>) -> wit::Error {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = Code::ALL.iter().find(|code| code.name() == text("code"));
    of_code(
        code.copied().unwrap_or(Code::InternalError),
        text("message").to_owned(),
    )
}

impl From<RefusalView> for wit::Error {
    fn from(refusal: RefusalView) -> Self {
        of_code(refusal.code, refusal.message)
    }
}

impl From<Fault> for wit::Fault {
    fn from(fault: Fault) -> Self {
        Self {
            path: fault.path,
            problem: fault.problem,
            expected: fault.expected,
        }
    }
}

impl From<&Warning> for wit::Warning {
    fn from(warning: &Warning) -> Self {
        Self {
            kind: warning.kind.into(),
            path: warning.path.clone(),
            message: warning.message.clone(),
        }
    }
}

impl From<WarningKind> for wit::WarningKind {
    fn from(kind: WarningKind) -> Self {
        match kind {
            WarningKind::UnreachableState => Self::UnreachableState,
            WarningKind::ShadowedTransition => Self::ShadowedTransition,
            WarningKind::ImpossibleJoin => Self::ImpossibleJoin,
            WarningKind::UnstableJoin => Self::UnstableJoin,
            WarningKind::UnhandledEvent => Self::UnhandledEvent,
            WarningKind::DeadEnd => Self::DeadEnd,
            WarningKind::UncoveredCompletion => Self::UncoveredCompletion,
            WarningKind::RefusedReentry => Self::RefusedReentry,
            WarningKind::ImpossibleGuard => Self::ImpossibleGuard,
            WarningKind::UnknownPlace => Self::UnknownPlace,
            WarningKind::MalformedGuard => Self::MalformedGuard,
            WarningKind::IgnoredKey => Self::IgnoredKey,
        }
    }
}

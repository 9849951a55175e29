//! What a request is refused with: the engine's errors, and the few that only a host can have.

use statewright_core::code::Code;
use statewright_engine::{
    error::{Error, error_body},
    request::MAX_BODY_BYTES,
};

use crate::reply::Reply;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The engine's answer.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The deployment has no key, and what its operator does about it.
    #[error(
        "this deployment has no API_KEY, and ENVIRONMENT is not \"development\": every request is refused until its operator {0}"
    )]
    NoKey(&'static str),
    /// No key, or a wrong one.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// No such route.
    #[error("there is no route `{0}`; /openapi.json lists them")]
    NoRoute(String),
    /// The route does not take this method.
    #[error("`{path}` does not take {method}; the header Allow lists what it takes")]
    WrongMethod {
        /// The path asked for.
        path: String,
        /// The method.
        method: String,
    },
    /// The body is not declared as JSON.
    #[error("the content type is `{0}`; application/json is needed")]
    NotJson(String),
    /// The body is too long to be read.
    #[error("the body has more than {MAX_BODY_BYTES} bytes, which is the most that is read")]
    BodyTooLarge,
    /// The body stopped coming.
    #[error("the body could not be read: {0}")]
    BodyBroken(String),
}

impl Refusal {
    /// Its code, which has its status.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Engine(error) => error.code(),
            Self::NoKey(_) | Self::Unauthorized(_) => Code::Unauthorized,
            Self::NoRoute(_) => Code::NotFound,
            Self::WrongMethod { .. } => Code::MethodNotAllowed,
            Self::NotJson(_) => Code::UnsupportedMediaType,
            Self::BodyTooLarge => Code::PayloadTooLarge,
            Self::BodyBroken(_) => Code::BadRequest,
        }
    }

    /// The answer, in the one shape of errors (S2.262); or the answer that was given before.
    pub(crate) fn reply(&self) -> Reply {
        let body = match self {
            Self::Engine(Error::Replayed(replay)) => return Reply::replay(replay),
            Self::Engine(error) => error.text(),
            other => error_body(other.code(), &other.to_string()).to_string(),
        };
        Reply::text(self.code().status(), "application/json", body).refused(self.code())
    }
}

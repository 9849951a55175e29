//! What a request is answered with, before it becomes a response of the runtime.
//!
//! A body is one block of bytes: a stream between JavaScript and WebAssembly would cost more than all else that the
//! Worker does for a request.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Serialize;
use statewright_core::code::Code;
use statewright_engine::once::Replay;

/// The content type of almost all answers.
const JSON: &str = "application/json";

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body; none for a 204.
    pub(crate) body: Option<Vec<u8>>,
    /// The code of the error that it tells of, if it does.
    pub(crate) code: Option<Code>,
    /// Whether it was given before.
    pub(crate) replayed: bool,
}

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

impl Reply {
    /// An answer without a body.
    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: None,
            code: None,
            replayed: false,
        }
    }

    /// An answer that was given before.
    pub(crate) fn replay(replay: &Replay) -> Self {
        let mut reply = match &replay.answer {
            Some(answer) => Self::text(replay.status, JSON, answer.as_str()),
            None => Self::empty(replay.status),
        };
        reply.headers.insert(REPLAYED, HeaderValue::from_static("true"));
        reply.replayed = true;
        reply
    }

    /// An answer of text.
    pub(crate) fn text(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::empty(status);
        reply
            .headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        reply.body = Some(body.into());
        reply
    }

    /// An answer of JSON.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        // INVARIANT: what is answered has text keys and finite numbers, so that it can be written as JSON.
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self::text(status, JSON, body)
    }

    /// Names the page after this one (R18).
    #[must_use]
    pub(crate) fn next(mut self, link: Option<HeaderValue>) -> Self {
        if let Some(link) = link {
            self.headers.insert(header::LINK, link);
        }
        self
    }

    /// Marks it as telling of an error.
    pub(crate) fn refused(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }
}

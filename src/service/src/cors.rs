//! Which pages of other origins a browser lets call the service: `CORS_ORIGINS`.

use http::{HeaderMap, HeaderValue, header};

/// The origins that may call.
#[derive(Debug)]
pub(crate) enum Origins {
    /// `*`: every one.
    Any,
    /// Those listed; an empty list is none.
    Listed(Vec<String>),
}

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Accept, X-Tenant-Id, Idempotency-Key, X-Request-Id, X-Run-Id",
);
const EXPOSED: HeaderValue = HeaderValue::from_static("Link, Idempotency-Replayed, Retry-After");
const DAY: HeaderValue = HeaderValue::from_static("86400");

impl Origins {
    /// Reads the setting: origins separated by commas, or `*`.
    pub(crate) fn read(text: &str) -> Self {
        let listed: Vec<String> = text
            .split(',')
            .map(|origin| origin.trim().trim_end_matches('/').to_ascii_lowercase())
            .filter(|origin| !origin.is_empty())
            .collect();
        if listed.iter().any(|origin| origin == "*") {
            Self::Any
        } else {
            Self::Listed(listed)
        }
    }

    /// Adds what a browser must be told in an answer to a page of `origin`; nothing for an origin that may not call.
    pub(crate) fn allow(&self, origin: Option<&str>, preflight: bool, headers: &mut HeaderMap) {
        let allowed = match self {
            Self::Any => HeaderValue::from_static("*"),
            Self::Listed(listed) => {
                if listed.is_empty() {
                    return;
                }
                // A cache must not hand the answer for one origin to another.
                headers.append(header::VARY, HeaderValue::from_static("Origin"));
                let known =
                    origin.filter(|origin| listed.iter().any(|known| known.eq_ignore_ascii_case(origin)));
                let Some(Ok(value)) = known.map(HeaderValue::from_str) else {
                    return;
                };
                value
            }
        };
        if origin.is_none() {
            return;
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if preflight {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, DAY);
        } else {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}

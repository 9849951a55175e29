//! What of a request the routes read: its tenant, its path, its query and its body. Each is read when a route asks
//! for it, so that a request that is refused earlier costs nothing.

use axum::extract::{FromRequestParts, OptionalFromRequestParts, RawPathParams};
use http::request::Parts;
use serde::de::DeserializeOwned;
use statewright_core::ids::TenantId;
use statewright_engine::{
    error::Error,
    request::{MAX_BODY_BYTES, missing_tenant, tenant_id},
};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use worker::send::SendFuture;

use crate::{call::Current, refusal::Refusal};

/// The header that chooses the tenant (S2.17).
pub(crate) const TENANT: &str = "x-tenant-id";

/// A header's value as text. The runtime reads its bytes as UTF-8.
pub(crate) fn header(request: &web_sys::Request, name: &str) -> Option<String> {
    request.headers().get(name).ok().flatten()
}

/// The request that a route is asked to answer.
pub(crate) fn current(parts: &Parts) -> Result<&Current, Refusal> {
    // INVARIANT: `serve` puts it there.
    parts
        .extensions
        .get::<Current>()
        .ok_or_else(|| Refusal::BodyBroken("there is no request".to_owned()))
}

/// The tenant that the header names.
pub(crate) struct Tenant(pub(crate) TenantId);

impl<S: Sync> OptionalFromRequestParts<S> for Tenant {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Refusal> {
        tenant_of(&current(parts)?.raw).map(|tenant| tenant.map(Self))
    }
}

/// The tenant that a request's header names, if it has one.
pub(crate) fn tenant_of(request: &web_sys::Request) -> Result<Option<TenantId>, Refusal> {
    let Some(value) = header(request, TENANT) else {
        return Ok(None);
    };
    // Bytes that are no UTF-8 were replaced by this character: other bytes would be taken for the same tenant.
    if value.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Error::invalid("X-Tenant-Id", "the header is no UTF-8", "a text in UTF-8").into());
    }
    Ok(Some(tenant_id("X-Tenant-Id", &value)?))
}

impl<S: Sync> FromRequestParts<S> for Tenant {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let tenant = <Self as OptionalFromRequestParts<S>>::from_request_parts(parts, state).await?;
        tenant.ok_or_else(|| missing_tenant().into())
    }
}

/// What a route leaves open in its path, percent-decoded once.
async fn captures<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, Refusal> {
    RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|rejection| Error::invalid("path", rejection.body_text(), "percent-encoded UTF-8").into())
}

fn capture(captures: &RawPathParams, name: &str) -> Option<String> {
    captures
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// The machine that the path names.
pub(crate) struct Machine(pub(crate) String);

/// The route that a definition is checked at has the form of a machine's: a machine may have its name.
pub(crate) const VALIDATE: &str = "validate";

impl<S: Send + Sync> FromRequestParts<S> for Machine {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let captures = captures(parts, state).await?;
        Ok(Self(
            capture(&captures, "machine_id").unwrap_or_else(|| VALIDATE.to_owned()),
        ))
    }
}

/// The machine and the entity that the path names.
pub(crate) struct Instance(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Instance {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let captures = captures(parts, state).await?;
        // INVARIANT: the routes of entities capture both; an empty id is refused by the engine.
        let name = |name| capture(&captures, name).unwrap_or_default();
        Ok(Self(name("machine_id"), name("entity_id")))
    }
}

/// The one part of the path that a route leaves open.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let captures = captures(parts, state).await?;
        // INVARIANT: the routes that ask for it leave one part open; an empty name is refused by the engine.
        Ok(Self(
            captures
                .iter()
                .next()
                .map(|(_, value)| value.to_owned())
                .unwrap_or_default(),
        ))
    }
}

/// A webhook's request: whose it is by its path, and its headers.
pub(crate) struct Hook {
    /// The tenant.
    pub(crate) tenant: String,
    /// The source.
    pub(crate) source: String,
    call: Current,
}

impl Hook {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        header(&self.call.raw, name)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Hook {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let captures = captures(parts, state).await?;
        // INVARIANT: its route captures both; an empty one is refused by the engine.
        let name = |name| capture(&captures, name).unwrap_or_default();
        Ok(Self {
            tenant: name("tenant"),
            source: name("source_id"),
            call: current(parts)?.clone(),
        })
    }
}

/// The query of the URL.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(values)) => Ok(Self(values)),
            Err(rejection) => {
                Err(Error::invalid("query", rejection.body_text(), "the parameters of /openapi.json").into())
            }
        }
    }
}

/// The body, declared as JSON or not declared at all, of at most [`MAX_BODY_BYTES`]. It is not read as JSON yet.
pub(crate) struct Body(pub(crate) Vec<u8>);

impl<S: Sync> FromRequestParts<S> for Body {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let call = current(parts)?.clone();
        if let Some(declared) = header(&call.raw, "content-type").filter(|declared| !is_json(declared)) {
            return Err(Refusal::NotJson(declared));
        }
        let bytes = SendFuture::new(read(&call.raw)).await?;
        if call.key().is_some() {
            call.body.replace(bytes.clone());
        }
        Ok(Self(bytes))
    }
}

/// The body as it came, whatever it is declared to be; of at most [`MAX_BODY_BYTES`].
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<S: Sync> FromRequestParts<S> for Bytes {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let call = current(parts)?.clone();
        SendFuture::new(read(&call.raw)).await.map(Self)
    }
}

/// `application/json` or a `+json` type, whatever its parameters.
fn is_json(content_type: &str) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.is_empty()
        || essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

async fn read(request: &web_sys::Request) -> Result<Vec<u8>, Refusal> {
    let broken = |error| Refusal::BodyBroken(format!("{error:?}"));
    if let Some(length) = header(request, "content-length") {
        if length
            .parse::<u64>()
            .is_ok_and(|length| length > MAX_BODY_BYTES as u64)
        {
            return Err(Refusal::BodyTooLarge);
        }
        // HTTP itself ends a body at its declared length.
        let buffer = JsFuture::from(request.array_buffer().map_err(broken)?)
            .await
            .map_err(broken)?;
        return bounded(js_sys::Uint8Array::new(&buffer).to_vec());
    }
    let Some(stream) = request.body() else {
        return Ok(Vec::new());
    };
    let reader = stream
        .get_reader()
        .unchecked_into::<web_sys::ReadableStreamDefaultReader>();
    let mut bytes = Vec::new();
    loop {
        let part = JsFuture::from(reader.read()).await.map_err(broken)?;
        let part: web_sys::ReadableStreamReadResult = part.unchecked_into();
        if part.get_done().unwrap_or(true) {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&js_sys::Uint8Array::new(&part.get_value()).to_vec());
        bytes = bounded(bytes)?;
    }
}

fn bounded(bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    if bytes.len() > MAX_BODY_BYTES {
        Err(Refusal::BodyTooLarge)
    } else {
        Ok(bytes)
    }
}

//! What of a request the routes read: its tenant, its path, its query and its body. Each is read when a route asks
//! for it, so that a request that is refused earlier costs nothing.

use std::{future::Future, pin::Pin, rc::Rc};

use statewright_core::ids::TenantId;
use statewright_engine::{
    error::Error,
    request::{MAX_BODY_BYTES, missing_tenant, tenant_id},
};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

use crate::{
    call::Call,
    refusal::Refusal,
    service::{self, WorkerEngine},
};

/// The header that chooses the tenant (S2.17).
pub(crate) const TENANT: &str = "x-tenant-id";

/// A header's value as text. The runtime reads its bytes as UTF-8.
pub(crate) fn header(request: &web_sys::Request, name: &str) -> Option<String> {
    request.headers().get(name).ok().flatten()
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

/// What a route is asked: the request, and what of its path the route leaves open.
pub(crate) struct Ask {
    /// The request.
    pub(crate) call: Rc<Call>,
    /// The route's path, as the document writes it.
    pub(crate) route: &'static str,
    /// The open parts of the path, by name.
    pub(crate) captures: Vec<(String, String)>,
}

/// The route that a definition is checked at has the form of a machine's: a machine may have its name.
const VALIDATE: &str = "validate";

impl Ask {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        header(&self.call.raw, name)
    }

    /// The tenant that the header names.
    pub(crate) fn tenant(&self) -> Result<TenantId, Refusal> {
        self.named_tenant()?.ok_or_else(|| missing_tenant().into())
    }

    /// The tenant that the header names, if it has one.
    pub(crate) fn named_tenant(&self) -> Result<Option<TenantId>, Refusal> {
        tenant_of(&self.call.raw)
    }

    fn capture(&self, name: &str) -> Option<String> {
        let mut captures = self.captures.iter();
        captures
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    }

    /// The machine that the path names.
    pub(crate) fn machine(&self) -> String {
        self.capture("machine_id").unwrap_or_else(|| VALIDATE.to_owned())
    }

    /// The machine and the entity that the path names. The routes of entities capture both; an empty id is refused by the
    /// engine.
    pub(crate) fn instance(&self) -> (String, String) {
        let name = |name| self.capture(name).unwrap_or_default();
        (name("machine_id"), name("entity_id"))
    }

    /// The one part of the path that a route leaves open; an empty name is refused by the engine.
    pub(crate) fn name(&self) -> String {
        self.captures
            .first()
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    }

    /// A webhook's tenant and source, by its path.
    pub(crate) fn hook(&self) -> (String, String) {
        let name = |name| self.capture(name).unwrap_or_default();
        (name("tenant"), name("source_id"))
    }

    /// Whether the caller asks for a kind of answer.
    pub(crate) fn takes(&self, content_type: &str) -> bool {
        let accepted = self.header("accept");
        accepted.is_some_and(|accepted| accepted.to_ascii_lowercase().contains(content_type))
    }

    /// The query of the URL.
    pub(crate) fn query(&self) -> Query {
        let (_, query) = self.call.path_and_query();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Query(pairs.into_owned().collect())
    }

    /// The body, declared as JSON or not declared at all, of at most [`MAX_BODY_BYTES`]. It is not read as JSON yet.
    pub(crate) async fn body(&self) -> Result<Vec<u8>, Refusal> {
        if let Some(declared) = self.header("content-type").filter(|declared| !is_json(declared)) {
            return Err(Refusal::NotJson(declared));
        }
        let bytes = self.bytes().await?;
        if self.call.key().is_some() {
            self.call.body.replace(bytes.clone());
        }
        Ok(bytes)
    }

    /// The body as it came, whatever it is declared to be; of at most [`MAX_BODY_BYTES`].
    pub(crate) fn bytes(&self) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, Refusal>> + '_>> {
        Box::pin(read(&self.call.raw))
    }

    /// The engine, for a route that changes nothing, or whose request brings an identity of its own.
    pub(crate) fn engine(&self) -> Lent<'_> {
        Box::pin(service::lent(&self.call, self.route, None))
    }

    /// The engine, for a route that changes something, and answers with `success` when it has: a request with an Idempotency-Key
    /// has one effect, and its answer is given again (S4.97). The body is read before.
    pub(crate) fn keyed(&self, success: u16) -> Lent<'_> {
        Box::pin(service::lent(&self.call, self.route, Some(success)))
    }
}

/// The engine on its way.
type Lent<'a> = Pin<Box<dyn Future<Output = Result<Rc<WorkerEngine>, Refusal>> + 'a>>;

/// The parameters of a URL's query.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// A parameter's value.
    ///
    /// # Errors
    /// It is given twice.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let mut found = self.0.extract_if(.., |(key, _)| key == name);
        let first = found.next().map(|(_, value)| value);
        if found.next().is_some() {
            return Err(Error::invalid(name, "it is given more than once", "one value").into());
        }
        Ok(first)
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

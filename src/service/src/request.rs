//! What of a request the routes read: its tenant, its path, its query and its body. Each is read when a route asks
//! for it, so that a request that is refused earlier costs nothing.

use std::{future::Future, pin::Pin, rc::Rc};

use statewright_core::ids::TenantId;
use statewright_engine::{
    error::Error,
    request::{missing_tenant, tenant_id},
};

use crate::{
    call::Call,
    incoming::Incoming,
    refusal::Refusal,
    service::{self, ServiceEngine},
};

/// The header that chooses the tenant (S2.17).
pub(crate) const TENANT: &str = "x-tenant-id";

/// The tenant that a request's header names, if it has one.
pub(crate) fn tenant_of(incoming: &Incoming) -> Result<Option<TenantId>, Refusal> {
    let Some(value) = incoming.header(TENANT) else {
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
        self.call.incoming.header(name)
    }

    /// The tenant that the header names.
    pub(crate) fn tenant(&self) -> Result<TenantId, Refusal> {
        self.named_tenant()?.ok_or_else(|| missing_tenant().into())
    }

    /// The tenant that the header names, if it has one.
    pub(crate) fn named_tenant(&self) -> Result<Option<TenantId>, Refusal> {
        tenant_of(&self.call.incoming)
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

    /// The body, declared as JSON or not declared at all. It is not read as JSON yet.
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

    /// The body as it came, whatever it is declared to be.
    pub(crate) fn bytes(&self) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, Refusal>> + '_>> {
        Box::pin(self.call.incoming.body())
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
type Lent<'a> = Pin<Box<dyn Future<Output = Result<Rc<ServiceEngine>, Refusal>> + 'a>>;

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

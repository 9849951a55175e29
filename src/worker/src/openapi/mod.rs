//! `/openapi.json`: made from the handlers and the shapes beside them.

pub(crate) mod schemas;

use std::sync::LazyLock;

use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::routes::{entities, events, machines, service};

#[derive(OpenApi)]
#[openapi(
    info(title = "Statewright", description = "Durable state machines: flat, parallel and nested, with guards, joins and timers."),
    paths(
        service::health, service::openapi, service::scheduler,
        machines::list, machines::create, machines::validate, machines::read, machines::replace, machines::delete,
        machines::revisions, machines::counts, machines::diagram,
        entities::list, entities::create, entities::read, entities::delete, entities::release,
        events::evaluate, events::evaluate_batch, events::transition, events::explain, events::events, events::history,
    ),
    tags(
        (name = "machines", description = "Definitions and their revisions."),
        (name = "entities", description = "Living instances of machines."),
        (name = "events", description = "What moves entities, and what moved them."),
        (name = "service", description = "The service itself."),
    ),
    // Those that only references name.
    components(schemas(
        schemas::Problem, schemas::ProblemDetail, schemas::InFlight, schemas::DiagramFormat, schemas::HistoryOrder,
    )),
    modifiers(&Key),
    security(("key" = []))
)]
struct Document;

/// The one way to authenticate.
struct Key;

impl Modify for Key {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The API key."))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

/// The document as JSON, made once in an isolate.
static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // INVARIANT: it has text keys and finite numbers, so that it can be written as JSON.
    serde_json::to_vec(&Document::openapi()).unwrap_or_default()
});

/// The document as JSON.
pub(crate) fn document() -> &'static [u8] {
    &DOCUMENT
}

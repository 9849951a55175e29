//! `/openapi.json`: made from the handlers and the shapes beside them.
//!
//! Making it takes more code than all else that answers, so that a test makes it, and the script has the text:
//! `BLESS=1 cargo test -p statewright-worker` writes `docs/openapi.json` anew.

pub(crate) mod schemas;

/// The document as JSON.
pub(crate) fn document() -> &'static [u8] {
    include_bytes!("../../../../docs/openapi.json")
}

#[cfg(test)]
mod tests {
    use utoipa::{
        Modify, OpenApi,
        openapi::{
            self,
            security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
        },
    };

    use super::{document, schemas};
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

    #[test]
    fn docs_openapi_json_is_made_from_the_code_that_answers() {
        let mut made = serde_json::to_string_pretty(&Document::openapi()).unwrap_or_default();
        made.push('\n');
        if std::env::var_os("BLESS").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
            assert!(std::fs::write(file, &made).is_ok(), "{file} cannot be written");
            return;
        }
        assert!(
            made.as_bytes() == document(),
            "docs/openapi.json is not current; `BLESS=1 cargo test -p statewright-worker` writes it anew"
        );
    }
}

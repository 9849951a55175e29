//! `/openapi.json`: made from the handlers and the shapes beside them.
//!
//! Making it takes more code than all else that answers, so that a test makes it, and the program has the text:
//! `BLESS=1 cargo test -p statewright-service` writes `docs/openapi.json` anew.

pub(crate) mod effects;
pub(crate) mod parts;
pub(crate) mod schemas;

/// The document as JSON.
pub(crate) fn document() -> &'static [u8] {
    include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json"))
}

#[cfg(test)]
mod tests {
    use utoipa::{
        Modify, OpenApi,
        openapi::{
            self, Object, Ref, RefOr, Required, Type,
            header::HeaderBuilder,
            path::{Operation, ParameterBuilder, ParameterIn},
            response::ResponseBuilder,
            schema::ObjectBuilder,
            security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
        },
    };

    use super::{document, effects, schemas};
    use crate::routes::{
        entities, events, machines, outbox, records, secrets, service, sources, subscriptions,
    };

    #[derive(OpenApi)]
    #[openapi(
        info(title = "Statewright", description = "Durable state machines: flat, parallel and nested, with guards, joins and timers."),
        paths(
            service::health, service::openapi, service::scheduler,
            machines::list, machines::create, machines::validate, machines::read, machines::replace, machines::delete,
            machines::revisions, machines::counts, machines::diagram,
            entities::list, entities::create, entities::read, entities::delete, entities::release,
            events::evaluate, events::evaluate_batch, events::transition, events::explain, events::events, events::history,
            records::create, records::get, records::transition,
            outbox::list, outbox::read, outbox::redrive, outbox::cancel, outbox::redrive_all, outbox::cancel_all,
            outbox::receipts,
            subscriptions::list, subscriptions::create, subscriptions::read, subscriptions::put, subscriptions::delete,
            secrets::list, secrets::put, secrets::rotate, secrets::delete, secrets::delete_previous,
            sources::list, sources::read, sources::put, sources::delete, sources::try_out, sources::hook,
        ),
        tags(
            (name = "machines", description = "Definitions and their revisions."),
            (name = "entities", description = "Living instances of machines."),
            (name = "events", description = "What moves entities, and what moved them."),
            (name = "records", description = "State records: a state, a version and data, without a definition."),
            (name = "outbox", description = "Effects on their way out, and receipts of what came in."),
            (name = "subscriptions", description = "Who is told of transitions."),
            (name = "secrets", description = "What requests are signed and verified with."),
            (name = "sources", description = "Webhooks that come in."),
            (name = "service", description = "The service itself."),
        ),
        // Those that only references name.
        components(schemas(
            schemas::Problem, schemas::ProblemDetail, schemas::InFlight, schemas::DiagramFormat, schemas::HistoryOrder,
            effects::OutboxStatus,
        )),
        modifiers(&Key, &Once),
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

    /// What every route that changes something takes and answers: an Idempotency-Key (S4.90 to S4.99).
    struct Once;

    /// Routes that take a body and change nothing; and the one whose requests bring an identity of their own.
    const UNKEYED: [&str; 5] = ["validateMachine", "explain", "getRecord", "trySource", "hook"];

    impl Modify for Once {
        fn modify(&self, document: &mut openapi::OpenApi) {
            for item in document.paths.paths.values_mut() {
                let changing = [&mut item.post, &mut item.put, &mut item.delete];
                for operation in changing.into_iter().flatten() {
                    let id = operation.operation_id.as_deref().unwrap_or_default();
                    if !UNKEYED.contains(&id) {
                        takes_a_key(operation);
                    }
                }
            }
        }
    }

    fn takes_a_key(operation: &mut Operation) {
        let key = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(255))
            .pattern(Some("^[!-~]([ -~]*[!-~])?$"));
        let parameter = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(
                "The request has one effect, however often it is sent with this key: its answer is given again, for 7 days.",
            ))
            .schema(Some(key));
        operation
            .parameters
            .get_or_insert_default()
            .push(parameter.build().into());
        let told = HeaderBuilder::new()
            .description(Some("`true` where the answer was given before."))
            .schema(Some(Object::with_type(Type::String)))
            .build();
        for (status, response) in &mut operation.responses.responses {
            if let (true, RefOr::T(response)) = (status.starts_with('2'), response) {
                response
                    .headers
                    .insert("Idempotency-Replayed".to_owned(), told.clone().into());
            }
        }
        let problem = openapi::content::ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("Problem")))
            .build();
        let mismatch = ResponseBuilder::new()
            .description("The Idempotency-Key was used with another request.")
            .content("application/json", problem)
            .build();
        operation
            .responses
            .responses
            .insert("422".to_owned(), mismatch.into());
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
        let shown = include_str!("../../../../docs/openapi.json");
        assert!(
            made == shown,
            "docs/openapi.json is not current; `BLESS=1 cargo test -p statewright-service` writes it anew"
        );
        let read = |text| serde_json::from_slice::<serde_json::Value>(text).ok();
        assert!(
            read(document()) == read(shown.as_bytes()),
            "the program has the same document"
        );
    }
}

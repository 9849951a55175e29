//! The steps that have a name of their own.

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_engine::EntityQuery;
use statewright_engine::database::Clock;
use statewright_engine::history::HistoryQuery;
use statewright_engine::page::Paging;
use statewright_engine::request::missing_tenant;

use crate::host::{Asked, Host, Reply};
use crate::routes::encoded;
use crate::support::block_on;

/// Method and path, the status of a success, and the route.
pub(crate) fn address(op: &str, step: &Value) -> (String, String, u16, String) {
    let text = |key: &str| encoded(step[key].as_str().unwrap_or_default());
    let whole = |tail: &str| {
        tail.replace("{machine}", &text("machine"))
            .replace("{entity}", &text("entity"))
    };
    let (method, tail, success) = match op {
        "register" => ("POST", "/api/machines", 201),
        "validate" => ("POST", "/api/machines/validate", 200),
        "replace" => ("PUT", "/api/machines/{machine}", 200),
        "delete_machine" => ("DELETE", "/api/machines/{machine}", 204),
        "create" => ("POST", "/api/machines/{machine}/entities", 201),
        "delete" => ("DELETE", "/api/machines/{machine}/entities/{entity}", 204),
        "evaluate" => ("POST", "/api/machines/{machine}/evaluate", 200),
        "batch" => ("POST", "/api/machines/{machine}/evaluate/batch", 200),
        "transition" => (
            "POST",
            "/api/machines/{machine}/entities/{entity}/transition",
            200,
        ),
        "explain" => ("POST", "/api/machines/{machine}/entities/{entity}/explain", 200),
        "release" => ("POST", "/api/machines/{machine}/entities/{entity}/release", 200),
        _ => ("GET", "/api", 200),
    };
    let route = tail
        .replace("{machine}", "{machine_id}")
        .replace("{entity}", "{entity_id}");
    (
        method.to_owned(),
        whole(tail),
        success,
        format!("{method} {route}"),
    )
}

/// Does one.
pub(crate) fn perform(engine: &Host, op: &str, step: &Value, asked: &Asked) -> Reply {
    let text = |key: &str| step[key].as_str().unwrap_or_default();
    let query = |key: &str| asked.query.get(key).cloned();
    let (machine, entity) = (text("machine"), text("entity"));
    let (header, body) = (asked.tenant.as_ref(), asked.body.as_slice());
    match op {
        "tick" => return Reply::of(200, block_on(engine.tick())),
        "deliver" => {
            let now = engine.clock().now();
            // What is due now, and what that leads to at once; waiting for more would move the clock.
            let delivered = block_on(engine.deliver_due(Millis(now.0 + 1), 1000));
            if let Err(error) = block_on(engine.purge()).and_then(|()| block_on(engine.upkeep())) {
                return Reply::of::<()>(200, Err(error));
            }
            return Reply::of(200, delivered.map(|delivered| json!({"done": delivered.done})));
        }
        "evaluate" => return Reply::of(200, block_on(engine.evaluate(header, machine, body))),
        "batch" => return Reply::of(200, block_on(engine.evaluate_batch(header, machine, body))),
        "validate" => return Reply::of(200, block_on(engine.validate(header, body))),
        _ => {}
    }
    let Some(tenant) = header else {
        return Reply::of::<()>(200, Err(missing_tenant()));
    };
    let paging = Paging {
        limit: query("limit"),
        cursor: query("cursor"),
    };
    match op {
        "register" => Reply::of(201, block_on(engine.create_machine(tenant, body))),
        "replace" => {
            let in_flight = query("in_flight");
            let put = engine.put_machine(tenant, machine, body, in_flight.as_deref());
            Reply::of(200, block_on(put))
        }
        "machine" => Reply::of(200, block_on(engine.get_machine(tenant, machine))),
        "machines" => Reply::page(block_on(engine.list_machines(tenant, &paging))),
        "delete_machine" => Reply::of(204, block_on(engine.delete_machine(tenant, machine))),
        "revisions" => Reply::page(block_on(engine.revisions(tenant, machine, &paging))),
        "diagram" => {
            let (format, entity) = (query("format"), step["entity"].as_str());
            let diagram = engine.diagram(tenant, machine, format.as_deref(), entity);
            Reply::of(200, block_on(diagram))
        }
        "counts" => Reply::of(200, block_on(engine.counts(tenant, machine))),
        "create" => Reply::of(201, block_on(engine.create_entity(tenant, machine, body))),
        "entity" if query("tree").as_deref() == Some("true") => {
            Reply::of(200, block_on(engine.get_tree(tenant, machine, entity)))
        }
        "entity" => Reply::of(200, block_on(engine.get_entity(tenant, machine, entity))),
        "entities" => {
            let query = EntityQuery {
                state: query("state"),
                region: query("region"),
                updated_since: query("updated_since"),
                updated_before: query("updated_before"),
                prefix: query("prefix"),
                paging,
            };
            Reply::page(block_on(engine.list_entities(tenant, machine, &query)))
        }
        "delete" => Reply::of(204, block_on(engine.delete_entity(tenant, machine, entity))),
        "transition" => Reply::of(200, block_on(engine.transition(tenant, machine, entity, body))),
        "explain" => Reply::of(200, block_on(engine.explain(tenant, machine, entity, body))),
        "events" => Reply::of(200, block_on(engine.events(tenant, machine, entity))),
        "history" => {
            let query = HistoryQuery {
                order: query("order"),
                paging,
            };
            Reply::page(block_on(engine.history(tenant, machine, entity, &query)))
        }
        "scheduler" => Reply::of(200, block_on(engine.scheduler(tenant))),
        "release" => {
            let released = block_on(engine.release_timers(tenant, machine, entity));
            Reply::of(200, released.map(|released| json!({"released": released})))
        }
        other => panic!("no op `{other}`"),
    }
}

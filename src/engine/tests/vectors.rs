//! The conformance vectors of `tests/vectors`, through the engine over SQLite.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};
use statewright_core::ids::TenantId;
use statewright_core::json_equal;
use statewright_engine::EntityQuery;
use statewright_engine::error::Error;
use statewright_engine::history::HistoryQuery;
use statewright_engine::page::{Page, Paging};
use statewright_engine::request::{missing_tenant, tenant_id};
use support::{Service, block_on};

const CONTRACTS: [&str; 2] = ["statewright.v1", "statemachine-e1e4.v1"];

struct Reply {
    status: u16,
    body: Value,
    /// Where a list goes on.
    next: Option<String>,
}

#[test]
fn every_vector_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let only = std::env::var("VECTOR").ok();
    let mut names = BTreeSet::new();
    let (mut runs, mut failures) = (0, Vec::new());
    for file in files {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for case in cases {
            let name = case["name"].as_str().expect("a name").to_owned();
            assert!(names.insert(name.clone()), "`{name}` names two cases");
            assert!(
                case["covers"].as_array().is_some_and(|covers| !covers.is_empty()),
                "`{name}` covers nothing"
            );
            if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
                continue;
            }
            let contracts = match case["contracts"].as_array() {
                Some(contracts) => contracts
                    .iter()
                    .map(|name| name.as_str().expect("a contract"))
                    .collect(),
                None => CONTRACTS.to_vec(),
            };
            for contract in contracts {
                runs += 1;
                if let Err(problem) = run(&case, contract) {
                    failures.push(format!("{name} ({contract}): {problem}"));
                }
            }
        }
    }
    println!(
        "{} vectors, {runs} runs, {} failures",
        names.len(),
        failures.len()
    );
    assert!(only.is_some() || names.len() >= 250, "fewer than 250 vectors");
    assert!(
        failures.is_empty(),
        "{} of {runs} runs failed:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

fn run(case: &Value, contract: &str) -> Result<(), String> {
    let service = Service::new();
    let start = case["start"].as_i64().unwrap_or(support::START);
    service.clock.0.set(start);
    for machine in case["machines"].as_array().into_iter().flatten() {
        let body = with_contract(machine, contract).to_string();
        block_on(
            service
                .engine
                .create_machine(&support::tenant("t1"), body.as_bytes()),
        )
        .map_err(|error| format!("its machine is refused: {}", error.body()))?;
    }
    let mut next: Option<String> = None;
    for (place, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        if let Some(at) = step["at"].as_i64() {
            service.clock.0.set(start + at);
        }
        for _ in 0..step["repeat"].as_u64().unwrap_or(1) {
            let reply = perform(&service, step, contract, next.as_deref());
            next.clone_from(&reply.next);
            let op = step["op"].as_str().unwrap_or_default();
            check(step, &reply, op).map_err(|problem| {
                format!(
                    "step {place} ({op}): {problem}\n  got {} {}",
                    reply.status, reply.body
                )
            })?;
        }
    }
    Ok(())
}

fn with_contract(definition: &Value, contract: &str) -> Value {
    let mut definition = definition.clone();
    if let Some(object) = definition.as_object_mut() {
        object.entry("contract").or_insert_with(|| json!(contract));
    }
    definition
}

fn reply<T: Serialize>(status: u16, outcome: Result<T, Error>) -> Reply {
    match outcome {
        Ok(body) => Reply {
            status,
            body: serde_json::to_value(body).unwrap(),
            next: None,
        },
        Err(error) => Reply {
            status: error.status(),
            body: error.body(),
            next: None,
        },
    }
}

fn page<T: Serialize>(outcome: Result<Page<T>, Error>) -> Reply {
    let next = outcome.as_ref().ok().and_then(|page| page.next.clone());
    Reply {
        next,
        ..reply(200, outcome.map(|page| page.items))
    }
}

fn perform(service: &Service, step: &Value, contract: &str, next: Option<&str>) -> Reply {
    let engine = &service.engine;
    let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let query = |key: &str| {
        let value = &step["query"][key];
        if value["$next"] == json!(true) {
            return Some(next.expect("the list before goes on").to_owned());
        }
        value
            .as_str()
            .map(str::to_owned)
            .or_else(|| value.is_number().then(|| value.to_string()))
    };
    let op = text("op");
    let takes_definition = ["register", "replace", "validate"].contains(&op.as_str());
    let body = match (step["raw"].as_str(), step.get("body")) {
        (Some(raw), _) => raw.to_owned(),
        (None, Some(body)) if takes_definition => with_contract(body, contract).to_string(),
        (None, Some(body)) => body.to_string(),
        (None, None) => String::new(),
    };
    let body = body.as_bytes();
    let (machine, entity) = (text("machine"), text("entity"));
    let header: Option<Result<TenantId, Error>> = match step.get("tenant") {
        None => Some(Ok(support::tenant("t1"))),
        Some(Value::Null) => None,
        Some(tenant) => Some(tenant_id("X-Tenant-Id", tenant.as_str().expect("a tenant"))),
    };
    let header = match header.transpose() {
        Ok(header) => header,
        Err(error) => return reply::<()>(200, Err(error)),
    };
    match op.as_str() {
        "tick" => return reply(200, block_on(engine.tick())),
        "evaluate" => return reply(200, block_on(engine.evaluate(header.as_ref(), &machine, body))),
        "batch" => {
            return reply(
                200,
                block_on(engine.evaluate_batch(header.as_ref(), &machine, body)),
            );
        }
        "validate" => return reply(200, block_on(engine.validate(header.as_ref(), body))),
        _ => {}
    }
    let Some(tenant) = header else {
        return reply::<()>(200, Err(missing_tenant()));
    };
    let paging = Paging {
        limit: query("limit"),
        cursor: query("cursor"),
    };
    match op.as_str() {
        "register" => reply(201, block_on(engine.create_machine(&tenant, body))),
        "replace" => {
            let in_flight = step["in_flight"].as_str();
            reply(
                200,
                block_on(engine.put_machine(&tenant, &machine, body, in_flight)),
            )
        }
        "machine" => reply(200, block_on(engine.get_machine(&tenant, &machine))),
        "machines" => page(block_on(engine.list_machines(&tenant, &paging))),
        "delete_machine" => reply(204, block_on(engine.delete_machine(&tenant, &machine))),
        "revisions" => page(block_on(engine.revisions(&tenant, &machine, &paging))),
        "diagram" => {
            let format = step["format"].as_str();
            let entity = step["entity"].as_str();
            reply(200, block_on(engine.diagram(&tenant, &machine, format, entity)))
        }
        "counts" => reply(200, block_on(engine.counts(&tenant, &machine))),
        "create" => reply(201, block_on(engine.create_entity(&tenant, &machine, body))),
        "entity" if step["query"]["tree"] == json!(true) => {
            reply(200, block_on(engine.get_tree(&tenant, &machine, &entity)))
        }
        "entity" => reply(200, block_on(engine.get_entity(&tenant, &machine, &entity))),
        "entities" => {
            let query = EntityQuery {
                state: query("state"),
                region: query("region"),
                updated_since: query("updated_since"),
                prefix: query("prefix"),
                paging,
            };
            page(block_on(engine.list_entities(&tenant, &machine, &query)))
        }
        "delete" => reply(204, block_on(engine.delete_entity(&tenant, &machine, &entity))),
        "transition" => reply(200, block_on(engine.transition(&tenant, &machine, &entity, body))),
        "explain" => reply(200, block_on(engine.explain(&tenant, &machine, &entity, body))),
        "events" => reply(200, block_on(engine.events(&tenant, &machine, &entity))),
        "history" => {
            let query = HistoryQuery {
                order: query("order"),
                paging,
            };
            page(block_on(engine.history(&tenant, &machine, &entity, &query)))
        }
        "scheduler" => reply(200, block_on(engine.scheduler(&tenant))),
        "release" => {
            let released = block_on(engine.release_timers(&tenant, &machine, &entity));
            reply(200, released.map(|released| json!({"released": released})))
        }
        other => panic!("no op `{other}`"),
    }
}

fn check(step: &Value, reply: &Reply, op: &str) -> Result<(), String> {
    let expect = &step["expect"];
    let success = match op {
        "register" | "create" => 201,
        "delete" | "delete_machine" => 204,
        _ => 200,
    };
    let status = expect["status"].as_u64().unwrap_or(success);
    if u64::from(reply.status) != status {
        return Err(format!("expected status {status}"));
    }
    if let Some(body) = expect.get("body") {
        matches(body, &reply.body, "$")?;
    }
    for key in expect["absent"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("a key");
        if reply.body.get(key).is_some() {
            return Err(format!("`{key}` is there"));
        }
    }
    Ok(())
}

fn matches(expected: &Value, actual: &Value, path: &str) -> Result<(), String> {
    let wrong = || Err(format!("at {path}: expected {expected}, got {actual}"));
    match expected {
        Value::Object(object) => match special(object) {
            Some(("$any", _)) => Ok(()),
            Some(("$contains", part)) => {
                let part = part.as_str().expect("a text");
                if actual.as_str().is_some_and(|text| text.contains(part)) {
                    Ok(())
                } else {
                    wrong()
                }
            }
            Some(("$exact", exact)) => {
                if json_equal(exact, actual) {
                    Ok(())
                } else {
                    wrong()
                }
            }
            _ => {
                let Some(actual) = actual.as_object() else {
                    return wrong();
                };
                for (key, expected) in object {
                    let path = format!("{path}.{key}");
                    let absent = expected
                        .as_object()
                        .and_then(special)
                        .is_some_and(|(name, _)| name == "$absent");
                    match (actual.get(key), absent) {
                        (None, true) => {}
                        (Some(value), true) => {
                            return Err(format!("at {path}: expected nothing, got {value}"));
                        }
                        (None, false) => return Err(format!("at {path}: expected {expected}, got nothing")),
                        (Some(value), false) => matches(expected, value, &path)?,
                    }
                }
                Ok(())
            }
        },
        Value::Array(items) => {
            let Some(actual) = actual.as_array().filter(|actual| actual.len() == items.len()) else {
                return wrong();
            };
            items
                .iter()
                .zip(actual)
                .enumerate()
                .try_for_each(|(place, (expected, actual))| {
                    matches(expected, actual, &format!("{path}[{place}]"))
                })
        }
        other => {
            if json_equal(other, actual) {
                Ok(())
            } else {
                wrong()
            }
        }
    }
}

fn special(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    ["$any", "$contains", "$exact", "$absent"]
        .contains(&key.as_str())
        .then_some((key.as_str(), value))
}

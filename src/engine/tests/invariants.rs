//! What holds whatever happens: histories replay (I8), versions and entries grow by one (I2, I4), and tenants do not
//! see each other (I9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value, json};
use statewright_core::ids::TenantId;
use statewright_engine::EntityQuery;
use statewright_engine::history::HistoryQuery;
use statewright_engine::page::Paging;
use support::world::{Reply, World, WorldEngine, put, register, reply, t1};
use support::{block_on, tenant};

/// Numbers that repeat from run to run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// Three regions with timeouts, joins, a broadcast and guards on the context.
fn wide() -> Value {
    json!({"machine_id": "wide", "broadcast": ["all"],
        "regions": [
            {"id": "a", "states": ["a1", "a2", "a3"], "initial_state": "a1"},
            {"id": "b", "states": ["b1", "b2"], "initial_state": "b1"},
            {"id": "c", "states": ["c1", "c2", "c3"], "initial_state": "c1"}],
        "transitions": [
            {"region": "a", "from": "a1", "to": "a2", "on": "go"},
            {"region": "a", "from": "a2", "to": "a3", "on": "go", "guard": {"field": "n", "op": "gt", "value": 3}},
            {"region": "a", "from": "a2", "to": "a1", "on": "back"}, {"region": "a", "from": "a3", "to": "a1", "on": "back"},
            {"region": "a", "from": "a2", "to": "a1", "on": "$timeout", "guard": {"timeout_seconds": 30}},
            {"region": "b", "from": "b1", "to": "b2", "on": "go"}, {"region": "b", "from": "b2", "to": "b1", "on": "back"},
            {"region": "b", "from": "b2", "to": "b2", "on": "touch"},
            {"region": "b", "from": "b2", "to": "b1", "on": "$timeout",
                "guard": {"timeout_seconds": 20, "field": "n", "op": "lt", "value": 5}},
            {"region": "a", "from": "a1", "to": "a2", "on": "all"}, {"region": "b", "from": "b1", "to": "b2", "on": "all"},
            {"region": "c", "from": "c1", "to": "c2", "on": "all"}, {"region": "c", "from": "c2", "to": "c1", "on": "touch"},
            {"region": "c", "from": "c3", "to": "c1", "on": "back"}],
        "joins": [
            {"when": {"a": "a2", "b": "b2"}, "target_region": "c", "target_state": "c3"},
            {"when": {"c": "c3", "a": "a3"}, "target_region": "b", "target_state": "b1", "trigger": "level"}]})
}

fn flat() -> Value {
    json!({"machine_id": "flat", "states": ["s1", "s2", "s3"], "initial_state": "s1", "transitions": [
        {"from": "s1", "to": "s2", "on": "go"}, {"from": "s2", "to": "s3", "on": "go"},
        {"from": "s3", "to": "s1", "on": "back"}, {"from": "s2", "to": "s2", "on": "touch"},
        {"from": "s3", "to": "s1", "on": "$timeout", "guard": {"after_ms": 7000}},
        {"from": "s2", "to": "s1", "on": "$timeout", "guard": {"after_ms": 15000}}]})
}

/// Another revision, whose timeouts and transitions differ.
fn changed(mut definition: Value, chance: &mut Chance) -> Value {
    let transitions = definition["transitions"].as_array_mut().unwrap();
    let dropped = usize::try_from(chance.below(transitions.len() as u64)).unwrap();
    if transitions[dropped]["on"] != "$timeout" {
        transitions.remove(dropped);
    }
    for transition in transitions.iter_mut() {
        if let Some(seconds) = transition["guard"].get_mut("timeout_seconds") {
            *seconds = json!(5 + chance.below(40));
        }
    }
    definition["label"] = json!(format!("r{}", chance.below(1_000_000)));
    definition
}

/// Does something to one of two entities; says what was answered.
fn act(world: &World, machine: &str, chance: &mut Chance) {
    let id = chance.of(&["e", "f"]);
    let kind = chance.of(&["go", "go", "back", "touch", "all", "none"]);
    let params = json!({"id": id, "n": chance.below(8), "note": chance.of(&["x", "y"])});
    let mut body = json!({"event_type": kind, "params": params});
    if chance.below(2) == 0 {
        body["timestamp"] = json!(chance.below(40));
    }
    let mut keyed = body.clone();
    keyed["entity_key"] = json!("id");
    match chance.below(8) {
        0..=3 => drop(block_on(world.engine.evaluate(
            Some(&t1()),
            machine,
            keyed.to_string().as_bytes(),
        ))),
        4 => drop(block_on(world.engine.transition(
            &t1(),
            machine,
            id,
            body.to_string().as_bytes(),
        ))),
        5 => {
            let batch = json!({"events": [keyed, {"event_type": "go", "entity_key": "id", "params": {"id": "f", "n": 2}}]});
            block_on(
                world
                    .engine
                    .evaluate_batch(Some(&t1()), machine, batch.to_string().as_bytes()),
            )
            .unwrap();
        }
        _ => drop(block_on(world.engine.tick()).unwrap()),
    }
}

/// Each region's state, by the history from the initial states on, and the context, from the initial one on.
fn replayed(
    world: &World,
    definitions: &BTreeMap<u64, Value>,
    entity: &str,
    machine: &str,
) -> (Map<String, Value>, Value, u64) {
    let first = &definitions[&1];
    let mut states: Map<String, Value> = match first["regions"].as_array() {
        Some(regions) => regions
            .iter()
            .map(|region| {
                (
                    region["id"].as_str().unwrap().to_owned(),
                    region["initial_state"].clone(),
                )
            })
            .collect(),
        None => Map::from_iter([("_".to_owned(), first["initial_state"].clone())]),
    };
    let initial: String = world
        .sqlite
        .connection
        .borrow()
        .query_row(
            "SELECT initial_context FROM entities WHERE entity_id = ?1",
            [entity],
            |row| row.get(0),
        )
        .unwrap();
    let mut context: Map<String, Value> = serde_json::from_str(&initial).unwrap();
    let query = HistoryQuery {
        order: Some("id".to_owned()),
        ..HistoryQuery::default()
    };
    let rows = block_on(world.engine.history(&t1(), machine, entity, &query))
        .unwrap()
        .items;
    let mut steps = 0;
    for row in rows {
        let row = serde_json::to_value(row).unwrap();
        let region = row["region"].as_str().unwrap().to_owned();
        assert_eq!(
            states[&region], row["from_state"],
            "a row that does not follow the one before: {row}"
        );
        // Its revision says so.
        let definition = &definitions[&row["revision"].as_u64().unwrap()];
        let said = match row["event_type"].as_str().unwrap() {
            "$join" => definition["joins"].as_array().unwrap().iter().any(|join| {
                join["target_region"] == row["region"] && join["target_state"] == row["to_state"]
            }),
            kind => definition["transitions"]
                .as_array()
                .unwrap()
                .iter()
                .any(|transition| {
                    transition["on"] == kind
                        && transition["from"] == row["from_state"]
                        && transition["to"] == row["to_state"]
                        && (region == "_" || transition["region"] == row["region"])
                }),
        };
        assert!(said, "no revision says so: {row}");
        states.insert(region, row["to_state"].clone());
        let key: Value = serde_json::from_str(row["identity_key"].as_str().unwrap()).unwrap();
        let later = key[0] == "evt" && key.as_array().unwrap().last().unwrap().is_string();
        if row["cause"]["via"] != "join" && !later {
            steps += 1;
        }
        if row["cause"]["via"] == "event" {
            context.extend(row["event_params"].as_object().unwrap().clone());
        }
    }
    (states, Value::Object(context), steps)
}

#[test]
fn i8_i2_i4_a_history_replayed_over_its_revisions_gives_state_context_and_version() {
    let mut rows = 0;
    for seed in 0..60 {
        let mut chance = Chance(seed);
        let base = if seed % 2 == 0 { wide() } else { flat() };
        let machine = base["machine_id"].as_str().unwrap().to_owned();
        let world = World::new();
        assert_eq!(register(&world.engine, &base).0, 201);
        let mut definitions = BTreeMap::from([(1, base.clone())]);
        let body = json!({"entity_id": "e", "context": {"n": 1, "made": [1.5, null, "ä"]}}).to_string();
        block_on(world.engine.create_entity(&t1(), &machine, body.as_bytes())).unwrap();
        let mut now = 0;
        for step in 0..60 {
            now += i64::try_from(chance.below(9_000)).unwrap();
            world.at(now);
            if step % 17 == 16 {
                let next = changed(base.clone(), &mut chance);
                let in_flight = chance.of(&["follow", "pin"]);
                assert_eq!(put(&world.engine, &next, in_flight).0, 200);
                definitions.insert(definitions.len() as u64 + 1, next);
            }
            act(&world, &machine, &mut chance);
        }
        for entity in ["e", "f"] {
            let Ok(view) = block_on(world.engine.get_entity(&t1(), &machine, entity)) else {
                continue;
            };
            let view = serde_json::to_value(view).unwrap();
            let (states, context, steps) = replayed(&world, &definitions, entity, &machine);
            let current = match &view["current_state"] {
                Value::String(state) => Map::from_iter([("_".to_owned(), json!(state))]),
                other => other.as_object().unwrap().clone(),
            };
            assert_eq!(current, states, "seed {seed}: {view}");
            assert_eq!(view["context"], context, "seed {seed}");
            assert_eq!(view["state_version"], 1 + steps, "I2, seed {seed}");
            // I4: one entry a region, each of another instance.
            let entries = view["region_entries"].as_object().unwrap();
            assert_eq!(
                entries.keys().collect::<Vec<_>>(),
                states.keys().collect::<Vec<_>>()
            );
            let seqs: BTreeSet<_> = entries
                .values()
                .map(|entry| entry["seq"].as_u64().unwrap())
                .collect();
            assert_eq!(seqs.len(), entries.len(), "seed {seed}: {view}");
            rows += steps;
        }
        world.stored();
    }
    assert!(rows > 1_000, "histories that tell something: {rows}");
}

/// Every operation of a tenant, as its answers.
fn all_of(engine: &WorldEngine, tenant: &TenantId) -> Vec<Reply> {
    let query = EntityQuery::default();
    let by_state = EntityQuery {
        region: Some("a".to_owned()),
        state: Some("a2".to_owned()),
        ..EntityQuery::default()
    };
    let since = EntityQuery {
        updated_since: Some("0".to_owned()),
        ..EntityQuery::default()
    };
    let paging = Paging::default();
    let event = |kind: &str| {
        json!({"event_type": kind, "entity_key": "id", "params": {"id": "e", "n": 4}, "timestamp": 5})
            .to_string()
    };
    let plain = json!({"event_type": "back"}).to_string();
    let batch = format!(
        "{{\"events\": [{}, {}]}}",
        event("touch"),
        event("go").replace("\"e\"", "\"f\"")
    );
    let mut other = wide();
    other["label"] = json!("other");
    let (definition, other) = (wide().to_string(), other.to_string());
    let page =
        |outcome: Result<statewright_engine::page::Page<_>, _>| reply(200, outcome.map(|page| page.items));
    vec![
        reply(
            201,
            block_on(engine.create_machine(tenant, definition.as_bytes())),
        ),
        reply(
            201,
            block_on(engine.create_entity(tenant, "wide", br#"{"entity_id": "e"}"#)),
        ),
        reply(
            200,
            block_on(engine.evaluate(Some(tenant), "wide", event("go").as_bytes())),
        ),
        reply(
            200,
            block_on(engine.evaluate(Some(tenant), "wide", event("go").as_bytes())),
        ),
        reply(
            200,
            block_on(engine.evaluate_batch(Some(tenant), "wide", batch.as_bytes())),
        ),
        reply(
            200,
            block_on(engine.transition(tenant, "wide", "e", plain.as_bytes())),
        ),
        reply(
            200,
            block_on(engine.put_machine(tenant, "wide", other.as_bytes(), None)),
        ),
        reply(200, block_on(engine.get_machine(tenant, "wide"))),
        reply(
            200,
            block_on(engine.list_machines(tenant, &paging)).map(|page| page.items),
        ),
        reply(
            200,
            block_on(engine.revisions(tenant, "wide", &paging)).map(|page| page.items),
        ),
        reply(200, block_on(engine.counts(tenant, "wide"))),
        reply(200, block_on(engine.get_entity(tenant, "wide", "e"))),
        page(block_on(engine.list_entities(tenant, "wide", &query))),
        page(block_on(engine.list_entities(tenant, "wide", &by_state))),
        page(block_on(engine.list_entities(tenant, "wide", &since))),
        reply(
            200,
            block_on(engine.history(tenant, "wide", "e", &HistoryQuery::default())).map(|page| page.items),
        ),
        reply(
            200,
            block_on(engine.explain(tenant, "wide", "e", plain.as_bytes())),
        ),
        reply(200, block_on(engine.events(tenant, "wide", "e"))),
        reply(200, block_on(engine.diagram(tenant, "wide", None, Some("e")))),
        reply(200, block_on(engine.release_timers(tenant, "wide", "e"))),
        reply(200, block_on(engine.scheduler(tenant))),
        reply(204, block_on(engine.delete_machine(tenant, "wide"))),
        reply(204, block_on(engine.delete_entity(tenant, "wide", "e"))),
        reply(204, block_on(engine.delete_entity(tenant, "wide", "f"))),
        reply(204, block_on(engine.delete_machine(tenant, "wide"))),
        reply(200, block_on(engine.get_machine(tenant, "wide"))),
    ]
}

/// Without the numbers of history rows, which go on over all tenants.
fn unnumbered(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unnumbered(item.take())),
        Value::Object(object) => {
            object.retain(|key, value| !(value.is_number() && (key == "id" || key == "row")));
            object
                .values_mut()
                .for_each(|value| *value = unnumbered(value.take()));
        }
        _ => {}
    }
    value
}

/// What is stored of a tenant.
fn of_tenant(world: &World, tenant: &str) -> Vec<String> {
    let stored = world.stored();
    let mut lines: Vec<String> = Vec::new();
    for line in stored.lines() {
        let cells: Vec<_> = line.split(" | ").collect();
        let named = cells.iter().any(|cell| {
            *cell == tenant
                || cell.ends_with(&format!(": {tenant}"))
                || cell.starts_with(&format!("<{tenant}/"))
                || cell.starts_with(&format!("<made {tenant}/"))
        });
        if named {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// A neighbour with entities, events, history, due timers and a timer in trouble, under the very same names.
fn neighbour(world: &World, name: &str) {
    let tenant = tenant(name);
    let definition = wide().to_string();
    block_on(world.other.create_machine(&tenant, definition.as_bytes())).unwrap();
    for (entity, kind) in [("e", "go"), ("e", "touch"), ("f", "all"), ("g", "go")] {
        let body =
            json!({"event_type": kind, "entity_key": "id", "params": {"id": entity, "n": 9}, "timestamp": 5});
        block_on(
            world
                .other
                .evaluate(Some(&tenant), "wide", body.to_string().as_bytes()),
        )
        .unwrap();
    }
    world.sqlite.execute(&format!(
        "UPDATE entries SET failures = 2, error = 'theirs' WHERE tenant = '{name}' AND entity_id = 'g'"
    ));
}

#[test]
fn i9_no_operation_of_a_tenant_reads_or_writes_another_s() {
    let alone = World::new();
    let expected = all_of(&alone.engine, &t1());
    for (place, (status, body)) in expected.iter().enumerate().take(21) {
        assert!(*status < 300, "operation {place}: {body}");
    }
    assert_eq!(
        expected[21].0, 409,
        "a machine with entities of its own is not deleted: {}",
        expected[21].1
    );
    assert_eq!(expected[24].0, 204, "{}", expected[24].1);
    // Names that a text search, a prefix or a wrong join would take for one.
    for name in ["t2", "t", "t11", "T1", "t1\u{301}", "t%", "t1 "] {
        let world: Rc<World> = World::new();
        neighbour(&world, name);
        let theirs = of_tenant(&world, name);
        assert!(theirs.len() > 10, "{theirs:#?}");
        let answers = all_of(&world.engine, &t1());
        for (place, (answer, expected)) in answers.into_iter().zip(&expected).enumerate() {
            assert_eq!(
                answer.0, expected.0,
                "operation {place} beside `{name}`: {}",
                answer.1
            );
            assert_eq!(
                unnumbered(answer.1),
                unnumbered(expected.1.clone()),
                "operation {place} beside `{name}`"
            );
        }
        assert_eq!(of_tenant(&world, name), theirs, "beside `{name}`");
        assert_eq!(
            of_tenant(&world, "t1").len(),
            1,
            "what is left is the number of the machine's last revision"
        );
    }
}

#[test]
fn i9_a_warm_cache_hands_no_definition_to_another_tenant() {
    let world = World::new();
    neighbour(&world, "t2");
    let t2 = tenant("t2");
    let body = json!({"event_type": "go", "entity_key": "id", "params": {"id": "x"}}).to_string();
    // The engine has seen t2's machine; t1 has none of that name, then one of the same name that says otherwise.
    assert!(block_on(world.engine.evaluate(Some(&t2), "wide", body.as_bytes())).is_ok());
    let missing = block_on(world.engine.evaluate(Some(&t1()), "wide", body.as_bytes())).unwrap_err();
    assert_eq!(missing.status(), 404);
    let mut mine = flat();
    mine["machine_id"] = json!("wide");
    assert_eq!(register(&world.engine, &mine).0, 201);
    let answer = block_on(world.engine.evaluate(Some(&t1()), "wide", body.as_bytes())).unwrap();
    assert_eq!(serde_json::to_value(answer).unwrap()["transition"], "s1 → s2");
    let answer = block_on(world.engine.evaluate(
        Some(&t2),
        "wide",
        body.replace("\"x\"", "\"y\"").as_bytes(),
    ))
    .unwrap();
    assert_eq!(serde_json::to_value(answer).unwrap()["transition"], "a: a1 → a2");
}

#[test]
fn m8_an_entity_that_cannot_be_read_hides_no_other_from_a_list() {
    let service = support::Service::new();
    let tenant = tenant("t1");
    let definition = json!({"machine_id": "m", "states": ["a"], "initial_state": "a", "transitions": []});
    block_on(
        service
            .engine
            .create_machine(&tenant, definition.to_string().as_bytes()),
    )
    .unwrap();
    for id in ["x", "y", "z"] {
        let body = json!({"entity_id": id}).to_string();
        block_on(service.engine.create_entity(&tenant, "m", body.as_bytes())).unwrap();
    }
    service
        .sqlite
        .execute("UPDATE entries SET state = 'gone' WHERE entity_id = 'y'");
    let query = EntityQuery {
        paging: Paging {
            limit: Some("2".to_owned()),
            cursor: None,
        },
        ..Default::default()
    };
    let page = block_on(service.engine.list_entities(&tenant, "m", &query)).unwrap();
    let items = serde_json::to_value(&page.items).unwrap();
    assert_eq!(items[0]["current_state"], "a");
    assert_eq!(items[1]["entity_id"], "y");
    assert_eq!(items[1]["error"]["code"], "CORRUPT_INSTANCE");
    assert_eq!(items[1].get("current_state"), None);
    let rest = EntityQuery {
        paging: Paging {
            limit: Some("2".to_owned()),
            cursor: page.next,
        },
        ..Default::default()
    };
    let rest = block_on(service.engine.list_entities(&tenant, "m", &rest)).unwrap();
    assert_eq!(serde_json::to_value(&rest.items).unwrap()[0]["entity_id"], "z");
    assert_eq!(
        block_on(service.engine.get_entity(&tenant, "m", "y"))
            .unwrap_err()
            .status(),
        500
    );
}

#[test]
fn s2_142_what_was_applied_is_remembered_across_a_restart() {
    let service = support::Service::new();
    let definition = json!({"machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "go"}]});
    block_on(
        service
            .engine
            .create_machine(&t1(), definition.to_string().as_bytes()),
    )
    .unwrap();
    let event = |amount: u32| {
        json!({"event_type": "go", "entity_key": "id", "params": {"id": "e", "amount": amount}, "timestamp": 7})
            .to_string()
    };
    block_on(service.engine.evaluate(Some(&t1()), "m", event(1).as_bytes())).unwrap();
    let before = service.sqlite.dump();
    // Another program over the same database, with nothing in its memory.
    let restarted = statewright_engine::Engine::new(
        service.sqlite.clone(),
        service.clock.clone(),
        support::Counted::from(1),
        statewright_engine::DefinitionCache::default(),
    );
    let again = block_on(restarted.evaluate(Some(&t1()), "m", event(1).as_bytes())).unwrap();
    assert_eq!(
        again.reason.as_deref(),
        Some("duplicate event (already processed)")
    );
    let other = block_on(restarted.evaluate(Some(&t1()), "m", event(2).as_bytes())).unwrap_err();
    assert_eq!(other.code().name(), "EVENT_IDENTITY_CONFLICT");
    assert_eq!(service.sqlite.dump(), before, "neither wrote anything");
}

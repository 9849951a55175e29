//! How many batches an operation takes, and that the largest requests stay within the limits of D1, which the
//! database of these tests enforces (design 3, platform.md).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::EntityQuery;
use statewright_engine::error::Error;
use statewright_engine::history::HistoryQuery;
use statewright_engine::once::Once;
use support::faults::{reads, writes};
use support::outside::{OutEngine, Place};
use support::world::{World, clocked, create, evaluate, order, register, t1};
use support::{block_on, tenant};

fn event(entity: &str, kind: &str, timestamp: Option<i64>) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}, "timestamp": timestamp})
}

/// A world whose engine has seen its machines.
fn warm(definitions: &[Value]) -> Rc<World> {
    let world = World::new();
    for definition in definitions {
        assert_eq!(register(&world.engine, definition).0, 201);
        let machine = definition["machine_id"].as_str().unwrap();
        assert_eq!(
            evaluate(&world.engine, machine, &event("warm", "none", None)).0,
            200
        );
        create(&world.engine, machine, "e");
    }
    world.sqlite.taken();
    world
}

/// How many batches an event reads and how many it writes; a batch that writes reads nothing.
fn batches_of(world: &World, machine: &str, body: &Value) -> (usize, usize) {
    world.sqlite.taken();
    assert_eq!(evaluate(&world.engine, machine, body).0, 200);
    let batches = world.sqlite.taken();
    for batch in batches.iter().filter(|batch| writes(batch)) {
        assert!(!batch.iter().any(|sql| reads(sql)), "{batch:?}");
    }
    let write = batches.iter().filter(|batch| writes(batch)).count();
    (batches.len() - write, write)
}

#[test]
fn an_event_is_one_read_batch_and_one_write_batch() {
    let world = warm(&[order(), clocked()]);
    assert_eq!(
        batches_of(&world, "order", &event("e", "pay", Some(1))),
        (1, 1),
        "existing"
    );
    assert_eq!(
        batches_of(&world, "order", &event("new", "pay", Some(1))),
        (1, 1),
        "creating"
    );
    assert_eq!(
        batches_of(&world, "order", &event("odd", "ship", Some(1))),
        (1, 1),
        "creating, no transition"
    );
    assert_eq!(
        batches_of(&world, "order", &event("e", "pay", Some(2))),
        (1, 0),
        "no transition"
    );
    assert_eq!(
        batches_of(&world, "order", &event("e", "pay", Some(1))),
        (1, 0),
        "a duplicate"
    );
    let mut dry = event("e", "ship", None);
    dry["dry_run"] = json!(true);
    assert_eq!(batches_of(&world, "order", &dry), (1, 0), "a dry run");
    let mut explained = event("e", "ship", None);
    explained["explain"] = json!(true);
    assert_eq!(batches_of(&world, "order", &explained), (1, 1), "explained");
    world.at(15_000);
    assert_eq!(
        batches_of(&world, "clocked", &event("e", "go", Some(1))),
        (1, 1),
        "after a timeout"
    );
    world.at(30_000_000);
    assert_eq!(
        batches_of(&world, "clocked", &event("warm", "none", Some(1))),
        (1, 1),
        "timeouts alone"
    );
}

#[test]
fn the_definition_is_read_with_the_entity_where_the_cache_is_cold() {
    let world = World::new();
    register(&world.other, &order());
    create(&world.other, "order", "e");
    assert_eq!(batches_of(&world, "order", &event("e", "pay", Some(1))), (1, 1));
}

/// Sends a batch; gives how many batches of the database it took and how many statements.
fn send(world: &World, machine: &str, events: &[Value]) -> (Value, usize, usize) {
    let body = json!({ "events": events }).to_string();
    assert!(body.len() <= 1024 * 1024, "{}", body.len());
    world.sqlite.taken();
    let answer = block_on(world.engine.evaluate_batch(Some(&t1()), machine, body.as_bytes())).unwrap();
    let batches = world.sqlite.taken();
    let statements = batches.iter().map(Vec::len).sum();
    (serde_json::to_value(answer).unwrap(), batches.len(), statements)
}

/// Makes entities with such a context and one entry, past the engine.
fn fill(world: &World, count: usize, context: &str) {
    world.sqlite.execute(&format!(
        "INSERT INTO entities WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         SELECT 't1', 'order', printf('x%04d', i), printf('u%04d', i), 1, 1, 2, {context}, '{{}}', 0, 0 FROM n"
    ));
    world.sqlite.execute(
        "INSERT INTO entries SELECT uid, '_', tenant, machine_id, entity_id, 'pending', 1, 0, NULL, 1, NULL, NULL, 0, \
         NULL, NULL FROM entities WHERE entity_id LIKE 'x%'",
    );
}

#[test]
fn a_batch_of_a_thousand_is_at_most_four() {
    let world = warm(&[order()]);
    fill(&world, 1000, "json_object('a', hex(zeroblob(480)))");
    let existing: Vec<_> = (1..=1000)
        .map(|i| event(&format!("x{i:04}"), "pay", Some(i)))
        .collect();
    let made: Vec<_> = (1..=1000)
        .map(|i| event(&format!("y{i:04}"), "pay", None))
        .collect();
    let (answer, batches, _) = send(&world, "order", &existing);
    assert_eq!(answer["succeeded"], 1000);
    assert!(batches <= 4, "{batches}");
    let (answer, batches, _) = send(&world, "order", &made);
    assert_eq!(answer["succeeded"], 1000);
    assert!(batches <= 4, "{batches}");
    let (answer, batches, _) = send(&world, "order", &existing);
    assert_eq!(
        answer["results"][999]["result"]["reason"],
        "duplicate event (already processed)"
    );
    assert_eq!(batches, 1);
    let one: Vec<_> = (1..=1000).map(|i| event("e", "note", Some(i))).collect();
    let (answer, batches, _) = send(&world, "order", &one);
    assert_eq!(answer["results"][999]["result"]["state_version"], 1001);
    assert_eq!(batches, 2, "a thousand of one entity");
}

#[test]
fn a_batch_of_a_thousand_with_the_largest_contexts_stays_within_the_limits() {
    // Quotes, which take two bytes wherever a context is within another JSON text; and text of four bytes a character,
    // of which there is more than one answer of the database holds.
    for (what, large, context) in [
        ("quotes", 120, "replace(hex(zeroblob(65000)), '0', '\"')"),
        ("emoji", 210, "replace(hex(zeroblob(32000)), '0', '😀')"),
    ] {
        let world = warm(&[order()]);
        let context = format!("json_object('a', CASE WHEN i <= {large} THEN {context} END)");
        fill(&world, 1000, &context);
        let events: Vec<_> = (1..=1000)
            .map(|i| event(&format!("x{i:04}"), "pay", Some(i)))
            .collect();
        let (answer, _, statements) = send(&world, "order", &events);
        assert_eq!(answer["succeeded"], 1000, "{what}");
        assert_eq!(answer["results"][999]["result"]["state_version"], 2, "{what}");
        assert_eq!(world.sqlite.count("entries WHERE state = 'paid'"), 1000, "{what}");
        // Were all as large, there were a thousand large ones: two or more go in a statement, and each round has its own.
        let most = 1000 - 1000 / 2 + large / 2;
        assert!(
            statements <= most,
            "D1: 1,000 queries an invocation, not {statements} ({what})"
        );
    }
}

/// The longest names, of characters that are escaped at each level.
#[test]
fn a_batch_of_a_thousand_with_the_longest_names_stays_within_the_limits() {
    let machine = "\"".repeat(128);
    let mut definition = order();
    definition["machine_id"] = json!(machine);
    definition["transitions"] = json!([{"from": "pending", "to": "paid", "on": "\"".repeat(128)},
        {"from": "pending", "to": "shipped", "on": "ship"}]);
    let world = warm(&[definition]);
    let kind = "\"".repeat(128);
    let events: Vec<_> = (0..1000)
        .map(|i| event(&format!("{i:04}{}", "\\".repeat(252)), &kind, Some(i)))
        .collect();
    // Half of it, since a body has a mebibyte.
    let (answer, _, _) = send(&world, &machine, &events[..800]);
    assert_eq!(answer["succeeded"], 800);
    let (answer, batches, _) = send(&world, &machine, &events[..800]);
    assert_eq!(
        answer["results"][0]["result"]["reason"],
        "duplicate event (already processed)"
    );
    assert!(batches <= 4, "{batches}");
}

/// Everything at its bound at once, in the one row that an event reads.
#[test]
fn an_event_with_all_at_its_bound_stays_within_the_limits() {
    let world = World::new();
    let mut definition = order();
    // Stored with its keys, in at most 256 KiB.
    definition["description"] = json!("\"".repeat(130_000));
    assert_eq!(register(&world.other, &definition).0, 201);
    let context = json!({"entity_id": "e", "context": {"a": "\"".repeat(95_000)}}).to_string();
    block_on(world.other.create_entity(&t1(), "order", context.as_bytes())).unwrap();
    let mut body = event("e", "pay", Some(1));
    body["params"]["b"] = json!("\"".repeat(32_000));
    assert_eq!(batches_of(&world, "order", &body), (1, 1));
    let (_, answer) = evaluate(&world.engine, "order", &body);
    assert_eq!(answer["reason"], "duplicate event (already processed)");
    body["params"]["c"] = json!("\"".repeat(100));
    assert_eq!(evaluate(&world.engine, "order", &body).0, 409);
}

/// A definition of a quarter of a mebibyte for each of many tenants: more than one answer of the database holds.
#[test]
fn a_batch_of_many_tenants_and_a_pass_over_them_stay_within_the_limits() {
    let world = World::new();
    let tenants = 220;
    for place in 0..tenants {
        let mut definition = clocked();
        definition["description"] = json!(format!("{place}{}", "x".repeat(250_000)));
        let body = definition.to_string();
        block_on(
            world
                .other
                .create_machine(&tenant(&format!("t{place}")), body.as_bytes()),
        )
        .unwrap();
    }
    let events: Vec<_> = (0..tenants)
        .map(|place| {
            let params = json!({"id": "e", "key_prefix": format!("t{place}")});
            json!({"event_type": "note", "entity_key": "id", "params": params})
        })
        .collect();
    let body = json!({ "events": events }).to_string();
    let answer = block_on(world.engine.evaluate_batch(None, "clocked", body.as_bytes())).unwrap();
    assert_eq!((answer.succeeded, answer.failed), (tenants, 0));
    world.at(15_000);
    let mut fired = 0;
    for _ in 0..10 {
        fired += block_on(world.engine.tick()).unwrap().fired;
    }
    assert_eq!(fired, tenants);
}

#[test]
fn lists_of_large_rows_stay_within_the_limits() {
    let world = World::new();
    let mut definition = order();
    // Actions, which every row of the history holds.
    let url = format!("https://a.example/{}", "x".repeat(2_000));
    let action = json!({"on_enter": "pending", "action": {"type": "webhook", "url": url}});
    definition["actions"] = json!(vec![action; 100]);
    assert_eq!(register(&world.other, &definition).0, 201);
    for i in 0..300 {
        let mut note = event("e", "note", Some(i));
        note["dispatch"] = json!(false);
        assert_eq!(evaluate(&world.other, "order", &note).0, 200);
    }
    let mut query = HistoryQuery::default();
    let mut rows = 0;
    loop {
        let page = block_on(world.engine.history(&t1(), "order", "e", &query)).unwrap();
        rows += page.items.len();
        query.paging.cursor = page.next;
        if query.paging.cursor.is_none() {
            break;
        }
    }
    assert_eq!(rows, 300);
}

#[test]
fn lists_of_entities_with_many_regions_stay_within_the_limits() {
    let world = World::new();
    let regions: Vec<_> = (0..1_000)
        .map(|place| json!({"id": format!("{place}{}", "r".repeat(100)), "states": ["a"], "initial_state": "a"}))
        .collect();
    let definition = json!({"machine_id": "wide", "regions": regions, "transitions": []});
    assert_eq!(register(&world.engine, &definition).0, 201);
    create(&world.engine, "wide", "e");
    let count = 360;
    world.sqlite.execute(&format!(
        "INSERT INTO entities WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         SELECT 't1', 'wide', printf('x%04d', i), printf('u%04d', i), 1, 1, 1001, '{{}}', '{{}}', 0, 0 FROM n"
    ));
    world.sqlite.execute(
        "INSERT INTO entries SELECT e.uid, n.region, n.tenant, n.machine_id, e.entity_id, n.state, n.seq, n.entered_at, \
         NULL, 1, NULL, NULL, 0, NULL, NULL FROM entities e CROSS JOIN entries n WHERE e.entity_id LIKE 'x%' \
         AND n.entity_id = 'e'",
    );
    let mut query = EntityQuery::default();
    let mut rows = 0;
    loop {
        let page = block_on(world.engine.list_entities(&t1(), "wide", &query)).unwrap();
        rows += page.items.len();
        query.paging.cursor = page.next;
        if query.paging.cursor.is_none() {
            break;
        }
    }
    assert_eq!(rows, count + 1);
    let events: Vec<_> = (1..=count)
        .map(|i| event(&format!("x{i:04}"), "go", Some(1)))
        .collect();
    // More than one read brings, and less than a batch may answer.
    for events in events.chunks(60) {
        let (answer, _, _) = send(&world, "wide", events);
        assert_eq!(answer["succeeded"], events.len());
    }
}

/// A machine whose event calls for effects of each kind, and a place with subscriptions to it.
fn loud() -> Place {
    let place = Place::new();
    let calls = [
        json!({"type": "webhook", "url": "https://a.example/"}),
        json!({"type": "event", "event_type": "moved"}),
        json!({"type": "transition", "machine_id": "order", "entity_id": "{/entity_id}", "event_type": "pay"}),
    ];
    let actions: Vec<Value> = calls
        .iter()
        .map(|call| json!({"on_enter": "on", "action": call}))
        .collect();
    place.register(&order());
    place.register(
        &json!({"machine_id": "loud", "states": ["on"], "initial_state": "on", "actions": actions,
        "transitions": [{"from": "on", "to": "on", "on": "go"}]}),
    );
    for id in ["a", "b"] {
        place.subscribe(
            id,
            &json!({"source": "machines", "sink": {"type": "webhook", "url": "https://sink.example/"}}),
        );
    }
    place
}

fn once(place: &Place, key: &str, body: &str) -> OutEngine {
    let once = Once::request(key, "POST /x", "", body.as_bytes(), 200).unwrap();
    place.engine().keyed(once, Some(&t1()))
}

#[test]
fn design_5_an_event_with_effects_and_a_key_is_one_read_batch_and_one_write_batch() {
    let place = loud();
    let body = event("e", "go", Some(1)).to_string();
    let batches = || {
        place.sqlite.taken();
        let engine = once(&place, "k", &body);
        let answer = place.run(engine.evaluate(Some(&t1()), "loud", body.as_bytes()));
        let batches = place.sqlite.taken();
        let write = batches.iter().filter(|batch| writes(batch)).count();
        for batch in batches.iter().filter(|batch| writes(batch)) {
            assert!(!batch.iter().any(|sql| reads(sql)), "{batch:?}");
        }
        (answer.is_ok(), batches.len() - write, write)
    };
    assert_eq!(batches(), (true, 1, 1));
    assert_eq!(place.count("claimed = 1"), 5);
    assert_eq!(batches(), (false, 1, 0), "its replay is the read alone");
}

#[test]
fn design_4_a_delivery_costs_a_read_and_a_mark_however_many_lanes_it_goes_on_with() {
    let place = loud();
    let engine = place.engine();
    place.event_by(&engine, "loud", "e", "go");
    place.sqlite.taken();
    assert_eq!(place.run(engine.deliver_claimed()).done, 5 + 2);
    let batches = place.sqlite.taken();
    // One read and one mark of the event's own, the target's read and write, and a read and a mark of what that called for.
    assert!(batches.len() <= 8, "{} batches: {batches:#?}", batches.len());
    place.sqlite.taken();
    assert_eq!(place.pass().done, 0);
    assert!(
        place.sqlite.taken().len() <= 2,
        "nothing is due from one end to the other"
    );
}

#[test]
fn platform_a_batch_of_a_thousand_with_effects_and_a_key_stays_within_the_limits() {
    let place = loud();
    let events: Vec<_> = (0..1000)
        .map(|i| event(&format!("x{i:04}"), "go", Some(i)))
        .collect();
    let body = json!({ "events": events }).to_string();
    place.sqlite.taken();
    let engine = once(&place, "k", &body);
    let answer = place
        .run(engine.evaluate_batch(Some(&t1()), "loud", body.as_bytes()))
        .unwrap();
    assert_eq!(answer.succeeded, 1000);
    let batches = place.sqlite.taken();
    let statements: usize = batches.iter().map(Vec::len).sum();
    // The claim of the key, the read, the writes, the end.
    assert!(batches.len() <= 7, "{}", batches.len());
    assert!(statements <= 100, "{statements}");
    assert_eq!(place.count("status = 'pending'"), 5_000);
    assert_eq!(
        place.number("SELECT count(*) FROM inbox WHERE part >= 0"),
        Some(1_000)
    );
    place.sqlite.taken();
    let again = once(&place, "k", &body);
    let again = place.run(again.evaluate_batch(Some(&t1()), "loud", body.as_bytes()));
    assert!(matches!(again, Err(Error::Replayed(_))));
    // What a request delivers after its answer, and what passes do with the rest: D1 runs 1,000 statements an invocation.
    place.run(engine.deliver_claimed());
    let statements: usize = place.sqlite.taken().iter().map(Vec::len).sum();
    assert!(statements <= 900, "{statements}");
    let mut passes = 0;
    while place.count("status = 'pending'") > 0 {
        passes += 1;
        assert!(passes < 60);
        place.pass();
        let statements: usize = place.sqlite.taken().iter().map(Vec::len).sum();
        assert!(statements <= 1_000, "{statements}");
    }
    assert_eq!(
        place.count("status = 'done'"),
        5_000 + 2_000,
        "and what the targets' transitions call for"
    );
}

#[test]
fn platform_effects_at_their_bounds_stay_within_the_limits() {
    // Bodies of 256 KiB each, of characters that are escaped.
    let place = Place::new();
    let call = json!({"type": "webhook", "url": "https://a.example/", "body": {"$from": "/context"}});
    let actions = vec![json!({"on_enter": "on", "action": call}); 40];
    place.register(
        &json!({"machine_id": "loud", "states": ["on"], "initial_state": "on", "actions": actions,
        "transitions": [{"from": "on", "to": "on", "on": "go"}]}),
    );
    let body = json!({"entity_id": "e", "context": {"a": "\"".repeat(95_000)}}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "loud", body.as_bytes()))
        .unwrap();
    let engine = place.engine();
    place.event_by(&engine, "loud", "e", "go");
    let (pending, dead) = (place.count("status = 'pending'"), place.count("status = 'dead'"));
    assert_eq!(pending + dead, 40, "each has its row");
    let engine_two = place.engine();
    place.run(engine.deliver_claimed());
    place.passes(20);
    drop(engine_two);
    let received = place.outside.taken();
    assert_eq!(received.len(), usize::try_from(pending).unwrap());
    assert!(received.iter().all(|one| one.body.len() > 95_000));
}

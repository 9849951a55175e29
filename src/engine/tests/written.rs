//! What one request writes and answers has a bound, however much a small definition calls for: many regions, many
//! actions, large params in each row of a broadcast, many explanations (I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_engine::request::MAX_WRITTEN_BYTES;
use support::block_on;
use support::faults::writes;
use support::world::{World, create, evaluate, register, t1};

/// Regions that all take the event `go`, and actions that each of them calls for.
fn wide(regions: usize, actions: usize) -> Value {
    let region = |at: usize| json!({"id": format!("r{at}"), "states": ["a"], "initial_state": "a"});
    let turn = |at: usize| json!({"region": format!("r{at}"), "from": "a", "to": "a", "on": "go"});
    let action = json!({"on_enter": "a", "action": {"type": "event", "event_type": "e"}});
    json!({
        "machine_id": "wide",
        "regions": (0..regions).map(region).collect::<Vec<_>>(),
        "transitions": (0..regions).map(turn).collect::<Vec<_>>(),
        "actions": vec![action; actions],
        "broadcast": ["go"],
    })
}

fn go(entity: &str, timestamp: usize) -> Value {
    json!({"event_type": "go", "entity_key": "id", "params": {"id": entity}, "timestamp": timestamp})
}

fn batch(world: &World, machine: &str, events: &[Value]) -> (Value, usize) {
    let body = json!({ "events": events }).to_string();
    let answer = block_on(world.engine.evaluate_batch(Some(&t1()), machine, body.as_bytes())).unwrap();
    let text = serde_json::to_string(&answer).unwrap();
    (serde_json::from_str(&text).unwrap(), text.len())
}

#[test]
fn an_event_that_calls_for_too_much_is_refused_and_changes_nothing() {
    let world = World::new();
    assert_eq!(register(&world.engine, &wide(600, 600)).0, 201);
    let before = world.stored();
    let (status, body) = evaluate(&world.engine, "wide", &go("e", 1));
    assert_eq!(status, 413);
    assert_eq!(body["error"]["code"], "PAYLOAD_TOO_LARGE");
    assert_eq!(before, world.stored(), "not even the entity is made");
    create(&world.engine, "wide", "e");
    let before = world.stored();
    assert_eq!(evaluate(&world.engine, "wide", &go("e", 1)).0, 413);
    assert_eq!(before, world.stored());
}

#[test]
fn params_count_in_each_row_of_a_broadcast() {
    let world = World::new();
    assert_eq!(register(&world.engine, &wide(600, 0)).0, 201);
    let mut large = go("e", 1);
    large["params"]["x"] = json!("y".repeat(60_000));
    assert_eq!(evaluate(&world.engine, "wide", &large).0, 413);
    large["params"]["x"] = json!("y".repeat(6_000));
    let (status, body) = evaluate(&world.engine, "wide", &large);
    assert_eq!((status, &body["state_version"]), (200, &json!(2)));
}

#[test]
fn a_batch_stops_at_what_it_may_write_and_the_rest_can_be_sent_again() {
    let world = World::new();
    assert_eq!(register(&world.engine, &wide(300, 0)).0, 201);
    let events: Vec<Value> = (0..400).map(|at| go(["e", "f"][at % 2], at)).collect();
    let mut left = events.clone();
    let mut rounds = 0;
    while !left.is_empty() {
        rounds += 1;
        let (answer, bytes) = batch(&world, "wide", &left);
        assert!(bytes < 2 * MAX_WRITTEN_BYTES, "{bytes} bytes");
        let results = answer["results"].as_array().unwrap();
        let full = |result: &Value| {
            let error = result["error"].as_str();
            error.is_some_and(|error| error.starts_with("PAYLOAD_TOO_LARGE: "))
        };
        let refused: Vec<Value> = left
            .iter()
            .zip(results)
            .filter(|(_, result)| full(result))
            .map(|(event, _)| event.clone())
            .collect();
        assert_eq!(json!(refused.len()), answer["failed"]);
        assert!(refused.len() < left.len(), "it goes on");
        left = refused;
    }
    assert!(rounds > 1);
    for entity in ["e", "f"] {
        let entity = block_on(world.engine.get_entity(&t1(), "wide", entity)).unwrap();
        assert_eq!(json!(entity)["state_version"], 201, "each event once");
    }
}

#[test]
fn explanations_count_in_a_batch() {
    let world = World::new();
    let guarded = |at: usize| json!({"from": "a", "to": "a", "on": "go", "guard": {"field": "x", "op": "eq", "value": at}});
    let many = json!({"machine_id": "many", "states": ["a"], "initial_state": "a",
        "transitions": (0..1000).map(guarded).collect::<Vec<_>>()});
    assert_eq!(register(&world.engine, &many).0, 201);
    let mut event = go("e", 1);
    event["explain"] = json!(true);
    let (answer, bytes) = batch(&world, "many", &vec![event; 300]);
    assert!(bytes < 2 * MAX_WRITTEN_BYTES, "{bytes} bytes");
    assert!(answer["failed"].as_u64().unwrap() > 0);
    assert!(answer["succeeded"].as_u64().unwrap() > 10);
}

#[test]
fn a_pass_of_the_scanner_writes_large_timeouts_in_parts() {
    let world = World::new();
    let url = format!("https://a.example/{}", "x".repeat(1_900));
    let action = json!({"on_enter": "a", "action": {"type": "webhook", "url": url}});
    let loud = json!({"machine_id": "loud", "states": ["a"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "a", "on": "$timeout", "guard": {"after_ms": 1000}}],
        "actions": vec![action; 100]});
    assert_eq!(register(&world.engine, &loud).0, 201);
    for at in 0..4 {
        create(&world.engine, "loud", &format!("e{at}"));
    }
    world.at(60_000);
    world.sqlite.taken();
    let report = block_on(world.engine.tick()).unwrap();
    assert_eq!((report.failed, report.stale), (0, 0));
    let batches = world.sqlite.taken();
    let history = |batch: &&Vec<&str>| writes(batch) && batch.iter().any(|sql| sql.contains("INTO history"));
    assert_eq!(batches.iter().filter(history).count(), 4, "one for each entity");
    let mut passes = 1;
    let mut report = report;
    while report.more {
        passes += 1;
        assert!(passes < 10, "{report:?}");
        report = block_on(world.engine.tick()).unwrap();
    }
    for at in 0..4 {
        let entity = block_on(world.engine.get_entity(&t1(), "loud", &format!("e{at}"))).unwrap();
        assert_eq!(json!(entity)["state_version"], 61);
    }
}

#[test]
fn i7_effects_that_one_request_cannot_write_are_dead_with_the_reason_and_the_transitions_stand() {
    let world = World::new();
    let call = json!({"type": "webhook", "url": "https://a.example/", "body": {"$from": "/context"}});
    let large = json!({"machine_id": "large", "states": ["a"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "a", "on": "go"}],
        "actions": vec![json!({"on_enter": "a", "action": call}); 8]});
    assert_eq!(register(&world.engine, &large).0, 201);
    let context = json!({"entity_id": "e", "context": {"x": "y".repeat(60_000)}}).to_string();
    block_on(world.engine.create_entity(&t1(), "large", context.as_bytes())).unwrap();
    let events: Vec<Value> = (0..40).map(|at| go("e", at)).collect();
    let (answer, _) = batch(&world, "large", &events);
    let applied = answer["succeeded"].as_i64().unwrap();
    let number = |sql: &str| -> i64 {
        let connection = world.sqlite.connection.borrow();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(number("SELECT state_version - 1 FROM entities"), applied);
    assert_eq!(
        number("SELECT count(*) FROM outbox"),
        applied * 8,
        "each call has its row"
    );
    assert_eq!(
        number("SELECT count(*) FROM outbox WHERE status = 'dead' AND error IS NULL"),
        0
    );
    let bytes = number("SELECT sum(length(effect)) FROM outbox");
    let most = i64::try_from(MAX_WRITTEN_BYTES).unwrap();
    assert!(bytes > most / 2 && bytes < 2 * most, "{bytes} bytes");
    let told = number("SELECT count(*) FROM outbox WHERE status = 'dead' AND error LIKE '%bytes%'");
    assert_eq!(told, number("SELECT count(*) FROM outbox WHERE status = 'dead'"));
}

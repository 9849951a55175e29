//! Families of machines, and trees of their entities.

use serde_json::{Value, json};

use super::block_on;
use super::world::{Reply, World, WorldEngine, evaluate, register, reply, t1};

/// How deep the deepest managed child is (S2.181).
pub const DEEPEST: usize = 8;

/// A leaf: `step` goes to and fro, `b` times out after 10 s into the end, `finish` ends it at once.
pub fn leaf() -> Value {
    json!({"machine_id": "leaf", "states": ["a", "b", "done"], "initial_state": "a", "transitions": [
        {"from": "a", "to": "b", "on": "step"}, {"from": "b", "to": "a", "on": "step"},
        {"from": "a", "to": "a", "on": "note"}, {"from": "b", "to": "b", "on": "note"},
        {"from": "a", "to": "done", "on": "finish"}, {"from": "b", "to": "done", "on": "finish"},
        {"from": "b", "to": "done", "on": "$timeout", "guard": {"timeout_seconds": 10}}]})
}

/// A link of a chain: in `busy` at first, with a managed child there; `drop` leaves it, `again` comes back.
pub fn link(machine: &str, child: &str, reentry: &str) -> Value {
    json!({"machine_id": machine, "states": ["busy", "done", "off"], "initial_state": "busy",
        "transitions": [{"from": "busy", "to": "off", "on": "drop"}, {"from": "off", "to": "busy", "on": "again"},
            {"from": "done", "to": "busy", "on": "again"}],
        "sub_machines": {"busy": {"machine_id": child, "lifecycle": "managed", "on_final": {"done": "done"},
            "reentry": reentry}}})
}

/// Machines `l0`, …, and `leaf` at level `depth`, the leaf first.
pub fn chain(depth: usize, reentry: &str) -> Vec<Value> {
    let child = |level: usize| {
        if level == depth {
            "leaf".to_owned()
        } else {
            format!("l{level}")
        }
    };
    let links = (0..depth)
        .rev()
        .map(|level| link(&child(level), &child(level + 1), reentry));
    std::iter::once(leaf()).chain(links).collect()
}

/// A machine of so many regions, each with a leaf in its first state: `stop` and `go` are broadcast. And one above it,
/// which leaves the state that it lives in by a join that `pull` fires.
pub fn wide(regions: usize, reentry: &str) -> Vec<Value> {
    let (b, o, d) = (
        |at| format!("b{at}"),
        |at| format!("o{at}"),
        |at| format!("d{at}"),
    );
    let region = |at: usize| {
        json!({"id": format!("r{at}"), "states": [b(at), o(at), d(at)], "initial_state": b(at),
            "sub_machines": {b(at): {"machine_id": "leaf", "lifecycle": "managed", "on_final": {"done": d(at)},
                "reentry": reentry}}})
    };
    let all: Vec<Value> = (0..regions).map(region).collect();
    let mut transitions = Vec::new();
    for at in 0..regions {
        let region = format!("r{at}");
        transitions.push(json!({"region": region, "from": b(at), "to": o(at), "on": "stop"}));
        transitions.push(json!({"region": region, "from": o(at), "to": b(at), "on": "go"}));
    }
    vec![
        leaf(),
        json!({"machine_id": "wide", "regions": all, "transitions": transitions, "broadcast": ["stop", "go"]}),
        json!({"machine_id": "above", "regions": [
                {"id": "x", "states": ["x0", "x1"], "initial_state": "x0"},
                {"id": "y", "states": ["y0", "y1"], "initial_state": "y0", "sub_machines": {"y0": {"machine_id": "wide",
                    "lifecycle": "managed", "reentry": reentry}}}],
            "transitions": [{"region": "x", "from": "x0", "to": "x1", "on": "pull"},
                {"region": "y", "from": "y1", "to": "y0", "on": "go"}],
            "joins": [{"when": {"x": "x1"}, "target_region": "y", "target_state": "y1"}]}),
    ]
}

/// A legacy parent: in `busy`, events go to `flow`, whose end moves it on.
pub fn shop() -> Vec<Value> {
    vec![
        json!({"machine_id": "flow", "states": ["p", "q", "r"], "initial_state": "p", "transitions": [
            {"from": "p", "to": "q", "on": "picked"}, {"from": "q", "to": "r", "on": "packed"},
            {"from": "q", "to": "p", "on": "back"}, {"from": "p", "to": "p", "on": "note"},
            {"from": "q", "to": "r", "on": "$timeout", "guard": {"timeout_seconds": 30}}]}),
        json!({"machine_id": "shop", "states": ["placed", "busy", "shipped", "off"], "initial_state": "placed",
            "transitions": [{"from": "placed", "to": "busy", "on": "start"}, {"from": "busy", "to": "off", "on": "drop"},
                {"from": "off", "to": "busy", "on": "again"}, {"from": "shipped", "to": "busy", "on": "again"}],
            "sub_machines": {"busy": {"machine_id": "flow", "on_final": {"r": "shipped"}}}}),
    ]
}

pub fn register_all(engine: &WorldEngine, definitions: &[Value]) {
    for definition in definitions {
        let (status, body) = register(engine, definition);
        assert_eq!(status, 201, "{body}");
    }
}

/// The id of the child at a level of a chain.
pub fn at_level(root: &str, level: usize) -> String {
    format!("{root}{}", "::sub::busy".repeat(level))
}

/// The machine at a level of a chain.
pub fn machine_at(level: usize, depth: usize) -> String {
    if level == depth {
        "leaf".to_owned()
    } else {
        format!("l{level}")
    }
}

/// The path to a level of a chain.
pub fn path(levels: usize) -> Value {
    json!(vec![json!({"state": "busy"}); levels])
}

pub fn event(entity: &str, kind: &str, timestamp: Option<i64>) -> Value {
    let mut body = json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}});
    if let Some(timestamp) = timestamp {
        body["timestamp"] = json!(timestamp);
    }
    body
}

/// The same, for an instance below.
pub fn targeted(entity: &str, kind: &str, timestamp: Option<i64>, target: Value) -> Value {
    let mut body = event(entity, kind, timestamp);
    body["target"] = target;
    body
}

/// Sends an event that must be answered.
pub fn send(engine: &WorldEngine, machine: &str, body: &Value) -> Value {
    let (status, answer) = evaluate(engine, machine, body);
    assert_eq!(status, 200, "{body}: {answer}");
    answer
}

pub fn make(engine: &WorldEngine, machine: &str, entity: &str) -> Reply {
    let body = json!({"entity_id": entity}).to_string();
    reply(
        201,
        block_on(engine.create_entity(&t1(), machine, body.as_bytes())),
    )
}

pub fn batch(engine: &WorldEngine, machine: &str, events: &[Value]) -> Value {
    let body = json!({ "events": events }).to_string();
    let answer = block_on(engine.evaluate_batch(Some(&t1()), machine, body.as_bytes())).unwrap();
    serde_json::to_value(answer).unwrap()
}

/// An entity as it is read; null where there is none.
pub fn view(world: &World, machine: &str, entity: &str) -> Value {
    match block_on(world.other.get_entity(&t1(), machine, entity)) {
        Ok(view) => serde_json::to_value(view).unwrap(),
        Err(error) if error.status() == 404 => Value::Null,
        Err(error) => panic!("{entity}: {error}"),
    }
}

/// How many instances are in a status.
pub fn in_status(world: &World, status: &str) -> i64 {
    world
        .sqlite
        .count(&format!("instances WHERE status = '{status}'"))
}

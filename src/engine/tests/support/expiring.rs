//! A machine that times out, its entities, and what became of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statewright_engine::scanner::ScanReport;

use super::world::World;
use super::{block_on, tenant};

/// A machine that times out after 10 s.
pub fn expiring() -> Value {
    json!({"machine_id": "expiring", "states": ["open", "expired"], "initial_state": "open", "transitions": [
        {"from": "open", "to": "expired", "on": "$timeout", "guard": {"timeout_seconds": 10}},
        {"from": "expired", "to": "open", "on": "renew"}, {"from": "open", "to": "open", "on": "touch"}]})
}

pub fn event(entity: &str, kind: &str) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}})
}

pub fn tick(world: &World) -> ScanReport {
    block_on(world.engine.tick()).unwrap()
}

/// Makes an entity of the tenant's `expiring`, now.
pub fn make(world: &World, name: &str, entity: &str) {
    let body = json!({"entity_id": entity}).to_string();
    block_on(
        world
            .other
            .create_entity(&tenant(name), "expiring", body.as_bytes()),
    )
    .unwrap();
}

pub fn machine(world: &World, name: &str, definition: &Value) {
    let body = definition.to_string();
    block_on(world.other.create_machine(&tenant(name), body.as_bytes())).unwrap();
}

/// The ids of the entities in a state.
pub fn in_state(world: &World, state: &str) -> BTreeSet<String> {
    let connection = world.sqlite.connection.borrow();
    let sql = "SELECT tenant || '/' || entity_id FROM entries WHERE state = ?1";
    let mut statement = connection.prepare(sql).unwrap();
    let ids = statement.query_map([state], |row| row.get(0)).unwrap();
    ids.map(Result::unwrap).collect()
}

pub fn number(world: &World, sql: &str) -> Option<i64> {
    world
        .sqlite
        .connection
        .borrow()
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

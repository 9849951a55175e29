//! Effects from the commit to the receiver: what is written with a transition, when it is sent, what an answer means, and
//! what becomes of it (design 4, I3, I7; S0.30 to S0.53, S2.110 to S2.126).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

#[path = "outbox/claims.rs"]
mod claims;
#[path = "outbox/collector.rs"]
mod collector;
#[path = "outbox/events.rs"]
mod events;
#[path = "outbox/kept.rs"]
mod kept;
#[path = "outbox/presented.rs"]
mod presented;
#[path = "outbox/rows.rs"]
mod rows;
#[path = "outbox/signed.rs"]
mod signed;
#[path = "outbox/times.rs"]
mod times;

use serde_json::{Value, json};
use support::outside::{Place, Received};
use support::world::t1;

const URL: &str = "https://a.example/hook";
const SINK: &str = "https://sink.example/told";

/// A machine that goes round, and calls for these actions on entering `on`.
fn round(actions: &[Value]) -> Value {
    let actions: Vec<Value> = actions
        .iter()
        .map(|action| json!({"on_enter": "on", "action": action}))
        .collect();
    json!({"machine_id": "round", "states": ["off", "on"], "initial_state": "off", "actions": actions, "transitions": [
        {"from": "off", "to": "on", "on": "go"}, {"from": "on", "to": "on", "on": "go"},
        {"from": "on", "to": "off", "on": "back"}]})
}

fn webhook() -> Value {
    json!({"type": "webhook", "url": URL})
}

fn place_with(actions: &[Value]) -> Place {
    let place = Place::new();
    place.register(&round(actions));
    place
}

/// A place where a subscription `s` is told of the machines' transitions.
fn place_told() -> Place {
    let place = place_with(&[]);
    place.subscribe("s", &told());
    place
}

fn told() -> Value {
    json!({"source": "machines", "sink": {"type": "webhook", "url": SINK}})
}

fn times(received: &[Received]) -> Vec<i64> {
    received.iter().map(|one| one.at).collect()
}

fn attempts(received: &[Received]) -> Vec<u64> {
    received.iter().map(Received::attempt).collect()
}

fn text(place: &Place, sql: &str) -> String {
    let connection = place.sqlite.connection.borrow();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Two regions that join; a timeout fires the join.
fn joined() -> Value {
    json!({"machine_id": "joined", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y"], "initial_state": "x"}],
        "transitions": [
            {"region": "a", "from": "idle", "to": "on", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"region": "b", "from": "y", "to": "y", "on": "note"}],
        "actions": [{"on_enter": "on", "region": "a", "action": {"type": "webhook", "url": "https://a.example/timeout"}},
            {"on_enter": "x", "region": "b", "action": {"type": "webhook", "url": "https://a.example/never"}}],
        "joins": [{"when": {"a": "on"}, "target_region": "b", "target_state": "y",
            "actions": [{"type": "webhook", "url": "https://a.example/joined"}]}]})
}

/// What a pass sent.
trait SentOf {
    fn sent_of(&self) -> usize;
}

impl SentOf for statewright_engine::outbox::Delivered {
    fn sent_of(&self) -> usize {
        self.done + self.failed + self.denied + self.dead
    }
}

fn version(place: &Place, machine: &str, entity: &str) -> u64 {
    let entity = place.run(place.engine().get_entity(&t1(), machine, entity));
    entity.map_or(0, |entity| json!(entity)["state_version"].as_u64().unwrap())
}

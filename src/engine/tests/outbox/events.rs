//! Events that effects send (ruling 7).

use serde_json::{Value, json};

use super::{SentOf, place_with, round, told, version};
use crate::support::START;
use crate::support::outside::Place;
use crate::support::world::t1;

/// A machine whose entity `on` sends `go` to an entity of another.
fn sender(machine: &str, to: &str, create: bool) -> Value {
    let mut definition = round(&[
        json!({"type": "transition", "machine_id": to, "entity_id": "{/entity_id}", "event_type": "go",
        "params": {"from": {"$from": "/machine_id"}}, "create": create}),
    ]);
    definition["machine_id"] = json!(machine);
    definition
}

#[test]
fn ruling_7_an_effect_moves_another_entity_once_and_says_what_caused_it() {
    let place = Place::new();
    place.register(&sender("first", "second", true));
    let mut second = round(&[]);
    second["machine_id"] = json!("second");
    place.register(&second);
    let mut body = told();
    body["machine"] = json!("second");
    place.subscribe("s", &body);
    let (_, delivered) = place.event("first", "e", "go");
    assert_eq!(delivered.done, 2, "the effect, and what it called for in turn");
    assert_eq!(version(&place, "second", "e"), 2);
    let effect = place
        .outbox()
        .into_iter()
        .find(|row| row["kind"] == "transition")
        .unwrap();
    assert_eq!(effect["attempts"][0]["outcome"], "applied");
    let told = place.outside.taken().remove(0).json();
    assert_eq!(
        told["data"]["cause"]["source"],
        format!("effect:{}", effect["id"].as_str().unwrap())
    );
    // Claimed again as if nobody had marked it: its receipt answers.
    place.sqlite.execute(
        "UPDATE outbox SET status = 'pending', finished_at = NULL, due_at = 0 WHERE kind = 'transition'",
    );
    assert_eq!(place.pass().done, 1);
    assert_eq!(version(&place, "second", "e"), 2, "once");
    assert!(place.outside.taken().is_empty());
}

#[test]
fn ruling_7_a_target_that_does_not_move_is_over_and_one_that_is_missing_is_tried_again() {
    let place = Place::new();
    place.register(&sender("first", "second", false));
    let (_, delivered) = place.event("first", "e", "go");
    assert_eq!((delivered.failed, delivered.done), (4, 0), "no machine");
    let mut second = round(&[]);
    second["machine_id"] = json!("second");
    second["transitions"] = json!([{"from": "on", "to": "off", "on": "go"}]);
    place.register(&second);
    place.clock.set(400_000);
    let pass = place.pass();
    assert_eq!(
        (pass.failed, pass.done),
        (1, 0),
        "no entity, and none is to be made"
    );
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "second", body.as_bytes()))
        .unwrap();
    place.clock.set(4_000_000);
    assert_eq!(place.pass().done, 1);
    let row = place.row();
    assert_eq!(
        row["attempts"].as_array().unwrap().last().unwrap()["outcome"],
        "no_transition"
    );
    // That it moved nothing is decided: a late twin moves nothing either.
    place
        .sqlite
        .execute("UPDATE outbox SET status = 'pending', finished_at = NULL, due_at = 0");
    place
        .sqlite
        .execute("UPDATE entries SET state = 'on', seq = 9 WHERE machine_id = 'second'");
    place.pass();
    assert_eq!(version(&place, "second", "e"), 1);
}

#[test]
fn ruling_7_a_refusal_that_no_retry_can_help_is_over_with_its_code() {
    let place = Place::new();
    place.register(&sender("first", "tree", true));
    place.register(
        &json!({"machine_id": "tree", "states": ["off", "on"], "initial_state": "off",
        "transitions": [{"from": "off", "to": "on", "on": "go"}]}),
    );
    place.register(&json!({"machine_id": "third", "states": ["off", "on"], "initial_state": "off",
        "transitions": [{"from": "off", "to": "on", "on": "go"}],
        "actions": [{"on_enter": "on", "action": {"type": "transition", "machine_id": "loops", "entity_id": "x",
            "event_type": "go"}}]}));
    place.register(&json!({"machine_id": "loops", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y"], "initial_state": "x"}],
        "transitions": [{"region": "a", "from": "idle", "to": "on", "on": "go"}],
        "joins": [
            {"when": {"a": "on", "b": "x"}, "target_region": "b", "target_state": "y", "trigger": "level"},
            {"when": {"a": "on", "b": "y"}, "target_region": "b", "target_state": "x", "trigger": "level"}]}));
    let (_, delivered) = place.event("third", "e", "go");
    assert_eq!((delivered.done, delivered.failed, delivered.dead), (0, 0, 1));
    let row = place.row();
    assert_eq!(row["status"], "dead");
    assert!(
        row["error"].as_str().unwrap().starts_with("JOIN_CASCADE_LIMIT: "),
        "{row}"
    );
    assert_eq!(
        place
            .run(place.engine().get_entity(&t1(), "loops", "x"))
            .unwrap_err()
            .status(),
        404
    );
}

#[test]
fn ruling_7_an_id_that_its_template_does_not_give_is_dead_at_once() {
    let place = place_with(&[
        json!({"type": "transition", "machine_id": "round", "entity_id": "{/context/none}",
        "event_type": "go"}),
    ]);
    let engine = place.engine();
    let answer = place.event_by(&engine, "round", "e", "go");
    assert_eq!(answer["state_version"], 2, "the transition stands");
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["finished_at"]),
        (&json!("dead"), &json!(START))
    );
    assert!(row["error"].as_str().unwrap().contains("/context/none"), "{row}");
    assert!(!engine.has_claimed());
    assert_eq!(place.pass().sent_of(), 0);
}

#[test]
fn ruling_7_a_loop_of_effects_ends_after_sixteen_hops() {
    let place = Place::new();
    place.register(&sender("ping", "pong", true));
    place.register(&sender("pong", "ping", true));
    place.event("ping", "e", "go");
    place.passes(10);
    let rows = place.outbox();
    assert_eq!(rows.iter().filter(|row| row["status"] == "done").count(), 16);
    let dead: Vec<_> = rows.iter().filter(|row| row["status"] == "dead").collect();
    assert_eq!(dead.len(), 1);
    assert!(dead[0]["error"].as_str().unwrap().contains("16"), "{dead:?}");
    // The first event, and sixteen that effects have sent, on two entities that began at version 1.
    assert_eq!(
        version(&place, "ping", "e") + version(&place, "pong", "e"),
        2 + 17
    );
}

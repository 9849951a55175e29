//! What is written with a transition (I3, I7; S2.110 to S2.118).

use serde_json::{Value, json};
use statewright_core::ids::Millis;

use super::{URL, joined, place_with, text, told, webhook};
use crate::support::outside::Place;
use crate::support::world::t1;
use crate::support::{START, tenant};

#[test]
fn i7_s2_115_an_action_is_a_row_of_its_transition_and_is_sent_after_it() {
    let place = place_with(&[webhook()]);
    let engine = place.engine();
    let answer = place.event_by(&engine, "round", "e", "go");
    assert_eq!(answer["state_version"], 2);
    let row = place.row();
    let commit = text(&place, "SELECT commit_id FROM history");
    let uid = text(&place, "SELECT uid FROM entities");
    let id = row["id"].as_str().unwrap().to_owned();
    // Nine characters of time in base 32, the commit's name, the number within it (ruling 1).
    let time = i64::from_str_radix(&id[..9], 32).unwrap();
    assert_eq!((time, &id[9..]), (START, format!("{commit}.0").as_str()));
    assert_eq!(row["event_id"], row["id"]);
    for (column, value) in [
        ("tenant", json!("t1")),
        ("kind", json!("webhook")),
        ("status", json!("pending")),
        ("version", json!(2)),
        ("sink", json!("t1\nhttps://a.example")),
        ("target", json!(URL)),
        ("machine", json!("round")),
        ("entity", json!("e")),
        ("subscription", Value::Null),
        ("claimed", json!(1)),
        ("attempt", json!(1)),
        ("tries", json!(1)),
        ("claim", json!(1)),
        ("held", json!(0)),
        ("due_at", json!(START + 300_000)),
        ("created_at", json!(START)),
        ("finished_at", Value::Null),
        ("attempts", json!([])),
        ("error", Value::Null),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert!(
        row["lane"].as_str().unwrap().starts_with(&format!("{uid}:")),
        "{row}"
    );
    assert!(
        place.outside.taken().is_empty(),
        "nothing is sent before the answer"
    );
    assert!(engine.has_claimed());
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!((delivered.done, delivered.failed, delivered.more), (1, 0, false));
    assert!(!engine.has_claimed());
    let received = place.outside.taken();
    assert_eq!(received.len(), 1);
    let one = &received[0];
    assert_eq!((one.method, one.url.as_str()), ("POST", URL));
    assert_eq!((one.id(), one.attempt()), (id, 1));
    assert_eq!(one.header("content-type"), Some("application/json"));
    assert_eq!(
        one.json(),
        json!({"tenant_id": "t1", "machine_id": "round", "entity_id": "e", "from_state": "off", "to_state": "on"}),
        "S2.122"
    );
    let row = place.row();
    assert_eq!((&row["status"], &row["due_at"]), (&json!("done"), &Value::Null));
    assert_eq!((&row["finished_at"], &row["claimed"]), (&json!(START), &json!(0)));
    assert_eq!(row["attempts"][0]["status"], 200);
    assert_eq!(row["attempts"][0]["attempt"], 1);
    assert_eq!(row["attempts"][0]["at"], START);
}

#[test]
fn s2_117_s2_118_what_moves_nothing_or_is_not_to_dispatch_writes_no_row() {
    let place = place_with(&[webhook()]);
    place.subscribe("s", &told());
    let evaluate = |body: Value| {
        let engine = place.engine();
        let answer = place.run(engine.evaluate(Some(&t1()), "round", body.to_string().as_bytes()));
        place.run(engine.deliver_claimed());
        json!(answer.unwrap())
    };
    let event = |kind: &str, more: Value| {
        let mut body = json!({"event_type": kind, "entity_key": "id", "params": {"id": "e"}, "timestamp": 5});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "round", body.as_bytes()))
        .unwrap();
    assert_eq!(place.count("true"), 0, "creation");
    evaluate(event("none", json!({})));
    assert_eq!(place.count("true"), 0, "no transition");
    let dry = evaluate(event("go", json!({"dry_run": true})));
    assert_eq!(
        dry["actions_dispatched"][0]["url"], URL,
        "a dry run tells of actions"
    );
    assert_eq!(place.count("true"), 0, "a dry run");
    let quiet = evaluate(event("go", json!({"dispatch": false})));
    assert_eq!(
        (&quiet["state_version"], &quiet["actions_dispatched"][0]["url"]),
        (&json!(2), &json!(URL))
    );
    assert_eq!(
        place.count("true"),
        0,
        "dispatch: false, neither actions nor presentations"
    );
    let again = evaluate(event("go", json!({})));
    assert_eq!(again["reason"], "duplicate event (already processed)");
    assert_eq!(place.count("true"), 0, "a duplicate");
    evaluate(event("go", json!({"timestamp": 6})));
    assert_eq!(place.count("true"), 2, "an action and a presentation");
    evaluate(event("go", json!({"timestamp": 6})));
    assert_eq!(place.count("true"), 2);
    assert_eq!(place.outside.taken().len(), 2);
}

#[test]
fn i7_a_refused_event_writes_no_row() {
    let place = place_with(&[webhook()]);
    let body = json!({"event_type": "go", "entity_key": "id", "params": {"id": "e"}, "expected_version": 7});
    let engine = place.engine();
    let outcome = place.run(engine.evaluate(Some(&t1()), "round", body.to_string().as_bytes()));
    assert_eq!(outcome.unwrap_err().status(), 409);
    assert_eq!(place.count("true"), 0);
}

#[test]
fn m12_s2_112_s2_113_timeouts_and_their_joins_call_for_their_actions_whoever_finds_them_due() {
    for by_scanner in [true, false] {
        let place = Place::new();
        place.register(&joined());
        let body = json!({"entity_id": "e"}).to_string();
        place
            .run(place.engine().create_entity(&t1(), "joined", body.as_bytes()))
            .unwrap();
        place.clock.set(15_000);
        let engine = place.engine();
        if by_scanner {
            assert_eq!(place.run(engine.tick()).unwrap().fired, 1);
            // What the pass wrote is claimed for it.
            let until = Millis(START + 60_000);
            assert_eq!(place.run(engine.deliver_due(until, 900)).unwrap().done, 2);
        } else {
            // The event is not to dispatch; the timeouts before it are (ruling 4).
            let body =
                json!({"event_type": "note", "entity_key": "id", "params": {"id": "e"}, "dispatch": false});
            place
                .run(engine.evaluate(Some(&t1()), "joined", body.to_string().as_bytes()))
                .unwrap();
            assert_eq!(place.run(engine.deliver_claimed()).done, 2);
        }
        let received = place.outside.taken();
        let mut urls: Vec<&str> = received.iter().map(|one| one.url.as_str()).collect();
        urls.sort_unstable();
        assert_eq!(urls, ["https://a.example/joined", "https://a.example/timeout"]);
        assert_eq!(
            place.count("status = 'done' AND version = 2"),
            2,
            "one commit, one version"
        );
        assert_eq!(place.pass().done, 0);
    }
}

#[test]
fn s2_112_an_action_without_a_region_fires_in_any_and_one_with_a_region_in_it_alone() {
    let place = Place::new();
    let region = |id: &str| json!({"id": id, "states": ["off", "on"], "initial_state": "off"});
    let turn = |id: &str| json!({"region": id, "from": "off", "to": "on", "on": format!("go_{id}")});
    place.register(
        &json!({"machine_id": "two", "regions": [region("a"), region("b")],
        "transitions": [turn("a"), turn("b")],
        "actions": [{"on_enter": "on", "action": {"type": "webhook", "url": "https://a.example/any"}},
            {"on_enter": "on", "region": "b", "action": {"type": "webhook", "url": "https://a.example/b"}}]}),
    );
    let urls = |kind: &str| {
        place.event("two", "e", kind);
        let mut urls: Vec<String> = place.outside.taken().into_iter().map(|one| one.url).collect();
        urls.sort();
        urls
    };
    assert_eq!(urls("go_a"), ["https://a.example/any"]);
    assert_eq!(urls("go_b"), ["https://a.example/any", "https://a.example/b"]);
}

#[test]
fn s2_111_a_self_transition_enters_its_state_again() {
    let place = place_with(&[webhook()]);
    place.event("round", "e", "go");
    place.event("round", "e", "go");
    assert_eq!(place.outside.taken().len(), 2);
    place.event("round", "e", "back");
    assert_eq!(place.outside.taken().len(), 0);
}

#[test]
fn i7_a_childs_rows_call_for_its_own_actions_in_its_own_lane() {
    let place = Place::new();
    place.register(
        &json!({"machine_id": "child", "states": ["a", "done"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "done", "on": "finish"}],
        "actions": [{"on_enter": "done", "action": webhook()}]}),
    );
    place.register(&json!({"machine_id": "parent", "states": ["busy", "over"], "initial_state": "busy",
        "transitions": [], "actions": [{"on_enter": "over", "action": webhook()}],
        "sub_machines": {"busy": {"machine_id": "child", "lifecycle": "managed", "on_final": {"done": "over"}}}}));
    place.subscribe("s", &told());
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "parent", body.as_bytes()))
        .unwrap();
    assert_eq!(place.count("true"), 0, "a managed start makes no transition (R4)");
    let event = json!({"event_type": "finish", "entity_key": "id", "params": {"id": "e"},
        "target": [{"region": "_", "state": "busy"}]});
    let engine = place.engine();
    place
        .run(engine.evaluate(Some(&t1()), "parent", event.to_string().as_bytes()))
        .unwrap();
    let rows = place.outbox();
    let seen: Vec<(String, String)> = rows
        .iter()
        .map(|row| {
            (
                row["kind"].as_str().unwrap().to_owned(),
                row["entity"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(rows.len(), 4, "{seen:?}");
    for kind in ["webhook", "presentation"] {
        for entity in ["e", "e::sub::busy"] {
            assert!(seen.contains(&(kind.to_owned(), entity.to_owned())), "{seen:?}");
        }
    }
    let lanes: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["lane"].as_str().unwrap()).collect();
    assert_eq!(lanes.len(), 4, "each incarnation and sink is a lane of its own");
    assert_eq!(place.run(engine.deliver_claimed()).done, 4);
}

#[test]
fn i7_all_kinds_of_effects_of_one_commit_have_ids_in_order() {
    let place = place_with(&[
        webhook(),
        json!({"type": "event", "event_type": "moved"}),
        json!({"type": "transition", "machine_id": "round", "entity_id": "other", "event_type": "back"}),
    ]);
    place.subscribe("s", &told());
    place.subscribe(
        "q",
        &json!({"source": "machines", "sink": {"type": "queue", "binding": "Q"}}),
    );
    place
        .outside
        .queues
        .borrow_mut()
        .insert("Q".to_owned(), Vec::new());
    let engine = place.engine();
    place.event_by(&engine, "round", "e", "go");
    let commit = text(&place, "SELECT commit_id FROM history");
    let rows = place.outbox();
    let mut kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["event", "presentation", "presentation", "transition", "webhook"]
    );
    for row in &rows {
        let (id, event_id) = (row["id"].as_str().unwrap(), row["event_id"].as_str().unwrap());
        assert!(event_id[9..].starts_with(&format!("{commit}.")), "{id}");
        if row["kind"] == "presentation" {
            assert_eq!(
                id,
                format!("{event_id}~{}", row["subscription"].as_str().unwrap())
            );
        } else {
            assert_eq!(id, event_id);
        }
    }
    let of = |kind: &str, column: &str| -> Vec<String> {
        let those = rows.iter().filter(|row| row["kind"] == kind);
        those
            .map(|row| row[column].as_str().unwrap().to_owned())
            .collect()
    };
    let events = of("presentation", "event_id");
    assert_eq!(
        events[0], events[1],
        "one transition is one event for all who are told"
    );
    assert!(of("webhook", "id") < of("event", "id"));
    assert!(of("event", "id") < of("transition", "id"));
    assert_eq!(of("event", "sink"), ["t1\nevent"]);
    assert_eq!(of("transition", "target"), ["round/other"]);
    assert_eq!(place.run(engine.deliver_claimed()).done, 5);
    assert_eq!(place.outside.queues.borrow()["Q"].len(), 1);
}

#[test]
fn ruling_11_a_subscription_is_told_of_what_its_filter_names() {
    let cases = [
        (json!({}), true, "everything"),
        (json!({"machine": "round"}), true, "its machine"),
        (json!({"machine": "other"}), false, "another machine"),
        (
            json!({"from": "off", "to": "on", "event": "go"}),
            true,
            "all of it",
        ),
        (json!({"from": "on"}), false, "another state before"),
        (json!({"to": "off"}), false, "another state after"),
        (json!({"event": "back"}), false, "another event"),
        (json!({"source": "records"}), false, "records"),
    ];
    for (filter, is_told, what) in cases {
        let place = place_with(&[]);
        let mut body = told();
        for (key, value) in filter.as_object().unwrap() {
            body[key] = value.clone();
        }
        place.subscribe("s", &body);
        // Another tenant's is told of nothing of this one's (I9).
        let all = told().to_string();
        place
            .run(
                place
                    .engine()
                    .put_subscription(&tenant("t2"), "s", all.as_bytes()),
            )
            .unwrap();
        place.event("round", "e", "go");
        assert_eq!(place.outside.taken().len(), usize::from(is_told), "{what}");
        assert_eq!(
            place.count("true"),
            i64::from(is_told),
            "{what}: no row where nobody is told"
        );
    }
}

#[test]
fn s0_30_s0_51_a_records_transition_without_subscribers_is_skipped_and_never_told() {
    let place = Place::new();
    place.record("r");
    assert_eq!(place.count("true"), 0, "a creation is no transition");
    let engine = place.engine();
    let answer = place.move_by(&engine, "r", "a", 1, "b");
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["kind"]),
        (&json!("skipped"), &json!("presentation"))
    );
    assert_eq!(
        (&row["id"], &row["event_id"]),
        (&answer["event_id"], &answer["event_id"])
    );
    assert_eq!(
        (&row["finished_at"], &row["subscription"]),
        (&json!(START), &Value::Null)
    );
    assert!(!engine.has_claimed());
    let mut body = told();
    body["source"] = json!("records");
    place.subscribe("s", &body);
    assert_eq!(place.pass().done, 0);
    assert!(place.outside.taken().is_empty(), "never replayed");
    let engine = place.engine();
    place.move_by(&engine, "r", "b", 2, "b");
    assert_eq!(
        place.run(engine.deliver_claimed()).done,
        1,
        "S0.25: from and to may be one"
    );
    assert_eq!(place.outside.taken()[0].json()["data"]["version"], 3);
}

//! Presentations to subscriptions (S0.32 to S0.51).

use serde_json::{Value, json};
use statewright_core::ids::Millis;

use super::{SINK, attempts, joined, place_told, place_with, times, told};
use crate::support::START;
use crate::support::outside::{Act, Place, answers};
use crate::support::world::t1;

#[test]
fn s0_32_to_s0_41_a_presentation_tells_of_its_transition() {
    let place = place_told();
    let origin = statewright_engine::once::Origin {
        source: "api".to_owned(),
        stack: "POST /api/machines/{machine_id}/evaluate".to_owned(),
        trace: "req-1".to_owned(),
        run: Some("run-7".to_owned()),
        hops: 0,
    };
    place.settings.borrow_mut().node = "here".to_owned();
    place.clock.set(250);
    let engine = place.engine().caused_by(origin);
    place.event_by(&engine, "round", "e", "go");
    place.clock.set(1_250);
    place.outside.script(SINK, [answers(500)]);
    place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    let event_id = place.row()["event_id"].clone();
    assert_eq!(
        received[0].json(),
        json!({"type": "machine.transition", "timestamp": "2023-11-14T22:13:20.250Z", "data": {
            "machine": "round", "id": "e", "from": "off", "to": "on", "version": 2, "event_id": event_id, "attempt": 1,
            "cause": {"source": "api", "stack": "POST /api/machines/{machine_id}/evaluate", "trace": "req-1", "run": "run-7"},
            "committed_at": "2023-11-14T22:13:20.250Z", "fired_at": "2023-11-14T22:13:21.250Z", "tenant": "t1",
            "node": "here", "event_type": "go"}})
    );
    assert_eq!(json!(received[0].id()), event_id, "ruling 1");
    let second = received[1].json();
    assert_eq!(
        (&second["data"]["attempt"], &second["data"]["event_id"]),
        (&json!(2), &event_id)
    );
    assert_eq!(second["data"]["committed_at"], "2023-11-14T22:13:20.250Z");
    assert_eq!(
        second["data"]["fired_at"], "2023-11-14T22:13:22.250Z",
        "after a second"
    );
    assert_eq!(second["data"]["cause"], received[0].json()["data"]["cause"]);
}

#[test]
fn s0_33_s0_37_timeouts_and_regions_are_told() {
    let place = Place::new();
    place.register(&joined());
    place.subscribe("s", &told());
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "joined", body.as_bytes()))
        .unwrap();
    place.clock.set(15_000);
    let engine = place.engine();
    place.run(engine.tick()).unwrap();
    place
        .run(engine.deliver_due(Millis(START + 60_000), 900))
        .unwrap();
    let received = place.outside.taken();
    let told: Vec<Value> = received
        .iter()
        .filter(|one| one.url == SINK)
        .map(|one| one.json()["data"].clone())
        .collect();
    assert_eq!(told.len(), 2, "the timeout and the join");
    assert_eq!(
        (&told[0]["region"], &told[0]["event_type"]),
        (&json!("a"), &json!("$timeout"))
    );
    assert_eq!(
        (&told[1]["region"], &told[1]["event_type"]),
        (&json!("b"), &json!("$join"))
    );
    assert_eq!((&told[1]["from"], &told[1]["to"]), (&json!("x"), &json!("y")));
    for one in &told {
        assert_eq!(
            (&one["cause"]["source"], &one["cause"]["stack"]),
            (&json!("timer"), &json!("tick"))
        );
        assert!(one["cause"].get("run").is_none());
        assert_eq!(one["version"], 2);
    }
    assert_ne!(told[0]["event_id"], told[1]["event_id"]);
}

#[test]
fn s0_49_a_presentation_has_five_attempts_and_is_dead_then() {
    let place = place_told();
    place.outside.always(SINK, answers(500));
    place.event("round", "e", "go");
    place.passes(10);
    let received = place.outside.taken();
    assert_eq!(attempts(&received), [1, 2, 3, 4, 5]);
    assert_eq!(
        times(&received),
        [0, 1_000, 6_000, 36_000, 156_000],
        "1, 5, 30, 120 s"
    );
    assert_eq!(place.row()["status"], "dead");

    let place = place_told();
    place.settings.borrow_mut().most_presentations = 2;
    place.outside.always(SINK, answers(500));
    place.event("round", "e", "go");
    place.passes(10);
    assert_eq!(attempts(&place.outside.taken()), [1, 2], "STATE_MAX_ATTEMPTS");
}

#[test]
fn s0_44_s0_58_a_presentation_is_accepted_in_time_or_presented_again() {
    // 20 s within a request, the accept timeout in a pass.
    for (accept, within, beyond) in [(30_000, 20_000, 30_000), (12_000, 12_000, 12_000)] {
        let place = place_told();
        place.settings.borrow_mut().accept_timeout_ms = accept;
        place.outside.script(SINK, [Act::Silence, Act::Silence]);
        place.event("round", "e", "go");
        assert_eq!(place.clock.at(), within);
        place.clock.set(40_000);
        let engine = place.engine();
        place
            .run(engine.deliver_due(Millis(START + 41_000), 900))
            .unwrap();
        assert_eq!(place.clock.at(), 40_000 + beyond);
        place.clock.set(80_000);
        place.pass();
        assert_eq!(attempts(&place.outside.taken()), [1, 2, 3]);
        assert_eq!(place.row()["status"], "done");
    }
}

#[test]
fn ruling_2_suspended_subscriptions_hold_what_there_is_to_tell_until_they_are_active() {
    let suspended = |active: bool| {
        let mut body = told();
        body["active"] = json!(active);
        body
    };
    // Suspended before the commit, or between the commit and the delivery.
    for before in [true, false] {
        let place = place_told();
        if before {
            place.subscribe("s", &suspended(false));
        }
        let engine = place.engine();
        place.event_by(&engine, "round", "e", "go");
        if !before {
            place.subscribe("s", &suspended(false));
        }
        place.event_by(&place.engine(), "round", "e", "go");
        let delivered = place.run(engine.deliver_claimed());
        assert_eq!((delivered.held, delivered.failed), (usize::from(!before), 0));
        assert!(place.outside.taken().is_empty());
        let rows = place.outbox();
        assert_eq!(
            (&rows[0]["held"], &rows[0]["due_at"]),
            (&json!(1), &Value::Null),
            "{rows:#?}"
        );
        assert_eq!(
            (&rows[0]["attempt"], &rows[0]["tries"]),
            (&json!(0), &json!(0)),
            "uncounted"
        );
        place.clock.set(400_000);
        assert_eq!(
            place.pass(),
            statewright_engine::outbox::Delivered {
                statements: place.pass().statements,
                ..Default::default()
            }
        );
        place.subscribe("s", &suspended(true));
        place.pass();
        let received = place.outside.taken();
        let versions: Vec<Value> = received
            .iter()
            .map(|one| one.json()["data"]["version"].clone())
            .collect();
        assert_eq!(versions, [2, 3], "in order");
        assert_eq!(attempts(&received), [1, 1]);
        assert_eq!(place.count("status = 'done'"), 2);
    }
}

#[test]
fn s0_51_a_presentation_whose_subscription_is_gone_is_skipped_and_never_told() {
    let place = place_told();
    let engine = place.engine();
    place.event_by(&engine, "round", "e", "go");
    place.event_by(&place.engine(), "round", "e", "go");
    place.run(place.engine().delete_subscription(&t1(), "s")).unwrap();
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!(
        delivered.skipped, 2,
        "what is queued behind it too: {delivered:?}"
    );
    assert!(place.outside.taken().is_empty());
    assert_eq!(place.count("status = 'skipped' AND finished_at IS NOT NULL"), 2);
    place.subscribe("s", &told());
    place.clock.set(400_000);
    place.pass();
    assert!(place.outside.taken().is_empty());
}

#[test]
fn ruling_11_a_queue_gets_the_same_document() {
    let place = place_with(&[]);
    place.subscribe(
        "q",
        &json!({"source": "machines", "sink": {"type": "queue", "binding": "Q"}}),
    );
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(delivered.done, 0);
    assert_eq!(json!(delivered.failed), place.row()["tries"]);
    assert!(place.row()["error"].as_str().unwrap().contains('Q'));
    place
        .outside
        .queues
        .borrow_mut()
        .insert("Q".to_owned(), Vec::new());
    place.passes(5);
    let message: Value = serde_json::from_str(&place.outside.queues.borrow()["Q"][0]).unwrap();
    assert_eq!(message["type"], "machine.transition");
    assert_eq!(
        (&message["data"]["version"], &message["data"]["event_id"]),
        (&json!(2), &place.row()["event_id"])
    );
    assert_eq!(place.row()["status"], "done");
}

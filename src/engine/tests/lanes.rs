//! Order within a lane, and fairness between sinks, whoever delivers and however they come between each other (I7; S0.46,
//! S0.47, S0.57; design 4).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use support::START;
use support::far::Chance;
use support::order::{assert_in_order, assert_lanes_are_whole, by_lane};
use support::outside::{Act, Place, Received, Running, answers, run_all, run_killed, step, waits};
use support::world::t1;

fn url(sink: usize) -> String {
    format!("https://s{sink}.example/")
}

/// A machine whose `go` calls for a webhook, whose body says whose and which version it is.
fn talking(machine: &str, url: &str) -> Value {
    json!({"machine_id": machine, "states": ["on"], "initial_state": "on",
        "transitions": [{"from": "on", "to": "on", "on": "go"}],
        "actions": [{"on_enter": "on", "action": {"type": "webhook", "url": url,
            "body": {"id": {"$from": "/entity_id"}, "version": {"$from": "/state_version"}}}}]})
}

#[test]
fn i7_the_effects_of_one_entity_to_one_sink_wait_for_each_other() {
    let place = Place::new();
    place.register(&talking("m", &url(0)));
    let engine = place.engine();
    for _ in 0..3 {
        place.event_by(&engine, "m", "e", "go");
    }
    let rows = place.outbox();
    let of = |version: u64, column: &str| {
        let row = rows.iter().find(|row| row["version"] == version).unwrap();
        row[column].clone()
    };
    assert_eq!(
        (of(2, "claimed"), of(2, "due_at")),
        (json!(1), json!(START + 300_000))
    );
    for version in [3, 4] {
        assert_eq!(
            (of(version, "claimed"), of(version, "due_at")),
            (json!(0), Value::Null)
        );
        assert_eq!(
            (of(version, "attempt"), of(version, "claim")),
            (json!(0), json!(0))
        );
    }
    assert_lanes_are_whole(&place, "written");
    // The first is tried three times; nobody overtakes it.
    place.outside.script(&url(0), [answers(500), answers(500)]);
    assert_eq!(place.run(engine.deliver_claimed()).done, 3);
    let versions: Vec<u64> = by_lane(&place.outside.taken())
        .remove(&(url(0), "e".to_owned()))
        .unwrap()
        .iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(versions, [2, 2, 2, 3, 4]);
}

#[test]
fn i7_the_presentations_of_one_entity_to_one_subscription_wait_for_each_other() {
    for source in ["machines", "records"] {
        let place = Place::new();
        place.subscribe(
            "s",
            &json!({"source": source, "sink": {"type": "webhook", "url": url(0)}}),
        );
        let engine = place.engine();
        if source == "machines" {
            let mut quiet = talking("m", &url(1));
            quiet["actions"] = json!([]);
            place.register(&quiet);
            for _ in 0..3 {
                place.event_by(&engine, "m", "e", "go");
            }
        } else {
            place.record("e");
            for version in 1..4 {
                place.move_by(&engine, "e", "a", version, "a");
            }
        }
        assert_eq!(place.count("claimed = 1"), 1, "{source}");
        assert_eq!(place.count("due_at IS NULL AND attempt = 0"), 2, "{source}");
        assert_lanes_are_whole(&place, source);
        place.outside.script(&url(0), [answers(500)]);
        assert_eq!(place.run(engine.deliver_claimed()).done, 3);
        let received = place.outside.taken();
        let seen = by_lane(&received).remove(&(url(0), "m/e".to_owned())).unwrap();
        let versions: Vec<u64> = seen.iter().map(|one| one.0).collect();
        assert_eq!(versions, [2, 2, 3, 4], "{source}");
    }
}

#[test]
fn i7_several_effects_of_one_commit_to_one_sink_go_in_the_order_of_their_actions() {
    let place = Place::new();
    let call =
        |name: &str| json!({"on_enter": "on", "action": {"type": "webhook", "url": url(0), "body": name}});
    let mut definition = talking("m", &url(0));
    definition["actions"] = json!([call("first"), call("second"), call("third")]);
    place.register(&definition);
    let engine = place.engine();
    place.event_by(&engine, "m", "e", "go");
    assert_eq!(place.count("claimed = 1"), 1);
    place
        .outside
        .script(&url(0), [answers(500), answers(200), answers(500)]);
    place.run(engine.deliver_claimed());
    let bodies: Vec<String> = place.outside.taken().into_iter().map(|one| one.body).collect();
    assert_eq!(
        bodies,
        ["\"first\"", "\"first\"", "\"second\"", "\"second\"", "\"third\""]
    );
}

#[test]
fn s0_47_entities_sinks_and_incarnations_are_lanes_of_their_own() {
    let place = Place::new();
    place.register(&talking("m", &url(0)));
    place.register(&talking("n", &url(0)));
    place.subscribe(
        "s",
        &json!({"source": "machines", "sink": {"type": "webhook", "url": url(1)}}),
    );
    place.outside.always(&url(0), answers(500));
    let engine = place.engine();
    for (machine, entity) in [("m", "e"), ("m", "f"), ("n", "e")] {
        place.event_by(&engine, machine, entity, "go");
    }
    assert_eq!(place.count("claimed = 1"), 6, "nobody waits for another's");
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!(delivered.done, 3, "what fails at one sink holds no other up");
}

#[test]
fn i7_a_dead_effect_lets_the_next_one_go_and_a_denied_one_does_not() {
    let place = Place::new();
    place.register(&talking("m", &url(0)));
    place.settings.borrow_mut().action_retries_ms = vec![100];
    place
        .outside
        .script(&url(0), [answers(500), answers(500), waits(429, "60")]);
    let engine = place.engine();
    for _ in 0..3 {
        place.event_by(&engine, "m", "e", "go");
    }
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!(
        (delivered.dead, delivered.failed, delivered.denied, delivered.done),
        (1, 1, 1, 0)
    );
    assert_eq!(place.count("status = 'pending' AND claimed = 0"), 2);
    place.clock.set(59_000);
    let engine = place.engine();
    place
        .run(engine.deliver_due(Millis(START + 59_900), 900))
        .unwrap();
    assert_eq!(place.outside.taken().len(), 3);
    place.clock.set(61_000);
    place.pass();
    let seen = by_lane(&place.outside.taken());
    assert_eq!(seen[&(url(0), "e".to_owned())], [(3, true), (4, true)]);
}

#[test]
fn i7_a_redriven_effect_waits_for_what_is_being_sent_and_what_is_called_off_is_passed_over() {
    let place = Place::new();
    place.register(&talking("m", &url(0)));
    place.settings.borrow_mut().action_retries_ms = vec![100];
    place.outside.script(&url(0), [answers(500), answers(500)]);
    place.event("m", "e", "go");
    let dead = place.row()["id"].as_str().unwrap().to_owned();
    // The next is under way; the dead one is sent again, and one behind is called off.
    let engine = place.engine();
    for _ in 0..3 {
        place.event_by(&engine, "m", "e", "go");
    }
    place.run(place.engine().redrive(&t1(), &dead)).unwrap();
    assert_lanes_of_redrive(&place);
    let off = place
        .outbox()
        .into_iter()
        .find(|row| row["version"] == 4)
        .unwrap();
    place
        .run(place.engine().cancel(&t1(), off["id"].as_str().unwrap()))
        .unwrap();
    assert_lanes_of_redrive(&place);
    place.run(engine.deliver_claimed());
    place.passes(3);
    let seen = by_lane(&place.outside.taken());
    let accepted: Vec<u64> = seen[&(url(0), "e".to_owned())]
        .iter()
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect();
    assert_eq!(accepted, [3, 2, 5]);
    assert_eq!(place.count("status = 'cancelled'"), 1);
}

/// At most one of the lane is due.
fn assert_lanes_of_redrive(place: &Place) {
    assert_eq!(place.count("due_at IS NOT NULL"), 1);
    assert_eq!(place.count("claimed = 1"), 1);
}

// Fairness.

#[test]
fn i7_one_sink_that_never_answers_holds_nobody_else_up() {
    let place = Place::new();
    for sink in 0..100 {
        place.register(&talking(&format!("m{sink}"), &url(sink)));
    }
    // The dead sink has the most, and the oldest.
    for entity in 0..40 {
        place.event_by(&place.engine(), "m0", &format!("e{entity}"), "go");
    }
    place.clock.set(1_000);
    for sink in 1..100 {
        for entity in 0..2 {
            place.event_by(&place.engine(), &format!("m{sink}"), &format!("e{entity}"), "go");
        }
    }
    place.outside.always(&url(0), Act::Silence);
    for sink in 1..100 {
        place
            .outside
            .always(&url(sink), Act::Answer(20, 200, None, String::new()));
    }
    // Those who wrote them are dead.
    place.clock.set(400_000);
    let engine = place.engine();
    let until = Millis(START + 450_000);
    let delivered = place.run(engine.deliver_due(until, 100_000)).unwrap();
    let received = place.outside.taken();
    let others: Vec<&Received> = received.iter().filter(|one| one.url != url(0)).collect();
    assert_eq!(others.len(), 198, "{delivered:?}");
    let last = others.iter().map(|one| one.at).max().unwrap();
    assert!(last < 400_000 + 5_000, "the last of the others went at {last}");
    let silent = received.len() - others.len();
    assert!(silent <= 2, "{silent} connections waited for the silent sink");
    assert_eq!(place.count("status = 'done'"), 198);
    assert_eq!(
        place.count("status = 'pending' AND claimed = 0"),
        40,
        "and nothing of it is left claimed"
    );
    assert!(place.outside.most_in_flight.get() <= 6);
}

#[test]
fn i7_within_a_request_a_silent_sink_does_not_hold_up_what_goes_elsewhere() {
    let place = Place::new();
    let mut definition = talking("m", &url(0));
    let calls = (0..5).map(|sink| json!({"on_enter": "on", "action": {"type": "webhook", "url": url(sink)}}));
    definition["actions"] = calls.collect();
    place.register(&definition);
    place.outside.always(&url(0), Act::Silence);
    let engine = place.engine();
    place.event_by(&engine, "m", "e", "go");
    place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    assert!(received.iter().all(|one| one.at == 0), "all begin at once");
    assert_eq!(place.count("status = 'done'"), 4);
}

#[test]
fn s0_57_a_pass_claims_no_more_than_it_may_and_each_sinks_first_before_any_sinks_second() {
    for most in [1, 4, 32] {
        let place = Place::new();
        place.settings.borrow_mut().most_claimed = most;
        for sink in 0..5 {
            place.register(&talking(&format!("m{sink}"), &url(sink)));
        }
        for entity in 0..60 {
            place.event_by(&place.engine(), "m0", &format!("e{entity}"), "go");
        }
        place.clock.set(5_000);
        for sink in 1..5 {
            place.event_by(&place.engine(), &format!("m{sink}"), "e", "go");
        }
        place.clock.set(400_000);
        let engine = place.engine();
        let mut pass = Box::pin(engine.deliver_due(Millis(START + 450_000), 100_000));
        while place.outside.received.borrow().is_empty() {
            assert!(step(&place.clock, pass.as_mut()).is_none());
            let claimed = place.count("claimed = 1 AND due_at > 1700000400000");
            assert!(claimed <= i64::from(most), "{claimed} of {most}");
        }
        drop(pass);
        place.outside.taken();
        place.clock.set(800_000);
        place.pass();
        let received = place.outside.taken();
        let first_of_others: Vec<usize> = (1..5)
            .map(|sink| received.iter().position(|one| one.url == url(sink)).unwrap())
            .collect();
        // Of one claim, any may be the first to go.
        let bound = [64, 12, 32][[1, 4, 32].iter().position(|one| *one == most).unwrap()];
        assert!(
            first_of_others.iter().all(|at| *at < bound),
            "with {most} at a time the others came at {first_of_others:?}"
        );
    }
}

#[test]
fn i7_a_long_lane_does_not_hold_up_other_lanes_of_its_sink() {
    let place = Place::new();
    place.register(&talking("m", &url(0)));
    let engine = place.engine();
    for _ in 0..30 {
        place.event_by(&engine, "m", "long", "go");
    }
    for entity in 0..5 {
        place.event_by(&engine, "m", &format!("e{entity}"), "go");
    }
    place
        .outside
        .always(&url(0), Act::Answer(100, 200, None, String::new()));
    place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    assert_eq!(received.len(), 35);
    for entity in 0..5 {
        let at = received
            .iter()
            .position(|one| one.json()["id"] == format!("e{entity}"))
            .unwrap();
        assert!(at < 12, "e{entity} came as number {at}");
    }
    assert_in_order(&place, &received, "a long lane");
}

// Every interleaving.

/// What a sink does to one delivery.
fn whim(chance: &Chance) -> Act {
    match chance.below(12) {
        0 => answers(500),
        1 => Act::Lost,
        2 => Act::Unreachable,
        3 => waits(429, "2"),
        4 => Act::Answer(1 + chance.below(2_000), 200, None, String::new()),
        5 => Act::Answer(1 + chance.below(2_000), 500, None, String::new()),
        _ => answers(200),
    }
}

/// Writers and pumps that come between each other as the seed says; some are killed.
fn interleaved(seed: u64, kills: bool) {
    let what = format!("seed {seed}");
    let chance = Chance::of(seed);
    let place = Place::new();
    place.settings.borrow_mut().stale_after_ms = 40_000;
    for machine in 0..2 {
        place.register(&talking(&format!("m{machine}"), &url(machine)));
    }
    place.subscribe(
        "s",
        &json!({"source": "machines", "sink": {"type": "webhook", "url": url(2)}}),
    );
    place.subscribe(
        "r",
        &json!({"source": "records", "sink": {"type": "webhook", "url": url(3)}}),
    );
    for sink in 0..4 {
        let acts: Vec<Act> = (0..40).map(|_| whim(&chance)).collect();
        place.outside.script(&url(sink), acts);
    }
    place.record("rec");
    let engines: Vec<_> = (0..5).map(|_| place.engine()).collect();
    let mut running: Vec<(Running<'_, ()>, usize)> = Vec::new();
    for (number, engine) in engines.iter().enumerate() {
        let polls = if kills && chance.below(2) == 0 {
            usize::try_from(5 + chance.below(200)).unwrap()
        } else {
            usize::MAX
        };
        let writes: Vec<(String, String)> = (0..4)
            .map(|_| (format!("m{}", chance.below(2)), format!("e{}", chance.below(2))))
            .collect();
        let clock = place.clock.clone();
        running.push((
            Box::pin(async move {
                use statewright_engine::database::Clock as _;
                if number < 3 {
                    for (machine, entity) in writes {
                        let body = json!({"event_type": "go", "entity_key": "id", "params": {"id": entity}}).to_string();
                        drop(engine.evaluate(Some(&t1()), &machine, body.as_bytes()).await);
                        if number == 0 {
                            engine.deliver_claimed().await;
                        }
                    }
                    // One request's process moves a record as often as it can.
                    for version in 1..4 {
                        let body = json!({"machine": "m", "id": "rec", "from": "a", "to": "a", "expected_version": version});
                        drop(engine.transition_record(&t1(), body.to_string().as_bytes()).await);
                    }
                    engine.deliver_claimed().await;
                } else {
                    for _ in 0..4 {
                        let until = engine.clock().now().after(10_000);
                        drop(engine.deliver_due(until, 900).await);
                        clock.sleep(3_000).await;
                    }
                }
            }),
            polls,
        ));
    }
    run_killed(&place.clock, running, |open| {
        usize::try_from(chance.below(u64::try_from(open).unwrap())).unwrap()
    });
    assert_lanes_are_whole(&place, &what);
    // What the dead ones left is taken by later passes.
    place.passes(60);
    assert_eq!(place.count("status = 'pending'"), 0, "{what}");
    let received = place.outside.taken();
    assert_in_order(&place, &received, &what);
    // Everything arrived, or is dead.
    let rows = place.outbox();
    let moves = place
        .number("SELECT sum(state_version - 1) FROM entities")
        .unwrap_or(0);
    assert_eq!(
        rows.iter().filter(|row| row["kind"] == "webhook").count(),
        usize::try_from(moves).unwrap(),
        "{what}: an effect for each transition"
    );
    let version = place.number("SELECT version FROM records").unwrap();
    assert_eq!(
        rows.iter().filter(|row| row["subscription"] == "r").count(),
        usize::try_from(version - 1).unwrap(),
        "{what}"
    );
    for row in &rows {
        let id = row["event_id"].as_str().unwrap();
        let arrived = received.iter().any(|one| one.id() == id && one.accepted());
        assert!(arrived || row["status"] == "dead", "{what}: {row}");
    }
    assert!(place.outside.in_flight.get() == 0, "{what}");
}

#[test]
fn i7_s0_46_order_is_kept_under_every_interleaving_of_writers_and_pumps() {
    for seed in 0..150 {
        interleaved(seed, false);
    }
}

#[test]
fn i7_s0_48_order_is_kept_whoever_dies() {
    for seed in 1_000..1_150 {
        interleaved(seed, true);
    }
}

#[test]
fn i7_pumps_that_run_at_once_send_nothing_twice() {
    for seed in 0..20 {
        let chance = Chance::of(seed);
        let place = Place::new();
        for sink in 0..3 {
            place.register(&talking(&format!("m{sink}"), &url(sink)));
            place
                .outside
                .always(&url(sink), Act::Answer(7, 200, None, String::new()));
        }
        for event in 0..60 {
            place.event_by(
                &place.engine(),
                &format!("m{}", event % 3),
                &format!("e{}", event % 7),
                "go",
            );
        }
        place.clock.set(400_000);
        let engines: Vec<_> = (0..3).map(|_| place.engine()).collect();
        let until = Millis(START + 450_000);
        let pumps = engines
            .iter()
            .map(|engine| -> Running<'_, _> { Box::pin(engine.deliver_due(until, 900)) });
        let done = run_all(&place.clock, pumps.collect(), |open| {
            usize::try_from(chance.below(u64::try_from(open).unwrap())).unwrap()
        });
        let done: usize = done.into_iter().map(|report| report.unwrap().done).sum();
        let received = place.outside.taken();
        assert_eq!((done, received.len()), (60, 60), "seed {seed}");
        assert_in_order(&place, &received, "pumps");
        assert_eq!(place.count("status = 'done'"), 60);
    }
}

/// What somebody may do while effects are delivered.
fn meddle(place: &Place, how: &str) {
    let put = |active: bool| {
        let sink = json!({"type": "webhook", "url": url(1)});
        place.subscribe(
            "s",
            &json!({"source": "machines", "active": active, "sink": sink}),
        );
    };
    let first = || {
        let rows = place.outbox();
        rows[0]["id"].as_str().unwrap().to_owned()
    };
    let engine = place.engine();
    match how {
        "suspend" => put(false),
        "activate" => put(true),
        "suspend and activate" => {
            put(false);
            put(true);
        }
        "delete" => drop(place.run(engine.delete_subscription(&t1(), "s"))),
        "cancel" => drop(place.run(engine.cancel(&t1(), &first()))),
        "redrive" => drop(place.run(engine.redrive(&t1(), &first()))),
        "cancel all" => drop(place.run(engine.cancel_all(&t1(), b"{}"))),
        "redrive all" => drop(place.run(engine.redrive_all(&t1(), b"{}"))),
        "delete the entity" => drop(place.run(engine.delete_entity(&t1(), "m", "e"))),
        other => panic!("{other}"),
    }
}

#[test]
fn i7_ruling_2_whatever_is_done_while_effects_are_delivered_no_lane_is_stuck_or_sent_twice_at_once() {
    let ways = [
        "suspend",
        "activate",
        "suspend and activate",
        "delete",
        "cancel",
        "redrive",
        "cancel all",
        "redrive all",
        "delete the entity",
    ];
    for suspended in [false, true] {
        for how in ways {
            for polls in (1..60).step_by(2) {
                let what = format!("{how} after {polls} polls, suspended before: {suspended}");
                let place = Place::new();
                place.register(&talking("m", &url(0)));
                meddle(&place, "activate");
                let engine = place.engine();
                for _ in 0..3 {
                    place.event_by(&engine, "m", "e", "go");
                }
                if suspended {
                    meddle(&place, "suspend");
                }
                let mut delivery = Box::pin(engine.deliver_claimed());
                let mut over = false;
                for _ in 0..polls {
                    over |= step(&place.clock, delivery.as_mut()).is_some();
                    if over {
                        break;
                    }
                }
                if over {
                    break;
                }
                meddle(&place, how);
                assert_at_most_one_is_due(&place, &what);
                place.run(delivery);
                assert_at_most_one_is_due(&place, &what);
                // What is suspended waits; once it is not, all comes to its end.
                if place.number("SELECT count(*) FROM subscriptions WHERE active = 0") == Some(1) {
                    place.clock.pass(300_000);
                    place.pass();
                    let pending = place.count("status = 'pending' AND kind = 'webhook'");
                    assert_eq!(pending, 0, "{what}: only the suspended one waits");
                    meddle(&place, "activate");
                }
                place.clock.pass(300_000);
                place.passes(10);
                assert_eq!(
                    place.count("status = 'pending'"),
                    0,
                    "{what}: {:#?}",
                    place.outbox()
                );
                let received = place.outside.taken();
                assert!(received.len() <= 8, "{what}: {} arrived", received.len());
            }
        }
    }
}

/// Of no lane two are due, and none is claimed twice.
fn assert_at_most_one_is_due(place: &Place, what: &str) {
    let two = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE status = 'pending' AND due_at IS NOT NULL \
        GROUP BY tenant, lane HAVING count(*) > 1)";
    assert_eq!(place.number(two), Some(0), "{what}: {:#?}", place.outbox());
}

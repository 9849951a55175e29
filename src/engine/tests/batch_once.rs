//! Batches with a key: under way, left behind, gone on with; each event once (S4.90 to S4.94, S4.106, S4.107; design 5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_engine::once::Once;
use support::faults::{Fault, Faulty};
use support::keyed::{Told, plainly, served, told};
use support::outside::{OutEngine, Place, run_for, step};
use support::world::{order, t1};

const DAY: i64 = 86_400_000;

fn event(kind: &str, entity: &str) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}})
}

/// Events of several trees, of which some move nothing and some are refused.
fn events() -> Value {
    let mut refused = event("pay", "e");
    refused["expected_version"] = json!(77);
    json!({"events": [event("note", "e"), event("pay", "f"), event("ship", "f"), event("ship", "g"), refused,
        {"event_type": 5}, event("note", "e")]})
}

fn place() -> Place {
    let place = Place::new();
    let mut definition = order();
    definition["actions"] =
        json!([{"on_enter": "paid", "action": {"type": "webhook", "url": "https://a.example/"}}]);
    place.register(&definition);
    place
}

fn keyed(place: &Place, faulty: &Faulty, body: &Value) -> OutEngine {
    let once = Once::request("k", "POST /batch", "", body.to_string().as_bytes(), 200).unwrap();
    place.engine_on(faulty).keyed(once, Some(&t1()))
}

async fn sent(engine: &OutEngine, body: &Value) -> Told {
    let outcome = engine
        .evaluate_batch(Some(&t1()), "order", body.to_string().as_bytes())
        .await;
    served(engine, told(200, outcome)).await
}

fn send_on(place: &Place, faulty: &Faulty, body: &Value) -> Told {
    let engine = keyed(place, faulty, body);
    place.run(sent(&engine, body))
}

fn send(place: &Place, body: &Value) -> Told {
    send_on(place, &Faulty::new(place.sqlite.clone()), body)
}

fn receipts(place: &Place, condition: &str) -> i64 {
    place
        .number(&format!("SELECT count(*) FROM inbox WHERE {condition}"))
        .unwrap()
}

/// The versions of all entities, and how many rows of history and of the outbox there are.
fn effects(place: &Place) -> String {
    let connection = place.sqlite.connection.borrow();
    let sql = "SELECT (SELECT coalesce(group_concat(entity_id || state_version, ' '), '') FROM (SELECT * FROM entities ORDER BY 3)) \
        || ' ' || (SELECT count(*) FROM history) || ' ' || (SELECT count(*) FROM outbox)";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

const ONCE: &str = "e3 f3 g1 4 1";

#[test]
fn s4_90_s4_91_a_batch_is_applied_once_and_replayed_event_by_event() {
    let place = place();
    let first = send(&place, &events());
    assert_eq!((first.status, first.replayed), (200, false));
    let body = first.body.clone().unwrap();
    assert_eq!(
        (&body["total"], &body["succeeded"], &body["failed"]),
        (&json!(7), &json!(5), &json!(2))
    );
    assert_eq!(effects(&place), ONCE);
    let dump = place.sqlite.dump();
    place.clock.pass(5_000);
    let again = send(&place, &events());
    assert!(again.replayed, "{again:?}");
    assert_eq!((again.status, &again.body), (200, &first.body));
    let left = place.sqlite.dump();
    assert_eq!(left, dump, "a replay writes nothing");
}

#[test]
fn s4_92_another_batch_under_its_key_is_refused_and_what_stands_stays() {
    let place = place();
    send(&place, &events());
    let dump = place.sqlite.dump();
    let other = json!({"events": [event("note", "h")]});
    let answer = send(&place, &other);
    assert_eq!((answer.status, answer.code()), (422, "IDEMPOTENCY_MISMATCH"));
    assert_eq!(place.sqlite.dump(), dump);
    assert!(send(&place, &events()).replayed);
}

#[test]
fn s4_93_s4_106_a_batch_that_is_under_way_is_nobody_elses_for_a_minute() {
    let body = events();
    // However far it has come: its claim stands from its first write on.
    for polls in 2..40 {
        let place = place();
        let faulty = Faulty::new(place.sqlite.clone());
        let engine = keyed(&place, &faulty, &body);
        let mut first = Box::pin(sent(&engine, &body));
        let mut over = false;
        for _ in 0..polls {
            over |= step(&place.clock, first.as_mut()).is_some();
            if over {
                break;
            }
        }
        if over {
            assert!(polls > 5);
            break;
        }
        for at in [0, 59_999] {
            place.clock.set(at);
            let before = place.sqlite.dump();
            let twin = send(&place, &body);
            if twin.replayed {
                // All of it is kept; only the answer is still on its way.
                assert!(polls > 5, "{polls} polls: {twin:?}");
                assert_eq!(effects(&place), ONCE);
                return;
            }
            assert_eq!(
                (twin.status, twin.code()),
                (409, "IDEMPOTENCY_IN_FLIGHT"),
                "{polls} polls, at {at}"
            );
            assert_eq!(twin.body.as_ref().unwrap()["error"]["retry"], true);
            assert_eq!(place.sqlite.dump(), before, "{polls} polls: it changed nothing");
        }
        // With another body it is refused for good, now as later.
        let other = send(&place, &json!({"events": [event("note", "h")]}));
        assert_eq!(other.code(), "IDEMPOTENCY_MISMATCH", "{polls} polls");
        place.clock.set(60_000);
        let second = send(&place, &body);
        assert_eq!(
            (second.status, effects(&place).as_str()),
            (200, ONCE),
            "{polls} polls: {second:?}"
        );
        // The first was not dead, only slow: it changes nothing any more.
        let told = place.run(first);
        assert_eq!(effects(&place), ONCE, "{polls} polls: {told:?}");
        let last = send(&place, &body);
        assert!(last.replayed, "{polls} polls: {last:?}");
        assert_eq!(plainly(&last), plainly(&second), "{polls} polls");
        if told.status == 200 {
            assert_eq!(
                plainly(&told),
                plainly(&second),
                "{polls} polls: both tell the same"
            );
        }
    }
}

#[test]
fn s4_107_a_batch_that_is_killed_anywhere_is_gone_on_with_and_each_event_has_one_effect() {
    let body = events();
    let clean = send(&place(), &body);
    let mut kills = 0;
    for polls in 1.. {
        let place = place();
        let faulty = Faulty::new(place.sqlite.clone());
        let engine = keyed(&place, &faulty, &body);
        if run_for(&place.clock, sent(&engine, &body), polls).is_some() {
            break;
        }
        kills += 1;
        place.clock.pass(60_000);
        let again = send(&place, &body);
        assert_eq!(effects(&place), ONCE, "{polls} polls");
        assert_eq!(plainly(&again), plainly(&clean), "{polls} polls");
        let last = send(&place, &body);
        assert!(last.replayed, "{polls} polls: {last:?}");
        assert_eq!(last.body, again.body, "{polls} polls");
    }
    assert!(kills > 5, "{kills}");
}

#[test]
fn s4_107_a_batch_that_is_killed_again_and_again_comes_to_its_end() {
    let body = events();
    for most in 1..12 {
        let place = place();
        for turn in 0..40 {
            let faulty = Faulty::new(place.sqlite.clone());
            let engine = keyed(&place, &faulty, &body);
            // One that gets a little further from time to time.
            let polls = if turn < 30 {
                1 + (turn * 7 + most) % most
            } else {
                usize::MAX
            };
            run_for(&place.clock, sent(&engine, &body), polls);
            place.clock.pass(60_000);
        }
        assert_eq!(effects(&place), ONCE, "at most {most} polls");
        assert!(send(&place, &body).replayed);
    }
}

#[test]
fn s4_112_faults_at_any_batch_leave_each_event_with_one_effect() {
    let body = events();
    let clean = send(&place(), &body);
    let faulty = Faulty::new(place().sqlite);
    drop(faulty);
    let batches = {
        let place = place();
        place.sqlite.taken();
        send(&place, &body);
        place.sqlite.taken().len()
    };
    assert!(batches >= 4, "its claim, a read, a write, its end");
    for batch in 0..batches {
        for (kind, fault) in [
            ("failed", Fault::Before),
            ("lost", Fault::After),
            ("late", Fault::Late),
            ("stray", Fault::Stray),
        ] {
            let what = format!("batch {batch} {kind}");
            let place = place();
            let faulty = Faulty::new(place.sqlite.clone());
            faulty.arm([(batch, fault)]);
            let mut answer = send_on(&place, &faulty, &body);
            assert!(faulty.struck(), "{what}");
            faulty.land();
            if answer.status != 200 {
                assert_eq!(
                    answer.body.as_ref().unwrap()["error"]["retry"],
                    true,
                    "{what}: {answer:?}"
                );
                place.clock.pass(60_000);
                answer = send(&place, &body);
            }
            assert_eq!(effects(&place), ONCE, "{what}");
            assert_eq!(plainly(&answer), plainly(&clean), "{what}");
            place.clock.pass(60_000);
            let again = send(&place, &body);
            assert_eq!(plainly(&again), plainly(&clean), "{what}");
            assert_eq!(effects(&place), ONCE, "{what}");
        }
    }
}

#[test]
fn s4_94_events_that_are_to_be_sent_again_are_and_the_others_are_not_applied_twice() {
    let place = place();
    // More timeouts than one request applies stand before one of the events.
    place.register(
        &json!({"machine_id": "ticking", "states": ["a", "b"], "initial_state": "a", "transitions": [
        {"from": "a", "to": "a", "on": "$timeout", "guard": {"after_ms": 1000}},
        {"from": "a", "to": "b", "on": "go"}, {"from": "b", "to": "b", "on": "go"}]}),
    );
    place.event("ticking", "slow", "none");
    place.clock.set(150_000);
    let body = json!({"events": [event("go", "slow"), event("go", "quick")]});
    let ask = || {
        let once = Once::request("k", "POST /batch", "", body.to_string().as_bytes(), 200).unwrap();
        let engine = place.engine().keyed(once, Some(&t1()));
        place.run(async {
            let outcome = engine
                .evaluate_batch(Some(&t1()), "ticking", body.to_string().as_bytes())
                .await;
            served(&engine, told(200, outcome)).await
        })
    };
    let moves = |entity: &str| {
        place.number(&format!(
            "SELECT count(*) FROM history h JOIN entities e ON e.uid = h.uid WHERE e.entity_id = '{entity}' AND h.event_type = 'go'"
        ))
    };
    let first = ask();
    let of_quick = first.body.as_ref().unwrap()["results"][1].clone();
    assert_eq!(first.body.as_ref().unwrap()["failed"], 1, "{first:?}");
    assert_eq!((moves("slow"), moves("quick")), (Some(0), Some(1)));
    let mut tries = 1;
    let last = loop {
        let again = ask();
        tries += 1;
        assert!(tries < 6);
        assert!(
            !again.replayed,
            "it is gone on with at once: nothing is under way"
        );
        assert_eq!(
            again.body.as_ref().unwrap()["results"][1],
            of_quick,
            "what was answered stands"
        );
        assert_eq!(moves("quick"), Some(1));
        if again.body.as_ref().unwrap()["failed"] == 0 {
            break again;
        }
    };
    assert_eq!((moves("slow"), moves("quick")), (Some(1), Some(1)));
    let replay = ask();
    assert!(replay.replayed && replay.body == last.body);
}

#[test]
fn s4_100_a_batchs_receipts_are_kept_for_seven_days() {
    let place = place();
    let body = events();
    send(&place, &body);
    place.clock.set(7 * DAY - 1);
    place.run(place.engine().purge()).unwrap();
    assert!(send(&place, &body).replayed);
    place.clock.set(7 * DAY);
    assert!(!send(&place, &body).replayed);
    assert_ne!(effects(&place), ONCE, "it is applied anew");
    place.clock.set(15 * DAY);
    place.run(place.engine().purge()).unwrap();
    assert_eq!(receipts(&place, "true"), 0);
}

#[test]
fn s4_101_a_batch_that_was_left_behind_is_purged_in_the_end() {
    let place = place();
    let body = events();
    let faulty = Faulty::new(place.sqlite.clone());
    let engine = keyed(&place, &faulty, &body);
    run_for(&place.clock, sent(&engine, &body), 4);
    assert_eq!(receipts(&place, "status = 0"), 1);
    place.clock.set(7 * DAY);
    place.run(place.engine().purge()).unwrap();
    assert_eq!(
        receipts(&place, "status = 0"),
        1,
        "who left it may come back within the time of a receipt"
    );
    place.clock.set(8 * DAY);
    place.run(place.engine().purge()).unwrap();
    assert_eq!(receipts(&place, "true"), 0);
}

#[test]
fn r17_deleting_an_entity_forgets_what_a_batch_did_to_it() {
    let place = place();
    let body = json!({"events": [event("pay", "e"), event("pay", "f")]});
    let first = send(&place, &body);
    place
        .run(place.engine().delete_entity(&t1(), "order", "e"))
        .unwrap();
    let told_of = receipts(
        &place,
        "uid IS NOT NULL AND uid NOT IN (SELECT uid FROM entities)",
    );
    assert_eq!(told_of, 0, "no receipt is left of what was erased");
    let again = send(&place, &body);
    assert_eq!(again.status, 200, "{again:?}");
    let results = again.body.as_ref().unwrap()["results"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(results.len(), 2);
    assert_eq!(
        results[1],
        first.body.unwrap()["results"][1],
        "the other's stands"
    );
    let error = results[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("NOT_FOUND: ") && results[0].get("result").is_none(),
        "of the one that was erased nothing is told: {results:#?}"
    );
    assert_eq!(effects(&place), "f2 1 2", "and nothing brings it back");
}

#[test]
fn s4_99_a_batch_that_is_none_leaves_nothing() {
    let place = place();
    for body in [json!({"events": []}), json!({"events": 5}), json!([])] {
        let answer = send(&place, &body);
        assert_eq!((answer.status, answer.replayed), (400, false), "{body}");
        assert_eq!(receipts(&place, "true"), 0, "{body}");
    }
    assert_eq!(send(&place, &events()).status, 200);
}

#[test]
fn s4_104_a_batch_whose_key_cannot_be_claimed_applies_nothing() {
    let place = place();
    let before = place.sqlite.dump();
    let faulty = Faulty::new(place.sqlite.clone());
    faulty.arm((0..100).map(|batch| (batch, Fault::Before)));
    let answer = send_on(&place, &faulty, &events());
    assert_eq!((answer.status, answer.code()), (503, "INBOX_UNAVAILABLE"));
    assert_eq!(place.sqlite.dump(), before);
}

#[test]
fn s4_97_a_batch_of_several_tenants_has_a_key_of_its_own_and_one_of_one_tenant_is_that_ones() {
    let place = place();
    let body = order().to_string();
    place
        .run(
            place
                .engine()
                .create_machine(&support::tenant("t2"), body.as_bytes()),
        )
        .unwrap();
    let of = |tenants: [&str; 2]| {
        let events: Vec<Value> = tenants
            .iter()
            .map(|tenant| json!({"event_type": "pay", "entity_key": "id", "params": {"id": "e", "key_prefix": tenant}}))
            .collect();
        json!({ "events": events })
    };
    let ask = |body: &Value| {
        let once = Once::request("k", "POST /batch", "", body.to_string().as_bytes(), 200).unwrap();
        let engine = place.engine().keyed(once, None);
        place.run(async {
            let outcome = engine
                .evaluate_batch(None, "order", body.to_string().as_bytes())
                .await;
            served(&engine, told(200, outcome)).await
        })
    };
    for tenants in [["t1", "t2"], ["t1", "t1"], ["t2", "t2"]] {
        let body = of(tenants);
        let first = ask(&body);
        assert_eq!(
            (first.status, first.replayed),
            (200, false),
            "{tenants:?}: {first:?}"
        );
        assert!(ask(&body).replayed, "{tenants:?}");
    }
    let versions = place.number("SELECT sum(state_version) FROM entities").unwrap();
    assert_eq!(versions, 4, "each is paid once");
}

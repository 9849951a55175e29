//! One request, one effect, whatever it is that it asks for: the table of outcomes of an Idempotency-Key, on every operation
//! that writes (S4.90 to S4.112, R17; design 5).

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
use support::keyed::{Op, Told, ops, served, told};
use support::outside::Place;
use support::tenant;
use support::world::{order, t1};

const DAY: i64 = 86_400_000;

fn receipts(place: &Place) -> i64 {
    place.number("SELECT count(*) FROM inbox").unwrap()
}

#[test]
fn s4_90_s4_91_an_unseen_key_is_applied_and_a_seen_one_is_answered_as_the_first_time() {
    for op in ops() {
        let place = op.place();
        let before = op.probed(&place);
        let first = op.request(&place);
        assert!(
            (200..300).contains(&first.status) && !first.replayed,
            "{}: {first:?}",
            op.name
        );
        let after = op.probed(&place);
        let moves = op.name != "evaluate, which moves nothing" && op.name != "redrive";
        assert!(!moves || after != before, "{}: {after}", op.name);
        assert_eq!(receipts(&place), 1, "{}", op.name);
        let dump = place.sqlite.dump();
        place.clock.pass(1_000);
        // What was made up is told once: no row holds it in the clear (ruling 10).
        let mut kept = first.body.clone();
        if let Some(Value::Object(kept)) = &mut kept {
            kept.remove("value");
        }
        for _ in 0..2 {
            let again = op.request(&place);
            assert!(again.replayed, "{}: {again:?}", op.name);
            assert_eq!((again.status, &again.body), (first.status, &kept), "{}", op.name);
        }
        assert_eq!(place.sqlite.dump(), dump, "{}: a replay writes nothing", op.name);
    }
}

#[test]
fn s4_92_a_key_that_was_used_with_another_body_is_refused() {
    for op in ops() {
        let place = op.place();
        op.request(&place);
        let dump = place.sqlite.dump();
        let mut other = (op.body)();
        other["more"] = json!(1);
        if other.get("machine_id").is_some() {
            other.as_object_mut().unwrap().remove("more");
            other["label"] = json!("other");
        }
        let faulty = Faulty::new(place.sqlite.clone());
        let answer = op.request_on(&place, &faulty, Some("k"), other.to_string().as_bytes());
        let unread = answer.status == 400;
        // A body that is no such request is refused as that, whatever its key.
        assert!(
            answer.code() == "IDEMPOTENCY_MISMATCH" && answer.status == 422 || unread,
            "{}: {answer:?}",
            op.name
        );
        assert!(!answer.replayed);
        assert_eq!(place.sqlite.dump(), dump, "{}", op.name);
        // The first one is answered as before.
        assert!(op.request(&place).replayed, "{}", op.name);
    }
}

#[test]
fn s4_95_without_a_key_nothing_is_kept_and_nothing_is_replayed() {
    for op in ops() {
        let place = op.place();
        let faulty = Faulty::new(place.sqlite.clone());
        for _ in 0..2 {
            let answer = op.request_on(&place, &faulty, None, &op.bytes());
            assert!(!answer.replayed, "{}", op.name);
        }
        assert_eq!(receipts(&place), 0, "{}", op.name);
    }
}

#[test]
fn s4_104_where_receipts_cannot_be_read_nothing_is_applied() {
    for op in ops() {
        let place = op.place();
        let dump = place.sqlite.dump();
        let faulty = Faulty::new(place.sqlite.clone());
        faulty.arm((0..500).map(|batch| (batch, Fault::Before)));
        let answer = op.request_on(&place, &faulty, Some("k"), &op.bytes());
        // State records read and write in one batch: what cannot be reached is told in their own words.
        let record = op.name.ends_with("record");
        let expected = if record {
            (500, "STATE_STORE")
        } else {
            (503, "INBOX_UNAVAILABLE")
        };
        assert_eq!(
            (answer.status, answer.code()),
            expected,
            "{}: {answer:?}",
            op.name
        );
        assert_eq!(
            answer.body.as_ref().unwrap()["error"]["retry"],
            true,
            "{}",
            op.name
        );
        assert_eq!(place.sqlite.dump(), dump, "{}: not applied", op.name);
        faulty.arm([]);
        let again = op.request_on(&place, &faulty, Some("k"), &op.bytes());
        assert!(
            (200..300).contains(&again.status) && !again.replayed,
            "{}: {again:?}",
            op.name
        );
    }
}

#[test]
fn s4_104_a_broken_inbox_alone_stops_what_has_a_key() {
    for op in ops() {
        let place = op.place();
        place.sqlite.execute("ALTER TABLE inbox RENAME TO lost");
        let before = op.probed(&place);
        let answer = op.request(&place);
        assert!([500, 503].contains(&answer.status), "{}: {answer:?}", op.name);
        assert_eq!(op.probed(&place), before, "{}: not applied", op.name);
        place.sqlite.execute("ALTER TABLE lost RENAME TO inbox");
        assert_eq!(receipts(&place), 0);
        let again = op.request(&place);
        assert!(
            (200..300).contains(&again.status) && !again.replayed,
            "{}: {again:?}",
            op.name
        );
    }
}

fn evaluate(place: &Place, key: &str, scope: &str, who: &str, body: &str) -> Told {
    let once = match Once::request(key, scope, "", body.as_bytes(), 200) {
        Ok(once) => once,
        Err(error) => {
            return Told {
                status: error.status(),
                body: Some(error.body()),
                replayed: false,
            };
        }
    };
    let who = tenant(who);
    let engine = place.engine().keyed(once, Some(&who));
    place.run(async {
        let outcome = engine.evaluate(Some(&who), "order", body.as_bytes()).await;
        served(&engine, told(200, outcome)).await
    })
}

fn event(kind: &str, entity: &str) -> String {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}}).to_string()
}

fn orders() -> Place {
    let place = Place::new();
    place.register(&order());
    place
}

fn version(place: &Place, entity: &str) -> Option<i64> {
    place.number(&format!(
        "SELECT max(state_version) FROM entities WHERE entity_id = '{entity}' AND tenant = 't1'"
    ))
}

#[test]
fn s4_96_refusals_that_stand_are_receipts_and_those_that_may_pass_are_not() {
    let op = |name: &str| ops().into_iter().find(|op| op.name == name).unwrap();
    // No entity: it stands, even where one is made later.
    let place = orders();
    let transition = op("transition");
    let first = transition.request(&place);
    assert_eq!((first.status, first.code()), (404, "NOT_FOUND"));
    place.event("order", "e", "none");
    let again = transition.request(&place);
    assert_eq!(
        (again.status, again.replayed, &again.body),
        (404, true, &first.body)
    );
    // A version that is another: it stands.
    let body = json!({"event_type": "pay", "expected_version": 7}).to_string();
    let faulty = Faulty::new(place.sqlite.clone());
    let refused = transition.request_on(&place, &faulty, Some("v"), body.as_bytes());
    assert_eq!((refused.status, refused.replayed), (409, false), "{refused:?}");
    let again = transition.request_on(&place, &faulty, Some("v"), body.as_bytes());
    assert!(again.replayed && again.body == refused.body);
    // A body that cannot be understood leaves nothing: mended, it has its effect.
    let kept = receipts(&place);
    for body in ["{", "[]", "{}", "{\"event_type\": 5}"] {
        let answer = transition.request_on(&place, &faulty, Some("b"), body.as_bytes());
        assert_eq!(
            (answer.status, answer.replayed),
            (400, false),
            "{body}: {answer:?}"
        );
        assert_eq!(receipts(&place), kept, "{body}");
    }
    let body = json!({"event_type": "pay"}).to_string();
    let answer = transition.request_on(&place, &faulty, Some("b"), body.as_bytes());
    assert_eq!((answer.status, version(&place, "e")), (200, Some(2)));
}

#[test]
fn s4_94_what_failed_before_its_effect_leaves_no_receipt() {
    for op in ops() {
        let place = op.place();
        let before = op.probed(&place);
        let faulty = Faulty::new(place.sqlite.clone());
        // It can be read, and not written.
        faulty.arm((1..500).map(|batch| (batch, Fault::Before)));
        let answer = op.request_on(&place, &faulty, Some("k"), &op.bytes());
        let at_once = op.name.ends_with("record");
        if !at_once {
            assert!(answer.status >= 500, "{}: {answer:?}", op.name);
            assert_eq!(op.probed(&place), before, "{}", op.name);
            assert_eq!(receipts(&place), 0, "{}", op.name);
        }
        faulty.arm([]);
        let again = op.request_on(&place, &faulty, Some("k"), &op.bytes());
        assert!((200..300).contains(&again.status), "{}: {again:?}", op.name);
        assert_eq!(again.replayed, at_once, "{}", op.name);
    }
}

#[test]
fn s4_97_a_key_is_its_tenants_and_its_routes() {
    let place = orders();
    let body = order().to_string();
    place
        .run(place.engine().create_machine(&tenant("t2"), body.as_bytes()))
        .unwrap();
    let note = event("note", "e");
    assert!(!evaluate(&place, "k", "POST /a", "t1", &note).replayed);
    assert!(
        !evaluate(&place, "k", "POST /b", "t1", &note).replayed,
        "another route"
    );
    assert!(
        !evaluate(&place, "k", "PUT /a", "t1", &note).replayed,
        "another method"
    );
    assert!(
        !evaluate(&place, "k", "POST /a", "t2", &note).replayed,
        "another tenant"
    );
    assert_eq!(version(&place, "e"), Some(4));
    assert!(evaluate(&place, "k", "POST /a", "t1", &note).replayed);
    assert!(evaluate(&place, "k", "POST /a", "t2", &note).replayed);
    // Another tenant learns nothing of what was asked under the same key.
    let other = evaluate(&place, "k", "POST /b", "t2", &event("pay", "other"));
    assert_eq!((other.status, other.replayed), (200, false));
}

#[test]
fn s4_97_a_tenant_in_the_body_is_as_one_in_the_path() {
    let place = orders();
    let note = json!({"event_type": "note", "entity_key": "id", "params": {"id": "e", "key_prefix": "t1"}})
        .to_string();
    let ask = |who: Option<&str>| {
        let once = Once::request("k", "POST /a", "", note.as_bytes(), 200).unwrap();
        let who = who.map(tenant);
        let engine = place.engine().keyed(once, who.as_ref());
        place.run(async {
            let outcome = engine.evaluate(who.as_ref(), "order", note.as_bytes()).await;
            served(&engine, told(200, outcome)).await
        })
    };
    let first = ask(None);
    assert_eq!((first.status, first.replayed), (200, false));
    assert!(ask(None).replayed);
    assert_eq!(
        place.number("SELECT count(*) FROM inbox WHERE tenant = 't1'"),
        Some(1)
    );
    assert_eq!(version(&place, "e"), Some(2));
}

#[test]
fn s4_98_a_body_is_the_same_whatever_its_spaces_and_the_order_of_its_keys() {
    let place = orders();
    let first =
        r#"{"event_type": "note", "entity_key": "id", "params": {"id": "e", "a": {"x": 1, "y": [1, 2]}}}"#;
    let same = "{\n\"params\":{\"a\":{\"y\":[1,2],\"x\":1},\"id\":\"e\"},\"entity_key\":\"id\",\"event_type\":\"note\"}";
    assert!(!evaluate(&place, "k", "POST /a", "t1", first).replayed);
    assert!(evaluate(&place, "k", "POST /a", "t1", same).replayed);
    for other in [
        r#"{"event_type": "note", "entity_key": "id", "params": {"id": "e", "a": {"x": 1, "y": [2, 1]}}}"#,
        r#"{"event_type": "note", "entity_key": "id", "params": {"id": "e", "a": {"x": "1", "y": [1, 2]}}}"#,
        r#"{"event_type": "note", "entity_key": "id", "params": {"id": "e"}}"#,
    ] {
        assert_eq!(
            evaluate(&place, "k", "POST /a", "t1", other).code(),
            "IDEMPOTENCY_MISMATCH",
            "{other}"
        );
    }
    // The query counts too.
    let query = |query: &str| {
        let once = Once::request("q", "PUT /m", query, order().to_string().as_bytes(), 200).unwrap();
        let engine = place.engine().keyed(once, Some(&t1()));
        let body = order().to_string();
        place.run(async {
            let outcome = engine
                .put_machine(&t1(), "order", body.as_bytes(), Some("follow"))
                .await;
            served(&engine, told(200, outcome)).await
        })
    };
    assert_eq!(query("in_flight=follow").status, 200);
    assert!(query("in_flight=follow").replayed);
    assert_eq!(query("in_flight=pin").code(), "IDEMPOTENCY_MISMATCH");
}

#[test]
fn s4_99_keys_are_up_to_255_printable_characters_and_taken_to_the_byte() {
    let longest = "k".repeat(255);
    let all: String = (' '..='~').collect();
    for key in ["k", "K", " k", "k ", " ", "~", &longest, &all] {
        let place = orders();
        assert_eq!(
            evaluate(&place, "k0", "POST /a", "t1", &event("note", "e")).status,
            200
        );
        assert!(
            !evaluate(&place, key, "POST /a", "t1", &event("note", "e")).replayed,
            "{key:?}"
        );
        assert!(
            evaluate(&place, key, "POST /a", "t1", &event("note", "e")).replayed,
            "{key:?}"
        );
    }
    let place = orders();
    for key in ["k", "K", " k", "k "] {
        assert!(
            !evaluate(&place, key, "POST /a", "t1", &event("note", "e")).replayed,
            "{key:?} is its own"
        );
    }
    let too_long = "k".repeat(256);
    for key in ["", &too_long, "k\n", "k\t", "\u{7f}", "ключ", "k\u{e9}", "k\0"] {
        let answer = evaluate(&place, key, "POST /a", "t1", &event("note", "e"));
        assert_eq!(
            (answer.status, answer.code()),
            (400, "BAD_REQUEST"),
            "{key:?}: {answer:?}"
        );
        assert!(answer.body.unwrap().to_string().contains("Idempotency-Key"));
    }
    assert_eq!(version(&place, "e"), Some(5));
}

#[test]
fn s4_100_a_receipt_is_kept_for_seven_days_to_the_millisecond() {
    let place = orders();
    let note = event("note", "e");
    let ask = || evaluate(&place, "k", "POST /a", "t1", &note);
    ask();
    place.clock.set(7 * DAY - 1);
    assert!(ask().replayed);
    place.run(place.engine().purge()).unwrap();
    assert!(ask().replayed, "and not purged before");
    place.clock.set(7 * DAY);
    assert!(!ask().replayed, "it is fresh from then on, purged or not");
    assert_eq!(version(&place, "e"), Some(3));
    assert!(ask().replayed, "and kept anew");
    place.clock.set(14 * DAY - 1);
    assert!(ask().replayed);
    place.clock.set(14 * DAY);
    place.run(place.engine().purge()).unwrap();
    assert_eq!(receipts(&place), 0);
}

#[test]
fn s4_100_every_operation_begins_anew_once_its_receipt_is_past_its_time() {
    for op in ops() {
        let place = op.place();
        op.request(&place);
        place.clock.pass(7 * DAY - 1);
        assert!(op.request(&place).replayed, "{}", op.name);
        place.clock.pass(1);
        assert!(!op.request(&place).replayed, "{}", op.name);
    }
}

#[test]
fn s4_101_a_clock_that_goes_back_purges_nothing_and_one_that_goes_forward_does() {
    let place = orders();
    place.clock.set(30 * DAY);
    let note = event("note", "e");
    let ask = || evaluate(&place, "k", "POST /a", "t1", &note);
    ask();
    for at in [29 * DAY, 0, 37 * DAY - 1] {
        place.clock.set(at);
        place.run(place.engine().purge()).unwrap();
        assert!(ask().replayed, "at {at}");
    }
    place.clock.set(37 * DAY + 1);
    place.run(place.engine().purge()).unwrap();
    assert_eq!(receipts(&place), 0);
    assert!(!ask().replayed);
}

#[test]
fn r17_deleting_an_entity_forgets_the_receipts_that_tell_of_it() {
    for keyed_by in ["evaluate", "transition", "create entity"] {
        let op = ops().into_iter().find(|op| op.name == keyed_by).unwrap();
        let place = op.place();
        let entity = if keyed_by == "create entity" { "f" } else { "e" };
        op.request(&place);
        // One of another entity stays.
        assert!(!evaluate(&place, "o", "POST /a", "t1", &event("note", "other")).replayed);
        place
            .run(place.engine().delete_entity(&t1(), "order", entity))
            .unwrap();
        assert!(!op.request(&place).replayed, "{keyed_by}: it is forgotten");
        assert!(evaluate(&place, "o", "POST /a", "t1", &event("note", "other")).replayed);
        let told_of: i64 = place
            .number(
                "SELECT count(*) FROM inbox WHERE uid IS NOT NULL AND uid NOT IN (SELECT uid FROM entities)",
            )
            .unwrap();
        assert_eq!(told_of, 0, "{keyed_by}: no receipt is left of what was erased");
    }
}

#[test]
fn ruling_13_a_dry_run_has_no_key() {
    let place = orders();
    let mut dry: Value = serde_json::from_str(&event("pay", "e")).unwrap();
    dry["dry_run"] = json!(true);
    for _ in 0..2 {
        let answer = evaluate(&place, "k", "POST /a", "t1", &dry.to_string());
        assert_eq!((answer.status, answer.replayed), (200, false));
    }
    assert_eq!((receipts(&place), version(&place, "e")), (0, None));
}

#[test]
fn s4_91_the_duplicate_of_an_event_is_kept_as_its_answer_too() {
    let place = orders();
    let mut note: Value = serde_json::from_str(&event("note", "e")).unwrap();
    note["timestamp"] = json!(5);
    let note = note.to_string();
    let first = evaluate(&place, "k", "POST /a", "t1", &note);
    let second = evaluate(&place, "l", "POST /a", "t1", &note);
    assert_eq!(
        second.body.as_ref().unwrap()["reason"],
        "duplicate event (already processed)"
    );
    assert!(!second.replayed && first.body != second.body);
    let again = evaluate(&place, "l", "POST /a", "t1", &note);
    assert!(again.replayed && again.body == second.body);
    assert_eq!(version(&place, "e"), Some(2));
}

#[test]
fn s4_91_a_replayed_answer_has_the_ids_of_its_history_rows() {
    let place = Place::new();
    for definition in support::families::chain(3, "fresh") {
        place.register(&definition);
    }
    place.event("l0", "e", "drop");
    let body = event("again", "e");
    let ask = || {
        let once = Once::request("k", "POST /a", "", body.as_bytes(), 200).unwrap();
        let engine = place.engine().keyed(once, Some(&t1()));
        place.run(async {
            let outcome = engine.evaluate(Some(&t1()), "l0", body.as_bytes()).await;
            served(&engine, told(200, outcome)).await
        })
    };
    let first = ask();
    let again = ask();
    assert!(again.replayed);
    assert_eq!(again.body, first.body);
    assert!(first.body.unwrap()["instances"].as_array().unwrap().len() >= 3);
}

#[test]
fn s2_118_a_replay_sends_nothing() {
    let op: Op = ops().into_iter().find(|op| op.name == "evaluate").unwrap();
    let place = op.place();
    let faulty = Faulty::new(place.sqlite.clone());
    for _ in 0..3 {
        let body = op.bytes();
        let engine = op.engine(&place, &faulty, Some("k"), &body);
        place.run(async {
            let outcome = (op.run)(&engine, body.clone()).await;
            served(&engine, outcome).await;
            engine.deliver_claimed().await
        });
    }
    assert_eq!(place.outside.taken().len(), 1);
}

//! State records by requests with a key: one effect and one answer (S4.90 to S4.104).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::once::Once;
use support::faults::Fault;
use support::records::{Lab, Op, Told, keyed, meanwhile, moved, named, run, t1};
use support::{START, block_on};

const ANY: [Option<&str>; 3] = [None, None, None];

#[test]
fn s4_90_s4_91_a_key_that_was_seen_gives_the_same_answer_to_the_byte() {
    let lab = Lab::new();
    let creation = json!({"machine": "task", "id": "a", "state": "open", "data": {"big": 1.5, "n": null}});
    let made = lab.keyed("c", Op::Create, &creation);
    assert_eq!((made.status, made.replayed), (201, false));
    let body = moved("a", "open", "shut", 1);
    let first = lab.keyed("m", Op::Move, &body);
    assert_eq!((first.status, first.replayed), (200, false));
    lab.at(60_000);
    lab.call(Op::Move, &moved("a", "shut", "open", 2)).event_id();
    let before = lab.stored();
    for (key, op, body, answer) in [
        ("c", Op::Create, &creation, &made),
        ("m", Op::Move, &body, &first),
    ] {
        let again = lab.keyed(key, op, body);
        assert_eq!(
            again,
            Told {
                replayed: true,
                ..answer.clone()
            }
        );
    }
    assert_eq!(lab.stored(), before);
    // Spaces and the order of keys are not what a request asks for (S4.98).
    let text = r#" {"expected_version": 1, "to": "shut", "from": "open", "id": "a", "machine": "task"} "#;
    let once = Once::request("m", "POST /api/state/transition", "", text.as_bytes(), 200).unwrap();
    let engine = lab.engine().keyed(once, Some(&t1()));
    assert!(run(&engine, Op::Move, &t1(), text.as_bytes()).replayed);
    // S4.95: without a key it is another request.
    assert_eq!(lab.call(Op::Move, &body).code().1, "STATE_CONFLICT");
    let kept = lab.rows(
        "SELECT json_array(key, scope, part, status, outcome, uid = (SELECT uid FROM records), created_at, expires_at) FROM inbox \
         ORDER BY key",
    );
    let until = START + 7 * 86_400_000;
    assert_eq!(
        kept,
        [
            json!(["c", "POST /api/state/create", -1, 201, "applied", 1, START, until]),
            json!([
                "m",
                "POST /api/state/transition",
                -1,
                200,
                "applied",
                1,
                START,
                until
            ]),
        ]
    );
}

#[test]
fn s4_91_a_receipt_keeps_numbers_that_no_float_can_hold() {
    let lab = Lab::new();
    let text =
        r#"{"machine":"task","id":"a","state":"open","data":{ "n" : 123456789012345678901234567890 }}"#;
    let ask = || {
        let once = Once::request("k", "POST /api/state/create", "", text.as_bytes(), 201).unwrap();
        run(
            &lab.engine().keyed(once, Some(&t1())),
            Op::Create,
            &t1(),
            text.as_bytes(),
        )
    };
    let (first, again) = (ask(), ask());
    assert!(
        first
            .text
            .contains(r#""data":{ "n" : 123456789012345678901234567890 }"#),
        "{}",
        first.text
    );
    assert_eq!(
        again,
        Told {
            replayed: true,
            ..first
        }
    );
}

#[test]
fn s4_92_a_key_of_another_request_is_a_mismatch_and_nothing_is_applied() {
    let lab = Lab::new();
    lab.create("a");
    lab.keyed("k", Op::Move, &moved("a", "open", "open", 1))
        .event_id();
    lab.keyed("r", Op::Move, &moved("a", "open", "open", 1)).code();
    let before = lab.stored();
    for key in ["k", "r"] {
        for body in [
            // It would be applied, refused, or not found.
            moved("a", "open", "open", 2),
            moved("a", "open", "open", 9),
            moved("b", "open", "open", 1),
        ] {
            let told = lab.keyed(key, Op::Move, &body);
            assert_eq!(
                told.code(),
                (422, "IDEMPOTENCY_MISMATCH".to_owned(), Value::Null),
                "{key} {body}"
            );
            assert_eq!(lab.stored(), before);
        }
    }
    lab.keyed(
        "c",
        Op::Create,
        &json!({"machine": "task", "id": "c", "state": "s"}),
    )
    .record();
    let before = lab.stored();
    for id in ["c", "d"] {
        let told = lab.keyed(
            "c",
            Op::Create,
            &json!({"machine": "task", "id": id, "state": "t"}),
        );
        assert_eq!(told.code().1, "IDEMPOTENCY_MISMATCH");
        assert_eq!(lab.stored(), before);
    }
}

#[test]
fn s4_96_a_refusal_is_kept_and_told_again_whatever_has_become_of_the_record() {
    let lab = Lab::new();
    lab.create("a");
    let missing = lab.keyed("n", Op::Move, &moved("b", "open", "open", 1));
    let early = lab.keyed("v", Op::Move, &moved("a", "open", "open", 2));
    let wrong = lab.keyed("s", Op::Move, &moved("a", "shut", "open", 1));
    let exists = lab.keyed(
        "e",
        Op::Create,
        &json!({"machine": "task", "id": "a", "state": "x"}),
    );
    let codes: Vec<_> = [&missing, &early, &wrong, &exists]
        .iter()
        .map(|told| told.code().1)
        .collect();
    assert_eq!(
        codes,
        [
            "STATE_NOT_FOUND",
            "STATE_CONFLICT",
            "STATE_CONFLICT",
            "STATE_EXISTS"
        ]
    );
    lab.create("b");
    lab.bump("a", 1);
    let before = lab.stored();
    for (key, body, told) in [
        ("n", moved("b", "open", "open", 1), missing),
        ("v", moved("a", "open", "open", 2), early),
        ("s", moved("a", "shut", "open", 1), wrong),
    ] {
        assert_eq!(
            lab.keyed(key, Op::Move, &body),
            Told {
                replayed: true,
                ..told
            }
        );
    }
    let again = lab.keyed(
        "e",
        Op::Create,
        &json!({"machine": "task", "id": "a", "state": "x"}),
    );
    assert_eq!(
        again,
        Told {
            replayed: true,
            ..exists
        }
    );
    assert_eq!(lab.stored(), before);
}

#[test]
fn s4_94_what_could_not_be_understood_and_what_invites_a_retry_is_not_kept() {
    let mut lab = Lab::new();
    lab.create("a");
    let wrong = json!({"machine": "task", "id": "a", "from": "open", "to": "open"});
    assert_eq!(lab.keyed("k", Op::Move, &wrong).status, 400);
    lab.clock.moves.set(true);
    lab.faulty.arm((0..5_000).map(|place| (place, Fault::Before)));
    assert_eq!(
        lab.keyed("k", Op::Move, &moved("a", "open", "open", 1)).code().1,
        "STATE_STORE"
    );
    lab.faulty.arm([]);
    lab.settings.records = false;
    assert_eq!(
        lab.keyed("k", Op::Move, &moved("a", "open", "open", 1)).code().1,
        "STATE_DISABLED"
    );
    lab.settings.records = true;
    assert_eq!(lab.sqlite.count("inbox"), 0);
    lab.keyed("k", Op::Move, &moved("a", "open", "open", 1))
        .event_id();
}

#[test]
fn s4_97_a_key_is_of_one_tenant_and_one_route() {
    let lab = Lab::new();
    let t2 = support::tenant("t2");
    let creation = json!({"machine": "task", "id": "a", "state": "open"});
    lab.keyed("k", Op::Create, &creation).record();
    lab.keyed("k", Op::Move, &moved("a", "open", "open", 1))
        .event_id();
    let text = creation.to_string();
    let once = Once::request("k", "POST /api/state/create", "", text.as_bytes(), 201).unwrap();
    let theirs = run(
        &lab.engine().keyed(once.clone(), Some(&t2)),
        Op::Create,
        &t2,
        text.as_bytes(),
    );
    assert_eq!((theirs.status, theirs.replayed), (201, false));
    // A host that left the tenant out is told it by the operation.
    let again = run(&lab.engine().keyed(once, None), Op::Create, &t2, text.as_bytes());
    assert!(again.replayed);
    assert_eq!(lab.sqlite.count("inbox"), 3);
}

#[test]
fn s4_100_s4_101_after_seven_days_a_key_is_fresh() {
    let lab = Lab::new();
    lab.create("a");
    let body = moved("a", "open", "open", 1);
    let first = lab.keyed("k", Op::Move, &body);
    let week = 7 * 86_400_000;
    lab.at(week - 1);
    assert!(lab.keyed("k", Op::Move, &body).replayed);
    lab.at(week);
    let fresh = lab.keyed("k", Op::Move, &body);
    assert_eq!(fresh.code().1, "STATE_CONFLICT");
    // The refusal is kept in the place of the first answer.
    assert_eq!(
        lab.keyed("k", Op::Move, &body),
        Told {
            replayed: true,
            ..fresh
        }
    );
    lab.at(2 * week);
    let other = lab.keyed("k", Op::Move, &moved("a", "open", "open", 2));
    assert_ne!(other.event_id(), first.event_id());
    assert_eq!(lab.sqlite.count("inbox"), 1);
    // The clock steps back: nothing is fresh for it.
    lab.at(0);
    assert!(lab.keyed("k", Op::Move, &moved("a", "open", "open", 2)).replayed);
}

#[test]
fn s4_90_a_twin_that_comes_first_answers_for_both() {
    for twin_is_same in [true, false] {
        for faults in [vec![], vec![(0, Fault::Before)], vec![(0, Fault::Stray)]] {
            let lab = Rc::new(Lab::new());
            lab.subscribe("s", ANY, true);
            lab.create("a");
            let body = moved("a", "open", "mine", 1);
            let twin = if twin_is_same {
                body.clone()
            } else {
                moved("a", "open", "other", 1)
            };
            let comes = meanwhile(&lab, faults.len(), move |lab| {
                keyed(lab.rival(), "k", Op::Move, &twin).event_id();
            });
            lab.faulty.arm(faults.into_iter().chain([comes]));
            let told = lab.keyed("k", Op::Move, &body);
            lab.faulty.land();
            assert!(lab.faulty.struck());
            let rows = lab.rows("SELECT json_array(event_id) FROM outbox");
            assert_eq!((rows.len(), lab.sqlite.count("inbox")), (1, 1));
            if twin_is_same {
                assert!(told.replayed, "{}", told.text);
                assert_eq!(rows[0], json!([told.event_id()]));
            } else {
                assert_eq!(told.code().1, "IDEMPOTENCY_MISMATCH");
            }
        }
    }
}

#[test]
fn s4_92_another_request_with_the_key_of_one_under_way_loses_its_batch() {
    // Both would move, each its own record: only the receipt is in the way.
    let lab = Rc::new(Lab::new());
    lab.create("a");
    lab.create("b");
    lab.faulty.arm([meanwhile(&lab, 0, |lab| {
        keyed(lab.rival(), "k", Op::Move, &moved("b", "open", "open", 1)).event_id();
    })]);
    let told = lab.keyed("k", Op::Move, &moved("a", "open", "open", 1));
    assert_eq!(told.code().1, "IDEMPOTENCY_MISMATCH");
    assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["version"], 1);
    assert_eq!(lab.sqlite.count("outbox"), 1);
    // The receipt stands in the way, and cannot be read: for certain nothing was applied (S4.104).
    lab.faulty.arm([(1, Fault::Before)]);
    let told = lab.keyed("k", Op::Move, &moved("a", "open", "open", 1));
    assert_eq!(told.code(), (503, "INBOX_UNAVAILABLE".to_owned(), Value::Null));
    assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["version"], 1);
}

#[test]
fn s4_104_without_an_inbox_nothing_is_applied() {
    let lab = Lab::new();
    lab.create("a");
    lab.sqlite.execute("ALTER TABLE inbox RENAME TO gone");
    lab.clock.moves.set(true);
    let told = lab.keyed("k", Op::Move, &moved("a", "open", "open", 1));
    assert_eq!(told.code().1, "STATE_STORE");
    assert_eq!(told.json()["error"]["retry"], true);
    assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["version"], 1);
    assert_eq!(lab.sqlite.count("outbox"), 0);
}

#[test]
fn s0_10_i9_a_key_or_a_commit_of_one_tenant_touches_nothing_of_another() {
    let lab = Lab::new();
    let t2 = support::tenant("t2");
    lab.create("a");
    let theirs = json!({"machine": "task", "id": "a", "state": "open"});
    lab.of(&t2, Op::Create, &theirs).record();
    let of = |tenant: &str| {
        lab.rows(&format!(
            "SELECT json_array(state, version, data, uid) FROM records WHERE tenant = '{tenant}'"
        ))
    };
    let before = of("t2");
    lab.keyed("k", Op::Move, &moved("a", "open", "shut", 1))
        .event_id();
    assert_eq!(of("t2"), before);
    let engine = lab.engine();
    let body = moved("a", "open", "open", 1).to_string();
    block_on(engine.transition_record(&t2, body.as_bytes())).unwrap();
    assert_eq!(of("t1")[0][0], "shut");
    assert_eq!(
        lab.rows("SELECT json_array(tenant) FROM outbox ORDER BY tenant"),
        [json!(["t1"]), json!(["t2"])]
    );
}

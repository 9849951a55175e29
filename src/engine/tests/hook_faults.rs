//! Webhooks that come in twice, at once, or while something fails: one effect each (S4.90 to S4.107, I1, I3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::json;
use support::block_on;
use support::faults::Fault;
use support::providers::{event, plain, send, service, source, t1};

#[test]
fn a_counter_of_a_source_that_is_gone_meanwhile_is_not_written() {
    let hooks = service();
    let other = hooks.other();
    let gone = Fault::Meanwhile(Rc::new(move || {
        block_on(other.delete_source(&t1(), "in")).unwrap();
    }));
    hooks.faulty.arm([(1, gone)]);
    assert_eq!(hooks.send("in", &plain("wrong", "{}")).0, 401);
    assert!(hooks.faulty.struck());
    assert_eq!(hooks.sqlite.count("source_counts"), 0);
}

#[test]
fn i1_i3_a_fault_at_any_batch_leaves_one_effect_and_a_delivery_again_finds_it() {
    for (kind, create, events, first) in [
        ("note", true, 1, "applied"),
        ("unheard", true, 0, "no_transition"),
        ("note", false, 0, "refused"),
        ("", true, 0, "unmapped"),
    ] {
        for fault in [Fault::Before, Fault::After, Fault::Late] {
            for at in 0..4 {
                let hooks = service();
                let mut source = source(&json!({}));
                source["create"] = json!(create);
                hooks.source(&t1(), "in", &source);
                let delivery = plain("secret", event("e", kind));
                hooks.faulty.arm([(at, fault.clone())]);
                let (status, answer) = hooks.send("in", &delivery);
                let what = format!("{kind} at {at}: {answer}");
                let told = answer["outcome"].as_str().unwrap_or_default().to_owned();
                if status >= 400 {
                    assert_eq!(answer["error"]["retry"], true, "{what}");
                } else {
                    assert!(told == first || told == "duplicate", "{what}");
                }
                hooks.faulty.arm([]);
                for turn in 0..2 {
                    let (status, answer) = hooks.send("in", &delivery);
                    assert!(status < 300, "{what}, then {answer}");
                    // Who was told an outcome, or sends for the third time, hears of it again.
                    // An entity that is not there is looked for again: it may be made meanwhile.
                    let again = match first {
                        "unmapped" | "refused" => first,
                        _ => "duplicate",
                    };
                    if turn == 1 || !told.is_empty() {
                        assert_eq!(answer["outcome"], again, "{what}");
                    }
                }
                assert_eq!(hooks.events("m", "e").len(), events, "{what}");
                let receipts = i64::from(!["unmapped", "refused"].contains(&first));
                assert_eq!(hooks.sqlite.count("inbox"), receipts, "{what}");
            }
        }
    }
}

#[test]
fn s4_90_a_twin_between_read_and_write_comes_first() {
    for kind in ["note", "unheard"] {
        for at in 0..4 {
            let hooks = service();
            let delivery = plain("secret", event("e", kind));
            let (other, twin) = (hooks.other(), delivery.clone());
            let rival = Fault::Meanwhile(Rc::new(move || {
                let (status, answer) = send(&other, &t1(), "in", &twin);
                assert_eq!(status, 200, "{answer}");
            }));
            hooks.faulty.arm([(at, rival)]);
            let (status, answer) = hooks.send("in", &delivery);
            assert_eq!(status, 200, "{answer}");
            let events = usize::from(kind == "note");
            assert_eq!(hooks.events("m", "e").len(), events, "{kind} at {at}: {answer}");
            assert_eq!(hooks.sqlite.count("inbox"), 1);
            if hooks.faulty.struck() {
                let counts = hooks.counts("in");
                assert_eq!(counts["duplicate"], 1, "{kind} at {at}: {counts}");
            }
        }
    }
}

#[test]
fn s4_104_where_receipts_cannot_be_read_nothing_is_applied() {
    let hooks = service();
    let delivery = plain("secret", event("e", "note"));
    hooks.faulty.arm([(1, Fault::Before)]);
    let (status, answer) = hooks.send("in", &delivery);
    assert_eq!(
        (status, &answer["error"]["code"], &answer["error"]["retry"]),
        (503, &json!("INBOX_UNAVAILABLE"), &json!(true))
    );
    assert_eq!(hooks.sqlite.count("entities"), 0);
    assert_eq!(hooks.counts("in"), json!({}));
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "applied");
    // No key to open the secret with: as a failure, so that it is sent again.
    hooks.vault.key.set(None);
    let (status, answer) = hooks.send("in", &plain("secret", event("f", "note")));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("SECRETS_DISABLED"))
    );
    assert_eq!(hooks.sqlite.count("entities"), 1);
}

#[test]
fn s4_96_refusals_are_kept_but_for_a_machine_that_is_not_there_yet() {
    let hooks = service();
    let mut elsewhere = source(&json!({}));
    elsewhere["machine"] = json!("later");
    hooks.source(&t1(), "in", &elsewhere);
    let delivery = plain("secret", event("e", "note"));
    for _ in 0..2 {
        let (status, answer) = hooks.send("in", &delivery);
        assert_eq!(
            (status, &answer["outcome"], &answer["error"]["message"]),
            (200, &json!("refused"), &json!("there is no machine `later`"))
        );
    }
    hooks.machine(&t1(), "later", &["note"]);
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "applied");
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "duplicate");
    assert_eq!(
        hooks.counts("in"),
        json!({"refused": 2, "applied": 1, "duplicate": 1})
    );
}

#[test]
fn s4_100_a_delivery_is_known_for_thirty_days() {
    let hooks = service();
    let delivery = plain("secret", event("e", "note"));
    let day = 86_400_000;
    for (at, outcome, events) in [
        (0, "applied", 1),
        (30 * day - 1, "duplicate", 1),
        (30 * day, "applied", 2),
        (30 * day + 1, "duplicate", 2),
        (-day, "duplicate", 2),
    ] {
        hooks.clock.set(at);
        assert_eq!(hooks.send("in", &delivery).1["outcome"], outcome, "{at}");
        assert_eq!(hooks.events("m", "e").len(), events);
    }
}

#[test]
fn m8_a_source_that_cannot_be_read_fails_closed() {
    let hooks = service();
    hooks
        .sqlite
        .execute(r#"UPDATE sources SET source = '{"machine":"m"}'"#);
    let (status, answer) = hooks.send("in", &plain("secret", event("e", "note")));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (500, &json!("CORRUPT_INSTANCE"))
    );
    assert_eq!(hooks.sqlite.count("entities"), 0);
}

#[test]
fn a_delivery_is_four_batches_and_every_statement_finds_its_rows_by_key() {
    let hooks = service();
    hooks.sqlite.taken();
    hooks.send("in", &plain("secret", event("e", "note")));
    let batches = hooks.sqlite.taken();
    // The source with its secret; the entity and the receipt; the write; the counter.
    assert_eq!(batches.len(), 4);
    assert_eq!((batches[0].len(), batches[3].len()), (1, 1));
    assert!(batches[0][0].contains("FROM sources s LEFT JOIN secrets k"));
    hooks.send("in", &plain("secret", event("e", "note")));
    let again = hooks.sqlite.taken();
    assert_eq!(again.len(), 3, "a duplicate reads, and counts");
    hooks.source(&t1(), "in", &source(&json!({})));
    block_on(hooks.engine.list_sources(&t1())).unwrap();
    block_on(hooks.engine.get_source(&t1(), "in")).unwrap();
    block_on(hooks.engine.delete_source(&t1(), "in")).unwrap();
    let own = hooks
        .sqlite
        .taken()
        .into_iter()
        .chain([batches[0].clone(), batches[3].clone()])
        .flatten();
    let own: BTreeSet<_> = own.collect();
    assert!(own.len() >= 9, "{own:?}");
    let connection = hooks.sqlite.connection.borrow();
    for sql in own {
        let mut prepared = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let line: String = row.get(3).unwrap();
            let scans = line.contains("SCAN") && line != "SCAN CONSTANT ROW" || line.contains("TEMP B-TREE");
            assert!(!scans, "{sql}\n{line}");
        }
    }
}

#[test]
fn s4_99_identities_of_any_length_and_kind_are_told_apart() {
    let hooks = service();
    hooks.source(&t1(), "in", &source(&json!({"identity": "/key"})));
    let keys = [
        "k",
        "K",
        "k ",
        "é",
        "\u{0}",
        "x\ny",
        &"x".repeat(255),
        &"x".repeat(256),
        &"x".repeat(257),
        "1",
        "sha256:0",
    ];
    for key in keys {
        let body = json!({"id": "e", "type": "note", "key": key}).to_string();
        assert_eq!(
            hooks.send("in", &plain("secret", &body)).1["outcome"],
            "applied",
            "{key:?}"
        );
        assert_eq!(
            hooks.send("in", &plain("secret", &body)).1["outcome"],
            "duplicate",
            "{key:?}"
        );
    }
    // A number is its digits.
    let (status, _) = hooks.send("in", &plain("secret", r#"{"id":"e","type":"note","key":1}"#));
    assert_eq!(status, 422);
    assert_eq!(hooks.events("m", "e").len(), keys.len());
    assert_eq!(
        hooks.counts("in"),
        json!({"applied": 11, "duplicate": 11, "refused": 1})
    );
}

//! What transitions of state records leave in the outbox: for whom, in which order, by how much work (S0.14, S0.25, S0.30 to
//! S0.51).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::faults::Fault;
use support::records::{Lab, Op, moved, named, run, t1};
use support::{START, block_on};

const ANY: [Option<&str>; 3] = [None, None, None];

fn outbox(lab: &Lab) -> Vec<Value> {
    lab.rows(
        "SELECT json_object('id', id, 'event_id', event_id, 'kind', kind, 'status', status, 'lane', lane, 'version', version, \
           'place', place, 'sink', sink, 'target', target, 'machine', machine_id, 'entity', entity_id, \
           'subscription', subscription, 'counts', json_array(attempt, tries, claim, claimed, held), 'due', due_at, \
           'created', created_at, 'finished', finished_at) FROM outbox ORDER BY tenant, id",
    )
}

fn creation(id: &str) -> Value {
    json!({"machine": "task", "id": id, "state": "open"})
}

fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

#[test]
fn s0_14_creation_writes_no_event() {
    let lab = Lab::new();
    lab.subscribe("s", ANY, true);
    lab.create("a");
    assert_eq!(lab.sqlite.count("outbox"), 0);
}

#[test]
fn s0_25_from_may_equal_to() {
    let lab = Lab::new();
    lab.subscribe("s", [Some("task"), Some("open"), Some("open")], true);
    lab.create("a");
    assert_eq!(lab.bump("a", 1).record()["version"], 2);
    assert_eq!(outbox(&lab).len(), 1);
    assert_eq!(outbox(&lab)[0]["status"], "pending");
}

#[test]
fn s0_30_s0_51_a_transition_that_concerns_nobody_leaves_one_skipped_event() {
    let lab = Lab::new();
    lab.create("a");
    lab.at(20);
    let event_id = lab.bump("a", 1).event_id();
    let rows = outbox(&lab);
    let uid = lab.rows("SELECT json_quote(uid) FROM records")[0]
        .as_str()
        .unwrap()
        .to_owned();
    let expected = json!({"id": event_id, "event_id": event_id, "kind": "presentation", "status": "skipped",
        "lane": format!("r:{uid}"), "version": 2, "place": 0, "sink": "t1\n", "target": "", "machine": "task", "entity": "a",
        "subscription": null, "counts": [0, 0, 0, 0, 0], "due": null, "created": START + 20, "finished": START + 20});
    assert_eq!(json!(rows), json!([expected]));
    // Who subscribes later is not told of it.
    lab.subscribe("s", ANY, true);
    assert_eq!(json!(outbox(&lab)), json!([expected]));
    lab.at(21);
    let later = lab.bump("a", 2).event_id();
    assert_eq!(outbox(&lab)[1]["id"], format!("{later}~s"));
    assert_eq!(outbox(&lab)[1]["status"], "pending");
}

#[test]
fn s0_31_s0_40_an_event_goes_to_each_subscription_that_it_matches() {
    let lab = Lab::new();
    let task = Some("task");
    for (id, filter) in [
        ("all", ANY),
        ("from", [None, Some("open"), None]),
        ("machine", [task, None, None]),
        ("move", [task, Some("open"), Some("shut")]),
        ("to", [None, None, Some("shut")]),
        ("no_from", [None, Some("shut"), None]),
        ("no_machine", [Some("tasks"), None, None]),
        ("no_to", [None, None, Some("open")]),
        ("no_all", [Some("tasks"), Some("open"), Some("shut")]),
    ] {
        lab.subscribe(id, filter, true);
    }
    lab.subscribe_of("t1", "machines", "machines", ANY, true);
    lab.subscribe_of("t2", "other", "records", ANY, true);
    lab.create("a");
    lab.at(30);
    let event_id = lab.call(Op::Move, &moved("a", "open", "shut", 1)).event_id();
    let uid = lab.rows("SELECT json_quote(uid) FROM records")[0]
        .as_str()
        .unwrap()
        .to_owned();
    let rows = outbox(&lab);
    let told: Vec<_> = rows
        .iter()
        .map(|row| row["subscription"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["all", "from", "machine", "move", "to"]);
    for (row, id) in rows.iter().zip(told.clone()) {
        let expected = json!({"id": format!("{event_id}~{id}"), "event_id": event_id, "kind": "presentation",
            "status": "pending", "lane": format!("r:{uid}:{id}"), "version": 2, "place": 0, "sink": format!("t1\n{id}"),
            "target": id, "machine": "task", "entity": "a", "subscription": id, "counts": [0, 0, 0, 0, 0],
            "due": START + 30, "created": START + 30, "finished": null});
        assert_eq!(*row, expected);
    }
}

#[test]
fn s0_32_to_s0_38_an_event_tells_the_move_and_who_made_it_but_not_the_data() {
    let mut lab = Lab::new();
    lab.subscribe("s", ANY, true);
    lab.create("a");
    let effects = |lab: &Lab| lab.rows("SELECT effect FROM outbox ORDER BY version");
    lab.at(40);
    let first = lab
        .call(
            Op::Move,
            &with(moved("a", "open", "shut", 1), "data", json!("secret")),
        )
        .event_id();
    lab.origin.run = Some("run \"7\"\n\u{1}".to_owned());
    let second = lab.call(Op::Move, &moved("a", "shut", "open", 2)).event_id();
    let cause = json!({"source": "api", "stack": "POST /api/state/transition", "trace": "ray-1"});
    let event = |from: &str, to: &str, version: u64, id: &str, cause: &Value| {
        json!({"kind": "presentation", "type": "record.transition", "machine": "task", "id": "a", "from": from, "to": to,
            "version": version, "event_id": id, "cause": cause, "committed_at": START + 40})
    };
    let with_run = with(cause.clone(), "run", json!("run \"7\"\n\u{1}"));
    assert_eq!(
        effects(&lab),
        [
            event("open", "shut", 2, &first, &cause),
            event("shut", "open", 3, &second, &with_run)
        ]
    );
}

#[test]
fn s0_35_event_ids_sort_by_time_and_are_of_one_shape() {
    let lab = Lab::new();
    lab.create("a");
    let mut ids = Vec::new();
    for version in 1..20 {
        lab.at(i64::try_from(version).unwrap() * 1000);
        ids.push(lab.bump("a", version).event_id());
    }
    assert!(ids.is_sorted(), "{ids:?}");
    for id in &ids {
        let (prefix, number) = id.split_once('.').unwrap();
        assert_eq!((prefix.len(), number), (25, "0"), "{id}");
    }
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

#[test]
fn s0_42_s0_46_who_sends_claims_the_first_of_each_free_lane_and_the_rest_wait() {
    let mut lab = Lab::new();
    lab.sends = true;
    lab.settings.stale_after_ms = 70_000;
    lab.subscribe("s", ANY, true);
    lab.subscribe("t", [None, None, Some("shut")], true);
    lab.create("a");
    lab.create("b");
    lab.at(100);
    lab.bump("a", 1);
    lab.call(Op::Move, &moved("a", "open", "shut", 2)).event_id();
    lab.bump("b", 1);
    let rows = lab.rows(
        "SELECT json_array(entity_id, version, subscription, json_array(attempt, tries, claim, claimed, held), due_at) \
         FROM outbox ORDER BY entity_id, version, subscription",
    );
    let (claimed, due) = (json!([1, 1, 1, 1, 0]), START + 100 + 70_000);
    assert_eq!(
        rows,
        [
            json!(["a", 2, "s", claimed, due]),
            json!(["a", 3, "s", [0, 0, 0, 0, 0], null]),
            json!(["a", 3, "t", claimed, due]),
            json!(["b", 2, "s", claimed, due]),
        ]
    );
    // What ends the first lets the second go (S0.46, R22).
    for status in ["done", "dead", "skipped"] {
        lab.sqlite.execute("SAVEPOINT s");
        lab.sqlite.execute(&format!(
            "UPDATE outbox SET status = '{status}', due_at = NULL, claimed = 0, finished_at = 5 \
             WHERE entity_id = 'a' AND version = 2"
        ));
        let due = lab.rows("SELECT json_array(due_at) FROM outbox WHERE entity_id = 'a' AND version = 3 AND subscription = 's'");
        assert_eq!(due, [json!([5])], "{status}");
        lab.sqlite.execute("ROLLBACK TO s");
    }
}

#[test]
fn s0_32_to_s0_42_what_is_committed_is_presented_at_once_though_its_answer_was_lost() {
    for faults in [
        vec![],
        vec![(0, Fault::After)],
        vec![(0, Fault::After), (1, Fault::After)],
    ] {
        let mut lab = Lab::new();
        lab.sends = true;
        lab.subscribe("s", ANY, true);
        lab.create("a");
        lab.at(100);
        lab.faulty.arm(faults);
        let engine = lab.engine();
        let body = moved("a", "open", "shut", 1).to_string();
        let told = run(&engine, Op::Move, &t1(), body.as_bytes());
        assert!(engine.has_claimed());
        lab.at(250);
        let delivered = block_on(engine.deliver_claimed());
        assert_eq!(delivered.done, 1, "{delivered:?}");
        let sent = lab.sent.borrow();
        assert_eq!(sent.len(), 1);
        let document: Value = serde_json::from_str(sent[0].body.as_ref().unwrap()).unwrap();
        let cause = json!({"source": "api", "stack": "POST /api/state/transition", "trace": "ray-1"});
        assert_eq!(document["type"], "record.transition");
        assert_eq!(
            document["data"],
            json!({"machine": "task", "id": "a", "from": "open", "to": "shut", "version": 2, "event_id": told.event_id(),
                "attempt": 1, "cause": cause, "committed_at": "2023-11-14T22:13:20.100Z",
                "fired_at": "2023-11-14T22:13:20.250Z", "tenant": "t1", "node": "statewright"})
        );
        assert_eq!(
            lab.rows("SELECT json_array(status) FROM outbox"),
            [json!(["done"])]
        );
    }
}

#[test]
fn s0_42_what_is_refused_or_concerns_nobody_or_waits_is_not_claimed() {
    let mut lab = Lab::new();
    lab.sends = true;
    lab.create("a");
    let claims = |lab: &Lab, version: u64| {
        let engine = lab.engine();
        let body = moved("a", "open", "open", version).to_string();
        run(&engine, Op::Move, &t1(), body.as_bytes());
        engine.has_claimed()
    };
    assert!(!claims(&lab, 1), "it concerns nobody");
    lab.subscribe("s", ANY, true);
    assert!(!claims(&lab, 1), "it is refused");
    assert!(claims(&lab, 2));
    assert!(!claims(&lab, 3), "it waits for the one before");
    lab.sends = false;
    lab.create("b");
    let engine = lab.engine();
    let body = moved("b", "open", "open", 1).to_string();
    run(&engine, Op::Move, &t1(), body.as_bytes());
    assert!(!engine.has_claimed(), "this process sends nothing");
}

#[test]
fn s0_50_events_of_a_suspended_subscription_are_held_in_their_order() {
    for sends in [false, true] {
        let mut lab = Lab::new();
        lab.sends = sends;
        lab.subscribe("s", ANY, false);
        lab.create("a");
        lab.bump("a", 1);
        lab.bump("a", 2);
        let rows = lab.rows(
            "SELECT json_array(version, status, held, claimed, attempt, due_at) FROM outbox ORDER BY version",
        );
        // The second waits for the first, as in any lane; it is the first that is held.
        assert_eq!(
            rows,
            [
                json!([2, "pending", 1, 0, 0, null]),
                json!([3, "pending", 0, 0, 0, null])
            ]
        );
    }
}

#[test]
fn s0_16_s0_30_an_operation_is_one_batch() {
    let lab = Lab::new();
    lab.subscribe("s", ANY, true);
    lab.sqlite.taken();
    lab.create("a");
    lab.bump("a", 1);
    lab.bump("a", 1);
    lab.bump("b", 1);
    lab.create("a");
    lab.call(Op::Get, &named("a"));
    let sizes: Vec<_> = lab.sqlite.taken().iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 5, 5, 5, 2, 1]);
    lab.keyed("k", Op::Create, &creation("b"));
    lab.keyed("l", Op::Move, &moved("b", "open", "open", 1));
    let sizes: Vec<_> = lab.sqlite.taken().iter().map(Vec::len).collect();
    assert_eq!(sizes, [5, 8]);
}

/// The plan of a statement, line by line.
fn plan(lab: &Lab, sql: &str) -> Vec<String> {
    let connection = lab.sqlite.connection.borrow();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    statement
        .raw_query()
        .mapped(|row| row.get(3))
        .map(Result::unwrap)
        .collect()
}

#[test]
fn no_statement_of_records_scans_a_table() {
    let mut lab = Lab::new();
    lab.sends = true;
    lab.subscribe("s", ANY, true);
    lab.sqlite.taken();
    lab.keyed("k", Op::Create, &creation("a"));
    lab.keyed("l", Op::Move, &moved("a", "open", "open", 1));
    lab.call(Op::Get, &named("a"));
    let statements: BTreeSet<_> = lab.sqlite.taken().into_iter().flatten().collect();
    assert_eq!(statements.len(), 9);
    let least = [
        ("records", "USING PRIMARY KEY (tenant=? AND machine=? AND id=?)"),
        ("subscriptions", "USING PRIMARY KEY (tenant=?)"),
        ("inbox", "USING PRIMARY KEY (tenant=? AND key=? AND scope=?"),
    ];
    for sql in statements {
        for line in plan(&lab, sql) {
            let Some((kind, rest)) = line.split_once(' ') else {
                continue;
            };
            match kind {
                "SCAN" => assert!(rest == "told" || rest == "t", "{sql}\n{line}"),
                "SEARCH" => {
                    let (name, how) = rest.split_once(' ').unwrap();
                    let table = match name {
                        "r" => "records",
                        "s" => "subscriptions",
                        "k" => "inbox",
                        other => other,
                    };
                    let known = least.iter().find(|(of, _)| *of == table);
                    let fits = match known {
                        Some((_, least)) => how.starts_with(least),
                        None => {
                            how.contains("PRIMARY KEY (tenant=? AND id>? AND id<?)")
                                || how.contains("INDEX outbox_lanes (tenant=? AND lane=?)")
                        }
                    };
                    assert!(fits, "{sql}\n{line}");
                }
                _ => assert!(
                    !line.contains("AUTOMATIC") && !line.contains("TEMP B-TREE"),
                    "{sql}\n{line}"
                ),
            }
        }
    }
}

#[test]
fn s0_46_the_work_of_a_transition_does_not_grow_with_what_waits() {
    let lab = Lab::new();
    lab.subscribe("s", ANY, true);
    lab.create("a");
    let steps = |version: u64| lab.sqlite.steps_of(|| drop(lab.bump("a", version).event_id()));
    steps(1);
    let few = steps(2);
    for version in 3..500 {
        lab.bump("a", version);
    }
    let many = steps(500);
    assert!(many < few + 50, "{few} steps with 1 that waits, {many} with 498");
}

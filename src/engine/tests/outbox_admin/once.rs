//! One request, one change: keys, faults, rivals; and how rows are found.

use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::{DefinitionCache, Engine};

use crate::admin::{
    Row, all_kinds, assert_lanes, assert_searches, cancel, cancel_all, code, dump, faults, keyed, list,
    plans, redrive, redrive_all, stored,
};
use crate::support::faults::Fault;
use crate::support::world::{World, WorldEngine, t1};
use crate::support::{Counted, START, block_on};

/// A change as one request, on a world of its own.
struct Change {
    name: &'static str,
    scope: String,
    body: &'static str,
    run: fn(&WorldEngine) -> (u16, Value, bool),
}

const DEAD: (&str, i64) = ("d", 5);

fn dead() -> String {
    Row::due(DEAD.0, DEAD.1, "", 1).id()
}

fn claimed() -> String {
    Row::due("c", 25, "", 1).id()
}

fn changes() -> [Change; 5] {
    [
        Change {
            name: "redrive",
            scope: format!("POST /api/outbox/{}/redrive", dead()),
            body: "",
            run: |engine| redrive(engine, &dead()),
        },
        Change {
            name: "redrive what waits",
            scope: format!("POST /api/outbox/{}/redrive", Row::due("w", 30, "", 1).id()),
            body: "",
            run: |engine| redrive(engine, &Row::due("w", 30, "", 1).id()),
        },
        Change {
            name: "cancel",
            scope: format!("POST /api/outbox/{}/cancel", claimed()),
            body: "",
            run: |engine| cancel(engine, &claimed()),
        },
        Change {
            name: "redrive all",
            scope: "POST /api/outbox/redrive".to_owned(),
            body: "{}",
            run: |engine| redrive_all(engine, &json!({})),
        },
        Change {
            name: "cancel all",
            scope: "POST /api/outbox/cancel".to_owned(),
            body: "{}",
            run: |engine| cancel_all(engine, &json!({})),
        },
    ]
}

fn engine(world: &World, change: &Change, key: Option<&str>) -> WorldEngine {
    match key {
        Some(key) => keyed(world, key, &change.scope, change.body, 200, 7),
        None => Engine::new(
            world.faulty.clone(),
            world.clock.clone(),
            Counted::from(7),
            DefinitionCache::default(),
        ),
    }
}

#[test]
fn s4_91_a_change_with_a_key_happens_once_and_is_answered_again() {
    for change in changes() {
        let world = all_kinds();
        let first = (change.run)(&engine(&world, &change, Some("k")));
        assert!(first.0 == 200 && !first.2, "{}: {first:?}", change.name);
        let after = dump(&world);
        world.at(200);
        let second = (change.run)(&engine(&world, &change, Some("k")));
        assert_eq!(
            (second.0, &second.1, second.2),
            (200, &first.1, true),
            "{}",
            change.name
        );
        assert_eq!(dump(&world), after, "{}", change.name);
    }
}

#[test]
fn i3_a_fault_at_any_write_leaves_all_or_nothing_and_the_answer_says_which() {
    for change in changes() {
        for key in [None, Some("k")] {
            let calm = all_kinds();
            let expected = (change.run)(&engine(&calm, &change, key));
            let stored = dump(&calm);
            for (name, fault) in faults() {
                let world = all_kinds();
                world.faulty.arm([(1, fault)]);
                let answer = (change.run)(&engine(&world, &change, key));
                assert!(world.faulty.struck());
                let what = format!("{} {name} {key:?}", change.name);
                assert_eq!((answer.0, &answer.1), (expected.0, &expected.1), "{what}");
                assert_eq!(dump(&world), stored, "{what}");
                world.faulty.land();
                assert_eq!(dump(&world), stored, "{what}: a stray");
            }
            // A write that never gets through changes nothing, and is told as failed.
            let world = all_kinds();
            let before = dump(&world);
            world.faulty.arm((1..400).map(|batch| (batch, Fault::Before)));
            world.at(100);
            assert!((change.run)(&engine(&world, &change, key)).0 >= 500);
            assert_eq!(dump(&world), before);
        }
    }
}

#[test]
fn s4_95_of_two_that_race_with_one_key_one_is_applied() {
    for change in changes() {
        let world = all_kinds();
        let twin = Rc::downgrade(&world);
        let (scope, run, body) = (change.scope.clone(), change.run, change.body);
        let first = move || {
            let world = twin.upgrade().unwrap();
            let (status, _, replayed) = run(&keyed(&world, "k", &scope, body, 200, 8));
            assert!(status == 200 && !replayed);
        };
        world.faulty.arm([(1, Fault::Meanwhile(Rc::new(first)))]);
        let (status, _, replayed) = (change.run)(&engine(&world, &change, Some("k")));
        assert!(status == 200 && replayed, "{}", change.name);
        assert_eq!(world.sqlite.count("inbox"), 1);
    }
}

#[test]
fn what_a_delivery_does_between_read_and_write_comes_first() {
    let deliver = |world: &Rc<World>, sql: String| {
        let world = Rc::downgrade(world);
        Fault::Meanwhile(Rc::new(move || {
            world.upgrade().unwrap().sqlite.execute(&sql);
        }))
    };
    let done = |id: &str| {
        format!(
            "UPDATE outbox SET status = 'done', finished_at = {START}, due_at = NULL, claimed = 0 WHERE id = '{id}'"
        )
    };
    // It was accepted: it is neither cancelled nor redriven.
    let world = all_kinds();
    world.faulty.arm([(1, deliver(&world, done(&claimed())))]);
    assert_eq!(
        code(&cancel(&world.engine, &claimed())),
        (409, json!("OUTBOX_STATUS"))
    );
    assert_eq!(stored(&world, &claimed())["status"], json!("done"));
    let world = all_kinds();
    world.faulty.arm([(1, deliver(&world, done(&dead())))]);
    assert_eq!(
        code(&redrive(&world.engine, &dead())),
        (409, json!("OUTBOX_STATUS"))
    );
    // It was claimed: it is cancelled all the same, and may have been delivered.
    let world = all_kinds();
    let due = Row::due("u", 35, "", 1).id();
    let claim = format!(
        "UPDATE outbox SET claimed = 1, claim = 1, attempt = 1, due_at = {} WHERE id = '{due}'",
        START + 900
    );
    world.faulty.arm([(1, deliver(&world, claim.clone()))]);
    let (status, item, _) = cancel(&world.engine, &due);
    assert_eq!(
        (status, &item["was"], &item["may_be_delivered"]),
        (200, &json!("claimed"), &json!(true))
    );
    // Of many, those that are still what they were.
    for key in [None, Some("k")] {
        let world = all_kinds();
        world.faulty.arm([(1, deliver(&world, done(&claimed())))]);
        let change = &changes()[4];
        let mut cancelled = 0;
        let (status, told, _) = (change.run)(&engine(&world, change, key));
        cancelled += told["cancelled"].as_i64().unwrap();
        if told["more"] == json!(true) {
            cancelled += cancel_all(&world.engine, &json!({})).1["cancelled"]
                .as_i64()
                .unwrap();
        }
        assert_eq!((status, cancelled), (200, 5));
        assert_eq!(world.sqlite.count("outbox WHERE status = 'cancelled'"), 6);
        assert_lanes(&world);
    }
}

#[test]
fn no_statement_on_the_outbox_scans_a_table() {
    let world = all_kinds();
    world.sqlite.taken();
    for change in changes() {
        (change.run)(&world.engine);
    }
    // A change of many that is in doubt looks at what it was to change.
    world.faulty.arm([(1, Fault::After)]);
    redrive_all(&world.engine, &json!({"status": "cancelled"}));
    assert!(world.faulty.struck());
    for status in ["", "status=done", "status=dead", "status=pending"] {
        list(&world, status);
    }
    block_on(world.engine.get_outbox(&t1(), &dead())).unwrap();
    block_on(world.engine.upkeep()).unwrap();
    let plans = plans(&world);
    assert_searches(
        &plans,
        // The newest rows of a tenant, as many as are counted.
        &["SEARCH outbox USING PRIMARY KEY (tenant=?)"],
    );
    for (part, step) in [
        (
            "AS hit FROM outbox q WHERE q.tenant = ?1 AND q.id < ?2",
            "SEARCH q USING PRIMARY KEY (tenant=? AND id>? AND id<?)",
        ),
        (
            "INDEXED BY outbox_closed WHERE q.tenant",
            "SEARCH q USING INDEX outbox_closed (tenant=? AND status=? AND id>? AND id<?)",
        ),
        (
            "ORDER BY q.id LIMIT ?4",
            "SEARCH q USING INDEX outbox_lanes (tenant=?)",
        ),
        (
            "(ORDER BY q.id) AS n",
            "SEARCH q USING PRIMARY KEY (tenant=? AND id>? AND id<?)",
        ),
        (
            "SELECT (SELECT n.id FROM outbox n",
            "SEARCH n USING COVERING INDEX outbox_lanes (tenant=? AND lane=?)",
        ),
    ] {
        let found: Vec<_> = plans.iter().filter(|(sql, _)| sql.contains(part)).collect();
        assert!(!found.is_empty(), "{part}");
        for (sql, plan) in found {
            assert!(plan.iter().any(|line| line.starts_with(step)), "{sql}\n{plan:?}");
        }
    }
}

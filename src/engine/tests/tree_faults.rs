//! Every operation on a tree with a fault at each of its batches: it stands whole or not at all, and its answer says
//! which (I1, I3; design 3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};
use support::block_on;
use support::families::{DEEPEST, at_level, batch, chain, event, make, path, register_all, send, targeted};
use support::faults::{Fault, writes};
use support::scenes::{self, Kind, Scene, Undo, in_turn, settled};
use support::world::{World, assert_same, evaluate};

fn faults_at(place: usize, is_write: bool) -> Vec<Vec<(usize, Fault)>> {
    let mut all: Vec<_> = [Fault::Before, Fault::After, Fault::Late, Fault::Stray]
        .into_iter()
        .map(|fault| vec![(place, fault)])
        .collect();
    if is_write {
        all.extend([
            vec![(place, Fault::After), (place + 1, Fault::Before)],
            vec![(place, Fault::Before), (place + 2, Fault::After)],
            vec![
                (place, Fault::Late),
                (place + 1, Fault::Before),
                (place + 2, Fault::Before),
            ],
            vec![
                (place, Fault::Stray),
                (place + 2, Fault::Late),
                (place + 4, Fault::After),
            ],
        ]);
    }
    all
}

/// Each operation of a scene with each fault at each of its batches. Says how many cases there were.
fn disturb(scene: &Scene) -> usize {
    let mut checked = 0;
    let world = World::new();
    (scene.before)(&world);
    let before = world.stored();
    for op in &scene.ops {
        let (answer, after) = in_turn(&world, &[op]);
        let undo = Undo::begin(&world);
        world.sqlite.taken();
        (op.run)(&world.engine);
        let batches = world.sqlite.taken();
        drop(undo);
        for (place, batch) in batches.iter().enumerate() {
            for (case, faults) in faults_at(place, writes(batch)).into_iter().enumerate() {
                let what = format!("{}: {}, batch {place}, case {case}", scene.name, op.name);
                let undo = Undo::begin(&world);
                world.faulty.arm(faults);
                let reply = (op.run)(&world.engine);
                world.faulty.land();
                let stored = settled(&world, op.kind == Kind::Pass);
                checked += 1;
                if op.kind == Kind::Pass {
                    assert!(
                        reply.0 == 200 || reply.1["error"]["retry"] == true,
                        "{what}: {}",
                        reply.1
                    );
                    assert_same(&stored, &after, &what);
                } else if unreached(&reply.1) {
                    // A read failed, and no write's end is unknown: nothing was written but an adoption, which is a
                    // commit of its own. The caller's retry is applied, once.
                    assert_same(&without_places(&stored), &without_places(&before), &what);
                    world.faulty.arm([]);
                    assert_eq!((op.run)(&world.engine), answer, "{what}, sent again");
                    assert_same(&world.stored(), &after, &what);
                } else {
                    assert_eq!(reply, answer, "{what}");
                    assert_same(&stored, &after, &what);
                }
                if op.kind == Kind::Event && reply.0 == 200 && moved(&reply.1) {
                    let (status, again) = (op.run)(&world.engine);
                    let told = again["error"]["code"] == "INSTANCE_NOT_ACTIVE"
                        || again["reason"] == "duplicate event (already processed)";
                    assert!(told, "{what}: {status} {again}");
                    assert_same(&world.stored(), &after, &what);
                }
                drop(undo);
            }
        }
    }
    assert_same(&world.stored(), &before, scene.name);
    checked
}

/// What is stored, but for where children hang.
fn without_places(stored: &str) -> String {
    let lines = stored.lines().filter(|line| !line.starts_with("instances:"));
    lines.collect::<Vec<_>>().join("\n")
}

macro_rules! scene_tests {
    ($($name:ident: $scene:ident, $least:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let checked = disturb(&scenes::$scene());
                assert!(checked >= $least, "{checked}");
            }
        )*
    };
}

scene_tests! {
    i1_i3_a_fault_at_any_batch_of_a_deep_tree: deep, 100;
    i1_i3_a_fault_at_any_batch_where_a_timer_is_due: due, 50;
    i1_i3_a_fault_at_any_batch_of_what_sleeps: asleep, 40;
    i1_i3_a_fault_at_any_batch_of_a_later_generation: fresh, 20;
    i1_i3_a_fault_at_any_batch_of_siblings_that_join: siblings, 40;
    i1_i3_a_fault_at_any_batch_that_makes_a_legacy_child: legacy, 60;
    i1_i3_a_fault_at_any_batch_that_hands_an_event_on: handed_on, 50;
    i1_i3_a_fault_at_any_batch_of_an_adoption: adopted, 50;
    i1_i3_a_fault_at_any_batch_of_a_recovery: recovered, 20;
}

/// Whether an answer says that the database was not reached, and that it may be tried again.
fn unreached(answer: &Value) -> bool {
    let text = answer.to_string();
    answer["error"]["retry"] == true || text.contains("INTERNAL_ERROR: the database failed")
}

/// Whether an answer says that its event was applied.
fn moved(answer: &Value) -> bool {
    answer["transition"].is_string() || answer.get("sub_machine").is_some()
}

/// The tables that a batch writes, each with what it does to it.
fn written_by(batch: &[&str]) -> BTreeSet<(&'static str, &'static str)> {
    let mut found = BTreeSet::new();
    for sql in batch {
        for table in ["entities", "entries", "history", "instances", "forwards", "held"] {
            for (start, verb) in [
                ("INSERT INTO ", "INSERT"),
                ("UPDATE ", "UPDATE"),
                ("DELETE FROM ", "DELETE"),
            ] {
                if sql.contains(&format!("{start}{table} ")) {
                    found.insert((table, verb));
                    if sql.contains("DO UPDATE") {
                        found.insert((table, "UPDATE"));
                    }
                }
            }
        }
    }
    found
}

type Run = fn(&World, &Value) -> Value;

/// A statement that fails at its first row, or at a later one: the batch leaves nothing, and the next try all of it.
#[test]
fn i3_a_failure_within_any_statement_of_a_cascade_leaves_nothing() {
    let leaf = at_level("e", DEEPEST);
    let finish = targeted("e", "finish", Some(7), path(DEEPEST));
    let single: Run = |world, body| evaluate(&world.engine, "l0", body).1;
    let many: Run = |world, body| batch(&world.engine, "l0", std::slice::from_ref(body));
    let pass: Run = |world, _| {
        world.at(15_000);
        let report = block_on(world.engine.tick()).unwrap();
        json!([report.fired, report.failed, report.stale])
    };
    let mut struck = 0;
    // Which batch follows the one that writes.
    for (name, run, next) in [("an event", single, 2), ("a batch", many, 2), ("a pass", pass, 3)] {
        let world = World::new();
        register_all(&world.other, &chain(DEEPEST, "fresh"));
        make(&world.other, "l0", "e");
        send(&world.other, "leaf", &event(&leaf, "step", Some(1)));
        let before = world.stored();
        let undo = Undo::begin(&world);
        world.sqlite.taken();
        let answer = run(&world, &finish);
        let batches = world.sqlite.taken();
        let after = world.stored();
        assert!(after.contains("$sub_complete"), "{name}");
        drop(undo);
        for (table, verb) in written_by(&batches[next - 1]) {
            for nth in [0, 5] {
                let what = format!("{name}: {verb} of {table}, after {nth}");
                let undo = Undo::begin(&world);
                for sql in [
                    "CREATE TEMP TABLE hits (n)".to_owned(),
                    format!(
                        "CREATE TEMP TRIGGER fault BEFORE {verb} ON main.{table} WHEN (SELECT count(*) FROM hits) >= {nth} \
                         BEGIN SELECT RAISE(ABORT, 'struck'); END"
                    ),
                    format!(
                        "CREATE TEMP TRIGGER counting BEFORE {verb} ON main.{table} BEGIN INSERT INTO hits VALUES (1); END"
                    ),
                ] {
                    world.sqlite.execute(&sql);
                }
                let mend = |world: &World| {
                    for sql in ["DROP TRIGGER fault", "DROP TRIGGER counting", "DROP TABLE hits"] {
                        world.sqlite.execute(sql);
                    }
                };
                let found = Rc::new(RefCell::new(None));
                let (there, seen) = (Rc::clone(&world), Rc::clone(&found));
                world.faulty.arm([(
                    next,
                    Fault::Meanwhile(Rc::new(move || {
                        *seen.borrow_mut() = Some(there.stored());
                        mend(&there);
                    })),
                )]);
                let told = run(&world, &finish);
                let found = found.borrow_mut().take();
                if let Some(found) = found.filter(|found| *found != after) {
                    struck += 1;
                    assert_same(&found, &before, &what);
                } else {
                    // One statement says which trees hold, in one row.
                    assert!(
                        nth > 0 || (table, verb) == ("held", "UPDATE"),
                        "{what}: it was not struck"
                    );
                }
                assert_eq!(told, answer, "{what}");
                assert_same(&world.stored(), &after, &what);
                drop(undo);
            }
        }
        assert_same(&world.stored(), &before, name);
    }
    assert!(struck > 20, "{struck}");
}

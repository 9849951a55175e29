//! Two writers that want the same tree at the same time: one comes first, the other decides anew on what that one left,
//! and each is applied once (I1, I2, I6, M13, R17).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use support::families::{batch, event, register_all, send, shop, view};
use support::faults::{Fault, writes};
use support::scenes::{self, Kind, Op, Scene, Undo, in_turn, settled};
use support::world::{Reply, World, assert_same, delete, evaluate};

fn meanwhile(world: &Rc<World>, rival: Op) -> Fault {
    let world = Rc::clone(world);
    Fault::Meanwhile(Rc::new(move || drop((rival.run)(&world.other))))
}

/// The number of a history row depends on whoever wrote one before.
fn told(reply: &Reply) -> (u16, &Value) {
    (reply.0, &reply.1)
}

/// Each operation with each other in its way: before its write, and between a write whose answer was lost and the next
/// try.
fn race(scene: &Scene, only: &[&str]) -> usize {
    let world = World::new();
    (scene.before)(&world);
    let before = world.stored();
    let chosen = |op: &&Op| only.is_empty() || only.contains(&op.name);
    let ops: Vec<&Op> = scene.ops.iter().filter(chosen).collect();
    let mut ends: BTreeMap<(&str, &str), (Reply, String)> = BTreeMap::new();
    for first in &ops {
        for last in &ops {
            ends.insert((first.name, last.name), in_turn(&world, &[first, last]));
        }
    }
    let mut checked = 0;
    for op in &ops {
        let undo = Undo::begin(&world);
        world.sqlite.taken();
        let alone = (op.run)(&world.engine);
        let batches = world.sqlite.taken();
        drop(undo);
        let write = batches.iter().position(|batch| writes(batch));
        let Some(write) = write else { continue };
        for rival in &ops {
            let pass = [op.kind, rival.kind].contains(&Kind::Pass);
            let what = format!("{}: {} in the way of {}", scene.name, rival.name, op.name);
            let undo = Undo::begin(&world);
            let first = if op.kind == Kind::Pass {
                write.min(2)
            } else {
                write
            };
            world.faulty.arm([(first, meanwhile(&world, **rival))]);
            let reply = (op.run)(&world.engine);
            assert!(world.faulty.struck(), "{what}");
            let stored = settled(&world, pass);
            drop(undo);
            let (answer, end) = &ends[&(rival.name, op.name)];
            checked += 1;
            if rival.kind == Kind::Erases {
                // What was there at first and is not any more does not come back (R17).
                let (_, erased) = in_turn(&world, &[rival]);
                let gone = reply.0 >= 400 || op.kind != Kind::Event;
                assert!(
                    (stored == erased && gone) || stored == *end,
                    "{what}: {}\n{stored}",
                    reply.1
                );
            } else {
                let unrelated = &ends[&(op.name, rival.name)].1;
                let is_pass = op.kind == Kind::Pass;
                let last = stored == *end && (is_pass || told(&reply) == told(answer));
                // Where neither wrote what the other had read, they may be told in either order.
                let first = stored == *unrelated && (is_pass || told(&reply) == told(&alone));
                if !last && !first {
                    assert_same(&stored, end, &what);
                    assert_eq!(told(&reply), told(answer), "{what}");
                }
            }
            if op.kind == Kind::Pass {
                continue;
            }
            let what = format!(
                "{}: {} after the lost answer of {}",
                scene.name, rival.name, op.name
            );
            // An adoption comes before; what it found out, it found out by a write that was refused.
            let last = batches.iter().rposition(|batch| writes(batch)).unwrap();
            let undo = Undo::begin(&world);
            world
                .faulty
                .arm([(last, Fault::After), (last + 1, meanwhile(&world, **rival))]);
            let reply = (op.run)(&world.engine);
            let stored = settled(&world, pass);
            drop(undo);
            let (_, end) = &ends[&(op.name, rival.name)];
            checked += 1;
            if rival.kind == Kind::Erases || anew(op) {
                let (_, again) = in_turn(&world, &[op, rival, op]);
                assert!(stored == *end || stored == again, "{what}: {}\n{stored}", reply.1);
            } else {
                // What was made is shown as it is by now; an event that moved nobody is decided anew, in a batch too.
                if ["creation", "a creation of the child", "a batch"].contains(&op.name) {
                    assert_eq!(reply.0, alone.0, "{what}: {}", reply.1);
                } else {
                    assert_eq!(told(&reply), told(&alone), "{what}");
                }
                assert_same(&stored, end, &what);
            }
        }
    }
    assert_same(&world.stored(), &before, scene.name);
    checked
}

/// An event that moves nobody leaves no row that says that it was there: it is decided anew.
fn anew(op: &Op) -> bool {
    [
        "one that it does not take",
        "nothing",
        "nothing at the root",
        "an event refused",
        "one that nobody takes then",
    ]
    .contains(&op.name)
}

macro_rules! scene_tests {
    ($($name:ident: $scene:ident, $only:expr, $least:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let checked = race(&scenes::$scene(), $only);
                assert!(checked >= $least, "{checked}");
            }
        )*
    };
}

scene_tests! {
    an_end_against_a_cancel_or_a_deletion: deep,
        &["the leaf's end", "the root leaves", "level 4 leaves", "deletion", "a new head of the leaf"], 30;
    a_batch_against_single_events: deep, &["a batch", "the leaf's end, sent to it", "creation by an event", "a note of the leaf"], 20;
    a_timer_against_events: due, &[], 50;
    two_that_wake_it: asleep, &[], 20;
    two_later_generations: fresh, &[], 10;
    two_ends_of_siblings_that_join: siblings, &[], 40;
    two_that_make_the_same_legacy_child: legacy, &[], 60;
    two_that_end_a_legacy_child: handed_on, &[], 50;
    an_adoption_against_an_event_of_the_adopted: adopted, &[], 30;
    a_recovery_against_its_parent_s_events: recovered, &[], 10;
}

/// An event that makes a legacy child final, while its parent comes back into the child's state: either the parent goes
/// on with it, or the child was final before the parent came (R9).
#[test]
fn r9_the_end_of_a_legacy_child_against_its_parent_s_coming_back() {
    let again = event("e", "again", Some(4));
    let packed = event("e::sub::busy", "packed", Some(5));
    let ready = || {
        let world = World::new();
        register_all(&world.other, &shop());
        for (kind, at) in [("start", 1), ("picked", 2), ("drop", 3)] {
            send(&world.other, "shop", &event("e", kind, Some(at)));
        }
        world
    };
    let state = |world: &World| view(world, "shop", "e")["current_state"].clone();
    let outcome = |world: &World| {
        let first = state(world);
        let (status, _) = evaluate(&world.engine, "shop", &event("e", "none", Some(6)));
        (first, status, state(world))
    };
    let mut serial = Vec::new();
    for order in [["again", "packed"], ["packed", "again"]] {
        let world = ready();
        for kind in order {
            let (machine, body) = if kind == "again" {
                ("shop", &again)
            } else {
                ("flow", &packed)
            };
            send(&world.engine, machine, body);
        }
        serial.push(outcome(&world));
    }
    assert_eq!(serial[0], (json!("shipped"), 200, json!("shipped")));
    assert_eq!(serial[1], (json!("busy"), 409, json!("busy")));
    for (machine, body, other, rival) in [
        ("flow", &packed, "shop", &again),
        ("shop", &again, "flow", &packed),
    ] {
        let world = ready();
        let (there, rival) = (Rc::clone(&world), rival.clone());
        world.faulty.arm([(
            1,
            Fault::Meanwhile(Rc::new(move || {
                send(&there.other, other, &rival);
            })),
        )]);
        send(&world.engine, machine, body);
        assert!(world.faulty.struck());
        let found = outcome(&world);
        assert!(serial.contains(&found), "{body}: {found:?}");
    }
}

/// What a legacy child took is forgotten with it: sent again, it is taken by the next child, once.
#[test]
fn r17_an_event_that_a_deleted_legacy_child_took_is_taken_anew() {
    let world = World::new();
    register_all(&world.other, &shop());
    for (kind, at) in [("start", 1), ("picked", 2)] {
        send(&world.engine, "shop", &event("e", kind, Some(at)));
    }
    assert_eq!(delete(&world.engine, "flow", "e::sub::busy").0, 204);
    assert_eq!(world.sqlite.count("forwards"), 0, "it points at nothing");
    let picked = event("e", "picked", Some(2));
    let answer = send(&world.engine, "shop", &picked);
    assert_eq!(answer["sub_machine"]["transition"], "p → q", "{answer}");
    let answer = send(&world.engine, "shop", &picked);
    assert_eq!(
        answer["reason"], "duplicate event (already processed)",
        "{answer}"
    );
    let answer = batch(&world.other, "shop", std::slice::from_ref(&picked));
    assert_eq!(
        answer["results"][0]["result"]["reason"],
        "duplicate event (already processed)"
    );
}

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

use serde_json::Value;
use support::faults::{Fault, writes};
use support::scenes::{self, Kind, Op, Scene, Undo, in_turn, settled};
use support::world::{Reply, World, assert_same};

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
            if rival.kind == Kind::Erases {
                let (_, anew) = in_turn(&world, &[op, rival, op]);
                assert!(stored == *end || stored == anew, "{what}: {}\n{stored}", reply.1);
            } else if anew(op) {
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

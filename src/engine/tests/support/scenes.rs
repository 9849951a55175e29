//! Trees, and operations that want the same of them at the same time.

use serde_json::{Value, json};

use super::block_on;
use super::families::{
    DEEPEST, at_level, batch, chain, event, leaf, make, path, register_all, send, shop, targeted,
};
use super::world::{Reply, World, WorldEngine, create, delete, evaluate, put, reply};

/// An operation on a tree.
#[derive(Clone, Copy)]
pub struct Op {
    pub name: &'static str,
    pub run: fn(&WorldEngine) -> Reply,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An event with a timestamp: sent again, it is a duplicate.
    Event,
    /// An event without one, and whatever else writes.
    Other,
    /// It takes entities away, with all that they remember.
    Erases,
    /// A pass of the scanner.
    Pass,
}

/// A tree, and what to do to it.
pub struct Scene {
    pub name: &'static str,
    pub before: fn(&World),
    pub ops: Vec<Op>,
}

fn op(name: &'static str, kind: Kind, run: fn(&WorldEngine) -> Reply) -> Op {
    Op { name, run, kind }
}

fn tick(engine: &WorldEngine) -> Reply {
    let report = block_on(engine.tick());
    reply(
        200,
        report.map(|report| json!([report.fired, report.parked, report.failed])),
    )
}

fn sent(engine: &WorldEngine, machine: &str, body: &Value) -> Reply {
    evaluate(engine, machine, body)
}

fn labelled(mut definition: Value) -> Value {
    definition["label"] = json!("labelled");
    definition
}

/// A chain as deep as can be, with an armed timer at its end.
fn a_chain(world: &World) {
    register_all(&world.other, &chain(DEEPEST, "resume"));
    make(&world.other, "l0", "e");
    send(&world.other, "l0", &targeted("e", "step", Some(1), path(DEEPEST)));
    world.at(5_000);
}

fn leaf_of_e() -> String {
    at_level("e", DEEPEST)
}

pub fn deep() -> Scene {
    use Kind::{Erases, Event, Other};
    Scene {
        name: "a chain",
        before: a_chain,
        ops: vec![
            op("the leaf's end", Event, |engine| {
                sent(engine, "l0", &targeted("e", "finish", Some(7), path(DEEPEST)))
            }),
            op("the leaf's end, sent to it", Other, |engine| {
                sent(engine, "leaf", &event(&leaf_of_e(), "finish", None))
            }),
            op("a note of the leaf", Event, |engine| {
                sent(engine, "l0", &targeted("e", "note", Some(8), path(DEEPEST)))
            }),
            op("the root leaves", Event, |engine| {
                sent(engine, "l0", &event("e", "drop", Some(9)))
            }),
            op("level 4 leaves", Other, |engine| {
                sent(engine, "l4", &event(&at_level("e", 4), "drop", None))
            }),
            op("creation", Other, |engine| make(engine, "l0", "f")),
            op("creation by an event", Event, |engine| {
                sent(engine, "l0", &event("f", "drop", Some(3)))
            }),
            op("deletion", Erases, |engine| delete(engine, "l0", "e")),
            op("a batch", Other, |engine| {
                let events = [
                    targeted("e", "note", Some(20), path(DEEPEST)),
                    targeted("e", "drop", Some(21), path(3)),
                    event("f", "none", Some(22)),
                    targeted("e", "again", Some(23), path(3)),
                    targeted("e", "finish", None, path(DEEPEST)),
                ];
                (200, batch(engine, "l0", &events))
            }),
            op("a new head of the leaf", Other, |engine| {
                put(engine, &labelled(leaf()), "follow")
            }),
        ],
    }
}

pub fn due() -> Scene {
    use Kind::{Event, Other, Pass};
    Scene {
        name: "a chain with a due timer",
        before: |world| {
            a_chain(world);
            world.at(15_000);
        },
        ops: vec![
            op("a pass", Pass, tick),
            op("nothing at the root", Other, |engine| {
                sent(engine, "l0", &event("e", "none", Some(4)))
            }),
            op("the root leaves", Event, |engine| {
                sent(engine, "l0", &event("e", "drop", Some(9)))
            }),
            op("the root comes back", Event, |engine| {
                sent(engine, "l0", &event("e", "again", Some(9)))
            }),
            op("an event refused", Other, |engine| {
                let mut body = event("e", "again", Some(4));
                body["expected_version"] = json!(99);
                sent(engine, "l0", &body)
            }),
            op("an event of a level that the timer ends", Other, |engine| {
                sent(engine, "l3", &event(&at_level("e", 3), "drop", Some(4)))
            }),
        ],
    }
}

pub fn asleep() -> Scene {
    use Kind::{Erases, Event, Other};
    Scene {
        name: "a chain asleep",
        before: |world| {
            a_chain(world);
            send(&world.other, "l0", &event("e", "drop", Some(2)));
        },
        ops: vec![
            op("it wakes", Event, |engine| {
                sent(engine, "l0", &event("e", "again", Some(11)))
            }),
            op("it wakes, without a timestamp", Other, |engine| {
                sent(engine, "l0", &event("e", "again", None))
            }),
            op("an event of what sleeps", Other, |engine| {
                sent(engine, "leaf", &event(&leaf_of_e(), "step", Some(12)))
            }),
            op("deletion", Erases, |engine| delete(engine, "l0", "e")),
            op("deletion of what sleeps", Erases, |engine| {
                delete(engine, "l1", &at_level("e", 1))
            }),
        ],
    }
}

pub fn fresh() -> Scene {
    use Kind::{Erases, Event};
    Scene {
        name: "a later generation",
        before: |world| {
            register_all(&world.other, &chain(2, "fresh"));
            make(&world.other, "l0", "e");
            send(&world.other, "l0", &targeted("e", "finish", Some(1), path(2)));
        },
        ops: vec![
            op("the root comes back", Event, |engine| {
                sent(engine, "l0", &event("e", "again", Some(11)))
            }),
            op("the same by another", Event, |engine| {
                sent(engine, "l0", &event("e", "again", Some(12)))
            }),
            op("deletion of the first", Erases, |engine| {
                delete(engine, "l1", "e::sub::busy")
            }),
        ],
    }
}

pub fn siblings() -> Scene {
    use Kind::{Erases, Event, Other};
    fn finish(engine: &WorldEngine, region: &str, state: &str, timestamp: i64) -> Reply {
        sent(
            engine,
            "pair",
            &targeted(
                "e",
                "finish",
                Some(timestamp),
                json!([{"region": region, "state": state}]),
            ),
        )
    }
    Scene {
        name: "siblings that join",
        before: |world| {
            let child = json!({"machine_id": "leaf", "lifecycle": "managed", "on_final": {"done": "end"}});
            let pair = json!({"machine_id": "pair", "regions": [
                    {"id": "r", "states": ["w1", "end"], "initial_state": "w1", "sub_machines": {"w1": child}},
                    {"id": "s", "states": ["w2", "end"], "initial_state": "w2", "sub_machines": {"w2": child}},
                    {"id": "z", "states": ["open", "shut"], "initial_state": "open", "sub_machines": {
                        "shut": {"machine_id": "leaf", "lifecycle": "managed"}}}],
                "transitions": [{"region": "z", "from": "open", "to": "open", "on": "note"}],
                "joins": [{"when": {"r": "end", "s": "end"}, "target_region": "z", "target_state": "shut"}]});
            register_all(&world.other, &[leaf(), pair]);
            make(&world.other, "pair", "e");
        },
        ops: vec![
            op("one ends", Event, |engine| finish(engine, "r", "w1", 5)),
            op("the other ends", Event, |engine| finish(engine, "s", "w2", 6)),
            op("a note of the root", Event, |engine| {
                sent(engine, "pair", &event("e", "note", Some(7)))
            }),
            op("both in a batch", Other, |engine| {
                let one = targeted("e", "finish", None, json!([{"region": "r", "state": "w1"}]));
                let other = targeted("e", "finish", Some(8), json!([{"region": "s", "state": "w2"}]));
                (200, batch(engine, "pair", &[one, other]))
            }),
            op("deletion", Erases, |engine| delete(engine, "pair", "e")),
        ],
    }
}

pub fn legacy() -> Scene {
    use Kind::{Erases, Event, Other};
    Scene {
        name: "a legacy child to be made",
        before: |world| {
            register_all(&world.other, &shop());
            send(&world.other, "shop", &event("e", "start", Some(1)));
        },
        ops: vec![
            op("an event that it takes", Event, |engine| {
                sent(engine, "shop", &event("e", "picked", Some(5)))
            }),
            op("another that it takes", Event, |engine| {
                sent(engine, "shop", &event("e", "note", Some(6)))
            }),
            op("one that it does not take", Other, |engine| {
                sent(engine, "shop", &event("e", "packed", Some(7)))
            }),
            op("the parent leaves", Event, |engine| {
                sent(engine, "shop", &event("e", "drop", Some(8)))
            }),
            op("a creation of the child", Other, |engine| {
                create(engine, "flow", "e::sub::busy")
            }),
            op("a batch", Other, |engine| {
                let events = [event("e", "picked", Some(9)), event("e", "packed", None)];
                (200, batch(engine, "shop", &events))
            }),
            op("deletion", Erases, |engine| delete(engine, "shop", "e")),
        ],
    }
}

pub fn handed_on() -> Scene {
    use Kind::{Erases, Event, Other, Pass};
    Scene {
        name: "a legacy child that is there",
        before: |world| {
            register_all(&world.other, &shop());
            send(&world.other, "shop", &event("e", "start", Some(1)));
            send(&world.other, "shop", &event("e", "picked", Some(2)));
            world.at(31_000);
        },
        ops: vec![
            op("its end", Event, |engine| {
                sent(engine, "shop", &event("e", "packed", Some(5)))
            }),
            op("the parent leaves", Event, |engine| {
                sent(engine, "shop", &event("e", "drop", Some(8)))
            }),
            op("its end, sent to it", Event, |engine| {
                sent(engine, "flow", &event("e::sub::busy", "packed", Some(6)))
            }),
            op("a pass", Pass, tick),
            op("nothing", Other, |engine| {
                sent(engine, "shop", &event("e", "none", None))
            }),
            op("deletion of the child", Erases, |engine| {
                delete(engine, "flow", "e::sub::busy")
            }),
        ],
    }
}

pub fn adopted() -> Scene {
    use Kind::{Erases, Event, Other};
    Scene {
        name: "a stranger at a legacy child's id",
        before: |world| {
            register_all(&world.other, &shop());
            send(&world.other, "shop", &event("e", "start", Some(1)));
            create(&world.other, "flow", "e::sub::busy");
        },
        ops: vec![
            op("an event that it takes", Event, |engine| {
                sent(engine, "shop", &event("e", "picked", Some(5)))
            }),
            op("the same of a batch", Other, |engine| {
                let events = [event("e", "picked", Some(9)), event("e", "packed", None)];
                (200, batch(engine, "shop", &events))
            }),
            op("an event of the stranger", Event, |engine| {
                sent(engine, "flow", &event("e::sub::busy", "picked", Some(6)))
            }),
            op("deletion of the stranger", Erases, |engine| {
                delete(engine, "flow", "e::sub::busy")
            }),
            op("deletion", Erases, |engine| delete(engine, "shop", "e")),
        ],
    }
}

pub fn recovered() -> Scene {
    use Kind::{Event, Other};
    Scene {
        name: "a stranger that is final",
        before: |world| {
            register_all(&world.other, &shop());
            send(&world.other, "shop", &event("e", "start", Some(1)));
            create(&world.other, "flow", "e::sub::busy");
            for kind in ["picked", "packed"] {
                send(&world.other, "flow", &event("e::sub::busy", kind, Some(2)));
            }
        },
        ops: vec![
            op("an event that the parent takes then", Event, |engine| {
                sent(engine, "shop", &event("e", "again", Some(5)))
            }),
            op("one that nobody takes then", Other, |engine| {
                sent(engine, "shop", &event("e", "note", Some(6)))
            }),
            op("the parent leaves", Event, |engine| {
                sent(engine, "shop", &event("e", "drop", Some(8)))
            }),
        ],
    }
}

/// Undoes what was done to a world since.
pub struct Undo<'a>(&'a World, i64);

impl<'a> Undo<'a> {
    pub fn begin(world: &'a World) -> Self {
        world.sqlite.execute("SAVEPOINT scene");
        Self(world, world.clock.now.get())
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        self.0.faulty.land();
        self.0.faulty.arm([]);
        self.0.sqlite.execute("ROLLBACK TO scene");
        self.0.sqlite.execute("RELEASE scene");
        self.0.clock.now.set(self.1);
        self.0.clock.waits.set(0);
    }
}

/// What is there after operations one after the other, and the last of their answers.
pub fn in_turn(world: &World, ops: &[&Op]) -> (Reply, String) {
    let undo = Undo::begin(world);
    let mut last = (0, Value::Null);
    let mut passes = false;
    for op in ops {
        last = (op.run)(&world.engine);
        passes |= op.kind == Kind::Pass;
    }
    let stored = settled(world, passes);
    drop(undo);
    (last, stored)
}

/// What is stored; where a pass was disturbed, after another.
pub fn settled(world: &World, passes: bool) -> String {
    if passes {
        world.faulty.arm([]);
        for _ in 0..2 {
            block_on(world.other.tick()).unwrap();
        }
    }
    world.stored()
}

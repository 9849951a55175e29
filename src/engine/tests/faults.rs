//! Every operation that writes, with a fault at each of its batches and with every other writer in its way.
//!
//! After each, the whole database and the answer are compared with what they must be: those of an undisturbed run, or
//! those of the other writer first and this one after it (design 3, I1, I2, I3; S2.128 to S2.133, S2.273).

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
use support::block_on;
use support::faults::{Fault, writes};
use support::world::{
    Reply, World, WorldEngine, assert_same, clocked, create, definition, delete, delete_machine, evaluate,
    jammed, order, put, register, reply, seed, t1, wider,
};

/// An operation to disturb.
struct Op {
    name: &'static str,
    machine: &'static str,
    /// Makes what is there before, and sets the clock.
    before: fn(&World),
    run: fn(&WorldEngine) -> Reply,
    /// What its status is when nothing disturbs it.
    status: u16,
}

impl Op {
    fn is_event(&self) -> bool {
        ["evaluate", "transition", "batch"]
            .iter()
            .any(|kind| self.name.starts_with(kind))
    }

    /// Whether the entity is there before.
    fn finds_entity(&self) -> bool {
        !self.name.contains("creat") && self.name != "delete machine"
    }
}

fn event(entity: &str, event: &str, more: &Value) -> Value {
    let mut body = json!({"event_type": event, "entity_key": "id", "params": {"id": entity, "n": 1}});
    let object = body.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    body
}

fn send(engine: &WorldEngine, machine: &str, entity: &str, kind: &str, more: &Value) -> Reply {
    evaluate(engine, machine, &event(entity, kind, more))
}

fn an_order(world: &World) {
    assert_eq!(register(&world.other, &order()).0, 201);
    assert_eq!(create(&world.other, "order", "e").0, 201);
    assert_eq!(world.event("order", "e", "note", Some(1)).0, 200);
}

fn only_a_machine(world: &World) {
    assert_eq!(register(&world.other, &order()).0, 201);
}

fn a_clocked(world: &World) {
    assert_eq!(register(&world.other, &clocked()).0, 201);
    assert_eq!(create(&world.other, "clocked", "e").0, 201);
    assert_eq!(create(&world.other, "clocked", "f").0, 201);
    world.at(25_000);
}

fn a_jammed(world: &World) {
    assert_eq!(register(&world.other, &jammed()).0, 201);
    assert_eq!(create(&world.other, "jammed", "e").0, 201);
    world.at(15_000);
}

fn a_parked(world: &World) {
    a_jammed(world);
    let report = block_on(world.other.tick()).unwrap();
    assert_eq!(report.parked, 1, "{report:?}");
}

fn ops() -> Vec<Op> {
    let mut ops = Vec::new();
    let mut op = |name, machine, status, before: fn(&World), run: fn(&WorldEngine) -> Reply| {
        ops.push(Op {
            name,
            machine,
            before,
            run,
            status,
        });
    };
    op("evaluate creating", "order", 200, only_a_machine, |engine| {
        send(engine, "order", "e", "pay", &json!({"timestamp": 7}))
    });
    op(
        "evaluate creating, without a timestamp",
        "order",
        200,
        only_a_machine,
        |engine| send(engine, "order", "e", "pay", &json!({})),
    );
    op(
        "evaluate creating, no transition",
        "order",
        200,
        only_a_machine,
        |engine| send(engine, "order", "e", "ship", &json!({"timestamp": 7})),
    );
    op("evaluate", "order", 200, an_order, |engine| {
        send(engine, "order", "e", "pay", &json!({"timestamp": 7}))
    });
    op("evaluate without a timestamp", "order", 200, an_order, |engine| {
        send(engine, "order", "e", "note", &json!({}))
    });
    op("evaluate, no transition", "order", 200, an_order, |engine| {
        send(engine, "order", "e", "ship", &json!({"timestamp": 7}))
    });
    op("evaluate after timeouts", "clocked", 200, a_clocked, |engine| {
        send(engine, "clocked", "e", "go", &json!({"timestamp": 7}))
    });
    op(
        "evaluate after timeouts, without a timestamp",
        "clocked",
        200,
        a_clocked,
        |engine| send(engine, "clocked", "e", "note", &json!({})),
    );
    op(
        "evaluate after timeouts, no transition",
        "clocked",
        200,
        a_clocked,
        |engine| send(engine, "clocked", "e", "back", &json!({"timestamp": 7})),
    );
    op(
        "evaluate after timeouts, refused",
        "clocked",
        409,
        a_clocked,
        |engine| {
            send(
                engine,
                "clocked",
                "e",
                "go",
                &json!({"timestamp": 7, "expected_version": 9}),
            )
        },
    );
    op(
        "evaluate, by the seed's contract",
        "seed",
        200,
        |world| {
            assert_eq!(register(&world.other, &seed()).0, 201);
            assert_eq!(create(&world.other, "seed", "e").0, 201);
            world.at(15_000);
        },
        |engine| send(engine, "seed", "e", "pay", &json!({"timestamp": 7})),
    );
    op("evaluate that parks a timer", "jammed", 200, a_jammed, |engine| {
        send(engine, "jammed", "e", "go", &json!({"timestamp": 7}))
    });
    op("transition", "order", 200, an_order, |engine| {
        let body = json!({"event_type": "pay", "params": {"n": 1}}).to_string();
        reply(
            200,
            block_on(engine.transition(&t1(), "order", "e", body.as_bytes())),
        )
    });
    op("batch", "order", 200, an_order, |engine| {
        let events = [
            event("e", "pay", &json!({"timestamp": 7})),
            event("new", "pay", &json!({})),
            event("e", "ship", &json!({})),
            json!({"event_type": "pay"}),
            event("e", "note", &json!({"timestamp": 1})),
            event("new", "note", &json!({"timestamp": 8})),
        ];
        batch(engine, "order", &events)
    });
    op("batch after timeouts", "clocked", 200, a_clocked, |engine| {
        let events = [
            event("e", "go", &json!({"timestamp": 7, "expected_version": 9})),
            event("f", "go", &json!({})),
            event("f", "note", &json!({})),
            event("g", "note", &json!({})),
        ];
        batch(engine, "clocked", &events)
    });
    op("create entity", "order", 201, only_a_machine, |engine| {
        create(engine, "order", "e")
    });
    op("delete entity", "order", 204, an_order, |engine| {
        delete(engine, "order", "e")
    });
    op(
        "create machine",
        "order",
        201,
        |_| {},
        |engine| register(engine, &order()),
    );
    op(
        "create machine again",
        "order",
        201,
        |world| {
            only_a_machine(world);
            assert_eq!(delete_machine(&world.other, "order").0, 204);
            world.at(5);
        },
        |engine| register(engine, &order()),
    );
    op("put machine, follow", "clocked", 200, a_clocked, |engine| {
        put(engine, &wider(clocked()), "follow")
    });
    op(
        "put machine, follow, without a state",
        "order",
        200,
        an_order,
        |engine| put(engine, &without_shipped(), "follow"),
    );
    op("put machine, pin", "order", 200, an_order, |engine| {
        put(engine, &without_shipped(), "pin")
    });
    op("delete machine", "order", 204, only_a_machine, |engine| {
        delete_machine(engine, "order")
    });
    op("release timers", "jammed", 200, a_parked, |engine| {
        let released = block_on(engine.release_timers(&t1(), "jammed", "e"));
        reply(200, released)
    });
    ops
}

fn batch(engine: &WorldEngine, machine: &str, events: &[Value]) -> Reply {
    let body = json!({ "events": events }).to_string();
    reply(
        200,
        block_on(engine.evaluate_batch(Some(&t1()), machine, body.as_bytes())),
    )
}

fn without_shipped() -> Value {
    let mut definition = order();
    definition["states"] = json!(["pending", "paid"]);
    definition["transitions"] = json!([{"from": "pending", "to": "paid", "on": "pay"},
        {"from": "pending", "to": "pending", "on": "note"}]);
    definition
}

/// Another writer, who does this to the operation's entity or machine.
struct Rival {
    name: &'static str,
    run: fn(&World, &Op),
    /// Whether what it does takes the entity away with all that it remembers.
    erases: bool,
}

const ENTITIES: [&str; 4] = ["e", "f", "g", "new"];

fn rivals() -> Vec<Rival> {
    let mut rivals = Vec::new();
    let mut rival = |name, erases, run: fn(&World, &Op)| rivals.push(Rival { name, run, erases });
    rival("an event", false, |world, op| {
        world.event(op.machine, "e", "note", Some(99));
    });
    rival("events that move it on", false, |world, op| {
        for event in ["pay", "ship", "go"] {
            world.event(op.machine, "e", event, None);
        }
    });
    rival("the same", false, |world, op| {
        (op.run)(&world.other);
    });
    rival("a creation", false, |world, op| {
        create(&world.other, op.machine, "e");
    });
    rival("a deletion", true, |world, op| {
        delete(&world.other, op.machine, "e");
    });
    rival("deletion and creation", true, |world, op| {
        delete(&world.other, op.machine, "e");
        create(&world.other, op.machine, "e");
    });
    rival("a new head to follow", false, |world, op| {
        put(&world.other, &wider(definition(op.machine)), "follow");
    });
    rival("a new head that leaves them", false, |world, op| {
        put(&world.other, &wider(definition(op.machine)), "pin");
    });
    rival("deletion of the machine", true, |world, op| {
        for entity in ENTITIES {
            delete(&world.other, op.machine, entity);
        }
        delete_machine(&world.other, op.machine);
    });
    rival("deletion and creation of the machine", true, |world, op| {
        for entity in ENTITIES {
            delete(&world.other, op.machine, entity);
        }
        delete_machine(&world.other, op.machine);
        register(&world.other, &definition(op.machine));
    });
    rival("creation of the machine", false, |world, op| {
        register(&world.other, &definition(op.machine));
    });
    rival("a pass of the scanner", false, |world, _| {
        block_on(world.other.tick()).unwrap();
    });
    rivals
}

/// A world made ready for an operation.
fn ready(op: &Op) -> Rc<World> {
    let world = World::new();
    (op.before)(&world);
    world
}

/// An operation that nothing disturbs: the answer, what is stored before and after, and which of its batches write.
fn undisturbed(op: &Op) -> (Reply, String, String, Vec<bool>) {
    let world = ready(op);
    let before = world.stored();
    world.sqlite.taken();
    world.faulty.arm([]);
    let reply = (op.run)(&world.engine);
    assert_eq!(reply.0, op.status, "{}: {}", op.name, reply.1);
    let batches = world.sqlite.taken();
    let writing = batches.iter().map(|batch| writes(batch)).collect();
    (reply, before, world.stored(), writing)
}

/// Runs an operation with faults, strays included.
fn disturbed(op: &Op, faults: &[(usize, Fault)]) -> (Reply, String, bool) {
    let world = ready(op);
    world.faulty.arm(faults.iter().cloned());
    let reply = (op.run)(&world.engine);
    world.faulty.land();
    (reply, world.stored(), world.faulty.struck())
}

/// Runs rivals and operations one after another; gives the last answer of the operation.
fn in_turn(op: &Op, steps: &[Option<&Rival>]) -> (Reply, String) {
    let world = ready(op);
    let mut last = (0, Value::Null);
    for step in steps {
        match step {
            Some(rival) => (rival.run)(&world, op),
            None => last = (op.run)(&world.engine),
        }
    }
    (last, world.stored())
}

/// A fault at which another writer comes first.
fn meanwhile(world: &Rc<World>, op: &Op, rival: &Rival) -> Fault {
    let world = Rc::clone(world);
    let run = rival.run;
    let (machine, before, action, status) = (op.machine, op.before, op.run, op.status);
    Fault::Meanwhile(Rc::new(move || {
        let op = Op {
            name: "",
            machine,
            before,
            run: action,
            status,
        };
        run(&world, &op);
    }))
}

#[test]
fn i1_i3_a_fault_at_any_batch_leaves_all_or_nothing_and_the_answer_says_which() {
    let mut checked = 0;
    for op in ops() {
        let (answer, before, after, writing) = undisturbed(&op);
        for (place, is_write) in writing.iter().enumerate() {
            let once =
                [Fault::Before, Fault::After, Fault::Late, Fault::Stray].map(|fault| vec![(place, fault)]);
            let again = [
                vec![(place, Fault::After), (place + 1, Fault::Before)],
                vec![(place, Fault::Before), (place + 1, Fault::After)],
                vec![
                    (place, Fault::Late),
                    (place + 1, Fault::Before),
                    (place + 2, Fault::Before),
                ],
                vec![
                    (place, Fault::Before),
                    (place + 2, Fault::Before),
                    (place + 4, Fault::After),
                ],
                vec![
                    (place, Fault::Stray),
                    (place + 2, Fault::Stray),
                    (place + 4, Fault::Late),
                ],
                vec![
                    (place, Fault::Before),
                    (place + 2, Fault::After),
                    (place + 4, Fault::Before),
                ],
            ];
            let cases = once.into_iter().chain(again.into_iter().filter(|_| *is_write));
            for (case, faults) in cases.enumerate() {
                let (reply, stored, _) = disturbed(&op, &faults);
                let what = format!("{}, batch {place}, case {case}", op.name);
                if !is_write && reply.0 == 500 {
                    assert_eq!(reply.1["error"]["retry"], true, "{what}");
                    assert_same(&stored, &before, &what);
                } else {
                    assert_eq!(reply, answer, "{what}");
                    assert_same(&stored, &after, &what);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 250, "{checked}");
}

#[test]
fn i1_i2_r17_a_writer_between_read_and_write_comes_first() {
    let mut checked = 0;
    for op in ops() {
        let (_, _, _, writing) = undisturbed(&op);
        for (place, _) in writing.iter().enumerate().filter(|(_, is_write)| **is_write) {
            for rival in rivals() {
                let what = format!("{}, batch {place}: {}", op.name, rival.name);
                let world = ready(&op);
                world.faulty.arm([(place, meanwhile(&world, &op, &rival))]);
                let (status, body) = (op.run)(&world.engine);
                let stored = world.stored();
                assert!(world.faulty.struck(), "{what}");
                let rival_alone = || in_turn(&op, &[Some(&rival)]).1;
                let serial = || in_turn(&op, &[Some(&rival), None]);
                let gone = op.is_event()
                    && op.finds_entity()
                    && rival.erases
                    && rival.name != "deletion and creation";
                if gone && op.name.starts_with("batch") {
                    // Its events are refused, the others are not; a missing machine refuses all.
                    let results = body["results"].as_array().unwrap();
                    let first = results[0]["error"].as_str().unwrap_or_default();
                    assert!(
                        first.starts_with("CONFLICT: ") || first.starts_with("NOT_FOUND: "),
                        "{what}: {body}"
                    );
                    assert!(
                        !stored.contains("<t1/") || !stored.contains("/e>"),
                        "{what}:\n{stored}"
                    );
                } else if gone {
                    assert!(status == 409 || status == 404, "{what}: {body}");
                    assert_same(&stored, &rival_alone(), &what);
                } else if op.name == "delete entity" && rival.erases {
                    // What it had read is gone: R17 keeps it from what was made since.
                    assert!(status == 204 || status == 404, "{what}: {body}");
                    assert_same(&stored, &rival_alone(), &what);
                } else if op.name.starts_with("delete") {
                    let ((serial_status, _), serially) = serial();
                    assert!(status == serial_status || status == 204, "{what}: {body}");
                    assert_same(&stored, &serially, &what);
                } else {
                    let (serial_reply, serially) = serial();
                    // Two that free the same timers at once both say so.
                    if (op.name, rival.name) != ("release timers", "the same") {
                        assert_eq!((status, body), serial_reply, "{what}");
                    }
                    assert_same(&stored, &serially, &what);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn i1_r17_a_write_whose_answer_was_lost_is_known_again_whatever_came_after_it() {
    let mut checked = 0;
    for op in ops() {
        let (answer, _, _, writing) = undisturbed(&op);
        for (place, _) in writing.iter().enumerate().filter(|(_, is_write)| **is_write) {
            for rival in rivals() {
                let what = format!("{}, batch {place}: {}", op.name, rival.name);
                let world = ready(&op);
                let faults = [(place, Fault::After), (place + 1, meanwhile(&world, &op, &rival))];
                world.faulty.arm(faults);
                let reply = (op.run)(&world.engine);
                let stored = world.stored();
                let (_, in_order) = in_turn(&op, &[None, Some(&rival)]);
                if rival.erases && !op.name.starts_with("delete") {
                    // The deletion took the proof with it. What was there at first does not come back (R17); what was
                    // not is made again at the most.
                    let (_, anew) = in_turn(&op, &[None, Some(&rival), None]);
                    let gone = op.is_event() && op.finds_entity() && rival.name != "deletion and creation";
                    if gone && op.name.starts_with("batch") {
                        assert!(!stored.contains("/e>"), "{what}: it came back:\n{stored}");
                    } else if gone {
                        assert!(reply.0 == 409 || reply.0 == 404, "{what}: {}", reply.1);
                        assert_same(&stored, &in_order, &what);
                    } else {
                        let either = stored == in_order || stored == anew;
                        assert!(either, "{what}: {}\n{stored}", reply.1);
                    }
                } else {
                    // Nothing but the entity says that an event without a transition was there: it is decided anew. An
                    // entity made with its answer lost is shown as it is by now.
                    if op.name == "release timers" {
                        // It may be parked again by what came after: it is freed again.
                        let (_, anew) = in_turn(&op, &[None, Some(&rival), None]);
                        assert_eq!(reply, answer, "{what}");
                        assert!(stored == in_order || stored == anew, "{what}");
                        continue;
                    }
                    if op.name.ends_with("creating, no transition") || op.name.ends_with("refused") {
                        let (again, anew) = in_turn(&op, &[None, Some(&rival), None]);
                        assert_eq!(reply, again, "{what}");
                        assert_same(&stored, &anew, &what);
                        continue;
                    }
                    if op.name == "create entity" {
                        assert_eq!(reply.0, answer.0, "{what}: {}", reply.1);
                    } else {
                        assert_eq!(reply, answer, "{what}");
                    }
                    assert_same(&stored, &in_order, &what);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

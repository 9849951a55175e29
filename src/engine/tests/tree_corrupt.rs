//! A place in a tree that cannot be right fails closed: no event and no timer of its tree goes on from it, and no other
//! tree is touched (M8, EF-2).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::Value;
use statewright_engine::EntityQuery;
use support::block_on;
use support::families::{batch, chain, event, make, path, register_all, send, targeted, view};
use support::scenes::Undo;
use support::world::{Reply, World, evaluate, reply, t1};

/// Two trees of three levels, `e` and `g`, with timers that are due at 10 s.
fn two_trees() -> Rc<World> {
    let world = World::new();
    register_all(&world.other, &chain(2, "resume"));
    for root in ["e", "g"] {
        make(&world.other, "l0", root);
        send(&world.other, "l0", &targeted(root, "step", Some(1), path(2)));
    }
    // What the schema refuses to anybody who writes, a failing disk does not ask about.
    world.sqlite.execute("PRAGMA ignore_check_constraints = 1");
    let triggers: Vec<String> = {
        let connection = world.sqlite.connection.borrow();
        let mut statement = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'instances'")
            .unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    for trigger in triggers {
        world.sqlite.execute(&format!("DROP TRIGGER {trigger}"));
    }
    world
}

fn told(reply: &Reply) -> String {
    match reply.1["error"]["code"].as_str() {
        Some(code) => format!("{} {code} {}", reply.0, reply.1["error"]["retry"]),
        None => reply.0.to_string(),
    }
}

fn list(world: &World, machine: &str) -> Value {
    let page = block_on(
        world
            .engine
            .list_entities(&t1(), machine, &EntityQuery::default()),
    )
    .unwrap();
    serde_json::to_value(&page.items).unwrap()
}

/// What is done to the place of a child. With each, what of the reads of that child alone shows it.
const CORRUPTIONS: [(&str, bool); 29] = [
    ("tenant = 't9'", false),
    ("machine_id = 'l0'", false),
    ("entity_id = 'nobody'", false),
    ("root_uid = 'zzz'", false),
    ("parent_uid = 'zzz'", false),
    ("region = 'r9'", false),
    ("state = 'nowhere'", false),
    ("state = 'off'", false),
    ("seq = 99", false),
    ("seq = -1", true),
    ("first_seq = 99", false),
    ("first_seq = -1", true),
    ("kind = 'odd'", true),
    ("kind = 'legacy'", false),
    ("status = 'odd'", true),
    ("status = 'completed'", true),
    ("status = 'cancelled'", true),
    ("status = 'completed', ended = 5", false),
    ("status = 'cancelled', ended = 5", false),
    ("depth = 7", true),
    ("depth = -1", true),
    ("path = '{'", true),
    ("path = '[]'", true),
    ("path = '[1]'", true),
    ("ended = 5", true),
    ("current = 7", false),
    ("current = 0", false),
    ("cancelled_with = 'zzz'", false),
    ("cancelled_with = uid", false),
];

const MID: (&str, &str) = ("l1", "e::sub::busy");
const LEAF: (&str, &str) = ("leaf", "e::sub::busy::sub::busy");

/// Each corruption of each child, in turn; gives what was found wrong.
fn each(check: impl Fn(&World, (&str, &str), &str, bool) -> Vec<String>) {
    let world = two_trees();
    let mut wrong = Vec::new();
    for child in [MID, LEAF] {
        for (what, alone) in CORRUPTIONS {
            let undo = Undo::begin(&world);
            let sql = format!("UPDATE instances SET {what} WHERE entity_id = '{}'", child.1);
            assert_eq!(world.sqlite.execute(&sql), 1);
            for found in check(&world, child, what, alone) {
                wrong.push(format!("{} with {what}: {found}", child.0));
            }
            drop(undo);
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn m8_no_event_of_a_tree_goes_on_from_a_place_that_cannot_be_right() {
    each(|world, (machine, id), _, _| {
        let before = world.sqlite.dump();
        let mut wrong = Vec::new();
        let events = [
            ("l0", event("e", "drop", Some(50))),
            ("l0", event("e", "none", Some(50))),
            ("l0", targeted("e", "note", Some(50), path(2))),
            (machine, event(id, "note", Some(50))),
            ("leaf", event(LEAF.1, "finish", Some(50))),
        ];
        for (machine, body) in events {
            let undo = Undo::begin(world);
            let told = told(&evaluate(&world.engine, machine, &body));
            if told != "500 CORRUPT_INSTANCE false" {
                wrong.push(format!(
                    "{} at {}: {told}",
                    body["event_type"], body["params"]["id"]
                ));
            }
            if world.sqlite.dump() != before {
                wrong.push(format!(
                    "{} at {}: it wrote",
                    body["event_type"], body["params"]["id"]
                ));
            }
            drop(undo);
        }
        let undo = Undo::begin(world);
        let answer = batch(
            &world.engine,
            "l0",
            &[event("e", "drop", Some(60)), event("g", "drop", Some(60))],
        );
        let error = answer["results"][0]["error"].as_str().unwrap_or_default();
        if !error.starts_with("CORRUPT_INSTANCE") {
            wrong.push(format!("in a batch: {}", answer["results"][0]));
        }
        assert_eq!(
            answer["results"][1]["result"]["transition"], "busy → off",
            "{answer}"
        );
        drop(undo);
        wrong
    });
}

#[test]
fn m8_no_timer_of_such_a_tree_fires_and_every_other_does() {
    each(|world, _, _, _| {
        world.at(15_000);
        let report = block_on(world.engine.tick()).unwrap();
        let mut wrong = Vec::new();
        assert_eq!(view(world, "l0", "g")["current_state"], "done", "{report:?}");
        let fired = "history WHERE event_type = '$timeout' AND uid IN (SELECT uid FROM entities WHERE entity_id LIKE 'e%')";
        if world.sqlite.count(fired) > 0 {
            wrong.push("its timer fired".to_owned());
        }
        if report.failed != 1 {
            wrong.push(format!("it is not told: {report:?}"));
        }
        wrong
    });
}

#[test]
fn m8_reads_of_the_child_alone_say_what_they_can_see() {
    each(|world, (machine, id), _, alone| {
        let mut wrong = Vec::new();
        let expected = if alone {
            "500 CORRUPT_INSTANCE false"
        } else {
            "200"
        };
        let read = told(&reply(200, block_on(world.engine.get_entity(&t1(), machine, id))));
        if read != expected {
            wrong.push(format!("read as {read}"));
        }
        let items = list(world, machine);
        let code = |place: usize| items[place]["error"]["code"].as_str().unwrap_or("ok").to_owned();
        if alone != (code(0) == "CORRUPT_INSTANCE") || code(1) != "ok" {
            wrong.push(format!("listed as {}, {}", code(0), code(1)));
        }
        let tree = told(&reply(200, block_on(world.engine.get_tree(&t1(), "l0", "e"))));
        if alone && tree != expected {
            wrong.push(format!("in its tree {tree}"));
        }
        wrong
    });
}

#[test]
fn m8_a_tree_whose_root_or_parent_is_gone_is_corrupt() {
    for gone in ["e", "e::sub::busy"] {
        for table in ["entities", "entries"] {
            let world = two_trees();
            world
                .sqlite
                .execute(&format!("DELETE FROM {table} WHERE entity_id = '{gone}'"));
            let before = world.sqlite.dump();
            let what = format!("without the {table} of {gone}");
            for (machine, body) in [
                ("leaf", event(LEAF.1, "note", Some(50))),
                ("leaf", event(LEAF.1, "finish", Some(50))),
            ] {
                let answer = evaluate(&world.engine, machine, &body);
                assert_eq!(told(&answer), "500 CORRUPT_INSTANCE false", "{what}: {body}");
            }
            if gone == "e::sub::busy" {
                let answer = evaluate(&world.engine, "l0", &event("e", "drop", Some(50)));
                assert_eq!(told(&answer), "500 CORRUPT_INSTANCE false", "{what}");
            }
            assert_eq!(world.sqlite.dump(), before, "{what}");
            world.at(15_000);
            let report = block_on(world.engine.tick()).unwrap();
            assert_eq!((report.fired, report.failed), (1, 1), "{what}: {report:?}");
            assert_eq!(view(&world, "l0", "g")["current_state"], "done", "{what}");
        }
    }
}

/// By which name its root goes, only an event that is sent to the child itself has to know.
#[test]
fn m8_a_child_that_names_another_root_is_not_decided_on_by_that_name() {
    for what in [
        "root_machine = 'nowhere'",
        "root_entity = 'nobody'",
        "root_machine = 'leaf'",
        "root_entity = 'g'",
        "root_entity = 'e::sub::busy'",
    ] {
        for (machine, id) in [MID, LEAF] {
            let world = two_trees();
            world
                .sqlite
                .execute(&format!("UPDATE instances SET {what} WHERE entity_id = '{id}'"));
            let before = world.sqlite.dump();
            let answer = evaluate(&world.engine, machine, &event(id, "note", Some(50)));
            assert_eq!(
                told(&answer),
                "500 CORRUPT_INSTANCE false",
                "{what}: {id}: {}",
                answer.1
            );
            assert_eq!(world.sqlite.dump(), before, "{what}: {id}");
        }
    }
}

/// Without its row a child is no child: its parent is corrupt, and it is nobody's.
#[test]
fn m8_a_parent_whose_child_is_not_known_any_more_is_corrupt() {
    for child in [MID, LEAF] {
        for sql in ["DELETE FROM instances", "UPDATE instances SET uid = 'zzz'"] {
            let world = two_trees();
            world
                .sqlite
                .execute(&format!("{sql} WHERE entity_id = '{}'", child.1));
            let before = world.sqlite.dump();
            for body in [
                event("e", "drop", Some(50)),
                targeted("e", "note", Some(50), path(2)),
            ] {
                let answer = evaluate(&world.engine, "l0", &body);
                assert_eq!(told(&answer), "500 CORRUPT_INSTANCE false", "{sql}: {body}");
            }
            assert_eq!(world.sqlite.dump(), before);
        }
    }
}

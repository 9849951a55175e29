//! However deep or wide a tree is, an event of it is one read batch and one write batch; and what a commit writes.

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

use serde_json::{Value, json};
use support::block_on;
use support::families::{
    DEEPEST, at_level, batch, chain, event, in_status, leaf, link, machine_at, make, path, register_all,
    send, shop, targeted, view, wide,
};
use support::faults::{reads, writes};
use support::world::{World, create, delete, order, put, register, reply, t1};

/// How many batches some work reads, and how many it writes; one that writes reads nothing.
fn batches(world: &World, work: impl FnOnce()) -> (usize, usize) {
    world.sqlite.taken();
    work();
    let batches = world.sqlite.taken();
    for batch in batches.iter().filter(|batch| writes(batch)) {
        assert!(!batch.iter().any(|sql| reads(sql)), "{batch:?}");
    }
    let write = batches.iter().filter(|batch| writes(batch)).count();
    (batches.len() - write, write)
}

/// A chain as deep as can be, whose engine has seen its machines or not.
fn deep(reentry: &str, warm: bool) -> Rc<World> {
    let world = World::new();
    register_all(&world.other, &chain(DEEPEST, reentry));
    assert_eq!(make(&world.other, "l0", "e").0, 201);
    assert_eq!(world.sqlite.count("instances"), 8);
    if warm {
        // By whichever machine an event comes.
        for level in 0..=DEEPEST {
            let body = event(&at_level("e", level), "none", None);
            send(&world.engine, &machine_at(level, DEEPEST), &body);
        }
    }
    world
}

fn broad(reentry: &str, warm: bool) -> Rc<World> {
    let world = World::new();
    register_all(&world.other, &wide(64, reentry));
    assert_eq!(make(&world.other, "wide", "e").0, 201);
    assert_eq!(world.sqlite.count("instances"), 64);
    if warm {
        send(&world.engine, "wide", &event("e", "none", None));
        send(&world.engine, "leaf", &event("e::sub::b5", "none", None));
    }
    world
}

#[test]
fn an_event_at_the_deepest_level_is_one_read_batch_and_one_write_batch() {
    let leaf = at_level("e", DEEPEST);
    for warm in [false, true] {
        let world = deep("refuse", warm);
        let body = targeted("e", "step", Some(1), path(DEEPEST));
        let one = batches(&world, || {
            let answer = send(&world.engine, "l0", &body);
            assert_eq!(
                (&answer["transition"], &answer["target"]["depth"]),
                (&json!("a → b"), &json!(8))
            );
        });
        assert_eq!(one, (1, 1), "targeted, warm {warm}");
        let replay = batches(&world, || {
            let answer = send(&world.engine, "l0", &body);
            assert_eq!(answer["reason"], "duplicate event (already processed)");
        });
        assert_eq!(replay, (1, 0), "its replay, warm {warm}");

        let world = deep("refuse", warm);
        let one = batches(&world, || {
            let answer = send(&world.engine, "leaf", &event(&leaf, "step", Some(1)));
            assert_eq!(answer["transition"], "a → b");
        });
        assert_eq!(one, (1, 1), "direct, warm {warm}");
        // A timer deep in the tree that an event of the root, of the leaf or of a level between is to see (M5, R5).
        for (machine, body) in [
            ("l0", event("e", "none", Some(2))),
            ("leaf", event(&leaf, "none", Some(2))),
            ("l4", event(&at_level("e", 4), "none", Some(2))),
            ("l0", targeted("e", "drop", Some(2), json!([]))),
        ] {
            let world = deep("refuse", warm);
            send(&world.other, "leaf", &event(&leaf, "step", Some(1)));
            world.at(15_000);
            let fired = batches(&world, || {
                let (_, answer) = support::world::evaluate(&world.engine, machine, &body);
                assert!(
                    answer["timeouts_fired"] == 1 || answer["error"]["code"] == "INSTANCE_NOT_ACTIVE",
                    "{answer}"
                );
            });
            assert_eq!(fired, (1, 1), "caught up by {body}, warm {warm}");
            assert_eq!(view(&world, "l0", "e")["current_state"], "done");
            assert_eq!(in_status(&world, "completed"), 8);
        }
    }
}

#[test]
fn a_cascade_to_the_root_is_one_read_batch_and_one_write_batch() {
    let leaf = at_level("e", DEEPEST);
    for warm in [false, true] {
        for (machine, body) in [
            ("l0", targeted("e", "finish", Some(1), path(DEEPEST))),
            ("leaf", event(&leaf, "finish", Some(1))),
            (
                "l3",
                targeted(&at_level("e", 3), "finish", Some(1), path(DEEPEST - 3)),
            ),
        ] {
            let world = deep("refuse", warm);
            let one = batches(&world, || {
                let answer = send(&world.engine, machine, &body);
                assert_eq!(answer["instances"].as_array().unwrap().len(), 8, "{answer}");
                assert!(answer["instances"][7]["parent_row"].is_u64(), "{answer}");
            });
            assert_eq!(one, (1, 1), "{body}, warm {warm}");
            assert_eq!(view(&world, "l0", "e")["current_state"], "done");
        }
        let world = deep("refuse", warm);
        send(&world.other, "leaf", &event(&leaf, "step", Some(1)));
        world.at(15_000);
        let pass = batches(&world, || {
            let report = block_on(world.engine.tick()).unwrap();
            assert_eq!(
                (report.fired, report.failed, report.stale),
                (1, 0, 0),
                "{report:?}"
            );
        });
        assert_eq!(
            pass,
            (2, 2),
            "what is due, its tree, its commit, the report; warm {warm}"
        );
        assert_eq!(view(&world, "l0", "e")["current_state"], "done");
    }
}

#[test]
fn a_subtree_is_ended_and_woken_in_one_write_batch() {
    for warm in [false, true] {
        let world = deep("resume", warm);
        let one = batches(&world, || {
            let answer = send(&world.engine, "l0", &event("e", "drop", Some(1)));
            assert_eq!(answer["instances"].as_array().unwrap().len(), 8);
        });
        assert_eq!(one, (1, 1), "a cancel, warm {warm}");
        let one = batches(&world, || {
            let answer = send(&world.engine, "l0", &event("e", "again", Some(2)));
            assert_eq!(answer["instances"][7]["kind"], "resumed");
        });
        assert_eq!(one, (1, 1), "a resume, warm {warm}");
        let one = batches(&world, || {
            send(&world.engine, "l0", &targeted("e", "drop", Some(3), path(2)));
        });
        assert_eq!(one, (1, 1), "a cancel from level 2 on, warm {warm}");
        let one = batches(&world, || assert_eq!(delete(&world.engine, "l0", "e").0, 204));
        assert_eq!(one, (1, 1), "a deletion, warm {warm}");
        assert_eq!(world.sqlite.count("entities"), 0);
        let one = batches(&world, || assert_eq!(make(&world.engine, "l0", "e").0, 201));
        assert_eq!(one, (1, 1), "a creation, warm {warm}");
        let one = batches(&world, || {
            send(&world.engine, "l0", &event("f", "drop", Some(1)));
        });
        assert_eq!(
            one,
            (1, 1),
            "a creation by an event that ends it all, warm {warm}"
        );
    }
}

#[test]
fn sixty_four_children_side_by_side_are_no_more_batches() {
    for warm in [false, true] {
        for (machine, how, children) in [("wide", "stop", 64), ("above", "pull", 65)] {
            let world = World::new();
            register_all(&world.other, &wide(64, "resume"));
            assert_eq!(make(&world.other, machine, "e").0, 201);
            if warm {
                send(&world.engine, machine, &event("e", "none", None));
            }
            let one = batches(&world, || {
                let answer = send(&world.engine, machine, &event("e", how, Some(1)));
                assert_eq!(answer["instances"].as_array().unwrap().len(), children);
            });
            assert_eq!(one, (1, 1), "{how}, warm {warm}");
            assert_eq!(in_status(&world, "cancelled"), i64::try_from(children).unwrap());
            let one = batches(&world, || {
                let answer = send(&world.engine, machine, &event("e", "go", Some(2)));
                assert_eq!(answer["instances"].as_array().unwrap().len(), children);
            });
            assert_eq!(one, (1, 1), "waking after {how}, warm {warm}");
        }
        let world = broad("refuse", warm);
        let target = json!([{"region": "r5", "state": "b5"}]);
        for (machine, body) in [
            ("wide", targeted("e", "step", Some(1), target.clone())),
            ("leaf", event("e::sub::b5", "step", Some(2))),
            ("leaf", event("e::sub::b5", "finish", Some(3))),
        ] {
            let one = batches(&world, || {
                assert!(send(&world.engine, machine, &body)["transition"].is_string());
            });
            assert_eq!(one, (1, 1), "{body}, warm {warm}");
        }
        let one = batches(&world, || assert_eq!(make(&world.engine, "wide", "new").0, 201));
        assert_eq!(one, (1, 1), "a creation, warm {warm}");
        let many: Vec<Value> = (0..64)
            .map(|at| {
                targeted(
                    "new",
                    "finish",
                    Some(at),
                    json!([{"region": format!("r{at}"), "state": format!("b{at}")}]),
                )
            })
            .collect();
        let one = batches(&world, || {
            assert_eq!(batch(&world.engine, "wide", &many)["succeeded"], 64);
        });
        assert_eq!(one, (1, 1), "a batch that completes each of them, warm {warm}");
    }
}

#[test]
fn a_thousand_events_of_many_trees_are_one_read_batch_and_one_write_batch() {
    let world = World::new();
    register_all(&world.other, &chain(2, "fresh"));
    let events = |from: i64, kind: &str| -> Vec<Value> {
        (0..1000)
            .map(|at| targeted(&format!("e{}", at % 50), kind, Some(from + at), path(2)))
            .collect()
    };
    for root in 0..50 {
        make(&world.other, "l0", &format!("e{root}"));
    }
    for (kind, from) in [("note", 0), ("step", 5000)] {
        let took = batches(&world, || {
            let answer = batch(&world.engine, "l0", &events(from, kind));
            assert_eq!(answer["succeeded"], 1000, "{}", answer["results"][0]);
        });
        assert_eq!(took, (1, 1), "{kind}");
    }
    let replayed = batches(&world, || {
        let answer = batch(&world.engine, "l0", &events(0, "note"));
        assert_eq!(
            answer["results"][999]["result"]["reason"],
            "duplicate event (already processed)"
        );
    });
    assert_eq!(replayed, (1, 0));
}

/// Where the engine knows a machine as one without children, it reads an entity alone, and learns from that of the
/// children: one more read, once.
#[test]
fn the_first_event_after_children_came_reads_twice() {
    for warm_up in [false, true] {
        let world = World::new();
        register(&world.other, &leaf());
        let mut plain = link("p", "leaf", "refuse");
        plain.as_object_mut().unwrap().remove("sub_machines");
        plain["initial_state"] = json!("off");
        assert_eq!(register(&world.engine, &plain).0, 201);
        make(&world.engine, "p", "e");
        if warm_up {
            send(&world.engine, "p", &event("e", "none", None));
        }
        let mut with = link("p", "leaf", "refuse");
        with["initial_state"] = json!("off");
        // By another program: this one does not learn of it.
        assert_eq!(put(&world.other, &with, "follow").0, 200);
        let first = batches(&world, || {
            let answer = send(&world.engine, "p", &event("e", "again", Some(1)));
            assert_eq!(answer["instances"][0]["kind"], "started", "{answer}");
        });
        assert_eq!(first, (2, 1), "warm {warm_up}");
        let next = batches(&world, || {
            send(&world.engine, "p", &event("e", "drop", Some(2)));
        });
        assert_eq!(next, (1, 1), "warm {warm_up}");
        // The same in a batch, of an engine that knew the machine before.
        let fresh = batches(&world, || {
            assert_eq!(
                batch(&world.engine, "p", &[event("f", "again", Some(1))])["succeeded"],
                1
            );
        });
        assert_eq!(fresh, (1, 1), "warm {warm_up}");
    }
}

#[test]
fn forwarding_takes_no_more_batches() {
    for warm in [false, true] {
        let world = World::new();
        register_all(&world.other, &shop());
        send(&world.other, "shop", &event("e", "start", Some(1)));
        if warm {
            send(&world.engine, "shop", &event("e", "drop", Some(2)));
            send(&world.engine, "shop", &event("e", "again", Some(3)));
        }
        for (kind, at) in [("picked", 4), ("note", 5), ("packed", 6)] {
            let one = batches(&world, || {
                send(&world.engine, "shop", &event("e", kind, Some(at)));
            });
            let expected = if kind == "note" { (1, 0) } else { (1, 1) };
            assert_eq!(one, expected, "{kind}, warm {warm}");
        }
        assert_eq!(view(&world, "shop", "e")["current_state"], "shipped");
        // Adoption is a commit of its own, found out by a write that failed.
        create(&world.other, "flow", "f::sub::busy");
        send(&world.engine, "shop", &event("f", "start", Some(1)));
        let adopted = batches(&world, || {
            let answer = send(&world.engine, "shop", &event("f", "picked", Some(2)));
            assert_eq!(answer["sub_machine"]["current_state"], "q");
        });
        assert!(adopted.0 <= 3 && adopted.1 <= 3, "{adopted:?}");
    }
}

/// Every row of every table and every entry of every index, as text.
fn rows_and_entries(world: &World) -> BTreeSet<String> {
    let connection = world.sqlite.connection.borrow();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let cell = |row: &rusqlite::Row<'_>, at| row.get::<_, rusqlite::types::Value>(at);
        let rows = statement.query_map([], |row| {
            let cells: Result<Vec<_>, _> = (0..columns).map(|at| cell(row, at)).collect();
            Ok(format!("{:?}", cells?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let one =
        |sql: &str, name: &str| -> String { connection.query_row(sql, [name], |row| row.get(0)).unwrap() };
    let mut all = BTreeSet::new();
    for table in ["entities", "entries", "history", "instances", "forwards"] {
        all.extend(
            texts(&format!("SELECT * FROM {table}"))
                .into_iter()
                .map(|row| format!("{table} {row}")),
        );
        let key = if ["entities", "history"].contains(&table) {
            "rowid"
        } else {
            "uid"
        };
        let indexes = format!(
            "SELECT name FROM pragma_index_list('{table}') WHERE origin <> 'pk' OR '{key}' = 'rowid'"
        );
        let mut statement = connection.prepare(&indexes).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        for index in names.map(Result::unwrap) {
            let columns = one("SELECT group_concat(name) FROM pragma_index_info(?1)", &index);
            let sql = one(
                "SELECT coalesce(sql, '') FROM sqlite_master WHERE name = ?1",
                &index,
            );
            let filter = sql.split_once("WHERE ").map_or("true", |(_, filter)| filter);
            let entries = texts(&format!("SELECT {columns}, {key} FROM {table} WHERE {filter}"));
            all.extend(entries.into_iter().map(|entry| format!("{index} {entry}")));
        }
    }
    all
}

/// What some work writes, as D1 bills it: rows of tables, and entries of indexes.
fn written(world: &World, work: impl FnOnce()) -> usize {
    // What is written anew with the same value is written all the same: time goes on, so that no value is.
    world.clock.now.set(world.clock.now.get() + 1);
    let before = rows_and_entries(world);
    work();
    let after = rows_and_entries(world);
    after.difference(&before).count()
}

/// What a commit writes: the numbers that the docs state.
#[test]
fn a_commit_writes_rows_of_what_it_changes_and_no_others() {
    let world = World::new();
    register(&world.engine, &order());
    create(&world.engine, "order", "e");
    let flat = written(&world, || {
        send(&world.engine, "order", &event("e", "pay", Some(1)));
    });
    assert_eq!(
        flat, 7,
        "an entity, an entry and a history row, with two indexes of the last and one of the others"
    );
    // A machine without children pays nothing for those that have some.
    let made = written(&world, || {
        create(&world.engine, "order", "f");
    });
    assert_eq!(made, 5);

    let world = World::new();
    register_all(&world.engine, &chain(3, "resume"));
    make(&world.engine, "l0", "e");
    let step = written(&world, || {
        send(&world.engine, "l0", &targeted("e", "step", Some(1), path(3)));
    });
    assert_eq!(
        step,
        flat + 2,
        "an event of a child touches no other; it armed a timer, of which two indexes know"
    );
    let note = written(&world, || {
        send(&world.engine, "l0", &targeted("e", "step", Some(2), path(3)));
    });
    assert_eq!(note, flat);
    let cancel = written(&world, || {
        send(&world.engine, "l0", &event("e", "drop", Some(3)));
    });
    assert_eq!(
        cancel,
        flat + 3 * (2 + 3 + 1),
        "of each child itself, its row, its place"
    );
    let resume = written(&world, || {
        send(&world.engine, "l0", &event("e", "again", Some(4)));
    });
    assert_eq!(
        resume - flat,
        3 * (2 + 1 + 3 + 1),
        "of each child itself, its entry, its row, its place"
    );
    let cascade = written(&world, || {
        send(&world.engine, "l0", &targeted("e", "finish", Some(5), path(3)));
    });
    assert_eq!(
        cascade,
        4 * flat + 3 + 2,
        "of each all of an event, of each child its place; two are not known any more"
    );
    let started = written(&world, || {
        send(&world.engine, "l0", &event("e", "again", Some(6)));
    });
    assert_eq!(
        started,
        flat + 3 * (3 + 2 + 2) + 2,
        "of each child itself, its entry, its place; the two of before are forgotten"
    );
    let world = World::new();
    register_all(&world.engine, &chain(1, "fresh"));
    make(&world.engine, "l0", "e");
    send(&world.engine, "l0", &event("e", "drop", Some(1)));
    let one = written(&world, || {
        send(&world.engine, "l0", &event("e", "again", Some(2)));
    });
    assert_eq!(one, flat + (3 + 2 + 2) + 2, "and one of before is forgotten");
}

#[test]
fn reads_of_a_tree_are_two_batches_where_definitions_are_at_hand() {
    let world = deep("refuse", true);
    let one = batches(&world, || {
        let tree = reply(200, block_on(world.engine.get_tree(&t1(), "l0", "e")));
        assert_eq!(tree.0, 200);
    });
    assert_eq!(one, (2, 0));
    let list = batches(&world, || {
        block_on(
            world
                .engine
                .list_entities(&t1(), "l5", &statewright_engine::EntityQuery::default()),
        )
        .unwrap();
    });
    assert_eq!(list.1, 0);
}

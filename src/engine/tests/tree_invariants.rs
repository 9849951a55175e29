//! Random events, timers, ticks, cancels, re-entries and deletions over families, with the whole database checked after
//! each: I1 to I6, and what the schema says of `current` and `cancelled_with`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::block_on;
use support::families::{batch, event, make, register_all, targeted};
use support::world::{World, delete, evaluate, t1};
use support::wrongs::{mixed, wrongs};

struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// What a machine takes, and now and then what it does not.
fn a_kind(machine: &str, chance: &mut Chance) -> &'static str {
    let kinds: &[&'static str] = match (chance.below(8), machine) {
        (0, _) => &["none", "all", "drop", "note", "finish"],
        (_, "leaf") => &["step", "note", "finish"],
        (_, "l0" | "l1") => &["drop", "again", "again"],
        (_, "mid") => &["step", "step", "back", "note", "stop"],
        (_, "shop") => &["start", "drop", "again", "picked", "packed", "note"],
        (_, "flow") => &["picked", "packed", "back", "note"],
        _ => &[
            "go", "go", "drop", "back", "all", "again", "start", "picked", "packed",
        ],
    };
    kinds[chance.below(kinds.len())]
}

/// Machine, id, incarnation of the entities.
fn entities(world: &World) -> Vec<(String, String, String)> {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection
        .prepare("SELECT machine_id, entity_id, uid FROM entities ORDER BY 1, 2")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

fn check(world: &World, wrongs: &[(&str, String)], what: &str) {
    for (name, sql) in wrongs {
        assert!(world.sqlite.count(sql) == 0, "{name}: {what}\n{}", world.stored());
    }
    // No row without its entity, no two of one identity, nothing left of a batch.
    world.stored();
}

fn versions(world: &World) -> BTreeMap<String, (i64, i64)> {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection
        .prepare("SELECT uid, state_version, next_seq FROM entities")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
    rows.unwrap().map(Result::unwrap).collect()
}

/// A path to a managed instance, mostly a live one, from the root of its tree; and its machine.
fn a_target(world: &World, chance: &mut Chance) -> Option<(String, String, Value, String)> {
    let all = if chance.below(6) == 0 {
        ""
    } else {
        "AND status = 'active'"
    };
    let connection = world.sqlite.connection.borrow();
    let sql = format!(
        "SELECT path, machine_id FROM instances WHERE kind = 'managed' {all} ORDER BY entity_id, first_seq"
    );
    let mut statement = connection.prepare(&sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .unwrap();
    let paths: Vec<(String, String)> = rows.map(Result::unwrap).collect();
    if paths.is_empty() {
        return None;
    }
    let (path, of) = paths[chance.below(paths.len())].clone();
    let owners: Vec<Value> = serde_json::from_str(&path).unwrap();
    let with_seq = chance.below(2) == 0;
    let steps: Vec<Value> = owners
        .iter()
        .map(|owner| {
            let mut step = json!({"region": owner["region"], "state": owner["state"]});
            if with_seq {
                step["seq"] = owner["seq"].clone();
            }
            step
        })
        .collect();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let root = (text(&owners[0]["machine_id"]), text(&owners[0]["entity_id"]));
    Some((root.0, root.1, json!(steps), of))
}

/// A random event: its machine and its body.
fn an_event(world: &World, chance: &mut Chance, time: &mut i64) -> (String, Value) {
    *time += 1;
    let stamp = (chance.below(3) > 0).then_some(*time);
    match chance.below(6) {
        0 | 1 => {
            let (machine, id) = ROOTS[chance.below(ROOTS.len())];
            (machine.to_owned(), event(id, a_kind(machine, chance), stamp))
        }
        2..=4 => match a_target(world, chance) {
            Some((machine, id, steps, of)) => (machine, targeted(&id, a_kind(&of, chance), stamp, steps)),
            None => ("root".to_owned(), event("r", "go", stamp)),
        },
        _ => {
            let all = entities(world);
            if all.is_empty() {
                return ("root".to_owned(), event("r", "go", stamp));
            }
            let (machine, id, _) = all[chance.below(all.len())].clone();
            let body = event(&id, a_kind(&machine, chance), stamp);
            (machine, body)
        }
    }
}

const ROOTS: [(&str, &str); 4] = [("root", "r"), ("root", "q"), ("shop", "s"), ("l0", "c")];

/// Random steps; says how often what happened.
fn run(reentry: &str, seeds: std::ops::RangeInclusive<u64>) -> BTreeMap<String, i64> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    let mut replays = 0;
    for seed in seeds {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let family = mixed(reentry);
        let wrong = wrongs(&family);
        let world = World::new();
        register_all(&world.other, &family);
        let (mut now, mut time) = (0_i64, 0_i64);
        // Events that were applied: to be sent again.
        let mut applied: Vec<(String, Value, String)> = Vec::new();
        for step in 0..70 {
            now += i64::try_from(chance.below(4_000)).unwrap();
            world.at(now);
            let before = versions(&world);
            let engine = if chance.below(2) == 0 {
                &world.engine
            } else {
                &world.other
            };
            let mut alone = false;
            let what = match chance.below(14) {
                0 => format!("{:?}", block_on(engine.tick()).unwrap()),
                1 => {
                    let all = entities(&world);
                    if all.is_empty() || chance.below(3) > 0 {
                        continue;
                    }
                    let (machine, id, uid) = all[chance.below(all.len())].clone();
                    // What sleeps wakes with what is left of it: that is the deleter's doing.
                    let asleep = format!(
                        "instances WHERE uid = '{uid}' AND cancelled_with IS NOT NULL AND cancelled_with <> uid"
                    );
                    if world.sqlite.count(&asleep) > 0 {
                        continue;
                    }
                    let (status, _) = delete(engine, &machine, &id);
                    *counts.entry(format!("deletion {status}")).or_default() += 1;
                    format!("deletion of {machine} {id}: {status}")
                }
                2 => {
                    let (machine, id) = ROOTS[chance.below(ROOTS.len())];
                    format!("creation of {machine} {id}: {}", make(engine, machine, id).0)
                }
                3 => {
                    let (machine, first) = an_event(&world, &mut chance, &mut time);
                    let mut events = vec![first];
                    for _ in 0..4 {
                        let (of, body) = an_event(&world, &mut chance, &mut time);
                        if of == machine {
                            events.push(body);
                        }
                    }
                    let answer = batch(engine, &machine, &events);
                    assert!(!answer.to_string().contains("INTERNAL"), "{answer}");
                    format!("batch {events:?}: {answer}")
                }
                4 if !applied.is_empty() => {
                    let (machine, body, uid) = applied[chance.below(applied.len())].clone();
                    let stored = world.sqlite.dump();
                    let (status, answer) = evaluate(engine, &machine, &body);
                    if before.contains_key(&uid) {
                        let what = format!("seed {seed}, step {step}: {body} again: {answer}");
                        let told = answer["reason"] == "duplicate event (already processed)";
                        assert!(status == 200 && told, "I1: {what}");
                        assert!(world.sqlite.dump() == stored, "I1: {what}");
                        replays += 1;
                    }
                    format!("replay of {body}")
                }
                _ => {
                    let (machine, body) = an_event(&world, &mut chance, &mut time);
                    let (status, answer) = evaluate(engine, &machine, &body);
                    assert!(status < 500, "seed {seed}, step {step}: {body}: {answer}");
                    alone = answer.get("timeouts_fired").is_none();
                    for life in answer["instances"].as_array().into_iter().flatten() {
                        *counts.entry(life["kind"].to_string()).or_default() += 1;
                    }
                    if let Some(code) = answer["error"]["code"].as_str() {
                        *counts.entry(code.to_owned()).or_default() += 1;
                    }
                    let moved = answer["transition"].is_string() && answer.get("sub_machine").is_none();
                    if moved && body.get("timestamp").is_some() {
                        let id = answer["entity_id"].as_str().unwrap();
                        let at = answer["target"]["machine_id"]
                            .as_str()
                            .unwrap_or(&machine)
                            .to_owned();
                        let all = entities(&world);
                        if let Some((.., uid)) = all.iter().find(|(of, entity, _)| *of == at && entity == id)
                        {
                            applied.push((machine.clone(), body.clone(), uid.clone()));
                        }
                    }
                    format!("{machine} {body}: {status} {answer}")
                }
            };
            let what = format!("seed {seed}, step {step}: {what}");
            check(&world, &wrong, &what);
            let mut bumped = 0;
            for (uid, (version, next)) in versions(&world) {
                if let Some((was, had)) = before.get(&uid) {
                    assert!(version >= *was && next >= *had, "I2: {what}");
                    // An adoption, a recovery and the event itself are commits of their own.
                    assert!(!alone || version - was <= 2, "I2: {what}");
                    bumped += version - was;
                }
            }
            *counts.entry("writes".to_owned()).or_default() += bumped;
            if step % 35 == 34 {
                for (machine, id, _) in entities(&world) {
                    let tree = block_on(world.engine.get_tree(&t1(), &machine, &id));
                    assert!(tree.is_ok(), "{what}: {machine} {id}: {tree:?}");
                }
            }
        }
    }
    for kind in ["\"started\"", "\"completed\"", "\"cancelled\"", "deletion 204"] {
        assert!(
            counts.get(kind).is_some_and(|count| *count > 3),
            "{kind}: {counts:?}"
        );
    }
    assert!(replays > 10, "{replays}");
    counts
}

#[test]
fn i1_to_i6_hold_after_each_step_where_children_are_made_anew() {
    run("fresh", 1..=4);
}

#[test]
fn i1_to_i6_hold_after_each_step_where_children_wake() {
    let counts = run("resume", 11..=14);
    assert!(counts["\"resumed\""] > 10, "{counts:?}");
}

#[test]
fn i1_to_i6_hold_after_each_step_where_no_child_comes_again() {
    let counts = run("refuse", 21..=24);
    assert!(counts["INSTANCE_CONFLICT"] > 5, "{counts:?}");
}

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
use support::families::{batch, chain, event, make, register_all, shop, targeted};
use support::world::{World, delete, evaluate, t1};

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

/// A root with regions whose children are of every kind, over chains with the same.
fn mixed(reentry: &str) -> Vec<Value> {
    let managed = |machine: &str, target: &str, reentry: &str| json!({"machine_id": machine, "lifecycle": "managed",
        "on_final": {"done": target}, "reentry": reentry});
    let mut all = chain(2, reentry);
    all.extend(shop());
    all.push(json!({"machine_id": "mid", "states": ["m0", "m1", "done"], "initial_state": "m0", "transitions": [
            {"from": "m0", "to": "m1", "on": "step"}, {"from": "m1", "to": "m0", "on": "back"},
            {"from": "m1", "to": "m1", "on": "note"}, {"from": "m1", "to": "done", "on": "stop"},
            {"from": "m1", "to": "m0", "on": "$timeout", "guard": {"timeout_seconds": 25}}],
        "sub_machines": {"m1": managed("leaf", "done", reentry)}}));
    all.push(json!({"machine_id": "root", "broadcast": ["all"],
        "regions": [
            {"id": "x", "states": ["x0", "x1", "x2"], "initial_state": "x0",
                "sub_machines": {"x1": managed("mid", "x2", "resume")}},
            {"id": "y", "states": ["y0", "y1", "y2"], "initial_state": "y1",
                "sub_machines": {"y1": managed("l0", "y2", "fresh")}},
            {"id": "z", "states": ["z0", "z1", "z2"], "initial_state": "z0",
                "sub_machines": {"z1": {"machine_id": "shop", "on_final": {"shipped": "z2"}}}}],
        "transitions": [
            {"region": "x", "from": "x0", "to": "x1", "on": "go"}, {"region": "x", "from": "x1", "to": "x0", "on": "drop"},
            {"region": "x", "from": "x2", "to": "x0", "on": "back"}, {"region": "x", "from": "x1", "to": "x1", "on": "all"},
            {"region": "y", "from": "y1", "to": "y0", "on": "drop"}, {"region": "y", "from": "y0", "to": "y1", "on": "go"},
            {"region": "y", "from": "y2", "to": "y1", "on": "again"}, {"region": "y", "from": "y1", "to": "y0", "on": "all"},
            {"region": "z", "from": "z0", "to": "z1", "on": "go"}, {"region": "z", "from": "z1", "to": "z0", "on": "back"},
            {"region": "z", "from": "z2", "to": "z0", "on": "back"},
            {"region": "z", "from": "z1", "to": "z0", "on": "$timeout", "guard": {"timeout_seconds": 40}}],
        "joins": [{"when": {"x": "x2", "y": "y2"}, "target_region": "z", "target_state": "z1"}]}));
    all
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
        _ => &["go", "go", "drop", "back", "all", "again", "start", "picked", "packed"],
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

/// What no database may hold, each as the rows that show it.
fn wrongs(family: &[Value]) -> Vec<(&'static str, String)> {
    let regions: Vec<Value> = family
        .iter()
        .map(|machine| json!([machine["machine_id"], machine["regions"].as_array().map_or(1, Vec::len)]))
        .collect();
    let regions = json!(regions).to_string();
    let mut compounds = Vec::new();
    for machine in family {
        let of = |region: &Value, id: &str| -> Vec<Value> {
            let subs = region["sub_machines"].as_object().into_iter().flatten();
            subs.filter(|(_, sub)| sub["lifecycle"] == "managed")
                .map(|(state, _)| json!([machine["machine_id"], id, state]))
                .collect()
        };
        compounds.extend(of(machine, "_"));
        for region in machine["regions"].as_array().into_iter().flatten() {
            compounds.extend(of(region, region["id"].as_str().unwrap()));
        }
    }
    let compounds = json!(compounds).to_string();
    let sleeps = "(i.status = 'active' OR i.cancelled_with IS NOT NULL)";
    let latest = "i.first_seq = (SELECT max(o.first_seq) FROM instances o WHERE o.parent_uid = i.parent_uid AND o.region = \
        i.region AND o.state = i.state)";
    let parent_known = "NOT EXISTS (SELECT 1 FROM instances p WHERE p.uid = i.parent_uid AND p.status <> 'active' AND \
        p.cancelled_with IS NULL)";
    vec![
        ("I4: an entry for each region", format!("json_each('{regions}') m CROSS JOIN entities e ON e.machine_id = \
            m.value->>0 WHERE (SELECT count(*) FROM entries n WHERE n.uid = e.uid) <> m.value->>1")),
        ("I5: no timer of what ended", "instances i CROSS JOIN entries n ON n.uid = i.uid WHERE i.status <> 'active' AND \
            (n.wake_at IS NOT NULL OR n.due_at IS NOT NULL OR n.parked IS NOT NULL)".to_owned()),
        ("I6: nothing lives below what ended", "instances i CROSS JOIN instances p ON p.uid = i.parent_uid WHERE i.status = \
            'active' AND p.status <> 'active'".to_owned()),
        ("I6: a live managed child's parent is in its state", "instances i WHERE i.status = 'active' AND i.kind = 'managed' \
            AND NOT EXISTS (SELECT 1 FROM entries n WHERE n.uid = i.parent_uid AND n.region = i.region AND n.state = i.state \
            AND n.seq = i.seq)".to_owned()),
        ("R2: a live entity in a managed state has its live child", format!("json_each('{compounds}') c CROSS JOIN entries n \
            ON n.tenant = 't1' AND n.machine_id = c.value->>0 AND n.region = c.value->>1 AND n.state = c.value->>2 WHERE \
            NOT EXISTS (SELECT 1 FROM instances s WHERE s.uid = n.uid AND s.status <> 'active') AND (SELECT count(*) FROM \
            instances i WHERE i.parent_uid = n.uid AND i.region = n.region AND i.seq = n.seq AND i.status = 'active' AND \
            i.kind = 'managed') <> 1")),
        ("a place has its entity and its parent", "instances i WHERE NOT EXISTS (SELECT 1 FROM entities e WHERE e.uid = i.uid \
            AND e.machine_id = i.machine_id AND e.entity_id = i.entity_id) OR NOT EXISTS (SELECT 1 FROM entities e WHERE \
            e.uid = i.parent_uid AND e.machine_id = i.parent_machine AND e.entity_id = i.parent_entity) OR NOT EXISTS \
            (SELECT 1 FROM entities e WHERE e.uid = i.root_uid AND e.machine_id = i.root_machine AND e.entity_id = \
            i.root_entity)".to_owned()),
        ("a tree has one root", "instances i WHERE i.root_uid <> coalesce((SELECT p.root_uid FROM instances p WHERE p.uid = \
            i.parent_uid), i.parent_uid)".to_owned()),
        ("S2.182: levels", "instances i WHERE i.depth <> json_array_length(i.path) OR i.depth <> CASE WHEN i.kind = 'legacy' \
            THEN 0 ELSE 1 + coalesce((SELECT p.depth FROM instances p WHERE p.uid = i.parent_uid), 0) END".to_owned()),
        ("the path ends in the entry", "instances i WHERE i.kind = 'managed' AND (i.path->>'$[#-1].entity_id' <> \
            i.parent_entity OR i.path->>'$[#-1].seq' <> i.seq OR i.path->>'$[#-1].state' <> i.state)".to_owned()),
        ("current: what lives or can wake", format!("instances i WHERE i.current = 0 AND {sleeps}")),
        ("current: the latest of a live parent", format!("instances i WHERE i.current = 0 AND {latest} AND {parent_known}")),
        ("current: nothing else", format!("instances i WHERE i.current = 1 AND NOT {sleeps} AND NOT ({latest} AND \
            {parent_known})")),
        ("cancelled_with: of what was cancelled", "instances i WHERE i.cancelled_with IS NOT NULL AND (i.status <> 'cancelled' \
            OR NOT EXISTS (SELECT 1 FROM instances t WHERE t.uid = i.cancelled_with AND t.cancelled_with = t.uid))".to_owned()),
        ("entries it belonged to", "instances i WHERE i.first_seq > i.seq OR (i.status = 'active') <> (i.ended IS NULL)".to_owned()),
        ("the next entry instance is unused", "entities e CROSS JOIN entries n ON n.uid = e.uid WHERE n.seq >= \
            e.next_seq".to_owned()),
        ("what was handed on is remembered", "forwards f WHERE NOT EXISTS (SELECT 1 FROM history h WHERE h.uid = f.to_uid AND \
            h.identity_key = f.identity_key)".to_owned()),
        ("the last row of what was cancelled says so", "instances i WHERE i.status = 'cancelled' AND (SELECT h.event_type \
            FROM history h WHERE h.uid = i.uid ORDER BY h.id DESC LIMIT 1) <> '$sub_cancel'".to_owned()),
    ]
}

fn check(world: &World, wrongs: &[(&str, String)], what: &str) {
    for (name, sql) in wrongs {
        if world.sqlite.count(sql) != 0 {
            panic!("{name}: {what}\n{}", world.stored());
        }
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
    let all = if chance.below(6) == 0 { "" } else { "AND status = 'active'" };
    let connection = world.sqlite.connection.borrow();
    let sql = format!("SELECT path, machine_id FROM instances WHERE kind = 'managed' {all} ORDER BY entity_id, first_seq");
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
            let engine = if chance.below(2) == 0 { &world.engine } else { &world.other };
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
                    let asleep = format!("instances WHERE uid = '{uid}' AND cancelled_with IS NOT NULL AND cancelled_with <> uid");
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
                        let at = answer["target"]["machine_id"].as_str().unwrap_or(&machine).to_owned();
                        let all = entities(&world);
                        if let Some((.., uid)) = all.iter().find(|(of, entity, _)| *of == at && entity == id) {
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
    println!("{counts:?}, {replays} replays");
    for kind in ["\"started\"", "\"completed\"", "\"cancelled\"", "deletion 204"] {
        assert!(counts.get(kind).is_some_and(|count| *count > 5), "{kind}: {counts:?}");
    }
    assert!(replays > 20, "{replays}");
    counts
}

#[test]
fn i1_to_i6_hold_after_each_step_where_children_are_made_anew() {
    run("fresh", 1..=4);
}

#[test]
fn i1_to_i6_hold_after_each_step_where_children_wake() {
    let counts = run("resume", 11..=14);
    assert!(counts["\"resumed\""] > 20, "{counts:?}");
}

#[test]
fn i1_to_i6_hold_after_each_step_where_no_child_comes_again() {
    let counts = run("refuse", 21..=24);
    assert!(counts["INSTANCE_CONFLICT"] > 5, "{counts:?}");
}

//! How every statement of the engine finds its rows, and how much work an operation is (design 3, platform.md).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::EntityQuery;
use statewright_engine::history::HistoryQuery;
use statewright_engine::page::Paging;
use support::block_on;
use support::families::{
    batch, chain, event as family_event, link, make, path, register_all, send, shop, targeted,
};
use support::faults::Fault;
use support::world::{
    World, clocked, create, delete, delete_machine, evaluate, jammed, order, put, register, t1, wider,
};

fn event(entity: &str, kind: &str) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}, "timestamp": 1})
}

/// Runs every operation, so that every statement of the engine is run.
fn everything() -> Rc<World> {
    let world = World::new();
    world.sqlite.taken();
    let engine = &world.engine;
    block_on(engine.check_schema()).unwrap();
    for definition in [order(), clocked(), jammed()] {
        register(engine, &definition);
    }
    for entity in 0..260 {
        create(engine, "clocked", &format!("e{entity}"));
    }
    create(engine, "jammed", "e");
    let mut lacking = clocked();
    lacking["regions"][1]["states"] = json!(["x", "y"]);
    lacking["regions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "c", "states": ["c"], "initial_state": "c"}));
    lacking["transitions"] = json!([{"region": "b", "from": "x", "to": "y", "on": "go"}]);
    assert_eq!(put(engine, &lacking, "follow").0, 409);
    lacking["machine_id"] = json!("jammed");
    assert_eq!(put(engine, &lacking, "follow").0, 409);
    lacking["machine_id"] = json!("order");
    assert_eq!(put(engine, &lacking, "follow").0, 200);
    assert_eq!(put(engine, &order(), "pin").0, 200);
    assert_eq!(put(engine, &wider(clocked()), "follow").0, 200);
    for _ in 0..3 {
        block_on(engine.tick()).unwrap();
    }
    world.at(15_000);
    evaluate(engine, "jammed", &event("e", "go"));
    evaluate(engine, "order", &event("e", "pay"));
    let body = json!({"events": [event("e", "ship"), event("f", "pay")]}).to_string();
    block_on(engine.evaluate_batch(Some(&t1()), "order", body.as_bytes())).unwrap();
    world
        .sqlite
        .execute("UPDATE entries SET state = 'nowhere' WHERE entity_id = 'e7'");
    // The due timers, the fair share, the batch, the pass's own commit.
    world.faulty.arm([(3, Fault::After)]);
    block_on(engine.tick()).unwrap();
    assert!(world.faulty.struck());
    block_on(engine.release_timers(&t1(), "jammed", "e")).unwrap();
    block_on(engine.scheduler(&t1())).unwrap();
    block_on(engine.get_entity(&t1(), "order", "e")).unwrap();
    for query in [
        EntityQuery::default(),
        EntityQuery {
            updated_since: Some("0".to_owned()),
            ..EntityQuery::default()
        },
        EntityQuery {
            state: Some("paid".to_owned()),
            ..EntityQuery::default()
        },
    ] {
        block_on(engine.list_entities(&t1(), "order", &query)).unwrap();
    }
    for order in [None, Some("id".to_owned())] {
        let query = HistoryQuery {
            order,
            ..HistoryQuery::default()
        };
        block_on(engine.history(&t1(), "order", "e", &query)).unwrap();
    }
    block_on(engine.list_machines(&t1(), &Paging::default())).unwrap();
    block_on(engine.revisions(&t1(), "order", &Paging::default())).unwrap();
    block_on(engine.counts(&t1(), "order")).unwrap();
    block_on(engine.get_machine(&t1(), "order")).unwrap();
    for entity in ["e", "f"] {
        assert_eq!(delete(engine, "order", entity).0, 204);
    }
    assert_eq!(delete_machine(engine, "order").0, 204);
    with_children(&world);
    world
}

/// The same with children of both kinds.
fn with_children(world: &World) {
    let engine = &world.engine;
    register_all(engine, &chain(3, "fresh"));
    register_all(engine, &shop());
    make(engine, "l0", "e");
    send(engine, "l0", &targeted("e", "step", Some(1), path(3)));
    send(engine, "l0", &family_event("e", "drop", Some(2)));
    send(engine, "shop", &family_event("s", "start", Some(1)));
    send(engine, "shop", &family_event("s", "picked", Some(2)));
    // A child that stands there already is adopted.
    create(engine, "flow", "r::sub::busy");
    send(engine, "shop", &family_event("r", "start", Some(1)));
    send(engine, "shop", &family_event("r", "picked", Some(2)));
    // An answer that is lost is found again with its numbers.
    world.faulty.arm([(1, Fault::After)]);
    send(engine, "l0", &family_event("e", "again", Some(3)));
    assert!(world.faulty.struck());
    for entity in ["s", "q"] {
        batch(
            engine,
            "shop",
            &[
                family_event(entity, "start", Some(4)),
                family_event(entity, "picked", Some(5)),
            ],
        );
    }
    batch(
        engine,
        "l0",
        &[
            family_event("f", "drop", Some(1)),
            family_event("g", "none", None),
        ],
    );
    block_on(engine.get_tree(&t1(), "l0", "e")).unwrap();
    // What a machine's kin need of a new head, whether it has all of it or not.
    for (child, status) in [("l2", 200), ("leaf", 409)] {
        let mut next = link("l1", child, "fresh");
        next["label"] = json!("next");
        let (found, body) = put(engine, &next, "follow");
        assert_eq!(found, status, "{body}");
    }
    // By another contract no entity of a tree can go on.
    let mut seed = shop().swap_remove(0);
    seed["contract"] = json!("statemachine-e1e4.v1");
    assert_eq!(put(engine, &seed, "follow").0, 409);
    for (machine, entity) in [("l0", "e"), ("shop", "s"), ("shop", "q"), ("shop", "r")] {
        assert_eq!(delete(engine, machine, entity).0, 204);
    }
    let (found, body) = put(engine, &seed, "follow");
    assert_eq!(found, 200, "{body}");
}

/// The texts of all files of a folder.
fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    texts
}

/// How many SQL constants the sources of the engine have.
fn constants() -> usize {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut found = 0;
    for source in sources(Path::new(folder)) {
        for line in source
            .lines()
            .map(|line| line.trim_start().trim_start_matches("pub(crate) "))
        {
            let Some(kind) = line.strip_prefix("const ").and_then(|line| line.split_once(": ")) else {
                continue;
            };
            if kind.1.starts_with("&str") {
                found += 1;
            } else if let Some(array) = kind.1.strip_prefix("[&str; ") {
                found += array.split_once(']').unwrap().0.parse::<usize>().unwrap();
            }
        }
    }
    found
}

/// The plan of a statement, line by line, each after its parents.
fn plan(world: &World, sql: &str) -> Vec<String> {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut paths: BTreeMap<i64, String> = BTreeMap::new();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let (id, parent): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
        let text: String = row.get(3).unwrap();
        let path = match paths.get(&parent) {
            Some(parent) => format!("{parent} > {text}"),
            None => text,
        };
        paths.insert(id, path.clone());
        lines.push(path);
    }
    lines
}

/// The name that a line of a plan reads, and how.
fn read_by(line: &str) -> Option<(&str, &str, &str)> {
    let (_, step) = line.rsplit_once(" > ").unwrap_or(("", line));
    let (kind, rest) = step.split_once(' ')?;
    let (name, how) = rest.split_once(' ').unwrap_or((rest, ""));
    ["SCAN", "SEARCH"].contains(&kind).then_some((kind, name, how))
}

/// Whether a name that is scanned stands for what the statement made itself: each table of that name is searched.
fn is_alias(sql: &str, plan: &[String], of: &str, name: &str) -> bool {
    let named = |table: &str| -> usize {
        let ends = [" ", ")", ","].iter();
        ends.map(|end| sql.matches(&format!(" {table} {name}{end}")).count())
            .sum()
    };
    let tables = [
        "entities",
        "entries",
        "history",
        "instances",
        "forwards",
        "revisions",
        "machines",
    ];
    let searched = plan
        .iter()
        .filter(|line| read_by(line).is_some_and(|(kind, read, _)| kind == "SEARCH" && read == name));
    named(of) > 0 && searched.count() >= tables.into_iter().map(named).sum()
}

/// The statements of the engine with their plans.
fn plans() -> Vec<(&'static str, Vec<String>)> {
    let world = everything();
    let statements: BTreeSet<&str> = world.sqlite.taken().into_iter().flatten().collect();
    assert_eq!(
        statements.len(),
        constants(),
        "a statement of the engine that this test does not run"
    );
    statements
        .into_iter()
        .map(|sql| (sql, plan(&world, sql)))
        .collect()
}

#[test]
fn no_statement_scans_a_table_or_makes_an_index_to_run() {
    for (sql, plan) in plans() {
        for line in &plan {
            assert!(!line.contains("AUTOMATIC"), "{sql}\n{plan:#?}");
            let Some(("SCAN", name, how)) = read_by(line) else {
                continue;
            };
            let made_here = plan.iter().any(|line| {
                let step = line.rsplit_once(" > ").map_or(line.as_str(), |(_, step)| step);
                let made = step
                    .split_once(' ')
                    .filter(|(kind, _)| ["CO-ROUTINE", "MATERIALIZE"].contains(kind));
                made.is_some_and(|(_, made)| made == name || is_alias(sql, &plan, made, name))
            });
            // The first row by key of the few machines that wait to be re-armed; the list of tables.
            let small = name == "rearms"
                && sql.contains("FROM rearms ORDER BY tenant, machine_id, revision LIMIT 1")
                || name == "sqlite_master";
            let computed = how.starts_with("VIRTUAL TABLE") || line.ends_with("SCAN CONSTANT ROW");
            assert!(made_here || small || computed, "{sql}\n{plan:#?}");
        }
    }
}

#[test]
fn every_search_uses_what_its_index_begins_with() {
    // Of each index, what must at least be known to look into it.
    let least = [
        (
            "sqlite_autoindex_entities_1",
            "(tenant=? AND machine_id=? AND entity_id",
        ),
        ("entities_by_update", "(tenant=? AND machine_id=?"),
        ("entries_by_state", "(tenant=? AND machine_id=?"),
        ("entries_by_wake", "(wake_at<?"),
        // A fair share leaps from tenant to tenant; what each statement knows of it is pinned below.
        ("entries_by_tenant_wake", "(tenant"),
        ("entries_troubled", "(tenant=?"),
        // By id, an entity's own rows are read and sorted; an event's look-up is pinned below.
        ("history_by_identity", "(uid=?"),
        ("history_by_time", "(uid=?"),
        ("sqlite_autoindex_revisions_1", "(tenant=? AND machine_id=?"),
        ("machines_by_creation", "(tenant=? AND"),
        ("instances_by_root", "(root_uid=?"),
    ];
    let mut seen = BTreeSet::new();
    for (sql, plan) in plans() {
        for line in &plan {
            let Some(("SEARCH", _, how)) = read_by(line) else {
                continue;
            };
            let Some((_, index)) = how.split_once("INDEX ") else {
                let by_key =
                    how.starts_with("USING PRIMARY KEY (") || how.starts_with("USING INTEGER PRIMARY KEY (");
                assert!(by_key || sql.contains("schema_version"), "{sql}\n{line}");
                continue;
            };
            let (index, known) = index.split_once(' ').unwrap();
            let (_, prefix) = least
                .iter()
                .find(|(name, _)| *name == index)
                .unwrap_or_else(|| panic!("`{index}` is not known here"));
            assert!(known.starts_with(prefix), "{sql}\n{line}");
            seen.insert(index.to_owned());
        }
    }
    for (index, _) in least {
        assert!(seen.contains(index), "no statement uses `{index}`");
    }
}

#[test]
fn lists_and_the_scanner_use_their_indexes_and_sort_a_page_at_the_most() {
    let plans = plans();
    let indexes = [
        (
            "FROM entries WHERE wake_at <= ?1 ORDER BY wake_at LIMIT ?2",
            "USING INDEX entries_by_wake",
        ),
        (
            "wake_at > ?2 AND wake_at <= ?3",
            "USING COVERING INDEX entries_by_tenant_wake (tenant=? AND wake_at>? AND wake_at<?)",
        ),
        (
            "(parked IS NOT NULL OR failures > 0)",
            "USING INDEX entries_troubled",
        ),
        (
            "AND q.entity_id < ?6 ORDER BY q.entity_id LIMIT",
            "q USING INDEX sqlite_autoindex_entities_1",
        ),
        (
            "ORDER BY q.updated_at, q.entity_id LIMIT",
            "q USING INDEX entities_by_update",
        ),
        ("s.state = ?8", "s USING COVERING INDEX entries_by_state"),
        (
            "(q.timestamp, q.id) >",
            "q USING INDEX history_by_time (uid=? AND timestamp>?",
        ),
        (
            "h.identity_key IN (SELECT value FROM json_each(?4))",
            "h USING INDEX history_by_identity (uid=? AND identity_key=?)",
        ),
        (
            "(m.created_at, m.machine_id) >",
            "m USING INDEX machines_by_creation",
        ),
        (
            "v.revision < ?4",
            "v USING INDEX sqlite_autoindex_revisions_1 (tenant=? AND machine_id=? AND revision<?)",
        ),
    ];
    for (part, index) in indexes {
        let found: Vec<_> = plans.iter().filter(|(sql, _)| sql.contains(part)).collect();
        assert_eq!(found.len(), 1, "{part}");
        let plan = &found[0].1;
        let place = plan.iter().position(|line| line.contains(index));
        let place = place.unwrap_or_else(|| panic!("{part}\n{plan:#?}"));
        // Nothing is sorted beside the step that reads the index: it gives the order, and a limit ends it.
        let beside = plan[place].rsplit_once(" > ").map_or("", |(parents, _)| parents);
        let sorts = plan.iter().any(|line| {
            line.rsplit_once(" > ")
                .is_some_and(|(parents, step)| parents == beside && step.starts_with("USE TEMP"))
        });
        assert!(!sorts || beside.is_empty(), "{part}\n{plan:#?}");
    }
}

#[test]
fn a_fair_share_leaps_over_tenants_and_reads_of_each_no_more_than_its_share() {
    let plans = plans();
    let (_, plan) = plans
        .iter()
        .find(|(sql, _)| sql.contains("PARTITION BY waiting.tenant"))
        .unwrap();
    let covering = "USING COVERING INDEX entries_by_tenant_wake";
    for step in [
        "RECURSIVE STEP > CORRELATED SCALAR SUBQUERY",
        &format!("SEARCH n {covering} (tenant>?)"),
        &format!("SEARCH n {covering} (tenant=? AND wake_at>?)"),
        &format!("SEARCH t {covering} (tenant=? AND wake_at>? AND wake_at<?)"),
        &format!("SEARCH k {covering} (tenant=? AND wake_at>? AND wake_at<?)"),
        "SEARCH n USING PRIMARY KEY (uid=? AND region=?)",
    ] {
        assert!(plan.iter().any(|line| line.contains(step)), "{step}\n{plan:#?}");
    }
}

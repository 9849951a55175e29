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
use statewright_core::ids::Millis;
use statewright_engine::EntityQuery;
use statewright_engine::error::Error;
use statewright_engine::history::HistoryQuery;
use statewright_engine::once::Once;
use statewright_engine::outbox_admin::OutboxQuery;
use statewright_engine::page::Paging;
use statewright_engine::signature::sign;
use support::families::{
    batch, chain, event as family_event, link, make, path, register_all, send, shop, targeted,
};
use support::faults::{Fault, Faulty};
use support::outside::{Act, Place, answers};
use support::world::{
    World, clocked, create, delete, delete_machine, evaluate, jammed, order, put, register, t1, wider,
};
use support::{START, block_on};

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
            updated_before: Some("9".to_owned()),
            ..EntityQuery::default()
        },
        EntityQuery {
            state: Some("paid".to_owned()),
            ..EntityQuery::default()
        },
    ] {
        block_on(engine.list_entities(&t1(), "order", &query)).unwrap();
    }
    for order in [None, Some("id".to_owned()), Some("newest".to_owned())] {
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
    with_effects(&world);
    world
}

/// The same with effects, receipts, records, secrets, subscriptions and webhooks that come in.
#[expect(clippy::too_many_lines, reason = "one operation after the other")]
fn with_effects(world: &World) {
    let place = Place::over(world.sqlite.clone());
    place.settings.borrow_mut().platform = Some(("https://platform.example".to_owned(), "key".to_owned()));
    let tokens = "https://platform.example/internal/ingest-tokens";
    place.outside.always(
        tokens,
        Act::Answer(0, 200, None, json!({"token": "t"}).to_string()),
    );
    let sink = |active: bool, source: &str| {
        json!({"source": source, "active": active,
        "sink": {"type": "webhook", "url": "https://sink.example/"}})
    };
    let calls = [
        json!({"type": "webhook", "url": "https://a.example/", "headers": {"x-key": {"secret": "key"}}}),
        json!({"type": "event", "event_type": "moved"}),
    ];
    let actions: Vec<Value> = calls
        .iter()
        .map(|call| json!({"on_enter": "on", "action": call}))
        .collect();
    place.register(
        &json!({"machine_id": "loud", "states": ["on"], "initial_state": "on", "actions": actions,
        "transitions": [{"from": "on", "to": "on", "on": "go"}]}),
    );
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for name in ["key", "webhook-signing"] {
        place.secret(name, secret);
    }
    let run = |name: &str, outcome: Result<Value, Error>| {
        outcome.unwrap_or_else(|error| panic!("{name}: {error:?}"))
    };
    run(
        "secrets",
        place
            .run(place.engine().list_secrets(&t1()))
            .map(|all| json!(all)),
    );
    run(
        "rotation",
        place
            .run(place.engine().rotate_secret(&t1(), "key", b"{}"))
            .map(|one| json!(one)),
    );
    place.run(place.engine().delete_secret(&t1(), "key")).unwrap();
    place.secret("key", secret);
    for (id, source) in [("m", "machines"), ("r", "records")] {
        place.subscribe(id, &sink(true, source));
    }
    place
        .run(place.engine().list_subscriptions(&t1(), &Paging::default()))
        .unwrap();
    // Tries, tokens that are not taken, and lanes that go on.
    place.outside.script("https://a.example/", [answers(500)]);
    place
        .outside
        .script("http://localhost:3030/ingest", [answers(401)]);
    let engine = place.engine();
    for _ in 0..2 {
        place.event_by(&engine, "loud", "e", "go");
    }
    assert_eq!(place.run(engine.deliver_claimed()).done, 6);
    // What is given back where an invocation may do no more, and a sink that does not answer.
    for entity in 0..12 {
        place.event_by(&engine, "loud", &format!("many{entity}"), "go");
    }
    let until = Millis(START + place.clock.at() + 50_000);
    assert!(place.run(engine.deliver_due(until, 1)).unwrap().more);
    for entity in 0..40 {
        place.event_by(&place.engine(), "loud", &format!("silent{entity}"), "go");
    }
    place.outside.always("https://a.example/", Act::Silence);
    place.clock.pass(400_000);
    place.pass();
    place.outside.always("https://a.example/", answers(200));
    place.clock.pass(400_000);
    place.passes(20);
    // An answer that is lost, whose effects are delivered all the same.
    let faulty = Faulty::new(world.sqlite.clone());
    let engine = place.engine_on(&faulty);
    place.event_by(&engine, "loud", "e", "none");
    faulty.arm([(1, Fault::After)]);
    place.event_by(&engine, "loud", "e", "go");
    assert!(faulty.struck());
    assert_eq!(place.run(engine.deliver_claimed()).done, 3);
    // Batches with and without a key, of which one is left to be tried again.
    let events =
        json!({"events": [event("e", "go"), event("f", "go"), event("f", "none"), {"event_type": 1}]})
            .to_string();
    let keyed = |key: &str, scope: &str, success: u16, body: &str| {
        let once = Once::request(key, scope, "", body.as_bytes(), success).unwrap();
        place.engine().keyed(once, Some(&t1()))
    };
    let batch = || keyed("batch", "POST /batch", 200, &events);
    place
        .run(batch().evaluate_batch(Some(&t1()), "loud", events.as_bytes()))
        .unwrap();
    let again = place.run(batch().evaluate_batch(Some(&t1()), "loud", events.as_bytes()));
    assert!(matches!(again, Err(Error::Replayed(_))), "{again:?}");
    let other = json!({"events": [event("g", "go")]}).to_string();
    let again = place.run(keyed("batch", "POST /batch", 200, &other).evaluate_batch(
        Some(&t1()),
        "loud",
        other.as_bytes(),
    ));
    assert!(matches!(again, Err(Error::IdempotencyMismatch(_))), "{again:?}");
    // More timeouts than one request applies: it is to be sent again.
    place.register(
        &json!({"machine_id": "ticking", "states": ["a"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "a", "on": "$timeout", "guard": {"after_ms": 100}}]}),
    );
    place.event("ticking", "g", "none");
    place.clock.pass(60_000);
    let left = keyed("left", "POST /batch", 200, &other);
    let left = place.run(left.evaluate_batch(Some(&t1()), "ticking", other.as_bytes()));
    assert_eq!(left.unwrap().failed, 1);
    // One event with a key, and once more when its receipt is expired.
    let one = event("h", "go").to_string();
    let evaluate = || {
        let engine = keyed("one", "POST /evaluate", 200, &one);
        place.run(async {
            let answer = engine.evaluate(Some(&t1()), "loud", one.as_bytes()).await?;
            engine.settle(200, None, Some("{}")).await?;
            Ok(answer)
        })
    };
    evaluate().unwrap();
    assert!(matches!(evaluate(), Err(Error::Replayed(_))));
    place.clock.pass(7 * 86_400_000);
    evaluate().unwrap();
    // Records.
    place.record("e");
    place.move_by(&place.engine(), "e", "a", 1, "b");
    place.run(place.engine().delete_subscription(&t1(), "r")).unwrap();
    let body = json!({"machine": "m", "id": "e", "from": "b", "to": "c", "expected_version": 2}).to_string();
    let engine = keyed("move", "POST /transition", 200, &body);
    place
        .run(engine.transition_record(&t1(), body.as_bytes()))
        .unwrap();
    let body = json!({"machine": "m", "id": "e"}).to_string();
    place
        .run(place.engine().get_record(&t1(), body.as_bytes()))
        .unwrap();
    // What is held, let go, sent again, called off, shown and purged.
    place.subscribe("m", &sink(false, "machines"));
    place.event("loud", "e", "go");
    place.sqlite.execute("UPDATE subscriptions SET active = 1");
    place.run(place.engine().upkeep()).unwrap();
    place.pass();
    place.outside.always("https://a.example/", answers(500));
    place.event("loud", "e", "go");
    let id = place
        .outbox()
        .into_iter()
        .find(|row| row["status"] == "pending")
        .unwrap();
    let id = id["id"].as_str().unwrap().to_owned();
    place.run(place.engine().cancel(&t1(), &id)).unwrap();
    place.run(place.engine().redrive(&t1(), &id)).unwrap();
    place.run(place.engine().get_outbox(&t1(), &id)).unwrap();
    for status in [None, Some("done"), Some("dead"), Some("pending")] {
        let query = OutboxQuery {
            status: status.map(str::to_owned),
            ..OutboxQuery::default()
        };
        place.run(place.engine().list_outbox(&t1(), &query)).unwrap();
    }
    for status in ["pending", "cancelled"] {
        let filter = json!({ "status": status }).to_string();
        place
            .run(place.engine().redrive_all(&t1(), filter.as_bytes()))
            .unwrap();
    }
    place.event("loud", "e", "go");
    let faulty = Faulty::new(world.sqlite.clone());
    faulty.arm([(1, Fault::After)]);
    place
        .run(place.engine_on(&faulty).cancel_all(&t1(), b"{}"))
        .unwrap();
    assert!(faulty.struck());
    place
        .run(place.engine().receipts(&t1(), "one", None, None))
        .unwrap();
    let identity = json!(["evt", "go", 1]).to_string();
    drop(place.run(place.engine().receipts(&t1(), &identity, Some("loud"), Some("e"))));
    place.run(place.engine().purge()).unwrap();
    // Webhooks.
    let source = json!({"machine": "loud", "scheme": {"type": "standard-webhooks"}, "secret": "key",
        "mapping": {"entity_id": "/id", "event_type": "/type"}})
    .to_string();
    place
        .run(place.engine().put_source(&t1(), "in", source.as_bytes()))
        .unwrap();
    place.run(place.engine().list_sources(&t1())).unwrap();
    place.run(place.engine().get_source(&t1(), "in")).unwrap();
    let body = json!({"id": "w", "type": "go"}).to_string();
    let seconds = (START + place.clock.at()) / 1000;
    let signature = sign(&[secret.to_owned()], "d", seconds, body.as_bytes());
    let headers = |name: &str| match name {
        "webhook-id" => Some("d".to_owned()),
        "webhook-timestamp" => Some(seconds.to_string()),
        "webhook-signature" => Some(signature.clone()),
        _ => None,
    };
    assert_eq!(
        place
            .run(place.engine().hook(&t1(), "in", &headers, body.as_bytes()))
            .unwrap()
            .status,
        200
    );
    let tried = json!({ "body": body }).to_string();
    place
        .run(place.engine().try_source(&t1(), "in", tried.as_bytes()))
        .unwrap();
    place.run(place.engine().delete_source(&t1(), "in")).unwrap();
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

/// What statements begin with.
const VERBS: [&str; 5] = ["SELECT ", "WITH ", "INSERT ", "UPDATE ", "DELETE "];

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
            let text = kind
                .1
                .strip_prefix("&str = ")
                .filter(|text| text.starts_with('"'));
            if text.is_some_and(|text| !VERBS.iter().any(|verb| text[1..].starts_with(verb))) {
                // No statement.
            } else if kind.1.starts_with("&str") {
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
        "outbox",
        "subscriptions",
        "inbox",
        "records",
        "secrets",
        "sources",
        "source_counts",
        "ingest_tokens",
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
        "a statement of the engine that this test does not run; it runs {statements:#?}"
    );
    statements
        .into_iter()
        .map(|sql| (sql, plan(&world, sql)))
        .collect()
}

/// Subqueries that read the first row of an index, where leaps over it begin.
const FIRST_ROWS: [&str; 2] = [
    "(SELECT tenant FROM outbox ORDER BY tenant LIMIT 1)",
    "FROM outbox WHERE held = 1 ORDER BY tenant, subscription LIMIT 1)",
];

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
                || name == "sqlite_master"
                || FIRST_ROWS
                    .iter()
                    .any(|first| name == "outbox" && sql.contains(first));
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
        ("inbox_by_entity", "(uid=?"),
        ("inbox_by_expiry", "(expires_at<?"),
        // Deliveries leap from tenant to tenant, and their upkeep from one that is held for to the next.
        ("outbox_due", "(tenant"),
        ("outbox_held", "("),
        ("outbox_closed", "(tenant=? AND status=?"),
        // Without a lane it is counted and listed, up to a bound: pinned below.
        ("outbox_lanes", "(tenant=?"),
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
                // What a statement has read itself, and counts.
                let made_here = how.is_empty() && line.contains("SEARCH (subquery-");
                assert!(
                    by_key || made_here || sql.contains("schema_version"),
                    "{sql}\n{line}"
                );
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
            "q USING INDEX entities_by_update (tenant=? AND machine_id=? AND (updated_at,entity_id)>(?,?) AND updated_at<?)",
        ),
        ("s.state = ?8", "s USING COVERING INDEX entries_by_state"),
        (
            "(q.timestamp, q.id) >",
            "q USING INDEX history_by_time (uid=? AND timestamp>?",
        ),
        (
            "(q.timestamp, q.id) <",
            "q USING INDEX history_by_time (uid=? AND timestamp<?",
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

#[test]
fn s4_183_deliveries_leap_over_tenants_and_read_of_each_no_more_than_its_share() {
    let plans = plans();
    let (_, plan) = plans
        .iter()
        .find(|(sql, _)| sql.contains("min(o.tenant) FROM outbox o INDEXED BY outbox_due"))
        .unwrap();
    for step in [
        "RECURSIVE STEP > CORRELATED SCALAR SUBQUERY",
        "outbox_due (tenant>?)",
        "outbox_due (tenant=? AND due_at<?)",
    ] {
        assert!(plan.iter().any(|line| line.contains(step)), "{step}\n{plan:#?}");
    }
    let claims: Vec<_> = plans
        .iter()
        .filter(|(sql, _)| sql.starts_with("WITH") && sql.contains("UPDATE outbox SET attempt = attempt + 1"))
        .collect();
    assert_eq!(claims.len(), 1);
    let (sql, plan) = claims[0];
    for line in plan {
        let Some(("SEARCH", name, how)) = read_by(line) else {
            continue;
        };
        let known = [
            "outbox_due (tenant=? AND due_at<?)",
            "outbox_due (tenant=? AND due_at>? AND due_at<?)",
            "PRIMARY KEY (tenant=? AND id=?)",
        ];
        assert!(
            known.iter().any(|known| how.ends_with(known)),
            "{name}: {sql}\n{line}"
        );
    }
}

#[test]
fn s4_183_no_statement_walks_the_effects_of_a_tenant_or_a_lane_but_lists_that_are_bounded() {
    for (sql, plan) in plans() {
        for line in &plan {
            let Some(("SEARCH", name, how)) = read_by(line) else {
                continue;
            };
            let is_outbox = name == "outbox" || sql.contains(&format!(" outbox {name}"));
            let walks =
                how.ends_with("PRIMARY KEY (tenant=?)") || how.ends_with("INDEX outbox_lanes (tenant=?)");
            let bounded = ["LIMIT 20000", "LIMIT 20001", "LIMIT 100000"];
            assert!(
                !is_outbox || !walks || bounded.iter().any(|bound| sql.contains(bound)),
                "{sql}\n{line}"
            );
        }
    }
}

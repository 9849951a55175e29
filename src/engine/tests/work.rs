//! How much work an operation is: in batches, and in steps of SQLite's machine, which no clock blurs. What is stored
//! beside the rows that an operation is about must not add to it.

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
use statewright_engine::EntityQuery;
use statewright_engine::history::HistoryQuery;
use statewright_engine::once::Once;
use statewright_engine::page::Paging;
use support::outside::{Act, OutEngine, Place};
use support::world::{
    World, WorldEngine, clocked, create, delete, evaluate, jammed, order, put, register, t1, wider,
};
use support::{START, block_on};

fn event(entity: &str, kind: &str, timestamp: i64) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}, "timestamp": timestamp})
}

/// A world with `many` entities of each machine, as many machines, revisions and rows of one entity's history.
fn filled(many: usize) -> Rc<World> {
    let world = World::new();
    for definition in [order(), clocked(), jammed()] {
        assert_eq!(register(&world.other, &definition).0, 201);
    }
    create(&world.other, "order", "e");
    create(&world.other, "clocked", "e");
    let numbers =
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many}) ");
    let far = START + 1_000_000_000;
    let fill = [
        "INSERT INTO entities SELECT 't1', 'order', printf('x%07d', i), printf('u%07d', i), 1, 1, 3, '{}', '{}', i, i FROM n".to_owned(),
        "INSERT INTO entries SELECT printf('u%07d', i), '_', 't1', 'order', printf('x%07d', i), 'paid', 1, 1, NULL, 1, NULL, NULL, 0, NULL, NULL FROM n".to_owned(),
        "INSERT INTO entities SELECT 't1', 'clocked', printf('x%07d', i), printf('c%07d', i), 1, 1, 3, '{}', '{}', i, i FROM n".to_owned(),
        format!("INSERT INTO entries SELECT printf('c%07d', i), 'a', 't1', 'clocked', printf('x%07d', i), 'idle', 1, {far}, NULL, 1, {far} + 10000, {far} + 10000, 0, NULL, NULL FROM n"),
        format!("INSERT INTO entries SELECT printf('c%07d', i), 'b', 't1', 'clocked', printf('x%07d', i), 'x', 2, {far}, NULL, 1, {far} + 20000, {far} + 20000, 0, NULL, NULL FROM n"),
        "INSERT INTO history SELECT NULL, (SELECT uid FROM entities WHERE machine_id = 'order' AND entity_id = 'e'), 'c', 1, '_', 'pending', 'pending', 'note', '{}', '[]', i, i, printf('[\"old\",%d]', i), '{\"via\":\"event\"}' FROM n".to_owned(),
        "INSERT INTO machines SELECT 't1', printf('m%07d', i), 1, 0, i, i FROM n".to_owned(),
        "INSERT INTO revisions SELECT 't1', printf('m%07d', i), 1, 1, NULL, 'h', NULL, '{\"machine_id\":\"m\"}', 'c', i, '[]' FROM n".to_owned(),
        "INSERT INTO revisions SELECT 't1', 'jammed', i + 1, i + 1, NULL, 'h', NULL, '{\"machine_id\":\"jammed\"}', 'c', i, '[]' FROM n".to_owned(),
        format!("UPDATE machines SET head = {many} WHERE machine_id = 'jammed'"),
        // Effects that are over, that wait in a lane of their own, that wait behind it, and another tenant's; receipts; records.
        effects("done", "'t1'", "printf('a%07d', i)", "NULL"),
        effects("pending", "'t1'", "'long'", "NULL"),
        effects("pending", "'t1'", "printf('w%07d', i)", &format!("{far} + i")),
        effects("pending", "'t2'", "printf('w%07d', i)", &format!("{far} + i")),
        "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, answer, outcome, uid, created_at, expires_at) SELECT 't1', printf('k%07d', i), 'POST /x', -1, 'f', 200, '{}', 'applied', printf('u%07d', i), 1, 9000000000000 FROM n".to_owned(),
        "INSERT INTO records SELECT 't1', 'm', printf('x%07d', i), printf('r%07d', i), 'a', 1, 'null', 'c', 1, 1 FROM n".to_owned(),
        "INSERT INTO entries SELECT printf('d%07d', i), 'a', 't2', 'other', printf('x%07d', i), 'idle', 1, 1, NULL, 1, NULL, NULL, 3, 'e', 'parked' FROM n".to_owned(),
    ];
    for sql in fill {
        let insert = if sql.starts_with("INSERT") {
            // `INSERT … WITH … SELECT` reads the numbers.
            let (into, select) = sql.split_once(" SELECT ").unwrap();
            format!("{into} {numbers} SELECT {select}")
        } else {
            sql
        };
        world.sqlite.execute(&insert);
    }
    // What is read first makes the caches warm.
    evaluate(&world.engine, "order", &event("warm", "note", 1));
    evaluate(&world.engine, "clocked", &event("warm", "note", 1));
    world
}

/// As many effects of a tenant in such a lane, due at a time.
fn effects(status: &str, tenant: &str, lane: &str, due: &str) -> String {
    let finished = if status == "pending" { "NULL" } else { "1" };
    format!(
        "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, effect, \
         due_at, created_at, finished_at) SELECT {tenant}, printf('0{status}%d%07d', length({lane}), i), 'e', 'webhook', '{status}', \
         {lane}, i, 0, {tenant} || char(10) || printf('s%07d', i), 't', 'order', 'x', '{{}}', {due}, 1, {finished} FROM n"
    )
}

/// What it is called, and what it does where there are so many of each.
type Work = (&'static str, fn(&WorldEngine, usize));

fn list(engine: &WorldEngine, query: &EntityQuery) -> usize {
    let page = block_on(engine.list_entities(&t1(), "order", query)).unwrap();
    page.items.len()
}

fn paging(cursor: Option<&Value>) -> Paging {
    let hex = |value: &Value| {
        let bytes = value.to_string().into_bytes();
        bytes
            .iter()
            .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    };
    Paging {
        limit: Some("50".to_owned()),
        cursor: cursor.map(hex),
    }
}

fn history(engine: &WorldEngine, order: Option<&str>, cursor: Option<&Value>) {
    let query = HistoryQuery {
        order: order.map(str::to_owned),
        paging: paging(cursor),
    };
    let page = block_on(engine.history(&t1(), "order", "e", &query)).unwrap();
    assert_eq!(page.items.len(), 50);
}

fn works() -> Vec<Work> {
    vec![
        ("an event", |engine, _| {
            assert_eq!(
                evaluate(engine, "order", &event("e", "pay", 7)).1["state_version"],
                2
            );
        }),
        ("an event that makes its entity", |engine, _| {
            assert_eq!(
                evaluate(engine, "order", &event("new", "pay", 7)).1["state_version"],
                2
            );
        }),
        ("an event without a transition", |engine, _| {
            assert_eq!(
                evaluate(engine, "order", &event("e", "ship", 7)).1["state_version"],
                1
            );
        }),
        ("a batch", |engine, _| {
            let events = [
                event("x0000001", "note", 7),
                event("e", "pay", 7),
                event("new", "pay", 7),
            ];
            let body = json!({ "events": events }).to_string();
            let answer = block_on(engine.evaluate_batch(Some(&t1()), "order", body.as_bytes())).unwrap();
            assert_eq!(answer.succeeded, 3);
        }),
        ("an entity", |engine, _| {
            block_on(engine.get_entity(&t1(), "order", "e")).unwrap();
        }),
        ("a creation", |engine, _| {
            assert_eq!(create(engine, "order", "new").0, 201);
        }),
        ("a deletion", |engine, _| {
            assert_eq!(delete(engine, "order", "x0000007").0, 204);
        }),
        ("a page by id", |engine, _| {
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        paging: paging(None),
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a later page by id", |engine, many| {
            let paging = paging(Some(&json!(format!("x{:07}", many - 60))));
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        paging,
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a later page by prefix", |engine, many| {
            let paging = paging(Some(&json!(format!("x{:07}", many - 60))));
            let prefix = Some("x".to_owned());
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        paging,
                        prefix,
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a page by state", |engine, _| {
            let state = Some("paid".to_owned());
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        state,
                        paging: paging(None),
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a later page by state", |engine, many| {
            let (state, paging) = (
                Some("paid".to_owned()),
                paging(Some(&json!(format!("x{:07}", many - 60)))),
            );
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        state,
                        paging,
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a page by update", |engine, _| {
            let updated_since = Some("100".to_owned());
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        updated_since,
                        paging: paging(None),
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a later page by update", |engine, many| {
            let (updated_since, paging) = (
                Some("1".to_owned()),
                paging(Some(&json!([many - 60, format!("x{:07}", many - 60)]))),
            );
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        updated_since,
                        paging,
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a page of history", |engine, _| history(engine, None, None)),
        ("a later page of history", |engine, many| {
            history(engine, None, Some(&json!([many - 60, many - 60])));
        }),
        ("a page of the newest history", |engine, _| {
            history(engine, Some("newest"), None);
        }),
        ("a page by update, up to a time", |engine, many| {
            let updated_before = Some((many - 60).to_string());
            assert_eq!(
                list(
                    engine,
                    &EntityQuery {
                        updated_before,
                        paging: paging(Some(&json!([many - 120, format!("x{:07}", many - 120)]))),
                        ..EntityQuery::default()
                    }
                ),
                50
            );
        }),
        ("a page of machines", |engine, _| {
            assert_eq!(
                block_on(engine.list_machines(&t1(), &paging(None)))
                    .unwrap()
                    .items
                    .len(),
                50
            );
        }),
        ("a later page of machines", |engine, many| {
            let page = block_on(engine.list_machines(
                &t1(),
                &paging(Some(&json!([many - 60, format!("m{:07}", many - 60)]))),
            ))
            .unwrap();
            assert_eq!(page.items.len(), 50);
        }),
        ("a page of revisions", |engine, _| {
            assert_eq!(
                block_on(engine.revisions(&t1(), "jammed", &paging(None)))
                    .unwrap()
                    .items
                    .len(),
                50
            );
        }),
        ("a later page of revisions", |engine, _| {
            let page = block_on(engine.revisions(&t1(), "jammed", &paging(Some(&json!(60))))).unwrap();
            assert_eq!(page.items.len(), 50);
        }),
        ("the scheduler's report", |engine, _| {
            block_on(engine.scheduler(&t1())).unwrap();
        }),
        ("a pass with nothing due", |engine, _| {
            let report = block_on(engine.tick()).unwrap();
            assert_eq!((report.scanned, report.rearmed), (0, 0));
        }),
    ]
}

/// Work that begins with what the others found: undone, and measured.
fn measured(world: &World, work: impl FnOnce()) -> i64 {
    world.sqlite.execute("SAVEPOINT before");
    let steps = world.sqlite.steps_of(work);
    world.sqlite.execute("ROLLBACK TO before");
    world.sqlite.execute("RELEASE before");
    steps
}

#[test]
fn s4_183_nothing_that_is_stored_beside_adds_to_the_work() {
    let all = |many: usize| -> BTreeMap<&str, i64> {
        let world = filled(many);
        let measure = |(name, work): Work| (name, measured(&world, || work(&world.engine, many)));
        works().into_iter().map(measure).collect()
    };
    let (few, many) = (all(300), all(6_000));
    for (name, steps) in many {
        // What a page's last rows hold may differ by a few steps.
        assert!(
            steps <= few[name] + few[name] / 50,
            "{name}: {steps} steps, not {}",
            few[name]
        );
    }
}

/// A world with `armed` timers of another machine, that are not due for an hour.
fn armed(armed: usize) -> Rc<World> {
    let world = World::new();
    for definition in [clocked(), jammed()] {
        assert_eq!(register(&world.other, &definition).0, 201);
    }
    let far = START + 3_600_000;
    world.sqlite.execute(&format!(
        "INSERT INTO entries WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {armed}) \
         SELECT printf('u%07d', i), 'a', printf('t%d', i % 7), 'clocked', printf('x%07d', i), 'idle', 1, 1, NULL, 1, \
           {far} + i, {far} + i, 0, NULL, NULL FROM n"
    ));
    world
}

#[test]
fn s4_187_a_pass_costs_what_is_due_and_not_what_is_armed() {
    let all = |many: usize| -> Vec<(&str, i64)> {
        let world = armed(many);
        let idle = measured(&world, || {
            assert_eq!(block_on(world.engine.tick()).unwrap().scanned, 0);
        });
        for entity in 0..20 {
            create(&world.other, "clocked", &format!("e{entity}"));
        }
        create(&world.other, "jammed", "e");
        world.at(15_000);
        let scheduler = measured(&world, || {
            let report = block_on(world.engine.scheduler(&t1())).unwrap();
            assert_eq!(report.overdue[0].timers, 21);
        });
        let busy = measured(&world, || {
            let report = block_on(world.engine.tick()).unwrap();
            assert_eq!((report.fired, report.parked), (20, 1));
        });
        vec![("idle", idle), ("scheduler", scheduler), ("busy", busy)]
    };
    assert_eq!(all(100), all(100_000));
}

#[test]
fn a_pass_with_a_backlog_is_bounded() {
    let all = |many: usize| -> i64 {
        let world = armed(many);
        world.at(100_000_000);
        measured(&world, || {
            let report = block_on(world.engine.tick()).unwrap();
            assert_eq!((report.scanned, report.more), (256, true));
        })
    };
    let (window, beyond) = (all(20_000), all(60_000));
    assert!(beyond <= window + window / 50, "{beyond} steps, not {window}");
}

#[test]
fn re_arming_takes_a_bounded_part_of_a_machine_in_each_pass() {
    let all = |many: usize| -> Vec<i64> {
        let world = filled(many);
        assert_eq!(put(&world.other, &wider(clocked()), "follow").0, 200);
        let mut steps = Vec::new();
        for _ in 0..2 {
            steps.push(world.sqlite.steps_of(|| {
                assert_eq!(block_on(world.engine.tick()).unwrap().rearmed, 200);
            }));
        }
        steps
    };
    for (few, many) in all(500).into_iter().zip(all(6_000)) {
        assert!(many <= few + few / 50, "{many} steps, not {few}");
    }
}

/// A machine that calls for a webhook, an entity of it, a subscription of each kind, and a record.
fn loud(world: &World) -> Place {
    let place = Place::over(world.sqlite.clone());
    let action = json!({"type": "webhook", "url": "https://a.example/"});
    place.register(
        &json!({"machine_id": "loud", "states": ["on"], "initial_state": "on",
        "transitions": [{"from": "on", "to": "on", "on": "go"}],
        "actions": [{"on_enter": "on", "action": action}]}),
    );
    for source in ["machines", "records"] {
        let sink = json!({"type": "webhook", "url": "https://sink.example/"});
        place.subscribe(source, &json!({"source": source, "sink": sink}));
    }
    place.record("e");
    place.event("loud", "e", "none");
    place
}

/// What it is called, and what it does.
type Effect = (&'static str, fn(&Place));

fn of_effects() -> Vec<Effect> {
    fn keyed(place: &Place) -> OutEngine {
        let once = Once::request("k", "POST /x", "", b"{}", 200).unwrap();
        place.engine().keyed(once, Some(&t1()))
    }
    vec![
        ("an event with effects", |place| {
            place.event_by(&place.engine(), "loud", "e", "go");
        }),
        ("an event with a key", |place| {
            place.event_by(&keyed(place), "loud", "e", "go");
        }),
        ("an event and the delivery of its effects", |place| {
            assert_eq!(place.event("loud", "e", "go").1.done, 2);
        }),
        ("a move of a record and its delivery", |place| {
            let engine = place.engine();
            place.move_by(&engine, "e", "a", 1, "b");
            assert_eq!(place.run(engine.deliver_claimed()).done, 1);
        }),
        ("a pass with nothing due", |place| {
            assert_eq!(place.pass().done, 0);
        }),
        ("a pass with one due", |place| {
            place.event_by(&place.engine(), "loud", "e", "go");
            place.sqlite.execute(
                "UPDATE outbox SET due_at = 1, claimed = 0 WHERE machine_id = 'loud' AND kind = 'webhook'",
            );
            assert_eq!(place.pass().done, 1);
        }),
        ("an effect", |place| {
            place.event_by(&place.engine(), "loud", "e", "go");
            let id = place.sqlite.connection.borrow().query_row(
                "SELECT id FROM outbox WHERE machine_id = 'loud' AND kind = 'webhook'",
                [],
                |row| row.get::<_, String>(0),
            );
            place.run(place.engine().get_outbox(&t1(), &id.unwrap())).unwrap();
        }),
        ("what became of a key", |place| {
            place
                .run(place.engine().receipts(&t1(), "k0000007", None, None))
                .unwrap();
        }),
    ]
}

#[test]
fn s4_183_what_is_stored_beside_adds_nothing_to_effects_keys_and_records() {
    let all = |many: usize| -> BTreeMap<&str, i64> {
        let world = filled(many);
        let place = loud(&world);
        let measure = |(name, work): Effect| (name, measured(&world, || work(&place)));
        of_effects().into_iter().map(measure).collect()
    };
    let (few, many) = (all(300), all(6_000));
    for (name, steps) in many {
        assert!(
            steps <= few[name] + few[name] / 50,
            "{name}: {steps} steps, not {}",
            few[name]
        );
    }
}

#[test]
fn i7_a_lane_with_a_long_tail_costs_no_more_to_go_on_with() {
    let all = |many: usize| -> i64 {
        let world = filled(300);
        let place = loud(&world);
        let engine = place.engine();
        place.event_by(&engine, "loud", "e", "go");
        // What waits behind the first of its lane.
        world.sqlite.execute(&format!(
            "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
             effect, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many}) \
             SELECT o.tenant, printf('z%07d', i), 'e', 'webhook', 'pending', o.lane, 10 + i, 0, o.sink, o.target, 'loud', 'e', \
             o.effect, 1 FROM n CROSS JOIN (SELECT * FROM outbox WHERE machine_id = 'loud' AND kind = 'webhook') o"
        ));
        measured(&world, || {
            // The first is sent, and the next one let go and claimed; then time is over.
            place
                .outside
                .always("https://a.example/", Act::Answer(8_000, 200, None, String::new()));
            place.run(engine.deliver_claimed());
        })
    };
    let (short, long) = (all(100), all(5_000));
    assert!(long <= short + short / 50, "{long} steps, not {short}");
}

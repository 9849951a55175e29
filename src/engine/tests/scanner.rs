//! The scanner: what a pass takes, in which order, and what it leaves (S2.93, S2.102, S4.170 to S4.188, M5, M6, I5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use statewright_engine::scanner::{PASS_TIMERS, ScanReport};
use support::expiring::{event, expiring, in_state, machine, make, number, tick};
use support::world::{World, create, evaluate, jammed, put, register, t1};
use support::{START, block_on};

fn scheduler(world: &World) -> Value {
    serde_json::to_value(block_on(world.engine.scheduler(&t1())).unwrap()).unwrap()
}

#[test]
fn s4_174_a_pass_takes_the_oldest_and_no_more_than_its_bound() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    // Made in an order that is not the order of their names.
    for i in 0..300_i64 {
        world.at(i);
        make(&world, "t1", &format!("e{:03}", (i * 7) % 300));
    }
    world.at(20_000);
    let report = tick(&world);
    assert_eq!(
        (report.scanned, report.fired, report.more),
        (PASS_TIMERS, PASS_TIMERS, true),
        "{report:?}"
    );
    assert_eq!(report.lag_ms, 10_000);
    let left: BTreeSet<String> = (256..300).map(|i| format!("t1/e{:03}", (i * 7) % 300)).collect();
    assert_eq!(in_state(&world, "open"), left, "the youngest are left");
    let report = tick(&world);
    assert_eq!(
        (report.scanned, report.fired, report.more),
        (44, 44, false),
        "{report:?}"
    );
    assert_eq!(report.lag_ms, 20_000 - 10_256);
    assert_eq!(tick(&world).scanned, 0);
}

#[test]
fn a_backlog_of_one_tenant_does_not_hold_up_the_others() {
    let world = World::new();
    for name in ["t1", "t2", "t3"] {
        machine(&world, name, &expiring());
    }
    for i in 0..600 {
        make(&world, "t1", &format!("e{i:03}"));
    }
    world.at(5_000);
    make(&world, "t2", "late");
    for i in 0..200 {
        make(&world, "t3", &format!("e{i:03}"));
    }
    world.at(20_000);
    let report = tick(&world);
    assert_eq!((report.fired, report.more), (PASS_TIMERS, true), "{report:?}");
    let fired = in_state(&world, "expired");
    assert!(
        fired.contains("t2/late"),
        "the one timer of t2 waits behind 600 of t1"
    );
    let of = |name: &str| fired.iter().filter(|id| id.starts_with(name)).count();
    assert!(
        of("t1/").abs_diff(of("t3/")) <= 1,
        "{} and {}",
        of("t1/"),
        of("t3/")
    );
    // All come in the end.
    for _ in 0..4 {
        tick(&world);
    }
    assert_eq!(in_state(&world, "open").len(), 0);
}

#[test]
fn no_backlog_is_so_large_that_another_tenant_waits_behind_it() {
    let world = World::new();
    for name in ["t1", "t2"] {
        machine(&world, name, &expiring());
    }
    let n = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)";
    let due = START + 10_000;
    for rows in [
        format!(
            "INSERT INTO entities {n} SELECT 't1', 'expiring', printf('e%05d', i), printf('u%05d', i), 1, 1, 2, \
             '{{}}', '{{}}', {START}, {START} FROM n"
        ),
        format!(
            "INSERT INTO entries {n} SELECT printf('u%05d', i), '_', 't1', 'expiring', printf('e%05d', i), 'open', \
             1, {START}, NULL, 1, {due}, {due}, 0, NULL, NULL FROM n"
        ),
    ] {
        world.sqlite.execute(&rows);
    }
    world.at(5_000);
    make(&world, "t2", "late");
    world.at(20_000);
    let report = tick(&world);
    assert_eq!((report.fired, report.more), (PASS_TIMERS, true), "{report:?}");
    let fired = in_state(&world, "expired");
    assert!(
        fired.contains("t2/late"),
        "the one timer of t2 waits behind 30,000 of t1"
    );
    assert_eq!(fired.len(), PASS_TIMERS, "what t2 does not need goes to t1");
}

/// What can be wrong with the rows of the entity `bad`.
fn corruptions() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        (
            "an unknown state",
            vec!["UPDATE entries SET state = 'nowhere' WHERE entity_id = 'bad'"],
        ),
        (
            "an unknown region",
            vec!["UPDATE entries SET region = 'r9' WHERE entity_id = 'bad'"],
        ),
        (
            "a number that no counter has",
            vec![
                "DROP TRIGGER entries_moved",
                "UPDATE entries SET seq = -1 WHERE entity_id = 'bad'",
            ],
        ),
        (
            "a context that is no JSON",
            vec![
                "DROP TRIGGER entities_moved",
                "UPDATE entities SET context = '{' WHERE entity_id = 'bad'",
            ],
        ),
        (
            "a context that is no object",
            vec![
                "DROP TRIGGER entities_moved",
                "UPDATE entities SET context = '[]' WHERE entity_id = 'bad'",
            ],
        ),
        (
            "an unknown revision",
            vec![
                "DROP TRIGGER entities_moved",
                "UPDATE entities SET revision = 7 WHERE entity_id = 'bad'",
            ],
        ),
        (
            "a definition that is none",
            vec![
                "DROP TRIGGER entities_moved",
                "INSERT INTO revisions SELECT tenant, machine_id, 7, 7, NULL, 'broken', NULL, '{', 'c', 0, '[]' FROM revisions \
             WHERE revision = 1",
                "UPDATE entities SET revision = 7 WHERE entity_id = 'bad'",
            ],
        ),
        (
            "a name that is none",
            vec!["UPDATE entries SET entity_id = 'b' || char(10) WHERE entity_id = 'bad'"],
        ),
    ]
}

#[test]
fn s2_102_s4_175_m8_a_corrupt_entity_stops_no_other_and_is_tried_less_and_less_often() {
    for (what, damage) in corruptions() {
        let world = World::new();
        machine(&world, "t1", &expiring());
        make(&world, "t1", "bad");
        world.at(1_000);
        make(&world, "t1", "good");
        for sql in damage {
            world.sqlite.execute(sql);
        }
        let next_try =
            |world: &World| number(world, "SELECT wake_at FROM entries WHERE failures > 0").unwrap();
        world.at(15_000);
        let report = tick(&world);
        assert_eq!(
            (report.due, report.fired, report.failed),
            (2, 1, 1),
            "{what}: {report:?}"
        );
        assert_eq!(
            in_state(&world, "expired"),
            BTreeSet::from(["t1/good".to_owned()]),
            "{what}"
        );
        assert_eq!(next_try(&world), START + 25_000, "{what}");
        let listed = scheduler(&world);
        let failing = &listed["failing"][0];
        assert_eq!(failing["failures"], 1, "{what}: {listed}");
        assert!(
            failing["error"].as_str().unwrap().contains(": "),
            "{what}: {listed}"
        );
        assert_eq!(failing["next_try_at"], START + 25_000, "{what}");
        assert_eq!(listed["parked"], json!([]), "{what}");
        world.at(24_999);
        assert_eq!(tick(&world).scanned, 0, "{what}");
        // 20 s, 40 s, …, and never more than an hour.
        let mut now = 25_000;
        for wait in [
            20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 1_280_000, 2_560_000, 3_600_000, 3_600_000,
        ] {
            world.at(now);
            let report = tick(&world);
            assert_eq!(
                (report.scanned, report.failed, report.fired),
                (1, 1, 0),
                "{what}: {report:?}"
            );
            assert_eq!(next_try(&world), START + now + wait, "{what}");
            now += wait;
        }
        assert_eq!(scheduler(&world)["failing"][0]["failures"], 11, "{what}");
    }
}

#[test]
fn a_corrupt_entity_that_is_repaired_fires_and_its_failures_are_forgotten() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    make(&world, "t1", "bad");
    world.sqlite.execute("UPDATE entries SET state = 'nowhere'");
    world.at(15_000);
    assert_eq!(tick(&world).failed, 1);
    world.sqlite.execute("UPDATE entries SET state = 'open'");
    world.at(25_000);
    assert_eq!(tick(&world).fired, 1);
    assert_eq!(scheduler(&world)["failing"], json!([]));
    assert_eq!(
        number(&world, "SELECT entered_at FROM entries"),
        Some(START + 10_000),
        "R5: when it was due"
    );
}

#[test]
fn timers_without_an_entity_do_not_fill_the_passes() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    for i in 0..300 {
        make(&world, "t1", &format!("gone{i}"));
    }
    world.at(1_000);
    make(&world, "t1", "good");
    world
        .sqlite
        .execute("DELETE FROM entities WHERE entity_id LIKE 'gone%'");
    world.at(15_000);
    let reports = [tick(&world), tick(&world)];
    assert_eq!(reports[0].stale, PASS_TIMERS, "{:?}", reports[0]);
    assert_eq!(reports[1].fired, 1, "{:?}", reports[1]);
    assert_eq!(tick(&world).scanned, 0);
}

#[test]
fn m6_a_parked_timer_is_listed_left_alone_and_freed_by_hand() {
    let world = World::new();
    register(&world.other, &jammed());
    create(&world.other, "jammed", "e");
    world.at(15_000);
    let report = tick(&world);
    assert_eq!(
        (report.scanned, report.fired, report.parked, report.failed),
        (1, 0, 1, 0),
        "{report:?}"
    );
    let parked = &scheduler(&world)["parked"];
    assert_eq!(parked.as_array().unwrap().len(), 1);
    assert_eq!(
        (&parked[0]["entity_id"], &parked[0]["region"]),
        (&json!("e"), &json!("a"))
    );
    assert_eq!(parked[0]["due_at"], START + 10_000);
    assert!(
        parked[0]["error"]
            .as_str()
            .unwrap()
            .starts_with("JOIN_CASCADE_LIMIT: "),
        "{parked}"
    );
    assert_eq!(scheduler(&world)["failing"], json!([]));
    assert_eq!(
        world.sqlite.count("history"),
        0,
        "it writes no history and no version"
    );
    assert_eq!(number(&world, "SELECT state_version FROM entities"), Some(1));
    // Not retried in a loop; events go on.
    world.at(100_000);
    assert_eq!(tick(&world).scanned, 0);
    let (status, answer) = evaluate(&world.engine, "jammed", &event("e", "go"));
    assert_eq!((status, &answer["transition"]), (200, &json!("c: open → shut")));
    assert_eq!(
        tick(&world).scanned,
        0,
        "an event in another region frees nothing"
    );
    let entity = block_on(world.engine.get_entity(&t1(), "jammed", "e")).unwrap();
    let entity = serde_json::to_value(entity).unwrap();
    assert!(entity["region_entries"]["a"]["parked"].is_string(), "{entity}");
    // By hand: it is due at once, and refused again.
    assert_eq!(
        block_on(world.engine.release_timers(&t1(), "jammed", "e")).unwrap(),
        1
    );
    assert_eq!(scheduler(&world)["parked"], json!([]));
    assert_eq!(tick(&world).parked, 1);
    assert_eq!(
        block_on(world.engine.release_timers(&t1(), "jammed", "e")).unwrap(),
        1
    );
    assert_eq!(
        block_on(world.engine.release_timers(&t1(), "jammed", "e")).unwrap(),
        0
    );
    let missing = block_on(world.engine.release_timers(&t1(), "jammed", "none")).unwrap_err();
    assert_eq!(missing.status(), 404);
}

#[test]
fn m6_a_new_revision_frees_a_parked_timer() {
    let world = World::new();
    register(&world.other, &jammed());
    create(&world.other, "jammed", "e");
    world.at(15_000);
    assert_eq!(tick(&world).parked, 1);
    let mut mended = jammed();
    mended["joins"] = json!([]);
    assert_eq!(put(&world.other, &mended, "follow").0, 200);
    let reports = [tick(&world), tick(&world)];
    assert_eq!(
        reports.iter().map(|report| report.fired).sum::<usize>(),
        1,
        "{reports:?}"
    );
    assert_eq!(
        number(&world, "SELECT entered_at FROM entries WHERE region = 'a'"),
        Some(START + 10_000)
    );
    assert_eq!(scheduler(&world)["parked"], json!([]));
    assert_eq!(world.sqlite.count("history"), 1);
}

#[test]
fn i5_what_the_index_says_too_early_is_corrected_and_does_not_fire() {
    let world = World::new();
    machine(&world, "t1", &expiring());
    make(&world, "t1", "e");
    world
        .sqlite
        .execute(&format!("UPDATE entries SET wake_at = {}", START + 2_000));
    world.at(3_000);
    let report = tick(&world);
    assert_eq!(
        (report.scanned, report.due, report.fired, report.more),
        (1, 1, 0, false),
        "{report:?}"
    );
    assert_eq!(
        number(&world, "SELECT wake_at FROM entries"),
        Some(START + 10_000)
    );
    assert_eq!(world.sqlite.count("history"), 0);
    world.at(10_000);
    assert_eq!(tick(&world).fired, 1);
}

#[test]
fn s4_172_a_report_tells_what_the_pass_did_and_is_kept() {
    let world = World::new();
    assert_eq!(scheduler(&world)["last_pass"], Value::Null);
    register(&world.other, &jammed());
    create(&world.other, "jammed", "jam");
    machine(&world, "t1", &expiring());
    make(&world, "t1", "bad");
    world
        .sqlite
        .execute("UPDATE entries SET state = 'nowhere' WHERE entity_id = 'bad'");
    world.at(2_000);
    for entity in ["e", "f", "g"] {
        make(&world, "t1", entity);
    }
    world.at(17_000);
    let report = tick(&world);
    assert_eq!(
        report,
        ScanReport {
            at: START + 17_000,
            scanned: 5,
            due: 5,
            fired: 3,
            stale: 0,
            parked: 1,
            failed: 1,
            rearmed: 0,
            lag_ms: 7_000,
            more: false,
        }
    );
    assert_eq!(
        scheduler(&world)["last_pass"],
        serde_json::to_value(&report).unwrap()
    );
    world.at(18_000);
    let idle = tick(&world);
    assert_eq!(
        idle,
        ScanReport {
            at: START + 18_000,
            ..ScanReport::default()
        }
    );
    assert_eq!(
        scheduler(&world)["last_pass"],
        serde_json::to_value(&idle).unwrap()
    );
}

#[test]
fn overdue_timers_are_counted_by_lateness_and_by_tenant() {
    let world = World::new();
    for name in ["t1", "t2"] {
        machine(&world, name, &expiring());
    }
    // When each was due, before the time of the report.
    let lateness = [
        -1,
        0,
        1,
        9_999,
        10_000,
        59_999,
        60_000,
        599_999,
        600_000,
        3_599_999,
        3_600_000,
        86_399_999,
        86_400_000,
        900_000_000,
    ];
    for (i, late) in lateness.iter().enumerate() {
        world.at(1_000_000_000 - 10_000 - late);
        make(&world, "t1", &format!("e{i}"));
    }
    make(&world, "t2", "other");
    world.at(1_000_000_000);
    let report = scheduler(&world);
    let buckets: Vec<_> = report["overdue"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| {
            (
                bucket["from_ms"].as_i64().unwrap(),
                bucket["to_ms"].as_i64(),
                bucket["timers"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        buckets,
        [
            (0, Some(10_000), 3),
            (10_000, Some(60_000), 2),
            (60_000, Some(600_000), 2),
            (600_000, Some(3_600_000), 2),
            (3_600_000, Some(86_400_000), 2),
            (86_400_000, None, 2),
        ]
    );
}

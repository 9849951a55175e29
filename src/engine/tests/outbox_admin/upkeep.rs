//! What is purged, and what is not.

use serde_json::json;

use crate::admin::{Row, assert_lanes, insert, insert_many, names};
use crate::support::block_on;
use crate::support::faults::Fault;
use crate::support::world::{World, t1};

/// Lets the scanner's upkeep run so often.
fn upkeep(world: &World, times: usize) {
    for _ in 0..times {
        block_on(world.engine.upkeep()).unwrap();
    }
}

/// What a tenant keeps, in milliseconds: the default of `STATE_RETENTION`.
const KEPT: i64 = 2_592_000_000;

#[test]
fn s0_52_what_has_been_over_for_as_long_as_it_is_kept_is_purged_and_nothing_else() {
    let world = World::new();
    let old = |name: &str, status: &'static str| Row::over(name, 1, name, 1, status);
    let mut late = old("e", "done");
    late.finished = Some(1_000);
    let mut foreign = old("f", "dead");
    foreign.tenant = "t2";
    let mut rows = vec![
        old("a", "done"),
        old("b", "dead"),
        old("c", "skipped"),
        old("d", "cancelled"),
        late,
        foreign,
        Row::due("p", 1, "p", 1),
        Row::queued("q", 1, "p", 2),
        Row::held("h", 1, "h", 1, "s"),
        Row::claimed("k", 1, "k", 1, 9),
    ];
    rows.push(Row::over("y", 10, "y", 1, "done"));
    insert(&world, &rows);
    let body = json!({"source": "records", "active": false, "sink": {"type": "queue", "binding": "Q"}});
    block_on(
        world
            .other
            .put_subscription(&t1(), "s", body.to_string().as_bytes()),
    )
    .unwrap();
    // What ended at 6 is there until its time is over, and gone then.
    world.at(KEPT + 5);
    upkeep(&world, 3);
    assert_eq!(world.sqlite.count("outbox"), 11);
    world.at(KEPT + 6);
    upkeep(&world, 1);
    assert_eq!(names(&world, ""), "y q p k h e");
    world.at(KEPT * 50);
    upkeep(&world, 3);
    assert_eq!(names(&world, ""), "q p k h");
    assert_lanes(&world);
}

#[test]
fn s0_52_a_pass_purges_a_bounded_number_and_passes_come_to_an_end() {
    let world = World::new();
    insert_many(&world, 5_000, 10, "done", "'l' || number", "m");
    for tenant in ["t0", "t2", "t3", "t4", "t5", "t6"] {
        let number = tenant[1..].parse::<i64>().unwrap();
        let mut row = Row::over("x", 20 + number, "x", 1, "done");
        row.tenant = tenant;
        insert(&world, &[row]);
    }
    world.at(KEPT + 100_000);
    upkeep(&world, 1);
    let left = world.sqlite.count("outbox");
    assert!((3_000..5_000).contains(&left), "{left}");
    upkeep(&world, 30);
    assert_eq!(world.sqlite.count("outbox"), 0);
}

#[test]
fn s0_52_rows_that_stay_pending_for_long_keep_nothing_from_being_purged() {
    let world = World::new();
    insert_many(&world, 3_000, 10, "pending", "'l' || number", "m");
    insert_many(&world, 600, 2_000, "done", "'d' || number", "m");
    world.at(KEPT + 1_000_000_000);
    let mut passes = 0;
    while world.sqlite.count("outbox WHERE status = 'done'") > 0 {
        upkeep(&world, 1);
        passes += 1;
        assert!(passes < 500, "they are never found");
    }
    assert_eq!(world.sqlite.count("outbox"), 3_000);
}

#[test]
fn a_failure_of_the_upkeep_is_told_and_the_next_goes_on() {
    let world = World::new();
    insert(&world, &[Row::over("a", 1, "l", 1, "done")]);
    world.at(KEPT + 100);
    world.faulty.arm([(0, Fault::Before)]);
    assert_eq!(block_on(world.engine.upkeep()).unwrap_err().status(), 500);
    assert_eq!(world.sqlite.count("outbox"), 1);
    upkeep(&world, 1);
    assert_eq!(world.sqlite.count("outbox"), 0);
}

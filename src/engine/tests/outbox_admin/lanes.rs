//! Redrive and cancel: what becomes of a row, and of its lane.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::admin::{
    Row, all_kinds, assert_lanes, cancel, cancel_all, code, dump, insert, insert_many, lane, redrive,
    redrive_all, stored, writes,
};
use crate::support::world::{World, t1};
use crate::support::{START, block_on};

#[test]
fn s2_120_what_is_over_is_sent_again_with_all_its_tries() {
    for status in ["dead", "cancelled", "skipped"] {
        let world = World::new();
        let mut row = Row::over("a", 1, "l", 1, status);
        row.denied = Some(3);
        insert(&world, &[row.clone()]);
        world.at(100);
        let (code, item, _) = redrive(&world.engine, &row.id());
        assert_eq!(code, 200, "{item}");
        assert_eq!(
            (
                &item["status"],
                &item["phase"],
                &item["due_at"],
                &item["finished_at"],
                &item["attempt"]
            ),
            (
                &json!("pending"),
                &json!("due"),
                &json!(START + 100),
                &Value::Null,
                &json!(2)
            )
        );
        // Attempts and claims count on: the receiver sees one id with ever higher attempts, and an old claim stays fenced.
        assert_eq!(
            stored(&world, &row.id()),
            json!({"status": "pending", "attempt": 2, "tries": 0, "claim": 2, "claimed": 0, "held": 0, "due": 100,
                "finished": null, "denied": null})
        );
    }
}

#[test]
fn what_waits_is_tried_now_and_what_is_under_way_or_done_is_not_touched() {
    let world = all_kinds();
    let id = |name: &str, at: i64| Row::due(name, at, "", 1).id();
    // It waits for its next try.
    let (status, item, _) = redrive(&world.engine, &id("w", 30));
    assert_eq!(
        (status, &item["phase"], &item["due_at"]),
        (200, &json!("due"), &json!(START + 100))
    );
    let row = stored(&world, &id("w", 30));
    assert_eq!(
        (&row["due"], &row["tries"], &row["attempt"]),
        (&json!(100), &json!(0), &json!(1))
    );
    // It is due, or waits for its turn: nothing is to be done.
    world.sqlite.taken();
    let before = dump(&world);
    for (name, at, phase) in [("u", 35, "due"), ("q", 40, "queued")] {
        let (status, item, _) = redrive(&world.engine, &id(name, at));
        assert_eq!((status, &item["phase"]), (200, &json!(phase)));
    }
    // It is being sent, even where its claim has run out; it is done.
    for (name, at) in [("c", 25), ("s", 20), ("o", 1)] {
        assert_eq!(
            code(&redrive(&world.engine, &id(name, at))),
            (409, json!("OUTBOX_STATUS")),
            "{name}"
        );
    }
    assert_eq!((writes(&world), dump(&world)), (0, before));
    // It is held: it is offered once more, and held again if need be.
    let (status, item, _) = redrive(&world.engine, &id("h", 45));
    assert_eq!((status, &item["phase"]), (200, &json!("due")));
    assert_eq!(lane(&world, "lh"), ["1 due 100"]);
    assert_lanes(&world);
}

#[test]
fn a_record_s_event_that_nobody_was_to_be_told_of_is_not_sent_again() {
    let world = World::new();
    let mut row = Row::over("a", 1, "r:u", 2, "skipped");
    row.kind = "presentation";
    insert(
        &world,
        &[
            row.clone(),
            Row::over("b", 2, "lb", 1, "skipped").presented("gone"),
        ],
    );
    let reply = redrive(&world.engine, &row.id());
    assert_eq!(code(&reply), (409, json!("OUTBOX_STATUS")));
    let (_, all, _) = redrive_all(&world.engine, &json!({"status": "skipped"}));
    assert_eq!(all, json!({"redriven": 1, "more": false}));
    assert_eq!(stored(&world, &row.id())["status"], json!("skipped"));
    assert_eq!(lane(&world, "lb"), ["1 due 0"]);
}

#[test]
fn i7_a_redriven_row_waits_while_its_lane_is_on_its_way() {
    let claimed = Row::claimed("o", 5, "l", 9, 900);
    let due = Row::due("o", 5, "l", 9);
    let waiting = Row {
        due: Some(700),
        ..Row::due("o", 5, "l", 9)
    };
    // What is being sent goes first; what only waits comes after what is earlier than it.
    for (other, redriven, last) in [
        (claimed, ["1 queued", "9 claimed 900"], "1 due 120"),
        (due, ["1 due 100", "9 queued"], "9 due 120"),
        (waiting, ["1 due 100", "9 queued"], "9 due 120"),
    ] {
        let world = World::new();
        let dead = Row::over("a", 1, "l", 1, "dead");
        insert(
            &world,
            &[dead.clone(), Row::over("b", 2, "l", 2, "dead"), other.clone()],
        );
        world.at(100);
        let (_, item, _) = redrive(&world.engine, &dead.id());
        let first = redriven[0] == "1 due 100";
        assert_eq!(item["phase"], json!(if first { "due" } else { "queued" }));
        assert_eq!(item["due_at"], json!(first.then_some(START + 100)));
        assert_eq!(lane(&world, "l"), redriven);
        assert_lanes(&world);
        // The one whose turn it was ends, and the other goes on.
        let end = format!(
            "UPDATE outbox SET status = 'done', finished_at = {}, due_at = NULL, claimed = 0 WHERE id = '{}'",
            START + 120,
            if first { dead.id() } else { other.id() }
        );
        world.sqlite.execute(&end);
        assert_eq!(lane(&world, "l"), [last]);
    }
    // Behind a lane that is held it waits as well, and goes first when that is let go.
    let world = World::new();
    let dead = Row::over("a", 1, "l", 1, "dead").presented("s");
    insert(
        &world,
        &[
            dead.clone(),
            Row::queued("b", 2, "l", 3).presented("s"),
            Row::held("h", 3, "l", 2, "s"),
        ],
    );
    world.at(100);
    let (_, item, _) = redrive(&world.engine, &dead.id());
    assert_eq!(lane(&world, "l")[1..], ["2 held", "3 queued"]);
    assert_eq!(
        item["phase"],
        if lane(&world, "l")[0] == "1 queued" {
            json!("queued")
        } else {
            json!("due")
        }
    );
    assert_lanes(&world);
}

#[test]
fn cancel_ends_what_is_pending_and_the_lane_goes_on() {
    let id = |name: &str, at: i64| Row::due(name, at, "", 1).id();
    for (name, at, was, may) in [
        ("u", 35, "due", false),
        ("w", 30, "waiting", false),
        ("q", 40, "queued", false),
        ("h", 45, "held", false),
        ("c", 25, "claimed", true),
        ("s", 20, "due", true),
    ] {
        let world = all_kinds();
        let before = stored(&world, &id(name, at));
        let (status, item, _) = cancel(&world.engine, &id(name, at));
        assert_eq!(status, 200, "{item}");
        assert_eq!(
            (
                &item["status"],
                &item["phase"],
                &item["due_at"],
                &item["finished_at"]
            ),
            (
                &json!("cancelled"),
                &Value::Null,
                &Value::Null,
                &json!(START + 100)
            )
        );
        assert_eq!(
            (&item["was"], &item["may_be_delivered"]),
            (&json!(was), &json!(may)),
            "{name}"
        );
        let after = stored(&world, &id(name, at));
        assert_eq!(
            (&after["claimed"], &after["held"], &after["due"]),
            (&json!(0), &json!(0), &Value::Null)
        );
        // Whoever has claimed it is fenced off.
        assert_eq!(
            after["claim"].as_i64(),
            before["claim"].as_i64().map(|claim| claim + 1)
        );
        assert_eq!(after["attempt"], before["attempt"]);
        let expected: &[&str] = match name {
            "u" => &["2 due 100"],
            "q" => &["1 due 35"],
            _ => &["1 due 35", "2 queued"],
        };
        assert_eq!(lane(&world, "lu"), expected, "{name}");
        assert_lanes(&world);
        assert_eq!(
            code(&cancel(&world.engine, &id(name, at))),
            (409, json!("OUTBOX_STATUS"))
        );
    }
    let world = all_kinds();
    for (name, at) in [("o", 1), ("d", 5), ("x", 10), ("k", 15)] {
        assert_eq!(
            code(&cancel(&world.engine, &id(name, at))),
            (409, json!("OUTBOX_STATUS"))
        );
    }
}

#[test]
fn i7_whatever_is_cancelled_a_lane_sends_one_at_a_time() {
    // The first of a held lane: what was queued behind it is offered.
    let world = World::new();
    let held = Row::held("h", 1, "l", 1, "s");
    insert(
        &world,
        &[held.clone(), Row::queued("q", 2, "l", 2).presented("s")],
    );
    world.at(100);
    cancel(&world.engine, &held.id());
    assert_eq!(lane(&world, "l"), ["2 due 100"]);
    // One that waits behind another, while an earlier one was redriven behind that.
    let world = World::new();
    let last = Row::queued("q", 3, "l", 3);
    insert(
        &world,
        &[
            Row::queued("r", 1, "l", 1),
            Row::claimed("c", 2, "l", 2, 900),
            last.clone(),
        ],
    );
    cancel(&world.engine, &last.id());
    assert_eq!(lane(&world, "l"), ["1 queued", "2 claimed 900"]);
    assert_lanes(&world);
}

#[test]
fn many_are_redriven_at_once_and_each_lane_begins_with_its_first() {
    let world = World::new();
    insert_many(&world, 2_500, 10, "dead", "'l' || (number % 5)", "many");
    insert(
        &world,
        &[
            Row::over("d", 1, "other", 1, "dead"),
            Row::claimed("c", 2, "l1", 9_999, 900),
            Row::over("x", 3, "l2", 0, "cancelled"),
        ],
    );
    world.at(100);
    let body = json!({"machine": "many"});
    let (status, first, _) = redrive_all(&world.engine, &body);
    assert_eq!(
        (status, &first["redriven"], &first["more"]),
        (200, &json!(1_000), &json!(true))
    );
    assert_lanes(&world);
    assert_eq!(redrive_all(&world.engine, &body).1["redriven"], json!(1_000));
    assert_eq!(
        redrive_all(&world.engine, &body).1,
        json!({"redriven": 500, "more": false})
    );
    assert_eq!(
        redrive_all(&world.engine, &body).1,
        json!({"redriven": 0, "more": false})
    );
    assert_lanes(&world);
    assert_eq!(world.sqlite.count("outbox WHERE status = 'pending'"), 2_501);
    assert_eq!(
        world
            .sqlite
            .count("outbox WHERE status = 'pending' AND due_at IS NOT NULL"),
        5
    );
    assert_eq!(lane(&world, "l1").last().unwrap(), "9999 claimed 900");
    assert_eq!(world.sqlite.count("outbox WHERE status <> 'pending'"), 2);

    // And called off again, the oldest first.
    let (_, cancelled, _) = cancel_all(&world.engine, &json!({"machine": "order"}));
    assert_eq!(cancelled, json!({"cancelled": 1, "more": false}));
    let (_, cancelled, _) = cancel_all(&world.engine, &body);
    assert_eq!(
        (&cancelled["cancelled"], &cancelled["more"]),
        (&json!(1_000), &json!(true))
    );
    assert_lanes(&world);
    assert_eq!(
        world
            .sqlite
            .count("outbox WHERE status = 'pending' AND version < 1000"),
        0
    );
}

#[test]
fn a_call_for_many_that_looks_at_all_it_may_says_where_to_go_on() {
    let world = World::new();
    insert(&world, &[Row::over("d", 1, "l", 1, "dead")]);
    insert_many(&world, 20_000, 10, "dead", "'l' || number", "many");
    let (_, first, _) = redrive_all(&world.engine, &json!({"machine": "order"}));
    assert_eq!((&first["redriven"], &first["more"]), (&json!(0), &json!(true)));
    let (_, second, _) = redrive_all(
        &world.engine,
        &json!({"machine": "order", "cursor": first["cursor"]}),
    );
    assert_eq!(second, json!({"redriven": 1, "more": false}));
}

#[test]
fn a_call_for_many_takes_what_fits_alone() {
    for (body, redriven) in [
        (json!({}), "d"),
        (json!({"status": "dead", "machine": "order", "entity": "e"}), "d"),
        (json!({"status": "dead", "machine": "task"}), ""),
        (json!({"status": "skipped", "entity": "t-1"}), "k"),
        (json!({"status": "cancelled", "older_than": START + 11}), "x"),
        (json!({"status": "cancelled", "newer_than": START + 10}), ""),
        (json!({"status": "pending"}), "w"),
    ] {
        let world = all_kinds();
        let before: BTreeSet<String> = dump(&world).lines().map(str::to_owned).collect();
        let (status, told, _) = redrive_all(&world.engine, &body);
        assert_eq!(
            (status, &told["redriven"]),
            (200, &json!(usize::from(!redriven.is_empty()))),
            "{body}"
        );
        let after = dump(&world);
        let changed: Vec<_> = after.lines().filter(|line| !before.contains(*line)).collect();
        assert_eq!(changed.len(), usize::from(!redriven.is_empty()), "{body}");
        assert!(
            changed
                .iter()
                .all(|line| line.contains(&format!("{redriven}___"))),
            "{body}"
        );
        assert_lanes(&world);
    }
    for (body, cancelled) in [
        (json!({}), 6),
        (json!({"status": "pending", "machine": "slow"}), 1),
        (json!({"older_than": START + 35}), 3),
        (json!({"newer_than": START + 35}), 2),
        (json!({"entity": "t-1"}), 0),
    ] {
        let world = all_kinds();
        let (status, told, _) = cancel_all(&world.engine, &body);
        assert_eq!(
            (status, told),
            (200, json!({"cancelled": cancelled, "more": false})),
            "{body}"
        );
        assert_eq!(
            world.sqlite.count("outbox WHERE status = 'pending'"),
            6 - cancelled
        );
        assert_lanes(&world);
    }
}

/// Numbers of chance that repeat.
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

#[test]
fn i7_lanes_stay_whole_whatever_is_done_in_which_order() {
    for seed in 0..40 {
        let world = World::new();
        let mut chance = Chance(seed);
        let subscription = |active: bool| {
            let body =
                json!({"source": "records", "active": active, "sink": {"type": "queue", "binding": "Q"}});
            block_on(
                world
                    .other
                    .put_subscription(&t1(), "s", body.to_string().as_bytes()),
            )
            .unwrap();
        };
        subscription(true);
        let mut rows = Vec::new();
        for number in 0..9_i64 {
            let lane = format!("l{}", number % 2);
            let row = if number < 2 {
                Row::due(&format!("{number}"), number, &lane, number)
            } else {
                Row::queued(&format!("{number}"), number, &lane, number)
            };
            rows.push(row.presented("s"));
        }
        insert(&world, &rows);
        let mut active = true;
        for step in 0..60 {
            world.at(100 + step);
            let now = START + 100 + step;
            let id = rows[chance.below(rows.len())].id();
            let what = chance.below(9);
            match what {
                0 | 1 => drop(redrive(&world.engine, &id)),
                2 => drop(cancel(&world.engine, &id)),
                3 => {
                    active = !active;
                    subscription(active);
                }
                4 if chance.below(4) == 0 => {
                    drop(redrive_all(&world.engine, &json!({"status": "cancelled"})));
                }
                4 if chance.below(4) == 0 => drop(cancel_all(&world.engine, &json!({}))),
                // Deliveries: what is due is claimed; what is claimed ends, waits, or is held where its subscription is suspended.
                5 | 6 => {
                    world.sqlite.execute(&format!(
                        "UPDATE outbox SET claimed = 1, claim = claim + 1, attempt = attempt + 1, due_at = {} \
                         WHERE id = '{id}' AND due_at <= {now}",
                        now + 300
                    ));
                }
                _ => {
                    let outcome = match chance.below(3) {
                        _ if !active => "held = 1, due_at = NULL".to_owned(),
                        0 => format!("status = 'done', finished_at = {now}, due_at = NULL"),
                        1 => format!("status = 'dead', finished_at = {now}, due_at = NULL"),
                        _ => format!("due_at = {}", now + 3),
                    };
                    world.sqlite.execute(&format!(
                        "UPDATE outbox SET claimed = 0, {outcome} WHERE id = '{id}' AND claimed = 1"
                    ));
                }
            }
            assert_lanes(&world);
        }
        // In the end all of it can go out.
        subscription(true);
        block_on(world.other.upkeep()).unwrap();
        assert_eq!(world.sqlite.count("outbox WHERE held = 1"), 0);
        assert_lanes(&world);
    }
}

//! The outbox as its tenant sees it: lists within bounds, redrive and cancel that keep lanes in order, once for a key whatever
//! fails; and what is purged (S0.49, S0.52, S2.120; design 4, 5; I3, I7, I9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

#[path = "support/admin.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
mod admin;
mod support;

use std::collections::BTreeSet;
use std::rc::Rc;

use admin::{
    Row, assert_lanes, assert_searches, dump, faults, insert, keyed, lane, plans, prefix, stored, told,
    writes,
};
use serde_json::{Value, json};
use statewright_engine::outbox_admin::OutboxQuery;
use statewright_engine::page::Paging;
use statewright_engine::{DefinitionCache, Engine};
use support::faults::Fault;
use support::world::{Reply, World, WorldEngine, t1};
use support::{Counted, START, block_on, tenant};

/// What `a=b&c=d` asks for.
fn query(text: &str) -> OutboxQuery {
    let get = |name: &str| {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
            .next()
    };
    OutboxQuery {
        status: get("status"),
        machine: get("machine"),
        entity: get("entity"),
        older_than: get("older_than"),
        newer_than: get("newer_than"),
        paging: Paging {
            limit: get("limit"),
            cursor: get("cursor"),
        },
    }
}

/// A page: its body, and the next cursor.
fn list(world: &World, text: &str) -> (Value, Option<String>) {
    let list = block_on(world.engine.list_outbox(&t1(), &query(text))).unwrap();
    let next = list.next.clone();
    (serde_json::to_value(list).unwrap(), next)
}

/// The names of a page's rows.
fn names(world: &World, text: &str) -> String {
    let (body, next) = list(world, text);
    assert_eq!(next, None, "{text}");
    names_of(&body)
}

fn names_of(body: &Value) -> String {
    let name = |item: &Value| {
        item["id"].as_str().unwrap()[9..25]
            .trim_end_matches('_')
            .to_owned()
    };
    body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(" ")
}

/// All pages of a list: the names, and how many pages there were.
fn pages(world: &World, text: &str) -> (String, usize) {
    let (mut all, mut cursor, mut count) = (Vec::new(), None::<String>, 0);
    loop {
        let text = cursor.map_or_else(|| text.to_owned(), |cursor| format!("{text}&cursor={cursor}"));
        let (body, next) = list(world, &text);
        let names = names_of(&body);
        if !names.is_empty() {
            all.push(names);
        }
        count += 1;
        assert!(count < 1000, "pages without end");
        cursor = next;
        if cursor.is_none() {
            return (all.join(" "), count);
        }
    }
}

fn redrive(engine: &WorldEngine, id: &str) -> (u16, Value, bool) {
    told(200, block_on(engine.redrive(&t1(), id)))
}

fn cancel(engine: &WorldEngine, id: &str) -> (u16, Value, bool) {
    told(200, block_on(engine.cancel(&t1(), id)))
}

fn redrive_all(engine: &WorldEngine, body: &Value) -> (u16, Value, bool) {
    told(
        200,
        block_on(engine.redrive_all(&t1(), body.to_string().as_bytes())),
    )
}

fn cancel_all(engine: &WorldEngine, body: &Value) -> (u16, Value, bool) {
    told(
        200,
        block_on(engine.cancel_all(&t1(), body.to_string().as_bytes())),
    )
}

fn code(reply: &(u16, Value, bool)) -> Reply {
    (reply.0, reply.1["error"]["code"].clone())
}

/// Rows of every status and phase; the clock at 100.
fn all_kinds() -> Rc<World> {
    let world = World::new();
    let mut waiting = Row::due("w", 30, "lw", 4);
    (waiting.due, waiting.attempt, waiting.tries, waiting.error) = (Some(500), 1, 1, Some("it answered 500"));
    let mut stale = Row::claimed("s", 20, "ls", 1, 90);
    stale.machine = "slow";
    let mut skipped = Row::over("k", 15, "lk", 1, "skipped").presented("gone");
    (skipped.machine, skipped.entity) = ("task", "t-1");
    insert(
        &world,
        &[
            Row::over("o", 1, "lo", 1, "done"),
            Row::over("d", 5, "lo", 2, "dead"),
            Row::over("x", 10, "lo", 3, "cancelled"),
            skipped,
            stale,
            Row::claimed("c", 25, "lc", 1, 900),
            waiting,
            Row::due("u", 35, "lu", 1),
            Row::queued("q", 40, "lu", 2),
            Row::held("h", 45, "lh", 1, "sub"),
        ],
    );
    world.at(100);
    world
}

#[test]
fn a_list_shows_what_waits_for_what_the_newest_first() {
    let world = all_kinds();
    let (body, next) = list(&world, "");
    assert_eq!(next, None);
    assert_eq!(names_of(&body), "h q u w c s k x d o");
    assert_eq!(
        body["counts"],
        json!({"pending": 6, "done": 1, "skipped": 1, "dead": 1, "cancelled": 1})
    );
    assert_eq!(body["oldest_pending"], json!(START + 20));
    let phases: Vec<_> = body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["phase"])
        .collect();
    assert_eq!(
        json!(phases),
        json!([
            "held", "queued", "due", "waiting", "claimed", "due", null, null, null, null
        ])
    );
    let id = Row::due("w", 30, "lw", 4).id();
    assert_eq!(
        body["items"][3],
        json!({"id": id, "event_id": id, "kind": "webhook", "status": "pending", "phase": "waiting", "machine_id": "order",
            "entity_id": "e", "version": 4, "attempt": 1, "sink": "https://example.com/hook", "created_at": START + 30,
            "due_at": START + 500, "finished_at": null, "error": "it answered 500"})
    );
    assert_eq!(body["items"][6]["sink"], json!("gone"));
    assert_eq!(body["items"][6]["finished_at"], json!(START + 20));
    // Nothing at all.
    let empty = World::new();
    let (body, _) = list(&empty, "status=pending");
    assert_eq!(
        body,
        json!({"counts": {"pending": 0, "done": 0, "skipped": 0, "dead": 0, "cancelled": 0}, "oldest_pending": null,
            "items": []})
    );
}

#[test]
fn a_list_is_filtered_by_status_machine_entity_and_age() {
    let world = all_kinds();
    for (text, found) in [
        ("status=pending", "s c w u q h"),
        ("status=done", "o"),
        ("status=dead", "d"),
        ("status=skipped", "k"),
        ("status=cancelled", "x"),
        ("machine=task", "k"),
        ("machine=order&status=pending", "c w u q h"),
        ("machine=slow&status=dead", ""),
        ("entity=t-1", "k"),
        ("entity=t-1&machine=order", ""),
        ("entity=t-1&machine=task&status=skipped", "k"),
        ("machine=none", ""),
    ] {
        assert_eq!(names(&world, text), found, "{text}");
    }
    // Made before a time, and after it; not at it.
    let (at_20, at_35) = (START + 20, START + 35);
    for (text, found) in [
        (format!("older_than={at_20}"), "k x d o"),
        (format!("newer_than={at_35}"), "h q"),
        (format!("newer_than={at_20}&older_than={at_35}"), "w c"),
        (format!("newer_than={at_20}&status=pending"), "c w u q h"),
        (format!("older_than={at_35}&status=pending"), "s c w"),
        (format!("newer_than={at_20}&status=dead"), ""),
        ("older_than=-5".to_owned(), ""),
        (format!("older_than={}", 1_i64 << 53), "h q u w c s k x d o"),
        ("newer_than=-5&older_than=0".to_owned(), ""),
        (format!("newer_than={}", 1_i64 << 53), ""),
        ("newer_than=-5".to_owned(), "h q u w c s k x d o"),
    ] {
        assert_eq!(names(&world, &text), found, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_query_is_told() {
    let world = all_kinds();
    for (text, path) in [
        ("status=waiting", "status"),
        ("status=Dead", "status"),
        ("older_than=yesterday", "older_than"),
        ("newer_than=9007199254740993", "newer_than"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("cursor=zz", "cursor"),
        ("cursor=31", "cursor"),
        ("machine=a\u{0}b", "machine"),
        ("entity=a\nb", "entity"),
    ] {
        let error = block_on(world.engine.list_outbox(&t1(), &query(text))).unwrap_err();
        assert_eq!(
            (error.status(), &error.body()["error"]["path"]),
            (400, &json!(path)),
            "{text}"
        );
    }
    for (body, path) in [
        (json!([]), "$"),
        (json!({"status": "done"}), "$.status"),
        (json!({"status": 1}), "$.status"),
        (json!({"machine": 1}), "$.machine"),
        (json!({"older_than": "1"}), "$.older_than"),
        (json!({"newer_than": 1.5}), "$.newer_than"),
        (json!({"limit": 1}), "$[\"limit\"]"),
        (json!({"entity": "a\u{0}"}), "entity"),
        (json!({"cursor": "zz"}), "cursor"),
    ] {
        let before = dump(&world);
        for (status, told, _) in [
            redrive_all(&world.engine, &body),
            cancel_all(&world.engine, &body),
        ] {
            assert_eq!((status, &told["error"]["path"]), (400, &json!(path)), "{body}");
        }
        assert_eq!(dump(&world), before);
    }
    // What is over is not cancelled.
    assert_eq!(cancel_all(&world.engine, &json!({"status": "dead"})).0, 400);
    assert_eq!(
        block_on(world.engine.cancel_all(&t1(), b""))
            .unwrap_err()
            .status(),
        400
    );
}

/// Many rows at once: `number` is 0 to `count` - 1 in SQL.
fn insert_many(world: &World, count: i64, from: i64, status: &str, lane: &str, machine: &str) {
    let over = if status == "pending" {
        "NULL"
    } else {
        "?2 + number"
    };
    let sql = format!(
        "WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?1 - 1) \
         INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, effect, \
           due_at, created_at, finished_at) \
         SELECT 't1', ?3 || printf('%08d', number) || '________.0', 'e', 'webhook', '{status}', {lane}, number, 0, 't1' || char(10) || 's', \
           'https://example.com/', '{machine}', 'e', '{{}}', CASE WHEN '{status}' = 'pending' THEN ?2 + 1000000 END, ?2, {over} \
         FROM numbers"
    );
    let connection = world.sqlite.connection.borrow();
    connection
        .execute(&sql, rusqlite::params![count, START + from, prefix(from)])
        .unwrap();
}

#[test]
fn r18_pages_of_a_list_come_to_every_row_once() {
    let world = all_kinds();
    insert_many(&world, 7, 60, "pending", "'m' || number", "many");
    insert_many(&world, 7, 61, "dead", "'m' || number", "many");
    for (text, count) in [
        ("", 24),
        ("status=pending", 13),
        ("status=dead", 8),
        ("machine=many", 14),
        ("machine=many&status=pending", 7),
        ("machine=order", 8),
    ] {
        let whole = names(&world, text);
        assert_eq!(whole.split(' ').count(), count, "{text}");
        for limit in [1, 3, 5, 24] {
            let (all, pages) = pages(&world, &format!("{text}&limit={limit}"));
            assert_eq!(all, whole, "{text} by {limit}");
            assert_eq!(pages, count.div_ceil(limit), "{text} by {limit}");
        }
    }
}

#[test]
fn a_page_looks_at_a_bounded_number_of_rows_and_says_where_to_go_on() {
    let world = World::new();
    insert(&world, &[Row::over("first", 1, "l", 1, "dead")]);
    insert_many(&world, 20_000, 10, "dead", "'l'", "many");
    insert(&world, &[Row::over("last", 20, "l", 1, "dead")]);
    for text in ["machine=order", "machine=order&status=dead"] {
        let (body, next) = list(&world, text);
        assert_eq!(names_of(&body), "last", "{text}");
        let next = next.expect("there are others behind those that were looked at");
        let (body, next) = list(&world, &format!("{text}&cursor={next}"));
        assert_eq!((names_of(&body), next), ("first".to_owned(), None), "{text}");
    }
    // A page that is full looks no further.
    let few = world.sqlite.steps_of(|| {
        block_on(world.engine.list_outbox(&t1(), &query("limit=10&status=dead"))).unwrap();
    });
    let counting = world.sqlite.steps_of(|| {
        block_on(world.engine.list_outbox(&t1(), &query("limit=10&status=skipped"))).unwrap();
    });
    assert!(few - counting < 5_000, "{few} - {counting}");
    // Each is counted up to 10,000.
    assert_eq!(list(&world, "limit=1").0["counts"]["dead"], json!(10_000));
}

#[test]
fn pending_rows_beyond_what_is_sorted_come_in_order_too() {
    let world = World::new();
    insert_many(&world, 300, 5, "done", "'d' || number", "other");
    insert_many(&world, 20_001, 10, "pending", "'l' || number", "many");
    insert_many(&world, 1, 4, "pending", "'k' || number", "other");
    let (body, _) = list(&world, "status=pending&limit=3");
    assert_eq!(names_of(&body), "00000000 00000000 00000001");
    assert_eq!(body["oldest_pending"], json!(START + 4));
    assert_eq!(body["counts"]["pending"], json!(10_000));
    assert_eq!(
        body["counts"]["done"],
        json!(0),
        "they are counted among the newest 20,000 rows"
    );
    let (all, pages) = pages(&world, "status=pending&limit=1000");
    let all: Vec<_> = all.split(' ').collect();
    assert_eq!((all.len(), pages), (20_002, 21));
    assert!(all[1..].is_sorted());
}

#[test]
fn i9_a_row_shows_its_effect_without_secrets_to_its_tenant_alone() {
    let world = World::new();
    let mut row = Row::over("a", 1, "l", 1, "dead");
    row.effect = json!({"kind": "webhook", "url": "https://example.com/hook?key=1", "method": "PUT", "headers": {
        "x-plain": "p", "authorization": {"secret": "token", "prefix": "Bearer "}}, "body": "{\"a\":1}"});
    row.attempts = json!([{"attempt": 1, "at": START, "ms": 12, "status": 500, "error": "it answered 500", "body": "no"},
        {"attempt": 2, "at": START + 1, "ms": 10_000, "status": null, "error": "no answer", "body": null}]);
    row.error = Some("no answer");
    let id = row.id();
    insert(&world, &[row.clone()]);
    let entry = block_on(world.engine.get_outbox(&t1(), &id)).unwrap();
    let entry = serde_json::to_value(entry).unwrap();
    assert_eq!(
        entry["effect"],
        json!({"kind": "webhook", "url": "https://example.com/hook?key=1", "method": "PUT",
            "headers": {"x-plain": "p", "authorization": {"secret": "token"}}, "body": "{\"a\":1}"})
    );
    assert_eq!(entry["attempts"], row.attempts);
    assert_eq!(
        (&entry["status"], &entry["error"]),
        (&json!("dead"), &json!("no answer"))
    );

    let other = tenant("t2");
    let before = dump(&world);
    for id in [id.as_str(), "none"] {
        for error in [
            block_on(world.engine.get_outbox(&other, id)).unwrap_err(),
            block_on(world.engine.redrive(&other, id)).unwrap_err(),
            block_on(world.engine.cancel(&other, id)).unwrap_err(),
        ] {
            assert_eq!(
                (error.status(), &error.body()["error"]["code"]),
                (404, &json!("NOT_FOUND"))
            );
        }
    }
    assert_eq!(
        block_on(world.engine.redrive_all(&other, b"{}"))
            .unwrap()
            .redriven,
        0
    );
    assert_eq!(
        block_on(world.engine.cancel_all(&other, b"{}"))
            .unwrap()
            .cancelled,
        0
    );
    let list = block_on(world.engine.list_outbox(&other, &OutboxQuery::default())).unwrap();
    assert_eq!((list.items.len(), list.counts.dead), (0, 0));
    assert_eq!(dump(&world), before);
    assert_eq!(
        block_on(world.engine.get_outbox(&t1(), "a\u{0}"))
            .unwrap_err()
            .status(),
        400
    );
}

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
    for (other, at_first) in [
        (Row::claimed("o", 5, "l", 9, 900), "9 claimed 900"),
        (Row::due("o", 5, "l", 9), "9 due 5"),
        (
            Row {
                due: Some(700),
                ..Row::due("o", 5, "l", 9)
            },
            "9 due 700",
        ),
    ] {
        let world = World::new();
        let dead = Row::over("a", 1, "l", 1, "dead");
        insert(
            &world,
            &[dead.clone(), Row::over("b", 2, "l", 2, "dead"), other.clone()],
        );
        world.at(100);
        let (_, item, _) = redrive(&world.engine, &dead.id());
        assert_eq!(
            (&item["phase"], &item["due_at"]),
            (&json!("queued"), &Value::Null)
        );
        assert_eq!(lane(&world, "l"), ["1 queued", at_first]);
        assert_lanes(&world);
        // What was on its way ends, and the earliest goes on.
        let end = format!(
            "UPDATE outbox SET status = 'done', finished_at = {}, due_at = NULL, claimed = 0 WHERE id = '{}'",
            START + 120,
            other.id()
        );
        world.sqlite.execute(&end);
        assert_eq!(lane(&world, "l"), ["1 due 120"]);
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

/// A change as one request, on a world of its own.
struct Change {
    name: &'static str,
    scope: String,
    body: &'static str,
    run: fn(&WorldEngine) -> (u16, Value, bool),
}

const DEAD: (&str, i64) = ("d", 5);

fn dead() -> String {
    Row::due(DEAD.0, DEAD.1, "", 1).id()
}

fn claimed() -> String {
    Row::due("c", 25, "", 1).id()
}

fn changes() -> [Change; 5] {
    [
        Change {
            name: "redrive",
            scope: format!("POST /api/outbox/{}/redrive", dead()),
            body: "",
            run: |engine| redrive(engine, &dead()),
        },
        Change {
            name: "redrive what waits",
            scope: format!("POST /api/outbox/{}/redrive", Row::due("w", 30, "", 1).id()),
            body: "",
            run: |engine| redrive(engine, &Row::due("w", 30, "", 1).id()),
        },
        Change {
            name: "cancel",
            scope: format!("POST /api/outbox/{}/cancel", claimed()),
            body: "",
            run: |engine| cancel(engine, &claimed()),
        },
        Change {
            name: "redrive all",
            scope: "POST /api/outbox/redrive".to_owned(),
            body: "{}",
            run: |engine| redrive_all(engine, &json!({})),
        },
        Change {
            name: "cancel all",
            scope: "POST /api/outbox/cancel".to_owned(),
            body: "{}",
            run: |engine| cancel_all(engine, &json!({})),
        },
    ]
}

fn engine(world: &World, change: &Change, key: Option<&str>) -> WorldEngine {
    match key {
        Some(key) => keyed(world, key, &change.scope, change.body, 200, 7),
        None => Engine::new(
            world.faulty.clone(),
            world.clock.clone(),
            Counted::from(7),
            DefinitionCache::default(),
        ),
    }
}

#[test]
fn s4_91_a_change_with_a_key_happens_once_and_is_answered_again() {
    for change in changes() {
        let world = all_kinds();
        let first = (change.run)(&engine(&world, &change, Some("k")));
        assert!(first.0 == 200 && !first.2, "{}: {first:?}", change.name);
        let after = dump(&world);
        world.at(200);
        let second = (change.run)(&engine(&world, &change, Some("k")));
        assert_eq!(
            (second.0, &second.1, second.2),
            (200, &first.1, true),
            "{}",
            change.name
        );
        assert_eq!(dump(&world), after, "{}", change.name);
    }
}

#[test]
fn i3_a_fault_at_any_write_leaves_all_or_nothing_and_the_answer_says_which() {
    for change in changes() {
        for key in [None, Some("k")] {
            let calm = all_kinds();
            let expected = (change.run)(&engine(&calm, &change, key));
            let stored = dump(&calm);
            for (name, fault) in faults() {
                let world = all_kinds();
                world.faulty.arm([(1, fault)]);
                let answer = (change.run)(&engine(&world, &change, key));
                assert!(world.faulty.struck());
                let what = format!("{} {name} {key:?}", change.name);
                assert_eq!((answer.0, &answer.1), (expected.0, &expected.1), "{what}");
                assert_eq!(dump(&world), stored, "{what}");
                world.faulty.land();
                assert_eq!(dump(&world), stored, "{what}: a stray");
            }
            // A write that never gets through changes nothing, and is told as failed.
            let world = all_kinds();
            let before = dump(&world);
            world.faulty.arm((1..400).map(|batch| (batch, Fault::Before)));
            world.at(100);
            assert!((change.run)(&engine(&world, &change, key)).0 >= 500);
            assert_eq!(dump(&world), before);
        }
    }
}

#[test]
fn s4_95_of_two_that_race_with_one_key_one_is_applied() {
    for change in changes() {
        let world = all_kinds();
        let twin = Rc::downgrade(&world);
        let (scope, run, body) = (change.scope.clone(), change.run, change.body);
        let first = move || {
            let world = twin.upgrade().unwrap();
            let (status, _, replayed) = run(&keyed(&world, "k", &scope, body, 200, 8));
            assert!(status == 200 && !replayed);
        };
        world.faulty.arm([(1, Fault::Meanwhile(Rc::new(first)))]);
        let (status, _, replayed) = (change.run)(&engine(&world, &change, Some("k")));
        assert!(status == 200 && replayed, "{}", change.name);
        assert_eq!(world.sqlite.count("inbox"), 1);
    }
}

#[test]
fn what_a_delivery_does_between_read_and_write_comes_first() {
    let deliver = |world: &Rc<World>, sql: String| {
        let world = Rc::downgrade(world);
        Fault::Meanwhile(Rc::new(move || {
            world.upgrade().unwrap().sqlite.execute(&sql);
        }))
    };
    let done = |id: &str| {
        format!(
            "UPDATE outbox SET status = 'done', finished_at = {START}, due_at = NULL, claimed = 0 WHERE id = '{id}'"
        )
    };
    // It was accepted: it is neither cancelled nor redriven.
    let world = all_kinds();
    world.faulty.arm([(1, deliver(&world, done(&claimed())))]);
    assert_eq!(
        code(&cancel(&world.engine, &claimed())),
        (409, json!("OUTBOX_STATUS"))
    );
    assert_eq!(stored(&world, &claimed())["status"], json!("done"));
    let world = all_kinds();
    world.faulty.arm([(1, deliver(&world, done(&dead())))]);
    assert_eq!(
        code(&redrive(&world.engine, &dead())),
        (409, json!("OUTBOX_STATUS"))
    );
    // It was claimed: it is cancelled all the same, and may have been delivered.
    let world = all_kinds();
    let due = Row::due("u", 35, "", 1).id();
    let claim = format!(
        "UPDATE outbox SET claimed = 1, claim = 1, attempt = 1, due_at = {} WHERE id = '{due}'",
        START + 900
    );
    world.faulty.arm([(1, deliver(&world, claim.clone()))]);
    let (status, item, _) = cancel(&world.engine, &due);
    assert_eq!(
        (status, &item["was"], &item["may_be_delivered"]),
        (200, &json!("claimed"), &json!(true))
    );
    // Of many, those that are still what they were.
    for key in [None, Some("k")] {
        let world = all_kinds();
        world.faulty.arm([(1, deliver(&world, done(&claimed())))]);
        let change = &changes()[4];
        let mut cancelled = 0;
        let (status, told, _) = (change.run)(&engine(&world, change, key));
        cancelled += told["cancelled"].as_i64().unwrap();
        if told["more"] == json!(true) {
            cancelled += cancel_all(&world.engine, &json!({})).1["cancelled"]
                .as_i64()
                .unwrap();
        }
        assert_eq!((status, cancelled), (200, 5));
        assert_eq!(world.sqlite.count("outbox WHERE status = 'cancelled'"), 6);
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
                    drop(redrive_all(&world.engine, &json!({"status": "cancelled"})))
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
    // Ended at 6: not yet, and then.
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

#[test]
fn no_statement_on_the_outbox_scans_a_table() {
    let world = all_kinds();
    world.sqlite.taken();
    for change in changes() {
        (change.run)(&world.engine);
    }
    // A change of many that is in doubt looks at what it was to change.
    world.faulty.arm([(1, Fault::After)]);
    redrive_all(&world.engine, &json!({"status": "cancelled"}));
    assert!(world.faulty.struck());
    for status in ["", "status=done", "status=dead", "status=pending"] {
        list(&world, status);
    }
    block_on(world.engine.get_outbox(&t1(), &dead())).unwrap();
    upkeep(&world, 1);
    let plans = plans(&world);
    assert_searches(
        &plans,
        // The newest rows of a tenant, as many as are counted.
        &["SEARCH outbox USING PRIMARY KEY (tenant=?)"],
    );
    for (part, step) in [
        (
            "AS hit FROM outbox q WHERE q.tenant = ?1 AND q.id < ?2",
            "SEARCH q USING PRIMARY KEY (tenant=? AND id>? AND id<?)",
        ),
        (
            "INDEXED BY outbox_closed WHERE q.tenant",
            "SEARCH q USING INDEX outbox_closed (tenant=? AND status=? AND id>? AND id<?)",
        ),
        (
            "ORDER BY q.id LIMIT ?4",
            "SEARCH q USING INDEX outbox_lanes (tenant=?)",
        ),
        (
            "(ORDER BY q.id) AS n",
            "SEARCH q USING PRIMARY KEY (tenant=? AND id>? AND id<?)",
        ),
        (
            "SELECT DISTINCT o.lane",
            "SEARCH n USING COVERING INDEX outbox_lanes (tenant=? AND lane=?)",
        ),
    ] {
        let found: Vec<_> = plans.iter().filter(|(sql, _)| sql.contains(part)).collect();
        assert!(!found.is_empty(), "{part}");
        for (sql, plan) in found {
            assert!(plan.iter().any(|line| line.starts_with(step)), "{sql}\n{plan:?}");
        }
    }
}

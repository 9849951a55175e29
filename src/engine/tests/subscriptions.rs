//! Subscriptions: what is taken and what is not, how many, once for a key whatever fails, and what goes on when one is active
//! again (S0.2, S0.4, S0.31, S0.50, S0.51; design 4, 5; I7, I9).

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
use std::sync::Arc;

use admin::{Row, assert_lanes, assert_searches, dump, faults, insert, keyed, lane, plans, told, writes};
use serde_json::{Value, json};
use statewright_core::address::AllowList;
use statewright_engine::page::Paging;
use statewright_engine::settings::Settings;
use statewright_engine::{DefinitionCache, Engine};
use support::faults::Fault;
use support::world::{Reply, World, WorldEngine, t1};
use support::{Counted, START, block_on, tenant};

fn post(engine: &WorldEngine, body: &Value) -> Reply {
    let (status, body, _) = told(
        201,
        block_on(engine.create_subscription(&t1(), body.to_string().as_bytes())),
    );
    (status, body)
}

fn put_told(engine: &WorldEngine, id: &str, body: &Value) -> (u16, Value, bool) {
    match block_on(engine.put_subscription(&t1(), id, body.to_string().as_bytes())) {
        Ok((view, created)) => told(if created { 201 } else { 200 }, Ok(view)),
        Err(error) => told::<Value>(200, Err(error)),
    }
}

fn put(engine: &WorldEngine, id: &str, body: &Value) -> Reply {
    let (status, body, _) = put_told(engine, id, body);
    (status, body)
}

fn get(engine: &WorldEngine, id: &str) -> Reply {
    let (status, body, _) = told(200, block_on(engine.get_subscription(&t1(), id)));
    (status, body)
}

fn delete(engine: &WorldEngine, id: &str) -> (u16, Value, bool) {
    told(204, block_on(engine.delete_subscription(&t1(), id)))
}

fn list(engine: &WorldEngine, limit: Option<&str>, cursor: Option<String>) -> (Vec<String>, Option<String>) {
    let paging = Paging {
        limit: limit.map(str::to_owned),
        cursor,
    };
    let page = block_on(engine.list_subscriptions(&t1(), &paging)).unwrap();
    (page.items.into_iter().map(|view| view.id).collect(), page.next)
}

fn records() -> Value {
    json!({"source": "records", "sink": {"type": "webhook", "url": "https://example.com/s"}})
}

fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

fn suspended(body: Value) -> Value {
    with(body, "active", json!(false))
}

#[test]
fn s0_31_a_subscription_is_made_read_replaced_and_deleted() {
    let world = World::new();
    let engine = &world.engine;
    let full = json!({"source": "machines", "machine": "order", "from": "paid", "to": "shipped", "event": "ship",
        "sink": {"type": "webhook", "url": "https://example.com/s", "secret": "signing"}, "active": false});
    let (status, made) = post(engine, &full);
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("sub_"), "{id}");
    let mut expected = full.clone();
    expected["id"] = json!(id);
    expected["created_at"] = json!(START);
    expected["updated_at"] = json!(START);
    assert_eq!(made, expected);
    assert_eq!(get(engine, &id), (200, expected));

    world.at(1000);
    let queue = json!({"source": "records", "sink": {"type": "queue", "binding": "_Events9"}});
    let replaced = json!({"id": id, "source": "records", "sink": {"type": "queue", "binding": "_Events9"}, "active": true,
        "created_at": START, "updated_at": START + 1000});
    assert_eq!(put(engine, &id, &queue), (200, replaced.clone()));
    assert_eq!(get(engine, &id), (200, replaced));

    // One that is put under an id of the caller's.
    let (status, named) = put(engine, "tasks.of-1", &records());
    assert_eq!((status, &named["id"]), (201, &json!("tasks.of-1")));
    assert_eq!(named["created_at"], json!(START + 1000));
    assert_eq!(
        list(engine, None, None),
        (vec![id.clone(), "tasks.of-1".to_owned()], None)
    );

    assert_eq!(delete(engine, &id), (204, Value::Null, false));
    assert_eq!(delete(engine, &id).0, 404);
    let (status, body) = get(engine, &id);
    assert_eq!((status, &body["error"]["code"]), (404, &json!("NOT_FOUND")));
    assert_eq!(list(engine, None, None).0, ["tasks.of-1"]);
}

#[test]
fn two_changes_at_one_time_are_two_versions() {
    let world = World::new();
    put(&world.engine, "a", &records());
    put(&world.engine, "a", &records());
    let (_, third) = put(&world.engine, "a", &records());
    assert_eq!(
        (&third["created_at"], &third["updated_at"]),
        (&json!(START), &json!(START + 2))
    );
}

#[test]
fn r18_lists_come_in_pages_in_the_order_of_creation() {
    let world = World::new();
    // By creation, then by id.
    for (at, id) in [(5, "c"), (5, "b"), (1, "z"), (9, "a"), (5, "d")] {
        world.at(at);
        assert_eq!(put(&world.engine, id, &records()).0, 201);
    }
    let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let (page, next) = list(&world.engine, Some("2"), cursor);
        assert!(page.len() <= 2);
        all.extend(page);
        pages += 1;
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((all.join(""), pages), ("zbcda".to_owned(), 3));
    for paging in [("0", None), ("1001", None), ("2", Some("00"))] {
        let paging = Paging {
            limit: Some(paging.0.to_owned()),
            cursor: paging.1.map(str::to_owned),
        };
        assert_eq!(
            block_on(world.engine.list_subscriptions(&t1(), &paging))
                .unwrap_err()
                .status(),
            400
        );
    }
}

/// A body that is refused, and the path that says where.
fn refused() -> Vec<(Value, &'static str)> {
    let machines = json!({"source": "machines", "sink": {"type": "queue", "binding": "Q"}});
    let webhook = |url: &str| with(records(), "sink", json!({"type": "webhook", "url": url}));
    let queue = |binding: &str| with(records(), "sink", json!({"type": "queue", "binding": binding}));
    let long = "x".repeat(129);
    vec![
        (json!([]), "$"),
        (json!({"sink": records()["sink"]}), "$.source"),
        (with(records(), "source", json!("entities")), "$.source"),
        (with(records(), "source", json!(1)), "$.source"),
        (with(records(), "event", json!("go")), "$.event"),
        (with(records(), "machine", json!("Order")), "$.machine"),
        (with(records(), "machine", json!("1a")), "$.machine"),
        (with(records(), "machine", json!("")), "$.machine"),
        (with(records(), "machine", json!("a b")), "$.machine"),
        (with(records(), "machine", json!("a".repeat(65))), "$.machine"),
        (with(records(), "machine", json!(["a"])), "$.machine"),
        (with(records(), "from", json!("-a")), "$.from"),
        (with(records(), "from", json!("ä")), "$.from"),
        (with(records(), "to", json!("a".repeat(65))), "$.to"),
        (with(records(), "to", json!(1)), "$.to"),
        (with(machines.clone(), "machine", json!(long)), "$.machine"),
        (with(machines.clone(), "machine", json!("..")), "$.machine"),
        (with(machines.clone(), "machine", json!("a\nb")), "$.machine"),
        (with(machines.clone(), "from", json!("")), "$.from"),
        (with(machines.clone(), "to", json!(long)), "$.to"),
        (with(machines.clone(), "event", json!("a\u{0}")), "$.event"),
        (with(machines.clone(), "event", json!({})), "$.event"),
        (with(records(), "active", json!("yes")), "$.active"),
        (with(records(), "name", json!("x")), "$[\"name\"]"),
        (with(records(), "id", json!("x")), "$[\"id\"]"),
        (json!({"source": "records"}), "$.sink"),
        (with(records(), "sink", json!("https://example.com")), "$.sink"),
        (
            with(records(), "sink", json!({"url": "https://example.com"})),
            "$.sink.type",
        ),
        (with(records(), "sink", json!({"type": "email"})), "$.sink.type"),
        (with(records(), "sink", json!({"type": "webhook"})), "$.sink.url"),
        (webhook("http://example.com/"), "$.sink.url"),
        (webhook("https://127.0.0.1/"), "$.sink.url"),
        (webhook("https://0x7f.1/"), "$.sink.url"),
        (webhook("https://[::ffff:10.0.0.1]/"), "$.sink.url"),
        (webhook("https://localhost/"), "$.sink.url"),
        (webhook("https://user@example.com/"), "$.sink.url"),
        (webhook("nothing"), "$.sink.url"),
        (
            webhook(&format!("https://example.com/{}", "x".repeat(2048))),
            "$.sink.url",
        ),
        (
            with(
                records(),
                "sink",
                json!({"type": "webhook", "url": "https://example.com", "secret": "a b"}),
            ),
            "$.sink.secret",
        ),
        (
            with(
                records(),
                "sink",
                json!({"type": "webhook", "url": "https://example.com", "binding": "Q"}),
            ),
            "$.sink[\"binding\"]",
        ),
        (
            with(records(), "sink", json!({"type": "queue"})),
            "$.sink.binding",
        ),
        (
            with(
                records(),
                "sink",
                json!({"type": "queue", "binding": "Q", "url": "https://example.com"}),
            ),
            "$.sink[\"url\"]",
        ),
        (queue(""), "$.sink.binding"),
        (queue("9Q"), "$.sink.binding"),
        (queue("A-B"), "$.sink.binding"),
        (queue(&"Q".repeat(65)), "$.sink.binding"),
    ]
}

#[test]
fn what_is_wrong_with_a_subscription_is_told_by_its_path() {
    let world = World::new();
    for (body, path) in refused() {
        for (status, told) in [post(&world.engine, &body), put(&world.engine, "a", &body)] {
            assert_eq!(
                (status, &told["error"]["path"], &told["error"]["retry"]),
                (400, &json!(path), &json!(false)),
                "{body}: {told}"
            );
        }
    }
    for id in ["", "-a", "a/b", "a~b", "a b", &"a".repeat(65)] {
        assert_eq!(put(&world.engine, id, &records()).0, 400, "{id}");
        assert_eq!(get(&world.engine, id).0, 400, "{id}");
        assert_eq!(delete(&world.engine, id).0, 400, "{id}");
    }
    let broken = block_on(world.engine.create_subscription(&t1(), b"{")).unwrap_err();
    assert_eq!(broken.status(), 400);
    assert_eq!(world.sqlite.count("subscriptions"), 0);
}

#[test]
fn s0_2_s0_4_names_of_records_and_of_machines_have_their_own_rules() {
    let world = World::new();
    let name = "a".repeat(64);
    for (machine, state) in [("a", "A"), ("a9._-", "9._-"), (&*name, &*name)] {
        let body = json!({"source": "records", "machine": machine, "from": state, "to": state,
            "sink": {"type": "queue", "binding": "Q".repeat(64)}});
        assert_eq!(post(&world.engine, &body).0, 201, "{body}");
    }
    let long = "ö".repeat(64);
    for name in ["Order Ü", "9", &*long] {
        let body = json!({"source": "machines", "machine": name, "from": name, "to": name, "event": "$timeout",
            "sink": {"type": "webhook", "url": "https://example.com/"}});
        assert_eq!(post(&world.engine, &body).0, 201, "{body}");
    }
    // What is null is not given.
    let nulls = json!({"source": "records", "machine": null, "event": null, "active": null, "sink": records()["sink"]});
    let (status, made) = post(&world.engine, &nulls);
    assert_eq!(
        (status, &made["active"], made.get("machine")),
        (201, &json!(true), None)
    );
}

#[test]
fn a_host_that_the_operator_allows_may_be_told_over_http() {
    let world = World::new();
    let settings = Settings {
        allow: AllowList::read("localhost:8080"),
        ..Settings::default()
    };
    let engine = Engine::new(
        world.faulty.clone(),
        world.clock.clone(),
        Counted::from(9),
        DefinitionCache::default(),
    )
    .with_settings(Arc::new(settings));
    for (url, status) in [("http://localhost:8080/x", 201), ("http://localhost:8081/x", 400)] {
        let body = with(records(), "sink", json!({"type": "webhook", "url": url}));
        assert_eq!(post(&engine, &body).0, status, "{url}");
    }
}

fn fill(world: &World, count: usize) {
    for number in 0..count {
        assert_eq!(put(&world.other, &format!("s{number}"), &records()).0, 201);
    }
}

#[test]
fn a_tenant_has_a_hundred_subscriptions_at_the_most() {
    let world = World::new();
    fill(&world, 100);
    let full = json!("LIMIT_REACHED");
    for (status, body) in [
        post(&world.engine, &records()),
        put(&world.engine, "new", &records()),
    ] {
        assert_eq!(
            (status, &body["error"]["code"], &body["error"]["retry"]),
            (409, &full, &json!(false))
        );
    }
    // One that is there can be replaced; another tenant has its own; a place that is free is taken.
    assert_eq!(put(&world.engine, "s7", &suspended(records())).0, 200);
    let body = records().to_string();
    block_on(world.engine.create_subscription(&tenant("t2"), body.as_bytes())).unwrap();
    assert_eq!(delete(&world.engine, "s7").0, 204);
    assert_eq!(post(&world.engine, &records()).0, 201);
    assert_eq!(world.sqlite.count("subscriptions WHERE tenant = 't1'"), 100);
}

#[test]
fn the_bound_holds_where_two_take_the_last_place() {
    for make in [
        |engine: &WorldEngine| post(engine, &records()),
        |engine: &WorldEngine| put(engine, "new", &records()),
    ] {
        let world = World::new();
        fill(&world, 99);
        let rival = Rc::downgrade(&world);
        let first = move || {
            let world = rival.upgrade().unwrap();
            assert_eq!(put(&world.other, "rival", &records()).0, 201);
        };
        world.faulty.arm([(1, Fault::Meanwhile(Rc::new(first)))]);
        let (status, body) = make(&world.engine);
        assert!(world.faulty.struck());
        assert_eq!((status, &body["error"]["code"]), (409, &json!("LIMIT_REACHED")));
        assert_eq!(world.sqlite.count("subscriptions"), 100);
    }
}

#[test]
fn i9_tenants_have_subscriptions_of_their_own() {
    let world = World::new();
    let other = tenant("t2");
    put(&world.engine, "a", &records());
    let before = dump(&world);
    assert_eq!(
        block_on(world.engine.get_subscription(&other, "a"))
            .unwrap_err()
            .status(),
        404
    );
    assert_eq!(
        block_on(world.engine.delete_subscription(&other, "a"))
            .unwrap_err()
            .status(),
        404
    );
    let page = block_on(world.engine.list_subscriptions(&other, &Paging::default())).unwrap();
    assert_eq!(page.items, []);
    assert_eq!(dump(&world), before);
    let body = suspended(records()).to_string();
    let (theirs, created) = block_on(world.engine.put_subscription(&other, "a", body.as_bytes())).unwrap();
    assert!(created && !theirs.spec.active);
    assert_eq!(get(&world.engine, "a").1["active"], json!(true));
    block_on(world.engine.delete_subscription(&other, "a")).unwrap();
    assert_eq!(dump(&world), before);
}

/// A change of subscriptions, as one request: on a world that has `old`.
struct Change {
    name: &'static str,
    scope: &'static str,
    success: u16,
    body: Value,
    run: fn(&WorldEngine, &Value) -> (u16, Value, bool),
}

fn changes() -> [Change; 4] {
    [
        Change {
            name: "create",
            scope: "POST /api/subscriptions",
            success: 201,
            body: records(),
            run: |engine, body| {
                told(
                    201,
                    block_on(engine.create_subscription(&t1(), body.to_string().as_bytes())),
                )
            },
        },
        Change {
            name: "put a new one",
            scope: "PUT /api/subscriptions/new",
            success: 200,
            body: records(),
            run: |engine, body| put_told(engine, "new", body),
        },
        Change {
            name: "replace",
            scope: "PUT /api/subscriptions/old",
            success: 200,
            body: with(records(), "to", json!("done")),
            run: |engine, body| put_told(engine, "old", body),
        },
        Change {
            name: "delete",
            scope: "DELETE /api/subscriptions/old",
            success: 204,
            body: Value::Null,
            run: |engine, _| delete(engine, "old"),
        },
    ]
}

/// A world with a suspended subscription `old`, and what waits for it.
fn waiting() -> Rc<World> {
    let world = World::new();
    assert_eq!(put(&world.other, "old", &suspended(records())).0, 201);
    insert(
        &world,
        &[
            Row::held("a", 1, "l1", 1, "old"),
            Row::queued("b", 2, "l1", 2).presented("old"),
        ],
    );
    world.at(50);
    world
}

fn engine(world: &World, change: &Change, key: Option<&str>) -> WorldEngine {
    match key {
        Some(key) => keyed(
            world,
            key,
            change.scope,
            &change.body.to_string(),
            change.success,
            7,
        ),
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
        let world = waiting();
        let first = (change.run)(&engine(&world, &change, Some("k")), &change.body);
        assert!(first.0 < 300 && !first.2, "{}: {first:?}", change.name);
        let after = dump(&world);
        world.at(99);
        let second = (change.run)(&engine(&world, &change, Some("k")), &change.body);
        assert_eq!(
            (second.0, &second.1, second.2),
            (first.0, &first.1, true),
            "{}",
            change.name
        );
        assert_eq!(dump(&world), after, "{}", change.name);
        // Another request under the key is refused.
        let mut other = change;
        other.body = suspended(records());
        let (status, body, _) = (other.run)(&engine(&world, &other, Some("k")), &other.body);
        assert_eq!(
            (status, &body["error"]["code"]),
            (422, &json!("IDEMPOTENCY_MISMATCH"))
        );
        assert_eq!(dump(&world), after);
    }
}

#[test]
fn i3_r17_a_fault_at_any_write_leaves_all_or_nothing_and_the_answer_says_which() {
    for change in changes() {
        for key in [None, Some("k")] {
            let calm = waiting();
            let expected = (change.run)(&engine(&calm, &change, key), &change.body);
            let stored = dump(&calm);
            for (name, fault) in faults() {
                let world = waiting();
                world.faulty.arm([(1, fault)]);
                let answer = (change.run)(&engine(&world, &change, key), &change.body);
                assert!(world.faulty.struck());
                let what = format!("{} {name} {key:?}", change.name);
                assert_eq!((answer.0, &answer.1), (expected.0, &expected.1), "{what}");
                assert_eq!(dump(&world), stored, "{what}");
                world.faulty.land();
                assert_eq!(dump(&world), stored, "{what}: a stray");
                assert_lanes(&world);
            }
            // What cannot be read is not written.
            let world = waiting();
            let before = dump(&world);
            world.faulty.arm([(0, Fault::Before)]);
            let (status, body, _) = (change.run)(&engine(&world, &change, key), &change.body);
            let code = if key.is_some() {
                "INBOX_UNAVAILABLE"
            } else {
                "INTERNAL_ERROR"
            };
            assert_eq!((status >= 500, &body["error"]["code"]), (true, &json!(code)));
            assert_eq!(dump(&world), before);
        }
    }
}

#[test]
fn s4_95_of_two_that_race_with_one_key_one_is_applied() {
    for change in changes() {
        let world = waiting();
        let twin = Rc::downgrade(&world);
        let (scope, success, run, body) = (change.scope, change.success, change.run, change.body.clone());
        let first = move || {
            let world = twin.upgrade().unwrap();
            let engine = keyed(&world, "k", scope, &body.to_string(), success, 8);
            let (status, _, replayed) = run(&engine, &body);
            assert!(status < 300 && !replayed);
        };
        world.faulty.arm([(1, Fault::Meanwhile(Rc::new(first)))]);
        let (status, _, replayed) = (change.run)(&engine(&world, &change, Some("k")), &change.body);
        assert!(status < 300 && replayed, "{}", change.name);
        assert_eq!(world.sqlite.count("inbox"), 1);
        let rows = if change.name == "delete" {
            0
        } else {
            1 + i64::from(change.name != "replace")
        };
        assert_eq!(world.sqlite.count("subscriptions"), rows, "{}", change.name);
    }
}

#[test]
fn a_writer_between_read_and_write_comes_first() {
    let world = waiting();
    let rival = Rc::downgrade(&world);
    let first = move || {
        let world = rival.upgrade().unwrap();
        assert_eq!(
            put(&world.other, "old", &with(records(), "to", json!("theirs"))).0,
            200
        );
    };
    world.faulty.arm([(1, Fault::Meanwhile(Rc::new(first)))]);
    let (status, view) = put(&world.engine, "old", &with(records(), "to", json!("ours")));
    assert_eq!(
        (status, &view["to"], &view["updated_at"]),
        (200, &json!("ours"), &json!(START + 51))
    );
    assert_eq!(get(&world.engine, "old").1, view);

    // A lost replacement that another came after is not written over it.
    let world = waiting();
    let rival = Rc::downgrade(&world);
    let then = move || {
        let world = rival.upgrade().unwrap();
        assert_eq!(
            put(&world.other, "old", &with(records(), "to", json!("theirs"))).0,
            200
        );
    };
    world
        .faulty
        .arm([(1, Fault::After), (2, Fault::Meanwhile(Rc::new(then)))]);
    let (status, _) = put(&world.engine, "old", &with(records(), "to", json!("ours")));
    assert_eq!(
        (status, &get(&world.engine, "old").1["to"]),
        (200, &json!("theirs"))
    );

    // One that was deleted, and made again by another, stays.
    let world = waiting();
    let rival = Rc::downgrade(&world);
    let then = move || {
        let world = rival.upgrade().unwrap();
        world.at(60);
        assert_eq!(put(&world.other, "old", &records()).0, 201);
    };
    world
        .faulty
        .arm([(1, Fault::After), (2, Fault::Meanwhile(Rc::new(then)))]);
    assert_eq!(delete(&world.engine, "old").0, 204);
    assert_eq!(get(&world.engine, "old").1["created_at"], json!(START + 60));
}

#[test]
fn s0_50_what_was_held_goes_on_when_its_subscription_is_active_again() {
    let world = World::new();
    for id in ["old", "else"] {
        assert_eq!(put(&world.other, id, &suspended(records())).0, 201);
    }
    let mut foreign = Row::held("f", 6, "l6", 1, "old");
    foreign.tenant = "t2";
    insert(
        &world,
        &[
            // The first of its lane is held, others wait behind it, one of which was held as well.
            Row::held("a", 1, "l1", 1, "old"),
            Row::queued("b", 2, "l1", 2).presented("old"),
            Row::held("c", 3, "l1", 3, "old"),
            // One that is being sent, and one that was to follow it.
            Row::claimed("d", 1, "l2", 1, 900).presented("old"),
            Row::held("e", 2, "l2", 2, "old"),
            // An earlier one that was redriven while the lane was held.
            Row::queued("g", 1, "l3", 1).presented("old"),
            Row::held("h", 2, "l3", 2, "old"),
            // Of others.
            Row::held("i", 1, "l4", 1, "else"),
            Row::due("j", 1, "l5", 1),
            foreign,
        ],
    );
    world.at(50);
    let before = dump(&world);
    // Suspended still: nothing goes on.
    assert_eq!(put(&world.engine, "old", &suspended(records())).0, 200);
    assert_eq!(lane(&world, "l1"), ["1 held", "2 queued", "3 held"]);
    assert_eq!(
        dump(&world).lines().take(10).collect::<Vec<_>>(),
        before.lines().take(10).collect::<Vec<_>>()
    );

    assert_eq!(put(&world.engine, "old", &records()).0, 200);
    assert_eq!(lane(&world, "l1"), ["1 due 50", "2 queued", "3 queued"]);
    assert_eq!(lane(&world, "l2"), ["1 claimed 900", "2 queued"]);
    assert_eq!(lane(&world, "l3"), ["1 due 50", "2 queued"]);
    assert_eq!(lane(&world, "l4"), ["1 held"]);
    assert_eq!(lane(&world, "l5"), ["1 due 1"]);
    assert_eq!(lane(&world, "l6"), ["1 held"]);
    assert_lanes(&world);
}

#[test]
fn s0_51_what_waits_for_a_subscription_that_is_deleted_is_there_to_be_skipped() {
    let world = waiting();
    let mut done = Row::over("z", 3, "l1", 0, "done").presented("old");
    done.finished = Some(4);
    insert(&world, &[done]);
    assert_eq!(delete(&world.engine, "old").0, 204);
    assert_eq!(lane(&world, "l1"), ["1 due 50", "2 queued"]);
    assert_eq!(world.sqlite.count("outbox"), 3);
    assert_lanes(&world);
}

#[test]
fn more_than_one_batch_lets_go_is_let_go_by_the_upkeep() {
    let world = World::new();
    for id in ["old", "still"] {
        assert_eq!(put(&world.other, id, &suspended(records())).0, 201);
    }
    let row = |number: i64, subscription| {
        let name = format!("{number}");
        Row::held(&name, number, &format!("{subscription}{number}"), 1, subscription)
    };
    let rows: Vec<_> = (0..5_010).map(|number| row(number, "old")).collect();
    insert(&world, &rows);
    insert(&world, &[row(6_000, "still"), row(6_001, "gone")]);
    world.at(7_000);
    assert_eq!(put(&world.engine, "old", &records()).0, 200);
    assert_eq!(
        world
            .sqlite
            .count("outbox WHERE held = 1 AND subscription = 'old'"),
        10
    );
    block_on(world.engine.upkeep()).unwrap();
    let held = "outbox WHERE held = 1 OR due_at IS NULL";
    assert_eq!(world.sqlite.count(held), 1);
    assert_eq!(lane(&world, "still6000"), ["1 held"]);
    assert_eq!(lane(&world, "gone6001"), ["1 due 7000"]);
    assert_lanes(&world);
    // Nothing is left to be done.
    world.sqlite.taken();
    block_on(world.engine.upkeep()).unwrap();
    assert_eq!(writes(&world), 1, "what purges");
}

#[test]
fn no_statement_of_subscriptions_scans_a_table() {
    let world = waiting();
    world.sqlite.taken();
    for change in changes() {
        (change.run)(&world.engine, &change.body);
    }
    list(&world.engine, None, None);
    let plans = plans(&world);
    assert_searches(&plans, &[]);
    let kinds: BTreeSet<_> = plans.keys().map(|sql| sql.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["DELETE", "INSERT", "SELECT", "UPDATE"].into());
    let release = plans
        .iter()
        .find(|(sql, _)| sql.contains("SET held = 0"))
        .unwrap()
        .1;
    assert!(
        release
            .iter()
            .any(|line| line.contains("outbox_held (tenant=? AND subscription=?)")),
        "{release:#?}"
    );
}

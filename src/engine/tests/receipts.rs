//! What became of a request by its key, and of an event by its identity (S4.91, S4.96, S4.100; design 5; I9).

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

use std::rc::Rc;

use admin::{assert_searches, keyed, plans};
use serde_json::{Value, json};
use statewright_core::ids::TenantId;
use statewright_engine::error::Error;
use support::block_on;
use support::families::{register_all, shop};
use support::world::{World, delete, evaluate, register, t1};
use support::{START, tenant};

const DAY: i64 = 86_400_000;

fn receipts_of(
    world: &World,
    tenant: &TenantId,
    key: &str,
    at: Option<(&str, &str)>,
) -> Result<Value, Error> {
    let (machine, entity) = at.unzip();
    let found = block_on(world.engine.receipts(tenant, key, machine, entity))?;
    Ok(serde_json::to_value(found).unwrap())
}

/// The receipts of a key.
fn receipts(world: &World, key: &str) -> Value {
    receipts_of(world, &t1(), key, None).unwrap()
}

/// What became of an event at an entity.
fn event_receipt(world: &World, machine: &str, entity: &str, identity: &Value) -> Value {
    let found = receipts_of(world, &t1(), &identity.to_string(), Some((machine, entity))).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    found[0].clone()
}

/// The ids of the outbox that a condition holds for, in their order.
fn outbox(world: &World, condition: &str) -> Value {
    let connection = world.sqlite.connection.borrow();
    let sql = format!("SELECT id FROM outbox WHERE {condition} ORDER BY id");
    let mut statement = connection.prepare(&sql).unwrap();
    let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    ids.map(Result::unwrap).collect::<Vec<_>>().into()
}

/// A machine that calls two hooks when it is paid, and none else.
fn billed(machine: &str) -> Value {
    let hook = |path: &str| json!({"on_enter": "paid", "action": {"type": "webhook", "url": format!("https://example.com/{path}")}});
    json!({"machine_id": machine, "states": ["open", "paid"], "initial_state": "open",
        "transitions": [{"from": "open", "to": "paid", "on": "pay"}], "actions": [hook("a"), hook("b")]})
}

fn event(entity: &str, kind: &str, timestamp: i64) -> Value {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}, "timestamp": timestamp})
}

/// An event with a key, as a host sends it: what moved nothing is kept as well.
fn send(world: &World, machine: &str, key: &str, body: &Value, seed: u128) -> Value {
    let scope = format!("POST /api/machines/{machine}/evaluate");
    let machine = machine.replace("%20", " ").replace("%C3%A4", "ä");
    let text = body.to_string();
    let engine = keyed(world, key, &scope, &text, 200, seed);
    match block_on(engine.evaluate(Some(&t1()), &machine, text.as_bytes())) {
        Ok(answer) => {
            let body = serde_json::to_value(answer).unwrap();
            block_on(engine.settle(200, None, Some(&body.to_string()))).unwrap();
            body
        }
        Err(error) => {
            let body = error.body();
            block_on(engine.settle(error.status(), Some(error.code()), Some(&body.to_string()))).unwrap();
            body
        }
    }
}

fn world() -> Rc<World> {
    let world = World::new();
    assert_eq!(register(&world.other, &billed("the bill ä")).0, 201);
    world.at(1_000);
    world
}

const BILL: &str = "the%20bill%20%C3%A4";

#[test]
fn a_receipt_tells_of_a_request_with_its_version_and_its_effects() {
    let world = world();
    let answer = send(&world, BILL, "k", &event("e", "pay", 7), 3);
    // Others at the same time have effects of their own.
    send(&world, BILL, "other", &event("f", "pay", 7), 4);
    assert_eq!(world.sqlite.count("outbox"), 4);
    assert_eq!(
        receipts(&world, "k"),
        json!([{"key": "k", "scope": format!("POST /api/machines/{BILL}/evaluate"), "status": 200, "outcome": "applied",
            "at": START + 1_000, "expires_at": START + 1_000 + 7 * DAY, "machine_id": "the bill ä", "entity_id": "e",
            "state_version": 2, "answer": answer, "outbox": outbox(&world, "entity_id = 'e'")}])
    );
}

#[test]
fn s4_96_what_moved_nothing_and_what_was_refused_have_receipts_too() {
    let world = world();
    send(&world, BILL, "none", &event("e", "ship", 7), 3);
    let refused = send(
        &world,
        BILL,
        "refused",
        &json!({"event_type": "pay", "entity_key": "id", "params": {"id": "e"}, "expected_version": 9}),
        4,
    );
    let told = receipts(&world, "none");
    assert_eq!(
        (
            &told[0]["status"],
            &told[0]["outcome"],
            &told[0]["entity_id"],
            &told[0]["outbox"]
        ),
        (&json!(200), &json!("no_transition"), &json!("e"), &json!([]))
    );
    let told = receipts(&world, "refused");
    assert_eq!(
        (
            &told[0]["status"],
            &told[0]["outcome"],
            &told[0]["answer"],
            &told[0]["machine_id"]
        ),
        (&json!(409), &json!("conflict"), &refused, &json!("the bill ä"))
    );
}

#[test]
fn s4_97_a_key_is_told_in_all_its_scopes_the_newest_first() {
    let world = world();
    assert_eq!(register(&world.other, &billed("a")).0, 201);
    for (at, machine, seed) in [(2_000, BILL, 3), (3_000, "a", 4)] {
        world.at(at);
        send(&world, machine, "k", &event("e", "pay", 7), seed);
    }
    let body = json!({"machine": "m", "id": "r", "state": "new"}).to_string();
    world.at(2_500);
    let engine = keyed(&world, "k", "POST /api/state/create", &body, 201, 5);
    block_on(engine.create_record(&t1(), body.as_bytes())).unwrap();
    let told = receipts(&world, "k");
    let machines: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|receipt| &receipt["machine_id"])
        .collect();
    assert_eq!(json!(machines), json!(["a", "m", "the bill ä"]));
    assert_eq!(
        (&told[1]["status"], &told[1]["state_version"]),
        (&json!(201), &json!(1))
    );
}

#[test]
fn s4_100_a_receipt_is_told_as_long_as_it_stands() {
    let world = world();
    send(&world, BILL, "k", &event("e", "pay", 7), 3);
    world.at(1_000 + 7 * DAY - 1);
    assert_eq!(receipts(&world, "k").as_array().unwrap().len(), 1);
    world.at(1_000 + 7 * DAY);
    let error = receipts_of(&world, &t1(), "k", None).unwrap_err();
    assert_eq!(
        (error.status(), &error.body()["error"]["code"]),
        (404, &json!("NOT_FOUND"))
    );
    // An event that was applied is known as long as its entity is.
    let identity = json!(["evt", "pay", 7]);
    event_receipt(&world, "the bill ä", "e", &identity);
    assert_eq!(delete(&world.other, "the bill ä", "e").0, 204);
    let gone = receipts_of(&world, &t1(), &identity.to_string(), Some(("the bill ä", "e"))).unwrap_err();
    assert_eq!(gone.status(), 404);
}

#[test]
fn i9_receipts_are_told_to_their_tenant_alone() {
    let world = world();
    send(&world, BILL, "k", &event("e", "pay", 7), 3);
    let other = tenant("t2");
    assert_eq!(receipts_of(&world, &other, "k", None).unwrap_err().status(), 404);
    let identity = json!(["evt", "pay", 7]).to_string();
    let asked = receipts_of(&world, &other, &identity, Some(("the bill ä", "e")));
    assert_eq!(asked.unwrap_err().status(), 404);
}

#[test]
fn an_event_is_told_by_its_identity() {
    let world = world();
    world.at(4_000);
    evaluate(&world.other, "the bill ä", &event("e", "pay", 7));
    let row: i64 = world
        .sqlite
        .connection
        .borrow()
        .query_row("SELECT id FROM history", [], |row| row.get(0))
        .unwrap();
    let told = event_receipt(&world, "the bill ä", "e", &json!(["evt", "pay", 7]));
    assert_eq!(
        told,
        json!({"identity": "[\"evt\",\"pay\",7]", "outcome": "applied", "machine_id": "the bill ä", "entity_id": "e",
            "at": START + 4_000, "row": row, "outbox": outbox(&world, "1")})
    );
    assert_eq!(told["outbox"].as_array().unwrap().len(), 2);
    // Spaces are not a part of it.
    let spaced = receipts_of(
        &world,
        &t1(),
        "[ \"evt\", \"pay\", 7 ]",
        Some(("the bill ä", "e")),
    )
    .unwrap();
    assert_eq!(spaced[0], told);
    for (key, at, status, path) in [
        ("[\"evt\",\"pay\",7]", None, 400, json!("machine")),
        ("[\"evt\"", Some(("the bill ä", "e")), 400, json!("key")),
        ("[\"evt\",\"pay\",8]", Some(("the bill ä", "e")), 404, Value::Null),
        ("[\"evt\",\"pay\",7]", Some(("the bill ä", "f")), 404, Value::Null),
        ("[\"evt\",\"pay\",7]", Some(("none", "e")), 404, Value::Null),
        ("[\"evt\",\"pay\",7]", Some(("", "e")), 400, json!("machine_id")),
        ("[]", Some(("the bill ä", "e")), 404, Value::Null),
        ("[\u{0}]", Some(("the bill ä", "e")), 400, json!("key")),
        ("", None, 404, Value::Null),
    ] {
        let error = receipts_of(&world, &t1(), key, at).unwrap_err();
        assert_eq!(
            (error.status(), &error.body()["error"]["path"]),
            (status, &path),
            "{key} {at:?}"
        );
    }
    let alone = block_on(world.engine.receipts(&t1(), "[]", Some("the bill ä"), None)).unwrap_err();
    assert_eq!(
        (alone.status(), &alone.body()["error"]["path"]),
        (400, &json!("entity"))
    );
}

#[test]
fn s4_93_a_batch_is_told_as_a_whole_and_each_of_its_events_has_its_own_effects() {
    let world = world();
    let body =
        json!({"events": [event("e", "pay", 7), event("f", "pay", 7), event("g", "ship", 7)]}).to_string();
    let scope = format!("POST /api/machines/{BILL}/evaluate/batch");
    let engine = keyed(&world, "k", &scope, &body, 200, 3);
    let answer = block_on(engine.evaluate_batch(Some(&t1()), "the bill ä", body.as_bytes())).unwrap();
    block_on(engine.settle(200, None, Some(&serde_json::to_string(&answer).unwrap()))).unwrap();
    let told = receipts(&world, "k");
    assert_eq!(
        (&told[0]["status"], &told[0]["parts"], &told[0]["machine_id"]),
        (&json!(200), &json!(3), &json!("the bill ä"))
    );
    assert_eq!(told[0]["outbox"], outbox(&world, "1"));
    assert_eq!(world.sqlite.count("outbox"), 4);
    // One commit, but each event has what its own entity called for.
    for entity in ["e", "f"] {
        let told = event_receipt(&world, "the bill ä", entity, &json!(["evt", "pay", 7]));
        assert_eq!(told["outbox"], outbox(&world, &format!("entity_id = '{entity}'")));
    }
}

fn post_state(world: &World, route: &str, key: &str, body: &Value, seed: u128) -> Value {
    let text = body.to_string();
    let engine = keyed(world, key, &format!("POST /api/state/{route}"), &text, 200, seed);
    let answer = match route {
        "create" => block_on(engine.create_record(&t1(), text.as_bytes())),
        _ => block_on(engine.transition_record(&t1(), text.as_bytes())),
    };
    serde_json::to_value(answer.unwrap()).unwrap()
}

#[test]
fn s0_35_the_receipt_of_a_record_s_transition_names_its_event() {
    for subscribed in [false, true] {
        let world = World::new();
        if subscribed {
            for id in ["a", "b"] {
                let body =
                    json!({"source": "records", "sink": {"type": "queue", "binding": "Q"}}).to_string();
                block_on(world.other.put_subscription(&t1(), id, body.as_bytes())).unwrap();
            }
        }
        post_state(
            &world,
            "create",
            "c",
            &json!({"machine": "m", "id": "r", "state": "new"}),
            3,
        );
        world.at(500);
        let moved = json!({"machine": "m", "id": "r", "from": "new", "to": "done", "expected_version": 1});
        let answer = post_state(&world, "transition", "k", &moved, 4);
        let told = receipts(&world, "k");
        assert_eq!(
            (
                &told[0]["machine_id"],
                &told[0]["entity_id"],
                &told[0]["state_version"],
                &told[0]["outcome"]
            ),
            (&json!("m"), &json!("r"), &json!(2), &json!("applied"))
        );
        assert_eq!(told[0]["answer"], answer);
        assert_eq!(told[0]["outbox"], outbox(&world, "1"));
        let event_id = answer["event_id"].as_str().unwrap();
        let expected = if subscribed {
            json!([format!("{event_id}~a"), format!("{event_id}~b")])
        } else {
            json!([event_id])
        };
        assert_eq!(told[0]["outbox"], expected);
        assert_eq!(receipts(&world, "c")[0]["outbox"], json!([]));
    }
}

#[test]
fn what_is_no_key_is_found_by_the_hash_under_which_it_is_kept() {
    let world = World::new();
    // By another program.
    let hash = "607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f";
    let sql = format!(
        "INSERT INTO inbox VALUES ('t1', 'sha256:{hash}', 'hook:github', -1, 'f', 200, '{{\"outcome\":\"applied\"}}', NULL, \
         'applied', NULL, NULL, {START}, {})",
        START + 1
    );
    world.sqlite.execute(&sql);
    let told = receipts(&world, "ü");
    assert_eq!(
        (&told[0]["key"], &told[0]["scope"]),
        (&json!("ü"), &json!("hook:github"))
    );
    assert_eq!(told[0].get("machine_id"), None);
}

#[test]
fn a_batch_that_is_under_way_has_no_status_yet() {
    let world = World::new();
    world.at(10);
    for (key, expires) in [("now", START + 60_000), ("left", START)] {
        world.sqlite.execute(&format!(
            "INSERT INTO inbox VALUES ('t1', '{key}', 'POST /b', -1, 'f', 0, NULL, NULL, 'in_flight', NULL, NULL, {START}, {expires})"
        ));
        let told = receipts(&world, key);
        assert_eq!(
            (&told[0]["status"], &told[0]["answer"], &told[0]["outcome"]),
            (&Value::Null, &Value::Null, &json!("in_flight"))
        );
    }
}

#[test]
fn an_answer_is_told_with_the_numbers_that_its_rows_got() {
    let world = World::new();
    let mut definitions = shop();
    definitions[1]["sub_machines"]["busy"]["lifecycle"] = json!("managed");
    register_all(&world.other, &definitions);
    let answer = send(&world, "shop", "k", &event("s", "start", 1), 3);
    assert!(answer["instances"][0]["row"].is_u64(), "{answer}");
    assert_eq!(receipts(&world, "k")[0]["answer"], answer);
}

#[test]
fn m11_an_event_that_a_legacy_child_took_is_known_at_its_parent() {
    let world = World::new();
    register_all(&world.other, &shop());
    for (kind, at) in [("start", 1), ("picked", 2)] {
        evaluate(&world.other, "shop", &event("s", kind, at));
    }
    let at_child = event_receipt(&world, "flow", "s::sub::busy", &json!(["evt", "picked", 2]));
    let at_parent = event_receipt(&world, "shop", "s", &json!(["evt", "picked", 2]));
    assert_eq!(
        (&at_parent["row"], &at_parent["entity_id"]),
        (&at_child["row"], &json!("s"))
    );
}

#[test]
fn no_statement_of_receipts_scans_a_table() {
    let world = world();
    send(&world, BILL, "k", &event("e", "pay", 7), 3);
    world.sqlite.taken();
    receipts(&world, "k");
    event_receipt(&world, "the bill ä", "e", &json!(["evt", "pay", 7]));
    let plans = plans(&world);
    assert_searches(&plans, &[]);
    assert_eq!(plans.len(), 3);
    let effects = plans
        .iter()
        .find(|(sql, _)| sql.contains("substr(o.id, 10, 16)"))
        .unwrap();
    let range = "SEARCH o USING PRIMARY KEY (tenant=? AND id>? AND id<?)";
    assert!(effects.1.iter().any(|line| line == range), "{effects:?}");
    let by_identity = plans.iter().find(|(sql, _)| sql.contains("forwards")).unwrap();
    let exact = "SEARCH h USING INDEX history_by_identity (uid=? AND identity_key=?)";
    assert!(by_identity.1.iter().any(|line| line == exact), "{by_identity:?}");
}

#[test]
fn what_cannot_be_read_is_told_as_a_failure() {
    let world = world();
    send(&world, BILL, "k", &event("e", "pay", 7), 3);
    for batch in [0, 1] {
        world.faulty.arm([(batch, support::faults::Fault::Before)]);
        assert_eq!(receipts_of(&world, &t1(), "k", None).unwrap_err().status(), 500);
    }
}

//! Secrets of a tenant: told once, sealed, two live at a time (design 4, S4.90 to S4.96, I9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Value, json};
use statewright_core::ids::TenantId;
use statewright_engine::error::Error;
use statewright_engine::once::Once;
use statewright_engine::signature::{from_base64, sign};
use statewright_engine::{DefinitionCache, Engine};
use support::faults::{Fault, Faulty};
use support::vault::TestVault;
use support::world::{Reply, reply};
use support::{Counted, START, Sqlite, TestClock, block_on, tenant};

type Secrets = Engine<Faulty, TestClock, Counted, TestVault>;

struct Place {
    sqlite: Sqlite,
    faulty: Faulty,
    clock: TestClock,
    vault: TestVault,
    random: Counted,
    engine: Secrets,
}

impl Place {
    fn new() -> Self {
        let sqlite = Sqlite::new();
        let (faulty, clock) = (Faulty::new(sqlite.clone()), TestClock::new());
        let (vault, random) = (TestVault::new(), Counted::default());
        let place = |engine| Self {
            sqlite,
            faulty: faulty.clone(),
            clock: clock.clone(),
            vault: vault.clone(),
            random: random.clone(),
            engine,
        };
        let engine = Engine::new(
            faulty.clone(),
            clock.clone(),
            random.clone(),
            DefinitionCache::default(),
        );
        let place = place(engine.with_outbound(vault.clone()));
        block_on(place.engine.migrate()).unwrap();
        place.sqlite.taken();
        place
    }

    /// An engine for a request with an Idempotency-Key.
    fn keyed(&self, key: &str, route: &str, body: &str) -> Secrets {
        let once = Once::request(key, route, "", body.as_bytes(), 200).unwrap();
        Engine::new(
            self.faulty.clone(),
            self.clock.clone(),
            self.random.clone(),
            DefinitionCache::default(),
        )
        .with_outbound(self.vault.clone())
        .keyed(once, Some(&t1()))
    }

    fn put(&self, name: &str, body: &str) -> Reply {
        put(&self.engine, &t1(), name, body)
    }

    fn rotate(&self, name: &str, body: &str) -> Reply {
        reply(
            200,
            block_on(self.engine.rotate_secret(&t1(), name, body.as_bytes())),
        )
    }

    fn delete(&self, name: &str) -> Reply {
        reply(204, block_on(self.engine.delete_secret(&t1(), name)))
    }

    fn delete_previous(&self, name: &str) -> Reply {
        reply(204, block_on(self.engine.delete_previous_secret(&t1(), name)))
    }

    fn list(&self) -> Value {
        reply(200, block_on(self.engine.list_secrets(&t1()))).1
    }

    /// What is wrong with a body that is signed with a value, as a source with that secret sees it; null where nothing is.
    fn refused(&self, tenant: &TenantId, name: &str, value: &str) -> Value {
        let source = json!({"machine": "m", "scheme": {"type": "standard-webhooks"}, "secret": name,
            "mapping": {"entity_id": "/id"}});
        block_on(
            self.engine
                .put_source(tenant, "probe", source.to_string().as_bytes()),
        )
        .unwrap();
        let seconds = self.clock.0.get() / 1000;
        let signature = sign(&[value.to_owned()], "m1", seconds, br#"{"id":"e","type":"go"}"#);
        let body = json!({"body": {"id": "e", "type": "go"}, "headers": {
            "Webhook-Id": "m1", "webhook-timestamp": seconds.to_string(), "webhook-signature": signature}});
        let tried = block_on(
            self.engine
                .try_source(tenant, "probe", body.to_string().as_bytes()),
        )
        .unwrap();
        let tried = serde_json::to_value(tried).unwrap();
        assert_eq!(
            tried["signature"] == "valid",
            tried["signature_problem"].is_null(),
            "{tried}"
        );
        tried["signature_problem"].clone()
    }

    fn live(&self, name: &str, value: &str) -> bool {
        self.refused(&t1(), name, value).is_null()
    }

    /// Everything that the database holds of secrets and receipts, as text.
    fn stored(&self) -> String {
        let connection = self.sqlite.connection.borrow();
        let mut text = String::new();
        for table in ["secrets", "inbox", "sources"] {
            let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    let cell: rusqlite::types::Value = row.get(column).unwrap();
                    write!(text, "{cell:?} ").unwrap();
                }
            }
        }
        text
    }
}

fn t1() -> TenantId {
    tenant("t1")
}

fn put(engine: &Secrets, tenant: &TenantId, name: &str, body: &str) -> Reply {
    match block_on(engine.put_secret(tenant, name, body.as_bytes())) {
        Ok(kept) => (
            if kept.created { 201 } else { 200 },
            serde_json::to_value(kept).unwrap(),
        ),
        Err(error) => (error.status(), error.body()),
    }
}

fn view(name: &str, version: u64, times: [i64; 2], rotated_at: Option<i64>, previous: bool) -> Value {
    json!({"name": name, "version": version, "created_at": START + times[0], "updated_at": START + times[1],
        "rotated_at": rotated_at.map(|at| START + at), "previous": previous})
}

#[test]
fn a_value_that_is_made_up_is_told_once_and_is_32_random_bytes() {
    let place = Place::new();
    let mut seen = Vec::new();
    for body in ["", "{}", r#"{"value":null}"#] {
        let (status, mut kept) = place.put(&format!("s{}", seen.len()), body);
        assert_eq!(status, 201, "{kept}");
        let value = kept.as_object_mut().unwrap().remove("value").unwrap();
        let value = value.as_str().unwrap().to_owned();
        assert_eq!(
            from_base64(value.strip_prefix("whsec_").unwrap()).unwrap().len(),
            32
        );
        assert_eq!(kept, view(&format!("s{}", seen.len()), 1, [0, 0], None, false));
        assert!(place.live(&format!("s{}", seen.len()), &value));
        assert!(!place.stored().contains(&value[6..]), "it is stored in the clear");
        assert!(!seen.contains(&value));
        seen.push(value);
    }
    let list = place.list();
    let views: Vec<_> = (0..3)
        .map(|at| view(&format!("s{at}"), 1, [0, 0], None, false))
        .collect();
    assert_eq!(list, json!(views));
}

#[test]
fn a_value_that_is_given_is_not_told_and_a_put_ends_those_before() {
    let place = Place::new();
    assert_eq!(
        place.put("k", r#"{"value":"one"}"#),
        (201, view("k", 1, [0, 0], None, false))
    );
    place.clock.set(10);
    assert_eq!(
        place.rotate("k", r#"{"value":"two"}"#),
        (200, view("k", 2, [0, 10], Some(10), true))
    );
    assert!(place.live("k", "one") && place.live("k", "two"));
    place.clock.set(20);
    assert_eq!(
        place.put("k", r#"{"value":"three"}"#),
        (200, view("k", 3, [0, 20], Some(10), false))
    );
    assert!(!place.live("k", "one") && !place.live("k", "two") && place.live("k", "three"));
    assert_eq!(place.list(), json!([view("k", 3, [0, 20], Some(10), false)]));
    for value in ["one", "two", "three"] {
        assert!(!place.stored().contains(value));
    }
}

#[test]
fn two_values_are_live_at_once_and_a_third_is_dropped() {
    let place = Place::new();
    place.put("k", r#"{"value":"one"}"#);
    place.rotate("k", r#"{"value":"two"}"#);
    place.clock.set(30);
    let (status, kept) = place.rotate("k", "");
    let three = kept["value"].as_str().unwrap().to_owned();
    assert_eq!(
        (status, kept["version"].as_u64(), kept["previous"].as_bool()),
        (200, Some(3), Some(true))
    );
    assert!(!place.live("k", "one") && place.live("k", "two") && place.live("k", &three));
    place.clock.set(40);
    assert_eq!(place.delete_previous("k"), (204, Value::Null));
    assert!(!place.live("k", "two") && place.live("k", &three));
    assert_eq!(place.list(), json!([view("k", 3, [0, 40], Some(30), false)]));
    let (status, body) = place.delete_previous("k");
    assert_eq!(
        (status, &body["error"]["message"]),
        (404, &json!("there is no previous value of secret `k`"))
    );
    assert_eq!(place.delete("k"), (204, Value::Null));
    assert_eq!(place.list(), json!([]));
    let gone = "there is no secret `k`";
    for (status, body) in [
        place.delete("k"),
        place.delete_previous("k"),
        place.rotate("k", ""),
    ] {
        assert_eq!((status, &body["error"]["message"]), (404, &json!(gone)));
        assert_eq!(
            (&body["error"]["code"], &body["error"]["retry"]),
            (&json!("NOT_FOUND"), &json!(false))
        );
    }
    assert_eq!(place.refused(&t1(), "k", &three), gone);
    assert_eq!(place.put("k", r#"{"value":"four"}"#).1["version"], 1);
}

#[test]
fn names_and_bodies_are_checked_with_the_place_of_the_fault() {
    let place = Place::new();
    let long = "n".repeat(65);
    for name in ["", ".", "..", "-a", "_a", "a b", "a/b", "é", "a\n", &long] {
        for (status, body) in [
            place.put(name, ""),
            place.rotate(name, ""),
            place.delete(name),
            place.delete_previous(name),
        ] {
            assert_eq!((status, &body["error"]["path"]), (400, &json!("name")), "{name}");
        }
    }
    let most = format!(r#"{{"value":"{}"}}"#, "é".repeat(2048));
    let more = format!(r#"{{"value":"{}x"}}"#, "é".repeat(2048));
    for (body, path) in [
        (r#"{"value":""}"#, "$.value"),
        (r#"{"value":7}"#, "$.value"),
        (r#"{"value":["a"]}"#, "$.value"),
        (&more, "$.value"),
        (r#"{"valeu":"x"}"#, r#"$["valeu"]"#),
        (r#"{"__proto__":{}}"#, r#"$["__proto__"]"#),
        ("[]", "$"),
        ("{", "$"),
        ("\"x\"", "$"),
    ] {
        for (status, answer) in [place.put("k", body), place.rotate("k", body)] {
            assert_eq!(
                (status, &answer["error"]["path"]),
                (400, &json!(path)),
                "{body:.40}"
            );
        }
    }
    assert_eq!(place.sqlite.count("secrets"), 0);
    assert_eq!(place.put("k", &most).0, 201);
    assert_eq!(place.put(&long[..64], r#"{"value":"x"}"#).0, 201);
    // Any text is a value.
    let odd = json!({"value": "\u{0}\n\u{1f600} -----BEGIN-----\r\n"}).to_string();
    assert_eq!(place.put("Odd._-9", &odd).0, 201);
    assert!(place.live("Odd._-9", "\u{0}\n\u{1f600} -----BEGIN-----\r\n"));
}

#[test]
fn a_tenant_has_at_most_a_hundred() {
    let place = Place::new();
    for at in 0..100 {
        assert_eq!(place.put(&format!("s{at}"), r#"{"value":"x"}"#).0, 201);
    }
    let (status, body) = place.put("more", r#"{"value":"x"}"#);
    assert_eq!((status, &body["error"]["code"]), (409, &json!("LIMIT_REACHED")));
    assert_eq!(
        body["error"]["message"],
        "the tenant has 100 secrets, which is the most; delete one first"
    );
    // What is there can change; another tenant has its own hundred.
    assert_eq!(place.put("s7", r#"{"value":"y"}"#).0, 200);
    assert_eq!(put(&place.engine, &tenant("t2"), "more", "").0, 201);
    place.delete("s0");
    assert_eq!(place.put("more", "").0, 201);
}

#[test]
fn s4_96_a_twin_that_comes_first_does_not_let_a_hundred_and_first_in() {
    let place = Rc::new(Place::new());
    for at in 0..99 {
        place.put(&format!("s{at}"), r#"{"value":"x"}"#);
    }
    let other = Engine::new(
        Faulty::new(place.sqlite.clone()),
        place.clock.clone(),
        Counted::from(7),
        DefinitionCache::default(),
    )
    .with_outbound(place.vault.clone());
    let other = Rc::new(other);
    let rival = Fault::Meanwhile(Rc::new(move || {
        assert_eq!(put(&other, &t1(), "rival", "").0, 201);
    }));
    place.faulty.arm([(1, rival)]);
    let (status, body) = place.put("more", "");
    assert!(place.faulty.struck());
    assert_eq!((status, &body["error"]["code"]), (409, &json!("LIMIT_REACHED")));
    assert_eq!(place.sqlite.count("secrets"), 100);
}

#[test]
fn i9_tenants_have_secrets_of_their_own_and_no_value_opens_elsewhere() {
    let place = Place::new();
    place.put("k", r#"{"value":"one"}"#);
    put(&place.engine, &tenant("t2"), "k", r#"{"value":"two"}"#);
    assert!(place.live("k", "one") && !place.live("k", "two"));
    assert_eq!(place.refused(&tenant("t2"), "k", "two"), Value::Null);
    let list = block_on(place.engine.list_secrets(&tenant("t3"))).unwrap();
    assert!(list.is_empty());
    // Somebody who can write rows cannot move a value to another tenant or to another name.
    place.sqlite.execute(
        "UPDATE secrets SET current = (SELECT current FROM secrets WHERE tenant = 't2') WHERE tenant = 't1'",
    );
    let problem = place.refused(&t1(), "k", "two");
    assert!(
        problem.as_str().unwrap().contains("cannot be opened"),
        "{problem}"
    );
    place.sqlite.execute("INSERT INTO secrets SELECT tenant, 'other', version, current, previous, created_at, updated_at, rotated_at \
        FROM secrets WHERE tenant = 't2'");
    let problem = place.refused(&tenant("t2"), "other", "two");
    assert!(
        problem.as_str().unwrap().contains("cannot be opened"),
        "{problem}"
    );
    assert_eq!(
        reply(204, block_on(place.engine.delete_secret(&tenant("t3"), "k"))).0,
        404
    );
    assert_eq!(place.sqlite.count("secrets"), 3);
}

#[test]
fn without_a_key_or_with_another_nothing_is_kept_or_read() {
    let place = Place::new();
    place.put("k", r#"{"value":"one"}"#);
    place.vault.key.set(None);
    for (status, body) in [place.put("k", ""), place.put("new", ""), place.rotate("k", "")] {
        assert_eq!(
            (status, &body["error"]["code"], &body["error"]["retry"]),
            (503, &json!("SECRETS_DISABLED"), &json!(false))
        );
        let message = body["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("npx wrangler secret put SECRETS_KEY"),
            "{message}"
        );
    }
    // What needs no value goes on.
    assert_eq!(place.list(), json!([view("k", 1, [0, 0], None, false)]));
    place.vault.key.set(Some(1));
    let problem = place.refused(&t1(), "k", "one");
    assert!(
        problem.as_str().unwrap().contains("cannot be opened"),
        "{problem}"
    );
    assert_eq!(place.put("k", r#"{"value":"two"}"#).0, 200);
    assert!(place.live("k", "two"));
    assert_eq!(place.delete("k").0, 204);
}

#[test]
fn s4_91_a_replay_tells_everything_but_the_value_and_no_receipt_holds_it() {
    let place = Place::new();
    let first = put(&place.keyed("key", "PUT /api/secrets/k", ""), &t1(), "k", "");
    let value = first.1["value"].as_str().unwrap().to_owned();
    place.clock.set(5);
    let again = block_on(
        place
            .keyed("key", "PUT /api/secrets/k", "")
            .put_secret(&t1(), "k", b""),
    );
    let Err(Error::Replayed(replay)) = again else {
        panic!("{again:?}")
    };
    assert_eq!((first.0, replay.status), (201, 201));
    let answer: Value = serde_json::from_str(&replay.answer.unwrap()).unwrap();
    assert_eq!(answer, view("k", 1, [0, 0], None, false));
    let second = block_on(
        place
            .keyed("turn", "POST /api/secrets/k/rotate", "")
            .rotate_secret(&t1(), "k", b""),
    )
    .unwrap();
    let turned = second.value.unwrap();
    let again = block_on(
        place
            .keyed("turn", "POST /api/secrets/k/rotate", "")
            .rotate_secret(&t1(), "k", b""),
    );
    assert!(matches!(again, Err(Error::Replayed(_))), "{again:?}");
    // It was rotated once: the first value is still the previous one.
    assert!(place.live("k", &value) && place.live("k", &turned));
    for value in [&value, &turned] {
        assert!(!place.stored().contains(&value[6..]));
    }
    assert_eq!(place.sqlite.count("inbox"), 2);
    for _ in 0..2 {
        let deleted = block_on(
            place
                .keyed("gone", "DELETE /api/secrets/k", "")
                .delete_secret(&t1(), "k"),
        );
        match deleted {
            Ok(()) => assert_eq!(place.sqlite.count("secrets"), 0),
            Err(Error::Replayed(replay)) => assert_eq!(replay.answer, None),
            Err(other) => panic!("{other}"),
        }
    }
}

/// What is left of a place after an operation: the secrets without what chance or time made.
fn left(place: &Place) -> String {
    let connection = place.sqlite.connection.borrow();
    let sql = "SELECT group_concat(name || ' ' || version || ' ' || (previous IS NOT NULL)) FROM secrets";
    let text: Option<String> = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    text.unwrap_or_default()
}

#[test]
fn i3_a_fault_at_any_batch_leaves_one_change_and_the_answer_is_true() {
    type Change = fn(&Secrets) -> Result<Option<String>, Error>;
    let changes: [(&str, Change, &str); 5] = [
        (
            "new",
            |engine| block_on(engine.put_secret(&t1(), "new", b"")).map(|kept| kept.value),
            "k 2 1,new 1 0",
        ),
        (
            "k",
            |engine| block_on(engine.put_secret(&t1(), "k", b"")).map(|kept| kept.value),
            "k 3 0",
        ),
        (
            "k",
            |engine| block_on(engine.rotate_secret(&t1(), "k", b"")).map(|kept| kept.value),
            "k 3 1",
        ),
        (
            "k",
            |engine| block_on(engine.delete_previous_secret(&t1(), "k")).map(|()| None),
            "k 2 0",
        ),
        (
            "k",
            |engine| block_on(engine.delete_secret(&t1(), "k")).map(|()| None),
            "",
        ),
    ];
    for (name, change, after) in changes {
        for keyed in [false, true] {
            for fault in [Fault::Before, Fault::After, Fault::Late] {
                for at in 0..2 {
                    let place = Place::new();
                    place.put("k", r#"{"value":"one"}"#);
                    place.rotate("k", r#"{"value":"two"}"#);
                    let before = left(&place);
                    let request = place.keyed("key", "route", "");
                    let engine = if keyed { &request } else { &place.engine };
                    place.faulty.arm([(at, fault.clone())]);
                    let outcome = change(engine);
                    assert!(place.faulty.struck());
                    let stored = left(&place);
                    let what = format!("{name} {after} keyed {keyed} at {at}");
                    match outcome {
                        Ok(value) => {
                            assert_eq!(stored, after, "{what}");
                            if let Some(value) = value {
                                assert!(
                                    place.live(name, &value),
                                    "{what}: the value that was told is not live"
                                );
                            }
                            assert_eq!(place.sqlite.count("inbox"), i64::from(keyed), "{what}");
                        }
                        // Its own receipt: it was done, and nothing but its answer is told again.
                        Err(Error::Replayed(_)) => {
                            assert!(keyed && after.is_empty(), "{what}: the value is lost");
                            assert_eq!(stored, after, "{what}");
                        }
                        // A read that failed changed nothing.
                        Err(error) => {
                            assert!(at == 0 && error.code().retry(), "{what}: {error}");
                            assert_eq!(stored, before, "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn i1_two_rotations_at_once_are_two_rotations() {
    let place = Rc::new(Place::new());
    place.put("k", r#"{"value":"one"}"#);
    let other = Rc::new(
        Engine::new(
            Faulty::new(place.sqlite.clone()),
            place.clock.clone(),
            Counted::from(7),
            DefinitionCache::default(),
        )
        .with_outbound(place.vault.clone()),
    );
    let rival = Fault::Meanwhile(Rc::new(move || {
        block_on(other.rotate_secret(&t1(), "k", br#"{"value":"theirs"}"#)).unwrap();
    }));
    place.faulty.arm([(1, rival)]);
    let (status, kept) = place.rotate("k", r#"{"value":"mine"}"#);
    assert_eq!((status, &kept["version"]), (200, &json!(3)));
    assert!(!place.live("k", "one") && place.live("k", "theirs") && place.live("k", "mine"));
}

#[test]
fn every_statement_finds_its_rows_by_key() {
    let place = Place::new();
    place.put("k", "");
    place.rotate("k", "");
    place.delete_previous("k");
    place.list();
    place.delete("k");
    let statements: std::collections::BTreeSet<_> = place.sqlite.taken().into_iter().flatten().collect();
    assert!(statements.len() >= 5, "{statements:?}");
    let connection = place.sqlite.connection.borrow();
    for sql in statements {
        let mut prepared = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let line: String = row.get(3).unwrap();
            let scans = line.contains("SCAN") && line != "SCAN CONSTANT ROW" || line.contains("TEMP B-TREE");
            assert!(!scans, "{sql}\n{line}");
        }
    }
}

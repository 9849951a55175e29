//! Webhooks that come in: what their requests become, once for each delivery, and what providers are told (design 5, S4.90 to
//! S4.112, I1, I9, I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use statewright_engine::once::{Once, Origin};
use statewright_engine::{DefinitionCache, Engine};
use support::faults::Fault;
use support::providers::{Delivery, Hooks, START_SECONDS, github, hex, plain, put_source, send, t1};
use support::world::reply;
use support::{Counted, START, block_on, tenant};

/// A service with a machine `m` that takes `note` and `paid`, a secret `key`, and a source `in` of a plain HMAC.
fn service() -> Rc<Hooks> {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note", "paid"]);
    hooks.secret(&t1(), "key", "secret");
    assert_eq!(hooks.source(&t1(), "in", &source(&json!({}))).0, 201);
    hooks
}

/// A source of a plain HMAC, with a mapping that has these parts besides.
fn source(mapping: &Value) -> Value {
    let mut source = json!({"machine": "m", "scheme": {"type": "hmac-sha256"}, "secret": "key",
        "mapping": {"entity_id": "/id", "event_type": "/type"}});
    for (key, value) in mapping.as_object().unwrap() {
        source["mapping"][key] = value.clone();
    }
    source
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn event(id: &str, kind: &str) -> String {
    json!({"id": id, "type": kind}).to_string()
}

#[test]
fn s4_110_the_wallet_is_credited_once_for_each_event_of_each_account() {
    let hooks = Hooks::new();
    let account = |account: &str, id: &str, amount: u64| {
        json!({"type": "payment_intent.succeeded", "id": id, "account": account, "amount": amount})
            .to_string()
    };
    let wallet = |mapping: Value| {
        let mut source = json!({"machine": "wallet", "scheme": {"type": "stripe"}, "secret": "stripe",
            "mapping": {"entity_id": "/account", "params": {"amount": "/amount"}}});
        for (key, value) in mapping.as_object().unwrap() {
            source["mapping"][key] = value.clone();
        }
        source
    };
    let credits = |tenant: &str, entity: &str| -> Vec<u64> {
        let events = hooks.events_of(&support::tenant(tenant), "wallet", entity);
        events
            .iter()
            .map(|(_, params)| params["amount"].as_u64().unwrap())
            .collect()
    };
    for account in ["acct_A", "acct_B"] {
        hooks.machine(&tenant(account), "wallet", &["payment_intent.succeeded"]);
        hooks.secret(&tenant(account), "stripe", "whsec_stripe");
        assert_eq!(
            hooks.source(&tenant(account), "stripe", &wallet(json!({}))).0,
            201
        );
    }
    let post = |tenant: &str, body: String| {
        send(
            &hooks.engine,
            &support::tenant(tenant),
            "stripe",
            &hooks.stripe("whsec_stripe", body),
        )
    };
    let (status, first) = post("acct_A", account("acct_A", "evt_1", 500));
    assert_eq!(
        (status, &first["outcome"], &first["state_version"]),
        (200, &json!("applied"), &json!(2)),
        "{first}"
    );
    // Delivered again, even signed at another time: the same answer, credited once.
    hooks.clock.set(3_600_000);
    let (status, mut again) = post("acct_A", account("acct_A", "evt_1", 500));
    assert_eq!((status, again["outcome"].take()), (200, json!("duplicate")));
    again["outcome"] = json!("applied");
    assert_eq!(again, first);
    let (status, other) = post("acct_A", account("acct_A", "evt_1", 999));
    assert_eq!(
        (status, &other["error"]["code"], &other["error"]["retry"]),
        (422, &json!("IDEMPOTENCY_MISMATCH"), &json!(false))
    );
    assert_eq!(
        other["error"]["message"],
        "the delivery `evt_1` came before with another body"
    );
    // Another tenant's evt_1 is a new event.
    assert_eq!(
        post("acct_B", account("acct_B", "evt_1", 500)).1["outcome"],
        "applied"
    );
    assert_eq!(
        (credits("acct_A", "acct_A"), credits("acct_B", "acct_B")),
        (vec![500], vec![500])
    );

    // The same where all accounts are of one tenant, whose source says what makes an event one.
    let by_account = wallet(json!({"identity": "{/account}:{/id}"}));
    assert_eq!(hooks.source(&tenant("acct_A"), "all", &by_account).0, 201);
    let post = |body: String| {
        send(
            &hooks.engine,
            &tenant("acct_A"),
            "all",
            &hooks.stripe("whsec_stripe", body),
        )
    };
    let statuses = [("acct_C", 500), ("acct_C", 500), ("acct_C", 999), ("acct_D", 500)]
        .map(|(of, amount)| post(account(of, "evt_1", amount)).0);
    assert_eq!(statuses, [200, 200, 422, 200]);
    assert_eq!(
        (credits("acct_A", "acct_C"), credits("acct_A", "acct_D")),
        (vec![500], vec![500])
    );
}

#[test]
fn every_outcome_is_told_and_counted() {
    let hooks = service();
    let send = |body: String| hooks.send("in", &plain("secret", body));
    let (status, body) = send(event("e", "note"));
    assert_eq!(
        (status, &body["outcome"], &body["entity_id"]),
        (200, &json!("applied"), &json!("e"))
    );
    assert_eq!(
        (
            &body["current_state"],
            &body["state_version"],
            &body["triggered_by"]
        ),
        (&json!("open"), &json!(2), &json!("note"))
    );
    assert_eq!(send(event("e", "note")).1["outcome"], "duplicate");
    let (status, body) = send(event("e", "unheard"));
    assert_eq!(
        (status, &body["outcome"], &body["reason"]),
        (
            200,
            &json!("no_transition"),
            &json!("no transition from 'open' on 'unheard'")
        )
    );
    let (status, body) = send(event("e", "unheard"));
    assert_eq!(
        (status, &body["outcome"], &body["reason"]),
        (
            200,
            &json!("duplicate"),
            &json!("no transition from 'open' on 'unheard'")
        )
    );
    let (status, body) = send(r#"{"type":"note"}"#.to_owned());
    assert_eq!(
        (status, &body["outcome"], &body["path"]),
        (202, &json!("unmapped"), &json!("mapping.entity_id"))
    );
    assert_eq!(
        body["problem"],
        "`/id` leads to nothing in the body; expected a string that is not empty, or a number"
    );
    let mut closed = source(&json!({}));
    closed["create"] = json!(false);
    hooks.source(&t1(), "in", &closed);
    let (status, body) = send(event("new", "note"));
    assert_eq!(
        (status, &body["outcome"], &body["code"]),
        (200, &json!("refused"), &json!("NOT_FOUND")),
        "{body}"
    );
    assert_eq!(body["error"]["message"], "machine `m` has no entity `new`");
    let (status, again) = send(event("new", "note"));
    assert_eq!(
        (status, &again["outcome"], &again["code"]),
        (200, &json!("duplicate"), &json!("NOT_FOUND"))
    );
    assert_eq!(again["error"], body["error"]);
    assert_eq!(hooks.send("in", &plain("wrong", event("e", "note"))).0, 401);
    assert_eq!(
        hooks.counts("in"),
        json!({"applied": 1, "duplicate": 3, "no_transition": 1, "unmapped": 1, "refused": 1, "bad_signature": 1})
    );
    assert_eq!(hooks.events("m", "e").len(), 1);
    // Only what became of events is a receipt.
    assert_eq!(hooks.sqlite.count("inbox"), 3);
}

#[test]
fn what_is_not_signed_or_of_no_source_is_told_alike_and_leaves_a_counter_at_most() {
    let hooks = service();
    let mut inactive = source(&json!({}));
    inactive["active"] = json!(false);
    hooks.source(&t1(), "off", &inactive);
    let mut lost = source(&json!({}));
    lost["secret"] = json!("nothing");
    hooks.source(&t1(), "lost", &lost);
    let signed = plain("secret", event("e", "note"));
    let unsigned = Delivery::of(&[], event("e", "note"));
    let before = hooks.sqlite.dump();
    let (_, expected) = hooks.send("in", &unsigned);
    assert_eq!(expected["error"]["code"], "UNAUTHORIZED");
    for (id, delivery) in [
        ("in", &unsigned),
        ("in", &signed.clone().with("x-signature", "00")),
        ("lost", &signed),
        ("none", &signed),
        ("off", &signed),
        ("", &signed),
        ("no name", &signed),
        ("../in", &signed),
        ("in\u{0}", &signed),
        ("IN", &signed),
    ] {
        assert_eq!(hooks.send(id, delivery), (401, expected.clone()), "{id}");
    }
    assert_eq!(send(&hooks.engine, &tenant("t2"), "in", &signed), (401, expected));
    assert_eq!(hooks.sqlite.dump(), before);
    assert_eq!(hooks.sqlite.count("inbox"), 0);
    // Counted where there is a source that is active, and nowhere else.
    assert_eq!(hooks.counts("in"), json!({"bad_signature": 3}));
    assert_eq!(hooks.counts("lost"), json!({"bad_signature": 1}));
    assert_eq!(hooks.counts("off"), json!({}));
    assert_eq!(hooks.sqlite.count("source_counts"), 2);
    // Set active again it takes what is signed.
    hooks.source(&t1(), "off", &source(&json!({})));
    assert_eq!(hooks.send("off", &signed).0, 200);
}

#[test]
fn a_counter_of_a_source_that_is_gone_meanwhile_is_not_written() {
    let hooks = service();
    let other = hooks.other();
    let gone = Fault::Meanwhile(Rc::new(move || {
        block_on(other.delete_source(&t1(), "in")).unwrap();
    }));
    hooks.faulty.arm([(1, gone)]);
    assert_eq!(hooks.send("in", &plain("wrong", "{}")).0, 401);
    assert!(hooks.faulty.struck());
    assert_eq!(hooks.sqlite.count("source_counts"), 0);
}

#[test]
fn s4_90_each_scheme_has_places_of_its_own() {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note", "note.made", "invoice.paid", "message"]);
    hooks.secret(&t1(), "key", "whsec_c2VjcmV0");
    let scheme = |kind: &str| json!({"machine": "m", "scheme": {"type": kind}, "secret": "key", "mapping": {"entity_id": "/id"}});
    for kind in ["standard-webhooks", "github", "stripe", "slack"] {
        assert_eq!(hooks.source(&t1(), kind, &scheme(kind)).0, 201);
    }
    let secret = "whsec_c2VjcmV0";
    let body = |kind: &str| json!({"id": kind, "type": "note"}).to_string();
    // Delivery, event type, and what makes a second one another.
    let standard = |id: &str| hooks.standard(b"secret", id, body("standard-webhooks"));
    assert_eq!(
        hooks.send("standard-webhooks", &standard("m1")).1["triggered_by"],
        "note"
    );
    assert_eq!(
        hooks.send("standard-webhooks", &standard("m1")).1["outcome"],
        "duplicate"
    );
    assert_eq!(
        hooks.send("standard-webhooks", &standard("m2")).1["outcome"],
        "applied"
    );
    let svix = Delivery {
        headers: standard("m3")
            .headers
            .into_iter()
            .map(|(name, value)| (name.replace("webhook", "svix"), value))
            .collect(),
        ..standard("m3")
    };
    assert_eq!(hooks.send("standard-webhooks", &svix).1["outcome"], "applied");
    assert_eq!(
        hooks.send("standard-webhooks", &standard("m3")).1["outcome"],
        "duplicate"
    );
    // The secret's text is the key elsewhere.
    assert_eq!(
        hooks
            .send(
                "standard-webhooks",
                &hooks.standard(secret.as_bytes(), "m4", body("e"))
            )
            .0,
        401
    );

    let made = json!({"id": "github", "action": "made"}).to_string();
    assert_eq!(
        hooks.send("github", &github(secret, "note", "d1", &made)).1["triggered_by"],
        "note.made"
    );
    assert_eq!(
        hooks.send("github", &github(secret, "note", "d1", &made)).1["outcome"],
        "duplicate"
    );
    assert_eq!(
        hooks.send("github", &github(secret, "note", "d2", &made)).1["outcome"],
        "applied"
    );
    let (_, answer) = hooks.send("github", &github(secret, "note", "d3", r#"{"id":"github"}"#));
    assert_eq!(answer["triggered_by"], "note");
    for action in [json!(null), json!(""), json!(7), json!({"made": 1})] {
        let odd = json!({"id": "github", "action": action}).to_string();
        let (_, answer) = hooks.send("github", &github(secret, "note", &format!("d{action}"), odd));
        assert_eq!(
            (&answer["outcome"], &answer["triggered_by"]),
            (&json!("applied"), &json!("note")),
            "{action}"
        );
    }
    for missing in ["x-github-event", "x-github-delivery"] {
        let mut delivery = github(secret, "note", "d4", r#"{"id":"github"}"#);
        delivery.headers.remove(missing);
        let (status, answer) = hooks.send("github", &delivery);
        assert_eq!(
            (status, &answer["problem"]),
            (202, &json!(format!("the header `{missing}` is missing")))
        );
    }

    let stripe = |id: &str| hooks.stripe(secret, json!({"id": id, "type": "invoice.paid"}).to_string());
    assert_eq!(
        hooks.send("stripe", &stripe("evt_1")).1["triggered_by"],
        "invoice.paid"
    );
    hooks.clock.set(1000);
    assert_eq!(hooks.send("stripe", &stripe("evt_1")).1["outcome"], "duplicate");
    assert_eq!(hooks.send("stripe", &stripe("evt_2")).1["outcome"], "applied");

    let slack = |id: &str| {
        let body =
            json!({"id": "slack", "type": "event_callback", "event_id": id, "event": {"type": "message"}});
        hooks.slack(secret, body.to_string())
    };
    assert_eq!(hooks.send("slack", &slack("Ev1")).1["triggered_by"], "message");
    hooks.clock.set(2000);
    assert_eq!(hooks.send("slack", &slack("Ev1")).1["outcome"], "duplicate");
    assert_eq!(hooks.send("slack", &slack("Ev2")).1["outcome"], "applied");
    // One scheme's signature is none by another.
    assert_eq!(hooks.send("github", &slack("Ev3")).0, 401);
    let versions = ["github", "slack"].map(|entity| hooks.events("m", entity).len());
    assert_eq!(versions, [7, 2]);
}

#[test]
fn s4_98_what_providers_change_between_deliveries_makes_no_other_event() {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note"]);
    hooks.secret(&t1(), "key", "secret");
    let of = |kind: &str, mapping: Value| {
        let mut source = source(&mapping);
        source["scheme"] = json!({"type": kind});
        source
    };
    hooks.source(&t1(), "stripe", &of("stripe", json!({})));
    hooks.source(&t1(), "own", &of("standard-webhooks", json!({})));
    hooks.source(&t1(), "strict", &of("stripe", json!({"ignore": []})));
    hooks.source(
        &t1(),
        "loose",
        &of(
            "stripe",
            json!({"ignore": ["/a~1b/0", "/a~1b/c~0d", "/nowhere/at/all", "/id/x"]}),
        ),
    );
    assert_eq!(
        hooks.shown(&t1(), "own")["mapping"]["ignore"],
        json!(["/data/attempt", "/data/fired_at"])
    );
    let stripe = |id: &str, more: Value| {
        let mut body = json!({"id": id, "type": "note"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        hooks.stripe("secret", body.to_string())
    };
    let outcome =
        |(status, answer): (u16, Value)| (status, answer["outcome"].as_str().unwrap_or("").to_owned());
    let (applied, duplicate, other) = (
        (200, "applied".to_owned()),
        (200, "duplicate".to_owned()),
        (422, String::new()),
    );
    let post = |source: &str, id: &str, more: Value| outcome(hooks.send(source, &stripe(id, more)));
    assert_eq!(post("stripe", "evt_1", json!({"pending_webhooks": 2})), applied);
    assert_eq!(post("stripe", "evt_1", json!({"pending_webhooks": 1})), duplicate);
    assert_eq!(post("stripe", "evt_1", json!({"pending": 1})), other);
    assert_eq!(post("strict", "evt_2", json!({"pending_webhooks": 2})), applied);
    assert_eq!(post("strict", "evt_2", json!({"pending_webhooks": 1})), other);
    assert_eq!(
        post("loose", "evt_3", json!({"a/b": {"0": 1, "c~d": 2, "e": 3}})),
        applied
    );
    assert_eq!(post("loose", "evt_3", json!({"a/b": {"e": 3}})), duplicate);
    assert_eq!(post("loose", "evt_3", json!({"a/b": {"e": 4}})), other);
    // Presented again by a service like this one.
    let own = |attempt: u64| {
        json!({"id": "e", "type": "note", "data": {"attempt": attempt, "fired_at": attempt, "version": 3}})
            .to_string()
    };
    assert_eq!(
        outcome(hooks.send("own", &hooks.standard(b"secret", "m1", own(1)))),
        applied
    );
    assert_eq!(
        outcome(hooks.send("own", &hooks.standard(b"secret", "m1", own(2)))),
        duplicate
    );
    // Spaces and the order of keys are no difference; the sources of a tenant have identities of their own.
    let spaced = hooks.stripe(
        "secret",
        r#"{ "type":"note",   "pending_webhooks":7, "id":"evt_1" }"#,
    );
    assert_eq!(outcome(hooks.send("stripe", &spaced)), duplicate);
    assert_eq!(outcome(hooks.send("strict", &spaced)), applied);
}

#[test]
fn handshakes_are_answered_and_move_nothing() {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note", "ping"]);
    hooks.secret(&t1(), "key", "secret");
    for kind in ["slack", "github"] {
        let mut source = source(&json!({}));
        source["scheme"] = json!({"type": kind});
        hooks.source(&t1(), kind, &source);
    }
    let challenge =
        json!({"token": "x", "challenge": "3eZbrw1a<script>", "type": "url_verification"}).to_string();
    assert_eq!(
        hooks.send("slack", &hooks.slack("secret", &challenge)),
        (200, json!({"text": "3eZbrw1a<script>"}))
    );
    // Who cannot sign gets no echo.
    assert_eq!(hooks.send("slack", &hooks.slack("other", &challenge)).0, 401);
    for odd in [json!(7), json!(null), json!("x".repeat(1025))] {
        let body = json!({"type": "url_verification", "challenge": odd}).to_string();
        assert_eq!(hooks.send("slack", &hooks.slack("secret", body)).0, 202);
    }
    let ping = github(
        "secret",
        "ping",
        "d1",
        r#"{"zen":"Keep it logically awesome.","hook_id":1}"#,
    );
    assert_eq!(
        hooks.send("github", &ping),
        (200, json!({"outcome": "handshake"}))
    );
    assert_eq!(
        hooks.send("github", &ping),
        (200, json!({"outcome": "handshake"}))
    );
    // Its body may be a form.
    assert_eq!(
        hooks
            .send("github", &github("secret", "ping", "d2", "payload=%7B%7D"))
            .1["outcome"],
        "handshake"
    );
    assert_eq!(hooks.send("github", &github("other", "ping", "d1", "{}")).0, 401);
    assert_eq!(
        hooks.counts("slack"),
        json!({"handshake": 1, "bad_signature": 1, "unmapped": 3})
    );
    assert_eq!(
        hooks.counts("github"),
        json!({"handshake": 3, "bad_signature": 1})
    );
    assert_eq!(
        (hooks.sqlite.count("inbox"), hooks.sqlite.count("entities")),
        (0, 0)
    );
}

#[test]
fn both_values_of_a_rotated_secret_are_taken_until_the_older_is_dropped() {
    let hooks = service();
    let mut number = 0;
    let mut taken = |secret: &str| {
        number += 1;
        let body = json!({"id": "e", "type": "note", "n": number}).to_string();
        hooks.send("in", &plain(secret, body)).0 == 200
    };
    assert!(taken("secret") && !taken("next"));
    block_on(hooks.engine.rotate_secret(&t1(), "key", br#"{"value":"next"}"#)).unwrap();
    assert!(taken("secret") && taken("next"));
    block_on(hooks.engine.delete_previous_secret(&t1(), "key")).unwrap();
    assert!(!taken("secret") && taken("next"));
    block_on(hooks.engine.delete_secret(&t1(), "key")).unwrap();
    assert!(!taken("secret") && !taken("next"));
    assert_eq!(hooks.counts("in"), json!({"applied": 4, "bad_signature": 4}));
}

#[test]
fn a_time_that_is_signed_must_be_near_now_and_is_not_altered() {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note"]);
    hooks.secret(&t1(), "key", "secret");
    let mut stripe = source(&json!({}));
    stripe["scheme"] = json!({"type": "stripe"});
    stripe["tolerance"] = json!(60);
    hooks.source(&t1(), "stripe", &stripe);
    let body = |id: u32| json!({"id": format!("evt_{id}"), "type": "note"}).to_string();
    for (at, offset, status) in [
        (1, -60_000, 200),
        (2, 60_999, 200),
        (3, -61_000, 401),
        (4, 61_000, 401),
        (5, -3_600_000, 401),
    ] {
        let delivery = hooks.stripe("secret", body(at));
        hooks.clock.set(offset);
        assert_eq!(hooks.send("stripe", &delivery).0, status, "{offset}");
        hooks.clock.set(0);
    }
    let delivery = hooks.stripe("secret", body(6));
    hooks.clock.set(600_000);
    let text = delivery.headers["stripe-signature"]
        .replace(&START_SECONDS.to_string(), &hooks.seconds().to_string());
    assert_eq!(
        hooks.send("stripe", &delivery.with("stripe-signature", &text)).0,
        401
    );
    assert_eq!(hooks.counts("stripe"), json!({"applied": 2, "bad_signature": 4}));
}

#[test]
fn i10_any_bytes_that_are_signed_are_answered() {
    let hooks = service();
    let mut deep = "[".repeat(100_000);
    deep.push_str(&"]".repeat(100_000));
    let bodies: [&[u8]; 14] = [
        b"",
        b"\xff\xfe\x00",
        b"{\"id\":\"\xc3\x28\",\"type\":\"note\"}",
        b"payload=%7B%7D",
        b"null",
        b"7",
        b"\"text\"",
        b"[1,2]",
        b"{\"id\":\"\\ud800\",\"type\":\"note\"}",
        b"\xef\xbb\xbf{}",
        b"{\"id\":1e999,\"type\":\"note\"}",
        b"{\"id\":\"e\",\"type\":\"note\"} x",
        b"{\"id\":\"e\",\"type\":\"\\u0000\"}",
        deep.as_bytes(),
    ];
    for body in bodies {
        let (status, answer) = hooks.send("in", &plain("secret", body));
        assert_eq!(
            (status, &answer["outcome"]),
            (202, &json!("unmapped")),
            "{body:.40?}: {answer}"
        );
        assert!(
            answer["problem"].is_string() && answer["path"].is_string(),
            "{answer}"
        );
    }
    // What a name of an object is in other languages is a name like any other.
    let body = r#"{"__proto__":{"id":"p"},"constructor":{"prototype":{"type":"note"}},"toString":1,"hasOwnProperty":true}"#;
    let mapping = json!({"entity_id": "/__proto__/id", "event_type": "/constructor/prototype/type",
        "params": {"__proto__": "/toString", "constructor": "/hasOwnProperty"}});
    hooks.source(&t1(), "odd", &source(&mapping));
    let (_, answer) = hooks.send("odd", &plain("secret", body));
    assert_eq!(
        (&answer["outcome"], &answer["entity_id"]),
        (&json!("applied"), &json!("p"))
    );
    assert_eq!(
        hooks.events("m", "p"),
        [("note".to_owned(), json!({"__proto__": 1, "constructor": true}))]
    );
    for name in ["__proto__", "constructor", "toString", "hasOwnProperty"] {
        assert_eq!(
            hooks.send("in", &plain("secret", event(name, "note"))).1["outcome"],
            "applied",
            "{name}"
        );
        assert_eq!(
            hooks.send("in", &plain("secret", event("e", name))).1["outcome"],
            "no_transition",
            "{name}"
        );
    }
    assert_eq!(hooks.send("__proto__", &plain("secret", "{}")).0, 401);
}

#[test]
fn a_body_has_at_most_a_mebibyte() {
    let hooks = service();
    let most = 1024 * 1024;
    let head = event("e", "note");
    let body = format!("{head}{}", " ".repeat(most - head.len()));
    assert_eq!(hooks.send("in", &plain("secret", &body)).1["outcome"], "applied");
    let (status, answer) = hooks.send("in", &plain("secret", format!("{body} ")));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &json!("PAYLOAD_TOO_LARGE"))
    );
    // Not even a source is looked for.
    hooks.sqlite.taken();
    assert_eq!(hooks.send("none", &plain("secret", format!("{body} "))).0, 413);
    assert!(hooks.sqlite.taken().is_empty());
    // What is kept of it is bounded on its own.
    hooks.source(&t1(), "in", &source(&json!({"params": {"note": "/note"}})));
    for (bytes, outcome) in [(65_525, "applied"), (65_526, "unmapped"), (900_000, "unmapped")] {
        let body = json!({"id": "e", "type": "note", "note": "x".repeat(bytes)}).to_string();
        let (_, answer) = hooks.send("in", &plain("secret", body));
        assert_eq!(answer["outcome"], outcome, "{bytes}: {}", answer["problem"]);
    }
}

#[test]
fn event_types_are_renamed_prefixed_or_left_out() {
    let hooks = service();
    let told = |mapping: Value, kind: Value| {
        assert_eq!(hooks.source(&t1(), "in", &source(&mapping)).0, 200, "{mapping}");
        let (_, tried) = hooks.try_source("in", &json!({"body": {"id": "e", "type": kind}}));
        match tried["event"]["event_type"].as_str() {
            Some(event_type) => event_type.to_owned(),
            None => format!(
                "{}: {}",
                tried["path"].as_str().unwrap(),
                tried["problem"].as_str().unwrap()
            ),
        }
    };
    let table = json!({"a": "paid", "b": "note"});
    for (mapping, kind, event_type) in [
        (json!({}), json!("x.y"), "x.y"),
        (json!({}), json!(7), "7"),
        (json!({"prefix": "shop."}), json!("x"), "shop.x"),
        (json!({"rename": table}), json!("a"), "paid"),
        (json!({"rename": table}), json!("c"), "c"),
        // What is renamed is meant as it is written.
        (json!({"rename": table, "prefix": "shop."}), json!("a"), "paid"),
        (json!({"rename": table, "prefix": "shop."}), json!("c"), "shop.c"),
        (json!({"rename": table, "only": true}), json!("b"), "note"),
        (
            json!({"rename": table, "only": true}),
            json!("c"),
            "mapping.rename: the source maps no event `c`",
        ),
        (
            json!({"rename": {"__proto__": "paid"}, "only": true}),
            json!("__proto__"),
            "paid",
        ),
        (json!({"rename": {"$timeout": "paid"}}), json!("$timeout"), "paid"),
        (json!({"event_type": {"text": "came"}}), json!("x"), "came"),
        (
            json!({"event_type": {"text": "came"}, "prefix": "shop."}),
            json!("x"),
            "shop.came",
        ),
        (json!({"event_type": "{/type}-{/id}"}), json!("x"), "x-e"),
    ] {
        assert_eq!(told(mapping, kind), event_type);
    }
    for (kind, problem) in [
        (json!("$timeout"), "the event type `$timeout` is reserved"),
        (json!(""), "`/type` is empty"),
        (json!(true), "`/type` is a boolean"),
        (json!(null), "`/type` is null"),
        (json!("a\nb"), "no event type: it holds a control character"),
        (json!("x".repeat(129)), "no event type: it has 129 bytes"),
    ] {
        let told = told(json!({}), kind);
        assert!(
            told.starts_with("mapping.event_type: ") && told.contains(problem),
            "{told}"
        );
    }
}

#[test]
fn entities_params_identities_and_times_come_from_their_places() {
    let hooks = service();
    hooks.source(&t1(), "in", &source(&json!({
        "entity_id": "order-{/data/order/0}-{/data/n}", "identity": {"header": "X-Id"}, "timestamp": "/at",
        "params": {"whole": "/data", "agent": {"header": "User-Agent"}, "none": "/nothing", "null": "/null", "said": {"text": "so"},
            "line": "{/type}/{/id}", "half": "{/type}/{/nothing}", "missing": {"header": "x-none"}}
    })));
    let body = json!({"id": 7, "type": "note", "at": "2023-11-14T22:13:20.5Z", "null": null, "data": {"order": ["a/b"], "n": 1.5}});
    let headers = json!({"x-ID": "d1", "user-agent": "Hook/1"});
    let (status, tried) = hooks.try_source("in", &json!({"body": body, "headers": headers}));
    assert_eq!(status, 200, "{tried}");
    let params = json!({"whole": {"order": ["a/b"], "n": 1.5}, "agent": "Hook/1", "null": null, "said": "so", "line": "note/7"});
    let mapped = json!({"entity_id": "order-a/b-1.5", "event_type": "note", "params": params, "identity": "d1",
        "timestamp": 1_700_000_000_500_i64});
    assert_eq!(
        tried,
        json!({"mapped": true, "event": mapped, "signature": "absent",
        "signature_problem": "the header `x-signature` is missing"})
    );
    let delivery = plain("secret", body.to_string())
        .with("x-id", "d1")
        .with("user-agent", "Hook/1");
    let (_, answer) = hooks.send("in", &delivery);
    assert_eq!(
        (&answer["outcome"], &answer["timestamp"]),
        (&json!("applied"), &json!(1_700_000_000_500_i64)),
        "{answer}"
    );
    assert_eq!(hooks.events("m", "order-a/b-1.5"), [("note".to_owned(), params)]);
    // The event's own identity holds besides: another delivery of what was said before moves nothing (S2.138).
    let (_, answer) = hooks.send("in", &delivery.clone().with("x-id", "d2"));
    assert_eq!(
        (&answer["outcome"], &answer["reason"]),
        (&json!("duplicate"), &json!("duplicate event (already processed)"))
    );
    assert_eq!(hooks.events("m", "order-a/b-1.5").len(), 1);
}

#[test]
fn ids_and_times_that_are_none_make_no_event() {
    let hooks = service();
    hooks.source(
        &t1(),
        "in",
        &source(&json!({"timestamp": "/at", "identity": "/key"})),
    );
    let with = |key: &str, value: Value| {
        let mut body = json!({"id": "e", "type": "note", "at": 1_700_000_000, "key": "k"});
        body[key] = value;
        hooks.try_source("in", &json!({"body": body})).1
    };
    for (key, value, entity) in [
        ("id", json!(12), "12"),
        ("id", json!(-0.5), "-0.5"),
        ("id", json!("ü/ "), "ü/ "),
        ("id", json!("x".repeat(256)), &*"x".repeat(256)),
    ] {
        assert_eq!(with(key, value)["event"]["entity_id"], entity);
    }
    for (key, value, path) in [
        ("id", json!(""), "mapping.entity_id"),
        ("id", json!("."), "mapping.entity_id"),
        ("id", json!(".."), "mapping.entity_id"),
        ("id", json!("a\u{0}"), "mapping.entity_id"),
        ("id", json!("x".repeat(257)), "mapping.entity_id"),
        ("id", json!(false), "mapping.entity_id"),
        ("id", json!(["e"]), "mapping.entity_id"),
        ("id", json!(null), "mapping.entity_id"),
        ("at", json!("yesterday"), "mapping.timestamp"),
        ("at", json!(1e300), "mapping.timestamp"),
        ("at", json!(u64::MAX), "mapping.timestamp"),
        ("at", json!((1_i64 << 53) + 1), "mapping.timestamp"),
        ("at", json!({}), "mapping.timestamp"),
        ("key", json!(""), "mapping.identity"),
        ("key", json!(null), "mapping.identity"),
    ] {
        let tried = with(key, value.clone());
        assert_eq!(
            (&tried["mapped"], &tried["path"]),
            (&json!(false), &json!(path)),
            "{value}: {tried}"
        );
    }
    for (value, at) in [
        (json!(1_700_000_000), START),
        (json!(START), START),
        (json!("1700000000"), START),
        (json!(1.5), 1500),
        (json!("1970-01-01T01:00:00+01:00"), 0),
    ] {
        assert_eq!(with("at", value)["event"]["timestamp"], at);
    }
    // A nest that could not be read again is not kept.
    hooks.source(&t1(), "in", &source(&json!({"params": {"deep": "/deep"}})));
    for (depth, mapped) in [(100, true), (101, false), (120, false)] {
        let deep = (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let tried = hooks
            .try_source(
                "in",
                &json!({"body": format!(r#"{{"id":"e","type":"note","deep":{deep}}}"#)}),
            )
            .1;
        assert_eq!(tried["mapped"], mapped, "{depth}: {}", tried["problem"]);
    }
}

#[test]
fn s4_99_identities_of_any_length_and_kind_are_told_apart() {
    let hooks = service();
    hooks.source(&t1(), "in", &source(&json!({"identity": "/key"})));
    let keys = [
        "k",
        "K",
        "k ",
        "é",
        "\u{0}",
        "x\ny",
        &"x".repeat(255),
        &"x".repeat(256),
        &"x".repeat(257),
        "1",
        "sha256:0",
    ];
    for key in keys {
        let body = json!({"id": "e", "type": "note", "key": key}).to_string();
        assert_eq!(
            hooks.send("in", &plain("secret", &body)).1["outcome"],
            "applied",
            "{key:?}"
        );
        assert_eq!(
            hooks.send("in", &plain("secret", &body)).1["outcome"],
            "duplicate",
            "{key:?}"
        );
    }
    // A number is its digits.
    let (status, _) = hooks.send("in", &plain("secret", r#"{"id":"e","type":"note","key":1}"#));
    assert_eq!(status, 422);
    assert_eq!(hooks.events("m", "e").len(), keys.len());
    assert_eq!(
        hooks.counts("in"),
        json!({"applied": 11, "duplicate": 11, "refused": 1})
    );
}

#[test]
fn i1_i3_a_fault_at_any_batch_leaves_one_effect_and_a_delivery_again_finds_it() {
    for (kind, create, events, first) in [
        ("note", true, 1, "applied"),
        ("unheard", true, 0, "no_transition"),
        ("note", false, 0, "refused"),
        ("", true, 0, "unmapped"),
    ] {
        for fault in [Fault::Before, Fault::After, Fault::Late] {
            for at in 0..4 {
                let hooks = service();
                let mut source = source(&json!({}));
                source["create"] = json!(create);
                hooks.source(&t1(), "in", &source);
                let delivery = plain("secret", event("e", kind));
                hooks.faulty.arm([(at, fault.clone())]);
                let (status, answer) = hooks.send("in", &delivery);
                let what = format!("{kind} at {at}: {answer}");
                let told = answer["outcome"].as_str().unwrap_or_default().to_owned();
                if status >= 400 {
                    assert_eq!(answer["error"]["retry"], true, "{what}");
                } else {
                    assert!(told == first || told == "duplicate", "{what}");
                }
                hooks.faulty.arm([]);
                for turn in 0..2 {
                    let (status, answer) = hooks.send("in", &delivery);
                    assert!(status < 300, "{what}, then {answer}");
                    // Who was told an outcome, or sends for the third time, hears of it again.
                    let again = if first == "unmapped" {
                        "unmapped"
                    } else {
                        "duplicate"
                    };
                    if turn == 1 || !told.is_empty() {
                        assert_eq!(answer["outcome"], again, "{what}");
                    }
                }
                assert_eq!(hooks.events("m", "e").len(), events, "{what}");
                let receipts = i64::from(first != "unmapped");
                assert_eq!(hooks.sqlite.count("inbox"), receipts, "{what}");
            }
        }
    }
}

#[test]
fn s4_90_a_twin_between_read_and_write_comes_first() {
    for kind in ["note", "unheard"] {
        for at in 0..4 {
            let hooks = service();
            let delivery = plain("secret", event("e", kind));
            let (other, twin) = (hooks.other(), delivery.clone());
            let rival = Fault::Meanwhile(Rc::new(move || {
                let (status, answer) = send(&other, &t1(), "in", &twin);
                assert_eq!(status, 200, "{answer}");
            }));
            hooks.faulty.arm([(at, rival)]);
            let (status, answer) = hooks.send("in", &delivery);
            assert_eq!(status, 200, "{answer}");
            let events = usize::from(kind == "note");
            assert_eq!(hooks.events("m", "e").len(), events, "{kind} at {at}: {answer}");
            assert_eq!(hooks.sqlite.count("inbox"), 1);
            if hooks.faulty.struck() {
                let counts = hooks.counts("in");
                assert_eq!(counts["duplicate"], 1, "{kind} at {at}: {counts}");
            }
        }
    }
}

#[test]
fn s4_104_where_receipts_cannot_be_read_nothing_is_applied() {
    let hooks = service();
    let delivery = plain("secret", event("e", "note"));
    hooks.faulty.arm([(1, Fault::Before)]);
    let (status, answer) = hooks.send("in", &delivery);
    assert_eq!(
        (status, &answer["error"]["code"], &answer["error"]["retry"]),
        (503, &json!("INBOX_UNAVAILABLE"), &json!(true))
    );
    assert_eq!(hooks.sqlite.count("entities"), 0);
    assert_eq!(hooks.counts("in"), json!({}));
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "applied");
    // No key to open the secret with: as a failure, so that it is sent again.
    hooks.vault.key.set(None);
    let (status, answer) = hooks.send("in", &plain("secret", event("f", "note")));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("SECRETS_DISABLED"))
    );
    assert_eq!(hooks.sqlite.count("entities"), 1);
}

#[test]
fn s4_96_refusals_are_kept_but_for_a_machine_that_is_not_there_yet() {
    let hooks = service();
    let mut elsewhere = source(&json!({}));
    elsewhere["machine"] = json!("later");
    hooks.source(&t1(), "in", &elsewhere);
    let delivery = plain("secret", event("e", "note"));
    for _ in 0..2 {
        let (status, answer) = hooks.send("in", &delivery);
        assert_eq!(
            (status, &answer["outcome"], &answer["error"]["message"]),
            (200, &json!("refused"), &json!("there is no machine `later`"))
        );
    }
    hooks.machine(&t1(), "later", &["note"]);
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "applied");
    assert_eq!(hooks.send("in", &delivery).1["outcome"], "duplicate");
    assert_eq!(
        hooks.counts("in"),
        json!({"refused": 2, "applied": 1, "duplicate": 1})
    );
}

#[test]
fn s4_100_a_delivery_is_known_for_thirty_days() {
    let hooks = service();
    let delivery = plain("secret", event("e", "note"));
    let day = 86_400_000;
    for (at, outcome, events) in [
        (0, "applied", 1),
        (30 * day - 1, "duplicate", 1),
        (30 * day, "applied", 2),
        (30 * day + 1, "duplicate", 2),
        (-day, "duplicate", 2),
    ] {
        hooks.clock.set(at);
        assert_eq!(hooks.send("in", &delivery).1["outcome"], outcome, "{at}");
        assert_eq!(hooks.events("m", "e").len(), events);
    }
}

#[test]
fn s0_37_s0_41_a_transition_is_caused_by_its_source() {
    let hooks = service();
    let body =
        json!({"source": "machines", "sink": {"type": "webhook", "url": "https://example.com/"}}).to_string();
    block_on(hooks.engine.create_subscription(&t1(), body.as_bytes())).unwrap();
    let engine = hooks.other().caused_by(Origin {
        source: "api".to_owned(),
        stack: "POST /hooks/{tenant}/{source}".to_owned(),
        trace: "request 1".to_owned(),
        run: Some("run 1".to_owned()),
        hops: 0,
    });
    let delivery = plain("secret", event("e", "note"));
    assert_eq!(send(&engine, &t1(), "in", &delivery).1["outcome"], "applied");
    let connection = hooks.sqlite.connection.borrow();
    let effect: String = connection
        .query_row("SELECT effect FROM outbox", [], |row| row.get(0))
        .unwrap();
    let effect: Value = serde_json::from_str(&effect).unwrap();
    let cause = json!({"source": "hook:in", "stack": "POST /hooks/{tenant}/{source}", "trace": "request 1", "run": "run 1"});
    assert_eq!(effect["cause"], cause);
    let row: (String, String) = connection
        .query_row("SELECT scope, key FROM inbox", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    // The identity of a plain HMAC is the SHA-256 of the body.
    assert_eq!(row, ("hook:in".to_owned(), sha256(&delivery.body)));
}

#[test]
fn a_try_shows_what_would_be_without_a_trace() {
    let hooks = service();
    let body = event("e", "note");
    let signed = plain("secret", &body).headers["x-signature"].clone();
    let event =
        json!({"entity_id": "e", "event_type": "note", "params": {}, "identity": sha256(body.as_bytes())});
    let before = hooks.sqlite.dump();
    let (_, tried) = hooks.try_source("in", &json!({"body": body, "headers": {"X-Signature": signed}}));
    assert_eq!(
        (&tried["mapped"], &tried["signature"], &tried["signature_problem"]),
        (&json!(true), &json!("valid"), &Value::Null)
    );
    assert_eq!(tried["event"], event);
    // Any JSON stands for its compact text, in which keys are sorted.
    let (_, same) = hooks.try_source(
        "in",
        &json!({"body": {"type": "note", "id": "e"}, "headers": {"x-signature": signed}}),
    );
    assert_eq!(same, tried);
    let (_, wrong) = hooks.try_source(
        "in",
        &json!({"body": format!("{body} "), "headers": {"x-signature": signed}}),
    );
    assert_eq!(
        (&wrong["mapped"], &wrong["signature"]),
        (&json!(true), &json!("invalid"))
    );
    assert_eq!(
        wrong["signature_problem"],
        "the signature is not made with the secret over this body"
    );
    let (_, none) = hooks.try_source("in", &json!({"body": "no JSON"}));
    assert_eq!(
        (&none["mapped"], &none["path"], &none["event"]),
        (&json!(false), &json!("body"), &Value::Null)
    );
    assert!(none["problem"].as_str().unwrap().contains("no JSON"), "{none}");
    // Neither a source that is off nor a missing secret is in its way.
    let mut off = source(&json!({}));
    off["active"] = json!(false);
    off["secret"] = json!("nothing");
    hooks.source(&t1(), "in", &off);
    let (_, tried) = hooks.try_source("in", &json!({"body": body, "headers": {"x-signature": signed}}));
    assert_eq!(
        (&tried["mapped"], &tried["signature"], &tried["signature_problem"]),
        (
            &json!(true),
            &json!("invalid"),
            &json!("there is no secret `nothing`")
        )
    );
    // A handshake is told as such.
    let mut slack = source(&json!({}));
    slack["scheme"] = json!({"type": "slack"});
    hooks.source(&t1(), "slack", &slack);
    let (_, tried) = hooks.try_source(
        "slack",
        &json!({"body": {"type": "url_verification", "challenge": "c"}}),
    );
    assert_eq!(
        (&tried["mapped"], &tried["signature"]),
        (&json!(false), &json!("absent"))
    );
    assert!(
        tried["problem"].as_str().unwrap().contains("sets the source up"),
        "{tried}"
    );
    for (body, path) in [
        (json!({}), "$.body"),
        (json!({"body": 1, "header": {}}), r#"$["header"]"#),
        (json!({"body": 1, "headers": []}), "$.headers"),
        (json!({"body": 1, "headers": {"a": 1}}), r#"$.headers["a"]"#),
        (json!({"body": 1, "headers": {"a b": "1"}}), r#"$.headers["a b"]"#),
        (json!([]), "$"),
    ] {
        let (status, answer) = hooks.try_source("in", &body);
        assert_eq!((status, &answer["error"]["path"]), (400, &json!(path)), "{body}");
    }
    assert_eq!(
        hooks.try_source("in", &json!({"body": null})).1["path"],
        "mapping.event_type"
    );
    let (status, answer) = hooks.try_source("none", &json!({"body": 1}));
    assert_eq!(
        (status, &answer["error"]["message"]),
        (404, &json!("there is no source `none`"))
    );
    assert_eq!(hooks.try_source("no name", &json!({"body": 1})).0, 400);
    assert_eq!(hooks.sqlite.dump(), before);
    assert_eq!(
        (hooks.sqlite.count("inbox"), hooks.sqlite.count("source_counts")),
        (0, 0)
    );
}

#[test]
fn sources_are_checked_with_the_place_of_the_fault_and_what_would_be_right() {
    let hooks = service();
    let with = |pointer: &str, value: Value| {
        let mut source = source(&json!({}));
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        source.pointer_mut(parent).unwrap()[key] = value;
        source
    };
    let rename = |value: Value| with("/mapping/rename", value);
    let params = |value: Value| with("/mapping/params", json!({ "a": value }));
    for (body, path, expected) in [
        (json!([]), "$", "a JSON object"),
        (with("/extra", json!(1)), r#"$["extra"]"#, "`mapping`"),
        (with("/__proto__", json!(1)), r#"$["__proto__"]"#, "`mapping`"),
        (with("/machine", json!(null)), "$.machine", "a string"),
        (with("/machine", json!("..")), "$.machine", "a machine's id"),
        (with("/secret", json!("no name")), "$.secret", "1 to 64 letters"),
        (with("/secret", json!(null)), "$.secret", "a string"),
        (with("/scheme", json!("github")), "$.scheme", "an object"),
        (with("/scheme", json!(null)), "$.scheme", "an object"),
        (
            with("/scheme/type", json!("gitlab")),
            "$.scheme.type",
            "`hmac-sha256`",
        ),
        (with("/scheme", json!({})), "$.scheme.type", "a string"),
        (
            with("/scheme", json!({"type": "github", "header": "x"})),
            r#"$.scheme["header"]"#,
            "`type`",
        ),
        (
            with("/scheme/header", json!("x y")),
            "$.scheme.header",
            "letters, digits",
        ),
        (with("/scheme/header", json!("")), "$.scheme.header", "1 to 128"),
        (
            with("/scheme/timestamp_header", json!("é")),
            "$.scheme.timestamp_header",
            "letters, digits",
        ),
        (
            with("/scheme/encoding", json!("base32")),
            "$.scheme.encoding",
            "`hex` or `base64`",
        ),
        (
            with("/scheme/prefix", json!("é")),
            "$.scheme.prefix",
            "printable ASCII",
        ),
        (
            with("/scheme/prefix", json!("x".repeat(65))),
            "$.scheme.prefix",
            "up to 64",
        ),
        (with("/tolerance", json!(0)), "$.tolerance", "from 1 to 86400"),
        (
            with("/tolerance", json!(86_401)),
            "$.tolerance",
            "from 1 to 86400",
        ),
        (with("/tolerance", json!("300")), "$.tolerance", "from 1 to 86400"),
        (with("/tolerance", json!(1.5)), "$.tolerance", "from 1 to 86400"),
        (with("/create", json!("yes")), "$.create", "true or false"),
        (with("/active", json!(1)), "$.active", "true or false"),
        (with("/mapping", json!(null)), "$.mapping", "an object"),
        (
            with("/mapping/entity_id", json!(null)),
            "$.mapping.entity_id",
            "where the entity's id stands",
        ),
        (
            with("/mapping/entity_id", json!("id")),
            "$.mapping.entity_id",
            "a JSON pointer",
        ),
        (
            with("/mapping/entity_id", json!("")),
            "$.mapping.entity_id",
            "a JSON pointer",
        ),
        (
            with("/mapping/entity_id", json!("/a~2")),
            "$.mapping.entity_id",
            "`~1` for a slash",
        ),
        (
            with("/mapping/entity_id", json!("x-{/a")),
            "$.mapping.entity_id",
            "`{{` or `}}`",
        ),
        (
            with("/mapping/entity_id", json!("x-{a}")),
            "$.mapping.entity_id",
            "`{{` or `}}`",
        ),
        (
            with("/mapping/entity_id", json!("x\u{7}{/a}")),
            "$.mapping.entity_id",
            "without control characters",
        ),
        (
            with("/mapping/entity_id", json!(7)),
            "$.mapping.entity_id",
            "a JSON pointer",
        ),
        (
            with("/mapping/entity_id", json!({})),
            "$.mapping.entity_id",
            "a JSON pointer",
        ),
        (
            with("/mapping/entity_id", json!({"text": "e"})),
            r#"$.mapping.entity_id["text"]"#,
            "`header`",
        ),
        (
            with("/mapping/entity_id", json!({"header": "a:b"})),
            "$.mapping.entity_id.header",
            "letters, digits",
        ),
        (
            with("/mapping/event_type", json!(null)),
            "$.mapping.event_type",
            "this scheme has no place of its own",
        ),
        (
            with("/mapping/event_type", json!({"header": "x", "text": "y"})),
            "$.mapping.event_type",
            "or `{\"text\": …}`",
        ),
        (
            with("/mapping/identity", json!({"text": "one"})),
            r#"$.mapping.identity["text"]"#,
            "`header`",
        ),
        (
            with("/mapping/timestamp", json!([])),
            "$.mapping.timestamp",
            "a JSON pointer",
        ),
        (
            with("/mapping/prefix", json!("$x")),
            "$.mapping.prefix",
            "128 bytes",
        ),
        (
            with("/mapping/prefix", json!("x".repeat(129))),
            "$.mapping.prefix",
            "128 bytes",
        ),
        (rename(json!({"a": 1})), r#"$.mapping.rename["a"]"#, "as a string"),
        (
            rename(json!({"a": ""})),
            r#"$.mapping.rename["a"]"#,
            "as a string",
        ),
        (
            rename(json!({"a": "$join"})),
            r#"$.mapping.rename["a"]"#,
            "as a string",
        ),
        (rename(json!(["a"])), "$.mapping.rename", "an object"),
        (with("/mapping/only", json!(true)), "$.mapping.only", "`rename`"),
        (
            with("/mapping/only", json!("x")),
            "$.mapping.only",
            "true or false",
        ),
        (
            params(json!("amount")),
            r#"$.mapping.params["a"]"#,
            "or `{\"text\": …}`",
        ),
        (params(json!(true)), r#"$.mapping.params["a"]"#, "a JSON pointer"),
        (
            with("/mapping/params", json!(["/a"])),
            "$.mapping.params",
            "an object",
        ),
        (
            with("/mapping/ignore", json!("/a")),
            "$.mapping.ignore",
            "an array",
        ),
        (
            with("/mapping/ignore", json!(["/a", ""])),
            "$.mapping.ignore[1]",
            "`/pending_webhooks`",
        ),
        (
            with("/mapping/ignore", json!(["/~"])),
            "$.mapping.ignore[0]",
            "`~1` for a slash",
        ),
        (
            with("/mapping/entity", json!("/id")),
            r#"$.mapping["entity"]"#,
            "`entity_id`",
        ),
    ] {
        let (status, answer) = hooks.source(&t1(), "new", &body);
        let error = &answer["error"];
        assert_eq!(
            (status, &error["code"], &error["path"]),
            (400, &json!("BAD_REQUEST"), &json!(path)),
            "{body}: {answer}"
        );
        assert!(error["message"].as_str().unwrap().contains(expected), "{answer}");
    }
    let long = "n".repeat(65);
    for id in ["", ".", "a b", "a/b", "é", &long] {
        let (status, answer) = hooks.source(&t1(), id, &source(&json!({})));
        assert_eq!(
            (status, &answer["error"]["path"]),
            (400, &json!("source")),
            "{id}"
        );
    }
    let table: serde_json::Map<_, _> = (0..4000)
        .map(|at| (format!("event-{at}"), json!(format!("to-{at}"))))
        .collect();
    assert_eq!(hooks.source(&t1(), "new", &rename(json!(table))).0, 413);
    assert_eq!(hooks.sqlite.count("sources"), 1);
}

#[test]
fn a_source_is_shown_as_it_was_registered_with_what_it_left_out() {
    let hooks = service();
    let shown = json!({"id": "in", "machine": "m", "secret": "key", "tolerance": 300, "create": true, "active": true,
        "scheme": {"type": "hmac-sha256", "header": "x-signature", "encoding": "hex", "prefix": ""},
        "mapping": {"entity_id": "/id", "event_type": "/type", "ignore": []}, "created_at": START, "updated_at": START,
        "counts": {"applied": 0, "duplicate": 0, "no_transition": 0, "refused": 0, "unmapped": 0, "bad_signature": 0, "handshake": 0}});
    assert_eq!(hooks.shown(&t1(), "in"), shown);
    hooks.send("in", &plain("secret", event("e", "note")));
    hooks.clock.set(10);
    let full = json!({"machine": "m2", "secret": "other", "tolerance": 1, "create": false, "active": false,
        "scheme": {"type": "hmac-sha256", "header": "X-Sig", "encoding": "base64", "prefix": "v1=", "timestamp_header": "x-time"},
        "mapping": {"entity_id": "o-{/id}", "event_type": {"header": "X-Event"}, "prefix": "p.", "rename": {"a": "b"}, "only": true,
            "params": {"n": "/n", "c": {"text": ""}}, "identity": "{/a}{/b}", "timestamp": null, "ignore": ["/x"]}});
    let (status, put) = hooks.source(&t1(), "in", &full);
    let mut expected = full.clone();
    expected["id"] = json!("in");
    expected["created_at"] = json!(START);
    expected["updated_at"] = json!(START + 10);
    expected["counts"] = shown["counts"].clone();
    expected["counts"]["applied"] = json!(1);
    expected["scheme"]["header"] = json!("x-sig");
    expected["mapping"].as_object_mut().unwrap().remove("timestamp");
    assert_eq!((status, &put), (200, &expected));
    assert_eq!(hooks.shown(&t1(), "in"), expected);
    // What is shown can be registered as it is, but for what the service adds.
    let mut again = expected.clone();
    for key in ["id", "created_at", "updated_at", "counts"] {
        again.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(hooks.source(&t1(), "in", &again), (200, expected.clone()));
    hooks.source(&t1(), "a", &source(&json!({})));
    let list = serde_json::to_value(block_on(hooks.engine.list_sources(&t1())).unwrap()).unwrap();
    let ids: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["id"].clone())
        .collect();
    assert_eq!(ids, ["a", "in"]);
    assert_eq!(list[1], expected);
}

#[test]
fn i9_tenants_have_sources_of_their_own() {
    let hooks = service();
    let t2 = tenant("t2");
    hooks.machine(&t2, "m", &["note"]);
    hooks.secret(&t2, "key", "theirs");
    assert_eq!(hooks.source(&t2, "in", &source(&json!({}))).0, 201);
    let body = event("e", "note");
    assert_eq!(send(&hooks.engine, &t2, "in", &plain("secret", &body)).0, 401);
    assert_eq!(
        send(&hooks.engine, &t2, "in", &plain("theirs", &body)).1["outcome"],
        "applied"
    );
    assert_eq!(hooks.send("in", &plain("theirs", &body)).0, 401);
    assert_eq!(hooks.send("in", &plain("secret", &body)).1["outcome"], "applied");
    assert_eq!(
        (hooks.events("m", "e").len(), hooks.events_of(&t2, "m", "e").len()),
        (1, 1)
    );
    assert_eq!(hooks.counts("in"), json!({"applied": 1, "bad_signature": 1}));
    assert_eq!(block_on(hooks.engine.list_sources(&tenant("t3"))).unwrap(), []);
    assert_eq!(
        reply(204, block_on(hooks.engine.delete_source(&tenant("t3"), "in"))).0,
        404
    );
    assert_eq!(reply(204, block_on(hooks.engine.delete_source(&t2, "in"))).0, 204);
    assert_eq!(hooks.shown(&t1(), "in")["counts"]["applied"], 1);
    assert_eq!(hooks.sqlite.count("source_counts"), 2);
    assert_eq!(reply(200, block_on(hooks.engine.get_source(&t2, "in"))).0, 404);
    // Made again it has counted nothing, and still knows what was delivered.
    hooks.source(&t2, "in", &source(&json!({})));
    let (_, answer) = send(&hooks.engine, &t2, "in", &plain("theirs", &body));
    assert_eq!(answer["outcome"], "duplicate");
}

#[test]
fn a_tenant_has_at_most_a_hundred_sources() {
    let hooks = service();
    for at in 0..98 {
        assert_eq!(hooks.source(&t1(), &format!("s{at}"), &source(&json!({}))).0, 201);
    }
    let other = hooks.other();
    let rival = Fault::Meanwhile(Rc::new(move || {
        assert_eq!(put_source(&other, &t1(), "rival", &source(&json!({}))).0, 201);
    }));
    hooks.faulty.arm([(1, rival)]);
    let (status, answer) = hooks.source(&t1(), "more", &source(&json!({})));
    assert!(hooks.faulty.struck());
    assert_eq!(
        (status, &answer["error"]["message"]),
        (
            409,
            &json!("the tenant has 100 sources, which is the most; delete one first")
        )
    );
    assert_eq!(hooks.source(&t1(), "in", &source(&json!({}))).0, 200);
    assert_eq!(hooks.source(&tenant("t2"), "more", &source(&json!({}))).0, 201);
    block_on(hooks.engine.delete_source(&t1(), "rival")).unwrap();
    assert_eq!(hooks.source(&t1(), "more", &source(&json!({}))).0, 201);
}

#[test]
fn i3_a_fault_at_any_batch_leaves_a_source_as_the_answer_says() {
    for fault in [Fault::Before, Fault::After, Fault::Late] {
        for at in 0..2 {
            for keyed in [false, true] {
                let hooks = service();
                let once = Once::request("key", "route", "", b"", 201).unwrap();
                let mut engine = Engine::new(
                    hooks.faulty.clone(),
                    hooks.clock.clone(),
                    Counted::from(3),
                    DefinitionCache::default(),
                )
                .with_outbound(hooks.vault.clone());
                if keyed {
                    engine = engine.keyed(once, Some(&t1()));
                }
                hooks.faulty.arm([(at, fault.clone())]);
                let outcome =
                    block_on(engine.put_source(&t1(), "new", source(&json!({})).to_string().as_bytes()));
                let there = hooks.sqlite.count("sources") == 2;
                match outcome {
                    Ok((view, created)) => assert!(created && there && view.id == "new"),
                    Err(statewright_engine::error::Error::Replayed(replay)) => {
                        let answer: Value = serde_json::from_str(&replay.answer.unwrap()).unwrap();
                        assert!(there && keyed && answer["id"] == "new" && replay.status == 201);
                    }
                    Err(error) => assert!(at == 0 && !there && error.code().retry(), "{error}"),
                }
                assert_eq!(hooks.sqlite.count("inbox"), i64::from(keyed && there));
                hooks.faulty.arm([(at, fault.clone())]);
                match block_on(hooks.engine.delete_source(&t1(), "in")) {
                    Ok(()) => assert_eq!(hooks.sqlite.count("sources"), i64::from(there)),
                    Err(error) => assert!(at == 0 && error.code().retry(), "{error}"),
                }
            }
        }
    }
}

#[test]
fn m8_a_source_that_cannot_be_read_fails_closed() {
    let hooks = service();
    hooks
        .sqlite
        .execute(r#"UPDATE sources SET source = '{"machine":"m"}'"#);
    let (status, answer) = hooks.send("in", &plain("secret", event("e", "note")));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (500, &json!("CORRUPT_INSTANCE"))
    );
    assert_eq!(hooks.sqlite.count("entities"), 0);
}

#[test]
fn a_delivery_is_four_batches_and_every_statement_finds_its_rows_by_key() {
    let hooks = service();
    hooks.sqlite.taken();
    hooks.send("in", &plain("secret", event("e", "note")));
    let batches = hooks.sqlite.taken();
    // The source with its secret; the entity and the receipt; the write; the counter.
    assert_eq!(batches.len(), 4);
    assert_eq!((batches[0].len(), batches[3].len()), (1, 1));
    assert!(batches[0][0].contains("FROM sources s LEFT JOIN secrets k"));
    hooks.send("in", &plain("secret", event("e", "note")));
    let again = hooks.sqlite.taken();
    assert_eq!(again.len(), 3, "a duplicate reads, and counts");
    hooks.source(&t1(), "in", &source(&json!({})));
    block_on(hooks.engine.list_sources(&t1())).unwrap();
    block_on(hooks.engine.get_source(&t1(), "in")).unwrap();
    block_on(hooks.engine.delete_source(&t1(), "in")).unwrap();
    let own = hooks
        .sqlite
        .taken()
        .into_iter()
        .chain([batches[0].clone(), batches[3].clone()])
        .flatten();
    let own: BTreeSet<_> = own.collect();
    assert!(own.len() >= 9, "{own:?}");
    let connection = hooks.sqlite.connection.borrow();
    for sql in own {
        let mut prepared = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let line: String = row.get(3).unwrap();
            let scans = line.contains("SCAN") && line != "SCAN CONSTANT ROW" || line.contains("TEMP B-TREE");
            assert!(!scans, "{sql}\n{line}");
        }
    }
}

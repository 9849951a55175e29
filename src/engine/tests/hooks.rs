//! Webhooks that come in: who is let in, what their requests become, and what providers are told (design 5, S4.90 to S4.112,
//! I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_engine::once::Origin;
use support::block_on;
use support::providers::{
    Delivery, Hooks, START_SECONDS, event, github, plain, send, service, sha256, source, t1,
};
use support::tenant;

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
        (200, &json!("refused"), &json!("NOT_FOUND")),
        "an entity that is made later takes what is delivered again"
    );
    assert_eq!(again["error"], body["error"]);
    assert_eq!(hooks.send("in", &plain("wrong", event("e", "note"))).0, 401);
    assert_eq!(
        hooks.counts("in"),
        json!({"applied": 1, "duplicate": 2, "no_transition": 1, "unmapped": 1, "refused": 2, "bad_signature": 1})
    );
    assert_eq!(hooks.events("m", "e").len(), 1);
    // Only what became of events is a receipt.
    assert_eq!(hooks.sqlite.count("inbox"), 2);
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
    let stored = || {
        let dump = hooks.sqlite.dump();
        let rows = dump.lines().filter(|line| !line.starts_with("source_counts"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = stored();
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
    assert_eq!(stored(), before);
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

//! What a source's mapping makes of a request (design 5, I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use support::START;
use support::far::Chance;
use support::providers::{plain, service, source, t1};

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
        ("id", json!(1e300), "mapping.entity_id"),
        ("id", json!(9_007_199_254_740_992.0), "mapping.entity_id"),
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

/// A value that no one expects, or one that means something at some place.
fn odd(chance: &Chance, depth: u32) -> Value {
    const TEXTS: [&str; 22] = [
        "",
        "/",
        "/id",
        "/type",
        "/a~1b",
        "/a~2",
        "x-{/id}",
        "{/id",
        "{{}}",
        "}",
        "$timeout",
        "\0",
        "é\u{202e}",
        "x-event",
        "a b",
        "hex",
        "base64",
        "stripe",
        "github",
        "slack",
        "standard-webhooks",
        "hmac-sha256",
    ];
    const KEYS: [&str; 9] = [
        "header",
        "text",
        "type",
        "id",
        "__proto__",
        "",
        "encoding",
        "a/b",
        "$from",
    ];
    match chance.below(if depth == 0 { 5 } else { 7 }) {
        0 => json!(null),
        1 => json!(chance.below(2) == 0),
        2 => json!([0_i64, -1, 300, 1 << 53, i64::MAX][usize::try_from(chance.below(5)).unwrap()]),
        3 => json!([0.5, 1e300, -1e-300][usize::try_from(chance.below(3)).unwrap()]),
        4 => json!(TEXTS[usize::try_from(chance.below(22)).unwrap()]),
        5 => (0..chance.below(4)).map(|_| odd(chance, depth - 1)).collect(),
        _ => (0..chance.below(4))
            .map(|_| {
                (
                    KEYS[usize::try_from(chance.below(9)).unwrap()].to_owned(),
                    odd(chance, depth - 1),
                )
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// Puts an odd value somewhere into a value.
fn alter(value: &mut Value, chance: &Chance) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(object) => object.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    let count = u64::try_from(inner.len()).unwrap();
    let place = chance.below(count + 1);
    match inner.into_iter().nth(usize::try_from(place).unwrap()) {
        Some(inner) => alter(inner, chance),
        None => *value = odd(chance, 2),
    }
}

#[test]
fn i10_any_source_is_refused_or_stands_and_any_request_is_mapped_or_told_why_not() {
    let hooks = service();
    let full = json!({"machine": "m", "secret": "key", "tolerance": 60, "create": true, "active": true,
        "scheme": {"type": "hmac-sha256", "header": "x-sig", "encoding": "hex", "prefix": "v1=", "timestamp_header": "x-time"},
        "mapping": {"entity_id": "o-{/id}", "event_type": {"header": "x-event"}, "prefix": "p.", "rename": {"a": "b"}, "only": false,
            "params": {"n": "/n", "c": {"text": "c"}}, "identity": "/id", "timestamp": "/at", "ignore": ["/x"]}});
    let (chance, mut stood, mut mapped) = (Chance::of(7), 0, 0);
    for _ in 0..4000 {
        let mut source = full.clone();
        for _ in 0..=chance.below(3) {
            alter(&mut source, &chance);
        }
        let (status, shown) = hooks.source(&t1(), "in", &source);
        if status == 400 {
            let error = &shown["error"];
            assert!(
                error["path"].is_string() && error["message"].as_str().unwrap().contains("expected"),
                "{shown}"
            );
            continue;
        }
        assert_eq!(status, 200, "{source}: {shown}");
        stood += 1;
        let mut again = shown.clone();
        for key in ["id", "created_at", "updated_at", "counts"] {
            again.as_object_mut().unwrap().remove(key);
        }
        assert_eq!(hooks.source(&t1(), "in", &again), (200, shown), "{source}");
        let mut body = json!({"id": "e", "type": "note", "at": 1, "n": {"a": [1]}, "x": 1});
        alter(&mut body, &chance);
        let (status, tried) = hooks.try_source(
            "in",
            &json!({"body": body, "headers": {"x-event": "a", "x-time": "1"}}),
        );
        assert_eq!(status, 200, "{tried}");
        assert_eq!(
            tried["mapped"] == json!(true),
            tried["event"].is_object(),
            "{tried}"
        );
        assert_eq!(
            tried["mapped"] == json!(false),
            tried["problem"].is_string() && tried["path"].is_string(),
            "{tried}"
        );
        mapped += u32::from(tried["mapped"] == json!(true));
    }
    assert!(stood > 200 && mapped > 100, "{stood} stood, {mapped} mapped");
}

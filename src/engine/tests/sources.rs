//! Sources of webhooks: registered, shown and tried (design 5, I9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::error::Error;
use statewright_engine::once::Once;
use statewright_engine::{DefinitionCache, Engine};
use support::faults::Fault;
use support::providers::{event, plain, put_source, send, service, sha256, source, t1};
use support::world::reply;
use support::{Counted, START, block_on, tenant};

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
    assert_eq!(hooks.sqlite.dump(), before);
    // Neither a source that is off nor a missing secret is in its way.
    let mut off = source(&json!({}));
    off["active"] = json!(false);
    off["secret"] = json!("nothing");
    hooks.source(&t1(), "in", &off);
    let before = hooks.sqlite.dump();
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
    assert_eq!(hooks.sqlite.dump(), before);
    hooks.source(&t1(), "slack", &slack);
    let before = hooks.sqlite.dump();
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
                let once = Once::request("key", "route", "", b"", 200).unwrap();
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
                    Err(Error::Replayed(replay)) => {
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

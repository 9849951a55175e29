//! Actions as a definition writes them: what is taken, what is refused, and that all comes back as it was.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::{in_seed, machine, warnings};
use serde_json::{Value, json};
use statewright_core::address::AllowList;
use statewright_core::definition::{Action, Definition, HeaderValue, Method};
use statewright_core::fault::{Fault, WarningKind};

const ACTION: &str = "$.actions[0].action";

#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn with(action: Value) -> Value {
    json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "go"}],
        "actions": [{"on_enter": "b", "action": action}]
    })
}

/// A webhook with more keys.
fn webhook(more: Value) -> Value {
    let mut action = json!({"type": "webhook", "url": "https://example.com/a"});
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    action.as_object_mut().unwrap().extend(more);
    action
}

fn transition(more: Value) -> Value {
    let mut action = json!({"type": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go"});
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    action.as_object_mut().unwrap().extend(more);
    action
}

fn faults(action: Value) -> Vec<Fault> {
    Definition::read(&with(action)).map(|_| ()).unwrap_err()
}

fn read(action: Value) -> Action {
    let valid = Definition::read(&with(action)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    valid.definition.actions.unwrap().remove(0).action
}

#[test]
fn s2_110_actions_are_written_back_as_they_came() {
    let actions = [
        webhook(json!({})),
        webhook(json!({"signed": true, "method": "POST"})),
        webhook(json!({"method": "GET", "headers": {}})),
        webhook(json!({
            "method": "PATCH", "signed": false,
            "headers": {"X-Shop": "a b", "Authorization": {"secret": "shop.key-1", "prefix": "Bearer "}, "x": {"secret": "s"}, "y": ""},
            "body": [{"$from": "/event/params"}, {"$from": "/context/a~1b", "default": {"x": [1.5, null]}}, "t", {"$other": 1}]
        })),
        webhook(json!({"body": "text"})),
        transition(json!({})),
        transition(json!({
            "entity_id": "order-{/event/params/order}-{{{/entity_id}}}", "create": false,
            "params": {"amount": {"$from": "/context/amount", "default": 0}, "all": {"$from": ""}}
        })),
        transition(json!({"create": true, "params": {"$from": "/event/params"}})),
    ];
    for action in actions {
        for document in [with(action.clone()), in_seed(with(action))] {
            let valid = Definition::read(&document).unwrap_or_else(|faults| panic!("{faults:#?}"));
            assert_eq!(valid.warnings, []);
            let written = serde_json::to_value(&valid.definition).unwrap();
            assert_eq!(written, document);
            let again: Definition = serde_json::from_value(written).unwrap();
            assert_eq!(again, valid.definition);
        }
    }
}

#[test]
fn s2_110_what_an_action_says_is_read() {
    let Action::Webhook {
        method,
        headers,
        body,
        signed,
        ..
    } = read(webhook(json!({
        "method": "PUT", "headers": {"A": "b", "C": {"secret": "s", "prefix": "p "}}, "body": {"x": 1}, "signed": false
    })))
    else {
        panic!("a webhook")
    };
    assert_eq!((method, signed), (Some(Method::Put), Some(false)));
    assert_eq!(body, Some(json!({"x": 1})));
    let secret = HeaderValue::Secret {
        secret: "s".to_owned(),
        prefix: Some("p ".to_owned()),
    };
    let headers: Vec<(String, HeaderValue)> = headers.unwrap().into_iter().collect();
    assert_eq!(
        headers,
        [
            ("A".to_owned(), HeaderValue::Text("b".to_owned())),
            ("C".to_owned(), secret)
        ]
    );

    let null = webhook(json!({"method": null, "headers": null, "body": null, "signed": null}));
    assert_eq!(read(null), read(webhook(json!({}))));
    let null = transition(json!({"params": null, "create": null}));
    assert_eq!(read(null), read(transition(json!({}))));
}

#[test]
fn s2_39_every_fault_of_an_action_has_its_path() {
    let many: Value = (0..33)
        .map(|n| (format!("h{n}"), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let header = |name: &str, value: Value| webhook(json!({"headers": {name: value}}));
    let from = |value: Value| webhook(json!({"body": {"a": [value]}}));
    let cases = [
        (json!({"type": "mail"}), ".type", "`mail` is no type of action"),
        (
            webhook(json!({"url": "ftp://x"})),
            ".url",
            "`ftp://x` is no web address",
        ),
        (
            webhook(json!({"method": "FETCH"})),
            ".method",
            "`FETCH` is no method of a webhook",
        ),
        (
            webhook(json!({"method": "post"})),
            ".method",
            "`post` is no method of a webhook",
        ),
        (webhook(json!({"method": 1})), ".method", "it is a number"),
        (webhook(json!({"signed": "no"})), ".signed", "it is a string"),
        (
            webhook(json!({"retries": 1})),
            ".retries",
            "`retries` is no key here",
        ),
        (
            webhook(json!({"method": "GET", "body": {}})),
            ".body",
            "a request with `GET` has none",
        ),
        (webhook(json!({"headers": []})), ".headers", "it is an array"),
        (webhook(json!({"headers": many})), ".headers", "it has 33 headers"),
        (
            header("x", json!("y".repeat(8192))),
            ".headers",
            "its names and values have 8193 bytes",
        ),
        (
            header("", json!("y")),
            ".headers[\"\"]",
            "`` is no name of a header",
        ),
        (
            header("a b", json!("y")),
            ".headers[\"a b\"]",
            "`a b` is no name of a header",
        ),
        (
            header("a:", json!("y")),
            ".headers[\"a:\"]",
            "`a:` is no name of a header",
        ),
        (
            header("é", json!("y")),
            ".headers[\"é\"]",
            "`é` is no name of a header",
        ),
        (
            header("Host", json!("y")),
            ".headers.Host",
            "`Host` is set by the service",
        ),
        (
            header("Content-Length", json!("1")),
            ".headers[\"Content-Length\"]",
            "`Content-Length` is set by the service",
        ),
        (
            header("connection", json!("y")),
            ".headers.connection",
            "`connection` is set by the service",
        ),
        (
            header("Transfer-Encoding", json!("y")),
            ".headers[\"Transfer-Encoding\"]",
            "`Transfer-Encoding` is set by the service",
        ),
        (
            header("upgrade", json!("y")),
            ".headers.upgrade",
            "`upgrade` is set by the service",
        ),
        (
            header("Webhook-Id", json!("y")),
            ".headers[\"Webhook-Id\"]",
            "`Webhook-Id` is set by the service",
        ),
        (
            header("x", json!("a\r\nb: c")),
            ".headers.x",
            "it holds a character that a header does not carry",
        ),
        (
            header("x", json!("ü")),
            ".headers.x",
            "it holds a character that a header does not carry",
        ),
        (header("x", json!(1)), ".headers.x", "it is a number"),
        (header("x", json!({})), ".headers.x.secret", "it is missing"),
        (
            header("x", json!({"secret": 1})),
            ".headers.x.secret",
            "it is a number",
        ),
        (
            header("x", json!({"secret": ""})),
            ".headers.x.secret",
            "`` is no name of a secret",
        ),
        (
            header("x", json!({"secret": "-a"})),
            ".headers.x.secret",
            "`-a` is no name of a secret",
        ),
        (
            header("x", json!({"secret": "a/b"})),
            ".headers.x.secret",
            "`a/b` is no name of a secret",
        ),
        (
            header("x", json!({"secret": "s", "prefix": "\n"})),
            ".headers.x.prefix",
            "it holds a character that a header does not carry",
        ),
        (
            header("x", json!({"secret": "s", "prefix": null})),
            ".headers.x.prefix",
            "it is null",
        ),
        (
            header("x", json!({"secret": "s", "value": "v"})),
            ".headers.x.value",
            "`value` is no key here",
        ),
        (
            webhook(json!({"headers": {"A": "x", "a": "y"}})),
            ".headers.a",
            "`a` is there in another spelling",
        ),
        (
            webhook(json!({"body": "y".repeat(16 * 1024 - 1)})),
            ".body",
            "the template is too large",
        ),
        (
            from(json!({"$from": 1})),
            ".body.a[0][\"$from\"]",
            "it is a number",
        ),
        (
            from(json!({"$from": "event"})),
            ".body.a[0][\"$from\"]",
            "`event` is no JSON pointer",
        ),
        (
            from(json!({"$from": "/a~2"})),
            ".body.a[0][\"$from\"]",
            "`/a~2` is no JSON pointer",
        ),
        (
            from(json!({"$from": "/a~"})),
            ".body.a[0][\"$from\"]",
            "`/a~` is no JSON pointer",
        ),
        (
            from(json!({"$from": "/event", "x": 1})),
            ".body.a[0].x",
            "`x` stands beside `$from`",
        ),
        (
            from(json!({"$from": "/event", "default": {"$from": "x"}})),
            ".body.a[0].default[\"$from\"]",
            "`x` is no JSON pointer",
        ),
        (
            transition(json!({"machine_id": ".."})),
            ".machine_id",
            "`..` is no name: it is `..`, which no path of a URL can name",
        ),
        (
            transition(json!({"machine_id": null})),
            ".machine_id",
            "it is missing",
        ),
        (transition(json!({"entity_id": ""})), ".entity_id", "it is empty"),
        (
            transition(json!({"entity_id": "a\nb"})),
            ".entity_id",
            "it holds a control character",
        ),
        (
            transition(json!({"entity_id": "a{/x"})),
            ".entity_id",
            "it has a `{` that nothing closes",
        ),
        (
            transition(json!({"entity_id": "a}"})),
            ".entity_id",
            "it has a `}` that closes nothing",
        ),
        (
            transition(json!({"entity_id": "{x}"})),
            ".entity_id",
            "`x` in it is no place",
        ),
        (
            transition(json!({"entity_id": "{}"})),
            ".entity_id",
            "`` in it is no place",
        ),
        (
            transition(json!({"entity_id": "{/a~x}"})),
            ".entity_id",
            "`/a~x` is no JSON pointer",
        ),
        (
            transition(json!({"event_type": "$timeout"})),
            ".event_type",
            "`$timeout` is reserved: only the engine makes events that start with `$`",
        ),
        (
            transition(json!({"event_type": ""})),
            ".event_type",
            "it is empty",
        ),
        (transition(json!({"params": []})), ".params", "it is an array"),
        (
            transition(json!({"params": {"a": {"$from": "x"}}})),
            ".params.a[\"$from\"]",
            "`x` is no JSON pointer",
        ),
        (
            transition(json!({"params": {"a": "y".repeat(16 * 1024)}})),
            ".params",
            "the template is too large",
        ),
        (transition(json!({"create": 1})), ".create", "it is a number"),
        (transition(json!({"to": 1})), ".to", "`to` is no key here"),
    ];
    for (action, path, problem) in cases {
        let found = faults(action.clone());
        let expected = (format!("{ACTION}{path}"), problem);
        let found: Vec<(String, &str)> = found
            .iter()
            .map(|fault| (fault.path.clone(), fault.problem.as_str()))
            .collect();
        assert_eq!(found, [expected], "{action}");
    }
}

#[test]
fn s2_110_bounds_are_taken_to_the_last() {
    let many: Value = (0..32)
        .map(|n| (format!("h{n}"), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    read(webhook(json!({"headers": many})));
    read(webhook(json!({"headers": {"x": "y".repeat(8191)}})));
    read(webhook(json!({"body": "y".repeat(16 * 1024 - 2)})));
    read(webhook(
        json!({"headers": {"!#$%&'*+-.^_`|~0aZ": {"secret": "a".repeat(64)}}}),
    ));
    assert_eq!(
        faults(webhook(json!({"headers": {"x": {"secret": "a".repeat(65)}}}))).len(),
        1
    );
}

/// Its definitions were taken with any key once, and have to read as before.
#[test]
fn s2_39_the_seeds_contract_keeps_what_it_cannot_read_of_a_webhook() {
    let more = json!({
        "method": "FETCH", "headers": {"Host": "x"}, "body": {"$from": 1}, "signed": null, "retries": 3
    });
    let document = in_seed(with(webhook(more)));
    let valid = Definition::read(&document).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert_eq!(serde_json::to_value(&valid.definition).unwrap(), document);
    let found: Vec<(WarningKind, &str)> = valid
        .warnings
        .iter()
        .map(|warning| (warning.kind, warning.path.as_str()))
        .collect();
    let paths = ["retries", "method", "headers", "body", "signed"].map(|key| format!("{ACTION}.{key}"));
    assert_eq!(
        found,
        paths
            .each_ref()
            .map(|path| (WarningKind::IgnoredKey, path.as_str()))
    );
    assert_eq!(
        valid.warnings[2].message,
        "the key is ignored: `Host` is set by the service; expected another header"
    );
    let Action::Webhook {
        method: None,
        headers: None,
        body: None,
        signed: None,
        extra,
        ..
    } = valid.definition.actions.unwrap().remove(0).action
    else {
        panic!("a bare webhook")
    };
    assert_eq!(extra.len(), 5);
    // What was refused before is refused now.
    for action in [
        transition(json!({"event_type": "$join"})),
        json!({"type": "transition"}),
        json!({"type": "mail"}),
    ] {
        assert!(Definition::read(&in_seed(with(action))).is_err());
    }
}

#[test]
fn addresses_are_checked_where_the_operator_is_known() {
    let document = json!({
        "machine_id": "m", "regions": [{"id": "r", "states": ["a", "b"], "initial_state": "a"}],
        "transitions": [{"region": "r", "from": "a", "to": "b", "on": "go"}],
        "actions": [
            {"on_enter": "b", "action": {"type": "event", "event_type": "x"}},
            {"on_enter": "b", "action": {"type": "webhook", "url": "http://localhost:9/a"}},
            {"on_enter": "a", "action": {"type": "webhook", "url": "https://example.com/a"}}
        ],
        "joins": [{"when": {"r": "b"}, "target_region": "r", "target_state": "a", "actions": [
            {"type": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go"},
            {"type": "webhook", "url": "https://127.1/"},
            {"on_enter": "a", "action": {"type": "webhook", "url": "https://10.0.0.1/"}}
        ]}]
    });
    let definition = Definition::read(&document).unwrap().definition;
    let addresses: Vec<(String, &str)> = definition.addresses().collect();
    assert_eq!(
        addresses,
        [
            ("$.actions[1].action.url".to_owned(), "http://localhost:9/a"),
            ("$.actions[2].action.url".to_owned(), "https://example.com/a"),
            ("$.joins[0].actions[1].url".to_owned(), "https://127.1/"),
            ("$.joins[0].actions[2].action.url".to_owned(), "https://10.0.0.1/"),
        ]
    );
    let faults = |allow: &str| -> Vec<String> {
        let faults = definition.address_faults(&AllowList::read(allow));
        faults
            .into_iter()
            .map(|fault| format!("{} {}", fault.path, fault.problem))
            .collect()
    };
    assert_eq!(
        faults(""),
        [
            "$.actions[1].action.url `http://localhost:9/a` is not encrypted",
            "$.joins[0].actions[1].url `127.0.0.1` is a loopback address",
            "$.joins[0].actions[2].action.url `10.0.0.1` is an address of the private network"
        ]
    );
    assert_eq!(
        faults("localhost:9,127.0.0.1"),
        ["$.joins[0].actions[2].action.url `10.0.0.1` is an address of the private network"]
    );

    // The joins of a flat machine are ignored in the seed's contract, and call nobody.
    let mut flat = in_seed(with(json!({"type": "event", "event_type": "x"})));
    flat["joins"] = document["joins"].clone();
    let flat = Definition::read(&flat).unwrap().definition;
    assert_eq!(flat.addresses().count(), 0);
}

#[test]
fn places_where_nothing_can_be_are_warned_of() {
    let paths = |action: Value| -> Vec<String> {
        let found = warnings(&with(action)).into_iter();
        let found = found.inspect(|warning| assert_eq!(warning.kind, WarningKind::UnknownPlace));
        found
            .map(|warning| warning.path.trim_start_matches(ACTION).to_owned())
            .collect()
    };
    let none: [&str; 0] = [];
    let known = [
        "",
        "/tenant_id",
        "/machine_id",
        "/entity_id",
        "/from_state",
        "/to_state",
        "/region",
        "/state_version",
        "/event",
        "/event/type",
        "/event/params",
        "/event/params/a/b",
        "/event/timestamp",
        "/context",
        "/context/a/0",
        "/effect_id",
    ];
    for pointer in known {
        assert_eq!(
            paths(webhook(json!({"body": {"$from": pointer}}))),
            none,
            "{pointer}"
        );
    }
    let unknown = [
        "/",
        "/contxt/a",
        "/event/kind",
        "/event/type/x",
        "/machine_id/x",
        "/params/a",
        "/Context",
        "/region/",
    ];
    for pointer in unknown {
        assert_eq!(
            paths(webhook(json!({"body": {"$from": pointer}}))),
            [".body[\"$from\"]"],
            "{pointer}"
        );
        if pointer != "/" {
            let target = transition(json!({"entity_id": format!("x{{{pointer}}}")}));
            assert_eq!(paths(target), [".entity_id"], "{pointer}");
        }
    }
    let nested = json!([{"x": {"$from": "/a"}}, {"$from": "/context/a", "default": [{"$from": "/b"}]}]);
    assert_eq!(
        paths(webhook(json!({"body": nested}))),
        [".body[0].x[\"$from\"]", ".body[1].default[0][\"$from\"]"]
    );
    assert_eq!(
        paths(transition(json!({"params": {"a": {"$from": "/a"}}}))),
        [".params.a[\"$from\"]"]
    );
    for container in ["/event", "/event/params", "/context", "/region"] {
        let target = transition(json!({"entity_id": format!("{{{container}}}")}));
        assert_eq!(paths(target), [".entity_id"], "{container}");
    }
    assert_eq!(
        paths(transition(
            json!({"entity_id": "{/entity_id}{/context/x}{/state_version}"})
        )),
        none
    );
}

#[test]
fn s2_126_an_answer_lists_the_target_as_it_is_written() {
    let machine = machine(&with(transition(json!({"entity_id": "o-{/event/params/id}"}))));
    let mut tree = common::tree(&machine, json!({}));
    let event = common::event("go", json!({"id": 7}));
    let outcome = statewright_core::step::apply(
        &mut tree,
        statewright_core::tree::EntityIx::ROOT,
        &event,
        None,
        common::NOW,
    );
    let statewright_core::commit::Outcome::Commit(commit) = outcome else {
        panic!("{outcome:?}")
    };
    let answer = statewright_core::answer::Answer::applied(&tree, &commit, &event, 5);
    assert_eq!(
        serde_json::to_value(&answer.actions_dispatched).unwrap(),
        json!([{
            "action_type": "transition", "machine_id": "n", "target": "o-{/event/params/id}", "event_type": "go", "state": "b"
        }])
    );
}

//! What actions come to: templates, texts with places, and the effects that are rendered from them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use std::sync::Arc;

use common::{NOW, any_json, event, machine, tree};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use statewright_core::commit::{Commit, Outcome};
use statewright_core::definition::{Action, HeaderValue, Method};
use statewright_core::effect::{Effect, EffectFault, EffectSource, MAX_BODY_BYTES, SOURCE_KEYS, render};
use statewright_core::ids::Millis;
use statewright_core::step::{Event, apply};
use statewright_core::template::{Document, FillError};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};
use statewright_core::tree::{EntityIx, Tree};

const EFFECT_ID: &str = "0b8q2n9k4a7c1d2e3f4a5b6c7.0";

fn webhook(more: Value) -> Action {
    let mut action = json!({"type": "webhook", "url": "https://example.com/a"});
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    action.as_object_mut().unwrap().extend(more);
    serde_json::from_value(action).unwrap()
}

fn transition(more: Value) -> Action {
    let mut action = json!({"type": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go"});
    let Value::Object(more) = more else {
        panic!("{more}")
    };
    action.as_object_mut().unwrap().extend(more);
    serde_json::from_value(action).unwrap()
}

/// An order that was paid.
struct Paid {
    tree: Tree,
    commit: Commit,
}

impl Paid {
    fn new(params: Value, context: Value) -> Self {
        let definition = json!({
            "machine_id": "order", "states": ["open", "paid"], "initial_state": "open",
            "transitions": [{"from": "open", "to": "paid", "on": "pay"}]
        });
        let mut tree = tree(&machine(&definition), context);
        let event = Event {
            timestamp: Some(1_699_999_999_500),
            ..event("pay", params)
        };
        let commit = committed(apply(&mut tree, EntityIx::ROOT, &event, None, NOW));
        Self { tree, commit }
    }

    fn source(&self) -> EffectSource<'_> {
        source(&self.tree, &self.commit, 0)
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
    fn body(&self, template: Value) -> Result<Value, EffectFault> {
        let action = webhook(json!({"body": template}));
        let Effect::Webhook { body, .. } = render(&action, &self.source())? else {
            panic!("a webhook")
        };
        Ok(serde_json::from_str(&body.unwrap()).unwrap())
    }

    fn entity_id(&self, text: &str) -> Result<String, String> {
        let effect = render(&transition(json!({"entity_id": text})), &self.source());
        match effect.map_err(|fault| fault.to_string())? {
            Effect::Transition { entity_id, .. } => Ok(entity_id),
            other => panic!("{other:?}"),
        }
    }
}

fn committed(outcome: Outcome) -> Commit {
    match outcome {
        Outcome::Commit(commit) => *commit,
        other => panic!("{other:?}"),
    }
}

fn source<'a>(tree: &'a Tree, commit: &'a Commit, row: usize) -> EffectSource<'a> {
    EffectSource {
        tenant: "t-1",
        tree,
        row: &commit.rows[row],
        version: commit.writes[0].1,
        effect_id: EFFECT_ID,
    }
}

#[test]
fn the_document_of_a_template_is_what_the_contract_names() {
    let paid = Paid::new(
        json!({"amount": 1200, "a/b": {"~": [1]}}),
        json!({"customer": "c-9"}),
    );
    let whole = json!({
        "tenant_id": "t-1", "machine_id": "order", "entity_id": "e-1", "from_state": "open", "to_state": "paid",
        "region": null, "state_version": 2,
        "event": {"type": "pay", "params": {"amount": 1200, "a/b": {"~": [1]}}, "timestamp": 1_699_999_999_500_i64},
        "context": {"customer": "c-9", "amount": 1200, "a/b": {"~": [1]}},
        "effect_id": EFFECT_ID
    });
    assert_eq!(paid.body(json!({"$from": ""})).unwrap(), whole);
    let mut keys: Vec<&str> = whole.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable_by_key(|key| SOURCE_KEYS.iter().position(|known| known == key));
    assert_eq!(keys, SOURCE_KEYS);

    // Every place reads as it would in the whole.
    let source = paid.source();
    for pointer in [
        "",
        "/",
        "/tenant_id",
        "/machine_id",
        "/entity_id",
        "/from_state",
        "/to_state",
        "/region",
        "/state_version",
        "/effect_id",
        "/event",
        "/event/",
        "/event/type",
        "/event/type/x",
        "/event/params",
        "/event/params/amount",
        "/event/params/a~1b",
        "/event/params/a~1b/~0/0",
        "/event/params/a~1b/~0/1",
        "/event/params/nothing",
        "/event/timestamp",
        "/event/timestamp/0",
        "/event/other",
        "/context",
        "/context/customer",
        "/context/customer/0",
        "/context/a~1b/~0/00",
        "/context/",
        "/tenant_id/x",
        "/tenant_id/",
        "/other",
        "tenant_id",
        "x/context",
        "/context/a~1b/~0",
    ] {
        let found = source.find(pointer);
        assert_eq!(found.as_deref(), whole.pointer(pointer), "{pointer}");
    }
}

#[test]
fn s2_122_a_webhook_without_more_is_what_the_seed_sent() {
    let paid = Paid::new(json!({"x": 1}), json!({}));
    let effect = render(&webhook(json!({})), &paid.source()).unwrap();
    let body =
        r#"{"tenant_id":"t-1","machine_id":"order","entity_id":"e-1","from_state":"open","to_state":"paid"}"#;
    assert_eq!(
        effect,
        Effect::Webhook {
            url: "https://example.com/a".to_owned(),
            method: Method::Post,
            headers: std::collections::BTreeMap::new(),
            body: Some(body.to_owned()),
            signed: true,
        }
    );
    assert_eq!(effect.sink(), "https://example.com/a");
    for (method, has_body) in [
        ("POST", true),
        ("PUT", true),
        ("PATCH", true),
        ("GET", false),
        ("DELETE", false),
    ] {
        let Effect::Webhook { body, .. } =
            render(&webhook(json!({"method": method})), &paid.source()).unwrap()
        else {
            panic!("a webhook")
        };
        assert_eq!(body.is_some(), has_body, "{method}");
    }
    let given = render(
        &webhook(json!({"method": "DELETE", "body": {"a": 1}})),
        &paid.source(),
    )
    .unwrap();
    assert!(matches!(given, Effect::Webhook { body: Some(body), .. } if body == r#"{"a":1}"#));
}

#[test]
fn s2_122_names_of_any_text_make_a_body_that_is_json() {
    let (from, to) = ("a\"\\\u{e9}", "b\u{2028}😀");
    let definition = json!({
        "machine_id": "m\"", "states": [from, to], "initial_state": from,
        "transitions": [{"from": from, "to": to, "on": "go"}]
    });
    let mut tree = tree(&machine(&definition), json!({}));
    let commit = committed(apply(
        &mut tree,
        EntityIx::ROOT,
        &event("go", json!({})),
        None,
        NOW,
    ));
    let Effect::Webhook { body, .. } = render(&webhook(json!({})), &source(&tree, &commit, 0)).unwrap()
    else {
        panic!("a webhook")
    };
    assert_eq!(
        serde_json::from_str::<Value>(&body.unwrap()).unwrap(),
        json!({"tenant_id": "t-1", "machine_id": "m\"", "entity_id": "e-1", "from_state": from, "to_state": to})
    );
}

#[test]
fn a_template_is_filled() {
    let paid = Paid::new(
        json!({"amount": 1200, "none": null}),
        json!({"lines": [{"sku": "s"}]}),
    );
    let template = json!({
        "id": {"$from": "/entity_id"}, "amount": {"$from": "/event/params/amount"},
        "first": [{"$from": "/context/lines/0"}, 1.5, "text {/entity_id}", null, true],
        "absent": {"$from": "/context/absent"}, "default": {"$from": "/context/absent", "default": {"a": [1]}},
        "second": {"$from": "/context/absent", "default": {"$from": "/event/type", "default": "x"}},
        "null": {"$from": "/event/params/none", "default": 1}, "other": {"$to": "/entity_id", "default": 2}
    });
    assert_eq!(
        paid.body(template).unwrap(),
        json!({
            "id": "e-1", "amount": 1200, "first": [{"sku": "s"}, 1.5, "text {/entity_id}", null, true],
            "absent": null, "default": {"a": [1]}, "second": "pay", "null": null,
            "other": {"$to": "/entity_id", "default": 2}
        })
    );
    assert_eq!(paid.body(json!("just text")).unwrap(), json!("just text"));
}

#[test]
fn parallel_machines_and_rows_of_the_engine_have_their_region_and_no_params() {
    let definition = json!({
        "machine_id": "bundle",
        "regions": [
            {"id": "pay", "states": ["due", "paid"], "initial_state": "due"},
            {"id": "ship", "states": ["held", "sent"], "initial_state": "held"}
        ],
        "transitions": [{"region": "pay", "from": "due", "to": "paid", "on": "$timeout", "guard": {"after_ms": 500}}],
        "joins": [{"when": {"pay": "paid"}, "target_region": "ship", "target_state": "sent"}]
    });
    let mut tree = tree(&machine(&definition), json!({"k": 1}));
    let commits = catch_up(&mut tree, Millis(NOW.0 + 900), CATCH_UP_LIMIT).commits;
    assert_eq!((commits.len(), commits[0].rows.len()), (1, 2));
    let template = json!([
        {"$from": "/region"}, {"$from": "/from_state"}, {"$from": "/to_state"}, {"$from": "/state_version"},
        {"$from": "/event"}, {"$from": "/event/params/x"}, {"$from": "/context"}
    ]);
    let bodies: Vec<Value> = (0..2)
        .map(|row| {
            let effect = render(
                &webhook(json!({"body": template})),
                &source(&tree, &commits[0], row),
            )
            .unwrap();
            let Effect::Webhook { body, .. } = effect else {
                panic!("a webhook")
            };
            serde_json::from_str(&body.unwrap()).unwrap()
        })
        .collect();
    let at = NOW.0 + 500;
    assert_eq!(
        bodies,
        [
            json!(["pay", "due", "paid", 2, {"type": "$timeout", "params": {}, "timestamp": at}, null, {"k": 1}]),
            json!(["ship", "held", "sent", 2, {"type": "$join", "params": {}, "timestamp": at}, null, {"k": 1}]),
        ]
    );
}

#[test]
fn s2_122_an_event_action_names_the_entity_and_the_states() {
    let paid = Paid::new(json!({}), json!({}));
    let action = serde_json::from_value(json!({"type": "event", "event_type": "order.paid"})).unwrap();
    let effect = render(&action, &paid.source()).unwrap();
    assert_eq!(
        serde_json::to_value(&effect).unwrap(),
        json!({
            "kind": "event", "event_type": "order.paid",
            "params": {"machine_id": "order", "entity_id": "e-1", "from_state": "open", "to_state": "paid"}
        })
    );
    assert_eq!(effect.sink(), "event");
}

#[test]
fn a_transition_action_names_its_target_by_places() {
    let params = json!({"n": 7, "f": 1.5, "big": u64::MAX, "neg": -3, "s": "x y", "empty": "", "t": true, "o": {}, "a": [1], "null": null});
    let paid = Paid::new(params, json!({"c": {"d": "deep"}}));
    for (text, id) in [
        ("e", "e"),
        ("o-{/event/params/n}", "o-7"),
        ("{/event/params/f}", "1.5"),
        ("{/event/params/big}", "18446744073709551615"),
        ("{/event/params/neg}/{/event/params/s}", "-3/x y"),
        ("{/context/c/d}{/entity_id}", "deepe-1"),
        ("{{{/event/params/n}}}", "{7}"),
        ("{{/event/params/n}}", "{/event/params/n}"),
        ("{/state_version}-{/to_state}", "2-paid"),
    ] {
        assert_eq!(paid.entity_id(text).as_deref(), Ok(id), "{text}");
    }
    for (text, problem) in [
        ("{/event/params/empty}", "`/event/params/empty` is empty"),
        ("{/event/params/t}", "`/event/params/t` is a boolean"),
        ("x{/event/params/o}", "`/event/params/o` is an object"),
        ("x{/event/params/a}", "`/event/params/a` is an array"),
        ("{/event/params/null}", "`/event/params/null` is null"),
        (
            "{/event/params/missing}",
            "`/event/params/missing` leads to nothing",
        ),
        ("{/region}", "`/region` is null"),
    ] {
        let expected = format!(
            "`entity_id` cannot be filled: {problem}; expected a string that is not empty, or a number"
        );
        assert_eq!(paid.entity_id(text), Err(expected), "{text}");
    }
    let odd = Paid::new(
        json!({"c": "a\nb", "dots": "..", "long": "x".repeat(2049)}),
        json!({}),
    );
    for (text, problem) in [
        ("{/event/params/c}", "it holds a control character"),
        (
            "{/event/params/dots}",
            "it is `..`, which no path of a URL can name",
        ),
        (
            "{/event/params/long}",
            "it has 2049 bytes; at most 2048 are allowed",
        ),
    ] {
        assert_eq!(
            odd.entity_id(text),
            Err(format!("`entity_id` comes to no id: {problem}"))
        );
    }
}

#[test]
fn a_transition_action_sends_params_of_its_own() {
    let paid = Paid::new(json!({"amount": 5}), json!({"c": {"d": 1}}));
    let sent = |more: Value| -> Result<(Map<String, Value>, bool), EffectFault> {
        match render(&transition(more), &paid.source())? {
            Effect::Transition {
                machine_id,
                event_type,
                params,
                create,
                ..
            } => {
                assert_eq!((machine_id.as_str(), event_type.as_str()), ("n", "go"));
                Ok((params, create))
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(sent(json!({})), Ok((Map::new(), true)));
    let params = json!({"sum": {"$from": "/event/params/amount"}, "c": {"$from": "/context/c"}});
    let expected = json!({"sum": 5, "c": {"d": 1}});
    assert_eq!(
        sent(json!({"params": params, "create": false})),
        Ok((expected.as_object().unwrap().clone(), false))
    );
    assert_eq!(
        sent(json!({"params": {"$from": "/event/params"}})).unwrap().0,
        *json!({"amount": 5}).as_object().unwrap()
    );
    assert_eq!(
        sent(json!({"params": {"$from": "/context/none"}})).unwrap().0,
        Map::new()
    );
    let fault = sent(json!({"params": {"$from": "/entity_id"}})).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "`params` come to a string, and not to an object"
    );
    assert_eq!(
        Effect::from(fault),
        Effect::Broken {
            problem: "`params` come to a string, and not to an object".to_owned()
        }
    );
}

#[test]
fn what_is_rendered_is_bounded() {
    let half = "x".repeat(MAX_BODY_BYTES / 2 - 20);
    let paid = Paid::new(
        json!({}),
        json!({"half": half, "deep": nested(99), "deeper": nested(100)}),
    );
    let half = || json!({"$from": "/context/half"});
    assert!(paid.body(json!([half(), half()])).is_ok());
    let too_large = EffectFault::Fill {
        place: "body",
        error: FillError::TooLarge { most: MAX_BODY_BYTES },
    };
    assert_eq!(paid.body(json!([half(), half(), half()])), Err(too_large.clone()));
    // What the template itself adds counts too.
    assert_eq!(
        paid.body(json!([half(), half(), "y".repeat(100)])),
        Err(too_large)
    );
    let many: Vec<Value> = (0..1000).map(|_| json!({"$from": "/context"})).collect();
    assert!(paid.body(json!(many)).is_err());
    let fault = render(
        &transition(json!({"params": {"a": half(), "b": half(), "c": half()}})),
        &paid.source(),
    );
    assert_eq!(
        fault.unwrap_err().to_string(),
        "`params` cannot be filled: it comes to more than the 262144 bytes that are allowed"
    );

    assert!(paid.body(json!([{"$from": "/context/deep"}])).is_ok());
    let fault = paid.body(json!([{"$from": "/context/deeper"}])).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "`body` cannot be filled: it nests deeper than 100 levels"
    );
    // The deepest params are stored and read again.
    let effect = render(
        &transition(json!({"params": {"a": {"$from": "/context/deep"}}})),
        &paid.source(),
    )
    .unwrap();
    let stored = serde_json::to_string(&effect).unwrap();
    assert_eq!(serde_json::from_str::<Effect>(&stored).unwrap(), effect);
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn an_effect_is_stored_short_and_read_again() {
    let paid = Paid::new(json!({"f": 0.1}), json!({}));
    let headers = json!({"A": "b", "Authorization": {"secret": "key", "prefix": "Bearer "}});
    let full = webhook(
        json!({"method": "PUT", "headers": headers, "body": {"f": {"$from": "/event/params/f"}}, "signed": false}),
    );
    let cases = [
        (
            full,
            json!({
                "kind": "webhook", "url": "https://example.com/a", "method": "PUT", "headers": headers,
                "body": "{\"f\":0.1}", "signed": false
            }),
        ),
        (
            webhook(json!({"method": "GET"})),
            json!({"kind": "webhook", "url": "https://example.com/a", "method": "GET"}),
        ),
        (
            transition(json!({})),
            json!({"kind": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go"}),
        ),
        (
            transition(json!({"params": {"f": {"$from": "/event/params/f"}}, "create": false})),
            json!({
                "kind": "transition", "machine_id": "n", "entity_id": "e", "event_type": "go", "params": {"f": 0.1},
                "create": false
            }),
        ),
    ];
    for (action, stored) in cases {
        let effect = render(&action, &paid.source()).unwrap();
        assert_eq!(serde_json::to_value(&effect).unwrap(), stored);
        assert_eq!(
            serde_json::from_str::<Effect>(&stored.to_string()).unwrap(),
            effect
        );
    }
    let Effect::Webhook { headers, .. } = serde_json::from_value(json!({
        "kind": "webhook", "url": "u", "headers": {"A": {"secret": "key"}}
    }))
    .unwrap() else {
        panic!("a webhook")
    };
    assert_eq!(
        headers["A"],
        HeaderValue::Secret {
            secret: "key".to_owned(),
            prefix: None
        }
    );
    assert_eq!(
        render(&transition(json!({})), &paid.source()).unwrap().sink(),
        "n/e"
    );
    let broken = Effect::Broken {
        problem: "x".to_owned(),
    };
    assert_eq!(
        serde_json::to_value(&broken).unwrap(),
        json!({"kind": "broken", "problem": "x"})
    );
    assert_eq!(broken.sink(), "");
}

proptest! {
    #[test]
    fn the_document_of_an_effect_reads_as_its_whole_does(
        params in any_json(), context in any_json(), pointer in "(/(event|context|params|type|[a-c]|~0|~1|0|1)){0,5}/?"
    ) {
        let map = |value: Value| if value.is_object() { value } else { json!({"a": value}) };
        let paid = Paid::new(map(params), map(context));
        let source = paid.source();
        let whole = source.find("").unwrap().into_owned();
        let found = source.find(&pointer);
        prop_assert_eq!(found.as_deref(), whole.pointer(&pointer));
    }

}

#[test]
fn rows_share_their_actions_with_the_machine() {
    let definition = json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "b", "on": "go"}],
        "actions": [{"on_enter": "b", "action": {"type": "webhook", "url": "https://example.com/", "body": {"x": "y"}}}]
    });
    let machine = machine(&definition);
    let row = |machine: &Arc<_>| {
        let mut tree = tree(machine, json!({}));
        committed(apply(
            &mut tree,
            EntityIx::ROOT,
            &event("go", json!({})),
            None,
            NOW,
        ))
        .rows
        .remove(0)
    };
    assert!(Arc::ptr_eq(&row(&machine).actions[0], &row(&machine).actions[0]));
}

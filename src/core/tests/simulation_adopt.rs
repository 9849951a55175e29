//! Entities of a service that a simulation takes in with their trees and histories: it goes on with them as the service does.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fail so, and is read more easily"
)]

#[path = "simulation_adopt/cases.rs"]
mod cases;
mod common;
mod generate;
mod harness;
mod model;

use std::collections::BTreeMap;

use generate::{Happening, Way};
use harness::Case;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};
use statewright_core::simulation::{Options, Session, check};

type Name = (String, String);

fn name_of(entity: &Value) -> Name {
    let text = |key: &str| entity[key].as_str().unwrap().to_owned();
    (text("machine_id"), text("entity_id"))
}

fn about(name: &Name) -> Value {
    json!({"machine_id": name.0, "entity_id": name.1})
}

/// Does it, and gives the body.
fn done(session: &mut Session, op: &str, args: Value) -> Value {
    let reply = session.perform(op, &args);
    assert!(reply.is_success(), "{op} {args}: {}", reply.body);
    reply.body
}

fn begin(machines: &[Value]) -> Session {
    let mut session = Session::new(Options::default());
    for machine in machines {
        // Some of those that are made at random do not fit each other.
        session.perform("register", &json!({ "body": machine }));
    }
    session
}

fn entities(session: &mut Session) -> Vec<Value> {
    let all = done(session, "entities", json!({}));
    all.as_array().unwrap().clone()
}

/// The names of a tree, the root first.
fn names(tree: &Value, into: &mut Vec<Name>) {
    into.push(name_of(tree));
    for child in tree["children"].as_array().into_iter().flatten() {
        names(child, into);
    }
}

/// What is shown of an entity: its tree, and the histories of all in it.
fn shown(session: &mut Session, root: &Name) -> Value {
    let tree = done(session, "tree", about(root));
    let mut all = Vec::new();
    names(&tree, &mut all);
    let rows: Vec<Value> = all
        .iter()
        .flat_map(|name| {
            let rows = done(session, "history", about(name));
            rows.as_array().unwrap().clone()
        })
        .collect();
    json!({"tree": tree, "history": rows})
}

/// The roots, in the order in which they were made.
fn note_roots(session: &mut Session, roots: &mut Vec<Name>) {
    let all: Vec<Name> = entities(session).iter().map(name_of).collect();
    let mut below = Vec::new();
    for name in &all {
        let mut tree = Vec::new();
        names(&done(session, "tree", about(name)), &mut tree);
        below.extend(tree.split_off(1));
    }
    roots.retain(|root| all.contains(root) && !below.contains(root));
    for name in all {
        if !below.contains(&name) && !roots.contains(&name) {
            roots.push(name);
        }
    }
}

/// What each row is: its entity and identity in place of its number.
fn rows(session: &mut Session) -> BTreeMap<u64, Value> {
    let mut rows = BTreeMap::new();
    for entity in entities(session) {
        let name = name_of(&entity);
        for row in done(session, "history", about(&name)).as_array().unwrap() {
            let key = json!([name.0, name.1, row["identity_key"]]);
            rows.insert(row["id"].as_u64().unwrap(), key);
        }
    }
    rows
}

/// Tells rows by what they are.
fn by_rows(value: &mut Value, rows: &BTreeMap<u64, Value>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match (key.as_str(), value.as_u64()) {
                    ("id" | "row" | "parent_row", Some(row)) => {
                        *value = rows.get(&row).cloned().unwrap_or_default();
                    }
                    _ => by_rows(value, rows),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| by_rows(item, rows)),
        _ => {}
    }
}

/// All that can be seen, and is the same with other numbers of rows.
fn seen(session: &mut Session, effects_before: usize) -> Value {
    let rows = rows(session);
    let mut all = json!({"now": session.now(), "due": done(session, "due", json!({}))});
    for entity in entities(session) {
        let name = about(&name_of(&entity));
        let mut seen = json!([
            session.perform("tree", &name).body,
            session.perform("history", &name).body,
            session
                .perform(
                    "history",
                    &json!({"machine_id": name["machine_id"], "entity_id": name["entity_id"], "order": "id"})
                )
                .body,
            session.perform("events", &name).body,
        ]);
        by_rows(&mut seen, &rows);
        all[name.to_string()] = seen;
    }
    let effects = done(session, "effects", json!({}));
    let mut effects = effects.as_array().unwrap()[effects_before..].to_vec();
    for effect in &mut effects {
        effect.as_object_mut().unwrap().remove("id");
        by_rows(effect, &rows);
    }
    all["effects"] = json!(effects);
    all
}

/// What happens next, as an operation; `last` is the event before.
fn operation(
    session: &mut Session,
    happening: &Happening,
    last: &mut Option<Value>,
) -> Option<(&'static str, Value)> {
    let known = entities(session);
    Some(match happening {
        Happening::Wait(millis) => ("advance", json!({"to": session.now().0 + millis})),
        Happening::Scan => ("tick", json!({"at": session.now().0 + 700})),
        Happening::Release if !known.is_empty() => ("release", about(&name_of(&known[0]))),
        Happening::Delete(which) if !known.is_empty() => {
            ("delete", about(&name_of(&known[which % known.len()])))
        }
        Happening::Again => ("transition", last.clone()?),
        Happening::Event {
            to,
            way,
            event_type,
            params,
            timestamp,
            expected_version,
            ..
        } => {
            let one = (!known.is_empty() && to % 7 > 0).then(|| &known[to % known.len()]);
            // Whether a legacy child was handed an event or was sent it is not shown.
            let legacy =
                |one: &Value| one["entity_id"].as_str().unwrap().contains("::") && one["instance"].is_null();
            let mut body = json!({
                "event_type": event_type, "params": params,
                "timestamp": if one.is_some_and(legacy) { None } else { *timestamp },
                "expected_version": expected_version, "target": matches!(way, Way::Own).then(|| json!([])),
            });
            match one {
                Some(one) => {
                    let mut args = about(&name_of(one));
                    args["body"] = body;
                    *last = Some(args.clone());
                    ("transition", args)
                }
                None => {
                    body["entity_key"] = json!("id");
                    body["params"]["id"] = json!(format!("e-{}", to % 3));
                    ("evaluate", json!({"machine_id": "m0", "body": body}))
                }
            }
        }
        _ => return None,
    })
}

/// Lets it happen up to a point, takes what there is then into a simulation of its own, and goes on in both.
fn go_on(case: &Case, cut: prop::sample::Index) {
    let mut session = begin(&case.definitions);
    let mut roots = Vec::new();
    for (machine, entity) in &case.foreign {
        session.perform(
            "create",
            &json!({"machine_id": machine, "body": {"entity_id": entity}}),
        );
        note_roots(&mut session, &mut roots);
    }
    let cut = cut.index(case.happenings.len() + 1);
    let mut last = None;
    for happening in &case.happenings[..cut] {
        if let Some((op, args)) = operation(&mut session, happening, &mut last) {
            session.perform(op, &args);
            note_roots(&mut session, &mut roots);
        }
    }
    let mut adopted = begin(&case.definitions);
    for root in &roots {
        let body = shown(&mut session, root);
        done(&mut adopted, "adopt", json!({"body": body, "at": session.now()}));
    }
    done(&mut adopted, "deliver", json!({"at": session.now()}));
    let before = done(&mut session, "effects", json!({})).as_array().unwrap().len();
    assert_eq!(seen(&mut session, before), seen(&mut adopted, 0));
    for happening in &case.happenings[cut..] {
        let Some((op, args)) = operation(&mut session, happening, &mut last) else {
            continue;
        };
        let (mut wanted, mut reply) = (session.perform(op, &args), adopted.perform(op, &args));
        by_rows(&mut wanted.body, &rows(&mut session));
        by_rows(&mut reply.body, &rows(&mut adopted));
        assert_eq!(wanted, reply, "{op} {args}");
        assert_eq!(seen(&mut session, before), seen(&mut adopted, 0), "{op} {args}");
    }
    // It is a step like any other.
    let end = seen(&mut adopted, 0);
    let steps = adopted.done();
    let scenario = done(&mut adopted, "export", json!({}));
    done(&mut adopted, "undo", json!({"to": 0}));
    done(&mut adopted, "redo", json!({"to": steps}));
    assert_eq!(seen(&mut adopted, 0), end);
    let checked = check(&scenario).unwrap();
    assert!(checked.passed, "{:?}", checked.failures);
    done(&mut adopted, "import", json!({"body": scenario}));
    assert_eq!(seen(&mut adopted, 0), end);
}

fn config(cases: u32) -> Config {
    let default = Config::default();
    Config {
        cases: default.cases.max(cases),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn what_is_taken_in_goes_on_as_where_it_comes_from(
        case in generate::trees::case(true), cut in any::<prop::sample::Index>(),
    ) {
        go_on(&case, cut);
    }

    #[test]
    fn so_it_does_in_the_seed_s_contract(
        case in generate::trees::case(false), cut in any::<prop::sample::Index>(),
    ) {
        go_on(&case, cut);
    }
}

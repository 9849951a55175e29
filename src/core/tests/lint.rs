//! Warnings: each kind where it is due, and silence where it is not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::{in_seed, warnings};
use serde_json::{Value, json};
use statewright_core::fault::WarningKind;

/// Kinds and paths.
#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn found(definition: Value) -> Vec<(WarningKind, String)> {
    let warnings = warnings(&definition).into_iter();
    warnings.map(|warning| (warning.kind, warning.path)).collect()
}

fn one(kind: WarningKind, path: &str) -> Vec<(WarningKind, String)> {
    vec![(kind, path.to_owned())]
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn flat(states: Value, transitions: Value) -> Value {
    json!({"machine_id": "m", "initial_state": states[0], "states": states, "transitions": transitions})
}

/// Regions `x` (x1, x2, x3) and `y` (y1, y2), each going around on `x` and `y`.
#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn parallel(joins: Value) -> Value {
    json!({
        "machine_id": "m",
        "regions": [
            {"id": "x", "states": ["x1", "x2", "x3"], "initial_state": "x1"},
            {"id": "y", "states": ["y1", "y2"], "initial_state": "y1"}
        ],
        "transitions": [
            {"region": "x", "from": "x1", "to": "x2", "on": "x"},
            {"region": "x", "from": "x2", "to": "x3", "on": "x"},
            {"region": "x", "from": "x3", "to": "x1", "on": "x"},
            {"region": "y", "from": "y1", "to": "y2", "on": "y"},
            {"region": "y", "from": "y2", "to": "y1", "on": "y"}
        ],
        "joins": joins
    })
}

#[test]
fn a_sound_machine_has_no_warnings() {
    let turnstile = flat(
        json!(["locked", "open", "broken"]),
        json!([
            {"from": "locked", "to": "open", "on": "coin"},
            {"from": "open", "to": "locked", "on": "push"},
            {"from": "open", "to": "broken", "on": "$timeout", "guard": {"timeout_seconds": 5}}
        ]),
    );
    assert_eq!(found(turnstile.clone()), []);
    assert_eq!(found(in_seed(turnstile)), []);
    assert_eq!(
        found(parallel(json!([
            {"when": {"x": "x2", "y": "y2"}, "target_region": "x", "target_state": "x3"}
        ]))),
        []
    );
}

#[test]
fn unreachable_states() {
    let definition = |transitions| flat(json!(["a", "b", "c"]), transitions);
    assert_eq!(
        found(definition(json!([
            {"from": "a", "to": "b", "on": "go"}, {"from": "c", "to": "a", "on": "go"}
        ]))),
        one(WarningKind::UnreachableState, "$.states[2]")
    );
    let timeout = json!([
        {"from": "a", "to": "b", "on": "go"},
        {"from": "b", "to": "c", "on": "$timeout", "guard": {"after_ms": 5}}
    ]);
    assert_eq!(found(definition(timeout)), [], "a timeout leads there");
    let impossible = json!([
        {"from": "a", "to": "b", "on": "go"}, {"from": "a", "to": "c", "on": "go", "guard": {"any": []}}
    ]);
    assert!(
        found(definition(impossible)).contains(&(WarningKind::UnreachableState, "$.states[2]".to_owned())),
        "only a guard that is never true leads there"
    );
}

#[test]
fn a_state_that_a_join_enters_is_reachable() {
    let mut definition = parallel(json!([
        {"when": {"x": "x3"}, "target_region": "y", "target_state": "y2"}
    ]));
    definition["transitions"].as_array_mut().unwrap().remove(3);
    assert_eq!(found(definition.clone()), []);
    definition["joins"] = json!([]);
    assert_eq!(
        found(definition),
        one(WarningKind::UnreachableState, "$.regions[1].states[1]")
    );
}

#[test]
fn a_state_that_a_completed_child_leads_to_is_reachable() {
    let mut definition = flat(
        json!(["a", "work", "done"]),
        json!([{"from": "a", "to": "work", "on": "go"}]),
    );
    assert_eq!(
        found(definition.clone()),
        one(WarningKind::UnreachableState, "$.states[2]")
    );
    definition["sub_machines"] = json!({"work": {"machine_id": "child", "on_final": {"end": "done"}}});
    assert_eq!(found(definition.clone()), []);
    definition["sub_machines"] = json!({"work": {"machine_id": "child", "lifecycle": "managed",
        "complete_when": [{"when": {"_": "end"}, "target": "done"}]}});
    assert_eq!(found(definition), []);
}

#[test]
fn shadowed_transitions() {
    let guard = json!({"field": "n", "op": "gt", "value": 1});
    let definition = |first: Value, second: Value| {
        flat(
            json!(["a", "b", "c"]),
            json!([
                {"from": "a", "to": "b", "on": "go", "guard": first},
                {"from": "a", "to": "c", "on": "go", "guard": second},
                {"from": "a", "to": "c", "on": "other"}
            ]),
        )
    };
    let shadowed = one(WarningKind::ShadowedTransition, "$.transitions[1]");
    assert_eq!(found(definition(Value::Null, guard.clone())), shadowed);
    assert_eq!(
        found(definition(json!({"all": []}), Value::Null)),
        shadowed,
        "S2.63: `all` of nothing is true"
    );
    assert_eq!(found(definition(guard.clone(), Value::Null)), []);
    assert_eq!(
        found(in_seed(definition(json!("malformed"), Value::Null))),
        [
            (WarningKind::MalformedGuard, "$.transitions[0].guard".to_owned()),
            (WarningKind::ShadowedTransition, "$.transitions[1]".to_owned())
        ],
        "S2.70"
    );
    let other_state = flat(
        json!(["a", "b"]),
        json!([{"from": "a", "to": "b", "on": "go"}, {"from": "b", "to": "a", "on": "go"}]),
    );
    assert_eq!(found(other_state), []);
}

#[test]
fn m6_shadowed_timeouts() {
    let definition = |first: u64, second: u64| {
        flat(
            json!(["a", "b", "c"]),
            json!([
                {"from": "a", "to": "b", "on": "$timeout", "guard": {"timeout_seconds": first}},
                {"from": "a", "to": "c", "on": "$timeout", "guard": {"timeout_seconds": second}},
                {"from": "a", "to": "c", "on": "go"},
                {"from": "a", "to": "b", "on": "stay"}
            ]),
        )
    };
    let second = one(WarningKind::ShadowedTransition, "$.transitions[1]");
    assert_eq!(found(definition(5, 9)), second);
    assert_eq!(found(definition(5, 5)), second);
    assert_eq!(
        found(definition(9, 5)),
        one(WarningKind::ShadowedTransition, "$.transitions[0]"),
        "by delay, then definition order"
    );
    assert_eq!(found(in_seed(definition(5, 9))), second);
    assert_eq!(
        found(in_seed(definition(9, 5))),
        [],
        "in the seed a late scanner tries the longer one first"
    );
}

#[test]
fn impossible_joins() {
    let join = |when: Value, region: &str, target: &str| {
        parallel(json!([{"when": when, "target_region": region, "target_state": target}]))
    };
    assert_eq!(
        found(join(json!({"x": "x2", "y": "y2"}), "y", "y2")),
        one(WarningKind::ImpossibleJoin, "$.joins[0].when.y")
    );
    let mut unreachable = join(json!({"x": "x3"}), "y", "y2");
    unreachable["transitions"].as_array_mut().unwrap().drain(1..3);
    assert_eq!(
        found(unreachable),
        [
            (WarningKind::UnreachableState, "$.regions[0].states[2]".to_owned()),
            (WarningKind::ImpossibleJoin, "$.joins[0].when.x".to_owned())
        ]
    );
    assert_eq!(found(join(json!({"x": "x3", "y": "y1"}), "y", "y2")), []);
}

#[test]
fn s2_87_level_joins_that_do_not_name_their_target_region() {
    let definition = parallel(json!([
        {"when": {"x": "x2"}, "target_region": "y", "target_state": "y2"}
    ]));
    let unstable = one(WarningKind::UnstableJoin, "$.joins[0].when");
    assert_eq!(found(definition.clone()), [], "M3: edges do not undo");
    assert_eq!(found(in_seed(definition.clone())), unstable);
    let mut level = definition;
    level["joins"][0]["trigger"] = json!("level");
    assert_eq!(found(level.clone()), unstable);
    level["joins"][0]["when"] = json!({"x": "x2", "y": "y1"});
    assert_eq!(found(level), []);
}

#[test]
fn s2_82_level_joins_that_alternate() {
    let joins = |first: Value, second: Value| {
        in_seed(parallel(json!([
            {"when": first, "target_region": "x", "target_state": "x1"},
            {"when": second, "target_region": "x", "target_state": "x2"}
        ])))
    };
    let back_and_forth = one(WarningKind::UnstableJoin, "$.joins[1]");
    assert_eq!(
        found(joins(json!({"x": "x2"}), json!({"x": "x1", "y": "y2"}))),
        back_and_forth
    );
    assert_eq!(
        found(joins(
            json!({"x": "x2", "y": "y1"}),
            json!({"x": "x1", "y": "y2"})
        )),
        [],
        "`y` tells them apart"
    );
    assert_eq!(
        found(joins(json!({"x": "x3"}), json!({"x": "x1"}))),
        [],
        "the second leads away, and the first does not come back"
    );
    let mut edges = joins(json!({"x": "x2"}), json!({"x": "x1"}));
    edges.as_object_mut().unwrap().remove("contract");
    assert_eq!(found(edges), []);
}

#[test]
fn broadcasts_that_nothing_handles() {
    let mut definition = parallel(json!([]));
    definition["broadcast"] = json!(["x", "z"]);
    assert_eq!(
        found(definition.clone()),
        one(WarningKind::UnhandledEvent, "$.broadcast[1]")
    );
    definition["broadcast"] = json!(["x", "y"]);
    definition["actions"] =
        json!([{"on_enter": "x1", "action": {"type": "event", "event_type": "elsewhere"}}]);
    assert_eq!(found(definition), [], "what actions send goes elsewhere");
}

#[test]
fn dead_ends() {
    let definition = |from_b: Value| {
        let mut transitions = vec![json!({"from": "a", "to": "b", "on": "go"})];
        transitions.extend(from_b.as_array().unwrap().iter().cloned());
        flat(json!(["a", "b"]), json!(transitions))
    };
    let dead = (WarningKind::DeadEnd, "$.states[1]".to_owned());
    assert_eq!(found(definition(json!([]))), [], "a final state");
    assert_eq!(
        found(definition(json!([{"from": "b", "to": "b", "on": "again"}]))),
        std::slice::from_ref(&dead)
    );
    let impossible =
        json!([{"from": "b", "to": "a", "on": "back", "guard": {"field": "n", "op": "gt", "value": "x"}}]);
    assert!(found(definition(impossible)).contains(&dead));
    let both = json!([{"from": "b", "to": "b", "on": "again"}, {"from": "b", "to": "a", "on": "back"}]);
    assert_eq!(found(definition(both)), []);
    let counter = flat(json!(["on"]), json!([{"from": "on", "to": "on", "on": "count"}]));
    assert_eq!(found(counter), [], "there is nowhere else to go");
}

#[test]
fn a_state_that_a_join_or_a_child_leads_out_of_is_no_dead_end() {
    let again = json!({"region": "y", "from": "y2", "to": "y2", "on": "again"});
    let mut definition = parallel(json!([
        {"when": {"x": "x3", "y": "y2"}, "target_region": "y", "target_state": "y1"}
    ]));
    definition["transitions"][4] = again;
    assert_eq!(found(definition.clone()), []);
    let dead = one(WarningKind::DeadEnd, "$.regions[1].states[1]");
    definition["joins"] = json!([]);
    assert_eq!(found(definition.clone()), dead);
    definition["joins"] = json!([{"when": {"x": "x3"}, "target_region": "y", "target_state": "y2"}]);
    assert_eq!(found(definition.clone()), dead, "the join leads into it");
    definition["regions"][1]["states"] = json!(["y1", "y2", "y3"]);
    definition["joins"] =
        json!([{"when": {"x": "x3", "y": "y1"}, "target_region": "y", "target_state": "y3"}]);
    assert_eq!(found(definition), dead, "the join leads out of another");
    let mut parent = flat(
        json!(["a", "work"]),
        json!([{"from": "a", "to": "work", "on": "go"}, {"from": "work", "to": "work", "on": "note"}]),
    );
    parent["sub_machines"] = json!({"work": {"machine_id": "child", "on_final": {"end": "a"}}});
    assert_eq!(found(parent), []);
}

#[test]
fn impossible_guards() {
    let definition = |guard: Value| {
        flat(
            json!(["a", "b"]),
            json!([{"from": "a", "to": "b", "on": "go"}, {"from": "b", "to": "a", "on": "go", "guard": guard},
                   {"from": "b", "to": "a", "on": "back"}]),
        )
    };
    let at = |path: &str| {
        one(
            WarningKind::ImpossibleGuard,
            &format!("$.transitions[1].guard{path}"),
        )
    };
    let order = json!({"all": [{"field": "n", "op": "gt", "value": "x"}]});
    assert_eq!(found(definition(order.clone())), at(".all[0].value"));
    assert_eq!(found(in_seed(definition(order))), at(".all[0]"));
    let contains = json!({"field": "n", "op": "contains", "value": 5});
    assert_eq!(found(definition(contains.clone())), at(".value"));
    assert_eq!(found(in_seed(definition(contains))), at(""));
    assert_eq!(found(definition(json!({"any": []}))), at(".any"));
    assert_eq!(found(in_seed(definition(json!({"any": []})))), at(".any"));
    let unknown = json!({"field": "n", "op": "in", "value": [1]});
    assert_eq!(found(in_seed(definition(unknown))), at(""), "S2.62");
    assert_eq!(
        found(in_seed(definition(json!({"timeout_seconds": 4})))),
        at(""),
        "S2.74"
    );
    let number = json!({"field": "n", "op": "gt", "value": "5"});
    assert_eq!(found(definition(number.clone())), []);
    assert_eq!(found(in_seed(definition(number))), []);
}

#[test]
fn ignored_keys_and_malformed_guards_of_the_seed() {
    let mut definition = flat(
        json!(["a", "b"]),
        json!([{"from": "a", "to": "b", "on": "go", "guard": {"any": [{"field": "x"}]}}]),
    );
    definition["colour"] = json!("red");
    assert_eq!(
        found(in_seed(definition)),
        [
            (WarningKind::IgnoredKey, "$.colour".to_owned()),
            (
                WarningKind::MalformedGuard,
                "$.transitions[0].guard.any[0]".to_owned()
            )
        ],
        "S2.71, S2.73"
    );
}

#[test]
fn warnings_are_bounded() {
    let states: Vec<String> = (0..1000).map(|state| format!("s{state}")).collect();
    let count = found(flat(json!(states), json!([]))).len();
    assert_eq!(count, 200);
}

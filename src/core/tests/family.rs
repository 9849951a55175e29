//! What registration asks of the machines that a definition names as children: every fault, every warning, and silence
//! where neither is due.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

use serde_json::{Value, json};
use statewright_core::definition::{Definition, Valid};
use statewright_core::family::{Family, check, named};
use statewright_core::fault::{Fault, WarningKind};

const SEED: &str = "statemachine-e1e4.v1";

fn valid(definition: &Value) -> Valid {
    Definition::read(definition).unwrap_or_else(|faults| panic!("{definition}: {faults:#?}"))
}

fn checked(definition: &Value, registered: &[Value]) -> Result<Valid, Vec<Fault>> {
    let mut family = Family::default();
    for other in registered {
        family.add_child(valid(other));
    }
    check(valid(definition), &family)
}

fn faults(definition: &Value, registered: &[Value]) -> Vec<Fault> {
    checked(definition, registered).map_or_else(|faults| faults, |_| Vec::new())
}

fn paths(definition: &Value, registered: &[Value]) -> Vec<String> {
    let faults = faults(definition, registered).into_iter();
    faults.map(|fault| fault.path).collect()
}

/// The warnings of uncovered endings: path and message.
fn uncovered(definition: &Value, registered: &[Value]) -> Vec<(String, String)> {
    let valid = checked(definition, registered).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let warnings = valid.warnings.into_iter();
    warnings
        .filter(|warning| warning.kind == WarningKind::UncoveredCompletion)
        .map(|warning| (warning.path, warning.message))
        .collect()
}

fn in_seed(mut definition: Value) -> Value {
    definition["contract"] = SEED.into();
    definition
}

fn both(definition: &Value) -> [Value; 2] {
    [definition.clone(), in_seed(definition.clone())]
}

fn all(definitions: &[Value], contract: &str) -> Vec<Value> {
    let mut definitions = definitions.to_vec();
    for definition in &mut definitions {
        definition["contract"] = contract.into();
    }
    definitions
}

/// `start` → `work` on `go`, `work` → `off` on `stop`; the child of `work` leads to `done`.
#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn parent(sub: Value) -> Value {
    json!({"machine_id": "parent", "states": ["start", "work", "done", "off"], "initial_state": "start",
        "transitions": [{"from": "start", "to": "work", "on": "go"}, {"from": "work", "to": "off", "on": "stop"}],
        "sub_machines": {"work": sub}})
}

fn managed(child: &str, mut rest: Value) -> Value {
    rest["machine_id"] = child.into();
    rest["lifecycle"] = "managed".into();
    rest
}

/// A flat child: `a` → `b` on `end`, `a` → `c` on `fail`.
fn flat() -> Value {
    json!({"machine_id": "flat", "states": ["a", "b", "c"], "initial_state": "a", "transitions": [
        {"from": "a", "to": "b", "on": "end"}, {"from": "a", "to": "c", "on": "fail"}]})
}

/// The child of the seed's bundle, cut down: the case is returned, kept or lost while the deadline is open or closed.
fn return_case() -> Value {
    json!({"machine_id": "return_case", "regions": [
            {"id": "case", "states": ["open", "returned", "kept", "lost"], "initial_state": "open"},
            {"id": "deadline", "states": ["open", "closed"], "initial_state": "open"}],
        "transitions": [
            {"region": "case", "from": "open", "to": "returned", "on": "return"},
            {"region": "case", "from": "open", "to": "kept", "on": "keep"},
            {"region": "case", "from": "open", "to": "lost", "on": "lose"},
            {"region": "deadline", "from": "open", "to": "closed", "on": "$timeout", "guard": {"timeout_seconds": 5}}]})
}

fn rules(whens: &[Value]) -> Value {
    let rules: Vec<Value> = whens
        .iter()
        .map(|when| json!({"when": when, "target": "done"}))
        .collect();
    json!({"complete_when": rules})
}

/// A machine of one state and one managed child.
fn link(id: &str, child: &str) -> Value {
    json!({"machine_id": id, "states": ["on"], "initial_state": "on", "transitions": [],
        "sub_machines": {"on": {"machine_id": child, "lifecycle": "managed"}}})
}

fn leaf(id: &str) -> Value {
    json!({"machine_id": id, "states": ["on"], "initial_state": "on", "transitions": []})
}

#[test]
fn named_children_are_sorted_and_named_once() {
    let mut definition = return_case();
    definition["regions"][0]["sub_machines"] =
        json!({"lost": {"machine_id": "z"}, "kept": {"machine_id": "b"}});
    definition["regions"][1]["sub_machines"] = json!({"closed": {"machine_id": "b", "lifecycle": "managed"}});
    let names: Vec<String> = named(&valid(&definition).definition)
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(names, ["b", "z"]);
    assert!(named(&valid(&flat()).definition).is_empty());
}

#[test]
fn s2_49_a_child_that_is_not_registered_is_passed_over() {
    let sub = managed(
        "nobody",
        json!({"on_final": {"x": "done"}, "complete_when": [{"when": {"y": "z"}, "target": "done"}]}),
    );
    for definition in both(&parent(sub)) {
        assert_eq!(faults(&definition, &[]), []);
        assert_eq!(uncovered(&definition, &[flat()]), []);
    }
}

#[test]
fn a_tree_has_one_contract() {
    for sub in [
        managed("flat", json!({"on_final": {"b": "done", "c": "done"}})),
        json!({"machine_id": "flat", "on_final": {"b": "done"}}),
    ] {
        let definition = parent(sub);
        assert_eq!(
            faults(&definition, &[in_seed(flat())]),
            [Fault {
                path: "$.sub_machines.work.machine_id".to_owned(),
                problem: format!("machine `flat` has the contract `{SEED}`"),
                expected: "a machine of the contract `statewright.v1`: all machines of a tree have one"
                    .to_owned(),
            }]
        );
        assert_eq!(
            paths(&in_seed(definition.clone()), &[flat()]),
            ["$.sub_machines.work.machine_id"]
        );
        let mut nested = flat();
        nested["contract"] = json!("statemachine-nested.v1");
        assert_eq!(
            paths(&in_seed(definition.clone()), std::slice::from_ref(&nested)),
            [""; 0],
            "S2.2: another name of the same contract"
        );
        assert_eq!(paths(&definition, &[flat()]), [""; 0]);
    }
}

#[test]
fn the_path_of_a_region_is_its_place() {
    let mut definition = return_case();
    definition["regions"][1]["sub_machines"] = json!({"closed": managed("flat", json!({"complete_when": [
        {"when": {"_": "b"}, "target": "open"}, {"when": {"_": "x"}, "target": "open"}]}))});
    assert_eq!(
        paths(&definition, &[flat()]),
        ["$.regions[1].sub_machines.closed.complete_when[1].when._"]
    );
}

#[test]
fn s2_46_managed_cycles() {
    let cycle = |definition: &Value, registered: &[Value]| {
        let mut found = Vec::new();
        for contract in ["statewright.v1", SEED] {
            let definition = all(std::slice::from_ref(definition), contract).remove(0);
            let faults = faults(&definition, &all(registered, contract));
            assert!(faults.len() <= 1, "{faults:#?}");
            found.extend(faults.into_iter().map(|fault| {
                assert_eq!(fault.path, "$.sub_machines.on.machine_id");
                fault.problem
            }));
        }
        found
    };
    let told = |chain: &str| vec![format!("it closes a cycle of managed children: {chain}"); 2];
    assert_eq!(cycle(&link("a", "a"), &[]), told("`a` → `a`"));
    assert_eq!(cycle(&link("a", "b"), &[link("b", "a")]), told("`a` → `b` → `a`"));
    assert_eq!(
        cycle(&link("a", "b"), &[link("b", "c"), link("c", "a")]),
        told("`a` → `b` → `c` → `a`")
    );
    assert_eq!(
        cycle(&link("a", "b"), &[link("b", "c")]),
        [""; 0],
        "`c` is not there yet"
    );
    assert_eq!(
        cycle(&link("a", "b"), &[link("a", "b"), leaf("b")]),
        [""; 0],
        "what it replaces does not count"
    );
    let mut legacy = link("b", "a");
    legacy["states"] = json!(["on", "off"]);
    legacy["initial_state"] = json!("off");
    legacy["sub_machines"]["on"] = json!({"machine_id": "a"});
    assert_eq!(
        cycle(&link("a", "b"), &[legacy]),
        [""; 0],
        "a legacy child starts no managed chain by itself"
    );
}

#[test]
fn s2_47_eight_levels_and_not_nine() {
    // `m0` is registered last; `m1` is at level 1 below it.
    let chain = |levels: usize| -> Vec<Value> {
        let links = (1..levels).map(|level| link(&format!("m{level}"), &format!("m{}", level + 1)));
        links.chain([leaf(&format!("m{levels}"))]).collect()
    };
    for contract in ["statewright.v1", SEED] {
        let definition = all(&[link("m0", "m1")], contract).remove(0);
        assert_eq!(faults(&definition, &all(&chain(8), contract)), []);
        let found = faults(&definition, &all(&chain(9), contract));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "$.sub_machines.on.machine_id");
        assert!(
            found[0]
                .problem
                .ends_with("`m0` → `m1` → `m2` → `m3` → `m4` → `m5` → `m6` → `m7` → `m8` → `m9`"),
            "{}",
            found[0].problem
        );
    }
    let mut unregistered = chain(9);
    unregistered.pop();
    assert_eq!(
        paths(&link("m0", "m1"), &unregistered),
        ["$.sub_machines.on.machine_id"],
        "`m8` is registered and names its child at level 9"
    );
    unregistered.pop();
    assert_eq!(paths(&link("m0", "m1"), &unregistered), [""; 0], "S2.49");
}

#[test]
fn s2_47_the_longest_chain_counts() {
    let mut definition = link("m0", "m8");
    definition["states"] = json!(["on", "next"]);
    definition["sub_machines"]["next"] = managed("m1", json!({}));
    let chain = |last: usize| -> Vec<Value> {
        let links = (1..last).map(|level| link(&format!("m{level}"), &format!("m{}", level + 1)));
        links.chain([leaf(&format!("m{last}"))]).collect()
    };
    assert_eq!(paths(&definition, &chain(8)), [""; 0]);
    assert_eq!(
        paths(&definition, &chain(9)),
        ["$.sub_machines.next.machine_id"],
        "the one that goes too deep, and not the other"
    );
}

#[test]
fn s2_47_many_ways_and_cycles_elsewhere_come_to_an_end() {
    // Two ways at each of sixty levels: 2^60 chains.
    let fork = |level: usize, side: &str| {
        json!({"machine_id": format!("{side}{level}"), "states": ["l", "r"], "initial_state": "l", "transitions": [],
            "sub_machines": {
                "l": managed(&format!("l{}", level + 1), json!({})),
                "r": managed(&format!("r{}", level + 1), json!({}))}})
    };
    let forks: Vec<Value> = (1..60)
        .flat_map(|level| [fork(level, "l"), fork(level, "r")])
        .collect();
    assert_eq!(
        paths(&link("top", "l1"), &forks),
        ["$.sub_machines.on.machine_id"]
    );
    // Registered at the same time, `x` and `y` name each other: a chain without an end.
    let found = faults(&link("top", "x"), &[link("x", "y"), link("y", "x")]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0]
            .problem
            .starts_with("managed children nest deeper than 8 levels")
    );
}

#[test]
fn what_is_below_a_child_matters_by_its_managed_children_alone() {
    let mut family = Family::default();
    family.add_child(valid(&link("b", "c")));
    family.add_below("c".to_owned(), vec!["d".to_owned(), "a".to_owned()]);
    let found = check(valid(&link("a", "b")), &family).unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(found[0].problem.ends_with("`a` → `b` → `c` → `a`"));
}

#[test]
fn s2_48_a_rule_names_every_region() {
    for contract in ["statewright.v1", SEED] {
        let check = |sub: Value, child: Value| {
            let registered = all(&[child], contract);
            let definition = all(&[parent(sub)], contract).remove(0);
            faults(&definition, &registered)
        };
        let gap = check(
            managed(
                "return_case",
                rules(&[
                    json!({"case": "kept", "deadline": "closed"}),
                    json!({"case": "lost"}),
                ]),
            ),
            return_case(),
        );
        assert_eq!(
            gap,
            [Fault {
                path: "$.sub_machines.work.complete_when[1].when".to_owned(),
                problem: "it names no state of `deadline` of machine `return_case`".to_owned(),
                expected: "a state of every region: `case`, `deadline`".to_owned(),
            }]
        );
        let empty = check(managed("flat", rules(&[json!({})])), flat());
        assert_eq!(empty.len(), 1, "R8: the region of a flat child is `_`");
        assert_eq!(
            empty[0].expected,
            "a state of `_`, the only region of a flat machine"
        );
        assert_eq!(check(managed("flat", rules(&[json!({"_": "b"})])), flat()), []);
    }
}

#[test]
fn rules_name_what_the_child_has_in_statewright_v1() {
    let with = |when: Value| parent(managed("return_case", rules(&[when])));
    let unknown_region = with(json!({"case": "kept", "deadline": "closed", "dedline": "closed"}));
    assert_eq!(
        faults(&unknown_region, &[return_case()]),
        [Fault {
            path: "$.sub_machines.work.complete_when[0].when.dedline".to_owned(),
            problem: "`dedline` is no region of machine `return_case`".to_owned(),
            expected: "one of `case`, `deadline` (did you mean `deadline`?)".to_owned(),
        }]
    );
    let unknown_state = with(json!({"case": "keptt", "deadline": "closed"}));
    assert_eq!(
        faults(&unknown_state, &[return_case()]),
        [Fault {
            path: "$.sub_machines.work.complete_when[0].when.case".to_owned(),
            problem: "`keptt` is no state of region `case` of machine `return_case`".to_owned(),
            expected: "one of `kept`, `lost`, `open`, `returned` (did you mean `kept`?)".to_owned(),
        }]
    );
    for definition in [unknown_region, unknown_state] {
        assert_eq!(faults(&in_seed(definition), &[in_seed(return_case())]), []);
    }
}

#[test]
fn on_final_names_states_of_the_child_in_statewright_v1() {
    for sub in [
        managed("flat", json!({"on_final": {"b": "done", "cc": "done"}})),
        json!({"machine_id": "flat", "on_final": {"b": "done", "cc": "done"}}),
    ] {
        let definition = parent(sub);
        let found = faults(&definition, &[flat()]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "$.sub_machines.work.on_final.cc");
        assert_eq!(found[0].problem, "`cc` is no state of machine `flat`");
        assert_eq!(faults(&in_seed(definition), &[in_seed(flat())]), []);
    }
}

#[test]
fn r8_on_final_on_a_parallel_managed_child() {
    let sub = json!({"on_final": {"kept": "done"}, "complete_when": [
        {"when": {"case": "kept", "deadline": "closed"}, "target": "done"}]});
    for (definition, child) in both(&parent(managed("return_case", sub)))
        .into_iter()
        .zip(both(&return_case()))
    {
        assert_eq!(paths(&definition, &[child]), ["$.sub_machines.work.on_final"]);
    }
    let legacy = parent(json!({"machine_id": "return_case", "on_final": {"kept": "done"}}));
    assert_eq!(
        paths(&legacy, &[return_case()]),
        [""; 0],
        "S2.167: it just never completes"
    );
    let none = parent(managed(
        "return_case",
        json!({"on_final": {}, "complete_when": [
        {"when": {"case": "kept", "deadline": "closed"}, "target": "done"}]}),
    ));
    assert_eq!(paths(&none, &[return_case()]), [""; 0]);
}

/// States `start`, `x`, `y`, `z`, `out`; `go` leads to `x`; each state given has a managed child.
#[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
fn looped(subs: Value) -> Value {
    json!({"machine_id": "parent", "states": ["start", "x", "y", "z", "out"], "initial_state": "start",
        "transitions": [{"from": "start", "to": "x", "on": "go"}, {"from": "x", "to": "y", "on": "on"},
            {"from": "y", "to": "z", "on": "on"}, {"from": "z", "to": "out", "on": "on"}],
        "sub_machines": subs})
}

#[test]
fn m7_children_that_are_final_at_their_start_and_lead_round() {
    let at_start = |target: &str| managed("flat", json!({"on_final": {"a": target}}));
    let later = |target: &str| managed("flat", json!({"on_final": {"b": target, "c": target}}));
    let one = looped(json!({"x": at_start("x")}));
    let found = faults(&one, &[flat()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "$.sub_machines.x");
    assert!(found[0].problem.ends_with("`x` → `x`"), "{}", found[0].problem);
    assert_eq!(
        faults(&in_seed(one), &[in_seed(flat())]),
        [],
        "S2.195: the seed does not look at the start"
    );
    let three = looped(json!({"x": at_start("y"), "y": at_start("z"), "z": at_start("y")}));
    let found = faults(&three, &[flat()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "$.sub_machines.y");
    assert!(
        found[0].problem.ends_with("`y` → `z` → `y`"),
        "{}",
        found[0].problem
    );
    assert_eq!(
        paths(
            &looped(json!({"x": at_start("y"), "y": at_start("z"), "z": at_start("out")})),
            &[flat()]
        ),
        [""; 0],
        "it leads out"
    );
    assert_eq!(
        paths(&looped(json!({"x": at_start("y"), "y": later("x")})), &[flat()]),
        [""; 0],
        "one of them waits"
    );
}

#[test]
fn m7_the_first_rule_that_holds_at_the_start_decides() {
    let with = |first: &str, second: &str| {
        looped(json!({"x": managed("return_case", json!({"complete_when": [
            {"when": {"case": "kept", "deadline": "open"}, "target": "x"},
            {"when": {"case": "open", "deadline": "open"}, "target": first},
            {"when": {"case": "open", "deadline": "open"}, "target": second}]}))}))
    };
    assert_eq!(paths(&with("x", "out"), &[return_case()]), ["$.sub_machines.x"]);
    assert_eq!(paths(&with("out", "x"), &[return_case()]), [""; 0]);
    let final_first = |on_final: &str, rule: &str| {
        looped(json!({"x": managed("flat", json!({"on_final": {"a": on_final},
            "complete_when": [{"when": {"_": "a"}, "target": rule}]}))}))
    };
    assert_eq!(
        paths(&final_first("x", "out"), &[flat()]),
        ["$.sub_machines.x"],
        "R8: `on_final` first"
    );
    assert_eq!(paths(&final_first("out", "x"), &[flat()]), [""; 0]);
}

#[test]
fn m7_only_what_is_certain_is_a_fault() {
    let at_start = |child: &str| managed(child, json!({"on_final": {"a": "x"}}));
    let mut starting = flat();
    starting["sub_machines"] = json!({"a": managed("leaf", json!({"on_final": {"on": "b"}}))});
    assert_eq!(
        paths(&looped(json!({"x": at_start("flat")})), &[starting, leaf("leaf")]),
        [""; 0],
        "the child's own child may move it on first"
    );
    let mut unreachable = looped(json!({"x": at_start("flat")}));
    unreachable["transitions"][0]["to"] = json!("out");
    unreachable["transitions"].as_array_mut().unwrap().truncate(1);
    assert_eq!(paths(&unreachable, &[flat()]), [""; 0], "nothing leads to `x`");
    let joined = |from: &str| {
        json!({"machine_id": "parent", "regions": [
                {"id": "r", "states": ["start", "x", "out"], "initial_state": "start",
                    "sub_machines": {"x": at_start("flat")}},
                {"id": "s", "states": ["s"], "initial_state": "s"}],
            "transitions": [{"region": "r", "from": "start", "to": "x", "on": "go"}],
            "joins": [{"when": {"r": from, "s": "s"}, "target_region": "r", "target_state": "out"}]})
    };
    assert_eq!(paths(&joined("x"), &[flat()]), [""; 0], "the join takes it out");
    assert_eq!(
        paths(&joined("start"), &[flat()]),
        ["$.regions[0].sub_machines.x"],
        "it waits for another state"
    );
}

#[test]
fn s2_196_an_end_that_no_rule_covers_is_named() {
    let seeds = rules(&[
        json!({"case": "returned", "deadline": "closed"}),
        json!({"case": "kept", "deadline": "closed"}),
    ]);
    for (definition, child) in both(&parent(managed("return_case", seeds)))
        .into_iter()
        .zip(both(&return_case()))
    {
        assert_eq!(
            uncovered(&definition, &[child]),
            [(
                "$.sub_machines.work.complete_when".to_owned(),
                "a child of machine `return_case` can come to its end at `case=lost, deadline=closed`, and nothing here \
                 completes it there"
                    .to_owned()
            )]
        );
    }
    let covered = rules(&[
        json!({"case": "returned", "deadline": "closed"}),
        json!({"case": "kept", "deadline": "closed"}),
        json!({"case": "lost", "deadline": "closed"}),
    ]);
    assert_eq!(
        uncovered(&parent(managed("return_case", covered)), &[return_case()]),
        []
    );
}

#[test]
fn s2_196_of_a_flat_child() {
    let on_final = |states: Value| parent(managed("flat", json!({ "on_final": states })));
    assert_eq!(
        uncovered(&on_final(json!({"b": "done", "c": "off"})), &[flat()]),
        []
    );
    let found = uncovered(&on_final(json!({"b": "done"})), &[flat()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "$.sub_machines.work.on_final");
    assert!(found[0].1.contains("at `c`,"), "{}", found[0].1);
    let together = parent(managed(
        "flat",
        json!({"on_final": {"b": "done"}, "complete_when": [{"when": {"_": "c"}, "target": "off"}]}),
    ));
    assert_eq!(uncovered(&together, &[flat()]), [], "R8: both count");
    assert_eq!(
        uncovered(&parent(managed("flat", json!({}))), &[flat()]),
        [],
        "it is there to be cancelled"
    );
    let legacy = parent(json!({"machine_id": "flat", "on_final": {"b": "done"}}));
    assert_eq!(uncovered(&legacy, &[flat()]), []);
}

#[test]
fn s2_196_only_what_can_be_reached_counts() {
    // A child that is complete takes no further event.
    let mut child = flat();
    child["transitions"][1] = json!({"from": "b", "to": "c", "on": "late"});
    let sub = || managed("flat", json!({"on_final": {"b": "done"}}));
    assert_eq!(uncovered(&parent(sub()), &[child]), []);
    // No values pass this guard.
    for guard in [
        json!({"any": []}),
        json!({"all": [{"field": "n", "op": "eq", "value": 1}, {"field": "n", "op": "eq", "value": 2}]}),
        json!({"all": [{"field": "n", "op": "gt", "value": 5}, {"field": "n", "op": "lt", "value": 5}]}),
    ] {
        let mut child = flat();
        child["transitions"][1]["guard"] = guard.clone();
        assert_eq!(uncovered(&parent(sub()), &[child]), [], "{guard}");
    }
    // Every way to fail is tried before.
    let over = json!({"field": "n", "op": "gt", "value": 5});
    let guarded = |first: &Value, second: &Value| {
        let mut child = flat();
        child["transitions"] = json!([{"from": "a", "to": "b", "on": "end", "guard": first},
            {"from": "a", "to": "c", "on": "end", "guard": second}]);
        child
    };
    assert_eq!(uncovered(&parent(sub()), &[guarded(&over, &over)]), []);
    for second in [
        Value::Null,
        json!({"field": "n", "op": "lte", "value": 5}),
        json!({"field": "n", "op": "gt", "value": 4}),
        json!({"field": "other", "op": "contains", "value": "x"}),
    ] {
        let found = uncovered(&parent(sub()), &[guarded(&over, &second)]);
        assert_eq!(found.len(), 1, "{second}");
    }
}

#[test]
fn s2_196_only_what_nothing_leads_out_of_counts() {
    let sub = managed("flat", json!({"on_final": {"b": "done"}}));
    let with = |transition: Value| {
        let mut child = flat();
        child["transitions"].as_array_mut().unwrap().push(transition);
        uncovered(&parent(sub.clone()), &[child]).len()
    };
    assert_eq!(with(json!({"from": "c", "to": "a", "on": "retry"})), 0);
    assert_eq!(
        with(json!({"from": "c", "to": "b", "on": "$timeout", "guard": {"after_ms": 5}})),
        0
    );
    assert_eq!(
        with(json!({"from": "c", "to": "c", "on": "note"})),
        1,
        "it comes back to where it is"
    );
    assert_eq!(
        with(json!({"from": "c", "to": "a", "on": "retry", "guard": {"any": []}})),
        1,
        "it is never taken"
    );
    let mut compound = flat();
    compound["sub_machines"] = json!({"c": {"machine_id": "leaf", "on_final": {"on": "b"}}});
    assert_eq!(
        uncovered(&parent(sub), &[compound]),
        [],
        "a child of its own leads on"
    );
}

#[test]
fn s2_196_a_completion_of_a_child_of_its_own_leads_to_an_end() {
    let mut child = flat();
    child["transitions"] = json!([{"from": "a", "to": "b", "on": "end"}]);
    child["sub_machines"] = json!({"a": managed("leaf", json!({"on_final": {"on": "c"}}))});
    let found = uncovered(
        &parent(managed("flat", json!({"on_final": {"b": "done"}}))),
        &[child],
    );
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("`c`"));
}

#[test]
fn s2_196_joins_come_to_rest_first() {
    // Where the case is lost, a join closes the deadline, and another says that both are over.
    let child = |joins: Value| {
        let mut child = return_case();
        child["transitions"].as_array_mut().unwrap().truncate(3);
        child["joins"] = joins;
        child
    };
    let close = json!({"when": {"case": "lost"}, "target_region": "deadline", "target_state": "closed"});
    let sub = |case: &str| {
        managed(
            "return_case",
            rules(&[
                json!({"case": "returned", "deadline": "open"}),
                json!({"case": "kept", "deadline": "open"}),
                json!({"case": "lost", "deadline": case}),
            ]),
        )
    };
    for contract in ["statewright.v1", SEED] {
        let check = |sub: Value, child: Value| {
            let definition = all(&[parent(sub)], contract).remove(0);
            uncovered(&definition, &all(&[child], contract))
        };
        assert_eq!(check(sub("closed"), child(json!([close]))), []);
        let found = check(sub("open"), child(json!([close])));
        assert_eq!(found.len(), 1, "it is never at rest where the rule looks");
        assert!(found[0].1.contains("`case=lost, deadline=closed`"));
        assert_eq!(check(sub("open"), child(json!([]))), []);
    }
}

#[test]
fn s2_196_broadcasts_move_every_region_at_once() {
    let child = |broadcast: bool| {
        let mut child = json!({"machine_id": "pair", "regions": [
                {"id": "l", "states": ["l1", "l2"], "initial_state": "l1"},
                {"id": "r", "states": ["r1", "r2"], "initial_state": "r1"}],
            "transitions": [
                {"region": "l", "from": "l1", "to": "l2", "on": "go"},
                {"region": "r", "from": "r1", "to": "r2", "on": "go"}]});
        if broadcast {
            child["broadcast"] = json!(["go"]);
        }
        child
    };
    // Complete as soon as one moves alone: with a broadcast both do, past that.
    let sub = managed("pair", rules(&[json!({"l": "l2", "r": "r1"})]));
    assert_eq!(uncovered(&parent(sub.clone()), &[child(false)]), []);
    let found = uncovered(&parent(sub), &[child(true)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("`l=l2, r=r2`"));
}

#[test]
fn s2_195_a_child_of_the_seed_that_starts_at_its_end_is_never_complete() {
    let definition = parent(managed("leaf", json!({"on_final": {"on": "done"}})));
    let found = uncovered(&in_seed(definition.clone()), &[in_seed(leaf("leaf"))]);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].1.contains("stays where it starts, at `on`"),
        "{}",
        found[0].1
    );
    assert_eq!(uncovered(&definition, &[leaf("leaf")]), [], "M7");
    // One that can move on is complete where it comes back, and not where it goes.
    let definition = parent(managed("flat", json!({"on_final": {"a": "done", "b": "done"}})));
    let found = uncovered(&in_seed(definition.clone()), &[in_seed(flat())]);
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("come to its end at `c`,"), "{}", found[0].1);
    assert_eq!(uncovered(&definition, &[flat()]), [], "M7");
}

#[test]
fn s2_196_the_search_is_bounded() {
    // 5^8 configurations; all of them lead to the one that the rule names.
    let regions: Vec<Value> = (0..8)
        .map(|region| json!({"id": format!("r{region}"), "states": ["a", "b", "c", "d", "e"], "initial_state": "a"}))
        .collect();
    let transitions: Vec<Value> = (0..8)
        .flat_map(|region| {
            [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")].map(|(from, to)| {
                json!({"region": format!("r{region}"), "from": from, "to": to, "on": format!("go{region}")})
            })
        })
        .collect();
    let child = json!({"machine_id": "large", "regions": regions, "transitions": transitions});
    let end = |state: &str| {
        let when: serde_json::Map<String, Value> = (0..8)
            .map(|region| (format!("r{region}"), state.into()))
            .collect();
        managed("large", rules(&[Value::from(when)]))
    };
    assert_eq!(uncovered(&parent(end("e")), std::slice::from_ref(&child)), []);
    assert_eq!(
        uncovered(&parent(end("d")), &[child]),
        [],
        "its end is beyond what is looked at"
    );
}

#[test]
fn what_is_listed_is_bounded() {
    let states: Vec<String> = (0..1000).map(|state| format!("s{state:03}")).collect();
    let subs: serde_json::Map<String, Value> = states
        .iter()
        .map(|state| {
            (
                state.clone(),
                managed("flat", json!({"on_final": {"b": state, "nothing": state}})),
            )
        })
        .collect();
    let mut definition = json!({"machine_id": "m", "states": states, "initial_state": "s000", "transitions": [],
        "sub_machines": subs});
    assert_eq!(faults(&definition, &[flat()]).len(), 201);
    for sub in definition["sub_machines"].as_object_mut().unwrap().values_mut() {
        sub["on_final"].as_object_mut().unwrap().remove("nothing");
    }
    let valid = checked(&definition, &[flat()]).unwrap();
    assert_eq!(valid.warnings.len(), 200);
}

fn warned(definition: &Value) -> Vec<(String, String)> {
    let warnings = valid(definition).warnings.into_iter();
    warnings
        .filter(|warning| warning.kind == WarningKind::RefusedReentry)
        .map(|warning| (warning.path, warning.message))
        .collect()
}

#[test]
fn s2_178_a_managed_state_that_can_be_entered_again() {
    let mut again = parent(managed("flat", json!({"on_final": {"b": "done"}})));
    assert_eq!(warned(&again), []);
    again["transitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"from": "off", "to": "work", "on": "retry"}));
    let found = warned(&again);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "$.sub_machines.work");
    assert!(found[0].1.contains("`\"reentry\": \"fresh\"`"), "{}", found[0].1);
    let seed = warned(&in_seed(again.clone()));
    assert_eq!(seed.len(), 1);
    assert!(seed[0].1.contains("`statewright.v1`"), "{}", seed[0].1);
    for reentry in ["refuse", "fresh", "resume"] {
        let mut said = again.clone();
        said["sub_machines"]["work"]["reentry"] = json!(reentry);
        assert_eq!(warned(&said), [], "{reentry}: its author knows");
    }
    let mut legacy = again;
    legacy["sub_machines"]["work"] = json!({"machine_id": "flat", "on_final": {"b": "done"}});
    assert_eq!(warned(&legacy), []);
}

#[test]
fn s2_178_by_a_self_transition_or_by_its_own_completion() {
    let mut itself = parent(managed("flat", json!({"on_final": {"b": "done"}})));
    itself["transitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"from": "work", "to": "work", "on": "again"}));
    assert_eq!(warned(&itself).len(), 1);
    let completes = parent(managed("flat", json!({"on_final": {"b": "work"}})));
    assert_eq!(warned(&completes).len(), 1);
    let mut round = parent(managed("flat", json!({"on_final": {"b": "start"}})));
    assert_eq!(warned(&round).len(), 1, "by way of `start`");
    round["transitions"][0]["guard"] = json!({"any": []});
    assert_eq!(warned(&round), [], "nothing leads to `work`");
    itself["transitions"][0]["to"] = json!("off");
    assert_eq!(warned(&itself), [], "nor here");
}

#[test]
fn m9_the_seed_has_no_reentry() {
    for sub in [
        managed("flat", json!({"reentry": "fresh"})),
        json!({"machine_id": "flat", "reentry": "refuse"}),
    ] {
        let found = Definition::read(&in_seed(parent(sub))).unwrap_err();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "$.sub_machines.work.reentry");
        assert!(found[0].expected.contains("`statewright.v1`"));
    }
    assert!(Definition::read(&parent(managed("flat", json!({"reentry": "fresh"})))).is_ok());
}

//! Cases of trees that the reference model and the core once saw differently, each with the rule that decides.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;
mod generate;
mod harness;
mod model;

use std::sync::Arc;

use common::{NOW, event};
use generate::{Happening, Way};
use harness::{Case, check};
use serde_json::{Map, Value, json};
use statewright_core::cascade::create;
use statewright_core::commit::{Commit, Outcome};
use statewright_core::entity::Entity;
use statewright_core::forward::{Delivered, deliver};
use statewright_core::ids::EntityId;
use statewright_core::machine::Machine;
use statewright_core::step::apply;
use statewright_core::tree::{EntityIx, Library, Status, Tree};

const SEED: &str = common::SEED;

/// The tree of a new entity of the first machine.
fn tree(definitions: &[Value]) -> Tree {
    let machines: Vec<Arc<Machine>> = definitions.iter().map(common::machine).collect();
    let root = Arc::clone(&machines[0]);
    let library: Arc<Library> = Arc::new(machines.into_iter().collect());
    let entity = Entity::create(root, EntityId::new("e-1").unwrap(), Map::new(), NOW);
    let mut tree = Tree::new(entity, Some(library));
    create(&mut tree, NOW).unwrap();
    tree
}

/// Sends an event without a target.
fn send(tree: &mut Tree, to: usize, event_type: &str) -> Delivered {
    let event = event(event_type, json!({}));
    deliver(tree, EntityIx::at(to), &event, &|_| None, NOW)
}

/// Sends one that must be applied.
fn sent(tree: &mut Tree, to: usize, event_type: &str) -> Commit {
    match send(tree, to, event_type).outcome {
        Outcome::Commit(commit) => *commit,
        other => panic!("{event_type}: {other:?}"),
    }
}

fn states(tree: &Tree, ix: usize) -> Vec<String> {
    let entity = tree.entity(EntityIx::at(ix));
    let configuration = entity.configuration();
    let names = configuration
        .iter()
        .map(|state| entity.machine().state(*state).name.to_string());
    names.collect()
}

fn code(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Refusal(refusal) => refusal.code().name(),
        other => panic!("{other:?}"),
    }
}

/// Lets the events happen to the core and the reference model, each to an entity by its number.
fn agree(definitions: &[Value], events: &[(usize, &'static str)]) {
    for reload in [false, true] {
        let mut happenings = Vec::new();
        for (to, event_type) in events {
            happenings.push(Happening::Event {
                to: *to,
                way: Way::Plain { up: 0 },
                event_type,
                likely: 0,
                params: Map::new(),
                timestamp: None,
                expected_version: None,
            });
            if reload {
                happenings.push(Happening::Reload { all: true });
            }
        }
        check(&Case {
            definitions: definitions.to_vec(),
            foreign: Vec::new(),
            context: Map::new(),
            happenings,
        });
    }
}

#[test]
fn i6_r9_a_recovery_that_ends_the_entity_leaves_the_event_refused() {
    let definitions = [
        json!({
            "machine_id": "m0", "states": ["a", "b"], "initial_state": "a",
            "transitions": [{"from": "a", "to": "b", "on": "leave"}, {"from": "b", "to": "a", "on": "back"}],
            "sub_machines": {"a": {"machine_id": "m1", "lifecycle": "managed", "reentry": "resume",
                                   "on_final": {"done": "b"}}}
        }),
        json!({
            "machine_id": "m1", "states": ["i", "s", "done"], "initial_state": "i",
            "transitions": [
                {"from": "i", "to": "s", "on": "enter"}, {"from": "s", "to": "i", "on": "exit"},
                {"from": "done", "to": "i", "on": "x"}
            ],
            "sub_machines": {"s": {"machine_id": "m2", "on_final": {"f": "done"}}}
        }),
        json!({
            "machine_id": "m2", "states": ["o", "f"], "initial_state": "o",
            "transitions": [{"from": "o", "to": "f", "on": "fin"}]
        }),
    ];
    let events = [
        (1, "enter"),
        (1, "nobody"),
        (1, "exit"),
        // Its parent is elsewhere: this moves nobody on.
        (2, "fin"),
        (1, "enter"),
        (0, "leave"),
        (0, "back"),
    ];
    let mut all = events.to_vec();
    all.push((1, "x"));
    agree(&definitions, &all);

    let mut tree = tree(&definitions);
    for (to, event_type) in events {
        send(&mut tree, to, event_type);
    }
    assert_eq!(
        (states(&tree, 0), states(&tree, 1), states(&tree, 2)),
        (vec!["a".into()], vec!["s".into()], vec!["f".into()])
    );
    let done = send(&mut tree, 1, "x");
    assert_eq!(done.before.len(), 1, "the recovery stands");
    assert_eq!(code(&done.outcome), "INSTANCE_NOT_ACTIVE");
    assert_eq!(
        (states(&tree, 0), states(&tree, 1)),
        (vec!["b".into()], vec!["done".into()])
    );
    assert_eq!(tree.place(EntityIx::at(1)).unwrap().status, Status::Completed);
}

#[test]
fn s2_168_the_seed_names_no_child_for_a_replay_that_nobody_handles() {
    let definitions = [
        json!({
            "machine_id": "m0", "contract": SEED, "transitions": [{"region": "r0", "from": "s0", "to": "s1", "on": "go"}],
            "regions": [{"id": "r0", "states": ["s0", "s1"], "initial_state": "s0",
                         "sub_machines": {"s1": {"machine_id": "m1"}}}]
        }),
        json!({
            "machine_id": "m1", "contract": SEED, "states": ["s0"], "initial_state": "s0",
            "transitions": [{"from": "s0", "to": "s0", "on": "sort"}]
        }),
    ];
    let mut tree = tree(&definitions);
    sent(&mut tree, 0, "go");
    let mut sort = event("sort", json!({}));
    sort.timestamp = Some(1);
    let first = deliver(&mut tree, EntityIx::ROOT, &sort, &|_| None, NOW);
    assert!(first.child.is_some());
    let params = Arc::clone(&sort.params);
    let child = EntityIx::at(1);
    let seen = |ix: EntityIx| (ix == child).then(|| Arc::clone(&params));
    let second = deliver(&mut tree, EntityIx::ROOT, &sort, &seen, NOW);
    assert!(matches!(second.outcome, Outcome::NoTransition));
    assert_eq!(second.child, None);
}

#[test]
fn r11_a_cancel_names_the_first_row_of_the_step_that_brought_it() {
    let definitions = [
        json!({
            "machine_id": "m0", "states": ["a", "b"], "initial_state": "a", "transitions": [],
            "sub_machines": {"a": {"machine_id": "m1", "lifecycle": "managed",
                                   "complete_when": [{"when": {"r0": "s1", "r1": "s4"}, "target": "b"}]}}
        }),
        json!({
            "machine_id": "m1",
            "regions": [
                {"id": "r0", "states": ["s0", "s1"], "initial_state": "s0"},
                {"id": "r1", "states": ["s3", "s4"], "initial_state": "s3",
                 "sub_machines": {"s4": {"machine_id": "m2", "lifecycle": "managed"}}}
            ],
            "transitions": [{"region": "r1", "from": "s3", "to": "s4", "on": "go"}],
            "joins": [{"when": {"r1": "s4"}, "target_region": "r0", "target_state": "s1"}]
        }),
        json!({"machine_id": "m2", "states": ["o"], "initial_state": "o", "transitions": []}),
    ];
    agree(&definitions, &[(1, "go")]);
    let mut tree = tree(&definitions);
    let commit = sent(&mut tree, 1, "go");
    let kinds: Vec<&str> = commit
        .rows
        .iter()
        .map(statewright_core::commit::Row::event_type)
        .collect();
    assert_eq!(kinds, ["go", "$join", "$sub_cancel", "$sub_complete"]);
    let by = &commit.rows[2].cause.to_json(&tree)["by"];
    assert_eq!(*by, commit.rows[0].key.to_string());
}

#[test]
fn r9_in_the_seed_only_who_forwarded_is_moved_on() {
    let definitions = [
        json!({
            "machine_id": "m0", "contract": SEED, "states": ["p", "s", "z"], "initial_state": "p",
            "transitions": [{"from": "p", "to": "s", "on": "go"}],
            "sub_machines": {"s": {"machine_id": "m1", "on_final": {"q": "z"}}}
        }),
        json!({
            "machine_id": "m1", "contract": SEED, "states": ["o", "c", "q"], "initial_state": "o",
            "transitions": [{"from": "o", "to": "c", "on": "step"}],
            "sub_machines": {"c": {"machine_id": "m2", "lifecycle": "managed", "on_final": {"done": "q"}}}
        }),
        json!({
            "machine_id": "m2", "contract": SEED, "states": ["i", "s", "done"], "initial_state": "i",
            "transitions": [{"from": "i", "to": "s", "on": "enter"}],
            "sub_machines": {"s": {"machine_id": "m3", "on_final": {"f": "done"}}}
        }),
        json!({
            "machine_id": "m3", "contract": SEED, "states": ["o", "f"], "initial_state": "o",
            "transitions": [{"from": "o", "to": "f", "on": "fin"}]
        }),
    ];
    let events = [(0, "go"), (0, "step"), (2, "enter"), (2, "fin")];
    agree(&definitions, &events);
    let mut tree = tree(&definitions);
    for (to, event_type) in events {
        sent(&mut tree, to, event_type);
    }
    assert_eq!(states(&tree, 1), ["q"], "the managed child completed");
    assert_eq!(states(&tree, 0), ["s"], "it was not forwarded to by the root");
}

#[test]
fn m9_a_child_that_was_cancelled_for_good_is_not_replaced() {
    let root = |reentry: &str| {
        json!({
            "machine_id": "m0", "states": ["a", "b"], "initial_state": "a",
            "transitions": [{"from": "a", "to": "b", "on": "leave"}, {"from": "b", "to": "a", "on": "back"}],
            "sub_machines": {"a": {"machine_id": "m1", "lifecycle": "managed", "reentry": reentry}}
        })
    };
    let child = json!({"machine_id": "m1", "states": ["o"], "initial_state": "o", "transitions": []});
    let mut old = tree(&[root("refuse"), child.clone()]);
    sent(&mut old, 0, "leave");
    // The definition changes under it.
    let mut new = tree(&[root("resume"), child]);
    let machine = Arc::clone(new.root().machine());
    sent(&mut new, 0, "leave");
    let library: Arc<Library> = Arc::new(
        [
            machine,
            common::machine(&json!({
                "machine_id": "m1", "states": ["o"], "initial_state": "o", "transitions": []
            })),
        ]
        .into_iter()
        .collect(),
    );
    let mut changed = Tree::new(new.root().clone(), Some(library));
    let ended = EntityIx::at(1);
    changed.add(old.entity(ended).clone(), old.place(ended).unwrap().clone());
    let back = event("back", json!({}));
    let outcome = apply(&mut changed, EntityIx::ROOT, &back, None, NOW);
    assert_eq!(code(&outcome), "INSTANCE_CONFLICT");
}

#[test]
fn s2_166_a_row_of_the_same_commit_proves_nothing_when_it_is_the_earlier() {
    let definitions = [
        json!({
            "machine_id": "m0", "states": ["s0", "s1"], "initial_state": "s0",
            "transitions": [{"from": "s0", "to": "s1", "on": "go"}],
            "sub_machines": {"s1": {"machine_id": "m1", "on_final": {"f": "s1"}}}
        }),
        json!({
            "machine_id": "m1", "states": ["o", "f"], "initial_state": "o",
            "transitions": [{"from": "o", "to": "f", "on": "stop"}]
        }),
    ];
    let events = [(0, "go"), (0, "stop"), (0, "again")];
    agree(&definitions, &events);
    let mut tree = tree(&definitions);
    sent(&mut tree, 0, "go");
    sent(&mut tree, 0, "stop");
    let done = send(&mut tree, 0, "again");
    assert!(done.before.is_empty());
    assert_eq!(code(&done.outcome), "UNCORRELATED_CHILD_FINAL");
}

#[test]
fn s2_166_a_legacy_child_that_is_made_final_proves_nothing() {
    for contract in ["statewright.v1", SEED] {
        let definitions = [
            json!({
                "machine_id": "m0", "contract": contract, "states": ["s0", "s1"], "initial_state": "s0",
                "transitions": [{"from": "s0", "to": "s1", "on": "go"}],
                "sub_machines": {"s1": {"machine_id": "m1", "on_final": {"f": "s0"}}}
            }),
            json!({
                "machine_id": "m1", "contract": contract, "states": ["f"], "initial_state": "f", "transitions": []
            }),
        ];
        agree(&definitions, &[(0, "go"), (0, "stop")]);
        let mut tree = tree(&definitions);
        sent(&mut tree, 0, "go");
        let done = send(&mut tree, 0, "stop");
        assert_eq!(code(&done.outcome), "UNCORRELATED_CHILD_FINAL");
        assert_eq!(tree.len(), 1, "an event that is refused makes nothing");
    }
}

#[test]
fn m7_a_loop_of_children_that_are_final_at_their_start_is_refused_in_little_stack() {
    let definitions = [
        json!({
            "machine_id": "m0", "states": ["i", "s"], "initial_state": "i",
            "transitions": [{"from": "i", "to": "s", "on": "go"}],
            "sub_machines": {"s": {"machine_id": "m1", "lifecycle": "managed", "reentry": "fresh",
                                   "on_final": {"f": "s"}}}
        }),
        json!({"machine_id": "m1", "states": ["f"], "initial_state": "f", "transitions": []}),
    ];
    let run = move || {
        let mut tree = tree(&definitions);
        assert_eq!(code(&send(&mut tree, 0, "go").outcome), "CASCADE_LIMIT");
        assert_eq!((tree.len(), states(&tree, 0)), (1, vec!["i".to_owned()]), "I3");
    };
    let small = std::thread::Builder::new().stack_size(256 << 10);
    small.spawn(run).unwrap().join().unwrap();
}

#[test]
fn s2_163_a_legacy_child_of_two_regions_moves_the_one_that_forwarded() {
    let region = |id: &str, first: &str, go: &str| {
        let region = json!({"id": id, "states": [first, "s"], "initial_state": first,
                            "sub_machines": {"s": {"machine_id": "m1", "on_final": {"f": first}}}});
        let transitions = [
            json!({"region": id, "from": first, "to": "s", "on": go}),
            json!({"region": id, "from": "s", "to": first, "on": format!("out-{go}")}),
        ];
        (region, transitions)
    };
    let ((r0, t0), (r1, t1)) = (region("r0", "a0", "go0"), region("r1", "a1", "go1"));
    let transitions: Vec<Value> = t0.into_iter().chain(t1).collect();
    let definitions = [
        json!({"machine_id": "m0", "regions": [r0, r1], "transitions": transitions}),
        json!({
            "machine_id": "m1", "states": ["o", "f"], "initial_state": "o",
            "transitions": [{"from": "o", "to": "f", "on": "fin"}]
        }),
    ];
    let mut tree = tree(&definitions);
    sent(&mut tree, 0, "go1");
    send(&mut tree, 0, "nobody");
    sent(&mut tree, 0, "out-go1");
    sent(&mut tree, 0, "go0");
    sent(&mut tree, 0, "fin");
    assert_eq!(tree.len(), 2);
    assert_eq!(states(&tree, 1), ["f"]);
    assert_eq!(states(&tree, 0), ["a0", "a1"]);
}

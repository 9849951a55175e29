//! One step, from a loaded entity to its commit with the context merged. The entity is loaded outside of what is timed.
#![allow(missing_docs, reason = "criterion makes the items")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may fail so"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use statewright_core::cascade::create;
use statewright_core::commit::Outcome;
use statewright_core::definition::Definition;
use statewright_core::entity::{Entity, StoredEntry};
use statewright_core::ids::{EntityId, Millis, Seq, Version};
use statewright_core::machine::Machine;
use statewright_core::step::{Event, apply};
use statewright_core::tree::{EntityIx, Library, Tree};

const NOW: Millis = Millis(1_700_000_000_000);

/// A machine, an entity as it was stored, and an event.
struct Case {
    machine: Arc<Machine>,
    states: Vec<(&'static str, &'static str)>,
    context: Value,
    event: Event,
}

impl Case {
    fn new(
        definition: &Value,
        states: &[(&'static str, &'static str)],
        context: Value,
        event_type: &str,
        params: &Value,
    ) -> Self {
        let valid = Definition::read(definition).expect("valid");
        Self {
            machine: Arc::new(Machine::compile(&valid).unwrap()),
            states: states.to_vec(),
            context,
            event: Event {
                event_type: event_type.into(),
                params: Arc::new(params.as_object().unwrap().clone()),
                timestamp: Some(1_699_999_999_000),
                expected_version: None,
            },
        }
    }

    /// The entity as the host loads it from its rows.
    fn load(&self) -> Tree {
        let stored: Vec<StoredEntry<'_>> = (1..)
            .zip(&self.states)
            .map(|(seq, (region, state))| StoredEntry {
                region,
                state,
                seq: Seq(seq),
                entered_at: NOW,
                timer: None,
                key: None,
                row: None,
            })
            .collect();
        let id = EntityId::new("order-4711").unwrap();
        let context = self.context.as_object().unwrap().clone();
        let machine = Arc::clone(&self.machine);
        let entity = Entity::restore(machine, id, Version(9), Seq(20), context, NOW, &stored);
        Tree::new(entity.unwrap(), None)
    }

    fn bench(&self, criterion: &mut Criterion, name: &str, moves: bool) {
        let outcome = apply(&mut self.load(), EntityIx::ROOT, &self.event, None, NOW);
        assert_eq!(matches!(outcome, Outcome::Commit(_)), moves, "{outcome:?}");
        criterion.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || self.load(),
                |tree| {
                    apply(
                        black_box(tree),
                        EntityIx::ROOT,
                        black_box(&self.event),
                        None,
                        black_box(NOW),
                    )
                },
                // So few that they stay in the cache, as an entity does that was just loaded.
                BatchSize::NumIterations(64),
            );
        });
    }
}

fn order() -> Value {
    json!({
        "machine_id": "order", "states": ["placed", "paid", "sent", "done", "void"], "initial_state": "placed",
        "transitions": [
            {"from": "placed", "to": "void", "on": "cancel"},
            {"from": "placed", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gte", "value": 1}},
            {"from": "paid", "to": "sent", "on": "send"},
            {"from": "sent", "to": "done", "on": "deliver"},
            {"from": "placed", "to": "void", "on": "$timeout", "guard": {"timeout_seconds": 3600}}
        ]
    })
}

fn flat(criterion: &mut Criterion) {
    let context = json!({"id": "order-4711", "customer": "c-17"});
    let params = json!({"id": "order-4711", "amount": 1200});
    Case::new(&order(), &[("_", "placed")], context, "pay", &params).bench(criterion, "flat", true);
}

fn no_match(criterion: &mut Criterion) {
    let context = json!({"id": "order-4711", "customer": "c-17"});
    let params = json!({"id": "order-4711"});
    let states = [("_", "placed")];
    Case::new(&order(), &states, context.clone(), "deliver", &params).bench(criterion, "no-match", false);
    Case::new(&order(), &states, context, "elsewhere", &params).bench(criterion, "no-match, unknown", false);
}

/// The third region is moved by a join once the other two are ready.
fn parallel(criterion: &mut Criterion) {
    let definition = json!({
        "machine_id": "case",
        "regions": [
            {"id": "payment", "states": ["pending", "captured"], "initial_state": "pending"},
            {"id": "packing", "states": ["open", "packed"], "initial_state": "open"},
            {"id": "shipping", "states": ["waiting", "ready", "gone"], "initial_state": "waiting"}
        ],
        "transitions": [
            {"region": "payment", "from": "pending", "to": "captured", "on": "pay"},
            {"region": "packing", "from": "open", "to": "packed", "on": "pack"},
            {"region": "packing", "from": "packed", "to": "open", "on": "unpack"},
            {"region": "shipping", "from": "ready", "to": "gone", "on": "send"}
        ],
        "joins": [{"when": {"payment": "captured", "packing": "packed", "shipping": "waiting"},
                   "target_region": "shipping", "target_state": "ready"}]
    });
    let states = [
        ("payment", "captured"),
        ("packing", "open"),
        ("shipping", "waiting"),
    ];
    let context = json!({"id": "case-1", "customer": "c-17"});
    let params = json!({"id": "case-1", "packer": "p-3"});
    Case::new(&definition, &states, context, "pack", &params).bench(criterion, "parallel with a join", true);
}

/// Ten candidates, of which only the last passes, each with five comparisons.
fn guards(criterion: &mut Criterion) {
    let transition = |index: u32| {
        json!({"from": "open", "to": format!("s{index}"), "on": "decide", "guard": {"all": [
            {"field": "score", "op": "gte", "value": 1},
            {"field": "country", "op": "ne", "value": "XX"},
            {"any": [{"field": "tier", "op": "eq", "value": "gold"}, {"field": "tier", "op": "eq", "value": "silver"}]},
            {"field": "tag", "op": "contains", "value": format!("{index}")}
        ]}})
    };
    let names: Vec<String> = (0..10).map(|index| format!("s{index}")).collect();
    let mut states = vec!["open".to_owned()];
    states.extend(names);
    let transitions: Vec<Value> = (0..10).map(transition).collect();
    let definition =
        json!({"machine_id": "loan", "states": states, "initial_state": "open", "transitions": transitions});
    let context = json!({"country": "DE", "tier": "silver", "id": "l-1"});
    let params = json!({"id": "l-1", "score": "700", "tag": "level 9"});
    Case::new(&definition, &[("_", "open")], context, "decide", &params).bench(
        criterion,
        "guard-heavy",
        true,
    );
}

/// A tree that was just made, and an event for one of its entities.
struct Family {
    tree: Tree,
    target: EntityIx,
    event: Event,
}

impl Family {
    /// The tree of the first machine, and an event for the entity that was made as that one in a row.
    fn new(definitions: &[Value], target: usize, event_type: &str) -> Self {
        let machines = definitions.iter().map(|definition| {
            let valid = Definition::read(definition).expect("valid");
            Arc::new(Machine::compile(&valid).unwrap())
        });
        let machines: Vec<Arc<Machine>> = machines.collect();
        let root = Arc::clone(&machines[0]);
        let library: Arc<Library> = Arc::new(machines.into_iter().collect());
        let context = json!({"id": "run-7"}).as_object().unwrap().clone();
        let entity = Entity::create(root, EntityId::new("run-7").unwrap(), context, NOW);
        let mut tree = Tree::new(entity, Some(library));
        create(&mut tree, NOW).unwrap();
        let params = json!({"id": "run-7"}).as_object().unwrap().clone();
        Self {
            tree,
            target: EntityIx::at(target),
            event: Event {
                event_type: event_type.into(),
                params: Arc::new(params),
                timestamp: Some(1_699_999_999_000),
                expected_version: None,
            },
        }
    }

    fn bench(&self, criterion: &mut Criterion, name: &str, writes: usize, rows: usize) {
        match apply(&mut self.tree.clone(), self.target, &self.event, None, NOW) {
            Outcome::Commit(commit) => {
                assert_eq!((commit.writes.len(), commit.rows.len()), (writes, rows));
            }
            other => panic!("{other:?}"),
        }
        criterion.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || self.tree.clone(),
                |tree| {
                    apply(
                        black_box(tree),
                        self.target,
                        black_box(&self.event),
                        None,
                        black_box(NOW),
                    )
                },
                BatchSize::NumIterations(64),
            );
        });
    }
}

/// The leaf at level 3 completes, and with it every level up to the root, which goes on: four entities are written, and
/// four rows.
fn cascade(criterion: &mut Criterion) {
    let level = |machine: &str, child: &str| {
        json!({
            "machine_id": machine, "states": ["open", "done"], "initial_state": "open", "transitions": [],
            "sub_machines": {"open": {"machine_id": child, "lifecycle": "managed", "on_final": {"done": "done"}}}
        })
    };
    let leaf = json!({
        "machine_id": "leaf", "states": ["open", "done"], "initial_state": "open",
        "transitions": [{"from": "open", "to": "done", "on": "finish"}]
    });
    let definitions = [
        level("root", "middle"),
        level("middle", "inner"),
        level("inner", "leaf"),
        leaf,
    ];
    Family::new(&definitions, 3, "finish").bench(criterion, "depth-3 completion cascade", 4, 4);
}

/// An event that moves one of a root's 64 regions, each with a child that it leaves alone.
fn wide(criterion: &mut Criterion) {
    let region = |index: usize| {
        json!({
            "id": format!("r{index}"), "states": [format!("busy{index}"), "idle", "left"],
            "initial_state": format!("busy{index}"),
            "sub_machines": {format!("busy{index}"): {"machine_id": "part", "lifecycle": "managed",
                                                      "on_final": {"done": "idle"}}}
        })
    };
    let regions: Vec<Value> = (0..64)
        .map(region)
        .chain([json!({
            "id": "own", "states": ["a", "b"], "initial_state": "a"
        })])
        .collect();
    let definition = |regions: Vec<Value>, transitions: Value| json!({"machine_id": "whole", "regions": regions, "transitions": transitions});
    let part = json!({
        "machine_id": "part", "states": ["open", "done"], "initial_state": "open",
        "transitions": [{"from": "open", "to": "done", "on": "finish"}]
    });
    let step = json!([{"region": "own", "from": "a", "to": "b", "on": "go"}]);
    let machines = [definition(regions.clone(), step), part.clone()];
    Family::new(&machines, 0, "go").bench(criterion, "root of 65 entities, its own region", 1, 1);
    let step = json!([{"region": "r63", "from": "busy63", "to": "left", "on": "go"}]);
    let machines = [definition(regions, step), part];
    Family::new(&machines, 0, "go").bench(criterion, "root of 65 entities, with a cancel", 2, 2);
}

criterion_group!(benches, flat, no_match, parallel, guards, cascade, wide);
criterion_main!(benches);

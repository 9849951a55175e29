//! What the tests share: machines, entities and events from JSON literals.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(unreachable_pub, reason = "the test binaries share this module")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value};
use statewright_core::definition::Definition;
use statewright_core::entity::{Entity, Params};
use statewright_core::fault::Warning;
use statewright_core::ids::{EntityId, Millis};
use statewright_core::machine::Machine;
use statewright_core::step::{self, Event};
use statewright_core::tree::{EntityIx, Tree};

pub const NOW: Millis = Millis(1_700_000_000_000);
pub const SEED: &str = "statemachine-e1e4.v1";

pub fn params(value: Value) -> Params {
    match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => panic!("no map: {other}"),
    }
}

/// The machine of a valid definition.
pub fn machine(definition: &Value) -> Arc<Machine> {
    let valid = Definition::read(definition).unwrap_or_else(|faults| panic!("{faults:#?}"));
    Arc::new(Machine::compile(&valid).unwrap())
}

pub fn warnings(definition: &Value) -> Vec<Warning> {
    Definition::read(definition)
        .unwrap_or_else(|faults| panic!("{faults:#?}"))
        .warnings
}

/// The same definition in the seed's contract.
pub fn in_seed(mut definition: Value) -> Value {
    definition["contract"] = SEED.into();
    definition
}

/// The tree of a new entity.
pub fn tree(machine: &Arc<Machine>, context: Value) -> Tree {
    let id = EntityId::new("e-1").unwrap();
    Tree::new(
        Entity::create(Arc::clone(machine), id, params(context), NOW),
        None,
    )
}

pub fn event(event_type: &str, given: Value) -> Event {
    Event {
        event_type: event_type.into(),
        params: Arc::new(params(given)),
        timestamp: None,
        expected_version: None,
    }
}

/// Sends an event that must move the entity.
pub fn send(tree: &mut Tree, event_type: &str, given: Value, now: Millis) {
    let outcome = step::apply(tree, EntityIx::ROOT, &event(event_type, given), None, now);
    assert!(
        matches!(outcome, statewright_core::commit::Outcome::Commit(_)),
        "{event_type}: {outcome:?}"
    );
}

/// The names of the states that a tree's root is in.
pub fn states(tree: &Tree) -> Vec<String> {
    let root = tree.root();
    let names = root.configuration();
    names
        .iter()
        .map(|state| root.machine().state(*state).name.to_string())
        .collect()
}

/// Compares with a golden file, or writes it where `BLESS` is set.
pub fn golden(path: &str, text: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "{path} is not current; `BLESS=1 cargo test -p statewright-core` writes it anew. Now it would be:\n{text}"
    );
}

/// Any JSON, with names that pointers have to escape.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c\"\\\\é]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c/~]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

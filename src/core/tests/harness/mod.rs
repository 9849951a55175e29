//! Trees by the crate and by the reference model side by side, and what must hold of any definition. The properties and
//! the fuzz targets drive it.
#![allow(dead_code, reason = "each binary uses its part")]
#![allow(unreachable_pub, reason = "the binaries share this module")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod compare;
mod invariants;
mod pair;
mod storage;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use statewright_core::definition::Definition;
use statewright_core::diagram;
use statewright_core::explain::explain;
use statewright_core::ids::Millis;
use statewright_core::machine::Machine;
use statewright_core::step;
use statewright_core::timeouts::catch_up;
use statewright_core::tree::EntityIx;

use crate::common::{self, NOW};
use crate::generate::Happening;
use pair::Pair;

/// Machines, and what happens to an entity of the first of them.
#[derive(Clone)]
pub struct Case {
    pub definitions: Vec<Value>,
    /// Machine and id of entities that stand in the way of children.
    pub foreign: Vec<(String, String)>,
    pub context: Map<String, Value>,
    pub happenings: Vec<Happening>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for definition in &self.definitions {
            writeln!(f, "{definition}")?;
        }
        writeln!(f, "foreign {:?} context {:?}", self.foreign, self.context)?;
        for happening in &self.happenings {
            writeln!(f, "{happening:?}")?;
        }
        Ok(())
    }
}

/// How much stack a case has: the reference model recurses as deep as a cascade goes.
const STACK: usize = 256 << 20;

/// Lets it all happen, twice: the same inputs have the same outcomes.
pub fn check(case: &Case) {
    let case = case.clone();
    let thread = std::thread::Builder::new().stack_size(STACK);
    let run = thread.spawn(move || check_here(&case)).unwrap();
    if let Err(panic) = run.join() {
        std::panic::resume_unwind(panic);
    }
}

fn check_here(case: &Case) {
    let run = || {
        let mut pair = Pair::new(case)?;
        pair.run(&case.happenings);
        Some(pair.finish())
    };
    let first = run();
    assert_eq!(first, run(), "the same inputs, the same outcomes");
}

/// A machine without children.
pub fn check_alone(definition: &Value, context: &Map<String, Value>, happenings: &[Happening]) {
    check(&Case {
        definitions: vec![definition.clone()],
        foreign: Vec::new(),
        context: context.clone(),
        happenings: happenings.to_vec(),
    });
}

/// Reads a document, and uses what is valid.
pub fn read(document: &Value) {
    let valid = match Definition::read(document) {
        Ok(valid) => valid,
        Err(faults) => {
            assert!(!faults.is_empty());
            assert!(faults.iter().all(|fault| fault.path.starts_with('$')));
            return;
        }
    };
    let machine = Arc::new(Machine::compile(&valid).unwrap());
    let written = serde_json::to_value(&valid.definition).unwrap();
    assert_eq!(
        Definition::read(&written).unwrap(),
        valid,
        "written back without loss"
    );
    let mut tree = common::tree(&machine, json!({}));
    catch_up(&mut tree, Millis(i64::MAX), 3);
    for event_type in machine.event_types() {
        let event = common::event(&event_type, json!({}));
        explain(&tree, EntityIx::ROOT, &event, false, NOW);
        step::apply(&mut tree, EntityIx::ROOT, &event, None, NOW);
    }
    let configuration = tree.root().configuration();
    diagram::mermaid(&machine, Some(&configuration));
    diagram::dot(&machine, Some(&configuration));
}

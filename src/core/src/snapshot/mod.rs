//! An entity with all that lives below it as plain data, and what can be done with that without a database.
//!
//! A [`Snapshot`] is what the service shows of an entity with its tree, so that a live entity read from a service is one.
//! [`Blueprint`] is a machine with the machines of its children; it brings a snapshot to life as a [`Living`], which
//! takes events and is shown again.
//!
//! ```
//! use serde_json::json;
//! use statewright_core::ids::Millis;
//! use statewright_core::snapshot::{Blueprint, Snapshot};
//!
//! # fn main() -> Result<(), statewright_core::error::Error> {
//! let blueprint = Blueprint::compile(&[json!({
//!     "machine_id": "order", "states": ["placed", "paid"], "initial_state": "placed",
//!     "transitions": [{"from": "placed", "to": "paid", "on": "pay"}]
//! })])?;
//! let (order, _) = blueprint.create("o-1", Default::default(), Millis(0))?;
//! let kept = serde_json::to_value(order.snapshot()).unwrap_or_default();
//!
//! let mut order = blueprint.restore(&Snapshot::read(&kept)?)?;
//! let sent = order.send(&json!({"event_type": "pay"}), &[], Millis(60_000))?;
//! assert_eq!(sent.answer.and_then(|answer| answer.transition).as_deref(), Some("placed → paid"));
//! # Ok(())
//! # }
//! ```

mod history;
mod living;
mod past;
mod read;
mod told;
mod view;

use std::sync::Arc;

use serde_json::Value;

use crate::cascade;
use crate::definition::shape::shortened;
use crate::definition::{Definition, Valid, check_size};
use crate::entity::{Configuration, Entity, Params};
use crate::error::Error;
use crate::family::{Family, check};
use crate::fault::{Fault, Warning};
use crate::ids::{EntityId, MachineId, Millis};
use crate::machine::Machine;
use crate::request::{MAX_CONTEXT_BYTES, check_given, entity_id, json_bytes};
use crate::sorted::SortedMap;
use crate::tree::{Library, Tree};
use crate::{diagram, request};

pub use history::SeenRow;
pub use living::{ADVANCE_LIMIT, Advanced, Decided, DueView, Living, NO_TENANT, OutcomeName, Sent};
pub(crate) use past::{Cancelling, Cancels, Past};
pub(crate) use read::told_name;
pub use told::{CommitView, EffectView, Kept, RowView, VersionView};
pub(crate) use view::entity_view;
pub use view::{EntryOfParent, EntryView, InstanceView, LegacyView, Snapshot};

/// A machine, and the machines that its children are made of.
#[derive(Debug, Clone)]
pub struct Blueprint {
    machine: Arc<Machine>,
    library: Arc<Library>,
    warnings: Vec<Warning>,
}

impl Blueprint {
    /// Reads and compiles definitions: the machine itself, and then those that its children can be made of. What a
    /// definition names and is not given is missed only when a child of it is to start (S2.49).
    ///
    /// # Errors
    /// A definition is too large, or has faults. Their paths begin with `$` in the first, and with `machines[0]` in the one after it.
    pub fn compile(documents: &[Value]) -> Result<Self, Error> {
        let mut family: SortedMap<String, Valid> = SortedMap::new();
        let mut order = Vec::new();
        for (place, document) in documents.iter().enumerate() {
            check_size(document)?;
            let valid = Definition::read(document).map_err(|faults| invalid(place, faults))?;
            let id = valid.definition.machine_id.clone();
            if family.contains_key(&id) {
                return Err(Error::invalid(
                    told_at(place, "$.machine_id"),
                    format!("`{}` is given twice", shortened(&id)),
                    "each machine once",
                ));
            }
            order.push(id.clone());
            family.insert(id, valid);
        }
        let mut machines = Vec::new();
        let mut warnings = Vec::new();
        for (place, id) in order.iter().enumerate() {
            let Some(valid) = family.get(id) else { continue };
            let mut others = Family::default();
            for other in family.values().filter(|other| other.definition.machine_id != *id) {
                others.add_child(other.clone());
            }
            let checked = check(valid.clone(), &others).map_err(|faults| invalid(place, faults))?;
            let compiled = Machine::compile(&checked)
                .map_err(|error| Error::invalid(told_at(place, "$"), error.to_string(), "what it defines"))?;
            machines.push(Arc::new(compiled));
            let told = checked.warnings.into_iter().map(|warning| Warning {
                path: told_at(place, &warning.path),
                ..warning
            });
            warnings.extend(told);
        }
        let Some(machine) = machines.first().cloned() else {
            return Err(Error::invalid("$", "there is no definition", "a definition"));
        };
        Ok(Self {
            machine,
            library: Arc::new(machines.into_iter().collect()),
            warnings,
        })
    }

    /// A machine of a library.
    pub fn of(machine: Arc<Machine>, library: Arc<Library>) -> Self {
        Self {
            machine,
            library,
            warnings: Vec::new(),
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// What deserves a second look; paths as those of faults.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// A new entity in the initial state, with the children that it starts with (S2.236), and the commit that makes it.
    ///
    /// # Errors
    /// The id is none, the context is too large, or a child cannot be made.
    pub fn create(&self, id: &str, context: Params, now: Millis) -> Result<(Living, Kept), Error> {
        self.create_beside(id, context, Vec::new(), now)
    }

    /// The same, beside entities that stand where a child may be made.
    pub(crate) fn create_beside(
        &self,
        id: &str,
        context: Params,
        others: Vec<(MachineId, EntityId)>,
        now: Millis,
    ) -> Result<(Living, Kept), Error> {
        let id = entity_id("$.entity_id", id)?;
        check_given("$.entity_id", &id)?;
        let bytes = json_bytes(&context);
        if bytes > MAX_CONTEXT_BYTES {
            return Err(Error::TooLarge {
                what: "the context",
                bytes,
                most: MAX_CONTEXT_BYTES,
            });
        }
        let entity = Entity::create(Arc::clone(&self.machine), id, context, now);
        let mut living = Living::new(Tree::new(entity, Some(Arc::clone(&self.library))), Some(now));
        living.tree.occupy(others);
        let commit = cascade::create(&mut living.tree, now)?;
        let kept = living.keep(*commit, true, now);
        Ok((living, kept))
    }

    /// Brings a snapshot of this machine to life.
    ///
    /// # Errors
    /// It is of another machine, or it is no entity of this one: it fails closed (M8).
    pub fn restore(&self, snapshot: &Snapshot) -> Result<Living, Error> {
        self.restore_after(snapshot, &|_| None)
    }

    /// The same, with what the history of the tree tells of it.
    pub(crate) fn restore_after(&self, snapshot: &Snapshot, past: Past<'_>) -> Result<Living, Error> {
        if snapshot.machine_id != self.machine.id().as_str() {
            return Err(Error::invalid(
                "$.machine_id",
                format!("the snapshot is of machine `{}`", shortened(&snapshot.machine_id)),
                format!("`{}`", self.machine.id()),
            ));
        }
        read::restore(snapshot, &self.machine, &self.library, past)
    }

    /// The machine as `mermaid` or `dot` text, with the current states of an entity marked where one is given.
    ///
    /// # Errors
    /// The format is unknown.
    pub fn diagram(&self, format: Option<&str>, current: Option<&Configuration>) -> Result<String, Error> {
        request::diagram_format(format).map(|dot| {
            let draw = if dot { diagram::dot } else { diagram::mermaid };
            draw(&self.machine, current)
        })
    }
}

/// What a validation found.
///
/// # Errors
/// Never: faults are what is answered.
pub fn validate(document: &Value) -> (Vec<Fault>, Vec<Warning>) {
    if let Err(error) = check_size(document) {
        let fault = Fault {
            path: "$".to_owned(),
            problem: error.to_string(),
            expected: "a smaller one: its actions' templates, and texts that nothing reads, count as well"
                .to_owned(),
        };
        return (vec![fault], Vec::new());
    }
    match Definition::read(document).and_then(|valid| check(valid, &Family::default())) {
        Ok(valid) => (Vec::new(), valid.warnings),
        Err(faults) => (faults, Vec::new()),
    }
}

/// Where a path of a definition is, told to who gave several.
fn told_at(place: usize, path: &str) -> String {
    match place.checked_sub(1) {
        None => path.to_owned(),
        Some(other) => format!("machines[{other}]{}", path.strip_prefix('$').unwrap_or(path)),
    }
}

fn invalid(place: usize, faults: Vec<Fault>) -> Error {
    let told = faults.into_iter().map(|fault| Fault {
        path: told_at(place, &fault.path),
        ..fault
    });
    Error::InvalidDefinition(told.collect())
}

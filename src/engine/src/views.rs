//! How entities, machines and history rows are shown (S2.255, S2.256).

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use statewright_core::answer::StateView;
use statewright_core::entity::{Params, Timer};
use statewright_core::fault::Warning;
use statewright_core::identity::IdentityKey;
use statewright_core::ids::{Millis, Revision, Seq, Version};
use statewright_core::sorted::{Gather, SortedMap};
use statewright_core::tree::Status;

use crate::error::Error;
use crate::load::EntityName;
pub use crate::stored::Owner;
use crate::stored::{Instance, Stored};

/// An entity (S2.255).
#[derive(Debug, Clone, Serialize)]
pub struct EntityView {
    /// Its machine.
    pub machine_id: String,
    /// Its tenant.
    pub tenant_id: String,
    /// Its id.
    pub entity_id: String,
    /// Its state: a string, or an object of regions.
    pub current_state: StateView,
    /// Its context.
    pub context: Params,
    /// How many commits wrote it.
    pub state_version: Version,
    /// The revision that it runs by.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last written.
    pub updated_at: Millis,
    /// The current entry of each region (S2.98).
    pub region_entries: SortedMap<Arc<str>, EntryView>,
    /// Its place in its tree, where it is a managed child (S2.208).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceView>,
}

/// The place of a managed child in its tree (S2.208).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstanceView {
    /// Whether it lives.
    pub status: Status,
    /// Its level; a root is at 0.
    pub depth: u32,
    /// Its ancestors, the root first, each with the entry that leads on to it (S2.209).
    pub path: Vec<Owner>,
    /// When it was started.
    pub started: Millis,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Millis>,
}

impl InstanceView {
    fn of(instance: &Instance) -> Self {
        Self {
            status: instance.status,
            depth: instance.depth,
            path: instance.path.clone(),
            started: instance.started,
            ended: instance.ended,
        }
    }
}

/// An entry of a region (S2.98).
#[derive(Debug, Clone, Serialize)]
pub struct EntryView {
    /// The state.
    pub state: Arc<str>,
    /// The number of the entry instance.
    pub seq: Seq,
    /// When the state was entered.
    pub entered_at: Millis,
    /// How `entered_at` is known; always `exact`.
    pub basis: &'static str,
    /// The history row that started it; null at creation.
    pub row: Option<u64>,
    /// The identity key of that row; null at creation.
    pub key: Option<IdentityKey>,
    /// When its timer is due, where one is armed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Millis>,
    /// Why its timer is parked, where it is (M6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked: Option<Arc<str>>,
}

impl EntityView {
    /// How a stored entity is shown; `rows` are the history rows that started its entries, by region.
    pub(crate) fn new(
        name: &EntityName,
        revision: Revision,
        stored: &Stored,
        rows: &SortedMap<String, u64>,
        instance: Option<&Instance>,
    ) -> Self {
        let entity = &stored.entity;
        let machine = entity.machine();
        let region_entries = entity.entries().map(|(region, entry)| {
            let region = &machine.region(region).id;
            let (due_at, parked) = match &entry.timer {
                Timer::Off => (None, None),
                Timer::Armed(due) => (Some(*due), None),
                Timer::Parked { due, error } => (Some(*due), Some(Arc::clone(error))),
            };
            let view = EntryView {
                state: Arc::clone(&machine.state(entry.state).name),
                seq: entry.seq,
                entered_at: entry.entered_at,
                basis: "exact",
                row: rows.get(&**region).copied(),
                key: entry.key.clone(),
                due_at,
                parked,
            };
            (Arc::clone(region), view)
        });
        Self {
            machine_id: name.machine_id.to_string(),
            tenant_id: name.tenant.to_string(),
            entity_id: name.entity_id.to_string(),
            current_state: StateView::of(machine, &entity.configuration()),
            context: entity.context().clone(),
            state_version: entity.version(),
            revision,
            created_at: stored.created_at,
            updated_at: entity.updated_at(),
            region_entries: region_entries.gather(),
            instance: instance.filter(|instance| instance.managed).map(InstanceView::of),
        }
    }
}

/// An item of a list of entities: one that cannot be read hides no other (M8).
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum ListedEntity {
    /// The entity.
    Entity(Box<EntityView>),
    /// Its name, and why it cannot be read.
    Corrupt {
        /// Its machine.
        machine_id: String,
        /// Its tenant.
        tenant_id: String,
        /// Its id.
        entity_id: String,
        /// The error that reading it by itself answers.
        error: serde_json::Value,
    },
}

impl ListedEntity {
    pub(crate) fn corrupt(name: &EntityName, error: &Error) -> Self {
        Self::Corrupt {
            machine_id: name.machine_id.to_string(),
            tenant_id: name.tenant.to_string(),
            entity_id: name.entity_id.to_string(),
            error: error.body().get("error").cloned().unwrap_or_default(),
        }
    }
}

/// A machine: its definition as it was given, and what the service knows of it.
#[derive(Debug, Clone, Serialize)]
pub struct MachineView {
    /// The definition.
    #[serde(flatten)]
    pub definition: serde_json::Map<String, serde_json::Value>,
    /// Its tenant.
    pub tenant_id: String,
    /// The number of this revision.
    pub revision: Revision,
    /// The hash of its content.
    pub content_hash: String,
    /// When the machine was made.
    pub created_at: Millis,
    /// When this revision was.
    pub updated_at: Millis,
    /// What deserves a second look; only in answers to POST and PUT.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A revision of a machine.
#[derive(Debug, Clone, Serialize)]
pub struct RevisionView {
    /// Its number.
    pub revision: Revision,
    /// Its label, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The hash of its content.
    pub content_hash: String,
    /// The revision whose entities it took over, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Revision>,
    /// The revision that its entities run by now: itself, or the one that superseded it.
    pub effective: Revision,
    /// Whether new entities start on it.
    pub head: bool,
    /// When it was made.
    pub created_at: Millis,
    /// The definition.
    pub definition: Box<RawValue>,
}

/// A history row (S2.256).
#[derive(Debug, Clone, Serialize)]
pub struct HistoryView {
    /// Its id: later commits have higher ones.
    pub id: u64,
    /// Its tenant.
    pub tenant_id: String,
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// The state that the region left.
    pub from_state: String,
    /// The state that it entered.
    pub to_state: String,
    /// The event type; engine rows start with `$`.
    pub event_type: String,
    /// The event's params.
    pub event_params: Box<RawValue>,
    /// The effects that the row calls for.
    pub actions_dispatched: Box<RawValue>,
    /// The region that moved.
    pub region: String,
    /// When it happened: an event's timestamp, a timeout's due time.
    pub timestamp: i64,
    /// When it was committed.
    pub created_at: Millis,
    /// Its identity within the entity.
    pub identity_key: String,
    /// What caused it.
    pub cause: Box<RawValue>,
    /// The revision that decided it.
    pub revision: Revision,
}

/// What a validation found.
#[derive(Debug, Clone, Serialize)]
pub struct ValidationView {
    /// Whether the definition would be taken.
    pub valid: bool,
    /// Every fault.
    pub faults: Vec<statewright_core::fault::Fault>,
    /// What deserves a second look.
    pub warnings: Vec<Warning>,
}

/// How many entities are in a state of a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountView {
    /// The region.
    pub region: String,
    /// The state.
    pub state: String,
    /// How many.
    pub entities: u64,
}

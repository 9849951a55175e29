//! How entities, machines and history rows are shown (S2.255, S2.256).

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use statewright_core::answer::StateView;
use statewright_core::entity::Params;
use statewright_core::fault::Warning;
use statewright_core::ids::{Millis, Revision, Version};
pub use statewright_core::snapshot::{EntryView, InstanceView};
use statewright_core::sorted::{Gather, SortedMap};

use crate::error::Error;
use crate::load::EntityName;
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

/// How a stored place is shown.
fn instance_view(instance: &Instance) -> InstanceView {
    InstanceView {
        status: instance.status,
        depth: instance.depth,
        path: instance.path.clone(),
        started: instance.started,
        ended: instance.ended,
    }
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
            let view = EntryView::of(machine, entry, rows.get(&**region).copied());
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
            instance: instance.filter(|instance| instance.managed).map(instance_view),
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

//! Snapshots: nested in the core, a flat list in `wit/`.

use std::sync::Arc;

use statewright_core::answer::{OwnerView, StateView};
use statewright_core::entity::Params;
use statewright_core::error::Error;
use statewright_core::identity::IdentityKey;
use statewright_core::ids::{CHILD_MARK, MAX_CHILD_ID_BYTES, Millis, Revision, Seq, Version};
use statewright_core::snapshot::{EntryOfParent, EntryView, InstanceView, LegacyView, Snapshot};
use statewright_core::sorted::SortedMap;
use statewright_core::tree::Status;

use crate::bindings::exports::statewright::core::{instances as wit, types};
use crate::text::{object, text_of};

impl From<StateView> for types::State {
    fn from(state: StateView) -> Self {
        match state {
            StateView::Flat(state) => Self::Flat(state.to_string()),
            StateView::Regions(regions) => {
                let regions = regions.into_iter().map(|(region, state)| types::RegionState {
                    region: region.to_string(),
                    state: state.to_string(),
                });
                Self::Regions(regions.collect())
            }
        }
    }
}

fn state_in(state: types::State) -> StateView {
    match state {
        types::State::Flat(state) => StateView::Flat(state.into()),
        types::State::Regions(regions) => {
            let pairs = regions
                .into_iter()
                .map(|pair| (pair.region.into(), pair.state.into()));
            StateView::Regions(pairs.collect())
        }
    }
}

impl From<OwnerView> for types::Owner {
    fn from(owner: OwnerView) -> Self {
        Self {
            machine_id: owner.machine_id,
            entity_id: owner.entity_id,
            region: owner.region.to_string(),
            state: owner.state.to_string(),
            seq: owner.seq.0,
        }
    }
}

fn owner_in(owner: types::Owner) -> OwnerView {
    OwnerView {
        machine_id: owner.machine_id,
        entity_id: owner.entity_id,
        region: owner.region.into(),
        state: owner.state.into(),
        seq: Seq(owner.seq),
    }
}

impl From<Status> for wit::Status {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Completed => Self::Completed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

fn status_in(status: wit::Status) -> Status {
    match status {
        wit::Status::Active => Status::Active,
        wit::Status::Completed => Status::Completed,
        wit::Status::Cancelled => Status::Cancelled,
    }
}

impl From<Snapshot> for wit::Snapshot {
    fn from(snapshot: Snapshot) -> Self {
        let mut instances = Vec::new();
        flatten(snapshot, 0, &mut instances);
        Self { instances }
    }
}

/// A tree is no deeper than a child's id is long.
fn flatten(snapshot: Snapshot, parent: u32, instances: &mut Vec<wit::Instance>) {
    let life = match (snapshot.instance, snapshot.legacy) {
        (Some(instance), _) => wit::LifeOfChild::Managed(wit::Managed {
            status: instance.status.into(),
            depth: instance.depth,
            path: instance.path.into_iter().map(Into::into).collect(),
            started: instance.started.0,
            ended: instance.ended.map(|ended| ended.0),
        }),
        (None, legacy) => wit::LifeOfChild::Legacy(legacy.map(|legacy| wit::Legacy {
            status: legacy.status.into(),
            started: legacy.started.0,
            ended: legacy.ended.map(|ended| ended.0),
        })),
    };
    let place = snapshot.parent.map(|entry| wit::Place {
        parent,
        region: entry.region.to_string(),
        state: entry.state.to_string(),
        seq: entry.seq.0,
        life,
        first_seq: snapshot.first_seq.map(|seq| seq.0),
        cancelled_with: snapshot.cancelled_with,
    });
    let entries = snapshot.region_entries.iter().map(|(region, entry)| wit::Entry {
        region: region.to_string(),
        state: entry.state.to_string(),
        seq: entry.seq.0,
        entered_at: entry.entered_at.0,
        key: entry.key.as_ref().map(ToString::to_string),
        row: entry.row,
        timer: timer_out(entry),
    });
    // No tree has as many entities.
    let own = u32::try_from(instances.len()).unwrap_or(u32::MAX);
    instances.push(wit::Instance {
        entries: entries.collect(),
        machine_id: snapshot.machine_id,
        tenant_id: snapshot.tenant_id,
        entity_id: snapshot.entity_id,
        state: snapshot.current_state.into(),
        context: text_of(&snapshot.context),
        state_version: snapshot.state_version.0,
        revision: snapshot.revision.map(|revision| revision.0),
        created_at: snapshot.created_at.map(|created| created.0),
        updated_at: snapshot.updated_at.0,
        place,
    });
    for child in snapshot.children {
        flatten(child, own, instances);
    }
}

fn timer_out(entry: &EntryView) -> wit::Timer {
    match (entry.due_at, &entry.parked) {
        (None, _) => wit::Timer::Off,
        (Some(due), None) => wit::Timer::Armed(due.0),
        (Some(due), Some(error)) => wit::Timer::Parked(wit::ParkedTimer {
            due_at: due.0,
            error: error.to_string(),
        }),
    }
}

/// The deepest level of a snapshot: every child's id is longer than its parent's by its mark and a state, up to a bound.
const DEEPEST: usize = MAX_CHILD_ID_BYTES / (CHILD_MARK.len() + 1);

/// The core's snapshot of a flat list.
pub(crate) fn snapshot_in(flat: wit::Snapshot) -> Result<Snapshot, Error> {
    let mut nested: Vec<(Option<usize>, usize, Snapshot)> = Vec::new();
    for (place, instance) in flat.instances.into_iter().enumerate() {
        let path = format!("$.instances[{place}]");
        let parent = instance.place.as_ref().map(|place| place.parent as usize);
        let level = match parent {
            None if place > 0 => {
                return Err(Error::invalid(
                    format!("{path}.place"),
                    "it is missing",
                    "one root, the first",
                ));
            }
            None => 0,
            Some(parent) => {
                let level = nested.get(parent).map(|(_, level, _)| level.saturating_add(1));
                level.filter(|level| *level <= DEEPEST).ok_or_else(|| {
                    Error::invalid(
                        format!("{path}.place.parent"),
                        format!("it is {parent}"),
                        format!("the place of an instance before it, at most {DEEPEST} levels deep"),
                    )
                })?
            }
        };
        nested.push((parent, level, instance_in(instance, &path)?));
    }
    // From the last one on: every child is put into a parent before it.
    while let Some((parent, _, mut snapshot)) = nested.pop() {
        snapshot.children.reverse();
        match parent.and_then(|parent| nested.get_mut(parent)) {
            Some((_, _, parent)) => parent.children.push(snapshot),
            None => return Ok(snapshot),
        }
    }
    Err(Error::invalid(
        "$.instances",
        "it is empty",
        "the root and what is below it",
    ))
}

fn instance_in(instance: wit::Instance, path: &str) -> Result<Snapshot, Error> {
    let mut region_entries = SortedMap::default();
    for entry in instance.entries {
        let region: Arc<str> = entry.region.as_str().into();
        if region_entries.insert(region, entry_in(entry)).is_some() {
            return Err(Error::invalid(
                format!("{path}.entries"),
                "it names a region twice",
                "one entry for each region",
            ));
        }
    }
    let context: Params = object(&format!("{path}.context"), &instance.context)?;
    let mut snapshot = Snapshot {
        machine_id: instance.machine_id,
        tenant_id: instance.tenant_id,
        entity_id: instance.entity_id,
        current_state: state_in(instance.state),
        context: Arc::new(context),
        state_version: Version(instance.state_version),
        revision: instance.revision.map(Revision),
        created_at: instance.created_at.map(Millis),
        updated_at: Millis(instance.updated_at),
        region_entries,
        instance: None,
        legacy: None,
        parent: None,
        first_seq: None,
        cancelled_with: None,
        children: Vec::new(),
    };
    if let Some(place) = instance.place {
        snapshot.parent = Some(EntryOfParent {
            region: place.region.into(),
            state: place.state.into(),
            seq: Seq(place.seq),
        });
        snapshot.first_seq = place.first_seq.map(Seq);
        snapshot.cancelled_with = place.cancelled_with;
        match place.life {
            wit::LifeOfChild::Managed(managed) => {
                snapshot.instance = Some(InstanceView {
                    status: status_in(managed.status),
                    depth: managed.depth,
                    path: managed.path.into_iter().map(owner_in).collect(),
                    started: Millis(managed.started),
                    ended: managed.ended.map(Millis),
                });
            }
            wit::LifeOfChild::Legacy(legacy) => {
                snapshot.legacy = legacy.map(|legacy| LegacyView {
                    status: status_in(legacy.status),
                    started: Millis(legacy.started),
                    ended: legacy.ended.map(Millis),
                });
            }
        }
    }
    Ok(snapshot)
}

fn entry_in(entry: wit::Entry) -> EntryView {
    let (due_at, parked) = match entry.timer {
        wit::Timer::Off => (None, None),
        wit::Timer::Armed(due) => (Some(Millis(due)), None),
        wit::Timer::Parked(parked) => (Some(Millis(parked.due_at)), Some(parked.error.into())),
    };
    EntryView {
        state: entry.state.into(),
        seq: Seq(entry.seq),
        entered_at: Millis(entry.entered_at),
        basis: "exact",
        row: entry.row,
        key: entry.key.map(|key| IdentityKey::Stored(key.into())),
        due_at,
        parked,
    }
}

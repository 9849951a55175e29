//! A tree as it is shown (S2.208 to S2.210, S2.255).

use std::sync::Arc;

use serde::Serialize;

use crate::answer::{OwnerView, StateView};
use crate::entity::{Entry, Made, Params, Timer};
use crate::identity::IdentityKey;
use crate::ids::{Millis, Revision, Seq, Version};
use crate::machine::Machine;
use crate::sorted::{Gather, SortedMap, sort_by_key};
use crate::tree::{EntityIx, Status, Tree};

/// An entity with all that lives or can wake below it: the service's view of it with `?tree=true`, and what else a tree
/// has to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Its machine.
    pub machine_id: String,
    /// Its tenant, where a service has told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Its id.
    pub entity_id: String,
    /// Its state: a string, or an object of regions.
    pub current_state: StateView,
    /// Its context.
    pub context: Arc<Params>,
    /// How many commits wrote it.
    pub state_version: Version,
    /// The revision that it runs by, where a service has told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// When it was made, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Millis>,
    /// When it was last written.
    pub updated_at: Millis,
    /// The current entry of each region (S2.98).
    pub region_entries: SortedMap<Arc<str>, EntryView>,
    /// Its place in its tree, where it is a managed child (S2.208).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceView>,
    /// What became of a legacy child. A service does not tell it: left out, the child lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legacy: Option<LegacyView>,
    /// The entry of its parent that it belongs to; none for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<EntryOfParent>,
    /// The first entry that it belonged to, where it has woken since (M9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<Seq>,
    /// The entity whose cancel ended it, itself or one above it, where it can wake with that again (M9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_with: Option<String>,
    /// Its children, in the order in which they were started.
    pub children: Vec<Snapshot>,
}

/// The place of a managed child in its tree (S2.208).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstanceView {
    /// Whether it lives.
    pub status: Status,
    /// Its level; a root is at 0.
    pub depth: u32,
    /// Its ancestors, the root first, each with the entry that leads on to it (S2.209).
    pub path: Vec<OwnerView>,
    /// When it was started.
    pub started: Millis,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Millis>,
}

/// What became of a legacy child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LegacyView {
    /// Whether it lives.
    pub status: Status,
    /// When it was made.
    pub started: Millis,
    /// When it ended, with a managed one above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Millis>,
}

/// The entry of a parent that a child belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryOfParent {
    /// The region of the compound state.
    pub region: Arc<str>,
    /// The compound state.
    pub state: Arc<str>,
    /// The entry instance.
    pub seq: Seq,
}

/// An entry of a region (S2.98).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntryView {
    /// The state.
    pub state: Arc<str>,
    /// The number of the entry instance.
    pub seq: Seq,
    /// When the state was entered.
    pub entered_at: Millis,
    /// How `entered_at` is known; always `exact`.
    pub basis: &'static str,
    /// The history row that started it: higher in later commits. Null at creation, and where nothing depends on it.
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

impl EntryView {
    /// How an entry of a machine's region is shown.
    pub fn of(machine: &Machine, entry: &Entry, row: Option<u64>) -> Self {
        let (due_at, parked) = match &entry.timer {
            Timer::Off => (None, None),
            Timer::Armed(due) => (Some(*due), None),
            Timer::Parked { due, error } => (Some(*due), Some(Arc::clone(error))),
        };
        Self {
            state: Arc::clone(&machine.state(entry.state).name),
            seq: entry.seq,
            entered_at: entry.entered_at,
            basis: "exact",
            row,
            key: entry.key.clone(),
            due_at,
            parked,
        }
    }
}

/// The order in which the entries of a tree were made, as rows would number them: whether a legacy child became final
/// since its parent's entry hangs on it (S2.166), and nothing else does.
pub(super) struct Order {
    /// Those made since the tree was restored, in order; none where no legacy child is there.
    since: Vec<Made>,
    /// The highest row before them.
    before: u64,
}

impl Order {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut order = Self {
            since: Vec::new(),
            before: 0,
        };
        let legacy = |(ix, _)| tree.place(ix).is_some_and(|place| !place.managed);
        if !tree.entities().any(legacy) {
            return order;
        }
        for (_, entry) in tree.entities().flat_map(|(_, entity)| entity.entries()) {
            match entry.made {
                Made::AtCreation => {}
                Made::Stored(row) => order.before = order.before.max(row),
                since @ Made::Since(..) => order.since.push(since),
            }
        }
        crate::sorted::sort(&mut order.since);
        order.since.dedup();
        order
    }

    fn row(&self, made: Made) -> Option<u64> {
        match made {
            Made::AtCreation | Made::Stored(0) => None,
            Made::Stored(row) => Some(row),
            Made::Since(..) => {
                let place = self.since.binary_search(&made).ok()?;
                Some(
                    self.before
                        .saturating_add(u64::try_from(place).ok()?.saturating_add(1)),
                )
            }
        }
    }
}

/// How an entity of a tree is shown, without its children. `row` tells the history row that made an entry of a region.
pub(crate) fn entity_view(tree: &Tree, ix: EntityIx, row: &dyn Fn(&str, Made) -> Option<u64>) -> Snapshot {
    let entity = tree.entity(ix);
    let machine = entity.machine();
    let region_entries = entity.entries().map(|(region, entry)| {
        let region = &machine.region(region).id;
        let view = EntryView::of(machine, entry, row(region, entry.made));
        (Arc::clone(region), view)
    });
    let instance = tree.place(ix).filter(|place| place.managed);
    Snapshot {
        machine_id: machine.id().as_str().to_owned(),
        tenant_id: None,
        entity_id: entity.id().as_str().to_owned(),
        current_state: StateView::of(machine, &entity.configuration()),
        context: Arc::clone(&entity.context),
        state_version: entity.version(),
        revision: None,
        created_at: None,
        updated_at: entity.updated_at(),
        region_entries: region_entries.gather(),
        instance: instance.map(|place| InstanceView {
            status: place.status,
            depth: place.depth,
            path: OwnerView::path(tree, ix),
            started: place.started,
            ended: place.ended,
        }),
        legacy: None,
        parent: None,
        first_seq: None,
        cancelled_with: None,
        children: Vec::new(),
    }
}

/// An entity of a tree with all below it that the tree has to know.
pub(super) fn snapshot(tree: &Tree, ix: EntityIx, order: &Order) -> Snapshot {
    let mut view = entity_view(tree, ix, &|_, made| order.row(made));
    if let Some(place) = tree.place(ix) {
        let machine = tree.entity(place.parent).machine();
        view.parent = Some(EntryOfParent {
            region: Arc::clone(&machine.region(place.region).id),
            state: Arc::clone(&machine.state(place.state).name),
            seq: place.seq,
        });
        view.legacy = (!place.managed).then_some(LegacyView {
            status: place.status,
            started: place.started,
            ended: place.ended,
        });
        view.first_seq = (place.first_seq != place.seq).then_some(place.first_seq);
        let with = place.cancelled_with.map(|top| tree.entity(top).id());
        view.cancelled_with = with.map(|id| id.as_str().to_owned());
    }
    // What has ended and cannot wake is known as long as it is the latest of its state; what is below it is not.
    let mut children: Vec<EntityIx> = tree
        .children_where(|place| place.parent == ix && place.current)
        .collect();
    sort_by_key(&mut children, |child| {
        tree.place(*child).map(|place| (place.started, place.first_seq))
    });
    view.children = children
        .into_iter()
        .map(|child| snapshot(tree, child, order))
        .collect();
    view
}

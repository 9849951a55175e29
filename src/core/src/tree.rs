//! The tree of instances that one commit may read and write: a root, and what lives below it.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use smallvec::SmallVec;

use crate::entity::{Entity, Entry};
use crate::ids::{EntityId, MachineId, Millis, Seq};
use crate::machine::{Machine, RegionIx, StateIx, SubMachine};

/// The deepest level of a managed child; a root is at 0 (S2.181, S2.182).
pub const DEEPEST_LEVEL: u32 = 8;
/// Most entities of one commit, and of what lives or can wake in one tree: so any subtree can end in one commit.
pub const MOST_ENTITIES: usize = 512;

/// Most regions of a tree with children: it is read as a whole.
pub const MOST_REGIONS: usize = 16_384;

/// The machines that entities of a tree may be made of, by id.
#[derive(Debug, Default)]
pub struct Library(FxHashMap<Arc<str>, Arc<Machine>>);

impl Library {
    /// The machine of that id, if it is registered.
    pub fn get(&self, id: &MachineId) -> Option<&Arc<Machine>> {
        self.0.get(id.as_str())
    }
}

impl FromIterator<Arc<Machine>> for Library {
    fn from_iter<I: IntoIterator<Item = Arc<Machine>>>(machines: I) -> Self {
        let keyed = machines
            .into_iter()
            .map(|machine| (machine.id().shared(), machine));
        Self(keyed.collect())
    }
}

/// An entity of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntityIx(pub(crate) u32);

impl EntityIx {
    /// The root of every tree.
    pub const ROOT: Self = Self(0);

    /// The entity at a place of a tree's list.
    pub fn at(place: usize) -> Self {
        // A tree never reaches 2^32 entities: its commits are bounded, and so is what is read.
        Self(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// The place in the tree's list.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// Whether a child takes part in its tree (R11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It lives.
    Active,
    /// Its completion moved its parent on (S2.189).
    Completed,
    /// Its parent left it, or ended (S2.200).
    Cancelled,
}

impl Status {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "active" => Some(Self::Active),
            "completed" => Some(Self::Completed),
            "cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// Where a child hangs in its tree, and whether it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its parent.
    pub parent: EntityIx,
    /// The parent's region with the compound state.
    pub region: RegionIx,
    /// The compound state.
    pub state: StateIx,
    /// The entry instance of the compound state that it belongs to.
    pub seq: Seq,
    /// The first that it belonged to, before it ever woke.
    pub first_seq: Seq,
    /// Whether it lives with that entry; a legacy child outlives it.
    pub managed: bool,
    /// Whether it takes part.
    pub status: Status,
    /// Its level: how many managed children it is below a root or a legacy child (S2.182).
    pub depth: u32,
    /// When it was started.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// Whether the tree still has to know it: it lives, it is the latest child of a compound state, or it can wake.
    pub current: bool,
    /// The child whose cancel ended it, where that can wake again (M9).
    pub cancelled_with: Option<EntityIx>,
}

impl Place {
    /// That of a child which begins to live in an entry of its parent's region. A legacy child is the root of its managed
    /// levels: `depth` is 0.
    pub fn of_entry(
        parent: EntityIx,
        region: RegionIx,
        entry: &Entry,
        managed_depth: Option<u32>,
        started: Millis,
    ) -> Self {
        Self {
            parent,
            region,
            state: entry.state,
            seq: entry.seq,
            first_seq: entry.seq,
            managed: managed_depth.is_some(),
            status: Status::Active,
            depth: managed_depth.unwrap_or_default(),
            started,
            ended: None,
            current: true,
            cancelled_with: None,
        }
    }
}

#[derive(Debug, Clone)]
struct Node {
    entity: Entity,
    /// None for the root.
    place: Option<Box<Place>>,
    /// The last commit that wrote it.
    written: u32,
}

/// The entities that one commit may read and write: a root and what lives below it.
#[derive(Debug, Clone)]
pub struct Tree {
    /// INVARIANT: never empty; the root is first, and a child comes after its parent.
    nodes: SmallVec<[Node; 1]>,
    /// What children are made of; none where the root's machine has none.
    library: Option<Arc<Library>>,
    /// Machine and id of entities that stand where a child would be made.
    occupied: Option<Arc<FxHashSet<(MachineId, EntityId)>>>,
    /// How many commits it has seen.
    commits: u32,
    /// What to go back to, while something is being decided.
    undo: Option<Box<Undo>>,
}

#[derive(Debug, Clone)]
struct Undo {
    /// How many entities there were.
    entities: usize,
    /// Those that were changed, as they were.
    saved: Vec<(EntityIx, Node)>,
}

impl Tree {
    /// The tree of a root that has no children; `library` is what they can be made of.
    pub fn new(root: Entity, library: Option<Arc<Library>>) -> Self {
        let node = Node {
            entity: root,
            place: None,
            written: 0,
        };
        Self {
            nodes: SmallVec::from_buf([node]),
            library,
            occupied: None,
            commits: 0,
            undo: None,
        }
    }

    /// Hangs a stored child into the tree, below an entity that is in it.
    pub fn add(&mut self, entity: Entity, place: Place) -> EntityIx {
        let ix = EntityIx::at(self.nodes.len());
        self.nodes.push(Node {
            entity,
            place: Some(Box::new(place)),
            written: 0,
        });
        ix
    }

    /// Names entities outside of the tree that stand where a child would be made (S2.177).
    pub fn occupy(&mut self, names: impl IntoIterator<Item = (MachineId, EntityId)>) {
        let occupied: FxHashSet<_> = names.into_iter().collect();
        self.occupied = (!occupied.is_empty()).then(|| Arc::new(occupied));
    }

    /// Whether an entity stands at a child's id.
    pub(crate) fn is_taken(&self, machine: &MachineId, id: &EntityId) -> bool {
        let here = |node: &Node| node.entity.id() == id && node.entity.machine().id() == machine;
        self.nodes.iter().any(here)
            || self
                .occupied
                .as_ref()
                .is_some_and(|occupied| occupied.contains(&(machine.clone(), id.clone())))
    }

    /// Lets it know other machines than it was made with.
    pub(crate) fn learn(&mut self, library: Arc<Library>) {
        self.library = Some(library);
    }

    /// Leaves out the entities that `to` gives no other place: each with all below it, and never the root.
    pub(crate) fn keep_only(&mut self, to: &dyn Fn(EntityIx) -> Option<EntityIx>) {
        let nodes = std::mem::take(&mut self.nodes);
        let kept = (0..).map(EntityIx).zip(nodes).filter_map(|(ix, mut node)| {
            to(ix)?;
            if let Some(place) = &mut node.place {
                place.parent = to(place.parent)?;
                place.cancelled_with = place.cancelled_with.and_then(to);
            }
            Some(node)
        });
        self.nodes = kept.collect();
    }

    /// The legacy compound states that live entities are in, and whose children they are: parent, region, machine and id.
    pub fn legacy_places(&self) -> impl Iterator<Item = (EntityIx, RegionIx, MachineId, EntityId)> {
        let live = self.entities().filter(|(ix, _)| self.is_live(*ix));
        live.flat_map(|(parent, entity)| {
            entity.entries().filter_map(move |(region, entry)| {
                let state = entity.machine().state(entry.state);
                let sub = state.child().filter(|sub| !sub.managed)?;
                let id = entity.id().of_child(&state.name, None);
                Some((parent, region, sub.machine_id.clone(), id))
            })
        })
    }

    /// What children are made of.
    pub(crate) fn library(&self) -> Option<&Arc<Library>> {
        self.library.as_ref()
    }

    /// Whether a commit may concern more than the root.
    pub(crate) fn is_family(&self) -> bool {
        self.nodes.len() > 1 || self.root().machine().has_children()
    }

    /// The root.
    pub fn root(&self) -> &Entity {
        self.entity(EntityIx::ROOT)
    }

    /// How many entities it has, ended ones included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: it has a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Its entities, the root first, a child after its parent; ended ones included.
    pub fn entities(&self) -> impl Iterator<Item = (EntityIx, &Entity)> {
        (0..)
            .map(EntityIx)
            .zip(self.nodes.iter().map(|node| &node.entity))
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: an index is only used with the tree that made it"
    )]
    fn node(&self, entity: EntityIx) -> &Node {
        &self.nodes[entity.place()]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: an index is only used with the tree that made it"
    )]
    fn node_mut(&mut self, entity: EntityIx) -> &mut Node {
        &mut self.nodes[entity.place()]
    }

    /// An entity of this tree.
    pub fn entity(&self, entity: EntityIx) -> &Entity {
        &self.node(entity).entity
    }

    /// An entity of this tree, to change.
    pub fn entity_mut(&mut self, entity: EntityIx) -> &mut Entity {
        &mut self.node_mut(entity).entity
    }

    /// Where a child hangs; none for the root.
    pub fn place(&self, entity: EntityIx) -> Option<&Place> {
        self.node(entity).place.as_deref()
    }

    pub(crate) fn place_mut(&mut self, entity: EntityIx) -> Option<&mut Place> {
        self.node_mut(entity).place.as_deref_mut()
    }

    /// Whether it takes events and timeouts (I6).
    pub fn is_live(&self, entity: EntityIx) -> bool {
        self.place(entity)
            .is_none_or(|place| place.status == Status::Active)
    }

    /// Its managed level below a root or a legacy child (S2.182).
    pub fn depth(&self, entity: EntityIx) -> u32 {
        self.place(entity).map_or(0, |place| place.depth)
    }

    /// The entity of that name, if it is in the tree.
    pub fn find(&self, machine: &MachineId, id: &EntityId) -> Option<EntityIx> {
        self.entities()
            .find(|(_, entity)| entity.id() == id && entity.machine().id() == machine)
            .map(|(ix, _)| ix)
    }

    /// The compound state that a child belongs to.
    pub(crate) fn sub_machine(&self, place: &Place) -> Option<&SubMachine> {
        self.entity(place.parent).machine().state(place.state).child()
    }

    /// The children that satisfy a condition, in the order of the tree.
    pub(crate) fn children_where(&self, which: impl Fn(&Place) -> bool) -> impl Iterator<Item = EntityIx> {
        (0..)
            .map(EntityIx)
            .zip(&self.nodes)
            .filter_map(move |(ix, node)| {
                let place = node.place.as_deref()?;
                which(place).then_some(ix)
            })
    }

    /// The live managed child of an entry instance.
    pub fn managed_child(&self, parent: EntityIx, region: RegionIx, seq: Seq) -> Option<EntityIx> {
        self.children_where(|place| {
            place.parent == parent
                && place.region == region
                && place.seq == seq
                && place.managed
                && place.status == Status::Active
        })
        .next()
    }

    /// The latest child of a compound state, whether or not it lives.
    pub(crate) fn latest_child(&self, parent: EntityIx, state: StateIx, managed: bool) -> Option<EntityIx> {
        self.children_where(|place| {
            place.parent == parent && place.state == state && place.current && place.managed == managed
        })
        .last()
    }

    /// An entity and everything below it, in the order of the tree.
    pub(crate) fn subtree(&self, top: EntityIx) -> Vec<EntityIx> {
        let mut found = vec![top];
        for (ix, node) in (0..)
            .map(EntityIx)
            .zip(&self.nodes)
            .skip(top.place().saturating_add(1))
        {
            // A child comes after its parent, so that one pass finds them all.
            if node
                .place
                .as_ref()
                .is_some_and(|place| found.contains(&place.parent))
            {
                found.push(ix);
            }
        }
        found
    }

    /// Whether a machine's entity can be added to what lives or can wake, so that the tree stays within its bounds.
    pub(crate) fn has_room(&self, machine: &Machine) -> bool {
        let counts = |node: &&Node| {
            node.place
                .as_ref()
                .is_none_or(|place| place.status == Status::Active || place.cancelled_with.is_some())
        };
        let (mut entities, mut regions) = (1_usize, machine.regions().len());
        for node in self.nodes.iter().filter(counts) {
            entities = entities.saturating_add(1);
            regions = regions.saturating_add(node.entity.machine().regions().len());
        }
        entities <= MOST_ENTITIES && regions <= MOST_REGIONS
    }

    /// Whether the places of children agree with the states of their parents: each live entity in a managed compound state
    /// has one live child of that entry, and each live managed child is one of those (I6). Where they do not, nothing is
    /// to be decided on the tree: it fails closed (M8).
    ///
    /// # Errors
    /// Says what does not agree.
    pub fn check_places(&self) -> Result<(), String> {
        for (ix, entity) in self.entities() {
            let Some(place) = self.place(ix) else { continue };
            let id = entity.id();
            let live = place.status == Status::Active;
            let sleeps = place.cancelled_with.is_some();
            if (live && (!place.current || sleeps)) || (sleeps && place.status != Status::Cancelled) {
                return Err(format!("the place of `{id}` in it contradicts itself"));
            }
            if place.first_seq > place.seq {
                return Err(format!("`{id}` belongs to entries out of order"));
            }
            if !live || !place.managed {
                continue;
            }
            let parent = self.entity(place.parent);
            let entry = parent.entry(place.region);
            let sub = parent.machine().state(place.state).child();
            let belongs = self.is_live(place.parent)
                && entry.state == place.state
                && entry.seq == place.seq
                && sub.is_some_and(|sub| sub.managed && sub.machine_id == *entity.machine().id());
            if !belongs {
                return Err(format!(
                    "`{id}` lives, and its parent is not in the state that it belongs to"
                ));
            }
        }
        for (ix, entity) in self.entities().filter(|(ix, _)| self.is_live(*ix)) {
            let legacy = self.place(ix).is_some_and(|place| !place.managed);
            let starts_none = legacy && !entity.machine().rules().mended_children;
            for (region, entry) in entity.entries() {
                // S2.169: in the seed's contract a lazily made child starts no children in its initial states.
                if starts_none && entry.key.is_none() {
                    continue;
                }
                let state = entity.machine().state(entry.state);
                let managed = state.child().is_some_and(|sub| sub.managed);
                if managed && self.managed_child(ix, region, entry.seq).is_none() {
                    return Err(format!(
                        "`{}` is in `{}` and has no live child there",
                        entity.id(),
                        state.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// How many steps an entity is below the root.
    fn level(&self, entity: EntityIx) -> usize {
        let up = |ix: &EntityIx| self.place(*ix).map(|place| place.parent);
        std::iter::successors(Some(entity), up).count()
    }

    /// The regions that lead from the root to an entity.
    fn regions_to(&self, entity: EntityIx) -> SmallVec<[RegionIx; 8]> {
        let up = |ix: &EntityIx| self.place(*ix).map(|place| place.parent);
        let mut regions: SmallVec<[RegionIx; 8]> = std::iter::successors(Some(entity), up)
            .filter_map(|ix| Some(self.place(ix)?.region))
            .collect();
        regions.reverse();
        regions
    }

    /// Whether an entity hangs, however deep, below another.
    pub(crate) fn is_below(&self, entity: EntityIx, above: EntityIx) -> bool {
        let up = |ix: &EntityIx| self.place(*ix).map(|place| place.parent);
        std::iter::successors(up(&entity), up).any(|ix| ix == above)
    }

    /// The parent's region that is in a legacy child's state: that of its place, or another with a state of that name.
    pub(crate) fn legacy_region(&self, child: EntityIx) -> Option<RegionIx> {
        let place = self.place(child).filter(|place| !place.managed)?;
        let (parent, child) = (self.entity(place.parent), self.entity(child));
        let holds = |entry: &Entry| {
            let state = parent.machine().state(entry.state);
            state.child().is_some_and(|sub| {
                !sub.managed
                    && sub.machine_id == *child.machine().id()
                    && parent.id().of_child(&state.name, None) == *child.id()
            })
        };
        if holds(parent.entry(place.region)) {
            return Some(place.region);
        }
        let mut regions = parent.entries().filter(|(_, entry)| holds(entry));
        regions.next().map(|(region, _)| region)
    }

    /// A parent before its children, siblings in region order, then in the order of the tree.
    pub(crate) fn in_order(&self, a: EntityIx, b: EntityIx) -> Ordering {
        let regions = self.regions_to(a).cmp(&self.regions_to(b));
        regions.then_with(|| a.cmp(&b))
    }

    /// Outermost first, then in region order, then in the order of the tree (R5).
    pub(crate) fn outermost_first(&self, a: EntityIx, b: EntityIx) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.level(a)
            .cmp(&self.level(b))
            .then_with(|| self.regions_to(a).cmp(&self.regions_to(b)))
            .then_with(|| a.cmp(&b))
    }

    /// Deepest first, then in region order (S2.199).
    pub(crate) fn deepest_first(&self, a: EntityIx, b: EntityIx) -> Ordering {
        self.level(b)
            .cmp(&self.level(a))
            .then_with(|| self.outermost_first(a, b))
    }

    /// Begins a commit.
    pub(crate) fn begin(&mut self) -> u32 {
        self.commits = self.commits.saturating_add(1);
        self.commits
    }

    /// How many commits it has seen.
    pub(crate) fn commits(&self) -> u32 {
        self.commits
    }

    /// Marks an entity as written by the commit that is under way. Says whether it was not before.
    pub(crate) fn mark_written(&mut self, entity: EntityIx) -> bool {
        let commit = self.commits;
        let node = self.node_mut(entity);
        let first = node.written != commit;
        node.written = commit;
        first
    }

    /// From here on, changes can be undone. What was kept for that before is forgotten.
    pub(crate) fn keep(&mut self) {
        self.undo = Some(Box::new(Undo {
            entities: self.nodes.len(),
            saved: Vec::with_capacity(self.nodes.len().min(8)),
        }));
    }

    /// Changes need not be undone any more.
    pub(crate) fn release(&mut self) {
        self.undo = None;
    }

    /// Undoes every change since [`Tree::keep`].
    pub(crate) fn undo(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.nodes.truncate(undo.entities);
        for (ix, node) in undo.saved {
            if let Some(slot) = self.nodes.get_mut(ix.place()) {
                *slot = node;
            }
        }
    }

    /// Saves an entity before its first change.
    pub(crate) fn save(&mut self, entity: EntityIx) {
        let Some(undo) = &self.undo else { return };
        if entity.place() >= undo.entities || undo.saved.iter().any(|(saved, _)| *saved == entity) {
            return;
        }
        let node = self.node(entity).clone();
        if let Some(undo) = &mut self.undo {
            undo.saved.push((entity, node));
        }
    }
}

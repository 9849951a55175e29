//! One tree of a simulation: alive, with what a service would have stored of it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::adopted::GivenRow;
use super::json_of;
use crate::answer::Answer;
use crate::commit::Commit;
use crate::entity::{Made, Params};
use crate::error::Error;
use crate::forward::Seen;
use crate::identity::IdentityKey;
use crate::ids::{EntityId, MachineId, Millis};
use crate::request::EventRequest;
use crate::snapshot::{Decided, EntryOfParent, Kept, Living, RowView, Snapshot, entity_view};
use crate::sorted::sort_by_key;
use crate::timeouts::earliest;
use crate::tree::{EntityIx, Library, Place, Status, Tree};

/// Machine and id of an entity.
pub(super) type Name = (Arc<str>, Arc<str>);

/// The number of a row that is taken in, from that which it had.
pub(super) fn number(rows: &[u64], row: u64, first: u64) -> u64 {
    let place = rows.partition_point(|other| *other < row);
    first.saturating_add(u64::try_from(place).unwrap_or(u64::MAX))
}

/// The name of an entity of a tree.
pub(super) fn name_of(tree: &Tree, ix: EntityIx) -> Name {
    let entity = tree.entity(ix);
    (entity.machine().id().shared(), entity.id().as_str().into())
}

/// A tree, and what was stored of it.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub(super) living: Living,
    /// When each entity was made, in the order of the tree.
    created: Vec<Millis>,
    /// What is known under the identities of its rows.
    known: FxHashMap<(EntityIx, Arc<str>), Known>,
    rows: Vec<StoredRow>,
    /// When its first timer is due.
    pub(super) due: Option<Millis>,
}

/// What is known under an identity.
#[derive(Debug, Clone)]
struct Known {
    /// The row; none at an entity that only handed the event on.
    row: Option<u64>,
    /// The params of an event.
    params: Option<Arc<Params>>,
    /// Who handled what was handed on.
    by: Option<EntityIx>,
}

/// A history row.
#[derive(Debug, Clone)]
struct StoredRow {
    of: EntityIx,
    id: u64,
    timestamp: i64,
    view: RowTold,
}

/// How a row is told, but for what all rows of a simulation have alike.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum RowTold {
    /// A commit of the simulation wrote it.
    Written(Arc<RowView>),
    /// It came with its tree.
    Given(Arc<Map<String, Value>>),
}

impl Family {
    pub(super) fn new(living: Living) -> Self {
        Self {
            living,
            created: Vec::new(),
            known: FxHashMap::default(),
            rows: Vec::new(),
            due: None,
        }
    }

    /// A tree that is taken in. `rows` are the numbers that the rows which made its entries have where it comes from: those of
    /// here, from `first` on, are in their order.
    pub(super) fn given(living: Living, created: Vec<Millis>, rows: &[u64], first: u64) -> Self {
        let mut family = Self {
            created,
            ..Self::new(living)
        };
        for place in 0..family.tree().len() {
            for entry in &mut family.living.tree.entity_mut(EntityIx::at(place)).entries {
                if let Made::Stored(row @ 1..) = entry.made {
                    entry.made = Made::Stored(number(rows, row, first));
                }
            }
        }
        family.note_due();
        family
    }

    /// Keeps a row that was given, under its number of here. Says whether the entity has no other of its identity. An event that
    /// a legacy child handled is known to those above it, who can have handed it on (M11).
    pub(super) fn remember(&mut self, ix: EntityIx, id: u64, row: GivenRow) -> bool {
        let GivenRow {
            key,
            params,
            timestamp,
            is_event,
            view,
            ..
        } = row;
        let mut below = ix;
        while let Some(place) = self
            .living
            .tree
            .place(below)
            .filter(|place| is_event && !place.managed)
        {
            below = place.parent;
            if self.tree().entity(below).machine().rules().mended_children {
                let known = || Known {
                    row: None,
                    params: Some(Arc::clone(&params)),
                    by: Some(ix),
                };
                self.known.entry((below, Arc::clone(&key))).or_insert_with(known);
            }
        }
        let known = Known {
            row: Some(id),
            params: Some(params),
            by: None,
        };
        let other = self.known.insert((ix, key), known);
        self.rows.push(StoredRow {
            of: ix,
            id,
            timestamp,
            view: RowTold::Given(Arc::new(view)),
        });
        other.is_none_or(|other| other.row.is_none())
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.living.tree
    }

    pub(super) fn find(&self, name: &Name) -> Option<EntityIx> {
        let mut entities = self.tree().entities();
        entities
            .find(|(_, entity)| {
                entity.id().as_str() == &*name.1 && entity.machine().id().as_str() == &*name.0
            })
            .map(|(ix, _)| ix)
    }

    /// Decides an event. `others` are entities that are nobody's and stand where a child may be made.
    pub(super) fn decide(
        &mut self,
        at: EntityIx,
        request: &EventRequest,
        library: &Arc<Library>,
        others: &[(MachineId, EntityId)],
        now: Millis,
    ) -> Decided {
        let Self { living, known, .. } = self;
        living.tree.learn(Arc::clone(library));
        living.tree.occupy(others.iter().cloned());
        let key: Option<Arc<str>> = request.event.identity().map(|key| key.to_string().into());
        let seen = |ix: EntityIx| {
            let key = key.as_ref()?;
            known.get(&(ix, Arc::clone(key)))?.params.clone()
        };
        let seen: Seen<'_> = &seen;
        living.event(at, request, seen, now)
    }

    /// Keeps what a commit writes. Its rows take the numbers from `next_row` on. Gives the entities that it made.
    pub(super) fn keep(&mut self, kept: &Kept, next_row: &mut u64, now: Millis) -> Vec<Name> {
        let Kept { commit, view } = kept;
        let mut first_of_target = None;
        for (row, view) in commit.rows.iter().zip(&view.rows) {
            let id = *next_row;
            *next_row = next_row.saturating_add(1);
            let key: Arc<str> = row.key.to_string().into();
            let params = row.shared_params().cloned();
            if row.entity == commit.target && first_of_target.is_none() {
                first_of_target = Some((Arc::clone(&key), params.clone()));
            }
            let known = Known {
                row: Some(id),
                params,
                by: None,
            };
            self.known.insert((row.entity, key), known);
            self.rows.push(StoredRow {
                of: row.entity,
                id,
                timestamp: row.timestamp,
                view: RowTold::Written(Arc::new(view.clone())),
            });
        }
        self.hand_on(commit, first_of_target);
        let made = (self.created.len()..self.tree().len()).map(EntityIx::at);
        let made: Vec<Name> = made.map(|ix| name_of(self.tree(), ix)).collect();
        self.created.resize(self.tree().len(), now);
        made
    }

    /// Who handed an event on remembers it as well (M11).
    fn hand_on(&mut self, commit: &Commit, first: Option<(Arc<str>, Option<Arc<Params>>)>) {
        let Some((key, params)) = first else { return };
        for ix in &commit.forwarded_by {
            self.known
                .entry((*ix, Arc::clone(&key)))
                .or_insert_with(|| Known {
                    row: None,
                    params: params.clone(),
                    by: Some(commit.target),
                });
        }
    }

    pub(super) fn note_due(&mut self) {
        self.due = earliest(self.tree()).map(|timer| timer.due);
    }

    /// How many timers are due, and the oldest of them.
    pub(super) fn overdue(&self, now: Millis) -> (Vec<EntityIx>, Option<Millis>) {
        let live = self.tree().entities().filter(|(ix, _)| self.tree().is_live(*ix));
        let timers = live.flat_map(|(ix, entity)| entity.entries().map(move |(_, entry)| (ix, entry)));
        let due = timers.filter_map(|(ix, entry)| Some((ix, entry.timer.armed()?)));
        let due = due.filter(|(_, due)| *due <= now);
        let mut oldest = None;
        let mut of = Vec::new();
        for (ix, due) in due {
            oldest = Some(oldest.map_or(due, |oldest: Millis| oldest.min(due)));
            of.push(ix);
        }
        (of, oldest)
    }

    fn row(&self, ix: EntityIx, key: &IdentityKey) -> Option<u64> {
        self.known.get(&(ix, key.to_string().into()))?.row
    }

    /// Fills the numbers of rows into an answer.
    pub(super) fn number(&self, answer: &mut Answer) {
        answer.number_rows(|ix, key| self.row(ix, key));
    }

    fn view(&self, ix: EntityIx, tenant: &str) -> Snapshot {
        let entity = self.tree().entity(ix);
        let machine = entity.machine();
        let row = |region: &str, _: Made| {
            let region = machine.find_region(region)?;
            self.row(ix, entity.entry(region).key.as_ref()?)
        };
        Snapshot {
            tenant_id: Some(tenant.to_owned()),
            revision: Some(super::REVISION),
            created_at: self.created.get(ix.place()).copied(),
            ..entity_view(self.tree(), ix, &row)
        }
    }

    /// An entity as a service shows it (S2.255).
    pub(super) fn entity(&self, ix: EntityIx, tenant: &str) -> Value {
        let mut view = json_of(&self.view(ix, tenant));
        if let Value::Object(object) = &mut view {
            object.remove("children");
        }
        view
    }

    /// An entity with all that lives or lived below it (S2.208).
    pub(super) fn with_children(&self, ix: EntityIx, tenant: &str) -> Snapshot {
        let tree = self.tree();
        let mut children: Vec<EntityIx> = tree.children_where(|place| place.parent == ix).collect();
        sort_by_key(&mut children, |child| {
            tree.place(*child).map(|place| (place.started, place.first_seq))
        });
        let children = children.into_iter().map(|child| {
            let parent = tree.place(child).map(|place| {
                let machine = tree.entity(place.parent).machine();
                EntryOfParent {
                    region: Arc::clone(&machine.region(place.region).id),
                    state: Arc::clone(&machine.state(place.state).name),
                    seq: place.seq,
                }
            });
            Snapshot {
                parent,
                ..self.with_children(child, tenant)
            }
        });
        Snapshot {
            children: children.collect(),
            ..self.view(ix, tenant)
        }
    }

    /// The history of an entity (S2.256): by timestamp, then number; that the other way round; or in the order of the commits.
    pub(super) fn history(&self, ix: EntityIx, order: &str, after: u64, tenant: &str) -> Value {
        let wanted = |row: &&StoredRow| row.of == ix && row.id > after;
        let mut rows: Vec<&StoredRow> = self.rows.iter().filter(wanted).collect();
        if order != "id" {
            sort_by_key(&mut rows, |row| (row.timestamp, row.id));
        }
        if order == "newest" {
            rows.reverse();
        }
        let view = |row: &StoredRow| {
            let mut view = json_of(&row.view);
            if let Value::Object(object) = &mut view {
                object.insert("id".to_owned(), row.id.into());
                object.insert("tenant_id".to_owned(), tenant.into());
                object.insert("revision".to_owned(), json!(super::REVISION));
            }
            view
        };
        rows.into_iter().map(view).collect()
    }

    /// Whether an entity can be deleted by itself (R9a).
    ///
    /// # Errors
    /// It is a managed child that its parent needs.
    pub(super) fn check_deletable(&self, ix: EntityIx) -> Result<(), Error> {
        let needed = self.tree().place(ix).is_some_and(|place| {
            let sleeps_with_another = place.cancelled_with.is_some_and(|top| top != ix);
            place.managed && (place.status == Status::Active || sleeps_with_another)
        });
        if needed {
            let entity = self.tree().entity(ix).id().to_string();
            return Err(Error::InstanceActive { entity });
        }
        Ok(())
    }

    /// Takes a child out with all below it (M10). Gives their names.
    pub(super) fn remove(&mut self, top: EntityIx) -> Vec<Name> {
        let gone = self.tree().subtree(top);
        let names = gone.iter().map(|ix| name_of(self.tree(), *ix)).collect();
        let mut moved: Vec<Option<EntityIx>> = Vec::new();
        let mut kept = 0_usize;
        for place in 0..self.tree().len() {
            let stays = !gone.contains(&EntityIx::at(place));
            moved.push(stays.then(|| EntityIx::at(kept)));
            kept = kept.saturating_add(usize::from(stays));
        }
        self.current_before(top);
        let to = |ix: EntityIx| moved.get(ix.place()).copied().flatten();
        self.living.tree.keep_only(&to);
        self.created = std::mem::take(&mut self.created)
            .into_iter()
            .enumerate()
            .filter(|(place, _)| to(EntityIx::at(*place)).is_some())
            .map(|(_, made)| made)
            .collect();
        self.renumber(&to);
        names
    }

    /// Where a child was the latest of its parent's state, the one before it is again.
    fn current_before(&mut self, top: EntityIx) {
        let Some(place) = self.tree().place(top).filter(|place| place.current).cloned() else {
            return;
        };
        let alike = |other: &Place| {
            !other.current
                && (other.parent, other.region, other.state) == (place.parent, place.region, place.state)
        };
        let tree = &self.living.tree;
        let before = tree
            .children_where(alike)
            .max_by_key(|ix| tree.place(*ix).map(|place| place.seq));
        if let Some(place) = before.and_then(|ix| self.living.tree.place_mut(ix)) {
            place.current = true;
        }
    }

    fn renumber(&mut self, to: &dyn Fn(EntityIx) -> Option<EntityIx>) {
        let known = std::mem::take(&mut self.known).into_iter();
        self.known = known
            .filter_map(|((ix, key), known)| {
                let by = match known.by {
                    Some(by) => Some(to(by)?),
                    None => None,
                };
                Some(((to(ix)?, key), Known { by, ..known }))
            })
            .collect();
        let rows = std::mem::take(&mut self.rows).into_iter();
        self.rows = rows
            .filter_map(|row| {
                Some(StoredRow {
                    of: to(row.of)?,
                    ..row
                })
            })
            .collect();
    }

    /// The legacy place of its tree that an entity which is nobody's stands at.
    pub(super) fn legacy_place(&self, machine: &MachineId, id: &EntityId) -> Option<Place> {
        let tree = self.tree();
        tree.legacy_places()
            .find(|(.., of, child)| (of, child) == (machine, id))
            .map(|(parent, region, ..)| {
                let entry = tree.entity(parent).entry(region);
                Place::of_entry(parent, region, entry, None, Millis(0))
            })
    }

    /// Makes another tree a part of this one: its root becomes a legacy child (R9).
    pub(super) fn adopt(&mut self, other: Self, place: &Place) {
        let mut other = other;
        self.number_entries();
        other.number_entries();
        let base = self.tree().len();
        let to = |ix: EntityIx| EntityIx::at(base.saturating_add(ix.place()));
        for (ix, entity) in other.living.tree.entities() {
            let place = match other.living.tree.place(ix) {
                None => Place {
                    started: other.created.first().copied().unwrap_or(place.started),
                    ..place.clone()
                },
                Some(own) => Place {
                    parent: to(own.parent),
                    cancelled_with: own.cancelled_with.map(to),
                    ..own.clone()
                },
            };
            self.living.tree.add(entity.clone(), place);
        }
        self.created.extend(other.created);
        let known = other.known.into_iter();
        self.known.extend(known.map(|((ix, key), known)| {
            let by = known.by.map(to);
            ((to(ix), key), Known { by, ..known })
        }));
        let rows = other.rows.into_iter();
        self.rows.extend(rows.map(|row| StoredRow {
            of: to(row.of),
            ..row
        }));
    }

    /// Orders its entries by the rows that made them: those of another tree are ordered so as well.
    fn number_entries(&mut self) {
        let Self { living, known, .. } = self;
        for place in 0..living.tree.len() {
            let ix = EntityIx::at(place);
            for entry in &mut living.tree.entity_mut(ix).entries {
                let row = |key: &IdentityKey| known.get(&(ix, key.to_string().into()))?.row;
                if let Some(row) = entry.key.as_ref().and_then(row) {
                    entry.made = Made::Stored(row);
                }
            }
        }
    }
}

//! From what was decided on a tree to its rows.

use serde::Serialize;
use statewright_core::answer::{ActionView, OwnerView, actions_of};
use statewright_core::commit::Commit;
use statewright_core::ids::{EntityId, MachineId, Millis, Revision, TenantId, Version};
use statewright_core::machine::RegionIx;
use statewright_core::sorted::{Gather, SortedMap, SortedSet};
use statewright_core::tree::{EntityIx, Status, Tree};

use super::{
    EntityRow, EntryRow, HistoryRow, InstanceRow, NameIx, Named, OutboxRow, TimerRow, TreeWrite, json_text,
};
use crate::outbox::{EffectRow, PresentedRow};
use crate::trees::Member;

/// What of a tree is being written.
struct Writing<'a> {
    tree: &'a Tree,
    members: &'a [Member],
    write: TreeWrite,
    /// By entity.
    named: SortedMap<EntityIx, NameIx>,
    now: Millis,
}

impl<'a> Writing<'a> {
    fn member(&self, entity: EntityIx) -> Option<&'a Member> {
        self.members.get(entity.place())
    }

    fn uid(&self, entity: EntityIx) -> &'a str {
        self.member(entity).map_or("", |member| &member.uid)
    }

    fn name(&mut self, ix: EntityIx) -> NameIx {
        if let Some(name) = self.named.get(&ix) {
            return *name;
        }
        let entity = self.tree.entity(ix);
        let (base, revision) = self
            .member(ix)
            .map_or((Version(0), Revision(0)), |member| (member.base, member.revision));
        self.write.names.push(Named {
            machine: entity.machine().id().clone(),
            entity: entity.id().clone(),
            uid: self.uid(ix).to_owned(),
            base,
            revision,
            version: entity.version(),
            only_read: false,
            over: false,
        });
        let name = self.write.names.len().saturating_sub(1);
        self.named.insert(ix, name);
        name
    }

    fn ids(&self, ix: EntityIx) -> (String, MachineId, EntityId) {
        let entity = self.tree.entity(ix);
        (
            self.uid(ix).to_owned(),
            entity.machine().id().clone(),
            entity.id().clone(),
        )
    }

    /// The rows of one commit. `contexts` is of whom the context is to be stored: with their last commit.
    fn commit(
        &mut self,
        commit: &Commit,
        contexts: &mut SortedMap<EntityIx, usize>,
        made_with: Option<&str>,
    ) {
        for (ix, version) in &commit.writes {
            let of = self.name(*ix);
            let entity = self.tree.entity(*ix);
            let last = contexts.get_mut(ix).is_some_and(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            });
            let context = if commit.made.contains(ix) {
                let made_with = made_with.filter(|_| *ix == EntityIx::ROOT);
                Some(made_with.unwrap_or("{}").to_owned())
            } else {
                last.then(|| json_text(entity.context()))
            };
            self.write.entities.push(EntityRow {
                of,
                version: *version,
                next_seq: entity.next_seq().0,
                context,
                created_at: self.member(*ix).map_or(self.now, |member| member.created_at),
                updated_at: self.now,
            });
        }
        for row in &commit.rows {
            let of = self.name(row.entity);
            let machine = self.tree.entity(row.entity).machine();
            let (region, from, to) = row.names(machine);
            let actions: Vec<ActionView> = actions_of(machine, row).collect();
            self.write.history.push(HistoryRow {
                of,
                region: region.into_owned(),
                from: from.into_owned(),
                to: to.into_owned(),
                event_type: row.event_type().to_owned(),
                params: row.event_params().map_or_else(|| "{}".to_owned(), json_text),
                actions: if actions.is_empty() {
                    "[]".to_owned()
                } else {
                    json_text(&actions)
                },
                timestamp: row.timestamp,
                created_at: self.now,
                key: row.key.to_string(),
                cause: json_text(&row.cause.to_json(self.tree)),
            });
        }
        let first = commit.rows.iter().find(|row| row.entity == commit.target);
        for handed_on in &commit.forwarded_by {
            let Some(row) = first else { continue };
            let (by, to) = (
                self.uid(*handed_on).to_owned(),
                self.uid(commit.target).to_owned(),
            );
            self.write.forwards.push((by, row.key.to_string(), to));
        }
    }

    /// The entries of an entity that were made or whose timers moved.
    fn entries(
        &mut self,
        ix: EntityIx,
        written: impl Fn(RegionIx) -> bool,
        moved: impl Fn(RegionIx) -> bool,
    ) {
        let entity = self.tree.entity(ix);
        let machine = entity.machine();
        for (region, entry) in entity.entries() {
            let id = machine.region(region).id.to_string();
            if written(region) {
                let of = self.name(ix);
                self.write.entries.push(EntryRow {
                    of,
                    region: id,
                    state: machine.state(entry.state).name.to_string(),
                    seq: entry.seq.0,
                    entered_at: entry.entered_at,
                    key: entry.key.as_ref().map(ToString::to_string),
                    timer: (&entry.timer).into(),
                });
            } else if moved(region) {
                let of = self.name(ix);
                self.write.timers.push(TimerRow {
                    of,
                    region: id,
                    seq: entry.seq.0,
                    timer: (&entry.timer).into(),
                });
            }
        }
    }

    /// What a legacy child did was decided on the state of its parent, and on that of whoever handed the event on: these
    /// must not have moved (R9).
    fn guards(&mut self, commits: &[Commit]) {
        let written: SortedSet<EntityIx> = commits
            .iter()
            .flat_map(|commit| &commit.writes)
            .map(|(ix, _)| *ix)
            .gather();
        let parents = written.iter().filter_map(|ix| {
            let place = self.tree.place(*ix).filter(|place| !place.managed)?;
            Some(place.parent)
        });
        let handed_on = commits
            .iter()
            .flat_map(|commit| commit.forwarded_by.iter().copied());
        let read: SortedSet<EntityIx> = parents
            .chain(handed_on)
            .filter(|ix| !written.contains(ix))
            .gather();
        for ix in read {
            self.name(ix);
        }
        let timed: SortedSet<NameIx> = self.write.timers.iter().map(|row| row.of).gather();
        for (ix, of) in &self.named {
            let place = self.tree.place(*ix);
            let over = place.is_some_and(|place| {
                place.status != Status::Active && place.cancelled_with.is_none() && !written.contains(ix)
            });
            if let Some(name) = self.write.names.get_mut(*of) {
                name.over = over;
                name.only_read = !written.contains(ix) && !timed.contains(of);
            }
        }
    }

    /// Where a child hangs by now.
    fn instance(&mut self, ix: EntityIx) {
        let Some(place) = self.tree.place(ix) else { return };
        let of = self.name(ix);
        let machine = self.tree.entity(place.parent).machine();
        self.write.instances.push(InstanceRow {
            of,
            root: self.ids(EntityIx::ROOT),
            parent: self.ids(place.parent),
            region: machine.region(place.region).id.to_string(),
            state: machine.state(place.state).name.to_string(),
            seq: place.seq.0,
            first_seq: place.first_seq.0,
            managed: place.managed,
            status: place.status,
            depth: place.depth,
            path: json_text(&OwnerView::path(self.tree, ix)),
            started: place.started,
            ended: place.ended,
            current: place.current,
            cancelled_with: place.cancelled_with.map(|top| self.uid(top).to_owned()),
        });
    }
}

impl OutboxRow {
    fn new(row: &impl Serialize) -> Self {
        // A tuple is an array: without its bracket it goes behind its tree.
        let text = json_text(row);
        Self(text.strip_prefix('[').unwrap_or(&text).to_owned())
    }
}

impl TreeWrite {
    /// What to write of a tree: its commits, and the timers that moved without one. `None` where that is nothing.
    /// `made_with` is the context with which the root was made.
    pub(crate) fn new(
        tenant: &TenantId,
        tree: &Tree,
        members: &[Member],
        commits: &[Commit],
        moved: &[(EntityIx, RegionIx)],
        made_with: Option<&str>,
        now: Millis,
    ) -> Option<Self> {
        let mut writing = Writing {
            tree,
            members,
            write: Self {
                tenant: tenant.clone(),
                names: Vec::new(),
                entities: Vec::new(),
                entries: Vec::new(),
                history: Vec::new(),
                timers: Vec::new(),
                instances: Vec::new(),
                forwards: Vec::new(),
                outbox: Vec::new(),
                presented: Vec::new(),
            },
            named: SortedMap::new(),
            now,
        };
        // Each changed context is stored once: with the last commit that writes its entity.
        let mut contexts: SortedMap<EntityIx, usize> = SortedMap::new();
        for commit in commits.iter().filter(|commit| commit.context_changed) {
            contexts.insert(commit.target, 0);
        }
        let writes = commits.iter().flat_map(|commit| &commit.writes);
        for (ix, _) in writes {
            if let Some(count) = contexts.get_mut(ix) {
                *count = count.saturating_add(1);
            }
        }
        for commit in commits {
            writing.commit(commit, &mut contexts, made_with);
        }
        let rows = commits.iter().flat_map(|commit| &commit.rows);
        let entered: SortedSet<(EntityIx, RegionIx)> =
            rows.filter_map(|row| Some((row.entity, row.entered()?))).gather();
        let made: SortedSet<EntityIx> = commits.iter().flat_map(|commit| &commit.made).copied().gather();
        let placed: SortedSet<EntityIx> = commits.iter().flat_map(|commit| &commit.placed).copied().gather();
        let moved: SortedSet<(EntityIx, RegionIx)> = moved.iter().copied().gather();
        let mut touched: SortedSet<EntityIx> = made.iter().chain(&placed).copied().gather();
        touched.extend(entered.iter().chain(&moved).map(|(ix, _)| *ix));
        for ix in touched {
            let whole = made.contains(&ix);
            let ended = placed.contains(&ix) && !tree.is_live(ix);
            let timed = |region| {
                let entity = tree.entity(ix);
                let entry = entity.entry(region);
                entity
                    .machine()
                    .first_due(entry.state, entry.entered_at)
                    .is_some()
            };
            writing.entries(
                ix,
                |region| whole || entered.contains(&(ix, region)),
                // A child that ended has no timer any more.
                |region| moved.contains(&(ix, region)) || (ended && timed(region)),
            );
        }
        // A parent is there and lives before its child is made or wakes; a child has ended before its parent does.
        let ends = |ix: &EntityIx| !made.contains(ix) && !tree.is_live(*ix);
        for ix in placed.iter().filter(|ix| !ends(ix)) {
            writing.instance(*ix);
        }
        for ix in placed.iter().rev().filter(|ix| ends(ix)) {
            writing.instance(*ix);
        }
        writing.guards(commits);
        let write = writing.write;
        let nothing = write.entities.is_empty() && write.timers.is_empty();
        (!nothing).then_some(write)
    }

    /// Adds what its commits call for.
    pub(crate) fn add_effects(
        &mut self,
        tree: &Tree,
        uid: &dyn Fn(EntityIx) -> String,
        effects: &[EffectRow],
        presented: &[PresentedRow],
    ) {
        let tenant = self.tenant.as_str().to_owned();
        // Of each lane the first row alone can be claimed.
        let mut lanes: SortedSet<&str> = SortedSet::new();
        for row in effects {
            let entity = tree.entity(row.of);
            let first = row.error.is_none() && lanes.insert(&row.lane);
            self.outbox.push(OutboxRow::new(&(
                &tenant,
                &row.id,
                row.kind,
                &row.lane,
                row.version,
                row.place,
                &row.sink,
                &row.target,
                entity.machine().id(),
                entity.id(),
                &row.effect,
                &row.error,
                u8::from(first),
            )));
        }
        for row in presented {
            let entity = tree.entity(row.of);
            self.presented.push(OutboxRow::new(&(
                &tenant,
                &row.event_id,
                uid(row.of),
                row.version,
                row.place,
                entity.machine().id(),
                entity.id(),
                &row.from,
                &row.to,
                &row.event_type,
                &row.document,
            )));
        }
    }

    /// The incarnation and the identity key of its first row: where that one is stored, all of it is.
    pub(crate) fn key(&self) -> Option<(&str, &str)> {
        let row = self.history.first()?;
        Some((self.names.get(row.of)?.uid.as_str(), row.key.as_str()))
    }
}

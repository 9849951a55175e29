//! One commit over a tree: a step, the children that it ends and starts, and the completions that follow (R2).

mod ending;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::children::{check_fit, completion, conflict, final_target, made_of, too_deep};
use crate::commit::{Cause, Commit, Life, LifeKind, Refusal};
use crate::definition::Reentry;
use crate::entity::{Entity, Entry, Made, Params};
use crate::identity::IdentityKey;
use crate::ids::{MAX_CHILD_ID_BYTES, Millis, Seq};
use crate::machine::{Machine, RegionIx, StateIx, SubMachine};
use crate::step::{Move, Moves, Step, decide};
use crate::tree::{DEEPEST_LEVEL, EntityIx, MOST_ENTITIES, Place, Status, Tree};

/// When a commit happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    /// An event's timestamp, or a timeout's due time: that of every row.
    pub(crate) timestamp: i64,
    /// What the entries it makes begin with (R5, R16).
    pub(crate) entered_at: Millis,
    /// The clock.
    pub(crate) now: Millis,
}

/// How far up a legacy child that became final moves its parents on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advance {
    /// As far as it goes (R9).
    All,
    /// Up to the entity that the event was sent to, which forwarded it (S2.163).
    UpTo(EntityIx),
    /// Not at all: in the seed's contract the parent learns of it by recovery.
    None,
}

/// A commit under way. Where a step of it is refused, the tree is to be undone.
pub(crate) struct Cascade<'a> {
    pub(crate) tree: &'a mut Tree,
    commit: Box<Commit>,
    at: When,
}

type Children = SmallVec<[EntityIx; 4]>;
/// The state and the entry instance of each region.
type Instances = SmallVec<[(StateIx, Seq); 4]>;

impl<'a> Cascade<'a> {
    pub(crate) fn begin(tree: &'a mut Tree, target: EntityIx, at: When) -> Self {
        tree.begin();
        let mut commit = Commit {
            target,
            previous: tree.entity(target).configuration(),
            ..Commit::default()
        };
        // Room for a completion that goes all the way up, so that the lists do not grow step by step.
        let levels = tree.len().min(8);
        commit.rows.reserve(levels);
        commit.writes.reserve(levels);
        commit.lives.reserve(levels);
        commit.placed.reserve(levels);
        Self {
            tree,
            commit: Box::new(commit),
            at,
        }
    }

    pub(crate) fn done(self) -> Box<Commit> {
        self.commit
    }

    pub(crate) fn commit_mut(&mut self) -> &mut Commit {
        &mut self.commit
    }

    /// Moves an entity; ends the children of the entries it left, starts those of the entries it made, and lets those
    /// that are final at their start complete.
    pub(crate) fn step(
        &mut self,
        entity: EntityIx,
        moves: &Moves,
        key: &IdentityKey,
        cause: Cause,
    ) -> Result<(), Refusal> {
        let started = self.step_alone(entity, moves, key, cause)?;
        self.complete_started(started)
    }

    /// The same, without the completions. Gives the children that it started, in region order.
    fn step_alone(
        &mut self,
        entity: EntityIx,
        moves: &Moves,
        key: &IdentityKey,
        cause: Cause,
    ) -> Result<Children, Refusal> {
        self.write(entity);
        let before = self.instances(entity);
        let When {
            timestamp,
            entered_at,
            ..
        } = self.at;
        let step = Step {
            target: entity,
            key: key.clone(),
            cause,
            timestamp,
            entered_at,
            made: self.next_row(),
        };
        step.apply(self.tree.entity_mut(entity), moves, &mut self.commit.rows);
        if before.is_empty() {
            return Ok(Children::new());
        }
        let changed: SmallVec<[(RegionIx, StateIx, Seq); 4]> = before
            .iter()
            .enumerate()
            .map(|(place, (state, seq))| (RegionIx::of(place), *state, *seq))
            .filter(|(region, _, seq)| self.tree.entity(entity).entry(*region).seq != *seq)
            .collect();
        let left: Children = changed
            .iter()
            .filter_map(|(region, _, seq)| self.tree.managed_child(entity, *region, *seq))
            .collect();
        if !left.is_empty() {
            self.cancel(&left, Some(key));
        }
        self.start_all(entity, changed.iter().map(|(region, ..)| *region))
    }

    /// When an entry is made whose row comes next.
    fn next_row(&self) -> Made {
        let row = u32::try_from(self.commit.rows.len()).unwrap_or(u32::MAX);
        Made::Since(self.tree.commits(), row)
    }

    /// What is there before a step, where that can concern children.
    fn instances(&self, entity: EntityIx) -> Instances {
        let entity = self.tree.entity(entity);
        if !entity.machine().has_children() {
            return Instances::new();
        }
        entity
            .entries()
            .map(|(_, entry)| (entry.state, entry.seq))
            .collect()
    }

    /// Completes what is complete, from an entity upward (S2.192).
    pub(crate) fn finish(&mut self, entity: EntityIx, advance: Advance) -> Result<(), Refusal> {
        let mut next = Some(entity);
        while let Some(entity) = next {
            next = match self.complete(entity)? {
                Some((parent, started)) => {
                    self.complete_started(started)?;
                    Some(parent)
                }
                None => self.advance_legacy(entity, advance)?,
            };
        }
        Ok(())
    }

    /// Counts an entity in: its version goes up by one, however often the commit changes it (R3). What only ends or moves
    /// is bounded by its tree: one that two writers at once brought past the bound must still come to its end.
    fn write(&mut self, entity: EntityIx) {
        self.tree.save(entity);
        if !self.tree.mark_written(entity) {
            return;
        }
        let now = self.at.now;
        let written = self.tree.entity_mut(entity);
        written.version = written.version.next();
        written.updated_at = now;
        self.commit.writes.push((entity, written.version));
    }

    /// Counts in what was just made, at version 1.
    pub(crate) fn made(&mut self, entity: EntityIx) -> Result<(), Refusal> {
        self.tree.mark_written(entity);
        let made = self.tree.entity_mut(entity);
        made.updated_at = self.at.now;
        let version = made.version;
        self.commit.made.push(entity);
        self.commit.writes.push((entity, version));
        if self.commit.writes.len() > MOST_ENTITIES {
            return Err(Refusal::CascadeLimit);
        }
        Ok(())
    }

    /// Starts the managed children of all initial states of an entity that was just made (S2.175, S2.176).
    pub(crate) fn start_initial(&mut self, entity: EntityIx) -> Result<(), Refusal> {
        let regions = self.tree.entity(entity).machine().regions().len();
        let started = self.start_all(entity, (0..regions).map(RegionIx::of))?;
        self.complete_started(started)
    }

    fn start_all(
        &mut self,
        parent: EntityIx,
        regions: impl Iterator<Item = RegionIx>,
    ) -> Result<Children, Refusal> {
        let mut started = Children::new();
        for region in regions {
            let entity = self.tree.entity(parent);
            let machine = Arc::clone(entity.machine());
            let entry = entity.entry(region);
            if let Some(sub) = machine.state(entry.state).child().filter(|sub| sub.managed) {
                let entry = entry.clone();
                started.push(self.start(parent, &machine, region, &entry, sub)?);
            }
        }
        Ok(started)
    }

    /// M7: what is final at its start completes at once, after its siblings were started; and what its parent's step
    /// starts then is looked at next. No recursion: only [`MOST_ENTITIES`] ends a loop of such children.
    fn complete_started(&mut self, started: Children) -> Result<(), Refusal> {
        let mut open = started;
        open.reverse();
        while let Some(child) = open.pop() {
            if !self.tree.entity(child).machine().rules().completes_at_start {
                continue;
            }
            if let Some((_, started)) = self.complete(child)? {
                open.extend(started.into_iter().rev());
            }
        }
        Ok(())
    }

    /// Starts the managed child of an entry, or wakes it (S2.174, S2.177, M9).
    fn start(
        &mut self,
        parent: EntityIx,
        machine: &Machine,
        region: RegionIx,
        entry: &Entry,
        sub: &SubMachine,
    ) -> Result<EntityIx, Refusal> {
        let state = &machine.state(entry.state).name;
        let depth = self.tree.depth(parent).saturating_add(1);
        if depth > DEEPEST_LEVEL {
            return Err(too_deep(state));
        }
        let made_of = made_of(self.tree.library(), machine, state, sub)?;
        check_fit(machine, state, sub, &made_of)?;
        let latest = self.tree.latest_child(parent, entry.state, true);
        let later = match (latest, sub.reentry) {
            (None, _) => false,
            // Of another machine by an earlier definition: it is not this one's to wake.
            (Some(latest), _) if self.tree.entity(latest).machine().id() != made_of.id() => {
                self.forget(latest, true);
                sub.reentry != Reentry::Refuse
            }
            (Some(latest), Reentry::Refuse) => {
                return Err(conflict(state, &made_of, self.tree.entity(latest), true));
            }
            (Some(latest), Reentry::Resume) if self.can_wake(latest) => {
                self.wake(latest, entry);
                return Ok(latest);
            }
            // It was cancelled for good.
            (Some(latest), Reentry::Resume) if self.is_cancelled(latest) => {
                return Err(conflict(state, &made_of, self.tree.entity(latest), true));
            }
            (Some(latest), Reentry::Fresh | Reentry::Resume) => {
                self.forget(latest, true);
                true
            }
        };
        let id = self
            .tree
            .entity(parent)
            .id()
            .of_child(state, later.then_some(entry.seq));
        if id.as_str().len() > MAX_CHILD_ID_BYTES {
            return Err(too_deep(state));
        }
        if self.tree.is_taken(made_of.id(), &id) {
            return Err(Refusal::InstanceConflict {
                state: Arc::clone(state),
                machine: made_of.id().clone(),
                entity: id,
                managed: true,
            });
        }
        let place = Place::of_entry(parent, region, entry, Some(depth), self.at.entered_at);
        let entity = Entity::create(made_of, id, Params::new(), self.at.entered_at);
        let child = self.hang(entity, place)?;
        let row = entry.key.clone().map(|key| (parent, key));
        self.live(LifeKind::Started, child, row, None);
        self.start_initial(child)?;
        Ok(child)
    }

    /// Whether a row has moved an entity since it was made.
    pub(crate) fn has_moved(&self, entity: EntityIx) -> bool {
        let mut entries = self.tree.entity(entity).entries();
        entries.any(|(_, entry)| entry.made != Made::AtCreation)
    }

    /// Hangs a new child into the tree.
    pub(crate) fn hang(&mut self, entity: Entity, place: Place) -> Result<EntityIx, Refusal> {
        if !self.tree.has_room(entity.machine()) {
            return Err(Refusal::CascadeLimit);
        }
        let child = self.tree.add(entity, place);
        self.made(child)?;
        self.commit.placed.push(child);
        Ok(child)
    }

    /// Completes a managed child, if it is complete, and moves its parent on (S2.185 to S2.191). Gives the parent then,
    /// and the children that its step started.
    fn complete(&mut self, child: EntityIx) -> Result<Option<(EntityIx, Children)>, Refusal> {
        let Some(place) = self.tree.place(child) else {
            return Ok(None);
        };
        if !place.managed || place.status != Status::Active {
            return Ok(None);
        }
        let Some(target) = self
            .tree
            .sub_machine(place)
            .and_then(|sub| completion(sub, self.tree.entity(child)))
        else {
            return Ok(None);
        };
        let place = place.clone();
        let (parent, sub_key) = (place.parent, self.sub_key(&place));
        let own = || self.commit.rows.iter().rev().filter(|row| row.entity == child);
        let key = own().next().map(|row| row.key.clone());
        let by = own().find(|row| row.begins_step()).map(|row| row.key.clone());
        self.write(child);
        let ended = self.at.entered_at;
        self.tree.entity_mut(child).disarm();
        if let Some(place) = self.tree.place_mut(child) {
            place.status = Status::Completed;
            place.ended = Some(ended);
        }
        self.commit.placed.push(child);
        let row = key.clone().map(|key| (child, key));
        self.live(LifeKind::Completed, child, row, Some((target, sub_key.clone())));
        if self
            .tree
            .children_where(|place| place.parent == child)
            .next()
            .is_some()
        {
            self.end_below(child, by.as_ref());
        }
        let cause = Cause::SubComplete {
            managed: true,
            child,
            key,
        };
        let started = self.move_on(parent, place.region, target, &sub_key, cause)?;
        Ok(Some((parent, started)))
    }

    /// Moves a legacy child's parent on, if the child is final and the parent is still in its state (S2.163, R9). Gives
    /// the parent then.
    fn advance_legacy(&mut self, child: EntityIx, advance: Advance) -> Result<Option<EntityIx>, Refusal> {
        match advance {
            Advance::None => return Ok(None),
            Advance::UpTo(entity) if !self.tree.is_below(child, entity) => return Ok(None),
            Advance::UpTo(_) | Advance::All => {}
        }
        let Some(place) = self.tree.place(child).filter(|place| !place.managed) else {
            return Ok(None);
        };
        let parent = place.parent;
        let Some(region) = self
            .tree
            .legacy_region(child)
            .filter(|_| self.tree.is_live(parent))
        else {
            return Ok(None);
        };
        let moved = self.recover(parent, region, child)?;
        Ok(moved.then_some(parent))
    }

    /// Moves a parent on for a legacy child that is final. Says whether it is.
    pub(crate) fn recover(
        &mut self,
        parent: EntityIx,
        region: RegionIx,
        child: EntityIx,
    ) -> Result<bool, Refusal> {
        let entity = self.tree.entity(parent);
        let entry = entity.entry(region);
        let sub = entity.machine().state(entry.state).child();
        let Some(target) = sub.and_then(|sub| final_target(sub, self.tree.entity(child))) else {
            return Ok(false);
        };
        let key = IdentityKey::Sub {
            region: Arc::clone(&entity.machine().region(region).id),
            state: Arc::clone(&entity.machine().state(entry.state).name),
            seq: entry.seq,
        };
        let cause = Cause::SubComplete {
            managed: false,
            child,
            key: self.tree.entity(child).entry(RegionIx::of(0)).key.clone(),
        };
        let started = self.move_on(parent, region, target, &key, cause)?;
        self.complete_started(started)?;
        Ok(true)
    }

    /// Moves a parent out of a compound state, with its joins.
    fn move_on(
        &mut self,
        parent: EntityIx,
        region: RegionIx,
        target: StateIx,
        key: &IdentityKey,
        cause: Cause,
    ) -> Result<Children, Refusal> {
        let entity = self.tree.entity(parent);
        let own = Move {
            region,
            to: target,
            join: None,
        };
        let moves = decide(entity.machine(), &entity.configuration(), Moves::from_iter([own]))?;
        self.step_alone(parent, &moves, key, cause)
    }

    fn sub_key(&self, place: &Place) -> IdentityKey {
        let parent = self.tree.entity(place.parent).machine();
        IdentityKey::Sub {
            region: Arc::clone(&parent.region(place.region).id),
            state: Arc::clone(&parent.state(place.state).name),
            seq: place.seq,
        }
    }

    fn live(
        &mut self,
        kind: LifeKind,
        child: EntityIx,
        row: Option<(EntityIx, IdentityKey)>,
        advance: Option<(StateIx, IdentityKey)>,
    ) {
        let Some(place) = self.tree.place(child).filter(|place| place.managed) else {
            return;
        };
        self.commit.lives.push(Life {
            kind,
            child,
            parent: place.parent,
            region: place.region,
            state: place.state,
            seq: place.seq,
            row,
            advance,
        });
    }
}

/// Makes the tree of a new root, with the children of its initial states (S2.175): a commit of its own.
///
/// # Errors
/// A child cannot be made.
pub fn create(tree: &mut Tree, now: Millis) -> Result<Box<Commit>, Refusal> {
    let at = When {
        timestamp: now.0,
        entered_at: now,
        now,
    };
    let mut cascade = Cascade::begin(tree, EntityIx::ROOT, at);
    cascade.made(EntityIx::ROOT)?;
    cascade.start_initial(EntityIx::ROOT)?;
    Ok(cascade.done())
}

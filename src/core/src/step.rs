//! One step: an event, from the choice of its transition to the rest of its joins.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::cascade::{Advance, Cascade, When};
use crate::commit::{Cause, Commit, Outcome, Refusal, Row, Rows};
use crate::entity::{Configuration, Entity, Entry, Made, Params, armed};
use crate::guard::Lookup;
use crate::identity::IdentityKey;
use crate::ids::{Millis, Version};
use crate::joins;
use crate::machine::{EventRow, Machine, RegionIx, TransitionIx};
use crate::number::maps_equal;
use crate::tree::{EntityIx, Tree};

/// An event from outside.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its type.
    pub event_type: Arc<str>,
    /// Its params (M14).
    pub params: Arc<Params>,
    /// The timestamp that the caller gave, if any (R14).
    pub timestamp: Option<i64>,
    /// The version that the caller decided on, if it said so.
    pub expected_version: Option<u64>,
}

impl Event {
    /// Whether only the engine may make an event of its type (R6).
    pub fn is_reserved(&self, machine: &Machine) -> bool {
        machine.rules().strict && self.event_type.starts_with('$')
    }

    /// Its timestamp: the caller's, or now (S2.137).
    pub fn timestamp_at(&self, now: Millis) -> i64 {
        self.timestamp.unwrap_or(now.0)
    }

    /// The key under which its target remembers it, where the caller gave a timestamp.
    pub fn identity(&self) -> Option<IdentityKey> {
        let timestamp = self.timestamp?;
        Some(IdentityKey::Event {
            event_type: Arc::clone(&self.event_type),
            timestamp,
            version: None,
            region: None,
        })
    }

    /// The cause of the rows that it makes.
    fn cause(&self) -> Cause {
        Cause::Event {
            event_type: Arc::clone(&self.event_type),
            params: Arc::clone(&self.params),
        }
    }

    /// The key of the row that it makes when its target reaches that version.
    pub fn key(&self, now: Millis, made: Version) -> IdentityKey {
        IdentityKey::Event {
            event_type: Arc::clone(&self.event_type),
            timestamp: self.timestamp_at(now),
            version: self.timestamp.is_none().then_some(made),
            region: None,
        }
    }
}

/// A region's move, decided and not yet applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    pub(crate) region: RegionIx,
    pub(crate) to: crate::machine::StateIx,
    /// The join that makes it; none for a transition.
    pub(crate) join: Option<u32>,
}

/// The moves of one step, in order.
pub(crate) type Moves = SmallVec<[Move; 4]>;

/// Applies an event to an entity of a tree: by its own transitions, never by those of its parent or its children
/// (S2.221). What it completes moves its parents on (S2.223).
///
/// `seen` is the params of the row that the target remembers under [`Event::identity`], if there is one. Due
/// timeouts of a machine with exact timers have been applied before ([`crate::timeouts::catch_up`]).
///
/// The checks come in the order of R12: the event type, duplicate or identity conflict, whether the entity is live, the
/// expected version, then the transitions. The tree changes only where the outcome is a commit.
pub fn apply(
    tree: &mut Tree,
    target: EntityIx,
    event: &Event,
    seen: Option<&Params>,
    now: Millis,
) -> Outcome {
    if let Some(outcome) = before_transitions(tree, target, event, seen, now) {
        return outcome;
    }
    if !tree.is_family() {
        return alone(tree, target, event, now);
    }
    let advance = if tree.entity(target).machine.rules().mended_children {
        Advance::All
    } else {
        Advance::None
    };
    tree.keep();
    match take(tree, target, event, advance, now) {
        Ok(Some(commit)) => {
            tree.release();
            Outcome::Commit(commit)
        }
        Ok(None) => {
            tree.release();
            Outcome::NoTransition
        }
        Err(refusal) => {
            tree.undo();
            Outcome::Refusal(refusal)
        }
    }
}

/// What comes of an event before any transition is looked at.
pub(crate) fn before_transitions(
    tree: &Tree,
    target: EntityIx,
    event: &Event,
    seen: Option<&Params>,
    now: Millis,
) -> Option<Outcome> {
    let entity = tree.entity(target);
    if event.is_reserved(&entity.machine) {
        let event_type = Arc::clone(&event.event_type);
        return Some(Outcome::Refusal(Refusal::ReservedEventType { event_type }));
    }
    if let Some(seen) = seen {
        return Some(replay(event, seen, now));
    }
    if let Some(place) = tree.place(target).filter(|_| !tree.is_live(target)) {
        return Some(Outcome::Refusal(Refusal::InstanceNotActive {
            entity: entity.id.clone(),
            status: place.status.name(),
        }));
    }
    let expected = event.expected_version?;
    (expected != entity.version.0).then_some(Outcome::Refusal(Refusal::VersionConflict {
        expected,
        actual: Some(entity.version),
    }))
}

/// The step of an entity that has no children and is none: nothing of it can be refused once it was decided.
fn alone(tree: &mut Tree, target: EntityIx, event: &Event, now: Millis) -> Outcome {
    let entity = tree.entity(target);
    let machine = &*entity.machine;
    let Some(row) = machine.event(&event.event_type) else {
        return Outcome::NoTransition;
    };
    let chosen = choose(machine, entity, row, &event.params);
    if chosen.is_empty() {
        return Outcome::NoTransition;
    }
    let previous = entity.configuration();
    let moves = match decide(machine, &previous, moves_by(machine, &chosen)) {
        Ok(moves) => moves,
        Err(refusal) => return Outcome::Refusal(refusal),
    };
    let made = Made::Since(tree.begin(), 0);
    let entity = tree.entity_mut(target);
    entity.version = entity.version.next();
    entity.updated_at = now;
    let version = entity.version;
    let step = Step {
        target,
        key: event.key(now, version),
        cause: event.cause(),
        timestamp: event.timestamp_at(now),
        entered_at: now,
        made,
    };
    let mut commit = Box::new(Commit {
        target,
        previous,
        writes: SmallVec::from_buf([(target, version)]),
        transitions: chosen,
        ..Commit::default()
    });
    // Into their place: a row is large, and a flat machine's event makes one.
    step.apply(entity, &moves, &mut commit.rows);
    commit.context_changed = merge(&mut entity.context, &event.params);
    Outcome::Commit(commit)
}

/// The step of an entity of a family, with all that follows from it, where a transition of its own takes the event. A
/// refusal leaves changes behind, to be undone.
pub(crate) fn take(
    tree: &mut Tree,
    target: EntityIx,
    event: &Event,
    advance: Advance,
    now: Millis,
) -> Result<Option<Box<Commit>>, Refusal> {
    let entity = tree.entity(target);
    let machine = Arc::clone(&entity.machine);
    let Some(row) = machine.event(&event.event_type) else {
        return Ok(None);
    };
    let chosen = choose(&machine, entity, row, &event.params);
    if chosen.is_empty() {
        return Ok(None);
    }
    let moves = decide(&machine, &entity.configuration(), moves_by(&machine, &chosen))?;
    let key = event.key(now, entity.version.next());
    let at = When {
        timestamp: event.timestamp_at(now),
        entered_at: now,
        now,
    };
    let mut cascade = Cascade::begin(tree, target, at);
    cascade.commit_mut().transitions = chosen;
    cascade.step(target, &moves, &key, event.cause())?;
    let changed = merge(&mut cascade.tree.entity_mut(target).context, &event.params);
    cascade.commit_mut().context_changed = changed;
    cascade.finish(target, advance)?;
    Ok(Some(cascade.done()))
}

/// S2.138, S2.139.
pub(crate) fn replay(event: &Event, seen: &Params, now: Millis) -> Outcome {
    if maps_equal(seen, &event.params) {
        return Outcome::Duplicate;
    }
    Outcome::Refusal(Refusal::EventIdentityConflict {
        event_type: Arc::clone(&event.event_type),
        timestamp: event.timestamp_at(now),
    })
}

/// The transitions that an event takes: the first in definition order whose region is in `from` and whose guard
/// passes (S2.26, S2.27), or in a broadcast the first of each region, in region order (M16).
fn choose(
    machine: &Machine,
    entity: &Entity,
    row: &EventRow,
    params: &Params,
) -> SmallVec<[TransitionIx; 1]> {
    let lookup = Lookup {
        params: Some(params),
        context: &entity.context,
    };
    let passes = |transition: &TransitionIx| {
        machine
            .transition(*transition)
            .guard
            .as_ref()
            .is_none_or(|guard| guard.passes(lookup))
    };
    if row.broadcast {
        let firsts = entity
            .entries
            .iter()
            .filter_map(|entry| row.leaving(entry.state).iter().find(|t| passes(t)));
        return firsts.copied().collect();
    }
    if let [entry] = entity.entries.as_slice() {
        return row
            .leaving(entry.state)
            .iter()
            .find(|t| passes(t))
            .copied()
            .into_iter()
            .collect();
    }
    let mut lists: SmallVec<[&[TransitionIx]; 8]> = entity
        .entries
        .iter()
        .map(|entry| row.leaving(entry.state))
        .filter(|list| !list.is_empty())
        .collect();
    loop {
        let next = lists
            .iter_mut()
            .filter(|list| !list.is_empty())
            .min_by_key(|list| list.first().copied());
        let Some((first, rest)) =
            next.and_then(|list| list.split_first().map(|(first, rest)| (*first, (list, rest))))
        else {
            return SmallVec::new();
        };
        if passes(&first) {
            return SmallVec::from_buf([first]);
        }
        let (list, rest) = rest;
        *list = rest;
    }
}

/// The moves of a step: its own, then joins to rest.
pub(crate) fn decide(machine: &Machine, previous: &Configuration, own: Moves) -> Result<Moves, Refusal> {
    let mut moves = own;
    if !machine.joins().is_empty() {
        joins::settle(machine, previous, &mut moves)?;
    }
    Ok(moves)
}

/// The moves of transitions.
pub(crate) fn moves_by(machine: &Machine, chosen: &[TransitionIx]) -> Moves {
    let transitions = chosen.iter().map(|transition| machine.transition(*transition));
    let moves = transitions.map(|transition| Move {
        region: transition.region,
        to: transition.to,
        join: None,
    });
    moves.collect()
}

/// A decided step, about to be applied to its entity.
pub(crate) struct Step {
    pub(crate) target: EntityIx,
    /// The key of its first row.
    pub(crate) key: IdentityKey,
    pub(crate) cause: Cause,
    pub(crate) timestamp: i64,
    /// What the entries it makes begin with (R5, R16).
    pub(crate) entered_at: Millis,
    /// When its first entry is made.
    pub(crate) made: Made,
}

impl Step {
    /// Starts an entry instance for each move, and adds what happened to the rows of the commit.
    pub(crate) fn apply(self, entity: &mut Entity, moves: &Moves, rows: &mut Rows) {
        let Entity {
            machine,
            entries,
            next_seq,
            ..
        } = entity;
        let n = *next_seq;
        let mut own = Some((self.key, self.cause));
        let begun = rows.len();
        let mut fired = 0_u32;
        for change in moves {
            let region = machine.region(change.region);
            let state = machine.state(change.to);
            let mut actions: Vec<_> = state.on_enter.iter().map(Arc::clone).collect();
            let (key, cause) = match (rows.get(begun), change.join) {
                (None, _) => {
                    // INVARIANT: only the first row takes the step's own key and cause.
                    let Some(own) = own.take() else { continue };
                    own
                }
                (Some(first), None) => (later_key(&first.key, &region.id), first.cause.clone()),
                (Some(first), Some(join)) => {
                    let key = IdentityKey::Join {
                        region: Arc::clone(&region.id),
                        n,
                        index: fired,
                    };
                    fired = fired.saturating_add(1);
                    let joined = machine.joins().get(join as usize);
                    actions.extend(joined.iter().flat_map(|join| join.actions.iter().map(Arc::clone)));
                    let by = first.key.clone();
                    (key, Cause::Join { index: join, by })
                }
            };
            let seq = *next_seq;
            *next_seq = seq.next();
            let entered = Entry {
                state: change.to,
                seq,
                entered_at: self.entered_at,
                timer: armed(machine.first_due(change.to, self.entered_at)),
                key: Some(key.clone()),
                made: self.made.later(rows.len().saturating_sub(begun)),
            };
            #[expect(
                clippy::indexing_slicing,
                reason = "INVARIANT: one entry for each region (I4)"
            )]
            let left = std::mem::replace(&mut entries[change.region.place()], entered);
            rows.push(Row {
                entity: self.target,
                region: change.region,
                from: left.state,
                to: change.to,
                seq,
                timestamp: self.timestamp,
                key,
                cause,
                actions,
            });
        }
    }
}

/// The key of a broadcast's later rows: its event's, with the region appended (R1).
fn later_key(first: &IdentityKey, region: &Arc<str>) -> IdentityKey {
    match first {
        IdentityKey::Event {
            event_type,
            timestamp,
            version,
            ..
        } => IdentityKey::Event {
            event_type: Arc::clone(event_type),
            timestamp: *timestamp,
            version: *version,
            region: Some(Arc::clone(region)),
        },
        other => other.clone(),
    }
}

/// Merges params into a context (S2.29). Says whether that changed it.
fn merge(context: &mut Arc<Params>, params: &Params) -> bool {
    let mut changed = false;
    for (name, value) in params {
        if context.get(name) == Some(value) {
            continue;
        }
        changed = true;
        let context = Arc::make_mut(context);
        match context.get_mut(name) {
            Some(slot) => slot.clone_from(value),
            None => {
                context.insert(name.clone(), value.clone());
            }
        }
    }
    changed
}

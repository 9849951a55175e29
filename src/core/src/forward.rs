//! An event without a target: the entity's own transitions, or else its legacy children (S2.158 to S2.172, R9, M11).

use std::sync::Arc;

use crate::cascade::{Advance, Cascade, When};
use crate::children::{final_target, made_of, too_deep};
use crate::commit::{Commit, Outcome, Refusal};
use crate::entity::{Configuration, Entity, Made, Params};
use crate::ids::{MAX_CHILD_ID_BYTES, Millis};
use crate::machine::{Machine, RegionIx, SubMachine};
use crate::number::maps_equal;
use crate::step::{self, Event, before_transitions, take};
use crate::tree::{EntityIx, Place, Status, Tree};

/// What came of an event that was sent to an entity without a target.
#[derive(Debug)]
pub struct Delivered {
    /// Commits of their own that stand before it, whatever comes of the event: a legacy child was made, or was found
    /// final and moved its parent on (S2.161, R9).
    pub before: Vec<Commit>,
    /// What came of the event itself.
    pub outcome: Outcome,
    /// The states of the entity before the event.
    pub previous: Configuration,
    /// Its legacy child, where the event went there.
    pub child: Option<Handled>,
}

/// A legacy child that an event was handed to.
#[derive(Debug, Clone, PartialEq)]
pub struct Handled {
    /// The child.
    pub child: EntityIx,
    /// Its states before.
    pub previous: Configuration,
}

/// Tells which params an entity remembers under the event's identity.
pub type Seen<'a> = &'a dyn Fn(EntityIx) -> Option<Arc<Params>>;

/// Applies an event to an entity, or hands it on to its legacy children where no transition of its own takes it: in
/// region order, and the first that handles it wins.
///
/// The checks come in the order of [`step::apply`]. The tree changes only where the outcome is no refusal, and by what
/// stands before it.
pub fn deliver(tree: &mut Tree, entity: EntityIx, event: &Event, seen: Seen<'_>, now: Millis) -> Delivered {
    let previous = tree.entity(entity).configuration();
    let remembered = seen(entity);
    if let Some(outcome) = before_transitions(tree, entity, event, remembered.as_deref(), now) {
        return Delivered {
            before: Vec::new(),
            outcome,
            previous,
            child: None,
        };
    }
    if !tree.entity(entity).machine().has_children() {
        return Delivered {
            before: Vec::new(),
            outcome: step::apply(tree, entity, event, None, now),
            previous,
            child: None,
        };
    }
    let mut delivery = Delivery {
        addressed: entity,
        event,
        again: Event {
            expected_version: None,
            ..event.clone()
        },
        seen,
        now,
        made: Vec::new(),
        chain: Vec::new(),
    };
    let mut before = Vec::new();
    loop {
        tree.keep();
        let previous = tree.entity(entity).configuration();
        delivery.chain.clear();
        // What stood before may have ended it.
        let came = match before_transitions(tree, entity, &delivery.again, None, now) {
            Some(Outcome::Refusal(refusal)) => Err(refusal),
            _ => delivery.attempt(tree, entity),
        };
        let outcome = match came {
            Ok(Came::Commit(commit)) => Outcome::Commit(commit),
            Ok(Came::Nothing) => Outcome::NoTransition,
            Ok(Came::Duplicate) => {
                delivery.chain.clear();
                if tree.entity(entity).machine().rules().mended_children {
                    Outcome::Duplicate
                } else {
                    // S2.168: in the seed's contract its replay is no transition of anybody.
                    Outcome::NoTransition
                }
            }
            Ok(Came::MovedOn(commit)) => {
                tree.release();
                before.append(&mut delivery.made);
                before.extend(commit.map(|commit| *commit));
                continue;
            }
            Err(refusal) => {
                tree.undo();
                return Delivered {
                    before,
                    outcome: Outcome::Refusal(refusal),
                    previous,
                    child: None,
                };
            }
        };
        tree.release();
        before.append(&mut delivery.made);
        return Delivered {
            before,
            outcome,
            previous,
            child: delivery.chain.into_iter().next(),
        };
    }
}

struct Delivery<'a> {
    addressed: EntityIx,
    event: &'a Event,
    /// The event, once its expected version was checked.
    again: Event,
    seen: Seen<'a>,
    now: Millis,
    /// The commits that made children on the way.
    made: Vec<Commit>,
    /// The children on the way to the one that handles it.
    chain: Vec<Handled>,
}

enum Came {
    /// It moved the tree.
    Commit(Box<Commit>),
    /// Nobody takes it.
    Nothing,
    /// A child has applied it before.
    Duplicate,
    /// A parent was moved on before it was looked at: it is to be looked at again.
    MovedOn(Option<Box<Commit>>),
}

impl Delivery<'_> {
    fn attempt(&mut self, tree: &mut Tree, entity: EntityIx) -> Result<Came, Refusal> {
        let mended = tree.entity(entity).machine().rules().mended_children;
        let advance = match (mended, entity == self.addressed) {
            (true, _) => Advance::All,
            (false, true) => Advance::None,
            (false, false) => Advance::UpTo(self.addressed),
        };
        if let Some(commit) = take(tree, entity, self.event, advance, self.now)? {
            return Ok(Came::Commit(commit));
        }
        let machine = Arc::clone(tree.entity(entity).machine());
        for region in (0..machine.regions().len()).map(RegionIx::of) {
            let state = tree.entity(entity).entry(region).state;
            let Some(sub) = machine.state(state).child().filter(|sub| !sub.managed) else {
                continue;
            };
            match self.hand_on(tree, entity, &machine, region, sub)? {
                Came::Nothing => {}
                Came::Commit(mut commit) => {
                    if mended && self.event.identity().is_some() && commit.target != entity {
                        commit.forwarded_by.insert(0, entity);
                    }
                    return Ok(Came::Commit(commit));
                }
                other => return Ok(other),
            }
        }
        Ok(Came::Nothing)
    }

    /// Hands the event to the legacy child of a region.
    fn hand_on(
        &mut self,
        tree: &mut Tree,
        parent: EntityIx,
        machine: &Machine,
        region: RegionIx,
        sub: &SubMachine,
    ) -> Result<Came, Refusal> {
        let entry = tree.entity(parent).entry(region).clone();
        let Some(child) = self.child(tree, parent, machine, region, sub)? else {
            // Its own children moved its parent on when they were made.
            return Ok(Came::MovedOn(None));
        };
        let previous = tree.entity(child).configuration();
        self.chain.push(Handled { child, previous });
        if final_target(sub, tree.entity(child)).is_some() {
            return self.recover(tree, parent, region, child, entry.made);
        }
        if let Some(seen) = (self.seen)(child) {
            if !maps_equal(&seen, &self.event.params) {
                return Err(Refusal::EventIdentityConflict {
                    event_type: Arc::clone(&self.event.event_type),
                    timestamp: self.event.timestamp_at(self.now),
                });
            }
            return Ok(Came::Duplicate);
        }
        let came = self.attempt(tree, child)?;
        if matches!(came, Came::Nothing) {
            self.chain.pop();
        }
        Ok(came)
    }

    /// A child that is final already moves its parent on, if its final state is proven to be newer than the parent's
    /// entry (S2.165, S2.166).
    fn recover(
        &self,
        tree: &mut Tree,
        parent: EntityIx,
        region: RegionIx,
        child: EntityIx,
        entered: Made,
    ) -> Result<Came, Refusal> {
        let entity = tree.entity(parent);
        let machine = Arc::clone(entity.machine());
        let made = tree.entity(child).entry(RegionIx::of(0)).made;
        if made == Made::AtCreation || made < entered {
            return Err(Refusal::UncorrelatedChildFinal {
                child: tree.entity(child).id().clone(),
                state: Arc::clone(&machine.state(entity.entry(region).state).name),
            });
        }
        let advance = if machine.rules().mended_children {
            Advance::All
        } else {
            Advance::UpTo(self.addressed)
        };
        let mut cascade = Cascade::begin(tree, parent, self.at());
        cascade.recover(parent, region, child)?;
        cascade.finish(parent, advance)?;
        let commit = cascade.done();
        Ok(if machine.rules().mended_children {
            Came::MovedOn(Some(commit))
        } else {
            Came::Commit(commit)
        })
    }

    /// The legacy child of an entry: what is there, or a new one. None where making it moved its parent on.
    fn child(
        &mut self,
        tree: &mut Tree,
        parent: EntityIx,
        machine: &Machine,
        region: RegionIx,
        sub: &SubMachine,
    ) -> Result<Option<EntityIx>, Refusal> {
        let entry = tree.entity(parent).entry(region).clone();
        let state = &machine.state(entry.state).name;
        let made_of = made_of(tree.library(), machine, state, sub)?;
        let id = tree.entity(parent).id().of_child(state, None);
        let conflict = || Refusal::InstanceConflict {
            state: Arc::clone(state),
            machine: made_of.id().clone(),
            entity: id.clone(),
            managed: false,
        };
        if let Some(child) = tree.find(made_of.id(), &id) {
            let own =
                |place: &Place| place.parent == parent && !place.managed && place.status == Status::Active;
            return if tree.place(child).is_some_and(own) {
                Ok(Some(child))
            } else {
                Err(conflict())
            };
        }
        if tree.is_taken(made_of.id(), &id) {
            return Err(conflict());
        }
        if id.as_str().len() > MAX_CHILD_ID_BYTES {
            return Err(too_deep(state));
        }
        let mended = machine.rules().mended_children;
        let place = Place::of_entry(parent, region, &entry, None, self.now);
        let entity = Entity::create(made_of, id, Params::new(), self.now);
        let mut cascade = Cascade::begin(tree, parent, self.at());
        let child = cascade.hang(entity, place)?;
        if mended {
            cascade.start_initial(child)?;
            // Only a child of its own can have moved it on by now: what it is made in proves nothing.
            if cascade.has_moved(child) {
                cascade.finish(child, Advance::All)?;
            }
        }
        let mut commit = cascade.done();
        commit.target = child;
        commit.previous = tree.entity(child).configuration();
        self.made.push(*commit);
        let stands = tree.entity(parent).entry(region).seq == entry.seq;
        Ok(stands.then_some(child))
    }

    fn at(&self) -> When {
        When {
            timestamp: self.event.timestamp_at(self.now),
            entered_at: self.now,
            now: self.now,
        }
    }
}

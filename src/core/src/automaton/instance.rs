//! An entity that lives in memory, with a clock of its own.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Entered, EventIx, Point, Unsent};
use crate::entity::{Configuration, Entity, Entry, Made, Params, Timer, armed};
use crate::identity::IdentityKey;
use crate::ids::{EntityId, Millis, Seq, Version};
use crate::machine::{Machine, RegionIx};

/// An entity that lives in memory, with a clock of its own. It is used with the automaton that it was first used with.
#[derive(Debug)]
pub struct Instance {
    id: EntityId,
    at: Arc<Point>,
    /// The number of its point, and in which generation; a number that no table has where it was not numbered.
    place: (u32, u32),
    version: Version,
    next_seq: Seq,
    /// INVARIANT: one entry for each region, in region order (I4).
    entries: SmallVec<[Held; 2]>,
    updated_at: Millis,
    now: Millis,
    /// When its earliest timer is due; [`NEVER`] where none is armed.
    due: Millis,
}

/// The number of no point.
const NOWHERE: u32 = u32::MAX;

/// An entry instance, but for its state, which its point says.
#[derive(Debug)]
struct Held {
    seq: Seq,
    entered_at: Millis,
    /// When its timer is due; [`NEVER`] where none is armed.
    due: Millis,
    made_by: MadeBy,
}

/// The end of time.
const NEVER: Millis = Millis(i64::MAX);

/// The row that started an entry, from which its identity key is made when asked for.
#[derive(Debug)]
enum MadeBy {
    /// An event that had no timestamp, when it was entered; a later row of its step names its region.
    Event {
        event: EventIx,
        version: Version,
        later: bool,
    },
    /// The join of that place in the step whose first entry had that number.
    Join { n: Seq, index: u32 },
    /// Whatever is known of it.
    Known(Box<Known>),
}

#[derive(Debug)]
struct Known {
    key: Option<IdentityKey>,
    made: Made,
    timer: Timer,
}

/// By itself: it is rare, and long where it would stand in each step.
#[cold]
#[inline(never)]
fn forget(known: Box<Known>) {
    drop(known);
}

impl Instance {
    /// An entity without children, at a time by its own clock.
    pub fn of(entity: Entity, now: Millis) -> Self {
        let mut instance = Self {
            id: entity.id.clone(),
            at: Arc::new(Point {
                configuration: Configuration::new(),
                context: Arc::clone(&entity.context),
            }),
            place: (0, NOWHERE),
            version: entity.version,
            next_seq: entity.next_seq,
            entries: SmallVec::new(),
            updated_at: entity.updated_at,
            now,
            due: NEVER,
        };
        instance.become_entity(entity);
        instance
    }

    /// Its id.
    pub fn id(&self) -> &EntityId {
        &self.id
    }

    /// How many commits wrote it.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The current state of each region.
    pub fn configuration(&self) -> &Configuration {
        &self.at.configuration
    }

    /// Its context.
    pub fn context(&self) -> &Arc<Params> {
        &self.at.context
    }

    /// What its clock says.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// When its earliest armed timer is due, if one is.
    pub fn due(&self) -> Option<Millis> {
        (self.due < NEVER).then_some(self.due)
    }

    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due <= self.now && self.due < NEVER
    }

    pub(super) fn set_clock(&mut self, to: Millis) -> Result<(), Box<Unsent>> {
        if to < self.now {
            return Err(Box::new(Unsent::Backwards { now: self.now, to }));
        }
        self.now = to;
        Ok(())
    }

    pub(super) fn point(&self) -> &Arc<Point> {
        &self.at
    }

    /// The number of its point, where it was given in that generation.
    #[inline]
    pub(super) fn place_in(&self, generation: u32) -> Option<u32> {
        let (given_in, place) = self.place;
        (given_in == generation && place != NOWHERE).then_some(place)
    }

    /// Stands at a point that has that number in a generation.
    #[inline]
    pub(super) fn stand(&mut self, at: Arc<Point>, generation: u32, place: u32) {
        self.at = at;
        self.place = (generation, place);
    }

    /// Starts the entries of a step by an event, now.
    #[inline]
    pub(super) fn enter(&mut self, entered: &[Entered], event: EventIx) {
        let now = self.now;
        let n = self.next_seq;
        let mut timed = self.due < NEVER;
        self.version = self.version.next();
        self.updated_at = now;
        let mut later = false;
        for enters in entered {
            let due = match enters.delay {
                Some(delay) => now.after(delay),
                None => NEVER,
            };
            timed |= due < NEVER;
            let made_by = match enters.join {
                Some(index) => MadeBy::Join { n, index },
                None => MadeBy::Event {
                    event,
                    version: self.version,
                    later,
                },
            };
            later = true;
            let held = Held {
                seq: self.next_seq,
                entered_at: now,
                due,
                made_by,
            };
            self.next_seq = self.next_seq.next();
            if let Some(slot) = self.entries.get_mut(enters.region.place()) {
                let left = std::mem::replace(slot, held);
                if let MadeBy::Known(known) = left.made_by {
                    forget(known);
                }
            }
        }
        if timed {
            self.find_due();
        }
    }

    #[inline(never)]
    fn find_due(&mut self) {
        let first = self.entries.iter().map(|held| held.due).min();
        self.due = first.unwrap_or(NEVER);
    }

    /// Becomes what a step that is not remembered made of it.
    pub(super) fn become_entity(&mut self, entity: Entity) {
        self.at = Arc::new(Point {
            configuration: entity.configuration(),
            context: entity.context,
        });
        self.place = (0, NOWHERE);
        self.version = entity.version;
        self.next_seq = entity.next_seq;
        self.updated_at = entity.updated_at;
        let held = entity.entries.into_iter().map(|entry| Held {
            seq: entry.seq,
            entered_at: entry.entered_at,
            due: entry.timer.armed().unwrap_or(NEVER),
            made_by: MadeBy::Known(Box::new(Known {
                key: entry.key,
                made: entry.made,
                timer: entry.timer,
            })),
        });
        self.entries = held.collect();
        self.find_due();
    }

    /// The entity that it is now; `event_type` says the type of a numbered event.
    pub(super) fn entity(&self, machine: &Arc<Machine>, event_type: impl Fn(EventIx) -> Arc<str>) -> Entity {
        let entries = self.entries.iter().zip(&self.at.configuration);
        let entries = entries.enumerate().map(|(place, (held, state))| {
            let region = &machine.region(RegionIx::of(place)).id;
            let timer = armed((held.due < NEVER).then_some(held.due));
            let (key, made, timer) = match &held.made_by {
                MadeBy::Known(known) => (known.key.clone(), known.made, known.timer.clone()),
                MadeBy::Event {
                    event,
                    version,
                    later,
                } => {
                    let key = IdentityKey::Event {
                        event_type: event_type(*event),
                        timestamp: held.entered_at.0,
                        version: Some(*version),
                        region: later.then(|| Arc::clone(region)),
                    };
                    (Some(key), Made::Stored(0), timer)
                }
                MadeBy::Join { n, index } => {
                    let key = IdentityKey::Join {
                        region: Arc::clone(region),
                        n: *n,
                        index: *index,
                    };
                    (Some(key), Made::Stored(0), timer)
                }
            };
            Entry {
                state: *state,
                seq: held.seq,
                entered_at: held.entered_at,
                timer,
                key,
                made,
            }
        });
        Entity {
            machine: Arc::clone(machine),
            id: self.id.clone(),
            version: self.version,
            next_seq: self.next_seq,
            entries: entries.collect(),
            context: Arc::clone(&self.at.context),
            updated_at: self.updated_at,
        }
    }
}

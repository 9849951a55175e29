//! Steps that were decided before: a lazy automaton over [`step::apply`].
//!
//! What an event does to an entity that has no children and is none depends on the entity's states and context, and on
//! the event's type and params. Versions, numbers of entries and times only count on. So states with a context (a
//! point) and events are numbered, and what `step::apply` said of a pair is kept for the next time. Nothing is decided
//! here.
//!
//! # Driving it
//!
//! 1. [`Automaton::new`] for a machine without children, and an [`Instance`] for each entity that is to live in memory.
//! 2. [`Automaton::event`] numbers an event once; [`Automaton::send`] sends it as often as wanted.
//! 3. [`Automaton::advance`] moves an instance's own clock on, and fires what is due by then.
//!
//! Points are forgotten when there are many of them, and met anew; numbered events are not, for their numbers are the
//! caller's.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use statewright_core::automaton::{Automaton, Instance};
//! use statewright_core::definition::Definition;
//! use statewright_core::entity::{Entity, Params};
//! use statewright_core::ids::{EntityId, Millis};
//! use statewright_core::machine::Machine;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let valid = Definition::read(&json!({
//!     "machine_id": "door", "states": ["open", "shut"], "initial_state": "shut",
//!     "transitions": [{"from": "shut", "to": "open", "on": "push"}, {"from": "open", "to": "shut", "on": "push"}]
//! }))
//! .map_err(|faults| format!("{faults:?}"))?;
//! let machine = Arc::new(Machine::compile(&valid)?);
//! let mut automaton = Automaton::new(Arc::clone(&machine)).ok_or("it has children")?;
//!
//! let door = Entity::create(machine, EntityId::new("front")?, Params::new(), Millis(0));
//! let mut door = Instance::of(door, Millis(0));
//! let push = automaton.event("push", &Arc::default())?;
//! for _ in 0..1000 {
//!     assert!(automaton.send(&mut door, push)?);
//! }
//! assert_eq!(automaton.entity(&door).version().0, 1001);
//! # Ok(())
//! # }
//! ```

mod choice;
mod instance;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::commit::{Commit, Outcome, Refusal};
use crate::entity::{Configuration, Entity, Params};
use crate::error::Error;
use crate::ids::Millis;
use crate::machine::{Machine, RegionIx};
use crate::request::{MAX_CONTEXT_BYTES, MAX_WRITTEN_BYTES, json_bytes};
use crate::snapshot::{Living, Snapshot};
use crate::step::{self, Event};
use crate::timeouts::{CATCH_UP_LIMIT, catch_up};
use crate::tree::{EntityIx, Tree};

pub use choice::{Choice, Choices, Enters, Reads, choose, first_delay, numbers, reads};
pub use instance::Instance;

/// Most events that are numbered.
pub const MOST_EVENTS: usize = 1 << 16;
/// Most timeouts that one move of the clock fires.
pub const MOST_FIRED: usize = 1 << 16;
/// So many points, or steps, or bytes of contexts are kept; then all are forgotten.
const MOST_POINTS: usize = 1 << 12;
const MOST_STEPS: usize = 1 << 16;
const MOST_BYTES: usize = 4 << 20;

/// An event that an automaton numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventIx(u32);

impl EventIx {
    /// The event of that number; one that its automaton never gave moves nothing.
    pub fn at(number: u32) -> Self {
        Self(number)
    }

    /// Its number, from 0.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Why an instance does not take an event, or its clock does not move. Nothing is lost: what was fired stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// The event is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// More timeouts are due than may be fired at once (M5).
    #[error("more than {most} timeouts are due; the same again goes on")]
    TimeoutsPending {
        /// So many were fired.
        most: usize,
    },
    /// The event makes more than a bound allows.
    #[error("{what} has {bytes} bytes; at most {most} are allowed")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// The clock stands later already.
    #[error("the clock stands at {now}, after {to}; it moves on only")]
    Backwards {
        /// Where it stands.
        now: Millis,
        /// Where it was to go.
        to: Millis,
    },
    /// So many events have numbers already.
    #[error("{MOST_EVENTS} events are numbered; send one that comes once by its type and params")]
    TooManyEvents,
    /// No event has that number.
    #[error("no event has the number {number}")]
    NoSuchEvent {
        /// The number.
        number: u32,
    },
}

impl From<Unsent> for Error {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::Refused(refusal) => refusal.into(),
            Unsent::TimeoutsPending { most } => Self::TimeoutsPending { most },
            Unsent::TooLarge { what, bytes, most } => Self::TooLarge { what, bytes, most },
            Unsent::Backwards { now, .. } => {
                Self::invalid("now", unsent.to_string(), format!("{now} or later"))
            }
            Unsent::TooManyEvents | Unsent::NoSuchEvent { .. } => {
                Self::invalid("event", unsent.to_string(), "a handle that `event` gave")
            }
        }
    }
}

/// States and a context.
#[derive(Debug)]
struct Point {
    configuration: Configuration,
    context: Arc<Params>,
}

/// What an event does at a point.
#[derive(Debug)]
enum Taken {
    /// Entries of regions, in order, and where they lead.
    Moved(Moved),
    Stays,
    Refused(Box<Unsent>),
}

#[derive(Debug)]
struct Moved {
    next: Arc<Point>,
    /// Its number.
    place: u32,
    entered: SmallVec<[Entered; 2]>,
}

impl Taken {
    #[inline]
    fn take(&self, instance: &mut Instance, event: EventIx, generation: u32) -> Result<bool, Box<Unsent>> {
        match self {
            Self::Moved(moved) => {
                instance.enter(&moved.entered, event);
                instance.stand(Arc::clone(&moved.next), generation, moved.place);
                Ok(true)
            }
            Self::Stays => Ok(false),
            Self::Refused(unsent) => refuse(unsent),
        }
    }
}

#[cold]
#[inline(never)]
fn refuse(unsent: &Unsent) -> Result<bool, Box<Unsent>> {
    Err(Box::new(unsent.clone()))
}

/// A state that a region enters.
#[derive(Debug, Clone, Copy)]
struct Entered {
    region: RegionIx,
    /// The place of the join that makes it among those of its step; none for a transition.
    join: Option<u32>,
    /// Its first timeout, in milliseconds.
    delay: Option<u64>,
}

/// The steps that were met, of a machine without children.
#[derive(Debug)]
pub struct Automaton {
    machine: Arc<Machine>,
    exact_timers: bool,
    events: Vec<Numbered>,
    event_by_text: FxHashMap<Box<str>, EventIx>,
    /// Counts how often all points were forgotten.
    generation: u32,
    points: Vec<Kept>,
    point_by_name: FxHashMap<(u32, Configuration), u32>,
    context_by_text: FxHashMap<Box<str>, u32>,
    context_bytes: usize,
    steps: Vec<Taken>,
    /// The cells of all rows.
    cells: usize,
}

#[derive(Debug)]
struct Numbered {
    event_type: Arc<str>,
    params: Arc<Params>,
}

/// A point, and its row of the table.
#[derive(Debug)]
struct Kept {
    point: Arc<Point>,
    context: u32,
    /// By event: the place of the step, counted from 1; 0 where it was not met. That of the first events is at hand.
    row: SmallVec<[u32; 12]>,
}

impl Automaton {
    /// An automaton that has met nothing; none for a machine whose states have children.
    pub fn new(machine: Arc<Machine>) -> Option<Self> {
        if machine.has_children() {
            return None;
        }
        Some(Self {
            exact_timers: machine.rules().exact_timers,
            machine,
            events: Vec::new(),
            event_by_text: FxHashMap::default(),
            generation: 0,
            points: Vec::new(),
            point_by_name: FxHashMap::default(),
            context_by_text: FxHashMap::default(),
            context_bytes: 0,
            steps: Vec::new(),
            cells: 0,
        })
    }

    /// Its machine.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Numbers an event, or finds its number. Params of another order are the same; `1` and `1.0` are not.
    ///
    /// # Errors
    /// [`MOST_EVENTS`] have numbers, and it has none.
    pub fn event(&mut self, event_type: &str, params: &Arc<Params>) -> Result<EventIx, Box<Unsent>> {
        let text = format!("{}{event_type}", written(params));
        if let Some(known) = self.event_by_text.get(text.as_str()) {
            return Ok(*known);
        }
        if self.events.len() >= MOST_EVENTS {
            return Err(Box::new(Unsent::TooManyEvents));
        }
        let number = EventIx(RegionIx::of(self.events.len()).0);
        self.events.push(Numbered {
            event_type: event_type.into(),
            params: Arc::clone(params),
        });
        self.event_by_text.insert(text.into(), number);
        Ok(number)
    }

    /// Sends a numbered event, now by the instance's clock. Says whether it moved the instance.
    ///
    /// Where timers are exact, what is due is fired first, as for any event (M5).
    ///
    /// # Errors
    /// The event is refused, more timeouts are due than a request fires, or nothing has that number.
    #[inline]
    pub fn send(&mut self, instance: &mut Instance, event: EventIx) -> Result<bool, Box<Unsent>> {
        if !(self.exact_timers && instance.is_due())
            && let Some(step) = self.met(instance, event)
            && let Some(taken) = self.steps.get((step as usize).wrapping_sub(1))
        {
            return taken.take(instance, event, self.generation);
        }
        self.send_anew(instance, event)
    }

    #[inline(never)]
    fn send_anew(&mut self, instance: &mut Instance, event: EventIx) -> Result<bool, Box<Unsent>> {
        if self.exact_timers && instance.is_due() {
            self.fire(instance, CATCH_UP_LIMIT)?;
        }
        let step = match self.met(instance, event) {
            Some(step) => step,
            None => self.meet(instance, event)?,
        };
        // INVARIANT: a row counts steps from 1, and rows and steps are forgotten together.
        let taken = self.steps.get((step as usize).wrapping_sub(1));
        taken.map_or(Ok(false), |taken| taken.take(instance, event, self.generation))
    }

    /// Sends an event that is not numbered, and decides it anew.
    ///
    /// # Errors
    /// As [`Automaton::send`].
    pub fn send_once(
        &self,
        instance: &mut Instance,
        event_type: &str,
        params: &Arc<Params>,
    ) -> Result<bool, Box<Unsent>> {
        if self.exact_timers && instance.is_due() {
            self.fire(instance, CATCH_UP_LIMIT)?;
        }
        let event = Event {
            event_type: event_type.into(),
            params: Arc::clone(params),
            timestamp: None,
            expected_version: None,
        };
        let mut tree = Tree::new(self.entity(instance), None);
        match step::apply(&mut tree, EntityIx::ROOT, &event, None, instance.now()) {
            Outcome::Commit(commit) => {
                weigh(&commit, tree.root(), params)?;
                instance.become_entity(tree.root().clone());
                Ok(true)
            }
            Outcome::Refusal(refusal) => Err(Box::new(refusal.into())),
            Outcome::NoTransition | Outcome::Duplicate => Ok(false),
        }
    }

    /// Moves an instance's clock on, and fires what is due by then, oldest first. Says how many timeouts moved it.
    ///
    /// # Errors
    /// The clock stands later already, or more than [`MOST_FIRED`] are due; so many were fired then.
    pub fn advance(&self, instance: &mut Instance, to: Millis) -> Result<usize, Box<Unsent>> {
        instance.set_clock(to)?;
        if instance.is_due() {
            return self.fire(instance, MOST_FIRED);
        }
        Ok(0)
    }

    /// The entity that an instance is now.
    pub fn entity(&self, instance: &Instance) -> Entity {
        instance.entity(&self.machine, |event| {
            let known = self.events.get(event.0 as usize);
            known.map_or_else(|| "".into(), |known| Arc::clone(&known.event_type))
        })
    }

    /// How an instance is shown; `like` tells what is only carried along with it.
    pub fn snapshot(&self, instance: &Instance, like: &Living) -> Snapshot {
        let tree = Tree::new(self.entity(instance), None);
        Living { tree, ..like.clone() }.snapshot()
    }

    /// How many points and steps it remembers.
    pub fn remembered(&self) -> (usize, usize) {
        (self.points.len(), self.steps.len())
    }

    /// Fires what is due, at most so many. Says how many moved the instance.
    fn fire(&self, instance: &mut Instance, most: usize) -> Result<usize, Box<Unsent>> {
        let mut tree = Tree::new(self.entity(instance), None);
        let caught_up = catch_up(&mut tree, instance.now(), most);
        instance.become_entity(tree.root().clone());
        if caught_up.more {
            return Err(Box::new(Unsent::TimeoutsPending { most }));
        }
        Ok(caught_up.commits.len())
    }

    /// The step that was met, counted from 1.
    #[inline]
    fn met(&self, instance: &Instance, event: EventIx) -> Option<u32> {
        let point = instance.place_in(self.generation)?;
        let row = &self.points.get(point as usize)?.row;
        row.get(event.0 as usize).copied().filter(|step| *step > 0)
    }

    /// Lets the machine decide, and remembers what it said.
    fn meet(&mut self, instance: &mut Instance, event: EventIx) -> Result<u32, Box<Unsent>> {
        let Some(numbered) = self.events.get(event.0 as usize) else {
            return Err(Box::new(Unsent::NoSuchEvent { number: event.0 }));
        };
        let sent = Event {
            event_type: Arc::clone(&numbered.event_type),
            params: Arc::clone(&numbered.params),
            timestamp: None,
            expected_version: None,
        };
        if self.is_full() {
            self.forget();
        }
        let at = match instance.place_in(self.generation) {
            Some(at) => at,
            None => {
                let at = self.number(instance.point(), None);
                instance.stand(Arc::clone(instance.point()), self.generation, at);
                // Another instance may have been here.
                if let Some(step) = self.met(instance, event) {
                    return Ok(step);
                }
                at
            }
        };
        let mut tree = Tree::new(self.entity(instance), None);
        let taken = match step::apply(&mut tree, EntityIx::ROOT, &sent, None, instance.now()) {
            Outcome::Commit(commit) => match weigh(&commit, tree.root(), &sent.params) {
                Ok(()) => self.moved(&commit, tree.root(), at),
                Err(unsent) => Taken::Refused(unsent),
            },
            Outcome::NoTransition | Outcome::Duplicate => Taken::Stays,
            Outcome::Refusal(refusal) => Taken::Refused(Box::new(refusal.into())),
        };
        self.steps.push(taken);
        let step = RegionIx::of(self.steps.len()).0;
        if let Some(kept) = self.points.get_mut(at as usize) {
            let wanted = (event.0 as usize).saturating_add(1);
            if kept.row.len() < wanted {
                let grown = wanted.saturating_sub(kept.row.len());
                self.cells = self.cells.saturating_add(grown);
                kept.row.resize(wanted, 0);
            }
            if let Some(cell) = kept.row.get_mut(event.0 as usize) {
                *cell = step;
            }
        }
        Ok(step)
    }

    /// A commit as a step from a point.
    fn moved(&mut self, commit: &Commit, after: &Entity, from: u32) -> Taken {
        let mut joins = 0_u32;
        let entered = commit.rows.iter().map(|row| {
            let join = row.is_join().then_some(joins);
            joins = joins.saturating_add(u32::from(join.is_some()));
            Entered {
                region: row.region,
                join,
                delay: first_delay(self.machine.state(row.to)),
            }
        });
        let entered = entered.collect();
        let context = if commit.context_changed {
            None
        } else {
            self.points.get(from as usize).map(|kept| kept.context)
        };
        let point = Arc::new(Point {
            configuration: after.configuration(),
            context: Arc::clone(&after.context),
        });
        let place = self.number(&point, context);
        let next = self.points.get(place as usize);
        Taken::Moved(Moved {
            next: next.map_or(point, |kept| Arc::clone(&kept.point)),
            place,
            entered,
        })
    }

    /// The number of a point; its context's, where that is known.
    fn number(&mut self, point: &Arc<Point>, context: Option<u32>) -> u32 {
        let context = context.unwrap_or_else(|| {
            let text = written(&point.context);
            if let Some(known) = self.context_by_text.get(text.as_str()) {
                return *known;
            }
            let number = RegionIx::of(self.context_by_text.len()).0;
            self.context_bytes = self.context_bytes.saturating_add(text.len());
            self.context_by_text.insert(text.into(), number);
            number
        });
        let name = (context, point.configuration.clone());
        if let Some(known) = self.point_by_name.get(&name) {
            return *known;
        }
        let number = RegionIx::of(self.points.len()).0;
        self.point_by_name.insert(name, number);
        self.points.push(Kept {
            point: Arc::clone(point),
            context,
            row: SmallVec::new(),
        });
        number
    }

    fn is_full(&self) -> bool {
        self.points.len() >= MOST_POINTS
            || self.steps.len() >= MOST_STEPS
            || self.cells >= MOST_BYTES
            || self.context_bytes >= MOST_BYTES
    }

    /// Forgets points and steps. Instances keep their own point, and are met anew.
    fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.points.clear();
        self.point_by_name.clear();
        self.context_by_text.clear();
        self.context_bytes = 0;
        self.steps.clear();
        self.cells = 0;
    }
}

/// Whether what an event makes is within the bounds of a request.
fn weigh(commit: &Commit, after: &Entity, params: &Params) -> Result<(), Box<Unsent>> {
    let written = commit.bytes(json_bytes(params));
    if written > MAX_WRITTEN_BYTES {
        return Err(Box::new(Unsent::TooLarge {
            what: "what the event writes",
            bytes: written,
            most: MAX_WRITTEN_BYTES,
        }));
    }
    let bytes = if commit.context_changed {
        json_bytes(after.context())
    } else {
        0
    };
    if bytes > MAX_CONTEXT_BYTES {
        return Err(Box::new(Unsent::TooLarge {
            what: "the context with the event's params",
            bytes,
            most: MAX_CONTEXT_BYTES,
        }));
    }
    Ok(())
}

/// Params or a context as text: what has the same text is the same in every digit.
fn written(params: &Params) -> String {
    // Names and values always have a JSON form.
    serde_json::to_string(params).unwrap_or_default()
}

//! What a step hangs on, for hosts that remember steps themselves.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use smallvec::SmallVec;

use crate::commit::{Cause, Outcome};
use crate::entity::{Configuration, Entity, Params};
use crate::guard::Guard;
use crate::machine::{Machine, RegionIx, State, StateIx};
use crate::sorted::sort;
use crate::step::{self, Event};
use crate::tree::{EntityIx, Tree};

/// What the steps of an event type look at besides states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reads {
    /// The event type.
    pub event_type: Arc<str>,
    /// The fields of params and context that guards of its transitions compare, sorted.
    pub fields: Vec<Box<str>>,
}

/// What the steps of each event type of a machine without children look at, sorted by type: where two events of a type, and
/// two contexts, agree in these fields, they take the same transitions from the same states.
pub fn reads(machine: &Machine) -> Vec<Reads> {
    let reads = machine.event_types().into_iter().map(|event_type| {
        let transitions = machine.transitions().iter();
        let mut fields = Vec::new();
        for transition in transitions.filter(|transition| transition.on == event_type) {
            if let Some(guard) = &transition.guard {
                read(guard, &mut fields);
            }
        }
        sort(&mut fields);
        fields.dedup();
        Reads { event_type, fields }
    });
    reads.collect()
}

fn read(guard: &Guard, fields: &mut Vec<Box<str>>) {
    match guard {
        Guard::All(members) | Guard::Any(members) => {
            for member in members {
                read(member, fields);
            }
        }
        Guard::Leaf(leaf) => fields.push(leaf.field.clone()),
        Guard::Fixed(_) => {}
    }
}

/// The first timeout of a state, in milliseconds after its entry.
pub fn first_delay(state: &State) -> Option<u64> {
    state.timeouts.iter().map(|timeout| timeout.delay).min()
}

/// How the states of each region are numbered into one number of a configuration: by the place of a state in its region,
/// times this. None where such a number would not stay exact in a host that has floats.
pub fn numbers(machine: &Machine) -> Option<Vec<u64>> {
    let mut weight = 1_u64;
    let mut weights = Vec::new();
    for count in counts(machine) {
        weights.push(weight);
        weight = weight.checked_mul(count).filter(|weight| *weight <= 1 << 53)?;
    }
    Some(weights)
}

/// How many states each region has.
fn counts(machine: &Machine) -> SmallVec<[u64; 4]> {
    let mut counts: SmallVec<[u64; 4]> = machine.regions().iter().map(|_| 0).collect();
    for state in machine.states() {
        if let Some(count) = counts.get_mut(state.region.place()) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// The configuration of that number.
fn configuration(machine: &Machine, number: u64) -> Configuration {
    let mut first = 0_u64;
    let mut rest = number;
    let states = counts(machine).into_iter().map(|count| {
        let within = rest.checked_rem(count).unwrap_or_default();
        rest = rest.checked_div(count).unwrap_or_default();
        let state = first.saturating_add(within);
        first = first.saturating_add(count);
        StateIx(u32::try_from(state).unwrap_or(u32::MAX))
    });
    states.collect()
}

/// An entry that a step starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Enters {
    /// The region.
    pub region: RegionIx,
    /// The state.
    pub state: StateIx,
    /// Which join of the definition makes it; none for a transition.
    pub join: Option<u32>,
}

/// Where an event leads from a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Into these states, in order.
    Moves(SmallVec<[Enters; 2]>),
    /// Nowhere.
    Stays,
    /// It is refused.
    Refused,
}

/// Decides an event of an entity without children as if it were in the configuration of that number ([`numbers`]) and had
/// that context; params and context need only hold what [`reads`] says.
pub fn choose(like: &Entity, number: u64, event_type: &Arc<str>, params: Params, context: Params) -> Choice {
    let now = like.updated_at;
    let mut entity = like.clone();
    entity.context = Arc::new(context);
    let configuration = configuration(&like.machine, number);
    for (entry, state) in entity.entries.iter_mut().zip(configuration) {
        entry.state = state;
    }
    let event = Event {
        event_type: Arc::clone(event_type),
        params: Arc::new(params),
        timestamp: None,
        expected_version: None,
    };
    let mut tree = Tree::new(entity, None);
    match step::apply(&mut tree, EntityIx::ROOT, &event, None, now) {
        Outcome::Commit(commit) => {
            let moves = commit.rows.iter().map(|row| Enters {
                region: row.region,
                state: row.to,
                join: match row.cause {
                    Cause::Join { index, .. } => Some(index),
                    _ => None,
                },
            });
            Choice::Moves(moves.collect())
        }
        Outcome::NoTransition | Outcome::Duplicate => Choice::Stays,
        Outcome::Refusal(_) => Choice::Refused,
    }
}

/// Choices are numbered up to so many; then they begin anew.
const MOST_CHOICES: usize = 1 << 14;

/// Numbers of choices: where two events of a type lead from the same configuration into the same states in the same way, they
/// have the same number. No number is given twice.
#[derive(Debug, Default)]
pub struct Choices {
    met: FxHashMap<(u64, u32, Choice), u32>,
    last: u32,
}

impl Choices {
    /// The number of a choice, from 1, for an event from a configuration, both by number.
    pub fn number(&mut self, configuration: u64, event: u32, choice: Choice) -> u32 {
        if self.met.len() >= MOST_CHOICES {
            self.met.clear();
        }
        let last = &mut self.last;
        *self.met.entry((configuration, event, choice)).or_insert_with(|| {
            *last = last.saturating_add(1);
            *last
        })
    }
}

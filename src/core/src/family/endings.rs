//! Where a machine can come to an end: configurations that events and timeouts lead to, and that nothing leads out of.
//!
//! A configuration counts as reached where some path of transitions, timeouts, joins and completions of children of its
//! own leads there, whatever params, context and timing that takes; a guard counts where values can be found with which
//! it passes and those tried before it do not. One counts as an end only where nothing at all leads out of it.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::definition::GuardOp;
use crate::entity::Configuration;
use crate::guard::{Guard, Leaf, Lookup};
use crate::joins::settle;
use crate::lint::{self, Never};
use crate::machine::{EventRow, Machine, StateIx, TransitionIx};
use crate::number::float;
use crate::sorted::{Gather, SortedSet, sort};
use crate::step::{Move, Moves};

/// How many configurations of a child are looked at.
const MOST_CONFIGURATIONS: usize = 10_000;
/// How much is looked at for all children of a definition: regions, joins and comparisons, each as often as it is.
const MOST_WORK: usize = 2_000_000;
/// How many choices of values are tried on the guards of one event.
const MOST_TRIED: usize = 500;
/// How many values are tried for one field.
const MOST_VALUES: usize = 16;

/// What may still be looked at.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(MOST_WORK)
    }
}

impl Budget {
    /// Takes from it; false where it is used up.
    fn spend(&mut self, work: usize) -> bool {
        self.0 = self.0.saturating_sub(work.saturating_add(1));
        self.0 > 0
    }
}

/// What leads where in a machine.
pub(super) struct Endings {
    never: Vec<Option<Never>>,
    /// By state: where the completion of its child leads.
    completions: Vec<Vec<StateIx>>,
    /// By state: the event types that have a transition from it.
    events: Vec<Vec<Arc<str>>>,
    /// By event type and the states at hand: what it may do.
    choices: FxHashMap<(Arc<str>, Configuration), Vec<Chosen>>,
}

/// The transitions that one event takes.
type Chosen = SmallVec<[TransitionIx; 1]>;

impl Endings {
    pub(super) fn of(machine: &Machine) -> Self {
        let states = machine.states().len();
        let mut completions = vec![Vec::new(); states];
        for (from, to) in lint::completions(machine) {
            if let Some(slot) = completions.get_mut(from.place()) {
                slot.push(to);
            }
        }
        let mut events = vec![Vec::new(); states];
        for event in machine.event_types() {
            let Some(row) = machine.event(&event) else {
                continue;
            };
            for (place, events) in events.iter_mut().enumerate() {
                if !row.leaving(StateIx::of(place)).is_empty() {
                    events.push(Arc::clone(&event));
                }
            }
        }
        Self {
            never: lint::never(machine),
            completions,
            events,
            choices: FxHashMap::default(),
        }
    }
}

impl Endings {
    /// The ends that a child reaches and that do not complete it, in no order that matters.
    ///
    /// A child that is complete takes no further event; one that is so at its start, where the contract sees that.
    pub(super) fn uncovered(
        &mut self,
        machine: &Machine,
        completes: impl Fn(&Configuration) -> bool,
        budget: &mut Budget,
    ) -> Vec<Configuration> {
        let start = start(machine);
        if machine.rules().completes_at_start && completes(&start) {
            return Vec::new();
        }
        let mut seen = FxHashSet::default();
        seen.insert(start.clone());
        let mut waiting = VecDeque::from([start]);
        let mut found = Vec::new();
        while let Some(at) = waiting.pop_front() {
            let moved = self.moves(machine, &at, budget);
            for next in moved {
                if !seen.contains(&next) && seen.len() < MOST_CONFIGURATIONS && !completes(&next) {
                    seen.insert(next.clone());
                    waiting.push_back(next);
                }
            }
            if !completes(&at) && self.is_end(machine, &at) {
                found.push(at);
            }
            if !budget.spend(machine.regions().len()) {
                break;
            }
        }
        sort(&mut found);
        found
    }

    /// Whether nothing leads out of a configuration.
    pub(super) fn is_end(&self, machine: &Machine, at: &Configuration) -> bool {
        let completed = |state: &StateIx| {
            self.completions
                .get(state.place())
                .is_some_and(|to| !to.is_empty())
        };
        if at.iter().any(completed) {
            return false;
        }
        let transitions = machine.transitions().iter().zip(&self.never);
        let mut taken =
            transitions.filter(|(transition, never)| never.is_none() && at.contains(&transition.from));
        // What comes back to its state may still set off a join.
        taken.all(|(transition, _)| {
            transition.from == transition.to
                && rest(machine, at, &[(transition.from, transition.to)]).is_none_or(|next| next == *at)
        })
    }

    /// The configurations that one step leads to.
    fn moves(&mut self, machine: &Machine, at: &Configuration, budget: &mut Budget) -> Vec<Configuration> {
        let mut steps: Vec<SmallVec<[(StateIx, StateIx); 1]>> = Vec::new();
        let of = |taken: &TransitionIx| {
            let transition = machine.transition(*taken);
            (transition.from, transition.to)
        };
        for state in at {
            let to = self.completions.get(state.place()).into_iter().flatten();
            steps.extend(to.map(|to| SmallVec::from_iter([(*state, *to)])));
            let timeouts = machine.state(*state).timeouts.iter();
            let timeouts: Vec<TransitionIx> = timeouts.map(|timeout| timeout.transition).collect();
            // A late scanner of the seed may try a longer delay first.
            let first = if machine.rules().timeout_conditions {
                self.firsts(machine, &timeouts, budget)
            } else {
                let taken = timeouts.into_iter().filter(|taken| !self.is_never(*taken));
                taken.collect()
            };
            for taken in first {
                steps.push(SmallVec::from_iter([of(&taken)]));
            }
        }
        let events = at.iter().filter_map(|state| self.events.get(state.place()));
        let events: SortedSet<Arc<str>> = events.flatten().map(Arc::clone).gather();
        for event in events {
            let Some(row) = machine.event(&event) else {
                continue;
            };
            let states = at.iter().copied().filter(|state| !row.leaving(*state).is_empty());
            let key = (event, states.collect());
            if !self.choices.contains_key(&key) {
                let choices = self.choices_of(machine, row, &key.1, budget);
                self.choices.insert(key.clone(), choices);
            }
            let choices = self.choices.get(&key).into_iter().flatten();
            steps.extend(choices.map(|chosen| chosen.iter().map(of).collect()));
        }
        let mut found = Vec::new();
        for step in steps {
            let work = machine.regions().len().saturating_add(machine.joins().len());
            if !budget.spend(work) {
                break;
            }
            found.extend(rest(machine, at, &step).filter(|next| next != at));
        }
        found
    }

    fn is_never(&self, taken: TransitionIx) -> bool {
        self.never.get(taken.place()).is_some_and(Option::is_some)
    }

    /// What an event may do in some states: the transitions of each way to choose.
    fn choices_of(
        &self,
        machine: &Machine,
        row: &EventRow,
        states: &[StateIx],
        budget: &mut Budget,
    ) -> Vec<Chosen> {
        let lists = states.iter().map(|state| row.leaving(*state));
        if !row.broadcast {
            let mut list: Vec<TransitionIx> = lists.flatten().copied().collect();
            sort(&mut list);
            let firsts = self.firsts(machine, &list, budget).into_iter();
            return firsts.map(|first| SmallVec::from_iter([first])).collect();
        }
        let lists: Vec<&[TransitionIx]> = lists.collect();
        let guards: Vec<&Guard> = lists
            .iter()
            .flat_map(|list| list.iter())
            .filter_map(|taken| machine.transition(*taken).guard.as_ref())
            .collect();
        let mut found: SortedSet<Chosen> = SortedSet::new();
        assignments(&guards, &guards, budget, |lookup| {
            let passes = |taken: &&TransitionIx| passes(machine, **taken, lookup);
            let firsts = lists.iter().filter_map(|list| list.iter().find(passes));
            let chosen: Chosen = firsts.copied().collect();
            if !chosen.is_empty() {
                found.insert(chosen);
            }
            false
        });
        found.into_iter().collect()
    }

    /// The transitions of a list, in the order in which they are tried, that may be the first to pass.
    fn firsts(&self, machine: &Machine, list: &[TransitionIx], budget: &mut Budget) -> Vec<TransitionIx> {
        let mut found = Vec::new();
        for (place, taken) in list.iter().enumerate() {
            let earlier = list.get(..place).unwrap_or_default();
            let guard = machine.transition(*taken).guard.as_ref();
            if self.is_never(*taken) {
                continue;
            }
            let all = earlier.iter().chain([taken]);
            let all: Vec<&Guard> = all
                .filter_map(|taken| machine.transition(*taken).guard.as_ref())
                .collect();
            let own: Vec<&Guard> = guard.into_iter().collect();
            // No guard negates: what its own does not look at is best left out.
            let possible = assignments(&own, &all, budget, |lookup| {
                passes(machine, *taken, lookup)
                    && !earlier.iter().any(|earlier| passes(machine, *earlier, lookup))
            });
            if possible {
                found.push(*taken);
            }
            if guard.map_or(Some(true), Guard::constant) == Some(true) {
                break;
            }
        }
        found
    }
}

/// The configuration in which a child starts (R4).
pub(super) fn start(machine: &Machine) -> Configuration {
    machine.regions().iter().map(|region| region.initial).collect()
}

/// Where moves come to rest with the joins that they set off; `None` where their event is refused (M4).
fn rest(machine: &Machine, at: &Configuration, step: &[(StateIx, StateIx)]) -> Option<Configuration> {
    let moves = step.iter().map(|(from, to)| Move {
        region: machine.state(*from).region,
        to: *to,
        join: None,
    });
    let mut moves: Moves = moves.collect();
    if !machine.joins().is_empty() {
        settle(machine, at, &mut moves).ok()?;
    }
    let mut next = at.clone();
    for change in moves {
        if let Some(slot) = next.get_mut(change.region.place()) {
            *slot = change.to;
        }
    }
    Some(next)
}

fn passes(machine: &Machine, taken: TransitionIx, lookup: Lookup<'_>) -> bool {
    let guard = machine.transition(taken).guard.as_ref();
    guard.is_none_or(|guard| guard.passes(lookup))
}

/// Tries values for the fields of some guards, as params and as context, until one choice is as wanted. The values are
/// those that all the given guards compare with, and their neighbours.
fn assignments(
    of: &[&Guard],
    all: &[&Guard],
    budget: &mut Budget,
    mut wanted: impl FnMut(Lookup<'_>) -> bool,
) -> bool {
    let mut leaves = Vec::new();
    for guard in all {
        collect(guard, &mut leaves);
    }
    let mut own = Vec::new();
    for guard in of {
        collect(guard, &mut own);
    }
    let fields: SortedSet<&str> = own.iter().map(|leaf| &*leaf.field).gather();
    let values: Vec<(&str, Vec<Value>)> = fields
        .into_iter()
        .map(|field| {
            (
                field,
                values(leaves.iter().copied().filter(|leaf| *leaf.field == *field)),
            )
        })
        .collect();
    let none = Map::new();
    // Counts through all choices, the first field fastest; place 0 of a field is its absence.
    let mut places = vec![0_usize; values.len()];
    for _ in 0..MOST_TRIED {
        if !budget.spend(leaves.len()) {
            break;
        }
        let chosen = values.iter().zip(&places).filter_map(|((field, values), place)| {
            let value = values.get(place.checked_sub(1)?)?;
            Some(((*field).to_owned(), value.clone()))
        });
        let chosen: Map<String, Value> = chosen.gather();
        let as_params = Lookup {
            params: Some(&chosen),
            context: &none,
        };
        let as_context = Lookup {
            params: None,
            context: &chosen,
        };
        if wanted(as_params) || wanted(as_context) {
            return true;
        }
        let next = values.iter().zip(&mut places).any(|((_, values), place)| {
            *place = if *place < values.len() {
                place.saturating_add(1)
            } else {
                0
            };
            *place != 0
        });
        if !next {
            break;
        }
    }
    false
}

fn collect<'a>(guard: &'a Guard, leaves: &mut Vec<&'a Leaf>) {
    match guard {
        Guard::All(members) | Guard::Any(members) => {
            for member in members {
                collect(member, leaves);
            }
        }
        Guard::Leaf(leaf) => leaves.push(leaf),
        Guard::Fixed(_) => {}
    }
}

/// Values on either side of what a field is compared with.
fn values<'a>(leaves: impl Iterator<Item = &'a Leaf>) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    let mut parts = String::new();
    for leaf in leaves {
        if values.len() >= MOST_VALUES {
            break;
        }
        let text = match &leaf.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        values.push(leaf.value.clone());
        if let Some(number) = float(&text) {
            values.extend([-1.0, -0.5, 0.5, 1.0].map(|step| Value::from(number + step)));
        }
        if leaf.op == GuardOp::Contains {
            parts.push_str(&text);
        }
        values.push(Value::from(format!("{text}~")));
    }
    if !parts.is_empty() {
        values.push(Value::from(parts));
    }
    values
}

//! Warnings: what a definition may say, and hardly means. They never refuse it.
//!
//! Each rule speaks only of what is certain from the definition alone: a state counts as reachable where some path of
//! transitions, timeouts, joins and completions of children leads to it, whatever params and context that takes, and
//! each region is looked at by itself. So a definition without warnings can still be wrong, but a warning is never.

mod places;

use self::places::templates;
use crate::contract::Contract;
use crate::definition::shape::{MOST_LISTED, Path};
use crate::definition::{Definition, Lifecycle, SubMachineDef};
use crate::fault::{Warning, WarningKind};
use crate::guard::{Fixed, Guard};
use crate::machine::{Join, Machine, RegionIx, StateIx, Transition};
use crate::sorted::SortedMap;

/// The warnings of a definition without faults.
pub(crate) fn warnings(definition: &Definition, contract: Contract) -> Vec<Warning> {
    // Without faults it compiles; if not, compiling it is what will say so.
    let Ok(machine) = Machine::of(definition, contract) else {
        return Vec::new();
    };
    let mut lint = Lint::new(definition, &machine);
    lint.unreachable_states();
    lint.dead_ends();
    lint.transitions();
    lint.joins();
    lint.broadcasts();
    lint.reentries();
    templates(&mut lint);
    lint.warnings
}

/// By state: whether it can be entered.
pub(crate) fn reachable(definition: &Definition, machine: &Machine) -> Vec<bool> {
    Lint::new(definition, machine).reachable
}

/// Why a transition is never taken.
#[derive(Clone, Copy)]
pub(crate) enum Never {
    /// Its guard holds for nothing.
    Impossible,
    /// This one before it always is.
    Shadowed(usize),
}

struct Lint<'a> {
    definition: &'a Definition,
    machine: &'a Machine,
    /// By transition: why it is never taken.
    never: Vec<Option<Never>>,
    /// By state: whether it can be entered.
    reachable: Vec<bool>,
    /// Where a completed child leads its parent.
    completions: Vec<(StateIx, StateIx)>,
    warnings: Vec<Warning>,
}

impl<'a> Lint<'a> {
    fn new(definition: &'a Definition, machine: &'a Machine) -> Self {
        let mut lint = Self {
            definition,
            machine,
            never: never(machine),
            reachable: vec![false; machine.states().len()],
            completions: completions(machine),
            warnings: Vec::new(),
        };
        lint.reach();
        lint
    }

    fn warn(&mut self, kind: WarningKind, path: &Path, message: String) {
        if !self.is_full() {
            self.warnings.push(Warning {
                kind,
                path: path.text().to_owned(),
                message,
            });
        }
    }

    fn is_full(&self) -> bool {
        self.warnings.len() >= MOST_LISTED
    }

    fn is_reachable(&self, state: StateIx) -> bool {
        self.reachable.get(state.place()).copied().unwrap_or(true)
    }

    fn taken(&self) -> impl Iterator<Item = &Transition> {
        let transitions = self.machine.transitions().iter().zip(&self.never);
        transitions
            .filter(|(_, never)| never.is_none())
            .map(|(transition, _)| transition)
    }

    /// Marks every state that can be entered.
    fn reach(&mut self) {
        let mut onward: Vec<Vec<StateIx>> = vec![Vec::new(); self.reachable.len()];
        let moves = self.taken().map(|transition| (transition.from, transition.to));
        for (from, to) in moves.chain(self.completions.iter().copied()) {
            if let Some(onward) = onward.get_mut(from.place()) {
                onward.push(to);
            }
        }
        let initial = self.machine.regions().iter().map(|region| region.initial);
        let mut found: Vec<StateIx> = initial.collect();
        while !found.is_empty() {
            while let Some(state) = found.pop() {
                if let Some(reachable) = self.reachable.get_mut(state.place())
                    && !*reachable
                {
                    *reachable = true;
                    found.extend(onward.get(state.place()).into_iter().flatten());
                }
            }
            let joins = self.machine.joins().iter();
            let joined = joins.filter(|join| !self.is_reachable(join.target) && self.can_fire(join));
            found = joined.map(|join| join.target).collect();
        }
    }

    fn can_fire(&self, join: &Join) -> bool {
        join.when.iter().all(|(_, state)| self.is_reachable(*state))
    }

    fn state_path(&self, state: StateIx) -> Path {
        let state = self.machine.state(state);
        let (path, names) = match &self.definition.regions {
            Some(regions) => {
                let place = state.region.place();
                let names = regions.get(place).map(|region| region.states.as_slice());
                (Path::root().key("regions").item(place), names)
            }
            None => (Path::root(), self.definition.states.as_deref()),
        };
        let index = names.and_then(|names| names.iter().position(|name| **name == *state.name));
        path.key("states").item(index.unwrap_or_default())
    }

    fn states(&self) -> impl Iterator<Item = StateIx> + use<> {
        (0..self.machine.states().len()).map(StateIx::of)
    }

    fn unreachable_states(&mut self) {
        for state in self.states() {
            if !self.is_reachable(state) && !self.is_full() {
                let message = format!(
                    "no path of transitions and joins leads to `{}`",
                    self.machine.state(state).name
                );
                self.warn(WarningKind::UnreachableState, &self.state_path(state), message);
            }
        }
    }

    /// A state without transitions is final, and meant to be. A dead end is one that has some, and none that leads
    /// out: each is never taken or comes back to it, and no join or child takes it elsewhere. Where a region has no
    /// other state there is nowhere else to go.
    fn dead_ends(&mut self) {
        let states = self.machine.states();
        let mut outgoing = vec![0_usize; states.len()];
        for transition in self.machine.transitions() {
            if let Some(count) = outgoing.get_mut(transition.from.place()) {
                *count = count.saturating_add(1);
            }
        }
        let mut left = vec![false; states.len()];
        let mut returns = vec![false; states.len()];
        let moves = self.taken().map(|transition| (transition.from, transition.to));
        for (from, to) in moves.chain(self.completions.iter().copied()) {
            let marks = if from == to { &mut returns } else { &mut left };
            if let Some(mark) = marks.get_mut(from.place()) {
                *mark = true;
            }
        }
        let mut alone = vec![0_usize; self.machine.regions().len()];
        for state in states {
            if let Some(count) = alone.get_mut(state.region.place()) {
                *count = count.saturating_add(1);
            }
        }
        let at = |marks: &[bool], state: StateIx| marks.get(state.place()).copied().unwrap_or_default();
        for state in self.states() {
            let region = self.machine.state(state).region;
            let has_transitions = outgoing.get(state.place()).is_some_and(|count| *count > 0);
            let has_others = alone.get(region.place()).is_some_and(|count| *count > 1);
            if !has_transitions
                || !has_others
                || self.is_full()
                || at(&left, state)
                || !self.is_reachable(state)
                || self.joined_away(region, state)
            {
                continue;
            }
            let name = &self.machine.state(state).name;
            let message = if at(&returns, state) {
                format!("`{name}` has transitions, and all of them come back to it")
            } else {
                format!("`{name}` has transitions, and none of them is ever taken")
            };
            self.warn(WarningKind::DeadEnd, &self.state_path(state), message);
        }
    }

    fn joined_away(&self, region: RegionIx, state: StateIx) -> bool {
        self.machine.joins().iter().any(|join| {
            join.region == region
                && join.target != state
                && wanted(join, region).is_none_or(|wanted| wanted == state)
                && self.can_fire(join)
        })
    }

    fn transitions(&mut self) {
        for index in 0..self.never.len() {
            let path = Path::root().key("transitions").item(index);
            let (Some(transition), Some(never)) =
                (self.machine.transitions().get(index), self.never.get(index))
            else {
                continue;
            };
            if let Some(Never::Shadowed(by)) = never {
                let message = format!(
                    "`{}` on `{}` is never taken: `$.transitions[{by}]` is tried before it, and always taken",
                    transition.label, transition.on
                );
                self.warn(WarningKind::ShadowedTransition, &path, message);
            }
            // Where the shape of guards is checked, reading the definition warned of them.
            if let Some(guard) = &transition.guard
                && !self.machine.rules().strict
            {
                self.guard(&path.key("guard"), guard);
            }
        }
    }

    fn guard(&mut self, path: &Path, guard: &Guard) {
        let (key, members) = match guard {
            Guard::All(members) => ("all", members),
            Guard::Any(members) => ("any", members),
            Guard::Fixed(fixed) => {
                let kind = match fixed {
                    Fixed::Malformed => WarningKind::MalformedGuard,
                    Fixed::UnknownOperator | Fixed::Delay | Fixed::Unchecked => WarningKind::ImpossibleGuard,
                };
                return self.warn(kind, path, fixed.reason().to_owned());
            }
            Guard::Leaf(leaf) => {
                if leaf.impossible() {
                    let message = format!("`{}` of such a value is never true", leaf.op.name());
                    self.warn(WarningKind::ImpossibleGuard, path, message);
                }
                return;
            }
        };
        let path = path.key(key);
        if members.is_empty() && key == "any" {
            let message = "`any` of nothing is never true".to_owned();
            self.warn(WarningKind::ImpossibleGuard, &path, message);
        }
        for (index, member) in members.iter().enumerate() {
            self.guard(&path.item(index), member);
        }
    }

    fn joins(&mut self) {
        let joins = self.machine.joins();
        for (index, join) in joins.iter().enumerate() {
            if self.is_full() {
                return;
            }
            let path = Path::root().key("joins").item(index);
            if !self.impossible_join(&path, join) {
                self.unstable_join(&path, join, joins.get(..index).unwrap_or_default());
            }
        }
    }

    fn impossible_join(&mut self, path: &Path, join: &Join) -> bool {
        let region = |region: RegionIx| &self.machine.region(region).id;
        let name = |state: StateIx| &self.machine.state(state).name;
        let mut found = Vec::new();
        for (when, state) in &join.when {
            let message = if *state == join.target {
                format!(
                    "it waits for region `{}` to be in `{}`, where it would move it: it never fires",
                    region(*when),
                    name(*state)
                )
            } else if self.is_reachable(*state) {
                continue;
            } else {
                format!(
                    "it waits for region `{}` to be in `{}`, to which nothing leads: it never fires",
                    region(*when),
                    name(*state)
                )
            };
            found.push((path.key("when").key(region(*when)), message));
        }
        for (path, message) in &found {
            self.warn(WarningKind::ImpossibleJoin, path, message.clone());
        }
        !found.is_empty()
    }

    fn unstable_join(&mut self, path: &Path, join: &Join, earlier: &[Join]) {
        if !join.level {
            return;
        }
        let region = &self.machine.region(join.region).id;
        let target = &self.machine.state(join.target).name;
        if wanted(join, join.region).is_none() {
            let message = format!(
                "it moves region `{region}` to `{target}` for as long as its `when` holds, and so undoes any transition \
                 out of `{target}`; name the state that `{region}` is to be in before (S2.87)"
            );
            self.warn(WarningKind::UnstableJoin, &path.key("when"), message);
        }
        if let Some(other) = earlier.iter().position(|other| alternate(other, join)) {
            let message = format!(
                "it and `$.joins[{other}]` both move region `{region}` while both hold, back and forth up to the limit \
                 (S2.82)"
            );
            self.warn(WarningKind::UnstableJoin, path, message);
        }
    }

    /// A managed compound state to which a way leads back, where nothing says what becomes of its earlier child (S2.178).
    ///
    /// Ways of joins are left out: whether one fires twice is not certain from the states that it waits for.
    fn reentries(&mut self) {
        let mut onward: Vec<Vec<StateIx>> = vec![Vec::new(); self.reachable.len()];
        let moves = self.taken().map(|transition| (transition.from, transition.to));
        for (from, to) in moves.chain(self.completions.iter().copied()) {
            if let Some(onward) = onward.get_mut(from.place()) {
                onward.push(to);
            }
        }
        let mend = if self.machine.rules().strict {
            "say `\"reentry\": \"fresh\"` for a new child or `\"resume\"` to wake the earlier one"
        } else {
            "the contract `statewright.v1` has `reentry` for that"
        };
        for (path, region, name, sub) in sub_machines(self.definition) {
            let managed = sub.lifecycle == Some(Lifecycle::Managed);
            let Some(state) = self.machine.find_state(region, name) else {
                continue;
            };
            if managed
                && sub.reentry.is_none()
                && !self.is_full()
                && self.is_reachable(state)
                && leads_back(&onward, state)
            {
                let message = format!(
                    "`{name}` can be entered again after it was left, and its child of the first visit then refuses \
                     the entry (`INSTANCE_CONFLICT`); {mend}"
                );
                self.warn(WarningKind::RefusedReentry, &path, message);
            }
        }
    }

    /// Only what is to be a broadcast names an event without handling it. What an action sends goes to the operator's
    /// collector, where other systems hear it.
    fn broadcasts(&mut self) {
        for (index, event) in self.definition.broadcast.iter().flatten().enumerate() {
            if self.machine.event(event).is_none() {
                let message = format!("no transition handles `{event}`");
                let path = Path::root().key("broadcast").item(index);
                self.warn(WarningKind::UnhandledEvent, &path, message);
            }
        }
    }
}

/// The children that a definition names, in its order, each with its path, its region and its state.
pub(crate) fn sub_machines(
    definition: &Definition,
) -> impl Iterator<Item = (Path, RegionIx, &str, &SubMachineDef)> {
    let parallel = definition.is_parallel();
    let flat = definition
        .sub_machines
        .iter()
        .flatten()
        .filter(move |_| !parallel);
    let flat = flat.map(|(state, sub)| (Path::root(), RegionIx::of(0), state, sub));
    let regions = definition.regions.iter().flatten().enumerate();
    let regions = regions.flat_map(|(place, region)| {
        let subs = region.sub_machines.iter().flatten();
        subs.map(move |(state, sub)| {
            let path = Path::root().key("regions").item(place);
            (path, RegionIx::of(place), state, sub)
        })
    });
    flat.chain(regions).map(|(path, region, state, sub)| {
        let path = path.key("sub_machines").key(state);
        (path, region, state.as_str(), sub)
    })
}

/// Whether a way of at least one move leads from a state to itself.
fn leads_back(onward: &[Vec<StateIx>], state: StateIx) -> bool {
    let mut seen = vec![false; onward.len()];
    let mut found = vec![state];
    while let Some(from) = found.pop() {
        for to in onward.get(from.place()).into_iter().flatten() {
            if *to == state {
                return true;
            }
            if let Some(seen) = seen.get_mut(to.place())
                && !*seen
            {
                *seen = true;
                found.push(*to);
            }
        }
    }
    false
}

/// The state in which a join waits for a region, if it names the region.
fn wanted(join: &Join, region: RegionIx) -> Option<StateIx> {
    join.when
        .iter()
        .find(|(named, _)| *named == region)
        .map(|(_, state)| *state)
}

/// Whether each of two level-triggered joins can fire right after the other, for ever (S2.82).
fn alternate(a: &Join, b: &Join) -> bool {
    let region = a.region;
    a.level
        && b.level
        && b.region == region
        && a.target != b.target
        && wanted(a, region).is_none_or(|state| state == b.target)
        && wanted(b, region).is_none_or(|state| state == a.target)
        && a.when
            .iter()
            .all(|(named, state)| *named == region || wanted(b, *named).is_none_or(|wanted| wanted == *state))
}

/// By transition: why it is never taken, if so.
pub(crate) fn never(machine: &Machine) -> Vec<Option<Never>> {
    let constant = |transition: &Transition| transition.guard.as_ref().map_or(Some(true), Guard::constant);
    let mut never = vec![None; machine.transitions().len()];
    let mut set = |place: usize, why| {
        if let Some(slot) = never.get_mut(place) {
            *slot = Some(why);
        }
    };
    // Where one with a guard that always passes stood before: by state, and event.
    let mut closed: SortedMap<(StateIx, &str), usize> = SortedMap::new();
    for (index, transition) in machine.transitions().iter().enumerate() {
        let constant = constant(transition);
        if constant == Some(false) {
            set(index, Never::Impossible);
        } else if machine.takes_events(crate::machine::TransitionIx::of(index)) {
            let key = (transition.from, &*transition.on);
            if let Some(by) = closed.get(&key) {
                set(index, Never::Shadowed(*by));
            } else if constant == Some(true) {
                closed.insert(key, index);
            }
        }
    }
    for state in machine.states() {
        // In the order in which they are tried; a shorter delay that is tried later may still come first in time.
        let mut closed: Option<(u64, usize)> = None;
        for timeout in &state.timeouts {
            let index = timeout.transition.place();
            match constant(machine.transition(timeout.transition)) {
                Some(false) => {}
                _ if closed.is_some_and(|(delay, _)| delay <= timeout.delay) => {
                    set(index, Never::Shadowed(closed.map_or(0, |(_, by)| by)));
                }
                Some(true) => closed = Some((timeout.delay, index)),
                None => {}
            }
        }
    }
    never
}

/// Where the completion of children leads their parents.
pub(crate) fn completions(machine: &Machine) -> Vec<(StateIx, StateIx)> {
    let mut found = Vec::new();
    for (place, state) in machine.states().iter().enumerate() {
        let Some(sub) = state.child() else { continue };
        let finals = sub.on_final.iter().map(|(_, target)| *target);
        let targets = finals.chain(sub.rules.iter().map(|rule| rule.target));
        found.extend(targets.map(|target| (StateIx::of(place), target)));
    }
    found
}

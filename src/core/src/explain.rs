//! Why not: what an event would do to an entity, and for every transition what stands in its way.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use smallvec::SmallVec;

use crate::answer::StateView;
use crate::cascade::Advance;
use crate::code::Code;
use crate::commit::Outcome;
use crate::definition::shape::shortened;
use crate::definition::{GuardOp, TIMEOUT_EVENT};
use crate::entity::{Entity, Params};
use crate::forward;
use crate::guard::{Failing, Guard, Lookup, Source};
use crate::ids::Millis;
use crate::machine::{Machine, RegionIx, StateIx, Transition, TransitionIx};
use crate::sorted::sort_by;
use crate::step::{self, Event};
use crate::target::{self, TargetStep};
use crate::timeouts::{self, CATCH_UP_LIMIT, Fired};
use crate::tree::{EntityIx, Tree};

/// Most bytes, roughly, of a value that is shown in full. Many clauses can look at one value.
const MOST_SHOWN: usize = 512;

/// What an event would do to an entity, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The entity.
    pub entity_id: String,
    /// Its machine.
    pub machine_id: String,
    /// The event type.
    pub event_type: Arc<str>,
    /// The entity's state.
    pub current_state: StateView,
    /// What would come of the event.
    pub would: Would,
    /// The label of the transition that it would take; of a broadcast the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<Arc<str>>,
    /// Why it would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalView>,
    /// Every transition on the event, in definition order, from whatever state.
    pub candidates: Vec<Candidate>,
    /// The joins whose target region is not in their target state, as the entity is now.
    pub joins: Vec<WaitingJoin>,
    /// When a timeout next moves the entity, if nothing else does before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_timeout: Option<NextTimeout>,
    /// The entities below that would take the event, if it were for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
}

/// An entity below that would take an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Elsewhere {
    /// Where it is.
    #[serde(flatten)]
    pub at: Whereabouts,
    /// The label of the transition that it would take; of a broadcast the first.
    pub transition: Arc<str>,
}

/// Where in a tree an event is to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Whereabouts {
    /// The machine of the entity that takes it.
    pub machine_id: String,
    /// That entity.
    pub entity_id: String,
    /// The `target` that leads there from the entity that was asked; empty for itself. None where no target can: below a
    /// legacy child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Vec<TargetStep>>,
    /// Whether an event without a target gets there, from legacy child to legacy child.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forwarded: bool,
}

/// What would come of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Would {
    /// It would move the entity.
    Transition,
    /// No transition takes it.
    NoTransition,
    /// It would be handed on to a legacy child, which takes it.
    Forward,
    /// It would be refused.
    Refused,
}

/// Why an event would be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusalView {
    /// The code of the error.
    pub code: Code,
    /// What is wrong.
    pub message: String,
}

/// A transition on an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its place in the definition's `transitions`.
    pub index: usize,
    /// The region that it moves, on a parallel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Arc<str>>,
    /// The state that it leaves.
    pub from: Arc<str>,
    /// The state that it enters.
    pub to: Arc<str>,
    /// Its label.
    pub label: Arc<str>,
    /// Whether its region is in `from`.
    pub state_matches: bool,
    /// Whether its guard passes.
    pub passes: bool,
    /// Whether the event takes it. One whose state matches and whose guard passes yields to an earlier one (S2.27).
    pub taken: bool,
    /// The clauses that make its guard fail.
    pub clauses: Vec<Clause>,
}

/// A clause that makes a guard fail: a comparison, or a form that never passes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clause {
    /// Where it stands, such as `guard.all[0]`.
    pub path: String,
    /// The field that it looks up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<GuardOp>,
    /// What it compares the field with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The value that it found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Value>,
    /// Where it found the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Why it fails, where the values alone do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// A join whose target region is not in its target state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingJoin {
    /// Its place in the definition's `joins`.
    pub index: usize,
    /// The region that it moves.
    pub target_region: Arc<str>,
    /// The state that it enters.
    pub target_state: Arc<str>,
    /// The regions that are not in the state it waits for. None is missing where it fired before, and its target
    /// region moved on (M3).
    pub missing: Vec<MissingState>,
}

/// A region that is not in the state a join waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingState {
    /// The region.
    pub region: Arc<str>,
    /// The state that is waited for.
    pub state: Arc<str>,
    /// The state that it is in.
    pub current: Arc<str>,
}

/// A timeout to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextTimeout {
    /// When it is due.
    pub at: Millis,
    /// The region that it moves.
    pub region: Arc<str>,
    /// The state that it leaves.
    pub from: Arc<str>,
    /// The state that it enters.
    pub to: Arc<str>,
}

/// An event that an entity can take in its current state, by one transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PossibleEvent {
    /// The event type.
    pub event_type: Arc<str>,
    /// The region that the transition moves, on a parallel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Arc<str>>,
    /// The state that it leaves.
    pub from: Arc<str>,
    /// The state that it enters.
    pub to: Arc<str>,
    /// Its place in the definition's `transitions`.
    pub index: usize,
    /// Whether params or context decide if it is taken.
    pub guarded: bool,
    /// Its label.
    pub label: Arc<str>,
    /// Where it is to be sent.
    #[serde(flatten)]
    pub at: Whereabouts,
}

/// Explains what an event would do, changing nothing: to the entity alone where it is `targeted`, and otherwise to its
/// legacy children where no transition of its own takes it.
///
/// Due timeouts were applied to the tree before, where its machine's timers are exact. Whether the event is a replay
/// is not looked at: it is explained as if it came for the first time.
pub fn explain(tree: &Tree, target: EntityIx, event: &Event, targeted: bool, now: Millis) -> Explanation {
    let entity = tree.entity(target);
    let machine = entity.machine();
    let mut copy = tree.clone();
    let (outcome, handed_on) = if targeted {
        (step::apply(&mut copy, target, event, None, now), None)
    } else {
        let delivered = forward::deliver(&mut copy, target, event, &|_| None, now);
        (delivered.outcome, delivered.child)
    };
    let none = || -> SmallVec<[TransitionIx; 1]> { SmallVec::new() };
    let (would, taken, refusal) = match outcome {
        Outcome::Commit(commit) if handed_on.is_some() => {
            // What the entity itself takes is a completion, if anything.
            drop(commit);
            (Would::Forward, none(), None)
        }
        Outcome::Commit(commit) => (Would::Transition, commit.transitions, None),
        // Without a remembered row nothing is a duplicate.
        Outcome::Duplicate | Outcome::NoTransition => (Would::NoTransition, none(), None),
        Outcome::Refusal(refusal) => {
            let view = RefusalView {
                code: refusal.code(),
                message: refusal.to_string(),
            };
            (Would::Refused, none(), Some(view))
        }
    };
    let lookup = Lookup {
        params: Some(&event.params),
        context: entity.context(),
    };
    let candidates = (0_usize..)
        .zip(machine.transitions())
        .filter(|(index, transition)| {
            transition.on == event.event_type && machine.takes_events(TransitionIx::of(*index))
        })
        .map(|(index, transition)| Candidate {
            index,
            region: region_of(machine, transition.region),
            from: name(machine, transition.from),
            to: name(machine, transition.to),
            label: Arc::clone(&transition.label),
            state_matches: entity.entry(transition.region).state == transition.from,
            passes: passes(transition, lookup),
            taken: taken.contains(&TransitionIx::of(index)),
            clauses: clauses(transition.guard.as_ref(), lookup),
        });
    Explanation {
        entity_id: entity.id().as_str().to_owned(),
        machine_id: machine.id().as_str().to_owned(),
        event_type: Arc::clone(&event.event_type),
        current_state: StateView::of(machine, &entity.configuration()),
        would,
        transition: taken
            .first()
            .map(|taken| Arc::clone(&machine.transition(*taken).label)),
        refusal,
        candidates: candidates.collect(),
        joins: waiting_joins(entity),
        next_timeout: next_timeout(tree, target, now),
        elsewhere: elsewhere(tree, target, event, now),
    }
}

/// Who below an entity would take an event, if it were for them.
fn elsewhere(tree: &Tree, from: EntityIx, event: &Event, now: Millis) -> Vec<Elsewhere> {
    let mut found = Vec::new();
    let mut copy = tree.clone();
    for (ix, at) in below(tree, from).into_iter().skip(1) {
        let machine = tree.entity(ix).machine();
        copy.keep();
        let taken = step::take(&mut copy, ix, event, Advance::All, now);
        copy.undo();
        if let Ok(Some(commit)) = taken
            && let Some(taken) = commit.transitions.first()
        {
            found.push(Elsewhere {
                at,
                transition: Arc::clone(&machine.transition(*taken).label),
            });
        }
    }
    found
}

/// A live entity and the live ones below it, outermost first, and where events for them are to be sent.
fn below(tree: &Tree, from: EntityIx) -> Vec<(EntityIx, Whereabouts)> {
    let mut live = tree.subtree(from);
    live.retain(|ix| *ix == from || tree.is_live(*ix));
    sort_by(&mut live, |a, b| tree.outermost_first(*a, *b));
    let at = |ix: EntityIx| {
        let entity = tree.entity(ix);
        let whereabouts = Whereabouts {
            machine_id: entity.machine().id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            target: target::path_to(tree, from, ix),
            forwarded: ix != from && is_forwarded_to(tree, from, ix),
        };
        (ix, whereabouts)
    };
    live.into_iter().map(at).collect()
}

/// Whether an event without a target gets from an entity to one below it: each of the steps is to a legacy child of a
/// state that its parent is in.
fn is_forwarded_to(tree: &Tree, from: EntityIx, to: EntityIx) -> bool {
    let mut entity = to;
    while entity != from {
        let Some(place) = tree.place(entity).filter(|place| !place.managed) else {
            return false;
        };
        if tree.entity(place.parent).entry(place.region).state != place.state {
            return false;
        }
        entity = place.parent;
    }
    true
}

/// The events that an entity, and the live ones below it, can take by the states they are in: outermost first, then in
/// definition order. A legacy child that the first event forwarded to it would make counts as there.
///
/// What an earlier unguarded transition always takes first is left out, and so is what no event can pass.
pub fn events(tree: &Tree, from: EntityIx, now: Millis) -> Vec<PossibleEvent> {
    let mut possible: Vec<PossibleEvent> = Vec::new();
    for (ix, at) in below(tree, from) {
        if !tree.is_live(ix) {
            continue;
        }
        let reached = ix == from || at.forwarded;
        let own = own_events(tree.entity(ix), &at).into_iter().map(|mut event| {
            // What an entity above always takes is not handed on.
            event.at.forwarded &= !is_taken_above(tree, from, ix, &event.event_type);
            event
        });
        possible.extend(own);
        if reached {
            for (child, at) in unmade(tree, ix, now) {
                let own = own_events(&child, &at).into_iter();
                possible.extend(own.filter(|event| {
                    !takes_always(tree.entity(ix), &event.event_type)
                        && !is_taken_above(tree, from, ix, &event.event_type)
                }));
            }
        }
    }
    possible
}

/// Whether an entity takes an event whatever its params.
fn takes_always(entity: &Entity, event_type: &str) -> bool {
    let machine = entity.machine();
    let Some(row) = machine.event(event_type) else {
        return false;
    };
    let mut leaving = entity.entries().flat_map(|(_, entry)| row.leaving(entry.state));
    leaving.any(|transition| {
        let guard = machine.transition(*transition).guard.as_ref();
        guard.map_or(Some(true), Guard::constant) == Some(true)
    })
}

/// Whether an entity on the way down to another always takes an event.
fn is_taken_above(tree: &Tree, from: EntityIx, to: EntityIx, event_type: &str) -> bool {
    let mut entity = to;
    while entity != from {
        let Some(place) = tree.place(entity) else {
            return false;
        };
        entity = place.parent;
        if takes_always(tree.entity(entity), event_type) {
            return true;
        }
    }
    false
}

/// The legacy children of an entity's states that are not made yet.
fn unmade(tree: &Tree, parent: EntityIx, now: Millis) -> Vec<(Entity, Whereabouts)> {
    let entity = tree.entity(parent);
    let mut found = Vec::new();
    for (_, entry) in entity.entries() {
        let state = entity.machine().state(entry.state);
        let Some(sub) = state.child().filter(|sub| !sub.managed) else {
            continue;
        };
        let id = entity.id().of_child(&state.name, None);
        let machine = tree.library().and_then(|library| library.get(&sub.machine_id));
        let Some(machine) = machine.filter(|machine| !tree.is_taken(machine.id(), &id)) else {
            continue;
        };
        let at = Whereabouts {
            machine_id: machine.id().as_str().to_owned(),
            entity_id: id.as_str().to_owned(),
            target: None,
            forwarded: true,
        };
        found.push((Entity::create(Arc::clone(machine), id, Params::new(), now), at));
    }
    found
}

fn own_events(entity: &Entity, at: &Whereabouts) -> Vec<PossibleEvent> {
    let machine = entity.machine();
    let mut possible = Vec::new();
    // The events that nothing behind can take any more: anywhere, or in that region where the event is a broadcast.
    let mut closed: Vec<(&str, Option<RegionIx>)> = Vec::new();
    for (index, transition) in machine.transitions().iter().enumerate() {
        let Some(row) = machine.event(&transition.on) else {
            continue;
        };
        if !machine.takes_events(TransitionIx::of(index)) {
            continue;
        }
        let scope = row.broadcast.then_some(transition.region);
        let constant = transition.guard.as_ref().map_or(Some(true), Guard::constant);
        if entity.entry(transition.region).state != transition.from
            || &*transition.on == TIMEOUT_EVENT
            || constant == Some(false)
            || closed.contains(&(&*transition.on, scope))
        {
            continue;
        }
        if constant == Some(true) {
            closed.push((&transition.on, scope));
        }
        possible.push(PossibleEvent {
            event_type: Arc::clone(&transition.on),
            region: region_of(machine, transition.region),
            from: name(machine, transition.from),
            to: name(machine, transition.to),
            index,
            guarded: constant.is_none(),
            label: Arc::clone(&transition.label),
            at: at.clone(),
        });
    }
    possible
}

fn name(machine: &Machine, state: StateIx) -> Arc<str> {
    Arc::clone(&machine.state(state).name)
}

fn region_of(machine: &Machine, region: RegionIx) -> Option<Arc<str>> {
    machine
        .is_parallel()
        .then(|| Arc::clone(&machine.region(region).id))
}

fn passes(transition: &Transition, lookup: Lookup<'_>) -> bool {
    transition.guard.as_ref().is_none_or(|guard| guard.passes(lookup))
}

fn clauses(guard: Option<&Guard>, lookup: Lookup<'_>) -> Vec<Clause> {
    let mut clauses = Vec::new();
    if let Some(guard) = guard {
        guard.failing(lookup, "guard", &mut |path, failing| {
            clauses.push(clause(path, &failing, lookup));
        });
    }
    clauses
}

fn clause(path: String, failing: &Failing<'_>, lookup: Lookup<'_>) -> Clause {
    let of_form = |reason| Clause {
        path: path.clone(),
        field: None,
        op: None,
        expected: None,
        seen: None,
        source: None,
        reason: Some(reason),
    };
    let leaf = match failing {
        Failing::Comparison(leaf) => leaf,
        Failing::Form(fixed) => return of_form(fixed.reason()),
        Failing::AnyOfNothing => return of_form("`any` of nothing is never true"),
    };
    let (seen, source) = lookup.find(&leaf.field);
    let mut left = MOST_SHOWN;
    let too_large = seen.is_some_and(|seen| !fits(seen, &mut left));
    let reason = if too_large {
        Some("the value that it found is too large to be shown in full")
    } else if seen.is_some_and(|seen| leaf.reads_as_float(seen, source)) {
        Some("in this contract a param that reads as a number is compared as a float, and never as text")
    } else if leaf.impossible() {
        Some("nothing compares so with the expected value: it is never true")
    } else {
        None
    };
    Clause {
        path,
        field: Some(leaf.field.to_string()),
        op: Some(leaf.op),
        expected: Some(leaf.value.clone()),
        seen: seen.map(|seen| if too_large { outlined(seen) } else { seen.clone() }),
        source: Some(source),
        reason,
    }
}

/// Whether a value is small enough to be shown in each clause that looks at it.
fn fits(value: &Value, left: &mut usize) -> bool {
    let size = match value {
        Value::String(text) => text.len(),
        _ => 1,
    };
    let Some(rest) = left.checked_sub(size.max(1)) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(object) => object.iter().all(|(key, item)| {
            *left = left.saturating_sub(key.len());
            fits(item, left)
        }),
        _ => true,
    }
}

/// What stands for a value that is too large: the beginning of a text, or nothing of what has parts.
fn outlined(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(shortened(text)),
        Value::Array(_) => Value::from("[...]"),
        _ => Value::from("{...}"),
    }
}

fn waiting_joins(entity: &Entity) -> Vec<WaitingJoin> {
    let machine = entity.machine();
    let waiting = (0_usize..)
        .zip(machine.joins())
        .filter(|(_, join)| entity.entry(join.region).state != join.target);
    waiting
        .map(|(index, join)| {
            let missing = join.when.iter().filter_map(|(region, state)| {
                let current = entity.entry(*region).state;
                (current != *state).then(|| MissingState {
                    region: Arc::clone(&machine.region(*region).id),
                    state: name(machine, *state),
                    current: name(machine, current),
                })
            });
            WaitingJoin {
                index,
                target_region: Arc::clone(&machine.region(join.region).id),
                target_state: name(machine, join.target),
                missing: missing.collect(),
            }
        })
        .collect()
}

/// Turns the clock of a copy forward until a timeout moves the entity.
fn next_timeout(tree: &Tree, target: EntityIx, now: Millis) -> Option<NextTimeout> {
    let mut copy = tree.clone();
    // Each refusal moves a timer on or off; the bound is for entities of other machines in the tree.
    for _ in 0..CATCH_UP_LIMIT {
        let timer = timeouts::earliest(&copy)?;
        let Fired::Commit(commit) = timeouts::fire(&mut copy, timer, timer.due.max(now)) else {
            continue;
        };
        if commit.target != target {
            continue;
        }
        let row = commit.rows.first()?;
        let machine = tree.entity(target).machine();
        return Some(NextTimeout {
            at: timer.due,
            region: Arc::clone(&machine.region(row.region).id),
            from: name(machine, row.from),
            to: name(machine, row.to),
        });
    }
    None
}

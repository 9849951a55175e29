//! Targets: the managed compound states from an entity to the instance below it that an event is for (S2.213 to S2.220).

use std::sync::Arc;

use serde::Serialize;

use crate::commit::Refusal;
use crate::ids::Seq;
use crate::machine::{Machine, RegionIx, StateIx};
use crate::tree::{EntityIx, Library, Tree};

/// One step of a target path: a managed compound state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TargetStep {
    /// Its region; `_` on a flat machine (S2.215).
    pub region: Arc<str>,
    /// The state.
    pub state: Arc<str>,
    /// The entry instance, where it matters which (S2.216).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
}

/// Checks that every step names a managed compound state, by the definitions (S2.217). Where a child's machine is not
/// registered, the steps below it are not looked at: no instance can be there.
///
/// # Errors
/// A step names none; `path` is that of the steps in the request.
pub fn check(
    machine: &Arc<Machine>,
    library: Option<&Arc<Library>>,
    steps: &[TargetStep],
    path: &str,
) -> Result<(), Refusal> {
    let mut machine = Some(Arc::clone(machine));
    for (place, step) in steps.iter().enumerate() {
        let Some(at) = machine else { return Ok(()) };
        let Some((_, state)) = find(&at, step) else {
            return Err(no_managed_state(&at, step, &format!("{path}[{place}]")));
        };
        let sub = at.state(state).child();
        machine = sub.and_then(|sub| Some(Arc::clone(library?.get(&sub.machine_id)?)));
    }
    Ok(())
}

/// The live instance that a path leads to.
///
/// # Errors
/// A step is not the current entry, or has no live child (S2.220); or it names no managed compound state of the instance
/// that is there.
pub fn resolve(tree: &Tree, from: EntityIx, steps: &[TargetStep], path: &str) -> Result<EntityIx, Refusal> {
    let mut entity = from;
    for (place, step) in steps.iter().enumerate() {
        let path = || format!("{path}[{place}]");
        let at = tree.entity(entity);
        let machine = at.machine();
        let Some((region, state)) = find(machine, step) else {
            return Err(no_managed_state(machine, step, &path()));
        };
        let entry = at.entry(region);
        let stale = |problem: String| Refusal::TargetNotActive {
            path: path(),
            problem,
        };
        if entry.state != state {
            let current = &machine.state(entry.state).name;
            return Err(stale(format!(
                "`{}` is in `{current}`, not in `{}`",
                at.id(),
                step.state
            )));
        }
        if let Some(seq) = step.seq.filter(|seq| *seq != entry.seq) {
            return Err(stale(format!(
                "`{}` is in entry {} of `{}`, not in entry {seq}",
                at.id(),
                entry.seq,
                step.state
            )));
        }
        entity = tree
            .managed_child(entity, region, entry.seq)
            .ok_or_else(|| stale(format!("`{}` has no live child in `{}`", at.id(), step.state)))?;
    }
    Ok(entity)
}

/// The path that leads from an entity to an instance below it; none where a legacy child is in between, or it is not
/// below.
pub fn path_to(tree: &Tree, from: EntityIx, to: EntityIx) -> Option<Vec<TargetStep>> {
    let mut steps = Vec::new();
    let mut entity = to;
    while entity != from {
        let place = tree.place(entity).filter(|place| place.managed)?;
        let machine = tree.entity(place.parent).machine();
        steps.push(TargetStep {
            region: Arc::clone(&machine.region(place.region).id),
            state: Arc::clone(&machine.state(place.state).name),
            seq: Some(place.seq),
        });
        entity = place.parent;
    }
    steps.reverse();
    Some(steps)
}

/// Whether an instance is one, of whatever generation, that a path leads to.
pub fn is_at(tree: &Tree, from: EntityIx, instance: EntityIx, steps: &[TargetStep]) -> bool {
    let mut entity = instance;
    for step in steps.iter().rev() {
        let Some(place) = tree.place(entity).filter(|place| place.managed) else {
            return false;
        };
        let machine = tree.entity(place.parent).machine();
        let named = *machine.region(place.region).id == *step.region
            && *machine.state(place.state).name == *step.state;
        if !named
            || step
                .seq
                .is_some_and(|seq| seq < place.first_seq || seq > place.seq)
        {
            return false;
        }
        entity = place.parent;
    }
    entity == from
}

fn find(machine: &Machine, step: &TargetStep) -> Option<(RegionIx, StateIx)> {
    let region = machine.find_region(&step.region)?;
    let state = machine.find_state(region, &step.state)?;
    let managed = machine.state(state).child().is_some_and(|sub| sub.managed);
    managed.then_some((region, state))
}

fn no_managed_state(machine: &Machine, step: &TargetStep, path: &str) -> Refusal {
    let managed = machine
        .states()
        .iter()
        .filter(|state| state.child().is_some_and(|sub| sub.managed));
    let known: Vec<String> = managed
        .take(10)
        .map(|state| format!("`{}` of region `{}`", state.name, machine.region(state.region).id))
        .collect();
    Refusal::NoManagedState {
        path: path.to_owned(),
        state: step.state.to_string(),
        region: step.region.to_string(),
        machine: machine.id().clone(),
        expected: if known.is_empty() {
            "no step here: the machine has no managed compound state; `[]` is the entity itself".to_owned()
        } else {
            format!("one of {}", known.join(", "))
        },
    }
}

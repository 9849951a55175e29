//! What the children of compound states are made of, and when they are complete.

use std::sync::Arc;

use crate::commit::Refusal;
use crate::definition::FLAT_REGION;
use crate::entity::{Configuration, Entity};
use crate::machine::{Machine, RegionIx, StateIx, SubMachine};
use crate::tree::Library;

/// Where a managed child that is complete leads its parent: `on_final` first on a flat one, then the first rule that
/// holds (R8, S2.185, S2.186).
pub(crate) fn completion(sub: &SubMachine, child: &Entity) -> Option<StateIx> {
    let machine = child.machine();
    if let Some(target) = final_target(sub, child) {
        return Some(target);
    }
    let configuration = child.configuration();
    sub.rules
        .iter()
        .find(|rule| {
            rule.when
                .iter()
                .all(|(region, state)| is_in(machine, &configuration, region, state))
        })
        .map(|rule| rule.target)
}

/// Where a flat child that is final leads its parent.
pub(crate) fn final_target(sub: &SubMachine, child: &Entity) -> Option<StateIx> {
    let machine = child.machine();
    if machine.is_parallel() {
        return None;
    }
    let state = child.entry(RegionIx::of(0)).state;
    sub.after_final(&machine.state(state).name)
}

fn is_in(machine: &Machine, configuration: &Configuration, region: &str, state: &str) -> bool {
    machine
        .find_region(region)
        .and_then(|region| configuration.get(region.place()))
        .is_some_and(|current| *machine.state(*current).name == *state)
}

/// The machine of a child, of its parent's contract.
pub(crate) fn made_of(
    library: Option<&Arc<Library>>,
    parent: &Machine,
    state: &Arc<str>,
    sub: &SubMachine,
) -> Result<Arc<Machine>, Refusal> {
    let found = library.and_then(|library| library.get(&sub.machine_id));
    let machine = found.ok_or_else(|| Refusal::MissingMachine {
        machine: sub.machine_id.clone(),
        state: Arc::clone(state),
        parent: parent.id().clone(),
    })?;
    if machine.contract() != parent.contract() {
        return Err(Refusal::UnfitChild {
            state: Arc::clone(state),
            parent: parent.id().clone(),
            problem: format!(
                "machine `{}` runs by `{}`",
                machine.id(),
                machine.contract().name()
            ),
            expected: format!("the contract of its parent, `{}`", parent.contract().name()),
        });
    }
    Ok(Arc::clone(machine))
}

/// S2.180, S2.187, R8.
pub(crate) fn check_fit(
    parent: &Machine,
    state: &Arc<str>,
    sub: &SubMachine,
    child: &Machine,
) -> Result<(), Refusal> {
    let unfit = |problem: String, expected: &str| Refusal::UnfitChild {
        state: Arc::clone(state),
        parent: parent.id().clone(),
        problem,
        expected: expected.to_owned(),
    };
    if child.is_parallel() && !sub.on_final.is_empty() {
        return Err(unfit(
            format!("`on_final` is given, and machine `{}` is parallel", child.id()),
            "`complete_when` alone",
        ));
    }
    for (index, rule) in sub.rules.iter().enumerate() {
        for region in child.regions() {
            if !rule.when.iter().any(|(named, _)| *named == region.id) {
                let problem = if child.is_parallel() {
                    format!(
                        "`complete_when[{index}]` does not name region `{}` of machine `{}`",
                        region.id,
                        child.id()
                    )
                } else {
                    format!(
                        "`complete_when[{index}]` does not name `{FLAT_REGION}`, the region of the flat machine `{}`",
                        child.id()
                    )
                };
                return Err(unfit(problem, "a state for each region of the child"));
            }
        }
    }
    Ok(())
}

pub(crate) fn too_deep(state: &Arc<str>) -> Refusal {
    Refusal::NestingDepthExceeded {
        state: Arc::clone(state),
    }
}

pub(crate) fn conflict(state: &Arc<str>, machine: &Machine, entity: &Entity, managed: bool) -> Refusal {
    Refusal::InstanceConflict {
        state: Arc::clone(state),
        machine: machine.id().clone(),
        entity: entity.id().clone(),
        managed,
    }
}

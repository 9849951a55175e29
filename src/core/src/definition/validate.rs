//! Whether what a definition names exists, and whether its rules can be carried out (S2.36 to S2.45, R6).
//!
//! An empty name was reported as missing when the document was read, and is passed over here.

use std::collections::BTreeSet;

use super::shape::{Findings, Path, shortened};
use super::{
    ActionDef, Definition, FLAT_REGION, JoinAction, Lifecycle, RegionDef, SubMachineDef, TIMEOUT_EVENT,
    TransitionDef,
};
use crate::contract::Contract;
use crate::fault::WarningKind;
use crate::guard::shape as guard_shape;
use crate::sorted::{Gather, SortedMap, SortedSet};

/// What the checks look names up in: each region and its states.
struct Scope<'a> {
    regions: SortedMap<&'a str, SortedSet<&'a str>>,
    parallel: bool,
}

pub(super) fn check(findings: &mut Findings, definition: &Definition, contract: Contract) {
    let root = Path::root();
    // The seed's service writes both, one of them empty.
    let given = |list: usize, other: usize| findings.strict || list > 0 || other == 0;
    let (states, regions) = (definition.states.as_deref(), definition.regions.as_deref());
    let counts = (states.map_or(0, <[_]>::len), regions.map_or(0, <[_]>::len));
    let states = states.filter(|_| given(counts.0, counts.1));
    let regions = regions.filter(|_| given(counts.1, counts.0));
    let scope = match (states, regions) {
        (Some(_), Some(_)) => {
            findings.fault(
                &root.key("regions"),
                "it stands beside `states`",
                "either `states` or `regions`",
            );
            return;
        }
        (None, None) => {
            let states = root.key("states");
            if !findings.told(&states) && !findings.told(&root.key("regions")) {
                findings.fault(
                    &states,
                    "it is missing",
                    "`states`, or `regions` for a parallel machine",
                );
            }
            return;
        }
        (Some(states), None) => flat(findings, &root, definition, states),
        (None, Some(regions)) => parallel(findings, &root, definition, regions),
    };
    for (index, transition) in definition.transitions.iter().enumerate() {
        check_transition(
            findings,
            &scope,
            &root.key("transitions").item(index),
            transition,
            contract,
        );
    }
    check_joins(findings, &scope, &root, definition);
    check_actions(findings, &scope, &root, definition);
    check_broadcast(findings, &scope, &root, definition);
    check_managed_names(findings, &root, definition);
}

fn flat<'a>(
    findings: &mut Findings,
    root: &Path,
    definition: &'a Definition,
    states: &'a [String],
) -> Scope<'a> {
    check_states(findings, &root.key("states"), states);
    let known: SortedSet<&str> = states.iter().map(String::as_str).gather();
    let path = root.key("initial_state");
    match definition.initial_state.as_deref() {
        None if findings.told(&path) => {}
        None => findings.fault(&path, "it is missing", "one of the states"),
        Some("") => findings.fault(&path, "it is empty", "one of the states"),
        Some(initial) => check_state(findings, &path, initial, &known, "this machine"),
    }
    check_sub_machines(findings, root, definition.sub_machines.as_ref(), &known);
    check_compound_start(
        findings,
        &path,
        definition.initial_state.as_deref(),
        definition.sub_machines.as_ref(),
    );
    Scope {
        regions: std::iter::once((FLAT_REGION, known)).gather(),
        parallel: false,
    }
}

fn parallel<'a>(
    findings: &mut Findings,
    root: &Path,
    definition: &Definition,
    regions: &'a [RegionDef],
) -> Scope<'a> {
    let mut scope = Scope {
        regions: SortedMap::new(),
        parallel: true,
    };
    let path = root.key("regions");
    if regions.is_empty() {
        findings.fault(&path, "it is empty", "at least one region");
    }
    if definition
        .initial_state
        .as_deref()
        .is_some_and(|initial| findings.strict || !initial.is_empty())
    {
        findings.fault(
            &root.key("initial_state"),
            "a parallel machine has none",
            "`initial_state` in each region",
        );
    }
    if definition.sub_machines.is_some() {
        findings.fault(
            &root.key("sub_machines"),
            "a parallel machine has none",
            "`sub_machines` in its regions",
        );
    }
    for (index, region) in regions.iter().enumerate() {
        let path = path.item(index);
        let known: SortedSet<&str> = region.states.iter().map(String::as_str).gather();
        check_states(findings, &path.key("states"), &region.states);
        check_state(
            findings,
            &path.key("initial_state"),
            &region.initial_state,
            &known,
            &format!("region `{}`", shortened(&region.id)),
        );
        check_sub_machines(findings, &path, region.sub_machines.as_ref(), &known);
        check_compound_start(
            findings,
            &path.key("initial_state"),
            Some(&region.initial_state),
            region.sub_machines.as_ref(),
        );
        if !region.id.is_empty() && scope.regions.insert(&region.id, known).is_some() {
            findings.fault(
                &path.key("id"),
                format!("`{}` names an earlier region too", shortened(&region.id)),
                "region ids that differ",
            );
        }
    }
    scope
}

fn check_states(findings: &mut Findings, path: &Path, states: &[String]) {
    if states.is_empty() {
        findings.fault(path, "it is empty", "at least one state");
    }
    if !findings.strict {
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, state) in states.iter().enumerate() {
        if !seen.insert(state.as_str()) {
            findings.fault(
                &path.item(index),
                format!("`{}` stands twice", shortened(state)),
                "states that differ",
            );
        }
    }
}

fn check_state(findings: &mut Findings, path: &Path, state: &str, known: &SortedSet<&str>, place: &str) {
    if state.is_empty() || known.contains(state) {
        return;
    }
    let expected = findings.one_of(state, known.iter().copied());
    findings.fault(
        path,
        format!("`{}` is no state of {place}", shortened(state)),
        expected,
    );
}

/// Checks that a region exists and a state is one of its; says so at the path of the one that is wrong.
fn check_place(findings: &mut Findings, scope: &Scope<'_>, region: (&Path, &str), states: &[(&Path, &str)]) {
    let (region_path, region) = region;
    if region.is_empty() {
        return;
    }
    let Some(known) = scope.regions.get(region) else {
        let expected = findings.one_of(region, scope.regions.keys().copied());
        findings.fault(
            region_path,
            format!("`{}` is no region", shortened(region)),
            expected,
        );
        return;
    };
    let place = if scope.parallel {
        format!("region `{}`", shortened(region))
    } else {
        "this machine".to_owned()
    };
    for (path, state) in states {
        check_state(findings, path, state, known, &place);
    }
}

fn check_transition(
    findings: &mut Findings,
    scope: &Scope<'_>,
    path: &Path,
    transition: &TransitionDef,
    contract: Contract,
) {
    let region_path = path.key("region");
    let region = match (&transition.region, scope.parallel) {
        (Some(region), true) => Some(region.as_str()),
        (None, true) => {
            findings.fault(
                &region_path,
                "it is missing",
                "the region that the transition moves",
            );
            None
        }
        (Some(region), false) => {
            if findings.strict && region != FLAT_REGION {
                findings.fault(
                    &region_path,
                    format!("`{}` is no region: the machine is flat", shortened(region)),
                    "no `region`",
                );
            }
            Some(FLAT_REGION)
        }
        (None, false) => Some(FLAT_REGION),
    };
    if let Some(region) = region {
        let states = [
            (&path.key("from"), transition.from.as_str()),
            (&path.key("to"), transition.to.as_str()),
        ];
        check_place(findings, scope, (&region_path, region), &states);
    }
    let timeout = transition.on == TIMEOUT_EVENT;
    if findings.strict && transition.on.starts_with('$') && !timeout {
        findings.fault(
            &path.key("on"),
            format!(
                "`{}` is reserved: only the engine makes events that start with `$`",
                shortened(&transition.on)
            ),
            "an event type without `$` in front, or `$timeout`",
        );
    }
    guard_shape::check(
        findings,
        &path.key("guard"),
        transition.guard.as_ref(),
        timeout,
        contract,
    );
}

fn check_joins(findings: &mut Findings, scope: &Scope<'_>, root: &Path, definition: &Definition) {
    let Some(joins) = &definition.joins else { return };
    let path = root.key("joins");
    if !scope.parallel {
        if joins.is_empty() {
            return;
        }
        if findings.strict {
            findings.fault(&path, "a flat machine has no regions to join", "no `joins`");
        } else {
            findings.warn(
                WarningKind::IgnoredKey,
                &path,
                "a flat machine has no regions to join: the joins are ignored",
            );
        }
        return;
    }
    for (index, join) in joins.iter().enumerate() {
        let path = path.item(index);
        let when = path.key("when");
        for (region, state) in &join.when {
            let path = when.key(region);
            check_place(findings, scope, (&path, region), &[(&path, state)]);
        }
        let target = path.key("target_state");
        check_place(
            findings,
            scope,
            (&path.key("target_region"), &join.target_region),
            &[(&target, &join.target_state)],
        );
        if join.trigger.is_some() && !findings.strict {
            findings.fault(
                &path.key("trigger"),
                "`statemachine-e1e4.v1` knows no triggers: its joins are level-triggered",
                "no `trigger`, or the contract `statewright.v1`",
            );
        }
    }
}

fn check_actions(findings: &mut Findings, scope: &Scope<'_>, root: &Path, definition: &Definition) {
    let all: SortedSet<&str> = scope.regions.values().flatten().copied().gather();
    for (index, def) in definition.actions.iter().flatten().enumerate() {
        check_action(findings, scope, &all, &root.key("actions").item(index), def);
    }
    // The joins of a flat machine are ignored, or a fault of their own.
    let joins = definition.joins.iter().flatten().enumerate();
    for (place, join) in joins.filter(|_| scope.parallel) {
        let path = root.key("joins").item(place).key("actions");
        for (index, action) in join.actions.iter().flatten().enumerate() {
            if let JoinAction::Entered(def) = action {
                check_action(findings, scope, &all, &path.item(index), def);
            }
        }
    }
}

/// Checks that the state that an action names exists, in the region that it names or in any.
fn check_action(
    findings: &mut Findings,
    scope: &Scope<'_>,
    all: &SortedSet<&str>,
    path: &Path,
    def: &ActionDef,
) {
    let state_path = path.key("on_enter");
    match (&def.region, scope.parallel) {
        (Some(region), true) => {
            check_place(
                findings,
                scope,
                (&path.key("region"), region),
                &[(&state_path, &def.on_enter)],
            );
        }
        (Some(region), false) if findings.strict && region != FLAT_REGION => findings.fault(
            &path.key("region"),
            format!("`{}` is no region: the machine is flat", shortened(region)),
            "no `region`",
        ),
        _ => check_state(findings, &state_path, &def.on_enter, all, "this machine"),
    }
}

fn check_broadcast(findings: &mut Findings, scope: &Scope<'_>, root: &Path, definition: &Definition) {
    let Some(events) = &definition.broadcast else {
        return;
    };
    let path = root.key("broadcast");
    if !findings.strict {
        findings.fault(
            &path,
            "in `statemachine-e1e4.v1` an event moves one region",
            "no `broadcast`, or the contract `statewright.v1`",
        );
    } else if !scope.parallel {
        findings.fault(&path, "a flat machine has one region", "no `broadcast`");
    }
    for (index, event) in events.iter().enumerate() {
        if event.starts_with('$') {
            findings.fault(
                &path.item(index),
                format!("`{}` is reserved: no client sends it", shortened(event)),
                "an event type without `$` in front",
            );
        }
    }
}

fn check_sub_machines(
    findings: &mut Findings,
    path: &Path,
    subs: Option<&std::collections::BTreeMap<String, SubMachineDef>>,
    known: &SortedSet<&str>,
) {
    let Some(subs) = subs else { return };
    let path = path.key("sub_machines");
    for (state, sub) in subs {
        let path = path.key(state);
        check_state(findings, &path, state, known, "the parent");
        for (final_state, target) in sub.on_final.iter().flatten() {
            check_state(
                findings,
                &path.key("on_final").key(final_state),
                target,
                known,
                "the parent",
            );
        }
        let managed = sub.lifecycle == Some(Lifecycle::Managed);
        if sub.complete_when.is_some() && !managed {
            findings.fault(
                &path.key("complete_when"),
                "a legacy child completes by `on_final` alone",
                "`\"lifecycle\": \"managed\"` beside it",
            );
        }
        if sub.reentry.is_some() && !findings.strict {
            findings.fault(
                &path.key("reentry"),
                "in `statemachine-e1e4.v1` a second entry is always refused",
                "no `reentry`, or the contract `statewright.v1`",
            );
        } else if sub.reentry.is_some() && !managed {
            findings.fault(
                &path.key("reentry"),
                "only a managed child has it",
                "`\"lifecycle\": \"managed\"` beside it",
            );
        }
        for (index, rule) in sub.complete_when.iter().flatten().enumerate() {
            let path = path.key("complete_when").item(index).key("target");
            check_state(findings, &path, &rule.target, known, "the parent");
        }
    }
}

/// A legacy compound state cannot be initial (S2.42): its child would be started by no event.
fn check_compound_start(
    findings: &mut Findings,
    path: &Path,
    initial: Option<&str>,
    subs: Option<&std::collections::BTreeMap<String, SubMachineDef>>,
) {
    let legacy = initial
        .zip(subs)
        .and_then(|(initial, subs)| subs.get(initial))
        .filter(|sub| sub.lifecycle.is_none());
    if legacy.is_some() {
        findings.fault(
            path,
            "a state with a legacy child cannot be initial",
            "another state, or a child with `\"lifecycle\": \"managed\"`",
        );
    }
}

/// A managed compound state's name is unique over the regions: its child's id is made from it (S2.45).
fn check_managed_names(findings: &mut Findings, root: &Path, definition: &Definition) {
    let mut seen = BTreeSet::new();
    for (index, region) in definition.regions.iter().flatten().enumerate() {
        for (state, sub) in region.sub_machines.iter().flatten() {
            if sub.lifecycle == Some(Lifecycle::Managed) && !seen.insert(state.as_str()) {
                findings.fault(
                    &root.key("regions").item(index).key("sub_machines").key(state),
                    format!(
                        "`{}` is a managed compound state of an earlier region too",
                        shortened(state)
                    ),
                    "names that differ between regions",
                );
            }
        }
    }
}

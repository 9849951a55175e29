//! What a definition asks of the machines that it names as children (S2.46 to S2.49, S2.196, M7, R8).
//!
//! A child that is not known is passed over: the same rules bite when it starts (S2.49).

mod endings;

use crate::definition::shape::{Findings, MOST_LISTED, Path, list, shortened};
use crate::definition::{CompletionRule, Definition, FLAT_REGION, Lifecycle, SubMachineDef, Valid};
use crate::entity::Configuration;
use crate::fault::{Fault, WarningKind};
use crate::lint;
use crate::machine::{Machine, RegionIx, StateIx};
use crate::sorted::{Gather, SortedMap, SortedSet};
use crate::tree::DEEPEST_LEVEL;
use endings::{Budget, Endings};

/// How many endings a warning names.
const MOST_NAMED: usize = 4;

/// The machines that a definition can reach, as they are registered.
#[derive(Debug, Default)]
pub struct Family {
    children: SortedMap<String, Valid>,
    managed: SortedMap<String, Vec<String>>,
}

impl Family {
    /// Adds a machine that the definition itself names.
    pub fn add_child(&mut self, child: Valid) {
        let id = child.definition.machine_id.clone();
        self.add_below(id.clone(), managed(&child.definition));
        self.children.insert(id, child);
    }

    /// Adds a machine that only others of the family name: which it has as managed children is all that matters.
    pub fn add_below(&mut self, machine_id: String, managed: Vec<String>) {
        self.managed.insert(machine_id, managed);
    }
}

/// The machines that a definition names as children, sorted, each once.
pub fn named(definition: &Definition) -> SortedSet<&str> {
    lint::sub_machines(definition)
        .map(|(.., sub)| sub.machine_id.as_str())
        .gather()
}

fn managed(definition: &Definition) -> Vec<String> {
    let managed = lint::sub_machines(definition).filter(|(.., sub)| is_managed(sub));
    let names: SortedSet<&str> = managed.map(|(.., sub)| sub.machine_id.as_str()).gather();
    names.into_iter().map(str::to_owned).collect()
}

fn is_managed(sub: &SubMachineDef) -> bool {
    sub.lifecycle == Some(Lifecycle::Managed)
}

/// Checks a definition against the machines that it can reach, and adds what deserves a second look to its warnings.
///
/// # Errors
/// Every fault at once, in the order of the document; loops come last.
pub fn check(valid: Valid, family: &Family) -> Result<Valid, Vec<Fault>> {
    // Without faults it compiles; if not, compiling it is what will say so.
    let Ok(machine) = Machine::compile(&valid) else {
        return Ok(valid);
    };
    let mut checks = Checks::new(&valid, &machine, family);
    for (path, region, state, sub) in lint::sub_machines(&valid.definition) {
        checks.child(&path, region, state, sub);
    }
    checks.loops();
    let found = checks.findings.done()?;
    let mut valid = valid;
    valid.warnings.extend(found);
    valid.warnings.truncate(MOST_LISTED);
    Ok(valid)
}

struct Checks<'a> {
    valid: &'a Valid,
    machine: &'a Machine,
    family: &'a Family,
    lines: Lines<'a>,
    findings: Findings,
    /// By the machine of a child: as it runs.
    compiled: SortedMap<&'a str, Option<Compiled>>,
    budget: Budget,
    /// Where a child that is final at its start leads its parent, by the compound state.
    onward: SortedMap<StateIx, (StateIx, Path)>,
}

/// The machine of a child, and where it can end, whatever its parent asks.
struct Compiled {
    machine: Machine,
    endings: Endings,
}

impl<'a> Checks<'a> {
    fn new(valid: &'a Valid, machine: &'a Machine, family: &'a Family) -> Self {
        let mut findings = Findings::new();
        findings.strict = machine.rules().strict;
        Self {
            valid,
            machine,
            family,
            lines: Lines::new(&valid.definition, family),
            findings,
            compiled: SortedMap::new(),
            budget: Budget::default(),
            onward: SortedMap::new(),
        }
    }

    /// The registered child; of a machine that names itself, the definition at hand.
    fn find(&self, machine_id: &str) -> Option<&'a Valid> {
        if machine_id == self.valid.definition.machine_id {
            return Some(self.valid);
        }
        self.family.children.get(machine_id)
    }

    fn child(&mut self, path: &Path, region: RegionIx, state: &'a str, sub: &'a SubMachineDef) {
        if is_managed(sub) {
            self.line(&path.key("machine_id"), sub);
        }
        let Some(child) = self.find(&sub.machine_id) else {
            return;
        };
        let name = shortened(&sub.machine_id);
        let (own, other) = (self.valid.contract, child.contract);
        if own != other {
            let problem = format!("machine `{name}` has the contract `{}`", other.name());
            let expected = format!(
                "a machine of the contract `{}`: all machines of a tree have one",
                own.name()
            );
            self.findings.fault(&path.key("machine_id"), problem, expected);
            return;
        }
        let regions = regions(&child.definition);
        self.finals(&path.key("on_final"), sub, child, &regions);
        for (index, rule) in sub.complete_when.iter().flatten().enumerate() {
            let path = path.key("complete_when").item(index).key("when");
            self.rule(&path, rule, &name, &regions);
        }
        if is_managed(sub) {
            self.completion(path, region, state, sub, child);
        }
    }

    /// The chain below a managed child: no cycle (S2.46), and no deeper than eight levels (S2.47).
    fn line(&mut self, path: &Path, sub: &'a SubMachineDef) {
        let own = self.valid.definition.machine_id.as_str();
        if let Some(back) = self.lines.back(own, &sub.machine_id) {
            let cycle = chain(std::iter::once(own).chain(back));
            self.findings.fault(
                path,
                format!("it closes a cycle of managed children: {cycle}"),
                "children that do not lead back to this machine",
            );
        } else if let Some(deep) = self.lines.too_deep(&sub.machine_id) {
            let deep = chain(std::iter::once(own).chain(deep));
            self.findings.fault(
                path,
                format!(
                    "managed children nest deeper than {DEEPEST_LEVEL} levels below this machine: {deep}"
                ),
                format!("at most {DEEPEST_LEVEL} levels"),
            );
        }
    }

    fn finals(&mut self, path: &Path, sub: &SubMachineDef, child: &Valid, regions: &Regions<'_>) {
        let Some(on_final) = sub.on_final.as_ref().filter(|map| !map.is_empty()) else {
            return;
        };
        let name = shortened(&sub.machine_id);
        if child.definition.is_parallel() {
            if is_managed(sub) {
                self.findings.fault(
                    path,
                    format!("machine `{name}` is parallel: no single state of it is final"),
                    "`complete_when` alone",
                );
            }
            return;
        }
        let Some((_, known)) = regions.first().filter(|_| self.findings.strict) else {
            return;
        };
        for state in on_final.keys().filter(|state| !known.contains(state.as_str())) {
            let expected = self.findings.one_of(state, known.iter().copied());
            let problem = format!("`{}` is no state of machine `{name}`", shortened(state));
            self.findings.fault(&path.key(state), problem, expected);
        }
    }

    /// A rule names every region of the child (S2.48), and in `statewright.v1` nothing else.
    fn rule(&mut self, path: &Path, rule: &CompletionRule, name: &str, regions: &Regions<'_>) {
        let all = regions.iter().map(|(region, _)| *region);
        let missing = all.clone().filter(|region| !rule.when.contains_key(*region));
        if missing.clone().next().is_some() {
            let problem = format!("it names no state of {} of machine `{name}`", list(missing));
            let all = list(all);
            let expected = if regions.iter().any(|(region, _)| *region == FLAT_REGION) {
                format!("a state of {all}, the only region of a flat machine")
            } else {
                format!("a state of every region: {all}")
            };
            self.findings.fault(path, problem, expected);
        }
        if !self.findings.strict {
            return;
        }
        for (region, state) in &rule.when {
            let path = path.key(region);
            let Some((_, known)) = regions.iter().find(|(known, _)| known == region) else {
                let names = regions.iter().map(|(region, _)| *region);
                let expected = self.findings.one_of(region, names);
                let problem = format!("`{}` is no region of machine `{name}`", shortened(region));
                self.findings.fault(&path, problem, expected);
                continue;
            };
            if !known.contains(state.as_str()) {
                let expected = self.findings.one_of(state, known.iter().copied());
                let problem = format!(
                    "`{}` is no state of region `{}` of machine `{name}`",
                    shortened(state),
                    shortened(region)
                );
                self.findings.fault(&path, problem, expected);
            }
        }
    }

    /// Where a managed child ends without being complete (S2.196), and where it leads when it is so at its start.
    fn completion(
        &mut self,
        path: &Path,
        region: RegionIx,
        state: &str,
        sub: &'a SubMachineDef,
        child: &'a Valid,
    ) {
        let compiled = self.compiled.or_insert_with(&sub.machine_id, || {
            let machine = Machine::compile(child).ok()?;
            let endings = Endings::of(&machine);
            Some(Compiled { machine, endings })
        });
        let (Some(compiled), Some(compound)) = (compiled, self.machine.find_state(region, state)) else {
            return;
        };
        let Compiled { machine, endings } = compiled;
        let rules = Completion::new(self.machine, compound, machine);
        let start = endings::start(machine);
        let at_start = rules.target(&start);
        let seen_at_start = self.machine.rules().completes_at_start;
        if let Some(target) = at_start.filter(|_| seen_at_start && !starts_more(machine, &start)) {
            self.onward.insert(compound, (target, path.clone()));
        }
        if rules.is_empty() {
            // It is there to be cancelled.
            return;
        }
        let path = path.key(if sub.complete_when.is_some() {
            "complete_when"
        } else {
            "on_final"
        });
        let name = shortened(&sub.machine_id);
        if at_start.is_some() && !seen_at_start && endings.is_end(machine, &start) {
            let message = format!(
                "a child of machine `{name}` stays where it starts, at `{}`, and in this contract none is complete \
                 before it has moved",
                spelt(machine, &start)
            );
            self.findings
                .warn(WarningKind::UncoveredCompletion, &path, message);
        }
        let completes = |ending: &Configuration| rules.target(ending).is_some();
        let found = endings.uncovered(machine, completes, &mut self.budget);
        if found.is_empty() {
            return;
        }
        let named = found.iter().take(MOST_NAMED);
        let named: Vec<String> = named
            .map(|ending| format!("`{}`", spelt(machine, ending)))
            .collect();
        let more = if found.len() > MOST_NAMED {
            " and elsewhere"
        } else {
            ""
        };
        let message = format!(
            "a child of machine `{name}` can come to its end at {}{more}, and nothing here completes it there",
            named.join(" or "),
        );
        self.findings
            .warn(WarningKind::UncoveredCompletion, &path, message);
    }

    /// Compound states whose children are final at their start, and lead from one to the next and back (M7).
    ///
    /// A join that may take the region out of the loop ends it: then the bound on a commit has to do (`CASCADE_LIMIT`).
    fn loops(&mut self) {
        let reachable = lint::reachable(&self.valid.definition, self.machine);
        let mut done: SortedSet<StateIx> = SortedSet::new();
        for first in self.onward.keys() {
            let mut way = Vec::new();
            let mut at = *first;
            // Each state leads to one other, so a way that meets itself ends in the loop.
            while let Some((next, _)) = self.onward.get(&at).filter(|_| !done.contains(&at)) {
                done.insert(at);
                way.push(at);
                at = *next;
            }
            let start = way.iter().position(|state| *state == at);
            let (Some(start), Some((_, path))) = (start, self.onward.get(&at)) else {
                continue;
            };
            let states = way.get(start..).unwrap_or_default();
            let entered = reachable.get(at.place()).copied().unwrap_or_default();
            if entered && !states.iter().any(|state| self.joined_away(*state)) {
                let name = |state: &StateIx| &*self.machine.state(*state).name;
                let names = chain(states.iter().chain(std::iter::once(&at)).map(name));
                self.findings.fault(
                    path,
                    format!("its child is complete at its start, and so on for ever: {names}"),
                    "a child that is not complete where it starts, or a target that does not lead back",
                );
            }
        }
    }

    fn joined_away(&self, state: StateIx) -> bool {
        let region = self.machine.state(state).region;
        self.machine.joins().iter().any(|join| {
            let waits = |(named, wanted): &(RegionIx, StateIx)| *named != region || *wanted == state;
            join.region == region && join.target != state && join.when.iter().all(waits)
        })
    }
}

/// The regions of a machine, each with its states.
type Regions<'a> = Vec<(&'a str, SortedSet<&'a str>)>;

fn regions(definition: &Definition) -> Regions<'_> {
    if !definition.is_parallel() {
        let flat = definition.states.as_deref().unwrap_or_default();
        return vec![(FLAT_REGION, flat.iter().map(String::as_str).gather())];
    }
    let regions = definition.regions.iter().flatten();
    regions
        .map(|region| {
            (
                region.id.as_str(),
                region.states.iter().map(String::as_str).gather(),
            )
        })
        .collect()
}

/// Whether a start in that configuration starts another managed child: then what completes it is not certain.
fn starts_more(machine: &Machine, start: &Configuration) -> bool {
    let mut children = start.iter().filter_map(|state| machine.state(*state).child());
    children.any(|child| child.managed)
}

/// A configuration in words.
fn spelt(machine: &Machine, configuration: &Configuration) -> String {
    let names = configuration.iter().map(|state| {
        let state = machine.state(*state);
        if machine.is_parallel() {
            let region = &machine.region(state.region).id;
            format!("{}={}", shortened(region), shortened(&state.name))
        } else {
            shortened(&state.name)
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

fn chain<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{}`", shortened(name))).collect();
    names.join(" → ")
}

/// What completes a child, in the child's own terms.
struct Completion {
    /// The states that a flat child is final in.
    finals: Vec<(StateIx, StateIx)>,
    /// The places of a rule; none where it names what the child does not have, and never holds.
    rules: Vec<(Vec<StateIx>, StateIx)>,
    given: bool,
}

impl Completion {
    fn new(parent: &Machine, compound: StateIx, child: &Machine) -> Self {
        let (on_final, when) = match parent.state(compound).child() {
            Some(sub) => (&*sub.on_final, &*sub.rules),
            None => (&[][..], &[][..]),
        };
        let flat = RegionIx::of(0);
        let finals = on_final.iter().filter(|_| !child.is_parallel());
        let finals = finals.filter_map(|(name, target)| Some((child.find_state(flat, name)?, *target)));
        let rules = when.iter().filter_map(|rule| {
            let places = rule
                .when
                .iter()
                .map(|(region, state)| child.find_state(child.find_region(region)?, state));
            Some((places.collect::<Option<Vec<_>>>()?, rule.target))
        });
        Self {
            finals: finals.collect(),
            rules: rules.collect(),
            given: !on_final.is_empty() || !when.is_empty(),
        }
    }

    fn is_empty(&self) -> bool {
        !self.given
    }

    /// Where the parent goes when its child comes to rest so; `on_final` first, then the first rule that holds (R8).
    fn target(&self, configuration: &Configuration) -> Option<StateIx> {
        let finals = self.finals.iter();
        let last = finals.filter(|(state, _)| configuration.contains(state));
        let rules = self.rules.iter();
        let rule = rules.filter(|(states, _)| states.iter().all(|state| configuration.contains(state)));
        let found = last.map(|(_, target)| *target).next();
        found.or_else(|| rule.map(|(_, target)| *target).next())
    }
}

/// The chains of managed children below a definition.
struct Lines<'a> {
    /// By machine: the next on a shortest way to the definition.
    homeward: SortedMap<&'a str, &'a str>,
    /// By length, of the managed children from a machine on: the next on such a chain.
    deep: Vec<SortedMap<&'a str, &'a str>>,
}

impl<'a> Lines<'a> {
    fn new(definition: &'a Definition, family: &'a Family) -> Self {
        let own = definition.machine_id.as_str();
        let edges = family.managed.iter();
        let edges: Vec<(&str, &str)> = edges
            .flat_map(|(id, children)| children.iter().map(|child| (id.as_str(), child.as_str())))
            .collect();
        Self {
            homeward: homeward(own, &edges),
            deep: deep(&edges),
        }
    }

    /// The way from a child back to the definition, from that child on.
    fn back(&self, own: &'a str, child: &'a str) -> Option<impl Iterator<Item = &'a str>> {
        let known = child == own || self.homeward.contains_key(child);
        known.then(|| {
            std::iter::successors(Some(child), move |at| {
                // The way ends where it comes home.
                self.homeward.get(*at).copied().filter(|_| *at != own)
            })
        })
    }

    /// A chain that goes too deep, from a child of the definition on.
    fn too_deep(&self, child: &'a str) -> Option<impl Iterator<Item = &'a str>> {
        let lengths = self.deep.iter().rev();
        self.deep.last()?.get(child)?;
        let mut at = child;
        let rest = lengths.map_while(move |nexts| {
            at = nexts.get(at)?;
            Some(at)
        });
        Some(std::iter::once(child).chain(rest))
    }
}

fn homeward<'a>(own: &'a str, edges: &[(&'a str, &'a str)]) -> SortedMap<&'a str, &'a str> {
    let mut parents: SortedMap<&str, Vec<&str>> = SortedMap::new();
    for (parent, child) in edges {
        parents.or_insert_with(child, Default::default).push(parent);
    }
    let mut homeward: SortedMap<&str, &str> = SortedMap::new();
    let mut layer = vec![own];
    while !layer.is_empty() {
        let mut further = Vec::new();
        for child in layer {
            for parent in parents.get(child).into_iter().flatten() {
                if !homeward.contains_key(parent) {
                    homeward.insert(parent, child);
                    further.push(*parent);
                }
            }
        }
        layer = further;
    }
    homeward
}

/// By length from one child on, up to the deepest level: the machines that have a chain of so many children, and how it
/// begins. Counted level by level, so that a cycle elsewhere is just a chain that is too deep.
fn deep<'a>(edges: &[(&'a str, &'a str)]) -> Vec<SortedMap<&'a str, &'a str>> {
    let mut lengths: Vec<SortedMap<&str, &str>> = Vec::new();
    for _ in 0..DEEPEST_LEVEL {
        let next = match lengths.last() {
            None => edges.iter().copied().gather(),
            Some(shorter) => edges
                .iter()
                .copied()
                .filter(|(_, child)| shorter.contains_key(child))
                .gather(),
        };
        lengths.push(next);
    }
    lengths
}

//! Drives a tree of the crate and one of the reference model through the same happenings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use statewright_core::cascade;
use statewright_core::commit::{Commit, Outcome};
use statewright_core::entity::{Entity, Params};
use statewright_core::explain::{PossibleEvent, Would, events, explain};
use statewright_core::forward;
use statewright_core::ids::{EntityId, MachineId, Millis, Seq};
use statewright_core::machine::Machine;
use statewright_core::step::{self, Event};
use statewright_core::target::{self, TargetStep};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};
use statewright_core::tree::{EntityIx, Library, Tree};

use super::Case;
use super::invariants::{Invariants, fire_each, snapshot};
use crate::common::{self, NOW};
use crate::generate::{Happening, Way};
use crate::model::family::{self, Family};
use crate::model::forward as modelled;
use crate::model::{self};

/// Machine and id of an entity.
pub type Name = (String, String);

/// A tree driven side by side with the reference model.
pub struct Pair {
    definitions: Vec<Value>,
    pub library: Arc<Library>,
    pub tree: Tree,
    pub family: Family,
    pub model: family::Tree,
    pub now: Millis,
    pub invariants: Invariants,
    /// The rows of each entity by their keys, numbered as they were written.
    pub stored: BTreeMap<Name, BTreeMap<String, u64>>,
    pub rows: u64,
    /// What each entity remembers of events, by key.
    pub remembered: BTreeMap<Name, BTreeMap<String, Arc<Params>>>,
    pub foreign: BTreeSet<Name>,
    log: Vec<String>,
}

/// An event and how it is sent, for when it is sent again.
#[derive(Clone)]
struct Sent {
    to: Name,
    way: Way,
    event: Event,
}

impl Pair {
    /// None where the root cannot be made: then neither can the model's.
    pub fn new(case: &Case) -> Option<Self> {
        let machines: Vec<Arc<Machine>> = case.definitions.iter().map(common::machine).collect();
        let root = Arc::clone(&machines[0]);
        let library: Arc<Library> = Arc::new(machines.into_iter().collect());
        let family = Family::new(&case.definitions);
        let foreign: BTreeSet<Name> = case.foreign.iter().cloned().collect();
        let id = EntityId::new("e-1").unwrap();
        let entity = Entity::create(Arc::clone(&root), id, case.context.clone(), NOW);
        let mut tree = Tree::new(entity, Some(Arc::clone(&library)));
        tree.occupy(foreign.iter().map(named));
        let made = cascade::create(&mut tree, NOW);
        let modelled = family.create(
            root.id().as_str(),
            "e-1",
            case.context.clone(),
            foreign.clone(),
            NOW.0,
        );
        let (commit, (model, expected)) = match (made, modelled) {
            (Ok(commit), Ok(expected)) => (commit, expected),
            (Err(refusal), Err(code)) => {
                assert_eq!(refusal.code().name(), code, "{refusal}");
                return None;
            }
            (made, expected) => panic!(
                "{made:?}, but the model says {:?}",
                expected.map(|(_, commit)| commit)
            ),
        };
        let mut pair = Self {
            definitions: case.definitions.clone(),
            library,
            tree,
            family,
            model,
            now: NOW,
            invariants: Invariants::default(),
            stored: BTreeMap::new(),
            rows: 0,
            remembered: BTreeMap::new(),
            foreign,
            log: Vec::new(),
        };
        pair.committed(&commit, &expected);
        pair.compare();
        pair.invariants.check(&pair.tree, None, NOW);
        Some(pair)
    }

    pub fn run(&mut self, happenings: &[Happening]) {
        let mut last: Option<Sent> = None;
        for happening in happenings {
            let before = self.tree.clone();
            match happening {
                Happening::Wait(millis) => self.now = Millis(self.now.0 + millis),
                Happening::Scan => drop(self.catch_up()),
                Happening::Reload { all } => self.reload(*all),
                Happening::Release => {
                    let entities: Vec<EntityIx> = self.tree.entities().map(|(ix, _)| ix).collect();
                    for ix in entities {
                        self.tree.entity_mut(ix).release_timers();
                    }
                    Family::release(&mut self.model);
                }
                Happening::Delete(which) => self.delete(*which),
                Happening::Again => {
                    if let Some(Sent { to, way, event }) = &last
                        && let Some(node) = self.model.find(&to.0, &to.1)
                    {
                        let params = Arc::new(rewritten(&event.params));
                        let event = Event {
                            params,
                            ..event.clone()
                        };
                        self.send(node, *way, &event);
                    }
                }
                Happening::Event {
                    to,
                    way,
                    event_type,
                    likely,
                    params,
                    timestamp,
                    expected_version,
                } => {
                    let present = self.model.present();
                    let node = present[to % present.len()];
                    let entity = &self.model.nodes[node];
                    let known = self.family.model(entity).likely(&entity.entity);
                    let event_type = match likely.checked_rem(known.len()) {
                        Some(place) if *likely > 0 => known[place].clone(),
                        _ => (*event_type).to_owned(),
                    };
                    let event = Event {
                        event_type: event_type.into(),
                        params: Arc::new(params.clone()),
                        timestamp: *timestamp,
                        expected_version: *expected_version,
                    };
                    let node = self.above(node, *way);
                    let to = self.name(node);
                    self.send(node, *way, &event);
                    last = Some(Sent { to, way: *way, event });
                }
            }
            self.compare();
            let moved = !matches!(happening, Happening::Reload { .. } | Happening::Delete(_));
            self.invariants
                .check(&self.tree, moved.then_some(&before), self.now);
        }
    }

    /// The entity that an event goes to without a target: one from which it may be handed on.
    fn above(&self, mut node: usize, way: Way) -> usize {
        let Way::Plain { up } = way else { return node };
        for _ in 0..up {
            let place = self.model.nodes[node].place.as_ref();
            let Some(place) = place.filter(|place| !place.managed) else {
                break;
            };
            node = place.parent;
        }
        node
    }

    /// What there is in the end.
    pub fn finish(self) -> (Vec<String>, String) {
        self.replay();
        (self.log, snapshot(&self.tree))
    }

    pub fn name(&self, node: usize) -> Name {
        let node = &self.model.nodes[node];
        (node.machine.clone(), node.id.clone())
    }

    fn find(&self, name: &Name) -> Option<EntityIx> {
        let (machine, id) = named(name);
        self.tree.find(&machine, &id)
    }

    fn seen(&self, name: &Name, event: &Event) -> Option<Arc<Params>> {
        let key = event.identity()?.to_string();
        self.remembered.get(name)?.get(&key).cloned()
    }

    /// Applies what is due to both; false when there was too much of it.
    fn catch_up(&mut self) -> bool {
        let one_by_one = fire_each(&self.tree, &self.definitions, self.now);
        let done = catch_up(&mut self.tree, self.now, CATCH_UP_LIMIT);
        assert_eq!(one_by_one, snapshot(&self.tree));
        let (came, more) = self.family.catch_up(&mut self.model, self.now.0, CATCH_UP_LIMIT);
        let commits: Vec<&family::Commit> = came.iter().flatten().collect();
        assert_eq!(done.more, more);
        assert_eq!(done.parked, came.len() - commits.len());
        assert_eq!(done.commits.len(), commits.len());
        for (commit, expected) in done.commits.iter().zip(commits) {
            assert!(!commit.context_changed);
            self.committed(commit, expected);
        }
        self.invariants.moved(&done.moved);
        !more
    }

    fn send(&mut self, node: usize, way: Way, event: &Event) {
        let name = self.name(node);
        let asked = model::Event {
            event_type: event.event_type.to_string(),
            params: (*event.params).clone(),
            timestamp: event.timestamp,
            expected_version: event.expected_version,
        };
        let seen = self.seen(&name, event);
        assert_eq!(seen.is_some(), Family::seen(&self.model, node, &asked).is_some());
        let strict = self.family.strict;
        // M5: it comes between the duplicate check and what the instance is then.
        if strict && seen.is_none() && !self.catch_up() {
            return;
        }
        let Some(ix) = self.find(&name) else {
            // It has ended, and need not be known any more.
            assert!(!self.model.is_live(node), "{name:?} is gone");
            return;
        };
        match way {
            Way::Plain { .. } => self.deliver(ix, node, event, &asked),
            Way::Own => self.apply(ix, node, event, &asked),
            Way::Target { up, twist } => self.target(ix, up, twist, event, &asked),
        }
    }

    /// By a target from an entity above.
    fn target(&mut self, ix: EntityIx, up: usize, twist: usize, event: &Event, asked: &model::Event) {
        let mut from = ix;
        for _ in 0..up {
            let place = self.tree.place(from).filter(|place| place.managed);
            let Some(place) = place else { break };
            from = place.parent;
        }
        let Some(mut steps) = target::path_to(&self.tree, from, ix) else {
            panic!("a managed child has a path");
        };
        let place = twist.checked_rem(steps.len()).unwrap_or_default();
        if let Some(step) = steps.get_mut(place) {
            match twist / 8 {
                0 => step.seq = None,
                1 => step.seq = Some(Seq(u64::try_from(twist).unwrap())),
                2 => step.state = "s0".into(),
                3 => step.region = "r0".into(),
                4 => {
                    let again = step.clone();
                    steps.push(again);
                }
                _ => {}
            }
        } else if twist < 8 {
            steps.push(TargetStep {
                region: "_".into(),
                state: "s0".into(),
                seq: None,
            });
        }
        let machine = Arc::clone(self.tree.entity(from).machine());
        let valid = target::check(&machine, Some(&self.library), &steps, "target");
        let found = valid.and_then(|()| target::resolve(&self.tree, from, &steps, "target"));
        let modelled: Vec<modelled::Step> = steps
            .iter()
            .map(|step| {
                (
                    step.region.to_string(),
                    step.state.to_string(),
                    step.seq.map(|seq| seq.0),
                )
            })
            .collect();
        let start = self.modelled(from);
        let expected = self.family.resolve(&self.model, start, &modelled);
        match (found, expected) {
            (Ok(ix), Ok(node)) => {
                assert_eq!(self.modelled(ix), node, "{steps:?}");
                self.apply(ix, node, event, asked);
            }
            (Err(refusal), Err(code)) => assert_eq!(refusal.code().name(), code, "{steps:?}"),
            (found, expected) => panic!("{steps:?}: {found:?}, but the model says {expected:?}"),
        }
    }

    /// To an entity's own transitions.
    fn apply(&mut self, ix: EntityIx, node: usize, event: &Event, asked: &model::Event) {
        let seen = self.seen(&self.name(node), event);
        let before = snapshot(&self.tree);
        let explained = explain(&self.tree, ix, event, true, self.now);
        let possible = events(&self.tree, ix, self.now);
        let outcome = step::apply(&mut self.tree, ix, event, seen.as_deref(), self.now);
        let expected = self.family.apply(&mut self.model, node, asked, self.now.0);
        if seen.is_none() {
            assert_eq!(explained.would, would(&outcome, false), "{event:?}: {outcome:?}");
            let own = self.tree.entity(ix).id().as_str();
            for candidate in &explained.candidates {
                assert_eq!(candidate.passes, candidate.clauses.is_empty());
                let listed = |event: &PossibleEvent| {
                    event.index == candidate.index && event.at.entity_id == own && event.at.target.is_some()
                };
                let may = candidate.passes && candidate.state_matches;
                assert!(!candidate.taken || may);
                assert!(!candidate.taken || *event.event_type == *"$timeout" || possible.iter().any(listed));
                assert!(!may || !matches!(outcome, Outcome::NoTransition));
            }
        }
        self.same(ix, event, &before, outcome, expected, &[]);
    }

    /// To an entity and its legacy children.
    fn deliver(&mut self, ix: EntityIx, node: usize, event: &Event, asked: &model::Event) {
        let seen: BTreeMap<EntityIx, Arc<Params>> = self
            .tree
            .entities()
            .filter_map(|(ix, entity)| Some((ix, self.seen(&name_of(entity), event)?)))
            .collect();
        let before = snapshot(&self.tree);
        let explained = explain(&self.tree, ix, event, false, self.now);
        let remembers = |ix: EntityIx| seen.get(&ix).cloned();
        if self.goes_too_deep(ix, event, &remembers) {
            return;
        }
        let done = forward::deliver(&mut self.tree, ix, event, &remembers, self.now);
        let expected = self.family.deliver(&mut self.model, node, asked, self.now.0);
        assert_eq!(done.before.len(), expected.before.len(), "{event:?}: {done:?}");
        for (commit, expected) in done.before.iter().zip(&expected.before) {
            self.committed(commit, expected);
        }
        let child = done.child.as_ref().map(|handled| self.modelled(handled.child));
        assert_eq!(child, expected.child, "the child that it went to");
        if seen.is_empty() {
            let would = would(&done.outcome, done.child.is_some());
            assert_eq!(explained.would, would, "{event:?}: {:?}", done.outcome);
        }
        // I3: what stands before a refusal stands.
        let before = if done.before.is_empty() {
            before
        } else {
            snapshot(&self.tree)
        };
        self.same(
            ix,
            event,
            &before,
            done.outcome,
            expected.outcome,
            &expected.handed_on_by,
        );
    }

    /// Whether an event makes legacy child below legacy child, each in a state that hands it on, until a bound ends that.
    /// The model would go as deep, and copies its whole family at each level: minutes, for what the bounds' own tests ask.
    fn goes_too_deep(&self, ix: EntityIx, event: &Event, seen: forward::Seen<'_>) -> bool {
        let mut ahead = self.tree.clone();
        let done = forward::deliver(&mut ahead, ix, event, seen, self.now);
        let ended_by_bound = match &done.outcome {
            Outcome::Refusal(refusal) => {
                ["NESTING_DEPTH_EXCEEDED", "CASCADE_LIMIT"].contains(&refusal.code().name())
            }
            _ => false,
        };
        ended_by_bound || ahead.len() > self.tree.len() + 30
    }

    fn same(
        &mut self,
        ix: EntityIx,
        event: &Event,
        before: &str,
        outcome: Outcome,
        expected: modelled::Outcome,
        handed_on_by: &[usize],
    ) {
        match (outcome, expected) {
            (Outcome::Commit(commit), modelled::Outcome::Applied(expected)) => {
                let by: Vec<usize> = commit.forwarded_by.iter().map(|ix| self.modelled(*ix)).collect();
                assert_eq!(by, handed_on_by, "who remembers it (M11)");
                self.committed(&commit, &expected);
                if let Some(key) = event.identity() {
                    for ix in &commit.forwarded_by {
                        let name = name_of(self.tree.entity(*ix));
                        let remembered = self.remembered.entry(name).or_default();
                        remembered.insert(key.to_string(), Arc::clone(&event.params));
                    }
                }
                self.replayed(ix, &commit, event);
            }
            (Outcome::Duplicate, modelled::Outcome::Duplicate)
            | (Outcome::NoTransition, modelled::Outcome::NoTransition) => {
                assert_eq!(before, snapshot(&self.tree), "I1: nothing may change");
            }
            (Outcome::Refusal(refusal), modelled::Outcome::Refused(code)) => {
                assert_eq!(refusal.code().name(), code, "{event:?}: {refusal}");
                assert_eq!(before, snapshot(&self.tree), "I3: nothing may change");
            }
            (outcome, expected) => panic!("{event:?}: {outcome:?}, but the model says {expected:?}"),
        }
    }

    /// I1: what was applied and comes again changes nothing, wherever it is remembered.
    fn replayed(&self, ix: EntityIx, commit: &Commit, event: &Event) {
        if event.identity().is_none() {
            return;
        }
        let mut remembering: Vec<EntityIx> = commit.forwarded_by.clone();
        // The seed's contract remembers only where it was applied.
        let applied = commit
            .rows
            .iter()
            .find(|row| row.event_params().is_some())
            .map(|row| row.entity);
        remembering.extend(applied);
        assert!(!self.family.strict || remembering.contains(&ix), "I1");
        let before = snapshot(&self.tree);
        for at in remembering {
            let mut tree = self.tree.clone();
            let seen = |ix: EntityIx| self.seen(&name_of(self.tree.entity(ix)), event);
            let done = forward::deliver(&mut tree, at, event, &seen, self.now);
            assert!(
                matches!(done.outcome, Outcome::Duplicate),
                "I1: {:?}",
                done.outcome
            );
            assert_eq!(before, snapshot(&tree), "I1");
        }
    }

    /// Compares a commit with the model's, remembers it, and checks what must hold of any.
    fn committed(&mut self, commit: &Commit, expected: &family::Commit) {
        self.compare_commit(commit, expected);
        self.invariants.committed(&self.tree, commit, self.now);
        for row in &commit.rows {
            self.rows += 1;
            let name = name_of(self.tree.entity(row.entity));
            let rows = self.stored.entry(name.clone()).or_default();
            let twice = rows.insert(row.key.to_string(), self.rows);
            assert!(twice.is_none(), "I1: {} stands twice at {name:?}", row.key);
            if let Some(params) = row.event_params() {
                let remembered = self.remembered.entry(name).or_default();
                remembered.insert(row.key.to_string(), Arc::new(params.clone()));
            }
            self.log.push(format!("{row:?}"));
        }
        self.log.push(format!("{:?} {:?}", commit.writes, commit.lives));
    }

    /// The model's entity of that name.
    pub fn modelled(&self, ix: EntityIx) -> usize {
        let (machine, id) = name_of(self.tree.entity(ix));
        let found = self.model.find(&machine, &id);
        found.unwrap_or_else(|| panic!("the model has no {id} of {machine}"))
    }
}

/// What an explanation says of it.
fn would(outcome: &Outcome, handed_on: bool) -> Would {
    match outcome {
        Outcome::Commit(_) if handed_on => Would::Forward,
        Outcome::Commit(_) => Would::Transition,
        Outcome::Refusal(_) => Would::Refused,
        Outcome::NoTransition | Outcome::Duplicate => Would::NoTransition,
    }
}

pub fn name_of(entity: &Entity) -> Name {
    (entity.machine().id().to_string(), entity.id().to_string())
}

pub fn named(name: &Name) -> (MachineId, EntityId) {
    (
        MachineId::new(&name.0).unwrap(),
        EntityId::named(&name.1).unwrap(),
    )
}

/// The same params by value: whole numbers as floats.
fn rewritten(params: &Params) -> Params {
    let value = |value: &Value| match value.as_i64() {
        Some(whole @ 0..10) => json!(f64::from(i32::try_from(whole).unwrap())),
        _ => value.clone(),
    };
    let pairs = params.iter();
    pairs
        .map(|(name, given)| (name.clone(), value(given)))
        .collect::<Map<_, _>>()
}

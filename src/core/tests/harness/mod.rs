//! A step by the crate and by the reference model side by side, and what must hold of any definition. The properties
//! and the fuzz targets drive it.
#![allow(dead_code, reason = "each binary uses its part")]
#![allow(unreachable_pub, reason = "the binaries share this module")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use statewright_core::answer::Answer;
use statewright_core::commit::{Cause, Commit, Outcome};
use statewright_core::definition::Definition;
use statewright_core::diagram;
use statewright_core::entity::{Entity, EntityIx, Params, StoredEntry, Tree};
use statewright_core::explain::{Would, events, explain};
use statewright_core::ids::{EntityId, Millis};
use statewright_core::machine::Machine;
use statewright_core::step::{self, Event};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};

use crate::common::{self, NOW};
use crate::generate::Happening;
use crate::model::{self, Model};

/// An entity driven side by side with the reference model.
struct Pair {
    machine: Arc<Machine>,
    tree: Tree,
    model: Model,
    modelled: model::Entity,
    /// Rows by their identity, with the params of events.
    history: BTreeMap<String, Option<Params>>,
    now: Millis,
    /// The current entry of each region: its seq, its state, and since when.
    entries: BTreeMap<String, (u64, String, i64)>,
    delays: BTreeSet<i64>,
    last_seq: u64,
    log: Vec<String>,
}

impl Pair {
    fn new(definition: &Value, context: &Map<String, Value>) -> Self {
        let machine = common::machine(definition);
        let model = Model::new(definition);
        let modelled = model.create(context.clone(), NOW.0);
        let tree = common::tree(&machine, json!(context));
        let last_seq = tree.root().next_seq().0 - 1;
        let entries = tree.root().entries().map(|(region, entry)| {
            let state = machine.state(entry.state).name.to_string();
            (machine.region(region).id.to_string(), (entry.seq.0, state, NOW.0))
        });
        let pair = Self {
            entries: entries.collect(),
            delays: delays(definition),
            machine,
            tree,
            model,
            modelled,
            history: BTreeMap::new(),
            now: NOW,
            last_seq,
            log: Vec::new(),
        };
        pair.compare();
        pair
    }

    fn run(&mut self, happenings: &[Happening]) {
        let mut last: Option<Event> = None;
        for happening in happenings {
            match happening {
                Happening::Wait(millis) => self.now = Millis(self.now.0 + millis),
                Happening::Again => {
                    if let Some(event) = &last {
                        let params = Arc::new(rewritten(&event.params));
                        self.send(&Event {
                            params,
                            ..event.clone()
                        });
                    }
                }
                Happening::Scan => drop(self.catch_up()),
                Happening::Reload => self.reload(),
                Happening::Release => {
                    self.tree.entity_mut(EntityIx::ROOT).release_timers();
                    Model::release(&mut self.modelled);
                }
                Happening::Event {
                    event_type,
                    params,
                    timestamp,
                    expected_version,
                } => {
                    let event = Event {
                        event_type: (*event_type).into(),
                        params: Arc::new(params.clone()),
                        timestamp: *timestamp,
                        expected_version: *expected_version,
                    };
                    self.send(&event);
                    last = Some(event);
                }
            }
            self.compare();
        }
    }

    /// Applies what is due to both; false when there was too much of it.
    fn catch_up(&mut self) -> bool {
        let done = catch_up(&mut self.tree, self.now, CATCH_UP_LIMIT);
        let (commits, more) = self
            .model
            .catch_up(&mut self.modelled, self.now.0, CATCH_UP_LIMIT);
        assert_eq!(done.more, more);
        assert_eq!(done.commits.len(), commits.len());
        for (commit, rows) in done.commits.iter().zip(&commits) {
            assert!(!commit.context_changed);
            self.committed(commit, rows);
        }
        !more
    }

    fn send(&mut self, event: &Event) {
        let asked = model::Event {
            event_type: event.event_type.to_string(),
            params: (*event.params).clone(),
            timestamp: event.timestamp,
            expected_version: event.expected_version,
        };
        let seen = event
            .identity()
            .and_then(|key| self.history.get(&key.to_string()).cloned())
            .flatten();
        assert_eq!(seen.is_some(), self.modelled.seen(&asked).is_some());
        if seen.is_none() && self.machine.rules().exact_timers && !self.catch_up() {
            return;
        }
        let before = format!("{:?}", self.tree);
        let explained = explain(&self.tree, EntityIx::ROOT, event, self.now);
        let possible = events(&self.tree, EntityIx::ROOT);
        let outcome = step::apply(&mut self.tree, EntityIx::ROOT, event, seen.as_ref(), self.now);
        let expected = self.model.step(&mut self.modelled, &asked, self.now.0);
        let same_if_unmoved = |tree: &Tree| assert_eq!(before, format!("{tree:?}"), "nothing may change");
        match (outcome, expected) {
            (Outcome::Commit(commit), model::Outcome::Applied(rows)) => {
                assert_eq!(explained.would, Would::Transition);
                let taken = explained.candidates.iter().filter(|candidate| candidate.taken);
                for candidate in taken {
                    assert!(candidate.state_matches && candidate.passes && candidate.clauses.is_empty());
                    assert!(
                        possible.iter().any(|event| event.index == candidate.index)
                            || *event.event_type == *"$timeout"
                    );
                }
                let answer = Answer::applied(&self.tree, &commit, event, event.timestamp_at(self.now));
                assert_eq!(answer.transition, explained.transition);
                assert_eq!(answer.state_version, self.tree.root().version());
                self.committed(&commit, &rows);
            }
            (Outcome::Duplicate, model::Outcome::Duplicate) => same_if_unmoved(&self.tree),
            (Outcome::NoTransition, model::Outcome::NoTransition) => {
                assert_eq!(explained.would, Would::NoTransition);
                for candidate in &explained.candidates {
                    assert_eq!(candidate.passes, candidate.clauses.is_empty());
                    assert!(!(candidate.passes && candidate.state_matches));
                }
                same_if_unmoved(&self.tree);
            }
            (Outcome::Refusal(refusal), model::Outcome::Refused(code)) => {
                assert_eq!(refusal.code().name(), code);
                same_if_unmoved(&self.tree);
            }
            (outcome, expected) => panic!("{event:?}: {outcome:?}, but the model says {expected:?}"),
        }
    }

    /// Compares a commit with the model's, and checks what must hold of any.
    fn committed(&mut self, commit: &Commit, expected: &[model::Row]) {
        let rows: Vec<model::Row> = commit.rows.iter().map(|row| self.row(row)).collect();
        assert_eq!(rows, expected);
        // I2: each entity once, at the version after; here there is one entity.
        assert_eq!(commit.writes.len(), 1);
        let first = &commit.rows[0];
        let entered_at = match first.cause {
            Cause::Timeout { due } => {
                let (region, from, _) = first.names(&self.machine);
                let (seq, state, since) = &self.entries[region];
                assert_eq!(
                    first.key.to_string(),
                    json!(["timeout", region, seq]).to_string(),
                    "I5: of the entry that is"
                );
                assert_eq!(state, from, "I5");
                assert!(due <= self.now, "I5: never early");
                assert!(self.delays.contains(&(due.0 - since)), "I5: when it was due");
                due.0
            }
            _ => self.now.0,
        };
        for row in &commit.rows {
            let (region, _, to) = row.names(&self.machine);
            self.entries
                .insert(region.to_owned(), (row.seq.0, to.to_owned(), entered_at));
            // I4: one counter for all regions, and it only grows.
            assert!(row.seq.0 > self.last_seq, "I4");
            self.last_seq = row.seq.0;
            // I1, I5: what happened has a key of its own, so an entry times out once.
            let params = row.event_params().cloned();
            let twice = self.history.insert(row.key.to_string(), params);
            assert!(twice.is_none(), "I1: {} stands twice", row.key);
            self.log.push(format!("{row:?}"));
        }
    }

    fn row(&self, row: &statewright_core::commit::Row) -> model::Row {
        let (region, from, to) = row.names(&self.machine);
        model::Row {
            region: region.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            seq: row.seq.0,
            event_type: row.event_type().to_owned(),
            params: row.event_params().cloned().unwrap_or_default(),
            timestamp: row.timestamp,
            key: row.key.to_string(),
            cause: row.cause.to_json(),
            actions: row.actions.iter().map(|action| json!(action)).collect(),
        }
    }

    /// Compares all that an entity is.
    fn compare(&self) {
        let entity = self.tree.root();
        assert_eq!(entity.version().0, self.modelled.version, "I2");
        assert_eq!(entity.next_seq().0, self.modelled.next_seq);
        assert_eq!(entity.context(), &self.modelled.context);
        let mut regions = Vec::new();
        for (region, entry) in entity.entries() {
            let region = self.machine.region(region).id.to_string();
            let modelled = &self.modelled.entries[&region];
            assert_eq!(*self.machine.state(entry.state).name, *modelled.state);
            assert_eq!(entry.seq.0, modelled.seq);
            assert_eq!(entry.entered_at.0, modelled.entered_at);
            let due = self.model.due(&self.modelled, &region);
            assert_eq!(entry.timer.armed().map(|due| due.0), due, "the timer of {region}");
            regions.push(region);
        }
        assert_eq!(regions, self.model.regions, "I4: one entry for each region");
    }

    /// Stores the entity and restores it.
    fn reload(&mut self) {
        let entity = self.tree.root();
        let stored: Vec<StoredEntry<'_>> = entity
            .entries()
            .map(|(region, entry)| StoredEntry {
                region: &self.machine.region(region).id,
                state: &self.machine.state(entry.state).name,
                seq: entry.seq,
                entered_at: entry.entered_at,
                timer: Some(entry.timer.clone()),
                key: entry.key.as_ref().map(|key| key.to_string().into()),
            })
            .collect();
        let restored = Entity::restore(
            Arc::clone(&self.machine),
            EntityId::new(entity.id().as_str()).unwrap(),
            entity.version(),
            entity.next_seq(),
            entity.context().clone(),
            entity.updated_at(),
            &stored,
        );
        self.tree = Tree::new(restored.unwrap());
    }

    /// I8: what the rows say, from the creation on, is what the entity is.
    fn replay(&self, initial: &model::Entity) {
        let mut states = initial.states();
        let mut context = initial.context.clone();
        let mut merged = BTreeSet::new();
        for row in &self.modelled.history {
            assert_eq!(states[&row.region], row.from, "I8");
            states.insert(row.region.clone(), row.to.clone());
            if row.cause["via"] == "event" && merged.insert(row.key.clone()) {
                context.extend(row.params.clone());
            }
        }
        assert_eq!(states, self.modelled.states(), "I8");
        assert_eq!(&context, self.tree.root().context(), "I8");
    }
}

/// The same params by value: whole numbers as floats.
fn rewritten(params: &Params) -> Params {
    let value = |value: &Value| match value.as_i64() {
        Some(whole @ 0..10) => json!(f64::from(i32::try_from(whole).unwrap())),
        _ => value.clone(),
    };
    params
        .iter()
        .map(|(name, given)| (name.clone(), value(given)))
        .collect()
}

/// The delays of a definition's timeouts, wherever they are.
fn delays(definition: &Value) -> BTreeSet<i64> {
    let transitions = definition["transitions"].as_array().unwrap().iter();
    let guards = transitions.map(|transition| &transition["guard"]);
    let delays = guards.filter_map(|guard| {
        let seconds = guard["timeout_seconds"].as_i64().map(|seconds| seconds * 1000);
        seconds.or(guard["after_ms"].as_i64())
    });
    delays.collect()
}

/// Lets it all happen, twice: the same inputs have the same outcomes.
pub fn check(definition: &Value, context: &Map<String, Value>, happenings: &[Happening]) {
    let run = || {
        let mut pair = Pair::new(definition, context);
        let initial = pair.modelled.clone();
        pair.run(happenings);
        pair.replay(&initial);
        (pair.log, format!("{:?}", pair.tree))
    };
    let first = run();
    let reloads = happenings
        .iter()
        .any(|happening| matches!(happening, Happening::Reload));
    if !reloads {
        assert_eq!(first, run(), "the same inputs, the same outcomes");
    }
}

/// Reads a document, and uses what is valid.
pub fn read(document: &Value) {
    let valid = match Definition::read(document) {
        Ok(valid) => valid,
        Err(faults) => {
            assert!(!faults.is_empty());
            assert!(faults.iter().all(|fault| fault.path.starts_with('$')));
            return;
        }
    };
    let machine = Arc::new(Machine::compile(&valid).unwrap());
    let written = serde_json::to_value(&valid.definition).unwrap();
    assert_eq!(
        Definition::read(&written).unwrap(),
        valid,
        "written back without loss"
    );
    let mut tree = common::tree(&machine, json!({}));
    catch_up(&mut tree, Millis(i64::MAX), 3);
    for event_type in machine.event_types() {
        let event = common::event(&event_type, json!({}));
        explain(&tree, EntityIx::ROOT, &event, NOW);
        step::apply(&mut tree, EntityIx::ROOT, &event, None, NOW);
    }
    let configuration = tree.root().configuration();
    diagram::mermaid(&machine, Some(&configuration));
    diagram::dot(&machine, Some(&configuration));
}

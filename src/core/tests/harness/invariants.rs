//! I1 to I6 on the crate's tree itself, whatever the reference model says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use statewright_core::commit::{Cause, Commit, Outcome};
use statewright_core::entity::{Entity, Params, Timer};
use statewright_core::forward;
use statewright_core::ids::Millis;
use statewright_core::machine::RegionIx;
use statewright_core::step::{self, Event};
use statewright_core::timeouts::{self, CATCH_UP_LIMIT};
use statewright_core::tree::{EntityIx, Status, Tree};

use super::pair::{Name, name_of};

/// What was seen so far.
#[derive(Default)]
pub struct Invariants {
    versions: BTreeMap<Name, u64>,
    /// The greatest entry instance of each entity.
    seqs: BTreeMap<Name, u64>,
    /// Timeouts that fired, by entity and entry.
    fired: BTreeSet<(Name, String)>,
    /// What the commits of a happening wrote and placed, and whose timers moved.
    written: BTreeSet<EntityIx>,
    placed: BTreeSet<EntityIx>,
    timers: BTreeSet<EntityIx>,
}

/// All that can be seen of a tree.
pub fn snapshot(tree: &Tree) -> String {
    let mut text = String::new();
    for (ix, _) in tree.entities() {
        let _ = writeln!(text, "{} {:?}", of_entity(tree, ix, true), tree.place(ix));
    }
    text
}

fn of_entity(tree: &Tree, ix: EntityIx, timers: bool) -> String {
    let entity = tree.entity(ix);
    let (machine, id) = name_of(entity);
    let mut text = format!(
        "{machine} {id} {} {} {:?} {}",
        entity.version(),
        entity.next_seq(),
        entity.context(),
        entity.updated_at()
    );
    for (_, entry) in entity.entries() {
        let timer = if timers { &entry.timer } else { &Timer::Off };
        let (state, seq, since, key) = (entry.state, entry.seq, entry.entered_at, &entry.key);
        let key = key.as_ref().map(ToString::to_string);
        let _ = write!(text, " {state:?} {seq} {since} {timer:?} {key:?}");
    }
    text
}

impl Invariants {
    /// A commit, right after it. Of several in a row the tree is as after the last.
    pub fn committed(&mut self, tree: &Tree, commit: &Commit, now: Millis) {
        for (ix, version) in &commit.writes {
            let name = name_of(tree.entity(*ix));
            let made = commit.made.contains(ix);
            let before = self.versions.insert(name.clone(), version.0);
            let expected = if made { None } else { Some(version.0 - 1) };
            assert_eq!(before, expected, "I2: {name:?}");
            assert!(!made || version.0 == 1, "I2: {name:?} is made at 1");
            self.written.insert(*ix);
        }
        self.placed.extend(&commit.placed);
        for row in &commit.rows {
            let name = name_of(tree.entity(row.entity));
            let wrote = commit.writes.iter().any(|(ix, _)| *ix == row.entity);
            assert!(wrote, "a row of {name:?}, which is not written");
            if matches!(row.cause, Cause::SubCancel { .. }) {
                continue;
            }
            let last = self.seqs.get(&name).copied().unwrap_or_default();
            assert!(row.seq.0 > last, "I4: {name:?} {}", row.key);
            self.seqs.insert(name.clone(), row.seq.0);
            if let Cause::Timeout { due } = row.cause {
                assert!(due <= now, "I5: never early");
                let first = self.fired.insert((name.clone(), row.key.to_string()));
                assert!(first, "I5: never twice");
            }
        }
    }

    /// Entities whose timers changed without a commit.
    pub fn moved(&mut self, moved: &[(EntityIx, RegionIx)]) {
        self.timers.extend(moved.iter().map(|(ix, _)| *ix));
    }

    /// It was deleted.
    pub fn forget(&mut self, name: &Name) {
        self.versions.remove(name);
        self.seqs.remove(name);
        self.fired.retain(|(fired, _)| fired != name);
    }

    /// After a happening; `before` is the tree before it, unless it was loaded anew.
    pub fn check(&mut self, tree: &Tree, before: Option<&Tree>, now: Millis) {
        let written = std::mem::take(&mut self.written);
        let placed = std::mem::take(&mut self.placed);
        std::mem::take(&mut self.timers);
        for (ix, entity) in tree.entities() {
            let name = name_of(entity);
            assert_eq!(
                self.versions.get(&name),
                Some(&entity.version().0),
                "I2: {name:?}"
            );
            let mut seqs = BTreeSet::new();
            for (_, entry) in entity.entries() {
                assert!(entry.seq < entity.next_seq(), "I4: {name:?}");
                assert!(seqs.insert(entry.seq), "I4: {name:?}");
            }
            assert_eq!(
                seqs.len(),
                entity.machine().regions().len(),
                "I4: one for each region"
            );
            let last = seqs.last().map_or(0, |seq| seq.0);
            let seen = self.seqs.entry(name.clone()).or_default();
            assert!(entity.next_seq().0 > *seen, "I4: {name:?}");
            *seen = (*seen).max(last);
            if let Some(before) = before.filter(|before| ix.place() < before.len()) {
                let same = of_entity(tree, ix, false) == of_entity(before, ix, false);
                assert_eq!(
                    !same,
                    written.contains(&ix),
                    "I2: what changes is written: {name:?}"
                );
                let same = tree.place(ix) == before.place(ix);
                assert!(same || placed.contains(&ix), "what is placed is told: {name:?}");
            } else if before.is_some() {
                assert!(written.contains(&ix) && (placed.contains(&ix) || ix == EntityIx::ROOT));
            }
            ended(tree, ix, now);
            managed_has_one_child(tree, ix);
        }
    }
}

/// I6: an ended child has no live descendant, no armed timer, and takes no event.
fn ended(tree: &Tree, ix: EntityIx, now: Millis) {
    let Some(place) = tree.place(ix) else { return };
    let name = name_of(tree.entity(ix));
    if tree.is_live(ix) {
        assert!(
            tree.is_live(place.parent),
            "I6: {name:?} lives below an ended parent"
        );
        assert_eq!(place.ended, None);
        return;
    }
    assert!(place.ended.is_some());
    assert!(place.managed || place.status == Status::Cancelled);
    for (_, entry) in tree.entity(ix).entries() {
        assert_eq!(entry.timer.armed(), None, "I6: {name:?}");
    }
    for event_type in tree.entity(ix).machine().event_types() {
        let event = Event {
            event_type,
            params: Arc::new(Params::new()),
            timestamp: None,
            expected_version: None,
        };
        let mut copy = tree.clone();
        let outcome = step::apply(&mut copy, ix, &event, None, now);
        assert_eq!(refused(&outcome), Some("INSTANCE_NOT_ACTIVE"), "I6: {name:?}");
        let done = forward::deliver(&mut copy, ix, &event, &|_| None, now);
        assert_eq!(
            refused(&done.outcome),
            Some("INSTANCE_NOT_ACTIVE"),
            "I6: {name:?}"
        );
    }
}

/// Lets the timers fire one by one on a copy: each when its entry is due, none of what has ended (I5). Gives what is then.
pub fn fire_each(tree: &Tree, definitions: &[Value], now: Millis) -> String {
    let mut tree = tree.clone();
    for _ in 0..CATCH_UP_LIMIT {
        let Some(timer) = timeouts::earliest(&tree).filter(|timer| timer.due <= now) else {
            break;
        };
        assert!(tree.is_live(timer.entity), "I5: of what lives");
        let entity = tree.entity(timer.entity);
        let entry = entity.entry(timer.region).clone();
        assert_eq!(entry.timer.armed(), Some(timer.due), "I5");
        let delays = delays(definitions, entity, timer.region);
        let after = timer.due.0 - entry.entered_at.0;
        assert!(delays.contains(&after), "I5: {after} of {delays:?}");
        timeouts::fire(&mut tree, timer, now);
        let entry_after = tree.entity(timer.entity).entry(timer.region);
        let again = entry_after.seq == entry.seq && entry_after.timer == entry.timer;
        assert!(!again, "I5: never twice");
    }
    snapshot(&tree)
}

/// The delays after which an entry times out, by the definition.
fn delays(definitions: &[Value], entity: &Entity, region: RegionIx) -> Vec<i64> {
    let machine = entity.machine();
    let mut named = definitions.iter();
    let definition = named.find(|definition| definition["machine_id"] == machine.id().as_str());
    let transitions = definition.unwrap()["transitions"].as_array().unwrap().iter();
    let state = &machine.state(entity.entry(region).state).name;
    let leaving = transitions.filter(|transition| {
        let of = transition["region"].as_str().unwrap_or("_");
        *of == *machine.region(region).id && transition["from"] == **state && transition["on"] == "$timeout"
    });
    let delays = leaving.filter_map(|transition| {
        let guard = &transition["guard"];
        let seconds = guard["timeout_seconds"].as_i64().map(|seconds| seconds * 1000);
        seconds.or(guard["after_ms"].as_i64())
    });
    delays.collect()
}

/// A live entity in a managed compound state has one live child of that entry, and of no other entry.
fn managed_has_one_child(tree: &Tree, ix: EntityIx) {
    if !tree.is_live(ix) {
        return;
    }
    let entity = tree.entity(ix);
    let mut children = BTreeMap::new();
    for (child, _) in tree.entities() {
        if let Some(place) = tree.place(child)
            && place.parent == ix
            && place.managed
            && tree.is_live(child)
        {
            let entry = entity.entry(place.region);
            assert_eq!(
                (place.state, place.seq),
                (entry.state, entry.seq),
                "of the entry that is"
            );
            *children.entry(place.region).or_insert(0) += 1;
        }
    }
    for (region, entry) in entity.entries() {
        let sub = entity.machine().state(entry.state).child();
        // The seed's legacy children start nothing at their creation (S2.169).
        let legacy = tree.place(ix).is_some_and(|place| !place.managed) && entry.key.is_none();
        let starts = entity.machine().rules().mended_children || !legacy;
        let managed = sub.is_some_and(|sub| sub.managed) && starts;
        let count = children.get(&region).copied().unwrap_or(0);
        assert_eq!(
            count,
            i32::from(managed),
            "{:?} {}",
            name_of(entity),
            json!(count)
        );
    }
}

fn refused(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Refusal(refusal) => Some(refusal.code().name()),
        _ => None,
    }
}

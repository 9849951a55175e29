//! The reference model of what an event does: by its target's own transitions, or handed on to legacy children (S2.158
//! to S2.172, R9, R12, M11).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::family::{Commit, Family, Place, Refused, Status, Tree, When};
use super::{Event, First, guards, text};

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Applied(Commit),
    Duplicate,
    NoTransition,
    Refused(Refused),
}

/// What came of an event without a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    /// Commits that stand, whatever comes of the event.
    pub before: Vec<Commit>,
    pub outcome: Outcome,
    /// The legacy child that it went to.
    pub child: Option<usize>,
    /// Who handed the event on to the one that took it, and so remembers it.
    pub handed_on_by: Vec<usize>,
}

/// A step of a target: a region, a state, and an entry instance.
pub type Step = (String, String, Option<u64>);

enum Came {
    Applied(Commit),
    Nothing,
    Duplicate,
    MovedOn(Option<Commit>),
}

/// The way of an event down the legacy children.
struct Way<'a> {
    event: &'a Event,
    now: i64,
    /// The commits that made children.
    made: Vec<Commit>,
    /// The children that it went to and that have not declined it.
    chain: Vec<usize>,
}

impl Family {
    /// The instance that a target leads to (S2.213 to S2.220).
    pub fn resolve(&self, tree: &Tree, from: usize, steps: &[Step]) -> Result<usize, Refused> {
        let mut machine = Some(tree.nodes[from].machine.clone());
        for (region, state, _) in steps {
            let Some(model) = machine.and_then(|machine| self.machines.get(&machine)) else {
                break;
            };
            let sub = model.child_of(region, state).unwrap_or_default();
            if sub["lifecycle"] != "managed" {
                return Err("BAD_REQUEST");
            }
            machine = Some(text(&sub["machine_id"]));
        }
        let mut at = from;
        for (region, state, seq) in steps {
            let entry = tree.nodes[at].entity.entries[region].clone();
            let children = tree.children(at, |place| {
                place.managed
                    && place.region == *region
                    && place.seq == entry.seq
                    && place.status == Status::Active
            });
            let fits = entry.state == *state && seq.is_none_or(|seq| seq == entry.seq);
            match children.first() {
                Some(child) if fits => at = *child,
                _ => return Err("TARGET_NOT_ACTIVE"),
            }
        }
        Ok(at)
    }

    /// What an entity remembers of an event: that it applied it, or in `statewright.v1` that a child did (M11).
    pub fn seen(tree: &Tree, node: usize, event: &Event) -> Option<Map<String, Value>> {
        let key = json!(["evt", event.event_type, event.timestamp?]).to_string();
        let node = &tree.nodes[node];
        let own = node.entity.seen(event);
        own.or_else(|| node.handed_on.get(&key).cloned())
    }

    /// R12: what comes of an event before its transitions are looked at.
    fn check(&self, tree: &Tree, node: usize, event: &Event) -> Option<Outcome> {
        if self.strict && event.event_type.starts_with('$') {
            return Some(Outcome::Refused("BAD_REQUEST"));
        }
        if let Some(seen) = Self::seen(tree, node, event) {
            return Some(if same(&seen, event) {
                Outcome::Duplicate
            } else {
                Outcome::Refused("EVENT_IDENTITY_CONFLICT")
            });
        }
        if !tree.is_live(node) {
            return Some(Outcome::Refused("INSTANCE_NOT_ACTIVE"));
        }
        let version = tree.nodes[node].entity.version;
        let other = event.expected_version.is_some_and(|expected| expected != version);
        other.then_some(Outcome::Refused("VERSION_CONFLICT"))
    }

    /// An event for an entity's own transitions (S2.221).
    pub fn apply(&self, tree: &mut Tree, node: usize, event: &Event, now: i64) -> Outcome {
        if let Some(outcome) = self.check(tree, node, event) {
            return outcome;
        }
        match self.own(tree, node, event, now, &[]) {
            Ok(Some(commit)) => Outcome::Applied(commit),
            Ok(None) => Outcome::NoTransition,
            Err(refused) => Outcome::Refused(refused),
        }
    }

    /// An entity's own transition with all that follows, if one takes the event.
    fn own(
        &self,
        tree: &mut Tree,
        node: usize,
        event: &Event,
        now: i64,
        chain: &[usize],
    ) -> Result<Option<Commit>, Refused> {
        let model = self.model(&tree.nodes[node]);
        let entity = &tree.nodes[node].entity;
        let chosen = model.choose(entity, event);
        if chosen.is_empty() {
            return Ok(None);
        }
        let moves: Vec<(String, String)> = chosen
            .iter()
            .map(|transition| (model.region_of(transition), text(&transition["to"])))
            .collect();
        let timestamp = event.timestamp.unwrap_or(now);
        let mut key = vec![json!("evt"), json!(event.event_type), json!(timestamp)];
        if event.timestamp.is_none() {
            key.push(json!(entity.version + 1));
        }
        let first = First {
            key: json!(key),
            event_type: event.event_type.clone(),
            params: event.params.clone(),
            timestamp,
            cause: json!({"via": "event"}),
            entered_at: now,
        };
        let (commit, ()) = self.attempt(tree, when(event, now), |work| {
            work.chain = chain.iter().copied().collect();
            work.step(node, &moves, &first)?;
            let context = &mut work.tree.nodes[node].entity.context;
            context.extend(event.params.clone());
            work.rise(node)
        })?;
        Ok(Some(commit))
    }

    /// An event without a target: the entity's own transitions, or else its legacy children.
    pub fn deliver(&self, tree: &mut Tree, node: usize, event: &Event, now: i64) -> Delivered {
        let mut done = Delivered {
            before: Vec::new(),
            outcome: Outcome::NoTransition,
            child: None,
            handed_on_by: Vec::new(),
        };
        if let Some(outcome) = self.check(tree, node, event) {
            done.outcome = outcome;
            return done;
        }
        loop {
            let mut trial = tree.clone();
            let mut way = Way {
                event,
                now,
                made: Vec::new(),
                chain: Vec::new(),
            };
            let came = self.go(&mut trial, node, &mut way);
            let came = match came {
                Ok(came) => came,
                // Nothing is made by an event that is refused.
                Err(refused) => {
                    done.child = None;
                    done.outcome = Outcome::Refused(refused);
                    return done;
                }
            };
            *tree = trial;
            done.before.append(&mut way.made);
            done.child = way.chain.first().copied();
            match came {
                Came::Applied(commit) => {
                    let remembers = self.strict && event.timestamp.is_some();
                    let mut handed_on_by = vec![node];
                    handed_on_by.extend(&way.chain);
                    handed_on_by.pop();
                    if remembers {
                        for by in &handed_on_by {
                            let key = json!(["evt", event.event_type, event.timestamp]).to_string();
                            let handed_on = &mut tree.nodes[*by].handed_on;
                            handed_on.insert(key, event.params.clone());
                        }
                        done.handed_on_by = handed_on_by;
                    }
                    done.outcome = Outcome::Applied(commit);
                    return done;
                }
                Came::Nothing => return done,
                Came::Duplicate => {
                    done.outcome = Outcome::Duplicate;
                    return done;
                }
                Came::MovedOn(commit) => {
                    done.before.extend(commit);
                    // I6: its own completion may have come of it.
                    if !tree.is_live(node) {
                        done.child = None;
                        done.outcome = Outcome::Refused("INSTANCE_NOT_ACTIVE");
                        return done;
                    }
                }
            }
        }
    }

    fn go(&self, tree: &mut Tree, node: usize, way: &mut Way<'_>) -> Result<Came, Refused> {
        if let Some(commit) = self.own(tree, node, way.event, way.now, &way.chain)? {
            return Ok(Came::Applied(commit));
        }
        let model = self.model(&tree.nodes[node]).clone();
        for region in &model.regions {
            let state = tree.nodes[node].entity.entries[region].state.clone();
            let sub = model.child_of(region, &state).unwrap_or_default();
            if sub.is_null() || sub["lifecycle"] == "managed" {
                continue;
            }
            match self.hand_on(tree, node, region, &sub, way)? {
                Came::Nothing => {}
                came => return Ok(came),
            }
        }
        Ok(Came::Nothing)
    }

    /// To the legacy child of a region's current state.
    fn hand_on(
        &self,
        tree: &mut Tree,
        parent: usize,
        region: &str,
        sub: &Value,
        way: &mut Way<'_>,
    ) -> Result<Came, Refused> {
        let entry = tree.nodes[parent].entity.entries[region].clone();
        let machine = text(&sub["machine_id"]);
        let id = format!("{}::sub::{}", tree.nodes[parent].id, entry.state);
        let child = match tree.find(&machine, &id) {
            Some(child) => {
                let own = |place: &Place| place.parent == parent && !place.managed;
                if !tree.nodes[child].place.as_ref().is_some_and(own) {
                    return Err("INSTANCE_CONFLICT");
                }
                child
            }
            None => {
                let (commit, child) = self.make(tree, parent, region, sub, way)?;
                way.made.push(commit);
                if tree.nodes[parent].entity.entries[region].seq != entry.seq {
                    return Ok(Came::MovedOn(None));
                }
                child
            }
        };
        way.chain.push(child);
        let states = tree.nodes[child].entity.states();
        let target = states.get("_").and_then(|state| sub["on_final"][state].as_str());
        if let Some(target) = target {
            return self.recover(tree, parent, child, target, entry.row, way);
        }
        if let Some(seen) = Self::seen(tree, child, way.event) {
            if !same(&seen, way.event) {
                return Err("EVENT_IDENTITY_CONFLICT");
            }
            if self.strict {
                return Ok(Came::Duplicate);
            }
            way.chain.pop();
            return Ok(Came::Nothing);
        }
        let came = self.go(tree, child, way)?;
        if matches!(came, Came::Nothing) {
            way.chain.pop();
        }
        Ok(came)
    }

    /// Makes a legacy child, which in `statewright.v1` starts its own managed children (S2.161, R9).
    fn make(
        &self,
        tree: &mut Tree,
        parent: usize,
        region: &str,
        sub: &Value,
        way: &Way<'_>,
    ) -> Result<(Commit, usize), Refused> {
        let entry = tree.nodes[parent].entity.entries[region].clone();
        let machine = text(&sub["machine_id"]);
        let id = format!("{}::sub::{}", tree.nodes[parent].id, entry.state);
        let when = when(way.event, way.now);
        self.attempt(tree, when, |work| {
            work.fits(sub, &machine, false)?;
            if work.tree.taken(&machine, &id) {
                return Err("INSTANCE_CONFLICT");
            }
            let place = Place {
                parent,
                region: region.to_owned(),
                state: entry.state.clone(),
                seq: entry.seq,
                managed: false,
                status: Status::Active,
                depth: 0,
                started: way.now,
                ended: None,
                wakes_with: None,
            };
            let child = work.add(&machine, id, place)?;
            if self.strict {
                work.start_initial(child)?;
                // Where its own children moved it.
                let moved = work.commit.rows.iter().any(|(node, _)| *node == child);
                if moved {
                    work.rise(child)?;
                }
            }
            Ok(child)
        })
    }

    /// A child that is final already moves its parent on, with proof: the row that made its state is newer than the one
    /// that made the parent's entry (S2.165, S2.166).
    fn recover(
        &self,
        tree: &mut Tree,
        parent: usize,
        child: usize,
        target: &str,
        entered: Option<u64>,
        way: &Way<'_>,
    ) -> Result<Came, Refused> {
        let made = tree.nodes[child].entity.entries["_"].row;
        if made.is_none() || made < entered {
            return Err("UNCORRELATED_CHILD_FINAL");
        }
        let chain: BTreeSet<usize> = way.chain.iter().copied().collect();
        let (commit, ()) = self.attempt(tree, when(way.event, way.now), |work| {
            work.chain = chain;
            work.complete(child, target)?;
            work.rise(parent)
        })?;
        Ok(if self.strict {
            Came::MovedOn(Some(commit))
        } else {
            Came::Applied(commit)
        })
    }
}

fn same(seen: &Map<String, Value>, event: &Event) -> bool {
    guards::canonical(&json!(seen)) == guards::canonical(&json!(event.params))
}

fn when(event: &Event, now: i64) -> When {
    When {
        timestamp: event.timestamp.unwrap_or(now),
        entered_at: now,
    }
}

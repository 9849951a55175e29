//! A reference model: slow, obvious, and written from the rules rather than from the code. Here is what concerns one
//! entity; `family` has the trees.
//!
//! It reads the definition as plain JSON each time it needs something, keeps names as strings, and knows nothing of
//! the crate under test. Where it disagrees with the crate, one of them has misread a rule.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(unreachable_pub, reason = "the test binaries share this module")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may fail so")]

pub mod family;
pub mod forward;
pub mod guards;
pub mod work;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The states of an entity, by region.
pub type States = BTreeMap<String, String>;

#[derive(Debug, Clone)]
pub struct Model {
    definition: Value,
    /// `statewright.v1`; the seed's contract otherwise.
    pub strict: bool,
    /// Region ids in definition order.
    pub regions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub version: u64,
    pub next_seq: u64,
    pub entries: BTreeMap<String, Entry>,
    pub context: Map<String, Value>,
    /// Every row, for what was applied before.
    pub history: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub state: String,
    pub seq: u64,
    pub entered_at: i64,
    /// Timeouts due up to then were tried and refused (M6).
    tried: Option<i64>,
    parked: bool,
    /// The id and the key of the row that made it; none at creation.
    pub row: Option<u64>,
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub region: String,
    pub from: String,
    pub to: String,
    pub seq: u64,
    pub event_type: String,
    pub params: Map<String, Value>,
    pub timestamp: i64,
    pub key: String,
    pub cause: Value,
    pub actions: Vec<Value>,
    /// In the order in which rows are written.
    pub id: u64,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_field_names, reason = "`event_type` is what the API calls it")]
pub struct Event {
    pub event_type: String,
    pub params: Map<String, Value>,
    pub timestamp: Option<i64>,
    pub expected_version: Option<u64>,
}

impl Model {
    pub fn new(definition: &Value) -> Self {
        let strict = !matches!(
            definition["contract"].as_str(),
            Some("statemachine-e1e4.v1" | "statemachine-nested.v1")
        );
        let regions = match definition["regions"].as_array() {
            Some(regions) => regions.iter().map(|region| text(&region["id"])).collect(),
            None => vec!["_".to_owned()],
        };
        Self {
            definition: definition.clone(),
            strict,
            regions,
        }
    }

    fn parallel(&self) -> bool {
        self.definition["regions"].is_array()
    }

    fn list(&self, key: &str) -> Vec<Value> {
        self.definition[key].as_array().cloned().unwrap_or_default()
    }

    /// R1: at creation the regions take `seq` in definition order, from 1.
    pub fn create(&self, context: Map<String, Value>, now: i64) -> Entity {
        let mut entity = Entity {
            version: 1,
            next_seq: 1,
            entries: BTreeMap::new(),
            context,
            history: Vec::new(),
        };
        for (index, region) in self.regions.iter().enumerate() {
            let initial = if self.parallel() {
                &self.definition["regions"][index]["initial_state"]
            } else {
                &self.definition["initial_state"]
            };
            entity.enter(region, &text(initial), now);
        }
        entity
    }

    /// The event types of the transitions that leave where an entity is.
    pub fn likely(&self, entity: &Entity) -> Vec<String> {
        let leaves = |transition: &Value| {
            let region = self.region_of(transition);
            transition["on"] != "$timeout" && entity.entries[&region].state == text(&transition["from"])
        };
        let leaving = self.list("transitions").into_iter().filter(leaves);
        leaving.map(|transition| text(&transition["on"])).collect()
    }

    /// The region that a transition moves.
    fn region_of(&self, transition: &Value) -> String {
        if self.parallel() {
            text(&transition["region"])
        } else {
            "_".to_owned()
        }
    }

    /// S2.26, S2.27: the first in definition order. M16: in a broadcast the first of each region, in region order.
    fn choose(&self, entity: &Entity, event: &Event) -> Vec<Value> {
        let fitting: Vec<Value> = self
            .list("transitions")
            .into_iter()
            .filter(|transition| {
                text(&transition["on"]) == event.event_type
                    && entity.entries[&self.region_of(transition)].state == text(&transition["from"])
                    && guards::passes(
                        &transition["guard"],
                        Some(&event.params),
                        &entity.context,
                        self.strict,
                    )
            })
            .collect();
        let broadcast = self.list("broadcast").contains(&json!(event.event_type));
        if !broadcast {
            return fitting.into_iter().take(1).collect();
        }
        let first_of = |region: &String| {
            fitting
                .iter()
                .find(|transition| self.region_of(transition) == *region)
                .cloned()
        };
        self.regions.iter().filter_map(first_of).collect()
    }

    fn holds(join: &Value, states: &States) -> bool {
        let when = join["when"].as_object().unwrap();
        when.iter().all(|(region, state)| states[region] == text(state))
    }

    /// The joins that fire after some moves, in order (S2.77 to S2.83, M3, M4).
    fn settle(&self, before: &States, moves: &[(String, String)]) -> Result<Vec<usize>, ()> {
        let joins = if self.parallel() {
            self.list("joins")
        } else {
            Vec::new()
        };
        let mut now = before.clone();
        for (region, to) in moves {
            now.insert(region.clone(), to.clone());
        }
        let mut held: Vec<bool> = joins.iter().map(|join| Self::holds(join, before)).collect();
        let mut pending = BTreeSet::new();
        let mut fired = Vec::new();
        loop {
            for (index, join) in joins.iter().enumerate() {
                let holds = Self::holds(join, &now);
                let level = !self.strict || join["trigger"] == "level";
                if !holds {
                    pending.remove(&index);
                } else if level || !held[index] {
                    pending.insert(index);
                }
                held[index] = holds;
            }
            let next = pending.iter().copied().find(|index| {
                let join = &joins[*index];
                now[&text(&join["target_region"])] != text(&join["target_state"])
            });
            let Some(next) = next else { return Ok(fired) };
            if fired.len() == 10 {
                return if self.strict { Err(()) } else { Ok(fired) };
            }
            pending.remove(&next);
            now.insert(
                text(&joins[next]["target_region"]),
                text(&joins[next]["target_state"]),
            );
            fired.push(next);
        }
    }

    /// Writes a step: its rows, and the entry that each starts (R1, R2).
    fn write(
        &self,
        entity: &mut Entity,
        moves: &[(String, String)],
        fired: &[usize],
        first: &First,
    ) -> Vec<Row> {
        let n = entity.next_seq;
        let mut rows = Vec::new();
        for (place, (region, to)) in moves.iter().enumerate() {
            let mut key = first.key.clone();
            if place > 0 {
                key.as_array_mut().unwrap().push(json!(region));
            }
            let actions = self.on_enter(region, to);
            rows.push(entity.write(region, to, first, key.to_string(), actions));
        }
        let joins = self.list("joins");
        for (cascade, index) in fired.iter().enumerate() {
            let join = &joins[*index];
            let (region, to) = (text(&join["target_region"]), text(&join["target_state"]));
            let by = First {
                event_type: "$join".to_owned(),
                params: Map::new(),
                cause: json!({"via": "join", "join": index, "by": first.key.to_string()}),
                ..first.clone()
            };
            let mut actions = self.on_enter(&region, &to);
            for action in join["actions"].as_array().into_iter().flatten() {
                let inner = action.get("action").unwrap_or(action);
                actions.push(inner.clone());
            }
            let key = json!(["join", region, n, cascade]).to_string();
            rows.push(entity.write(&region, &to, &by, key, actions));
        }
        rows
    }

    /// S2.110 to S2.112.
    fn on_enter(&self, region: &str, state: &str) -> Vec<Value> {
        let actions = self.list("actions").into_iter();
        actions
            .filter(|def| {
                let elsewhere = def["region"].as_str().is_some_and(|named| named != region);
                text(&def["on_enter"]) == state && !(self.parallel() && elsewhere)
            })
            .map(|def| def["action"].clone())
            .collect()
    }

    /// The `$timeout` transitions that leave an entry, each with its delay, in the order in which they are tried: by
    /// delay and definition order (M6), in the seed by definition order alone.
    fn timeouts(&self, region: &str, entry: &Entry) -> Vec<(i64, Value)> {
        let mut found = Vec::new();
        for transition in self.list("transitions") {
            let leaves = self.region_of(&transition) == region && text(&transition["from"]) == entry.state;
            if transition["on"] == "$timeout" && leaves {
                let seconds = transition["guard"]["timeout_seconds"].as_u64();
                let delay = match seconds {
                    Some(seconds) => Some(seconds * 1000),
                    None if self.strict => transition["guard"]["after_ms"].as_u64(),
                    None => None,
                };
                if let Some(delay) = delay {
                    found.push((i64::try_from(delay).unwrap(), transition));
                }
            }
        }
        if self.strict {
            found.sort_by_key(|(delay, _)| *delay);
        }
        found
    }

    /// When an entry is due next.
    pub fn due(&self, entity: &Entity, region: &str) -> Option<i64> {
        let entry = &entity.entries[region];
        if entry.parked {
            return None;
        }
        let dues = self
            .timeouts(region, entry)
            .into_iter()
            .map(|(delay, _)| entry.entered_at + delay);
        dues.filter(|due| entry.tried.is_none_or(|tried| *due > tried))
            .min()
    }

    /// The timeout of a due entry that fires, with when it was due: the first whose conditions hold (M6). The seed asks
    /// what is due now, and nothing else.
    fn timing_out(&self, entity: &Entity, region: &str, judged: i64) -> Option<(i64, Value)> {
        let entry = &entity.entries[region];
        let fitting = self
            .timeouts(region, entry)
            .into_iter()
            .find(|(delay, transition)| {
                let conditions = guards::beside_the_delay(&transition["guard"]);
                let holds = !self.strict
                    || conditions.is_null()
                    || guards::passes(&conditions, None, &entity.context, true);
                entry.entered_at + delay <= judged && holds
            });
        fitting.map(|(delay, transition)| (entry.entered_at + delay, transition))
    }

    /// What the definition says of a compound state's child.
    fn child_of(&self, region: &str, state: &str) -> Option<Value> {
        let place = self.regions.iter().position(|id| id == region)?;
        let subs = if self.parallel() {
            &self.definition["regions"][place]["sub_machines"]
        } else {
            &self.definition["sub_machines"]
        };
        subs.get(state).cloned()
    }
}

/// What the rows of a step have in common with its first.
#[derive(Clone)]
pub struct First {
    key: Value,
    event_type: String,
    params: Map<String, Value>,
    timestamp: i64,
    cause: Value,
    entered_at: i64,
}

impl Entity {
    pub fn states(&self) -> States {
        let entries = self.entries.iter();
        entries
            .map(|(region, entry)| (region.clone(), entry.state.clone()))
            .collect()
    }

    /// The params of the row that an event made when it came before (S2.136). Only a given timestamp can repeat (R14).
    pub fn seen(&self, event: &Event) -> Option<Map<String, Value>> {
        let key = json!(["evt", event.event_type, event.timestamp?]).to_string();
        let row = self.history.iter().find(|row| row.key == key)?;
        Some(row.params.clone())
    }

    fn enter(&mut self, region: &str, state: &str, entered_at: i64) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        let entry = Entry {
            state: state.to_owned(),
            seq,
            entered_at,
            tried: None,
            parked: false,
            row: None,
            key: None,
        };
        self.entries.insert(region.to_owned(), entry);
        seq
    }

    fn write(&mut self, region: &str, to: &str, first: &First, key: String, actions: Vec<Value>) -> Row {
        let from = self.entries[region].state.clone();
        let seq = self.enter(region, to, first.entered_at);
        Row {
            region: region.to_owned(),
            from,
            to: to.to_owned(),
            seq,
            event_type: first.event_type.clone(),
            params: first.params.clone(),
            timestamp: first.timestamp,
            key,
            cause: first.cause.clone(),
            actions,
            id: 0,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

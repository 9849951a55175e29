//! What a history that is given remembers: replays of events at entities of a tree, and at generations of children that the
//! tree does not know any more (I1, R9b).

use std::sync::Arc;

use serde_json::Value;

use super::living::Living;
use super::read::fields;
use crate::answer::{Answer, StateView, TargetView};
use crate::commit::Refusal;
use crate::definition::shape::kind_of;
use crate::entity::Params;
use crate::error::Error;
use crate::forward::Seen;
use crate::ids::{CHILD_MARK, EntityId, MachineId, Millis, Version};
use crate::machine::Machine;
use crate::number::maps_equal;
use crate::request::{EventRequest, TargetPath};
use crate::target::{self, TargetStep};
use crate::tree::{EntityIx, Tree};

/// A row of an entity's history.
#[derive(Debug, Clone)]
pub struct SeenRow {
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// Its identity within the entity.
    pub identity_key: String,
    /// The event's params.
    pub event_params: Arc<Params>,
    /// The region that moved, and the state that it entered.
    pub entered: Option<(String, String)>,
}

impl SeenRow {
    /// Reads history rows, as commits and services tell them.
    ///
    /// # Errors
    /// They are no array of rows.
    pub fn list(value: &Value) -> Result<Vec<Self>, Error> {
        let Value::Array(rows) = value else {
            let problem = format!("it is {}", kind_of(value));
            return Err(Error::invalid("history", problem, "an array of history rows"));
        };
        let row = |(place, row): (usize, &Value)| {
            let path = format!("history[{place}]");
            let fields = fields(&path, row)?;
            let region = fields.optional_text("region")?;
            let state = fields.optional_text("to_state")?;
            Ok(Self {
                machine_id: fields.text("machine_id")?.to_owned(),
                entity_id: fields.text("entity_id")?.to_owned(),
                identity_key: fields.text("identity_key")?.to_owned(),
                event_params: Arc::new(fields.map("event_params")?.cloned().unwrap_or_default()),
                entered: region
                    .zip(state)
                    .map(|(region, state)| (region.to_owned(), state.to_owned())),
            })
        };
        rows.iter().enumerate().map(row).collect()
    }

    /// Whether it begins a commit of its entity: neither a join's row, nor a later one of a broadcast (R1).
    fn begins_commit(&self) -> bool {
        match serde_json::from_slice(self.identity_key.as_bytes()) {
            Ok(Value::Array(key)) => match key.as_slice() {
                [Value::String(kind), ..] if kind == "join" => false,
                [Value::String(kind), _, _, .., last] if kind == "evt" => !last.is_string(),
                _ => true,
            },
            _ => true,
        }
    }
}

/// What an entity of a tree remembers by rows that have an event's identity: its own, and what its legacy children handled
/// for it (M11). An event without a target gets to a legacy child by those above it alone.
pub(super) fn seen_in(tree: &Tree, rows: &[&SeenRow], entity: EntityIx) -> Option<Arc<Params>> {
    // What was made since remembers nothing.
    if entity.place() >= tree.len() {
        return None;
    }
    let row_of = |ix: EntityIx| {
        let of = tree.entity(ix);
        rows.iter()
            .find(|row| row.entity_id == of.id().as_str() && row.machine_id == of.machine().id().as_str())
    };
    let own = row_of(entity);
    let handed_on = || {
        let mended = tree.entity(entity).machine().rules().mended_children;
        let legacy = |ix: &EntityIx| {
            let mut up = std::iter::successors(Some(*ix), |ix| {
                let place = tree.place(*ix).filter(|place| !place.managed)?;
                Some(place.parent)
            });
            mended && up.any(|above| above == entity)
        };
        let below = tree.entities().map(|(ix, _)| ix);
        below.filter(legacy).find_map(row_of)
    };
    own.or_else(handed_on).map(|row| Arc::clone(&row.event_params))
}

/// The answer to a replay at a generation of an instance that its tree does not know any more, but its history does. None
/// where it is none: then it is an event like any other.
pub(super) fn past_replay(
    living: &Living,
    request: &EventRequest,
    history: &[SeenRow],
    seen: Seen<'_>,
    now: Millis,
) -> Option<Result<Answer, Error>> {
    let path = request.target.as_ref().filter(|path| !path.steps.is_empty())?;
    let key = request.event.identity()?.to_string();
    let tree = &living.tree;
    let root = tree.root();
    target::check(root.machine(), tree.library(), &path.steps, &path.path).ok()?;
    // A path whose entries are all named means one generation alone: where the tree knows it, no other is looked at.
    let is_one = path.steps.iter().all(|step| step.seq.is_some());
    let mut here = tree.entities().map(|(ix, _)| ix);
    if here.any(|ix| target::is_at(tree, EntityIx::ROOT, ix, &path.steps) && (is_one || seen(ix).is_some())) {
        return None;
    }
    let generations = generations(root.id().as_str(), path, history);
    let row = history
        .iter()
        .find(|row| row.identity_key == key && generations.contains(&row.entity_id))?;
    let timestamp = request.event.timestamp_at(now);
    if !maps_equal(&row.event_params, &request.event.params) {
        let event_type = Arc::clone(&request.event.event_type);
        return Some(Err(Error::Refused(Refusal::EventIdentityConflict {
            event_type,
            timestamp,
        })));
    }
    let machine = tree.library()?.get(&MachineId::new(&row.machine_id).ok()?)?;
    let own: Vec<&SeenRow> = history
        .iter()
        .filter(|other| other.entity_id == row.entity_id)
        .collect();
    let commits = own.iter().filter(|row| row.begins_commit()).count();
    let version = Version(u64::try_from(commits).ok()?.saturating_add(1));
    let id = EntityId::named(&row.entity_id).ok()?;
    let state = last_state(machine, &own);
    let mut answer = Answer::replayed(id.as_str(), state, version, &request.event, timestamp);
    answer.target = Some(TargetView {
        machine_id: row.machine_id.clone(),
        entity_id: row.entity_id.clone(),
        depth: u32::try_from(path.steps.len()).ok()?,
    });
    Some(Ok(answer))
}

/// The state that rows tell last, region by region.
fn last_state(machine: &Machine, rows: &[&SeenRow]) -> StateView {
    let states = machine.regions().iter().map(|region| {
        let moved = rows.iter().rev().filter_map(|row| row.entered.as_ref());
        let last = moved
            .filter(|(of, _)| **of == *region.id)
            .map(|(_, state)| state.as_str())
            .next();
        let state = last.map_or_else(|| Arc::clone(&machine.state(region.initial).name), Into::into);
        (Arc::clone(&region.id), state)
    });
    if machine.is_parallel() {
        return StateView::Regions(states.collect());
    }
    // A flat machine has exactly one region.
    let mut states = states.map(|(_, state)| state);
    StateView::Flat(states.next().unwrap_or_else(|| "".into()))
}

/// The ids of all generations of the instance that a path leads to, as far as a history tells of them (S2.207, M9).
fn generations(root: &str, path: &TargetPath, history: &[SeenRow]) -> Vec<String> {
    let mut ids = vec![root.to_owned()];
    for step in &path.steps {
        ids = ids.iter().flat_map(|id| children(id, step, history)).collect();
    }
    ids
}

/// The generations of the child of a state: the first has the state's name in its id, a later one its entry's number as well.
fn children(parent: &str, step: &TargetStep, history: &[SeenRow]) -> Vec<String> {
    let first = format!("{parent}{CHILD_MARK}{}", step.state);
    let number = |id: &str| -> Option<u64> {
        let below = id.strip_prefix(&first)?;
        let number = below.strip_prefix("::")?.split("::").next()?;
        number.parse().ok()
    };
    let mut later: Vec<u64> = history.iter().filter_map(|row| number(&row.entity_id)).collect();
    crate::sorted::sort(&mut later);
    later.dedup();
    if let Some(seq) = step.seq {
        // The last that began by that entry.
        return match later.into_iter().rfind(|first| *first <= seq.0) {
            Some(of) => vec![format!("{first}::{of}")],
            None => vec![first],
        };
    }
    let later = later.into_iter().map(|of| format!("{first}::{of}"));
    std::iter::once(first.clone()).chain(later).collect()
}

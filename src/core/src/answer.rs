//! What a caller is told: the shapes of the seed's answers, name for name (S2.251 to S2.257).

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::commit::{Cause, Commit, Row};
use crate::definition::Action;
use crate::entity::{Configuration, Entity, EntityIx, Tree};
use crate::ids::Version;
use crate::machine::Machine;
use crate::step::{Event, firings};

/// The reason of a replay (S2.138).
pub const DUPLICATE: &str = "duplicate event (already processed)";

/// The answer to an event (S2.251). Empty optional fields are left out (S2.252).
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The entity that the event applied to.
    pub entity_id: String,
    /// Its state before.
    pub previous_state: StateView,
    /// Its state after.
    pub current_state: StateView,
    /// The label of the transition; null when there was none.
    pub transition: Option<Arc<str>>,
    /// The region that the event moved, on a parallel machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Arc<str>>,
    /// The event type.
    pub triggered_by: Arc<str>,
    /// The effects that the commit calls for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions_dispatched: Vec<ActionView>,
    /// The joins that fired, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joins_fired: Vec<JoinView>,
    /// The event's timestamp.
    pub timestamp: i64,
    /// Why there was no transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entity that a target path led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetView>,
    /// The transitions of a broadcast, in order (R1).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionView>,
    /// The entity's version after.
    pub state_version: Version,
    /// How many due timeouts were applied before the event (M5).
    #[serde(skip_serializing_if = "is_zero")]
    pub timeouts_fired: usize,
    /// Whether nothing was written, because the caller asked only what would happen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Why the event did or did not move the entity, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Box<crate::explain::Explanation>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The entity that a target path led to (S2.225).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TargetView {
    /// Its machine.
    pub machine_id: String,
    /// Its id.
    pub entity_id: String,
    /// Its level below the root.
    pub depth: u32,
}

/// A join that fired (S2.79).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JoinView {
    /// The region that it moved.
    pub target_region: Arc<str>,
    /// The state that the region left.
    pub from_state: Arc<str>,
    /// The state that it entered.
    pub target_state: Arc<str>,
}

/// One of a broadcast's transitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransitionView {
    /// The region.
    pub region: Arc<str>,
    /// The state that it left.
    pub from_state: Arc<str>,
    /// The state that it entered.
    pub to_state: Arc<str>,
    /// Its label.
    pub transition: Arc<str>,
}

/// An effect that a commit calls for (S2.126).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action_type", rename_all = "lowercase")]
pub enum ActionView {
    /// An HTTP request.
    Webhook {
        /// Its address.
        url: String,
        /// The state whose entry calls for it.
        state: Arc<str>,
        /// The region of that state, on a parallel machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<Arc<str>>,
    },
    /// An event to the operator's collector.
    Event {
        /// Its type.
        event_type: String,
        /// The state whose entry calls for it.
        state: Arc<str>,
        /// The region of that state, on a parallel machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<Arc<str>>,
    },
}

/// A state as answers show it: a string on a flat machine, an object of regions on a parallel one (S2.24, S2.25).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateView {
    /// The state of a flat machine.
    Flat(Arc<str>),
    /// Region and state, in region order.
    Regions(Vec<(Arc<str>, Arc<str>)>),
}

impl StateView {
    /// How a configuration of a machine is shown.
    pub fn of(machine: &Machine, configuration: &Configuration) -> Self {
        let names = configuration.iter().map(|state| machine.state(*state));
        if machine.is_parallel() {
            let pairs = names.map(|state| {
                (
                    Arc::clone(&machine.region(state.region).id),
                    Arc::clone(&state.name),
                )
            });
            return Self::Regions(pairs.collect());
        }
        // A flat machine has exactly one region.
        Self::Flat(
            names
                .map(|state| Arc::clone(&state.name))
                .next()
                .unwrap_or_else(|| "".into()),
        )
    }
}

impl Serialize for StateView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flat(state) => serializer.serialize_str(state),
            Self::Regions(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (region, state) in pairs {
                    map.serialize_entry(&**region, &**state)?;
                }
                map.end()
            }
        }
    }
}

/// The effects of one row, as answers and the history show them.
pub fn actions_of<'a>(machine: &'a Machine, row: &'a Row) -> impl Iterator<Item = ActionView> + 'a {
    let state = &machine.state(row.to).name;
    let region = machine.is_parallel().then(|| &machine.region(row.region).id);
    row.actions.iter().map(move |action| match &**action {
        Action::Webhook { url, .. } => ActionView::Webhook {
            url: url.clone(),
            state: Arc::clone(state),
            region: region.cloned(),
        },
        Action::Event { event_type, .. } => ActionView::Event {
            event_type: event_type.clone(),
            state: Arc::clone(state),
            region: region.cloned(),
        },
    })
}

impl Answer {
    /// The answer to an event that moved its target.
    pub fn applied(tree: &Tree, commit: &Commit, event: &Event, timestamp: i64) -> Self {
        let entity = tree.entity(commit.target);
        let machine = entity.machine();
        let name = |state| Arc::clone(&machine.state(state).name);
        let region = |region| Arc::clone(&machine.region(region).id);
        let first = commit
            .transitions
            .first()
            .map(|transition| machine.transition(*transition));
        let joins_fired = firings(&commit.rows).map(|firing| JoinView {
            target_region: region(firing.region),
            from_state: name(firing.from),
            target_state: name(firing.to),
        });
        let taken = commit
            .transitions
            .iter()
            .map(|transition| machine.transition(*transition));
        let transitions = if commit.transitions.len() > 1 {
            let views = taken.map(|transition| TransitionView {
                region: region(transition.region),
                from_state: name(transition.from),
                to_state: name(transition.to),
                transition: Arc::clone(&transition.label),
            });
            views.collect()
        } else {
            Vec::new()
        };
        Self {
            previous_state: StateView::of(machine, &commit.previous),
            transition: first.map(|transition| Arc::clone(&transition.label)),
            region: first
                .filter(|_| machine.is_parallel())
                .map(|transition| region(transition.region)),
            actions_dispatched: commit
                .rows
                .iter()
                .flat_map(|row| actions_of(machine, row))
                .collect(),
            joins_fired: joins_fired.collect(),
            transitions,
            ..Self::unmoved(entity, event, timestamp)
        }
    }

    /// The answer to a replay (S2.138).
    pub fn duplicate(entity: &Entity, event: &Event, timestamp: i64) -> Self {
        Self {
            reason: Some(DUPLICATE.to_owned()),
            ..Self::unmoved(entity, event, timestamp)
        }
    }

    /// The answer to an event that no transition takes (S2.32).
    pub fn no_transition(entity: &Entity, event: &Event, timestamp: i64) -> Self {
        let unmoved = Self::unmoved(entity, event, timestamp);
        let state = match &unmoved.current_state {
            StateView::Flat(state) => state.to_string(),
            // Names and states always have a JSON form.
            regions @ StateView::Regions(_) => serde_json::to_string(regions).unwrap_or_default(),
        };
        let reason = format!("no transition from '{state}' on '{}'", event.event_type);
        Self {
            reason: Some(reason),
            ..unmoved
        }
    }

    fn unmoved(entity: &Entity, event: &Event, timestamp: i64) -> Self {
        let state = StateView::of(entity.machine(), &entity.configuration());
        Self {
            entity_id: entity.id().as_str().to_owned(),
            previous_state: state.clone(),
            current_state: state,
            transition: None,
            region: None,
            triggered_by: Arc::clone(&event.event_type),
            actions_dispatched: Vec::new(),
            joins_fired: Vec::new(),
            timestamp,
            reason: None,
            target: None,
            transitions: Vec::new(),
            state_version: entity.version(),
            timeouts_fired: 0,
            dry_run: false,
            explain: None,
        }
    }

    /// The same answer, to an event that was sent to a target path (S2.225).
    #[must_use]
    pub fn at(mut self, tree: &Tree, target: EntityIx) -> Self {
        let entity = tree.entity(target);
        self.target = Some(TargetView {
            machine_id: entity.machine().id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            depth: 0,
        });
        self
    }
}

impl Row {
    /// What the row moved, as its history shows it: region, state left, state entered.
    pub fn names<'a>(&self, machine: &'a Machine) -> (&'a str, &'a str, &'a str) {
        (
            &machine.region(self.region).id,
            &machine.state(self.from).name,
            &machine.state(self.to).name,
        )
    }

    /// Whether a join made it.
    pub fn is_join(&self) -> bool {
        matches!(self.cause, Cause::Join { .. })
    }
}

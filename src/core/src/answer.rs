//! What a caller is told: the shapes of the seed's answers, name for name (S2.251 to S2.257).

use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::commit::{Cause, Commit, Life, LifeKind, Outcome, Row};
use crate::definition::{Action, FLAT_REGION};
use crate::entity::{Configuration, Entity};
use crate::forward::Delivered;
use crate::identity::IdentityKey;
use crate::ids::{Seq, Version};
use crate::machine::{Machine, RegionIx};
use crate::step::Event;
use crate::tree::{EntityIx, Tree};

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
    /// The legacy child that handled the event (S2.170).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_machine: Option<SubMachineView>,
    /// The entity that a target path led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetView>,
    /// What became of managed children, in order (S2.226).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<LifeView>,
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

/// A legacy child that handled an event (S2.170).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubMachineView {
    /// Its machine.
    pub machine_id: String,
    /// Its id.
    pub entity_id: String,
    /// Its state before.
    pub previous_state: StateView,
    /// Its state after.
    pub current_state: StateView,
    /// The label of its transition, where it moved by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<Arc<str>>,
    /// Whether its completion moved its parent on.
    pub auto_completed: bool,
}

/// What became of a managed child (S2.227, R11).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LifeView {
    /// What.
    pub kind: LifeKind,
    /// Its machine.
    pub machine_id: String,
    /// Its id.
    pub entity_id: String,
    /// Its managed level.
    pub depth: u32,
    /// Its parent, and the entry that it belonged to.
    pub parent: OwnerView,
    /// The history row that says so; filled in when the commit is stored.
    pub row: Option<u64>,
    /// The identity of that row.
    pub key: Option<IdentityKey>,
    /// Where a completion led the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_to: Option<Arc<str>>,
    /// The parent's history row; filled in when the commit is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_row: Option<u64>,
    /// The identity of that row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_key: Option<IdentityKey>,
    /// The entities of the two rows.
    #[serde(skip)]
    pub rows_of: [Option<EntityIx>; 2],
}

/// An ancestor, and the entry of a compound state that a child belongs to (S2.209).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerView {
    /// The ancestor's machine.
    pub machine_id: String,
    /// The ancestor's id.
    pub entity_id: String,
    /// The region of the compound state.
    pub region: Arc<str>,
    /// The compound state.
    pub state: Arc<str>,
    /// The entry instance.
    pub seq: Seq,
}

impl OwnerView {
    /// The parent of a child, with the entry that the child belongs to.
    pub fn of(tree: &Tree, child: EntityIx) -> Option<Self> {
        let place = tree.place(child)?;
        let parent = tree.entity(place.parent);
        Some(Self {
            machine_id: parent.machine().id().as_str().to_owned(),
            entity_id: parent.id().as_str().to_owned(),
            region: Arc::clone(&parent.machine().region(place.region).id),
            state: Arc::clone(&parent.machine().state(place.state).name),
            seq: place.seq,
        })
    }

    /// The managed ancestors of a child, the root first (S2.209). A legacy child begins a path of its own.
    pub fn path(tree: &Tree, child: EntityIx) -> Vec<Self> {
        let mut path = Vec::new();
        let mut entity = child;
        while let Some(place) = tree.place(entity).filter(|place| place.managed) {
            path.extend(Self::of(tree, entity));
            entity = place.parent;
        }
        path.reverse();
        path
    }
}

impl LifeView {
    /// How it is told.
    pub(crate) fn of(tree: &Tree, life: &Life) -> Self {
        let child = tree.entity(life.child);
        let parent = tree.entity(life.parent);
        let name = |state| Arc::clone(&parent.machine().state(state).name);
        Self {
            kind: life.kind,
            machine_id: child.machine().id().as_str().to_owned(),
            entity_id: child.id().as_str().to_owned(),
            depth: tree.depth(life.child),
            parent: OwnerView {
                machine_id: parent.machine().id().as_str().to_owned(),
                entity_id: parent.id().as_str().to_owned(),
                region: Arc::clone(&parent.machine().region(life.region).id),
                state: name(life.state),
                seq: life.seq,
            },
            row: None,
            key: life.row.as_ref().map(|(_, key)| key.clone()),
            parent_to: life.advance.as_ref().map(|(state, _)| name(*state)),
            parent_row: None,
            parent_key: life.advance.as_ref().map(|(_, key)| key.clone()),
            rows_of: [
                life.row.as_ref().map(|(entity, _)| *entity),
                life.advance.as_ref().map(|_| life.parent),
            ],
        }
    }
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
    /// The entity whose join it is, where the answer is about another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
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
        /// The entity that entered it, where the answer is about another.
        #[serde(skip_serializing_if = "Option::is_none")]
        entity_id: Option<String>,
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
        /// The entity that entered it, where the answer is about another.
        #[serde(skip_serializing_if = "Option::is_none")]
        entity_id: Option<String>,
    },
    /// An event to another entity.
    Transition {
        /// The machine that it is sent to.
        machine_id: String,
        /// The entity that it is sent to, as the definition writes it.
        target: String,
        /// Its type.
        event_type: String,
        /// The state whose entry calls for it.
        state: Arc<str>,
        /// The region of that state, on a parallel machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<Arc<str>>,
        /// The entity that entered it, where the answer is about another.
        #[serde(skip_serializing_if = "Option::is_none")]
        entity_id: Option<String>,
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
            entity_id: None,
        },
        Action::Event { event_type, .. } => ActionView::Event {
            event_type: event_type.clone(),
            state: Arc::clone(state),
            region: region.cloned(),
            entity_id: None,
        },
        Action::Transition {
            machine_id,
            entity_id,
            event_type,
            ..
        } => ActionView::Transition {
            machine_id: machine_id.clone(),
            target: entity_id.clone(),
            event_type: event_type.clone(),
            state: Arc::clone(state),
            region: region.cloned(),
            entity_id: None,
        },
    })
}

impl ActionView {
    fn at(mut self, entity: &Entity) -> Self {
        let (Self::Webhook { entity_id, .. }
        | Self::Event { entity_id, .. }
        | Self::Transition { entity_id, .. }) = &mut self;
        *entity_id = Some(entity.id().as_str().to_owned());
        self
    }
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
            transitions,
            ..Self::unmoved(entity, event, timestamp)
        }
        .with_effects(tree, commit, commit.target)
    }

    /// What a commit fired, calls for and does to children, told in an answer about one of its entities.
    fn with_effects(mut self, tree: &Tree, commit: &Commit, about: EntityIx) -> Self {
        for row in &commit.rows {
            let entity = tree.entity(row.entity);
            let machine = entity.machine();
            let own = row.entity == about;
            let actions = actions_of(machine, row);
            self.actions_dispatched
                .extend(actions.map(|action| if own { action } else { action.at(entity) }));
            if row.is_join() {
                let name = |state| Arc::clone(&machine.state(state).name);
                self.joins_fired.push(JoinView {
                    target_region: Arc::clone(&machine.region(row.region).id),
                    from_state: name(row.from),
                    target_state: name(row.to),
                    entity_id: (!own).then(|| entity.id().as_str().to_owned()),
                });
            }
        }
        self.instances
            .extend(commit.lives.iter().map(|life| LifeView::of(tree, life)));
        self
    }

    /// The answer to an event that an entity took itself or handed on to a legacy child; none where it was refused.
    pub fn delivered(
        tree: &Tree,
        entity: EntityIx,
        delivered: &Delivered,
        event: &Event,
        timestamp: i64,
    ) -> Option<Self> {
        let addressed = tree.entity(entity);
        let commit = match &delivered.outcome {
            Outcome::Commit(commit) => commit,
            Outcome::Duplicate => return Some(Self::duplicate(addressed, event, timestamp)),
            Outcome::NoTransition => return Some(Self::no_transition(addressed, event, timestamp)),
            Outcome::Refusal(_) => return None,
        };
        let Some(handled) = &delivered.child else {
            return Some(Self::applied(tree, commit, event, timestamp));
        };
        let advance = |of: EntityIx| {
            commit
                .rows
                .iter()
                .find(|row| row.entity == of && matches!(row.cause, Cause::SubComplete { .. }))
        };
        let machine = addressed.machine();
        let moved_on = advance(entity);
        let child = tree.entity(handled.child);
        let own = if commit.target == handled.child {
            let first = commit.transitions.first();
            first.map(|transition| Arc::clone(&child.machine().transition(*transition).label))
        } else {
            advance(handled.child).map(|row| row.label(child.machine()))
        };
        let answer = Self {
            previous_state: StateView::of(machine, &delivered.previous),
            transition: moved_on.map(|row| row.label(machine)),
            region: moved_on
                .filter(|_| machine.is_parallel())
                .map(|row| Arc::clone(&machine.region(row.region).id)),
            sub_machine: Some(SubMachineView {
                machine_id: child.machine().id().as_str().to_owned(),
                entity_id: child.id().as_str().to_owned(),
                previous_state: StateView::of(child.machine(), &handled.previous),
                current_state: StateView::of(child.machine(), &child.configuration()),
                transition: own,
                auto_completed: moved_on.is_some(),
            }),
            ..Self::unmoved(addressed, event, timestamp)
        };
        Some(answer.with_effects(tree, commit, entity))
    }

    /// The answer to a replay (S2.138).
    pub fn duplicate(entity: &Entity, event: &Event, timestamp: i64) -> Self {
        Self {
            reason: Some(DUPLICATE.to_owned()),
            ..Self::unmoved(entity, event, timestamp)
        }
    }

    /// The answer to a replay at an instance that its tree does not know any more (R9b).
    pub fn replayed(
        entity_id: &str,
        state: StateView,
        version: Version,
        event: &Event,
        timestamp: i64,
    ) -> Self {
        Self {
            reason: Some(DUPLICATE.to_owned()),
            ..Self::still(entity_id, state, version, event, timestamp)
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
        Self::still(entity.id().as_str(), state, entity.version(), event, timestamp)
    }

    fn still(entity_id: &str, state: StateView, version: Version, event: &Event, timestamp: i64) -> Self {
        Self {
            entity_id: entity_id.to_owned(),
            previous_state: state.clone(),
            current_state: state,
            transition: None,
            region: None,
            triggered_by: Arc::clone(&event.event_type),
            actions_dispatched: Vec::new(),
            joins_fired: Vec::new(),
            timestamp,
            reason: None,
            sub_machine: None,
            target: None,
            instances: Vec::new(),
            transitions: Vec::new(),
            state_version: version,
            timeouts_fired: 0,
            dry_run: false,
            explain: None,
        }
    }

    /// The history rows that it tells of: their entities and identities.
    pub fn told_rows(&self) -> impl Iterator<Item = (EntityIx, &IdentityKey)> {
        self.instances.iter().flat_map(|life| {
            let [own, parent] = life.rows_of;
            [own.zip(life.key.as_ref()), parent.zip(life.parent_key.as_ref())]
                .into_iter()
                .flatten()
        })
    }

    /// The same, with where each id stands in the answer: a JSON pointer.
    pub fn told_rows_at(&self) -> impl Iterator<Item = (String, EntityIx, &IdentityKey)> {
        self.instances.iter().enumerate().flat_map(|(place, life)| {
            let [own, parent] = life.rows_of;
            let own = own
                .zip(life.key.as_ref())
                .map(|(entity, key)| ("row", entity, key));
            let parent = parent
                .zip(life.parent_key.as_ref())
                .map(|(entity, key)| ("parent_row", entity, key));
            let both = [own, parent].into_iter().flatten();
            both.map(move |(name, entity, key)| (format!("/instances/{place}/{name}"), entity, key))
        })
    }

    /// Fills in the ids of the history rows that it tells of, once they are stored.
    pub fn number_rows(&mut self, row: impl Fn(EntityIx, &IdentityKey) -> Option<u64>) {
        for life in &mut self.instances {
            let [own, parent] = life.rows_of;
            if let (Some(entity), Some(key)) = (own, &life.key) {
                life.row = row(entity, key);
            }
            if let (Some(entity), Some(key)) = (parent, &life.parent_key) {
                life.parent_row = row(entity, key);
            }
        }
    }

    /// The same answer, to an event that was sent to a target path (S2.225).
    #[must_use]
    pub fn at(mut self, tree: &Tree, target: EntityIx) -> Self {
        let entity = tree.entity(target);
        self.target = Some(TargetView {
            machine_id: entity.machine().id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            depth: tree.depth(target),
        });
        self
    }
}

impl Row {
    /// What the row moved, as its history shows it: region, state left, state entered. A cancel moves nothing, and tells
    /// the state as a whole.
    pub fn names<'a>(&self, machine: &'a Machine) -> (Cow<'a, str>, Cow<'a, str>, Cow<'a, str>) {
        if let Cause::SubCancel { configuration, .. } = &self.cause
            && machine.is_parallel()
        {
            let state = StateView::of(machine, configuration);
            // Names and states always have a JSON form.
            let state = serde_json::to_string(&state).unwrap_or_default();
            return (FLAT_REGION.into(), state.clone().into(), state.into());
        }
        (
            Cow::Borrowed(&machine.region(self.region).id),
            Cow::Borrowed(&machine.state(self.from).name),
            Cow::Borrowed(&machine.state(self.to).name),
        )
    }

    /// What it moved, as a transition's label (S2.33).
    fn label(&self, machine: &Machine) -> Arc<str> {
        let (region, from, to) = self.names(machine);
        let label = if machine.is_parallel() {
            format!("{region}: {from} → {to}")
        } else {
            format!("{from} → {to}")
        };
        label.into()
    }

    /// Whether a join made it.
    pub fn is_join(&self) -> bool {
        matches!(self.cause, Cause::Join { .. })
    }

    /// The region whose entry it started; none where it started none.
    pub fn entered(&self) -> Option<RegionIx> {
        (!matches!(self.cause, Cause::SubCancel { .. })).then_some(self.region)
    }
}

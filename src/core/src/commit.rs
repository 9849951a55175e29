//! What a step decided, as data.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use smallvec::SmallVec;

use crate::code::Code;
use crate::definition::Action;
use crate::entity::{Configuration, Params};
use crate::identity::IdentityKey;
use crate::ids::{EntityId, MAX_CHILD_ID_BYTES, MachineId, Millis, Seq, Version};
use crate::machine::{RegionIx, StateIx, TransitionIx};
use crate::tree::{DEEPEST_LEVEL, EntityIx, MOST_ENTITIES, MOST_REGIONS, Tree};

/// What came of an event.
#[derive(Debug)]
pub enum Outcome {
    /// It moves the tree; the tree was changed accordingly.
    Commit(Box<Commit>),
    /// It was applied before, with equal params (S2.138). Nothing changed.
    Duplicate,
    /// No transition takes it (S2.32). Nothing changed.
    NoTransition,
    /// It is refused. Nothing changed.
    Refusal(Refusal),
}

/// One commit: all of it is stored, or nothing (I3).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commit {
    /// The entity that the event or the timeout applied to.
    pub target: EntityIx,
    /// The target's configuration before.
    pub previous: Configuration,
    /// Every entity it writes, each once, with the version that this makes (I2). One that it makes is at version 1.
    pub writes: SmallVec<[(EntityIx, Version); 1]>,
    /// The entities that it makes.
    pub made: Vec<EntityIx>,
    /// What becomes of managed children, in order (R2).
    pub lives: Vec<Life>,
    /// The children whose place it makes or changes; one may stand here twice.
    pub placed: Vec<EntityIx>,
    /// The entities that handed the event on to the target, and so remember it too (M11); the first is the one that it
    /// was sent to.
    pub forwarded_by: Vec<EntityIx>,
    /// The history rows, in order (R2).
    pub rows: Rows,
    /// The transitions that the event took: one, or one a region in a broadcast (M16).
    pub transitions: SmallVec<[TransitionIx; 1]>,
    /// Whether the target's context changed.
    pub context_changed: bool,
}

/// What became of a managed child (R11).
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// What.
    pub kind: LifeKind,
    /// The child.
    pub child: EntityIx,
    /// Its parent.
    pub parent: EntityIx,
    /// The parent's region with the compound state.
    pub region: RegionIx,
    /// The compound state.
    pub state: StateIx,
    /// The entry instance that the child belonged to.
    pub seq: Seq,
    /// The row that says so, and its entity. None where no row did: a start at its parent's creation, a completion at
    /// the child's own start.
    pub row: Option<(EntityIx, IdentityKey)>,
    /// Where a completion led the parent, and by which row of it.
    pub advance: Option<(StateIx, IdentityKey)>,
}

/// What can become of a managed child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LifeKind {
    /// It was made.
    Started,
    /// It came to its end, and its parent went on.
    Completed,
    /// It was ended with its parent's state.
    Cancelled,
    /// It woke where it was cancelled (M9).
    Resumed,
}

/// The rows of a commit.
pub type Rows = SmallVec<[Row; 1]>;

/// One history row (S2.256).
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The entity it belongs to.
    pub entity: EntityIx,
    /// The region that moved.
    pub region: RegionIx,
    /// The state it left.
    pub from: StateIx,
    /// The state it entered.
    pub to: StateIx,
    /// The entry instance that it started.
    pub seq: Seq,
    /// When it happened: an event's timestamp, or a timeout's due time.
    pub timestamp: i64,
    /// Its identity within the entity.
    pub key: IdentityKey,
    /// What caused it.
    pub cause: Cause,
    /// The effects that it calls for, in order.
    pub actions: Vec<Arc<Action>>,
}

/// What caused a row (S2.152).
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// An event from outside.
    Event {
        /// Its type.
        event_type: Arc<str>,
        /// Its params.
        params: Arc<Params>,
    },
    /// A timeout.
    Timeout {
        /// When it was due.
        due: Millis,
    },
    /// A join, within the step of another row.
    Join {
        /// Which join of the definition.
        index: u32,
        /// The key of the step's first row.
        by: IdentityKey,
    },
    /// The completion of a child (S2.153, S2.154).
    SubComplete {
        /// Whether the child was a managed one.
        managed: bool,
        /// The child.
        child: EntityIx,
        /// The child's row that made it so; none where it was final at its start.
        key: Option<IdentityKey>,
    },
    /// The entity was ended with its parent's state (S2.200).
    SubCancel {
        /// The first row of the step that ended it.
        by: Option<IdentityKey>,
        /// The states in which it ended.
        configuration: Configuration,
    },
    /// The entity woke (R9b).
    SubResume {
        /// The row that entered its parent's state.
        by: Option<IdentityKey>,
    },
}

impl Commit {
    /// About how many bytes its rows have, with `params_bytes` in each that an event made. A broadcast repeats the
    /// params in each of its rows, and a state can call for thousands of actions.
    pub fn bytes(&self, params_bytes: usize) -> usize {
        let rows = self.rows.iter().map(|row| {
            let params = match &row.cause {
                Cause::Event { .. } => params_bytes,
                // A name has at most 128 bytes, and a region and its state are told twice.
                Cause::SubCancel { configuration, .. } => configuration.len().saturating_mul(600),
                _ => 0,
            };
            let actions = row.actions.iter().map(|action| action.bytes());
            let actions = actions.fold(0, |bytes: usize, action| {
                bytes.saturating_add(action).saturating_add(100)
            });
            params.saturating_add(actions).saturating_add(500)
        });
        rows.fold(0, usize::saturating_add)
    }
}

impl Row {
    /// Its `event_type`; engine rows start with `$` (S2.55).
    pub fn event_type(&self) -> &str {
        match &self.cause {
            Cause::Event { event_type, .. } => event_type,
            Cause::Timeout { .. } => "$timeout",
            Cause::Join { .. } => "$join",
            Cause::SubComplete { .. } => "$sub_complete",
            Cause::SubCancel { .. } => "$sub_cancel",
            Cause::SubResume { .. } => "$sub_resume",
        }
    }

    /// Whether it is the first of its step: neither a join's, nor one of a broadcast's later ones.
    pub(crate) fn begins_step(&self) -> bool {
        let later = matches!(&self.key, IdentityKey::Event { region: Some(_), .. });
        !later && !matches!(self.cause, Cause::Join { .. })
    }

    /// Its `event_params`; engine rows have none.
    pub fn event_params(&self) -> Option<&Params> {
        self.shared_params().map(|params| &**params)
    }

    /// The same, shared.
    pub fn shared_params(&self) -> Option<&Arc<Params>> {
        match &self.cause {
            Cause::Event { params, .. } => Some(params),
            _ => None,
        }
    }
}

impl Cause {
    /// The `cause` of a history row of a tree as JSON.
    pub fn to_json(&self, tree: &Tree) -> Value {
        match self {
            Self::Event { .. } => json!({"via": "event"}),
            Self::Timeout { due } => json!({"via": "timeout", "due_at": due}),
            Self::Join { index, by } => json!({"via": "join", "join": index, "by": by}),
            Self::SubComplete { managed, child, key } => {
                let via = if *managed { "managed" } else { "legacy" };
                let child = tree.entity(*child);
                let child = json!({"machine_id": child.machine().id(), "entity_id": child.id()});
                json!({"via": via, "child": child, "key": key})
            }
            Self::SubCancel { by, .. } => json!({"via": "cancel", "by": by}),
            Self::SubResume { by } => json!({"via": "resume", "by": by}),
        }
    }
}

/// Why an event is refused. Nothing is written then (S2.274).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// S2.139.
    #[error(
        "the event `{event_type}` with timestamp {timestamp} was applied with other params; \
         send the same params to have it answered as a duplicate, or another timestamp for a new event"
    )]
    EventIdentityConflict {
        /// The event type.
        event_type: Arc<str>,
        /// The timestamp.
        timestamp: i64,
    },
    /// The caller decided on another version.
    #[error(
        "the entity is at version {}, not at {expected}; read it again and decide anew",
        .actual.map_or_else(|| "0 (it does not exist)".to_owned(), |version| version.to_string())
    )]
    VersionConflict {
        /// The version the caller named.
        expected: u64,
        /// The entity's version; none where there is no entity.
        actual: Option<Version>,
    },
    /// M4.
    #[error("the joins did not come to rest within {limit} firings; {joins} would go on firing")]
    JoinCascadeLimit {
        /// The limit.
        limit: usize,
        /// The joins that took part, by their JSON paths.
        joins: String,
    },
    /// S2.201, S2.229.
    #[error("`{entity}` has ended ({status}): it takes no event")]
    InstanceNotActive {
        /// The entity.
        entity: EntityId,
        /// How it ended.
        status: &'static str,
    },
    /// S2.220, R15.
    #[error("{path}: {problem}; ?tree=true shows what is active")]
    TargetNotActive {
        /// The step of the path in the request.
        path: String,
        /// Why it leads nowhere now.
        problem: String,
    },
    /// S2.217.
    #[error(
        "{path}: `{state}` of region `{region}` is no managed compound state of machine `{machine}`; expected {expected}"
    )]
    NoManagedState {
        /// The step of the path in the request.
        path: String,
        /// The state that it names.
        state: String,
        /// The region that it names.
        region: String,
        /// The machine that it would be of.
        machine: MachineId,
        /// What would be right.
        expected: String,
    },
    /// S2.171, S2.179.
    #[error(
        "there is no machine `{machine}`, of which state `{state}` of machine `{parent}` has its child; register it first"
    )]
    MissingMachine {
        /// The child's machine.
        machine: MachineId,
        /// The compound state.
        state: Arc<str>,
        /// The parent's machine.
        parent: MachineId,
    },
    /// S2.180, R8.
    #[error(
        "the child of state `{state}` of machine `{parent}` cannot be made: {problem}; expected {expected}"
    )]
    UnfitChild {
        /// The compound state.
        state: Arc<str>,
        /// The parent's machine.
        parent: MachineId,
        /// What does not fit.
        problem: String,
        /// What would be right.
        expected: String,
    },
    /// S2.177.
    #[error(
        "state `{state}` would make `{entity}` of machine `{machine}`, which exists; where the state is entered again, \
         `reentry` says what becomes of the earlier child"
    )]
    InstanceConflict {
        /// The compound state.
        state: Arc<str>,
        /// The child's machine.
        machine: MachineId,
        /// The child.
        entity: EntityId,
        /// Whether the child would be a managed one.
        managed: bool,
    },
    /// S2.181.
    #[error(
        "state `{state}` would make a child too deep: managed children go down to level {DEEPEST_LEVEL}, and no id is longer \
         than {MAX_CHILD_ID_BYTES} bytes"
    )]
    NestingDepthExceeded {
        /// The compound state.
        state: Arc<str>,
    },
    /// M7.
    #[error(
        "a commit and a tree have at most {MOST_ENTITIES} entities, and a tree at most {MOST_REGIONS} regions; this would \
         have more"
    )]
    CascadeLimit,
    /// S2.166.
    #[error(
        "the legacy child `{child}` of state `{state}` is final, and no history row of it made it so since `{state}` was \
         entered; move the parent by a transition of its own"
    )]
    UncorrelatedChildFinal {
        /// The child.
        child: EntityId,
        /// The compound state.
        state: Arc<str>,
    },
    /// R6.
    #[error("the event type `{event_type}` is reserved: only the engine makes events that start with `$`")]
    ReservedEventType {
        /// The event type.
        event_type: Arc<str>,
    },
}

impl Refusal {
    /// Its code.
    pub fn code(&self) -> Code {
        match self {
            Self::EventIdentityConflict { .. } => Code::EventIdentityConflict,
            Self::VersionConflict { .. } => Code::VersionConflict,
            Self::JoinCascadeLimit { .. } => Code::JoinCascadeLimit,
            Self::ReservedEventType { .. } | Self::NoManagedState { .. } | Self::UnfitChild { .. } => {
                Code::BadRequest
            }
            Self::InstanceNotActive { .. } => Code::InstanceNotActive,
            Self::TargetNotActive { .. } => Code::TargetNotActive,
            Self::MissingMachine { .. } => Code::NotFound,
            Self::InstanceConflict { .. } => Code::InstanceConflict,
            Self::NestingDepthExceeded { .. } => Code::NestingDepthExceeded,
            Self::CascadeLimit => Code::CascadeLimit,
            Self::UncorrelatedChildFinal { .. } => Code::UncorrelatedChildFinal,
        }
    }
}

//! What a step decided, as data.

use std::sync::Arc;

use serde_json::{Value, json};
use smallvec::SmallVec;

use crate::code::Code;
use crate::definition::Action;
use crate::entity::{Configuration, EntityIx, Params};
use crate::identity::IdentityKey;
use crate::ids::{Millis, Seq, Version};
use crate::machine::{RegionIx, StateIx, TransitionIx};

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
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The entity that the event or the timeout applied to.
    pub target: EntityIx,
    /// The target's configuration before.
    pub previous: Configuration,
    /// Every entity it writes, each once, with the version that this makes (I2).
    pub writes: SmallVec<[(EntityIx, Version); 1]>,
    /// The history rows, in order (R2).
    pub rows: Rows,
    /// The transitions that the event took: one, or one a region in a broadcast (M16).
    pub transitions: SmallVec<[TransitionIx; 1]>,
    /// Whether the target's context changed.
    pub context_changed: bool,
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
}

impl Commit {
    /// About how many bytes its rows have, with `params_bytes` in each that an event made. A broadcast repeats the
    /// params in each of its rows, and a state can call for thousands of actions.
    pub fn bytes(&self, params_bytes: usize) -> usize {
        let rows = self.rows.iter().map(|row| {
            let params = match &row.cause {
                Cause::Event { .. } => params_bytes,
                Cause::Timeout { .. } | Cause::Join { .. } => 0,
            };
            let actions = row.actions.iter().map(|action| match &**action {
                Action::Webhook { url: text, .. } | Action::Event { event_type: text, .. } => text.len(),
            });
            let actions = actions.fold(0, |bytes: usize, text| {
                bytes.saturating_add(text).saturating_add(100)
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
        }
    }

    /// Its `event_params`; engine rows have none.
    pub fn event_params(&self) -> Option<&Params> {
        match &self.cause {
            Cause::Event { params, .. } => Some(params),
            Cause::Timeout { .. } | Cause::Join { .. } => None,
        }
    }
}

impl Cause {
    /// The `cause` of a history row as JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Event { .. } => json!({"via": "event"}),
            Self::Timeout { due } => json!({"via": "timeout", "due_at": due}),
            Self::Join { index, by } => json!({"via": "join", "join": index, "by": by}),
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
            Self::ReservedEventType { .. } => Code::BadRequest,
        }
    }
}

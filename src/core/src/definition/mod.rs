//! A machine's definition as a document: what a user writes, typed, and written back without loss.

mod action;
mod read;
pub(crate) mod shape;
mod validate;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::action::{Action, HeaderValue, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TEMPLATE_BYTES, Method};
use crate::contract::Contract;
use crate::error::Error;
use crate::fault::{Fault, Warning};
use crate::request::json_bytes;

/// Most bytes of a definition's JSON text.
pub const MAX_DEFINITION_BYTES: usize = 256 * 1024;
/// How deep `all` and `any` may nest in a guard.
pub const MAX_GUARD_DEPTH: usize = 32;
/// The event type of timeouts.
pub const TIMEOUT_EVENT: &str = "$timeout";
/// The only region of a flat machine (S2.24).
pub const FLAT_REGION: &str = "_";
/// Keys that the service adds to a definition it returns; a definition that brings them back is taken without them.
pub const SERVER_KEYS: [&str; 6] = [
    "tenant_id",
    "revision",
    "content_hash",
    "created_at",
    "updated_at",
    "warnings",
];

/// A machine's definition (S2.34, S2.35): flat with `states` and `initial_state`, or parallel with `regions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields, transform = crate::schema::definition))]
pub struct Definition {
    /// The machine's name within its tenant: 1 to 128 bytes without control characters.
    pub machine_id: String,
    /// The rules it runs by; `statewright.v1` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::ContractName>"))]
    pub contract: Option<String>,
    /// A label for this revision, such as a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the machine is for, in words. No meaning to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Anything its owner wants kept with it. No meaning to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// The states of a flat machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<String>>,
    /// The state in which a flat machine's entities start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_state: Option<String>,
    /// The regions of a parallel machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regions: Option<Vec<RegionDef>>,
    /// The transitions; their order breaks ties (S2.27).
    pub transitions: Vec<TransitionDef>,
    /// The joins of a parallel machine, checked in this order (S2.77).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joins: Option<Vec<JoinDef>>,
    /// What is done on entering a state (S2.110).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<ActionDef>>,
    /// The child machines of a flat machine's states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_machines: Option<BTreeMap<String, SubMachineDef>>,
    /// Event types that every region may take, each by its first match, in one commit (M16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<Vec<String>>,
    /// Keys without a meaning, kept as they came (only in `statemachine-e1e4.v1`).
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// A region of a parallel machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct RegionDef {
    /// Its name, matched literally everywhere (S2.38).
    pub id: String,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its states.
    pub states: Vec<String>,
    /// The state in which it starts.
    pub initial_state: String,
    /// The child machines of its states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_machines: Option<BTreeMap<String, SubMachineDef>>,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// A transition: in state `from`, on event `on`, if the guard passes, to state `to`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields, transform = crate::schema::transition))]
pub struct TransitionDef {
    /// The region it moves; every transition of a parallel machine names one (S2.36).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The state it leaves.
    pub from: String,
    /// The state it enters.
    pub to: String,
    /// The event type, or `$timeout`.
    pub on: String,
    /// The condition; none is always true (S2.56).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::AnyGuard>"))]
    pub guard: Option<Value>,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// A guard in the form that `statewright.v1` takes (S2.57).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum GuardDef {
    /// A comparison.
    Comparison {
        /// The param, or else the context field, that is compared (S2.65).
        field: String,
        /// The comparison.
        op: GuardOp,
        /// What the field is compared with.
        value: Value,
    },
    /// True when every member is (S2.63).
    All {
        /// The members.
        all: Vec<GuardDef>,
    },
    /// True when a member is (S2.64).
    Any {
        /// The members.
        any: Vec<GuardDef>,
    },
}

/// The guard of a `$timeout` in the form that `statewright.v1` takes: one delay, and conditions beside it (M6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::timeout_guard))]
#[serde(deny_unknown_fields)]
pub struct TimeoutGuardDef {
    /// How many seconds after its state's entry it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<NonZeroU64>,
    /// How many milliseconds after its state's entry it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<NonZeroU64>,
    /// The context field that is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<GuardOp>,
    /// What the field is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// True when every member is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<GuardDef>>,
    /// True when a member is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<GuardDef>>,
}

/// The comparisons of a guard (S2.58 to S2.61).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GuardOp {
    /// Equal.
    Eq,
    /// Not equal.
    Neq,
    /// Another name of `neq`.
    Ne,
    /// Greater, as numbers.
    Gt,
    /// Greater or equal, as numbers.
    Gte,
    /// Less, as numbers.
    Lt,
    /// Less or equal, as numbers.
    Lte,
    /// Contains, as text.
    Contains,
}

impl GuardOp {
    /// The names of all operators.
    pub const NAMES: [&'static str; 8] = ["eq", "neq", "ne", "gt", "gte", "lt", "lte", "contains"];

    /// The operator of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "eq" => Self::Eq,
            "neq" => Self::Neq,
            "ne" => Self::Ne,
            "gt" => Self::Gt,
            "gte" => Self::Gte,
            "lt" => Self::Lt,
            "lte" => Self::Lte,
            "contains" => Self::Contains,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Neq => "neq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::Contains => "contains",
        }
    }
}

/// A join: when all its conditions hold after a write, its target region moves in the same commit (S2.77).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct JoinDef {
    /// Region and state, for each region that must be in a certain state.
    pub when: BTreeMap<String, String>,
    /// The region that it moves.
    pub target_region: String,
    /// The state that it enters.
    pub target_state: String,
    /// What makes it fire: its `when` becoming true (`edge`, the default) or being true (`level`) (M3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<JoinTrigger>,
    /// What is done when it fires (S2.86).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<JoinAction>>,
    /// What it is for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// An action of a join: alone, or as a state's action is written. It is done when the join fires, whatever state it
/// names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum JoinAction {
    /// The action alone.
    Bare(Action),
    /// In the form of a state's action.
    Entered(ActionDef),
}

impl JoinAction {
    /// What is done.
    pub fn action(&self) -> &Action {
        match self {
            Self::Bare(action) => action,
            Self::Entered(def) => &def.action,
        }
    }
}

impl Default for JoinAction {
    fn default() -> Self {
        Self::Bare(Action::default())
    }
}

/// What makes a join fire (M3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum JoinTrigger {
    /// Its `when` becoming true.
    Edge,
    /// Its `when` being true.
    Level,
}

/// An action and the state whose entry calls for it (S2.110).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct ActionDef {
    /// The state whose entry calls for it, self-transitions included (S2.111).
    pub on_enter: String,
    /// The region of that state; without it, any region's (S2.112).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// What is done.
    pub action: Action,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// The child machine of a compound state (S2.156, S2.173).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct SubMachineDef {
    /// The child's machine.
    pub machine_id: String,
    /// The child's final states, and the parent's state that each leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_final: Option<BTreeMap<String, String>>,
    /// `managed`, or left out for a legacy child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// When a managed child is complete; the first rule that holds decides (S2.186).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_when: Option<Vec<CompletionRule>>,
    /// What entering the state again does (M9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reentry: Option<Reentry>,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// How a child lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Started, completed and cancelled with its parent's state.
    Managed,
}

/// What entering a managed compound state again does (M9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reentry {
    /// It is refused.
    Refuse,
    /// A new child is started.
    Fresh,
    /// The cancelled child wakes where it was.
    Resume,
}

/// A rule that says when a managed child is complete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct CompletionRule {
    /// The state each of the child's regions must be in.
    pub when: BTreeMap<String, String>,
    /// The state the parent moves to.
    pub target: String,
    /// Keys without a meaning, kept as they came.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extra: Map<String, Value>,
}

/// A definition that was read and found without fault, with its warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Valid {
    /// The definition.
    pub definition: Definition,
    /// The contract that it runs by.
    pub contract: Contract,
    /// What deserves a second look.
    pub warnings: Vec<Warning>,
}

impl Definition {
    /// Reads a definition and checks all of it (S2.36 to S2.49, R6). Server keys are left out first.
    ///
    /// # Errors
    /// Every fault at once, in the order of the document, each with its JSON path.
    pub fn read(document: &Value) -> Result<Valid, Vec<Fault>> {
        read::definition(document)
    }

    /// Reads a definition as it is registered: its own keys, without [`SERVER_KEYS`], and what they define.
    ///
    /// # Errors
    /// It has more than [`MAX_DEFINITION_BYTES`], or faults.
    pub fn own(mut document: Value) -> Result<(Map<String, Value>, Valid), Error> {
        if let Value::Object(own) = &mut document {
            own.retain(|key, _| !SERVER_KEYS.contains(&key.as_str()));
        }
        check_size(&document)?;
        let valid = Self::read(&document).map_err(Error::InvalidDefinition)?;
        match document {
            Value::Object(own) => Ok((own, valid)),
            // A definition is an object, or has faults.
            _ => Err(Error::InvalidDefinition(Vec::new())),
        }
    }

    /// Whether it has regions of its own.
    pub fn is_parallel(&self) -> bool {
        self.regions.as_ref().is_some_and(|regions| !regions.is_empty())
    }
}

/// Whether a definition is as large as one may be, without the keys that a service adds.
pub(crate) fn check_size(document: &Value) -> Result<(), Error> {
    let bytes = match document {
        Value::Object(object) => {
            let own = object
                .iter()
                .filter(|(key, _)| !SERVER_KEYS.contains(&key.as_str()));
            // With the quotes, the colon and the comma.
            own.fold(1, |bytes: usize, (key, value)| {
                let own = json_bytes(key)
                    .saturating_add(json_bytes(value))
                    .saturating_add(2);
                bytes.saturating_add(own)
            })
        }
        other => json_bytes(other),
    };
    if bytes > MAX_DEFINITION_BYTES {
        return Err(Error::TooLarge {
            what: "the definition",
            bytes,
            most: MAX_DEFINITION_BYTES,
        });
    }
    Ok(())
}

//! The parts of larger shapes: faults, entries, actions, joins, the clauses of guards, the scanner's report. They stand beside
//! those of [`super::schemas`], and describe as those do.
#![allow(dead_code, reason = "these types describe; none is ever made")]
#![allow(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

use super::schemas::Anything;

/// A fault of a definition.
#[derive(ToSchema)]
#[schema(example = json!({
    "path": "$.initial_state",
    "problem": "`opne` is no state of this machine",
    "expected": "one of `open`, `shut` (did you mean `open`?)"
}))]
pub(crate) struct Fault {
    /// Its JSON path.
    path: String,
    problem: String,
    /// What would be right.
    expected: String,
}

/// What of a definition deserves a second look.
#[derive(ToSchema)]
pub(crate) struct Warning {
    kind: WarningKind,
    /// The JSON path that it is about.
    path: String,
    message: String,
}

/// What a warning is about.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum WarningKind {
    /// No path of transitions and joins leads to the state.
    UnreachableState,
    /// An earlier unguarded transition always takes the event.
    ShadowedTransition,
    /// The join can never fire.
    ImpossibleJoin,
    /// The join can undo a later transition.
    UnstableJoin,
    /// A broadcast is named that no transition handles.
    UnhandledEvent,
    /// None of the state's transitions leads out of it.
    DeadEnd,
    /// A managed child can come to an end at which nothing completes it.
    UncoveredCompletion,
    /// A managed compound state can be entered again, which its child of the first visit refuses.
    RefusedReentry,
    /// The guard can never hold.
    ImpossibleGuard,
    /// A template takes from a place where no effect has anything.
    UnknownPlace,
    /// A guard is malformed and so always passes; in `statemachine-e1e4.v1` alone.
    MalformedGuard,
    /// A key has no meaning and is ignored; in `statemachine-e1e4.v1` alone.
    IgnoredKey,
}

/// Live entities that a new revision has no place for.
#[derive(ToSchema)]
pub(crate) struct LiveState {
    region: String,
    /// Null for a region that the new revision adds.
    #[schema(required)]
    state: Option<String>,
    /// How many, counted up to 1,000.
    entities: u64,
}

/// A revision of a machine.
#[derive(ToSchema)]
pub(crate) struct Revision {
    revision: u64,
    #[schema(nullable = false)]
    label: Option<String>,
    /// Equal hashes, equal definitions.
    content_hash: String,
    /// The revision whose entities it took over.
    #[schema(nullable = false)]
    supersedes: Option<u64>,
    /// The revision that entities made on this one run by now.
    effective: u64,
    /// Whether new entities start on it.
    head: bool,
    created_at: i64,
    definition: BTreeMap<String, Value>,
}

/// The current entry of a region.
#[derive(ToSchema)]
pub(crate) struct RegionEntry {
    state: String,
    /// Its number among the entity's entries.
    seq: u64,
    entered_at: i64,
    /// Always `exact`.
    basis: String,
    /// The history row that made it; null at creation.
    #[schema(required)]
    row: Option<u64>,
    /// The identity of that row; null at creation.
    #[schema(required)]
    key: Option<String>,
    /// When its timeout is due, where it has one.
    #[schema(nullable = false)]
    due_at: Option<i64>,
    /// Why its timeout is parked, where it is.
    #[schema(nullable = false)]
    parked: Option<String>,
}

/// An action that was called for.
#[derive(ToSchema)]
#[serde(tag = "action_type", rename_all = "lowercase")]
pub(crate) enum Action {
    /// An HTTP request.
    Webhook {
        url: String,
        /// The state whose entry calls for it.
        state: String,
        /// The region of that state, in a parallel machine.
        #[schema(nullable = false)]
        region: Option<String>,
        /// The entity that entered it, where it is another than the answer's.
        #[schema(nullable = false)]
        entity_id: Option<String>,
    },
    /// An event to the operator's collector.
    Event {
        event_type: String,
        /// The state whose entry calls for it.
        state: String,
        /// The region of that state, in a parallel machine.
        #[schema(nullable = false)]
        region: Option<String>,
        /// The entity that entered it, where it is another than the answer's.
        #[schema(nullable = false)]
        entity_id: Option<String>,
    },
    /// An event to another entity.
    Transition {
        machine_id: String,
        /// The entity that it is sent to, as the definition writes it.
        target: String,
        event_type: String,
        /// The state whose entry calls for it.
        state: String,
        /// The region of that state, in a parallel machine.
        #[schema(nullable = false)]
        region: Option<String>,
        /// The entity that entered it, where it is another than the answer's.
        #[schema(nullable = false)]
        entity_id: Option<String>,
    },
}

/// A join that fired.
#[derive(ToSchema)]
pub(crate) struct FiredJoin {
    target_region: String,
    from_state: String,
    target_state: String,
    /// The entity whose join it is, where it is another than the answer's.
    #[schema(nullable = false)]
    entity_id: Option<String>,
}

/// One of a broadcast's transitions.
#[derive(ToSchema)]
pub(crate) struct RegionTransition {
    region: String,
    from_state: String,
    to_state: String,
    /// Its label.
    transition: String,
}

/// A transition on an event, and whether it is taken.
#[derive(ToSchema)]
pub(crate) struct Candidate {
    /// Its place in the definition.
    index: u64,
    /// The region that it moves, in a parallel machine.
    #[schema(nullable = false)]
    region: Option<String>,
    from: String,
    to: String,
    label: String,
    /// Whether its region is in `from`.
    state_matches: bool,
    /// Whether its guard holds.
    passes: bool,
    /// Whether the event takes it.
    taken: bool,
    /// The clauses that make its guard fail.
    clauses: Vec<Clause>,
}

/// A clause that makes a guard fail.
#[derive(ToSchema)]
pub(crate) struct Clause {
    /// Where it stands, such as `guard.all[0]`.
    path: String,
    #[schema(nullable = false)]
    field: Option<String>,
    #[schema(nullable = false)]
    op: Option<GuardOperator>,
    #[schema(required = false)]
    expected: Anything,
    /// What was found; a large value is not shown in full.
    #[schema(required = false)]
    seen: Anything,
    #[schema(nullable = false)]
    source: Option<ValueSource>,
    /// Why it fails, where the values alone do not say it.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// A comparison of a guard.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum GuardOperator {
    Eq,
    Neq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
}

/// Where a guard found a value.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ValueSource {
    /// In the event's params.
    Param,
    /// In the entity's context.
    Context,
    /// Nowhere.
    Absent,
}

/// A join that waits.
#[derive(ToSchema)]
pub(crate) struct WaitingJoin {
    /// Its place in the definition.
    index: u64,
    target_region: String,
    target_state: String,
    /// The regions that are not in the state it waits for; none where it fired before, and its target moved on.
    missing: Vec<MissingState>,
}

/// A region that is not in the state that a join waits for.
#[derive(ToSchema)]
pub(crate) struct MissingState {
    region: String,
    /// The state that is waited for.
    state: String,
    /// The state that it is in.
    current: String,
}

/// A timeout to come.
#[derive(ToSchema)]
pub(crate) struct NextTimeout {
    at: i64,
    region: String,
    from: String,
    to: String,
}

/// What caused a history row.
#[derive(ToSchema)]
pub(crate) struct Cause {
    /// `event`, `timeout`, `join`, `managed`, `legacy`, `cancel` or `resume`.
    via: String,
    /// Of a timeout: when it was due.
    #[schema(nullable = false)]
    due_at: Option<i64>,
    /// Of a join: its place in the definition.
    #[schema(nullable = false)]
    join: Option<u64>,
    /// Of a join, a cancellation and a resumption: the identity of the row that set it off.
    by: Option<String>,
    /// Of a completion: the child that came to its end.
    #[schema(nullable = false)]
    child: Option<ChildName>,
    /// Of a completion: the identity of the child's row; null where it was at its end from the start.
    key: Option<String>,
    /// What else is told of it.
    #[schema(additional_properties)]
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// A child.
#[derive(ToSchema)]
pub(crate) struct ChildName {
    machine_id: String,
    entity_id: String,
}

/// The scanner's last pass, and the timers of a tenant that are late or in trouble.
#[derive(ToSchema)]
pub(crate) struct Scheduler {
    /// The service's last pass; null before the first.
    #[schema(required)]
    last_pass: Option<Pass>,
    overdue: Vec<Overdue>,
    parked: Vec<ParkedTimer>,
    failing: Vec<FailingTimer>,
}

/// A pass of the scanner.
#[derive(ToSchema)]
pub(crate) struct Pass {
    at: i64,
    /// How many due timers it read.
    scanned: u64,
    /// How many entities these belong to.
    due: u64,
    /// How many timeouts it applied.
    fired: u64,
    /// How many entities had changed meanwhile, and are left to the next pass.
    stale: u64,
    /// How many timers it parked.
    parked: u64,
    /// How many entities failed, and are tried again later.
    failed: u64,
    /// How many entities had their due times worked out anew.
    rearmed: u64,
    /// How late the oldest timer was, in milliseconds.
    lag_ms: i64,
    /// Whether more is due than one pass takes.
    more: bool,
}

/// How many timers are late by so much.
#[derive(ToSchema)]
pub(crate) struct Overdue {
    from_ms: i64,
    /// Null for no bound.
    #[schema(required)]
    to_ms: Option<i64>,
    /// How many, counted up to 10,000.
    timers: u64,
}

/// A timer whose commit is refused: it waits for a new revision, or to be released.
#[derive(ToSchema)]
pub(crate) struct ParkedTimer {
    machine_id: String,
    entity_id: String,
    region: String,
    #[schema(required)]
    due_at: Option<i64>,
    error: String,
}

/// A timer of an entity that fails.
#[derive(ToSchema)]
pub(crate) struct FailingTimer {
    machine_id: String,
    entity_id: String,
    region: String,
    #[schema(required)]
    due_at: Option<i64>,
    failures: u64,
    #[schema(required)]
    error: Option<String>,
    #[schema(required)]
    next_try_at: Option<i64>,
}

//! The shapes of requests and answers as the document tells them. They are written out here because the core and
//! the engine know nothing of `OpenAPI`; the tests hold every answer of the service against them.
#![allow(dead_code, reason = "these types describe; none is ever made")]
#![allow(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeMap;

use serde_json::Value;
use statewright_core::code::Code;
use utoipa::{
    IntoParams, IntoResponses, ToSchema,
    openapi::schema::{Object, ObjectBuilder, Type},
};

use super::{
    effects::Record,
    parts::{
        Action, Candidate, Cause, Fault, FiredJoin, LiveState, NextTimeout, RegionEntry, RegionTransition,
        WaitingJoin, Warning,
    },
};

/// Any JSON value.
#[derive(ToSchema)]
#[schema(value_type = Value)]
pub(crate) struct Anything(Value);

/// A JSON object.
#[derive(ToSchema)]
pub(crate) struct AnyObject(BTreeMap<String, Value>);

/// The tenant that a request is of.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct TenantHeader {
    /// The tenant: 1 to 128 bytes without control characters.
    #[param(rename = "X-Tenant-Id", min_length = 1, max_length = 128)]
    tenant: String,
}

/// The tenant, which the params of an event may name instead.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct OptionalTenantHeader {
    /// The tenant. Without it, the event's `params.key_prefix` names it.
    #[param(rename = "X-Tenant-Id", min_length = 1, max_length = 128)]
    tenant: Option<String>,
}

/// The tenant whose machines a definition may name as children.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct CheckingTenantHeader {
    /// The tenant. Without it, the definition is checked alone.
    #[param(rename = "X-Tenant-Id", min_length = 1, max_length = 128)]
    tenant: Option<String>,
}

/// A machine in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct MachinePath {
    /// The machine: 1 to 128 bytes without control characters.
    #[param(min_length = 1, max_length = 128, example = "order")]
    machine_id: String,
}

/// An entity in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct EntityPath {
    /// The entity: 1 to 256 bytes without control characters; a child's id, `{parent}::sub::{state}`, up to 2,048.
    #[param(min_length = 1, max_length = 2048, example = "o-1")]
    entity_id: String,
}

/// Whether the service answers.
#[derive(ToSchema)]
pub(crate) struct Health {
    #[schema(example = "ok")]
    status: String,
    version: String,
    #[schema(example = "state-machine")]
    service: String,
}

/// An error.
#[derive(ToSchema)]
pub(crate) struct Problem {
    error: ProblemDetail,
}

/// Every code of an error.
fn code() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("Names are stable."))
        .enum_values(Some(Code::ALL.iter().map(|code| code.name())))
        .build()
}

/// What went wrong. Some codes add fields of their own.
#[derive(ToSchema)]
pub(crate) struct ProblemDetail {
    #[schema(schema_with = code)]
    code: String,
    /// What was wrong, where, and what would be right.
    message: String,
    /// Whether the same request can succeed later.
    retry: bool,
    /// The JSON path, the header or the parameter that is wrong.
    #[schema(nullable = false)]
    path: Option<String>,
    /// All faults of a definition.
    #[schema(nullable = false)]
    faults: Option<Vec<Fault>>,
    /// Of `LIVE_STATES`: the entities that the new revision has no place for.
    #[schema(nullable = false)]
    live: Option<Vec<LiveState>>,
    /// Of `VERSION_CONFLICT`: the version that was asked for.
    #[schema(nullable = false)]
    expected: Option<u64>,
    /// Of `VERSION_CONFLICT`: the version that the entity has; null where it does not exist.
    actual: Option<u64>,
    /// Of `STATE_CONFLICT`: why.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Of `STATE_EXISTS` and `STATE_CONFLICT`: the state record that is there.
    #[schema(nullable = false)]
    current: Option<Record>,
}

/// What a request that only reads can be refused with.
#[derive(IntoResponses)]
pub(crate) enum ReadErrors {
    /// The request is wrong.
    #[response(status = 400)]
    BadRequest(Problem),
    /// The key is missing or wrong.
    #[response(status = 401)]
    Unauthorized(Problem),
    /// The machine or the entity is unknown.
    #[response(status = 404)]
    NotFound(Problem),
    /// Due timers of the entity could not be reckoned for a conflict.
    #[response(status = 409)]
    Conflict(Problem),
    /// The service failed.
    #[response(status = 500)]
    Failed(Problem),
    /// The service cannot answer now.
    #[response(status = 503)]
    Unavailable(Problem),
}

/// What a request that writes can be refused with.
#[derive(IntoResponses)]
pub(crate) enum WriteErrors {
    /// The request is wrong.
    #[response(status = 400)]
    BadRequest(Problem),
    /// The key is missing or wrong.
    #[response(status = 401)]
    Unauthorized(Problem),
    /// The machine or the entity is unknown.
    #[response(status = 404)]
    NotFound(Problem),
    /// What the request asks for does not go with what is.
    #[response(status = 409)]
    Conflict(Problem),
    /// A bound is exceeded, which the message names.
    #[response(status = 413)]
    TooLarge(Problem),
    /// The body is declared as something else than JSON.
    #[response(status = 415)]
    NotJson(Problem),
    /// The service failed; nothing was written that was not answered for.
    #[response(status = 500)]
    Failed(Problem),
    /// The service cannot answer now.
    #[response(status = 503)]
    Unavailable(Problem),
}

/// What becomes of live entities with a new revision.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum InFlight {
    /// They move to it.
    Follow,
    /// They stay on theirs.
    Pin,
}

/// A language for diagrams.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum DiagramFormat {
    /// Mermaid's `stateDiagram-v2`.
    Mermaid,
    /// Graphviz.
    Dot,
}

/// An order of history rows.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum HistoryOrder {
    /// By the events' timestamps, then by id.
    Timestamp,
    /// The same the other way round.
    Newest,
    /// In the order of the commits.
    Id,
}

/// A machine's definition; docs/machine.schema.json has all of it.
#[derive(ToSchema)]
#[schema(example = json!({
    "machine_id": "order",
    "states": ["pending", "paid", "shipped"],
    "initial_state": "pending",
    "transitions": [
        { "from": "pending", "to": "paid", "on": "pay", "guard": { "field": "amount", "op": "gt", "value": 0 } },
        { "from": "paid", "to": "shipped", "on": "ship" }
    ]
}))]
pub(crate) struct Definition {
    /// Its id; in a PUT the path has it.
    #[schema(nullable = false)]
    machine_id: Option<String>,
    /// `statewright.v1`, the default, or `statemachine-e1e4.v1`.
    #[schema(nullable = false)]
    contract: Option<String>,
    /// States of a flat machine.
    #[schema(nullable = false)]
    states: Option<Vec<Anything>>,
    /// Where an entity of a flat machine starts.
    #[schema(nullable = false)]
    initial_state: Option<String>,
    /// Transitions of a flat machine.
    #[schema(nullable = false)]
    transitions: Option<Vec<AnyObject>>,
    /// Regions of a parallel machine.
    #[schema(nullable = false)]
    regions: Option<Vec<AnyObject>>,
    /// Joins between the regions.
    #[schema(nullable = false)]
    joins: Option<Vec<AnyObject>>,
    /// Actions on entering states.
    #[schema(nullable = false)]
    on_enter: Option<AnyObject>,
    /// Child machines of a flat machine's states; on a parallel machine each region has its own.
    #[schema(nullable = false)]
    sub_machines: Option<BTreeMap<String, SubMachine>>,
    /// What else a definition holds.
    #[schema(additional_properties)]
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// The child machine of a state.
#[derive(ToSchema)]
pub(crate) struct SubMachine {
    /// The child's machine.
    machine_id: String,
    /// `managed`; left out, the child is a legacy one, to which events are forwarded.
    #[schema(nullable = false)]
    lifecycle: Option<String>,
    /// Where the parent goes when the flat child is in a state.
    #[schema(nullable = false)]
    on_final: Option<BTreeMap<String, String>>,
    /// Where the parent goes when the managed child's regions are where a rule says.
    #[schema(nullable = false)]
    complete_when: Option<Vec<AnyObject>>,
    /// What comes of entering the state again: `refuse`, the default, `fresh` or `resume`.
    #[schema(nullable = false)]
    reentry: Option<String>,
}

/// What a check of a definition found.
#[derive(ToSchema)]
pub(crate) struct Validation {
    /// Whether it would be registered.
    valid: bool,
    /// Every fault: where, what is wrong, and what would be right.
    faults: Vec<Fault>,
    /// What is allowed and may not be meant.
    warnings: Vec<Warning>,
}

/// How many entities are in a state of a region.
#[derive(ToSchema)]
pub(crate) struct Count {
    /// The region; `_` in a flat machine.
    region: String,
    state: String,
    entities: u64,
}

/// A machine: its definition as it was given, and what the service adds.
#[derive(ToSchema)]
pub(crate) struct Machine {
    machine_id: String,
    tenant_id: String,
    revision: u64,
    content_hash: String,
    created_at: i64,
    updated_at: i64,
    /// What deserves a second look, if anything; in the answers to POST and PUT alone.
    #[schema(nullable = false)]
    warnings: Option<Vec<Warning>>,
    #[serde(flatten)]
    definition: BTreeMap<String, Value>,
}

/// An entity to be made.
#[derive(ToSchema)]
pub(crate) struct NewEntity {
    #[schema(min_length = 1, max_length = 256)]
    entity_id: String,
    /// What its guards can read from the start.
    #[schema(nullable = false)]
    context: Option<AnyObject>,
}

/// An entity.
#[derive(ToSchema)]
pub(crate) struct Entity {
    machine_id: String,
    tenant_id: String,
    entity_id: String,
    /// A state, or a map from region to state.
    current_state: StateOrRegions,
    context: BTreeMap<String, Value>,
    state_version: u64,
    revision: u64,
    created_at: i64,
    updated_at: i64,
    /// The current entry of each region: its state, sequence number, time and cause.
    region_entries: BTreeMap<String, RegionEntry>,
    /// Its place in its tree, where it is a managed child.
    #[schema(nullable = false)]
    instance: Option<Instance>,
    /// With `tree=true`, of each child: the entry of its parent that it belongs to.
    #[schema(nullable = false)]
    parent: Option<ParentEntry>,
    /// With `tree=true`: its children, live and ended, managed and legacy, in the order of their starts.
    #[schema(nullable = false, no_recursion)]
    children: Option<Vec<Self>>,
}

/// The place of a managed child in its tree.
#[derive(ToSchema)]
pub(crate) struct Instance {
    status: Status,
    /// Its level; a root is at 0.
    depth: u32,
    /// Its managed ancestors, the root first, each with the entry that leads on to it.
    path: Vec<Owner>,
    started: i64,
    /// Where it has ended.
    #[schema(nullable = false)]
    ended: Option<i64>,
}

/// Whether a child takes part in its tree.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It lives.
    Active,
    /// Its completion moved its parent on.
    Completed,
    /// Its parent left its state, or ended.
    Cancelled,
}

/// An entity, and the entry of a compound state that a child of it belongs to.
#[derive(ToSchema)]
pub(crate) struct Owner {
    machine_id: String,
    entity_id: String,
    /// The region of the compound state; `_` in a flat machine.
    region: String,
    state: String,
    seq: u64,
}

/// The entry of a parent's compound state that a child belongs to.
#[derive(ToSchema)]
pub(crate) struct ParentEntry {
    /// The region of the compound state; `_` in a flat machine.
    region: String,
    state: String,
    seq: u64,
}

/// An entity in a list; or, where its rows cannot be read, its name and the error.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum ListedEntity {
    Entity(Entity),
    Corrupt(CorruptEntity),
}

/// An entity whose rows cannot be read.
#[derive(ToSchema)]
pub(crate) struct CorruptEntity {
    machine_id: String,
    tenant_id: String,
    entity_id: String,
    /// Why: what reading it by itself answers as its `error`.
    error: ProblemDetail,
}

/// What a release of timers did.
#[derive(ToSchema)]
pub(crate) struct Released {
    /// How many timers were parked.
    released: u64,
}

/// The state of a flat machine, or the states of a parallel machine by region.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum StateOrRegions {
    Flat(String),
    Parallel(BTreeMap<String, String>),
}

/// An event for an entity that its params name.
#[derive(ToSchema)]
#[schema(example = json!({ "event_type": "pay", "entity_key": "order_id", "params": { "order_id": "o-1", "amount": 42 } }))]
pub(crate) struct EvaluateRequest {
    event_type: String,
    /// The name of the param that holds the entity's id.
    entity_key: String,
    params: BTreeMap<String, Value>,
    /// When it happened (milliseconds since the epoch). With the type it is the event's identity.
    #[schema(nullable = false)]
    timestamp: Option<i64>,
    /// Whether effects are to be sent.
    #[schema(nullable = false)]
    dispatch: Option<bool>,
    /// The way to a managed child; empty for the entity itself.
    #[schema(nullable = false, max_items = 8)]
    target: Option<Vec<Step>>,
    /// Refused unless the entity has this version; 0 means that it must not exist.
    #[schema(nullable = false)]
    expected_version: Option<u64>,
    /// Answer what would happen, and write nothing.
    #[schema(nullable = false)]
    dry_run: Option<bool>,
    /// Put the explanation in the answer.
    #[schema(nullable = false)]
    explain: Option<bool>,
}

/// A step of the way to a managed child.
#[derive(ToSchema)]
pub(crate) struct Step {
    /// The region of the compound state; left out, `_`, that of a flat machine.
    #[schema(nullable = false, min_length = 1, max_length = 128)]
    region: Option<String>,
    /// The compound state.
    #[schema(min_length = 1, max_length = 128)]
    state: String,
    /// The entry instance, where it matters which.
    #[schema(nullable = false)]
    seq: Option<u64>,
}

/// An event for the entity that the path names.
#[derive(ToSchema)]
#[schema(example = json!({ "event_type": "ship", "params": {} }))]
pub(crate) struct TransitionRequest {
    event_type: String,
    #[schema(nullable = false)]
    params: Option<AnyObject>,
    /// When it happened (milliseconds since the epoch). With the type it is the event's identity.
    #[schema(nullable = false)]
    timestamp: Option<i64>,
    /// The way to a managed child; empty for the entity itself.
    #[schema(nullable = false, max_items = 8)]
    target: Option<Vec<Step>>,
    /// Refused unless the entity has this version.
    #[schema(nullable = false)]
    expected_version: Option<u64>,
    /// Answer what would happen, and write nothing.
    #[schema(nullable = false)]
    dry_run: Option<bool>,
    /// Put the explanation in the answer.
    #[schema(nullable = false)]
    explain: Option<bool>,
}

/// What an event did.
#[derive(ToSchema)]
pub(crate) struct TransitionResponse {
    entity_id: String,
    previous_state: StateOrRegions,
    current_state: StateOrRegions,
    /// `a → b`, or null where nothing moved.
    #[schema(required)]
    transition: Option<String>,
    triggered_by: String,
    timestamp: i64,
    /// The region that moved, in a parallel machine.
    #[schema(nullable = false)]
    region: Option<String>,
    /// Why nothing moved.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// The actions that were called for, in order.
    #[schema(nullable = false)]
    actions_dispatched: Option<Vec<Action>>,
    /// The joins that followed, in order.
    #[schema(nullable = false)]
    joins_fired: Option<Vec<FiredJoin>>,
    /// The legacy child that handled it.
    #[schema(nullable = false)]
    sub_machine: Option<SubMachineAnswer>,
    /// The entity that the target led to, where one was given.
    #[schema(nullable = false)]
    target: Option<Target>,
    /// What became of managed children, in the order of the commit.
    #[schema(nullable = false)]
    instances: Option<Vec<Life>>,
    /// The transitions of a broadcast.
    #[schema(nullable = false)]
    transitions: Option<Vec<RegionTransition>>,
    /// The entity's version after it.
    state_version: u64,
    /// How many due timeouts were applied before it.
    #[schema(nullable = false)]
    timeouts_fired: Option<u64>,
    /// Whether nothing was written, because only an answer was asked for.
    #[schema(nullable = false)]
    dry_run: Option<bool>,
    /// The explanation, where it was asked for.
    #[schema(nullable = false)]
    explain: Option<Explanation>,
}

/// A legacy child that handled an event.
#[derive(ToSchema)]
pub(crate) struct SubMachineAnswer {
    machine_id: String,
    entity_id: String,
    previous_state: StateOrRegions,
    current_state: StateOrRegions,
    /// `a → b`, where it moved.
    #[schema(nullable = false)]
    transition: Option<String>,
    /// Whether its completion moved its parent on.
    auto_completed: bool,
}

/// The entity that a target led to.
#[derive(ToSchema)]
pub(crate) struct Target {
    machine_id: String,
    entity_id: String,
    /// Its level; a root is at 0.
    depth: u32,
}

/// What became of a managed child.
#[derive(ToSchema)]
pub(crate) struct Life {
    kind: LifeKind,
    machine_id: String,
    entity_id: String,
    /// Its level; a root is at 0.
    depth: u32,
    parent: Owner,
    /// The history row that says so; null where none does.
    #[schema(required)]
    row: Option<u64>,
    /// The identity of that row.
    #[schema(required)]
    key: Option<String>,
    /// Where a completion led the parent.
    #[schema(nullable = false)]
    parent_to: Option<String>,
    /// The parent's history row.
    #[schema(nullable = false)]
    parent_row: Option<u64>,
    /// The identity of that row.
    #[schema(nullable = false)]
    parent_key: Option<String>,
}

/// What can become of a managed child.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum LifeKind {
    /// It was made.
    Started,
    /// It came to its end, and its parent went on.
    Completed,
    /// It was ended with its parent's state.
    Cancelled,
    /// It woke where it was cancelled.
    Resumed,
}

/// What an event would do, and why.
#[derive(ToSchema)]
pub(crate) struct Explanation {
    entity_id: String,
    machine_id: String,
    event_type: String,
    current_state: StateOrRegions,
    would: Would,
    /// The label of the transition that it would take.
    #[schema(nullable = false)]
    transition: Option<String>,
    /// Why it would be refused.
    #[schema(nullable = false)]
    refusal: Option<WouldRefuse>,
    /// Every transition on the event, with the clauses that fail and the values seen.
    candidates: Vec<Candidate>,
    /// The joins that wait, and what for.
    joins: Vec<WaitingJoin>,
    /// The next timeout of the entity.
    #[schema(nullable = false)]
    next_timeout: Option<NextTimeout>,
    /// The live entities below that would take the event, if it were for them.
    #[schema(nullable = false)]
    elsewhere: Option<Vec<Elsewhere>>,
}

/// What would come of an event.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Would {
    /// It would move the entity.
    Transition,
    /// No transition takes it.
    NoTransition,
    /// A legacy child would take it.
    Forward,
    /// It would be refused.
    Refused,
}

/// Why an event would be refused.
#[derive(ToSchema)]
pub(crate) struct WouldRefuse {
    #[schema(schema_with = code)]
    code: String,
    message: String,
}

/// An entity below that would take an event.
#[derive(ToSchema)]
pub(crate) struct Elsewhere {
    machine_id: String,
    entity_id: String,
    /// The `target` that leads there; none below a legacy child.
    #[schema(nullable = false)]
    target: Option<Vec<Step>>,
    /// Whether the event gets there without a target.
    #[schema(nullable = false)]
    forwarded: Option<bool>,
    /// The label of the transition that it would take.
    transition: String,
}

/// An event that an entity, or one below it, can take where it is.
#[derive(ToSchema)]
pub(crate) struct PossibleEvent {
    event_type: String,
    /// The region that it moves, in a parallel machine.
    #[schema(nullable = false)]
    region: Option<String>,
    from: String,
    to: String,
    /// The transition's place in the definition.
    index: u64,
    /// Whether params or context decide if it is taken.
    guarded: bool,
    label: String,
    /// The machine of the entity that takes it.
    machine_id: String,
    /// That entity.
    entity_id: String,
    /// The `target` that leads there from the entity asked; empty for itself, none below a legacy child.
    #[schema(nullable = false)]
    target: Option<Vec<Step>>,
    /// Whether it gets there without a target, from legacy child to legacy child.
    #[schema(nullable = false)]
    forwarded: Option<bool>,
}

/// Up to 1,000 events.
#[derive(ToSchema)]
pub(crate) struct BatchRequest {
    #[schema(min_items = 1, max_items = 1000)]
    events: Vec<EvaluateRequest>,
}

/// What each event of a batch did, in their order.
#[derive(ToSchema)]
pub(crate) struct BatchResponse {
    total: u64,
    succeeded: u64,
    failed: u64,
    results: Vec<BatchResult>,
}

/// What one event of a batch did.
#[derive(ToSchema)]
pub(crate) struct BatchResult {
    #[schema(nullable = false)]
    entity_id: Option<String>,
    #[schema(nullable = false)]
    result: Option<TransitionResponse>,
    /// `CODE: message`.
    #[schema(nullable = false)]
    error: Option<String>,
}

/// One step of an entity's history.
#[derive(ToSchema)]
pub(crate) struct HistoryRow {
    id: i64,
    tenant_id: String,
    machine_id: String,
    entity_id: String,
    from_state: String,
    to_state: String,
    /// The event's type, or `$join`, `$timeout`, `$sub_complete`, `$sub_cancel` or `$sub_resume`.
    event_type: String,
    event_params: BTreeMap<String, Value>,
    actions_dispatched: Vec<Action>,
    /// The region that moved; `_` in a flat machine.
    region: String,
    timestamp: i64,
    created_at: i64,
    identity_key: String,
    cause: Cause,
    revision: u64,
}

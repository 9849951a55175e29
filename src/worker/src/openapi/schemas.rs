//! The shapes of requests and answers as the document tells them. They are written out here because the core and
//! the engine know nothing of `OpenAPI`; the tests hold every answer of the service against them.
#![allow(dead_code, reason = "these types describe; none is ever made")]
#![allow(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::{IntoParams, IntoResponses, ToSchema};

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
    /// The entity: 1 to 256 bytes without control characters.
    #[param(min_length = 1, max_length = 256, example = "o-1")]
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

/// What went wrong. Some codes add fields of their own.
#[derive(ToSchema)]
pub(crate) struct ProblemDetail {
    /// A stable name, such as `NOT_FOUND`.
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
    faults: Option<Vec<AnyObject>>,
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
    /// What else a definition holds.
    #[schema(additional_properties)]
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// What a check of a definition found.
#[derive(ToSchema)]
pub(crate) struct Validation {
    /// Whether it would be registered.
    valid: bool,
    /// Every fault: where, what is wrong, and what would be right.
    faults: Vec<AnyObject>,
    /// What is allowed and may not be meant.
    warnings: Vec<AnyObject>,
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
    region_entries: BTreeMap<String, Value>,
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
    error: AnyObject,
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
    /// The way to an instance; empty for the root.
    #[schema(nullable = false)]
    target: Option<Vec<AnyObject>>,
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
    transition: Option<String>,
    triggered_by: String,
    timestamp: i64,
    /// The region that moved, in a parallel machine.
    #[schema(nullable = false)]
    region: Option<String>,
    /// Why nothing moved.
    #[schema(nullable = false)]
    reason: Option<String>,
    #[schema(nullable = false)]
    actions_dispatched: Option<Vec<Anything>>,
    #[schema(nullable = false)]
    joins_fired: Option<Vec<AnyObject>>,
    /// The entity's version after it.
    #[schema(nullable = false)]
    state_version: Option<u64>,
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
    /// The event's type, or `$join` or `$timeout`.
    event_type: String,
    event_params: BTreeMap<String, Value>,
    actions_dispatched: Vec<Anything>,
    /// The region that moved; `_` in a flat machine.
    region: String,
    timestamp: i64,
    created_at: i64,
    identity_key: String,
    cause: BTreeMap<String, Value>,
    revision: u64,
}

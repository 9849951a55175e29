//! The shapes of what goes out and of what comes in: effects, subscriptions, secrets, webhook sources, receipts and state
//! records. They stand beside those of [`super::schemas`], and describe as those do.
#![allow(dead_code, reason = "these types describe; none is ever made")]
#![allow(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::{IntoParams, IntoResponses, ToSchema};

use super::schemas::{AnyObject, Anything, Problem};

/// A secret in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SecretPath {
    /// The secret.
    #[param(
        min_length = 1,
        max_length = 64,
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        example = "webhook-signing"
    )]
    name: String,
}

/// A subscription in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SubscriptionPath {
    /// The subscription.
    #[param(
        min_length = 1,
        max_length = 64,
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        example = "shipping"
    )]
    subscription_id: String,
}

/// A webhook source in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SourcePath {
    /// The source.
    #[param(
        min_length = 1,
        max_length = 64,
        pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        example = "github"
    )]
    source_id: String,
}

/// The tenant and the webhook source of a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct HookPath {
    /// The tenant: 1 to 128 bytes without control characters.
    #[param(min_length = 1, max_length = 128, example = "demo")]
    tenant: String,
    /// The source.
    #[param(min_length = 1, max_length = 64, example = "github")]
    source_id: String,
}

/// An effect in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct OutboxPath {
    /// The effect's row.
    #[param(min_length = 1, max_length = 256)]
    outbox_id: String,
}

/// What a receipt is of.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct ReceiptPath {
    /// An Idempotency-Key, a webhook's delivery, an effect; or an event's identity, `["evt",…]`.
    #[param(min_length = 1, max_length = 4096)]
    key: String,
}

/// What a provider's request can be refused with.
#[derive(IntoResponses)]
pub(crate) enum HookErrors {
    /// The path or a header is wrong.
    #[response(status = 400)]
    BadRequest(Problem),
    /// There is no such source, it is not active, or the request is not signed with its secret.
    #[response(status = 401)]
    Unauthorized(Problem),
    /// Other writers won for too long: it is to be sent again.
    #[response(status = 409)]
    Conflict(Problem),
    /// The body has more than 1 MiB.
    #[response(status = 413)]
    TooLarge(Problem),
    /// The delivery came before with another body.
    #[response(status = 422)]
    Mismatch(Problem),
    /// The service failed: it is to be sent again.
    #[response(status = 500)]
    Failed(Problem),
    /// The service cannot take it now: it is to be sent again.
    #[response(status = 503)]
    Unavailable(Problem),
}

/// Which state record.
#[derive(ToSchema)]
#[schema(example = json!({ "machine": "wallet", "id": "w-1" }))]
pub(crate) struct RecordName {
    #[schema(min_length = 1, max_length = 128)]
    machine: String,
    #[schema(min_length = 1, max_length = 256)]
    id: String,
}

/// A state record to be made.
#[derive(ToSchema)]
#[schema(example = json!({ "machine": "wallet", "id": "w-1", "state": "open", "data": { "balance": 0 } }))]
pub(crate) struct NewRecord {
    #[schema(min_length = 1, max_length = 128)]
    machine: String,
    #[schema(min_length = 1, max_length = 256)]
    id: String,
    #[schema(min_length = 1, max_length = 128)]
    state: String,
    /// Any JSON; null where it is left out.
    #[schema(required = false)]
    data: Anything,
}

/// A move of a state record.
#[derive(ToSchema)]
#[schema(example = json!({ "machine": "wallet", "id": "w-1", "from": "open", "to": "frozen", "expected_version": 1 }))]
pub(crate) struct RecordMove {
    #[schema(min_length = 1, max_length = 128)]
    machine: String,
    #[schema(min_length = 1, max_length = 256)]
    id: String,
    /// The state that it must be in.
    #[schema(min_length = 1, max_length = 128)]
    from: String,
    /// The state that it gets.
    #[schema(min_length = 1, max_length = 128)]
    to: String,
    /// The version that it must have.
    #[schema(minimum = 1)]
    expected_version: u64,
    /// New data, null too; left out, the data stays.
    #[schema(required = false)]
    data: Anything,
}

/// A state record.
#[derive(ToSchema)]
pub(crate) struct Record {
    machine: String,
    id: String,
    state: String,
    version: u64,
    /// Any JSON.
    #[schema(required)]
    data: Anything,
    created_at: i64,
    updated_at: i64,
}

/// What a creation and a move answer.
#[derive(ToSchema)]
pub(crate) struct RecordAnswer {
    ok: bool,
    record: Record,
    /// A move's event: the same in all its presentations.
    #[schema(nullable = false)]
    event_id: Option<String>,
}

/// What a look at a state record answers.
#[derive(ToSchema)]
pub(crate) struct RecordFound {
    found: bool,
    #[schema(nullable = false)]
    record: Option<Record>,
}

/// A secret, without its values.
#[derive(ToSchema)]
pub(crate) struct Secret {
    name: String,
    /// How many values it has had.
    version: u64,
    created_at: i64,
    updated_at: i64,
    #[schema(required)]
    rotated_at: Option<i64>,
    /// Whether the value before is live as well.
    previous: bool,
}

/// A new value for a secret.
#[derive(ToSchema)]
pub(crate) struct SecretValue {
    /// The value; left out, the service makes one up.
    #[schema(nullable = false, min_length = 1, max_length = 4096)]
    value: Option<String>,
}

/// A secret that was written.
#[derive(ToSchema)]
pub(crate) struct KeptSecret {
    name: String,
    version: u64,
    created_at: i64,
    updated_at: i64,
    #[schema(required)]
    rotated_at: Option<i64>,
    previous: bool,
    /// The value that the service made up, this once; never in a replay.
    #[schema(nullable = false)]
    value: Option<String>,
}

/// What transitions a subscription tells of.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum SubscriptionSource {
    /// Those of state records.
    Records,
    /// Those of machines' entities.
    Machines,
}

/// Where transitions are presented: a signed webhook, or a Queue.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[serde(tag = "type")]
pub(crate) enum Sink {
    Webhook {
        #[schema(max_length = 2048)]
        url: String,
        /// The name of the secret that signs; `webhook-signing` where none is given.
        #[schema(nullable = false)]
        secret: Option<String>,
    },
    Queue {
        /// A Queue binding of the Worker.
        binding: String,
    },
}

/// A subscription to be made. What is left out, any transition has.
#[derive(ToSchema)]
#[schema(example = json!({ "source": "machines", "machine": "order", "to": "paid", "sink": { "type": "webhook", "url": "https://shipping.example/hook" } }))]
pub(crate) struct NewSubscription {
    source: SubscriptionSource,
    #[schema(nullable = false)]
    machine: Option<String>,
    #[schema(nullable = false)]
    from: Option<String>,
    #[schema(nullable = false)]
    to: Option<String>,
    /// The type of the event; of machines alone.
    #[schema(nullable = false)]
    event: Option<String>,
    sink: Sink,
    /// `false` holds what there is to present until it is `true` again.
    #[schema(nullable = false, default = true)]
    active: Option<bool>,
}

/// A subscription.
#[derive(ToSchema)]
pub(crate) struct Subscription {
    id: String,
    source: SubscriptionSource,
    #[schema(nullable = false)]
    machine: Option<String>,
    #[schema(nullable = false)]
    from: Option<String>,
    #[schema(nullable = false)]
    to: Option<String>,
    #[schema(nullable = false)]
    event: Option<String>,
    sink: Sink,
    active: bool,
    created_at: i64,
    updated_at: i64,
}

/// Who signs, and how.
#[derive(ToSchema)]
pub(crate) struct Scheme {
    /// `standard-webhooks`, `github`, `stripe`, `slack` or `hmac-sha256`.
    r#type: String,
    /// Of `hmac-sha256`: the header with the signature.
    #[schema(nullable = false)]
    header: Option<String>,
    /// Of `hmac-sha256`: `hex` or `base64`.
    #[schema(nullable = false)]
    encoding: Option<String>,
    /// Of `hmac-sha256`: what stands before the signature.
    #[schema(nullable = false)]
    prefix: Option<String>,
    /// Of `hmac-sha256`: the header with the time that is signed too.
    #[schema(nullable = false)]
    timestamp_header: Option<String>,
}

/// A webhook source to be registered.
#[derive(ToSchema)]
#[schema(example = json!({
    "machine": "pull-request",
    "scheme": { "type": "github" },
    "secret": "github",
    "mapping": { "entity_id": "{/repository/full_name}#{/number}", "event_type": "/action", "params": { "title": "/pull_request/title" } }
}))]
pub(crate) struct NewSource {
    /// The machine whose entities its events are for.
    machine: String,
    scheme: Scheme,
    /// The name of the secret that its requests are signed with.
    secret: String,
    /// How far the signed time may be from now, in seconds; 300 where it is left out.
    #[schema(nullable = false)]
    tolerance: Option<u64>,
    /// What its requests become; docs/webhooks.md has all of it.
    mapping: AnyObject,
    /// Whether an entity that does not exist is made.
    #[schema(nullable = false, default = true)]
    create: Option<bool>,
    /// Whether it takes requests.
    #[schema(nullable = false, default = true)]
    active: Option<bool>,
}

/// A webhook source.
#[derive(ToSchema)]
pub(crate) struct Source {
    id: String,
    machine: String,
    scheme: Scheme,
    secret: String,
    mapping: AnyObject,
    created_at: i64,
    updated_at: i64,
    counts: Counts,
    /// What else was registered.
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// How many requests of a source became what.
#[derive(ToSchema)]
pub(crate) struct Counts {
    applied: u64,
    duplicate: u64,
    no_transition: u64,
    refused: u64,
    unmapped: u64,
    bad_signature: u64,
    handshake: u64,
}

/// A request that a source might get.
#[derive(ToSchema)]
pub(crate) struct Trial {
    /// The body: JSON, or its very text.
    body: Anything,
    /// Its headers.
    #[schema(nullable = false)]
    headers: Option<BTreeMap<String, String>>,
}

/// What a request would become.
#[derive(ToSchema)]
pub(crate) struct Tried {
    /// Whether it becomes an event.
    mapped: bool,
    /// Which.
    #[schema(nullable = false)]
    event: Option<MappedEvent>,
    /// Why it becomes none.
    #[schema(nullable = false)]
    problem: Option<String>,
    /// The part of the source that is about.
    #[schema(nullable = false)]
    path: Option<String>,
    /// `valid`, `invalid` or `absent`.
    signature: String,
    /// Why its headers do not sign it.
    #[schema(nullable = false)]
    signature_problem: Option<String>,
}

/// An event that a request becomes.
#[derive(ToSchema)]
pub(crate) struct MappedEvent {
    entity_id: String,
    event_type: String,
    params: BTreeMap<String, Value>,
    /// It has one effect by this, however often it is delivered.
    identity: String,
    #[schema(nullable = false)]
    timestamp: Option<i64>,
}

/// What a provider is told.
#[derive(ToSchema)]
pub(crate) struct HookAnswer {
    /// `applied`, `duplicate`, `no_transition`, `refused`, `unmapped` or `handshake`.
    outcome: String,
    /// Why it was refused.
    #[schema(nullable = false)]
    code: Option<String>,
    /// Why it is no event.
    #[schema(nullable = false)]
    problem: Option<String>,
    /// What the event did.
    #[serde(flatten)]
    answer: BTreeMap<String, Value>,
}

/// What became of an effect.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum OutboxStatus {
    /// It is to be sent.
    Pending,
    /// It was accepted.
    Done,
    /// There was nobody to tell.
    Skipped,
    /// It was given up.
    Dead,
    /// It was called off.
    Cancelled,
}

/// What a pending effect waits for.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum OutboxPhase {
    /// Another one of its lane comes first.
    Queued,
    /// Nothing: it is sent next.
    Due,
    /// The time of its next try.
    Waiting,
    /// It is being sent.
    Claimed,
    /// Its subscription is suspended.
    Held,
}

/// How many effects there are of each status, each up to 10,000.
#[derive(ToSchema)]
pub(crate) struct OutboxCounts {
    pending: u64,
    done: u64,
    skipped: u64,
    dead: u64,
    cancelled: u64,
}

/// Effects, and how many there are.
#[derive(ToSchema)]
pub(crate) struct Outbox {
    counts: OutboxCounts,
    /// When the oldest that is pending was made.
    #[schema(required)]
    oldest_pending: Option<i64>,
    items: Vec<OutboxItem>,
}

/// An effect.
#[derive(ToSchema)]
pub(crate) struct OutboxItem {
    id: String,
    /// What the receiver knows it by, the same in all its presentations.
    event_id: String,
    /// `webhook`, `event`, `transition` or `presentation`.
    kind: String,
    status: OutboxStatus,
    /// What it waits for, where it is pending.
    #[schema(required)]
    phase: Option<OutboxPhase>,
    machine_id: String,
    entity_id: String,
    version: u64,
    /// The number of its latest attempt.
    attempt: u64,
    /// An address, `event`, a machine and an entity, or a subscription.
    sink: String,
    created_at: i64,
    #[schema(required)]
    due_at: Option<i64>,
    #[schema(required)]
    finished_at: Option<i64>,
    #[schema(required)]
    error: Option<String>,
}

/// An effect with what is sent, and its attempts.
#[derive(ToSchema)]
pub(crate) struct OutboxEntry {
    #[serde(flatten)]
    item: OutboxItem,
    /// What is sent; secrets by their names alone.
    effect: AnyObject,
    /// The last 20, the latest last.
    attempts: Vec<Attempt>,
}

/// An attempt to deliver an effect.
#[derive(ToSchema)]
pub(crate) struct Attempt {
    attempt: u64,
    at: i64,
    /// How long it took.
    ms: i64,
    /// The receiver's HTTP status.
    #[schema(nullable)]
    status: Option<u16>,
    #[schema(nullable)]
    error: Option<String>,
    /// The first 1,024 bytes of what the receiver answered.
    #[schema(nullable)]
    body: Option<String>,
}

/// An effect that was called off.
#[derive(ToSchema)]
pub(crate) struct OutboxCancelled {
    #[serde(flatten)]
    item: OutboxItem,
    /// What it waited for.
    #[schema(required)]
    was: Option<OutboxPhase>,
    /// Whether it was being sent: it may have been delivered.
    may_be_delivered: bool,
}

/// Which effects are meant. What is left out, any effect has.
#[derive(ToSchema)]
pub(crate) struct OutboxFilter {
    #[schema(nullable = false)]
    status: Option<OutboxStatus>,
    #[schema(nullable = false)]
    machine: Option<String>,
    #[schema(nullable = false)]
    entity: Option<String>,
    /// Made before this time (milliseconds since the epoch).
    #[schema(nullable = false)]
    older_than: Option<i64>,
    /// Made after this time (milliseconds since the epoch).
    #[schema(nullable = false)]
    newer_than: Option<i64>,
    /// The `cursor` of the call before.
    #[schema(nullable = false)]
    cursor: Option<String>,
}

/// How many effects are sent again.
#[derive(ToSchema)]
pub(crate) struct Redriven {
    redriven: u64,
    /// Whether there may be others: send the call again with this `cursor`.
    more: bool,
    #[schema(nullable = false)]
    cursor: Option<String>,
}

/// How many effects were called off.
#[derive(ToSchema)]
pub(crate) struct Cancelled {
    cancelled: u64,
    /// Whether there may be others: send the call again with this `cursor`.
    more: bool,
    #[schema(nullable = false)]
    cursor: Option<String>,
}

/// What became of something.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Receipt {
    Request(RequestReceipt),
    Event(EventReceipt),
}

/// What became of a request with a key.
#[derive(ToSchema)]
pub(crate) struct RequestReceipt {
    key: String,
    /// Method and path, `hook:` and a source, or `effect`.
    scope: String,
    /// The HTTP status of the answer; null while a batch is under way.
    #[schema(required)]
    status: Option<u16>,
    outcome: String,
    at: i64,
    /// When the receipt is forgotten.
    expires_at: i64,
    #[schema(nullable = false)]
    machine_id: Option<String>,
    #[schema(nullable = false)]
    entity_id: Option<String>,
    #[schema(nullable = false)]
    state_version: Option<u64>,
    /// Of a batch: how many of its events have an outcome.
    #[schema(nullable = false)]
    parts: Option<u64>,
    /// The answer that was given.
    answer: Anything,
    /// The effects of its commits, up to 1,000.
    outbox: Vec<String>,
}

/// What became of an event.
#[derive(ToSchema)]
pub(crate) struct EventReceipt {
    identity: String,
    outcome: String,
    machine_id: String,
    entity_id: String,
    at: i64,
    /// The history row.
    row: u64,
    /// The effects of its commit, up to 1,000.
    outbox: Vec<String>,
}

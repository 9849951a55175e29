//! Every error code of the product, with its HTTP status and whether a retry can help, in one table (S2.263 to S2.273).

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $status:literal, $retry:literal;)*) => {
        /// The code of an error. Names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in `error.code`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Its HTTP status.
            pub fn status(self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                }
            }

            /// Whether the same request can succeed later, as it is.
            pub fn retry(self) -> bool {
                match self {
                    $(Self::$variant => $retry,)*
                }
            }
        }
    };
}

codes! {
    /// The request or the definition is invalid.
    BadRequest = "BAD_REQUEST", 400, false;
    /// The bearer token is missing or wrong.
    Unauthorized = "UNAUTHORIZED", 401, false;
    /// The machine, the entity or the route is unknown.
    NotFound = "NOT_FOUND", 404, false;
    /// The route does not take the method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, false;
    /// What is to be created exists, or a concurrent change got in the way until time ran out.
    Conflict = "CONFLICT", 409, true;
    /// An event's identity was used with other params (S2.139).
    EventIdentityConflict = "EVENT_IDENTITY_CONFLICT", 409, false;
    /// A target path is not the current active instance (S2.220).
    TargetNotActive = "TARGET_NOT_ACTIVE", 409, false;
    /// The entity is an ended child: it takes no event (S2.201, S2.229).
    InstanceNotActive = "INSTANCE_NOT_ACTIVE", 409, false;
    /// A managed start would use the id of an entity that exists (S2.177).
    InstanceConflict = "INSTANCE_CONFLICT", 409, false;
    /// A live managed child is not deleted by itself: its parent would be stranded (R9a).
    InstanceActive = "INSTANCE_ACTIVE", 409, false;
    /// A legacy child is final, and nothing proves that it became so since its parent's entry (S2.166).
    UncorrelatedChildFinal = "UNCORRELATED_CHILD_FINAL", 409, false;
    /// A managed start beyond the deepest level (S2.181).
    NestingDepthExceeded = "NESTING_DEPTH_EXCEEDED", 409, false;
    /// A commit or a tree would have more entities than the bound (M7).
    CascadeLimit = "CASCADE_LIMIT", 409, false;
    /// `expected_version` is not the entity's version.
    VersionConflict = "VERSION_CONFLICT", 409, false;
    /// A step's joins did not come to rest (M4).
    JoinCascadeLimit = "JOIN_CASCADE_LIMIT", 409, false;
    /// Live entities are in states that a new revision does not have (design 6).
    LiveStates = "LIVE_STATES", 409, false;
    /// An outbox row's status does not allow what is asked for.
    OutboxStatus = "OUTBOX_STATUS", 409, false;
    /// A tenant has as many of these as it may have.
    LimitReached = "LIMIT_REACHED", 409, false;
    /// A batch with the same Idempotency-Key is under way (S4.93).
    IdempotencyInFlight = "IDEMPOTENCY_IN_FLIGHT", 409, true;
    /// The Idempotency-Key was used with another request (S4.92).
    IdempotencyMismatch = "IDEMPOTENCY_MISMATCH", 422, false;
    /// What became of Idempotency-Keys cannot be read: nothing is applied (S4.104).
    InboxUnavailable = "INBOX_UNAVAILABLE", 503, true;
    /// A state record of that id exists (S0.13).
    StateExists = "STATE_EXISTS", 409, false;
    /// A state record is at another version, or in another state (S0.18, S0.19).
    StateConflict = "STATE_CONFLICT", 409, false;
    /// There is no such state record (S0.20).
    StateNotFound = "STATE_NOT_FOUND", 404, false;
    /// An argument of a state record's operation is wrong (S0.17, S0.27).
    StateInvalidArg = "STATE_INVALID_ARG", 400, false;
    /// The store of state records failed (S0.26).
    StateStore = "STATE_STORE", 500, true;
    /// State records are not served here (S0.26).
    StateDisabled = "STATE_DISABLED", 503, false;
    /// The service has no key to keep secrets with.
    SecretsDisabled = "SECRETS_DISABLED", 503, false;
    /// The operator's settings are wrong or against each other.
    Misconfigured = "MISCONFIGURED", 503, true;
    /// The request is larger than a bound.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, false;
    /// The body is not JSON by its content type.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, false;
    /// The database failed; nothing was committed that was not acknowledged.
    InternalError = "INTERNAL_ERROR", 500, true;
    /// Stored rows of an entity or a definition cannot be read (M8): it fails closed.
    CorruptInstance = "CORRUPT_INSTANCE", 500, false;
    /// More timeouts are due than one request applies; what was applied stands (M5).
    TimeoutsPending = "TIMEOUTS_PENDING", 503, true;
    /// The database has another schema version than this program.
    SchemaMismatch = "SCHEMA_MISMATCH", 503, true;
}

impl Code {
    /// Whether it may pass by itself: the request can succeed later, or the fault is the service's.
    pub fn may_pass(self) -> bool {
        self.retry() || self.status() >= 500
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

//! Webhooks that come in: verified, turned into an event by the mapping of their source, and applied once for each delivery
//! (design 5, S4.90 to S4.112).
//!
//! A delivery has one effect by its identity, however often it comes. Its receipt is a row of the effect's own batch, and is
//! kept for [`crate::once::KEPT_LONG_MS`]: where a scheme signs no time, that is how long a request that somebody else has got
//! hold of cannot be used again. Providers are told 2xx for whatever another try would not change, so that they do not
//! switch the endpoint off; what invites another try is an error.

use serde::Serialize;
use serde_json::{Map, Value};
use statewright_core::answer::DUPLICATE;
use statewright_core::code::Code;
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, TenantId};
use statewright_core::sorted::Gather;
use statewright_core::step::Event;

use crate::Engine;
use crate::database::{Clock, Database, Random};
use crate::error::{Error, error_body};
use crate::load::EntityName;
use crate::once::{KEPT_LONG_MS, Once, Origin, Replay, Scope};
use crate::outbound::Outbound;
use crate::request::{EventRequest, MAX_BODY_BYTES, json_bytes};
use crate::secrets::check_name;
use crate::signature::{Headers, Scheme};
use crate::sources::{Inbound, Mapped, Registered, Unmapped};

/// Most characters of a handshake's challenge.
const MOST_CHALLENGE: usize = 1024;

/// What a provider is told.
#[derive(Debug, Clone, PartialEq)]
pub struct HookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub content: HookContent,
}

/// The body of an answer to a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum HookContent {
    /// JSON.
    Json(Value),
    /// `text/plain`.
    Text(String),
}

impl HookAnswer {
    /// An outcome with what is told of it.
    fn json(status: u16, outcome: &str, mut about: Map<String, Value>) -> Self {
        about.insert("outcome".to_owned(), outcome.into());
        Self {
            status,
            content: HookContent::Json(Value::Object(about)),
        }
    }
}

/// What is answered to a provider that sets a source up: Slack's challenge, GitHub's ping.
pub(crate) fn handshake(
    scheme: &Scheme,
    headers: Headers<'_>,
    inbound: Option<&Inbound<'_>>,
) -> Option<HookContent> {
    match scheme {
        Scheme::GitHub if headers("x-github-event").is_some_and(|event| event == "ping") => {
            let HookAnswer { content, .. } = HookAnswer::json(200, "handshake", Map::new());
            Some(content)
        }
        Scheme::Slack => {
            let document = &inbound?.document;
            let of = |key: &str| document.get(key).and_then(Value::as_str);
            let challenge = of("challenge").filter(|text| text.len() <= MOST_CHALLENGE);
            (of("type") == Some("url_verification"))
                .then(|| challenge.map(|challenge| HookContent::Text(challenge.to_owned())))
                .flatten()
        }
        _ => None,
    }
}

/// A value as an object's fields.
fn fields(value: &impl Serialize) -> Map<String, Value> {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A refusal as it is kept and told: its code, the error as any route tells it, and who refuses.
fn refusal(error: &Error, name: &EntityName) -> Map<String, Value> {
    let mut told = fields(&error.body());
    let (_, machine, entity) = name.texts();
    for (key, text) in [
        ("code", error.code().name()),
        ("machine_id", machine),
        ("entity_id", entity),
    ] {
        told.insert(key.to_owned(), text.into());
    }
    told
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// A provider's request to `/hooks/{tenant}/{source}`. `headers` gives a header by its name in lower case, `body` is
    /// the body's bytes as they came.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] alike for a source that there is not, one that is not active, and a request that is not
    /// signed with its secret; the body is too large; and what invites the provider to send it again.
    pub async fn hook(
        &self,
        tenant: &TenantId,
        source_id: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> Result<HookAnswer, Error> {
        if body.len() > MAX_BODY_BYTES {
            return Err(Error::Core(Core::TooLarge {
                what: "the body",
                bytes: body.len(),
                most: MAX_BODY_BYTES,
            }));
        }
        if check_name("source", source_id).is_err() {
            return Err(Error::Unauthorized);
        }
        let registered = self.registered(tenant, source_id).await?;
        let active = registered.filter(|registered| registered.source.active);
        let registered = active.ok_or(Error::Unauthorized)?;
        let secrets = self.secrets_of(&registered).await?;
        let verified = registered
            .source
            .verify(&secrets, headers, body, self.clock.now());
        if verified.is_err() {
            self.tally(tenant, source_id, "bad_signature").await;
            return Err(Error::Unauthorized);
        }
        let (outcome, answer) = self.verified(tenant, source_id, &registered, headers, body).await;
        if let Some(outcome) = outcome {
            self.tally(tenant, source_id, outcome).await;
        }
        answer
    }

    /// What becomes of a request that its provider signed, and as what it is counted.
    async fn verified(
        &self,
        tenant: &TenantId,
        source_id: &str,
        registered: &Registered,
        headers: Headers<'_>,
        body: &[u8],
    ) -> (Option<&'static str>, Result<HookAnswer, Error>) {
        let source = &registered.source;
        let inbound = Inbound::read(headers, body);
        if let Some(content) = handshake(&source.scheme, headers, inbound.as_ref().ok()) {
            return (Some("handshake"), Ok(HookAnswer { status: 200, content }));
        }
        let mapped = inbound.and_then(|inbound| {
            let mapped = source.mapping.map(&source.scheme, &inbound)?;
            Ok((mapped, source.mapping.fingerprint(inbound.document)))
        });
        let (mapped, fingerprint) = match mapped {
            Ok(mapped) => mapped,
            Err(Unmapped { problem, path }) => {
                let told = [("problem", problem), ("path", path)];
                let told = told.map(|(key, text)| (key.to_owned(), Value::from(text)));
                let answer = HookAnswer::json(202, "unmapped", told.into_iter().gather());
                return (Some("unmapped"), Ok(answer));
            }
        };
        match self
            .apply_mapped(tenant, source_id, registered, mapped, fingerprint)
            .await
        {
            Ok((outcome, about)) => (Some(outcome), Ok(HookAnswer::json(200, outcome, about))),
            Err(Error::Replayed(replay)) => {
                let Replay { answer, .. } = *replay;
                let about = answer.and_then(|answer| serde_json::from_str(&answer).ok());
                let answer = HookAnswer::json(200, "duplicate", about.unwrap_or_default());
                (Some("duplicate"), Ok(answer))
            }
            Err(Error::IdempotencyMismatch(delivery)) => {
                let code = Code::IdempotencyMismatch;
                let message = format!("the delivery `{delivery}` came before with another body");
                let answer = HookAnswer {
                    status: code.status(),
                    content: HookContent::Json(error_body(code, &message)),
                };
                (Some("refused"), Ok(answer))
            }
            Err(error) => (None, Err(error)),
        }
    }

    /// Applies an event once for its delivery: the outcome, and what is told of it.
    async fn apply_mapped(
        &self,
        tenant: &TenantId,
        source_id: &str,
        registered: &Registered,
        mapped: Mapped,
        fingerprint: String,
    ) -> Result<(&'static str, Map<String, Value>), Error> {
        let source = &registered.source;
        let once = Once::named(
            format!("hook:{source_id}"),
            &mapped.identity,
            fingerprint,
            KEPT_LONG_MS,
        );
        let origin = Origin {
            source: format!("hook:{source_id}"),
            ..self.scope.origin.clone()
        };
        let scope = Scope::once(once, tenant, origin);
        let path = "mapping.entity_id";
        let entity_id = EntityId::new(&mapped.entity_id)
            .map_err(|error| Error::invalid(path, error.to_string(), "an entity's id"))?;
        let name = EntityName {
            tenant: tenant.clone(),
            machine_id: source.machine.clone(),
            entity_id: entity_id.clone(),
        };
        let event = EventRequest {
            entity_id,
            id_path: path.to_owned(),
            params_bytes: json_bytes(&mapped.params),
            event: Event {
                event_type: mapped.event_type.into(),
                params: mapped.params.into(),
                timestamp: mapped.timestamp,
                expected_version: None,
            },
            target: None,
            explain: false,
            dry_run: false,
            dispatch: true,
            create: source.create,
        };
        match self.apply_event(&scope, &name, &event).await {
            Ok(answer) => {
                let outcome = match answer.reason.as_deref() {
                    None => "applied",
                    Some(DUPLICATE) => "duplicate",
                    Some(_) => "no_transition",
                };
                let mut about = fields(&answer);
                // Where the tenant's own webhooks go is nothing that a provider is to be told.
                about.remove("actions_dispatched");
                let body = serde_json::to_string(&about).unwrap_or_default();
                self.settle_in(&scope, 200, None, Some(&body)).await?;
                Ok((outcome, about))
            }
            // What is to be sent again is told as it is: by the next time it may go through.
            Err(error) if error.code().retry() || error.status() >= 500 => Err(error),
            Err(error @ (Error::Replayed(_) | Error::IdempotencyMismatch(_))) => Err(error),
            Err(error) => {
                let about = refusal(&error, &name);
                // A machine that is registered later, or an entity that is made, takes what is delivered again.
                if !matches!(error, Error::Core(Core::NoMachine(_) | Core::NoEntity { .. })) {
                    let body = serde_json::to_string(&about).unwrap_or_default();
                    self.settle_in(&scope, error.status(), Some(error.code()), Some(&body))
                        .await?;
                }
                Ok(("refused", about))
            }
        }
    }
}

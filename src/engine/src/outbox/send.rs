//! One delivery: what is sent, and what its answer means.

use serde_json::{Map, Value, json};
use statewright_core::address;
use statewright_core::definition::HeaderValue;
use statewright_core::effect::Effect;
use statewright_core::ids::{EntityId, MachineId, Millis, TenantId};
use statewright_core::step::Event;
use std::sync::Arc;

use super::deliver::Known;
use super::times::{iso, retry_after};
use crate::Engine;
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::evaluate::outcome_of;
use crate::load::{EntityName, parse};
use crate::once::{KEPT_LONG_MS, KEPT_MS, Once, Origin, Scope, fingerprint};
use crate::outbound::{Outbound, OutboundRequest, OutboundResponse, SendFailure};
use crate::request::{self, EventRequest};
use crate::signature;
use crate::subscriptions::Sink;

/// How long an action's request waits for an answer (S2.116).
const ACTION_TIMEOUT_MS: u64 = 10_000;
/// How long one that has no Retry-After is denied for.
const DENIED_MS: i64 = 30_000;
/// The secret with which a tenant's deliveries are signed.
pub(crate) const SIGNING: &str = "webhook-signing";

/// A row of the outbox that is claimed.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) tenant: String,
    pub(crate) id: String,
    pub(crate) claim: u64,
    pub(crate) event_id: String,
    pub(crate) kind: String,
    pub(crate) lane: String,
    pub(crate) sink: String,
    pub(crate) attempt: u64,
    pub(crate) tries: u64,
    pub(crate) denied_since: Option<i64>,
    pub(crate) effect: String,
    pub(crate) subscription: Option<String>,
    /// The subscription's sink; none where it is gone, or was none.
    pub(crate) subscribed: Option<String>,
    pub(crate) active: bool,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was accepted, with what it led to where that is known.
    Accepted {
        status: Option<u16>,
        note: Option<String>,
    },
    /// It was not; it is tried again. `silent` says that no answer came in time.
    Failed {
        silent: bool,
        status: Option<u16>,
        error: String,
        body: Option<String>,
    },
    /// The receiver takes nothing now: that does not count.
    Denied { status: u16, wait_ms: i64 },
    /// Trying again cannot help.
    Dead { error: String },
    /// Nobody is to be told any more.
    Skipped,
    /// Its subscription is suspended.
    Held,
    /// It was not tried.
    Postponed { wait_ms: i64 },
}

impl Outcome {
    fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            silent: false,
            status: None,
            error: error.into(),
            body: None,
        }
    }

    fn dead(error: impl Into<String>) -> Self {
        Self::Dead { error: error.into() }
    }

    /// Whether no answer came in time.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Failed { silent: true, .. })
    }
}

/// How many effects led to an event for another entity.
fn hops(effect: &str) -> u32 {
    let effect = serde_json::from_str::<Value>(effect).unwrap_or_default();
    let hops = effect.get("hops").and_then(Value::as_u64).unwrap_or_default();
    u32::try_from(hops).unwrap_or_default()
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Sends what a row says. `within_ms` is how long an answer may take at the most.
    pub(super) async fn send_one(&self, delivery: &Delivery, known: &Known, within_ms: u64) -> Outcome {
        if delivery.kind == "presentation" {
            return self.present(delivery, known, within_ms).await;
        }
        let effect: Effect = match serde_json::from_str(&delivery.effect) {
            Ok(effect) => effect,
            Err(error) => return Outcome::dead(format!("the effect cannot be read: {error}")),
        };
        let timeout_ms = ACTION_TIMEOUT_MS.min(within_ms);
        match effect {
            Effect::Webhook {
                url,
                method,
                headers,
                body,
                signed,
            } => {
                let mut named = Vec::with_capacity(headers.len().saturating_add(6));
                for (name, value) in headers {
                    let value = match value {
                        HeaderValue::Text(text) => text,
                        HeaderValue::Secret { secret, prefix } => {
                            match known.secret(&delivery.tenant, &secret) {
                                Ok(Some(value)) => prefix.unwrap_or_default() + &value,
                                Ok(None) => return Outcome::failed(format!("there is no secret `{secret}`")),
                                Err(error) => return Outcome::failed(error),
                            }
                        }
                    };
                    if value.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
                        return Outcome::dead(format!("the header `{name}` would have control characters"));
                    }
                    named.push((name, value));
                }
                let request = OutboundRequest {
                    method: method.name(),
                    url,
                    headers: named,
                    body,
                    timeout_ms,
                    wants_body: false,
                };
                let signing = signed.then_some(SIGNING);
                self.send_signed(delivery, request, signing, known).await
            }
            Effect::Event { event_type, params } => {
                let body = json!({"event_type": event_type, "params": params, "raw_payload": null});
                self.send_event(delivery, body.to_string(), known, timeout_ms)
                    .await
            }
            Effect::Transition {
                machine_id,
                entity_id,
                event_type,
                params,
                create,
            } => {
                let hops = hops(&delivery.effect);
                let names = TenantId::new(&delivery.tenant).and_then(|tenant| {
                    Ok(EntityName {
                        tenant,
                        machine_id: MachineId::new(&machine_id)?,
                        entity_id: EntityId::named(&entity_id)?,
                    })
                });
                let name = match names {
                    Ok(name) => name,
                    Err(error) => return Outcome::dead(format!("its target has no valid name: {error}")),
                };
                let params_bytes = request::json_bytes(&params);
                if params_bytes > request::MAX_PARAMS_BYTES {
                    return Outcome::dead(format!("its params have {params_bytes} bytes"));
                }
                let event = EventRequest {
                    entity_id: name.entity_id.clone(),
                    id_path: "entity_id".to_owned(),
                    event: Event {
                        event_type: event_type.into(),
                        params: Arc::new(params),
                        timestamp: None,
                        expected_version: None,
                    },
                    params_bytes,
                    target: None,
                    explain: false,
                    dry_run: false,
                    dispatch: true,
                    create,
                };
                self.send_on(delivery, hops, &name, &event).await
            }
            Effect::Broken { problem } => Outcome::dead(problem),
        }
    }

    /// Signs a request where there is a secret for it, and sends it.
    async fn send_signed(
        &self,
        delivery: &Delivery,
        mut request: OutboundRequest,
        signing: Option<&str>,
        known: &Known,
    ) -> Outcome {
        if let Err(fault) = address::check(&request.url, &self.settings.allow) {
            return Outcome::dead(format!("the address is refused: {fault}"));
        }
        let seconds = self.clock.now().0.div_euclid(1000);
        let mut add = |name: &str, value: String| request.headers.push((name.to_owned(), value));
        add("webhook-id", delivery.event_id.clone());
        add("webhook-timestamp", seconds.to_string());
        add("webhook-attempt", delivery.attempt.to_string());
        if let Some(signing) = signing {
            match known.secrets(&delivery.tenant, signing) {
                Ok(secrets) if secrets.is_empty() => {}
                Ok(secrets) => {
                    let body = request.body.as_deref().unwrap_or_default();
                    let signature = signature::sign(&secrets, &delivery.event_id, seconds, body.as_bytes());
                    request.headers.push(("webhook-signature".to_owned(), signature));
                }
                Err(error) => return Outcome::failed(error),
            }
        }
        for (name, value) in [
            ("content-type", "application/json"),
            ("user-agent", "statewright"),
        ] {
            let given = request
                .headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name));
            if !given && (name != "content-type" || request.body.is_some()) {
                request.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let answer = self.outbound.send(request).await;
        outcome(answer, self.clock.now())
    }

    /// Presents a transition to a subscription (S0.32 to S0.39).
    async fn present(&self, delivery: &Delivery, known: &Known, within_ms: u64) -> Outcome {
        let Some(sink) = &delivery.subscribed else {
            return Outcome::Skipped;
        };
        if !delivery.active {
            return Outcome::Held;
        }
        let (mut data, sink) = match (parse::<Map<String, Value>>(&delivery.effect), Sink::read(sink)) {
            (Ok(data), Ok(sink)) => (data, sink),
            (Err(error), _) | (_, Err(error)) => {
                return Outcome::dead(format!("the presentation cannot be read: {error}"));
            }
        };
        data.remove("kind");
        let (Some(kind), Some(committed)) = (
            data.remove("type").filter(Value::is_string),
            data.remove("committed_at").and_then(|at| at.as_i64()),
        ) else {
            return Outcome::dead("the presentation cannot be read: it has no type, or no time".to_owned());
        };
        let committed = iso(Millis(committed));
        for (name, value) in [
            ("attempt", json!(delivery.attempt)),
            ("committed_at", json!(committed)),
            ("fired_at", json!(iso(self.clock.now()))),
            ("tenant", json!(delivery.tenant)),
            ("node", json!(self.settings.node)),
        ] {
            data.insert(name.to_owned(), value);
        }
        let body = json!({"type": kind, "timestamp": committed, "data": data}).to_string();
        match sink {
            Sink::Webhook { url, secret } => {
                let request = OutboundRequest {
                    method: "POST",
                    url,
                    headers: Vec::new(),
                    body: Some(body),
                    timeout_ms: self.settings.accept_timeout_ms.min(within_ms),
                    wants_body: false,
                };
                let signing = secret.as_deref().unwrap_or(SIGNING);
                self.send_signed(delivery, request, Some(signing), known).await
            }
            Sink::Queue { binding } => match self.outbound.enqueue(&binding, &body).await {
                Ok(()) => Outcome::Accepted {
                    status: None,
                    note: None,
                },
                Err(error) => Outcome::failed(error.to_string()),
            },
        }
    }

    /// Sends an event to the operator's collector, with the tenant's token (S2.122 to S2.125).
    async fn send_event(&self, delivery: &Delivery, body: String, known: &Known, timeout_ms: u64) -> Outcome {
        let token = match known.token(&delivery.tenant) {
            Some(token) => Some(token),
            None => match self.provision(&delivery.tenant, timeout_ms).await {
                Ok(token) => token,
                Err(error) => return Outcome::failed(error),
            },
        };
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("webhook-id".to_owned(), delivery.event_id.clone()),
            ("webhook-attempt".to_owned(), delivery.attempt.to_string()),
        ];
        let has_token = token.is_some();
        if let Some(token) = token {
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        // The operator's own address: it is exempt from what a tenant's must be.
        let request = OutboundRequest {
            method: "POST",
            url: self.settings.event_core.clone(),
            headers,
            body: Some(body),
            timeout_ms,
            wants_body: false,
        };
        let answer = self.outbound.send(request).await;
        if let (
            Ok(OutboundResponse {
                status: 401 | 403, ..
            }),
            true,
        ) = (&answer, has_token)
        {
            // The next try asks for another; that it cannot be forgotten now must not hide what became of this one.
            let forget = Statement::new(super::sql::FORGET_TOKEN, [delivery.tenant.as_str().into()]);
            drop(self.batch(vec![forget]).await);
            known.forget_token(&delivery.tenant);
        }
        outcome(answer, self.clock.now())
    }

    /// Asks the platform for a tenant's token, where there is a platform (S2.125): only when an event is to be sent (S2.124).
    async fn provision(&self, tenant: &str, timeout_ms: u64) -> Result<Option<String>, String> {
        let Some((platform, key)) = &self.settings.platform else {
            return Ok(None);
        };
        let request = OutboundRequest {
            method: "POST",
            url: format!("{}/internal/ingest-tokens", platform.trim_end_matches('/')),
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("authorization".to_owned(), format!("Bearer {key}")),
            ],
            body: Some(json!({"key_prefix": tenant}).to_string()),
            timeout_ms,
            wants_body: true,
        };
        let answer = self
            .outbound
            .send(request)
            .await
            .map_err(|error| format!("no ingest token: {error}"))?;
        if !(200..300).contains(&answer.status) {
            return Err(format!(
                "no ingest token: the platform answered {}",
                answer.status
            ));
        }
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let token = ["token", "ingest_token", "key"]
            .into_iter()
            .find_map(|name| told.get(name)?.as_str());
        let Some(token) =
            token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()))
        else {
            return Err("no ingest token: the platform's answer has no `token`".to_owned());
        };
        // Sealed where there is a key.
        let sealed = match self.outbound.seal(&token_context(tenant), token).await {
            Ok(sealed) => sealed,
            Err(_) => format!("{PLAIN}{token}"),
        };
        let keep = Statement::new(
            super::sql::KEEP_TOKEN,
            [tenant.into(), sealed.into(), self.clock.now().into()],
        );
        // That it is not kept costs asking again.
        drop(self.batch(vec![keep]).await);
        Ok(Some(token.to_owned()))
    }

    /// Sends an event to another entity, which takes it once (I1): the effect's id is its receipt's key.
    async fn send_on(
        &self,
        delivery: &Delivery,
        hops: u32,
        name: &EntityName,
        event: &EventRequest,
    ) -> Outcome {
        // Longer than the row itself, which can be redriven as long as it is there.
        let retention = i64::try_from(self.settings.retention_ms).unwrap_or(i64::MAX);
        let kept_ms = retention.saturating_add(KEPT_MS).max(KEPT_LONG_MS);
        let once = Once::named(
            "effect".to_owned(),
            &delivery.id,
            fingerprint("", delivery.effect.as_bytes()),
            kept_ms,
        );
        let origin = Origin {
            source: format!("effect:{}", delivery.id),
            stack: "outbox".to_owned(),
            trace: delivery.id.clone(),
            run: None,
            hops,
        };
        let scope = Scope::once(once, &name.tenant, origin);
        let applied = match self.apply_event(&scope, name, event).await {
            Ok(answer) => {
                let note = outcome_of(&answer);
                let body = serde_json::to_string(&answer).unwrap_or_default();
                // What moved nothing is decided too: another try of this effect must not move it later.
                let kept = self.settle_in(&scope, 200, None, Some(&body)).await;
                kept.map(|()| note)
            }
            Err(error) => Err(error),
        };
        match applied {
            Ok(note) => Outcome::Accepted {
                status: None,
                note: Some(note.to_owned()),
            },
            // An earlier try was applied, and its answer lost.
            Err(Error::Replayed(_)) => Outcome::Accepted {
                status: None,
                note: Some("applied".to_owned()),
            },
            Err(error) if may_pass(&error) => Outcome::failed(told(&error)),
            Err(error) => Outcome::dead(told(&error)),
        }
    }
}

fn may_pass(error: &Error) -> bool {
    match error {
        Error::Core(error) => error.may_pass(),
        other => other.code().may_pass(),
    }
}

fn told(error: &Error) -> String {
    format!("{}: {error}", error.code().name())
}

/// What a token begins with that is not sealed.
pub(super) const PLAIN: &str = "plain:";

pub(super) fn token_context(tenant: &str) -> String {
    format!("{tenant}\ningest-token")
}

/// What an answer means: 2xx accepts; 429, and 503 with Retry-After, deny admission; all else fails.
fn outcome(answer: Result<OutboundResponse, SendFailure>, now: Millis) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            return Outcome::Failed {
                silent: matches!(failure, SendFailure::Timeout(_)),
                status: None,
                error: failure.to_string(),
                body: None,
            };
        }
    };
    let status = answer.status;
    if (200..300).contains(&status) {
        return Outcome::Accepted {
            status: Some(status),
            note: None,
        };
    }
    let asked = answer
        .retry_after
        .as_deref()
        .and_then(|text| retry_after(text, now));
    match (status, asked) {
        (429, asked) => Outcome::Denied {
            status,
            wait_ms: asked.unwrap_or(DENIED_MS),
        },
        (503, Some(wait_ms)) => Outcome::Denied { status, wait_ms },
        _ => Outcome::Failed {
            silent: false,
            status: Some(status),
            error: match status {
                300..400 => format!("the receiver answered {status}; redirects are not followed"),
                _ => format!("the receiver answered {status}"),
            },
            body: Some(answer.body),
        },
    }
}

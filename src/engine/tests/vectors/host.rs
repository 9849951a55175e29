//! A host as the vectors need one: an engine for each request, no way out but for `deliver`, and a vault that shows
//! whether what it opens is what it sealed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use statewright_core::code::Code;
use statewright_core::ids::TenantId;
use statewright_engine::Engine;
use statewright_engine::error::Error;
use statewright_engine::once::{Once, Origin};
use statewright_engine::outbound::{
    Outbound, OutboundRequest, OutboundResponse, SendFailure, Vault, VaultFailure,
};
use statewright_engine::page::Page;
use statewright_engine::request::tenant_id;
use statewright_engine::settings::Settings;

use crate::matching::filled;
use crate::support::{Counted, Service, Sqlite, TestClock, block_on, tenant};
use crate::{operations, routes};

/// The engine of one request.
pub(crate) type Host = Engine<Sqlite, TestClock, Counted, Way>;

/// A way out, open or shut: every receiver is busy, but for one that fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    open: bool,
}

impl Vault for Way {
    async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure> {
        Ok(format!("{}:{context}{value}", context.len()))
    }

    async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure> {
        sealed
            .strip_prefix(&format!("{}:{context}", context.len()))
            .map(str::to_owned)
            .ok_or_else(|| VaultFailure::Sealed("it was sealed for something else".to_owned()))
    }
}

impl Outbound for Way {
    fn sends(&self) -> bool {
        self.open
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        let fails = request.url.starts_with("https://failing.example/");
        Ok(OutboundResponse {
            status: if fails { 500 } else { 429 },
            retry_after: (!fails).then(|| "3600".to_owned()),
            ..OutboundResponse::default()
        })
    }

    async fn enqueue(&self, _: &str, _: &str) -> Result<(), SendFailure> {
        Err(SendFailure::Failed("there are no queues here".to_owned()))
    }
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) headers: BTreeMap<&'static str, String>,
    /// Where a list goes on.
    pub(crate) next: Option<String>,
    code: Option<Code>,
}

impl Reply {
    pub(crate) fn of<T: Serialize>(status: u16, outcome: Result<T, Error>) -> Self {
        match outcome {
            Ok(body) => Self::new(status, serde_json::to_value(body).unwrap()),
            Err(Error::Replayed(replay)) => {
                let body = replay
                    .answer
                    .as_deref()
                    .map(|answer| serde_json::from_str(answer).unwrap());
                let mut reply = Self::new(replay.status, body.unwrap_or_default());
                reply.headers.insert("idempotency-replayed", "true".to_owned());
                reply
            }
            Err(error) => Self {
                code: Some(error.code()),
                ..Self::new(error.status(), error.body())
            },
        }
    }

    /// What was put, and whether it is new.
    pub(crate) fn put<T: Serialize>(outcome: Result<(T, bool), Error>) -> Self {
        let created = outcome.as_ref().is_ok_and(|(_, created)| *created);
        Self::of(if created { 201 } else { 200 }, outcome.map(|(kept, _)| kept))
    }

    pub(crate) fn page<T: Serialize>(outcome: Result<Page<T>, Error>) -> Self {
        let next = outcome.as_ref().ok().and_then(|page| page.next.clone());
        Self {
            next,
            ..Self::of(200, outcome.map(|page| page.items))
        }
    }

    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            body,
            headers: BTreeMap::new(),
            next: None,
            code: None,
        }
    }
}

/// A request as it would be sent over HTTP.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) tenant: Option<TenantId>,
}

/// Methods and last segments of the routes on which an Idempotency-Key has no meaning.
const UNKEYED: [&str; 4] = ["validate", "explain", "get", "try"];

impl Asked {
    fn takes_key(&self) -> bool {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        self.path.starts_with("/api/") && self.method != "GET" && !UNKEYED.contains(&last)
    }

    fn once(&self, success: u16) -> Result<Option<Once>, Error> {
        let Some(key) = self.headers.get("idempotency-key").filter(|_| self.takes_key()) else {
            return Ok(None);
        };
        let query: Vec<_> = self
            .query
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let scope = format!("{} {}", self.method, self.path);
        Once::request(key, &scope, &query.join("&"), &self.body, success).map(Some)
    }
}

/// Everything that a case's steps share.
pub(crate) struct World {
    service: Service,
    random: Counted,
    settings: Arc<Settings>,
    contract: String,
    pub(crate) captured: Map<String, Value>,
    next: Option<String>,
}

impl World {
    pub(crate) fn new(contract: &str, start: i64, settings: &Value) -> Self {
        let service = Service::new();
        service.clock.0.set(start);
        let read = |name: &str| match (settings[name].as_str(), name) {
            (Some(value), _) => Some(value.to_owned()),
            (None, "PERSONALITIES") => Some("state".to_owned()),
            // Who fails is asked again after the case is over.
            (None, "ACTION_RETRIES") => Some("3600".to_owned()),
            (None, _) => None,
        };
        Self {
            service,
            random: Counted::default(),
            settings: Arc::new(Settings::read(read).expect("settings")),
            contract: contract.to_owned(),
            captured: Map::new(),
            next: None,
        }
    }

    pub(crate) fn set_clock(&self, now: i64) {
        self.service.clock.0.set(now);
    }

    /// Keeps what the step names of its reply.
    pub(crate) fn capture(&mut self, step: &Value, reply: &Reply) -> Result<(), String> {
        for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
            let pointer = pointer.as_str().expect("a pointer");
            let value = reply
                .body
                .pointer(pointer)
                .ok_or_else(|| format!("there is nothing at {pointer} to capture"))?;
            self.captured.insert(name.clone(), value.clone());
        }
        Ok(())
    }

    fn engine(&self, open: bool, asked: &Asked, route: &str) -> Host {
        let Service {
            sqlite, clock, cache, ..
        } = &self.service;
        let engine = Engine::new(sqlite.clone(), clock.clone(), self.random.clone(), cache.clone());
        engine
            .with_outbound(Way { open })
            .with_settings(self.settings.clone())
            .caused_by(Origin {
                source: "api".to_owned(),
                stack: route.to_owned(),
                trace: asked.headers.get("x-request-id").cloned().unwrap_or_default(),
                run: asked.headers.get("x-run-id").cloned(),
                hops: 0,
            })
    }

    /// Does what a step says.
    pub(crate) fn perform(&mut self, step: &Value) -> Reply {
        let step = filled(step, &self.captured);
        let reply = self
            .answer(&step)
            .unwrap_or_else(|error| Reply::of::<()>(200, Err(error)));
        self.next.clone_from(&reply.next);
        reply
    }

    fn answer(&self, step: &Value) -> Result<Reply, Error> {
        let op = step["op"].as_str();
        let tenant = match step.get("tenant") {
            None => Some(tenant("t1")),
            Some(Value::Null) => None,
            Some(name) => Some(tenant_id("X-Tenant-Id", name.as_str().expect("a tenant"))?),
        };
        let (method, path, success, route) = match op {
            Some(op) => operations::address(op, step),
            None => routes::address(step["send"].as_str().expect("what is sent"), &self.captured),
        };
        let asked = Asked {
            method,
            path,
            query: self.query(step),
            headers: headers(step),
            body: self.body(op, step),
            tenant,
        };
        let engine = self.engine(op == Some("deliver"), &asked, &route);
        let once = asked.once(success)?;
        let keyed = once.is_some();
        let engine = match once {
            Some(once) => engine.keyed(once, asked.tenant.as_ref()),
            None => engine,
        };
        let reply = match op {
            Some(op) => operations::perform(&engine, op, step, &asked),
            None => routes::perform(&engine, &asked),
        };
        if keyed && !reply.headers.contains_key("idempotency-replayed") {
            let body = (reply.status != 204).then(|| reply.body.to_string());
            block_on(engine.settle(reply.status, reply.code, body.as_deref()))?;
        }
        Ok(reply)
    }

    fn query(&self, step: &Value) -> BTreeMap<String, String> {
        let text = |value: &Value| {
            if value["$next"] == Value::Bool(true) {
                return self.next.clone().expect("the list before goes on");
            }
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        };
        let mut query: BTreeMap<_, _> = step["query"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), text(value)))
            .collect();
        for key in ["in_flight", "format"] {
            if let Some(value) = step[key].as_str() {
                query.insert(key.to_owned(), value.to_owned());
            }
        }
        query
    }

    /// The body as it is sent: a definition with the contract at hand.
    fn body(&self, op: Option<&str>, step: &Value) -> Vec<u8> {
        let takes_definition = op.is_some_and(|op| ["register", "replace", "validate"].contains(&op));
        let body = match (step["raw"].as_str(), step.get("body")) {
            (Some(raw), _) => raw.to_owned(),
            (None, Some(body)) => {
                let mut body = body.clone();
                if let (true, Some(object)) = (takes_definition, body.as_object_mut()) {
                    object
                        .entry("contract")
                        .or_insert_with(|| self.contract.clone().into());
                }
                body.to_string()
            }
            (None, None) => String::new(),
        };
        body.into_bytes()
    }
}

fn headers(step: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().expect("a header's text").to_owned();
    step["headers"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
        .collect()
}

//! Providers of webhooks as their documentation describes them, and a service that takes what they send.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use statewright_core::ids::TenantId;
use statewright_engine::hooks::HookContent;
use statewright_engine::signature::to_base64;
use statewright_engine::{DefinitionCache, Engine, HistoryQuery};

use super::faults::Faulty;
use super::vault::TestVault;
use super::world::{Reply, reply};
use super::{Counted, START, Sqlite, TestClock, block_on, tenant};

pub type HookEngine = Engine<Faulty, TestClock, Counted, TestVault>;

pub struct Hooks {
    pub sqlite: Sqlite,
    pub faulty: Faulty,
    pub clock: TestClock,
    pub vault: TestVault,
    pub engine: HookEngine,
}

/// A request of a provider.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Delivery {
    pub fn of(headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            headers: headers.collect(),
            body: body.as_ref().to_vec(),
        }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }
}

pub fn t1() -> TenantId {
    tenant("t1")
}

/// The keyed hash of parts, one behind the other.
fn mac(secret: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

impl Hooks {
    pub fn new() -> Rc<Self> {
        let sqlite = Sqlite::new();
        let (faulty, clock, vault) = (Faulty::new(sqlite.clone()), TestClock::new(), TestVault::new());
        let engine = Engine::new(
            faulty.clone(),
            clock.clone(),
            Counted::default(),
            DefinitionCache::default(),
        );
        let hooks = Self {
            engine: engine.with_outbound(vault.clone()),
            sqlite,
            faulty,
            clock,
            vault,
        };
        block_on(hooks.engine.migrate()).unwrap();
        hooks.sqlite.taken();
        Rc::new(hooks)
    }

    /// Another engine over the same database, which nothing disturbs.
    pub fn other(&self) -> HookEngine {
        let database = Faulty::new(self.sqlite.clone());
        Engine::new(
            database,
            self.clock.clone(),
            Counted::from(9),
            DefinitionCache::default(),
        )
        .with_outbound(self.vault.clone())
    }

    /// A machine on which `note` and whatever else is named moves each entity from `open` to `open`.
    pub fn machine(&self, tenant: &TenantId, machine: &str, events: &[&str]) {
        let transitions: Vec<Value> = events
            .iter()
            .map(|event| json!({"from": "open", "to": "open", "on": event}))
            .chain([json!({"from": "open", "to": "closed", "on": "close"})])
            .collect();
        let definition = json!({"machine_id": machine, "states": ["open", "closed"], "initial_state": "open",
            "transitions": transitions});
        block_on(
            self.engine
                .create_machine(tenant, definition.to_string().as_bytes()),
        )
        .unwrap();
    }

    pub fn secret(&self, tenant: &TenantId, name: &str, value: &str) {
        let body = json!({"value": value}).to_string();
        block_on(self.engine.put_secret(tenant, name, body.as_bytes())).unwrap();
    }

    pub fn source(&self, tenant: &TenantId, id: &str, source: &Value) -> Reply {
        put_source(&self.engine, tenant, id, source)
    }

    pub fn shown(&self, tenant: &TenantId, id: &str) -> Value {
        reply(200, block_on(self.engine.get_source(tenant, id))).1
    }

    /// What was counted, without what was not.
    pub fn counts(&self, id: &str) -> Value {
        let mut shown = self.shown(&t1(), id);
        let counts = shown["counts"].as_object_mut().unwrap();
        assert_eq!(counts.len(), 7, "each is told");
        counts.retain(|_, count| *count != 0);
        shown["counts"].take()
    }

    pub fn send(&self, id: &str, delivery: &Delivery) -> Reply {
        send(&self.engine, &t1(), id, delivery)
    }

    pub fn try_source(&self, id: &str, body: &Value) -> Reply {
        reply(
            200,
            block_on(self.engine.try_source(&t1(), id, body.to_string().as_bytes())),
        )
    }

    /// The types and params of an entity's events, in order; none where there is no entity.
    pub fn events(&self, machine: &str, entity: &str) -> Vec<(String, Value)> {
        self.events_of(&t1(), machine, entity)
    }

    pub fn events_of(&self, tenant: &TenantId, machine: &str, entity: &str) -> Vec<(String, Value)> {
        let query = HistoryQuery {
            order: Some("id".to_owned()),
            ..HistoryQuery::default()
        };
        let Ok(page) = block_on(self.engine.history(tenant, machine, entity, &query)) else {
            return Vec::new();
        };
        let rows = page
            .items
            .into_iter()
            .map(|row| serde_json::to_value(row).unwrap());
        rows.map(|row| {
            (
                row["event_type"].as_str().unwrap().to_owned(),
                row["event_params"].clone(),
            )
        })
        .collect()
    }

    /// The time in seconds.
    pub fn seconds(&self) -> i64 {
        self.clock.0.get() / 1000
    }

    pub fn standard(&self, secret: &[u8], id: &str, body: impl AsRef<[u8]>) -> Delivery {
        let time = self.seconds().to_string();
        let parts = [id.as_bytes(), b".", time.as_bytes(), b".", body.as_ref()];
        let signature = format!("v1,{}", to_base64(&mac(secret, &parts)));
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", &time),
            ("webhook-signature", &signature),
        ];
        Delivery::of(&headers, body)
    }

    pub fn stripe(&self, secret: &str, body: impl AsRef<[u8]>) -> Delivery {
        let time = self.seconds().to_string();
        let signature = hex(&mac(secret.as_bytes(), &[time.as_bytes(), b".", body.as_ref()]));
        Delivery::of(&[("stripe-signature", &format!("t={time},v1={signature}"))], body)
    }

    pub fn slack(&self, secret: &str, body: impl AsRef<[u8]>) -> Delivery {
        let time = self.seconds().to_string();
        let signature = hex(&mac(
            secret.as_bytes(),
            &[b"v0:", time.as_bytes(), b":", body.as_ref()],
        ));
        let headers = [
            ("x-slack-request-timestamp", &*time),
            ("x-slack-signature", &format!("v0={signature}")),
        ];
        Delivery::of(&headers, body)
    }
}

pub fn github(secret: &str, event: &str, delivery: &str, body: impl AsRef<[u8]>) -> Delivery {
    let signature = format!("sha256={}", hex(&mac(secret.as_bytes(), &[body.as_ref()])));
    let headers = [
        ("x-github-event", event),
        ("x-github-delivery", delivery),
        ("x-hub-signature-256", &signature),
    ];
    Delivery::of(&headers, body)
}

pub fn plain(secret: &str, body: impl AsRef<[u8]>) -> Delivery {
    let signature = hex(&mac(secret.as_bytes(), &[body.as_ref()]));
    Delivery::of(&[("x-signature", &signature)], body)
}

pub fn put_source(engine: &HookEngine, tenant: &TenantId, id: &str, source: &Value) -> Reply {
    match block_on(engine.put_source(tenant, id, source.to_string().as_bytes())) {
        Ok((view, created)) => (
            if created { 201 } else { 200 },
            serde_json::to_value(view).unwrap(),
        ),
        Err(error) => (error.status(), error.body()),
    }
}

/// What a provider is told. A text is told as `{"text": …}`.
pub fn send(engine: &HookEngine, tenant: &TenantId, id: &str, delivery: &Delivery) -> Reply {
    let headers = |name: &str| delivery.headers.get(name).cloned();
    match block_on(engine.hook(tenant, id, &headers, &delivery.body)) {
        Ok(answer) => match answer.content {
            HookContent::Json(body) => (answer.status, body),
            HookContent::Text(text) => (answer.status, json!({ "text": text })),
        },
        Err(error) => (error.status(), error.body()),
    }
}

/// The time at which tests begin, in seconds.
pub const START_SECONDS: i64 = START / 1000;

/// A service with a machine `m` that takes `note` and `paid`, a secret `key`, and a source `in` of a plain HMAC.
pub fn service() -> Rc<Hooks> {
    let hooks = Hooks::new();
    hooks.machine(&t1(), "m", &["note", "paid"]);
    hooks.secret(&t1(), "key", "secret");
    assert_eq!(hooks.source(&t1(), "in", &source(&json!({}))).0, 201);
    hooks
}

/// A source of a plain HMAC, with a mapping that has these parts besides.
pub fn source(mapping: &Value) -> Value {
    let mut source = json!({"machine": "m", "scheme": {"type": "hmac-sha256"}, "secret": "key",
        "mapping": {"entity_id": "/id", "event_type": "/type"}});
    for (key, value) in mapping.as_object().unwrap() {
        source["mapping"][key] = value.clone();
    }
    source
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn event(id: &str, kind: &str) -> String {
    json!({"id": id, "type": kind}).to_string()
}

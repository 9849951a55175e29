//! The service over what its host lends it, and the engine of one request.

use std::{cell::Cell, rc::Rc, sync::Arc};

use http::Method;
use js_sys::Function;
use serde::Deserialize;
use statewright_engine::{DefinitionCache, Engine, error::Error, once::Once};
use wasm_bindgen::JsValue;

use crate::{
    call::Call,
    host::{HostClock, HostRandom},
    log::{Entry, Level, Log},
    outbound::Outlet,
    refusal::Refusal,
    request::tenant_of,
    settings::Settings,
    store::Store,
};

/// The engine as a host of JavaScript drives it.
pub type ServiceEngine = Engine<Store, HostClock, HostRandom, Outlet>;

/// What one deployment keeps between its requests; nothing of it is bound to the request that made it.
#[derive(Debug)]
pub struct Kept {
    settings: Settings,
    log: Log,
    definitions: DefinitionCache,
    /// Whether the database was seen at its schema.
    ready: Cell<bool>,
}

impl Kept {
    /// Reads the settings: the properties of `env` that are texts. Where no `sink` takes the log, the console does.
    pub fn read(env: &JsValue, sink: Option<Function>) -> Self {
        let (settings, log) = Settings::read(env, sink);
        Self {
            settings,
            log,
            definitions: DefinitionCache::default(),
            ready: Cell::default(),
        }
    }
}

/// What a host lends beside its database.
#[derive(Debug, Clone, Default)]
pub struct Lent {
    /// Where bindings of Queues are properties.
    pub env: JsValue,
    /// The clock.
    pub clock: HostClock,
    /// Sends requests, as the runtime's own `fetch` does.
    pub fetch: Option<Function>,
    /// What an operator does where no key is set.
    pub set_a_key: &'static str,
}

/// The service. Made anew for a request or kept; clones are the same one.
#[derive(Debug, Clone)]
pub struct Service {
    kept: Rc<Kept>,
    store: Store,
    lent: Rc<Lent>,
    clock: HostClock,
}

impl Service {
    /// The service over a database.
    pub fn new(kept: Rc<Kept>, store: Store, lent: Lent) -> Self {
        let clock = lent.clock.clone();
        Self {
            kept,
            store,
            lent: Rc::new(lent),
            clock,
        }
    }

    /// The same by another clock.
    #[must_use]
    pub fn by(mut self, clock: HostClock) -> Self {
        self.clock = clock;
        self
    }

    /// What the operator set.
    pub fn settings(&self) -> &Settings {
        &self.kept.settings
    }

    /// Where it logs.
    pub fn log(&self) -> &Log {
        &self.kept.log
    }

    /// Its clock.
    pub fn clock(&self) -> &HostClock {
        &self.clock
    }

    /// What an operator does where no key is set.
    pub(crate) fn set_a_key(&self) -> &'static str {
        self.lent.set_a_key
    }

    /// The engine over a database that may be at any schema.
    ///
    /// # Errors
    /// `MISCONFIGURED`.
    pub fn engine(&self) -> Result<ServiceEngine, Error> {
        let service = self.settings().service.as_ref();
        let service = service.map_err(|faults| Error::Misconfigured(faults.clone()))?;
        let definitions = self.kept.definitions.clone();
        let engine = Engine::new(self.store.clone(), self.clock.afresh(), HostRandom, definitions);
        Ok(engine
            .with_outbound(Outlet::new(Rc::clone(&self.lent), service.vault.clone()))
            .with_settings(Arc::clone(&service.engine)))
    }

    /// Opens the database. In development its schema is brought up to date; elsewhere another schema is refused.
    ///
    /// # Errors
    /// `MISCONFIGURED`, `SCHEMA_MISMATCH`, or the database's own failure.
    pub async fn open(&self) -> Result<ServiceEngine, Error> {
        let engine = self.engine()?;
        if !self.kept.ready.get() {
            let checked = engine.check_schema().await;
            if self.settings().development && matches!(checked, Err(Error::SchemaMismatch { .. })) {
                // A twin of this request may be doing the same: whoever comes second finds it done.
                if let Err(error) = engine.migrate().await {
                    let message = error.to_string();
                    Entry::new(Level::Warn, "migration")
                        .with("error", message)
                        .write(self.log());
                }
                engine.check_schema().await?;
            } else {
                checked?;
            }
            self.kept.ready.set(true);
        }
        Ok(engine)
    }

    /// Brings the database to the schema of this program.
    ///
    /// # Errors
    /// `MISCONFIGURED`; `SCHEMA_MISMATCH`: it was written by a newer program; or the database's own failure.
    pub async fn migrate(&self) -> Result<(), Error> {
        self.engine()?.migrate().await?;
        self.kept.ready.set(true);
        Ok(())
    }
}

/// Opens the engine for a request, and leaves it where it is found after the route has answered.
pub(crate) async fn lent(
    call: &Call,
    route: &str,
    success: Option<u16>,
) -> Result<Rc<ServiceEngine>, Refusal> {
    let once = match success {
        Some(success) => once(call, route, success)?,
        None => None,
    };
    let mut engine = call.service.open().await?;
    if call.method != Method::GET {
        engine = engine.caused_by(call.origin(route));
    }
    if let Some(once) = once {
        let tenant = tenant_of(&call.incoming)?;
        call.keyed.set(true);
        engine = engine.keyed(once, tenant.as_ref());
    }
    let engine = Rc::new(engine);
    call.engine.replace(Some(Rc::clone(&engine)));
    Ok(engine)
}

/// What of an event's body says that it changes nothing.
#[derive(Deserialize)]
struct Look {
    #[serde(default)]
    dry_run: bool,
}

/// The request by its key, where it has one.
fn once(call: &Call, route: &str, success: u16) -> Result<Option<Once>, Refusal> {
    let Some(key) = call.key() else {
        return Ok(None);
    };
    let (path, query) = call.path_and_query();
    let body = call.body.borrow();
    let scope = format!("{} {path}", call.method);
    let once = Once::request(&key, &scope, query, &body, success)?;
    let event = route.ends_with("/evaluate") || route.ends_with("{entity_id}/transition");
    let looks = event && serde_json::from_slice::<Look>(&body).is_ok_and(|look| look.dry_run);
    Ok((!looks).then_some(once))
}

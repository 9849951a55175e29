//! The engine over this Worker's database, for one request.

use std::{cell::Cell, ops::Deref, rc::Rc, sync::LazyLock};

use axum::extract::FromRequestParts;
use http::{Method, request::Parts};
use serde::Deserialize;
use statewright_engine::{DefinitionCache, Engine, error::Error, once::Once};
use worker::{
    Env,
    send::{SendFuture, SendWrapper},
};

use crate::{
    call::{Call, route},
    d1::D1,
    host::{WorkerClock, WorkerRandom},
    log::{Entry, Level},
    outbound::Outlet,
    refusal::Refusal,
    request::{current, tenant_of},
    settings::Settings,
};

/// The engine as this Worker drives it.
pub(crate) type WorkerEngine = Engine<D1, WorkerClock, WorkerRandom, Outlet>;

/// Compiled definitions, shared by the requests of an isolate.
static DEFINITIONS: LazyLock<DefinitionCache> = LazyLock::new(DefinitionCache::default);

thread_local! {
    /// Whether this isolate has seen the database at its schema.
    static READY: Cell<bool> = const { Cell::new(false) };
}

/// Opens the database. In development its schema is brought up to date; elsewhere another schema is refused.
///
/// # Errors
/// `MISCONFIGURED`, `SCHEMA_MISMATCH`, or the database's own failure.
pub(crate) async fn open(env: &Env, settings: &Settings) -> Result<WorkerEngine, Error> {
    let service = settings.service.clone().map_err(Error::Misconfigured)?;
    let database = D1::of(env).map_err(|error| Error::Database(error.to_string()))?;
    let engine = Engine::new(database, WorkerClock, WorkerRandom, DEFINITIONS.clone())
        .with_outbound(Outlet::of(env, service.vault))
        .with_settings(service.engine);
    if !READY.get() {
        let checked = engine.check_schema().await;
        if settings.development && matches!(checked, Err(Error::SchemaMismatch { .. })) {
            // A twin of this request may be doing the same: whoever comes second finds it done.
            if let Err(error) = engine.migrate().await {
                let message = error.to_string();
                Entry::new(Level::Warn, "migration")
                    .with("error", message)
                    .write(settings.level);
            }
            engine.check_schema().await?;
        } else {
            checked?;
        }
        READY.set(true);
    }
    Ok(engine)
}

/// The engine for a route that changes nothing, or whose request brings an identity of its own.
pub(crate) struct Service(SendWrapper<Rc<WorkerEngine>>);

/// The engine for a route that changes something, and answers with `STATUS` when it has: a request with an Idempotency-Key has
/// one effect, and its answer is given again (S4.97). Whatever else a handler takes of a request stands before it.
pub(crate) struct Keyed<const STATUS: u16>(SendWrapper<Rc<WorkerEngine>>);

impl Deref for Service {
    type Target = WorkerEngine;

    fn deref(&self) -> &WorkerEngine {
        &self.0
    }
}

impl<const STATUS: u16> Deref for Keyed<STATUS> {
    type Target = WorkerEngine;

    fn deref(&self) -> &WorkerEngine {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Service {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Self(SendFuture::new(lent(parts, None)).await?))
    }
}

impl<S: Sync, const STATUS: u16> FromRequestParts<S> for Keyed<STATUS> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Ok(Self(SendFuture::new(lent(parts, Some(STATUS))).await?))
    }
}

/// Opens the engine for a request, and leaves it where it is found after the route has answered.
async fn lent(parts: &Parts, success: Option<u16>) -> Result<SendWrapper<Rc<WorkerEngine>>, Refusal> {
    let call = current(parts)?.clone();
    let once = match success {
        Some(success) => once(&call, route(parts), success)?,
        None => None,
    };
    let mut engine = open(&call.env, &call.settings).await?;
    if call.method != Method::GET {
        engine = engine.caused_by(call.origin(route(parts)));
    }
    if let Some(once) = once {
        let tenant = tenant_of(&call.raw)?;
        call.keyed.set(true);
        engine = engine.keyed(once, tenant.as_ref());
    }
    let engine = Rc::new(engine);
    call.engine.replace(Some(Rc::clone(&engine)));
    Ok(SendWrapper::new(engine))
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

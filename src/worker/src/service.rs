//! The engine over this Worker's database, for one request.

use std::{cell::Cell, rc::Rc, sync::LazyLock};

use http::Method;
use serde::Deserialize;
use statewright_engine::{DefinitionCache, Engine, error::Error, once::Once};
use worker::Env;

use crate::{
    call::Call,
    d1::D1,
    host::{WorkerClock, WorkerRandom},
    log::{Entry, Level},
    outbound::Outlet,
    refusal::Refusal,
    request::tenant_of,
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

/// Opens the engine for a request, and leaves it where it is found after the route has answered.
pub(crate) async fn lent(
    call: &Call,
    route: &str,
    success: Option<u16>,
) -> Result<Rc<WorkerEngine>, Refusal> {
    let once = match success {
        Some(success) => once(call, route, success)?,
        None => None,
    };
    let mut engine = open(&call.env, &call.settings).await?;
    if call.method != Method::GET {
        engine = engine.caused_by(call.origin(route));
    }
    if let Some(once) = once {
        let tenant = tenant_of(&call.raw)?;
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

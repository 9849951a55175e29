//! The engine over this Worker's database, for one request.

use std::{cell::Cell, ops::Deref, sync::LazyLock};

use axum::extract::FromRequestParts;
use http::request::Parts;
use statewright_engine::{DefinitionCache, Engine, error::Error};
use worker::{
    Env,
    send::{SendFuture, SendWrapper},
};

use crate::{
    d1::D1,
    host::{WorkerClock, WorkerRandom},
    log::{Entry, Level},
    refusal::Refusal,
    settings::Settings,
};

/// The engine as this Worker drives it.
pub(crate) type WorkerEngine = Engine<D1, WorkerClock, WorkerRandom>;

/// Compiled definitions, shared by the requests of an isolate.
static DEFINITIONS: LazyLock<DefinitionCache> = LazyLock::new(DefinitionCache::default);

thread_local! {
    /// Whether this isolate has seen the database at its schema.
    static READY: Cell<bool> = const { Cell::new(false) };
}

/// The engine, once the database is known to have the schema that it needs.
pub(crate) struct Service(SendWrapper<WorkerEngine>);

impl Service {
    /// Opens the database. In development its schema is brought up to date; elsewhere another schema is refused.
    ///
    /// # Errors
    /// `SCHEMA_MISMATCH`, or the database's own failure.
    pub(crate) async fn open(env: &Env) -> Result<Self, Error> {
        let settings = Settings::of(env);
        let database = D1::of(env).map_err(|error| Error::Database(error.to_string()))?;
        let engine = Engine::new(database, WorkerClock, WorkerRandom, DEFINITIONS.clone());
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
        Ok(Self(SendWrapper::new(engine)))
    }
}

impl Deref for Service {
    type Target = WorkerEngine;

    fn deref(&self) -> &WorkerEngine {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Service {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        // INVARIANT: `serve` puts it there.
        let env = parts.extensions.get::<Env>().cloned();
        let env = env.ok_or_else(|| Error::Database("the request has no environment".to_owned()))?;
        Ok(SendFuture::new(Self::open(&env)).await?)
    }
}

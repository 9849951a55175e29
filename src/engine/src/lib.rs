//! Every operation of the Statewright service, over a [`database::Database`], a [`database::Clock`] and
//! [`database::Random`] that its host lends it.
//!
//! A read is one batch and a write is one batch. What was decided between them is stored only where nothing that it
//! was decided on has changed: triggers of the schema abort the batch otherwise, and the request decides again from
//! a fresh read, for at most [`retry::PATIENCE_MILLIS`].

pub mod act;
pub mod batch;
mod batch_once;
mod cache;
pub mod database;
mod decide;
mod entities;
mod entity_list;
pub mod error;
mod evaluate;
pub mod history;
pub mod hooks;
mod in_flight;
mod load;
mod machines;
pub mod once;
pub mod outbound;
pub mod outbox;
pub mod outbox_admin;
pub mod page;
pub mod receipts;
pub mod records;
pub mod request;
pub mod retry;
mod revisions;
mod row;
pub mod scanner;
pub mod scheduler;
pub mod schema;
pub mod secrets;

pub mod settings;
pub mod signature;
pub mod sources;
mod store;
mod stored;
pub mod subscriptions;
pub mod tree_view;
mod trees;
pub mod views;

pub use cache::DefinitionCache;
pub use entity_list::EntityQuery;
pub use history::HistoryQuery;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use statewright_core::ids::TenantId;

use crate::database::{Clock, Database, DatabaseError, Random, Statement};
use crate::error::Error;
use crate::once::{Keyed, Once, Origin, Scope};
use crate::outbound::{Closed, Outbound};
use crate::outbox::Claim;
use crate::settings::Settings;

/// The operations of the service. Made anew for a request or kept: it holds no state but the cache of definitions, how the
/// request came, and which effects it is to deliver.
#[derive(Debug)]
pub struct Engine<D, C, R, O = Closed> {
    database: D,
    clock: C,
    random: R,
    outbound: O,
    cache: DefinitionCache,
    settings: Arc<Settings>,
    scope: Scope,
    /// Effects of this request's commits, claimed for it.
    claimed: RefCell<Vec<Claim>>,
    /// How many statements it has run: a platform bounds them for an invocation.
    statements: Cell<usize>,
}

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// An engine over what its host lends it. The cache may be shared between engines, whatever their databases.
    pub fn new(database: D, clock: C, random: R, cache: DefinitionCache) -> Self {
        Self {
            database,
            clock,
            random,
            outbound: Closed,
            cache,
            settings: Arc::default(),
            scope: Scope::default(),
            claimed: RefCell::default(),
            statements: Cell::default(),
        }
    }
}

impl<D, C, R, O> Engine<D, C, R, O> {
    /// The same with a way out: what is committed is delivered by [`Engine::deliver_claimed`] and [`Engine::deliver_due`].
    #[must_use]
    pub fn with_outbound<P: Outbound>(self, outbound: P) -> Engine<D, C, R, P> {
        Engine {
            database: self.database,
            clock: self.clock,
            random: self.random,
            outbound,
            cache: self.cache,
            settings: self.settings,
            scope: self.scope,
            claimed: self.claimed,
            statements: self.statements,
        }
    }

    /// The same with an operator's settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Arc<Settings>) -> Self {
        self.settings = settings;
        self
    }

    /// The same for a request that came so.
    #[must_use]
    pub fn caused_by(mut self, origin: Origin) -> Self {
        self.scope.origin = origin;
        self
    }

    /// The same for a request that is to have one effect. Its tenant is left out where the body names it.
    #[must_use]
    pub fn keyed(mut self, once: Once, tenant: Option<&TenantId>) -> Self {
        self.scope.keyed = Some(Keyed::new(once, tenant));
        self
    }
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The database it works on.
    pub fn database(&self) -> &D {
        &self.database
    }

    /// The clock it reads.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// How many statements it has run: a platform bounds them for an invocation.
    pub fn statements(&self) -> usize {
        self.statements.get()
    }

    /// The operator's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs a batch.
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let run = self.statements.get().saturating_add(statements.len());
        self.statements.set(run);
        self.database.batch(statements).await
    }

    /// Runs a batch that only reads: a failure changed nothing.
    async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, Error> {
        self.read_in(&self.scope, statements).await
    }
}

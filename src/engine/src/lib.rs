//! Every operation of the Statewright service, over a [`database::Database`], a [`database::Clock`] and
//! [`database::Random`] that its host lends it.
//!
//! A read is one batch and a write is one batch. What was decided between them is stored only where nothing that it
//! was decided on has changed: triggers of the schema abort the batch otherwise, and the request decides again from
//! a fresh read, for at most [`retry::PATIENCE_MILLIS`].

pub mod batch;
mod cache;
pub mod database;
mod decide;
mod entities;
mod entity_list;
pub mod error;
mod evaluate;
pub mod history;
mod in_flight;
mod load;
mod machines;
pub mod page;
pub mod request;
pub mod retry;
mod revisions;
pub mod scanner;
pub mod scheduler;
pub mod schema;
mod store;
mod stored;
pub mod tree_view;
mod trees;
pub mod views;

pub use cache::DefinitionCache;
pub use entity_list::EntityQuery;
pub use history::HistoryQuery;

use crate::database::{Clock, Database, DatabaseError, Random, Statement};
use crate::error::Error;

/// The operations of the service. Made anew for a request or kept: it holds no state but the cache of definitions.
#[derive(Debug)]
pub struct Engine<D, C, R> {
    database: D,
    clock: C,
    random: R,
    cache: DefinitionCache,
}

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// An engine over what its host lends it. The cache may be shared between engines, whatever their databases.
    pub fn new(database: D, clock: C, random: R, cache: DefinitionCache) -> Self {
        Self {
            database,
            clock,
            random,
            cache,
        }
    }

    /// The database it works on.
    pub fn database(&self) -> &D {
        &self.database
    }

    /// The clock it reads.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Runs a batch that only reads: a failure changed nothing.
    async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, Error> {
        self.database
            .batch(statements)
            .await
            .map_err(|error| match error {
                DatabaseError::Constraint(message) | DatabaseError::Uncertain(message) => {
                    Error::Database(message)
                }
            })
    }
}

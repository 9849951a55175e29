//! A host's database, whatever its type: one instance of the engine's code serves them all.

use std::{fmt, future::Future, pin::Pin, rc::Rc};

use statewright_engine::database::{Database, DatabaseError, Statement};

/// What a batch gives.
type Rows = Result<Vec<Vec<String>>, DatabaseError>;

/// [`Database`] as an object.
trait Batches {
    fn run(&self, statements: Vec<Statement>) -> Pin<Box<dyn Future<Output = Rows> + '_>>;
}

impl<D: Database> Batches for D {
    fn run(&self, statements: Vec<Statement>) -> Pin<Box<dyn Future<Output = Rows> + '_>> {
        Box::pin(self.batch(statements))
    }
}

/// A database of any kind. Clones are the same one.
#[derive(Clone)]
pub struct Store(Rc<dyn Batches>);

impl Store {
    /// That database.
    pub fn new(database: impl Database + 'static) -> Self {
        Self(Rc::new(database))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Store")
    }
}

impl Database for Store {
    async fn batch(&self, statements: Vec<Statement>) -> Rows {
        self.0.run(statements).await
    }
}

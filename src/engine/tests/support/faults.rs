//! A database that fails on purpose, at a batch that the test names.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use statewright_engine::database::{Database, DatabaseError, Statement};

use super::Sqlite;

/// What goes wrong at a batch.
#[derive(Clone)]
pub enum Fault {
    /// It fails before it is run.
    Before,
    /// It is committed, and its answer is lost.
    After,
    /// Another writer comes first.
    Meanwhile(Rc<dyn Fn()>),
}

/// A database with one fault.
#[derive(Clone)]
pub struct Faulty {
    pub inner: Sqlite,
    /// Which batch, from 0, and what happens there.
    fault: Rc<RefCell<Option<(usize, Fault)>>>,
    pub seen: Rc<Cell<usize>>,
}

impl Faulty {
    pub fn new(inner: Sqlite) -> Self {
        Self {
            inner,
            fault: Rc::default(),
            seen: Rc::default(),
        }
    }

    /// Sets the fault for the next operation.
    pub fn arm(&self, at: usize, fault: Fault) {
        self.seen.set(0);
        *self.fault.borrow_mut() = Some((at, fault));
    }

    /// Whether the fault happened.
    pub fn struck(&self) -> bool {
        self.fault.borrow().is_none()
    }
}

impl Database for Faulty {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let place = self.seen.get();
        self.seen.set(place + 1);
        let struck = match &*self.fault.borrow() {
            Some((at, fault)) if *at == place => Some(fault.clone()),
            _ => None,
        };
        if struck.is_some() {
            *self.fault.borrow_mut() = None;
        }
        match struck {
            None => self.inner.batch(statements).await,
            Some(Fault::Before) => Err(DatabaseError::Uncertain(
                "the database was not reached".to_owned(),
            )),
            Some(Fault::After) => {
                self.inner.batch(statements).await?;
                Err(DatabaseError::Uncertain("the answer was lost".to_owned()))
            }
            Some(Fault::Meanwhile(other)) => {
                other();
                self.inner.batch(statements).await
            }
        }
    }
}

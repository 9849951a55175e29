//! A database that fails on purpose, at the batches that the test names.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
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
    /// It seems to have failed, and arrives right before the next write.
    Late,
    /// It seems to have failed, and arrives when the test says so.
    Stray,
    /// Another writer comes first.
    Meanwhile(Rc<dyn Fn()>),
}

/// A database with faults.
#[derive(Clone)]
pub struct Faulty {
    pub inner: Sqlite,
    /// By the number of the batch, from 0.
    faults: Rc<RefCell<BTreeMap<usize, Fault>>>,
    next: Rc<Cell<usize>>,
    late: Rc<RefCell<Vec<Vec<Statement>>>>,
    stray: Rc<RefCell<Vec<Vec<Statement>>>>,
}

impl Faulty {
    pub fn new(inner: Sqlite) -> Self {
        Self {
            inner,
            faults: Rc::default(),
            next: Rc::default(),
            late: Rc::default(),
            stray: Rc::default(),
        }
    }

    /// Sets the faults of the next operation.
    pub fn arm(&self, faults: impl IntoIterator<Item = (usize, Fault)>) {
        self.next.set(0);
        *self.faults.borrow_mut() = faults.into_iter().collect();
    }

    /// Whether every fault happened.
    pub fn struck(&self) -> bool {
        self.faults.borrow().is_empty()
    }

    /// How many batches there were since the faults were set.
    pub fn seen(&self) -> usize {
        self.next.get()
    }

    /// Lets the strays arrive; what becomes of them nobody learns.
    pub fn land(&self) {
        let batches = [self.late.take(), self.stray.take()].concat();
        for batch in batches {
            drop(self.inner.run(&batch));
        }
    }
}

/// Whether a batch writes.
pub fn writes(statements: &[&str]) -> bool {
    !statements.iter().all(|sql| reads(sql))
}

/// Whether a statement only reads.
pub fn reads(sql: &str) -> bool {
    let words = ["INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE ", "ALTER "];
    ["SELECT ", "WITH "].iter().any(|word| sql.starts_with(word))
        && !words.iter().any(|word| sql.contains(word))
}

fn lost() -> DatabaseError {
    DatabaseError::Uncertain("the answer was lost".to_owned())
}

impl Database for Faulty {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let place = self.next.get();
        self.next.set(place + 1);
        let sql: Vec<_> = statements.iter().map(|statement| statement.sql).collect();
        if writes(&sql) {
            for batch in self.late.take() {
                drop(self.inner.run(&batch));
            }
        }
        let fault = self.faults.borrow_mut().remove(&place);
        match fault {
            None => self.inner.run(&statements),
            Some(Fault::Before) => Err(DatabaseError::Uncertain(
                "the database was not reached".to_owned(),
            )),
            Some(Fault::After) => {
                self.inner.run(&statements)?;
                Err(lost())
            }
            Some(Fault::Late) => {
                self.late.borrow_mut().push(statements);
                Err(lost())
            }
            Some(Fault::Stray) => {
                self.stray.borrow_mut().push(statements);
                Err(lost())
            }
            Some(Fault::Meanwhile(other)) => {
                other();
                self.inner.run(&statements)
            }
        }
    }
}

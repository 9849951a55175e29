//! A database far away over a bad line, which many clients use at once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Poll;

use statewright_engine::database::{Database, DatabaseError, Statement};

use super::Sqlite;

#[derive(Clone)]
pub struct Chance(Rc<Cell<u64>>);

impl Chance {
    pub fn of(seed: u64) -> Self {
        Self(Rc::new(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)))
    }

    pub fn below(&self, most: u64) -> u64 {
        let next = self
            .0
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0.set(next);
        (next >> 33) % most
    }
}

/// A database far away over a bad line.
#[derive(Clone)]
pub struct FarAway {
    pub inner: Sqlite,
    pub chance: Chance,
    /// Of a hundred batches, how many meet each mishap.
    pub mishaps: u64,
    pub on_their_way: Rc<RefCell<Vec<Vec<Statement>>>>,
}

async fn turns(count: u64) {
    let mut left = count;
    std::future::poll_fn(|_| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        Poll::Pending
    })
    .await;
}

impl FarAway {
    /// One of the writes that were taken for lost arrives.
    pub fn arrive(&self, most: usize) {
        for _ in 0..most {
            let Some(batch) = self.on_their_way.borrow_mut().pop() else {
                return;
            };
            drop(self.inner.run(&batch));
        }
    }
}

impl Database for FarAway {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        turns(self.chance.below(4)).await;
        if self.chance.below(4) == 0 {
            self.arrive(1);
        }
        let lost = || DatabaseError::Uncertain("the line is bad".to_owned());
        let mishap = self.chance.below(100);
        let outcome = match mishap / self.mishaps.max(1) {
            0 if self.mishaps > 0 => Err(lost()),
            1 if self.mishaps > 0 => {
                drop(self.inner.run(&statements));
                Err(lost())
            }
            2 if self.mishaps > 0 => {
                self.on_their_way.borrow_mut().push(statements);
                Err(lost())
            }
            _ => self.inner.run(&statements),
        };
        turns(self.chance.below(3)).await;
        outcome
    }
}

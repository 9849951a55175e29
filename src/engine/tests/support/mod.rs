//! A host for tests: rusqlite with the platform's limits, a clock that only the test moves, and numbers for chance.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

pub mod expiring;
pub mod families;
pub mod far;
pub mod faults;
pub mod keyed;
pub mod order;
pub mod outside;
pub mod providers;
pub mod records;
pub mod scenes;
pub mod vault;
pub mod world;
pub mod wrongs;

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, StatementStatus};
use statewright_core::ids::{Millis, TenantId};
use statewright_engine::database::{Clock, Database, DatabaseError, Param, Random, Statement};
use statewright_engine::{DefinitionCache, Engine};

/// The time at which tests begin.
pub const START: i64 = 1_700_000_000_000;

/// Runs a future that never waits for anything but itself.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
    panic!("the future never came to an end");
}

/// SQLite in memory, refusing what D1 would refuse in production and a local database would not.
#[derive(Clone)]
pub struct Sqlite {
    pub connection: Rc<RefCell<Connection>>,
    /// The batches that were run, each as its statements.
    pub batches: Rc<RefCell<Vec<Vec<&'static str>>>>,
    pub largest_param: Rc<Cell<usize>>,
    /// The steps of SQLite's machine that all statements took since the test last set it: work that no clock blurs.
    pub steps: Rc<Cell<i64>>,
}

/// The limits of D1 that SQLite can enforce by itself (platform.md).
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_LENGTH, 2_000_000),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (Limit::SQLITE_LIMIT_COLUMN, 100),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 5),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
];

impl Sqlite {
    pub fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most).unwrap();
        }
        connection.set_prepared_statement_cache_capacity(100);
        Self {
            connection: Rc::new(RefCell::new(connection)),
            batches: Rc::default(),
            largest_param: Rc::default(),
            steps: Rc::default(),
        }
    }

    /// Everything that is stored, but for what only bookkeeping needs, as text to compare.
    pub fn dump(&self) -> String {
        let connection = self.connection.borrow();
        let mut text = String::new();
        for table in [
            "machines",
            "revisions",
            "entities",
            "entries",
            "history",
            "instances",
            "forwards",
            "rearms",
            "held",
            "outbox",
            "subscriptions",
            "inbox",
            "records",
            "secrets",
            "sources",
            "source_counts",
            "ingest_tokens",
        ] {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2"))
                .unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                text.push_str(table);
                for column in 0..columns {
                    let value: rusqlite::types::Value = row.get(column).unwrap();
                    write!(text, " {value:?}").unwrap();
                }
                text.push('\n');
            }
        }
        text
    }

    pub fn execute(&self, sql: &str) -> usize {
        self.connection.borrow().execute(sql, []).unwrap()
    }

    pub fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.connection
            .borrow()
            .query_row(&sql, [], |row| row.get(0))
            .unwrap()
    }

    /// The steps that a piece of work takes.
    pub fn steps_of(&self, work: impl FnOnce()) -> i64 {
        self.steps.set(0);
        work();
        self.steps.get()
    }

    /// The batches that were run since the last call.
    pub fn taken(&self) -> Vec<Vec<&'static str>> {
        std::mem::take(&mut self.batches.borrow_mut())
    }

    pub fn run(&self, statements: &[Statement]) -> Result<Vec<Vec<String>>, DatabaseError> {
        assert!(statements.len() <= 1000, "D1: 1,000 queries an invocation");
        self.batches
            .borrow_mut()
            .push(statements.iter().map(|statement| statement.sql).collect());
        let connection = self.connection.borrow();
        // A savepoint is a transaction of its own, or a part of one that the test has begun.
        connection.execute_batch("SAVEPOINT batch").unwrap();
        let outcome = statements
            .iter()
            .map(|statement| self.statement(&connection, statement))
            .collect();
        match outcome {
            Ok(rows) => {
                connection.execute_batch("RELEASE batch").unwrap();
                Ok(rows)
            }
            Err(error) => {
                connection
                    .execute_batch("ROLLBACK TO batch; RELEASE batch")
                    .unwrap();
                Err(error)
            }
        }
    }

    fn statement(
        &self,
        connection: &Connection,
        statement: &Statement,
    ) -> Result<Vec<String>, DatabaseError> {
        let mut prepared = connection
            .prepare_cached(statement.sql)
            .map_err(|error| failure(&error))?;
        assert_eq!(
            statement.params.len(),
            prepared.parameter_count(),
            "D1: a value for each parameter: {}",
            statement.sql
        );
        for (place, param) in statement.params.iter().enumerate() {
            match param {
                Param::Null => prepared
                    .raw_bind_parameter(place + 1, rusqlite::types::Null)
                    .unwrap(),
                Param::Integer(integer) => {
                    assert!(
                        integer.unsigned_abs() <= 1 << 53,
                        "an integer that JavaScript may alter: {integer}"
                    );
                    // D1 binds every number as a double.
                    #[expect(clippy::cast_precision_loss, reason = "it was just looked at")]
                    let double = *integer as f64;
                    prepared.raw_bind_parameter(place + 1, double).unwrap();
                }
                Param::Text(text) => {
                    assert!(text.len() <= 2_000_000, "D1: 2 MB a string");
                    assert!(!text.contains('\0'), "NUL truncates");
                    self.largest_param.set(self.largest_param.get().max(text.len()));
                    prepared.raw_bind_parameter(place + 1, text.as_str()).unwrap();
                }
            }
        }
        let columns = prepared.column_count();
        assert!(columns <= 1, "one text column: {}", statement.sql);
        let mut rows = prepared.raw_query();
        let mut texts = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next().map_err(|error| failure(&error))? {
            let ValueRef::Text(text) = row.get_ref(0).unwrap() else {
                panic!("no text: {}", statement.sql)
            };
            bytes += text.len();
            texts.push(String::from_utf8(text.to_vec()).unwrap());
        }
        assert!(bytes <= 50_000_000, "D1: 50 MB a result, not {bytes}");
        drop(rows);
        let steps = prepared.reset_status(StatementStatus::VmStep);
        self.steps.set(self.steps.get() + i64::from(steps));
        let indexed = prepared.reset_status(StatementStatus::AutoIndex);
        assert_eq!(indexed, 0, "an index was made to run {}", statement.sql);
        Ok(texts)
    }
}

fn failure(error: &rusqlite::Error) -> DatabaseError {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) if cause.code == ErrorCode::ConstraintViolation => {
            DatabaseError::Constraint(error.to_string())
        }
        rusqlite::Error::SqliteFailure(cause, _) if cause.code == ErrorCode::TooBig => {
            panic!("D1: 2 MB a row, string or BLOB")
        }
        _ => DatabaseError::Uncertain(error.to_string()),
    }
}

impl Database for Sqlite {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        self.run(&statements)
    }
}

/// A clock that only the test moves, and that sleeping moves.
#[derive(Clone)]
pub struct TestClock(pub Rc<Cell<i64>>);

impl TestClock {
    pub fn new() -> Self {
        Self(Rc::new(Cell::new(START)))
    }

    pub fn set(&self, offset: i64) {
        self.0.set(START + offset);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.0.get())
    }

    async fn sleep(&self, millis: u64) {
        self.0.set(self.0.get() + i64::try_from(millis).unwrap());
    }
}

/// Numbers that repeat from run to run.
#[derive(Clone, Default)]
pub struct Counted(Rc<Cell<u128>>);

impl From<u128> for Counted {
    fn from(seed: u128) -> Self {
        Self(Rc::new(Cell::new(seed)))
    }
}

impl Random for Counted {
    fn bytes(&self) -> [u8; 16] {
        // An odd multiplier visits every value before one repeats.
        let next = self
            .0
            .get()
            .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
            .wrapping_add(0xB504_F32D);
        self.0.set(next);
        next.to_be_bytes()
    }
}

pub type TestEngine<D = Sqlite> = Engine<D, TestClock, Counted>;

/// A service with an empty database of the current schema.
pub struct Service {
    pub engine: TestEngine,
    pub sqlite: Sqlite,
    pub clock: TestClock,
    pub cache: DefinitionCache,
}

impl Service {
    pub fn new() -> Self {
        let (sqlite, clock, cache) = (Sqlite::new(), TestClock::new(), DefinitionCache::default());
        let engine = Engine::new(sqlite.clone(), clock.clone(), Counted::default(), cache.clone());
        block_on(engine.migrate()).unwrap();
        sqlite.taken();
        Self {
            engine,
            sqlite,
            clock,
            cache,
        }
    }
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

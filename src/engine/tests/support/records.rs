//! State records for tests: a host that keeps answers as the Worker does, and two engines over one database.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use statewright_core::code::Code;
use statewright_core::ids::{Millis, TenantId};
use statewright_engine::database::Clock;
use statewright_engine::error::Error;
use statewright_engine::once::{Once, Origin};
use statewright_engine::outbound::{
    Outbound, OutboundRequest, OutboundResponse, SendFailure, Vault, VaultFailure,
};
use statewright_engine::settings::Settings;
use statewright_engine::{DefinitionCache, Engine};

use super::faults::{Fault, Faulty};
use super::{Counted, START, Sqlite, block_on, tenant};

/// A clock that waiting moves only where the test wants that, so that what two runs write can be compared to the byte.
#[derive(Clone, Default)]
pub struct LabClock {
    pub now: Rc<Cell<i64>>,
    pub moves: Rc<Cell<bool>>,
}

impl Clock for LabClock {
    fn now(&self) -> Millis {
        Millis(self.now.get())
    }

    async fn sleep(&self, millis: u64) {
        if self.moves.get() {
            self.now.set(self.now.get() + i64::try_from(millis).unwrap());
        }
    }
}

/// A way out that remembers what was sent, and whose receivers accept it.
#[derive(Clone, Default)]
pub struct Way {
    sends: bool,
    sent: Rc<RefCell<Vec<OutboundRequest>>>,
}

impl Vault for Way {
    async fn seal(&self, _: &str, _: &str) -> Result<String, VaultFailure> {
        Err(VaultFailure::NoKey)
    }
    async fn open(&self, _: &str, _: &str) -> Result<String, VaultFailure> {
        Err(VaultFailure::NoKey)
    }
}

impl Outbound for Way {
    fn sends(&self) -> bool {
        self.sends
    }
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        self.sent.borrow_mut().push(request);
        Ok(OutboundResponse {
            status: 204,
            ..OutboundResponse::default()
        })
    }
    async fn enqueue(&self, _: &str, _: &str) -> Result<(), SendFailure> {
        Err(SendFailure::Timeout(1))
    }
}

pub type RecordEngine = Engine<Faulty, LabClock, Counted, Way>;

/// What a caller gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub status: u16,
    /// The body to the byte.
    pub text: String,
    /// Whether it is an answer that was kept.
    pub replayed: bool,
}

impl Told {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// The code, and what `reason` says, of an error.
    pub fn code(&self) -> (u16, String, Value) {
        let error = &self.json()["error"];
        let code = error["code"].as_str().unwrap_or_else(|| panic!("{}", self.text));
        (self.status, code.to_owned(), error["reason"].clone())
    }

    /// The record of an answer that all went well.
    #[track_caller]
    pub fn record(&self) -> Value {
        assert!(self.status < 300, "{}", self.text);
        self.json()["record"].clone()
    }

    #[track_caller]
    pub fn event_id(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()["event_id"].as_str().unwrap().to_owned()
    }
}

/// An operation of state records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Create,
    Get,
    Move,
}

impl Op {
    fn success(self) -> u16 {
        if self == Self::Create { 201 } else { 200 }
    }

    fn route(self) -> &'static str {
        match self {
            Self::Create => "POST /api/state/create",
            Self::Get => "POST /api/state/get",
            Self::Move => "POST /api/state/transition",
        }
    }
}

/// A service of state records.
pub struct Lab {
    pub sqlite: Sqlite,
    pub clock: LabClock,
    /// The database of the engine under test.
    pub faulty: Faulty,
    random: Counted,
    other: Counted,
    pub settings: Settings,
    /// Whether this process sends what it commits.
    pub sends: bool,
    /// What was sent.
    pub sent: Rc<RefCell<Vec<OutboundRequest>>>,
    pub origin: Origin,
}

impl Lab {
    pub fn new() -> Self {
        Self::over(Sqlite::new(), 1)
    }

    /// The same over a database that others may use too; names of chance begin with a seed.
    pub fn over(sqlite: Sqlite, seed: u128) -> Self {
        let lab = Self {
            clock: LabClock {
                now: Rc::new(Cell::new(START)),
                moves: Rc::default(),
            },
            faulty: Faulty::new(sqlite.clone()),
            sqlite,
            random: Counted::from(seed),
            other: Counted::from(seed + 1),
            settings: Settings::default(),
            sends: false,
            sent: Rc::default(),
            origin: Origin {
                source: "api".to_owned(),
                stack: "POST /api/state/transition".to_owned(),
                trace: "ray-1".to_owned(),
                run: None,
                hops: 0,
            },
        };
        block_on(lab.engine().migrate()).unwrap();
        lab.sqlite.taken();
        lab
    }

    /// The clock at an offset from the start.
    pub fn at(&self, offset: i64) {
        self.clock.now.set(START + offset);
    }

    fn engine_over(&self, faulty: &Faulty, random: &Counted) -> RecordEngine {
        Engine::new(
            faulty.clone(),
            self.clock.clone(),
            random.clone(),
            DefinitionCache::default(),
        )
        .with_outbound(Way {
            sends: self.sends,
            sent: Rc::clone(&self.sent),
        })
        .with_settings(Arc::new(self.settings.clone()))
        .caused_by(self.origin.clone())
    }

    /// The engine under test, made anew for a request.
    pub fn engine(&self) -> RecordEngine {
        self.engine_over(&self.faulty, &self.random)
    }

    /// Another one, which nothing disturbs.
    pub fn rival(&self) -> RecordEngine {
        self.engine_over(&Faulty::new(self.sqlite.clone()), &self.other)
    }

    pub fn call(&self, op: Op, body: &Value) -> Told {
        run(&self.engine(), op, &t1(), body.to_string().as_bytes())
    }

    /// The same with a body as bytes.
    pub fn bytes(&self, op: Op, body: impl AsRef<[u8]>) -> Told {
        run(&self.engine(), op, &t1(), body.as_ref())
    }

    /// The same of another tenant.
    pub fn of(&self, tenant: &TenantId, op: Op, body: &Value) -> Told {
        run(&self.engine(), op, tenant, body.to_string().as_bytes())
    }

    /// The same of a request with a key.
    pub fn keyed(&self, key: &str, op: Op, body: &Value) -> Told {
        keyed(self.engine(), key, op, body)
    }

    pub fn create(&self, id: &str) -> Told {
        self.call(
            Op::Create,
            &json!({"machine": "task", "id": id, "state": "open", "data": {"n": 1}}),
        )
    }

    /// Moves on from a version, and stays in the state `open`.
    pub fn bump(&self, id: &str, version: u64) -> Told {
        self.call(Op::Move, &moved(id, "open", "open", version))
    }

    /// A subscription to records; `filter` is machine, from and to.
    pub fn subscribe(&self, id: &str, filter: [Option<&str>; 3], active: bool) {
        self.subscribe_of("t1", id, "records", filter, active);
    }

    pub fn subscribe_of(
        &self,
        tenant: &str,
        id: &str,
        source: &str,
        [machine, from, to]: [Option<&str>; 3],
        active: bool,
    ) {
        self.sqlite
            .connection
            .borrow()
            .execute(
                "INSERT INTO subscriptions (tenant, id, source, machine, from_state, to_state, sink, active, created_at, \
                   updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '{\"type\":\"webhook\",\"url\":\"https://example.com/\"}', ?7, 0, 0)",
                rusqlite::params![tenant, id, source, machine, from, to, active],
            )
            .unwrap();
    }

    /// The rows that a query gives, each as the text of a JSON array.
    pub fn rows(&self, sql: &str) -> Vec<Value> {
        let connection = self.sqlite.connection.borrow();
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap())
            .collect()
    }

    /// All that is stored of records, as text to compare. Names of chance stand in it as they are: they repeat from run to
    /// run.
    pub fn stored(&self) -> String {
        let connection = self.sqlite.connection.borrow();
        let mut text = String::new();
        for table in ["records", "outbox", "inbox"] {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3"))
                .unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                write!(text, "{table}:").unwrap();
                for column in 0..columns {
                    let value: rusqlite::types::Value = row.get(column).unwrap();
                    write!(text, " {value:?}").unwrap();
                }
                text.push('\n');
            }
        }
        text
    }
}

pub fn t1() -> TenantId {
    tenant("t1")
}

/// The body of a transition.
pub fn moved(id: &str, from: &str, to: &str, expected_version: u64) -> Value {
    json!({"machine": "task", "id": id, "from": from, "to": to, "expected_version": expected_version})
}

pub fn named(id: &str) -> Value {
    json!({"machine": "task", "id": id})
}

/// A rival at the batch of that number.
pub fn meanwhile(lab: &Rc<Lab>, place: usize, rival: impl Fn(&Lab) + 'static) -> (usize, Fault) {
    let other = Rc::clone(lab);
    (place, Fault::Meanwhile(Rc::new(move || rival(&other))))
}

/// Runs an operation of a request with a key, over an engine made for it.
pub fn keyed(engine: RecordEngine, key: &str, op: Op, body: &Value) -> Told {
    let body = body.to_string();
    let once = Once::request(key, op.route(), "", body.as_bytes(), op.success()).unwrap();
    run(&engine.keyed(once, Some(&t1())), op, &t1(), body.as_bytes())
}

/// Runs an operation as a host does: what it answers is kept where the request has a key.
pub fn run(engine: &RecordEngine, op: Op, tenant: &TenantId, body: &[u8]) -> Told {
    let told = match op {
        Op::Create => told(op, block_on(engine.create_record(tenant, body))),
        Op::Get => told(op, block_on(engine.get_record(tenant, body))),
        Op::Move => told(op, block_on(engine.transition_record(tenant, body))),
    };
    let (told, code) = match told {
        Ok(told) => (told, None),
        Err(error) => refused(&error),
    };
    if told.replayed {
        return told;
    }
    match block_on(engine.settle(told.status, code, Some(&told.text))) {
        Ok(()) => told,
        Err(error) => refused(&error).0,
    }
}

fn told<T: Serialize>(op: Op, outcome: Result<T, Error>) -> Result<Told, Error> {
    Ok(Told {
        status: op.success(),
        text: serde_json::to_string(&outcome?).unwrap(),
        replayed: false,
    })
}

fn refused(error: &Error) -> (Told, Option<Code>) {
    let told = match error {
        Error::Replayed(replay) => Told {
            status: replay.status,
            text: replay.answer.clone().unwrap(),
            replayed: true,
        },
        error => Told {
            status: error.status(),
            text: error.body().to_string(),
            replayed: false,
        },
    };
    (told, Some(error.code()))
}

//! Two engines over one database, one of which the test disturbs, and the operations to disturb.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rusqlite::types::Value as Stored;
use serde::Serialize;
use serde_json::{Value, json};
use statewright_core::ids::{Millis, TenantId};
use statewright_engine::database::Clock;
use statewright_engine::error::Error;
use statewright_engine::{DefinitionCache, Engine};

use super::faults::Faulty;
use super::{Counted, START, Sqlite, block_on, tenant};

/// A clock that waiting does not move, so that what two runs write can be compared to the byte.
#[derive(Clone)]
pub struct StillClock {
    pub now: Rc<Cell<i64>>,
    pub waits: Rc<Cell<u32>>,
}

impl Clock for StillClock {
    fn now(&self) -> Millis {
        Millis(self.now.get())
    }

    async fn sleep(&self, _millis: u64) {
        self.waits.set(self.waits.get() + 1);
        assert!(self.waits.get() < 100, "it is tried again and again");
    }
}

pub type WorldEngine = Engine<Faulty, StillClock, Counted>;

/// What an operation answers: its status, and its body or its error.
pub type Reply = (u16, Value);

pub struct World {
    pub sqlite: Sqlite,
    pub clock: StillClock,
    /// The database of `engine`.
    pub faulty: Faulty,
    /// The engine under test.
    pub engine: WorldEngine,
    /// Another one, which nothing disturbs.
    pub other: WorldEngine,
}

impl World {
    pub fn new() -> Rc<Self> {
        let sqlite = Sqlite::new();
        let clock = StillClock {
            now: Rc::new(Cell::new(START)),
            waits: Rc::default(),
        };
        let faulty = Faulty::new(sqlite.clone());
        let engine = |database: &Faulty, seed: u128| {
            Engine::new(
                database.clone(),
                clock.clone(),
                Counted::from(seed),
                DefinitionCache::default(),
            )
        };
        let world = Self {
            engine: engine(&faulty, 1),
            other: engine(&Faulty::new(sqlite.clone()), 2),
            faulty,
            clock: clock.clone(),
            sqlite,
        };
        block_on(world.engine.migrate()).unwrap();
        Rc::new(world)
    }

    /// The clock at an offset from the start.
    pub fn at(&self, offset: i64) {
        self.clock.now.set(START + offset);
    }

    /// All that is stored, with names of chance replaced by what they name, in an order that chance has no part in.
    ///
    /// Checks on the way what always holds: no row without its entity (I3, I4), and nothing left of a batch's own
    /// bookkeeping.
    pub fn stored(&self) -> String {
        let connection = self.sqlite.connection.borrow();
        let rows = |sql: &str| -> Vec<Vec<Stored>> {
            let mut statement = connection.prepare(sql).unwrap();
            let columns = statement.column_count();
            let rows = statement
                .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
                .unwrap();
            rows.map(Result::unwrap).collect()
        };
        let text = |cell: &Stored| match cell {
            Stored::Text(text) => text.clone(),
            other => panic!("no text: {other:?}"),
        };
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for row in rows("SELECT uid, tenant || '/' || machine_id || '/' || entity_id FROM entities") {
            let second = names.insert(text(&row[0]), format!("<{}>", text(&row[1])));
            assert_eq!(second, None, "two entities of one incarnation");
        }
        for table in ["entries", "history", "instances", "forwards"] {
            for row in rows(&format!("SELECT DISTINCT uid FROM {table}")) {
                let uid = text(&row[0]);
                assert!(names.contains_key(&uid), "a row of {table} has no entity");
            }
        }
        for row in rows(
            "SELECT commit_id, tenant || '/' || machine_id || '@' || revision FROM revisions ORDER BY rowid",
        ) {
            names
                .entry(text(&row[0]))
                .or_insert(format!("<made {}>", text(&row[1])));
        }
        assert_eq!(rows("SELECT * FROM held"), Vec::<Vec<Stored>>::new());
        assert_eq!(rows("SELECT * FROM violations"), Vec::<Vec<Stored>>::new());
        let mut lines = Vec::new();
        for table in [
            "machines",
            "revisions",
            "entities",
            "entries",
            "history",
            "instances",
            "forwards",
            "rearms",
        ] {
            let mut commits: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let mut ids: BTreeMap<String, i64> = BTreeMap::new();
            for mut row in rows(&format!("SELECT * FROM {table} ORDER BY 1")) {
                if table == "history" {
                    // Numbered within its entity: between entities of a batch their order is nobody's business.
                    let (uid, commit) = (text(&row[1]), text(&row[2]));
                    let commits = commits.entry(uid.clone()).or_default();
                    if !commits.contains(&commit) {
                        commits.push(commit);
                    }
                    let id = ids.entry(uid).or_default();
                    *id += 1;
                    row[0] = Stored::Integer(*id);
                    row[2] = Stored::Text(format!("commit {}", commits.len()));
                }
                let cells: Vec<String> = row
                    .into_iter()
                    .map(|cell| match cell {
                        Stored::Text(text) => names.get(&text).cloned().unwrap_or(text),
                        Stored::Integer(integer) => integer.to_string(),
                        other => format!("{other:?}"),
                    })
                    .collect();
                lines.push(format!("{table}: {}", cells.join(" | ")));
            }
        }
        lines.sort();
        lines.join("\n")
    }

    /// Sends an event with an id of its own.
    pub fn event(&self, machine: &str, entity: &str, event: &str, timestamp: Option<i64>) -> Reply {
        evaluate(
            &self.other,
            machine,
            &json!({
                "event_type": event, "entity_key": "id", "params": {"id": entity, "by": event}, "timestamp": timestamp
            }),
        )
    }
}

/// Compares what is stored, and shows only what differs.
pub fn assert_same(left: &str, right: &str, what: &str) {
    let missing = |from: &str, of: &str| {
        let there: Vec<_> = from.lines().collect();
        let lines = of.lines().filter(|line| !there.contains(line));
        lines.collect::<Vec<_>>().join("\n  ")
    };
    assert!(
        left == right,
        "{what}: stored, and must not be:\n  {}\nnot stored, and must be:\n  {}",
        missing(right, left),
        missing(left, right)
    );
}

pub fn t1() -> TenantId {
    tenant("t1")
}

pub fn reply<T: Serialize>(status: u16, outcome: Result<T, Error>) -> Reply {
    match outcome {
        Ok(body) => (status, serde_json::to_value(body).unwrap()),
        Err(error) => (error.status(), error.body()),
    }
}

pub fn evaluate(engine: &WorldEngine, machine: &str, body: &Value) -> Reply {
    reply(
        200,
        block_on(engine.evaluate(Some(&t1()), machine, body.to_string().as_bytes())),
    )
}

pub fn register(engine: &WorldEngine, definition: &Value) -> Reply {
    reply(
        201,
        block_on(engine.create_machine(&t1(), definition.to_string().as_bytes())),
    )
}

pub fn put(engine: &WorldEngine, definition: &Value, in_flight: &str) -> Reply {
    let machine = definition["machine_id"].as_str().unwrap();
    reply(
        200,
        block_on(engine.put_machine(&t1(), machine, definition.to_string().as_bytes(), Some(in_flight))),
    )
}

pub fn create(engine: &WorldEngine, machine: &str, entity: &str) -> Reply {
    let body = json!({"entity_id": entity, "context": {"made": "by hand"}});
    reply(
        201,
        block_on(engine.create_entity(&t1(), machine, body.to_string().as_bytes())),
    )
}

pub fn delete(engine: &WorldEngine, machine: &str, entity: &str) -> Reply {
    reply(204, block_on(engine.delete_entity(&t1(), machine, entity)))
}

pub fn delete_machine(engine: &WorldEngine, machine: &str) -> Reply {
    reply(204, block_on(engine.delete_machine(&t1(), machine)))
}

/// A flat machine without timers.
pub fn order() -> Value {
    json!({"machine_id": "order", "states": ["pending", "paid", "shipped"], "initial_state": "pending",
        "transitions": [
            {"from": "pending", "to": "paid", "on": "pay"}, {"from": "paid", "to": "shipped", "on": "ship"},
            {"from": "pending", "to": "pending", "on": "note"}, {"from": "paid", "to": "paid", "on": "note"},
            {"from": "shipped", "to": "shipped", "on": "note"}]})
}

/// A machine of two regions: `a` times out after 10 s; `b` after 20 s, but only if the context says so, else after an
/// hour.
pub fn clocked() -> Value {
    json!({"machine_id": "clocked", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y", "z"], "initial_state": "x"}],
        "transitions": [
            {"region": "a", "from": "idle", "to": "on", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"region": "b", "from": "x", "to": "y", "on": "$timeout",
                "guard": {"after_ms": 20000, "field": "late", "op": "eq", "value": "yes"}},
            {"region": "b", "from": "x", "to": "z", "on": "$timeout", "guard": {"timeout_seconds": 3600}},
            {"region": "b", "from": "x", "to": "y", "on": "go"}, {"region": "b", "from": "y", "to": "x", "on": "back"},
            {"region": "b", "from": "x", "to": "x", "on": "note"},
            {"region": "b", "from": "y", "to": "y", "on": "note"}]})
}

/// A machine whose timeout of region `a` is refused, since its joins never rest (M4).
pub fn jammed() -> Value {
    json!({"machine_id": "jammed", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y"], "initial_state": "x"},
            {"id": "c", "states": ["open", "shut"], "initial_state": "open"}],
        "transitions": [
            {"region": "a", "from": "idle", "to": "on", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"region": "c", "from": "open", "to": "shut", "on": "go"},
            {"region": "c", "from": "open", "to": "open", "on": "note"},
            {"region": "c", "from": "shut", "to": "shut", "on": "note"}],
        "joins": [
            {"when": {"a": "on", "b": "x"}, "target_region": "b", "target_state": "y", "trigger": "level"},
            {"when": {"a": "on", "b": "y"}, "target_region": "b", "target_state": "x", "trigger": "level"}]})
}

/// A flat machine of the seed's contract, where no event applies a timeout.
pub fn seed() -> Value {
    json!({"machine_id": "seed", "contract": "statemachine-e1e4.v1", "states": ["pending", "paid", "late"],
        "initial_state": "pending", "transitions": [
            {"from": "pending", "to": "late", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"from": "pending", "to": "paid", "on": "pay"}, {"from": "pending", "to": "pending", "on": "note"},
            {"from": "paid", "to": "paid", "on": "note"}, {"from": "late", "to": "late", "on": "note"}]})
}

/// A definition with one more state and a label: another revision that any entity can follow.
pub fn wider(mut definition: Value) -> Value {
    let states = match definition.get_mut("states") {
        Some(states) => states,
        None => &mut definition["regions"][1]["states"],
    };
    states.as_array_mut().unwrap().push(json!("more"));
    definition["label"] = json!("wider");
    definition
}

/// A definition by its machine's id.
pub fn definition(machine: &str) -> Value {
    match machine {
        "order" => order(),
        "clocked" => clocked(),
        "jammed" => jammed(),
        "seed" => seed(),
        other => panic!("no machine `{other}`"),
    }
}

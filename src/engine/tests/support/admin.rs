//! Rows of the outbox as a test needs them, requests with keys, and what must hold of lanes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Value, json};
use statewright_engine::error::Error;
use statewright_engine::once::Once;
use statewright_engine::outbox_admin::OutboxQuery;
use statewright_engine::page::Paging;
use statewright_engine::{DefinitionCache, Engine};

use crate::support::faults::{Fault, reads};
use crate::support::world::{Reply, World, WorldEngine, t1};
use crate::support::{Counted, START, block_on};

/// What effect ids of a time begin with: nine digits of base 32 (ruling 1), worked out without the engine.
pub fn prefix(offset: i64) -> String {
    let mut left = u64::try_from(START + offset).unwrap();
    let mut digits = Vec::new();
    for _ in 0..9 {
        digits.push(char::from_digit(u32::try_from(left % 32).unwrap(), 32).unwrap());
        left /= 32;
    }
    digits.iter().rev().collect()
}

/// A row of the outbox. Times are offsets from the start.
#[derive(Clone)]
pub struct Row {
    pub tenant: &'static str,
    pub at: i64,
    pub name: String,
    pub kind: &'static str,
    pub status: &'static str,
    pub lane: String,
    pub version: i64,
    pub machine: &'static str,
    pub entity: &'static str,
    pub target: &'static str,
    pub subscription: Option<&'static str>,
    pub effect: Value,
    pub attempts: Value,
    pub attempt: i64,
    pub tries: i64,
    pub claim: i64,
    pub claimed: bool,
    pub held: bool,
    pub due: Option<i64>,
    pub denied: Option<i64>,
    pub finished: Option<i64>,
    pub error: Option<&'static str>,
}

impl Row {
    /// A webhook of a lane, due since it was made.
    pub fn due(name: &str, at: i64, lane: &str, version: i64) -> Self {
        Self {
            tenant: "t1",
            at,
            name: name.to_owned(),
            kind: "webhook",
            status: "pending",
            lane: lane.to_owned(),
            version,
            machine: "order",
            entity: "e",
            target: "https://example.com/hook",
            subscription: None,
            effect: json!({"kind": "webhook", "url": "https://example.com/hook"}),
            attempts: json!([]),
            attempt: 0,
            tries: 0,
            claim: 0,
            claimed: false,
            held: false,
            due: Some(at),
            denied: None,
            finished: None,
            error: None,
        }
    }

    /// One that another of its lane comes before.
    pub fn queued(name: &str, at: i64, lane: &str, version: i64) -> Self {
        Self {
            due: None,
            ..Self::due(name, at, lane, version)
        }
    }

    /// One that is being sent.
    pub fn claimed(name: &str, at: i64, lane: &str, version: i64, until: i64) -> Self {
        Self {
            claimed: true,
            claim: 1,
            attempt: 1,
            tries: 1,
            due: Some(until),
            ..Self::due(name, at, lane, version)
        }
    }

    /// One that is over, after two attempts.
    pub fn over(name: &str, at: i64, lane: &str, version: i64, status: &'static str) -> Self {
        Self {
            status,
            due: None,
            attempt: 2,
            tries: 2,
            claim: 2,
            finished: Some(at + 5),
            ..Self::due(name, at, lane, version)
        }
    }

    /// A presentation to a subscription, held.
    pub fn held(name: &str, at: i64, lane: &str, version: i64, subscription: &'static str) -> Self {
        Self {
            held: true,
            due: None,
            ..Self::due(name, at, lane, version).presented(subscription)
        }
    }

    /// The same as a presentation.
    pub fn presented(self, subscription: &'static str) -> Self {
        Self {
            kind: "presentation",
            subscription: Some(subscription),
            target: subscription,
            ..self
        }
    }

    pub fn id(&self) -> String {
        format!("{}{:_<16}.0", prefix(self.at), self.name)
    }
}

/// Puts rows into the outbox.
pub fn insert(world: &World, rows: &[Row]) {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection
        .prepare_cached(
            "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
               subscription, effect, attempt, tries, claim, claimed, held, due_at, denied_since, created_at, finished_at, \
               attempts, error) \
             VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, \
               ?23)",
        )
        .unwrap();
    for row in rows {
        statement
            .execute(rusqlite::params![
                row.tenant,
                row.id(),
                row.kind,
                row.status,
                row.lane,
                row.version,
                format!("{}\n{}", row.tenant, row.target),
                row.target,
                row.machine,
                row.entity,
                row.subscription,
                row.effect.to_string(),
                row.attempt,
                row.tries,
                row.claim,
                row.claimed,
                row.held,
                row.due.map(|due| START + due),
                row.denied.map(|since| START + since),
                START + row.at,
                row.finished.map(|finished| START + finished),
                row.attempts.to_string(),
                row.error,
            ])
            .unwrap();
    }
}

/// A row as it is stored: status, attempt, tries, claim, claimed, held, due and finished as offsets, denied since.
pub fn stored(world: &World, id: &str) -> Value {
    let text: String = world
        .sqlite
        .connection
        .borrow()
        .query_row(
            "SELECT json_object('status', status, 'attempt', attempt, 'tries', tries, 'claim', claim, 'claimed', claimed, \
               'held', held, 'due', due_at - ?2, 'finished', finished_at - ?2, 'denied', denied_since) \
             FROM outbox WHERE id = ?1",
            rusqlite::params![id, START],
            |row| row.get(0),
        )
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Where the pending rows of a lane are, by version: `due 5`, `queued`, `held`, `claimed 7`.
pub fn lane(world: &World, lane: &str) -> Vec<String> {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection
        .prepare(
            "SELECT version || CASE WHEN claimed THEN ' claimed ' || (due_at - ?2) WHEN due_at IS NOT NULL THEN ' due ' || (due_at - ?2) \
               WHEN held THEN ' held' ELSE ' queued' END \
             FROM outbox WHERE lane = ?1 AND status = 'pending' ORDER BY version",
        )
        .unwrap();
    let rows = statement.query_map(rusqlite::params![lane, START], |row| row.get(0));
    rows.unwrap().map(Result::unwrap).collect()
}

/// All that is stored in the tables of effects and receipts; of receipts only what they say, since they hold times.
pub fn dump(world: &World) -> String {
    let connection = world.sqlite.connection.borrow();
    let mut text = String::new();
    for sql in [
        "SELECT * FROM outbox ORDER BY tenant, id",
        "SELECT * FROM subscriptions ORDER BY tenant, id",
        "SELECT tenant, key, scope, part, status, answer, outcome FROM inbox ORDER BY 1, 2, 3, 4",
        "SELECT * FROM violations",
    ] {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let value: rusqlite::types::Value = row.get(column).unwrap();
                write!(text, "{value:?} ").unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// Of each lane at most one row is on its way, and one is unless the lane is held (I7).
pub fn assert_lanes(world: &World) {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection
        .prepare(
            "SELECT tenant || ' ' || lane, version, due_at IS NOT NULL, held FROM outbox WHERE status = 'pending' \
             ORDER BY 1, version, place",
        )
        .unwrap();
    let mut lanes: BTreeMap<String, Vec<(i64, bool, bool)>> = BTreeMap::new();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let lane = lanes.entry(row.get(0).unwrap()).or_default();
        lane.push((row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap()));
    }
    for (lane, rows) in lanes {
        let on_its_way = rows.iter().filter(|(_, due, _)| *due).count();
        assert!(on_its_way <= 1, "{lane} sends more than one at a time: {rows:?}");
        let held = rows.iter().any(|(_, _, held)| *held);
        assert!(on_its_way == 1 || held, "{lane} waits for nothing: {rows:?}");
    }
}

/// An engine for a request that is to have one effect.
pub fn keyed(world: &World, key: &str, scope: &str, body: &str, success: u16, seed: u128) -> WorldEngine {
    let once = Once::request(key, scope, "", body.as_bytes(), success).unwrap();
    Engine::new(
        world.faulty.clone(),
        world.clock.clone(),
        Counted::from(seed),
        DefinitionCache::default(),
    )
    .keyed(once, Some(&t1()))
}

/// What a host answers: the status and the body, and whether it was a replay.
pub fn told<T: serde::Serialize>(success: u16, outcome: Result<T, Error>) -> (u16, Value, bool) {
    match outcome {
        Ok(body) => (success, serde_json::to_value(body).unwrap(), false),
        Err(Error::Replayed(replay)) => {
            let body = replay
                .answer
                .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
            (replay.status, body, true)
        }
        Err(error) => (error.status(), error.body(), false),
    }
}

/// The faults of one write, and whether an answer is lost after it was applied.
pub fn faults() -> [(&'static str, Fault); 3] {
    [
        ("before", Fault::Before),
        ("after", Fault::After),
        ("late", Fault::Late),
    ]
}

/// How often a batch wrote since the statements were last taken.
pub fn writes(world: &World) -> usize {
    let batches = world.sqlite.taken();
    let writing = batches.iter().filter(|batch| !batch.iter().all(|sql| reads(sql)));
    writing.count()
}

/// The plan of each statement that the engine has run on these tables since they were last taken.
pub fn plans(world: &Rc<World>) -> BTreeMap<&'static str, Vec<String>> {
    let statements: Vec<_> = world.sqlite.taken().into_iter().flatten().collect();
    let connection = world.sqlite.connection.borrow();
    let mut plans = BTreeMap::new();
    for sql in statements {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut lines = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            lines.push(row.get::<_, String>(3).unwrap());
        }
        plans.insert(sql, lines);
    }
    plans
}

/// No stored table is read from one end to the other, and of the outbox no tenant's rows; but for what the steps of `walks`
/// do.
pub fn assert_searches(plans: &BTreeMap<&'static str, Vec<String>>, walks: &[&str]) {
    let stored = [
        "outbox",
        "subscriptions",
        "inbox",
        "history",
        "entities",
        "entries",
        "instances",
        "forwards",
    ];
    for (sql, plan) in plans {
        for line in plan {
            assert!(!line.contains("AUTOMATIC"), "{sql}\n{plan:#?}");
            let mut words = line.split(' ');
            let (Some(kind), Some(name)) = (words.next(), words.next()) else {
                continue;
            };
            let tables: Vec<_> = stored
                .into_iter()
                .filter(|table| {
                    let ends = [" ", ")", ","].iter();
                    *table == name
                        || ends
                            .clone()
                            .any(|end| sql.contains(&format!(" {table} {name}{end}")))
                })
                .collect();
            let walk = match kind {
                "SCAN" => !tables.is_empty(),
                "SEARCH" => tables.contains(&"outbox") && line.ends_with("USING PRIMARY KEY (tenant=?)"),
                _ => false,
            };
            assert!(
                !walk || walks.contains(&line.as_str()),
                "{sql}\n{line}\n{plan:#?}"
            );
        }
    }
}

/// What `a=b&c=d` asks for.
pub fn query(text: &str) -> OutboxQuery {
    let get = |name: &str| {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
            .next()
    };
    OutboxQuery {
        status: get("status"),
        machine: get("machine"),
        entity: get("entity"),
        older_than: get("older_than"),
        newer_than: get("newer_than"),
        paging: Paging {
            limit: get("limit"),
            cursor: get("cursor"),
        },
    }
}

/// A page: its body, and the next cursor.
pub fn list(world: &World, text: &str) -> (Value, Option<String>) {
    let list = block_on(world.engine.list_outbox(&t1(), &query(text))).unwrap();
    let next = list.next.clone();
    (serde_json::to_value(list).unwrap(), next)
}

/// The names of a page's rows.
pub fn names(world: &World, text: &str) -> String {
    let (body, next) = list(world, text);
    assert_eq!(next, None, "{text}");
    names_of(&body)
}

pub fn names_of(body: &Value) -> String {
    let name = |item: &Value| {
        item["id"].as_str().unwrap()[9..25]
            .trim_end_matches('_')
            .to_owned()
    };
    body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(" ")
}

/// All pages of a list: the names, and how many pages there were.
pub fn pages(world: &World, text: &str) -> (String, usize) {
    let (mut all, mut cursor, mut count) = (Vec::new(), None::<String>, 0);
    loop {
        let text = cursor.map_or_else(|| text.to_owned(), |cursor| format!("{text}&cursor={cursor}"));
        let (body, next) = list(world, &text);
        let names = names_of(&body);
        if !names.is_empty() {
            all.push(names);
        }
        count += 1;
        assert!(count < 1000, "pages without end");
        cursor = next;
        if cursor.is_none() {
            return (all.join(" "), count);
        }
    }
}

pub fn redrive(engine: &WorldEngine, id: &str) -> (u16, Value, bool) {
    told(200, block_on(engine.redrive(&t1(), id)))
}

pub fn cancel(engine: &WorldEngine, id: &str) -> (u16, Value, bool) {
    told(200, block_on(engine.cancel(&t1(), id)))
}

pub fn redrive_all(engine: &WorldEngine, body: &Value) -> (u16, Value, bool) {
    told(
        200,
        block_on(engine.redrive_all(&t1(), body.to_string().as_bytes())),
    )
}

pub fn cancel_all(engine: &WorldEngine, body: &Value) -> (u16, Value, bool) {
    told(
        200,
        block_on(engine.cancel_all(&t1(), body.to_string().as_bytes())),
    )
}

pub fn code(reply: &(u16, Value, bool)) -> Reply {
    (reply.0, reply.1["error"]["code"].clone())
}

/// Rows of every status and phase; the clock at 100.
pub fn all_kinds() -> Rc<World> {
    let world = World::new();
    let mut waiting = Row::due("w", 30, "lw", 4);
    (waiting.due, waiting.attempt, waiting.tries, waiting.error) = (Some(500), 1, 1, Some("it answered 500"));
    let mut stale = Row::claimed("s", 20, "ls", 1, 90);
    stale.machine = "slow";
    let mut skipped = Row::over("k", 15, "lk", 1, "skipped").presented("gone");
    (skipped.machine, skipped.entity) = ("task", "t-1");
    insert(
        &world,
        &[
            Row::over("o", 1, "lo", 1, "done"),
            Row::over("d", 5, "lo", 2, "dead"),
            Row::over("x", 10, "lo", 3, "cancelled"),
            skipped,
            stale,
            Row::claimed("c", 25, "lc", 1, 900),
            waiting,
            Row::due("u", 35, "lu", 1),
            Row::queued("q", 40, "lu", 2),
            Row::held("h", 45, "lh", 1, "sub"),
        ],
    );
    world.at(100);
    world
}

/// Many rows at once: `number` is 0 to `count` - 1 in SQL.
pub fn insert_many(world: &World, count: i64, from: i64, status: &str, lane: &str, machine: &str) {
    let over = if status == "pending" {
        "NULL"
    } else {
        "?2 + number"
    };
    let sql = format!(
        "WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?1 - 1) \
         INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, effect, \
           due_at, created_at, finished_at) \
         SELECT 't1', ?3 || printf('%08d', number) || '________.0', 'e', 'webhook', '{status}', {lane}, number, 0, 't1' || char(10) || 's', \
           'https://example.com/', '{machine}', 'e', '{{}}', CASE WHEN '{status}' = 'pending' THEN ?2 + 1000000 END, ?2, {over} \
         FROM numbers"
    );
    let connection = world.sqlite.connection.borrow();
    connection
        .execute(&sql, rusqlite::params![count, START + from, prefix(from)])
        .unwrap();
}

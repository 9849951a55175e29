//! What is outside, on a clock that moves when all wait for it: receivers that answer as the test says, queues, a vault; and
//! engines that send there, each of which can be stopped at any of its awaits.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rusqlite::types::Value as Stored;
use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_engine::database::{Clock, Database, DatabaseError, Statement};
use statewright_engine::outbound::{
    Outbound, OutboundRequest, OutboundResponse, SendFailure, Vault, VaultFailure,
};
use statewright_engine::outbox::Delivered;
use statewright_engine::settings::Settings;
use statewright_engine::{DefinitionCache, Engine};

use super::faults::Faulty;
use super::vault::TestVault;
use super::world::t1;
use super::{Counted, START, Sqlite};

#[derive(Default)]
struct Time {
    now: Cell<i64>,
    /// When each of those that sleep is to wake.
    alarms: RefCell<BTreeMap<u64, i64>>,
    names: Cell<u64>,
    /// Whether something went on since this was last looked at.
    busy: Cell<bool>,
}

/// A clock that [`run`] moves to the next alarm where nothing else can go on.
#[derive(Clone, Default)]
pub struct Timed(Rc<Time>);

impl Timed {
    pub fn new() -> Self {
        let clock = Self::default();
        clock.0.now.set(START);
        clock
    }

    pub fn at(&self) -> i64 {
        self.0.now.get() - START
    }

    pub fn set(&self, offset: i64) {
        self.0.now.set(START + offset);
    }

    pub fn pass(&self, millis: i64) {
        self.set(self.at() + millis);
    }

    /// Lets others go on first.
    pub async fn turn(&self) {
        let mut waited = false;
        poll_fn(|_| {
            if waited {
                return Poll::Ready(());
            }
            waited = true;
            self.0.busy.set(true);
            Poll::Pending
        })
        .await;
    }

    fn advance(&self) {
        let next = self.0.alarms.borrow().values().min().copied();
        // Where nobody sleeps, some wait without saying so: they are asked again, up to a bound.
        if let Some(next) = next {
            self.0.now.set(next.max(self.0.now.get()));
        }
    }
}

/// One that sleeps.
struct Asleep {
    time: Rc<Time>,
    name: u64,
    until: i64,
    began: bool,
}

impl Future for Asleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // Even no time at all lets others go on first, as a timer does.
        if !std::mem::replace(&mut self.began, true) && self.time.now.get() >= self.until {
            self.time.busy.set(true);
            return Poll::Pending;
        }
        if self.time.now.get() >= self.until {
            self.time.alarms.borrow_mut().remove(&self.name);
            self.time.busy.set(true);
            return Poll::Ready(());
        }
        self.time.alarms.borrow_mut().insert(self.name, self.until);
        Poll::Pending
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.time.alarms.borrow_mut().remove(&self.name);
    }
}

impl Clock for Timed {
    fn now(&self) -> Millis {
        Millis(self.0.now.get())
    }

    async fn sleep(&self, millis: u64) {
        self.0.names.set(self.0.names.get() + 1);
        Asleep {
            time: Rc::clone(&self.0),
            name: self.0.names.get(),
            until: self.0.now.get() + i64::try_from(millis).unwrap(),
            began: false,
        }
        .await;
    }
}

pub type Running<'f, T> = Pin<Box<dyn Future<Output = T> + 'f>>;

/// Runs futures together until each has ended; `turn` says which of so many goes on next. A future that is over its number
/// of polls is dropped: whoever ran it is dead.
pub fn run_killed<T>(
    clock: &Timed,
    mut futures: Vec<(Running<'_, T>, usize)>,
    mut turn: impl FnMut(usize) -> usize,
) -> Vec<Option<T>> {
    let mut ended: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..futures.len()).collect();
    let mut stuck: BTreeSet<usize> = BTreeSet::new();
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 0;
    let mut slots: Vec<Option<(Running<'_, T>, usize)>> = futures.drain(..).map(Some).collect();
    while !open.is_empty() {
        polls += 1;
        assert!(polls < 60_000, "it never comes to an end: at {} ms", clock.at());
        let place = open[turn(open.len()) % open.len()];
        let (future, left) = slots[place].as_mut().unwrap();
        if *left == 0 {
            slots[place] = None;
            open.retain(|one| *one != place);
            stuck.clear();
            continue;
        }
        *left -= 1;
        clock.0.busy.set(false);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            ended[place] = Some(output);
            slots[place] = None;
            open.retain(|one| *one != place);
            stuck.clear();
            continue;
        }
        if clock.0.busy.get() {
            stuck.clear();
        } else {
            stuck.insert(place);
        }
        if open.iter().all(|one| stuck.contains(one)) {
            clock.advance();
            stuck.clear();
        }
    }
    ended
}

/// Runs futures together until each has ended.
pub fn run_all<T>(clock: &Timed, futures: Vec<Running<'_, T>>, turn: impl FnMut(usize) -> usize) -> Vec<T> {
    let futures = futures.into_iter().map(|future| (future, usize::MAX)).collect();
    let ended = run_killed(clock, futures, turn);
    ended.into_iter().map(Option::unwrap).collect()
}

/// Runs one future to its end.
pub fn run<T>(clock: &Timed, future: impl Future<Output = T>) -> T {
    run_all(clock, vec![Box::pin(future)], |_| 0).pop().unwrap()
}

/// Runs one future for so many polls.
pub fn run_for<T>(clock: &Timed, future: impl Future<Output = T>, polls: usize) -> Option<T> {
    run_killed(clock, vec![(Box::pin(future), polls)], |_| 0)
        .pop()
        .unwrap()
}

/// A database behind a line: others come between its start, its work and its answer.
#[derive(Clone)]
pub struct Remote {
    pub faulty: Faulty,
    clock: Timed,
}

impl Database for Remote {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        self.clock.turn().await;
        let outcome = self.faulty.batch(statements).await;
        self.clock.turn().await;
        outcome
    }
}

/// What a receiver does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// It answers so late: status, Retry-After, body.
    Answer(u64, u16, Option<String>, String),
    /// It takes the request and never answers.
    Silence,
    /// It takes the request, and the connection breaks before the answer.
    Lost,
    /// There is no connection.
    Unreachable,
}

/// It answers at once.
pub fn answers(status: u16) -> Act {
    Act::Answer(0, status, None, String::new())
}

/// It asks to wait.
pub fn waits(status: u16, retry_after: &str) -> Act {
    Act::Answer(0, status, Some(retry_after.to_owned()), String::new())
}

/// What a receiver has got.
#[derive(Clone, Debug)]
pub struct Received {
    /// When, from the start.
    pub at: i64,
    pub url: String,
    pub method: &'static str,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// When it was over for the receiver, and the status that it gave.
    pub over: Option<(i64, Option<u16>)>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(given, _)| given.eq_ignore_ascii_case(name));
        let first = found.next()?;
        assert!(found.next().is_none(), "`{name}` is there twice");
        Some(&first.1)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn id(&self) -> String {
        self.header("webhook-id").unwrap().to_owned()
    }

    pub fn attempt(&self) -> u64 {
        self.header("webhook-attempt").unwrap().parse().unwrap()
    }

    pub fn accepted(&self) -> bool {
        matches!(self.over, Some((_, Some(200..300))))
    }
}

/// Receivers, queues and a vault.
#[derive(Clone)]
pub struct Outside {
    clock: Timed,
    pub vault: TestVault,
    /// What receivers do next, by address.
    acts: Rc<RefCell<BTreeMap<String, VecDeque<Act>>>>,
    /// What they do else, by address.
    always: Rc<RefCell<BTreeMap<String, Act>>>,
    pub received: Rc<RefCell<Vec<Received>>>,
    /// Queues that there are, by binding.
    pub queues: Rc<RefCell<BTreeMap<String, Vec<String>>>>,
    pub in_flight: Rc<Cell<usize>>,
    pub most_in_flight: Rc<Cell<usize>>,
}

impl Outside {
    pub fn new(clock: &Timed) -> Self {
        Self {
            clock: clock.clone(),
            vault: TestVault::new(),
            acts: Rc::default(),
            always: Rc::default(),
            received: Rc::default(),
            queues: Rc::default(),
            in_flight: Rc::default(),
            most_in_flight: Rc::default(),
        }
    }

    /// What the receiver at an address does next.
    pub fn script(&self, url: &str, acts: impl IntoIterator<Item = Act>) {
        self.acts
            .borrow_mut()
            .entry(url.to_owned())
            .or_default()
            .extend(acts);
    }

    /// What it does once its script is over.
    pub fn always(&self, url: &str, act: Act) {
        self.always.borrow_mut().insert(url.to_owned(), act);
    }

    /// Whether each script was played to its end.
    pub fn played(&self) -> bool {
        self.acts.borrow().values().all(VecDeque::is_empty)
    }

    /// What came in since the last call, in order.
    pub fn taken(&self) -> Vec<Received> {
        self.received.take()
    }

    fn next(&self, url: &str) -> Act {
        let next = self.acts.borrow_mut().get_mut(url).and_then(VecDeque::pop_front);
        let always = || self.always.borrow().get(url).cloned();
        next.or_else(always).unwrap_or_else(|| answers(200))
    }
}

impl Vault for Outside {
    async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure> {
        self.vault.seal(context, value).await
    }

    async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure> {
        self.vault.open(context, sealed).await
    }
}

/// Counts what is under way, to its end or to its sender's.
struct Under(Rc<Cell<usize>>);

impl Drop for Under {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Outbound for Outside {
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        self.in_flight.set(self.in_flight.get() + 1);
        self.most_in_flight
            .set(self.most_in_flight.get().max(self.in_flight.get()));
        let _under = Under(Rc::clone(&self.in_flight));
        self.clock.turn().await;
        let act = self.next(&request.url);
        if let Act::Unreachable = act {
            return Err(SendFailure::Failed("connection refused".to_owned()));
        }
        let place = self.received.borrow().len();
        self.received.borrow_mut().push(Received {
            at: self.clock.at(),
            url: request.url,
            method: request.method,
            headers: request.headers,
            body: request.body.unwrap_or_default(),
            over: None,
        });
        let over = |status: Option<u16>| {
            if let Some(received) = self.received.borrow_mut().get_mut(place) {
                received.over = Some((self.clock.at(), status));
            }
        };
        match act {
            Act::Answer(after, status, retry_after, body) if after < request.timeout_ms => {
                if after > 0 {
                    self.clock.sleep(after).await;
                }
                over(Some(status));
                self.clock.turn().await;
                let body = body.chars().take(1024).collect();
                Ok(OutboundResponse {
                    status,
                    retry_after,
                    body,
                })
            }
            Act::Answer(..) | Act::Silence => {
                self.clock.sleep(request.timeout_ms).await;
                over(None);
                Err(SendFailure::Timeout(request.timeout_ms))
            }
            Act::Lost | Act::Unreachable => {
                over(None);
                self.clock.turn().await;
                Err(SendFailure::Failed("the connection broke".to_owned()))
            }
        }
    }

    async fn enqueue(&self, binding: &str, message: &str) -> Result<(), SendFailure> {
        self.clock.turn().await;
        match self.queues.borrow_mut().get_mut(binding) {
            Some(queue) => {
                queue.push(message.to_owned());
                Ok(())
            }
            None => Err(SendFailure::Failed(format!("there is no queue `{binding}`"))),
        }
    }
}

pub type OutEngine = Engine<Remote, Timed, Counted, Outside>;

/// A database, what is outside, and as many engines as the test asks for: one for each request and each pass.
pub struct Place {
    pub sqlite: Sqlite,
    pub clock: Timed,
    pub outside: Outside,
    pub settings: RefCell<Settings>,
    seeds: Cell<u128>,
}

impl Place {
    pub fn new() -> Self {
        let place = Self::over(Sqlite::new());
        run(&place.clock, place.engine().migrate()).unwrap();
        place
    }

    /// Over a database that is there.
    pub fn over(sqlite: Sqlite) -> Self {
        let clock = Timed::new();
        Self {
            sqlite,
            outside: Outside::new(&clock),
            clock,
            settings: RefCell::default(),
            seeds: Cell::new(1_000),
        }
    }

    pub fn engine(&self) -> OutEngine {
        self.engine_on(&Faulty::new(self.sqlite.clone()))
    }

    pub fn engine_on(&self, faulty: &Faulty) -> OutEngine {
        self.seeds.set(self.seeds.get() + 1);
        let remote = Remote {
            faulty: faulty.clone(),
            clock: self.clock.clone(),
        };
        // A prime apart, so that no two give the same numbers soon.
        let random = Counted::from(self.seeds.get() * 0x1_0000_0001_B3D7_1F35);
        Engine::new(remote, self.clock.clone(), random, DefinitionCache::default())
            .with_settings(Arc::new(self.settings.borrow().clone()))
            .with_outbound(self.outside.clone())
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        run(&self.clock, future)
    }

    pub fn register(&self, definition: &Value) {
        let body = definition.to_string();
        self.run(self.engine().create_machine(&t1(), body.as_bytes()))
            .unwrap();
    }

    pub fn subscribe(&self, id: &str, body: &Value) {
        let body = body.to_string();
        self.run(self.engine().put_subscription(&t1(), id, body.as_bytes()))
            .unwrap();
    }

    pub fn secret(&self, name: &str, value: &str) {
        let body = json!({ "value": value }).to_string();
        self.run(self.engine().put_secret(&t1(), name, body.as_bytes()))
            .unwrap();
    }

    /// An event by an engine that delivers nothing: what it wrote stays claimed by it.
    pub fn event_by(&self, engine: &OutEngine, machine: &str, entity: &str, kind: &str) -> Value {
        let body = json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}}).to_string();
        let answer = self.run(engine.evaluate(Some(&t1()), machine, body.as_bytes()));
        json!(answer.unwrap())
    }

    /// An event, and the delivery after its answer.
    pub fn event(&self, machine: &str, entity: &str, kind: &str) -> (Value, Delivered) {
        let engine = self.engine();
        let answer = self.event_by(&engine, machine, entity, kind);
        (answer, self.run(engine.deliver_claimed()))
    }

    /// A record, made.
    pub fn record(&self, id: &str) {
        let body = json!({"machine": "m", "id": id, "state": "a"}).to_string();
        self.run(self.engine().create_record(&t1(), body.as_bytes()))
            .unwrap();
    }

    /// A transition of a record, not delivered.
    pub fn move_by(&self, engine: &OutEngine, id: &str, from: &str, version: u64, to: &str) -> Value {
        let body = json!({"machine": "m", "id": id, "from": from, "to": to, "expected_version": version})
            .to_string();
        let answer = self.run(engine.transition_record(&t1(), body.as_bytes()));
        json!(answer.unwrap())
    }

    /// A pass of the scanner's over the outbox, of most of a minute.
    pub fn pass(&self) -> Delivered {
        let engine = self.engine();
        let until = engine.clock().now().after(50_000);
        self.run(engine.deliver_due(until, 900)).unwrap()
    }

    /// Passes until nothing is pending any more, or so many were made.
    pub fn passes(&self, most: usize) {
        for _ in 0..most {
            if self.count("status = 'pending'") == 0 {
                return;
            }
            self.pass();
            let next = self.number("SELECT min(due_at) FROM outbox");
            if let Some(next) = next {
                self.clock.set((next - START).max(self.clock.at()));
            }
        }
    }

    pub fn number(&self, sql: &str) -> Option<i64> {
        let connection = self.sqlite.connection.borrow();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// How many rows of the outbox there are of which that holds.
    pub fn count(&self, condition: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM outbox WHERE {condition}"))
            .unwrap()
    }

    /// The rows of the outbox in the order of their ids.
    pub fn outbox(&self) -> Vec<Value> {
        const COLUMNS: &str = "tenant id event_id kind status lane version place sink target machine_id entity_id \
            subscription effect attempt tries claim claimed held due_at denied_since created_at finished_at attempts error";
        let connection = self.sqlite.connection.borrow();
        let sql = format!(
            "SELECT {} FROM outbox ORDER BY length(id), id",
            COLUMNS.split(' ').collect::<Vec<_>>().join(", ")
        );
        let mut statement = connection.prepare(&sql).unwrap();
        let rows = statement.query_map([], |row| {
            let mut object = serde_json::Map::new();
            for (place, column) in COLUMNS.split(' ').enumerate() {
                let value: Stored = row.get(place)?;
                let value = match value {
                    Stored::Integer(integer) => json!(integer),
                    Stored::Text(text) if ["effect", "attempts"].contains(&column) => {
                        serde_json::from_str(&text).unwrap()
                    }
                    Stored::Text(text) => json!(text),
                    _ => Value::Null,
                };
                object.insert(column.trim_end_matches("_id").to_owned(), value.clone());
                object.insert(column.to_owned(), value);
            }
            Ok(Value::Object(object))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The one row that there is.
    pub fn row(&self) -> Value {
        let mut rows = self.outbox();
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows.remove(0)
    }
}

/// Goes one step on with a future that others may wait for; the clock stays.
pub fn step<T>(_: &Timed, future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

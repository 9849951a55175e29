//! Requests whose clock goes on while they try: how long they do, and what they know again (M13, R14).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_engine::database::{Clock, Database, DatabaseError, Statement};
use statewright_engine::retry::PATIENCE_MILLIS;
use statewright_engine::{DefinitionCache, Engine};
use support::faults::writes;
use support::world::order;
use support::{Counted, START, Service, Sqlite, TestClock, block_on, tenant};

/// A database that does this at each batch, by its number.
struct Moody<F> {
    inner: Sqlite,
    mood: F,
    next: Cell<usize>,
}

enum Mood {
    Fine,
    Down,
    AnswerLost,
}

impl<F: Fn(usize, bool) -> Mood> Database for Moody<F> {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let place = self.next.get();
        self.next.set(place + 1);
        let sql: Vec<_> = statements.iter().map(|statement| statement.sql).collect();
        let lost = || Err(DatabaseError::Uncertain("no answer".to_owned()));
        match (self.mood)(place, writes(&sql)) {
            Mood::Fine => self.inner.run(&statements),
            Mood::Down => lost(),
            Mood::AnswerLost => {
                drop(self.inner.run(&statements));
                lost()
            }
        }
    }
}

fn with<F: Fn(usize, bool) -> Mood>(service: &Service, mood: F) -> Engine<Moody<F>, TestClock, Counted> {
    let database = Moody {
        inner: service.sqlite.clone(),
        mood,
        next: Cell::new(0),
    };
    Engine::new(
        database,
        service.clock.clone(),
        Counted::from(77),
        DefinitionCache::default(),
    )
}

fn an_order(entities: &[&str]) -> Service {
    let service = Service::new();
    let t1 = tenant("t1");
    block_on(service.engine.create_machine(&t1, order().to_string().as_bytes())).unwrap();
    for entity in entities {
        let body = json!({"entity_id": entity}).to_string();
        block_on(service.engine.create_entity(&t1, "order", body.as_bytes())).unwrap();
    }
    service
}

fn note(entity: &str) -> Vec<u8> {
    json!({"event_type": "note", "entity_key": "id", "params": {"id": entity}})
        .to_string()
        .into_bytes()
}

#[test]
fn r14_an_event_without_a_timestamp_is_applied_once_however_often_its_answers_are_lost() {
    for created in [&[] as &[&str], &["e"]] {
        let service = an_order(created);
        // The clock goes on between the tries: the second try would have another key than the first.
        let engine = with(&service, |place, writes| match (place, writes) {
            (_, true) => Mood::AnswerLost,
            (place, false) if place % 3 == 1 => Mood::Down,
            _ => Mood::Fine,
        });
        let answer = block_on(engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        assert_eq!(answer["transition"], "pending → pending", "{answer}");
        assert_eq!(answer["reason"], Value::Null, "no duplicate of itself");
        assert_eq!(answer["timestamp"], START);
        assert_eq!(service.sqlite.count("history"), 1);
        assert!(service.clock.now().0 > START);
    }
}

#[test]
fn r14_so_are_the_events_of_a_batch() {
    let service = an_order(&["e"]);
    let engine = with(
        &service,
        |_, writes| if writes { Mood::AnswerLost } else { Mood::Fine },
    );
    let event = |entity: &str| json!({"event_type": "note", "entity_key": "id", "params": {"id": entity}});
    let body = json!({"events": [event("e"), event("f"), event("e")]}).to_string();
    let answer = block_on(engine.evaluate_batch(Some(&tenant("t1")), "order", body.as_bytes())).unwrap();
    assert_eq!((answer.succeeded, answer.failed), (3, 0), "{answer:?}");
    for result in &answer.results {
        let answer = serde_json::to_value(result.answer().unwrap()).unwrap();
        assert_eq!(answer["transition"], "pending → pending", "{answer}");
    }
    assert_eq!(service.sqlite.count("history"), 3);
}

#[test]
fn m13_a_database_that_stays_away_is_told_after_ten_seconds_and_not_before() {
    let service = an_order(&["e"]);
    let engine = with(
        &service,
        |place, _| if place == 0 { Mood::Fine } else { Mood::Down },
    );
    let error = block_on(engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap_err();
    assert_eq!((error.status(), error.code().retry()), (500, true));
    let waited = u64::try_from(service.clock.now().0 - START).unwrap();
    assert!(
        (PATIENCE_MILLIS..PATIENCE_MILLIS + 500).contains(&waited),
        "{waited}"
    );
    assert_eq!(service.sqlite.count("history"), 0);
}

/// A clock that goes back by an hour whenever one waits.
#[derive(Clone)]
struct Backwards(TestClock);

impl Clock for Backwards {
    fn now(&self) -> Millis {
        self.0.now()
    }

    async fn sleep(&self, _millis: u64) {
        let now = self.0.now().0;
        self.0.set(now - START - 3_600_000);
    }
}

#[test]
fn m13_a_clock_that_steps_back_does_not_make_a_request_wait_for_ever() {
    let service = an_order(&["e"]);
    let database = Moody {
        inner: service.sqlite.clone(),
        mood: |place, _| if place == 0 { Mood::Fine } else { Mood::Down },
        next: Cell::new(0),
    };
    let clock = Backwards(service.clock.clone());
    let engine = Engine::new(database, clock, Counted::from(3), DefinitionCache::default());
    let error = block_on(engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap_err();
    assert_eq!(error.status(), 500);
    assert!(engine.database().next.get() < 1_000);
}

#[test]
fn m13_a_read_that_fails_at_first_is_told_at_once_and_wrote_nothing() {
    let service = an_order(&["e"]);
    let before = service.sqlite.dump();
    let engine = with(&service, |_, _| Mood::Down);
    let error = block_on(engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap_err();
    assert_eq!((error.status(), error.code().retry()), (500, true));
    assert_eq!(service.clock.now(), Millis(START));
    assert_eq!(service.sqlite.dump(), before);
}

/// A database where another writer comes between each read and its write.
struct Contended {
    inner: Sqlite,
    rival: Rc<dyn Fn()>,
    until: Cell<u32>,
}

impl Database for Contended {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let sql: Vec<_> = statements.iter().map(|statement| statement.sql).collect();
        if writes(&sql) && self.until.get() > 0 {
            self.until.set(self.until.get() - 1);
            (self.rival)();
        }
        self.inner.run(&statements)
    }
}

fn contended(service: &Rc<Service>, times: u32) -> Engine<Contended, TestClock, Counted> {
    let there = Rc::clone(service);
    let database = Contended {
        inner: service.sqlite.clone(),
        rival: Rc::new(move || {
            block_on(there.engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap();
        }),
        until: Cell::new(times),
    };
    Engine::new(
        database,
        service.clock.clone(),
        Counted::from(78),
        DefinitionCache::default(),
    )
}

#[test]
fn m13_a_writer_that_loses_again_and_again_gets_through() {
    let service = Rc::new(an_order(&["e"]));
    let engine = contended(&service, 40);
    let answer = block_on(engine.evaluate(Some(&tenant("t1")), "order", &note("e"))).unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    assert_eq!(
        answer["state_version"], 42,
        "made, 40 of the others, and its own: none lost"
    );
    assert_eq!(service.sqlite.count("history"), 41);
}

#[test]
fn m13_one_that_loses_for_ten_seconds_is_told_conflict_and_wrote_nothing() {
    let service = Rc::new(an_order(&["e"]));
    let engine = contended(&service, u32::MAX);
    let body =
        json!({"event_type": "pay", "entity_key": "id", "params": {"id": "e"}, "timestamp": 1}).to_string();
    let error = block_on(engine.evaluate(Some(&tenant("t1")), "order", body.as_bytes())).unwrap_err();
    assert_eq!(
        (error.status(), error.code().name(), error.code().retry()),
        (409, "CONFLICT", true)
    );
    let waited = u64::try_from(service.clock.now().0 - START).unwrap();
    assert!(
        (PATIENCE_MILLIS..PATIENCE_MILLIS + 500).contains(&waited),
        "{waited}"
    );
    assert_eq!(
        service.sqlite.count("history WHERE event_type = 'pay'"),
        0,
        "it was written"
    );
    assert!(
        service.sqlite.count("history") > 50,
        "the others were not held up"
    );
}

/// A database whose batches wait for their turn, so that requests run at the same time.
#[derive(Clone)]
struct Shared {
    inner: Sqlite,
    turns: Rc<RefCell<u64>>,
}

impl Database for Shared {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        // Numbers of chance decide how long each batch is on its way.
        let mut left = {
            let mut turns = self.turns.borrow_mut();
            *turns = turns.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*turns >> 60) % 5
        };
        std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            if left == 0 {
                return std::task::Poll::Ready(());
            }
            left -= 1;
            std::task::Poll::Pending
        })
        .await;
        self.inner.run(&statements)
    }
}

#[test]
fn i1_i2_m13_sixteen_writers_of_one_entity_lose_nothing() {
    let service = an_order(&["e"]);
    let shared = Shared {
        inner: service.sqlite.clone(),
        turns: Rc::new(RefCell::new(7)),
    };
    let engine = Engine::new(
        shared,
        service.clock.clone(),
        Counted::from(79),
        service.cache.clone(),
    );
    let t1 = tenant("t1");
    let body = note("e");
    let same =
        json!({"event_type": "note", "entity_key": "id", "params": {"id": "e"}, "timestamp": 5}).to_string();
    let mut requests: Vec<_> = (0..32)
        .map(|place| {
            let body = if place % 2 == 0 {
                body.as_slice()
            } else {
                same.as_bytes()
            };
            Box::pin(engine.evaluate(Some(&t1), "order", body))
        })
        .collect();
    let mut answers = Vec::new();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while !requests.is_empty() {
        requests.retain_mut(|request| match request.as_mut().poll(&mut context) {
            std::task::Poll::Ready(answer) => {
                answers.push(serde_json::to_value(answer.unwrap()).unwrap());
                false
            }
            std::task::Poll::Pending => true,
        });
    }
    let applied = answers
        .iter()
        .filter(|answer| answer["transition"] != Value::Null)
        .count();
    assert_eq!(applied, 17, "sixteen of their own, and one of sixteen copies");
    let mut versions: Vec<_> = answers
        .iter()
        .filter(|answer| answer["transition"] != Value::Null)
        .map(|answer| answer["state_version"].as_u64().unwrap())
        .collect();
    versions.sort_unstable();
    assert_eq!(
        versions,
        (2..=18).collect::<Vec<u64>>(),
        "each made a version of its own"
    );
    assert_eq!(service.sqlite.count("history"), 17);
}

//! A timer never fires early, never twice for one entry instance, and never for one that has ended (I5), whatever the
//! clock does, whoever ticks, and whenever the program was started (S2.99, S2.100, S2.108, S4.180, S4.185).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_engine::database::{Clock, Database, DatabaseError, Statement};
use statewright_engine::scanner::ScanReport;
use statewright_engine::{DefinitionCache, Engine};
use support::{Counted, START, Service, Sqlite, TestClock, block_on, tenant};

/// A machine whose states time out one after the other, each after `millis`.
fn ring(millis: u64) -> Value {
    let step = |from: &str, to: &str| json!({"from": from, "to": to, "on": "$timeout", "guard": {"after_ms": millis}});
    json!({"machine_id": "ring", "states": ["a", "b"], "initial_state": "a", "transitions": [
        step("a", "b"), step("b", "a"), {"from": "a", "to": "a", "on": "touch"}, {"from": "b", "to": "b", "on": "touch"}]})
}

fn expiring() -> Value {
    json!({"machine_id": "expiring", "states": ["open", "expired"], "initial_state": "open", "transitions": [
        {"from": "open", "to": "expired", "on": "$timeout", "guard": {"timeout_seconds": 10}},
        {"from": "open", "to": "open", "on": "touch"}, {"from": "expired", "to": "open", "on": "renew"}]})
}

fn with(definition: &Value) -> Service {
    let service = Service::new();
    block_on(
        service
            .engine
            .create_machine(&tenant("t1"), definition.to_string().as_bytes()),
    )
    .unwrap();
    service
}

fn make(service: &Service, machine: &str, entity: &str) {
    let body = json!({"entity_id": entity}).to_string();
    block_on(
        service
            .engine
            .create_entity(&tenant("t1"), machine, body.as_bytes()),
    )
    .unwrap();
}

fn event(entity: &str, kind: &str) -> Vec<u8> {
    json!({"event_type": kind, "entity_key": "id", "params": {"id": entity}})
        .to_string()
        .into_bytes()
}

fn entity(service: &Service, machine: &str, entity: &str) -> Value {
    let view = block_on(service.engine.get_entity(&tenant("t1"), machine, entity)).unwrap();
    serde_json::to_value(view).unwrap()
}

fn tick(service: &Service) -> ScanReport {
    block_on(service.engine.tick()).unwrap()
}

/// A clock that gives these readings, and then the last of them.
#[derive(Clone)]
struct Readings(Rc<RefCell<Vec<i64>>>);

impl Readings {
    fn of(offsets: &[i64]) -> Self {
        Self(Rc::new(RefCell::new(
            offsets.iter().rev().map(|offset| START + offset).collect(),
        )))
    }
}

impl Clock for Readings {
    fn now(&self) -> Millis {
        let mut readings = self.0.borrow_mut();
        let now = *readings.last().unwrap();
        if readings.len() > 1 {
            readings.pop();
        }
        Millis(now)
    }

    async fn sleep(&self, _millis: u64) {}
}

fn at_readings(service: &Service, offsets: &[i64]) -> Engine<Sqlite, Readings, Counted> {
    Engine::new(
        service.sqlite.clone(),
        Readings::of(offsets),
        Counted::from(5),
        service.cache.clone(),
    )
}

#[test]
fn s4_185_i5_neither_early_nor_later_than_the_next_pass() {
    let service = with(&expiring());
    make(&service, "expiring", "e");
    for (now, fired) in [(0, 0), (9_999, 0), (10_000, 1), (10_001, 0), (50_000, 0)] {
        service.clock.set(now);
        assert_eq!(tick(&service).fired, fired, "at {now}");
    }
    assert_eq!(service.sqlite.count("history"), 1);
}

#[test]
fn i5_a_clock_that_steps_back_within_a_pass_fires_nothing_early() {
    let service = with(&expiring());
    make(&service, "expiring", "e");
    // The pass reads what is due at 10 s; when it decides, the clock says 9 s.
    let report = block_on(at_readings(&service, &[10_000, 9_000]).tick()).unwrap();
    assert_eq!((report.due, report.fired), (1, 0), "{report:?}");
    assert_eq!(service.sqlite.count("history"), 0);
    let report = block_on(at_readings(&service, &[10_000, 10_000]).tick()).unwrap();
    assert_eq!(report.fired, 1, "and it is not lost");
}

#[test]
fn i5_a_clock_that_steps_back_between_events_fires_nothing_early_or_twice() {
    let service = with(&expiring());
    service.clock.set(100_000);
    make(&service, "expiring", "e");
    service.clock.set(50_000);
    let answer = block_on(
        service
            .engine
            .evaluate(Some(&tenant("t1")), "expiring", &event("e", "touch")),
    )
    .unwrap();
    assert_eq!(answer.timeouts_fired, 0);
    // It was entered anew at 50 s, by the clock of then (R16).
    assert_eq!(
        entity(&service, "expiring", "e")["region_entries"]["_"]["due_at"],
        START + 60_000
    );
    service.clock.set(60_000);
    assert_eq!(tick(&service).fired, 1);
    service.clock.set(0);
    assert_eq!(tick(&service).scanned, 0);
    let answer = block_on(
        service
            .engine
            .evaluate(Some(&tenant("t1")), "expiring", &event("e", "renew")),
    )
    .unwrap();
    assert_eq!(
        serde_json::to_value(answer).unwrap()["transition"],
        "expired → open"
    );
    for (now, fired) in [(9_999, 0), (10_000, 1), (70_000, 0)] {
        service.clock.set(now);
        assert_eq!(tick(&service).fired, fired, "at {now}");
    }
}

#[test]
fn m5_the_time_is_read_after_the_rows() {
    let service = with(&expiring());
    make(&service, "expiring", "e");
    // The request came at 9 s; when its rows had been read, it was 10 s.
    let engine = at_readings(&service, &[9_000, 10_000]);
    let answer = block_on(engine.evaluate(Some(&tenant("t1")), "expiring", &event("e", "touch"))).unwrap();
    assert_eq!(answer.timeouts_fired, 1);
}

#[test]
fn i5_a_timer_of_an_entry_that_ended_does_not_fire() {
    let service = with(&expiring());
    make(&service, "expiring", "left");
    make(&service, "expiring", "deleted");
    make(&service, "expiring", "reborn");
    service.clock.set(9_000);
    let t1 = tenant("t1");
    block_on(
        service
            .engine
            .evaluate(Some(&t1), "expiring", &event("left", "touch")),
    )
    .unwrap();
    for gone in ["deleted", "reborn"] {
        block_on(service.engine.delete_entity(&t1, "expiring", gone)).unwrap();
    }
    make(&service, "expiring", "reborn");
    service.clock.set(18_999);
    assert_eq!(tick(&service).scanned, 0);
    service.clock.set(19_000);
    assert_eq!(tick(&service).fired, 2, "each by its own entry (R17)");
}

#[test]
fn r5_m5_chained_timeouts_do_not_drift_and_come_64_at_a_time() {
    let service = with(&ring(1_000));
    make(&service, "ring", "e");
    service.clock.set(150_500);
    let reports: Vec<ScanReport> = (0..4).map(|_| tick(&service)).collect();
    let fired: Vec<_> = reports.iter().map(|report| (report.fired, report.more)).collect();
    assert_eq!(fired, [(64, true), (64, true), (22, false), (0, false)]);
    let view = entity(&service, "ring", "e");
    assert_eq!(
        view["state_version"], 151,
        "I2: each timeout is a commit of its own"
    );
    assert_eq!(view["region_entries"]["_"]["entered_at"], START + 150_000);
    assert_eq!(view["region_entries"]["_"]["seq"], 151);
}

#[test]
fn m5_an_event_before_which_more_is_due_than_one_request_applies_keeps_the_progress() {
    let service = with(&ring(1_000));
    make(&service, "ring", "e");
    service.clock.set(150_500);
    let send = || {
        block_on(
            service
                .engine
                .evaluate(Some(&tenant("t1")), "ring", &event("e", "touch")),
        )
    };
    for version in [65, 129] {
        let error = send().unwrap_err();
        assert_eq!(
            (error.status(), error.code().name(), error.code().retry()),
            (503, "TIMEOUTS_PENDING", true)
        );
        assert_eq!(entity(&service, "ring", "e")["state_version"], version);
    }
    let answer = send().unwrap();
    assert_eq!(answer.timeouts_fired, 22);
    assert_eq!(serde_json::to_value(answer).unwrap()["state_version"], 152);
}

/// A database on whose way each batch may be held up.
#[derive(Clone)]
struct Slow {
    inner: Sqlite,
    chance: Rc<Cell<u64>>,
}

impl Database for Slow {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let next = self
            .chance
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.chance.set(next);
        let mut left = (next >> 60) % 4;
        std::future::poll_fn(|_| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            Poll::Pending
        })
        .await;
        self.inner.run(&statements)
    }
}

/// Runs requests at the same time to their ends.
fn together<T>(mut requests: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut context = Context::from_waker(Waker::noop());
    let mut ended = Vec::new();
    while !requests.is_empty() {
        requests.retain_mut(|request| match request.as_mut().poll(&mut context) {
            Poll::Ready(output) => {
                ended.push(output);
                false
            }
            Poll::Pending => true,
        });
    }
    ended
}

#[test]
fn s4_180_s2_100_two_schedulers_and_events_fire_each_timer_once() {
    for seed in 0..40 {
        let service = with(&expiring());
        for i in 0..12 {
            make(&service, "expiring", &format!("e{i}"));
        }
        service.clock.set(20_000);
        let slow = |seed: u64| Slow {
            inner: service.sqlite.clone(),
            chance: Rc::new(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        };
        let engine = |seed: u64| {
            Engine::new(
                slow(seed),
                service.clock.clone(),
                Counted::from(u128::from(seed)),
                DefinitionCache::default(),
            )
        };
        let engines = [engine(seed * 3 + 1), engine(seed * 3 + 2), engine(seed * 3 + 3)];
        let t1 = tenant("t1");
        let bodies: Vec<_> = (0..12).map(|i| event(&format!("e{i}"), "touch")).collect();
        let mut requests: Vec<Pin<Box<dyn Future<Output = usize> + '_>>> = Vec::new();
        for engine in &engines[..2] {
            requests.push(Box::pin(async { engine.tick().await.unwrap().fired }));
        }
        for body in bodies.iter().step_by(3) {
            let (engine, t1) = (&engines[2], &t1);
            requests.push(Box::pin(async move {
                engine
                    .evaluate(Some(t1), "expiring", body)
                    .await
                    .unwrap()
                    .timeouts_fired
            }));
        }
        let fired: usize = together(requests).into_iter().sum();
        tick(&service);
        let late = 12 - fired;
        assert_eq!(late, 0, "seed {seed}: all were fired, and each was told once");
        assert_eq!(
            service.sqlite.count("history WHERE event_type = '$timeout'"),
            12,
            "seed {seed}"
        );
        assert_eq!(
            service.sqlite.count("entities WHERE state_version = 2"),
            12,
            "seed {seed}"
        );
    }
}

#[test]
fn s2_108_after_a_restart_each_armed_timer_fires_once() {
    let service = with(&expiring());
    for i in 0..5 {
        service.clock.set(i * 1_000);
        make(&service, "expiring", &format!("e{i}"));
    }
    let mut fired = Vec::new();
    for second in 8..17 {
        // A program that has just started: nothing is kept but the database.
        let clock = TestClock::new();
        clock.set(second * 1_000);
        let engine = Engine::new(
            service.sqlite.clone(),
            clock,
            Counted::from(u128::from(second.unsigned_abs())),
            DefinitionCache::default(),
        );
        block_on(engine.check_schema()).unwrap();
        fired.push(block_on(engine.tick()).unwrap().fired);
    }
    assert_eq!(fired, [0, 0, 1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(service.sqlite.count("history"), 5);
}

#[test]
fn i5_on_random_clocks_and_orders_nothing_fires_early_or_twice() {
    for seed in 1..60_u64 {
        let mut chance = seed;
        let mut next = |below: u64| {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % below
        };
        let service = with(&expiring());
        let t1 = tenant("t1");
        for _ in 0..40 {
            // Back as well as on.
            service.clock.set(i64::try_from(next(60_000)).unwrap());
            let id = format!("e{}", next(3));
            match next(5) {
                0 => {
                    tick(&service);
                }
                1 => drop(block_on(service.engine.delete_entity(&t1, "expiring", &id))),
                2 => drop(
                    block_on(
                        service
                            .engine
                            .evaluate(Some(&t1), "expiring", &event(&id, "renew")),
                    )
                    .unwrap(),
                ),
                _ => drop(
                    block_on(
                        service
                            .engine
                            .evaluate(Some(&t1), "expiring", &event(&id, "touch")),
                    )
                    .unwrap(),
                ),
            }
        }
        let early = "history WHERE event_type = '$timeout' AND created_at < timestamp";
        assert_eq!(service.sqlite.count(early), 0, "seed {seed}");
        let twice = "(SELECT 1 FROM history WHERE event_type = '$timeout' GROUP BY uid, identity_key HAVING count(*) > 1)";
        assert_eq!(service.sqlite.count(twice), 0, "seed {seed}");
    }
}

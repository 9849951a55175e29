//! Many clients at once on the same trees, over a database that is slow, fails, loses answers and lets writes arrive late:
//! each event is applied once where it was answered as applied, and the trees are whole in the end (I1, I3, I6, M13).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use statewright_core::answer::Answer;
use statewright_core::ids::TenantId;
use statewright_engine::error::Error;
use statewright_engine::{DefinitionCache, Engine};
use support::far::{Chance, FarAway};
use support::wrongs::{mixed, wrongs};
use support::{Counted, Service, TestClock, block_on, tenant};

type Far = Engine<FarAway, TestClock, Counted>;

/// Marks, how often their events may have been applied, and what was answered.
type Told = Vec<(String, std::ops::RangeInclusive<u64>, String)>;

/// How often an event was applied, by its answer.
fn applied(answer: Result<&Value, &str>) -> std::ops::RangeInclusive<u64> {
    match answer {
        Ok(answer) => {
            assert_ne!(
                answer["reason"], "duplicate event (already processed)",
                "of itself: {answer}"
            );
            // Where a child of a child took it, neither the answer nor the child has a transition.
            let once = answer["reason"].is_null();
            if once { 1..=1 } else { 0..=0 }
        }
        Err("INTERNAL_ERROR") => 0..=1,
        Err(_) => 0..=0,
    }
}

/// The same, and what was answered as text.
fn read(answer: Result<Answer, Error>) -> (std::ops::RangeInclusive<u64>, String) {
    let text = format!("{answer:?}");
    let outcome = match answer {
        Ok(answer) => applied(Ok(&serde_json::to_value(answer).unwrap())),
        Err(error) => applied(Err(error.code().name())),
    };
    (outcome, text)
}

fn body(chance: &Chance, mark: &str, timestamp: Option<u64>) -> (&'static str, Value) {
    let pick = |all: &[&'static str]| all[usize::try_from(chance.below(all.len() as u64)).unwrap()];
    let step = |region: &str, state: &str| json!({"region": region, "state": state});
    let flat = |state: &str| json!({"state": state});
    let id = pick(&["r", "r", "q"]);
    let (machine, id, kind, target) = match chance.below(8) {
        0 | 1 => (
            "root",
            id.to_owned(),
            pick(&[
                "go", "go", "drop", "back", "again", "all", "start", "picked", "packed",
            ]),
            None,
        ),
        2 => (
            "root",
            id.to_owned(),
            pick(&["step", "back", "note", "stop"]),
            Some(json!([step("x", "x1")])),
        ),
        3 => (
            "root",
            id.to_owned(),
            pick(&["step", "note", "finish"]),
            Some(json!([step("x", "x1"), flat("m1")])),
        ),
        4 => (
            "root",
            id.to_owned(),
            pick(&["drop", "again"]),
            Some(json!([step("y", "y1")])),
        ),
        5 => (
            "root",
            id.to_owned(),
            pick(&["step", "note", "finish"]),
            Some(json!([step("y", "y1"), flat("busy"), flat("busy")])),
        ),
        6 => (
            "leaf",
            format!("{id}::sub::x1::sub::m1"),
            pick(&["step", "finish"]),
            None,
        ),
        _ => (
            "flow",
            format!("{id}::sub::z1::sub::busy"),
            pick(&["picked", "packed", "back"]),
            None,
        ),
    };
    let mut body = json!({"event_type": kind, "entity_key": "id", "params": {"id": id, "mark": mark}});
    if let Some(target) = target {
        body["target"] = target;
    }
    if let Some(timestamp) = timestamp {
        body["timestamp"] = json!(timestamp);
    }
    (machine, body)
}

/// The requests of one client, one after the other.
async fn client(engine: &Far, t1: &TenantId, number: u64, chance: Chance) -> Told {
    let mut all = Vec::new();
    for request in 0..10 {
        let event = |part: u64| {
            let mark = format!("c{number}-r{request}-{part}");
            let at = (chance.below(2) == 0).then_some(number * 1_000 + request * 10 + part);
            let (machine, mut body) = body(&chance, &mark, at);
            if ["leaf", "flow"].contains(&machine) {
                // Where there is no such child, nobody is to be made.
                body["expected_version"] = Value::Null;
            }
            (mark, machine, body)
        };
        match chance.below(8) {
            0 => drop(engine.tick().await),
            1 | 2 => {
                let events: Vec<_> = (0..4)
                    .map(event)
                    .filter(|(_, machine, _)| *machine == "root")
                    .collect();
                if events.is_empty() {
                    continue;
                }
                let bodies: Vec<&Value> = events.iter().map(|(_, _, body)| body).collect();
                let bytes = json!({ "events": bodies }).to_string();
                let answer = engine
                    .evaluate_batch(Some(t1), "root", bytes.as_bytes())
                    .await
                    .unwrap();
                for ((mark, ..), result) in events.into_iter().zip(answer.results) {
                    let answer = format!("{bytes}: {result:?}");
                    let outcome = match (result.answer(), result.error()) {
                        (Some(answer), _) => applied(Ok(&serde_json::to_value(answer).unwrap())),
                        (None, error) => applied(Err(error.unwrap().split(':').next().unwrap())),
                    };
                    all.push((mark, outcome, answer));
                }
            }
            _ => {
                let (mark, machine, body) = event(0);
                if body.get("expected_version").is_some() {
                    let id = body["params"]["id"].as_str().unwrap().to_owned();
                    let mut plain = body.clone();
                    for key in ["entity_key", "expected_version"] {
                        plain.as_object_mut().unwrap().remove(key);
                    }
                    let bytes = plain.to_string();
                    let answer = engine.transition(t1, machine, &id, bytes.as_bytes()).await;
                    let (outcome, answer) = read(answer);
                    all.push((mark, outcome, answer));
                    continue;
                }
                let bytes = body.to_string();
                let (outcome, answer) = read(engine.evaluate(Some(t1), machine, bytes.as_bytes()).await);
                all.push((mark, outcome, answer));
            }
        }
    }
    all
}

fn run(seed: u64, mishaps: u64, family: &[Value]) -> (Service, Told) {
    let service = Service::new();
    let t1 = tenant("t1");
    for definition in family {
        block_on(
            service
                .engine
                .create_machine(&t1, definition.to_string().as_bytes()),
        )
        .unwrap();
    }
    let far = FarAway {
        inner: service.sqlite.clone(),
        chance: Chance::of(seed),
        mishaps,
        on_their_way: Rc::default(),
    };
    let engines: Vec<Far> = (0..3)
        .map(|place| {
            let random = Counted::from(u128::from(seed * 10 + place));
            Engine::new(
                far.clone(),
                service.clock.clone(),
                random,
                DefinitionCache::default(),
            )
        })
        .collect();
    let mut told = Vec::new();
    {
        let mut clients: Vec<Pin<Box<dyn Future<Output = Told> + '_>>> = Vec::new();
        for number in 0..5 {
            let engine = &engines[usize::try_from(number % 3).unwrap()];
            clients.push(Box::pin(client(
                engine,
                &t1,
                number,
                Chance::of(seed * 100 + number),
            )));
        }
        let mut context = Context::from_waker(Waker::noop());
        while !clients.is_empty() {
            clients.retain_mut(|client| match client.as_mut().poll(&mut context) {
                Poll::Ready(ended) => {
                    told.extend(ended);
                    false
                }
                Poll::Pending => true,
            });
        }
    }
    far.arrive(usize::MAX);
    (service, told)
}

#[test]
fn i1_i6_m13_events_of_trees_are_applied_once_and_the_trees_are_whole() {
    let mut once = 0;
    for seed in 1..=14 {
        let reentry = ["fresh", "resume", "refuse"][usize::try_from(seed % 3).unwrap()];
        let family = mixed(reentry);
        let mishaps = [0, 3, 8][usize::try_from(seed / 3 % 3).unwrap()];
        let (service, told) = run(seed, mishaps, &family);
        let mut commits: BTreeMap<String, u64> = BTreeMap::new();
        {
            let connection = service.sqlite.connection.borrow();
            // A broadcast makes a row for each region, in one step.
            let sql = "SELECT event_params->>'mark', count(DISTINCT uid || (identity_key->>2)) FROM history \
                WHERE event_type NOT LIKE '$%' GROUP BY 1";
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            commits.extend(rows.map(Result::unwrap));
        }
        for (mark, may, answer) in told {
            let count = commits.remove(&mark).unwrap_or(0);
            assert!(
                may.contains(&count),
                "seed {seed}: `{mark}` was applied {count} times, not {may:?}: {answer}"
            );
            once += count;
        }
        assert_eq!(
            commits,
            BTreeMap::new(),
            "seed {seed}: applied, and not asked for"
        );
        for (name, sql) in wrongs(&family) {
            assert_eq!(service.sqlite.count(&sql), 0, "seed {seed}: {name}");
        }
        assert_eq!(service.sqlite.count("held"), 0, "seed {seed}");
    }
    assert!(once > 150, "{once}");
}

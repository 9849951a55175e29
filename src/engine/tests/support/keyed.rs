//! Requests with an Idempotency-Key as a host serves them, and every operation that writes.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use statewright_engine::error::Error;
use statewright_engine::once::Once;

use super::faults::{Faulty, writes};
use super::outside::{OutEngine, Place, Running, answers};
use super::world::{clocked, jammed, order, t1, wider};

/// What a client is told.
#[derive(Clone, PartialEq)]
pub struct Told {
    pub status: u16,
    pub body: Option<Value>,
    pub replayed: bool,
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.as_ref().map(ToString::to_string);
        let replayed = if self.replayed { ", replayed" } else { "" };
        write!(f, "{}{replayed}: {}", self.status, body.unwrap_or_default())
    }
}

impl Told {
    pub fn code(&self) -> &str {
        let body = self.body.as_ref();
        body.and_then(|body| body["error"]["code"].as_str())
            .unwrap_or_default()
    }
}

/// A route's status and body.
pub type Outcome = Result<(u16, Option<Value>), Error>;

/// Ends a request as a host does: replays are answered, everything else is offered to be kept.
pub async fn served(engine: &OutEngine, outcome: Outcome) -> Told {
    let (status, code, body) = match outcome {
        Err(Error::Replayed(replay)) => return replayed(&replay),
        Ok((status, body)) => (status, None, body),
        Err(error) => (error.status(), Some(error.code()), Some(error.body())),
    };
    let text = body.as_ref().map(ToString::to_string);
    match engine.settle(status, code, text.as_deref()).await {
        Ok(()) => Told {
            status,
            body,
            replayed: false,
        },
        Err(Error::Replayed(replay)) => replayed(&replay),
        Err(error) => Told {
            status: error.status(),
            body: Some(error.body()),
            replayed: false,
        },
    }
}

fn replayed(replay: &statewright_engine::once::Replay) -> Told {
    let body = replay.answer.as_deref();
    Told {
        status: replay.status,
        body: body.map(|body| serde_json::from_str(body).unwrap()),
        replayed: true,
    }
}

/// A route's answer.
pub fn told<T: Serialize>(status: u16, outcome: Result<T, Error>) -> Outcome {
    outcome.map(|body| (status, Some(json!(body))))
}

fn nothing(outcome: Result<(), Error>) -> Outcome {
    outcome.map(|()| (204, None))
}

fn made<T: Serialize>(outcome: Result<(T, bool), Error>) -> Outcome {
    outcome.map(|(body, made)| (if made { 201 } else { 200 }, Some(json!(body))))
}

/// An operation that writes.
#[derive(Clone, Copy)]
pub struct Op {
    pub name: &'static str,
    /// The status of its route where all is well.
    pub success: u16,
    pub body: fn() -> Value,
    /// What it stands on.
    pub before: fn(&Place),
    pub run: for<'e> fn(&'e OutEngine, Vec<u8>) -> Running<'e, Outcome>,
    /// A query for what it leaves, without what chance or time decides.
    pub probe: &'static str,
}

const ENTITIES: &str = "SELECT coalesce(group_concat(machine_id || '/' || entity_id || '@' || state_version, ' '), '') || ' ' || \
    (SELECT count(*) FROM history) || ' ' || (SELECT count(*) FROM outbox) || ' ' || \
    (SELECT group_concat(region || state || coalesce(parked, '-')) FROM (SELECT * FROM entries ORDER BY uid, region)) \
    FROM (SELECT * FROM entities ORDER BY 2, 3)";
const MACHINES: &str = "SELECT coalesce(group_concat(machine_id || '@' || head || ':' || deleted, ' '), '') || ' ' || \
    (SELECT count(*) FROM revisions) FROM (SELECT * FROM machines ORDER BY 2)";
const RECORDS: &str = "SELECT coalesce(group_concat(id || state || version || data, ' '), '') || ' ' || \
    (SELECT count(*) FROM outbox) FROM (SELECT * FROM records ORDER BY 3)";
const SECRETS: &str = "SELECT coalesce(group_concat(name || version || (previous IS NOT NULL), ' '), '') FROM (SELECT * FROM secrets ORDER BY 2)";
const SUBSCRIPTIONS: &str =
    "SELECT count(*) || ' ' || coalesce(group_concat(source || active), '') FROM subscriptions";
const SOURCES: &str = "SELECT count(*) || ' ' || coalesce(group_concat(id), '') FROM sources";
const OUTBOX: &str = "SELECT coalesce(group_concat(status || tries || claimed, ' '), '') FROM (SELECT * FROM outbox ORDER BY id)";

fn loud(place: &Place) {
    let mut definition = order();
    let action = json!({"type": "webhook", "url": "https://a.example/"});
    definition["actions"] = json!([{"on_enter": "paid", "action": action}]);
    place.register(&definition);
    let mut clocked = clocked();
    clocked["machine_id"] = json!("spare");
    place.register(&clocked);
}

fn with_entity(place: &Place) {
    loud(place);
    place.event("order", "e", "none");
}

fn with_parked(place: &Place) {
    place.register(&jammed());
    place.event("jammed", "e", "note");
    place.clock.pass(15_000);
    place.event("jammed", "e", "note");
    assert_eq!(
        place.number("SELECT count(*) FROM entries WHERE parked IS NOT NULL"),
        Some(1)
    );
}

fn with_record(place: &Place) {
    let sink = json!({"source": "records", "sink": {"type": "webhook", "url": "https://a.example/"}});
    place.subscribe("s", &sink);
    place.record("r");
}

fn with_secret(place: &Place) {
    place.secret("k", "one");
    let body = json!({"value": "two"}).to_string();
    place
        .run(place.engine().rotate_secret(&t1(), "k", body.as_bytes()))
        .unwrap();
}

fn with_source(place: &Place) {
    loud(place);
    place.secret("k", "one");
    let body = source().to_string();
    place
        .run(place.engine().put_source(&t1(), "in", body.as_bytes()))
        .unwrap();
}

fn with_dead(place: &Place) {
    with_pending(place);
    place.outside.always("https://a.example/", answers(500));
    place.settings.borrow_mut().action_retries_ms = vec![1];
    place.clock.pass(400_000);
    place.pass();
    assert_eq!(place.count("status = 'dead'"), 1);
}

fn with_pending(place: &Place) {
    loud(place);
    place.event_by(&place.engine(), "order", "e", "pay");
    // Of a known id, so that a request can name it.
    place
        .sqlite
        .execute("UPDATE outbox SET id = 'the-one', event_id = 'the-one'");
}

fn source() -> Value {
    json!({"machine": "order", "scheme": {"type": "standard-webhooks"}, "secret": "k",
        "mapping": {"entity_id": "/id", "event_type": "/type"}})
}

fn pay() -> Value {
    json!({"event_type": "pay", "entity_key": "id", "params": {"id": "e"}})
}

fn subscription() -> Value {
    json!({"source": "machines", "sink": {"type": "webhook", "url": "https://sink.example/"}})
}

/// Every operation that takes a key, but for batches.
pub fn ops() -> Vec<Op> {
    macro_rules! op {
        ($name:literal, $success:literal, $body:expr, $before:expr, $probe:ident, |$engine:ident, $bytes:ident| $run:block) => {
            Op {
                name: $name,
                success: $success,
                body: || $body,
                before: $before,
                run: |$engine, $bytes| Box::pin(async move $run),
                probe: $probe,
            }
        };
    }
    vec![
        op!("evaluate", 200, pay(), loud, ENTITIES, |engine, body| {
            told(200, engine.evaluate(Some(&t1()), "order", &body).await)
        }),
        op!(
            "evaluate, the tenant in the body",
            200,
            {
                let mut body = pay();
                body["params"]["key_prefix"] = json!("t1");
                body
            },
            with_entity,
            ENTITIES,
            |engine, body| { told(200, engine.evaluate(None, "order", &body).await) }
        ),
        op!(
            "evaluate, which moves nothing",
            200,
            {
                let mut body = pay();
                body["event_type"] = json!("ship");
                body
            },
            with_entity,
            ENTITIES,
            |engine, body| { told(200, engine.evaluate(Some(&t1()), "order", &body).await) }
        ),
        op!(
            "transition",
            200,
            json!({"event_type": "pay"}),
            with_entity,
            ENTITIES,
            |engine, body| { told(200, engine.transition(&t1(), "order", "e", &body).await) }
        ),
        op!(
            "create entity",
            201,
            json!({"entity_id": "f"}),
            with_entity,
            ENTITIES,
            |engine, body| { told(201, engine.create_entity(&t1(), "order", &body).await) }
        ),
        op!(
            "delete entity",
            204,
            json!({}),
            with_entity,
            ENTITIES,
            |engine, _body| { nothing(engine.delete_entity(&t1(), "order", "e").await) }
        ),
        op!(
            "release timers",
            200,
            json!({}),
            with_parked,
            ENTITIES,
            |engine, _body| {
                let released = engine.release_timers(&t1(), "jammed", "e").await;
                told(200, released.map(|released| json!({ "released": released })))
            }
        ),
        op!(
            "create machine",
            201,
            {
                let mut body = order();
                body["machine_id"] = json!("new");
                body
            },
            loud,
            MACHINES,
            |engine, body| { told(201, engine.create_machine(&t1(), &body).await) }
        ),
        op!(
            "put machine",
            200,
            wider(order()),
            loud,
            MACHINES,
            |engine, body| {
                told(
                    200,
                    engine.put_machine(&t1(), "order", &body, Some("follow")).await,
                )
            }
        ),
        op!(
            "delete machine",
            204,
            json!({}),
            loud,
            MACHINES,
            |engine, _body| { nothing(engine.delete_machine(&t1(), "spare").await) }
        ),
        op!(
            "create record",
            201,
            json!({"machine": "m", "id": "q", "state": "a"}),
            with_record,
            RECORDS,
            |engine, body| { told(201, engine.create_record(&t1(), &body).await) }
        ),
        op!(
            "transition record",
            200,
            json!({"machine": "m", "id": "r", "from": "a", "to": "b", "expected_version": 1}),
            with_record,
            RECORDS,
            |engine, body| { told(200, engine.transition_record(&t1(), &body).await) }
        ),
        op!(
            "put secret",
            200,
            json!({"value": "v"}),
            with_secret,
            SECRETS,
            |engine, body| { told(200, engine.put_secret(&t1(), "k", &body).await) }
        ),
        op!(
            "make secret",
            201,
            json!({}),
            with_secret,
            SECRETS,
            |engine, body| { told(201, engine.put_secret(&t1(), "new", &body).await) }
        ),
        op!(
            "rotate secret",
            200,
            json!({}),
            with_secret,
            SECRETS,
            |engine, body| { told(200, engine.rotate_secret(&t1(), "k", &body).await) }
        ),
        op!(
            "delete previous secret",
            204,
            json!({}),
            with_secret,
            SECRETS,
            |engine, _body| { nothing(engine.delete_previous_secret(&t1(), "k").await) }
        ),
        op!(
            "delete secret",
            204,
            json!({}),
            with_secret,
            SECRETS,
            |engine, _body| { nothing(engine.delete_secret(&t1(), "k").await) }
        ),
        op!(
            "create subscription",
            201,
            subscription(),
            with_record,
            SUBSCRIPTIONS,
            |engine, body| { told(201, engine.create_subscription(&t1(), &body).await) }
        ),
        op!(
            "put subscription",
            200,
            subscription(),
            with_record,
            SUBSCRIPTIONS,
            |engine, body| { made(engine.put_subscription(&t1(), "new", &body).await) }
        ),
        op!(
            "delete subscription",
            204,
            json!({}),
            with_record,
            SUBSCRIPTIONS,
            |engine, _body| { nothing(engine.delete_subscription(&t1(), "s").await) }
        ),
        op!(
            "put source",
            200,
            source(),
            with_source,
            SOURCES,
            |engine, body| { made(engine.put_source(&t1(), "new", &body).await) }
        ),
        op!(
            "delete source",
            204,
            json!({}),
            with_source,
            SOURCES,
            |engine, _body| { nothing(engine.delete_source(&t1(), "in").await) }
        ),
        op!("redrive", 200, json!({}), with_dead, OUTBOX, |engine, _body| {
            told(200, engine.redrive(&t1(), "the-one").await)
        }),
        op!("cancel", 200, json!({}), with_pending, OUTBOX, |engine, _body| {
            told(200, engine.cancel(&t1(), "the-one").await)
        }),
        op!(
            "redrive all",
            200,
            json!({"status": "dead"}),
            with_dead,
            OUTBOX,
            |engine, body| { told(200, engine.redrive_all(&t1(), &body).await) }
        ),
        op!(
            "cancel all",
            200,
            json!({"machine": "order"}),
            with_pending,
            OUTBOX,
            |engine, body| { told(200, engine.cancel_all(&t1(), &body).await) }
        ),
    ]
}

impl Op {
    /// A place where it can run.
    pub fn place(&self) -> Place {
        let place = Place::new();
        (self.before)(&place);
        place.outside.taken();
        place
    }

    pub fn bytes(&self) -> Vec<u8> {
        (self.body)().to_string().into_bytes()
    }

    /// An engine for one such request.
    pub fn engine(&self, place: &Place, faulty: &Faulty, key: Option<&str>, body: &[u8]) -> OutEngine {
        let engine = place.engine_on(faulty);
        match key {
            Some(key) => {
                let once =
                    Once::request(key, &format!("POST /{}", self.name), "", body, self.success).unwrap();
                let tenant = t1();
                let named = self.name != "evaluate, the tenant in the body";
                engine.keyed(once, named.then_some(&tenant))
            }
            None => engine,
        }
    }

    /// One request, over a database with faults.
    pub fn request_on(&self, place: &Place, faulty: &Faulty, key: Option<&str>, body: &[u8]) -> Told {
        let engine = self.engine(place, faulty, key, body);
        place.run(async {
            let outcome = (self.run)(&engine, body.to_vec()).await;
            served(&engine, outcome).await
        })
    }

    /// One request with the key `k`.
    pub fn request(&self, place: &Place) -> Told {
        let faulty = Faulty::new(place.sqlite.clone());
        self.request_on(place, &faulty, Some("k"), &self.bytes())
    }

    pub fn probed(&self, place: &Place) -> String {
        let connection = place.sqlite.connection.borrow();
        let probed: Option<String> = connection.query_row(self.probe, [], |row| row.get(0)).unwrap();
        probed.unwrap_or_default()
    }

    /// The batches that it takes where nothing is wrong: whether each writes.
    pub fn batches(&self) -> Vec<bool> {
        let place = self.place();
        place.sqlite.taken();
        self.request(&place);
        place.sqlite.taken().iter().map(|batch| writes(batch)).collect()
    }
}

/// What was told, without what time and chance decide.
pub fn plainly(told: &Told) -> (u16, Option<Value>) {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for name in [
                    "id",
                    "value",
                    "event_id",
                    "created_at",
                    "due_at",
                    "finished_at",
                    "updated_at",
                    "rotated_at",
                    "entered_at",
                    "timestamp",
                ] {
                    object.remove(name);
                }
                object.values_mut().for_each(strip);
            }
            Value::Array(array) => array.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut body = told.body.clone();
    if let Some(body) = &mut body {
        strip(body);
    }
    (told.status, body)
}

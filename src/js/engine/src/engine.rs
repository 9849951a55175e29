//! The service as an object of JavaScript.

use std::{
    future::Future,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use js_sys::{Function, Promise};
use serde_json::json;
use statewright_core::ids::{Millis, TenantId};
use statewright_engine::{
    database::Clock as _, error::Error, once::Origin, outbox::Delivered, request::tenant_id,
    scanner::ScanReport,
};
use statewright_service::{
    Delivery, Kept, Lent, Service, ServiceEngine,
    host::{HostClock, random_id},
    incoming::{Direct, Incoming},
    log::{Entry, Level},
    store::Store,
    tell,
};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use wasm_bindgen_futures::future_to_promise;

use crate::database::{JsDatabase, Runner};

#[wasm_bindgen]
extern "C" {
    /// What the program lends.
    #[derive(Debug)]
    pub type Host;

    /// Sends requests; the runtime's own where there is none.
    #[wasm_bindgen(method, getter)]
    fn fetch(this: &Host) -> Option<Function>;

    /// Gives the time in milliseconds since the epoch; the runtime's own clock does where there is none.
    #[wasm_bindgen(method, getter)]
    fn now(this: &Host) -> Option<Function>;

    /// Takes the name of a level and a line of the log; the console does where there is none.
    #[wasm_bindgen(method, getter)]
    fn log(this: &Host) -> Option<Function>;

    /// Is told of work that goes on after an answer.
    #[wasm_bindgen(method)]
    fn after(this: &Host, work: &Promise);
}

/// How long sends of one look at the outbox may begin.
const LOOK_MS: i64 = 1_000;
/// What an event's subscribers are told it came by.
const EVALUATE: &str = "POST /api/machines/{machine_id}/evaluate";
/// Most passes over timers, and most looks at the outbox, of one tick.
const MOST_PASSES: usize = 1_000;

/// The service over a database.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WasmEngine {
    service: Service,
    lent: Lent,
    host: Rc<Host>,
}

#[wasm_bindgen]
impl WasmEngine {
    /// The service over a database. `env` has the settings and the bindings of queues as properties.
    #[wasm_bindgen(constructor)]
    pub fn new(database: Runner, env: JsValue, host: Host) -> Self {
        let kept = Kept::read(&env, host.log());
        let lent = Lent {
            env,
            clock: host.now().map(HostClock::given).unwrap_or_default(),
            fetch: host.fetch(),
            set_a_key: "gives `settings: { API_KEY }` to createEngine",
        };
        let store = Store::new(JsDatabase::new(database));
        Self {
            service: Service::new(Rc::new(kept), store, lent.clone()),
            lent,
            host: Rc::new(host),
        }
    }

    /// Brings the database to the schema of this program. Fails with the answer that tells of it.
    pub fn migrate(&self) -> Promise {
        let service = self.service.clone();
        future_to_promise(async move {
            service.migrate().await.map_err(|error| thrown(&error))?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Checks that the database has the schema of this program, and changes nothing. Fails with the answer that tells of it.
    pub fn check(&self) -> Promise {
        let service = self.service.clone();
        future_to_promise(async move {
            let engine = service.engine().map_err(|error| thrown(&error))?;
            engine.check_schema().await.map_err(|error| thrown(&error))?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Answers a call of the program itself, of which no key is asked. Its headers are lines, by turns a name in lower case and its
    /// value. So is the answer: a line with the status, the lines of its headers, an empty line, and the body. Over a database that
    /// answers at once it is given at once, over another as a promise.
    pub fn call(&self, method: String, path: String, headers: &str, body: Option<String>) -> JsValue {
        let mut lines = headers.lines();
        let mut pairs = Vec::new();
        while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
            pairs.push((name.to_owned(), value.to_owned()));
        }
        let call = Direct {
            method,
            path,
            headers: pairs,
            body: body.unwrap_or_default().into_bytes(),
        };
        let (service, host) = (self.service.clone(), Rc::clone(&self.host));
        begun(async move {
            let served = service.serve(Incoming::Direct(call)).await;
            follow(&host, served.delivery);
            let body = served.body.unwrap_or_default();
            let mut answer = format!("{}\n", served.status);
            answer.reserve(body.len().saturating_add(64));
            for (name, value) in &served.headers {
                answer.push_str(name.as_str());
                answer.push('\n');
                answer.push_str(&String::from_utf8_lossy(value.as_bytes()));
                answer.push('\n');
            }
            answer.push('\n');
            // INVARIANT: all answers are JSON or text.
            answer.push_str(std::str::from_utf8(&body).unwrap_or_default());
            Ok(answer.into())
        })
    }

    /// Applies one event as `POST /api/machines/{machine_id}/evaluate` does, by the short way: no request is made of it. Gives its answer
    /// as JSON, as [`WasmEngine::call`] gives one; fails with the answer that tells of the failure.
    pub fn evaluate(&self, tenant: String, machine_id: String, body: String) -> JsValue {
        let (service, host) = (self.service.clone(), Rc::clone(&self.host));
        begun(async move {
            let (engine, tenant) = opened(&service, &tenant, EVALUATE)
                .await
                .map_err(|error| failed(&service, &error))?;
            let answer = engine
                .evaluate(Some(&tenant), &machine_id, body.as_bytes())
                .await
                .and_then(|answer| {
                    serde_json::to_string(&answer).map_err(|error| Error::Database(error.to_string()))
                });
            follow(&host, service.delivery(engine));
            Ok(answer.map_err(|error| failed(&service, &error))?.into())
        })
    }

    /// Applies the events of an act, all or nothing. Gives their answers as JSON; fails with the answer that tells of the failure.
    pub fn act(&self, tenant: String, machine_id: String, entity_id: String, body: String) -> JsValue {
        let (service, host) = (self.service.clone(), Rc::clone(&self.host));
        begun(async move {
            let (engine, tenant) = opened(&service, &tenant, "act")
                .await
                .map_err(|error| failed(&service, &error))?;
            let answer = engine
                .act(&tenant, &machine_id, &entity_id, body.as_bytes())
                .await;
            follow(&host, service.delivery(engine));
            let answer = answer.map_err(|error| failed(&service, &error))?;
            Ok(json!(answer).to_string().into())
        })
    }

    /// Answers a request of the runtime's own kind, as the service does over HTTP.
    pub fn fetch(&self, request: web_sys::Request) -> Promise {
        let (service, host) = (self.service.clone(), Rc::clone(&self.host));
        future_to_promise(async move {
            let (response, delivery) = service.serve(Incoming::Web(request)).await.respond()?;
            follow(&host, delivery);
            Ok(response.into())
        })
    }

    /// Fires all timers that are due, delivers all effects that are, and forgets what is past its time; by the clock, or as if it
    /// were `now`. Gives the reports of its passes as JSON; fails with the answer that tells of the failure.
    pub fn tick(&self, now: Option<f64>) -> Promise {
        let mut service = self.service.clone();
        if let Some(now) = now {
            let clock = self.lent.clock.set_to(millis(now));
            service = service.by(clock);
        }
        future_to_promise(async move {
            let report = tick(&service).await.map_err(|error| thrown(&error))?;
            Ok(report.into())
        })
    }
}

/// The engine for what the program itself asks, and the tenant that it asks for.
async fn opened(
    service: &Service,
    tenant: &str,
    operation: &str,
) -> Result<(ServiceEngine, TenantId), Error> {
    let tenant = tenant_id("tenant", tenant)?;
    let engine = service.open().await?.caused_by(Origin {
        source: "api".to_owned(),
        stack: operation.to_owned(),
        trace: random_id(),
        ..Origin::default()
    });
    Ok((engine, tenant))
}

async fn tick(service: &Service) -> Result<String, Error> {
    let engine = service.open().await?;
    let mut timers: Vec<ScanReport> = Vec::new();
    while timers.len() < MOST_PASSES && timers.last().is_none_or(|report| report.more) {
        timers.push(engine.tick().await?);
    }
    let mut effects: Vec<Delivered> = Vec::new();
    while effects.len() < MOST_PASSES && effects.last().is_none_or(|report| report.more) {
        let until = Millis(engine.clock().now().0.saturating_add(LOOK_MS));
        let report = engine.deliver_due(until, usize::MAX).await?;
        tell(&report, service.log());
        effects.push(report);
    }
    engine.purge().await?;
    Ok(json!({ "timers": timers, "effects": effects }).to_string())
}

fn follow(host: &Host, delivery: Option<Delivery>) {
    if let Some(delivery) = delivery {
        host.after(&future_to_promise(async move {
            delivery.await;
            Ok(JsValue::UNDEFINED)
        }));
    }
}

/// What a future gives: at once where it waits for nothing, else as a promise.
fn begun(future: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> JsValue {
    let mut future = Box::pin(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        Poll::Ready(Err(error)) => Promise::reject(&error).into(),
        // Polled again at once, by those who are told when it can go on.
        Poll::Pending => future_to_promise(future).into(),
    }
}

/// What an error is thrown as: a line with its status, and the answer that tells of it.
fn thrown(error: &Error) -> JsValue {
    format!("{}\n{}", error.status(), error.text()).into()
}

/// The same, logged where it is the service's own failure.
fn failed(service: &Service, error: &Error) -> JsValue {
    if error.status() >= 500 {
        Entry::new(Level::Error, "request")
            .with("code", error.code().name())
            .with("answer", error.text())
            .write(service.log());
    }
    thrown(error)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "times are whole milliseconds below 2^53"
)]
fn millis(time: f64) -> Millis {
    Millis(time as i64)
}

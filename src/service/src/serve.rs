//! One request, from its host and back to it: preflight, key, route, answer, log.

use std::{future::Future, pin::Pin, rc::Rc};

use http::{HeaderMap, Method, header};
use statewright_engine::{error::Error, outbox::Delivered};
use wasm_bindgen::JsValue;

use crate::{
    auth,
    call::Call,
    incoming::Incoming,
    log::{Entry, Level, Log},
    refusal::Refusal,
    reply::Reply,
    request::Ask,
    routes,
    service::{Service, ServiceEngine},
};

/// The effects of a request on their way, once it is answered.
pub type Delivery = Pin<Box<dyn Future<Output = ()>>>;

/// An answer, and what is left to be done after it.
pub struct Served {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; none for a 204, and for HEAD.
    pub body: Option<Vec<u8>>,
    /// Delivers the request's effects. Nothing is lost where it is dropped: the next look at the outbox delivers them.
    pub delivery: Option<Delivery>,
}

impl Service {
    /// Answers a request.
    pub async fn serve(&self, incoming: Incoming) -> Served {
        let began = self.clock().read();
        let method = Method::from_bytes(incoming.method().as_bytes()).unwrap_or_default();
        let path = incoming.path();
        let origin = incoming.header("origin");
        let call = Rc::new(Call::new(incoming, self.clone(), method.clone(), path));

        let answered = answer(&call).await;
        let mut reply = answered.unwrap_or_else(|refusal| refusal.reply());
        let mut delivery: Option<Delivery> = None;
        if let Some(engine) = call.engine.take() {
            if call.keyed.get() && !reply.replayed {
                reply = settled(&engine, reply).await;
            }
            delivery = self.delivery(engine);
        }
        self.settings()
            .origins
            .allow(origin.as_deref(), method == Method::OPTIONS, &mut reply.headers);

        let level = if reply.status >= 500 {
            Level::Error
        } else {
            Level::Debug
        };
        if self.log().takes(level) {
            let took = self.clock().read().0.saturating_sub(began.0);
            let mut entry = Entry::new(level, "request")
                .with("method", method.as_str())
                .with("path", call.path.as_str())
                .with("status", reply.status)
                .with("ms", took);
            if let Some(code) = reply.code {
                entry = entry.with("code", code.name());
                if let Some(body) = reply.body.as_deref().filter(|_| reply.status >= 500) {
                    entry = entry.with("answer", String::from_utf8_lossy(body).as_ref());
                }
            }
            entry.write(self.log());
        }
        Served {
            status: reply.status,
            headers: reply.headers,
            body: reply.body.filter(|_| method != Method::HEAD),
            delivery,
        }
    }

    /// The effects of what an engine did, where it has any.
    #[must_use]
    pub fn delivery(&self, engine: impl Into<Rc<ServiceEngine>>) -> Option<Delivery> {
        let engine = engine.into();
        let log = engine.has_claimed().then(|| self.log().clone())?;
        Some(Box::pin(async move {
            tell(&engine.deliver_claimed().await, &log);
        }))
    }
}

async fn answer(call: &Rc<Call>) -> Result<Reply, Refusal> {
    let (method, path) = (&call.method, call.path.as_str());
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    // A browser sends a preflight without the key.
    if method != Method::OPTIONS && (below("/api") || below("/hooks")) {
        if below("/api") && !call.incoming.is_own() {
            let header = call.incoming.header("authorization");
            auth::check(&call.service, header.as_deref())?;
        }
        if let Err(faults) = &call.service.settings().service {
            return Err(Error::Misconfigured(faults.clone()).into());
        }
    }
    let (route, captures) = routes::find(call.path_and_query().0)?;
    // What answers GET answers HEAD, and the body is left out at the end.
    let asked = if method == Method::HEAD {
        Method::GET
    } else {
        method.clone()
    };
    let Some(handler) = route.handler(&asked) else {
        let mut reply = if method == Method::OPTIONS {
            Reply::empty(204)
        } else {
            Refusal::WrongMethod {
                path: path.to_owned(),
                method: method.to_string(),
            }
            .reply()
        };
        reply.headers.insert(header::ALLOW, route.allow());
        return Ok(reply);
    };
    let ask = Ask {
        call: Rc::clone(call),
        route: route.path,
        captures,
    };
    handler(ask).await
}

/// Keeps the answer of a request with an Idempotency-Key that wrote none with its effect. Where a twin came first, its answer
/// is given.
async fn settled(engine: &ServiceEngine, reply: Reply) -> Reply {
    let body = reply
        .body
        .as_deref()
        .and_then(|body| std::str::from_utf8(body).ok());
    match engine.settle(reply.status, reply.code, body).await {
        Ok(()) => reply,
        Err(error) => Refusal::from(error).reply(),
    }
}

/// Says in the log what became of effects (S0.53).
pub fn tell(delivered: &Delivered, log: &Log) {
    for told in &delivered.told {
        let level = match told.outcome {
            "dead" => Level::Warn,
            "database" => Level::Error,
            "done" => Level::Debug,
            _ => Level::Info,
        };
        if log.takes(level) {
            let shown = serde_json::to_value(told).unwrap_or_default();
            Entry::new(level, "effect").with("effect", shown).write(log);
        }
    }
    let level = if delivered.is_idle() {
        Level::Debug
    } else {
        Level::Info
    };
    if log.takes(level) {
        let shown = serde_json::to_value(delivered).unwrap_or_default();
        Entry::new(level, "outbox").with("report", shown).write(log);
    }
}

impl Served {
    /// The answer as the runtime's own, which does not wait for the delivery.
    ///
    /// # Errors
    /// What the runtime says: it takes all that the service answers.
    pub fn respond(self) -> Result<(web_sys::Response, Option<Delivery>), JsValue> {
        let headers = web_sys::Headers::new()?;
        for (name, value) in &self.headers {
            headers.append(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))?;
        }
        let init = web_sys::ResponseInit::new();
        init.set_status(self.status);
        init.set_headers(&headers);
        let response = match self.body {
            Some(body) => {
                let bytes = js_sys::Uint8Array::from(body.as_slice());
                web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&bytes), &init)
            }
            None => web_sys::Response::new_with_opt_str_and_init(None, &init),
        };
        Ok((response?, self.delivery))
    }
}

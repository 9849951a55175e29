//! One request, from the runtime and back to it: preflight, key, route, answer, log.

use std::rc::Rc;

use http::{Method, header};
use statewright_engine::{error::Error, outbox::Delivered};
use wasm_bindgen::JsValue;
use worker::{Context, Env};

use crate::{
    auth,
    call::Call,
    host::WorkerClock,
    log::{Entry, Level},
    refusal::Refusal,
    reply::Reply,
    request::{self, Ask},
    routes,
    service::WorkerEngine,
    settings::Settings,
};

/// Answers a request, and delivers its effects after that.
pub(crate) async fn serve(
    raw: web_sys::Request,
    env: Env,
    context: &Context,
) -> worker::Result<web_sys::Response> {
    let settings = Settings::of(&env);
    let began = WorkerClock::read();
    let method = Method::from_bytes(raw.method().as_bytes()).unwrap_or_default();
    let url = raw.url();
    let path = path_and_query(&url);
    let origin = request::header(&raw, "origin");
    let call = Call::new(raw, env, Rc::clone(&settings), method.clone(), path.to_owned());
    let call = Rc::new(call);

    let answered = answer(&call).await;
    let mut reply = answered.unwrap_or_else(|refusal| refusal.reply());
    if let Some(engine) = call.engine.take() {
        if call.keyed.get() && !reply.replayed {
            reply = settled(&engine, reply).await;
        }
        if engine.has_claimed() {
            let level = settings.level;
            context.wait_until(async move { tell(&engine.deliver_claimed().await, level) });
        }
    }
    settings
        .origins
        .allow(origin.as_deref(), method == Method::OPTIONS, &mut reply.headers);

    let level = if reply.status >= 500 {
        Level::Error
    } else {
        Level::Debug
    };
    if level <= settings.level {
        let took = WorkerClock::read().0.saturating_sub(began.0);
        let mut entry = Entry::new(level, "request")
            .with("method", method.as_str())
            .with("path", path)
            .with("status", reply.status)
            .with("ms", took);
        if let Some(code) = reply.code {
            entry = entry.with("code", code.name());
            if let Some(body) = reply.body.as_deref().filter(|_| reply.status >= 500) {
                entry = entry.with("answer", String::from_utf8_lossy(body).as_ref());
            }
        }
        entry.write(settings.level);
    }
    respond(reply, method == Method::HEAD)
}

/// Path and query of an absolute URL.
fn path_and_query(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| rest.get(at..).unwrap_or("/"));
    path.split('#').next().unwrap_or(path)
}

async fn answer(call: &Rc<Call>) -> Result<Reply, Refusal> {
    let (method, path) = (&call.method, call.path.as_str());
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    // A browser sends a preflight without the key.
    if method != Method::OPTIONS && (below("/api") || below("/hooks")) {
        if below("/api") {
            let header = request::header(&call.raw, "authorization");
            auth::check(&call.settings, header.as_deref())?;
        }
        if let Err(faults) = &call.settings.service {
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
async fn settled(engine: &WorkerEngine, reply: Reply) -> Reply {
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
pub(crate) fn tell(delivered: &Delivered, limit: Level) {
    for told in &delivered.told {
        let level = match told.outcome {
            "dead" => Level::Warn,
            "database" => Level::Error,
            "done" => Level::Debug,
            _ => Level::Info,
        };
        if level <= limit {
            let shown = serde_json::to_value(told).unwrap_or_default();
            Entry::new(level, "effect").with("effect", shown).write(limit);
        }
    }
    let level = if delivered.is_idle() {
        Level::Debug
    } else {
        Level::Info
    };
    if level <= limit {
        let shown = serde_json::to_value(delivered).unwrap_or_default();
        Entry::new(level, "outbox").with("report", shown).write(limit);
    }
}

/// Hands an answer to the runtime.
fn respond(reply: Reply, head: bool) -> worker::Result<web_sys::Response> {
    let headers = web_sys::Headers::new()?;
    for (name, value) in &reply.headers {
        headers.append(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))?;
    }
    let init = web_sys::ResponseInit::new();
    init.set_status(reply.status);
    init.set_headers(&headers);
    let response = match reply.body.filter(|_| !head) {
        Some(body) => {
            let bytes = js_sys::Uint8Array::from(body.as_slice());
            web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&bytes), &init)
        }
        None => web_sys::Response::new_with_opt_str_and_init(None, &init),
    };
    response.map_err(|error: JsValue| worker::Error::from(error))
}

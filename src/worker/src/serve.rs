//! One request, from the runtime and back to it: preflight, key, route, answer, log.

use std::sync::LazyLock;

use axum::Router;
use http::{HeaderValue, Method, header};
use tower_service::Service as _;
use wasm_bindgen::JsValue;
use worker::{Env, send::SendWrapper};

use crate::{
    auth,
    host::WorkerClock,
    log::{Entry, Level},
    refusal::Refusal,
    reply::Reply,
    request, routes,
    settings::Settings,
};

/// Made once in an isolate; it holds no state of a request.
static ROUTER: LazyLock<Router> = LazyLock::new(routes::router);

/// Answers a request.
pub(crate) async fn serve(raw: web_sys::Request, env: Env) -> worker::Result<web_sys::Response> {
    let settings = Settings::of(&env);
    let began = WorkerClock::read();
    let method = Method::from_bytes(raw.method().as_bytes()).unwrap_or_default();
    let url = raw.url();
    let path = path_and_query(&url);
    let origin = request::header(&raw, "origin");

    let mut reply = answer(&settings, &method, path, raw, env)
        .await
        .unwrap_or_else(|refusal| refusal.reply());
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

async fn answer(
    settings: &Settings,
    method: &Method,
    path: &str,
    raw: web_sys::Request,
    env: Env,
) -> Result<Reply, Refusal> {
    let guarded = path
        .strip_prefix("/api")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    // A browser sends a preflight without the key.
    if guarded && method != Method::OPTIONS {
        auth::check(settings, request::header(&raw, "authorization").as_deref())?;
    }
    let uri: http::Uri = path
        .parse()
        .map_err(|error: http::uri::InvalidUri| Refusal::BadUrl(error.to_string()))?;
    let mut request = http::Request::new(axum::body::Body::empty());
    *request.uri_mut() = uri;
    // What answers GET answers HEAD, and the body is left out at the end.
    *request.method_mut() = if method == Method::HEAD {
        Method::GET
    } else {
        method.clone()
    };
    request.extensions_mut().insert(SendWrapper::new(raw));
    request.extensions_mut().insert(env);

    let mut response = ROUTER
        .clone()
        .call(request)
        .await
        .unwrap_or_else(|never| match never {});
    let allow = response.headers_mut().remove(header::ALLOW);
    let Some(reply) = response.extensions_mut().remove::<Reply>() else {
        // Only axum's own 405 comes without an answer of ours: it names the methods that the route takes.
        let allow = methods(allow.as_ref());
        let mut reply = if method == Method::OPTIONS {
            Reply::empty(204)
        } else {
            Refusal::WrongMethod {
                path: path.to_owned(),
                method: method.to_string(),
            }
            .reply()
        };
        reply.headers.insert(header::ALLOW, allow);
        return Ok(reply);
    };
    Ok(reply)
}

/// The methods of a route, and those that every route takes.
fn methods(allow: Option<&HeaderValue>) -> HeaderValue {
    let listed = allow.and_then(|allow| allow.to_str().ok()).unwrap_or_default();
    let both = if listed.is_empty() {
        "OPTIONS".to_owned()
    } else {
        format!("{listed},OPTIONS")
    };
    HeaderValue::from_str(&both).unwrap_or(HeaderValue::from_static("OPTIONS"))
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

//! The steps that say what is sent, as method and path.

use serde_json::{Map, Value};
use statewright_core::code::Code;
use statewright_engine::error::error_body;
use statewright_engine::hooks::{HookAnswer, HookContent};
use statewright_engine::outbox_admin::OutboxQuery;
use statewright_engine::page::Paging;
use statewright_engine::request::{missing_tenant, tenant_id};

use crate::host::{Asked, Host, Reply};
use crate::support::block_on;

/// A segment of a path as it is sent.
pub(crate) fn encoded(segment: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap();
        }
    }
    text
}

fn decoded(segment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap();
                bytes.push(u8::from_str_radix(digits, 16).expect("an encoded byte"));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Method and path, the status of a success, and the route.
pub(crate) fn address(send: &str, captured: &Map<String, Value>) -> (String, String, u16, String) {
    let (method, path) = send.split_once(' ').expect("a method and a path");
    let mut path = path.to_owned();
    for (name, value) in captured {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        path = path.replace(&format!("{{{name}}}"), &encoded(&text));
    }
    let success = match (method, path.as_str()) {
        ("POST", "/api/state/create" | "/api/subscriptions") => 201,
        ("DELETE", _) => 204,
        _ => 200,
    };
    (method.to_owned(), path, success, send.to_owned())
}

/// Sends one.
pub(crate) fn perform(engine: &Host, asked: &Asked) -> Reply {
    let segments: Vec<String> = asked.path.split('/').skip(1).map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let ["hooks", tenant, source] = segments.as_slice() {
        return hook(engine, tenant, source, asked);
    }
    let Some(tenant) = asked.tenant.as_ref() else {
        return Reply::of::<()>(200, Err(missing_tenant()));
    };
    let body = asked.body.as_slice();
    let query = |key: &str| asked.query.get(key).cloned();
    let paging = Paging {
        limit: query("limit"),
        cursor: query("cursor"),
    };
    match (asked.method.as_str(), segments.as_slice()) {
        ("POST", ["api", "state", "create"]) => Reply::of(201, block_on(engine.create_record(tenant, body))),
        ("POST", ["api", "state", "get"]) => Reply::of(200, block_on(engine.get_record(tenant, body))),
        ("POST", ["api", "state", "transition"]) => {
            Reply::of(200, block_on(engine.transition_record(tenant, body)))
        }
        ("POST", ["api", "subscriptions"]) => {
            Reply::of(201, block_on(engine.create_subscription(tenant, body)))
        }
        ("GET", ["api", "subscriptions"]) => {
            Reply::page(block_on(engine.list_subscriptions(tenant, &paging)))
        }
        ("PUT", ["api", "subscriptions", id]) => {
            Reply::put(block_on(engine.put_subscription(tenant, id, body)))
        }
        ("GET", ["api", "subscriptions", id]) => {
            Reply::of(200, block_on(engine.get_subscription(tenant, id)))
        }
        ("DELETE", ["api", "subscriptions", id]) => {
            Reply::of(204, block_on(engine.delete_subscription(tenant, id)))
        }
        ("GET", ["api", "secrets"]) => Reply::of(200, block_on(engine.list_secrets(tenant))),
        ("PUT", ["api", "secrets", name]) => {
            let kept = block_on(engine.put_secret(tenant, name, body));
            Reply::put(kept.map(|kept| (kept.clone(), kept.created)))
        }
        ("POST", ["api", "secrets", name, "rotate"]) => {
            Reply::of(200, block_on(engine.rotate_secret(tenant, name, body)))
        }
        ("DELETE", ["api", "secrets", name]) => Reply::of(204, block_on(engine.delete_secret(tenant, name))),
        ("DELETE", ["api", "secrets", name, "previous"]) => {
            Reply::of(204, block_on(engine.delete_previous_secret(tenant, name)))
        }
        ("GET", ["api", "sources"]) => Reply::of(200, block_on(engine.list_sources(tenant))),
        ("PUT", ["api", "sources", id]) => Reply::put(block_on(engine.put_source(tenant, id, body))),
        ("GET", ["api", "sources", id]) => Reply::of(200, block_on(engine.get_source(tenant, id))),
        ("DELETE", ["api", "sources", id]) => Reply::of(204, block_on(engine.delete_source(tenant, id))),
        ("POST", ["api", "sources", id, "try"]) => {
            Reply::of(200, block_on(engine.try_source(tenant, id, body)))
        }
        ("GET", ["api", "receipts", key]) => {
            let (machine, entity) = (query("machine"), query("entity"));
            let receipts = engine.receipts(tenant, key, machine.as_deref(), entity.as_deref());
            Reply::of(200, block_on(receipts))
        }
        ("GET", ["api", "outbox"]) => {
            let asked = OutboxQuery {
                status: query("status"),
                machine: query("machine"),
                entity: query("entity"),
                older_than: query("older_than"),
                newer_than: query("newer_than"),
                paging,
            };
            let list = block_on(engine.list_outbox(tenant, &asked));
            let next = list.as_ref().ok().and_then(|list| list.next.clone());
            let mut reply = Reply::of(200, list);
            reply.next = next;
            reply
        }
        ("POST", ["api", "outbox", "redrive"]) => Reply::of(200, block_on(engine.redrive_all(tenant, body))),
        ("POST", ["api", "outbox", "cancel"]) => Reply::of(200, block_on(engine.cancel_all(tenant, body))),
        ("GET", ["api", "outbox", id]) => Reply::of(200, block_on(engine.get_outbox(tenant, id))),
        ("POST", ["api", "outbox", id, "redrive"]) => Reply::of(200, block_on(engine.redrive(tenant, id))),
        ("POST", ["api", "outbox", id, "cancel"]) => Reply::of(200, block_on(engine.cancel(tenant, id))),
        (method, _) => {
            let message = format!("there is no route {method} {}", asked.path);
            Reply::new(404, error_body(Code::NotFound, &message))
        }
    }
}

/// A webhook of a provider, whose path names the tenant.
fn hook(engine: &Host, tenant: &str, source: &str, asked: &Asked) -> Reply {
    let tenant = match tenant_id("tenant", tenant) {
        Ok(tenant) => tenant,
        Err(error) => return Reply::of::<()>(200, Err(error)),
    };
    let header = |name: &str| asked.headers.get(name).cloned();
    match block_on(engine.hook(&tenant, source, &header, &asked.body)) {
        Ok(HookAnswer { status, content }) => Reply::new(
            status,
            match content {
                HookContent::Json(body) => body,
                HookContent::Text(text) => text.into(),
            },
        ),
        Err(error) => Reply::of::<()>(200, Err(error)),
    }
}

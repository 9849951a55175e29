//! The routes: each names an operation of the engine, and says how it is told over HTTP. Rules live in the engine.

pub(crate) mod entities;
pub(crate) mod events;
pub(crate) mod machines;
pub(crate) mod outbox;
pub(crate) mod records;
pub(crate) mod secrets;
pub(crate) mod service;
pub(crate) mod sources;
pub(crate) mod subscriptions;

use axum::{
    Router,
    routing::{MethodRouter, delete, get, post, put},
};
use http::{HeaderValue, Uri};
use serde::Serialize;
use statewright_engine::page::Page;

use crate::{refusal::Refusal, reply::Reply};

/// What a handler gives.
pub(crate) type Answer = Result<Reply, Refusal>;

/// All routes.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/health", get(service::health))
        .route("/openapi.json", get(service::openapi))
        .route("/api/scheduler", get(service::scheduler))
        .route("/api/machines", get(machines::list).post(machines::create))
        .route("/api/machines/{machine_id}", machine())
        .route("/api/machines/validate", machine().post(machines::validate))
        .route("/api/machines/{machine_id}/revisions", get(machines::revisions))
        .route("/api/machines/{machine_id}/counts", get(machines::counts))
        .route("/api/machines/{machine_id}/diagram", get(machines::diagram))
        .route("/api/machines/{machine_id}/evaluate", post(events::evaluate))
        .route(
            "/api/machines/{machine_id}/evaluate/batch",
            post(events::evaluate_batch),
        )
        .route(
            "/api/machines/{machine_id}/entities",
            get(entities::list).post(entities::create),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}",
            get(entities::read).delete(entities::delete),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}/transition",
            post(events::transition),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}/explain",
            post(events::explain),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}/events",
            get(events::events),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}/history",
            get(events::history),
        )
        .route(
            "/api/machines/{machine_id}/entities/{entity_id}/release",
            post(entities::release),
        )
        .route("/api/state/create", post(records::create))
        .route("/api/state/get", post(records::get))
        .route("/api/state/transition", post(records::transition))
        .route("/api/secrets", get(secrets::list))
        .route("/api/secrets/{name}", put(secrets::put).delete(secrets::delete))
        .route("/api/secrets/{name}/rotate", post(secrets::rotate))
        .route("/api/secrets/{name}/previous", delete(secrets::delete_previous))
        .route(
            "/api/subscriptions",
            get(subscriptions::list).post(subscriptions::create),
        )
        .route(
            "/api/subscriptions/{subscription_id}",
            get(subscriptions::read)
                .put(subscriptions::put)
                .delete(subscriptions::delete),
        )
        .route("/api/sources", get(sources::list))
        .route(
            "/api/sources/{source_id}",
            get(sources::read).put(sources::put).delete(sources::delete),
        )
        .route("/api/sources/{source_id}/try", post(sources::try_out))
        .route("/hooks/{tenant}/{source_id}", post(sources::hook))
        .route("/api/outbox", get(outbox::list))
        .route("/api/outbox/redrive", post(outbox::redrive_all))
        .route("/api/outbox/cancel", post(outbox::cancel_all))
        .route("/api/outbox/{outbox_id}", get(outbox::read))
        .route("/api/outbox/{outbox_id}/redrive", post(outbox::redrive))
        .route("/api/outbox/{outbox_id}/cancel", post(outbox::cancel))
        .route("/api/receipts/{key}", get(outbox::receipts))
        .fallback(no_route)
}

/// What a machine's own path takes.
fn machine() -> MethodRouter {
    get(machines::read)
        .put(machines::replace)
        .delete(machines::delete)
}

async fn no_route(uri: Uri) -> Refusal {
    Refusal::NoRoute(uri.path().to_owned())
}

/// A page as the seed's plain array, with the way to the next one in a header (R18).
fn page<T: Serialize>(uri: &Uri, page: &Page<T>) -> Reply {
    Reply::json(200, &page.items).next(next_link(uri, page.next.as_deref()))
}

/// `Link: <…?cursor=…>; rel="next"`: the same URL, further on.
fn next_link(uri: &Uri, cursor: Option<&str>) -> Option<HeaderValue> {
    let cursor = cursor?;
    let mut link = format!("<{}?", uri.path());
    for part in uri.query().unwrap_or_default().split('&') {
        if !part.is_empty() && part.split('=').next() != Some("cursor") {
            link.push_str(part);
            link.push('&');
        }
    }
    link.push_str("cursor=");
    for byte in cursor.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            link.push(char::from(byte));
        } else {
            link.push('%');
            link.extend(
                [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
            );
        }
    }
    link.push_str(">; rel=\"next\"");
    HeaderValue::from_str(&link).ok()
}

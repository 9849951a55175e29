//! The routes: each names an operation of the engine, and says how it is told over HTTP. Rules live in the engine.

pub(crate) mod entities;
pub(crate) mod events;
pub(crate) mod machines;
pub(crate) mod service;

use axum::{
    Router,
    routing::{MethodRouter, get, post},
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

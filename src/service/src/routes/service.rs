//! The service itself.

use serde_json::json;

use super::Answer;
use crate::{
    openapi::{self, parts, schemas},
    reply::Reply,
    request::Ask,
};

/// Whether the service answers.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health",
    tag = "service",
    security(()),
    responses((status = 200, description = "It does.", body = schemas::Health))
)]
#[expect(clippy::unused_async, reason = "all handlers are")]
pub(crate) async fn health(_: Ask) -> Answer {
    Ok(Reply::json(
        200,
        &json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "service": "state-machine" }),
    ))
}

/// This document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "service",
    security(()),
    responses((status = 200, description = "OpenAPI 3.1, made from the code that answers.", body = schemas::AnyObject))
)]
#[expect(clippy::unused_async, reason = "all handlers are")]
pub(crate) async fn openapi(_: Ask) -> Answer {
    Ok(Reply::text(200, "application/json", openapi::document()))
}

/// What the scanner of due timers did last, and which timers of the tenant are overdue, parked or failing.
#[utoipa::path(
    get,
    path = "/api/scheduler",
    operation_id = "scheduler",
    tag = "service",
    params(schemas::TenantHeader),
    responses(
        (status = 200, description = "The last pass, and overdue timers by lateness.", body = parts::Scheduler),
        schemas::ReadErrors,
    )
)]
pub(crate) async fn scheduler(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.scheduler(&tenant).await?))
}

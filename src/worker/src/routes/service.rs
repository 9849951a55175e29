//! The service itself.

use serde_json::json;

use super::Answer;
use crate::{
    openapi::{self, schemas},
    reply::Reply,
    request::Tenant,
    service::Service,
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
pub(crate) async fn health() -> Reply {
    Reply::json(
        200,
        &json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "service": "state-machine" }),
    )
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
pub(crate) async fn openapi() -> Reply {
    Reply::text(200, "application/json", openapi::document())
}

/// What the scanner of due timers did last, and which timers of the tenant are overdue, parked or failing.
#[utoipa::path(
    get,
    path = "/api/scheduler",
    operation_id = "scheduler",
    tag = "service",
    params(schemas::TenantHeader),
    responses(
        (status = 200, description = "The last pass, and overdue timers by lateness.", body = schemas::AnyObject),
        schemas::ReadErrors,
    )
)]
#[worker::send]
pub(crate) async fn scheduler(Tenant(tenant): Tenant, engine: Service) -> Answer {
    Ok(Reply::json(200, &engine.scheduler(&tenant).await?))
}

//! State records: a state, a version and data under a name, without a definition (S0.11 to S0.27).

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::{Body, Tenant},
    service::{Keyed, Service},
};

/// Makes a state record at version 1. It must not exist yet.
#[utoipa::path(
    post,
    path = "/api/state/create",
    operation_id = "createRecord",
    tag = "records",
    params(schemas::TenantHeader),
    request_body = effects::NewRecord,
    responses((status = 201, description = "The record.", body = effects::RecordAnswer), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn create(Tenant(tenant): Tenant, Body(body): Body, engine: Keyed<201>) -> Answer {
    Ok(Reply::json(201, &engine.create_record(&tenant, &body).await?))
}

/// Reads a state record.
#[utoipa::path(
    post,
    path = "/api/state/get",
    operation_id = "getRecord",
    tag = "records",
    params(schemas::TenantHeader),
    request_body = effects::RecordName,
    responses((status = 200, description = "The record, or that there is none.", body = effects::RecordFound), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn get(Tenant(tenant): Tenant, Body(body): Body, engine: Service) -> Answer {
    Ok(Reply::json(200, &engine.get_record(&tenant, &body).await?))
}

/// Moves a state record, where it is in the state and at the version that the caller says, and makes its event.
#[utoipa::path(
    post,
    path = "/api/state/transition",
    operation_id = "moveRecord",
    tag = "records",
    params(schemas::TenantHeader),
    request_body = effects::RecordMove,
    responses((status = 200, description = "The record as it is now, and its event.", body = effects::RecordAnswer), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn transition(Tenant(tenant): Tenant, Body(body): Body, engine: Keyed<200>) -> Answer {
    Ok(Reply::json(200, &engine.transition_record(&tenant, &body).await?))
}

//! State records: a state, a version and data under a name, without a definition (S0.11 to S0.27).

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::Ask,
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
pub(crate) async fn create(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(201).await?;
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
pub(crate) async fn get(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.engine().await?;
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
pub(crate) async fn transition(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(200, &engine.transition_record(&tenant, &body).await?))
}

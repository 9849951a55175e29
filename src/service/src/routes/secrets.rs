//! Secrets of a tenant. Their values are never told again.

use statewright_engine::secrets::SecretKept;

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::Ask,
};

/// The tenant's secrets by name, without their values.
#[utoipa::path(
    get,
    path = "/api/secrets",
    operation_id = "listSecrets",
    tag = "secrets",
    params(schemas::TenantHeader),
    responses((status = 200, description = "The secrets.", body = [effects::Secret]), schemas::ReadErrors)
)]
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.list_secrets(&tenant).await?))
}

/// Makes or replaces a secret. Without a value the service makes one up, and tells it this once.
#[utoipa::path(
    put,
    path = "/api/secrets/{name}",
    operation_id = "putSecret",
    tag = "secrets",
    params(schemas::TenantHeader, effects::SecretPath),
    request_body = effects::SecretValue,
    responses(
        (status = 200, description = "It is replaced; nothing but the new value is live.", body = effects::KeptSecret),
        (status = 201, description = "It is new.", body = effects::KeptSecret),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn put(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let name = ask.name();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(kept(&engine.put_secret(&tenant, &name, &body).await?))
}

/// Gives a secret a new value, and leaves the one so far live beside it. One before that is dropped.
#[utoipa::path(
    post,
    path = "/api/secrets/{name}/rotate",
    operation_id = "rotateSecret",
    tag = "secrets",
    params(schemas::TenantHeader, effects::SecretPath),
    request_body = effects::SecretValue,
    responses((status = 200, description = "Both values are live.", body = effects::KeptSecret), schemas::WriteErrors)
)]
pub(crate) async fn rotate(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let name = ask.name();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(kept(&engine.rotate_secret(&tenant, &name, &body).await?))
}

fn kept(kept: &SecretKept) -> Reply {
    Reply::json(if kept.created { 201 } else { 200 }, kept)
}

/// Deletes a secret with all its values.
#[utoipa::path(
    delete,
    path = "/api/secrets/{name}",
    operation_id = "deleteSecret",
    tag = "secrets",
    params(schemas::TenantHeader, effects::SecretPath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
pub(crate) async fn delete(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let name = ask.name();
    let engine = ask.keyed(204).await?;
    engine.delete_secret(&tenant, &name).await?;
    Ok(Reply::empty(204))
}

/// Ends a rotation: the value before is not live any more.
#[utoipa::path(
    delete,
    path = "/api/secrets/{name}/previous",
    operation_id = "deletePreviousSecret",
    tag = "secrets",
    params(schemas::TenantHeader, effects::SecretPath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
pub(crate) async fn delete_previous(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let name = ask.name();
    let engine = ask.keyed(204).await?;
    engine.delete_previous_secret(&tenant, &name).await?;
    Ok(Reply::empty(204))
}

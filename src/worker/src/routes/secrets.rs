//! Secrets of a tenant. Their values are never told again.

use statewright_engine::secrets::SecretKept;

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::{Body, Name, Tenant},
    service::{Keyed, Service},
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
#[worker::send]
pub(crate) async fn list(Tenant(tenant): Tenant, engine: Service) -> Answer {
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
#[worker::send]
pub(crate) async fn put(
    Tenant(tenant): Tenant,
    Name(name): Name,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
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
#[worker::send]
pub(crate) async fn rotate(
    Tenant(tenant): Tenant,
    Name(name): Name,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
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
#[worker::send]
pub(crate) async fn delete(Tenant(tenant): Tenant, Name(name): Name, engine: Keyed<204>) -> Answer {
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
#[worker::send]
pub(crate) async fn delete_previous(Tenant(tenant): Tenant, Name(name): Name, engine: Keyed<204>) -> Answer {
    engine.delete_previous_secret(&tenant, &name).await?;
    Ok(Reply::empty(204))
}

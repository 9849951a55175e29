//! Webhook sources, and the webhooks that they take in.

use statewright_engine::{hooks::HookContent, request::tenant_id};

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::{Body, Bytes, Hook, Name, Tenant},
    service::{Keyed, Service},
};

/// The tenant's webhook sources, with what was counted of each.
#[utoipa::path(
    get,
    path = "/api/sources",
    operation_id = "listSources",
    tag = "sources",
    params(schemas::TenantHeader),
    responses((status = 200, description = "The sources.", body = [effects::Source]), schemas::ReadErrors)
)]
#[worker::send]
pub(crate) async fn list(Tenant(tenant): Tenant, engine: Service) -> Answer {
    Ok(Reply::json(200, &engine.list_sources(&tenant).await?))
}

/// One webhook source.
#[utoipa::path(
    get,
    path = "/api/sources/{source_id}",
    operation_id = "getSource",
    tag = "sources",
    params(schemas::TenantHeader, effects::SourcePath),
    responses((status = 200, description = "The source.", body = effects::Source), schemas::ReadErrors)
)]
#[worker::send]
pub(crate) async fn read(Tenant(tenant): Tenant, Name(id): Name, engine: Service) -> Answer {
    Ok(Reply::json(200, &engine.get_source(&tenant, &id).await?))
}

/// Registers or replaces a webhook source: who signs, and what its requests become.
#[utoipa::path(
    put,
    path = "/api/sources/{source_id}",
    operation_id = "putSource",
    tag = "sources",
    params(schemas::TenantHeader, effects::SourcePath),
    request_body = effects::NewSource,
    responses(
        (status = 200, description = "It is replaced.", body = effects::Source),
        (status = 201, description = "It is new.", body = effects::Source),
        schemas::WriteErrors,
    )
)]
#[worker::send]
pub(crate) async fn put(
    Tenant(tenant): Tenant,
    Name(id): Name,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
    let (view, created) = engine.put_source(&tenant, &id, &body).await?;
    Ok(Reply::json(if created { 201 } else { 200 }, &view))
}

/// Deletes a webhook source: its requests are answered 401 from then on.
#[utoipa::path(
    delete,
    path = "/api/sources/{source_id}",
    operation_id = "deleteSource",
    tag = "sources",
    params(schemas::TenantHeader, effects::SourcePath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn delete(Tenant(tenant): Tenant, Name(id): Name, engine: Keyed<204>) -> Answer {
    engine.delete_source(&tenant, &id).await?;
    Ok(Reply::empty(204))
}

/// Shows what a request would become. Nothing is written, and it need not be signed.
#[utoipa::path(
    post,
    path = "/api/sources/{source_id}/try",
    operation_id = "trySource",
    tag = "sources",
    params(schemas::TenantHeader, effects::SourcePath),
    request_body = effects::Trial,
    responses((status = 200, description = "The event, or why there is none.", body = effects::Tried), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn try_out(
    Tenant(tenant): Tenant,
    Name(id): Name,
    Body(body): Body,
    engine: Service,
) -> Answer {
    Ok(Reply::json(200, &engine.try_source(&tenant, &id, &body).await?))
}

/// Takes in a provider's webhook. It needs no API key: it is signed with the source's secret.
#[utoipa::path(
    post,
    path = "/hooks/{tenant}/{source_id}",
    operation_id = "hook",
    tag = "sources",
    security(()),
    params(effects::HookPath),
    request_body(content(
        (schemas::Anything = "application/json"),
        (String = "application/x-www-form-urlencoded"),
        (String = "text/plain"),
    ), description = "What the provider sends, to the byte that it signed."),
    responses(
        (
            status = 200,
            description = "What became of it; or what the provider needs to set the source up.",
            content((effects::HookAnswer = "application/json"), (String = "text/plain; charset=utf-8")),
        ),
        (status = 202, description = "It is no event for the source's mapping.", body = effects::HookAnswer),
        effects::HookErrors,
    )
)]
#[worker::send]
pub(crate) async fn hook(call: Hook, Bytes(body): Bytes, engine: Service) -> Answer {
    let tenant = tenant_id("tenant", &call.tenant)?;
    let headers = |name: &str| call.header(name);
    let answer = engine.hook(&tenant, &call.source, &headers, &body).await?;
    Ok(match answer.content {
        HookContent::Json(value) => Reply::json(answer.status, &value),
        HookContent::Text(text) => Reply::text(answer.status, "text/plain; charset=utf-8", text),
    })
}

//! Webhook sources, and the webhooks that they take in.

use statewright_engine::{hooks::HookContent, request::tenant_id};

use super::Answer;
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::Ask,
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
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let engine = ask.engine().await?;
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
pub(crate) async fn read(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.engine().await?;
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
pub(crate) async fn put(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
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
pub(crate) async fn delete(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.keyed(204).await?;
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
pub(crate) async fn try_out(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let body = ask.body().await?;
    let engine = ask.engine().await?;
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
pub(crate) async fn hook(ask: Ask) -> Answer {
    let (tenant, source) = ask.hook();
    let body = ask.bytes().await?;
    let engine = ask.engine().await?;
    let tenant = tenant_id("tenant", &tenant)?;
    let headers = |name: &str| ask.header(name);
    let answer = engine.hook(&tenant, &source, &headers, &body).await?;
    Ok(match answer.content {
        HookContent::Json(value) => Reply::json(answer.status, &value),
        HookContent::Text(text) => Reply::text(answer.status, "text/plain; charset=utf-8", text),
    })
}

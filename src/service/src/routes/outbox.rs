//! The outbox, and receipts: what became of what went out, and of what came in.

use statewright_engine::{outbox_admin::OutboxQuery, page::Paging};
use utoipa::IntoParams;

use super::{Answer, next_link};
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::Ask,
};

/// Which effects are wanted. Filters combine.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Those of this status.
    #[param(value_type = Option<effects::OutboxStatus>)]
    status: Option<String>,
    /// Those of this machine, or of this machine of state records.
    machine: Option<String>,
    /// Those of this entity or record.
    entity: Option<String>,
    /// Those made before this time (milliseconds since the epoch).
    #[param(value_type = Option<i64>)]
    older_than: Option<String>,
    /// Those made after this time (milliseconds since the epoch).
    #[param(value_type = Option<i64>)]
    newer_than: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

query!(ListQuery {
    status,
    machine,
    entity,
    older_than,
    newer_than,
    limit,
    cursor
});

/// The tenant's effects, newest first; those that are pending oldest first. And how many there are of each status.
#[utoipa::path(
    get,
    path = "/api/outbox",
    operation_id = "listOutbox",
    tag = "outbox",
    params(schemas::TenantHeader, ListQuery),
    responses(
        (status = 200, description = "The effects.", body = effects::Outbox, headers(("Link" = Option<String>, description = "The next page, where there is one: `<…>; rel=\"next\"`"))),
        schemas::ReadErrors,
    )
)]
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let query = ListQuery::of(&ask)?;
    let engine = ask.engine().await?;
    let query = OutboxQuery {
        status: query.status,
        machine: query.machine,
        entity: query.entity,
        older_than: query.older_than,
        newer_than: query.newer_than,
        paging: Paging {
            limit: query.limit,
            cursor: query.cursor,
        },
    };
    let list = engine.list_outbox(&tenant, &query).await?;
    Ok(Reply::json(200, &list).next(next_link(&ask, list.next.as_deref())))
}

/// One effect: what is sent, and its attempts.
#[utoipa::path(
    get,
    path = "/api/outbox/{outbox_id}",
    operation_id = "getOutbox",
    tag = "outbox",
    params(schemas::TenantHeader, effects::OutboxPath),
    responses((status = 200, description = "The effect.", body = effects::OutboxEntry), schemas::ReadErrors)
)]
pub(crate) async fn read(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.get_outbox(&tenant, &id).await?))
}

/// Has an effect sent again that is dead, cancelled or skipped; one that waits is sent now.
#[utoipa::path(
    post,
    path = "/api/outbox/{outbox_id}/redrive",
    operation_id = "redriveEffect",
    tag = "outbox",
    params(schemas::TenantHeader, effects::OutboxPath),
    responses((status = 200, description = "The effect as it is now.", body = effects::OutboxItem), schemas::WriteErrors)
)]
pub(crate) async fn redrive(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(200, &engine.redrive(&tenant, &id).await?))
}

/// Calls off an effect that is pending.
#[utoipa::path(
    post,
    path = "/api/outbox/{outbox_id}/cancel",
    operation_id = "cancelEffect",
    tag = "outbox",
    params(schemas::TenantHeader, effects::OutboxPath),
    responses((status = 200, description = "The effect as it is now.", body = effects::OutboxCancelled), schemas::WriteErrors)
)]
pub(crate) async fn cancel(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(200, &engine.cancel(&tenant, &id).await?))
}

/// Has all effects of a filter sent again, up to 1,000 in a call.
#[utoipa::path(
    post,
    path = "/api/outbox/redrive",
    operation_id = "redriveEffects",
    tag = "outbox",
    params(schemas::TenantHeader),
    request_body = effects::OutboxFilter,
    responses((status = 200, description = "How many.", body = effects::Redriven), schemas::WriteErrors)
)]
pub(crate) async fn redrive_all(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(200, &engine.redrive_all(&tenant, &body).await?))
}

/// Calls off all pending effects of a filter, up to 1,000 in a call.
#[utoipa::path(
    post,
    path = "/api/outbox/cancel",
    operation_id = "cancelEffects",
    tag = "outbox",
    params(schemas::TenantHeader),
    request_body = effects::OutboxFilter,
    responses((status = 200, description = "How many.", body = effects::Cancelled), schemas::WriteErrors)
)]
pub(crate) async fn cancel_all(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(200, &engine.cancel_all(&tenant, &body).await?))
}

/// Whose event is meant.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReceiptQuery {
    /// With an event's identity: its machine.
    machine: Option<String>,
    /// With an event's identity: its entity.
    entity: Option<String>,
}

query!(ReceiptQuery { machine, entity });

/// What became of a request with an Idempotency-Key, of a webhook's delivery, or of an event, newest first.
#[utoipa::path(
    get,
    path = "/api/receipts/{key}",
    operation_id = "getReceipts",
    tag = "outbox",
    params(schemas::TenantHeader, effects::ReceiptPath, ReceiptQuery),
    responses((status = 200, description = "What became of it.", body = [effects::Receipt]), schemas::ReadErrors)
)]
pub(crate) async fn receipts(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let key = ask.name();
    let query = ReceiptQuery::of(&ask)?;
    let engine = ask.engine().await?;
    let (machine, entity) = (query.machine.as_deref(), query.entity.as_deref());
    Ok(Reply::json(
        200,
        &engine.receipts(&tenant, &key, machine, entity).await?,
    ))
}

//! Events, and what is told of them before and after.

use statewright_engine::{HistoryQuery, page::Paging};
use utoipa::IntoParams;

use super::{Answer, next_link, page};
use crate::{openapi::schemas, reply::Reply, request::Ask};

/// Applies one event. An entity that does not exist is made first.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/evaluate",
    operation_id = "evaluate",
    tag = "events",
    params(schemas::OptionalTenantHeader, schemas::MachinePath),
    request_body = schemas::EvaluateRequest,
    responses(
        (status = 200, description = "What the event did, or the reason why it did nothing.", body = schemas::TransitionResponse),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn evaluate(ask: Ask) -> Answer {
    let tenant = ask.named_tenant()?;
    let machine_id = ask.machine();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(
        200,
        &engine.evaluate(tenant.as_ref(), &machine_id, &body).await?,
    ))
}

/// Applies up to 1,000 events, each on its own: the failure of one undoes no other.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/evaluate/batch",
    operation_id = "evaluateBatch",
    tag = "events",
    params(schemas::OptionalTenantHeader, schemas::MachinePath),
    request_body = schemas::BatchRequest,
    responses(
        (status = 200, description = "A result or an error for each event, in their order.", body = schemas::BatchResponse),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn evaluate_batch(ask: Ask) -> Answer {
    let tenant = ask.named_tenant()?;
    let machine_id = ask.machine();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(
        200,
        &engine.evaluate_batch(tenant.as_ref(), &machine_id, &body).await?,
    ))
}

/// Applies one event to an entity that exists.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/entities/{entity_id}/transition",
    operation_id = "transition",
    tag = "events",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath),
    request_body = schemas::TransitionRequest,
    responses(
        (status = 200, description = "What the event did, or the reason why it did nothing.", body = schemas::TransitionResponse),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn transition(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    Ok(Reply::json(
        200,
        &engine.transition(&tenant, &machine_id, &entity_id, &body).await?,
    ))
}

/// Why an event would move an entity or not: every candidate transition with the clauses that fail and the values seen.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/entities/{entity_id}/explain",
    operation_id = "explain",
    tag = "events",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath),
    request_body = schemas::TransitionRequest,
    responses((status = 200, description = "The explanation. Nothing is written.", body = schemas::Explanation), schemas::WriteErrors)
)]
pub(crate) async fn explain(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let body = ask.body().await?;
    let engine = ask.engine().await?;
    Ok(Reply::json(
        200,
        &engine.explain(&tenant, &machine_id, &entity_id, &body).await?,
    ))
}

/// The events that an entity, and what lives below it, can take where it is now, and the target that leads there.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/entities/{entity_id}/events",
    operation_id = "listEvents",
    tag = "events",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath),
    responses((status = 200, description = "The events.", body = [schemas::PossibleEvent]), schemas::ReadErrors)
)]
pub(crate) async fn events(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let engine = ask.engine().await?;
    Ok(Reply::json(
        200,
        &engine.events(&tenant, &machine_id, &entity_id).await?,
    ))
}

/// Which part of a history is wanted (R18).
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParams {
    /// `timestamp`, the default: by the events' timestamps, then by id. `newest`: the other way round. `id`: in the order of the commits.
    #[param(value_type = Option<schemas::HistoryOrder>)]
    order: Option<String>,
    /// At most so many; without it, everything up to 10,000 rows or 8 MiB.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

query!(HistoryParams { order, limit, cursor });

const NDJSON: &str = "application/x-ndjson";

/// What happened to an entity.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/entities/{entity_id}/history",
    operation_id = "getHistory",
    tag = "events",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath, HistoryParams),
    responses(
        (
            status = 200,
            description = "The rows: an array, or one JSON text a line with `Accept: application/x-ndjson`.",
            content(([schemas::HistoryRow] = "application/json"), (String = "application/x-ndjson")),
            headers(("Link" = Option<String>, description = "The next page, where there is one: `<…>; rel=\"next\"`")),
        ),
        schemas::ReadErrors,
    )
)]
pub(crate) async fn history(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let query = HistoryParams::of(&ask)?;
    let lines = ask.takes(NDJSON);
    let engine = ask.engine().await?;
    let query = HistoryQuery {
        order: query.order,
        paging: Paging {
            limit: query.limit,
            cursor: query.cursor,
        },
    };
    let found = engine.history(&tenant, &machine_id, &entity_id, &query).await?;
    if !lines {
        return Ok(page(&ask, &found));
    }
    let mut body = Vec::new();
    for row in &found.items {
        // INVARIANT: rows have text keys and finite numbers, so that they can be written as JSON.
        body.extend(serde_json::to_vec(row).unwrap_or_default());
        body.push(b'\n');
    }
    Ok(Reply::text(200, NDJSON, body).next(next_link(&ask, found.next.as_deref())))
}

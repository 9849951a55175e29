//! Events, and what is told of them before and after.

use axum::extract::FromRequestParts;
use http::{Uri, request::Parts};
use serde::Deserialize;
use statewright_engine::{HistoryQuery, page::Paging};
use utoipa::IntoParams;

use super::{Answer, next_link, page};
use crate::{
    openapi::schemas,
    refusal::Refusal,
    reply::Reply,
    request::{self, Body, Instance, Machine, Query, Tenant},
    service::{Keyed, Service},
};

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
#[worker::send]
pub(crate) async fn evaluate(
    tenant: Option<Tenant>,
    Machine(machine_id): Machine,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
    let tenant = tenant.map(|Tenant(tenant)| tenant);
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
#[worker::send]
pub(crate) async fn evaluate_batch(
    tenant: Option<Tenant>,
    Machine(machine_id): Machine,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
    let tenant = tenant.map(|Tenant(tenant)| tenant);
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
#[worker::send]
pub(crate) async fn transition(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    Body(body): Body,
    engine: Keyed<200>,
) -> Answer {
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
#[worker::send]
pub(crate) async fn explain(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    Body(body): Body,
    engine: Service,
) -> Answer {
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
#[worker::send]
pub(crate) async fn events(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    engine: Service,
) -> Answer {
    Ok(Reply::json(
        200,
        &engine.events(&tenant, &machine_id, &entity_id).await?,
    ))
}

/// Which part of a history is wanted (R18).
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParams {
    /// `timestamp`, the default: by the events' timestamps, then by id. `id`: in the order of the commits.
    #[param(value_type = Option<schemas::HistoryOrder>)]
    order: Option<String>,
    /// At most so many; without it, everything up to 10,000 rows or 8 MiB.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

/// Whether the caller asks for one JSON text a line.
pub(crate) struct Lines(bool);

impl<S: Sync> FromRequestParts<S> for Lines {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let accepted = request::header(&request::current(parts)?.raw, "accept");
        Ok(Self(accepted.is_some_and(|accepted| {
            accepted.to_ascii_lowercase().contains(NDJSON)
        })))
    }
}

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
#[worker::send]
pub(crate) async fn history(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    Query(query): Query<HistoryParams>,
    Lines(lines): Lines,
    uri: Uri,
    engine: Service,
) -> Answer {
    let query = HistoryQuery {
        order: query.order,
        paging: Paging {
            limit: query.limit,
            cursor: query.cursor,
        },
    };
    let found = engine.history(&tenant, &machine_id, &entity_id, &query).await?;
    if !lines {
        return Ok(page(&uri, &found));
    }
    let mut body = Vec::new();
    for row in &found.items {
        // INVARIANT: rows have text keys and finite numbers, so that they can be written as JSON.
        body.extend(serde_json::to_vec(row).unwrap_or_default());
        body.push(b'\n');
    }
    Ok(Reply::text(200, NDJSON, body).next(next_link(&uri, found.next.as_deref())))
}

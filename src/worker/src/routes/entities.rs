//! Entities: made, read, listed, deleted.

use http::Uri;
use serde::Deserialize;
use serde_json::json;
use statewright_engine::{EntityQuery, page::Paging};
use utoipa::IntoParams;

use super::{Answer, page};
use crate::{
    openapi::schemas,
    reply::Reply,
    request::{Body, Instance, Machine, Query, Tenant},
    service::{Keyed, Service},
};

/// Which entities are wanted. Filters combine.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Those in this state; with `region` on a parallel machine.
    state: Option<String>,
    /// The region that `state` is of.
    region: Option<String>,
    /// Those written at this time or later (milliseconds since the epoch).
    #[param(value_type = Option<i64>)]
    updated_since: Option<String>,
    /// Those whose id starts so.
    prefix: Option<String>,
    /// At most so many; without it, everything up to 10,000 rows or 8 MiB.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

/// The entities of a machine.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/entities",
    operation_id = "listEntities",
    tag = "entities",
    params(schemas::TenantHeader, schemas::MachinePath, ListQuery),
    responses(
        (status = 200, description = "The entities.", body = [schemas::ListedEntity], headers(("Link" = Option<String>, description = "The next page, where there is one: `<…>; rel=\"next\"`"))),
        schemas::ReadErrors,
    )
)]
#[worker::send]
pub(crate) async fn list(
    Tenant(tenant): Tenant,
    Machine(machine_id): Machine,
    Query(query): Query<ListQuery>,
    uri: Uri,
    engine: Service,
) -> Answer {
    let query = EntityQuery {
        state: query.state,
        region: query.region,
        updated_since: query.updated_since,
        prefix: query.prefix,
        paging: Paging {
            limit: query.limit,
            cursor: query.cursor,
        },
    };
    Ok(page(
        &uri,
        &engine.list_entities(&tenant, &machine_id, &query).await?,
    ))
}

/// Makes an entity in the machine's initial state. It must not exist yet.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/entities",
    operation_id = "createEntity",
    tag = "entities",
    params(schemas::TenantHeader, schemas::MachinePath),
    request_body = schemas::NewEntity,
    responses((status = 201, description = "The entity.", body = schemas::Entity), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn create(
    Tenant(tenant): Tenant,
    Machine(machine_id): Machine,
    Body(body): Body,
    engine: Keyed<201>,
) -> Answer {
    Ok(Reply::json(
        201,
        &engine.create_entity(&tenant, &machine_id, &body).await?,
    ))
}

/// How much of an entity is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReadQuery {
    /// Whether everything that lives or lived below it is nested in it.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    tree: bool,
}

/// One entity; with `tree=true` everything below it too.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/entities/{entity_id}",
    operation_id = "getEntity",
    tag = "entities",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath, ReadQuery),
    responses(
        (status = 200, description = "The entity.", body = schemas::Entity),
        (status = 413, description = "The tree is too large for one answer.", body = schemas::Problem),
        schemas::ReadErrors,
    )
)]
#[worker::send]
pub(crate) async fn read(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    Query(query): Query<ReadQuery>,
    engine: Service,
) -> Answer {
    if query.tree {
        return Ok(Reply::json(
            200,
            &engine.get_tree(&tenant, &machine_id, &entity_id).await?,
        ));
    }
    Ok(Reply::json(
        200,
        &engine.get_entity(&tenant, &machine_id, &entity_id).await?,
    ))
}

/// Deletes an entity with everything below it, their history and their timers. A live managed child stays.
#[utoipa::path(
    delete,
    path = "/api/machines/{machine_id}/entities/{entity_id}",
    operation_id = "deleteEntity",
    tag = "entities",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn delete(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    engine: Keyed<204>,
) -> Answer {
    engine.delete_entity(&tenant, &machine_id, &entity_id).await?;
    Ok(Reply::empty(204))
}

/// Frees an entity's parked timers, so that the scanner tries them again.
#[utoipa::path(
    post,
    path = "/api/machines/{machine_id}/entities/{entity_id}/release",
    operation_id = "releaseTimers",
    tag = "entities",
    params(schemas::TenantHeader, schemas::MachinePath, schemas::EntityPath),
    responses((status = 200, description = "How many there were.", body = schemas::Released), schemas::WriteErrors)
)]
#[worker::send]
pub(crate) async fn release(
    Tenant(tenant): Tenant,
    Instance(machine_id, entity_id): Instance,
    engine: Keyed<200>,
) -> Answer {
    let released = engine.release_timers(&tenant, &machine_id, &entity_id).await?;
    Ok(Reply::json(200, &json!({ "released": released })))
}

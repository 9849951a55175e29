//! Entities: made, read, listed, deleted.

use serde_json::json;
use statewright_engine::{EntityQuery, error::Error, page::Paging};
use utoipa::IntoParams;

use super::{Answer, page};
use crate::{openapi::schemas, refusal::Refusal, reply::Reply, request::Ask};

/// Which entities are wanted. Filters combine.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Those in this state; with `region` on a parallel machine.
    state: Option<String>,
    /// The region that `state` is of.
    region: Option<String>,
    /// Those written at this time or later (milliseconds since the epoch).
    #[param(value_type = Option<i64>)]
    updated_since: Option<String>,
    /// Those written before this time.
    #[param(value_type = Option<i64>)]
    updated_before: Option<String>,
    /// Those whose id starts so.
    prefix: Option<String>,
    /// At most so many; without it, everything up to 10,000 rows or 8 MiB.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

query!(ListQuery {
    state,
    region,
    updated_since,
    updated_before,
    prefix,
    limit,
    cursor
});

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
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let query = ListQuery::of(&ask)?;
    let engine = ask.engine().await?;
    let query = EntityQuery {
        state: query.state,
        region: query.region,
        updated_since: query.updated_since,
        updated_before: query.updated_before,
        prefix: query.prefix,
        paging: Paging {
            limit: query.limit,
            cursor: query.cursor,
        },
    };
    Ok(page(
        &ask,
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
pub(crate) async fn create(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let body = ask.body().await?;
    let engine = ask.keyed(201).await?;
    Ok(Reply::json(
        201,
        &engine.create_entity(&tenant, &machine_id, &body).await?,
    ))
}

/// How much of an entity is wanted.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReadQuery {
    /// Whether everything that lives or lived below it is nested in it.
    #[param(value_type = Option<bool>)]
    tree: bool,
}

impl ReadQuery {
    fn of(ask: &Ask) -> Result<Self, Refusal> {
        let tree = match ask.query().take("tree")?.as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(Error::invalid("tree", "it is neither", "true or false").into()),
        };
        Ok(Self { tree })
    }
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
pub(crate) async fn read(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let query = ReadQuery::of(&ask)?;
    let engine = ask.engine().await?;
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
pub(crate) async fn delete(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let engine = ask.keyed(204).await?;
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
pub(crate) async fn release(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let (machine_id, entity_id) = ask.instance();
    let engine = ask.keyed(200).await?;
    let released = engine.release_timers(&tenant, &machine_id, &entity_id).await?;
    Ok(Reply::json(200, &json!({ "released": released })))
}

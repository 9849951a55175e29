//! Machines and their revisions.

use statewright_engine::page::Paging;
use utoipa::IntoParams;

use super::{Answer, page};
use crate::{
    openapi::{parts, schemas},
    reply::Reply,
    request::Ask,
};

/// Which part of a list is wanted (R18).
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// At most so many; without it, everything up to 10,000 rows or 8 MiB.
    #[param(minimum = 1, maximum = 1000)]
    #[param(value_type = Option<u32>)]
    limit: Option<String>,
    /// Where the page before ended: the `cursor` of its `Link` header.
    cursor: Option<String>,
}

query!(PageQuery { limit, cursor });

impl From<PageQuery> for Paging {
    fn from(query: PageQuery) -> Self {
        Self {
            limit: query.limit,
            cursor: query.cursor,
        }
    }
}

/// All machines of the tenant, in the order of their creation.
#[utoipa::path(
    get,
    path = "/api/machines",
    operation_id = "listMachines",
    tag = "machines",
    params(schemas::TenantHeader, PageQuery),
    responses(
        (status = 200, description = "The machines.", body = [schemas::Machine], headers(("Link" = Option<String>, description = "The next page, where there is one: `<…>; rel=\"next\"`"))),
        schemas::ReadErrors,
    )
)]
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let query = PageQuery::of(&ask)?;
    let engine = ask.engine().await?;
    Ok(page(&ask, &engine.list_machines(&tenant, &query.into()).await?))
}

/// Registers a machine. It must not exist yet.
#[utoipa::path(
    post,
    path = "/api/machines",
    operation_id = "createMachine",
    tag = "machines",
    params(schemas::TenantHeader),
    request_body = schemas::Definition,
    responses(
        (status = 201, description = "The machine, with warnings about its definition if there are any.", body = schemas::Machine),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn create(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(201).await?;
    Ok(Reply::json(201, &engine.create_machine(&tenant, &body).await?))
}

/// Checks a definition as a registration would, and registers nothing. Where a tenant is named, its machines are those
/// that the definition may name as children.
#[utoipa::path(
    post,
    path = "/api/machines/validate",
    operation_id = "validateMachine",
    tag = "machines",
    params(schemas::CheckingTenantHeader),
    request_body = schemas::Definition,
    responses(
        (status = 200, description = "Whether it is valid, every fault, and warnings of what may not be meant.", body = schemas::Validation),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn validate(ask: Ask) -> Answer {
    let tenant = ask.named_tenant()?;
    let body = ask.body().await?;
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.validate(tenant.as_ref(), &body).await?))
}

/// One machine.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}",
    operation_id = "getMachine",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath),
    responses((status = 200, description = "The machine at its newest revision.", body = schemas::Machine), schemas::ReadErrors)
)]
pub(crate) async fn read(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.get_machine(&tenant, &machine_id).await?))
}

/// What a new revision does to entities that live.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReplaceQuery {
    /// `follow`, the default: live entities move to the new revision, if every state they are in is still there.
    /// `pin`: they stay on theirs.
    #[param(value_type = Option<schemas::InFlight>)]
    in_flight: Option<String>,
}

query!(ReplaceQuery { in_flight });

/// Gives a machine a new revision.
#[utoipa::path(
    put,
    path = "/api/machines/{machine_id}",
    operation_id = "replaceMachine",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath, ReplaceQuery),
    request_body = schemas::Definition,
    responses(
        (status = 200, description = "The machine at its new revision, with warnings if there are any.", body = schemas::Machine),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn replace(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let query = ReplaceQuery::of(&ask)?;
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    let machine = engine
        .put_machine(&tenant, &machine_id, &body, query.in_flight.as_deref())
        .await?;
    Ok(Reply::json(200, &machine))
}

/// Deletes a machine without entities, and its revisions.
#[utoipa::path(
    delete,
    path = "/api/machines/{machine_id}",
    operation_id = "deleteMachine",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
pub(crate) async fn delete(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let engine = ask.keyed(204).await?;
    engine.delete_machine(&tenant, &machine_id).await?;
    Ok(Reply::empty(204))
}

/// The revisions of a machine, newest first.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/revisions",
    operation_id = "listRevisions",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath, PageQuery),
    responses((status = 200, description = "The revisions.", body = [parts::Revision]), schemas::ReadErrors)
)]
pub(crate) async fn revisions(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let query = PageQuery::of(&ask)?;
    let engine = ask.engine().await?;
    Ok(page(
        &ask,
        &engine.revisions(&tenant, &machine_id, &query.into()).await?,
    ))
}

/// How many entities are in each state of each region.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/counts",
    operation_id = "countEntities",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath),
    responses((status = 200, description = "The counts.", body = [schemas::Count]), schemas::ReadErrors)
)]
pub(crate) async fn counts(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.counts(&tenant, &machine_id).await?))
}

/// Which picture of a machine is wanted.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiagramQuery {
    /// `mermaid`, the default, or `dot` for Graphviz.
    #[param(value_type = Option<schemas::DiagramFormat>)]
    format: Option<String>,
    /// An entity whose current states are to be marked.
    entity_id: Option<String>,
}

query!(DiagramQuery { format, entity_id });

/// A machine as a diagram.
#[utoipa::path(
    get,
    path = "/api/machines/{machine_id}/diagram",
    operation_id = "drawMachine",
    tag = "machines",
    params(schemas::TenantHeader, schemas::MachinePath, DiagramQuery),
    responses((status = 200, description = "The text of the diagram.", body = String, content_type = "text/plain; charset=utf-8"), schemas::ReadErrors)
)]
pub(crate) async fn diagram(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let machine_id = ask.machine();
    let query = DiagramQuery::of(&ask)?;
    let engine = ask.engine().await?;
    let text = engine
        .diagram(
            &tenant,
            &machine_id,
            query.format.as_deref(),
            query.entity_id.as_deref(),
        )
        .await?;
    Ok(Reply::text(200, "text/plain; charset=utf-8", text))
}

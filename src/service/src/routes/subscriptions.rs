//! Subscriptions to transitions.

use super::{Answer, machines::PageQuery, page};
use crate::{
    openapi::{effects, schemas},
    reply::Reply,
    request::Ask,
};

/// The tenant's subscriptions, in the order of their creation.
#[utoipa::path(
    get,
    path = "/api/subscriptions",
    operation_id = "listSubscriptions",
    tag = "subscriptions",
    params(schemas::TenantHeader, PageQuery),
    responses(
        (status = 200, description = "The subscriptions.", body = [effects::Subscription], headers(("Link" = Option<String>, description = "The next page, where there is one: `<…>; rel=\"next\"`"))),
        schemas::ReadErrors,
    )
)]
pub(crate) async fn list(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let query = PageQuery::of(&ask)?;
    let engine = ask.engine().await?;
    Ok(page(
        &ask,
        &engine.list_subscriptions(&tenant, &query.into()).await?,
    ))
}

/// Makes a subscription under an id of the service's own.
#[utoipa::path(
    post,
    path = "/api/subscriptions",
    operation_id = "createSubscription",
    tag = "subscriptions",
    params(schemas::TenantHeader),
    request_body = effects::NewSubscription,
    responses((status = 201, description = "The subscription.", body = effects::Subscription), schemas::WriteErrors)
)]
pub(crate) async fn create(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let body = ask.body().await?;
    let engine = ask.keyed(201).await?;
    Ok(Reply::json(
        201,
        &engine.create_subscription(&tenant, &body).await?,
    ))
}

/// One subscription.
#[utoipa::path(
    get,
    path = "/api/subscriptions/{subscription_id}",
    operation_id = "getSubscription",
    tag = "subscriptions",
    params(schemas::TenantHeader, effects::SubscriptionPath),
    responses((status = 200, description = "The subscription.", body = effects::Subscription), schemas::ReadErrors)
)]
pub(crate) async fn read(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.engine().await?;
    Ok(Reply::json(200, &engine.get_subscription(&tenant, &id).await?))
}

/// Makes or replaces a subscription. What is held for one that becomes active is presented.
#[utoipa::path(
    put,
    path = "/api/subscriptions/{subscription_id}",
    operation_id = "putSubscription",
    tag = "subscriptions",
    params(schemas::TenantHeader, effects::SubscriptionPath),
    request_body = effects::NewSubscription,
    responses(
        (status = 200, description = "It is replaced.", body = effects::Subscription),
        (status = 201, description = "It is new.", body = effects::Subscription),
        schemas::WriteErrors,
    )
)]
pub(crate) async fn put(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let body = ask.body().await?;
    let engine = ask.keyed(200).await?;
    let (view, created) = engine.put_subscription(&tenant, &id, &body).await?;
    Ok(Reply::json(if created { 201 } else { 200 }, &view))
}

/// Deletes a subscription. What waits for it is skipped.
#[utoipa::path(
    delete,
    path = "/api/subscriptions/{subscription_id}",
    operation_id = "deleteSubscription",
    tag = "subscriptions",
    params(schemas::TenantHeader, effects::SubscriptionPath),
    responses((status = 204, description = "It is gone."), schemas::WriteErrors)
)]
pub(crate) async fn delete(ask: Ask) -> Answer {
    let tenant = ask.tenant()?;
    let id = ask.name();
    let engine = ask.keyed(204).await?;
    engine.delete_subscription(&tenant, &id).await?;
    Ok(Reply::empty(204))
}

//! The routes: each names an operation of the engine, and says how it is told over HTTP. Rules live in the engine.

/// How the parameters of a query are read: each by its name, at most once.
macro_rules! query {
    ($name:ident { $($field:ident),* }) => {
        impl $name {
            pub(crate) fn of(ask: &crate::request::Ask) -> Result<Self, crate::refusal::Refusal> {
                let mut query = ask.query();
                Ok(Self {
                    $($field: query.take(stringify!($field))?,)*
                })
            }
        }
    };
}

pub(crate) mod entities;
pub(crate) mod events;
pub(crate) mod machines;
pub(crate) mod outbox;
pub(crate) mod records;
pub(crate) mod secrets;
pub(crate) mod service;
pub(crate) mod sources;
pub(crate) mod subscriptions;

use std::{future::Future, pin::Pin, sync::LazyLock};

use http::{HeaderValue, Method};
use matchit::Router;
use serde::Serialize;
use statewright_engine::{error::Error, page::Page};

use crate::{refusal::Refusal, reply::Reply, request::Ask};

/// What a handler gives.
pub(crate) type Answer = Result<Reply, Refusal>;

/// A handler, and the future that it is once it has been asked.
pub(crate) type Handler = fn(Ask) -> Pin<Box<dyn Future<Output = Answer>>>;

/// A route: its path as the document writes it, and what answers each method that it takes.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    methods: &'static [(Method, Handler)],
}

impl Route {
    /// What answers a method.
    pub(crate) fn handler(&self, method: &Method) -> Option<Handler> {
        let mut methods = self.methods.iter();
        methods.find(|(of, _)| of == method).map(|(_, handler)| *handler)
    }

    /// The header Allow: the methods that the route takes. What answers GET answers HEAD.
    pub(crate) fn allow(&self) -> HeaderValue {
        let mut allow = String::new();
        for (method, _) in self.methods {
            allow.push_str(method.as_str());
            allow.push_str(if *method == Method::GET { ",HEAD," } else { "," });
        }
        allow.push_str("OPTIONS");
        HeaderValue::from_str(&allow).unwrap_or(HeaderValue::from_static("OPTIONS"))
    }
}

macro_rules! routes {
    ($($path:literal => [$($method:ident $module:ident::$handler:ident),*],)*) => {
        /// All routes.
        static ROUTES: &[Route] = &[$(Route {
            path: $path,
            methods: &[$((Method::$method, |ask| Box::pin($module::$handler(ask)))),*],
        },)*];
    };
}

routes! {
    "/health" => [GET service::health],
    "/openapi.json" => [GET service::openapi],
    "/api/scheduler" => [GET service::scheduler],
    "/api/machines" => [GET machines::list, POST machines::create],
    "/api/machines/{machine_id}" => [GET machines::read, PUT machines::replace, DELETE machines::delete],
    "/api/machines/validate" => [GET machines::read, PUT machines::replace, DELETE machines::delete, POST machines::validate],
    "/api/machines/{machine_id}/revisions" => [GET machines::revisions],
    "/api/machines/{machine_id}/counts" => [GET machines::counts],
    "/api/machines/{machine_id}/diagram" => [GET machines::diagram],
    "/api/machines/{machine_id}/evaluate" => [POST events::evaluate],
    "/api/machines/{machine_id}/evaluate/batch" => [POST events::evaluate_batch],
    "/api/machines/{machine_id}/entities" => [GET entities::list, POST entities::create],
    "/api/machines/{machine_id}/entities/{entity_id}" => [GET entities::read, DELETE entities::delete],
    "/api/machines/{machine_id}/entities/{entity_id}/transition" => [POST events::transition],
    "/api/machines/{machine_id}/entities/{entity_id}/explain" => [POST events::explain],
    "/api/machines/{machine_id}/entities/{entity_id}/events" => [GET events::events],
    "/api/machines/{machine_id}/entities/{entity_id}/history" => [GET events::history],
    "/api/machines/{machine_id}/entities/{entity_id}/release" => [POST entities::release],
    "/api/state/create" => [POST records::create],
    "/api/state/get" => [POST records::get],
    "/api/state/transition" => [POST records::transition],
    "/api/secrets" => [GET secrets::list],
    "/api/secrets/{name}" => [PUT secrets::put, DELETE secrets::delete],
    "/api/secrets/{name}/rotate" => [POST secrets::rotate],
    "/api/secrets/{name}/previous" => [DELETE secrets::delete_previous],
    "/api/subscriptions" => [GET subscriptions::list, POST subscriptions::create],
    "/api/subscriptions/{subscription_id}" => [GET subscriptions::read, PUT subscriptions::put, DELETE subscriptions::delete],
    "/api/sources" => [GET sources::list],
    "/api/sources/{source_id}" => [GET sources::read, PUT sources::put, DELETE sources::delete],
    "/api/sources/{source_id}/try" => [POST sources::try_out],
    "/hooks/{tenant}/{source_id}" => [POST sources::hook],
    "/api/outbox" => [GET outbox::list],
    "/api/outbox/redrive" => [POST outbox::redrive_all],
    "/api/outbox/cancel" => [POST outbox::cancel_all],
    "/api/outbox/{outbox_id}" => [GET outbox::read],
    "/api/outbox/{outbox_id}/redrive" => [POST outbox::redrive],
    "/api/outbox/{outbox_id}/cancel" => [POST outbox::cancel],
    "/api/receipts/{key}" => [GET outbox::receipts],
}

/// Made once in an isolate; it holds no state of a request.
static ROUTER: LazyLock<Router<&'static Route>> = LazyLock::new(|| {
    let mut router = Router::new();
    for route in ROUTES {
        // INVARIANT: a test looks up every path of the table.
        drop(router.insert(route.path, route));
    }
    router
});

/// A route, and the open parts of the path by name.
type Found = (&'static Route, Vec<(String, String)>);

/// The route of a path, and what the path has where the route leaves it open, percent-decoded once.
///
/// # Errors
/// There is none, or a part is no UTF-8.
pub(crate) fn find(path: &str) -> Result<Found, Refusal> {
    let Ok(found) = ROUTER.at(path) else {
        return Err(Refusal::NoRoute(path.to_owned()));
    };
    let mut captures = Vec::new();
    for (name, value) in found.params.iter() {
        let decoded = percent_encoding::percent_decode_str(value).decode_utf8();
        let decoded = decoded
            .map_err(|_| Error::invalid("path", format!("`{name}` is no UTF-8"), "percent-encoded UTF-8"))?;
        captures.push((name.to_owned(), decoded.into_owned()));
    }
    Ok((found.value, captures))
}

/// A page as the seed's plain array, with the way to the next one in a header (R18).
fn page<T: Serialize>(ask: &Ask, page: &Page<T>) -> Reply {
    Reply::json(200, &page.items).next(next_link(ask, page.next.as_deref()))
}

/// `Link: <…?cursor=…>; rel="next"`: the same URL, further on.
fn next_link(ask: &Ask, cursor: Option<&str>) -> Option<HeaderValue> {
    let cursor = cursor?;
    let (path, query) = ask.call.path_and_query();
    let mut link = format!("<{path}?");
    for part in query.split('&') {
        if !part.is_empty() && part.split('=').next() != Some("cursor") {
            link.push_str(part);
            link.push('&');
        }
    }
    link.push_str("cursor=");
    for byte in cursor.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            link.push(char::from(byte));
        } else {
            link.push('%');
            link.extend(
                [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
            );
        }
    }
    link.push_str(">; rel=\"next\"");
    HeaderValue::from_str(&link).ok()
}

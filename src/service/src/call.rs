//! One request on its way: what came from the runtime, and what its route leaves to be done after it has answered.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use http::Method;
use statewright_engine::once::Origin;

use crate::{
    host,
    incoming::Incoming,
    service::{Service, ServiceEngine},
};

/// A request, from the runtime to the end of its answer.
pub(crate) struct Call {
    /// The request as the host gave it.
    pub(crate) incoming: Incoming,
    /// The service that is asked.
    pub(crate) service: Service,
    /// Its method.
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) path: String,
    /// Its body, once a route has read it.
    pub(crate) body: RefCell<Vec<u8>>,
    /// Whether it is to have one effect.
    pub(crate) keyed: Cell<bool>,
    /// The engine that its route works with.
    pub(crate) engine: RefCell<Option<Rc<ServiceEngine>>>,
}

/// Names the request, wherever its effects show.
const REQUEST_ID: &str = "x-request-id";
/// Cloudflare's name of it.
const RAY: &str = "cf-ray";
/// What the caller says that the request is a part of.
const RUN_ID: &str = "x-run-id";
/// The key under which it is to have one effect.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Most characters that are kept of a name.
const MOST_NAME: usize = 128;

impl Call {
    /// A request that came.
    pub(crate) fn new(incoming: Incoming, service: Service, method: Method, path: String) -> Self {
        Self {
            incoming,
            service,
            method,
            path,
            body: RefCell::default(),
            keyed: Cell::default(),
            engine: RefCell::default(),
        }
    }

    /// Its Idempotency-Key.
    pub(crate) fn key(&self) -> Option<String> {
        self.incoming.header(IDEMPOTENCY_KEY)
    }

    /// The path and the query apart.
    pub(crate) fn path_and_query(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }

    /// Who caused what it does (S0.37, S0.41).
    pub(crate) fn origin(&self, route: &str) -> Origin {
        let name = |name: &str| {
            let text: String = self.incoming.header(name)?.chars().take(MOST_NAME).collect();
            Some(text).filter(|text| !text.is_empty())
        };
        Origin {
            source: "api".to_owned(),
            stack: format!("{} {route}", self.method),
            trace: name(REQUEST_ID)
                .or_else(|| name(RAY))
                .unwrap_or_else(host::random_id),
            run: name(RUN_ID),
            hops: 0,
        }
    }
}

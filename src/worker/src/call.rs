//! One request on its way: what came from the runtime, and what its route leaves to be done after it has answered.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use http::Method;
use statewright_engine::once::Origin;
use worker::Env;

use crate::{host, request::header, service::WorkerEngine, settings::Settings};

/// A request, from the runtime to the end of its answer.
pub(crate) struct Call {
    /// The request as the runtime gave it.
    pub(crate) raw: web_sys::Request,
    /// The Worker's bindings.
    pub(crate) env: Env,
    /// What the operator set.
    pub(crate) settings: Rc<Settings>,
    /// Its method.
    pub(crate) method: Method,
    /// Path and query as they were sent.
    pub(crate) path: String,
    /// Its body, once a route has read it.
    pub(crate) body: RefCell<Vec<u8>>,
    /// Whether it is to have one effect.
    pub(crate) keyed: Cell<bool>,
    /// The engine that its route works with.
    pub(crate) engine: RefCell<Option<Rc<WorkerEngine>>>,
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
    pub(crate) fn new(
        raw: web_sys::Request,
        env: Env,
        settings: Rc<Settings>,
        method: Method,
        path: String,
    ) -> Self {
        Self {
            raw,
            env,
            settings,
            method,
            path,
            body: RefCell::default(),
            keyed: Cell::default(),
            engine: RefCell::default(),
        }
    }

    /// Its Idempotency-Key.
    pub(crate) fn key(&self) -> Option<String> {
        header(&self.raw, IDEMPOTENCY_KEY)
    }

    /// The path and the query apart.
    pub(crate) fn path_and_query(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }

    /// Who caused what it does (S0.37, S0.41).
    pub(crate) fn origin(&self, route: &str) -> Origin {
        let name = |name: &str| {
            let text: String = header(&self.raw, name)?.chars().take(MOST_NAME).collect();
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

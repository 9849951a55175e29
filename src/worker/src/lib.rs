//! Statewright on Cloudflare Workers: routes, authentication, logs and the cron trigger around the engine, with D1
//! as its database.
//!
//! What the core and the engine own is every rule; what this crate owns is how they are told over HTTP. No lock and
//! no promise is shared between the requests of an isolate: the runtime can hang on one.

mod auth;
mod call;
mod cors;
mod cron;
mod d1;
mod host;
mod log;
mod openapi;
mod outbound;
mod refusal;
mod reply;
mod request;
mod routes;
mod serve;
mod service;
mod settings;
mod vault;

use worker::{Context, Env, ScheduleContext, ScheduledEvent, event};

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> worker::Result<web_sys::Response> {
    serve::serve(request, env, &context).await
}

#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    cron::run(&event, &env).await;
}

//! The Statewright service over HTTP, for any host that runs JavaScript: routes, authentication, answers and logs around
//! the engine.
//!
//! What the core and the engine own is every rule; what this crate owns is how they are told over HTTP. A host brings a
//! [`store::Store`], and makes a [`Service`] of it; each request is [`Service::serve`]d. Timers and the outbox are looked at
//! when the host says so, through [`Service::open`].
//!
//! No lock and no promise is shared between requests: a runtime that gives each of them its own context can hang on one.

mod auth;
mod call;
mod cors;
pub mod host;
pub mod incoming;
pub mod log;
mod openapi;
mod outbound;
mod refusal;
mod reply;
mod request;
mod routes;
mod serve;
mod service;
pub mod settings;
pub mod store;
mod vault;

pub use outbound::Outlet;
pub use serve::{Delivery, Served, tell};
pub use service::{Kept, Lent, Service, ServiceEngine};
pub use vault::SubtleVault;

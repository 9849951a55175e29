//! The Statewright service for JavaScript, over a database that its user brings: what `statewright/engine` is made of.
//!
//! Bindings alone: every rule is the core's and the engine's, and what is told of them the service's. The TypeScript around
//! it is in `src/js/lib`.

mod database;
mod engine;

pub use database::Runner;
pub use engine::{Host, WasmEngine};

//! Statewright's pure core: definitions, guards, joins, timeouts, and one step.
//!
//! No I/O, no clock, no randomness, no async, and no panic on any input. The host reads rows, tells the time, and
//! writes what a [`commit::Commit`] says; this crate decides.
//!
//! # Driving it
//!
//! 1. [`definition::Definition::read`] a JSON document, [`machine::Machine::compile`] what is valid.
//! 2. [`entity::Entity::create`] an entity, or [`entity::Entity::restore`] it from its rows, and make a
//!    [`entity::Tree`] of it.
//! 3. Where [`contract::Rules::exact_timers`] holds, [`timeouts::catch_up`] first: each commit it returns stands,
//!    whatever comes of the event.
//! 4. [`step::apply`] the event. Only an [`commit::Outcome::Commit`] changed the tree, and it is to be stored as a
//!    whole or not at all.
//! 5. A scanner calls [`timeouts::catch_up`] alone.
//!
//! Nothing may be read or written between 3 and 4 but the tree; a commit that could not be stored is forgotten with
//! its tree, and decided again from fresh rows.

pub mod answer;
pub mod code;
pub mod commit;
pub mod contract;
pub mod definition;
pub mod diagram;
pub mod entity;
pub mod explain;
pub mod fault;
mod guard;
pub mod identity;
pub mod ids;
pub mod joins;
mod lint;
pub mod machine;
mod number;
#[cfg(feature = "schema")]
pub mod schema;
pub mod step;
pub mod timeouts;

pub use guard::{Lookup, Source};
pub use number::{json_equal, maps_equal};

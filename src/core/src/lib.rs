//! Statewright's pure core: definitions, guards, joins, timeouts, and one step.
//!
//! No I/O, no clock, no randomness, no async, and no panic on any input. The host reads rows, tells the time, and
//! writes what a [`commit::Commit`] says; this crate decides.
//!
//! # Driving it
//!
//! 1. [`definition::Definition::read`] a JSON document, [`machine::Machine::compile`] what is valid.
//! 2. [`entity::Entity::create`] an entity, or [`entity::Entity::restore`] it from its rows, and make a
//!    [`tree::Tree`] of it, with the [`tree::Library`] that its children are made of. [`cascade::create`] starts the
//!    children of a new one; [`tree::Tree::add`] hangs stored ones in.
//! 3. Where [`contract::Rules::exact_timers`] holds, [`timeouts::catch_up`] first: each commit it returns stands,
//!    whatever comes of the event.
//! 4. [`forward::deliver`] the event, or [`step::apply`] it to the instance that a target path leads to
//!    ([`target::resolve`]). Only an [`commit::Outcome::Commit`] changed the tree, and it is to be stored as a
//!    whole or not at all.
//! 5. A scanner calls [`timeouts::catch_up`] alone.
//!
//! Nothing may be read or written between 3 and 4 but the tree; a commit that could not be stored is forgotten with
//! its tree, and decided again from fresh rows.
//!
//! ```
//! use std::sync::Arc;
//! use serde_json::json;
//! use statewright_core::answer::Answer;
//! use statewright_core::commit::Outcome;
//! use statewright_core::definition::Definition;
//! use statewright_core::entity::{Entity, Params};
//! use statewright_core::ids::{EntityId, Millis};
//! use statewright_core::machine::Machine;
//! use statewright_core::step::{Event, apply};
//! use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};
//! use statewright_core::tree::{EntityIx, Tree};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let valid = Definition::read(&json!({
//!     "machine_id": "order", "states": ["placed", "paid", "void"], "initial_state": "placed",
//!     "transitions": [
//!         {"from": "placed", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gte", "value": 1}},
//!         {"from": "placed", "to": "void", "on": "$timeout", "guard": {"timeout_seconds": 3600}}
//!     ]
//! }))
//! .map_err(|faults| format!("{faults:?}"))?;
//! let machine = Arc::new(Machine::compile(&valid)?);
//!
//! let (start, later) = (Millis(0), Millis(60_000));
//! let order = Entity::create(machine, EntityId::new("o-1")?, Params::new(), start);
//! let mut tree = Tree::new(order, None);
//! assert!(catch_up(&mut tree, later, CATCH_UP_LIMIT).commits.is_empty(), "nothing was due by then");
//!
//! let event = Event {
//!     event_type: "pay".into(),
//!     params: Arc::new(Params::from_iter([("amount".to_owned(), json!(1200))])),
//!     timestamp: None,
//!     expected_version: None,
//! };
//! let Outcome::Commit(commit) = apply(&mut tree, EntityIx::ROOT, &event, None, later) else {
//!     return Err("it pays".into());
//! };
//! let answer = Answer::applied(&tree, &commit, &event, event.timestamp_at(later));
//! assert_eq!(answer.transition.as_deref(), Some("placed → paid"));
//! assert_eq!(tree.root().context()["amount"], 1200);
//! # Ok(())
//! # }
//! ```
//!
//! Beside that, [`explain::explain`] says why an event would not move an entity, [`explain::events`] what it can take
//! now, [`diagram`] draws a machine, and reading a definition warns of what it hardly means ([`fault::WarningKind`]).
//!
//! A host without a database drives [`snapshot`] instead: an entity with its tree is plain data there, and the steps 3
//! and 4 are one call. [`simulation`] adds a clock, histories, effects between entities, and undo. What all hosts read
//! and refuse alike is in [`request`] and [`error`].

pub mod address;
pub mod answer;
pub mod automaton;
pub mod cascade;
mod children;
pub mod code;
pub mod commit;
pub mod contract;
pub mod definition;
pub mod diagram;
pub mod effect;
pub mod entity;
pub mod error;
pub mod explain;
pub mod family;
pub mod fault;
pub mod forward;
mod guard;
pub mod identity;
pub mod ids;
pub mod joins;
mod lint;
pub mod machine;
mod number;
pub mod request;
#[cfg(feature = "schema")]
pub mod schema;
pub mod simulation;
pub mod snapshot;
pub mod sorted;
pub mod step;
pub mod target;
pub mod template;
pub mod timeouts;
pub mod tree;

pub use definition::shape::kind_of;
pub use guard::{Lookup, Source};
pub use number::{float, json_equal, maps_equal};

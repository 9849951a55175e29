//! The outbox: every effect is a row written with its transition, and delivered at least once, in order in its lane (design 4,
//! I7, S0.30 to S0.53, S2.115 to S2.126).

mod deliver;
pub(crate) mod ids;
mod mark;
mod report;
mod rows;
mod send;
pub(crate) mod sql;
mod times;

pub use statewright_core::effect::MOST_HOPS;

pub use report::{Delivered, Told};

pub(crate) use rows::{EffectRow, Making, PresentedRow, effects_of, presented};

/// The id of an effect's row, for a delivery that this process is to make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    pub(crate) tenant: String,
    pub(crate) id: String,
    /// What fences it: another claim of the row has another number.
    pub(crate) fence: u64,
}

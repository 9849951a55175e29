//! Warnings: what a definition may say, and hardly means.

use crate::contract::Contract;
use crate::definition::Definition;
use crate::fault::Warning;

pub(crate) fn warnings(_definition: &Definition, _contract: Contract) -> Vec<Warning> {
    Vec::new()
}

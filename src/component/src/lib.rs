//! The pure core as a WebAssembly component: what `wit/` says, by the same code that decides everywhere.
//!
//! It maps and decides nothing. Documents stay text, so that no number is altered on its way.

mod bindings;
mod errors;
mod explanations;
mod instances;
mod machine;
mod outcomes;
mod session;
mod text;

use bindings::exports::statewright::core::{machines, sessions};

/// What the component exports.
struct Component;

impl machines::Guest for Component {
    type Machine = machine::Compiled;

    fn validate(definition: String) -> Result<machines::Validation, machines::Error> {
        machine::validate(&definition)
    }
}

impl sessions::Guest for Component {
    type Session = session::Simulated;

    fn check(scenario: String) -> Result<sessions::Checked, sessions::Error> {
        session::check(&scenario)
    }
}

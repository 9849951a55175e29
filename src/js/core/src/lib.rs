//! The pure core for JavaScript. Documents cross as JSON text, so that no number is altered on its way; what a tight loop sends
//! crosses as numbers alone.
//!
//! What is refused is thrown as JSON text: the inside of the service's `error`.

mod instances;
mod machine;
mod steps;

use statewright_core::code::Code;
use wasm_bindgen::prelude::wasm_bindgen;

pub use instances::WasmInstances;
pub use machine::{WasmMachine, validate};
pub use statewright_js_instance::WasmInstance;
pub use steps::WasmSteps;

/// The HTTP status that goes with a code; 0 for what is none.
#[wasm_bindgen]
pub fn status(code: &str) -> u16 {
    let known = Code::ALL.iter().find(|known| known.name() == code);
    known.map_or(0, |known| known.status())
}

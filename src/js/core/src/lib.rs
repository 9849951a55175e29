//! The pure core for JavaScript. Documents cross as JSON text, so that no number is altered on its way; what a tight loop sends
//! crosses as numbers alone.
//!
//! What is refused is thrown as JSON text: the inside of the service's `error`.

mod instance;
mod machine;
mod session;
mod steps;

use serde::Serialize;
use serde_json::Value;
use statewright_core::code::Code;
use statewright_core::error::Error;
use statewright_core::request;
use wasm_bindgen::JsError;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

pub use instance::{WasmInstance, WasmInstances};
pub use machine::{WasmMachine, validate};
pub use session::{WasmSession, check_scenario};
pub use steps::WasmSteps;

/// A result as JSON text.
fn told(result: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(result).map_err(|error| JsError::new(&error.to_string()).into())
}

/// What is thrown.
#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped by")]
fn thrown(error: Error) -> JsValue {
    Value::Object(error.body()).to_string().into()
}

/// Reads JSON text.
fn read(text: &str) -> Result<Value, JsValue> {
    request::json(text.as_bytes()).map_err(thrown)
}

/// The HTTP status that goes with a code; 0 for what is none.
#[wasm_bindgen]
pub fn status(code: &str) -> u16 {
    let known = Code::ALL.iter().find(|known| known.name() == code);
    known.map_or(0, |known| known.status())
}

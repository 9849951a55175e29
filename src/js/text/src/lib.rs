//! How documents, times and errors cross between WebAssembly and JavaScript. Documents cross as JSON text, so that no number is
//! altered on its way.

use serde::Serialize;
use serde_json::Value;
use statewright_core::error::Error;
use statewright_core::ids::Millis;
use statewright_core::request;
use statewright_core::snapshot::Snapshot;
use wasm_bindgen::{JsError, JsValue};

/// A result as JSON text.
///
/// # Errors
/// It has keys that are no text, which nothing here has.
pub fn told(result: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(result).map_err(|error| JsError::new(&error.to_string()).into())
}

/// A snapshot as JSON text. Here once, compiled for size, whoever asks for it.
///
/// # Errors
/// Never.
#[inline(never)]
pub fn shown(snapshot: &Snapshot) -> Result<String, JsValue> {
    told(snapshot)
}

/// What is thrown for an error: JSON text, the inside of the service's `error`.
#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped by")]
pub fn thrown(error: Error) -> JsValue {
    Value::Object(error.body()).to_string().into()
}

/// Reads JSON text.
///
/// # Errors
/// It is none.
pub fn read(text: &str) -> Result<Value, JsValue> {
    request::json(text.as_bytes()).map_err(thrown)
}

/// A time as JavaScript has it: a number of milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "whole milliseconds within ±2^53 are exact, others are cut"
)]
pub fn millis(now: f64) -> Millis {
    Millis(now as i64)
}

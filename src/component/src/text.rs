//! JSON text, in and out.

use serde::Serialize;
use serde_json::{Map, Value};
use statewright_core::definition::MAX_DEFINITION_BYTES;
use statewright_core::error::Error;
use statewright_core::kind_of;
use statewright_core::request::MAX_BODY_BYTES;

/// A value as text. What the core holds always has a JSON form.
pub(crate) fn text_of(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a text as JSON. What is wrong with it is told of `path`.
pub(crate) fn value(path: &str, text: &str) -> Result<Value, Error> {
    if text.len() > MAX_BODY_BYTES {
        return Err(Error::TooLarge {
            what: "a JSON text",
            bytes: text.len(),
            most: MAX_BODY_BYTES,
        });
    }
    let no_json =
        |error: serde_json::Error| Error::invalid(path, format!("it is no JSON: {error}"), "a JSON text");
    serde_json::from_str(text).map_err(no_json)
}

/// Reads a text as a JSON object.
pub(crate) fn object(path: &str, text: &str) -> Result<Map<String, Value>, Error> {
    match value(path, text)? {
        Value::Object(object) => Ok(object),
        other => Err(Error::invalid(
            path,
            format!("it is {}", kind_of(&other)),
            "a JSON object",
        )),
    }
}

/// Reads the text of a definition.
pub(crate) fn definition(path: &str, text: &str) -> Result<Value, Error> {
    if text.len() > MAX_DEFINITION_BYTES {
        return Err(Error::TooLarge {
            what: "the definition",
            bytes: text.len(),
            most: MAX_DEFINITION_BYTES,
        });
    }
    value(path, text)
}

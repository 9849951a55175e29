//! Templates: JSON with places that are filled from a document, and texts with places.
//!
//! In JSON, the object `{"$from": "/a/b"}` stands for what the JSON pointer leads to (RFC 6901): null where it leads to
//! nothing, or what `default` beside it stands for. In a text, `{/a/b}` stands for a string that is not empty, or a
//! number. `{{` and `}}` are the braces themselves.
//!
//! ```
//! use serde_json::json;
//! use statewright_core::template::{fill, text};
//!
//! let document = json!({"order": {"id": 4711, "paid": true}});
//! let template = json!({"ok": {"$from": "/order/paid"}, "by": {"$from": "/by", "default": "card"}});
//! assert_eq!(fill(&template, &document), json!({"ok": true, "by": "card"}));
//! assert_eq!(text("order-{/order/id}", &document).as_deref(), Ok("order-4711"));
//! assert!(text("order-{/order/paid}", &document).is_err());
//! ```

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::definition::shape::{kind_of, shortened};

/// The key of a place in JSON.
pub const FROM: &str = "$from";
/// The key beside it, for where nothing is.
pub const DEFAULT: &str = "default";
/// How deep what is filled may nest: JSON that nests deeper than 127 is not read again.
pub const MAX_DEPTH: usize = 100;

/// What a template is filled from.
pub trait Document {
    /// What a pointer leads to.
    fn find(&self, pointer: &str) -> Option<Cow<'_, Value>>;
}

impl Document for Value {
    fn find(&self, pointer: &str) -> Option<Cow<'_, Value>> {
        self.pointer(pointer).map(Cow::Borrowed)
    }
}

/// What is wrong with a place, or with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; expected {expected}")]
pub struct PlaceFault {
    /// What is wrong, with the value in backticks.
    pub problem: String,
    /// What would be right.
    pub expected: &'static str,
}

impl PlaceFault {
    fn new(problem: String, expected: &'static str) -> Self {
        Self { problem, expected }
    }
}

/// Why a template cannot be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// What comes of it has too many bytes.
    #[error("it comes to more than the {most} bytes that are allowed")]
    TooLarge {
        /// The bound.
        most: usize,
    },
    /// What comes of it nests too deep.
    #[error("it nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Fills a template from a document.
pub fn fill(template: &Value, document: &dyn Document) -> Value {
    // Without a bound only the depth can stop it.
    fill_within(template, document, usize::MAX).unwrap_or_default()
}

/// Fills a template from a document, with what is put in bounded by a number of bytes of its JSON.
///
/// # Errors
/// It would be larger, or nest deeper than [`MAX_DEPTH`].
pub fn fill_within(template: &Value, document: &dyn Document, most: usize) -> Result<Value, FillError> {
    let mut filling = Filling {
        document,
        most,
        left: most,
    };
    filling.value(template, MAX_DEPTH)
}

struct Filling<'a> {
    document: &'a dyn Document,
    most: usize,
    left: usize,
}

impl Filling<'_> {
    fn value(&mut self, template: &Value, depth: usize) -> Result<Value, FillError> {
        let deeper = || depth.checked_sub(1).ok_or(FillError::TooDeep);
        match template {
            Value::Array(items) => {
                let depth = deeper()?;
                let items = items.iter().map(|item| self.value(item, depth));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Value::Object(object) => {
                if let Some(Value::String(pointer)) = object.get(FROM) {
                    return self.place(pointer, object, depth);
                }
                let depth = deeper()?;
                let mut filled = Map::new();
                for (key, value) in object {
                    filled.insert(key.clone(), self.value(value, depth)?);
                }
                Ok(Value::Object(filled))
            }
            plain => Ok(plain.clone()),
        }
    }

    fn place(
        &mut self,
        pointer: &str,
        object: &Map<String, Value>,
        depth: usize,
    ) -> Result<Value, FillError> {
        let Some(found) = self.document.find(pointer) else {
            return match object.get(DEFAULT) {
                Some(default) => self.value(default, depth),
                None => Ok(Value::Null),
            };
        };
        let bytes = json_bytes(&found, self.left).ok_or(FillError::TooLarge { most: self.most })?;
        self.left = self.left.saturating_sub(bytes);
        if !fits(&found, depth) {
            return Err(FillError::TooDeep);
        }
        Ok(found.into_owned())
    }
}

/// Whether a value nests no deeper than that.
fn fits(value: &Value, depth: usize) -> bool {
    match (value, depth.checked_sub(1)) {
        (Value::Array(items), Some(depth)) => items.iter().all(|item| fits(item, depth)),
        (Value::Object(object), Some(depth)) => object.values().all(|value| fits(value, depth)),
        (Value::Array(_) | Value::Object(_), None) => false,
        _ => true,
    }
}

/// How many bytes of JSON a value is, if it is at most that many.
pub fn json_bytes(value: &Value, most: usize) -> Option<usize> {
    let text = serde_json::to_vec(value).ok()?;
    Some(text.len()).filter(|bytes| *bytes <= most)
}

/// Checks that a text is a JSON pointer (RFC 6901).
///
/// # Errors
/// It is none.
pub fn check_pointer(pointer: &str) -> Result<(), PlaceFault> {
    let escaped = |part: &str| part.starts_with(['0', '1']);
    let starts = pointer.is_empty() || pointer.starts_with('/');
    if starts && pointer.split('~').skip(1).all(escaped) {
        return Ok(());
    }
    Err(PlaceFault::new(
        format!("`{}` is no JSON pointer", shortened(pointer)),
        "a text such as `/event/params/amount`, with `~1` for a slash in a name and `~0` for a tilde",
    ))
}

/// A part of a text with places.
enum Part<'a> {
    Literal(&'a str),
    Place(&'a str),
}

/// Takes the next part of a text, and what is behind it.
fn next_part(rest: &str) -> Result<Option<(Part<'_>, &str)>, PlaceFault> {
    let brace = |problem: &str| {
        Err(PlaceFault::new(
            problem.to_owned(),
            "places such as `{/event/params/order}`, and `{{` or `}}` for a brace itself",
        ))
    };
    let Some(at) = rest.find(['{', '}']) else {
        return Ok((!rest.is_empty()).then_some((Part::Literal(rest), "")));
    };
    if at > 0 {
        let (literal, behind) = rest.split_at(at);
        return Ok(Some((Part::Literal(literal), behind)));
    }
    for (double, single) in [("{{", "{"), ("}}", "}")] {
        if let Some(behind) = rest.strip_prefix(double) {
            return Ok(Some((Part::Literal(single), behind)));
        }
    }
    let Some(inner) = rest.strip_prefix('{') else {
        return brace("it has a `}` that closes nothing");
    };
    let closed = inner
        .split_once('}')
        .filter(|(pointer, _)| !pointer.contains('{'));
    let Some((pointer, behind)) = closed else {
        return brace("it has a `{` that nothing closes");
    };
    if !pointer.starts_with('/') {
        return brace(&format!("`{}` in it is no place", shortened(pointer)));
    }
    check_pointer(pointer)?;
    Ok(Some((Part::Place(pointer), behind)))
}

/// Checks the places of a text, and that the rest of it has no control character.
///
/// # Errors
/// A brace is out of place, a pointer is none, or there is such a character.
pub fn check_text(text: &str) -> Result<(), PlaceFault> {
    let mut rest = text;
    while let Some((part, behind)) = next_part(rest)? {
        if let Part::Literal(literal) = part
            && literal.contains(char::is_control)
        {
            return Err(PlaceFault::new(
                "it holds a control character".to_owned(),
                "a text without control characters",
            ));
        }
        rest = behind;
    }
    Ok(())
}

/// The pointers of a text's places, up to the first fault.
pub fn pointers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let parts = std::iter::from_fn(move || {
        let (part, behind) = next_part(rest).ok()??;
        rest = behind;
        Some(part)
    });
    parts.filter_map(|part| match part {
        Part::Place(pointer) => Some(pointer),
        Part::Literal(_) => None,
    })
}

/// About the most bytes that a text comes to with its places filled: a place can be named thousands of times.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// A text with its places filled from a document.
///
/// # Errors
/// The text has a fault, as [`check_text`] says, or a place leads to nothing, or to what is neither a string that is not
/// empty nor a number.
pub fn text(text: &str, document: &dyn Document) -> Result<String, PlaceFault> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((part, behind)) = next_part(rest)? {
        rest = behind;
        if filled.len() > MAX_TEXT_BYTES {
            return Err(PlaceFault::new(
                format!("it comes to more than {MAX_TEXT_BYTES} bytes"),
                "a short text",
            ));
        }
        let pointer = match part {
            Part::Literal(literal) => {
                filled.push_str(literal);
                continue;
            }
            Part::Place(pointer) => pointer,
        };
        let found = document.find(pointer);
        let problem = match found.as_deref() {
            Some(Value::String(found)) if !found.is_empty() => {
                filled.push_str(found);
                continue;
            }
            Some(Value::Number(number)) => {
                filled.push_str(&number.to_string());
                continue;
            }
            Some(Value::String(_)) => "is empty".to_owned(),
            Some(other) => format!("is {}", kind_of(other)),
            None => "leads to nothing".to_owned(),
        };
        return Err(PlaceFault::new(
            format!("`{}` {problem}", shortened(pointer)),
            "a string that is not empty, or a number",
        ));
    }
    Ok(filled)
}

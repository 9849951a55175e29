//! What a vector expects, held against what came back.

use serde_json::{Map, Value};
use statewright_core::json_equal;

/// The same with what earlier steps captured, and with long texts written out.
pub(crate) fn filled(value: &Value, captured: &Map<String, Value>) -> Value {
    match value {
        Value::Object(object) if object.len() == 1 => {
            if let Some(name) = object.get("$captured") {
                let name = name.as_str().expect("a name");
                return captured
                    .get(name)
                    .unwrap_or_else(|| panic!("nothing was captured as `{name}`"))
                    .clone();
            }
            if let Some(repeated) = object.get("$repeated") {
                let text = repeated[0].as_str().expect("a text");
                let times = usize::try_from(repeated[1].as_u64().expect("how often")).unwrap();
                return text.repeat(times).into();
            }
            filled_object(object, captured)
        }
        Value::Object(object) => filled_object(object, captured),
        Value::Array(items) => items.iter().map(|item| filled(item, captured)).collect(),
        other => other.clone(),
    }
}

fn filled_object(object: &Map<String, Value>, captured: &Map<String, Value>) -> Value {
    let fill = |(key, value): (&String, &Value)| (key.clone(), filled(value, captured));
    Value::Object(object.iter().map(fill).collect())
}

pub(crate) fn matches(expected: &Value, actual: &Value, path: &str) -> Result<(), String> {
    let wrong = || Err(format!("at {path}: expected {expected}, got {actual}"));
    let holds = |held: bool| if held { Ok(()) } else { wrong() };
    match expected {
        Value::Object(object) => match special(object) {
            Some(("$any", _)) => Ok(()),
            Some(("$contains", part)) => {
                let part = part.as_str().expect("a text");
                holds(actual.as_str().is_some_and(|text| text.contains(part)))
            }
            Some(("$like", pattern)) => {
                let pattern = pattern.as_str().expect("a text");
                holds(actual.as_str().is_some_and(|text| like(pattern, text)))
            }
            Some(("$json", expected)) => {
                let text = actual.as_str();
                match text.and_then(|text| serde_json::from_str(text).ok()) {
                    Some(actual) => matches(expected, &actual, path),
                    None => wrong(),
                }
            }
            Some(("$not", other)) => holds(matches(other, actual, path).is_err()),
            Some(("$exact", exact)) => holds(json_equal(exact, actual)),
            _ => {
                let Some(actual) = actual.as_object() else {
                    return wrong();
                };
                for (key, expected) in object {
                    let path = format!("{path}.{key}");
                    let absent = expected
                        .as_object()
                        .and_then(special)
                        .is_some_and(|(name, _)| name == "$absent");
                    match (actual.get(key), absent) {
                        (None, true) => {}
                        (Some(value), true) => {
                            return Err(format!("at {path}: expected nothing, got {value}"));
                        }
                        (None, false) => return Err(format!("at {path}: expected {expected}, got nothing")),
                        (Some(value), false) => matches(expected, value, &path)?,
                    }
                }
                Ok(())
            }
        },
        Value::Array(items) => {
            let Some(actual) = actual.as_array().filter(|actual| actual.len() == items.len()) else {
                return wrong();
            };
            items
                .iter()
                .zip(actual)
                .enumerate()
                .try_for_each(|(place, (expected, actual))| {
                    matches(expected, actual, &format!("{path}[{place}]"))
                })
        }
        other => holds(json_equal(other, actual)),
    }
}

/// Whether a text is of the pattern's form, in which `*` stands for one character or more.
fn like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            text.char_indices()
                .skip(1)
                .map(|(place, _)| place)
                .chain([text.len()])
                .any(|place| place > 0 && like(rest, &text[place..]))
        }),
    }
}

fn special(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (key, value) = object.iter().next().filter(|_| object.len() == 1)?;
    ["$any", "$contains", "$like", "$json", "$not", "$exact", "$absent"]
        .contains(&key.as_str())
        .then_some((key.as_str(), value))
}

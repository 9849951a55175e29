//! From JSON to an [`Action`].
//!
//! The keys of a webhook beside `url` had no meaning once, and `statemachine-e1e4.v1` keeps keys without a meaning: there
//! a definition that gives one of them in another form reads as before.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::action::{Action, HeaderValue, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TEMPLATE_BYTES, Method};
use super::super::shape::{Findings, Path, kind_of, list, shortened};
use crate::fault::WarningKind;
use crate::ids::check_secret_name;
use crate::sorted::SortedSet;
use crate::template;

/// Headers that the sender sets, or that are of the connection.
const OWN_HEADERS: [&str; 5] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn action(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> Action {
    let Some(kind) = findings.text(path, object, "type") else {
        return Action::default();
    };
    match kind.as_str() {
        "webhook" => webhook(findings, path, object),
        "event" => {
            let extra = findings.unknown_keys(path, object, &["type", "event_type"]);
            Action::Event {
                event_type: findings.name(path, object, "event_type").unwrap_or_default(),
                extra,
            }
        }
        "transition" => transition(findings, path, object),
        other => {
            findings.fault(
                &path.key("type"),
                format!("`{}` is no type of action", shortened(other)),
                findings.one_of(other, Action::TYPES),
            );
            Action::default()
        }
    }
}

fn webhook(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> Action {
    let known = ["type", "url", "method", "headers", "body", "signed"];
    let mut extra = findings.unknown_keys(path, object, &known);
    let url = findings.text(path, object, "url").unwrap_or_default();
    let web = url.starts_with("https://") || url.starts_with("http://");
    if findings.strict && !web && !url.is_empty() {
        findings.fault(
            &path.key("url"),
            format!("`{}` is no web address", shortened(&url)),
            "an address that starts with `https://` or `http://`",
        );
    }
    let method: Option<Method> = later(findings, path, object, "method", &mut extra, method);
    let headers = later(findings, path, object, "headers", &mut extra, headers);
    let body = if method == Some(Method::Get) {
        later(findings, path, object, "body", &mut extra, no_body)
    } else {
        later(findings, path, object, "body", &mut extra, template)
    };
    let signed = later(findings, path, object, "signed", &mut extra, boolean);
    Action::Webhook {
        url,
        method,
        headers,
        body,
        signed,
        extra,
    }
}

fn transition(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> Action {
    let known = [
        "type",
        "machine_id",
        "entity_id",
        "event_type",
        "params",
        "create",
    ];
    let extra = findings.unknown_keys(path, object, &known);
    let machine_id = findings.id(path, object, "machine_id").unwrap_or_default();
    let entity_id = findings.text(path, object, "entity_id").unwrap_or_default();
    if !entity_id.is_empty()
        && let Err(fault) = template::check_text(&entity_id)
    {
        findings.fault(&path.key("entity_id"), fault.problem, fault.expected);
    }
    let event_type = findings.name(path, object, "event_type").unwrap_or_default();
    if event_type.starts_with('$') {
        findings.fault(
            &path.key("event_type"),
            format!(
                "`{}` is reserved: only the engine makes events that start with `$`",
                shortened(&event_type)
            ),
            "an event type without `$` in front",
        );
    }
    let given = |key: &str| object.get(key).filter(|value| !value.is_null());
    let params = given("params").and_then(|value| params(findings, &path.key("params"), value));
    let create = given("create").and_then(|value| boolean(findings, &path.key("create"), value));
    Action::Transition {
        machine_id,
        entity_id,
        event_type,
        params,
        create,
        extra,
    }
}

type Read<T> = fn(&mut Findings, &Path, &Value) -> Option<T>;

/// What stands under a key that got its meaning later than the contracts theirs.
fn later<T>(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
    key: &str,
    extra: &mut Map<String, Value>,
    read: Read<T>,
) -> Option<T> {
    let value = object.get(key)?;
    let path = path.key(key);
    if findings.strict {
        return if value.is_null() {
            None
        } else {
            read(findings, &path, value)
        };
    }
    let mut own = Findings::new();
    let found = if value.is_null() {
        None
    } else {
        read(&mut own, &path, value)
    };
    match own.done() {
        Ok(_) if found.is_some() => return found,
        Ok(_) => findings.warn(WarningKind::IgnoredKey, &path, "it is null, and is ignored"),
        Err(faults) => {
            let fault = faults.into_iter().next();
            let (problem, expected) =
                fault.map_or_else(Default::default, |fault| (fault.problem, fault.expected));
            let message = format!("the key is ignored: {problem}; expected {expected}");
            findings.warn(WarningKind::IgnoredKey, &path, message);
        }
    }
    extra.insert(key.to_owned(), value.clone());
    None
}

fn method(findings: &mut Findings, path: &Path, value: &Value) -> Option<Method> {
    let Value::String(name) = value else {
        findings.fault(path, format!("it is {}", kind_of(value)), "a string");
        return None;
    };
    let method = Method::named(name);
    if method.is_none() {
        let known = list(Method::NAMES.into_iter());
        findings.fault(
            path,
            format!("`{}` is no method of a webhook", shortened(name)),
            format!("one of {known}"),
        );
    }
    method
}

fn boolean(findings: &mut Findings, path: &Path, value: &Value) -> Option<bool> {
    let boolean = value.as_bool();
    if boolean.is_none() {
        findings.fault(path, format!("it is {}", kind_of(value)), "`true` or `false`");
    }
    boolean
}

/// The Fetch standard has no such request.
fn no_body(findings: &mut Findings, path: &Path, _: &Value) -> Option<Value> {
    findings.fault(
        path,
        "a request with `GET` has none",
        "no `body`, or another `method`",
    );
    None
}

fn template(findings: &mut Findings, path: &Path, value: &Value) -> Option<Value> {
    let bytes = template::json_bytes(value, MAX_TEMPLATE_BYTES);
    if bytes.is_none() {
        findings.fault(
            path,
            "the template is too large",
            format!("at most {MAX_TEMPLATE_BYTES} bytes of JSON"),
        );
        return None;
    }
    places(findings, path, value);
    Some(value.clone())
}

/// Checks every `$from` of a template.
fn places(findings: &mut Findings, path: &Path, value: &Value) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(findings, &path.item(index), item);
            }
        }
        Value::Object(object) => {
            if let Some(from) = object.get(template::FROM) {
                place(findings, path, from, object);
                return;
            }
            for (key, item) in object {
                places(findings, &path.key(key), item);
            }
        }
        _ => {}
    }
}

fn place(findings: &mut Findings, path: &Path, from: &Value, object: &Map<String, Value>) {
    let from_path = path.key(template::FROM);
    match from {
        Value::String(pointer) => {
            if let Err(fault) = template::check_pointer(pointer) {
                findings.fault(&from_path, fault.problem, fault.expected);
            }
        }
        other => findings.fault(
            &from_path,
            format!("it is {}", kind_of(other)),
            "a JSON pointer, such as `/event/params/amount`",
        ),
    }
    for (key, value) in object {
        match key.as_str() {
            template::FROM => {}
            template::DEFAULT => places(findings, &path.key(key), value),
            other => findings.fault(
                &path.key(other),
                format!("`{}` stands beside `$from`", shortened(other)),
                "`$from` alone, or `default` beside it",
            ),
        }
    }
}

fn params(findings: &mut Findings, path: &Path, value: &Value) -> Option<Value> {
    if value.is_object() {
        return template(findings, path, value);
    }
    findings.fault(path, format!("it is {}", kind_of(value)), "an object");
    None
}

fn headers(findings: &mut Findings, path: &Path, value: &Value) -> Option<BTreeMap<String, HeaderValue>> {
    let object = findings.object(path, value)?;
    if object.len() > MAX_HEADERS {
        findings.fault(
            path,
            format!("it has {} headers", object.len()),
            format!("at most {MAX_HEADERS}"),
        );
        return None;
    }
    let mut headers = BTreeMap::new();
    let mut names = SortedSet::new();
    let mut bytes = 0_usize;
    for (name, value) in object {
        let path = path.key(name);
        check_header(findings, &path, name);
        if !names.insert(name.to_ascii_lowercase()) {
            findings.fault(
                &path,
                format!("`{}` is there in another spelling", shortened(name)),
                "names that differ in more than their case",
            );
        }
        if let Some(value) = header_value(findings, &path, value) {
            let length = match &value {
                HeaderValue::Text(text) => text.len(),
                HeaderValue::Secret { secret, prefix } => {
                    let prefix = prefix.as_ref().map_or(0, String::len);
                    secret.len().saturating_add(prefix)
                }
            };
            bytes = bytes.saturating_add(name.len()).saturating_add(length);
            headers.insert(name.clone(), value);
        }
    }
    if bytes > MAX_HEADER_BYTES {
        findings.fault(
            path,
            format!("its names and values have {bytes} bytes"),
            format!("at most {MAX_HEADER_BYTES}"),
        );
    }
    Some(headers)
}

fn check_header(findings: &mut Findings, path: &Path, name: &str) {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        findings.fault(
            path,
            format!("`{}` is no name of a header", shortened(name)),
            "letters, digits and ``!#$%&'*+-.^_`|~``",
        );
        return;
    }
    let lower = name.to_ascii_lowercase();
    if OWN_HEADERS.contains(&lower.as_str()) || lower.starts_with("webhook-") {
        findings.fault(
            path,
            format!("`{}` is set by the service", shortened(name)),
            "another header",
        );
    }
}

fn header_value(findings: &mut Findings, path: &Path, value: &Value) -> Option<HeaderValue> {
    match value {
        Value::String(text) => {
            header_text(findings, path, text);
            Some(HeaderValue::Text(text.clone()))
        }
        Value::Object(object) => {
            for (key, value) in object {
                let path = path.key(key);
                match (key.as_str(), value) {
                    ("secret", Value::String(name)) => {
                        if let Err(error) = check_secret_name(name) {
                            findings.fault(
                                &path,
                                format!("`{}` is no name of a secret", shortened(name)),
                                error.to_string(),
                            );
                        }
                    }
                    ("prefix", Value::String(text)) => header_text(findings, &path, text),
                    ("secret" | "prefix", other) => {
                        findings.fault(&path, format!("it is {}", kind_of(other)), "a string");
                    }
                    (other, _) => findings.fault(
                        &path,
                        format!("`{}` is no key here", shortened(other)),
                        "`secret`, and `prefix` beside it",
                    ),
                }
            }
            let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
            if !object.contains_key("secret") {
                findings.fault(&path.key("secret"), "it is missing", "the name of a secret");
            }
            Some(HeaderValue::Secret {
                secret: text("secret")?,
                prefix: text("prefix"),
            })
        }
        other => {
            findings.fault(
                path,
                format!("it is {}", kind_of(other)),
                "a string, or an object such as `{\"secret\": \"name\", \"prefix\": \"Bearer \"}`",
            );
            None
        }
    }
}

/// What a header carries wherever it goes; what is beyond ASCII, some receivers take for Latin-1.
fn header_text(findings: &mut Findings, path: &Path, text: &str) {
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        findings.fault(
            path,
            "it holds a character that a header does not carry",
            "printable ASCII",
        );
    }
}

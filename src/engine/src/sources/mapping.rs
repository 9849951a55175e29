//! What a provider's request becomes: an event for an entity, by the places that a source names. Pure.

use serde::Serialize;
use serde_json::{Map, Number, Value, json};
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MAX_NAME_BYTES, MAX_TIMESTAMP, check_name};
use statewright_core::kind_of;
use statewright_core::sorted::SortedMap;
use statewright_core::template;

use crate::cache::content_hash;
use crate::error::Error;
use crate::request::{self, Fields, MAX_PARAMS_BYTES, json_bytes};
use crate::signature::{Headers, Scheme, hash, standard_headers};
use crate::sources::time;

/// Where something stands in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// What a JSON pointer leads to in the body.
    Pointer(String),
    /// A header, by its name in lower case.
    Header(String),
    /// A text with `{/pointer}` places.
    Text(String),
    /// Nowhere: it is always the same.
    Constant(String),
}

/// How a request becomes an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    entity_id: Place,
    event_type: Option<Place>,
    prefix: String,
    rename: SortedMap<String, String>,
    only: bool,
    params: SortedMap<String, Place>,
    identity: Option<Place>,
    timestamp: Option<Place>,
    ignore: Vec<String>,
}

/// An event that a request became.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mapped {
    /// The entity it is for.
    pub entity_id: String,
    /// Its type.
    pub event_type: String,
    /// Its params.
    pub params: Map<String, Value>,
    /// What it has one effect by, however often it is delivered.
    pub identity: String,
    /// Its timestamp, where the mapping names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

/// Why a request became none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmapped {
    pub(crate) problem: String,
    /// The part of the source that it is about.
    pub(crate) path: String,
}

impl Unmapped {
    fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            path: path.into(),
        }
    }
}

/// A request whose body was read.
pub(crate) struct Inbound<'a> {
    pub(crate) headers: Headers<'a>,
    pub(crate) body: &'a [u8],
    pub(crate) document: Value,
}

impl<'a> Inbound<'a> {
    /// Reads a body.
    pub(crate) fn read(headers: Headers<'a>, body: &'a [u8]) -> Result<Self, Unmapped> {
        match request::document(body) {
            Ok(document) => Ok(Self {
                headers,
                body,
                document,
            }),
            Err(Core::Invalid {
                problem, expected, ..
            }) => Err(Unmapped::new("body", format!("{problem}; expected {expected}"))),
            Err(error) => Err(Unmapped::new("body", error.to_string())),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

impl Place {
    /// Reads a place. Only where `constant` says so may it be none.
    fn read(path: &str, value: &Value, constant: bool) -> Result<Self, Error> {
        let wrong = |problem: String| {
            let constants = if constant {
                ", or `{\"text\": …}` for what is always the same"
            } else {
                ""
            };
            Error::invalid(
                path,
                problem,
                format!(
                    "a JSON pointer into the body such as `/data/id`, `{{\"header\": \"x-event\"}}`, or a text with \
                     places such as `order-{{/data/id}}`{constants}"
                ),
            )
        };
        let fault = |fault: template::PlaceFault| Error::invalid(path, fault.problem, fault.expected);
        match value {
            Value::String(pointer) if pointer.starts_with('/') => {
                template::check_pointer(pointer).map_err(fault)?;
                Ok(Self::Pointer(pointer.clone()))
            }
            Value::String(text) => {
                template::check_text(text).map_err(fault)?;
                if template::pointers(text).next().is_none() {
                    return Err(wrong(format!("`{}` is no place", shortened(text))));
                }
                Ok(Self::Text(text.clone()))
            }
            Value::Object(object) => {
                let fields = Fields { path, object };
                fields.only(if constant {
                    &["header", "text"]
                } else {
                    &["header"]
                })?;
                match (fields.optional_text("header")?, fields.optional_text("text")?) {
                    (Some(header), None) => Ok(Self::Header(header_name(&fields.key("header"), header)?)),
                    (None, Some(text)) => Ok(Self::Constant(text.to_owned())),
                    _ => Err(wrong("it names no place".to_owned())),
                }
            }
            other => Err(wrong(format!("it is {}", kind_of(other)))),
        }
    }

    /// The text that stands there: a string that is not empty, or a number.
    fn text(&self, path: &str, from: &Inbound<'_>) -> Result<String, Unmapped> {
        let wrong = |pointer: &str, problem: &str| {
            let problem = format!(
                "`{}` {problem}; expected a string that is not empty, or a number",
                shortened(pointer)
            );
            Unmapped::new(path, problem)
        };
        let inexact = "is a number of more digits than are told apart";
        match self {
            Self::Pointer(pointer) => match from.document.pointer(pointer) {
                Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
                Some(Value::Number(number)) if is_exact(number) => Ok(number.to_string()),
                Some(Value::Number(_)) => Err(wrong(pointer, inexact)),
                Some(Value::String(_)) => Err(wrong(pointer, "is empty")),
                Some(other) => Err(wrong(pointer, &format!("is {}", kind_of(other)))),
                None => Err(wrong(pointer, "leads to nothing in the body")),
            },
            Self::Header(name) => {
                let text = (from.headers)(name).filter(|text| !text.is_empty());
                text.ok_or_else(|| {
                    Unmapped::new(path, format!("the header `{}` is missing", shortened(name)))
                })
            }
            Self::Text(text) => {
                for pointer in template::pointers(text) {
                    if let Some(Value::Number(number)) = from.document.pointer(pointer)
                        && !is_exact(number)
                    {
                        return Err(wrong(pointer, inexact));
                    }
                }
                template::text(text, &from.document).map_err(|fault| Unmapped::new(path, fault.to_string()))
            }
            Self::Constant(text) => Ok(text.clone()),
        }
    }

    /// The value that stands there, if there is one.
    fn value(&self, path: &str, from: &Inbound<'_>) -> Result<Option<Value>, Unmapped> {
        let Self::Pointer(pointer) = self else {
            return Ok(self.text(path, from).ok().map(Value::from));
        };
        if from.document.pointer(pointer).is_none() {
            return Ok(None);
        }
        let template = json!({ template::FROM: pointer });
        let filled = template::fill_within(&template, &from.document, MAX_PARAMS_BYTES);
        filled
            .map(Some)
            .map_err(|error| Unmapped::new(path, error.to_string()))
    }
}

/// Whether a number stands for itself alone: what is larger than any integer was rounded when it was read, and two ids must
/// not become one.
fn is_exact(number: &Number) -> bool {
    // 2^53.
    !number.is_f64()
        || number
            .as_f64()
            .is_some_and(|number| number.abs() < 9_007_199_254_740_992.0)
}

/// A header's name in lower case.
pub(crate) fn header_name(path: &str, name: &str) -> Result<String, Error> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_token) {
        return Ok(name.to_ascii_lowercase());
    }
    Err(Error::invalid(
        path,
        format!("`{}` is no name of a header", shortened(name)),
        format!("1 to {MAX_NAME_BYTES} letters, digits and ``!#$%&'*+-.^_`|~``"),
    ))
}

/// An event's type as a mapping may make it.
fn check_event_type(text: &str) -> Result<(), String> {
    if text.starts_with('$') {
        return Err(format!(
            "the event type `{}` is reserved: only the engine makes events that start with `$`",
            shortened(text)
        ));
    }
    check_name(text, MAX_NAME_BYTES)
        .map_err(|error| format!("`{}` is no event type: {error}", shortened(text)))
}

impl Mapping {
    /// Reads a mapping. `fields` is the object, `scheme` gives what it leaves out.
    pub(crate) fn read(fields: Fields<'_>, scheme: &Scheme) -> Result<Self, Error> {
        fields.only(&[
            "entity_id",
            "event_type",
            "prefix",
            "rename",
            "only",
            "params",
            "identity",
            "timestamp",
            "ignore",
        ])?;
        let place = |key: &str, constant: bool| {
            let value = fields.given(key);
            value
                .map(|value| Place::read(&fields.key(key), value, constant))
                .transpose()
        };
        let missing = |key: &str, expected: &str| Error::invalid(fields.key(key), "it is missing", expected);
        let entity_id = place("entity_id", false)?
            .ok_or_else(|| missing("entity_id", "where the entity's id stands, such as `/data/id`"))?;
        let event_type = place("event_type", true)?;
        if event_type.is_none() && matches!(scheme, Scheme::Hmac(_)) {
            return Err(missing(
                "event_type",
                "where the event's type stands, such as `/type`: this scheme has no place of its own for it",
            ));
        }
        let prefix = fields.optional_text("prefix")?.unwrap_or_default().to_owned();
        if !prefix.is_empty() {
            check_event_type(&prefix).map_err(|problem| {
                let expected = format!("up to {MAX_NAME_BYTES} bytes that an event's type may begin with");
                Error::invalid(fields.key("prefix"), problem, expected)
            })?;
        }
        let keyed = |of: &str, key: &str| format!("{}[{}]", fields.key(of), Value::from(key));
        let mut rename = SortedMap::new();
        for (from, to) in fields.map("rename")?.into_iter().flatten() {
            let path = keyed("rename", from);
            let expected = "the event type that it stands for, as a string";
            let Value::String(to) = to else {
                return Err(Error::invalid(path, format!("it is {}", kind_of(to)), expected));
            };
            check_event_type(to).map_err(|problem| Error::invalid(path, problem, expected))?;
            rename.insert(from.clone(), to.clone());
        }
        let only = fields.flag("only", false)?;
        if only && rename.is_empty() {
            return Err(Error::invalid(
                fields.key("only"),
                "it maps nothing, since `rename` names nothing",
                "a table `rename` beside it",
            ));
        }
        let mut params = SortedMap::new();
        for (name, value) in fields.map("params")?.into_iter().flatten() {
            params.insert(name.clone(), Place::read(&keyed("params", name), value, true)?);
        }
        Ok(Self {
            entity_id,
            event_type,
            prefix,
            rename,
            only,
            params,
            identity: place("identity", false)?,
            timestamp: place("timestamp", false)?,
            ignore: ignored(fields, scheme)?,
        })
    }

    /// What a delivery may differ in from an earlier one of the same identity.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignore
    }

    /// The event that a request becomes.
    pub(crate) fn map(&self, scheme: &Scheme, from: &Inbound<'_>) -> Result<Mapped, Unmapped> {
        let event_type = self.event_type(scheme, from)?;
        let path = "mapping.entity_id";
        let entity_id = self.entity_id.text(path, from)?;
        if let Err(error) = EntityId::new(&entity_id) {
            let problem = format!("`{}` is no entity id: {error}", shortened(&entity_id));
            return Err(Unmapped::new(path, problem));
        }
        let mut params = Map::new();
        let mut bytes = 2_usize;
        for (name, place) in &self.params {
            let path = format!("mapping.params[{}]", Value::from(name.as_str()));
            if let Some(value) = place.value(&path, from)? {
                // Counted as they come: a large part of the body can be named by each.
                let comma = usize::from(!params.is_empty());
                bytes = bytes.saturating_add(json_bytes(name) + json_bytes(&value) + 1 + comma);
                if bytes > MAX_PARAMS_BYTES {
                    let problem = format!("the params have more than {MAX_PARAMS_BYTES} bytes");
                    return Err(Unmapped::new(&path, problem));
                }
                params.insert(name.clone(), value);
            }
        }
        let timestamp = self
            .timestamp
            .as_ref()
            .map(|place| timestamp(place, from))
            .transpose()?;
        Ok(Mapped {
            entity_id,
            event_type,
            params,
            identity: self.identity(scheme, from)?,
            timestamp,
        })
    }

    fn event_type(&self, scheme: &Scheme, from: &Inbound<'_>) -> Result<String, Unmapped> {
        let path = "mapping.event_type";
        let at = |pointer: &str| Place::Pointer(pointer.to_owned()).text(path, from);
        let told = match (&self.event_type, scheme) {
            (Some(place), _) => place.text(path, from)?,
            (None, Scheme::GitHub) => {
                let event = Place::Header("x-github-event".to_owned()).text(path, from)?;
                match from.document.get("action") {
                    Some(Value::String(action)) if !action.is_empty() => format!("{event}.{action}"),
                    _ => event,
                }
            }
            (None, Scheme::Slack) => at("/event/type")?,
            (None, _) => at("/type")?,
        };
        let event_type = match self.rename.get(&told) {
            Some(renamed) => renamed.clone(),
            None if self.only => {
                let problem = format!("the source maps no event `{}`", shortened(&told));
                return Err(Unmapped::new("mapping.rename", problem));
            }
            None => format!("{}{told}", self.prefix),
        };
        check_event_type(&event_type).map_err(|problem| Unmapped::new(path, problem))?;
        Ok(event_type)
    }

    fn identity(&self, scheme: &Scheme, from: &Inbound<'_>) -> Result<String, Unmapped> {
        let place = match (&self.identity, scheme) {
            (Some(place), _) => place.clone(),
            (None, Scheme::StandardWebhooks) => {
                let [id, ..] = standard_headers(from.headers);
                Place::Header(id.to_owned())
            }
            (None, Scheme::GitHub) => Place::Header("x-github-delivery".to_owned()),
            (None, Scheme::Stripe) => Place::Pointer("/id".to_owned()),
            (None, Scheme::Slack) => Place::Pointer("/event_id".to_owned()),
            (None, Scheme::Hmac(_)) => return Ok(hash(from.body)),
        };
        place.text("mapping.identity", from)
    }

    /// What two deliveries of one identity must have the same: the body as JSON, but for what the mapping ignores (S4.98).
    pub(crate) fn fingerprint(&self, mut document: Value) -> String {
        for pointer in &self.ignore {
            let Some((parent, key)) = pointer.rsplit_once('/') else {
                continue;
            };
            if let Some(Value::Object(object)) = document.pointer_mut(parent) {
                object.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
        }
        // Maps keep their keys sorted.
        content_hash(&document.to_string())
    }
}

/// Pointers to what providers change from one delivery of an event to the next: Stripe counts the endpoints that are still to be
/// told, this service the attempts and their times.
fn ignored(fields: Fields<'_>, scheme: &Scheme) -> Result<Vec<String>, Error> {
    let Some(given) = fields.given("ignore") else {
        let own: &[&str] = match scheme {
            Scheme::Stripe => &["/pending_webhooks"],
            Scheme::StandardWebhooks => &["/data/attempt", "/data/fired_at"],
            Scheme::GitHub | Scheme::Slack | Scheme::Hmac(_) => &[],
        };
        return Ok(own.iter().map(ToString::to_string).collect());
    };
    let Value::Array(pointers) = given else {
        return Err(fields
            .wrong("ignore", given, "an array of JSON pointers into the body")
            .into());
    };
    let pointer = |(at, pointer): (usize, &Value)| {
        let path = format!("{}[{at}]", fields.key("ignore"));
        match pointer {
            Value::String(pointer) if pointer.starts_with('/') => {
                let fault = |fault: template::PlaceFault| Error::invalid(path, fault.problem, fault.expected);
                template::check_pointer(pointer).map_err(fault)?;
                Ok(pointer.clone())
            }
            _ => Err(Error::invalid(
                path,
                "it is no JSON pointer",
                "a text such as `/pending_webhooks`",
            )),
        }
    };
    pointers.iter().enumerate().map(pointer).collect()
}

/// A time of the provider's in milliseconds.
fn timestamp(place: &Place, from: &Inbound<'_>) -> Result<i64, Unmapped> {
    let path = "mapping.timestamp";
    let text = place.text(path, from)?;
    let time = time::read(&text).filter(|time| (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(time));
    time.ok_or_else(|| {
        let problem = format!(
            "`{}` is no time; expected seconds or milliseconds since the epoch, or RFC 3339",
            shortened(&text)
        );
        Unmapped::new(path, problem)
    })
}

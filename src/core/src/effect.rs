//! What a row's actions come to: the requests and events that are to be sent, rendered at the commit.
//!
//! Rendered then, an effect says what held at its transition, whatever becomes of the entity and the definition until it
//! is sent. Secrets stay names: what is stored holds none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::commit::Row;
use crate::definition::shape::kind_of;
use crate::definition::{Action, HeaderValue, Method};
use crate::entity::{Entity, Params};
use crate::ids::{MAX_CHILD_ID_BYTES, Version, check_id};
use crate::sorted::Gather;
use crate::template::{self, Document, FillError, PlaceFault};
use crate::tree::Tree;

/// Most bytes of a rendered body, or of rendered params.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// How many effects may lead to one another (design 4): an event that the last of them sends calls for no other.
pub const MOST_HOPS: u32 = 16;

/// The names that a template's places may begin with.
pub const SOURCE_KEYS: [&str; 10] = [
    "tenant_id",
    "machine_id",
    "entity_id",
    "from_state",
    "to_state",
    "region",
    "state_version",
    "event",
    "context",
    "effect_id",
];

/// What an action is rendered from: the document that templates take their values from, and which is built only as far
/// as they ask.
///
/// The context is the tree's, so that of its last commit: effects are rendered before the next one.
#[derive(Debug, Clone, Copy)]
pub struct EffectSource<'a> {
    /// The tenant.
    pub tenant: &'a str,
    /// The tree, as the commit left it.
    pub tree: &'a Tree,
    /// The row that calls for the action.
    pub row: &'a Row,
    /// The version that the commit makes of the row's entity.
    pub version: Version,
    /// The effect's id.
    pub effect_id: &'a str,
}

/// What is to be sent, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Effect {
    /// An HTTP request.
    Webhook {
        /// The address.
        url: String,
        /// The method.
        #[serde(skip_serializing_if = "is_default")]
        method: Method,
        /// The headers that the definition names.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, HeaderValue>,
        /// The body, as JSON text.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Whether it is to be signed.
        #[serde(skip_serializing_if = "is_true")]
        signed: bool,
    },
    /// An event to the operator's collector.
    Event {
        /// Its type.
        event_type: String,
        /// Its params.
        params: Value,
    },
    /// An event to another entity.
    Transition {
        /// The machine.
        machine_id: String,
        /// The entity.
        entity_id: String,
        /// The event's type.
        event_type: String,
        /// The event's params.
        #[serde(skip_serializing_if = "Map::is_empty")]
        params: Params,
        /// Whether the entity is made where it does not exist.
        #[serde(skip_serializing_if = "is_true")]
        create: bool,
    },
    /// What could not be rendered: there is nothing to send.
    Broken {
        /// Why.
        problem: String,
    },
}

impl Effect {
    /// The effect, where `hops` effects led to one another, itself included: beyond [`MOST_HOPS`], one that sends an event is
    /// broken.
    #[must_use]
    pub fn within_hops(self, hops: u32) -> Self {
        match self {
            Self::Transition { .. } if hops > MOST_HOPS => Self::Broken {
                problem: format!("{MOST_HOPS} effects have led here one by the other, which is the most"),
            },
            within => within,
        }
    }
}

/// Read from the keys of an object: what is derived for a tagged enum reads all of it into a tree of its own first, by
/// three kilobytes of script for each variant.
impl<'de> Deserialize<'de> for Effect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default(method: &Method) -> bool {
    *method == Method::default()
}

/// Why an action cannot be rendered. It never refuses the commit: the effect is written as one that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EffectFault {
    /// The body or the params.
    #[error("`{place}` cannot be filled: {error}")]
    Fill {
        /// The key of the action.
        place: &'static str,
        /// Why.
        error: FillError,
    },
    /// The target's id.
    #[error("`entity_id` cannot be filled: {0}")]
    Place(PlaceFault),
    /// What the target's id comes to.
    #[error("`entity_id` comes to no id: {0}")]
    Id(crate::ids::NameError),
    /// The params.
    #[error("`params` come to {0}, and not to an object")]
    Params(&'static str),
}

impl From<EffectFault> for Effect {
    fn from(fault: EffectFault) -> Self {
        Self::Broken {
            problem: fault.to_string(),
        }
    }
}

/// Renders an action of a row.
///
/// # Errors
/// A template is filled with too much, or the target's id or the params come to what is none.
pub fn render(action: &Action, source: &EffectSource<'_>) -> Result<Effect, EffectFault> {
    Ok(match action {
        Action::Webhook {
            url,
            method,
            headers,
            body,
            signed,
            ..
        } => {
            let method = method.unwrap_or_default();
            let body = match body {
                Some(template) => {
                    let fill = |error| EffectFault::Fill { place: "body", error };
                    let filled = template::fill_within(template, source, MAX_BODY_BYTES).map_err(fill)?;
                    let text = filled.to_string();
                    if text.len() > MAX_BODY_BYTES {
                        return Err(fill(FillError::TooLarge { most: MAX_BODY_BYTES }));
                    }
                    Some(text)
                }
                None if method.has_default_body() => Some(source.default_body()),
                None => None,
            };
            Effect::Webhook {
                url: url.clone(),
                method,
                headers: headers.clone().unwrap_or_default(),
                body,
                signed: signed.unwrap_or(true),
            }
        }
        Action::Event { event_type, .. } => {
            let [from, to] = source.states();
            Effect::Event {
                event_type: event_type.clone(),
                params: json!({
                    "machine_id": source.entity().machine().id(),
                    "entity_id": source.entity().id(),
                    "from_state": from,
                    "to_state": to,
                }),
            }
        }
        Action::Transition {
            machine_id,
            entity_id,
            event_type,
            params,
            create,
            ..
        } => {
            let entity_id = template::text(entity_id, source).map_err(EffectFault::Place)?;
            check_id(&entity_id, MAX_CHILD_ID_BYTES).map_err(EffectFault::Id)?;
            Effect::Transition {
                machine_id: machine_id.clone(),
                entity_id,
                event_type: event_type.clone(),
                params: rendered_params(params.as_ref(), source)?,
                create: create.unwrap_or(true),
            }
        }
    })
}

fn rendered_params(template: Option<&Value>, source: &EffectSource<'_>) -> Result<Params, EffectFault> {
    let Some(template) = template else {
        return Ok(Params::new());
    };
    let fill = |error| EffectFault::Fill {
        place: "params",
        error,
    };
    let filled = template::fill_within(template, source, MAX_BODY_BYTES).map_err(fill)?;
    match filled {
        Value::Object(params) => Ok(params),
        Value::Null => Ok(Params::new()),
        other => Err(EffectFault::Params(kind_of(&other))),
    }
}

/// A key that is there and something else, or is not there.
fn wrong(key: &str) -> String {
    format!("`{key}` is missing, or is something else")
}

fn text(object: &mut Map<String, Value>, key: &str) -> Result<String, String> {
    match object.remove(key) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(wrong(key)),
    }
}

fn flag(object: &mut Map<String, Value>, key: &str) -> Result<bool, String> {
    match object.remove(key) {
        None => Ok(true),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(_) => Err(wrong(key)),
    }
}

fn object_of(object: &mut Map<String, Value>, key: &str) -> Result<Map<String, Value>, String> {
    match object.remove(key) {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(wrong(key)),
    }
}

fn optional_text(object: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(key)),
    }
}

fn header(value: Value) -> Result<HeaderValue, String> {
    match value {
        Value::String(text) => Ok(HeaderValue::Text(text)),
        Value::Object(mut secret) => Ok(HeaderValue::Secret {
            secret: text(&mut secret, "secret")?,
            prefix: optional_text(&mut secret, "prefix")?,
        }),
        _ => Err(wrong("headers")),
    }
}

impl Effect {
    /// Reads what is stored.
    fn of(mut stored: Map<String, Value>) -> Result<Self, String> {
        let of = &mut stored;
        Ok(match text(of, "kind")?.as_str() {
            "webhook" => {
                let mut headers = BTreeMap::new();
                for (name, value) in object_of(of, "headers")? {
                    headers.insert(name, header(value)?);
                }
                Self::Webhook {
                    url: text(of, "url")?,
                    method: match optional_text(of, "method")? {
                        None => Method::default(),
                        Some(name) => Method::named(&name).ok_or_else(|| wrong("method"))?,
                    },
                    headers,
                    body: optional_text(of, "body")?,
                    signed: flag(of, "signed")?,
                }
            }
            "event" => Self::Event {
                event_type: text(of, "event_type")?,
                params: of.remove("params").ok_or_else(|| wrong("params"))?,
            },
            "transition" => Self::Transition {
                machine_id: text(of, "machine_id")?,
                entity_id: text(of, "entity_id")?,
                event_type: text(of, "event_type")?,
                params: object_of(of, "params")?,
                create: flag(of, "create")?,
            },
            "broken" => Self::Broken {
                problem: text(of, "problem")?,
            },
            _ => return Err(wrong("kind")),
        })
    }

    /// What it is sent to: an address, `event` for the operator's collector, or `machine/entity`.
    pub fn sink(&self) -> Cow<'_, str> {
        match self {
            Self::Webhook { url, .. } => Cow::Borrowed(url),
            Self::Event { .. } => Cow::Borrowed("event"),
            Self::Transition {
                machine_id,
                entity_id,
                ..
            } => Cow::Owned(format!("{machine_id}/{entity_id}")),
            Self::Broken { .. } => Cow::Borrowed(""),
        }
    }
}

impl<'a> EffectSource<'a> {
    fn entity(&self) -> &'a Entity {
        self.tree.entity(self.row.entity)
    }

    /// The names of the states that the row left and entered.
    fn states(&self) -> [&'a str; 2] {
        let machine = self.entity().machine();
        [self.row.from, self.row.to].map(|state| &*machine.state(state).name)
    }

    /// What the seed sent (S2.122): written by hand, for it is in the way of every event with a webhook.
    fn default_body(&self) -> String {
        let entity = self.entity();
        let [from, to] = self.states();
        let parts = [
            ("{\"tenant_id\":", self.tenant),
            (",\"machine_id\":", entity.machine().id().as_str()),
            (",\"entity_id\":", entity.id().as_str()),
            (",\"from_state\":", from),
            (",\"to_state\":", to),
        ];
        let mut body = Vec::with_capacity(160);
        for (key, value) in parts {
            body.extend_from_slice(key.as_bytes());
            // A text always has a JSON form, and a vector takes it.
            let _ = serde_json::to_writer(&mut body, value);
        }
        body.push(b'}');
        String::from_utf8(body).unwrap_or_default()
    }

    fn region(&self) -> Value {
        let machine = self.entity().machine();
        if machine.is_parallel() {
            Value::from(&*machine.region(self.row.region).id)
        } else {
            Value::Null
        }
    }

    fn event(&self, rest: &str) -> Option<Cow<'a, Value>> {
        let (key, rest) = split(rest)?;
        let owned = match (key, rest) {
            ("type", "") => Value::from(self.row.event_type()),
            ("timestamp", "") => Value::from(self.row.timestamp),
            ("params", _) => {
                return match self.row.event_params() {
                    Some(params) => within(params, rest),
                    None if rest.is_empty() => Some(Cow::Owned(Value::Object(Map::new()))),
                    None => None,
                };
            }
            _ => return None,
        };
        Some(Cow::Owned(owned))
    }

    fn whole_event(&self) -> Value {
        let params = self.row.event_params().cloned().unwrap_or_default();
        json!({"type": self.row.event_type(), "params": params, "timestamp": self.row.timestamp})
    }
}

impl Document for EffectSource<'_> {
    fn find(&self, pointer: &str) -> Option<Cow<'_, Value>> {
        let Some((key, rest)) = split(pointer) else {
            let keys = SOURCE_KEYS.iter();
            let all = keys.filter_map(|key| {
                let value = self.find(&format!("/{key}"))?;
                Some(((*key).to_owned(), value.into_owned()))
            });
            return pointer
                .is_empty()
                .then(|| Cow::Owned(Value::Object(all.gather())));
        };
        let entity = self.entity();
        let owned = match (key, rest) {
            ("event", "") => self.whole_event(),
            ("event", rest) => return self.event(rest),
            ("context", rest) => return within(entity.context(), rest),
            (_, rest) if !rest.is_empty() => return None,
            ("tenant_id", _) => self.tenant.into(),
            ("machine_id", _) => entity.machine().id().as_str().into(),
            ("entity_id", _) => entity.id().as_str().into(),
            ("from_state", _) => self.states()[0].into(),
            ("to_state", _) => self.states()[1].into(),
            ("region", _) => self.region(),
            ("state_version", _) => self.version.0.into(),
            ("effect_id", _) => self.effect_id.into(),
            _ => return None,
        };
        Some(Cow::Owned(owned))
    }
}

/// The first name of a pointer, as it is written, and the pointer behind it. None of our names has a `~` or a `/`.
fn split(pointer: &str) -> Option<(&str, &str)> {
    let inner = pointer.strip_prefix('/')?;
    Some(match inner.find('/') {
        Some(at) => inner.split_at(at),
        None => (inner, ""),
    })
}

/// What a pointer leads to within a map.
fn within<'a>(map: &'a Params, pointer: &str) -> Option<Cow<'a, Value>> {
    let Some((key, rest)) = split(pointer) else {
        return Some(Cow::Owned(Value::Object(map.clone())));
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    map.get(&key)?.pointer(rest).map(Cow::Borrowed)
}

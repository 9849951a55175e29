//! Request bodies: read from bytes, with a path for whatever is wrong.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::definition::FLAT_REGION;
use crate::definition::shape::kind_of;
use crate::entity::Params;
use crate::error::Error;
use crate::ids::{
    CHILD_MARK, EntityId, MAX_CHILD_ID_BYTES, MAX_ENTITY_ID_BYTES, MAX_NAME_BYTES, MAX_TIMESTAMP, MachineId,
    NameError, Seq, check_name,
};
use crate::step::Event;
use crate::target::TargetStep;
use crate::tree::DEEPEST_LEVEL;

/// Most bytes of an entity's context as JSON.
pub const MAX_CONTEXT_BYTES: usize = 256 * 1024;
/// Most bytes of an event's params as JSON.
pub const MAX_PARAMS_BYTES: usize = 64 * 1024;
/// Most bytes of a request's body.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// About the most bytes of the rows that one event writes, and of what all of a batch writes and answers.
pub const MAX_WRITTEN_BYTES: usize = 16 * 1024 * 1024;
/// Most events of a batch (S2.244).
pub const MAX_BATCH_EVENTS: usize = 1000;

/// Reads a body as one JSON object.
///
/// # Errors
/// It is none, or too large.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    match document(body)? {
        Value::Object(object) => Ok(object),
        other => Err(Error::invalid(
            "$",
            format!("the body is {}", kind_of(&other)),
            "a JSON object",
        )),
    }
}

/// Reads a body as JSON.
///
/// # Errors
/// It is none, or too large.
pub fn document(body: &[u8]) -> Result<Value, Error> {
    if body.len() > MAX_BODY_BYTES {
        return Err(Error::TooLarge {
            what: "the body",
            bytes: body.len(),
            most: MAX_BODY_BYTES,
        });
    }
    json(body)
}

/// Reads JSON of whatever size.
///
/// # Errors
/// It is none.
pub fn json(text: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(text).map_err(|error| {
        let place = if error.line() == 0 {
            String::new()
        } else {
            format!(" at line {}, column {}", error.line(), error.column())
        };
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or("it cannot be read");
        Error::invalid(
            "$",
            format!("the body is no JSON: {problem}{place}"),
            "a JSON text in UTF-8",
        )
    })
}

/// That a text is none of the names that it should be.
pub fn name_error(path: &str, what: &str, error: &NameError, most: usize) -> Error {
    Error::invalid(
        path,
        format!("it is no {what}: {error}"),
        format!("1 to {most} bytes without control characters"),
    )
}

/// A machine id from a path.
///
/// # Errors
/// The text is none.
pub fn machine_id(text: &str) -> Result<MachineId, Error> {
    MachineId::new(text).map_err(|error| name_error("machine_id", "machine id", &error, MAX_NAME_BYTES))
}

/// An entity id from a path or a body. Only a child's is longer than one that a caller gives.
///
/// # Errors
/// The text is none.
pub fn entity_id(path: &str, text: &str) -> Result<EntityId, Error> {
    let (read, most) = if text.contains(CHILD_MARK) {
        (EntityId::named(text), MAX_CHILD_ID_BYTES)
    } else {
        (EntityId::new(text), MAX_ENTITY_ID_BYTES)
    };
    read.map_err(|error| name_error(path, "entity id", &error, most))
}

/// Whether a caller may make an entity of that id.
///
/// # Errors
/// It is longer than that.
pub fn check_given(path: &str, id: &EntityId) -> Result<(), Error> {
    id.check_given()
        .map_err(|error| name_error(path, "id of an entity to be made", &error, MAX_ENTITY_ID_BYTES))
}

/// A reader of a body's fields.
///
/// Each field that is read and is of another type gives an error with its path.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// The JSON path of the object.
    pub path: &'a str,
    /// The object.
    pub object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The JSON path of a field.
    pub fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// A field's value; null is as none.
    pub fn given(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// A string that must be there.
    ///
    /// # Errors
    /// It is missing, or no string.
    pub fn text(&self, key: &str) -> Result<&'a str, Error> {
        match self.given(key) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.wrong(key, other, "a string")),
            None => Err(Error::invalid(self.key(key), "it is missing", "a string")),
        }
    }

    /// A string that may be there.
    ///
    /// # Errors
    /// It is no string.
    pub fn optional_text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        if self.given(key).is_some() {
            self.text(key).map(Some)
        } else {
            Ok(None)
        }
    }

    /// True or false, or what is meant where neither is given.
    ///
    /// # Errors
    /// It is neither.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        match self.given(key) {
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(key, other, "true or false")),
            None => Ok(default),
        }
    }

    /// An object that may be there.
    ///
    /// # Errors
    /// It is no object.
    pub fn map(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Error> {
        match self.given(key) {
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(other) => Err(self.wrong(key, other, "an object")),
            None => Ok(None),
        }
    }

    /// Refuses keys that nothing reads.
    ///
    /// # Errors
    /// There is one.
    pub fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(Error::invalid(
                format!("{}[{}]", self.path, Value::from(unknown.as_str())),
                "nothing reads it",
                format!("one of `{}`", known.join("`, `")),
            )),
            None => Ok(()),
        }
    }

    /// That a field is of another type.
    pub fn wrong(&self, key: &str, value: &Value, expected: &str) -> Error {
        Error::invalid(self.key(key), format!("it is {}", kind_of(value)), expected)
    }

    fn timestamp(&self) -> Result<Option<i64>, Error> {
        let Some(value) = self.given("timestamp") else {
            return Ok(None);
        };
        let timestamp = value
            .as_i64()
            .filter(|timestamp| (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(timestamp));
        match timestamp {
            Some(timestamp) => Ok(Some(timestamp)),
            None => Err(Error::invalid(
                self.key("timestamp"),
                "it is no timestamp",
                "an integer within ±2^53: milliseconds since the epoch",
            )),
        }
    }

    fn expected_version(&self) -> Result<Option<u64>, Error> {
        let Some(value) = self.given("expected_version") else {
            return Ok(None);
        };
        match value.as_u64() {
            Some(version) => Ok(Some(version)),
            None => Err(Error::invalid(
                self.key("expected_version"),
                "it is no version",
                "the version that the entity is at, or 0 where it must not exist",
            )),
        }
    }

    fn event_type(&self) -> Result<Arc<str>, Error> {
        let text = self.text("event_type")?;
        check_name(text, MAX_NAME_BYTES)
            .map_err(|error| name_error(&self.key("event_type"), "event type", &error, MAX_NAME_BYTES))?;
        Ok(text.into())
    }

    /// The params, and how many bytes they have as JSON.
    fn params(&self) -> Result<(Arc<Params>, usize), Error> {
        let params = self.map("params")?.cloned().unwrap_or_default();
        let bytes = json_bytes(&params);
        if bytes > MAX_PARAMS_BYTES {
            return Err(Error::TooLarge {
                what: "params",
                bytes,
                most: MAX_PARAMS_BYTES,
            });
        }
        Ok((Arc::new(params), bytes))
    }

    /// What `/transition`, evaluate and explain have in common.
    fn event(&self, params: Arc<Params>) -> Result<Event, Error> {
        Ok(Event {
            event_type: self.event_type()?,
            params,
            timestamp: self.timestamp()?,
            expected_version: self.expected_version()?,
        })
    }
}

/// How many bytes a value has as JSON.
pub fn json_bytes(value: &(impl serde::Serialize + ?Sized)) -> usize {
    // Written out, as it is elsewhere: a writer that only counts would need all that serializes once more.
    serde_json::to_vec(value).map_or(usize::MAX, |text| text.len())
}

/// An event for an entity, as `evaluate`, its batch, `/transition` and `explain` take it.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the request's body"
)]
pub struct EventRequest {
    /// The entity.
    pub entity_id: EntityId,
    /// Where the id stands in the request.
    pub id_path: String,
    /// The event.
    pub event: Event,
    /// How many bytes its params have as JSON.
    pub params_bytes: usize,
    /// The target path, if the caller gave one; empty is the root (S2.214).
    pub target: Option<TargetPath>,
    /// Whether the answer says why.
    pub explain: bool,
    /// Whether nothing is to be written.
    pub dry_run: bool,
    /// Whether its effects are enqueued; otherwise they are told only (S2.114, S2.117).
    pub dispatch: bool,
    /// Whether a missing entity is made (S2.243, S2.246).
    pub create: bool,
}

impl EventRequest {
    /// The body of `evaluate` (S2.249).
    ///
    /// # Errors
    /// A part of it is wrong.
    pub fn evaluate(fields: Fields<'_>) -> Result<Self, Error> {
        let key = fields.text("entity_key")?;
        let (params, params_bytes) = fields.params()?;
        let path = format!("{}[{}]", fields.key("params"), Value::from(key));
        let id = match params.get(key) {
            Some(Value::String(id)) => entity_id(&path, id)?,
            Some(other) => {
                return Err(Error::invalid(
                    path,
                    format!("it is {}", kind_of(other)),
                    "the entity's id as a string",
                ));
            }
            None => {
                return Err(Error::invalid(
                    path,
                    "it is missing, and `entity_key` names it",
                    "the entity's id",
                ));
            }
        };
        Ok(Self {
            entity_id: id,
            id_path: path,
            event: fields.event(params)?,
            params_bytes,
            target: target(fields)?,
            explain: fields.flag("explain", false)?,
            dry_run: fields.flag("dry_run", false)?,
            dispatch: fields.flag("dispatch", true)?,
            create: true,
        })
    }

    /// The body of `/transition` and of `explain` (S2.246).
    ///
    /// # Errors
    /// A part of it is wrong.
    pub fn transition(entity_id: EntityId, fields: Fields<'_>) -> Result<Self, Error> {
        let (params, params_bytes) = fields.params()?;
        Ok(Self {
            entity_id,
            id_path: "entity_id".to_owned(),
            event: fields.event(params)?,
            params_bytes,
            target: target(fields)?,
            explain: fields.flag("explain", false)?,
            dry_run: fields.flag("dry_run", false)?,
            dispatch: true,
            create: false,
        })
    }
}

/// A target path as it was given (S2.213); empty is the entity itself (S2.214).
#[derive(Debug, Clone)]
pub struct TargetPath {
    /// The place in the request.
    pub path: String,
    /// Its steps.
    pub steps: Vec<TargetStep>,
}

/// Most steps of a target path: no managed instance is deeper.
const MOST_STEPS: usize = DEEPEST_LEVEL as usize;

/// The target path, if one is given (S2.213 to S2.216). Only its shape is looked at.
fn target(fields: Fields<'_>) -> Result<Option<TargetPath>, Error> {
    let steps = match fields.given("target") {
        None => return Ok(None),
        Some(Value::Array(steps)) => steps,
        Some(other) => return Err(fields.wrong("target", other, "an array of steps, empty for the root")),
    };
    if steps.len() > MOST_STEPS {
        return Err(Error::invalid(
            format!("{}[{MOST_STEPS}]", fields.key("target")),
            format!("the path has {} steps", steps.len()),
            format!("at most {MOST_STEPS} steps: no instance is deeper"),
        ));
    }
    let step = |(place, step): (usize, &Value)| {
        let path = format!("{}[{place}]", fields.key("target"));
        let Value::Object(object) = step else {
            return Err(Error::invalid(
                path,
                format!("it is {}", kind_of(step)),
                "an object with `state`",
            ));
        };
        let step = Fields { path: &path, object };
        let seq = match step.given("seq") {
            None => None,
            Some(given) => match given.as_u64().filter(|seq| *seq <= MAX_TIMESTAMP.unsigned_abs()) {
                Some(seq) => Some(Seq(seq)),
                None => return Err(step.wrong("seq", given, "the number of an entry instance")),
            },
        };
        let name = |key: &str, text: &str| match check_name(text, MAX_NAME_BYTES) {
            Ok(()) => Ok(text.into()),
            Err(error) => Err(name_error(&step.key(key), "name", &error, MAX_NAME_BYTES)),
        };
        Ok(TargetStep {
            region: name("region", step.optional_text("region")?.unwrap_or(FLAT_REGION))?,
            state: name("state", step.text("state")?)?,
            seq,
        })
    };
    let steps = steps.iter().enumerate().map(step).collect::<Result<_, _>>()?;
    Ok(Some(TargetPath {
        path: fields.key("target"),
        steps,
    }))
}

/// The body of an entity's creation (S2.236).
#[derive(Debug, Clone)]
pub struct CreateEntity {
    /// The entity's id.
    pub entity_id: EntityId,
    /// The context that it begins with.
    pub context: Params,
}

impl CreateEntity {
    /// Reads it.
    ///
    /// # Errors
    /// A part of it is wrong.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        let object = object(body)?;
        Self::of(Fields {
            path: "$",
            object: &object,
        })
    }

    /// Takes it from what was read.
    ///
    /// # Errors
    /// A part of it is wrong.
    pub fn of(fields: Fields<'_>) -> Result<Self, Error> {
        let entity_id = entity_id("$.entity_id", fields.text("entity_id")?)?;
        check_given("$.entity_id", &entity_id)?;
        let context = fields.map("context")?.cloned().unwrap_or_default();
        let bytes = json_bytes(&context);
        if bytes > MAX_CONTEXT_BYTES {
            return Err(Error::TooLarge {
                what: "the context",
                bytes,
                most: MAX_CONTEXT_BYTES,
            });
        }
        Ok(Self { entity_id, context })
    }
}

/// Whether a diagram is asked for as `dot`, and not as `mermaid`, which is the default.
///
/// # Errors
/// It is neither.
pub fn diagram_format(format: Option<&str>) -> Result<bool, Error> {
    match format {
        None | Some("mermaid") => Ok(false),
        Some("dot") => Ok(true),
        Some(_) => Err(Error::invalid(
            "format",
            "it is no format of a diagram",
            "`mermaid` or `dot`",
        )),
    }
}

//! What the operations of state records are asked, read with a path for whatever is wrong (S0.1 to S0.6, S0.27).

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use statewright_core::error::Error as Core;
use statewright_core::ids::{MAX_ENTITY_ID_BYTES, MAX_TIMESTAMP, TenantId, check_name};
use statewright_core::kind_of;

use super::{Data, StateError};
use crate::database::{Param, Statement};
use crate::error::Error;
use crate::request::{self, Fields};

fn invalid(path: &str, problem: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::State(StateError::Invalid {
        path: path.to_owned(),
        problem: problem.into(),
        expected: expected.into(),
    })
}

/// A fault of a body, told as one of an argument.
fn argument(error: Core) -> Error {
    match error {
        Core::Invalid {
            path,
            problem,
            expected,
        } => invalid(&path, problem, expected),
        other => other.into(),
    }
}

/// A token: its first character, and up to 63 that follow.
fn token(fields: Fields<'_>, key: &str, first: fn(&u8) -> bool, pattern: &str) -> Result<String, Error> {
    const MOST: usize = 64;
    let text = fields.text(key).map_err(argument)?;
    let follows = |byte: &u8| first(byte) || byte.is_ascii_digit() || b"._-".contains(byte);
    let bytes = text.as_bytes();
    if bytes.len() <= MOST && bytes.first().is_some_and(first) && bytes.iter().all(follows) {
        return Ok(text.to_owned());
    }
    let shown: String = text.chars().take(MOST + 1).collect();
    Err(invalid(
        &format!("$.{key}"),
        format!("it is `{shown}`"),
        format!("a text that matches {pattern}"),
    ))
}

fn machine(fields: Fields<'_>) -> Result<String, Error> {
    token(
        fields,
        "machine",
        u8::is_ascii_lowercase,
        "[a-z][a-z0-9._-]{0,63}",
    )
}

fn state(fields: Fields<'_>, key: &str) -> Result<String, Error> {
    token(
        fields,
        key,
        u8::is_ascii_alphanumeric,
        "[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    )
}

/// A record's id (S0.3).
fn id(fields: Fields<'_>) -> Result<String, Error> {
    let text = fields.text("id").map_err(argument)?;
    let problem = match check_name(text, MAX_ENTITY_ID_BYTES) {
        Err(error) => error.to_string(),
        Ok(()) if text.contains('/') => "it holds a `/`".to_owned(),
        Ok(()) => return Ok(text.to_owned()),
    };
    let expected = format!("1 to {MAX_ENTITY_ID_BYTES} bytes without `/` and control characters");
    Err(invalid("$.id", problem, expected))
}

/// A record's name in full.
pub(super) struct Name<'a> {
    pub(super) tenant: &'a TenantId,
    pub(super) machine: String,
    pub(super) id: String,
}

impl<'a> Name<'a> {
    fn of(tenant: &'a TenantId, fields: Fields<'_>) -> Result<Self, Error> {
        Ok(Self {
            tenant,
            machine: machine(fields)?,
            id: id(fields)?,
        })
    }

    /// The body of a look.
    pub(super) fn read(tenant: &'a TenantId, body: &[u8]) -> Result<Self, Error> {
        let object = request::object(body).map_err(argument)?;
        Self::of(tenant, at_the_top(&object))
    }

    /// A statement whose first parameters are this name.
    pub(super) fn statement<const N: usize>(&self, sql: &'static str, more: [Param; N]) -> Statement {
        let mut params = vec![
            self.tenant.as_str().into(),
            self.machine.as_str().into(),
            self.id.as_str().into(),
        ];
        params.extend(more);
        Statement { sql, params }
    }

    pub(super) fn missing(&self) -> Error {
        Error::State(StateError::NotFound {
            machine: self.machine.clone(),
            id: self.id.clone(),
        })
    }
}

/// The body of a creation (S0.12).
pub(super) struct Creation<'a> {
    pub(super) name: Name<'a>,
    pub(super) state: String,
    pub(super) data: Data,
}

impl<'a> Creation<'a> {
    pub(super) fn read(tenant: &'a TenantId, body: &[u8], most_data: usize) -> Result<Self, Error> {
        let object = request::object(body).map_err(argument)?;
        let fields = at_the_top(&object);
        Ok(Self {
            name: Name::of(tenant, fields)?,
            state: state(fields, "state")?,
            data: data(body, fields, most_data)?.unwrap_or_else(|| Data(RawValue::NULL.to_owned())),
        })
    }
}

/// The body of a transition (S0.16).
pub(super) struct Move<'a> {
    pub(super) name: Name<'a>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) expected_version: u64,
    /// Nothing where the record keeps what it has.
    pub(super) data: Option<Data>,
}

impl<'a> Move<'a> {
    pub(super) fn read(tenant: &'a TenantId, body: &[u8], most_data: usize) -> Result<Self, Error> {
        let object = request::object(body).map_err(argument)?;
        let fields = at_the_top(&object);
        Ok(Self {
            name: Name::of(tenant, fields)?,
            from: state(fields, "from")?,
            to: state(fields, "to")?,
            expected_version: expected_version(fields)?,
            data: data(body, fields, most_data)?,
        })
    }
}

fn at_the_top(object: &Map<String, Value>) -> Fields<'_> {
    Fields { path: "$", object }
}

/// The given data to the byte; nothing where the key is left out (S0.24). `null` is data (R23).
fn data(body: &[u8], fields: Fields<'_>, most: usize) -> Result<Option<Data>, Error> {
    #[derive(Deserialize)]
    struct Given {
        data: Box<RawValue>,
    }
    if !fields.object.contains_key("data") {
        return Ok(None);
    }
    // The body is an object; it may have the key twice.
    let Given { data } = serde_json::from_slice(body)
        .map_err(|error| invalid("$.data", error.to_string(), "the key `data` once"))?;
    let bytes = data.get().len();
    if bytes > most {
        let problem = format!("it has {bytes} bytes");
        return Err(invalid(
            "$.data",
            problem,
            format!("at most {most} bytes of JSON"),
        ));
    }
    Ok(Some(Data(data)))
}

fn expected_version(fields: Fields<'_>) -> Result<u64, Error> {
    const PATH: &str = "$.expected_version";
    const EXPECTED: &str = "the version that the record was last seen at: an integer from 1 to 2^53";
    let problem = match fields.object.get("expected_version") {
        None | Some(Value::Null) => "it is missing".to_owned(),
        Some(Value::Number(number)) => match number.as_u64() {
            Some(version) if (1..=MAX_TIMESTAMP.unsigned_abs()).contains(&version) => return Ok(version),
            _ => format!("it is {number}"),
        },
        Some(other) => format!("it is {}", kind_of(other)),
    };
    Err(invalid(PATH, problem, EXPECTED))
}

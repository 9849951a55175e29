//! The JSON Schema of a definition, made from the types and published as `docs/machine.schema.json`.
//!
//! It describes `statewright.v1`. The other contract takes more: unknown keys, and guards of any form. What a schema
//! cannot say, such as that a transition names states that exist, only reading a definition finds.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::definition::{Definition, GuardDef, MAX_HEADERS, SERVER_KEYS, TIMEOUT_EVENT, TimeoutGuardDef};
use crate::ids::MAX_NAME_BYTES;

/// The schema of a definition, of draft 2020-12.
pub fn machine_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Definition>();
    schema.insert("title".to_owned(), json!("A Statewright machine"));
    let mut schema = schema.to_value();
    without_citations(&mut schema);
    schema
}

/// Takes the numbers of rules, such as (S2.110), out of the descriptions: they are for readers of the source.
fn without_citations(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_citations),
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                let mut parts = text.split(" (");
                let mut cleared = parts.next().unwrap_or_default().to_owned();
                for part in parts {
                    match part.split_once(')') {
                        Some((cited, after)) if cited.starts_with(['S', 'M', 'R']) => cleared.push_str(after),
                        _ => cleared.extend([" (", part]),
                    }
                }
                *text = cleared;
            }
            object.values_mut().for_each(without_citations);
        }
        _ => {}
    }
}

/// One of the names of contracts.
pub(crate) struct ContractName;

impl JsonSchema for ContractName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContractName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "The rules that a machine runs by.",
            "enum": Contract::NAMES,
            "default": Contract::default().name(),
        })
    }
}

/// A guard: of an event, or of a timeout.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema counts")]
pub(crate) enum AnyGuard {
    Event(GuardDef),
    Timeout(TimeoutGuardDef),
}

pub(crate) fn definition(schema: &mut Schema) {
    let Some(properties) = properties(schema) else {
        return;
    };
    for key in SERVER_KEYS {
        let note = "Set by the service. One that is sent back is left out.";
        properties.insert(key.to_owned(), json!({"description": note, "readOnly": true}));
    }
    add(properties, "machine_id", &name());
    for list in ["states", "regions"] {
        add(properties, list, &json!({"minItems": 1}));
    }
    schema.insert(
        "oneOf".to_owned(),
        json!([{"required": ["states", "initial_state"]}, {"required": ["regions"]}]),
    );
}

pub(crate) fn transition(schema: &mut Schema) {
    let Some(properties) = properties(schema) else {
        return;
    };
    add(properties, "on", &name());
    schema.insert(
        "if".to_owned(),
        json!({"properties": {"on": {"const": TIMEOUT_EVENT}}}),
    );
    schema.insert(
        "then".to_owned(),
        json!({"required": ["guard"], "properties": {"guard": {"$ref": "#/$defs/TimeoutGuardDef"}}}),
    );
    let guard = json!({"anyOf": [{"$ref": "#/$defs/GuardDef"}, {"type": "null"}]});
    schema.insert(
        "else".to_owned(),
        json!({"properties": {"on": {"pattern": "^[^$]"}, "guard": guard}}),
    );
}

/// One delay; beside it nothing, a comparison, `all` or `any`.
pub(crate) fn timeout_guard(schema: &mut Schema) {
    let delays = json!([{"required": ["timeout_seconds"]}, {"required": ["after_ms"]}]);
    schema.insert("oneOf".to_owned(), delays);
    let comparison = ["field", "op", "value"];
    let others = |key: &str| -> Vec<&str> { comparison.into_iter().filter(|other| *other != key).collect() };
    schema.insert(
        "dependentRequired".to_owned(),
        json!({"field": others("field"), "op": others("op"), "value": others("value")}),
    );
    let pairs = [("all", "any"), ("all", "field"), ("any", "field")];
    let apart = pairs.map(|(a, b)| json!({"not": {"required": [a, b]}}));
    schema.insert("allOf".to_owned(), json!(apart));
}

/// Names of headers, and not those that the service sets.
pub(crate) fn headers(schema: &mut Schema) {
    schema.insert("maxProperties".to_owned(), json!(MAX_HEADERS));
    let own = "^(?![Ww][Ee][Bb][Hh][Oo][Oo][Kk]-)[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
    schema.insert("propertyNames".to_owned(), json!({"pattern": own}));
}

fn name() -> Value {
    json!({"minLength": 1, "maxLength": MAX_NAME_BYTES})
}

fn properties(schema: &mut Schema) -> Option<&mut serde_json::Map<String, Value>> {
    schema.get_mut("properties")?.as_object_mut()
}

fn add(properties: &mut serde_json::Map<String, Value>, key: &str, more: &Value) {
    if let (Some(Value::Object(property)), Some(more)) = (properties.get_mut(key), more.as_object()) {
        property.extend(more.clone());
    }
}

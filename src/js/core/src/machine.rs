//! A machine on snapshots: each call takes an entity as JSON and gives it back.

use serde::Serialize;
use serde_json::{Map, Value};
use statewright_core::error::Error;
use statewright_core::fault::{Fault, Warning};
use statewright_core::snapshot::{Blueprint, CommitView, Living, SeenRow, Snapshot};
use statewright_js_text::{millis, read, thrown, told};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A compiled machine with the machines of its children.
#[wasm_bindgen]
pub struct WasmMachine {
    pub(crate) blueprint: Blueprint,
}

/// A new entity, and the commit that makes it.
#[derive(Serialize)]
struct Created {
    snapshot: Snapshot,
    commit: CommitView,
}

/// What a validation found.
#[derive(Serialize)]
struct Validation {
    valid: bool,
    faults: Vec<Fault>,
    warnings: Vec<Warning>,
}

/// Looks at a definition: `{"valid", "faults", "warnings"}`.
///
/// # Errors
/// The text is no JSON.
#[wasm_bindgen]
pub fn validate(definition: &str) -> Result<String, JsValue> {
    let (faults, warnings) = statewright_core::snapshot::validate(&read(definition)?);
    told(&Validation {
        valid: faults.is_empty(),
        faults,
        warnings,
    })
}

#[wasm_bindgen]
impl WasmMachine {
    /// Compiles an array of definitions: the machine, and then those that its children can be made of.
    ///
    /// # Errors
    /// A definition has faults.
    pub fn compile(definitions: &str) -> Result<WasmMachine, JsValue> {
        let documents = match read(definitions)? {
            Value::Array(documents) => documents,
            single => vec![single],
        };
        let blueprint = Blueprint::compile(&documents).map_err(thrown)?;
        Ok(Self { blueprint })
    }

    /// What of the definitions deserves a second look.
    ///
    /// # Errors
    /// Never.
    pub fn warnings(&self) -> Result<String, JsValue> {
        told(&self.blueprint.warnings())
    }

    /// A new entity: `{"snapshot", "commit"}`.
    ///
    /// # Errors
    /// The id or the context is none, or a child cannot be made.
    pub fn create(&self, id: &str, context: &str, now: f64) -> Result<String, JsValue> {
        let context = match read(context)? {
            Value::Object(context) => context,
            Value::Null => Map::new(),
            _ => return Err(thrown(Error::invalid("context", "it is no object", "an object"))),
        };
        let created = self.blueprint.create(id, context, millis(now));
        let (living, kept) = created.map_err(thrown)?;
        told(&Created {
            snapshot: living.snapshot(),
            commit: kept.view,
        })
    }

    /// Sends an event: `{"outcome", "snapshot", "answer", "commit", "timeouts", "before"?, "error"?}`. `history` is an
    /// array of rows that it may be a replay of.
    ///
    /// # Errors
    /// The snapshot or the event cannot be read. A refused event is an outcome.
    pub fn send(
        &self,
        snapshot: &str,
        event: &str,
        now: f64,
        history: Option<String>,
    ) -> Result<String, JsValue> {
        let history = match history {
            Some(history) => SeenRow::list(&read(&history)?).map_err(thrown)?,
            None => Vec::new(),
        };
        let mut living = self.living(snapshot)?;
        let sent = living.send(&read(event)?, &history, millis(now));
        told(&sent.map_err(of_event)?)
    }

    /// Why an event would or would not move an entity: the body of the service's `explain`.
    ///
    /// # Errors
    /// The snapshot or the event cannot be read, or a target path leads nowhere.
    pub fn why(&self, snapshot: &str, event: &str, now: f64) -> Result<String, JsValue> {
        let mut living = self.living(snapshot)?;
        told(&living.why(&read(event)?, millis(now)).map_err(of_event)?)
    }

    /// The events that an entity, and what lives below it, can take: the body of the service's `events`.
    ///
    /// # Errors
    /// The snapshot cannot be read, or too many timeouts are due.
    pub fn events(&self, snapshot: &str, now: f64) -> Result<String, JsValue> {
        told(&self.living(snapshot)?.events(millis(now)).map_err(thrown)?)
    }

    /// The timer that is due first: `{"machine_id", "entity_id", "region", "state", "at"}`.
    ///
    /// # Errors
    /// The snapshot cannot be read.
    pub fn due(&self, snapshot: &str) -> Result<Option<String>, JsValue> {
        let due = self.living(snapshot)?.due();
        due.map(|due| told(&due)).transpose()
    }

    /// Applies the timers that are due: `{"snapshot", "timeouts", "parked", "more"}`.
    ///
    /// # Errors
    /// The snapshot cannot be read.
    pub fn advance(&self, snapshot: &str, now: f64) -> Result<String, JsValue> {
        told(&self.living(snapshot)?.advance(millis(now)))
    }

    /// The machine as `mermaid` or `dot` text, with the states of an entity marked where one is given.
    ///
    /// # Errors
    /// The format is unknown, or the snapshot cannot be read.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a text that may be missing crosses as one of its own"
    )]
    pub fn diagram(&self, format: Option<String>, snapshot: Option<String>) -> Result<String, JsValue> {
        let current = match snapshot {
            Some(snapshot) => Some(self.living(&snapshot)?.tree().root().configuration()),
            None => None,
        };
        let drawn = self.blueprint.diagram(format.as_deref(), current.as_ref());
        drawn.map_err(thrown)
    }

    fn living(&self, snapshot: &str) -> Result<Living, JsValue> {
        let restore = |value: &Value| self.blueprint.restore(&Snapshot::read(value)?);
        restore(&read(snapshot)?).map_err(|error| thrown(error.within("snapshot")))
    }
}

/// What is thrown for an event that is wrong.
fn of_event(error: Error) -> JsValue {
    thrown(error.within("event"))
}

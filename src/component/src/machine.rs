//! The `machine` resource.

use serde_json::Value;
use statewright_core::entity::Params;
use statewright_core::error::Error;
use statewright_core::ids::{MAX_TIMESTAMP, Millis};
use statewright_core::snapshot::{Blueprint, Living, Snapshot, validate as check};

use crate::bindings::exports::statewright::core::machines as wit;
use crate::instances::snapshot_in;
use crate::outcomes::{event_in, seen_in};
use crate::text::{definition, object};

/// A compiled machine.
pub(crate) struct Compiled(Blueprint);

/// Checks a definition.
pub(crate) fn validate(text: &str) -> Result<wit::Validation, wit::Error> {
    let (faults, warnings) = check(&definition("$", text)?);
    Ok(wit::Validation {
        valid: faults.is_empty(),
        faults: faults.into_iter().map(Into::into).collect(),
        warnings: warnings.iter().map(Into::into).collect(),
    })
}

/// A time that is told.
fn time(now: i64) -> Result<Millis, Error> {
    if (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(&now) {
        return Ok(Millis(now));
    }
    Err(Error::invalid(
        "now",
        format!("it is {now}"),
        "milliseconds since the epoch, within ±2^53",
    ))
}

impl Compiled {
    fn living(&self, snapshot: wit::Snapshot) -> Result<Living, wit::Error> {
        // What types let through is refused as it is in JSON, by the same reader.
        let told = serde_json::to_value(snapshot_in(snapshot)?).unwrap_or_default();
        Ok(self.0.restore(&Snapshot::read(&told)?)?)
    }
}

impl wit::GuestMachine for Compiled {
    fn compile(text: String, others: Vec<String>) -> Result<wit::Machine, wit::Error> {
        let mut documents = vec![definition("$", &text)?];
        for (place, other) in others.iter().enumerate() {
            documents.push(definition(&format!("machines[{place}]"), other)?);
        }
        Ok(wit::Machine::new(Self(Blueprint::compile(&documents)?)))
    }

    fn id(&self) -> String {
        self.0.machine().id().to_string()
    }

    fn warnings(&self) -> Vec<wit::Warning> {
        self.0.warnings().iter().map(Into::into).collect()
    }

    fn create(
        &self,
        entity_id: String,
        context: Option<String>,
        now: i64,
    ) -> Result<wit::Created, wit::Error> {
        let context = match context {
            Some(text) => object("$.context", &text)?,
            None => Params::new(),
        };
        let (living, kept) = self.0.create(&entity_id, context, time(now)?)?;
        Ok(wit::Created {
            snapshot: living.snapshot().into(),
            commit: kept.view.into(),
        })
    }

    fn send(
        &self,
        of: wit::Snapshot,
        event: wit::Event,
        now: i64,
        history: Vec<wit::Row>,
    ) -> Result<wit::Sent, wit::Error> {
        let mut living = self.living(of)?;
        let event = Value::Object(event_in(event)?);
        let history: Result<Vec<_>, _> = history.into_iter().map(seen_in).collect();
        Ok(living.send(&event, &history?, time(now)?)?.into())
    }

    fn why(&self, of: wit::Snapshot, event: wit::Event, now: i64) -> Result<wit::Explanation, wit::Error> {
        let mut living = self.living(of)?;
        let event = Value::Object(event_in(event)?);
        Ok(living.why(&event, time(now)?)?.into())
    }

    fn events(&self, of: wit::Snapshot, now: i64) -> Result<Vec<wit::PossibleEvent>, wit::Error> {
        let events = self.living(of)?.events(time(now)?)?;
        Ok(events.into_iter().map(Into::into).collect())
    }

    fn due(&self, of: wit::Snapshot) -> Result<Option<wit::DueTimer>, wit::Error> {
        Ok(self.living(of)?.due().map(Into::into))
    }

    fn advance(&self, of: wit::Snapshot, now: i64) -> Result<wit::Advanced, wit::Error> {
        let now = time(now)?;
        Ok(self.living(of)?.advance(now).into())
    }

    fn diagram(&self, format: wit::Format, of: Option<wit::Snapshot>) -> Result<String, wit::Error> {
        let current = match of {
            Some(snapshot) => Some(self.living(snapshot)?.tree().root().configuration()),
            None => None,
        };
        let format = match format {
            wit::Format::Mermaid => "mermaid",
            wit::Format::Dot => "dot",
        };
        Ok(self.0.diagram(Some(format), current.as_ref())?)
    }
}

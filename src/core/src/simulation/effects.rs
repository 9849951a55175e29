//! What commits call for. Events to other entities of the simulation are delivered as a service does; what would leave it is
//! listed only.

use std::sync::Arc;

use serde_json::{Value, json};

use super::json_of;
use super::world::World;
use crate::effect::Effect;
use crate::entity::Params;
use crate::error::Error;
use crate::ids::{EntityId, MachineId, Millis};
use crate::request::{EventRequest, MAX_PARAMS_BYTES, json_bytes};
use crate::snapshot::EffectView;
use crate::step::Event;

/// Whose row calls for an effect.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) machine_id: String,
    pub(super) entity_id: String,
    pub(super) row: u64,
}

/// An effect, and what became of it.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    id: usize,
    source: Source,
    effect: Effect,
    effect_id: String,
    /// How many effects led to it, itself included.
    hops: u32,
    at: Millis,
    status: Status,
    /// What came of the event, or why it is none.
    note: Option<String>,
}

/// What became of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    Accepted,
    /// A service would try it again.
    Failed,
    Dead,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}

impl Outgoing {
    pub(super) fn new(id: usize, source: Source, of: &EffectView, hops: u32, now: Millis) -> Self {
        let hops = hops.saturating_add(1);
        let effect = of.effect.clone().within_hops(hops);
        let (status, note) = match &effect {
            Effect::Broken { problem } => (Status::Dead, Some(problem.clone())),
            _ => (Status::Pending, None),
        };
        Self {
            id,
            source,
            effect,
            effect_id: of.effect_id.clone(),
            hops,
            at: now,
            status,
            note,
        }
    }

    pub(super) fn view(&self) -> Value {
        let Source {
            machine_id,
            entity_id,
            row,
        } = &self.source;
        let mut view = json!({
            "id": self.id,
            "effect_id": self.effect_id,
            "status": self.status.name(),
            "source": {"machine_id": machine_id, "entity_id": entity_id, "row": row},
            "effect": json_of(&self.effect),
            "created_at": self.at,
        });
        if let (Value::Object(view), Some(note)) = (&mut view, &self.note) {
            let key = if self.status == Status::Accepted {
                "outcome"
            } else {
                "error"
            };
            view.insert(key.to_owned(), note.as_str().into());
        }
        view
    }
}

impl World {
    /// Delivers the events that commits call for, and those that these lead to, in order. Gives how many.
    pub(super) fn deliver(&mut self) -> usize {
        let mut done = 0_usize;
        while let Some(outgoing) = self.effects.get(self.delivered).cloned() {
            let place = self.delivered;
            self.delivered = place.saturating_add(1);
            let Effect::Transition {
                machine_id,
                entity_id,
                event_type,
                params,
                create,
            } = &outgoing.effect
            else {
                continue;
            };
            done = done.saturating_add(1);
            self.hops = outgoing.hops;
            let (status, note) = match self.send_on(machine_id, entity_id, event_type, params, *create) {
                Ok(outcome) => (Status::Accepted, outcome),
                Err(error) if error.may_pass() => (Status::Failed, error.to_string()),
                Err(error) => (Status::Dead, error.to_string()),
            };
            self.hops = 0;
            if let Some(slot) = self.effects.get_mut(place) {
                let slot = Arc::make_mut(slot);
                slot.status = status;
                slot.note = Some(note);
            }
        }
        done
    }

    fn send_on(
        &mut self,
        machine: &str,
        entity: &str,
        event_type: &str,
        params: &Params,
        create: bool,
    ) -> Result<String, Error> {
        let invalid = |error: crate::ids::NameError| {
            Error::invalid("target", format!("it has no valid name: {error}"), "an entity")
        };
        let machine = MachineId::new(machine).map_err(invalid)?;
        let entity = EntityId::named(entity).map_err(invalid)?;
        let params_bytes = json_bytes(params);
        if params_bytes > MAX_PARAMS_BYTES {
            return Err(Error::TooLarge {
                what: "params",
                bytes: params_bytes,
                most: MAX_PARAMS_BYTES,
            });
        }
        let request = EventRequest {
            entity_id: entity.clone(),
            id_path: "entity_id".to_owned(),
            event: Event {
                event_type: event_type.into(),
                params: Arc::new(params.clone()),
                timestamp: None,
                expected_version: None,
            },
            params_bytes,
            target: None,
            explain: false,
            dry_run: false,
            dispatch: true,
            create,
        };
        let (_, outcome) = self.event(&(machine.shared(), entity.shared()), &request)?;
        Ok(match json_of(&outcome) {
            Value::String(outcome) => outcome,
            _ => String::new(),
        })
    }
}

//! What the entities of a machine that live in Wasm share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use statewright_core::automaton::{Automaton, EventIx, Instance, MOST_EVENTS, Unsent};
use statewright_core::ids::Millis;
use statewright_core::snapshot::{Blueprint, Living, Snapshot};
use statewright_js_instance::{Lives, Members, WasmInstance, event_of, params_of};
use statewright_js_text::{millis, read, thrown, told};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::machine::WasmMachine;
use crate::steps::Plan;

/// What the instances of a machine share: its events' numbers, and the steps that were met.
#[wasm_bindgen]
pub struct WasmInstances {
    blueprint: Blueprint,
    shared: Shared,
    first: Rc<[u32]>,
}

#[derive(Clone)]
enum Shared {
    Alone(Rc<RefCell<Automaton>>),
    /// Machines with children: each step is decided anew.
    Family(Rc<RefCell<Vec<Members>>>),
}

#[wasm_bindgen]
impl WasmInstances {
    /// Those of a machine.
    pub fn of(machine: &WasmMachine) -> WasmInstances {
        let blueprint = machine.blueprint.clone();
        let shared = match Automaton::new(Arc::clone(blueprint.machine())) {
            Some(automaton) => Shared::Alone(Rc::new(RefCell::new(automaton))),
            None => Shared::Family(Rc::default()),
        };
        let mut first = 0_u32;
        let plan = Plan::of(blueprint.machine());
        let regions = plan.regions.iter().map(|region| {
            let counted = u32::try_from(region.states.len()).unwrap_or_default();
            let own = first;
            first = first.saturating_add(counted);
            own
        });
        let first = regions.collect();
        drop(plan);
        Self {
            blueprint,
            shared,
            first,
        }
    }

    /// The names of its regions, states and events, as [`WasmSteps::plan`](crate::WasmSteps::plan) tells them.
    ///
    /// # Errors
    /// Never.
    pub fn plan(&self) -> Result<String, JsValue> {
        told(&Plan::of(self.blueprint.machine()))
    }

    /// Numbers an event.
    ///
    /// # Errors
    /// It is none, or too many have numbers.
    pub fn event(&self, event_type: &str, params: &str) -> Result<u32, JsValue> {
        let params = params_of(params)?;
        let event = event_of(event_type, params).map_err(|error| thrown(error.within("event")))?;
        match &self.shared {
            Shared::Alone(automaton) => {
                let numbered = automaton.borrow_mut().event(event_type, &event.1);
                numbered
                    .map(EventIx::number)
                    .map_err(|unsent| thrown((*unsent).into()))
            }
            Shared::Family(events) => {
                let mut events = events.borrow_mut();
                let place = events.iter().position(|known| *known == event.0);
                let place = match place {
                    Some(place) => place,
                    None if events.len() >= MOST_EVENTS => {
                        return Err(thrown(Unsent::TooManyEvents.into()));
                    }
                    None => {
                        events.push(event.0);
                        events.len().saturating_sub(1)
                    }
                };
                Ok(u32::try_from(place).unwrap_or(u32::MAX))
            }
        }
    }

    /// A new entity that lives here.
    ///
    /// # Errors
    /// The id or the context is none, or a child cannot be made.
    pub fn create(&self, id: &str, context: &str, now: f64) -> Result<WasmInstance, JsValue> {
        let created = self.blueprint.create(id, params_of(context)?, millis(now));
        let (living, _) = created.map_err(thrown)?;
        Ok(self.instance(living, millis(now)))
    }

    /// An entity from where a snapshot left it.
    ///
    /// # Errors
    /// The snapshot cannot be read.
    pub fn restore(&self, snapshot: &str, now: f64) -> Result<WasmInstance, JsValue> {
        let restored = Snapshot::read(&read(snapshot)?).and_then(|read| self.blueprint.restore(&read));
        let living = restored.map_err(|error| thrown(error.within("snapshot")))?;
        Ok(self.instance(living, millis(now)))
    }

    fn instance(&self, living: Living, now: Millis) -> WasmInstance {
        let lives = match &self.shared {
            Shared::Alone(automaton) => Lives::Alone {
                automaton: Rc::clone(automaton),
                instance: Instance::of(living.tree().root().clone(), now),
            },
            Shared::Family(events) => Lives::Family {
                events: Rc::clone(events),
                now,
            },
        };
        WasmInstance::new(lives, Rc::clone(&self.first), living)
    }
}

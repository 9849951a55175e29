//! What JavaScript needs to remember steps of a machine without children: what they hang on, and which one it is where that
//! was not met before.

use std::sync::Arc;

use serde::Serialize;
use statewright_core::automaton::{Choice, Choices, Reads, choose, first_delay, numbers, reads};
use statewright_core::entity::{Entity, Params};
use statewright_core::ids::{EntityId, Millis};
use statewright_core::machine::Machine;
use statewright_js_instance::params_of;
use statewright_js_text::told;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::machine::WasmMachine;

/// The steps of a machine without children.
#[wasm_bindgen]
pub struct WasmSteps {
    plan: String,
    events: Vec<Arc<str>>,
    /// An entity that stands for any.
    like: Entity,
    choices: Choices,
}

/// What a step hangs on, and what it counts on.
#[derive(Serialize)]
pub(crate) struct Plan<'a> {
    machine_id: &'a str,
    parallel: bool,
    /// In the order of their numbers.
    pub(crate) regions: Vec<RegionPlan<'a>>,
    /// Whether timers that are due are fired before an event.
    exact_timers: bool,
    /// In the order of their numbers.
    events: Vec<Reads>,
}

#[derive(Serialize)]
pub(crate) struct RegionPlan<'a> {
    id: &'a str,
    /// What the place of its state counts in the number of a configuration; null where those have none.
    weight: Option<u64>,
    /// In the order of their numbers.
    pub(crate) states: Vec<StatePlan<'a>>,
}

#[derive(Serialize)]
pub(crate) struct StatePlan<'a> {
    name: &'a str,
    /// After how many milliseconds it first times out.
    delay: Option<u64>,
}

impl<'a> Plan<'a> {
    pub(crate) fn of(machine: &'a Machine) -> Self {
        let weights = numbers(machine).unwrap_or_default();
        let regions = machine.regions().iter().enumerate().map(|(place, region)| {
            let own = machine.states().iter();
            let own = own.filter(|state| state.region.place() == place);
            RegionPlan {
                id: &region.id,
                weight: weights.get(place).copied(),
                states: own
                    .map(|state| StatePlan {
                        name: &state.name,
                        delay: first_delay(state),
                    })
                    .collect(),
            }
        });
        Self {
            machine_id: machine.id().as_str(),
            parallel: machine.is_parallel(),
            regions: regions.collect(),
            exact_timers: machine.rules().exact_timers,
            events: reads(machine),
        }
    }
}

#[wasm_bindgen]
impl WasmSteps {
    /// Those of a machine; none where it has children, or more configurations than have numbers.
    pub fn of(machine: &WasmMachine) -> Option<WasmSteps> {
        let blueprint = &machine.blueprint;
        let machine = blueprint.machine();
        if machine.has_children() {
            return None;
        }
        numbers(machine)?;
        let plan = Plan::of(machine);
        let plan = told(&plan).ok()?;
        let events = machine.event_types();
        let nobody = EntityId::new("_").ok()?;
        let like = Entity::create(Arc::clone(machine), nobody, Params::new(), Millis(0));
        Some(Self {
            plan,
            events,
            like,
            choices: Choices::default(),
        })
    }

    /// What a step hangs on: `{"machine_id", "parallel", "regions": [{"id", "weight", "states": [{"name", "delay"}]}], "exact_timers",
    /// "events": [{"event_type", "fields"}]}`.
    pub fn plan(&self) -> String {
        self.plan.clone()
    }

    /// The number of what an event does from a configuration: the same wherever the same regions enter the same states in
    /// the same way. -1 where nothing moves, -2 where it is refused. Params and context need only hold the fields of the plan.
    ///
    /// # Errors
    /// Params or context cannot be read.
    pub fn choose(
        &mut self,
        configuration: f64,
        event: u32,
        params: &str,
        context: &str,
    ) -> Result<i32, JsValue> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the plan gave it: a whole number below 2^53"
        )]
        let number = configuration as u64;
        let Some(event_type) = self.events.get(event as usize) else {
            return Ok(-1);
        };
        let choice = choose(
            &self.like,
            number,
            event_type,
            params_of(params)?,
            params_of(context)?,
        );
        match choice {
            Choice::Stays => Ok(-1),
            Choice::Refused => Ok(-2),
            Choice::Moves(_) => {
                let number = self.choices.number(number, event, choice);
                Ok(i32::try_from(number).unwrap_or(-2))
            }
        }
    }
}

//! Simulations for JavaScript: operations by name, arguments and answers as JSON text. It is apart from the core, so that who
//! runs none loads none.

use statewright_core::simulation::{Options, Session, check};
use statewright_js_text::{millis, read, thrown, told};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// A simulation. See `statewright_core::simulation`.
#[wasm_bindgen]
pub struct WasmSession {
    session: Session,
}

#[wasm_bindgen]
impl WasmSession {
    /// An empty one, whose clock reads `now`. Where `deliver` is false, events to other entities wait for `deliver`.
    #[wasm_bindgen(constructor)]
    pub fn new(now: f64, tenant: Option<String>, deliver: Option<bool>) -> Self {
        let default = Options::default();
        Self {
            session: Session::new(Options {
                now: millis(now),
                tenant: tenant.unwrap_or(default.tenant),
                deliver: deliver.unwrap_or(default.deliver),
            }),
        }
    }

    /// Registers a machine that is there from the beginning.
    ///
    /// # Errors
    /// It has faults, or a machine of its id is there.
    pub fn give(&mut self, machine: &str) -> Result<(), JsValue> {
        self.session.give(&read(machine)?).map_err(thrown)
    }

    /// What the clock reads.
    pub fn now(&self) -> f64 {
        number(self.session.now().0)
    }

    /// Does an operation: `{"status", "body"}`, as a service answers.
    ///
    /// # Errors
    /// The arguments are no JSON.
    pub fn perform(&mut self, op: &str, args: &str) -> Result<String, JsValue> {
        told(&self.session.perform(op, &read(args)?))
    }
}

/// Plays a scenario, and compares what its steps expect with what comes: `{"passed", "steps", "failures"}`.
///
/// # Errors
/// It is no scenario, or a machine of it has faults.
#[wasm_bindgen(js_name = checkScenario)]
pub fn check_scenario(scenario: &str) -> Result<String, JsValue> {
    told(&check(&read(scenario)?).map_err(thrown)?)
}

/// A time as JavaScript has it.
#[expect(clippy::cast_precision_loss, reason = "times are within ±2^53")]
fn number(time: i64) -> f64 {
    time as f64
}

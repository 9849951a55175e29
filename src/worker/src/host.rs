//! The clock and the randomness that the runtime lends the engine.

use std::time::Duration;

use statewright_core::ids::Millis;
use statewright_engine::database::{Clock, Random};
use wasm_bindgen::prelude::wasm_bindgen;
use worker::Delay;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;

    /// Fills it with what nobody can guess.
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    pub(crate) fn fill_with_random(bytes: &mut [u8]);
}

/// The runtime's clock. It stands still while code runs and moves on with each answer from outside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerClock;

impl WorkerClock {
    /// The time now.
    pub(crate) fn read() -> Millis {
        // Exact: milliseconds since the epoch are far below 2^53.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "Date.now() gives whole milliseconds below 2^53"
        )]
        Millis(date_now() as i64)
    }
}

impl Clock for WorkerClock {
    fn now(&self) -> Millis {
        Self::read()
    }

    async fn sleep(&self, millis: u64) {
        Delay::from(Duration::from_millis(millis)).await;
    }
}

/// The runtime's randomness, made for keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerRandom;

impl Random for WorkerRandom {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        fill_with_random(&mut bytes);
        bytes
    }
}

/// A random name for a request that has none.
pub(crate) fn random_id() -> String {
    WorkerRandom
        .bytes()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0'))
        .collect()
}

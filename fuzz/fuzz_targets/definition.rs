//! Any bytes as a definition: faults, or a machine that compiles, draws, explains and steps. Nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/core/tests/common/mod.rs"]
mod common;
#[path = "../../src/core/tests/generate/mod.rs"]
mod generate;
#[path = "../../src/core/tests/harness/mod.rs"]
mod harness;
#[path = "../../src/core/tests/model/mod.rs"]
mod model;

fuzz_target!(|data: &[u8]| {
    if let Ok(document) = serde_json::from_slice(data) {
        harness::read(&document);
    }
});

//! Machines that name each other as children and what happens to a tree of them, all chosen by the bytes: the reference
//! model agrees step by step.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

mod chosen;
#[path = "../../src/core/tests/common/mod.rs"]
mod common;
#[path = "../../src/core/tests/generate/mod.rs"]
mod generate;
#[path = "../../src/core/tests/harness/mod.rs"]
mod harness;
#[path = "../../src/core/tests/model/mod.rs"]
mod model;

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let strict = u.arbitrary()?;
    let case = harness::Case {
        definitions: chosen::family(u, strict)?,
        foreign: Vec::new(),
        context: chosen::params(u)?,
        happenings: chosen::happenings_of_a_tree(u)?,
    };
    harness::check(&case);
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Too few bytes are no case.
    let _ = run(&mut Unstructured::new(data));
});

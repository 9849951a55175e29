//! What holds whatever the definition and whatever happens: the reference model agrees, the invariants of the design
//! hold, and no JSON makes anything panic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;
mod generate;
mod harness;
mod model;

use harness::{check, check_alone, read};
use proptest::prelude::*;
use proptest::test_runner::Config;

fn config(cases: u32) -> Config {
    let default = Config::default();
    Config {
        // More of them by `PROPTEST_CASES`.
        cases: default.cases.max(cases),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn statewright_v1_and_the_reference_model_agree(
        definition in generate::definition(true),
        context in generate::params(),
        happenings in generate::happenings(),
    ) {
        check_alone(&definition, &context, &happenings);
    }

    #[test]
    fn the_seed_s_contract_and_the_reference_model_agree(
        definition in generate::definition(false),
        context in generate::params(),
        happenings in generate::happenings(),
    ) {
        check_alone(&definition, &context, &happenings);
    }

    #[test]
    fn i10_any_json_is_a_definition_or_has_faults(document in generate::any_json()) {
        read(&document);
    }

    #[test]
    fn i10_a_broken_definition_is_sound_or_has_faults(document in generate::broken_definition()) {
        read(&document);
    }
}

proptest! {
    // A tree takes longer than an entity.
    #![proptest_config(config(256))]

    #[test]
    fn trees_of_statewright_v1_and_the_reference_model_agree(case in generate::trees::case(true)) {
        check(&case);
    }

    #[test]
    fn trees_of_the_seed_s_contract_and_the_reference_model_agree(case in generate::trees::case(false)) {
        check(&case);
    }
}

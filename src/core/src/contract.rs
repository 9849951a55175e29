//! The two contracts, and the values of rules that they become when a definition is compiled.

use serde::{Deserialize, Serialize};

/// The name a definition may give in `contract` (design 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Contract {
    /// The seed's rules with their admitted faults mended (M1 to M16). The default.
    #[default]
    #[serde(rename = "statewright.v1")]
    StatewrightV1,
    /// The seed's rules to the letter.
    #[serde(rename = "statemachine-e1e4.v1", alias = "statemachine-nested.v1")]
    SeedV1,
}

impl Contract {
    /// Every name that a definition may write, the canonical ones first.
    pub const NAMES: [&'static str; 3] = ["statewright.v1", "statemachine-e1e4.v1", "statemachine-nested.v1"];

    /// The contract of that name; `statemachine-nested.v1` is another name of `statemachine-e1e4.v1` (S2.2).
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "statewright.v1" => Some(Self::StatewrightV1),
            "statemachine-e1e4.v1" | "statemachine-nested.v1" => Some(Self::SeedV1),
            _ => None,
        }
    }

    /// Its canonical name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StatewrightV1 => "statewright.v1",
            Self::SeedV1 => "statemachine-e1e4.v1",
        }
    }

    /// What this contract means, rule by rule.
    pub fn rules(self) -> Rules {
        match self {
            Self::StatewrightV1 => Rules {
                strict: true,
                numeric_equality: true,
                edge_joins: true,
                cascade_refuses: true,
                exact_timers: true,
                timeout_conditions: true,
                completes_at_start: true,
                mended_children: true,
            },
            Self::SeedV1 => Rules {
                strict: false,
                numeric_equality: false,
                edge_joins: false,
                cascade_refuses: false,
                exact_timers: false,
                timeout_conditions: false,
                completes_at_start: false,
                mended_children: false,
            },
        }
    }
}

/// The rules in which the contracts differ. Nothing but [`Contract::rules`] knows a contract's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of its own in the table of design 2.1"
)]
pub struct Rules {
    /// Malformed guards, unknown operators and keys, and reserved event names are refused (M2, R6).
    pub strict: bool,
    /// `5`, `5.0` and `"5"` are equal where one side is a JSON number (M1).
    pub numeric_equality: bool,
    /// A join fires for its `when` becoming true, not for its being true (M3).
    pub edge_joins: bool,
    /// A join cascade past the limit refuses its event instead of stopping there (M4).
    pub cascade_refuses: bool,
    /// An event sees every timeout that was due by now (M5).
    pub exact_timers: bool,
    /// A `$timeout` may carry `after_ms` and conditions, and the shortest delay is tried first (M6).
    pub timeout_conditions: bool,
    /// A managed child that is final at its start completes in the same commit (M7).
    pub completes_at_start: bool,
    /// A legacy child advances its parent on every path, starts its own managed children, and what it handled is
    /// remembered where it was sent; recovery does not consume its event (R9, M11).
    pub mended_children: bool,
}

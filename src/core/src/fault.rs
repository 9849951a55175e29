//! What is wrong with a definition, and what deserves a second look.

use serde::Serialize;

/// One fault of a definition: where it is, what is wrong, and what would be right. Any fault refuses it (S2.39).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The JSON path of the fault, such as `$.transitions[2].from`.
    pub path: String,
    /// What is wrong, with the value in backticks.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// No path of transitions and joins leads to the state.
    UnreachableState,
    /// An earlier unguarded transition always takes the event.
    ShadowedTransition,
    /// The join's `when` can never hold, or only where its target region is in its target state already.
    ImpossibleJoin,
    /// A level-triggered join can undo a later transition (S2.81, S2.87).
    UnstableJoin,
    /// A broadcast is named that no transition handles.
    UnhandledEvent,
    /// A state has transitions, and none that leads out of it: each is never taken or comes back to it.
    DeadEnd,
    /// A managed child can come to an end at which nothing completes it (S2.196).
    UncoveredCompletion,
    /// A managed compound state can be entered again, which its child of the first visit refuses (S2.178).
    RefusedReentry,
    /// A guard can never hold, such as an order comparison with something that is no number.
    ImpossibleGuard,
    /// A template takes from a place where no effect has anything, or a target's id from one that is no text.
    UnknownPlace,
    /// A guard is malformed and so always passes (only in `statemachine-e1e4.v1`, S2.70).
    MalformedGuard,
    /// A key has no meaning and is ignored (only in `statemachine-e1e4.v1`).
    IgnoredKey,
}

/// One warning: it never refuses a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What the warning is about.
    pub kind: WarningKind,
    /// The JSON path it is about.
    pub path: String,
    /// What was seen.
    pub message: String,
}

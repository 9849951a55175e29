//! Statewright engine.

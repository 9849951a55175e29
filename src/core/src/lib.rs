//! Statewright core.

//! Statewright Worker.

//! The Statewright service over HTTP, for any host that runs JavaScript.

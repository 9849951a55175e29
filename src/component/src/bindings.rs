//! What `wit/` says, as Rust.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated from wit/, where the documentation is"
)]

use crate::Component;

wit_bindgen::generate!({
    path: "../../wit",
    world: "core",
});

export!(Component with_types_in self);

//! The outbox as its tenant sees it: lists within bounds, redrive and cancel that keep lanes in order, once for a key whatever
//! fails; and what is purged (S0.49, S0.52, S2.120; design 4, 5; I3, I7, I9).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

#[path = "support/admin.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
mod admin;
#[path = "outbox_admin/lanes.rs"]
mod lanes;
#[path = "outbox_admin/lists.rs"]
mod lists;
#[path = "outbox_admin/once.rs"]
mod once;
mod support;
#[path = "outbox_admin/upkeep.rs"]
mod upkeep;

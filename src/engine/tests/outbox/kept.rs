//! What stays, and for how long (S0.52).

use serde_json::Value;
use statewright_engine::settings::Settings;
use std::sync::Arc;

use super::{SINK, URL, place_told, place_with, times, told, webhook};
use crate::support::START;
use crate::support::outside::answers;
use crate::support::world::t1;

#[test]
fn design_4_deleting_an_entity_keeps_its_effects_and_a_new_one_of_its_id_has_its_own_lane() {
    let place = place_with(&[webhook()]);
    place.outside.always(URL, answers(500));
    for _ in 0..3 {
        place.event("round", "e", "go");
    }
    place.outside.taken();
    place
        .run(place.engine().delete_entity(&t1(), "round", "e"))
        .unwrap();
    assert_eq!(place.count("status = 'pending'"), 3);
    place.outside.always(URL, answers(200));
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(
        delivered.done, 1,
        "R17: the new one waits for nothing of the old one"
    );
    place.outside.taken();
    place.clock.set(1_000_000);
    assert_eq!(place.pass().done, 3);
    let versions: Vec<Value> = {
        let mut rows = place.outbox();
        rows.sort_by_key(|row| row["finished_at"].as_i64());
        rows.iter().map(|row| row["version"].clone()).collect()
    };
    assert_eq!(versions, [2, 2, 3, 4]);
}

#[test]
fn s0_52_what_is_over_is_purged_after_its_retention_and_what_is_pending_never() {
    let place = place_with(&[webhook()]);
    place.subscribe("s", &told());
    place.settings.borrow_mut().retention_ms = 86_400_000;
    place.outside.always(SINK, answers(500));
    place.event("round", "e", "go");
    place.passes(1);
    assert_eq!(place.count("status = 'done'"), 1);
    assert_eq!(place.count("status = 'pending'"), 1);
    place
        .sqlite
        .execute("UPDATE outbox SET due_at = due_at + 864000000 WHERE status = 'pending'");
    let purge = || {
        for _ in 0..3 {
            place.run(place.engine().upkeep()).unwrap();
        }
    };
    let done = place
        .number("SELECT finished_at FROM outbox WHERE status = 'done'")
        .unwrap()
        - START;
    place.clock.set(done + 86_399_999);
    purge();
    assert_eq!(place.count("true"), 2, "a millisecond before");
    place.clock.set(done + 86_400_001);
    purge();
    assert_eq!(place.count("status = 'done'"), 0);
    assert_eq!(place.count("status = 'pending'"), 1);
    place.clock.set(400 * 86_400_000);
    purge();
    assert_eq!(place.count("status = 'pending'"), 1, "S0.52: never");
}

#[test]
fn s0_52_dead_skipped_and_cancelled_rows_are_purged_too() {
    let place = place_told();
    place.record("r");
    place.move_by(&place.engine(), "r", "a", 1, "b");
    place.event("round", "e", "go");
    for status in ["dead", "cancelled", "skipped", "done"] {
        place.sqlite.execute(&format!(
            "UPDATE outbox SET status = '{status}' WHERE subscription = 's'"
        ));
        place.clock.set(31 * 86_400_000);
        place.sqlite.execute("SAVEPOINT p");
        place.run(place.engine().upkeep()).unwrap();
        assert_eq!(place.count("true"), 0, "{status}");
        place.sqlite.execute("ROLLBACK TO p");
        place.sqlite.execute("RELEASE p");
        assert_eq!(place.count("true"), 2);
    }
}

#[test]
fn settings_are_shared_and_engines_are_made_for_each_request() {
    let place = place_with(&[webhook()]);
    let engine = place.engine().with_settings(Arc::new(Settings {
        action_retries_ms: vec![5],
        ..Settings::default()
    }));
    place.outside.always(URL, answers(500));
    place.event_by(&engine, "round", "e", "go");
    place.run(engine.deliver_claimed());
    assert_eq!(times(&place.outside.taken()), [0, 5]);
}

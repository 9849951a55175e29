//! Claims, leases and what comes too late (S0.46 to S0.49).

use serde_json::json;
use statewright_core::ids::Millis;

use super::{URL, attempts, place_told, place_with, round, times, told, webhook};
use crate::support::START;
use crate::support::outside::{Act, Place, answers, waits};

#[test]
fn s0_48_a_claim_that_nobody_marked_is_presented_again_after_its_lease_with_the_same_id() {
    let place = place_told();
    let engine = place.engine();
    place.event_by(&engine, "round", "e", "go");
    drop(engine);
    for at in [0, 100_000, 299_999] {
        place.clock.set(at);
        let engine = place.engine();
        place
            .run(engine.deliver_due(Millis(START + at + 1), 900))
            .unwrap();
        assert!(place.outside.taken().is_empty(), "it is claimed at {at}");
    }
    place.clock.set(300_000);
    assert_eq!(place.pass().done, 1);
    let received = place.outside.taken();
    assert_eq!(attempts(&received), [2], "the claim counted");
    assert_eq!(json!(received[0].id()), place.row()["event_id"]);
}

#[test]
fn s0_49_claims_that_are_abandoned_count_and_end() {
    for (actions, limit) in [(vec![], 5), (vec![webhook()], 9)] {
        let place = place_with(&actions);
        if actions.is_empty() {
            place.subscribe("s", &told());
        }
        place.event_by(&place.engine(), "round", "e", "go");
        let mut at = 0;
        while place.count("status = 'pending'") == 1 {
            at += 300_000;
            assert!(at < 20 * 300_000);
            place.clock.set(at);
            let engine = place.engine();
            let pass = engine.deliver_due(Millis(START + at + 50_000), 900);
            // It dies as it sends.
            let seen = place.outside.received.borrow().len();
            let mut pass = Box::pin(pass);
            while place.outside.received.borrow().len() == seen {
                if crate::support::outside::step(&place.clock, pass.as_mut()).is_some() {
                    break;
                }
            }
        }
        let row = place.row();
        assert_eq!(row["status"], "dead", "{row}");
        let received = place.outside.taken();
        assert!(received.len() <= limit, "{} presentations", received.len());
        assert!(row["error"].as_str().unwrap().contains("abandoned"), "{row}");
    }
}

#[test]
fn s0_46_a_mark_that_comes_after_its_lease_does_nothing() {
    for act in [answers(200), answers(500), waits(429, "60")] {
        let place = place_with(&[webhook()]);
        place.outside.script(URL, [act.clone()]);
        let slow = place.engine();
        place.event_by(&slow, "round", "e", "go");
        place.event_by(&place.engine(), "round", "e", "go");
        let mut delivery = Box::pin(slow.deliver_claimed());
        while place.outside.received.borrow().is_empty() {
            assert!(crate::support::outside::step(&place.clock, delivery.as_mut()).is_none());
        }
        place.clock.set(300_000);
        // Another claims it, is denied, and so it waits.
        place.outside.script(URL, [waits(429, "600")]);
        assert_eq!(place.pass().denied, 1);
        let before = place.outbox();
        let delivered = loop {
            if let Some(delivered) = crate::support::outside::step(&place.clock, delivery.as_mut()) {
                break delivered;
            }
        };
        assert_eq!(place.outbox(), before, "{act:?}: what came late changed nothing");
        assert_eq!(
            place.outside.received.borrow().len(),
            2,
            "{act:?}: and sent nothing more"
        );
        drop(delivered);
        place.clock.set(900_000);
        assert_eq!(place.pass().done, 2);
    }
}

#[test]
fn design_4_a_host_that_sends_nothing_lets_effects_wait() {
    let world = crate::support::world::World::new();
    crate::support::world::register(&world.engine, &round(&[webhook()]));
    world.event("round", "e", "go", Some(1));
    assert!(!world.engine.has_claimed());
    let place = Place::over(world.sqlite.clone());
    let row = place.row();
    assert_eq!(
        (&row["claimed"], &row["attempt"], &row["due_at"]),
        (&json!(0), &json!(0), &json!(START))
    );
    assert_eq!(place.pass().done, 1);
    assert_eq!(attempts(&place.outside.taken()), [1]);
}

#[test]
fn design_4_what_a_request_sends_begins_within_eight_seconds_and_the_rest_goes_back_uncounted() {
    // Ten of one lane, each answered after three seconds.
    let place = place_with(&[webhook()]);
    place
        .outside
        .always(URL, Act::Answer(3_000, 200, None, String::new()));
    let engine = place.engine();
    for _ in 0..10 {
        place.event_by(&engine, "round", "e", "go");
    }
    let delivered = place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    assert_eq!(times(&received), [0, 3_000, 6_000]);
    assert_eq!(delivered.done, 3);
    assert_eq!(
        place.count("status = 'pending' AND claimed = 0 AND attempt = 0"),
        7
    );
    assert_eq!(place.count("status = 'pending' AND due_at IS NOT NULL"), 1);
    place.passes(20);
    let received = place.outside.taken();
    assert!(received.iter().all(|one| one.attempt() == 1));
    assert_eq!(received.len(), 7);
}

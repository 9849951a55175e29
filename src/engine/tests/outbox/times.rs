//! When an action is sent, and what an answer means (S2.116, S0.50).

use serde_json::{Value, json};
use statewright_core::ids::Millis;

use super::{SentOf, URL, attempts, place_with, times, webhook};
use crate::support::START;
use crate::support::outside::{Act, Received, answers, waits};

#[test]
fn s2_116_an_action_has_four_quick_tries_and_five_slow_ones_and_is_dead_then() {
    let place = place_with(&[webhook()]);
    place.outside.always(URL, answers(500));
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(delivered.failed, 4);
    let mut received = place.outside.taken();
    assert_eq!(times(&received), [0, 500, 1_500, 3_500]);
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["tries"], &row["claimed"]),
        (&json!("pending"), &json!(4), &json!(0))
    );
    assert_eq!(row["attempts"].as_array().unwrap().len(), 4);
    assert_eq!(row["attempts"][3]["status"], 500);
    place.passes(20);
    received.extend(place.outside.taken());
    assert_eq!(attempts(&received), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let ids: std::collections::BTreeSet<String> = received.iter().map(Received::id).collect();
    assert_eq!(ids.len(), 1, "one id over all tries");
    let times = times(&received);
    let mut spread = false;
    for (place, wait) in [300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000]
        .into_iter()
        .enumerate()
    {
        let waited = times[place + 4] - times[place + 3];
        assert!(
            (wait * 4 / 5..=wait * 6 / 5).contains(&waited),
            "{waited} ms, not {wait}"
        );
        spread |= (waited - wait).abs() > wait / 100;
    }
    assert!(spread, "the long waits are spread");
    let row = place.row();
    assert_eq!((&row["status"], &row["due_at"]), (&json!("dead"), &Value::Null));
    assert_eq!(row["finished_at"], START + times[8]);
    assert!(row["error"].as_str().unwrap().contains("500"), "{row}");
    assert_eq!(row["attempts"].as_array().unwrap().len(), 9);
}

#[test]
fn s0_53_what_became_of_each_effect_is_told_for_the_log() {
    let place = place_with(&[webhook()]);
    place.outside.script(URL, [answers(500)]);
    let (_, delivered) = place.event("round", "e", "go");
    let told: Vec<_> = delivered
        .told
        .iter()
        .map(|told| (told.outcome, told.attempt))
        .collect();
    assert_eq!(told, [("failed", 1), ("done", 2)]);
    assert_eq!(json!(delivered.told[0].id), place.row()["id"]);
    assert_eq!(delivered.told[0].tenant, "t1");
    assert!(delivered.told[0].error.as_deref().unwrap().contains("500"));
}

#[test]
fn ruling_3_the_operator_sets_the_waits_between_tries() {
    let place = place_with(&[webhook()]);
    place.settings.borrow_mut().action_retries_ms = vec![200, 700];
    place.outside.always(URL, answers(503));
    place.event("round", "e", "go");
    assert_eq!(
        times(&place.outside.taken()),
        [0, 200, 900],
        "503 alone is no denial"
    );
    assert_eq!(place.row()["status"], "dead");
}

#[test]
fn s2_116_any_2xx_accepts_and_no_redirect_is_followed() {
    for status in [200, 201, 202, 204, 299] {
        let place = place_with(&[webhook()]);
        place.outside.script(URL, [answers(status)]);
        assert_eq!(place.event("round", "e", "go").1.done, 1, "{status}");
    }
    for status in [301, 302, 307, 308, 304, 400, 401, 404, 410, 500] {
        let place = place_with(&[webhook()]);
        place.outside.script(
            URL,
            [Act::Answer(0, status, None, "why\nnot".to_owned()), answers(200)],
        );
        let (_, delivered) = place.event("round", "e", "go");
        assert_eq!((delivered.failed, delivered.done), (1, 1), "{status}");
        assert_eq!(place.outside.taken().len(), 2, "{status}: nothing else is asked");
        let row = place.row();
        assert_eq!(row["attempts"][0]["status"], status);
        assert_eq!(row["attempts"][0]["body"], "why\nnot");
        let error = row["attempts"][0]["error"].as_str().unwrap();
        assert_eq!(
            error.contains("redirect"),
            (300..400).contains(&status),
            "{error}"
        );
    }
}

#[test]
fn s2_116_what_is_not_answered_in_ten_seconds_has_failed_and_waits_for_a_later_pass() {
    let place = place_with(&[webhook()]);
    place.outside.script(URL, [Act::Silence]);
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!((delivered.failed, place.clock.at()), (1, 10_000));
    let row = place.row();
    assert_eq!((&row["status"], &row["tries"]), (&json!("pending"), &json!(1)));
    assert_eq!(row["due_at"], START + 10_500);
    assert!(row["error"].as_str().unwrap().contains("10000"), "{row}");
    place.clock.set(11_000);
    assert_eq!(place.pass().done, 1);
    assert_eq!(attempts(&place.outside.taken()), [1, 2]);
}

#[test]
fn s0_45_an_answer_that_is_lost_is_presented_again_with_the_same_id() {
    let place = place_with(&[webhook()]);
    place.outside.script(URL, [Act::Lost, Act::Unreachable]);
    place.event("round", "e", "go");
    let received = place.outside.taken();
    assert_eq!(attempts(&received), [1, 3]);
    assert_eq!(received[0].id(), received[1].id());
    assert_eq!(received[0].body, received[1].body);
}

#[test]
fn s0_50_denials_wait_as_they_are_asked_to_and_are_not_counted() {
    // The tests begin at 22:13:20 on 14 November 2023.
    let date = "Tue, 14 Nov 2023 22:14:00 GMT";
    for (act, wait) in [
        (waits(429, "120"), 120_000),
        (waits(429, date), 40_000),
        (answers(429), 30_000),
        (waits(429, "soon"), 30_000),
        (waits(429, "0"), 1_000),
        (waits(429, "Tue, 14 Nov 2023 22:13:00 GMT"), 1_000),
        (waits(429, "86400"), 3_600_000),
        (waits(503, "45"), 45_000),
    ] {
        let what = format!("{act:?}");
        let place = place_with(&[webhook()]);
        place.outside.script(URL, [act]);
        let (_, delivered) = place.event("round", "e", "go");
        assert_eq!((delivered.denied, delivered.failed), (1, 0), "{what}");
        let row = place.row();
        assert_eq!(row["due_at"], START + wait, "{what}");
        assert_eq!(
            (&row["attempt"], &row["tries"]),
            (&json!(0), &json!(0)),
            "{what}: it is not counted"
        );
        assert_eq!(row["denied_since"], START, "{what}");
        place.clock.set(wait - 1);
        let engine = place.engine();
        place.run(engine.deliver_due(Millis(START + wait), 900)).unwrap();
        assert_eq!(place.outside.taken().len(), 1, "{what}: not before");
        place.clock.set(wait);
        assert_eq!(place.pass().done, 1, "{what}");
        assert_eq!(
            attempts(&place.outside.taken()),
            [1],
            "{what}: R22, the attempt is as it was"
        );
        assert_eq!(place.row()["denied_since"], Value::Null, "{what}");
    }
}

#[test]
fn s0_50_denials_in_a_row_end_after_seven_days_and_failures_between_begin_them_anew() {
    let day = 86_400_000;
    let place = place_with(&[webhook()]);
    place.outside.always(URL, waits(429, "3600"));
    place.event("round", "e", "go");
    for hour in 1..=7 * 24 {
        place.clock.set(hour * 3_600_000);
        assert_eq!(place.pass().denied, 1, "hour {hour}");
    }
    assert_eq!(
        (place.row()["status"].as_str(), place.clock.at()),
        (Some("pending"), 7 * day)
    );
    place.clock.pass(3_600_000);
    assert_eq!(place.pass().sent_of(), 1);
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["finished_at"]),
        (&json!("dead"), &json!(START + 7 * day + 3_600_000))
    );
    assert!(
        row["attempts"].as_array().unwrap().len() <= 20,
        "the last twenty are kept"
    );

    let place = place_with(&[webhook()]);
    place
        .outside
        .script(URL, [waits(429, "1"), answers(500), waits(429, "1")]);
    place.event("round", "e", "go");
    place.clock.set(1_000);
    place.pass();
    let row = place.row();
    assert_eq!(
        row["denied_since"],
        START + 1_500,
        "the failure ended the row of denials: {row}"
    );
    assert_eq!((&row["attempt"], &row["tries"]), (&json!(1), &json!(1)));
}

//! The operator's event collector (S2.122 to S2.125).

use serde_json::{Value, json};

use super::{URL, place_with, round, text, webhook};
use crate::support::outside::{Act, Place, answers};

const CORE: &str = "http://localhost:3030/ingest";
const TOKEN: &str = "https://platform.example/internal/ingest-tokens";

fn with_platform(place: &Place) {
    place.settings.borrow_mut().platform = Some(("https://platform.example/".to_owned(), "pk".to_owned()));
}

fn event_action() -> Value {
    json!({"type": "event", "event_type": "moved"})
}

#[test]
fn s2_122_s2_123_an_event_goes_to_the_collector_without_a_token_where_there_is_no_platform() {
    let place = place_with(&[event_action()]);
    place.event("round", "e", "go");
    let received = place.outside.taken();
    assert_eq!(received.len(), 1);
    assert_eq!(
        (received[0].url.as_str(), received[0].header("authorization")),
        (CORE, None)
    );
    assert_eq!(
        received[0].json(),
        json!({"event_type": "moved", "params": {"machine_id": "round", "entity_id": "e", "from_state": "off",
            "to_state": "on"}, "raw_payload": null})
    );
    assert_eq!(json!(received[0].id()), place.row()["id"], "S2.121");
}

#[test]
fn s2_124_s2_125_a_token_is_asked_for_once_and_only_when_an_event_is_to_be_sent() {
    let place = place_with(&[webhook()]);
    with_platform(&place);
    place.event("round", "e", "go");
    assert!(
        place.outside.taken().iter().all(|one| one.url == URL),
        "none is needed"
    );
    place.register(&{
        let mut definition = round(&[event_action()]);
        definition["machine_id"] = json!("told");
        definition
    });
    place.outside.always(
        TOKEN,
        Act::Answer(0, 201, None, json!({"token": "tok-1"}).to_string()),
    );
    let engine = place.engine();
    place.event_by(&engine, "told", "e", "go");
    assert!(place.outside.taken().is_empty(), "outside the request");
    place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    assert_eq!(received.len(), 2);
    assert_eq!(
        (received[0].url.as_str(), received[0].header("authorization")),
        (TOKEN, Some("Bearer pk"))
    );
    assert_eq!(received[0].json(), json!({"key_prefix": "t1"}));
    assert_eq!(
        (received[1].url.as_str(), received[1].header("authorization")),
        (CORE, Some("Bearer tok-1"))
    );
    for entity in ["e", "f"] {
        place.event("told", entity, "go");
    }
    let received = place.outside.taken();
    assert!(
        received
            .iter()
            .all(|one| one.url == CORE && one.header("authorization") == Some("Bearer tok-1"))
    );
    let stored = text(&place, "SELECT token FROM ingest_tokens");
    assert!(!stored.contains("tok-1"), "sealed where there is a key");
}

#[test]
fn s2_125_a_token_that_is_not_taken_is_forgotten_and_another_asked_for() {
    let place = place_with(&[event_action()]);
    with_platform(&place);
    let token = |name: &str| Act::Answer(0, 200, None, json!({"token": name}).to_string());
    place.outside.script(TOKEN, [token("old"), token("new")]);
    place.event("round", "e", "go");
    place.outside.taken();
    place.outside.script(CORE, [answers(401)]);
    place.event("round", "e", "go");
    let received = place.outside.taken();
    let seen: Vec<_> = received
        .iter()
        .map(|one| (one.url.as_str(), one.header("authorization").unwrap()))
        .collect();
    assert_eq!(
        seen,
        [(CORE, "Bearer old"), (TOKEN, "Bearer pk"), (CORE, "Bearer new")]
    );
    assert_eq!(place.count("status = 'done'"), 2);
}

#[test]
fn s2_125_no_token_no_event() {
    let place = place_with(&[event_action()]);
    with_platform(&place);
    place.outside.always(TOKEN, answers(500));
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(delivered.failed, 4);
    assert!(place.outside.taken().iter().all(|one| one.url == TOKEN));
    assert!(place.row()["error"].as_str().unwrap().contains("token"));
}

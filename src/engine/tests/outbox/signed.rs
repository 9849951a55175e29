//! Signatures, secrets and addresses (rulings 7 to 9).

use serde_json::{Value, json};
use statewright_core::address::AllowList;
use statewright_engine::signature::sign;

use super::{URL, place_with, round, told, webhook};
use crate::support::outside::{Place, Received, answers};
use crate::support::world::t1;

/// Whether a value is one of those that the secrets sign a request with.
fn signed_by(received: &Received, secret: &str) -> bool {
    let seconds: i64 = received.header("webhook-timestamp").unwrap().parse().unwrap();
    let expected = sign(
        &[secret.to_owned()],
        &received.id(),
        seconds,
        received.body.as_bytes(),
    );
    let given = received.header("webhook-signature").unwrap_or_default();
    given.split(' ').any(|one| one == expected)
}

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

#[test]
fn ruling_9_two_live_secrets_sign_what_is_sent_and_a_secret_that_is_gone_signs_nothing() {
    let place = place_with(&[webhook()]);
    place.event("round", "e", "go");
    let received = place.outside.taken();
    assert_eq!(
        received[0].header("webhook-signature"),
        None,
        "no secret, no signature"
    );
    assert_eq!(received[0].header("webhook-timestamp"), Some("1700000000"));
    place.secret("webhook-signing", OLD);
    place.event("round", "e", "go");
    let one = place.outside.taken().remove(0);
    assert!(signed_by(&one, OLD));
    assert_eq!(one.header("webhook-signature").unwrap().split(' ').count(), 1);
    let body = json!({"value": NEW}).to_string();
    place
        .run(
            place
                .engine()
                .rotate_secret(&t1(), "webhook-signing", body.as_bytes()),
        )
        .unwrap();
    place.event("round", "e", "go");
    let one = place.outside.taken().remove(0);
    assert!(signed_by(&one, OLD) && signed_by(&one, NEW), "both live ones");
    place
        .run(place.engine().delete_previous_secret(&t1(), "webhook-signing"))
        .unwrap();
    place.event("round", "e", "go");
    let one = place.outside.taken().remove(0);
    assert!(!signed_by(&one, OLD) && signed_by(&one, NEW));
}

#[test]
fn ruling_9_each_try_is_signed_with_its_own_time() {
    let place = place_with(&[webhook()]);
    place.secret("webhook-signing", OLD);
    place.outside.script(URL, [answers(500), answers(500)]);
    place.event("round", "e", "go");
    let received = place.outside.taken();
    let stamps: Vec<_> = received
        .iter()
        .map(|one| one.header("webhook-timestamp").unwrap())
        .collect();
    assert_eq!(stamps, ["1700000000", "1700000000", "1700000001"]);
    assert!(received.iter().all(|one| signed_by(one, OLD)));
}

#[test]
fn ruling_7_ruling_9_what_is_not_to_be_signed_is_not_and_a_subscription_names_its_secret() {
    let place = place_with(&[json!({"type": "webhook", "url": URL, "signed": false})]);
    place.secret("webhook-signing", OLD);
    place.secret("theirs", NEW);
    let mut body = told();
    body["sink"]["secret"] = json!("theirs");
    place.subscribe("s", &body);
    place.event("round", "e", "go");
    for one in place.outside.taken() {
        if one.url == URL {
            assert_eq!(one.header("webhook-signature"), None);
            assert!(one.header("webhook-id").is_some());
        } else {
            assert!(signed_by(&one, NEW) && !signed_by(&one, OLD));
        }
    }
}

#[test]
fn ruling_7_a_webhook_is_sent_as_its_action_says() {
    let place = place_with(&[json!({"type": "webhook", "url": URL, "method": "PUT",
        "headers": {"X-Fixed": "f", "Authorization": {"secret": "api", "prefix": "Bearer "}, "Content-Type": "application/x"},
        "body": {"who": {"$from": "/entity_id"}, "by": {"$from": "/event/params/id"}, "none": {"$from": "/context/none"},
            "else": {"$from": "/context/none", "default": [1]}, "v": {"$from": "/state_version"},
            "id": {"$from": "/effect_id"}, "r": {"$from": "/region"}}})]);
    place.secret("api", "s3cr3t");
    place.event("round", "e", "go");
    let one = place.outside.taken().remove(0);
    assert_eq!(one.method, "PUT");
    assert_eq!(one.header("x-fixed"), Some("f"));
    assert_eq!(one.header("authorization"), Some("Bearer s3cr3t"));
    assert_eq!(one.header("content-type"), Some("application/x"));
    assert_eq!(
        one.json(),
        json!({"who": "e", "by": "e", "none": null, "else": [1], "v": 2, "id": place.row()["id"], "r": null})
    );
    assert!(
        !place.sqlite.dump().contains("s3cr3t"),
        "no secret is in a row in the clear"
    );
    assert!(!json!(place.outbox()).to_string().contains("s3cr3t"));
    for method in ["GET", "DELETE"] {
        let place = place_with(&[json!({"type": "webhook", "url": URL, "method": method})]);
        place.secret("webhook-signing", OLD);
        place.event("round", "e", "go");
        let one = place.outside.taken().remove(0);
        assert_eq!((one.method, one.body.as_str()), (method, ""));
        assert!(signed_by(&one, OLD), "the empty body is signed");
    }
}

#[test]
fn ruling_7_a_header_whose_secret_is_missing_fails_and_one_with_control_characters_is_dead() {
    let headers = json!({"authorization": {"secret": "api"}});
    let place = place_with(&[json!({"type": "webhook", "url": URL, "headers": headers})]);
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(delivered.failed, 4);
    assert!(place.row()["error"].as_str().unwrap().contains("`api`"));
    assert!(place.outside.taken().is_empty());
    place.secret("api", "there now");
    place.clock.set(400_000);
    assert_eq!(place.pass().done, 1);
    assert_eq!(
        place.outside.taken()[0].header("authorization"),
        Some("there now")
    );
    place.secret("api", "a\r\nx-more: b");
    assert_eq!(place.event("round", "f", "go").1.dead, 1);
    assert!(place.outside.taken().is_empty());
}

#[test]
fn ruling_9_a_secret_that_cannot_be_opened_sends_nothing_unsigned() {
    let place = place_with(&[webhook()]);
    place.secret("webhook-signing", OLD);
    place.outside.vault.key.set(Some(1));
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!((delivered.failed, delivered.done), (4, 0));
    assert!(place.outside.taken().is_empty());
    place.outside.vault.key.set(Some(0x5a));
    place.clock.set(400_000);
    assert_eq!(place.pass().done, 1);
    assert!(signed_by(&place.outside.taken()[0], OLD));
}

#[test]
fn ruling_8_an_address_that_is_refused_at_delivery_is_dead_with_the_reason() {
    let place = Place::new();
    place.settings.borrow_mut().allow = AllowList::read("localhost:8080,10.1.2.3");
    place.register(&round(&[
        json!({"type": "webhook", "url": "http://localhost:8080/x"}),
    ]));
    let mut body = told();
    body["sink"]["url"] = json!("http://10.1.2.3/y");
    place.subscribe("s", &body);
    assert_eq!(
        place.event("round", "e", "go").1.done,
        2,
        "hosts that the operator allows"
    );
    place.outside.taken();
    place.settings.borrow_mut().allow = AllowList::default();
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!((delivered.dead, delivered.done), (2, 0));
    assert!(place.outside.taken().is_empty());
    let dead: Vec<Value> = place
        .outbox()
        .into_iter()
        .filter(|row| row["status"] == "dead")
        .collect();
    for row in &dead {
        assert!(row["error"].as_str().unwrap().contains("address"), "{row}");
        let id = row["id"].as_str().unwrap();
        place.run(place.engine().redrive(&t1(), id)).unwrap();
    }
    place.settings.borrow_mut().allow = AllowList::read("localhost:8080,10.1.2.3");
    assert_eq!(place.pass().done, 2, "redriven");
}

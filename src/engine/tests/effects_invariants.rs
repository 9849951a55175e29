//! What always holds of effects: a row exactly for what a transition calls for, nothing of another tenant's, and an end
//! for whatever is stored or answered (I7, I9, I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_core::ids::TenantId;
use support::far::Chance;
use support::faults::{Fault, Faulty};
use support::keyed::{ops, served};
use support::order::assert_lanes_are_whole;
use support::outside::{Act, Place, answers};
use support::world::{order, t1};
use support::{tenant, wrongs};

const URL: &str = "https://a.example/";

/// The same definition, which calls for a webhook on entering any of its states.
fn loud(mut definition: Value) -> Value {
    let mut states: Vec<Value> = definition["states"].as_array().cloned().unwrap_or_default();
    for region in definition["regions"].as_array().into_iter().flatten() {
        states.extend(region["states"].as_array().unwrap().iter().cloned());
    }
    let actions: Vec<Value> = states
        .iter()
        .map(|state| json!({"on_enter": state, "action": {"type": "webhook", "url": URL}}))
        .collect();
    definition["actions"] = json!(actions);
    definition
}

/// What must be the same, each as two queries.
fn assert_effects_are_of_transitions(place: &Place, what: &str) {
    let calls = "SELECT coalesce(sum(json_array_length(h.actions)), 0) FROM history h";
    assert_eq!(
        place.number(calls),
        Some(place.count("kind = 'webhook'")),
        "{what}: an effect for each call"
    );
    let told = "SELECT count(*) FROM history WHERE event_type NOT IN ('$sub_cancel', '$sub_resume')";
    assert_eq!(
        place.number(told),
        Some(place.count("kind = 'presentation'")),
        "{what}: a presentation for each transition"
    );
    let by_entity = "SELECT count(*) FROM entities e WHERE (SELECT coalesce(sum(json_array_length(h.actions)), 0) FROM \
        history h WHERE h.uid = e.uid) <> (SELECT count(*) FROM outbox o WHERE o.kind = 'webhook' AND \
        substr(o.lane, 1, length(e.uid) + 1) = e.uid || ':')";
    assert_eq!(
        place.number(by_entity),
        Some(0),
        "{what}: in the lane of who called for it"
    );
    let versions = "SELECT count(*) FROM outbox o JOIN entities e ON o.machine_id = e.machine_id AND o.entity_id = \
        e.entity_id WHERE o.version > e.state_version OR o.version < 1";
    assert_eq!(
        place.number(versions),
        Some(0),
        "{what}: of a version that there was"
    );
}

#[test]
fn i7_whatever_moves_a_tree_there_is_an_effect_for_each_call_and_no_other() {
    for seed in 0..40 {
        let chance = Chance::of(seed);
        let place = Place::new();
        for definition in wrongs::mixed(if seed % 2 == 0 { "resume" } else { "fresh" }) {
            place.register(&loud(definition));
        }
        place.subscribe(
            "s",
            &json!({"source": "machines", "sink": {"type": "webhook", "url": "https://sink.example/"}}),
        );
        let kinds = [
            "go", "drop", "back", "all", "again", "step", "stop", "finish", "note", "start", "picked",
            "packed",
        ];
        for turn in 0..30 {
            let faulty = Faulty::new(place.sqlite.clone());
            let engine = place.engine_on(&faulty);
            if chance.below(4) == 0 {
                let batch = usize::try_from(chance.below(3)).unwrap();
                let fault = match chance.below(3) {
                    0 => Fault::Before,
                    1 => Fault::After,
                    _ => Fault::Stray,
                };
                faulty.arm([(batch, fault)]);
            }
            match chance.below(6) {
                0 => {
                    place.clock.pass(12_000);
                    drop(place.run(engine.tick()));
                }
                1 => {
                    let events: Vec<Value> = (0..6)
                        .map(|_| {
                            let kind = kinds[usize::try_from(chance.below(12)).unwrap()];
                            json!({"event_type": kind, "entity_key": "id", "params": {"id": format!("e{}", chance.below(3))}})
                        })
                        .collect();
                    let body = json!({ "events": events }).to_string();
                    drop(place.run(engine.evaluate_batch(Some(&t1()), "root", body.as_bytes())));
                }
                _ => {
                    let kind = kinds[usize::try_from(chance.below(12)).unwrap()];
                    let body = json!({"event_type": kind, "entity_key": "id", "params": {"id": format!("e{}", chance.below(3))}});
                    drop(place.run(engine.evaluate(Some(&t1()), "root", body.to_string().as_bytes())));
                }
            }
            if chance.below(2) == 0 {
                place.run(engine.deliver_claimed());
            }
            faulty.land();
            assert_effects_are_of_transitions(&place, &format!("seed {seed}, turn {turn}"));
        }
        assert_lanes_are_whole(&place, &format!("seed {seed}"));
        place.clock.pass(300_000);
        place.passes(30);
        assert_eq!(place.count("status <> 'done'"), 0, "seed {seed}");
    }
}

/// What is stored of a tenant.
fn rows_of(place: &Place, tenant: &str) -> Vec<String> {
    let mark = format!("Text(\"{tenant}\")");
    let dump = place.sqlite.dump();
    dump.lines()
        .filter(|line| line.contains(&mark))
        .map(str::to_owned)
        .collect()
}

/// Everything that a tenant may have, under the names that the other one's has.
fn furnish(place: &Place, who: &TenantId) {
    let action = json!({"type": "webhook", "url": URL});
    let event = json!({"type": "event", "event_type": "moved"});
    let mut definition = order();
    definition["actions"] =
        json!([{"on_enter": "paid", "action": action}, {"on_enter": "paid", "action": event}]);
    let run = |what: &str, outcome: bool| assert!(outcome, "{what}");
    run(
        "a machine",
        place
            .run(
                place
                    .engine()
                    .create_machine(who, definition.to_string().as_bytes()),
            )
            .is_ok(),
    );
    let secret = json!({"value": format!("secret of {}", who.as_str())}).to_string();
    for name in ["k", "webhook-signing"] {
        run(
            "a secret",
            place
                .run(place.engine().put_secret(who, name, secret.as_bytes()))
                .is_ok(),
        );
    }
    for source in ["machines", "records"] {
        let body = json!({"source": source, "sink": {"type": "webhook", "url": "https://sink.example/"}})
            .to_string();
        run(
            "a subscription",
            place
                .run(place.engine().put_subscription(who, source, body.as_bytes()))
                .is_ok(),
        );
    }
    let body = json!({"machine": "m", "id": "r", "state": "a"}).to_string();
    run(
        "a record",
        place
            .run(place.engine().create_record(who, body.as_bytes()))
            .is_ok(),
    );
    let body = json!({"event_type": "pay", "entity_key": "id", "params": {"id": "e"}}).to_string();
    run(
        "an event",
        place
            .run(place.engine().evaluate(Some(who), "order", body.as_bytes()))
            .is_ok(),
    );
}

#[test]
fn i9_no_operation_with_a_key_touches_what_another_tenant_has() {
    for op in ops() {
        let place = op.place();
        furnish(&place, &tenant("t2"));
        let before = rows_of(&place, "t2");
        assert!(before.len() > 8, "{before:#?}");
        let faulty = Faulty::new(place.sqlite.clone());
        let body = op.bytes();
        let engine = op.engine(&place, &faulty, Some("k"), &body);
        let told = place.run(async {
            let outcome = (op.run)(&engine, body.clone()).await;
            let told = served(&engine, outcome).await;
            engine.deliver_claimed().await;
            told
        });
        assert!((200..300).contains(&told.status), "{}: {told:?}", op.name);
        assert_eq!(rows_of(&place, "t2"), before, "{}", op.name);
        let received = place.outside.taken();
        assert!(
            received.iter().all(|one| !one.body.contains("t2")),
            "{}: nothing of another's is sent",
            op.name
        );
    }
}

#[test]
fn i9_each_tenants_effects_go_with_its_own_secrets_and_tokens() {
    let place = Place::new();
    place.settings.borrow_mut().platform = Some(("https://platform.example".to_owned(), "key".to_owned()));
    let tokens = "https://platform.example/internal/ingest-tokens";
    for name in ["one", "two"] {
        let token = json!({ "token": name }).to_string();
        place.outside.script(tokens, [Act::Answer(0, 200, None, token)]);
    }
    for who in ["t1", "t2"] {
        furnish(&place, &tenant(who));
    }
    place.clock.pass(300_000);
    place.pass();
    let received = place.outside.taken();
    let of = |url: &str| received.iter().filter(|one| one.url == url).collect::<Vec<_>>();
    assert_eq!((of(tokens).len(), of(URL).len()), (2, 2));
    for one in of(URL) {
        let who = one.json()["tenant_id"].as_str().unwrap().to_owned();
        let seconds: i64 = one.header("webhook-timestamp").unwrap().parse().unwrap();
        let secret = format!("secret of {who}");
        let expected =
            statewright_engine::signature::sign(&[secret], &one.id(), seconds, one.body.as_bytes());
        assert_eq!(one.header("webhook-signature"), Some(expected.as_str()), "{who}");
    }
    let asked: Vec<String> = of(tokens)
        .iter()
        .map(|one| one.json()["key_prefix"].to_string())
        .collect();
    assert!(
        asked.contains(&"\"t1\"".to_owned()) && asked.contains(&"\"t2\"".to_owned()),
        "{asked:?}"
    );
    let sent = of("http://localhost:3030/ingest");
    let mut bearers: Vec<_> = sent
        .iter()
        .map(|one| one.header("authorization").unwrap())
        .collect();
    bearers.sort_unstable();
    assert_eq!(bearers, ["Bearer one", "Bearer two"]);
}

#[test]
fn i10_what_is_stored_and_cannot_be_read_is_dead_with_the_reason_and_holds_nobody_up() {
    for broken in [
        "nonsense",
        "{}",
        "[]",
        "null",
        "{\"kind\":\"webhook\"}",
        "{\"kind\":\"webhook\",\"url\":5}",
        "{\"kind\":\"transition\",\"machine_id\":\"\",\"entity_id\":\"\",\"event_type\":\"go\",\"params\":{}}",
        "{\"kind\":\"unheard of\"}",
    ] {
        for kind in ["webhook", "presentation"] {
            let place = Place::new();
            furnish(&place, &t1());
            place.clock.pass(300_000);
            let connection = place.sqlite.connection.borrow();
            let changed = connection
                .execute("UPDATE outbox SET effect = ?1 WHERE kind = ?2", [broken, kind])
                .unwrap();
            drop(connection);
            let skipped = place.count("status = 'skipped'");
            assert!(changed > 0);
            place.passes(12);
            let what = format!("{kind} {broken}");
            assert_eq!(place.count("status = 'pending'"), 0, "{what}");
            assert_eq!(
                place.count(&format!("kind = '{kind}' AND status = 'dead' AND error IS NULL")),
                0,
                "{what}"
            );
            assert_eq!(
                place.count(&format!("kind <> '{kind}' AND status NOT IN ('done', 'skipped')")),
                0,
                "{what}: the others went"
            );
            assert_eq!(place.count("status = 'skipped'"), skipped, "{what}");
        }
    }
}

#[test]
fn i10_any_answer_is_an_acceptance_a_denial_or_a_failure() {
    let odd = "\u{0}\u{1}\n\u{feff}😀\"\\{}".repeat(300);
    for status in [
        100, 199, 200, 206, 299, 300, 399, 400, 418, 429, 500, 503, 599, 999,
    ] {
        for retry_after in [
            None,
            Some(""),
            Some("-1"),
            Some("1e9"),
            Some("99999999999999999999999"),
            Some("Mon"),
            Some("\u{1}"),
        ] {
            let place = Place::new();
            let mut definition = order();
            definition["actions"] = json!([{"on_enter": "paid", "action": {"type": "webhook", "url": URL}}]);
            place.register(&definition);
            place.settings.borrow_mut().action_retries_ms = vec![10];
            let act = Act::Answer(0, status, retry_after.map(str::to_owned), odd.clone());
            place.outside.script(URL, [act.clone(), act]);
            let (_, delivered) = place.event("order", "e", "pay");
            let what = format!("{status} {retry_after:?}: {delivered:?}");
            match status {
                200..300 => assert_eq!(delivered.done, 1, "{what}"),
                429 => assert_eq!(delivered.denied, 1, "{what}"),
                503 if delivered.denied == 1 => assert!(retry_after.is_some(), "{what}"),
                _ => assert_eq!(place.row()["status"], "dead", "{what}"),
            }
            let row = place.row();
            for entry in row["attempts"].as_array().unwrap() {
                assert!(
                    entry["body"].as_str().is_none_or(|body| body.len() <= 1024),
                    "{what}"
                );
            }
            place.outside.always(URL, answers(200));
            place.passes(3);
            assert_eq!(place.count("status = 'pending'"), 0, "{what}");
        }
    }
}

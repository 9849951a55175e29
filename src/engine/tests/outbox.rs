//! Effects from the commit to the receiver: what is written with a transition, when it is sent, what an answer means, and
//! what becomes of it (design 4, I3, I7; S0.30 to S0.53, S2.110 to S2.126).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use statewright_core::address::AllowList;
use statewright_core::ids::Millis;
use statewright_engine::settings::Settings;
use statewright_engine::signature::sign;
use support::families::path;
use support::outside::{Act, Outside, Place, Received, answers, waits};
use support::world::t1;
use support::{START, tenant};

const URL: &str = "https://a.example/hook";
const SINK: &str = "https://sink.example/told";

/// A machine that goes round, and calls for these actions on entering `on`.
fn round(actions: &[Value]) -> Value {
    let actions: Vec<Value> = actions
        .iter()
        .map(|action| json!({"on_enter": "on", "action": action}))
        .collect();
    json!({"machine_id": "round", "states": ["off", "on"], "initial_state": "off", "actions": actions, "transitions": [
        {"from": "off", "to": "on", "on": "go"}, {"from": "on", "to": "on", "on": "go"},
        {"from": "on", "to": "off", "on": "back"}]})
}

fn webhook() -> Value {
    json!({"type": "webhook", "url": URL})
}

fn place_with(actions: &[Value]) -> Place {
    let place = Place::new();
    place.register(&round(actions));
    place
}

/// A place where a subscription `s` is told of the machines' transitions.
fn place_told() -> Place {
    let place = place_with(&[]);
    place.subscribe("s", &told());
    place
}

fn told() -> Value {
    json!({"source": "machines", "sink": {"type": "webhook", "url": SINK}})
}

fn times(received: &[Received]) -> Vec<i64> {
    received.iter().map(|one| one.at).collect()
}

fn attempts(received: &[Received]) -> Vec<u64> {
    received.iter().map(Received::attempt).collect()
}

fn text(place: &Place, sql: &str) -> String {
    let connection = place.sqlite.connection.borrow();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

// What is written.

#[test]
fn i7_s2_115_an_action_is_a_row_of_its_transition_and_is_sent_after_it() {
    let place = place_with(&[webhook()]);
    let engine = place.engine();
    let answer = place.event_by(&engine, "round", "e", "go");
    assert_eq!(answer["state_version"], 2);
    let row = place.row();
    let commit = text(&place, "SELECT commit_id FROM history");
    let uid = text(&place, "SELECT uid FROM entities");
    let id = row["id"].as_str().unwrap().to_owned();
    // Nine characters of time in base 32, the commit's name, the number within it (ruling 1).
    let time = i64::from_str_radix(&id[..9], 32).unwrap();
    assert_eq!((time, &id[9..]), (START, format!("{commit}.0").as_str()));
    assert_eq!(row["event_id"], row["id"]);
    for (column, value) in [
        ("tenant", json!("t1")),
        ("kind", json!("webhook")),
        ("status", json!("pending")),
        ("version", json!(2)),
        ("sink", json!("t1\nhttps://a.example")),
        ("target", json!(URL)),
        ("machine", json!("round")),
        ("entity", json!("e")),
        ("subscription", Value::Null),
        ("claimed", json!(1)),
        ("attempt", json!(1)),
        ("tries", json!(1)),
        ("claim", json!(1)),
        ("held", json!(0)),
        ("due_at", json!(START + 300_000)),
        ("created_at", json!(START)),
        ("finished_at", Value::Null),
        ("attempts", json!([])),
        ("error", Value::Null),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert!(
        row["lane"].as_str().unwrap().starts_with(&format!("{uid}:")),
        "{row}"
    );
    assert!(
        place.outside.taken().is_empty(),
        "nothing is sent before the answer"
    );
    assert!(engine.has_claimed());
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!((delivered.done, delivered.failed, delivered.more), (1, 0, false));
    assert!(!engine.has_claimed());
    let received = place.outside.taken();
    assert_eq!(received.len(), 1);
    let one = &received[0];
    assert_eq!((one.method, one.url.as_str()), ("POST", URL));
    assert_eq!((one.id(), one.attempt()), (id, 1));
    assert_eq!(one.header("content-type"), Some("application/json"));
    assert_eq!(
        one.json(),
        json!({"tenant_id": "t1", "machine_id": "round", "entity_id": "e", "from_state": "off", "to_state": "on"}),
        "S2.122"
    );
    let row = place.row();
    assert_eq!((&row["status"], &row["due_at"]), (&json!("done"), &Value::Null));
    assert_eq!((&row["finished_at"], &row["claimed"]), (&json!(START), &json!(0)));
    assert_eq!(row["attempts"][0]["status"], 200);
    assert_eq!(row["attempts"][0]["attempt"], 1);
    assert_eq!(row["attempts"][0]["at"], START);
}

#[test]
fn s2_117_s2_118_what_moves_nothing_or_is_not_to_dispatch_writes_no_row() {
    let place = place_with(&[webhook()]);
    place.subscribe("s", &told());
    let evaluate = |body: Value| {
        let engine = place.engine();
        let answer = place.run(engine.evaluate(Some(&t1()), "round", body.to_string().as_bytes()));
        place.run(engine.deliver_claimed());
        json!(answer.unwrap())
    };
    let event = |kind: &str, more: Value| {
        let mut body = json!({"event_type": kind, "entity_key": "id", "params": {"id": "e"}, "timestamp": 5});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "round", body.as_bytes()))
        .unwrap();
    assert_eq!(place.count("true"), 0, "creation");
    evaluate(event("none", json!({})));
    assert_eq!(place.count("true"), 0, "no transition");
    let dry = evaluate(event("go", json!({"dry_run": true})));
    assert_eq!(
        dry["actions_dispatched"][0]["url"], URL,
        "a dry run tells of actions"
    );
    assert_eq!(place.count("true"), 0, "a dry run");
    let quiet = evaluate(event("go", json!({"dispatch": false})));
    assert_eq!(
        (&quiet["state_version"], &quiet["actions_dispatched"][0]["url"]),
        (&json!(2), &json!(URL))
    );
    assert_eq!(
        place.count("true"),
        0,
        "dispatch: false, neither actions nor presentations"
    );
    let again = evaluate(event("go", json!({})));
    assert_eq!(again["reason"], "duplicate event (already processed)");
    assert_eq!(place.count("true"), 0, "a duplicate");
    evaluate(event("go", json!({"timestamp": 6})));
    assert_eq!(place.count("true"), 2, "an action and a presentation");
    evaluate(event("go", json!({"timestamp": 6})));
    assert_eq!(place.count("true"), 2);
    assert_eq!(place.outside.taken().len(), 2);
}

#[test]
fn i7_a_refused_event_writes_no_row() {
    let place = place_with(&[webhook()]);
    let body = json!({"event_type": "go", "entity_key": "id", "params": {"id": "e"}, "expected_version": 7});
    let engine = place.engine();
    let outcome = place.run(engine.evaluate(Some(&t1()), "round", body.to_string().as_bytes()));
    assert_eq!(outcome.unwrap_err().status(), 409);
    assert_eq!(place.count("true"), 0);
}

/// Two regions that join; a timeout fires the join.
fn joined() -> Value {
    json!({"machine_id": "joined", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y"], "initial_state": "x"}],
        "transitions": [
            {"region": "a", "from": "idle", "to": "on", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"region": "b", "from": "y", "to": "y", "on": "note"}],
        "actions": [{"on_enter": "on", "region": "a", "action": {"type": "webhook", "url": "https://a.example/timeout"}},
            {"on_enter": "x", "region": "b", "action": {"type": "webhook", "url": "https://a.example/never"}}],
        "joins": [{"when": {"a": "on"}, "target_region": "b", "target_state": "y",
            "actions": [{"type": "webhook", "url": "https://a.example/joined"}]}]})
}

#[test]
fn m12_s2_112_s2_113_timeouts_and_their_joins_call_for_their_actions_whoever_finds_them_due() {
    for by_scanner in [true, false] {
        let place = Place::new();
        place.register(&joined());
        let body = json!({"entity_id": "e"}).to_string();
        place
            .run(place.engine().create_entity(&t1(), "joined", body.as_bytes()))
            .unwrap();
        place.clock.set(15_000);
        let engine = place.engine();
        if by_scanner {
            assert_eq!(place.run(engine.tick()).unwrap().fired, 1);
            // What the pass wrote is claimed for it.
            let until = Millis(START + 60_000);
            assert_eq!(place.run(engine.deliver_due(until, 900)).unwrap().done, 2);
        } else {
            // The event is not to dispatch; the timeouts before it are (ruling 4).
            let body =
                json!({"event_type": "note", "entity_key": "id", "params": {"id": "e"}, "dispatch": false});
            place
                .run(engine.evaluate(Some(&t1()), "joined", body.to_string().as_bytes()))
                .unwrap();
            assert_eq!(place.run(engine.deliver_claimed()).done, 2);
        }
        let received = place.outside.taken();
        let mut urls: Vec<&str> = received.iter().map(|one| one.url.as_str()).collect();
        urls.sort_unstable();
        assert_eq!(urls, ["https://a.example/joined", "https://a.example/timeout"]);
        assert_eq!(
            place.count("status = 'done' AND version = 2"),
            2,
            "one commit, one version"
        );
        assert_eq!(place.pass().done, 0);
    }
}

#[test]
fn s2_112_an_action_without_a_region_fires_in_any_and_one_with_a_region_in_it_alone() {
    let place = Place::new();
    let region = |id: &str| json!({"id": id, "states": ["off", "on"], "initial_state": "off"});
    let turn = |id: &str| json!({"region": id, "from": "off", "to": "on", "on": format!("go_{id}")});
    place.register(
        &json!({"machine_id": "two", "regions": [region("a"), region("b")],
        "transitions": [turn("a"), turn("b")],
        "actions": [{"on_enter": "on", "action": {"type": "webhook", "url": "https://a.example/any"}},
            {"on_enter": "on", "region": "b", "action": {"type": "webhook", "url": "https://a.example/b"}}]}),
    );
    let urls = |kind: &str| {
        place.event("two", "e", kind);
        let mut urls: Vec<String> = place.outside.taken().into_iter().map(|one| one.url).collect();
        urls.sort();
        urls
    };
    assert_eq!(urls("go_a"), ["https://a.example/any"]);
    assert_eq!(urls("go_b"), ["https://a.example/any", "https://a.example/b"]);
}

#[test]
fn s2_111_a_self_transition_enters_its_state_again() {
    let place = place_with(&[webhook()]);
    place.event("round", "e", "go");
    place.event("round", "e", "go");
    assert_eq!(place.outside.taken().len(), 2);
    place.event("round", "e", "back");
    assert_eq!(place.outside.taken().len(), 0);
}

#[test]
fn i7_a_childs_rows_call_for_its_own_actions_in_its_own_lane() {
    let place = Place::new();
    place.register(
        &json!({"machine_id": "child", "states": ["a", "done"], "initial_state": "a",
        "transitions": [{"from": "a", "to": "done", "on": "finish"}],
        "actions": [{"on_enter": "done", "action": webhook()}]}),
    );
    place.register(&json!({"machine_id": "parent", "states": ["busy", "over"], "initial_state": "busy",
        "transitions": [], "actions": [{"on_enter": "over", "action": webhook()}],
        "sub_machines": {"busy": {"machine_id": "child", "lifecycle": "managed", "on_final": {"done": "over"}}}}));
    place.subscribe("s", &told());
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "parent", body.as_bytes()))
        .unwrap();
    assert_eq!(place.count("true"), 0, "a managed start makes no transition (R4)");
    let event = json!({"event_type": "finish", "entity_key": "id", "params": {"id": "e"},
        "target": [{"region": "_", "state": "busy"}]});
    let engine = place.engine();
    place
        .run(engine.evaluate(Some(&t1()), "parent", event.to_string().as_bytes()))
        .unwrap();
    let _ = path;
    let rows = place.outbox();
    let seen: Vec<(String, String)> = rows
        .iter()
        .map(|row| {
            (
                row["kind"].as_str().unwrap().to_owned(),
                row["entity"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(rows.len(), 4, "{seen:?}");
    for kind in ["webhook", "presentation"] {
        for entity in ["e", "e::sub::busy"] {
            assert!(seen.contains(&(kind.to_owned(), entity.to_owned())), "{seen:?}");
        }
    }
    let lanes: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["lane"].as_str().unwrap()).collect();
    assert_eq!(lanes.len(), 4, "each incarnation and sink is a lane of its own");
    assert_eq!(place.run(engine.deliver_claimed()).done, 4);
}

#[test]
fn i7_all_kinds_of_effects_of_one_commit_have_ids_in_order() {
    let place = place_with(&[
        webhook(),
        json!({"type": "event", "event_type": "moved"}),
        json!({"type": "transition", "machine_id": "round", "entity_id": "other", "event_type": "back"}),
    ]);
    place.subscribe("s", &told());
    place.subscribe(
        "q",
        &json!({"source": "machines", "sink": {"type": "queue", "binding": "Q"}}),
    );
    place
        .outside
        .queues
        .borrow_mut()
        .insert("Q".to_owned(), Vec::new());
    let engine = place.engine();
    place.event_by(&engine, "round", "e", "go");
    let commit = text(&place, "SELECT commit_id FROM history");
    let rows = place.outbox();
    let mut kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["event", "presentation", "presentation", "transition", "webhook"]
    );
    for row in &rows {
        let (id, event_id) = (row["id"].as_str().unwrap(), row["event_id"].as_str().unwrap());
        assert!(event_id[9..].starts_with(&format!("{commit}.")), "{id}");
        if row["kind"] == "presentation" {
            assert_eq!(
                id,
                format!("{event_id}~{}", row["subscription"].as_str().unwrap())
            );
        } else {
            assert_eq!(id, event_id);
        }
    }
    let of = |kind: &str, column: &str| -> Vec<String> {
        let those = rows.iter().filter(|row| row["kind"] == kind);
        those
            .map(|row| row[column].as_str().unwrap().to_owned())
            .collect()
    };
    let events = of("presentation", "event_id");
    assert_eq!(
        events[0], events[1],
        "one transition is one event for all who are told"
    );
    assert!(of("webhook", "id") < of("event", "id"));
    assert!(of("event", "id") < of("transition", "id"));
    assert_eq!(of("event", "sink"), ["t1\nevent"]);
    assert_eq!(of("transition", "target"), ["round/other"]);
    assert_eq!(place.run(engine.deliver_claimed()).done, 5);
    assert_eq!(place.outside.queues.borrow()["Q"].len(), 1);
}

#[test]
fn ruling_11_a_subscription_is_told_of_what_its_filter_names() {
    let cases = [
        (json!({}), true, "everything"),
        (json!({"machine": "round"}), true, "its machine"),
        (json!({"machine": "other"}), false, "another machine"),
        (
            json!({"from": "off", "to": "on", "event": "go"}),
            true,
            "all of it",
        ),
        (json!({"from": "on"}), false, "another state before"),
        (json!({"to": "off"}), false, "another state after"),
        (json!({"event": "back"}), false, "another event"),
        (json!({"source": "records"}), false, "records"),
    ];
    for (filter, is_told, what) in cases {
        let place = place_with(&[]);
        let mut body = told();
        for (key, value) in filter.as_object().unwrap() {
            body[key] = value.clone();
        }
        place.subscribe("s", &body);
        // Another tenant's is told of nothing of this one's (I9).
        let all = told().to_string();
        place
            .run(
                place
                    .engine()
                    .put_subscription(&tenant("t2"), "s", all.as_bytes()),
            )
            .unwrap();
        place.event("round", "e", "go");
        assert_eq!(place.outside.taken().len(), usize::from(is_told), "{what}");
        assert_eq!(
            place.count("true"),
            i64::from(is_told),
            "{what}: no row where nobody is told"
        );
    }
}

#[test]
fn s0_30_s0_51_a_records_transition_without_subscribers_is_skipped_and_never_told() {
    let place = Place::new();
    place.record("r");
    assert_eq!(place.count("true"), 0, "a creation is no transition");
    let engine = place.engine();
    let answer = place.move_by(&engine, "r", "a", 1, "b");
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["kind"]),
        (&json!("skipped"), &json!("presentation"))
    );
    assert_eq!(
        (&row["id"], &row["event_id"]),
        (&answer["event_id"], &answer["event_id"])
    );
    assert_eq!(
        (&row["finished_at"], &row["subscription"]),
        (&json!(START), &Value::Null)
    );
    assert!(!engine.has_claimed());
    let mut body = told();
    body["source"] = json!("records");
    place.subscribe("s", &body);
    assert_eq!(place.pass().done, 0);
    assert!(place.outside.taken().is_empty(), "never replayed");
    let engine = place.engine();
    place.move_by(&engine, "r", "b", 2, "b");
    assert_eq!(
        place.run(engine.deliver_claimed()).done,
        1,
        "S0.25: from and to may be one"
    );
    assert_eq!(place.outside.taken()[0].json()["data"]["version"], 3);
}

// When it is sent.

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

/// What a pass sent.
trait SentOf {
    fn sent_of(&self) -> usize;
}

impl SentOf for statewright_engine::outbox::Delivered {
    fn sent_of(&self) -> usize {
        self.done + self.failed + self.denied + self.dead
    }
}

// Presentations.

#[test]
fn s0_32_to_s0_41_a_presentation_tells_of_its_transition() {
    let place = place_told();
    let origin = statewright_engine::once::Origin {
        source: "api".to_owned(),
        stack: "POST /api/machines/{machine_id}/evaluate".to_owned(),
        trace: "req-1".to_owned(),
        run: Some("run-7".to_owned()),
        hops: 0,
    };
    place.settings.borrow_mut().node = "here".to_owned();
    place.clock.set(250);
    let engine = place.engine().caused_by(origin);
    place.event_by(&engine, "round", "e", "go");
    place.clock.set(1_250);
    place.outside.script(SINK, [answers(500)]);
    place.run(engine.deliver_claimed());
    let received = place.outside.taken();
    let event_id = place.row()["event_id"].clone();
    assert_eq!(
        received[0].json(),
        json!({"type": "machine.transition", "timestamp": "2023-11-14T22:13:20.250Z", "data": {
            "machine": "round", "id": "e", "from": "off", "to": "on", "version": 2, "event_id": event_id, "attempt": 1,
            "cause": {"source": "api", "stack": "POST /api/machines/{machine_id}/evaluate", "trace": "req-1", "run": "run-7"},
            "committed_at": "2023-11-14T22:13:20.250Z", "fired_at": "2023-11-14T22:13:21.250Z", "tenant": "t1",
            "node": "here", "event_type": "go"}})
    );
    assert_eq!(json!(received[0].id()), event_id, "ruling 1");
    let second = received[1].json();
    assert_eq!(
        (&second["data"]["attempt"], &second["data"]["event_id"]),
        (&json!(2), &event_id)
    );
    assert_eq!(second["data"]["committed_at"], "2023-11-14T22:13:20.250Z");
    assert_eq!(
        second["data"]["fired_at"], "2023-11-14T22:13:22.250Z",
        "after a second"
    );
    assert_eq!(second["data"]["cause"], received[0].json()["data"]["cause"]);
}

#[test]
fn s0_33_s0_37_timeouts_and_regions_are_told() {
    let place = Place::new();
    place.register(&joined());
    place.subscribe("s", &told());
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "joined", body.as_bytes()))
        .unwrap();
    place.clock.set(15_000);
    let engine = place.engine();
    place.run(engine.tick()).unwrap();
    place
        .run(engine.deliver_due(Millis(START + 60_000), 900))
        .unwrap();
    let received = place.outside.taken();
    let told: Vec<Value> = received
        .iter()
        .filter(|one| one.url == SINK)
        .map(|one| one.json()["data"].clone())
        .collect();
    assert_eq!(told.len(), 2, "the timeout and the join");
    assert_eq!(
        (&told[0]["region"], &told[0]["event_type"]),
        (&json!("a"), &json!("$timeout"))
    );
    assert_eq!(
        (&told[1]["region"], &told[1]["event_type"]),
        (&json!("b"), &json!("$join"))
    );
    assert_eq!((&told[1]["from"], &told[1]["to"]), (&json!("x"), &json!("y")));
    for one in &told {
        assert_eq!(
            (&one["cause"]["source"], &one["cause"]["stack"]),
            (&json!("timer"), &json!("tick"))
        );
        assert!(one["cause"].get("run").is_none());
        assert_eq!(one["version"], 2);
    }
    assert_ne!(told[0]["event_id"], told[1]["event_id"]);
}

#[test]
fn s0_49_a_presentation_has_five_attempts_and_is_dead_then() {
    let place = place_told();
    place.outside.always(SINK, answers(500));
    place.event("round", "e", "go");
    place.passes(10);
    let received = place.outside.taken();
    assert_eq!(attempts(&received), [1, 2, 3, 4, 5]);
    assert_eq!(
        times(&received),
        [0, 1_000, 6_000, 36_000, 156_000],
        "1, 5, 30, 120 s"
    );
    assert_eq!(place.row()["status"], "dead");

    let place = place_told();
    place.settings.borrow_mut().most_presentations = 2;
    place.outside.always(SINK, answers(500));
    place.event("round", "e", "go");
    place.passes(10);
    assert_eq!(attempts(&place.outside.taken()), [1, 2], "STATE_MAX_ATTEMPTS");
}

#[test]
fn s0_44_s0_58_a_presentation_is_accepted_in_time_or_presented_again() {
    // 20 s within a request, the accept timeout in a pass.
    for (accept, within, beyond) in [(30_000, 20_000, 30_000), (12_000, 12_000, 12_000)] {
        let place = place_told();
        place.settings.borrow_mut().accept_timeout_ms = accept;
        place.outside.script(SINK, [Act::Silence, Act::Silence]);
        place.event("round", "e", "go");
        assert_eq!(place.clock.at(), within);
        place.clock.set(40_000);
        let engine = place.engine();
        place
            .run(engine.deliver_due(Millis(START + 41_000), 900))
            .unwrap();
        assert_eq!(place.clock.at(), 40_000 + beyond);
        place.clock.set(80_000);
        place.pass();
        assert_eq!(attempts(&place.outside.taken()), [1, 2, 3]);
        assert_eq!(place.row()["status"], "done");
    }
}

#[test]
fn ruling_2_suspended_subscriptions_hold_what_there_is_to_tell_until_they_are_active() {
    let suspended = |active: bool| {
        let mut body = told();
        body["active"] = json!(active);
        body
    };
    // Suspended before the commit, or between the commit and the delivery.
    for before in [true, false] {
        let place = place_told();
        if before {
            place.subscribe("s", &suspended(false));
        }
        let engine = place.engine();
        place.event_by(&engine, "round", "e", "go");
        if !before {
            place.subscribe("s", &suspended(false));
        }
        place.event_by(&place.engine(), "round", "e", "go");
        let delivered = place.run(engine.deliver_claimed());
        assert_eq!((delivered.held, delivered.failed), (usize::from(!before), 0));
        assert!(place.outside.taken().is_empty());
        let rows = place.outbox();
        assert_eq!(
            (&rows[0]["held"], &rows[0]["due_at"]),
            (&json!(1), &Value::Null),
            "{rows:#?}"
        );
        assert_eq!(
            (&rows[0]["attempt"], &rows[0]["tries"]),
            (&json!(0), &json!(0)),
            "uncounted"
        );
        place.clock.set(400_000);
        assert_eq!(
            place.pass(),
            statewright_engine::outbox::Delivered {
                statements: place.pass().statements,
                ..Default::default()
            }
        );
        place.subscribe("s", &suspended(true));
        place.pass();
        let received = place.outside.taken();
        let versions: Vec<Value> = received
            .iter()
            .map(|one| one.json()["data"]["version"].clone())
            .collect();
        assert_eq!(versions, [2, 3], "in order");
        assert_eq!(attempts(&received), [1, 1]);
        assert_eq!(place.count("status = 'done'"), 2);
    }
}

#[test]
fn s0_51_a_presentation_whose_subscription_is_gone_is_skipped_and_never_told() {
    let place = place_told();
    let engine = place.engine();
    place.event_by(&engine, "round", "e", "go");
    place.event_by(&place.engine(), "round", "e", "go");
    place.run(place.engine().delete_subscription(&t1(), "s")).unwrap();
    let delivered = place.run(engine.deliver_claimed());
    assert_eq!(
        delivered.skipped, 2,
        "what is queued behind it too: {delivered:?}"
    );
    assert!(place.outside.taken().is_empty());
    assert_eq!(place.count("status = 'skipped' AND finished_at IS NOT NULL"), 2);
    place.subscribe("s", &told());
    place.clock.set(400_000);
    place.pass();
    assert!(place.outside.taken().is_empty());
}

#[test]
fn ruling_11_a_queue_gets_the_same_document() {
    let place = place_with(&[]);
    place.subscribe(
        "q",
        &json!({"source": "machines", "sink": {"type": "queue", "binding": "Q"}}),
    );
    let (_, delivered) = place.event("round", "e", "go");
    assert_eq!(
        (delivered.failed, delivered.done),
        (place.row()["tries"].as_u64().unwrap() as usize, 0)
    );
    assert!(place.row()["error"].as_str().unwrap().contains('Q'));
    place
        .outside
        .queues
        .borrow_mut()
        .insert("Q".to_owned(), Vec::new());
    place.passes(5);
    let message: Value = serde_json::from_str(&place.outside.queues.borrow()["Q"][0]).unwrap();
    assert_eq!(message["type"], "machine.transition");
    assert_eq!(
        (&message["data"]["version"], &message["data"]["event_id"]),
        (&json!(2), &place.row()["event_id"])
    );
    assert_eq!(place.row()["status"], "done");
}

// Signatures, secrets, addresses.

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

// The operator's event collector.

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

// Events of effects.

/// A machine whose entity `on` sends `go` to an entity of another.
fn sender(machine: &str, to: &str, create: bool) -> Value {
    let mut definition = round(&[
        json!({"type": "transition", "machine_id": to, "entity_id": "{/entity_id}", "event_type": "go",
        "params": {"from": {"$from": "/machine_id"}}, "create": create}),
    ]);
    definition["machine_id"] = json!(machine);
    definition
}

fn version(place: &Place, machine: &str, entity: &str) -> u64 {
    let entity = place.run(place.engine().get_entity(&t1(), machine, entity));
    entity.map_or(0, |entity| json!(entity)["state_version"].as_u64().unwrap())
}

#[test]
fn ruling_7_an_effect_moves_another_entity_once_and_says_what_caused_it() {
    let place = Place::new();
    place.register(&sender("first", "second", true));
    let mut second = round(&[]);
    second["machine_id"] = json!("second");
    place.register(&second);
    let mut body = told();
    body["machine"] = json!("second");
    place.subscribe("s", &body);
    let (_, delivered) = place.event("first", "e", "go");
    assert_eq!(delivered.done, 2, "the effect, and what it called for in turn");
    assert_eq!(version(&place, "second", "e"), 2);
    let effect = place
        .outbox()
        .into_iter()
        .find(|row| row["kind"] == "transition")
        .unwrap();
    assert_eq!(effect["attempts"][0]["outcome"], "applied");
    let told = place.outside.taken().remove(0).json();
    assert_eq!(
        told["data"]["cause"]["source"],
        format!("effect:{}", effect["id"].as_str().unwrap())
    );
    // Claimed again as if nobody had marked it: its receipt answers.
    place.sqlite.execute(
        "UPDATE outbox SET status = 'pending', finished_at = NULL, due_at = 0 WHERE kind = 'transition'",
    );
    assert_eq!(place.pass().done, 1);
    assert_eq!(version(&place, "second", "e"), 2, "once");
    assert!(place.outside.taken().is_empty());
}

#[test]
fn ruling_7_a_target_that_does_not_move_is_over_and_one_that_is_missing_is_tried_again() {
    let place = Place::new();
    place.register(&sender("first", "second", false));
    let (_, delivered) = place.event("first", "e", "go");
    assert_eq!((delivered.failed, delivered.done), (4, 0), "no machine");
    let mut second = round(&[]);
    second["machine_id"] = json!("second");
    second["transitions"] = json!([{"from": "on", "to": "off", "on": "go"}]);
    place.register(&second);
    place.clock.set(400_000);
    let pass = place.pass();
    assert_eq!(
        (pass.failed, pass.done),
        (1, 0),
        "no entity, and none is to be made"
    );
    let body = json!({"entity_id": "e"}).to_string();
    place
        .run(place.engine().create_entity(&t1(), "second", body.as_bytes()))
        .unwrap();
    place.clock.set(4_000_000);
    assert_eq!(place.pass().done, 1);
    let row = place.row();
    assert_eq!(
        row["attempts"].as_array().unwrap().last().unwrap()["outcome"],
        "no_transition"
    );
    // That it moved nothing is decided: a late twin moves nothing either.
    place
        .sqlite
        .execute("UPDATE outbox SET status = 'pending', finished_at = NULL, due_at = 0");
    place
        .sqlite
        .execute("UPDATE entries SET state = 'on', seq = 9 WHERE machine_id = 'second'");
    place.pass();
    assert_eq!(version(&place, "second", "e"), 1);
}

#[test]
fn ruling_7_a_refusal_that_no_retry_can_help_is_over_with_its_code() {
    let place = Place::new();
    place.register(&sender("first", "tree", true));
    place.register(
        &json!({"machine_id": "tree", "states": ["off", "on"], "initial_state": "off",
        "transitions": [{"from": "off", "to": "on", "on": "go"}]}),
    );
    let mut jammed = support::world::jammed();
    jammed["machine_id"] = json!("tree2");
    place.register(&jammed);
    place.register(&json!({"machine_id": "third", "states": ["off", "on"], "initial_state": "off",
        "transitions": [{"from": "off", "to": "on", "on": "go"}],
        "actions": [{"on_enter": "on", "action": {"type": "transition", "machine_id": "loops", "entity_id": "x",
            "event_type": "go"}}]}));
    place.register(&json!({"machine_id": "loops", "regions": [
            {"id": "a", "states": ["idle", "on"], "initial_state": "idle"},
            {"id": "b", "states": ["x", "y"], "initial_state": "x"}],
        "transitions": [{"region": "a", "from": "idle", "to": "on", "on": "go"}],
        "joins": [
            {"when": {"a": "on", "b": "x"}, "target_region": "b", "target_state": "y", "trigger": "level"},
            {"when": {"a": "on", "b": "y"}, "target_region": "b", "target_state": "x", "trigger": "level"}]}));
    let (_, delivered) = place.event("third", "e", "go");
    assert_eq!((delivered.done, delivered.failed, delivered.dead), (0, 0, 1));
    let row = place.row();
    assert_eq!(row["status"], "dead");
    assert!(
        row["error"].as_str().unwrap().starts_with("JOIN_CASCADE_LIMIT: "),
        "{row}"
    );
    assert_eq!(
        place
            .run(place.engine().get_entity(&t1(), "loops", "x"))
            .unwrap_err()
            .status(),
        404
    );
}

#[test]
fn ruling_7_an_id_that_its_template_does_not_give_is_dead_at_once() {
    let place = place_with(&[
        json!({"type": "transition", "machine_id": "round", "entity_id": "{/context/none}",
        "event_type": "go"}),
    ]);
    let engine = place.engine();
    let answer = place.event_by(&engine, "round", "e", "go");
    assert_eq!(answer["state_version"], 2, "the transition stands");
    let row = place.row();
    assert_eq!(
        (&row["status"], &row["finished_at"]),
        (&json!("dead"), &json!(START))
    );
    assert!(row["error"].as_str().unwrap().contains("/context/none"), "{row}");
    assert!(!engine.has_claimed());
    assert_eq!(place.pass().sent_of(), 0);
}

#[test]
fn ruling_7_a_loop_of_effects_ends_after_sixteen_hops() {
    let place = Place::new();
    place.register(&sender("ping", "pong", true));
    place.register(&sender("pong", "ping", true));
    place.event("ping", "e", "go");
    place.passes(10);
    let rows = place.outbox();
    assert_eq!(rows.iter().filter(|row| row["status"] == "done").count(), 16);
    let dead: Vec<_> = rows.iter().filter(|row| row["status"] == "dead").collect();
    assert_eq!(dead.len(), 1);
    assert!(dead[0]["error"].as_str().unwrap().contains("16"), "{dead:?}");
    // The first event, and sixteen that effects have sent, on two entities that began at version 1.
    assert_eq!(
        version(&place, "ping", "e") + version(&place, "pong", "e"),
        2 + 17
    );
}

// Claims.

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
                if support::outside::step(&place.clock, pass.as_mut()).is_some() {
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
            assert!(support::outside::step(&place.clock, delivery.as_mut()).is_none());
        }
        place.clock.set(300_000);
        // Another claims it, is denied, and so it waits.
        place.outside.script(URL, [waits(429, "600")]);
        assert_eq!(place.pass().denied, 1);
        let before = place.outbox();
        let delivered = loop {
            if let Some(delivered) = support::outside::step(&place.clock, delivery.as_mut()) {
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
    let world = support::world::World::new();
    support::world::register(&world.engine, &round(&[webhook()]));
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

// What stays.

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
    let _: &Outside = &place.outside;
}

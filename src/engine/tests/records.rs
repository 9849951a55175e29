//! State records by their rules (S0.1 to S0.29): shapes, limits to the byte, conflicts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use statewright_engine::database::{Database, Param};
use support::records::{Lab, Op, moved, named, t1};
use support::{START, block_on, tenant};

const ANY: [Option<&str>; 3] = [None, None, None];

/// One fault of an argument: its path, and the body that it is in.
fn refused(lab: &Lab, op: Op, body: &Value, path: &str) {
    let before = lab.stored();
    let told = lab.call(op, body);
    let error = &told.json()["error"];
    assert_eq!(told.status, 400, "{body}: {}", told.text);
    assert_eq!(error["code"], "STATE_INVALID_ARG", "{body}");
    assert_eq!(error["path"], path, "{body}");
    assert_eq!(error["retry"], false);
    assert_eq!(error.get("current"), None);
    assert_eq!(lab.stored(), before, "{body}");
}

fn with(mut body: Value, key: &str, value: Value) -> Value {
    body[key] = value;
    body
}

fn without(mut body: Value, key: &str) -> Value {
    body.as_object_mut().unwrap().remove(key);
    body
}

fn creation() -> Value {
    json!({"machine": "task", "id": "a", "state": "open"})
}

#[test]
fn s0_5_s0_8_s0_12_a_record_is_made_at_version_1_and_told_whole() {
    let lab = Lab::new();
    lab.at(7);
    let body = json!({"machine": "onepony.task", "id": "paris:t_0193f", "state": "working", "data": {"owner": "c-9"}});
    let told = lab.call(Op::Create, &body);
    let record = json!({"machine": "onepony.task", "id": "paris:t_0193f", "state": "working", "version": 1,
        "data": {"owner": "c-9"}, "created_at": START + 7, "updated_at": START + 7});
    assert_eq!(told.json(), json!({"ok": true, "record": record}));
    let found = lab.call(
        Op::Get,
        &json!({"machine": "onepony.task", "id": "paris:t_0193f"}),
    );
    assert_eq!(found.json(), json!({"found": true, "record": record}));
}

#[test]
fn s0_12_data_that_is_left_out_at_creation_is_null_and_unknown_keys_are_ignored() {
    let lab = Lab::new();
    let told = lab.call(Op::Create, &with(creation(), "tenant", json!("t2")));
    assert_eq!(told.record()["data"], Value::Null);
    assert_eq!(
        lab.rows("SELECT json_array(tenant, data) FROM records"),
        [json!(["t1", "null"])]
    );
}

#[test]
fn s0_13_creating_what_exists_tells_the_record_as_it_is_and_changes_nothing() {
    let lab = Lab::new();
    let made = lab.create("a").record();
    lab.at(5);
    let before = lab.stored();
    let told = lab.call(
        Op::Create,
        &json!({"machine": "task", "id": "a", "state": "other", "data": 9}),
    );
    assert_eq!(told.code(), (409, "STATE_EXISTS".to_owned(), Value::Null));
    assert_eq!(told.json()["error"]["current"], made);
    assert_eq!(told.json()["error"]["retry"], false);
    assert_eq!(lab.stored(), before);
}

#[test]
fn s0_15_a_miss_is_no_error() {
    let lab = Lab::new();
    lab.create("a");
    for body in [named("b"), json!({"machine": "tasks", "id": "a"})] {
        let told = lab.call(Op::Get, &body);
        assert_eq!((told.status, told.text.as_str()), (200, "{\"found\":false}"));
    }
}

#[test]
fn s0_5_s0_7_s0_16_a_transition_moves_the_record_and_names_its_event() {
    let lab = Lab::new();
    lab.create("a");
    lab.at(9);
    let told = lab.call(
        Op::Move,
        &with(moved("a", "open", "waiting", 1), "data", json!([2])),
    );
    let record = json!({"machine": "task", "id": "a", "state": "waiting", "version": 2, "data": [2],
        "created_at": START, "updated_at": START + 9});
    let event_id = told.event_id();
    assert_eq!(
        told.json(),
        json!({"ok": true, "record": record, "event_id": event_id})
    );
    assert_eq!(lab.call(Op::Get, &named("a")).json()["record"], record);
    for version in 2..6 {
        let told = lab.call(Op::Move, &moved("a", "waiting", "waiting", version));
        assert_eq!(told.record()["version"], version + 1);
    }
}

#[test]
fn s0_17_from_and_expected_version_are_required() {
    let lab = Lab::new();
    lab.create("a");
    let body = moved("a", "open", "open", 1);
    for key in ["from", "to", "expected_version", "machine", "id"] {
        refused(&lab, Op::Move, &without(body.clone(), key), &format!("$.{key}"));
        let null = with(body.clone(), key, Value::Null);
        refused(&lab, Op::Move, &null, &format!("$.{key}"));
    }
}

#[test]
fn s0_18_s0_19_s0_21_r23_a_conflict_says_which_and_changes_nothing() {
    let lab = Lab::new();
    lab.subscribe("s", ANY, true);
    lab.create("a");
    let current = lab.bump("a", 1).record();
    lab.at(50);
    let before = lab.stored();
    for (from, version, reason) in [
        ("open", 1, "version"),
        ("open", 3, "version"),
        ("shut", 2, "state"),
        ("Open", 2, "state"),
        ("shut", 1, "version"),
        ("shut", 3, "version"),
    ] {
        let told = lab.call(Op::Move, &with(moved("a", from, "x", version), "data", json!(0)));
        assert_eq!(told.code(), (409, "STATE_CONFLICT".to_owned(), json!(reason)));
        let error = &told.json()["error"];
        assert_eq!(error["current"], current);
        assert_eq!(error["retry"], false);
        assert_eq!(lab.stored(), before);
    }
}

#[test]
fn s0_20_a_missing_record_is_not_found() {
    let lab = Lab::new();
    lab.create("a");
    let told = lab.bump("b", 1);
    assert_eq!(told.code(), (404, "STATE_NOT_FOUND".to_owned(), Value::Null));
    assert_eq!(lab.sqlite.count("outbox"), 0);
}

#[test]
fn s0_23_a_timer_that_carries_version_14_never_acts_on_version_17() {
    let lab = Lab::new();
    lab.create("a");
    for version in 1..13 {
        lab.bump("a", version);
    }
    let timer = lab.call(Op::Move, &moved("a", "open", "waiting", 13)).record()["version"]
        .as_u64()
        .unwrap();
    assert_eq!(timer, 14);
    for (from, to, version) in [
        ("waiting", "ready", 14),
        ("ready", "open", 15),
        ("open", "waiting", 16),
    ] {
        lab.call(Op::Move, &moved("a", from, to, version)).event_id();
    }
    // The state is the one that the timer was armed in.
    let told = lab.call(Op::Move, &moved("a", "waiting", "late", timer));
    assert_eq!(told.code(), (409, "STATE_CONFLICT".to_owned(), json!("version")));
    assert_eq!(told.json()["error"]["current"]["version"], 17);
}

#[test]
fn s0_29_a_timer_that_is_armed_before_the_move_acts_once_on_what_it_was_armed_for() {
    let lab = Lab::new();
    let version = lab.create("a").record()["version"].as_u64().unwrap();
    let timer = version + 1;
    lab.call(Op::Move, &moved("a", "open", "waiting", version))
        .event_id();
    let fire = |key: &str| lab.keyed(key, Op::Move, &moved("a", "waiting", "late", timer));
    let fired = fire("task:a:v2");
    assert_eq!(fired.record()["version"], 3);
    let again = fire("task:a:v2");
    assert!(again.replayed);
    assert_eq!(again.text, fired.text);
    // Another timer for the same version has nothing to act on.
    assert_eq!(fire("task:a:v2'").code().2, json!("version"));
    assert_eq!(lab.sqlite.count("outbox"), 2);
}

#[test]
fn s0_24_r23_data_that_is_left_out_is_kept_and_any_that_is_given_replaces_it() {
    let lab = Lab::new();
    lab.create("a");
    let mut version = 1;
    let mut step = |data: Option<Value>| {
        let mut body = moved("a", "open", "open", version);
        if let Some(data) = data {
            body["data"] = data;
        }
        version += 1;
        let told = lab.call(Op::Move, &body).record()["data"].clone();
        assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["data"], told);
        told
    };
    assert_eq!(step(None), json!({"n": 1}));
    assert_eq!(step(Some(json!({}))), json!({}));
    assert_eq!(step(None), json!({}));
    assert_eq!(step(Some(json!([1, 2]))), json!([1, 2]));
    assert_eq!(step(Some(Value::Null)), Value::Null);
    assert_eq!(step(None), Value::Null);
    assert_eq!(step(Some(json!(false))), json!(false));
    assert_eq!(step(Some(json!(""))), json!(""));
}

#[test]
fn s0_2_s0_27_a_machine_is_a_token_of_up_to_64_that_begins_with_a_small_letter() {
    let lab = Lab::new();
    for good in ["a", "z9._-", "onepony.task", &"m".repeat(64)] {
        let told = lab.call(Op::Create, &with(creation(), "machine", json!(good)));
        assert_eq!(told.record()["machine"], good);
        assert_eq!(
            lab.call(Op::Get, &json!({"machine": good, "id": "a"})).json()["found"],
            true
        );
    }
    for bad in [
        json!(""),
        json!("A"),
        json!("aB"),
        json!("9a"),
        json!("_a"),
        json!(".a"),
        json!("-a"),
        json!("a b"),
        json!("a/b"),
        json!("a:b"),
        json!("é"),
        json!("aé"),
        json!("a\u{0}"),
        json!("a\n"),
        json!("m".repeat(65)),
        json!(1),
        json!(["a"]),
    ] {
        for (op, body) in [
            (Op::Create, creation()),
            (Op::Get, named("a")),
            (Op::Move, moved("a", "x", "y", 1)),
        ] {
            refused(&lab, op, &with(body, "machine", bad.clone()), "$.machine");
        }
    }
}

#[test]
fn s0_3_s0_27_an_id_is_1_to_256_bytes_of_text_without_slash_and_control_characters() {
    let lab = Lab::new();
    let long = "é".repeat(128);
    for good in [
        "a",
        ".",
        "..",
        "paris:t_0193f",
        " ",
        "\"\\'",
        "a~b",
        "日本語 🦄",
        "A",
        &"i".repeat(256),
        &long,
    ] {
        let told = lab.call(Op::Create, &with(creation(), "id", json!(good)));
        assert_eq!(told.record()["id"], good);
        assert_eq!(lab.bump(good, 1).record()["id"], good);
        assert_eq!(lab.call(Op::Get, &named(good)).json()["record"]["id"], good);
    }
    for bad in [
        json!(""),
        json!("a/b"),
        json!("/"),
        json!("a\u{0}"),
        json!("a\nb"),
        json!("\u{7f}"),
        json!("\u{85}"),
        json!("i".repeat(257)),
        json!(format!("{long}a")),
        json!(7),
        json!({}),
    ] {
        for (op, body) in [
            (Op::Create, creation()),
            (Op::Get, named("a")),
            (Op::Move, moved("a", "x", "y", 1)),
        ] {
            refused(&lab, op, &with(body, "id", bad.clone()), "$.id");
        }
    }
}

#[test]
fn s0_4_s0_27_a_state_is_a_token_of_up_to_64() {
    let lab = Lab::new();
    for (place, good) in ["a", "Z", "0", "a.B_c-9", &"S".repeat(64)]
        .into_iter()
        .enumerate()
    {
        let id = format!("r{place}");
        lab.call(Op::Create, &json!({"machine": "task", "id": id, "state": good}))
            .record();
        let told = lab.call(Op::Move, &moved(&id, good, good, 1));
        assert_eq!(told.record()["state"], good);
    }
    for bad in [
        json!(""),
        json!("_a"),
        json!(".a"),
        json!("a b"),
        json!("a/b"),
        json!("é"),
        json!("S".repeat(65)),
        json!(3),
    ] {
        refused(
            &lab,
            Op::Create,
            &with(creation(), "state", bad.clone()),
            "$.state",
        );
        for key in ["from", "to"] {
            let path = format!("$.{key}");
            refused(
                &lab,
                Op::Move,
                &with(moved("r0", "a", "a", 2), key, bad.clone()),
                &path,
            );
        }
    }
}

#[test]
fn s0_17_s0_27_an_expected_version_is_an_integer_from_1_to_2_to_the_53() {
    let lab = Lab::new();
    lab.create("a");
    let body = moved("a", "open", "open", 1);
    for bad in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("1"),
        json!(true),
        json!([1]),
        json!((1_u64 << 53) + 1),
        json!(u64::MAX),
    ] {
        refused(
            &lab,
            Op::Move,
            &with(body.clone(), "expected_version", bad),
            "$.expected_version",
        );
    }
    for text in ["1.0", "1e0", "18446744073709551617", "9007199254740993"] {
        let body = body
            .to_string()
            .replace("\"expected_version\":1", &format!("\"expected_version\":{text}"));
        let told = lab.bytes(Op::Move, &body);
        assert_eq!(told.code().1, "STATE_INVALID_ARG", "{text}");
    }
    let told = lab.call(Op::Move, &with(body, "expected_version", json!(1_u64 << 53)));
    assert_eq!(told.code(), (409, "STATE_CONFLICT".to_owned(), json!("version")));
}

#[test]
fn s0_6_s0_27_s0_63_data_is_bounded_to_the_byte() {
    let mut lab = Lab::new();
    let string = |bytes: usize| json!("é".repeat((bytes - 2) / 2));
    assert_eq!(string(65_536).to_string().len(), 65_536);
    lab.call(Op::Create, &with(creation(), "data", string(65_536)))
        .record();
    lab.call(
        Op::Move,
        &with(moved("a", "open", "open", 1), "data", string(65_536)),
    )
    .record();
    refused(
        &lab,
        Op::Create,
        &with(creation(), "data", json!("x".repeat(65_535))),
        "$.data",
    );
    refused(
        &lab,
        Op::Move,
        &with(moved("a", "open", "open", 2), "data", json!("x".repeat(65_535))),
        "$.data",
    );
    lab.settings.most_data_bytes = 5;
    for (id, text, fits) in [
        ("a1", "12345", true),
        ("a2", "123456", false),
        ("a3", "[ 1 ]", true),
        ("a4", "[ 1  ]", false),
    ] {
        // Spaces around it are not its own.
        let body = format!(r#"{{"machine":"m","id":"{id}","state":"s","data":  {text}  }}"#);
        let told = lab.bytes(Op::Create, &body);
        assert_eq!(told.status, if fits { 201 } else { 400 }, "{text}: {}", told.text);
    }
}

#[test]
fn s0_6_data_is_kept_to_the_byte() {
    let lab = Lab::new();
    lab.subscribe("s", ANY, true);
    for (place, text) in [
        "12345678901234567890123456789",
        "0.1000000000000000055511151231257827",
        "1.10",
        "-0",
        "1E2",
        "{ \"b\" : 1,\n \"a\":\t[ ] , \"b\" : 2 }",
        "\"\\u0000\\u00e9\\ud83d\\ude00\\/\"",
        "\"é🦄\u{7f}\u{2028}\"",
        "\"' || char(10) --\"",
        "null",
    ]
    .into_iter()
    .enumerate()
    {
        let body = |more: &str| format!(r#"{{"machine":"task","id":"r{place}",{more},"data": {text} }}"#);
        let made = lab.bytes(Op::Create, body(r#""state":"open""#));
        let record = |state: &str, version: u64| {
            format!(
                r#"{{"machine":"task","id":"r{place}","state":"{state}","version":{version},"data":{text},"created_at":{START},"updated_at":{START}}}"#
            )
        };
        assert_eq!(
            made.text,
            format!(r#"{{"ok":true,"record":{}}}"#, record("open", 1))
        );
        let keep = lab.call(Op::Move, &moved(&format!("r{place}"), "open", "open", 1));
        assert!(
            keep.text
                .starts_with(&format!(r#"{{"ok":true,"record":{},"#, record("open", 2))),
            "{}",
            keep.text
        );
        let told = lab.bytes(
            Op::Move,
            body(r#""from":"open","to":"shut","expected_version":2"#),
        );
        assert!(
            told.text
                .starts_with(&format!(r#"{{"ok":true,"record":{},"#, record("shut", 3))),
            "{}",
            told.text
        );
        let found = lab.call(Op::Get, &named(&format!("r{place}")));
        assert_eq!(
            found.text,
            format!(r#"{{"found":true,"record":{}}}"#, record("shut", 3))
        );
    }
}

#[test]
fn s0_27_a_body_that_is_no_json_object_is_a_wrong_argument() {
    let lab = Lab::new();
    lab.create("a");
    let before = lab.stored();
    let deep = format!(
        r#"{{"machine":"m","id":"d","state":"s","data":{}{}}}"#,
        "[".repeat(2000),
        "]".repeat(2000)
    );
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"text\"",
        b"{\"machine\":\"task\",\"id\":\"\xff\",\"state\":\"s\"}",
        br#"{"machine":"task","id":"\ud800","state":"s"}"#,
        br#"{"machine":"task","id":"l","state":"s","data":"\udc00"}"#,
        br#"{"machine":"task","id":"l","state":"s","data":{"\ud800x":1}}"#,
        br#"{"machine":"task","id":"l","state":"s","data":1e999}"#,
        br#"{"machine":"task","id":"l","state":"s","from":"s","to":"s","expected_version":1,"data":1,"data":2}"#,
        deep.as_bytes(),
    ];
    for body in bodies {
        for op in [Op::Create, Op::Move] {
            let told = lab.bytes(op, body);
            let what = String::from_utf8_lossy(body);
            assert_eq!(
                told.code(),
                (400, "STATE_INVALID_ARG".to_owned(), Value::Null),
                "{what}"
            );
            let path = told.json()["error"]["path"].clone();
            assert!(
                ["$", "$.data"].map(Value::from).contains(&path),
                "{what}: {}",
                told.text
            );
        }
    }
    assert_eq!(lab.bytes(Op::Get, b"{").code().1, "STATE_INVALID_ARG");
    assert_eq!(lab.stored(), before);
}

#[test]
fn s0_27_a_body_over_1_mib_is_too_large() {
    let lab = Lab::new();
    let body = |bytes: usize| {
        let start =
            r#"{"machine":"task","id":"a","state":"open","from":"open","to":"open","expected_version":1}"#;
        format!("{start}{}", " ".repeat(bytes - start.len()))
    };
    for op in [Op::Create, Op::Get, Op::Move] {
        let told = lab.bytes(op, body((1 << 20) + 1));
        assert_eq!(told.code(), (413, "PAYLOAD_TOO_LARGE".to_owned(), Value::Null));
        assert!(lab.bytes(op, body(1 << 20)).status < 300);
    }
}

#[test]
fn s0_26_s0_28_s0_64_without_the_personality_nothing_is_read() {
    let mut lab = Lab::new();
    lab.create("a");
    lab.settings.records = false;
    lab.sqlite.taken();
    for op in [Op::Create, Op::Get, Op::Move] {
        for body in [
            "{",
            &moved("a", "open", "open", 1).to_string(),
            &creation().to_string(),
            &" ".repeat(2_000_000),
        ] {
            let told = lab.bytes(op, body);
            assert_eq!(told.code(), (503, "STATE_DISABLED".to_owned(), Value::Null));
        }
    }
    assert_eq!(lab.sqlite.taken(), Vec::<Vec<&str>>::new());
}

#[test]
fn s0_1_s0_10_the_same_name_in_two_tenants_is_two_records() {
    let lab = Lab::new();
    let t2 = tenant("t2");
    lab.subscribe_of("t2", "theirs", "records", ANY, true);
    lab.create("a");
    let theirs = json!({"machine": "task", "id": "a", "state": "theirs", "data": "secret"});
    assert_eq!(lab.of(&t2, Op::Get, &named("a")).text, "{\"found\":false}");
    assert_eq!(lab.of(&t2, Op::Move, &moved("a", "open", "open", 1)).status, 404);
    assert_eq!(lab.of(&t2, Op::Create, &theirs).status, 201);
    lab.bump("a", 1);
    assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["version"], 2);
    let found = lab.of(&t2, Op::Get, &named("a")).json();
    assert_eq!(
        (&found["record"]["version"], &found["record"]["data"]),
        (&json!(1), &json!("secret"))
    );
    // The transition concerned nobody of its own tenant.
    let rows = lab.rows("SELECT json_array(tenant, status) FROM outbox");
    assert_eq!(rows, [json!(["t1", "skipped"])]);
}

#[test]
fn s0_9_machines_of_records_and_registered_machines_have_nothing_in_common() {
    let lab = Lab::new();
    let definition = support::world::order().to_string();
    block_on(lab.engine().create_machine(&t1(), definition.as_bytes())).unwrap();
    let record = json!({"machine": "order", "id": "a", "state": "anything"});
    assert_eq!(lab.call(Op::Create, &record).status, 201);
    assert!(block_on(lab.engine().get_entity(&t1(), "order", "a")).is_err());
}

#[test]
fn parameters_of_records_are_what_every_host_can_carry() {
    // The host of these tests refuses NUL in a text and integers beyond 2^53 (support/mod.rs).
    let lab = Lab::new();
    let statement = statewright_engine::database::Statement::new(
        "SELECT json_array(?1)",
        [Param::Text("a\0".to_owned())],
    );
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(lab.faulty.batch(vec![statement]))
    }));
    assert!(refused.is_err());
    let body = with(creation(), "data", json!("\u{0}"));
    assert_eq!(lab.call(Op::Create, &body).record()["data"], "\u{0}");
}

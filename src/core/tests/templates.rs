//! Templates: JSON and texts with places, filled from any document.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;

use common::any_json;
use proptest::prelude::*;
use serde_json::{Value, json};
use statewright_core::template::{check_pointer, check_text, fill, fill_within, json_bytes, pointers, text};

#[test]
fn texts_are_checked_as_they_are_filled() {
    let document = json!({"a": {"b": "v"}, "": "root", "x}y": 1, "t~/": 2});
    for (given, filled) in [
        ("", ""),
        ("plain ü", "plain ü"),
        ("{/a/b}{/a/b}", "vv"),
        ("{/}", "root"),
        ("{/t~0~1}", "2"),
        ("{{}}", "{}"),
        ("}}{{{/a/b}", "}{v"),
    ] {
        assert_eq!(check_text(given), Ok(()), "{given}");
        assert_eq!(text(given, &document).as_deref(), Ok(filled), "{given}");
    }
    for given in [
        "{", "}", "{}", "{a}", "{ /a/b}", "{/a/b", "{/a{/b}", "{{/a/b}", "{/x}y}", "{/~}",
    ] {
        assert!(check_text(given).is_err(), "{given}");
        assert!(text(given, &document).is_err(), "{given}");
    }
    assert!(check_text("a\u{7f}").is_err());
    assert_eq!(pointers("a{/b}{{/c}}{/d/e}").collect::<Vec<_>>(), ["/b", "/d/e"]);
    for (pointer, good) in [
        ("", true),
        ("/", true),
        ("/a~0~1", true),
        ("a", false),
        ("/~", false),
        ("/~2", false),
    ] {
        assert_eq!(check_pointer(pointer).is_ok(), good, "{pointer}");
    }
}

/// Every pointer of a document, with what is there.
fn all_pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                all_pointers(item, format!("{at}/{index}"), found);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                all_pointers(item, format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

proptest! {
    #[test]
    fn every_place_of_any_document_is_taken_as_it_is(document in any_json()) {
        let mut found = Vec::new();
        all_pointers(&document, String::new(), &mut found);
        for pointer in found {
            prop_assert!(check_pointer(&pointer).is_ok());
            let there = document.pointer(&pointer).unwrap();
            prop_assert_eq!(&fill(&json!([{"$from": &pointer}]), &document)[0], there);
            let bytes = there.to_string().len();
            prop_assert_eq!(json_bytes(there, bytes), Some(bytes));
            prop_assert_eq!(json_bytes(there, bytes - 1), None);
            let template = json!({"$from": &pointer});
            prop_assert!(fill_within(&template, &document, bytes).is_ok());
            prop_assert!(fill_within(&template, &document, bytes - 1).is_err());
        }
    }

    #[test]
    fn a_template_without_places_is_itself(template in any_json()) {
        prop_assert_eq!(fill(&template, &json!({})), template);
    }

    #[test]
    fn any_text_is_checked_and_filled_without_a_panic(given in "[{}/~01ab\n]{0,12}") {
        let document = json!({"a": "x", "b": 1});
        if check_text(&given).is_err() && !given.contains('\n') {
            prop_assert!(text(&given, &document).is_err());
        }
        let places = pointers(&given).count();
        let braces = given.matches('{').count();
        prop_assert!(places <= braces);
    }
}

//! Lists and single rows: what is shown, in which order, and how far a page looks.

use serde_json::json;
use statewright_engine::outbox_admin::OutboxQuery;

use crate::admin::{
    Row, all_kinds, cancel_all, dump, insert, insert_many, list, names, names_of, pages, query, redrive_all,
};
use crate::support::world::{World, t1};
use crate::support::{START, block_on, tenant};

#[test]
fn a_list_shows_what_waits_for_what_the_newest_first() {
    let world = all_kinds();
    let (body, next) = list(&world, "");
    assert_eq!(next, None);
    assert_eq!(names_of(&body), "h q u w c s k x d o");
    assert_eq!(
        body["counts"],
        json!({"pending": 6, "done": 1, "skipped": 1, "dead": 1, "cancelled": 1})
    );
    assert_eq!(body["oldest_pending"], json!(START + 20));
    let phases: Vec<_> = body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["phase"])
        .collect();
    assert_eq!(
        json!(phases),
        json!([
            "held", "queued", "due", "waiting", "claimed", "due", null, null, null, null
        ])
    );
    let id = Row::due("w", 30, "lw", 4).id();
    assert_eq!(
        body["items"][3],
        json!({"id": id, "event_id": id, "kind": "webhook", "status": "pending", "phase": "waiting", "machine_id": "order",
            "entity_id": "e", "version": 4, "attempt": 1, "sink": "https://example.com/hook", "created_at": START + 30,
            "due_at": START + 500, "finished_at": null, "error": "it answered 500"})
    );
    assert_eq!(body["items"][6]["sink"], json!("gone"));
    assert_eq!(body["items"][6]["finished_at"], json!(START + 20));
    // Nothing at all.
    let empty = World::new();
    let (body, _) = list(&empty, "status=pending");
    assert_eq!(
        body,
        json!({"counts": {"pending": 0, "done": 0, "skipped": 0, "dead": 0, "cancelled": 0}, "oldest_pending": null,
            "items": []})
    );
}

#[test]
fn a_list_is_filtered_by_status_machine_entity_and_age() {
    let world = all_kinds();
    for (text, found) in [
        ("status=pending", "s c w u q h"),
        ("status=done", "o"),
        ("status=dead", "d"),
        ("status=skipped", "k"),
        ("status=cancelled", "x"),
        ("machine=task", "k"),
        ("machine=order&status=pending", "c w u q h"),
        ("machine=slow&status=dead", ""),
        ("entity=t-1", "k"),
        ("entity=t-1&machine=order", ""),
        ("entity=t-1&machine=task&status=skipped", "k"),
        ("machine=none", ""),
    ] {
        assert_eq!(names(&world, text), found, "{text}");
    }
    // Made before a time, and after it; not at it.
    let (at_20, at_35) = (START + 20, START + 35);
    for (text, found) in [
        (format!("older_than={at_20}"), "k x d o"),
        (format!("newer_than={at_35}"), "h q"),
        (format!("newer_than={at_20}&older_than={at_35}"), "w c"),
        (format!("newer_than={at_20}&status=pending"), "c w u q h"),
        (format!("older_than={at_35}&status=pending"), "s c w"),
        (format!("newer_than={at_20}&status=dead"), ""),
        ("older_than=-5".to_owned(), ""),
        (format!("older_than={}", 1_i64 << 53), "h q u w c s k x d o"),
        ("newer_than=-5&older_than=0".to_owned(), ""),
        (format!("newer_than={}", 1_i64 << 53), ""),
        ("newer_than=-5".to_owned(), "h q u w c s k x d o"),
    ] {
        assert_eq!(names(&world, &text), found, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_query_is_told() {
    let world = all_kinds();
    for (text, path) in [
        ("status=waiting", "status"),
        ("status=Dead", "status"),
        ("older_than=yesterday", "older_than"),
        ("newer_than=9007199254740993", "newer_than"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("cursor=zz", "cursor"),
        ("cursor=31", "cursor"),
        ("machine=a\u{0}b", "machine"),
        ("entity=a\nb", "entity"),
    ] {
        let error = block_on(world.engine.list_outbox(&t1(), &query(text))).unwrap_err();
        assert_eq!(
            (error.status(), &error.body()["error"]["path"]),
            (400, &json!(path)),
            "{text}"
        );
    }
    for (body, path) in [
        (json!([]), "$"),
        (json!({"status": "done"}), "$.status"),
        (json!({"status": 1}), "$.status"),
        (json!({"machine": 1}), "$.machine"),
        (json!({"older_than": "1"}), "$.older_than"),
        (json!({"newer_than": 1.5}), "$.newer_than"),
        (json!({"limit": 1}), "$[\"limit\"]"),
        (json!({"entity": "a\u{0}"}), "entity"),
        (json!({"cursor": "zz"}), "cursor"),
    ] {
        let before = dump(&world);
        for (status, told, _) in [
            redrive_all(&world.engine, &body),
            cancel_all(&world.engine, &body),
        ] {
            assert_eq!((status, &told["error"]["path"]), (400, &json!(path)), "{body}");
        }
        assert_eq!(dump(&world), before);
    }
    // What is over is not cancelled.
    assert_eq!(cancel_all(&world.engine, &json!({"status": "dead"})).0, 400);
    assert_eq!(
        block_on(world.engine.cancel_all(&t1(), b""))
            .unwrap_err()
            .status(),
        400
    );
}

#[test]
fn r18_pages_of_a_list_come_to_every_row_once() {
    let world = all_kinds();
    insert_many(&world, 7, 60, "pending", "'m' || number", "many");
    insert_many(&world, 7, 61, "dead", "'m' || number", "many");
    for (text, count) in [
        ("", 24),
        ("status=pending", 13),
        ("status=dead", 8),
        ("machine=many", 14),
        ("machine=many&status=pending", 7),
        ("machine=order", 8),
    ] {
        let whole = names(&world, text);
        assert_eq!(whole.split(' ').count(), count, "{text}");
        for limit in [1, 3, 5, 24] {
            let (all, pages) = pages(&world, &format!("{text}&limit={limit}"));
            assert_eq!(all, whole, "{text} by {limit}");
            assert_eq!(pages, count.div_ceil(limit), "{text} by {limit}");
        }
    }
}

#[test]
fn a_page_looks_at_a_bounded_number_of_rows_and_says_where_to_go_on() {
    let world = World::new();
    insert(&world, &[Row::over("first", 1, "l", 1, "dead")]);
    insert_many(&world, 20_000, 10, "dead", "'l'", "many");
    insert(&world, &[Row::over("last", 20, "l", 1, "dead")]);
    for text in ["machine=order", "machine=order&status=dead"] {
        let (body, next) = list(&world, text);
        assert_eq!(names_of(&body), "last", "{text}");
        let next = next.expect("there are others behind those that were looked at");
        let (body, next) = list(&world, &format!("{text}&cursor={next}"));
        assert_eq!((names_of(&body), next), ("first".to_owned(), None), "{text}");
    }
    // A page that is full looks no further.
    let few = world.sqlite.steps_of(|| {
        block_on(world.engine.list_outbox(&t1(), &query("limit=10&status=dead"))).unwrap();
    });
    let counting = world.sqlite.steps_of(|| {
        block_on(world.engine.list_outbox(&t1(), &query("limit=10&status=skipped"))).unwrap();
    });
    assert!(few - counting < 5_000, "{few} - {counting}");
    // Each is counted up to 10,000.
    assert_eq!(list(&world, "limit=1").0["counts"]["dead"], json!(10_000));
}

#[test]
fn pending_rows_beyond_what_is_sorted_come_in_order_too() {
    let world = World::new();
    insert_many(&world, 300, 5, "done", "'d' || number", "other");
    insert_many(&world, 20_001, 10, "pending", "'l' || number", "many");
    insert_many(&world, 1, 4, "pending", "'k' || number", "other");
    let (body, _) = list(&world, "status=pending&limit=3");
    assert_eq!(names_of(&body), "00000000 00000000 00000001");
    assert_eq!(body["oldest_pending"], json!(START + 4));
    assert_eq!(body["counts"]["pending"], json!(10_000));
    assert_eq!(
        body["counts"]["done"],
        json!(0),
        "they are counted among the newest 20,000 rows"
    );
    let (all, pages) = pages(&world, "status=pending&limit=1000");
    let all: Vec<_> = all.split(' ').collect();
    assert_eq!((all.len(), pages), (20_002, 21));
    assert!(all[1..].is_sorted());
}

#[test]
fn i9_a_row_shows_its_effect_without_secrets_to_its_tenant_alone() {
    let world = World::new();
    let mut row = Row::over("a", 1, "l", 1, "dead");
    row.effect = json!({"kind": "webhook", "url": "https://example.com/hook?key=1", "method": "PUT", "headers": {
        "x-plain": "p", "authorization": {"secret": "token", "prefix": "Bearer "}}, "body": "{\"a\":1}"});
    row.attempts = json!([{"attempt": 1, "at": START, "ms": 12, "status": 500, "error": "it answered 500", "body": "no"},
        {"attempt": 2, "at": START + 1, "ms": 10_000, "status": null, "error": "no answer", "body": null}]);
    row.error = Some("no answer");
    let id = row.id();
    insert(&world, &[row.clone()]);
    let entry = block_on(world.engine.get_outbox(&t1(), &id)).unwrap();
    let entry = serde_json::to_value(entry).unwrap();
    assert_eq!(
        entry["effect"],
        json!({"kind": "webhook", "url": "https://example.com/hook?key=1", "method": "PUT",
            "headers": {"x-plain": "p", "authorization": {"secret": "token"}}, "body": "{\"a\":1}"})
    );
    assert_eq!(entry["attempts"], row.attempts);
    assert_eq!(
        (&entry["status"], &entry["error"]),
        (&json!("dead"), &json!("no answer"))
    );

    let other = tenant("t2");
    let before = dump(&world);
    for id in [id.as_str(), "none"] {
        for error in [
            block_on(world.engine.get_outbox(&other, id)).unwrap_err(),
            block_on(world.engine.redrive(&other, id)).unwrap_err(),
            block_on(world.engine.cancel(&other, id)).unwrap_err(),
        ] {
            assert_eq!(
                (error.status(), &error.body()["error"]["code"]),
                (404, &json!("NOT_FOUND"))
            );
        }
    }
    assert_eq!(
        block_on(world.engine.redrive_all(&other, b"{}"))
            .unwrap()
            .redriven,
        0
    );
    assert_eq!(
        block_on(world.engine.cancel_all(&other, b"{}"))
            .unwrap()
            .cancelled,
        0
    );
    let list = block_on(world.engine.list_outbox(&other, &OutboxQuery::default())).unwrap();
    assert_eq!((list.items.len(), list.counts.dead), (0, 0));
    assert_eq!(dump(&world), before);
    assert_eq!(
        block_on(world.engine.get_outbox(&t1(), "a\u{0}"))
            .unwrap_err()
            .status(),
        400
    );
}

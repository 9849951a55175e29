//! The bounds of a tree, and that tenants do not see each other's (S2.181, M7, I9, I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Value, json};
use support::families::{
    DEEPEST, batch, chain, event, in_status, leaf, link, machine_at, make, path, register_all, send, shop,
    targeted, view, wide,
};
use support::world::{Reply, World, WorldEngine, delete, evaluate, register, reply};
use support::{block_on, tenant};

fn code(reply: &Reply) -> (u16, &str) {
    (reply.0, reply.1["error"]["code"].as_str().unwrap_or(""))
}

/// A root of so many regions, each with such a child.
fn hub(machine: &str, child: &str, regions: usize) -> Value {
    let region = |at: usize| {
        let (on, off) = (format!("on{at}"), format!("off{at}"));
        json!({"id": format!("r{at}"), "states": [on, off], "initial_state": on,
            "sub_machines": {on: {"machine_id": child, "lifecycle": "managed"}}})
    };
    let turn = |at: usize| json!({"region": format!("r{at}"), "from": format!("on{at}"), "to": format!("off{at}"), "on": "stop"});
    json!({"machine_id": machine, "regions": (0..regions).map(region).collect::<Vec<_>>(),
        "transitions": (0..regions).map(turn).collect::<Vec<_>>(), "broadcast": ["stop"]})
}

#[test]
fn s2_181_a_tree_has_at_most_512_entities_and_any_of_it_ends_in_one_commit() {
    let world = World::new();
    // 1 + 7 × (1 + 72) = 512, and one more.
    register_all(
        &world.other,
        &[leaf(), hub("inner", "leaf", 72), hub("outer", "inner", 7)],
    );
    let mut over = hub("over", "inner", 7);
    over["regions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "x", "states": ["x0"], "initial_state": "x0",
        "sub_machines": {"x0": {"machine_id": "leaf", "lifecycle": "managed"}}}));
    register(&world.other, &over);
    let before = world.stored();
    assert_eq!(code(&make(&world.engine, "over", "e")), (409, "CASCADE_LIMIT"));
    assert_eq!(
        code(&evaluate(&world.engine, "over", &event("e", "none", Some(1)))),
        (409, "CASCADE_LIMIT")
    );
    assert!(world.stored() == before, "nothing is written");
    assert_eq!(make(&world.engine, "outer", "e").0, 201);
    assert_eq!(world.sqlite.count("entities"), 512);
    world.sqlite.taken();
    let answer = send(&world.engine, "outer", &event("e", "stop", Some(1)));
    assert_eq!(answer["instances"].as_array().unwrap().len(), 511);
    assert_eq!(world.sqlite.taken().len(), 2);
    assert_eq!(in_status(&world, "cancelled"), 511);
    assert_eq!(delete(&world.engine, "outer", "e").0, 204);
    for table in ["entities", "entries", "history", "instances"] {
        assert_eq!(world.sqlite.count(table), 0, "{table}");
    }
}

#[test]
fn m7_a_tree_has_at_most_16384_regions() {
    let world = World::new();
    let region = |at: usize| json!({"id": format!("r{at}"), "states": ["a"], "initial_state": "a"});
    let broad = json!({"machine_id": "broad", "regions": (0..1024).map(region).collect::<Vec<_>>(), "transitions": []});
    // 15 × 1,024 + 15 regions fit; 16 × 1,024 + 16 do not.
    register_all(
        &world.other,
        &[broad, hub("fits", "broad", 15), hub("over", "broad", 16)],
    );
    assert_eq!(code(&make(&world.engine, "over", "e")), (409, "CASCADE_LIMIT"));
    assert_eq!(world.sqlite.count("entities"), 0);
    assert_eq!(make(&world.engine, "fits", "e").0, 201);
    assert_eq!(world.sqlite.count("entries"), 15 * 1024 + 15);
    let answer = send(&world.engine, "fits", &event("e", "stop", Some(1)));
    assert_eq!(answer["instances"].as_array().unwrap().len(), 15);
}

#[test]
fn i10_the_contexts_of_a_tree_have_a_bound_and_it_stays_readable() {
    let world = World::new();
    register_all(&world.other, &wide(40, "refuse"));
    make(&world.other, "wide", "e");
    let note = |at: usize, field: &str, bytes: usize| {
        let mut body = targeted(
            "e",
            "note",
            None,
            json!([{"region": format!("r{at}"), "state": format!("b{at}")}]),
        );
        body["params"][field] = json!("x".repeat(bytes));
        body
    };
    let mut refused = None;
    'all: for at in 0..40 {
        for field in ["p", "q", "r", "s"] {
            let reply = evaluate(&world.engine, "wide", &note(at, field, 60_000));
            if reply.0 != 200 {
                refused = Some((at, reply));
                break 'all;
            }
        }
    }
    let (at, reply) = refused.expect("a bound");
    assert_eq!(code(&reply), (413, "PAYLOAD_TOO_LARGE"), "{}", reply.1);
    assert!(at > 30, "{at}: about 8 MiB");
    let before = world.sqlite.dump();
    assert_eq!(evaluate(&world.engine, "wide", &note(at, "z", 60_000)).0, 413);
    let in_batch = batch(
        &world.engine,
        "wide",
        &[note(at, "z", 60_000), note(at, "y", 60_000)],
    );
    assert_eq!(in_batch["failed"], 2);
    assert!(world.sqlite.dump() == before, "nothing is written");
    // What is there is read, told and ended.
    assert_eq!(
        send(&world.engine, "wide", &event("e", "none", None))["state_version"],
        1
    );
    assert!(view(&world, "leaf", "e::sub::b3")["context"]["p"].is_string());
    let answer = send(&world.engine, "wide", &event("e", "stop", Some(9)));
    assert_eq!(answer["instances"].as_array().unwrap().len(), 40);
}

#[test]
fn ids_of_children_may_be_long_and_a_caller_s_may_not() {
    let long = "s".repeat(128);
    let link = |machine: &str, child: &str| {
        let mut machine = link(machine, child, "fresh");
        machine["states"] = json!([long, "done", "off"]);
        machine["initial_state"] = json!(long);
        machine["transitions"] =
            json!([{"from": long, "to": "off", "on": "drop"}, {"from": "off", "to": long, "on": "again"}]);
        machine["sub_machines"] = json!({&long: machine["sub_machines"]["busy"]});
        machine
    };
    let world = World::new();
    register(&world.other, &leaf());
    for level in (0..DEEPEST).rev() {
        let child = machine_at(level + 1, DEEPEST);
        assert_eq!(
            register(&world.other, &link(&machine_at(level, DEEPEST), &child)).0,
            201
        );
    }
    let root = "e".repeat(256);
    assert_eq!(make(&world.engine, "l0", &root).0, 201);
    let deepest = format!("{root}{}", format!("::sub::{long}").repeat(DEEPEST));
    assert_eq!(deepest.len(), 256 + 8 * 135);
    let steps = json!(vec![json!({"state": long}); DEEPEST]);
    let answer = send(&world.engine, "l0", &targeted(&root, "step", Some(1), steps));
    assert_eq!(answer["entity_id"], json!(deepest));
    assert_eq!(
        send(&world.engine, "leaf", &event(&deepest, "step", Some(2)))["transition"],
        "b → a"
    );
    assert_eq!(view(&world, "leaf", &deepest)["instance"]["depth"], 8);
    for at in 3..6 {
        send(
            &world.engine,
            "l0",
            &event(&root, ["again", "drop"][at % 2], Some(i64::try_from(at).unwrap())),
        );
    }
    assert_eq!(in_status(&world, "active"), 0);
    // The caller's own ids have their bound.
    let before = world.sqlite.dump();
    assert_eq!(make(&world.engine, "leaf", &deepest).0, 400);
    assert_eq!(make(&world.engine, "leaf", &format!("{deepest}x")).0, 400);
    assert_eq!(
        evaluate(&world.engine, "leaf", &event(&"f".repeat(257), "step", Some(2))).0,
        400
    );
    assert!(world.sqlite.dump() == before);
}

/// Legacy children below each other, as far as an id can go.
#[test]
fn legacy_children_end_where_their_ids_would_be_too_long() {
    let world = World::new();
    let state = "s".repeat(120);
    let endless = json!({"machine_id": "endless", "states": ["n", state, "t"], "initial_state": "n",
        "transitions": [{"from": "n", "to": state, "on": "go"}, {"from": state, "to": "t", "on": "end"}],
        "sub_machines": {&state: {"machine_id": "endless", "on_final": {"t": "t"}}}});
    let (status, body) = register(&world.other, &endless);
    assert_eq!(status, 201, "{body}");
    make(&world.other, "endless", "e");
    let mut deep = 0;
    let refused = loop {
        let before = world.stored();
        let reply = evaluate(&world.engine, "endless", &event("e", "go", Some(deep)));
        if reply.0 != 200 {
            assert!(world.stored() == before, "a refused event makes nothing");
            break reply;
        }
        deep += 1;
        assert!(deep < 50);
    };
    assert_eq!(code(&refused), (409, "NESTING_DEPTH_EXCEEDED"), "{}", refused.1);
    let longest = world
        .sqlite
        .count("entities WHERE octet_length(entity_id) > 2048");
    assert_eq!((longest, deep), (0, 1 + (2048 - 1) / 127));
    let answer = send(&world.engine, "endless", &event("e", "end", Some(99)));
    assert_eq!(answer["current_state"], "t", "{answer}");
    assert_eq!(delete(&world.engine, "endless", "e").0, 204);
    assert_eq!(world.sqlite.count("entities"), 0);
}

#[test]
fn i10_what_children_are_made_of_has_a_bound() {
    let world = World::new();
    let names: Vec<String> = (0..70).map(|at| format!("leaf{at}")).collect();
    let region = |name: &String| {
        json!({"id": name, "states": [format!("on{name}"), name], "initial_state": name,
        "sub_machines": {format!("on{name}"): {"machine_id": name, "lifecycle": "managed"}}})
    };
    // Before their children, so that registration has nothing to look at.
    for (machine, count) in [("few", 60), ("many", 70)] {
        let regions: Vec<Value> = names[..count].iter().map(region).collect();
        let definition = json!({"machine_id": machine, "regions": regions, "transitions": [
            {"region": "leaf3", "from": "leaf3", "to": "onleaf3", "on": "go"}]});
        let (status, body) = register(&world.other, &definition);
        assert_eq!(status, 201, "{body}");
    }
    for name in &names {
        let mut child = leaf();
        child["machine_id"] = json!(name);
        assert_eq!(register(&world.other, &child).0, 201);
    }
    // Registration has a bound of its own.
    world.sqlite.execute(
        "UPDATE revisions SET content_hash = machine_id, \
         definition = json_set(definition, '$.description', hex(zeroblob(125000))) WHERE machine_id LIKE 'leaf%'",
    );
    for engine in [&world.engine, &world.other] {
        let reply = evaluate(engine, "many", &event("e", "go", Some(1)));
        assert_eq!(code(&reply), (413, "PAYLOAD_TOO_LARGE"), "{}", reply.1);
        assert_eq!(world.sqlite.count("entities WHERE machine_id = 'many'"), 0);
        let answer = batch(
            engine,
            "many",
            &[event("e", "go", Some(1)), event("f", "go", Some(1))],
        );
        assert_eq!(answer["failed"], 2, "{answer}");
    }
    assert_eq!(
        send(&world.engine, "few", &event("e", "go", Some(1)))["instances"][0]["kind"],
        "started"
    );
}

/// Operations on trees of a tenant.
fn all_of(engine: &WorldEngine, name: &str) -> Vec<Reply> {
    let t = tenant(name);
    let mut replies = Vec::new();
    for definition in chain(3, "resume").into_iter().chain(shop()) {
        replies.push(reply(
            201,
            block_on(engine.create_machine(&t, definition.to_string().as_bytes())),
        ));
    }
    let sends = [
        ("l0", event("e", "none", Some(1))),
        ("l0", targeted("e", "step", Some(2), path(3))),
        (
            "leaf",
            event("e::sub::busy::sub::busy::sub::busy", "note", Some(3)),
        ),
        ("l0", event("e", "drop", Some(4))),
        ("l0", event("e", "again", Some(5))),
        ("shop", event("s", "start", Some(1))),
        ("shop", event("s", "picked", Some(2))),
        ("shop", event("s", "picked", Some(2))),
        ("l0", targeted("e", "finish", Some(6), path(3))),
        ("l1", event("f", "none", Some(1))),
    ];
    for (machine, body) in sends {
        replies.push(reply(
            200,
            block_on(engine.evaluate(Some(&t), machine, body.to_string().as_bytes())),
        ));
    }
    let events = json!({"events": [targeted("g", "none", Some(1), json!([])), targeted("e", "note", Some(9), path(1))]});
    replies.push(reply(
        200,
        block_on(engine.evaluate_batch(Some(&t), "l0", events.to_string().as_bytes())),
    ));
    for (machine, id) in [
        ("l0", "e"),
        ("l1", "e::sub::busy"),
        ("shop", "s"),
        ("leaf", "f::sub::busy::sub::busy"),
    ] {
        replies.push(reply(200, block_on(engine.get_tree(&t, machine, id))));
        replies.push(reply(200, block_on(engine.get_entity(&t, machine, id))));
        replies.push(reply(200, block_on(engine.events(&t, machine, id))));
    }
    replies.push(reply(
        204,
        block_on(engine.delete_entity(&t, "l1", "e::sub::busy")),
    ));
    replies.push(reply(204, block_on(engine.delete_entity(&t, "shop", "s"))));
    replies
}

fn unnumbered(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = unnumbered(item.take())),
        Value::Object(object) => {
            object.retain(|key, value| !(value.is_number() && (key == "id" || key.ends_with("row"))));
            object
                .values_mut()
                .for_each(|value| *value = unnumbered(value.take()));
        }
        _ => {}
    }
    value
}

/// What is stored of a tenant.
fn of_tenant(world: &World, name: &str) -> Vec<String> {
    let stored = world.stored();
    let mine = |line: &&str| {
        line.contains(&format!(" | {name} | "))
            || line.contains(&format!(": {name} | "))
            || line.contains(&format!("<{name}/"))
    };
    stored.lines().filter(mine).map(str::to_owned).collect()
}

#[test]
fn i9_no_tenant_sees_another_s_tree() {
    let alone = World::new();
    let expected = all_of(&alone.engine, "t1");
    for (place, (status, body)) in expected.iter().enumerate().take(17) {
        assert!(*status < 300, "operation {place}: {body}");
    }
    for name in ["t2", "t", "t1 ", "T1"] {
        let world = World::new();
        all_of(&world.other, name);
        let theirs = of_tenant(&world, name);
        assert!(theirs.len() > 20, "{theirs:#?}");
        for (place, (answer, expected)) in all_of(&world.engine, "t1").into_iter().zip(&expected).enumerate()
        {
            assert_eq!(
                answer.0, expected.0,
                "operation {place} beside `{name}`: {}",
                answer.1
            );
            assert_eq!(
                unnumbered(answer.1),
                unnumbered(expected.1.clone()),
                "operation {place} beside `{name}`"
            );
        }
        assert_eq!(of_tenant(&world, name), theirs, "beside `{name}`");
        assert_eq!(
            of_tenant(&world, "t1"),
            of_tenant(&alone, "t1"),
            "beside `{name}`"
        );
    }
}

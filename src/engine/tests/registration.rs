//! Machines that name others as children, on their way in: what is refused against the machines that are registered,
//! and what a new revision may not take from the entities that live.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value, json};
use support::faults::Fault;
use support::world::{Reply, World, create, delete_machine, evaluate, put, register, reply, t1, wider};
use support::{block_on, tenant};

const SEED: &str = "statemachine-e1e4.v1";

/// A flat child: `a` → `b` on `end`, `a` → `c` on `fail`.
fn flat(id: &str) -> Value {
    json!({"machine_id": id, "states": ["a", "b", "c"], "initial_state": "a", "transitions": [
        {"from": "a", "to": "b", "on": "end"}, {"from": "a", "to": "c", "on": "fail"}]})
}

/// `start` → `work` on `go`; `work` has the child, which leads to `done` or `off`.
fn parent(id: &str, child: &str) -> Value {
    json!({"machine_id": id, "states": ["start", "work", "done", "off"], "initial_state": "start",
        "transitions": [{"from": "start", "to": "work", "on": "go"}, {"from": "work", "to": "off", "on": "stop"}],
        "sub_machines": {"work": {"machine_id": child, "lifecycle": "managed",
            "on_final": {"b": "done", "c": "off"}}}})
}

/// A machine of two regions with a managed child in the second.
fn link(id: &str, child: &str) -> Value {
    json!({"machine_id": id, "regions": [
            {"id": "l", "states": ["off"], "initial_state": "off"},
            {"id": "r", "states": ["off", "on"], "initial_state": "off", "sub_machines": {
                "on": {"machine_id": child, "lifecycle": "managed"}}}],
        "transitions": [{"region": "r", "from": "off", "to": "on", "on": "go"}]})
}

fn in_seed(mut definition: Value) -> Value {
    definition["contract"] = SEED.into();
    definition
}

/// Status, and of a refusal its code and the paths of its faults.
fn told((status, body): Reply) -> (u16, String, Vec<String>) {
    let faults = body["error"]["faults"].as_array().cloned().unwrap_or_default();
    let paths = faults
        .iter()
        .map(|fault| fault["path"].as_str().unwrap().to_owned());
    let code = body["error"]["code"].as_str().unwrap_or_default();
    (status, code.to_owned(), paths.collect())
}

fn refused(path: &str) -> (u16, String, Vec<String>) {
    (400, "BAD_REQUEST".to_owned(), vec![path.to_owned()])
}

fn validate(world: &World, tenant: Option<&str>, definition: &Value) -> Value {
    let tenant = tenant.map(support::tenant);
    let (status, body) = reply(
        200,
        block_on(
            world
                .engine
                .validate(tenant.as_ref(), definition.to_string().as_bytes()),
        ),
    );
    assert_eq!(status, 200);
    body
}

fn registered(world: &World, definitions: &[Value]) {
    for definition in definitions {
        let (status, body) = register(&world.engine, definition);
        assert_eq!(status, 201, "{body}");
    }
}

fn text(world: &World, sql: &str) -> String {
    world
        .sqlite
        .connection
        .borrow()
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

fn go(world: &World, machine: &str, entity: &str, event: &str) {
    let body = json!({"event_type": event, "entity_key": "id", "params": {"id": entity}, "timestamp": 1});
    let (status, answer) = evaluate(&world.other, machine, &body);
    assert_eq!(status, 200, "{answer}");
    assert_ne!(answer["transition"], Value::Null, "{answer}");
}

/// Makes an entity the child of another, in the rows alone.
fn adopt(world: &World, child: (&str, &str), parent: (&str, &str), status: &str, wakes: bool) {
    let ended = if status == "active" { "NULL" } else { "5" };
    let with = if wakes { "c.uid" } else { "NULL" };
    let current = u8::from(wakes || status == "active");
    let rows = world.sqlite.execute(&format!(
        "INSERT INTO instances (uid, tenant, machine_id, entity_id, root_uid, root_machine, root_entity, parent_uid, \
           parent_machine, parent_entity, region, state, seq, first_seq, kind, status, depth, path, started, ended, current, \
           cancelled_with) \
         SELECT c.uid, c.tenant, c.machine_id, c.entity_id, p.uid, p.machine_id, p.entity_id, p.uid, p.machine_id, \
           p.entity_id, '_', 'work', 2, 2, 'managed', '{status}', 1, '[]', 1, {ended}, {current}, {with} \
         FROM entities c, entities p WHERE c.machine_id = '{}' AND c.entity_id = '{}' AND p.machine_id = '{}' \
           AND p.entity_id = '{}'",
        child.0, child.1, parent.0, parent.1
    ));
    assert_eq!(rows, 1);
}

fn live((status, body): Reply) -> Vec<Value> {
    assert_eq!(
        (status, &body["error"]["code"]),
        (409, &json!("LIVE_STATES")),
        "{body}"
    );
    assert_eq!(body["error"]["retry"], json!(false));
    body["error"]["live"].as_array().unwrap().clone()
}

fn at(region: &str, state: &str, entities: u64) -> Value {
    json!({"region": region, "state": state, "entities": entities})
}

#[test]
fn a_revision_stores_the_machines_that_it_names() {
    let world = World::new();
    let mut definition = link("m", "z");
    definition["regions"][0]["sub_machines"] =
        json!({"off": {"machine_id": "b\"\u{e9}", "lifecycle": "managed"}});
    registered(&world, &[flat("plain"), definition.clone()]);
    let refers = "SELECT group_concat(refers, ' ') FROM (SELECT refers FROM revisions ORDER BY machine_id DESC, revision)";
    assert_eq!(text(&world, refers), "[] [\"b\\\"\u{e9}\",\"z\"]");
    definition["regions"][0]
        .as_object_mut()
        .unwrap()
        .remove("sub_machines");
    assert_eq!(put(&world.engine, &definition, "follow").0, 200);
    assert_eq!(text(&world, refers), "[] [\"b\\\"\u{e9}\",\"z\"] [\"z\"]");
}

#[test]
fn s2_46_a_cycle_is_refused_where_it_closes() {
    let world = World::new();
    registered(&world, &[link("a", "b"), link("b", "c")]);
    let path = "$.regions[1].sub_machines.on.machine_id";
    let (status, body) = register(&world.engine, &link("c", "a"));
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`c` → `a` → `b` → `c`"),
        "{body}"
    );
    assert_eq!(told((status, body)), refused(path));
    let stored = "SELECT count(*) || ' ' || (SELECT count(*) FROM machines) FROM revisions";
    assert_eq!(text(&world, stored), "2 2", "S2.39: nothing is stored");
    registered(&world, &[link("c", "d")]);
    assert_eq!(told(put(&world.engine, &link("c", "a"), "follow")), refused(path));
    assert_eq!(told(put(&world.engine, &link("c", "a"), "pin")), refused(path));
    assert_eq!(text(&world, stored), "3 3");
    assert_eq!(told(register(&world.engine, &link("e", "e"))), refused(path));
    // What `a` replaces leads nowhere any more.
    assert_eq!(put(&world.engine, &link("a", "x"), "follow").0, 200);
    assert_eq!(put(&world.engine, &link("c", "a"), "follow").0, 200);
    assert_eq!(told(put(&world.engine, &link("a", "b"), "follow")), refused(path));
}

#[test]
fn s2_47_eight_levels_and_not_nine() {
    for contract in ["statewright.v1", SEED] {
        let world = World::new();
        let link = |id: &str, child: &str| {
            let mut definition = link(id, child);
            definition["contract"] = contract.into();
            definition
        };
        for level in (1..9).rev() {
            registered(&world, &[link(&format!("m{level}"), &format!("m{}", level + 1))]);
        }
        // `m8` names `m9`, registered or not: below `m0` that is level 9.
        assert_eq!(
            told(register(&world.engine, &link("m0", "m1"))),
            refused("$.regions[1].sub_machines.on.machine_id")
        );
        registered(&world, &[link("n", "m2")]);
        let mut legacy = link("o", "m1");
        legacy["regions"][1]["sub_machines"]["on"]
            .as_object_mut()
            .unwrap()
            .remove("lifecycle");
        registered(&world, &[legacy]);
    }
}

#[test]
fn s2_48_s2_49_what_a_child_does_not_have() {
    let world = World::new();
    let mut definition = parent("parent", "child");
    definition["sub_machines"]["work"]["complete_when"] = json!([{"when": {"r": "on"}, "target": "done"}]);
    registered(&world, std::slice::from_ref(&definition));
    registered(&world, &[link("child", "nobody")]);
    let faults = [
        "$.sub_machines.work.on_final",
        "$.sub_machines.work.complete_when[0].when",
    ];
    let (status, _, paths) = told(put(&world.engine, &definition, "follow"));
    assert_eq!(
        (status, paths),
        (400, faults.map(str::to_owned).to_vec()),
        "R8, S2.48"
    );
    assert_eq!(delete_machine(&world.engine, "child").0, 204);
    assert_eq!(
        put(&world.engine, &definition, "follow").0,
        200,
        "a deleted machine is none"
    );
    registered(&world, &[in_seed(link("child", "nobody"))]);
    assert_eq!(
        told(put(&world.engine, &definition, "follow")),
        refused("$.sub_machines.work.machine_id"),
        "a tree has one contract"
    );
}

#[test]
fn validate_says_what_a_registration_would() {
    let world = World::new();
    registered(&world, &[link("child", "nobody")]);
    let definition = parent("parent", "child");
    let none = validate(&world, None, &definition);
    assert_eq!(none, json!({"valid": true, "faults": [], "warnings": []}));
    assert_eq!(
        validate(&world, Some("t2"), &definition),
        none,
        "I9: another tenant's machines are none"
    );
    let some = validate(&world, Some("t1"), &definition);
    assert_eq!(some["valid"], json!(false));
    assert_eq!(some["faults"][0]["path"], json!("$.sub_machines.work.on_final"));
    let (_, refusal) = register(&world.engine, &definition);
    assert_eq!(refusal["error"]["faults"], some["faults"]);
    assert_eq!(text(&world, "SELECT count(*) || '' FROM machines"), "1");
    let other = block_on(
        world
            .engine
            .create_machine(&tenant("t2"), definition.to_string().as_bytes()),
    );
    assert!(other.is_ok(), "I9");
}

#[test]
fn s2_196_the_warning_comes_with_every_answer() {
    let world = World::new();
    registered(&world, &[flat("child")]);
    let mut definition = parent("parent", "child");
    definition["sub_machines"]["work"]["on_final"] = json!({"b": "done"});
    let warned = |body: &Value| {
        assert_eq!(body["warnings"].as_array().unwrap().len(), 1, "{body}");
        assert_eq!(body["warnings"][0]["kind"], json!("uncovered_completion"));
        assert_eq!(body["warnings"][0]["path"], json!("$.sub_machines.work.on_final"));
    };
    warned(&validate(&world, Some("t1"), &definition));
    warned(&register(&world.engine, &definition).1);
    warned(&put(&world.engine, &definition, "follow").1);
    // An answer that was lost says the same.
    world.faulty.arm([(1, Fault::After)]);
    let (status, body) = put(&world.engine, &definition, "pin");
    assert!(world.faulty.struck());
    assert_eq!((status, &body["revision"]), (200, &json!(3)));
    warned(&body);
    assert!(
        validate(&world, None, &definition)["warnings"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn s2_49_two_that_are_registered_at_the_same_time_do_not_see_each_other() {
    let world = World::new();
    registered(&world, &[link("b", "x")]);
    let meanwhile = Rc::clone(&world);
    world.faulty.arm([(
        1,
        Fault::Meanwhile(Rc::new(move || {
            assert_eq!(put(&meanwhile.other, &link("b", "a"), "follow").0, 200);
        })),
    )]);
    // Neither sees the other: the bound on depth bites when a child starts (S2.181).
    assert_eq!(register(&world.engine, &link("a", "b")).0, 201);
    assert!(world.faulty.struck());
    // And whoever comes next sees both, and comes to an end.
    assert_eq!(told(register(&world.engine, &link("c", "a"))).0, 400);
}

#[test]
fn what_a_definition_reaches_is_bounded() {
    let world = World::new();
    let mut names = serde_json::Map::new();
    for child in 0..70 {
        let mut definition = flat(&format!("child{child}"));
        definition["meta"] = json!("x".repeat(250_000));
        registered(&world, &[definition]);
        names.insert(
            format!("s{child}"),
            json!({"machine_id": format!("child{child}")}),
        );
    }
    let states: Vec<String> = std::iter::once("start".to_owned())
        .chain((0..70).map(|child| format!("s{child}")))
        .collect();
    let mut definition = json!({"machine_id": "m", "states": states, "initial_state": "start", "transitions": [],
        "sub_machines": names});
    let (status, body) = register(&world.engine, &definition);
    assert_eq!(
        (status, &body["error"]["code"]),
        (413, &json!("PAYLOAD_TOO_LARGE")),
        "{body}"
    );
    let checked = block_on(
        world
            .engine
            .validate(Some(&t1()), definition.to_string().as_bytes()),
    );
    assert_eq!(checked.unwrap_err().status(), 413);
    // Below a child only their names count.
    let subs = definition["sub_machines"].as_object_mut().unwrap();
    let (_, kept) = subs.iter_mut().next().unwrap();
    let kept = kept.clone();
    subs.clear();
    subs.insert("s0".to_owned(), kept);
    definition["machine_id"] = json!("small");
    registered(&world, &[definition]);
}

#[test]
fn a_registration_is_one_read_and_one_write() {
    let world = World::new();
    registered(&world, &[flat("child"), parent("parent", "child")]);
    world.sqlite.taken();
    registered(&world, &[link("top", "parent")]);
    assert_eq!(world.sqlite.taken().len(), 2);
    validate(&world, Some("t1"), &link("top", "parent"));
    validate(&world, Some("t1"), &flat("flat"));
    validate(&world, None, &link("top", "parent"));
    assert_eq!(
        world.sqlite.taken().len(),
        1,
        "only where there is something to look up"
    );
}

/// What a new revision changes about the child of `work`, and whether that touches those who are in it.
fn changes() -> Vec<(&'static str, Value, bool)> {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut definition = parent("parent", "child");
        change(&mut definition);
        definition
    };
    let sub = |key: &'static str, value: Value| {
        changed(&move |definition| definition["sub_machines"]["work"][key] = value.clone())
    };
    vec![
        (
            "removed",
            changed(&|definition| {
                definition.as_object_mut().unwrap().remove("sub_machines");
            }),
            true,
        ),
        ("another machine", sub("machine_id", json!("other")), true),
        (
            "another lifecycle",
            changed(&|definition| {
                let sub = definition["sub_machines"]["work"].as_object_mut().unwrap();
                sub.remove("lifecycle");
            }),
            true,
        ),
        (
            "moved",
            changed(&|definition| {
                let sub = definition["sub_machines"].as_object_mut().unwrap();
                let work = sub.remove("work").unwrap();
                sub.insert("off".to_owned(), work);
            }),
            true,
        ),
        ("another reentry", sub("reentry", json!("fresh")), false),
        (
            "another target",
            sub("on_final", json!({"b": "done", "c": "done"})),
            false,
        ),
        (
            "another rule",
            sub("complete_when", json!([{"when": {"_": "b"}, "target": "done"}])),
            false,
        ),
        ("a label", wider(parent("parent", "child")), false),
        (
            "another elsewhere",
            changed(&|definition| {
                definition["sub_machines"]["off"] = json!({"machine_id": "child"});
            }),
            false,
        ),
    ]
}

#[test]
fn m15_a_child_is_not_changed_under_those_who_are_in_its_state() {
    for (what, changed, touches) in changes() {
        let world = World::new();
        registered(&world, &[flat("child"), flat("other"), parent("parent", "child")]);
        create(&world.engine, "parent", "elsewhere");
        for entity in ["e1", "e2"] {
            go(&world, "parent", entity, "go");
        }
        if touches {
            assert_eq!(
                live(put(&world.engine, &changed, "follow")),
                [at("_", "work", 2)],
                "{what}"
            );
            assert_eq!(put(&world.engine, &changed, "pin").0, 200, "{what}");
        } else {
            assert_eq!(put(&world.engine, &changed, "follow").0, 200, "{what}");
        }
        let world = World::new();
        registered(&world, &[flat("child"), flat("other"), parent("parent", "child")]);
        create(&world.engine, "parent", "elsewhere");
        assert_eq!(
            put(&world.engine, &changed, "follow").0,
            200,
            "{what}: nobody is there"
        );
    }
}

#[test]
fn m15_a_child_is_not_added_under_those_who_are_in_its_state() {
    let world = World::new();
    let mut without = parent("parent", "child");
    without.as_object_mut().unwrap().remove("sub_machines");
    registered(&world, &[flat("child"), without]);
    go(&world, "parent", "e", "go");
    assert_eq!(
        live(put(&world.engine, &parent("parent", "child"), "follow")),
        [at("_", "work", 1)]
    );
    go(&world, "parent", "e", "stop");
    assert_eq!(put(&world.engine, &parent("parent", "child"), "follow").0, 200);
}

#[test]
fn m15_who_comes_in_while_a_child_is_taken_is_seen() {
    let world = World::new();
    registered(&world, &[flat("child"), parent("parent", "child")]);
    create(&world.engine, "parent", "e");
    let mut without = parent("parent", "child");
    without.as_object_mut().unwrap().remove("sub_machines");
    let meanwhile = Rc::clone(&world);
    // The machine, the live entities, and then the write.
    world.faulty.arm([(
        2,
        Fault::Meanwhile(Rc::new(move || go(&meanwhile, "parent", "e", "go"))),
    )]);
    assert_eq!(
        live(put(&world.engine, &without, "follow")),
        [at("_", "work", 1)],
        "the batch found it, and was decided again"
    );
    assert!(world.faulty.struck());
}

/// A world in which entities of `child` are children of a `parent` that is at its start.
fn children(states: &[(&str, bool)]) -> Rc<World> {
    let world = World::new();
    registered(&world, &[flat("child"), parent("parent", "child")]);
    create(&world.engine, "parent", "p");
    for (place, (status, wakes)) in states.iter().enumerate() {
        let entity = format!("c{place}");
        create(&world.engine, "child", &entity);
        adopt(&world, ("child", &entity), ("parent", "p"), status, *wakes);
    }
    world
}

/// The child without the state that its entities are in.
fn narrower() -> Value {
    json!({"machine_id": "child", "states": ["b", "c"], "initial_state": "b", "transitions": []})
}

#[test]
fn what_ended_for_good_does_not_count_as_live() {
    let ended = children(&[("completed", false), ("cancelled", false)]);
    assert_eq!(put(&ended.engine, &narrower(), "follow").0, 200);
    for (status, wakes) in [("active", false), ("cancelled", true)] {
        let world = children(&[("completed", false), (status, wakes)]);
        assert_eq!(
            live(put(&world.engine, &narrower(), "follow")),
            [at("_", "a", 1)],
            "{status}"
        );
        let mut parallel = link("child", "nobody");
        parallel["regions"][0]["id"] = json!("_");
        parallel["regions"][0]["states"] = json!(["a", "b", "c"]);
        parallel["regions"][0]["initial_state"] = json!("a");
        assert_eq!(
            live(put(&world.engine, &parallel, "follow")),
            [json!({"region": "r", "state": null, "entities": 1})],
            "{status}: a region more"
        );
    }
    let mut parallel = link("child", "nobody");
    parallel["regions"][0]["id"] = json!("_");
    parallel["regions"][0]["states"] = json!(["a", "b", "c"]);
    parallel["regions"][0]["initial_state"] = json!("a");
    let ended = children(&[("completed", false)]);
    assert_eq!(put(&ended.engine, &parallel, "follow").0, 200);
}

#[test]
fn children_that_the_engine_made_count_while_they_live_or_can_wake() {
    for (reentry, wakes) in [("refuse", false), ("fresh", false), ("resume", true)] {
        let world = World::new();
        let mut definition = parent("parent", "child");
        definition["sub_machines"]["work"]["reentry"] = json!(reentry);
        registered(&world, &[flat("child"), definition]);
        go(&world, "parent", "e", "go");
        let seed = in_seed(flat("child"));
        for changed in [&narrower(), &seed] {
            assert_eq!(
                live(put(&world.engine, changed, "follow")),
                [at("_", "a", 1)],
                "{reentry}"
            );
        }
        // It is cancelled, and the parent has gone on.
        go(&world, "parent", "e", "stop");
        for changed in [&narrower(), &seed] {
            let answer = put(&world.engine, changed, "follow");
            if wakes {
                assert_eq!(live(answer), [at("_", "a", 1)], "{reentry}");
            } else {
                assert_eq!(answer.0, 200, "{reentry}: {}", answer.1);
            }
        }
    }
}

#[test]
fn a_tree_goes_on_after_its_ended_child_lost_its_state() {
    let world = World::new();
    let mut definition = parent("parent", "child");
    definition["transitions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"from": "off", "to": "done", "on": "finish"}));
    registered(&world, &[flat("child"), definition]);
    go(&world, "parent", "e", "go");
    go(&world, "parent", "e", "stop");
    assert_eq!(put(&world.engine, &narrower(), "follow").0, 200);
    // It stays readable by the revision that it ended under.
    let (status, child) = reply(
        200,
        block_on(world.engine.get_entity(&t1(), "child", "e::sub::work")),
    );
    assert_eq!((status, &child["current_state"]), (200, &json!("a")));
    assert_eq!(child["instance"]["status"], json!("cancelled"));
    go(&world, "parent", "e", "finish");
}

#[test]
fn what_wakes_while_its_state_is_taken_is_seen() {
    let world = children(&[("cancelled", false)]);
    let meanwhile = Rc::clone(&world);
    world.faulty.arm([(
        2,
        Fault::Meanwhile(Rc::new(move || {
            let rows = meanwhile
                .sqlite
                .execute("UPDATE instances SET cancelled_with = uid, current = 1");
            assert_eq!(rows, 1);
        })),
    )]);
    assert_eq!(live(put(&world.engine, &narrower(), "follow")), [at("_", "a", 1)]);
    assert!(world.faulty.struck());
}

#[test]
fn a_contract_is_not_changed_under_a_live_tree() {
    let seed = || in_seed(flat("child"));
    for (status, wakes) in [("active", false), ("cancelled", true)] {
        let world = children(&[(status, wakes), ("completed", false)]);
        assert_eq!(
            live(put(&world.engine, &seed(), "follow")),
            [at("_", "a", 1)],
            "{status}"
        );
        assert_eq!(put(&world.engine, &seed(), "pin").0, 200, "{status}");
        // The registered child has the other contract now; those that live on do not.
        let parent = in_seed(parent("parent", "child"));
        assert_eq!(
            live(put(&world.engine, &parent, "follow")),
            [at("_", "start", 1)],
            "{status}"
        );
    }
    let ended = children(&[("completed", false), ("cancelled", false)]);
    assert_eq!(put(&ended.engine, &seed(), "follow").0, 200);
    let alone = children(&[]);
    create(&alone.engine, "child", "root");
    assert_eq!(
        put(&alone.engine, &seed(), "follow").0,
        200,
        "an entity without kin"
    );
}

#[test]
fn a_child_that_starts_while_a_contract_is_changed_is_seen() {
    let world = children(&[]);
    create(&world.engine, "child", "c");
    let meanwhile = Rc::clone(&world);
    world.faulty.arm([(
        2,
        Fault::Meanwhile(Rc::new(move || {
            adopt(&meanwhile, ("child", "c"), ("parent", "p"), "active", false);
        })),
    )]);
    assert_eq!(
        live(put(&world.engine, &in_seed(flat("child")), "follow")),
        [at("_", "a", 1)]
    );
    assert!(world.faulty.struck());
}

#[test]
fn a_database_of_the_first_schema_has_revisions_that_name_nobody() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection
        .execute_batch(include_str!("../migrations/0001_initial.sql"))
        .unwrap();
    let definition = flat("child").to_string();
    connection
        .execute(
            "INSERT INTO revisions VALUES ('t1', 'child', 1, 1, NULL, 'h', NULL, ?1, 'c', 1)",
            [definition],
        )
        .unwrap();
    connection
        .execute_batch(include_str!("../migrations/0002_children.sql"))
        .unwrap();
    let refers: String = connection
        .query_row("SELECT refers FROM revisions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(refers, "[]");
}

/// The plan of a statement, line by line.
fn plan(world: &World, sql: &str) -> Vec<String> {
    let connection = world.sqlite.connection.borrow();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(3).unwrap());
    }
    lines
}

#[test]
fn every_statement_finds_its_rows_by_an_index() {
    let world = children(&[("active", false)]);
    world.sqlite.taken();
    assert_eq!(live(put(&world.engine, &narrower(), "follow")).len(), 1);
    assert_eq!(
        live(put(&world.engine, &in_seed(flat("child")), "follow")).len(),
        1
    );
    world.sqlite.execute("DELETE FROM instances");
    // Without kin: everything is looked for again in the batch.
    world.sqlite.execute("DELETE FROM entries");
    world.sqlite.execute("DELETE FROM entities");
    let mut other = in_seed(narrower());
    other["regions"] = json!([{"id": "r", "states": ["x"], "initial_state": "x"}]);
    for key in ["states", "initial_state"] {
        other.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(put(&world.engine, &other, "follow").0, 200);
    let statements: BTreeSet<&str> = world.sqlite.taken().into_iter().flatten().collect();
    let parents = parent("grand", "parent");
    assert_eq!(register(&world.engine, &parents).0, 400);
    let family = world.sqlite.taken();
    let families = family[0].iter().filter(|sql| sql.contains("reached"));
    let of_children = statements.iter().filter(|sql| sql.contains("instances"));
    let mut checked = 0;
    for sql in of_children.chain(families) {
        checked += 1;
        let plan = plan(&world, sql);
        for line in &plan {
            assert!(!line.contains("AUTOMATIC"), "{sql}\n{plan:#?}");
            for table in ["machines", "revisions", "entities", "entries", "instances"] {
                assert!(!line.contains(&format!("SCAN {table}")), "{sql}\n{plan:#?}");
            }
            for alias in ["m", "r", "v", "e", "i", "k", "c"] {
                let scanned = line == &format!("SCAN {alias}") || line.starts_with(&format!("SCAN {alias} "));
                assert!(!scanned, "{sql}\n{plan:#?}");
            }
            // By its whole key, or by what its index begins with.
            for (name, least) in [
                ("m", "(tenant=? AND machine_id=?)"),
                ("v", "(tenant=? AND machine_id=? AND revision=?)"),
                ("r", "(tenant=? AND machine_id=? AND revision=?)"),
                ("i", "(uid=?)"),
                ("k", "(uid=?)"),
                ("c", "(root_uid=? AND current=? AND parent_uid=?)"),
            ] {
                if line.starts_with(&format!("SEARCH {name} ")) {
                    assert!(line.contains(least), "{sql}\n{line}");
                }
            }
        }
    }
    assert_eq!(
        checked, 7,
        "six that look for who lives, and the one that reads the family"
    );
}

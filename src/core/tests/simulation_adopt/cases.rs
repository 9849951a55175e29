//! Trees and histories by hand: what sleeps, has ended, is due, parked or waited for, and what is refused.

use serde_json::{Value, json};
use statewright_core::simulation::Session;

use super::{Name, about, begin, by_rows, done, entities, rows, seen, shown};

/// Takes an entity of one simulation into another of the same machines.
fn fork(session: &mut Session, machines: &[Value], root: &Name) -> Session {
    let mut adopted = begin(machines);
    let body = shown(session, root);
    done(&mut adopted, "adopt", json!({"body": body, "at": session.now()}));
    adopted
}

/// Does the same in both, and looks whether it is. Gives the bodies.
fn both(session: &mut Session, adopted: &mut Session, ops: &[(&str, Value)]) -> Vec<Value> {
    let before = done(session, "effects", json!({})).as_array().unwrap().len();
    assert_eq!(seen(session, before), seen(adopted, 0));
    let one = |(op, args): &(&str, Value)| {
        let (mut wanted, mut reply) = (session.perform(op, args), adopted.perform(op, args));
        by_rows(&mut wanted.body, &rows(session));
        by_rows(&mut reply.body, &rows(adopted));
        assert_eq!(wanted, reply, "{op} {args}");
        assert_eq!(seen(session, before), seen(adopted, 0), "{op} {args}");
        reply.body
    };
    ops.iter().map(one).collect()
}

const DUPLICATE: &str = "duplicate event (already processed)";

fn send(machine: &str, entity: &str, body: Value) -> (&'static str, Value) {
    (
        "transition",
        json!({"machine_id": machine, "entity_id": entity, "body": body}),
    )
}

fn leaf() -> Value {
    json!({"machine_id": "leaf", "states": ["a", "b", "done"], "initial_state": "a", "transitions": [
        {"from": "a", "to": "b", "on": "step"}, {"from": "b", "to": "a", "on": "step"},
        {"from": "b", "to": "done", "on": "$timeout", "guard": {"timeout_seconds": 10}}]})
}

/// In `busy` at first, with a managed child there.
fn link(machine: &str, child: &str, reentry: &str) -> Value {
    json!({"machine_id": machine, "states": ["busy", "done", "off"], "initial_state": "busy",
        "transitions": [{"from": "busy", "to": "off", "on": "drop"}, {"from": "off", "to": "busy", "on": "again"},
            {"from": "done", "to": "busy", "on": "again"}],
        "sub_machines": {"busy": {"machine_id": child, "lifecycle": "managed", "on_final": {"done": "done"},
            "reentry": reentry}}})
}

/// Three levels of children below `l0`.
fn chain(reentry: &str) -> Vec<Value> {
    vec![
        leaf(),
        link("l2", "leaf", reentry),
        link("l1", "l2", reentry),
        link("l0", "l1", reentry),
    ]
}

fn path(levels: usize) -> Value {
    vec![json!({"state": "busy"}); levels].into()
}

fn root() -> Name {
    ("l0".to_owned(), "e".to_owned())
}

fn chained(reentry: &str) -> (Vec<Value>, Session) {
    let machines = chain(reentry);
    let mut session = begin(&machines);
    done(
        &mut session,
        "create",
        json!({"machine_id": "l0", "at": 1_000, "body": {"entity_id": "e"}}),
    );
    (machines, session)
}

#[test]
fn m9_what_sleeps_by_itself_and_what_sleeps_with_its_parent_wakes_with_that() {
    // All at one time, and by events of one identity: only the order of the rows tells which was ended by which.
    for levels in [[1, 0], [2, 0], [2, 1], [0, 0]] {
        let (machines, mut session) = chained("resume");
        for level in levels {
            let drop = json!({"event_type": "drop", "timestamp": 5, "target": path(level)});
            session.perform("transition", &send("l0", "e", drop).1);
        }
        let mut adopted = fork(&mut session, &machines, &root());
        let again = |level| send("l0", "e", json!({"event_type": "again", "target": path(level)}));
        let ends = both(
            &mut session,
            &mut adopted,
            &[
                again(0),
                again(1),
                again(2),
                send("l0", "e", json!({"event_type": "step", "target": path(3)})),
            ],
        );
        assert_eq!(ends[3]["current_state"], "b", "{}", ends[3]);
    }
}

#[test]
fn r9b_the_generations_of_a_child_are_found_by_the_entries_that_they_belonged_to() {
    for reentry in ["resume", "fresh"] {
        let (machines, mut session) = chained(reentry);
        let stepped = json!({"event_type": "step", "timestamp": 7, "target": path(3)});
        done(&mut session, "transition", send("l0", "e", stepped).1);
        for event in ["drop", "again", "drop", "again"] {
            let body = json!({"event_type": event, "target": []});
            done(&mut session, "transition", send("l0", "e", body).1);
        }
        let mut adopted = fork(&mut session, &machines, &root());
        // Its replay, at the entry of then and at any.
        for seq in [json!(1), json!(2), json!(3), Value::Null] {
            let target = json!([{"state": "busy", "seq": seq}, {"state": "busy"}, {"state": "busy"}]);
            let replay = json!({"event_type": "step", "timestamp": 7, "target": target});
            let bodies = both(&mut session, &mut adopted, &[send("l0", "e", replay)]);
            let found = reentry == "resume" || seq == 1 || seq == Value::Null;
            assert_eq!(
                bodies[0]["reason"] == DUPLICATE,
                found,
                "{reentry} {seq}: {}",
                bodies[0]
            );
        }
        let deleted = if reentry == "fresh" {
            "e::sub::busy::5"
        } else {
            "e::sub::busy"
        };
        both(
            &mut session,
            &mut adopted,
            &[
                ("delete", json!({"machine_id": "l1", "entity_id": deleted})),
                send("l0", "e", json!({"event_type": "drop"})),
                ("delete", json!({"machine_id": "l1", "entity_id": deleted})),
                send("l0", "e", json!({"event_type": "again"})),
            ],
        );
    }
}

#[test]
fn s2_189_what_has_ended_is_there_and_moves_on_as_before() {
    let (machines, mut session) = chained("fresh");
    for at in [2_000, 30_000] {
        let step = json!({"event_type": "step", "target": path(3)});
        done(&mut session, "transition", send("l0", "e", step).1);
        // The leaf's end moves on all above it.
        done(&mut session, "advance", json!({"to": at + 11_000}));
        let again = done(
            &mut session,
            "transition",
            send("l0", "e", json!({"event_type": "again"})).1,
        );
        assert_eq!(again["current_state"], "busy");
    }
    let mut adopted = fork(&mut session, &machines, &root());
    both(
        &mut session,
        &mut adopted,
        &[
            send(
                "leaf",
                "e::sub::busy::sub::busy::sub::busy",
                json!({"event_type": "step"}),
            ),
            send("l0", "e", json!({"event_type": "step", "target": path(3)})),
            ("advance", json!({"to": 90_000})),
            send("l0", "e", json!({"event_type": "again"})),
            ("delete", json!({"machine_id": "l0", "entity_id": "e"})),
        ],
    );
}

#[test]
fn m5_timers_that_are_overdue_fire_as_they_would_have() {
    let (machines, mut session) = chained("fresh");
    let step = json!({"event_type": "step", "target": path(3)});
    done(&mut session, "transition", send("l0", "e", step).1);
    done(&mut session, "entities", json!({"at": 60_000}));
    let mut adopted = fork(&mut session, &machines, &root());
    assert_eq!(done(&mut adopted, "due", json!({}))["at"], 11_000);
    let mut late = adopted.clone();
    let ticked = both(&mut session.clone(), &mut late, &[("tick", json!({}))]);
    assert_eq!(
        (&ticked[0]["fired"], &ticked[0]["lag_ms"]),
        (&json!(1), &json!(49_000))
    );
    both(
        &mut session,
        &mut adopted,
        &[send("l0", "e", json!({"event_type": "again"}))],
    );
}

#[test]
fn m6_a_parked_timer_waits_for_its_release() {
    let machines = [
        json!({"machine_id": "job", "states": ["queued", "busy", "done"], "initial_state": "queued",
            "transitions": [{"from": "queued", "to": "busy", "on": "$timeout", "guard": {"timeout_seconds": 10}}],
            "sub_machines": {"busy": {"machine_id": "work", "lifecycle": "managed", "on_final": {"done": "done"}}}}),
        json!({"machine_id": "work", "states": ["todo", "done"], "initial_state": "todo",
            "transitions": [{"from": "todo", "to": "done", "on": "do"}]}),
    ];
    let mut session = begin(&machines[..1]);
    done(
        &mut session,
        "create",
        json!({"machine_id": "job", "body": {"entity_id": "j"}}),
    );
    done(&mut session, "advance", json!({"to": 10_000}));
    let job = ("job".to_owned(), "j".to_owned());
    let mut adopted = fork(&mut session, &machines[..1], &job);
    let released = ("release", about(&job));
    let bodies = both(
        &mut session,
        &mut adopted,
        &[
            ("advance", json!({"to": 20_000})),
            ("register", json!({"body": machines[1]})),
            released,
            ("tick", json!({})),
            send(
                "job",
                "j",
                json!({"event_type": "do", "target": [{"state": "busy"}]}),
            ),
        ],
    );
    assert_eq!(bodies[2]["released"], 1);
}

#[test]
fn a_join_that_waits_is_made_by_what_is_left() {
    let machine = json!({"machine_id": "order",
        "regions": [
            {"id": "pay", "states": ["open", "paid"], "initial_state": "open"},
            {"id": "pick", "states": ["open", "picked", "sent"], "initial_state": "open"}],
        "transitions": [{"region": "pay", "from": "open", "to": "paid", "on": "pay"},
            {"region": "pick", "from": "open", "to": "picked", "on": "pick"}],
        "joins": [{"when": {"pay": "paid", "pick": "picked"}, "target_region": "pick", "target_state": "sent"}]});
    let mut session = begin(std::slice::from_ref(&machine));
    done(
        &mut session,
        "create",
        json!({"machine_id": "order", "body": {"entity_id": "o", "context": {"n": 1}}}),
    );
    let pay = json!({"event_type": "pay", "timestamp": 3, "params": {"amount": 5}});
    done(&mut session, "transition", send("order", "o", pay.clone()).1);
    let mut adopted = fork(&mut session, &[machine], &("order".to_owned(), "o".to_owned()));
    let mut other = pay.clone();
    other["params"]["amount"] = json!(6);
    let bodies = both(
        &mut session,
        &mut adopted,
        &[
            send("order", "o", pay),
            send("order", "o", other),
            send("order", "o", json!({"event_type": "pick"})),
        ],
    );
    assert_eq!(bodies[0]["reason"], DUPLICATE);
    assert_eq!(bodies[1]["error"]["code"], "EVENT_IDENTITY_CONFLICT");
    assert_eq!(bodies[2]["current_state"], json!({"pay": "paid", "pick": "sent"}));
}

#[test]
fn the_clock_is_turned_on_to_what_was_written_last() {
    let (machines, mut session) = chained("fresh");
    let body = shown(&mut session, &root());
    let mut adopted = begin(&machines);
    let answer = done(&mut adopted, "adopt", json!({"body": body}));
    assert_eq!((adopted.now().0, &answer), (1_000, &body["tree"]));
    done(&mut adopted, "undo", json!({}));
    assert_eq!((adopted.now().0, entities(&mut adopted).len()), (0, 0));
}

#[test]
fn rows_that_are_not_given_are_not_missed() {
    let (machines, mut session) = chained("resume");
    for event in ["drop", "again"] {
        done(
            &mut session,
            "transition",
            send("l0", "e", json!({"event_type": event})).1,
        );
    }
    let mut body = shown(&mut session, &root());
    body["history"] = Value::Null;
    let mut adopted = begin(&machines);
    done(&mut adopted, "adopt", json!({"body": body}));
    assert_eq!(done(&mut adopted, "history", about(&root())), json!([]));
    let step = send("l0", "e", json!({"event_type": "step", "target": path(3)}));
    assert_eq!(done(&mut adopted, "transition", step.1)["current_state"], "b");
}

#[test]
fn what_contradicts_itself_is_refused_with_its_place_and_changes_nothing() {
    let (machines, mut session) = chained("resume");
    for event in ["drop", "again"] {
        done(
            &mut session,
            "transition",
            send("l0", "e", json!({"event_type": event})).1,
        );
    }
    let body = shown(&mut session, &root());
    let edit = |pointer: &str, value: Value| {
        let mut edited = body.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        edited
    };
    let child = shown(&mut session, &("l1".to_owned(), "e::sub::busy".to_owned()));
    let twice = json!([body["tree"]["children"][0], body["tree"]["children"][0]]);
    let refused: Vec<(Value, &str)> = vec![
        (json!({}), "$.tree"),
        (json!({"tree": []}), "$.tree"),
        (json!({"tree": body["tree"], "rows": []}), "$[\"rows\"]"),
        (child, "$.tree.instance"),
        (edit("/tree/current_state", json!("off")), "$.tree"),
        (edit("/tree/state_version", json!(0)), "$.tree.state_version"),
        (
            edit("/tree/region_entries/_/entered_at", json!("soon")),
            "$.tree.region_entries[\"_\"].entered_at",
        ),
        (edit("/tree/region_entries/_/state", json!("lost")), "$.tree"),
        (edit("/tree/children", json!([])), "$.history[2].entity_id"),
        (
            json!({"tree": edit("/tree/children", json!([]))["tree"]}),
            "$.tree",
        ),
        (edit("/tree/children", twice), "$.tree.children[0]"),
        (edit("/tree/children/0/parent", Value::Null), "$.tree.children[0]"),
        (
            edit("/tree/children/0/children/0/instance/depth", json!(7)),
            "$.tree.children[0].children[0]",
        ),
        (
            edit("/tree/children/0/instance/status", json!("asleep")),
            "$.tree.children[0].instance.status",
        ),
        (edit("/history", json!({})), "$.history"),
        (edit("/history/1", json!(1)), "$.history[1]"),
        (edit("/history/1/id", Value::Null), "$.history[1].id"),
        (
            edit("/history/1/id", body["history"][0]["id"].clone()),
            "$.history[1].id",
        ),
        (edit("/history/1/entity_id", json!("o")), "$.history[1].entity_id"),
        (
            edit(
                "/history/1/identity_key",
                body["history"][0]["identity_key"].clone(),
            ),
            "$.history[1].identity_key",
        ),
        (
            edit("/history/1/event_params", json!([])),
            "$.history[1].event_params",
        ),
        (edit("/history/1/timestamp", json!(1.5)), "$.history[1].timestamp"),
    ];
    let mut adopted = begin(&machines);
    for (body, path) in refused {
        let reply = adopted.perform("adopt", &json!({"body": body}));
        let error = &reply.body["error"];
        assert_eq!(
            (reply.status, &error["code"], &error["path"]),
            (400, &json!("BAD_REQUEST"), &json!(path)),
            "{error}"
        );
        assert_eq!((adopted.now().0, entities(&mut adopted).len()), (0, 0), "{path}");
    }
    for (pointer, path) in [("/tree/machine_id", "l9"), ("/tree/children/0/machine_id", "l8")] {
        let reply = adopted.perform(
            "adopt",
            &json!({"body": edit(pointer, json!(path)), "history": []}),
        );
        assert_eq!(reply.status, 400, "an argument that nothing reads");
        let mut body = edit(pointer, json!(path));
        body["history"] = json!([]);
        let reply = adopted.perform("adopt", &json!({"body": body}));
        assert_eq!(
            (reply.status, &reply.body["error"]["code"]),
            (404, &json!("NOT_FOUND"))
        );
    }
    done(&mut adopted, "adopt", json!({"body": body}));
    let reply = adopted.perform("adopt", &json!({"body": body}));
    assert_eq!(
        (reply.status, &reply.body["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    assert_eq!(entities(&mut adopted).len(), 4);
}

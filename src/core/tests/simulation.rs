//! Simulations: the clock, effects between entities, and everything that happened, undone, kept and played again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test may fail so, and is read more easily"
)]

mod common;
mod generate;
mod harness;
mod model;

use generate::{Happening, Way};
use harness::Case;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_core::simulation::{MOST_HOPS, Options, Session, check};

/// All that can be seen of a simulation.
fn seen(session: &mut Session) -> Value {
    let mut all = json!({"now": session.now(), "machines": session.perform("machines", &json!({})).body});
    let entities = session.perform("entities", &json!({})).body;
    for entity in entities.as_array().unwrap() {
        let name = json!({"machine_id": entity["machine_id"], "entity_id": entity["entity_id"]});
        let key = format!("{}/{}", name["machine_id"], name["entity_id"]);
        all[key] = json!([
            session.perform("tree", &name).body,
            session.perform("history", &name).body,
            session.perform("events", &name).body,
        ]);
    }
    for op in ["effects", "due"] {
        all[op] = session.perform(op, &json!({})).body;
    }
    all
}

fn begin(machines: &[Value]) -> Session {
    let mut session = Session::new(Options::default());
    for machine in machines {
        let reply = session.perform("register", &json!({ "body": machine }));
        assert_eq!(reply.status, 201, "{}", reply.body);
    }
    session
}

/// Does it, and gives the body.
fn done(session: &mut Session, op: &str, args: Value) -> Value {
    let reply = session.perform(op, &args);
    assert!(reply.is_success(), "{op} {args}: {}", reply.body);
    reply.body
}

fn event(machine: &str, entity: &str, body: Value) -> Value {
    json!({"machine_id": machine, "entity_id": entity, "body": body})
}

/// What happens, as operations on entities of the first machine and on those below them.
fn operations(session: &mut Session, happenings: &[Happening]) -> usize {
    let mut last = None;
    for happening in happenings {
        let known = session.perform("entities", &json!({})).body;
        let known = known.as_array().unwrap();
        let (op, args) = match happening {
            Happening::Wait(millis) => ("advance", json!({"to": session.now().0 + millis})),
            Happening::Scan => ("tick", json!({"at": session.now().0 + 700})),
            Happening::Release if !known.is_empty() => {
                let one = &known[0];
                (
                    "release",
                    json!({"machine_id": one["machine_id"], "entity_id": one["entity_id"]}),
                )
            }
            Happening::Delete(which) if !known.is_empty() => {
                let one = &known[which % known.len()];
                (
                    "delete",
                    json!({"machine_id": one["machine_id"], "entity_id": one["entity_id"]}),
                )
            }
            Happening::Again => match &last {
                Some(args) => ("transition", Value::clone(args)),
                None => continue,
            },
            Happening::Event {
                to,
                way,
                event_type,
                params,
                timestamp,
                expected_version,
                ..
            } => {
                let target = matches!(way, Way::Own).then(|| json!([]));
                let mut body = json!({
                    "event_type": event_type, "params": params, "timestamp": timestamp,
                    "expected_version": expected_version, "target": target,
                });
                match known.len().checked_sub(1) {
                    Some(_) if to % 7 > 0 => {
                        let one = &known[to % known.len()];
                        let name = |key: &str| one[key].as_str().unwrap();
                        let args = event(name("machine_id"), name("entity_id"), body);
                        last = Some(args.clone());
                        ("transition", args)
                    }
                    _ => {
                        body["entity_key"] = json!("id");
                        body["params"]["id"] = json!(format!("e-{}", to % 3));
                        ("evaluate", json!({"machine_id": "m0", "body": body}))
                    }
                }
            }
            _ => continue,
        };
        session.perform(op, &args);
    }
    session.done()
}

fn config(cases: u32) -> Config {
    let default = Config::default();
    Config {
        cases: default.cases.max(cases),
        failure_persistence: None,
        ..default
    }
}

fn play(case: &Case, to: prop::sample::Index) {
    let mut session = Session::new(Options::default());
    for definition in &case.definitions {
        // Some of them do not fit each other.
        session.perform("register", &json!({ "body": definition }));
    }
    let steps = operations(&mut session, &case.happenings);
    let end = seen(&mut session);
    let scenario = session.perform("export", &json!({})).body;

    // Back to any step, as if the rest had not been.
    let to = to.index(steps + 1);
    session.perform("undo", &json!({ "to": to }));
    let mut fresh = Session::new(Options::default());
    for step in &session.steps()[..to] {
        let mut args = step.args.clone();
        args["at"] = json!(step.at);
        assert_eq!(fresh.perform(&step.op, &args).status, step.status, "{step:?}");
    }
    assert_eq!(seen(&mut session), seen(&mut fresh));

    // And on again.
    session.perform("redo", &json!({ "to": steps }));
    assert_eq!(seen(&mut session), end);

    // Played from its text, it is the same, and as it expects.
    let mut played = Session::new(Options::default());
    let scenario: Value = serde_json::from_str(&scenario.to_string()).unwrap();
    done(&mut played, "import", json!({ "body": scenario }));
    assert_eq!(seen(&mut played), end);
    assert_eq!(played.perform("export", &json!({})).body, scenario);
    let checked = check(&scenario).unwrap();
    assert!(checked.passed, "{:?}", checked.failures);
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn what_happened_is_undone_redone_and_played_again(
        case in generate::trees::case(true), to in any::<prop::sample::Index>(),
    ) {
        play(&case, to);
    }

    #[test]
    fn so_it_is_in_the_seed_s_contract(
        case in generate::trees::case(false), to in any::<prop::sample::Index>(),
    ) {
        play(&case, to);
    }

    #[test]
    fn i10_whatever_is_asked_has_an_answer(
        op in prop::sample::select(&[
            "register", "validate", "machine", "create", "adopt", "evaluate", "transition", "explain", "entity", "tree", "events",
            "history", "delete", "release", "diagram", "tick", "advance", "due", "effects", "undo", "redo", "import", "what",
        ][..]),
        args in generate::any_json(), body in generate::any_json(),
    ) {
        let mut session = begin(&[timed()]);
        done(&mut session, "create", json!({"machine_id": "timed", "body": {"entity_id": "t-1"}}));
        for args in [args, event("timed", "t-1", body)] {
            let reply = session.perform(op, &args);
            prop_assert!(reply.is_success() || reply.body["error"]["message"].is_string());
            prop_assert!(reply.status < 500, "{}", reply.body);
        }
    }
}

fn timed() -> Value {
    json!({
        "machine_id": "timed", "states": ["a", "b", "c"], "initial_state": "a",
        "transitions": [
            {"from": "a", "to": "b", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"from": "b", "to": "c", "on": "$timeout", "guard": {"timeout_seconds": 10}},
            {"from": "c", "to": "a", "on": "again"}
        ]
    })
}

#[test]
fn m5_the_clock_fires_timers_in_order_each_when_it_is_due() {
    let mut session = begin(&[timed()]);
    for (at, id) in [(0, "t-1"), (4_000, "t-2")] {
        done(
            &mut session,
            "create",
            json!({"machine_id": "timed", "at": at, "body": {"entity_id": id}}),
        );
    }
    assert_eq!(done(&mut session, "due", json!({}))["at"], 10_000);
    let advanced = done(&mut session, "advance", json!({"to": 21_000}));
    let told = advanced["timeouts"].as_array().unwrap().iter().map(|row| {
        format!(
            "{} {} {}",
            row["timestamp"],
            row["entity_id"].as_str().unwrap(),
            row["to_state"].as_str().unwrap()
        )
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["10000 t-1 b", "14000 t-2 b", "20000 t-1 c"]);
    assert_eq!(
        (&advanced["fired"], &advanced["now"]),
        (&json!(3), &json!(21_000))
    );
    let rows = done(
        &mut session,
        "history",
        json!({"machine_id": "timed", "entity_id": "t-1"}),
    );
    assert_eq!(
        (&rows[1]["created_at"], &rows[1]["id"]),
        (&json!(20_000), &json!(3))
    );
    let after = json!({"machine_id": "timed", "entity_id": "t-1", "after": rows[0]["id"]});
    assert_eq!(done(&mut session, "history", after), json!([rows[1]]));
    // The clock never goes back.
    let back = session.perform("advance", &json!({"to": 20_000}));
    assert_eq!((back.status, &back.body["error"]["path"]), (400, &json!("$.to")));
}

#[test]
fn m5_turning_the_clock_on_fires_nothing_until_somebody_looks() {
    let mut session = begin(&[timed()]);
    done(
        &mut session,
        "create",
        json!({"machine_id": "timed", "body": {"entity_id": "t-1"}}),
    );
    let name = json!({"machine_id": "timed", "entity_id": "t-1", "at": 30_000});
    assert_eq!(done(&mut session, "entity", name)["current_state"], "a");
    let report = done(&mut session, "tick", json!({}));
    assert_eq!((&report["fired"], &report["lag_ms"]), (&json!(2), &json!(20_000)));
    // Turning the clock on is what was done, so that it is undone as well.
    assert_eq!(session.steps()[2].op, "entity");
    done(&mut session, "undo", json!({"to": 2}));
    assert_eq!(session.now(), Millis(0));
}

/// Each of them sends an event on to the next.
fn relay() -> Value {
    json!({
        "machine_id": "relay", "states": ["idle", "on"], "initial_state": "idle",
        "transitions": [{"from": "idle", "to": "on", "on": "go"}, {"from": "on", "to": "on", "on": "go"}],
        "actions": [
            {"on_enter": "on", "action": {"type": "transition", "machine_id": "relay", "entity_id": "{/context/next}",
                "event_type": "go"}},
            {"on_enter": "on", "action": {"type": "webhook", "url": "https://shop.example/on"}}
        ]
    })
}

#[test]
fn events_between_entities_are_delivered_and_a_loop_of_them_ends() {
    let mut session = begin(&[relay()]);
    for (id, next) in [("r-1", "r-2"), ("r-2", "r-1")] {
        let body = json!({"entity_id": id, "context": {"next": next}});
        done(
            &mut session,
            "create",
            json!({"machine_id": "relay", "body": body}),
        );
    }
    done(
        &mut session,
        "transition",
        event("relay", "r-1", json!({"event_type": "go"})),
    );
    let effects = done(&mut session, "effects", json!({}));
    let effects = effects.as_array().unwrap();
    let of = |status: &str| effects.iter().filter(|effect| effect["status"] == status).count();
    assert_eq!(of("accepted"), usize::try_from(MOST_HOPS).unwrap());
    assert_eq!(of("dead"), 1, "the one after the last");
    assert_eq!(of("pending"), 17, "webhooks are listed");
    assert_eq!(effects[0]["outcome"], "applied");
    assert_eq!(
        effects[0]["source"],
        json!({"machine_id": "relay", "entity_id": "r-1", "row": 1})
    );
    // It is one step.
    done(&mut session, "undo", json!({}));
    assert_eq!(done(&mut session, "effects", json!({})), json!([]));
}

#[test]
fn effects_wait_where_delivering_is_asked_for_by_hand() {
    let mut session = Session::new(Options {
        deliver: false,
        ..Options::default()
    });
    done(&mut session, "register", json!({ "body": relay() }));
    let body = json!({"entity_id": "r-1", "context": {"next": "nobody"}});
    done(
        &mut session,
        "create",
        json!({"machine_id": "relay", "body": body}),
    );
    done(
        &mut session,
        "transition",
        event("relay", "r-1", json!({"event_type": "go"})),
    );
    assert_eq!(done(&mut session, "effects", json!({}))[0]["status"], "pending");
    assert_eq!(done(&mut session, "deliver", json!({}))["done"], 1);
    let nobody = json!({"machine_id": "relay", "entity_id": "nobody"});
    assert_eq!(
        done(&mut session, "entity", nobody)["current_state"],
        "on",
        "it was made"
    );
}

#[test]
fn i1_a_replay_is_a_duplicate_over_the_history() {
    let mut session = begin(&[relay()]);
    let go = json!({"machine_id": "relay", "body": {
        "event_type": "go", "entity_key": "id", "params": {"id": "r", "next": "r"}, "timestamp": 5
    }});
    let first = done(&mut session, "evaluate", go.clone());
    assert_eq!(first["transition"], "idle → on");
    let again = done(&mut session, "evaluate", go);
    assert_eq!(again["reason"], "duplicate event (already processed)");
}

#[test]
fn a_scenario_says_which_step_was_otherwise() {
    let scenario = |state: &str, outcome: &str| {
        json!({
            "statewright": "scenario/1", "start": 1000, "machines": [timed()],
            "steps": [
                {"op": "create", "args": {"machine_id": "timed", "body": {"entity_id": "t-1"}}, "expect": {"state": "a"}},
                {"op": "transition", "at": 11_000, "args": event("timed", "t-1", json!({"event_type": "again"})),
                 "expect": {"state": state, "outcome": outcome}},
                {"op": "transition", "args": event("timed", "t-2", json!({"event_type": "again"})),
                 "expect": {"error": "NOT_FOUND"}},
            ]
        })
    };
    let passed = check(&scenario("b", "no_transition")).unwrap();
    assert!(passed.passed && passed.steps == 3, "{passed:?}");
    let failed = check(&scenario("c", "no_transition")).unwrap();
    assert_eq!(failed.failures.len(), 1);
    assert_eq!(failed.failures[0].step, 1);
    assert_eq!(
        failed.failures[0].problem,
        "expected the state \"c\", and it is \"b\""
    );
    let failed = check(&scenario("b", "applied")).unwrap();
    assert!(failed.failures[0].problem.contains("the outcome"), "{failed:?}");
    let mut unexpected = scenario("b", "no_transition");
    unexpected["steps"][2].as_object_mut().unwrap().remove("expect");
    let failed = check(&unexpected).unwrap();
    assert!(
        failed.failures[0].problem.contains("refused with NOT_FOUND"),
        "{failed:?}"
    );
}

#[test]
fn null_is_expected_too() {
    let failure = |expect: Value| {
        let create = json!({"machine_id": "timed", "body": {"entity_id": "t-1"}});
        let scenario = json!({
            "statewright": "scenario/1", "machines": [timed()],
            "steps": [{"op": "create", "args": create, "expect": expect}]
        });
        let mut checked = check(&scenario).unwrap();
        checked.failures.pop().map(|failure| failure.problem)
    };
    assert_eq!(
        failure(json!({"state": null})).as_deref(),
        Some("expected the state null, and it is \"a\"")
    );
    assert_eq!(
        failure(json!({"outcome": null})).as_deref(),
        Some("expected the outcome null, and it is \"done\"")
    );
    assert_eq!(
        failure(json!({"status": null})).as_deref(),
        Some("expected the status null, and it is 201")
    );
    assert!(failure(json!({"body": null})).is_some());
    assert_eq!(failure(json!({"error": null})), None);
    let gone = json!({
        "statewright": "scenario/1", "machines": [timed()],
        "steps": [{"op": "delete", "args": {"machine_id": "timed", "entity_id": "t-1"},
                   "expect": {"error": "NOT_FOUND", "state": null}}]
    });
    assert!(check(&gone).unwrap().passed);
}

#[test]
fn machines_that_are_given_are_no_steps() {
    let mut session = Session::new(Options::default());
    session.give(&timed()).unwrap();
    assert!(session.give(&timed()).is_err());
    let create = json!({"machine_id": "timed", "body": {"entity_id": "t-1"}});
    done(&mut session, "create", create.clone());
    assert_eq!(session.done(), 1);
    done(&mut session, "undo", json!({"to": 0}));
    done(&mut session, "create", create);
    let scenario = done(&mut session, "export", json!({}));
    assert_eq!(scenario["machines"], json!([timed()]));
    assert_eq!(scenario["steps"].as_array().map(Vec::len), Some(1));
    let mut played = Session::new(Options::default());
    done(&mut played, "import", json!({"body": scenario}));
    assert_eq!(played.done(), 1);
    done(&mut played, "undo", json!({"to": 0}));
    assert_eq!(seen(&mut played)["machines"].as_array().map(Vec::len), Some(1));
    let refused = played.perform("undo", &json!({"to": 7}));
    assert_eq!(
        refused.body["error"]["message"],
        "$.to: it is 7; expected a number of steps from 0 to 0"
    );
}

#[test]
fn what_is_no_scenario_says_where() {
    let wrong = |scenario: Value, path: &str| {
        let error = check(&scenario).expect_err("it is none").body();
        assert_eq!(error["path"], path, "{error:?}");
    };
    wrong(json!([]), "$");
    wrong(json!({"statewright": "scenario/2"}), "$.statewright");
    wrong(
        json!({"statewright": "scenario/1", "stepss": []}),
        "$[\"stepss\"]",
    );
    wrong(
        json!({"statewright": "scenario/1", "steps": [{"op": "undo"}]}),
        "$.steps[0].op",
    );
    wrong(
        json!({"statewright": "scenario/1", "steps": [{"op": "tick", "expect": {"states": 1}}]}),
        "$.steps[0].expect[\"states\"]",
    );
    wrong(
        json!({"statewright": "scenario/1", "steps": [{"op": "tick", "expect": null}]}),
        "$.steps[0].expect",
    );
    wrong(
        json!({"statewright": "scenario/1", "steps": [{"op": "tick", "args": {"machine": "timed"}}]}),
        "$.steps[0].args[\"machine\"]",
    );
    let mut broken = timed();
    broken["transitions"][0]["from"] = json!("nowhere");
    wrong(
        json!({"statewright": "scenario/1", "machines": [broken]}),
        "$.machines[0].transitions[0].from",
    );
}

#[test]
fn going_back_is_quick_after_thousands_of_steps_and_bounded() {
    let mut session = begin(&[timed()]);
    for n in 0..5_000 {
        let body =
            json!({"event_type": "again", "entity_key": "id", "params": {"id": format!("t-{}", n % 50)}});
        done(
            &mut session,
            "evaluate",
            json!({"machine_id": "timed", "at": n * 1_000, "body": body}),
        );
    }
    let mut half = session.clone();
    done(&mut half, "undo", json!({"to": 2_500}));
    assert_eq!(half.done(), 2_500);
    done(&mut half, "redo", json!({"to": 5_001}));
    assert_eq!(seen(&mut half), seen(&mut session));
}

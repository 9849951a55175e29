//! A tree as plain data: whatever happened to it, it comes back from its JSON as it was.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::type_complexity,
    reason = "a test may fail so, and is read more easily"
)]

mod common;
mod generate;
mod harness;
mod model;

use std::sync::Arc;

use common::NOW;
use generate::{Happening, Way};
use harness::Case;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde::Serialize;
use serde_json::{Map, Value, json};
use statewright_core::error::Error;
use statewright_core::ids::{EntityId, MachineId, Millis};
use statewright_core::machine::Machine;
use statewright_core::request::{EventRequest, Fields};
use statewright_core::snapshot::{Blueprint, Decided, Living, OutcomeName, SeenRow, Snapshot};
use statewright_core::tree::{EntityIx, Library};

fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Through JSON text and back.
fn stored(blueprint: &Blueprint, living: &Living) -> Living {
    let text = serde_json::to_string(&living.snapshot()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let snapshot = Snapshot::read(&value).unwrap();
    assert_eq!(json_of(&snapshot), value, "what was read says the same");
    blueprint
        .restore(&snapshot)
        .unwrap_or_else(|error| panic!("{error}\n{value:#}"))
}

fn without_order(mut value: Value) -> Value {
    // Rows only order entries: what they are numbered from is where the tree was restored.
    if let Some(entries) = value["region_entries"].as_object_mut() {
        for entry in entries.values_mut() {
            entry.as_object_mut().unwrap().remove("row");
        }
    }
    if let Some(children) = value["children"].as_array_mut() {
        for child in children {
            *child = without_order(child.take());
        }
    }
    value
}

fn told(decided: &Decided) -> Value {
    let views = |kept: &[statewright_core::snapshot::Kept]| {
        kept.iter().map(|kept| json_of(&kept.view)).collect::<Vec<_>>()
    };
    json!({
        "timeouts": views(&decided.timeouts),
        "before": views(&decided.before),
        "commit": decided.commit.as_ref().map(|kept| json_of(&kept.view)),
        "answer": decided.answer.as_ref().ok().map(json_of),
        "error": decided.answer.as_ref().err().map(Error::body),
        "outcome": decided.outcome,
    })
}

/// Two of the same: one stays in memory, the other goes through JSON before whatever happens.
struct Twins {
    blueprint: Blueprint,
    here: Living,
    stored: Living,
    history: Vec<SeenRow>,
    now: Millis,
}

impl Twins {
    fn new(case: &Case) -> Option<Self> {
        let machines: Vec<Arc<Machine>> = case.definitions.iter().map(common::machine).collect();
        let first = Arc::clone(&machines[0]);
        let library: Arc<Library> = Arc::new(machines.into_iter().collect());
        let blueprint = Blueprint::of(first, library);
        let (living, _) = blueprint.create("e-1", case.context.clone(), NOW).ok()?;
        Some(Self {
            here: living.clone(),
            stored: living,
            blueprint,
            history: Vec::new(),
            now: NOW,
        })
    }

    fn run(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            self.stored = stored(&self.blueprint, &self.stored);
            match happening {
                Happening::Wait(millis) => self.now = Millis(self.now.0 + millis),
                Happening::Scan => {
                    let here = self.here.advance(self.now);
                    let stored = self.stored.advance(self.now);
                    assert_eq!(json_of(&here.timeouts), json_of(&stored.timeouts));
                    assert_eq!((here.parked, here.more), (stored.parked, stored.more));
                    assert_eq!(self.here.due(), self.stored.due());
                }
                Happening::Event {
                    to,
                    way,
                    event_type,
                    likely,
                    params,
                    timestamp,
                    expected_version,
                } => {
                    let event_type = self.likely(event_type, *likely);
                    let event = json!({
                        "event_type": event_type, "params": params, "timestamp": timestamp,
                        "expected_version": expected_version,
                        "target": matches!(way, Way::Own).then(|| json!([])),
                    });
                    self.send(*to, &event);
                }
                _ => {}
            }
            assert_eq!(
                without_order(json_of(&self.here.snapshot())),
                without_order(json_of(&self.stored.snapshot()))
            );
        }
    }

    fn likely(&mut self, event_type: &str, likely: usize) -> String {
        let possible = self.stored.clone().events(self.now);
        let here = self.here.clone().events(self.now);
        assert_eq!(
            possible.as_ref().map(json_of).map_err(ToString::to_string),
            here.as_ref().map(json_of).map_err(ToString::to_string)
        );
        let possible = possible.unwrap_or_default();
        match likely.checked_rem(possible.len()) {
            Some(place) if likely > 0 => possible[place].event_type.to_string(),
            _ => event_type.to_owned(),
        }
    }

    /// Sends an event to one of the entities that the tree has to know.
    fn send(&mut self, to: usize, event: &Value) {
        let (ix, _) = {
            let known: Vec<_> = self.stored.tree().entities().collect();
            known[to % known.len()]
        };
        let name = |living: &Living, ix: EntityIx| {
            let entity = living.tree().entity(ix);
            (entity.machine().id().to_string(), entity.id().to_string())
        };
        let (machine, id) = name(&self.stored, ix);
        let fields = Fields {
            path: "$",
            object: event.as_object().unwrap(),
        };
        let request = EventRequest::transition(EntityId::named(&id).unwrap(), fields).unwrap();
        let key = request.event.identity().map(|key| key.to_string());
        let mut told_of = Vec::new();
        for living in [&mut self.here, &mut self.stored] {
            let before = living.clone();
            let seen = |ix: EntityIx| {
                if ix.place() >= before.tree().len() {
                    return None;
                }
                let (machine, id) = name(&before, ix);
                let row = self.history.iter().find(|row| {
                    (&row.machine_id, &row.entity_id) == (&machine, &id)
                        && Some(&row.identity_key) == key.as_ref()
                });
                row.map(|row| Arc::clone(&row.event_params))
            };
            let (machine, id) = (MachineId::new(&machine).unwrap(), EntityId::named(&id).unwrap());
            let at = before.tree().find(&machine, &id).unwrap();
            let why = living
                .clone()
                .why(event, self.now)
                .map_err(|error| error.to_string());
            let decided = living.event(at, &request, &seen, self.now);
            told_of.push((told(&decided), why.map(|why| json_of(&why))));
            if decided.outcome == OutcomeName::Refused {
                let changed = !decided.timeouts.is_empty() || !decided.before.is_empty();
                let timers = before.due() != living.due();
                assert!(
                    changed || timers || json_of(&before.snapshot()) == json_of(&living.snapshot()),
                    "a refused event changes nothing"
                );
            }
        }
        assert_eq!(told_of[0], told_of[1]);
        let (told, _) = told_of.remove(0);
        for commit in told["timeouts"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(told["before"].as_array().into_iter().flatten())
            .chain([&told["commit"]])
        {
            if !commit.is_null() {
                self.history.extend(SeenRow::list(&commit["rows"]).unwrap());
            }
        }
    }
}

fn config(cases: u32) -> Config {
    let default = Config::default();
    Config {
        cases: default.cases.max(cases),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn a_tree_comes_back_as_it_was_in_statewright_v1(case in generate::trees::case(true)) {
        if let Some(mut twins) = Twins::new(&case) {
            twins.run(&case.happenings);
        }
    }

    #[test]
    fn a_tree_comes_back_as_it_was_in_the_seed_s_contract(case in generate::trees::case(false)) {
        if let Some(mut twins) = Twins::new(&case) {
            twins.run(&case.happenings);
        }
    }

    #[test]
    fn an_entity_comes_back_as_it_was(
        definition in generate::definition(true),
        context in generate::params(),
        happenings in generate::happenings(),
    ) {
        let case = Case { definitions: vec![definition], foreign: Vec::new(), context, happenings };
        if let Some(mut twins) = Twins::new(&case) {
            twins.run(&case.happenings);
        }
    }

    #[test]
    fn i10_any_json_is_a_snapshot_or_has_a_fault(document in generate::any_json()) {
        let blueprint = Blueprint::compile(&[order()]).unwrap();
        let read = Snapshot::read(&document).and_then(|snapshot| blueprint.restore(&snapshot));
        if let Err(error) = read {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn i10_a_snapshot_with_a_part_exchanged_is_one_or_has_a_fault(
        place in any::<prop::sample::Index>(), part in generate::any_json(),
    ) {
        let blueprint = Blueprint::compile(&[case(), bundle()]).unwrap();
        let (living, _) = blueprint.create("c-1", Map::new(), NOW).unwrap();
        let mut value = json_of(&living.snapshot());
        let places = pointers(&value, String::new());
        let place = &places[place.index(places.len())];
        *value.pointer_mut(place).unwrap() = part;
        let restored = Snapshot::read(&value).and_then(|snapshot| blueprint.restore(&snapshot));
        if let Ok(mut living) = restored {
            // What is one takes events like any other.
            let sent = living.send(&json!({"event_type": "settle"}), &[], NOW);
            prop_assert!(sent.is_ok());
        }
    }
}

/// The places in a JSON value.
fn pointers(value: &Value, at: String) -> Vec<String> {
    let mut found = vec![at.clone()];
    match value {
        Value::Object(object) => {
            for (key, item) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                found.extend(pointers(item, format!("{at}/{key}")));
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                found.extend(pointers(item, format!("{at}/{place}")));
            }
        }
        _ => {}
    }
    found
}

fn order() -> Value {
    json!({
        "machine_id": "order", "states": ["placed", "paid", "void"], "initial_state": "placed",
        "transitions": [
            {"from": "placed", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gte", "value": 1}},
            {"from": "placed", "to": "void", "on": "$timeout", "guard": {"timeout_seconds": 3600}}
        ],
        "actions": [{"on_enter": "paid", "action": {"type": "webhook", "url": "https://shop.example/paid"}}]
    })
}

fn case() -> Value {
    json!({
        "machine_id": "case", "states": ["open", "settling", "closed"], "initial_state": "settling",
        "transitions": [
            {"from": "settling", "to": "open", "on": "reopen"}, {"from": "open", "to": "settling", "on": "settle"}
        ],
        "sub_machines": {"settling": {"machine_id": "bundle", "lifecycle": "managed", "reentry": "resume",
                                      "on_final": {"done": "closed"}}}
    })
}

fn bundle() -> Value {
    json!({
        "machine_id": "bundle", "states": ["packing", "done"], "initial_state": "packing",
        "transitions": [
            {"from": "packing", "to": "packing", "on": "again"}, {"from": "packing", "to": "done", "on": "pack"}
        ]
    })
}

fn send(living: &mut Living, event: Value) -> Value {
    json_of(&living.send(&event, &[], NOW).unwrap())
}

#[test]
fn m5_due_timers_come_before_the_event_and_stand_though_it_is_refused() {
    let blueprint = Blueprint::compile(&[order()]).unwrap();
    let (mut living, made) = blueprint.create("o-1", Map::new(), NOW).unwrap();
    assert_eq!(json_of(&made.view)["versions"][0]["state_version"], 1);
    assert_eq!(living.due().unwrap().at, NOW.after(3_600_000));
    let event = json!({"event_type": "pay", "params": {"amount": 5}, "expected_version": 1});
    let sent = json_of(&living.send(&event, &[], NOW.after(3_600_000)).unwrap());
    assert_eq!(sent["outcome"], "refused");
    assert_eq!(sent["error"]["code"], "VERSION_CONFLICT");
    assert_eq!(sent["timeouts"][0]["rows"][0]["to_state"], "void");
    assert_eq!(sent["snapshot"]["current_state"], "void");
    assert_eq!(living.due(), None);
}

#[test]
fn i1_a_row_of_the_history_makes_a_replay_known() {
    let blueprint = Blueprint::compile(&[order()]).unwrap();
    let (mut living, _) = blueprint.create("o-1", Map::new(), NOW).unwrap();
    let pay = json!({"event_type": "pay", "params": {"amount": 5}, "timestamp": 7});
    let first = json_of(&living.send(&pay, &[], NOW).unwrap());
    assert_eq!(first["outcome"], "applied");
    let effect = &first["commit"]["effects"][0];
    assert_eq!(
        (&effect["kind"], &effect["effect_id"], &effect["row_key"]),
        (
            &json!("webhook"),
            &json!("order/o-1@2.0"),
            &json!("[\"evt\",\"pay\",7]")
        )
    );
    let history = SeenRow::list(&first["commit"]["rows"]).unwrap();
    let again = json_of(&living.send(&pay, &history, NOW).unwrap());
    assert_eq!(
        (&again["outcome"], &again["commit"]),
        (&json!("duplicate"), &Value::Null)
    );
    let other = json!({"event_type": "pay", "params": {"amount": 6}, "timestamp": 7});
    let other = json_of(&living.send(&other, &history, NOW).unwrap());
    assert_eq!(other["error"]["code"], "EVENT_IDENTITY_CONFLICT");
}

#[test]
fn m11_what_a_legacy_child_handled_is_a_replay_at_its_parent() {
    let parent = json!({
        "machine_id": "p", "states": ["i", "s"], "initial_state": "i",
        "transitions": [{"from": "i", "to": "s", "on": "go"}, {"from": "s", "to": "i", "on": "leave"}],
        "sub_machines": {"s": {"machine_id": "bundle", "on_final": {"done": "i"}}}
    });
    let blueprint = Blueprint::compile(&[parent, bundle()]).unwrap();
    let (mut living, _) = blueprint.create("e", Map::new(), NOW).unwrap();
    send(&mut living, json!({"event_type": "go"}));
    let again = json!({"event_type": "again", "timestamp": 3});
    let sent = send(&mut living, again.clone());
    assert_eq!(sent["answer"]["sub_machine"]["entity_id"], "e::sub::s");
    assert_eq!(sent["before"][0]["versions"][0]["entity_id"], "e::sub::s");
    send(&mut living, json!({"event_type": "leave"}));
    let mut living = stored(&blueprint, &living);
    let history = SeenRow::list(&sent["commit"]["rows"]).unwrap();
    let replay = json_of(&living.send(&again, &history, NOW).unwrap());
    assert_eq!(replay["outcome"], "duplicate", "the parent is elsewhere by now");
}

#[test]
fn m9_a_child_that_sleeps_wakes_also_from_what_a_service_shows() {
    let blueprint = Blueprint::compile(&[case(), bundle()]).unwrap();
    let (mut living, _) = blueprint.create("c-1", Map::new(), NOW).unwrap();
    send(
        &mut living,
        json!({"event_type": "again", "target": [{"state": "settling"}]}),
    );
    send(&mut living, json!({"event_type": "reopen"}));
    let mut shown = json_of(&living.snapshot());
    assert_eq!(shown["children"][0]["cancelled_with"], "c-1::sub::settling");
    // A service does not tell that, and tells more of the root.
    shown["children"][0]
        .as_object_mut()
        .unwrap()
        .remove("cancelled_with");
    shown["tenant_id"] = json!("t1");
    shown["revision"] = json!(4);
    let mut living = blueprint.restore(&Snapshot::read(&shown).unwrap()).unwrap();
    let sent = send(&mut living, json!({"event_type": "settle"}));
    assert_eq!(sent["commit"]["lives"][0]["kind"], "resumed");
    assert_eq!(
        (&sent["snapshot"]["tenant_id"], &sent["snapshot"]["revision"]),
        (&json!("t1"), &json!(4))
    );
    let child = &sent["snapshot"]["children"][0];
    assert_eq!(
        (&child["instance"]["status"], &child["first_seq"]),
        (&json!("active"), &json!(1))
    );
}

#[test]
fn r9b_a_history_remembers_generations_that_a_tree_does_not_know_any_more() {
    let mut definition = case();
    definition["sub_machines"]["settling"]["reentry"] = json!("fresh");
    let blueprint = Blueprint::compile(&[definition, bundle()]).unwrap();
    let (mut living, _) = blueprint.create("c-1", Map::new(), NOW).unwrap();
    let mut history = Vec::new();
    let go = |living: &mut Living, event: Value, history: &mut Vec<SeenRow>| {
        let sent = json_of(&living.send(&event, history, NOW).unwrap());
        if let Some(rows) = sent["commit"].get("rows") {
            history.extend(SeenRow::list(rows).unwrap());
        }
        *living = stored(&blueprint, living);
        sent
    };
    let first =
        json!({"event_type": "again", "target": [{"state": "settling"}], "timestamp": 5, "params": {"n": 1}});
    assert_eq!(go(&mut living, first.clone(), &mut history)["outcome"], "applied");
    for event_type in ["reopen", "settle", "reopen", "settle"] {
        let sent = go(&mut living, json!({"event_type": event_type}), &mut history);
        assert_eq!(sent["outcome"], "applied");
    }
    assert_eq!(living.tree().len(), 2, "two generations are forgotten");
    let replay = go(&mut living, first.clone(), &mut history);
    assert_eq!(replay["outcome"], "duplicate");
    assert_eq!(replay["answer"]["target"]["entity_id"], "c-1::sub::settling");
    // It was made, took the event, and was cancelled.
    assert_eq!(
        (
            &replay["answer"]["current_state"],
            &replay["answer"]["state_version"]
        ),
        (&json!("packing"), &json!(3))
    );
    let mut other = first.clone();
    other["params"]["n"] = json!(2);
    assert_eq!(
        go(&mut living, other, &mut history)["error"]["code"],
        "EVENT_IDENTITY_CONFLICT"
    );
    // An entry of its own has not seen it.
    let now = living.snapshot().region_entries.values().next().unwrap().seq;
    let mut here = first;
    here["target"][0]["seq"] = json!(now);
    assert_eq!(go(&mut living, here, &mut history)["outcome"], "applied");
}

#[test]
fn a_definition_is_no_larger_than_a_service_takes() {
    let mut large = order();
    large["note"] = json!("x".repeat(262_144));
    let error = Blueprint::compile(&[large.clone()]).expect_err("it is too large");
    assert_eq!(error.code().name(), "PAYLOAD_TOO_LARGE");
    let (faults, _) = statewright_core::snapshot::validate(&large);
    assert!(faults[0].problem.contains("262144"), "{faults:?}");
    let text = |bytes: usize| {
        let mut fits = order();
        fits["note"] = json!("x".repeat(bytes));
        fits
    };
    // To the byte as it is written, whatever a service adds.
    let room = 262_144 - text(0).to_string().len();
    let error = |bytes: usize| {
        let mut definition = text(bytes);
        definition["content_hash"] = json!("sha256:0");
        Blueprint::compile(&[definition])
            .err()
            .map(|error| error.code().name())
    };
    assert_ne!(error(room), Some("PAYLOAD_TOO_LARGE"));
    assert_eq!(error(room + 1), Some("PAYLOAD_TOO_LARGE"));
}

#[test]
fn numbers_beyond_what_is_counted_fail_closed() {
    let blueprint = Blueprint::compile(&[order()]).unwrap();
    let (living, _) = blueprint.create("o-1", Map::new(), NOW).unwrap();
    let changes: [&dyn Fn(&mut Snapshot); 4] = [
        &|snapshot| snapshot.state_version.0 = 0,
        &|snapshot| snapshot.state_version.0 = u64::MAX,
        &|snapshot| snapshot.updated_at = Millis(i64::MIN),
        &|snapshot| {
            for entry in snapshot.region_entries.values_mut() {
                entry.seq.0 = 0;
            }
        },
    ];
    for change in changes {
        let mut snapshot = living.snapshot();
        change(&mut snapshot);
        let error = blueprint.restore(&snapshot).expect_err("it is none");
        assert_eq!(error.code().name(), "CORRUPT_INSTANCE");
    }
}

#[test]
fn what_does_not_agree_fails_closed() {
    let blueprint = Blueprint::compile(&[case(), bundle()]).unwrap();
    let (living, _) = blueprint.create("c-1", Map::new(), NOW).unwrap();
    let good = json_of(&living.snapshot());
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        let restored = Snapshot::read(&value).and_then(|snapshot| blueprint.restore(&snapshot));
        let error = restored.expect_err("it is broken").body();
        (
            error["code"].as_str().unwrap().to_owned(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    let cases: [(&dyn Fn(&mut Value), &str, &str); 8] = [
        (
            &|v| v["machine_id"] = json!("other"),
            "BAD_REQUEST",
            "$.machine_id",
        ),
        (
            &|v| v["region_entries"]["_"]["seq"] = json!("1"),
            "BAD_REQUEST",
            "$.region_entries[\"_\"].seq",
        ),
        (
            &|v| v["state_version"] = json!(0),
            "BAD_REQUEST",
            "$.state_version",
        ),
        (
            &|v| v["current_state"] = json!("open"),
            "CORRUPT_INSTANCE",
            "current_state",
        ),
        (
            &|v| v["region_entries"]["_"]["state"] = json!("gone"),
            "CORRUPT_INSTANCE",
            "`gone`",
        ),
        (
            &|v| v["children"] = json!([]),
            "CORRUPT_INSTANCE",
            "no live child",
        ),
        (
            &|v| v["children"][0]["parent"]["seq"] = json!(9),
            "CORRUPT_INSTANCE",
            "not in the state",
        ),
        (
            &|v| v["children"][0]["instance"]["depth"] = json!(2),
            "CORRUPT_INSTANCE",
            "contradicts itself",
        ),
    ];
    for (change, code, part) in cases {
        let (found, message) = broken(change);
        assert!(found == code && message.contains(part), "{found}: {message}");
    }
}

#[test]
fn faults_of_the_machines_of_children_are_told_apart() {
    let mut broken = bundle();
    broken["transitions"][0]["from"] = json!("nowhere");
    let error = Blueprint::compile(&[case(), broken]).expect_err("it is broken");
    let Error::InvalidDefinition(faults) = error else {
        panic!("{error}");
    };
    assert_eq!(faults[0].path, "machines[0].transitions[0].from");
    let twice = Blueprint::compile(&[case(), case()]).expect_err("it is there twice");
    assert!(twice.to_string().contains("given twice"), "{twice}");
}

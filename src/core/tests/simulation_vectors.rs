//! The conformance vectors of `tests/vectors`, as far as a simulation does what they ask: it answers as a service does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

#[path = "../../engine/tests/vectors/matching.rs"]
mod matching;

use std::fs;
use std::path::Path;

use matching::{filled, matches};
use serde_json::{Map, Value, json};
use statewright_core::ids::Millis;
use statewright_core::simulation::{Options, Session};

const CONTRACTS: [&str; 2] = ["statewright.v1", "statemachine-e1e4.v1"];
const START: i64 = 1_700_000_000_000;

/// What a simulation does not have, or does not ask of a service: its routes, other tenants, texts that are no JSON,
/// receipts, revisions, batches, lists with pages, and what is told of a service as a whole.
fn is_elsewhere(step: &Value) -> bool {
    const OPS: [&str; 7] = [
        "replace",
        "revisions",
        "batch",
        "counts",
        "scheduler",
        "entities",
        "machines",
    ];
    let op = step["op"].as_str();
    op.is_none_or(|op| OPS.contains(&op))
        || ["tenant", "raw", "headers"]
            .iter()
            .any(|key| step.get(key).is_some())
        || (step.get("query").is_some()
            && step["query"] != json!({"tree": true})
            && step["query"] != json!({"order": "id"})
            && step["query"] != json!({"order": "newest"}))
}

struct World {
    session: Session,
    contract: String,
    captured: Map<String, Value>,
}

impl World {
    fn perform(&mut self, step: &Value, at: Option<i64>) -> (u16, Value) {
        let step = filled(step, &self.captured);
        let op = step["op"].as_str().unwrap();
        let mut body = step.get("body").cloned().unwrap_or_default();
        if let (true, Some(object)) = (matches!(op, "register" | "validate"), body.as_object_mut()) {
            let contract = || self.contract.clone().into();
            object.entry("contract").or_insert_with(contract);
        }
        let mut args = json!({"body": body, "at": at, "format": step["format"]});
        for (key, of) in [("machine_id", "machine"), ("entity_id", "entity")] {
            if let Some(name) = step.get(of) {
                args[key] = name.clone();
            }
        }
        args["order"] = step["query"]["order"].clone();
        let op = match op {
            "entity" if step["query"]["tree"] == json!(true) => "tree",
            op => op,
        };
        let reply = self.session.perform(op, &args);
        (reply.status, reply.body)
    }
}

/// Cases that ask what a simulation does otherwise, each with why.
const OTHERWISE: [(&str, &str); 3] = [
    (
        "a-flat-definition-is-stored-and-returned",
        "no hash is made of a definition",
    ),
    (
        "addresses-of-joins-are-looked-at",
        "nothing is sent, so that no address is refused",
    ),
    ("every-address-of-a-definition-is-looked-at", "the same"),
];

/// None where the case is about something else.
fn run(case: &Value, contract: &str) -> Option<Result<(), String>> {
    let steps = case["steps"].as_array().unwrap();
    let name = case["name"].as_str().unwrap();
    if OTHERWISE.iter().any(|(otherwise, _)| *otherwise == name) {
        return None;
    }
    if case.get("settings").is_some() || steps.iter().any(is_elsewhere) {
        return None;
    }
    let start = case["start"].as_i64().unwrap_or(START);
    let mut world = World {
        session: Session::new(Options {
            now: Millis(start),
            tenant: "t1".to_owned(),
            deliver: false,
        }),
        contract: contract.to_owned(),
        captured: Map::new(),
    };
    for machine in case["machines"].as_array().into_iter().flatten() {
        let (status, body) = world.perform(&json!({"op": "register", "body": machine}), None);
        if status != 201 {
            return Some(Err(format!("its machine is refused: {body}")));
        }
    }
    for (place, step) in steps.iter().enumerate() {
        let at = step["at"].as_i64().map(|at| start + at);
        for _ in 0..step["repeat"].as_u64().unwrap_or(1) {
            let (status, body) = world.perform(step, at);
            let op = step["op"].as_str().unwrap();
            let told = |problem: String| format!("step {place} ({op}): {problem}\n  got {status} {body}");
            if let Err(problem) = check(step, status, &body, &filled(&step["expect"], &world.captured)) {
                return Some(Err(told(problem)));
            }
            for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
                let value = body
                    .pointer(pointer.as_str().unwrap())
                    .cloned()
                    .unwrap_or_default();
                world.captured.insert(name.clone(), value);
            }
        }
    }
    Some(Ok(()))
}

fn check(step: &Value, status: u16, body: &Value, expect: &Value) -> Result<(), String> {
    let success = match step["op"].as_str().unwrap() {
        "register" | "create" => 201,
        "delete" | "delete_machine" => 204,
        _ => 200,
    };
    let wanted = expect["status"].as_u64().unwrap_or(success);
    if u64::from(status) != wanted {
        return Err(format!("expected status {wanted}"));
    }
    if let Some(wanted) = expect.get("body") {
        matches(wanted, body, "$")?;
    }
    for key in expect["absent"].as_array().into_iter().flatten() {
        if body.get(key.as_str().unwrap()).is_some() {
            return Err(format!("{key} is there"));
        }
    }
    Ok(())
}

#[test]
fn a_simulation_answers_as_a_service_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let (mut runs, mut failures, mut left) = (0, Vec::new(), 0);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for file in files {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for case in cases {
            let contracts = match case["contracts"].as_array() {
                Some(contracts) => contracts.iter().map(|name| name.as_str().unwrap()).collect(),
                None => CONTRACTS.to_vec(),
            };
            for contract in contracts {
                match run(&case, contract) {
                    None => left += 1,
                    Some(outcome) => {
                        runs += 1;
                        if let Err(problem) = outcome {
                            let topic = file.file_stem().unwrap().to_string_lossy();
                            failures.push(format!("{topic}: {} ({contract}): {problem}", case["name"]));
                        }
                    }
                }
            }
        }
    }
    println!("{runs} runs, {left} are about something else");
    assert!(runs > 1_000, "{runs} runs");
    let told: Vec<&str> = failures.iter().map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} of {runs} failed:\n\n{}",
        told.len(),
        told.join("\n\n")
    );
}

//! The conformance vectors of `tests/vectors`, through the engine over SQLite.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

#[path = "vectors/host.rs"]
mod host;
#[path = "vectors/matching.rs"]
mod matching;
#[path = "vectors/operations.rs"]
mod operations;
#[path = "vectors/routes.rs"]
mod routes;
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use host::{Reply, World};
use matching::{filled, matches};
use serde_json::{Value, json};

const CONTRACTS: [&str; 2] = ["statewright.v1", "statemachine-e1e4.v1"];

#[test]
fn every_vector_holds() {
    // `VECTORS` names another folder: of cases that a model made up.
    let folder = std::env::var_os("VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors"),
        PathBuf::from,
    );
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let only = std::env::var("VECTOR").ok();
    let mut names = BTreeSet::new();
    let (mut runs, mut failures) = (0, Vec::new());
    for file in files {
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let topic = file.file_stem().unwrap().to_string_lossy();
        for case in cases {
            let name = case["name"].as_str().expect("a name").to_owned();
            assert!(names.insert(name.clone()), "`{name}` names two cases");
            assert!(
                case["covers"].as_array().is_some_and(|covers| !covers.is_empty()),
                "`{name}` covers nothing"
            );
            // A part is asked for by a part of its name, or by its file's.
            let asked = |only: &String| name.contains(only.as_str()) || *only == topic;
            if !only.as_ref().is_none_or(asked) {
                continue;
            }
            let contracts = match case["contracts"].as_array() {
                Some(contracts) => contracts
                    .iter()
                    .map(|name| name.as_str().expect("a contract"))
                    .collect(),
                None => CONTRACTS.to_vec(),
            };
            for contract in contracts {
                runs += 1;
                if let Err(problem) = run(&case, contract) {
                    failures.push(format!("{name} ({contract}): {problem}"));
                }
            }
        }
    }
    println!(
        "{} vectors, {runs} runs, {} failures",
        names.len(),
        failures.len()
    );
    assert!(!names.is_empty(), "there is no vector");
    assert!(
        failures.is_empty(),
        "{} of {runs} runs failed:\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

fn run(case: &Value, contract: &str) -> Result<(), String> {
    let start = case["start"].as_i64().unwrap_or(support::START);
    let mut world = World::new(contract, start, &case["settings"]);
    for machine in case["machines"].as_array().into_iter().flatten() {
        let reply = world.perform(&json!({"op": "register", "body": machine}));
        if reply.status != 201 {
            return Err(format!("its machine is refused: {}", reply.body));
        }
    }
    for (place, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let op = step["op"]
            .as_str()
            .or(step["send"].as_str())
            .expect("an op, or what is sent");
        if let Some(at) = step["at"].as_i64() {
            world.set_clock(start + at);
        }
        for _ in 0..step["repeat"].as_u64().unwrap_or(1) {
            let reply = world.perform(step);
            check(step, &reply, op, &world).map_err(|problem| {
                format!(
                    "step {place} ({op}): {problem}\n  got {} {}",
                    reply.status, reply.body
                )
            })?;
            world.capture(step, &reply)?;
        }
    }
    Ok(())
}

fn check(step: &Value, reply: &Reply, op: &str, world: &World) -> Result<(), String> {
    let expect = filled(&step["expect"], &world.captured);
    let success = match op {
        "register" | "create" => 201,
        "delete" | "delete_machine" => 204,
        _ => 200,
    };
    let status = expect["status"].as_u64().unwrap_or(success);
    if u64::from(reply.status) != status {
        return Err(format!("expected status {status}"));
    }
    if let Some(body) = expect.get("body") {
        matches(body, &reply.body, "$")?;
    }
    for (name, expected) in expect["headers"].as_object().into_iter().flatten() {
        let actual = reply.headers.get(name.as_str());
        if actual.map(String::as_str) != expected.as_str() {
            return Err(format!("header {name}: expected {expected}, got {actual:?}"));
        }
    }
    for key in expect["absent"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("a key");
        if reply.body.get(key).is_some() {
            return Err(format!("`{key}` is there"));
        }
    }
    Ok(())
}

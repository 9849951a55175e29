//! Statewright's component in a Rust host, by wasmtime: an order that is paid, and why it is not shipped.

use std::error::Error;

use wasmtime::component::{Component, Linker, bindgen};
use wasmtime::{Engine, Store};

bindgen!({ world: "core", path: "../../../wit" });

use exports::statewright::core::outcomes::{Event, Outcome};

const DEFINITION: &str = r#"{
    "machine_id": "order",
    "states": ["placed", "paid", "shipped"],
    "initial_state": "placed",
    "transitions": [
        {"from": "placed", "to": "paid", "on": "pay", "guard": {"field": "amount", "op": "gte", "value": 1}},
        {"from": "paid", "to": "shipped", "on": "ship", "guard": {"field": "stock", "op": "gt", "value": 0}}
    ]
}"#;

fn event(event_type: &str, params: &str) -> Event {
    Event {
        event_type: event_type.to_owned(),
        params: Some(params.to_owned()),
        timestamp: None,
        expected_version: None,
        target: None,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: the component's file")?;
    let engine = Engine::default();
    let component = Component::from_file(&engine, path)?;
    let mut store = Store::new(&engine, ());
    // It imports nothing, so there is nothing to link.
    let core = Core::instantiate(&mut store, &component, &Linker::new(&engine))?;
    let machines = core.statewright_core_machines();
    let machine = machines.machine();

    let order = machine.call_compile(&mut store, &DEFINITION.to_owned(), &[])??;
    let created = machine.call_create(&mut store, order, "o-1", None, 1_700_000_000_000)??;

    let pay = event("pay", r#"{"amount": 20}"#);
    let sent = machine.call_send(&mut store, order, &created.snapshot, &pay, 1_700_000_001_000, &[])??;
    let label = sent.answer.and_then(|answer| answer.transition);
    match sent.outcome {
        Outcome::Applied(commit) => println!("applied {} {:?}", label.unwrap_or_default(), commit.versions),
        other => println!("{other:?}"),
    }

    let ship = event("ship", r#"{"stock": 0}"#);
    let why = machine.call_why(&mut store, order, &sent.snapshot, &ship, 1_700_000_002_000)??;
    println!("{:?}: {:?}", why.would, why.candidates[0].clauses[0]);

    let entity = &sent.snapshot.instances[0];
    println!("{} {:?} {}", entity.entity_id, entity.state, entity.context);
    Ok(())
}

//! How much a compiled machine holds, and that an event that matches nothing allocates nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail so")]
#![allow(unsafe_code, reason = "an allocator that counts is an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use statewright_core::commit::Outcome;
use statewright_core::definition::Definition;
use statewright_core::entity::Entity;
use statewright_core::ids::{EntityId, Millis};
use statewright_core::machine::Machine;
use statewright_core::step::{Event, apply};
use statewright_core::tree::{EntityIx, Tree};

thread_local! {
    /// Bytes held, and allocations made, by this thread.
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MADE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all it does is done by the system's allocator; the counters are plain cells that allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add(layout.size()));
        MADE.set(MADE.get().wrapping_add(1));
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: it was allocated by the system with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn machine(transitions: usize) -> Value {
    let states: Vec<String> = (0..20).map(|state| format!("state-{state}")).collect();
    let transitions: Vec<Value> = (0..transitions)
        .map(|index| {
            json!({
                "from": format!("state-{}", index % 20), "to": format!("state-{}", (index + 7) % 20),
                "on": format!("event-{}", index % 33),
                "guard": {"all": [{"field": "amount", "op": "gte", "value": index}, {"field": "currency", "op": "eq", "value": "EUR"}]}
            })
        })
        .collect();
    json!({"machine_id": "large", "states": states, "initial_state": "state-0", "transitions": transitions})
}

#[test]
fn a_compiled_machine_of_100_transitions_holds_less_than_64_kib() {
    let valid = Definition::read(&machine(100)).unwrap();
    let before = HELD.get();
    let machine = Machine::compile(&valid).unwrap();
    let held = HELD.get() - before + size_of::<Machine>();
    assert!(machine.transitions().len() == 100);
    println!("{held} bytes");
    assert!(held < 64 * 1024, "{held} bytes");
}

#[test]
fn an_event_that_matches_nothing_allocates_nothing() {
    let machine = Machine::compile(&Definition::read(&machine(100)).unwrap()).unwrap();
    let id = EntityId::new("e-1").unwrap();
    let root = Entity::create(Arc::new(machine), id, Map::new(), Millis(0));
    let mut tree = Tree::new(root, None);
    for event_type in ["event-1", "event-0", "nothing"] {
        let event = Event {
            event_type: event_type.into(),
            params: Arc::new(Map::new()),
            timestamp: Some(5),
            expected_version: None,
        };
        let before = MADE.get();
        let outcome = apply(&mut tree, EntityIx::ROOT, &event, None, Millis(9));
        assert_eq!(MADE.get(), before, "{event_type}");
        assert!(matches!(outcome, Outcome::NoTransition));
    }
}

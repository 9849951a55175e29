//! The automaton says what `step::apply` says, of any definition and any history.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail so"
)]

mod common;
mod generate;
mod harness;
mod model;

use std::fmt::Write as _;
use std::sync::Arc;

use common::NOW;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::Config;
use serde_json::{Value, json};
use statewright_core::automaton::{
    Automaton, Choice, EventIx, Instance, MOST_EVENTS, Unsent, choose, numbers, reads,
};
use statewright_core::commit::Outcome;
use statewright_core::entity::{Entity, Params};
use statewright_core::ids::{EntityId, Millis};
use statewright_core::machine::Machine;
use statewright_core::step::{Event, apply};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};
use statewright_core::tree::{EntityIx, Tree};

/// All that can be seen of an entity, in every digit.
fn told(entity: &Entity) -> String {
    let mut text = format!(
        "version {} next {} updated {} context {}\n",
        entity.version(),
        entity.next_seq(),
        entity.updated_at(),
        serde_json::to_string(entity.context()).unwrap(),
    );
    for (region, entry) in entity.entries() {
        let key = entry.key.as_ref().map(ToString::to_string);
        let (seq, at) = (entry.seq, entry.entered_at);
        writeln!(
            text,
            "{region:?} {:?} {seq} {at} {:?} {key:?}",
            entry.state, entry.timer
        )
        .unwrap();
    }
    text
}

/// The same entity without memory: a tree, and each step decided.
struct Plain {
    tree: Tree,
    now: Millis,
}

impl Plain {
    fn send(&mut self, event_type: &str, params: &Arc<Params>) -> Result<bool, String> {
        if self.tree.root().machine().rules().exact_timers
            && catch_up(&mut self.tree, self.now, CATCH_UP_LIMIT).more
        {
            return Err("pending".to_owned());
        }
        let event = Event {
            event_type: event_type.into(),
            params: Arc::clone(params),
            timestamp: None,
            expected_version: None,
        };
        match apply(&mut self.tree, EntityIx::ROOT, &event, None, self.now) {
            Outcome::Commit(_) => Ok(true),
            Outcome::NoTransition => Ok(false),
            Outcome::Refusal(refusal) => Err(refusal.to_string()),
            Outcome::Duplicate => panic!("it remembers no event"),
        }
    }

    fn advance(&mut self, by: i64) {
        self.now = Millis(self.now.0 + by);
        catch_up(&mut self.tree, self.now, usize::MAX);
    }
}

fn problem(unsent: Unsent) -> String {
    match unsent {
        Unsent::Refused(refusal) => refusal.to_string(),
        Unsent::TimeoutsPending { .. } => "pending".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// What happens to one of two entities.
#[derive(Debug, Clone)]
enum Happening {
    /// A numbered event.
    Numbered(Index),
    /// One that comes once.
    Once(Index),
    Wait(i64),
    /// It is read from its rows again.
    Reload,
}

fn happening() -> impl Strategy<Value = (bool, Happening)> {
    let happening = prop_oneof![
        12 => any::<Index>().prop_map(Happening::Numbered),
        3 => any::<Index>().prop_map(Happening::Once),
        2 => (0_i64..6).prop_map(|halves| Happening::Wait(halves * 500)),
        1 => Just(Happening::Reload),
    ];
    (any::<bool>(), happening)
}

fn events() -> impl Strategy<Value = Vec<(&'static str, Params)>> {
    let event_type = prop_oneof![
        20 => select(&["go", "stop", "tick", "sort"][..]),
        1 => Just("unknown"),
        1 => Just("$timeout"),
        1 => Just("$join"),
    ];
    let params = prop_oneof![1 => Just(Params::new()), 1 => generate::params()];
    vec((event_type, params), 1..6)
}

fn check(definition: &Value, context: &Params, events: &[(&str, Params)], history: &[(bool, Happening)]) {
    let machine = common::machine(definition);
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let create = |id: &str, context: &Params| {
        let id = EntityId::new(id).unwrap();
        Entity::create(Arc::clone(&machine), id, context.clone(), NOW)
    };
    let mut pairs = [context.clone(), Params::new()].map(|context| {
        let entity = create("e-1", &context);
        let plain = Plain {
            tree: Tree::new(entity.clone(), None),
            now: NOW,
        };
        (plain, Instance::of(entity, NOW))
    });
    let events: Vec<(&str, Arc<Params>)> = events
        .iter()
        .map(|(event_type, params)| (*event_type, Arc::new(params.clone())))
        .collect();
    let numbers: Vec<EventIx> = events
        .iter()
        .map(|(event_type, params)| automaton.event(event_type, params).unwrap())
        .collect();
    for (first, happening) in history {
        let (plain, instance) = &mut pairs[usize::from(!first)];
        match happening {
            Happening::Numbered(which) => {
                let (event_type, params) = which.get(&events);
                let ours = automaton
                    .send(instance, *which.get(&numbers))
                    .map_err(|unsent| problem(*unsent));
                assert_eq!(ours, plain.send(event_type, params));
            }
            Happening::Once(which) => {
                let (event_type, params) = which.get(&events);
                let ours = automaton
                    .send_once(instance, event_type, params)
                    .map_err(|unsent| problem(*unsent));
                assert_eq!(ours, plain.send(event_type, params));
            }
            Happening::Wait(by) => {
                // What times out into itself at once has no end.
                if definition.to_string().contains("\"timeout_seconds\":0") {
                    continue;
                }
                plain.advance(*by);
                automaton.advance(instance, plain.now).unwrap();
            }
            Happening::Reload => {
                let entity = automaton.entity(instance);
                *instance = Instance::of(entity, instance.now());
            }
        }
        assert_eq!(told(&automaton.entity(instance)), told(plain.tree.root()));
        let due = statewright_core::timeouts::earliest(&plain.tree).map(|timer| timer.due);
        assert_eq!(instance.due(), due);
        assert_eq!(*instance.configuration(), plain.tree.root().configuration());
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, cases: Config::default().cases.max(1500), ..Config::default() })]

    #[test]
    fn it_says_what_each_step_says(
        definition in any::<bool>().prop_flat_map(generate::definition),
        context in generate::params(),
        events in events(),
        history in vec(happening(), 0..60),
    ) {
        check(&definition, &context, &events, &history);
    }

    #[test]
    fn a_step_reads_no_field_but_those_told(
        definition in any::<bool>().prop_flat_map(generate::definition),
        contexts in (generate::params(), generate::params()),
        params in generate::params(),
        way in vec(select(&["go", "stop", "tick", "sort"][..]), 0..5),
    ) {
        let machine = common::machine(&definition);
        for told in reads(&machine) {
            let event = Event {
                event_type: Arc::clone(&told.event_type),
                params: Arc::new(params.clone()),
                timestamp: None,
                expected_version: None,
            };
            // Two contexts that are one in what is read.
            let mut second = contexts.1.clone();
            for field in &told.fields {
                match contexts.0.get(&**field) {
                    Some(value) => drop(second.insert(field.to_string(), value.clone())),
                    None => drop(second.remove(&**field)),
                }
            }
            let like = common::tree(&machine, json!({})).root().clone();
            let only = |from: &Params| -> Params {
                let read = |(name, _): &(&String, &Value)| told.fields.iter().any(|field| **field == ***name);
                from.iter().filter(read).map(|(name, value)| (name.clone(), value.clone())).collect()
            };
            let mut tree = common::tree(&machine, Value::Object(contexts.0.clone()));
            for event_type in &way {
                apply(&mut tree, EntityIx::ROOT, &common::event(event_type, json!({})), None, NOW);
            }
            let number: u64 = number(&machine, &tree);
            let choice = choose(&like, number, &event.event_type, only(&params), only(&second));
            match apply(&mut tree, EntityIx::ROOT, &event, None, NOW) {
                Outcome::Commit(commit) => {
                    let Choice::Moves(moves) = choice else { panic!("{choice:?} for {commit:?}") };
                    let rows = commit.rows.iter().map(|row| (row.region, row.to));
                    prop_assert!(rows.eq(moves.iter().map(|enters| (enters.region, enters.state))));
                }
                Outcome::NoTransition => prop_assert_eq!(choice, Choice::Stays),
                other => prop_assert_eq!(choice, Choice::Refused, "{:?}", other),
            }
        }
    }
}

/// The number of a tree's configuration.
fn number(machine: &Machine, tree: &Tree) -> u64 {
    let weights = numbers(machine).unwrap();
    let places = tree
        .root()
        .entries()
        .zip(weights)
        .map(|((region, entry), weight)| {
            let mut within = machine.states().iter().filter(|state| state.region == region);
            let name = &machine.state(entry.state).name;
            let place = within.position(|state| state.name == *name).unwrap();
            u64::try_from(place).unwrap() * weight
        });
    places.sum()
}

fn door() -> Value {
    json!({
        "machine_id": "door", "states": ["open", "shut"], "initial_state": "shut",
        "transitions": [{"from": "shut", "to": "open", "on": "push"}, {"from": "open", "to": "shut", "on": "push"}]
    })
}

#[test]
fn steps_are_met_once() {
    let machine = common::machine(&door());
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let push = automaton.event("push", &Arc::default()).unwrap();
    assert_eq!(automaton.event("push", &Arc::default()).unwrap(), push);
    let mut doors = ["front", "back"].map(|id| {
        let id = EntityId::new(id).unwrap();
        Instance::of(Entity::create(Arc::clone(&machine), id, Params::new(), NOW), NOW)
    });
    for turn in 1..=1000 {
        for door in &mut doors {
            assert!(automaton.send(door, push).unwrap());
            assert_eq!(door.version().0, turn + 1);
        }
    }
    assert_eq!(automaton.remembered(), (2, 2));
}

#[test]
fn what_is_remembered_is_bounded() {
    let machine = common::machine(&door());
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let entity = Entity::create(
        Arc::clone(&machine),
        EntityId::new("front").unwrap(),
        Params::new(),
        NOW,
    );
    let mut door = Instance::of(entity.clone(), NOW);
    let mut plain = Plain {
        tree: Tree::new(entity, None),
        now: NOW,
    };
    for turn in 0..12_000 {
        let params: Arc<Params> = Arc::new(common::params(json!({"turn": turn, "by": "someone"})));
        let event = automaton.event("push", &params).unwrap();
        assert!(automaton.send(&mut door, event).unwrap());
        plain.send("push", &params).unwrap();
        let (points, steps) = automaton.remembered();
        assert!(
            points <= 4098 && steps <= 65_537,
            "{points} points, {steps} steps"
        );
    }
    assert_eq!(told(&automaton.entity(&door)), told(plain.tree.root()));
}

#[test]
fn so_many_events_are_numbered_and_any_may_be_sent_once() {
    let machine = common::machine(&door());
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let params = |turn: usize| Arc::new(common::params(json!({ "turn": turn })));
    for turn in 0..MOST_EVENTS {
        automaton.event("push", &params(turn)).unwrap();
    }
    assert_eq!(
        automaton.event("push", &params(MOST_EVENTS)),
        Err(Box::new(Unsent::TooManyEvents))
    );
    assert!(automaton.event("push", &params(7)).is_ok());
    let entity = Entity::create(machine, EntityId::new("front").unwrap(), Params::new(), NOW);
    let mut door = Instance::of(entity, NOW);
    assert!(
        automaton
            .send_once(&mut door, "push", &params(MOST_EVENTS))
            .unwrap()
    );
    let never = EventIx::at(u32::MAX);
    assert_eq!(
        automaton.send(&mut door, never),
        Err(Box::new(Unsent::NoSuchEvent { number: u32::MAX }))
    );
}

#[test]
fn params_that_differ_in_a_digit_are_other_events() {
    let mut automaton = Automaton::new(common::machine(&door())).unwrap();
    let mut number = |value: Value| {
        let params = Arc::new(common::params(json!({ "n": value })));
        automaton.event("push", &params).unwrap().number()
    };
    let values = [
        json!(1),
        json!(1.0),
        json!("1"),
        json!(0.0),
        json!(-0.0),
        json!(0),
        json!(u64::MAX),
    ];
    let mut numbers: Vec<u32> = values.iter().cloned().map(&mut number).collect();
    assert_eq!(numbers, values.map(number));
    numbers.dedup();
    assert_eq!(numbers.len(), 7);
}

#[test]
fn a_context_that_grows_too_large_is_refused_each_time() {
    let machine = common::machine(&door());
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let entity = Entity::create(machine, EntityId::new("front").unwrap(), Params::new(), NOW);
    let mut door = Instance::of(entity, NOW);
    for part in 0..5 {
        let params = json!({ part.to_string(): "x".repeat(60_000) });
        let params = Arc::new(common::params(params));
        let event = automaton.event("push", &params).unwrap();
        for _ in 0..2 {
            let version = door.version();
            match automaton.send(&mut door, event) {
                Ok(moved) => assert!(moved && part < 4),
                Err(unsent) => {
                    assert!(matches!(*unsent, Unsent::TooLarge { most: 262_144, .. }) && part == 4);
                    assert_eq!(automaton.send_once(&mut door, "push", &params), Err(unsent));
                    assert_eq!(door.version(), version);
                }
            }
        }
    }
}

/// Two level joins that set each other off.
#[test]
fn m4_a_refusal_is_remembered_and_changes_nothing() {
    let region = |id: &str| json!({"id": id, "states": ["a", "b"], "initial_state": "a"});
    let join = |state: &str, target: &str| json!({"when": {"r": state, "go": "b"}, "target_region": "r", "target_state": target, "trigger": "level"});
    let machine = common::machine(&json!({
        "machine_id": "m", "regions": [region("go"), region("r")],
        "transitions": [{"region": "go", "from": "a", "to": "b", "on": "go"}],
        "joins": [join("a", "b"), join("b", "a")]
    }));
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let go = automaton.event("go", &Arc::default()).unwrap();
    let entity = Entity::create(machine, EntityId::new("e").unwrap(), Params::new(), NOW);
    let before = told(&entity);
    let mut instance = Instance::of(entity, NOW);
    for _ in 0..3 {
        let unsent = automaton.send(&mut instance, go).unwrap_err();
        let Unsent::Refused(refusal) = *unsent else {
            panic!("{unsent}");
        };
        assert_eq!(refusal.code().name(), "JOIN_CASCADE_LIMIT");
        assert_eq!(told(&automaton.entity(&instance)), before);
    }
    assert_eq!(automaton.remembered(), (1, 1));
}

#[test]
fn m5_an_event_sees_what_was_due_and_the_clock_moves_on_only() {
    let machine = common::machine(&json!({
        "machine_id": "m", "states": ["a", "b", "c"], "initial_state": "a",
        "transitions": [
            {"from": "a", "to": "b", "on": "$timeout", "guard": {"timeout_seconds": 1}},
            {"from": "b", "to": "c", "on": "go"}
        ]
    }));
    let mut automaton = Automaton::new(Arc::clone(&machine)).unwrap();
    let go = automaton.event("go", &Arc::default()).unwrap();
    let entity = Entity::create(machine, EntityId::new("e").unwrap(), Params::new(), NOW);
    let mut instance = Instance::of(entity, NOW);
    assert_eq!(automaton.send(&mut instance, go), Ok(false));
    assert_eq!(instance.due(), Some(NOW.after(1000)));
    assert_eq!(automaton.advance(&mut instance, NOW.after(999)), Ok(0));
    assert_eq!(automaton.advance(&mut instance, NOW.after(1000)), Ok(1));
    assert_eq!(instance.due(), None);
    assert_eq!(automaton.send(&mut instance, go), Ok(true));
    let back = Unsent::Backwards {
        now: NOW.after(1000),
        to: NOW,
    };
    assert_eq!(automaton.advance(&mut instance, NOW), Err(Box::new(back)));
}

#[test]
fn a_machine_with_children_has_none() {
    let machine = common::machine(&json!({
        "machine_id": "m", "states": ["a", "b"], "initial_state": "a", "transitions": [],
        "sub_machines": {"a": {"machine_id": "n", "lifecycle": "managed", "on_final": {"x": "b"}}}
    }));
    assert!(Automaton::new(machine).is_none());
}

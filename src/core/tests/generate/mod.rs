//! Random definitions and what happens to their entities.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(unreachable_pub, reason = "the test binaries share this module")]
#![allow(clippy::unwrap_used, reason = "a test may fail so")]

pub mod trees;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

const SEED: &str = "statemachine-e1e4.v1";
const FIELDS: [&str; 3] = ["a", "b", "c"];
const EVENTS: [&str; 4] = ["go", "stop", "tick", "sort"];
const OPS: [&str; 8] = ["eq", "neq", "ne", "gt", "gte", "lt", "lte", "contains"];

/// Something that happens to a tree.
#[derive(Debug, Clone)]
pub enum Happening {
    /// An event.
    Event {
        /// To which of its entities.
        to: usize,
        way: Way,
        event_type: &'static str,
        /// Above 0: one that a transition from where the entity is takes, instead.
        likely: usize,
        params: Map<String, Value>,
        timestamp: Option<i64>,
        expected_version: Option<u64>,
    },
    /// The last event again, its numbers written another way.
    Again,
    /// The scanner comes by.
    Scan,
    /// The tree is stored, and restored: all of it, or what has to be known.
    Reload { all: bool },
    /// The clock goes on, in milliseconds.
    Wait(i64),
    /// The parked timers are freed.
    Release,
    /// One of its children is deleted, where it may be.
    Delete(usize),
}

/// How an event is sent.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// Without a target, to a parent so many legacy children above.
    Plain { up: usize },
    /// With an empty one.
    Own,
    /// With one from so many levels above, made wrong or not.
    Target { up: usize, twist: usize },
}

/// The values that guards compare, and that params and contexts hold: each near to another in some way.
pub fn value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(2),
        json!(1.5),
        json!(-1),
        json!("1"),
        json!("1.0"),
        json!("2"),
        json!("-1"),
        json!(" 1"),
        json!("one"),
        json!("on"),
        json!(""),
        json!("1e0"),
        json!(true),
        json!(false),
        json!(null),
        json!("true"),
        json!("null"),
        json!([1]),
        json!([1.0]),
        json!({"x": 1}),
        json!(9_007_199_254_740_993_i64),
        json!("9007199254740993"),
        json!(9_007_199_254_740_992_i64),
        json!(u64::MAX),
        json!(i64::MIN),
    ])
}

fn comparison(ops: Vec<&'static str>) -> impl Strategy<Value = Value> {
    (select(&FIELDS), select(ops), value())
        .prop_map(|(field, op, value)| json!({"field": field, "op": op, "value": value}))
}

fn nested(leaf: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(2, 6, 3, |member| {
        (any::<bool>(), vec(member, 0..3)).prop_map(|(all, members)| {
            let key = if all { "all" } else { "any" };
            json!({key: members})
        })
    })
}

/// A guard that `statewright.v1` takes.
fn guard() -> impl Strategy<Value = Value> {
    nested(comparison(OPS.to_vec()))
}

/// A guard of the seed's contract, which takes anything.
fn seed_guard() -> impl Strategy<Value = Value> {
    let mut ops = OPS.to_vec();
    ops.extend(["in", "GT", "exists"]);
    nested(prop_oneof![
        6 => comparison(ops),
        1 => select(vec![
            json!("x"), json!(1), json!([]), json!(true), json!({}), json!({"field": "a"}), json!({"all": 1}),
            json!({"timeout_seconds": 1}), json!({"any": {}}), json!({"field": "a", "op": "eq"}), json!(null),
        ])
    ])
}

fn timeout_guard() -> impl Strategy<Value = Value> {
    let delay = prop_oneof![
        (1_u64..4).prop_map(|seconds| ("timeout_seconds", seconds)),
        (1_u64..4).prop_map(|halves| ("after_ms", halves * 500)),
    ];
    (delay, option::weighted(0.4, guard())).prop_map(|((key, delay), conditions)| {
        let mut guard = conditions.unwrap_or_else(|| json!({}));
        guard[key] = json!(delay);
        guard
    })
}

/// One of a machine's places: a region and one of its states, by chance.
type Place = (Index, Index);

fn place() -> impl Strategy<Value = Place> {
    any::<(Index, Index)>()
}

#[derive(Debug, Clone)]
struct Regions(Vec<(String, Vec<String>)>);

impl Regions {
    fn region(&self, place: Place) -> &(String, Vec<String>) {
        place.0.get(&self.0)
    }

    fn find(&self, place: Place) -> (&str, &str) {
        let (region, states) = self.region(place);
        let state: &String = place.1.get(states);
        (region, state)
    }
}

/// A definition without faults, in the contract.
pub fn definition(strict: bool) -> impl Strategy<Value = Value> {
    let regions = prop_oneof![
        // How many states each region has; none is a flat machine.
        2 => (1_usize..5).prop_map(|states| (false, vec![states])),
        5 => vec(1_usize..4, 1..4).prop_map(|regions| (true, regions)),
    ];
    let guard = if strict {
        guard().boxed()
    } else {
        seed_guard().boxed()
    };
    let timeout = if strict {
        timeout_guard().boxed()
    } else {
        prop_oneof![
            4 => (0_u64..4).prop_map(|seconds| json!({"timeout_seconds": seconds})),
            1 => seed_guard(),
        ]
        .boxed()
    };
    let transition = (
        place(),
        any::<Index>(),
        select(&EVENTS),
        option::weighted(0.5, guard),
        option::weighted(0.25, timeout),
    );
    let when = vec(place(), usize::from(strict)..3);
    let join = (when, place(), option::of(any::<bool>()), vec(action(), 0..2));
    (
        regions,
        vec(transition, 0..9),
        vec(join, 0..7),
        vec((place(), any::<bool>(), action()), 0..3),
        vec(select(&EVENTS), 0..2),
    )
        .prop_map(move |((parallel, counts), transitions, joins, actions, broadcast)| {
            let mut names = Vec::new();
            for (index, count) in counts.iter().enumerate() {
                let region = if parallel { format!("r{index}") } else { "_".to_owned() };
                // Regions share state names, as they may.
                names.push((region, (0..*count).map(|state| format!("s{state}")).collect()));
            }
            let regions = Regions(names);
            let mut definition = json!({"machine_id": "random"});
            if !strict {
                definition["contract"] = json!(SEED);
            }
            write_regions(&mut definition, parallel, &regions);
            definition["transitions"] = transitions
                .into_iter()
                .map(|(from, to, event, guard, timeout)| {
                    let (region, state) = regions.find(from);
                    let (_, states) = regions.region(from);
                    let mut transition = json!({"from": state, "to": to.get(states), "on": event});
                    if parallel {
                        transition["region"] = json!(region);
                    }
                    match (timeout, guard) {
                        (Some(timeout), _) => {
                            transition["on"] = json!("$timeout");
                            transition["guard"] = timeout;
                        }
                        (None, Some(guard)) => transition["guard"] = guard,
                        (None, None) => {}
                    }
                    transition
                })
                .collect();
            definition["actions"] = actions
                .into_iter()
                .map(|(place, named, action)| {
                    let (region, state) = regions.find(place);
                    let mut def = json!({"on_enter": state, "action": action});
                    if parallel && named {
                        def["region"] = json!(region);
                    }
                    def
                })
                .collect();
            if parallel {
                definition["joins"] = joins
                    .into_iter()
                    .map(|(when, target, level, actions)| {
                        let when: Map<String, Value> = when
                            .into_iter()
                            .map(|place| regions.find(place))
                            .map(|(region, state)| (region.to_owned(), json!(state)))
                            .collect();
                        let (region, state) = regions.find(target);
                        let mut join =
                            json!({"when": when, "target_region": region, "target_state": state, "actions": actions});
                        if let (true, Some(level)) = (strict, level) {
                            join["trigger"] = json!(if level { "level" } else { "edge" });
                        }
                        join
                    })
                    .collect();
                if strict {
                    definition["broadcast"] = json!(broadcast);
                }
            }
            definition
        })
}

fn write_regions(definition: &mut Value, parallel: bool, regions: &Regions) {
    if parallel {
        definition["regions"] = regions
            .0
            .iter()
            .map(|(id, states)| json!({"id": id, "states": states, "initial_state": states.last()}))
            .collect();
    } else if let Some((_, states)) = regions.0.first() {
        definition["states"] = json!(states);
        definition["initial_state"] = json!(states.last());
    }
}

fn action() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"type": "event", "event_type": "told"}),
        json!({"type": "webhook", "url": "https://hooks.example/x"}),
    ])
}

/// Params, or a context.
pub fn params() -> impl Strategy<Value = Map<String, Value>> {
    vec((select(&FIELDS), value()), 0..3).prop_map(|pairs| {
        let pairs = pairs.into_iter();
        pairs.map(|(field, value)| (field.to_owned(), value)).collect()
    })
}

pub fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let event_type = prop_oneof![
        40 => select(&EVENTS),
        1 => Just("unknown"),
        1 => Just("$timeout"),
        1 => Just("$join"),
    ];
    let event = (
        event_type,
        params(),
        // Few timestamps, so that they repeat.
        option::weighted(0.4, 0_i64..4),
        option::weighted(0.1, 1_u64..6),
    );
    let event = event.prop_map(
        |(event_type, params, timestamp, expected_version)| Happening::Event {
            to: 0,
            way: Way::Plain { up: 0 },
            event_type,
            likely: 0,
            params,
            timestamp,
            expected_version,
        },
    );
    let happening = prop_oneof![
        10 => event,
        1 => Just(Happening::Again),
        2 => Just(Happening::Scan),
        1 => Just(Happening::Reload { all: true }),
        4 => (0_i64..8).prop_map(|halves| Happening::Wait(halves * 500)),
        1 => Just(Happening::Release),
    ];
    vec(happening, 0..16)
}

/// Any JSON, in which the words of definitions come up.
pub fn any_json() -> impl Strategy<Value = Value> {
    let word = select(vec![
        "machine_id",
        "contract",
        "states",
        "initial_state",
        "regions",
        "id",
        "transitions",
        "region",
        "from",
        "to",
        "on",
        "guard",
        "joins",
        "when",
        "target_region",
        "target_state",
        "trigger",
        "actions",
        "on_enter",
        "action",
        "type",
        "url",
        "event_type",
        "sub_machines",
        "on_final",
        "lifecycle",
        "complete_when",
        "target",
        "broadcast",
        "field",
        "op",
        "value",
        "all",
        "any",
        "timeout_seconds",
        "after_ms",
        "eq",
        "gte",
        "webhook",
        "event",
        "edge",
        "level",
        "managed",
        "$timeout",
        "_",
        "s0",
        "s1",
        "r0",
        "go",
        "statewright.v1",
        SEED,
        "",
    ]);
    let key = prop_oneof![9 => word.clone().prop_map(str::to_owned), 1 => any::<String>()];
    let leaf = prop_oneof![
        4 => word.prop_map(|word| json!(word)),
        2 => value(),
        1 => any::<String>().prop_map(|text| json!(text)),
        1 => any::<f64>().prop_map(|number| json!(number)),
        1 => any::<i64>().prop_map(|number| json!(number)),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key.clone(), inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A definition with some of its parts replaced, taken out or doubled.
pub fn broken_definition() -> impl Strategy<Value = Value> {
    let base = any::<bool>().prop_flat_map(definition);
    (base, vec((any::<Index>(), option::of(any_json())), 1..4)).prop_map(|(mut definition, breaks)| {
        for (place, value) in breaks {
            let mut pointers = Vec::new();
            collect_pointers(&definition, String::new(), &mut pointers);
            let pointer = place.get(&pointers).clone();
            let Some(part) = definition.pointer_mut(&pointer) else {
                continue;
            };
            match (value, part) {
                (Some(value), part) => *part = value,
                (None, Value::Array(items)) => items.extend(items.clone()),
                (None, Value::Object(object)) => drop(object.pop_first()),
                (None, part) => *part = Value::Null,
            }
        }
        definition
    })
}

trait PopFirst {
    fn pop_first(&mut self) -> Option<Value>;
}

impl PopFirst for Map<String, Value> {
    fn pop_first(&mut self) -> Option<Value> {
        let key = self.keys().next()?.clone();
        self.remove(&key)
    }
}

fn collect_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_pointers(item, format!("{at}/{index}"), pointers);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_pointers(item, format!("{at}/{key}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}

//! Random families of machines, and what happens to a tree of them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use super::{EVENTS, Happening, Place, SEED, Way, comparison, params};
use crate::harness::Case;

const OPS: [&str; 3] = ["eq", "ne", "gte"];

/// What a machine has before its states are known.
#[derive(Debug, Clone)]
struct Draft {
    /// How many states each region has; one region, if the machine is flat.
    counts: Vec<usize>,
    parallel: bool,
    /// What leaves each state in turn.
    ways: Vec<TransitionDraft>,
    /// More of them, from anywhere.
    transitions: Vec<TransitionDraft>,
    joins: Vec<JoinDraft>,
    actions: Vec<Place>,
    broadcast: Option<&'static str>,
    children: Vec<ChildDraft>,
}

/// What it waits for, what it moves, and whether by level.
type JoinDraft = (Vec<Place>, Place, bool);

#[derive(Debug, Clone)]
struct TransitionDraft {
    region: Index,
    from: Index,
    to: Index,
    event: &'static str,
    guard: Option<Value>,
    delay: Option<u64>,
    /// Whether it leads to a compound state, if there is one.
    down: bool,
}

/// A compound state and its child.
#[derive(Debug, Clone)]
struct ChildDraft {
    region: Index,
    state: Index,
    machine: Index,
    /// Of ten: 0 is any machine, 1 is one that there is not.
    odd: u8,
    managed: bool,
    reentry: Option<&'static str>,
    on_final: Vec<(Index, Index)>,
    rules: Vec<(Vec<Index>, Index)>,
    /// Of twenty: 0 leaves something out of a rule, 1 gives a parallel child `on_final`.
    broken: u8,
}

/// Machines and what happens to a tree of the first, in the contract.
pub fn case(strict: bool) -> impl Strategy<Value = Case> {
    let foreign = vec((0_usize..5, any::<bool>(), any::<bool>()), 0..2);
    (
        vec(draft(strict), 2..6),
        option::weighted(0.1, foreign),
        params(),
        happenings(),
        option::weighted(0.02, any::<Index>()),
    )
        .prop_map(move |(drafts, foreign, context, happenings, other)| {
            let mut definitions: Vec<Value> = (0..drafts.len())
                .map(|place| definition(&drafts, place, strict))
                .collect();
            // One of another contract.
            if let Some(other) = other.map(|other| other.index(definitions.len()))
                && other > 0
            {
                definitions[other] = flip(&definitions[other]);
            }
            let foreign = foreign.into_iter().flatten();
            let foreign = foreign.map(|(machine, first, deep)| {
                let state = if first { "s0" } else { "s1" };
                let deep = if deep { "::sub::s1" } else { "" };
                (format!("m{machine}"), format!("e-1{deep}::sub::{state}"))
            });
            Case {
                definitions,
                foreign: foreign.collect(),
                context,
                happenings,
            }
        })
}

fn draft(strict: bool) -> impl Strategy<Value = Draft> {
    let counts = prop_oneof![
        3 => (1_usize..5).prop_map(|states| (vec![states], false)),
        2 => (vec(1_usize..4, 1..4), Just(true)),
    ];
    let place = || (any::<Index>(), any::<Index>());
    let guard = comparison(OPS.to_vec());
    let transition = (
        any::<Index>(),
        place(),
        select(&EVENTS),
        option::weighted(0.15, guard),
        option::weighted(0.2, 1_u64..4),
        prop::bool::weighted(0.4),
    );
    let transition = transition
        .prop_map(
            |(region, (from, to), event, guard, delay, down)| TransitionDraft {
                region,
                from,
                to,
                event,
                guard,
                delay,
                down,
            },
        )
        .boxed();
    let child = (
        (place(), any::<Index>(), 0_u8..40, prop::bool::weighted(0.7)),
        option::weighted(0.6, select(vec!["refuse", "fresh", "resume", "fresh", "resume"])),
        vec(place(), 0..3),
        vec((vec(any::<Index>(), 3), any::<Index>()), 0..3),
        0_u8..40,
    );
    let child = child.prop_map(
        |(((region, state), machine, odd, managed), reentry, on_final, rules, broken)| ChildDraft {
            region,
            state,
            machine,
            odd,
            managed,
            reentry,
            on_final,
            rules,
            broken,
        },
    );
    let child = child.boxed();
    let join = (vec(place(), 1..3), place(), any::<bool>());
    (
        counts,
        vec(transition.clone(), 9),
        vec(transition, 0..4),
        vec(join, 0..3),
        vec(place(), 0..2),
        option::weighted(0.2, select(&EVENTS)),
        prop_oneof![1 => Just(0), 4 => 1_usize..5].prop_flat_map(move |count| vec(child.clone(), count)),
    )
        .prop_map(
            move |((counts, parallel), ways, transitions, joins, actions, broadcast, children)| Draft {
                counts,
                parallel,
                ways,
                transitions,
                joins,
                actions,
                broadcast: broadcast.filter(|_| strict && parallel),
                children,
            },
        )
}

impl Draft {
    fn regions(&self) -> Vec<(String, Vec<String>)> {
        let mut first = 0;
        let counts = self.counts.iter().enumerate();
        counts
            .map(|(index, count)| {
                // Children are named after states, so that these differ between regions.
                let states = (first..first + count).map(|state| format!("s{state}"));
                first += count;
                let name = if self.parallel {
                    format!("r{index}")
                } else {
                    "_".to_owned()
                };
                (name, states.collect())
            })
            .collect()
    }

    fn initial(states: &[String]) -> &str {
        states.first().unwrap()
    }
}

fn definition(drafts: &[Draft], place: usize, strict: bool) -> Value {
    let draft = &drafts[place];
    let regions = draft.regions();
    let mut definition = json!({"machine_id": format!("m{place}")});
    if !strict {
        definition["contract"] = json!(SEED);
    }
    let mut subs: Vec<Map<String, Value>> = vec![Map::new(); regions.len()];
    for child in &draft.children {
        let at = child.region.index(regions.len());
        let states = &regions[at].1;
        let state: &String = child.state.get(states);
        subs[at].insert(state.clone(), sub_machine(drafts, place, child, states, strict));
    }
    // A legacy child's state cannot be initial (S2.42).
    for (at, subs) in subs.iter_mut().enumerate() {
        let initial = Draft::initial(&regions[at].1);
        if subs
            .get(initial)
            .is_some_and(|sub| sub.get("lifecycle").is_none())
        {
            subs.remove(initial);
        }
    }
    let compound: Vec<String> = subs.iter().flat_map(|subs| subs.keys().cloned()).collect();
    let mut subs = subs.into_iter();
    if draft.parallel {
        let regions = regions.iter().zip(subs);
        let regions = regions.map(|((id, states), subs)| {
            json!({
                "id": id, "states": states, "initial_state": Draft::initial(states), "sub_machines": subs
            })
        });
        definition["regions"] = regions.collect();
    } else {
        definition["states"] = json!(regions[0].1);
        definition["initial_state"] = json!(Draft::initial(&regions[0].1));
        definition["sub_machines"] = json!(subs.next());
    }
    let name = |(region, state): &(Index, Index)| {
        let (region, states) = region.get(&regions);
        let state: &String = state.get(states);
        (region.clone(), state.clone())
    };
    let mut left: Vec<(String, String, &Vec<String>)> = Vec::new();
    for (region, states) in &regions {
        left.extend(states.iter().map(|state| (region.clone(), state.clone(), states)));
    }
    let ways = left
        .into_iter()
        .zip(&draft.ways)
        .map(|((region, from, states), way)| {
            let mut compound = compound.clone();
            compound.retain(|state| states.contains(state));
            let down = way.down && !compound.is_empty();
            let to: &String = way.to.get(if down { &compound } else { states });
            (region, from, to.clone(), way)
        });
    let more = draft.transitions.iter().map(|transition| {
        let (region, from) = name(&(transition.region, transition.from));
        let (_, to) = name(&(transition.region, transition.to));
        (region, from, to, transition)
    });
    let transitions = more.chain(ways).map(|(region, from, to, transition)| {
        let mut json = json!({"from": from, "to": to, "on": transition.event});
        if draft.parallel {
            json["region"] = json!(region);
        }
        match (transition.delay, &transition.guard) {
            (Some(delay), conditions) => {
                json["on"] = json!("$timeout");
                let mut guard = conditions.clone().filter(|_| strict).unwrap_or_else(|| json!({}));
                guard["timeout_seconds"] = json!(delay);
                json["guard"] = guard;
            }
            (None, Some(guard)) => json["guard"] = guard.clone(),
            (None, None) => {}
        }
        json
    });
    definition["transitions"] = transitions.collect();
    let actions = draft.actions.iter().map(|place| {
        let (_, state) = name(place);
        json!({"on_enter": state, "action": {"type": "event", "event_type": "told"}})
    });
    definition["actions"] = actions.collect();
    if draft.parallel {
        let joins = draft.joins.iter().map(|(when, target, level)| {
            let when: Map<String, Value> = when
                .iter()
                .map(name)
                .map(|(region, state)| (region, json!(state)))
                .collect();
            let (region, state) = name(target);
            let mut join = json!({"when": when, "target_region": region, "target_state": state});
            if strict && *level {
                join["trigger"] = json!("level");
            }
            join
        });
        definition["joins"] = joins.collect();
        if let Some(event) = draft.broadcast {
            definition["broadcast"] = json!([event]);
        }
    }
    definition
}

/// The child of a state: of a later machine mostly, so that managed children end somewhere.
fn sub_machine(drafts: &[Draft], place: usize, child: &ChildDraft, states: &[String], strict: bool) -> Value {
    let later = place + 1..drafts.len();
    let machine = if child.odd == 0 || later.is_empty() || (!child.managed && child.odd < 10) {
        child.machine.index(drafts.len())
    } else {
        later.start + child.machine.index(later.len())
    };
    let mut sub = json!({"machine_id": format!("m{machine}")});
    if child.odd == 1 {
        sub["machine_id"] = json!("nowhere");
    }
    let draft = &drafts[machine];
    let regions = draft.regions();
    // Back to the state itself now and then, otherwise to any.
    let target = |at: &Index| json!(at.get(states));
    let finals: Map<String, Value> = child
        .on_final
        .iter()
        .map(|(state, to)| {
            let states = &regions[0].1;
            // Seldom the initial state: what is final at its start is not worth much.
            let first = usize::from(states.len() > 1 && child.broken > 4);
            let state = &states[first + state.index(states.len() - first)];
            (state.clone(), target(to))
        })
        .collect();
    if !child.managed {
        sub["on_final"] = json!(finals);
        return sub;
    }
    sub["lifecycle"] = json!("managed");
    if child.broken == 1 || !draft.parallel {
        sub["on_final"] = json!(finals);
    }
    let rules: Vec<Value> = child
        .rules
        .iter()
        .map(|(picks, to)| {
            let mut when: Map<String, Value> = regions
                .iter()
                .zip(picks)
                .map(|((region, states), pick)| {
                    let state: &String = pick.get(states);
                    (region.clone(), json!(state))
                })
                .collect();
            if child.broken == 0 {
                when.remove(&regions[0].0);
            }
            json!({"when": when, "target": target(to)})
        })
        .collect();
    if !rules.is_empty() {
        sub["complete_when"] = json!(rules);
    }
    if let Some(reentry) = child.reentry.filter(|_| strict) {
        sub["reentry"] = json!(reentry);
    }
    sub
}

/// The same in the other contract, as far as that goes.
fn flip(definition: &Value) -> Value {
    let mut flipped = json!({
        "machine_id": definition["machine_id"], "states": ["s0"], "initial_state": "s0", "transitions": []
    });
    if definition.get("contract").is_none() {
        flipped["contract"] = json!(SEED);
    }
    flipped
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let event_type = prop_oneof![
        60 => select(&EVENTS),
        1 => Just("unknown"),
        1 => Just("$timeout"),
    ];
    let way = prop_oneof![
        6 => prop_oneof![3 => Just(0), 2 => 1_usize..3].prop_map(|up| Way::Plain { up }),
        2 => Just(Way::Own),
        3 => (0_usize..9, 0_usize..48).prop_map(|(up, twist)| Way::Target { up, twist }),
    ];
    let event = (
        // Few of them, so that the root and those near it get most.
        prop_oneof![2 => 0_usize..2, 3 => 0_usize..8, 1 => 0_usize..600],
        way,
        event_type,
        prop_oneof![2 => Just(0), 3 => 1_usize..9],
        prop_oneof![3 => Just(Map::new()), 1 => params()],
        // Few timestamps, so that they repeat.
        option::weighted(0.4, 0_i64..4),
        option::weighted(0.05, 1_u64..6),
    );
    let event = event.prop_map(
        |(to, way, event_type, likely, params, timestamp, expected_version)| Happening::Event {
            to,
            way,
            event_type,
            likely,
            params,
            timestamp,
            expected_version,
        },
    );
    let happening = prop_oneof![
        24 => event,
        2 => Just(Happening::Again),
        2 => Just(Happening::Scan),
        2 => any::<bool>().prop_map(|all| Happening::Reload { all }),
        6 => (0_i64..8).prop_map(|halves| Happening::Wait(halves * 500)),
        1 => Just(Happening::Release),
        1 => (0_usize..8).prop_map(Happening::Delete),
    ];
    vec(happening, 0..24)
}

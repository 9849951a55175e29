//! Valid definitions and what happens to their entities, each choice made by the fuzzer's bytes. Out of bytes every
//! choice is the first.
#![allow(dead_code, reason = "each target uses its part")]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

use crate::generate::{Happening, Way};

const FIELDS: [&str; 3] = ["a", "b", "c"];
const EVENTS: [&str; 6] = ["go", "stop", "tick", "sort", "$timeout", "unknown"];
const OPS: [&str; 10] = [
    "eq", "neq", "ne", "gt", "gte", "lt", "lte", "contains", "in", "GT",
];

/// A definition without faults.
pub fn definition(u: &mut Unstructured<'_>, strict: bool) -> Result<Value> {
    let counts: Vec<usize> = (0..u.int_in_range(0..=3)?)
        .map(|_| u.int_in_range(1..=4))
        .collect::<Result<_>>()?;
    let parallel = !counts.is_empty();
    let mut regions = Vec::new();
    if parallel {
        for (index, count) in counts.iter().enumerate() {
            regions.push((format!("r{index}"), states(*count)));
        }
    } else {
        regions.push(("_".to_owned(), states(u.int_in_range(1..=4)?)));
    }
    let mut definition = json!({"machine_id": "chosen"});
    if !strict {
        definition["contract"] = json!("statemachine-e1e4.v1");
    }
    if parallel {
        let defs = regions
            .iter()
            .map(|(id, states)| json!({"id": id, "states": states, "initial_state": states.first()}));
        definition["regions"] = defs.collect();
    } else {
        definition["states"] = json!(regions[0].1);
        definition["initial_state"] = json!(regions[0].1[0]);
    }
    let mut transitions = Vec::new();
    for _ in 0..u.int_in_range(0..=10)? {
        transitions.push(transition(u, &regions, parallel, strict)?);
    }
    definition["transitions"] = json!(transitions);
    let mut actions = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        let (region, state) = place(u, &regions)?;
        let mut def = json!({"on_enter": state, "action": {"type": "event", "event_type": "told"}});
        if parallel && u.arbitrary()? {
            def["region"] = json!(region);
        }
        actions.push(def);
    }
    definition["actions"] = json!(actions);
    if parallel {
        let mut joins = Vec::new();
        for _ in 0..u.int_in_range(0..=6)? {
            joins.push(join(u, &regions, strict)?);
        }
        definition["joins"] = json!(joins);
        if strict && u.arbitrary()? {
            definition["broadcast"] = json!([*u.choose(&EVENTS[..4])?]);
        }
    }
    Ok(definition)
}

type Regions = [(String, Vec<String>)];

fn states(count: usize) -> Vec<String> {
    (0..count).map(|state| format!("s{state}")).collect()
}

fn place<'a>(u: &mut Unstructured<'_>, regions: &'a Regions) -> Result<(&'a str, &'a str)> {
    let (region, states) = u.choose(regions)?;
    Ok((region, u.choose(states)?))
}

fn transition(u: &mut Unstructured<'_>, regions: &Regions, parallel: bool, strict: bool) -> Result<Value> {
    let (region, states) = u.choose(regions)?;
    let mut transition = json!({"from": u.choose(states)?, "to": u.choose(states)?});
    if parallel {
        transition["region"] = json!(region);
    }
    if u.ratio(1, 4)? {
        transition["on"] = json!("$timeout");
        let mut delay = if strict && u.arbitrary()? {
            json!({"after_ms": u.int_in_range(1..=6)? * 500})
        } else {
            json!({"timeout_seconds": u.int_in_range(u8::from(strict)..=3)?})
        };
        if strict && u.arbitrary()? {
            let conditions = guard(u, 2, true)?;
            delay.as_object_mut().into_iter().for_each(|delay| {
                delay.extend(conditions.as_object().cloned().unwrap_or_default());
            });
        }
        transition["guard"] = delay;
    } else {
        transition["on"] = json!(u.choose(&EVENTS[..4])?);
        if u.arbitrary()? {
            transition["guard"] = guard(u, 2, strict)?;
        }
    }
    Ok(transition)
}

fn guard(u: &mut Unstructured<'_>, depth: usize, strict: bool) -> Result<Value> {
    let kinds = if strict { 6 } else { 8 };
    match u.int_in_range(0..=kinds)? {
        kind @ (0 | 1) if depth > 0 => {
            let members = (0..u.int_in_range(0..=2)?)
                .map(|_| guard(u, depth - 1, strict))
                .collect::<Result<Vec<_>>>()?;
            Ok(json!({if kind == 0 { "all" } else { "any" }: members}))
        }
        7 => Ok(json!({"field": u.choose(&FIELDS)?})),
        8 => value(u),
        _ => {
            let ops = if strict { &OPS[..8] } else { &OPS };
            Ok(json!({"field": u.choose(&FIELDS)?, "op": u.choose(ops)?, "value": value(u)?}))
        }
    }
}

fn value(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match u.int_in_range(0..=9)? {
        0 => json!(null),
        1 => json!(u.arbitrary::<bool>()?),
        2 => json!(u.int_in_range(-2..=3)?),
        3 => json!(f64::from(u.int_in_range(-4_i8..=6)?) / 2.0),
        4 => json!(u.int_in_range(-2..=3)?.to_string()),
        5 => json!(format!("{:?}", f64::from(u.int_in_range(-4_i8..=6)?) / 2.0)),
        6 => json!(*u.choose(&["", "one", "on", "true", " 1", "1e0", "01", "-", "1.", ".5"])?),
        7 => json!([u.int_in_range(0..=1)?]),
        8 => json!({"x": u.arbitrary::<bool>()?}),
        _ => json!(9_007_199_254_740_992_i64 + u.int_in_range(-1..=1)?),
    })
}

fn join(u: &mut Unstructured<'_>, regions: &Regions, strict: bool) -> Result<Value> {
    let mut when = Map::new();
    for _ in 0..u.int_in_range(1..=3)? {
        let (region, state) = place(u, regions)?;
        when.insert(region.to_owned(), json!(state));
    }
    let (region, state) = place(u, regions)?;
    let mut join = json!({"when": when, "target_region": region, "target_state": state});
    if strict && u.arbitrary()? {
        join["trigger"] = json!("level");
    }
    Ok(join)
}

/// Params, or a context.
pub fn params(u: &mut Unstructured<'_>) -> Result<Map<String, Value>> {
    let mut params = Map::new();
    for _ in 0..u.int_in_range(0..=2)? {
        params.insert((*u.choose(&FIELDS)?).to_owned(), value(u)?);
    }
    Ok(params)
}

/// Machines that name each other as children.
pub fn family(u: &mut Unstructured<'_>, strict: bool) -> Result<Vec<Value>> {
    let mut family = Vec::new();
    for place in 0..u.int_in_range(1..=4)? {
        let mut definition = definition(u, strict)?;
        definition["machine_id"] = json!(format!("m{place}"));
        family.push(definition);
    }
    let all = family.clone();
    for definition in &mut family {
        add_children(u, definition, &all, strict)?;
    }
    Ok(family)
}

/// The regions of a definition, or the one region of a flat one.
fn parts(definition: &Value) -> Vec<Value> {
    match definition["regions"].as_array() {
        Some(regions) => regions.clone(),
        None => vec![definition.clone()],
    }
}

fn add_children(u: &mut Unstructured<'_>, definition: &mut Value, all: &[Value], strict: bool) -> Result<()> {
    let mut named = Vec::new();
    for place in 0..parts(definition).len() {
        let part = parts(definition).swap_remove(place);
        let mut subs = Map::new();
        for _ in 0..u.int_in_range(0..=2)? {
            let state = choose(u, &part["states"])?;
            let child = u.choose(all)?;
            let managed = state == part["initial_state"] || u.arbitrary()?;
            if named.contains(&state) {
                continue;
            }
            let sub = sub_machine(u, &part["states"], child, managed, strict)?;
            subs.insert(state.as_str().unwrap_or_default().to_owned(), sub);
            named.push(state);
        }
        if definition["regions"].is_array() {
            definition["regions"][place]["sub_machines"] = json!(subs);
        } else {
            definition["sub_machines"] = json!(subs);
        }
    }
    Ok(())
}

fn choose(u: &mut Unstructured<'_>, list: &Value) -> Result<Value> {
    let list = list.as_array().cloned().unwrap_or_default();
    Ok(u.choose(&list)?.clone())
}

fn sub_machine(
    u: &mut Unstructured<'_>,
    states: &Value,
    child: &Value,
    managed: bool,
    strict: bool,
) -> Result<Value> {
    let mut sub = json!({"machine_id": child["machine_id"]});
    let parts = parts(child);
    if child["regions"].is_null() {
        let mut finals = Map::new();
        for _ in 0..u.int_in_range(0..=2)? {
            let state = choose(u, &child["states"])?;
            finals.insert(state.as_str().unwrap_or_default().to_owned(), choose(u, states)?);
        }
        sub["on_final"] = json!(finals);
    }
    if !managed {
        return Ok(sub);
    }
    sub["lifecycle"] = json!("managed");
    let mut rules = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        let mut when = Map::new();
        for part in &parts {
            let region = part["id"].as_str().unwrap_or("_");
            when.insert(region.to_owned(), choose(u, &part["states"])?);
        }
        rules.push(json!({"when": when, "target": choose(u, states)?}));
    }
    sub["complete_when"] = json!(rules);
    if strict {
        sub["reentry"] = json!(u.choose(&["refuse", "fresh", "resume"])?);
    }
    Ok(sub)
}

/// What happens to an entity alone, as long as there are bytes.
pub fn happenings(u: &mut Unstructured<'_>) -> Result<Vec<Happening>> {
    happen(u, false)
}

/// What happens to a tree.
pub fn happenings_of_a_tree(u: &mut Unstructured<'_>) -> Result<Vec<Happening>> {
    happen(u, true)
}

fn happen(u: &mut Unstructured<'_>, tree: bool) -> Result<Vec<Happening>> {
    let mut happenings = Vec::new();
    while !u.is_empty() && happenings.len() < 48 {
        happenings.push(match u.int_in_range(0..=if tree { 10 } else { 9 })? {
            0 => Happening::Scan,
            1 => Happening::Again,
            2 => Happening::Reload {
                all: !tree || u.arbitrary()?,
            },
            3 => Happening::Release,
            4 | 5 => Happening::Wait(u.int_in_range(0..=7)? * 500),
            10 => Happening::Delete(u.int_in_range(0..=15)?),
            _ => Happening::Event {
                to: if tree { u.int_in_range(0..=15)? } else { 0 },
                way: if tree { way(u)? } else { Way::Plain { up: 0 } },
                event_type: u.choose(&EVENTS)?,
                likely: if tree { u.int_in_range(0..=7)? } else { 0 },
                params: params(u)?,
                timestamp: if u.arbitrary()? {
                    Some(u.int_in_range(0..=3)?)
                } else {
                    None
                },
                expected_version: if u.ratio(1, 8)? {
                    Some(u.int_in_range(0..=6)?)
                } else {
                    None
                },
            },
        });
    }
    Ok(happenings)
}

fn way(u: &mut Unstructured<'_>) -> Result<Way> {
    Ok(match u.int_in_range(0..=3)? {
        0 => Way::Own,
        1 => Way::Target {
            up: u.int_in_range(0..=8)?,
            twist: u.int_in_range(0..=47)?,
        },
        _ => Way::Plain {
            up: u.int_in_range(0..=2)?,
        },
    })
}

//! Valid definitions and what happens to their entities, each choice made by the fuzzer's bytes. Out of bytes every
//! choice is the first.

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

use crate::generate::Happening;

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

/// What happens, as long as there are bytes.
pub fn happenings(u: &mut Unstructured<'_>) -> Result<Vec<Happening>> {
    let mut happenings = Vec::new();
    while !u.is_empty() && happenings.len() < 48 {
        happenings.push(match u.int_in_range(0..=9)? {
            0 => Happening::Scan,
            1 => Happening::Again,
            2 => Happening::Reload,
            3 => Happening::Release,
            4 | 5 => Happening::Wait(u.int_in_range(0..=7)? * 500),
            _ => Happening::Event {
                event_type: u.choose(&EVENTS)?,
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

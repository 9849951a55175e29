//! What a guard may look like (R6, M2). In `statemachine-e1e4.v1` any JSON may: what is malformed passes (S2.70).

use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::definition::shape::{Findings, Path, kind_of, shortened};
use crate::definition::{GuardOp, MAX_GUARD_DEPTH};
use crate::fault::WarningKind;
use crate::number::Num;

const SECONDS: &str = "timeout_seconds";
const MILLIS: &str = "after_ms";

/// The delay that a `$timeout` guard asks for, in milliseconds, where it is well formed under the contract.
pub(crate) fn delay(guard: Option<&Value>, contract: Contract) -> Option<u64> {
    let object = guard?.as_object()?;
    let seconds = object.get(SECONDS).and_then(Value::as_u64);
    if !contract.rules().timeout_conditions {
        return seconds?.checked_mul(1000);
    }
    match seconds {
        Some(seconds) => seconds.checked_mul(1000),
        None => object.get(MILLIS).and_then(Value::as_u64),
    }
}

/// Checks the guard of a transition.
pub(crate) fn check(
    findings: &mut Findings,
    path: &Path,
    guard: Option<&Value>,
    timeout: bool,
    contract: Contract,
) {
    if let Some(guard) = guard
        && depth(guard) > MAX_GUARD_DEPTH
    {
        findings.fault(
            path,
            format!("`all` and `any` nest deeper than {MAX_GUARD_DEPTH}"),
            format!("at most {MAX_GUARD_DEPTH} levels"),
        );
        return;
    }
    if !contract.rules().strict {
        if timeout && delay(guard, contract).is_none() {
            findings.warn(
                WarningKind::ImpossibleGuard,
                path,
                "without an integer `timeout_seconds` at its top the timeout never fires",
            );
        }
        return;
    }
    if !timeout {
        if let Some(guard) = guard {
            condition(findings, path, guard);
        }
        return;
    }
    let Some(guard) = guard else {
        findings.fault(
            path,
            "a `$timeout` needs a delay",
            "an object with `timeout_seconds` or `after_ms`",
        );
        return;
    };
    let Some(object) = findings.object(path, guard) else {
        return;
    };
    check_delay(findings, path, object);
    let conditions: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| *key != SECONDS && *key != MILLIS)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !conditions.is_empty() {
        condition_object(findings, path, &conditions);
    }
}

fn check_delay(findings: &mut Findings, path: &Path, object: &Map<String, Value>) {
    // Delays stay within what every host carries exactly, as the times do.
    const MOST: u64 = 1 << 53;
    let (key, factor) = match (object.contains_key(SECONDS), object.contains_key(MILLIS)) {
        (true, false) => (SECONDS, 1000),
        (false, true) => (MILLIS, 1),
        (true, true) => {
            findings.fault(
                &path.key(MILLIS),
                "it stands beside `timeout_seconds`",
                "one delay",
            );
            return;
        }
        (false, false) => {
            findings.fault(
                path,
                "a `$timeout` needs a delay",
                "`timeout_seconds` or `after_ms`",
            );
            return;
        }
    };
    let delay = object.get(key).and_then(Value::as_u64).filter(|delay| *delay > 0);
    if delay
        .and_then(|delay| delay.checked_mul(factor))
        .is_none_or(|millis| millis > MOST)
    {
        let got = object.get(key).map(Value::to_string).unwrap_or_default();
        findings.fault(
            &path.key(key),
            format!("`{}` is no delay", shortened(&got)),
            "a positive integer of at most 2^53 milliseconds",
        );
    }
}

fn condition(findings: &mut Findings, path: &Path, guard: &Value) {
    if let Some(object) = findings.object(path, guard) {
        condition_object(findings, path, object);
    }
}

fn condition_object(findings: &mut Findings, path: &Path, object: &Map<String, Value>) {
    for key in [SECONDS, MILLIS] {
        if object.contains_key(key) {
            findings.fault(
                &path.key(key),
                "a delay stands only at the top of a `$timeout` guard",
                "no delay here",
            );
            return;
        }
    }
    let (all, any) = (object.get("all"), object.get("any"));
    if all.is_some() && any.is_some() {
        findings.fault(
            &path.key("any"),
            "it stands beside `all`",
            "one of them; nest one in the other",
        );
        return;
    }
    for (key, members) in [("all", all), ("any", any)] {
        let Some(members) = members else { continue };
        findings.unknown_keys(path, object, &[key]);
        let path = path.key(key);
        match members {
            Value::Array(members) => {
                for (index, member) in members.iter().enumerate() {
                    condition(findings, &path.item(index), member);
                }
                if members.is_empty() && key == "any" {
                    findings.warn(
                        WarningKind::ImpossibleGuard,
                        &path,
                        "`any` of nothing is never true",
                    );
                }
            }
            other => findings.fault(&path, format!("it is {}", kind_of(other)), "an array of guards"),
        }
        return;
    }
    comparison(findings, path, object);
}

fn comparison(findings: &mut Findings, path: &Path, object: &Map<String, Value>) {
    findings.unknown_keys(path, object, &["field", "op", "value"]);
    if !object.is_empty()
        && !["field", "op", "value"]
            .iter()
            .any(|key| object.contains_key(*key))
    {
        // Nothing but unknown keys: what they were meant to be is not missing as well.
        return;
    }
    findings.text(path, object, "field");
    let value = object.get("value");
    if value.is_none() {
        findings.fault(
            &path.key("value"),
            "it is missing",
            "what the field is compared with",
        );
    }
    let Some(name) = findings.text(path, object, "op") else {
        return;
    };
    let Some(op) = GuardOp::named(&name) else {
        let expected = findings.one_of(&name, GuardOp::NAMES);
        findings.fault(
            &path.key("op"),
            format!("`{}` is no operator", shortened(&name)),
            expected,
        );
        return;
    };
    let Some(value) = value else { return };
    let ordered = matches!(op, GuardOp::Gt | GuardOp::Gte | GuardOp::Lt | GuardOp::Lte);
    if ordered && Num::of_value(value).is_none() {
        findings.warn(
            WarningKind::ImpossibleGuard,
            &path.key("value"),
            format!(
                "`{}` compares numbers, and this is none: it is never true",
                op.name()
            ),
        );
    }
    if op == GuardOp::Contains && !value.is_string() {
        findings.warn(
            WarningKind::ImpossibleGuard,
            &path.key("value"),
            "`contains` compares strings, and this is none: it is never true",
        );
    }
}

/// How many `all` and `any` stand in each other.
fn depth(guard: &Value) -> usize {
    let Some(object) = guard.as_object() else { return 0 };
    let members = ["all", "any"]
        .into_iter()
        .filter_map(|key| object.get(key)?.as_array())
        .flatten();
    let compound = object.contains_key("all") || object.contains_key("any");
    let deepest = members.map(depth).max().unwrap_or(0);
    if compound { deepest.saturating_add(1) } else { 0 }
}

//! Guards of the reference model, in both contracts.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Whether a guard passes; null is none.
pub fn passes(
    guard: &Value,
    params: Option<&Map<String, Value>>,
    context: &Map<String, Value>,
    strict: bool,
) -> bool {
    if guard.is_null() {
        return true; // S2.56
    }
    let again = |member: &Value| match member {
        // As a member null is malformed.
        Value::Null => !strict,
        member => passes(member, params, context, strict),
    };
    let Some(object) = guard.as_object() else {
        return !strict; // S2.70
    };
    if !strict && object.contains_key("timeout_seconds") {
        return false; // S2.74
    }
    if let Some(all) = object.get("all") {
        return match all.as_array() {
            Some(members) => members.iter().all(again), // S2.63
            None => !strict,                            // S2.72
        };
    }
    if let Some(any) = object.get("any") {
        return match any.as_array() {
            Some(members) => members.iter().any(again), // S2.64
            None => !strict,
        };
    }
    let (Some(field), Some(op), Some(expected)) = (
        object.get("field").and_then(Value::as_str),
        object.get("op").and_then(Value::as_str),
        object.get("value"),
    ) else {
        return !strict; // S2.71
    };
    // S2.65, S2.66
    let param = params.and_then(|params| params.get(field));
    let Some(seen) = param.or_else(|| context.get(field)) else {
        return false;
    };
    if strict {
        return compare(op, seen, expected);
    }
    // S2.67
    let float = param
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<f64>().ok());
    match float {
        Some(float) if float.is_finite() => compare_as_seed(op, &Value::from(float), expected),
        _ => compare_as_seed(op, seen, expected),
    }
}

/// M1.
fn compare(op: &str, seen: &Value, expected: &Value) -> bool {
    let numbers = number(seen).zip(number(expected));
    let both_text = seen.is_string() && expected.is_string();
    let equal = match &numbers {
        Some((a, b)) if !both_text => a == b,
        _ => canonical(seen) == canonical(expected),
    };
    let order = numbers.map(|(a, b)| order(&a, &b));
    match op {
        "eq" => equal,
        "ne" | "neq" => !equal,
        "gt" => order == Some(Ordering::Greater),
        "gte" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        "lt" => order == Some(Ordering::Less),
        "lte" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "contains" => contains(seen, expected),
        _ => false,
    }
}

/// S2.58 to S2.62.
fn compare_as_seed(op: &str, seen: &Value, expected: &Value) -> bool {
    let float = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    let numbers: Option<(f64, f64)> = float(seen).zip(float(expected));
    match op {
        "eq" => seen == expected,
        "ne" | "neq" => seen != expected,
        "gt" => numbers.is_some_and(|(a, b)| a > b),
        "gte" => numbers.is_some_and(|(a, b)| a >= b),
        "lt" => numbers.is_some_and(|(a, b)| a < b),
        "lte" => numbers.is_some_and(|(a, b)| a <= b),
        "contains" => contains(seen, expected),
        _ => false,
    }
}

fn contains(seen: &Value, expected: &Value) -> bool {
    let texts = seen.as_str().zip(expected.as_str());
    texts.is_some_and(|(seen, part)| seen.contains(part))
}

/// The conditions that stand beside a timeout's delay; null where there are none (M6).
pub fn beside_the_delay(guard: &Value) -> Value {
    let mut conditions = guard.as_object().cloned().unwrap_or_default();
    conditions.remove("timeout_seconds");
    conditions.remove("after_ms");
    if conditions.is_empty() {
        Value::Null
    } else {
        Value::Object(conditions)
    }
}

/// A number as sign, place of its point, and digits without zeros at either end: equal numbers have equal ones.
#[derive(Debug, Clone, PartialEq)]
struct Decimal {
    negative: bool,
    point: i64,
    digits: String,
}

/// The number that a value is, or that its text is in JSON's grammar.
fn number(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Some(decimal(&number.to_string())),
        Value::String(text) => {
            let padded = text.trim() != text;
            let parsed: Value = serde_json::from_str(text).ok()?;
            (parsed.is_number() && !padded).then(|| decimal(text))
        }
        _ => None,
    }
}

fn decimal(text: &str) -> Decimal {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    if digits.is_empty() {
        return Decimal {
            negative: false,
            point: 0,
            digits,
        };
    }
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let point = i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(leading).unwrap_or(0) + exponent;
    Decimal {
        negative,
        point,
        digits,
    }
}

fn order(a: &Decimal, b: &Decimal) -> Ordering {
    let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let size = a.point.cmp(&b.point).then_with(|| a.digits.cmp(&b.digits));
    let size = if a.negative { size.reverse() } else { size };
    sign(a).cmp(&sign(b)).then(size)
}

/// A text that is the same for values that are equal by value (R13, R21a).
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:?}", decimal(&number.to_string())),
        Value::Array(items) => format!("{:?}", items.iter().map(canonical).collect::<Vec<_>>()),
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| (key, canonical(value)));
            format!("{{{:?}}}", pairs.collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}

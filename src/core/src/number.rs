//! Exact comparison of JSON values: numbers by value, whatever their spelling.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// A number as JSON text or a JSON number spells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        if let Some(int) = number.as_i64() {
            Self::Int(i128::from(int))
        } else if let Some(int) = number.as_u64() {
            Self::Int(i128::from(int))
        } else {
            // Without arbitrary precision every other JSON number is a finite float.
            Self::Float(number.as_f64().unwrap_or(f64::MAX))
        }
    }

    /// Reads a text that follows the grammar of a JSON number, and nothing else: no padding, no `inf` (M1).
    pub(crate) fn read(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let first = *digits.as_bytes().first()?;
        if !first.is_ascii_digit() {
            return None;
        }
        let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
        if first == b'0' && whole > 1 {
            return None;
        }
        let rest = digits.get(whole..)?;
        if rest.is_empty()
            && let Ok(int) = text.parse()
        {
            return Some(Self::Int(int));
        }
        if !is_fraction_and_exponent(rest) {
            return None;
        }
        let float = json_float(text)?;
        float.is_finite().then_some(Self::Float(float))
    }

    /// The number a value is, or that its text reads as.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::of(number)),
            Value::String(text) => Self::read(text),
            _ => None,
        }
    }

    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Int(a), Self::Float(b)) => compare_int_float(a, b),
            (Self::Float(a), Self::Int(b)) => compare_int_float(b, a).map(Ordering::reverse),
        }
    }
}

/// A float as `str::parse` reads it: padding there is none, but a sign, bare points and `inf` there may be. It is read as JSON
/// numbers are: the standard library's own reader, with its tables, would be twelve kilobytes more of the script.
pub fn float(text: &str) -> Option<f64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let signed = |float: f64| if negative { -float } else { float };
    for (name, value) in [
        ("inf", f64::INFINITY),
        ("infinity", f64::INFINITY),
        ("nan", f64::NAN),
    ] {
        if digits.eq_ignore_ascii_case(name) {
            return Some(signed(value));
        }
    }
    let of_digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = digits.split_at_checked(of_digits(digits))?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(of_digits(rest))?,
        None => ("", rest),
    };
    let whole_or_fraction = !whole.is_empty() || !fraction.is_empty();
    if !whole_or_fraction || rest.starts_with('.') || !is_fraction_and_exponent(rest) {
        return None;
    }
    let json = format!(
        "{}.{fraction}0{rest}",
        match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        }
    );
    // What follows the grammar and is still refused is too large.
    Some(signed(json_float(&json).unwrap_or(f64::INFINITY)))
}

/// The float that a JSON number spells; none where it is too large. It is read as documents are, by the same code: a reader
/// for floats alone, with how it tells of them in errors, would be ten kilobytes more of a script.
fn json_float(text: &str) -> Option<f64> {
    let value: Value = serde_json::from_slice(text.as_bytes()).ok()?;
    value.as_f64()
}

fn is_fraction_and_exponent(rest: &str) -> bool {
    let mut rest = rest;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return false;
        }
        rest = fraction.get(digits..).unwrap_or("");
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && exponent.bytes().all(|byte| byte.is_ascii_digit());
    }
    rest.is_empty()
}

fn compare_int_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // JSON integers beyond 64 bits are read as floats, so that a text that spells one is compared as that float.
    if int > i128::from(u64::MAX) || int < i128::from(i64::MIN) {
        #[expect(clippy::cast_precision_loss, reason = "the nearest float is what is meant")]
        return (int as f64).partial_cmp(&float);
    }
    // 2^127 is exactly representable: beyond it the float is larger than any i128.
    let bound = 2f64.powi(127);
    if float >= bound {
        return Some(Ordering::Less);
    }
    if float < -bound {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within ±2^127 the truncated float is exactly an i128"
    )]
    let whole = float.trunc() as i128;
    Some(int.cmp(&whole).then_with(|| {
        // The wholes are equal: the fraction decides.
        0f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)
    }))
}

/// Equality of JSON values by value: `5` equals `5.0`, at any depth (R13, R21a).
pub fn json_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || Num::of(a).compare(Num::of(b)) == Some(Ordering::Equal)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => maps_equal(a, b),
        (a, b) => a == b,
    }
}

/// Equality of two maps by value, all keys counted (R13).
pub fn maps_equal(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(key, value)| b.get(key).is_some_and(|other| json_equal(value, other)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn floats_are_read_as_the_standard_library_reads_them() {
        let texts = [
            "",
            "-",
            "+",
            ".",
            "-.",
            "e5",
            ".e5",
            "1",
            "+1",
            "-1",
            "01",
            "-007.50",
            "1.",
            ".5",
            "-.5",
            "+.5e1",
            "1e5",
            "1E+5",
            "1e-5",
            "1e",
            "1e+",
            "1.e3",
            "1..2",
            "1.2.3",
            " 1",
            "1 ",
            "0x10",
            "1_000",
            "inf",
            "-inf",
            "+INF",
            "infinity",
            "-Infinity",
            "nan",
            "NaN",
            "-nan",
            "infin",
            "--1",
            "+-1",
            "1e400",
            "-1e400",
            "1e-400",
            "-1e-400",
            "0e999999999999",
            "1e999999999999",
            "1e-999999999999",
            "-0",
            "0",
            "00",
            "-0.0",
            "4.9e-324",
            "2.4e-324",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "9007199254740993",
            "0.1",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "2.2250738585072011e-308",
            "١",
            "1é",
            "1,5",
            "1e5.0",
            "8.5e0_1",
        ];
        for text in texts {
            let (ours, theirs) = (float(text), text.parse::<f64>().ok());
            assert_eq!(ours.map(f64::to_bits), theirs.map(f64::to_bits), "{text}");
        }
    }

    use serde_json::json;

    use super::*;

    #[test]
    fn m1_text_reads_as_a_number_only_in_json_grammar() {
        for text in ["5", "-5", "0", "5.0", "1e3", "1E-2", "0.5", "-0"] {
            assert!(Num::read(text).is_some(), "{text}");
        }
        for text in [
            "", " 5", "5 ", "inf", "nan", "NaN", "+5", ".5", "5.", "05", "0x1", "1e", "1e+", "1_000", "-",
            "1e999",
        ] {
            assert_eq!(Num::read(text), None, "{text}");
        }
    }

    #[test]
    fn m1_integers_beyond_two_to_the_53_compare_exactly() {
        let a = Num::read("9007199254740993").unwrap();
        assert_eq!(
            a.compare(Num::Float(9_007_199_254_740_992.0)),
            Some(Ordering::Greater)
        );
        assert_eq!(
            a.compare(Num::of(json!(9_007_199_254_740_993_i64).as_number().unwrap())),
            Some(Ordering::Equal)
        );
        assert_eq!(Num::Int(5).compare(Num::Float(5.5)), Some(Ordering::Less));
        assert_eq!(Num::Int(-5).compare(Num::Float(-5.5)), Some(Ordering::Greater));
        assert_eq!(
            Num::Int(i128::MAX).compare(Num::Float(1e300)),
            Some(Ordering::Less)
        );
    }

    #[test]
    fn m1_an_integer_beyond_64_bits_equals_its_own_spelling() {
        for text in [
            "18446744073709551617",
            "-9223372036854775809",
            "340282366920938463463374607431768211457",
        ] {
            let number: Value = serde_json::from_str(text).unwrap();
            let number = Num::of(number.as_number().unwrap());
            let read = Num::read(text).unwrap();
            assert_eq!(read.compare(number), Some(Ordering::Equal), "{text}");
            assert_eq!(number.compare(read), Some(Ordering::Equal), "{text}");
        }
        let beyond = Num::Float(2f64.powi(64));
        assert_eq!(
            Num::Int(i128::from(u64::MAX)).compare(beyond),
            Some(Ordering::Less)
        );
        let (a, b) = ("18446744073709551617", "18446744073709551618");
        let order = Num::read(a).unwrap().compare(Num::read(b).unwrap());
        assert_eq!(order, Some(Ordering::Less), "two texts are compared exactly");
    }

    #[test]
    fn r13_maps_are_equal_by_value_with_all_keys_counted() {
        assert!(json_equal(
            &json!({"a": [5, {"b": 1.0}]}),
            &json!({"a": [5.0, {"b": 1}]})
        ));
        assert!(!json_equal(&json!({"a": 1}), &json!({"a": 1, "b": null})));
        assert!(!json_equal(&json!("5"), &json!(5)));
        assert!(!json_equal(&json!(true), &json!(1)));
    }
}

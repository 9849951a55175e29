//! What a guard's comparison sees, and whether it holds.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{Fixed, Guard, Leaf, Source};
use crate::definition::GuardOp;
use crate::number::{Num, float, json_equal};

/// Where guards look values up: the event's params first, then the entity's context (S2.65).
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'a> {
    /// The params of the event at hand; none for a timeout.
    pub params: Option<&'a Map<String, Value>>,
    /// The entity's context as it was before the event (S2.75).
    pub context: &'a Map<String, Value>,
}

impl<'a> Lookup<'a> {
    /// The value of a field, and where it was found.
    pub fn find(self, field: &str) -> (Option<&'a Value>, Source) {
        if let Some(value) = self.params.and_then(|params| params.get(field)) {
            return (Some(value), Source::Param);
        }
        match self.context.get(field) {
            Some(value) => (Some(value), Source::Context),
            None => (None, Source::Absent),
        }
    }
}

impl Guard {
    /// Whether the guard passes.
    pub(crate) fn passes(&self, lookup: Lookup<'_>) -> bool {
        match self {
            Self::Fixed(fixed) => fixed.passes(),
            Self::All(members) => members.iter().all(|member| member.passes(lookup)),
            Self::Any(members) => members.iter().any(|member| member.passes(lookup)),
            Self::Leaf(leaf) => leaf.holds(lookup),
        }
    }

    /// Whether it passes whatever it looks at, where its form decides that.
    pub(crate) fn constant(&self) -> Option<bool> {
        match self {
            Self::Fixed(fixed) => Some(fixed.passes()),
            Self::All(members) => constant(members, true),
            Self::Any(members) => constant(members, false),
            Self::Leaf(leaf) => leaf.impossible().then_some(false),
        }
    }

    /// Hands every clause that makes it fail to `found`, with its path below `path`; none where it passes.
    pub(crate) fn failing<'a>(
        &'a self,
        lookup: Lookup<'_>,
        path: &str,
        found: &mut impl FnMut(String, Failing<'a>),
    ) {
        if self.passes(lookup) {
            return;
        }
        let (key, members) = match self {
            Self::Fixed(fixed) => return found(path.to_owned(), Failing::Form(*fixed)),
            Self::Leaf(leaf) => return found(path.to_owned(), Failing::Comparison(leaf)),
            Self::All(members) => ("all", members),
            Self::Any(members) if members.is_empty() => {
                return found(format!("{path}.any"), Failing::AnyOfNothing);
            }
            Self::Any(members) => ("any", members),
        };
        for (index, member) in members.iter().enumerate() {
            member.failing(lookup, &format!("{path}.{key}[{index}]"), found);
        }
    }
}

/// What `all` (whose neutral member passes) or `any` of some members is, if their forms decide it.
fn constant(members: &[Guard], neutral: bool) -> Option<bool> {
    let mut open = false;
    for member in members {
        match member.constant() {
            Some(passes) if passes != neutral => return Some(passes),
            Some(_) => {}
            None => open = true,
        }
    }
    (!open).then_some(neutral)
}

/// A clause that makes a guard fail.
pub(crate) enum Failing<'a> {
    /// A comparison that does not hold.
    Comparison(&'a Leaf),
    /// A form that never passes.
    Form(Fixed),
    /// An `any` without members.
    AnyOfNothing,
}

impl Leaf {
    /// Whether the comparison holds. A field found nowhere never does, not even for `neq` (S2.66).
    pub(crate) fn holds(&self, lookup: Lookup<'_>) -> bool {
        match lookup.find(&self.field) {
            (None, _) => false,
            (Some(value), _) if self.numeric_equality => self.compare(value),
            (Some(value), Source::Param) => match seed_param(value) {
                Some(number) => self.compare_as_seed(&number),
                None => self.compare_as_seed(value),
            },
            (Some(value), _) => self.compare_as_seed(value),
        }
    }

    /// Whether it holds for nothing at all: an order with what is no number, a part that is no text.
    pub(crate) fn impossible(&self) -> bool {
        match self.op {
            GuardOp::Eq | GuardOp::Neq | GuardOp::Ne => false,
            GuardOp::Contains => !self.value.is_string(),
            _ if self.numeric_equality => self.number.is_none(),
            _ => seed_float(&self.value).is_none(),
        }
    }

    /// Whether what it compares is not the param that came but the float that it reads as (S2.67).
    pub(crate) fn reads_as_float(&self, seen: &Value, source: Source) -> bool {
        !self.numeric_equality && source == Source::Param && seed_param(seen).is_some()
    }

    fn compare(&self, seen: &Value) -> bool {
        match self.op {
            GuardOp::Eq => self.equals(seen),
            GuardOp::Neq | GuardOp::Ne => !self.equals(seen),
            GuardOp::Contains => self.contains(seen),
            op => ordered(op, Num::of_value(seen), self.number),
        }
    }

    /// M1: by number where one side is a JSON number and the other is one or reads as one.
    fn equals(&self, seen: &Value) -> bool {
        match (seen, &self.value) {
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Number(_), Value::String(_) | Value::Number(_))
            | (Value::String(_), Value::Number(_)) => match (Num::of_value(seen), self.number) {
                (Some(a), Some(b)) => a.compare(b) == Some(Ordering::Equal),
                _ => false,
            },
            (a, b) => json_equal(a, b),
        }
    }

    /// S2.58 to S2.61 to the letter: JSON equality in which `5` is not `5.0`, and order as floats.
    fn compare_as_seed(&self, seen: &Value) -> bool {
        match self.op {
            GuardOp::Eq => *seen == self.value,
            GuardOp::Neq | GuardOp::Ne => *seen != self.value,
            GuardOp::Contains => self.contains(seen),
            op => ordered(op, seed_float(seen), seed_float(&self.value)),
        }
    }

    fn contains(&self, seen: &Value) -> bool {
        match (seen, &self.value) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            _ => false,
        }
    }
}

fn ordered(op: GuardOp, seen: Option<Num>, value: Option<Num>) -> bool {
    let Some(order) = seen.zip(value).and_then(|(a, b)| a.compare(b)) else {
        return false;
    };
    match op {
        GuardOp::Gt => order.is_gt(),
        GuardOp::Gte => order.is_ge(),
        GuardOp::Lt => order.is_lt(),
        GuardOp::Lte => order.is_le(),
        GuardOp::Eq | GuardOp::Neq | GuardOp::Ne | GuardOp::Contains => false,
    }
}

/// S2.67: a param string that parses as a number is taken as a float. What no JSON number can hold stays text.
fn seed_param(value: &Value) -> Option<Value> {
    let number = float(value.as_str()?)?;
    Number::from_f64(number).map(Value::Number)
}

/// S2.60: a number, or a string that parses as one, as a float.
fn seed_float(value: &Value) -> Option<Num> {
    match value {
        Value::Number(number) => number.as_f64().map(Num::Float),
        Value::String(text) => float(text).map(Num::Float),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::Contract;

    fn passes(contract: Contract, guard: &Value, params: Value, context: Value) -> bool {
        let (Value::Object(params), Value::Object(context)) = (params, context) else {
            panic!("maps")
        };
        Guard::of_event(guard, contract.rules()).passes(Lookup {
            params: Some(&params),
            context: &context,
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "literals read better by value")]
    fn leaf(op: &str, value: Value) -> Value {
        json!({"field": "x", "op": op, "value": value})
    }

    #[test]
    fn m1_numbers_and_numeric_text_are_equal_by_value() {
        for seen in [json!("5"), json!(5), json!(5.0)] {
            for value in [json!(5), json!(5.0)] {
                assert!(passes(
                    Contract::StatewrightV1,
                    &leaf("eq", value),
                    json!({"x": seen}),
                    json!({})
                ));
            }
        }
        let eq = |seen, value| {
            passes(
                Contract::StatewrightV1,
                &leaf("eq", value),
                json!({"x": seen}),
                json!({}),
            )
        };
        assert!(eq(json!("5"), json!("5")));
        assert!(!eq(json!("5.0"), json!("5")));
        assert!(!eq(json!(true), json!("true")));
        assert!(!eq(json!(1), json!(true)));
        assert!(!eq(json!(" 5"), json!(5)));
        assert!(eq(Value::Null, Value::Null));
        assert!(eq(json!("9007199254740993"), json!(9_007_199_254_740_993_i64)));
        assert!(!eq(json!("9007199254740992"), json!(9_007_199_254_740_993_i64)));
    }

    #[test]
    fn s2_67_the_seed_compares_numeric_params_as_floats() {
        let seed =
            |op, value, seen| passes(Contract::SeedV1, &leaf(op, value), json!({"x": seen}), json!({}));
        assert!(!seed("eq", json!(5), json!("5")));
        assert!(seed("eq", json!(5.0), json!("5")));
        assert!(seed("gte", json!(5), json!("5")) && seed("lte", json!(5), json!("5")));
        assert!(!seed("eq", json!("5"), json!("5")), "S2.68");
        assert!(!seed("contains", json!("2"), json!("123")), "S2.68");
        assert!(seed("eq", json!("USD"), json!("USD")), "S2.69");
    }

    #[test]
    fn s2_70_malformed_guards_pass_in_the_seed_only() {
        for guard in [
            json!("x"),
            json!(1),
            json!([]),
            json!(true),
            json!({}),
            json!({"field": "x", "op": "eq"}),
            json!({"all": 1}),
        ] {
            assert!(passes(Contract::SeedV1, &guard, json!({}), json!({})), "{guard}");
            assert!(
                !passes(Contract::StatewrightV1, &guard, json!({}), json!({})),
                "{guard} fails closed"
            );
        }
        assert!(
            !passes(
                Contract::SeedV1,
                &leaf("exists", json!(1)),
                json!({"x": 1}),
                json!({})
            ),
            "S2.62"
        );
        assert!(
            !passes(
                Contract::SeedV1,
                &json!({"timeout_seconds": 5}),
                json!({}),
                json!({})
            ),
            "S2.74"
        );
    }

    #[test]
    fn s2_65_params_come_before_the_context_and_absence_is_false() {
        for contract in [Contract::StatewrightV1, Contract::SeedV1] {
            assert!(passes(
                contract,
                &leaf("eq", json!("a")),
                json!({"x": "a"}),
                json!({"x": "b"})
            ));
            assert!(passes(
                contract,
                &leaf("eq", json!("b")),
                json!({}),
                json!({"x": "b"})
            ));
            assert!(
                !passes(contract, &leaf("neq", json!("b")), json!({}), json!({})),
                "S2.66"
            );
            assert!(
                passes(contract, &json!({"all": []}), json!({}), json!({})),
                "S2.63"
            );
            assert!(
                !passes(contract, &json!({"any": []}), json!({}), json!({})),
                "S2.64"
            );
        }
    }
}

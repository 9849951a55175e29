//! Guards: compiled once, evaluated against an event's params and the entity's context.

mod evaluate;
pub(crate) mod shape;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::Rules;
use crate::definition::GuardOp;
use crate::number::Num;

pub(crate) use evaluate::Failing;
pub use evaluate::Lookup;

/// A compiled guard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Guard {
    /// True when every member is (S2.63).
    All(Box<[Guard]>),
    /// True when a member is (S2.64).
    Any(Box<[Guard]>),
    /// A comparison.
    Leaf(Box<Leaf>),
    /// A guard whose form decides alone.
    Fixed(Fixed),
}

/// Why the form of a guard decides alone. But for the last, only guards of `statemachine-e1e4.v1` have such forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fixed {
    /// What is malformed passes (S2.70 to S2.73).
    Malformed,
    /// An unknown operator does not (S2.62).
    UnknownOperator,
    /// Nor does a delay on an ordinary event (S2.74).
    Delay,
    /// What registration would have refused fails closed (M2).
    Unchecked,
}

impl Fixed {
    /// Whether it passes, always.
    pub(crate) fn passes(self) -> bool {
        self == Self::Malformed
    }

    /// Why, in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "it is malformed, and a malformed guard passes in this contract",
            Self::UnknownOperator => "its operator is unknown: it is never true",
            Self::Delay => {
                "it holds `timeout_seconds`, which only the scheduler looks at: it is never true here"
            }
            Self::Unchecked => "it is malformed: it is never true",
        }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) field: Box<str>,
    pub(crate) op: GuardOp,
    pub(crate) value: Value,
    /// The number that `value` is or reads as, for order comparisons and numeric equality.
    number: Option<Num>,
    numeric_equality: bool,
}

/// Where a guard found the value it looked at (S2.65).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// In the event's params.
    Param,
    /// In the entity's context.
    Context,
    /// In neither: the comparison is false (S2.66).
    Absent,
}

impl Guard {
    /// Compiles the guard of an ordinary transition.
    pub(crate) fn of_event(guard: &Value, rules: Rules) -> Self {
        if rules.strict {
            Self::strict(guard, rules)
        } else {
            Self::seed(guard, rules)
        }
    }

    /// Compiles the conditions that stand beside a timeout's delay, if any (M6).
    pub(crate) fn of_timeout(guard: &Value, rules: Rules) -> Option<Self> {
        if !rules.timeout_conditions {
            return None;
        }
        let object = guard.as_object()?;
        let beside = ["all", "any", "field"]
            .into_iter()
            .any(|key| object.contains_key(key));
        beside.then(|| Self::strict(guard, rules))
    }

    /// A guard that was checked at registration.
    fn strict(guard: &Value, rules: Rules) -> Self {
        let Some(object) = guard.as_object() else {
            return Self::Fixed(Fixed::Unchecked);
        };
        if let Some(members) = object.get("all").and_then(Value::as_array) {
            return Self::All(members.iter().map(|member| Self::strict(member, rules)).collect());
        }
        if let Some(members) = object.get("any").and_then(Value::as_array) {
            return Self::Any(members.iter().map(|member| Self::strict(member, rules)).collect());
        }
        // What was checked has a field, an operator and a value; anything else fails closed.
        Self::leaf(object, rules).unwrap_or(Self::Fixed(Fixed::Unchecked))
    }

    fn seed(guard: &Value, rules: Rules) -> Self {
        let Some(object) = guard.as_object() else {
            return Self::Fixed(Fixed::Malformed);
        };
        if object.contains_key("timeout_seconds") {
            return Self::Fixed(Fixed::Delay);
        }
        for (key, all) in [("all", true), ("any", false)] {
            let Some(members) = object.get(key) else { continue };
            let Some(members) = members.as_array() else {
                return Self::Fixed(Fixed::Malformed);
            };
            let members = members.iter().map(|member| Self::seed(member, rules)).collect();
            return if all {
                Self::All(members)
            } else {
                Self::Any(members)
            };
        }
        let complete = object.get("field").is_some_and(Value::is_string)
            && object.get("op").is_some_and(Value::is_string)
            && object.contains_key("value");
        if !complete {
            return Self::Fixed(Fixed::Malformed);
        }
        // Complete, and yet no leaf: the operator is unknown.
        Self::leaf(object, rules).unwrap_or(Self::Fixed(Fixed::UnknownOperator))
    }

    fn leaf(object: &Map<String, Value>, rules: Rules) -> Option<Self> {
        let value = object.get("value")?;
        Some(Self::Leaf(Box::new(Leaf {
            field: object.get("field")?.as_str()?.into(),
            op: GuardOp::named(object.get("op")?.as_str()?)?,
            value: value.clone(),
            number: Num::of_value(value),
            numeric_equality: rules.numeric_equality,
        })))
    }
}

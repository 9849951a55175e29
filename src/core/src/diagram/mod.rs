//! A machine as a picture: text for Mermaid and for Graphviz.
//!
//! Nothing of a machine's names reaches either language as syntax: nodes have made-up ids, and the names stand in
//! labels, escaped. So a state may be called `end`, `[*]` or `"}`.

mod dot;
mod mermaid;

use serde_json::Value;

use crate::entity::Configuration;
use crate::guard::{Guard, Leaf};
use crate::machine::{Join, Machine, State, StateIx, Transition, TransitionIx};

pub use dot::dot;
pub use mermaid::mermaid;

/// Whether an entity is in a state.
fn is_current(current: Option<&Configuration>, state: StateIx) -> bool {
    current.is_some_and(|current| current.contains(&state))
}

/// What stands at an arrow: the event or the delay, and the guard in brackets.
fn label(machine: &Machine, index: TransitionIx, transition: &Transition) -> String {
    let delay = machine
        .state(transition.from)
        .timeouts
        .iter()
        .find(|timeout| timeout.transition == index)
        .map(|timeout| timeout.delay);
    let mut text = match delay {
        Some(delay) => format!("after {}", duration(delay)),
        None => transition.on.to_string(),
    };
    if let Some(guard) = &transition.guard {
        text.push_str(" [");
        write_guard(guard, false, &mut text);
        text.push(']');
    }
    text
}

/// What a state is called, and of which machine its child is.
fn state_label(state: &State) -> String {
    match state.child() {
        Some(sub) => format!("{} (runs {})", state.name, sub.machine_id),
        None => state.name.to_string(),
    }
}

/// Where the ends of a state's child lead, and which those are (S2.185, S2.186).
fn completions(state: &State) -> Vec<(StateIx, String)> {
    let Some(sub) = state.child() else {
        return Vec::new();
    };
    let finals = sub.on_final.iter();
    let finals = finals.map(|(name, target)| (*target, format!("child ends in {name}")));
    let rules = sub.rules.iter().map(|rule| {
        let when = rule
            .when
            .iter()
            .map(|(region, state)| format!("{region} = {state}"));
        let when: Vec<String> = when.collect();
        (rule.target, format!("child ends with {}", when.join(" and ")))
    });
    finals.chain(rules).collect()
}

/// A delay in the largest unit that holds it exactly.
fn duration(millis: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    for (unit, name) in UNITS {
        if millis > 0
            && let (Some(count), Some(0)) = (millis.checked_div(unit), millis.checked_rem(unit))
        {
            return format!("{count} {name}");
        }
    }
    format!("{millis} ms")
}

fn write_guard(guard: &Guard, nested: bool, text: &mut String) {
    let (members, between, empty) = match guard {
        Guard::Leaf(leaf) => return write_comparison(leaf, text),
        Guard::Fixed(fixed) => return text.push_str(if fixed.passes() { "always" } else { "never" }),
        Guard::All(members) => (members, " and ", "always"),
        Guard::Any(members) => (members, " or ", "never"),
    };
    let parentheses = nested && members.len() > 1;
    if parentheses {
        text.push('(');
    }
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            text.push_str(between);
        }
        write_guard(member, true, text);
    }
    if members.is_empty() {
        text.push_str(empty);
    }
    if parentheses {
        text.push(')');
    }
}

fn write_comparison(leaf: &Leaf, text: &mut String) {
    use crate::definition::GuardOp;

    let op = match leaf.op {
        GuardOp::Eq => "=",
        GuardOp::Neq | GuardOp::Ne => "≠",
        GuardOp::Gt => ">",
        GuardOp::Gte => "≥",
        GuardOp::Lt => "<",
        GuardOp::Lte => "≤",
        GuardOp::Contains => "contains",
    };
    let plain = !leaf.field.is_empty()
        && leaf
            .field
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    if plain {
        text.push_str(&leaf.field);
    } else {
        text.push_str(&Value::from(&*leaf.field).to_string());
    }
    text.push(' ');
    text.push_str(op);
    text.push(' ');
    text.push_str(&leaf.value.to_string());
}

/// What a join waits for and does.
fn join_label(machine: &Machine, join: &Join) -> String {
    let mut text = String::from(if join.level { "join while " } else { "join when " });
    for (index, (region, state)) in join.when.iter().enumerate() {
        if index > 0 {
            text.push_str(" and ");
        }
        text.push_str(&machine.region(*region).id);
        text.push_str(" = ");
        text.push_str(&machine.state(*state).name);
    }
    if join.when.is_empty() {
        text.push_str("anything");
    }
    text
}

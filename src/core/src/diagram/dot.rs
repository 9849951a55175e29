//! Graphviz: a `digraph`.

use super::{completions, is_current, join_label, label, state_label};
use crate::entity::Configuration;
use crate::machine::{Machine, RegionIx, StateIx, TransitionIx};

/// A machine as a Graphviz graph; the states of an entity are marked when its configuration is given.
///
/// ```
/// # use statewright_core::{definition::Definition, diagram, machine::Machine};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let definition = serde_json::json!({
///     "machine_id": "door", "states": ["shut", "open"], "initial_state": "shut",
///     "transitions": [{"from": "shut", "to": "open", "on": "push"}]
/// });
/// let valid = Definition::read(&definition).map_err(|faults| format!("{faults:?}"))?;
/// let text = diagram::dot(&Machine::compile(&valid)?, None);
/// assert!(text.starts_with("digraph \"door\""));
/// assert!(text.contains("s0 -> s1 [label=\"push\"]"));
/// # Ok(())
/// # }
/// ```
pub fn dot(machine: &Machine, current: Option<&Configuration>) -> String {
    let mut lines = vec![
        format!("digraph {} {{", quoted(machine.id().as_str())),
        "  rankdir=LR".to_owned(),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"]".to_owned(),
        "  edge [fontname=\"sans-serif\"]".to_owned(),
    ];
    for (place, region) in machine.regions().iter().enumerate() {
        if machine.is_parallel() {
            lines.push(format!("  subgraph cluster_r{place} {{"));
            lines.push(format!("    label={}", quoted(&region.id)));
        }
        write_region(&mut lines, machine, RegionIx::of(place), current);
        if machine.is_parallel() {
            lines.push("  }".to_owned());
        }
    }
    for (index, join) in machine.joins().iter().enumerate() {
        let label = quoted(&join_label(machine, join));
        lines.push(format!("  j{index} [shape=note, style=solid, label={label}]"));
        lines.push(format!("  j{index} -> s{} [style=dashed]", join.target.place()));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn write_region(
    lines: &mut Vec<String>,
    machine: &Machine,
    region: RegionIx,
    current: Option<&Configuration>,
) {
    let initial = machine.region(region).initial.place();
    let start = region.place();
    lines.push(format!("    i{start} [shape=point, width=0.15, label=\"\"]"));
    for (place, state) in machine.states().iter().enumerate() {
        if state.region == region {
            let mark = if is_current(current, StateIx::of(place)) {
                ", style=\"rounded,filled,bold\", fillcolor=gold"
            } else {
                ""
            };
            lines.push(format!(
                "    s{place} [label={}{mark}]",
                quoted(&state_label(state))
            ));
        }
    }
    lines.push(format!("    i{start} -> s{initial}"));
    for (index, transition) in machine.transitions().iter().enumerate() {
        if transition.region == region {
            let (from, to) = (transition.from.place(), transition.to.place());
            let label = quoted(&label(machine, TransitionIx::of(index), transition));
            lines.push(format!("    s{from} -> s{to} [label={label}]"));
        }
    }
    for (from, state) in machine.states().iter().enumerate() {
        for (to, label) in completions(state).iter().filter(|_| state.region == region) {
            let (to, label) = (to.place(), quoted(label));
            lines.push(format!("    s{from} -> s{to} [style=bold, label={label}]"));
        }
    }
}

/// A text as a quoted string in which nothing is an escape of Graphviz or an entity of HTML.
fn quoted(text: &str) -> String {
    let mut safe = String::with_capacity(text.len().saturating_add(2));
    safe.push('"');
    for c in text.chars() {
        match c {
            '"' => safe.push_str("\\\""),
            '\\' => safe.push_str("\\\\"),
            '&' => safe.push_str("&amp;"),
            // Only the values of guards could hold one, and their JSON text does not; better a space than a break.
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe.push('"');
    safe
}

//! Mermaid: a `stateDiagram-v2`.

use std::fmt::Write;

use super::{completions, join_label, label, state_label};
use crate::entity::Configuration;
use crate::machine::{Machine, RegionIx, TransitionIx};

/// A machine as a Mermaid state diagram; the states of an entity are marked when its configuration is given.
///
/// ```
/// # use statewright_core::{definition::Definition, diagram, machine::Machine};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let definition = serde_json::json!({
///     "machine_id": "door", "states": ["shut", "open"], "initial_state": "shut",
///     "transitions": [{"from": "shut", "to": "open", "on": "push"}]
/// });
/// let valid = Definition::read(&definition).map_err(|faults| format!("{faults:?}"))?;
/// let text = diagram::mermaid(&Machine::compile(&valid)?, None);
/// assert!(text.starts_with("stateDiagram-v2"));
/// assert!(text.contains("s0 --> s1 : push"));
/// # Ok(())
/// # }
/// ```
pub fn mermaid(machine: &Machine, current: Option<&Configuration>) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    if machine.is_parallel() {
        line(
            &mut text,
            1,
            &format!("state \"{}\" as m {{", escaped(machine.id().as_str())),
        );
        for (place, region) in machine.regions().iter().enumerate() {
            if place > 0 {
                line(&mut text, 2, "--");
            }
            line(
                &mut text,
                2,
                &format!("state \"{}\" as r{place} {{", escaped(&region.id)),
            );
            write_region(&mut text, 3, machine, RegionIx::of(place));
            line(&mut text, 2, "}");
        }
        line(&mut text, 1, "}");
    } else {
        write_region(&mut text, 1, machine, RegionIx::of(0));
    }
    if let Some(current) = current {
        line(
            &mut text,
            1,
            "classDef current fill:gold,stroke:black,color:black,font-weight:bold",
        );
        // Only here does Mermaid mark states of inner blocks too.
        for state in current {
            line(&mut text, 1, &format!("class s{} current", state.place()));
        }
    }
    text
}

/// Notes stand in their region's block: outside of it Mermaid would draw the state a second time.
fn write_region(text: &mut String, depth: usize, machine: &Machine, region: RegionIx) {
    for (place, state) in machine.states().iter().enumerate() {
        if state.region == region {
            line(
                text,
                depth,
                &format!("state \"{}\" as s{place}", escaped(&state_label(state))),
            );
        }
    }
    let initial = machine.region(region).initial.place();
    line(text, depth, &format!("[*] --> s{initial}"));
    for (index, transition) in machine.transitions().iter().enumerate() {
        if transition.region == region {
            let (from, to) = (transition.from.place(), transition.to.place());
            let label = escaped(&label(machine, TransitionIx::of(index), transition));
            line(text, depth, &format!("s{from} --> s{to} : {label}"));
        }
    }
    for (from, state) in machine.states().iter().enumerate() {
        for (to, label) in completions(state).iter().filter(|_| state.region == region) {
            let (to, label) = (to.place(), escaped(label));
            line(text, depth, &format!("s{from} --> s{to} : {label}"));
        }
    }
    for join in machine.joins().iter().filter(|join| join.region == region) {
        let note = escaped(&join_label(machine, join));
        line(
            text,
            depth,
            &format!("note right of s{} : {note}", join.target.place()),
        );
    }
}

fn line(text: &mut String, depth: usize, content: &str) {
    text.extend(std::iter::repeat_n("    ", depth));
    text.push_str(content);
    text.push('\n');
}

/// A text with everything that Mermaid could take as syntax, as Markdown or as HTML written as a character code.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Mermaid takes `direction LR` for a statement wherever on a line it stands.
            ' ' if safe.to_ascii_lowercase().ends_with("direction") => safe.push_str("#32;"),
            // Mermaid itself marks codes with this ligature before it parses; its letters do as well.
            'ﬂ' => safe.push_str("fl"),
            c if is_plain(c) => safe.push(c),
            // Writing into a string cannot fail.
            c => drop(write!(safe, "#{};", u32::from(c))),
        }
    }
    safe
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || " .,-=/()[]".contains(c)
    } else {
        !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')
    }
}

//! From JSON to a [`Definition`]: the shape of the document, key by key.

mod action;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::action::action;
use super::shape::{Findings, MOST_LISTED, Path, kind_of, list, shortened};
use super::{
    Action, ActionDef, CompletionRule, Definition, JoinAction, JoinDef, JoinTrigger, Lifecycle, Reentry,
    RegionDef, SERVER_KEYS, SubMachineDef, TransitionDef, Valid, validate,
};
use crate::contract::Contract;
use crate::fault::Fault;
use crate::sorted::Gather;

const DEFINITION_KEYS: [&str; 12] = [
    "machine_id",
    "contract",
    "label",
    "description",
    "meta",
    "states",
    "initial_state",
    "regions",
    "transitions",
    "joins",
    "actions",
    "sub_machines",
];
const BROADCAST: &str = "broadcast";

pub(super) fn definition(document: &Value) -> Result<Valid, Vec<Fault>> {
    let path = Path::root();
    let mut findings = Findings::new();
    let Some(object) = findings.object(&path, document) else {
        return Err(findings.done().err().unwrap_or_default());
    };
    let contract = contract(&mut findings, &path, object);
    findings.strict = contract.rules().strict;

    let mut known = DEFINITION_KEYS.to_vec();
    known.push(BROADCAST);
    let own: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| !SERVER_KEYS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .gather();
    let extra = findings.unknown_keys(&path, &own, &known);

    let machine_id = findings.id(&path, object, "machine_id");
    let label = findings.optional_text(&path, object, "label");
    if let Some(label) = &label {
        findings.check_name(&path.key("label"), label);
    }
    let definition = Definition {
        machine_id: machine_id.unwrap_or_default(),
        contract: findings.optional_text(&path, object, "contract"),
        label,
        description: findings.optional_text(&path, object, "description"),
        meta: object.get("meta").filter(|value| !value.is_null()).cloned(),
        states: names(&mut findings, &path, object, "states"),
        initial_state: findings.optional_text(&path, object, "initial_state"),
        regions: list_of(&mut findings, &path, object, "regions", region),
        transitions: required_list_of(&mut findings, &path, object, "transitions", transition),
        joins: list_of(&mut findings, &path, object, "joins", join),
        actions: list_of(&mut findings, &path, object, "actions", action_def),
        sub_machines: sub_machines(&mut findings, &path, object),
        broadcast: names(&mut findings, &path, object, BROADCAST),
        extra,
    };
    validate::check(&mut findings, &definition, contract);
    let mut warnings = findings.done()?;
    warnings.extend(crate::lint::warnings(&definition, contract));
    warnings.truncate(MOST_LISTED);
    Ok(Valid {
        definition,
        contract,
        warnings,
    })
}

fn contract(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> Contract {
    match object.get("contract") {
        Some(Value::String(name)) => Contract::named(name).unwrap_or_else(|| {
            findings.fault(
                &path.key("contract"),
                format!("`{}` is no contract", shortened(name)),
                format!("one of {}", list(Contract::NAMES.into_iter())),
            );
            Contract::default()
        }),
        // The wrong type is reported where the text is read.
        None | Some(_) => Contract::default(),
    }
}

fn names(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
    key: &str,
) -> Option<Vec<String>> {
    let items = findings.items(path, object, key, false)?;
    let path = path.key(key);
    let mut names = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::String(name) => {
                findings.check_name(&path.item(index), name);
                names.push(name.clone());
            }
            other => findings.fault(&path.item(index), format!("it is {}", kind_of(other)), "a string"),
        }
    }
    Some(names)
}

type ReadItem<T> = fn(&mut Findings, &Path, &Map<String, Value>) -> T;

fn list_of<T: Default>(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
    key: &str,
    read: ReadItem<T>,
) -> Option<Vec<T>> {
    let items = findings.items(path, object, key, false)?;
    Some(read_items(findings, &path.key(key), items, read))
}

fn required_list_of<T: Default>(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
    key: &str,
    read: ReadItem<T>,
) -> Vec<T> {
    match findings.items(path, object, key, true) {
        Some(items) => read_items(findings, &path.key(key), items, read),
        None => Vec::new(),
    }
}

fn read_items<T: Default>(
    findings: &mut Findings,
    path: &Path,
    items: &[Value],
    read: ReadItem<T>,
) -> Vec<T> {
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let path = path.item(index);
        // What cannot be read leaves an empty item, so that the paths of those behind it stay right.
        list.push(match findings.object(&path, item) {
            Some(object) => read(findings, &path, object),
            None => T::default(),
        });
    }
    list
}

fn region(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> RegionDef {
    let known = ["id", "description", "states", "initial_state", "sub_machines"];
    let extra = findings.unknown_keys(path, object, &known);
    let id = findings.name(path, object, "id");
    if object.get("states").is_none_or(Value::is_null) {
        findings.fault(&path.key("states"), "it is missing", "an array of state names");
    }
    let states = names(findings, path, object, "states");
    let initial_state = findings.text(path, object, "initial_state");
    let description = findings.optional_text(path, object, "description");
    let sub_machines = sub_machines(findings, path, object);
    RegionDef {
        id: id.unwrap_or_default(),
        description,
        states: states.unwrap_or_default(),
        initial_state: initial_state.unwrap_or_default(),
        sub_machines,
        extra,
    }
}

fn transition(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> TransitionDef {
    let known = ["region", "from", "to", "on", "guard", "description"];
    let extra = findings.unknown_keys(path, object, &known);
    let region = findings.optional_filled_text(path, object, "region");
    let from = findings.text(path, object, "from");
    let to = findings.text(path, object, "to");
    let on = findings.name(path, object, "on");
    let description = findings.optional_text(path, object, "description");
    TransitionDef {
        region,
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
        on: on.unwrap_or_default(),
        guard: object.get("guard").filter(|guard| !guard.is_null()).cloned(),
        description,
        extra,
    }
}

fn join(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> JoinDef {
    let known = [
        "when",
        "target_region",
        "target_state",
        "trigger",
        "actions",
        "description",
    ];
    let extra = findings.unknown_keys(path, object, &known);
    let when = text_map(findings, path, object, "when", true);
    if findings.strict && when.as_ref().is_some_and(BTreeMap::is_empty) {
        findings.fault(
            &path.key("when"),
            "it is empty",
            "at least one region and the state it must be in",
        );
    }
    let target_region = findings.text(path, object, "target_region");
    let target_state = findings.text(path, object, "target_state");
    let trigger = findings
        .optional_text(path, object, "trigger")
        .and_then(|trigger| match trigger.as_str() {
            "edge" => Some(JoinTrigger::Edge),
            "level" => Some(JoinTrigger::Level),
            other => {
                findings.fault(
                    &path.key("trigger"),
                    format!("`{}` is no trigger", shortened(other)),
                    "`edge` or `level`",
                );
                None
            }
        });
    let actions = list_of(findings, path, object, "actions", join_action);
    let description = findings.optional_text(path, object, "description");
    JoinDef {
        when: when.unwrap_or_default(),
        target_region: target_region.unwrap_or_default(),
        target_state: target_state.unwrap_or_default(),
        trigger,
        actions,
        description,
        extra,
    }
}

/// An action alone, or with `on_enter` around it.
fn join_action(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> JoinAction {
    if object.contains_key("action") || object.contains_key("on_enter") {
        JoinAction::Entered(action_def(findings, path, object))
    } else {
        JoinAction::Bare(action(findings, path, object))
    }
}

fn action_def(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> ActionDef {
    let extra = findings.unknown_keys(path, object, &["on_enter", "region", "action"]);
    let on_enter = findings.text(path, object, "on_enter");
    let region = findings.optional_filled_text(path, object, "region");
    let action_path = path.key("action");
    let Some(value) = object.get("action") else {
        findings.fault(
            &action_path,
            "it is missing",
            "an object with `type` `webhook`, `event` or `transition`",
        );
        return ActionDef::default();
    };
    let action = match findings.object(&action_path, value) {
        Some(object) => action(findings, &action_path, object),
        None => Action::default(),
    };
    ActionDef {
        on_enter: on_enter.unwrap_or_default(),
        region,
        action,
        extra,
    }
}

fn text_map(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
    key: &str,
    required: bool,
) -> Option<BTreeMap<String, String>> {
    let path = path.key(key);
    let value = match object.get(key) {
        None | Some(Value::Null) => {
            if required {
                findings.fault(&path, "it is missing", "an object of names and states");
            }
            return None;
        }
        Some(value) => value,
    };
    let mut map = BTreeMap::new();
    for (name, value) in findings.object(&path, value)? {
        findings.filled(&path, name);
        match value {
            Value::String(text) => {
                findings.filled(&path.key(name), text);
                map.insert(name.clone(), text.clone());
            }
            other => findings.fault(&path.key(name), format!("it is {}", kind_of(other)), "a string"),
        }
    }
    Some(map)
}

fn sub_machines(
    findings: &mut Findings,
    path: &Path,
    object: &Map<String, Value>,
) -> Option<BTreeMap<String, SubMachineDef>> {
    let value = object.get("sub_machines").filter(|value| !value.is_null())?;
    let path = path.key("sub_machines");
    let mut map = BTreeMap::new();
    for (state, value) in findings.object(&path, value)? {
        findings.filled(&path, state);
        let path = path.key(state);
        if let Some(object) = findings.object(&path, value) {
            map.insert(state.clone(), sub_machine(findings, &path, object));
        }
    }
    Some(map)
}

fn sub_machine(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> SubMachineDef {
    let known = ["machine_id", "on_final", "lifecycle", "complete_when", "reentry"];
    let extra = findings.unknown_keys(path, object, &known);
    let machine_id = findings.id(path, object, "machine_id").unwrap_or_default();
    let on_final = text_map(findings, path, object, "on_final", false);
    let lifecycle = findings
        .optional_text(path, object, "lifecycle")
        .and_then(|text| {
            if text == "managed" {
                return Some(Lifecycle::Managed);
            }
            findings.fault(
                &path.key("lifecycle"),
                format!("`{}` is no lifecycle", shortened(&text)),
                "`managed`",
            );
            None
        });
    let complete_when = list_of(findings, path, object, "complete_when", completion_rule);
    let reentry = findings
        .optional_text(path, object, "reentry")
        .and_then(|text| match text.as_str() {
            "refuse" => Some(Reentry::Refuse),
            "fresh" => Some(Reentry::Fresh),
            "resume" => Some(Reentry::Resume),
            other => {
                findings.fault(
                    &path.key("reentry"),
                    format!("`{}` is no way to re-enter", shortened(other)),
                    "`refuse`, `fresh` or `resume`",
                );
                None
            }
        });
    SubMachineDef {
        machine_id,
        on_final,
        lifecycle,
        complete_when,
        reentry,
        extra,
    }
}

fn completion_rule(findings: &mut Findings, path: &Path, object: &Map<String, Value>) -> CompletionRule {
    let extra = findings.unknown_keys(path, object, &["when", "target"]);
    let when = text_map(findings, path, object, "when", true);
    let target = findings.text(path, object, "target");
    CompletionRule {
        when: when.unwrap_or_default(),
        target: target.unwrap_or_default(),
        extra,
    }
}

//! Places of templates that nothing can be at, whatever happens.

use serde_json::Value;

use super::Lint;
use crate::definition::Action;
use crate::definition::shape::{Path, list, shortened};
use crate::effect::SOURCE_KEYS;
use crate::fault::WarningKind;
use crate::template::{self, DEFAULT, FROM};

pub(super) fn templates(lint: &mut Lint<'_>) {
    for (path, action) in lint.definition.all_actions() {
        if lint.is_full() {
            return;
        }
        match action {
            Action::Webhook { body: Some(body), .. } => template(lint, &path.key("body"), body),
            Action::Webhook { body: None, .. } | Action::Event { .. } => {}
            Action::Transition {
                entity_id, params, ..
            } => {
                for pointer in template::pointers(entity_id) {
                    target(lint, &path.key("entity_id"), pointer);
                }
                if let Some(params) = params {
                    template(lint, &path.key("params"), params);
                }
            }
        }
    }
}

fn template(lint: &mut Lint<'_>, path: &Path, value: &Value) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                template(lint, &path.item(index), item);
            }
        }
        Value::Object(object) => match object.get(FROM) {
            Some(Value::String(pointer)) => {
                if !is_known(pointer) {
                    unknown(lint, &path.key(FROM), pointer);
                }
                if let Some(default) = object.get(DEFAULT) {
                    template(lint, &path.key(DEFAULT), default);
                }
            }
            _ => {
                for (key, item) in object {
                    template(lint, &path.key(key), item);
                }
            }
        },
        _ => {}
    }
}

fn target(lint: &mut Lint<'_>, path: &Path, pointer: &str) {
    if !is_known(pointer) {
        return unknown(lint, path, pointer);
    }
    let nothing = !lint.machine.is_parallel() && pointer == "/region";
    if nothing || matches!(pointer, "/event" | "/event/params" | "/context") {
        let message = format!("`{pointer}` is never a text or a number here: the event is never sent");
        lint.warn(WarningKind::UnknownPlace, path, message);
    }
}

fn unknown(lint: &mut Lint<'_>, path: &Path, pointer: &str) {
    let known = list(SOURCE_KEYS.into_iter());
    let message = format!(
        "nothing is ever at `{}`: a place begins with one of {known}, and `event` has `type`, `params` and \
         `timestamp`",
        shortened(pointer)
    );
    lint.warn(WarningKind::UnknownPlace, path, message);
}

/// Whether something can be at a place of what effects are rendered from.
fn is_known(pointer: &str) -> bool {
    let mut names = pointer.split('/').skip(1);
    let (Some(first), second) = (names.next(), names.next()) else {
        return true;
    };
    match (first, second) {
        ("context", _) | ("event", None | Some("params")) => true,
        ("event", Some(second)) => matches!(second, "type" | "timestamp") && names.next().is_none(),
        (first, None) => SOURCE_KEYS.contains(&first),
        (_, Some(_)) => false,
    }
}

//! From a commit to its rows of the outbox.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use statewright_core::address::Address;
use statewright_core::commit::{Cause, Commit};
use statewright_core::definition::Action;
use statewright_core::effect::{Effect, EffectSource, render};
use statewright_core::ids::Millis;
use statewright_core::tree::{EntityIx, Tree};

use super::ids::EffectIds;
use crate::database::Random;
use crate::once::Origin;
use crate::request::MAX_WRITTEN_BYTES;

/// What a batch is made with: names for what it makes, and who asked.
#[derive(Clone, Copy)]
pub(crate) struct Making<'a> {
    pub(crate) random: &'a dyn Random,
    pub(crate) ids: &'a EffectIds<'a>,
    pub(crate) origin: &'a Origin,
}

/// An action's effect.
#[derive(Debug, Clone)]
pub(crate) struct EffectRow {
    pub(crate) of: EntityIx,
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) lane: String,
    pub(crate) version: u64,
    pub(crate) place: u64,
    pub(crate) sink: String,
    pub(crate) target: String,
    pub(crate) effect: String,
    /// Why it is dead already.
    pub(crate) error: Option<String>,
}

/// A transition to be presented to subscriptions.
#[derive(Debug, Clone)]
pub(crate) struct PresentedRow {
    pub(crate) of: EntityIx,
    pub(crate) event_id: String,
    pub(crate) version: u64,
    pub(crate) place: u64,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) event_type: String,
    pub(crate) document: String,
}

/// A lane: an incarnation, and where its effects go.
fn lane(uid: &str, target: &str) -> String {
    use std::fmt::Write as _;
    let mut lane = format!("{uid}:");
    for byte in Sha256::digest(target).iter().take(12) {
        // Writing to a string cannot fail.
        let _ = write!(lane, "{byte:02x}");
    }
    lane
}

/// The effects of a commit's actions, as the tree is right after it. `written` is about how many bytes the batch writes.
pub(crate) fn effects_of(
    commit: &Commit,
    tree: &Tree,
    tenant: &str,
    uid: &dyn Fn(EntityIx) -> String,
    making: &Making<'_>,
    written: &mut usize,
) -> Vec<EffectRow> {
    let mut effects = Vec::new();
    for row in &commit.rows {
        if row.actions.is_empty() {
            continue;
        }
        let version = version_of(commit, tree, row.entity);
        let uid = uid(row.entity);
        for action in &row.actions {
            let (id, place) = making.ids.next();
            let source = EffectSource {
                tenant,
                tree,
                row,
                version,
                effect_id: &id,
            };
            let hops = making.origin.hops.saturating_add(1);
            let mut effect = render(action, &source)
                .unwrap_or_else(Effect::from)
                .within_hops(hops);
            let mut text = told(&effect, hops);
            if written.saturating_add(text.len()) > MAX_WRITTEN_BYTES {
                effect = Effect::Broken {
                    problem: format!(
                        "the effects of one request have about {MAX_WRITTEN_BYTES} bytes at the most"
                    ),
                };
                text = told(&effect, hops);
            }
            *written = written.saturating_add(text.len()).saturating_add(300);
            let (kind, target, sink) = address(action, &effect);
            let error = match effect {
                Effect::Broken { problem } => Some(problem),
                _ => None,
            };
            effects.push(EffectRow {
                of: row.entity,
                lane: lane(&uid, &target),
                id,
                kind,
                version: version.0,
                place,
                sink: format!("{tenant}\n{sink}"),
                target,
                effect: text,
                error,
            });
        }
    }
    effects
}

/// An effect as it is stored; one that sends an event with the number of effects that will have led to it.
fn told(effect: &Effect, hops: u32) -> String {
    if matches!(effect, Effect::Transition { .. }) {
        let mut value = serde_json::to_value(effect).unwrap_or_default();
        if let Value::Object(object) = &mut value {
            object.insert("hops".to_owned(), hops.into());
        }
        return value.to_string();
    }
    serde_json::to_string(effect).unwrap_or_default()
}

/// Kind, target and sink: the last is what a delivery is fair to.
fn address(action: &Action, effect: &Effect) -> (&'static str, String, String) {
    match action {
        Action::Webhook { url, .. } => {
            let origin = Address::parse(url).map_or_else(|_| url.clone(), |address| address.origin());
            ("webhook", url.clone(), origin)
        }
        Action::Event { .. } => ("event", "event".to_owned(), "event".to_owned()),
        Action::Transition { machine_id, .. } => {
            let target = match effect {
                Effect::Transition { entity_id, .. } => format!("{machine_id}/{entity_id}"),
                _ => machine_id.clone(),
            };
            ("transition", target, "transition".to_owned())
        }
    }
}

fn version_of(commit: &Commit, tree: &Tree, entity: EntityIx) -> statewright_core::ids::Version {
    let written = commit.writes.iter().find(|(of, _)| *of == entity);
    written.map_or_else(|| tree.entity(entity).version(), |(_, version)| *version)
}

/// The transitions of a commit, as they are presented to whom they concern (S0.32 to S0.39).
pub(crate) fn presented(
    commit: &Commit,
    tree: &Tree,
    making: &Making<'_>,
    now: Millis,
    subscriptions: usize,
    written: &mut usize,
) -> Vec<PresentedRow> {
    let mut presented = Vec::new();
    for row in &commit.rows {
        // What was ended or woken with its parent made no transition of its own.
        if matches!(row.cause, Cause::SubCancel { .. } | Cause::SubResume { .. }) {
            continue;
        }
        let entity = tree.entity(row.entity);
        let machine = entity.machine();
        let version = version_of(commit, tree, row.entity);
        let (event_id, place) = making.ids.next();
        let (region, from, to) = row.names(machine);
        let mut document = json!({
            "kind": "presentation",
            "type": "machine.transition",
            "machine": machine.id(),
            "id": entity.id(),
            "from": from,
            "to": to,
            "version": version,
            "event_id": event_id,
            "event_type": row.event_type(),
            "cause": making.origin,
            "committed_at": now,
        });
        if let (Value::Object(object), true) = (&mut document, machine.is_parallel()) {
            object.insert("region".to_owned(), region.into());
        }
        let document = document.to_string();
        // Each subscription may have a row of it.
        let bytes = document.len().saturating_add(300).saturating_mul(subscriptions);
        *written = written.saturating_add(bytes);
        presented.push(PresentedRow {
            of: row.entity,
            event_id,
            version: version.0,
            place,
            from: from.into_owned(),
            to: to.into_owned(),
            event_type: row.event_type().to_owned(),
            document,
        });
    }
    presented
}

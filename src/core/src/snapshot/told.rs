//! Commits as plain data: the rows, the effects and what became of children.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::answer::{ActionView, LifeView, actions_of};
use crate::commit::Commit;
use crate::effect::{Effect, EffectSource, render};
use crate::entity::Params;
use crate::identity::IdentityKey;
use crate::ids::{Millis, Version};
use crate::tree::Tree;

/// A commit, and how it is told.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The commit, in the terms of its tree.
    pub commit: Commit,
    /// How it is told.
    pub view: CommitView,
}

/// A commit as plain data: all of it is to be stored, or nothing (I3).
#[derive(Debug, Clone, Serialize)]
pub struct CommitView {
    /// The machine of the entity that the event or the timeout applied to.
    pub machine_id: String,
    /// That entity.
    pub entity_id: String,
    /// The history rows, in order.
    pub rows: Vec<RowView>,
    /// What is to be sent, in order.
    pub effects: Vec<EffectView>,
    /// What became of managed children, in order.
    pub lives: Vec<LifeView>,
    /// Every entity that it writes, each once.
    pub versions: Vec<VersionView>,
}

/// A history row (S2.256), without what only a service knows.
#[derive(Debug, Clone, Serialize)]
pub struct RowView {
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// The state that the region left.
    pub from_state: String,
    /// The state that it entered.
    pub to_state: String,
    /// The event type; engine rows start with `$`.
    pub event_type: String,
    /// The event's params; engine rows have none.
    pub event_params: Arc<Params>,
    /// The effects that the row calls for.
    pub actions_dispatched: Vec<ActionView>,
    /// The region that moved.
    pub region: String,
    /// When it happened: an event's timestamp, a timeout's due time.
    pub timestamp: i64,
    /// When it was committed.
    pub created_at: Millis,
    /// Its identity within the entity.
    pub identity_key: IdentityKey,
    /// What caused it.
    pub cause: Value,
}

/// An effect that a row calls for, rendered as of its commit.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectView {
    /// What is to be sent.
    pub effect: Effect,
    /// An id that no other effect of the entity has, and that deciding the same again gives again.
    pub effect_id: String,
    /// Which of the commit's rows calls for it.
    pub row: usize,
    /// The identity of that row.
    pub row_key: IdentityKey,
}

impl Serialize for EffectView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The keys of the effect, and then its own.
        let mut view = serde_json::to_value(&self.effect).unwrap_or_default();
        if let Value::Object(object) = &mut view {
            object.insert("effect_id".to_owned(), self.effect_id.as_str().into());
            object.insert("row".to_owned(), self.row.into());
            object.insert("row_key".to_owned(), self.row_key.to_string().into());
        }
        view.serialize(serializer)
    }
}

/// An entity that a commit writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionView {
    /// Its machine.
    pub machine_id: String,
    /// Its id.
    pub entity_id: String,
    /// The version that the commit makes of it.
    pub state_version: Version,
}

/// The rows of a commit, as the tree is right after it.
fn rows(commit: &Commit, tree: &Tree, now: Millis) -> Vec<RowView> {
    let none = Arc::new(Params::new());
    let view = |row: &crate::commit::Row| {
        let entity = tree.entity(row.entity);
        let machine = entity.machine();
        let (region, from, to) = row.names(machine);
        RowView {
            machine_id: machine.id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            region: region.into_owned(),
            from_state: from.into_owned(),
            to_state: to.into_owned(),
            event_type: row.event_type().to_owned(),
            event_params: Arc::clone(row.shared_params().unwrap_or(&none)),
            actions_dispatched: actions_of(machine, row).collect(),
            timestamp: row.timestamp,
            created_at: now,
            identity_key: row.key.clone(),
            cause: row.cause.to_json(tree),
        }
    };
    commit.rows.iter().map(view).collect()
}

/// The effects of a commit, as the tree is right after it.
fn effects(commit: &Commit, tree: &Tree, tenant: &str) -> Vec<EffectView> {
    let mut effects: Vec<EffectView> = Vec::new();
    for (place, row) in commit.rows.iter().enumerate() {
        let written = commit.writes.iter().find(|(of, _)| *of == row.entity);
        let entity = tree.entity(row.entity);
        let version = written.map_or_else(|| entity.version(), |(_, version)| *version);
        for action in &row.actions {
            // A commit writes an entity once, so that its version and a counter name each effect.
            let effect_id = format!(
                "{}/{}@{version}.{}",
                entity.machine().id(),
                entity.id(),
                effects.len()
            );
            let source = EffectSource {
                tenant,
                tree,
                row,
                version,
                effect_id: &effect_id,
            };
            effects.push(EffectView {
                effect: render(action, &source).unwrap_or_else(Effect::from),
                effect_id,
                row: place,
                row_key: row.key.clone(),
            });
        }
    }
    effects
}

/// A commit as it is told, by the tree as it is right after it. Without `dispatch` nothing is to be sent (S2.114, S2.117).
pub(super) fn commit_view(
    commit: &Commit,
    tree: &Tree,
    tenant: &str,
    dispatch: bool,
    now: Millis,
) -> CommitView {
    let target = tree.entity(commit.target);
    let versions = commit.writes.iter().map(|(ix, version)| {
        let entity = tree.entity(*ix);
        VersionView {
            machine_id: entity.machine().id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            state_version: *version,
        }
    });
    CommitView {
        machine_id: target.machine().id().as_str().to_owned(),
        entity_id: target.id().as_str().to_owned(),
        rows: rows(commit, tree, now),
        effects: if dispatch {
            effects(commit, tree, tenant)
        } else {
            Vec::new()
        },
        lives: commit.lives.iter().map(|life| LifeView::of(tree, life)).collect(),
        versions: versions.collect(),
    }
}

//! A stored entity: its columns as the SQL gives them, and the entity that they make.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use statewright_core::entity::{Entity, Params, StoredEntry, Timer, Tree};
use statewright_core::ids::{Millis, Revision, Seq, Version};

use crate::cache::Compiled;
use crate::error::Error;
use crate::load::EntityName;

/// The columns of an entity `e` that a decision needs beside its context, and its entries: a [`Columns`].
macro_rules! stored_columns {
    () => {
        "json_array(e.uid, e.revision, e.state_version, e.next_seq, e.created_at, e.updated_at, \
         json((SELECT json_group_array(json_array(n.region, n.state, n.seq, n.entered_at, n.key, n.revision, \
           n.due_at, n.parked)) FROM entries n WHERE n.uid = e.uid)))"
    };
}
pub(crate) use stored_columns;

/// An entity as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) uid: String,
    pub(crate) version: Version,
    pub(crate) created_at: Millis,
    pub(crate) context_bytes: usize,
    pub(crate) tree: Tree,
}

/// What `stored_columns!` gives; all null where there is no entity.
#[derive(Deserialize)]
pub(crate) struct Columns<'a>(
    #[serde(borrow)] Option<Cow<'a, str>>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<i64>,
    Option<i64>,
    #[serde(borrow)] Vec<EntryColumns<'a>>,
);

#[derive(Deserialize)]
struct EntryColumns<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u64,
    i64,
    #[serde(borrow)] Option<Cow<'a, str>>,
    u64,
    Option<i64>,
    #[serde(borrow)] Option<Cow<'a, str>>,
);

/// That an entity's rows cannot be read (M8).
pub(crate) fn corrupt(name: &EntityName, problem: String) -> Error {
    Error::Corrupt {
        what: format!("entity `{}` of machine `{}`", name.entity_id, name.machine_id),
        problem,
    }
}

impl Columns<'_> {
    /// The entity that the columns and its context make; none where there is none.
    ///
    /// # Errors
    /// They make no entity of the machine (M8).
    pub(crate) fn restore(
        self,
        context: Option<Cow<'_, str>>,
        name: &EntityName,
        compiled: &Compiled,
        revision: Revision,
    ) -> Result<Option<Stored>, Error> {
        let Self(Some(uid), under, version, next_seq, created, updated, entries) = self else {
            return Ok(None);
        };
        let (Some(_), Some(version), Some(next_seq), Some(created), Some(updated), Some(context)) =
            (under, version, next_seq, created, updated, context)
        else {
            return Err(corrupt(name, "a column is null".to_owned()));
        };
        let params: Params =
            serde_json::from_str(&context).map_err(|error| corrupt(name, error.to_string()))?;
        let entries: Vec<StoredEntry<'_>> = entries.iter().map(|entry| entry.stored(revision)).collect();
        let entity = Entity::restore(
            Arc::clone(&compiled.machine),
            name.entity_id.clone(),
            Version(version),
            Seq(next_seq),
            params,
            Millis(updated),
            &entries,
        )
        .map_err(|error| corrupt(name, error.to_string()))?;
        Ok(Some(Stored {
            uid: uid.into_owned(),
            version: Version(version),
            created_at: Millis(created),
            context_bytes: context.len(),
            tree: Tree::new(entity),
        }))
    }
}

impl EntryColumns<'_> {
    fn stored(&self, revision: Revision) -> StoredEntry<'_> {
        let Self(region, state, seq, entered_at, key, under, due_at, parked) = self;
        StoredEntry {
            region,
            state,
            seq: Seq(*seq),
            entered_at: Millis(*entered_at),
            // Stored under another revision: worked out anew from `entered_at` (design 6).
            timer: (*under == revision.0).then(|| timer(*due_at, parked.as_deref())),
            key: key.as_deref().map(Into::into),
        }
    }
}

fn timer(due_at: Option<i64>, parked: Option<&str>) -> Timer {
    match (due_at, parked) {
        (Some(due), Some(error)) => Timer::Parked {
            due: Millis(due),
            error: error.into(),
        },
        (Some(due), None) => Timer::Armed(Millis(due)),
        (None, _) => Timer::Off,
    }
}

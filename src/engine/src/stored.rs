//! A stored entity: its columns as the SQL gives them, and the entity that they make.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use statewright_core::answer::OwnerView;
use statewright_core::entity::{Entity, Params, StoredEntry, Timer};
use statewright_core::error::Error as Core;
use statewright_core::ids::{Millis, Revision, Seq, Version};
use statewright_core::tree::Status;

use crate::cache::Compiled;
use crate::error::Error;
use crate::load::EntityName;
use crate::row::{Cell, Cells, columns};

/// The columns of an entity `e` that a decision needs beside its context, and its entries, with `$row` for the ids of
/// the rows that made them: a [`Columns`].
macro_rules! stored_columns {
    ($row:expr) => {
        concat!(
            "json_array(e.uid, e.revision, e.state_version, e.next_seq, e.created_at, e.updated_at, \
             json((SELECT json_group_array(json_array(n.region, n.state, n.seq, n.entered_at, n.key, n.revision, \
               n.due_at, n.parked, ",
            $row,
            ")) FROM entries n WHERE n.uid = e.uid)))"
        )
    };
}
pub(crate) use stored_columns;

/// The columns of a child's place `i`: an [`Instance`], or null.
macro_rules! instance_columns {
    () => {
        "CASE WHEN i.uid IS NOT NULL THEN json_array(i.parent_uid, i.region, i.state, i.seq, i.first_seq, i.kind, \
           i.status, i.depth, i.path, i.started, i.ended, i.current, i.cancelled_with) END"
    };
}
pub(crate) use instance_columns;

/// An entity as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) uid: String,
    pub(crate) created_at: Millis,
    pub(crate) context_bytes: usize,
    pub(crate) entity: Entity,
}

/// What `stored_columns!` gives; all null where there is no entity.
#[derive(Deserialize)]
pub(crate) struct Columns<'a>(
    #[serde(borrow)] pub(crate) Option<Cow<'a, str>>,
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
    Option<u64>,
);

impl Cell for Columns<'_> {
    fn take(cells: &mut Cells) -> Self {
        let (uid, under, version, next_seq, created, updated, entries) = Cell::take(cells);
        let uid: Option<String> = uid;
        Self(
            uid.map(Cow::Owned),
            under,
            version,
            next_seq,
            created,
            updated,
            entries,
        )
    }
}

impl Cell for EntryColumns<'_> {
    fn take(cells: &mut Cells) -> Self {
        let (region, state, seq, entered_at, key, under, due_at, parked, row) = Cell::take(cells);
        let (region, state): (String, String) = (region, state);
        let (key, parked): (Option<String>, Option<String>) = (key, parked);
        Self(
            region.into(),
            state.into(),
            seq,
            entered_at,
            key.map(Cow::Owned),
            under,
            due_at,
            parked.map(Cow::Owned),
            row,
        )
    }
}

/// What `instance_columns!` gives.
type InstanceColumns = (
    String,
    String,
    String,
    u64,
    u64,
    String,
    String,
    u32,
    String,
    i64,
    Option<i64>,
    u8,
    Option<String>,
);

/// A child's place as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) parent_uid: String,
    pub(crate) region: String,
    pub(crate) state: String,
    pub(crate) seq: Seq,
    pub(crate) first_seq: Seq,
    pub(crate) managed: bool,
    pub(crate) status: Status,
    pub(crate) depth: u32,
    pub(crate) path: Vec<OwnerView>,
    pub(crate) started: Millis,
    pub(crate) ended: Option<Millis>,
    pub(crate) current: bool,
    pub(crate) cancelled_with: Option<String>,
}

impl Instance {
    /// A child's place from what `instance_columns!` gives; none where that is null.
    ///
    /// # Errors
    /// It cannot be read: it fails closed (M8, EF-2).
    pub(crate) fn read(stored: Value, name: &EntityName) -> Result<Option<Self>, Error> {
        let unreadable = |error: serde_json::Error| corrupt(name, format!("its place in its tree: {error}"));
        let columns: Option<Option<InstanceColumns>> = columns(stored);
        let columns =
            columns.ok_or_else(|| corrupt(name, "its place in its tree has other columns".to_owned()))?;
        let Some(columns) = columns else { return Ok(None) };
        let (
            parent_uid,
            region,
            state,
            seq,
            first_seq,
            kind,
            status,
            depth,
            path,
            started,
            ended,
            current,
            cancelled_with,
        ) = columns;
        let path: Vec<OwnerView> = serde_json::from_str(&path).map_err(unreadable)?;
        let managed = match kind.as_str() {
            "managed" => true,
            "legacy" => false,
            other => return Err(corrupt(name, format!("`{other}` is no kind of child"))),
        };
        let status = Status::named(&status)
            .ok_or_else(|| corrupt(name, format!("`{status}` is no status of a child")))?;
        let ends = ended.is_none() == (status == Status::Active);
        let levels = usize::try_from(depth).is_ok_and(|depth| depth == path.len());
        if !ends || !levels {
            return Err(corrupt(
                name,
                "its place in its tree contradicts itself".to_owned(),
            ));
        }
        Ok(Some(Self {
            parent_uid,
            region,
            state,
            seq: Seq(seq),
            first_seq: Seq(first_seq),
            managed,
            status,
            depth,
            path,
            started: Millis(started),
            ended: ended.map(Millis),
            current: current == 1,
            cancelled_with,
        }))
    }
}

/// That an entity's rows cannot be read (M8).
pub(crate) fn corrupt(name: &EntityName, problem: String) -> Error {
    Error::Core(Core::Corrupt {
        what: format!("entity `{}` of machine `{}`", name.entity_id, name.machine_id),
        problem,
    })
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
            created_at: Millis(created),
            context_bytes: context.len(),
            entity,
        }))
    }
}

impl EntryColumns<'_> {
    fn stored(&self, revision: Revision) -> StoredEntry<'_> {
        let Self(region, state, seq, entered_at, key, under, due_at, parked, row) = self;
        StoredEntry {
            region,
            state,
            seq: Seq(*seq),
            entered_at: Millis(*entered_at),
            // Stored under another revision: worked out anew from `entered_at` (design 6).
            timer: (*under == revision.0).then(|| timer(*due_at, parked.as_deref())),
            key: key.as_deref().map(Into::into),
            row: *row,
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

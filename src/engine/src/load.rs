//! What an event needs, read in one batch: the machine, the revision in force, the entity, what it remembers.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use statewright_core::entity::Params;
use statewright_core::ids::{EntityId, MachineId, Revision, TenantId};

use crate::cache::{Compiled, DefinitionCache, Known};
use crate::database::{Param, Statement};
use crate::error::Error;
use crate::stored::{Columns, Stored, corrupt, stored_columns};

/// The revision in force for an entity, or for a new one: `d`.
macro_rules! revision_joins {
    () => {
        "LEFT JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id \
           AND r.revision = coalesce(e.revision, m.head) \
         LEFT JOIN revisions d ON d.tenant = m.tenant AND d.machine_id = m.machine_id AND d.revision = r.effective"
    };
}
pub(crate) use revision_joins;

/// One entity: tenant, machine, entity, a JSON array of identity keys, a JSON array of known definitions.
pub(crate) const LOAD_ONE: &str = concat!(
    "SELECT json_array(d.revision, d.content_hash, \
       CASE WHEN d.content_hash IN (SELECT value FROM json_each(?5)) THEN NULL ELSE d.definition END, e.context, \
       json((SELECT json_group_array(json_array(h.identity_key, h.event_params, h.commit_id)) FROM history h \
         WHERE h.uid = e.uid AND h.identity_key IN (SELECT value FROM json_each(?4)))), ",
    stored_columns!(),
    ") AS j FROM machines m \
     LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = ?3 ",
    revision_joins!(),
    " WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0"
);

/// An entity by its full name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityName {
    pub(crate) tenant: TenantId,
    pub(crate) machine_id: MachineId,
    pub(crate) entity_id: EntityId,
}

impl EntityName {
    /// Tenant, machine and entity, as the set-wise statements take them.
    pub(crate) fn texts(&self) -> (&str, &str, &str) {
        (
            self.tenant.as_str(),
            self.machine_id.as_str(),
            self.entity_id.as_str(),
        )
    }
}

/// A row that an entity remembers under an identity.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) params: Params,
    pub(crate) commit_id: String,
}

/// What was read for one entity.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: EntityName,
    pub(crate) compiled: Arc<Compiled>,
    /// The revision in force.
    pub(crate) revision: Revision,
    /// The entity as it is stored, if it exists.
    pub(crate) stored: Option<Stored>,
    pub(crate) seen: Vec<Seen>,
}

#[derive(Deserialize)]
struct OneRow<'a>(
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Vec<SeenRow<'a>>,
    #[serde(borrow)] Columns<'a>,
);

#[derive(Deserialize)]
struct SeenRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
);

/// Reads a row that the engine's own SQL made.
pub(crate) fn decode<T: DeserializeOwned>(row: &str) -> Result<T, Error> {
    serde_json::from_str(row).map_err(|error| undecodable(&error))
}

pub(crate) fn undecodable(error: &serde_json::Error) -> Error {
    Error::Corrupt {
        what: "a row".to_owned(),
        problem: error.to_string(),
    }
}

/// The rows of the statement at a place of a batch.
pub(crate) fn rows_of(results: &[Vec<String>], place: usize) -> &[String] {
    results.get(place).map_or(&[], Vec::as_slice)
}

/// The statement that loads one entity, and the definitions that it does not ask for.
pub(crate) fn load_one(name: &EntityName, keys: &[String], cache: &DefinitionCache) -> (Statement, Known) {
    let mut known = Known::default();
    known.extend(cache.known(name.tenant.as_str(), name.machine_id.as_str()));
    let statement = Statement::new(
        LOAD_ONE,
        [
            name.tenant.as_str().into(),
            name.machine_id.as_str().into(),
            name.entity_id.as_str().into(),
            text(&keys),
            known.hashes().into(),
        ],
    );
    (statement, known)
}

/// What [`load_one`] found; `None` where there is no machine.
pub(crate) fn loaded_one(
    name: EntityName,
    rows: &[String],
    cache: &DefinitionCache,
    known: &Known,
) -> Result<Option<Loaded>, Error> {
    let Some(row) = rows.first() else { return Ok(None) };
    let row: OneRow<'_> = serde_json::from_str(row).map_err(|error| undecodable(&error))?;
    let OneRow(revision, hash, definition, context, seen, columns) = row;
    let compiled = match (definition, known.get(&hash)) {
        (Some(text), _) => cache.compile(name.tenant.as_str(), name.machine_id.as_str(), &hash, &text)?,
        (None, Some(compiled)) => compiled,
        (None, None) => return Err(corrupt(&name, "its definition is missing".to_owned())),
    };
    let stored = columns.restore(context, &name, &compiled, Revision(revision))?;
    let seen = seen
        .into_iter()
        .map(|row| read_seen(&name, row))
        .collect::<Result<_, _>>()?;
    Ok(Some(Loaded {
        name,
        compiled,
        revision: Revision(revision),
        stored,
        seen,
    }))
}

fn read_seen(name: &EntityName, SeenRow(key, params, commit_id): SeenRow<'_>) -> Result<Seen, Error> {
    Ok(Seen {
        key: key.into_owned(),
        params: read_params(name, &params)?,
        commit_id: commit_id.into_owned(),
    })
}

pub(crate) fn read_params(name: &EntityName, text: &str) -> Result<Params, Error> {
    serde_json::from_str(text).map_err(|error| corrupt(name, error.to_string()))
}

/// A text parameter.
pub(crate) fn text(value: &impl serde::Serialize) -> Param {
    // What the engine writes into parameters always has a JSON form.
    Param::Text(serde_json::to_string(value).unwrap_or_default())
}

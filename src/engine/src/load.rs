//! What an event needs, read in one batch: the machine, the revision in force, the entity, what it remembers.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use statewright_core::entity::Params;
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MachineId, Revision, TenantId};

use crate::cache::{Compiled, DefinitionCache, Known};
use crate::database::{Param, Statement};
use crate::error::Error;
pub(crate) use crate::row::decode;
use crate::stored::{Columns, Instance, Stored, corrupt, instance_columns, stored_columns};

/// That a child at its place `i` ended for good: it neither lives nor can wake.
macro_rules! is_over {
    () => {
        "(i.status <> 'active' AND i.cancelled_with IS NULL)"
    };
}
pub(crate) use is_over;

/// The revision in force for an entity with its place `i`, of its own revision `r`: a child that ended for good stays with
/// the one under which it did.
macro_rules! in_force {
    () => {
        concat!(
            "CASE WHEN ",
            $crate::load::is_over!(),
            " THEN r.revision ELSE r.effective END"
        )
    };
}
pub(crate) use in_force;

/// The place `i` of an entity `e`, where it is a child, and the revision `d` in force for it, or for a new one.
macro_rules! revision_joins {
    () => {
        concat!(
            "LEFT JOIN instances i ON i.uid = e.uid \
         LEFT JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id \
           AND r.revision = coalesce(e.revision, m.head) \
         LEFT JOIN revisions d ON d.tenant = m.tenant AND d.machine_id = m.machine_id AND d.revision = ",
            $crate::load::in_force!()
        )
    };
}
pub(crate) use revision_joins;

/// Whether an entity `e` with its place `i` belongs to a tree of more than itself.
macro_rules! in_family {
    () => {
        "(i.uid IS NOT NULL OR EXISTS (SELECT 1 FROM instances x WHERE x.root_uid = e.uid))"
    };
}

/// How many subscriptions there are to a tenant's machines.
macro_rules! is_subscribed {
    ($tenant:literal) => {
        concat!(
            "(SELECT count(*) FROM subscriptions s WHERE s.tenant = ",
            $tenant,
            " AND s.source = 'machines')"
        )
    };
}
pub(crate) use is_subscribed;

/// One entity: tenant, machine, entity, a JSON array of identity keys, a JSON array of known definitions.
pub(crate) const LOAD_ONE: &str = concat!(
    "SELECT json_array(d.revision, d.content_hash, \
       CASE WHEN d.content_hash IN (SELECT value FROM json_each(?5)) THEN NULL ELSE d.definition END, e.context, \
       json((SELECT json_group_array(json_array(h.identity_key, h.event_params, h.commit_id)) FROM history h \
         WHERE h.uid = e.uid AND h.identity_key IN (SELECT value FROM json_each(?4)))), ",
    stored_columns!("NULL"),
    ", ",
    instance_columns!(),
    ", ",
    in_family!(),
    ", ",
    is_subscribed!("m.tenant"),
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
    /// The incarnation that remembers it: the one whose history has it, or one that handed it on (M11).
    pub(crate) uid: String,
    pub(crate) key: String,
    pub(crate) params: Arc<Params>,
    pub(crate) commit_id: String,
}

/// What was read of one entity alone.
#[derive(Debug)]
pub(crate) struct LoadedOne {
    pub(crate) name: EntityName,
    pub(crate) compiled: Arc<Compiled>,
    /// The revision in force.
    pub(crate) revision: Revision,
    /// The entity as it is stored, if it exists.
    pub(crate) stored: Option<Stored>,
    /// Its place, where it is a child.
    pub(crate) instance: Option<Instance>,
    pub(crate) seen: Vec<Seen>,
    /// Whether it belongs to a tree of more than itself, or its machine has children: then it is not to be decided on
    /// alone.
    pub(crate) family: bool,
    /// How many subscriptions the tenant has to machines.
    pub(crate) subscribed: usize,
}

#[derive(Deserialize)]
struct OneRow<'a>(
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Vec<SeenRow<'a>>,
    #[serde(borrow)] Columns<'a>,
    Value,
    u8,
    usize,
);

#[derive(Deserialize)]
struct SeenRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
);

/// Reads JSON that the engine wrote.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| undecodable(&error))
}

pub(crate) fn undecodable(error: &serde_json::Error) -> Error {
    Error::Core(Core::Corrupt {
        what: "a row".to_owned(),
        problem: error.to_string(),
    })
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
) -> Result<Option<LoadedOne>, Error> {
    let Some(row) = rows.first() else { return Ok(None) };
    let row: OneRow<'_> = serde_json::from_str(row).map_err(|error| undecodable(&error))?;
    let OneRow(revision, hash, definition, context, seen, columns, instance, family, subscribed) = row;
    let compiled = match (definition, known.get(&hash)) {
        (Some(text), _) => cache.compile(name.tenant.as_str(), name.machine_id.as_str(), &hash, &text)?,
        (None, Some(compiled)) => compiled,
        (None, None) => return Err(corrupt(&name, "its definition is missing".to_owned())),
    };
    let mut stored = columns.restore(context, &name, &compiled, Revision(revision))?;
    let instance = Instance::read(instance, &name)?;
    if let Some(stored) = stored.as_mut().filter(|_| !is_live(instance.as_ref())) {
        stored.entity.disarm();
    }
    let uid = stored
        .as_ref()
        .map(|stored| stored.uid.clone())
        .unwrap_or_default();
    let seen = seen
        .into_iter()
        .map(|row| read_seen(&name, &uid, row))
        .collect::<Result<_, _>>()?;
    let family = family == 1 || compiled.machine.has_children();
    Ok(Some(LoadedOne {
        name,
        compiled,
        revision: Revision(revision),
        stored,
        instance,
        seen,
        family,
        subscribed,
    }))
}

fn is_live(instance: Option<&Instance>) -> bool {
    instance.is_none_or(|instance| instance.status == statewright_core::tree::Status::Active)
}

fn read_seen(
    name: &EntityName,
    uid: &str,
    SeenRow(key, params, commit_id): SeenRow<'_>,
) -> Result<Seen, Error> {
    Ok(Seen {
        uid: uid.to_owned(),
        key: key.into_owned(),
        params: Arc::new(read_params(name, &params)?),
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

//! What an event needs, read in one batch: the machine, the revision in force, the entity, what it remembers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use statewright_core::entity::{Entity, Params, StoredEntry, Timer, Tree};
use statewright_core::ids::{EntityId, MachineId, Millis, Revision, Seq, TenantId, Version};

use crate::cache::{Compiled, DefinitionCache};
use crate::database::{Param, Statement};
use crate::error::Error;

/// How many bytes of contexts and remembered params one set-wise read brings.
const MOST_LOADED_BYTES: i64 = 16 * 1024 * 1024;

/// The columns of an entity that a decision needs, and its entries.
macro_rules! entity_columns {
    () => {
        "e.uid, e.revision, e.state_version, e.next_seq, e.created_at, e.updated_at, \
         json((SELECT json_group_array(json_array(n.region, n.state, n.seq, n.entered_at, n.key, n.revision, \
           n.due_at, n.parked)) FROM entries n WHERE n.uid = e.uid))"
    };
}

/// The revision in force for an entity, or for a new one: `d`.
macro_rules! revision_joins {
    () => {
        "LEFT JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id \
           AND r.revision = coalesce(e.revision, m.head) \
         LEFT JOIN revisions d ON d.tenant = m.tenant AND d.machine_id = m.machine_id AND d.revision = r.effective"
    };
}

/// One entity: tenant, machine, entity, a JSON array of identity keys, a JSON array of known definitions.
pub(crate) const LOAD_ONE: &str = concat!(
    "SELECT json_array(d.revision, d.content_hash, \
       CASE WHEN d.content_hash IN (SELECT value FROM json_each(?5)) THEN NULL ELSE d.definition END, e.context, \
       json((SELECT json_group_array(json_array(h.identity_key, h.event_params, h.commit_id)) FROM history h \
         WHERE h.uid = e.uid AND h.identity_key IN (SELECT value FROM json_each(?4)))), ",
    entity_columns!(),
    ") FROM machines m \
     LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = ?3 ",
    revision_joins!(),
    " WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0"
);

/// Many entities: a JSON array of [tenant, machine, entity]. What is beyond the budget comes with a null context; it is
/// weighed before any of it is read.
pub(crate) const LOAD_MANY: &str = concat!(
    "SELECT json_array(l.key, l.revision, l.content_hash, CASE WHEN l.before < ?2 THEN coalesce(e.context, '') END, ",
    entity_columns!(),
    ") FROM (SELECT key, tenant, machine_id, entity_id, revision, content_hash, \
         sum(bytes) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT t.key, m.tenant, m.machine_id, t.value->>2 AS entity_id, d.revision, d.content_hash, \
           coalesce(octet_length(e.context) + 300 * (SELECT count(*) FROM entries n WHERE n.uid = e.uid), 0) AS bytes \
         FROM json_each(?1) t \
         CROSS JOIN machines m ON m.tenant = t.value->>0 AND m.machine_id = t.value->>1 AND m.deleted = 0 \
         LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = t.value->>2 ",
    revision_joins!(),
    ")) l LEFT JOIN entities e ON l.before < ?2 AND e.tenant = l.tenant AND e.machine_id = l.machine_id \
       AND e.entity_id = l.entity_id"
);

/// What many entities remember: a JSON array of [tenant, machine, entity, [identity key, …]].
pub(crate) const SEEN_MANY: &str = "SELECT json_array(t.key, h.identity_key, \
       CASE WHEN sum(octet_length(h.event_params)) OVER (ORDER BY t.key ROWS UNBOUNDED PRECEDING) \
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id) \
     FROM json_each(?1) t CROSS JOIN json_each(t.value, '$[3]') k \
     CROSS JOIN entities e ON e.tenant = t.value->>0 AND e.machine_id = t.value->>1 AND e.entity_id = t.value->>2 \
     CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = k.value";

/// The definitions that many entities run by: the same targets, a JSON array of known definitions, and a budget as
/// above: those beyond it do not come.
pub(crate) const DEFINITIONS: &str = concat!(
    "SELECT json_array(x.tenant, x.machine_id, x.content_hash, x.definition) \
     FROM (SELECT tenant, machine_id, revision, \
         sum(bytes) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT d.tenant, d.machine_id, d.revision, octet_length(d.definition) AS bytes, min(t.key) AS place \
         FROM json_each(?1) t \
         CROSS JOIN machines m ON m.tenant = t.value->>0 AND m.machine_id = t.value->>1 AND m.deleted = 0 \
         LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = t.value->>2 ",
    revision_joins!(),
    "    WHERE d.content_hash NOT IN (SELECT value FROM json_each(?2)) GROUP BY d.content_hash)) l \
     CROSS JOIN revisions x ON x.tenant = l.tenant AND x.machine_id = l.machine_id AND x.revision = l.revision \
     WHERE l.before < ?3"
);

/// An entity by its full name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityName {
    pub(crate) tenant: TenantId,
    pub(crate) machine_id: MachineId,
    pub(crate) entity_id: EntityId,
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

/// An entity as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) uid: String,
    pub(crate) version: Version,
    pub(crate) created_at: Millis,
    pub(crate) context_bytes: usize,
    pub(crate) tree: Tree,
}

#[derive(Deserialize)]
struct OneRow<'a>(
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Vec<SeenRow<'a>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<i64>,
    Option<i64>,
    #[serde(borrow)] Vec<EntryRow<'a>>,
);

#[derive(Deserialize)]
struct ManyRow<'a>(
    usize,
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<i64>,
    Option<i64>,
    #[serde(borrow)] Vec<EntryRow<'a>>,
);

#[derive(Deserialize)]
struct SeenRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
);

#[derive(Deserialize)]
struct EntryRow<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u64,
    i64,
    #[serde(borrow)] Option<Cow<'a, str>>,
    u64,
    Option<i64>,
    #[serde(borrow)] Option<Cow<'a, str>>,
);

/// Reads a row that the engine's own SQL made.
pub(crate) fn decode<T: DeserializeOwned>(row: &str) -> Result<T, Error> {
    serde_json::from_str(row).map_err(|error| undecodable(&error))
}

fn undecodable(error: &serde_json::Error) -> Error {
    Error::Corrupt {
        what: "a row".to_owned(),
        problem: error.to_string(),
    }
}

/// The rows of the statement at a place of a batch.
pub(crate) fn rows_of(results: &[Vec<String>], place: usize) -> &[String] {
    results.get(place).map_or(&[], Vec::as_slice)
}

/// The statement that loads one entity.
pub(crate) fn load_one(name: &EntityName, keys: &[String], cache: &DefinitionCache) -> Statement {
    let known = cache.known(name.tenant.as_str(), name.machine_id.as_str());
    Statement::new(
        LOAD_ONE,
        [
            name.tenant.as_str().into(),
            name.machine_id.as_str().into(),
            name.entity_id.as_str().into(),
            json!(keys).to_string().into(),
            json!(known).to_string().into(),
        ],
    )
}

/// What [`load_one`] found; `None` where there is no machine.
pub(crate) fn loaded_one(
    name: EntityName,
    rows: &[String],
    cache: &DefinitionCache,
) -> Result<Option<Loaded>, Error> {
    let Some(row) = rows.first() else { return Ok(None) };
    let row: OneRow<'_> = serde_json::from_str(row).map_err(|error| undecodable(&error))?;
    let OneRow(
        revision,
        hash,
        definition,
        context,
        seen,
        uid,
        stored,
        version,
        next_seq,
        created,
        updated,
        entries,
    ) = row;
    let compiled = match definition {
        Some(text) => cache.compile(name.tenant.as_str(), name.machine_id.as_str(), &hash, &text)?,
        None => cached(cache, &name, &hash)?,
    };
    let parts = Parts {
        uid,
        stored,
        version,
        next_seq,
        context,
        created,
        updated,
        entries,
    };
    let stored = parts.restore(&name, &compiled, Revision(revision))?;
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

fn cached(cache: &DefinitionCache, name: &EntityName, hash: &str) -> Result<Arc<Compiled>, Error> {
    // Dropped by another request between the read's start and here: rare, and answered as a retry.
    cache.get(hash).ok_or_else(|| {
        Error::Database(format!(
            "the definition of machine `{}` was dropped from the cache meanwhile",
            name.machine_id
        ))
    })
}

/// One entity of a set-wise read.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) name: EntityName,
    /// The identities to look up.
    pub(crate) keys: Vec<String>,
}

/// The statements that load many entities, for [`loaded_many`].
pub(crate) fn load_many(targets: &[Target], cache: &DefinitionCache) -> Vec<Statement> {
    let names: Vec<_> = targets.iter().map(|target| entity_json(&target.name)).collect();
    let names = json!(names).to_string();
    let keyed: Vec<_> = targets
        .iter()
        .map(|Target { name, keys }| {
            json!([
                name.tenant.as_str(),
                name.machine_id.as_str(),
                name.entity_id.as_str(),
                keys
            ])
        })
        .collect();
    let mut known: Vec<Arc<str>> = Vec::new();
    let mut machines = BTreeSet::new();
    for target in targets {
        machines.insert((target.name.tenant.as_str(), target.name.machine_id.as_str()));
    }
    for (tenant, machine_id) in machines {
        known.extend(cache.known(tenant, machine_id));
    }
    vec![
        Statement::new(LOAD_MANY, [names.clone().into(), MOST_LOADED_BYTES.into()]),
        Statement::new(
            SEEN_MANY,
            [json!(keyed).to_string().into(), MOST_LOADED_BYTES.into()],
        ),
        Statement::new(
            DEFINITIONS,
            [
                names.into(),
                json!(known).to_string().into(),
                MOST_LOADED_BYTES.into(),
            ],
        ),
    ]
}

fn entity_json(name: &EntityName) -> serde_json::Value {
    json!([
        name.tenant.as_str(),
        name.machine_id.as_str(),
        name.entity_id.as_str()
    ])
}

/// What became of one target of a set-wise read.
#[derive(Debug)]
pub(crate) enum Found {
    /// It was read.
    Loaded(Box<Loaded>),
    /// There is no such machine.
    NoMachine,
    /// It did not fit this read; the next one may bring it.
    LeftOut,
    /// Its rows cannot be read (M8).
    Failed(Error),
}

/// What [`load_many`] found, target by target.
pub(crate) fn loaded_many(
    targets: &[Target],
    results: &[Vec<String>],
    cache: &DefinitionCache,
) -> Result<Vec<Found>, Error> {
    let mut broken: BTreeMap<String, Error> = BTreeMap::new();
    let mut fresh: BTreeMap<String, Arc<Compiled>> = BTreeMap::new();
    for row in rows_of(results, 2) {
        let (tenant, machine_id, hash, text): (String, String, String, String) = decode(row)?;
        match cache.compile(&tenant, &machine_id, &hash, &text) {
            Ok(compiled) => {
                fresh.insert(hash, compiled);
            }
            Err(error) => {
                broken.insert(hash, error);
            }
        }
    }
    let mut seen: Vec<Result<Vec<Seen>, Found>> = targets.iter().map(|_| Ok(Vec::new())).collect();
    for row in rows_of(results, 1) {
        let (place, key, params, commit_id): (usize, String, Option<String>, String) = decode(row)?;
        let (Some(target), Some(slot)) = (targets.get(place), seen.get_mut(place)) else {
            continue;
        };
        let Ok(list) = slot else { continue };
        match params {
            None => *slot = Err(Found::LeftOut),
            Some(params) => match read_params(&target.name, &params) {
                Ok(params) => list.push(Seen {
                    key,
                    params,
                    commit_id,
                }),
                Err(error) => *slot = Err(Found::Failed(error)),
            },
        }
    }
    let mut found: Vec<Found> = targets.iter().map(|_| Found::NoMachine).collect();
    for row in rows_of(results, 0) {
        let row: ManyRow<'_> = match serde_json::from_str(row) {
            Ok(row) => row,
            // Numbers that no counter has: its entity fails, and no other does.
            Err(error) => {
                let place = place_of(row)?;
                if let (Some(target), Some(slot)) = (targets.get(place), found.get_mut(place)) {
                    *slot = Found::Failed(corrupt(&target.name, error.to_string()));
                }
                continue;
            }
        };
        let ManyRow(
            place,
            revision,
            hash,
            context,
            uid,
            stored,
            version,
            next_seq,
            created,
            updated,
            entries,
        ) = row;
        let (Some(target), Some(slot), Some(seen)) =
            (targets.get(place), found.get_mut(place), seen.get_mut(place))
        else {
            continue;
        };
        let Some(context) = context else {
            *slot = Found::LeftOut;
            continue;
        };
        let seen = match std::mem::replace(seen, Ok(Vec::new())) {
            Ok(seen) => seen,
            Err(other) => {
                *slot = other;
                continue;
            }
        };
        let compiled = match (
            fresh.get(&*hash).cloned().or_else(|| cache.get(&hash)),
            broken.get(&*hash),
        ) {
            (Some(compiled), _) => compiled,
            (None, Some(error)) => {
                *slot = Found::Failed(error.clone());
                continue;
            }
            (None, None) => {
                *slot = Found::LeftOut;
                continue;
            }
        };
        let name = target.name.clone();
        let parts = Parts {
            uid,
            stored,
            version,
            next_seq,
            context: Some(context),
            created,
            updated,
            entries,
        };
        *slot = match parts.restore(&name, &compiled, Revision(revision)) {
            Ok(stored) => Found::Loaded(Box::new(Loaded {
                name,
                compiled,
                revision: Revision(revision),
                stored,
                seen,
            })),
            Err(error) => Found::Failed(error),
        };
    }
    Ok(found)
}

/// The place at the front of a row that cannot be read as a whole.
fn place_of(row: &str) -> Result<usize, Error> {
    let cells: Vec<serde_json::Value> = decode(row)?;
    let place = cells.first().and_then(serde_json::Value::as_u64);
    let place = place.and_then(|place| usize::try_from(place).ok());
    Ok(place.unwrap_or(usize::MAX))
}

fn read_seen(name: &EntityName, SeenRow(key, params, commit_id): SeenRow<'_>) -> Result<Seen, Error> {
    Ok(Seen {
        key: key.into_owned(),
        params: read_params(name, &params)?,
        commit_id: commit_id.into_owned(),
    })
}

fn read_params(name: &EntityName, text: &str) -> Result<Params, Error> {
    serde_json::from_str(text).map_err(|error| corrupt(name, error.to_string()))
}

pub(crate) fn corrupt(name: &EntityName, problem: String) -> Error {
    Error::Corrupt {
        what: format!("entity `{}` of machine `{}`", name.entity_id, name.machine_id),
        problem,
    }
}

/// The stored parts of an entity, each missing where there is none.
struct Parts<'a> {
    uid: Option<Cow<'a, str>>,
    stored: Option<u64>,
    version: Option<u64>,
    next_seq: Option<u64>,
    context: Option<Cow<'a, str>>,
    created: Option<i64>,
    updated: Option<i64>,
    entries: Vec<EntryRow<'a>>,
}

impl Parts<'_> {
    fn restore(
        self,
        name: &EntityName,
        compiled: &Compiled,
        revision: Revision,
    ) -> Result<Option<Stored>, Error> {
        let Some(uid) = self.uid else { return Ok(None) };
        let (Some(version), Some(next_seq), Some(context), Some(created), Some(updated), Some(_)) = (
            self.version,
            self.next_seq,
            self.context,
            self.created,
            self.updated,
            self.stored,
        ) else {
            return Err(corrupt(name, "a column is null".to_owned()));
        };
        let params: Params =
            serde_json::from_str(&context).map_err(|error| corrupt(name, error.to_string()))?;
        let entries: Vec<StoredEntry<'_>> = self
            .entries
            .iter()
            .map(
                |EntryRow(region, state, seq, entered_at, key, under, due_at, parked)| StoredEntry {
                    region,
                    state,
                    seq: Seq(*seq),
                    entered_at: Millis(*entered_at),
                    // Stored under another revision: worked out anew from `entered_at` (design 6).
                    timer: (*under == revision.0).then(|| timer(*due_at, parked.as_deref())),
                    key: key.as_deref().map(Into::into),
                },
            )
            .collect();
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

/// A text parameter.
pub(crate) fn text(value: &impl serde::Serialize) -> Param {
    // What the engine writes into parameters always has a JSON form.
    Param::Text(serde_json::to_string(value).unwrap_or_default())
}

#[derive(Deserialize)]
struct ListRow<'a>(
    u8,
    #[serde(borrow)] Cow<'a, str>,
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<i64>,
    Option<i64>,
    #[serde(borrow)] Vec<EntryRow<'a>>,
    Vec<(String, u64)>,
);

/// The rest of a list's row, until its definition is at hand.
pub(crate) struct ListedRest<'a> {
    /// Whether the list goes on after it.
    pub(crate) more: bool,
    parts: Parts<'a>,
    rows: Vec<(String, u64)>,
}

/// One row of a list: its entity, its revision in force, and that revision's hash.
pub(crate) fn listed_row<'a>(
    tenant: &TenantId,
    machine_id: &MachineId,
    row: &'a str,
) -> Result<(EntityName, Revision, String, ListedRest<'a>), Error> {
    let row: ListRow<'a> = serde_json::from_str(row).map_err(|error| undecodable(&error))?;
    let ListRow(
        more,
        id,
        revision,
        hash,
        context,
        uid,
        stored,
        version,
        next_seq,
        created,
        updated,
        entries,
        rows,
    ) = row;
    let entity_id = EntityId::new(&id).map_err(|error| Error::Corrupt {
        what: format!("an entity of machine `{machine_id}`"),
        problem: format!("its id is none: {error}"),
    })?;
    let name = EntityName {
        tenant: tenant.clone(),
        machine_id: machine_id.clone(),
        entity_id,
    };
    let parts = Parts {
        uid,
        stored,
        version,
        next_seq,
        context,
        created,
        updated,
        entries,
    };
    Ok((
        name,
        Revision(revision),
        hash.into_owned(),
        ListedRest {
            more: more == 1,
            parts,
            rows,
        },
    ))
}

/// The entity of a list's row, and the history rows that started its entries.
pub(crate) fn stored_of_list(
    name: &EntityName,
    compiled: &Compiled,
    revision: Revision,
    rest: ListedRest<'_>,
) -> Result<(Stored, BTreeMap<String, u64>), Error> {
    let stored = rest.parts.restore(name, compiled, revision)?;
    let stored = stored.ok_or_else(|| corrupt(name, "a column is null".to_owned()))?;
    Ok((stored, rest.rows.into_iter().collect()))
}

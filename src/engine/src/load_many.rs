//! What many events need, read set-wise in one batch: entities, what they remember, and their definitions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use statewright_core::ids::Revision;

use crate::cache::{DefinitionCache, Known};
use crate::database::Statement;
use crate::error::Error;
use crate::load::{EntityName, Loaded, Seen, decode, read_params, revision_joins, rows_of, text};
use crate::stored::{Columns, corrupt, stored_columns};

/// How many bytes of contexts and remembered params one set-wise read brings.
const MOST_LOADED_BYTES: i64 = 16 * 1024 * 1024;

/// Many entities: a JSON array of [tenant, machine, entity]. What is beyond the budget comes with a null context; it is
/// weighed before any of it is read.
pub(crate) const LOAD_MANY: &str = concat!(
    "SELECT json_array(l.key, l.revision, l.content_hash, CASE WHEN l.before < ?2 THEN coalesce(e.context, '') END, ",
    stored_columns!(),
    ") AS j FROM (SELECT key, tenant, machine_id, entity_id, revision, content_hash, \
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
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id) AS j \
     FROM json_each(?1) t CROSS JOIN json_each(t.value, '$[3]') k \
     CROSS JOIN entities e ON e.tenant = t.value->>0 AND e.machine_id = t.value->>1 AND e.entity_id = t.value->>2 \
     CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = k.value";

/// The definitions that many entities run by: the same targets, a JSON array of known definitions, and a budget as
/// above: those beyond it do not come.
pub(crate) const DEFINITIONS: &str = concat!(
    "SELECT json_array(x.tenant, x.machine_id, x.content_hash, x.definition) AS j \
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

#[derive(Deserialize)]
struct ManyRow<'a>(
    usize,
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Columns<'a>,
);

/// One entity of a set-wise read.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) name: EntityName,
    /// The identities to look up.
    pub(crate) keys: Vec<String>,
}

/// The statements that load many entities, for [`loaded_many`], and the definitions that they do not ask for.
///
/// Definitions are asked for where one of the machines has none at hand, or where `definitions` says that a read before
/// met one that was not.
pub(crate) fn load_many(
    targets: &[Target],
    cache: &DefinitionCache,
    definitions: bool,
) -> (Vec<Statement>, Known) {
    let names: Vec<_> = targets.iter().map(|target| target.name.texts()).collect();
    let names = text(&names);
    let keyed: Vec<_> = targets
        .iter()
        .map(|Target { name, keys }| {
            let (tenant, machine_id, entity_id) = name.texts();
            (tenant, machine_id, entity_id, keys)
        })
        .collect();
    let mut known = Known::default();
    let mut definitions = definitions;
    let machines: BTreeSet<_> = targets
        .iter()
        .map(|target| (target.name.tenant.as_str(), target.name.machine_id.as_str()))
        .collect();
    for (tenant, machine_id) in machines {
        let at_hand = cache.known(tenant, machine_id);
        definitions |= at_hand.is_empty();
        known.extend(at_hand);
    }
    let budget = || MOST_LOADED_BYTES.into();
    let mut statements = vec![
        Statement::new(LOAD_MANY, [names.clone(), budget()]),
        Statement::new(SEEN_MANY, [text(&keyed), budget()]),
    ];
    if definitions {
        statements.push(Statement::new(
            DEFINITIONS,
            [names, known.hashes().into(), budget()],
        ));
    }
    (statements, known)
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
    mut known: Known,
) -> Result<Vec<Found>, Error> {
    let mut broken: BTreeMap<String, Error> = BTreeMap::new();
    for row in rows_of(results, 2) {
        let (tenant, machine_id, hash, text): (String, String, String, String) = decode(row)?;
        match cache.compile(&tenant, &machine_id, &hash, &text) {
            Ok(compiled) => known.extend([compiled]),
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
        let ManyRow(place, revision, hash, context, columns) = row;
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
        let compiled = match (known.get(&hash), broken.get(&*hash)) {
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
        *slot = match columns.restore(Some(context), &name, &compiled, Revision(revision)) {
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

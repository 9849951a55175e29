//! Entities: made, read, listed, deleted, explained (S2.236 to S2.242).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use statewright_core::entity::EntityIx;
use statewright_core::explain::{Explanation, PossibleEvent, events};
use statewright_core::ids::{MachineId, Revision, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{EntityName, Loaded, Stored, decode, load_one, loaded_one, rows_of, stored_of_list};
use crate::page::{MAX_BYTES, Page, Paging, cut};
use crate::request::{self, CreateEntity, EventRequest, Fields};
use crate::retry::Tries;
use crate::store::{held, store_held, store_one};
use crate::views::EntityView;

/// The history rows that started an entity's entries, by region.
pub(crate) const ENTRY_ROWS: &str = "SELECT json_array(n.region, h.id) FROM entities e \
     CROSS JOIN entries n ON n.uid = e.uid CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = n.key \
     WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3";

macro_rules! listed {
    ($order:literal, $from:literal) => {
        concat!(
            "SELECT json_array(l.more, l.entity_id, r.effective, d.content_hash, e.context, e.uid, e.revision, \
               e.state_version, e.next_seq, e.created_at, e.updated_at, \
               json((SELECT json_group_array(json_array(n.region, n.state, n.seq, n.entered_at, n.key, n.revision, \
                 n.due_at, n.parked)) FROM entries n WHERE n.uid = e.uid)), \
               json((SELECT json_group_array(json_array(n.region, h.id)) FROM entries n \
                 CROSS JOIN history h ON h.uid = n.uid AND h.identity_key = n.key WHERE n.uid = e.uid))) \
             FROM (SELECT entity_id, row_number() OVER (ORDER BY ",
            $order,
            ") AS place, lead(1, 1, 0) OVER (ORDER BY ",
            $order,
            ") AS more, sum(bytes) OVER (ORDER BY ",
            $order,
            " ROWS UNBOUNDED PRECEDING) - bytes AS before \
               FROM (SELECT q.entity_id, q.updated_at, octet_length(q.context) + 200 \
                 + 200 * (SELECT count(*) FROM entries c WHERE c.uid = q.uid) AS bytes ",
            $from,
            " LIMIT ?3)) l \
             CROSS JOIN entities e ON e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = l.entity_id \
             CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision \
             CROSS JOIN revisions d ON d.tenant = ?1 AND d.machine_id = ?2 AND d.revision = r.effective \
             WHERE l.before < ?4 ORDER BY l.place"
        )
    };
}

/// Entities by id, from ?5 and below ?6: one bound below, so that a later page does not pass over the earlier ones.
pub(crate) const LIST_BY_ID: &str = listed!(
    "entity_id",
    "FROM entities q \
     WHERE q.tenant = ?1 AND q.machine_id = ?2 AND q.entity_id >= ?5 AND q.entity_id < ?6 ORDER BY q.entity_id"
);

/// Entities by update, after (?7, ?8): as by id besides.
pub(crate) const LIST_BY_UPDATE: &str = listed!(
    "updated_at, entity_id",
    "FROM entities q \
     WHERE q.tenant = ?1 AND q.machine_id = ?2 AND (q.updated_at, q.entity_id) > (?7, ?8) \
       AND q.entity_id >= ?5 AND q.entity_id < ?6 \
     ORDER BY q.updated_at, q.entity_id"
);

/// Entities by the state of a region: as by id, region ?7, state ?8, not updated before ?9.
pub(crate) const LIST_BY_STATE: &str = listed!(
    "entity_id",
    "FROM entries s \
     CROSS JOIN entities q ON q.tenant = ?1 AND q.machine_id = ?2 AND q.entity_id = s.entity_id AND q.uid = s.uid \
     WHERE s.tenant = ?1 AND s.machine_id = ?2 AND s.region = ?7 AND s.state = ?8 \
       AND s.entity_id >= ?5 AND s.entity_id < ?6 AND q.updated_at >= ?9 \
     ORDER BY s.entity_id"
);

/// Before any time that a row holds.
const LEAST_TIME: i64 = -(1 << 53);

/// Deletes an entity of an incarnation with all that belongs to it (S2.242).
pub(crate) const DELETE: [&str; 3] = [
    "DELETE FROM entries WHERE uid = ?1",
    "DELETE FROM history WHERE uid = ?1",
    "DELETE FROM entities WHERE tenant = ?2 AND machine_id = ?3 AND entity_id = ?4 AND uid = ?1",
];

/// What a caller asks of the list of entities (S2.238 to S2.240).
#[derive(Debug, Clone, Default)]
pub struct EntityQuery {
    /// Only entities in this state; on a parallel machine of that `region`.
    pub state: Option<String>,
    /// The region of `state`, matched literally.
    pub region: Option<String>,
    /// Only entities updated at this time or later, in milliseconds since the epoch.
    pub updated_since: Option<String>,
    /// Only entities whose id starts with this.
    pub prefix: Option<String>,
    /// Which page.
    pub paging: Paging,
}

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// Makes an entity in its initial state (S2.236).
    ///
    /// # Errors
    /// The request is invalid, there is no such machine, or there is such an entity.
    pub async fn create_entity(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        body: &[u8],
    ) -> Result<EntityView, Error> {
        let machine_id = request::machine_id(machine_id)?;
        let CreateEntity { entity_id, context } = CreateEntity::read(body)?;
        let name = EntityName {
            tenant: tenant.clone(),
            machine_id,
            entity_id,
        };
        let mut tries = Tries::begin(&self.clock);
        // Incarnations that earlier tries may have made.
        let mut made: Vec<String> = Vec::new();
        loop {
            let loaded = match self.load(&name, &[]).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(stored) = &loaded.stored {
                if made.contains(&stored.uid) {
                    return Ok(EntityView::new(&name, loaded.revision, stored, &BTreeMap::new()));
                }
                return Err(Error::EntityExists {
                    machine: name.machine_id.to_string(),
                    entity: name.entity_id.to_string(),
                });
            }
            let revision = loaded.revision;
            let mut deciding = Deciding::new(loaded, self.clock.now(), &self.random);
            deciding.make(context.clone());
            // A made entity always has rows to write.
            let (Some(write), Some(tree)) = (deciding.write_made(), deciding.tree()) else {
                return Err(deciding.missing());
            };
            match self
                .database
                .batch(store_one(&write, &random_name(&self.random)))
                .await
            {
                Ok(_) => {
                    let stored = Stored {
                        uid: deciding.uid().to_owned(),
                        version: tree.root().version(),
                        created_at: deciding.now(),
                        context_bytes: 0,
                        tree: tree.clone(),
                    };
                    return Ok(EntityView::new(&name, revision, &stored, &BTreeMap::new()));
                }
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        made.push(deciding.uid().to_owned());
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// Reads an entity (S2.241).
    ///
    /// # Errors
    /// There is no such machine or entity, or its rows cannot be read.
    pub async fn get_entity(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<EntityView, Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let ids = [
            &name.tenant.shared(),
            &name.machine_id.shared(),
            &name.entity_id.shared(),
        ];
        let rows = Statement::new(ENTRY_ROWS, ids.map(|id| Param::from(&**id)));
        let results = self.read(vec![load_one(&name, &[], &self.cache), rows]).await?;
        let loaded = loaded_one(name.clone(), rows_of(&results, 0), &self.cache)?
            .ok_or_else(|| Error::NoMachine(machine_id.to_owned()))?;
        let stored = loaded.stored.as_ref().ok_or_else(|| missing(&name))?;
        let rows = rows_of(&results, 1)
            .iter()
            .map(|row| decode(row))
            .collect::<Result<_, _>>()?;
        Ok(EntityView::new(&name, loaded.revision, stored, &rows))
    }

    /// Lists the entities of a machine, by id, or by update where `updated_since` alone is asked for.
    ///
    /// # Errors
    /// The query is invalid, or there is no such machine.
    pub async fn list_entities(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        query: &EntityQuery,
    ) -> Result<Page<EntityView>, Error> {
        let machine = request::machine_id(machine_id)?;
        for (name, filter) in [
            ("state", &query.state),
            ("region", &query.region),
            ("prefix", &query.prefix),
        ] {
            plain(name, filter.as_deref().unwrap_or_default())?;
        }
        let head = self.head(tenant, &machine).await?;
        let rows = query.paging.rows()?;
        let prefix = query.prefix.as_deref().unwrap_or_default();
        let since = updated_since(query)?;
        let state = match (&query.region, &query.state, head.machine.is_parallel()) {
            (Some(_), None, _) => {
                return Err(Error::invalid(
                    "state",
                    "it is missing beside `region`",
                    "the state of that region",
                ));
            }
            (None, Some(_), true) => {
                return Err(Error::invalid(
                    "region",
                    "it is missing: the machine is parallel",
                    "the region of `state`",
                ));
            }
            (region, Some(state), _) => Some((region.as_deref().unwrap_or("_"), state.as_str())),
            (None, None, _) => None,
        };
        let by_update = state.is_none() && since.is_some();
        let (after_update, after_id) = if by_update {
            let since = since.unwrap_or(LEAST_TIME);
            // No id is empty: this is before all that were updated then.
            let first = (since, String::new());
            query
                .paging
                .after()?
                .map_or(first.clone(), |after| first.max(after))
        } else {
            (LEAST_TIME, query.paging.after::<String>()?.unwrap_or_default())
        };
        plain("cursor", &after_id)?;
        // The least text after an id, since no id holds a control character.
        let from = match after_id.as_str() {
            after if !by_update && !after.is_empty() => prefix.to_owned().max(format!("{after}\u{1}")),
            _ => prefix.to_owned(),
        };
        let mut params: Vec<Param> = vec![
            tenant.as_str().into(),
            machine.as_str().into(),
            i64::from(rows).saturating_add(1).into(),
            MAX_BYTES.into(),
            from.into(),
            after_prefix(prefix).into(),
        ];
        let sql = match (state, since) {
            (Some((region, state)), since) => {
                params.extend([region.into(), state.into(), since.unwrap_or(LEAST_TIME).into()]);
                LIST_BY_STATE
            }
            (None, Some(_)) => {
                params.extend([after_update.into(), after_id.into()]);
                LIST_BY_UPDATE
            }
            (None, None) => LIST_BY_ID,
        };
        let listed = self.read(vec![Statement { sql, params }]).await?;
        let listed = rows_of(&listed, 0);
        let mut views = Vec::with_capacity(listed.len());
        let mut more = false;
        for row in listed {
            let view;
            (more, view) = self.listed(tenant, &machine, row).await?;
            views.push(view);
        }
        Ok(cut(views, rows, more, |view| list_key(by_update, view)))
    }

    async fn listed(
        &self,
        tenant: &TenantId,
        machine: &MachineId,
        row: &str,
    ) -> Result<(bool, EntityView), Error> {
        let (name, revision, hash, rest) = crate::load::listed_row(tenant, machine, row)?;
        let compiled = match self.cache.get(&hash) {
            Some(compiled) => compiled,
            None => self.definition(tenant, machine, revision).await?,
        };
        let more = rest.more;
        let (stored, rows) = stored_of_list(&name, &compiled, revision, rest)?;
        Ok((more, EntityView::new(&name, revision, &stored, &rows)))
    }

    /// Deletes an entity with its entries and its history (S2.242).
    ///
    /// # Errors
    /// There is no such machine or entity.
    pub async fn delete_entity(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<(), Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let mut tries = Tries::begin(&self.clock);
        // The incarnation that an earlier try of unknown end was to delete.
        let mut tried: Option<String> = None;
        loop {
            let found = match self.incarnation(&name).await {
                Ok(found) => found,
                // The machine can only go after its entities.
                Err(Error::NoMachine(_)) if tries.is_uncertain() => return Ok(()),
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let Some(uid) = found else {
                // Gone after a delete whose answer was lost: it was this request's doing, or came to the same.
                return if tries.is_uncertain() {
                    Ok(())
                } else {
                    Err(missing(&name))
                };
            };
            if tried.is_some_and(|tried| tried != uid) {
                // Deleted, and made again since: that one is not this request's to delete (R17).
                return Ok(());
            }
            let [entries, history, entity] = DELETE;
            let batch = vec![
                Statement::new(entries, [uid.clone().into()]),
                Statement::new(history, [uid.clone().into()]),
                Statement::new(
                    entity,
                    [
                        uid.clone().into(),
                        name.tenant.as_str().into(),
                        name.machine_id.as_str().into(),
                        name.entity_id.as_str().into(),
                    ],
                ),
            ];
            tried = Some(uid);
            match self.database.batch(batch).await {
                Ok(_) => return Ok(()),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    /// The incarnation of an entity, whether or not its rows can be read: a corrupt one can be deleted.
    async fn incarnation(&self, name: &EntityName) -> Result<Option<String>, Error> {
        let statement = Statement::new(
            INCARNATION,
            [
                name.tenant.as_str().into(),
                name.machine_id.as_str().into(),
                name.entity_id.as_str().into(),
            ],
        );
        let results = self.read(vec![statement]).await?;
        let Some(row) = rows_of(&results, 0).first() else {
            return Err(Error::NoMachine(name.machine_id.to_string()));
        };
        let (uid,): (Option<String>,) = decode(row)?;
        Ok(uid)
    }

    /// Why an event would or would not move an entity now.
    ///
    /// # Errors
    /// The request is invalid, or there is no such machine or entity.
    pub async fn explain(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
        body: &[u8],
    ) -> Result<Explanation, Error> {
        let object = request::object(body)?;
        let name = entity_name(tenant, machine_id, entity_id)?;
        let event = EventRequest::transition(
            name.entity_id.clone(),
            Fields {
                path: "$",
                object: &object,
            },
        )?;
        let loaded = self.load(&name, &[]).await?;
        Deciding::new(loaded, self.clock.now(), &self.random).explain(&event.event)
    }

    /// The events that an entity can take now.
    ///
    /// # Errors
    /// There is no such machine or entity.
    pub async fn events(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<Vec<PossibleEvent>, Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let loaded = self.load(&name, &[]).await?;
        let mut deciding = Deciding::new(loaded, self.clock.now(), &self.random);
        deciding.catch_up()?;
        let tree = deciding.tree().ok_or_else(|| missing(&name))?;
        Ok(events(tree, EntityIx::ROOT))
    }

    /// Frees the parked timers of an entity (M6). Says how many there were.
    ///
    /// # Errors
    /// There is no such machine or entity.
    pub async fn release_timers(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<usize, Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let mut tries = Tries::begin(&self.clock);
        // How many an earlier try of unknown end was to free.
        let mut tried = 0_usize;
        loop {
            let loaded: Loaded = match self.load(&name, &[]).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let mut deciding = Deciding::new(loaded, self.clock.now(), &self.random);
            let Some(tree) = deciding.tree_mut() else {
                return Err(missing(&name));
            };
            let released = tree.entity_mut(EntityIx::ROOT).release_timers();
            if released == 0 {
                return Ok(tried);
            }
            deciding.touch_timers();
            let Some(write) = deciding.write() else {
                return Ok(0);
            };
            // Set-wise: nothing else in the batch would abort it where the entity has moved.
            let batch = store_held(&[write], &random_name(&self.random));
            let error = match self.database.batch(batch).await {
                Ok(results) if held(&results)?.is_empty() => {
                    DatabaseError::Constraint("the entity moved".to_owned())
                }
                Ok(_) => return Ok(released),
                Err(error) => {
                    tried = released;
                    error
                }
            };
            tries.again(error, &self.clock, &self.random).await?;
        }
    }
}

/// A machine and the incarnation of an entity.
pub(crate) const INCARNATION: &str = "SELECT json_array(e.uid) FROM machines m \
     LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = ?3 \
     WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0";

fn missing(name: &EntityName) -> Error {
    Error::NoEntity {
        machine: name.machine_id.to_string(),
        entity: name.entity_id.to_string(),
    }
}

fn list_key(by_update: bool, view: &EntityView) -> serde_json::Value {
    if by_update {
        json!([view.updated_at, view.entity_id])
    } else {
        json!(view.entity_id)
    }
}

/// A filter's text: no name holds a control character, and a database may cut a text at NUL.
pub(crate) fn plain(name: &str, text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::invalid(
            name,
            "it holds a control character",
            "a text without control characters",
        ));
    }
    Ok(())
}

fn updated_since(query: &EntityQuery) -> Result<Option<i64>, Error> {
    let Some(text) = &query.updated_since else {
        return Ok(None);
    };
    match text.parse() {
        Ok(since) if (-(1_i64 << 53)..=1 << 53).contains(&since) => Ok(Some(since)),
        _ => Err(Error::invalid(
            "updated_since",
            "it is no time",
            "milliseconds since the epoch, an integer",
        )),
    }
}

/// The least text after all that start with a prefix.
fn after_prefix(prefix: &str) -> Cow<'static, str> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The next character; past the surrogates, which are none.
        let next = if last == '\u{d7ff}' {
            Some('\u{e000}')
        } else {
            char::from_u32(u32::from(last).saturating_add(1))
        };
        if let Some(next) = next {
            chars.push(next);
            return chars.into_iter().collect::<String>().into();
        }
    }
    // No id is longer than 256 bytes, so none reaches this.
    Cow::Owned("\u{10ffff}".repeat(65))
}

impl From<Cow<'static, str>> for Param {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text.into_owned())
    }
}

/// The compiled head of a machine.
impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    pub(crate) async fn definition(
        &self,
        tenant: &TenantId,
        machine: &MachineId,
        revision: Revision,
    ) -> Result<Arc<crate::cache::Compiled>, Error> {
        let stored = self.stored_revision(tenant, machine, Some(revision)).await?;
        self.cache.compile(
            tenant.as_str(),
            machine.as_str(),
            &stored.content_hash,
            stored.definition.get(),
        )
    }

    pub(crate) async fn head(
        &self,
        tenant: &TenantId,
        machine: &MachineId,
    ) -> Result<Arc<crate::cache::Compiled>, Error> {
        let stored = self.stored_revision(tenant, machine, None).await?;
        self.cache.compile(
            tenant.as_str(),
            machine.as_str(),
            &stored.content_hash,
            stored.definition.get(),
        )
    }
}

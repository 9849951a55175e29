//! Entities: made, read, listed, deleted, explained (S2.236 to S2.242).

use std::collections::BTreeMap;

use statewright_core::entity::EntityIx;
use statewright_core::explain::{Explanation, PossibleEvent, events};
use statewright_core::ids::TenantId;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{EntityName, Loaded, decode, load_one, loaded_one, rows_of};
use crate::request::{self, CreateEntity, EventRequest, Fields};
use crate::retry::Tries;
use crate::store::{held, store_held, store_one};
use crate::stored::Stored;
use crate::views::EntityView;

/// The history rows that started an entity's entries, by region.
pub(crate) const ENTRY_ROWS: &str = "SELECT json_array(n.region, h.id) FROM entities e \
     CROSS JOIN entries n ON n.uid = e.uid CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = n.key \
     WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3";

/// Deletes an entity of an incarnation with all that belongs to it (S2.242).
pub(crate) const DELETE: [&str; 3] = [
    "DELETE FROM entries WHERE uid = ?1",
    "DELETE FROM history WHERE uid = ?1",
    "DELETE FROM entities WHERE tenant = ?2 AND machine_id = ?3 AND entity_id = ?4 AND uid = ?1",
];

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
        let (load, known) = load_one(&name, &[], &self.cache);
        let results = self.read(vec![load, rows]).await?;
        let loaded = loaded_one(name.clone(), rows_of(&results, 0), &self.cache, &known)?
            .ok_or_else(|| Error::NoMachine(machine_id.to_owned()))?;
        let stored = loaded.stored.as_ref().ok_or_else(|| missing(&name))?;
        let rows = rows_of(&results, 1)
            .iter()
            .map(|row| decode(row))
            .collect::<Result<_, _>>()?;
        Ok(EntityView::new(&name, loaded.revision, stored, &rows))
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

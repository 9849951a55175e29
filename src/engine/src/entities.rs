//! Entities: made, read, listed, deleted, explained (S2.236 to S2.242).

use statewright_core::entity::Made;
use statewright_core::error::Error as Core;
use statewright_core::explain::{Explanation, PossibleEvent};
use statewright_core::ids::{Millis, Revision, TenantId};
use statewright_core::sorted::{Gather, SortedMap};
use statewright_core::tree::EntityIx;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{EntityName, decode, load_one, loaded_one, rows_of};
use crate::once::Receipt;
use crate::outbound::Outbound;
use crate::outbox::ids::EffectIds;
use crate::request::{self, CreateEntity, EventRequest, Fields};
use crate::retry::Tries;
use crate::store::{store_held, store_one};
use crate::stored::Stored;
use crate::trees::{Family, Target};
use crate::views::EntityView;

/// The history rows that started an entity's entries, by region.
pub(crate) const ENTRY_ROWS: &str = "SELECT json_array(n.region, h.id) FROM entities e \
     CROSS JOIN entries n ON n.uid = e.uid CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = n.key \
     WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3";

/// Aborts unless so many trees ?2 of a set-wise commit ?1 hold.
pub(crate) const ALL_HELD: &str = "INSERT INTO violations (violated) SELECT 'tree' WHERE coalesce(( \
       SELECT json_array_length(trees) FROM held WHERE commit_id = ?1), 0) < ?2";

/// The incarnation ?1 and all that hangs below it: `below`.
macro_rules! below {
    () => {
        "WITH RECURSIVE top (root_uid) AS ( \
           SELECT coalesce((SELECT i.root_uid FROM instances i WHERE i.uid = ?1), ?1)), \
         below (uid) AS (SELECT ?1 UNION ALL SELECT x.uid FROM below b CROSS JOIN top t \
           CROSS JOIN instances x ON x.root_uid = t.root_uid AND x.current IN (0, 1) AND x.parent_uid = b.uid)"
    };
}

/// Deletes an entity of an incarnation with its whole subtree and all that belongs to it (S2.242, M10); aborts where it
/// is a managed child that its parent needs (R9a).
pub(crate) const DELETE: [&str; 10] = [
    "INSERT INTO violations (violated) SELECT 'instance' FROM instances WHERE uid = ?1 AND kind = 'managed' \
       AND (status = 'active' OR cancelled_with <> uid)",
    // Where it was the latest child of its parent's state, the one before it is again.
    "UPDATE instances SET current = 1 WHERE uid = (SELECT x.uid FROM instances i CROSS JOIN instances x \
       ON x.root_uid = i.root_uid AND x.current = 0 AND x.parent_uid = i.parent_uid AND x.state = i.state \
         AND x.region = i.region \
       WHERE i.uid = ?1 AND i.current = 1 ORDER BY x.seq DESC LIMIT 1)",
    concat!(
        below!(),
        " DELETE FROM entities WHERE rowid IN (SELECT e.rowid FROM below b CROSS JOIN instances i ON i.uid = b.uid \
       CROSS JOIN entities e ON e.tenant = i.tenant AND e.machine_id = i.machine_id AND e.entity_id = i.entity_id \
         AND e.uid = i.uid)"
    ),
    "DELETE FROM entities WHERE tenant = ?2 AND machine_id = ?3 AND entity_id = ?4 AND uid = ?1",
    concat!(
        below!(),
        " DELETE FROM entries WHERE uid IN (SELECT uid FROM below)"
    ),
    concat!(
        below!(),
        " DELETE FROM history WHERE uid IN (SELECT uid FROM below)"
    ),
    // What became of requests for it (R17). Pending effects stay.
    concat!(
        below!(),
        " DELETE FROM inbox WHERE uid IN (SELECT uid FROM below)"
    ),
    concat!(
        below!(),
        " DELETE FROM forwards WHERE uid IN (SELECT uid FROM below)"
    ),
    concat!(
        below!(),
        ", up (uid) AS (SELECT parent_uid FROM instances WHERE uid = ?1 \
           UNION ALL SELECT i.parent_uid FROM up CROSS JOIN instances i ON i.uid = up.uid) \
         DELETE FROM forwards WHERE uid IN (SELECT uid FROM up) AND to_uid IN (SELECT uid FROM below)"
    ),
    concat!(
        below!(),
        " DELETE FROM instances WHERE uid IN (SELECT uid FROM below)"
    ),
];

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
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
        let mut target = Target::new(name.clone());
        // Incarnations that earlier tries may have made.
        let mut made: Vec<String> = Vec::new();
        loop {
            let loaded = match self.load(&target).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if loaded.exists() {
                // An earlier try of this request was applied after all.
                if let Some(family) = &loaded.family
                    && let Some(place) = family.members.iter().position(|one| made.contains(&one.uid))
                {
                    return Ok(made_view(&name, family, EntityIx::at(place)));
                }
                return Err(Error::Core(Core::EntityExists {
                    machine: name.machine_id.to_string(),
                    entity: name.entity_id.to_string(),
                }));
            }
            let revision = loaded.head.revision;
            let now = self.clock.now();
            let commit_id = random_name(&self.random);
            let ids = EffectIds::new(now, &commit_id);
            let making = self.making(&ids, &self.scope.origin);
            let mut deciding = Deciding::new(loaded, now, &making);
            deciding.make(context.clone())?;
            // A made entity always has rows to write.
            let (Some(write), Some(tree)) = (deciding.write(), deciding.tree()) else {
                return Err(missing(&name));
            };
            // A child that is final at its start has moved its parent on by rows that have numbers (M7).
            let numbered = tree.root().entries().any(|(_, entry)| entry.key.is_some());
            let mut storing = store_one(&write, &commit_id, numbered, &self.lease(now));
            let uids = deciding.uids();
            let uid = uids.first().map(String::as_str).unwrap_or_default();
            let view = |rows: &SortedMap<String, u64>| {
                let stored = Stored {
                    uid: uid.to_owned(),
                    created_at: now,
                    context_bytes: 0,
                    entity: tree.root().clone(),
                };
                EntityView::new(&name, revision, &stored, rows, None)
            };
            let kept = || {
                let machine = tree.root().machine();
                let made = tree.root().entries().filter_map(|(region, entry)| {
                    Some((
                        machine.region(region).id.to_string(),
                        entry.key.as_ref()?.to_string(),
                    ))
                });
                let made: Vec<(String, String)> = made.collect();
                let answer = view(&made.iter().map(|(region, _)| (region.clone(), 0)).gather());
                let numbers = made.into_iter().map(|(region, key)| {
                    let region = region.replace('~', "~0").replace('/', "~1");
                    (format!("/region_entries/{region}/row"), uid.to_owned(), key)
                });
                Receipt {
                    numbers: numbers.collect(),
                    answer: serde_json::to_string(&answer).ok(),
                    outcome: "applied",
                    uid: Some(uid.to_owned()),
                    commit_id: Some(commit_id.clone()),
                    status: None,
                }
            };
            match self.write_in(&self.scope, storing.take(), &kept).await {
                Ok(results) => {
                    self.claimed.borrow_mut().extend(storing.claims(&results));
                    let numbers = storing.numbers(&results).unwrap_or_default();
                    let machine = tree.root().machine();
                    let rows = tree.root().entries().filter_map(|(region, entry)| {
                        let row = numbers.of(uid, &entry.key.as_ref()?.to_string())?;
                        Some((machine.region(region).id.to_string(), row))
                    });
                    return Ok(view(&rows.gather()));
                }
                Err(error) => {
                    target.want(deciding.children_made());
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        made.extend(deciding.uids().into_iter().next());
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
            .ok_or_else(|| Error::Core(Core::NoMachine(machine_id.to_owned())))?;
        let stored = loaded.stored.as_ref().ok_or_else(|| missing(&name))?;
        let mut rows = SortedMap::new();
        for row in rows_of(&results, 1) {
            let (region, row): (String, u64) = decode(row)?;
            rows.insert(region, row);
        }
        Ok(EntityView::new(
            &name,
            loaded.revision,
            stored,
            &rows,
            loaded.instance.as_ref(),
        ))
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
                Err(Error::Core(Core::NoMachine(_))) if tries.is_uncertain() => return Ok(()),
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let Some((uid, needed)) = found else {
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
            if needed {
                return Err(Error::Core(Core::InstanceActive {
                    entity: name.entity_id.to_string(),
                }));
            }
            let statement = |sql: &'static str| {
                let mut params: Vec<Param> = vec![uid.as_str().into()];
                if sql.contains("?2") {
                    params.extend([
                        name.tenant.as_str().into(),
                        name.machine_id.as_str().into(),
                        name.entity_id.as_str().into(),
                    ]);
                }
                Statement { sql, params }
            };
            let batch = DELETE.map(statement).into();
            tried = Some(uid);
            let deleted = || Receipt {
                outcome: "applied",
                ..Receipt::default()
            };
            match self.write_in(&self.scope, batch, &deleted).await {
                Ok(_) => return Ok(()),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    /// The incarnation of an entity, whether or not its rows can be read: a corrupt one can be deleted. And whether it is a
    /// managed child that its parent needs.
    async fn incarnation(&self, name: &EntityName) -> Result<Option<(String, bool)>, Error> {
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
            return Err(Error::Core(Core::NoMachine(name.machine_id.to_string())));
        };
        let (uid, active): (Option<String>, u8) = decode(row)?;
        Ok(uid.map(|uid| (uid, active == 1)))
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
        let target = Target::new(name.clone());
        let loaded = self.load(&target).await?;
        let ids = EffectIds::new(Millis(0), "");
        let making = self.making(&ids, &self.scope.origin);
        let mut deciding = Deciding::new(loaded, self.clock.now(), &making);
        let made = deciding.would_make(&name, &event);
        if !made.is_empty() {
            let loaded = self.load_to_look(&target, made).await?;
            deciding = deciding.again(loaded, self.clock.now());
        }
        deciding.explain(&name, &event)
    }

    /// The events that an entity, and what lives below it, can take now.
    ///
    /// # Errors
    /// There is no such machine or entity, or it has ended.
    pub async fn events(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<Vec<PossibleEvent>, Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let target = Target::new(name.clone());
        let mut loaded = self.load(&target).await?;
        let unmade = loaded.unmade();
        if !unmade.is_empty() {
            loaded = self.load_to_look(&target, unmade).await?;
        }
        let ids = EffectIds::new(Millis(0), "");
        let making = self.making(&ids, &self.scope.origin);
        Deciding::new(loaded, self.clock.now(), &making).events(&name)
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
            let loaded = match self.load(&Target::new(name.clone())).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let now = self.clock.now();
            let commit_id = random_name(&self.random);
            let ids = EffectIds::new(now, &commit_id);
            let making = self.making(&ids, &self.scope.origin);
            let mut deciding = Deciding::new(loaded, now, &making);
            let Some(entity) = deciding.existing(&name)? else {
                return Ok(tried);
            };
            let released = deciding.release_timers(entity);
            if released == 0 {
                return Ok(tried);
            }
            let Some(write) = deciding.write() else {
                return Ok(0);
            };
            // Set-wise: nothing else in the batch would abort it where the entity has moved.
            let mut storing = store_held(&[write], &commit_id, false, &self.lease(now));
            let mut batch = storing.take();
            // A receipt says that they are free: so the batch is to end where they are not.
            batch.insert(1, Statement::new(ALL_HELD, [commit_id.as_str().into(), 1.into()]));
            let kept = || Receipt {
                answer: Some(serde_json::json!({ "released": released }).to_string()),
                outcome: "applied",
                uid: deciding.uids().into_iter().next(),
                ..Receipt::default()
            };
            let error = match self.write_in(&self.scope, batch, &kept).await {
                Ok(_) => return Ok(released),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = released;
                    }
                    error
                }
            };
            tries.again(error, &self.clock, &self.random).await?;
        }
    }
}

/// A machine and the incarnation of an entity, and whether that is a managed child that lives, or that will wake with its
/// parent: without it that one would be stranded (R9a).
pub(crate) const INCARNATION: &str = "SELECT json_array(e.uid, coalesce(i.kind = 'managed' \
       AND (i.status = 'active' OR i.cancelled_with <> i.uid), 0)) \
     FROM machines m \
     LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = ?3 \
     LEFT JOIN instances i ON i.uid = e.uid \
     WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0";

/// How an entity that was made is shown; it may have been adopted since.
fn made_view(name: &EntityName, family: &Family, made: EntityIx) -> EntityView {
    let entity = family.tree.entity(made);
    let member = family.members.get(made.place());
    let rows = entity.entries().filter_map(|(region, entry)| match entry.made {
        Made::Stored(row) if row > 0 => Some((entity.machine().region(region).id.to_string(), row)),
        _ => None,
    });
    let stored = Stored {
        uid: member.map(|member| member.uid.clone()).unwrap_or_default(),
        created_at: member.map_or_else(|| entity.updated_at(), |member| member.created_at),
        context_bytes: 0,
        entity: entity.clone(),
    };
    let revision = member.map_or(Revision(0), |member| member.revision);
    EntityView::new(name, revision, &stored, &rows.gather(), None)
}

fn missing(name: &EntityName) -> Error {
    Error::Core(Core::NoEntity {
        machine: name.machine_id.to_string(),
        entity: name.entity_id.to_string(),
    })
}

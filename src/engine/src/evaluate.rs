//! One event for one entity: `evaluate` and `/transition` (S2.243, S2.246).

use statewright_core::answer::Answer;
use statewright_core::ids::TenantId;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::load::{EntityName, Loaded, load_one, loaded_one, rows_of};
use crate::request::{self, EventRequest, Fields};
use crate::retry::Tries;
use crate::store::store_one;

/// A write whose end is unknown, and the answer that it gives if it was applied.
struct Attempt {
    commit_id: String,
    key: Option<String>,
    answer: Answer,
}

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// One event, which makes its entity where that is missing (S2.243).
    ///
    /// # Errors
    /// The request is invalid, there is no such machine, or the event is refused; nothing was written then but the
    /// timeouts that were due.
    pub async fn evaluate(
        &self,
        tenant: Option<&TenantId>,
        machine_id: &str,
        body: &[u8],
    ) -> Result<Answer, Error> {
        let object = request::object(body)?;
        let fields = Fields {
            path: "$",
            object: &object,
        };
        let tenant = request::tenant(tenant, fields)?;
        let machine_id = request::machine_id(machine_id)?;
        let event = EventRequest::evaluate(fields)?;
        let name = EntityName {
            tenant,
            machine_id,
            entity_id: event.entity_id.clone(),
        };
        self.apply(&name, &event).await
    }

    /// One event for an entity that exists (S2.246).
    ///
    /// # Errors
    /// As [`Engine::evaluate`], and where there is no such entity.
    pub async fn transition(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
        body: &[u8],
    ) -> Result<Answer, Error> {
        let object = request::object(body)?;
        let name = entity_name(tenant, machine_id, entity_id)?;
        let fields = Fields {
            path: "$",
            object: &object,
        };
        let event = EventRequest::transition(name.entity_id.clone(), fields)?;
        self.apply(&name, &event).await
    }

    async fn apply(&self, name: &EntityName, event: &EventRequest) -> Result<Answer, Error> {
        let mut tries = Tries::begin(&self.clock);
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut existed = false;
        loop {
            let mut keys: Vec<String> = event.event.identity().iter().map(ToString::to_string).collect();
            keys.extend(attempts.iter().filter_map(|attempt| attempt.key.clone()));
            let loaded = match self.load(name, &keys).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(applied) = own(&loaded, &attempts) {
                return Ok(applied);
            }
            // An entity that was there at first and is not any more was deleted: this event must not bring it back.
            if existed && loaded.stored.is_none() {
                return Err(Error::DeletedMeanwhile {
                    entity: name.entity_id.to_string(),
                });
            }
            existed = loaded.stored.is_some();
            let mut deciding = Deciding::new(loaded, self.clock.now(), &self.random);
            let answer = deciding.event(event);
            let Some(write) = deciding.write().filter(|_| !event.dry_run) else {
                return answer;
            };
            let commit_id = random_name(&self.random);
            match self.database.batch(store_one(&write, &commit_id)).await {
                Ok(_) => return answer,
                Err(error) => {
                    if let (DatabaseError::Uncertain(_), Ok(answer)) = (&error, answer) {
                        attempts.push(Attempt {
                            commit_id,
                            key: deciding.key(),
                            answer,
                        });
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// Reads one entity with what it remembers under some keys.
    pub(crate) async fn load(&self, name: &EntityName, keys: &[String]) -> Result<Loaded, Error> {
        let (load, known) = load_one(name, keys, &self.cache);
        let results = self.read(vec![load]).await?;
        loaded_one(name.clone(), rows_of(&results, 0), &self.cache, &known)?
            .ok_or_else(|| Error::NoMachine(name.machine_id.to_string()))
    }

    /// A read that failed is tried again only where an earlier write's end is to be found out.
    pub(crate) async fn read_failed(&self, tries: &mut Tries, error: Error) -> Result<(), Error> {
        match error {
            Error::Database(message) if tries.is_uncertain() => {
                tries
                    .again(DatabaseError::Uncertain(message), &self.clock, &self.random)
                    .await
            }
            other => Err(other),
        }
    }
}

/// The answer of an earlier try of this request that was applied after all.
fn own(loaded: &Loaded, attempts: &[Attempt]) -> Option<Answer> {
    let applied = attempts.iter().find(|attempt| {
        let mine = |seen: &crate::load::Seen| seen.commit_id == attempt.commit_id;
        loaded.seen.iter().any(mine)
    })?;
    Some(applied.answer.clone())
}

/// An entity's name from a path.
pub(crate) fn entity_name(tenant: &TenantId, machine_id: &str, entity_id: &str) -> Result<EntityName, Error> {
    Ok(EntityName {
        tenant: tenant.clone(),
        machine_id: request::machine_id(machine_id)?,
        entity_id: request::entity_id("entity_id", entity_id)?,
    })
}

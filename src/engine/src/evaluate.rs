//! One event for one entity: `evaluate` and `/transition` (S2.243, S2.246).

use statewright_core::answer::{Answer, DUPLICATE};
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MachineId, Millis, TenantId};

use crate::Engine;
use crate::batch_once::with_places;
use crate::database::{Clock, Database, DatabaseError, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::load::{EntityName, LoadedOne, load_one, loaded_one, rows_of, text};
use crate::once::{Origin, Receipt, Scope, check_receipt};
use crate::outbound::Outbound;
use crate::outbox::Making;
use crate::outbox::ids::{EffectIds, effect_prefix};
use crate::request::{self, EventRequest, Fields};
use crate::retry::Tries;
use crate::store::{Lease, RowNumbers, store_one};
use crate::trees::{Found, Loaded, Target, is_childless, load_trees, loaded_trees, may_be_child};

/// A write whose end is unknown, and the answer that it gives if it was applied.
pub(crate) struct Attempt<A> {
    pub(crate) commit_id: String,
    /// What the ids of its effects begin with, where there are some.
    pub(crate) effects: Option<String>,
    /// The incarnation and the key of its first row.
    pub(crate) key: Option<(String, String)>,
    pub(crate) answer: A,
    pub(crate) uids: Vec<String>,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
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
        self.scope.of_tenant(&name.tenant);
        self.apply_event(&self.scope, &name, &event).await
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
        self.apply_event(&self.scope, &name, &event).await
    }

    /// One event for an entity, in a request that came as `scope` says.
    ///
    /// # Errors
    /// As [`Engine::evaluate`].
    pub(crate) async fn apply_event(
        &self,
        scope: &Scope,
        name: &EntityName,
        event: &EventRequest,
    ) -> Result<Answer, Error> {
        // What only looks has no effect that a key could stand for.
        let looking = Scope {
            keyed: None,
            origin: Origin::default(),
        };
        let scope = if event.dry_run { &looking } else { scope };
        let mut tries = Tries::begin(&self.clock);
        let mut attempts: Vec<Attempt<Answer>> = Vec::new();
        let mut existed = false;
        let mut target = Target::new(name.clone());
        target.keys = event.event.identity().iter().map(ToString::to_string).collect();
        if let Some(path) = event.target.as_ref().filter(|path| !path.steps.is_empty()) {
            target.paths.push(path.steps.clone());
        }
        loop {
            target.attempts = attempts
                .iter()
                .filter_map(|attempt| attempt.key.clone())
                .collect();
            let loaded = match self.load_in(scope, &target).await {
                Ok(loaded) => loaded,
                // An earlier try of this request was applied: its own receipt says so.
                Err(error @ Error::Replayed(_)) => {
                    for prefix in attempts.iter().filter_map(|attempt| attempt.effects.as_ref()) {
                        self.take_over(name.tenant.as_str(), prefix).await;
                    }
                    return Err(error);
                }
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(applied) = own(&loaded, &attempts) {
                if let Some(prefix) = &applied.effects {
                    self.take_over(name.tenant.as_str(), prefix).await;
                }
                return Ok(self.numbered_again(applied).await);
            }
            // An entity that was there at first and is not any more was deleted: this event must not bring it back.
            if existed && !loaded.exists() {
                return Err(Error::DeletedMeanwhile {
                    entity: name.entity_id.to_string(),
                });
            }
            existed = loaded.exists();
            let now = self.clock.now();
            let commit_id = random_name(&self.random);
            let ids = EffectIds::new(now, &commit_id);
            let making = self.making(&ids, &scope.origin);
            let mut deciding = Deciding::new(loaded, now, &making);
            if event.dry_run {
                return self.look(deciding, &mut target, event).await;
            }
            let answer = deciding.event(name, event);
            if let Some(keyed) = &scope.keyed {
                keyed.uid.replace(deciding.uid_of(name).map(str::to_owned));
            }
            if let Err(error) = &answer
                && let Some(adoption) = deciding.adoption(error)
            {
                if let Err(error) = self.adopt(&deciding, &adoption).await {
                    tries.again(error, &self.clock, &self.random).await?;
                }
                target.wanted.retain(|wanted| *wanted != adoption);
                continue;
            }
            let Some(write) = deciding.write() else {
                if let (Some(keyed), Ok(answer)) = (&scope.keyed, &answer) {
                    keyed.outcome.set(Some(outcome_of(answer)));
                }
                return answer;
            };
            let numbered = answer.as_ref().is_ok_and(|answer| !answer.instances.is_empty());
            let mut storing = store_one(&write, &commit_id, numbered, &self.lease(now));
            // Timeouts that stand although the event is refused are no answer of its own: that one is kept by itself.
            let stored = match (&scope.keyed, &answer) {
                (Some(_), Ok(answer)) => {
                    let uids = deciding.uids();
                    let uid = deciding.uid_of(name).map(str::to_owned);
                    let receipt = receipt_of(answer, &uids, uid, &commit_id);
                    check_receipt(&receipt)?;
                    self.write_in(scope, storing.take(), &|| receipt.clone()).await
                }
                _ => self.batch(storing.take()).await,
            };
            match stored {
                Ok(results) => {
                    self.claimed.borrow_mut().extend(storing.claims(&results));
                    let mut answer = answer?;
                    // It was stored: that a number cannot be read must not hide it.
                    let numbers = storing.numbers(&results).unwrap_or_default();
                    number(&mut answer, &deciding.uids(), &numbers);
                    return Ok(answer);
                }
                Err(error) => {
                    target.want(deciding.children_made());
                    if let (DatabaseError::Uncertain(_), Ok(answer)) = (&error, answer) {
                        attempts.push(Attempt {
                            commit_id: commit_id.clone(),
                            effects: storing.claims_any().then(|| effect_prefix(now, &commit_id)),
                            key: deciding.key(),
                            answer,
                            uids: deciding.uids(),
                        });
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// The answer of a commit whose own answer was lost, with the ids of its rows.
    async fn numbered_again(&self, applied: &Attempt<Answer>) -> Answer {
        let mut answer = applied.answer.clone();
        if !answer.instances.is_empty() {
            let rows = told_rows(&answer, &applied.uids);
            let statement = Statement::new(ROW_NUMBERS, [text(&rows), applied.commit_id.as_str().into()]);
            // That they cannot be read must not hide that it was applied.
            let results = self.read(vec![statement]).await.unwrap_or_default();
            let numbers = RowNumbers::read(rows_of(&results, 0)).unwrap_or_default();
            number(&mut answer, &applied.uids, &numbers);
        }
        answer
    }

    /// What a batch is made with.
    pub(crate) fn making<'a>(&'a self, ids: &'a EffectIds<'a>, origin: &'a Origin) -> Making<'a> {
        Making {
            random: &self.random,
            ids,
            origin,
        }
    }

    /// Until when what is written now is claimed for this process.
    pub(crate) fn lease(&self, now: Millis) -> Lease {
        let stale = i64::try_from(self.settings.stale_after_ms).unwrap_or(i64::MAX);
        let until = Millis(now.0.saturating_add(stale));
        Lease {
            now,
            until: self.outbound.sends().then_some(until),
        }
    }

    /// Reads the tree of an entity: in one statement where it has none, as far as is known, and no event is for an
    /// instance of it.
    pub(crate) async fn load(&self, target: &Target) -> Result<Loaded, Error> {
        self.load_in(&self.scope, target).await
    }

    async fn load_in(&self, scope: &Scope, target: &Target) -> Result<Loaded, Error> {
        let name = &target.name;
        let at_hand = self.cache.known(name.tenant.as_str(), name.machine_id.as_str());
        if is_childless(&at_hand)
            && !may_be_child(&name.entity_id)
            && target.paths.is_empty()
            && target.wanted.is_empty()
        {
            let mut keys = target.keys.clone();
            keys.extend(target.attempts.iter().map(|(_, key)| key.clone()));
            let one = self.load_alone(scope, name, &keys).await?;
            if !one.family {
                return Ok(Loaded::alone(one));
            }
        }
        let targets = std::slice::from_ref(target);
        let (statements, reading) = load_trees(targets, &self.cache, true);
        let results = self.read_in(scope, statements).await?;
        let found = loaded_trees(targets, &results, &self.cache, reading)?;
        match found.into_iter().next() {
            Some(Found::Loaded(loaded)) => Ok(*loaded),
            Some(Found::Failed(error)) => Err(error),
            Some(Found::NoMachine | Found::LeftOut) | None => {
                Err(Error::Core(Core::NoMachine(name.machine_id.to_string())))
            }
        }
    }

    /// A dry run: what stands where it would make children is read before it is told.
    async fn look(
        &self,
        mut deciding: Deciding<'_>,
        target: &mut Target,
        event: &EventRequest,
    ) -> Result<Answer, Error> {
        let name = target.name.clone();
        let made = deciding.would_make(&name, event);
        if made.is_empty() {
            return deciding.event(&name, event);
        }
        let loaded = self.load_to_look(target, made).await?;
        deciding.again(loaded, self.clock.now()).event(&name, event)
    }

    /// Reads the tree of an entity for what only looks, with what stands where children would be made: an entity that the
    /// next event would adopt counts as adopted.
    pub(crate) async fn load_to_look(
        &self,
        target: &Target,
        children: Vec<(MachineId, EntityId)>,
    ) -> Result<Loaded, Error> {
        let mut target = target.clone();
        target.want(children);
        let mut loaded = self.load(&target).await?;
        loaded.adopt_in_memory();
        Ok(loaded)
    }

    /// Reads an entity without its tree.
    pub(crate) async fn load_alone(
        &self,
        scope: &Scope,
        name: &EntityName,
        keys: &[String],
    ) -> Result<LoadedOne, Error> {
        let (load, known) = load_one(name, keys, &self.cache);
        let results = self.read_in(scope, vec![load]).await?;
        loaded_one(name.clone(), rows_of(&results, 0), &self.cache, &known)?
            .ok_or_else(|| Error::Core(Core::NoMachine(name.machine_id.to_string())))
    }

    /// Makes an entity that stands at a legacy child's id that child (R9): with its own tree, it becomes a part of its
    /// parent's. A commit of its own, that nothing but events depend on.
    pub(crate) async fn adopt(
        &self,
        deciding: &Deciding<'_>,
        child: &(MachineId, EntityId),
    ) -> Result<(), DatabaseError> {
        let Some(batch) = deciding.adopting(child) else {
            return Ok(());
        };
        self.batch(batch).await.map(drop)
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

/// What became of an event that was answered, in a word.
pub(crate) fn outcome_of(answer: &Answer) -> &'static str {
    let moved = answer.transition.is_some() || answer.sub_machine.is_some() || !answer.instances.is_empty();
    match answer.reason.as_deref() {
        Some(DUPLICATE) => "duplicate",
        _ if moved => "applied",
        _ => "no_transition",
    }
}

/// Where ids of history rows belong in an answer that stands below `prefix`: JSON pointer, incarnation, identity key.
pub(crate) fn told_rows_of(answer: &Answer, uids: &[String], prefix: &str) -> Vec<(String, String, String)> {
    let rows = answer.told_rows_at().filter_map(|(pointer, entity, key)| {
        let uid = uids.get(entity.place())?.clone();
        Some((format!("{prefix}{pointer}"), uid, key.to_string()))
    });
    rows.collect()
}

/// The receipt of an event that was applied.
fn receipt_of(answer: &Answer, uids: &[String], uid: Option<String>, commit_id: &str) -> Receipt {
    Receipt {
        answer: Some(serde_json::to_string(&with_places(answer)).unwrap_or_default()),
        numbers: told_rows_of(answer, uids, ""),
        outcome: outcome_of(answer),
        uid,
        commit_id: Some(commit_id.to_owned()),
        status: None,
    }
}

/// The ids of history rows ?1, a JSON array of [uid, identity key], as far as a commit ?2 made them: [uid, identity key,
/// id].
pub(crate) const ROW_NUMBERS: &str = "SELECT json_array(h.uid, h.identity_key, h.id) FROM json_each(?1) t \
     CROSS JOIN history h ON h.uid = t.value->>0 AND h.identity_key = t.value->>1 WHERE h.commit_id = ?2";

/// The history rows that an answer tells of, by incarnation and identity key.
pub(crate) fn told_rows<'a>(answer: &Answer, uids: &'a [String]) -> Vec<(&'a str, String)> {
    let rows = answer.told_rows();
    rows.filter_map(|(entity, key)| Some((uids.get(entity.place())?.as_str(), key.to_string())))
        .collect()
}

/// Fills the ids of history rows in.
pub(crate) fn number(answer: &mut Answer, uids: &[String], numbers: &RowNumbers) {
    answer.number_rows(|entity, key| {
        let uid = uids.get(entity.place())?;
        numbers.of(uid, &key.to_string())
    });
}

/// An earlier try of this request that was applied after all.
pub(crate) fn own<'a, A>(loaded: &Loaded, attempts: &'a [Attempt<A>]) -> Option<&'a Attempt<A>> {
    attempts.iter().find(|attempt| {
        let mine = |seen: &crate::load::Seen| seen.commit_id == attempt.commit_id;
        loaded.seen.iter().any(mine)
            || loaded
                .seen_at_paths
                .iter()
                .any(|at| at.seen.commit_id == attempt.commit_id)
    })
}

/// An entity's name from a path.
pub(crate) fn entity_name(tenant: &TenantId, machine_id: &str, entity_id: &str) -> Result<EntityName, Error> {
    Ok(EntityName {
        tenant: tenant.clone(),
        machine_id: request::machine_id(machine_id)?,
        entity_id: request::entity_id("entity_id", entity_id)?,
    })
}

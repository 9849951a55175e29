//! Several events of one entity that stand or fall together: what a program decided on a snapshot of it is written in one batch,
//! or not at all (S4.1, S4.57).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use statewright_core::answer::Answer;
use statewright_core::commit::Refusal;
use statewright_core::entity::Params;
use statewright_core::error::Error as Core;
use statewright_core::ids::TenantId;
use statewright_core::json_equal;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::evaluate::{Attempt, entity_name, number, outcome_of, own};
use crate::load::EntityName;
use crate::outbound::Outbound;
use crate::outbox::ids::{EffectIds, effect_prefix};
use crate::request::{
    self, EventRequest, Fields, MAX_BATCH_EVENTS, MAX_CONTEXT_BYTES, MAX_WRITTEN_BYTES, json_bytes,
};
use crate::retry::Tries;
use crate::store::store_one;
use crate::trees::Target;

/// What the events of an act did.
#[derive(Debug, Clone, Serialize)]
pub struct ActAnswer {
    /// The answer to each, in their order; none where the entity was only made.
    pub results: Vec<Answer>,
}

/// What is asked.
struct Act {
    name: EntityName,
    /// The context of the entity, which is to be made first.
    create: Option<Params>,
    /// Machine, id and version of the instances that were decided on.
    versions: Vec<(String, String, u64)>,
    events: Vec<EventRequest>,
    /// What the caller decided of each event, where it did.
    becomes: Vec<Became>,
}

/// What an event's answer says when it is what was decided.
#[derive(Deserialize)]
struct Became {
    state_version: u64,
    current_state: Value,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Applies up to 1,000 events to one entity, in order, all or nothing. The body has `events`, as `/transition` takes them;
    /// `create`, the context of an entity that must not exist yet; and `versions`, an array of `machine_id`, `entity_id` and
    /// `state_version` of the instances that the caller decided on, after the timeouts that were due; and `becomes`, the
    /// `state_version` and `current_state` that the caller decided for each event. An act of which all events were applied before
    /// is told so, whatever the versions are by now, unless the caller decided that they would be applied.
    ///
    /// # Errors
    /// The request is invalid; there is no such machine or entity, or it exists and is to be made; an instance has another
    /// version (`VERSION_CONFLICT`); one of the events, and not all, was applied before (`EVENT_IDENTITY_CONFLICT`); an event
    /// is refused, moves nothing, or leads elsewhere than was decided: nothing is written then. Where more timeouts are due than
    /// one request applies, these alone are.
    pub async fn act(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
        body: &[u8],
    ) -> Result<ActAnswer, Error> {
        let act = Act::read(entity_name(tenant, machine_id, entity_id)?, body)?;
        let mut target = act.target();
        let mut tries = Tries::begin(&self.clock);
        let mut attempts: Vec<Attempt<Vec<Answer>>> = Vec::new();
        loop {
            target.attempts = attempts
                .iter()
                .filter_map(|attempt| attempt.key.clone())
                .collect();
            let loaded = match self.load(&target).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(applied) = own(&loaded, &attempts) {
                if let Some(prefix) = &applied.effects {
                    self.take_over(tenant.as_str(), prefix).await;
                }
                // The ids of rows are not looked up again: a program has no use for them.
                let results = applied.answer.clone();
                return Ok(ActAnswer { results });
            }
            let now = self.clock.now();
            let commit_id = random_name(&self.random);
            let ids = EffectIds::new(now, &commit_id);
            let making = self.making(&ids, &self.scope.origin);
            let mut deciding = Deciding::new(loaded, now, &making);
            let results = match act.decide(&mut deciding) {
                Ok(results) => results,
                Err(error @ Error::Core(Core::TimeoutsPending { .. })) => {
                    if let Some(write) = deciding.write() {
                        let mut storing = store_one(&write, &commit_id, false, &self.lease(now));
                        let stored = self.batch(storing.take()).await?;
                        self.claimed.borrow_mut().extend(storing.claims(&stored));
                    }
                    return Err(error);
                }
                Err(error) => {
                    let Some(adoption) = deciding.adoption(&error) else {
                        return Err(error);
                    };
                    if let Err(error) = self.adopt(&deciding, &adoption).await {
                        tries.again(error, &self.clock, &self.random).await?;
                    }
                    target.wanted.retain(|wanted| *wanted != adoption);
                    continue;
                }
            };
            let Some(write) = deciding.write() else {
                return Ok(ActAnswer { results });
            };
            let numbered = results.iter().any(|answer| !answer.instances.is_empty());
            let mut storing = store_one(&write, &commit_id, numbered, &self.lease(now));
            match self.batch(storing.take()).await {
                Ok(stored) => {
                    self.claimed.borrow_mut().extend(storing.claims(&stored));
                    let numbers = storing.numbers(&stored).unwrap_or_default();
                    let uids = deciding.uids();
                    let mut results = results;
                    for answer in &mut results {
                        number(answer, &uids, &numbers);
                    }
                    return Ok(ActAnswer { results });
                }
                Err(error) => {
                    target.want(deciding.children_made());
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        attempts.push(Attempt {
                            commit_id: commit_id.clone(),
                            effects: storing.claims_any().then(|| effect_prefix(now, &commit_id)),
                            key: deciding.key(),
                            answer: results,
                            uids: deciding.uids(),
                        });
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }
}

impl Act {
    fn read(name: EntityName, body: &[u8]) -> Result<Self, Error> {
        let object = request::object(body)?;
        let fields = Fields {
            path: "$",
            object: &object,
        };
        fields.only(&["events", "create", "versions", "becomes"])?;
        let create = fields.map("create")?.cloned();
        let bytes = create.as_ref().map_or(0, json_bytes);
        if bytes > MAX_CONTEXT_BYTES {
            return Err(Error::Core(Core::TooLarge {
                what: "the context",
                bytes,
                most: MAX_CONTEXT_BYTES,
            }));
        }
        let many = || {
            Error::invalid(
                "$.events",
                "it is no list of them",
                format!("an array of at most {MAX_BATCH_EVENTS} events"),
            )
        };
        let events = match fields.given("events") {
            None => &[][..],
            Some(Value::Array(events)) if events.len() <= MAX_BATCH_EVENTS => events,
            Some(_) => return Err(many()),
        };
        let events = events.iter().enumerate().map(|(place, event)| {
            let path = format!("$.events[{place}]");
            let Value::Object(object) = event else {
                return Err(Error::invalid(path, "it is no object", "an event"));
            };
            let fields = Fields { path: &path, object };
            Ok(EventRequest::transition(name.entity_id.clone(), fields)?)
        });
        let events: Vec<EventRequest> = events.collect::<Result<_, _>>()?;
        let becomes: Vec<Became> = listed(&fields, "becomes", "{state_version, current_state}, …")?;
        if !becomes.is_empty() && becomes.len() != events.len() {
            let problem = format!("it has {} items", becomes.len());
            return Err(Error::invalid("$.becomes", problem, "one for each event"));
        }
        Ok(Self {
            versions: listed(&fields, "versions", "[machine, entity, version], …")?,
            events,
            name,
            create,
            becomes,
        })
    }

    /// What is read for it.
    fn target(&self) -> Target {
        let mut target = Target::new(self.name.clone());
        for event in &self.events {
            target
                .keys
                .extend(event.event.identity().iter().map(ToString::to_string));
            if let Some(path) = event.target.as_ref().filter(|path| !path.steps.is_empty())
                && !target.paths.contains(&path.steps)
            {
                target.paths.push(path.steps.clone());
            }
        }
        target.keys.sort_unstable();
        target.keys.dedup();
        target
    }

    fn decide(&self, deciding: &mut Deciding<'_>) -> Result<Vec<Answer>, Error> {
        let mut events = self.events.iter();
        let replayed = self.becomes.is_empty()
            && !self.events.is_empty()
            && events.all(|event| deciding.is_replay(&self.name, event));
        match &self.create {
            Some(context) if deciding.is_unknown(&self.name) => {
                request::check_given("entity_id", &self.name.entity_id)?;
                deciding.make(context.clone())?;
            }
            Some(_) if !replayed => {
                return Err(Error::Core(Core::EntityExists {
                    machine: self.name.machine_id.to_string(),
                    entity: self.name.entity_id.to_string(),
                }));
            }
            _ if !replayed => {
                deciding.existing(&self.name)?;
                deciding.catch_up()?;
                self.check_versions(deciding)?;
            }
            _ => {}
        }
        let mut answers = Vec::with_capacity(self.events.len());
        for (place, event) in self.events.iter().enumerate() {
            if deciding.written() > MAX_WRITTEN_BYTES {
                return Err(Error::BatchFull {
                    most: MAX_WRITTEN_BYTES,
                });
            }
            let answer = deciding.event(&self.name, event)?;
            match outcome_of(&answer) {
                "no_transition" => {
                    return Err(Error::invalid(
                        format!("$.events[{place}]"),
                        answer.reason.as_deref().unwrap_or("it moves nothing").to_owned(),
                        "an event that moves its entity",
                    ));
                }
                // What comes after it was decided on a state to which it led.
                "duplicate" if !replayed => {
                    return Err(Error::Core(Core::Refused(Refusal::EventIdentityConflict {
                        event_type: Arc::clone(&event.event.event_type),
                        timestamp: answer.timestamp,
                    })));
                }
                _ => {}
            }
            if let Some(became) = self.becomes.get(place) {
                became.check(place, &answer)?;
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    fn check_versions(&self, deciding: &Deciding<'_>) -> Result<(), Error> {
        for (machine, id, expected) in &self.versions {
            let found = deciding.tree().and_then(|tree| {
                let mut entities = tree.entities();
                let (at, entity) = entities.find(|(_, entity)| {
                    entity.id().as_str() == id && entity.machine().id().as_str() == machine
                })?;
                tree.is_live(at).then(|| entity.version())
            });
            if found.is_none_or(|found| found.0 != *expected) {
                return Err(Error::Core(Core::Refused(Refusal::VersionConflict {
                    expected: *expected,
                    actual: found,
                })));
            }
        }
        Ok(())
    }
}

impl Became {
    /// Refuses an answer that is not what was decided: what follows was decided on that.
    fn check(&self, place: usize, answer: &Answer) -> Result<(), Error> {
        if answer.state_version.0 != self.state_version {
            return Err(Error::Core(Core::Refused(Refusal::VersionConflict {
                expected: self.state_version,
                actual: Some(answer.state_version),
            })));
        }
        let state = serde_json::to_value(&answer.current_state).unwrap_or_default();
        if json_equal(&state, &self.current_state) {
            return Ok(());
        }
        Err(Error::invalid(
            format!("$.becomes[{place}].current_state"),
            format!("the event leads to {state}"),
            self.current_state.to_string(),
        ))
    }
}

/// A list of the body; empty where it is left out.
fn listed<T: serde::de::DeserializeOwned>(
    fields: &Fields<'_>,
    name: &str,
    expected: &str,
) -> Result<Vec<T>, Error> {
    let Some(list) = fields.given(name) else {
        return Ok(Vec::new());
    };
    serde_json::from_value(list.clone())
        .map_err(|error| Error::invalid(format!("$.{name}"), error.to_string(), expected))
}

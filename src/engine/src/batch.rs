//! Many events in one request: grouped by entity, read, decided and written set-wise (S2.244, S2.259, R19).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use statewright_core::answer::{ActionView, Answer, StateView};
use statewright_core::ids::TenantId;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::load::EntityName;
use crate::load_many::{Found, Target, load_many, loaded_many};
use crate::request::{self, EventRequest, Fields, MAX_BATCH_EVENTS, MAX_WRITTEN_BYTES, json_bytes};
use crate::retry::Tries;
use crate::store::{MOST_PARAMETER_BYTES, TreeWrite, held, store_held};

/// The answer to a batch (S2.259).
#[derive(Debug, Serialize)]
pub struct BatchAnswer {
    /// How many events there were.
    pub total: usize,
    /// How many were answered, those without a transition included (S2.261).
    pub succeeded: usize,
    /// How many failed.
    pub failed: usize,
    /// What became of each, in the order of the request.
    pub results: Vec<BatchResult>,
}

/// What became of one event of a batch.
#[derive(Debug, Serialize)]
pub struct BatchResult {
    /// Its entity, where the event names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// Its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<Answer>>,
    /// Its error as `CODE: message` (S2.260).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The events of one entity, in the order of the request.
struct Group {
    name: EntityName,
    events: Vec<(usize, EventRequest)>,
    existed: bool,
    attempts: Vec<Attempt>,
}

/// A write whose end is unknown, and the answers that it gives if it was applied.
struct Attempt {
    commit_id: String,
    key: Option<String>,
    answers: Vec<Result<Answer, Error>>,
}

type Answers = Vec<Option<Result<Answer, Error>>>;

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// Up to 1,000 events, each as its own `evaluate`: one failure undoes no other (S2.245).
    ///
    /// # Errors
    /// The body is no list of 1 to 1,000 events. What is wrong with one event is told in its result.
    pub async fn evaluate_batch(
        &self,
        tenant: Option<&TenantId>,
        machine_id: &str,
        body: &[u8],
    ) -> Result<BatchAnswer, Error> {
        let object = request::object(body)?;
        let Some(Value::Array(events)) = object.get("events") else {
            return Err(Error::invalid(
                "$.events",
                "it is no array",
                "an array of 1 to 1000 events",
            ));
        };
        if events.is_empty() || events.len() > MAX_BATCH_EVENTS {
            let problem = format!("it has {} events", events.len());
            return Err(Error::invalid("$.events", problem, "1 to 1000 events"));
        }
        let machine_id = request::machine_id(machine_id)?;
        let mut answers: Answers = Vec::with_capacity(events.len());
        let mut ids: Vec<Option<String>> = Vec::with_capacity(events.len());
        let mut groups: BTreeMap<EntityName, Group> = BTreeMap::new();
        for (place, event) in events.iter().enumerate() {
            match read_event(tenant, place, event) {
                Ok((tenant, event)) => {
                    ids.push(Some(event.entity_id.to_string()));
                    answers.push(None);
                    let entity_id = event.entity_id.clone();
                    let name = EntityName {
                        tenant,
                        machine_id: machine_id.clone(),
                        entity_id,
                    };
                    let group = groups.entry(name.clone()).or_insert_with(|| Group {
                        name,
                        events: Vec::new(),
                        existed: false,
                        attempts: Vec::new(),
                    });
                    group.events.push((place, event));
                }
                Err(error) => {
                    ids.push(None);
                    answers.push(Some(Err(error)));
                }
            }
        }
        self.apply_groups(groups.into_values().collect(), &mut answers)
            .await;
        Ok(summed(ids, answers))
    }

    /// Decides and writes until every group has its answers.
    async fn apply_groups(&self, mut open: Vec<Group>, answers: &mut Answers) {
        let mut tries = Tries::begin(&self.clock);
        let mut first = true;
        let mut spent = 0_usize;
        while !open.is_empty() {
            let later = open.split_off(fitting(&open));
            let mut round = self.round(open, answers, first, &mut spent).await;
            first = false;
            if let Some(error) = round.failure
                && let Err(error) = tries.again(error, &self.clock, &self.random).await
            {
                for (place, _) in round.open.iter().chain(&later).flat_map(|group| &group.events) {
                    settle(answers, *place, Err(error.clone()));
                }
                return;
            }
            round.open.extend(later);
            open = round.open;
        }
    }

    /// One read batch and one write batch. `spent` is about how many bytes the batch writes and answers.
    async fn round(
        &self,
        groups: Vec<Group>,
        answers: &mut Answers,
        first: bool,
        spent: &mut usize,
    ) -> Round {
        let targets: Vec<Target> = groups.iter().map(Group::target).collect();
        let (load, known) = load_many(&targets, &self.cache, !first);
        let results = match self.database.batch(load).await {
            Ok(results) => results,
            Err(error) => {
                return Round {
                    open: groups,
                    failure: Some(error),
                };
            }
        };
        let found = match loaded_many(&targets, &results, &self.cache, known) {
            Ok(found) => found,
            Err(error) => {
                for group in &groups {
                    group.fail(answers, &error);
                }
                return Round {
                    open: Vec::new(),
                    failure: None,
                };
            }
        };
        let now = self.clock.now();
        let mut open = Vec::new();
        let mut decided: Vec<Decided> = Vec::new();
        let mut writes: Vec<TreeWrite> = Vec::new();
        for (mut group, found) in groups.into_iter().zip(found) {
            let loaded = match found {
                Found::Loaded(loaded) => *loaded,
                Found::LeftOut => {
                    open.push(group);
                    continue;
                }
                Found::NoMachine => {
                    group.fail(answers, &Error::NoMachine(group.name.machine_id.to_string()));
                    continue;
                }
                Found::Failed(error) => {
                    group.fail(answers, &error);
                    continue;
                }
            };
            let applied = group
                .attempts
                .iter()
                .find(|attempt| loaded.seen.iter().any(|seen| seen.commit_id == attempt.commit_id));
            if let Some(applied) = applied {
                for ((place, _), answer) in group.events.iter().zip(&applied.answers) {
                    settle(answers, *place, answer.clone());
                }
                continue;
            }
            if group.existed && loaded.stored.is_none() {
                group.fail(
                    answers,
                    &Error::DeletedMeanwhile {
                        entity: group.name.entity_id.to_string(),
                    },
                );
                continue;
            }
            group.existed = loaded.stored.is_some();
            let mut deciding = Deciding::new(loaded, now, &self.random);
            let mut answered = 0_usize;
            let outcomes: Vec<_> = group
                .events
                .iter()
                .map(|(_, event)| {
                    let bytes = spent.saturating_add(answered).saturating_add(deciding.written());
                    if bytes > MAX_WRITTEN_BYTES {
                        let most = MAX_WRITTEN_BYTES;
                        return Err(Error::BatchFull { most });
                    }
                    let answer = deciding.event(event)?;
                    answered = answered.saturating_add(bytes_of(&answer));
                    Ok(answer)
                })
                .collect();
            let bytes = answered.saturating_add(deciding.written());
            *spent = spent.saturating_add(bytes);
            match deciding.write() {
                Some(write) => {
                    writes.push(write);
                    decided.push(Decided {
                        group,
                        key: deciding.key(),
                        answers: outcomes,
                        bytes,
                    });
                }
                None => group.settle(answers, outcomes),
            }
        }
        if writes.is_empty() {
            return Round { open, failure: None };
        }
        let commit_id = random_name(&self.random);
        let written = self.database.batch(store_held(&writes, &commit_id)).await;
        match written {
            Ok(results) => {
                let held = held(&results).unwrap_or_default();
                let mut moved = false;
                for (place, decided) in decided.into_iter().enumerate() {
                    if held.binary_search(&place).is_ok() {
                        decided.group.settle(answers, decided.answers);
                    } else {
                        moved = true;
                        // It is decided anew.
                        *spent = spent.saturating_sub(decided.bytes);
                        open.push(decided.group);
                    }
                }
                let failure = moved.then(|| DatabaseError::Constraint("some entities moved".to_owned()));
                Round { open, failure }
            }
            Err(error) => {
                let uncertain = matches!(error, DatabaseError::Uncertain(_));
                for Decided {
                    mut group,
                    key,
                    answers,
                    bytes,
                } in decided
                {
                    *spent = spent.saturating_sub(bytes);
                    if uncertain {
                        group.attempts.push(Attempt {
                            commit_id: commit_id.clone(),
                            key,
                            answers,
                        });
                    }
                    open.push(group);
                }
                Round {
                    open,
                    failure: Some(error),
                }
            }
        }
    }
}

/// What a round left to do, and why it has to wait first.
struct Round {
    open: Vec<Group>,
    failure: Option<DatabaseError>,
}

struct Decided {
    group: Group,
    key: Option<String>,
    answers: Vec<Result<Answer, Error>>,
    /// About how many bytes it writes and answers.
    bytes: usize,
}

/// About how many bytes an answer has. What is short in every answer is not looked at.
fn bytes_of(answer: &Answer) -> usize {
    let states = [&answer.previous_state, &answer.current_state].map(|view| match view {
        StateView::Flat(_) => 0,
        StateView::Regions(pairs) => pairs
            .iter()
            .map(|(region, state)| region.len() + state.len() + 8)
            .sum::<usize>(),
    });
    let transitions = answer
        .transitions
        .iter()
        .map(|taken| 200 + taken.transition.len() * 2);
    let actions = answer.actions_dispatched.iter().map(|action| match action {
        ActionView::Webhook { url: text, .. } | ActionView::Event { event_type: text, .. } => {
            text.len() + 200
        }
    });
    let explained = answer.explain.as_deref().map_or(0, json_bytes);
    states
        .into_iter()
        .chain(transitions)
        .chain(actions)
        .sum::<usize>()
        + explained
        + 500
}

impl Group {
    fn target(&self) -> Target {
        let mut keys: Vec<String> = self
            .events
            .iter()
            .filter_map(|(_, event)| Some(event.event.identity()?.to_string()))
            .collect();
        keys.extend(self.attempts.iter().filter_map(|attempt| attempt.key.clone()));
        keys.sort_unstable();
        keys.dedup();
        Target {
            name: self.name.clone(),
            keys,
        }
    }

    fn settle(self, answers: &mut Answers, outcomes: Vec<Result<Answer, Error>>) {
        for ((place, _), outcome) in self.events.into_iter().zip(outcomes) {
            settle(answers, place, outcome);
        }
    }

    fn fail(&self, answers: &mut Answers, error: &Error) {
        for (place, _) in &self.events {
            settle(answers, *place, Err(error.clone()));
        }
    }
}

fn settle(answers: &mut Answers, place: usize, answer: Result<Answer, Error>) {
    if let Some(slot) = answers.get_mut(place) {
        *slot = Some(answer);
    }
}

/// How many groups fit the parameters of one read; always at least one.
fn fitting(groups: &[Group]) -> usize {
    let mut bytes = 0_usize;
    let fits = groups.iter().take_while(|group| {
        let name = &group.name;
        let names =
            name.tenant.as_str().len() + name.machine_id.as_str().len() + name.entity_id.as_str().len();
        let keys: usize = group
            .events
            .iter()
            .map(|(_, event)| event.event.event_type.len() + 40)
            .sum();
        let attempts: usize = group
            .attempts
            .iter()
            .flat_map(|attempt| &attempt.key)
            .map(|key| key.len() + 4)
            .sum();
        // Escaped twice at the worst.
        bytes = bytes.saturating_add((names + keys + attempts).saturating_mul(4));
        bytes <= MOST_PARAMETER_BYTES
    });
    fits.count().max(1)
}

fn read_event(
    tenant: Option<&TenantId>,
    place: usize,
    event: &Value,
) -> Result<(TenantId, EventRequest), Error> {
    let path = format!("$.events[{place}]");
    let Value::Object(object) = event else {
        return Err(Error::invalid(
            path,
            "it is no object",
            "an event as `evaluate` takes it",
        ));
    };
    let fields = Fields { path: &path, object };
    Ok((request::tenant(tenant, fields)?, EventRequest::evaluate(fields)?))
}

fn summed(ids: Vec<Option<String>>, answers: Answers) -> BatchAnswer {
    let results: Vec<BatchResult> = ids
        .into_iter()
        .zip(answers)
        .map(|(entity_id, answer)| match answer {
            Some(Ok(answer)) => BatchResult {
                entity_id,
                result: Some(Box::new(answer)),
                error: None,
            },
            Some(Err(error)) => BatchResult {
                entity_id,
                result: None,
                error: Some(format!("{}: {error}", error.code().name())),
            },
            // Every event was settled by its group.
            None => BatchResult {
                entity_id,
                result: None,
                error: Some("INTERNAL_ERROR: not decided".to_owned()),
            },
        })
        .collect();
    let failed = results.iter().filter(|result| result.error.is_some()).count();
    BatchAnswer {
        total: results.len(),
        succeeded: results.len().saturating_sub(failed),
        failed,
        results,
    }
}

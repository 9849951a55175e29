//! Many events in one request: grouped by entity, read, decided and written set-wise (S2.244, S2.259, R19).

use std::sync::Arc;

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use statewright_core::answer::{ActionView, Answer, StateView};
use statewright_core::error::Error as Core;
use statewright_core::ids::{CHILD_MARK, EntityId, MachineId, Millis, TenantId};
use statewright_core::sorted::{SortedMap, SortedSet, sort_by, sort_by_key};

use crate::Engine;
use crate::batch_once::{Begun, Kept, Part, with_places};
use crate::database::{Clock, Database, DatabaseError, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::evaluate::{ROW_NUMBERS, number, told_rows};
use crate::load::{EntityName, rows_of, text};
use crate::once::{Keyed, Replay};
use crate::outbound::Outbound;
use crate::outbox::ids::{EffectIds, effect_prefix};
use crate::request::{self, EventRequest, Fields, MAX_BATCH_EVENTS, MAX_WRITTEN_BYTES, json_bytes};
use crate::retry::Tries;
use crate::store::{MOST_PARAMETER_BYTES, RowNumbers, TreeWrite, store_held};
use crate::trees::{Found, Target, load_trees, loaded_trees};

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
#[serde(untagged)]
pub enum BatchResult {
    /// What became of it now.
    New(NewResult),
    /// What became of it in an earlier try of the same request.
    Kept(Box<RawValue>),
}

/// What became of one event of a batch in this request.
#[derive(Debug, Serialize)]
pub struct NewResult {
    /// Its entity, where the event names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// Its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<Answer>>,
    /// Its error as `CODE: message` (S2.260).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the event is to be sent again.
    #[serde(skip)]
    pub retry: bool,
}

impl BatchResult {
    fn of(entity_id: Option<&String>, answer: &Result<Answer, Error>) -> Self {
        let (result, error) = match answer {
            Ok(answer) => (Some(Box::new(answer.clone())), None),
            Err(error) => (None, Some(error)),
        };
        Self::New(NewResult {
            entity_id: entity_id.cloned(),
            result,
            error: error.map(|error| format!("{}: {error}", error.code().name())),
            retry: error.is_some_and(|error| error.code().retry() || error.status() >= 500),
        })
    }

    /// Its error, where it is new and has one.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::New(new) => new.error.as_deref(),
            Self::Kept(_) => None,
        }
    }

    /// Its answer, where it is new and has one.
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::New(new) => new.result.as_deref(),
            Self::Kept(_) => None,
        }
    }

    /// Whether the event is to be sent again.
    pub(crate) fn invites_retry(&self) -> bool {
        matches!(self, Self::New(NewResult { retry: true, .. }))
    }

    fn failed(&self) -> bool {
        match self {
            Self::New(new) => new.error.is_some(),
            Self::Kept(kept) => {
                serde_json::from_str::<KeptError>(kept.get()).is_ok_and(|kept| kept.error.is_some())
            }
        }
    }

    /// The same with a place for each id that its history rows get.
    pub(crate) fn numbered(&self) -> Self {
        match self {
            Self::New(new) => Self::New(NewResult {
                entity_id: new.entity_id.clone(),
                result: new.result.as_deref().map(|answer| Box::new(with_places(answer))),
                error: new.error.clone(),
                retry: new.retry,
            }),
            Self::Kept(kept) => Self::Kept(kept.clone()),
        }
    }
}

/// The error of a result that was kept.
#[derive(Deserialize)]
struct KeptError {
    error: Option<String>,
}

/// The events of one entity, in the order of the request.
struct Group {
    target: Target,
    events: Vec<(usize, EventRequest)>,
    existed: bool,
    /// Whether it is decided by itself: what might have made it has not.
    alone: bool,
    attempts: Vec<Arc<Attempt>>,
}

/// A write whose end is unknown, and the answers that it gives if it was applied, by their places in the request.
struct Attempt {
    commit_id: String,
    /// What the ids of its effects begin with, where there are some.
    effects: Option<String>,
    answers: Vec<(usize, Result<Answer, Error>)>,
    uids: Vec<String>,
}

/// The groups of one tree, which are decided together.
struct Joined<'a> {
    deciding: Deciding<'a>,
    groups: Vec<Group>,
}

type Answers = Vec<Option<Result<Answer, Error>>>;

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
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
        let mut groups: Vec<Group> = Vec::new();
        let mut places: SortedMap<EntityName, usize> = SortedMap::new();
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
                    let at = *places.or_insert_with(name.clone(), || {
                        groups.push(Group {
                            target: Target::new(name),
                            events: Vec::new(),
                            existed: false,
                            alone: false,
                            attempts: Vec::new(),
                        });
                        groups.len().saturating_sub(1)
                    });
                    if let Some(group) = groups.get_mut(at) {
                        group.add(place, event);
                    }
                }
                Err(error) => {
                    ids.push(None);
                    answers.push(Some(Err(error)));
                }
            }
        }
        let Some(keyed) = &self.scope.keyed else {
            self.apply_groups(groups, &mut answers, None).await;
            return Ok(summed(&ids, answers, Kept::new(), false));
        };
        if tenant.is_none() {
            // A batch for several tenants is nobody's.
            let mut tenants = groups.iter().map(|group| &group.target.name.tenant);
            if let Some(first) = tenants
                .next()
                .filter(|first| tenants.all(|other| other == *first))
            {
                self.scope.of_tenant(first);
            }
        }
        let kept = match self.begin_batch(keyed).await? {
            Begun::Answered(kept) => {
                return Err(replayed(&summed(&ids, answers, kept, true)));
            }
            Begun::Ours(kept) => kept,
        };
        for group in &mut groups {
            group.events.retain(|(place, _)| !kept.contains_key(place));
        }
        let open = groups
            .into_iter()
            .filter(|group| !group.events.is_empty())
            .collect();
        let keeping = Keeping {
            keyed,
            ids: &ids,
            kept: RefCell::new(vec![false; ids.len()]),
            met: RefCell::new(vec![None; ids.len()]),
        };
        for place in kept.keys() {
            keeping.mark(*place);
        }
        self.apply_groups(open, &mut answers, Some(&keeping)).await;
        let answer = summed(&ids, answers, kept, false);
        // Where some are to be sent again, another may have taken this batch over, and answered it.
        if answer.results.iter().any(BatchResult::invites_retry)
            && let Ok(Begun::Answered(kept)) = self.begin_batch(keyed).await
        {
            let none = ids.iter().map(|_| None).collect();
            return Err(replayed(&summed(&ids, none, kept, true)));
        }
        let kept = keeping.kept.take();
        self.finish_batch(keyed, &answer, &kept, &keeping.met.take())
            .await;
        Ok(answer)
    }

    /// Decides and writes until every group has its answers.
    async fn apply_groups(&self, mut open: Vec<Group>, answers: &mut Answers, keeping: Option<&Keeping<'_>>) {
        let mut tries = Tries::begin(&self.clock);
        let mut first = true;
        let mut spent = 0_usize;
        while !open.is_empty() {
            // What comes first in a read is what comes first of the definitions that it brings: it fits.
            sort_by(&mut open, |a, b| a.target.name.cmp(&b.target.name));
            let later = open.split_off(fitting(&open));
            let mut round = self.round(open, answers, first, &mut spent, keeping).await;
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

    /// One read batch and one write batch. Groups of one tree are decided together, in the order of the request. `spent` is about how many bytes the batch writes and answers.
    async fn round(
        &self,
        groups: Vec<Group>,
        answers: &mut Answers,
        first: bool,
        spent: &mut usize,
        keeping: Option<&Keeping<'_>>,
    ) -> Round {
        let targets: Vec<Target> = groups.iter().map(|group| group.target.clone()).collect();
        let (load, reading) = load_trees(&targets, &self.cache, !first);
        let results = match self.batch(load).await {
            Ok(results) => results,
            Err(error) => {
                return Round {
                    open: groups,
                    failure: Some(error),
                };
            }
        };
        let found = match loaded_trees(&targets, &results, &self.cache, reading) {
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
        let commit_id = random_name(&self.random);
        let ids = EffectIds::new(now, &commit_id);
        let making = self.making(&ids, &self.scope.origin);
        let mut open = Vec::new();
        let mut trees: SortedMap<EntityName, Joined<'_>> = SortedMap::new();
        for (mut group, found) in groups.into_iter().zip(found) {
            let loaded = match found {
                Found::Loaded(loaded) => *loaded,
                Found::LeftOut => {
                    open.push(group);
                    continue;
                }
                Found::NoMachine => {
                    group.fail(
                        answers,
                        &Error::Core(Core::NoMachine(group.target.name.machine_id.to_string())),
                    );
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
                .find(|attempt| loaded.seen.iter().any(|seen| seen.commit_id == attempt.commit_id))
                .cloned();
            if let Some(applied) = applied {
                if let Some(keeping) = keeping {
                    keeping.mark_all(&applied.answers);
                }
                if let Some(prefix) = &applied.effects {
                    self.take_over(group.target.name.tenant.as_str(), prefix).await;
                }
                self.settle_applied(&group, &applied, answers).await;
                continue;
            }
            if group.existed && !loaded.exists() {
                group.fail(
                    answers,
                    &Error::DeletedMeanwhile {
                        entity: group.target.name.entity_id.to_string(),
                    },
                );
                continue;
            }
            group.existed = loaded.exists();
            // It does not exist, and one before it may make it: the names come in order, a parent's before its children's.
            let mut root = loaded.root_name();
            if !loaded.exists()
                && !group.alone
                && let Some(above) = trees.keys().rev().find(|above| is_below(&root, above))
            {
                root = above.clone();
            }
            match trees.get_mut(&root) {
                None => {
                    let joined = Joined {
                        deciding: Deciding::new(loaded, now, &making),
                        groups: vec![group],
                    };
                    trees.insert(root, joined);
                }
                Some(tree) => {
                    tree.deciding.join(loaded);
                    tree.groups.push(group);
                }
            }
        }
        self.decide_and_write(trees, open, answers, spent, (&commit_id, now), keeping)
            .await
    }

    async fn decide_and_write(
        &self,
        trees: SortedMap<EntityName, Joined<'_>>,
        mut open: Vec<Group>,
        answers: &mut Answers,
        spent: &mut usize,
        (commit_id, now): (&str, Millis),
        keeping: Option<&Keeping<'_>>,
    ) -> Round {
        let mut decided: Vec<Decided> = Vec::new();
        let mut writes: Vec<TreeWrite> = Vec::new();
        // Whom this round makes: no other tree of it may make the same.
        let mut made: SortedSet<(TenantId, MachineId, EntityId)> = SortedSet::new();
        let mut moved = false;
        for (root, Joined { mut deciding, groups }) in trees {
            let before = *spent;
            let mut events: Vec<(usize, &EntityName, &EventRequest)> = groups
                .iter()
                .flat_map(|group| {
                    let events = group.events.iter();
                    events.map(|(place, event)| (*place, &group.target.name, event))
                })
                .collect();
            sort_by_key(&mut events, |(place, ..)| *place);
            let mut answered = 0_usize;
            let mut adoption = None;
            let mut outcomes = Vec::with_capacity(events.len());
            let mut unmade: SortedSet<EntityName> = SortedSet::new();
            for (place, name, event) in events {
                if unmade.contains(name) || (*name != root && deciding.is_unknown(name)) {
                    // Nothing of the tree has made it by now: its events are decided by themselves.
                    unmade.insert(name.clone());
                    continue;
                }
                let bytes = before.saturating_add(answered).saturating_add(deciding.written());
                let outcome = if bytes > MAX_WRITTEN_BYTES {
                    let most = MAX_WRITTEN_BYTES;
                    Err(Error::BatchFull { most })
                } else {
                    deciding.event(name, event)
                };
                if let Some(keeping) = keeping {
                    keeping.meet(place, deciding.uid_of(name));
                }
                match &outcome {
                    Ok(answer) => answered = answered.saturating_add(bytes_of(answer)),
                    Err(error) => adoption = deciding.adoption(error),
                }
                outcomes.push((place, outcome));
                // The tree is now as the event met it.
                if adoption.is_some() {
                    break;
                }
            }
            let (mut alone, mut groups): (Vec<Group>, Vec<Group>) = groups
                .into_iter()
                .partition(|group| unmade.contains(&group.target.name));
            for group in &mut alone {
                group.alone = true;
            }
            moved |= !alone.is_empty();
            open.extend(alone);
            if let Some(adoption) = adoption {
                // A legacy child is to be adopted first; then all of the tree's events are decided anew.
                moved |= self.adopt(&deciding, &adoption).await.is_err();
                for group in &mut groups {
                    group.target.wanted.retain(|wanted| *wanted != adoption);
                }
                open.extend(groups);
                continue;
            }
            let mut makes = deciding.children_made();
            if deciding.makes_root() {
                makes.push((root.machine_id.clone(), root.entity_id.clone()));
            }
            let makes: Vec<_> = makes
                .into_iter()
                .map(|(machine, id)| (root.tenant.clone(), machine, id))
                .collect();
            if makes.iter().any(|one| made.contains(one)) {
                moved = true;
                open.extend(groups);
                continue;
            }
            let bytes = answered.saturating_add(deciding.written());
            *spent = spent.saturating_add(bytes);
            match deciding.write() {
                Some(write) => {
                    made.extend(makes);
                    writes.push(write);
                    decided.push(Decided {
                        groups,
                        key: deciding.key(),
                        made: deciding.children_made(),
                        uids: deciding.uids(),
                        answers: outcomes,
                        bytes,
                    });
                }
                None => settle_all(answers, outcomes),
            }
        }
        let contended = || DatabaseError::Constraint("some entities moved".to_owned());
        if writes.is_empty() {
            let failure = moved.then(contended);
            return Round { open, failure };
        }
        let numbered = decided.iter().any(Decided::tells_of_instances);
        let mut storing = store_held(&writes, commit_id, numbered, &self.lease(now));
        let mut batch = storing.take();
        if let Some(keeping) = keeping {
            let parts = keeping.parts_of(&decided);
            let met = keeping.met.borrow().clone();
            let parts = parts.iter().map(|(tree, place, result, uids)| {
                let part = Part {
                    place: *place,
                    result,
                    uids,
                    uid: met.get(*place).cloned().flatten(),
                    commit_id: Some(commit_id),
                };
                (*tree, part)
            });
            let keep = self.keep_parts(keeping.keyed, parts, Some(commit_id));
            // The last statement forgets which trees hold.
            let last = batch.len().saturating_sub(1);
            batch.splice(last..last, keep);
        }
        match self.batch(batch).await {
            Ok(results) => {
                self.claimed.borrow_mut().extend(storing.claims(&results));
                let held = storing.held(&results).unwrap_or_default();
                let numbers = storing.numbers(&results).unwrap_or_default();
                for (place, mut decided) in decided.into_iter().enumerate() {
                    if held.binary_search(&place).is_ok() {
                        if let Some(keeping) = keeping {
                            keeping.mark_all(&decided.answers);
                        }
                        decided.number(&numbers);
                        settle_all(answers, decided.answers);
                    } else {
                        moved = true;
                        // It is decided anew.
                        *spent = spent.saturating_sub(decided.bytes);
                        open.extend(decided.again(None, None));
                    }
                }
                let failure = moved.then(contended);
                Round { open, failure }
            }
            Err(error) => {
                let uncertain = matches!(error, DatabaseError::Uncertain(_));
                let effects = storing.claims_any().then(|| effect_prefix(now, commit_id));
                for decided in decided {
                    *spent = spent.saturating_sub(decided.bytes);
                    open.extend(decided.again(uncertain.then_some(commit_id), effects.clone()));
                }
                Round {
                    open,
                    failure: Some(error),
                }
            }
        }
    }

    /// The answers of a write that was applied after all.
    async fn settle_applied(&self, group: &Group, applied: &Attempt, answers: &mut Answers) {
        let mine = |place: usize| group.events.iter().any(|(of, _)| *of == place);
        let answered = applied.answers.iter().filter(|(place, _)| mine(*place));
        let rows: Vec<(&str, String)> = answered
            .filter_map(|(_, answer)| answer.as_ref().ok())
            .flat_map(|answer| told_rows(answer, &applied.uids))
            .collect();
        let mut numbers = RowNumbers::default();
        if !rows.is_empty() {
            let params = [text(&rows), applied.commit_id.as_str().into()];
            // That they cannot be read must not hide that it was applied.
            let results = self.read(vec![Statement::new(ROW_NUMBERS, params)]).await;
            numbers = RowNumbers::read(rows_of(&results.unwrap_or_default(), 0)).unwrap_or_default();
        }
        for (place, answer) in applied.answers.iter().filter(|(place, _)| mine(*place)) {
            let mut answer = answer.clone();
            if let Ok(answer) = &mut answer {
                number(answer, &applied.uids, &numbers);
            }
            settle(answers, *place, answer);
        }
    }
}

/// What a round left to do, and why it has to wait first.
struct Round {
    open: Vec<Group>,
    failure: Option<DatabaseError>,
}

/// A tree that was decided on.
struct Decided {
    groups: Vec<Group>,
    key: Option<(String, String)>,
    /// The children that it makes.
    made: Vec<(MachineId, EntityId)>,
    uids: Vec<String>,
    answers: Vec<(usize, Result<Answer, Error>)>,
    /// About how many bytes it writes and answers.
    bytes: usize,
}

impl Decided {
    fn tells_of_instances(&self) -> bool {
        let mut answers = self.answers.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        answers.any(|answer| !answer.instances.is_empty())
    }

    fn number(&mut self, numbers: &RowNumbers) {
        for (_, answer) in &mut self.answers {
            if let Ok(answer) = answer {
                number(answer, &self.uids, numbers);
            }
        }
    }

    /// The groups, to be decided anew; with the commit whose end is unknown.
    fn again(self, commit_id: Option<&str>, effects: Option<String>) -> Vec<Group> {
        let Self {
            mut groups,
            key,
            made,
            uids,
            answers,
            ..
        } = self;
        let attempt = commit_id.map(|commit_id| {
            Arc::new(Attempt {
                commit_id: commit_id.to_owned(),
                effects,
                answers,
                uids,
            })
        });
        for group in &mut groups {
            group.target.want(made.clone());
            if let Some(attempt) = &attempt {
                group.target.attempts.extend(key.clone());
                group.attempts.push(Arc::clone(attempt));
            }
        }
        groups
    }
}

fn replayed(answer: &BatchAnswer) -> Error {
    Error::Replayed(Box::new(Replay {
        status: 200,
        answer: serde_json::to_string(answer).ok(),
    }))
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
        ActionView::Transition {
            machine_id,
            target,
            event_type,
            ..
        } => machine_id.len() + target.len() + event_type.len() + 250,
    });
    let instances = answer.instances.iter().map(|life| {
        let ids = life.entity_id.len() + life.parent.entity_id.len() + life.parent.state.len() * 3;
        ids + 600
    });
    let explained = answer.explain.as_deref().map_or(0, json_bytes);
    states
        .into_iter()
        .chain(transitions)
        .chain(actions)
        .chain(instances)
        .sum::<usize>()
        + explained
        + 500
}

impl Group {
    fn add(&mut self, place: usize, event: EventRequest) {
        if let Some(identity) = event.event.identity() {
            let key = identity.to_string();
            if let Err(at) = self.target.keys.binary_search(&key) {
                self.target.keys.insert(at, key);
            }
        }
        if let Some(path) = event.target.as_ref().filter(|path| !path.steps.is_empty())
            && !self.target.paths.contains(&path.steps)
        {
            self.target.paths.push(path.steps.clone());
        }
        self.events.push((place, event));
    }

    fn fail(&self, answers: &mut Answers, error: &Error) {
        for (place, _) in &self.events {
            settle(answers, *place, Err(error.clone()));
        }
    }
}

fn settle_all(answers: &mut Answers, outcomes: Vec<(usize, Result<Answer, Error>)>) {
    for (place, outcome) in outcomes {
        settle(answers, place, outcome);
    }
}

fn settle(answers: &mut Answers, place: usize, answer: Result<Answer, Error>) {
    if let Some(slot) = answers.get_mut(place) {
        *slot = Some(answer);
    }
}

/// Whether an entity's id is that of a child, however deep, of another.
fn is_below(name: &EntityName, above: &EntityName) -> bool {
    name.tenant == above.tenant
        && name
            .entity_id
            .as_str()
            .strip_prefix(above.entity_id.as_str())
            .is_some_and(|rest| rest.starts_with(CHILD_MARK))
}

/// How many groups fit the parameters of one read; always at least one.
fn fitting(groups: &[Group]) -> usize {
    let mut bytes = 0_usize;
    let fits = groups.iter().take_while(|group| {
        let name = &group.target.name;
        let wanted: usize = group
            .target
            .wanted
            .iter()
            .map(|(machine, id)| machine.as_str().len() + id.as_str().len() + 8)
            .sum();
        let paths: usize = group
            .target
            .paths
            .iter()
            .flatten()
            .map(|step| step.region.len() + step.state.len() + 60)
            .sum();
        let names = name.tenant.as_str().len()
            + name.machine_id.as_str().len()
            + name.entity_id.as_str().len()
            + wanted
            + paths;
        let keys: usize = group
            .events
            .iter()
            .map(|(_, event)| event.event.event_type.len() + 40)
            .sum();
        let attempts: usize = group
            .target
            .attempts
            .iter()
            .map(|(uid, key)| uid.len() + key.len() + 8)
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

/// What is kept of a batch with a key as it goes.
struct Keeping<'a> {
    keyed: &'a Keyed,
    ids: &'a [Option<String>],
    /// By event, whether what became of it is kept.
    kept: RefCell<Vec<bool>>,
    /// By event, the incarnation that it met.
    met: RefCell<Vec<Option<String>>>,
}

impl Keeping<'_> {
    fn meet(&self, place: usize, uid: Option<&str>) {
        if let Some(met) = self.met.borrow_mut().get_mut(place) {
            *met = uid.map(str::to_owned);
        }
    }

    fn mark(&self, place: usize) {
        if let Some(kept) = self.kept.borrow_mut().get_mut(place) {
            *kept = true;
        }
    }

    /// Those of a tree's answers that stand: what is to be sent again is not kept.
    fn mark_all(&self, answers: &[(usize, Result<Answer, Error>)]) {
        for (place, answer) in answers {
            if !BatchResult::of(None, answer).invites_retry() {
                self.mark(*place);
            }
        }
    }

    /// What is kept with the trees that were decided: tree, event, result, incarnations.
    fn parts_of<'d>(&self, decided: &'d [Decided]) -> Vec<(usize, usize, BatchResult, &'d [String])> {
        let trees = decided.iter().enumerate();
        trees
            .flat_map(|(tree, decided)| {
                let answers = decided.answers.iter();
                let results = answers.map(move |(place, answer)| {
                    let id = self.ids.get(*place).and_then(Option::as_ref);
                    (tree, *place, BatchResult::of(id, answer), decided.uids.as_slice())
                });
                results.filter(|(_, _, result, _)| !result.invites_retry())
            })
            .collect()
    }
}

fn summed(ids: &[Option<String>], answers: Answers, mut kept: Kept, answered: bool) -> BatchAnswer {
    let results: Vec<BatchResult> = ids
        .iter()
        .zip(answers)
        .enumerate()
        .map(
            |(place, (entity_id, answer))| match (kept.remove(&place), answer) {
                (Some(kept), _) => BatchResult::Kept(kept),
                (None, Some(answer)) => BatchResult::of(entity_id.as_ref(), &answer),
                // Of a batch that was answered, what became of an entity's events goes with the entity (R17).
                (None, None) if answered => BatchResult::New(NewResult {
                    entity_id: None,
                    result: None,
                    error: Some(
                        "NOT_FOUND: what became of this event is forgotten with its entity".to_owned(),
                    ),
                    retry: false,
                }),
                // Every event was settled by its group.
                (None, None) => BatchResult::of(
                    entity_id.as_ref(),
                    &Err(Error::Database("not decided".to_owned())),
                ),
            },
        )
        .collect();
    let failed = results.iter().filter(|result| result.failed()).count();
    BatchAnswer {
        total: results.len(),
        succeeded: results.len().saturating_sub(failed),
        failed,
        results,
    }
}

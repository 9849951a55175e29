//! A tree that takes events: the order of the checks, the due timers, and the bounds (R12, M5).

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::history::{SeenRow, past_replay, seen_in};
use super::told::{CommitView, Kept, commit_view};
use super::view::{Order, Snapshot, snapshot};
use crate::answer::Answer;
use crate::commit::{Commit, Outcome, Refusal};
use crate::definition::shape::kind_of;
use crate::entity::Params;
use crate::error::Error;
use crate::explain::{Explanation, PossibleEvent, events, explain};
use crate::forward::{self, Delivered, Seen};
use crate::ids::{Millis, Revision};
use crate::number::maps_equal;
use crate::request::{EventRequest, Fields, MAX_CONTEXT_BYTES, MAX_WRITTEN_BYTES, TargetPath, json_bytes};
use crate::step;
use crate::target;
use crate::timeouts::{CATCH_UP_LIMIT, catch_up, earliest};
use crate::tree::{EntityIx, Tree};

/// How many timeouts [`Living::advance`] applies at once.
pub const ADVANCE_LIMIT: usize = 1_000;

/// The tenant that effects are rendered with, where nothing names one.
pub const NO_TENANT: &str = "default";

/// An entity with its tree, brought to life.
#[derive(Debug, Clone)]
pub struct Living {
    pub(crate) tree: Tree,
    /// What is told of the root and decides nothing here.
    pub(crate) created_at: Option<Millis>,
    pub(crate) tenant_id: Option<String>,
    pub(crate) revision: Option<Revision>,
}

/// What became of an event, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeName {
    /// It moved the entity, or a child that it was handed on to.
    Applied,
    /// It was applied before (I1).
    Duplicate,
    /// No transition takes it.
    NoTransition,
    /// It is refused.
    Refused,
}

/// What came of an event, and the tree after it.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    /// In a word.
    pub outcome: OutcomeName,
    /// The entity with its tree after it.
    pub snapshot: Snapshot,
    /// What a service answers; none where the event is refused.
    pub answer: Option<Answer>,
    /// The commit of the event.
    pub commit: Option<CommitView>,
    /// The commits of the timers that were due before it (M5). They stand whatever came of the event.
    pub timeouts: Vec<CommitView>,
    /// Commits that stand before it too: a legacy child was made, or was found final and moved its parent on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<CommitView>,
    /// Why it is refused: the inside of an answer's `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<serde_json::Map<String, Value>>,
}

/// What came of due timers.
#[derive(Debug, Clone, Serialize)]
pub struct Advanced {
    /// The entity with its tree after them.
    pub snapshot: Snapshot,
    /// Their commits, oldest first.
    pub timeouts: Vec<CommitView>,
    /// How many were parked: their commits were refused (M6).
    pub parked: usize,
    /// Whether more are due than are applied at once.
    pub more: bool,
}

/// A timer that is armed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DueView {
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// The region of its entry.
    pub region: Arc<str>,
    /// The state that it is of.
    pub state: Arc<str>,
    /// When it is due.
    pub at: Millis,
}

/// What was decided of an event.
#[derive(Debug)]
pub struct Decided {
    /// The commits of the timers that were due before it.
    pub timeouts: Vec<Kept>,
    /// Other commits that stand before it.
    pub before: Vec<Kept>,
    /// Its own commit.
    pub commit: Option<Kept>,
    /// What is answered.
    pub answer: Result<Answer, Error>,
    /// In a word.
    pub outcome: OutcomeName,
}

impl Decided {
    /// What is decided of a replay, where it is answered as one or conflicts.
    fn replay(answer: Result<Answer, Error>) -> Self {
        Self {
            timeouts: Vec::new(),
            before: Vec::new(),
            commit: None,
            outcome: if answer.is_ok() {
                OutcomeName::Duplicate
            } else {
                OutcomeName::Refused
            },
            answer,
        }
    }
}

/// The commits that an event leaves behind, whatever becomes of it.
#[derive(Default)]
struct Standing {
    timeouts: Vec<Kept>,
    before: Vec<Kept>,
    commit: Option<Kept>,
    duplicate: bool,
}

impl Living {
    pub(crate) fn new(tree: Tree, created_at: Option<Millis>) -> Self {
        Self {
            tree,
            created_at,
            tenant_id: None,
            revision: None,
        }
    }

    /// Its tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How it is shown.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            tenant_id: self.tenant_id.clone(),
            revision: self.revision,
            created_at: self.created_at,
            ..snapshot(&self.tree, EntityIx::ROOT, &Order::of(&self.tree))
        }
    }

    /// A commit with how it is told, while the tree is as it left it.
    pub(crate) fn keep(&self, commit: Commit, dispatch: bool, now: Millis) -> Kept {
        let tenant = self.tenant_id.as_deref().unwrap_or(NO_TENANT);
        let view = commit_view(&commit, &self.tree, tenant, dispatch, now);
        Kept { commit, view }
    }

    /// Sends an event: `{"event_type", "params"?, "timestamp"?, "expected_version"?, "target"?, "explain"?, "dry_run"?}`.
    /// `history` are rows that it may be a replay of.
    ///
    /// # Errors
    /// The event cannot be read. One that is refused is sent all the same: the timers that were due stand.
    pub fn send(&mut self, event: &Value, history: &[SeenRow], now: Millis) -> Result<Sent, Error> {
        let request = self.request(event)?;
        let key = request.event.identity().map(|identity| identity.to_string());
        let rows: Vec<&SeenRow> = history
            .iter()
            .filter(|row| Some(&row.identity_key) == key.as_ref())
            .collect();
        let known = self.tree.clone();
        let seen = |entity: EntityIx| seen_in(&known, &rows, entity);
        let decided = match past_replay(self, &request, history, &seen, now) {
            Some(answer) => Decided::replay(answer),
            None => self.event(EntityIx::ROOT, &request, &seen, now),
        };
        let views = |kept: Vec<Kept>| kept.into_iter().map(|kept| kept.view).collect();
        let (answer, error) = match decided.answer {
            Ok(answer) => (Some(answer), None),
            Err(error) => (None, Some(error.body())),
        };
        Ok(Sent {
            outcome: decided.outcome,
            snapshot: self.snapshot(),
            answer,
            commit: decided.commit.map(|kept| kept.view),
            timeouts: views(decided.timeouts),
            before: views(decided.before),
            error,
        })
    }

    fn request(&self, event: &Value) -> Result<EventRequest, Error> {
        let Value::Object(object) = event else {
            return Err(Error::invalid(
                "$",
                format!("the event is {}", kind_of(event)),
                "an object with `event_type`",
            ));
        };
        let fields = Fields { path: "$", object };
        EventRequest::transition(self.tree.root().id().clone(), fields)
    }

    /// Applies an event to an entity of the tree, in the order of R12. `seen` tells which params an entity remembers under
    /// the event's identity.
    pub fn event(&mut self, at: EntityIx, request: &EventRequest, seen: Seen<'_>, now: Millis) -> Decided {
        let mut standing = Standing::default();
        let answer = if request.dry_run {
            let answer = self.clone().decide(at, request, seen, now, &mut standing);
            answer.map(|answer| Answer {
                dry_run: true,
                ..answer
            })
        } else {
            self.decide(at, request, seen, now, &mut standing)
        };
        let outcome = match (&answer, &standing.commit) {
            (Err(_), _) => OutcomeName::Refused,
            (Ok(_), Some(_)) => OutcomeName::Applied,
            (Ok(_), None) if standing.duplicate => OutcomeName::Duplicate,
            (Ok(_), None) => OutcomeName::NoTransition,
        };
        if request.dry_run {
            standing = Standing::default();
        }
        Decided {
            timeouts: standing.timeouts,
            before: standing.before,
            commit: standing.commit,
            answer,
            outcome,
        }
    }

    fn decide(
        &mut self,
        at: EntityIx,
        request: &EventRequest,
        seen: Seen<'_>,
        now: Millis,
        standing: &mut Standing,
    ) -> Result<Answer, Error> {
        if self.is_over(at) {
            return self.ended_event(at, request, seen, now, standing);
        }
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            return self.targeted(at, path, request, seen, now, standing);
        }
        let machine = self.tree.entity(at).machine();
        if seen(at).is_none() && !request.event.is_reserved(machine) {
            self.catch_up(now, standing)?;
        }
        self.deliver(at, request, seen, now, standing)
    }

    /// Whether an entity ended, and its tree has to know it no more.
    pub(crate) fn is_over(&self, entity: EntityIx) -> bool {
        self.tree.place(entity).is_some_and(|place| !place.current)
    }

    /// An event for the instance that a path leads to: whether the path names managed states, whether any generation of
    /// the instance has seen the event, due timeouts, whether it is active, and then the event.
    fn targeted(
        &mut self,
        from: EntityIx,
        path: &TargetPath,
        request: &EventRequest,
        seen: Seen<'_>,
        now: Millis,
        standing: &mut Standing,
    ) -> Result<Answer, Error> {
        let machine = Arc::clone(self.tree.entity(from).machine());
        target::check(&machine, self.tree.library(), &path.steps, &path.path)?;
        let here = |ix: &EntityIx| target::is_at(&self.tree, from, *ix, &path.steps);
        let generations = self.tree.entities().map(|(ix, _)| ix).filter(here);
        for instance in generations {
            if let Some(params) = seen(instance) {
                let answer = self.replayed(instance, &params, request, now)?;
                standing.duplicate = true;
                return Ok(answer.at(&self.tree, instance));
            }
        }
        // One tree has one contract.
        if request.event.is_reserved(&machine) {
            let event_type = Arc::clone(&request.event.event_type);
            return Err(Refusal::ReservedEventType { event_type }.into());
        }
        self.catch_up(now, standing)?;
        let instance = target::resolve(&self.tree, from, &path.steps, &path.path)?;
        self.deliver(instance, request, seen, now, standing)
    }

    /// The answer to a replay, where its params are those that were seen (S2.138, S2.139).
    fn replayed(
        &self,
        entity: EntityIx,
        seen: &Params,
        request: &EventRequest,
        now: Millis,
    ) -> Result<Answer, Error> {
        let timestamp = request.event.timestamp_at(now);
        if maps_equal(seen, &request.event.params) {
            return Ok(Answer::duplicate(
                self.tree.entity(entity),
                &request.event,
                timestamp,
            ));
        }
        Err(Error::Refused(Refusal::EventIdentityConflict {
            event_type: Arc::clone(&request.event.event_type),
            timestamp,
        }))
    }

    /// An event for a child that ended and that its tree has to know no more (S2.229).
    fn ended_event(
        &mut self,
        ended: EntityIx,
        request: &EventRequest,
        seen: Seen<'_>,
        now: Millis,
        standing: &mut Standing,
    ) -> Result<Answer, Error> {
        let machine = Arc::clone(self.tree.entity(ended).machine());
        if let Some(path) = &request.target {
            target::check(&machine, self.tree.library(), &path.steps, &path.path)?;
        }
        if let Some(params) = seen(ended) {
            let answer = self.replayed(ended, &params, request, now)?;
            standing.duplicate = true;
            return Ok(answer);
        }
        self.catch_up(now, standing)?;
        let entity = self.tree.entity(ended).id().clone();
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            return Err(Error::Refused(Refusal::TargetNotActive {
                path: format!("{}[0]", path.path),
                problem: format!("`{entity}` has ended"),
            }));
        }
        let place = self.tree.place(ended);
        let status = place.map_or("completed", |place| place.status.name());
        Err(Error::Refused(Refusal::InstanceNotActive { entity, status }))
    }

    /// Applies the timeouts that are due, where an event is to see them (M5).
    fn catch_up(&mut self, now: Millis, standing: &mut Standing) -> Result<(), Error> {
        // One tree has one contract.
        if !self.tree.root().machine().rules().exact_timers {
            return Ok(());
        }
        let fired = self.fire_due(now, CATCH_UP_LIMIT);
        standing.timeouts = fired.commits;
        if fired.more {
            return Err(Error::TimeoutsPending { most: CATCH_UP_LIMIT });
        }
        Ok(())
    }

    /// Applies timeouts that are due, oldest first, at most `most` of them.
    pub(crate) fn fire_due(&mut self, now: Millis, most: usize) -> FiredDue {
        let mut fired = FiredDue {
            more: catch_up(&mut self.tree, now, 0).more,
            ..FiredDue::default()
        };
        let mut written = 0_usize;
        for _ in 0..most {
            if !fired.more || written > MAX_WRITTEN_BYTES {
                break;
            }
            // One by one: each is told as the tree is right after it.
            let caught_up = catch_up(&mut self.tree, now, 1);
            fired.parked = fired.parked.saturating_add(caught_up.parked);
            fired.more = caught_up.more;
            for commit in caught_up.commits {
                written = written.saturating_add(commit.bytes(0));
                fired.commits.push(self.keep(commit, true, now));
            }
        }
        fired
    }

    /// Applies an event to an instance: its own transitions where it was targeted, and those of its legacy children
    /// where it was not (S2.221).
    fn deliver(
        &mut self,
        entity: EntityIx,
        request: &EventRequest,
        seen: Seen<'_>,
        now: Millis,
        standing: &mut Standing,
    ) -> Result<Answer, Error> {
        let undo = self.tree.clone();
        let timestamp = request.event.timestamp_at(now);
        let targeted = request.target.is_some();
        let explanation = request
            .explain
            .then(|| explain(&self.tree, entity, &request.event, targeted, now));
        let delivered = if targeted {
            let params = seen(entity);
            Delivered {
                before: Vec::new(),
                previous: self.tree.entity(entity).configuration(),
                outcome: step::apply(&mut self.tree, entity, &request.event, params.as_deref(), now),
                child: None,
            }
        } else {
            forward::deliver(&mut self.tree, entity, &request.event, seen, now)
        };
        if let Err(error) = self.weigh(&delivered, request) {
            self.tree = undo;
            return Err(error);
        }
        let answer = Answer::delivered(&self.tree, entity, &delivered, &request.event, timestamp);
        let before = delivered.before.into_iter();
        standing
            .before
            .extend(before.map(|commit| self.keep(commit, request.dispatch, now)));
        match delivered.outcome {
            Outcome::Commit(commit) => standing.commit = Some(self.keep(*commit, request.dispatch, now)),
            Outcome::Duplicate => standing.duplicate = true,
            Outcome::NoTransition => {}
            Outcome::Refusal(refusal) => return Err(refusal.into()),
        }
        let Some(answer) = answer else {
            return Err(self.no_entity(entity));
        };
        let answer = if targeted {
            answer.at(&self.tree, entity)
        } else {
            answer
        };
        Ok(Answer {
            explain: explanation.map(Box::new),
            timeouts_fired: standing.timeouts.len(),
            ..answer
        })
    }

    /// Whether what an event writes is within the bounds.
    fn weigh(&self, delivered: &Delivered, request: &EventRequest) -> Result<(), Error> {
        let Outcome::Commit(commit) = &delivered.outcome else {
            return Ok(());
        };
        let before = delivered.before.iter().map(|commit| commit.bytes(0));
        let written = before.fold(commit.bytes(request.params_bytes), usize::saturating_add);
        if written > MAX_WRITTEN_BYTES {
            return Err(Error::TooLarge {
                what: "what the event writes",
                bytes: written,
                most: MAX_WRITTEN_BYTES,
            });
        }
        let bytes = if commit.context_changed {
            json_bytes(self.tree.entity(commit.target).context())
        } else {
            0
        };
        if bytes > MAX_CONTEXT_BYTES {
            return Err(Error::TooLarge {
                what: "the context with the event's params",
                bytes,
                most: MAX_CONTEXT_BYTES,
            });
        }
        Ok(())
    }

    pub(crate) fn no_entity(&self, entity: EntityIx) -> Error {
        let entity = self.tree.entity(entity);
        Error::NoEntity {
            machine: entity.machine().id().to_string(),
            entity: entity.id().to_string(),
        }
    }

    /// Why an event would or would not move the entity, with the due timeouts applied first.
    ///
    /// # Errors
    /// The event cannot be read, its target path leads nowhere, or too many timeouts are due.
    pub fn why(&mut self, event: &Value, now: Millis) -> Result<Explanation, Error> {
        let request = self.request(event)?;
        self.explain(EntityIx::ROOT, &request, now)
    }

    pub(crate) fn explain(
        &mut self,
        at: EntityIx,
        request: &EventRequest,
        now: Millis,
    ) -> Result<Explanation, Error> {
        self.catch_up(now, &mut Standing::default())?;
        if self.is_over(at) {
            let place = self.tree.place(at);
            return Err(Error::Refused(Refusal::InstanceNotActive {
                entity: self.tree.entity(at).id().clone(),
                status: place.map_or("completed", |place| place.status.name()),
            }));
        }
        let entity = match &request.target {
            Some(path) => {
                let machine = self.tree.entity(at).machine();
                target::check(machine, self.tree.library(), &path.steps, &path.path)?;
                target::resolve(&self.tree, at, &path.steps, &path.path)?
            }
            None => at,
        };
        let targeted = request.target.is_some();
        Ok(explain(&self.tree, entity, &request.event, targeted, now))
    }

    /// The events that the entity and what lives below it can take, with the due timeouts applied first.
    ///
    /// # Errors
    /// Too many timeouts are due.
    pub fn events(&mut self, now: Millis) -> Result<Vec<PossibleEvent>, Error> {
        self.events_of(EntityIx::ROOT, now)
    }

    pub(crate) fn events_of(&mut self, at: EntityIx, now: Millis) -> Result<Vec<PossibleEvent>, Error> {
        self.catch_up(now, &mut Standing::default())?;
        if self.is_over(at) {
            return Ok(Vec::new());
        }
        Ok(events(&self.tree, at, now))
    }

    /// The timer that is due first, if one is armed.
    pub fn due(&self) -> Option<DueView> {
        let timer = earliest(&self.tree)?;
        let entity = self.tree.entity(timer.entity);
        let machine = entity.machine();
        Some(DueView {
            machine_id: machine.id().as_str().to_owned(),
            entity_id: entity.id().as_str().to_owned(),
            region: Arc::clone(&machine.region(timer.region).id),
            state: Arc::clone(&machine.state(entity.entry(timer.region).state).name),
            at: timer.due,
        })
    }

    /// Applies the timers that are due, oldest first, at most [`ADVANCE_LIMIT`] of them.
    pub fn advance(&mut self, now: Millis) -> Advanced {
        let fired = self.fire_due(now, ADVANCE_LIMIT);
        Advanced {
            snapshot: self.snapshot(),
            timeouts: fired.commits.into_iter().map(|kept| kept.view).collect(),
            parked: fired.parked,
            more: fired.more,
        }
    }
}

/// What came of due timers.
#[derive(Debug, Default)]
pub(crate) struct FiredDue {
    pub(crate) commits: Vec<Kept>,
    pub(crate) parked: usize,
    /// Whether more are due.
    pub(crate) more: bool,
}

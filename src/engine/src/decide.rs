//! What comes of events for one entity: due timeouts, then event by event, in memory.

use std::sync::Arc;

use statewright_core::answer::Answer;
use statewright_core::commit::{Commit, Outcome, Refusal};
use statewright_core::entity::{Entity, EntityIx, Params, Tree};
use statewright_core::explain::{Explanation, explain};
use statewright_core::ids::{Millis, Version};
use statewright_core::machine::RegionIx;
use statewright_core::step::{self, Event};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};

use crate::database::{Random, random_name};
use crate::error::Error;
use crate::load::{Loaded, Seen};
use crate::request::{EventRequest, MAX_CONTEXT_BYTES, MAX_WRITTEN_BYTES, json_bytes};
use crate::store::{Base, TreeWrite};

/// With as many regions no event's rows reach their bound: params of 64 KiB, and what a definition can call for, in
/// each and in each of the joins that follow.
const FEW_REGIONS: usize = 16;

/// One entity on its way through a request: what was read, and what was decided since.
#[derive(Debug, Clone)]
pub(crate) struct Deciding {
    loaded: Arc<Loaded>,
    /// The entity as it is by now; none while it does not exist.
    tree: Option<Tree>,
    uid: String,
    /// The version that was read; 0 where there was none.
    base: Version,
    created_at: Millis,
    commits: Vec<Commit>,
    moved: Vec<(EntityIx, RegionIx)>,
    /// At least the bytes of its context as JSON.
    context_bytes: usize,
    /// About the bytes of the rows that were decided.
    written: usize,
    timeouts: usize,
    parked: usize,
    now: Millis,
}

impl Deciding {
    /// Begins with what was read. The time is read after the rows (M5).
    pub(crate) fn new(mut loaded: Loaded, now: Millis, random: &impl Random) -> Self {
        // Taken out rather than copied: the context is changed in place.
        let (uid, base, created_at, context_bytes, tree) = match loaded.stored.take() {
            Some(stored) => (
                stored.uid,
                stored.version,
                stored.created_at,
                stored.context_bytes,
                Some(stored.tree),
            ),
            None => (random_name(random), Version(0), now, 2, None),
        };
        Self {
            loaded: Arc::new(loaded),
            tree,
            uid,
            base,
            created_at,
            commits: Vec::new(),
            moved: Vec::new(),
            context_bytes,
            written: 0,
            timeouts: 0,
            parked: 0,
            now,
        }
    }

    /// What is remembered under an event's identity: stored before, or decided earlier in this request.
    fn seen(&self, event: &Event) -> Option<Params> {
        let identity = event.identity()?;
        let rows = self.commits.iter().flat_map(|commit| &commit.rows);
        let decided = rows
            .filter(|row| row.key == identity)
            .find_map(|row| row.event_params().cloned());
        if decided.is_some() {
            return decided;
        }
        let key = identity.to_string();
        self.loaded
            .seen
            .iter()
            .find(|seen| seen.key == key)
            .map(|seen: &Seen| seen.params.clone())
    }

    /// Applies one event. What a refused one leaves behind is only the timeouts that were due (M5).
    pub(crate) fn event(&mut self, request: &EventRequest) -> Result<Answer, Error> {
        if let Some(step) = request.target.iter().flatten().next() {
            return Err(step.not_managed());
        }
        if request.dry_run {
            let answer = self.clone().decide(request)?;
            return Ok(Answer {
                dry_run: true,
                ..answer
            });
        }
        self.decide(request)
    }

    fn decide(&mut self, request: &EventRequest) -> Result<Answer, Error> {
        let timestamp = request.event.timestamp_at(self.now);
        let seen = self.seen(&request.event);
        let Some(tree) = &mut self.tree else {
            return self.first_event(request);
        };
        let before = self.timeouts;
        if seen.is_none() && !request.event.is_reserved(tree.root().machine()) {
            self.catch_up()?;
        }
        let fired = self.timeouts.saturating_sub(before);
        let Some(tree) = &mut self.tree else {
            return self.first_event(request);
        };
        let explanation = request
            .explain
            .then(|| explain(tree, EntityIx::ROOT, &request.event, self.now));
        let undo = self.undo_if_too_large(request);
        let Some(tree) = &mut self.tree else {
            return self.first_event(request);
        };
        let outcome = step::apply(tree, EntityIx::ROOT, &request.event, seen.as_ref(), self.now);
        let answer = match outcome {
            Outcome::Commit(commit) => {
                let written = commit.bytes(request.params_bytes);
                if written > MAX_WRITTEN_BYTES
                    && let Some(undo) = undo
                {
                    self.tree = Some(undo);
                    return Err(Error::TooLarge {
                        what: "what the event writes",
                        bytes: written,
                        most: MAX_WRITTEN_BYTES,
                    });
                }
                self.written = self.written.saturating_add(written);
                let bytes = self.context_bytes.saturating_add(request.params_bytes);
                self.context_bytes = match undo {
                    None => bytes,
                    Some(undo) => {
                        let bytes = json_bytes(tree.root().context());
                        if bytes > MAX_CONTEXT_BYTES {
                            self.tree = Some(undo);
                            return Err(Error::TooLarge {
                                what: "the context with the event's params",
                                bytes,
                                most: MAX_CONTEXT_BYTES,
                            });
                        }
                        bytes
                    }
                };
                let answer = Answer::applied(tree, &commit, &request.event, timestamp);
                self.commits.push(*commit);
                answer
            }
            Outcome::Duplicate => Answer::duplicate(tree.root(), &request.event, timestamp),
            Outcome::NoTransition => Answer::no_transition(tree.root(), &request.event, timestamp),
            Outcome::Refusal(refusal) => return Err(refusal.into()),
        };
        let answer = if request.target.is_some() {
            answer.at(tree, EntityIx::ROOT)
        } else {
            answer
        };
        Ok(Answer {
            timeouts_fired: fired,
            explain: explanation.map(Box::new),
            ..answer
        })
    }

    /// An event for an entity that does not exist: it is made in the initial state first (S2.243). A refused event
    /// makes nothing (S2.129).
    fn first_event(&mut self, request: &EventRequest) -> Result<Answer, Error> {
        if !request.create {
            return Err(self.missing());
        }
        if let Some(expected) = request.event.expected_version.filter(|expected| *expected != 0) {
            return Err(Refusal::VersionConflict {
                expected,
                actual: None,
            }
            .into());
        }
        self.make(Params::new());
        let event = Event {
            expected_version: None,
            ..request.event.clone()
        };
        let answer = self.decide(&EventRequest {
            event,
            ..request.clone()
        });
        if answer.is_err() {
            self.tree = None;
            self.context_bytes = 2;
        }
        answer
    }

    /// Makes the entity, at version 1.
    pub(crate) fn make(&mut self, context: Params) {
        let machine = Arc::clone(&self.loaded.compiled.machine);
        let entity = Entity::create(machine, self.loaded.name.entity_id.clone(), context, self.now);
        self.written = self
            .written
            .saturating_add(entity.machine().regions().len().saturating_mul(400));
        self.tree = Some(Tree::new(entity));
    }

    /// About how many bytes the rows have that were decided.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// The entity as it would be after everything was decided.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    pub(crate) fn tree_mut(&mut self) -> Option<&mut Tree> {
        self.tree.as_mut()
    }

    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    /// That it does not exist.
    pub(crate) fn missing(&self) -> Error {
        let name = &self.loaded.name;
        Error::NoEntity {
            machine: name.machine_id.to_string(),
            entity: name.entity_id.to_string(),
        }
    }

    /// Applies the timeouts that are due, where an event is to see them (M5).
    pub(crate) fn catch_up(&mut self) -> Result<(), Error> {
        let exact = self.loaded.compiled.machine.rules().exact_timers;
        if exact && self.fire_due() {
            return Err(Error::TimeoutsPending { most: CATCH_UP_LIMIT });
        }
        Ok(())
    }

    /// Applies the timeouts that are due. Says whether more are than one request applies: by their number, or by what
    /// they write.
    pub(crate) fn fire_due(&mut self) -> bool {
        let Some(tree) = &mut self.tree else { return false };
        let most = CATCH_UP_LIMIT.saturating_sub(self.timeouts);
        let mut more = catch_up(tree, self.now, 0).more;
        for _ in 0..most {
            if !more || self.written > MAX_WRITTEN_BYTES {
                break;
            }
            let caught_up = catch_up(tree, self.now, 1);
            let written = caught_up.commits.iter().map(|commit| commit.bytes(0));
            self.written = written.fold(self.written, usize::saturating_add);
            self.timeouts = self.timeouts.saturating_add(caught_up.commits.len());
            self.parked = self.parked.saturating_add(caught_up.parked);
            self.commits.extend(caught_up.commits);
            self.moved.extend(caught_up.moved);
            more = caught_up.more;
        }
        more
    }

    /// How many timeouts were applied, and how many were parked.
    pub(crate) fn timeouts(&self) -> (usize, usize) {
        (self.timeouts, self.parked)
    }

    /// Marks entries whose timer was changed by hand.
    pub(crate) fn touch_timers(&mut self) {
        if let Some(tree) = &self.tree {
            self.moved
                .extend(tree.root().entries().map(|(region, _)| (EntityIx::ROOT, region)));
        }
    }

    /// The tree to go back to, where the event might make the context or its rows too large.
    fn undo_if_too_large(&self, request: &EventRequest) -> Option<Tree> {
        let bytes = self.context_bytes.saturating_add(request.params_bytes);
        // An event of a few rows cannot write so much.
        let regions = self.loaded.compiled.machine.regions().len();
        if bytes > MAX_CONTEXT_BYTES || regions > FEW_REGIONS {
            self.tree.clone()
        } else {
            None
        }
    }

    /// The key of the first row that was decided, for which a retry looks after its answer was lost: all of a batch is
    /// stored or nothing, so that one is enough.
    pub(crate) fn key(&self) -> Option<String> {
        Some(self.commits.first()?.rows.first()?.key.to_string())
    }

    /// What is to be written, if anything.
    pub(crate) fn write(&self) -> Option<TreeWrite> {
        let tree = self.tree.as_ref()?;
        let base = Base {
            name: self.loaded.name.clone(),
            uid: self.uid.clone(),
            version: self.base,
            revision: self.loaded.revision,
            created_at: self.created_at,
            created_context: None,
        };
        TreeWrite::new(base, tree, &self.commits, &self.moved, self.now)
    }

    /// What is to be written of an entity made with a context of its own.
    pub(crate) fn write_made(&self) -> Option<TreeWrite> {
        let tree = self.tree.as_ref()?;
        let base = Base {
            name: self.loaded.name.clone(),
            uid: self.uid.clone(),
            version: Version(0),
            revision: self.loaded.revision,
            created_at: self.created_at,
            created_context: Some(serde_json::to_string(tree.root().context()).unwrap_or_default()),
        };
        TreeWrite::new(base, tree, &[], &[], self.now)
    }

    /// Its incarnation.
    pub(crate) fn uid(&self) -> &str {
        &self.uid
    }

    /// Why an event would or would not move it, with the due timeouts applied in memory.
    pub(crate) fn explain(&mut self, event: &Event) -> Result<Explanation, Error> {
        self.catch_up()?;
        let tree = self.tree.as_ref().ok_or_else(|| self.missing())?;
        Ok(explain(tree, EntityIx::ROOT, event, self.now))
    }
}

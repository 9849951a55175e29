//! What comes of events for one tree: due timeouts, then event by event, in memory.

mod targets;

use std::sync::Arc;

use statewright_core::answer::Answer;
use statewright_core::cascade;
use statewright_core::commit::{Commit, Outcome, Refusal};
use statewright_core::entity::{Entity, Params};
use statewright_core::error::Error as Core;
use statewright_core::explain::{Explanation, PossibleEvent, events, explain};
use statewright_core::forward::{self, Delivered};
use statewright_core::ids::{EntityId, MachineId, Millis, Version};
use statewright_core::machine::RegionIx;
use statewright_core::sorted::{Gather, SortedMap};
use statewright_core::step::{self, Event};
use statewright_core::target::{self, TargetStep};
use statewright_core::timeouts::{CATCH_UP_LIMIT, catch_up};
use statewright_core::tree::{EntityIx, Tree};

use crate::database::{Statement, random_name};
use crate::error::Error;
use crate::load::EntityName;
use crate::once::Origin;
use crate::outbox::{EffectRow, Making, PresentedRow, effects_of, presented};
use crate::request::{self, EventRequest, MAX_CONTEXT_BYTES, MAX_WRITTEN_BYTES, json_bytes};
use crate::store::{self, TreeWrite};
use crate::trees::{Adoptable, Ended, Head, Heads, Loaded, Member, SeenAtPath};

/// With as many regions no event's rows reach their bound: params of 64 KiB, and what a definition can call for, in
/// each and in each of the joins that follow.
const FEW_REGIONS: usize = 16;

/// One tree on its way through a request: what was read, and what was decided since.
#[derive(Clone)]
pub(crate) struct Deciding<'a> {
    making: &'a Making<'a>,
    /// The tree as it is by now; none while its root does not exist.
    tree: Option<Tree>,
    /// By entity, in the order of the tree.
    members: Vec<Member>,
    /// The entities that were asked for.
    asked: SortedMap<EntityName, Asked>,
    /// The root's name.
    root: EntityName,
    head: Head,
    heads: Arc<Heads>,
    library: Option<Arc<statewright_core::tree::Library>>,
    /// What stands where a child was to be made, and is nobody's.
    adoptable: Vec<(MachineId, EntityId)>,
    /// All that stands there.
    occupied: Vec<(MachineId, EntityId)>,
    seen: Vec<crate::load::Seen>,
    /// The children that the last dry run would make.
    would_make: Vec<(MachineId, EntityId)>,
    commits: Vec<Commit>,
    moved: Vec<(EntityIx, RegionIx)>,
    /// What the commits call for.
    effects: Vec<EffectRow>,
    /// The transitions to be presented, where the tenant has subscriptions.
    presented: Vec<PresentedRow>,
    /// How many subscriptions there are.
    subscribed: usize,
    /// Whether what is being decided is to be followed by its effects (S2.114, S2.117).
    dispatches: bool,
    /// Whether what is being decided comes of a timeout, whoever's request found it due.
    timed: bool,
    /// The context of a root that is made, as JSON.
    made_with: Option<String>,
    /// About the bytes of the rows that were decided.
    written: usize,
    /// What of it are the effects of the event, or of the timeout, that is being decided.
    own: usize,
    timeouts: usize,
    parked: usize,
    now: Millis,
}

/// An entity that was asked for.
#[derive(Clone)]
struct Asked {
    ended: Option<Ended>,
    paths: Vec<Vec<TargetStep>>,
    seen_at_paths: Vec<SeenAtPath>,
}

impl<'a> Deciding<'a> {
    /// Begins with what was read. The time is read after the rows (M5).
    pub(crate) fn new(loaded: Loaded, now: Millis, making: &'a Making<'a>) -> Self {
        let root = loaded.root_name();
        let asked = Asked {
            ended: loaded.ended,
            paths: loaded.paths,
            seen_at_paths: loaded.seen_at_paths,
        };
        let (tree, members) = match loaded.family {
            Some(family) => {
                let mut family = Arc::unwrap_or_clone(family);
                family.tree.occupy(loaded.occupied.clone());
                (Some(family.tree), family.members)
            }
            None => (None, Vec::new()),
        };
        Self {
            making,
            tree,
            members,
            asked: std::iter::once((loaded.name, asked)).gather(),
            root,
            head: loaded.head,
            heads: loaded.heads,
            library: loaded.library,
            adoptable: names(loaded.adoptable),
            occupied: loaded.occupied,
            seen: loaded.seen,
            would_make: Vec::new(),
            commits: Vec::new(),
            moved: Vec::new(),
            effects: Vec::new(),
            presented: Vec::new(),
            subscribed: loaded.subscribed,
            dispatches: true,
            timed: false,
            made_with: None,
            written: 0,
            own: 0,
            timeouts: 0,
            parked: 0,
            now,
        }
    }

    /// Begins anew with what was read since.
    pub(crate) fn again(&self, loaded: Loaded, now: Millis) -> Self {
        Self::new(loaded, now, self.making)
    }

    /// Adds what was read, in the same batch, for another entity of the same tree.
    pub(crate) fn join(&mut self, loaded: Loaded) {
        let asked = Asked {
            ended: loaded.ended,
            paths: loaded.paths,
            seen_at_paths: loaded.seen_at_paths,
        };
        self.asked.insert(loaded.name, asked);
        self.seen.extend(loaded.seen);
        self.adoptable.extend(names(loaded.adoptable));
        self.occupied.extend(loaded.occupied);
        if let Some(tree) = &mut self.tree {
            tree.occupy(self.occupied.iter().cloned());
        }
    }

    fn uid(&self, entity: EntityIx) -> &str {
        self.members
            .get(entity.place())
            .map_or("", |member| member.uid.as_str())
    }

    /// The incarnation of an entity that was asked for, where it exists.
    pub(crate) fn uid_of(&self, name: &EntityName) -> Option<&str> {
        let ended = self.asked.get(name).and_then(|asked| asked.ended.as_ref());
        match (self.find(name), ended) {
            (Some(entity), _) => Some(self.uid(entity)),
            (None, Some(ended)) => Some(&ended.uid),
            (None, None) => None,
        }
    }

    /// Whether an entity is neither in the tree nor known to have ended.
    pub(crate) fn is_unknown(&self, name: &EntityName) -> bool {
        let ended = self.asked.get(name).is_some_and(|asked| asked.ended.is_some());
        !ended && self.find(name).is_none()
    }

    fn find(&self, name: &EntityName) -> Option<EntityIx> {
        self.tree.as_ref()?.find(&name.machine_id, &name.entity_id)
    }

    /// What an entity remembers under an event's identity: stored before, or decided earlier in this request.
    fn seen_at(&self, entity: EntityIx, event: &Event) -> Option<Arc<Params>> {
        let identity = event.identity()?;
        let decided = self.commits.iter().find_map(|commit| {
            let handed_on = commit.forwarded_by.contains(&entity);
            let row = commit
                .rows
                .iter()
                .find(|row| row.key == identity && (row.entity == entity || handed_on))?;
            row.event_params().cloned().map(Arc::new)
        });
        if decided.is_some() {
            return decided;
        }
        let (key, uid) = (identity.to_string(), self.uid(entity));
        let seen = self.seen.iter().find(|seen| seen.key == key && seen.uid == uid)?;
        Some(Arc::clone(&seen.params))
    }

    /// Applies one event to an entity that was asked for. What a refused one leaves behind is only the timeouts that
    /// were due (M5), and what stands before it.
    pub(crate) fn event(&mut self, name: &EntityName, request: &EventRequest) -> Result<Answer, Error> {
        if request.dry_run {
            let mut copy = self.clone();
            let answer = copy.decide(name, request);
            self.would_make = copy.children_made();
            return Ok(Answer {
                dry_run: true,
                ..answer?
            });
        }
        self.decide(name, request)
    }

    fn decide(&mut self, name: &EntityName, request: &EventRequest) -> Result<Answer, Error> {
        let Some(entity) = self.find(name) else {
            if let Some(ended) = self.asked.get(name).and_then(|asked| asked.ended.clone()) {
                return self.ended_event(&ended, request);
            }
            return self.first_event(name, request);
        };
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            return self.targeted(name, entity, path, request);
        }
        let fired = self.catch_up_for(entity, request)?;
        let answer = self.deliver(entity, request)?;
        Ok(Answer {
            timeouts_fired: fired,
            ..answer
        })
    }

    /// Whether an event was applied to an entity before.
    pub(crate) fn is_replay(&self, name: &EntityName, request: &EventRequest) -> bool {
        let entity = self.find(name);
        entity.is_some_and(|entity| self.seen_at(entity, &request.event).is_some())
    }

    /// Lets an event that is no replay see the timeouts that were due (M5). Says how many were.
    fn catch_up_for(&mut self, entity: EntityIx, request: &EventRequest) -> Result<usize, Error> {
        let Some(tree) = &self.tree else { return Ok(0) };
        let machine = tree.entity(entity).machine();
        if self.seen_at(entity, &request.event).is_some() || request.event.is_reserved(machine) {
            return Ok(0);
        }
        let before = self.timeouts;
        self.catch_up()?;
        Ok(self.timeouts.saturating_sub(before))
    }

    /// Applies an event to an instance: its own transitions where it was targeted, and those of its legacy children
    /// where it was not (S2.221).
    fn deliver(&mut self, entity: EntityIx, request: &EventRequest) -> Result<Answer, Error> {
        let undo = self.undo_if_too_large(request);
        let timestamp = request.event.timestamp_at(self.now);
        let Some(mut tree) = self.tree.take() else {
            return Err(Error::Core(Core::Corrupt {
                what: "the tree".to_owned(),
                problem: "it has no root".to_owned(),
            }));
        };
        let explanation = request
            .explain
            .then(|| explain(&tree, entity, &request.event, request.target.is_some(), self.now));
        let delivered = if request.target.is_some() {
            let seen = self.seen_at(entity, &request.event);
            Delivered {
                before: Vec::new(),
                previous: tree.entity(entity).configuration(),
                outcome: step::apply(&mut tree, entity, &request.event, seen.as_deref(), self.now),
                child: None,
            }
        } else {
            let seen = |entity| self.seen_at(entity, &request.event);
            forward::deliver(&mut tree, entity, &request.event, &seen, self.now)
        };
        let answer = Answer::delivered(&tree, entity, &delivered, &request.event, timestamp);
        self.tree = Some(tree);
        let commits = match self.weigh(&delivered, request, undo.as_ref()) {
            Ok(()) => delivered,
            Err(error) => {
                self.tree = undo;
                return Err(error);
            }
        };
        self.dispatches = request.dispatch;
        self.own = 0;
        for commit in commits.before {
            self.take(commit);
        }
        let refused = match commits.outcome {
            Outcome::Commit(commit) => {
                self.take(*commit);
                None
            }
            Outcome::Duplicate | Outcome::NoTransition => None,
            Outcome::Refusal(refusal) => Some(refusal),
        };
        self.dispatches = true;
        if let Some(refusal) = refused {
            return Err(refusal.into());
        }
        self.told(answer, entity, request, explanation)
    }

    fn told(
        &self,
        answer: Option<Answer>,
        entity: EntityIx,
        request: &EventRequest,
        explanation: Option<Explanation>,
    ) -> Result<Answer, Error> {
        let (Some(answer), Some(tree)) = (answer, &self.tree) else {
            return Err(no_entity(&self.root));
        };
        let answer = if request.target.is_some() {
            answer.at(tree, entity)
        } else {
            answer
        };
        Ok(Answer {
            explain: explanation.map(Box::new),
            ..answer
        })
    }

    /// Whether what an event writes is within the bounds; counts it then.
    fn weigh(
        &mut self,
        delivered: &Delivered,
        request: &EventRequest,
        undo: Option<&Tree>,
    ) -> Result<(), Error> {
        let Outcome::Commit(commit) = &delivered.outcome else {
            return Ok(());
        };
        let Some(tree) = &self.tree else { return Ok(()) };
        let before = delivered.before.iter().map(|commit| commit.bytes(0));
        let written = before.fold(commit.bytes(request.params_bytes), usize::saturating_add);
        if written > MAX_WRITTEN_BYTES && undo.is_some() {
            return Err(Error::Core(Core::TooLarge {
                what: "what the event writes",
                bytes: written,
                most: MAX_WRITTEN_BYTES,
            }));
        }
        let known = self.members.get(commit.target.place());
        let mut bytes = known
            .map_or(2, |member| member.context_bytes)
            .saturating_add(request.params_bytes);
        if bytes > MAX_CONTEXT_BYTES && undo.is_some() {
            bytes = json_bytes(tree.entity(commit.target).context());
            if bytes > MAX_CONTEXT_BYTES {
                return Err(Error::Core(Core::TooLarge {
                    what: "the context with the event's params",
                    bytes,
                    most: MAX_CONTEXT_BYTES,
                }));
            }
        }
        let others = self.members.iter().map(|member| member.context_bytes);
        let all = others.fold(request.params_bytes, usize::saturating_add);
        if all > MAX_TREE_BYTES && self.members.len() > 1 {
            return Err(Error::Core(Core::TooLarge {
                what: "the contexts of the tree with the event's params",
                bytes: all,
                most: MAX_TREE_BYTES,
            }));
        }
        self.written = self.written.saturating_add(written);
        self.sync();
        if let Some(member) = self.members.get_mut(commit.target.place()) {
            member.context_bytes = bytes;
        }
        Ok(())
    }

    /// Keeps a commit that was decided.
    fn take(&mut self, commit: Commit) {
        self.sync();
        if self.dispatches
            && let Some(tree) = &self.tree
        {
            let members = &self.members;
            let uid = |entity: EntityIx| {
                members
                    .get(entity.place())
                    .map_or_else(String::new, |member| member.uid.clone())
            };
            let tenant = self.root.tenant.as_str();
            let timer = self.timed.then(|| Origin::timer(&self.making.origin.trace));
            let making = Making {
                origin: timer.as_ref().unwrap_or(self.making.origin),
                ..*self.making
            };
            let before = self.own;
            let effects = effects_of(&commit, tree, tenant, &uid, &making, &mut self.own);
            self.effects.extend(effects);
            if self.subscribed > 0 {
                let presented = presented(&commit, tree, &making, self.now, self.subscribed, &mut self.own);
                self.presented.extend(presented);
            }
            self.written = self.written.saturating_add(self.own.saturating_sub(before));
        }
        self.commits.push(commit);
    }

    /// Names the entities that were made since.
    fn sync(&mut self) {
        let Some(tree) = &self.tree else { return };
        let made = tree.entities().skip(self.members.len());
        let made: Vec<Member> = made
            .map(|(_, entity)| {
                let head = self.heads.get(entity.machine().id().as_str());
                Member {
                    uid: random_name(self.making.random),
                    revision: head.map_or(self.head.revision, |head| head.revision),
                    base: Version(0),
                    created_at: self.now,
                    context_bytes: 2,
                }
            })
            .collect();
        self.members.extend(made);
    }

    /// An event for an entity that does not exist: it is made in the initial state first (S2.243). A refused event
    /// makes nothing (S2.129).
    fn first_event(&mut self, name: &EntityName, request: &EventRequest) -> Result<Answer, Error> {
        // A tree that has a root has no place for another.
        if !request.create || self.tree.is_some() {
            return Err(no_entity(name));
        }
        request::check_given(&request.id_path, &name.entity_id)?;
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            let machine = &self.head.compiled.machine;
            target::check(machine, self.library.as_ref(), &path.steps, &path.path)?;
            return Err(Error::Core(Core::Refused(Refusal::TargetNotActive {
                path: path.path.clone(),
                problem: format!("there is no entity `{}`", name.entity_id),
            })));
        }
        if let Some(expected) = request.event.expected_version.filter(|expected| *expected != 0) {
            return Err(Refusal::VersionConflict {
                expected,
                actual: None,
            }
            .into());
        }
        let machine = &self.head.compiled.machine;
        if request.event.is_reserved(machine) {
            let event_type = Arc::clone(&request.event.event_type);
            return Err(Refusal::ReservedEventType { event_type }.into());
        }
        let undo = self.clone();
        self.make(Params::new())?;
        let event = Event {
            expected_version: None,
            ..request.event.clone()
        };
        let request = EventRequest {
            event,
            ..request.clone()
        };
        let answer = self.deliver(EntityIx::ROOT, &request);
        if answer.is_err() {
            *self = undo;
        }
        answer
    }

    /// Makes the root, at version 1, with the children of its initial states.
    pub(crate) fn make(&mut self, context: Params) -> Result<(), Error> {
        let machine = Arc::clone(&self.head.compiled.machine);
        self.written = self
            .written
            .saturating_add(machine.regions().len().saturating_mul(400));
        self.made_with = (!context.is_empty()).then(|| serde_json::to_string(&context).unwrap_or_default());
        let entity = Entity::create(machine, self.root.entity_id.clone(), context, self.now);
        let mut tree = Tree::new(entity, self.library.clone());
        tree.occupy(self.occupied.clone());
        let commit = cascade::create(&mut tree, self.now)?;
        self.tree = Some(tree);
        self.members.clear();
        self.members.push(Member {
            uid: random_name(self.making.random),
            revision: self.head.revision,
            base: Version(0),
            created_at: self.now,
            context_bytes: self.made_with.as_ref().map_or(2, String::len),
        });
        self.take(*commit);
        Ok(())
    }

    /// About how many bytes the rows have that were decided.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// The tree as it would be after everything was decided.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// An entity that was asked for; none where it ended and its tree does not know it any more.
    ///
    /// # Errors
    /// It does not exist.
    pub(crate) fn existing(&self, name: &EntityName) -> Result<Option<EntityIx>, Error> {
        let found = self.find(name);
        let ended = self.asked.get(name).is_some_and(|asked| asked.ended.is_some());
        if found.is_none() && !ended {
            return Err(no_entity(name));
        }
        Ok(found)
    }

    /// An entity that was asked for.
    ///
    /// # Errors
    /// It does not exist, or has ended.
    fn live(&self, name: &EntityName) -> Result<EntityIx, Error> {
        let over = |entity: &Entity, status| {
            Error::Core(Core::Refused(Refusal::InstanceNotActive {
                entity: entity.id().clone(),
                status,
            }))
        };
        let Some(entity) = self.find(name) else {
            let ended = self.asked.get(name).and_then(|asked| asked.ended.as_ref());
            return Err(ended.map_or_else(
                || no_entity(name),
                |ended| over(&ended.entity, ended.status.name()),
            ));
        };
        let tree = self.tree.as_ref().ok_or_else(|| no_entity(name))?;
        match tree.place(entity).filter(|_| !tree.is_live(entity)) {
            Some(place) => Err(over(tree.entity(entity), place.status.name())),
            None => Ok(entity),
        }
    }

    /// Applies the timeouts that are due, where an event is to see them (M5).
    pub(crate) fn catch_up(&mut self) -> Result<(), Error> {
        let Some(tree) = &self.tree else { return Ok(()) };
        // One tree has one contract.
        let exact = tree.root().machine().rules().exact_timers;
        if exact && self.fire_due() {
            return Err(Error::Core(Core::TimeoutsPending { most: CATCH_UP_LIMIT }));
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
            let Some(tree) = &mut self.tree else { break };
            if !more || self.written > MAX_WRITTEN_BYTES {
                break;
            }
            let caught_up = catch_up(tree, self.now, 1);
            let written = caught_up.commits.iter().map(|commit| commit.bytes(0));
            self.written = written.fold(self.written, usize::saturating_add);
            self.timeouts = self.timeouts.saturating_add(caught_up.commits.len());
            self.parked = self.parked.saturating_add(caught_up.parked);
            self.timed = true;
            self.own = 0;
            for commit in caught_up.commits {
                self.take(commit);
            }
            self.timed = false;
            self.moved.extend(caught_up.moved);
            more = caught_up.more;
        }
        more
    }

    /// How many timeouts were applied, and how many were parked.
    pub(crate) fn timeouts(&self) -> (usize, usize) {
        (self.timeouts, self.parked)
    }

    /// Frees the parked timers of an entity (M6). Says how many there were.
    pub(crate) fn release_timers(&mut self, entity: EntityIx) -> usize {
        let Some(tree) = &mut self.tree else { return 0 };
        let released = tree.entity_mut(entity).release_timers();
        self.touch_timers(entity);
        released
    }

    /// Marks entries whose timer was changed by hand, or may be stored as another revision left it.
    pub(crate) fn touch_timers(&mut self, entity: EntityIx) {
        if let Some(tree) = &self.tree {
            let entries = tree.entity(entity).entries();
            self.moved.extend(entries.map(|(region, _)| (entity, region)));
        }
    }

    /// The same, of an incarnation.
    pub(crate) fn touch_timers_of(&mut self, uid: &str) {
        if let Some(place) = self.members.iter().position(|member| member.uid == uid) {
            self.touch_timers(EntityIx::at(place));
        }
    }

    /// The same, of an entity by name.
    pub(crate) fn touch_timers_at(&mut self, name: &EntityName) {
        if let Some(entity) = self.find(name) {
            self.touch_timers(entity);
        }
    }

    /// The tree to go back to, where the event might make a context or its rows too large.
    fn undo_if_too_large(&self, request: &EventRequest) -> Option<Tree> {
        let tree = self.tree.as_ref()?;
        let fits =
            |member: &Member| member.context_bytes.saturating_add(request.params_bytes) <= MAX_CONTEXT_BYTES;
        // An event of a few rows cannot write so much.
        let few = tree.root().machine().regions().len() <= FEW_REGIONS;
        let alone = self.members.len() == 1 && !tree.root().machine().has_children();
        if alone && few && self.members.iter().all(fits) {
            return None;
        }
        Some(tree.clone())
    }

    /// The first row that was decided, for which a retry looks after its answer was lost: all of a batch is stored or
    /// nothing, so that one is enough.
    pub(crate) fn key(&self) -> Option<(String, String)> {
        let row = self.commits.iter().find_map(|commit| commit.rows.first())?;
        Some((self.uid(row.entity).to_owned(), row.key.to_string()))
    }

    /// The children that it makes: machine and id.
    pub(crate) fn children_made(&self) -> Vec<(MachineId, EntityId)> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let made = self.commits.iter().flat_map(|commit| &commit.made);
        made.filter(|made| **made != EntityIx::ROOT)
            .map(|made| {
                let entity = tree.entity(*made);
                (entity.machine().id().clone(), entity.id().clone())
            })
            .collect()
    }

    /// The children that a dry run of an event would make: whether something stands there is to be read before it is told.
    pub(crate) fn would_make(
        &mut self,
        name: &EntityName,
        request: &EventRequest,
    ) -> Vec<(MachineId, EntityId)> {
        let request = EventRequest {
            dry_run: true,
            ..request.clone()
        };
        // Only what it would make matters here; what comes of it is told when it is decided again.
        drop(self.event(name, &request));
        std::mem::take(&mut self.would_make)
    }

    /// Whether it makes the root.
    pub(crate) fn makes_root(&self) -> bool {
        self.members.first().is_some_and(|root| root.base == Version(0))
    }

    /// What is to be written, if anything.
    pub(crate) fn write(&self) -> Option<TreeWrite> {
        let mut write = TreeWrite::new(
            &self.root.tenant,
            self.tree.as_ref()?,
            &self.members,
            &self.commits,
            &self.moved,
            self.made_with.as_deref(),
            self.now,
        )?;
        let uid = |of: EntityIx| self.uid(of).to_owned();
        write.add_effects(self.tree.as_ref()?, &uid, &self.effects, &self.presented);
        Some(write)
    }

    /// A child that a refusal could not make, since an entity stands there that is nobody's: it can be adopted (R9).
    pub(crate) fn adoption(&self, error: &Error) -> Option<(MachineId, EntityId)> {
        let Error::Core(Core::Refused(Refusal::InstanceConflict {
            machine,
            entity,
            managed: false,
            ..
        })) = error
        else {
            return None;
        };
        self.adoptable
            .iter()
            .find(|(of, id)| of == machine && id == entity)
            .cloned()
    }

    /// The incarnations, by entity.
    pub(crate) fn uids(&self) -> Vec<String> {
        self.members.iter().map(|member| member.uid.clone()).collect()
    }

    /// The statements that make an entity a legacy child of the one whose state has its id. None where nobody has.
    pub(crate) fn adopting(&self, child: &(MachineId, EntityId)) -> Option<Vec<Statement>> {
        let tree = self.tree.as_ref()?;
        let (parent, region, ..) = tree
            .legacy_places()
            .find(|(.., machine, id)| (machine, id) == (&child.0, &child.1))?;
        Some(store::adopt(
            &self.root.tenant,
            tree,
            &self.members,
            (parent, region),
            child,
            self.now,
        ))
    }

    /// Why an event would or would not move an instance, with the due timeouts applied in memory.
    pub(crate) fn explain(
        &mut self,
        name: &EntityName,
        request: &EventRequest,
    ) -> Result<Explanation, Error> {
        self.catch_up()?;
        let entity = self.find(name);
        let (Some(tree), Some(entity)) = (&self.tree, entity) else {
            self.live(name)?;
            return Err(no_entity(name));
        };
        let entity = match &request.target {
            Some(path) => {
                target::check(
                    tree.entity(entity).machine(),
                    self.library.as_ref(),
                    &path.steps,
                    &path.path,
                )?;
                target::resolve(tree, entity, &path.steps, &path.path)?
            }
            None => entity,
        };
        Ok(explain(
            tree,
            entity,
            &request.event,
            request.target.is_some(),
            self.now,
        ))
    }

    /// The events that an entity and what lives below it can take, with the due timeouts applied in memory.
    pub(crate) fn events(&mut self, name: &EntityName) -> Result<Vec<PossibleEvent>, Error> {
        self.catch_up()?;
        let Some(entity) = self.existing(name)? else {
            // It has ended.
            return Ok(Vec::new());
        };
        let tree = self.tree.as_ref().ok_or_else(|| no_entity(name))?;
        Ok(events(tree, entity, self.now))
    }
}

/// About the most bytes of the contexts of one tree: it is read as a whole.
pub(crate) const MAX_TREE_BYTES: usize = 8 * 1024 * 1024;

fn names(adoptable: Vec<Adoptable>) -> Vec<(MachineId, EntityId)> {
    let names = adoptable.into_iter();
    names.map(|adoptable| (adoptable.machine, adoptable.id)).collect()
}

fn no_entity(name: &EntityName) -> Error {
    Error::Core(Core::NoEntity {
        machine: name.machine_id.to_string(),
        entity: name.entity_id.to_string(),
    })
}

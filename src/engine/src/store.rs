//! From decisions to rows: what a commit writes, set-wise, in one batch.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use statewright_core::answer::{ActionView, OwnerView, actions_of};
use statewright_core::commit::Commit;
use statewright_core::entity::Timer;
use statewright_core::ids::{EntityId, MachineId, Millis, Revision, TenantId, Version};
use statewright_core::machine::RegionIx;
use statewright_core::tree::{EntityIx, Status, Tree};

use crate::database::Statement;
use crate::error::Error;
use crate::load::{decode, rows_of};
use crate::trees::Member;

/// Most bytes of one JSON parameter: D1 takes 2 MB.
pub(crate) const MOST_PARAMETER_BYTES: usize = 1_500_000;

/// The filter of a set-wise commit: only the trees that nothing has changed since they were read.
macro_rules! held {
    ($tree:literal) => {
        concat!(
            " WHERE r.value->>",
            $tree,
            " IN (SELECT k.value FROM held x CROSS JOIN json_each(x.trees) k WHERE x.commit_id = ?2)"
        )
    };
}

macro_rules! write_entities {
    ($filter:expr) => {
        concat!(
            "INSERT INTO entities (tenant, machine_id, entity_id, uid, revision, state_version, next_seq, context, \
               initial_context, created_at, updated_at) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               coalesce(r.value->>8, ''), coalesce(r.value->>8, ''), r.value->>9, r.value->>10 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (tenant, machine_id, entity_id) DO UPDATE SET uid = excluded.uid, \
               revision = excluded.revision, state_version = excluded.state_version, next_seq = excluded.next_seq, \
               context = CASE WHEN excluded.context = '' THEN context ELSE excluded.context END, \
               updated_at = excluded.updated_at"
        )
    };
}

macro_rules! write_entries {
    ($filter:expr) => {
        concat!(
            "INSERT INTO entries (uid, region, tenant, machine_id, entity_id, state, seq, entered_at, key, revision, \
               due_at, wake_at, parked) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12, r.value->>13 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (uid, region) DO UPDATE SET state = excluded.state, seq = excluded.seq, \
               entered_at = excluded.entered_at, key = excluded.key, revision = excluded.revision, \
               due_at = excluded.due_at, wake_at = excluded.wake_at, failures = 0, error = NULL, parked = excluded.parked"
        )
    };
}

/// Which ids history rows got: [uid, identity key, id].
macro_rules! numbered {
    () => {
        " RETURNING json_array(uid, identity_key, id)"
    };
}

macro_rules! write_history {
    ($filter:expr) => {
        concat!(
            "INSERT INTO history (uid, commit_id, revision, region, from_state, to_state, event_type, event_params, \
               actions, timestamp, created_at, identity_key, cause) \
             SELECT r.value->>1, ?2, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12 \
             FROM json_each(?1) r",
            $filter
        )
    };
}

/// Entities of one commit; the triggers abort where one moved. `WHERE true` tells the parser that no join follows.
pub(crate) const ENTITIES: &str = write_entities!(" WHERE true");
/// Entries of one commit.
pub(crate) const ENTRIES: &str = write_entries!(" WHERE true");
/// History rows of one commit.
pub(crate) const HISTORY: &str = write_history!("");
/// Entities of a set-wise commit.
pub(crate) const HELD_ENTITIES: &str = write_entities!(held!("0"));
/// Entries of a set-wise commit.
pub(crate) const HELD_ENTRIES: &str = write_entries!(held!("0"));
/// History rows of a set-wise commit.
pub(crate) const HELD_HISTORY: &str = write_history!(held!("0"));

/// The same, saying which rows got which ids.
pub(crate) const HISTORY_NUMBERED: &str = concat!(write_history!(""), numbered!());
/// The same, of a set-wise commit.
pub(crate) const HELD_HISTORY_NUMBERED: &str = concat!(write_history!(held!("0")), numbered!());

macro_rules! write_timers {
    ($filter:expr) => {
        concat!(
            "UPDATE entries SET due_at = t.due_at, wake_at = t.wake_at, parked = t.parked, \
               revision = t.revision, failures = 0, error = NULL \
             FROM (SELECT r.value->>1 AS uid, r.value->>2 AS region, r.value->>3 AS seq, r.value->>4 AS due_at, \
                 r.value->>5 AS wake_at, r.value->>6 AS parked, r.value->>7 AS revision, \
                 e.state_version = r.value->>11 AS holds \
               FROM json_each(?1) r CROSS JOIN entities e ON e.tenant = r.value->>8 AND e.machine_id = r.value->>9 \
                 AND e.entity_id = r.value->>10",
            $filter,
            ") t WHERE entries.uid = t.uid AND entries.region = t.region AND entries.seq = t.seq AND t.holds"
        )
    };
}

/// Timers that moved without a commit: of the same entry instance only, and only while the version stands.
pub(crate) const TIMERS: &str = write_timers!("");
/// Such timers of a set-wise commit. That the version stands does not suffice there: a tree that another writer
/// brought to the very version that its own commit would have made is not held.
pub(crate) const HELD_TIMERS: &str = write_timers!(held!("0"));

macro_rules! write_instances {
    ($filter:expr) => {
        concat!(
            "INSERT INTO instances (uid, tenant, machine_id, entity_id, root_uid, root_machine, root_entity, parent_uid, \
               parent_machine, parent_entity, region, state, seq, kind, status, depth, path, started, ended, current, \
               cancelled_with, first_seq) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12, r.value->>13, r.value->>14, \
               r.value->>15, r.value->>16, r.value->>17, r.value->>18, r.value->>19, r.value->>20, r.value->>21, r.value->>22 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (uid) DO UPDATE SET seq = excluded.seq, status = excluded.status, path = excluded.path, \
               ended = excluded.ended, current = excluded.current, cancelled_with = excluded.cancelled_with"
        )
    };
}

/// Places of children of one commit; a trigger aborts where the parent is gone, or in another tree.
pub(crate) const INSTANCES: &str = write_instances!(" WHERE true");
/// Places of children of a set-wise commit.
pub(crate) const HELD_INSTANCES: &str = write_instances!(held!("0"));

/// Makes an entity a legacy child, if it is nobody's: [tenant, machine, entity, root's uid, machine and entity, parent's
/// uid, machine and entity, region, state, seq, time].
pub(crate) const ADOPT: &str = "INSERT INTO instances (uid, tenant, machine_id, entity_id, root_uid, root_machine, \
       root_entity, parent_uid, parent_machine, parent_entity, region, state, seq, kind, status, depth, path, started, \
       ended, current, cancelled_with, first_seq) \
     SELECT e.uid, e.tenant, e.machine_id, e.entity_id, ?1->>3, ?1->>4, ?1->>5, ?1->>6, ?1->>7, ?1->>8, ?1->>9, ?1->>10, \
       ?1->>11, 'legacy', 'active', 0, '[]', ?1->>12, NULL, 1, NULL, ?1->>11 \
     FROM entities e WHERE e.tenant = ?1->>0 AND e.machine_id = ?1->>1 AND e.entity_id = ?1->>2";

/// Brings what lived below it into its new tree: the same row.
pub(crate) const ADOPT_BELOW: &str = "UPDATE instances SET root_uid = ?1->>3, root_machine = ?1->>4, root_entity = ?1->>5 \
     WHERE root_uid = (SELECT e.uid FROM entities e WHERE e.tenant = ?1->>0 AND e.machine_id = ?1->>1 \
       AND e.entity_id = ?1->>2)";

/// The statements that make an entity the legacy child of a region's state.
pub(crate) fn adopt(
    tenant: &TenantId,
    tree: &Tree,
    members: &[Member],
    (parent, region): (EntityIx, RegionIx),
    (machine, id): &(MachineId, EntityId),
    now: Millis,
) -> Vec<Statement> {
    let uid = |ix: EntityIx| members.get(ix.place()).map_or("", |member| member.uid.as_str());
    let (root, above) = (tree.root(), tree.entity(parent));
    let entry = above.entry(region);
    let row = serde_json::json!([
        tenant,
        machine,
        id,
        uid(EntityIx::ROOT),
        root.machine().id(),
        root.id(),
        uid(parent),
        above.machine().id(),
        above.id(),
        above.machine().region(region).id,
        above.machine().state(entry.state).name,
        entry.seq,
        now,
    ])
    .to_string();
    vec![
        Statement::new(ADOPT, [row.as_str().into()]),
        Statement::new(ADOPT_BELOW, [row.into()]),
    ]
}

macro_rules! write_forwards {
    ($filter:expr) => {
        concat!(
            "INSERT INTO forwards (uid, identity_key, to_uid) SELECT r.value->>1, r.value->>2, r.value->>3 \
             FROM json_each(?1) r",
            $filter
        )
    };
}

/// What is remembered of events that were handed on (M11).
pub(crate) const FORWARDS: &str = write_forwards!("");
/// The same, of a set-wise commit.
pub(crate) const HELD_FORWARDS: &str = write_forwards!(held!("0"));

/// Records which trees of a set-wise commit hold, of each all entities that it writes: [tree, tenant, machine, entity,
/// uid, version, revision], where uid and version are `''` and 0 for one to be made. Gives their numbers, those of the
/// statements before it included.
pub(crate) const HOLD: &str = "INSERT INTO held (commit_id, trees) \
     SELECT ?2, json_group_array(tree) FROM (SELECT t.value->>0 AS tree FROM json_each(?1) t \
       LEFT JOIN entities e ON e.tenant = t.value->>1 AND e.machine_id = t.value->>2 AND e.entity_id = t.value->>3 \
       GROUP BY t.value->>0 HAVING min(coalesce(e.uid, '') = t.value->>4 AND coalesce(e.state_version, 0) = t.value->>5 \
         AND EXISTS (SELECT 1 FROM revisions v WHERE v.tenant = t.value->>1 AND v.machine_id = t.value->>2 \
           AND v.revision = t.value->>6 AND v.effective = t.value->>6) \
         AND (e.uid IS NOT NULL OR EXISTS (SELECT 1 FROM machines m WHERE m.tenant = t.value->>1 \
           AND m.machine_id = t.value->>2 AND m.head = t.value->>6 AND m.deleted = 0)))) WHERE true \
     ON CONFLICT (commit_id) DO UPDATE SET trees = (SELECT json_group_array(value) FROM ( \
       SELECT value FROM json_each(held.trees) UNION ALL SELECT value FROM json_each(excluded.trees))) \
     RETURNING trees";

/// Ends a set-wise commit.
pub(crate) const RELEASE: &str = "DELETE FROM held WHERE commit_id = ?1";

/// What is written of one tree.
#[derive(Debug)]
pub(crate) struct TreeWrite {
    tenant: TenantId,
    /// The entities that it reads and writes, each once.
    names: Vec<Named>,
    entities: Vec<EntityRow>,
    entries: Vec<EntryRow>,
    history: Vec<HistoryRow>,
    timers: Vec<TimerRow>,
    instances: Vec<InstanceRow>,
    forwards: Vec<(String, String, String)>,
}

/// An entity of a tree that is written, by its place in [`TreeWrite::names`].
type NameIx = usize;

#[derive(Debug)]
struct Named {
    machine: MachineId,
    entity: EntityId,
    uid: String,
    /// The version that was read; 0 for one that is made.
    base: Version,
    revision: Revision,
    /// The version that the last commit makes.
    version: Version,
}

#[derive(Debug)]
struct EntityRow {
    of: NameIx,
    version: Version,
    next_seq: u64,
    /// None keeps what is stored.
    context: Option<String>,
    created_at: Millis,
    updated_at: Millis,
}

#[derive(Debug)]
struct EntryRow {
    of: NameIx,
    region: String,
    state: String,
    seq: u64,
    entered_at: Millis,
    key: Option<String>,
    timer: TimerColumns,
}

/// `due_at`, `wake_at`, `parked`.
#[derive(Debug, Serialize)]
struct TimerColumns(Option<Millis>, Option<Millis>, Option<String>);

impl From<&Timer> for TimerColumns {
    fn from(timer: &Timer) -> Self {
        match timer {
            Timer::Off => Self(None, None, None),
            Timer::Armed(due) => Self(Some(*due), Some(*due), None),
            Timer::Parked { due, error } => Self(Some(*due), None, Some(error.to_string())),
        }
    }
}

#[derive(Debug)]
struct HistoryRow {
    of: NameIx,
    region: String,
    from: String,
    to: String,
    event_type: String,
    params: String,
    actions: String,
    timestamp: i64,
    created_at: Millis,
    key: String,
    cause: String,
}

#[derive(Debug)]
struct TimerRow {
    of: NameIx,
    region: String,
    seq: u64,
    timer: TimerColumns,
}

#[derive(Debug)]
struct InstanceRow {
    of: NameIx,
    root: (String, MachineId, EntityId),
    parent: (String, MachineId, EntityId),
    region: String,
    state: String,
    seq: u64,
    first_seq: u64,
    managed: bool,
    status: Status,
    depth: u32,
    path: String,
    started: Millis,
    ended: Option<Millis>,
    current: bool,
    cancelled_with: Option<String>,
}

/// What of a tree is being written.
struct Writing<'a> {
    tree: &'a Tree,
    members: &'a [Member],
    write: TreeWrite,
    /// By entity.
    named: BTreeMap<EntityIx, NameIx>,
    now: Millis,
}

impl<'a> Writing<'a> {
    fn member(&self, entity: EntityIx) -> Option<&'a Member> {
        self.members.get(entity.place())
    }

    fn uid(&self, entity: EntityIx) -> &'a str {
        self.member(entity).map_or("", |member| &member.uid)
    }

    fn name(&mut self, ix: EntityIx) -> NameIx {
        if let Some(name) = self.named.get(&ix) {
            return *name;
        }
        let entity = self.tree.entity(ix);
        let (base, revision) = self
            .member(ix)
            .map_or((Version(0), Revision(0)), |member| (member.base, member.revision));
        self.write.names.push(Named {
            machine: entity.machine().id().clone(),
            entity: entity.id().clone(),
            uid: self.uid(ix).to_owned(),
            base,
            revision,
            version: entity.version(),
        });
        let name = self.write.names.len().saturating_sub(1);
        self.named.insert(ix, name);
        name
    }

    fn ids(&self, ix: EntityIx) -> (String, MachineId, EntityId) {
        let entity = self.tree.entity(ix);
        (
            self.uid(ix).to_owned(),
            entity.machine().id().clone(),
            entity.id().clone(),
        )
    }

    /// The rows of one commit. `contexts` is of whom the context is to be stored: with their last commit.
    fn commit(&mut self, commit: &Commit, contexts: &mut BTreeMap<EntityIx, usize>, made_with: Option<&str>) {
        for (ix, version) in &commit.writes {
            let of = self.name(*ix);
            let entity = self.tree.entity(*ix);
            let last = contexts.get_mut(ix).is_some_and(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            });
            let context = if commit.made.contains(ix) {
                let made_with = made_with.filter(|_| *ix == EntityIx::ROOT);
                Some(made_with.unwrap_or("{}").to_owned())
            } else {
                last.then(|| json_text(entity.context()))
            };
            self.write.entities.push(EntityRow {
                of,
                version: *version,
                next_seq: entity.next_seq().0,
                context,
                created_at: self.member(*ix).map_or(self.now, |member| member.created_at),
                updated_at: self.now,
            });
        }
        for row in &commit.rows {
            let of = self.name(row.entity);
            let machine = self.tree.entity(row.entity).machine();
            let (region, from, to) = row.names(machine);
            let actions: Vec<ActionView> = actions_of(machine, row).collect();
            self.write.history.push(HistoryRow {
                of,
                region: region.into_owned(),
                from: from.into_owned(),
                to: to.into_owned(),
                event_type: row.event_type().to_owned(),
                params: row.event_params().map_or_else(|| "{}".to_owned(), json_text),
                actions: if actions.is_empty() {
                    "[]".to_owned()
                } else {
                    json_text(&actions)
                },
                timestamp: row.timestamp,
                created_at: self.now,
                key: row.key.to_string(),
                cause: json_text(&row.cause.to_json(self.tree)),
            });
        }
        let first = commit.rows.iter().find(|row| row.entity == commit.target);
        for handed_on in &commit.forwarded_by {
            let Some(row) = first else { continue };
            let (by, to) = (self.uid(*handed_on).to_owned(), self.uid(commit.target).to_owned());
            self.write.forwards.push((by, row.key.to_string(), to));
        }
    }

    /// The entries of an entity that were made or whose timers moved.
    fn entries(&mut self, ix: EntityIx, written: impl Fn(RegionIx) -> bool, moved: impl Fn(RegionIx) -> bool) {
        let entity = self.tree.entity(ix);
        let machine = entity.machine();
        for (region, entry) in entity.entries() {
            let id = machine.region(region).id.to_string();
            if written(region) {
                let of = self.name(ix);
                self.write.entries.push(EntryRow {
                    of,
                    region: id,
                    state: machine.state(entry.state).name.to_string(),
                    seq: entry.seq.0,
                    entered_at: entry.entered_at,
                    key: entry.key.as_ref().map(ToString::to_string),
                    timer: (&entry.timer).into(),
                });
            } else if moved(region) {
                let of = self.name(ix);
                self.write.timers.push(TimerRow {
                    of,
                    region: id,
                    seq: entry.seq.0,
                    timer: (&entry.timer).into(),
                });
            }
        }
    }

    /// Where a child hangs by now.
    fn instance(&mut self, ix: EntityIx) {
        let Some(place) = self.tree.place(ix) else { return };
        let of = self.name(ix);
        let machine = self.tree.entity(place.parent).machine();
        self.write.instances.push(InstanceRow {
            of,
            root: self.ids(EntityIx::ROOT),
            parent: self.ids(place.parent),
            region: machine.region(place.region).id.to_string(),
            state: machine.state(place.state).name.to_string(),
            seq: place.seq.0,
            first_seq: place.first_seq.0,
            managed: place.managed,
            status: place.status,
            depth: place.depth,
            path: json_text(&OwnerView::path(self.tree, ix)),
            started: place.started,
            ended: place.ended,
            current: place.current,
            cancelled_with: place.cancelled_with.map(|top| self.uid(top).to_owned()),
        });
    }
}

impl TreeWrite {
    /// What to write of a tree: its commits, and the timers that moved without one. `None` where that is nothing.
    /// `made_with` is the context with which the root was made.
    pub(crate) fn new(
        tenant: &TenantId,
        tree: &Tree,
        members: &[Member],
        commits: &[Commit],
        moved: &[(EntityIx, RegionIx)],
        made_with: Option<&str>,
        now: Millis,
    ) -> Option<Self> {
        let mut writing = Writing {
            tree,
            members,
            write: Self {
                tenant: tenant.clone(),
                names: Vec::new(),
                entities: Vec::new(),
                entries: Vec::new(),
                history: Vec::new(),
                timers: Vec::new(),
                instances: Vec::new(),
                forwards: Vec::new(),
            },
            named: BTreeMap::new(),
            now,
        };
        // Each changed context is stored once: with the last commit that writes its entity.
        let mut contexts: BTreeMap<EntityIx, usize> = BTreeMap::new();
        for commit in commits.iter().filter(|commit| commit.context_changed) {
            contexts.insert(commit.target, 0);
        }
        let writes = commits.iter().flat_map(|commit| &commit.writes);
        for (ix, _) in writes {
            if let Some(count) = contexts.get_mut(ix) {
                *count = count.saturating_add(1);
            }
        }
        for commit in commits {
            writing.commit(commit, &mut contexts, made_with);
        }
        let rows = commits.iter().flat_map(|commit| &commit.rows);
        let entered: BTreeSet<(EntityIx, RegionIx)> = rows
            .filter_map(|row| Some((row.entity, row.entered()?)))
            .collect();
        let made: BTreeSet<EntityIx> = commits.iter().flat_map(|commit| &commit.made).copied().collect();
        let placed: BTreeSet<EntityIx> = commits.iter().flat_map(|commit| &commit.placed).copied().collect();
        let moved: BTreeSet<(EntityIx, RegionIx)> = moved.iter().copied().collect();
        let mut touched: BTreeSet<EntityIx> = made.union(&placed).copied().collect();
        touched.extend(entered.iter().chain(&moved).map(|(ix, _)| *ix));
        for ix in touched {
            let whole = made.contains(&ix);
            let ended = placed.contains(&ix) && !tree.is_live(ix);
            let timed = |region| {
                let entity = tree.entity(ix);
                let entry = entity.entry(region);
                entity.machine().first_due(entry.state, entry.entered_at).is_some()
            };
            writing.entries(
                ix,
                |region| whole || entered.contains(&(ix, region)),
                // A child that ended has no timer any more.
                |region| moved.contains(&(ix, region)) || (ended && timed(region)),
            );
        }
        for ix in placed {
            writing.instance(ix);
        }
        let write = writing.write;
        let nothing = write.entities.is_empty() && write.timers.is_empty();
        (!nothing).then_some(write)
    }

    /// The incarnation and the identity key of its first row: where that one is stored, all of it is.
    pub(crate) fn key(&self) -> Option<(&str, &str)> {
        let row = self.history.first()?;
        Some((self.names.get(row.of)?.uid.as_str(), row.key.as_str()))
    }
}

fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    // JSON values always have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}

/// Statements that store trees, and where their results say what.
#[derive(Debug)]
pub(crate) struct Storing {
    pub(crate) statements: Vec<Statement>,
    /// How many statements say which trees hold; the last of them says it for all.
    holds: usize,
    /// Those that say which ids the history rows got.
    numbered: Vec<usize>,
}

impl Storing {
    fn new(statements: Vec<Statement>, holds: usize) -> Self {
        let numbered = |(_, statement): &(usize, &Statement)| {
            [HISTORY_NUMBERED, HELD_HISTORY_NUMBERED].contains(&statement.sql)
        };
        let numbered = statements.iter().enumerate().filter(numbered);
        Self {
            numbered: numbered.map(|(place, _)| place).collect(),
            statements,
            holds,
        }
    }

    /// The statements, to be run; what is left reads their results.
    pub(crate) fn take(&mut self) -> Vec<Statement> {
        std::mem::take(&mut self.statements)
    }

    /// The places of the trees that were stored, in order.
    pub(crate) fn held(&self, results: &[Vec<String>]) -> Result<Vec<usize>, Error> {
        let last = self.holds.saturating_sub(1);
        match rows_of(results, last).first() {
            Some(row) => decode(row),
            None => Ok(Vec::new()),
        }
    }

    /// The ids that the history rows got.
    pub(crate) fn numbers(&self, results: &[Vec<String>]) -> Result<RowNumbers, Error> {
        RowNumbers::read(self.numbered.iter().flat_map(|place| rows_of(results, *place)))
    }
}

/// The statements that store one tree: the batch aborts where anything that it was decided on has changed. With
/// `numbered` they say which ids its history rows got.
pub(crate) fn store_one(write: &TreeWrite, commit_id: &str, numbered: bool) -> Storing {
    let history = if numbered { HISTORY_NUMBERED } else { HISTORY };
    let writes = std::slice::from_ref(write);
    let sql = [ENTITIES, ENTRIES, history, TIMERS, INSTANCES, FORWARDS];
    Storing::new(statements(writes, commit_id, sql), 0)
}

/// The statements that store the trees that hold, and say which those are.
pub(crate) fn store_held(writes: &[TreeWrite], commit_id: &str, numbered: bool) -> Storing {
    let mut rows = JsonRows::default();
    for (tree, write) in (0_usize..).zip(writes) {
        // What a tree depends on is looked at by one statement.
        let names = write.names.iter().map(|name| {
            let uid = if name.base == Version(0) { "" } else { &name.uid };
            json_text(&(
                tree,
                write.tenant.as_str(),
                name.machine.as_str(),
                name.entity.as_str(),
                uid,
                name.base,
                name.revision,
            ))
        });
        rows.push_text(&names.collect::<Vec<_>>().join(","));
    }
    let mut batch: Vec<Statement> = rows
        .parameters()
        .map(|rows| Statement::new(HOLD, [rows.into(), commit_id.into()]))
        .collect();
    let holds = batch.len();
    let history = if numbered { HELD_HISTORY_NUMBERED } else { HELD_HISTORY };
    let sql = [
        HELD_ENTITIES,
        HELD_ENTRIES,
        history,
        HELD_TIMERS,
        HELD_INSTANCES,
        HELD_FORWARDS,
    ];
    batch.extend(statements(writes, commit_id, sql));
    batch.push(Statement::new(RELEASE, [commit_id.into()]));
    Storing::new(batch, holds)
}

/// The ids that history rows got, by incarnation and identity key.
#[derive(Debug, Default)]
pub(crate) struct RowNumbers(BTreeMap<(String, String), u64>);

impl RowNumbers {
    /// Reads rows of [uid, identity key, id].
    pub(crate) fn read<'r>(rows: impl IntoIterator<Item = &'r String>) -> Result<Self, Error> {
        let mut numbers = BTreeMap::new();
        for row in rows {
            let (uid, key, id): (String, String, u64) = decode(row)?;
            numbers.insert((uid, key), id);
        }
        Ok(Self(numbers))
    }

    /// The id of a row.
    pub(crate) fn of(&self, uid: &str, key: &str) -> Option<u64> {
        self.0.get(&(uid.to_owned(), key.to_owned())).copied()
    }
}

fn statements(
    writes: &[TreeWrite],
    commit_id: &str,
    sql: [&'static str; 6],
) -> Vec<Statement> {
    let mut rows: [JsonRows; 6] = std::array::from_fn(|_| JsonRows::default());
    for (tree, write) in (0_usize..).zip(writes) {
        write.add_rows(tree, &mut rows);
    }
    let mut batch = Vec::new();
    // A statement takes the commit where its rows have it, or are of the trees that hold.
    let alone = [ENTITIES, ENTRIES, TIMERS, INSTANCES, FORWARDS];
    for (sql, rows) in sql.into_iter().zip(rows) {
        batch.extend(rows.parameters().map(|rows| {
            if alone.contains(&sql) {
                Statement::new(sql, [rows.into()])
            } else {
                Statement::new(sql, [rows.into(), commit_id.into()])
            }
        }));
    }
    batch
}

impl TreeWrite {
    /// Adds its rows, as the statements take them: entities, entries, history, timers, places, what was handed on.
    fn add_rows(&self, tree: usize, rows: &mut [JsonRows; 6]) {
        let [entities, entries, history, timers, instances, forwards] = rows;
        let tenant = self.tenant.as_str();
        let named = |of: NameIx| self.names.get(of);
        for row in &self.entities {
            let Some(name) = named(row.of) else { continue };
            entities.push(&(
                tree,
                tenant,
                name.machine.as_str(),
                name.entity.as_str(),
                &name.uid,
                name.revision,
                row.version,
                row.next_seq,
                &row.context,
                row.created_at,
                row.updated_at,
            ));
        }
        for row in &self.entries {
            let Some(name) = named(row.of) else { continue };
            let TimerColumns(due, wake, parked) = &row.timer;
            entries.push(&(
                tree,
                &name.uid,
                &row.region,
                tenant,
                name.machine.as_str(),
                name.entity.as_str(),
                &row.state,
                row.seq,
                row.entered_at,
                &row.key,
                name.revision,
                due,
                wake,
                parked,
            ));
        }
        for row in &self.history {
            let Some(name) = named(row.of) else { continue };
            history.push(&(
                tree,
                &name.uid,
                name.revision,
                &row.region,
                &row.from,
                &row.to,
                &row.event_type,
                &row.params,
                &row.actions,
                row.timestamp,
                row.created_at,
                &row.key,
                &row.cause,
            ));
        }
        for row in &self.timers {
            let Some(name) = named(row.of) else { continue };
            let TimerColumns(due, wake, parked) = &row.timer;
            timers.push(&(
                tree,
                &name.uid,
                &row.region,
                row.seq,
                due,
                wake,
                parked,
                name.revision,
                tenant,
                name.machine.as_str(),
                name.entity.as_str(),
                name.version,
            ));
        }
        for row in &self.instances {
            let Some(name) = named(row.of) else { continue };
            let kind = if row.managed { "managed" } else { "legacy" };
            // More columns than a tuple has.
            instances.push(&serde_json::json!([
                tree,
                name.uid,
                tenant,
                name.machine,
                name.entity,
                row.root.0,
                row.root.1,
                row.root.2,
                row.parent.0,
                row.parent.1,
                row.parent.2,
                row.region,
                row.state,
                row.seq,
                kind,
                row.status,
                row.depth,
                row.path,
                row.started,
                row.ended,
                u8::from(row.current),
                row.cancelled_with,
                row.first_seq,
            ]));
        }
        for row in &self.forwards {
            forwards.push(&(tree, &row.0, &row.1, &row.2));
        }
    }
}

/// Rows as JSON arrays, cut into parameters that a statement can carry.
#[derive(Debug, Default)]
struct JsonRows {
    full: Vec<String>,
    open: String,
}

impl JsonRows {
    fn push(&mut self, row: &impl Serialize) {
        self.push_text(&json_text(row));
    }

    /// Rows that are JSON already, and stay together.
    fn push_text(&mut self, row: &str) {
        if !self.open.is_empty() && self.open.len().saturating_add(row.len()) > MOST_PARAMETER_BYTES {
            self.full.push(std::mem::take(&mut self.open));
        }
        self.open.push(if self.open.is_empty() { '[' } else { ',' });
        self.open.push_str(row);
    }

    fn parameters(mut self) -> impl Iterator<Item = String> {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        self.full.into_iter().map(|mut rows| {
            rows.push(']');
            rows
        })
    }
}

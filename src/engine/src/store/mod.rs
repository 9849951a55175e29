//! From decisions to rows: what a commit writes, set-wise, in one batch.

mod rows;
mod sql;

use serde::Serialize;
use statewright_core::entity::Timer;
use statewright_core::ids::{EntityId, MachineId, Millis, Revision, TenantId, Version};
use statewright_core::machine::RegionIx;
use statewright_core::sorted::{Gather, SortedMap};
use statewright_core::tree::{EntityIx, Status, Tree};

use crate::database::{Param, Statement};
use crate::error::Error;
use crate::load::{decode, rows_of};
use crate::outbox::Claim;
use crate::trees::Member;

pub(crate) use sql::{
    ADOPT, ADOPT_BELOW, ENTITIES, ENTRIES, FORWARDS, GUARD, HELD_ENTITIES, HELD_ENTRIES, HELD_FORWARDS,
    HELD_HISTORY, HELD_HISTORY_NUMBERED, HELD_INSTANCES, HELD_OUTBOX, HELD_PRESENTED, HELD_TIMERS, HISTORY,
    HISTORY_NUMBERED, HOLD, INSTANCES, OUTBOX, PRESENTED, RELEASE, TIMERS,
};

/// Most bytes of one JSON parameter: D1 takes 2 MB.
pub(crate) const MOST_PARAMETER_BYTES: usize = 1_500_000;

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
    outbox: Vec<OutboxRow>,
    presented: Vec<OutboxRow>,
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
    /// Whether it was decided on, and neither it nor a timer of it is written: nothing else guards it.
    only_read: bool,
    /// Whether it had ended for good before.
    over: bool,
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

/// A row of the outbox as a JSON array, without what stands before it: the place of its tree.
#[derive(Debug)]
struct OutboxRow(String);

/// Until when effects are claimed by whoever writes them; where that one sends nothing, they are due at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    pub(crate) now: Millis,
    pub(crate) until: Option<Millis>,
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
    /// Those that say which effects are claimed.
    claiming: Vec<usize>,
}

impl Storing {
    fn new(statements: Vec<Statement>, holds: usize) -> Self {
        let places = |of: &[&str]| {
            let those = statements.iter().enumerate();
            let those = those.filter(|(_, statement)| of.contains(&statement.sql));
            those.map(|(place, _)| place).collect()
        };
        Self {
            numbered: places(&[HISTORY_NUMBERED, HELD_HISTORY_NUMBERED]),
            claiming: places(&[OUTBOX, PRESENTED, HELD_OUTBOX, HELD_PRESENTED]),
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

    /// Whether there are effects.
    pub(crate) fn claims_any(&self) -> bool {
        !self.claiming.is_empty()
    }

    /// The effects that are claimed for whoever wrote them.
    pub(crate) fn claims(&self, results: &[Vec<String>]) -> Vec<Claim> {
        let rows = self.claiming.iter().flat_map(|place| rows_of(results, *place));
        rows.filter_map(|row| {
            let (tenant, id, claimed): (String, String, u8) = decode(row).ok()?;
            (claimed == 1).then_some(Claim { tenant, id, fence: 1 })
        })
        .collect()
    }

    /// The ids that the history rows got.
    pub(crate) fn numbers(&self, results: &[Vec<String>]) -> Result<RowNumbers, Error> {
        RowNumbers::read(self.numbered.iter().flat_map(|place| rows_of(results, *place)))
    }
}

/// The statements that store one tree: the batch aborts where anything that it was decided on has changed. With
/// `numbered` they say which ids its history rows got.
pub(crate) fn store_one(write: &TreeWrite, commit_id: &str, numbered: bool, lease: &Lease) -> Storing {
    let history = if numbered { HISTORY_NUMBERED } else { HISTORY };
    let writes = std::slice::from_ref(write);
    let sql = [
        ENTITIES, ENTRIES, history, TIMERS, INSTANCES, FORWARDS, OUTBOX, PRESENTED,
    ];
    let mut batch = Vec::new();
    let mut guards = JsonRows::default();
    // What is written is guarded by its own rows.
    for name in write.names.iter().filter(|name| name.only_read) {
        guards.push(&(
            write.tenant.as_str(),
            name.machine.as_str(),
            name.entity.as_str(),
            &name.uid,
            name.base,
        ));
    }
    batch.extend(
        guards
            .parameters()
            .map(|rows| Statement::new(GUARD, [rows.into()])),
    );
    batch.extend(statements(writes, commit_id, sql, lease));
    Storing::new(batch, 0)
}

/// The statements that store the trees that hold, and say which those are.
pub(crate) fn store_held(writes: &[TreeWrite], commit_id: &str, numbered: bool, lease: &Lease) -> Storing {
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
                (!name.over).then_some(name.revision),
            ))
        });
        rows.push_text(&names.collect::<Vec<_>>().join(","));
    }
    let mut batch: Vec<Statement> = rows
        .parameters()
        .map(|rows| Statement::new(HOLD, [rows.into(), commit_id.into()]))
        .collect();
    let holds = batch.len();
    let history = if numbered {
        HELD_HISTORY_NUMBERED
    } else {
        HELD_HISTORY
    };
    let sql = [
        HELD_ENTITIES,
        HELD_ENTRIES,
        history,
        HELD_TIMERS,
        HELD_INSTANCES,
        HELD_FORWARDS,
        HELD_OUTBOX,
        HELD_PRESENTED,
    ];
    batch.extend(statements(writes, commit_id, sql, lease));
    batch.push(Statement::new(RELEASE, [commit_id.into()]));
    Storing::new(batch, holds)
}

/// The ids that history rows got, by incarnation and identity key.
#[derive(Debug, Default)]
pub(crate) struct RowNumbers(SortedMap<(String, String), u64>);

impl RowNumbers {
    /// Reads rows of [uid, identity key, id].
    pub(crate) fn read<'r>(rows: impl IntoIterator<Item = &'r String>) -> Result<Self, Error> {
        let mut numbers = Vec::new();
        for row in rows {
            let (uid, key, id): (String, String, u64) = decode(row)?;
            numbers.push(((uid, key), id));
        }
        Ok(Self(numbers.into_iter().gather()))
    }

    /// The id of a row.
    pub(crate) fn of(&self, uid: &str, key: &str) -> Option<u64> {
        self.0.get(&(uid.to_owned(), key.to_owned())).copied()
    }
}

/// The kinds of rows that a tree has.
const KINDS: usize = 8;

fn statements(
    writes: &[TreeWrite],
    commit_id: &str,
    sql: [&'static str; KINDS],
    lease: &Lease,
) -> Vec<Statement> {
    let mut rows: [JsonRows; KINDS] = std::array::from_fn(|_| JsonRows::default());
    for (tree, write) in (0_usize..).zip(writes) {
        write.add_rows(tree, &mut rows);
    }
    let mut batch = Vec::new();
    // A statement takes the commit where its rows have it, or are of the trees that hold.
    let alone = [ENTITIES, ENTRIES, TIMERS, INSTANCES, FORWARDS];
    let claiming = [OUTBOX, PRESENTED, HELD_OUTBOX, HELD_PRESENTED];
    for (sql, rows) in sql.into_iter().zip(rows) {
        batch.extend(rows.parameters().map(|rows| {
            if claiming.contains(&sql) {
                Statement::new(
                    sql,
                    [
                        rows.into(),
                        commit_id.into(),
                        lease.now.into(),
                        lease.until.map_or(Param::Null, Param::from),
                    ],
                )
            } else if alone.contains(&sql) {
                Statement::new(sql, [rows.into()])
            } else {
                Statement::new(sql, [rows.into(), commit_id.into()])
            }
        }));
    }
    batch
}

impl TreeWrite {
    /// Adds its rows, as the statements take them: entities, entries, history, timers, places, what was handed on, effects,
    /// what is to be presented.
    fn add_rows(&self, tree: usize, rows: &mut [JsonRows; KINDS]) {
        let [
            entities,
            entries,
            history,
            timers,
            instances,
            forwards,
            outbox,
            presented,
        ] = rows;
        for (those, rows) in [(&self.outbox, outbox), (&self.presented, presented)] {
            for OutboxRow(row) in those {
                rows.push_text(&format!("[{tree},{row}"));
            }
        }
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
pub(crate) struct JsonRows {
    full: Vec<String>,
    open: String,
}

impl JsonRows {
    pub(crate) fn push(&mut self, row: &impl Serialize) {
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

    pub(crate) fn parameters(mut self) -> impl Iterator<Item = String> {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        self.full.into_iter().map(|mut rows| {
            rows.push(']');
            rows
        })
    }
}

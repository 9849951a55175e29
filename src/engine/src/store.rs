//! From decisions to rows: what a commit writes, set-wise, in one batch.

use std::collections::BTreeSet;

use serde::Serialize;
use statewright_core::answer::{ActionView, actions_of};
use statewright_core::commit::Commit;
use statewright_core::entity::{EntityIx, Timer, Tree};
use statewright_core::ids::{Millis, Revision, Version};
use statewright_core::machine::RegionIx;

use crate::database::Statement;
use crate::error::Error;
use crate::load::{EntityName, decode, rows_of, text};

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

/// Records which trees of a set-wise commit hold: [tree, tenant, machine, entity, uid, version, revision], where uid
/// and version are `''` and 0 for one to be made. Gives their numbers.
pub(crate) const HOLD: &str = "INSERT INTO held (commit_id, trees) \
     SELECT ?2, json_group_array(t.value->>0) FROM json_each(?1) t \
     LEFT JOIN entities e ON e.tenant = t.value->>1 AND e.machine_id = t.value->>2 AND e.entity_id = t.value->>3 \
     WHERE coalesce(e.uid, '') = t.value->>4 AND coalesce(e.state_version, 0) = t.value->>5 \
       AND EXISTS (SELECT 1 FROM revisions v WHERE v.tenant = t.value->>1 AND v.machine_id = t.value->>2 \
         AND v.revision = t.value->>6 AND v.effective = t.value->>6) \
       AND (e.uid IS NOT NULL OR EXISTS (SELECT 1 FROM machines m WHERE m.tenant = t.value->>1 \
         AND m.machine_id = t.value->>2 AND m.head = t.value->>6 AND m.deleted = 0)) \
     RETURNING trees";

/// Ends a set-wise commit.
pub(crate) const RELEASE: &str = "DELETE FROM held WHERE commit_id = ?1";

/// What is written of one tree.
#[derive(Debug)]
pub(crate) struct TreeWrite {
    pub(crate) name: EntityName,
    /// The incarnation, and the version that was read; 0 for one that is made.
    pub(crate) uid: String,
    pub(crate) base: Version,
    pub(crate) revision: Revision,
    entities: Vec<EntityRow>,
    entries: Vec<EntryRow>,
    history: Vec<HistoryRow>,
    timers: Vec<TimerRow>,
}

#[derive(Debug)]
struct EntityRow {
    version: Version,
    next_seq: u64,
    /// None keeps what is stored.
    context: Option<String>,
    created_at: Millis,
    updated_at: Millis,
}

#[derive(Debug)]
struct EntryRow {
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
    region: String,
    seq: u64,
    timer: TimerColumns,
}

/// Where a tree comes from, for what is to be written of it.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) name: EntityName,
    pub(crate) uid: String,
    /// The version that was read; 0 for a tree that is made.
    pub(crate) version: Version,
    pub(crate) revision: Revision,
    pub(crate) created_at: Millis,
    /// The context of an entity that is made, as JSON.
    pub(crate) created_context: Option<String>,
}

impl TreeWrite {
    /// What to write of a tree: its commits, and the timers that moved without one. `None` where that is nothing.
    pub(crate) fn new(
        base: Base,
        tree: &Tree,
        commits: &[Commit],
        moved: &[(EntityIx, RegionIx)],
        now: Millis,
    ) -> Option<Self> {
        let entity = tree.root();
        let machine = entity.machine();
        let made = base.version == Version(0);
        let mut write = Self {
            name: base.name,
            uid: base.uid,
            base: base.version,
            revision: base.revision,
            entities: Vec::new(),
            entries: Vec::new(),
            history: Vec::new(),
            timers: Vec::new(),
        };
        if made {
            // Made in its own commit (I2), with the entries of the regions in definition order (R1).
            write.entities.push(EntityRow {
                version: Version(1),
                next_seq: u64::try_from(machine.regions().len())
                    .unwrap_or(u64::MAX)
                    .saturating_add(1),
                context: Some(base.created_context.unwrap_or_else(|| "{}".to_owned())),
                created_at: base.created_at,
                updated_at: now,
            });
        }
        let context_changed = commits.iter().any(|commit| commit.context_changed);
        for (place, commit) in commits.iter().enumerate() {
            let last = place.saturating_add(1) == commits.len();
            for (_, version) in &commit.writes {
                write.entities.push(EntityRow {
                    version: *version,
                    next_seq: entity.next_seq().0,
                    context: (last && context_changed).then(|| json_text(entity.context())),
                    created_at: base.created_at,
                    updated_at: now,
                });
            }
            for row in &commit.rows {
                let (region, from, to) = row.names(machine);
                let actions: Vec<ActionView> = actions_of(machine, row).collect();
                write.history.push(HistoryRow {
                    region: region.to_owned(),
                    from: from.to_owned(),
                    to: to.to_owned(),
                    event_type: row.event_type().to_owned(),
                    params: row.event_params().map_or_else(|| "{}".to_owned(), json_text),
                    actions: if actions.is_empty() {
                        "[]".to_owned()
                    } else {
                        json_text(&actions)
                    },
                    timestamp: row.timestamp,
                    created_at: now,
                    key: row.key.to_string(),
                    cause: json_text(&row.cause.to_json()),
                });
            }
        }
        let touched: BTreeSet<RegionIx> = commits
            .iter()
            .flat_map(|c| &c.rows)
            .map(|row| row.region)
            .collect();
        for (region, entry) in entity.entries() {
            let id = machine.region(region).id.to_string();
            if made || touched.contains(&region) {
                write.entries.push(EntryRow {
                    region: id,
                    state: machine.state(entry.state).name.to_string(),
                    seq: entry.seq.0,
                    entered_at: entry.entered_at,
                    key: entry.key.as_ref().map(ToString::to_string),
                    timer: (&entry.timer).into(),
                });
            } else if moved.iter().any(|(_, moved)| *moved == region) {
                write.timers.push(TimerRow {
                    region: id,
                    seq: entry.seq.0,
                    timer: (&entry.timer).into(),
                });
            }
        }
        let nothing = write.entities.is_empty() && write.timers.is_empty();
        (!nothing).then_some(write)
    }

    /// The identity key of its first row: where that one is stored, all of it is.
    pub(crate) fn key(&self) -> Option<&str> {
        self.history.first().map(|row| row.key.as_str())
    }

    /// The version that its last commit makes.
    fn version(&self) -> Version {
        self.entities.last().map_or(self.base, |row| row.version)
    }
}

fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    // JSON values always have a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}

/// The statements that store one tree: the batch aborts where anything that it was decided on has changed.
pub(crate) fn store_one(write: &TreeWrite, commit_id: &str) -> Vec<Statement> {
    let writes = std::slice::from_ref(write);
    statements(writes, commit_id, [ENTITIES, ENTRIES, HISTORY, TIMERS])
}

/// The statements that store the trees that hold, and say which those are: for [`held`].
pub(crate) fn store_held(writes: &[TreeWrite], commit_id: &str) -> Vec<Statement> {
    let trees: Vec<_> = (0..)
        .zip(writes)
        .map(|(tree, write): (usize, _)| {
            let uid = if write.base == Version(0) {
                ""
            } else {
                write.uid.as_str()
            };
            let name = &write.name;
            (
                tree,
                name.tenant.as_str(),
                name.machine_id.as_str(),
                name.entity_id.as_str(),
                uid,
                write.base,
                write.revision,
            )
        })
        .collect();
    let mut batch = vec![Statement::new(HOLD, [text(&trees), commit_id.into()])];
    batch.extend(statements(
        writes,
        commit_id,
        [HELD_ENTITIES, HELD_ENTRIES, HELD_HISTORY, HELD_TIMERS],
    ));
    batch.push(Statement::new(RELEASE, [commit_id.into()]));
    batch
}

/// The places of the trees that a batch of [`store_held`] stored, in order.
pub(crate) fn held(results: &[Vec<String>]) -> Result<Vec<usize>, Error> {
    match rows_of(results, 0).first() {
        Some(row) => decode(row),
        None => Ok(Vec::new()),
    }
}

fn statements(writes: &[TreeWrite], commit_id: &str, sql: [&'static str; 4]) -> Vec<Statement> {
    let [entities, entries, history, timers] = sql;
    let mut entity_rows = JsonRows::default();
    let mut entry_rows = JsonRows::default();
    let mut history_rows = JsonRows::default();
    let mut timer_rows = JsonRows::default();
    for (tree, write) in (0_usize..).zip(writes) {
        let name = &write.name;
        let (tenant, machine, entity) = (
            name.tenant.as_str(),
            name.machine_id.as_str(),
            name.entity_id.as_str(),
        );
        for row in &write.entities {
            entity_rows.push(&(
                tree,
                tenant,
                machine,
                entity,
                &write.uid,
                write.revision,
                row.version,
                row.next_seq,
                &row.context,
                row.created_at,
                row.updated_at,
            ));
        }
        for row in &write.entries {
            let TimerColumns(due, wake, parked) = &row.timer;
            entry_rows.push(&(
                tree,
                &write.uid,
                &row.region,
                tenant,
                machine,
                entity,
                &row.state,
                row.seq,
                row.entered_at,
                &row.key,
                write.revision,
                due,
                wake,
                parked,
            ));
        }
        for row in &write.history {
            history_rows.push(&(
                tree,
                &write.uid,
                write.revision,
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
        for row in &write.timers {
            let TimerColumns(due, wake, parked) = &row.timer;
            timer_rows.push(&(
                tree,
                &write.uid,
                &row.region,
                row.seq,
                due,
                wake,
                parked,
                write.revision,
                tenant,
                machine,
                entity,
                write.version(),
            ));
        }
    }
    let mut batch = Vec::new();
    let takes_commit = |sql| ![ENTITIES, ENTRIES, TIMERS].contains(&sql);
    for (sql, rows) in [
        (entities, entity_rows),
        (entries, entry_rows),
        (history, history_rows),
        (timers, timer_rows),
    ] {
        batch.extend(rows.parameters().map(|rows| {
            if takes_commit(sql) {
                Statement::new(sql, [rows.into(), commit_id.into()])
            } else {
                Statement::new(sql, [rows.into()])
            }
        }));
    }
    batch
}

/// Rows as JSON arrays, cut into parameters that a statement can carry.
#[derive(Debug, Default)]
struct JsonRows {
    full: Vec<String>,
    open: String,
}

impl JsonRows {
    fn push(&mut self, row: &impl Serialize) {
        let row = json_text(row);
        if !self.open.is_empty() && self.open.len().saturating_add(row.len()) > MOST_PARAMETER_BYTES {
            self.full.push(std::mem::take(&mut self.open));
        }
        self.open.push(if self.open.is_empty() { '[' } else { ',' });
        self.open.push_str(&row);
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

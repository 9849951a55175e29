//! The scanner: a pass over the timers that are due, for entities that no event touches (S2.93, S4.170 to S4.188).

use serde::{Deserialize, Serialize};
use serde_json::json;
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MachineId, Millis, TenantId};
use statewright_core::sorted::{Gather, SortedMap, SortedSet, sort_by};
pub use statewright_core::timeouts::PASS_TIMERS;

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, Statement, random_name};
use crate::decide::Deciding;
use crate::error::Error;
use crate::load::{EntityName, decode, is_over, rows_of};
use crate::once::Origin;
use crate::outbound::Outbound;
use crate::outbox::ids::EffectIds;
use crate::request::MAX_WRITTEN_BYTES;
use crate::store::{Lease, TreeWrite, store_held};
use crate::trees::{Found, Loaded, Target, load_trees, loaded_trees};

/// How many entities a pass works out anew after a revision superseded another.
const PASS_REARMED: i64 = 200;

/// The oldest due timers.
pub(crate) const DUE: &str = "SELECT json_array(tenant, machine_id, entity_id, wake_at, uid) FROM entries \
     WHERE wake_at <= ?1 ORDER BY wake_at LIMIT ?2";

/// A fair share of what is due: the tenants that have waited longest, at most ?2 of them, and of each its oldest timers,
/// each tenant's first before any tenant's second. Tenants are found by leaps over the index, so that what one of them
/// has piled up keeps no other waiting.
pub(crate) const DUE_FAIRLY: &str = "WITH RECURSIVE armed (tenant) AS ( \
       SELECT (SELECT min(n.tenant) FROM entries n WHERE n.wake_at IS NOT NULL AND n.tenant > '') \
       UNION ALL SELECT (SELECT min(n.tenant) FROM entries n WHERE n.wake_at IS NOT NULL AND n.tenant > armed.tenant) \
         FROM armed WHERE armed.tenant IS NOT NULL), \
     waiting (tenant, since) AS MATERIALIZED ( \
       SELECT tenant, (SELECT min(n.wake_at) FROM entries n WHERE n.tenant = armed.tenant AND n.wake_at IS NOT NULL) AS since \
       FROM armed WHERE tenant IS NOT NULL AND since <= ?1 ORDER BY since LIMIT ?2), \
     share (most) AS MATERIALIZED (SELECT (CAST(?2 AS INTEGER) - 1) / max(count(*), 1) FROM waiting) \
     SELECT json_array(n.tenant, n.machine_id, n.entity_id, n.wake_at, n.uid) FROM ( \
       SELECT uid, region, turn, wake_at FROM ( \
         SELECT t.uid, t.region, t.wake_at, row_number() OVER (PARTITION BY waiting.tenant ORDER BY t.wake_at) AS turn \
         FROM waiting CROSS JOIN entries t ON t.tenant = waiting.tenant AND t.wake_at IS NOT NULL \
           AND t.wake_at <= coalesce((SELECT k.wake_at FROM entries k WHERE k.tenant = waiting.tenant \
             AND k.wake_at IS NOT NULL AND k.wake_at <= ?1 ORDER BY k.wake_at \
             LIMIT 1 OFFSET (SELECT most FROM share)), ?1)) \
       ORDER BY turn, wake_at LIMIT ?2) d \
     CROSS JOIN entries n ON n.uid = d.uid AND n.region = d.region ORDER BY d.turn, d.wake_at";

/// Puts off the timers of entities that failed: [uid, error], longer from failure to failure, at most an hour.
pub(crate) const PUT_OFF: &str = "UPDATE entries SET failures = failures + 1, error = (SELECT t.value->>1 \
         FROM json_each(?1) t WHERE t.value->>0 = entries.uid), \
       wake_at = ?2 + min(3600000, 10000 << min(failures, 9)) \
     WHERE uid IN (SELECT t.value->>0 FROM json_each(?1) t) AND wake_at <= ?2";

/// Which trees a set-wise commit ?2 stored, after its answer was lost: [uid, identity key].
pub(crate) const STORED_BY: &str = "SELECT json_array(h.uid) FROM json_each(?1) t \
     CROSS JOIN history h ON h.uid = t.value->>0 AND h.identity_key = t.value->>1 WHERE h.commit_id = ?2";

/// Keeps the report of a pass.
pub(crate) const KEEP_REPORT: &str = "INSERT INTO scheduler (id, report) VALUES (1, ?1) \
     ON CONFLICT (id) DO UPDATE SET report = excluded.report";

/// The next machine whose due times are to be worked out anew.
pub(crate) const REARM_NEXT: &str = "SELECT json_array(tenant, machine_id, revision) FROM rearms \
     ORDER BY tenant, machine_id, revision LIMIT 1";

/// Its next entities, and whether an entry of theirs is still as another revision left it. What ended for good stays so.
pub(crate) const REARM_ENTITIES: &str = concat!(
    "SELECT json_array(e.entity_id, r.effective = j.revision \
       AND EXISTS (SELECT 1 FROM entries n WHERE n.uid = e.uid AND n.revision <> j.revision) \
       AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.uid = e.uid AND ",
    is_over!(),
    ")) \
     FROM (SELECT entity_id, uid, revision FROM entities \
       WHERE tenant = (SELECT tenant FROM rearms ORDER BY tenant, machine_id, revision LIMIT 1) \
         AND machine_id = (SELECT machine_id FROM rearms ORDER BY tenant, machine_id, revision LIMIT 1) \
         AND entity_id > (SELECT after_entity FROM rearms ORDER BY tenant, machine_id, revision LIMIT 1) \
       ORDER BY entity_id LIMIT ?1) e \
     CROSS JOIN (SELECT tenant, machine_id, revision FROM rearms ORDER BY tenant, machine_id, revision LIMIT 1) j \
     LEFT JOIN revisions r ON r.tenant = j.tenant AND r.machine_id = j.machine_id AND r.revision = e.revision \
     ORDER BY e.entity_id"
);

/// Where that work stands.
pub(crate) const REARM_STANDS: &str =
    "UPDATE rearms SET after_entity = ?4 WHERE tenant = ?1 AND machine_id = ?2 AND revision = ?3";
/// Ends that work.
pub(crate) const REARM_DONE: &str =
    "DELETE FROM rearms WHERE tenant = ?1 AND machine_id = ?2 AND revision = ?3";

/// What a pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanReport {
    /// When it ran, in milliseconds since the epoch.
    pub at: i64,
    /// How many due timers it read.
    pub scanned: usize,
    /// How many entities these belong to.
    pub due: usize,
    /// How many timeouts it applied.
    pub fired: usize,
    /// How many entities had changed meanwhile: theirs are left to the next pass.
    pub stale: usize,
    /// How many timers were parked, since their commit is refused (M6).
    pub parked: usize,
    /// How many entities failed; they are tried again later, less and less often.
    pub failed: usize,
    /// How many entities had their due times worked out anew.
    pub rearmed: usize,
    /// How late the oldest of the timers was, in milliseconds.
    pub lag_ms: i64,
    /// Whether more is due than one pass takes.
    pub more: bool,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// One pass: due timers oldest first, at most [`PASS_TIMERS`], shared between tenants when there are more. One
    /// entity's failure stops no other's timers (S2.102).
    ///
    /// # Errors
    /// The database failed; what was committed before stands.
    pub async fn tick(&self) -> Result<ScanReport, Error> {
        let began = self.clock.now();
        let mut report = ScanReport {
            at: began.0,
            ..ScanReport::default()
        };
        let most = i64::try_from(PASS_TIMERS).unwrap_or(i64::MAX);
        let due = Statement::new(DUE, [began.into(), most.into()]);
        let rearm = Statement::new(REARM_NEXT, []);
        let rearmed = Statement::new(REARM_ENTITIES, [PASS_REARMED.into()]);
        let results = self.read(vec![due, rearm, rearmed]).await?;
        let mut timers = rows_of(&results, 0).to_vec();
        report.more = timers.len() >= PASS_TIMERS;
        if report.more {
            let fair = Statement::new(DUE_FAIRLY, [began.into(), most.into()]);
            let oldest = timers;
            timers = self
                .read(vec![fair])
                .await?
                .into_iter()
                .next()
                .unwrap_or_default();
            // What the shares leave free goes to the oldest.
            for row in oldest {
                if timers.len() < PASS_TIMERS && !timers.contains(&row) {
                    timers.push(row);
                }
            }
        }
        let due = due_entities(&timers, began, &mut report)?;
        if !due.is_empty() {
            self.fire_all(&due, &mut report).await?;
        }
        if let Some(job) = rows_of(&results, 1).first() {
            self.rearm(job, rows_of(&results, 2), &mut report).await?;
        }
        let text = json!(report).to_string();
        self.batch(vec![Statement::new(KEEP_REPORT, [text.into()])])
            .await?;
        Ok(report)
    }

    /// Applies what is due of these entities, each with its whole tree, and corrects what the index holds of the others.
    async fn fire_all(&self, due: &[DueEntity], report: &mut ScanReport) -> Result<(), Error> {
        let mut failures: Vec<(String, String)> = Vec::new();
        // Timers of what is not there: of an entity deleted meanwhile, which this leaves alone, or rows without one.
        let mut orphans: Vec<(String, String)> = Vec::new();
        let mut targets: Vec<(String, Target)> = Vec::with_capacity(due.len());
        for entity in due {
            match &entity.name {
                Ok(name) => targets.push((entity.uid.clone(), Target::new(name.clone()))),
                Err(error) => failures.push((entity.uid.clone(), told(error))),
            }
        }
        // A child that cannot be made, since something stands there, is found out by the next try, level by level.
        for last in [false, false, false, true] {
            if targets.is_empty() {
                break;
            }
            let again = self
                .fire_round(targets, last, report, &mut failures, &mut orphans)
                .await?;
            targets = again;
        }
        report.failed = failures.len();
        failures.extend(orphans);
        if !failures.is_empty() {
            let rows: Vec<(String, String)> = failures
                .into_iter()
                .map(|(uid, error)| (uid, error.chars().take(500).collect()))
                .collect();
            let now = self.clock.now();
            self.batch(vec![Statement::new(
                PUT_OFF,
                [json!(rows).to_string().into(), now.into()],
            )])
            .await?;
        }
        Ok(())
    }

    /// Gives back what is to be tried again: trees that had moved, and were to make children.
    async fn fire_round(
        &self,
        mut targets: Vec<(String, Target)>,
        last: bool,
        report: &mut ScanReport,
        failures: &mut Vec<(String, String)>,
        orphans: &mut Vec<(String, String)>,
    ) -> Result<Vec<(String, Target)>, Error> {
        // What comes first in a read is what comes first of the definitions that it brings: it fits.
        sort_by(&mut targets, |(_, a), (_, b)| a.name.cmp(&b.name));
        let asked: Vec<Target> = targets.iter().map(|(_, target)| target.clone()).collect();
        let (load, reading) = load_trees(&asked, &self.cache, true);
        let results = self.read(load).await?;
        let found = loaded_trees(&asked, &results, &self.cache, reading)?;
        let now = self.clock.now();
        let commit_id = random_name(&self.random);
        let ids = EffectIds::new(now, &commit_id);
        let origin = Origin::timer("");
        let making = self.making(&ids, &origin);
        let mut trees: SortedMap<EntityName, DueTree> = SortedMap::new();
        for ((uid, target), found) in targets.into_iter().zip(found) {
            match found {
                Found::Loaded(loaded) if loaded.knows(&uid) => {
                    let tree = trees.or_insert_with(loaded.root_name(), || DueTree {
                        loaded: *loaded,
                        due: Vec::new(),
                    });
                    tree.due.push((uid, target));
                }
                Found::Loaded(_) | Found::NoMachine => {
                    report.stale = report.stale.saturating_add(1);
                    orphans.push((uid, "its entity is gone".to_owned()));
                }
                Found::LeftOut => report.more = true,
                Found::Failed(error) => failures.push((uid, told(&error))),
            }
        }
        let mut writes: Vec<TreeWrite> = Vec::new();
        let mut outcomes = Vec::new();
        let mut written = 0_usize;
        let mut fired: Vec<FiredTree> = Vec::new();
        for DueTree { loaded, mut due } in trees.into_values() {
            let mut deciding = Deciding::new(loaded, now, &making);
            report.more |= deciding.fire_due();
            for (uid, _) in &due {
                deciding.touch_timers_of(uid);
            }
            let Some(write) = deciding.write() else { continue };
            for (_, target) in &mut due {
                target.want(deciding.children_made());
            }
            writes.push(write);
            fired.push(FiredTree {
                due,
                timeouts: deciding.timeouts(),
            });
            written = written.saturating_add(deciding.written());
            if written > MAX_WRITTEN_BYTES {
                outcomes.extend(self.write_all(&writes, &commit_id, now).await);
                (writes, written) = (Vec::new(), 0);
            }
        }
        outcomes.extend(self.write_all(&writes, &commit_id, now).await);
        let mut again = Vec::new();
        for (tree, outcome) in fired.into_iter().zip(outcomes) {
            let (timeouts, parked) = tree.timeouts;
            match outcome {
                Written::Held => {
                    report.fired = report.fired.saturating_add(timeouts);
                    report.parked = report.parked.saturating_add(parked);
                }
                Written::Moved if !last && tree.due.iter().any(|(_, target)| !target.wanted.is_empty()) => {
                    again.extend(tree.due);
                }
                Written::Moved => report.stale = report.stale.saturating_add(1),
                Written::Failed(error) => {
                    let uids = tree.due.into_iter().map(|(uid, _)| (uid, error.to_string()));
                    failures.extend(uids);
                }
            }
        }
        Ok(again)
    }

    /// Writes set-wise; where that fails, one by one, so that what fails is known by name.
    async fn write_all(&self, writes: &[TreeWrite], commit_id: &str, now: Millis) -> Vec<Written> {
        if writes.is_empty() {
            return Vec::new();
        }
        // What timeouts call for is due at once: the next look at the outbox sends it, and no timer waits for a receiver.
        let lease = Lease { now, until: None };
        let mut storing = store_held(writes, commit_id, false, &lease);
        let error = match self.batch(storing.take()).await {
            Ok(results) => {
                let held = storing.held(&results).unwrap_or_default();
                let outcome = |place| {
                    if held.binary_search(&place).is_ok() {
                        Written::Held
                    } else {
                        Written::Moved
                    }
                };
                return (0..writes.len()).map(outcome).collect();
            }
            Err(error) => error,
        };
        let stored = match error {
            DatabaseError::Uncertain(_) => self.stored_by(writes, commit_id).await,
            DatabaseError::Constraint(_) => SortedSet::new(),
        };
        let mut outcomes = Vec::with_capacity(writes.len());
        for write in writes {
            if write.key().is_some_and(|(uid, _)| stored.contains(uid)) {
                outcomes.push(Written::Held);
                continue;
            }
            let commit_id = random_name(&self.random);
            let mut storing = store_held(std::slice::from_ref(write), &commit_id, false, &lease);
            let alone = self.batch(storing.take()).await;
            outcomes.push(match alone {
                Ok(results) if storing.held(&results).unwrap_or_default().is_empty() => Written::Moved,
                Ok(_) => Written::Held,
                Err(error) => Written::Failed(error),
            });
        }
        outcomes
    }

    /// The incarnations that a commit of unknown end stored. Where that cannot be read, none: they are told as stale.
    async fn stored_by(&self, writes: &[TreeWrite], commit_id: &str) -> SortedSet<String> {
        let keys: Vec<_> = writes.iter().filter_map(TreeWrite::key).collect();
        let statement = Statement::new(STORED_BY, [json!(keys).to_string().into(), commit_id.into()]);
        let results = self.read(vec![statement]).await.unwrap_or_default();
        let rows = rows_of(&results, 0).iter();
        rows.filter_map(|row| Some(decode::<(String,)>(row).ok()?.0))
            .gather()
    }

    /// A bounded part of the work that a superseding revision leaves: due times are stored anew, worked out from
    /// `entered_at` (design 6).
    async fn rearm(&self, job: &str, rows: &[String], report: &mut ScanReport) -> Result<(), Error> {
        let (tenant, machine_id, revision): (String, String, i64) = decode(job)?;
        let rows: Vec<(String, Option<u8>)> = rows.iter().map(|row| decode(row)).collect::<Result<_, _>>()?;
        let mut targets = Vec::new();
        for (entity_id, old) in &rows {
            if *old == Some(1) {
                targets.push(Target::new(stored_name(&tenant, &machine_id, entity_id)?));
            }
        }
        let mut left_out = false;
        if !targets.is_empty() {
            let (load, reading) = load_trees(&targets, &self.cache, true);
            let results = self.read(load).await?;
            let now = self.clock.now();
            let commit_id = random_name(&self.random);
            let ids = EffectIds::new(now, &commit_id);
            let making = self.making(&ids, &self.scope.origin);
            let mut trees: SortedMap<EntityName, Deciding<'_>> = SortedMap::new();
            for (target, found) in targets
                .iter()
                .zip(loaded_trees(&targets, &results, &self.cache, reading)?)
            {
                match found {
                    Found::Loaded(loaded) => {
                        let name = loaded.root_name();
                        let deciding = trees.or_insert_with(name, || Deciding::new(*loaded, now, &making));
                        deciding.touch_timers_at(&target.name);
                    }
                    Found::LeftOut => left_out = true,
                    // What cannot be read is put off where its timer is looked at.
                    Found::NoMachine | Found::Failed(_) => {}
                }
            }
            let writes: Vec<TreeWrite> = trees.values().filter_map(Deciding::write).collect();
            for outcome in self.write_all(&writes, &commit_id, now).await {
                match outcome {
                    Written::Held => report.rearmed = report.rearmed.saturating_add(1),
                    // An event may have written the entry of one region and left the others as they were.
                    Written::Moved | Written::Failed(DatabaseError::Uncertain(_)) => left_out = true,
                    Written::Failed(DatabaseError::Constraint(_)) => {}
                }
            }
        }
        if left_out {
            return Ok(());
        }
        let ids = [
            tenant.as_str().into(),
            machine_id.as_str().into(),
            revision.into(),
        ];
        let full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= PASS_REARMED;
        let statement = match rows.last().filter(|_| full) {
            Some((last, _)) => {
                let [a, b, c] = ids;
                Statement::new(REARM_STANDS, [a, b, c, last.as_str().into()])
            }
            None => Statement::new(REARM_DONE, ids),
        };
        self.batch(vec![statement]).await?;
        Ok(())
    }
}

enum Written {
    Held,
    Moved,
    Failed(DatabaseError),
}

/// A tree with timers that are due, and the entities that they are of.
struct DueTree {
    loaded: Loaded,
    due: Vec<(String, Target)>,
}

/// The same after it was decided on.
struct FiredTree {
    due: Vec<(String, Target)>,
    /// How many timeouts were applied, and how many parked.
    timeouts: (usize, usize),
}

/// An entity of which the index says that a timer is due.
struct DueEntity {
    uid: String,
    name: Result<EntityName, Error>,
}

/// The entities of due timers, oldest first, each once.
fn due_entities(timers: &[String], now: Millis, report: &mut ScanReport) -> Result<Vec<DueEntity>, Error> {
    let mut seen = SortedSet::new();
    let mut entities = Vec::new();
    for row in timers {
        let (tenant, machine_id, entity_id, wake_at, uid): (String, String, String, i64, String) =
            decode(row)?;
        report.lag_ms = report.lag_ms.max(now.0.saturating_sub(wake_at));
        if seen.insert(uid.clone()) {
            let name = stored_name(&tenant, &machine_id, &entity_id);
            entities.push(DueEntity { uid, name });
        }
    }
    report.scanned = timers.len();
    report.due = entities.len();
    Ok(entities)
}

fn told(error: &Error) -> String {
    format!("{}: {error}", error.code().name())
}

fn stored_name(tenant: &str, machine_id: &str, entity_id: &str) -> Result<EntityName, Error> {
    let corrupt = |error: statewright_core::ids::NameError| {
        Error::Core(Core::Corrupt {
            what: "a timer".to_owned(),
            problem: format!("its entity has no valid name: {error}"),
        })
    };
    Ok(EntityName {
        tenant: TenantId::new(tenant).map_err(corrupt)?,
        machine_id: MachineId::new(machine_id).map_err(corrupt)?,
        entity_id: EntityId::named(entity_id).map_err(corrupt)?,
    })
}

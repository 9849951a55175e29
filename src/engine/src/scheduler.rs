//! What is known of the timers: the last pass, what is overdue, what is parked or fails.

use serde::Serialize;
use statewright_core::ids::{Millis, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::load::{decode, parse, rows_of};
use crate::outbound::Outbound;
use crate::scanner::ScanReport;

/// Where the buckets of lateness begin, in milliseconds.
const BUCKETS: [i64; 6] = [0, 10_000, 60_000, 600_000, 3_600_000, 86_400_000];
/// How far each is counted.
const MOST_COUNTED: i64 = 10_000;
/// How many parked or failing timers are listed.
const MOST_LISTED: i64 = 100;

/// The report of the last pass.
pub(crate) const REPORT: &str = "SELECT report FROM scheduler WHERE id = 1";

/// A tenant's timers that are due later than ?2 and not later than ?3, counted up to ?4.
pub(crate) const OVERDUE: &str = "SELECT json_array(count(*)) FROM (SELECT 1 FROM entries \
     WHERE wake_at > ?2 AND wake_at <= ?3 AND tenant = ?1 LIMIT ?4)";

/// A tenant's timers that are parked or fail.
pub(crate) const TROUBLED: &str = "SELECT json_array(machine_id, entity_id, region, due_at, parked, failures, error, wake_at) \
     FROM entries WHERE tenant = ?1 AND (parked IS NOT NULL OR failures > 0) \
     ORDER BY machine_id, entity_id, region LIMIT ?2";

/// The scheduler as a tenant sees it: the passes are the service's, the timers its own (I9).
#[derive(Debug, Clone, Serialize)]
pub struct SchedulerReport {
    /// The last pass; null before the first.
    pub last_pass: Option<ScanReport>,
    /// How many timers are overdue, by lateness.
    pub overdue: Vec<OverdueBucket>,
    /// The timers that are parked (M6).
    pub parked: Vec<ParkedTimer>,
    /// The timers of entities that fail.
    pub failing: Vec<FailingTimer>,
}

/// How many timers are late by so much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OverdueBucket {
    /// At least so many milliseconds late.
    pub from_ms: i64,
    /// Less than so many; null for no bound.
    pub to_ms: Option<i64>,
    /// How many, counted up to 10,000.
    pub timers: u64,
}

/// A timer whose commit is refused: it waits for a new revision, or to be released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParkedTimer {
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// Its region.
    pub region: String,
    /// When it was due.
    pub due_at: Option<i64>,
    /// Why it is refused.
    pub error: String,
}

/// A timer of an entity that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailingTimer {
    /// Its machine.
    pub machine_id: String,
    /// Its entity.
    pub entity_id: String,
    /// Its region.
    pub region: String,
    /// When it was due.
    pub due_at: Option<i64>,
    /// How often it failed.
    pub failures: u64,
    /// The last failure.
    pub error: Option<String>,
    /// When it is tried again.
    pub next_try_at: Option<i64>,
}

/// A row of [`TROUBLED`].
type TroubledRow = (
    String,
    String,
    String,
    Option<i64>,
    Option<String>,
    u64,
    Option<String>,
    Option<i64>,
);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The last pass of the scanner, and the overdue, parked and failing timers of a tenant.
    ///
    /// # Errors
    /// The database failed.
    pub async fn scheduler(&self, tenant: &TenantId) -> Result<SchedulerReport, Error> {
        let now: Millis = self.clock.now();
        let mut batch = vec![
            Statement::new(REPORT, []),
            Statement::new(TROUBLED, [tenant.as_str().into(), MOST_LISTED.into()]),
        ];
        let bounds = BUCKETS.iter().zip(BUCKETS.iter().skip(1).map(Some).chain([None]));
        for (from, to) in bounds.clone() {
            let latest = now.0.saturating_sub(*from);
            let earliest = to.map_or(-(1 << 53), |to| now.0.saturating_sub(*to));
            batch.push(Statement::new(
                OVERDUE,
                [
                    tenant.as_str().into(),
                    earliest.into(),
                    latest.into(),
                    MOST_COUNTED.into(),
                ],
            ));
        }
        let results = self.read(batch).await?;
        let last_pass = rows_of(&results, 0).first().map(|row| parse(row)).transpose()?;
        let mut parked = Vec::new();
        let mut failing = Vec::new();
        for row in rows_of(&results, 1) {
            let (machine_id, entity_id, region, due_at, why, failures, error, wake_at): TroubledRow =
                decode(row)?;
            match why {
                Some(error) => parked.push(ParkedTimer {
                    machine_id,
                    entity_id,
                    region,
                    due_at,
                    error,
                }),
                None => failing.push(FailingTimer {
                    machine_id,
                    entity_id,
                    region,
                    due_at,
                    failures,
                    error,
                    next_try_at: wake_at,
                }),
            }
        }
        let mut overdue = Vec::new();
        for (place, (from, to)) in bounds.enumerate() {
            let row = rows_of(&results, place.saturating_add(2)).first();
            let (timers,) = row.map(|row| decode::<(u64,)>(row)).transpose()?.unwrap_or((0,));
            overdue.push(OverdueBucket {
                from_ms: *from,
                to_ms: to.copied(),
                timers,
            });
        }
        Ok(SchedulerReport {
            last_pass,
            overdue,
            parked,
            failing,
        })
    }
}

//! The outbox as its tenant sees it: what waits, what became of what, sent again or called off (S0.49, S0.52, S2.120).
//!
//! Redriving and cancelling keep lanes whole (I7): of a lane's pending rows the first alone is due, and only where none of them
//! is being sent or waits for its next try. `WAKE` sees to that after whatever changes which row is the first.

mod filter;
mod sql;
mod views;

pub use filter::OutboxQuery;
pub use views::{
    CancelledAll, OutboxCancelled, OutboxCounts, OutboxEntry, OutboxItem, OutboxList, Phase, RedrivenAll,
    Status,
};

use serde::Serialize;
use serde_json::{Value, json};
use statewright_core::ids::{Millis, TenantId};

use self::filter::{Filter, Listed};
use self::sql::{CANCEL, CHANGED, COUNTS, ENTRY, PURGE, REDRIVE, STAND, STEP_BACK, STRANDED, TOKENS, WAKE};
use self::views::{Found, ItemRow};
use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, Statement};
use crate::error::Error;
use crate::load::{decode, rows_of, text};
use crate::once::Receipt;
use crate::outbound::Outbound;
use crate::outbox::ids::time_prefix;
use crate::page::{MAX_LIMIT, plain};
use crate::retry::Tries;
use crate::subscriptions;

/// Most rows that one call redrives or cancels.
pub const MOST_CHANGED: u32 = 1_000;
/// Subscriptions that one pass lets go what was left held for.
const MOST_STRANDED: i64 = 20;
/// How many rows a purge may pass over to begin behind them.
const MOST_SKIPPED: u64 = 20_000;

fn unknown(id: &str) -> Error {
    Error::Unknown {
        what: "outbox row",
        name: id.to_owned(),
    }
}

fn refused(found: &Found, expected: &'static str) -> Error {
    Error::OutboxStatus {
        id: found.item.id.clone(),
        status: found.item.status.name().to_owned(),
        expected,
    }
}

/// An effect with its secrets by name.
fn named_secrets(mut effect: Value) -> Value {
    if let Some(Value::Object(headers)) = effect.get_mut("headers") {
        for value in headers.values_mut() {
            if let Some(name) = value.get("secret").cloned() {
                *value = json!({ "secret": name });
            }
        }
    }
    effect
}

/// The statements that purge what was over `retention_ms` ago. The first begins with the oldest rows. The others begin anywhere,
/// by time and by place, so that old rows which stay pending keep nobody's from being found; `anywhere` are numbers of chance.
fn purge(now: Millis, retention_ms: u64, anywhere: [u8; 4]) -> [Statement; 3] {
    let [a, b, c, d] = anywhere;
    // Within so many rows, and more often near their beginning.
    let [by_time, by_place] = [[a, b], [c, d]].map(|two| u64::from(u16::from_be_bytes(two)));
    let skipped = i64::try_from((MOST_SKIPPED * by_place * by_place) >> 32).unwrap_or(0);
    let before = |millis: u64| {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        Millis(now.0.saturating_sub(millis))
    };
    let over = before(retention_ms);
    let back = retention_ms.saturating_add((retention_ms >> 16).saturating_mul(by_time));
    [
        (String::new(), 0),
        (time_prefix(before(back)), 0),
        (String::new(), skipped),
    ]
    .map(|(from, skipped)| {
        let params = [over.into(), time_prefix(over).into(), from.into(), skipped.into()];
        Statement::new(PURGE, params)
    })
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// A page of the outbox: the newest rows first, of pending ones the oldest.
    ///
    /// # Errors
    /// The query is invalid.
    pub async fn list_outbox(&self, tenant: &TenantId, query: &OutboxQuery) -> Result<OutboxList, Error> {
        let filter = Filter::of_query(query)?;
        let rows = query.paging.rows()?.min(MAX_LIMIT);
        let mut batch = vec![Statement::new(COUNTS, [tenant.as_str().into()])];
        batch.extend(filter.find(tenant, rows, None));
        let mut results = self.read(batch).await?;
        let listed = results.split_off(results.len().min(1));
        let (pending, done, skipped, dead, cancelled, oldest_pending) = match rows_of(&results, 0).first() {
            Some(row) => decode(row)?,
            None => (0, 0, 0, 0, 0, None),
        };
        let Listed { items, next, .. } = Listed::read(&listed, rows, self.clock.now())?;
        Ok(OutboxList {
            counts: OutboxCounts {
                pending,
                done,
                skipped,
                dead,
                cancelled,
            },
            oldest_pending,
            items,
            next,
        })
    }

    /// A row of the outbox with what is sent, and its attempts.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn get_outbox(&self, tenant: &TenantId, id: &str) -> Result<OutboxEntry, Error> {
        plain("id", id)?;
        let statement = Statement::new(ENTRY, [tenant.as_str().into(), id.into()]);
        let results = self.read(vec![statement]).await?;
        let row = rows_of(&results, 0).first().ok_or_else(|| unknown(id))?;
        let (item, effect, attempts): (ItemRow, String, String) = decode(row)?;
        Ok(OutboxEntry {
            item: Found::read(item, self.clock.now())?.item,
            effect: named_secrets(decode(&effect)?),
            attempts: decode(&attempts)?,
        })
    }

    /// Has an effect that is over tried again, or one that waits tried now, with all its tries.
    ///
    /// # Errors
    /// There is none of that id, it is done, or it is being sent.
    pub async fn redrive(&self, tenant: &TenantId, id: &str) -> Result<OutboxItem, Error> {
        plain("id", id)?;
        let mut tries = Tries::begin(&self.clock);
        // The state that an earlier try of unknown end was decided on.
        let mut tried: Option<String> = None;
        loop {
            let (mut row, token, lane) = match self.changed(tenant, id).await {
                Ok(found) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if self.scope.keyed.is_none() && tried.as_ref().is_some_and(|tried| *tried != token) {
                // It was redriven, and went on from there.
                return Ok(row.item);
            }
            let now = self.clock.now();
            // Its turn: nothing of its lane is being sent, and nothing comes before it.
            let turn = lane == "[0,0]";
            match (row.item.status, row.item.due_at) {
                (Status::Done, _) => {
                    let expected = "what is dead, skipped or cancelled can be redriven, and what waits";
                    return Err(refused(&row, expected));
                }
                (Status::Skipped, _) if row.item.kind == "presentation" && !row.subscribed => {
                    let expected = "no subscription was there to be told of it";
                    return Err(refused(&row, expected));
                }
                (Status::Pending, _) if row.claimed => {
                    return Err(refused(&row, "it is being sent; see what becomes of it first"));
                }
                (Status::Pending, Some(due)) if due <= now => return Ok(row.item),
                (Status::Pending, None) if !row.held && !turn => return Ok(row.item),
                (Status::Pending, Some(_)) => row.item.due_at = Some(now),
                _ => row.item.due_at = turn.then_some(now),
            }
            row.item.status = Status::Pending;
            row.item.finished_at = None;
            row.held = false;
            row.claimed = false;
            row.item.phase = row.phase(now);
            let batch = Self::changing(tenant, REDRIVE, &json!([[id, token, lane]]), now);
            match self.write_changed(batch, &|| text_of(&row.item)).await {
                Ok(()) => return Ok(row.item),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = Some(token);
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// Calls a pending effect off. One that is being sent may have been delivered.
    ///
    /// # Errors
    /// There is none of that id, or it is over.
    pub async fn cancel(&self, tenant: &TenantId, id: &str) -> Result<OutboxCancelled, Error> {
        plain("id", id)?;
        let mut tries = Tries::begin(&self.clock);
        // What earlier tries of unknown end answer if one of them was applied.
        let mut tried: Vec<OutboxCancelled> = Vec::new();
        loop {
            let (row, token, _) = match self.changed(tenant, id).await {
                Ok(found) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(own) = tried.iter().find(|own| own.item == row.item) {
                return Ok(own.clone());
            }
            if row.item.status != Status::Pending {
                return Err(refused(&row, "only what is pending can be cancelled"));
            }
            let now = self.clock.now();
            let cancelled = OutboxCancelled {
                was: row.item.phase,
                may_be_delivered: row.claimed,
                item: OutboxItem {
                    status: Status::Cancelled,
                    phase: None,
                    due_at: None,
                    finished_at: Some(now),
                    ..row.item
                },
            };
            let batch = Self::changing(tenant, CANCEL, &json!([[id, token, null]]), now);
            match self.write_changed(batch, &|| text_of(&cancelled)).await {
                Ok(()) => return Ok(cancelled),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried.push(cancelled);
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// Redrives what fits a filter: dead rows, unless it says `skipped`, `cancelled`, or `pending` for those that wait for their next
    /// try. At most 1,000 a call.
    ///
    /// # Errors
    /// The filter is invalid.
    pub async fn redrive_all(&self, tenant: &TenantId, body: &[u8]) -> Result<RedrivenAll, Error> {
        let statuses = [Status::Dead, Status::Skipped, Status::Cancelled, Status::Pending];
        let filter = Filter::of_body(body, &statuses)?;
        let told = |redriven, cursor: Option<String>| RedrivenAll {
            redriven,
            more: cursor.is_some(),
            cursor,
        };
        self.change_all(tenant, &filter, REDRIVE, told).await
    }

    /// Calls pending effects that fit a filter off, the oldest first. At most 1,000 a call.
    ///
    /// # Errors
    /// The filter is invalid.
    pub async fn cancel_all(&self, tenant: &TenantId, body: &[u8]) -> Result<CancelledAll, Error> {
        let filter = Filter::of_body(body, &[Status::Pending])?;
        let told = |cancelled, cursor: Option<String>| CancelledAll {
            cancelled,
            more: cursor.is_some(),
            cursor,
        };
        self.change_all(tenant, &filter, CANCEL, told).await
    }

    async fn change_all<T: Serialize>(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        change: &'static str,
        told: impl Fn(usize, Option<String>) -> T,
    ) -> Result<T, Error> {
        let mut tries = Tries::begin(&self.clock);
        let mut most = MOST_CHANGED;
        // The rows that an earlier try of unknown end was to change, and what it answers if it did.
        let mut tried: Option<(Vec<(String, String)>, T)> = None;
        loop {
            let now = self.clock.now();
            let changed_at = (change == REDRIVE).then_some(now);
            if let Some((rows, answer)) = tried.take() {
                let standing = match self.states(tenant, &rows).await {
                    Ok(standing) => standing,
                    Err(error) => {
                        tried = Some((rows, answer));
                        self.read_failed(&mut tries, error).await?;
                        continue;
                    }
                };
                // All are changed at once or none is.
                if !rows.is_empty() && rows.iter().all(|row| !standing.contains(row)) {
                    return Ok(answer);
                }
                tried = Some((rows, answer));
            }
            let read = self.read(filter.find(tenant, most, changed_at)).await;
            let Listed {
                states: rows, next, ..
            } = match read.and_then(|results| Listed::read(&results, most, now)) {
                Ok(listed) => listed,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let answer = told(rows.len(), next);
            if rows.is_empty() {
                return Ok(answer);
            }
            let batch = Self::changing(tenant, change, &json!(rows), now);
            match self.write_changed(batch, &|| text_of(&answer)).await {
                Ok(()) => return Ok(answer),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = Some((rows, answer));
                    } else {
                        // Where deliveries keep changing them, fewer have a better chance.
                        most = (most / 2).max(1);
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// A row to be changed, its state, and its lane's.
    async fn changed(&self, tenant: &TenantId, id: &str) -> Result<(Found, String, String), Error> {
        let statement = Statement::new(CHANGED, [tenant.as_str().into(), id.into()]);
        let results = self.read(vec![statement]).await?;
        let row = rows_of(&results, 0).first().ok_or_else(|| unknown(id))?;
        let (item, token, lane): (ItemRow, String, String) = decode(row)?;
        Ok((Found::read(item, self.clock.now())?, token, lane))
    }

    /// The states of rows now.
    async fn states(
        &self,
        tenant: &TenantId,
        rows: &[(String, String)],
    ) -> Result<Vec<(String, String)>, Error> {
        let statement = Statement::new(TOKENS, [tenant.as_str().into(), text(&rows)]);
        let results = self.read(vec![statement]).await?;
        rows_of(&results, 0).iter().map(|row| decode(row)).collect()
    }

    /// The statements of a change of rows, [id, state, its lane's or null].
    fn changing(tenant: &TenantId, change: &'static str, rows: &Value, now: Millis) -> Vec<Statement> {
        let (tenant, rows) = (tenant.as_str(), rows.to_string());
        vec![
            Statement::new(STAND, [tenant.into(), rows.as_str().into()]),
            Statement::new(change, [tenant.into(), rows.as_str().into(), now.into()]),
            // A row that is called off comes before nothing any more.
            Statement::new(STEP_BACK, [tenant.into(), rows.as_str().into()]),
            Statement::new(WAKE, [tenant.into(), rows.into(), now.into()]),
        ]
    }

    async fn write_changed(
        &self,
        batch: Vec<Statement>,
        answer: &dyn Fn() -> String,
    ) -> Result<(), DatabaseError> {
        let receipt = || Receipt {
            answer: Some(answer()),
            outcome: "applied",
            ..Receipt::default()
        };
        self.write_in(&self.scope, batch, &receipt).await.map(drop)
    }

    /// Purges rows that have been over for as long as they are kept (S0.52), and lets go what is held for subscriptions that are not
    /// suspended any more, as far as they could not do so themselves. Bounded; for the scanner.
    ///
    /// # Errors
    /// The database failed.
    pub async fn upkeep(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let [a, b, c, d, ..] = self.random.bytes();
        let mut batch = Vec::from(purge(now, self.settings.retention_ms, [a, b, c, d]));
        // Begun anywhere every other time, so that none is behind too many others for ever.
        let behind = if a & 1 == 0 {
            String::new()
        } else {
            self.somewhere()
        };
        batch.push(Statement::new(STRANDED, [MOST_STRANDED.into(), behind.into()]));
        let results = self.batch(batch).await?;
        let mut released = Vec::new();
        for row in rows_of(&results, 3) {
            let (tenant, subscription): (String, String) = decode(row)?;
            released.extend(subscriptions::release(&tenant, &subscription, now));
        }
        if !released.is_empty() {
            self.batch(released).await?;
        }
        Ok(())
    }
}

fn text_of(answer: &impl serde::Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

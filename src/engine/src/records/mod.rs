//! State records: a state, a version and data, without a definition (S0.1 to S0.41).
//!
//! An operation is one batch. A transition reads nothing before it: the comparison is the `WHERE` of its `UPDATE`, and the
//! event is made from the row that this has just written, so that neither is there without the other (S0.30). Each
//! statement after it does nothing where it did not match, and what is read at the end says which it was.

mod arguments;
mod refused;
mod sql;

pub use refused::{Reason, StateError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use statewright_core::error::Error as Core;
use statewright_core::ids::{Millis, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::error::Error;
use crate::load::{decode, parse, rows_of};
use crate::once::{EXPIRE, Once};
use crate::outbound::Outbound;
use crate::outbox::Claim;
use crate::outbox::ids::effect_prefix;
use crate::retry::Tries;

use arguments::{Creation, Move, Name};
use sql::{CREATE, EVENT, FOUND, KEEP, MOVE, PRESENT, SKIP};

/// A record (S0.8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The family it belongs to.
    pub machine: String,
    /// Its name there.
    pub id: String,
    /// Its state.
    pub state: String,
    /// 1 at first, and one more with each transition (S0.5).
    pub version: u64,
    /// What it carries.
    pub data: Data,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last moved, or made.
    pub updated_at: Millis,
}

/// A JSON value that is kept to the byte: no number of it is altered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Data(Box<RawValue>);

impl Data {
    /// Its text.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// What a creation and a transition answer (S0.12, S0.16).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordAnswer {
    /// Always true.
    pub ok: bool,
    /// The record as this made it.
    pub record: Record,
    /// A transition's event, the same in all its presentations (S0.35).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// What a look at a record answers (S0.15).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordFound {
    /// Whether it is there.
    pub found: bool,
    /// The record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
}

/// A failure of the database, told as one of the store.
fn store(error: Error) -> Error {
    match error {
        Error::Database(message) => Error::State(StateError::Store(message)),
        Error::Contention { .. } | Error::Core(Core::Corrupt { .. }) => {
            Error::State(StateError::Store(error.to_string()))
        }
        other => other,
    }
}

fn unexpected(what: &str) -> Error {
    Error::State(StateError::Store(what.to_owned()))
}

/// What stands of a transition's event: an id, whether this process is to deliver it, when it was made.
type EventRow = (String, u8, Millis);

/// What a batch left.
struct Stands {
    uid: String,
    record: Record,
}

/// What was read at the end of a batch.
struct Outcome {
    stands: Option<Stands>,
    event: Vec<EventRow>,
    /// Whether there was a receipt of the request's key before.
    receipt: bool,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Makes a state record (S0.12 to S0.14): no transition, and so no event.
    ///
    /// # Errors
    /// [`StateError`]; or the body is too large, or the request's key says what becomes of it.
    pub async fn create_record(&self, tenant: &TenantId, body: &[u8]) -> Result<RecordAnswer, Error> {
        self.serve_records(tenant)?;
        let Creation { name, state, data } = Creation::read(tenant, body, self.settings.most_data_bytes)?;
        let (uid, commit_id) = (random_name(&self.random), random_name(&self.random));
        let mut tries = Tries::begin(&self.clock);
        loop {
            let now = self.clock.now();
            let create = name.statement(
                CREATE,
                [
                    uid.as_str().into(),
                    state.as_str().into(),
                    data.text().into(),
                    commit_id.as_str().into(),
                    now.into(),
                ],
            );
            let error = match self
                .write_record(&name, vec![create], &commit_id, None, now)
                .await
            {
                Ok(outcome) => {
                    let stands = outcome.stands.ok_or_else(|| unexpected("a record went away"))?;
                    if stands.uid != uid {
                        self.refuse_or_replay(outcome.receipt).await?;
                        return Err(StateError::Exists(Box::new(stands.record)).into());
                    }
                    self.mark_written();
                    // Others may have moved it where the answer that made it was lost.
                    let created_at = stands.record.created_at;
                    let record = Record {
                        state,
                        version: 1,
                        data,
                        updated_at: created_at,
                        ..stands.record
                    };
                    return Ok(RecordAnswer {
                        ok: true,
                        record,
                        event_id: None,
                    });
                }
                Err(error) => error,
            };
            self.record_failed(&mut tries, error).await?;
        }
    }

    /// Looks at a state record (S0.15).
    ///
    /// # Errors
    /// [`StateError`], but not that there is none; or the body is too large.
    pub async fn get_record(&self, tenant: &TenantId, body: &[u8]) -> Result<RecordFound, Error> {
        self.serve_records(tenant)?;
        let name = Name::read(tenant, body)?;
        let results = self.read(vec![name.statement(FOUND, [])]).await.map_err(store)?;
        let stands = stands(rows_of(&results, 0))?;
        Ok(RecordFound {
            found: stands.is_some(),
            record: stands.map(|stands| stands.record),
        })
    }

    /// Moves a state record that is in the state and at the version that the caller says, and writes its event (S0.16 to
    /// S0.25, S0.30).
    ///
    /// # Errors
    /// [`StateError`]: nothing has changed then, but for a [`StateError::Store`] of unknown end. Or the body is too large,
    /// or the request's key says what becomes of it.
    pub async fn transition_record(&self, tenant: &TenantId, body: &[u8]) -> Result<RecordAnswer, Error> {
        self.serve_records(tenant)?;
        let asked = Move::read(tenant, body, self.settings.most_data_bytes)?;
        let Move {
            name,
            from,
            to,
            expected_version,
            data,
        } = asked;
        let commit_id = random_name(&self.random);
        let event_id = format!("{}.0", effect_prefix(self.clock.now(), &commit_id));
        let version = expected_version.saturating_add(1);
        let mut tries = Tries::begin(&self.clock);
        loop {
            let now = self.clock.now();
            let moving = name.statement(
                MOVE,
                [
                    commit_id.as_str().into(),
                    from.as_str().into(),
                    // INVARIANT: it is at most 2^53.
                    i64::try_from(expected_version).unwrap_or(i64::MAX).into(),
                    to.as_str().into(),
                    data.as_ref().map_or(Param::Null, |data| data.text().into()),
                    now.into(),
                ],
            );
            let event = json!({
                "kind": "presentation",
                "type": "record.transition",
                "machine": name.machine,
                "id": name.id,
                "from": from,
                "to": to,
                "version": version,
                "event_id": event_id,
                "cause": self.scope.origin,
                "committed_at": now,
            });
            let event = event.to_string();
            let claimed_until = if self.outbound.sends() {
                now.after(self.settings.stale_after_ms).into()
            } else {
                Param::Null
            };
            let present = name.statement(
                PRESENT,
                [
                    commit_id.as_str().into(),
                    event_id.as_str().into(),
                    from.as_str().into(),
                    event.as_str().into(),
                    now.into(),
                    claimed_until,
                ],
            );
            let skip = name.statement(
                SKIP,
                [
                    commit_id.as_str().into(),
                    event_id.as_str().into(),
                    event.into(),
                    now.into(),
                ],
            );
            let statements = vec![moving, present, skip];
            let written = self
                .write_record(&name, statements, &commit_id, Some(&event_id), now)
                .await;
            let error = match written {
                Ok(Outcome {
                    stands,
                    event,
                    receipt,
                }) => {
                    let Some((_, _, committed_at)) = event.first() else {
                        self.refuse_or_replay(receipt).await?;
                        let current = stands.ok_or_else(|| name.missing())?.record;
                        let reason = match (current.version == expected_version, current.state == from) {
                            (false, _) => Reason::Version,
                            (true, false) => Reason::State,
                            (true, true) => return Err(unexpected("a transition left no event")),
                        };
                        return Err(Error::State(StateError::Conflict {
                            reason,
                            from,
                            expected_version,
                            current: Box::new(current),
                        }));
                    };
                    self.claim_event(tenant, &event);
                    let mut record = stands.ok_or_else(|| unexpected("a record went away"))?.record;
                    if record.version != version {
                        // Its answer was lost, and others have moved it on since. What it made is in its receipt, or as far
                        // as the caller gave it here. Data that it kept and another has replaced is nowhere: then the record
                        // is told as it is by now.
                        self.refuse_or_replay(receipt).await?;
                        if let Some(data) = data {
                            record = Record {
                                state: to,
                                version,
                                data,
                                updated_at: *committed_at,
                                ..record
                            };
                        }
                    }
                    self.mark_written();
                    return Ok(RecordAnswer {
                        ok: true,
                        record,
                        event_id: Some(event_id),
                    });
                }
                Err(error) => error,
            };
            self.record_failed(&mut tries, error).await?;
        }
    }

    fn serve_records(&self, tenant: &TenantId) -> Result<(), Error> {
        if self.settings.records {
            self.scope.of_tenant(tenant);
            Ok(())
        } else {
            Err(StateError::Disabled.into())
        }
    }

    /// Runs a write with the receipt that its commit gives, and reads what stands then.
    async fn write_record(
        &self,
        name: &Name<'_>,
        statements: Vec<Statement>,
        commit_id: &str,
        event_id: Option<&str>,
        now: Millis,
    ) -> Result<Outcome, DatabaseError> {
        let mut batch = Vec::new();
        let keyed = self.scope.keyed.as_ref();
        if let Some(keyed) = keyed {
            let Once { key, scope, .. } = &keyed.once;
            let params = [
                name.tenant.as_str().into(),
                key.as_str().into(),
                scope.as_str().into(),
                now.into(),
            ];
            batch.push(Statement::new(EXPIRE, params));
            batch.push(keyed.look_up());
        }
        batch.extend(statements);
        if let Some(keyed) = keyed {
            let Once {
                key,
                scope,
                fingerprint,
                kept_ms,
                success,
            } = &keyed.once;
            let rest = match event_id {
                Some(event_id) => format!(",\"event_id\":{}}}", Value::from(event_id)),
                None => "}".to_owned(),
            };
            batch.push(name.statement(
                KEEP,
                [
                    commit_id.into(),
                    key.as_str().into(),
                    scope.as_str().into(),
                    fingerprint.as_str().into(),
                    i64::from(*success).into(),
                    rest.into(),
                    now.into(),
                    now.0.saturating_add(*kept_ms).into(),
                ],
            ));
        }
        let written = batch.len();
        batch.push(name.statement(FOUND, []));
        if let Some(event_id) = event_id {
            batch.push(Statement::new(
                EVENT,
                [name.tenant.as_str().into(), event_id.into()],
            ));
        }
        let results = self.batch(batch).await?;
        // It was committed: a row that cannot be read now can be read by the next try no better.
        let unreadable = |error: Error| DatabaseError::Uncertain(error.to_string());
        if let Some(keyed) = keyed {
            keyed.looked.set(true);
        }
        let event = rows_of(&results, written.saturating_add(1)).iter();
        Ok(Outcome {
            stands: stands(rows_of(&results, written)).map_err(unreadable)?,
            event: event
                .map(|row| decode(row))
                .collect::<Result<_, _>>()
                .map_err(unreadable)?,
            receipt: keyed.is_some() && !rows_of(&results, 1).is_empty(),
        })
    }

    /// Where the request's key has a receipt, that is what is answered.
    async fn refuse_or_replay(&self, receipt: bool) -> Result<(), Error> {
        if receipt {
            self.read(Vec::new()).await.map_err(store)?;
        }
        Ok(())
    }

    /// The receipt stands: the host has none to keep.
    fn mark_written(&self) {
        if let Some(keyed) = &self.scope.keyed {
            keyed.written.set(true);
        }
    }

    /// What was claimed for this process as it was written.
    fn claim_event(&self, tenant: &TenantId, event: &[EventRow]) {
        let claimed = event.iter().filter(|(_, claimed, _)| *claimed == 1);
        self.claimed.borrow_mut().extend(claimed.map(|(id, ..)| Claim {
            tenant: tenant.as_str().to_owned(),
            id: id.clone(),
            fence: 1,
        }));
    }

    /// Waits before a write is tried again, with the same ids: what an earlier try has committed is known by them.
    async fn record_failed(&self, tries: &mut Tries, error: DatabaseError) -> Result<(), Error> {
        if let DatabaseError::Constraint(message) = &error {
            // Only a receipt can stand in the way.
            if self.scope.keyed.is_none() {
                return Err(unexpected(message));
            }
            match self.read(Vec::new()).await {
                Err(Error::InboxUnavailable | Error::Database(_)) if tries.is_uncertain() => {}
                other => {
                    other.map_err(store)?;
                }
            }
        }
        tries.again(error, &self.clock, &self.random).await.map_err(store)
    }
}

fn stands(rows: &[String]) -> Result<Option<Stands>, Error> {
    let Some(row) = rows.first() else { return Ok(None) };
    let (uid, record) = parse(row).map_err(store)?;
    Ok(Some(Stands { uid, record }))
}

//! A batch with an Idempotency-Key: the whole is claimed while it is under way, and what becomes of each event is kept with its
//! effect, so that a retry goes on where the first ended (design 5, S4.93, S4.106).

use serde_json::json;
use serde_json::value::RawValue;
use statewright_core::answer::Answer;
use statewright_core::sorted::SortedMap;

use crate::Engine;
use crate::batch::{BatchAnswer, BatchResult};
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::evaluate::{outcome_of, told_rows_of};
use crate::load::{decode, rows_of};
use crate::once::{KEPT_MS, Keyed};
use crate::outbound::Outbound;
use crate::store::JsonRows;

/// How long a batch is under way at the most: what is left behind then can be taken over (S4.106).
const LEASE_MS: i64 = 60_000;

/// Forgets what is expired of a key: tenant, key, scope, now. What is under way stays.
pub(crate) const EXPIRE_ALL: &str = "DELETE FROM inbox WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND expires_at <= ?4 \
     AND status <> 0";

/// Begins a batch, or takes one over that was left behind: [tenant, key, scope, fingerprint, now, end of the lease].
pub(crate) const BEGIN: &str = "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, outcome, created_at, expires_at) \
     SELECT ?1->>0, ?1->>1, ?1->>2, -1, ?1->>3, 0, 'in flight', ?1->>4, ?1->>5 WHERE true \
     ON CONFLICT (tenant, key, scope, part) DO UPDATE SET expires_at = excluded.expires_at \
       WHERE inbox.status = 0 AND inbox.expires_at <= excluded.created_at AND inbox.fingerprint = excluded.fingerprint \
     RETURNING json_array(1)";

/// What stands under a key: [part, fingerprint, status, answer, numbers, commit, whether it is expired].
pub(crate) const STANDS: &str = "SELECT json_array(part, fingerprint, status, answer, numbers, commit_id) FROM inbox \
     WHERE tenant = ?1 AND key = ?2 AND scope = ?3 ORDER BY part";

macro_rules! write_parts {
    ($filter:expr) => {
        concat!(
            "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, answer, numbers, outcome, uid, commit_id, \
               created_at, expires_at) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, 200, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12 FROM json_each(?1) r",
            $filter
        )
    };
}

/// What became of events of the trees that hold.
pub(crate) const HELD_PARTS: &str = write_parts!(
    " WHERE r.value->>0 IN (SELECT k.value FROM held x CROSS JOIN json_each(x.trees) k WHERE x.commit_id = ?2)"
);

/// What became of events that wrote nothing.
pub(crate) const PARTS: &str = write_parts!("");

/// Ends a batch: its answer stands.
pub(crate) const FINISH: &str = "UPDATE inbox SET status = 200, outcome = 'applied', expires_at = ?4, answer = ?5 \
     WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND part = -1 AND status = 0";

/// Keeps what was kept of an earlier try as long as the whole.
pub(crate) const KEEP_PARTS: &str = "UPDATE inbox SET expires_at = ?4 WHERE tenant = ?1 AND key = ?2 AND scope = ?3 \
     AND part >= 0 AND expires_at < ?4 - 3600000";

/// Ends a batch of which some events are to be sent again: the next try goes on.
pub(crate) const LEAVE: &str =
    "DELETE FROM inbox WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND part = -1 AND status = 0";

type StandingRow = (i64, String, u16, Option<String>, Option<String>, Option<String>);

fn keep(kept: &mut Kept, place: usize, answer: String) {
    if let Ok(answer) = RawValue::from_string(answer) {
        kept.insert(place, answer);
    }
}

/// What was kept of a batch's events, by their places.
pub(crate) type Kept = SortedMap<usize, Box<RawValue>>;

/// How a batch with a key begins.
pub(crate) enum Begun {
    /// It is this request's, but for the events that were answered before.
    Ours(Kept),
    /// All of it was answered before.
    Answered(Kept),
}

/// A part to be kept: the place of its tree, and its row.
pub(crate) struct Part<'a> {
    pub(crate) place: usize,
    pub(crate) result: &'a BatchResult,
    pub(crate) uids: &'a [String],
    /// The incarnation that the event met: deleting it forgets the part (R17).
    pub(crate) uid: Option<String>,
    pub(crate) commit_id: Option<&'a str>,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Claims a batch.
    ///
    /// # Errors
    /// It is under way, or the key was used with another; or that cannot be found out.
    pub(crate) async fn begin_batch(&self, keyed: &Keyed) -> Result<Begun, Error> {
        let now = self.clock.now().0;
        let [tenant, key, scope] = keyed.names();
        let claim = json!([
            tenant,
            key,
            scope,
            keyed.once.fingerprint,
            now,
            now.saturating_add(LEASE_MS)
        ]);
        let names = || [tenant.as_str(), &key, &scope];
        let [a, b, c] = names();
        let statements = vec![
            Statement::new(EXPIRE_ALL, [a.into(), b.into(), c.into(), now.into()]),
            Statement::new(BEGIN, [claim.to_string().into()]),
            Statement::new(STANDS, names().map(Into::into)),
        ];
        let results = self
            .batch(statements)
            .await
            .map_err(|_| Error::InboxUnavailable)?;
        let ours = !rows_of(&results, 1).is_empty();
        let mut kept = Kept::new();
        let mut whole = None;
        let (mut numbered, mut places) = (Vec::new(), Vec::new());
        for row in rows_of(&results, 2) {
            let (part, fingerprint, status, answer, numbers, commit_id): StandingRow = decode(row)?;
            if fingerprint != keyed.once.fingerprint {
                if ours {
                    // Of an earlier batch that was left behind; nothing is under way.
                    let leave = Statement::new(LEAVE, names().map(Into::into));
                    drop(self.batch(vec![leave]).await);
                }
                return Err(Error::IdempotencyMismatch(key));
            }
            let Ok(place) = usize::try_from(part) else {
                whole = Some(status);
                continue;
            };
            match (answer, numbers) {
                (Some(answer), Some(numbers)) => {
                    numbered.push((answer, numbers, commit_id.unwrap_or_default()));
                    places.push(place);
                }
                (answer, _) => keep(&mut kept, place, answer.unwrap_or_default()),
            }
        }
        if !numbered.is_empty() {
            let answers = self.numbered_answers(numbered).await;
            for (place, answer) in places.into_iter().zip(answers) {
                keep(&mut kept, place, answer);
            }
        }
        match whole {
            _ if ours => Ok(Begun::Ours(kept)),
            Some(0) | None => Err(Error::IdempotencyInFlight(key)),
            Some(_) => Ok(Begun::Answered(kept)),
        }
    }

    /// The statements that keep what became of events.
    pub(crate) fn keep_parts<'p>(
        &self,
        keyed: &Keyed,
        parts: impl Iterator<Item = (usize, Part<'p>)>,
        commit_id: Option<&str>,
    ) -> Vec<Statement> {
        let now = self.clock.now().0;
        let [tenant, key, scope] = keyed.names();
        let mut rows = JsonRows::default();
        for (tree, part) in parts {
            let numbers = part
                .result
                .answer()
                .map(|answer| told_rows_of(answer, part.uids, "/result"));
            let numbers = numbers.filter(|numbers| !numbers.is_empty());
            rows.push(&json!([
                tree,
                tenant,
                key,
                scope,
                part.place,
                keyed.once.fingerprint,
                serde_json::to_string(&part.result.numbered()).ok(),
                numbers.map(|numbers| json!(numbers).to_string()),
                part.result.answer().map_or("refused", outcome_of),
                part.uid,
                part.commit_id,
                now,
                now.saturating_add(KEPT_MS),
            ]));
        }
        rows.parameters()
            .map(|rows| match commit_id {
                Some(commit_id) => Statement::new(HELD_PARTS, [rows.into(), commit_id.into()]),
                None => Statement::new(PARTS, [rows.into()]),
            })
            .collect()
    }

    /// Ends a batch: what became of the events that wrote nothing is kept, and whether all of it stands. That it cannot be kept
    /// must not hide what was applied: the next try finds each event's own part.
    pub(crate) async fn finish_batch(
        &self,
        keyed: &Keyed,
        answer: &BatchAnswer,
        kept: &[bool],
        met: &[Option<String>],
    ) {
        let results = &answer.results;
        let uids: [String; 0] = [];
        let left = results.iter().enumerate().zip(kept);
        let left = left.filter(|((_, result), kept)| !**kept && !result.invites_retry());
        let parts = left.map(|((place, result), _)| {
            let part = Part {
                place,
                result,
                uids: &uids,
                uid: met.get(place).cloned().flatten(),
                commit_id: None,
            };
            (0, part)
        });
        let mut statements = self.keep_parts(keyed, parts, None);
        let [tenant, key, scope] = keyed.names();
        let names = [tenant.as_str(), &key, &scope];
        let [a, b, c] = names;
        if results.iter().any(BatchResult::invites_retry) {
            statements.push(Statement::new(LEAVE, names.map(Into::into)));
        } else {
            let kept_until = self.clock.now().0.saturating_add(KEPT_MS);
            // The results stand in the parts.
            let sum = json!({"total": answer.total, "succeeded": answer.succeeded, "failed": answer.failed});
            let until = || kept_until.into();
            statements.extend([
                Statement::new(KEEP_PARTS, [a.into(), b.into(), c.into(), until()]),
                Statement::new(
                    FINISH,
                    [a.into(), b.into(), c.into(), until(), sum.to_string().into()],
                ),
            ]);
        }
        drop(self.batch(statements).await);
        keyed.written.set(true);
    }
}

/// An answer with a place for each id that its history rows get.
pub(crate) fn with_places(answer: &Answer) -> Answer {
    let mut kept = answer.clone();
    kept.number_rows(|_, _| Some(0));
    kept
}

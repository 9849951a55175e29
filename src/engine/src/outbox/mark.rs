//! What a delivery's outcome leaves in its row: its status, when it is due again, and what is told of the attempt.

use serde::Serialize;
use serde_json::{Value, json};
use statewright_core::ids::Millis;

use super::deliver::Sent;
use super::send::{Delivery, Outcome};
use crate::Engine;
use crate::database::{Clock, Database, Random};
use crate::outbound::{MOST_BODY_BYTES, Outbound};

/// How long denials may go on (design 4).
const MOST_DENIED_MS: i64 = 7 * 86_400_000;
/// The waits between presentations, in milliseconds; the last one repeats.
const PRESENTATION_RETRIES_MS: [i64; 4] = [1_000, 5_000, 30_000, 120_000];
/// From which wait on an action's retries are spread.
const FIRST_SPREAD: usize = 3;

/// What is kept of an attempt.
#[derive(Default, Serialize)]
struct Entry<'a> {
    attempt: u64,
    at: i64,
    ms: i64,
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// How many tries a row has.
    pub(super) fn limit(&self, delivery: &Delivery) -> u64 {
        if delivery.kind == "presentation" {
            return u64::from(self.settings.most_presentations);
        }
        u64::try_from(self.settings.action_retries_ms.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    /// The row of [`MARK`], and when it is due again.
    pub(super) fn marked(&self, sent: &Sent, now: Millis) -> (Value, Option<Millis>) {
        let Sent {
            delivery,
            outcome,
            at,
            took_ms,
        } = sent;
        let mut status = "pending";
        let mut due = None;
        let (mut back, mut held) = (0, 0);
        let mut denied_since = None;
        let mut entry = Entry {
            attempt: delivery.attempt,
            at: at.0,
            ms: *took_ms,
            ..Entry::default()
        };
        let mut error = None;
        match outcome {
            Outcome::Accepted {
                status: answered,
                note,
            } => {
                status = "done";
                entry.status = *answered;
                entry.outcome = note.as_deref();
            }
            Outcome::Failed {
                silent: _,
                status: answered,
                error: told,
                body,
            } => {
                entry.status = *answered;
                entry.body = body.as_deref().map(cut);
                error = Some(told.clone());
                match self.again(delivery) {
                    Some(wait) => due = Some(Millis(now.0.saturating_add(wait))),
                    None => status = "dead",
                }
            }
            Outcome::Denied {
                status: answered,
                wait_ms,
            } => {
                entry.status = Some(*answered);
                error = Some(format!("the receiver answered {answered}: it takes nothing now"));
                let since = delivery.denied_since.unwrap_or(now.0);
                if now.0.saturating_sub(since) > MOST_DENIED_MS {
                    status = "dead";
                } else {
                    back = 1;
                    denied_since = Some(since);
                    due = Some(Millis(now.0.saturating_add(*wait_ms)));
                }
            }
            Outcome::Dead { error: told } => {
                status = "dead";
                error = Some(told.clone());
            }
            Outcome::Skipped => status = "skipped",
            Outcome::Held => (back, held, denied_since) = (1, 1, delivery.denied_since),
            Outcome::Postponed { wait_ms } => {
                back = 1;
                denied_since = delivery.denied_since;
                due = Some(Millis(now.0.saturating_add(*wait_ms)));
            }
        }
        entry.error = error.as_deref().map(cut);
        let tells = !matches!(
            outcome,
            Outcome::Held | Outcome::Skipped | Outcome::Postponed { .. }
        );
        let entry = tells.then(|| serde_json::to_string(&entry).unwrap_or_default());
        let finished = (status != "pending").then_some(now);
        let row = json!([
            delivery.tenant,
            delivery.id,
            delivery.claim,
            status,
            due,
            back,
            denied_since,
            held,
            error.as_deref().map(cut),
            finished,
            entry,
            delivery.subscription,
        ]);
        (row, due)
    }

    /// How long until a failed delivery is tried again; none where its tries are over.
    fn again(&self, delivery: &Delivery) -> Option<i64> {
        if delivery.tries >= self.limit(delivery) {
            return None;
        }
        let place = usize::try_from(delivery.tries.saturating_sub(1)).unwrap_or(usize::MAX);
        if delivery.kind == "presentation" {
            let wait = PRESENTATION_RETRIES_MS
                .get(place)
                .or(PRESENTATION_RETRIES_MS.last());
            return wait.copied();
        }
        let wait = self.settings.action_retries_ms.get(place).copied()?;
        let wait = i64::try_from(wait).unwrap_or(i64::MAX);
        if place < FIRST_SPREAD {
            return Some(wait);
        }
        // A fifth less or more, so that what failed together does not come back together.
        let [a, b, ..] = self.random.bytes();
        let spread = i64::from(u16::from_be_bytes([a, b])).saturating_sub(32_768);
        Some(wait.saturating_add(wait / 5 * spread / 32_768))
    }
}

/// A text of at most a kilobyte.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_BODY_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

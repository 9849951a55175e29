//! How rows of the outbox are shown.

use serde::Serialize;
use serde_json::Value;
use statewright_core::error::Error as Core;
use statewright_core::ids::Millis;

use crate::error::Error;

/// The status of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is to be sent.
    Pending,
    /// It was accepted.
    Done,
    /// There was nobody to be told.
    Skipped,
    /// It was given up.
    Dead,
    /// It was called off.
    Cancelled,
}

impl Status {
    pub(super) fn read(path: &str, text: &str, allowed: &[Self]) -> Result<Self, Error> {
        let named = |status: &&Self| status.name() == text;
        allowed.iter().find(named).copied().ok_or_else(|| {
            let names: Vec<_> = allowed.iter().map(|status| status.name()).collect();
            let expected = format!("`{}`", names.join("`, `"));
            Error::invalid(path, "it is no status that can be asked for here", expected)
        })
    }

    fn stored(text: &str) -> Result<Self, Error> {
        let all = [
            Self::Pending,
            Self::Done,
            Self::Skipped,
            Self::Dead,
            Self::Cancelled,
        ];
        Self::read("status", text, &all).map_err(|_| {
            Error::Core(Core::Corrupt {
                what: "a row of the outbox".to_owned(),
                problem: format!("it has the status `{text}`"),
            })
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a pending row waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Another row of its lane comes first.
    Queued,
    /// Nothing: it is sent next.
    Due,
    /// The time of its next try.
    Waiting,
    /// It is being sent.
    Claimed,
    /// Its subscription is suspended.
    Held,
}

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxItem {
    /// Its id: it sorts by time.
    pub id: String,
    /// What the receiver knows it by.
    pub event_id: String,
    /// `webhook`, `event`, `transition` or `presentation`.
    pub kind: String,
    /// Its status.
    pub status: Status,
    /// What it waits for, where it is pending.
    pub phase: Option<Phase>,
    /// The machine of its transition.
    pub machine_id: String,
    /// The entity or the record.
    pub entity_id: String,
    /// The version that its transition made.
    pub version: u64,
    /// The number of its latest attempt.
    pub attempt: u64,
    /// Where it goes: an address, `event`, a machine and an entity, or a subscription.
    pub sink: String,
    /// When its transition was committed.
    pub created_at: Millis,
    /// When it is sent next, or its claim runs out.
    pub due_at: Option<Millis>,
    /// When it was over.
    pub finished_at: Option<Millis>,
    /// What was wrong with its latest attempt.
    pub error: Option<String>,
}

pub(super) type ItemRow = (
    String,
    String,
    String,
    String,
    u8,
    u8,
    String,
    String,
    u64,
    u64,
    String,
    Millis,
    Option<Millis>,
    Option<Millis>,
    Option<String>,
    u8,
);

/// A row, and what is not shown of it.
pub(super) struct Found {
    pub(super) item: OutboxItem,
    pub(super) claimed: bool,
    pub(super) held: bool,
    /// Whether it is for a subscription.
    pub(super) subscribed: bool,
}

impl Found {
    pub(super) fn read(row: ItemRow, now: Millis) -> Result<Self, Error> {
        #[rustfmt::skip]
        let (id, event_id, kind, status, claimed, held, machine_id, entity_id, version, attempt, sink, created_at, due_at,
            finished_at, error, subscribed) = row;
        let mut found = Self {
            item: OutboxItem {
                id,
                event_id,
                kind,
                status: Status::stored(&status)?,
                phase: None,
                machine_id,
                entity_id,
                version,
                attempt,
                sink,
                created_at,
                due_at,
                finished_at,
                error,
            },
            claimed: claimed == 1,
            held: held == 1,
            subscribed: subscribed == 1,
        };
        found.item.phase = found.phase(now);
        Ok(found)
    }

    pub(super) fn phase(&self, now: Millis) -> Option<Phase> {
        let phase = match self.item.due_at {
            _ if self.item.status != Status::Pending => return None,
            // Whoever claimed it longer ago does not send it any more.
            Some(due) if due <= now => Phase::Due,
            Some(_) if self.claimed => Phase::Claimed,
            Some(_) => Phase::Waiting,
            None if self.held => Phase::Held,
            None => Phase::Queued,
        };
        Some(phase)
    }
}

/// How many rows there are of each status: 10,000 stand for as many or more. Of those that are done, the newest 20,000
/// rows of the tenant are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OutboxCounts {
    /// Pending ones.
    pub pending: u64,
    /// Done ones.
    pub done: u64,
    /// Skipped ones.
    pub skipped: u64,
    /// Dead ones.
    pub dead: u64,
    /// Cancelled ones.
    pub cancelled: u64,
}

/// A page of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxList {
    /// How many rows there are, whatever is asked for.
    pub counts: OutboxCounts,
    /// When the oldest pending one was made.
    pub oldest_pending: Option<Millis>,
    /// The rows.
    pub items: Vec<OutboxItem>,
    /// The cursor of the next page, if there is more to look at.
    #[serde(skip)]
    pub next: Option<String>,
}

/// A row with what is sent, and its attempts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutboxEntry {
    /// The row.
    #[serde(flatten)]
    pub item: OutboxItem,
    /// What is sent; secrets by their names alone.
    pub effect: Value,
    /// The last 20 attempts, the latest last.
    pub attempts: Value,
}

/// A row that was called off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutboxCancelled {
    /// The row.
    #[serde(flatten)]
    pub item: OutboxItem,
    /// What it waited for.
    pub was: Option<Phase>,
    /// Whether it was being sent: it may have been delivered.
    pub may_be_delivered: bool,
}

/// How many rows were redriven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedrivenAll {
    /// How many.
    pub redriven: usize,
    /// Whether there may be others.
    pub more: bool,
    /// Where another call goes on, if there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How many rows were called off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CancelledAll {
    /// How many.
    pub cancelled: usize,
    /// Whether there may be others.
    pub more: bool,
    /// Where another call goes on, if there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

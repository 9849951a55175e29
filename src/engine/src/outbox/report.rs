//! What a delivery pass did.

use serde::Serialize;

use super::deliver::Sent;
use super::send::Outcome;

/// What became of effects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Delivered {
    /// How many were accepted.
    pub done: usize,
    /// How many failed and are tried again.
    pub failed: usize,
    /// How many are dead now.
    pub dead: usize,
    /// How many were denied admission, or put off.
    pub denied: usize,
    /// How many are held for a suspended subscription.
    pub held: usize,
    /// How many had nobody to be told.
    pub skipped: usize,
    /// How many could not be marked: they are presented again.
    pub unmarked: usize,
    /// Whether more is due than was done.
    pub more: bool,
    /// How many statements the database ran.
    #[serde(skip)]
    pub statements: usize,
    /// What to log, one by one (S0.53).
    #[serde(skip)]
    pub told: Vec<Told>,
}

/// What became of one effect, for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// `done`, `failed`, `dead`, `denied`, `held`, `skipped` or `postponed`.
    pub outcome: &'static str,
    /// Its tenant.
    pub tenant: String,
    /// Its row.
    pub id: String,
    /// Which presentation it was.
    pub attempt: u64,
    /// Why it did not go, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Delivered {
    /// Whether nothing was sent, and nothing went wrong.
    pub fn is_idle(&self) -> bool {
        self.told.is_empty() && self.unmarked == 0
    }

    /// Counts a delivery; `ended` says that it is not tried again.
    pub(super) fn count(&mut self, sent: &Sent, ended: bool) {
        let (count, outcome, error) = match &sent.outcome {
            Outcome::Accepted { .. } => (&mut self.done, "done", None),
            Outcome::Failed { error, .. } if ended => (&mut self.dead, "dead", Some(error.clone())),
            Outcome::Failed { error, .. } => (&mut self.failed, "failed", Some(error.clone())),
            Outcome::Denied { status, .. } if ended => (&mut self.dead, "dead", Some(format!("{status}"))),
            Outcome::Denied { status, .. } => (&mut self.denied, "denied", Some(format!("{status}"))),
            Outcome::Dead { error } => (&mut self.dead, "dead", Some(error.clone())),
            Outcome::Skipped => (&mut self.skipped, "skipped", None),
            Outcome::Held => (&mut self.held, "held", None),
            Outcome::Postponed { .. } => (&mut self.denied, "postponed", None),
        };
        *count = count.saturating_add(1);
        self.told.push(Told {
            outcome,
            tenant: sent.delivery.tenant.clone(),
            id: sent.delivery.id.clone(),
            attempt: sent.delivery.attempt,
            error,
        });
    }
}

//! Deciding again when a write was refused because something changed (M13).

use statewright_core::ids::Millis;

use crate::database::{Clock, DatabaseError, Random};
use crate::error::Error;

/// How long a request decides again before it gives up.
pub const PATIENCE_MILLIS: u64 = 10_000;

/// The tries of one request.
#[derive(Debug)]
pub(crate) struct Tries {
    began: Millis,
    /// How long it has waited: what bounds it where the clock steps back.
    waited: u64,
    failed: u32,
    /// What the database said of the last write whose end is unknown.
    uncertain: Option<String>,
}

impl Tries {
    pub(crate) fn begin(clock: &impl Clock) -> Self {
        Self {
            began: clock.now(),
            waited: 0,
            failed: 0,
            uncertain: None,
        }
    }

    /// Whether the end of an earlier write of this request is unknown.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.uncertain.is_some()
    }

    /// Waits before the next try, with jitter, longer from try to try.
    ///
    /// # Errors
    /// Time is over.
    pub(crate) async fn again(
        &mut self,
        error: DatabaseError,
        clock: &impl Clock,
        random: &impl Random,
    ) -> Result<(), Error> {
        if let DatabaseError::Uncertain(message) = error {
            self.uncertain = Some(message);
        }
        self.failed = self.failed.saturating_add(1);
        let spent = clock.now().0.saturating_sub(self.began.0);
        if u64::try_from(spent).unwrap_or(0).max(self.waited) >= PATIENCE_MILLIS {
            return Err(match self.uncertain.take() {
                Some(message) => Error::Database(message),
                None => Error::Contention {
                    seconds: PATIENCE_MILLIS / 1000,
                },
            });
        }
        let most = 4_u64.saturating_mul(1 << self.failed.min(6));
        let [a, b, ..] = random.bytes();
        // INVARIANT: `most` is at least 8.
        let wait = 1 + u64::from(u16::from_be_bytes([a, b])) % most;
        self.waited = self.waited.saturating_add(wait);
        clock.sleep(wait).await;
        Ok(())
    }
}

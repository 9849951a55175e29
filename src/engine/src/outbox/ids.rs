//! Ids of effects: they sort by time, and name the commit that they are of.

use std::cell::Cell;

use statewright_core::ids::Millis;

/// Digits that sort as their values do.
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
/// As many of them hold the milliseconds of a thousand years.
const TIME_DIGITS: u32 = 9;

/// What ids of a time or later begin with, or come after.
pub(crate) fn time_prefix(time: Millis) -> String {
    let millis = u64::try_from(time.0).unwrap_or(0);
    let digit = |place: u32| {
        let index = usize::try_from(millis >> (5 * place) & 31).unwrap_or(0);
        char::from(DIGITS.get(index).copied().unwrap_or(b'0'))
    };
    (0..TIME_DIGITS).rev().map(digit).collect()
}

/// What the ids of a commit's effects begin with.
pub(crate) fn effect_prefix(now: Millis, commit_id: &str) -> String {
    let mut prefix = time_prefix(now);
    prefix.push_str(commit_id);
    prefix
}

/// The ids of the effects of one batch, handed out one after the other.
#[derive(Debug)]
pub(crate) struct EffectIds<'a> {
    now: Millis,
    commit_id: &'a str,
    next: Cell<u64>,
}

impl<'a> EffectIds<'a> {
    pub(crate) fn new(now: Millis, commit_id: &'a str) -> Self {
        Self {
            now,
            commit_id,
            next: Cell::new(0),
        }
    }

    /// The next id, and its number.
    pub(crate) fn next(&self) -> (String, u64) {
        let number = self.next.get();
        self.next.set(number.saturating_add(1));
        let prefix = effect_prefix(self.now, self.commit_id);
        (format!("{prefix}.{number}"), number)
    }
}

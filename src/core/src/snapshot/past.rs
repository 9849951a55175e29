//! What the history of a tree tells of its children, and the tree as a service shows it does not.

use serde_json::Value;

use super::view::Snapshot;
use crate::ids::Seq;

/// How a child was ended, by the rows of its history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cancels {
    /// The entry of its parent that it belonged to when it was ended first: before it ever woke.
    pub(super) first_seq: Seq,
    /// Which cancel of the tree ended it last.
    pub(super) last: usize,
}

/// Tells of an entity of a snapshot how it was ended. Where it tells nothing, what the tree shows has to do.
pub(crate) type Past<'a> = &'a dyn Fn(&Snapshot) -> Option<Cancels>;

/// Reads the rows of a tree in the order of their commits.
#[derive(Debug, Default)]
pub(crate) struct Cancelling<'a> {
    cancels: usize,
    /// What led to the cancel that the last row is of. One cancel writes its rows one after the other.
    by: Option<&'a Value>,
}

impl<'a> Cancelling<'a> {
    /// Reads a row, by its identity key and its cause, and notes how it ended its entity.
    pub(crate) fn row(&mut self, key: &str, cause: &'a Value, of: &mut Option<Cancels>) {
        let seq = key.strip_prefix("[\"cancel\",").and_then(|key| {
            let (_, seq) = key.strip_suffix(']')?.rsplit_once(',')?;
            seq.parse().ok()
        });
        let Some(seq) = seq else {
            self.by = None;
            return;
        };
        let by = cause.get("by").unwrap_or(&Value::Null);
        if self.by != Some(by) {
            self.cancels = self.cancels.saturating_add(1);
            self.by = Some(by);
        }
        let first_seq = of.map_or(Seq(seq), |of| of.first_seq);
        *of = Some(Cancels {
            first_seq,
            last: self.cancels,
        });
    }
}

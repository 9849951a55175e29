//! Timers: which is due, and what comes of it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::family::{Name, name_of};
use super::world::World;
use super::{Tick, json_of};
use crate::ids::Millis;
use crate::timeouts::{CATCH_UP_LIMIT, PASS_TIMERS};
use crate::tree::EntityIx;

/// What came of timers.
#[derive(Debug, Default)]
pub(super) struct FiredTimers {
    pub(super) rows: Vec<Value>,
    pub(super) fired: usize,
    pub(super) parked: usize,
    pub(super) more: bool,
}

impl World {
    /// The number of the family whose timer is due first, and when.
    fn first_due(&self) -> Option<(usize, Millis)> {
        let due = self.families.iter().enumerate();
        due.filter_map(|(at, family)| Some((at, family.as_ref()?.due?)))
            .min_by_key(|(at, due)| (*due, *at))
    }

    /// The timer that is due first.
    pub(super) fn due(&self) -> Value {
        let first = self.first_due().and_then(|(at, _)| self.family(at)?.living.due());
        json_of(&first)
    }

    /// Applies at most `most` due timers of a family.
    fn fire(&mut self, at: usize, most: usize, fired: &mut FiredTimers) {
        let others = self.others_of(at);
        let (now, library) = (self.now, Arc::clone(&self.library));
        let Some(family) = self.families.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        let family = Arc::make_mut(family);
        family.living.tree.learn(library);
        family.living.tree.occupy(others);
        let came = family.living.fire_due(now, most);
        fired.fired = fired.fired.saturating_add(came.commits.len());
        fired.parked = fired.parked.saturating_add(came.parked);
        fired.more |= came.more;
        let rows = came.commits.iter().filter_map(|kept| kept.view.rows.first());
        fired.rows.extend(rows.map(|row| {
            json!({
                "machine_id": row.machine_id, "entity_id": row.entity_id, "region": row.region,
                "from_state": row.from_state, "to_state": row.to_state, "timestamp": row.timestamp,
            })
        }));
        family.note_due();
        self.keep(at, &came.commits, 0);
    }

    /// Turns the clock on to the next timer that is due by then, and applies it. Says whether there was one.
    pub(super) fn fire_next(&mut self, by: Millis, fired: &mut FiredTimers) -> bool {
        let Some((at, due)) = self.first_due().filter(|(_, due)| *due <= by) else {
            return false;
        };
        self.now = self.now.max(due);
        // What else of it is due is seen again.
        let more = fired.more;
        self.fire(at, 1, fired);
        fired.more = more;
        true
    }

    /// One pass of the scanner (S2.102).
    pub(super) fn tick(&mut self) -> Tick {
        let now = self.now;
        let mut report = Tick {
            at: now.0,
            ..Tick::default()
        };
        let mut due: Vec<(Name, usize)> = Vec::new();
        let mut oldest: Option<Millis> = None;
        for (at, family) in self.families.iter().enumerate() {
            let Some(family) = family
                .as_ref()
                .filter(|family| family.due.is_some_and(|due| due <= now))
            else {
                continue;
            };
            let (mut of, first) = family.overdue(now);
            oldest = [oldest, first].into_iter().flatten().min();
            report.scanned = report.scanned.saturating_add(of.len());
            of.dedup();
            report.due = report.due.saturating_add(of.len());
            due.push((name_of(family.tree(), EntityIx::ROOT), at));
        }
        report.more = report.scanned >= PASS_TIMERS;
        report.lag_ms = oldest.map_or(0, |oldest| now.0.saturating_sub(oldest.0));
        crate::sorted::sort(&mut due);
        let mut fired = FiredTimers::default();
        for (_, at) in due {
            self.fire(at, CATCH_UP_LIMIT, &mut fired);
        }
        report.fired = fired.fired;
        report.parked = fired.parked;
        report.more |= fired.more;
        report
    }
}

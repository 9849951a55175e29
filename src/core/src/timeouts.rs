//! Timeouts: which is due, and what comes of it (S2.91 to S2.108, M5, M6, R5).

use std::sync::Arc;

use smallvec::SmallVec;

use crate::cascade::{Advance, Cascade, When};
use crate::commit::{Cause, Commit, Refusal};
use crate::entity::{Timer, armed};
use crate::guard::Lookup;
use crate::identity::IdentityKey;
use crate::ids::Millis;
use crate::machine::{RegionIx, TransitionIx};
use crate::sorted::sort;
use crate::step::{decide, moves_by};
use crate::tree::{EntityIx, Tree};

/// How many timeouts one request applies before its event (M5).
pub const CATCH_UP_LIMIT: usize = 64;
/// How many due timers one pass of the scanner takes.
pub const PASS_TIMERS: usize = 256;

/// An armed timer of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTimer {
    /// Its entity.
    pub entity: EntityIx,
    /// The region of its entry.
    pub region: RegionIx,
    /// When it is due.
    pub due: Millis,
}

/// What came of a due timer.
#[derive(Debug)]
pub enum Fired {
    /// It moved the tree.
    Commit(Box<Commit>),
    /// No transition's conditions hold: the entry is due at its next `$timeout`, if it has one (M6).
    Refused,
    /// Its commit is refused, so it is parked (M6).
    Parked(Refusal),
}

/// What came of all timers of a tree that were due.
#[derive(Debug, Default)]
pub struct CaughtUp {
    /// The commits, oldest first, each one of its own (M5).
    pub commits: Vec<Commit>,
    /// Entries whose timer changed without a commit: refused, or parked. A commit may have changed them as well.
    pub moved: Vec<(EntityIx, RegionIx)>,
    /// How many timers were parked.
    pub parked: usize,
    /// Whether more are due than the limit let through.
    pub more: bool,
}

/// The earliest armed timer of a tree's live entities: by due time, ties outermost first, then by region (R5).
pub fn earliest(tree: &Tree) -> Option<DueTimer> {
    let mut first: Option<DueTimer> = None;
    for (entity, node) in tree.entities() {
        if !tree.is_live(entity) {
            continue;
        }
        for (region, entry) in node.entries() {
            let Some(due) = entry.timer.armed() else { continue };
            let earlier = first.is_none_or(|first| {
                let order = due.cmp(&first.due);
                // Of one entity the regions come in order.
                order
                    .then_with(|| tree.outermost_first(entity, first.entity))
                    .is_lt()
            });
            if earlier {
                first = Some(DueTimer { entity, region, due });
            }
        }
    }
    first
}

/// Applies every timer that is due by now, oldest first, at most `most` of them.
pub fn catch_up(tree: &mut Tree, now: Millis, most: usize) -> CaughtUp {
    let mut done = CaughtUp::default();
    let mut applied = 0_usize;
    while let Some(timer) = earliest(tree).filter(|timer| timer.due <= now) {
        if applied == most {
            done.more = true;
            break;
        }
        applied = applied.saturating_add(1);
        let changed = (timer.entity, timer.region);
        match fire(tree, timer, now) {
            Fired::Commit(commit) => done.commits.push(*commit),
            Fired::Refused => done.moved.push(changed),
            Fired::Parked(_) => {
                done.moved.push(changed);
                done.parked = done.parked.saturating_add(1);
            }
        }
    }
    sort(&mut done.moved);
    done.moved.dedup();
    done
}

/// Applies one due timer.
///
/// Where timers are exact, what is due and what holds is judged as of the due time, and the first due transition by
/// delay whose conditions hold fires (M6); in the seed's contract as of now, and the first in definition order. In
/// both the entry it makes begins when the timeout was due, so that chained timeouts do not drift (R5).
pub fn fire(tree: &mut Tree, timer: DueTimer, now: Millis) -> Fired {
    let DueTimer {
        entity: target,
        region,
        due,
    } = timer;
    let entity = tree.entity(target);
    let machine = &*entity.machine;
    let exact = machine.rules().exact_timers;
    let entry = entity.entry(region);
    let judged_at = if exact { due } else { now };
    let entered_at = entry.entered_at;
    let timeouts = &machine.state(entry.state).timeouts;
    let lookup = Lookup {
        params: None,
        context: &entity.context,
    };
    let chosen = timeouts
        .iter()
        .filter(|timeout| entered_at.after(timeout.delay) <= judged_at)
        .find(|timeout| {
            machine
                .transition(timeout.transition)
                .guard
                .as_ref()
                .is_none_or(|guard| guard.passes(lookup))
        });
    let Some(chosen) = chosen else {
        let later = timeouts
            .iter()
            .map(|timeout| entered_at.after(timeout.delay))
            .filter(|due| *due > judged_at)
            .min();
        tree.entity_mut(target).entry_mut(region).timer = armed(later);
        return Fired::Refused;
    };
    let fired_due = if exact {
        due
    } else {
        entered_at.after(chosen.delay)
    };
    let transitions: SmallVec<[TransitionIx; 1]> = SmallVec::from_buf([chosen.transition]);
    match time_out(tree, timer, &transitions, fired_due, now) {
        Ok(commit) => Fired::Commit(commit),
        Err(refusal) => {
            let error = format!("{}: {refusal}", refusal.code().name()).into();
            tree.entity_mut(target).entry_mut(region).timer = Timer::Parked { due, error };
            Fired::Parked(refusal)
        }
    }
}

/// The commit of a timeout. Where it is refused, nothing has changed.
fn time_out(
    tree: &mut Tree,
    timer: DueTimer,
    transitions: &[TransitionIx],
    due: Millis,
    now: Millis,
) -> Result<Box<Commit>, Refusal> {
    let DueTimer {
        entity: target,
        region,
        ..
    } = timer;
    let entity = tree.entity(target);
    let machine = Arc::clone(&entity.machine);
    let advance = if machine.rules().mended_children {
        Advance::All
    } else {
        Advance::None
    };
    let key = IdentityKey::Timeout {
        region: Arc::clone(&machine.region(region).id),
        seq: entity.entry(region).seq,
    };
    let moves = decide(&machine, &entity.configuration(), moves_by(&machine, transitions))?;
    let at = When {
        timestamp: due.0,
        entered_at: due,
        now,
    };
    tree.keep();
    let mut cascade = Cascade::begin(tree, target, at);
    cascade.commit_mut().transitions = transitions.into();
    let stepped = cascade.step(target, &moves, &key, Cause::Timeout { due });
    match stepped.and_then(|()| cascade.finish(target, advance)) {
        Ok(()) => {
            let commit = cascade.done();
            tree.release();
            Ok(commit)
        }
        Err(refusal) => {
            tree.undo();
            Err(refusal)
        }
    }
}

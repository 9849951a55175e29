//! How children end, are forgotten, and wake again (S2.198 to S2.206, M9, R9b).

use std::sync::Arc;

use super::{Cascade, When};
use crate::commit::{Cause, LifeKind, Row};
use crate::definition::Reentry;
use crate::entity::{Entity, Entry, armed};
use crate::identity::IdentityKey;
use crate::machine::RegionIx;
use crate::sorted::sort_by;
use crate::tree::{EntityIx, Place, Status};

impl Cascade<'_> {
    pub(super) fn can_wake(&self, child: EntityIx) -> bool {
        self.tree
            .place(child)
            .is_some_and(|place| place.cancelled_with == Some(child))
    }

    pub(super) fn is_cancelled(&self, child: EntityIx) -> bool {
        self.tree
            .place(child)
            .is_some_and(|place| place.status == Status::Cancelled)
    }

    /// Wakes a child and all that its cancel ended, in the order in which they would be started (R9b).
    pub(super) fn wake(&mut self, top: EntityIx, entry: &Entry) {
        let mut sleeping = self.tree.subtree(top);
        sleeping.retain(|ix| {
            self.tree
                .place(*ix)
                .is_some_and(|place| place.cancelled_with == Some(top))
        });
        sort_by(&mut sleeping, |a, b| self.tree.in_order(*a, *b));
        for child in sleeping {
            self.write(child);
            let Some(place) = self.tree.place(child) else {
                continue;
            };
            // A parent wakes before its children.
            let entry = if child == top {
                entry.clone()
            } else {
                self.tree.entity(place.parent).entry(place.region).clone()
            };
            if let Some(place) = self.tree.place_mut(child) {
                place.seq = entry.seq;
                place.status = Status::Active;
                place.ended = None;
                place.cancelled_with = None;
            }
            self.commit.placed.push(child);
            self.enter_again(child, entry.key.as_ref());
        }
    }

    /// Starts a new entry instance of every state that an entity is in.
    pub(super) fn enter_again(&mut self, child: EntityIx, by: Option<&IdentityKey>) {
        let When {
            timestamp,
            entered_at,
            ..
        } = self.at;
        let made = self.next_row();
        let Entity {
            machine,
            entries,
            next_seq,
            ..
        } = self.tree.entity_mut(child);
        let mut first = None;
        for (place, entry) in entries.iter_mut().enumerate() {
            let region = RegionIx::of(place);
            let seq = *next_seq;
            *next_seq = seq.next();
            let key = IdentityKey::Resume {
                region: Arc::clone(&machine.region(region).id),
                state: Arc::clone(&machine.state(entry.state).name),
                seq,
            };
            *entry = Entry {
                state: entry.state,
                seq,
                entered_at,
                timer: armed(machine.first_due(entry.state, entered_at)),
                key: Some(key.clone()),
                made: made.later(place),
            };
            first.get_or_insert_with(|| key.clone());
            self.commit.rows.push(Row {
                entity: child,
                region,
                from: entry.state,
                to: entry.state,
                seq,
                timestamp,
                key,
                cause: Cause::SubResume { by: by.cloned() },
                actions: Vec::new(),
            });
        }
        let row = first.map(|key| (child, key));
        self.live(LifeKind::Resumed, child, row, None);
    }

    /// Ends the children of entries that were left, each with all that lives below it, deepest first (S2.199).
    pub(super) fn cancel(&mut self, tops: &[EntityIx], by: Option<&IdentityKey>) {
        let mut ending: Vec<(EntityIx, Option<EntityIx>)> = Vec::new();
        for top in tops {
            let place = self.tree.place(*top);
            let sub = place.and_then(|place| self.tree.sub_machine(place));
            let wakes = sub.is_some_and(|sub| sub.reentry == Reentry::Resume);
            let live = self.tree.subtree(*top).into_iter();
            let live = live.filter(|ix| self.tree.is_live(*ix));
            ending.extend(live.map(|ix| (ix, wakes.then_some(*top))));
        }
        sort_by(&mut ending, |(a, _), (b, _)| self.tree.deepest_first(*a, *b));
        for (child, with) in &ending {
            self.end(*child, by, *with);
        }
        for top in tops {
            if !self.can_wake(*top) {
                self.forget(*top, false);
            }
        }
    }

    pub(super) fn end(
        &mut self,
        child: EntityIx,
        by: Option<&IdentityKey>,
        cancelled_with: Option<EntityIx>,
    ) {
        self.write(child);
        let ended = self.at.entered_at;
        let Some(place) = self.tree.place_mut(child) else {
            return;
        };
        place.status = Status::Cancelled;
        place.ended = Some(ended);
        place.cancelled_with = cancelled_with;
        let place = place.clone();
        self.commit.placed.push(child);
        let parent = self.tree.entity(place.parent).machine();
        let key = IdentityKey::Cancel {
            region: Arc::clone(&parent.region(place.region).id),
            state: Arc::clone(&parent.state(place.state).name),
            seq: place.seq,
        };
        let entity = self.tree.entity_mut(child);
        entity.disarm();
        let configuration = entity.configuration();
        let entry = entity.entry(RegionIx::of(0));
        self.commit.rows.push(Row {
            entity: child,
            region: RegionIx::of(0),
            from: entry.state,
            to: entry.state,
            seq: entry.seq,
            timestamp: self.at.timestamp,
            key: key.clone(),
            cause: Cause::SubCancel {
                by: by.cloned(),
                configuration,
            },
            actions: Vec::new(),
        });
        self.live(LifeKind::Cancelled, child, Some((child, key)), None);
    }

    /// Forgets what is below a child, and with it itself where a later one takes its place: none of it wakes again.
    pub(super) fn forget(&mut self, top: EntityIx, itself: bool) {
        for child in self.tree.subtree(top) {
            let known = |place: &Place| place.current || place.cancelled_with.is_some();
            if (child == top && !itself) || !self.tree.place(child).is_some_and(known) {
                continue;
            }
            self.tree.save(child);
            if let Some(place) = self.tree.place_mut(child) {
                place.current = false;
                place.cancelled_with = None;
            }
            self.commit.placed.push(child);
        }
    }

    /// Ends everything below a child that has completed: none of it wakes again.
    pub(super) fn end_below(&mut self, child: EntityIx, by: Option<&IdentityKey>) {
        let mut ending = self.tree.subtree(child);
        ending.retain(|ix| *ix != child && self.tree.is_live(*ix));
        sort_by(&mut ending, |a, b| self.tree.deepest_first(*a, *b));
        for ix in ending {
            self.end(ix, by, None);
        }
        self.forget(child, false);
    }
}

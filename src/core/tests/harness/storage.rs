//! What a host does with a tree between two happenings: it stores and restores it, and deletes children.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use statewright_core::entity::{Entity, StoredEntry};
use statewright_core::tree::{EntityIx, Place, Tree};

use super::pair::{Name, Pair, name_of, named};
use crate::model::family::Status;

impl Pair {
    /// Stores the tree and restores it: all of it, or what has to be known.
    pub fn reload(&mut self, all: bool) {
        let known = |place: &Place| place.current || place.cancelled_with.is_some();
        let keep: Vec<EntityIx> = self
            .tree
            .entities()
            .map(|(ix, _)| ix)
            .filter(|ix| {
                let place = self.tree.place(*ix);
                all || self.tree.is_live(*ix) || place.is_some_and(known)
            })
            .collect();
        self.rebuild(&keep);
    }

    /// Whether the latest child of its state is gone, and it is now the latest.
    fn is_latest(&self, ix: EntityIx, keep: &[EntityIx]) -> bool {
        let of = |ix: EntityIx| {
            let place = self.tree.place(ix)?;
            Some((place.parent, place.state, place.managed))
        };
        let last = keep.iter().rev().find(|other| of(**other) == of(ix));
        last == Some(&ix)
            && self
                .tree
                .place(ix)
                .is_some_and(|place| self.tree.is_live(place.parent))
    }

    /// Makes the tree anew of some of its entities, each from what would be stored of it.
    fn rebuild(&mut self, keep: &[EntityIx]) {
        let mut at: BTreeMap<EntityIx, EntityIx> = BTreeMap::new();
        let mut rebuilt: Option<Tree> = None;
        for ix in keep {
            let entity = self.restored(*ix);
            match (&mut rebuilt, self.tree.place(*ix)) {
                (Some(tree), Some(place)) => {
                    let mut place = place.clone();
                    place.current |= self.is_latest(*ix, keep);
                    place.parent = at[&place.parent];
                    let new = EntityIx::at(tree.len());
                    at.insert(*ix, new);
                    // One that wakes with another is known together with it.
                    place.cancelled_with = place.cancelled_with.map(|top| at[&top]);
                    assert_eq!(tree.add(entity, place), new);
                }
                _ => {
                    rebuilt = Some(Tree::new(entity, Some(Arc::clone(&self.library))));
                    at.insert(*ix, EntityIx::ROOT);
                }
            }
        }
        let mut tree = rebuilt.unwrap();
        // Whatever exists and is not in the tree stands in the way.
        let gone = self.model.present().into_iter().map(|node| self.name(node));
        let gone = gone.filter(|name| {
            let (machine, id) = named(name);
            tree.find(&machine, &id).is_none()
        });
        let occupied: Vec<Name> = gone.chain(self.foreign.iter().cloned()).collect();
        tree.occupy(occupied.iter().map(named));
        self.tree = tree;
    }

    fn restored(&self, ix: EntityIx) -> Entity {
        let entity = self.tree.entity(ix);
        let machine = entity.machine();
        let rows = self.stored.get(&name_of(entity));
        let stored: Vec<StoredEntry<'_>> = entity
            .entries()
            .map(|(region, entry)| {
                let key = entry.key.as_ref().map(ToString::to_string);
                let row = key.as_ref().map(|key| rows.unwrap()[key]);
                StoredEntry {
                    region: &machine.region(region).id,
                    state: &machine.state(entry.state).name,
                    seq: entry.seq,
                    entered_at: entry.entered_at,
                    timer: Some(entry.timer.clone()),
                    key: key.map(Into::into),
                    row,
                }
            })
            .collect();
        Entity::restore(
            Arc::clone(machine),
            entity.id().clone(),
            entity.version(),
            entity.next_seq(),
            entity.context().clone(),
            entity.updated_at(),
            &stored,
        )
        .unwrap()
    }

    /// Deletes a child with all below it, as a host does; not a live managed one (R9a).
    pub fn delete(&mut self, which: usize) {
        let present = self.model.present();
        let top = present[which % present.len()];
        // A host has them all; here those are gone that a reload left out.
        let whole = self.tree.len() == present.len();
        let keeps = self.model.nodes[top].place.as_ref().is_some_and(|place| {
            // What wakes with another is no less needed than what lives.
            place.managed
                && (place.status == Status::Active || place.wakes_with.is_some_and(|with| with != top))
        });
        if top == 0 || !whole || keeps {
            return;
        }
        let gone: BTreeSet<Name> = self
            .model
            .subtree(top)
            .into_iter()
            .map(|node| self.name(node))
            .collect();
        self.model.delete(top);
        for name in &gone {
            self.stored.remove(name);
            self.remembered.remove(name);
            self.invariants.forget(name);
        }
        let keep: Vec<EntityIx> = self
            .tree
            .entities()
            .filter(|(_, entity)| !gone.contains(&name_of(entity)))
            .map(|(ix, _)| ix)
            .collect();
        self.rebuild(&keep);
    }
}

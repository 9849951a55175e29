//! From the rows of a tree to the tree.

use std::sync::Arc;

use statewright_core::sorted::{Gather, SortedMap, sort_by_key};
use statewright_core::tree::{EntityIx, Place, Status, Tree};

use super::{Adoptable, Definitions, Ended, Family, Found, Loaded, Member, Read, Remembered, Target};
use crate::error::Error;
use crate::load::EntityName;
use crate::stored::corrupt;

/// Makes a tree of its members.
pub(super) fn assemble(
    target: &Target,
    members: Vec<Read>,
    seen: Remembered,
    definitions: &Definitions,
    whole: bool,
) -> Found {
    let tenant = target.name.tenant.as_str();
    let complete = members.first().is_none_or(|read| read.of == members.len());
    let (own, mut members): (Vec<Read>, Vec<Read>) =
        members.into_iter().partition(|read| matches!(read.kind, 1 | 3));
    let Some(root) = members.iter().position(|read| read.kind == 0) else {
        // Without the entity there is no root that could be missing.
        return if members.is_empty() && own.is_empty() {
            Found::NoMachine
        } else {
            Found::Failed(corrupt(&target.name, "the root of its tree is gone".to_owned()))
        };
    };
    let root = members.swap_remove(root);
    let has_children = root.head.compiled.machine.has_children();
    let family = has_children || !members.is_empty() || root.name != target.name;
    if !complete {
        return Found::LeftOut;
    }
    if family && (!whole || definitions.incomplete.contains(tenant)) {
        return Found::LeftOut;
    }
    let heads = definitions.heads.get(tenant).cloned().unwrap_or_default();
    let library = definitions.libraries.get(tenant).cloned();
    // A child's id is longer than its parent's.
    sort_by_key(&mut members, |read| read.name.entity_id.as_str().len());
    let asked_head = members
        .iter()
        .find(|read| read.name == target.name)
        .map_or_else(|| root.head.clone(), |read| read.head.clone());
    let mut loaded = Loaded {
        name: target.name.clone(),
        head: asked_head,
        family: None,
        ended: None,
        seen: seen.seen,
        paths: target.paths.clone(),
        seen_at_paths: seen.at_paths,
        heads: Arc::new(heads),
        library: library.clone(),
        occupied: Vec::new(),
        adoptable: Vec::new(),
        subscribed: 0,
    };
    let known: Vec<EntityName> = members.iter().map(|member| member.name.clone()).collect();
    if let Err(error) = add_own(&mut loaded, own, |name| known.contains(name)) {
        return Found::Failed(error);
    }
    let Some(stored) = root.stored else {
        return if members.is_empty() && loaded.ended.is_none() && root.name == target.name {
            Found::Loaded(Box::new(loaded))
        } else {
            Found::Failed(corrupt(&target.name, "the root of its tree is gone".to_owned()))
        };
    };
    let mut building = Building {
        by_uid: std::iter::once((stored.uid.clone(), EntityIx::ROOT)).gather(),
        family: Family {
            members: vec![Member {
                uid: stored.uid,
                revision: root.head.revision,
                base: stored.entity.version(),
                created_at: stored.created_at,
                context_bytes: stored.context_bytes,
            }],
            tree: Tree::new(stored.entity, library),
        },
    };
    for read in members {
        let asked = read.name == target.name;
        match building.add(read) {
            Ok(Some(ended)) if asked => loaded.ended = Some(ended),
            Ok(_) => {}
            Err(error) => return Found::Failed(error),
        }
    }
    let tree = &building.family.tree;
    if let Err(problem) = tree.check_places() {
        return Found::Failed(corrupt(&target.name, problem));
    }
    loaded.family = Some(Arc::new(building.family));
    knows(loaded)
}

/// What was read for an entity whose tree was read with an earlier one.
pub(super) fn share(target: &Target, first: &Found, own: Vec<Read>, seen: Remembered) -> Found {
    let first = match first {
        Found::Loaded(first) => first,
        Found::NoMachine => return Found::NoMachine,
        Found::LeftOut => return Found::LeftOut,
        Found::Failed(error) => return Found::Failed(error.clone()),
    };
    let mut loaded = Loaded {
        name: target.name.clone(),
        ended: None,
        seen: seen.seen,
        paths: target.paths.clone(),
        seen_at_paths: seen.at_paths,
        occupied: Vec::new(),
        adoptable: Vec::new(),
        subscribed: 0,
        ..(**first).clone()
    };
    let tree = loaded.family.clone();
    let known = |name: &EntityName| {
        tree.as_ref()
            .is_some_and(|family| family.tree.find(&name.machine_id, &name.entity_id).is_some())
    };
    match add_own(&mut loaded, own, known) {
        Ok(()) => knows(loaded),
        Err(error) => Found::Failed(error),
    }
}

/// Adds what was read of an entity beside its tree: itself, where it ended and the tree does not know it any more, and who
/// stands where a child was to be made.
fn add_own(loaded: &mut Loaded, own: Vec<Read>, known: impl Fn(&EntityName) -> bool) -> Result<(), Error> {
    for read in own {
        let Some(mut stored) = read.stored else { continue };
        if read.kind == 1 {
            let missing = || corrupt(&read.name, "its place in its tree is missing".to_owned());
            let instance = read.instance.ok_or_else(missing)?;
            if instance.status == Status::Active {
                return Err(corrupt(
                    &read.name,
                    "its place in its tree contradicts itself".to_owned(),
                ));
            }
            stored.entity.disarm();
            loaded.ended = Some(Ended {
                uid: stored.uid,
                entity: stored.entity,
                status: instance.status,
            });
            continue;
        }
        if known(&read.name) {
            continue;
        }
        let EntityName {
            machine_id,
            entity_id,
            ..
        } = read.name;
        if read.instance.is_none() {
            loaded.adoptable.push(Adoptable {
                machine: machine_id.clone(),
                id: entity_id.clone(),
                stored,
                revision: read.head.revision,
            });
        }
        loaded.occupied.push((machine_id, entity_id));
    }
    Ok(())
}

/// Whether an entity that is asked for is of the tree that it names.
fn knows(loaded: Loaded) -> Found {
    let name = &loaded.name;
    let strange = loaded.family.as_ref().is_some_and(|family| {
        loaded.ended.is_none() && family.tree.find(&name.machine_id, &name.entity_id).is_none()
    });
    if strange {
        return Found::Failed(corrupt(
            name,
            "the tree that it names does not know it".to_owned(),
        ));
    }
    Found::Loaded(Box::new(loaded))
}

/// A tree that is being put together.
struct Building {
    by_uid: SortedMap<String, EntityIx>,
    family: Family,
}

impl Building {
    /// Hangs a child into the tree. Gives it back where it ended and the tree does not need it.
    fn add(&mut self, read: Read) -> Result<Option<Ended>, Error> {
        let Read {
            name,
            head,
            stored,
            instance,
            ..
        } = read;
        let missing = |what: &str| corrupt(&name, format!("{what} of its place in its tree is missing"));
        let mut stored = stored.ok_or_else(|| missing("the entity"))?;
        let instance = instance.ok_or_else(|| missing("the row"))?;
        let lives = instance.status == Status::Active;
        if !lives {
            stored.entity.disarm();
        }
        let parent = self.by_uid.get(&instance.parent_uid).copied();
        let place = parent.and_then(|parent| {
            let machine = self.family.tree.entity(parent).machine();
            let named = machine.find_region(&instance.region).and_then(|region| {
                let state = machine.find_state(region, &instance.state)?;
                Some((region, state))
            });
            // A legacy child outlives its state, also where a later definition has it no more: it hangs where none of
            // its ends leads anywhere.
            let outlived = || {
                let legacy = lives && !instance.managed;
                let region = machine.regions().first().filter(|_| legacy)?;
                Some((machine.state(region.initial).region, region.initial))
            };
            let (region, state) = named.or_else(outlived)?;
            Some((parent, region, state))
        });
        let Some((parent, region, state)) = place else {
            // What has ended may have been a child of a state that is no more: it cannot wake.
            return if lives {
                Err(missing("the parent"))
            } else {
                Ok(Some(Ended {
                    uid: stored.uid,
                    entity: stored.entity,
                    status: instance.status,
                }))
            };
        };
        let next = EntityIx::at(self.family.tree.len());
        let cancelled_with = match &instance.cancelled_with {
            None => None,
            Some(uid) if *uid == stored.uid => Some(next),
            Some(uid) => Some(*self.by_uid.get(uid).ok_or_else(|| missing("what ended it"))?),
        };
        self.family.members.push(Member {
            uid: stored.uid.clone(),
            revision: head.revision,
            base: stored.entity.version(),
            created_at: stored.created_at,
            context_bytes: stored.context_bytes,
        });
        let place = Place {
            parent,
            region,
            state,
            seq: instance.seq,
            first_seq: instance.first_seq,
            managed: instance.managed,
            status: instance.status,
            depth: instance.depth,
            started: instance.started,
            ended: instance.ended,
            current: instance.current,
            cancelled_with,
        };
        let child = self.family.tree.add(stored.entity, place);
        self.by_uid.insert(stored.uid, child);
        Ok(None)
    }
}

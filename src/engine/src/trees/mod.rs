//! What many events need, read set-wise in one batch: the trees of their entities, what those remember, and the
//! definitions that they run by or that children can be made of.

mod assemble;
mod sql;

use std::sync::Arc;

use serde_json::Value;
use statewright_core::entity::Entity;
use statewright_core::error::Error as Core;
use statewright_core::ids::{CHILD_MARK, EntityId, MachineId, Millis, Revision, Version};
use statewright_core::sorted::{Gather, SortedMap, SortedSet};
use statewright_core::target::TargetStep;
use statewright_core::tree::{Library, Place, Status, Tree};

use crate::cache::{Compiled, DefinitionCache, Known};
use crate::database::Statement;
use crate::error::Error;
use crate::load::{EntityName, Seen, decode, read_params, rows_of, text};
use crate::row::try_decode;
use crate::stored::{Columns, Instance, corrupt};

pub(crate) use sql::{DEFINITIONS, SEEN, SEEN_IN_TREES, SHARED, SUBSCRIBED, TREES};

/// How many bytes of contexts, remembered params or definitions one set-wise read brings.
pub(crate) const MOST_LOADED_BYTES: i64 = 16 * 1024 * 1024;

/// An entity that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) name: EntityName,
    /// The identities to look up.
    pub(crate) keys: Vec<String>,
    /// The paths that lead from it to the instances that events are for.
    pub(crate) paths: Vec<Vec<TargetStep>>,
    /// Rows that commits of unknown end may have made: incarnation and identity key.
    pub(crate) attempts: Vec<(String, String)>,
    /// Children that were to be made where something may stand.
    pub(crate) wanted: Vec<(MachineId, EntityId)>,
}

impl Target {
    pub(crate) fn new(name: EntityName) -> Self {
        Self {
            name,
            keys: Vec::new(),
            paths: Vec::new(),
            attempts: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// Adds children of which the next read is to say whether something stands there.
    pub(crate) fn want(&mut self, children: Vec<(MachineId, EntityId)>) {
        for child in children {
            if !self.wanted.contains(&child) {
                self.wanted.push(child);
            }
        }
    }
}

/// A machine's head: what its new entities are made of.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) revision: Revision,
}

/// What children can be made of, by machine.
pub(crate) type Heads = SortedMap<String, Head>;

/// What is known of an entity of a tree beside what it is.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) uid: String,
    /// The revision in force.
    pub(crate) revision: Revision,
    /// The version that was read; 0 for one that is made.
    pub(crate) base: Version,
    pub(crate) created_at: Millis,
    /// At least the bytes of its context as JSON.
    pub(crate) context_bytes: usize,
}

/// A stored tree.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) tree: Tree,
    /// By entity, in the order of the tree.
    pub(crate) members: Vec<Member>,
}

/// An ended child that its tree knows no more.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) uid: String,
    pub(crate) entity: Entity,
    pub(crate) status: Status,
}

/// An entity that stands at a child's id and is nobody's child: the first event that is forwarded to it makes it one
/// (R9).
#[derive(Debug, Clone)]
pub(crate) struct Adoptable {
    pub(crate) machine: MachineId,
    pub(crate) id: EntityId,
    stored: crate::stored::Stored,
    revision: Revision,
}

/// An instance that a path led to and that remembers an event.
#[derive(Debug, Clone)]
pub(crate) struct SeenAtPath {
    /// The place of the path in [`Target::paths`].
    pub(crate) path: usize,
    pub(crate) seen: Seen,
    pub(crate) machine_id: String,
    pub(crate) entity_id: String,
    pub(crate) depth: u32,
    pub(crate) version: Version,
    /// Region and state.
    pub(crate) states: Vec<(String, String)>,
}

/// What was read for one entity.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) name: EntityName,
    /// What it runs by, or would be made of.
    pub(crate) head: Head,
    /// Its tree; none where it does not exist.
    pub(crate) family: Option<Arc<Family>>,
    /// The entity itself, where its tree does not know it any more.
    pub(crate) ended: Option<Ended>,
    pub(crate) seen: Vec<Seen>,
    /// The paths that were asked for, and who remembers something there.
    pub(crate) paths: Vec<Vec<TargetStep>>,
    pub(crate) seen_at_paths: Vec<SeenAtPath>,
    pub(crate) heads: Arc<Heads>,
    pub(crate) library: Option<Arc<Library>>,
    /// Entities that stand where a child was to be made.
    pub(crate) occupied: Vec<(MachineId, EntityId)>,
    /// Those of them that are nobody's child.
    pub(crate) adoptable: Vec<Adoptable>,
    /// How many subscriptions the tenant has to machines.
    pub(crate) subscribed: usize,
}

impl Loaded {
    /// What was read of an entity that has no family.
    pub(crate) fn alone(one: crate::load::LoadedOne) -> Self {
        let family = one.stored.map(|stored| Family {
            members: vec![Member {
                uid: stored.uid,
                revision: one.revision,
                base: stored.entity.version(),
                created_at: stored.created_at,
                context_bytes: stored.context_bytes,
            }],
            tree: Tree::new(stored.entity, None),
        });
        Self {
            name: one.name,
            head: Head {
                compiled: one.compiled,
                revision: one.revision,
            },
            family: family.map(Arc::new),
            ended: None,
            seen: one.seen,
            paths: Vec::new(),
            seen_at_paths: Vec::new(),
            heads: Arc::default(),
            library: None,
            occupied: Vec::new(),
            adoptable: Vec::new(),
            subscribed: one.subscribed,
        }
    }

    /// The legacy children that its tree's states would have by the next event, and that are not made: machine and id.
    pub(crate) fn unmade(&self) -> Vec<(MachineId, EntityId)> {
        let Some(family) = &self.family else {
            return Vec::new();
        };
        family
            .tree
            .legacy_places()
            .map(|(.., machine, id)| (machine, id))
            .filter(|(machine, id)| family.tree.find(machine, id).is_none())
            .collect()
    }

    /// Makes those that can be adopted children in memory, each without what lives below it: for what only looks.
    pub(crate) fn adopt_in_memory(&mut self) {
        let Some(family) = self.family.as_mut().map(Arc::make_mut) else {
            return;
        };
        let places: Vec<_> = family.tree.legacy_places().collect();
        for (parent, region, machine, id) in places {
            let at = |adoptable: &Adoptable| adoptable.machine == machine && adoptable.id == id;
            let Some(place) = self.adoptable.iter().position(at) else {
                continue;
            };
            let Adoptable { stored, revision, .. } = self.adoptable.swap_remove(place);
            let entry = family.tree.entity(parent).entry(region);
            let place = Place::of_entry(parent, region, entry, None, stored.created_at);
            family.members.push(Member {
                uid: stored.uid,
                revision,
                base: stored.entity.version(),
                created_at: stored.created_at,
                context_bytes: stored.context_bytes,
            });
            family.tree.add(stored.entity, place);
        }
    }

    /// The root of its tree; itself, where it does not exist.
    pub(crate) fn root_name(&self) -> EntityName {
        match &self.family {
            Some(family) => EntityName {
                tenant: self.name.tenant.clone(),
                machine_id: family.tree.root().machine().id().clone(),
                entity_id: family.tree.root().id().clone(),
            },
            None => self.name.clone(),
        }
    }

    /// Whether an incarnation is of its tree.
    pub(crate) fn knows(&self, uid: &str) -> bool {
        let members = self.family.iter().flat_map(|family| &family.members);
        members.into_iter().any(|member| member.uid == uid)
    }

    /// Whether the entity exists.
    pub(crate) fn exists(&self) -> bool {
        self.family.is_some()
    }
}

/// What became of one target of a set-wise read.
#[derive(Debug)]
pub(crate) enum Found {
    /// It was read.
    Loaded(Box<Loaded>),
    /// There is no such machine.
    NoMachine,
    /// It did not fit this read; the next one may bring it.
    LeftOut,
    /// Its rows cannot be read (M8), or are too many.
    Failed(Error),
}

/// A set-wise read under way.
#[derive(Debug)]
pub(crate) struct Reading {
    known: Known,
    /// Whether families come whole: with definitions, and with what their members remember.
    whole: bool,
}

/// The statements that load many trees. Families come whole where a machine is not known to have none, or where
/// `whole` says that a read before met one.
pub(crate) fn load_trees(
    targets: &[Target],
    cache: &DefinitionCache,
    whole: bool,
) -> (Vec<Statement>, Reading) {
    let rows: Vec<_> = targets
        .iter()
        .map(|target| {
            let (tenant, machine_id, entity_id) = target.name.texts();
            let Target {
                keys,
                paths,
                attempts,
                wanted,
                ..
            } = target;
            (tenant, machine_id, entity_id, keys, paths, attempts, wanted)
        })
        .collect();
    let rows = text(&rows);
    let mut known = Known::default();
    let mut whole = whole
        || targets.iter().any(|target| {
            !target.paths.is_empty()
                || !target.attempts.is_empty()
                || !target.wanted.is_empty()
                || may_be_child(&target.name.entity_id)
        });
    let machines: SortedSet<_> = targets
        .iter()
        .map(|target| (target.name.tenant.as_str(), target.name.machine_id.as_str()))
        .gather();
    for (tenant, machine_id) in machines {
        let at_hand = cache.known(tenant, machine_id);
        whole |= !is_childless(&at_hand);
        known.extend(at_hand);
    }
    let budget = || MOST_LOADED_BYTES.into();
    let mut statements = vec![
        Statement::new(TREES, [rows.clone(), budget()]),
        Statement::new(SEEN, [rows.clone(), budget()]),
    ];
    if whole {
        statements.push(Statement::new(
            DEFINITIONS,
            [rows.clone(), known.hashes().into(), budget()],
        ));
        statements.push(Statement::new(SEEN_IN_TREES, [rows.clone(), budget()]));
        if targets.len() > 1 {
            statements.push(Statement::new(SHARED, [rows.clone()]));
        }
    }
    statements.push(Statement::new(SUBSCRIBED, [rows]));
    (statements, Reading { known, whole })
}

/// Whether an id looks like a child's. A caller may give such an id to a root: then more is read than needed.
pub(crate) fn may_be_child(id: &EntityId) -> bool {
    id.as_str().contains(CHILD_MARK)
}

/// Whether a machine is known, and all that is known of it has no children.
pub(crate) fn is_childless(at_hand: &[Arc<Compiled>]) -> bool {
    !at_hand.is_empty() && at_hand.iter().all(|compiled| !compiled.machine.has_children())
}

type MemberRow = (
    usize,
    u8,
    usize,
    String,
    String,
    u64,
    String,
    Option<String>,
    Columns<'static>,
    Value,
);

type DefinitionRow = (String, String, u64, u8, String, Option<String>);
type PathColumns = (String, String, u32, u64, Vec<(String, String)>);
type SeenRow = (
    usize,
    Option<usize>,
    String,
    String,
    Option<String>,
    String,
    Option<PathColumns>,
);

/// The definitions that a read brought.
struct Definitions {
    known: Known,
    broken: SortedMap<String, Error>,
    /// By tenant.
    heads: SortedMap<String, Heads>,
    libraries: SortedMap<String, Arc<Library>>,
    /// Tenants of which a definition did not fit.
    incomplete: SortedSet<String>,
}

impl Definitions {
    fn read(
        rows: &[String],
        targets: &[Target],
        cache: &DefinitionCache,
        known: Known,
    ) -> Result<Self, Error> {
        let mut definitions = Self {
            known,
            broken: SortedMap::new(),
            heads: SortedMap::new(),
            libraries: SortedMap::new(),
            incomplete: SortedSet::new(),
        };
        let machines: SortedSet<(&str, &str)> = targets
            .iter()
            .map(|target| (target.name.tenant.as_str(), target.name.machine_id.as_str()))
            .gather();
        for row in rows {
            let (tenant, machine_id, revision, head, hash, text): DefinitionRow = decode(row)?;
            let compiled = match (text, definitions.known.get(&hash)) {
                (_, Some(compiled)) => compiled,
                (Some(text), None) => match cache.compile(&tenant, &machine_id, &hash, &text) {
                    Ok(compiled) => {
                        definitions.known.extend([Arc::clone(&compiled)]);
                        compiled
                    }
                    Err(error) => {
                        definitions.broken.insert(hash, error);
                        continue;
                    }
                },
                (None, None) => {
                    definitions.incomplete.insert(tenant);
                    continue;
                }
            };
            // What an event of a machine may need, the next read for it need not send.
            for (_, asked) in machines.iter().filter(|(of, _)| *of == tenant) {
                cache.keep_for(&tenant, asked, &compiled);
            }
            if head == 1 {
                let revision = Revision(revision);
                let heads = definitions.heads.or_insert_with(tenant, Default::default);
                heads.insert(machine_id, Head { compiled, revision });
            }
        }
        for (tenant, heads) in &definitions.heads {
            let machines = heads.values().map(|head| Arc::clone(&head.compiled.machine));
            let library = Arc::new(machines.collect());
            definitions.libraries.insert(tenant.clone(), library);
        }
        Ok(definitions)
    }
}

/// A member as it was read.
struct Read {
    kind: u8,
    /// How many rows there are of what was read with it.
    of: usize,
    name: EntityName,
    head: Head,
    stored: Option<crate::stored::Stored>,
    instance: Option<Instance>,
}

/// What [`load_trees`] found, target by target.
pub(crate) fn loaded_trees(
    targets: &[Target],
    results: &[Vec<String>],
    cache: &DefinitionCache,
    reading: Reading,
) -> Result<Vec<Found>, Error> {
    let Reading { known, whole } = reading;
    let (results, last) = results.split_at(results.len().saturating_sub(1));
    let mut subscribed: SortedMap<String, usize> = SortedMap::new();
    for row in rows_of(last, 0) {
        let (tenant, count) = decode(row)?;
        subscribed.insert(tenant, count);
    }
    let definitions = Definitions::read(rows_of(results, 2), targets, cache, known)?;
    let mut seen: Vec<Result<Remembered, Found>> =
        targets.iter().map(|_| Ok(Remembered::default())).collect();
    for row in rows_of(results, 1).iter().chain(rows_of(results, 3)) {
        remember(targets, &mut seen, row)?;
    }
    let mut members: Vec<Result<Vec<Read>, Found>> = targets.iter().map(|_| Ok(Vec::new())).collect();
    for row in rows_of(results, 0) {
        read_member(targets, &definitions, &mut members, row)?;
    }
    let mut shared: SortedMap<usize, usize> = SortedMap::new();
    for row in rows_of(results, 4) {
        let (place, with): (usize, usize) = decode(row)?;
        shared.insert(place, with);
    }
    let mut found: Vec<Found> = Vec::with_capacity(targets.len());
    for (place, ((target, members), seen)) in targets.iter().zip(members).zip(seen).enumerate() {
        // A tree comes with the first of its entities.
        let first = shared.get(&place).and_then(|first| found.get(*first));
        let one = match (members, seen) {
            (Ok(members), Ok(seen)) => match first {
                Some(first) => assemble::share(target, first, members, seen),
                None => assemble::assemble(target, members, seen, &definitions, whole),
            },
            (Err(other), _) | (_, Err(other)) => other,
        };
        let one = match one {
            Found::Loaded(mut loaded) => {
                let count = subscribed.get(target.name.tenant.as_str());
                loaded.subscribed = count.copied().unwrap_or_default();
                Found::Loaded(loaded)
            }
            other => other,
        };
        found.push(match one {
            // Nothing came before it in this read: it does not fit any.
            Found::LeftOut if whole && place == 0 => Found::Failed(Error::Core(Core::TooLarge {
                what: "the tree of the entity, or what its children are made of,",
                bytes: usize::try_from(MOST_LOADED_BYTES)
                    .unwrap_or(usize::MAX)
                    .saturating_add(1),
                most: usize::try_from(MOST_LOADED_BYTES).unwrap_or(usize::MAX),
            })),
            other => other,
        });
    }
    Ok(found)
}

#[derive(Default)]
struct Remembered {
    seen: Vec<Seen>,
    at_paths: Vec<SeenAtPath>,
}

fn remember(targets: &[Target], seen: &mut [Result<Remembered, Found>], row: &str) -> Result<(), Error> {
    let (place, path, uid, key, params, commit_id, columns): SeenRow = decode(row)?;
    let (Some(target), Some(slot)) = (targets.get(place), seen.get_mut(place)) else {
        return Ok(());
    };
    let Ok(remembered) = slot else { return Ok(()) };
    let Some(params) = params else {
        *slot = Err(Found::LeftOut);
        return Ok(());
    };
    let params = match read_params(&target.name, &params) {
        Ok(params) => Arc::new(params),
        Err(error) => {
            *slot = Err(Found::Failed(error));
            return Ok(());
        }
    };
    let row = Seen {
        uid,
        key,
        params,
        commit_id,
    };
    match (path, columns) {
        (Some(path), Some((machine_id, entity_id, depth, version, states))) => {
            remembered.at_paths.push(SeenAtPath {
                path,
                seen: row,
                machine_id,
                entity_id,
                depth,
                version: Version(version),
                states,
            });
        }
        _ => remembered.seen.push(row),
    }
    Ok(())
}

fn read_member(
    targets: &[Target],
    definitions: &Definitions,
    members: &mut [Result<Vec<Read>, Found>],
    row: &str,
) -> Result<(), Error> {
    let read: MemberRow = match try_decode(row) {
        Some(row) => row,
        // Numbers that no counter has: its tree fails, and no other does.
        None => {
            let place = place_of(row)?;
            if let (Some(target), Some(slot)) = (targets.get(place), members.get_mut(place)) {
                *slot = Err(Found::Failed(corrupt(
                    &target.name,
                    "a row of it has other columns".to_owned(),
                )));
            }
            return Ok(());
        }
    };
    let (place, kind, of, machine_id, entity_id, revision, hash, context, columns, instance) = read;
    let (Some(target), Some(slot)) = (targets.get(place), members.get_mut(place)) else {
        return Ok(());
    };
    let Ok(list) = slot else { return Ok(()) };
    let Some(context) = context else {
        *slot = Err(Found::LeftOut);
        return Ok(());
    };
    let compiled = match (definitions.known.get(&hash), definitions.broken.get(&*hash)) {
        (Some(compiled), _) => compiled,
        (None, Some(error)) => {
            *slot = Err(Found::Failed(error.clone()));
            return Ok(());
        }
        (None, None) => {
            *slot = Err(Found::LeftOut);
            return Ok(());
        }
    };
    let head = Head {
        compiled,
        revision: Revision(revision),
    };
    let restored = member_name(target, &machine_id, &entity_id).and_then(|name| {
        let instance = Instance::read(instance, &name)?;
        let stored = columns.restore(Some(context.into()), &name, &head.compiled, head.revision)?;
        Ok(Read {
            kind,
            of,
            name,
            head,
            stored,
            instance,
        })
    });
    match restored {
        Ok(read) => list.push(read),
        Err(error) => *slot = Err(Found::Failed(error)),
    }
    Ok(())
}

fn member_name(target: &Target, machine_id: &str, entity_id: &str) -> Result<EntityName, Error> {
    let invalid = |error: statewright_core::ids::NameError| corrupt(&target.name, error.to_string());
    Ok(EntityName {
        tenant: target.name.tenant.clone(),
        machine_id: MachineId::new(machine_id).map_err(invalid)?,
        entity_id: EntityId::named(entity_id).map_err(invalid)?,
    })
}

/// The place at the front of a row that cannot be read as a whole.
fn place_of(row: &str) -> Result<usize, Error> {
    let cells: Vec<serde_json::Value> = decode(row)?;
    let place = cells.first().and_then(serde_json::Value::as_u64);
    let place = place.and_then(|place| usize::try_from(place).ok());
    Ok(place.unwrap_or(usize::MAX))
}

//! What many events need, read set-wise in one batch: the trees of their entities, what those remember, and the
//! definitions that they run by or that children can be made of.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use statewright_core::entity::Entity;
use statewright_core::ids::{CHILD_MARK, EntityId, MachineId, Millis, Revision, Version};
use statewright_core::target::TargetStep;
use statewright_core::tree::{EntityIx, Library, Place, Status, Tree};

use crate::cache::{Compiled, DefinitionCache, Known};
use crate::database::Statement;
use crate::error::Error;
use crate::load::{EntityName, Seen, decode, read_params, revision_joins, rows_of, text};
use crate::stored::{Columns, Instance, corrupt, instance_columns, stored_columns};

/// How many bytes of contexts, remembered params or definitions one set-wise read brings.
pub(crate) const MOST_LOADED_BYTES: i64 = 16 * 1024 * 1024;

/// The entities that are asked for, and the roots of their trees. ?1 is a JSON array of [tenant, machine, entity,
/// [identity key, …], [path, …], [[incarnation, identity key], …], [[machine, entity], …]].
macro_rules! asked {
    () => {
        "asked AS MATERIALIZED (SELECT t.key, t.value AS target, m.tenant, m.machine_id, t.value->>2 AS entity_id, e.uid, \
           i.current, coalesce(i.root_uid, e.uid) AS root_uid, coalesce(i.root_machine, m.machine_id) AS root_machine, \
           coalesce(i.root_entity, t.value->>2) AS root_entity \
         FROM json_each(?1) t \
         CROSS JOIN machines m ON m.tenant = t.value->>0 AND m.machine_id = t.value->>1 AND m.deleted = 0 \
         LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = t.value->>2 \
         LEFT JOIN instances i ON i.uid = e.uid)"
    };
}

/// Whom a tree has: its root; the entity asked for, where the tree knows it no more; whoever it has to know; and who
/// stands where a child was to be made.
macro_rules! members {
    () => {
        "members (key, tenant, machine_id, entity_id, kind) AS MATERIALIZED ( \
           SELECT key, tenant, root_machine, root_entity, 0 FROM asked \
           UNION ALL SELECT key, tenant, machine_id, entity_id, 1 FROM asked WHERE current = 0 \
           UNION ALL SELECT a.key, x.tenant, x.machine_id, x.entity_id, 2 FROM asked a \
             CROSS JOIN instances x ON x.root_uid = a.root_uid AND x.current = 1 \
           UNION ALL SELECT a.key, a.tenant, x.value->>0, x.value->>1, 3 FROM asked a \
             CROSS JOIN json_each(a.target, '$[6]') x)"
    };
}

/// Members with their entities and the revisions in force.
macro_rules! member_joins {
    () => {
        concat!(
            "FROM members k \
             CROSS JOIN machines m ON m.tenant = k.tenant AND m.machine_id = k.machine_id AND m.deleted = 0 \
             LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = k.entity_id ",
            revision_joins!()
        )
    };
}

/// The trees of the entities that are asked for. What is beyond the budget ?2 comes with a null context; it is weighed
/// before any of it is read.
pub(crate) const TREES: &str = concat!(
    "WITH ",
    asked!(),
    ", ",
    members!(),
    " SELECT json_array(l.key, l.kind, l.machine_id, l.entity_id, l.revision, l.content_hash, \
       CASE WHEN l.before < ?2 THEN coalesce(e.context, '') END, ",
    stored_columns!(
        "CASE WHEN l.members > 1 THEN (SELECT h.id FROM history h WHERE h.uid = n.uid AND h.identity_key = n.key) END"
    ),
    ", ",
    instance_columns!(),
    ") AS j FROM (SELECT key, kind, tenant, machine_id, entity_id, revision, content_hash, members, \
         sum(bytes) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT k.key, k.kind, m.tenant, m.machine_id, k.entity_id, d.revision, d.content_hash, \
           count(*) OVER (PARTITION BY k.key) AS members, \
           coalesce(octet_length(e.context) + 300 * (SELECT count(*) FROM entries n WHERE n.uid = e.uid), 0) AS bytes ",
    member_joins!(),
    ")) l LEFT JOIN entities e ON l.before < ?2 AND e.tenant = l.tenant AND e.machine_id = l.machine_id \
         AND e.entity_id = l.entity_id \
       LEFT JOIN instances i ON i.uid = e.uid"
);

/// What the entities that are asked for remember themselves; a budget ?2 as above.
pub(crate) const SEEN: &str = "SELECT json_array(t.key, NULL, e.uid, h.identity_key, \
       CASE WHEN sum(octet_length(h.event_params)) OVER (ORDER BY t.key ROWS UNBOUNDED PRECEDING) \
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id, NULL) AS j \
     FROM json_each(?1) t CROSS JOIN json_each(t.value, '$[3]') k \
     CROSS JOIN entities e ON e.tenant = t.value->>0 AND e.machine_id = t.value->>1 AND e.entity_id = t.value->>2 \
     CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = k.value";

/// What others of their trees remember: legacy children, every generation of the instance that a path leads to (R9b),
/// whoever handled what they handed on (M11), and rows that a commit of unknown end may have made.
pub(crate) const SEEN_IN_TREES: &str = concat!(
    "WITH RECURSIVE ",
    asked!(),
    ", walk (key, path, level, uid, root_uid, steps, target) AS ( \
       SELECT a.key, p.key, 0, a.uid, a.root_uid, p.value, a.target FROM asked a CROSS JOIN json_each(a.target, '$[4]') p \
       UNION ALL SELECT w.key, w.path, w.level + 1, x.uid, w.root_uid, w.steps, w.target FROM walk w \
         CROSS JOIN instances x ON x.root_uid = w.root_uid AND x.current IN (0, 1) AND x.parent_uid = w.uid \
           AND x.state = w.steps->>('$[' || w.level || '].state') \
         WHERE w.level < json_array_length(w.steps) AND x.kind = 'managed' \
           AND x.region = w.steps->>('$[' || w.level || '].region') \
           AND coalesce(w.steps->>('$[' || w.level || '].seq'), x.seq) BETWEEN x.first_seq AND x.seq), \
     asks (key, path, uid, target) AS ( \
       SELECT a.key, NULL, x.uid, a.target FROM asked a \
         CROSS JOIN instances x ON x.root_uid = a.root_uid AND x.current = 1 WHERE x.kind = 'legacy' \
       UNION ALL SELECT key, path, uid, target FROM walk WHERE level = json_array_length(steps)), \
     found (key, path, uid, row, of) AS ( \
       SELECT s.key, s.path, s.uid, h.id, h.id FROM asks s CROSS JOIN json_each(s.target, '$[3]') k \
         CROSS JOIN history h ON h.uid = s.uid AND h.identity_key = k.value \
       UNION ALL SELECT a.key, NULL, a.uid, h.id, NULL FROM asked a CROSS JOIN json_each(a.target, '$[3]') k \
         CROSS JOIN forwards f ON f.uid = a.uid AND f.identity_key = k.value \
         CROSS JOIN history h ON h.uid = f.to_uid AND h.identity_key = f.identity_key \
       UNION ALL SELECT a.key, NULL, h.uid, h.id, NULL FROM asked a CROSS JOIN json_each(a.target, '$[5]') p \
         CROSS JOIN history h ON h.uid = p.value->>0 AND h.identity_key = p.value->>1) \
     SELECT json_array(f.key, f.path, f.uid, h.identity_key, \
       CASE WHEN sum(octet_length(h.event_params)) OVER (ORDER BY f.key ROWS UNBOUNDED PRECEDING) \
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id, \
       CASE WHEN f.path IS NOT NULL THEN (SELECT json_array(e.machine_id, e.entity_id, i.depth, e.state_version, \
           json((SELECT json_group_array(json_array(n.region, n.state)) FROM entries n WHERE n.uid = e.uid))) \
         FROM instances i CROSS JOIN entities e ON e.tenant = i.tenant AND e.machine_id = i.machine_id \
           AND e.entity_id = i.entity_id WHERE i.uid = f.uid) END) AS j \
     FROM found f CROSS JOIN history h ON h.id = f.row"
);

/// The definitions that members run by, and the heads that children of theirs can be made of. Those of the hashes ?2 do
/// not come, and none beyond the budget ?3.
pub(crate) const DEFINITIONS: &str = concat!(
    "WITH RECURSIVE ",
    asked!(),
    ", ",
    members!(),
    ", used (tenant, machine_id, revision) AS (SELECT m.tenant, m.machine_id, d.revision ",
    member_joins!(),
    " WHERE d.revision IS NOT NULL \
       UNION SELECT c.tenant, c.machine_id, c.head FROM used u \
         CROSS JOIN revisions v ON v.tenant = u.tenant AND v.machine_id = u.machine_id AND v.revision = u.revision \
         CROSS JOIN json_each(v.refers) j \
         CROSS JOIN machines c ON c.tenant = u.tenant AND c.machine_id = j.value AND c.deleted = 0) \
     SELECT json_array(l.tenant, l.machine_id, l.revision, l.head, l.content_hash, \
       CASE WHEN l.bytes > 0 AND l.before < ?3 THEN x.definition END) AS j \
     FROM (SELECT tenant, machine_id, revision, head, content_hash, bytes, \
         sum(bytes) OVER (ORDER BY tenant, machine_id, revision ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT u.tenant, u.machine_id, u.revision, u.revision = m.head AS head, v.content_hash, \
           CASE WHEN v.content_hash IN (SELECT value FROM json_each(?2)) THEN 0 ELSE octet_length(v.definition) END AS bytes \
         FROM used u CROSS JOIN machines m ON m.tenant = u.tenant AND m.machine_id = u.machine_id \
         CROSS JOIN revisions v ON v.tenant = u.tenant AND v.machine_id = u.machine_id AND v.revision = u.revision)) l \
     LEFT JOIN revisions x ON l.bytes > 0 AND l.before < ?3 AND x.tenant = l.tenant AND x.machine_id = l.machine_id \
       AND x.revision = l.revision"
);

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
pub(crate) type Heads = BTreeMap<String, Head>;

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
    pub(crate) family: Option<Family>,
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
    pub(crate) adoptable: Vec<(MachineId, EntityId)>,
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
            family,
            ended: None,
            seen: one.seen,
            paths: Vec::new(),
            seen_at_paths: Vec::new(),
            heads: Arc::default(),
            library: None,
            occupied: Vec::new(),
            adoptable: Vec::new(),
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
    let machines: BTreeSet<_> = targets
        .iter()
        .map(|target| (target.name.tenant.as_str(), target.name.machine_id.as_str()))
        .collect();
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
        statements.push(Statement::new(SEEN_IN_TREES, [rows, budget()]));
    }
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

#[derive(Deserialize)]
struct MemberRow<'a>(
    usize,
    u8,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u64,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Columns<'a>,
    #[serde(borrow)] &'a RawValue,
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
    broken: BTreeMap<String, Error>,
    /// By tenant.
    heads: BTreeMap<String, Heads>,
    libraries: BTreeMap<String, Arc<Library>>,
    /// Tenants of which a definition did not fit.
    incomplete: BTreeSet<String>,
}

impl Definitions {
    fn read(rows: &[String], targets: &[Target], cache: &DefinitionCache, known: Known) -> Result<Self, Error> {
        let mut definitions = Self {
            known,
            broken: BTreeMap::new(),
            heads: BTreeMap::new(),
            libraries: BTreeMap::new(),
            incomplete: BTreeSet::new(),
        };
        let machines: BTreeSet<(&str, &str)> = targets
            .iter()
            .map(|target| (target.name.tenant.as_str(), target.name.machine_id.as_str()))
            .collect();
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
                let heads = definitions.heads.entry(tenant).or_default();
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
    let mut found = Vec::with_capacity(targets.len());
    for (place, ((target, members), seen)) in targets.iter().zip(members).zip(seen).enumerate() {
        let one = match (members, seen) {
            (Ok(members), Ok(seen)) => assemble(target, members, seen, &definitions, whole),
            (Err(other), _) | (_, Err(other)) => other,
        };
        found.push(match one {
            // Nothing came before it in this read: it does not fit any.
            Found::LeftOut if whole && place == 0 => Found::Failed(Error::TooLarge {
                what: "the tree of the entity, or what its children are made of,",
                bytes: usize::try_from(MOST_LOADED_BYTES).unwrap_or(usize::MAX).saturating_add(1),
                most: usize::try_from(MOST_LOADED_BYTES).unwrap_or(usize::MAX),
            }),
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
    let read: MemberRow<'_> = match serde_json::from_str(row) {
        Ok(row) => row,
        // Numbers that no counter has: its tree fails, and no other does.
        Err(error) => {
            let place = place_of(row)?;
            if let (Some(target), Some(slot)) = (targets.get(place), members.get_mut(place)) {
                *slot = Err(Found::Failed(corrupt(&target.name, error.to_string())));
            }
            return Ok(());
        }
    };
    let MemberRow(place, kind, machine_id, entity_id, revision, hash, context, columns, instance) = read;
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
        let stored = columns.restore(Some(context), &name, &head.compiled, head.revision)?;
        Ok(Read {
            kind,
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

/// Makes a tree of its members.
fn assemble(
    target: &Target,
    members: Vec<Read>,
    seen: Remembered,
    definitions: &Definitions,
    whole: bool,
) -> Found {
    let tenant = target.name.tenant.as_str();
    let (wanted, mut members): (Vec<Read>, Vec<Read>) = members.into_iter().partition(|read| read.kind == 3);
    let Some(root) = members.iter().position(|read| read.kind == 0) else {
        return Found::NoMachine;
    };
    let root = members.swap_remove(root);
    let has_children = root.head.compiled.machine.has_children();
    let family = has_children || !members.is_empty() || root.name != target.name;
    if family && (!whole || definitions.incomplete.contains(tenant)) {
        return Found::LeftOut;
    }
    let heads = definitions.heads.get(tenant).cloned().unwrap_or_default();
    let library = definitions.libraries.get(tenant).cloned();
    // A child's id is longer than its parent's.
    members.sort_by_key(|read| read.name.entity_id.as_str().len());
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
    };
    for read in wanted.into_iter().filter(|read| read.stored.is_some()) {
        let EntityName {
            machine_id, entity_id, ..
        } = read.name;
        if members
            .iter()
            .any(|member| member.name.machine_id == machine_id && member.name.entity_id == entity_id)
        {
            continue;
        }
        if read.instance.is_none() {
            loaded.adoptable.push((machine_id.clone(), entity_id.clone()));
        }
        loaded.occupied.push((machine_id, entity_id));
    }
    let Some(stored) = root.stored else {
        return if members.is_empty() && root.name == target.name {
            Found::Loaded(Box::new(loaded))
        } else {
            Found::Failed(corrupt(&target.name, "the root of its tree is gone".to_owned()))
        };
    };
    let mut building = Building {
        by_uid: BTreeMap::from([(stored.uid.clone(), EntityIx::ROOT)]),
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
            Ok(None) => {}
            Ok(Some(ended)) if asked => loaded.ended = Some(ended),
            Ok(Some(_)) => {}
            Err(error) => return Found::Failed(error),
        }
    }
    loaded.family = Some(building.family);
    Found::Loaded(Box::new(loaded))
}

/// A tree that is being put together.
struct Building {
    by_uid: BTreeMap<String, EntityIx>,
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
            let region = machine.find_region(&instance.region)?;
            let state = machine.find_state(region, &instance.state)?;
            Some((parent, region, state))
        });
        let Some((parent, region, state)) = place else {
            // What is over may have been a child of a state that is no more.
            return if instance.is_over() {
                Ok(Some(Ended {
                    uid: stored.uid,
                    entity: stored.entity,
                    status: instance.status,
                }))
            } else {
                Err(missing("the parent"))
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

/// The place at the front of a row that cannot be read as a whole.
fn place_of(row: &str) -> Result<usize, Error> {
    let cells: Vec<serde_json::Value> = decode(row)?;
    let place = cells.first().and_then(serde_json::Value::as_u64);
    let place = place.and_then(|place| usize::try_from(place).ok());
    Ok(place.unwrap_or(usize::MAX))
}

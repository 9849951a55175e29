//! The statements of a set-wise read.

use crate::load::{is_subscribed, revision_joins};
use crate::stored::{instance_columns, stored_columns};

/// The entities that are asked for, and the roots of their trees; `root` is the first of those that are of the same tree.
/// ?1 is a JSON array of [tenant, machine, entity,
/// [identity key, …], [path, …], [[incarnation, identity key], …], [[machine, entity], …]].
macro_rules! asked {
    () => {
        "addressed AS MATERIALIZED (SELECT t.key, t.value AS target, m.tenant, m.machine_id, t.value->>2 AS entity_id, e.uid, \
           i.current, coalesce(i.root_uid, e.uid) AS root_uid, coalesce(i.root_machine, m.machine_id) AS root_machine, \
           coalesce(i.root_entity, t.value->>2) AS root_entity \
         FROM json_each(?1) t \
         CROSS JOIN machines m ON m.tenant = t.value->>0 AND m.machine_id = t.value->>1 AND m.deleted = 0 \
         LEFT JOIN entities e ON e.tenant = m.tenant AND e.machine_id = m.machine_id AND e.entity_id = t.value->>2 \
         LEFT JOIN instances i ON i.uid = e.uid), \
         asked AS MATERIALIZED (SELECT *, min(key) OVER (PARTITION BY tenant, root_machine, root_entity, root_uid) AS root \
           FROM addressed)"
    };
}

/// Whom a tree has: its root; whoever it has to know; and, of each entity that is asked for, itself where the tree knows it
/// no more, and who stands where a child was to be made. A tree is told once, with the first that is asked for.
macro_rules! members {
    () => {
        "members (key, tenant, machine_id, entity_id, kind) AS MATERIALIZED ( \
           SELECT key, tenant, root_machine, root_entity, 0 FROM asked WHERE key = root \
           UNION ALL SELECT key, tenant, machine_id, entity_id, 1 FROM asked WHERE current = 0 \
           UNION ALL SELECT a.key, x.tenant, x.machine_id, x.entity_id, 2 FROM asked a \
             CROSS JOIN instances x ON x.root_uid = a.root_uid AND x.current = 1 WHERE a.key = a.root \
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

/// The trees of the entities that are asked for. What is beyond the budget ?2 is weighed before any of it is read, and of it
/// only a root comes, with a null context: then its tree is left out.
pub(crate) const TREES: &str = concat!(
    "WITH ",
    asked!(),
    ", ",
    members!(),
    " SELECT json_array(l.key, l.kind, l.members, l.machine_id, l.entity_id, l.revision, l.content_hash, \
       CASE WHEN l.before < ?2 THEN coalesce(e.context, '') END, ",
    stored_columns!(
        "CASE WHEN l.members > 1 OR l.kind = 3 THEN (SELECT h.id FROM history h WHERE h.uid = n.uid AND h.identity_key = n.key) END"
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
       LEFT JOIN instances i ON i.uid = e.uid WHERE l.before < ?2 OR l.kind = 0"
);

/// Of the entities that are asked for, those whose tree comes with an earlier one: which.
pub(crate) const SHARED: &str = concat!(
    "WITH ",
    asked!(),
    " SELECT json_array(key, root) FROM asked WHERE key <> root"
);

/// What the entities that are asked for remember themselves; a budget ?2 as above.
pub(crate) const SEEN: &str = "SELECT json_array(t.key, NULL, e.uid, h.identity_key, \
       CASE WHEN sum(octet_length(h.event_params)) OVER (ORDER BY t.key ROWS UNBOUNDED PRECEDING) \
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id, NULL) AS j \
     FROM json_each(?1) t CROSS JOIN json_each(t.value, '$[3]') k \
     CROSS JOIN entities e ON e.tenant = t.value->>0 AND e.machine_id = t.value->>1 AND e.entity_id = t.value->>2 \
     CROSS JOIN history h ON h.uid = e.uid AND h.identity_key = k.value";

/// What others of their trees remember beside: legacy children, every generation of the instance that a path leads to (R9b),
/// whoever handled what they handed on (M11), and rows that a commit of unknown end may have made.
pub(crate) const SEEN_IN_TREES: &str = concat!(
    "WITH RECURSIVE ",
    asked!(),
    ", walk (key, path, level, uid, root_uid, steps, target) AS ( \
       SELECT a.key, p.key, 0, a.uid, a.root_uid, p.value, a.target FROM asked a CROSS JOIN json_each(a.target, '$[4]') p \
         WHERE json_array_length(a.target, '$[3]') > 0 \
       UNION ALL SELECT w.key, w.path, w.level + 1, x.uid, w.root_uid, w.steps, w.target FROM walk w \
         CROSS JOIN instances x ON x.root_uid = w.root_uid AND x.current IN (0, 1) AND x.parent_uid = w.uid \
           AND x.state = w.steps->>('$[' || w.level || '].state') \
         WHERE w.level < json_array_length(w.steps) AND x.kind = 'managed' \
           AND x.region = w.steps->>('$[' || w.level || '].region') \
           AND coalesce(w.steps->>('$[' || w.level || '].seq'), x.seq) BETWEEN x.first_seq AND x.seq), \
     asks (key, path, uid, target) AS ( \
       SELECT key, NULL, uid, target FROM asked \
       UNION ALL SELECT a.key, NULL, x.uid, a.target FROM asked a \
         CROSS JOIN instances x ON x.root_uid = a.root_uid AND x.current = 1 WHERE x.kind = 'legacy' \
       UNION ALL SELECT key, path, uid, target FROM walk WHERE level = json_array_length(steps)), \
     found (key, path, uid, row) AS ( \
       SELECT s.key, s.path, s.uid, h.id FROM asks s CROSS JOIN json_each(s.target, '$[3]') k \
         CROSS JOIN history h ON h.uid = s.uid AND h.identity_key = k.value \
       UNION ALL SELECT s.key, s.path, s.uid, h.id FROM asks s CROSS JOIN json_each(s.target, '$[3]') k \
         CROSS JOIN forwards f ON f.uid = s.uid AND f.identity_key = k.value \
         CROSS JOIN history h ON h.uid = f.to_uid AND h.identity_key = f.identity_key \
       UNION ALL SELECT a.key, NULL, h.uid, h.id FROM asked a CROSS JOIN json_each(a.target, '$[5]') p \
         CROSS JOIN history h ON h.uid = p.value->>0 AND h.identity_key = p.value->>1) \
     SELECT json_array(f.key, f.path, f.uid, h.identity_key, \
       CASE WHEN sum(octet_length(h.event_params)) OVER (ORDER BY f.key ROWS UNBOUNDED PRECEDING) \
         - octet_length(h.event_params) < ?2 THEN h.event_params END, h.commit_id, \
       json(CASE WHEN f.path IS NOT NULL THEN (SELECT json_array(e.machine_id, e.entity_id, i.depth, e.state_version, \
           json((SELECT json_group_array(json_array(n.region, n.state)) FROM entries n WHERE n.uid = e.uid))) \
         FROM instances i CROSS JOIN entities e ON e.tenant = i.tenant AND e.machine_id = i.machine_id \
           AND e.entity_id = i.entity_id WHERE i.uid = f.uid) END)) AS j \
     FROM found f CROSS JOIN history h ON h.id = f.row"
);

/// How many subscriptions there are to the machines of each tenant.
pub(crate) const SUBSCRIBED: &str = concat!(
    "SELECT json_array(t.tenant, ",
    is_subscribed!("t.tenant"),
    ") FROM (SELECT DISTINCT value->>0 AS tenant FROM json_each(?1)) t"
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

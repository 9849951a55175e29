//! The statements that write trees.

/// The filter of a set-wise commit: only the trees that nothing has changed since they were read.
macro_rules! held {
    ($tree:literal) => {
        concat!(
            " WHERE r.value->>",
            $tree,
            " IN (SELECT k.value FROM held x CROSS JOIN json_each(x.trees) k WHERE x.commit_id = ?2)"
        )
    };
}

macro_rules! write_entities {
    ($filter:expr) => {
        concat!(
            "INSERT INTO entities (tenant, machine_id, entity_id, uid, revision, state_version, next_seq, context, \
               initial_context, created_at, updated_at) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               coalesce(r.value->>8, ''), coalesce(r.value->>8, ''), r.value->>9, r.value->>10 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (tenant, machine_id, entity_id) DO UPDATE SET uid = excluded.uid, \
               revision = excluded.revision, state_version = excluded.state_version, next_seq = excluded.next_seq, \
               context = CASE WHEN excluded.context = '' THEN context ELSE excluded.context END, \
               updated_at = excluded.updated_at"
        )
    };
}

macro_rules! write_entries {
    ($filter:expr) => {
        concat!(
            "INSERT INTO entries (uid, region, tenant, machine_id, entity_id, state, seq, entered_at, key, revision, \
               due_at, wake_at, parked) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12, r.value->>13 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (uid, region) DO UPDATE SET state = excluded.state, seq = excluded.seq, \
               entered_at = excluded.entered_at, key = excluded.key, revision = excluded.revision, \
               due_at = excluded.due_at, wake_at = excluded.wake_at, failures = 0, error = NULL, parked = excluded.parked"
        )
    };
}

/// Which ids history rows got: [uid, identity key, id].
macro_rules! numbered {
    () => {
        " RETURNING json_array(uid, identity_key, id)"
    };
}

macro_rules! write_history {
    ($filter:expr) => {
        concat!(
            "INSERT INTO history (uid, commit_id, revision, region, from_state, to_state, event_type, event_params, \
               actions, timestamp, created_at, identity_key, cause) \
             SELECT r.value->>1, ?2, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12 \
             FROM json_each(?1) r",
            $filter
        )
    };
}

/// Entities of one commit; the triggers abort where one moved. `WHERE true` tells the parser that no join follows.
pub(crate) const ENTITIES: &str = write_entities!(" WHERE true");
/// Entries of one commit.
pub(crate) const ENTRIES: &str = write_entries!(" WHERE true");
/// History rows of one commit.
pub(crate) const HISTORY: &str = write_history!("");
/// Entities of a set-wise commit.
pub(crate) const HELD_ENTITIES: &str = write_entities!(held!("0"));
/// Entries of a set-wise commit.
pub(crate) const HELD_ENTRIES: &str = write_entries!(held!("0"));
/// History rows of a set-wise commit.
pub(crate) const HELD_HISTORY: &str = write_history!(held!("0"));

/// The same, saying which rows got which ids.
pub(crate) const HISTORY_NUMBERED: &str = concat!(write_history!(""), numbered!());
/// The same, of a set-wise commit.
pub(crate) const HELD_HISTORY_NUMBERED: &str = concat!(write_history!(held!("0")), numbered!());

macro_rules! write_timers {
    ($filter:expr) => {
        concat!(
            "UPDATE entries SET due_at = t.due_at, wake_at = t.wake_at, parked = t.parked, \
               revision = t.revision, failures = 0, error = NULL \
             FROM (SELECT r.value->>1 AS uid, r.value->>2 AS region, r.value->>3 AS seq, r.value->>4 AS due_at, \
                 r.value->>5 AS wake_at, r.value->>6 AS parked, r.value->>7 AS revision, \
                 e.state_version = r.value->>11 AS holds \
               FROM json_each(?1) r CROSS JOIN entities e ON e.tenant = r.value->>8 AND e.machine_id = r.value->>9 \
                 AND e.entity_id = r.value->>10",
            $filter,
            ") t WHERE entries.uid = t.uid AND entries.region = t.region AND entries.seq = t.seq AND t.holds"
        )
    };
}

/// Timers that moved without a commit: of the same entry instance only, and only while the version stands.
pub(crate) const TIMERS: &str = write_timers!("");
/// Such timers of a set-wise commit. That the version stands does not suffice there: a tree that another writer
/// brought to the very version that its own commit would have made is not held.
pub(crate) const HELD_TIMERS: &str = write_timers!(held!("0"));

macro_rules! write_instances {
    ($filter:expr) => {
        concat!(
            "INSERT INTO instances (uid, tenant, machine_id, entity_id, root_uid, root_machine, root_entity, parent_uid, \
               parent_machine, parent_entity, region, state, seq, kind, status, depth, path, started, ended, current, \
               cancelled_with, first_seq) \
             SELECT r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, \
               r.value->>8, r.value->>9, r.value->>10, r.value->>11, r.value->>12, r.value->>13, r.value->>14, \
               r.value->>15, r.value->>16, r.value->>17, r.value->>18, r.value->>19, r.value->>20, r.value->>21, r.value->>22 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (uid) DO UPDATE SET seq = excluded.seq, status = excluded.status, path = excluded.path, \
               ended = excluded.ended, current = excluded.current, cancelled_with = excluded.cancelled_with"
        )
    };
}

/// Places of children of one commit; a trigger aborts where the parent is gone, or in another tree.
pub(crate) const INSTANCES: &str = write_instances!(" WHERE true");
/// Places of children of a set-wise commit.
pub(crate) const HELD_INSTANCES: &str = write_instances!(held!("0"));

/// Makes an entity a legacy child, if it is nobody's: [tenant, machine, entity, root's uid, machine and entity, parent's
/// uid, machine and entity, region, state, seq, time].
pub(crate) const ADOPT: &str = "INSERT INTO instances (uid, tenant, machine_id, entity_id, root_uid, root_machine, \
       root_entity, parent_uid, parent_machine, parent_entity, region, state, seq, kind, status, depth, path, started, \
       ended, current, cancelled_with, first_seq) \
     SELECT e.uid, e.tenant, e.machine_id, e.entity_id, ?1->>3, ?1->>4, ?1->>5, ?1->>6, ?1->>7, ?1->>8, ?1->>9, ?1->>10, \
       ?1->>11, 'legacy', 'active', 0, '[]', ?1->>12, NULL, 1, NULL, ?1->>11 \
     FROM entities e WHERE e.tenant = ?1->>0 AND e.machine_id = ?1->>1 AND e.entity_id = ?1->>2";

/// Brings what lived below it into its new tree: the same row.
pub(crate) const ADOPT_BELOW: &str = "UPDATE instances SET root_uid = ?1->>3, root_machine = ?1->>4, root_entity = ?1->>5 \
     WHERE root_uid = (SELECT e.uid FROM entities e WHERE e.tenant = ?1->>0 AND e.machine_id = ?1->>1 \
       AND e.entity_id = ?1->>2)";

macro_rules! write_forwards {
    ($filter:expr) => {
        concat!(
            "INSERT INTO forwards (uid, identity_key, to_uid) SELECT r.value->>1, r.value->>2, r.value->>3 \
             FROM json_each(?1) r",
            $filter,
            " ON CONFLICT (uid, identity_key) DO UPDATE SET to_uid = excluded.to_uid"
        )
    };
}

/// What is remembered of events that were handed on (M11). Whoever handled it before was deleted, and its history with it.
pub(crate) const FORWARDS: &str = write_forwards!(" WHERE true");
/// The same, of a set-wise commit.
pub(crate) const HELD_FORWARDS: &str = write_forwards!(held!("0"));

/// The columns of a new row of the outbox.
macro_rules! outbox_columns {
    () => {
        "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
           subscription, effect, attempt, tries, claim, claimed, held, due_at, created_at, finished_at, error) "
    };
}

/// Which effects the writer is to deliver: [tenant, id, whether it is claimed].
macro_rules! claims {
    () => {
        " RETURNING json_array(tenant, id, claimed)"
    };
}

macro_rules! write_outbox {
    ($filter:expr) => {
        concat!(
            outbox_columns!(),
            "SELECT v->>1, v->>2, v->>2, v->>3, CASE WHEN v->>12 IS NULL THEN 'pending' ELSE 'dead' END, v->>4, v->>5, v->>6, \
               v->>7, v->>8, v->>9, v->>10, NULL, v->>11, own, own, own, own, 0, \
               CASE WHEN free THEN coalesce(?4, ?3) END, ?3, CASE WHEN v->>12 IS NOT NULL THEN ?3 END, v->>12 \
             FROM (SELECT v, free, free AND ?4 IS NOT NULL AS own FROM ( \
               SELECT r.value AS v, r.value->>13 = 1 AND NOT EXISTS (SELECT 1 FROM outbox p INDEXED BY outbox_lanes WHERE p.tenant = r.value->>1 \
                 AND p.lane = r.value->>4 AND p.status = 'pending') AS free FROM json_each(?1) r",
            $filter,
            ")) WHERE ?2 IS NOT NULL",
            claims!()
        )
    };
}

macro_rules! write_presented {
    ($filter:expr) => {
        concat!(
            outbox_columns!(),
            "SELECT v->>1, v->>2 || '~' || sub, v->>2, 'presentation', 'pending', v->>3 || ':' || sub, v->>4, v->>5, \
               v->>1 || char(10) || sub, sub, v->>6, v->>7, sub, v->>11, own, own, own, own, free AND NOT active, \
               CASE WHEN free AND active THEN coalesce(?4, ?3) END, ?3, NULL, NULL \
             FROM (SELECT v, sub, active, free, free AND active AND ?4 IS NOT NULL AS own FROM ( \
               SELECT v, sub, active, turn = 1 AND NOT EXISTS (SELECT 1 FROM outbox p INDEXED BY outbox_lanes WHERE p.tenant = v->>1 \
                 AND p.lane = v->>3 || ':' || sub AND p.status = 'pending') AS free FROM ( \
                 SELECT r.value AS v, s.id AS sub, s.active, \
                   row_number() OVER (PARTITION BY r.value->>3, s.id ORDER BY r.value->>4, r.value->>5) AS turn \
                 FROM json_each(?1) r CROSS JOIN subscriptions s ON s.tenant = r.value->>1 AND s.source = 'machines' \
                   AND coalesce(s.machine, r.value->>6) = r.value->>6 AND coalesce(s.from_state, r.value->>8) = r.value->>8 \
                   AND coalesce(s.to_state, r.value->>9) = r.value->>9 AND coalesce(s.event, r.value->>10) = r.value->>10",
            $filter,
            "))) WHERE ?2 IS NOT NULL",
            claims!()
        )
    };
}

/// Effects of one commit ?2, at ?3: the first of each free lane claimed until ?4, or due where that is null.
pub(crate) const OUTBOX: &str = write_outbox!("");
/// Effects of a set-wise commit.
pub(crate) const HELD_OUTBOX: &str = write_outbox!(held!("0"));
/// Presentations of one commit's transitions to the subscriptions that match them.
pub(crate) const PRESENTED: &str = write_presented!("");
/// The same, of a set-wise commit.
pub(crate) const HELD_PRESENTED: &str = write_presented!(held!("0"));

/// Aborts unless entities that a commit only read are as they were: a JSON array of [tenant, machine, entity, uid,
/// version].
pub(crate) const GUARD: &str = "INSERT INTO violations (violated) SELECT 'parent' FROM json_each(?1) t \
     LEFT JOIN entities e ON e.tenant = t.value->>0 AND e.machine_id = t.value->>1 AND e.entity_id = t.value->>2 \
     WHERE coalesce(e.uid, '') <> t.value->>3 OR e.state_version <> t.value->>4";

/// Records which trees of a set-wise commit hold, of each all entities that it was decided on: [tree, tenant, machine, entity,
/// uid, version, revision], where uid and version are `''` and 0 for one to be made, and the revision is null for one that
/// ended before: it stays with its own. Gives their numbers, those of the
/// statements before it included.
pub(crate) const HOLD: &str = "INSERT INTO held (commit_id, trees) \
     SELECT ?2, json_group_array(tree) FROM (SELECT t.value->>0 AS tree FROM json_each(?1) t \
       LEFT JOIN entities e ON e.tenant = t.value->>1 AND e.machine_id = t.value->>2 AND e.entity_id = t.value->>3 \
       GROUP BY t.value->>0 HAVING min(coalesce(e.uid, '') = t.value->>4 AND coalesce(e.state_version, 0) = t.value->>5 \
         AND (t.value->>6 IS NULL OR EXISTS (SELECT 1 FROM revisions v WHERE v.tenant = t.value->>1 \
           AND v.machine_id = t.value->>2 AND v.revision = t.value->>6 AND v.effective = t.value->>6)) \
         AND (e.uid IS NOT NULL OR EXISTS (SELECT 1 FROM machines m WHERE m.tenant = t.value->>1 \
           AND m.machine_id = t.value->>2 AND m.head = t.value->>6 AND m.deleted = 0)))) WHERE true \
     ON CONFLICT (commit_id) DO UPDATE SET trees = (SELECT json_group_array(value) FROM ( \
       SELECT value FROM json_each(held.trees) UNION ALL SELECT value FROM json_each(excluded.trees))) \
     RETURNING trees";

/// Ends a set-wise commit.
pub(crate) const RELEASE: &str = "DELETE FROM held WHERE commit_id = ?1";

//! The statements of state records.

/// A record as JSON: the text that [`Record`] has, its data as it was given.
macro_rules! record {
    () => {
        "'{\"machine\":' || json_quote(machine) || ',\"id\":' || json_quote(id) || ',\"state\":' || json_quote(state) \
           || ',\"version\":' || version || ',\"data\":' || data || ',\"created_at\":' || created_at \
           || ',\"updated_at\":' || updated_at || '}'"
    };
}

/// The rows of the event ?5: itself where it is skipped, or its presentations.
macro_rules! no_event_yet {
    () => {
        "NOT EXISTS (SELECT 1 FROM outbox e WHERE e.tenant = ?1 AND e.id >= ?5 AND e.id < ?5 || char(127))"
    };
}

/// A record and its incarnation: tenant, machine, id.
pub(crate) const FOUND: &str = concat!(
    "SELECT '[' || json_quote(uid) || ',' || ",
    record!(),
    " || ']' FROM records WHERE tenant = ?1 AND machine = ?2 AND id = ?3"
);

/// Makes a record where there is none: tenant, machine, id, uid, state, data, commit, time.
pub(crate) const CREATE: &str = "INSERT INTO records (tenant, machine, id, uid, state, version, data, commit_id, created_at, \
       updated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?8) ON CONFLICT (tenant, machine, id) DO NOTHING";

/// Moves a record that is where the caller says: tenant, machine, id, commit, from, version, to, data or null, time.
pub(crate) const MOVE: &str = "UPDATE records SET state = ?7, version = version + 1, data = coalesce(?8, data), commit_id = ?4, \
       updated_at = ?9 \
     WHERE tenant = ?1 AND machine = ?2 AND id = ?3 AND state = ?5 AND version = ?6";

/// Presents the move of commit ?4 to whom it concerns: tenant, machine, id, commit, event, from, the event as it is told,
/// time, and until when the first of a free lane is claimed, null where this process sends nothing.
pub(crate) const PRESENT: &str = concat!(
    "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
       subscription, effect, attempt, tries, claim, claimed, held, due_at, created_at) \
     WITH told AS MATERIALIZED ( \
       SELECT s.id, s.active, r.version, 'r:' || r.uid || ':' || s.id AS lane, NOT EXISTS (SELECT 1 FROM outbox o \
         INDEXED BY outbox_lanes WHERE o.tenant = ?1 AND o.lane = 'r:' || r.uid || ':' || s.id AND o.status = 'pending') AS free \
       FROM records r CROSS JOIN subscriptions s ON s.tenant = ?1 AND s.source = 'records' \
         AND coalesce(s.machine, ?2) = ?2 AND coalesce(s.from_state, ?6) = ?6 AND coalesce(s.to_state, r.state) = r.state \
       WHERE r.tenant = ?1 AND r.machine = ?2 AND r.id = ?3 AND r.commit_id = ?4 AND ",
    no_event_yet!(),
    ") SELECT ?1, ?5 || '~' || id, ?5, 'presentation', 'pending', lane, version, 0, ?1 || char(10) || id, id, ?2, ?3, id, ?7, \
       own, own, own, own, free AND NOT active, CASE WHEN free AND active THEN coalesce(?9, ?8) END, ?8 \
     FROM (SELECT t.*, t.free AND t.active AND ?9 IS NOT NULL AS own FROM told t)"
);

/// The event of commit ?4, where it concerns nobody: tenant, machine, id, commit, event, the event as it is told, time.
pub(crate) const SKIP: &str = concat!(
    "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
       effect, created_at, finished_at) \
     SELECT ?1, ?5, ?5, 'presentation', 'skipped', 'r:' || uid, version, 0, ?1 || char(10), '', ?2, ?3, ?6, ?7, ?7 \
     FROM records WHERE tenant = ?1 AND machine = ?2 AND id = ?3 AND commit_id = ?4 AND ",
    no_event_yet!()
);

/// What stands of the event ?2 of tenant ?1, and what of it is claimed as it was made.
pub(crate) const EVENT: &str = "SELECT json_array(id, claimed = 1 AND claim = 1, created_at) FROM outbox \
     WHERE tenant = ?1 AND id >= ?2 AND id < ?2 || char(127)";

/// Keeps the answer that commit ?4 gives: tenant, machine, id, commit, key, scope, fingerprint, status, what follows the
/// record in the answer, time, until when. Aborts where another's stands.
pub(crate) const KEEP: &str = concat!(
    "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, answer, outcome, uid, commit_id, created_at, \
       expires_at) \
     SELECT ?1, ?5, ?6, -1, ?7, ?8, '{\"ok\":true,\"record\":' || ",
    record!(),
    " || ?9, 'applied', uid, ?4, ?10, ?11 \
     FROM records WHERE tenant = ?1 AND machine = ?2 AND id = ?3 AND commit_id = ?4 AND NOT EXISTS (SELECT 1 FROM inbox k \
       WHERE k.tenant = ?1 AND k.key = ?5 AND k.scope = ?6 AND k.part = -1 AND k.commit_id = ?4)"
);

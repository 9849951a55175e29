//! The statements on the outbox for its tenant, and for its upkeep.

/// A row as it is shown.
macro_rules! columns {
    () => {
        "json_array(o.id, o.event_id, o.kind, o.status, o.claimed, o.held, o.machine_id, o.entity_id, o.version, o.attempt, \
           o.target, o.created_at, o.due_at, o.finished_at, o.error, o.subscription IS NOT NULL)"
    };
}

/// What names one state of a row, as text.
macro_rules! token {
    () => {
        "json_array(o.status, o.claim, o.claimed, o.held, o.tries, o.due_at, o.finished_at) || ''"
    };
}

/// Whether another row of the lane is due, claimed or waiting for its next try; whether an earlier one is pending.
macro_rules! lane {
    () => {
        "json_array(EXISTS (SELECT 1 FROM outbox d INDEXED BY outbox_lanes WHERE d.tenant = o.tenant AND d.lane = o.lane AND d.status = 'pending' \
             AND d.claimed = 1 AND d.id <> o.id), \
           EXISTS (SELECT 1 FROM outbox n INDEXED BY outbox_lanes WHERE n.tenant = o.tenant AND n.lane = o.lane AND n.status = 'pending' \
             AND (n.version, n.place) < (o.version, o.place))) || ''"
    };
}

/// Whether a row `q` fits: its machine ?5, its entity ?6, its status ?7; and whether a redrive at ?8 changes it.
macro_rules! fits {
    () => {
        "(?5 IS NULL OR q.machine_id = ?5) AND (?6 IS NULL OR q.entity_id = ?6) AND (?7 IS NULL OR q.status = ?7) \
         AND (?8 IS NULL OR q.status IN ('dead', 'cancelled') \
           OR q.status = 'skipped' AND (q.kind <> 'presentation' OR q.subscription IS NOT NULL) \
           OR q.status = 'pending' AND q.claimed = 0 AND q.due_at > ?8)"
    };
}

/// Rows of a tenant that fit, of those with an id below ?2 and from ?3 on; as many as ?4, out of 20,000 that are looked at. The
/// last of these is given in any case: the next page begins behind it.
macro_rules! walked {
    ($from:expr, $order:literal) => {
        concat!(
            "SELECT json_array(l.n = 20000, l.hit, ",
            columns!(),
            ", ",
            token!(),
            ") FROM (SELECT w.id, w.n, w.hit FROM ( \
               SELECT q.id, row_number() OVER (ORDER BY ",
            $order,
            ") AS n, ",
            fits!(),
            " AS hit FROM ",
            $from,
            " AND q.id < ?2 AND q.id >= ?3 ORDER BY ",
            $order,
            " LIMIT 20000) w WHERE w.hit OR w.n = 20000 LIMIT ?4) l \
             CROSS JOIN outbox o ON o.tenant = ?1 AND o.id = l.id ORDER BY l.n"
        )
    };
}

/// Whether a tenant has more pending rows than are sorted for a page.
macro_rules! many {
    () => {
        "(SELECT count(*) FROM (SELECT 1 FROM outbox p INDEXED BY outbox_lanes WHERE p.tenant = ?1 AND p.status = 'pending' \
           LIMIT 20001)) > 20000"
    };
}

/// Rows of any status or of `done`, the newest first.
pub(crate) const NEWEST: &str = walked!("outbox q WHERE q.tenant = ?1", "q.id DESC");
/// Rows of one of the other statuses of what is over, the newest first.
pub(crate) const CLOSED: &str = walked!(
    "outbox q INDEXED BY outbox_closed WHERE q.tenant = ?1 AND q.status = ?7 \
       AND q.status IN ('dead', 'skipped', 'cancelled')",
    "q.id DESC"
);
/// Pending rows, the oldest first, where they are few: they are found by their lanes, and sorted.
pub(crate) const PENDING: &str = concat!(
    "SELECT json_array(0, 1, ",
    columns!(),
    ", ",
    token!(),
    ") FROM (SELECT q.id FROM outbox q INDEXED BY outbox_lanes WHERE q.tenant = ?1 AND q.status = 'pending' \
       AND q.id < ?2 AND q.id >= ?3 AND ",
    fits!(),
    " AND NOT ",
    many!(),
    " ORDER BY q.id LIMIT ?4) l CROSS JOIN outbox o ON o.tenant = ?1 AND o.id = l.id ORDER BY l.id"
);
/// The same where they are many: they are looked for among all rows.
pub(crate) const PENDING_WALK: &str = walked!(concat!("outbox q WHERE q.tenant = ?1 AND ", many!()), "q.id");

/// How many rows there are of each status, up to 10,000, those that are done among the newest 20,000 alone; and when the
/// oldest of up to 100,000 pending ones was made.
pub(crate) const COUNTS: &str = "SELECT json_array( \
       (SELECT count(*) FROM (SELECT 1 FROM outbox INDEXED BY outbox_lanes \
         WHERE tenant = ?1 AND status = 'pending' LIMIT 10000)), \
       (SELECT count(*) FROM (SELECT 1 FROM (SELECT status FROM outbox WHERE tenant = ?1 ORDER BY id DESC LIMIT 20000) \
         WHERE status = 'done' LIMIT 10000)), \
       (SELECT count(*) FROM (SELECT 1 FROM outbox INDEXED BY outbox_closed \
         WHERE tenant = ?1 AND status = 'skipped' AND status IN ('dead', 'skipped', 'cancelled') LIMIT 10000)), \
       (SELECT count(*) FROM (SELECT 1 FROM outbox INDEXED BY outbox_closed \
         WHERE tenant = ?1 AND status = 'dead' AND status IN ('dead', 'skipped', 'cancelled') LIMIT 10000)), \
       (SELECT count(*) FROM (SELECT 1 FROM outbox INDEXED BY outbox_closed \
         WHERE tenant = ?1 AND status = 'cancelled' AND status IN ('dead', 'skipped', 'cancelled') LIMIT 10000)), \
       (SELECT created_at FROM outbox WHERE tenant = ?1 AND id = (SELECT min(id) FROM ( \
         SELECT id FROM outbox INDEXED BY outbox_lanes WHERE tenant = ?1 AND status = 'pending' LIMIT 100000))))";

/// A row with what is to be sent and its attempts.
pub(crate) const ENTRY: &str = concat!(
    "SELECT json_array(",
    columns!(),
    ", o.effect, o.attempts) FROM outbox o WHERE o.tenant = ?1 AND o.id = ?2"
);

/// A row to be changed, with its state and its lane's.
pub(crate) const CHANGED: &str = concat!(
    "SELECT json_array(",
    columns!(),
    ", ",
    token!(),
    ", ",
    lane!(),
    ") FROM outbox o WHERE o.tenant = ?1 AND o.id = ?2"
);

/// Of rows that were to be changed, the states: [id, state] of a JSON array of [id, …].
pub(crate) const TOKENS: &str = concat!(
    "SELECT json_array(o.id, ",
    token!(),
    ") FROM json_each(?2) t CROSS JOIN outbox o ON o.tenant = ?1 AND o.id = t.value->>0"
);

/// Aborts unless rows are as they were read: a JSON array of [id, state, its lane's or null].
pub(crate) const STAND: &str = concat!(
    "INSERT INTO violations (violated) SELECT 'outbox' FROM json_each(?2) t \
       LEFT JOIN outbox o ON o.tenant = ?1 AND o.id = t.value->>0 \
     WHERE ",
    token!(),
    " IS NOT t.value->>1 OR t.value->>2 IS NOT NULL AND ",
    lane!(),
    " IS NOT t.value->>2 LIMIT 1"
);

/// Has rows of ?2, a JSON array of [id, …], tried anew from ?3 on, with all their tries. Attempts and claims count on.
pub(crate) const REDRIVE: &str = "UPDATE outbox SET status = 'pending', tries = 0, finished_at = NULL, held = 0, claimed = 0, \
       denied_since = NULL, due_at = CASE WHEN status = 'pending' AND due_at IS NOT NULL THEN min(due_at, ?3) END \
     WHERE tenant = ?1 AND id IN (SELECT value->>0 FROM json_each(?2))";

/// Calls pending rows of ?2 off at ?3. What a claim of them brings comes too late.
pub(crate) const CANCEL: &str = "UPDATE outbox SET status = 'cancelled', finished_at = ?3, due_at = NULL, held = 0, claimed = 0, \
       claim = claim + 1, denied_since = NULL \
     WHERE tenant = ?1 AND id IN (SELECT value->>0 FROM json_each(?2)) AND status = 'pending'";

/// Has what is due in lanes of ?2, and not being sent, wait for rows that now come before it (I7).
pub(crate) const STEP_BACK: &str = "UPDATE outbox SET due_at = NULL WHERE tenant = ?1 AND claimed = 0 AND due_at IS NOT NULL \
     AND id IN (SELECT n.id \
       FROM (SELECT DISTINCT o.lane FROM json_each(?2) t CROSS JOIN outbox o ON o.tenant = ?1 AND o.id = t.value->>0) l \
       CROSS JOIN outbox n INDEXED BY outbox_lanes ON n.tenant = ?1 AND n.lane = l.lane AND n.status = 'pending' \
       WHERE n.due_at IS NOT NULL AND n.claimed = 0 AND EXISTS (SELECT 1 FROM outbox e INDEXED BY outbox_lanes \
         WHERE e.tenant = ?1 AND e.lane = l.lane AND e.status = 'pending' \
           AND (e.version, e.place) < (n.version, n.place)))";

/// Makes the first row of each lane of ?2 due at ?3, where none of its lane is, nor is held.
pub(crate) const WAKE: &str = "UPDATE outbox SET due_at = ?3 WHERE tenant = ?1 AND due_at IS NULL AND held = 0 AND id IN ( \
       SELECT (SELECT n.id FROM outbox n INDEXED BY outbox_lanes WHERE n.tenant = ?1 AND n.lane = l.lane AND n.status = 'pending' \
         ORDER BY n.version, n.place LIMIT 1) \
       FROM (SELECT DISTINCT o.lane FROM json_each(?2) t CROSS JOIN outbox o ON o.tenant = ?1 AND o.id = t.value->>0) l \
       WHERE NOT EXISTS (SELECT 1 FROM outbox d INDEXED BY outbox_lanes WHERE d.tenant = ?1 AND d.lane = l.lane AND d.status = 'pending' \
         AND d.due_at IS NOT NULL))";

/// Purges rows that were over by ?1 (S0.52): of the four tenants with the oldest rows from ?3 on and below ?2, the ids of that
/// time, up to 500 rows each behind the first ?4. Pending rows are passed over, and stay.
pub(crate) const PURGE: &str = "DELETE FROM outbox WHERE (tenant, id) IN ( \
       WITH RECURSIVE tenants (tenant) AS ( \
         SELECT (SELECT min(tenant) FROM outbox WHERE tenant > '') \
         UNION ALL SELECT (SELECT min(n.tenant) FROM outbox n WHERE n.tenant > t.tenant) \
           FROM tenants t WHERE t.tenant IS NOT NULL LIMIT 10000), \
       heads (tenant, id) AS (SELECT tenant, head FROM (SELECT t.tenant, (SELECT h.id FROM outbox h WHERE h.tenant = t.tenant \
           AND h.id >= ?3 AND h.id < ?2 ORDER BY h.id LIMIT 1) AS head FROM tenants t) \
         WHERE head IS NOT NULL ORDER BY head LIMIT 4), \
       walks (tenant, first, behind) AS (SELECT tenant, \
         (SELECT f.id FROM outbox f WHERE f.tenant = heads.tenant AND f.id >= heads.id AND f.id < ?2 \
           ORDER BY f.id LIMIT 1 OFFSET ?4), \
         coalesce((SELECT b.id FROM outbox b WHERE b.tenant = heads.tenant AND b.id >= heads.id AND b.id < ?2 \
           ORDER BY b.id LIMIT 1 OFFSET ?4 + 500), ?2) FROM heads) \
       SELECT o.tenant, o.id FROM walks w CROSS JOIN outbox o ON o.tenant = w.tenant AND o.id >= w.first AND o.id < w.behind \
       WHERE o.status <> 'pending' AND o.finished_at <= ?1 ORDER BY o.id LIMIT 1000)";

/// Subscriptions that rows are held for although they are not suspended, or gone; found by leaps over the held.
pub(crate) const STRANDED: &str = "WITH RECURSIVE pairs (pair) AS ( \
       SELECT (SELECT json_array(tenant, subscription) FROM outbox \
         WHERE held = 1 AND tenant > ?2 ORDER BY tenant, subscription LIMIT 1) \
       UNION ALL SELECT (SELECT json_array(n.tenant, n.subscription) FROM outbox n \
           WHERE n.held = 1 AND (n.tenant, n.subscription) > (p.pair->>0, p.pair->>1) \
           ORDER BY n.tenant, n.subscription LIMIT 1) \
         FROM pairs p WHERE p.pair IS NOT NULL LIMIT 1000) \
     SELECT p.pair FROM pairs p WHERE p.pair IS NOT NULL AND NOT EXISTS (SELECT 1 FROM subscriptions s \
       WHERE s.tenant = p.pair->>0 AND s.id = p.pair->>1 AND s.active = 0) LIMIT ?1";

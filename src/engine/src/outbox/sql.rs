//! The statements of the outbox's delivery.

/// What a claim does to a row.
macro_rules! claimed {
    () => {
        "UPDATE outbox SET attempt = attempt + 1, tries = tries + 1, claim = claim + 1, claimed = 1, due_at = ?2 "
    };
}

macro_rules! claims {
    () => {
        " RETURNING json_array(tenant, id, claim)"
    };
}

/// The next tenants behind ?4 with rows that wait or are due, at most [`TENANTS_PER_LOOK`] of them: how many there were, the last
/// one, and those of which something is due at ?1. Tenants are found by leaps over the index, so that what one has piled up
/// keeps no other waiting.
pub(crate) const DUE_TENANTS: &str = "WITH RECURSIVE tenants (tenant, place) AS ( \
       SELECT (SELECT min(o.tenant) FROM outbox o INDEXED BY outbox_due WHERE o.due_at IS NOT NULL AND o.tenant > ?2), 1 \
       UNION ALL SELECT (SELECT min(o.tenant) FROM outbox o INDEXED BY outbox_due WHERE o.due_at IS NOT NULL \
           AND o.tenant > tenants.tenant), place + 1 \
         FROM tenants WHERE tenants.tenant IS NOT NULL AND place < 500) \
     SELECT json_array(tenant, EXISTS (SELECT 1 FROM outbox o INDEXED BY outbox_due WHERE o.tenant = tenants.tenant \
       AND o.due_at <= ?1)) FROM tenants WHERE tenant IS NOT NULL ORDER BY place";

/// How many tenants [`DUE_TENANTS`] looks at.
pub(crate) const TENANTS_PER_LOOK: usize = 500;

/// Claims what is due at ?1 until ?2, of the tenants of the JSON array ?4: at most ?3 rows, each tenant's first before any
/// tenant's second; of each tenant, among its oldest, each sink's first before any sink's second.
pub(crate) const CLAIM_DUE: &str = concat!(
    "WITH share (most) AS MATERIALIZED ( \
       SELECT (CAST(?3 AS INTEGER) + 63) / max(json_array_length(?4), 1)) ",
    claimed!(),
    "WHERE (tenant, id) IN (SELECT tenant, id FROM ( \
       SELECT tenant, id, due_at, row_number() OVER (PARTITION BY tenant ORDER BY of_sink, due_at) AS turn FROM ( \
         SELECT o.tenant, o.id, o.due_at, row_number() OVER (PARTITION BY o.tenant, o.sink ORDER BY o.due_at) AS of_sink \
         FROM json_each(?4) t CROSS JOIN outbox o INDEXED BY outbox_due ON o.tenant = t.value AND o.due_at IS NOT NULL \
           AND o.due_at <= coalesce((SELECT k.due_at FROM outbox k INDEXED BY outbox_due WHERE k.tenant = t.value \
             AND k.due_at IS NOT NULL AND k.due_at <= ?1 ORDER BY k.due_at LIMIT 1 OFFSET (SELECT most FROM share)), ?1))) \
     ORDER BY turn, due_at LIMIT ?3)",
    claims!()
);

/// Puts off until ?4 what is due at ?2 of a tenant ?1 for a sink ?3 that does not answer, uncounted: of its oldest due rows.
pub(crate) const PUT_OFF: &str = "UPDATE outbox SET due_at = ?4 WHERE (tenant, id) IN ( \
       SELECT o.tenant, o.id FROM (SELECT tenant, id FROM outbox INDEXED BY outbox_due WHERE tenant = ?1 AND due_at <= ?2 \
         ORDER BY due_at LIMIT 500) d CROSS JOIN outbox o ON o.tenant = d.tenant AND o.id = d.id \
       WHERE o.sink = ?3 AND o.claimed = 0)";

/// Gives back claims that nobody has begun to send: [tenant, id, claim], due at ?2.
pub(crate) const GIVE_BACK: &str = "UPDATE outbox SET claimed = 0, due_at = ?2, attempt = attempt - 1, tries = tries - 1 \
     WHERE (tenant, id, claim) IN (SELECT value->>0, value->>1, value->>2 FROM json_each(?1)) AND claimed = 1 \
       AND status = 'pending'";

/// Claims rows of the JSON array ?3, [tenant, id], that are due at ?1 and claimed by nobody.
pub(crate) const CLAIM_THESE: &str = concat!(
    claimed!(),
    "WHERE (tenant, id) IN (SELECT value->>0, value->>1 FROM json_each(?3)) AND status = 'pending' AND claimed = 0 \
       AND due_at <= ?1",
    claims!()
);

/// Claims the rows that lanes of the JSON array ?3, [tenant, lane], have got to: the first of each, where it is its turn.
pub(crate) const CLAIM_NEXT: &str = concat!(
    claimed!(),
    "WHERE (tenant, id) IN (SELECT l.value->>0, (SELECT n.id FROM outbox n INDEXED BY outbox_lanes \
         WHERE n.tenant = l.value->>0 AND n.lane = l.value->>1 AND n.status = 'pending' \
         ORDER BY n.version, n.place LIMIT 1) FROM json_each(?3) l) \
       AND status = 'pending' AND claimed = 0 AND due_at <= ?1",
    claims!()
);

/// Takes over what a commit of this very process claimed, after its answer was lost: tenant, what the ids begin with.
pub(crate) const TAKE_OVER: &str = concat!(
    "UPDATE outbox SET claim = claim + 1 WHERE tenant = ?1 AND id >= ?2 || '.' AND id < ?2 || '/' AND status = 'pending' \
       AND claimed = 1 AND claim = 1",
    claims!()
);

/// What is to be sent, of claims that stand: a JSON array of [tenant, id, claim]. Effects beyond the budget ?2 do not come.
pub(crate) const DELIVERIES: &str = "SELECT json_array(o.tenant, o.id, o.claim, o.event_id, o.kind, o.lane, o.sink, o.attempt, \
       o.tries, o.denied_since, \
       CASE WHEN sum(octet_length(o.effect)) OVER (ORDER BY c.key ROWS UNBOUNDED PRECEDING) - octet_length(o.effect) < ?2 \
         THEN o.effect END, o.subscription, s.sink, s.active) \
     FROM json_each(?1) c CROSS JOIN outbox o ON o.tenant = c.value->>0 AND o.id = c.value->>1 \
     LEFT JOIN subscriptions s ON s.tenant = o.tenant AND s.id = o.subscription \
     WHERE o.status = 'pending' AND o.claim = c.value->>2 AND o.claimed = 1";

/// The secrets that these need: those that their headers name, and what they are signed with.
pub(crate) const SECRETS: &str = "SELECT json_array(k.tenant, k.name, k.current, k.previous) FROM ( \
       SELECT o.tenant, coalesce(s.sink->>'secret', ?2) AS name FROM json_each(?1) c \
         CROSS JOIN outbox o ON o.tenant = c.value->>0 AND o.id = c.value->>1 \
         LEFT JOIN subscriptions s ON s.tenant = o.tenant AND s.id = o.subscription \
       UNION SELECT o.tenant, h.value->>'secret' FROM json_each(?1) c \
         CROSS JOIN outbox o ON o.tenant = c.value->>0 AND o.id = c.value->>1 AND o.kind = 'webhook' \
         CROSS JOIN json_each(CASE WHEN json_valid(o.effect) THEN o.effect ELSE '{}' END, '$.headers') h WHERE h.type = 'object') n \
     CROSS JOIN secrets k ON k.tenant = n.tenant AND k.name = n.name";

/// The tokens that these need of the operator's event collector.
pub(crate) const TOKENS: &str = "SELECT json_array(t.tenant, t.token) FROM ( \
       SELECT DISTINCT o.tenant FROM json_each(?1) c CROSS JOIN outbox o ON o.tenant = c.value->>0 \
         AND o.id = c.value->>1 AND o.kind = 'event') n CROSS JOIN ingest_tokens t ON t.tenant = n.tenant";

/// Marks what became of claims, as far as they stand: [tenant, id, claim, status, due, how many attempts to take back, denied
/// since, held, error, finished, entry of the list of attempts, subscription], at ?2. What was to be held is due where its
/// subscription has become active meanwhile.
pub(crate) const MARK: &str = "UPDATE outbox SET status = m.status, \
       due_at = CASE WHEN m.held = 1 AND NOT m.suspended THEN ?2 ELSE m.due_at END, attempt = attempt - m.back, \
       tries = tries - m.back, claimed = 0, denied_since = m.denied_since, held = m.held AND m.suspended, error = m.error, \
       finished_at = m.finished_at, attempts = CASE WHEN m.entry IS NULL THEN attempts ELSE json_insert( \
         CASE WHEN json_array_length(attempts) >= 20 THEN json_remove(attempts, '$[0]') ELSE attempts END, \
         '$[#]', json(m.entry)) END \
     FROM (SELECT r.value->>0 AS tenant, r.value->>1 AS id, r.value->>2 AS claim, r.value->>3 AS status, \
         r.value->>4 AS due_at, r.value->>5 AS back, r.value->>6 AS denied_since, r.value->>7 AS held, \
         EXISTS (SELECT 1 FROM subscriptions s WHERE s.tenant = r.value->>0 AND s.id = r.value->>11 AND s.active = 0) \
           AS suspended, \
         r.value->>8 AS error, r.value->>9 AS finished_at, r.value->>10 AS entry FROM json_each(?1) r LIMIT 1000) m \
     WHERE outbox.tenant = m.tenant AND outbox.id = m.id AND outbox.claim = m.claim AND outbox.status = 'pending'";

/// Keeps a token of the event collector.
pub(crate) const KEEP_TOKEN: &str = "INSERT INTO ingest_tokens (tenant, token, created_at) VALUES (?1, ?2, ?3) \
     ON CONFLICT (tenant) DO UPDATE SET token = excluded.token, created_at = excluded.created_at";

/// Forgets a token that the collector does not take.
pub(crate) const FORGET_TOKEN: &str = "DELETE FROM ingest_tokens WHERE tenant = ?1";

// The floor: what this runtime and D1 cost alone. It parses a request, runs the batches that an event service with our
// tables cannot do without, and answers. It checks nothing, decides nothing and has no trigger: nothing is safe here.

const TENANT = "t1";
const MACHINE = "wheel";
const FINGERPRINT = `sha256:${"0".repeat(64)}`;

const READS = [
  "SELECT m.head, r.effective, r.content_hash FROM machines m JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id AND r.revision = m.head WHERE m.tenant = ?1 AND m.machine_id = ?2",
  "SELECT uid, revision, state_version, next_seq, context, created_at, updated_at FROM entities WHERE tenant = ?1 AND machine_id = ?2 AND entity_id = ?3",
  "SELECT region, state, seq, entered_at, key, revision, due_at, parked FROM entries WHERE uid = ?1",
  "SELECT event_params, commit_id FROM history WHERE uid = ?1 AND identity_key = ?2",
];

const WRITES = [
  "UPDATE entities SET state_version = ?4, next_seq = ?5, context = ?6, updated_at = ?7 WHERE tenant = ?1 AND machine_id = ?2 AND entity_id = ?3",
  "UPDATE entries SET state = ?2, seq = ?3, entered_at = ?4, key = ?5 WHERE uid = ?1 AND region = '_'",
  "INSERT INTO history (uid, commit_id, revision, region, from_state, to_state, event_type, event_params, actions, timestamp, created_at, identity_key, cause) VALUES (?1, ?2, 1, '_', ?3, ?4, 'turn', ?5, '[]', ?6, ?7, ?8, '{\"via\":\"event\"}')",
  "INSERT INTO floor_effects (uid, seq, body) VALUES (?1, ?2, ?3)",
  "INSERT INTO floor_receipts (uid, key, answer) VALUES (?1, ?2, ?3)",
];

const READ_RECEIPT =
  "SELECT fingerprint, status, answer FROM inbox WHERE tenant = ?1 AND key = ?2 AND scope = ?3 AND part = -1";

// What an event with a webhook and an Idempotency-Key writes beside the first three of the above.
const TELLS = [
  "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, effect, attempt, tries, claim, claimed, due_at, created_at) VALUES (?1, ?2, ?2, 'webhook', 'pending', ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, 1, 1, 1, 1, ?10, ?11)",
  "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, answer, outcome, uid, commit_id, created_at, expires_at) VALUES (?1, ?2, ?3, -1, ?4, 200, ?5, 'applied', ?6, ?7, ?8, ?9)",
];

const TOLD =
  "UPDATE outbox SET status = 'done', finished_at = ?3, due_at = NULL, claimed = 0, attempts = ?4 WHERE tenant = ?1 AND id = ?2";

const SET_WISE = [
  "INSERT INTO entities (tenant, machine_id, entity_id, uid, revision, state_version, next_seq, context, initial_context, created_at, updated_at) SELECT r.value->>0, r.value->>1, r.value->>2, r.value->>3, 1, 1, 2, r.value->>4, r.value->>4, r.value->>5, r.value->>5 FROM json_each(?1) r WHERE true ON CONFLICT (tenant, machine_id, entity_id) DO UPDATE SET state_version = state_version + 1, next_seq = next_seq + 1, context = excluded.context, updated_at = excluded.updated_at",
  "INSERT INTO entries (uid, region, tenant, machine_id, entity_id, state, seq, entered_at, key, revision) SELECT r.value->>0, '_', r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5, r.value->>6, r.value->>7, 1 FROM json_each(?1) r WHERE true ON CONFLICT (uid, region) DO UPDATE SET state = excluded.state, seq = seq + 1, entered_at = excluded.entered_at, key = excluded.key",
  "INSERT INTO history (uid, commit_id, revision, region, from_state, to_state, event_type, event_params, actions, timestamp, created_at, identity_key, cause) SELECT r.value->>0, ?2, 1, '_', r.value->>1, r.value->>2, 'turn', r.value->>3, '[]', r.value->>4, r.value->>5, r.value->>6, '{\"via\":\"event\"}' FROM json_each(?1) r",
];

const MAKE = [
  "INSERT INTO entities (tenant, machine_id, entity_id, uid, revision, state_version, next_seq, context, initial_context, created_at, updated_at) SELECT ?1, ?2, r.value->>0, r.value->>1, 1, 1, 2, '{}', '{}', 0, 0 FROM json_each(?3) r",
  "INSERT INTO entries (uid, region, tenant, machine_id, entity_id, state, seq, entered_at, revision) SELECT r.value->>1, '_', ?1, ?2, r.value->>0, 'here', 1, 0, 1 FROM json_each(?3) r",
];

const identity = (timestamp) => `["evt","turn",${timestamp}]`;
const sides = (version) => (version % 2 === 1 ? ["here", "there"] : ["there", "here"]);

// An entity's uid is made from its id, so that one batch can read all that is its own; kept, so that it costs nothing.
// It looks as random as ours: in which order rows come to an index is a good part of what they cost.
const uids = new Map();

function uidOf(id) {
  let uid = uids.get(id);
  if (uid === undefined) {
    uid = "";
    for (let part = 0; part < 3; part += 1) {
      let hash = 2166136261 + part;
      for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 16777619);
      hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
      uid += ((hash ^ (hash >>> 13)) >>> 0).toString(16).padStart(8, "0");
    }
    uids.set(id, uid);
  }
  return uid;
}

// Makes entities, before anything is measured.
async function make(request, db) {
  const rows = (await request.json()).map((id) => [id, uidOf(id)]);
  await db.batch(MAKE.map((sql) => db.prepare(sql).bind(TENANT, MACHINE, JSON.stringify(rows))));
  return new Response("made");
}

async function event(request, db) {
  const { params, timestamp } = await request.json();
  const { id } = params;
  const uid = uidOf(id);
  const key = identity(timestamp);
  const now = Date.now();
  const [, entity] = await db.batch([
    db.prepare(READS[0]).bind(TENANT, MACHINE),
    db.prepare(READS[1]).bind(TENANT, MACHINE, id),
    db.prepare(READS[2]).bind(uid),
    db.prepare(READS[3]).bind(uid, key),
  ]);
  const { state_version: version } = entity.results[0];
  const [from, to] = sides(version);
  const text = JSON.stringify(params);
  await db.batch([
    db.prepare(WRITES[0]).bind(TENANT, MACHINE, id, version + 1, version + 2, text, now),
    db.prepare(WRITES[1]).bind(uid, to, version + 1, timestamp, key),
    db.prepare(WRITES[2]).bind(uid, "0123456789abcdef01234567", from, to, text, timestamp, now, key),
    db.prepare(WRITES[3]).bind(uid, version, "{}"),
    db.prepare(WRITES[4]).bind(uid, key, to),
  ]);
  return Response.json({
    entity_id: id,
    previous_state: from,
    current_state: to,
    transition: `${from} → ${to}`,
    timestamp,
    triggered_by: "turn",
    actions: [],
    state_version: version + 1,
  });
}

// An event that tells the sink, and its receipt. The sink is told after the answer.
async function telling(request, env, context) {
  const { DB: db, SINK: sink } = env;
  const { params, timestamp } = await request.json();
  const { id } = params;
  const uid = uidOf(id);
  const key = identity(timestamp);
  const once = request.headers.get("idempotency-key");
  const scope = "POST /telling";
  const now = Date.now();
  const [, entity] = await db.batch([
    db.prepare(READS[0]).bind(TENANT, MACHINE),
    db.prepare(READS[1]).bind(TENANT, MACHINE, id),
    db.prepare(READS[2]).bind(uid),
    db.prepare(READS[3]).bind(uid, key),
    db.prepare(READ_RECEIPT).bind(TENANT, once, scope),
  ]);
  const { state_version: version } = entity.results[0];
  const [from, to] = sides(version);
  const text = JSON.stringify(params);
  const commit = "0123456789abcdef";
  const effect = `${now.toString(32).padStart(9, "0")}${id}${version}`;
  const body = JSON.stringify({
    tenant_id: TENANT,
    machine_id: MACHINE,
    entity_id: id,
    from_state: from,
    to_state: to,
  });
  const answer = {
    entity_id: id,
    previous_state: from,
    current_state: to,
    transition: `${from} → ${to}`,
    timestamp,
    triggered_by: "turn",
    actions_dispatched: [{ action_type: "webhook", url: sink, state: to }],
    state_version: version + 1,
  };
  await db.batch([
    db.prepare(WRITES[0]).bind(TENANT, MACHINE, id, version + 1, version + 2, text, now),
    db.prepare(WRITES[1]).bind(uid, to, version + 1, timestamp, key),
    db.prepare(WRITES[2]).bind(uid, commit, from, to, text, timestamp, now, key),
    db
      .prepare(TELLS[0])
      .bind(
        TENANT,
        effect,
        `${uid}:${sink}`,
        version + 1,
        `${TENANT}\n${sink}`,
        sink,
        MACHINE,
        id,
        body,
        now + 300_000,
        now,
      ),
    db
      .prepare(TELLS[1])
      .bind(TENANT, once, scope, FINGERPRINT, JSON.stringify(answer), uid, commit, now, now + 604_800_000),
  ]);
  context.waitUntil(tell(db, sink, effect, body));
  return Response.json(answer);
}

async function tell(db, sink, effect, body) {
  const began = Date.now();
  const { status } = await fetch(sink, {
    method: "POST",
    headers: { "content-type": "application/json", "webhook-id": effect },
    body,
  });
  const now = Date.now();
  const attempts = JSON.stringify([{ attempt: 1, at: began, ms: now - began, status }]);
  await db.prepare(TOLD).bind(TENANT, effect, now, attempts).run();
}

async function batch(request, db) {
  const { events } = await request.json();
  const now = Date.now();
  const entities = [];
  const entries = [];
  const history = [];
  const [from, to] = sides(events[0].timestamp);
  for (const { params, timestamp } of events) {
    const { id } = params;
    const uid = uidOf(id);
    const key = identity(timestamp);
    const text = JSON.stringify(params);
    entities.push([TENANT, MACHINE, id, uid, text, now]);
    entries.push([uid, TENANT, MACHINE, id, to, 1, timestamp, key]);
    history.push([uid, from, to, text, timestamp, now, key]);
  }
  await db.batch([
    db.prepare(SET_WISE[0]).bind(JSON.stringify(entities)),
    db.prepare(SET_WISE[1]).bind(JSON.stringify(entries)),
    db.prepare(SET_WISE[2]).bind(JSON.stringify(history), "0123456789abcdef01234567"),
  ]);
  return Response.json({ total: events.length, succeeded: events.length, failed: 0 });
}

export default {
  async fetch(request, env, context) {
    if (request.url.endsWith("/telling")) return telling(request, env, context);
    if (request.url.endsWith("/make")) return make(request, env.DB);
    return request.url.endsWith("/batch") ? batch(request, env.DB) : event(request, env.DB);
  },
};

-- Statewright, schema version 3: effects, state records and ways in. Statements are separated by blank lines; none is changed once released.

-- One row for each effect, written in its transition's own batch. `id` sorts by time. A lane is one incarnation of an
-- entity or a record, and one sink; in it, rows go by `version` and `place`, and only its first pending one is due:
-- `due_at` is null for the others. Of a claimed row it is the end of its lease. What is long stands last. `attempt` is what the receiver is told,
-- `tries` is counted since the last redrive, `claim` fences. Deliveries are shared between tenants; what
-- goes to the same `sink` is spared where that does not answer.
CREATE TABLE outbox (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('webhook', 'event', 'transition', 'presentation')),
  status TEXT NOT NULL CHECK (status IN ('pending', 'done', 'skipped', 'dead', 'cancelled')),
  lane TEXT NOT NULL,
  version INTEGER NOT NULL,
  place INTEGER NOT NULL,
  sink TEXT NOT NULL,
  target TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  subscription TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  claim INTEGER NOT NULL DEFAULT 0,
  claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
  due_at INTEGER,
  denied_since INTEGER,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  error TEXT,
  attempts TEXT NOT NULL DEFAULT '[]',
  effect TEXT NOT NULL,
  PRIMARY KEY (tenant, id),
  CHECK ((finished_at IS NULL) = (status = 'pending')),
  CHECK (due_at IS NULL OR status = 'pending')
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_lanes ON outbox (tenant, lane, version, place) WHERE status = 'pending';

CREATE INDEX outbox_due ON outbox (tenant, due_at) WHERE due_at IS NOT NULL;

CREATE INDEX outbox_closed ON outbox (tenant, status, id) WHERE status IN ('dead', 'skipped', 'cancelled');

CREATE INDEX outbox_held ON outbox (tenant, subscription) WHERE held = 1;

-- Whatever ends the row that is a lane's turn lets the next one go; one that waited behind it does not.
CREATE TRIGGER outbox_next AFTER UPDATE OF status ON outbox
WHEN OLD.status = 'pending' AND NEW.status <> 'pending' AND OLD.due_at IS NOT NULL
BEGIN
  UPDATE outbox SET due_at = NEW.finished_at
  WHERE tenant = NEW.tenant AND id = (
    SELECT n.id FROM outbox n INDEXED BY outbox_lanes WHERE n.tenant = NEW.tenant AND n.lane = NEW.lane AND n.status = 'pending'
    ORDER BY n.version, n.place LIMIT 1
  ) AND due_at IS NULL AND held = 0;
END;

-- Who is told of transitions.
CREATE TABLE subscriptions (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('records', 'machines')),
  machine TEXT,
  from_state TEXT,
  to_state TEXT,
  event TEXT,
  sink TEXT NOT NULL CHECK (json_valid(sink)),
  active INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What became of requests with an Idempotency-Key, of webhooks by their delivery ids, and of effects that send events.
-- `part` is -1 for the whole request, and the place of an event in a batch. `status` is the HTTP status of the answer, 0
-- while a batch is under way: until `expires_at` nobody else runs it.
CREATE TABLE inbox (
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  scope TEXT NOT NULL,
  part INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  answer TEXT,
  numbers TEXT,
  outcome TEXT NOT NULL,
  uid TEXT,
  commit_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, key, scope, part)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_by_expiry ON inbox (expires_at);

CREATE INDEX inbox_by_entity ON inbox (uid) WHERE uid IS NOT NULL;

-- State records: the small primitive without definitions.
CREATE TABLE records (
  tenant TEXT NOT NULL,
  machine TEXT NOT NULL,
  id TEXT NOT NULL,
  uid TEXT NOT NULL,
  state TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  data TEXT NOT NULL CHECK (json_valid(data)),
  commit_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, machine, id)
) STRICT, WITHOUT ROWID;

-- Sealed values; `previous` is the one before, live until the next rotation.
CREATE TABLE secrets (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  current TEXT NOT NULL,
  previous TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  rotated_at INTEGER,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  source TEXT NOT NULL CHECK (json_valid(source)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE source_counts (
  tenant TEXT NOT NULL,
  source TEXT NOT NULL,
  outcome TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, source, outcome)
) STRICT, WITHOUT ROWID;

-- Tokens of the operator's event collector, by tenant.
CREATE TABLE ingest_tokens (
  tenant TEXT NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO schema_version (version) VALUES (3);

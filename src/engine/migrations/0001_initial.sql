-- Statewright, schema version 1. Statements are separated by blank lines; none is changed once released.

CREATE TABLE schema_version (
  version INTEGER PRIMARY KEY
) STRICT;

-- A machine keeps its row when it is deleted, so that its revision numbers are never used again.
CREATE TABLE machines (
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  head INTEGER NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, machine_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX machines_by_creation ON machines (tenant, created_at, machine_id) WHERE deleted = 0;

-- `effective` is the revision that entities of this one run by: itself, or the one that superseded it.
CREATE TABLE revisions (
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  effective INTEGER NOT NULL,
  supersedes INTEGER,
  content_hash TEXT NOT NULL,
  label TEXT,
  definition TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, machine_id, revision)
) STRICT;

-- `uid` names one incarnation: an entity that is deleted and made again has another.
CREATE TABLE entities (
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  uid TEXT NOT NULL,
  revision INTEGER NOT NULL,
  state_version INTEGER NOT NULL CHECK (state_version >= 1),
  next_seq INTEGER NOT NULL,
  context TEXT NOT NULL,
  initial_context TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, machine_id, entity_id)
) STRICT;

CREATE INDEX entities_by_update ON entities (tenant, machine_id, updated_at, entity_id);

-- One row for each region of a live entity. `due_at` is when its timer is due under `revision`; `wake_at` is when the
-- scanner looks at it: the same, later after a failure (of which `error` is the last), never while the timer is parked.
CREATE TABLE entries (
  uid TEXT NOT NULL,
  region TEXT NOT NULL,
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  entered_at INTEGER NOT NULL,
  key TEXT,
  revision INTEGER NOT NULL,
  due_at INTEGER,
  wake_at INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  parked TEXT,
  PRIMARY KEY (uid, region)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_by_state ON entries (tenant, machine_id, region, state, entity_id);

CREATE INDEX entries_by_wake ON entries (wake_at, tenant) WHERE wake_at IS NOT NULL;

CREATE INDEX entries_by_tenant_wake ON entries (tenant, wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX entries_troubled ON entries (tenant, machine_id, entity_id, region)
WHERE parked IS NOT NULL OR failures > 0;

CREATE TABLE history (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL,
  commit_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  region TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  event_type TEXT NOT NULL,
  event_params TEXT NOT NULL,
  actions TEXT NOT NULL,
  timestamp INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  identity_key TEXT NOT NULL,
  cause TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX history_by_identity ON history (uid, identity_key);

CREATE INDEX history_by_time ON history (uid, timestamp);

-- Machines whose stored due times are to be worked out anew after a revision superseded another.
CREATE TABLE rearms (
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  after_entity TEXT NOT NULL,
  PRIMARY KEY (tenant, machine_id, revision)
) STRICT, WITHOUT ROWID;

-- The trees of one set-wise commit that nothing has changed since they were read. Never survives its batch.
CREATE TABLE held (
  commit_id TEXT PRIMARY KEY,
  trees TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The report of the scanner's last pass.
CREATE TABLE scheduler (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  report TEXT NOT NULL
) STRICT;

-- Never holds a row: inserting one aborts its batch.
CREATE TABLE violations (
  violated TEXT NOT NULL
) STRICT;

CREATE TRIGGER violations_abort BEFORE INSERT ON violations
BEGIN
  SELECT RAISE(ABORT, 'statewright: what this batch was decided on does not hold any more');
END;

-- Entities are written by upsert only, and BEFORE INSERT fires on upserts too: a write of a later version finds its
-- row, or the entity is gone.
CREATE TRIGGER entities_gone BEFORE INSERT ON entities
WHEN NEW.state_version <> 1 AND NOT EXISTS (
  SELECT 1 FROM entities e
  WHERE e.tenant = NEW.tenant AND e.machine_id = NEW.machine_id AND e.entity_id = NEW.entity_id
)
BEGIN
  SELECT RAISE(ABORT, 'statewright: the entity is gone');
END;

-- Its revision is in force, and a new entity's is the head of a machine that exists.
CREATE TRIGGER entities_revision BEFORE INSERT ON entities
WHEN NOT EXISTS (
  SELECT 1 FROM revisions r
  WHERE r.tenant = NEW.tenant AND r.machine_id = NEW.machine_id
    AND r.revision = NEW.revision AND r.effective = NEW.revision
) OR (NEW.state_version = 1 AND NOT EXISTS (
  SELECT 1 FROM machines m
  WHERE m.tenant = NEW.tenant AND m.machine_id = NEW.machine_id AND m.head = NEW.revision AND m.deleted = 0
))
BEGIN
  SELECT RAISE(ABORT, 'statewright: the revision moved');
END;

-- One more than the stored version, of the same incarnation.
CREATE TRIGGER entities_moved BEFORE UPDATE ON entities
WHEN NEW.uid <> OLD.uid OR NEW.state_version <> OLD.state_version + 1
BEGIN
  SELECT RAISE(ABORT, 'statewright: the entity moved');
END;

-- Entry instances only grow.
CREATE TRIGGER entries_moved BEFORE UPDATE OF seq ON entries
WHEN NEW.seq <= OLD.seq
BEGIN
  SELECT RAISE(ABORT, 'statewright: the entry moved');
END;

INSERT INTO schema_version (version) VALUES (1);

-- Statewright, schema version 2: child machines. Statements are separated by blank lines; none is changed once released.

-- One row for each incarnation of a child: where it hangs in its tree, and whether it lives. `root_uid` names the tree:
-- the topmost ancestor, legacy links included. `current` marks what an event of the tree has to know: the live ones, the
-- latest child of each compound state of a live entity, and what can wake. `cancelled_with` is the child whose cancel
-- ended it, where that can wake again. It belonged to the entries from `first_seq` to `seq`: each time it wakes to
-- another. `depth` and `path` count managed levels (S2.182, S2.209).
CREATE TABLE instances (
  uid TEXT NOT NULL PRIMARY KEY,
  tenant TEXT NOT NULL,
  machine_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  root_uid TEXT NOT NULL,
  root_machine TEXT NOT NULL,
  root_entity TEXT NOT NULL,
  parent_uid TEXT NOT NULL,
  parent_machine TEXT NOT NULL,
  parent_entity TEXT NOT NULL,
  region TEXT NOT NULL,
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('managed', 'legacy')),
  status TEXT NOT NULL CHECK (status IN ('active', 'completed', 'cancelled')),
  depth INTEGER NOT NULL CHECK (depth >= 0),
  path TEXT NOT NULL CHECK (json_valid(path)),
  started INTEGER NOT NULL,
  ended INTEGER,
  current INTEGER NOT NULL CHECK (current IN (0, 1)),
  cancelled_with TEXT,
  CHECK ((ended IS NULL) = (status = 'active'))
) STRICT, WITHOUT ROWID;

CREATE INDEX instances_by_root ON instances (root_uid, current, parent_uid, state);

-- What a legacy child handled is remembered where it was sent (M11): the identity, and the entity whose history has it.
CREATE TABLE forwards (
  uid TEXT NOT NULL,
  identity_key TEXT NOT NULL,
  to_uid TEXT NOT NULL,
  PRIMARY KEY (uid, identity_key)
) STRICT, WITHOUT ROWID;

-- A child exists, and hangs below an entity that exists, in that entity's tree; a live one below one that lives.
CREATE TRIGGER instances_parent BEFORE INSERT ON instances
WHEN NOT EXISTS (
  SELECT 1 FROM entities e
  WHERE e.tenant = NEW.tenant AND e.machine_id = NEW.machine_id AND e.entity_id = NEW.entity_id AND e.uid = NEW.uid
) OR NOT EXISTS (
  SELECT 1 FROM entities e
  WHERE e.tenant = NEW.tenant AND e.machine_id = NEW.parent_machine AND e.entity_id = NEW.parent_entity
    AND e.uid = NEW.parent_uid
) OR coalesce((SELECT p.root_uid FROM instances p WHERE p.uid = NEW.parent_uid), NEW.parent_uid) <> NEW.root_uid
OR (NEW.status = 'active' AND EXISTS (
  SELECT 1 FROM instances p WHERE p.uid = NEW.parent_uid AND p.status <> 'active'
))
BEGIN
  SELECT RAISE(ABORT, 'statewright: the parent moved');
END;

-- Nothing lives below a child that ends: what a writer at the same time hung there was not seen.
CREATE TRIGGER instances_ended BEFORE UPDATE OF status ON instances
WHEN NEW.status <> 'active' AND OLD.status = 'active' AND EXISTS (
  SELECT 1 FROM instances c
  WHERE c.root_uid = NEW.root_uid AND c.current = 1 AND c.parent_uid = NEW.uid AND c.status = 'active'
)
BEGIN
  SELECT RAISE(ABORT, 'statewright: a child was made meanwhile');
END;

-- The machines that the definition names as children: a sorted JSON array, by which what a machine reaches is found.
ALTER TABLE revisions ADD COLUMN refers TEXT NOT NULL DEFAULT '[]';

INSERT INTO schema_version (version) VALUES (2);

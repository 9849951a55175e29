//! Definitions on their way in: read, checked against the live entities, and stored as revisions (S2.39, S2.50, S2.51,
//! M15, design 6).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use statewright_core::definition::{Definition, FLAT_REGION, MAX_DEFINITION_BYTES, SERVER_KEYS, Valid};
use statewright_core::fault::Fault;
use statewright_core::ids::{MachineId, Millis, Revision, TenantId};
use statewright_core::machine::Machine;

use crate::Engine;
use crate::cache::content_hash;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::error::{Error, LiveState};
use crate::load::{decode, rows_of};
use crate::machines::{StoredRevision, machine_view, raw};
use crate::request;
use crate::retry::Tries;
use crate::views::{MachineView, ValidationView};

/// A machine's row, deleted or not, and the definition of its head.
pub(crate) const MACHINE: &str = "SELECT json_array(m.head, m.deleted, m.created_at, r.definition) FROM machines m \
     LEFT JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id AND r.revision = m.head \
     WHERE m.tenant = ?1 AND m.machine_id = ?2";

/// The revision that this request's commit made, if it did: one of ?4, a JSON array of those that it tried to make.
pub(crate) const MADE_BY: &str = "SELECT json_array(r.revision, r.created_at, m.created_at) \
     FROM json_each(?4) t CROSS JOIN machines m ON m.tenant = ?1 AND m.machine_id = ?2 \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = t.value \
     WHERE r.commit_id = ?3";

/// Aborts unless the machine is as it was read: missing (?3 null), or with that head and that deleted mark.
pub(crate) const HEAD_STANDS: &str = "INSERT INTO violations (violated) SELECT 'head' WHERE NOT (CASE WHEN ?3 IS NULL \
       THEN NOT EXISTS (SELECT 1 FROM machines WHERE tenant = ?1 AND machine_id = ?2) \
       ELSE EXISTS (SELECT 1 FROM machines WHERE tenant = ?1 AND machine_id = ?2 AND head = ?3 AND deleted = ?4) END)";

/// Writes a machine's row: its new head.
pub(crate) const WRITE_MACHINE: &str = "INSERT INTO machines (tenant, machine_id, head, deleted, created_at, updated_at) \
     VALUES (?1, ?2, ?3, 0, ?4, ?4) ON CONFLICT (tenant, machine_id) DO UPDATE SET head = excluded.head, \
       created_at = CASE WHEN deleted = 1 THEN excluded.created_at ELSE created_at END, deleted = 0, \
       updated_at = excluded.updated_at";

/// Writes a revision.
pub(crate) const WRITE_REVISION: &str = "INSERT INTO revisions (tenant, machine_id, revision, effective, supersedes, \
       content_hash, label, definition, commit_id, created_at) VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// Hands the entities of a superseded revision over.
pub(crate) const SUPERSEDE: &str =
    "UPDATE revisions SET effective = ?3 WHERE tenant = ?1 AND machine_id = ?2 AND effective = ?4";

/// Asks the scanner to work out due times anew.
pub(crate) const REARM: &str = "INSERT INTO rearms (tenant, machine_id, revision, after_entity) \
     SELECT ?1, ?2, ?3, '' WHERE EXISTS (SELECT 1 FROM entities WHERE tenant = ?1 AND machine_id = ?2)";

/// Live entities that run by revision ?4 in the states of ?3, a JSON array of [region, state].
pub(crate) const LIVE_IN: &str = "SELECT json_array(region, state, entities) FROM ( \
       SELECT p.value->>0 AS region, p.value->>1 AS state, (SELECT count(*) FROM ( \
         SELECT 1 FROM entries n \
         CROSS JOIN entities e ON e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = n.entity_id AND e.uid = n.uid \
         CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?4 \
         WHERE n.tenant = ?1 AND n.machine_id = ?2 AND n.region = p.value->>0 AND n.state = p.value->>1 \
         LIMIT 1000)) AS entities FROM json_each(?3) p) WHERE entities > 0";

/// Live entities that run by revision ?3, up to 1,000.
pub(crate) const LIVE: &str = "SELECT json_array(count(*)) FROM (SELECT 1 FROM entities e \
       CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?3 \
       WHERE e.tenant = ?1 AND e.machine_id = ?2 LIMIT 1000)";

/// Aborts where an entity that runs by revision ?4 is in one of the states of ?3.
pub(crate) const NONE_LIVE_IN: &str = "INSERT INTO violations (violated) SELECT 'live state' FROM json_each(?3) p \
     CROSS JOIN entries n ON n.tenant = ?1 AND n.machine_id = ?2 AND n.region = p.value->>0 AND n.state = p.value->>1 \
     CROSS JOIN entities e ON e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = n.entity_id AND e.uid = n.uid \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?4 \
     LIMIT 1";

/// Aborts where an entity runs by revision ?3.
pub(crate) const NONE_LIVE: &str = "INSERT INTO violations (violated) SELECT 'live entity' FROM entities e \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?3 \
     WHERE e.tenant = ?1 AND e.machine_id = ?2 LIMIT 1";

/// What becomes of the entities of a revision that is replaced (design 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InFlight {
    Follow,
    Pin,
}

/// A definition that was read from a body.
struct Read {
    valid: Valid,
    text: String,
    hash: String,
}

struct Known {
    head: u64,
    deleted: u8,
    created_at: Millis,
    definition: Option<String>,
}

impl Read {
    /// What it is once it is stored.
    fn made(
        &self,
        tenant: &TenantId,
        revision: u64,
        created_at: Millis,
        machine_created_at: Millis,
    ) -> Result<MachineView, Error> {
        let stored = StoredRevision {
            revision: Revision(revision),
            content_hash: self.hash.clone(),
            definition: raw(self.text.clone())?,
            created_at,
            machine_created_at,
        };
        machine_view(tenant, stored, self.valid.warnings.clone())
    }
}

impl<D: Database, C: Clock, R: Random> Engine<D, C, R> {
    /// Makes a machine; only where there is none (S2.50).
    ///
    /// # Errors
    /// The definition has faults, or there is such a machine.
    pub async fn create_machine(&self, tenant: &TenantId, body: &[u8]) -> Result<MachineView, Error> {
        let read = read_definition(body, None)?;
        self.write_revision(tenant, &read, None).await
    }

    /// Adds a revision to a machine (S2.51, M15). `in_flight` says what becomes of live entities: `follow`, the
    /// default, or `pin`.
    ///
    /// # Errors
    /// The definition has faults, there is no such machine, or live entities are in states that the new revision
    /// does not have.
    pub async fn put_machine(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        body: &[u8],
        in_flight: Option<&str>,
    ) -> Result<MachineView, Error> {
        let id = request::machine_id(machine_id)?;
        let in_flight = match in_flight {
            None | Some("follow") => InFlight::Follow,
            Some("pin") => InFlight::Pin,
            Some(_) => {
                return Err(Error::invalid(
                    "in_flight",
                    "it is no way to go on",
                    "`follow` or `pin`",
                ));
            }
        };
        let read = read_definition(body, Some(&id))?;
        if read.valid.definition.machine_id != id.as_str() {
            return Err(Error::invalid(
                "$.machine_id",
                format!(
                    "`{}` is not the machine of the path",
                    read.valid.definition.machine_id
                ),
                format!("`{id}`"),
            ));
        }
        self.write_revision(tenant, &read, Some(in_flight)).await
    }

    /// `in_flight` is `None` for a creation.
    async fn write_revision(
        &self,
        tenant: &TenantId,
        read: &Read,
        in_flight: Option<InFlight>,
    ) -> Result<MachineView, Error> {
        let machine_id = request::machine_id(&read.valid.definition.machine_id)?;
        let commit_id = random_name(&self.random);
        let mut tries = Tries::begin(&self.clock);
        // The revisions that earlier tries of unknown end were to make.
        let mut tried: Vec<u64> = Vec::new();
        loop {
            let ids: [Param; 2] = [tenant.as_str().into(), machine_id.as_str().into()];
            let [a, b] = ids.clone();
            let batch = vec![
                Statement::new(MACHINE, ids),
                Statement::new(
                    MADE_BY,
                    [a, b, commit_id.as_str().into(), json!(tried).to_string().into()],
                ),
            ];
            let results = match self.read(batch).await {
                Ok(results) => results,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if let Some(made) = rows_of(&results, 1).first() {
                // An earlier try of this request was applied after all.
                let (revision, created, machine_created): (u64, i64, i64) = decode(made)?;
                return read.made(tenant, revision, Millis(created), Millis(machine_created));
            }
            let known = match rows_of(&results, 0).first() {
                None => None,
                Some(row) => {
                    let (head, deleted, created_at, definition): (u64, u8, i64, Option<String>) =
                        decode(row)?;
                    Some(Known {
                        head,
                        deleted,
                        created_at: Millis(created_at),
                        definition,
                    })
                }
            };
            let live = known.as_ref().filter(|known| known.deleted == 0);
            match (live.is_some(), in_flight) {
                (true, None) => return Err(Error::MachineExists(machine_id.to_string())),
                (false, Some(_)) => return Err(Error::NoMachine(machine_id.to_string())),
                _ => {}
            }
            let now = self.clock.now();
            let created_at = live.map_or(now, |live| live.created_at);
            let revision = known.as_ref().map_or(0, |known| known.head).saturating_add(1);
            let batch = self
                .revision_batch(
                    tenant,
                    &machine_id,
                    read,
                    in_flight,
                    known.as_ref(),
                    (&commit_id, now),
                )
                .await;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            match self.database.batch(batch).await {
                // Nothing is read again: a read that fails would hide that it was written, and may find another's.
                Ok(_) => return read.made(tenant, revision, now, created_at),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried.push(revision);
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    async fn revision_batch(
        &self,
        tenant: &TenantId,
        machine_id: &MachineId,
        read: &Read,
        in_flight: Option<InFlight>,
        known: Option<&Known>,
        (commit_id, now): (&str, Millis),
    ) -> Result<Vec<Statement>, Error> {
        let (tenant_id, machine) = (
            || Param::from(tenant.as_str()),
            || Param::from(machine_id.as_str()),
        );
        let integer = |number: u64| Param::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let head = known.map(|known| known.head);
        let deleted = known.map_or(0, |known| known.deleted);
        let revision = head.unwrap_or(0).saturating_add(1);
        let mut batch = vec![Statement::new(
            HEAD_STANDS,
            [
                tenant_id(),
                machine(),
                head.map_or(Param::Null, integer),
                i64::from(deleted).into(),
            ],
        )];
        let supersedes = head.filter(|_| in_flight == Some(InFlight::Follow));
        if let (Some(head), Some(old)) = (supersedes, known.and_then(|known| known.definition.as_deref())) {
            let lost = lost(old, &read.valid);
            let live = self.live(tenant, machine_id, head, &lost).await?;
            if !live.is_empty() {
                return Err(Error::LiveStates {
                    machine: machine_id.to_string(),
                    live,
                });
            }
            if !lost.states.is_empty() {
                let states = json!(lost.states).to_string();
                batch.push(Statement::new(
                    NONE_LIVE_IN,
                    [tenant_id(), machine(), states.into(), integer(head)],
                ));
            }
            if !lost.added.is_empty() {
                batch.push(Statement::new(NONE_LIVE, [tenant_id(), machine(), integer(head)]));
            }
        }
        let label = read.valid.definition.label.as_deref();
        batch.push(Statement::new(
            WRITE_REVISION,
            [
                tenant_id(),
                machine(),
                integer(revision),
                supersedes.map_or(Param::Null, integer),
                read.hash.as_str().into(),
                label.map_or(Param::Null, Param::from),
                read.text.as_str().into(),
                commit_id.into(),
                now.into(),
            ],
        ));
        if let Some(head) = supersedes {
            batch.push(Statement::new(
                SUPERSEDE,
                [tenant_id(), machine(), integer(revision), integer(head)],
            ));
            batch.push(Statement::new(REARM, [tenant_id(), machine(), integer(revision)]));
        }
        batch.push(Statement::new(
            WRITE_MACHINE,
            [tenant_id(), machine(), integer(revision), now.into()],
        ));
        Ok(batch)
    }

    /// The live entities for which a new revision has no place.
    async fn live(
        &self,
        tenant: &TenantId,
        machine_id: &MachineId,
        head: u64,
        lost: &Lost,
    ) -> Result<Vec<LiveState>, Error> {
        if lost.states.is_empty() && lost.added.is_empty() {
            return Ok(Vec::new());
        }
        let head = Param::Integer(i64::try_from(head).unwrap_or(i64::MAX));
        let (tenant, machine) = (
            || Param::from(tenant.as_str()),
            || Param::from(machine_id.as_str()),
        );
        let states = json!(lost.states).to_string();
        let batch = vec![
            Statement::new(LIVE_IN, [tenant(), machine(), states.into(), head.clone()]),
            Statement::new(LIVE, [tenant(), machine(), head]),
        ];
        let results = self.read(batch).await?;
        let mut live = Vec::new();
        for row in rows_of(&results, 0) {
            let (region, state, entities): (String, String, u64) = decode(row)?;
            live.push(LiveState {
                region,
                state: Some(state),
                entities,
            });
        }
        let (entities,) = match rows_of(&results, 1).first() {
            Some(row) => decode::<(u64,)>(row)?,
            None => (0,),
        };
        if entities > 0 {
            let added = lost.added.iter().cloned();
            live.extend(added.map(|region| LiveState {
                region,
                state: None,
                entities,
            }));
        }
        Ok(live)
    }

    /// Checks a definition without storing it.
    ///
    /// # Errors
    /// The body is no JSON or larger than a definition may be. Faults are no error here: the answer lists them.
    pub fn validate(&self, body: &[u8]) -> Result<ValidationView, Error> {
        match read_definition(body, None) {
            Ok(read) => Ok(ValidationView {
                valid: true,
                faults: Vec::new(),
                warnings: read.valid.warnings,
            }),
            Err(Error::InvalidDefinition(faults)) => Ok(ValidationView {
                valid: false,
                faults,
                warnings: Vec::new(),
            }),
            Err(other) => Err(other),
        }
    }
}

/// Reads and checks a definition, and makes the text under which it is stored: its own keys, sorted, with the
/// machine's id where the path alone names it.
fn read_definition(body: &[u8], of_path: Option<&MachineId>) -> Result<Read, Error> {
    let document = request::document(body)?;
    let own = match document {
        Value::Object(mut object) => {
            object.retain(|key, _| !SERVER_KEYS.contains(&key.as_str()));
            if let Some(id) = of_path.filter(|_| !object.contains_key("machine_id")) {
                object.insert("machine_id".to_owned(), json!(id));
            }
            Value::Object(object)
        }
        other => other,
    };
    let text = own.to_string();
    if text.len() > MAX_DEFINITION_BYTES {
        return Err(Error::TooLarge {
            what: "the definition",
            bytes: text.len(),
            most: MAX_DEFINITION_BYTES,
        });
    }
    let valid = Definition::read(&own).map_err(Error::InvalidDefinition)?;
    let faults = unsupported(&valid.definition);
    if !faults.is_empty() {
        return Err(Error::InvalidDefinition(faults));
    }
    // What was read compiles; were it not so, the definition would be refused here and not at its first event.
    Machine::compile(&valid)
        .map_err(|error| Error::invalid("$", error.to_string(), "names that are defined"))?;
    let hash = content_hash(&text);
    Ok(Read { valid, text, hash })
}

/// What a definition may say and this version does not carry out: it is refused rather than ignored.
fn unsupported(definition: &Definition) -> Vec<Fault> {
    let fault = |path: String| Fault {
        path,
        problem: "child machines are not supported by this version".to_owned(),
        expected: "no `sub_machines`".to_owned(),
    };
    let mut faults = Vec::new();
    if definition
        .sub_machines
        .as_ref()
        .is_some_and(|subs| !subs.is_empty())
    {
        faults.push(fault("$.sub_machines".to_owned()));
    }
    for (index, region) in definition.regions.iter().flatten().enumerate() {
        if region.sub_machines.as_ref().is_some_and(|subs| !subs.is_empty()) {
            faults.push(fault(format!("$.regions[{index}].sub_machines")));
        }
    }
    faults
}

/// What a new revision takes from the entities of the old one.
struct Lost {
    /// Region and state, for each state that is no more.
    states: Vec<(String, String)>,
    /// Regions in which they would have no entry.
    added: Vec<String>,
}

fn lost(old: &str, new: &Valid) -> Lost {
    let old: Map<String, Value> = serde_json::from_str(old).unwrap_or_default();
    let old = Definition::read(&Value::Object(old))
        .map(|valid| places(&valid.definition))
        .unwrap_or_default();
    let new = places(&new.definition);
    let regions = |places: &BTreeSet<(String, String)>| -> BTreeSet<String> {
        places.iter().map(|(region, _)| region.clone()).collect()
    };
    Lost {
        states: old.difference(&new).cloned().collect(),
        added: regions(&new).difference(&regions(&old)).cloned().collect(),
    }
}

fn places(definition: &Definition) -> BTreeSet<(String, String)> {
    let flat = definition
        .states
        .iter()
        .flatten()
        .map(|state| (FLAT_REGION.to_owned(), state.clone()));
    let parallel = definition.regions.iter().flatten();
    let parallel = parallel.flat_map(|region| {
        region
            .states
            .iter()
            .map(|state| (region.id.clone(), state.clone()))
    });
    flat.chain(parallel).collect()
}

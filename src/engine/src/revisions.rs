//! Definitions on their way in: read, checked against the machines that they name and against the live entities, and
//! stored as revisions (S2.39, S2.46 to S2.51, M15, design 6).

use serde_json::{Value, json};
use statewright_core::address::AllowList;
use statewright_core::definition::{Definition, Valid};
use statewright_core::error::Error as Core;
use statewright_core::family::{self, Family};
use statewright_core::fault::Warning;
use statewright_core::ids::{MachineId, Millis, Revision, TenantId};
use statewright_core::machine::Machine;

use crate::Engine;
use crate::cache::content_hash;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::error::Error;
use crate::in_flight::Lost;
use crate::load::{decode, rows_of};
use crate::machines::{StoredRevision, machine_view, raw};
use crate::once::Receipt;
use crate::outbound::Outbound;
use crate::request;
use crate::retry::Tries;
use crate::views::{MachineView, ValidationView};

/// A machine's row, deleted or not, and the definition of its head.
pub(crate) const MACHINE: &str = "SELECT json_array(m.head, m.deleted, m.created_at, r.definition) FROM machines m \
     LEFT JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id AND r.revision = m.head \
     WHERE m.tenant = ?1 AND m.machine_id = ?2";

/// The heads that a definition reaches by the machines that it names (?2), and these by theirs: of those that it names
/// itself the definition, of the others their managed children; nothing where these come to more than ?4 bytes before.
/// The head of its own machine (?3) is what it replaces, and leads nowhere.
pub(crate) const FAMILY: &str = "SELECT json_array(f.before + f.bytes, f.machine_id, \
       CASE WHEN f.named AND f.before < ?4 THEN r.definition END, \
       json(CASE WHEN f.named OR r.refers = '[]' OR f.before >= ?4 THEN '[]' ELSE ( \
         SELECT json_group_array(s.value ->> 'machine_id') FROM ( \
           SELECT s.value FROM json_each(r.definition, '$.sub_machines') s \
           UNION ALL SELECT s.value FROM json_each(r.definition, '$.regions') g \
             CROSS JOIN json_each(g.value, '$.sub_machines') s) s \
         WHERE s.value ->> 'lifecycle' = 'managed') END)) \
     FROM (SELECT machine_id, head, named, bytes, \
         sum(bytes) OVER (ORDER BY machine_id ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (WITH RECURSIVE reached (machine_id) AS ( \
           SELECT value FROM json_each(?2) \
           UNION SELECT n.value FROM reached \
             CROSS JOIN machines m ON m.tenant = ?1 AND m.machine_id = reached.machine_id AND m.deleted = 0 \
             CROSS JOIN revisions v ON v.tenant = ?1 AND v.machine_id = m.machine_id AND v.revision = m.head \
             CROSS JOIN json_each(v.refers) n WHERE reached.machine_id <> ?3) \
         SELECT machine_id, head, named, \
           CASE WHEN named THEN octet_length(definition) ELSE octet_length(refers) END + 100 AS bytes \
         FROM (SELECT m.machine_id, m.head, m.machine_id IN (SELECT value FROM json_each(?2)) AS named, v.definition, \
             v.refers \
           FROM reached CROSS JOIN machines m ON m.tenant = ?1 AND m.machine_id = reached.machine_id AND m.deleted = 0 \
           CROSS JOIN revisions v ON v.tenant = ?1 AND v.machine_id = m.machine_id AND v.revision = m.head \
           WHERE reached.machine_id <> ?3))) f \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = f.machine_id AND r.revision = f.head";

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
       content_hash, label, definition, commit_id, created_at, refers) \
     VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

/// Hands the entities of a superseded revision over.
pub(crate) const SUPERSEDE: &str =
    "UPDATE revisions SET effective = ?3 WHERE tenant = ?1 AND machine_id = ?2 AND effective = ?4";

/// Asks the scanner to work out due times anew.
pub(crate) const REARM: &str = "INSERT INTO rearms (tenant, machine_id, revision, after_entity) \
     SELECT ?1, ?2, ?3, '' WHERE EXISTS (SELECT 1 FROM entities WHERE tenant = ?1 AND machine_id = ?2)";

/// About the most bytes of the definitions that one is checked against.
const MAX_FAMILY_BYTES: usize = 16 * 1024 * 1024;

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
    /// The machines that it names as children: a JSON array, sorted.
    refers: String,
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
        warnings: Vec<Warning>,
    ) -> Result<MachineView, Error> {
        let stored = StoredRevision {
            revision: Revision(revision),
            content_hash: self.hash.clone(),
            definition: raw(self.text.clone())?,
            created_at,
            machine_created_at,
        };
        machine_view(tenant, stored, warnings)
    }

    /// The statement that reads the machines that it reaches; none where it names none.
    fn family(&self, tenant: &TenantId) -> Option<Statement> {
        (self.refers != "[]").then(|| {
            let params: [Param; 4] = [
                tenant.as_str().into(),
                self.refers.as_str().into(),
                self.valid.definition.machine_id.as_str().into(),
                i64::try_from(MAX_FAMILY_BYTES).unwrap_or(i64::MAX).into(),
            ];
            Statement::new(FAMILY, params)
        })
    }

    /// Checks it against the machines that it reaches, the rows of [`FAMILY`]. Gives all its warnings.
    ///
    /// Nothing holds these machines still until the batch is written: two that are registered at the same time may not
    /// see each other. That is as if the later had not been there (S2.49): the same rules bite when a child starts.
    fn check(&self, rows: &[String]) -> Result<Vec<Warning>, Error> {
        let rows: Vec<FamilyRow> = rows.iter().map(|row| decode(row)).collect::<Result<_, _>>()?;
        let bytes = rows.iter().map(|row| row.0).max().unwrap_or_default();
        if bytes > MAX_FAMILY_BYTES {
            return Err(Error::Core(Core::TooLarge {
                what: "what the definition reaches by its child machines",
                bytes,
                most: MAX_FAMILY_BYTES,
            }));
        }
        let mut family = Family::default();
        for (_, machine_id, definition, managed) in rows {
            match definition {
                Some(text) => family.add_child(stored_definition(&machine_id, &text)?),
                None => family.add_below(machine_id, managed),
            }
        }
        let checked = family::check(self.valid.clone(), &family).map_err(Core::InvalidDefinition)?;
        Ok(checked.warnings)
    }
}

/// A row of [`FAMILY`]: the bytes up to it, the machine, its definition or its managed children.
type FamilyRow = (usize, String, Option<String>, Vec<String>);

/// A definition that was stored, and so found valid.
fn stored_definition(machine_id: &str, text: &str) -> Result<Valid, Error> {
    let corrupt = |problem: String| {
        Error::Core(Core::Corrupt {
            what: format!("the definition of machine `{machine_id}`"),
            problem,
        })
    };
    let document: Value = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    Definition::read(&document).map_err(|faults| {
        let first = faults.first();
        corrupt(first.map_or_else(String::new, |fault| format!("{}: {}", fault.path, fault.problem)))
    })
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Makes a machine; only where there is none (S2.50).
    ///
    /// # Errors
    /// The definition has faults, or there is such a machine.
    pub async fn create_machine(&self, tenant: &TenantId, body: &[u8]) -> Result<MachineView, Error> {
        let read = read_definition(body, None, &self.settings.allow)?;
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
        let read = read_definition(body, Some(&id), &self.settings.allow)?;
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
            let mut batch = vec![
                Statement::new(MACHINE, ids),
                Statement::new(
                    MADE_BY,
                    [a, b, commit_id.as_str().into(), json!(tried).to_string().into()],
                ),
            ];
            batch.extend(read.family(tenant));
            let results = match self.read(batch).await {
                Ok(results) => results,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let checked = read.check(rows_of(&results, 2));
            if let Some(made) = rows_of(&results, 1).first() {
                // An earlier try of this request was applied after all: what it was decided on may have changed since.
                let (revision, created, machine_created): (u64, i64, i64) = decode(made)?;
                let warnings = checked.unwrap_or_else(|_| read.valid.warnings.clone());
                return read.made(
                    tenant,
                    revision,
                    Millis(created),
                    Millis(machine_created),
                    warnings,
                );
            }
            let warnings = checked?;
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
                (true, None) => return Err(Error::Core(Core::MachineExists(machine_id.to_string()))),
                (false, Some(_)) => return Err(Error::Core(Core::NoMachine(machine_id.to_string()))),
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
            let made = read.made(tenant, revision, now, created_at, warnings)?;
            let kept = || Receipt {
                answer: serde_json::to_string(&made).ok(),
                outcome: "applied",
                commit_id: Some(commit_id.clone()),
                ..Receipt::default()
            };
            match self.write_in(&self.scope, batch, &kept).await {
                // Nothing is read again: a read that fails would hide that it was written, and may find another's.
                Ok(_) => return Ok(made),
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
            let lost = Lost::of(old, &read.valid);
            let live = self.live(tenant, machine_id, head, &lost).await?;
            if !live.is_empty() {
                return Err(Error::LiveStates {
                    machine: machine_id.to_string(),
                    live,
                });
            }
            batch.extend(lost.guards(tenant, machine_id, head));
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
                read.refers.as_str().into(),
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

    /// Checks a definition without storing it; against the machines of a tenant where one is named.
    ///
    /// # Errors
    /// The body is no JSON or larger than a definition may be. Faults are no error here: the answer lists them.
    pub async fn validate(&self, tenant: Option<&TenantId>, body: &[u8]) -> Result<ValidationView, Error> {
        let checked = match read_definition(body, None, &self.settings.allow) {
            Ok(read) => match tenant.and_then(|tenant| read.family(tenant)) {
                Some(family) => read.check(rows_of(&self.read(vec![family]).await?, 0)),
                None => read.check(&[]),
            },
            Err(error) => Err(error),
        };
        match checked {
            Ok(warnings) => Ok(ValidationView {
                valid: true,
                faults: Vec::new(),
                warnings,
            }),
            Err(Error::Core(Core::InvalidDefinition(faults))) => Ok(ValidationView {
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
fn read_definition(body: &[u8], of_path: Option<&MachineId>, allow: &AllowList) -> Result<Read, Error> {
    let mut document = request::document(body)?;
    if let (Value::Object(object), Some(id)) = (&mut document, of_path)
        && !object.contains_key("machine_id")
    {
        object.insert("machine_id".to_owned(), json!(id));
    }
    let (own, valid) = Definition::own(document)?;
    let text = Value::Object(own).to_string();
    let refused = valid.definition.address_faults(allow);
    if !refused.is_empty() {
        return Err(Error::Core(Core::InvalidDefinition(refused)));
    }
    Machine::compile(&valid).map_err(Core::from)?;
    let hash = content_hash(&text);
    let refers = json!(family::named(&valid.definition)).to_string();
    Ok(Read {
        valid,
        text,
        hash,
        refers,
    })
}

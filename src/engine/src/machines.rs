//! Machines and their revisions (S2.231 to S2.235, M15, design 6).

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use statewright_core::diagram;
use statewright_core::error::Error as Core;
use statewright_core::ids::{MachineId, Millis, Revision, TenantId};

use crate::Engine;
use crate::cache::Compiled;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement};
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{decode, parse, rows_of};
use crate::once::Receipt;
use crate::outbound::Outbound;
use crate::page::{Page, Paging, cut, plain};
use crate::request;
use crate::retry::Tries;
use crate::revisions::HEAD_STANDS;
use crate::views::{CountView, MachineView, RevisionView};

/// One revision, or the head where ?3 is null.
pub(crate) const REVISION: &str = "SELECT json_array(r.revision, r.content_hash, r.created_at, m.created_at, r.definition) \
     FROM machines m CROSS JOIN revisions r ON r.tenant = m.tenant AND r.machine_id = m.machine_id \
       AND r.revision = coalesce(?3, m.head) \
     WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0";

/// Machines in the order of their creation, after (?3, ?4).
pub(crate) const LIST: &str = "SELECT json_array(l.more, r.revision, r.content_hash, r.created_at, l.created_at, \
       r.definition) \
     FROM (SELECT machine_id, head, created_at, row_number() OVER (ORDER BY created_at, machine_id) AS place, \
         lead(1, 1, 0) OVER (ORDER BY created_at, machine_id) AS more, \
         sum(bytes) OVER (ORDER BY created_at, machine_id ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT m.machine_id, m.head, m.created_at, octet_length(v.definition) + 200 AS bytes \
         FROM machines m CROSS JOIN revisions v ON v.tenant = m.tenant AND v.machine_id = m.machine_id \
           AND v.revision = m.head \
         WHERE m.tenant = ?1 AND m.deleted = 0 AND (m.created_at, m.machine_id) > (?3, ?4) \
         ORDER BY m.created_at, m.machine_id LIMIT ?2)) l \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = l.machine_id AND r.revision = l.head \
     WHERE l.before < ?5 ORDER BY l.place";

/// Revisions of a machine, the newest first, before ?4.
pub(crate) const REVISIONS: &str = "SELECT json_array(l.more, r.revision, r.label, r.content_hash, r.supersedes, \
       r.effective, l.head, r.created_at, r.definition) \
     FROM (SELECT revision, head, row_number() OVER (ORDER BY revision DESC) AS place, \
         lead(1, 1, 0) OVER (ORDER BY revision DESC) AS more, \
         sum(bytes) OVER (ORDER BY revision DESC ROWS UNBOUNDED PRECEDING) - bytes AS before \
       FROM (SELECT v.revision, m.head, octet_length(v.definition) + 200 AS bytes \
         FROM machines m CROSS JOIN revisions v ON v.tenant = m.tenant AND v.machine_id = m.machine_id \
         WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0 AND v.revision < ?4 \
         ORDER BY v.revision DESC LIMIT ?3)) l \
     CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = l.revision \
     WHERE l.before < ?5 ORDER BY l.place";

/// Whether a machine exists and has an entity; its head; whether it still has revision ?3, where that is given.
pub(crate) const HAS_ENTITY: &str = "SELECT json_array(EXISTS (SELECT 1 FROM entities e WHERE e.tenant = m.tenant \
       AND e.machine_id = m.machine_id), m.head, ?3 IS NULL OR EXISTS (SELECT 1 FROM revisions r \
         WHERE r.tenant = m.tenant AND r.machine_id = m.machine_id AND r.revision = ?3)) \
     FROM machines m WHERE m.tenant = ?1 AND m.machine_id = ?2 AND m.deleted = 0";

/// Deletes a machine; aborts where it has an entity.
pub(crate) const DELETE: [&str; 4] = [
    "INSERT INTO violations (violated) SELECT 'entity' WHERE EXISTS (SELECT 1 FROM entities \
       WHERE tenant = ?1 AND machine_id = ?2)",
    "UPDATE machines SET deleted = 1 WHERE tenant = ?1 AND machine_id = ?2",
    "DELETE FROM revisions WHERE tenant = ?1 AND machine_id = ?2",
    "DELETE FROM rearms WHERE tenant = ?1 AND machine_id = ?2",
];

/// How many entities are in each state of each region.
pub(crate) const COUNTS: &str = "SELECT json_array(region, state, count(*)) FROM entries \
     WHERE tenant = ?1 AND machine_id = ?2 GROUP BY region, state";

/// A stored revision.
pub(crate) struct StoredRevision {
    pub(crate) revision: Revision,
    pub(crate) content_hash: String,
    pub(crate) definition: Box<RawValue>,
    pub(crate) created_at: Millis,
    pub(crate) machine_created_at: Millis,
}

/// A row of [`REVISIONS`].
type RevisionRow = (
    u8,
    u64,
    Option<String>,
    String,
    Option<u64>,
    u64,
    u64,
    i64,
    String,
);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The head revision of a machine (S2.233).
    ///
    /// # Errors
    /// There is no such machine.
    pub async fn get_machine(&self, tenant: &TenantId, machine_id: &str) -> Result<MachineView, Error> {
        let stored = self
            .stored_revision(tenant, &request::machine_id(machine_id)?, None)
            .await?;
        machine_view(tenant, stored, Vec::new())
    }

    /// The compiled definition of a revision, or of the head.
    pub(crate) async fn definition(
        &self,
        tenant: &TenantId,
        machine_id: &MachineId,
        revision: Option<Revision>,
    ) -> Result<Arc<Compiled>, Error> {
        let stored = self.stored_revision(tenant, machine_id, revision).await?;
        let (tenant, machine_id) = (tenant.as_str(), machine_id.as_str());
        self.cache
            .compile(tenant, machine_id, &stored.content_hash, stored.definition.get())
    }

    pub(crate) async fn stored_revision(
        &self,
        tenant: &TenantId,
        machine_id: &MachineId,
        revision: Option<Revision>,
    ) -> Result<StoredRevision, Error> {
        let number = revision.map_or(Param::Null, |revision| {
            Param::Integer(i64::try_from(revision.0).unwrap_or(i64::MAX))
        });
        let statement = Statement::new(
            REVISION,
            [tenant.as_str().into(), machine_id.as_str().into(), number],
        );
        let results = self.read(vec![statement]).await?;
        match (rows_of(&results, 0).first(), revision) {
            (Some(row), _) => stored_revision(row),
            (None, None) => Err(Error::Core(Core::NoMachine(machine_id.to_string()))),
            (None, Some(revision)) => Err(Error::NoRevision {
                machine: machine_id.to_string(),
                revision: revision.0,
            }),
        }
    }

    /// The machines of a tenant, in the order of their creation (S2.232).
    ///
    /// # Errors
    /// The paging is invalid.
    pub async fn list_machines(
        &self,
        tenant: &TenantId,
        paging: &Paging,
    ) -> Result<Page<MachineView>, Error> {
        let rows = paging.rows()?;
        let (after, after_id): (i64, String) = paging.after()?.unwrap_or((-(1 << 53), String::new()));
        plain("cursor", &after_id)?;
        let params = [
            tenant.as_str().into(),
            i64::from(rows).saturating_add(1).into(),
            after.into(),
            after_id.into(),
            crate::page::MAX_BYTES.into(),
        ];
        let results = self.read(vec![Statement::new(LIST, params)]).await?;
        let mut more = 0_u8;
        let mut views = Vec::new();
        for row in rows_of(&results, 0) {
            let (left, revision, hash, created, machine_created, definition): (
                u8,
                u64,
                String,
                i64,
                i64,
                String,
            ) = decode(row)?;
            more = left;
            let stored = StoredRevision {
                revision: Revision(revision),
                content_hash: hash,
                definition: raw(definition)?,
                created_at: Millis(created),
                machine_created_at: Millis(machine_created),
            };
            views.push(machine_view(tenant, stored, Vec::new())?);
        }
        let key = |view: &MachineView| json!([view.created_at, view.definition.get("machine_id")]);
        Ok(cut(views, rows, more == 1, key))
    }

    /// The revisions of a machine, the newest first.
    ///
    /// # Errors
    /// There is no such machine, or the paging is invalid.
    pub async fn revisions(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        paging: &Paging,
    ) -> Result<Page<RevisionView>, Error> {
        let machine = request::machine_id(machine_id)?;
        let rows = paging.rows()?;
        let before: i64 = paging.after()?.unwrap_or(1 << 53);
        let params = [
            tenant.as_str().into(),
            machine.as_str().into(),
            i64::from(rows).saturating_add(1).into(),
            before.into(),
            crate::page::MAX_BYTES.into(),
        ];
        let results = self.read(vec![Statement::new(REVISIONS, params)]).await?;
        let found = rows_of(&results, 0);
        if found.is_empty() && paging.cursor.is_none() {
            return Err(Error::Core(Core::NoMachine(machine_id.to_owned())));
        }
        let mut more = 0_u8;
        let mut views = Vec::new();
        for row in found {
            let (left, revision, label, content_hash, supersedes, effective, head, created, definition): RevisionRow =
                decode(row)?;
            more = left;
            views.push(RevisionView {
                revision: Revision(revision),
                label,
                content_hash,
                supersedes: supersedes.map(Revision),
                effective: Revision(effective),
                head: revision == head,
                created_at: Millis(created),
                definition: raw(definition)?,
            });
        }
        Ok(cut(views, rows, more == 1, |view| view.revision))
    }

    /// Deletes a machine without entities (S2.53).
    ///
    /// # Errors
    /// There is no such machine, or it has entities.
    pub async fn delete_machine(&self, tenant: &TenantId, machine_id: &str) -> Result<(), Error> {
        let machine = request::machine_id(machine_id)?;
        let ids = || -> [Param; 2] { [tenant.as_str().into(), machine.as_str().into()] };
        let mut tries = Tries::begin(&self.clock);
        // The head that an earlier try of unknown end was to delete.
        let mut tried = Param::Null;
        loop {
            let [a, b] = ids();
            let read = Statement::new(HAS_ENTITY, [a, b, tried.clone()]);
            let results = match self.read(vec![read]).await {
                Ok(results) => results,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let Some(row) = rows_of(&results, 0).first() else {
                // Gone after a delete whose answer was lost: it was this request's doing, or came to the same.
                return if tries.is_uncertain() {
                    Ok(())
                } else {
                    Err(Error::Core(Core::NoMachine(machine.to_string())))
                };
            };
            let (has_entity, head, as_tried): (u8, i64, u8) = decode(row)?;
            if as_tried == 0 {
                // Deleted, and made again since: that one is not this request's to delete.
                return Ok(());
            }
            if has_entity == 1 {
                return Err(Error::Core(Core::HasEntities(machine.to_string())));
            }
            let [a, b] = ids();
            let mut batch = vec![Statement::new(HEAD_STANDS, [a, b, head.into(), 0.into()])];
            batch.extend(DELETE.map(|sql| Statement::new(sql, ids())));
            let deleted = || Receipt {
                outcome: "applied",
                ..Receipt::default()
            };
            match self.write_in(&self.scope, batch, &deleted).await {
                Ok(_) => return Ok(()),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = head.into();
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// How many entities of a machine are in each state of each region; those in none are left out.
    ///
    /// # Errors
    /// There is no such machine.
    pub async fn counts(&self, tenant: &TenantId, machine_id: &str) -> Result<Vec<CountView>, Error> {
        let machine = request::machine_id(machine_id)?;
        let ids = || -> [Param; 2] { [tenant.as_str().into(), machine.as_str().into()] };
        let [a, b] = ids();
        let batch = vec![
            Statement::new(HAS_ENTITY, [a, b, Param::Null]),
            Statement::new(COUNTS, ids()),
        ];
        let results = self.read(batch).await?;
        if rows_of(&results, 0).is_empty() {
            return Err(Error::Core(Core::NoMachine(machine_id.to_owned())));
        }
        let read = |row: &String| {
            let (region, state, entities) = decode(row)?;
            Ok(CountView {
                region,
                state,
                entities,
            })
        };
        rows_of(&results, 1).iter().map(read).collect()
    }

    /// A diagram of a machine as `mermaid` or `dot` text, with the current states of an entity marked if one is named.
    ///
    /// # Errors
    /// The format is unknown, or there is no such machine or entity.
    pub async fn diagram(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        format: Option<&str>,
        entity_id: Option<&str>,
    ) -> Result<String, Error> {
        let machine = request::machine_id(machine_id)?;
        let draw = if request::diagram_format(format)? {
            diagram::dot
        } else {
            diagram::mermaid
        };
        let Some(entity_id) = entity_id else {
            let head = self.definition(tenant, &machine, None).await?;
            return Ok(draw(&head.machine, None));
        };
        let name = entity_name(tenant, machine_id, entity_id)?;
        let loaded = self.load_alone(&self.scope, &name, &[]).await?;
        let stored = loaded.stored.as_ref().ok_or_else(|| {
            Error::Core(Core::NoEntity {
                machine: machine.to_string(),
                entity: name.entity_id.to_string(),
            })
        })?;
        let current = stored.entity.configuration();
        Ok(draw(&loaded.compiled.machine, Some(&current)))
    }
}

pub(crate) fn raw(text: String) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(text).map_err(|error| {
        Error::Core(Core::Corrupt {
            what: "a definition".to_owned(),
            problem: error.to_string(),
        })
    })
}

fn stored_revision(row: &str) -> Result<StoredRevision, Error> {
    let (revision, content_hash, created, machine_created, definition): (u64, String, i64, i64, String) =
        decode(row)?;
    Ok(StoredRevision {
        revision: Revision(revision),
        content_hash,
        definition: raw(definition)?,
        created_at: Millis(created),
        machine_created_at: Millis(machine_created),
    })
}

pub(crate) fn machine_view(
    tenant: &TenantId,
    stored: StoredRevision,
    warnings: Vec<statewright_core::fault::Warning>,
) -> Result<MachineView, Error> {
    Ok(MachineView {
        definition: parse(stored.definition.get())?,
        tenant_id: tenant.to_string(),
        revision: stored.revision,
        content_hash: stored.content_hash,
        created_at: stored.machine_created_at,
        updated_at: stored.created_at,
        warnings,
    })
}

impl From<DatabaseError> for Error {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Constraint(message) | DatabaseError::Uncertain(message) => Self::Database(message),
        }
    }
}

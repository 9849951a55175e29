//! An entity with everything that lives or lived below it, nested (S2.208 to S2.210).

use serde::Serialize;
use serde_json::Value;
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MachineId, Revision, TenantId};
pub use statewright_core::snapshot::EntryOfParent;
use statewright_core::sorted::{Gather, SortedMap, sort_by_key};
use statewright_core::tree::Status;

use crate::Engine;
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{EntityName, decode, in_force, rows_of};
use crate::outbound::Outbound;
use crate::page::{MAX_BYTES, MAX_ROWS};
use crate::stored::{Columns, Instance, corrupt, instance_columns, stored_columns};
use crate::views::EntityView;

/// Everything below an entity, at most ?4 of it. What is beyond ?5 bytes comes with a null context.
pub(crate) const DESCENDANTS: &str = concat!(
    "WITH RECURSIVE top (uid, root_uid) AS (SELECT e.uid, coalesce(i.root_uid, e.uid) FROM entities e \
         LEFT JOIN instances i ON i.uid = e.uid WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3), \
       below (uid, root_uid, self) AS (SELECT uid, root_uid, 1 FROM top \
         UNION ALL SELECT x.uid, b.root_uid, 0 FROM below b CROSS JOIN instances x ON x.root_uid = b.root_uid \
           AND x.current IN (0, 1) AND x.parent_uid = b.uid) \
     SELECT json_array(l.machine_id, l.entity_id, d.revision, d.content_hash, \
       CASE WHEN l.before < ?5 THEN e.context END, ",
    stored_columns!("NULL"),
    ", ",
    instance_columns!(),
    ", json((SELECT json_group_array(json_array(n.region, h.id)) FROM entries n \
         CROSS JOIN history h ON h.uid = n.uid AND h.identity_key = n.key WHERE n.uid = e.uid))) AS j \
     FROM (SELECT i.tenant, i.machine_id, i.entity_id, sum(octet_length(e.context) + 500 \
           + 300 * (SELECT count(*) FROM entries c WHERE c.uid = e.uid)) OVER (ROWS UNBOUNDED PRECEDING) AS before \
         FROM below b CROSS JOIN instances i ON i.uid = b.uid \
         CROSS JOIN entities e ON e.tenant = i.tenant AND e.machine_id = i.machine_id AND e.entity_id = i.entity_id \
         WHERE b.self = 0 LIMIT ?4) l \
     CROSS JOIN entities e ON e.tenant = l.tenant AND e.machine_id = l.machine_id AND e.entity_id = l.entity_id \
     CROSS JOIN instances i ON i.uid = e.uid \
     CROSS JOIN revisions r ON r.tenant = e.tenant AND r.machine_id = e.machine_id AND r.revision = e.revision \
     CROSS JOIN revisions d ON d.tenant = e.tenant AND d.machine_id = e.machine_id AND d.revision = ",
    in_force!()
);

type DescendantRow = (
    String,
    String,
    u64,
    String,
    Option<String>,
    Columns<'static>,
    Value,
    Vec<(String, u64)>,
);

/// An entity with its descendants.
#[derive(Debug, Clone, Serialize)]
pub struct TreeView {
    /// The entity.
    #[serde(flatten)]
    pub entity: EntityView,
    /// The entry of its parent that it belongs to; none for the entity that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<EntryOfParent>,
    /// Its children, live and ended, managed and legacy, in the order in which they were started.
    pub children: Vec<TreeView>,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Reads an entity with everything that lives or lived below it.
    ///
    /// # Errors
    /// There is no such machine or entity, its rows cannot be read, or it is too large for one answer.
    pub async fn get_tree(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
    ) -> Result<TreeView, Error> {
        let entity = self.get_entity(tenant, machine_id, entity_id).await?;
        let name = entity_name(tenant, machine_id, entity_id)?;
        let statement = Statement::new(
            DESCENDANTS,
            [
                name.tenant.as_str().into(),
                name.machine_id.as_str().into(),
                name.entity_id.as_str().into(),
                i64::from(MAX_ROWS).saturating_add(1).into(),
                MAX_BYTES.into(),
            ],
        );
        let results = self.read(vec![statement]).await?;
        let rows = rows_of(&results, 0);
        let mut by_parent: SortedMap<String, Vec<(String, Instance, EntityView)>> = SortedMap::new();
        for row in rows {
            let (uid, instance, view) = self.descendant(&name, row).await?;
            by_parent
                .or_insert_with(instance.parent_uid.clone(), Default::default)
                .push((uid, instance, view));
        }
        if rows.len() > MAX_ROWS as usize {
            return Err(too_large());
        }
        // Whose parent is nobody's child is a child of the entity itself.
        let uids: Vec<&String> = by_parent.values().flatten().map(|(uid, ..)| uid).collect();
        let top = by_parent.keys().find(|parent| !uids.contains(parent)).cloned();
        let children = top.map(|top| nested(&top, &mut by_parent)).unwrap_or_default();
        Ok(TreeView {
            entity,
            parent: None,
            children,
        })
    }

    async fn descendant(&self, of: &EntityName, row: &str) -> Result<(String, Instance, EntityView), Error> {
        let (machine_id, entity_id, revision, hash, context, columns, instance, rows): DescendantRow =
            decode(row)?;
        let context = context.ok_or_else(too_large)?;
        let invalid = |error: statewright_core::ids::NameError| corrupt(of, error.to_string());
        let name = EntityName {
            tenant: of.tenant.clone(),
            machine_id: MachineId::new(&machine_id).map_err(invalid)?,
            entity_id: EntityId::named(&entity_id).map_err(invalid)?,
        };
        let revision = Revision(revision);
        let compiled = match self.cache.get(&hash) {
            Some(compiled) => compiled,
            None => {
                self.definition(&name.tenant, &name.machine_id, Some(revision))
                    .await?
            }
        };
        let missing = || corrupt(&name, "its place in its tree is missing".to_owned());
        let instance = Instance::read(instance, &name)?.ok_or_else(missing)?;
        let stored = columns.restore(Some(context.into()), &name, &compiled, revision)?;
        let mut stored = stored.ok_or_else(missing)?;
        if instance.status != Status::Active {
            stored.entity.disarm();
        }
        let rows = rows.into_iter().gather();
        let view = EntityView::new(&name, revision, &stored, &rows, Some(&instance));
        Ok((stored.uid, instance, view))
    }
}

fn too_large() -> Error {
    Error::Core(Core::TooLarge {
        what: "the tree",
        bytes: usize::try_from(MAX_BYTES).unwrap_or(usize::MAX).saturating_add(1),
        most: usize::try_from(MAX_BYTES).unwrap_or(usize::MAX),
    })
}

/// The children of an incarnation, each with its own. No tree is deeper than a child's id is long.
fn nested(
    parent: &str,
    by_parent: &mut SortedMap<String, Vec<(String, Instance, EntityView)>>,
) -> Vec<TreeView> {
    let mut children = by_parent.remove(parent).unwrap_or_default();
    sort_by_key(&mut children, |(_, instance, _)| {
        (instance.started, instance.first_seq)
    });
    let view = |(uid, instance, entity): (String, Instance, EntityView)| TreeView {
        children: nested(&uid, by_parent),
        parent: Some(EntryOfParent {
            region: instance.region.into(),
            state: instance.state.into(),
            seq: instance.seq,
        }),
        entity,
    };
    children.into_iter().map(view).collect()
}

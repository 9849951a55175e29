//! Lists of entities: by id, by the state of a region, by update (S2.238 to S2.240, R18, R20).

use serde_json::{Value, json};
use statewright_core::error::Error as Core;
use statewright_core::ids::{EntityId, MachineId, Revision, TenantId};
use statewright_core::sorted::Gather;
use statewright_core::tree::Status;

use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::error::Error;
use crate::load::{EntityName, decode, in_force, rows_of};
use crate::outbound::Outbound;
use crate::page::{MAX_BYTES, Page, Paging, cut, plain};
use crate::request;
use crate::stored::{Columns, Instance, corrupt, instance_columns, stored_columns};
use crate::views::{EntityView, ListedEntity};

macro_rules! listed {
    ($order:literal, $from:literal) => {
        concat!(
            "SELECT json_array(l.more, l.entity_id, e.updated_at, d.revision, d.content_hash, e.context, ",
            stored_columns!("NULL"),
            ", ",
            instance_columns!(),
            ", json((SELECT json_group_array(json_array(n.region, h.id)) FROM entries n \
                 CROSS JOIN history h ON h.uid = n.uid AND h.identity_key = n.key WHERE n.uid = e.uid))) AS j \
             FROM (SELECT entity_id, row_number() OVER (ORDER BY ",
            $order,
            ") AS place, lead(1, 1, 0) OVER (ORDER BY ",
            $order,
            ") AS more, sum(bytes) OVER (ORDER BY ",
            $order,
            " ROWS UNBOUNDED PRECEDING) - bytes AS before \
               FROM (SELECT q.entity_id, q.updated_at, octet_length(q.context) + 200 \
                 + 200 * (SELECT count(*) FROM entries c WHERE c.uid = q.uid) AS bytes ",
            $from,
            " LIMIT ?3)) l \
             CROSS JOIN entities e ON e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = l.entity_id \
             CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision \
             LEFT JOIN instances i ON i.uid = e.uid \
             CROSS JOIN revisions d ON d.tenant = ?1 AND d.machine_id = ?2 AND d.revision = ",
            in_force!(),
            " WHERE l.before < ?4 ORDER BY l.place"
        )
    };
}

/// Entities by id, from ?5 and below ?6: one bound below, so that a later page does not pass over the earlier ones.
pub(crate) const LIST_BY_ID: &str = listed!(
    "entity_id",
    "FROM entities q \
     WHERE q.tenant = ?1 AND q.machine_id = ?2 AND q.entity_id >= ?5 AND q.entity_id < ?6 ORDER BY q.entity_id"
);

/// Entities by update, after (?7, ?8), up to ?9: as by id besides.
pub(crate) const LIST_BY_UPDATE: &str = listed!(
    "updated_at, entity_id",
    "FROM entities q \
     WHERE q.tenant = ?1 AND q.machine_id = ?2 AND (q.updated_at, q.entity_id) > (?7, ?8) \
       AND q.updated_at <= ?9 AND q.entity_id >= ?5 AND q.entity_id < ?6 \
     ORDER BY q.updated_at, q.entity_id"
);

/// Entities by the state of a region: as by id, region ?7, state ?8, updated from ?9 up to ?10.
pub(crate) const LIST_BY_STATE: &str = listed!(
    "entity_id",
    "FROM entries s \
     CROSS JOIN entities q ON q.tenant = ?1 AND q.machine_id = ?2 AND q.entity_id = s.entity_id AND q.uid = s.uid \
     WHERE s.tenant = ?1 AND s.machine_id = ?2 AND s.region = ?7 AND s.state = ?8 \
       AND s.entity_id >= ?5 AND s.entity_id < ?6 AND q.updated_at >= ?9 AND q.updated_at <= ?10 \
     ORDER BY s.entity_id"
);

/// Before any time that a row holds.
const LEAST_TIME: i64 = -(1 << 53);
/// No row holds a later one.
const MOST_TIME: i64 = 1 << 53;

type ListRow = (
    u8,
    String,
    i64,
    u64,
    String,
    Option<String>,
    Columns<'static>,
    Value,
    Vec<(String, u64)>,
);

/// What a caller asks of the list of entities (S2.238 to S2.240).
#[derive(Debug, Clone, Default)]
pub struct EntityQuery {
    /// Only entities in this state; on a parallel machine of that `region`.
    pub state: Option<String>,
    /// The region of `state`, matched literally.
    pub region: Option<String>,
    /// Only entities updated at this time or later, in milliseconds since the epoch.
    pub updated_since: Option<String>,
    /// Only entities updated before this time.
    pub updated_before: Option<String>,
    /// Only entities whose id starts with this.
    pub prefix: Option<String>,
    /// Which page.
    pub paging: Paging,
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Lists the entities of a machine, by id, or by update where that alone is asked for.
    ///
    /// # Errors
    /// The query is invalid, or there is no such machine.
    pub async fn list_entities(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        query: &EntityQuery,
    ) -> Result<Page<ListedEntity>, Error> {
        let machine = request::machine_id(machine_id)?;
        for (name, filter) in [
            ("state", &query.state),
            ("region", &query.region),
            ("prefix", &query.prefix),
        ] {
            plain(name, filter.as_deref().unwrap_or_default())?;
        }
        let head = self.definition(tenant, &machine, None).await?;
        let rows = query.paging.rows()?;
        let prefix = query.prefix.as_deref().unwrap_or_default();
        let since = time("updated_since", query.updated_since.as_ref())?;
        let before = time("updated_before", query.updated_before.as_ref())?;
        let state = match (&query.region, &query.state, head.machine.is_parallel()) {
            (Some(_), None, _) => {
                return Err(Error::invalid(
                    "state",
                    "it is missing beside `region`",
                    "the state of that region",
                ));
            }
            (None, Some(_), true) => {
                return Err(Error::invalid(
                    "region",
                    "it is missing: the machine is parallel",
                    "the region of `state`",
                ));
            }
            (region, Some(state), _) => Some((region.as_deref().unwrap_or("_"), state.as_str())),
            (None, None, _) => None,
        };
        let by_update = state.is_none() && (since.is_some() || before.is_some());
        let until = before.map_or(MOST_TIME, |before| before.saturating_sub(1));
        let (after_update, after_id) = if by_update {
            let since = since.unwrap_or(LEAST_TIME);
            // No id is empty: this is before all that were updated then.
            let first = (since, String::new());
            query
                .paging
                .after()?
                .map_or(first.clone(), |after| first.max(after))
        } else {
            (LEAST_TIME, query.paging.after::<String>()?.unwrap_or_default())
        };
        plain("cursor", &after_id)?;
        // The least text after an id, since no id holds a control character.
        let from = match after_id.as_str() {
            after if !by_update && !after.is_empty() => prefix.to_owned().max(format!("{after}\u{1}")),
            _ => prefix.to_owned(),
        };
        let mut params: Vec<Param> = vec![
            tenant.as_str().into(),
            machine.as_str().into(),
            i64::from(rows).saturating_add(1).into(),
            MAX_BYTES.into(),
            from.into(),
            after_prefix(prefix).into(),
        ];
        let sql = match state {
            Some((region, state)) => {
                let since = since.unwrap_or(LEAST_TIME);
                params.extend([region.into(), state.into(), since.into(), until.into()]);
                LIST_BY_STATE
            }
            None if by_update => {
                params.extend([after_update.into(), after_id.into(), until.into()]);
                LIST_BY_UPDATE
            }
            None => LIST_BY_ID,
        };
        let listed = self.read(vec![Statement { sql, params }]).await?;
        let listed = rows_of(&listed, 0);
        let mut found = Vec::with_capacity(listed.len());
        for row in listed {
            found.push(self.listed(tenant, &machine, row).await?);
        }
        let more = found.last().is_some_and(|row| row.more);
        let Page { items, next } = cut(found, rows, more, |row| row.key(by_update));
        Ok(Page {
            items: items.into_iter().map(|row| row.view).collect(),
            next,
        })
    }

    async fn listed(&self, tenant: &TenantId, machine_id: &MachineId, row: &str) -> Result<Row, Error> {
        let (more, id, updated_at, revision, hash, context, columns, instance, rows): ListRow = decode(row)?;
        let entity_id = EntityId::named(&id).map_err(|error| {
            Error::Core(Core::Corrupt {
                what: format!("an entity of machine `{machine_id}`"),
                problem: format!("its id is none: {error}"),
            })
        })?;
        let name = EntityName {
            tenant: tenant.clone(),
            machine_id: machine_id.clone(),
            entity_id,
        };
        let revision = Revision(revision);
        let compiled = match self.cache.get(&hash) {
            Some(compiled) => compiled,
            None => self.definition(tenant, machine_id, Some(revision)).await?,
        };
        let read = Instance::read(instance, &name).and_then(|instance| {
            Ok((
                columns.restore(context.map(Into::into), &name, &compiled, revision)?,
                instance,
            ))
        });
        let view = match read {
            Ok((Some(mut stored), instance)) => {
                if instance
                    .as_ref()
                    .is_some_and(|instance| instance.status != Status::Active)
                {
                    stored.entity.disarm();
                }
                let rows = rows.into_iter().gather();
                let view = EntityView::new(&name, revision, &stored, &rows, instance.as_ref());
                ListedEntity::Entity(Box::new(view))
            }
            Ok((None, _)) => {
                ListedEntity::corrupt(&name, &corrupt(&name, "it has no incarnation".to_owned()))
            }
            Err(error) => ListedEntity::corrupt(&name, &error),
        };
        Ok(Row {
            more: more == 1,
            updated_at,
            id,
            view,
        })
    }
}

/// A row of a list, and where the list goes on behind it.
struct Row {
    more: bool,
    updated_at: i64,
    id: String,
    view: ListedEntity,
}

impl Row {
    fn key(&self, by_update: bool) -> serde_json::Value {
        if by_update {
            json!([self.updated_at, self.id])
        } else {
            json!(self.id)
        }
    }
}

fn time(name: &str, text: Option<&String>) -> Result<Option<i64>, Error> {
    let Some(text) = text else {
        return Ok(None);
    };
    match text.parse() {
        Ok(time) if (-(1_i64 << 53)..=1 << 53).contains(&time) => Ok(Some(time)),
        _ => Err(Error::invalid(
            name,
            "it is no time",
            "milliseconds since the epoch, an integer",
        )),
    }
}

/// The least text after all that start with a prefix.
fn after_prefix(prefix: &str) -> String {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The next character; past the surrogates, which are none.
        let next = if last == '\u{d7ff}' {
            Some('\u{e000}')
        } else {
            char::from_u32(u32::from(last).saturating_add(1))
        };
        if let Some(next) = next {
            chars.push(next);
            return chars.into_iter().collect();
        }
    }
    // No id is longer than 256 bytes, so none reaches this.
    "\u{10ffff}".repeat(65)
}

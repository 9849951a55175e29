//! The history of an entity (S2.247, R18).

use serde_json::json;
use serde_json::value::RawValue;
use statewright_core::error::Error as Core;
use statewright_core::ids::{Millis, Revision, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::entities::INCARNATION;
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{EntityName, decode, rows_of};
use crate::outbound::Outbound;
use crate::page::{MAX_BYTES, Page, Paging, cut};
use crate::views::HistoryView;

macro_rules! rows {
    ($order:literal, $after:literal) => {
        concat!(
            "SELECT json_array(l.more, h.id, h.from_state, h.to_state, h.event_type, h.event_params, h.actions, \
               h.region, h.timestamp, h.created_at, h.identity_key, h.cause, h.revision) \
             FROM (SELECT id, row_number() OVER (ORDER BY ",
            $order,
            ") AS place, lead(1, 1, 0) OVER (ORDER BY ",
            $order,
            ") AS more, sum(bytes) OVER (ORDER BY ",
            $order,
            " ROWS UNBOUNDED PRECEDING) - bytes AS before \
               FROM (SELECT q.id, q.timestamp, octet_length(q.event_params) + octet_length(q.actions) + 400 AS bytes \
                 FROM entities e CROSS JOIN history q ON q.uid = e.uid \
                 WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3 AND ",
            $after,
            " ORDER BY ",
            $order,
            " LIMIT ?4)) l CROSS JOIN history h ON h.id = l.id WHERE l.before < ?5 ORDER BY l.place"
        )
    };
}

/// By timestamp, then id; after (?6, ?7).
pub(crate) const BY_TIME: &str = rows!("timestamp, id", "(q.timestamp, q.id) > (?6, ?7)");
/// The same, the newest first; before (?6, ?7).
pub(crate) const NEWEST: &str = rows!("timestamp DESC, id DESC", "(q.timestamp, q.id) < (?6, ?7)");
/// By id: in the order of the commits; after ?7. Sorts the entity's own rows: an index for this order would cost every
/// event one more row written.
pub(crate) const BY_ID: &str = rows!("id", "q.id > ?7 AND ?6 IS NOT NULL");

/// What a caller asks of a history.
#[derive(Debug, Clone, Default)]
pub struct HistoryQuery {
    /// `id` for the order of the commits, `newest` for the newest first; by timestamp, then id, otherwise.
    pub order: Option<String>,
    /// Which page.
    pub paging: Paging,
}

type Row = (
    u8,
    u64,
    String,
    String,
    String,
    String,
    String,
    String,
    i64,
    i64,
    String,
    String,
    u64,
);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The history of an entity.
    ///
    /// # Errors
    /// The query is invalid, or there is no such machine or entity.
    pub async fn history(
        &self,
        tenant: &TenantId,
        machine_id: &str,
        entity_id: &str,
        query: &HistoryQuery,
    ) -> Result<Page<HistoryView>, Error> {
        let name = entity_name(tenant, machine_id, entity_id)?;
        let (sql, first): (_, (i64, i64)) = match query.order.as_deref() {
            None | Some("timestamp") => (BY_TIME, (-(1 << 53), 0)),
            Some("newest") => (NEWEST, (1 << 53, 1 << 53)),
            Some("id") => (BY_ID, (0, 0)),
            Some(_) => {
                return Err(Error::invalid(
                    "order",
                    "it is no order",
                    "`timestamp`, `newest` or `id`",
                ));
            }
        };
        let rows = query.paging.rows()?;
        let (after_time, after_id): (i64, i64) = query.paging.after()?.unwrap_or(first);
        let ids: [Param; 3] = [
            name.tenant.as_str().into(),
            name.machine_id.as_str().into(),
            name.entity_id.as_str().into(),
        ];
        let mut params = ids.to_vec();
        params.extend([
            i64::from(rows).saturating_add(1).into(),
            MAX_BYTES.into(),
            after_time.into(),
            after_id.into(),
        ]);
        let results = self
            .read(vec![Statement::new(INCARNATION, ids), Statement { sql, params }])
            .await?;
        let Some(row) = rows_of(&results, 0).first() else {
            return Err(Error::Core(Core::NoMachine(machine_id.to_owned())));
        };
        let (uid, _): (Option<String>, u8) = decode(row)?;
        if uid.is_none() {
            return Err(Error::Core(Core::NoEntity {
                machine: machine_id.to_owned(),
                entity: entity_id.to_owned(),
            }));
        }
        let mut views = Vec::new();
        let mut more = false;
        for row in rows_of(&results, 1) {
            let view;
            (more, view) = self::view(&name, row)?;
            views.push(view);
        }
        Ok(cut(views, rows, more, |view| json!([view.timestamp, view.id])))
    }
}

fn view(name: &EntityName, row: &str) -> Result<(bool, HistoryView), Error> {
    let (
        more,
        id,
        from_state,
        to_state,
        event_type,
        params,
        actions,
        region,
        timestamp,
        created,
        key,
        cause,
        revision,
    ): Row = decode(row)?;
    let json = |text: String| {
        RawValue::from_string(text)
            .map_err(|error| crate::stored::corrupt(name, format!("history row {id}: {error}")))
    };
    let view = HistoryView {
        id,
        tenant_id: name.tenant.to_string(),
        machine_id: name.machine_id.to_string(),
        entity_id: name.entity_id.to_string(),
        from_state,
        to_state,
        event_type,
        event_params: json(params)?,
        actions_dispatched: json(actions)?,
        region,
        timestamp,
        created_at: Millis(created),
        identity_key: key,
        cause: json(cause)?,
        revision: Revision(revision),
    };
    Ok((more == 1, view))
}

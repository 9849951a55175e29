//! Which rows of the outbox are meant, and where they are found.

use statewright_core::ids::{MAX_TIMESTAMP, Millis, TenantId};

use super::sql::{CLOSED, NEWEST, PENDING, PENDING_WALK};
use super::views::{Found, ItemRow, OutboxItem, Status};
use crate::database::{Param, Statement};
use crate::error::Error;
use crate::load::decode;
use crate::outbox::ids::time_prefix;
use crate::page::{Paging, cursor, plain};
use crate::request::{self, Fields};

/// The latest time that the ids of effects can say.
const LATEST: i64 = (1 << 45) - 1;

/// Which rows of the outbox a caller asks for, each as it was given.
#[derive(Debug, Clone, Default)]
pub struct OutboxQuery {
    /// Only rows of this status.
    pub status: Option<String>,
    /// Only rows of this machine, or of this machine of state records.
    pub machine: Option<String>,
    /// Only rows of this entity or record.
    pub entity: Option<String>,
    /// Only rows made before this time, in milliseconds since the epoch.
    pub older_than: Option<String>,
    /// Only rows made after this time, in milliseconds since the epoch.
    pub newer_than: Option<String>,
    /// Which page.
    pub paging: Paging,
}

/// Which rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    status: Option<Status>,
    machine: Option<String>,
    entity: Option<String>,
    older_than: Option<i64>,
    newer_than: Option<i64>,
    /// The row behind which a page begins.
    after: Option<String>,
}

impl Filter {
    /// Checks its texts: a database may cut one at NUL.
    fn checked(self) -> Result<Self, Error> {
        for (name, text) in [
            ("machine", &self.machine),
            ("entity", &self.entity),
            ("cursor", &self.after),
        ] {
            plain(name, text.as_deref().unwrap_or_default())?;
        }
        Ok(self)
    }

    pub(super) fn of_query(query: &OutboxQuery) -> Result<Self, Error> {
        let all = [
            Status::Pending,
            Status::Done,
            Status::Skipped,
            Status::Dead,
            Status::Cancelled,
        ];
        let status = query.status.as_deref();
        let time = |name: &str, text: &Option<String>| match text {
            Some(text) => checked_time(name, text.parse().ok()).map(Some),
            None => Ok(None),
        };
        let filter = Self {
            status: status
                .map(|status| Status::read("status", status, &all))
                .transpose()?,
            machine: query.machine.clone(),
            entity: query.entity.clone(),
            older_than: time("older_than", &query.older_than)?,
            newer_than: time("newer_than", &query.newer_than)?,
            after: query.paging.after()?,
        };
        filter.checked()
    }

    /// The body of a call for many rows: of the first of `statuses`, unless it says another.
    pub(super) fn of_body(body: &[u8], statuses: &[Status]) -> Result<Self, Error> {
        let object = request::object(body)?;
        let body = Fields {
            path: "$",
            object: &object,
        };
        body.only(&[
            "status",
            "machine",
            "entity",
            "older_than",
            "newer_than",
            "cursor",
        ])?;
        let text = |key: &str| Ok::<_, Error>(body.optional_text(key)?.map(str::to_owned));
        let time = |key: &str| match body.given(key) {
            Some(value) => checked_time(&body.key(key), value.as_i64()).map(Some),
            None => Ok(None),
        };
        let status = body.optional_text("status")?;
        let paging = Paging {
            limit: None,
            cursor: text("cursor")?,
        };
        let filter = Self {
            status: match status {
                Some(status) => Some(Status::read("$.status", status, statuses)?),
                None => statuses.first().copied(),
            },
            machine: text("machine")?,
            entity: text("entity")?,
            older_than: time("older_than")?,
            newer_than: time("newer_than")?,
            after: paging.after()?,
        };
        filter.checked()
    }

    /// The statements that find up to so many rows: of the results, one has them. `changed_at` is given where only rows are
    /// wanted that a redrive at that time changes.
    pub(super) fn find(&self, tenant: &TenantId, rows: u32, changed_at: Option<Millis>) -> Vec<Statement> {
        // What ids cannot say is after all of them.
        let prefix = |time: i64| time_prefix(Millis(time.min(LATEST)));
        let mut from = self
            .newer_than
            .map_or_else(String::new, |time| prefix(time.saturating_add(1)));
        // Digits and small letters end before this.
        let mut below = self.older_than.map_or_else(|| "~".to_owned(), prefix);
        let pending = self.status == Some(Status::Pending);
        match &self.after {
            // The least text behind an id, since no id holds a control character.
            Some(after) if pending => from = from.max(format!("{after}\u{1}")),
            Some(after) => below = below.min(after.clone()),
            None => {}
        }
        let optional = |text: Option<&str>| text.map_or(Param::Null, Param::from);
        let params = [
            tenant.as_str().into(),
            below.into(),
            from.into(),
            i64::from(rows).saturating_add(1).into(),
            optional(self.machine.as_deref()),
            optional(self.entity.as_deref()),
            optional(self.status.map(Status::name)),
            changed_at.map_or(Param::Null, Param::from),
        ];
        let found: &[&'static str] = match self.status {
            Some(Status::Pending) => &[PENDING, PENDING_WALK],
            Some(Status::Skipped | Status::Dead | Status::Cancelled) => &[CLOSED],
            Some(Status::Done) | None => &[NEWEST],
        };
        let statement = |sql: &&'static str| Statement::new(sql, params.clone());
        found.iter().map(statement).collect()
    }
}

fn checked_time(path: &str, time: Option<i64>) -> Result<i64, Error> {
    time.filter(|time| (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(time))
        .ok_or_else(|| {
            let expected = "milliseconds since the epoch, an integer";
            Error::invalid(path, "it is no time", expected)
        })
}

/// What the statements of [`Filter::find`] found.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) items: Vec<OutboxItem>,
    /// The id and the state of each.
    pub(super) states: Vec<(String, String)>,
    /// The cursor of what is behind.
    pub(super) next: Option<String>,
}

impl Listed {
    pub(super) fn read(results: &[Vec<String>], rows: u32, now: Millis) -> Result<Self, Error> {
        let mut listed = Self::default();
        let mut last = None;
        for row in results.iter().flatten() {
            let (is_last, hit, item, state): (u8, u8, ItemRow, String) = decode(row)?;
            let item = Found::read(item, now)?.item;
            if is_last == 1 {
                last = Some(item.id.clone());
            }
            if hit == 1 {
                listed.states.push((item.id.clone(), state));
                listed.items.push(item);
            }
        }
        let rows = rows as usize;
        if listed.items.len() > rows {
            listed.items.truncate(rows);
            listed.states.truncate(rows);
            last = listed.items.last().map(|item| item.id.clone());
        }
        listed.next = last.map(|id| cursor(&id));
        Ok(listed)
    }
}

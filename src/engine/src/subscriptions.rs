//! Subscriptions: who is told of transitions, of state records and of machines (S0.31, S0.51; design 4).

use serde::Serialize;
use serde_json::{Map, Value};
use statewright_core::address;
use statewright_core::error::Error as Core;
use statewright_core::ids::{MAX_NAME_BYTES, MachineId, Millis, NameError, TenantId, check_name};

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Param, Random, Statement, random_name};
use crate::error::Error;
use crate::load::{decode, parse, rows_of};
use crate::once::Receipt;
use crate::outbound::Outbound;
use crate::page::{Page, Paging, cut, plain};
use crate::request::{self, Fields};
use crate::retry::Tries;
use crate::row::{Cell, Cells};
use crate::secrets;

/// Most subscriptions of a tenant.
pub const MOST_SUBSCRIPTIONS: usize = 100;
/// Most held rows that one batch lets go.
const MOST_RELEASED: i64 = 5_000;

/// A subscription as rows of statements tell it.
macro_rules! columns {
    () => {
        "json_array(s.id, s.source, s.machine, s.from_state, s.to_state, s.event, s.sink, s.active, s.created_at, \
           s.updated_at)"
    };
}

/// A subscription, and how many the tenant has.
pub(crate) const FIND: &str = concat!(
    "SELECT json_array((SELECT count(*) FROM subscriptions WHERE tenant = ?1), json(CASE WHEN s.id IS NOT NULL THEN ",
    columns!(),
    " END)) FROM (SELECT 1) LEFT JOIN subscriptions s ON s.tenant = ?1 AND s.id = ?2"
);

/// The subscriptions of a tenant in the order of their creation, after (?3, ?4). There are few: they are sorted.
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM subscriptions s WHERE s.tenant = ?1 AND (s.created_at, s.id) > (?3, ?4) ORDER BY s.created_at, s.id LIMIT ?2"
);

/// Aborts unless a subscription is as it was read, made at ?3 and changed at ?4; or, where these are null, there is none and room
/// for one.
pub(crate) const STANDS: &str = "INSERT INTO violations (violated) SELECT 'subscription' \
     WHERE CASE WHEN ?3 IS NULL \
       THEN EXISTS (SELECT 1 FROM subscriptions WHERE tenant = ?1 AND id = ?2) \
         OR (SELECT count(*) FROM subscriptions WHERE tenant = ?1) >= ?5 \
       ELSE NOT EXISTS (SELECT 1 FROM subscriptions WHERE tenant = ?1 AND id = ?2 AND created_at = ?3 AND updated_at = ?4) END";

/// Writes a subscription.
pub(crate) const WRITE: &str = "INSERT INTO subscriptions (tenant, id, source, machine, from_state, to_state, event, sink, \
       active, created_at, updated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (tenant, id) DO UPDATE SET source = excluded.source, \
       machine = excluded.machine, from_state = excluded.from_state, to_state = excluded.to_state, event = excluded.event, \
       sink = excluded.sink, active = excluded.active, updated_at = excluded.updated_at";

/// Deletes a subscription.
pub(crate) const DELETE: &str = "DELETE FROM subscriptions WHERE tenant = ?1 AND id = ?2";

/// The first ?3 held rows of a subscription ?2 that is not suspended: `h`.
macro_rules! released {
    () => {
        "FROM (SELECT o.id, o.lane FROM outbox o INDEXED BY outbox_held WHERE o.tenant = ?1 AND o.subscription = ?2 AND o.held = 1 \
           AND o.status = 'pending' AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.tenant = ?1 AND s.id = ?2 \
             AND s.active = 0) \
           ORDER BY o.id LIMIT ?3) h"
    };
}

/// What is held for a subscription that is no more suspended goes on: first of their lanes, whose first row is due at ?4 where
/// none of them is; then of the rows that were held.
pub(crate) const RELEASE: [&str; 2] = [
    concat!(
        "UPDATE outbox SET due_at = ?4 WHERE tenant = ?1 AND due_at IS NULL AND id IN ( \
           SELECT (SELECT n.id FROM outbox n INDEXED BY outbox_lanes WHERE n.tenant = ?1 AND n.lane = h.lane AND n.status = 'pending' \
             ORDER BY n.version, n.place LIMIT 1) ",
        released!(),
        " WHERE NOT EXISTS (SELECT 1 FROM outbox d INDEXED BY outbox_lanes WHERE d.tenant = ?1 AND d.lane = h.lane AND d.status = 'pending' \
             AND d.due_at IS NOT NULL))"
    ),
    concat!(
        "UPDATE outbox SET held = 0 WHERE tenant = ?1 AND ?4 IS NOT NULL AND id IN (SELECT h.id ",
        released!(),
        ")"
    ),
];

/// Which transitions a subscription is told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Those of state records.
    #[default]
    Records,
    /// Those of machines' entities.
    Machines,
}

impl Cell for Source {
    fn take(cells: &mut Cells) -> Self {
        match String::take(cells).as_str() {
            "records" => Self::Records,
            "machines" => Self::Machines,
            _ => cells.wrong(),
        }
    }
}

/// Where a subscription's transitions are presented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Sink {
    /// A webhook, signed where there is a secret.
    Webhook {
        /// Its address.
        url: String,
        /// The name of the secret that signs; `webhook-signing` where none is given.
        #[serde(skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
    },
    /// A queue of the host.
    Queue {
        /// Its binding.
        binding: String,
    },
}

impl Sink {
    /// Reads one as it is stored.
    pub(crate) fn read(stored: &str) -> Result<Self, Error> {
        let mut stored: Map<String, Value> = parse(stored)?;
        let mut text = |key: &str| match stored.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let sink = match (text("type").as_deref(), text("url"), text("binding")) {
            (Some("webhook"), Some(url), _) => Some(Self::Webhook {
                url,
                secret: text("secret"),
            }),
            (Some("queue"), _, Some(binding)) => Some(Self::Queue { binding }),
            _ => None,
        };
        sink.ok_or_else(|| {
            Error::Core(Core::Corrupt {
                what: "the sink of a subscription".to_owned(),
                problem: "it is none".to_owned(),
            })
        })
    }
}

/// A subscription as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubscriptionSpec {
    /// Which transitions.
    pub source: Source,
    /// Only of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Only out of this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Only into this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Only by events of this type; of machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Where they are presented.
    pub sink: Sink,
    /// Whether they are; what there is to present waits otherwise.
    pub active: bool,
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubscriptionView {
    /// Its id.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub spec: SubscriptionSpec,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
}

type Row = (
    String,
    Source,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    u8,
    Millis,
    Millis,
);

impl SubscriptionView {
    fn read(row: Row) -> Result<Self, Error> {
        let (id, source, machine, from, to, event, sink, active, created_at, updated_at) = row;
        let sink = Sink::read(&sink)?;
        Ok(Self {
            id,
            spec: SubscriptionSpec {
                source,
                machine,
                from,
                to,
                event,
                sink,
                active: active == 1,
            },
            created_at,
            updated_at,
        })
    }

    /// The statement that writes it.
    fn write(&self, tenant: &TenantId) -> Statement {
        let spec = &self.spec;
        let optional = |text: &Option<String>| text.as_deref().map_or(Param::Null, Param::from);
        let source = match spec.source {
            Source::Records => "records",
            Source::Machines => "machines",
        };
        let sink = serde_json::to_string(&spec.sink).unwrap_or_default();
        let params = [
            tenant.as_str().into(),
            self.id.as_str().into(),
            source.into(),
            optional(&spec.machine),
            optional(&spec.from),
            optional(&spec.to),
            optional(&spec.event),
            sink.into(),
            i64::from(spec.active).into(),
            self.created_at.into(),
            self.updated_at.into(),
        ];
        Statement::new(WRITE, params)
    }

    /// What names one state of it: it changes with every write.
    fn stamp(&self) -> (Millis, Millis) {
        (self.created_at, self.updated_at)
    }

    fn receipt(&self, created: bool) -> Receipt {
        Receipt {
            answer: serde_json::to_string(self).ok(),
            outcome: "applied",
            status: Some(if created { 201 } else { 200 }),
            ..Receipt::default()
        }
    }
}

/// The statements that let go what is held for a subscription, as far as it is not suspended when they run.
pub(crate) fn release(tenant: &str, id: &str, now: Millis) -> [Statement; 2] {
    RELEASE.map(|sql| {
        let params = [tenant.into(), id.into(), MOST_RELEASED.into(), now.into()];
        Statement::new(sql, params)
    })
}

fn unknown(id: &str) -> Error {
    Error::Unknown {
        what: "subscription",
        name: id.to_owned(),
    }
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Makes a subscription under an id of its own.
    ///
    /// # Errors
    /// The request is invalid, or the tenant has as many as it may have.
    pub async fn create_subscription(
        &self,
        tenant: &TenantId,
        body: &[u8],
    ) -> Result<SubscriptionView, Error> {
        let spec = self.subscription(body)?;
        let id = format!("sub_{}", random_name(&self.random));
        let (view, _) = self.write_subscription(tenant, id, spec).await?;
        Ok(view)
    }

    /// Makes a subscription of that id, or replaces it, and says whether it is new. Where it is active now, what was held for it
    /// goes on.
    ///
    /// # Errors
    /// The request is invalid, or the tenant has as many as it may have.
    pub async fn put_subscription(
        &self,
        tenant: &TenantId,
        id: &str,
        body: &[u8],
    ) -> Result<(SubscriptionView, bool), Error> {
        secrets::check_name("id", id)?;
        let spec = self.subscription(body)?;
        self.write_subscription(tenant, id.to_owned(), spec).await
    }

    async fn write_subscription(
        &self,
        tenant: &TenantId,
        id: String,
        spec: SubscriptionSpec,
    ) -> Result<(SubscriptionView, bool), Error> {
        let mut tries = Tries::begin(&self.clock);
        // What the last try of unknown end was decided on, and what it wrote.
        let mut tried: Option<(Option<(Millis, Millis)>, SubscriptionView)> = None;
        loop {
            let (count, found) = match self.find_subscription(tenant, &id).await {
                Ok(found) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let stamp = found.as_ref().map(SubscriptionView::stamp);
            if let Some((on, written)) = &tried
                && *on != stamp
                && (self.scope.keyed.is_none() || found.as_ref() == Some(written))
            {
                // It was applied, or another came after it would have been: either way this one has had its turn. Where it has a
                // key and was applied, its receipt has answered already.
                return Ok((written.clone(), on.is_none()));
            }
            if found.is_none() && count >= MOST_SUBSCRIPTIONS {
                return Err(Error::LimitReached {
                    what: "subscriptions",
                    most: MOST_SUBSCRIPTIONS,
                });
            }
            let now = self.clock.now();
            let view = SubscriptionView {
                id: id.clone(),
                spec: spec.clone(),
                created_at: stamp.map_or(now, |(created, _)| created),
                updated_at: stamp.map_or(now, |(_, updated)| now.max(updated.after(1))),
            };
            let (created, updated) = stamp.map_or((Param::Null, Param::Null), |(created, updated)| {
                (created.into(), updated.into())
            });
            let most = i64::try_from(MOST_SUBSCRIPTIONS).unwrap_or(i64::MAX);
            let params = [
                tenant.as_str().into(),
                id.as_str().into(),
                created,
                updated,
                most.into(),
            ];
            let mut batch = vec![Statement::new(STANDS, params), view.write(tenant)];
            batch.extend(release(tenant.as_str(), &id, now));
            match self
                .write_in(&self.scope, batch, &|| view.receipt(stamp.is_none()))
                .await
            {
                Ok(_) => return Ok((view, stamp.is_none())),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = Some((stamp, view));
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// The subscriptions of a tenant, in the order of their creation.
    ///
    /// # Errors
    /// The paging is invalid.
    pub async fn list_subscriptions(
        &self,
        tenant: &TenantId,
        paging: &Paging,
    ) -> Result<Page<SubscriptionView>, Error> {
        let rows = paging.rows()?;
        let (after, after_id): (i64, String) = paging.after()?.unwrap_or((-(1 << 53), String::new()));
        plain("cursor", &after_id)?;
        let params = [
            tenant.as_str().into(),
            i64::from(rows).saturating_add(1).into(),
            after.into(),
            after_id.into(),
        ];
        let results = self.read(vec![Statement::new(LIST, params)]).await?;
        let views = rows_of(&results, 0)
            .iter()
            .map(|row| SubscriptionView::read(decode(row)?));
        let views = views.collect::<Result<Vec<_>, _>>()?;
        Ok(cut(views, rows, false, |view| (view.created_at, view.id.clone())))
    }

    /// A subscription.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn get_subscription(&self, tenant: &TenantId, id: &str) -> Result<SubscriptionView, Error> {
        secrets::check_name("id", id)?;
        let (_, found) = self.find_subscription(tenant, id).await?;
        found.ok_or_else(|| unknown(id))
    }

    /// Deletes a subscription. What waits for it is skipped when its turn comes.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn delete_subscription(&self, tenant: &TenantId, id: &str) -> Result<(), Error> {
        secrets::check_name("id", id)?;
        let mut tries = Tries::begin(&self.clock);
        // The subscription that an earlier try of unknown end was to delete, by when it was made.
        let mut tried: Option<Millis> = None;
        loop {
            let found = match self.find_subscription(tenant, id).await {
                Ok((_, found)) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let Some(found) = found else {
                // Gone after a delete whose answer was lost: it was this request's doing, or came to the same.
                return if tried.is_some() { Ok(()) } else { Err(unknown(id)) };
            };
            if tried.is_some_and(|tried| tried != found.created_at) {
                // Deleted, and made again since: that one is not this request's to delete.
                return Ok(());
            }
            let (created, updated) = found.stamp();
            let params = [
                tenant.as_str().into(),
                id.into(),
                created.into(),
                updated.into(),
                0.into(),
            ];
            let mut batch = vec![
                Statement::new(STANDS, params),
                Statement::new(DELETE, [tenant.as_str().into(), id.into()]),
            ];
            // Held rows would wait for ever.
            batch.extend(release(tenant.as_str(), id, self.clock.now()));
            let receipt = || Receipt {
                outcome: "applied",
                ..Receipt::default()
            };
            match self.write_in(&self.scope, batch, &receipt).await {
                Ok(_) => return Ok(()),
                Err(error) => {
                    if matches!(error, DatabaseError::Uncertain(_)) {
                        tried = Some(created);
                    }
                    tries.again(error, &self.clock, &self.random).await?;
                }
            }
        }
    }

    /// How many subscriptions a tenant has, and the one of that id.
    async fn find_subscription(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> Result<(usize, Option<SubscriptionView>), Error> {
        let statement = Statement::new(FIND, [tenant.as_str().into(), id.into()]);
        let results = self.read(vec![statement]).await?;
        let Some(row) = rows_of(&results, 0).first() else {
            return Ok((0, None));
        };
        let (count, row): (usize, Option<Row>) = decode(row)?;
        Ok((count, row.map(SubscriptionView::read).transpose()?))
    }

    /// Reads a body.
    fn subscription(&self, body: &[u8]) -> Result<SubscriptionSpec, Error> {
        let object = request::object(body)?;
        let body = Fields {
            path: "$",
            object: &object,
        };
        body.only(&["source", "machine", "from", "to", "event", "sink", "active"])?;
        let source = match body.text("source")? {
            "records" => Source::Records,
            "machines" => Source::Machines,
            _ => {
                return Err(wrong(
                    body,
                    "source",
                    "it is no source",
                    "`records` or `machines`",
                ));
            }
        };
        let machine = body.optional_text("machine")?;
        let (from, to) = (body.optional_text("from")?, body.optional_text("to")?);
        let event = body.optional_text("event")?;
        match source {
            Source::Records => check_records(body, machine, [("from", from), ("to", to)], event)?,
            Source::Machines => {
                check_machines(body, machine, [("from", from), ("to", to), ("event", event)])?;
            }
        }
        let active = body.flag("active", true)?;
        let sink = body.map("sink")?.ok_or_else(|| {
            let expected = "an object with the `type` `webhook` or `queue`";
            wrong(body, "sink", "it is missing", expected)
        })?;
        let sink = self.sink(Fields {
            path: "$.sink",
            object: sink,
        })?;
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(SubscriptionSpec {
            source,
            machine: owned(machine),
            from: owned(from),
            to: owned(to),
            event: owned(event),
            sink,
            active,
        })
    }

    fn sink(&self, sink: Fields<'_>) -> Result<Sink, Error> {
        match sink.text("type")? {
            "webhook" => {
                sink.only(&["type", "url", "secret"])?;
                let url = sink.text("url")?;
                address::check(url, &self.settings.allow)
                    .map_err(|fault| wrong(sink, "url", fault.problem, fault.expected))?;
                let secret = sink.optional_text("secret")?;
                if let Some(secret) = secret {
                    secrets::check_name("$.sink.secret", secret)?;
                }
                Ok(Sink::Webhook {
                    url: url.to_owned(),
                    secret: secret.map(str::to_owned),
                })
            }
            "queue" => {
                sink.only(&["type", "binding"])?;
                let binding = sink.text("binding")?;
                if !is_binding(binding) {
                    return Err(wrong(
                        sink,
                        "binding",
                        "it is no name of a queue's binding",
                        "1 to 64 letters, digits and `_`, the first no digit",
                    ));
                }
                Ok(Sink::Queue {
                    binding: binding.to_owned(),
                })
            }
            _ => Err(wrong(sink, "type", "it is no sink", "`webhook` or `queue`")),
        }
    }
}

fn wrong(fields: Fields<'_>, key: &str, problem: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::invalid(fields.key(key), problem, expected)
}

/// Checks what is asked for of state records' transitions: their names have rules of their own.
fn check_records(
    body: Fields<'_>,
    machine: Option<&str>,
    states: [(&str, Option<&str>); 2],
    event: Option<&str>,
) -> Result<(), Error> {
    if event.is_some() {
        let expected = "no `event`, or the source `machines`";
        return Err(wrong(
            body,
            "event",
            "state records move without events",
            expected,
        ));
    }
    if machine.is_some_and(|name| !is_record_machine(name)) {
        return Err(wrong(
            body,
            "machine",
            "it is no machine of state records",
            "1 to 64 of a-z, 0-9, `.`, `_` and `-`, the first a letter",
        ));
    }
    for (key, state) in states {
        if state.is_some_and(|name| !is_record_state(name)) {
            return Err(wrong(
                body,
                key,
                "it is no state of a record",
                "1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or a digit",
            ));
        }
    }
    Ok(())
}

fn check_machines(
    body: Fields<'_>,
    machine: Option<&str>,
    names: [(&str, Option<&str>); 3],
) -> Result<(), Error> {
    let checked = |key: &str, what: &str, outcome: Option<Result<(), NameError>>| match outcome {
        Some(Err(error)) => Err(wrong(
            body,
            key,
            format!("it is no {what}: {error}"),
            format!("1 to {MAX_NAME_BYTES} bytes without control characters"),
        )),
        Some(Ok(())) | None => Ok(()),
    };
    let id = machine.map(|name| MachineId::new(name).map(drop));
    checked("machine", "machine id", id)?;
    for (key, name) in names {
        checked(key, "name", name.map(|name| check_name(name, MAX_NAME_BYTES)))?;
    }
    Ok(())
}

/// Whether a text is a name of 1 to 64 such bytes.
fn is_token(text: &str, first: impl Fn(u8) -> bool, other: impl Fn(u8) -> bool) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(first) && text.len() <= 64 && bytes.all(other)
}

/// A machine of state records (S0.2).
fn is_record_machine(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase();
    is_token(text, lower, |byte| {
        lower(byte) || byte.is_ascii_digit() || b"._-".contains(&byte)
    })
}

/// A state of a record (S0.4).
fn is_record_state(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    is_token(text, |byte| byte.is_ascii_alphanumeric(), inner)
}

fn is_binding(text: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    is_token(text, first, |byte| first(byte) || byte.is_ascii_digit())
}

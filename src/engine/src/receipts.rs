//! What became of an accepted request, or of an event: asked by its key, or by its identity (design 5).

use serde::Serialize;
use serde_json::Value;
use statewright_core::ids::{Millis, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::evaluate::entity_name;
use crate::load::{decode, rows_of, text};
use crate::once::Once;
use crate::outbound::Outbound;
use crate::outbox::ids::{effect_prefix, time_prefix};
use crate::page::{MAX_BYTES, plain};

/// Most milliseconds between the time in the ids of a commit's effects and that of its receipt.
const APART_MS: i64 = 5_000;

/// The receipts of a key that stand at ?3, of all its scopes, the newest first, with about ?4 bytes of answers; of a batch, how
/// many parts each of its commits has.
pub(crate) const RECEIPTS: &str = "SELECT json_array(i.scope, i.status, i.answer, i.numbers, i.outcome, i.commit_id, \
       i.created_at, i.expires_at, \
       json((SELECT json_array(n.machine_id, n.entity_id) FROM entries n WHERE n.uid = i.uid LIMIT 1)), \
       json((SELECT json_group_array(json_array(p.commit_id, p.first, p.last, p.parts)) FROM ( \
         SELECT commit_id, min(created_at) AS first, max(created_at) AS last, count(*) AS parts FROM inbox \
         WHERE tenant = ?1 AND key = ?2 AND scope = i.scope AND part >= 0 GROUP BY commit_id) p))) \
     FROM (SELECT scope, row_number() OVER (ORDER BY created_at DESC, scope) AS place, \
         sum(coalesce(octet_length(answer), 0)) OVER (ORDER BY created_at DESC, scope ROWS UNBOUNDED PRECEDING) \
           - coalesce(octet_length(answer), 0) AS before \
       FROM inbox WHERE tenant = ?1 AND key = ?2 AND part = -1 AND (expires_at > ?3 OR status = 0)) l \
     CROSS JOIN inbox i ON i.tenant = ?1 AND i.key = ?2 AND i.scope = l.scope AND i.part = -1 \
     WHERE l.place <= 100 AND l.before < ?4 ORDER BY l.place";

/// The history row of an entity's event ?4, its own or that of the legacy child that took it, and the root of its tree.
pub(crate) const BY_IDENTITY: &str = "SELECT json_array(h.id, h.commit_id, h.created_at, \
       coalesce((SELECT i.root_uid FROM instances i WHERE i.uid = h.uid), h.uid)) \
     FROM entities e CROSS JOIN history h ON h.uid IN (e.uid, (SELECT f.to_uid FROM forwards f WHERE f.uid = e.uid \
       AND f.identity_key = ?4)) AND h.identity_key = ?4 \
     WHERE e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = ?3 LIMIT 1";

/// The effects of commits: of ?2, a JSON array of [what asks, first id, an id behind the last, commit, the root of the tree or
/// null for all].
pub(crate) const EFFECTS: &str = "SELECT json_array(t.value->>0, o.id) FROM json_each(?2) t \
     CROSS JOIN outbox o ON o.tenant = ?1 AND o.id >= t.value->>1 AND o.id < t.value->>2 \
     WHERE substr(o.id, 10, 16) = t.value->>3 AND (t.value->>4 IS NULL OR substr(o.lane, 1, 16) = t.value->>4 \
       OR EXISTS (SELECT 1 FROM instances i WHERE i.uid = substr(o.lane, 1, 16) AND i.root_uid = t.value->>4)) \
     ORDER BY o.id LIMIT 1000";

/// What became of a request with a key, or of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ReceiptView {
    /// A request, a webhook's delivery or an effect's, by its key.
    Request(Box<RequestReceipt>),
    /// An event, by its identity.
    Event(EventReceipt),
}

/// What became of a request with a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestReceipt {
    /// The key.
    pub key: String,
    /// Where it was used: method and path, `hook:` and a source, or `effect`.
    pub scope: String,
    /// The HTTP status of the answer; null while a batch is under way.
    pub status: Option<u16>,
    /// What came of it.
    pub outcome: String,
    /// When.
    pub at: Millis,
    /// When the receipt is forgotten.
    pub expires_at: Millis,
    /// The machine it was for, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The entity or the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The version it made, or met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_version: Option<u64>,
    /// Of a batch, how many of its events have an outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// The answer that was given.
    pub answer: Value,
    /// The effects of its commits that are still kept, up to 1,000.
    pub outbox: Vec<String>,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventReceipt {
    /// Its identity.
    pub identity: String,
    /// What came of it: only what is applied has an identity that is kept.
    pub outcome: &'static str,
    /// The machine that was asked about.
    pub machine_id: String,
    /// The entity.
    pub entity_id: String,
    /// When it was applied.
    pub at: Millis,
    /// The history row.
    pub row: u64,
    /// The effects of its commit that are still kept, up to 1,000.
    pub outbox: Vec<String>,
}

/// A row of [`RECEIPTS`].
type ReceiptRow = (
    String,
    u16,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    Millis,
    Millis,
    Option<(String, String)>,
    Vec<(Option<String>, Millis, Millis, u64)>,
);

/// Effects that are looked for: [what asks, first id, an id behind the last, commit, the root of the tree].
type Wanted = (usize, String, String, String, Option<String>);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// What became of the requests with a key, the newest first; of a key that is an event's identity, a JSON array, what became of
    /// the event at an entity.
    ///
    /// # Errors
    /// Nothing is kept of it; or an identity came without its entity.
    pub async fn receipts(
        &self,
        tenant: &TenantId,
        key: &str,
        machine: Option<&str>,
        entity: Option<&str>,
    ) -> Result<Vec<ReceiptView>, Error> {
        if key.starts_with('[') {
            let event = self.event_receipt(tenant, key, machine, entity).await?;
            return Ok(vec![ReceiptView::Event(event)]);
        }
        // What is no key, such as the id of a strange webhook, is kept by its hash.
        let kept = Once::named(String::new(), key, String::new(), 0).key;
        let params = [
            tenant.as_str().into(),
            kept.into(),
            self.clock.now().into(),
            MAX_BYTES.into(),
        ];
        let results = self.read(vec![Statement::new(RECEIPTS, params)]).await?;
        let mut receipts = Vec::new();
        let mut wanted = Vec::new();
        for row in rows_of(&results, 0) {
            let row: ReceiptRow = decode(row)?;
            let receipt = self.receipt(key, row, receipts.len(), &mut wanted).await?;
            receipts.push(receipt);
        }
        if receipts.is_empty() {
            return Err(unknown(key));
        }
        for (place, id) in self.effects(tenant, &wanted).await? {
            if let Some(receipt) = receipts.get_mut(place) {
                receipt.outbox.push(id);
            }
        }
        let views = receipts.into_iter().map(Box::new).map(ReceiptView::Request);
        Ok(views.collect())
    }

    async fn receipt(
        &self,
        key: &str,
        row: ReceiptRow,
        place: usize,
        wanted: &mut Vec<Wanted>,
    ) -> Result<RequestReceipt, Error> {
        let (scope, status, answer, numbers, outcome, commit_id, at, expires_at, entity, parts) = row;
        let answer = match (answer, numbers) {
            (Some(answer), Some(numbers)) => {
                let answer = self.numbered_answer(answer, &numbers, commit_id.as_deref());
                decode(&answer.await)?
            }
            (Some(answer), None) => decode(&answer)?,
            (None, _) => Value::Null,
        };
        let told = |pointers: [&str; 2]| {
            let found = pointers
                .iter()
                .find_map(|pointer| answer.pointer(pointer)?.as_str());
            found.map(str::to_owned)
        };
        let entity_id = told(["/entity_id", "/record/id"]);
        let of_entity = entity.filter(|(_, id)| entity_id.as_ref() == Some(id));
        let machine_id = told(["/machine_id", "/record/machine"])
            .or_else(|| machine_of(&scope))
            .or(of_entity.map(|(machine, _)| machine));
        let versions = ["/state_version", "/record/version"];
        let version = versions
            .iter()
            .find_map(|pointer| answer.pointer(pointer)?.as_u64());
        // The id of a record's event begins as those of all its effects do.
        match answer.get("event_id").and_then(Value::as_str) {
            Some(event_id) => wanted.extend(of_event(place, event_id)),
            None => wanted.extend(commit_id.map(|commit| of_commit(place, commit, at, at))),
        }
        for (commit, first, last, _) in &parts {
            wanted.extend(
                commit
                    .clone()
                    .map(|commit| of_commit(place, commit, *first, *last)),
            );
        }
        let parts = parts
            .iter()
            .fold(0_u64, |sum, (.., parts)| sum.saturating_add(*parts));
        Ok(RequestReceipt {
            key: key.to_owned(),
            scope,
            status: (status != 0).then_some(status),
            outcome,
            at,
            expires_at,
            machine_id,
            entity_id,
            state_version: version,
            parts: (parts > 0).then_some(parts),
            answer,
            outbox: Vec::new(),
        })
    }

    async fn event_receipt(
        &self,
        tenant: &TenantId,
        identity: &str,
        machine: Option<&str>,
        entity: Option<&str>,
    ) -> Result<EventReceipt, Error> {
        let needed = |name: &str, given: Option<&str>| {
            let problem = "it is missing beside the identity of an event";
            let missing = || Error::invalid(name, problem, "where the event was sent");
            given.map(str::to_owned).ok_or_else(missing)
        };
        let (machine, entity) = (needed("machine", machine)?, needed("entity", entity)?);
        let name = entity_name(tenant, &machine, &entity)?;
        plain("key", identity)?;
        // As it is stored, without the spaces that a caller may have put in.
        let identity = match serde_json::from_str::<Value>(identity) {
            Ok(value) => value.to_string(),
            Err(_) => {
                return Err(Error::invalid(
                    "key",
                    "it begins like the identity of an event, and is none",
                    "a JSON array such as `[\"evt\",\"pay\",1700000000000]`",
                ));
            }
        };
        let (tenant_text, machine_text, entity_text) = name.texts();
        let params = [
            tenant_text.into(),
            machine_text.into(),
            entity_text.into(),
            identity.as_str().into(),
        ];
        let results = self.read(vec![Statement::new(BY_IDENTITY, params)]).await?;
        let row = rows_of(&results, 0).first().ok_or_else(|| unknown(&identity))?;
        let (row, commit, at, root): (u64, String, Millis, String) = decode(row)?;
        let prefix = effect_prefix(at, &commit);
        let wanted = (0, format!("{prefix}."), format!("{prefix}/"), commit, Some(root));
        let effects = self.effects(tenant, &[wanted]).await?;
        Ok(EventReceipt {
            identity,
            outcome: "applied",
            machine_id: machine,
            entity_id: entity,
            at,
            row,
            outbox: effects.into_iter().map(|(_, id)| id).collect(),
        })
    }

    /// The ids of effects, each with what asked for it.
    async fn effects(&self, tenant: &TenantId, wanted: &[Wanted]) -> Result<Vec<(usize, String)>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let params = [tenant.as_str().into(), text(&wanted)];
        let results = self.read(vec![Statement::new(EFFECTS, params)]).await?;
        rows_of(&results, 0).iter().map(|row| decode(row)).collect()
    }
}

fn unknown(key: &str) -> Error {
    Error::Unknown {
        what: "receipt",
        name: key.to_owned(),
    }
}

/// The effects of a commit whose receipts are of these times.
fn of_commit(place: usize, commit: String, first: Millis, last: Millis) -> Wanted {
    let from = time_prefix(Millis(first.0.saturating_sub(APART_MS)));
    let below = time_prefix(Millis(last.0.saturating_add(APART_MS)));
    (place, from, below, commit, None)
}

/// The effects of a commit by the id of its event.
fn of_event(place: usize, event_id: &str) -> Option<Wanted> {
    let (prefix, commit) = (event_id.get(..25)?, event_id.get(9..25)?);
    let (from, below) = (format!("{prefix}."), format!("{prefix}/"));
    Some((place, from, below, commit.to_owned(), None))
}

/// The machine that a request's path names.
fn machine_of(scope: &str) -> Option<String> {
    let (_, path) = scope.split_once(" /api/machines/")?;
    let segment = path.split('/').next()?;
    let mut bytes = Vec::new();
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

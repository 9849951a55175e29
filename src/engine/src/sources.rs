//! Sources of webhooks: how a tenant's provider signs its requests, and what event each becomes (design 5).

mod mapping;
mod time;

pub use mapping::Mapped;
pub(crate) use mapping::{Inbound, Unmapped};

use serde::Serialize;
use serde_json::{Map, Value, json};
use statewright_core::error::Error as Core;
use statewright_core::ids::{MachineId, Millis, TenantId};
use statewright_core::sorted::SortedMap;

use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::error::Error;
use crate::load::{decode, parse, rows_of, text};
use crate::once::{Receipt, Scope};
use crate::outbound::Outbound;
use crate::request::{self, Fields, json_bytes};
use crate::retry::Tries;
use crate::row::{Cell, Cells};
use crate::secrets::{Sealed, check_name, receipt_of_nothing};
use crate::signature::{Encoding, Plain, Scheme, Unsigned, verify};
use mapping::{Mapping, header_name};

/// Most sources of a tenant.
pub const MOST_SOURCES: usize = 100;
/// Most bytes of a source as JSON.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024;
/// How far a signature's time may be from now, in seconds, where the source does not say.
const TOLERANCE: u64 = 300;
/// The most that a source may say.
const MOST_TOLERANCE: u64 = 86_400;

/// A tenant's sources, with what was counted.
pub(crate) const LIST: &str = "SELECT json_array(s.id, s.source, s.created_at, s.updated_at, json((SELECT \
       json_group_object(c.outcome, c.count) FROM source_counts c WHERE c.tenant = s.tenant AND c.source = s.id))) \
     FROM sources s WHERE s.tenant = ?1 ORDER BY s.id";

/// One source with what was counted.
pub(crate) const GET: &str = "SELECT json_array(s.id, s.source, s.created_at, s.updated_at, json((SELECT \
       json_group_object(c.outcome, c.count) FROM source_counts c WHERE c.tenant = s.tenant AND c.source = s.id))) \
     FROM sources s WHERE s.tenant = ?1 AND s.id = ?2";

/// How many sources a tenant has.
pub(crate) const COUNT: &str = "SELECT json_array(count(*)) FROM sources WHERE tenant = ?1";

/// Aborts where a source is new and there is no room for it.
pub(crate) const ROOM: &str = "INSERT INTO violations (violated) SELECT 'sources' \
     WHERE NOT EXISTS (SELECT 1 FROM sources WHERE tenant = ?1 AND id = ?2) \
       AND (SELECT count(*) FROM sources WHERE tenant = ?1) >= ?3";

/// Writes a source.
pub(crate) const WRITE: &str = "INSERT INTO sources (tenant, id, source, created_at, updated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, id) DO UPDATE SET source = excluded.source, \
       updated_at = excluded.updated_at";

/// Deletes a source and what was counted.
pub(crate) const DELETE: [&str; 2] = [
    "DELETE FROM source_counts WHERE tenant = ?1 AND source = ?2",
    "DELETE FROM sources WHERE tenant = ?1 AND id = ?2",
];

/// A source and its sealed secret, for a request.
pub(crate) const REGISTERED: &str = "SELECT json_array(s.source, k.name, k.current, k.previous) FROM sources s \
     LEFT JOIN secrets k ON k.tenant = s.tenant AND k.name = s.source ->> 'secret' WHERE s.tenant = ?1 AND s.id = ?2";

/// Counts what became of a request, where its source is still there.
pub(crate) const TALLY: &str = "INSERT INTO source_counts (tenant, source, outcome, count, last_at) \
     SELECT ?1, ?2, ?3, 1, ?4 WHERE EXISTS (SELECT 1 FROM sources WHERE tenant = ?1 AND id = ?2) \
     ON CONFLICT (tenant, source, outcome) DO UPDATE SET count = count + 1, last_at = max(last_at, excluded.last_at)";

/// A source as it is worked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) machine: MachineId,
    pub(crate) scheme: Scheme,
    pub(crate) secret: String,
    pub(crate) tolerance: u64,
    pub(crate) mapping: Mapping,
    pub(crate) create: bool,
    pub(crate) active: bool,
}

/// How many requests became what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Moved their entity.
    pub applied: u64,
    /// Came before.
    pub duplicate: u64,
    /// Moved nothing.
    pub no_transition: u64,
    /// Were refused.
    pub refused: u64,
    /// Were no event for the source's mapping.
    pub unmapped: u64,
    /// Were not signed as they had to be.
    pub bad_signature: u64,
    /// Set the source up at its provider.
    pub handshake: u64,
}

impl Cell for Counts {
    fn take(cells: &mut Cells) -> Self {
        let counts = cells.next();
        let of = |key: &str| counts.get(key).and_then(Value::as_u64).unwrap_or_default();
        Self {
            applied: of("applied"),
            duplicate: of("duplicate"),
            no_transition: of("no_transition"),
            refused: of("refused"),
            unmapped: of("unmapped"),
            bad_signature: of("bad_signature"),
            handshake: of("handshake"),
        }
    }
}

/// A source as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceView {
    /// Its id.
    pub id: String,
    /// What was registered, with what it left out.
    #[serde(flatten)]
    pub source: Map<String, Value>,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last registered.
    pub updated_at: Millis,
    /// What its requests became.
    pub counts: Counts,
}

/// What a body would become, as `try` tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// Whether it becomes an event.
    pub mapped: bool,
    /// Which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Mapped>,
    /// Why it becomes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Which part of the source that is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether its headers sign it: `valid`, `invalid` or `absent`.
    pub signature: &'static str,
    /// Why they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_problem: Option<String>,
}

/// A source as a request finds it.
pub(crate) struct Registered {
    pub(crate) source: Source,
    pub(crate) sealed: Option<Sealed>,
}

fn unknown(id: &str) -> Error {
    Error::Unknown {
        what: "source",
        name: id.to_owned(),
    }
}

impl Source {
    /// Reads a source, and fills in what it leaves out.
    fn read(given: &Map<String, Value>) -> Result<(Self, Map<String, Value>), Error> {
        let fields = Fields {
            path: "$",
            object: given,
        };
        fields.only(&[
            "machine",
            "scheme",
            "secret",
            "tolerance",
            "mapping",
            "create",
            "active",
        ])?;
        let machine = MachineId::new(fields.text("machine")?).map_err(|error| {
            Error::invalid(
                "$.machine",
                format!("it is no machine id: {error}"),
                "a machine's id",
            )
        })?;
        let missing = |key: &str| Error::invalid(fields.key(key), "it is missing", "an object");
        let scheme_object = fields.map("scheme")?.ok_or_else(|| missing("scheme"))?;
        let scheme = read_scheme(Fields {
            path: "$.scheme",
            object: scheme_object,
        })?;
        let secret = fields.text("secret")?.to_owned();
        check_name("$.secret", &secret)?;
        let tolerance = match fields.given("tolerance") {
            None => TOLERANCE,
            Some(given) => {
                let seconds = given
                    .as_u64()
                    .filter(|seconds| (1..=MOST_TOLERANCE).contains(seconds));
                seconds.ok_or_else(|| {
                    Error::invalid(
                        "$.tolerance",
                        "it is no tolerance",
                        format!("a whole number of seconds from 1 to {MOST_TOLERANCE}"),
                    )
                })?
            }
        };
        let mapping_object = fields.map("mapping")?.ok_or_else(|| missing("mapping"))?;
        let mapping = Mapping::read(
            Fields {
                path: "$.mapping",
                object: mapping_object,
            },
            &scheme,
        )?;
        let source = Self {
            machine,
            scheme,
            secret,
            tolerance,
            create: fields.flag("create", true)?,
            active: fields.flag("active", true)?,
            mapping,
        };
        let shown = source.shown(given);
        Ok((source, shown))
    }

    /// What was given, without nulls and with what it left out.
    fn shown(&self, given: &Map<String, Value>) -> Map<String, Value> {
        let mut shown = given.clone();
        shown.insert("tolerance".to_owned(), self.tolerance.into());
        shown.insert("create".to_owned(), self.create.into());
        shown.insert("active".to_owned(), self.active.into());
        if let Some(Value::Object(mapping)) = shown.get_mut("mapping") {
            mapping.insert("ignore".to_owned(), json!(self.mapping.ignored()));
            mapping.retain(|_, value| !value.is_null());
        }
        if let Some(Value::Object(scheme)) = shown.get_mut("scheme") {
            if let Scheme::Hmac(plain) = &self.scheme {
                scheme.insert("header".to_owned(), plain.header.as_str().into());
                let encoding = match plain.encoding {
                    Encoding::Hex => "hex",
                    Encoding::Base64 => "base64",
                };
                scheme.insert("encoding".to_owned(), encoding.into());
                scheme.insert("prefix".to_owned(), plain.prefix.as_str().into());
            }
            scheme.retain(|_, value| !value.is_null());
        }
        shown
    }

    /// Whether a request is signed as it must be.
    pub(crate) fn verify(
        &self,
        secrets: &[String],
        headers: &dyn Fn(&str) -> Option<String>,
        body: &[u8],
        now: Millis,
    ) -> Result<(), Unsigned> {
        let seconds = now.0.div_euclid(1000);
        verify(&self.scheme, secrets, headers, body, seconds, self.tolerance)
    }
}

fn read_scheme(fields: Fields<'_>) -> Result<Scheme, Error> {
    let named = fields.text("type")?;
    let scheme = match named {
        "standard-webhooks" => Scheme::StandardWebhooks,
        "github" => Scheme::GitHub,
        "stripe" => Scheme::Stripe,
        "slack" => Scheme::Slack,
        "hmac-sha256" => {
            fields.only(&["type", "header", "encoding", "prefix", "timestamp_header"])?;
            let header = |key: &str| {
                let name = fields.optional_text(key)?;
                name.map(|name| header_name(&fields.key(key), name)).transpose()
            };
            let encoding = match fields.optional_text("encoding")? {
                None | Some("hex") => Encoding::Hex,
                Some("base64") => Encoding::Base64,
                Some(other) => {
                    return Err(Error::invalid(
                        "$.scheme.encoding",
                        format!("`{}` is no encoding", other.chars().take(80).collect::<String>()),
                        "`hex` or `base64`",
                    ));
                }
            };
            let prefix = fields.optional_text("prefix")?.unwrap_or_default();
            if prefix.len() > 64 || !prefix.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
                return Err(Error::invalid(
                    "$.scheme.prefix",
                    "no header has it",
                    "up to 64 printable ASCII characters",
                ));
            }
            return Ok(Scheme::Hmac(Plain {
                header: header("header")?.unwrap_or_else(|| "x-signature".to_owned()),
                encoding,
                prefix: prefix.to_owned(),
                timestamp_header: header("timestamp_header")?,
            }));
        }
        other => {
            return Err(Error::invalid(
                "$.scheme.type",
                format!("`{}` is no scheme", other.chars().take(80).collect::<String>()),
                "`standard-webhooks`, `github`, `stripe`, `slack` or `hmac-sha256`",
            ));
        }
    };
    fields.only(&["type"])?;
    Ok(scheme)
}

fn view(row: &str) -> Result<SourceView, Error> {
    let (id, source, created_at, updated_at, counts): (String, String, _, _, _) = decode(row)?;
    Ok(SourceView {
        id,
        source: parse(&source)?,
        created_at,
        updated_at,
        counts,
    })
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// A tenant's sources by id.
    ///
    /// # Errors
    /// The database failed.
    pub async fn list_sources(&self, tenant: &TenantId) -> Result<Vec<SourceView>, Error> {
        let statement = Statement::new(LIST, [tenant.as_str().into()]);
        let results = self.read(vec![statement]).await?;
        rows_of(&results, 0).iter().map(|row| view(row)).collect()
    }

    /// One source.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn get_source(&self, tenant: &TenantId, id: &str) -> Result<SourceView, Error> {
        check_name("source", id)?;
        let (found, _) = self.find_source(tenant, id).await?;
        found.ok_or_else(|| unknown(id))
    }

    /// Registers a source, or replaces it; and whether it is new. Its machine and its secret may come later.
    ///
    /// # Errors
    /// The id or the body is invalid, or the tenant has [`MOST_SOURCES`].
    pub async fn put_source(
        &self,
        tenant: &TenantId,
        id: &str,
        body: &[u8],
    ) -> Result<(SourceView, bool), Error> {
        check_name("source", id)?;
        let (_, shown) = Source::read(&request::object(body)?)?;
        let bytes = json_bytes(&shown);
        if bytes > MAX_SOURCE_BYTES {
            return Err(Error::Core(Core::TooLarge {
                what: "the source",
                bytes,
                most: MAX_SOURCE_BYTES,
            }));
        }
        let mut tries = Tries::begin(&self.clock);
        let mut existed = None;
        loop {
            let (found, count) = match self.find_source(tenant, id).await {
                Ok(found) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            // As the first try found it: what stands now may be the write of that one.
            let existed = *existed.get_or_insert(found.is_some());
            if found.is_none() && count >= MOST_SOURCES {
                return Err(Error::LimitReached {
                    what: "sources",
                    most: MOST_SOURCES,
                });
            }
            let now = self.clock.now();
            let kept = SourceView {
                id: id.to_owned(),
                source: shown.clone(),
                created_at: found.as_ref().map_or(now, |found| found.created_at),
                updated_at: now,
                counts: found.map(|found| found.counts).unwrap_or_default(),
            };
            let receipt = || Receipt {
                status: Some(if existed { 200 } else { 201 }),
                answer: Some(serde_json::to_string(&kept).unwrap_or_default()),
                outcome: "applied",
                ..Receipt::default()
            };
            match self.write_in(&self.scope, write(tenant, &kept), &receipt).await {
                Ok(_) => return Ok((kept, !existed)),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    /// Deletes a source with what was counted. What its requests did stays.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn delete_source(&self, tenant: &TenantId, id: &str) -> Result<(), Error> {
        check_name("source", id)?;
        let mut tries = Tries::begin(&self.clock);
        loop {
            let found = match self.find_source(tenant, id).await {
                Ok((found, _)) => found,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            if found.is_none() {
                // An earlier try of this request deleted it after all.
                return if tries.is_uncertain() {
                    Ok(())
                } else {
                    Err(unknown(id))
                };
            }
            let delete = DELETE.map(|sql| Statement::new(sql, [tenant.as_str().into(), id.into()]));
            match self
                .write_in(&self.scope, delete.into(), &receipt_of_nothing)
                .await
            {
                Ok(_) => return Ok(()),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    async fn find_source(&self, tenant: &TenantId, id: &str) -> Result<(Option<SourceView>, usize), Error> {
        let statements = vec![
            Statement::new(GET, [tenant.as_str().into(), id.into()]),
            Statement::new(COUNT, [tenant.as_str().into()]),
        ];
        let results = self.read(statements).await?;
        let found = rows_of(&results, 0).first().map(|row| view(row)).transpose()?;
        let count = rows_of(&results, 1)
            .first()
            .map(|row| decode::<(usize,)>(row))
            .transpose()?;
        Ok((found, count.map_or(0, |(count,)| count)))
    }

    /// What a body would become, without applying it. The body of the request is `{"body": …, "headers"?: {…}}`: any JSON, or
    /// a text for the bytes as they come.
    ///
    /// # Errors
    /// There is no such source, or the request is invalid.
    pub async fn try_source(&self, tenant: &TenantId, id: &str, body: &[u8]) -> Result<Tried, Error> {
        check_name("source", id)?;
        let object = request::object(body)?;
        let fields = Fields {
            path: "$",
            object: &object,
        };
        fields.only(&["body", "headers"])?;
        let sent = match object.get("body") {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => {
                return Err(Error::invalid(
                    "$.body",
                    "it is missing",
                    "any JSON, or the body as a text",
                ));
            }
        };
        let mut given = SortedMap::new();
        for (name, value) in fields.map("headers")?.into_iter().flatten() {
            let path = format!("$.headers[{}]", Value::from(name.as_str()));
            let Value::String(value) = value else {
                return Err(Error::invalid(
                    path,
                    "it is no string",
                    "the header's value as a string",
                ));
            };
            given.insert(header_name(&path, name)?, value.clone());
        }
        let headers = |name: &str| given.get(name).cloned();
        let registered = self.registered(tenant, id).await?.ok_or_else(|| unknown(id))?;
        let source = &registered.source;
        let secrets = self.secrets_of(&registered).await;
        let tried = secrets.as_deref().unwrap_or_default();
        let verified = source.verify(tried, &headers, sent.as_bytes(), self.clock.now());
        let (signature, signature_problem) = match (verified, secrets) {
            (Err(problem @ Unsigned::Absent(_)), _) => ("absent", Some(problem.to_string())),
            (_, Err(error)) => ("invalid", Some(error.to_string())),
            (_, Ok(secrets)) if secrets.is_empty() => {
                ("invalid", Some(format!("there is no secret `{}`", source.secret)))
            }
            (Ok(()), Ok(_)) => ("valid", None),
            (Err(problem), Ok(_)) => ("invalid", Some(problem.to_string())),
        };
        let inbound = Inbound::read(&headers, sent.as_bytes());
        let handshake = crate::hooks::handshake(&source.scheme, &headers, inbound.as_ref().ok());
        let mapped = match (handshake, inbound) {
            (Some(_), _) => Err(Unmapped {
                problem: "it sets the source up at its provider: it is answered, and becomes no event"
                    .to_owned(),
                path: "body".to_owned(),
            }),
            (None, Ok(inbound)) => source.mapping.map(&source.scheme, &inbound),
            (None, Err(unmapped)) => Err(unmapped),
        };
        let (event, unmapped) = match mapped {
            Ok(event) => (Some(event), None),
            Err(unmapped) => (None, Some(unmapped)),
        };
        let (problem, path) = unmapped.map(|unmapped| (unmapped.problem, unmapped.path)).unzip();
        Ok(Tried {
            mapped: event.is_some(),
            event,
            problem,
            path,
            signature,
            signature_problem,
        })
    }

    /// A source with its sealed secret.
    pub(crate) async fn registered(&self, tenant: &TenantId, id: &str) -> Result<Option<Registered>, Error> {
        let statement = Statement::new(REGISTERED, [tenant.as_str().into(), id.into()]);
        // A provider's request has no key of its own, and a try has no use for one.
        let results = self.read_in(&Scope::default(), vec![statement]).await?;
        let Some(row) = rows_of(&results, 0).first() else {
            return Ok(None);
        };
        let (source, name, current, previous): (String, Option<String>, Option<String>, _) = decode(row)?;
        let (source, _) = Source::read(&parse(&source)?).map_err(|error| {
            Error::Core(Core::Corrupt {
                what: format!("source `{id}`"),
                problem: error.to_string(),
            })
        })?;
        let sealed = name.zip(current).map(|(name, current)| Sealed {
            tenant: tenant.as_str().to_owned(),
            name,
            current,
            previous,
        });
        Ok(Some(Registered { source, sealed }))
    }

    /// The live values of a source's secret; none where there is no such secret.
    pub(crate) async fn secrets_of(&self, registered: &Registered) -> Result<Vec<String>, Error> {
        match &registered.sealed {
            Some(sealed) => self.open_secret(sealed).await,
            None => Ok(Vec::new()),
        }
    }

    /// Counts what became of a request. That it cannot must not hide what did.
    pub(crate) async fn tally(&self, tenant: &TenantId, id: &str, outcome: &str) {
        let params = [
            tenant.as_str().into(),
            id.into(),
            outcome.into(),
            self.clock.now().into(),
        ];
        let _ = self.batch(vec![Statement::new(TALLY, params)]).await;
    }
}

fn write(tenant: &TenantId, kept: &SourceView) -> Vec<Statement> {
    let key = || -> [Param; 2] { [tenant.as_str().into(), kept.id.as_str().into()] };
    let [owner, id] = key();
    let most = Param::Integer(i64::try_from(MOST_SOURCES).unwrap_or(i64::MAX));
    let room = Statement::new(ROOM, [owner, id, most]);
    let [owner, id] = key();
    let params = [
        owner,
        id,
        text(&kept.source),
        kept.created_at.into(),
        kept.updated_at.into(),
    ];
    vec![room, Statement::new(WRITE, params)]
}

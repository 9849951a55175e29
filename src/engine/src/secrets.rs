//! Secrets of a tenant: named values, sealed by the host, to sign with, to verify with and to put into headers (design 4).
//!
//! A value is never told again. One that the service makes up is told once, in the answer that it was made for; the receipt
//! of a request with an Idempotency-Key does not hold it, so a replay answers without `value`, and rotating gives a new one.

use serde::{Deserialize, Serialize};
use statewright_core::ids::{Millis, TenantId};

use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::error::Error;
use crate::load::{decode, parse, rows_of};
use crate::once::{Receipt, Scope};
use crate::outbound::{Outbound, VaultFailure};
use crate::request::{self, Fields};
use crate::retry::Tries;
use crate::signature::to_base64;

/// Most secrets of a tenant.
pub const MOST_SECRETS: usize = 100;
/// Most bytes of a secret's value.
pub const MAX_SECRET_BYTES: usize = 4096;

/// A tenant's secrets, without their values.
pub(crate) const LIST: &str = "SELECT json_array(name, version, created_at, updated_at, rotated_at, previous IS NOT NULL) \
     FROM secrets WHERE tenant = ?1 ORDER BY name";

/// One secret as it is.
pub(crate) const FIND: &str = "SELECT json_array(version, current, previous, created_at, rotated_at) FROM secrets \
     WHERE tenant = ?1 AND name = ?2";

/// How many secrets a tenant has.
pub(crate) const COUNT: &str = "SELECT json_array(count(*)) FROM secrets WHERE tenant = ?1";

/// Aborts unless a secret is at the version that it was read at (0: there is none), and there is room for a new one.
pub(crate) const STANDS: &str = "INSERT INTO violations (violated) SELECT 'secret' \
     WHERE coalesce((SELECT version FROM secrets WHERE tenant = ?1 AND name = ?2), 0) <> ?3 \
       OR coalesce((SELECT current FROM secrets WHERE tenant = ?1 AND name = ?2), '') <> ?5 \
       OR ?3 = 0 AND (SELECT count(*) FROM secrets WHERE tenant = ?1) >= ?4";

/// Writes a secret.
pub(crate) const WRITE: &str = "INSERT INTO secrets (tenant, name, version, current, previous, created_at, updated_at, \
       rotated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (tenant, name) DO UPDATE SET version = excluded.version, \
       current = excluded.current, previous = excluded.previous, updated_at = excluded.updated_at, \
       rotated_at = excluded.rotated_at";

/// Deletes a secret.
pub(crate) const DELETE: &str = "DELETE FROM secrets WHERE tenant = ?1 AND name = ?2";

/// A secret as it is shown: everything but its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretView {
    /// Its name.
    pub name: String,
    /// How many values it has had since it was made.
    pub version: u64,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last changed.
    pub updated_at: Millis,
    /// When it was last rotated.
    pub rotated_at: Option<Millis>,
    /// Whether the value before is live as well.
    pub previous: bool,
}

/// What became of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretKept {
    /// The secret.
    #[serde(flatten)]
    pub secret: SecretView,
    /// The value, where the service made it up: this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it is new.
    #[serde(skip)]
    pub created: bool,
}

/// The sealed values of a secret, to be opened by [`Engine::open_secret`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) current: String,
    pub(crate) previous: Option<String>,
}

/// What is to become of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Nothing but the new value is live.
    Put,
    /// The value so far stays live beside it.
    Rotate,
    /// The value before is dropped.
    DropPrevious,
}

/// A secret as it was read.
#[derive(Deserialize)]
struct Found {
    version: u64,
    current: String,
    previous: Option<String>,
    created_at: Millis,
    rotated_at: Option<Millis>,
}

/// Checks the name of a secret or of a source.
pub(crate) fn check_name(path: &str, name: &str) -> Result<(), Error> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= 64 && name.bytes().all(inner) {
        return Ok(());
    }
    Err(Error::invalid(
        path,
        "it is no name",
        "1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or a digit",
    ))
}

/// What a sealed value is bound to: it opens in no other place. No name has a line break.
fn context(tenant: &str, name: &str) -> String {
    format!("{tenant}\n{name}")
}

fn locked(failure: &VaultFailure) -> Error {
    Error::SecretsDisabled(failure.to_string())
}

fn unknown(name: &str) -> Error {
    Error::Unknown {
        what: "secret",
        name: name.to_owned(),
    }
}

/// The value of a body, if it gives one.
fn given_value(body: &[u8]) -> Result<Option<String>, Error> {
    if body.is_empty() {
        return Ok(None);
    }
    let object = request::object(body)?;
    let fields = Fields {
        path: "$",
        object: &object,
    };
    fields.only(&["value"])?;
    let Some(value) = fields.optional_text("value")? else {
        return Ok(None);
    };
    if !(1..=MAX_SECRET_BYTES).contains(&value.len()) {
        return Err(Error::invalid(
            "$.value",
            format!("it has {} bytes", value.len()),
            format!("1 to {MAX_SECRET_BYTES} bytes; leave it out for one to be made"),
        ));
    }
    Ok(Some(value.to_owned()))
}

/// Reads what [`sealed_rows`] found.
pub(crate) fn sealed_of(rows: &[String]) -> Result<Vec<Sealed>, Error> {
    let sealed = |row: &String| {
        let (tenant, name, current, previous) = decode(row)?;
        Ok(Sealed {
            tenant,
            name,
            current,
            previous,
        })
    };
    rows.iter().map(sealed).collect()
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// A tenant's secrets by name, without their values.
    ///
    /// # Errors
    /// The database failed.
    pub async fn list_secrets(&self, tenant: &TenantId) -> Result<Vec<SecretView>, Error> {
        let statement = Statement::new(LIST, [tenant.as_str().into()]);
        let results = self.read(vec![statement]).await?;
        let view = |row: &String| {
            let (name, version, created_at, updated_at, rotated_at, previous): (_, _, _, _, _, u8) =
                decode(row)?;
            Ok(SecretView {
                name,
                version,
                created_at,
                updated_at,
                rotated_at,
                previous: previous == 1,
            })
        };
        rows_of(&results, 0).iter().map(view).collect()
    }

    /// Makes a secret or replaces it: no value from before stays live. Without a value in the body one is made up, and told
    /// this once.
    ///
    /// # Errors
    /// The name or the body is invalid, the tenant has [`MOST_SECRETS`], or the host has no key to seal with.
    pub async fn put_secret(&self, tenant: &TenantId, name: &str, body: &[u8]) -> Result<SecretKept, Error> {
        self.keep_secret(tenant, name, body, Change::Put).await
    }

    /// Gives a secret a new value. The one so far stays live until the next rotation or until it is deleted; one before
    /// that is dropped.
    ///
    /// # Errors
    /// As [`Engine::put_secret`], and where there is no such secret.
    pub async fn rotate_secret(
        &self,
        tenant: &TenantId,
        name: &str,
        body: &[u8],
    ) -> Result<SecretKept, Error> {
        self.keep_secret(tenant, name, body, Change::Rotate).await
    }

    /// Ends the life of the value before the current one.
    ///
    /// # Errors
    /// There is no such secret, or it has no such value.
    pub async fn delete_previous_secret(&self, tenant: &TenantId, name: &str) -> Result<(), Error> {
        check_name("name", name)?;
        let kept = self.change_secret(tenant, name, Change::DropPrevious, None).await;
        kept.map(drop)
    }

    /// Deletes a secret with all its values. What names it is not looked at: it signs nothing from then on, and nothing is
    /// signed with it.
    ///
    /// # Errors
    /// There is no such secret.
    pub async fn delete_secret(&self, tenant: &TenantId, name: &str) -> Result<(), Error> {
        check_name("name", name)?;
        let mut tries = Tries::begin(&self.clock);
        loop {
            let found = match self.find_secret(tenant, name, &tries).await {
                Ok((found, ..)) => found,
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
                    Err(unknown(name))
                };
            }
            let delete = Statement::new(DELETE, [tenant.as_str().into(), name.into()]);
            match self
                .write_in(&self.scope, vec![delete], &receipt_of_nothing)
                .await
            {
                Ok(_) => return Ok(()),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    async fn keep_secret(
        &self,
        tenant: &TenantId,
        name: &str,
        body: &[u8],
        change: Change,
    ) -> Result<SecretKept, Error> {
        check_name("name", name)?;
        let given = given_value(body)?;
        let made = given.is_none().then(|| {
            let bytes = [self.random.bytes(), self.random.bytes()].concat();
            format!("whsec_{}", to_base64(&bytes))
        });
        let value = given.as_deref().or(made.as_deref()).unwrap_or_default();
        let sealed = self.outbound.seal(&context(tenant.as_str(), name), value).await;
        let sealed = sealed.map_err(|failure| locked(&failure))?;
        let (secret, created) = self.change_secret(tenant, name, change, Some(sealed)).await?;
        Ok(SecretKept {
            secret,
            value: made,
            created,
        })
    }

    /// Writes a change. The sealed value tells this request's own write: no two are sealed to the same text.
    async fn change_secret(
        &self,
        tenant: &TenantId,
        name: &str,
        change: Change,
        sealed: Option<String>,
    ) -> Result<(SecretView, bool), Error> {
        let mut tries = Tries::begin(&self.clock);
        loop {
            let (found, count, replayed) = match self.find_secret(tenant, name, &tries).await {
                Ok(read) => read,
                Err(error) => {
                    self.read_failed(&mut tries, error).await?;
                    continue;
                }
            };
            let now = self.clock.now();
            let view = |found: &Found| SecretView {
                name: name.to_owned(),
                version: found.version,
                created_at: found.created_at,
                updated_at: now,
                rotated_at: found.rotated_at,
                previous: found.previous.is_some(),
            };
            if tries.is_uncertain()
                && let Some(found) = &found
            {
                let own = match &sealed {
                    Some(sealed) => *sealed == found.current,
                    None => found.previous.is_none(),
                };
                if own {
                    return Ok((view(found), found.version == 1));
                }
            }
            if let Some(replayed) = replayed {
                return Err(replayed);
            }
            let next = next(name, found.as_ref(), count, change, sealed.clone(), now)?;
            let version = found.as_ref().map_or(0, |found| found.version);
            let secret = view(&next);
            let created = version == 0;
            let receipt = || match change {
                Change::DropPrevious => receipt_of_nothing(),
                Change::Put | Change::Rotate => Receipt {
                    status: Some(if created { 201 } else { 200 }),
                    answer: Some(serde_json::to_string(&secret).unwrap_or_default()),
                    outcome: "applied",
                    ..Receipt::default()
                },
            };
            match self
                .write_in(
                    &self.scope,
                    write(tenant, name, found.as_ref(), &next, now),
                    &receipt,
                )
                .await
            {
                Ok(_) => return Ok((secret, created)),
                Err(error) => tries.again(error, &self.clock, &self.random).await?,
            }
        }
    }

    /// Reads a secret and how many the tenant has. The receipt of a write whose end is unknown may be this request's own: it
    /// comes with what was read.
    async fn find_secret(
        &self,
        tenant: &TenantId,
        name: &str,
        tries: &Tries,
    ) -> Result<(Option<Found>, usize, Option<Error>), Error> {
        let statements = vec![
            Statement::new(FIND, [tenant.as_str().into(), name.into()]),
            Statement::new(COUNT, [tenant.as_str().into()]),
        ];
        let (results, replayed) = match self.read(statements.clone()).await {
            Err(replayed @ Error::Replayed(_)) if tries.is_uncertain() => {
                (self.read_in(&Scope::default(), statements).await?, Some(replayed))
            }
            read => (read?, None),
        };
        let found = rows_of(&results, 0).first().map(|row| parse(row)).transpose()?;
        let count = rows_of(&results, 1).first().map(|row| decode(row)).transpose()?;
        let (count,) = count.unwrap_or((0,));
        Ok((found, count, replayed))
    }

    /// The live values of a secret, the current one first.
    ///
    /// # Errors
    /// The host has no key, or another one than they were sealed with.
    pub(crate) async fn open_secret(&self, sealed: &Sealed) -> Result<Vec<String>, Error> {
        let context = context(&sealed.tenant, &sealed.name);
        let mut values = Vec::new();
        for text in std::iter::once(&sealed.current).chain(&sealed.previous) {
            let opened = self.outbound.open(&context, text).await;
            values.push(opened.map_err(|failure| locked(&failure))?);
        }
        Ok(values)
    }
}

/// A secret as a change leaves it.
fn next(
    name: &str,
    found: Option<&Found>,
    count: usize,
    change: Change,
    sealed: Option<String>,
    now: Millis,
) -> Result<Found, Error> {
    let new = sealed.unwrap_or_default();
    match (change, found) {
        (Change::Put, None) if count >= MOST_SECRETS => Err(Error::LimitReached {
            what: "secrets",
            most: MOST_SECRETS,
        }),
        (Change::Put, found) => Ok(Found {
            version: found.map_or(0, |found| found.version).saturating_add(1),
            current: new,
            previous: None,
            created_at: found.map_or(now, |found| found.created_at),
            rotated_at: found.and_then(|found| found.rotated_at),
        }),
        (Change::Rotate, Some(found)) => Ok(Found {
            version: found.version.saturating_add(1),
            current: new,
            previous: Some(found.current.clone()),
            created_at: found.created_at,
            rotated_at: Some(now),
        }),
        (Change::DropPrevious, Some(found)) if found.previous.is_some() => Ok(Found {
            current: found.current.clone(),
            previous: None,
            ..*found
        }),
        (Change::DropPrevious, Some(_)) => Err(Error::Unknown {
            what: "previous value of secret",
            name: name.to_owned(),
        }),
        (Change::Rotate | Change::DropPrevious, None) => Err(unknown(name)),
    }
}

fn write(tenant: &TenantId, name: &str, found: Option<&Found>, next: &Found, now: Millis) -> Vec<Statement> {
    let number = |number: u64| Param::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let key = || -> [Param; 2] { [tenant.as_str().into(), name.into()] };
    let [owner, named] = key();
    let most = number(MOST_SECRETS as u64);
    let version = number(found.map_or(0, |found| found.version));
    // One that was deleted and made again may have the same version.
    let current = found.map_or("", |found| &found.current);
    let stands = Statement::new(STANDS, [owner, named, version, most, current.into()]);
    let [owner, named] = key();
    let params = [
        owner,
        named,
        number(next.version),
        next.current.as_str().into(),
        next.previous.as_deref().map_or(Param::Null, Param::from),
        next.created_at.into(),
        now.into(),
        next.rotated_at.map_or(Param::Null, Param::from),
    ];
    vec![stands, Statement::new(WRITE, params)]
}

/// The receipt of what answers with no body.
pub(crate) fn receipt_of_nothing() -> Receipt {
    Receipt {
        outcome: "applied",
        ..Receipt::default()
    }
}

//! The schema and its numbered migrations (design 3).

use crate::Engine;
use crate::database::{Clock, Database, DatabaseError, Random, Statement};
use crate::error::Error;
use crate::load::{decode, rows_of};
use crate::outbound::Outbound;

/// The migrations in order; each is a numbered file, and its number is the schema version that it makes.
pub const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_initial.sql"),
    include_str!("../migrations/0002_children.sql"),
    include_str!("../migrations/0003_effects.sql"),
];

/// The schema version of this program.
#[expect(clippy::cast_possible_wrap, reason = "there are few migrations")]
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

const HAS_SCHEMA: &str =
    "SELECT json_array(count(*)) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
const VERSION: &str = "SELECT json_array(coalesce(max(version), 0)) FROM schema_version";

/// The statements of a migration. Blank lines part them.
pub fn statements(migration: &'static str) -> impl Iterator<Item = &'static str> {
    migration.split("\n\n").map(str::trim).filter(|statement| {
        statement
            .lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"))
    })
}

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The schema version of the database; 0 where it has none.
    ///
    /// # Errors
    /// The database failed.
    pub async fn schema_version(&self) -> Result<i64, Error> {
        let results = self.read(vec![Statement::new(HAS_SCHEMA, [])]).await?;
        let has = rows_of(&results, 0)
            .first()
            .map(|row| decode::<(i64,)>(row))
            .transpose()?;
        if has.is_none_or(|(tables,)| tables == 0) {
            return Ok(0);
        }
        let results = self.read(vec![Statement::new(VERSION, [])]).await?;
        let version = rows_of(&results, 0)
            .first()
            .map(|row| decode::<(i64,)>(row))
            .transpose()?;
        Ok(version.map_or(0, |(version,)| version))
    }

    /// Checks that the database has the schema of this program.
    ///
    /// # Errors
    /// It has an older or a newer one: nothing is touched then.
    pub async fn check_schema(&self) -> Result<(), Error> {
        let found = self.schema_version().await?;
        if found == SCHEMA_VERSION {
            Ok(())
        } else {
            Err(Error::SchemaMismatch {
                found,
                needed: SCHEMA_VERSION,
            })
        }
    }

    /// Brings the database to the schema of this program, each migration in a batch of its own.
    ///
    /// # Errors
    /// The database was written by a newer program, or it failed.
    pub async fn migrate(&self) -> Result<(), Error> {
        let found = self.schema_version().await?;
        if found > SCHEMA_VERSION {
            return Err(Error::SchemaMismatch {
                found,
                needed: SCHEMA_VERSION,
            });
        }
        let mut done = found;
        while let Some(migration) = usize::try_from(done).ok().and_then(|done| MIGRATIONS.get(done)) {
            let batch = statements(migration).map(|sql| Statement::new(sql, [])).collect();
            done = match self.batch(batch).await {
                Ok(_) => done.saturating_add(1),
                Err(error) => self.migrated_meanwhile(done, error).await?,
            };
        }
        Ok(())
    }

    /// A migration that failed because another program made it at the same time, or whose answer was lost, is none that
    /// failed: it gives the version that the database has by now.
    async fn migrated_meanwhile(&self, before: i64, error: DatabaseError) -> Result<i64, Error> {
        match self.schema_version().await {
            Ok(found) if found > before => Ok(found),
            _ => Err(error.into()),
        }
    }
}

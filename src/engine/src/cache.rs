//! Compiled definitions, kept between requests by the hash of their content, which never changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};
use statewright_core::definition::Definition;
use statewright_core::error::Error as Core;
use statewright_core::machine::Machine;
use statewright_core::sorted::SortedMap;

use crate::error::Error;

/// When the definitions kept have more bytes than this, they are dropped and compiled again as needed.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Of how many definitions a machine's trees are remembered to need: every read names them.
const MOST_KNOWN: usize = 128;

/// A definition as it runs.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) machine: Arc<Machine>,
    pub(crate) hash: Arc<str>,
}

/// Compiled definitions by content hash. Cheap to clone; clones share.
///
/// Keyed by content alone: a definition under another revision, machine or tenant is another text or the same rules.
#[derive(Debug, Clone, Default)]
pub struct DefinitionCache(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    by_hash: SortedMap<Arc<str>, Arc<Compiled>>,
    /// Which hashes a machine of a tenant was seen with, so that a read need not send those again.
    by_machine: BTreeMap<(String, String), Vec<Arc<str>>>,
    bytes: usize,
    /// The tenant at which the last pass of deliveries stopped: the next one goes on behind it.
    stopped_at: Option<String>,
    /// Sinks that did not answer, by tenant, and until when they count as such.
    silent: SortedMap<(String, String), i64>,
}

/// How many silent sinks are remembered.
const MOST_SILENT: usize = 1_000;

impl Kept {
    fn keep_for(&mut self, tenant: &str, machine_id: &str, hash: &Arc<str>) {
        let known = self
            .by_machine
            .entry((tenant.to_owned(), machine_id.to_owned()))
            .or_default();
        if known.contains(hash) {
            return;
        }
        if known.len() >= MOST_KNOWN {
            known.remove(0);
        }
        known.push(Arc::clone(hash));
    }
}

impl DefinitionCache {
    pub(crate) fn get(&self, hash: &str) -> Option<Arc<Compiled>> {
        self.lock().by_hash.get(hash).cloned()
    }

    /// The definitions that a machine of a tenant was seen with.
    pub(crate) fn known(&self, tenant: &str, machine_id: &str) -> Vec<Arc<Compiled>> {
        let kept = self.lock();
        let hashes = kept.by_machine.get(&(tenant.to_owned(), machine_id.to_owned()));
        hashes
            .into_iter()
            .flatten()
            .filter_map(|hash| kept.by_hash.get(hash).cloned())
            .collect()
    }

    /// Compiles a stored definition and keeps it.
    pub(crate) fn compile(
        &self,
        tenant: &str,
        machine_id: &str,
        hash: &str,
        text: &str,
    ) -> Result<Arc<Compiled>, Error> {
        let compiled = match self.get(hash) {
            Some(compiled) => compiled,
            None => Arc::new(compile(machine_id, hash, text)?),
        };
        let mut kept = self.lock();
        if kept.bytes.saturating_add(text.len()) > MOST_BYTES {
            (kept.by_hash, kept.by_machine, kept.bytes) = Default::default();
        }
        if kept
            .by_hash
            .insert(Arc::clone(&compiled.hash), Arc::clone(&compiled))
            .is_none()
        {
            kept.bytes = kept.bytes.saturating_add(text.len());
        }
        kept.keep_for(tenant, machine_id, &compiled.hash);
        Ok(compiled)
    }

    /// Remembers that the trees of a machine of a tenant need a definition.
    pub(crate) fn keep_for(&self, tenant: &str, machine_id: &str, compiled: &Arc<Compiled>) {
        self.lock().keep_for(tenant, machine_id, &compiled.hash);
    }

    /// Where the last pass of deliveries stopped, as far as this process knows.
    pub(crate) fn stopped_at(&self) -> Option<String> {
        self.lock().stopped_at.clone()
    }

    /// Remembers where a pass of deliveries stopped.
    pub(crate) fn stop_at(&self, tenant: String) {
        self.lock().stopped_at = Some(tenant);
    }

    /// Whether a sink of a tenant did not answer lately.
    pub(crate) fn is_silent(&self, sink: &(String, String), now: i64) -> bool {
        self.lock().silent.get(sink).is_some_and(|until| *until > now)
    }

    /// Remembers that a sink of a tenant does not answer until a time; or, without one, that it does.
    pub(crate) fn remember(&self, sink: (String, String), silent_until: Option<i64>) {
        let mut kept = self.lock();
        match silent_until {
            Some(until) => {
                if kept.silent.len() >= MOST_SILENT {
                    kept.silent.clear();
                }
                kept.silent.insert(sink, until);
            }
            None => drop(kept.silent.remove(&sink)),
        }
    }

    /// The lock is held for a look-up only, never across an await.
    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Definitions at hand, which a read need not send. Held while it is under way, so that none is dropped meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Known(SortedMap<Arc<str>, Arc<Compiled>>);

impl Known {
    pub(crate) fn extend(&mut self, compiled: impl IntoIterator<Item = Arc<Compiled>>) {
        let keyed = compiled.into_iter();
        self.0
            .extend(keyed.map(|compiled| (Arc::clone(&compiled.hash), compiled)));
    }

    pub(crate) fn get(&self, hash: &str) -> Option<Arc<Compiled>> {
        self.0.get(hash).cloned()
    }

    /// Their hashes as a JSON array.
    pub(crate) fn hashes(&self) -> String {
        let hashes: Vec<&str> = self.0.keys().map(|hash| &**hash).collect();
        serde_json::json!(hashes).to_string()
    }
}

fn compile(machine_id: &str, hash: &str, text: &str) -> Result<Compiled, Error> {
    let corrupt = |problem: String| {
        Error::Core(Core::Corrupt {
            what: format!("the definition of machine `{machine_id}`"),
            problem,
        })
    };
    let document: Value = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    let valid = Definition::read(&document).map_err(|faults| {
        let first = faults
            .first()
            .map(|fault| format!("{}: {}", fault.path, fault.problem));
        corrupt(first.unwrap_or_default())
    })?;
    let machine = Machine::compile(&valid).map_err(|error| corrupt(error.to_string()))?;
    Ok(Compiled {
        machine: Arc::new(machine),
        hash: hash.into(),
    })
}

/// The content hash of a definition's text.
pub(crate) fn content_hash(text: &str) -> String {
    use std::fmt::Write as _;
    let mut hash = "sha256:".to_owned();
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

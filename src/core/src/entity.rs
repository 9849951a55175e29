//! A living instance of a machine.

use std::sync::Arc;

use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::identity::IdentityKey;
use crate::ids::{EntityId, Millis, Seq, Version};
use crate::machine::{Machine, RegionIx, StateIx};

/// Names and values: an event's params, or an entity's context.
pub type Params = Map<String, Value>;
/// The current state of each region, in region order.
pub type Configuration = SmallVec<[StateIx; 4]>;

/// One living instance of a machine.
#[derive(Debug, Clone)]
pub struct Entity {
    pub(crate) machine: Arc<Machine>,
    pub(crate) id: EntityId,
    pub(crate) version: Version,
    pub(crate) next_seq: Seq,
    /// INVARIANT: one entry for each region, in region order (I4).
    pub(crate) entries: SmallVec<[Entry; 2]>,
    pub(crate) context: Arc<Params>,
    pub(crate) updated_at: Millis,
}

/// One entry instance: a region being in a state since a certain commit (S2.96).
#[derive(Debug, Clone)]
pub struct Entry {
    /// The state.
    pub state: StateIx,
    /// The number of the entry instance within its entity.
    pub seq: Seq,
    /// When the state was entered: the clock at the commit, or a timeout's due time (R5, R16).
    pub entered_at: Millis,
    /// Its timer.
    pub timer: Timer,
    /// The identity key of the row that started it; none at creation.
    pub key: Option<IdentityKey>,
    /// When it was made, in the order of commits.
    pub made: Made,
}

/// When an entry was made, in the order of commits: what proves that a child became final since its parent's entry
/// (S2.166).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// At the creation of its entity: no row made it.
    AtCreation,
    /// By the stored row of that id; 0 where nobody asked for it.
    Stored(u64),
    /// Since the tree was read: by that row of the commit of that number.
    Since(u32, u32),
}

/// The timer of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timer {
    /// Nothing times this entry out, or nothing does any more.
    Off,
    /// It is due then.
    Armed(Millis),
    /// Its commit was refused; it waits for a new revision or for a hand (M6).
    Parked {
        /// When it was due.
        due: Millis,
        /// Why it was refused.
        error: Arc<str>,
    },
}

impl Timer {
    /// An armed timer's due time.
    pub fn armed(&self) -> Option<Millis> {
        match self {
            Self::Armed(due) => Some(*due),
            Self::Off | Self::Parked { .. } => None,
        }
    }
}

impl Made {
    /// So many rows later in the same commit.
    pub(crate) fn later(self, rows: usize) -> Self {
        match self {
            Self::Since(commit, row) => {
                let rows = u32::try_from(rows).unwrap_or(u32::MAX);
                Self::Since(commit, row.saturating_add(rows))
            }
            other => other,
        }
    }
}

/// What was stored of an entry, for [`Entity::restore`].
#[derive(Debug, Clone)]
pub struct StoredEntry<'a> {
    /// The region.
    pub region: &'a str,
    /// The state.
    pub state: &'a str,
    /// The number of the entry instance.
    pub seq: Seq,
    /// When the state was entered.
    pub entered_at: Millis,
    /// Its timer, or `None` where it was stored under another revision and is worked out anew.
    pub timer: Option<Timer>,
    /// The identity key of the row that started it.
    pub key: Option<Arc<str>>,
    /// The id of that row, where it was asked for.
    pub row: Option<u64>,
}

/// Why stored rows are no entity of their machine (M8): they fail closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CorruptEntity {
    /// A stored entry names a region that the definition does not have.
    #[error("it has an entry of region `{region}`, which its machine does not have")]
    UnknownRegion {
        /// The region.
        region: String,
    },
    /// A stored entry names a state that its region does not have.
    #[error("its region `{region}` is in state `{state}`, which the machine does not have")]
    UnknownState {
        /// The region.
        region: String,
        /// The state.
        state: String,
    },
    /// A region has no current entry, or two (I4).
    #[error("its region `{region}` has no single current entry")]
    NotOneEntry {
        /// The region.
        region: String,
    },
}

impl Entity {
    /// A new entity in the initial state of every region, at version 1. No joins run, no action fires (R4).
    pub fn create(machine: Arc<Machine>, id: EntityId, context: Params, now: Millis) -> Self {
        let mut next_seq = Seq(1);
        let entries = machine
            .regions()
            .iter()
            .map(|region| {
                let seq = next_seq;
                next_seq = next_seq.next();
                Entry {
                    state: region.initial,
                    seq,
                    entered_at: now,
                    timer: armed(machine.first_due(region.initial, now)),
                    key: None,
                    made: Made::AtCreation,
                }
            })
            .collect();
        Self {
            machine,
            id,
            version: Version(1),
            next_seq,
            entries,
            context: Arc::new(context),
            updated_at: now,
        }
    }

    /// An entity from its stored rows.
    ///
    /// # Errors
    /// The rows do not make an entity of this machine (M8).
    pub fn restore(
        machine: Arc<Machine>,
        id: EntityId,
        version: Version,
        next_seq: Seq,
        context: Params,
        updated_at: Millis,
        stored: &[StoredEntry<'_>],
    ) -> Result<Self, CorruptEntity> {
        let mut places: SmallVec<[Option<Entry>; 2]> = SmallVec::new();
        places.resize_with(machine.regions().len(), || None);
        for entry in stored {
            let region = machine
                .find_region(entry.region)
                .ok_or_else(|| CorruptEntity::UnknownRegion {
                    region: entry.region.to_owned(),
                })?;
            let state =
                machine
                    .find_state(region, entry.state)
                    .ok_or_else(|| CorruptEntity::UnknownState {
                        region: entry.region.to_owned(),
                        state: entry.state.to_owned(),
                    })?;
            let timer = entry
                .timer
                .clone()
                .unwrap_or_else(|| armed(machine.first_due(state, entry.entered_at)));
            let restored = Entry {
                state,
                seq: entry.seq,
                entered_at: entry.entered_at,
                timer,
                made: match entry.key {
                    Some(_) => Made::Stored(entry.row.unwrap_or_default()),
                    None => Made::AtCreation,
                },
                key: entry.key.clone().map(IdentityKey::Stored),
            };
            if let Some(place) = places.get_mut(region.place())
                && place.replace(restored).is_some()
            {
                return Err(CorruptEntity::NotOneEntry {
                    region: entry.region.to_owned(),
                });
            }
        }
        let mut entries = SmallVec::new();
        for (place, region) in places.into_iter().zip(machine.regions()) {
            let missing = || CorruptEntity::NotOneEntry {
                region: region.id.to_string(),
            };
            entries.push(place.ok_or_else(missing)?);
        }
        Ok(Self {
            machine,
            id,
            version,
            next_seq,
            entries,
            context: Arc::new(context),
            updated_at,
        })
    }

    /// Its machine.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Its id.
    pub fn id(&self) -> &EntityId {
        &self.id
    }

    /// How many commits wrote it.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The number that its next entry instance takes.
    pub fn next_seq(&self) -> Seq {
        self.next_seq
    }

    /// Its context.
    pub fn context(&self) -> &Params {
        &self.context
    }

    /// When it was last written.
    pub fn updated_at(&self) -> Millis {
        self.updated_at
    }

    /// Its entries with their regions, in region order.
    pub fn entries(&self) -> impl Iterator<Item = (RegionIx, &Entry)> {
        self.entries
            .iter()
            .enumerate()
            .map(|(place, entry)| (RegionIx::of(place), entry))
    }

    /// The current entry of a region.
    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: one entry for each region (I4)"
    )]
    pub fn entry(&self, region: RegionIx) -> &Entry {
        &self.entries[region.place()]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: one entry for each region (I4)"
    )]
    pub(crate) fn entry_mut(&mut self, region: RegionIx) -> &mut Entry {
        &mut self.entries[region.place()]
    }

    /// The current state of each region.
    pub fn configuration(&self) -> Configuration {
        self.entries.iter().map(|entry| entry.state).collect()
    }

    /// Turns its timers off: it has ended (I6).
    pub fn disarm(&mut self) {
        for entry in &mut self.entries {
            entry.timer = Timer::Off;
        }
    }

    /// Frees its parked timers: they are due as they were (M6). Says how many there were.
    pub fn release_timers(&mut self) -> usize {
        let mut released = 0_usize;
        for entry in &mut self.entries {
            if let Timer::Parked { due, .. } = entry.timer {
                entry.timer = Timer::Armed(due);
                released = released.saturating_add(1);
            }
        }
        released
    }
}

pub(crate) fn armed(due: Option<Millis>) -> Timer {
    due.map_or(Timer::Off, Timer::Armed)
}

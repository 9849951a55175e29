//! From plain data to a tree. What cannot be one fails closed (M8).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::living::Living;
use super::past::Past;
use super::view::{EntryOfParent, EntryView, InstanceView, LegacyView, Snapshot};
use crate::answer::{OwnerView, StateView};
use crate::definition::Reentry;
use crate::definition::shape::{kind_of, shortened};
use crate::entity::{Entity, Params, StoredEntry, Timer};
use crate::error::Error;
use crate::identity::IdentityKey;
use crate::ids::{EntityId, MAX_TIMESTAMP, MachineId, Millis, Revision, Seq, Version};
use crate::machine::Machine;
use crate::request::Fields;
use crate::sorted::SortedMap;
use crate::tree::{EntityIx, Library, Place, Status, Tree};

impl Snapshot {
    /// Reads a snapshot. Keys that nothing here reads are passed over.
    ///
    /// # Errors
    /// A part is missing or of another type: the error has its path. What the parts say is looked at when the snapshot is
    /// brought to life.
    pub fn read(value: &Value) -> Result<Self, Error> {
        read("$", value)
    }

    /// The same, at another path.
    pub(crate) fn read_at(path: &str, value: &Value) -> Result<Self, Error> {
        read(path, value)
    }
}

impl Fields<'_> {
    pub(crate) fn whole(&self, key: &str, least: i64) -> Result<Option<i64>, Error> {
        let Some(value) = self.given(key) else {
            return Ok(None);
        };
        let fits = |number: &i64| (least..=MAX_TIMESTAMP).contains(number);
        match value.as_i64().filter(fits) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, value, &format!("an integer from {least} to 2^53"))),
        }
    }

    fn needed<T>(&self, key: &str, found: Option<T>, expected: &str) -> Result<T, Error> {
        found.ok_or_else(|| Error::invalid(self.key(key), "it is missing", expected))
    }

    fn counted(&self, key: &str) -> Result<u64, Error> {
        let number = self.needed(key, self.whole(key, 1)?, "an integer from 1")?;
        Ok(number.unsigned_abs())
    }

    fn time(&self, key: &str) -> Result<Option<Millis>, Error> {
        Ok(self.whole(key, -MAX_TIMESTAMP)?.map(Millis))
    }

    pub(crate) fn some_time(&self, key: &str) -> Result<Millis, Error> {
        self.needed(key, self.time(key)?, "milliseconds since the epoch")
    }

    fn object(&self, key: &str) -> Result<&Map<String, Value>, Error> {
        self.needed(key, self.map(key)?, "an object")
    }

    fn shared(&self, key: &str) -> Result<Arc<str>, Error> {
        self.text(key).map(Into::into)
    }

    fn status(&self) -> Result<Status, Error> {
        let name = self.text("status")?;
        Status::named(name).ok_or_else(|| {
            let problem = format!("`{}` is no status", shortened(name));
            Error::invalid(
                self.key("status"),
                problem,
                "`active`, `completed` or `cancelled`",
            )
        })
    }
}

pub(super) fn fields<'a>(path: &'a str, value: &'a Value) -> Result<Fields<'a>, Error> {
    match value {
        Value::Object(object) => Ok(Fields { path, object }),
        other => Err(Error::invalid(
            path,
            format!("it is {}", kind_of(other)),
            "an object",
        )),
    }
}

/// No deeper than its JSON text could be read.
fn read(path: &str, value: &Value) -> Result<Snapshot, Error> {
    let fields = fields(path, value)?;
    let mut region_entries = SortedMap::new();
    for (region, entry) in fields.object("region_entries")? {
        let path = format!(
            "{}[{}]",
            fields.key("region_entries"),
            Value::from(region.as_str())
        );
        region_entries.insert(
            Arc::from(region.as_str()),
            entry_view(self::fields(&path, entry)?)?,
        );
    }
    Ok(Snapshot {
        machine_id: fields.text("machine_id")?.to_owned(),
        tenant_id: fields.optional_text("tenant_id")?.map(str::to_owned),
        entity_id: fields.text("entity_id")?.to_owned(),
        current_state: state_view(fields)?,
        context: Arc::new(fields.object("context")?.clone()),
        state_version: Version(fields.counted("state_version")?),
        revision: fields
            .whole("revision", 1)?
            .map(|number| Revision(number.unsigned_abs())),
        created_at: fields.time("created_at")?,
        updated_at: fields.some_time("updated_at")?,
        region_entries,
        instance: part(fields, "instance", &instance_view)?,
        legacy: part(fields, "legacy", &legacy_view)?,
        parent: part(fields, "parent", &entry_of_parent)?,
        first_seq: fields
            .whole("first_seq", 1)?
            .map(|number| Seq(number.unsigned_abs())),
        cancelled_with: fields.optional_text("cancelled_with")?.map(str::to_owned),
        children: list(fields, "children", &read)?,
    })
}

/// An object that may be there.
fn part<T>(
    fields: Fields<'_>,
    key: &str,
    read: &dyn Fn(Fields<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let Some(object) = fields.map(key)? else {
        return Ok(None);
    };
    let path = fields.key(key);
    read(Fields { path: &path, object }).map(Some)
}

/// The items of a list that may be there.
fn list<T>(
    fields: Fields<'_>,
    key: &str,
    item: &dyn Fn(&str, &Value) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let items = match fields.given(key) {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(fields.wrong(key, other, "an array")),
    };
    let path = fields.key(key);
    let items = items.iter().enumerate();
    items
        .map(|(place, value)| item(&format!("{path}[{place}]"), value))
        .collect()
}

fn state_view(fields: Fields<'_>) -> Result<StateView, Error> {
    match fields.given("current_state") {
        Some(Value::String(state)) => Ok(StateView::Flat(state.as_str().into())),
        Some(Value::Object(regions)) => {
            let pair = |(region, state): (&String, &Value)| match state {
                Value::String(state) => Ok((region.as_str().into(), state.as_str().into())),
                other => Err(Error::invalid(
                    format!(
                        "{}[{}]",
                        fields.key("current_state"),
                        Value::from(region.as_str())
                    ),
                    format!("it is {}", kind_of(other)),
                    "a state",
                )),
            };
            Ok(StateView::Regions(
                regions.iter().map(pair).collect::<Result<_, _>>()?,
            ))
        }
        Some(other) => Err(fields.wrong("current_state", other, "a state, or an object of regions")),
        None => fields.needed("current_state", None, "a state, or an object of regions"),
    }
}

/// How well the time of an entry is known.
const EXACT: &str = "exact";

fn entry_view(fields: Fields<'_>) -> Result<EntryView, Error> {
    match fields.optional_text("basis")? {
        None | Some(EXACT) => {}
        Some(other) => {
            let problem = format!("it is `{}`", shortened(other));
            return Err(Error::invalid(fields.key("basis"), problem, format!("`{EXACT}`")));
        }
    }
    Ok(EntryView {
        state: fields.shared("state")?,
        seq: Seq(fields.counted("seq")?),
        entered_at: fields.some_time("entered_at")?,
        basis: EXACT,
        row: fields.whole("row", 0)?.map(i64::unsigned_abs),
        key: fields
            .optional_text("key")?
            .map(|key| IdentityKey::Stored(key.into())),
        due_at: fields.time("due_at")?,
        parked: fields.optional_text("parked")?.map(Into::into),
    })
}

fn instance_view(fields: Fields<'_>) -> Result<InstanceView, Error> {
    Ok(InstanceView {
        status: fields.status()?,
        depth: u32::try_from(fields.counted("depth")?).unwrap_or(u32::MAX),
        path: list(fields, "path", &|path, value| {
            owner_view(self::fields(path, value)?)
        })?,
        started: fields.some_time("started")?,
        ended: fields.time("ended")?,
    })
}

fn owner_view(fields: Fields<'_>) -> Result<OwnerView, Error> {
    Ok(OwnerView {
        machine_id: fields.text("machine_id")?.to_owned(),
        entity_id: fields.text("entity_id")?.to_owned(),
        region: fields.shared("region")?,
        state: fields.shared("state")?,
        seq: Seq(fields.counted("seq")?),
    })
}

fn legacy_view(fields: Fields<'_>) -> Result<LegacyView, Error> {
    Ok(LegacyView {
        status: fields.status()?,
        started: fields.some_time("started")?,
        ended: fields.time("ended")?,
    })
}

fn entry_of_parent(fields: Fields<'_>) -> Result<EntryOfParent, Error> {
    Ok(EntryOfParent {
        region: fields.shared("region")?,
        state: fields.shared("state")?,
        seq: Seq(fields.counted("seq")?),
    })
}

/// That a snapshot is no entity of its machine (M8).
fn corrupt(snapshot: &Snapshot, problem: impl Into<String>) -> Error {
    Error::Corrupt {
        what: told_name(snapshot),
        problem: problem.into(),
    }
}

/// What an entity is called where it is corrupt.
pub(crate) fn told_name(snapshot: &Snapshot) -> String {
    format!(
        "entity `{}` of machine `{}`",
        shortened(&snapshot.entity_id),
        shortened(&snapshot.machine_id)
    )
}

/// Brings a snapshot to life.
pub(super) fn restore(
    snapshot: &Snapshot,
    machine: &Arc<Machine>,
    library: &Arc<Library>,
    past: Past<'_>,
) -> Result<Living, Error> {
    let root = entity(snapshot, machine, true)?;
    let mut tree = Tree::new(root, Some(Arc::clone(library)));
    children(&mut tree, EntityIx::ROOT, snapshot, library, past)?;
    tree.check_places()
        .map_err(|problem| corrupt(snapshot, problem))?;
    let mut living = Living::new(tree, snapshot.created_at);
    living.tenant_id.clone_from(&snapshot.tenant_id);
    living.revision = snapshot.revision;
    Ok(living)
}

/// Whether the numbers of a snapshot are what they can be, also where it was not read from JSON.
fn check_numbers(snapshot: &Snapshot) -> Result<(), Error> {
    let counts = |number: u64| (1..=MAX_TIMESTAMP.unsigned_abs()).contains(&number);
    let is_time = |time: Millis| (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(&time.0);
    let entries = snapshot.region_entries.values();
    let mut entries = entries
        .map(|entry| counts(entry.seq.0) && is_time(entry.entered_at) && entry.due_at.is_none_or(is_time));
    let sound = counts(snapshot.state_version.0)
        && is_time(snapshot.updated_at)
        && snapshot.first_seq.is_none_or(|seq| counts(seq.0))
        && snapshot.parent.as_ref().is_none_or(|parent| counts(parent.seq.0))
        && entries.all(|sound| sound);
    if sound {
        return Ok(());
    }
    Err(corrupt(
        snapshot,
        "versions and entries are counted from 1 to 2^53, and times are within ±2^53",
    ))
}

fn entity(snapshot: &Snapshot, machine: &Arc<Machine>, lives: bool) -> Result<Entity, Error> {
    check_numbers(snapshot)?;
    let id = EntityId::named(&snapshot.entity_id).map_err(|error| corrupt(snapshot, error.to_string()))?;
    let entries: Vec<StoredEntry<'_>> = snapshot
        .region_entries
        .iter()
        .map(|(region, entry)| StoredEntry {
            region,
            state: &entry.state,
            seq: entry.seq,
            entered_at: entry.entered_at,
            timer: Some(match (entry.due_at, &entry.parked) {
                (Some(due), Some(error)) => Timer::Parked {
                    due,
                    error: Arc::clone(error),
                },
                (Some(due), None) => Timer::Armed(due),
                (None, _) => Timer::Off,
            }),
            key: entry.key.as_ref().map(|key| key.to_string().into()),
            row: entry.row,
        })
        .collect();
    // The entry that was set last is always a current one.
    let last = entries.iter().map(|entry| entry.seq).max();
    let mut entity = Entity::restore(
        Arc::clone(machine),
        id,
        snapshot.state_version,
        last.unwrap_or(Seq(0)).next(),
        Params::clone(&snapshot.context),
        snapshot.updated_at,
        &entries,
    )
    .map_err(|error| corrupt(snapshot, error.to_string()))?;
    if !shows(&entity, &snapshot.current_state) {
        return Err(corrupt(
            snapshot,
            "its `current_state` is not that of its `region_entries`",
        ));
    }
    if !lives {
        entity.disarm();
    }
    Ok(entity)
}

/// Whether an entity is in a state as it is shown, in whatever order its regions are told.
fn shows(entity: &Entity, told: &StateView) -> bool {
    match (StateView::of(entity.machine(), &entity.configuration()), told) {
        (StateView::Flat(state), StateView::Flat(told)) => state == *told,
        (StateView::Regions(regions), StateView::Regions(told)) => {
            regions.len() == told.len() && regions.iter().all(|pair| told.contains(pair))
        }
        _ => false,
    }
}

/// Hangs the children of a snapshot into a tree, each with its own.
fn children(
    tree: &mut Tree,
    parent: EntityIx,
    of: &Snapshot,
    library: &Arc<Library>,
    past: Past<'_>,
) -> Result<(), Error> {
    for (nth, child) in of.children.iter().enumerate() {
        let id = MachineId::new(&child.machine_id).map_err(|error| corrupt(child, error.to_string()))?;
        let machine = library
            .get(&id)
            .ok_or_else(|| Error::NoMachine(child.machine_id.clone()))?;
        let Some(known) = place(tree, parent, of, nth, child, past)? else {
            continue;
        };
        let entity = entity(child, machine, known.status == Status::Active)?;
        if machine.contract() != tree.root().machine().contract() {
            return Err(corrupt(child, "it runs by another contract than its root"));
        }
        if tree.find(&id, entity.id()).is_some() {
            return Err(corrupt(child, "it is there twice"));
        }
        let ix = tree.add(entity, known);
        children(tree, ix, child, library, past)?;
    }
    Ok(())
}

/// Where a child hangs. None where it ended, and its parent has its state no more: it cannot wake.
fn place(
    tree: &Tree,
    parent: EntityIx,
    of: &Snapshot,
    nth: usize,
    child: &Snapshot,
    past: Past<'_>,
) -> Result<Option<Place>, Error> {
    let entry = child
        .parent
        .as_ref()
        .ok_or_else(|| corrupt(child, "it does not say to which entry of its parent it belongs"))?;
    let machine = tree.entity(parent).machine();
    let named = machine
        .find_region(&entry.region)
        .and_then(|region| Some((region, machine.find_state(region, &entry.state)?)));
    let (status, started, ended) = match (&child.instance, &child.legacy) {
        (Some(instance), _) => (instance.status, instance.started, instance.ended),
        (None, Some(legacy)) => (legacy.status, legacy.started, legacy.ended),
        // A service shows a legacy child without its place: it ends with what is above it (R7).
        (None, None) if tree.is_live(parent) => {
            (Status::Active, child.created_at.unwrap_or(child.updated_at), None)
        }
        (None, None) => (
            Status::Cancelled,
            child.created_at.unwrap_or(child.updated_at),
            tree.place(parent)
                .and_then(|place| place.ended)
                .or(Some(child.updated_at)),
        ),
    };
    let lives = status == Status::Active;
    // A legacy child outlives its state, also where a later definition has it no more: it hangs where none of its ends
    // leads anywhere.
    let outlived = || {
        let legacy = lives && child.instance.is_none();
        let region = machine.regions().first().filter(|_| legacy)?;
        Some((machine.state(region.initial).region, region.initial))
    };
    let Some((region, state)) = named.or_else(outlived) else {
        let missing = || corrupt(child, "it belongs to a state that its parent does not have");
        return if lives { Err(missing()) } else { Ok(None) };
    };
    let depth = child.instance.as_ref().map_or(0, |instance| instance.depth);
    let level = child
        .instance
        .as_ref()
        .map_or(0, |_| tree.depth(parent).saturating_add(1));
    if depth != level || lives == ended.is_some() {
        return Err(corrupt(child, "its place in its tree contradicts itself"));
    }
    let next = EntityIx::at(tree.len());
    let alike = |other: &Snapshot| {
        other
            .parent
            .as_ref()
            .is_some_and(|of| of.state == entry.state && of.region == entry.region)
            && other.instance.is_some() == child.instance.is_some()
    };
    let is_latest = !of.children.iter().skip(nth.saturating_add(1)).any(alike);
    let cancelled_with = match &child.cancelled_with {
        Some(id) if *id == child.entity_id => Some(next),
        Some(id) => Some(
            above(tree, parent)
                .find(|ix| tree.entity(*ix).id().as_str() == id)
                .ok_or_else(|| corrupt(child, "what ended it is not above it"))?,
        ),
        None if status == Status::Cancelled && is_latest => {
            let wakes = machine.state(state).child().map(|sub| sub.reentry) == Some(Reentry::Resume);
            let together = past(of).zip(past(child)).map(|(of, child)| of.last == child.last);
            ended_with(
                tree,
                parent,
                together.unwrap_or(tree.place(parent).is_some_and(|place| place.ended == ended)),
                wakes && child.instance.is_some(),
                next,
            )
        }
        None => None,
    };
    // What ended and cannot wake is known by its parent, as long as that has a use for it.
    let parent_known = tree.is_live(parent)
        || tree
            .place(parent)
            .is_some_and(|place| place.cancelled_with.is_some());
    Ok(Some(Place {
        parent,
        region,
        state,
        seq: entry.seq,
        first_seq: child
            .first_seq
            .or_else(|| past(child).map(|cancels| cancels.first_seq))
            .unwrap_or(entry.seq),
        managed: child.instance.is_some(),
        status,
        depth,
        started,
        ended,
        current: lives || cancelled_with.is_some() || (is_latest && parent_known),
        cancelled_with,
    }))
}

/// What ended a child, where a service does not tell it: its parent left its state, where that is one to be resumed; or what
/// ended its parent, and then it sleeps with that.
fn ended_with(
    tree: &Tree,
    parent: EntityIx,
    together: bool,
    wakes: bool,
    child: EntityIx,
) -> Option<EntityIx> {
    if !tree.is_live(parent) {
        let top = tree.place(parent)?.cancelled_with?;
        if together {
            return Some(top);
        }
    }
    wakes.then_some(child)
}

/// An entity and those above it.
fn above(tree: &Tree, from: EntityIx) -> impl Iterator<Item = EntityIx> {
    std::iter::successors(Some(from), |ix| tree.place(*ix).map(|place| place.parent))
}

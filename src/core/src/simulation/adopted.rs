//! An entity of a service that is taken in with its tree and its history, as the service shows them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::family::{Family, Name, name_of, number};
use super::json_of;
use super::world::World;
use crate::definition::shape::{kind_of, shortened};
use crate::entity::{Made, Params};
use crate::error::Error;
use crate::identity::IdentityKey;
use crate::request::Fields;
use crate::snapshot::{Cancelling, Cancels, Living, Snapshot, told_name};
use crate::sorted::{sort, sort_by_key};
use crate::tree::EntityIx;

/// What a row says in words.
const TEXTS: [&str; 7] = [
    "machine_id",
    "entity_id",
    "from_state",
    "to_state",
    "event_type",
    "region",
    "identity_key",
];

/// A history row that was given.
#[derive(Debug)]
pub(super) struct GivenRow {
    /// Its place among those that were given.
    place: usize,
    /// The number that it has where it comes from: higher in later commits.
    id: u64,
    /// Which entity of the tree it is of.
    of: usize,
    pub(super) key: Arc<str>,
    pub(super) params: Arc<Params>,
    pub(super) timestamp: i64,
    /// Whether its identity is one under which an event can come again.
    pub(super) is_event: bool,
    /// How it is told, but for its number, tenant and revision.
    pub(super) view: Map<String, Value>,
}

impl GivenRow {
    fn read(place: usize, item: &Value, shown: &Shown<'_>) -> Result<Self, Error> {
        let path = format!("$.history[{place}]");
        let Value::Object(object) = item else {
            return Err(Error::invalid(
                path,
                format!("it is {}", kind_of(item)),
                "a history row",
            ));
        };
        let fields = Fields { path: &path, object };
        let mut view = Map::new();
        for key in TEXTS {
            view.insert(key.to_owned(), fields.text(key)?.into());
        }
        for key in ["timestamp", "created_at"] {
            view.insert(key.to_owned(), fields.some_time(key)?.0.into());
        }
        for key in ["event_params", "cause"] {
            let map = fields.map(key)?.cloned().unwrap_or_default();
            view.insert(key.to_owned(), map.into());
        }
        let actions = match fields.given("actions_dispatched") {
            None => Value::Array(Vec::new()),
            Some(actions @ Value::Array(_)) => actions.clone(),
            Some(other) => return Err(fields.wrong("actions_dispatched", other, "an array")),
        };
        view.insert("actions_dispatched".to_owned(), actions);
        let Some(id) = fields.whole("id", 1)? else {
            return Err(Error::invalid(fields.key("id"), "it is missing", "its number"));
        };
        let (entity, key) = (fields.text("entity_id")?, fields.text("identity_key")?);
        let name = (fields.text("machine_id")?.into(), entity.into());
        let Some(of) = shown.places.get(&name).copied() else {
            let problem = format!("`{}` is no entity of the tree", shortened(entity));
            return Err(Error::invalid(
                fields.key("entity_id"),
                problem,
                "one of the tree, by its machine and id",
            ));
        };
        let timestamp = fields.some_time("timestamp")?.0;
        let identity = IdentityKey::Event {
            event_type: fields.text("event_type")?.into(),
            timestamp,
            version: None,
            region: None,
        };
        Ok(Self {
            place,
            id: id.unsigned_abs(),
            of,
            key: key.into(),
            params: Arc::new(fields.map("event_params")?.cloned().unwrap_or_default()),
            timestamp,
            is_event: identity.to_string() == key,
            view,
        })
    }

    /// Reads rows, and puts them in the order of their commits.
    fn list(given: Option<&Value>, shown: &Shown<'_>) -> Result<Vec<Self>, Error> {
        let mut rows = Vec::new();
        match given {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (place, item) in items.iter().enumerate() {
                    rows.push(Self::read(place, item, shown)?);
                }
            }
            Some(other) => {
                let problem = format!("it is {}", kind_of(other));
                return Err(Error::invalid("$.history", problem, "an array of history rows"));
            }
        }
        sort_by_key(&mut rows, |row| row.id);
        let mut last = 0;
        for row in &rows {
            if row.id == last {
                return Err(row.twice("id"));
            }
            last = row.id;
        }
        Ok(rows)
    }

    fn twice(&self, key: &str) -> Error {
        Error::invalid(
            format!("$.history[{}].{key}", self.place),
            "another row has it too",
            "that of no other row",
        )
    }
}

/// A tree as it is shown: its entities, each with where it is there.
struct Shown<'a> {
    entities: Vec<(String, &'a Snapshot)>,
    /// The places of the entities in that list.
    places: FxHashMap<Name, usize>,
}

impl<'a> Shown<'a> {
    fn look(&mut self, path: String, entity: &'a Snapshot) {
        self.places.insert(told(entity), self.entities.len());
        let children = entity.children.iter().enumerate();
        let children = children.map(|(place, child)| (format!("{path}.children[{place}]"), child));
        let children: Vec<(String, &Snapshot)> = children.collect();
        self.entities.push((path, entity));
        for (path, child) in children {
            self.look(path, child);
        }
    }

    /// Where a tree contradicts itself, as a fault of what was given.
    fn fault(&self, error: Error) -> Error {
        let Error::Corrupt { what, problem } = error else {
            return error;
        };
        let mut all = self.entities.iter();
        let path = all.find(|(_, entity)| told_name(entity) == what);
        let path = path.map_or("$.tree", |(path, _)| path.as_str());
        Error::invalid(
            path,
            format!("{what}: {problem}"),
            "an entity as a service shows it",
        )
    }

    /// An entity of the tree.
    fn of(&self, living: &Living, ix: EntityIx) -> Option<(usize, &'a Snapshot)> {
        let place = *self.places.get(&name_of(&living.tree, ix))?;
        Some((place, self.entities.get(place)?.1))
    }
}

/// What an entity calls itself.
fn told(entity: &Snapshot) -> Name {
    (
        entity.machine_id.as_str().into(),
        entity.entity_id.as_str().into(),
    )
}

impl World {
    /// Takes in an entity with its tree and its history. Where it is refused, nothing is done.
    pub(super) fn adopt_tree(&mut self, body: Fields<'_>) -> Result<Value, Error> {
        body.only(&["tree", "history"])?;
        let tree = body.object.get("tree").unwrap_or(&Value::Null);
        let snapshot = Snapshot::read_at("$.tree", tree)?;
        let blueprint = self.blueprint(&snapshot.machine_id)?;
        if snapshot.instance.is_some() {
            return Err(Error::invalid(
                "$.tree.instance",
                "the entity is a child",
                "the root of its tree: the first of `instance.path`",
            ));
        }
        let mut shown = Shown {
            entities: Vec::new(),
            places: FxHashMap::default(),
        };
        shown.look("$.tree".to_owned(), &snapshot);
        let rows = GivenRow::list(body.object.get("history"), &shown)?;
        let mut ended: Vec<Option<Cancels>> = vec![None; shown.entities.len()];
        let mut cancelling = Cancelling::default();
        for row in &rows {
            if let (Some(ended), Some(cause)) = (ended.get_mut(row.of), row.view.get("cause")) {
                cancelling.row(&row.key, cause, ended);
            }
        }
        let past = |entity: &Snapshot| *ended.get(*shown.places.get(&told(entity))?)?;
        let mut living = blueprint
            .restore_after(&snapshot, &past)
            .map_err(|error| shown.fault(error))?;
        living.tenant_id = Some(self.tenant.to_string());
        let mut names = Vec::new();
        let (mut created, mut latest) = (Vec::new(), self.now);
        let mut numbers: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let mut here: Vec<Option<EntityIx>> = vec![None; shown.entities.len()];
        for (ix, entity) in living.tree.entities() {
            let name = name_of(&living.tree, ix);
            if self.names.contains_key(&name) {
                return Err(Error::EntityExists {
                    machine: name.0.to_string(),
                    entity: name.1.to_string(),
                });
            }
            names.push(name);
            let of = shown.of(&living, ix);
            if let Some(slot) = of.and_then(|(place, _)| here.get_mut(place)) {
                *slot = Some(ix);
            }
            created.push(
                of.and_then(|(_, of)| of.created_at)
                    .unwrap_or(entity.updated_at()),
            );
            latest = latest.max(entity.updated_at());
            for (_, entry) in entity.entries() {
                if let Made::Stored(row @ 1..) = entry.made {
                    numbers.push(row);
                }
            }
        }
        sort(&mut numbers);
        numbers.dedup();
        let first = self.next_row;
        let mut family = Family::given(living, created, &numbers, first);
        for row in rows {
            // A child whose state its parent has no more is not there.
            let Some(ix) = here.get(row.of).copied().flatten() else {
                continue;
            };
            let twice = row.twice("identity_key");
            if !family.remember(ix, number(&numbers, row.id, first), row) {
                return Err(twice);
            }
        }
        let answer = json_of(&family.with_children(EntityIx::ROOT, &self.tenant));
        // Nothing is written before it happens.
        self.now = latest;
        self.next_row = number(&numbers, u64::MAX, first);
        if let Some(root) = names.first() {
            let at = self.add(root, family);
            self.names.extend(names.into_iter().map(|name| (name, at)));
        }
        Ok(answer)
    }
}

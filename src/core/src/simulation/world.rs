//! Everything there is at one moment of a simulation: machines, entities with their histories, and effects.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use super::effects::{Outgoing, Source};
use super::family::{Family, Name, name_of};
use super::{REVISION, json_of};
use crate::commit::Refusal;
use crate::definition::{Definition, Valid};
use crate::entity::Params;
use crate::error::Error;
use crate::family::{Family as Relatives, check};
use crate::fault::Warning;
use crate::ids::{CHILD_MARK, EntityId, MachineId, Millis};
use crate::machine::Machine;
use crate::request::{self, CreateEntity, EventRequest, Fields, check_given};
use crate::snapshot::{Blueprint, Decided, Kept, OutcomeName};
use crate::sorted::{SortedMap, sort_by_key};
use crate::step::Event;
use crate::target;
use crate::tree::{EntityIx, Library};

/// A registered machine.
#[derive(Debug)]
struct Registered {
    /// The definition, as it was given.
    document: Map<String, Value>,
    valid: Valid,
    machine: Arc<Machine>,
    created_at: Millis,
}

/// One moment of a simulation. Clones share what did not change since.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) now: Millis,
    pub(super) tenant: Arc<str>,
    machines: SortedMap<Arc<str>, Arc<Registered>>,
    pub(super) library: Arc<Library>,
    /// By their numbers; none where it was deleted, or became a part of another.
    pub(super) families: Vec<Option<Arc<Family>>>,
    pub(super) names: FxHashMap<Name, usize>,
    /// Roots whose ids are those of children.
    foreign: Vec<Name>,
    pub(super) next_row: u64,
    pub(super) effects: Vec<Arc<Outgoing>>,
    /// How many of the effects were looked at.
    pub(super) delivered: usize,
    /// How many effects led to what is being decided.
    pub(super) hops: u32,
}

impl World {
    pub(super) fn new(now: Millis, tenant: &str) -> Self {
        Self {
            now,
            tenant: tenant.into(),
            machines: SortedMap::new(),
            library: Arc::new(Library::default()),
            families: Vec::new(),
            names: FxHashMap::default(),
            foreign: Vec::new(),
            next_row: 1,
            effects: Vec::new(),
            delivered: 0,
            hops: 0,
        }
    }

    /// Reads a definition, and checks it against the machines that are registered.
    fn read_definition(&self, document: &Value) -> Result<(Map<String, Value>, Valid), Error> {
        let (own, valid) = Definition::own(document.clone())?;
        let mut relatives = Relatives::default();
        for (id, other) in &self.machines {
            if **id != *valid.definition.machine_id {
                relatives.add_child(other.valid.clone());
            }
        }
        let checked = check(valid, &relatives).map_err(Error::InvalidDefinition)?;
        Ok((own, checked))
    }

    /// Makes a machine; only where there is none (S2.50).
    pub(super) fn register(&mut self, document: &Value) -> Result<Value, Error> {
        let (own, valid) = self.read_definition(document)?;
        let id = request::machine_id(&valid.definition.machine_id)?;
        if self.machines.contains_key(id.as_str()) {
            return Err(Error::MachineExists(id.to_string()));
        }
        let machine = Machine::compile(&valid)?;
        let registered = Registered {
            document: own,
            machine: Arc::new(machine),
            created_at: self.now,
            valid,
        };
        let view = self.machine_view(&registered, &registered.valid.warnings);
        self.machines.insert(id.shared(), Arc::new(registered));
        let machines = self.machines.values().map(|one| Arc::clone(&one.machine));
        self.library = Arc::new(machines.collect());
        Ok(view)
    }

    /// What a validation finds.
    pub(super) fn validate(&self, document: &Value) -> Result<Value, Error> {
        let (faults, warnings) = match self.read_definition(document) {
            Ok((_, valid)) => (Vec::new(), valid.warnings),
            Err(Error::InvalidDefinition(faults)) => (faults, Vec::new()),
            Err(other) => return Err(other),
        };
        Ok(json!({"valid": faults.is_empty(), "faults": faults, "warnings": warnings}))
    }

    fn machine_view(&self, of: &Registered, warnings: &[Warning]) -> Value {
        let mut view = of.document.clone();
        let mut add = |key: &str, value: Value| view.insert(key.to_owned(), value);
        add("tenant_id", json!(&*self.tenant));
        add("revision", json!(REVISION));
        add("created_at", json!(of.created_at));
        add("updated_at", json!(of.created_at));
        if !warnings.is_empty() {
            add("warnings", json!(warnings));
        }
        Value::Object(view)
    }

    /// The machines, in the order of their creation.
    pub(super) fn machines(&self) -> Value {
        let mut all: Vec<&Arc<Registered>> = self.machines.values().collect();
        // Those of one time come by their ids.
        sort_by_key(&mut all, |one| one.created_at);
        all.into_iter().map(|one| self.machine_view(one, &[])).collect()
    }

    fn registered(&self, machine: &MachineId) -> Result<&Arc<Registered>, Error> {
        let found = self.machines.get(machine.as_str());
        found.ok_or_else(|| Error::NoMachine(machine.to_string()))
    }

    pub(super) fn machine(&self, machine: &str) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        Ok(self.machine_view(self.registered(&machine)?, &[]))
    }

    /// Deletes a machine without entities (S2.53).
    pub(super) fn delete_machine(&mut self, machine: &str) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        self.registered(&machine)?;
        if self.names.keys().any(|(of, _)| **of == *machine.as_str()) {
            return Err(Error::HasEntities(machine.to_string()));
        }
        self.machines.remove(machine.as_str());
        let machines = self.machines.values().map(|one| Arc::clone(&one.machine));
        self.library = Arc::new(machines.collect());
        Ok(Value::Null)
    }

    /// A family by its number.
    pub(super) fn family(&self, at: usize) -> Option<&Arc<Family>> {
        self.families.get(at)?.as_ref()
    }

    fn name(&self, machine: &str, entity: &str) -> Result<Name, Error> {
        let machine = request::machine_id(machine)?;
        let entity = request::entity_id("entity_id", entity)?;
        self.registered(&machine)?;
        Ok((machine.shared(), entity.shared()))
    }

    /// An entity that exists: the number of its family, and its place there.
    fn existing(&self, name: &Name) -> Result<(usize, EntityIx), Error> {
        let at = self.names.get(name).copied();
        let found = at.and_then(|at| Some((at, self.family(at)?.find(name)?)));
        found.ok_or_else(|| no_entity(name))
    }

    /// Makes an entity in its initial state (S2.236).
    pub(super) fn create(&mut self, machine: &str, body: Fields<'_>) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        let CreateEntity { entity_id, context } = CreateEntity::of(body)?;
        self.registered(&machine)?;
        let name = (machine.shared(), entity_id.shared());
        if self.names.contains_key(&name) {
            return Err(Error::EntityExists {
                machine: machine.to_string(),
                entity: entity_id.to_string(),
            });
        }
        let (family, kept) = self.made(&name, context)?;
        let at = self.add(&name, family);
        self.keep(at, &[kept], self.hops);
        let shown = self
            .family(at)
            .map(|family| family.entity(EntityIx::ROOT, &self.tenant));
        shown.ok_or_else(|| no_entity(&name))
    }

    /// A machine with those that its children are made of.
    pub(super) fn blueprint(&self, machine: &str) -> Result<Blueprint, Error> {
        let missing = || Error::NoMachine(machine.to_owned());
        let registered = self.machines.get(machine).ok_or_else(missing)?;
        Ok(Blueprint::of(
            Arc::clone(&registered.machine),
            Arc::clone(&self.library),
        ))
    }

    fn made(&self, name: &Name, context: Params) -> Result<(Family, Kept), Error> {
        let blueprint = self.blueprint(&name.0)?;
        let others = self.others(name);
        let (mut living, kept) = blueprint.create_beside(&name.1, context, others, self.now)?;
        living.tenant_id = Some(self.tenant.to_string());
        Ok((Family::new(living), kept))
    }

    pub(super) fn add(&mut self, name: &Name, family: Family) -> usize {
        let at = self.families.len();
        self.families.push(Some(Arc::new(family)));
        if name.1.contains(CHILD_MARK) {
            self.foreign.push(name.clone());
        }
        at
    }

    /// The entities of other trees that may stand where a child of an entity would be made: below its own id.
    fn others(&self, root: &Name) -> Vec<(MachineId, EntityId)> {
        let alike = self.machines.keys().filter(|machine| **machine != root.0);
        let alike = alike.map(|machine| (Arc::clone(machine), Arc::clone(&root.1)));
        let below = |(_, id): &&Name| id.len() > root.1.len() && id.starts_with(&*root.1);
        let below = self.foreign.iter().filter(below).cloned();
        let mut names = Vec::new();
        for family in alike
            .chain(below)
            .filter_map(|name| self.families.get(*self.names.get(&name)?))
        {
            let tree = family.iter().flat_map(|family| family.tree().entities());
            names.extend(tree.map(|(_, entity)| (entity.machine().id().clone(), entity.id().clone())));
        }
        names
    }

    /// The same, of a family.
    pub(super) fn others_of(&self, at: usize) -> Vec<(MachineId, EntityId)> {
        let Some(tree) = self.family(at).map(|family| family.tree()) else {
            return Vec::new();
        };
        if tree.is_family() {
            self.others(&name_of(tree, EntityIx::ROOT))
        } else {
            Vec::new()
        }
    }

    /// Keeps the commits of a family.
    pub(super) fn keep(&mut self, at: usize, all: &[Kept], hops: u32) {
        let Some(family) = self.families.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        let family = Arc::make_mut(family);
        for kept in all {
            let before = self.next_row;
            for name in family.keep(kept, &mut self.next_row, self.now) {
                self.names.insert(name, at);
            }
            for effect in &kept.view.effects {
                let row = kept.view.rows.get(effect.row);
                let number = u64::try_from(effect.row).unwrap_or_default();
                let source = Source {
                    machine_id: row.map_or_else(String::new, |row| row.machine_id.clone()),
                    entity_id: row.map_or_else(String::new, |row| row.entity_id.clone()),
                    row: before.saturating_add(number),
                };
                let id = self.effects.len().saturating_add(1);
                let outgoing = Outgoing::new(id, source, effect, hops, self.now);
                self.effects.push(Arc::new(outgoing));
            }
        }
        family.note_due();
    }

    /// One event, which makes its entity where that is missing (S2.243).
    pub(super) fn evaluate(&mut self, machine: &str, body: Fields<'_>) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        let request = EventRequest::evaluate(body)?;
        self.registered(&machine)?;
        let name = (machine.shared(), request.entity_id.shared());
        self.event(&name, &request).map(|(answer, _)| answer)
    }

    /// One event for an entity that exists (S2.246).
    pub(super) fn transition(
        &mut self,
        machine: &str,
        entity: &str,
        body: Fields<'_>,
    ) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        let entity = request::entity_id("entity_id", entity)?;
        let request = EventRequest::transition(entity.clone(), body)?;
        self.registered(&machine)?;
        let name = (machine.shared(), entity.shared());
        self.event(&name, &request).map(|(answer, _)| answer)
    }

    /// Applies an event: the answer, and what became of it.
    pub(super) fn event(
        &mut self,
        name: &Name,
        request: &EventRequest,
    ) -> Result<(Value, OutcomeName), Error> {
        if !self.machines.contains_key(&*name.0) {
            return Err(Error::NoMachine(name.0.to_string()));
        }
        if request.dry_run && !self.foreign.is_empty() {
            // An entity that it would adopt stays its own.
            let request = EventRequest {
                dry_run: false,
                ..request.clone()
            };
            let (mut answer, outcome) = self.clone().event(name, &request)?;
            if let Value::Object(answer) = &mut answer {
                answer.insert("dry_run".to_owned(), true.into());
            }
            return Ok((answer, outcome));
        }
        let Ok((at, ix)) = self.existing(name) else {
            return self.first_event(name, request);
        };
        let decided = self.decided(at, ix, request)?;
        self.settle(at, decided)
    }

    /// Decides an event; an entity that stands at a legacy child's id becomes that child first (R9).
    fn decided(&mut self, at: usize, ix: EntityIx, request: &EventRequest) -> Result<Decided, Error> {
        let others = self.others_of(at);
        if others.is_empty() {
            return self.decide_beside(at, ix, request, &others);
        }
        loop {
            let before = self.families.get(at).cloned();
            let decided = self.decide_beside(at, ix, request, &others)?;
            let Err(Error::Refused(Refusal::InstanceConflict {
                machine,
                entity,
                managed: false,
                ..
            })) = &decided.answer
            else {
                return Ok(decided);
            };
            let adoptable = others.iter().any(|(of, id)| (of, id) == (machine, entity));
            if !adoptable || !self.adopt(at, machine, entity, before.flatten()) {
                return Ok(decided);
            }
        }
    }

    fn decide_beside(
        &mut self,
        at: usize,
        ix: EntityIx,
        request: &EventRequest,
        others: &[(MachineId, EntityId)],
    ) -> Result<Decided, Error> {
        let family = self.families.get_mut(at).and_then(Option::as_mut);
        let family = family.ok_or_else(|| Error::NoEntity {
            machine: String::new(),
            entity: request.entity_id.to_string(),
        })?;
        Ok(Arc::make_mut(family).decide(ix, request, &self.library, others, self.now))
    }

    /// Makes an entity that is nobody's a legacy child of a family, as that was before it was decided on.
    fn adopt(
        &mut self,
        at: usize,
        machine: &MachineId,
        entity: &EntityId,
        before: Option<Arc<Family>>,
    ) -> bool {
        let name = (machine.shared(), entity.shared());
        let Some(mut family) = before else { return false };
        let place = family.legacy_place(machine, entity);
        let other = self.names.get(&name).copied();
        let is_root = |other: &usize| {
            let root = self
                .family(*other)
                .map(|family| name_of(family.tree(), EntityIx::ROOT));
            *other != at && root.as_ref() == Some(&name)
        };
        let (Some(place), Some(other)) = (place, other.filter(is_root)) else {
            return false;
        };
        let Some(other) = self.families.get_mut(other).and_then(Option::take) else {
            return false;
        };
        for (ix, _) in other.tree().entities() {
            self.names.insert(name_of(other.tree(), ix), at);
        }
        self.foreign.retain(|foreign| *foreign != name);
        Arc::make_mut(&mut family).adopt(Arc::unwrap_or_clone(other), &place);
        if let Some(slot) = self.families.get_mut(at) {
            *slot = Some(family);
        }
        true
    }

    /// Keeps what was decided, and tells the answer with the numbers of its rows.
    fn settle(&mut self, at: usize, decided: Decided) -> Result<(Value, OutcomeName), Error> {
        // Whoever's request found a timeout due: what it calls for was led to by nothing.
        self.keep(at, &decided.timeouts, 0);
        self.keep(at, &decided.before, self.hops);
        self.keep(at, decided.commit.as_slice(), self.hops);
        let mut answer = decided.answer?;
        if let Some(family) = self.family(at) {
            family.number(&mut answer);
        }
        Ok((json_of(&answer), decided.outcome))
    }

    /// An event for an entity that does not exist: it is made in the initial state first (S2.243). A refused event makes
    /// nothing (S2.129).
    fn first_event(&mut self, name: &Name, request: &EventRequest) -> Result<(Value, OutcomeName), Error> {
        if !request.create {
            return Err(no_entity(name));
        }
        check_given(&request.id_path, &request.entity_id)?;
        let missing = || Error::NoMachine(name.0.to_string());
        let registered = self.machines.get(&*name.0).ok_or_else(missing)?;
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            target::check(&registered.machine, Some(&self.library), &path.steps, &path.path)?;
            return Err(Error::Refused(Refusal::TargetNotActive {
                path: path.path.clone(),
                problem: format!("there is no entity `{}`", name.1),
            }));
        }
        if let Some(expected) = request.event.expected_version.filter(|expected| *expected != 0) {
            return Err(Error::Refused(Refusal::VersionConflict {
                expected,
                actual: None,
            }));
        }
        if request.event.is_reserved(&registered.machine) {
            let event_type = Arc::clone(&request.event.event_type);
            return Err(Error::Refused(Refusal::ReservedEventType { event_type }));
        }
        let (family, kept) = self.made(name, Params::new())?;
        let event = Event {
            expected_version: None,
            ..request.event.clone()
        };
        let request = EventRequest {
            event,
            ..request.clone()
        };
        // Kept only where the event is not refused.
        let others = !self.others(name).is_empty();
        let before = others.then(|| self.clone());
        let (row, effects) = (self.next_row, self.effects.len());
        let at = self.add(name, family);
        self.keep(at, &[kept], self.hops);
        let decided = self.decided(at, EntityIx::ROOT, &request);
        let told = decided.and_then(|decided| self.settle(at, decided));
        if told.is_err() || request.dry_run {
            if let Some(before) = before {
                *self = before;
                return told;
            }
            self.names.retain(|_, of| *of != at);
            self.families.truncate(at);
            self.foreign.retain(|foreign| foreign != name);
            self.next_row = row;
            self.effects.truncate(effects);
        }
        told
    }

    /// Why an event would or would not move an entity.
    pub(super) fn explain(&self, machine: &str, entity: &str, body: Fields<'_>) -> Result<Value, Error> {
        let machine = request::machine_id(machine)?;
        let entity = request::entity_id("entity_id", entity)?;
        let request = EventRequest::transition(entity.clone(), body)?;
        self.registered(&machine)?;
        let name = (machine.shared(), entity.shared());
        let (family, ix) = self.to_look_at(&name)?;
        let explanation = Arc::unwrap_or_clone(family)
            .living
            .explain(ix, &request, self.now)?;
        Ok(json_of(&explanation))
    }

    /// The events that an entity and what lives below it can take.
    pub(super) fn events(&self, machine: &str, entity: &str) -> Result<Value, Error> {
        let name = self.name(machine, entity)?;
        let (family, ix) = self.to_look_at(&name)?;
        let events = Arc::unwrap_or_clone(family).living.events_of(ix, self.now)?;
        Ok(json_of(&events))
    }

    /// A family for what only looks: an entity that the next event would adopt counts as adopted.
    fn to_look_at(&self, name: &Name) -> Result<(Arc<Family>, EntityIx), Error> {
        let (at, ix) = self.existing(name)?;
        let others = self.others_of(at);
        let mut family = self.family(at).cloned();
        if !others.is_empty() {
            let mut world = self.clone();
            for (machine, entity) in others {
                world.adopt(at, &machine, &entity, world.family(at).cloned());
            }
            family = world.family(at).cloned();
        }
        let mut family = family.ok_or_else(|| no_entity(name))?;
        Arc::make_mut(&mut family)
            .living
            .tree
            .learn(Arc::clone(&self.library));
        Ok((family, ix))
    }

    /// An entity (S2.241), or that with all that lives or lived below it.
    pub(super) fn entity(&self, machine: &str, entity: &str, tree: bool) -> Result<Value, Error> {
        let name = self.name(machine, entity)?;
        let (at, ix) = self.existing(&name)?;
        let family = self.family(at).ok_or_else(|| no_entity(&name))?;
        Ok(if tree {
            json_of(&family.with_children(ix, &self.tenant))
        } else {
            family.entity(ix, &self.tenant)
        })
    }

    /// The entities of a machine, or of all, by their ids.
    pub(super) fn entities(&self, machine: Option<&str>) -> Result<Value, Error> {
        let machine = machine.map(request::machine_id).transpose()?;
        if let Some(machine) = &machine {
            self.registered(machine)?;
        }
        let of = |name: &&Name| {
            machine
                .as_ref()
                .is_none_or(|machine| *machine.as_str() == *name.0)
        };
        let mut names: Vec<&Name> = self.names.keys().filter(of).collect();
        crate::sorted::sort(&mut names);
        let shown = names.into_iter().filter_map(|name| {
            let (at, ix) = self.existing(name).ok()?;
            Some(self.family(at)?.entity(ix, &self.tenant))
        });
        Ok(shown.collect())
    }

    /// The rows of an entity's history (S2.256) with higher numbers than `after`.
    pub(super) fn history(
        &self,
        machine: &str,
        entity: &str,
        order: Option<&str>,
        after: u64,
    ) -> Result<Value, Error> {
        let name = self.name(machine, entity)?;
        let order = order.unwrap_or("timestamp");
        if !["timestamp", "newest", "id"].contains(&order) {
            return Err(Error::invalid(
                "order",
                "it is no order of the history",
                "`timestamp`, `newest` or `id`",
            ));
        }
        let (at, ix) = self.existing(&name)?;
        let family = self.family(at).ok_or_else(|| no_entity(&name))?;
        Ok(family.history(ix, order, after, &self.tenant))
    }

    /// A machine as a picture, with the states of an entity marked where one is named.
    pub(super) fn diagram(
        &self,
        machine: &str,
        format: Option<&str>,
        entity: Option<&str>,
    ) -> Result<Value, Error> {
        let id = request::machine_id(machine)?;
        request::diagram_format(format)?;
        let blueprint = self.blueprint(id.as_str())?;
        let current = match entity {
            Some(entity) => {
                let name = self.name(machine, entity)?;
                let (at, ix) = self.existing(&name)?;
                self.family(at)
                    .map(|family| family.tree().entity(ix).configuration())
            }
            None => None,
        };
        Ok(blueprint.diagram(format, current.as_ref())?.into())
    }

    /// Deletes an entity with all that hangs below it, and its history (S2.242, M10). What it called for stays.
    pub(super) fn delete(&mut self, machine: &str, entity: &str) -> Result<Value, Error> {
        let name = self.name(machine, entity)?;
        let (at, ix) = self.existing(&name)?;
        let Some(slot) = self.families.get_mut(at) else {
            return Err(no_entity(&name));
        };
        let Some(family) = slot.as_mut() else {
            return Err(no_entity(&name));
        };
        family.check_deletable(ix)?;
        let gone = if ix == EntityIx::ROOT {
            let names = family
                .tree()
                .entities()
                .map(|(ix, _)| name_of(family.tree(), ix))
                .collect();
            *slot = None;
            names
        } else {
            let family = Arc::make_mut(family);
            let gone = family.remove(ix);
            family.note_due();
            gone
        };
        self.foreign.retain(|foreign| *foreign != name);
        for name in gone {
            self.names.remove(&name);
        }
        Ok(Value::Null)
    }

    /// Frees the parked timers of an entity (M6).
    pub(super) fn release(&mut self, machine: &str, entity: &str) -> Result<Value, Error> {
        let name = self.name(machine, entity)?;
        let (at, ix) = self.existing(&name)?;
        let mut released = 0;
        if let Some(family) = self.families.get_mut(at).and_then(Option::as_mut) {
            let family = Arc::make_mut(family);
            if !family.living.is_over(ix) {
                released = family.living.tree.entity_mut(ix).release_timers();
            }
            family.note_due();
        }
        Ok(json!({"released": released}))
    }
}

fn no_entity(name: &Name) -> Error {
    Error::NoEntity {
        machine: name.0.to_string(),
        entity: name.1.to_string(),
    }
}

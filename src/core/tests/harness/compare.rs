//! What the crate has, against what the reference model says.

use std::collections::BTreeMap;

use serde_json::{Map, json};
use statewright_core::commit::{Commit, LifeKind};
use statewright_core::tree;

use super::pair::{Name, Pair, name_of};
use crate::model::family::{self, Status};
use crate::model::{self};

/// A life with names for entities.
type Life = (&'static str, Name, u64, Option<String>, Option<(String, String)>);

impl Pair {
    pub fn compare_commit(&self, commit: &Commit, expected: &family::Commit) {
        let rows: Vec<(Name, model::Row)> = commit.rows.iter().map(|row| self.row(row)).collect();
        let modelled = expected.rows.iter().map(|(node, row)| {
            let row = model::Row {
                id: 0,
                params: without_params(row),
                ..row.clone()
            };
            (self.name(*node), row)
        });
        let modelled: Vec<(Name, model::Row)> = modelled.collect();
        for (place, (row, expected)) in rows.iter().zip(&modelled).enumerate() {
            assert_eq!(row, expected, "row {place}");
        }
        assert_eq!(rows.len(), modelled.len(), "the rows");
        let writes: BTreeMap<Name, u64> = commit
            .writes
            .iter()
            .map(|(ix, version)| (name_of(self.tree.entity(*ix)), version.0))
            .collect();
        assert_eq!(writes.len(), commit.writes.len(), "I2: each once");
        let modelled = expected.written.iter();
        let modelled: BTreeMap<Name, u64> = modelled
            .map(|(node, version)| (self.name(*node), *version))
            .collect();
        assert_eq!(writes, modelled, "I2: what is written");
        let made: Vec<usize> = commit.made.iter().map(|ix| self.modelled(*ix)).collect();
        let modelled: Vec<usize> = expected.made.iter().copied().collect();
        assert_eq!(made, modelled, "what is made");
        let lives: Vec<Life> = commit.lives.iter().map(|life| self.life(life)).collect();
        let modelled: Vec<Life> = expected
            .lives
            .iter()
            .map(|life| {
                let name = self.name(life.child);
                (life.kind, name, life.seq, life.key.clone(), life.advance.clone())
            })
            .collect();
        assert_eq!(lives, modelled, "what became of children");
    }

    fn row(&self, row: &statewright_core::commit::Row) -> (Name, model::Row) {
        let entity = self.tree.entity(row.entity);
        let (region, from, to) = row.names(entity.machine());
        let cancel = row.event_type() == "$sub_cancel";
        let params = row.event_params().cloned().unwrap_or_default();
        let row = model::Row {
            region: region.into_owned(),
            from: from.into_owned(),
            to: to.into_owned(),
            // A cancel starts no entry.
            seq: if cancel { 0 } else { row.seq.0 },
            event_type: row.event_type().to_owned(),
            params,
            timestamp: row.timestamp,
            key: row.key.to_string(),
            cause: row.cause.to_json(&self.tree),
            actions: row.actions.iter().map(|action| json!(action)).collect(),
            id: 0,
        };
        (name_of(entity), row)
    }

    fn life(&self, life: &statewright_core::commit::Life) -> Life {
        let child = name_of(self.tree.entity(life.child));
        let parent = self.tree.entity(life.parent).machine();
        let kind = match life.kind {
            LifeKind::Started => "started",
            LifeKind::Completed => "completed",
            LifeKind::Cancelled => "cancelled",
            LifeKind::Resumed => "resumed",
        };
        let place = self.model.nodes[self.modelled(life.child)]
            .place
            .as_ref()
            .unwrap();
        assert_eq!(self.modelled(life.parent), place.parent);
        assert_eq!(*parent.region(life.region).id, *place.region);
        assert_eq!(*parent.state(life.state).name, *place.state);
        let row_of = if kind == "started" {
            life.parent
        } else {
            life.child
        };
        let key = life.row.as_ref().map(|(entity, key)| {
            assert_eq!(*entity, row_of);
            key.to_string()
        });
        let advance = life.advance.as_ref();
        let advance = advance.map(|(state, key)| (parent.state(*state).name.to_string(), key.to_string()));
        (kind, child, life.seq.0, key, advance)
    }

    /// Compares all that the entities are.
    pub fn compare(&self) {
        let mut known = 0;
        for node in self.model.present() {
            let (machine, id) = self.name(node);
            let entity = self
                .tree
                .entities()
                .find(|(_, entity)| name_of(entity) == (machine.clone(), id.clone()));
            let Some((ix, entity)) = entity else {
                assert!(!self.model.is_live(node), "{id} of {machine} is gone");
                continue;
            };
            known += 1;
            let modelled = &self.model.nodes[node];
            assert_eq!(entity.version().0, modelled.entity.version, "I2: {id}");
            assert_eq!(entity.next_seq().0, modelled.entity.next_seq, "{id}");
            assert_eq!(entity.context(), &modelled.entity.context, "{id}");
            let machine = entity.machine();
            let mut regions = Vec::new();
            for (region, entry) in entity.entries() {
                let region = machine.region(region).id.to_string();
                let expected = &modelled.entity.entries[&region];
                assert_eq!(*machine.state(entry.state).name, *expected.state, "{id} {region}");
                assert_eq!(entry.seq.0, expected.seq, "{id} {region}");
                assert_eq!(entry.entered_at.0, expected.entered_at, "{id} {region}");
                let key = entry.key.as_ref().map(ToString::to_string);
                assert_eq!(key, expected.key, "{id} {region}");
                let due = self.family.due(&self.model, node, &region);
                let armed = entry.timer.armed().map(|due| due.0);
                assert_eq!(armed, due, "the timer of {id} {region}");
                regions.push(region);
            }
            let expected = &self.family.model(modelled).regions;
            assert_eq!(&regions, expected, "I4: one entry for each region");
            match (self.tree.place(ix), &modelled.place) {
                (None, None) => {}
                (Some(place), Some(expected)) => self.compare_place(&id, place, expected),
                (place, expected) => panic!("{id}: {place:?}, but the model says {expected:?}"),
            }
        }
        assert_eq!(known, self.tree.len(), "nothing but what the model has");
    }

    fn compare_place(&self, id: &str, place: &tree::Place, expected: &family::Place) {
        let parent = self.tree.entity(place.parent).machine();
        let status = match place.status {
            tree::Status::Active => Status::Active,
            tree::Status::Completed => Status::Completed,
            tree::Status::Cancelled => Status::Cancelled,
        };
        let seen = family::Place {
            parent: self.modelled(place.parent),
            region: parent.region(place.region).id.to_string(),
            state: parent.state(place.state).name.to_string(),
            seq: place.seq.0,
            managed: place.managed,
            status,
            depth: place.depth,
            started: place.started.0,
            ended: place.ended.map(|ended| ended.0),
            // What can wake is told by what wakes.
            wakes_with: expected.wakes_with,
        };
        assert_eq!(&seen, expected, "{id}");
    }

    /// I8: what the rows say, from the creation on, is what the entities are.
    pub fn replay(&self) {
        for (_, entity) in self.tree.entities() {
            let (machine, id) = name_of(entity);
            let node = self.model.find(&machine, &id).unwrap();
            let modelled = &self.model.nodes[node];
            let initial = self.family.machines[&machine].create(Map::new(), 0);
            let mut states = initial.states();
            let rows = modelled.entity.history.iter();
            for row in rows.filter(|row| row.event_type != "$sub_cancel") {
                assert_eq!(states[&row.region], row.from, "I8: {id}");
                states.insert(row.region.clone(), row.to.clone());
            }
            assert_eq!(states, modelled.entity.states(), "I8: {id}");
        }
    }
}

/// The params of a row as its history shows them: engine rows have none.
fn without_params(row: &model::Row) -> Map<String, serde_json::Value> {
    if row.event_type.starts_with('$') && row.cause["via"] != "event" {
        Map::new()
    } else {
        row.params.clone()
    }
}

//! The reference model of a tree: what one commit does to a family of entities (R2), and the timeouts of all of it.
//!
//! A commit is tried on a copy of the tree, which is thrown away where it is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::work::Work;
use super::{Entity, First, Model, Row, text};

/// Most entities of a commit, and of what lives in a tree.
pub const MOST: usize = 512;

/// The code of a refusal.
pub type Refused = &'static str;

/// The machines that there are, by id.
#[derive(Debug, Clone)]
pub struct Family {
    pub machines: BTreeMap<String, Model>,
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// In the order in which they were made; the root is first.
    pub nodes: Vec<Node>,
    /// How many rows were written.
    pub rows: u64,
    /// Machine and id of entities outside of the tree.
    pub foreign: BTreeSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub machine: String,
    pub id: String,
    pub entity: Entity,
    /// None for the root.
    pub place: Option<Place>,
    /// What was sent here and a child handled, by key (M11).
    pub handed_on: BTreeMap<String, Map<String, Value>>,
    pub deleted: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub parent: usize,
    pub region: String,
    pub state: String,
    pub seq: u64,
    pub managed: bool,
    pub status: Status,
    pub depth: u32,
    pub started: i64,
    pub ended: Option<i64>,
    /// The child whose cancel ended it and that can wake again.
    pub wakes_with: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Active,
    Completed,
    Cancelled,
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commit {
    /// Rows with their entities.
    pub rows: Vec<(usize, Row)>,
    pub lives: Vec<Life>,
    /// Each entity written, with its version after.
    pub written: BTreeMap<usize, u64>,
    pub made: BTreeSet<usize>,
}

/// What became of a managed child.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    pub kind: &'static str,
    pub child: usize,
    pub seq: u64,
    pub key: Option<String>,
    /// Where a completion led the parent, and by which row.
    pub advance: Option<(String, String)>,
}

/// When it happens.
#[derive(Debug, Clone, Copy)]
pub struct When {
    /// What the rows say.
    pub timestamp: i64,
    /// When the entries begin.
    pub entered_at: i64,
}

impl Family {
    pub fn new(definitions: &[Value]) -> Self {
        let models: Vec<Model> = definitions.iter().map(Model::new).collect();
        let strict = models.first().is_some_and(|model| model.strict);
        let named = definitions
            .iter()
            .map(|definition| text(&definition["machine_id"]));
        Self {
            machines: named.zip(models).collect(),
            strict,
        }
    }

    /// A new root with what its initial states start.
    pub fn create(
        &self,
        machine: &str,
        id: &str,
        context: Map<String, Value>,
        foreign: BTreeSet<(String, String)>,
        now: i64,
    ) -> Result<(Tree, Commit), Refused> {
        let root = Node {
            machine: machine.to_owned(),
            id: id.to_owned(),
            entity: self.machines[machine].create(context, now),
            place: None,
            handed_on: BTreeMap::new(),
            deleted: false,
        };
        let mut tree = Tree {
            nodes: vec![root],
            rows: 0,
            foreign,
        };
        let when = When {
            timestamp: now,
            entered_at: now,
        };
        let (commit, ()) = self.attempt(&mut tree, when, |work| {
            work.made(0)?;
            work.start_initial(0)
        })?;
        Ok((tree, commit))
    }

    /// Does it on a copy, which takes the tree's place where it is not refused.
    pub fn attempt<T>(
        &self,
        tree: &mut Tree,
        when: When,
        what: impl FnOnce(&mut Work<'_>) -> Result<T, Refused>,
    ) -> Result<(Commit, T), Refused> {
        let mut trial = tree.clone();
        let mut work = Work::new(self, &mut trial, when);
        let done = what(&mut work)?;
        let commit = work.commit;
        *tree = trial;
        Ok((commit, done))
    }

    pub fn model(&self, node: &Node) -> &Model {
        &self.machines[&node.machine]
    }

    /// When a region of an entity is due next; never where the entity has ended (I6).
    pub fn due(&self, tree: &Tree, node: usize, region: &str) -> Option<i64> {
        let entity = &tree.nodes[node];
        let due = self.model(entity).due(&entity.entity, region);
        due.filter(|_| tree.is_live(node))
    }

    /// Applies what is due, oldest first, ties outermost first, then in region order (M5, R5); at most so many. Says
    /// what came of each, and whether something is left undone.
    pub fn catch_up(&self, tree: &mut Tree, now: i64, most: usize) -> (Vec<Result<Commit, Refused>>, bool) {
        let mut done = Vec::new();
        let mut applied = 0;
        loop {
            let mut dues = Vec::new();
            for node in tree.present() {
                let regions = &self.model(&tree.nodes[node]).regions;
                for (place, region) in regions.iter().enumerate() {
                    if let Some(due) = self.due(tree, node, region).filter(|due| *due <= now) {
                        dues.push((due, self.rank(tree, node), place));
                    }
                }
            }
            let Some((due, (_, _, node), place)) = dues.into_iter().min() else {
                return (done, false);
            };
            if applied == most {
                return (done, true);
            }
            applied += 1;
            let region = self.model(&tree.nodes[node]).regions[place].clone();
            done.extend(self.fire(tree, node, &region, due, now));
        }
    }

    /// One due entry. None where no conditions hold: it is due at its next timeout (M6).
    fn fire(
        &self,
        tree: &mut Tree,
        node: usize,
        region: &str,
        due: i64,
        now: i64,
    ) -> Option<Result<Commit, Refused>> {
        let judged = if self.strict { due } else { now };
        let machine = self.model(&tree.nodes[node]);
        let entity = &tree.nodes[node].entity;
        let Some((own_due, transition)) = machine.timing_out(entity, region, judged) else {
            let entry = tree.nodes[node].entity.entries.get_mut(region).unwrap();
            entry.tried = Some(judged);
            return None;
        };
        let fired_due = if self.strict { due } else { own_due };
        let when = When {
            timestamp: fired_due,
            entered_at: fired_due,
        };
        let first = First {
            key: json!(["timeout", region, entity.entries[region].seq]),
            event_type: "$timeout".to_owned(),
            params: Map::new(),
            timestamp: fired_due,
            cause: json!({"via": "timeout", "due_at": fired_due}),
            entered_at: fired_due,
        };
        let moves = vec![(region.to_owned(), text(&transition["to"]))];
        let fired = self.attempt(tree, when, |work| {
            work.step(node, &moves, &first)?;
            work.rise(node)
        });
        if fired.is_err() {
            let entry = tree.nodes[node].entity.entries.get_mut(region).unwrap();
            entry.parked = true;
        }
        Some(fired.map(|(commit, ())| commit))
    }

    /// Outermost first, then in region order, then as they were made.
    pub fn rank(&self, tree: &Tree, node: usize) -> (usize, Vec<usize>, usize) {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(place) = &tree.nodes[at].place {
            let regions = &self.model(&tree.nodes[place.parent]).regions;
            path.insert(
                0,
                regions.iter().position(|region| *region == place.region).unwrap(),
            );
            at = place.parent;
        }
        (path.len(), path, node)
    }

    /// Frees what was parked: it is due as it was.
    pub fn release(tree: &mut Tree) {
        for node in &mut tree.nodes {
            for entry in node.entity.entries.values_mut() {
                entry.parked = false;
            }
        }
    }
}

impl Tree {
    /// The entities that were not deleted.
    pub fn present(&self) -> Vec<usize> {
        let all = 0..self.nodes.len();
        all.filter(|node| !self.nodes[*node].deleted).collect()
    }

    pub fn is_live(&self, node: usize) -> bool {
        let place = self.nodes[node].place.as_ref();
        place.is_none_or(|place| place.status == Status::Active)
    }

    pub fn is_managed(&self, node: usize) -> bool {
        self.nodes[node].place.as_ref().is_some_and(|place| place.managed)
    }

    /// The children that satisfy a condition, as they were made.
    pub fn children(&self, parent: usize, which: impl Fn(&Place) -> bool) -> Vec<usize> {
        let mut found = self.present();
        found.retain(|node| {
            let place = self.nodes[*node].place.as_ref();
            place.is_some_and(|place| place.parent == parent && which(place))
        });
        found
    }

    /// It and all below it.
    pub fn subtree(&self, top: usize) -> Vec<usize> {
        let mut found = vec![top];
        for child in self.children(top, |_| true) {
            found.extend(self.subtree(child));
        }
        found
    }

    pub fn find(&self, machine: &str, id: &str) -> Option<usize> {
        let mut present = self.present().into_iter();
        present.find(|node| self.nodes[*node].machine == machine && self.nodes[*node].id == id)
    }

    pub fn taken(&self, machine: &str, id: &str) -> bool {
        self.find(machine, id).is_some() || self.foreign.contains(&(machine.to_owned(), id.to_owned()))
    }

    /// How many live or can wake.
    pub fn counted(&self) -> usize {
        let counts = |node: &usize| {
            let place = self.nodes[*node].place.as_ref();
            self.is_live(*node) || place.is_some_and(|place| place.wakes_with.is_some())
        };
        self.present().iter().filter(|node| counts(node)).count()
    }

    /// Deletes an entity with all below it (M10).
    pub fn delete(&mut self, top: usize) {
        for node in self.subtree(top) {
            self.nodes[node].deleted = true;
        }
    }
}

//! A commit in the making: a step, the children that it ends and starts, and the completions that follow (R2).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::family::{Commit, Family, Life, MOST, Node, Place, Refused, Status, Tree, When};
use super::{First, Model, Row, text};

/// A commit in the making.
pub struct Work<'a> {
    pub family: &'a Family,
    pub tree: &'a mut Tree,
    when: When,
    pub commit: Commit,
    /// The legacy children that the event was forwarded to: in the seed's contract these alone move their parents.
    pub chain: BTreeSet<usize>,
    /// The key of the first row of each entity's last step.
    last_steps: BTreeMap<usize, String>,
}

impl<'a> Work<'a> {
    pub fn new(family: &'a Family, tree: &'a mut Tree, when: When) -> Self {
        Self {
            family,
            tree,
            when,
            commit: Commit::default(),
            chain: BTreeSet::new(),
            last_steps: BTreeMap::new(),
        }
    }

    fn node(&self, node: usize) -> &Node {
        &self.tree.nodes[node]
    }

    fn model(&self, node: usize) -> &'a Model {
        self.family.model(self.node(node))
    }

    fn place(&self, node: usize) -> Place {
        self.node(node).place.clone().unwrap()
    }

    /// Counts a new entity.
    pub fn made(&mut self, node: usize) -> Result<(), Refused> {
        self.commit.made.insert(node);
        self.wrote(node);
        if self.commit.written.len() > MOST || self.tree.counted() > MOST {
            return Err("CASCADE_LIMIT");
        }
        Ok(())
    }

    /// I2: one version more for each entity that a commit writes; one that it makes stays at 1.
    fn wrote(&mut self, node: usize) {
        if !self.commit.written.contains_key(&node) {
            let made = self.commit.made.contains(&node);
            let entity = &mut self.tree.nodes[node].entity;
            entity.version += u64::from(!made);
            self.commit.written.insert(node, entity.version);
        }
    }

    /// Numbers a row and remembers it.
    fn row(&mut self, node: usize, mut row: Row, enters: bool) {
        self.tree.rows += 1;
        row.id = self.tree.rows;
        let entity = &mut self.tree.nodes[node].entity;
        if enters {
            let entry = entity.entries.get_mut(&row.region).unwrap();
            entry.row = Some(row.id);
            entry.key = Some(row.key.clone());
        }
        entity.history.push(row.clone());
        self.commit.rows.push((node, row));
    }

    /// A step of an entity: its moves with the joins that follow, the children of what it leaves are cancelled, those of
    /// what it enters are started, and those of them that are complete move it on (R2, M7).
    pub fn step(&mut self, node: usize, moves: &[(String, String)], first: &First) -> Result<(), Refused> {
        let model = self.model(node);
        let before = self.node(node).entity.entries.clone();
        let states = self.node(node).entity.states();
        let Ok(fired) = model.settle(&states, moves) else {
            return Err("JOIN_CASCADE_LIMIT");
        };
        self.wrote(node);
        self.last_steps.insert(node, first.key.to_string());
        let rows = model.write(&mut self.tree.nodes[node].entity, moves, &fired, first);
        for row in rows {
            self.row(node, row, true);
        }
        let entries = self.node(node).entity.entries.clone();
        let left = self.tree.children(node, |place| {
            let stays = entries[&place.region].seq == place.seq;
            place.managed && place.status == Status::Active && !stays
        });
        let mut tops = BTreeMap::new();
        for child in left {
            let sub = self.sub_of(child);
            tops.insert(child, sub["reentry"] == "resume");
        }
        self.cancel(&tops, Some(&first.key.to_string()));
        let mut entered = model.regions.clone();
        entered.retain(|region| before[region].seq != entries[region].seq);
        self.start_all(node, &entered)
    }

    /// The definition of the compound state that a child belongs to.
    fn sub_of(&self, child: usize) -> Value {
        let place = self.place(child);
        let model = self.model(place.parent);
        model.child_of(&place.region, &place.state).unwrap_or_default()
    }

    /// Cancels children with all that lives below them: deepest first, then in region order (S2.198 to S2.206). Each
    /// comes with whether it can wake.
    fn cancel(&mut self, tops: &BTreeMap<usize, bool>, by: Option<&str>) {
        let mut ended = Vec::new();
        for (top, wakes) in tops {
            for node in self.tree.subtree(*top) {
                if self.tree.is_live(node) {
                    let (level, path, _) = self.family.rank(self.tree, node);
                    ended.push((std::cmp::Reverse(level), path, node, wakes.then_some(*top)));
                }
            }
        }
        ended.sort();
        for (_, _, node, wakes_with) in ended {
            let time = self.when.entered_at;
            let place = self.tree.nodes[node].place.as_mut().unwrap();
            place.status = Status::Cancelled;
            place.ended = Some(time);
            place.wakes_with = wakes_with;
            let place = place.clone();
            self.wrote(node);
            let states = self.node(node).entity.states();
            let state = match states.get("_") {
                Some(state) => state.clone(),
                None => self.region_map(node),
            };
            let key = json!(["cancel", place.region, place.state, place.seq]).to_string();
            let row = Row {
                region: "_".to_owned(),
                from: state.clone(),
                to: state,
                seq: 0,
                event_type: "$sub_cancel".to_owned(),
                params: Map::new(),
                timestamp: self.when.timestamp,
                key: key.clone(),
                cause: json!({"via": "cancel", "by": by}),
                actions: Vec::new(),
                id: 0,
            };
            self.row(node, row, false);
            self.life("cancelled", node, Some(key), None);
        }
    }

    /// The compact JSON of a parallel entity's regions and states.
    fn region_map(&self, node: usize) -> String {
        let states = self.node(node).entity.states();
        let regions = &self.model(node).regions;
        let pairs: Vec<String> = regions
            .iter()
            .map(|region| format!("{}:{}", json!(region), json!(states[region])))
            .collect();
        format!("{{{}}}", pairs.join(","))
    }

    /// Legacy children are in no list.
    fn life(
        &mut self,
        kind: &'static str,
        child: usize,
        key: Option<String>,
        advance: Option<(String, String)>,
    ) {
        let place = self.place(child);
        if place.managed {
            let seq = place.seq;
            self.commit.lives.push(Life {
                kind,
                child,
                seq,
                key,
                advance,
            });
        }
    }

    /// Starts the children of an entity's initial states, and tests them.
    pub fn start_initial(&mut self, node: usize) -> Result<(), Refused> {
        self.start_all(node, &self.model(node).regions)
    }

    /// Starts the managed children of regions, in order; then each that is complete moves its parent on (M7).
    fn start_all(&mut self, node: usize, regions: &[String]) -> Result<(), Refused> {
        let model = self.model(node);
        let mut started = Vec::new();
        for region in regions {
            let state = self.node(node).entity.entries[region].state.clone();
            let sub = model.child_of(region, &state);
            if sub.is_some_and(|sub| sub["lifecycle"] == "managed") {
                started.push(self.start(node, region)?);
            }
        }
        for child in started {
            if self.family.strict
                && let Some(target) = self.leads_to(child)
            {
                self.complete(child, &target)?;
            }
        }
        Ok(())
    }

    /// Starts the managed child of a region's current state, or wakes it (S2.174 to S2.183, M9).
    fn start(&mut self, parent: usize, region: &str) -> Result<usize, Refused> {
        let entry = self.node(parent).entity.entries[region].clone();
        let sub = self.model(parent).child_of(region, &entry.state).unwrap();
        let machine = text(&sub["machine_id"]);
        let depth = self.node(parent).place.as_ref().map_or(0, |place| place.depth) + 1;
        if depth > 8 {
            return Err("NESTING_DEPTH_EXCEEDED");
        }
        self.fits(&sub, &machine, true)?;
        let earlier = self.tree.children(parent, |place| {
            place.managed && place.region == region && place.state == entry.state
        });
        let earlier = earlier.last().copied();
        if let Some(earlier) = earlier
            && sub["reentry"] == "resume"
            && self.place(earlier).wakes_with == Some(earlier)
        {
            self.wake(earlier);
            return Ok(earlier);
        }
        let plain = format!("{}::sub::{}", self.node(parent).id, entry.state);
        let later = format!("{plain}::{}", entry.seq);
        let status = earlier.map(|earlier| self.place(earlier).status);
        let (id, conflict) = match (status, sub["reentry"].as_str()) {
            (None, _) => (plain, false),
            (Some(_), Some("fresh")) | (Some(Status::Completed), Some("resume")) => (later, false),
            (Some(_), _) => (plain, true),
        };
        if conflict || self.tree.taken(&machine, &id) {
            return Err("INSTANCE_CONFLICT");
        }
        let place = Place {
            parent,
            region: region.to_owned(),
            state: entry.state.clone(),
            seq: entry.seq,
            managed: true,
            status: Status::Active,
            depth,
            started: self.when.entered_at,
            ended: None,
            wakes_with: None,
        };
        let child = self.add(&machine, id, place)?;
        self.life("started", child, entry.key, None);
        self.start_initial(child)?;
        Ok(child)
    }

    /// Whether a child can be made of its machine.
    pub fn fits(&self, sub: &Value, machine: &str, managed: bool) -> Result<(), Refused> {
        let Some(model) = self.family.machines.get(machine) else {
            return Err("NOT_FOUND");
        };
        if model.strict != self.family.strict {
            return Err("BAD_REQUEST");
        }
        let names_all = |rule: &Value| {
            model
                .regions
                .iter()
                .all(|region| rule["when"].get(region).is_some())
        };
        let rules = sub["complete_when"].as_array().cloned().unwrap_or_default();
        let finals = sub["on_final"]
            .as_object()
            .is_some_and(|finals| !finals.is_empty());
        if managed && (!rules.iter().all(names_all) || (finals && model.parallel())) {
            return Err("BAD_REQUEST");
        }
        Ok(())
    }

    /// Adds a new child.
    pub fn add(&mut self, machine: &str, id: String, place: Place) -> Result<usize, Refused> {
        let model = &self.family.machines[machine];
        self.tree.nodes.push(Node {
            machine: machine.to_owned(),
            id,
            entity: model.create(Map::new(), self.when.entered_at),
            place: Some(place),
            handed_on: BTreeMap::new(),
            deleted: false,
        });
        let child = self.tree.nodes.len() - 1;
        self.made(child)?;
        Ok(child)
    }

    /// Wakes a child with everything that its cancel ended, in the order of starts: each region in a new entry instance
    /// (M9, R9b).
    fn wake(&mut self, top: usize) {
        let mut woken = self.tree.subtree(top);
        woken.retain(|node| self.place(*node).wakes_with == Some(top));
        woken.sort_by_key(|node| {
            let (_, path, made) = self.family.rank(self.tree, *node);
            (path, made)
        });
        for node in woken {
            let Place { parent, region, .. } = self.place(node);
            let entered = self.node(parent).entity.entries[&region].clone();
            let by = entered.key;
            let place = self.tree.nodes[node].place.as_mut().unwrap();
            place.seq = entered.seq;
            place.status = Status::Active;
            place.ended = None;
            place.wakes_with = None;
            self.wrote(node);
            let mut key_of_first = None;
            for region in self.model(node).regions.clone() {
                let time = self.when.entered_at;
                let entity = &mut self.tree.nodes[node].entity;
                let state = entity.entries[&region].state.clone();
                let seq = entity.enter(&region, &state, time);
                let key = json!(["resume", region, state, seq]).to_string();
                key_of_first.get_or_insert(key.clone());
                let row = Row {
                    region,
                    from: state.clone(),
                    to: state,
                    seq,
                    event_type: "$sub_resume".to_owned(),
                    params: Map::new(),
                    timestamp: self.when.timestamp,
                    key,
                    cause: json!({"via": "resume", "by": by}),
                    actions: Vec::new(),
                    id: 0,
                };
                self.row(node, row, true);
            }
            self.life("resumed", node, key_of_first, None);
        }
    }

    /// Whether an entity's states complete it, and so upward.
    pub fn rise(&mut self, mut node: usize) -> Result<(), Refused> {
        while let Some(target) = self.leads_to(node) {
            let parent = self.place(node).parent;
            self.complete(node, &target)?;
            node = parent;
        }
        Ok(())
    }

    /// The state that a complete child leads its parent to.
    fn leads_to(&self, child: usize) -> Option<String> {
        let place = self.node(child).place.clone()?;
        if place.status != Status::Active {
            return None;
        }
        let sub = self.sub_of(child);
        let states = self.node(child).entity.states();
        let flat = states.get("_");
        let by_final = flat.and_then(|state| sub["on_final"][state].as_str());
        if !place.managed {
            let there = self.node(place.parent).entity.entries[&place.region].state == place.state;
            let may = self.family.strict || self.chain.contains(&child);
            return by_final.filter(|_| there && may).map(str::to_owned);
        }
        let rules = sub["complete_when"].as_array().cloned().unwrap_or_default();
        let holds = |rule: &Value| {
            let when = rule["when"].as_object().unwrap();
            when.iter()
                .all(|(region, state)| states.get(region) == Some(&text(state)))
        };
        let by_rule = rules.iter().find(|rule| holds(rule));
        by_final
            .map(str::to_owned)
            .or_else(|| by_rule.map(|rule| text(&rule["target"])))
    }

    /// A child is complete: what lives below it is cancelled, and its parent goes on (S2.185 to S2.194).
    pub fn complete(&mut self, child: usize, target: &str) -> Result<(), Refused> {
        let place = self.place(child);
        let (seq, key) = if place.managed {
            let rows = self.commit.rows.iter().rev();
            let last = rows.clone().find(|(node, _)| *node == child);
            (place.seq, last.map(|(_, row)| row.key.clone()))
        } else {
            let seq = self.node(place.parent).entity.entries[&place.region].seq;
            (seq, self.node(child).entity.entries["_"].key.clone())
        };
        let parent_key = json!(["sub", place.region, place.state, seq]);
        if place.managed {
            let ended = self.tree.nodes[child].place.as_mut().unwrap();
            ended.status = Status::Completed;
            ended.ended = Some(self.when.entered_at);
            self.wrote(child);
            let advance = (target.to_owned(), parent_key.to_string());
            self.life("completed", child, key.clone(), Some(advance));
            let below = self.tree.children(child, |_| true);
            let by = self.last_steps.get(&child).cloned();
            let below = below.into_iter().map(|node| (node, false)).collect();
            self.cancel(&below, by.as_deref());
        }
        let node = self.node(child);
        let named = json!({"machine_id": node.machine, "entity_id": node.id});
        let via = if place.managed { "managed" } else { "legacy" };
        let first = First {
            key: parent_key,
            event_type: "$sub_complete".to_owned(),
            params: Map::new(),
            timestamp: self.when.timestamp,
            cause: json!({"via": via, "child": named, "key": key}),
            entered_at: self.when.entered_at,
        };
        self.step(place.parent, &[(place.region, target.to_owned())], &first)
    }
}

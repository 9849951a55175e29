//! What a new revision takes from the entities that live by the one before (design 6): found, and told, before it is
//! written, and looked for again in the batch that writes it.

use serde_json::{Map, Value, json};
use statewright_core::contract::Contract;
use statewright_core::definition::{Definition, FLAT_REGION, Lifecycle, SubMachineDef, Valid};
use statewright_core::ids::{MachineId, TenantId};
use statewright_core::sorted::{Gather, SortedMap, SortedSet};

use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::error::{Error, LiveState};
use crate::load::{decode, is_over, rows_of};
use crate::outbound::Outbound;

/// An entity `e` lives: it is no child, or one that is active or can wake again. What ended for good moves no more.
macro_rules! lives {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM instances i WHERE i.uid = e.uid AND ",
            is_over!(),
            ")"
        )
    };
}

/// Live entities `e` that run by revision ?4 in the states of ?3, a JSON array of [region, state].
macro_rules! live_in {
    () => {
        "CROSS JOIN entities e ON e.tenant = ?1 AND e.machine_id = ?2 AND e.entity_id = n.entity_id AND e.uid = n.uid \
         CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?4 \
         WHERE n.tenant = ?1 AND n.machine_id = ?2 AND n.region = p.value->>0 AND n.state = p.value->>1 AND "
    };
}

/// Live entities `e` that run by revision ?3.
macro_rules! live {
    () => {
        "FROM entities e \
         CROSS JOIN revisions r ON r.tenant = ?1 AND r.machine_id = ?2 AND r.revision = e.revision AND r.effective = ?3 "
    };
}

/// Live entities `e` that run by revision ?3 and have a live parent or child: a tree has one contract.
macro_rules! kin {
    () => {
        concat!(
            live!(),
            "LEFT JOIN instances k ON k.uid = e.uid WHERE e.tenant = ?1 AND e.machine_id = ?2 AND ",
            lives!(),
            " AND (k.uid IS NOT NULL OR EXISTS (SELECT 1 FROM instances c WHERE c.root_uid = e.uid AND c.current = 1 \
               AND c.parent_uid = e.uid AND (c.status = 'active' OR c.cancelled_with IS NOT NULL)))"
        )
    };
}

/// Where live entities are, each state of ?3 with how many, up to 1,000.
pub(crate) const LIVE_IN: &str = concat!(
    "SELECT json_array(region, state, entities) FROM ( \
       SELECT p.value->>0 AS region, p.value->>1 AS state, (SELECT count(*) FROM (SELECT 1 FROM entries n ",
    live_in!(),
    lives!(),
    " LIMIT 1000)) AS entities FROM json_each(?3) p) WHERE entities > 0"
);

/// How many live entities there are, up to 1,000.
pub(crate) const LIVE: &str = concat!(
    "SELECT json_array(count(*)) FROM (SELECT 1 ",
    live!(),
    "WHERE e.tenant = ?1 AND e.machine_id = ?2 AND ",
    lives!(),
    " LIMIT 1000)"
);

/// Where live entities with a parent or a child are, counted over the first 1,000.
pub(crate) const LIVE_KIN: &str = concat!(
    "SELECT json_array(n.region, n.state, count(*)) FROM (SELECT e.uid ",
    kin!(),
    " LIMIT 1000) f CROSS JOIN entries n ON n.uid = f.uid GROUP BY n.region, n.state"
);

/// Aborts where a live entity is in one of the states.
pub(crate) const NONE_LIVE_IN: &str = concat!(
    "INSERT INTO violations (violated) SELECT 'live state' FROM json_each(?3) p CROSS JOIN entries n ",
    live_in!(),
    lives!(),
    " LIMIT 1"
);

/// Aborts where an entity lives.
pub(crate) const NONE_LIVE: &str = concat!(
    "INSERT INTO violations (violated) SELECT 'live entity' ",
    live!(),
    "WHERE e.tenant = ?1 AND e.machine_id = ?2 AND ",
    lives!(),
    " LIMIT 1"
);

/// Aborts where an entity with a parent or a child lives.
pub(crate) const NONE_LIVE_KIN: &str = concat!(
    "INSERT INTO violations (violated) SELECT 'live kin' ",
    kin!(),
    " LIMIT 1"
);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// The live entities for which a new revision has no place.
    pub(crate) async fn live(
        &self,
        tenant: &TenantId,
        machine_id: &MachineId,
        head: u64,
        lost: &Lost,
    ) -> Result<Vec<LiveState>, Error> {
        if lost.is_nothing() {
            return Ok(Vec::new());
        }
        let head = Param::Integer(i64::try_from(head).unwrap_or(i64::MAX));
        let (tenant, machine) = (
            || Param::from(tenant.as_str()),
            || Param::from(machine_id.as_str()),
        );
        let states = json!(lost.states).to_string();
        let mut batch = vec![
            Statement::new(LIVE_IN, [tenant(), machine(), states.into(), head.clone()]),
            Statement::new(LIVE, [tenant(), machine(), head.clone()]),
        ];
        if lost.contract {
            batch.push(Statement::new(LIVE_KIN, [tenant(), machine(), head]));
        }
        let results = self.read(batch).await?;
        let mut found: SortedMap<(String, String), u64> = SortedMap::new();
        for row in rows_of(&results, 0).iter().chain(rows_of(&results, 2)) {
            let (region, state, entities): (String, String, u64) = decode(row)?;
            let most = found.or_insert_with((region, state), Default::default);
            *most = entities.max(*most);
        }
        let found = found.into_iter().map(|((region, state), entities)| LiveState {
            region,
            state: Some(state),
            entities,
        });
        let mut live: Vec<LiveState> = found.collect();
        let (entities,) = match rows_of(&results, 1).first() {
            Some(row) => decode::<(u64,)>(row)?,
            None => (0,),
        };
        if entities > 0 {
            let added = lost.added.iter().cloned();
            live.extend(added.map(|region| LiveState {
                region,
                state: None,
                entities,
            }));
        }
        Ok(live)
    }
}

/// What a new revision takes from the entities of the old one.
pub(crate) struct Lost {
    /// Region and state, for each state that is no more, or has another child or none (S2.174: a child lives with its
    /// parent's entry).
    states: Vec<(String, String)>,
    /// Regions in which they would have no entry.
    added: Vec<String>,
    /// Whether the contract is another. The regions that its parents' rules name are kept by the above: none is lost or
    /// added where an entity lives.
    contract: bool,
}

impl Lost {
    pub(crate) fn of(old: &str, new: &Valid) -> Self {
        let old: Map<String, Value> = serde_json::from_str(old).unwrap_or_default();
        let old = Definition::read(&Value::Object(old)).ok();
        let contract = old.as_ref().map(|old| old.contract);
        let old = old.map(|old| old.definition);
        let (before, after) = (
            old.as_ref().map(places).unwrap_or_default(),
            places(&new.definition),
        );
        let regions = |places: &SortedSet<Place>| -> SortedSet<String> {
            places.iter().map(|(region, _)| region.clone()).gather()
        };
        let old_children = old.as_ref().map(children).unwrap_or_default();
        let new_children = children(&new.definition);
        let regions_before = regions(&before);
        let gone =
            |place: &&Place| !after.contains(*place) || old_children.get(*place) != new_children.get(*place);
        Self {
            states: before.iter().filter(gone).cloned().collect(),
            added: regions(&after)
                .into_iter()
                .filter(|region| !regions_before.contains(region))
                .collect(),
            contract: contract.is_some_and(|contract: Contract| contract != new.contract),
        }
    }

    fn is_nothing(&self) -> bool {
        self.states.is_empty() && self.added.is_empty() && !self.contract
    }

    /// What aborts a batch where, by then, an entity lives that would lose by it.
    pub(crate) fn guards(&self, tenant: &TenantId, machine_id: &MachineId, head: u64) -> Vec<Statement> {
        let ids = || -> [Param; 2] { [tenant.as_str().into(), machine_id.as_str().into()] };
        let head = Param::Integer(i64::try_from(head).unwrap_or(i64::MAX));
        let mut guards = Vec::new();
        if !self.states.is_empty() {
            let [a, b] = ids();
            let states = json!(self.states).to_string();
            guards.push(Statement::new(NONE_LIVE_IN, [a, b, states.into(), head.clone()]));
        }
        for (wanted, guard) in [
            (!self.added.is_empty(), NONE_LIVE),
            (self.contract, NONE_LIVE_KIN),
        ] {
            if wanted {
                let [a, b] = ids();
                guards.push(Statement::new(guard, [a, b, head.clone()]));
            }
        }
        guards
    }
}

/// Region and state.
type Place = (String, String);

/// The machine of the child of each compound state, and whether it is managed.
fn children(definition: &Definition) -> SortedMap<Place, (&str, Option<Lifecycle>)> {
    fn of<'a>(
        region: &str,
        subs: Option<&'a std::collections::BTreeMap<String, SubMachineDef>>,
    ) -> Vec<(Place, (&'a str, Option<Lifecycle>))> {
        let subs = subs.into_iter().flatten();
        subs.map(|(state, sub)| {
            let place = (region.to_owned(), state.clone());
            (place, (sub.machine_id.as_str(), sub.lifecycle))
        })
        .collect()
    }
    let flat = of(FLAT_REGION, definition.sub_machines.as_ref());
    let regions = definition.regions.iter().flatten();
    let parallel = regions.flat_map(|region| of(&region.id, region.sub_machines.as_ref()));
    flat.into_iter().chain(parallel).gather()
}

fn places(definition: &Definition) -> SortedSet<Place> {
    let flat = definition
        .states
        .iter()
        .flatten()
        .map(|state| (FLAT_REGION.to_owned(), state.clone()));
    let parallel = definition.regions.iter().flatten();
    let parallel = parallel.flat_map(|region| {
        region
            .states
            .iter()
            .map(|state| (region.id.clone(), state.clone()))
    });
    flat.chain(parallel).gather()
}

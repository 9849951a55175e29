//! A compiled definition: names interned, transitions indexed by region, state and event.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::contract::{Contract, Rules};
use crate::definition::{
    Action, ActionDef, Definition, FLAT_REGION, JoinDef, JoinTrigger, Lifecycle, Reentry, SubMachineDef,
    TIMEOUT_EVENT, TransitionDef, Valid,
};
use crate::guard::{Guard, shape};
use crate::ids::{MachineId, Millis};
use crate::sorted::{sort, sort_by_key};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            pub(crate) fn of(index: usize) -> Self {
                // A definition has at most 256 KiB, so no table of it reaches 2^32 rows.
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The place in its table.
            pub fn place(self) -> usize {
                // Every host has at least 32-bit addresses.
                self.0 as usize
            }
        }
    };
}

index!(
    /// A region of a machine, in definition order.
    RegionIx
);
index!(
    /// A state of a machine, over all its regions.
    StateIx
);
index!(
    /// A transition of a machine, in definition order.
    TransitionIx
);

/// A compiled machine. Immutable; shared by everything that runs it.
#[derive(Debug)]
pub struct Machine {
    id: MachineId,
    contract: Contract,
    rules: Rules,
    parallel: bool,
    /// Whether a state of it has a child machine.
    has_children: bool,
    regions: Box<[Region]>,
    region_by_name: FxHashMap<Arc<str>, RegionIx>,
    states: Box<[State]>,
    transitions: Box<[Transition]>,
    joins: Box<[Join]>,
    events: FxHashMap<Arc<str>, EventRow>,
}

/// A region and its states.
#[derive(Debug)]
pub struct Region {
    /// Its name; `_` for the only region of a flat machine.
    pub id: Arc<str>,
    /// The state in which it starts.
    pub initial: StateIx,
    by_name: FxHashMap<Arc<str>, StateIx>,
}

/// A state, and what entering it means.
#[derive(Debug)]
pub struct State {
    /// Its name.
    pub name: Arc<str>,
    /// Its region.
    pub region: RegionIx,
    pub(crate) on_enter: Box<[Arc<Action>]>,
    /// In the order in which they are tried.
    pub(crate) timeouts: Box<[Timeout]>,
    /// Its child machine, if it is a compound state (S2.156).
    pub(crate) child: Option<Box<SubMachine>>,
}

impl State {
    /// Its child machine, if it is a compound state (S2.156).
    pub fn child(&self) -> Option<&SubMachine> {
        self.child.as_deref()
    }
}

/// The child machine of a compound state (S2.156, S2.173). The child's own names stay texts: which definition they
/// belong to is known when it is there.
#[derive(Debug)]
pub struct SubMachine {
    /// The child's machine.
    pub machine_id: MachineId,
    /// Whether the child lives with its parent's state; a legacy child does not.
    pub managed: bool,
    /// What entering the state again does (M9).
    pub reentry: Reentry,
    /// A flat child's final states and where each leads the parent, sorted by name.
    pub(crate) on_final: Box<[(Arc<str>, StateIx)]>,
    /// When a managed child is complete, and where that leads the parent; in definition order (S2.186).
    pub(crate) rules: Box<[Rule]>,
}

/// A rule that says when a managed child is complete.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The state each of the child's regions must be in.
    pub(crate) when: Box<[(Arc<str>, Arc<str>)]>,
    /// The state that the parent's region moves to.
    pub(crate) target: StateIx,
}

impl SubMachine {
    /// Where a state of a flat child leads the parent, if it is final.
    pub(crate) fn after_final(&self, state: &str) -> Option<StateIx> {
        let place = self
            .on_final
            .binary_search_by(|(name, _)| (**name).cmp(state))
            .ok()?;
        self.on_final.get(place).map(|(_, target)| *target)
    }
}

/// A `$timeout` transition of a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    pub(crate) transition: TransitionIx,
    /// Milliseconds after the entry.
    pub(crate) delay: u64,
}

/// A compiled transition.
#[derive(Debug)]
pub struct Transition {
    /// The region it moves.
    pub region: RegionIx,
    /// The state it leaves.
    pub from: StateIx,
    /// The state it enters.
    pub to: StateIx,
    /// The event type, or `$timeout`.
    pub on: Arc<str>,
    /// `a → b`, or `region: a → b` on a parallel machine (S2.33).
    pub label: Arc<str>,
    /// For an ordinary transition its guard, for a timeout the conditions beside its delay.
    pub(crate) guard: Option<Guard>,
}

/// A compiled join.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) when: Box<[(RegionIx, StateIx)]>,
    pub(crate) region: RegionIx,
    pub(crate) target: StateIx,
    pub(crate) level: bool,
    pub(crate) actions: Box<[Arc<Action>]>,
}

/// The transitions of one event type.
#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) name: Arc<str>,
    pub(crate) broadcast: bool,
    /// Sorted by state; each list in definition order.
    by_state: Box<[(StateIx, Box<[TransitionIx]>)]>,
}

impl EventRow {
    /// The transitions of the event from a state, in definition order.
    pub(crate) fn leaving(&self, state: StateIx) -> &[TransitionIx] {
        match self.by_state.binary_search_by_key(&state, |(state, _)| *state) {
            Ok(place) => self.by_state.get(place).map_or(&[], |(_, list)| list),
            Err(_) => &[],
        }
    }
}

/// Why a valid definition cannot be compiled. It cannot happen to one that [`Definition::read`] returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the definition names `{name}`, which it does not define")]
pub struct CompileError {
    name: String,
}

impl Machine {
    /// Compiles a definition that was found valid.
    ///
    /// # Errors
    /// The definition names a region or a state that it does not define, which reading it would have refused.
    pub fn compile(valid: &Valid) -> Result<Self, CompileError> {
        Self::of(&valid.definition, valid.contract)
    }

    pub(crate) fn of(definition: &Definition, contract: Contract) -> Result<Self, CompileError> {
        Compiler::new(definition, contract).compile()
    }

    /// Its name.
    pub fn id(&self) -> &MachineId {
        &self.id
    }

    /// The contract it runs by.
    pub fn contract(&self) -> Contract {
        self.contract
    }

    /// The rules of its contract.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Whether it has regions of its own; a flat machine has the region `_`.
    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    /// Whether a state of it has a child machine.
    pub fn has_children(&self) -> bool {
        self.has_children
    }

    /// Its regions in definition order.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Its transitions in definition order.
    pub fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    /// Its states, region by region in definition order.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// A region of this machine.
    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: an index is only used with the machine that made it"
    )]
    pub fn region(&self, region: RegionIx) -> &Region {
        &self.regions[region.place()]
    }

    /// A state of this machine.
    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: an index is only used with the machine that made it"
    )]
    pub fn state(&self, state: StateIx) -> &State {
        &self.states[state.place()]
    }

    /// A transition of this machine.
    #[expect(
        clippy::indexing_slicing,
        reason = "INVARIANT: an index is only used with the machine that made it"
    )]
    pub fn transition(&self, transition: TransitionIx) -> &Transition {
        &self.transitions[transition.place()]
    }

    pub(crate) fn joins(&self) -> &[Join] {
        &self.joins
    }

    pub(crate) fn event(&self, event_type: &str) -> Option<&EventRow> {
        self.events.get(event_type)
    }

    /// Whether events can take a transition; one that only the clock takes is none of theirs.
    pub(crate) fn takes_events(&self, transition: TransitionIx) -> bool {
        let Transition { on, from, .. } = self.transition(transition);
        self.event(on)
            .is_some_and(|row| row.leaving(*from).contains(&transition))
    }

    /// The event types that its transitions name, sorted; `$timeout` is none of them.
    pub fn event_types(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self.events.values().map(|row| Arc::clone(&row.name)).collect();
        sort(&mut names);
        names
    }

    /// The region of that name.
    pub fn find_region(&self, id: &str) -> Option<RegionIx> {
        self.region_by_name.get(id).copied()
    }

    /// The state of that name in a region.
    pub fn find_state(&self, region: RegionIx, name: &str) -> Option<StateIx> {
        self.region(region).by_name.get(name).copied()
    }

    /// When an entry into a state that began then is first due to time out, if ever.
    pub fn first_due(&self, state: StateIx, entered_at: Millis) -> Option<Millis> {
        self.state(state)
            .timeouts
            .iter()
            .map(|timeout| entered_at.after(timeout.delay))
            .min()
    }
}

struct Compiler<'a> {
    definition: &'a Definition,
    contract: Contract,
    /// By the name of the state whose entry calls for them, in definition order.
    actions: FxHashMap<&'a str, Vec<&'a ActionDef>>,
    by_id: FxHashMap<Arc<str>, RegionIx>,
    regions: Vec<Region>,
    states: Vec<State>,
}

impl<'a> Compiler<'a> {
    fn new(definition: &'a Definition, contract: Contract) -> Self {
        let mut actions: FxHashMap<&str, Vec<&ActionDef>> = FxHashMap::default();
        for def in definition.actions.iter().flatten() {
            actions.entry(&def.on_enter).or_default().push(def);
        }
        Self {
            definition,
            contract,
            actions,
            by_id: FxHashMap::default(),
            regions: Vec::new(),
            states: Vec::new(),
        }
    }

    fn compile(mut self) -> Result<Machine, CompileError> {
        let definition = self.definition;
        let id = MachineId::new(&definition.machine_id).map_err(|_| missing(&definition.machine_id))?;
        match definition.regions.as_ref().filter(|regions| !regions.is_empty()) {
            Some(regions) => {
                for region in regions {
                    self.add_region(&region.id, &region.states, &region.initial_state)?;
                }
            }
            None => {
                let states = definition.states.as_deref().unwrap_or_default();
                self.add_region(
                    FLAT_REGION,
                    states,
                    definition.initial_state.as_deref().unwrap_or_default(),
                )?;
            }
        }
        let transitions = definition
            .transitions
            .iter()
            .map(|def| self.transition(def))
            .collect::<Result<Vec<_>, _>>()?;
        let joins = match &definition.joins {
            Some(joins) if definition.is_parallel() => joins
                .iter()
                .map(|def| self.join(def))
                .collect::<Result<Vec<_>, _>>()?,
            _ => Vec::new(),
        };
        self.add_children()?;
        let timeouts = self.timeouts(&transitions);
        for (state, mut timeouts) in timeouts {
            if self.contract.rules().timeout_conditions {
                // A stable sort: of equal delays the first defined is tried first (M6).
                sort_by_key(&mut timeouts, |timeout| timeout.delay);
            }
            if let Some(state) = self.states.get_mut(state.place()) {
                state.timeouts = timeouts.into();
            }
        }
        let events = self.events(&transitions);
        Ok(Machine {
            id,
            contract: self.contract,
            rules: self.contract.rules(),
            parallel: definition.is_parallel(),
            has_children: self.states.iter().any(|state| state.child.is_some()),
            region_by_name: (0..)
                .zip(&self.regions)
                .map(|(place, region)| (Arc::clone(&region.id), RegionIx(place)))
                .collect(),
            regions: self.regions.into(),
            states: self.states.into(),
            transitions: transitions.into(),
            joins: joins.into(),
            events,
        })
    }

    fn add_region(&mut self, id: &str, names: &[String], initial: &str) -> Result<(), CompileError> {
        let region = RegionIx::of(self.regions.len());
        let mut by_name = FxHashMap::default();
        for name in names {
            if by_name.contains_key(name.as_str()) {
                continue;
            }
            let shared: Arc<str> = name.as_str().into();
            by_name.insert(Arc::clone(&shared), StateIx::of(self.states.len()));
            let named = self.actions.get(name.as_str()).into_iter().flatten();
            let on_enter = named.filter(|def| {
                !self.definition.is_parallel() || def.region.as_deref().is_none_or(|region| region == id)
            });
            let on_enter = on_enter.map(|def| Arc::new(def.action.clone())).collect();
            self.states.push(State {
                name: shared,
                region,
                on_enter,
                timeouts: Box::new([]),
                child: None,
            });
        }
        let initial = *by_name.get(initial).ok_or_else(|| missing(initial))?;
        let id: Arc<str> = id.into();
        self.by_id.insert(Arc::clone(&id), region);
        self.regions.push(Region { id, initial, by_name });
        Ok(())
    }

    fn place(&self, region: &str, state: &str) -> Result<(RegionIx, StateIx), CompileError> {
        let at = *self.by_id.get(region).ok_or_else(|| missing(region))?;
        let states = self.regions.get(at.place()).map(|region| &region.by_name);
        let state = states
            .and_then(|states| states.get(state))
            .ok_or_else(|| missing(state))?;
        Ok((at, *state))
    }

    fn transition(&self, def: &TransitionDef) -> Result<Transition, CompileError> {
        let parallel = self.definition.is_parallel();
        let region = if parallel {
            def.region.as_deref().unwrap_or_default()
        } else {
            FLAT_REGION
        };
        let (region_ix, from) = self.place(region, &def.from)?;
        let (_, to) = self.place(region, &def.to)?;
        let rules = self.contract.rules();
        let guard = match &def.guard {
            Some(guard) if self.is_timer(def) => Guard::of_timeout(guard, rules),
            Some(guard) => Some(Guard::of_event(guard, rules)),
            None => None,
        };
        let label = if parallel {
            format!("{region}: {} → {}", def.from, def.to)
        } else {
            format!("{} → {}", def.from, def.to)
        };
        Ok(Transition {
            region: region_ix,
            from,
            to,
            on: def.on.as_str().into(),
            label: label.into(),
            guard,
        })
    }

    /// Whether only the clock takes a transition. In the seed's contract a client may send `$timeout` too, and takes
    /// what has no delay; a delay is false for it (S2.74).
    fn is_timer(&self, def: &TransitionDef) -> bool {
        def.on == TIMEOUT_EVENT
            && (self.contract.rules().strict || shape::delay(def.guard.as_ref(), self.contract).is_some())
    }

    fn join(&self, def: &JoinDef) -> Result<Join, CompileError> {
        let mut when = def
            .when
            .iter()
            .map(|(region, state)| self.place(region, state))
            .collect::<Result<Vec<_>, _>>()?;
        sort(&mut when);
        let (region, target) = self.place(&def.target_region, &def.target_state)?;
        let level = !self.contract.rules().edge_joins || def.trigger == Some(JoinTrigger::Level);
        let actions = def
            .actions
            .iter()
            .flatten()
            .map(|action| Arc::new(action.action().clone()))
            .collect();
        Ok(Join {
            when: when.into(),
            region,
            target,
            level,
            actions,
        })
    }

    fn add_children(&mut self) -> Result<(), CompileError> {
        let definition = self.definition;
        if let Some(regions) = definition.regions.as_ref().filter(|_| definition.is_parallel()) {
            for region in regions {
                for (state, def) in region.sub_machines.iter().flatten() {
                    self.add_child(&region.id, state, def)?;
                }
            }
            return Ok(());
        }
        for (state, def) in definition.sub_machines.iter().flatten() {
            self.add_child(FLAT_REGION, state, def)?;
        }
        Ok(())
    }

    fn add_child(&mut self, region: &str, state: &str, def: &SubMachineDef) -> Result<(), CompileError> {
        let (_, compound) = self.place(region, state)?;
        let machine_id = MachineId::new(&def.machine_id).map_err(|_| missing(&def.machine_id))?;
        // A map of names is sorted.
        let on_final = def.on_final.iter().flatten().map(|(name, target)| {
            let (_, target) = self.place(region, target)?;
            Ok((name.as_str().into(), target))
        });
        let on_final = on_final.collect::<Result<_, _>>()?;
        let rules = def.complete_when.iter().flatten().map(|rule| {
            let (_, target) = self.place(region, &rule.target)?;
            let when = rule.when.iter();
            let when = when.map(|(region, state)| (region.as_str().into(), state.as_str().into()));
            Ok(Rule {
                when: when.collect(),
                target,
            })
        });
        let rules = rules.collect::<Result<_, _>>()?;
        let child = SubMachine {
            machine_id,
            managed: def.lifecycle == Some(Lifecycle::Managed),
            reentry: def.reentry.unwrap_or(Reentry::Refuse),
            on_final,
            rules,
        };
        if let Some(state) = self.states.get_mut(compound.place()) {
            state.child = Some(Box::new(child));
        }
        Ok(())
    }

    fn timeouts(&self, transitions: &[Transition]) -> FxHashMap<StateIx, Vec<Timeout>> {
        let mut timeouts: FxHashMap<StateIx, Vec<Timeout>> = FxHashMap::default();
        for (index, (def, transition)) in self.definition.transitions.iter().zip(transitions).enumerate() {
            if def.on == TIMEOUT_EVENT
                && let Some(delay) = shape::delay(def.guard.as_ref(), self.contract)
            {
                let timeout = Timeout {
                    transition: TransitionIx::of(index),
                    delay,
                };
                timeouts.entry(transition.from).or_default().push(timeout);
            }
        }
        timeouts
    }

    fn events(&self, transitions: &[Transition]) -> FxHashMap<Arc<str>, EventRow> {
        let mut lists: FxHashMap<Arc<str>, Vec<(StateIx, TransitionIx)>> = FxHashMap::default();
        for (index, (def, transition)) in self.definition.transitions.iter().zip(transitions).enumerate() {
            if self.is_timer(def) {
                continue;
            }
            let list = lists.entry(Arc::clone(&transition.on)).or_default();
            list.push((transition.from, TransitionIx::of(index)));
        }
        let broadcast = self.definition.broadcast.as_deref().unwrap_or_default();
        let mut events = FxHashMap::default();
        for (name, mut list) in lists {
            sort(&mut list);
            let by_state = list
                .chunk_by(|a, b| a.0 == b.0)
                .filter_map(|chunk| {
                    let state = chunk.first()?.0;
                    Some((state, chunk.iter().map(|(_, transition)| *transition).collect()))
                })
                .collect();
            let broadcast = broadcast.iter().any(|event| **event == *name);
            events.insert(
                Arc::clone(&name),
                EventRow {
                    name,
                    broadcast,
                    by_state,
                },
            );
        }
        events
    }
}

fn missing(name: &str) -> CompileError {
    CompileError {
        name: name.to_owned(),
    }
}

//! Joins: what follows a step's transition, to rest (S2.77 to S2.90, M3, M4).

use smallvec::SmallVec;

use crate::commit::Refusal;
use crate::entity::Configuration;
use crate::machine::{Join, Machine, RegionIx, StateIx};
use crate::sorted::sort;
use crate::step::{Move, Moves};

/// How many joins one step may fire (S2.80, M4).
pub const CASCADE_LIMIT: usize = 10;

impl Join {
    /// Whether every region of `when` is in its state.
    pub(crate) fn holds(&self, configuration: &Configuration) -> bool {
        self.when
            .iter()
            .all(|(region, state)| configuration.get(region.place()) == Some(state))
    }
}

/// Where an edge-triggered join stands within a step.
#[derive(Clone, Copy)]
struct Edge {
    held: bool,
    pending: bool,
}

/// Adds the moves of the joins that the given moves set off, re-checking in definition order after each firing (R2).
///
/// An edge-triggered join is pending from its `when` becoming true until it fires or its `when` turns false again
/// (M3); a level-triggered one whenever its `when` is true (S2.81). Neither fires where its target region is in the
/// target state already (S2.83).
pub(crate) fn settle(machine: &Machine, previous: &Configuration, moves: &mut Moves) -> Result<(), Refusal> {
    let joins = machine.joins();
    let mut edges: SmallVec<[Edge; 8]> = joins
        .iter()
        .map(|join| Edge {
            held: join.holds(previous),
            pending: false,
        })
        .collect();
    let mut now = previous.clone();
    for change in moves.iter() {
        enter(&mut now, change.region, change.to);
    }
    let mut fired = 0_usize;
    loop {
        for (join, edge) in joins.iter().zip(&mut edges) {
            let holds = join.holds(&now);
            edge.pending = holds && (edge.pending || !edge.held || join.level);
            edge.held = holds;
        }
        let due = joins
            .iter()
            .zip(&mut edges)
            .enumerate()
            .find(|(_, (join, edge))| edge.pending && now.get(join.region.place()) != Some(&join.target));
        let Some((index, (join, edge))) = due else {
            return Ok(());
        };
        if fired == CASCADE_LIMIT {
            return if machine.rules().cascade_refuses {
                Err(limit(moves))
            } else {
                Ok(())
            };
        }
        fired = fired.saturating_add(1);
        edge.pending = false;
        enter(&mut now, join.region, join.target);
        let join_index = u32::try_from(index).unwrap_or(u32::MAX);
        moves.push(Move {
            region: join.region,
            to: join.target,
            join: Some(join_index),
        });
    }
}

fn enter(configuration: &mut Configuration, region: RegionIx, state: StateIx) {
    if let Some(slot) = configuration.get_mut(region.place()) {
        *slot = state;
    }
}

fn limit(moves: &Moves) -> Refusal {
    let mut joins: Vec<u32> = moves.iter().filter_map(|change| change.join).collect();
    sort(&mut joins);
    joins.dedup();
    let joins: Vec<String> = joins.iter().map(|join| format!("$.joins[{join}]")).collect();
    Refusal::JoinCascadeLimit {
        limit: CASCADE_LIMIT,
        joins: joins.join(", "),
    }
}

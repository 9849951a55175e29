//! Explanations, in the words of `wit/`.

use statewright_core::Source;
use statewright_core::definition::GuardOp;
use statewright_core::explain::{
    Candidate, Clause, Elsewhere, Explanation, MissingState, NextTimeout, PossibleEvent, WaitingJoin,
    Whereabouts, Would,
};

use crate::bindings::exports::statewright::core::explanations as wit;
use crate::outcomes::count;
use crate::text::text_of;

impl From<Would> for wit::Would {
    fn from(would: Would) -> Self {
        match would {
            Would::Transition => Self::Transition,
            Would::NoTransition => Self::NoTransition,
            Would::Forward => Self::Forward,
            Would::Refused => Self::Refused,
        }
    }
}

impl From<GuardOp> for wit::Operator {
    fn from(op: GuardOp) -> Self {
        match op {
            GuardOp::Eq => Self::Eq,
            GuardOp::Neq => Self::Neq,
            GuardOp::Ne => Self::Ne,
            GuardOp::Gt => Self::Gt,
            GuardOp::Gte => Self::Gte,
            GuardOp::Lt => Self::Lt,
            GuardOp::Lte => Self::Lte,
            GuardOp::Contains => Self::Contains,
        }
    }
}

impl From<Source> for wit::Source {
    fn from(source: Source) -> Self {
        match source {
            Source::Param => Self::Param,
            Source::Context => Self::Context,
            Source::Absent => Self::Absent,
        }
    }
}

impl From<Clause> for wit::Clause {
    fn from(clause: Clause) -> Self {
        Self {
            path: clause.path,
            field: clause.field,
            op: clause.op.map(Into::into),
            expected: clause.expected.as_ref().map(text_of),
            seen: clause.seen.as_ref().map(text_of),
            source: clause.source.map(Into::into),
            reason: clause.reason.map(str::to_owned),
        }
    }
}

impl From<Candidate> for wit::Candidate {
    fn from(candidate: Candidate) -> Self {
        Self {
            index: count(candidate.index),
            region: candidate.region.map(|region| region.to_string()),
            from: candidate.from.to_string(),
            to: candidate.to.to_string(),
            label: candidate.label.to_string(),
            state_matches: candidate.state_matches,
            passes: candidate.passes,
            taken: candidate.taken,
            clauses: candidate.clauses.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<MissingState> for wit::MissingState {
    fn from(missing: MissingState) -> Self {
        Self {
            region: missing.region.to_string(),
            state: missing.state.to_string(),
            current: missing.current.to_string(),
        }
    }
}

impl From<WaitingJoin> for wit::WaitingJoin {
    fn from(join: WaitingJoin) -> Self {
        Self {
            index: count(join.index),
            target_region: join.target_region.to_string(),
            target_state: join.target_state.to_string(),
            missing: join.missing.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<NextTimeout> for wit::NextTimeout {
    fn from(timeout: NextTimeout) -> Self {
        Self {
            at: timeout.at.0,
            region: timeout.region.to_string(),
            from: timeout.from.to_string(),
            to: timeout.to.to_string(),
        }
    }
}

impl From<Whereabouts> for wit::Whereabouts {
    fn from(at: Whereabouts) -> Self {
        let target = at.target.map(|steps| steps.into_iter().map(Into::into).collect());
        Self {
            machine_id: at.machine_id,
            entity_id: at.entity_id,
            target,
            forwarded: at.forwarded,
        }
    }
}

impl From<Elsewhere> for wit::Elsewhere {
    fn from(elsewhere: Elsewhere) -> Self {
        Self {
            at: elsewhere.at.into(),
            transition: elsewhere.transition.to_string(),
        }
    }
}

impl From<Explanation> for wit::Explanation {
    fn from(explanation: Explanation) -> Self {
        Self {
            entity_id: explanation.entity_id,
            machine_id: explanation.machine_id,
            event_type: explanation.event_type.to_string(),
            current_state: explanation.current_state.into(),
            would: explanation.would.into(),
            transition: explanation.transition.map(|label| label.to_string()),
            refusal: explanation.refusal.map(Into::into),
            candidates: explanation.candidates.into_iter().map(Into::into).collect(),
            joins: explanation.joins.into_iter().map(Into::into).collect(),
            next_timeout: explanation.next_timeout.map(Into::into),
            elsewhere: explanation.elsewhere.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<PossibleEvent> for wit::PossibleEvent {
    fn from(event: PossibleEvent) -> Self {
        Self {
            event_type: event.event_type.to_string(),
            region: event.region.map(|region| region.to_string()),
            from: event.from.to_string(),
            to: event.to.to_string(),
            index: count(event.index),
            guarded: event.guarded,
            label: event.label.to_string(),
            at: event.at.into(),
        }
    }
}

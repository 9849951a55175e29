//! Answers and commits, in the words of `wit/`.

use serde_json::{Map, Value, json};
use statewright_core::answer::{
    ActionView, Answer, JoinView, LifeView, SubMachineView, TargetView, TransitionView,
};
use statewright_core::commit::LifeKind;
use statewright_core::definition::{HeaderValue, Method};
use statewright_core::effect::Effect;
use statewright_core::error::Error;
use statewright_core::ids::Millis;
use statewright_core::snapshot::{
    Advanced, CommitView, DueView, EffectView, OutcomeName, RowView, SeenRow, Sent, VersionView,
};
use statewright_core::target::TargetStep;

use crate::bindings::exports::statewright::core::outcomes as wit;
use crate::errors::refusal_out;
use crate::text::{object, text_of};

/// An event as the body of a request.
pub(crate) fn event_in(event: wit::Event) -> Result<Map<String, Value>, Error> {
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("event_type", event.event_type.into());
    if let Some(params) = event.params {
        put("params", object("$.params", &params)?.into());
    }
    if let Some(timestamp) = event.timestamp {
        put("timestamp", timestamp.into());
    }
    if let Some(version) = event.expected_version {
        put("expected_version", version.into());
    }
    if let Some(steps) = event.target {
        let step =
            |step: wit::TargetStep| json!({"region": step.region, "state": step.state, "seq": step.seq});
        put("target", steps.into_iter().map(step).collect());
    }
    Ok(body)
}

impl From<TargetStep> for wit::TargetStep {
    fn from(step: TargetStep) -> Self {
        Self {
            region: step.region.to_string(),
            state: step.state.to_string(),
            seq: step.seq.map(|seq| seq.0),
        }
    }
}

impl From<ActionView> for wit::Action {
    fn from(action: ActionView) -> Self {
        let (what, state, region, entity_id) = match action {
            ActionView::Webhook {
                url,
                state,
                region,
                entity_id,
            } => (wit::ActionKind::Webhook(url), state, region, entity_id),
            ActionView::Event {
                event_type,
                state,
                region,
                entity_id,
            } => (wit::ActionKind::Event(event_type), state, region, entity_id),
            ActionView::Transition {
                machine_id,
                target,
                event_type,
                state,
                region,
                entity_id,
            } => {
                let sent = wit::TransitionAction {
                    machine_id,
                    target,
                    event_type,
                };
                (wit::ActionKind::Transition(sent), state, region, entity_id)
            }
        };
        Self {
            what,
            state: state.to_string(),
            region: region.map(|region| region.to_string()),
            entity_id,
        }
    }
}

impl From<JoinView> for wit::FiredJoin {
    fn from(join: JoinView) -> Self {
        Self {
            target_region: join.target_region.to_string(),
            from_state: join.from_state.to_string(),
            target_state: join.target_state.to_string(),
            entity_id: join.entity_id,
        }
    }
}

impl From<TransitionView> for wit::RegionTransition {
    fn from(transition: TransitionView) -> Self {
        Self {
            region: transition.region.to_string(),
            from_state: transition.from_state.to_string(),
            to_state: transition.to_state.to_string(),
            transition: transition.transition.to_string(),
        }
    }
}

impl From<LifeKind> for wit::LifeKind {
    fn from(kind: LifeKind) -> Self {
        match kind {
            LifeKind::Started => Self::Started,
            LifeKind::Completed => Self::Completed,
            LifeKind::Cancelled => Self::Cancelled,
            LifeKind::Resumed => Self::Resumed,
        }
    }
}

impl From<LifeView> for wit::Life {
    fn from(life: LifeView) -> Self {
        Self {
            kind: life.kind.into(),
            machine_id: life.machine_id,
            entity_id: life.entity_id,
            depth: life.depth,
            parent: life.parent.into(),
            key: life.key.map(|key| key.to_string()),
            row: life.row,
            parent_to: life.parent_to.map(|state| state.to_string()),
            parent_key: life.parent_key.map(|key| key.to_string()),
            parent_row: life.parent_row,
        }
    }
}

impl From<SubMachineView> for wit::SubMachine {
    fn from(child: SubMachineView) -> Self {
        Self {
            machine_id: child.machine_id,
            entity_id: child.entity_id,
            previous_state: child.previous_state.into(),
            current_state: child.current_state.into(),
            transition: child.transition.map(|label| label.to_string()),
            auto_completed: child.auto_completed,
        }
    }
}

impl From<TargetView> for wit::Reached {
    fn from(target: TargetView) -> Self {
        Self {
            machine_id: target.machine_id,
            entity_id: target.entity_id,
            depth: target.depth,
        }
    }
}

impl From<Answer> for wit::Answer {
    fn from(answer: Answer) -> Self {
        Self {
            entity_id: answer.entity_id,
            previous_state: answer.previous_state.into(),
            current_state: answer.current_state.into(),
            transition: answer.transition.map(|label| label.to_string()),
            region: answer.region.map(|region| region.to_string()),
            triggered_by: answer.triggered_by.to_string(),
            actions_dispatched: answer.actions_dispatched.into_iter().map(Into::into).collect(),
            joins_fired: answer.joins_fired.into_iter().map(Into::into).collect(),
            timestamp: answer.timestamp,
            reason: answer.reason,
            sub_machine: answer.sub_machine.map(Into::into),
            target: answer.target.map(Into::into),
            instances: answer.instances.into_iter().map(Into::into).collect(),
            transitions: answer.transitions.into_iter().map(Into::into).collect(),
            state_version: answer.state_version.0,
            timeouts_fired: count(answer.timeouts_fired),
        }
    }
}

/// A count or a place: none in a tree or a definition is beyond it.
pub(crate) fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The cause of a row, from the form in which the core tells it.
fn cause_out(cause: &Value) -> wit::Cause {
    let text = |pointer: &str| cause.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let child = || wit::ChildCause {
        machine_id: text("/child/machine_id").unwrap_or_default(),
        entity_id: text("/child/entity_id").unwrap_or_default(),
        key: text("/key"),
    };
    let number = |pointer: &str| cause.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
    match text("/via").as_deref().unwrap_or_default() {
        "timeout" => wit::Cause::Timeout(number("/due_at")),
        "join" => wit::Cause::Join(wit::JoinCause {
            join: u32::try_from(number("/join")).unwrap_or_default(),
            by: text("/by").unwrap_or_default(),
        }),
        "managed" => wit::Cause::Managed(child()),
        "legacy" => wit::Cause::Legacy(child()),
        "cancel" => wit::Cause::Cancel(text("/by")),
        "resume" => wit::Cause::Resume(text("/by")),
        _ => wit::Cause::Event,
    }
}

impl From<RowView> for wit::Row {
    fn from(row: RowView) -> Self {
        Self {
            cause: cause_out(&row.cause),
            machine_id: row.machine_id,
            entity_id: row.entity_id,
            region: row.region,
            from_state: row.from_state,
            to_state: row.to_state,
            event_type: row.event_type,
            event_params: text_of(&row.event_params),
            actions_dispatched: row.actions_dispatched.into_iter().map(Into::into).collect(),
            timestamp: row.timestamp,
            created_at: row.created_at.0,
            identity_key: row.identity_key.to_string(),
        }
    }
}

impl From<Method> for wit::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::Get,
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
        }
    }
}

impl From<Effect> for wit::EffectKind {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Webhook {
                url,
                method,
                headers,
                body,
                signed,
            } => {
                let header = |(name, value)| wit::Header {
                    name,
                    value: match value {
                        HeaderValue::Text(text) => wit::HeaderValue::Text(text),
                        HeaderValue::Secret { secret, prefix } => {
                            wit::HeaderValue::Secret(wit::SecretValue { secret, prefix })
                        }
                    },
                };
                Self::Webhook(wit::Webhook {
                    url,
                    method: method.into(),
                    headers: headers.into_iter().map(header).collect(),
                    body,
                    signed,
                })
            }
            Effect::Event { event_type, params } => Self::Event(wit::CollectorEvent {
                event_type,
                params: text_of(&params),
            }),
            Effect::Transition {
                machine_id,
                entity_id,
                event_type,
                params,
                create,
            } => Self::Transition(wit::EntityEvent {
                machine_id,
                entity_id,
                event_type,
                params: text_of(&params),
                create,
            }),
            Effect::Broken { problem } => Self::Broken(problem),
        }
    }
}

impl From<EffectView> for wit::Effect {
    fn from(view: EffectView) -> Self {
        Self {
            what: view.effect.into(),
            effect_id: view.effect_id,
            row: count(view.row),
            row_key: view.row_key.to_string(),
        }
    }
}

impl From<VersionView> for wit::Written {
    fn from(version: VersionView) -> Self {
        Self {
            machine_id: version.machine_id,
            entity_id: version.entity_id,
            state_version: version.state_version.0,
        }
    }
}

impl From<CommitView> for wit::Commit {
    fn from(commit: CommitView) -> Self {
        Self {
            machine_id: commit.machine_id,
            entity_id: commit.entity_id,
            rows: commit.rows.into_iter().map(Into::into).collect(),
            effects: commit.effects.into_iter().map(Into::into).collect(),
            lives: commit.lives.into_iter().map(Into::into).collect(),
            versions: commit.versions.into_iter().map(Into::into).collect(),
        }
    }
}

/// What a replay is known by.
pub(crate) fn seen_in(row: wit::Row) -> Result<SeenRow, Error> {
    Ok(SeenRow {
        event_params: object("history", &row.event_params)?.into(),
        entered: Some((row.region, row.to_state)),
        machine_id: row.machine_id,
        entity_id: row.entity_id,
        identity_key: row.identity_key,
    })
}

impl From<Sent> for wit::Sent {
    fn from(sent: Sent) -> Self {
        let outcome = match (sent.outcome, sent.commit, sent.error) {
            (_, _, Some(error)) => wit::Outcome::Refused(refusal_out(&error)),
            (OutcomeName::Duplicate, ..) => wit::Outcome::Duplicate,
            (_, Some(commit), None) => wit::Outcome::Applied(commit.into()),
            (_, None, None) => wit::Outcome::NoTransition,
        };
        Self {
            outcome,
            snapshot: sent.snapshot.into(),
            answer: sent.answer.map(Into::into),
            timeouts: sent.timeouts.into_iter().map(Into::into).collect(),
            before: sent.before.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<DueView> for wit::DueTimer {
    fn from(due: DueView) -> Self {
        let Millis(at) = due.at;
        Self {
            machine_id: due.machine_id,
            entity_id: due.entity_id,
            region: due.region.to_string(),
            state: due.state.to_string(),
            at,
        }
    }
}

impl From<Advanced> for wit::Advanced {
    fn from(advanced: Advanced) -> Self {
        Self {
            snapshot: advanced.snapshot.into(),
            timeouts: advanced.timeouts.into_iter().map(Into::into).collect(),
            parked: count(advanced.parked),
            more: advanced.more,
        }
    }
}

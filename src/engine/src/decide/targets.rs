//! Events for the instances that a target path leads to, and for children that ended (R12, R9b).

use std::sync::Arc;

use statewright_core::answer::{Answer, StateView, TargetView};
use statewright_core::commit::Refusal;
use statewright_core::definition::FLAT_REGION;
use statewright_core::entity::Params;
use statewright_core::error::Error as Core;
use statewright_core::maps_equal;
use statewright_core::target;
use statewright_core::tree::EntityIx;

use super::{Deciding, no_entity};
use crate::error::Error;
use crate::load::EntityName;
use crate::request::{EventRequest, TargetPath};
use crate::trees::Ended;

impl Deciding<'_> {
    /// An event for the instance that a path leads to (R12): whether the path names managed states, whether any
    /// generation of the instance has seen the event, due timeouts, whether it is active, and then the event.
    pub(super) fn targeted(
        &mut self,
        name: &EntityName,
        entity: EntityIx,
        path: &TargetPath,
        request: &EventRequest,
    ) -> Result<Answer, Error> {
        let Some(tree) = &self.tree else {
            return Err(no_entity(name));
        };
        target::check(
            tree.entity(entity).machine(),
            self.library.as_ref(),
            &path.steps,
            &path.path,
        )?;
        if let Some(replayed) = self.replayed(name, entity, path, request)? {
            return Ok(replayed);
        }
        // One tree has one contract.
        if request.event.is_reserved(tree.entity(entity).machine()) {
            let event_type = Arc::clone(&request.event.event_type);
            return Err(Error::Core(Core::Refused(Refusal::ReservedEventType {
                event_type,
            })));
        }
        let before = self.timeouts;
        self.catch_up()?;
        let fired = self.timeouts.saturating_sub(before);
        let Some(tree) = &self.tree else {
            return Err(no_entity(name));
        };
        let instance = target::resolve(tree, entity, &path.steps, &path.path)?;
        let answer = self.deliver(instance, request)?;
        Ok(Answer {
            timeouts_fired: fired,
            ..answer
        })
    }

    /// The answer to a replay at any generation of the instance that a path leads to (S2.218, S2.219, R9b).
    pub(super) fn replayed(
        &self,
        name: &EntityName,
        from: EntityIx,
        path: &TargetPath,
        request: &EventRequest,
    ) -> Result<Option<Answer>, Error> {
        let (Some(tree), Some(identity)) = (&self.tree, request.event.identity()) else {
            return Ok(None);
        };
        let timestamp = request.event.timestamp_at(self.now);
        let here = tree
            .entities()
            .filter(|(ix, _)| target::is_at(tree, from, *ix, &path.steps));
        for (instance, entity) in here {
            if let Some(seen) = self.seen_at(instance, &request.event) {
                self.same(&seen, request)?;
                let answer = Answer::duplicate(entity, &request.event, timestamp);
                return Ok(Some(answer.at(tree, instance)));
            }
        }
        let Some(asked) = self.asked.get(name) else {
            return Ok(None);
        };
        let place = asked.paths.iter().position(|steps| *steps == path.steps);
        let key = identity.to_string();
        let seen = asked
            .seen_at_paths
            .iter()
            .find(|at| Some(at.path) == place && at.seen.key == key);
        let Some(at) = seen else { return Ok(None) };
        self.same(&at.seen.params, request)?;
        // An instance of the tree shows what it is by now; one that it does not know any more is as it is stored.
        if let Some((instance, entity)) = tree
            .entities()
            .find(|(instance, _)| self.uid(*instance) == at.seen.uid)
        {
            let answer = Answer::duplicate(entity, &request.event, timestamp);
            return Ok(Some(answer.at(tree, instance)));
        }
        let state = match at.states.as_slice() {
            [(region, state)] if region == FLAT_REGION => StateView::Flat(state.as_str().into()),
            states => {
                let pairs = states.iter();
                StateView::Regions(
                    pairs
                        .map(|(r, s)| (r.as_str().into(), s.as_str().into()))
                        .collect(),
                )
            }
        };
        let mut answer = Answer::replayed(&at.entity_id, state, at.version, &request.event, timestamp);
        answer.target = Some(TargetView {
            machine_id: at.machine_id.clone(),
            entity_id: at.entity_id.clone(),
            depth: at.depth,
        });
        Ok(Some(answer))
    }

    /// That an event whose identity was seen has the params that it had then (S2.139).
    pub(super) fn same(&self, seen: &Params, request: &EventRequest) -> Result<(), Error> {
        if maps_equal(seen, &request.event.params) {
            return Ok(());
        }
        Err(Error::Core(Core::Refused(Refusal::EventIdentityConflict {
            event_type: Arc::clone(&request.event.event_type),
            timestamp: request.event.timestamp_at(self.now),
        })))
    }

    /// An event for a child that ended and that its tree knows no more (S2.229).
    pub(super) fn ended_event(&mut self, ended: &Ended, request: &EventRequest) -> Result<Answer, Error> {
        if let Some(path) = &request.target {
            target::check(
                ended.entity.machine(),
                self.library.as_ref(),
                &path.steps,
                &path.path,
            )?;
        }
        let key = request.event.identity().map(|identity| identity.to_string());
        let seen = self
            .seen
            .iter()
            .find(|seen| seen.uid == ended.uid && Some(&seen.key) == key.as_ref());
        if let Some(seen) = seen {
            self.same(&seen.params, request)?;
            let timestamp = request.event.timestamp_at(self.now);
            return Ok(Answer::duplicate(&ended.entity, &request.event, timestamp));
        }
        self.catch_up()?;
        if let Some(path) = request.target.as_ref().filter(|path| !path.steps.is_empty()) {
            return Err(Error::Core(Core::Refused(Refusal::TargetNotActive {
                path: format!("{}[0]", path.path),
                problem: format!("`{}` has ended", ended.entity.id()),
            })));
        }
        Err(Error::Core(Core::Refused(Refusal::InstanceNotActive {
            entity: ended.entity.id().clone(),
            status: ended.status.name(),
        })))
    }
}

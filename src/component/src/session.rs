//! The `session` resource.

use std::cell::RefCell;

use statewright_core::ids::{MAX_TIMESTAMP, Millis};
use statewright_core::simulation::{Checked, Failure, Options, Session, check as play};

use crate::bindings::exports::statewright::core::sessions as wit;
use crate::outcomes::count;
use crate::text::{text_of, value};

/// A session.
pub(crate) struct Simulated(
    // INVARIANT: nothing that a call does calls back, since nothing is imported: it is borrowed once at a time.
    RefCell<Session>,
);

impl wit::GuestSession for Simulated {
    fn new(now: i64, tenant: String, deliver: bool) -> Self {
        Self(RefCell::new(Session::new(Options {
            now: Millis(now.clamp(-MAX_TIMESTAMP, MAX_TIMESTAMP)),
            tenant,
            deliver,
        })))
    }

    fn perform(&self, operation: wit::Operation, args: String) -> wit::Reply {
        let args = match value("$", &args) {
            Ok(args) => args,
            Err(error) => {
                return wit::Reply {
                    status: error.code().status(),
                    body: text_of(&serde_json::json!({"error": error.body()})),
                };
            }
        };
        let reply = self.0.borrow_mut().perform(name(operation), &args);
        wit::Reply {
            status: reply.status,
            body: text_of(&reply.body),
        }
    }

    fn now(&self) -> i64 {
        self.0.borrow().now().0
    }
}

/// Plays a scenario.
pub(crate) fn check(scenario: &str) -> Result<wit::Checked, wit::Error> {
    let Checked {
        passed,
        steps,
        failures,
    } = play(&value("$", scenario)?)?;
    let failure = |Failure { step, problem }| wit::Failure {
        step: count(step),
        problem,
    };
    Ok(wit::Checked {
        passed,
        steps: count(steps),
        failures: failures.into_iter().map(failure).collect(),
    })
}

/// The name that the core gives an operation.
fn name(operation: wit::Operation) -> &'static str {
    match operation {
        wit::Operation::Register => "register",
        wit::Operation::Validate => "validate",
        wit::Operation::Machines => "machines",
        wit::Operation::Machine => "machine",
        wit::Operation::DeleteMachine => "delete_machine",
        wit::Operation::Create => "create",
        wit::Operation::Adopt => "adopt",
        wit::Operation::Evaluate => "evaluate",
        wit::Operation::Transition => "transition",
        wit::Operation::Explain => "explain",
        wit::Operation::Entity => "entity",
        wit::Operation::Tree => "tree",
        wit::Operation::Events => "events",
        wit::Operation::History => "history",
        wit::Operation::Entities => "entities",
        wit::Operation::Delete => "delete",
        wit::Operation::Release => "release",
        wit::Operation::Diagram => "diagram",
        wit::Operation::Tick => "tick",
        wit::Operation::Advance => "advance",
        wit::Operation::Due => "due",
        wit::Operation::Effects => "effects",
        wit::Operation::Deliver => "deliver",
        wit::Operation::Steps => "steps",
        wit::Operation::Undo => "undo",
        wit::Operation::Redo => "redo",
        wit::Operation::Export => "export",
        wit::Operation::Import => "import",
    }
}

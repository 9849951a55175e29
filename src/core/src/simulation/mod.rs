//! A simulation: a virtual clock, machines, entities with their histories, and everything that happened, so that it can be
//! undone, kept as a scenario, and played again.
//!
//! What a [`Session`] answers is what a service answers to the same request, status and body. It differs in what it does
//! by itself: timers fire when its clock is turned past them, in order; an event that a commit sends to another entity of
//! the simulation is applied right after it, unless [`Options::deliver`] says otherwise; and whatever would leave the
//! simulation is listed and never sent.
//!
//! ```
//! use serde_json::json;
//! use statewright_core::simulation::{Options, Session};
//!
//! let mut session = Session::new(Options::default());
//! session.perform("register", &json!({"body": {
//!     "machine_id": "order", "states": ["placed", "paid", "void"], "initial_state": "placed",
//!     "transitions": [
//!         {"from": "placed", "to": "paid", "on": "pay"},
//!         {"from": "placed", "to": "void", "on": "$timeout", "guard": {"timeout_seconds": 60}}
//!     ]
//! }}));
//! session.perform("create", &json!({"machine_id": "order", "body": {"entity_id": "o-1"}}));
//! session.perform("advance", &json!({"to": 60_000}));
//! let order = json!({"machine_id": "order", "entity_id": "o-1"});
//! assert_eq!(session.perform("entity", &order).body["current_state"], "void");
//!
//! session.perform("undo", &json!({}));
//! let paid = session.perform("transition", &json!({
//!     "machine_id": "order", "entity_id": "o-1", "body": {"event_type": "pay"}
//! }));
//! assert_eq!(paid.body["transition"], "placed → paid");
//! ```

mod adopted;
mod clock;
mod effects;
mod family;
mod op;
mod scenario;
mod world;

use serde::Serialize;
use serde_json::{Value, json};

use crate::definition::shape::{kind_of, shortened};
use crate::error::Error;
use crate::ids::{MAX_TIMESTAMP, Millis, Revision};
use crate::request::Fields;
use clock::FiredTimers;
use op::Op;
use world::World;

pub use crate::effect::MOST_HOPS;
pub use scenario::{Checked, Failure, check};

/// The revision of every machine of a simulation.
const REVISION: Revision = Revision(1);
/// How many timers one turn of the clock applies.
const MOST_FIRED: usize = 100_000;
/// How many timers an answer tells of.
const MOST_TOLD: usize = 1_000;
/// After how many steps the world is kept, at first.
const KEEP_EVERY: usize = 64;
/// How many worlds are kept; with more, every other one is dropped.
const MOST_KEPT: usize = 32;

/// A value as JSON.
fn json_of(value: &impl Serialize) -> Value {
    // What is told here has only names and texts as keys, and so a JSON form.
    serde_json::to_value(value).unwrap_or_default()
}

/// What a simulation begins with.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the clock reads.
    pub now: Millis,
    /// The tenant that views name.
    pub tenant: String,
    /// Whether an event that a commit sends to another entity is applied right after it, and not only by `deliver`.
    pub deliver: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            now: Millis(0),
            tenant: crate::snapshot::NO_TENANT.to_owned(),
            deliver: true,
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reply {
    /// The status that a service answers with.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Reply {
    fn of(status: u16, outcome: Result<Value, Error>) -> Self {
        match outcome {
            Ok(body) => Self { status, body },
            Err(error) => Self {
                status: error.code().status(),
                body: json!({ "error": error.body() }),
            },
        }
    }

    /// Whether it was done.
    pub fn is_success(&self) -> bool {
        self.status < 300
    }
}

/// The report of a pass of the scanner, as a service gives it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tick {
    /// When it ran.
    pub at: i64,
    /// How many due timers it read.
    pub scanned: usize,
    /// How many entities these belong to.
    pub due: usize,
    /// How many timeouts it applied.
    pub fired: usize,
    /// Always 0: nobody else writes here.
    pub stale: usize,
    /// How many timers were parked, since their commit is refused (M6).
    pub parked: usize,
    /// Always 0: nothing here can fail.
    pub failed: usize,
    /// Always 0: definitions stay as they are.
    pub rearmed: usize,
    /// How late the oldest of the timers was, in milliseconds.
    pub lag_ms: i64,
    /// Whether more is due than one pass takes.
    pub more: bool,
}

/// Something that was done, and can be undone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The operation.
    pub op: String,
    /// What the clock read before it.
    pub at: Millis,
    /// Its arguments.
    pub args: Value,
    /// The status that it was answered with.
    pub status: u16,
}

/// A simulation. See the [module](self).
///
/// It is driven by [`Session::perform`]. Whatever changes it is a step; steps can be undone and redone, one by one or up to
/// any of them, and a step after an undo forgets what was undone.
#[derive(Debug, Clone)]
pub struct Session {
    options: Options,
    /// The machines that were there from the beginning, and the world with them alone.
    given: Vec<Value>,
    beginning: World,
    world: World,
    /// All steps, also those that are undone.
    steps: Vec<Step>,
    /// How many of them the world has seen.
    done: usize,
    /// Worlds as they were after so many steps, to go back to.
    kept: Vec<(usize, World)>,
    keep_every: usize,
}

impl Session {
    /// An empty simulation.
    pub fn new(options: Options) -> Self {
        let world = World::new(options.now, &options.tenant);
        Self {
            given: Vec::new(),
            beginning: world.clone(),
            world,
            options,
            steps: Vec::new(),
            done: 0,
            kept: Vec::new(),
            keep_every: KEEP_EVERY,
        }
    }

    /// Registers a machine that is there from the beginning: no step, and so never undone. The steps that were done before
    /// are forgotten, and what they did.
    ///
    /// # Errors
    /// It has faults, or a machine of its id is there.
    pub fn give(&mut self, machine: &Value) -> Result<(), Error> {
        self.beginning.register(machine)?;
        self.given.push(machine.clone());
        self.world = self.beginning.clone();
        self.steps.clear();
        self.kept.clear();
        self.done = 0;
        Ok(())
    }

    /// What the clock reads.
    pub fn now(&self) -> Millis {
        self.world.now
    }

    /// The steps, also those that are undone.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// How many of the steps are done, and not undone.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Does an operation. Arguments are an object; `at` turns the clock on to that time first, without firing what is due,
    /// as time passes for a service between two requests.
    ///
    /// | op | arguments | as a service's |
    /// | --- | --- | --- |
    /// | `register` | `body`: a definition | `POST /api/machines` |
    /// | `validate` | `body`: a definition | `POST /api/machines/validate` |
    /// | `machines`, `machine` | —, `machine_id` | `GET /api/machines…` |
    /// | `delete_machine` | `machine_id` | `DELETE …` |
    /// | `create` | `machine_id`, `body` | `POST …/entities` |
    /// | `adopt` | `body`: a `tree` and its `history` | takes in what `GET …/entities/{entity_id}?tree=true` and the histories of all entities in it answer |
    /// | `evaluate` | `machine_id`, `body` | `POST …/evaluate` |
    /// | `transition`, `explain` | `machine_id`, `entity_id`, `body` | `POST …/entities/{entity_id}/…` |
    /// | `entity`, `tree`, `events` | `machine_id`, `entity_id` | `GET …/entities/{entity_id}…` |
    /// | `history` | `machine_id`, `entity_id`, `order`?, `after`? | `GET …/history`; of it the rows with a higher number than `after` |
    /// | `entities` | `machine_id`? | `GET …/entities` |
    /// | `delete`, `release` | `machine_id`, `entity_id` | `DELETE …`, `POST …/release` |
    /// | `diagram` | `machine_id`, `format`?, `entity_id`? | `GET …/diagram`, as a JSON string |
    /// | `tick` | — | one pass of the scanner |
    /// | `advance` | `to` | fires timers in order up to that time, and leaves the clock there |
    /// | `due` | — | the timer that is due first, or null |
    /// | `effects`, `deliver` | — | what commits called for; delivers what is left of it |
    /// | `steps`, `undo`, `redo` | `to`? of the latter two: how many steps are to be done | — |
    /// | `export`, `import` | —, `body`: a scenario | — |
    pub fn perform(&mut self, op: &str, args: &Value) -> Reply {
        let Value::Object(args) = args else {
            let problem = format!("the arguments are {}", kind_of(args));
            return Reply::of(400, Err(Error::invalid("$", problem, "an object")));
        };
        let args = Fields {
            path: "$",
            object: args,
        };
        if let Err(error) = args.only(&ARGUMENTS) {
            return Reply::of(400, Err(error));
        }
        match op {
            "undo" | "redo" => return Reply::of(200, self.go_to(op, args)),
            "steps" => return Reply::of(200, Ok(self.told_steps())),
            "export" => return Reply::of(200, Ok(self.export())),
            "import" => return Reply::of(200, self.import(args)),
            _ => {}
        }
        let Some(known) = Op::read(op) else {
            let problem = format!("there is no operation `{}`", shortened(op));
            return Reply::of(
                400,
                Err(Error::invalid("op", problem, "one of those of a simulation")),
            );
        };
        let before = self.world.now;
        if let Err(error) = self.turn_to(args) {
            return Reply::of(400, Err(error));
        }
        let reply = self.answer(known, args);
        if known.changes() || self.world.now != before {
            let mut kept = args.object.clone();
            // When it is done: `at`, where that is given, and else what the clock read.
            let at = kept.remove("at").and_then(|at| at.as_i64());
            let at = at.map_or(before, Millis);
            self.note(Step {
                op: op.to_owned(),
                at,
                args: Value::Object(kept),
                status: reply.status,
            });
        }
        reply
    }

    /// Turns the clock on to `at`.
    fn turn_to(&mut self, args: Fields<'_>) -> Result<(), Error> {
        if let Some(at) = time(args, "at", self.world.now)? {
            self.world.now = at;
        }
        Ok(())
    }

    /// Notes a step that was done.
    fn note(&mut self, step: Step) {
        self.steps.truncate(self.done);
        self.steps.push(step);
        self.done = self.steps.len();
        self.keep_world();
    }

    /// Keeps the world now and then, so that going back need not begin at the beginning.
    fn keep_world(&mut self) {
        self.kept.retain(|(after, _)| *after < self.done);
        let since = self
            .done
            .saturating_sub(self.kept.last().map_or(0, |(after, _)| *after));
        if since < self.keep_every {
            return;
        }
        self.kept.push((self.done, self.world.clone()));
        if self.kept.len() > MOST_KEPT {
            let mut odd = false;
            self.kept.retain(|_| {
                odd = !odd;
                !odd
            });
            self.keep_every = self.keep_every.saturating_mul(2);
        }
    }

    fn answer(&mut self, op: Op, args: Fields<'_>) -> Reply {
        let outcome = self.operate(op, args);
        if self.options.deliver {
            self.world.deliver();
        }
        Reply::of(op.success(), outcome)
    }

    fn operate(&mut self, op: Op, args: Fields<'_>) -> Result<Value, Error> {
        let world = &mut self.world;
        let none = Value::Null;
        let body = args.object.get("body").unwrap_or(&none);
        let machine = || args.text("machine_id");
        let entity = || args.text("entity_id");
        match op {
            Op::Register => world.register(body),
            Op::Validate => world.validate(body),
            Op::Machines => Ok(world.machines()),
            Op::Machine => world.machine(machine()?),
            Op::DeleteMachine => world.delete_machine(machine()?),
            Op::Create => world.create(machine()?, object(body)?),
            Op::Adopt => world.adopt_tree(object(body)?),
            Op::Evaluate => world.evaluate(machine()?, object(body)?),
            Op::Transition => world.transition(machine()?, entity()?, object(body)?),
            Op::Explain => world.explain(machine()?, entity()?, object(body)?),
            Op::Events => world.events(machine()?, entity()?),
            Op::Entity => world.entity(machine()?, entity()?, false),
            Op::Tree => world.entity(machine()?, entity()?, true),
            Op::History => {
                let after = args.whole("after", 0)?.map_or(0, i64::unsigned_abs);
                world.history(machine()?, entity()?, args.optional_text("order")?, after)
            }
            Op::Entities => world.entities(args.optional_text("machine_id")?),
            Op::Delete => world.delete(machine()?, entity()?),
            Op::Release => world.release(machine()?, entity()?),
            Op::Diagram => world.diagram(
                machine()?,
                args.optional_text("format")?,
                args.optional_text("entity_id")?,
            ),
            Op::Tick => Ok(json_of(&world.tick())),
            Op::Advance => self.advance(args),
            Op::Due => Ok(world.due()),
            Op::Effects => Ok(world.effects.iter().map(|effect| effect.view()).collect()),
            Op::Deliver => Ok(json!({"done": world.deliver()})),
        }
    }

    /// Fires timers in order, each when it is due, as a scanner that is never late.
    fn advance(&mut self, args: Fields<'_>) -> Result<Value, Error> {
        let Some(to) = time(args, "to", self.world.now)? else {
            return Err(Error::invalid(
                "$.to",
                "it is missing",
                "the time to turn the clock to",
            ));
        };
        let mut fired = FiredTimers::default();
        for _ in 0..MOST_FIRED {
            if !self.world.fire_next(to, &mut fired) {
                self.world.now = to;
                break;
            }
            fired.rows.truncate(MOST_TOLD);
            if self.options.deliver {
                self.world.deliver();
            }
        }
        Ok(json!({
            "now": self.world.now,
            "fired": fired.fired,
            "parked": fired.parked,
            "more": self.world.now != to,
            "timeouts": fired.rows,
        }))
    }

    fn told_steps(&self) -> Value {
        json!({"done": self.done, "now": self.world.now, "steps": json_of(&self.steps)})
    }

    /// Goes back, or on again, to the world after so many steps.
    fn go_to(&mut self, op: &str, args: Fields<'_>) -> Result<Value, Error> {
        let back = op == "undo";
        let (least, most) = if back {
            (0, self.done)
        } else {
            (self.done, self.steps.len())
        };
        let next = if back {
            self.done.saturating_sub(1)
        } else {
            self.done.saturating_add(1).min(most)
        };
        let to = match args.given("to") {
            None => next,
            Some(given) => given
                .as_u64()
                .and_then(|to| usize::try_from(to).ok())
                .filter(|to| (least..=most).contains(to))
                .ok_or_else(|| args.wrong_text("to", &format!("a number of steps from {least} to {most}")))?,
        };
        self.replay(to);
        Ok(json!({"done": self.done, "now": self.world.now}))
    }

    /// Makes the world as it was after so many steps.
    fn replay(&mut self, to: usize) {
        if to < self.done {
            self.kept.retain(|(after, _)| *after <= to);
            (self.done, self.world) = match self.kept.last() {
                Some((after, world)) => (*after, world.clone()),
                None => (0, self.beginning.clone()),
            };
        }
        while self.done < to {
            let Some(step) = self.steps.get(self.done).cloned() else {
                break;
            };
            self.world.now = step.at.max(self.world.now);
            if let (Value::Object(object), Some(op)) = (&step.args, Op::read(&step.op)) {
                // What it answers is known.
                let _ = self.answer(op, Fields { path: "$", object });
            }
            self.done = self.done.saturating_add(1);
            self.keep_world();
        }
    }
}

/// The arguments that operations read.
const ARGUMENTS: [&str; 8] = [
    "at",
    "machine_id",
    "entity_id",
    "body",
    "order",
    "after",
    "format",
    "to",
];

/// A request's body that must be an object.
fn object(body: &Value) -> Result<Fields<'_>, Error> {
    match body {
        Value::Object(object) => Ok(Fields { path: "$", object }),
        other => Err(Error::invalid(
            "$",
            format!("the body is {}", kind_of(other)),
            "a JSON object",
        )),
    }
}

/// A time that is not before another.
fn time(args: Fields<'_>, key: &str, least: Millis) -> Result<Option<Millis>, Error> {
    let Some(given) = args.given(key) else {
        return Ok(None);
    };
    let fits = |time: &i64| (least.0..=MAX_TIMESTAMP).contains(time);
    match given.as_i64().filter(fits) {
        Some(time) => Ok(Some(Millis(time))),
        None => Err(Error::invalid(
            args.key(key),
            format!("`{}` is no time from here on", shortened(&given.to_string())),
            format!("milliseconds since the epoch, from {least} to 2^53"),
        )),
    }
}

//! Entities that live in Wasm: an event that has a number crosses as that number, and what comes of it as another. The profile
//! compiles this crate for speed, and with it what it takes in of the core; all else of its module is compiled for size.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};
use statewright_core::automaton::{Automaton, EventIx, Instance, MOST_FIRED, Unsent};
use statewright_core::error::Error;
use statewright_core::ids::{EntityId, Millis};
use statewright_core::request::{EventRequest, Fields};
use statewright_core::snapshot::{Living, OutcomeName};
use statewright_core::tree::EntityIx;
use statewright_js_text::{millis, read, shown, thrown};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// The members of an object.
pub type Members = Map<String, Value>;
/// An event as it crosses, and its params.
pub type ReadEvent = (Members, Arc<Members>);

/// What came of an event or of the clock: nothing moved, something did, or [`WasmInstance::problem`] says why not.
const STAYED: u32 = false as u32;
const MOVED: u32 = true as u32;
const PROBLEM: u32 = 2;

/// The members of JSON text.
///
/// # Errors
/// It is no JSON, or no object.
pub fn params_of(text: &str) -> Result<Members, JsValue> {
    match read(text)? {
        Value::Object(members) => Ok(members),
        Value::Null => Ok(Map::new()),
        _ => Err(thrown(Error::invalid("$", "it is no object", "an object"))),
    }
}

/// An event as the core is sent it, and its params; checked as any request is.
///
/// # Errors
/// It is none.
pub fn event_of(event_type: &str, params: Members) -> Result<ReadEvent, Error> {
    let mut event = Map::new();
    event.insert("event_type".to_owned(), event_type.into());
    event.insert("params".to_owned(), params.into());
    let nobody =
        EntityId::new("_").map_err(|error| Error::invalid("$.entity_id", error.to_string(), "an id"))?;
    let fields = Fields {
        path: "$",
        object: &event,
    };
    let request = EventRequest::transition(nobody, fields)?;
    Ok((event, request.event.params))
}

/// An entity that lives in Wasm.
#[wasm_bindgen]
pub struct WasmInstance {
    lives: Lives,
    /// The number of each region's first state.
    first: Rc<[u32]>,
    /// The entity itself, where it has children; otherwise what is told of it beside what its instance holds.
    living: Living,
    problem: Option<Error>,
}

/// How an entity lives.
pub enum Lives {
    /// One without children, by the steps that were met.
    Alone {
        /// Those of its machine.
        automaton: Rc<RefCell<Automaton>>,
        /// The entity.
        instance: Instance,
    },
    /// One with children, each step decided anew.
    Family {
        /// The events that have numbers.
        events: Rc<RefCell<Vec<Members>>>,
        /// What its clock says.
        now: Millis,
    },
}

impl WasmInstance {
    /// An entity; `first` tells the number of each region's first state.
    pub fn new(lives: Lives, first: Rc<[u32]>, living: Living) -> Self {
        Self {
            lives,
            first,
            living,
            problem: None,
        }
    }
}

#[wasm_bindgen]
impl WasmInstance {
    /// Sends the event of a number: 0 where it moved nothing, 1 where it did, 2 where there is a problem.
    pub fn send(&mut self, event: u32) -> u32 {
        let Lives::Alone { automaton, instance } = &mut self.lives else {
            return self.send_in_family(event);
        };
        let sent = automaton.borrow_mut().send(instance, EventIx::at(event));
        match sent {
            Ok(moved) => u32::from(moved),
            Err(unsent) => self.refuse(*unsent),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, unsent: Unsent) -> u32 {
        self.code(Err(unsent.into()))
    }

    #[inline(never)]
    fn send_in_family(&mut self, event: u32) -> u32 {
        let Lives::Family { events, now } = &self.lives else {
            return STAYED;
        };
        let sent = match events.borrow().get(event as usize) {
            Some(event) => deliver(&mut self.living, event, *now),
            None => Err(Unsent::NoSuchEvent { number: event }.into()),
        };
        self.code(sent)
    }

    /// Sends an event that comes once.
    ///
    /// # Errors
    /// The event cannot be read.
    pub fn send_once(&mut self, event_type: &str, params: &str) -> Result<u32, JsValue> {
        let event = event_of(event_type, params_of(params)?);
        let (event, params) = event.map_err(|error| thrown(error.within("event")))?;
        let sent = match &mut self.lives {
            Lives::Alone { automaton, instance } => {
                let sent = automaton.borrow().send_once(instance, event_type, &params);
                sent.map_err(|unsent| Error::from(*unsent))
            }
            Lives::Family { now, .. } => deliver(&mut self.living, &event, *now),
        };
        Ok(self.code(sent))
    }

    fn code(&mut self, sent: Result<bool, Error>) -> u32 {
        match sent {
            Ok(false) => STAYED,
            Ok(true) => MOVED,
            Err(problem) => {
                self.problem = Some(problem);
                PROBLEM
            }
        }
    }

    /// The last problem: the inside of an answer's `error`.
    pub fn problem(&mut self) -> Option<String> {
        let problem = self.problem.take()?;
        Some(Value::Object(problem.body()).to_string())
    }

    /// The state of a region, both by number.
    pub fn state(&self, region: u32) -> u32 {
        let region = region as usize;
        let state = match &self.lives {
            Lives::Alone { instance, .. } => instance.configuration().get(region).copied(),
            Lives::Family { .. } => self.living.tree().root().configuration().get(region).copied(),
        };
        let state = state.and_then(|state| u32::try_from(state.place()).ok());
        let first = self.first.get(region).copied();
        state
            .unwrap_or_default()
            .saturating_sub(first.unwrap_or_default())
    }

    /// How many commits wrote it.
    #[expect(clippy::cast_precision_loss, reason = "no loop comes to 2^53 commits")]
    pub fn version(&self) -> f64 {
        let version = match &self.lives {
            Lives::Alone { instance, .. } => instance.version(),
            Lives::Family { .. } => self.living.tree().root().version(),
        };
        version.0 as f64
    }

    /// What its clock says.
    #[expect(clippy::cast_precision_loss, reason = "times stay within ±2^53")]
    pub fn now(&self) -> f64 {
        match &self.lives {
            Lives::Alone { instance, .. } => instance.now().0 as f64,
            Lives::Family { now, .. } => now.0 as f64,
        }
    }

    /// When its earliest timer is due.
    #[expect(clippy::cast_precision_loss, reason = "times stay within ±2^53")]
    pub fn due(&self) -> Option<f64> {
        let due = match &self.lives {
            Lives::Alone { instance, .. } => instance.due(),
            Lives::Family { .. } => self.living.due().map(|due| due.at),
        };
        due.map(|due| due.0 as f64)
    }

    /// Moves its clock on, and fires what is due by then: the codes of [`WasmInstance::send`].
    pub fn advance(&mut self, to: f64) -> u32 {
        let to = millis(to);
        let fired = match &mut self.lives {
            Lives::Alone { automaton, instance } => {
                let fired = automaton.borrow().advance(instance, to);
                fired
                    .map(|fired| fired > 0)
                    .map_err(|unsent| Error::from(*unsent))
            }
            Lives::Family { now, .. } if to < *now => Err(Unsent::Backwards { now: *now, to }.into()),
            Lives::Family { now, .. } => {
                *now = to;
                fire(&mut self.living, to)
            }
        };
        self.code(fired)
    }

    /// The entity as JSON.
    ///
    /// # Errors
    /// Never.
    pub fn snapshot(&self) -> Result<String, JsValue> {
        match &self.lives {
            Lives::Alone { automaton, instance } => {
                shown(&automaton.borrow().snapshot(instance, &self.living))
            }
            Lives::Family { .. } => shown(&self.living.snapshot()),
        }
    }
}

/// Sends an event to an entity with children.
fn deliver(living: &mut Living, object: &Members, now: Millis) -> Result<bool, Error> {
    let nobody = living.tree().root().id().clone();
    let request = EventRequest::transition(nobody, Fields { path: "$", object })?;
    let decided = living.event(EntityIx::ROOT, &request, &|_| None, now);
    decided.answer?;
    Ok(decided.outcome == OutcomeName::Applied)
}

/// Fires what is due of an entity with children.
fn fire(living: &mut Living, now: Millis) -> Result<bool, Error> {
    let mut fired = 0_usize;
    loop {
        let advanced = living.advance(now);
        fired = fired.saturating_add(advanced.timeouts.len());
        if !advanced.more {
            return Ok(fired > 0);
        }
        if fired >= MOST_FIRED {
            return Err(Error::TimeoutsPending { most: MOST_FIRED });
        }
    }
}

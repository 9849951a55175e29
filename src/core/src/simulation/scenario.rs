//! A simulation as JSON: played again by `import`, and checked against what its steps expect.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::op::Op;
use super::{Options, Reply, Session, object};
use crate::definition::shape::{kind_of, shortened};
use crate::error::Error;
use crate::ids::Millis;
use crate::request::Fields;

/// The form of a scenario, and its version.
const FORM: &str = "scenario/1";
/// What a step of a scenario has.
const STEP_KEYS: [&str; 4] = ["op", "at", "args", "expect"];
/// What a step can expect.
const EXPECT_KEYS: [&str; 5] = ["state", "outcome", "error", "status", "body"];

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// Whether every step was as it expects.
    pub passed: bool,
    /// How many steps were done.
    pub steps: usize,
    /// What was otherwise.
    pub failures: Vec<Failure>,
}

/// A step that was otherwise than it expects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Which, from 0.
    pub step: usize,
    /// What was otherwise.
    pub problem: String,
}

/// A scenario that was read.
struct Scenario<'a> {
    machines: &'a [Value],
    options: Options,
    steps: Vec<Told<'a>>,
}

/// A step of a scenario.
struct Told<'a> {
    op: &'a str,
    args: Map<String, Value>,
    expect: Option<Fields<'a>>,
}

/// Plays a scenario, and compares what its steps expect with what comes: `state`, the entity's state after the step;
/// `outcome`, `applied`, `duplicate`, `no_transition` or `refused`; `error`, the code of an error; `status`; and `body`, of
/// which every key that it names must be there and match.
///
/// # Errors
/// It is no scenario, or a machine of it has faults.
pub fn check(scenario: &Value) -> Result<Checked, Error> {
    let scenario = read(scenario)?;
    let mut session = begin(&scenario)?;
    let mut failures = Vec::new();
    for (place, step) in scenario.steps.iter().enumerate() {
        let reply = session.perform(step.op, &Value::Object(step.args.clone()));
        let problem = match &step.expect {
            Some(expect) => differs(&mut session, step, *expect, &reply),
            // What nobody expects to be refused is to be done.
            None => (!reply.is_success()).then(|| refused(&reply)),
        };
        failures.extend(problem.map(|problem| Failure { step: place, problem }));
    }
    Ok(Checked {
        passed: failures.is_empty(),
        steps: scenario.steps.len(),
        failures,
    })
}

fn refused(reply: &Reply) -> String {
    let error = reply.body.get("error");
    let text = |key: &str| {
        error
            .and_then(|error| error.get(key)?.as_str())
            .unwrap_or_default()
    };
    format!("it is refused with {}: {}", text("code"), text("message"))
}

/// What of a step is otherwise than it expects.
fn differs(session: &mut Session, step: &Told<'_>, expect: Fields<'_>, reply: &Reply) -> Option<String> {
    let otherwise = |what: &str, wanted: &Value, found: &Value| {
        Some(format!("expected {what} {wanted}, and it is {found}"))
    };
    let code = reply.body.pointer("/error/code").cloned().unwrap_or_default();
    // Null is expected as well: that there is none.
    let expected = |key: &str| expect.object.get(key);
    let wanted = expected("error").cloned().unwrap_or_default();
    let tells_of_errors = ["status", "outcome", "body"]
        .iter()
        .any(|key| expected(key).is_some());
    if code != wanted && (expected("error").is_some() || !tells_of_errors) {
        return if code.is_null() {
            otherwise("the error", &wanted, &reply.body)
        } else {
            Some(refused(reply))
        };
    }
    if let Some(status) = expected("status") {
        let found = json!(reply.status);
        if *status != found {
            return otherwise("the status", status, &found);
        }
    }
    if let Some(outcome) = expected("outcome") {
        let found = json!(outcome_of(reply));
        if *outcome != found {
            return otherwise("the outcome", outcome, &found);
        }
    }
    if let Some(body) = expected("body").filter(|body| !matches(body, &reply.body)) {
        return otherwise("a body that matches", body, &reply.body);
    }
    if let Some(state) = expected("state") {
        let found = state_after(session, step, reply);
        if *state != found {
            return otherwise("the state", state, &found);
        }
    }
    None
}

/// What became of an event, as its answer tells it.
fn outcome_of(reply: &Reply) -> &'static str {
    if !reply.is_success() {
        return "refused";
    }
    let told = |key: &str| reply.body.get(key).is_some_and(|value| !value.is_null());
    match reply.body.get("reason").and_then(Value::as_str) {
        Some(crate::answer::DUPLICATE) => "duplicate",
        Some(_) => "no_transition",
        None if told("transition") || told("sub_machine") || told("instances") => "applied",
        None => "done",
    }
}

/// The state of the entity that a step is about, after it.
fn state_after(session: &mut Session, step: &Told<'_>, reply: &Reply) -> Value {
    let told = step.args.get("entity_id");
    let body = step.args.get("body");
    let entity = told
        .or_else(|| reply.body.get("entity_id"))
        .or_else(|| body?.get("entity_id"))
        .or_else(|| body?.get("params")?.get(body?.get("entity_key")?.as_str()?));
    let args = json!({"machine_id": step.args.get("machine_id"), "entity_id": entity});
    let mut shown = session.perform("entity", &args).body;
    shown
        .get_mut("current_state")
        .map(Value::take)
        .unwrap_or_default()
}

/// Whether everything that is named is there: keys of objects, all items of arrays, numbers by their value.
fn matches(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted
            .iter()
            .all(|(key, value)| found.get(key).is_some_and(|found| matches(value, found))),
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(a, b)| matches(a, b))
        }
        _ => crate::number::json_equal(wanted, found),
    }
}

fn begin(scenario: &Scenario<'_>) -> Result<Session, Error> {
    let mut session = Session::new(scenario.options.clone());
    for (place, machine) in scenario.machines.iter().enumerate() {
        session.give(machine).map_err(|error| at_machine(place, error))?;
    }
    Ok(session)
}

/// The error of a machine of a scenario, with its place there.
fn at_machine(place: usize, error: Error) -> Error {
    let at = |path: &str| format!("$.machines[{place}]{}", path.strip_prefix('$').unwrap_or(path));
    match error {
        Error::InvalidDefinition(mut faults) => {
            for fault in &mut faults {
                fault.path = at(&fault.path);
            }
            Error::InvalidDefinition(faults)
        }
        other => Error::invalid(at("$"), other.to_string(), "a machine that can be registered"),
    }
}

fn read(value: &Value) -> Result<Scenario<'_>, Error> {
    let fields = object(value)?;
    if fields.text("statewright")? != FORM {
        return Err(fields.wrong_text("statewright", &format!("`{FORM}`")));
    }
    fields.only(&["statewright", "machines", "start", "tenant", "deliver", "steps"])?;
    let start = super::time(fields, "start", Millis(-crate::ids::MAX_TIMESTAMP))?;
    let default = Options::default();
    let options = Options {
        now: start.unwrap_or(default.now),
        tenant: fields
            .optional_text("tenant")?
            .map_or(default.tenant, str::to_owned),
        deliver: fields.flag("deliver", default.deliver)?,
    };
    let steps = items(fields, "steps")?.iter().enumerate();
    Ok(Scenario {
        machines: items(fields, "machines")?,
        options,
        steps: steps
            .map(|(place, step)| read_step(place, step))
            .collect::<Result<_, _>>()?,
    })
}

fn items<'a>(fields: Fields<'a>, key: &str) -> Result<&'a [Value], Error> {
    match fields.given(key) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(fields.wrong(key, other, "an array")),
    }
}

fn read_step(place: usize, step: &Value) -> Result<Told<'_>, Error> {
    let path = format!("$.steps[{place}]");
    let of = |error: Error| error.within(&path);
    let fields = object(step).map_err(of)?;
    fields.only(&STEP_KEYS).map_err(of)?;
    let op = fields.text("op").map_err(of)?;
    if Op::read(op).is_none() {
        let problem = format!("there is no operation `{}`", shortened(op));
        let expected = "one that a step of a simulation can be";
        return Err(Error::invalid(format!("{path}.op"), problem, expected));
    }
    let mut args = fields.map("args").map_err(of)?.cloned().unwrap_or_default();
    let read = Fields {
        path: "$.args",
        object: &args,
    };
    read.only(&super::ARGUMENTS).map_err(of)?;
    if let Some(at) = fields.given("at") {
        args.insert("at".to_owned(), at.clone());
    }
    let expect = match fields.object.get("expect") {
        None => None,
        Some(Value::Object(object)) => {
            let expect = Fields {
                path: "$.expect",
                object,
            };
            expect.only(&EXPECT_KEYS).map_err(of)?;
            Some(expect)
        }
        Some(other) => {
            let problem = format!("it is {}", kind_of(other));
            return Err(Error::invalid(format!("{path}.expect"), problem, "an object"));
        }
    };
    Ok(Told { op, args, expect })
}

impl Fields<'_> {
    /// That a field is another one than is expected, with what it is.
    pub(super) fn wrong_text(&self, key: &str, expected: &str) -> Error {
        let given = self.given(key).map(ToString::to_string).unwrap_or_default();
        Error::invalid(self.key(key), format!("it is {}", shortened(&given)), expected)
    }
}

impl Session {
    /// The steps that are done, as a scenario of the machines that were there from the beginning.
    pub(super) fn export(&self) -> Value {
        let steps = self.steps.iter().take(self.done);
        let steps = steps.map(|step| {
            let mut told = json!({"op": step.op, "at": step.at, "args": step.args});
            // So that it passes when it is checked.
            if let (false, Value::Object(told)) = (step.status < 300, &mut told) {
                told.insert("expect".to_owned(), json!({"status": step.status}));
            }
            told
        });
        json!({
            "statewright": FORM,
            "start": self.options.now,
            "tenant": self.options.tenant,
            "deliver": self.options.deliver,
            "machines": self.given,
            "steps": steps.collect::<Vec<_>>(),
        })
    }

    /// Becomes what a scenario tells.
    pub(super) fn import(&mut self, args: Fields<'_>) -> Result<Value, Error> {
        let none = Value::Null;
        let scenario = read(args.object.get("body").unwrap_or(&none))?;
        let mut session = begin(&scenario)?;
        for step in &scenario.steps {
            // What is refused is a part of what happened.
            let _ = session.perform(step.op, &Value::Object(step.args.clone()));
        }
        *self = session;
        Ok(json!({"done": self.done, "now": self.now()}))
    }
}

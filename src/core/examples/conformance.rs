//! A session as a process, for the conformance suite (tests/conformance): it reads a JSON array a line and answers a line.
//!
//! `["begin", now, tenant, deliver]` begins a new session and answers `null`; `[op, args]` does an operation and answers
//! `[status, body]`.

#![allow(missing_docs, reason = "a program for tests")]

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};

use serde_json::{Value, json};
use statewright_core::ids::Millis;
use statewright_core::simulation::{Options, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = Session::new(Options::default());
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let asked: Vec<Value> = serde_json::from_str(&line?)?;
        let answer = match asked.as_slice() {
            [begin, now, tenant, deliver] if begin == "begin" => {
                session = Session::new(Options {
                    now: Millis(now.as_i64().ok_or("`now` is a time")?),
                    tenant: tenant.as_str().ok_or("`tenant` is a name")?.to_owned(),
                    deliver: deliver.as_bool().ok_or("`deliver` is a flag")?,
                });
                Value::Null
            }
            [op, args] => {
                let reply = session.perform(op.as_str().ok_or("an operation has a name")?, args);
                json!([reply.status, reply.body])
            }
            _ => return Err("neither a beginning nor an operation".into()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

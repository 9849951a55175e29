//! A JavaScript database as the engine's.
//!
//! A batch crosses as one array of numbers and one text, and its rows as one text: each object that crosses costs more than
//! what it holds.

use std::cell::RefCell;

use js_sys::{JsString, Promise, Reflect};
use statewright_engine::database::{Database, DatabaseError, Param, Statement};
use statewright_service::host::words;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// What `database.ts` makes of a database: it unpacks batches, and packs rows.
    #[derive(Debug)]
    pub type Runner;

    /// Tells the next statement's text: those told before have the numbers from 0.
    #[wasm_bindgen(method)]
    fn learn(this: &Runner, sql: &str);

    /// Runs a batch; gives the packed rows or a promise of them.
    #[wasm_bindgen(method, catch)]
    fn run(this: &Runner, plan: &[f64], texts: &str) -> Result<JsValue, JsValue>;
}

/// Stands for null in a plan.
const NULL: f64 = -1.0;
/// Stands before an integer in a plan.
const INTEGER: f64 = -2.0;
/// Parts rows. JSON has it in no text: it is escaped there.
const ROW_END: char = '\u{1e}';
/// The name of an error that says for certain that nothing was committed.
const CONSTRAINT: &str = "ConstraintError";

/// A database of JavaScript.
#[derive(Debug)]
pub(crate) struct JsDatabase {
    runner: Runner,
    /// The statements that it knows, by their numbers. Constants are known by their address.
    known: RefCell<Vec<&'static str>>,
}

impl JsDatabase {
    pub(crate) fn new(runner: Runner) -> Self {
        Self {
            runner,
            known: RefCell::default(),
        }
    }

    fn number(&self, sql: &'static str) -> usize {
        let mut known = self.known.borrow_mut();
        if let Some(number) = known.iter().position(|known| std::ptr::eq(*known, sql)) {
            return number;
        }
        self.runner.learn(sql);
        known.push(sql);
        known.len().saturating_sub(1)
    }

    /// The plan of a batch: for each statement its number, how many parameters it has, and for each of these its kind; a text by
    /// its length in UTF-16. And the texts, one behind the other.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and parameters are within ±2^53"
    )]
    fn pack(&self, statements: &[Statement]) -> (Vec<f64>, String) {
        let mut plan = Vec::with_capacity(statements.len().saturating_mul(4));
        let mut texts = String::new();
        for statement in statements {
            plan.push(self.number(statement.sql) as f64);
            plan.push(statement.params.len() as f64);
            for param in &statement.params {
                match param {
                    Param::Null => plan.push(NULL),
                    Param::Integer(integer) => plan.extend([INTEGER, *integer as f64]),
                    Param::Text(text) => {
                        let units = if text.is_ascii() {
                            text.len()
                        } else {
                            text.encode_utf16().count()
                        };
                        plan.push(units as f64);
                        texts.push_str(text);
                    }
                }
            }
        }
        (plan, texts)
    }
}

impl Database for JsDatabase {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let (plan, texts) = self.pack(&statements);
        let mut answer = self.runner.run(&plan, &texts).map_err(|error| classify(&error))?;
        if let Some(promise) = answer.dyn_ref::<Promise>() {
            answer = JsFuture::from(promise.clone())
                .await
                .map_err(|error| classify(&error))?;
        }
        let rows = answer.dyn_into::<JsString>().map(String::from).ok();
        rows.and_then(|packed| unpack(&packed, statements.len()))
            .ok_or_else(|| DatabaseError::Uncertain("the rows of a batch came back damaged".to_owned()))
    }
}

/// Reads packed rows: how many each statement has, separated by commas, and in the lines behind that the rows.
fn unpack(packed: &str, statements: usize) -> Option<Vec<Vec<String>>> {
    let (counts, rows) = packed.split_once('\n')?;
    let counts: Vec<usize> = counts.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    if counts.len() != statements {
        return None;
    }
    let mut rows = rows.split_terminator(ROW_END);
    let taken: Option<Vec<Vec<String>>> = counts
        .into_iter()
        .map(|count| (0..count).map(|_| rows.next().map(str::to_owned)).collect())
        .collect();
    taken.filter(|_| rows.next().is_none())
}

/// A refusal of the database is the only certain failure: the transaction was rolled back. All else may have come after the
/// commit.
fn classify(error: &JsValue) -> DatabaseError {
    let name = Reflect::get(error, &JsValue::from_str("name")).unwrap_or_default();
    let message = words(error);
    if name.as_string().is_some_and(|name| name == CONSTRAINT)
        || message.contains("SQLITE_CONSTRAINT")
        || message.contains("constraint failed")
    {
        DatabaseError::Constraint(message)
    } else {
        DatabaseError::Uncertain(message)
    }
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn rows_come_back_by_their_statements() {
        let rows = unpack("2,0,1\n[1]\u{1e}[\"a\\u001e\nb\"]\u{1e}[3]\u{1e}", 3);
        let expected = vec![
            vec!["[1]".to_owned(), "[\"a\\u001e\nb\"]".to_owned()],
            vec![],
            vec!["[3]".to_owned()],
        ];
        assert_eq!(rows, Some(expected));
        assert_eq!(unpack("0\n", 1), Some(vec![vec![]]));
    }

    #[test]
    fn damaged_rows_are_none() {
        for (packed, statements) in [
            ("", 1),
            ("1", 1),
            ("1\n", 1),
            ("1\n[1]\u{1e}[2]\u{1e}", 1),
            ("1\n[1]\u{1e}", 2),
            ("x\n", 1),
        ] {
            assert_eq!(unpack(packed, statements), None, "{packed:?}");
        }
    }
}

//! D1 as the engine's database.
//!
//! The binding is called directly rather than through the `worker` crate, whose results pass through
//! serde-wasm-bindgen: what the engine asks for is one text a row.

use std::cell::RefCell;

use js_sys::{Array, JsString, Object, Promise, Reflect};
use statewright_engine::database::{Database, DatabaseError, Param, Statement};
use statewright_service::host::words;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use worker::Env;

#[wasm_bindgen]
extern "C" {
    /// The binding of a database.
    #[derive(Debug, Clone)]
    type Binding;
    #[wasm_bindgen(method, catch)]
    fn prepare(this: &Binding, sql: &JsString) -> Result<Prepared, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn batch(this: &Binding, statements: &Array) -> Result<Promise, JsValue>;

    type Prepared;
    #[wasm_bindgen(method, catch, variadic)]
    fn bind(this: &Prepared, params: &Array) -> Result<Prepared, JsValue>;

    type Answer;
    #[wasm_bindgen(method, getter)]
    fn results(this: &Answer) -> Option<Array>;
}

/// The name of the binding in wrangler.toml.
const BINDING: &str = "DB";

thread_local! {
    /// The statements' texts as they crossed to JavaScript, so that each crosses once.
    static CROSSED: RefCell<Vec<(&'static str, JsString)>> = const { RefCell::new(Vec::new()) };
}

/// A D1 database.
#[derive(Debug, Clone)]
pub(crate) struct D1(Option<Binding>);

impl D1 {
    /// The database bound to the Worker, if there is one.
    pub(crate) fn of(env: &Env) -> Self {
        let value = Reflect::get(env, &JsValue::from_str(BINDING)).unwrap_or_default();
        Self((!value.is_undefined()).then(|| value.unchecked_into()))
    }
}

impl Binding {
    fn prepared(&self, statement: &Statement) -> Result<Prepared, JsValue> {
        let sql = statement.sql;
        let prepared = CROSSED.with_borrow_mut(|crossed| {
            // Constants are known by their address: hashing a statement would cost as much as sending it again.
            let text = match crossed.iter().find(|(known, _)| std::ptr::eq(*known, sql)) {
                Some((_, text)) => text.clone(),
                None => {
                    let text = JsString::from(sql);
                    crossed.push((sql, text.clone()));
                    text
                }
            };
            self.prepare(&text)
        })?;
        if statement.params.is_empty() {
            return Ok(prepared);
        }
        prepared.bind(&statement.params.iter().map(js_param).collect())
    }
}

fn js_param(param: &Param) -> JsValue {
    match param {
        Param::Null => JsValue::NULL,
        // Exact: the engine keeps integers within ±2^53.
        #[expect(clippy::cast_precision_loss, reason = "parameters are within ±2^53")]
        Param::Integer(integer) => JsValue::from_f64(*integer as f64),
        Param::Text(text) => JsValue::from_str(text),
    }
}

impl Database for D1 {
    async fn batch(&self, statements: Vec<Statement>) -> Result<Vec<Vec<String>>, DatabaseError> {
        let binding = self
            .0
            .as_ref()
            .ok_or_else(|| DatabaseError::Uncertain(format!("the Worker has no D1 binding `{BINDING}`")))?;
        let prepared: Result<Vec<Prepared>, JsValue> = statements
            .iter()
            .map(|statement| binding.prepared(statement))
            .collect();
        let prepared: Array = prepared
            .map_err(|error| classify(&error))?
            .into_iter()
            .map(JsValue::from)
            .collect();
        let promise = binding.batch(&prepared).map_err(|error| classify(&error))?;
        let answers = JsFuture::from(promise).await.map_err(|error| classify(&error))?;
        answers.unchecked_into::<Array>().iter().map(texts).collect()
    }
}

/// The one text column of each row of a statement's answer.
fn texts(answer: JsValue) -> Result<Vec<String>, DatabaseError> {
    let rows = answer.unchecked_into::<Answer>().results().unwrap_or_default();
    let text = |row: JsValue| {
        let column = Object::values(row.unchecked_ref::<Object>()).get(0);
        column.dyn_into::<JsString>().map(String::from)
    };
    let rows: Result<Vec<String>, JsValue> = rows.iter().map(text).collect();
    rows.map_err(|_| DatabaseError::Uncertain("a row came back without its text".to_owned()))
}

/// The word of `SQLite` itself for a refusal is the only certain one: the transaction was rolled back. All else (a lost
/// connection, a reset, an overload) may have come after the commit.
fn classify(error: &JsValue) -> DatabaseError {
    let message = words(error);
    if message.contains("SQLITE_CONSTRAINT") || message.contains("constraint failed") {
        DatabaseError::Constraint(message)
    } else {
        DatabaseError::Uncertain(message)
    }
}

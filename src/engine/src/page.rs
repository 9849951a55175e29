//! Lists that come in pages (R18).

use serde::Serialize;
use serde_json::Value;
use statewright_core::ids::MAX_TIMESTAMP;

use crate::error::Error;
use crate::row::Cell;

/// Most rows of a page that a caller asks for.
pub const MAX_LIMIT: u32 = 1000;
/// Most rows of an answer without a limit.
pub const MAX_ROWS: u32 = 10_000;
/// About the most bytes of an answer without a limit.
pub const MAX_BYTES: i64 = 8 * 1024 * 1024;

/// One page, and where the next begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The cursor of the next page, if there is more.
    pub next: Option<String>,
}

/// What a caller asks of a list.
#[derive(Debug, Clone, Default)]
pub struct Paging {
    /// `limit`, as it was given.
    pub limit: Option<String>,
    /// `cursor`, as it was given.
    pub cursor: Option<String>,
}

impl Paging {
    /// How many rows to give.
    pub(crate) fn rows(&self) -> Result<u32, Error> {
        let Some(limit) = &self.limit else {
            return Ok(MAX_ROWS);
        };
        match limit.parse() {
            Ok(rows) if (1..=MAX_LIMIT).contains(&rows) => Ok(rows),
            _ => Err(Error::invalid(
                "limit",
                "it is no limit",
                "an integer from 1 to 1000",
            )),
        }
    }

    /// Where to begin: the last row of the page before, as [`Cursor`] wrote it.
    pub(crate) fn after<T: Cell>(&self) -> Result<Option<T>, Error> {
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        let read = unhex(cursor)
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .filter(carried)
            .and_then(crate::row::columns);
        let wrong = || {
            Error::invalid(
                "cursor",
                "it is no cursor of this list",
                "the cursor of a `Link` header",
            )
        };
        read.map(Some).ok_or_else(wrong)
    }
}

/// The cursor after a row.
pub(crate) fn cursor(last: &impl Serialize) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in serde_json::to_vec(last).unwrap_or_default() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether every host carries its numbers as they are: a cursor comes from the caller.
fn carried(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_i64()
            .is_some_and(|number| (-MAX_TIMESTAMP..=MAX_TIMESTAMP).contains(&number)),
        Value::Array(values) => values.iter().all(carried),
        _ => true,
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) || text.len() > 4096 {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at.checked_add(2)?)?, 16).ok())
        .collect()
}

/// Makes a page of what was read, which may be one row more than was asked for; `more` says whether rows were left
/// out behind it.
pub(crate) fn cut<T, K: Serialize>(
    mut items: Vec<T>,
    rows: u32,
    more: bool,
    key: impl Fn(&T) -> K,
) -> Page<T> {
    let rows = rows as usize;
    let more = more || items.len() > rows;
    items.truncate(rows);
    let next = if more {
        items.last().map(|last| cursor(&key(last)))
    } else {
        None
    };
    Page { items, next }
}

/// A filter's text: no name holds a control character, and a database may cut a text at NUL.
pub(crate) fn plain(name: &str, text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::invalid(
            name,
            "it holds a control character",
            "a text without control characters",
        ));
    }
    Ok(())
}

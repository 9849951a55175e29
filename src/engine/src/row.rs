//! Rows that the engine's own SQL made: JSON arrays of columns, read into tuples.
//!
//! One reader for all of them. What serde makes of each tuple looks for its end and its errors behind every column, and that,
//! a hundred times over, is much of a script.

use std::vec;

use serde_json::Value;
use statewright_core::error::Error as Core;
use statewright_core::ids::Millis;

use crate::error::Error;

/// Reads a row.
pub(crate) fn decode<T: Cell>(row: &str) -> Result<T, Error> {
    try_decode(row).ok_or_else(wrong)
}

/// Reads a row; none where it has other columns.
pub(crate) fn try_decode<T: Cell>(row: &str) -> Option<T> {
    columns(value_of(row)?)
}

fn value_of(row: &str) -> Option<Value> {
    serde_json::from_str(row).ok()
}

/// The columns that a value has; none where it has others.
pub(crate) fn columns<T: Cell>(value: Value) -> Option<T> {
    let mut cells = Cells {
        cells: vec![value].into_iter(),
        wrong: false,
    };
    let columns = T::take(&mut cells);
    (!cells.wrong).then_some(columns)
}

fn wrong() -> Error {
    Error::Core(Core::Corrupt {
        what: "a row".to_owned(),
        problem: "it has other columns than it was asked for".to_owned(),
    })
}

/// Columns that are still to be read.
pub(crate) struct Cells {
    cells: vec::IntoIter<Value>,
    /// Whether one was missing, or something else: what was read is worth nothing then.
    wrong: bool,
}

impl Cells {
    #[inline(never)]
    pub(crate) fn next(&mut self) -> Value {
        self.cells.next().unwrap_or_else(|| self.wrong())
    }

    /// Says that what was read is something else.
    pub(crate) fn wrong<T: Default>(&mut self) -> T {
        self.wrong = true;
        T::default()
    }

    /// Whether a null comes next, which is passed over.
    #[inline(never)]
    fn is_null(&mut self) -> bool {
        let null = matches!(self.cells.as_slice(), [Value::Null, ..]);
        if null {
            self.cells.next();
        }
        null
    }

    #[inline(never)]
    fn unsigned(&mut self, most: u64) -> u64 {
        let number = self.next().as_u64().filter(|number| *number <= most);
        number.unwrap_or_else(|| self.wrong())
    }

    /// The columns of an array.
    #[inline(never)]
    fn open(&mut self) -> Self {
        let value = self.next();
        let wrong = !value.is_array();
        let cells = match value {
            Value::Array(cells) => cells,
            _ => Vec::new(),
        };
        Self {
            cells: cells.into_iter(),
            wrong,
        }
    }

    /// Ends an array: all of it was read.
    #[inline(never)]
    #[expect(clippy::needless_pass_by_value, reason = "it ends here")]
    fn close(&mut self, of: Self) {
        self.wrong |= of.wrong || of.cells.len() > 0;
    }
}

/// What a column, or several, are read as.
pub(crate) trait Cell: Sized {
    /// Reads it. Where it is something else, the cells say so.
    fn take(cells: &mut Cells) -> Self;
}

impl Cell for Value {
    fn take(cells: &mut Cells) -> Self {
        cells.next()
    }
}

impl Cell for String {
    #[inline(never)]
    fn take(cells: &mut Cells) -> Self {
        match cells.next() {
            Value::String(text) => text,
            _ => cells.wrong(),
        }
    }
}

impl Cell for i64 {
    #[inline(never)]
    fn take(cells: &mut Cells) -> Self {
        cells.next().as_i64().unwrap_or_else(|| cells.wrong())
    }
}

impl Cell for Millis {
    fn take(cells: &mut Cells) -> Self {
        Self(i64::take(cells))
    }
}

macro_rules! unsigned {
    ($($type:ty)*) => {
        $(impl Cell for $type {
            fn take(cells: &mut Cells) -> Self {
                const MOST: u64 = <$type>::MAX as u64;
                Self::try_from(cells.unsigned(MOST)).unwrap_or_default()
            }
        })*
    };
}

unsigned!(u8 u16 u32 u64 usize);

impl<T: Cell> Cell for Option<T> {
    fn take(cells: &mut Cells) -> Self {
        (!cells.is_null()).then(|| T::take(cells))
    }
}

impl<T: Cell> Cell for Vec<T> {
    fn take(cells: &mut Cells) -> Self {
        let mut of = cells.open();
        let mut items = Self::with_capacity(of.cells.len());
        while of.cells.len() > 0 {
            items.push(T::take(&mut of));
        }
        cells.close(of);
        items
    }
}

macro_rules! columns {
    ($first:ident $($rest:ident)*) => {
        impl<$first: Cell, $($rest: Cell),*> Cell for ($first, $($rest,)*) {
            fn take(cells: &mut Cells) -> Self {
                let mut of = cells.open();
                let columns = ($first::take(&mut of), $($rest::take(&mut of),)*);
                cells.close(of);
                columns
            }
        }
        columns!($($rest)*);
    };
    () => {};
}

columns!(A B C D E F G H I J K L M N O P);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_its_columns() {
        type Row = (
            String,
            Option<u8>,
            Vec<(String, i64)>,
            Option<(u64, Millis)>,
            Value,
        );
        let row = r#"["a", null, [["b", -1], ["c", 2]], [3, 4], {"d": 1.5}]"#;
        let read: Row = decode(row).unwrap();
        let value = serde_json::json!({"d": 1.5});
        let pairs = vec![("b".to_owned(), -1), ("c".to_owned(), 2)];
        assert_eq!(read, ("a".to_owned(), None, pairs, Some((3, Millis(4))), value));
    }

    #[test]
    fn a_row_with_other_columns_is_refused() {
        type Row = (u8, Option<String>);
        for row in [
            "[1]",
            "[1, null, 2]",
            "[256, null]",
            "[-1, null]",
            "[1.5, null]",
            "[1, 2]",
            "[null, null]",
            "{}",
            "null",
            "[1, \"a\"",
        ] {
            assert!(decode::<Row>(row).is_err(), "{row}");
        }
        assert_eq!(
            try_decode::<Row>("[255, \"a\"]"),
            Some((255, Some("a".to_owned())))
        );
        assert_eq!(try_decode::<Option<Row>>("null"), Some(None));
    }
}

//! Names, counters and times as types, so that one cannot be taken for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Most bytes of a machine id, a region id, a state name or an event type.
pub const MAX_NAME_BYTES: usize = 128;
/// Most bytes of an entity id that a caller gives.
pub const MAX_ENTITY_ID_BYTES: usize = 256;
/// What stands in a child's id between its parent's and the compound state (S2.207).
pub const CHILD_MARK: &str = "::sub::";
/// Most bytes of a child's id that a caller names: that of eight levels below the longest, each in the longest state.
pub const MAX_CHILD_ID_BYTES: usize = 2048;
/// Timestamps given by callers stay within ±2^53, so that every host can carry them as a number (R14).
pub const MAX_TIMESTAMP: i64 = 1 << 53;

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("it is empty")]
    Empty,
    /// The text has more bytes than the bound.
    #[error("it has {bytes} bytes; at most {most} are allowed")]
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// The text holds a control character.
    #[error("it holds a control character")]
    Control,
    /// The text is `.` or `..`, which no path of a URL can name: not even percent-encoded.
    #[error("it is `{0}`, which no path of a URL can name")]
    Dots(&'static str),
}

/// Checks a name: 1 to `most` bytes, any text without control characters.
///
/// # Errors
/// Says which of the three rules the text breaks.
pub fn check_name(text: &str, most: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > most {
        return Err(NameError::TooLong {
            bytes: text.len(),
            most,
        });
    }
    if text.chars().any(char::is_control) {
        return Err(NameError::Control);
    }
    Ok(())
}

/// Checks an id that paths name: as [`check_name`], and neither `.` nor `..`. URLs resolve these before anyone can
/// decode them, so what is made under such an id could be neither read nor deleted.
///
/// # Errors
/// Says which of the rules the text breaks.
pub fn check_id(text: &str, most: usize) -> Result<(), NameError> {
    check_name(text, most)?;
    match text {
        "." => Err(NameError::Dots(".")),
        ".." => Err(NameError::Dots("..")),
        _ => Ok(()),
    }
}

/// Why a text is not a secret's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or a digit")]
pub struct SecretNameError;

/// Checks the name of a secret: what paths and logs show as it is.
///
/// # Errors
/// It is none.
pub fn check_secret_name(text: &str) -> Result<(), SecretNameError> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let starts = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    if starts && text.len() <= 64 && text.bytes().all(inner) {
        return Ok(());
    }
    Err(SecretNameError)
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $most:expr, $check:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text and takes it as it is, byte for byte.
            ///
            /// # Errors
            /// The text is none, as [`NameError`] says.
            pub fn new(text: &str) -> Result<Self, NameError> {
                $check(text, $most)?;
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, shared.
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A tenant: the namespace in which machines and entities live (S2.17, S2.20).
    TenantId,
    MAX_NAME_BYTES,
    check_name
);
name!(
    /// A machine within a tenant (S2.23).
    MachineId,
    MAX_NAME_BYTES,
    check_id
);
name!(
    /// An entity within a machine (S2.23).
    EntityId,
    MAX_ENTITY_ID_BYTES,
    check_id
);

impl EntityId {
    /// The id of a compound state's child (S2.157, S2.207); of a later generation, where `seq` is given (M9). It may be
    /// longer than an id that a caller gives.
    #[must_use]
    pub fn of_child(&self, state: &str, seq: Option<Seq>) -> Self {
        let mut id = format!("{}{CHILD_MARK}{state}", self.0);
        if let Some(seq) = seq {
            id.push_str("::");
            id.push_str(&seq.to_string());
        }
        Self(id.into())
    }

    /// An id that may be a child's.
    ///
    /// # Errors
    /// The text is none, as [`NameError`] says.
    pub fn named(text: &str) -> Result<Self, NameError> {
        check_id(text, MAX_CHILD_ID_BYTES)?;
        Ok(Self(text.into()))
    }

    /// Whether a caller may make an entity of this id.
    ///
    /// # Errors
    /// It is longer than that.
    pub fn check_given(&self) -> Result<(), NameError> {
        check_id(&self.0, MAX_ENTITY_ID_BYTES)
    }
}

/// A point in time: milliseconds since the epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// This time and a delay after it. A sum past the end of time stays there.
    #[must_use]
    pub fn after(self, delay: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(delay).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter!(
    /// The counter of an entity's entry instances, from 1 (R1, I4).
    Seq
);
counter!(
    /// How many commits wrote an entity, its creation included (S2.31, I2).
    Version
);
counter!(
    /// The number of an immutable definition of a machine, from 1.
    Revision
);

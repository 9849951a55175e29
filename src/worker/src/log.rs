//! Structured logs: one JSON object a line, down to `LOG_LEVEL`.

use serde_json::{Map, Value};
use worker::{console_error, console_log, console_warn};

/// How grave an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Level {
    /// Something failed that should not.
    Error,
    /// Something that an operator should look at.
    Warn,
    /// What the service does on its own.
    #[default]
    Info,
    /// Every request.
    Debug,
}

impl Level {
    /// The level of that name.
    pub(crate) fn read(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "error" => Some(Self::Error),
            "warn" | "warning" => Some(Self::Warn),
            "info" => Some(Self::Info),
            "debug" | "trace" => Some(Self::Debug),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// One entry of the log.
#[derive(Debug)]
pub(crate) struct Entry {
    level: Level,
    fields: Map<String, Value>,
}

impl Entry {
    /// An entry that says `message`.
    pub(crate) fn new(level: Level, message: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("level".to_owned(), Value::from(level.name()));
        fields.insert("message".to_owned(), Value::from(message));
        Self { level, fields }
    }

    /// Adds a field.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Writes the entry unless it is finer than `limit`.
    pub(crate) fn write(self, limit: Level) {
        if self.level > limit {
            return;
        }
        let line = Value::Object(self.fields).to_string();
        match self.level {
            Level::Error => console_error!("{line}"),
            Level::Warn => console_warn!("{line}"),
            Level::Info | Level::Debug => console_log!("{line}"),
        }
    }
}

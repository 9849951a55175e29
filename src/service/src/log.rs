//! Structured logs: one JSON object a line, down to `LOG_LEVEL`.

use js_sys::Function;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(line: &str);
    #[wasm_bindgen(js_namespace = console, js_name = warn)]
    fn console_warn(line: &str);
    #[wasm_bindgen(js_namespace = console, js_name = log)]
    fn console_log(line: &str);
}

/// How grave an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
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
    pub fn read(name: &str) -> Option<Self> {
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

/// Where entries go, and which do.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The finest that is written.
    limit: Level,
    /// Takes the name of the level and the line; the console does where there is none.
    sink: Option<Function>,
}

impl Log {
    /// A log down to `limit`.
    pub fn new(limit: Level, sink: Option<Function>) -> Self {
        Self { limit, sink }
    }

    /// Whether it takes entries of a level.
    pub fn takes(&self, level: Level) -> bool {
        level <= self.limit
    }
}

/// One entry of the log.
#[derive(Debug)]
pub struct Entry {
    level: Level,
    fields: Map<String, Value>,
}

impl Entry {
    /// An entry that says `message`.
    pub fn new(level: Level, message: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("level".to_owned(), Value::from(level.name()));
        fields.insert("message".to_owned(), Value::from(message));
        Self { level, fields }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Writes the entry unless it is finer than what the log takes.
    pub fn write(self, log: &Log) {
        if !log.takes(self.level) {
            return;
        }
        let line = Value::Object(self.fields).to_string();
        if let Some(sink) = &log.sink {
            // What a sink throws is its own affair: nothing that is logged may fail for it.
            let _ = sink.call2(&JsValue::UNDEFINED, &self.level.name().into(), &line.into());
            return;
        }
        match self.level {
            Level::Error => console_error(&line),
            Level::Warn => console_warn(&line),
            Level::Info | Level::Debug => console_log(&line),
        }
    }
}

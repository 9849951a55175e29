//! What the operator set: variables and secrets.

use std::sync::Arc;

use js_sys::{Function, Reflect};
use statewright_engine::settings::Settings as EngineSettings;
use wasm_bindgen::JsValue;

use crate::{
    cors::Origins,
    log::{Entry, Level, Log},
    vault::SubtleVault,
};

/// The settings of a deployment. They are the same for every request, and read once.
#[derive(Debug)]
pub struct Settings {
    /// Whether `ENVIRONMENT` is `development`: no key may be needed, and the service migrates the database itself.
    pub(crate) development: bool,
    /// `API_KEY`; an empty one is none.
    pub(crate) api_key: Option<String>,
    /// `TIMEOUT_INTERVAL_SECS`: the pause between two passes of the scanner, 1 to 60 seconds.
    pub scan_interval_ms: u64,
    /// `CORS_ORIGINS`.
    pub(crate) origins: Origins,
    /// What the engine and the vault go by; or what is wrong with it (S0.65).
    pub service: Result<ServiceSettings, Vec<String>>,
}

/// What the engine and the vault go by.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// How effects are delivered, and what the ways in accept.
    pub engine: Arc<EngineSettings>,
    /// `SECRETS_KEY`.
    pub vault: SubtleVault,
}

/// A period where none can be read.
const MINUTE_MS: u64 = 60_000;

impl Settings {
    /// `STATE_PERIOD`: the pause between two looks at the outbox.
    pub fn period_ms(&self) -> u64 {
        self.service
            .as_ref()
            .map_or(MINUTE_MS, |service| service.engine.period_ms)
    }

    /// Reads the properties of `env` that are texts; and the log that goes with them, which is told what is wrong.
    pub(crate) fn read(env: &JsValue, sink: Option<Function>) -> (Self, Log) {
        let text = |name: &str| variable(env, name).filter(|value| !value.is_empty());
        let level = text("LOG_LEVEL");
        let log = Log::new(level.as_deref().and_then(Level::read).unwrap_or_default(), sink);
        let settings = Self {
            development: text("ENVIRONMENT").is_some_and(|name| name == "development"),
            api_key: text("API_KEY"),
            scan_interval_ms: interval(text("TIMEOUT_INTERVAL_SECS").as_deref()),
            origins: Origins::read(text("CORS_ORIGINS").as_deref().unwrap_or_default()),
            service: service(text),
        };
        if let Some(unknown) = level.filter(|name| Level::read(name).is_none()) {
            let message =
                format!("LOG_LEVEL is `{unknown}`; error, warn, info or debug is needed, so it is info");
            Entry::new(Level::Warn, &message).write(&log);
        }
        if let Err(faults) = &settings.service {
            Entry::new(Level::Error, "settings")
                .with("faults", faults.clone())
                .write(&log);
        }
        (settings, log)
    }
}

/// Reads what the engine and the vault go by, and tells every fault at once.
fn service(text: impl Fn(&str) -> Option<String>) -> Result<ServiceSettings, Vec<String>> {
    let vault = SubtleVault::read(text("SECRETS_KEY").as_deref());
    match (EngineSettings::read(text), vault) {
        (Ok(engine), Ok(vault)) => Ok(ServiceSettings {
            engine: Arc::new(engine),
            vault,
        }),
        (engine, vault) => {
            let mut faults = engine.err().unwrap_or_default();
            faults.extend(vault.err());
            Err(faults)
        }
    }
}

/// A variable or secret that is text. The binding's own wrapper insists on a class; a plain read does not.
fn variable(env: &JsValue, name: &str) -> Option<String> {
    Reflect::get(env, &JsValue::from_str(name)).ok()?.as_string()
}

/// The seed's setting: seconds, and 10 where it cannot be read.
fn interval(text: Option<&str>) -> u64 {
    let seconds = text
        .and_then(|text| text.parse::<u64>().ok())
        .filter(|seconds| (1..=60).contains(seconds));
    seconds.unwrap_or(10).saturating_mul(1000)
}

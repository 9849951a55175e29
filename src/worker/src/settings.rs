//! What the operator set: variables and secrets of the Worker.

use std::{cell::RefCell, rc::Rc};

use js_sys::Reflect;
use wasm_bindgen::JsValue;
use worker::Env;

use crate::{cors::Origins, log::Level};

/// The settings of a deployment. They are the same for every request of an isolate, and read once.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Whether `ENVIRONMENT` is `development`: no key may be needed, and the Worker migrates the database itself.
    pub(crate) development: bool,
    /// `API_KEY`; an empty one is none.
    pub(crate) api_key: Option<String>,
    /// `TIMEOUT_INTERVAL_SECS`: the pause between two passes of the scanner, 1 to 60 seconds.
    pub(crate) scan_interval_ms: u64,
    /// `CORS_ORIGINS`.
    pub(crate) origins: Origins,
    /// `LOG_LEVEL`.
    pub(crate) level: Level,
}

thread_local! {
    static SETTINGS: RefCell<Option<Rc<Settings>>> = const { RefCell::new(None) };
}

impl Settings {
    /// The settings of this isolate.
    pub(crate) fn of(env: &Env) -> Rc<Self> {
        SETTINGS.with(|slot| Rc::clone(slot.borrow_mut().get_or_insert_with(|| Rc::new(Self::read(env)))))
    }

    fn read(env: &Env) -> Self {
        let text = |name: &str| variable(env, name).filter(|value| !value.is_empty());
        let level = text("LOG_LEVEL");
        let settings = Self {
            development: text("ENVIRONMENT").is_some_and(|name| name == "development"),
            api_key: text("API_KEY"),
            scan_interval_ms: interval(text("TIMEOUT_INTERVAL_SECS").as_deref()),
            origins: Origins::read(text("CORS_ORIGINS").as_deref().unwrap_or_default()),
            level: level.as_deref().and_then(Level::read).unwrap_or_default(),
        };
        if let Some(unknown) = level.filter(|name| Level::read(name).is_none()) {
            let message =
                format!("LOG_LEVEL is `{unknown}`; error, warn, info or debug is needed, so it is info");
            crate::log::Entry::new(Level::Warn, &message).write(settings.level);
        }
        settings
    }
}

/// A variable or secret that is text. The binding's own wrapper insists on a class; a plain read does not.
fn variable(env: &Env, name: &str) -> Option<String> {
    Reflect::get(env, &JsValue::from_str(name)).ok()?.as_string()
}

/// The seed's setting: seconds, and 10 where it cannot be read.
fn interval(text: Option<&str>) -> u64 {
    let seconds = text
        .and_then(|text| text.parse::<u64>().ok())
        .filter(|seconds| (1..=60).contains(seconds));
    seconds.unwrap_or(10).saturating_mul(1000)
}

//! Reading JSON with a path at hand, so that every fault of a document is found in one pass.

use serde_json::{Map, Value};

use crate::fault::{Fault, Warning, WarningKind};
use crate::ids::{NameError, check_id, check_name};

/// Most faults, and most warnings, that are listed: more would bury the first, and swell the answer past its request.
pub(crate) const MOST_LISTED: usize = 200;
/// How many faults get a search for the name that may be meant, which is the slow part of a fault.
const MOST_SEARCHED: usize = 32;
/// How many names such a search looks at.
const MOST_COMPARED: usize = 200;
/// How many names a message lists.
const MOST_NAMES: usize = 16;

/// Where in the document a reader stands.
#[derive(Debug, Clone)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn root() -> Self {
        Self("$".to_owned())
    }

    /// The path of a key of this object: `.key`, or `["key"]` where the key is no plain word.
    pub(crate) fn key(&self, key: &str) -> Self {
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && key.chars().next().is_some_and(|c| !c.is_ascii_digit());
        if plain {
            Self(format!("{}.{key}", self.0))
        } else {
            Self(format!("{}[{}]", self.0, Value::from(key)))
        }
    }

    /// The path of an item of this array.
    pub(crate) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Collects what is wrong while a document is read.
#[derive(Debug)]
pub(crate) struct Findings {
    faults: Vec<Fault>,
    /// How many faults are not listed.
    unlisted: usize,
    pub(crate) warnings: Vec<Warning>,
    /// Unknown keys are faults, and so is all else that `statewright.v1` alone refuses.
    pub(crate) strict: bool,
}

impl Findings {
    pub(crate) fn new() -> Self {
        Self {
            faults: Vec::new(),
            unlisted: 0,
            warnings: Vec::new(),
            strict: true,
        }
    }

    /// The faults, or the warnings where there is no fault.
    pub(crate) fn done(mut self) -> Result<Vec<Warning>, Vec<Fault>> {
        if self.unlisted > 0 {
            self.faults.push(Fault {
                path: Path::root().text().to_owned(),
                problem: format!("{} more faults are not listed", self.unlisted),
                expected: "the listed ones mended first".to_owned(),
            });
        }
        if self.faults.is_empty() {
            Ok(self.warnings)
        } else {
            Err(self.faults)
        }
    }

    pub(crate) fn fault(&mut self, path: &Path, problem: impl Into<String>, expected: impl Into<String>) {
        if self.faults.len() >= MOST_LISTED {
            self.unlisted = self.unlisted.saturating_add(1);
            return;
        }
        self.faults.push(Fault {
            path: path.text().to_owned(),
            problem: problem.into(),
            expected: expected.into(),
        });
    }

    /// Whether something is told of a place already: what cannot be read is not missing too.
    pub(crate) fn told(&self, path: &Path) -> bool {
        self.faults.iter().any(|fault| fault.path == path.text())
    }

    pub(crate) fn warn(&mut self, kind: WarningKind, path: &Path, message: impl Into<String>) {
        if self.warnings.len() >= MOST_LISTED {
            return;
        }
        self.warnings.push(Warning {
            kind,
            path: path.text().to_owned(),
            message: message.into(),
        });
    }

    /// The object at a place.
    pub(crate) fn object<'a>(&mut self, path: &Path, value: &'a Value) -> Option<&'a Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.fault(path, format!("it is {}", kind_of(value)), "an object");
        }
        object
    }

    /// The items of a required or optional array under a key; null counts as left out.
    pub(crate) fn items<'a>(
        &mut self,
        path: &Path,
        object: &'a Map<String, Value>,
        key: &str,
        required: bool,
    ) -> Option<&'a Vec<Value>> {
        match object.get(key) {
            None | Some(Value::Null) => {
                if required {
                    self.fault(&path.key(key), "it is missing", "an array");
                }
                None
            }
            Some(Value::Array(items)) => Some(items),
            Some(other) => {
                self.fault(&path.key(key), format!("it is {}", kind_of(other)), "an array");
                None
            }
        }
    }

    /// A required text under a key.
    pub(crate) fn text(&mut self, path: &Path, object: &Map<String, Value>, key: &str) -> Option<String> {
        if object.get(key).is_none_or(Value::is_null) {
            self.fault(&path.key(key), "it is missing", "a string");
            return None;
        }
        self.optional_filled_text(path, object, key)
    }

    /// An optional text under a key that is not empty where it is there; null counts as left out.
    pub(crate) fn optional_filled_text(
        &mut self,
        path: &Path,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<String> {
        let text = self.optional_text(path, object, key)?;
        self.filled(&path.key(key), &text).then_some(text)
    }

    /// Whether a text is not empty; says so if it is.
    pub(crate) fn filled(&mut self, path: &Path, text: &str) -> bool {
        if text.is_empty() {
            self.fault(path, "it is empty", "a string that is not empty");
        }
        !text.is_empty()
    }

    /// An optional text under a key; null counts as left out.
    pub(crate) fn optional_text(
        &mut self,
        path: &Path,
        object: &Map<String, Value>,
        key: &str,
    ) -> Option<String> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.fault(&path.key(key), format!("it is {}", kind_of(other)), "a string");
                None
            }
        }
    }

    /// A required name under a key: a text within the bounds of names.
    pub(crate) fn name(&mut self, path: &Path, object: &Map<String, Value>, key: &str) -> Option<String> {
        let text = self.text(path, object, key)?;
        self.check_name(&path.key(key), &text);
        Some(text)
    }

    /// A required id of a machine under a key.
    pub(crate) fn id(&mut self, path: &Path, object: &Map<String, Value>, key: &str) -> Option<String> {
        let text = self.text(path, object, key)?;
        self.checked(&path.key(key), &text, check_id(&text, crate::ids::MAX_NAME_BYTES));
        Some(text)
    }

    pub(crate) fn check_name(&mut self, path: &Path, text: &str) {
        self.checked(path, text, check_name(text, crate::ids::MAX_NAME_BYTES));
    }

    fn checked(&mut self, path: &Path, text: &str, checked: Result<(), NameError>) {
        if let Err(error) = checked {
            self.fault(
                path,
                format!("`{}` is no name: {error}", shortened(text)),
                "1 to 128 bytes without control characters",
            );
        }
    }

    /// What would be right in place of a name that is not known: one of those that are, and the one that may be meant.
    pub(crate) fn one_of<'a, I>(&self, text: &str, known: I) -> String
    where
        I: IntoIterator<Item = &'a str>,
        I::IntoIter: Clone,
    {
        let known = known.into_iter();
        let all = list(known.clone());
        let searched = self.faults.len() < MOST_SEARCHED;
        let near = if searched { nearest(text, known) } else { None };
        match near {
            Some(near) => format!("one of {all} (did you mean `{}`?)", shortened(near)),
            None => format!("one of {all}"),
        }
    }

    /// The keys of an object that have no meaning: faults where strict, kept with a warning otherwise.
    pub(crate) fn unknown_keys(
        &mut self,
        path: &Path,
        object: &Map<String, Value>,
        known: &[&str],
    ) -> Map<String, Value> {
        let mut extra = Map::new();
        for (key, value) in object {
            if known.contains(&key.as_str()) {
                continue;
            }
            if self.strict {
                let hint = self.one_of(key, known.iter().copied());
                self.fault(
                    &path.key(key),
                    format!("`{}` is no key here", shortened(key)),
                    hint,
                );
            } else {
                self.warn(
                    WarningKind::IgnoredKey,
                    &path.key(key),
                    "the key has no meaning here and is ignored",
                );
                extra.insert(key.clone(), value.clone());
            }
        }
        extra
    }
}

/// What sort of JSON value it is, for a message.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A user's text, cut for a message.
pub(crate) fn shortened(text: &str) -> String {
    if text.chars().count() <= 80 {
        return text.to_owned();
    }
    text.chars().take(77).chain("...".chars()).collect()
}

/// The known name nearest to a misspelt one, where it is near enough to be meant.
fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > crate::ids::MAX_NAME_BYTES {
        return None;
    }
    known
        .take(MOST_COMPARED)
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Names for a message: the first few, quoted.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names;
    let first: Vec<String> = names
        .by_ref()
        .take(MOST_NAMES)
        .map(|name| format!("`{}`", shortened(name)))
        .collect();
    let first = first.join(", ");
    match names.count() {
        0 => first,
        rest => format!("{first}, ... ({} in all)", rest.saturating_add(MOST_NAMES)),
    }
}

//! What an action does, as a definition writes it (S2.110 to S2.126).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Definition;
use super::shape::{MOST_LISTED, Path};
use crate::address::{AllowList, check};
use crate::fault::Fault;

/// Most headers of a webhook.
pub const MAX_HEADERS: usize = 32;
/// Most bytes of a webhook's headers: names, texts, and the names of secrets.
pub const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Most bytes of a template's JSON text.
pub const MAX_TEMPLATE_BYTES: usize = 16 * 1024;

/// What an action does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Action {
    /// An HTTP request to an address.
    Webhook {
        /// The address.
        url: String,
        /// The method; `POST` when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<Method>,
        /// Names and values of headers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(transform = crate::schema::headers))]
        headers: Option<BTreeMap<String, HeaderValue>>,
        /// The template of the body. Without it, the entity and the states that it left and entered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Value>,
        /// Whether it is signed, where the tenant has a secret for that; true when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed: Option<bool>,
        /// Keys without a meaning, kept as they came.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        extra: Map<String, Value>,
    },
    /// An event to the operator's event collector.
    Event {
        /// Its type.
        event_type: String,
        /// Keys without a meaning, kept as they came.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        extra: Map<String, Value>,
    },
    /// An event to an entity of another machine of the same tenant.
    Transition {
        /// The machine.
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
        machine_id: String,
        /// The entity, as a text with places such as `{/context/order}`.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        entity_id: String,
        /// The event's type.
        #[cfg_attr(feature = "schema", schemars(length(max = 128), regex(pattern = "^[^$]")))]
        event_type: String,
        /// The template of the event's params; none when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
        params: Option<Value>,
        /// Whether the entity is made where it does not exist; true when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        create: Option<bool>,
        /// Keys without a meaning, kept as they came.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        extra: Map<String, Value>,
    },
}

/// The method of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Without a body.
    Get,
    /// What a webhook is sent with, where nothing else is said.
    #[default]
    Post,
    /// With a body.
    Put,
    /// With a body.
    Patch,
    /// With a body only where its template is given.
    Delete,
}

/// The value of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum HeaderValue {
    /// A text.
    Text(String),
    /// A secret of the tenant, put in when it is sent.
    Secret {
        /// Its name.
        #[cfg_attr(
            feature = "schema",
            schemars(regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))
        )]
        secret: String,
        /// What stands before it, such as `Bearer ` with its space.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
}

impl Default for Action {
    fn default() -> Self {
        Self::Event {
            event_type: String::new(),
            extra: Map::new(),
        }
    }
}

impl Action {
    /// The names of all types.
    pub const TYPES: [&'static str; 3] = ["webhook", "event", "transition"];

    /// About how many bytes it takes where an answer or a history row lists it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Webhook { url: text, .. } | Self::Event { event_type: text, .. } => text.len(),
            Self::Transition {
                machine_id,
                entity_id,
                event_type,
                ..
            } => {
                let target = machine_id.len().saturating_add(entity_id.len());
                target.saturating_add(event_type.len())
            }
        }
    }
}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&'static str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

    /// The method of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it has a body where no template is given.
    pub(crate) fn has_default_body(self) -> bool {
        !matches!(self, Self::Get | Self::Delete)
    }
}

impl Definition {
    /// Every action with its path: those of states in their order, then those of joins, which only a parallel machine
    /// has.
    pub(crate) fn all_actions(&self) -> impl Iterator<Item = (Path, &Action)> {
        let states = self.actions.iter().flatten().enumerate().map(|(index, def)| {
            let path = Path::root().key("actions").item(index).key("action");
            (path, &def.action)
        });
        let joins = self
            .joins
            .iter()
            .flatten()
            .filter(|_| self.is_parallel())
            .enumerate();
        let joins = joins.flat_map(|(place, join)| {
            let actions = join.actions.iter().flatten().enumerate();
            actions.map(move |(index, action)| {
                let path = Path::root().key("joins").item(place).key("actions").item(index);
                match action {
                    super::JoinAction::Bare(action) => (path, action),
                    super::JoinAction::Entered(def) => (path.key("action"), &def.action),
                }
            })
        });
        states.chain(joins)
    }

    /// The addresses of its webhooks, each with the JSON path at which it stands.
    pub fn addresses(&self) -> impl Iterator<Item = (String, &str)> {
        self.all_actions().filter_map(|(path, action)| match action {
            Action::Webhook { url, .. } => Some((path.key("url").text().to_owned(), url.as_str())),
            Action::Event { .. } | Action::Transition { .. } => None,
        })
    }

    /// What is wrong with the addresses of its webhooks, for a service that sends to the public network and to what its
    /// operator allows. Reading a definition does not look at that: what is allowed may change.
    pub fn address_faults(&self, allow: &AllowList) -> Vec<Fault> {
        let faults = self.addresses().filter_map(|(path, url)| {
            let fault = check(url, allow).err()?;
            Some(Fault {
                path,
                problem: fault.problem,
                expected: fault.expected,
            })
        });
        faults.take(MOST_LISTED).collect()
    }
}

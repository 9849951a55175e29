//! The identity of what happened: the key under which a history row can exist once (S2.136 to S2.150).

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::ids::{Seq, Version};

/// An identity key. Its text is compact JSON, such as `["evt","pay",1700000000000]` (S2.150).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityKey {
    /// An event from outside (S2.146).
    Event {
        /// Its type.
        event_type: Arc<str>,
        /// Its timestamp.
        timestamp: i64,
        /// Where the caller gave no timestamp: the version that its commit makes, so that the key is unique (R14).
        version: Option<Version>,
        /// The region, on the later rows of a broadcast (R1).
        region: Option<Arc<str>>,
    },
    /// A timeout of an entry instance (S2.147).
    Timeout {
        /// The region.
        region: Arc<str>,
        /// The entry instance that timed out.
        seq: Seq,
    },
    /// A join (S2.149, R1).
    Join {
        /// The target region.
        region: Arc<str>,
        /// The first entry instance that the step's own transition set.
        n: Seq,
        /// Which join of the cascade it is, from 0.
        index: u32,
    },
    /// The completion of a child, at its parent (S2.148).
    Sub {
        /// The region of the compound state.
        region: Arc<str>,
        /// The compound state.
        state: Arc<str>,
        /// The entry instance that the child belonged to.
        seq: Seq,
    },
    /// The cancel of a child (R11): what the child belonged to.
    Cancel {
        /// The region of the compound state.
        region: Arc<str>,
        /// The compound state.
        state: Arc<str>,
        /// The entry instance that the child belonged to.
        seq: Seq,
    },
    /// A region of a child that woke (R9b).
    Resume {
        /// The child's region.
        region: Arc<str>,
        /// The state in which it woke.
        state: Arc<str>,
        /// The new entry instance.
        seq: Seq,
    },
    /// A key as it was stored.
    Stored(Arc<str>),
}

impl fmt::Display for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event {
                event_type,
                timestamp,
                version,
                region,
            } => {
                write!(f, "[\"evt\",{},{timestamp}", Quoted(event_type))?;
                if let Some(version) = version {
                    write!(f, ",{version}")?;
                }
                if let Some(region) = region {
                    write!(f, ",{}", Quoted(region))?;
                }
                f.write_str("]")
            }
            Self::Timeout { region, seq } => write!(f, "[\"timeout\",{},{seq}]", Quoted(region)),
            Self::Join { region, n, index } => write!(f, "[\"join\",{},{n},{index}]", Quoted(region)),
            Self::Sub { region, state, seq } => of_entry(f, "sub", region, state, *seq),
            Self::Cancel { region, state, seq } => of_entry(f, "cancel", region, state, *seq),
            Self::Resume { region, state, seq } => of_entry(f, "resume", region, state, *seq),
            Self::Stored(text) => f.write_str(text),
        }
    }
}

fn of_entry(f: &mut fmt::Formatter<'_>, kind: &str, region: &str, state: &str, seq: Seq) -> fmt::Result {
    write!(f, "[\"{kind}\",{},{},{seq}]", Quoted(region), Quoted(state))
}

impl Serialize for IdentityKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text as a JSON string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A string always has a JSON form; an empty one would only make the key odd, never wrong data.
        f.write_str(&serde_json::to_string(self.0).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_146_to_150_keys_are_compact_json() {
        let event = |event_type: &str, version, region: Option<&str>| IdentityKey::Event {
            event_type: event_type.into(),
            timestamp: 9002,
            version,
            region: region.map(Into::into),
        };
        assert_eq!(event("pay", None, None).to_string(), r#"["evt","pay",9002]"#);
        assert_eq!(
            event("a\"b", Some(Version(4)), None).to_string(),
            r#"["evt","a\"b",9002,4]"#
        );
        assert_eq!(
            event("pay", None, Some("r")).to_string(),
            r#"["evt","pay",9002,"r"]"#
        );
        assert_eq!(
            IdentityKey::Timeout {
                region: "_".into(),
                seq: Seq(3)
            }
            .to_string(),
            r#"["timeout","_",3]"#
        );
        assert_eq!(
            IdentityKey::Join {
                region: "fulfillment".into(),
                n: Seq(4),
                index: 0
            }
            .to_string(),
            r#"["join","fulfillment",4,0]"#
        );
        assert_eq!(
            IdentityKey::Sub {
                region: "b1".into(),
                state: "ret".into(),
                seq: Seq(2)
            }
            .to_string(),
            r#"["sub","b1","ret",2]"#
        );
    }
}

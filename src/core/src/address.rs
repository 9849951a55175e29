//! Addresses that effects may be sent to (design 4). Filled in by its owner; this much is what settings need.

/// Hosts that an operator allows whatever their address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList(Vec<String>);

impl AllowList {
    /// Reads the setting: hosts separated by commas.
    pub fn read(text: &str) -> Self {
        Self(text.split(',').map(|host| host.trim().to_owned()).collect())
    }
}

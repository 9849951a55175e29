//! Request bodies: what the core reads of them, and the tenant that they are of.

use serde_json::Value;
use statewright_core::ids::{MAX_NAME_BYTES, TenantId};
pub use statewright_core::request::{
    CreateEntity, EventRequest, Fields, MAX_BATCH_EVENTS, MAX_BODY_BYTES, MAX_CONTEXT_BYTES,
    MAX_PARAMS_BYTES, MAX_WRITTEN_BYTES, TargetPath, check_given, diagram_format, document, entity_id,
    json_bytes, machine_id, name_error, object,
};

use crate::error::Error;

/// A tenant from a header or a param (S2.17).
///
/// # Errors
/// The text is no tenant id.
pub fn tenant_id(path: &str, text: &str) -> Result<TenantId, Error> {
    TenantId::new(text).map_err(|error| name_error(path, "tenant id", &error, MAX_NAME_BYTES).into())
}

/// The tenant that a caller did not name (S2.17).
pub fn missing_tenant() -> Error {
    Error::invalid("X-Tenant-Id", "the header is missing", "the tenant to work in")
}

/// The tenant of a request that may leave it to `params.key_prefix` (S2.18, S2.19).
pub(crate) fn tenant(header: Option<&TenantId>, fields: Fields<'_>) -> Result<TenantId, Error> {
    if let Some(tenant) = header {
        return Ok(tenant.clone());
    }
    match fields.map("params")?.and_then(|params| params.get("key_prefix")) {
        Some(Value::String(tenant)) => tenant_id(&format!("{}.params.key_prefix", fields.path), tenant),
        _ => Err(Error::invalid(
            "X-Tenant-Id",
            "the header is missing, and `params.key_prefix` is no string",
            "the tenant to work in",
        )),
    }
}

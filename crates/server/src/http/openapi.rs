//! The description of all routes.

/// In OpenAPI 3.1, as it is served.
pub const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

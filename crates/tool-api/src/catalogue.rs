//! The tools by which an agent finds others that stand in no list.

use crate::definition::{Definition, Origin};

/// Finds tools by words.
pub const TOOLS_SEARCH: &str = "tools_search";

/// Says what they take.
pub const TOOLS_DESCRIBE: &str = "tools_describe";

/// Calls one. The gate puts that one in its place.
pub const TOOLS_CALL: &str = "tools_call";

/// Whether it is one of them.
pub fn is_of_catalogue(definition: &Definition) -> bool {
    definition.origin == Origin::BuiltIn
        && [TOOLS_SEARCH, TOOLS_DESCRIBE, TOOLS_CALL].contains(&definition.name.as_str())
}

//! Which tools may do the same twice.

use tool_api::{Definition, Effect, Listing};

/// Whether a second identical call of a tool changes nothing more. What a server says of its own is not enough; that it only
/// reads is the owner's word or was accepted.
pub fn is_idempotent(definition: &Definition) -> bool {
    definition.effect == Effect::Reads
        || match &definition.listing {
            Listing::Ours(about) => about.idempotent,
            Listing::Declared(described) => described.idempotent,
            Listing::Relayed(_) => false,
        }
}

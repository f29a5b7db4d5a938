//! Which tools have dry runs.

use tool_api::{Definition, Effect, Need};

/// Whether dry runs of a tool are possible: of those that change files by themselves or by programs, which do not live
/// elsewhere.
pub fn has_dry_run(definition: &Definition) -> bool {
    let needs = definition.listing.needs();
    let writes = definition.effect == Effect::Writes && needs.is_empty();
    definition.upstream().is_none()
        && definition.effect > Effect::Reads
        // It begins something that goes on.
        && !needs.contains(&Need::Tasks)
        && (writes || needs.iter().any(|need| matches!(need, Need::Process)))
}

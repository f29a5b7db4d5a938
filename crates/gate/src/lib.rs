//! The one way to a tool.
//!
//! A call's life is [`Gate::call`]: the record is opened, the tool found, every check asked, the tool run
//! with a permit, its result cleaned, the record closed. Whoever wants to know what happens to a call reads
//! that function; whoever wants to know in which order the checks are made reads `checks.rs`.

pub mod approvals;
mod beside;
mod catalog;
mod checks;
mod entry;
mod failure;
mod gate;
mod key_ring;
mod offer;
mod pending;
mod redaction;
mod refusals;
mod result;
mod rounds;
mod ruleset;
mod run;
pub mod schema;
mod seal;
mod seen;
mod target;
mod tokens;

pub use approvals::Approvals;
pub use catalog::{BUILT_IN, Catalog};
pub use failure::{Awaited, Failure, Internal, Refusal};
pub use offer::{Collision, Offer, Offered, Shown, Source, Versions};
pub use policy::{Caller, CallerKind, Proof, Role, Roles, Scope, Scopes, Via};
pub use redact::Redactor;
pub use ruleset::Ruleset;
pub use telemetry::Telemetry;
// What a door says of calls and reads of outcomes; doors depend on the gate alone.
pub use checks::{
    LimitConfig, RateConfig, RateProblem, Rates, facts, missing_scopes, obeyed_files, obeyed_rule,
};
pub use gate::{Call, Gate, Parts};
pub use result::RESULT_BYTES_MAX;
pub use seal::{Binding, STATE_AGE_MAX, STATE_BYTES_MAX, Sealer, StateFault};
pub use target::Target;
pub use tokens::{Origin, Task, Tokens};
pub use tool_api::{
    Abilities, Action, Block, Cancel, Client, Definition, Effect, Event, Features, Hold, Input, Item,
    Listener, Listing, Outcome, Payload, Progress, Protocol, ToolError,
};

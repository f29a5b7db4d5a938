//! The one way to a tool.
//!
//! What happens to a call, step by step, stands in `gate/call.rs`.

mod admitted;
pub mod approvals;
mod call_span;
mod candidate;
mod catalog;
mod checks;
mod clock;
mod condition;
mod cut;
mod deadline;
mod dry_run;
mod failure;
mod find;
mod gate;
mod hands;
mod has_dry_run;
mod is_idempotent;
pub mod jobs;
mod kept_block;
mod kept_facts;
mod kept_name;
mod kept_outcome;
mod kept_result;
mod key_ring;
pub mod keys;
mod large;
mod late_record;
mod meta;
mod offer;
mod plan_fault;
pub mod pointer;
pub mod questions;
mod record_scope;
mod redaction;
mod refusal_facts;
mod refusal_limit;
mod reminders;
mod repeats;
mod request;
mod request_fault;
mod result;
mod result_limit;
mod round_trip;
mod ruleset;
mod run;
pub mod schema;
mod seal;
mod skill_sources;
mod states;
mod target;
mod text_block;
mod tokens;

pub use approvals::{Approvals, Forms};
pub use catalog::{BUILT_IN, Catalog, DECLARED};
pub use dry_run::Earnest;
pub use failure::{Awaited, Failure, Internal, Refusal, Ruling};
pub use offer::{ARTIFACTS, CALLBACKS, Collision, Offer, Offered, SKILLS, Shown, Source, TASKS, Versions};
pub use plan_fault::PlanFault;
pub use policy::{Caller, CallerKind, Proof, Role, Roles, Scope, Scopes, Via};
pub use redact::Redactor;
pub use ruleset::Ruleset;
pub use telemetry::Telemetry;
// What a transport says of calls and reads of outcomes; transports depend on the gate alone.
pub use checks::{
    LimitConfig, RateConfig, RateProblem, Rates, facts, missing_scopes, obeyed_files, obeyed_rule,
};
pub use condition::Condition;
pub use gate::{Gate, Parts};
pub use hands::{ProgramSettings, reached};
pub use has_dry_run::has_dry_run;
pub use is_idempotent::is_idempotent;
pub use meta::meta_keys;
pub use repeats::{ANSWER_BYTES_MAX, REMEMBERED_MS, REQUEST_ID_BYTES_MAX};
pub use request::{Call, HeaderCheck, OfJob};
pub use request_fault::RequestFault;
pub use result::RESULT_BYTES_MAX;
pub use result_limit::{NoLimit, ResultLimit, TOKEN_BYTES};
pub use seal::{Binding, STATE_AGE_MAX, STATE_BYTES_MAX, Sealer, StateFault};
pub use target::Target;
pub use tokens::{Origin, Task, Tokens};
pub use tool_api::{
    Abilities, Action, Artifact, ArtifactReader, BACKGROUND_READ, BASH, Block, Cancel, Client,
    DIRECTORY_READ, Definition, Effect, Event, Features, Hold, Input, Item, JOB_RESULT, JOB_WAIT, Listener,
    Listing, Outcome, Payload, Planned, Progress, Protocol, Sandboxed, Skills, ToolError, is_text,
    near_names,
};

//! The checks between a call and its tool: plain functions of what is known of the call, but for the last, which counts.
//! Their order is in `gate/call.rs`.

mod again;
mod messages;
mod obeyed;
mod policy_check;
mod rate;
mod result_rules;
mod rules_check;
mod schema_check;
mod scope;

pub(crate) use again::judge_again;
pub(crate) use messages::{findings, judge_news, listener, on_messages};
pub use obeyed::{obeyed_files, obeyed_rule};
pub use policy_check::facts;
pub(crate) use policy_check::policy;
pub use rate::{LimitConfig, RateConfig, RateProblem, Rates};
pub(crate) use rate::{NAME as RATE, Quotas, Rate};
pub(crate) use result_rules::{Findings, judge_result};
pub(crate) use rules_check::ai_rules;
pub(crate) use schema_check::{fits_schema, input_schema, meant};
pub use scope::missing_scopes;
pub(crate) use scope::{has_scopes, scope};

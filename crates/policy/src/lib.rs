//! Decides from facts: may this caller run this tool?
//!
//! Plain functions over plain values. This crate knows no tool and no wire: whoever asks describes the
//! call in [`Facts`] and acts on the [`Decision`]. It does no I/O and never waits, so a decision may be taken on the
//! thread that reads the request.

mod cache;
mod caller;
mod case;
mod condition;
mod config;
mod decide;
mod default_policy;
mod engine;
mod explain;
mod facts;
mod names;
mod near;
mod plan;
mod problem;
mod review;
mod role;
mod rule;
mod rule_config;
mod scope;
mod try_case;
mod words;

pub use caller::{Caller, CallerKind, Proof, Via};
pub use case::{Case, CaseCaller, CaseResult, Decided, Expected, Got};
pub use condition::Places;
pub use config::Config;
pub use decide::Policy;
pub use default_policy::Destructive;
pub use engine::{Covers, Decision, Engine, Obligations, Recorded, Verdict};
pub use explain::{Advice, Explanation, Finding, Looked};
pub use facts::{Effect, Facts, ToolOrigin};
pub use names::BUILT_IN;
pub use near::nearest;
pub use problem::{ConfigError, Problem};
pub use role::{Role, Roles};
pub use rule::scope_of;
pub use rule_config::RuleConfig;
pub use scope::{Scope, ScopeError, Scopes};
pub use words::{ActionWord, ApproverWord, RoleWord};

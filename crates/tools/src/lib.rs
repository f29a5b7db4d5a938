//! The built-in tools, one file each, grouped by noun. This file is the list of all of them.
//!
//! A tool knows only `tool_api`: it is handed what it may touch, and what may be called by whom is
//! decided elsewhere.

mod agent;
mod artifact;
mod catalogue;
mod job;
mod list;
mod offer;
mod plain_schema;
mod shell;
mod skill;
mod web;
mod worker_answer;
mod workspace;

pub use agent::resource::{callback_features, task_features};
pub use artifact::resource::features as artifact_features;
pub use list::all;
pub use offer::{Budgets, Config, Exposure, Set};
pub use shell::overwritten::each_a_line;
pub use skill::skill_tools;
pub use web::search::{
    Config as SearchConfig, Kind as SearchKind, ServiceConfig as SearchServiceConfig,
    Settings as SearchSettings, State as SearchState, Told as SearchTold, probe as probe_search,
};

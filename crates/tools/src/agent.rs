//! Tools for an agent's own work: what it has to do, what it plans.

pub(crate) mod callback;
pub(crate) mod callback_wait;
mod callbacks;
pub(crate) mod plan_mode;
pub(crate) mod question;
mod questions;
pub(crate) mod resource;
mod task_list;
pub(crate) mod tasks;

//! Jobs: calls that outlive their request. A call is kept as a value, judged when it is taken and again when it starts, and
//! run by [`crate::Gate::call`] like any other, so that rules, approvals and the audit log are the ordinary ones.

mod cancel;
mod change;
mod config;
mod control;
mod ended;
mod ends;
mod figures;
mod finish;
mod for_clients;
mod inlets;
mod keeper;
mod kept_call;
mod kept_result;
mod live;
mod look;
mod notices;
mod notify;
mod notify_check;
mod of_process;
mod recorder;
mod relay;
mod ring;
mod run;
mod said;
mod serving;
mod submit;
mod tasks;
mod unanswered;
mod vault;
mod watch;
mod watches;

pub use ::jobs::{
    Event as JobEvent, Job, JobId, Numbered, PRIORITY_MAX, Progress as JobProgress, RETRIES_MAX, State,
};
pub use cancel::Cancelled;
pub use config::Config;
pub use figures::JobFigures;
pub(crate) use for_clients::OfCaller;
pub use kept_result::StoredFailure;
pub use look::EventPage;
pub use notify::{Notify, NotifySecret};
pub use of_process::{Filter, JobPage, Jobs, Whose};
pub use serving::{Keep, Serving};
pub use submit::{Answered, Wants};
pub(crate) use tasks::OfTasks;
pub use watches::Watcher;

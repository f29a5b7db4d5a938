//! How many jobs there may be, and how much of each is kept.

use std::time::Duration;

/// Jobs of one caller that are under way, unless the configuration says otherwise.
pub const JOBS_PER_CALLER: usize = 100;

/// Jobs that are under way in all.
pub const JOBS_MAX: usize = 10_000;

/// Jobs that run at once in one process, unless the configuration says otherwise.
pub const RUNNING: usize = 16;

/// Jobs of one tool that run at once, unless the configuration says otherwise.
pub const RUNNING_PER_TOOL: usize = 4;

/// Background tasks of one caller in one workspace that run at once. Each is a few processes, and a model loses track of more.
pub const TASKS_MAX: usize = 32;

/// Events of one job. What comes beyond them is told in the job itself: its progress goes on, its output is counted. How it
/// ends, and what artifacts it makes, is told whatever there was before.
pub const EVENTS_MAX: u64 = 10_000;

/// Bytes of output in the events of one job, however often it begins.
pub const EVENTS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The longest piece of output of one event, in bytes.
pub const CHUNK_BYTES_MAX: usize = 16 * 1024;

/// Jobs of one caller that are over and still kept.
pub const KEPT_PER_CALLER: usize = 1_000;

/// Bytes of these.
pub const KEPT_BYTES_PER_CALLER: u64 = 256 * 1024 * 1024;

/// The longest result that is kept, in bytes.
pub const RESULT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a job is kept that is over, unless it says less.
pub const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest time that a job is kept that is over.
pub const KEEP_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long a job may be under way, whatever it waits for.
pub const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often whoever waits for a job does well to look.
pub const POLL_EVERY: Duration = Duration::from_secs(1);

/// The most urgent that a job can be; the least is its negative.
pub const PRIORITY_MAX: i8 = 10;

/// The longest status message, in characters.
pub const MESSAGE_CHARS_MAX: usize = 500;

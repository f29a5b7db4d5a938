//! Running an admitted call: its permit, its hands, its deadline, its cancellation, its panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use sandbox::{Access, Root};
use tokio::time::Instant;
use tool_api::{
    CallId, Cancel, Client, Context, Effect, Input, Listener, Outcome, Permit, Progress, ToolError, ToolName,
};

use crate::failure::{Failure, Internal};
use crate::offer::Offered;
use crate::pending::Pending;

/// A call that keeps reporting progress may go on beyond its timeout, but never longer than this.
const EXTENDED_MAX: Duration = Duration::from_secs(60 * 60);

/// The caller's side of a call that runs.
pub(crate) struct Waiting {
    /// What it said beside the arguments.
    pub(crate) meta: Option<Bytes>,
    /// Set when it gives up.
    pub(crate) cancel: Cancel,
    /// Who hears what the call has to tell.
    pub(crate) listener: Option<Arc<dyn Listener>>,
    /// What it can do.
    pub(crate) client: Client,
    /// What it sends in a further round.
    pub(crate) input: Option<Input>,
    /// What the source knows the thing acted on by.
    pub(crate) key: Option<Arc<str>>,
}

/// Runs the call and gives its tool back with the outcome.
pub(crate) async fn run(
    files: &Root,
    pending: Pending<'_>,
    waiting: Waiting,
) -> Result<(Outcome, Arc<Offered>), Failure> {
    let Pending { id, offered, arguments, .. } = pending;
    let Waiting { meta, cancel, listener, client, input, key } = waiting;
    let definition = offered.definition();
    let deadline = Deadline::new(definition.timeout, definition.progress_extends, listener);

    #[expect(
        clippy::disallowed_methods,
        reason = "every stage has passed; this is the one place that admits"
    )]
    let permit = Permit::issue(id);
    let files = files.narrowed(access(definition.effect));
    let cx = Context::new(permit, files, cancel.clone(), deadline.listener())
        .with_meta(meta)
        .with_client(client)
        .with_input(input)
        .with_key(key);

    let work = AssertUnwindSafe(offered.tool().run(arguments, &cx)).catch_unwind();
    let done = tokio::select! {
        biased;
        done = work => done,
        () = cancel.cancelled() => return Err(ToolError::cancelled().into()),
        limit = deadline.passed() => return Err(timed_out(limit).into()),
    };
    match done {
        Ok(outcome) => Ok((outcome?, offered)),
        Err(_) => Err(panicked(&definition.name, id)),
    }
}

/// The least that the effect needs. Programs of upstreams do not use our hands at all.
fn access(effect: Effect) -> Access {
    match effect {
        Effect::Reads | Effect::Executes => Access::Read,
        Effect::Writes | Effect::Destroys => Access::ReadWrite,
    }
}

fn timed_out(limit: Duration) -> ToolError {
    ToolError::new("timeout", format!("the tool did not answer within {limit:?}; it was told to stop"))
}

/// A panic ends its own call and nothing else. What it says may quote an argument, so it is not repeated.
fn panicked(tool: &ToolName, call: CallId) -> Failure {
    tracing::error!(%tool, %call, "a tool panicked");
    Failure::Internal(Internal { call })
}

/// When a call has had its time. Progress starts the time anew where the tool allows it.
struct Deadline {
    limit: Duration,
    start: Instant,
    extended: Option<Arc<Extending>>,
    direct: Option<Arc<dyn Listener>>,
}

/// Passes progress on and remembers when it came.
struct Extending {
    start: Instant,
    last_ms: AtomicU64,
    next: Option<Arc<dyn Listener>>,
}

impl Listener for Extending {
    fn progress(&self, progress: Progress) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.fetch_max(since, Ordering::Relaxed);
        if let Some(next) = &self.next {
            next.progress(progress);
        }
    }

    fn log(&self, params: Bytes) {
        if let Some(next) = &self.next {
            next.log(params);
        }
    }
}

impl Deadline {
    fn new(limit: Duration, extends: bool, listener: Option<Arc<dyn Listener>>) -> Deadline {
        let start = Instant::now();
        if !extends {
            return Deadline { limit, start, extended: None, direct: listener };
        }
        let extending = Extending { start, last_ms: AtomicU64::new(0), next: listener };
        Deadline { limit, start, extended: Some(Arc::new(extending)), direct: None }
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        match &self.extended {
            Some(extending) => Some(extending.clone()),
            None => self.direct.clone(),
        }
    }

    /// Resolves when the time is up, and tells how much it was since the last sign of life.
    async fn passed(&self) -> Duration {
        loop {
            let last =
                self.extended.as_ref().map_or(0, |extending| extending.last_ms.load(Ordering::Relaxed));
            let limit = (Duration::from_millis(last) + self.limit).min(EXTENDED_MAX.max(self.limit));
            if self.start.elapsed() >= limit {
                return self.limit;
            }
            tokio::time::sleep_until(self.start + limit).await;
        }
    }
}

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
    CallId, Cancel, Client, Context, Definition, Effect, Input, Listener, Outcome, Permit, Progress, Secrets,
    ToolError, ToolName,
};

use crate::failure::{Failure, Internal};
use crate::offer::Offered;
use crate::pending::Pending;

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
    /// What it is not shown.
    pub(crate) secrets: Arc<dyn Secrets>,
}

/// Runs the call and gives its tool back with the outcome. If what the tool belongs to has left before the call began, it
/// goes to the `successor`.
pub(crate) async fn run(
    files: &Root,
    pending: Pending<'_>,
    waiting: Waiting,
    successor: impl Future<Output = Option<Arc<Offered>>>,
) -> Result<(Outcome, Arc<Offered>), Failure> {
    let Pending { id, offered, arguments, decision, obeyed, .. } = pending;
    let allowed = decision.and_then(|decision| Some((decision.obligations.timeout_max?, decision.rule)));
    let Waiting { meta, cancel, listener, client, input, key, secrets } = waiting;
    let definition = offered.definition();
    let within = |limit: Duration| allowed.as_ref().map_or(limit, |(most, _)| limit.min(*most));
    let deadline = Deadline::new(within(definition.timeout), definition.extends_to.map(within), listener);

    #[expect(
        clippy::disallowed_methods,
        reason = "every check has passed; this is the one place that admits"
    )]
    let permit = Permit::issue(id);
    // What is in `obeyed` a person was asked about, or the call would not be here.
    let files = files.narrowed(access(definition.effect)).agreeing(&obeyed);
    let cx = Context::new(permit, files, cancel.clone(), deadline.listener())
        .with_meta(meta)
        .with_client(client)
        .with_input(input)
        .with_key(key)
        .with_secrets(secrets);

    // Our own tools do not leave.
    let again = definition.upstream.is_some().then(|| arguments.clone());
    let work = async {
        match (offered.tool().run(arguments, &cx).await, again) {
            (Err(error), Some(arguments)) if error.is_of_orphan() => match successor.await {
                Some(next) => next.tool().run(arguments, &cx).await,
                None => Err(error),
            },
            (done, _) => done,
        }
    };
    let work = AssertUnwindSafe(work).catch_unwind();
    let done = tokio::select! {
        biased;
        done = work => done,
        () = cancel.cancelled() => return Err(ToolError::cancelled().into()),
        limit = deadline.passed() => return Err(match &allowed {
            Some((most, rule)) if *most == limit => not_allowed_longer(limit, rule).into(),
            _ => timed_out(definition, limit).into(),
        }),
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

/// The time is up that a rule of the policy leaves it.
fn not_allowed_longer(limit: Duration, rule: &str) -> ToolError {
    let said = "it was told to stop; the rule of the policy that allows it leaves it no more time";
    ToolError::new("timeout", format!("the tool did not answer within {limit:?}; {said}: `{rule}`"))
}

/// Time is up; how much it was decides what has to be raised.
fn timed_out(definition: &Definition, limit: Duration) -> ToolError {
    let Some(upstream) = definition.upstream.as_deref() else {
        return ToolError::new(
            "timeout",
            format!("the tool did not answer within {limit:?}; it was told to stop"),
        );
    };
    let keys = match definition.extends_to {
        Some(limit_max) if limit_max > limit => "`timeout`",
        Some(_) if limit > definition.timeout => "`max_timeout`",
        Some(_) => "`timeout` and `max_timeout`",
        None => "`timeout`",
    };
    ToolError::new(
        "timeout",
        format!(
            "`{upstream}` did not answer within {limit:?}; it was told to stop; if it needs longer, raise {keys} of \
             mcp.{upstream}"
        ),
    )
}

/// A panic ends its own call and nothing else. What it says may quote an argument, so it is not repeated.
fn panicked(tool: &ToolName, call: CallId) -> Failure {
    tracing::error!(%tool, %call, "a tool panicked");
    Failure::Internal(Internal { call })
}

/// When a call has had its time. Progress starts the time anew where the tool allows it.
struct Deadline {
    limit: Duration,
    /// Whatever progress it reports.
    limit_max: Duration,
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
    fn new(limit: Duration, extends_to: Option<Duration>, listener: Option<Arc<dyn Listener>>) -> Deadline {
        let start = Instant::now();
        let Some(limit_max) = extends_to.filter(|limit_max| *limit_max > limit) else {
            return Deadline { limit, limit_max: limit, start, extended: None, direct: listener };
        };
        let extending = Extending { start, last_ms: AtomicU64::new(0), next: listener };
        Deadline { limit, limit_max, start, extended: Some(Arc::new(extending)), direct: None }
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        match &self.extended {
            Some(extending) => Some(extending.clone()),
            None => self.direct.clone(),
        }
    }

    /// Resolves when the time is up, and tells how much it was: since the last sign of life, or in all.
    async fn passed(&self) -> Duration {
        loop {
            let last =
                self.extended.as_ref().map_or(0, |extending| extending.last_ms.load(Ordering::Relaxed));
            let extended = Duration::from_millis(last) + self.limit;
            let limit = extended.min(self.limit_max);
            if self.start.elapsed() >= limit {
                return if extended > self.limit_max { self.limit_max } else { self.limit };
            }
            tokio::time::sleep_until(self.start + limit).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tool_api::Listing;

    use super::*;

    #[test]
    fn who_waits_for_another_server_is_told_what_to_raise() {
        let s = Duration::from_secs;
        let mut definition = Definition {
            name: ToolName::parse("a_t").expect("a name"),
            upstream: None,
            description: "".into(),
            effect: Effect::Executes,
            marked_destructive: false,
            open_world: true,
            scopes: Arc::new([]),
            timeout: s(2),
            extends_to: None,
            input_schema: Bytes::new(),
            output_schema: None,
            listing: Listing::Relayed(Bytes::new()),
        };
        let check = |definition: &Definition, limit, expected: &str| {
            assert_eq!(timed_out(definition, limit).to_string(), expected);
        };
        check(&definition, s(2), "the tool did not answer within 2s; it was told to stop");
        definition.upstream = Some("a".into());
        for (extends_to, limit_s, keys) in [
            (None, 2, "`timeout`"),
            (Some(9), 2, "`timeout`"),
            (Some(9), 9, "`max_timeout`"),
            (Some(2), 2, "`timeout` and `max_timeout`"),
        ] {
            definition.extends_to = extends_to.map(s);
            let said = format!("`a` did not answer within {limit_s}s; it was told to stop");
            let expected = format!("{said}; if it needs longer, raise {keys} of mcp.a");
            check(&definition, s(limit_s), &expected);
        }
    }

    /// After how many seconds a call is over that reports progress every `every_s`, and what it is told to have had.
    #[track_caller]
    fn check(extends_to_s: Option<u64>, every_s: Option<u64>, over_after_s: u64, told_s: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let limit = Duration::from_secs(10);
            let deadline = Deadline::new(limit, extends_to_s.map(Duration::from_secs), None);
            let listener = deadline.listener();
            let reporting = async {
                let Some(every_s) = every_s else { return std::future::pending().await };
                loop {
                    tokio::time::sleep(Duration::from_secs(every_s)).await;
                    let step = Progress::Step { done: 1.0, total: None, message: None };
                    listener.iter().for_each(|listener| listener.progress(step.clone()));
                }
            };
            let begun = Instant::now();
            let told = tokio::select! {
                told = deadline.passed() => told,
                () = reporting => unreachable!("it goes on for ever"),
            };
            let (over, told) = (begun.elapsed().as_secs(), told.as_secs());
            assert_eq!((over, told), (over_after_s, told_s), "{extends_to_s:?} {every_s:?}");
        });
    }

    #[test]
    fn progress_starts_the_time_anew_up_to_the_longest() {
        check(None, None, 10, 10);
        check(None, Some(4), 10, 10);
        check(Some(60), None, 10, 10);
        check(Some(60), Some(4), 60, 60);
        // Its last sign of life came before the first look.
        check(Some(60), Some(11), 10, 10);
        check(Some(25), Some(9), 25, 25);
        // A longest time that is none leaves the call its own.
        check(Some(5), Some(4), 10, 10);
    }
}

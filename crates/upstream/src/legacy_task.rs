//! Tasks of revision 2025-11-25, for tools that run no other way: the call is made as a task and followed to its
//! end within the call, so that nobody else needs to know.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_api::{Context, Progress, ToolError};
use wire::Object;
use wire::message::Text;
use wire::string::literal;

use crate::answer;
use crate::connection::{Answer, Connection, Request};
use crate::settings::Mask;
use crate::upstream::Upstream;

/// How long to wait between two looks at a task that names no time.
const POLL_USUAL: Duration = Duration::from_secs(1);

/// The shortest and the longest time between two looks, whatever the server wishes.
const POLL_MIN: Duration = Duration::from_millis(50);
/// See [`POLL_MIN`].
const POLL_MAX: Duration = Duration::from_secs(30);

/// Longest sentence about a task that is reported as progress, in bytes.
const STATUS_BYTES_MAX: usize = 500;

/// How long a server may take to hear that a task is not wanted any more.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// How a task is doing.
struct Status {
    /// True while there is nothing to do but to look again. Whoever needs input says so while its result is
    /// waited for.
    is_working: bool,
    message: String,
    poll: Duration,
}

impl Status {
    fn read(task: Object<'_>, mask: &Mask) -> Option<Status> {
        let poll_ms = task.get("pollInterval").and_then(|ms| ms.parse().ok());
        let poll = poll_ms.map_or(POLL_USUAL, Duration::from_millis).clamp(POLL_MIN, POLL_MAX);
        let status = task.string("status")?;
        let message = task.string("statusMessage").filter(|message| !message.is_empty());
        let message = mask.sentence(message.as_ref().unwrap_or(&status), STATUS_BYTES_MAX);
        Some(Status { is_working: status == "working", message, poll })
    }
}

/// Follows the task that `created` (the answer to a `tools/call`) opens to the result of the call. Dropping the
/// future asks the server to stop it.
pub(crate) async fn follow(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    created: Text,
    cx: &Context,
) -> Result<Answer, ToolError> {
    let mask = &connection.exchange().mask;
    let opened = created.object().and_then(|result| result.object("task"));
    // A server may answer at once, too.
    let Some(task) = opened else { return Ok(Answer::Result(created)) };
    let broken = |why| answer::broken(upstream.name(), why);
    let id = task.string("taskId").filter(|id| !id.is_empty()).ok_or_else(|| broken("its task has no id"))?;
    let mut status = Status::read(task, mask).ok_or_else(|| broken("its task has no status"))?;
    let params = format!("{{\"taskId\":{}}}", literal(&id)).into_bytes();
    let mut task = Task { upstream, cx, connection: connection.clone(), params, is_over: false };
    let (mut reports, mut last) = (0_u32, String::new());
    loop {
        // News only: each report gives the call its whole time again.
        if status.message != last {
            last.clone_from(&status.message);
            cx.report(Progress::Step { done: reports.into(), total: None, message: Some(last.clone()) });
            reports = reports.saturating_add(1);
        }
        if !status.is_working {
            break;
        }
        sleep(status.poll).await;
        let Answer::Result(result) = task.ask("tasks/get").await? else {
            return Err(broken("it asks back when a task is asked for"));
        };
        let status_now = result.object().and_then(|task| Status::read(task, mask));
        status = status_now.ok_or_else(|| broken("its task has no status"))?;
    }
    let result = task.ask("tasks/result").await;
    // It has come to an end, or waits for the client, who will go on with it.
    task.is_over = true;
    result
}

/// A task that is followed. Dropping it before its end asks the server to stop it.
struct Task<'c> {
    upstream: &'c Upstream,
    cx: &'c Context,
    connection: Arc<Connection>,
    /// They name the task, for every method.
    params: Vec<u8>,
    is_over: bool,
}

impl Task<'_> {
    async fn ask(&self, method: &'static str) -> Result<Answer, ToolError> {
        match self.connection.request(None, None, request(method, &self.params, Some(self.cx))).await {
            Ok(Answer::Error(error)) => Err(answer::error(self.upstream.name(), &error, false)),
            Ok(answer) => Ok(answer),
            Err(fault) => Err(self.upstream.failure(&fault)),
        }
    }
}

/// No header names the task: this is of legacy revisions alone.
fn request<'r>(method: &'static str, params: &[u8], cx: Option<&'r Context>) -> Request<'r> {
    Request { method, params: params.to_vec(), cx, ..Request::default() }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, tokio::runtime::Handle::try_current()) else { return };
        let (connection, params) = (self.connection.clone(), std::mem::take(&mut self.params));
        // Bounded by its time; whether it was heard is of no more interest.
        runtime.spawn(async move {
            let request = request("tasks/cancel", &params, None);
            drop(timeout(CANCEL_TIMEOUT, connection.request(None, None, request)).await);
        });
    }
}

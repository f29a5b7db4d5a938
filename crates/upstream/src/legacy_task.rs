//! Tasks of revision 2025-11-25, for tools that run no other way: the call is made as a task and followed to its
//! end within the call, so that nobody else needs to know.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tool_api::{Context, Progress, ToolError};
use wire::Object;
use wire::message::Text;

use crate::answer;
use crate::connection::{Answer, Connection, Request};
use crate::literal::literal;
use crate::settings::Mask;
use crate::slots::CallSlot;
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
    name: String,
    message: String,
    poll: Duration,
}

impl Status {
    fn read(task: Object<'_>, mask: &Mask) -> Option<Status> {
        let poll_ms = task.get("pollInterval").and_then(|ms| ms.parse().ok());
        let poll = poll_ms.map_or(POLL_USUAL, Duration::from_millis).clamp(POLL_MIN, POLL_MAX);
        let message = task.string("statusMessage").unwrap_or_default();
        let message = mask.sentence(&message, STATUS_BYTES_MAX);
        let name = mask.sentence(&task.string("status")?, STATUS_BYTES_MAX);
        Some(Status { name, message, poll })
    }

    /// True while there is nothing to do but to look again. Whoever needs input says so while its result is
    /// waited for.
    fn is_working(&self) -> bool {
        self.name == "working"
    }
}

/// Follows the task that `created` (the answer to a `tools/call`) opens to the result of the call. Dropping the
/// future asks the server to stop it.
pub(crate) async fn follow(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    slot: &CallSlot,
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
    let named = format!("{{\"taskId\":{}}}", literal(&id)).into_bytes();
    let params = Some(named.clone());
    let mut unwanted = CancelOnDrop { connection: connection.clone(), slot: slot.clone(), params };
    let mut reports = Reports::default();
    while status.is_working() {
        reports.report(cx, &status);
        sleep(status.poll).await;
        let answer = ask(upstream, connection, slot, "tasks/get", &named, cx).await?;
        let Answer::Result(result) = answer else {
            return Err(broken("it asks back when a task is asked for"));
        };
        let status_now = result.object().and_then(|task| Status::read(task, mask));
        status = status_now.ok_or_else(|| broken("its task has no status"))?;
    }
    reports.report(cx, &status);
    let result = ask(upstream, connection, slot, "tasks/result", &named, cx).await;
    // It has come to an end, or waits for the client, who will go on with it.
    unwanted.params = None;
    result
}

/// What has been reported of a task.
#[derive(Default)]
struct Reports {
    count: u32,
    last: String,
}

impl Reports {
    /// Reports news only: each report gives the call its whole time again.
    fn report(&mut self, cx: &Context, status: &Status) {
        let said = if status.message.is_empty() { &status.name } else { &status.message };
        if *said == self.last {
            return;
        }
        self.last.clone_from(said);
        cx.report(Progress::Step { done: self.count.into(), total: None, message: Some(said.clone()) });
        self.count = self.count.saturating_add(1);
    }
}

async fn ask(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    slot: &CallSlot,
    method: &'static str,
    params: &[u8],
    cx: &Context,
) -> Result<Answer, ToolError> {
    // No header names the task: this is of legacy revisions alone.
    let (params, name) = (params.to_vec(), None);
    let request = Request { method, params, cx: Some(cx), name, param_headers: Vec::new() };
    match connection.request_in(slot.clone(), request).await {
        Ok(Answer::Error(error)) => Err(answer::error(upstream.name(), &error, false)),
        Ok(answer) => Ok(answer),
        Err(fault) => Err(upstream.failure(&fault)),
    }
}

/// Asks the server to stop the task, if the call is dropped before it ended.
struct CancelOnDrop {
    connection: Arc<Connection>,
    /// Kept until the server has heard of it.
    slot: CallSlot,
    /// Those of `tasks/cancel`; none once the task is over.
    params: Option<Vec<u8>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(params), Ok(runtime)) = (self.params.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (connection, slot) = (self.connection.clone(), std::mem::take(&mut self.slot));
        let method = "tasks/cancel";
        // Bounded by its time; whether it was heard is of no more interest.
        runtime.spawn(async move {
            let request = Request { method, params, cx: None, name: None, param_headers: Vec::new() };
            let _ = timeout(CANCEL_TIMEOUT, connection.request(request)).await;
            drop(slot);
        });
    }
}

//! Tasks of revision 2025-11-25 whose client knows none: the call is made as a task and followed to its end within the
//! call.

use std::sync::Arc;

use tool_api::{Context, ToolError};
use wire::Object;
use wire::message::Text;

use crate::answer;
use crate::connection::{Answer, Connection, Request, caller};
use crate::upstream::{Followed, Upstream};

/// Whether a server of 2025-11-25 runs a tool as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    Never,
    /// If its client wants it.
    Optional,
    /// In no other way.
    Required,
}

impl TaskSupport {
    /// That of a tool with this definition.
    pub(crate) fn of(tool: &Text) -> TaskSupport {
        let execution = tool.object().and_then(|tool| tool.object("execution"));
        match execution.and_then(|execution| execution.string("taskSupport")).as_deref() {
            Some("required") => TaskSupport::Required,
            Some("optional") => TaskSupport::Optional,
            _ => TaskSupport::Never,
        }
    }
}

/// True if a server with these capabilities says that calls of tools can be tasks of 2025-11-25.
pub(crate) fn declared(capabilities: Option<Object<'_>>) -> bool {
    let requests = capabilities.and_then(|all| all.object("tasks")?.object("requests"));
    requests.and_then(|requests| requests.object("tools")?.object("call")).is_some()
}

/// True if a task of the server, one of 2025-11-25, can be given to the client as one of the extension.
pub(crate) fn can_be_given(connection: &Connection, cx: &Context) -> bool {
    declared(connection.identity.capabilities.as_ref().and_then(Text::object)) && answer::knows_tasks(cx)
}

/// Follows the task that `created` (the answer to a `tools/call`) opens to the result of the call. Dropping the
/// future asks the server to stop it.
pub(crate) async fn follow(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    created: Text,
    cx: &Context,
) -> Result<Answer, ToolError> {
    // A server may answer at once, too.
    let Some(task) = opened(&created) else { return Ok(Answer::Result(created)) };
    let mut followed = Followed::new(connection, id(upstream, &task)?, None);
    followed.while_working(upstream, task, cx).await?;
    let request = Request { cx: Some(cx), ..followed.request("tasks/result", "") };
    let caller = caller("tasks/result", None, cx);
    let result = connection.task_result(&followed.id, request, caller, &cx.client).await;
    // It has come to an end, or waits for the client, who will go on with it.
    followed.is_over = true;
    match result {
        Ok(Answer::Error(error)) => Err(answer::error(upstream.name(), &error, false)),
        Ok(answer) => Ok(answer),
        Err(fault) => Err(upstream.failure(&fault)),
    }
}

/// The task that the answer to a call opens, if it does.
pub(super) fn opened(created: &Text) -> Option<Text> {
    Some(created.slice(created.object()?.object("task")?.text()))
}

/// The server's own id of a task.
///
/// # Errors
/// It has none.
pub(super) fn id(upstream: &Upstream, task: &Text) -> Result<Arc<str>, ToolError> {
    let id = task.object().and_then(|task| task.string("taskId")).filter(|id| !id.is_empty());
    id.map(Arc::from).ok_or_else(|| answer::broken(upstream.name(), "its task has no id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_whether_calls_can_be_tasks() {
        for (capabilities, expected) in [
            (r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#, true),
            (r#"{"tasks":{"requests":{"tools":{"call":null}}}}"#, false),
            (r#"{"tasks":{"list":{},"cancel":{}}}"#, false),
            (r#"{"tools":{}}"#, false),
        ] {
            assert_eq!(declared(Object::parse(capabilities)), expected, "{capabilities}");
        }
        assert!(!declared(None));
    }
}

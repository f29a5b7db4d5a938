//! Looking at a task that is followed, and telling its client how it is doing.

use tokio::time::sleep;
use tool_api::{Context, Progress, ToolError};
use wire::message::Text;

use super::status::{State, Status};
use crate::answer;
use crate::connection::{Answer, Request};
use crate::upstream::{Followed, Upstream};

impl Followed {
    /// Asks the server about the task. `more` are further parameters, each behind a comma.
    pub(super) async fn ask(
        &self,
        upstream: &Upstream,
        method: &'static str,
        more: &str,
        cx: &Context,
    ) -> Result<Text, ToolError> {
        let request = Request { cx: Some(cx), ..self.request(method, more) };
        match self.connection.request(None, None, request).await {
            Ok(Answer::Result(result)) => Ok(result),
            Ok(Answer::Error(error)) => Err(answer::error(upstream.name(), &error, false)),
            Ok(Answer::Asked { .. }) => {
                Err(answer::broken(upstream.name(), "it asks back when a task is asked for"))
            }
            Err(fault) => Err(upstream.failure(&fault)),
        }
    }

    /// Reads how the task is doing, and tells its client if there is news.
    pub(super) fn look(
        &mut self,
        upstream: &Upstream,
        task: &Text,
        cx: &Context,
    ) -> Result<Status, ToolError> {
        let mask = upstream.settings.mask();
        let status = task.object().and_then(|task| Status::read(task, mask));
        let status = status.ok_or_else(|| answer::broken(upstream.name(), "its task has no status"))?;
        // News only: each report gives the call its whole time again.
        if status.message != self.reported {
            self.reported.clone_from(&status.message);
            let message = Some(self.reported.clone());
            cx.report(Progress::Step { done: self.reports.into(), total: None, message });
            self.reports = self.reports.saturating_add(1);
        }
        Ok(status)
    }

    /// Looks again and again while the server works, beginning with the `task` as it was seen last.
    pub(super) async fn while_working(
        &mut self,
        upstream: &Upstream,
        mut task: Text,
        cx: &Context,
    ) -> Result<(State, Text), ToolError> {
        loop {
            let status = self.look(upstream, &task, cx)?;
            if status.state != State::Working {
                return Ok((status.state, task));
            }
            sleep(status.poll).await;
            task = self.ask(upstream, "tasks/get", "", cx).await?;
        }
    }
}

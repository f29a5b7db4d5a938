//! Tasks of the modern extension whose client is of a revision that has none it could be given: the server is told that
//! the client knows them, which is true of us, and the task is followed to its end within the call. What it asks is asked
//! in a round of the call.

use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Context, ToolError};
use wire::message::Text;
use wire::{Code, Object, patch};

use super::legacy;
use super::status::State;
use crate::answer::{self, TASKS};
use crate::connection::{Answer, Connection};
use crate::fault::Fault;
use crate::upstream::{Followed, Run, Upstream};

/// Most keys under which one task may ask in all: more is going in circles.
const KEYS_MAX: usize = 1_000;

/// These `ClientCapabilities`, and the extension.
pub(crate) fn declaring(capabilities: &[u8]) -> Arc<str> {
    let own = std::str::from_utf8(capabilities).ok().and_then(Object::parse);
    let own = own.or_else(|| Object::parse("{}")).expect("an empty object is one");
    let extensions = match own.object("extensions") {
        Some(extensions) => patch::set(extensions, TASKS, "{}"),
        None => format!("{{\"{TASKS}\":{{}}}}"),
    };
    patch::set(own, "extensions", &extensions).into()
}

/// True if the server refused a call because its client does not know tasks. It has not begun with it then.
pub(crate) fn is_demanded(error: &Text) -> bool {
    let needed = error.object().and_then(|error| error.object("data")?.object("requiredCapabilities"));
    let extensions = needed.and_then(|needed| needed.object("extensions"));
    answer::is_code(error, Code::MissingClientCapability)
        && extensions.is_some_and(|extensions| extensions.get(TASKS).is_some())
}

/// Follows the task that `result` (the answer to a `tools/call`, which `declared` the extension) is, if it is one.
/// Dropping the future asks the server to stop it.
pub(crate) async fn follow(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    result: Text,
    declared: Arc<str>,
    cx: &Context,
) -> Result<Answer, ToolError> {
    let kind = result.object().and_then(|result| result.string("resultType"));
    if kind.as_deref() != Some("task") {
        return Ok(Answer::Result(result));
    }
    let id = legacy::id(upstream, &result)?;
    let run = Run { followed: Followed::new(connection, id, Some(declared)), asked: Vec::new() };
    run.drive(upstream, result, cx).await
}

/// Goes on with a task that waits for its client, with what that answers.
pub(crate) async fn resume(upstream: &Upstream, run: Run, cx: &Context) -> Result<Answer, ToolError> {
    let responses = cx.input.as_ref().and_then(|input| input.responses.as_deref());
    if let Some(responses) = responses.and_then(|responses| std::str::from_utf8(responses).ok()) {
        let more = format!(",\"inputResponses\":{responses}");
        run.followed.ask(upstream, "tasks/update", &more, cx).await?;
    }
    let task = run.followed.ask(upstream, "tasks/get", "", cx).await?;
    run.drive(upstream, task, cx).await
}

impl Run {
    /// Looks at the task until it has ended, or asks something that was not asked before.
    async fn drive(mut self, upstream: &Upstream, mut task: Text, cx: &Context) -> Result<Answer, ToolError> {
        let broken = |why| answer::broken(upstream.name(), why);
        loop {
            let (state, seen) = self.followed.while_working(upstream, task, cx).await?;
            let member =
                |key| seen.object().and_then(|task| task.object(key)).map(|it| seen.slice(it.text()));
            match state {
                State::Completed | State::Failed | State::Cancelled => self.followed.is_over = true,
                State::InputRequired | State::Working => {}
            }
            match state {
                State::Completed => {
                    return member("result")
                        .map(Answer::Result)
                        .ok_or_else(|| broken("its task has no result"));
                }
                State::Failed => {
                    return member("error").map(Answer::Error).ok_or_else(|| broken("its task has no error"));
                }
                State::Cancelled => {
                    let why =
                        format!("`{}` has cancelled the task that the call had become", upstream.name());
                    return Err(ToolError::new("task_cancelled", why));
                }
                State::InputRequired | State::Working => {
                    let all = member("inputRequests");
                    let failure = |fault| upstream.failure(&fault);
                    if let Some(requests) = self.unasked(all.as_ref()).map_err(failure)? {
                        let suspended = upstream.suspended_tasks.put(self);
                        let (state, hold) = suspended.map_err(|fault| upstream.failure(&fault))?;
                        return Ok(Answer::Asked { requests, state, hold: Some(hold) });
                    }
                }
            }
            tokio::time::sleep(self.followed.look(upstream, &seen, cx)?.poll).await;
            task = self.followed.ask(upstream, "tasks/get", "", cx).await?;
        }
    }

    /// What is asked that was not asked before.
    fn unasked(&mut self, requests: Option<&Text>) -> Result<Option<Bytes>, Fault> {
        let mut out = Vec::new();
        for member in requests.and_then(Text::object).into_iter().flat_map(Object::members) {
            let key = member.key();
            if self.asked.iter().any(|asked| *asked == key) {
                continue;
            }
            if self.asked.len() == KEYS_MAX {
                return Err(Fault::Broken(format!("its task asks for more than {KEYS_MAX} things")));
            }
            self.asked.push(key.into_owned());
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(member.key_literal().as_bytes());
            out.push(b':');
            out.extend_from_slice(member.value.as_bytes());
        }
        if out.is_empty() {
            return Ok(None);
        }
        out.push(b'}');
        Ok(Some(out.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    #[test]
    fn the_extension_is_declared_beside_what_the_client_can_do() {
        for (own, expected) in [
            ("{}", r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
            ("junk", r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
            (
                r#"{"roots":{},"extensions":{"x/y":{}}}"#,
                r#"{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},"x/y":{}}}"#,
            ),
        ] {
            assert_eq!(&*declaring(own.as_bytes()), expected);
        }
    }

    #[test]
    fn a_demand_for_tasks_is_known_from_other_refusals() {
        let refusal = |code: i64, needed: &str| {
            let data = format!(r#"{{"requiredCapabilities":{needed}}}"#);
            is_demanded(&text(&format!(r#"{{"code":{code},"message":"m","data":{data}}}"#)))
        };
        let tasks = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
        assert!(refusal(-32_021, tasks));
        assert!(!refusal(-32_602, tasks));
        assert!(!refusal(-32_021, r#"{"elicitation":{}}"#));
        assert!(!refusal(-32_021, r#"{"extensions":{"x/y":{}}}"#));
        assert!(!is_demanded(&text(r#"{"code":-32021,"message":"m"}"#)));
    }
}

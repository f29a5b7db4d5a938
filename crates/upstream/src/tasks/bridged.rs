//! Tasks of 2025-11-25 whose clients know the modern extension: each is one of the extension's, under a name of ours.
//!
//! Such a task belongs to the session in which it was begun, so it lives no longer than that connection. What it asks is
//! asked by requests of the server while its result is waited for, so that is done as soon as the server says that the
//! task needs input, until there is something to be asked; the client hears it when it looks at the task the next time.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tool_api::{Context, Outcome, Payload, ToolError};
use wire::message::Text;
use wire::{Code, Object};

use super::legacy;
use super::shape::Shape;
use super::status::{State, Status};
use crate::answer;
use crate::connection::{Answer, Caller, Connection, Request, Wanted, without_task};
use crate::fault::Fault;
use crate::round;
use crate::upstream::{Bridged, Input, KEPT_MAX, Upstream, lock, params};

/// How long a look at a task waits for what the task asks, once the server says that it needs input.
const INPUT_WAIT: Duration = Duration::from_secs(1);

/// What the server told of a task, or that it cannot any more.
enum Told<T> {
    This(T),
    /// The session has ended, and the task with it.
    Lost,
}

/// The outcome of a call that `created` (the answer to a `tools/call`) says goes on as a task; nothing if it does not, or
/// cannot be given to the client as one.
///
/// # Errors
/// What it says of its task cannot be used.
pub(crate) fn begin(
    upstream: &Upstream,
    connection: &Arc<Connection>,
    created: &Text,
    cx: &Context,
) -> Result<Option<Outcome>, ToolError> {
    let Some(task) = legacy::opened(created) else { return Ok(None) };
    let id = legacy::id(upstream, &task)?;
    let status = task.object().and_then(|task| Status::read(task, upstream.settings.mask()));
    let status = status.ok_or_else(|| answer::broken(upstream.name(), "its task has no status"))?;
    let shown = |key: &str| {
        // What it needs or gives is told when it is looked at.
        shape(&task, key, State::Working, Some(&status)).and_then(|shape| shape.write("task", ""))
    };
    if shown("").is_none() {
        return Ok(None);
    }
    let begun = upstream.bridged_tasks.begin(connection, id, task.clone(), cx.client.clone());
    let outcome = begun.and_then(|key| {
        let payload = Payload::Task { result: shown(&key)?.into(), id: key };
        Some(Outcome::of(payload))
    });
    Ok(outcome)
}

impl Bridged {
    /// How it is doing: an answer to `tasks/get` of the extension.
    pub(crate) async fn get(
        self: &Arc<Self>,
        upstream: &Upstream,
        cx: &Context,
    ) -> Result<Answer, ToolError> {
        let Told::This(task) = self.tell(upstream, "tasks/get", cx).await? else {
            return self.lost(upstream);
        };
        let status = task.object().and_then(|task| Status::read(task, upstream.settings.mask()));
        let status = status.ok_or_else(|| answer::broken(upstream.name(), "its task has no status"))?;
        *lock(&self.seen) = task;
        match status.state {
            State::Completed | State::Failed => self.result(upstream, &status, cx).await,
            State::Cancelled => {
                self.ended();
                self.shown(upstream, State::Cancelled, Some(&status), "")
            }
            State::Working if !self.connection.exchange().pending.has_question_of(&self.claim.task) => {
                self.shown(upstream, State::Working, Some(&status), "")
            }
            State::Working | State::InputRequired => match self.input().await {
                Some(requests) => {
                    let more = format!(",\"inputRequests\":{}", String::from_utf8_lossy(&requests));
                    self.shown(upstream, State::InputRequired, Some(&status), &more)
                }
                // There is nothing yet that the client could answer.
                None => self.shown(upstream, State::Working, Some(&status), ""),
            },
        }
    }

    /// Hands over what its client answers: `arguments` are the parameters of `tasks/update`.
    ///
    /// # Errors
    /// There are no answers, or one is none; then nothing is handed over.
    pub(crate) fn update(
        self: &Arc<Self>,
        upstream: &Upstream,
        arguments: &str,
        cx: &Context,
    ) -> Result<Answer, ToolError> {
        let invalid = |why: &str| {
            answer::bad_request(upstream.name(), Code::InvalidParams, &format!("Invalid params: {why}"), None)
        };
        let beside = cx.input.as_ref().and_then(|input| input.responses.as_deref());
        let beside = beside.and_then(|responses| std::str::from_utf8(responses).ok()).and_then(Object::parse);
        let responses =
            Object::parse(arguments).and_then(|params| params.object("inputResponses")).or(beside);
        let responses =
            responses.ok_or_else(|| invalid("tasks/update needs the object \"inputResponses\""))?;
        let mut input = lock(&self.input);
        let Input::Asked { requests, .. } = &*input else { return Ok(acknowledged()) };
        match fits(requests, responses) {
            Err(key) => Err(invalid(&format!("what was sent under `{key}` is no answer to it"))),
            // Of another time, or made up.
            Ok(0) => Ok(acknowledged()),
            Ok(_) => {
                let asked = std::mem::replace(&mut *input, Input::Awaited);
                drop(input);
                let Input::Asked { state, hold, .. } = asked else { return Ok(acknowledged()) };
                let (connection, client) = (self.connection.clone(), self.client.clone());
                let responses = Bytes::copy_from_slice(responses.text().as_bytes());
                self.wait_for(async move {
                    let caller = Caller::of_task(&client);
                    let answer = connection.resume(&state, Some(&responses), caller, &client).await;
                    drop(hold);
                    answer
                });
                Ok(acknowledged())
            }
        }
    }

    /// Asks the server to stop it. It need not, and one that has ended says so; neither is told.
    pub(crate) async fn cancel(&self, upstream: &Upstream, cx: &Context) -> Result<Answer, ToolError> {
        self.ask_no_more();
        match self.request("tasks/cancel", cx).await {
            Err(fault) if !self.is_lost(upstream, &fault) => Err(upstream.failure(&fault)),
            Ok(_) | Err(_) => Ok(acknowledged()),
        }
    }

    /// Its end, which the server tells with the result.
    async fn result(&self, upstream: &Upstream, status: &Status, cx: &Context) -> Result<Answer, ToolError> {
        self.ask_no_more();
        let params = params(&self.claim.task, "");
        let request = Request { method: "tasks/result", params, cx: Some(cx), ..Request::default() };
        let caller = Caller::of_task(&cx.client);
        let answer = self.connection.task_result(&self.claim.task, request, caller, &cx.client).await;
        // How a call ended is said by what it gives: a failed tool gives a result, too.
        let (state, more) = match answer {
            Ok(Answer::Result(result)) => {
                let unrelated = result.object().and_then(without_task);
                let result = unrelated.and_then(|text| Text::check(text.into()).ok()).unwrap_or(result);
                let is_error = result.object().is_some_and(|result| result.get("isError") == Some("true"));
                let result = if is_error { upstream.settings.mask().value(result) } else { result };
                (State::Completed, format!(",\"result\":{}", result.as_str()))
            }
            Ok(Answer::Error(error)) => (State::Failed, format!(",\"error\":{}", error.as_str())),
            Ok(Answer::Asked { .. }) => {
                return Err(answer::broken(upstream.name(), "its task asks for something after its end"));
            }
            Err(fault) if self.is_lost(upstream, &fault) => return self.lost(upstream),
            Err(fault) => return Err(upstream.failure(&fault)),
        };
        self.ended();
        self.shown(upstream, state, Some(status), &more)
    }

    /// What it asks, as soon as there is something.
    async fn input(self: &Arc<Self>) -> Option<Bytes> {
        let mut changed = pin!(self.changed.notified());
        changed.as_mut().enable();
        if self.is_unheard() {
            let (connection, client) = (self.connection.clone(), self.client.clone());
            let task = self.claim.task.clone();
            self.wait_for(async move {
                let params = params(&task, "");
                let request = Request { method: "tasks/result", params, ..Request::default() };
                connection.task_result(&task, request, Caller::of_task(&client), &client).await
            });
        }
        if matches!(&*lock(&self.input), Input::Awaited) {
            // If nothing comes, the next look finds it.
            let _ = timeout(INPUT_WAIT, changed).await;
        }
        match &*lock(&self.input) {
            Input::Asked { requests, .. } => Some(requests.clone()),
            Input::Nothing | Input::Awaited => None,
        }
    }

    /// True if nobody waits for the result, so that nobody hears what is asked; whoever finds that out does from then on.
    fn is_unheard(&self) -> bool {
        let mut input = lock(&self.input);
        let is_heard = match &*input {
            Input::Nothing => false,
            Input::Awaited => true,
            Input::Asked { state, .. } => self.connection.suspended.has(state),
        };
        let before = (!is_heard).then(|| std::mem::replace(&mut *input, Input::Awaited));
        drop(input);
        before.is_some()
    }

    /// Takes in what comes of a wait for the result.
    fn wait_for(self: &Arc<Self>, result: impl Future<Output = Result<Answer, Fault>> + Send + 'static) {
        let me = Arc::downgrade(self);
        let mut waits = lock(&self.waits);
        while waits.try_join_next().is_some() {}
        waits.spawn(async move {
            let answer = result.await;
            let Some(me) = me.upgrade() else { return };
            *lock(&me.input) = match answer {
                Ok(Answer::Asked { requests, state, hold }) => Input::Asked { requests, state, hold },
                // The result is fetched when its client looks; a server that was not heard is asked again then.
                Ok(Answer::Result(_) | Answer::Error(_)) | Err(_) => Input::Nothing,
            };
            me.changed.notify_waiters();
        });
    }

    /// Nobody is asked any more.
    fn ask_no_more(&self) {
        let before = std::mem::replace(&mut *lock(&self.input), Input::Nothing);
        // Outside the lock, since it gives a request up.
        drop(before);
    }

    /// What the server answers to a request about the task.
    async fn tell(&self, upstream: &Upstream, method: &str, cx: &Context) -> Result<Told<Text>, ToolError> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Ok(Told::Lost);
        }
        match self.request(method, cx).await {
            Ok(Answer::Result(task)) => Ok(Told::This(task)),
            Ok(Answer::Error(_)) => {
                upstream.bridged_tasks.forget(&self.key);
                Err(unknown(upstream))
            }
            Ok(Answer::Asked { .. }) => {
                Err(answer::broken(upstream.name(), "it asks back when a task is asked for"))
            }
            Err(fault) if self.is_lost(upstream, &fault) => Ok(Told::Lost),
            Err(fault) => Err(upstream.failure(&fault)),
        }
    }

    async fn request(&self, method: &str, cx: &Context) -> Result<Answer, Fault> {
        let request =
            Request { method, params: params(&self.claim.task, ""), cx: Some(cx), ..Request::default() };
        self.connection.request(None, None, request).await
    }

    /// True if the session has ended with the task: a server that is gone, or does not know the session any more.
    fn is_lost(&self, upstream: &Upstream, fault: &Fault) -> bool {
        let is_lost = round::give_up_unseen(upstream, &self.connection, fault)
            || self.connection.exchange().pending.closed.is_cancelled();
        self.is_lost.fetch_or(is_lost, Ordering::Relaxed) || is_lost
    }

    fn lost(&self, upstream: &Upstream) -> Result<Answer, ToolError> {
        let why = format!("`{}` ended before the task did; make a new call", upstream.name());
        let error = format!(
            ",\"error\":{{\"code\":{},\"message\":{}}}",
            Code::InternalError.number(),
            wire::string::literal(&why)
        );
        self.ended();
        self.shown(upstream, State::Failed, None, &error)
    }

    fn shown(
        &self,
        upstream: &Upstream,
        state: State,
        status: Option<&Status>,
        more: &str,
    ) -> Result<Answer, ToolError> {
        let seen = lock(&self.seen).clone();
        let text = shape(&seen, &self.key, state, status).and_then(|shape| shape.write("complete", more));
        let text = text.and_then(|text| Text::check(text.into()).ok());
        text.map(Answer::Result).ok_or_else(|| answer::broken(upstream.name(), "its task cannot be read"))
    }
}

fn shape<'t>(task: &'t Text, key: &'t str, state: State, status: Option<&'t Status>) -> Option<Shape<'t>> {
    let task = task.object()?;
    let says = |status: &&Status| status.message != status.state.name();
    let message = status.filter(says).map(|status| status.message.as_str());
    Some(Shape { task, key, state, message, kept: KEPT_MAX })
}

/// How many of the requests are answered; the key of an answer that is none.
fn fits(requests: &Bytes, responses: Object<'_>) -> Result<usize, String> {
    let requests = std::str::from_utf8(requests).ok().and_then(Object::parse);
    let mut answered = 0;
    for member in requests.into_iter().flat_map(Object::members) {
        let key = member.key();
        let Some(answer) = responses.get(&key) else { continue };
        let method = Object::parse(member.value).and_then(|request| request.string("method"));
        match method.and_then(|method| Wanted::of(&method)) {
            Some(kind) if kind.is_answer(answer) => answered += 1,
            Some(_) | None => return Err(key.into_owned()),
        }
    }
    Ok(answered)
}

/// There is no task that goes by this name.
pub(crate) fn unknown(upstream: &Upstream) -> ToolError {
    let why = "Invalid params: unknown task; it may have ended, or its server with it";
    answer::bad_request(upstream.name(), Code::InvalidParams, why, None)
}

/// What there is to say is said when the task is looked at.
fn acknowledged() -> Answer {
    Answer::Result(Text::check(Bytes::from_static(b"{}")).expect("an empty object is JSON"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wire::Revision;

    use super::*;
    use crate::answer::tests::context;
    use crate::round::tests::upstream;
    use crate::upstream::{ENDED_KEPT, TASKS_MAX};

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    /// Begins the task that this answer to a call opens, and gives our name for it, if it gets one.
    fn begin(upstream: &Upstream, connection: &Arc<Connection>, created: &str) -> Option<Arc<str>> {
        let begun = super::begin(upstream, connection, &text(created), &context("{}"));
        let Payload::Task { id, .. } = begun.expect("sound")?.payload else { panic!("no task") };
        Some(id)
    }

    const ENDLESS: &str = r#"{"task":{"taskId":"t","status":"working","createdAt":"c","ttl":null}}"#;

    #[tokio::test(start_paused = true)]
    async fn a_task_is_kept_for_its_time_and_shortly_after_its_end() {
        let (upstream, connection) = (upstream(), Connection::unsent(Revision::V2025_11_25));
        let brief = ENDLESS.replace("null", "1000");
        let [brief, endless, ended] =
            [&*brief, ENDLESS, ENDLESS].map(|task| begin(&upstream, &connection, task).expect("room"));
        // Everybody waits for the first time.
        tokio::time::sleep(Duration::from_millis(1)).await;
        upstream.bridged_tasks.get(&ended).expect("kept").ended();
        let check = async |wait: Duration, expected: [bool; 3]| {
            tokio::time::sleep(wait).await;
            let kept = [&brief, &endless, &ended].map(|key| upstream.bridged_tasks.get(key).is_some());
            assert_eq!(kept, expected, "{wait:?}");
        };
        let moment = Duration::from_millis(2);
        check(Duration::from_millis(998), [true; 3]).await;
        check(moment, [false, true, true]).await;
        check(ENDED_KEPT, [false, true, false]).await;
        check(KEPT_MAX - ENDED_KEPT - Duration::from_secs(2), [false, true, false]).await;
        check(Duration::from_secs(2), [false; 3]).await;
    }

    #[tokio::test]
    async fn what_cannot_be_given_to_the_client_is_followed_instead() {
        let (upstream, connection) = (upstream(), Connection::unsent(Revision::V2025_11_25));
        let undated = ENDLESS.replace("createdAt", "x");
        for created in [r#"{"content":[]}"#, &undated] {
            assert_eq!(begin(&upstream, &connection, created), None, "{created}");
        }
        for _ in 0..TASKS_MAX {
            assert!(begin(&upstream, &connection, ENDLESS).is_some());
        }
        assert_eq!(begin(&upstream, &connection, ENDLESS), None, "there is no more room");
        for broken in [r#"{"task":{"status":"working"}}"#, r#"{"task":{"taskId":"t","status":"odd"}}"#] {
            let begun = super::begin(&upstream, &connection, &text(broken), &context("{}"));
            assert_eq!(begun.expect_err("refused").code(), "upstream_broken");
        }
    }
}

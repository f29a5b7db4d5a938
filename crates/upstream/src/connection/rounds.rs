//! Asking a server on behalf of a client, and going on with a call that had to ask the client in between.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};
use tool_api::Client;
use wire::message::Text;

use super::asked::{self, QUESTIONS_MAX, Question};
use super::call::Call;
use super::caller::{Caller, caller};
use super::era::is_replaced;
use super::exchange::Waiting;
use super::open::Connection;
use super::pending::{Happening, Next, Reply};
use super::request::{AGAIN, Answer, Request};
use super::transport::Transport;
use crate::fault::Fault;
use crate::profiles::Profile;
use crate::slots::CallSlot;

/// Questions that a server asks at once are passed on at once: it has this long after the first.
const QUESTIONS_WAIT: Duration = Duration::from_millis(5);

impl Connection {
    /// Asks and waits for the answer. Without a limit of its own: dropping the future gives up, and tells the
    /// server so if it was asked for a call.
    /// A call gives back its slot while it waits for its client.
    ///
    /// `turn` is the request that was opened for a call when it had its turn.
    pub(crate) async fn request(
        &self,
        slot: CallSlot,
        turn: Option<Waiting>,
        request: Request<'_>,
    ) -> Result<Answer, Fault> {
        let (method, cx) = (request.method, request.cx);
        if let Some(cx) = cx {
            self.tell_level(cx).await;
        }
        let waiting = match turn {
            Some(waiting) => waiting,
            None => self.exchange().begin(cx.map(|cx| caller(method, None, cx)))?,
        };
        self.send(slot, waiting, request, cx.map(|cx| &cx.client)).await
    }

    /// Waits for the result of a task of 2025-11-25, for `client`, which is asked what the task asks. Dropping the future
    /// tells the server that nobody waits any more, and leaves the task as it is.
    pub(crate) async fn task_result(
        &self,
        task: &Arc<str>,
        request: Request<'_>,
        caller: Caller,
        client: &Client,
    ) -> Result<Answer, Fault> {
        let waiting = self.exchange().begin_for_task(caller, task)?;
        self.send(CallSlot::default(), waiting, request, Some(client)).await
    }

    async fn send(
        &self,
        slot: CallSlot,
        waiting: Waiting,
        request: Request<'_>,
        client: Option<&Client>,
    ) -> Result<Answer, Fault> {
        let (method, modern) = (request.method, self.is_modern());
        let fill = |transport: &Transport, id: u64| {
            let params = self.envelope.put(request.params, request.cx, request.capabilities.as_deref(), id);
            transport.send(id, modern, &Request { params, ..request })
        };
        let mut call = Call::send(&self.transport, waiting, fill, modern, slot)?;
        call.cancels = client.is_some();
        tracing::debug!(target: "upstream", upstream = %self.transport.exchange.upstream, id = call.waiting.id, method, "request");
        self.wait(call, client).await
    }

    /// Goes on with a call that waits for its client, with what the client answers: an object with an answer
    /// under each key of [`Answer::Asked`]. What is missing is asked for again. It goes on without a slot.
    ///
    /// # Errors
    /// [`Fault::Round`] if there is no such call any more, or an answer is none.
    pub(crate) async fn resume(
        &self,
        state: &str,
        responses: Option<&Bytes>,
        caller: Caller,
        client: &Client,
    ) -> Result<Answer, Fault> {
        let gone = "the call that this goes on with has ended or waited too long; make a new call";
        let mut call = self.suspended.take(state).ok_or_else(|| Fault::Round(gone.to_owned()))?;
        call.waiting.exchange.pending.now_for(call.waiting.id, caller);
        let caught_up = call.catch_up(client.conversation)?;
        let responses = responses.and_then(|responses| Text::check(responses.clone()).ok());
        let responses = responses.as_ref().and_then(Text::object);
        let answer = |key: &str| responses.and_then(|responses| responses.get(key));
        let is_unfit = |(key, question): &&(String, Question)| {
            answer(key).is_some_and(|answer| !question.kind.is_answer(answer))
        };
        let unfit = call.open.iter().find(is_unfit);
        if let Some(reply) = caught_up {
            // What is still open was asked by another call of this client.
            if unfit.is_none() {
                call.answer_questions(answer);
            }
            return self.judge(reply, Some(client));
        }
        if let Some((key, _)) = unfit {
            return Err(Fault::Round(format!("what was sent under `{key}` is no answer to it")));
        }
        call.answer_questions(answer);
        if call.open.is_empty() { self.wait(call, Some(client)).await } else { self.suspend(call) }
    }

    /// Waits until a call is answered, or its client asked, with whatever else the server asks at the same time.
    async fn wait(&self, mut call: Call, client: Option<&Client>) -> Result<Answer, Fault> {
        let conversation = client.map_or(0, |client| client.conversation);
        let mut collected = None;
        while call.open.len() < QUESTIONS_MAX {
            let next = match collected {
                None => call.next().await,
                Some(collected) => match timeout_at(collected, call.next()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
            };
            match next {
                // It did not wait for the client; another call of this client may.
                Next::Answered(reply) => return self.judge(reply?, client),
                Next::Happened(Happening::Asked(question)) => {
                    call.add(question, conversation);
                    collected.get_or_insert_with(|| Instant::now() + QUESTIONS_WAIT);
                }
                Next::Happened(Happening::Lacking(required)) => return Err(Fault::Lacking(required)),
                Next::Happened(Happening::Acknowledged(_)) => {}
            }
        }
        self.suspend(call)
    }

    fn suspend(&self, mut call: Call) -> Result<Answer, Fault> {
        let requests = asked::requests(&call.open);
        call.suspend();
        let (state, hold) = self.suspended.put(call)?;
        Ok(Answer::Asked { requests, state, hold: Some(hold) })
    }

    fn judge(&self, reply: Reply, client: Option<&Client>) -> Result<Answer, Fault> {
        let error = match reply {
            Ok(result) => return Ok(Answer::Result(result)),
            Err(error) => error,
        };
        if is_replaced(&error, self.is_modern()) {
            // It refused without looking; whoever asked meets it anew and asks again.
            return Err(Fault::NotSent("it speaks another revision than before".to_owned()));
        }
        let (Some(client), false) = (client, self.is_modern()) else { return Ok(Answer::Error(error)) };
        let Some(required) = asked::required(&error) else { return Ok(Answer::Error(error)) };
        if let Some(lacking) = Profile::URL.lacking_in(&client.capabilities) {
            return Err(Fault::Lacking(lacking));
        }
        for (id, key) in required.ids {
            self.transport.exchange.note_elicitation(id, client.conversation, key);
        }
        Ok(Answer::Asked { requests: required.requests, state: AGAIN.into(), hold: None })
    }
}

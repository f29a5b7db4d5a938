//! Asking a server on behalf of a client, and going on with a call that had to ask the client in between.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;
use tool_api::Context;
use wire::message::Text;

use super::asked::{self, QUESTIONS_MAX, Question};
use super::call::Call;
use super::caller::caller;
use super::era::Replaced;
use super::open::Connection;
use super::pending::{Happening, Next, Reply};
use super::request::Outgoing;
use super::request::{AGAIN, Answer, Request};
use super::transport::Transport;
use crate::fault::Fault;
use crate::slots::{CallSlot, CallSlots};

/// Questions that a server asks at once are passed on at once: it has this long after the first.
const QUESTIONS_WAIT: Duration = Duration::from_millis(5);

impl Connection {
    /// Asks and waits for the answer. Without a limit of its own: dropping the future gives up, and tells the
    /// server so if it was asked for a call.
    /// A call gives back its slot while it waits for its client.
    pub(crate) async fn request(&self, slot: CallSlot, request: Request<'_>) -> Result<Answer, Fault> {
        let Request { method, params, cx, name, param_headers } = request;
        if let Some(cx) = cx {
            self.tell_level(cx).await;
        }
        let modern = self.is_modern();
        let fill = |transport: &Transport, id: u64| {
            let params = self.envelope.put(params, cx, id);
            let outgoing =
                Outgoing { id, method, params: &params, modern, name, param_headers: &param_headers };
            transport.send(&outgoing)
        };
        let caller = cx.map(|cx| caller(method, cx));
        let call = Call::send(&self.transport, caller, fill, modern, slot)?;
        tracing::debug!(target: "upstream", upstream = %self.transport.exchange.upstream, id = call.id(), method, "request");
        self.wait(call, cx).await
    }

    /// Goes on with a call that waits for its client, with what the client answers: an object with an answer
    /// under each key of [`Answer::Asked`]. What is missing is asked for again. It takes one of `slots` again.
    ///
    /// # Errors
    /// [`Fault::Round`] if there is no such call any more, or an answer is none.
    pub(crate) async fn resume(
        &self,
        state: &str,
        responses: Option<&Bytes>,
        cx: &Context,
        slots: &CallSlots,
    ) -> Result<Answer, Fault> {
        let gone = "the call that this goes on with has ended or waited too long; make a new call";
        let mut call = self.suspended.take(state).ok_or_else(|| Fault::Round(gone.to_owned()))?;
        call.go_on_for(caller("tools/call", cx));
        let caught_up = call.catch_up(cx.client.conversation)?;
        let responses = responses.and_then(|responses| Text::check(responses.clone()).ok());
        let responses = responses.as_ref().and_then(Text::object);
        let answer = |key: &str| responses.and_then(|responses| responses.get(key));
        let is_unfit = |(key, question): &&(String, Question)| {
            answer(key).is_some_and(|answer| !question.kind.is_answer(answer))
        };
        let unfit = call.open().iter().find(is_unfit);
        if let Some(reply) = caught_up {
            // What is still open was asked by another call of this client.
            if unfit.is_none() {
                call.answer_questions(answer);
            }
            return self.judge(reply, Some(cx));
        }
        if let Some((key, _)) = unfit {
            return Err(Fault::Round(format!("what was sent under `{key}` is no answer to it")));
        }
        call.go_on_in(slots.acquire_again().await);
        call.answer_questions(answer);
        if call.open().is_empty() { self.wait(call, Some(cx)).await } else { self.suspend(call) }
    }

    /// Waits until a call is answered, or its client asked.
    async fn wait(&self, mut call: Call, cx: Option<&Context>) -> Result<Answer, Fault> {
        loop {
            match call.next().await {
                Next::Answered(reply) => return self.judge(reply?, cx),
                Next::Happened(Happening::Asked(question)) => return self.ask(call, question, cx).await,
                Next::Happened(Happening::Lacking(required)) => return Err(Fault::Lacking(required)),
                Next::Happened(Happening::Acknowledged(_)) => {}
            }
        }
    }

    /// Asks the client of a call, with whatever else the server asks at the same time.
    async fn ask(&self, mut call: Call, first: Question, cx: Option<&Context>) -> Result<Answer, Fault> {
        let conversation = cx.map_or(0, |cx| cx.client.conversation);
        call.add(first, conversation);
        let mut collected = pin!(sleep(QUESTIONS_WAIT));
        while call.open().len() < QUESTIONS_MAX {
            tokio::select! {
                biased;
                next = call.next() => match next {
                    // It did not wait for the client; another call of this client may.
                    Next::Answered(reply) => return self.judge(reply?, cx),
                    Next::Happened(Happening::Asked(question)) => call.add(question, conversation),
                    Next::Happened(Happening::Lacking(required)) => return Err(Fault::Lacking(required)),
                    Next::Happened(Happening::Acknowledged(_)) => {}
                },
                () = &mut collected => break,
            }
        }
        self.suspend(call)
    }

    fn suspend(&self, mut call: Call) -> Result<Answer, Fault> {
        let requests = asked::requests(call.open());
        call.suspend();
        let (state, hold) = self.suspended.put(call)?;
        Ok(Answer::Asked { requests, state, hold: Some(hold) })
    }

    fn judge(&self, reply: Reply, cx: Option<&Context>) -> Result<Answer, Fault> {
        let error = match reply {
            Ok(result) => return Ok(Answer::Result(result)),
            Err(error) => error,
        };
        match Replaced::read(&error, self.is_modern()) {
            // It refused without looking; whoever asked meets it anew and asks again.
            Replaced::Certainly => {
                return Err(Fault::NotSent("it speaks another revision than before".to_owned()));
            }
            // The next request meets it anew; this one may have been looked at.
            Replaced::Perhaps if self.transport.is_streamable_http() => {
                self.transport
                    .exchange
                    .retire(&Fault::Gone("may speak another revision than before".to_owned()));
                return Ok(Answer::Error(error));
            }
            Replaced::Perhaps | Replaced::No => {}
        }
        let (Some(cx), false) = (cx, self.is_modern()) else { return Ok(Answer::Error(error)) };
        let Some(required) = asked::required(&error) else { return Ok(Answer::Error(error)) };
        if let Some(lacking) = asked::lacks_urls(&cx.client.capabilities) {
            return Err(Fault::Lacking(lacking.to_owned()));
        }
        for (id, key) in required.ids {
            self.transport.exchange.note_elicitation(id, cx.client.conversation, key);
        }
        Ok(Answer::Asked { requests: required.requests, state: AGAIN.into(), hold: None })
    }
}

//! What a tool asks of a client in the middle of a call: of a legacy client by requests of ours on the stream of
//! that call, of a modern one in the result.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join_all;
use gate::{Cancel, Failure, Redactor, ToolError};
use serde_json::json;
use std::sync::Arc;
use wire::message::Text;
use wire::string::literal;
use wire::{Code, Id, Object, Revision, WireError, meta, patch, string, tasks, write};

use crate::abilities;
use crate::outgoing::Outbox;
use crate::session::{Question, Session};

/// Most rounds of one call of a legacy client. A tool that needs more is going in circles.
const ROUNDS_MAX: u32 = 10;

/// Most things that a tool may ask at once.
const ASKED_AT_ONCE_MAX: usize = 64;

/// How long a client may take to answer: a person may have to.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10 * 60);

/// How long the first pause is before a call that asks for nothing is repeated; each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Longest message of a client's error that is repeated, in characters.
const REFUSAL_CHARS_MAX: usize = 500;

/// Asks a legacy client.
pub(crate) struct Asker<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) redactor: &'a Redactor,
    /// Its `ClientCapabilities` object.
    pub(crate) capabilities: &'a Bytes,
    pub(crate) revision: Revision,
    /// Where requests go; nothing if it takes none.
    pub(crate) outbox: Option<&'a Outbox>,
    pub(crate) cancel: &'a Cancel,
    /// The task of 2025-11-25 that asks, if one does.
    pub(crate) related: Option<&'a str>,
}

/// One thing that a tool asks.
struct Wish<'t> {
    /// The key literal that its answer goes under.
    key: &'t str,
    method: String,
    params: Option<Object<'t>>,
}

/// Reads an `inputRequests` object.
fn read(requests: &Text) -> Result<Vec<Wish<'_>>, ToolError> {
    let bad = |why: &str| ToolError::new("bad_input_request", format!("the tool asks for input, but {why}"));
    let object = requests.object().ok_or_else(|| bad("not in an object"))?;
    let mut wishes = Vec::new();
    for member in object.members() {
        if wishes.len() == ASKED_AT_ONCE_MAX {
            return Err(bad(&format!("for more than {ASKED_AT_ONCE_MAX} things at once")));
        }
        let wish = Object::parse(member.value);
        let method = wish.and_then(|wish| wish.string("method")).ok_or_else(|| bad("names no method"))?;
        let params = wish.and_then(|wish| wish.object("params"));
        wishes.push(Wish { key: member.key_literal(), method: method.into_owned(), params });
    }
    Ok(wishes)
}

fn checked(requests: &Bytes) -> Result<Text, ToolError> {
    Text::check(requests.clone())
        .map_err(|_| ToolError::new("bad_input_request", "the tool asks for input, but not in JSON"))
}

impl Asker<'_> {
    /// Has everything answered and gives the `inputResponses` object, if anything was asked.
    ///
    /// # Errors
    /// Why the call cannot go on, for its model to read.
    pub(crate) async fn ask(&self, requests: Option<&Bytes>, round: u32) -> Result<Option<Bytes>, Failure> {
        if round > ROUNDS_MAX {
            let why = format!("the tool asked for input {ROUNDS_MAX} times and still wants more");
            return Err(ToolError::new("too_many_rounds", why).into());
        }
        let Some(requests) = requests else {
            // The tool only wants to be called again.
            let pause = PAUSE_MAX.min(PAUSE_MIN * 2u32.saturating_pow(round - 1));
            return tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(ToolError::cancelled().into()),
                () = tokio::time::sleep(pause) => Ok(None),
            };
        };
        let requests = checked(requests)?;
        let wishes = read(&requests)?;
        for wish in &wishes {
            self.check(wish)?;
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ToolError::cancelled().into()),
            answers = tokio::time::timeout(ANSWER_WAIT_MAX, self.all(&wishes)) => match answers {
                Ok(answers) => Ok(Some(answers?)),
                Err(_) => {
                    let why = format!("the client did not answer within {ANSWER_WAIT_MAX:?} what the tool asked");
                    Err(ToolError::new("client_silent", why).into())
                }
            },
        }
    }

    /// Only what the client has declared is asked of it.
    fn check(&self, wish: &Wish<'_>) -> Result<(), ToolError> {
        let Wish { method, params, .. } = wish;
        let Some(required) = abilities::missing(self.capabilities, method, *params)
            .map_err(|why| ToolError::new("bad_input_request", why))?
        else {
            return Ok(());
        };
        let why = format!(
            "the tool needs a client with the capability {required}, which this client has not declared"
        );
        let details =
            json!({ "requiredCapabilities": serde_json::from_str::<serde_json::Value>(required).ok() });
        Err(ToolError::new("client_lacks_capability", why).with_details(details))
    }

    async fn all(&self, wishes: &[Wish<'_>]) -> Result<Bytes, ToolError> {
        let Some(outbox) = self.outbox else {
            let why = "the tool asks the client for input, but this client takes no requests: it must accept \
                       text/event-stream";
            return Err(ToolError::new("client_takes_no_requests", why));
        };
        let answers = try_join_all(wishes.iter().map(|wish| self.one(outbox, wish))).await?;
        let mut out = Vec::with_capacity(256);
        for (wish, answer) in wishes.iter().zip(&answers) {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(wish.key.as_bytes());
            out.push(b':');
            out.extend_from_slice(answer.as_str().as_bytes());
        }
        out.extend_from_slice(if out.is_empty() { b"{}" } else { b"}" });
        Ok(out.into())
    }

    async fn one(&self, outbox: &Outbox, wish: &Wish<'_>) -> Result<Text, ToolError> {
        let question = self.session.ask().ok_or_else(|| {
            ToolError::new("client_busy", "the client has too many unanswered requests to be asked for more")
        })?;
        let mut frame = Vec::with_capacity(256);
        let params = self.params(wish, &question.id());
        write::request(&mut frame, &question.id(), &wish.method, params.as_deref().map(str::as_bytes));
        let mut open = Open { question, outbox, is_answered: false };
        let gone = || ToolError::new("client_gone", "the client went away before it answered the tool");
        outbox.send(frame).await.map_err(|_| gone())?;
        let answer = open.question.answered().await.ok_or_else(gone)?;
        open.is_answered = true;
        match answer {
            Ok(result) if result.object().is_some() => Ok(result),
            Ok(_) => {
                let why = format!("the client answered `{}` with something that is no object", wish.method);
                Err(ToolError::new("client_refused", why))
            }
            Err(error) => Err(self.refused(&wish.method, &error)),
        }
    }

    fn refused(&self, method: &str, error: &Text) -> ToolError {
        let message = error.object().and_then(|error| error.string("message")).unwrap_or_default();
        let message: String = message.chars().filter(|char| !char.is_control()).collect();
        // Redact before cutting, or half of a secret could stay.
        let message: String = self.redactor.text(&message).chars().take(REFUSAL_CHARS_MAX).collect();
        let why = format!("the tool asked the client for `{method}`, and the client refused: {message}");
        ToolError::new("client_refused", why)
    }

    /// The parameters as the client's revision knows them, and whose they are if a task asks.
    fn params(&self, wish: &Wish<'_>, id: &Id) -> Option<String> {
        let params = self.known_params(wish, id);
        let Some(task) = self.related else { return params };
        let params = params.unwrap_or_else(|| "{}".to_owned());
        Object::parse(&params).map(|params| tasks::related(params, task))
    }

    fn known_params(&self, wish: &Wish<'_>, id: &Id) -> Option<String> {
        let params = wish.params?;
        if wish.method != "elicitation/create" {
            return Some(params.text().to_owned());
        }
        let by_url = abilities::is_by_url(wish.params);
        if by_url && params.get("elicitationId").is_none() {
            // Required there, and known to nobody else: such an elicitation is finished when it is answered.
            let number = format!("toolcrib-{}-{}", self.session.conversation, id);
            return Some(patch::set(params, "elicitationId", &literal(&number)));
        }
        let unknown = !abilities::has_url_elicitation(self.revision) && params.get("mode").is_some();
        Some(if unknown { patch::remove(params, "mode") } else { params.text().to_owned() })
    }
}

/// A request of ours that the client may be working on. It is told when nobody waits any more.
struct Open<'a> {
    question: Question,
    outbox: &'a Outbox,
    is_answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let params = format!("{{\"requestId\":{}}}", self.question.id());
        let mut frame = Vec::with_capacity(96);
        write::notification(&mut frame, "notifications/cancelled", Some(params.as_bytes()));
        // A client that is gone or reads slowly finds out when it answers.
        let _ = self.outbox.try_send(frame);
    }
}

/// Checks what a modern client is to be asked for, and gives the requests in its form.
///
/// # Errors
/// The client has not declared what is asked for, or no client can be asked it.
pub(crate) fn for_modern(requests: &Bytes, capabilities: &Bytes) -> Result<Bytes, WireError> {
    let internal = |why: String| WireError::new(Code::InternalError, why);
    let text = checked(requests).map_err(|error| internal(error.to_string()))?;
    let wishes = read(&text).map_err(|error| internal(error.to_string()))?;
    let mut is_changed = false;
    let mut out = Vec::with_capacity(requests.len());
    for wish in wishes {
        if let Some(required) =
            abilities::missing(capabilities, &wish.method, wish.params).map_err(internal)?
        {
            return Err(meta::missing_capability(required));
        }
        out.push(if out.is_empty() { b'{' } else { b',' });
        out.extend_from_slice(wish.key.as_bytes());
        out.extend_from_slice(b":{\"method\":");
        string::encode(&wish.method, &mut out);
        if let Some(params) = wish.params {
            out.extend_from_slice(b",\"params\":");
            // The revision without sessions has no ids of elicitations.
            let surplus = wish.method == "elicitation/create" && params.get("elicitationId").is_some();
            is_changed |= surplus;
            let fitting = surplus.then(|| patch::remove(params, "elicitationId"));
            out.extend_from_slice(fitting.as_deref().unwrap_or(params.text()).as_bytes());
        }
        out.push(b'}');
    }
    out.push(b'}');
    Ok(if is_changed { out.into() } else { requests.clone() })
}

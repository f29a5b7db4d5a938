//! Sending one round of a call to a server: again if it certainly or harmlessly can be, and never else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tool_api::{Context, ToolError};

use crate::answer;
use crate::connection::{AGAIN, Answer, Connection, Request};
use crate::fault::Fault;
use crate::turns::{TooMany, Turn};
use crate::upstream::Upstream;

/// This part of a call's time is left when it gives up waiting for its turn, so that it can say so itself.
const LEFT_OF_TIME: u32 = 50;

/// The longest such part.
const LEFT_MAX: Duration = Duration::from_millis(100);

/// How often one round is sent at most.
const TRIES_MAX: usize = 2;

/// What came back of a round, and from where.
pub(crate) struct Round {
    pub(crate) connection: Arc<Connection>,
    /// The call's turn, to be kept while the server is busy with it.
    pub(crate) turn: Turn,
    pub(crate) answer: Result<Answer, Fault>,
}

/// Sends what `request` makes for the connection there is, or goes on with the call that is parked there.
///
/// What the server has not seen (it ended, or forgot our session, since the last call) is sent again. What was
/// lost on the way back is sent again only if the call is `repeatable`.
///
/// # Errors
/// If there is no connection, or `request` refuses. Everything else is in the answer.
pub(crate) async fn send<'r>(
    upstream: &Upstream,
    cx: &Context,
    repeatable: bool,
    request: impl Fn(&Connection) -> Result<Request<'r>, ToolError>,
) -> Result<Round, ToolError> {
    let mut tries = 0;
    let mut turn = None;
    loop {
        tries += 1;
        let held = cx.input().and_then(|input| upstream.parked_at(input.state.as_deref()?));
        let connection = match held {
            Some(connection) => Ok(connection),
            None => {
                // What is done with a task is no new burden.
                if turn.is_none() && cx.key().is_none() && upstream.turns().are_limited() {
                    turn = Some(take_turn(upstream, cx).await?);
                }
                upstream.connection_for(cx).await
            }
        };
        let connection = connection.map_err(|error| answer::unavailable(upstream.name(), &error))?;
        let parked = parked(&connection, cx);
        let answer = match parked {
            Some((state, responses)) => connection.resume(state, responses, cx, upstream.turns()).await,
            None => connection.request_in(turn.clone().unwrap_or_default(), request(&connection)?).await,
        };
        if matches!(answer, Err(Fault::Lacking(_))) {
            upstream.pool().want();
        }
        if let Ok(answer) = &answer {
            upstream.note_holder(&connection, answer);
        }
        let is_unseen = is_unseen(upstream, &connection, &answer);
        let is_lost = matches!(answer, Err(Fault::Gone(_)));
        let again = is_unseen || (is_lost && repeatable);
        if !again || parked.is_some() || tries == TRIES_MAX {
            return Ok(Round { connection, turn: turn.unwrap_or_default(), answer });
        }
    }
}

impl Upstream {
    /// There was no answer to a call that could be used.
    pub(crate) fn failure(&self, fault: &Fault) -> ToolError {
        match fault {
            Fault::Gone(_) if self.stays_ended() => answer::stays_gone(self.name()),
            _ => answer::failed(self.name(), fault),
        }
    }
}

/// Waits for the call's turn, for as long as it is worth it.
async fn take_turn(upstream: &Upstream, cx: &Context) -> Result<Turn, ToolError> {
    let limits = &upstream.settings().limits;
    let waits = limits.call - (limits.call / LEFT_OF_TIME).min(LEFT_MAX);
    match timeout(waits, upstream.turns().take(&cx.client().caller)).await {
        // It may have been given up the moment before.
        Ok(Ok(_)) if cx.cancel().is_cancelled() => Err(ToolError::cancelled()),
        Ok(Ok(turn)) => Ok(turn),
        Ok(Err(TooMany)) => Err(answer::busy(upstream.name())),
        Err(_) => Err(answer::no_turn(upstream.name(), waits, limits.concurrency.unwrap_or(1))),
    }
}

/// Watches the resource that the server knows by `uri`; once more if it has not heard of it.
///
/// # Errors
/// If there is no connection. Everything else is in the answer.
pub(crate) async fn watch(upstream: &Upstream, uri: &str) -> Result<Result<Answer, Fault>, ToolError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let connection = upstream.connection().await;
        let connection = connection.map_err(|error| answer::unavailable(upstream.name(), &error))?;
        let answer = connection.subscribe(uri).await;
        if !is_unseen(upstream, &connection, &answer) || tries == TRIES_MAX {
            return Ok(answer);
        }
    }
}

/// True if the server has certainly not seen what was sent. A connection that shows itself to be of no use is
/// given up; one that refuses access to a single call may still go on with others.
fn is_unseen(upstream: &Upstream, connection: &Connection, answer: &Result<Answer, Fault>) -> bool {
    let is_unseen = matches!(answer, Err(Fault::NotSent(_)));
    let is_refused = matches!(answer, Err(Fault::Access(_) | Fault::SignIn(_))) && !connection.parks_any();
    if let Err(fault) = answer
        && (is_unseen || is_refused)
    {
        upstream.lose(connection.exchange(), fault);
    }
    is_unseen
}

/// What names a call that waits on a legacy connection for its client's answers, and these answers. Modern
/// servers keep nothing in between, so there every round is a request of its own.
fn parked<'c>(connection: &Connection, cx: &'c Context) -> Option<(&'c str, Option<&'c Bytes>)> {
    let input = cx.input().filter(|_| !connection.is_modern())?;
    let state = input.state.as_deref().filter(|state| *state != AGAIN)?;
    Some((state, input.responses.as_ref()))
}

/// The answers and the state that go into the request of a further round to a modern server, as JSON text and as
/// they are.
pub(crate) fn input<'c>(connection: &Connection, cx: &'c Context) -> (Option<&'c str>, Option<&'c str>) {
    let Some(input) = cx.input().filter(|_| connection.is_modern()) else { return (None, None) };
    let responses = input.responses.as_deref().and_then(|text| std::str::from_utf8(text).ok());
    (responses, input.state.as_deref())
}

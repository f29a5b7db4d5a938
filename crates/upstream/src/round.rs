//! Sending one round of a call to a server: again if it certainly or harmlessly can be, and never else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout};
use tool_api::{Context, ToolError};

use crate::answer;
use crate::config::Isolation;
use crate::connection::{Answer, Connection, Request, caller, resumed};
use crate::fault::Fault;
use crate::slots::CallSlot;
use crate::upstream::Upstream;

/// This part of a call's time is left when it gives up waiting for its slot, so that it can say so itself.
const LEFT_OF_TIME: u32 = 50;

/// The longest such part.
const LEFT_MAX: Duration = Duration::from_millis(100);

/// How often one round is sent at most.
const TRIES_MAX: usize = 2;

/// What came back of a round, and from where.
pub(crate) struct Round {
    pub(crate) connection: Arc<Connection>,
    /// The call's slot, to be kept while the server is busy with it.
    pub(crate) slot: CallSlot,
    pub(crate) answer: Result<Answer, Fault>,
}

/// Sends what `request` makes for the connection there is, or goes on with the call that is suspended there. `what` is
/// its method, and the tool or method by which it is known whether such calls ask.
///
/// What the server has not seen (it ended, or forgot our session, since the last call) is sent again. What was
/// lost on the way back is sent again only if the call is `repeatable`.
///
/// # Errors
/// If there is no connection, or `request` refuses. Everything else is in the answer.
pub(crate) async fn send<'r>(
    upstream: &Upstream,
    cx: &Context,
    what: (&str, &str),
    repeatable: bool,
    request: impl Fn(&Connection) -> Result<Request<'r>, ToolError>,
) -> Result<Round, ToolError> {
    let state = cx.input.as_ref().and_then(|input| input.state.as_deref());
    if state.is_some_and(|state| upstream.suspended_at(state).is_some()) {
        return tries(upstream, cx, what, repeatable, request, &mut None).await;
    }
    let admitted = upstream.breaker.admit(Instant::now());
    admitted.map_err(|wait| answer::circuit_open(upstream.name(), wait))?;
    let mut trial = Trial { upstream, cx, sent: None, is_judged: false };
    let round = tries(upstream, cx, what, repeatable, request, &mut trial.sent).await;
    trial.judge(&round);
    round
}

/// What a call shows of its server. One that is dropped after its whole time was not answered.
struct Trial<'c> {
    upstream: &'c Upstream,
    cx: &'c Context,
    /// When it was sent.
    sent: Option<Instant>,
    is_judged: bool,
}

impl Trial<'_> {
    fn judge(&mut self, round: &Result<Round, ToolError>) {
        let Ok(Round { answer, .. }) = round else { return };
        let is_answered = match answer {
            Ok(_) | Err(Fault::Lacking(_) | Fault::Round(_)) => true,
            Err(Fault::Status { status, .. }) if *status < 500 => true,
            Err(Fault::NotSent(_) | Fault::Gone(_) | Fault::Broken(_) | Fault::Status { .. }) => false,
            // What is wrong is ours to put right.
            Err(
                Fault::Busy | Fault::Access(_) | Fault::SignIn(_) | Fault::Scope(_) | Fault::Redirect { .. },
            ) => return,
        };
        self.is_judged = true;
        match is_answered {
            true => self.upstream.breaker.succeeded(),
            false => self.upstream.breaker.failed(Instant::now()),
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if self.is_judged {
            return;
        }
        let (limit, now) = (self.upstream.settings.limits.call, Instant::now());
        let is_late = self.sent.is_some_and(|sent| now >= sent + limit) && !self.cx.cancel.is_cancelled();
        match is_late {
            true => self.upstream.breaker.failed(now),
            false => self.upstream.breaker.undecided(now),
        }
    }
}

/// Sends it as often as it may be.
async fn tries<'r>(
    upstream: &Upstream,
    cx: &Context,
    what: (&str, &str),
    repeatable: bool,
    request: impl Fn(&Connection) -> Result<Request<'r>, ToolError>,
    sent: &mut Option<Instant>,
) -> Result<Round, ToolError> {
    let mut tries = 0;
    let mut slot = CallSlot::default();
    loop {
        tries += 1;
        let held = cx.input.as_ref().and_then(|input| upstream.suspended_at(input.state.as_deref()?));
        let connection = match held {
            Some(connection) => Ok((connection, None)),
            None => {
                // What is done with a task is no new burden.
                if slot.is_none() && cx.key.is_none() && upstream.slots.are_limited() {
                    slot = take_slot(upstream, cx).await?;
                }
                upstream.connection_for(cx, what).await
            }
        };
        let (connection, turn) = connection.map_err(|error| answer::unavailable(upstream.name(), &error))?;
        let suspended = suspended(&connection, cx);
        *sent = Some(Instant::now());
        let answer = match suspended {
            Some((state, responses)) => {
                let caller = caller("tools/call", None, cx);
                connection.resume(state, responses, caller, &cx.client).await
            }
            None => connection.request(slot.clone(), turn, request(&connection)?).await,
        };
        // Told the truth, it may know another way.
        let is_told = matches!(answer, Err(Fault::Lacking(_))) && upstream.pool.be_truthful();
        let is_unseen = is_unseen(upstream, &connection, &answer);
        let is_lost = matches!(answer, Err(Fault::Gone(_)));
        let again = is_unseen || ((is_lost || is_told) && repeatable);
        if !again || suspended.is_some() || tries == TRIES_MAX {
            return Ok(Round { connection, slot, answer });
        }
    }
}

impl Upstream {
    /// How long a call may wait before it is sent.
    pub(crate) fn waits(&self) -> Duration {
        let call = self.settings.limits.call;
        call - (call / LEFT_OF_TIME).min(LEFT_MAX)
    }

    /// There was no answer to a call that could be used.
    pub(crate) fn failure(&self, fault: &Fault) -> ToolError {
        match fault {
            Fault::Gone(_) if self.stays_ended() && self.settings.life.isolation == Isolation::Shared => {
                answer::stays_gone(self.name(), fault)
            }
            _ => answer::failed(self.name(), fault),
        }
    }
}

/// Waits for the call's slot, for as long as it is worth it.
async fn take_slot(upstream: &Upstream, cx: &Context) -> Result<CallSlot, ToolError> {
    let limits = &upstream.settings.limits;
    let waits = upstream.waits();
    match timeout(waits, upstream.slots.acquire()).await {
        // It may have been given up the moment before.
        Ok(Some(_)) if cx.cancel.is_cancelled() => Err(ToolError::cancelled()),
        Ok(Some(slot)) => Ok(slot),
        Ok(None) => Err(answer::busy(upstream.name())),
        Err(_) => Err(answer::no_slot(upstream.name(), waits, limits.concurrency.unwrap_or(1))),
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
    answer.as_ref().is_err_and(|fault| give_up_unseen(upstream, connection, fault))
}

/// The same for a request that failed so.
pub(crate) fn give_up_unseen(upstream: &Upstream, connection: &Connection, fault: &Fault) -> bool {
    let is_unseen = matches!(fault, Fault::NotSent(_));
    let is_refused = matches!(fault, Fault::Access(_) | Fault::SignIn(_)) && connection.suspended.is_empty();
    if is_unseen || is_refused {
        upstream.lose(connection.exchange(), fault);
    }
    is_unseen
}

/// What names a call that waits on a legacy connection for its client's answers, and these answers. Modern
/// servers keep nothing in between, so there every round is a request of its own.
fn suspended<'c>(connection: &Connection, cx: &'c Context) -> Option<(&'c str, Option<&'c Bytes>)> {
    let state = resumed(cx).filter(|_| !connection.is_modern())?;
    Some((state, cx.input.as_ref()?.responses.as_ref()))
}

/// The answers and the state that go into the request of a further round to a modern server, as JSON text and as
/// they are.
pub(crate) fn input<'c>(connection: &Connection, cx: &'c Context) -> (Option<&'c str>, Option<&'c str>) {
    let Some(input) = cx.input.as_ref().filter(|_| connection.is_modern()) else { return (None, None) };
    let responses = input.responses.as_deref().and_then(|text| std::str::from_utf8(text).ok());
    (responses, input.state.as_deref())
}

#[cfg(test)]
pub(crate) mod tests {
    use oauth::InMemory;
    use sandbox::confine::Confiner;
    use sandbox::{Client, Launcher};
    use tool_api::Cancel;
    use wire::initialize::Ourselves;

    use super::*;
    use crate::answer::tests::context;
    use crate::config::Config;
    use crate::world::World;

    const LIMIT: Duration = Duration::from_secs(8);

    pub(crate) fn upstream() -> Arc<Upstream> {
        let table = Config { command: Some("x".to_owned()), ..Config::default() };
        let settings = table.settle("it", LIMIT, &|_| unreachable!("no reference")).expect("sound");
        let launcher = Launcher { guard: "x".into(), guard_args: Vec::new() };
        let world = World {
            confiner: Arc::new(Confiner::new(launcher.clone())),
            launcher,
            client: Client::new(),
            ourselves: Ourselves { name: "test", version: "0" },
            keeper: Arc::new(InMemory::default()),
            pins: None,
            trace: None,
            watch: None,
        };
        Upstream::new(settings, world)
    }

    /// Whether calls are refused after five that ended like this: after so long, cancelled by their caller or not.
    async fn check(sent: bool, after: Duration, is_cancelled: bool, expected: bool) {
        let (it, cx) = (upstream(), context("{}"));
        let cancel: &Cancel = &cx.cancel;
        for _ in 0..5 {
            let sent = sent.then(Instant::now);
            let trial = Trial { upstream: &it, cx: &cx, sent, is_judged: false };
            tokio::time::advance(after).await;
            if is_cancelled {
                cancel.cancel();
            }
            drop(trial);
        }
        assert_eq!(it.breaker.admit(Instant::now()).is_err(), expected, "{sent} {after:?} {is_cancelled}");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_run_out_of_time_are_failures_and_others_that_end_early_are_none() {
        check(true, LIMIT, false, true).await;
        check(true, LIMIT - Duration::from_millis(1), false, false).await;
        check(true, LIMIT, true, false).await;
        check(false, LIMIT, false, false).await;
    }
}

//! The one subscription of a modern connection: everything of the server that changes without being asked for.
//!
//! When more or less is wanted, a new subscription is opened before the old one is closed, so that nothing is
//! missed in between. One that ends is opened again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use wire::message::Text;
use wire::meta::{self, OwnEnvelope};
use wire::subscriptions::{Filter, TASKS_MAX};
use wire::{Code, Revision};

use super::call::Call;
use super::notice::Notice;
use super::pending::{Happening, Next};
use super::subscribed::Subscribed;
use super::transport::Transport;
use crate::clean;
use crate::fault::Fault;
use crate::kind::Kind;

/// How long a server may take to acknowledge a subscription.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);

/// A subscription that ends at once is opened again after this long, then after twice as long, and so on.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// A subscription that lived this long was a good one.
const GOOD_LIFE: Duration = Duration::from_secs(10);

/// How much of a server's refusal is repeated, in bytes.
const REFUSAL_BYTES_MAX: usize = 500;

/// Errors after which asking again is of no use.
const FINAL: [Code; 4] =
    [Code::MethodNotFound, Code::InvalidParams, Code::MissingClientCapability, Code::UnsupportedVersion];

/// What is wanted of a server, and how far it is granted.
pub(super) struct Listening {
    /// The tasks that are followed, oldest first.
    tasks: Mutex<VecDeque<String>>,
    /// Counts the wishes there have been.
    wished: watch::Sender<u64>,
    /// The last wish that was dealt with, and what came of it.
    granted: watch::Sender<(u64, Result<Filter, Fault>)>,
}

impl Default for Listening {
    fn default() -> Listening {
        Listening {
            tasks: Mutex::default(),
            wished: watch::Sender::new(0),
            granted: watch::Sender::new((0, Ok(Filter::default()))),
        }
    }
}

impl Listening {
    /// Waits until what is watched by now is in force.
    ///
    /// # Errors
    /// If the server does not tell of changes of the resource `uri`.
    pub(super) async fn watch(&self, uri: &str) -> Result<(), Fault> {
        let wish = self.renew();
        let mut granted = self.granted.subscribe();
        let granted = granted.wait_for(|(dealt_with, _)| *dealt_with >= wish).await;
        let granted = granted.map_err(|_| Fault::Gone("ended".to_owned()))?.1.clone()?;
        if granted.uris.iter().any(|granted| granted == uri) {
            return Ok(());
        }
        Err(Fault::Round("it does not tell of changes of this resource".to_owned()))
    }

    /// Something else is watched than before. Returns the number of this wish.
    pub(super) fn renew(&self) -> u64 {
        self.wished.send_modify(|wishes| *wishes += 1);
        *self.wished.borrow()
    }

    /// Hears of the changes of a task.
    pub(super) fn follow(&self, id: &str) {
        {
            let mut tasks = self.tasks();
            if tasks.iter().any(|followed| followed == id) {
                return;
            }
            // The oldest is the one most likely to be over.
            if tasks.len() == TASKS_MAX {
                tasks.pop_front();
            }
            tasks.push_back(id.to_owned());
        }
        self.renew();
    }

    /// True if any task is followed.
    pub(super) fn follows_any(&self) -> bool {
        !self.tasks().is_empty()
    }

    /// A task is over; the next subscription is without it.
    pub(super) fn forget_task(&self, id: &str) {
        self.tasks().retain(|followed| followed != id);
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.tasks.lock().expect("nothing panics while it holds the lock")
    }
}

/// Keeps the subscription.
pub(super) struct Keeper {
    pub(super) transport: Arc<Transport>,
    pub(super) listening: Arc<Listening>,
    pub(super) subscribed: Arc<Subscribed>,
    /// The lists whose changes the server says that it tells of.
    pub(super) lists: Filter,
    pub(super) ourselves: String,
}

/// A subscription that was asked for; nothing if none is wanted.
type Sent = Result<Option<Call>, Fault>;

impl Keeper {
    /// Opens it, opens it again when it ends or something else is wanted, until the connection is over.
    pub(super) async fn keep(self, first: Sent) {
        self.transport.exchange.pending.closed.run_until_cancelled(self.keep_on(first)).await;
    }

    async fn keep_on(&self, first: Sent) {
        let mut first = Some(first);
        let mut wished = self.listening.wished.subscribe();
        let mut current: Option<Call> = None;
        let (mut again, mut has_missed) = (AGAIN_FIRST, false);
        loop {
            let wish = if first.is_some() { 0 } else { *wished.borrow_and_update() };
            let begun = Instant::now();
            let sent = first.take().unwrap_or_else(|| self.send());
            let granted = opened(sent).await.map(|opened| {
                let (call, granted) = opened.unzip();
                // Replacing the old one closes it.
                current = call;
                if current.is_some() && std::mem::take(&mut has_missed) {
                    self.look_at_everything();
                }
                granted.unwrap_or_default()
            });
            // If it failed, the old one goes on, if there is one.
            if let Err(fault) = &granted {
                tracing::debug!(target: "upstream", upstream = %self.transport.exchange.upstream, %fault, "no subscription");
            }
            if current.is_none() || granted.is_ok() {
                self.note_granted(granted.as_ref().map_or(&[], |granted| &granted.uris));
            }
            let is_final = granted.as_ref().map_or_else(is_final, |_| true);
            drop(self.listening.granted.send_replace((wish, granted)));
            tokio::select! {
                _ = wished.changed() => continue,
                () = sleep(again), if !is_final => {}
                () = ended(&mut current) => {
                    (current, has_missed) = (None, true);
                    if begun.elapsed() >= GOOD_LIFE {
                        again = AGAIN_FIRST;
                    }
                    tokio::select! {
                        _ = wished.changed() => {}
                        () = sleep(again) => {}
                    }
                }
            }
            again = (again * 2).min(AGAIN_MAX);
        }
    }

    /// Asks for a subscription to everything that is wanted; nothing if nothing is.
    pub(super) fn send(&self) -> Sent {
        let tasks = self.listening.tasks().iter().cloned().collect();
        let filter = Filter { uris: self.subscribed.all(), tasks, ..self.lists.clone() };
        if filter == Filter::default() {
            return Ok(None);
        }
        let capabilities = match filter.tasks.is_empty() {
            true => "{}",
            false => r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        };
        let envelope = OwnEnvelope {
            revision: Revision::MODERN,
            client: &self.ourselves,
            capabilities,
            log_level: None,
            progress_token: None,
        };
        let params = filter.write_params(meta::write(None, &envelope).as_deref());
        let call = Call::ask(&self.transport, "subscriptions/listen", &params, true)?;
        Ok(Some(call.cancelling()))
    }

    /// The server tells of changes of these resources, and of no others.
    fn note_granted(&self, uris: &[String]) {
        for uri in self.subscribed.all().iter().filter(|uri| !uris.contains(uri)) {
            self.subscribed.set_agreed(uri, false);
        }
    }

    /// What changed while nobody listened is not known.
    fn look_at_everything(&self) {
        let Filter { tools, prompts, resources, .. } = self.lists;
        let lists = [(tools, Kind::Tools), (prompts, Kind::Prompts), (resources, Kind::Resources)];
        for (_, kind) in lists.into_iter().filter(|(is_told, _)| *is_told) {
            self.transport.exchange.notices.hear(Notice::ListChanged(kind));
        }
    }
}

/// What a server says when it refuses: it does not want it, or it may work another time.
fn refused(error: &Text) -> Fault {
    let object = error.object();
    let message = object.and_then(|object| object.string("message")).unwrap_or_default();
    let code = object.and_then(|object| object.get("code")).unwrap_or("no code");
    let why = format!("it refused: {} (code {code})", clean::sentence(&message, REFUSAL_BYTES_MAX));
    match FINAL.iter().any(|known| code.parse() == Ok(known.number())) {
        true => Fault::Round(why),
        false => Fault::Broken(why),
    }
}

/// True if asking again is of no use, or a person has to do something first: whoever does connects us again.
fn is_final(fault: &Fault) -> bool {
    match fault {
        Fault::Round(_) | Fault::Access(_) | Fault::Scope(_) | Fault::Redirect { .. } => true,
        Fault::SignIn(error) => error.needs_a_person(),
        _ => false,
    }
}

/// Waits until a subscription is in force, and returns it with what is granted.
async fn opened(sent: Sent) -> Result<Option<(Call, Filter)>, Fault> {
    let Some(mut call) = sent? else { return Ok(None) };
    let late = |_| Fault::Gone("did not acknowledge a subscription in time".to_owned());
    let granted = timeout(ACKNOWLEDGE_TIMEOUT, acknowledged(&mut call)).await.map_err(late)??;
    Ok(Some((call, granted)))
}

/// Waits for the first word of a subscription.
async fn acknowledged(call: &mut Call) -> Result<Filter, Fault> {
    loop {
        match call.next().await {
            Next::Happened(Happening::Acknowledged(params)) => {
                let broken = |_| Fault::Broken("it acknowledged no subscription".to_owned());
                return Filter::read(Some(&params)).map_err(broken);
            }
            Next::Happened(_) => {}
            Next::Answered(Ok(Err(error))) => return Err(refused(&error)),
            Next::Answered(Ok(Ok(_))) => {
                return Err(Fault::Gone("ended the subscription at once".to_owned()));
            }
            Next::Answered(Err(fault)) => return Err(fault),
        }
    }
}

/// Waits for the end of a subscription, whatever it is; for ever if there is none.
async fn ended(current: &mut Option<Call>) {
    let Some(call) = current else { return std::future::pending().await };
    while let Next::Happened(_) = call.next().await {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &'static str, is_final: bool) {
        let fault = refused(&Text::check(error.into()).expect("JSON"));
        assert_eq!(super::is_final(&fault), is_final, "{error}");
    }

    #[test]
    fn only_what_will_not_change_ends_the_listening() {
        check(r#"{"code":-32601,"message":"Method not found"}"#, true);
        check(r#"{"code":-32602,"message":"Invalid params"}"#, true);
        check(r#"{"code":-32021,"message":"a capability is missing"}"#, true);
        check(r#"{"code":-32022,"message":"Unsupported protocol version"}"#, true);
        check(r#"{"code":-32603,"message":"the database is away"}"#, false);
        check(r#"{"code":-32000,"message":"busy"}"#, false);
        check(r#"{"message":"no code"}"#, false);
        check("5", false);
    }
}

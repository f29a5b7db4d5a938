//! The one subscription of a modern connection: everything of the server that changes without being asked for.
//!
//! When more or less is wanted, a new subscription is opened before the old one is closed, so that nothing is
//! missed in between. One that ends is opened again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use oauth::AuthError;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};
use wire::message::Text;
use wire::meta::{self, OwnEnvelope};
use wire::subscriptions::{Filter, TASKS_MAX};
use wire::{Code, Revision};

use super::call::Call;
use super::exchange::Exchange;
use super::notice::Notice;
use super::pending::{Happening, Next};
use super::server_identity::{ServerIdentity, capability};
use super::subscribed::Subscribed;
use super::transport::Transport;
use crate::clean;
use crate::fault::Fault;
use crate::kind::Kind;

/// How long a server may take to acknowledge a subscription.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);

/// A subscription that ends at once is opened again after this long, then after twice as long, and so on.
pub(super) const AGAIN_FIRST: Duration = Duration::from_secs(1);
pub(super) const AGAIN_MAX: Duration = Duration::from_secs(60);

/// A subscription that lived this long was a good one.
const GOOD_LIFE: Duration = Duration::from_secs(10);

/// How much of a server's refusal is repeated, in bytes.
const REFUSAL_BYTES_MAX: usize = 500;

/// What is wanted of a server, and how far it is granted.
#[derive(Default)]
pub(super) struct Listening {
    shared: Arc<Shared>,
    task: Mutex<Option<Task>>,
}

/// The task that keeps what is wanted; ends with the connection.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the connection and the task share.
struct Shared {
    /// The tasks that are followed, oldest first.
    tasks: Mutex<VecDeque<String>>,
    /// Counts the wishes there have been.
    wished: watch::Sender<u64>,
    /// The last wish that was dealt with, and what came of it.
    granted: watch::Sender<(u64, Result<Filter, Fault>)>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            tasks: Mutex::default(),
            wished: watch::Sender::new(0),
            granted: watch::Sender::new((0, Ok(Filter::default()))),
        }
    }
}

impl Listening {
    /// Opens the subscription and keeps it open from now on.
    pub(super) fn begin(
        &self,
        transport: &Arc<Transport>,
        exchange: &Arc<Exchange>,
        face: &ServerIdentity,
        ourselves: &str,
        subscribed: &Arc<Subscribed>,
    ) {
        let keeper = Keeper {
            transport: transport.clone(),
            exchange: exchange.clone(),
            shared: self.shared.clone(),
            subscribed: subscribed.clone(),
            lists: lists(face),
            ourselves: ourselves.to_owned(),
        };
        // Sent at once where that is possible, so that nothing can change unheard between two requests.
        let first = keeper.send();
        self.keep(keeper.keep(first));
    }

    /// Does the work that keeps what is wanted of the server, in a task of its own. Called once.
    pub(super) fn keep(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Owned by the connection, which aborts it.
        let task = tokio::spawn(work);
        *self.task.lock().expect("nothing panics while it holds the lock") = Some(Task(task.abort_handle()));
    }

    /// Waits until what is watched by now is in force.
    ///
    /// # Errors
    /// If the server does not tell of changes of the resource `uri`.
    pub(super) async fn watch(&self, uri: &str) -> Result<(), Fault> {
        let wish = self.renew();
        let mut granted = self.shared.granted.subscribe();
        let granted = granted.wait_for(|(dealt_with, _)| *dealt_with >= wish).await;
        let granted = granted.map_err(|_| Fault::Gone("ended".to_owned()))?.1.clone()?;
        if granted.uris.iter().any(|granted| granted == uri) {
            return Ok(());
        }
        Err(Fault::Round("it does not tell of changes of this resource".to_owned()))
    }

    /// Something else is watched than before. Returns the number of this wish.
    pub(super) fn renew(&self) -> u64 {
        let mut number = 0;
        self.shared.wished.send_modify(|wishes| {
            *wishes += 1;
            number = *wishes;
        });
        number
    }

    /// Hears of the changes of a task.
    pub(super) fn follow(&self, id: &str) {
        {
            let mut tasks = self.shared.tasks();
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
        !self.shared.tasks().is_empty()
    }

    /// A task is over; the next subscription is without it.
    pub(super) fn forget_task(&self, id: &str) {
        self.shared.tasks().retain(|followed| followed != id);
    }
}

impl Shared {
    fn tasks(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.tasks.lock().expect("nothing panics while it holds the lock")
    }
}

/// The lists whose changes the server says that it tells of.
fn lists(face: &ServerIdentity) -> Filter {
    let tells =
        |name| capability(face, name).and_then(|declared| declared.get("listChanged")) == Some("true");
    Filter {
        tools: tells("tools"),
        prompts: tells("prompts"),
        resources: tells("resources"),
        ..Filter::default()
    }
}

/// Keeps the subscription.
struct Keeper {
    transport: Arc<Transport>,
    exchange: Arc<Exchange>,
    shared: Arc<Shared>,
    subscribed: Arc<Subscribed>,
    lists: Filter,
    ourselves: String,
}

/// A subscription that was asked for; nothing if none is wanted.
type Sent = Result<Option<Call>, Fault>;

/// Errors after which asking again is of no use.
const FINAL: [Code; 4] =
    [Code::MethodNotFound, Code::InvalidParams, Code::MissingClientCapability, Code::UnsupportedVersion];

/// Why a subscription was not opened.
#[derive(Debug, PartialEq, Eq)]
enum Closed {
    /// The server does not want it; asking again is of no use.
    Refused(Fault),
    /// It may work another time.
    Failed(Fault),
}

impl Closed {
    /// The server answered with this error.
    fn by(error: &Text) -> Closed {
        let code = error.object().and_then(|error| error.get("code"));
        let code = code.and_then(|code| code.parse::<i64>().ok());
        let fault = Fault::Round(refusal(error));
        match FINAL.iter().any(|known| code == Some(known.number())) {
            true => Closed::Refused(fault),
            false => Closed::Failed(fault),
        }
    }
}

impl Keeper {
    /// Opens it, opens it again when it ends or something else is wanted, until the connection is over.
    async fn keep(self, first: Sent) {
        let closed = self.exchange.closed().clone();
        tokio::select! {
            () = self.keep_on(first) => {}
            () = closed.cancelled() => {}
        }
    }

    async fn keep_on(&self, first: Sent) {
        let mut first = Some(first);
        let mut wished = self.shared.wished.subscribe();
        let mut current: Option<Call> = None;
        let (mut again, mut has_missed) = (AGAIN_FIRST, false);
        loop {
            let wish = if first.is_some() { 0 } else { *wished.borrow_and_update() };
            let begun = Instant::now();
            let sent = first.take().unwrap_or_else(|| self.send());
            let (granted, retry) = match opened(sent).await {
                Ok(Some((call, granted))) => {
                    // Replacing the old one closes it.
                    current = Some(call);
                    if std::mem::take(&mut has_missed) {
                        self.look_at_everything();
                    }
                    (Ok(granted), None)
                }
                Ok(None) => {
                    current = None;
                    (Ok(Filter::default()), None)
                }
                // The old one goes on, if there is one.
                Err(Closed::Refused(fault)) => (Err(fault), None),
                Err(Closed::Failed(fault)) => (Err(fault), Some(again)),
            };
            if let Err(fault) = &granted {
                tracing::debug!(target: "upstream", upstream = %self.exchange.name(), %fault, "no subscription");
            }
            if current.is_none() || granted.is_ok() {
                self.note_granted(granted.as_ref().map_or(&[], |granted| &granted.uris));
            }
            drop(self.shared.granted.send_replace((wish, granted)));
            tokio::select! {
                _ = wished.changed() => continue,
                () = waited(retry) => {}
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

    fn filter(&self) -> Filter {
        let tasks = self.shared.tasks().iter().cloned().collect();
        Filter { uris: self.subscribed.all(), tasks, ..self.lists.clone() }
    }

    /// Asks for a subscription to everything that is wanted; nothing if nothing is.
    fn send(&self) -> Sent {
        let filter = self.filter();
        if filter == Filter::default() {
            return Ok(None);
        }
        let capabilities = match filter.tasks.is_empty() {
            true => "{}",
            false => r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        };
        let said = OwnEnvelope {
            revision: Revision::MODERN,
            client: &self.ourselves,
            capabilities,
            log_level: None,
            progress_token: None,
        };
        let params = filter.write_params(meta::write(None, &said).as_deref());
        let call = Call::ask(&self.transport, &self.exchange, "subscriptions/listen", &params, true)?;
        Ok(Some(call.cancelling()))
    }

    /// The server tells of changes of these resources, and of no others.
    fn note_granted(&self, uris: &[String]) {
        for uri in self.subscribed.all().iter().filter(|uri| !uris.contains(uri)) {
            self.subscribed.disagree(uri);
        }
    }

    /// What changed while nobody listened is not known.
    fn look_at_everything(&self) {
        let Filter { tools, prompts, resources, .. } = self.lists;
        let lists = [(tools, Kind::Tools), (prompts, Kind::Prompts), (resources, Kind::Resources)];
        for (_, kind) in lists.into_iter().filter(|(is_told, _)| *is_told) {
            self.exchange.hear(Notice::ListChanged(kind));
        }
    }
}

/// What a server says when it refuses.
fn refusal(error: &Text) -> String {
    let object = error.object();
    let said = object.and_then(|object| object.string("message")).unwrap_or_default();
    let code = object.and_then(|object| object.get("code")).unwrap_or("no code");
    format!("it refused: {} (code {code})", clean::sentence(&said, REFUSAL_BYTES_MAX))
}

/// Waits until a subscription is in force, and returns it with what is granted.
async fn opened(sent: Sent) -> Result<Option<(Call, Filter)>, Closed> {
    let Some(mut call) = sent.map_err(Closed::Failed)? else { return Ok(None) };
    let late = |_| Closed::Failed(Fault::Gone("did not acknowledge a subscription in time".to_owned()));
    let granted = timeout(ACKNOWLEDGE_TIMEOUT, acknowledged(&mut call)).await.map_err(late)??;
    Ok(Some((call, granted)))
}

/// Waits for the first word of a subscription.
async fn acknowledged(call: &mut Call) -> Result<Filter, Closed> {
    loop {
        match call.next().await {
            Next::Happened(Happening::Acknowledged(params)) => {
                let broken = |_| Closed::Failed(Fault::Broken("it acknowledged no subscription".to_owned()));
                return Filter::read(Some(&params)).map_err(broken);
            }
            Next::Happened(_) => {}
            Next::Answered(Ok(Err(error))) => return Err(Closed::by(&error)),
            Next::Answered(Ok(Ok(_))) => {
                return Err(Closed::Failed(Fault::Gone("ended the subscription at once".to_owned())));
            }
            Next::Answered(Err(fault @ (Fault::Access(_) | Fault::Scope(_) | Fault::Redirect { .. }))) => {
                return Err(Closed::Refused(fault));
            }
            // A person has to do something first, and whoever does connects us again.
            Next::Answered(Err(Fault::SignIn(
                error @ (AuthError::NeedsSignIn { .. } | AuthError::NeedsRegistration(_)),
            ))) => return Err(Closed::Refused(Fault::SignIn(error))),
            Next::Answered(Err(fault)) => return Err(Closed::Failed(fault)),
        }
    }
}

/// Waits for the end of a subscription, whatever it is; for ever if there is none.
async fn ended(current: &mut Option<Call>) {
    let Some(call) = current else { return std::future::pending().await };
    while let Next::Happened(_) = call.next().await {}
}

/// Waits for as long as this, or for ever.
async fn waited(limit: Option<Duration>) {
    match limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &'static str, is_final: bool) {
        let closed = Closed::by(&Text::check(error.into()).expect("JSON"));
        assert_eq!(matches!(closed, Closed::Refused(_)), is_final, "{error}");
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

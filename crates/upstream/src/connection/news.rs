//! What is told without being asked: which of it a server is to tell, in either era.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};
use wire::message::Text;

use super::call::Call;
use super::exchange::Exchange;
use super::listen::{AGAIN_FIRST, AGAIN_MAX};
use super::open::Connection;
use super::pending::Reply;
use super::request::Answer;
use super::subscribed::{Added, Subscribed};
use super::transport::Transport;
use crate::fault::Fault;

/// How long a server may take to begin or end a subscription.
const NOTE_TIMEOUT: Duration = Duration::from_secs(10);

impl Connection {
    /// Begins to hear of changes of the resource `uri`. Counted: as many ends as beginnings stop it. It is
    /// remembered beyond this connection, and begun again on the next.
    ///
    /// # Errors
    /// [`Fault::Round`] if no more can be watched, or the server does not tell of this one.
    pub(crate) async fn subscribe(&self, uri: &str) -> Result<Answer, Fault> {
        match self.subscribed.add(uri) {
            Added::Another => return Ok(Answer::Result(nothing())),
            Added::Full => return Err(Fault::Round("no more resources can be watched at once".to_owned())),
            Added::Unasked => {}
        }
        // A caller that gives up has not subscribed.
        let mut forget = ForgetOnDrop { subscribed: &self.subscribed, uri: Some(uri) };
        let answer = if self.is_modern() {
            in_time(self.listening.watch(uri)).await.map(|()| Answer::Result(nothing()))
        } else {
            self.note("resources/subscribe", uri).await
        };
        if matches!(answer, Ok(Answer::Result(_))) {
            forget.uri = None;
            self.subscribed.agree(uri);
        }
        answer
    }

    /// Ends hearing of changes of the resource `uri`, once.
    pub(crate) async fn unsubscribe(&self, uri: &str) -> Result<Answer, Fault> {
        if !self.subscribed.remove(uri) {
            return Ok(Answer::Result(nothing()));
        }
        if self.is_modern() {
            self.listening.renew();
            return Ok(Answer::Result(nothing()));
        }
        let answer = self.note("resources/unsubscribe", uri).await;
        if self.subscribed.has(uri) {
            // Somebody came while the end was on its way, and may have been overtaken by it.
            self.note("resources/subscribe", uri).await?;
        }
        answer
    }

    /// Hears of the changes of a task from now on, until it has come to its end.
    pub(crate) fn follow_task(&self, id: &str) {
        self.listening.follow(id);
    }

    /// Tells a legacy server of a subscription or its end.
    async fn note(&self, method: &'static str, uri: &str) -> Result<Answer, Fault> {
        let reply = note(&self.transport, &self.exchange, method, uri).await?;
        Ok(reply.map_or_else(Answer::Error, Answer::Result))
    }

    /// Begins to hear of everything that changes, and of the resources that were watched on the connection
    /// before. Called once.
    pub(crate) async fn listen(&self) {
        if self.is_modern() {
            let (transport, exchange) = (&self.transport, &self.exchange);
            return self.listening.begin(
                transport,
                exchange,
                &self.face,
                self.envelope.ourselves(),
                &self.subscribed,
            );
        }
        let watcher = Watcher {
            transport: self.transport.clone(),
            exchange: self.exchange.clone(),
            subscribed: self.subscribed.clone(),
        };
        let refused = watcher.watch(self.subscribed.all()).await;
        if !refused.is_empty() {
            tracing::warn!(target: "upstream", upstream = %self.exchange.name(), resources = refused.len(), "resources are not watched any more");
            self.listening.keep(watcher.insist(refused));
        }
    }

    /// Takes note of how a followed task is doing: `params` are those of `notifications/tasks`. Nobody needs to
    /// hear any more of one that is over.
    pub(crate) fn note_task(&self, id: &str, params: &Bytes) {
        let params = Text::check(params.clone()).ok();
        let status = params.as_ref().and_then(Text::object).and_then(|task| task.string("status"));
        if matches!(status.as_deref(), Some("completed" | "failed" | "cancelled")) {
            self.listening.forget_task(id);
        }
    }
}

/// Watches on a legacy connection what was watched on the one before.
struct Watcher {
    transport: Arc<Transport>,
    exchange: Arc<Exchange>,
    subscribed: Arc<Subscribed>,
}

impl Watcher {
    /// Asks for each of these, and returns those that the server does not tell of.
    async fn watch(&self, uris: Vec<String>) -> Vec<String> {
        let mut refused = Vec::new();
        for uri in uris {
            let reply = note(&self.transport, &self.exchange, "resources/subscribe", &uri).await;
            if matches!(reply, Ok(Ok(_))) {
                self.subscribed.agree(&uri);
            } else {
                // Whoever comes now asks for himself, and hears the truth.
                self.subscribed.disagree(&uri);
                refused.push(uri);
            }
        }
        refused
    }

    /// Asks for them again and again, for as long as somebody watches them and the connection lives.
    async fn insist(self, mut uris: Vec<String>) {
        let mut again = AGAIN_FIRST;
        while !self.exchange.closed().is_cancelled() {
            sleep(again).await;
            again = (again * 2).min(AGAIN_MAX);
            uris.retain(|uri| self.subscribed.is_unagreed(uri));
            if uris.is_empty() {
                return;
            }
            uris = self.watch(uris).await;
        }
    }
}

/// Tells a legacy server of a subscription or its end.
async fn note(
    transport: &Arc<Transport>,
    exchange: &Arc<Exchange>,
    method: &'static str,
    uri: &str,
) -> Result<Reply, Fault> {
    let mut params = b"{\"uri\":".to_vec();
    wire::string::encode(uri, &mut params);
    params.push(b'}');
    in_time(Call::ask(transport, exchange, method, &params, false)?.answer()).await
}

async fn in_time<T>(noting: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = |_| Fault::Gone("did not take note in time".to_owned());
    timeout(NOTE_TIMEOUT, noting).await.map_err(late)?
}

/// An empty result.
fn nothing() -> Text {
    Text::check(Bytes::from_static(b"{}")).expect("an empty object is JSON")
}

/// Forgets a subscription that was not made.
struct ForgetOnDrop<'s> {
    subscribed: &'s Subscribed,
    uri: Option<&'s str>,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(uri) = self.uri {
            self.subscribed.remove(uri);
        }
    }
}

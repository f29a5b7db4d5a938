//! What is told without being asked: which of it a server is to tell, in either era.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use wire::message::Text;
use wire::string::literal;
use wire::subscriptions::Filter;

use super::call::Call;
use super::listen::Keeper;
use super::open::Connection;
use super::request::Answer;
use super::subscribed::{Added, Subscribed};
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
            self.subscribed.set_agreed(uri, true);
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
        let params = format!("{{\"uri\":{}}}", literal(uri));
        let call = Call::ask(&self.transport, method, params.as_bytes(), false)?;
        Ok(in_time(call.answer()).await?.map_or_else(Answer::Error, Answer::Result))
    }

    /// Begins to hear of everything that changes, and of the resources that were watched on the connection
    /// before. Called once.
    pub(crate) async fn listen(&self) {
        if self.is_modern() {
            return self.keep_listening();
        }
        for uri in self.subscribed.all() {
            let is_agreed = matches!(self.note("resources/subscribe", &uri).await, Ok(Answer::Result(_)));
            // If not, whoever comes now asks for himself, and hears the truth.
            self.subscribed.set_agreed(&uri, is_agreed);
            if !is_agreed {
                tracing::warn!(target: "upstream", upstream = %self.transport.exchange.upstream, "a resource is not watched any more");
            }
        }
    }

    fn keep_listening(&self) {
        let tells = |name| {
            let declared = self.capability(name).and_then(|declared| declared.get("listChanged"));
            declared == Some("true")
        };
        let (tools, prompts, resources) = (tells("tools"), tells("prompts"), tells("resources"));
        let keeper = Keeper {
            transport: self.transport.clone(),
            listening: self.listening.clone(),
            subscribed: self.subscribed.clone(),
            lists: Filter { tools, prompts, resources, ..Filter::default() },
            ourselves: self.envelope.ourselves().to_owned(),
        };
        // Sent at once where that is possible, so that nothing can change unheard between two requests.
        let first = keeper.send();
        self.keeper.lock().expect("nothing panics while it holds the lock").spawn(keeper.keep(first));
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

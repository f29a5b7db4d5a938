//! `subscriptions/listen`: first what is honoured of the client's wishes, then what happens, each message under the
//! subscription's id, until the client or we end it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use gate::jobs::JobId;
use gate::{Cancel, Client, Event, Task, Versions};
use tokio::sync::OwnedSemaphorePermit;
use wire::message::Text;
use wire::string::literal;
use wire::subscriptions::{self, Filter};
use wire::{Id, Object, Revision, WireError, patch, relayed::Relayed, resources};

use super::request::Request;
use crate::list_kind::{PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED};
use crate::notification_stream::{News, NotificationStream};
use crate::outgoing::{Now, Outbox, Reply, invalid_request};
use crate::session::{InFlight, LISTENS_MAX, Session};
use crate::subscription::ResourceSubscription;
use crate::task_view::TaskView;
use crate::watched_tasks::WatchedTasks;
use crate::{Server, abilities};

/// How many resources one subscription subscribes to at the same time.
const BEGINNING_AT_ONCE_MAX: usize = 16;

/// How long the sources have to begin watching. What takes longer is not honoured.
const BEGIN_WAIT_MAX: Duration = Duration::from_secs(5);

/// What is told of a task that has changed.
const TASK_CHANGED: &str = "notifications/tasks";

/// Answers `subscriptions/listen`.
pub(super) fn listen(request: &mut Request<'_>) -> Result<Now, WireError> {
    let filter = Filter::read(request.params.as_ref())?;
    if !filter.tasks.is_empty() {
        abilities::check_tasks(request.capabilities())?;
    }
    let in_flight = request.begin()?;
    let place = request.session.listen().ok_or_else(|| {
        invalid_request(format_args!("at most {LISTENS_MAX} subscriptions can be open at once"))
    })?;
    let outbox = (request.outbox)()
        .ok_or_else(|| invalid_request("a subscription needs a stream: accept text/event-stream"))?;
    let subscription = Subscription {
        server: request.server.clone(),
        session: request.session.clone(),
        id: request.id.clone(),
        filter,
        tasks: Vec::new(),
        own_tasks: Arc::default(),
        revision: request.revision(),
        client: request.client().0,
        outbox,
        in_flight,
        _place: place,
    };
    Ok(Now::Later(Box::pin(subscription.run())))
}

/// One subscription.
struct Subscription {
    server: Arc<Server>,
    session: Arc<Session>,
    id: Id,
    /// What is wanted; once acknowledged, what is honoured.
    filter: Filter,
    /// The tasks of sources that are wanted, with the names that the client knows them by.
    tasks: Vec<(Task, String)>,
    /// Those that are jobs of ours.
    own_tasks: Arc<WatchedTasks>,
    revision: Revision,
    client: Client,
    outbox: Outbox,
    in_flight: InFlight,
    /// Its place among those that may be open.
    _place: OwnedSemaphorePermit,
}

impl Subscription {
    async fn run(mut self) -> Option<Reply> {
        let server = self.server.clone();
        let cancel = self.in_flight.cancel.clone();
        let frame = tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            () = server.stopping.cancelled() => subscriptions::ended(&self.id),
            () = self.serve(&cancel) => return None,
        };
        Some(Reply { frame, code: None })
    }

    /// Tells what happens until the client is gone.
    async fn serve(&mut self, cancel: &Cancel) {
        let catalog = self.server.gate.catalog().clone();
        // From here on nothing is missed, though it is told only after the acknowledgement.
        let mut notifications = NotificationStream::new(&catalog);
        let mut shown = catalog.offer().versions;
        let subscribed = self.begin_subscriptions(cancel).await;
        for token in std::mem::take(&mut self.filter.tasks) {
            if self.begin_to_watch(&token).await {
                self.filter.tasks.push(token);
            }
        }
        let acknowledged = subscriptions::acknowledged(&self.id, &self.filter);
        if self.outbox.send(acknowledged).await.is_err() {
            return;
        }
        loop {
            let frames = tokio::select! {
                news = notifications.next(|event| self.wants(event, &subscribed)) => {
                    self.written(&news, &mut shown)
                }
                task = self.news_of_own_tasks() => {
                    vec![subscriptions::tagged(TASK_CHANGED, Object::parse(&task), &self.id)]
                }
            };
            for frame in frames {
                if self.outbox.send(frame).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Watches the task of this name; false if there is none for this caller. What stands of a job of ours by then is told
    /// first, so that nothing falls between its beginning and the subscription.
    async fn begin_to_watch(&mut self, token: &str) -> bool {
        let (gate, caller) = (&self.server.gate, &self.session.caller);
        if let (Some(jobs), Some(id)) = (gate.jobs(), JobId::parse(token)) {
            let is_theirs = jobs.get(caller, token).await.is_ok() && self.own_tasks.add(&id, None);
            if is_theirs {
                jobs.watch(&id, &self.own_tasks);
            }
            return is_theirs;
        }
        let task = gate.open_task_token(caller, token).await;
        let is_theirs = task.is_some();
        self.tasks.extend(task.map(|task| (task, token.to_owned())));
        is_theirs
    }

    async fn news_of_own_tasks(&self) -> String {
        let (server, caller, capabilities) = (&*self.server, &self.session.caller, &self.client.capabilities);
        TaskView { server, caller, revision: self.revision, capabilities }.news(&self.own_tasks).await
    }

    /// Subscribes to the resources, and keeps in the filter those for which that was done. They are watched as
    /// long as what is returned is kept.
    async fn begin_subscriptions(&mut self, cancel: &Cancel) -> HashMap<Arc<str>, ResourceSubscription> {
        let wanted = std::mem::take(&mut self.filter.uris);
        let mut begun = HashMap::with_capacity(wanted.len());
        let (server, caller) = (&self.server, &self.session.caller);
        let begin = |uri: String| {
            let (client, cancel) = (self.client.clone(), cancel.clone());
            async move { ResourceSubscription::begin(server, caller, client, &uri, cancel).await.ok() }
        };
        let mut beginning =
            stream::iter(wanted.iter().cloned()).map(begin).buffer_unordered(BEGINNING_AT_ONCE_MAX);
        let all = async {
            while let Some(subscription) = beginning.next().await {
                begun.extend(subscription.map(|subscription| (subscription.uri().clone(), subscription)));
            }
        };
        // What is not done in time is not in the acknowledgement, and its subscription ends as it is dropped.
        let _ = tokio::time::timeout(BEGIN_WAIT_MAX, all).await;
        drop(beginning);
        self.filter.uris = wanted.into_iter().filter(|uri| begun.contains_key(uri.as_str())).collect();
        begun
    }

    fn wants(&self, event: &Event, subscribed: &HashMap<Arc<str>, ResourceSubscription>) -> bool {
        match event {
            Event::ResourceUpdated { uri, caller } => {
                self.session.may_know(caller) && subscribed.contains_key(uri)
            }
            Event::Task { source, id, .. } => self.task(source, id).is_some(),
            // The modern revision has no end of an elicitation.
            Event::ElicitationComplete { .. } => false,
            // A modern client is told what it has subscribed to, and nobody subscribes to what the protocol does not have.
            Event::Foreign { .. } => false,
        }
    }

    /// The task, and what the client knows it by, if it has asked for it.
    fn task(&self, source: &str, id: &str) -> Option<&(Task, String)> {
        self.tasks.iter().find(|(task, _)| *task.source == *source && *task.id == *id)
    }

    fn written(&self, news: &News, shown: &mut Versions) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut tell = |method: &str, params: Option<&str>| {
            frames.push(subscriptions::tagged(method, params.and_then(Object::parse), &self.id));
        };
        if let Some(now) = &news.versions {
            let before = std::mem::replace(shown, *now);
            let lists = [
                (TOOLS_CHANGED, self.filter.tools && before.tools != now.tools),
                (PROMPTS_CHANGED, self.filter.prompts && before.prompts != now.prompts),
                (RESOURCES_CHANGED, self.filter.resources && before.resources != now.resources),
            ];
            lists.iter().filter(|(_, changed)| *changed).for_each(|(method, _)| tell(method, None));
        }
        let mut updated = |uri: &str| {
            let params = resources::write_uri_params(uri, &Relayed::default());
            tell(RESOURCE_UPDATED, std::str::from_utf8(&params).ok());
        };
        // Which resources changed is not known if events were missed; looking again does no harm.
        match news.missed {
            true => self.filter.uris.iter().for_each(|uri| updated(uri)),
            false => news.updated.iter().for_each(|uri| updated(uri)),
        }
        for ((source, id), task) in &news.tasks {
            let Some((known, token)) = self.task(source, id) else { continue };
            let told = self.server.gate.task_news(known, task).and_then(Text::known);
            if let Some(task) = told.as_ref().and_then(Text::object) {
                tell(TASK_CHANGED, Some(&patch::set(task, "taskId", &literal(token))));
            }
        }
        frames
    }
}

//! What a legacy client is told without being asked: changed lists, changed resources that it watches, elicitations that
//! are finished, its tasks that are jobs of ours, and what servers tell under methods that the protocol does not have.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use wire::relayed::Relayed;
use wire::string::literal;
use wire::{resources, write};

use crate::Server;
use crate::list_kind::RESOURCE_UPDATED;
use crate::notification_stream::{News, NotificationStream};
use crate::session::Session;
use crate::task_view::TaskView;

/// What is told of an elicitation in URL mode that is finished.
const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// What is told of a task of 2025-11-25 whose status has changed.
const TASK_STATUS: &str = "notifications/tasks/status";

/// Writes what one session is to be told. Each change is told once to a session, however many notifiers it
/// has.
pub(crate) struct Notifier {
    server: Arc<Server>,
    session: Arc<Session>,
    notifications: NotificationStream,
    ready: VecDeque<Vec<u8>>,
}

impl Notifier {
    /// For one session. What changed since the client last looked is told first.
    pub(crate) fn new(server: &Arc<Server>, session: Arc<Session>) -> Notifier {
        let mut notifications = NotificationStream::new(server.gate().catalog());
        notifications.catch_up();
        Notifier { server: server.clone(), session, notifications, ready: VecDeque::new() }
    }

    /// The next frame. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return frame;
            }
            let gate = self.server.gate();
            let news = tokio::select! {
                news = self.notifications.next(|event| self.session.wants(event, gate)) => news,
                task = news_of_tasks(&self.server, &self.session) => {
                    let mut frame = Vec::with_capacity(96 + task.len());
                    write::notification(&mut frame, TASK_STATUS, Some(task.as_bytes()));
                    return frame;
                }
            };
            self.write(&news);
        }
    }

    fn write(&mut self, news: &News) {
        let mut tell = |method: &str, params: Option<&[u8]>| {
            let mut frame = Vec::with_capacity(96 + params.map_or(0, <[u8]>::len));
            write::notification(&mut frame, method, params);
            self.ready.push_back(frame);
        };
        if let Some(versions) = &news.versions {
            self.session.seen.news(versions).for_each(|method| tell(method, None));
        }
        // Which resources changed is not known if events were missed; looking again does no harm.
        let updated = if news.missed { &self.session.subscribed() } else { &news.updated };
        for uri in updated {
            tell(RESOURCE_UPDATED, Some(&resources::write_uri_params(uri, &Relayed::default())));
        }
        for id in &news.finished {
            let params = format!("{{\"elicitationId\":{}}}", literal(id));
            tell(ELICITATION_COMPLETE, Some(params.as_bytes()));
        }
        let redactor = self.server.gate().redactor();
        for (method, params) in &news.foreign {
            // A secret in its name leaves no name to tell it by.
            if redactor.strike(method).is_some() {
                continue;
            }
            let clean = |params: &Bytes| redactor.json(params).map_or(params.clone(), |struck| struck.bytes);
            tell(method, params.as_ref().map(clean).as_deref());
        }
    }
}

/// The next task of the session that stands otherwise than its client knows. Nothing is lost if the future is dropped.
async fn news_of_tasks(server: &Server, session: &Session) -> String {
    let (caller, revision) = (&session.caller, session.revision());
    TaskView { server, caller, revision, capabilities: &Bytes::new() }.news(&session.tasks).await
}

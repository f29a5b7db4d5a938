//! What happens that clients may be told of unasked, at a bearable pace: the first news at once, what follows
//! gathered for a moment and each thing told once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gate::{Catalog, Event, Versions};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

/// How long news is gathered after the last was told. Sources may change many times a second; nobody reads
/// lists at that pace.
const PACE: Duration = Duration::from_millis(50);

/// Most finished elicitations that wait to be told; more of them in one moment are none of a person.
const FINISHED_WAITING_MAX: usize = 100;

/// Most notifications of what the protocol does not have that wait to be told; more in one moment are dropped.
const FOREIGN_WAITING_MAX: usize = 100;

/// What has happened since the last time.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The lists as they are now, if one has changed.
    pub(crate) versions: Option<Versions>,
    /// Resources that have changed, each once, in the order of their first change.
    pub(crate) updated: Vec<Arc<str>>,
    /// Tasks that have changed: by source and id, the last state.
    pub(crate) tasks: HashMap<(Arc<str>, Arc<str>), Bytes>,
    /// Elicitations that are finished, by the id they were asked under.
    pub(crate) finished: Vec<Arc<str>>,
    /// What the protocol does not have: methods, and parameters as JSON text.
    pub(crate) foreign: Vec<(Arc<str>, Option<Bytes>)>,
    /// True if some events were missed, so that any resource may have changed.
    pub(crate) missed: bool,
}

impl News {
    fn is_empty(&self) -> bool {
        let News { versions, updated, tasks, finished, foreign, missed } = self;
        let nothing = updated.is_empty() && tasks.is_empty() && finished.is_empty() && foreign.is_empty();
        versions.is_none() && nothing && !missed
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::ResourceUpdated { uri, .. } if self.updated.contains(&uri) => {}
            Event::ResourceUpdated { uri, .. } => self.updated.push(uri),
            Event::Task { source, id, task } => {
                self.tasks.insert((source, id), task);
            }
            Event::ElicitationComplete { id, .. } => {
                if self.finished.len() < FINISHED_WAITING_MAX {
                    self.finished.push(id);
                }
            }
            Event::Foreign { method, params, .. } => {
                if self.foreign.len() < FOREIGN_WAITING_MAX {
                    self.foreign.push((method, params));
                }
            }
        }
    }
}

/// Hears of what happens from its making on.
pub(crate) struct NotificationStream {
    changes: watch::Receiver<Versions>,
    events: broadcast::Receiver<Event>,
    gathered: News,
    /// Nothing is told before.
    quiet_until: Instant,
}

impl NotificationStream {
    pub(crate) fn new(catalog: &Catalog) -> NotificationStream {
        NotificationStream {
            changes: catalog.changes(),
            events: catalog.events(),
            gathered: News::default(),
            quiet_until: Instant::now(),
        }
    }

    /// Takes the lists as they are for news, for whoever may have seen older ones.
    pub(crate) fn catch_up(&mut self) {
        self.changes.mark_changed();
    }

    /// The next news. Of events, those that `wants` lets through; they must be bounded in kind, such as by a list
    /// of what is watched. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self, wants: impl Fn(&Event) -> bool) -> News {
        loop {
            self.take_what_is_there(&wants);
            if !self.gathered.is_empty() && Instant::now() >= self.quiet_until {
                self.quiet_until = Instant::now() + PACE;
                return std::mem::take(&mut self.gathered);
            }
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(self.quiet_until), if !self.gathered.is_empty() => {}
                changed = self.changes.changed() => match changed {
                    Ok(()) => self.changes.mark_changed(),
                    // The catalogue is gone, and with it everything there could be news of.
                    Err(_) => std::future::pending().await,
                },
                event = self.events.recv() => self.hear(event, &wants),
            }
        }
    }

    fn take_what_is_there(&mut self, wants: &impl Fn(&Event) -> bool) {
        if self.changes.has_changed().unwrap_or(false) {
            self.gathered.versions = Some(*self.changes.borrow_and_update());
        }
        loop {
            match self.events.try_recv() {
                Ok(event) => self.hear(Ok(event), wants),
                Err(broadcast::error::TryRecvError::Lagged(_)) => self.gathered.missed = true,
                Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => return,
            }
        }
    }

    fn hear(&mut self, event: Result<Event, broadcast::error::RecvError>, wants: &impl Fn(&Event) -> bool) {
        match event {
            Ok(event) if wants(&event) => self.gathered.add(event),
            Ok(_) => {}
            Err(broadcast::error::RecvError::Lagged(_)) => self.gathered.missed = true,
            // Then the changes are closed, too, and are waited for.
            Err(broadcast::error::RecvError::Closed) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use gate::Features;

    use super::*;

    fn updated(uri: &str) -> Event {
        Event::ResourceUpdated { uri: uri.into(), caller: None }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_news_comes_at_once_and_a_flood_as_one() {
        let catalog = Catalog::new(Vec::new());
        let mut notifications = NotificationStream::new(&catalog);
        let wants = |event: &Event| matches!(event, Event::ResourceUpdated { uri, .. } if &**uri != "u:no");
        assert!(notifications.next(wants).now_or_never().is_none(), "nothing has happened");
        catalog.announce(updated("u:a"));
        let first = notifications.next(wants).now_or_never().expect("at once");
        assert_eq!(first.updated, ["u:a".into()]);
        for _ in 0..300 {
            ["u:a", "u:no", "u:b"].iter().for_each(|uri| catalog.announce(updated(uri)));
            catalog.replace("s", Vec::new(), Features::default());
            assert!(notifications.next(wants).now_or_never().is_none(), "it is quiet for a moment");
        }
        let since = Instant::now();
        let rest = notifications.next(wants).await;
        assert!(since.elapsed() <= PACE);
        assert_eq!(rest.updated, ["u:a".into(), "u:b".into()]);
        assert_eq!(rest.versions, Some(catalog.offer().versions));
        assert!(!rest.missed);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_listens_too_slowly_is_told_that_something_was_missed() {
        let catalog = Catalog::new(Vec::new());
        let mut notifications = NotificationStream::new(&catalog);
        (0..2_000).for_each(|_| catalog.announce(updated("u:a")));
        let news = notifications.next(|_| true).await;
        assert!(news.missed);
        assert_eq!(news.updated.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_feed_that_catches_up_begins_with_the_lists_as_they_are() {
        let catalog = Catalog::new(Vec::new());
        let mut notifications = NotificationStream::new(&catalog);
        notifications.catch_up();
        assert_eq!(notifications.next(|_| true).await.versions, Some(catalog.offer().versions));
    }
}

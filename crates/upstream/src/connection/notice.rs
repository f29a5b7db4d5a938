//! What a server tells without being asked, about no call in particular, until somebody looks after it.
//! However much it tells, little is kept: changes of lists are marks, and later news replaces earlier.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::kind::Kind;

/// News that wait to be looked after; more are dropped, the newest first.
const NEWS_WAITING_MAX: usize = 1_000;

/// One thing that a server tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A list is another one; that of the resources stands for the templates, too.
    ListChanged(Kind),
    /// The resource with this URI, in the server's own terms, has changed.
    ResourceUpdated(String),
    /// A task has changed: the parameters of `notifications/tasks` as JSON text.
    Task { id: String, params: Bytes },
    /// A client has finished what a URL asked it to do.
    ElicitationComplete {
        /// The conversation that was asked.
        conversation: u64,
        /// The key under which it was asked.
        key: String,
    },
    /// Something under a method that we do not know, with its parameters as JSON text.
    Foreign { method: String, params: Option<Bytes> },
}

/// What has been heard and not been looked after.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    kept: Mutex<Kept>,
    /// Tells that a list has changed.
    change: Notify,
    /// Tells that there are other news.
    news: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    changed: Vec<Kind>,
    news: VecDeque<Notice>,
}

impl Notices {
    /// Keeps what was heard; false if there is no room for it.
    pub(crate) fn hear(&self, notice: Notice) -> bool {
        let waiting = if matches!(notice, Notice::ListChanged(_)) { &self.change } else { &self.news };
        let is_kept = self.kept().keep(notice);
        waiting.notify_one();
        is_kept
    }

    /// Returns when lists have changed since the last time; `take_changed` says which.
    pub(crate) async fn change(&self) {
        while self.kept().changed.is_empty() {
            self.change.notified().await;
        }
    }

    /// Which lists have changed since the last time.
    pub(crate) fn take_changed(&self) -> Vec<Kind> {
        std::mem::take(&mut self.kept().changed)
    }

    /// Waits for other news, and returns all since the last time, oldest first.
    pub(crate) async fn news(&self) -> VecDeque<Notice> {
        loop {
            let news = std::mem::take(&mut self.kept().news);
            if !news.is_empty() {
                return news;
            }
            self.news.notified().await;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nothing panics while it holds the lock")
    }
}

impl Kept {
    fn keep(&mut self, notice: Notice) -> bool {
        match &notice {
            Notice::ListChanged(kind) if self.changed.contains(kind) => {}
            Notice::ListChanged(kind) => self.changed.push(*kind),
            _ if self.news.len() >= NEWS_WAITING_MAX => return false,
            Notice::Task { id, .. } => {
                // Only the latest state of a task is of interest.
                self.news.retain(|news| !matches!(news, Notice::Task { id: earlier, .. } if earlier == id));
                self.news.push_back(notice);
            }
            // What it means, and so whether it may come twice, is not known.
            Notice::Foreign { .. } => self.news.push_back(notice),
            Notice::ResourceUpdated(_) | Notice::ElicitationComplete { .. } => {
                if !self.news.contains(&notice) {
                    self.news.push_back(notice);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_leaves_little_behind() {
        let notices = Notices::default();
        for _ in 0..100_000 {
            assert!(notices.hear(Notice::ListChanged(Kind::Tools)));
            assert!(notices.hear(Notice::ResourceUpdated("file:///a".to_owned())));
            assert!(notices.hear(Notice::Task { id: "t".to_owned(), params: Bytes::from_static(b"{}") }));
        }
        assert_eq!(notices.take_changed(), [Kind::Tools]);
        assert_eq!(notices.take_changed(), []);
        assert_eq!(notices.news().await.len(), 2);
        let kept = (0..10_000).filter(|n| notices.hear(Notice::ResourceUpdated(n.to_string()))).count();
        assert_eq!(kept, NEWS_WAITING_MAX);
    }
}

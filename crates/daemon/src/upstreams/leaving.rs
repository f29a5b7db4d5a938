//! Upstreams that no workspace shares any more: they finish the calls that were made to them, for a while, and end.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use gate::Cancel;
use sandbox::ServerFiles;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use upstream::{Settings, Upstream};

/// How long calls under way may still take.
const CALLS_MAX: Duration = Duration::from_secs(30);

/// How often it is looked whether calls are under way. Nobody tells, so that no call has to.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Those that are leaving.
#[derive(Default)]
pub(super) struct Leaving {
    now: Mutex<Now>,
    /// Set when none of them is to be waited for any longer.
    closing: Cancel,
}

#[derive(Default)]
struct Now {
    tasks: JoinSet<()>,
    settings: Vec<(Weak<Upstream>, Settings)>,
}

impl Leaving {
    /// Ends an upstream, and the `tasks` that go on for it, once its calls are done. `make_way` is dropped when the next one may take its place: when this
    /// one has ended, or at once if calls keep it, since the next one need not wait for those.
    pub(super) fn add(
        &self,
        (settings, upstream): (Settings, Arc<Upstream>),
        tasks: Vec<JoinSet<()>>,
        is_replaced: bool,
        make_way: watch::Sender<()>,
    ) {
        if is_replaced {
            // Calls that it has not seen go to the next one.
            upstream.close();
        }
        let closing = self.closing.clone();
        let mut now = self.now();
        now.settings.retain(|(upstream, _)| upstream.strong_count() > 0);
        now.settings.push((Arc::downgrade(&upstream), settings));
        // Those that are done are let go of.
        while now.tasks.try_join_next().is_some() {}
        now.tasks.spawn(async move {
            for mut tasks in tasks {
                tasks.shutdown().await;
            }
            if upstream.has_calls() {
                drop(make_way);
                tokio::select! {
                    () = calls_done(&upstream) => {}
                    () = closing.cancelled() => {}
                }
                upstream.end().await;
            } else {
                upstream.end().await;
                drop(make_way);
            }
        });
    }

    /// The files of those that may still be running.
    pub(super) fn own_files(&self) -> ServerFiles {
        let now = self.now();
        let mut files = ServerFiles::default();
        let left = now.settings.iter().filter(|(upstream, _)| upstream.strong_count() > 0);
        left.for_each(|(_, settings)| files.extend(settings.server_files()));
        files
    }

    /// Ends all that are left, each within its own bound.
    pub(super) async fn end(&self) {
        self.closing.cancel();
        let mut tasks = std::mem::take(&mut self.now().tasks);
        while tasks.join_next().await.is_some() {}
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().expect("nothing panics while it holds the lock")
    }
}

/// Resolves when nobody waits any more, or has waited long enough. Calls that wait for their clients are lost.
async fn calls_done(upstream: &Upstream) {
    let begun = Instant::now();
    while upstream.has_calls() && begun.elapsed() < CALLS_MAX {
        sleep(LOOK_EVERY).await;
    }
}

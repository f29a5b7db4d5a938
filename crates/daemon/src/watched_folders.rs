//! The folders of manifests that a process watches, each once for all workspaces that obey it: a user may have few watches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use sandbox::FolderWatch;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// An editor writes a file in several steps, which are over within this time. What is said here is in force within a second.
const STEPS_OVER_AFTER: Duration = Duration::from_millis(100);

/// All of them.
#[derive(Default)]
pub struct WatchedFolders(Mutex<BTreeMap<PathBuf, Weak<WatchedFolder>>>);

/// One of them, watched until the last copy is dropped.
pub(crate) struct WatchedFolder {
    changes: watch::Receiver<()>,
    watching: JoinHandle<()>,
}

impl Drop for WatchedFolder {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl WatchedFolders {
    /// Watches a folder. Must be called on the runtime.
    pub(crate) fn watch(&self, folder: &Path) -> Arc<WatchedFolder> {
        let mut all = self.0.lock().expect("nothing panics while it holds the lock");
        if let Some(known) = all.get(folder).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, watched| watched.strong_count() > 0);
        let (told, changes) = watch::channel(());
        let watching = tokio::spawn(tell(folder.to_owned(), told));
        let watched = Arc::new(WatchedFolder { changes, watching });
        all.insert(folder.to_owned(), Arc::downgrade(&watched));
        watched
    }
}

impl WatchedFolder {
    /// Hears of every change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.clone()
    }
}

/// Tells of changes of the folder for as long as it can be watched.
async fn tell(folder: PathBuf, told: watch::Sender<()>) {
    let watched = async {
        let mut watch = FolderWatch::new(&folder)?;
        loop {
            watch.changed().await?;
            // Changes of this time are told with it.
            tokio::time::sleep(STEPS_OVER_AFTER).await;
            told.send_replace(());
        }
    };
    let ended: std::io::Result<()> = watched.await;
    if let Err(why) = ended {
        let folder = folder.display();
        tracing::warn!(%folder, %why, "changes here are only noticed when the configuration is read again");
    }
}

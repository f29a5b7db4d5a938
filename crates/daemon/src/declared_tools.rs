//! The tools of one workspace that files of the user's describe: on offer, and kept as the files are.

use std::sync::{Arc, Mutex, MutexGuard};

use config::Manifests;
use gate::{Catalog, DECLARED, Definition, Features};
use tokio::task::JoinHandle;

use crate::watched_folders::{WatchedFolder, WatchedFolders};

/// Those of one workspace. Dropping it watches nothing any more.
pub struct DeclaredTools {
    offered: Arc<OfferedManifests>,
    watching: Mutex<Option<Watching>>,
}

struct OfferedManifests {
    catalog: Arc<Catalog>,
    manifests: Mutex<Manifests>,
}

struct Watching {
    task: JoinHandle<()>,
    /// Kept for as long as the task hears of it.
    _folder: Arc<WatchedFolder>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl DeclaredTools {
    /// Offers those of `manifests`. They come behind all other tools: no name of another's is theirs.
    pub(crate) fn offered(manifests: Manifests, catalog: &Arc<Catalog>) -> DeclaredTools {
        let none = Mutex::new(Manifests::default());
        let offered = Arc::new(OfferedManifests { catalog: catalog.clone(), manifests: none });
        offered.take_up(manifests);
        DeclaredTools { offered, watching: Mutex::default() }
    }

    /// Goes on offering what the files are by then, until this is dropped. Must be called on the runtime.
    pub(crate) fn watch(&self, folders: &WatchedFolders) {
        let Some(folder) = self.offered.manifests().watched().map(|folder| folders.watch(folder)) else {
            return;
        };
        let (mut changes, offered) = (folder.changes(), self.offered.clone());
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let before = offered.manifests().clone();
                // It fails only where the program is ending.
                let Ok(read) = tokio::task::spawn_blocking(move || before.again()).await else { return };
                offered.take_up(read);
            }
        });
        *self.watching.lock().expect("nothing panics while it holds the lock") =
            Some(Watching { task, _folder: folder });
    }

    /// Offers those of `manifests` instead.
    pub(crate) fn take_up(&self, manifests: Manifests) {
        self.offered.take_up(manifests);
    }

    /// What is wrong with the files that describe no tool.
    pub fn problems(&self) -> Vec<String> {
        self.offered.manifests().problems.clone()
    }
}

impl OfferedManifests {
    fn take_up(&self, manifests: Manifests) {
        let mut before = self.manifests();
        for why in manifests.problems.iter().filter(|why| !before.problems.contains(why)) {
            tracing::warn!("{why}; this tool is left out");
        }
        if !reads_alike(&before, &manifests) {
            let collisions = match manifests.tools.is_empty() {
                true => {
                    self.catalog.remove(DECLARED);
                    Vec::new()
                }
                false => self.catalog.replace(DECLARED, manifests.tools.clone(), Features::default()),
            };
            for collision in collisions.iter().filter(|one| &*one.source == DECLARED) {
                tracing::warn!(tool = %collision.name, "a declared tool is left out: another tool has its name");
            }
        }
        *before = manifests;
    }

    fn manifests(&self) -> MutexGuard<'_, Manifests> {
        self.manifests.lock().expect("nothing panics while it holds the lock")
    }
}

/// True if both offer the same.
fn reads_alike(one: &Manifests, other: &Manifests) -> bool {
    let of = |manifests: &Manifests| {
        let text = |definition: &Definition| match &definition.listing {
            gate::Listing::Declared(described) => Some((definition.name.clone(), described.text.clone())),
            gate::Listing::Ours(_) | gate::Listing::Relayed(_) => None,
        };
        manifests.tools.iter().map(|tool| text(tool.definition())).collect::<Vec<_>>()
    };
    of(one) == of(other)
}

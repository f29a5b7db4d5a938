//! The tools of one workspace that files describe, and its skills: on offer, and kept as the files are.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use admin::folders::HeldBack;
use config::Manifests;
use futures_util::future::select_all;
use gate::{Catalog, DECLARED, Definition, Features, SKILLS, Skills};
use tokio::task::JoinHandle;

use crate::watched_folders::{WatchedFolder, WatchedFolders};

/// Those of one workspace. Dropping it watches nothing any more.
pub struct DeclaredTools {
    offered: Arc<OfferedManifests>,
    watching: Mutex<Watching>,
}

struct OfferedManifests {
    catalog: Arc<Catalog>,
    /// Whether skills are on offer.
    has_skills: bool,
    manifests: Mutex<Manifests>,
}

#[derive(Default)]
struct Watching {
    /// Those of the process; nothing before anything is to be watched.
    all: Option<Arc<WatchedFolders>>,
    folders: Vec<PathBuf>,
    task: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

impl DeclaredTools {
    /// Offers those of `manifests`. They come behind all other tools: no name of another's is theirs.
    pub(crate) fn offered(manifests: Manifests, catalog: &Arc<Catalog>, has_skills: bool) -> DeclaredTools {
        let none = Mutex::new(Manifests::default());
        let offered = Arc::new(OfferedManifests { catalog: catalog.clone(), has_skills, manifests: none });
        if has_skills {
            // Where a server has skills, the tool is there without any of ours.
            offered.offer_skills(&Manifests::default());
        }
        offered.take_up(manifests);
        DeclaredTools { offered, watching: Mutex::default() }
    }

    /// Goes on offering what the files are by then, until this is dropped. Must be called on the runtime.
    pub(crate) fn watch(&self, folders: &Arc<WatchedFolders>) {
        self.watching().all = Some(folders.clone());
        self.follow();
    }

    /// Offers those of `manifests` instead. Must be called on the runtime once they are watched.
    pub(crate) fn take_up(&self, manifests: Manifests) {
        self.offered.take_up(manifests);
        self.follow();
    }

    /// Watches the folders that they are read from by now.
    fn follow(&self) {
        let (mut watching, wanted) = (self.watching(), self.offered.manifests().watched());
        let Some(all) = watching.all.clone().filter(|_| watching.folders != wanted) else { return };
        let watched: Vec<_> = wanted.iter().map(|folder| all.watch(folder)).collect();
        watching.task.take().iter().for_each(JoinHandle::abort);
        watching.task =
            (!watched.is_empty()).then(|| tokio::spawn(read_again(self.offered.clone(), watched)));
        watching.folders = wanted;
    }

    fn watching(&self) -> MutexGuard<'_, Watching> {
        self.watching.lock().expect("nothing panics while it holds the lock")
    }

    /// What is wrong with the files that describe no tool.
    pub fn problems(&self) -> Vec<String> {
        let manifests = self.offered.manifests();
        manifests.problems.iter().chain(&manifests.skills.problems).cloned().collect()
    }
}

/// Offers what the files are by then, whenever one of the folders has changed.
async fn read_again(offered: Arc<OfferedManifests>, folders: Vec<Arc<WatchedFolder>>) {
    let mut changes: Vec<_> = folders.iter().map(|folder| folder.changes()).collect();
    loop {
        if changes.is_empty() {
            return;
        }
        let any = select_all(changes.iter_mut().map(|folder| Box::pin(folder.changed())));
        let (changed, nth, _) = any.await;
        if changed.is_err() {
            // It cannot be watched any more, which was told.
            changes.remove(nth);
            continue;
        }
        let before = offered.manifests().clone();
        // It fails only where the program is ending.
        let Ok(read) = tokio::task::spawn_blocking(move || before.again()).await else { return };
        offered.tell_held(&read);
        offered.take_up(read);
    }
}

impl OfferedManifests {
    fn take_up(&self, manifests: Manifests) {
        let mut before = self.manifests();
        for why in manifests.problems.iter().filter(|why| !before.problems.contains(why)) {
            tracing::warn!("{why}; this tool is left out");
        }
        let wrong = &manifests.skills.problems;
        for why in wrong.iter().filter(|why| !before.skills.problems.contains(why)) {
            tracing::warn!("{why}; this skill is left out");
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
        if self.has_skills && !before.skills.is_like(&manifests.skills) {
            self.offer_skills(&manifests);
        }
        *before = manifests;
    }

    fn offer_skills(&self, manifests: &Manifests) {
        let skills: Arc<dyn Skills> = Arc::new(manifests.skills.clone());
        let (tools, features) = tools::skill_tools(&skills);
        for one in self.catalog.replace(SKILLS, tools, features) {
            tracing::warn!(tool = %one.name, source = %one.source, "left out: another has its name");
        }
    }

    /// Tells what waits for a person and did not before.
    fn tell_held(&self, manifests: &Manifests) {
        let before = self.manifests();
        let waited = |one: &HeldBack| before.held.iter().any(|held| held.declaration == one.declaration);
        for held in manifests.held.iter().filter(|held| !waited(held)) {
            let place = &held.declaration.place;
            tracing::warn!(
                "{place}: not in force before you agree to it; `toolcrib trust` shows it and asks"
            );
        }
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

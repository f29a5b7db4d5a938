//! The workspaces of `[workspaces]`: put together when somebody first comes to the address of one, let go of when nobody has
//! used it for a while, and given what a reload has found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use config::Settings;
use gate::Gate;
use sandbox::ServerFiles;
use server::{Instructions, Server, Workspaces};
use terminal::Trouble;
use tokio::task::JoinSet;
use upstream::Upstream;

use crate::assemble::{Crib, Guarded, TRASH, open_workspace, ruleset};
use crate::shared::Shared;
use crate::upstreams::Start;

/// All of them, beside the default one.
pub struct NamedWorkspaces {
    shared: Shared,
    /// The default one's: what is guarded there is guarded everywhere.
    guarded: Guarded,
    instructions: Instructions,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    settings: BTreeMap<String, Settings>,
    open: BTreeMap<String, Open>,
    /// The ends of those that were let go of.
    closing: JoinSet<()>,
}

struct Open {
    crib: Crib,
    server: Arc<Server>,
    /// What it was put together by.
    settings: Settings,
}

impl NamedWorkspaces {
    /// Those beside `crib`, none of them put together yet.
    pub fn beside(crib: &Crib, settings: BTreeMap<String, Settings>) -> NamedWorkspaces {
        NamedWorkspaces {
            shared: crib.shared.clone(),
            guarded: crib.guarded.clone(),
            instructions: crib.instructions.clone(),
            known: Mutex::new(Known { settings, ..Known::default() }),
        }
    }

    /// The files of the servers that run for them.
    pub fn own_files(&self) -> ServerFiles {
        let mut files = ServerFiles::default();
        self.known().open.values().for_each(|open| files.extend(open.crib.upstreams.own_files()));
        files
    }

    /// The ways to the tools of those that are in use.
    pub fn gates(&self) -> Vec<Arc<Gate>> {
        self.known().open.values().map(|open| open.crib.gate.clone()).collect()
    }

    /// The servers of those that are in use, each with the name of its workspace.
    pub fn upstreams(&self) -> Vec<(String, Arc<Upstream>)> {
        let known = self.known();
        let of = |(name, open): (&String, &Open)| {
            let name = name.clone();
            open.crib.upstreams.iter().map(move |upstream| (name.clone(), upstream))
        };
        known.open.iter().flat_map(of).collect()
    }

    /// Takes other settings up, once the default workspace has. One that is gone, or works in another folder now, ends; it is
    /// put together anew when somebody asks for it.
    pub fn take_up(&self, settings: BTreeMap<String, Settings>) {
        let mut known = self.known();
        let Known { open, closing, .. } = &mut *known;
        let is_gone = |name: &String, open: &mut Open| {
            settings.get(name).is_none_or(|settings| settings.workspace != open.settings.workspace)
        };
        open.extract_if(.., is_gone).for_each(|(_, open)| close(open, closing));
        for (name, open) in open {
            let Some(settings) = settings.get(name).cloned() else { continue };
            open.settings = settings.clone();
            open.crib.guarded.renew();
            let shown = settings.shown.clone();
            open.crib.gate.catalog().show_only(move |name| shown.admits(name));
            let (upstreams, manifests) = (settings.upstreams.clone(), settings.manifests.clone());
            open.crib.gate.govern(ruleset(settings));
            open.crib.upstreams.replace(upstreams);
            open.crib.declared.take_up(manifests);
        }
        known.settings = settings;
    }

    /// Ends all of them, for good.
    pub async fn end(&self) {
        self.known().settings.clear();
        self.close_all().await;
    }

    /// Ends all of them; each is put together anew when somebody asks for it.
    pub async fn close_all(&self) {
        let mut closing = {
            let mut known = self.known();
            let Known { open, closing, .. } = &mut *known;
            std::mem::take(open).into_values().for_each(|open| close(open, closing));
            std::mem::take(closing)
        };
        // Each ends within its own bound; a panic of one is logged.
        while closing.join_next().await.is_some() {}
    }

    fn made(&self, name: &str, settings: &Settings) -> Result<Open, Trouble> {
        let guarded =
            self.guarded.beside(open_workspace(&settings.workspace)?.with_trash(&settings.state.join(TRASH)));
        let crib = self.shared.workspace(Some(name), settings.clone(), guarded, Start::AtOnce)?;
        self.shared.jobs.serve(&crib.gate);
        crib.declared.watch(&self.shared.folders);
        let server = Server::new(crib.gate.clone(), self.instructions.clone());
        Ok(Open { crib, server, settings: settings.clone() })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("nothing panics while it holds the lock")
    }
}

impl Workspaces for NamedWorkspaces {
    fn open(&self, name: &str) -> Result<Option<Arc<Server>>, String> {
        let mut known = self.known();
        if let Some(open) = known.open.get(name) {
            return Ok(Some(open.server.clone()));
        }
        let Some(settings) = known.settings.get(name) else { return Ok(None) };
        let made = self.made(name, settings).map_err(|trouble| trouble.to_string())?;
        let server = made.server.clone();
        known.open.insert(name.to_owned(), made);
        Ok(Some(server))
    }

    fn names(&self) -> Vec<String> {
        self.known().settings.keys().cloned().collect()
    }

    fn close(&self, name: &str) {
        let mut known = self.known();
        if let Some(open) = known.open.remove(name) {
            close(open, &mut known.closing);
        }
    }
}

/// Ends the servers of one, beside whatever else goes on.
fn close(open: Open, closing: &mut JoinSet<()>) {
    open.server.stop();
    // Those that have ended are let go of.
    while closing.try_join_next().is_some() {}
    closing.spawn(async move { open.crib.end().await });
}

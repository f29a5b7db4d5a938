//! How a client gets to its workspace: its configuration is read anew, and the workspace made or brought up to date.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use admin::Refused;
use config::Loaded;
use gate::Cancel;
use oauth::Unfinished;
use server::{Greeting, Server};
use terminal::{Ending, Trouble, log, print, runtime};
use tokio::sync::Semaphore;

use super::listeners::Listeners;
use super::words::{Place, ToFront};
use super::workspaces::{Use, WORKSPACES_MAX, Workspaces};
use crate::control::{Folder, Reloader, in_turn, read};
use crate::person;
use crate::shared::Shared;
use crate::upstreams::Start;

/// What the person behind a client is asked about what the folder declares, if there is anything, once it is known what
/// reads the configuration again.
pub(super) type Greet = fn(&Loaded) -> GreetWith;

/// The rest of that.
pub type GreetWith = Box<dyn FnOnce(&Arc<Reloader>) -> Option<Arc<dyn Greeting>>>;

/// What the fronts of a process have in common.
pub(super) struct Resident {
    pub(super) state: PathBuf,
    pub(super) folder: Folder,
    pub(super) workspaces: Arc<Workspaces>,
    pub(super) listeners: Listeners,
    /// Cancelled when the process is to end.
    pub(super) stopping: Cancel,
    greet: Greet,
    unfinished: Unfinished,
    /// Made with the first configuration.
    shared: OnceLock<Shared>,
}

/// A client in its workspace.
pub(super) struct Entered {
    pub(super) workspace: Use,
    pub(super) greeting: Option<Arc<dyn Greeting>>,
}

impl Resident {
    /// A process that serves nobody yet. Must be called on the runtime, by its own task.
    pub(super) fn new(state: PathBuf, folder: Folder, greet: Greet) -> Resident {
        Resident {
            state,
            folder,
            workspaces: Arc::default(),
            listeners: Listeners::default(),
            stopping: Cancel::new(),
            greet,
            unfinished: runtime::unfinished(),
            shared: OnceLock::new(),
        }
    }

    /// Reads a client's configuration, with nothing but what its front has said.
    ///
    /// # Errors
    /// What the front is told.
    pub(super) async fn read(&self, place: &Place) -> Result<Loaded, ToFront> {
        let (surroundings, named) = (place.surroundings(), place.named());
        // No other client waits for this one's disk.
        let turn = Arc::new(Semaphore::new(1));
        let read = in_turn(&turn, move || read(named.as_deref(), &surroundings)).await;
        let (mut loaded, known) = read.and_then(|(read, _turn)| read).map_err(refused)?;
        if loaded.settings.state != self.state {
            return Err(refused(Refused::Because(
                "its state folder has just been changed; try again".into(),
            )));
        }
        let shared = self.shared(&loaded)?;
        shared.take_in(&mut loaded);
        // Before anybody is given one of them.
        loaded.learner.configured(loaded.settings.secrets.clone());
        loaded.learner.kept(known);
        Ok(loaded)
    }

    /// What all have in common; the first one's configuration says how the log is written.
    fn shared(&self, loaded: &Loaded) -> Result<&Shared, ToFront> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let settings = &loaded.settings;
        let shared = runtime::as_part_of(&self.unfinished, || Shared::new(settings));
        let shared = shared.map_err(|trouble| unusable(&trouble))?;
        print::without_secrets(&shared.redactor);
        let listeners = self.listeners.clone();
        let sink = Box::new(move |line: &str| listeners.hear(line));
        log::start(&settings.log, loaded.log_override.as_deref(), &shared.redactor, sink)
            .map_err(|error| unusable(&Trouble::Misused(error.to_string())))?;
        Ok(self.shared.get_or_init(|| shared))
    }

    /// Lets a client into the workspace of its place, whose configuration is this by now.
    ///
    /// # Errors
    /// What the front is told.
    pub(super) async fn enter(
        &self,
        place: Place,
        loaded: Loaded,
        door: &str,
        start: Start,
    ) -> Result<Entered, ToFront> {
        let shared = self.shared(&loaded)?;
        if let Some(workspace) = self.workspaces.find(&place, door) {
            // How it went is in the log: what was in force stays so.
            let _ = workspace.reloader.reload_if_differs(&loaded).await;
            let greeting = (self.greet)(&loaded)(&workspace.reloader);
            if start == Start::AtOnce {
                workspace.reloader.crib().gate.catalog().want();
            }
            return Ok(Entered { workspace, greeting });
        }
        if self.workspaces.is_full() {
            return Err(ToFront::Unable(format!("{WORKSPACES_MAX} other folders are served now")));
        }
        let greet = (self.greet)(&loaded);
        let reloader = Reloader::assembled_in(shared, loaded, place.named(), start);
        let reloader = reloader.map_err(|trouble| unusable(&trouble))?;
        let greeting = greet(&reloader);
        let (crib, state) = (reloader.crib().clone(), self.state.clone());
        let approvals = crib.gate.approvals();
        approvals.ask_clients_if(Box::new(move |askers| person::is_at_client(&state, askers)));
        let server = Server::new(crib.gate.clone(), crib.instructions.clone());
        let (workspace, gone) = self.workspaces.add(place, door, reloader, server);
        if let Some(gone) = gone {
            gone.close().await;
        }
        Ok(Entered { workspace, greeting })
    }

    /// Closes what is left, once nobody is served any more.
    pub(super) async fn close(&self) {
        if let Some(shared) = self.shared.get() {
            // They end before the servers that they use.
            shared.jobs.end().await;
        }
        futures_util::future::join_all(self.workspaces.take_all().iter().map(|one| one.close())).await;
        if let Some(shared) = self.shared.get() {
            shared.close().await;
        }
    }
}

/// As a front that serves by itself would end.
fn refused(why: Refused) -> ToFront {
    let ending = match &why {
        Refused::Problems(_) => Ending::Misused,
        Refused::Because(_) => Ending::Failed,
    };
    ToFront::Refused(why.to_string(), ending.code())
}

/// The same for what the work found out.
pub(super) fn unusable(trouble: &Trouble) -> ToFront {
    ToFront::Refused(trouble.to_string(), trouble.ending().code())
}

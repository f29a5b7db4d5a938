//! Reading the configuration again: the upstreams that changed are exchanged, who may call, the rules and whatever else
//! can be is put in force, and the rest stays as it is until the next start. Calls that are on their way go by the old
//! rules.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use admin::{Admin, By, Refused, Reloaded};
use config::{self, Kept, Learner, Loaded, Manifests, Problems, Reading, Sections, Surroundings, Unfollowed};
use redact::{Known, Redactor};
use serde_json::Value;
use server::identity::Identity;
use terminal::Trouble;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use upstream::Upstream;

use super::neighbours::Neighbours;
use super::words::Operated;
use crate::administration;
use crate::assemble::{self, Crib, assemble_in};
use crate::named_workspaces::NamedWorkspaces;
use crate::shared::Shared;
use crate::upstreams::{Changes, Start, Upstreams};

/// Small files are read within this time, or their disk is not there; whoever asked waits a little longer.
const READ_MAX: Duration = Duration::from_secs(5);

/// Reads the configuration again that a process was started with.
pub struct Reloader {
    crib: Arc<Crib>,
    /// The workspaces beside it.
    named_workspaces: Arc<NamedWorkspaces>,
    /// They know who comes over HTTP, as long as that is a way to come.
    identities: Mutex<Vec<Weak<Identity>>>,
    /// The file of the command line.
    named: Option<PathBuf>,
    /// What else it is read with.
    surroundings: Surroundings,
    /// As they were at the start: some of them hold until the next one.
    sections: Sections,
    /// Knows what is struck out.
    learner: Arc<Learner>,
    last: Mutex<ReadLast>,
    turn: Arc<Semaphore>,
}

/// What was read last.
struct ReadLast {
    reading: Reading,
    sections: Sections,
    files: Vec<PathBuf>,
    kept: Kept,
}

impl Reloader {
    /// Puts together what was loaded, to be read again from then on: the file that the command line `named`, or those
    /// that are found.
    ///
    /// # Errors
    /// As [`assemble_in()`].
    pub fn assembled(loaded: Loaded, named: Option<PathBuf>, start: Start) -> Result<Arc<Reloader>, Trouble> {
        Reloader::assembled_in(&Shared::new(&loaded.settings)?, loaded, named, start)
    }

    /// The same in a process that may serve others besides.
    ///
    /// # Errors
    /// As [`assemble_in()`].
    pub fn assembled_in(
        shared: &Shared,
        loaded: Loaded,
        named: Option<PathBuf>,
        start: Start,
    ) -> Result<Arc<Reloader>, Trouble> {
        let (reading, sections, instructions) = (loaded.reading(), loaded.sections(), loaded.instructions());
        let Loaded { settings, learner, surroundings, .. } = loaded;
        let (files, kept) = (settings.files.clone(), settings.kept.clone());
        let last = Mutex::new(ReadLast { reading, sections: sections.clone(), files, kept });
        let named_settings = settings.named.clone();
        let crib = Arc::new(assemble_in(shared, settings, start)?);
        crib.declared.watch(&shared.folders);
        shared.jobs.serve(&crib.gate);
        let named_workspaces = Arc::new(NamedWorkspaces::beside(&crib, named_settings));
        crib.instructions.store(instructions.map(Arc::new));
        // Nothing goes as deep as reading and putting together did.
        sandbox::give_back_stack();
        Ok(Arc::new(Reloader {
            crib,
            named_workspaces,
            identities: Mutex::default(),
            named,
            surroundings,
            sections,
            learner,
            last,
            turn: Arc::new(Semaphore::new(1)),
        }))
    }

    /// Has who may come over HTTP go by what is read from now on, as long as somebody holds `identity`.
    pub fn govern_also(&self, identity: &Arc<Identity>) {
        let mut identities = self.identities.lock().expect("nothing panics while it holds the lock");
        identities.retain(|one| one.strong_count() > 0);
        identities.push(Arc::downgrade(identity));
    }

    fn identities(&self) -> Vec<Arc<Identity>> {
        let identities = self.identities.lock().expect("nothing panics while it holds the lock");
        identities.iter().filter_map(Weak::upgrade).collect()
    }

    /// Reads the configuration again if it reads differently than what was read last.
    ///
    /// # Errors
    /// As [`Reloader::reload`].
    pub async fn reload_if_differs(&self, loaded: &Loaded) -> Result<(), Refused> {
        if self.reads_as(loaded) { Ok(()) } else { self.reload().await.map(drop) }
    }

    /// Whether this is what was read last.
    pub fn reads_as(&self, loaded: &Loaded) -> bool {
        self.last().reading == loaded.reading()
    }

    /// What the configuration is read with, and what it said at the start.
    pub(crate) fn of_start(&self) -> (&Surroundings, &Sections) {
        (&self.surroundings, &self.sections)
    }

    /// What was put together.
    pub fn crib(&self) -> &Arc<Crib> {
        &self.crib
    }

    /// The workspaces beside it.
    pub fn named_workspaces(&self) -> &Arc<NamedWorkspaces> {
        &self.named_workspaces
    }

    /// The files that were read last, as absolute paths.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.last().files.clone()
    }

    /// The servers that it exchanges.
    pub(super) fn upstreams(&self) -> &Arc<Upstreams> {
        &self.crib.upstreams
    }

    /// The servers of the default workspace, and then those of others, with the names of these. One that workspaces share is
    /// among them once.
    pub(super) fn every_upstream(&self) -> Vec<(Option<String>, Arc<Upstream>)> {
        let mut all: Vec<_> = self.upstreams().iter().map(|upstream| (None, upstream)).collect();
        for (workspace, upstream) in self.named_workspaces.upstreams() {
            if all.iter().all(|(_, known)| !Arc::ptr_eq(known, &upstream)) {
                all.push((Some(workspace), upstream));
            }
        }
        all
    }

    /// What it says goes through this.
    pub(crate) fn redactor(&self) -> &Redactor {
        self.learner.redactor()
    }

    /// Reads again which secrets are kept, if there may be any.
    pub(super) async fn catch_up(&self) {
        let may_be_there = self.last().kept.may_be_there();
        if may_be_there && let Err(why) = self.learn().await {
            tracing::warn!(%why, "secrets that were set in this moment are not struck out");
        }
    }

    /// Reads again which secrets are kept, so that they are struck out, and where their key is: everything may have been
    /// sealed anew.
    ///
    /// # Errors
    /// If they cannot be opened. Those that it knew are struck out as before.
    pub async fn learn(&self) -> Result<(), Refused> {
        let (named, surroundings) = (self.named.clone(), self.surroundings.clone());
        let before = self.last().kept.clone();
        let read = in_turn(&self.turn, move || {
            let kept = kept_now(named.as_deref(), &surroundings, before);
            let known = kept.known();
            (kept, known)
        });
        let ((kept, known), _turn) = read.await?;
        let known = known.map_err(Refused::Because)?;
        self.learner.kept(known);
        self.take_key(kept);
        Ok(())
    }

    /// Reads the configuration and takes up what it says. Logs what it did.
    ///
    /// # Errors
    /// If the configuration cannot be used. Nothing has changed then.
    pub async fn reload(&self) -> Result<Reloaded, Refused> {
        let (named, surroundings) = (self.named.clone(), self.surroundings.clone());
        // One after the other: what was read last is what is in effect.
        let read = in_turn(&self.turn, move || read(named.as_deref(), &surroundings)).await;
        let read = read.and_then(|(read, turn)| Ok((self.usable(read?)?, turn)));
        let ((loaded, kept), _turn) = read.inspect_err(|why| {
            tracing::warn!(%why, "the configuration was read again and changes nothing");
        })?;
        // Before anybody is given one of them.
        self.learner.configured(loaded.settings.secrets.clone());
        self.learner.kept(kept);
        let reloaded = self.take_up(loaded);
        let Reloaded { added, removed, changed, unchanged, in_force, next_start } = &reloaded;
        tracing::info!(
            ?added,
            ?removed,
            ?changed,
            ?unchanged,
            ?in_force,
            ?next_start,
            "the configuration was read again"
        );
        Ok(reloaded)
    }

    /// Does an operation of the administration for the owner, by the configuration as it is now, as the command of its name
    /// does. Not in its turn: an operation may have this process read something again. That a person asks for it nobody
    /// has found out, so what is a person's to say is refused.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(super) async fn operate(&self, operation: String, input: Value) -> Result<Operated, Refused> {
        let (named, surroundings) = (self.named.clone(), self.surroundings.clone());
        let redactor = self.redactor().clone();
        let work = move || {
            let admin = administration::all(named.as_deref(), &surroundings, &redactor, Neighbours::on);
            let admin = admin.map_err(|problems| Refused::Problems(problems.lines().to_vec()))?;
            let done = admin.perform(&operation, input, &By::owner());
            Ok(done.map_or_else(Operated::Fault, Operated::Output))
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Refused::Because("it is ending".to_owned())))
    }

    /// What operations work on, by the configuration as it is now. Blocks on the disk.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub(crate) fn admin(&self) -> Result<Admin, Problems> {
        administration::all(self.named.as_deref(), &self.surroundings, self.redactor(), Neighbours::on)
    }

    /// The manifests, as they are read now. Blocks on the disk.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub(crate) fn manifests(&self) -> Result<Manifests, Problems> {
        let loaded = config::load(self.named.as_deref(), &self.surroundings, Unfollowed::IsPassedOver);
        Ok(loaded?.settings.manifests)
    }

    /// What was read, if it fits this process, which may listen elsewhere than the configuration says by now.
    fn usable(&self, read: (Loaded, Vec<Known>)) -> Result<(Loaded, Vec<Known>), Refused> {
        let config = &read.0.settings.identity;
        match self.identities().iter().try_for_each(|identity| identity.check(config)) {
            Ok(()) => Ok(read),
            Err(problems) => Err(Refused::Problems(problems.iter().map(ToString::to_string).collect())),
        }
    }

    fn take_up(&self, loaded: Loaded) -> Reloaded {
        let sections = loaded.sections();
        let next_start = self.sections.differing(&sections, false);
        let in_force = self.last().sections.differing(&sections, true);
        {
            let mut last = self.last();
            (last.reading, last.sections) = (loaded.reading(), sections);
        }
        self.crib.instructions.store(loaded.instructions().map(Arc::new));
        let mut settings = loaded.settings;
        // First of all: whoever is to be kept out gets no nearer.
        for identity in self.identities() {
            identity.govern(&settings.identity, settings.server.open_on_loopback);
        }
        // Before a program is started, nobody may be able to write it any longer.
        let mut running = self.crib.upstreams.own_files();
        running.extend(self.named_workspaces.own_files());
        self.crib.guarded.guard(&settings, running);
        self.last().files.clone_from(&settings.files);
        self.redactor().configure(&settings.redaction);
        self.take_key(settings.kept.clone());
        self.crib.shared.audit_log.govern(&settings.audit);
        self.crib.shared.jobs.govern(settings.jobs.clone());
        self.crib.shared.observing.govern(&settings.telemetry);
        let upstreams = std::mem::take(&mut settings.upstreams);
        let named = std::mem::take(&mut settings.named);
        let manifests = std::mem::take(&mut settings.manifests);
        // Before a new server's tools are on offer.
        self.crib.gate.govern(assemble::ruleset(settings));
        let Changes { added, removed, changed, unchanged } = self.crib.upstreams.replace(upstreams);
        self.crib.declared.take_up(manifests);
        self.named_workspaces.take_up(named);
        if !added.is_empty() {
            // Clients that have listed before hear of a new server by a change, which comes once it has been asked.
            self.crib.gate.catalog().want();
        }
        Reloaded { added, removed, changed, unchanged, in_force, next_start }
    }

    /// Has what is sealed opened with the key that `found` has, in the state folder of the start.
    fn take_key(&self, found: Kept) {
        let mut last = self.last();
        self.crib.shared.sealed.use_key_from(found.source().clone());
        last.kept = last.kept.sealed_by(found.source());
    }

    fn last(&self) -> MutexGuard<'_, ReadLast> {
        self.last.lock().expect("nothing panics while it holds the lock")
    }
}

/// Does work that may block in its turn, which goes on until the permit is dropped. Work that hangs keeps its turn, so
/// that it is not done once more on another thread.
///
/// # Errors
/// It takes too long, or the program is ending.
pub async fn in_turn<T: Send + 'static>(
    turn: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, OwnedSemaphorePermit), Refused> {
    let done = timeout(READ_MAX, async {
        let turn = turn.clone().acquire_owned().await.expect("nobody closes it");
        tokio::task::spawn_blocking(move || (work(), turn)).await
    });
    match done.await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(Refused::Because("it is ending".to_owned())),
        Err(_) => {
            let why = "reading its configuration takes too long; is one of the files on a disk that does not answer?";
            Err(Refused::Because(why.to_owned()))
        }
    }
}

/// The secrets that are kept where they were, with the key that the configuration names by now. What else may be wrong with
/// it is for a reload to say.
fn kept_now(named: Option<&Path>, surroundings: &Surroundings, before: Kept) -> Kept {
    match config::kept(named, surroundings) {
        Ok((found, _)) => before.sealed_by(found.source()),
        Err(_) => before,
    }
}

/// Loads the configuration as at the start, and the secrets that are kept. Blocks on the disk.
///
/// # Errors
/// What is wrong with it.
pub fn read(named: Option<&Path>, surroundings: &Surroundings) -> Result<(Loaded, Vec<Known>), Refused> {
    let loaded = config::load(named, surroundings, Unfollowed::FailsItsServer)
        .map_err(|problems| Refused::Problems(problems.to_string().lines().map(str::to_owned).collect()))?;
    let known = loaded.settings.kept.known().map_err(Refused::Because)?;
    Ok((loaded, known))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::time::{advance, resume};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_hangs_is_not_waited_for_and_not_done_twice() {
        let turn = Arc::new(Semaphore::new(1));
        let (let_go, held) = mpsc::sync_channel::<()>(0);
        let later = || advance(READ_MAX + Duration::from_millis(1));
        let (first, ()) = tokio::join!(in_turn(&turn, move || held.recv().is_ok()), later());
        let (second, ()) = tokio::join!(in_turn(&turn, || panic!("it is not its turn")), later());
        for refused in [first, second] {
            let why = refused.expect_err("it hangs").to_string();
            assert!(why.starts_with("reading its configuration takes too long"), "{why}");
        }
        resume();
        drop(let_go);
        let (done, _turn) = in_turn(&turn, || 7).await.expect("it hangs no longer");
        assert_eq!(done, 7);
    }
}

//! Reading the configuration again: the upstreams that changed are exchanged, other rules are put in force, and everything
//! else stays as it is. Calls that are on their way go by the old rules.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gate::Gate;
use redact::{Known, Redactor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::words::{Refused, Reloaded};
use crate::assemble::{self, Crib, Guarded};
use crate::config::{self, Loaded, Sections, Surroundings, Unfollowed};
use crate::secrets::{Kept, Learner};
use crate::upstreams::{Changes, Upstreams};

/// Small files are read within this time, or their disk is not there; whoever asked waits a little longer.
const READ_MAX: Duration = Duration::from_secs(5);

/// Reads the configuration again that a process was started with.
pub(crate) struct Reloader {
    /// The file of the command line.
    named: Option<PathBuf>,
    /// What the other sections said at the start, which they go by until the next one.
    at_start: Sections,
    /// What decides about calls, as it was read last.
    of_calls: Mutex<Sections>,
    /// The files that were read last.
    files: Mutex<Vec<PathBuf>>,
    gate: Arc<Gate>,
    guarded: Guarded,
    upstreams: Arc<Upstreams>,
    /// Knows what is struck out.
    learner: Arc<Learner>,
    /// The secrets that are kept.
    kept: Arc<Kept>,
    turn: Arc<Semaphore>,
}

/// What is kept of a configuration to tell later what has changed in it.
pub(crate) struct AtStart {
    named: Option<PathBuf>,
    sections: Sections,
    of_calls: Sections,
    files: Vec<PathBuf>,
    learner: Arc<Learner>,
    kept: Arc<Kept>,
}

impl AtStart {
    /// Of the configuration that was loaded, with the file of the command line.
    pub(crate) fn of(loaded: &Loaded, named: Option<PathBuf>) -> AtStart {
        let settings = &loaded.settings;
        AtStart {
            named,
            sections: loaded.sections(),
            of_calls: loaded.sections_of_calls(),
            files: settings.files.clone(),
            learner: loaded.learner.clone(),
            kept: Arc::new(settings.kept.again()),
        }
    }

    /// What reads it again for the parts that were put together from it.
    pub(crate) fn reloader(self, crib: &Crib) -> Arc<Reloader> {
        Arc::new(Reloader {
            named: self.named,
            at_start: self.sections,
            of_calls: Mutex::new(self.of_calls),
            files: Mutex::new(self.files),
            gate: crib.gate.clone(),
            guarded: crib.guarded.clone(),
            upstreams: crib.upstreams.clone(),
            learner: self.learner,
            kept: self.kept,
            turn: Arc::new(Semaphore::new(1)),
        })
    }
}

impl Reloader {
    /// The files that were read last, as absolute paths.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.files_now().clone()
    }

    /// What it says goes through this.
    pub(super) fn redactor(&self) -> &Redactor {
        self.learner.redactor()
    }

    /// Reads again which secrets are kept, if there may be any.
    pub(super) async fn catch_up(&self) {
        if self.kept.may_be_there()
            && let Err(why) = self.learn().await
        {
            tracing::warn!(%why, "secrets that were set in this moment are not struck out");
        }
    }

    /// Reads again which secrets are kept, so that they are struck out.
    ///
    /// # Errors
    /// If they cannot be opened. Those that it knew are struck out as before.
    pub(crate) async fn learn(&self) -> Result<(), Refused> {
        let kept = self.kept.clone();
        let read = in_turn(&self.turn, move || kept.again().known()).await;
        let (known, _turn) = read.and_then(|(read, turn)| Ok((read.map_err(Refused::Because)?, turn)))?;
        self.learner.kept(known);
        Ok(())
    }

    /// Reads the configuration and takes up what it says of upstreams. Logs what it did.
    ///
    /// # Errors
    /// If the configuration cannot be used. Nothing has changed then.
    pub(crate) async fn reload(&self) -> Result<Reloaded, Refused> {
        let named = self.named.clone();
        // One after the other: what was read last is what is in effect.
        let read = in_turn(&self.turn, move || read(named)).await;
        let read = read.and_then(|(read, turn)| Ok((read?, turn)));
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

    fn take_up(&self, loaded: Loaded) -> Reloaded {
        let next_start = self.at_start.differing(&loaded.sections());
        let of_calls = loaded.sections_of_calls();
        let before = std::mem::replace(&mut *self.of_calls_now(), of_calls.clone());
        let in_force = before.differing(&of_calls);
        let mut settings = loaded.settings;
        // Before a program is started, nobody may be able to write it any longer.
        let running = self.upstreams.own_files();
        self.guarded.guard(&settings, running);
        self.files_now().clone_from(&settings.files);
        self.redactor().configure(&settings.redaction);
        let upstreams = std::mem::take(&mut settings.upstreams);
        // Before a new server's tools are on offer.
        self.gate.govern(assemble::bylaws(settings));
        let Changes { added, removed, changed, unchanged } = self.upstreams.replace(upstreams);
        Reloaded { added, removed, changed, unchanged, in_force, next_start }
    }

    fn of_calls_now(&self) -> MutexGuard<'_, Sections> {
        self.of_calls.lock().expect("nothing panics while it holds the lock")
    }

    fn files_now(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.files.lock().expect("nothing panics while it holds the lock")
    }
}

/// Does work that may block in its turn, which goes on until the permit is dropped. Work that hangs keeps its turn, so
/// that it is not done once more on another thread.
async fn in_turn<T: Send + 'static>(
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

/// Loads the configuration as at the start, and the secrets that are kept. Blocks on the disk.
fn read(named: Option<PathBuf>) -> Result<(Loaded, Vec<Known>), Refused> {
    let surroundings = Surroundings::of_process()
        .map_err(|error| Refused::Because(format!("its working folder cannot be found: {error}")))?;
    let loaded = config::load(named.as_deref(), &surroundings, Unfollowed::FailsItsServer)
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

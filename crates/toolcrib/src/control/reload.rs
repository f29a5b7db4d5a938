//! Reading the configuration again: the upstreams that changed are exchanged, and everything else stays as it is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::words::{Refused, Reloaded};
use crate::assemble::{Crib, Guarded};
use crate::config::{self, Loaded, Sections, Surroundings};
use crate::upstreams::{Changes, Upstreams};

/// Small files are read within this time, or their disk is not there; whoever asked waits a little longer.
const READ_MAX: Duration = Duration::from_secs(5);

/// Reads the configuration again that a process was started with.
pub(crate) struct Reloader {
    /// The file of the command line.
    named: Option<PathBuf>,
    /// What the other sections said at the start, which they go by until the next one.
    at_start: Sections,
    /// The files that were read last.
    files: Mutex<Vec<PathBuf>>,
    guarded: Guarded,
    upstreams: Arc<Upstreams>,
    turn: Arc<Semaphore>,
}

/// What is kept of a configuration to tell later what has changed in it.
pub(crate) struct AtStart {
    named: Option<PathBuf>,
    sections: Sections,
    files: Vec<PathBuf>,
}

impl AtStart {
    /// Of the configuration that was loaded, with the file of the command line.
    pub(crate) fn of(loaded: &Loaded, named: Option<PathBuf>) -> AtStart {
        AtStart { named, sections: loaded.sections(), files: loaded.settings.files.clone() }
    }

    /// What reads it again for the parts that were put together from it.
    pub(crate) fn reloader(self, crib: &Crib) -> Arc<Reloader> {
        Arc::new(Reloader {
            named: self.named,
            at_start: self.sections,
            files: Mutex::new(self.files),
            guarded: crib.guarded.clone(),
            upstreams: crib.upstreams.clone(),
            turn: Arc::new(Semaphore::new(1)),
        })
    }
}

impl Reloader {
    /// The files that were read last, as absolute paths.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.files_now().clone()
    }

    /// Reads the configuration and takes up what it says of upstreams. Logs what it did.
    ///
    /// # Errors
    /// If the configuration cannot be used. Nothing has changed then.
    pub(crate) async fn reload(&self) -> Result<Reloaded, Refused> {
        let named = self.named.clone();
        // One after the other: what was read last is what is in effect.
        let read = in_turn(&self.turn, move || read(named)).await;
        let (loaded, _turn) = read.and_then(|(read, turn)| Ok((read?, turn))).inspect_err(|why| {
            tracing::warn!(%why, "the configuration was read again and changes nothing");
        })?;
        let reloaded = self.take_up(loaded);
        let Reloaded { added, removed, changed, unchanged, next_start } = &reloaded;
        tracing::info!(
            ?added,
            ?removed,
            ?changed,
            ?unchanged,
            ?next_start,
            "the configuration was read again"
        );
        Ok(reloaded)
    }

    fn take_up(&self, loaded: Loaded) -> Reloaded {
        let next_start = self.at_start.differing(&loaded.sections());
        let settings = loaded.settings;
        // Before a program is started, nobody may be able to write it any longer.
        let running = self.upstreams.own_files();
        self.guarded.guard(&settings, running);
        self.files_now().clone_from(&settings.files);
        let Changes { added, removed, changed, unchanged } = self.upstreams.replace(settings.upstreams);
        Reloaded { added, removed, changed, unchanged, next_start }
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

/// Loads the configuration as at the start. Blocks on the disk.
fn read(named: Option<PathBuf>) -> Result<Loaded, Refused> {
    let surroundings = Surroundings::of_process()
        .map_err(|error| Refused::Because(format!("its working folder cannot be found: {error}")))?;
    config::load(named.as_deref(), &surroundings)
        .map_err(|problems| Refused::Problems(problems.to_string().lines().map(str::to_owned).collect()))
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

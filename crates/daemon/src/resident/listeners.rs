//! Who hears which lines of the process's log: the fronts of the workspace in whose task a line was written; all of them
//! where that is nobody's in particular, and those that serve an address all lines.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use terminal::log;
use tokio::sync::mpsc;

use super::words::ToFront;

/// Frames that wait for a front that reads slowly. More lines of the log are dropped.
pub(super) const FRAMES_WAITING_MAX: usize = 256;

tokio::task_local! {
    /// The workspace for which a task works.
    static WORKSPACE: u64;
}

/// Runs work whose lines are those of this workspace. What it spawns is not part of it.
pub(super) async fn in_workspace<T>(number: u64, work: impl Future<Output = T>) -> T {
    WORKSPACE.scope(number, work).await
}

/// All fronts that hear the log. Copies share them.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Fronts>>);

#[derive(Default)]
struct Fronts {
    given: u64,
    fronts: BTreeMap<u64, Front>,
}

struct Front {
    /// Nothing for one that hears all.
    workspace: Option<u64>,
    frames: mpsc::Sender<ToFront>,
}

/// A front that hears the log until this is dropped.
pub(super) struct Listening {
    listeners: Listeners,
    number: u64,
}

impl Listeners {
    /// Has a front hear the lines of its workspace, or all.
    pub(super) fn add(&self, workspace: Option<u64>, frames: mpsc::Sender<ToFront>) -> Listening {
        let mut fronts = self.fronts();
        fronts.given += 1;
        let number = fronts.given;
        fronts.fronts.insert(number, Front { workspace, frames });
        Listening { listeners: self.clone(), number }
    }

    /// Takes a line that this task has written.
    pub(super) fn hear(&self, line: &str) {
        let from = WORKSPACE.try_with(|number| *number).ok();
        let mut heard = false;
        for front in self.fronts().fronts.values() {
            let is_for = front.workspace.is_none() || from.is_none() || front.workspace == from;
            // What one that does not read misses is lost, as on a pipe that nobody reads.
            heard |= is_for && front.frames.try_send(ToFront::Log(line.to_owned())).is_ok();
        }
        if !heard {
            log::to_stderr(line);
        }
    }

    fn fronts(&self) -> MutexGuard<'_, Fronts> {
        self.0.lock().expect("nothing panics while it holds the lock")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listeners.fronts().fronts.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(frames: &mut mpsc::Receiver<ToFront>) -> Vec<String> {
        std::iter::from_fn(|| frames.try_recv().ok())
            .map(|frame| match frame {
                ToFront::Log(line) => line,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test]
    async fn a_line_goes_to_the_fronts_of_its_workspace() {
        let listeners = Listeners::default();
        let front = |workspace| {
            let (frames, heard) = mpsc::channel(3);
            (listeners.add(workspace, frames), heard)
        };
        let ((_first, mut one), (second, mut two), (_third, mut all)) =
            (front(Some(1)), front(Some(2)), front(None));
        in_workspace(1, async { listeners.hear("of 1") }).await;
        in_workspace(2, async { listeners.hear("of 2") }).await;
        listeners.hear("of nobody");
        assert_eq!(heard(&mut one), ["of 1", "of nobody"]);
        assert_eq!(heard(&mut two), ["of 2", "of nobody"]);
        assert_eq!(heard(&mut all), ["of 1", "of 2", "of nobody"]);
        drop(second);
        for nth in 0..5 {
            listeners.hear(&nth.to_string());
        }
        assert_eq!(heard(&mut one), ["0", "1", "2"], "nobody waits for one that does not read");
        assert_eq!(heard(&mut two), Vec::<String>::new());
    }
}

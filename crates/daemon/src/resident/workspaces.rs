//! The workspaces of a process: made when a client of one first comes, and closed when nobody has needed it for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use server::Server;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::words::Place;
use crate::control::{Reloader, Seat};

/// How long a workspace is kept that nobody uses: a client that is started again finds its servers running.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(10 * 60);

/// Most workspaces of a process. One too many closes the one that was idle longest.
pub(super) const WORKSPACES_MAX: usize = 256;

/// What the clients of one place have in common.
pub(super) struct Workspace {
    /// Which of the process's workspaces it is; none has it again.
    pub(super) number: u64,
    pub(super) reloader: Arc<Reloader>,
    pub(super) server: Arc<Server>,
    used: Mutex<Used>,
}

struct Used {
    /// Where its clients come in, each as often as there are such.
    doors: Vec<String>,
    /// When that last changed.
    since: Instant,
}

impl Workspace {
    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().expect("nothing panics while it holds the lock")
    }

    /// Since when nobody has used it; nothing if somebody does.
    fn idle_since(&self) -> Option<Instant> {
        let used = self.used();
        used.doors.is_empty().then_some(used.since)
    }

    /// Whether jobs run or wait in it. It is in use then, though it has no client.
    fn is_busy(&self) -> bool {
        let crib = self.reloader.crib();
        let jobs = &crib.shared.jobs;
        let named = self.reloader.named_workspaces().gates();
        let gates = std::iter::once(crib.gate.clone()).chain(named);
        gates.filter_map(|gate| gate.workspace().cloned()).any(|place| jobs.is_busy_in(&place))
    }

    /// Ends its servers.
    pub(super) async fn close(&self) {
        self.reloader.named_workspaces().end().await;
        self.reloader.crib().end().await;
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Workspaces {
    members: Mutex<Members>,
    /// Told when somebody stops using one.
    left: Notify,
}

#[derive(Default)]
struct Members {
    given: u64,
    by_place: BTreeMap<Place, Arc<Workspace>>,
}

/// Somebody uses a workspace until this is dropped.
pub(super) struct Use {
    workspace: Arc<Workspace>,
    all: Arc<Workspaces>,
    door: String,
}

impl std::ops::Deref for Use {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut used = self.workspace.used();
        if let Some(at) = used.doors.iter().position(|door| *door == self.door) {
            used.doors.remove(at);
        }
        used.since = Instant::now();
        drop(used);
        self.all.left.notify_one();
    }
}

impl Workspaces {
    /// Uses the workspace of a place, if there is one, for clients who come in at `door`.
    pub(super) fn find(self: &Arc<Self>, place: &Place, door: &str) -> Option<Use> {
        let workspace = self.members().by_place.get(place).cloned()?;
        Some(self.use_for(workspace, door))
    }

    /// True if there may be no more, and all are in use.
    pub(super) fn is_full(&self) -> bool {
        let members = self.members();
        members.by_place.len() >= WORKSPACES_MAX
            && members.by_place.values().all(|one| one.idle_since().is_none())
    }

    /// Adds the workspace of a place, which has none yet, and uses it. Gives the one, too, that has to make room for it.
    pub(super) fn add(
        self: &Arc<Self>,
        place: Place,
        door: &str,
        reloader: Arc<Reloader>,
        server: Arc<Server>,
    ) -> (Use, Option<Arc<Workspace>>) {
        let mut members = self.members();
        let idle = members.by_place.iter().filter_map(|(place, one)| Some((one.idle_since()?, place)));
        let longest = idle.min().map(|(_, place)| place.clone());
        let gone = longest.filter(|_| members.by_place.len() >= WORKSPACES_MAX);
        let gone = gone.and_then(|place| members.by_place.remove(&place));
        members.given += 1;
        let used = Mutex::new(Used { doors: Vec::new(), since: Instant::now() });
        let workspace = Arc::new(Workspace { number: members.given, reloader, server, used });
        members.by_place.insert(place, workspace.clone());
        drop(members);
        (self.use_for(workspace, door), gone)
    }

    fn use_for(self: &Arc<Self>, workspace: Arc<Workspace>, door: &str) -> Use {
        workspace.used().doors.push(door.to_owned());
        Use { workspace, all: self.clone(), door: door.to_owned() }
    }

    /// Takes out what nobody has used for too long; and says when the next one will have been idle for so long.
    pub(super) fn take_idle(&self) -> (Vec<Arc<Workspace>>, Option<Instant>) {
        let now = Instant::now();
        let mut members = self.members();
        for busy in members.by_place.values().filter(|one| one.idle_since().is_some() && one.is_busy()) {
            busy.used().since = now;
        }
        let is_over = |one: &Workspace| one.idle_since().is_some_and(|since| now >= since + IDLE_MAX);
        let over: Vec<_> = members.by_place.extract_if(.., |_, one| is_over(one)).collect();
        let next = members.by_place.values().filter_map(|one| one.idle_since()).min();
        (over.into_iter().map(|(_, one)| one).collect(), next.map(|since| since + IDLE_MAX))
    }

    /// Takes out all of them.
    pub(super) fn take_all(&self) -> Vec<Arc<Workspace>> {
        std::mem::take(&mut self.members().by_place).into_values().collect()
    }

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.members().by_place.is_empty()
    }

    /// True if jobs run or wait in one.
    pub(super) fn are_busy(&self) -> bool {
        self.members().by_place.values().any(|one| one.is_busy())
    }

    /// Resolves when somebody has stopped using one.
    pub(super) async fn left(&self) {
        self.left.notified().await;
    }

    /// For those who ask how the process is doing.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let seat = |one: &Arc<Workspace>| {
            let mut doors = one.used().doors.clone();
            doors.dedup();
            let door = if doors.is_empty() { "idle".to_owned() } else { doors.join(", ") };
            Seat { door, reloader: one.reloader.clone() }
        };
        self.members().by_place.values().map(seat).collect()
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().expect("nothing panics while it holds the lock")
    }
}

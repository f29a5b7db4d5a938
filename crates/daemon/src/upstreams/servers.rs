//! The servers of a process. Workspaces that mean the same by a server share it: its connections, its sign-in, what is
//! known of it, and the task that keeps it connected. The last one that lets go of it ends it.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::join_all;
use sandbox::ServerFiles;
use store::Store;
use tokio::sync::watch;
use tokio::task::JoinSet;
use upstream::{Settings, State, Upstream, World};

use super::leaving::Leaving;
use super::remember::{Known, remember};
use super::share::{Share, Workspace};

/// The servers of a process.
pub struct Servers {
    world: World,
    store: Arc<dyn Store>,
    running: Mutex<Vec<Arc<Server>>>,
    leaving: Leaving,
}

/// One server, and the workspaces that share it.
pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) upstream: Arc<Upstream>,
    shares: Mutex<Vec<Arc<Share>>>,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    remembering: JoinSet<()>,
    connecting: JoinSet<()>,
    /// Those of workspaces that have let go of it, on their way out.
    carried: Vec<JoinSet<()>>,
}

/// What a server finds that takes another's place.
#[derive(Clone)]
pub(super) struct Before {
    pub(super) upstream: Arc<Upstream>,
    /// What that one offered, if it was the same server.
    known: Option<Known>,
    pub(super) was_connected: bool,
    /// Fails when that one is no longer in the way.
    pub(super) has_left: watch::Receiver<()>,
}

impl Before {
    /// For a server with settings of this `fingerprint`.
    pub(super) fn of(upstream: Arc<Upstream>, fingerprint: &str, has_left: watch::Receiver<()>) -> Before {
        let known = Known::of(&upstream).filter(|_| upstream.fingerprint() == fingerprint);
        let was_connected = matches!(upstream.offers().borrow().state, State::Connected { .. });
        Before { upstream, known, was_connected, has_left }
    }
}

impl Servers {
    /// None yet. What they list is remembered in `store`.
    pub fn new(world: World, store: Arc<dyn Store>) -> Arc<Servers> {
        Arc::new(Servers { world, store, running: Mutex::default(), leaving: Leaving::default() })
    }

    /// How many there are. Those that are on their way out do not count.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.running().len()
    }

    /// Has a workspace share the server that these settings mean, which is begun if there is none.
    pub(super) fn join(
        &self,
        settings: &Settings,
        workspace: Workspace,
        before: Option<&Before>,
    ) -> Arc<Share> {
        let mut running = self.running();
        let found = running.iter().find(|server| server.settings.can_share(settings)).cloned();
        let server = found.unwrap_or_else(|| {
            let server = self.begin(settings.clone(), before);
            running.push(server.clone());
            server
        });
        let share = Arc::new(Share::of(workspace, server.upstream.clone()));
        server.shares().push(share.clone());
        share.carry(&server, &self.store, before);
        share
    }

    /// Takes the other servers of a workspace that `settings` know. False if others share this one, for whom other names
    /// would be left out then.
    pub(super) fn knowing_others(&self, share: &Arc<Share>, settings: &Settings) -> bool {
        let running = self.running();
        let Some(server) = running.iter().find(|server| server.is_shared_by(share)) else { return false };
        let may = server.shares().len() == 1 || server.settings.knows_as(settings);
        if may {
            server.upstream.knowing_others(settings);
        }
        may
    }

    /// Exchanges the server for one with the same settings, for all who share it.
    pub(super) fn renew(&self, share: &Arc<Share>) {
        let mut running = self.running();
        let Some(at) = running.iter().position(|server| server.is_shared_by(share)) else { return };
        let old = running[at].clone();
        let (make_way, has_left) = watch::channel(());
        let before = Before::of(old.upstream.clone(), &old.settings.fingerprint(), has_left);
        let server = self.begin(old.settings.clone(), Some(&before));
        let shares = std::mem::take(&mut *old.shares());
        for share in &shares {
            old.take_back(share);
            share.carry(&server, &self.store, Some(&before));
        }
        *server.shares() = shares;
        running[at] = server;
        drop(before);
        // Only now, so that whoever finds that one closed finds this one in its place.
        self.see_off(&old, true, make_way);
    }

    /// A workspace lets go of its server, which ends once its calls are done if nobody else shares it. `make_way` is
    /// dropped when the next one may take its place.
    pub(super) fn leave(&self, share: &Arc<Share>, is_replaced: bool, make_way: watch::Sender<()>) {
        if let Some(server) = self.take_out(share) {
            self.see_off(&server, is_replaced, make_way);
        }
    }

    fn see_off(&self, server: &Server, is_replaced: bool, make_way: watch::Sender<()>) {
        let what = (server.settings.clone(), server.upstream.clone());
        self.leaving.add(what, server.take_tasks(), is_replaced, make_way);
    }

    /// Takes a workspace out of those that share its server. Returns the server if it was the last.
    pub(super) fn take_out(&self, share: &Arc<Share>) -> Option<Arc<Server>> {
        let mut running = self.running();
        let at = running.iter().position(|server| server.is_shared_by(share))?;
        running[at].shares().retain(|one| !Arc::ptr_eq(one, share));
        running[at].take_back(share);
        let is_last = running[at].shares().is_empty();
        is_last.then(|| running.swap_remove(at))
    }

    /// The files of those that are on their way out.
    pub(super) fn files_of_leaving(&self) -> ServerFiles {
        self.leaving.own_files()
    }

    /// Ends all of them, side by side, each within its own bound.
    pub async fn end(&self) {
        let running = std::mem::take(&mut *self.running());
        let all = running.iter().map(|server| server.end());
        tokio::join!(join_all(all), self.leaving.end());
    }

    /// A server that nobody shares yet.
    fn begin(&self, settings: Settings, before: Option<&Before>) -> Arc<Server> {
        let upstream = Upstream::new(settings.clone(), self.world.clone());
        if let Some(before) = before.filter(|_| settings.enabled) {
            upstream.follow(&before.upstream);
            if let Some(known) = &before.known {
                upstream.offer_cached(&known.definitions, known.fetched_at_ms);
            }
        }
        let server =
            Arc::new(Server { settings, upstream, shares: Mutex::default(), tasks: Mutex::default() });
        if server.settings.enabled {
            let weak = Arc::downgrade(&server);
            // Of one that has gone nothing is remembered any more.
            let has_secret = move |json: &str| weak.upgrade().is_none_or(|server| server.has_secret(json));
            let remembering = remember(server.upstream.clone(), has_secret, self.store.clone());
            server.tasks().remembering.spawn(remembering);
        }
        server
    }

    fn running(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.running.lock().expect("nothing panics while it holds the lock")
    }
}

impl Server {
    /// Keeps trying to connect, in one task for all who share it.
    pub(super) fn stay_connected(&self) {
        let mut tasks = self.tasks();
        while tasks.connecting.try_join_next().is_some() {}
        if tasks.connecting.is_empty() {
            let upstream = self.upstream.clone();
            tasks.connecting.spawn(async move { upstream.stay_connected().await });
        }
    }

    /// Ends it within its own bound, with all that goes on for it.
    pub(super) async fn end(&self) {
        for mut tasks in self.take_tasks() {
            tasks.shutdown().await;
        }
        self.upstream.end().await;
    }

    /// True if a text holds a secret of one of the workspaces.
    fn has_secret(&self, json: &str) -> bool {
        self.shares().iter().any(|share| share.has_secret(json))
    }

    /// All that goes on for it.
    fn take_tasks(&self) -> Vec<JoinSet<()>> {
        let Tasks { remembering, connecting, carried } = std::mem::take(&mut *self.tasks());
        carried.into_iter().chain([remembering, connecting]).collect()
    }

    /// Nothing is carried any more to a workspace that shared it. What was is waited for with the server's end.
    fn take_back(&self, share: &Share) {
        share.abort();
        let mut tasks = self.tasks();
        tasks.carried.retain_mut(|carrying| {
            while carrying.try_join_next().is_some() {}
            !carrying.is_empty()
        });
        tasks.carried.push(share.take_task());
    }

    fn is_shared_by(&self, share: &Arc<Share>) -> bool {
        self.shares().iter().any(|one| Arc::ptr_eq(one, share))
    }

    fn shares(&self) -> MutexGuard<'_, Vec<Arc<Share>>> {
        self.shares.lock().expect("nothing panics while it holds the lock")
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().expect("nothing panics while it holds the lock")
    }
}

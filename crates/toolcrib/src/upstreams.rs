//! The upstreams of one run: which there are, how they come and go when the configuration is read again.
//! What each one's task does is in [`task`].

mod leaving;
mod task;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::join_all;
use gate::Catalog;
use redact::Redactor;
use sandbox::ServerFiles;
use store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use upstream::{Report, Settings, State, Upstream, World};

use leaving::Leaving;
use task::{Known, Task};

/// When upstreams are connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// At once: whoever serves many wants them ready.
    AtOnce,
    /// When somebody needs what is not remembered: one client may never ask.
    WhenWanted,
    /// Not at all: whoever only looks starts nothing, and goes by what is remembered.
    Never,
}

/// What a change of the settings did, by the names of the upstreams.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) unchanged: Vec<String>,
}

/// All upstreams of one run.
pub(crate) struct Upstreams {
    world: World,
    catalog: Arc<Catalog>,
    store: Arc<dyn Store>,
    redactor: Redactor,
    start: Start,
    /// In the order of their names; disabled ones too.
    members: Mutex<Vec<Member>>,
    leaving: Leaving,
}

/// One of them.
struct Member {
    settings: Settings,
    upstream: Arc<Upstream>,
    /// What carries its offers, unless it is disabled; ends with this.
    task: JoinSet<()>,
}

impl Upstreams {
    /// Announces every upstream that is enabled, and starts its task. What holds a secret of `redactor` is not remembered.
    pub(crate) fn start(
        settings: Vec<Settings>,
        world: World,
        catalog: &Arc<Catalog>,
        store: &Arc<dyn Store>,
        redactor: &Redactor,
        start: Start,
    ) -> Upstreams {
        let upstreams = Upstreams {
            world,
            catalog: catalog.clone(),
            store: store.clone(),
            redactor: redactor.clone(),
            start,
            members: Mutex::default(),
            leaving: Leaving::default(),
        };
        let members = settings.into_iter().map(|settings| upstreams.enter(settings, None)).collect();
        *upstreams.members() = members;
        upstreams
    }

    /// Each of them, in the order of their names; disabled ones too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Arc<Upstream>> + use<> {
        self.members().iter().map(|member| member.upstream.clone()).collect::<Vec<_>>().into_iter()
    }

    /// The one of this name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Upstream>> {
        self.iter().find(|upstream| upstream.name() == name)
    }

    /// The files that those are made of which run or may still be running.
    pub(crate) fn own_files(&self) -> ServerFiles {
        let mut files = self.leaving.own_files();
        self.members().iter().for_each(|member| files.extend(member.settings.server_files()));
        files
    }

    /// Takes other settings: what is new is started, what is gone is ended, what has changed is both, and the rest
    /// goes on undisturbed. Calls under way are finished by the server that they were made to, for a while; new ones
    /// go to the new one.
    pub(crate) fn replace(&self, settings: Vec<Settings>) -> Changes {
        let mut members = self.members();
        let mut before: BTreeMap<String, Member> =
            members.drain(..).map(|member| (member.upstream.name().to_owned(), member)).collect();
        let mut changes = Changes::default();
        // What is gone makes way first: a new one may want its names.
        let names: Vec<String> = settings.iter().map(|settings| settings.name().to_owned()).collect();
        for (name, member) in before.extract_if(.., |name, _| !names.contains(name)) {
            // Nobody waits for its end.
            let (make_way, _) = oneshot::channel();
            self.catalog.remove(&name);
            self.leaving.add(member, false, make_way);
            changes.removed.push(name);
        }
        for settings in settings {
            let name = settings.name().to_owned();
            let (member, list) = match before.remove(&name) {
                // Whoever asks for this is the person that one which is left alone waits for.
                Some(mut member)
                    if member.settings.same_as(&settings) && !member.upstream.awaits_a_person() =>
                {
                    member.upstream.knowing_others(&settings);
                    member.settings = settings;
                    (member, &mut changes.unchanged)
                }
                Some(member) => (self.enter_for(settings, member), &mut changes.changed),
                None => (self.enter(settings, None), &mut changes.added),
            };
            members.push(member);
            list.push(name);
        }
        self.catalog.arrange(&names.iter().map(String::as_str).collect::<Vec<_>>());
        changes
    }

    /// Lets go of an upstream and connects to it anew, as if its settings had changed, and says how it is doing once
    /// that is done, but at the latest after `limit`.
    ///
    /// # Errors
    /// There is none of this name, or it is disabled.
    pub(crate) async fn reconnect(&self, name: &str, limit: Duration) -> Result<Report, String> {
        let upstream = self.enter_anew(name)?;
        // How it went is the report's to say.
        let _ = timeout(limit, upstream.connect()).await;
        Ok(upstream.status())
    }

    fn enter_anew(&self, name: &str) -> Result<Arc<Upstream>, String> {
        let mut members = self.members();
        let Some(at) = members.iter().position(|member| member.upstream.name() == name) else {
            return Err(format!("it has no server `{name}`"));
        };
        let settings = members[at].settings.clone();
        if !settings.enabled {
            return Err(format!("its server `{name}` is disabled"));
        }
        let member = members.remove(at);
        let member = self.enter_for(settings, member);
        let upstream = member.upstream.clone();
        members.insert(at, member);
        Ok(upstream)
    }

    /// Ends all of them, side by side, each within its own bound.
    pub(crate) async fn end(&self) {
        let members = std::mem::take(&mut *self.members());
        let all = members.iter().map(|member| member.upstream.end());
        tokio::join!(join_all(all), self.leaving.end());
    }

    /// One that takes another's place. What is remembered of the same server is offered without a gap, and what clients
    /// watch there is watched on.
    fn enter_for(&self, settings: Settings, mut before: Member) -> Member {
        // What it still offers or says is no news.
        before.task.abort_all();
        let is_same = settings.enabled && settings.fingerprint() == before.settings.fingerprint();
        let upstream = before.upstream.clone();
        let known = Known::of(&upstream).filter(|_| is_same);
        let was_connected = matches!(upstream.offers().borrow().state, State::Connected { .. });
        let is_replaced = settings.enabled;
        let (make_way, has_left) = oneshot::channel();
        let after = self.enter(settings, Some(Before { upstream, known, was_connected, has_left }));
        // Only now, so that whoever finds that one closed finds this one in its place.
        self.leaving.add(before, is_replaced, make_way);
        after
    }

    fn enter(&self, settings: Settings, before: Option<Before>) -> Member {
        let upstream = Upstream::new(settings.clone(), self.world.clone());
        let name = upstream.name().to_owned();
        let mut task = JoinSet::new();
        if !settings.enabled {
            self.catalog.remove(&name);
            return Member { settings, upstream, task };
        }
        let (catalog, store) = (self.catalog.clone(), self.store.clone());
        let redactor = self.redactor.clone();
        let carrier = Task { upstream: upstream.clone(), catalog, store, redactor };
        let (known, was_connected, has_left) = match before {
            Some(Before { upstream: before, known, was_connected, has_left }) => {
                upstream.follow(&before);
                (known, was_connected, Some(has_left))
            }
            None => (None, false, None),
        };
        let start = if was_connected { Start::AtOnce } else { self.start };
        let offered = known.is_some_and(|known| carrier.offer_known(&known));
        if !offered {
            // What another server offered is not to be called any longer.
            self.catalog.remove(&name);
            self.catalog.expect(&name);
        }
        task.spawn(carrier.run(start, offered, has_left));
        Member { settings, upstream, task }
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().expect("nothing panics while it holds the lock")
    }
}

/// What an upstream finds that takes another's place.
struct Before {
    upstream: Arc<Upstream>,
    /// What it offered, if it was the same server.
    known: Option<Known>,
    was_connected: bool,
    /// Resolves when that one is no longer in the way.
    has_left: oneshot::Receiver<()>,
}

#[cfg(test)]
pub(crate) mod tests;

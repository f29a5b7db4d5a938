//! The upstreams of one workspace: which there are, how they come and go when the configuration is read again. The
//! servers themselves are the process's, in `servers`; what a workspace has of one is in `share`.

mod leaving;
mod remember;
mod servers;
mod share;
mod start;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::join_all;
use gate::Catalog;
use redact::Redactor;
use sandbox::ServerFiles;
use tokio::sync::watch;
use tokio::time::timeout;
use upstream::{Report, Settings, Upstream};

use servers::Before;
pub use servers::Servers;
use share::{Share, Workspace};
pub use start::Start;

/// What a change of the settings did, by the names of the upstreams.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New ones.
    pub added: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
    /// Those that were connected to anew.
    pub changed: Vec<String>,
    /// Those that go on.
    pub unchanged: Vec<String>,
}

/// All upstreams of one workspace. Dropping it lets go of them at once, and of calls under way with those that nobody
/// else shares.
pub struct Upstreams {
    servers: Arc<Servers>,
    workspace: Workspace,
    /// In the order of their names; disabled ones too.
    members: Mutex<Vec<Member>>,
}

/// One of them.
struct Member {
    settings: Settings,
    share: Arc<Share>,
    servers: Arc<Servers>,
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.servers.take_out(&self.share));
    }
}

impl Member {
    fn name(&self) -> &str {
        self.settings.name()
    }
}

impl Upstreams {
    /// Announces every upstream that is enabled in the workspace's catalogue, and shares its server with the workspaces
    /// that mean the same by it. What holds a secret of `redactor` is not remembered.
    pub fn start(
        settings: Vec<Settings>,
        servers: &Arc<Servers>,
        catalog: &Arc<Catalog>,
        redactor: &Redactor,
        start: Start,
    ) -> Upstreams {
        let upstreams = Upstreams {
            servers: servers.clone(),
            workspace: Workspace { catalog: catalog.clone(), redactor: redactor.clone(), start },
            members: Mutex::default(),
        };
        let members = settings.into_iter().map(|settings| upstreams.enter(settings, None)).collect();
        *upstreams.members() = members;
        upstreams
    }

    /// Each of them, in the order of their names; disabled ones too.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Upstream>> + use<> {
        self.members().iter().map(|member| member.share.upstream()).collect::<Vec<_>>().into_iter()
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Upstream>> {
        self.iter().find(|upstream| upstream.name() == name)
    }

    /// The files that those are made of which run or may still be running, in this workspace or after having left another.
    pub fn own_files(&self) -> ServerFiles {
        let mut files = self.servers.files_of_leaving();
        self.members().iter().for_each(|member| files.extend(member.settings.server_files()));
        files
    }

    /// Takes other settings: what is new is started, what is gone is ended, what has changed is both, and the rest
    /// goes on undisturbed. Calls under way are finished by the server that they were made to, for a while; new ones
    /// go to the new one.
    pub fn replace(&self, settings: Vec<Settings>) -> Changes {
        let mut members = self.members();
        let mut before: BTreeMap<String, Member> =
            members.drain(..).map(|member| (member.name().to_owned(), member)).collect();
        let mut changes = Changes::default();
        // What is gone makes way first: a new one may want its names.
        let names: Vec<String> = settings.iter().map(|settings| settings.name().to_owned()).collect();
        for (name, member) in before.extract_if(.., |name, _| !names.contains(name)) {
            // Nobody waits for its end.
            let (make_way, _) = watch::channel(());
            self.workspace.catalog.remove(&name);
            self.servers.leave(&member.share, false, make_way);
            changes.removed.push(name);
        }
        for settings in settings {
            let name = settings.name().to_owned();
            let (member, list) = match before.remove(&name) {
                Some(mut member)
                    if member.settings.same_as(&settings)
                        && self.servers.knowing_others(&member.share, &settings) =>
                {
                    member.settings = settings;
                    // Whoever asks for this is the person that one which is left alone waits for.
                    let awaits_a_person = member.share.upstream().awaits_a_person();
                    if awaits_a_person {
                        self.servers.renew(&member.share);
                    }
                    (member, if awaits_a_person { &mut changes.changed } else { &mut changes.unchanged })
                }
                Some(member) => (self.enter_for(settings, member), &mut changes.changed),
                None => (self.enter(settings, None), &mut changes.added),
            };
            members.push(member);
            list.push(name);
        }
        self.workspace.catalog.arrange(&names.iter().map(String::as_str).collect::<Vec<_>>());
        changes
    }

    /// Lets go of an upstream and connects to it anew, for all workspaces that share it, and says how it is doing once
    /// that is done, but at the latest after `limit`.
    ///
    /// # Errors
    /// There is none of this name, or it is disabled.
    pub async fn reconnect(&self, name: &str, limit: Duration) -> Result<Report, String> {
        let upstream = self.enter_anew(name)?;
        // How it went is the report's to say.
        let _ = timeout(limit, upstream.connect()).await;
        Ok(upstream.status())
    }

    fn enter_anew(&self, name: &str) -> Result<Arc<Upstream>, String> {
        let members = self.members();
        let Some(member) = members.iter().find(|member| member.name() == name) else {
            return Err(format!("it has no server `{name}`"));
        };
        if !member.settings.enabled {
            return Err(format!("its server `{name}` is disabled"));
        }
        self.servers.renew(&member.share);
        Ok(member.share.upstream())
    }

    /// Lets go of all of them. Those that nobody else shares end, side by side, each within its own bound.
    pub async fn end(&self) {
        let members = std::mem::take(&mut *self.members());
        let last: Vec<_> = members.iter().filter_map(|member| self.servers.take_out(&member.share)).collect();
        join_all(last.iter().map(|server| server.end())).await;
    }

    /// One that takes another's place. What is remembered of the same server is offered without a gap, and what clients
    /// watch there is watched on.
    fn enter_for(&self, settings: Settings, before: Member) -> Member {
        // What it still offers or says is no news.
        before.share.abort();
        let is_replaced = settings.enabled;
        let (make_way, has_left) = watch::channel(());
        let found = Before::of(before.share.upstream(), &settings.fingerprint(), has_left);
        let after = self.enter(settings, Some(&found));
        drop(found);
        // Only now, so that whoever finds that one closed finds this one in its place.
        self.servers.leave(&before.share, is_replaced, make_way);
        after
    }

    fn enter(&self, settings: Settings, before: Option<&Before>) -> Member {
        let share = self.servers.join(&settings, self.workspace.clone(), before);
        Member { settings, share, servers: self.servers.clone() }
    }

    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().expect("nothing panics while it holds the lock")
    }
}

#[cfg(test)]
pub mod tests;

//! What confined programs leave alone, and the servers that are told so.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::text_file::link_targets;
use sandbox::{ProtectedPaths, ServerFiles};

use super::Settings;

impl Settings {
    /// What confined programs leave alone by these settings, which is what tools do. `running` are files of servers that
    /// run, whatever the settings say. Looks into the user's folders of skills for links.
    pub fn protected(&self, running: ServerFiles) -> ProtectedPaths {
        let rules = std::iter::once(self).chain(self.named.values()).map(|settings| &settings.rules);
        let mut unwritten: Vec<PathBuf> = rules.flat_map(rules::Settings::named_files).collect();
        // Whoever writes a manifest decides what a tool is.
        unwritten.extend(self.manifests.folder.clone());
        // And of a skill, what agents do, also where the user's folder has only a link to it, or to where it will be.
        let skills = self.manifests.skill_folders();
        unwritten.extend(skills.iter().cloned().chain(skills.iter().flat_map(|one| link_targets(one))));
        let mut servers = running;
        self.upstreams.iter().for_each(|upstream| servers.extend(upstream.server_files()));
        for paths in [&mut unwritten, &mut servers.named, &mut servers.code, &mut servers.starts] {
            paths.sort_unstable();
            paths.dedup();
        }
        let secrets = self.files.iter().chain(&self.secret_files);
        let unread = std::iter::once(&self.state).chain(secrets).cloned().collect();
        ProtectedPaths { unwritten, unread, servers, writable: self.writable.clone() }
    }

    /// The same, in which the servers of each workspace know how they are confined.
    pub(super) fn with_confined_servers(mut self) -> Settings {
        let confinement = Arc::new(upstream::Confinement {
            workspace: self.too_wide.is_none().then(|| self.workspace.clone()),
            read: self.sandbox.read.clone(),
            write: self.sandbox.write.clone(),
            company: self.sandbox.proxy.clone(),
            limits: self.sandbox.limits,
            waived: self.sandbox.waived.clone(),
            protected: self.protected(ServerFiles::default()),
        });
        let upstreams = std::mem::take(&mut self.upstreams).into_iter();
        self.upstreams = upstreams.map(|upstream| upstream.confined_by(&confinement)).collect();
        let named = std::mem::take(&mut self.named).into_iter();
        self.named = named.map(|(name, settings)| (name, settings.with_confined_servers())).collect();
        self
    }
}

//! How one server is confined, of what holds for all in its workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::confine::{Limits, ServerMay, names_something_in};
use sandbox::is_code;

use super::checked::Settings;
use super::confinement::{Confined, Confinement};
use super::endpoint::Endpoint;

impl Settings {
    /// The same for a server that is confined so. Looks at the files that its command line names.
    #[must_use]
    pub fn confined_by(self, confinement: &Arc<Confinement>) -> Settings {
        let Endpoint::Program(program) = &self.endpoint else { return self };
        let works_in = |folder: &PathBuf| {
            !self.sandbox.is_open && (self.workspace.first().is_some() || names_something_in(program, folder))
        };
        let workspace = confinement.workspace.clone().filter(works_in);
        let confined = Confined { by: confinement.clone(), workspace };
        Settings { confined, ..self }
    }

    /// What its program may touch; nothing if it is not confined. `ours` is our own program, which none writes.
    pub(crate) fn server_may(&self, ours: &Path) -> Option<ServerMay> {
        let sandbox = &self.sandbox;
        if sandbox.is_open {
            return None;
        }
        let Confined { by, workspace } = &self.confined;
        let mut write = sandbox.write.clone();
        // Whose table says `${workspace}` works on all of it.
        write.extend(workspace.clone().filter(|_| self.workspace.first().is_some()));
        let mut protected = by.protected.clone();
        protected.unwritten.push(ours.to_owned());
        // What it names belongs to it, and no other program writes it. It does itself, but for its code.
        let own = self.server_files().named;
        protected.servers.named.retain(|path| is_code(path) || !own.contains(path));
        let usual = by.limits.lasting();
        let limits = Limits {
            memory_bytes: sandbox.memory_bytes.unwrap_or(usual.memory_bytes),
            processes: sandbox.processes.unwrap_or(usual.processes),
            open_files: sandbox.open_files.unwrap_or(usual.open_files),
            ..usual
        };
        Some(ServerMay {
            read: by.read.iter().chain(&sandbox.read).cloned().collect(),
            write,
            workspaces: workspace.iter().chain(&by.write).cloned().collect(),
            sockets: sandbox.sockets.clone(),
            hosts: sandbox.network.clone(),
            company: by.company.clone(),
            limits,
            protected,
            waived: by.waived.clone(),
        })
    }
}

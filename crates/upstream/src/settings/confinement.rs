//! `Confinement`: what holds for all servers of a workspace that run confined, and what comes of it for one of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::confine::{Layer, Limits, ServerMay, names_something_in};
use sandbox::egress::CompanyProxy;
use sandbox::{ProtectedPaths, is_code};

use super::checked::Settings;
use super::endpoint::Endpoint;

/// What holds for all servers of a workspace that run confined.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// The folder in which they write what they name; nothing where it holds more than a project.
    pub workspace: Option<PathBuf>,
    /// What all of them read.
    pub read: Vec<PathBuf>,
    /// Where all of them write what they name.
    pub write: Vec<PathBuf>,
    /// The proxy that we have to go through ourselves, if any.
    pub company: Option<CompanyProxy>,
    /// How much they may use. They last, whatever is said of time and output.
    pub limits: Limits,
    /// Layers to do without where they are missing.
    pub waived: Vec<Layer>,
    /// What no program writes or reads.
    pub protected: ProtectedPaths,
}

/// The same for one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Confined {
    by: Arc<Confinement>,
    /// The workspace, if the server works in it. One that does not is the same in all.
    pub(super) workspace: Option<PathBuf>,
}

impl Confined {
    /// What makes it another server. What is protected does not: it is looked up anew with each start.
    pub(super) fn meant(&self) -> impl PartialEq {
        let Confinement { read, write, company, limits, waived, .. } = (*self.by).clone();
        (self.workspace.clone(), read, write, company, limits, waived)
    }
}

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

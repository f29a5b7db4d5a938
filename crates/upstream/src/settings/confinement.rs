//! `Confinement`: what holds for all servers of a workspace that run confined.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::ProtectedPaths;
use sandbox::confine::{Layer, Limits};
use sandbox::egress::CompanyProxy;

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
    pub(super) by: Arc<Confinement>,
    /// The workspace, if the server works in it. One that does not is the same in all.
    pub(super) workspace: Option<PathBuf>,
}

impl Confined {
    /// What makes it another server. What is protected does not: it is looked up anew with each start.
    pub(super) fn meant(&self) -> impl PartialEq {
        let Confinement { read, write, company, limits, waived, .. } = &*self.by;
        (&self.workspace, read, write, company, limits, waived)
    }
}

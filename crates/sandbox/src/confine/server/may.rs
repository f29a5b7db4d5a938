//! `ServerMay`: what a server may touch.

use std::path::PathBuf;

use crate::confine::layer::Layer;
use crate::confine::limits::Limits;
use crate::egress::{CompanyProxy, HostRules};
use crate::files::ProtectedPaths;

/// What a server may touch beside what it consists of.
#[derive(Debug, Clone)]
pub struct ServerMay {
    /// Files and folders that it reads.
    pub read: Vec<PathBuf>,
    /// Those that it writes.
    pub write: Vec<PathBuf>,
    /// Folders in which it writes what its command line names.
    pub workspaces: Vec<PathBuf>,
    /// Sockets of the machine that it uses.
    pub sockets: Vec<PathBuf>,
    /// Hosts that it reaches.
    pub hosts: HostRules,
    /// The proxy that we have to go through ourselves, if any.
    pub company: Option<CompanyProxy>,
    /// How much it may use.
    pub limits: Limits,
    /// What no program writes or reads.
    pub protected: ProtectedPaths,
    /// Layers to do without where they are missing.
    pub waived: Vec<Layer>,
}

impl ServerMay {
    /// Nothing beside what it consists of.
    pub(super) fn nothing() -> ServerMay {
        ServerMay {
            read: Vec::new(),
            write: Vec::new(),
            workspaces: Vec::new(),
            sockets: Vec::new(),
            hosts: HostRules::none(),
            company: None,
            limits: Limits::default(),
            protected: ProtectedPaths::default(),
            waived: Vec::new(),
        }
    }
}

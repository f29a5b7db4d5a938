//! The `sandbox` table: what a server's program may touch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::egress::HostRules;

use super::super::sandbox::ServerSandbox;
use super::Check;
use super::place::NO_SECRET;
use super::text::May;
use crate::config::{Config, Network, SandboxProfile, SandboxTable};
use crate::settings::workspace_words::WORKSPACE;

/// With fewer open files a program cannot load its libraries.
const OPEN_FILES_MIN: u64 = 16;

/// With less memory no interpreter starts.
const MEMORY_BYTES_MIN: u64 = 16 << 20;

impl Check<'_> {
    pub(super) fn sandbox(&mut self, config: &Config) -> Arc<ServerSandbox> {
        let Some(table) = &config.sandbox else { return Arc::default() };
        self.sandbox_limits(table);
        Arc::new(ServerSandbox {
            is_open: table.profile == SandboxProfile::Open,
            read: self.paths("read", &table.read),
            write: self.paths("write", &table.write),
            network: self.network(&table.network),
            sockets: self.paths("sockets", &table.sockets),
            memory_bytes: table.memory.map(|size| size.0),
            processes: table.processes,
            open_files: table.open_files,
        })
    }

    fn sandbox_limits(&mut self, table: &SandboxTable) {
        let is_below = |given: Option<u64>, least| given.is_some_and(|given| given < least);
        for (key, is_wrong, why) in [
            (
                "memory",
                is_below(table.memory.map(|size| size.0), MEMORY_BYTES_MIN),
                "must be at least 16 MiB",
            ),
            ("processes", is_below(table.processes, 1), "must be at least 1"),
            ("open_files", is_below(table.open_files, OPEN_FILES_MIN), "must be at least 16"),
        ] {
            if is_wrong {
                self.wrong(&format!("sandbox.{key}"), why);
            }
        }
    }

    fn paths(&mut self, key: &str, written: &[PathBuf]) -> Vec<PathBuf> {
        let mut paths = Vec::with_capacity(written.len());
        for (nth, path) in written.iter().enumerate() {
            let place = format!("sandbox.{key}[{nth}]");
            let text = path.to_string_lossy();
            // Nothing of a table that is not followed, or a problem that has been told.
            let Some(text) = self.text(&place, &text, May::Variables(NO_SECRET)) else { continue };
            match wrong_path(&text) {
                Some(why) => self.wrong(&place, why),
                None => paths.push(text.into()),
            }
        }
        paths
    }

    fn network(&mut self, network: &Network) -> HostRules {
        network.rules().unwrap_or_else(|problems| {
            for (nth, why) in problems {
                let nth = nth.map(|nth| format!("[{nth}]")).unwrap_or_default();
                self.wrong(&format!("sandbox.network{nth}"), why);
            }
            HostRules::none()
        })
    }
}

fn wrong_path(text: &str) -> Option<&'static str> {
    let path = Path::new(text);
    match () {
        () if text.contains('\0') => Some("must not contain NUL"),
        () if !path.is_absolute() && !text.starts_with(WORKSPACE) => Some("leads to no absolute path"),
        () if path.components().count() == 1 && path.is_absolute() => {
            Some("is everything on this machine; a server that needs it says `profile = \"open\"`")
        }
        () => None,
    }
}

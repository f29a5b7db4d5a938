//! Paths that the configuration shows to confined programs and that are not there.

use std::path::{Path, PathBuf};

use super::Settings;

impl Settings {
    /// What `[sandbox]` and the servers' tables name and is not there, each in a sentence with its key: what is to see it does
    /// not start, and nothing else of the configuration is wrong for that. Looks at the disk.
    pub fn absent_paths(&self) -> Vec<String> {
        let programs = [
            ("read", &self.sandbox.read, "no confined program starts until it is"),
            ("write", &self.sandbox.write, "no program that may write starts until it is"),
        ];
        let programs =
            programs.into_iter().flat_map(|(key, paths, so)| absent(format!("sandbox.{key}"), paths, so));
        let confined = self.upstreams.iter().filter(|server| !server.sandbox().is_open);
        let servers = confined.flat_map(|server| {
            let sandbox = server.sandbox();
            let keys = [("read", &sandbox.read), ("write", &sandbox.write), ("sockets", &sandbox.sockets)];
            let key_of = |key: &str| format!("mcp.{}.sandbox.{key}", server.name());
            keys.map(|(key, paths)| absent(key_of(key), paths, "the server does not start until it is"))
        });
        programs.chain(servers.flatten()).collect()
    }
}

fn absent(key: String, paths: &[PathBuf], so: &str) -> impl Iterator<Item = String> {
    #[expect(clippy::disallowed_methods, reason = "what programs see lies anywhere")]
    let is_absent = |path: &Path| !path.exists();
    let absent = paths.iter().enumerate().filter(move |(_, path)| is_absent(path));
    absent.map(move |(nth, path)| format!("{key}[{nth}]: {} is not there, and {so}", path.display()))
}

//! The `sandbox` table: what a server's program may touch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::confine::Limits;
use sandbox::egress::HostRules;

use super::super::sandbox::ServerSandbox;
use super::Check;
use super::place::NO_SECRET;
use super::text::May;
use crate::config::{Config, Network, SandboxProfile, SandboxTable};
use crate::settings::workspace_words::WORKSPACE;

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
                is_below(table.memory.map(|size| size.0), Limits::MEMORY_BYTES_MIN),
                "must be at least 16 MiB",
            ),
            ("processes", is_below(table.processes, Limits::PROCESSES_MIN), "must be at least 1"),
            ("open_files", is_below(table.open_files, Limits::OPEN_FILES_MIN), "must be at least 16"),
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

#[cfg(test)]
mod tests {
    use super::super::tests::settle;
    use super::*;

    fn sandbox(table: &str) -> Result<ServerSandbox, Vec<String>> {
        settle(&format!("command = 'x'\n{table}")).map(|settings| settings.sandbox().clone())
    }

    #[test]
    fn a_server_is_confined_and_reaches_the_public_network_unless_its_table_says_more() {
        let usual = ServerSandbox::default();
        assert!(!usual.is_open && usual.network == HostRules::public());
        for (table, expected) in [
            ("", usual.clone()),
            ("[sandbox]", usual.clone()),
            ("sandbox.profile = 'confined'\nsandbox.network = 'public'", usual.clone()),
            ("sandbox.profile = 'open'", ServerSandbox { is_open: true, ..usual.clone() }),
            ("sandbox.network = 'none'", ServerSandbox { network: HostRules::none(), ..usual.clone() }),
            ("sandbox.network = []", ServerSandbox { network: HostRules::none(), ..usual.clone() }),
            (
                "sandbox = { read = ['/a', '${env:HOME}/b'], write = ['/c'], sockets = ['/run/d'] }",
                ServerSandbox {
                    read: vec!["/a".into(), "/home/somebody/b".into()],
                    write: vec!["/c".into()],
                    sockets: vec!["/run/d".into()],
                    ..usual.clone()
                },
            ),
            (
                "sandbox = { network = ['db.internal:5432'], memory = '1 GiB', processes = 1, open_files = 16 }",
                ServerSandbox {
                    network: HostRules::parse(["db.internal:5432"]).expect("a host"),
                    memory_bytes: Some(1 << 30),
                    processes: Some(1),
                    open_files: Some(16),
                    ..usual.clone()
                },
            ),
        ] {
            assert_eq!(sandbox(table).as_ref(), Ok(&expected), "{table}");
        }
    }

    #[test]
    fn what_cannot_be_is_told_with_its_key() {
        for (table, problems) in [
            ("read = ['a']", &["read[0]: leads to no absolute path"][..]),
            ("read = ['/a', '']", &["read[1]: leads to no absolute path"]),
            (
                "write = ['/', '//', '/.']",
                &[
                    "write[0]: is everything on this machine; a server that needs it says `profile = \"open\"`",
                    "write[1]: is everything on this machine; a server that needs it says `profile = \"open\"`",
                    "write[2]: is everything on this machine; a server that needs it says `profile = \"open\"`",
                ],
            ),
            ("write = ['${env:PLAIN}']", &["write[0]: leads to no absolute path"]),
            ("sockets = ['/${store:KEPT}']", &["sockets[0]: a path holds no secret; use `${env:NAME}`"]),
            ("read = [\"/a\\u0000\"]", &["read[0]: must not contain NUL"]),
            (
                "network = ['public', 'none', 'localhost']",
                &[
                    "network[1]: `none` is no host; a list without hosts reaches nothing",
                    "network[2]: `localhost` needs a port, as in localhost:5432: nobody should get at everything on this \
                     machine",
                ],
            ),
            (
                "memory = '16383 KiB'\nprocesses = 0\nopen_files = 15",
                &[
                    "memory: must be at least 16 MiB",
                    "processes: must be at least 1",
                    "open_files: must be at least 16",
                ],
            ),
        ] {
            let problems: Vec<String> =
                problems.iter().map(|problem| format!("mcp.it.sandbox.{problem}")).collect();
            assert_eq!(sandbox(&format!("[sandbox]\n{table}")), Err(problems), "{table}");
        }
        for place in ["url = 'http://h/'", "socket = '/s'"] {
            let refused = settle(&format!("{place}\n[sandbox]")).err();
            let why = "mcp.it.sandbox: only a server with `command` is confined";
            assert_eq!(refused, Some(vec![why.to_owned()]), "{place}");
        }
    }

    #[test]
    fn whatever_is_said_is_another_server_but_the_pins_are_the_same() {
        let of = |table: &str| settle(&format!("command = 'x'\n[sandbox]\n{table}")).expect("sound");
        let usual = of("");
        for (table, is_learnt_anew) in [
            ("profile = 'open'", true),
            ("read = ['/a']", true),
            ("write = ['/a']", true),
            ("sockets = ['/a']", true),
            ("network = 'none'", true),
            ("network = ['a.example']", true),
            ("read = ['/read']\nwrite = ['/a']", true),
            ("memory = '1 GiB'", true),
            ("profile = 'confined'\nnetwork = ['public']", false),
        ] {
            let other = of(table);
            assert_eq!(usual.same_as(&other), !is_learnt_anew, "{table}");
            assert_eq!(usual.fingerprint() == other.fingerprint(), !is_learnt_anew, "{table}");
            assert_eq!(usual.trust_key(), other.trust_key(), "{table}");
        }
        assert_ne!(of("read = ['/a']").fingerprint(), of("write = ['/a']").fingerprint());
        let hosts = of("network = ['a.example']");
        let within = hosts.clone().reaching_within(HostRules::public());
        assert!(!hosts.same_as(&within), "it reaches fewer addresses");
    }
}

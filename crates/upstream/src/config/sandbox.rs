//! The `[mcp.NAME.sandbox]` table, as people write it: what a server's program may touch.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Size;

/// How a server's program is confined. It always reads the system, the program itself and what its arguments name, and has a
/// home folder of its own. Which environment variables it gets is said by `env` and `inherit`, confined or not. Paths are
/// absolute, begin with `~`, or start at the folder of this file; `${workspace}` in them is the folder of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxTable {
    /// `"confined"` (the default) or `"open"`: with your rights, as if you had started it; the other keys then say nothing. Only
    /// your own file can open a server.
    pub profile: SandboxProfile,
    /// Files and folders that it reads beside those, such as `["~/Documents"]`.
    pub read: Vec<PathBuf>,
    /// Files and folders that it reads and writes.
    pub write: Vec<PathBuf>,
    /// What it reaches: `"public"` (the default), which is every host with a public address; `"none"`; or a list of what it
    /// reaches and nothing else, such as `["api.example.com", "*.example.org:443", "localhost:5432"]`, in which `"public"` may
    /// stand too.
    pub network: Network,
    /// Unix sockets of this machine that it may use, such as `["/run/postgresql/.s.PGSQL.5432"]`. Who may use the socket of a
    /// container engine or of an agent may do what that does.
    pub sockets: Vec<PathBuf>,
    /// How much memory all its processes may use together, such as `"2 GiB"`.
    pub memory: Option<Size>,
    /// How many processes and threads it may have at once.
    #[schemars(range(min = 1))]
    pub processes: Option<u64>,
    /// How many files each of its processes may have open.
    #[schemars(range(min = 16))]
    pub open_files: Option<u64>,
}

/// Whether a server's program is confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxProfile {
    /// It touches what its table and the sandbox say.
    #[default]
    Confined,
    /// It runs with the user's rights.
    Open,
}

/// What a server's program reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
#[schemars(inline)]
pub enum Network {
    /// Every host with a public address.
    #[default]
    Public,
    /// Nothing.
    None,
    /// These hosts alone.
    Hosts(Vec<String>),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "must be \"public\", \"none\" or a list of hosts such as [\"api.example.com\", \"localhost:5432\"]"
)]
#[schemars(inline)]
enum Written {
    Word(Word),
    Hosts(Vec<String>),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Word {
    Public,
    None,
}

impl From<Written> for Network {
    fn from(written: Written) -> Network {
        match written {
            Written::Word(Word::Public) => Network::Public,
            Written::Word(Word::None) => Network::None,
            Written::Hosts(hosts) => Network::Hosts(hosts),
        }
    }
}

/// The written form, which `config show` and the reference have as the default.
impl From<Network> for Written {
    fn from(network: Network) -> Written {
        match network {
            Network::Public => Written::Word(Word::Public),
            Network::None => Written::Word(Word::None),
            Network::Hosts(hosts) => Written::Hosts(hosts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(table: &str, expected: Result<SandboxTable, &str>) {
        match (toml::from_str::<SandboxTable>(table), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{table}"),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (read, _) => panic!("{table}: {read:?}"),
        }
    }

    #[test]
    fn a_table_is_read() {
        check("", Ok(SandboxTable::default()));
        let network = Network::Hosts(vec!["public".to_owned(), "localhost:5432".to_owned()]);
        check(
            "read = ['~/a']\nwrite = ['${workspace}/b']\nnetwork = ['public', 'localhost:5432']\nsockets = ['/s']\n\
             memory = '2 GiB'\nprocesses = 9\nopen_files = 99",
            Ok(SandboxTable {
                profile: SandboxProfile::Confined,
                read: vec!["~/a".into()],
                write: vec!["${workspace}/b".into()],
                network,
                sockets: vec!["/s".into()],
                memory: Some(Size(2 << 30)),
                processes: Some(9),
                open_files: Some(99),
            }),
        );
        let (profile, network) = (SandboxProfile::Open, Network::None);
        check(
            "profile = 'open'\nnetwork = 'none'",
            Ok(SandboxTable { profile, network, ..SandboxTable::default() }),
        );
    }

    #[test]
    fn what_is_none_is_refused() {
        check("profile = 'loose'", Err("unknown variant `loose`, expected `confined` or `open`"));
        for network in ["'all'", "5", "true", "{}", "[1]"] {
            check(&format!("network = {network}"), Err("must be \"public\", \"none\" or a list of hosts"));
        }
        check("env = ['A']", Err("unknown field `env`, expected one of `profile`, `read`"));
        check("memory = 5", Err("a size such as"));
    }
}

//! The `[sandbox]` section.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use sandbox::confine::{Layer, Limits};
use sandbox::egress::{CompanyProxy, HostRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Size, Span};

/// How programs are confined: what they may use, and which layers of the sandbox they may do without. Only your own file
/// says it; a folder's file may lower the limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Layers that a program may run without where this machine lacks them. Every such run is called degraded. The others
    /// cannot be done without. `toolcrib doctor` says which are missing.
    pub(crate) waive: Vec<Waivable>,
    /// Files and folders that every program reads beside those of the system, such as a tool chain in your home folder;
    /// relative to this file. They have the same paths inside.
    pub(crate) read: Vec<PathBuf>,
    /// Folders that programs with the write scope, and the programs of servers, write beside the workspace, such as the cache
    /// of a tool chain; relative to this file.
    pub(crate) write: Vec<PathBuf>,
    /// Variables that the programs of tools have beside the few that all have, such as `{ CARGO_HOME = "/home/ann/.cargo" }`.
    /// Every command sees them: they are no place for secrets.
    pub(crate) env: BTreeMap<String, String>,
    /// Hosts that programs reach beside those that are named for a run or a call, such as `["proxy.golang.org", "localhost:5432"]`;
    /// `"public"` is every host with a public address. What a server's program reaches is said by `[mcp.NAME.sandbox]`.
    pub(crate) hosts: Vec<String>,
    /// Whether a person is asked when a running call wants a public host that neither its tool nor `hosts` names, or a folder
    /// beyond what it sees: once for each, with an answer for the call, for the session or for good. Without an answer in time
    /// it is refused, as it is with `false`. A folder's file may say `false`.
    pub(crate) ask: bool,
    /// The Chromium or Chrome in which `ReadDocs` opens pages, where it is not found by itself; relative to this file.
    pub(crate) browser: Option<PathBuf>,
    /// The HTTP proxy through which alone this network lets anybody out: what programs reach is asked of it. As
    /// `"http://proxy.example:3128"`, or with a user and a password, best as a reference: `{ store = "PROXY" }`.
    pub(crate) proxy: Option<upstream::Value>,
    /// How long a program may take; at least a second.
    pub(crate) timeout: Span,
    /// How much processor time each of its processes may take; at least a second.
    pub(crate) cpu: Span,
    /// How many processes and threads it may have at once.
    #[schemars(range(min = 1))]
    pub(crate) processes: u64,
    /// How many files each of its processes may have open.
    #[schemars(range(min = 16))]
    pub(crate) open_files: u64,
    /// How much memory all its processes may use together; at least 16 MiB.
    pub(crate) memory: Size,
    /// How large each file may be that it writes.
    pub(crate) file_size: Size,
    /// How much it may keep in its temporary folder, and as much in its home folder; at least 64 KiB. Both are gone when it ends.
    pub(crate) scratch: Size,
    /// How much it may print.
    pub(crate) output: Size,
}

/// A layer that an operator may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Waivable {
    /// Servers run with your rights, under a guard, where nobody may make user namespaces or use them, as in most containers.
    /// Other programs do not run there all the same.
    UserNamespace,
    /// Programs share the machine's network, but open no sockets.
    NetworkNamespace,
    /// Programs share the machine's message queues.
    IpcNamespace,
    /// Programs see the machine's name.
    UtsNamespace,
    /// Programs see the machine's control groups.
    CgroupNamespace,
    /// The loopback device inside is down.
    Loopback,
    /// No second fence around files.
    Landlock,
}

/// How programs are confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    /// Layers to do without where they are missing.
    pub waived: Vec<Layer>,
    /// What programs read beside the system, as absolute paths.
    pub read: Vec<PathBuf>,
    /// What they write beside the workspace, if they may write at all, as absolute paths.
    pub write: Vec<PathBuf>,
    /// Variables that the programs of tools have besides.
    pub env: Vec<(OsString, OsString)>,
    /// What they reach beside what is named for a call.
    pub hosts: HostRules,
    /// Whether a person is asked about others.
    pub asks: bool,
    /// The browser in which pages are opened, if one is named, as an absolute path.
    pub browser: Option<PathBuf>,
    /// The proxy through which they are reached, if this network has one.
    pub proxy: Option<CompanyProxy>,
    /// How much they may use.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Config {
        let limits = Limits::default();
        Config {
            waive: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            env: BTreeMap::new(),
            hosts: Vec::new(),
            ask: true,
            browser: None,
            proxy: None,
            timeout: Span(limits.time),
            cpu: Span(limits.cpu),
            processes: limits.processes,
            open_files: limits.open_files,
            memory: Size(limits.memory_bytes),
            file_size: Size(limits.file_bytes),
            scratch: Size(limits.scratch_bytes),
            output: Size(limits.output_bytes),
        }
    }
}

impl Config {
    /// What it comes to beside its paths and the way out.
    pub(crate) fn settled(&self) -> Confinement {
        let limits = Limits {
            time: self.timeout.0,
            cpu: self.cpu.0,
            processes: self.processes,
            memory_bytes: self.memory.0,
            file_bytes: self.file_size.0,
            open_files: self.open_files,
            scratch_bytes: self.scratch.0,
            output_bytes: self.output.0,
        };
        let env = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let waived = self.waive.iter().map(|layer| layer.layer()).collect();
        Confinement { waived, env, limits, asks: self.ask, ..Confinement::default() }
    }
}

/// The keys that say how much programs may use, what is too little, and the least as people write it.
type Least = (&'static str, fn(&Limits) -> bool, &'static str);

const LEAST: [Least; 8] = [
    ("timeout", |limits| limits.time < Limits::TIME_MIN, "1s"),
    ("cpu", |limits| limits.cpu < Limits::TIME_MIN, "1s"),
    ("processes", |limits| limits.processes < Limits::PROCESSES_MIN, "1"),
    ("open_files", |limits| limits.open_files < Limits::OPEN_FILES_MIN, "16"),
    ("memory", |limits| limits.memory_bytes < Limits::MEMORY_BYTES_MIN, "16 MiB"),
    ("file_size", |limits| limits.file_bytes < Limits::OUTPUT_BYTES_MIN, "1 KiB"),
    ("scratch", |limits| limits.scratch_bytes < Limits::SCRATCH_BYTES_MIN, "64 KiB"),
    ("output", |limits| limits.output_bytes < Limits::OUTPUT_BYTES_MIN, "1 KiB"),
];

/// The limits with which nothing would run, by their keys, each with the least that is possible.
pub(crate) fn too_low(limits: &Limits) -> impl Iterator<Item = (&'static str, &'static str)> {
    LEAST.iter().filter(|(_, is_too_low, _)| is_too_low(limits)).map(|(key, _, least)| (*key, *least))
}

impl Waivable {
    fn layer(self) -> Layer {
        match self {
            Waivable::UserNamespace => Layer::UserNamespace,
            Waivable::NetworkNamespace => Layer::NetworkNamespace,
            Waivable::IpcNamespace => Layer::IpcNamespace,
            Waivable::UtsNamespace => Layer::UtsNamespace,
            Waivable::CgroupNamespace => Layer::CgroupNamespace,
            Waivable::Loopback => Layer::Loopback,
            Waivable::Landlock => Layer::Landlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_waived_is_named_as_the_layer_is() {
        let may_be = |layer: &Layer| layer.may_be_waived() || *layer == Layer::UserNamespace;
        let all: Vec<Layer> = Layer::ALL.into_iter().filter(may_be).collect();
        let read =
            |layer: &Layer| serde_json::from_value::<Waivable>(layer.name().into()).map(Waivable::layer);
        assert_eq!(all.iter().map(|layer| read(layer).expect("a word")).collect::<Vec<_>>(), all);
        assert!(serde_json::from_value::<Waivable>("seccomp".into()).is_err());
    }

    #[test]
    fn without_a_word_the_limits_are_those_of_the_sandbox() {
        assert_eq!(Config::default().settled(), Confinement { asks: true, ..Confinement::default() });
    }
}

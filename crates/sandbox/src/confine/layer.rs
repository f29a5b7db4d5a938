//! `Layer`: the parts that confinement is made of, each with its name and with what to do where a machine lacks it.

use serde::{Deserialize, Serialize};

/// One part of the confinement. In the order in which they are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The small process that starts confined programs.
    Spawner,
    /// A user of its own for each run, when Toolcrib runs as root.
    RunUser,
    /// The workspace mounted so that the run's user counts as its owner, when Toolcrib runs as root.
    Idmap,
    /// Capabilities that hold inside only.
    UserNamespace,
    /// Processes outside can be neither seen nor signalled, and all inside end with the first.
    PidNamespace,
    /// Mounts of its own.
    MountNamespace,
    /// No way to any network.
    NetworkNamespace,
    /// No shared memory or queues with programs outside.
    IpcNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// The machine's groups of processes cannot be seen.
    CgroupNamespace,
    /// A root folder that holds little, and that read-only.
    Root,
    /// A `/proc` that shows what runs inside.
    Proc,
    /// What no program writes or reads in a workspace.
    ProtectedPaths,
    /// The loopback device inside is up.
    Loopback,
    /// The only way out to the network: sockets inside at which Toolcrib's proxy listens.
    Proxy,
    /// A name server inside, whose made-up addresses lead to that proxy. No fence: a program that `bwrap` starts does
    /// without it, and finds hosts only if it knows of proxies.
    Names,
    /// No namespaces within the namespaces.
    NestedNamespaces,
    /// No capability at all.
    Capabilities,
    /// No program gives more rights than its caller has.
    NoNewPrivileges,
    /// Limits of each process.
    Rlimits,
    /// No open file but its streams.
    Descriptors,
    /// The second fence around files.
    Landlock,
    /// System calls that no program needs are refused.
    Seccomp,
    /// Memory of all processes together. Where no control group can be made, init looks ten times a second instead.
    Memory,
    /// Attempts to escape, made once on this machine, were held.
    SelfTest,
}

const PERMIT_USER_NAMESPACES: &str = "install `bubblewrap`, whose /usr/bin/bwrap often may where others may not, or let programs make user \
     namespaces: `sysctl user.max_user_namespaces=10000`, on Debian also \
     `kernel.unprivileged_userns_clone=1`, on Ubuntu `kernel.apparmor_restrict_unprivileged_userns=0`, and for a container \
     `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`";
const PERMIT_NAMESPACES: &str =
    "the kernel needs namespaces of this kind, and a container's seccomp profile must permit them";
const PERMIT_MOUNTS: &str = "let programs mount in namespaces of their own; in a container, \
     `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`";
const NEWER_KERNEL: &str =
    "it takes Linux 6.2 or newer with Landlock among the values of the boot option `lsm`";
const REPORT: &str = "this should not happen; please report it with the output of `toolcrib doctor`";

impl Layer {
    /// What to say of a program without [`Names`](Layer::Names).
    pub const NO_NAMES: &str =
        "bwrap started it, so it finds hosts only through the proxy that HTTP_PROXY names";

    /// What to say of a program without all of [`ProtectedPaths`](Layer::ProtectedPaths).
    pub const NOT_ALL_PROTECTED: &str = "the workspace has more than 200,000 names or 2,000 protected files: what agents, git and the like obey \
         was protected only among the first of them, and changes of it beyond are not told";

    /// Those that may be missing though nobody waives them, and what is said of a program without them.
    pub const SAID_OTHERWISE: [(Layer, &str); 2] =
        [(Layer::Names, Layer::NO_NAMES), (Layer::ProtectedPaths, Layer::NOT_ALL_PROTECTED)];

    /// All of them.
    pub const ALL: [Layer; 25] = [
        Layer::Spawner,
        Layer::RunUser,
        Layer::Idmap,
        Layer::UserNamespace,
        Layer::PidNamespace,
        Layer::MountNamespace,
        Layer::NetworkNamespace,
        Layer::IpcNamespace,
        Layer::UtsNamespace,
        Layer::CgroupNamespace,
        Layer::Root,
        Layer::Proc,
        Layer::ProtectedPaths,
        Layer::Loopback,
        Layer::Proxy,
        Layer::Names,
        Layer::NestedNamespaces,
        Layer::Capabilities,
        Layer::NoNewPrivileges,
        Layer::Rlimits,
        Layer::Descriptors,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Memory,
        Layer::SelfTest,
    ];

    /// As configuration, records and errors name it.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Spawner => "spawner",
            Layer::RunUser => "run_user",
            Layer::Idmap => "idmap",
            Layer::UserNamespace => "user_namespace",
            Layer::PidNamespace => "pid_namespace",
            Layer::MountNamespace => "mount_namespace",
            Layer::NetworkNamespace => "network_namespace",
            Layer::IpcNamespace => "ipc_namespace",
            Layer::UtsNamespace => "uts_namespace",
            Layer::CgroupNamespace => "cgroup_namespace",
            Layer::Root => "root",
            Layer::Proc => "proc",
            Layer::ProtectedPaths => "protected_paths",
            Layer::Loopback => "loopback",
            Layer::Proxy => "proxy",
            Layer::Names => "names",
            Layer::NestedNamespaces => "nested_namespaces",
            Layer::Capabilities => "capabilities",
            Layer::NoNewPrivileges => "no_new_privileges",
            Layer::Rlimits => "rlimits",
            Layer::Descriptors => "descriptors",
            Layer::Landlock => "landlock",
            Layer::Seccomp => "seccomp",
            Layer::Memory => "memory",
            Layer::SelfTest => "self_test",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Layer> {
        Layer::ALL.into_iter().find(|layer| layer.name() == name)
    }

    /// What to do where it is missing.
    pub fn fix(self) -> &'static str {
        match self {
            Layer::Spawner => "try again: the spawner starts anew",
            Layer::RunUser => "run Toolcrib as an ordinary user, or let root take user numbers above 1000",
            Layer::Idmap => {
                "run Toolcrib as the folder's owner instead of root, or keep the folder on a file system that \
                 maps owners (ext4, xfs, btrfs, tmpfs since Linux 6.3)"
            }
            Layer::UserNamespace => PERMIT_USER_NAMESPACES,
            Layer::PidNamespace
            | Layer::MountNamespace
            | Layer::NetworkNamespace
            | Layer::IpcNamespace
            | Layer::UtsNamespace
            | Layer::CgroupNamespace
            | Layer::NestedNamespaces => PERMIT_NAMESPACES,
            Layer::Root | Layer::ProtectedPaths => PERMIT_MOUNTS,
            Layer::Proc => {
                "a container must not cover parts of /proc: `--security-opt systempaths=unconfined` in Docker"
            }
            Layer::Landlock => NEWER_KERNEL,
            Layer::Seccomp => "the kernel needs CONFIG_SECCOMP_FILTER",
            Layer::Memory => "let Toolcrib make control groups for memory below its own",
            Layer::SelfTest => {
                "nothing runs confined until these attempts are held: see `toolcrib doctor`, end what runs, and start \
                 Toolcrib anew once that says that all are held"
            }
            Layer::Names => {
                "have programs ask the proxy that HTTP_PROXY names, or let Toolcrib make user namespaces itself"
            }
            Layer::Loopback
            | Layer::Proxy
            | Layer::Capabilities
            | Layer::NoNewPrivileges
            | Layer::Rlimits
            | Layer::Descriptors => REPORT,
        }
    }

    /// Whether it takes namespaces of a user's own, or rights in them, as containers seldom give. An operator who waives
    /// [`UserNamespace`](Layer::UserNamespace) has servers run with his rights where one of these is missing.
    pub fn takes_namespaces(self) -> bool {
        matches!(
            self,
            Layer::RunUser
                | Layer::Idmap
                | Layer::UserNamespace
                | Layer::PidNamespace
                | Layer::MountNamespace
                | Layer::Root
                | Layer::Proc
        )
    }

    /// Whether an operator may do without it: what is left still holds the program's files, processes and rights.
    pub fn may_be_waived(self) -> bool {
        matches!(
            self,
            Layer::NetworkNamespace
                | Layer::IpcNamespace
                | Layer::UtsNamespace
                | Layer::CgroupNamespace
                | Layer::Loopback
                | Layer::Landlock
        )
    }
}

/// A layer that a program's profile requires is missing here, so the program was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the program was not run: the sandbox's layer `{}` is missing ({why}); {}", layer.name(), layer.fix())]
pub struct Unavailable {
    /// Which.
    pub layer: Layer,
    /// What the system said.
    pub why: String,
}

impl Unavailable {
    /// As programs are told of it.
    pub const CODE: &str = "sandbox_unavailable";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_has_a_name_of_its_own() {
        for layer in Layer::ALL {
            assert_eq!(Layer::named(layer.name()), Some(layer));
            assert_eq!(serde_json::to_value(layer).expect("a word"), layer.name());
        }
        assert_eq!(Layer::named("Seccomp"), None);
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let missing = Unavailable { layer: Layer::Seccomp, why: "not permitted".to_owned() };
        let said = "the program was not run: the sandbox's layer `seccomp` is missing (not permitted); \
                    the kernel needs CONFIG_SECCOMP_FILTER";
        assert_eq!(missing.to_string(), said);
    }
}

//! What the sandbox finds on a machine: the kernel and where it runs, and what a start costs here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::confiner::{ConfineError, Confined, Confiner};
use super::init::landlock;
use super::layer::Layer;
use super::profile::Profile;
use super::report::{MemoryKeeper, StartedBy};
use super::spawner::BWRAP;
use crate::process::{ask_program, find_in, variable};

/// What is looked for, because tools of ours or other servers use it.
const PROGRAMS: [&str; 7] = ["chromium", "git", "node", "npx", "python3", "secret-tool", "uvx"];

/// Another text after each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// It prints a line.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a start is measured.
const STARTS: usize = 11;

/// A machine, as far as the sandbox is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's version.
    pub kernel: String,
    /// Landlock's version, or why it is not there.
    pub landlock: String,
    /// Which control groups there are.
    pub cgroups: &'static str,
    /// Whether Toolcrib runs as root.
    pub is_root: bool,
    /// What to know about where it runs, if a layer is missing.
    pub advice: Vec<&'static str>,
    /// Whom it asks for the addresses of hosts.
    pub name_servers: Vec<String>,
    /// What it offers besides, and where; nothing if it is not there.
    pub programs: Vec<(&'static str, Option<PathBuf>)>,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let kernel = rustix::system::uname();
        let path = variable("PATH");
        Machine {
            kernel: kernel.release().to_string_lossy().into_owned(),
            landlock: landlock::version(),
            cgroups: cgroups(),
            is_root: rustix::process::getuid().is_root(),
            advice: advice(Path::new("/")),
            name_servers: name_servers(Path::new("/")),
            programs: PROGRAMS.map(|name| (name, find_in(path.clone(), name))).into(),
        }
    }
}

/// What a test of the sandbox holds for: after another boot, under another kernel and for another user the outcome may be
/// another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The boot, as the kernel names it.
    pub boot: String,
    /// The kernel's version.
    pub kernel: String,
    /// Who runs Toolcrib.
    pub user: u32,
}

impl Circumstances {
    /// These. Nothing if the system does not tell.
    pub fn here() -> Option<Circumstances> {
        let boot = fs::read_to_string(BOOT_ID).ok()?.trim().to_owned();
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        Some(Circumstances { boot, kernel, user: rustix::process::getuid().as_raw() })
    }
}

fn cgroups() -> &'static str {
    let is_there = |path: &str| Path::new(path).exists();
    match (is_there("/sys/fs/cgroup/cgroup.controllers"), is_there("/sys/fs/cgroup/memory")) {
        (true, _) => "v2",
        (false, true) => "v1",
        (false, false) => "none",
    }
}

/// As resolv.conf(5) has them.
fn name_servers(root: &Path) -> Vec<String> {
    let settings = fs::read_to_string(root.join("etc/resolv.conf")).unwrap_or_default();
    let server = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["nameserver", server, ..] => Some(server.to_owned()),
        _ => None,
    };
    settings.lines().filter_map(server).collect()
}

/// What the machine's own files below `root` tell of it.
fn advice(root: &Path) -> Vec<&'static str> {
    let holds = |path: &str, text: &str| {
        fs::read_to_string(root.join(path)).is_ok_and(|found| found.to_lowercase().contains(text))
    };
    let is_container = root.join(".dockerenv").exists() || root.join("run/.containerenv").exists();
    let found = [
        (
            is_container,
            "this is a container: start it with `--security-opt seccomp=unconfined --security-opt \
             systempaths=unconfined`, and with `--security-opt apparmor=unconfined` where AppArmor is",
        ),
        (
            holds("proc/version", "microsoft"),
            "this is WSL: it takes WSL 2 with a kernel of 6.2 or newer (`wsl --update`); WSL 1 has no namespaces",
        ),
        (
            holds("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            "AppArmor keeps programs from making user namespaces, but for those it knows: install `bubblewrap`, or `sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0`, or a profile with `userns,` for this program",
        ),
        (
            fs::read_to_string(root.join("proc/sys/user/max_user_namespaces"))
                .is_ok_and(|most| most.trim() == "0"),
            "the machine lets nobody make user namespaces: `sysctl user.max_user_namespaces=10000`",
        ),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, advice)| advice).collect()
}

/// What a start of `true` takes until its end is known, as medians of the same moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Without any confinement.
    pub bare: Duration,
    /// With all of it.
    pub confined: Duration,
    /// What kept it to its limit of memory.
    pub memory: MemoryKeeper,
    /// What started it.
    pub by: StartedBy,
}

/// The `bwrap` that starts programs where only that may, and its version.
pub fn bwrap() -> (&'static str, String) {
    let answer = ask_program(BWRAP, &["--version"], "", VERSION_TIMEOUT);
    let said = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    // "bubblewrap 0.8.0"
    let version = said.ok().and_then(|said| said.split_whitespace().nth(1).map(str::to_owned));
    (BWRAP, version.unwrap_or_else(|| "version unknown".to_owned()))
}

/// Measures both by turns, so that what else the machine does burdens both.
///
/// # Errors
/// The program cannot be run.
pub async fn spawn_cost(confiner: &Confiner, waived: &[Layer]) -> Result<Cost, ConfineError> {
    let folder = tempfile::tempdir()?;
    let program =
        Confined { waived: waived.to_vec(), ..Confined::new(Profile::shell(), "true", folder.path()) };
    let (mut bare, mut confined) = (Vec::new(), Vec::new());
    let (mut memory, mut by) = (MemoryKeeper::Watchdog, StartedBy::Own);
    let executable =
        find_in(variable("PATH"), "true").ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    for _ in 0..STARTS {
        let start = Instant::now();
        Command::new(&executable)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        bare.push(start.elapsed());
        let start = Instant::now();
        let mut running = confiner.start(&program).await?;
        (memory, by) = (running.memory_keeper(), running.started_by());
        running.wait().await;
        confined.push(start.elapsed());
    }
    Ok(Cost { bare: median(bare), confined: median(confined), memory, by })
}

/// Starts a program with a way out to no host. The self-test has no network, and so says nothing of the layers of one.
///
/// # Errors
/// The program cannot be run.
pub async fn start_with_network(confiner: &Confiner, waived: &[Layer]) -> Result<(), ConfineError> {
    let folder = tempfile::tempdir()?;
    let program =
        Confined { waived: waived.to_vec(), ..Confined::new(Profile::net(), "true", folder.path()) };
    confiner.start(&program).await?.wait().await;
    Ok(())
}

/// What a start takes from a pool of empty sandboxes, by a confiner that has one; nothing where none can be made ahead.
///
/// # Errors
/// The program cannot be run.
pub async fn pooled_cost(confiner: &Confiner, waived: &[Layer]) -> Result<Option<Duration>, ConfineError> {
    let folder = tempfile::tempdir()?;
    let program =
        Confined { waived: waived.to_vec(), ..Confined::new(Profile::shell(), "true", folder.path()) };
    let mut pooled = Vec::new();
    for _ in 0..STARTS {
        confiner.fill().await?;
        let start = Instant::now();
        let mut running = confiner.start(&program).await?;
        if !running.is_from_pool() {
            return Ok(None);
        }
        running.wait().await;
        pooled.push(start.elapsed());
    }
    Ok(Some(median(pooled)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_those_of_the_machine() {
        let all = "# nameserver 1.1.1.1\nsearch example.org\nnameserver 192.0.2.1\n  nameserver\tfe80::1%eth0 # two\nnameserver\n";
        for (settings, expected) in
            [(Some(all), &["192.0.2.1", "fe80::1%eth0"][..]), (Some(""), &[]), (None, &[])]
        {
            let root = tempfile::tempdir().expect("a folder");
            fs::create_dir(root.path().join("etc")).expect("a folder");
            if let Some(settings) = settings {
                fs::write(root.path().join("etc/resolv.conf"), settings).expect("a file");
            }
            assert_eq!(name_servers(root.path()), expected, "{settings:?}");
        }
    }

    #[test]
    fn what_a_machine_is_like_is_told_by_its_files() {
        for (path, text, begins) in [
            ("etc/hostname", "x", ""),
            (".dockerenv", "", "this is a container"),
            ("run/.containerenv", "", "this is a container"),
            ("proc/version", "Linux version 5.15 (Microsoft@x)", "this is WSL"),
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"),
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n", ""),
            ("proc/sys/user/max_user_namespaces", "0\n", "the machine lets nobody"),
            ("proc/sys/user/max_user_namespaces", "96365\n", ""),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, text).expect("a file");
            let advice = advice(root.path());
            assert_eq!(advice.len(), usize::from(!begins.is_empty()), "{}: {advice:?}", path.display());
            assert!(advice.iter().all(|advice| advice.starts_with(begins)));
        }
    }
}

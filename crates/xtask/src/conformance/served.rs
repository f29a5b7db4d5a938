//! The fixture server, and Toolcrib in front of it, for as long as a run lasts.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, PipeReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Pid;
use tempfile::TempDir;

use super::given::{Given, fixture as fixture_path};
use crate::{program, watched};

/// Both say where they listen well within this time.
const ADDRESS_TIME_MAX: Duration = Duration::from_secs(60);

/// Which revisions the fixture speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
    Dual,
    /// The modern one, and no tasks: those are jobs of Toolcrib's own then.
    WithoutTasks,
}

/// What makes jobs of calls that the suite expects to become tasks: what takes long by itself, what asks while it runs from
/// the beginning, and one tool that is nothing else.
const JOBS: &str = "errors = \"protocol\"\n\n[jobs]\nafter = \"100ms\"\n\
                    always = [\"slow_compute\", \"confirm_delete\", \"multi_input\"]\nrequired = [\"failing_job\"]\n";

impl Era {
    /// How the fixture is told.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Legacy => &["--era", "legacy"],
            Self::Modern => &["--era", "modern"],
            Self::Dual => &["--era", "dual"],
            Self::WithoutTasks => &["--era", "modern", "--no-tasks"],
        }
    }

    /// What our configuration says besides.
    fn more(self) -> &'static str {
        match self {
            Self::Legacy | Self::Modern | Self::Dual => "",
            Self::WithoutTasks => JOBS,
        }
    }
}

/// What a suite can speak to; it ends when this is dropped.
pub(super) struct Served {
    /// In front, so that it ends first.
    gateway: Option<Process>,
    fixture: Process,
    _home: TempDir,
}

impl Served {
    /// Starts both, or only the fixture if the run is direct. What they say is kept in `folder`.
    pub(super) fn start(given: &Given<'_>, era: Era, folder: &Path) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let clean = |command: &mut Command| {
            command.env_clear().current_dir(home.path());
            for (name, value) in program::clean_environment(home.path()) {
                command.env(name, value);
            }
        };
        let mut fixture = Command::new(&given.suites.node.program);
        fixture.arg(fixture_path(given.checkout, "server.mjs")).args(era.words());
        clean(&mut fixture);
        let fixture = Process::start(fixture, &folder.join("fixture.log"))?;
        let gateway = if given.direct {
            None
        } else {
            let file = home.path().join("toolcrib.toml");
            fs::write(&file, configuration(&fixture.url, era.more()))?;
            let mut gateway = Command::new(&given.program);
            gateway.args(["serve", "--standalone", "--config"]).arg(&file);
            clean(&mut gateway);
            Some(Process::start(gateway, &folder.join("toolcrib.log"))?)
        };
        Ok(Self { gateway, fixture, _home: home })
    }

    /// Where the suite is sent.
    pub(super) fn url(&self) -> &str {
        &self.gateway.as_ref().unwrap_or(&self.fixture).url
    }
}

/// Nothing of our own on offer, no limit, and the upstream's names as they are.
fn configuration(upstream: &str, more: &str) -> String {
    format!(
        "[server]\nbind = \"127.0.0.1:0\"\n\n[workspace]\nroot = \".\"\n\n[state]\ndir = \"state\"\n\n\
         [tools]\noffer = []\n\n[limits.rate]\nper_second = 0\n\n\
         [mcp.fixture]\nurl = \"{upstream}\"\nprefix = \"\"\n{more}"
    )
}

/// A server that has said where it listens.
struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start(mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let child = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        // It holds our ends of the pipe; without this the reader would never see the end.
        drop(command);
        let (found, address) = mpsc::sync_channel(1);
        let log_file = File::create(log)?;
        thread::spawn(move || copy(reader, log_file, &found));
        let mut process = Self { child, url: String::new() };
        process.url = address
            .recv_timeout(ADDRESS_TIME_MAX)
            .with_context(|| format!("{}it did not say where it listens", watched::shown(log)))?;
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        watched::end_tree(Pid::from_child(&self.child));
        // It was ended by force; there is nothing to learn from how it went.
        let _ = self.child.wait();
    }
}

/// Copies what a process says until it ends, and reports the first address in it.
fn copy(reader: PipeReader, mut log: File, found: &mpsc::SyncSender<String>) {
    for line in BufReader::new(reader).split(b'\n') {
        let Ok(mut line) = line else { return };
        if let Some(address) = address_in(&String::from_utf8_lossy(&line)) {
            // Full or closed after the first, which is the one that counts.
            let _ = found.try_send(address.to_owned());
        }
        line.push(b'\n');
        if log.write_all(&line).is_err() {
            return;
        }
    }
}

/// The address of an endpoint on this machine.
fn address_in(line: &str) -> Option<&str> {
    let start = line.find("http://127.0.0.1:")?;
    let end = start + line[start..].find("/mcp")? + "/mcp".len();
    let port = &line[start + "http://127.0.0.1:".len()..end - "/mcp".len()];
    port.parse::<u16>().is_ok().then(|| &line[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_what_a_server_says() {
        let check = |line, expected| assert_eq!(address_in(line), expected, "{line}");
        check(r#"{"url":"http://127.0.0.1:4801/mcp"}"#, Some("http://127.0.0.1:4801/mcp"));
        check("toolcrib serves MCP at http://127.0.0.1:1/mcp", Some("http://127.0.0.1:1/mcp"));
        check("see http://127.0.0.1:0x/mcp", None);
        check("http://127.0.0.1:80/other", None);
        check("", None);
    }

    #[test]
    fn a_server_that_ends_without_an_address_is_shown() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", "echo no port left"]);
        let error = Process::start(command, &folder.path().join("log")).err().expect("it has ended");
        assert_eq!(error.to_string(), "no port left\nit did not say where it listens");
    }

    #[test]
    fn a_server_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let mut command = Command::new("sh");
        let script = "mkfifo pipe && { sleep 300 > pipe & } && echo at http://127.0.0.1:9/mcp; wait";
        command.args(["-c", script]).current_dir(folder.path());
        let process = Process::start(command, &folder.path().join("log")).expect("it said where");
        assert_eq!(process.url, "http://127.0.0.1:9/mcp");
        // Open as soon as the child has it open, and at its end when nobody has.
        let mut held = File::open(pipe).expect("a pipe");
        drop(process);
        assert_eq!(std::io::Read::read_to_end(&mut held, &mut Vec::new()).expect("its end"), 0);
    }
}

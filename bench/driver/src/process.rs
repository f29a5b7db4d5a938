//! Starts a measured program and ends it with all it has started. How to speak to it is the clients' business.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::client::POLL_INTERVAL;
use super::watchdog::{Watch, Watchdog};

/// A program that was asked to end gets this long before it is killed.
const END_TIME_MAX: Duration = Duration::from_secs(3);

/// How to start a program.
#[derive(Clone)]
pub(crate) struct Launch {
    /// What the tables call it.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) line: Vec<OsString>,
    /// Its whole environment.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// Its current folder.
    pub(crate) folder: PathBuf,
    /// Where its standard error goes; it is looked at only when something fails.
    pub(crate) log: PathBuf,
    /// Ends it when it hangs.
    pub(crate) watchdog: Watchdog,
}

impl Launch {
    /// The same program, started by another one (`strace …`).
    pub(crate) fn under(&self, tool: &[OsString]) -> Self {
        let line = tool.iter().chain(&self.line).cloned().collect();
        Self { line, ..self.clone() }
    }

    /// Starts it with pipes to its input and output; it ends when its input does.
    pub(crate) fn spawn_on_pipes(&self) -> anyhow::Result<Running> {
        self.spawn(Stdio::piped, true)
    }

    /// Starts it with neither; it ends when it is told to.
    pub(crate) fn spawn_alone(&self) -> anyhow::Result<Running> {
        self.spawn(Stdio::null, false)
    }

    /// Runs it to its end.
    pub(crate) fn run(&self) -> anyhow::Result<std::process::ExitStatus> {
        Ok(self.spawn(Stdio::null, false)?.child.wait()?)
    }

    /// A process group of its own lets us end what it has started, too.
    fn spawn(&self, stdio: fn() -> Stdio, ends_with_input: bool) -> anyhow::Result<Running> {
        let log = File::create(&self.log).context("the log of a program could not be created")?;
        let child = Command::new(&self.line[0])
            .args(&self.line[1..])
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(stdio())
            .stdout(stdio())
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{} could not be started", self.name))?;
        Ok(Running { child, log: self.log.clone(), watchdog: self.watchdog.clone(), ends_with_input })
    }
}

/// A started program; dropping it ends it.
pub(crate) struct Running {
    /// Its pipes, for the client to take.
    pub(crate) child: Child,
    log: PathBuf,
    watchdog: Watchdog,
    ends_with_input: bool,
}

impl Running {
    /// Its process id, which is also its group's.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Until the answer is dropped, the program is killed when `limit` has passed.
    pub(crate) fn within(&self, limit: Duration) -> Watch {
        self.watchdog.watch(Pid::from_child(&self.child), limit)
    }

    /// The last lines it wrote to standard error.
    pub(crate) fn complaint(&self) -> String {
        const LINES_MAX: usize = 5;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES_MAX)..].join(" / ")
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Lets it end by itself where its input was closed, then asks it to, then kills its group.
    fn end(&mut self) {
        let group = Pid::from_child(&self.child);
        // Each signal may find that it has gone already, which is what it is sent for.
        if !(self.ends_with_input && self.ends_within(END_TIME_MAX)) {
            kill_process(group, Signal::TERM).ok();
        }
        if !self.ends_within(END_TIME_MAX) {
            kill_process_group(group, Signal::KILL).ok();
            self.child.wait().ok();
        }
    }

    fn ends_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while !self.has_ended() {
            if start.elapsed() > limit {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL / 10);
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

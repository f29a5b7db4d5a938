//! One run of a suite: what is started for it, what it is told to do, and where its results lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::given::{Given, fixture};
use super::results::{self, Outcome};
use super::served::{Era, Served};
use crate::checkout::Checkout;
use crate::program;
use crate::watched::{self, End};

/// The longest run takes a tenth of this on a busy machine.
const RUN_TIME_MAX: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Released,
    Legacy,
    Modern,
    LegacyOverModern,
    ModernOverLegacy,
    OwnTasks,
    OldestClient,
    LegacyClient,
    ModernClient,
}

/// What the suite plays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// It is a client, and tests a server of this era behind us.
    Client(Era),
    /// It is a server, and tests us as its client.
    Server,
}

impl Run {
    /// The folder of its results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Released => "server-released",
            Self::Legacy => "server-2025-11-25",
            Self::Modern => "server-2026-07-28",
            Self::LegacyOverModern => "legacy-over-modern",
            Self::ModernOverLegacy => "modern-over-legacy",
            Self::OwnTasks => "own-tasks",
            Self::OldestClient => "client-2025-03-26",
            Self::LegacyClient => "client-2025-11-25",
            Self::ModernClient => "client-2026-07-28",
        }
    }

    /// The revision whose requirement set it runs; the released suite has none, and neither had the oldest revision.
    pub(super) fn revision(self) -> Option<&'static str> {
        match self {
            Self::Released | Self::OldestClient => None,
            Self::Legacy | Self::LegacyOverModern | Self::LegacyClient => Some("2025-11-25"),
            Self::Modern | Self::ModernOverLegacy | Self::OwnTasks | Self::ModernClient => Some("2026-07-28"),
        }
    }

    pub(super) fn side(self) -> Side {
        match self {
            Self::Released | Self::Legacy | Self::Modern => Side::Client(Era::Dual),
            Self::LegacyOverModern => Side::Client(Era::Modern),
            Self::ModernOverLegacy => Side::Client(Era::Legacy),
            Self::OwnTasks => Side::Client(Era::WithoutTasks),
            Self::OldestClient | Self::LegacyClient | Self::ModernClient => Side::Server,
        }
    }

    /// Runs it and reads what it found.
    pub(super) fn outcomes(self, given: &Given<'_>) -> anyhow::Result<Vec<Outcome>> {
        let folder = self.folder(given)?;
        let served = match self.side() {
            Side::Client(era) => Some(Served::start(given, era, &folder)?),
            Side::Server => None,
        };
        let home = tempfile::tempdir()?;
        let mut command = self.command(given, served.as_ref().map(Served::url))?;
        command.arg("--output-dir").arg(folder.join("results")).current_dir(home.path()).env_clear();
        for (name, value) in program::clean_environment(home.path()) {
            command.env(name, value);
        }
        command.env("PATH", given.suites.node.search_path()?).env("TOOLCRIB_BIN", &given.program);
        let output = folder.join("output");
        // Its exit code says that something failed; which of it counts is for us to say.
        match watched::run(&mut command, &output, RUN_TIME_MAX)? {
            End::Exited(_) => {}
            End::Late(limit) => bail!("{} took longer than {} s", self.name(), limit.as_secs()),
        }
        let outcomes = results::read(&folder.join("results"))?;
        if outcomes.is_empty() {
            bail!("{}the suite left no results in {}", watched::shown(&output), folder.display());
        }
        println!("ran {:<20} {} scenarios; results in {}", self.name(), outcomes.len(), folder.display());
        Ok(outcomes)
    }

    /// Its own empty folder, which is kept for whoever wants to know more.
    fn folder(self, given: &Given<'_>) -> anyhow::Result<PathBuf> {
        let folder = given.checkout.target.join("conformance").join(self.name());
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    fn command(self, given: &Given<'_>, url: Option<&str>) -> anyhow::Result<Command> {
        let suites = &given.suites;
        let mut command = Command::new(&suites.node.program);
        command.arg(if self == Self::Released { &suites.released } else { &suites.next });
        match url {
            Some(url) => command.args(["server", "--url", url]),
            None => command.args(["client", "--command", &driver(given.checkout)?]),
        };
        match self.revision() {
            Some(revision) => command.args(["--requirements", revision]),
            None => command.args(["--suite", "all"]),
        };
        if self == Self::OldestClient {
            command.args(["--spec-version", "2025-03-26"]);
        }
        Ok(command)
    }
}

/// The command line that the suite starts for each scenario of a client. It is split at blanks.
fn driver(checkout: &Checkout) -> anyhow::Result<String> {
    let script = fixture(checkout, "client_driver.mjs");
    let path = script.to_str().filter(|path| is_one_word(Path::new(path)));
    Ok(format!("node {}", path.context("the suite cannot start a script whose path has a blank in it")?))
}

fn is_one_word(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::System;

    #[test]
    fn a_path_that_a_shell_would_split_is_refused() {
        let checkout = |root: &str| Checkout { root: root.into(), target: "/".into(), system: System::Name };
        let line = driver(&checkout("/a/b-c")).expect("one word");
        assert_eq!(line, "node /a/b-c/e2e/fixtures/conformance/client_driver.mjs");
        let error = driver(&checkout("/a b")).expect_err("two words");
        assert_eq!(error.to_string(), "the suite cannot start a script whose path has a blank in it");
    }
}

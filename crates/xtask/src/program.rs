//! Builds of `toolcrib`, and running it where it can see nothing of this machine's user.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::checkout::Checkout;
use crate::step;

/// Builds the program as README's first command does; where nothing changed this takes a moment.
pub fn build(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    build_as(checkout, "release")
}

/// Builds the program as it ships: what figures are published of.
pub fn build_dist(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    build_as(checkout, "dist")
}

/// The same for this kind of machine with no library of the system in it, so that it runs on every Linux.
pub fn build_static(checkout: &Checkout) -> anyhow::Result<PathBuf> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    step::run(&mut checkout.command("rustup", &["target", "add", &target]))?;
    let words = ["build", "--profile", "dist", "--locked", "--package", "toolcrib", "--target", &target];
    let mut command = checkout.command("cargo", &words);
    // For the C in it, such as SQLite.
    step::run(command.env(format!("CC_{}", target.replace('-', "_")), MUSL_COMPILER))?;
    Ok(checkout.target.join(target).join("dist").join("toolcrib"))
}

/// Debian's name for the C compiler that builds on musl.
pub const MUSL_COMPILER: &str = "musl-gcc";

fn build_as(checkout: &Checkout, profile: &str) -> anyhow::Result<PathBuf> {
    let words = ["build", "--profile", profile, "--locked", "--package", "toolcrib"];
    step::run(&mut checkout.command("cargo", &words))?;
    Ok(checkout.target.join(profile).join("toolcrib"))
}

/// The program with a home of its own: no configuration, no state, an empty workspace.
pub struct Program {
    path: PathBuf,
    home: TempDir,
}

impl Program {
    /// The program as it stands in the checkout.
    pub fn built(checkout: &Checkout) -> anyhow::Result<Self> {
        Self::at(build(checkout)?)
    }

    /// The program at this path.
    pub fn at(path: PathBuf) -> anyhow::Result<Self> {
        let home = TempDir::new().context("no temporary folder for the program's home")?;
        workspace(home.path())?;
        Ok(Self { path, home })
    }

    /// The same program with another home.
    pub fn beside(&self) -> anyhow::Result<Self> {
        Self::at(self.path.clone())
    }

    /// Writes a file in its home.
    pub fn put(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.home.path().join(path);
        let folder = path.parent().context("a file has a folder")?;
        std::fs::create_dir_all(folder).context("no folder for the program's file")?;
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// What it prints when called with these words.
    pub fn says(&self, words: &[&str]) -> anyhow::Result<String> {
        step::capture(&mut self.command(words))
    }

    /// The call itself, for output that is shown as it comes.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(words).current_dir(self.home.path().join(WORKSPACE)).env_clear();
        for (name, value) in clean_environment(self.home.path()) {
            command.env(name, value);
        }
        command
    }
}

/// The folder in a home that the program is started in: a home itself has no file tools.
const WORKSPACE: &str = "workspace";

/// Makes that folder.
pub fn workspace(home: &Path) -> anyhow::Result<PathBuf> {
    let folder = home.join(WORKSPACE);
    std::fs::create_dir_all(&folder).context("no folder for the program's workspace")?;
    Ok(folder)
}

/// The environment of a user who has never run the program: only what finds programs and a home.
pub fn clean_environment(home: &Path) -> Vec<(&'static str, std::ffi::OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    vec![("PATH", path), ("HOME", home.into()), ("LANG", "C.UTF-8".into()), ("NO_COLOR", "1".into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_sees_nothing_of_the_user() {
        let program = Program::at("env".into()).expect("a temporary folder");
        let printed = program.says(&[]).expect("env prints the environment");
        let mut names: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "NO_COLOR", "PATH"]);
        assert!(printed.contains(&format!("HOME={}", program.home.path().display())));
    }
}

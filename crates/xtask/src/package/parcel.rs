//! What the makers of packages share: the program, where its packages go, and commands that run there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::step;

/// What is packaged, and where it goes.
pub(super) struct Package<'a> {
    pub(super) checkout: &'a Checkout,
    /// The program.
    pub(super) binary: PathBuf,
    /// Where packages are put.
    pub(super) folder: PathBuf,
    /// The program with its pages and completions, as they lie on a system.
    pub(super) root: PathBuf,
    pub(super) version: &'static str,
}

impl Package<'_> {
    /// A folder below that of the packages.
    pub(super) fn below(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("no folder {}", folder.display()))?;
        Ok(folder)
    }

    /// A command in the folder of the packages.
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = self.checkout.command(program, words);
        command.current_dir(&self.folder);
        command
    }

    pub(super) fn capture(&self, program: &str, words: &[&str]) -> anyhow::Result<String> {
        step::capture(&mut self.command(program, words))
    }
}

/// Writes a file, and the folders that it lies in.
pub(super) fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .with_context(|| format!("{} cannot be written", path.display()))
}

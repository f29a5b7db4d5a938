//! Where things lie: the checkout's root, the build folder, the cache folder. It creates none of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

/// The checkout this program was built from.
pub struct Checkout {
    /// The folder with the workspace's manifest.
    pub root: PathBuf,
    /// Cargo's build folder, which the environment or a configuration file may have moved.
    pub target: PathBuf,
    /// What is done about programs of the machine that are missing.
    pub system: System,
}

/// What is done about programs of the machine that the tests need and that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// They are installed where that is allowed, after it has been said how.
    Install,
    /// They are named, and nothing runs.
    Name,
}

impl Checkout {
    /// The checkout, wherever in it the command was typed.
    pub fn locate() -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .context("this crate does not lie two folders below the checkout's root")?
            .to_owned();
        let output = Command::new("cargo")
            .args(["metadata", "--no-deps", "--format-version=1"])
            .current_dir(&root)
            .output()
            .context("cargo could not be started")?;
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let target = metadata["target_directory"].as_str().context("cargo did not name its build folder")?;
        Ok(Self { root, target: PathBuf::from(target), system: System::Install })
    }

    /// Where installed things are kept between runs; git ignores it.
    pub fn cache(&self) -> PathBuf {
        self.root.join(".cache")
    }

    /// A command that runs in the root, so that the line printed for it can be repeated there.
    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.root);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_about_this_package(name)) {
            command.env_remove(name);
        }
        command
    }
}

/// Whether cargo set the variable to describe `xtask` to itself.
///
/// Build scripts of some dependencies run again when such a variable changes, so a cargo that we start must see
/// the same as one that the developer starts.
fn is_about_this_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_found_and_another_cargo_learns_nothing_of_this_package() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        assert!(checkout.root.join("crates/xtask/src/checkout.rs").is_file());
        let printed = checkout.command("env", &[]).output().expect("env prints the environment").stdout;
        let printed = String::from_utf8(printed).expect("text");
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo describes the package to its tests");
        assert!(!printed.contains("CARGO_PKG_") && !printed.contains("CARGO_MANIFEST_"), "{printed}");
    }
}

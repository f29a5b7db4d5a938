//! What every package holds: the program, its manual pages, its completions, its licence, as they lie on a system.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

use super::parcel::{Package, write};
use crate::docs::commands;
use crate::program::Program;

/// Shells, and where Debian has them look for the completions of programs.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/toolcrib"),
    ("zsh", "usr/share/zsh/vendor-completions/_toolcrib"),
    ("fish", "usr/share/fish/vendor_completions.d/toolcrib.fish"),
];

pub(super) fn lay_out(package: &Package<'_>) -> anyhow::Result<()> {
    let root = &package.root;
    let program = root.join("usr/bin/toolcrib");
    write(&program, &fs::read(&package.binary).context("the program is not there")?)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("the program cannot be run")?;
    for name in ["README.md", "LICENSE"] {
        let text = fs::read(package.checkout.root.join(name)).with_context(|| format!("no {name}"))?;
        write(&root.join("usr/share/doc/toolcrib").join(name), &text)?;
    }
    let program = Program::at(program)?;
    for (shell, path) in COMPLETIONS {
        write(&root.join(path), program.says(&["completions", shell])?.as_bytes())?;
    }
    for (words, _) in commands(&|words| program.says(words))? {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let name = [&["toolcrib"], words.as_slice()].concat().join("-");
        let page = program.says(&[&["man"], words.as_slice()].concat())?;
        write(&root.join(format!("usr/share/man/man1/{name}.1")), page.as_bytes())?;
    }
    Ok(())
}

/// How much it is on a disk, in KiB.
pub(super) fn kib(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => kib(&entry.path())? * 1024,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes.div_ceil(1024))
}

//! Where tool chains are installed beside the system's folders: what a server starts by name is often there. None of these
//! folders holds what a person is known by.

use std::path::{Path, PathBuf};

const OF_THE_MACHINE: [&str; 3] = ["/opt", "/nix", "/home/linuxbrew/.linuxbrew"];

/// Below the person's home folder.
const OF_THE_PERSON: [&str; 20] = [
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".dotnet",
    ".fnm",
    ".jbang/bin",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman/candidates",
    ".volta",
];

/// Variables that lead tools to what lies in the home folder by default.
const LEADING: [(&str, &str); 2] = [("RUSTUP_HOME", ".rustup"), ("VOLTA_HOME", ".volta")];

/// Those of the machine that are there.
pub(super) fn of_machine() -> Vec<PathBuf> {
    OF_THE_MACHINE.iter().map(PathBuf::from).filter(|folder| folder.is_dir()).collect()
}

/// Those of the person.
pub(super) fn of_person(home: Option<&Path>) -> Vec<PathBuf> {
    let folders = home.into_iter().flat_map(|home| OF_THE_PERSON.iter().map(|folder| home.join(folder)));
    folders.filter(|folder| folder.is_dir()).collect()
}

/// With these variables they are found where they are.
pub(super) fn variables(home: Option<&Path>) -> Vec<(&'static str, PathBuf)> {
    let folders = home.into_iter().flat_map(|home| LEADING.map(|(name, folder)| (name, home.join(folder))));
    folders.filter(|(_, folder)| folder.is_dir()).collect()
}

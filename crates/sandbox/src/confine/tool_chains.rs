//! Where tool chains are installed beside the system's folders: what is started by name is often there. None of these
//! folders holds what a person is known by.

use std::env::{join_paths, split_paths};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Homebrew's without its `etc` and `var`, where services keep what is theirs.
const OF_THE_MACHINE: [&str; 9] = [
    "/opt",
    "/nix",
    "/home/linuxbrew/.linuxbrew/bin",
    "/home/linuxbrew/.linuxbrew/Cellar",
    "/home/linuxbrew/.linuxbrew/etc/ca-certificates",
    "/home/linuxbrew/.linuxbrew/etc/openssl@3",
    "/home/linuxbrew/.linuxbrew/lib",
    "/home/linuxbrew/.linuxbrew/opt",
    "/home/linuxbrew/.linuxbrew/share",
];

/// Below the person's home folder. Of .NET not all: it keeps certificates with their keys beside.
const OF_THE_PERSON: [&str; 25] = [
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/packs",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
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

/// The system's folders, of which every program sees the programs.
const OF_THE_SYSTEM: [&str; 3] = ["/usr", "/bin", "/sbin"];

/// Most folders in which programs are looked up.
const PATH_FOLDERS_MAX: usize = 64;

/// Those that are there.
#[derive(Debug, Default)]
pub(in crate::confine) struct ToolChains {
    /// Folders that everybody may read.
    pub(in crate::confine) machine: Vec<PathBuf>,
    /// Folders that only the person may be able to read.
    pub(in crate::confine) person: Vec<PathBuf>,
    /// With these variables they are found where they are.
    pub(in crate::confine) variables: Vec<(&'static str, PathBuf)>,
}

impl ToolChains {
    /// Those of the machine, and of the person with this home folder.
    pub(in crate::confine) fn of(home: Option<&Path>) -> ToolChains {
        let home = home.and_then(|home| home.canonicalize().ok());
        let below =
            |folder: &str| home.as_ref().map(|home| home.join(folder)).filter(|folder| folder.exists());
        ToolChains {
            machine: OF_THE_MACHINE.iter().map(PathBuf::from).filter(|folder| folder.exists()).collect(),
            person: OF_THE_PERSON.iter().filter_map(|folder| below(folder)).collect(),
            variables: LEADING.iter().filter_map(|(name, folder)| Some((*name, below(folder)?))).collect(),
        }
    }

    /// The same without those that links lead to: whoever may write where a link lies says where it leads.
    pub(in crate::confine) fn plain(self) -> ToolChains {
        self.without(|folder| folder.canonicalize().ok().as_deref() != Some(folder))
    }

    /// The same without some.
    pub(in crate::confine) fn without(mut self, is_left_out: impl Fn(&Path) -> bool) -> ToolChains {
        self.machine.retain(|folder| !is_left_out(folder));
        self.person.retain(|folder| !is_left_out(folder));
        self.variables.retain(|(_, folder)| self.person.contains(folder));
        self
    }

    /// All folders.
    pub(in crate::confine) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.machine.iter().chain(&self.person)
    }
}

/// Where a program looks others up: where the person does, as far as that is `seen`, and then in the folders of `always`.
pub(in crate::confine) fn path(persons: &OsStr, seen: &[PathBuf], always: &str) -> OsString {
    let is_seen = |folder: &PathBuf| {
        let mut roots = OF_THE_SYSTEM.iter().map(Path::new).chain(seen.iter().map(PathBuf::as_path));
        let is_plain = !folder.components().any(|part| part == Component::ParentDir);
        folder.is_absolute() && is_plain && roots.any(|root| folder.starts_with(root))
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in split_paths(persons).filter(is_seen).take(PATH_FOLDERS_MAX).chain(split_paths(always)) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    join_paths(folders).unwrap_or_else(|_| always.into())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files of a person")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[track_caller]
    fn check(persons: &str, expected: &str) {
        let seen = ["/home/ann/.cargo/bin", "/opt"].map(PathBuf::from);
        assert_eq!(path(persons.as_ref(), &seen, "/usr/bin:/bin"), OsString::from(expected), "{persons}");
    }

    #[test]
    fn programs_are_looked_up_where_the_person_does_and_the_program_sees_it() {
        check("", "/usr/bin:/bin");
        check("/home/ann/.cargo/bin:/bin", "/home/ann/.cargo/bin:/bin:/usr/bin");
        check("/usr/local/go/bin:/usr/bin:/opt/x/bin", "/usr/local/go/bin:/usr/bin:/opt/x/bin:/bin");
        check("/home/ann/src/.venv/bin:/home/ann/bin:/home/ann/.cargo", "/usr/bin:/bin");
        check(".:bin:/usr/../home/ann::/usrx", "/usr/bin:/bin");
    }
    #[test]
    fn what_links_lead_to_is_no_chain_of_commands() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        for chain in [".cargo/bin", ".rustup", "elsewhere/pyenv"] {
            fs::create_dir_all(home.join(chain)).expect("a folder");
        }
        symlink(home.join("elsewhere/pyenv"), home.join(".pyenv")).expect("a link");
        let chains = ToolChains::of(Some(&home)).plain();
        assert_eq!(chains.person, [home.join(".cargo/bin"), home.join(".rustup")]);
        assert_eq!(chains.variables, [("RUSTUP_HOME", home.join(".rustup"))]);
        let less = chains.without(|folder| folder.ends_with(".rustup"));
        assert_eq!((less.person.len(), less.variables.len()), (1, 0));
        // A home that a link leads to is the person's all the same.
        symlink(&home, home.join("link")).expect("a link");
        assert_eq!(ToolChains::of(Some(&home.join("link"))).plain().person.len(), 2);
    }
}

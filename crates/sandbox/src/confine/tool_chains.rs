//! Where tool chains are installed beside the system's folders: what is started by name is often there. None of these
//! folders is meant for what a person is known by.

use std::env::{join_paths, split_paths};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Homebrew's without its `etc` and `var`, where services keep what is theirs.
const OF_THE_MACHINE: [&str; 11] = [
    "/opt",
    "/nix",
    "/home/linuxbrew/.linuxbrew/bin",
    "/home/linuxbrew/.linuxbrew/Cellar",
    "/home/linuxbrew/.linuxbrew/etc/ca-certificates",
    "/home/linuxbrew/.linuxbrew/etc/openssl@3",
    "/home/linuxbrew/.linuxbrew/include",
    "/home/linuxbrew/.linuxbrew/lib",
    "/home/linuxbrew/.linuxbrew/opt",
    "/home/linuxbrew/.linuxbrew/sbin",
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
        let below = |folder: &str| home.map(|home| home.join(folder)).filter(|folder| folder.exists());
        ToolChains {
            machine: OF_THE_MACHINE.iter().map(PathBuf::from).filter(|folder| folder.exists()).collect(),
            person: OF_THE_PERSON.iter().filter_map(|folder| below(folder)).collect(),
            variables: LEADING.iter().filter_map(|(name, folder)| Some((*name, below(folder)?))).collect(),
        }
    }

    /// The same without those that links below this home folder lead to: whoever may write where a link lies says where it leads.
    pub(in crate::confine) fn plain(self, home: Option<&Path>) -> ToolChains {
        let Some(home) = home else { return self };
        let real = home.canonicalize().unwrap_or_default();
        let is_plain = |folder: &Path| {
            let below = folder.strip_prefix(home).map(|below| real.join(below));
            below.is_ok_and(|below| folder.canonicalize().is_ok_and(|folder| folder == below))
        };
        let is_persons = |folder: &Path| folder.starts_with(home);
        self.without(|folder| is_persons(folder) && !is_plain(folder))
    }

    /// The same without those in what is `written`, and without those that hold what is to stay `unseen`.
    pub(in crate::confine) fn outside(self, written: &[PathBuf], unseen: Option<&Path>) -> ToolChains {
        self.without(|folder| {
            let real = folder.canonicalize().unwrap_or_default();
            let is_in = |path: &Path| folder.starts_with(path) || real.starts_with(path);
            let holds = |path: &Path| {
                path.starts_with(folder) || path.canonicalize().is_ok_and(|path| path.starts_with(&real))
            };
            written.iter().any(|path| is_in(path)) || unseen.is_some_and(|path| is_in(path) || holds(path))
        })
    }

    fn without(mut self, is_left_out: impl Fn(&Path) -> bool) -> ToolChains {
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

/// Where a program looks others up: where the person does, as far as that is `seen` and not `written` by agents, since what
/// people name is looked up there, too; and then in the folders of `always`.
pub(in crate::confine) fn path(
    persons: &OsStr,
    seen: &[PathBuf],
    written: &[PathBuf],
    always: &str,
) -> OsString {
    let is_seen = |folder: &PathBuf| {
        let mut roots = OF_THE_SYSTEM.iter().map(Path::new).chain(seen.iter().map(PathBuf::as_path));
        let is_plain = !folder.components().any(|part| part == Component::ParentDir);
        // Or it holds a file that is seen by itself.
        let holds = |root: &Path| root.parent() == Some(folder) && root.is_file();
        folder.is_absolute() && is_plain && roots.any(|root| folder.starts_with(root) || holds(root))
    };
    let is_written = |folder: &PathBuf| {
        let real = folder.canonicalize().unwrap_or_default();
        written.iter().any(|path| folder.starts_with(path) || real.starts_with(path))
    };
    let persons = split_paths(persons).filter(|folder| is_seen(folder) && !is_written(folder));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in persons.take(PATH_FOLDERS_MAX).chain(split_paths(always)) {
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
        let seen = ["/home/ann/.cargo/bin", "/opt", "/home/ann/src"].map(PathBuf::from);
        let written = ["/opt/cache", "/home/ann/src/p"].map(PathBuf::from);
        let found = path(persons.as_ref(), &seen, &written, "/usr/bin:/bin");
        assert_eq!(found, OsString::from(expected), "{persons}");
    }

    #[test]
    fn programs_are_looked_up_where_the_person_does_and_the_program_sees_it() {
        check("", "/usr/bin:/bin");
        check("/home/ann/.cargo/bin:/bin", "/home/ann/.cargo/bin:/bin:/usr/bin");
        check("/usr/local/go/bin:/usr/bin:/opt/x/bin", "/usr/local/go/bin:/usr/bin:/opt/x/bin:/bin");
        check("/home/ann/src/bin:/home/ann/src/p/.venv/bin", "/home/ann/src/bin:/usr/bin:/bin");
        check("/opt/cache/bin:/opt/x:/home/ann/bin:/home/ann/.cargo", "/opt/x:/usr/bin:/bin");
        check(".:bin:/usr/../home/ann::/usrx", "/usr/bin:/bin");
    }
    /// A home folder with tool chains, one of them by a link.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        for chain in [".cargo/bin", ".dotnet", ".rustup", "elsewhere/pyenv"] {
            fs::create_dir_all(home.join(chain)).expect("a folder");
        }
        fs::write(home.join(".dotnet/dotnet"), "").expect("a file");
        symlink(home.join("elsewhere/pyenv"), home.join(".pyenv")).expect("a link");
        symlink(&home, home.join("link")).expect("a link");
        (folder, home)
    }

    #[test]
    fn what_links_lead_to_is_no_chain_of_commands() {
        let (_folder, home) = home();
        // A home that a link leads to is the person's all the same, and found where the person looks.
        for home in [home.clone(), home.join("link")] {
            let chains = ToolChains::of(Some(&home)).plain(Some(&home));
            let expected = [".cargo/bin", ".dotnet/dotnet", ".rustup"].map(|chain| home.join(chain));
            assert_eq!(chains.person, expected);
            assert_eq!(chains.variables, [("RUSTUP_HOME", home.join(".rustup"))]);
        }
        assert_eq!(ToolChains::of(None).plain(None).person, Vec::<PathBuf>::new());
    }

    #[test]
    fn no_chain_lies_in_what_is_written_or_shows_what_is_not_seen() {
        let (_folder, home) = home();
        let left = |home: &Path, written: &[&str], unseen: Option<&str>| {
            let written: Vec<_> = written.iter().map(|path| home.join(path)).collect();
            let unseen = unseen.map(|path| home.join(path));
            let chains = ToolChains::of(Some(home)).plain(Some(home)).outside(&written, unseen.as_deref());
            chains.person.len()
        };
        for (written, unseen, count) in [
            (&[][..], None, 3),
            (&[".cargo"], None, 2),
            (&[".cargo/bin/x"], None, 3),
            (&[".cargo", ".rustup", ".dotnet/dotnet"], None, 0),
            (&["."], None, 0),
            (&[], Some(".rustup/toolchains"), 2),
            (&[], Some(".cargo"), 2),
            (&[], Some("src"), 3),
        ] {
            assert_eq!(left(&home, written, unseen), count, "{written:?} {unseen:?}");
        }
        // However the home is spelled.
        let (link, written) = (home.join("link"), [home.join(".cargo")]);
        assert_eq!(ToolChains::of(Some(&link)).plain(Some(&link)).outside(&written, None).person.len(), 2);
    }

    #[test]
    fn a_folder_is_looked_in_for_the_one_file_of_it_that_is_seen() {
        let (_folder, home) = home();
        let persons = join_paths([home.join(".dotnet"), home.join(".rustup")]).expect("plain paths");
        let found = path(&persons, &[home.join(".dotnet/dotnet")], &[], "/usr/bin");
        assert_eq!(found, join_paths([home.join(".dotnet"), "/usr/bin".into()]).expect("plain paths"));
    }
}

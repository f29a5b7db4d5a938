//! Where clients keep their servers on this machine, and what is known about a file found there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use sandbox::text_file;

/// Folders in a project that editors and agents keep their settings in.
const SETTINGS_FOLDERS: [&str; 6] = [".vscode", ".cursor", ".codex", ".opencode", ".scorpiox", ".claude"];

/// What clients' files are looked for by, and what variables in them are held against.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The folder that a project's files are looked for from, upwards.
    pub current_dir: PathBuf,
    /// The environment.
    pub variables: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// A variable, if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}

/// A file that a client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFile {
    /// Its path.
    pub path: PathBuf,
    /// The project it belongs to; none if it is the user's.
    pub project: Option<PathBuf>,
    /// Whether it was found in a project, and not named: others who work on that may share it.
    pub is_shared: bool,
}

impl ClientFile {
    /// The user's own file.
    pub fn users(path: PathBuf) -> ClientFile {
        ClientFile { path, project: None, is_shared: false }
    }

    /// A file that somebody named: taken for a project's.
    pub fn named(path: PathBuf) -> ClientFile {
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let is_settings = |folder: &Path| {
            folder.file_name().is_some_and(|name| SETTINGS_FOLDERS.iter().any(|known| name == *known))
        };
        let project = if is_settings(&folder) { folder.parent().map(Path::to_owned) } else { Some(folder) };
        ClientFile { path, project, is_shared: false }
    }
}

/// A file that a client may read.
pub(crate) enum Location {
    /// Below the user's home.
    Home(&'static str),
    /// Below the folder that a variable names, else below this one of the user's home.
    Variable(&'static str, &'static str, &'static str),
    /// Below the folder of the user's settings.
    Config(&'static str),
    /// The one that a variable names.
    Named(&'static str),
    /// The first from the current folder upwards, below home.
    Project(&'static str),
}

impl Location {
    /// Whether a file that somebody named is this one, as far as its path tells.
    pub(crate) fn may_be(&self, path: &Path) -> bool {
        match self {
            Location::Variable(_, below, name) => path.ends_with(Path::new(below).join(name)),
            Location::Home(name) | Location::Config(name) | Location::Project(name) => path.ends_with(name),
            Location::Named(_) => false,
        }
    }
}

impl Location {
    /// Where a project's own file would lie in the current folder.
    pub(crate) fn new_in_project(&self, surroundings: &Surroundings) -> Option<ClientFile> {
        let Location::Project(name) = *self else { return None };
        let folder = surroundings.current_dir.clone();
        Some(ClientFile { path: folder.join(name), project: Some(folder), is_shared: true })
    }

    /// Where it lies, which need not exist; nothing if that is not known, or there is none in any project.
    pub(crate) fn file(&self, surroundings: &Surroundings) -> Option<ClientFile> {
        let users = |folder: Option<PathBuf>, name: &str| Some(ClientFile::users(folder?.join(name)));
        let home = home(surroundings);
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        match *self {
            Location::Home(name) => users(home, name),
            Location::Variable(variable, folder, name) => {
                users(absolute(surroundings, variable).or_else(|| below_home(folder)), name)
            }
            Location::Config(name) => {
                users(absolute(surroundings, "XDG_CONFIG_HOME").or_else(|| below_home(".config")), name)
            }
            Location::Named(variable) => absolute(surroundings, variable).map(ClientFile::named),
            Location::Project(name) => {
                let mut above = surroundings.current_dir.ancestors();
                let folder = above.find(|folder| {
                    Some(*folder) != home.as_deref() && text_file::is_file(&folder.join(name))
                })?;
                Some(ClientFile {
                    path: folder.join(name),
                    project: Some(folder.to_owned()),
                    is_shared: true,
                })
            }
        }
    }
}

/// The user's home.
pub fn home(surroundings: &Surroundings) -> Option<PathBuf> {
    absolute(surroundings, "HOME")
}

fn absolute(surroundings: &Surroundings, variable: &str) -> Option<PathBuf> {
    surroundings.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// A file that is being read.
pub struct Origin<'a> {
    /// Where it lies.
    pub place: &'a ClientFile,
    /// What variables are held against.
    pub surroundings: &'a Surroundings,
}

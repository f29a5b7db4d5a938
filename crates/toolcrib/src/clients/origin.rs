//! Where clients keep their servers on this machine, and what is known about a file found there.

use std::path::{Path, PathBuf};

use crate::config::{Surroundings, text_file};

/// Folders in a project that editors and agents keep their settings in.
const SETTINGS_FOLDERS: [&str; 6] = [".vscode", ".cursor", ".codex", ".opencode", ".scorpiox", ".claude"];

/// A file that a client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The project it belongs to; none if it is the user's.
    pub(crate) project: Option<PathBuf>,
}

impl Place {
    /// A file that somebody named: taken for a project's.
    pub(crate) fn named(path: PathBuf) -> Place {
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let is_settings = |folder: &Path| {
            folder.file_name().is_some_and(|name| SETTINGS_FOLDERS.iter().any(|known| name == *known))
        };
        let project = if is_settings(&folder) { folder.parent().map(Path::to_owned) } else { Some(folder) };
        Place { path, project }
    }
}

/// The folders of this machine that clients look into.
pub(crate) struct Whereabouts<'s> {
    /// What they are taken from.
    pub(crate) surroundings: &'s Surroundings,
    /// Whether this is a Mac, whose applications keep their settings elsewhere.
    pub(crate) is_mac: bool,
}

impl<'s> Whereabouts<'s> {
    /// Those of this machine.
    pub(crate) fn of(surroundings: &'s Surroundings) -> Whereabouts<'s> {
        Whereabouts { surroundings, is_mac: cfg!(target_os = "macos") }
    }

    /// The user's files with these names below a folder, if that is known.
    pub(crate) fn user(&self, folder: Option<PathBuf>, names: &[&str]) -> Vec<Place> {
        let place = |folder: &PathBuf, name: &&str| Place { path: folder.join(name), project: None };
        folder.iter().flat_map(|folder| names.iter().map(move |name| place(folder, name))).collect()
    }

    /// The nearest projects' files with these names: for each name the first from the current folder upwards, below home.
    pub(crate) fn projects(&self, names: &[&str]) -> Vec<Place> {
        let home = home(self.surroundings);
        let above =
            || self.surroundings.current_dir.ancestors().filter(|folder| Some(*folder) != home.as_deref());
        let nearest = |name: &&str| {
            let folder = above().find(|folder| text_file::is_file(&folder.join(name)))?;
            Some(Place { path: folder.join(name), project: Some(folder.to_owned()) })
        };
        names.iter().filter_map(nearest).collect()
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        home(self.surroundings)
    }

    /// Where programs of the command line keep their settings.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.variable("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// Where applications with windows keep theirs.
    pub(crate) fn applications(&self) -> Option<PathBuf> {
        if self.is_mac { Some(self.home()?.join("Library/Application Support")) } else { self.config() }
    }

    /// A folder or file that a variable names.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        absolute(self.surroundings, name)
    }
}

/// The user's home.
pub(crate) fn home(surroundings: &Surroundings) -> Option<PathBuf> {
    absolute(surroundings, "HOME")
}

fn absolute(surroundings: &Surroundings, variable: &str) -> Option<PathBuf> {
    surroundings.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// A file that is being read.
pub(crate) struct Origin<'a> {
    /// Where it lies.
    pub(crate) place: &'a Place,
    /// What variables are held against.
    pub(crate) surroundings: &'a Surroundings,
}

//! The files that rules come from: which they are, whether they have changed, and reading them.
#![expect(clippy::disallowed_methods, reason = "rules files are what this crate reads")]

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use crate::config::Settings;
use crate::node::{BYTES_MAX, Form};
use crate::read::{self, Problem};
use crate::rule::Rule;
use crate::workspace::Workspace;

/// The names of rules files.
pub const NAMES: [&str; 3] = ["ai-rules.json", "ai-rules.yaml", "ai-rules.yml"];

/// Their folders in a workspace.
const FOLDERS: [&str; 2] = [".toolcrib", ".oppla"];

/// A file that was changed so shortly before it was read may be changed again without looking different: the clocks of
/// file systems are coarse.
const SETTLES_AFTER: Duration = Duration::from_secs(2);

/// Whose rules a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Layer {
    /// Everybody's in an organisation.
    Organisation,
    /// One project's.
    Project,
    /// One person's.
    User,
}

impl Layer {
    /// Its name.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A file that may hold rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileLocation {
    pub(crate) layer: Layer,
    pub(crate) path: PathBuf,
    /// True if it was named, so that it must be there.
    pub(crate) is_named: bool,
}

/// A file that is there, or should be.
#[derive(Debug)]
pub struct Found {
    /// Whose it is.
    pub layer: Layer,
    /// Its path.
    pub path: PathBuf,
    /// Its rules, or all that is wrong with it.
    pub rules: Result<Vec<Rule>, Vec<Problem>>,
}

/// All files that may hold rules, the organisation's first.
pub(crate) fn locations(settings: &Settings) -> Vec<FileLocation> {
    let mut locations = Vec::new();
    let mut layer = |layer, named: &Option<PathBuf>, folders: &[PathBuf]| match named {
        Some(path) => locations.push(FileLocation { layer, path: path.clone(), is_named: true }),
        None => {
            let paths = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
            locations.extend(paths.map(|path| FileLocation { layer, path, is_named: false }));
        }
    };
    layer(Layer::Organisation, &settings.organisation, &[]);
    layer(Layer::Project, &settings.project, &FOLDERS.map(|folder| settings.workspace.join(folder)));
    layer(Layer::User, &settings.user, settings.user_folder.as_slice());
    locations
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// It is not there.
    Absent,
    /// It cannot be looked at.
    Hidden,
    /// It may change without looking different.
    Fresh,
    Settled {
        file: (u64, u64),
        bytes: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
}

impl Stamp {
    /// The state of a file now.
    pub(crate) fn of(path: &Path, now: SystemTime) -> Stamp {
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if is_absence(&error) && !is_lost(path) => return Stamp::Absent,
            Err(_) => return Stamp::Hidden,
        };
        let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let age_s = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX) - found.ctime();
        if age_s < SETTLES_AFTER.as_secs().cast_signed() {
            return Stamp::Fresh;
        }
        Stamp::Settled {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// True if a file in this state then, and in `now`, is certainly the same.
    pub(crate) fn is_same(self, now: Stamp) -> bool {
        match self {
            Stamp::Absent | Stamp::Settled { .. } => self == now,
            Stamp::Hidden | Stamp::Fresh => false,
        }
    }
}

/// There is no file, nor a way that could lead to one.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// True for a link that leads nowhere, or a file in such a folder: somebody meant it to be there.
fn is_lost(path: &Path) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    is_link(path) || path.parent().is_some_and(|folder| is_link(folder) && folder.metadata().is_err())
}

impl FileLocation {
    /// Reads the file; nothing if there is none and none must be.
    pub(crate) fn read(&self, workspace: &Workspace) -> Option<Found> {
        let rules = match text(&self.path) {
            Ok(text) => {
                let is_json = self.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
                read::read(&text, if is_json { Form::Json } else { Form::Yaml }, workspace)
            }
            Err(error) if is_absence(&error) && !self.is_named && !is_lost(&self.path) => return None,
            Err(error) => {
                let what = format!("the rules file cannot be read: {error}; calls are refused until it can");
                Err(vec![Problem { place: None, what }])
            }
        };
        Some(Found { layer: self.layer, path: self.path.clone(), rules })
    }
}

/// Reads a text of bounded size; what is no regular file is not waited for.
fn text(path: &Path) -> io::Result<String> {
    // A pipe that nobody writes into would be opened for ever.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    file.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {BYTES_MAX} bytes")));
    }
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

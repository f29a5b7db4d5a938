//! Which files make up the configuration, and reading them. Nothing of their content is understood here.
#![expect(clippy::disallowed_methods, reason = "the configuration is a declared home of files")]

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Source};
use crate::surroundings::Surroundings;
use sandbox::text_file;

/// The name of a configuration file, the project's and the user's.
pub const FILE: &str = "toolcrib.toml";

/// The folder of a project's manifests, below the project's own.
pub const PROJECT_TOOLS: &str = ".toolcrib/tools";

/// Names one file in place of the two that are looked for.
const VARIABLE: &str = "TOOLCRIB_CONFIG";

/// What the top of a repository has in it: a folder, or a file in a work tree or a submodule.
const REPOSITORY: &str = ".git";

/// Written by people; more is the wrong file.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The files in effect, the user's before the folder's.
    pub sources: Vec<Source>,
    /// Files of the folder that are not obeyed, each in a sentence that names it.
    pub refused: Vec<String>,
}

/// The files in effect. A file that was asked for by name stands alone and must exist; the others need not.
///
/// # Errors
/// If the file that was named, or the user's own, cannot be read, or others could write in the user's.
pub fn find(named: Option<&Path>, surroundings: &Surroundings) -> Result<Found, Problem> {
    let mut found = Found::default();
    if let Some(path) = self::named(named, surroundings) {
        let text = read(&surroundings.absolute(path)).map_err(|error| unreadable(path, &error))?;
        found.sources.push(Source { path: path.to_owned(), text, is_projects: false });
        return Ok(found);
    }
    if let Some(path) = user(surroundings) {
        match text_file::read_own(&path, FILE_BYTES_MAX) {
            Ok(Ok(text)) => found.sources.push(Source { path, text, is_projects: false }),
            Ok(Err(exposed)) => return Err(Problem::nowhere(format!("{} {exposed}", path.display()))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    if let Some(path) = project(surroundings) {
        match text_file::read_own(&path, FILE_BYTES_MAX) {
            Ok(Ok(text)) => found.sources.push(Source { path, text, is_projects: true }),
            Ok(Err(exposed)) => {
                found.refused.push(format!("{} is not obeyed: it {exposed}", path.display()));
            }
            // Removed since it was found.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found.refused.push(format!("{} is not obeyed: {error}", path.display())),
        }
    }
    Ok(found)
}

/// The file that was asked for by name, which then stands alone.
pub fn named<'n>(named: Option<&'n Path>, surroundings: &'n Surroundings) -> Option<&'n Path> {
    named.or_else(|| surroundings.variable(VARIABLE).map(Path::new))
}

/// Where the user's own file is or would be, if they have a home.
pub fn user(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.config_folder().map(|folder| folder.join(FILE))
}

/// The folder's file, if there is one: the nearest that is not the user's, from the current folder upwards.
pub fn project(surroundings: &Surroundings) -> Option<PathBuf> {
    let own = user(surroundings);
    nearest(surroundings, FILE, |path| Some(path) != own.as_deref() && path.is_file())
}

/// The folder with the manifests of a project, if there is one, looked for in the same way.
pub fn project_tools(surroundings: &Surroundings) -> Option<PathBuf> {
    nearest(surroundings, PROJECT_TOOLS, Path::is_dir)
}

/// A folder of this name with the skills of a project, if there is one that is none of these, looked for in the same way.
pub(crate) fn project_skills(surroundings: &Surroundings, name: &str, others: &[PathBuf]) -> Option<PathBuf> {
    nearest(surroundings, name, |path| path.is_dir() && !others.iter().any(|other| other == path))
}

/// What lies in the nearest folder that has it, from the current one upwards. What lies above a repository, the home folder or
/// another file system belongs to something else.
fn nearest(surroundings: &Surroundings, name: &str, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let home = surroundings.home().map(text_file::real);
    let mut start = None;
    for folder in surroundings.current_dir.ancestors() {
        let device = folder.metadata().ok().map(|found| found.dev());
        if device.is_some_and(|device| *start.get_or_insert(device) != device) {
            return None;
        }
        let path = folder.join(name);
        if is_it(&path) {
            return Some(path);
        }
        let is_repository = folder.join(REPOSITORY).symlink_metadata().is_ok();
        if is_repository || home.as_deref() == Some(folder) {
            return None;
        }
    }
    None
}

/// Reads a file that people write.
pub fn read(path: &Path) -> io::Result<String> {
    text_file::read(path, FILE_BYTES_MAX)
}

/// The folder that relative paths of a file start at.
pub fn folder_of(source: &Source, surroundings: &Surroundings) -> PathBuf {
    let path = surroundings.absolute(&source.path);
    path.parent().unwrap_or(&surroundings.current_dir).to_owned()
}

/// The same without links: the folder that what the file declares is agreed to for.
pub fn declaring_folder(source: &Source, surroundings: &Surroundings) -> PathBuf {
    text_file::real(&folder_of(source, surroundings))
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::nowhere(format!("the configuration {} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

    struct Disk {
        folder: tempfile::TempDir,
        surroundings: Surroundings,
    }

    /// A home with a user file, a project with a file, and a folder two steps below it.
    fn disk() -> Disk {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (path, text) in [("home/.config/toolcrib", "user"), ("project", "project"), ("project/a/b", "")] {
            fs::create_dir_all(root.join(path)).expect("a folder");
            if !text.is_empty() {
                fs::write(root.join(path).join(FILE), text).expect("a file");
            }
        }
        let variables = [("HOME".into(), root.join("home").into())].into();
        let surroundings =
            Surroundings { current_dir: root.join("project/a/b"), variables, ..Surroundings::default() };
        Disk { folder, surroundings }
    }

    fn texts(found: Result<Found, Problem>) -> Vec<String> {
        found.expect("readable files").sources.into_iter().map(|source| source.text).collect()
    }

    #[test]
    fn the_nearest_project_file_comes_after_the_users() {
        let mut disk = disk();
        assert_eq!(texts(find(None, &disk.surroundings)), ["user", "project"]);
        disk.surroundings.current_dir = disk.folder.path().join("home");
        assert_eq!(texts(find(None, &disk.surroundings)), ["user"]);
        // The user's own file is not a project's, even if we stand beside it.
        disk.surroundings.current_dir = disk.folder.path().join("home/.config/toolcrib");
        assert_eq!(texts(find(None, &disk.surroundings)), ["user"]);
        disk.surroundings.variables.clear();
        disk.surroundings.current_dir = disk.folder.path().join("home");
        assert_eq!(texts(find(None, &disk.surroundings)), Vec::<String>::new());
    }

    #[test]
    fn a_named_file_stands_alone_and_must_exist() {
        let mut disk = disk();
        let named = Path::new("../named.toml");
        fs::write(disk.folder.path().join("project/a/named.toml"), "named").expect("a file");
        assert_eq!(texts(find(Some(named), &disk.surroundings)), ["named"]);
        disk.surroundings.variables.insert(VARIABLE.into(), "../named.toml".into());
        assert_eq!(texts(find(None, &disk.surroundings)), ["named"]);
        let missing = find(Some(Path::new("none.toml")), &disk.surroundings).expect_err("no such file");
        assert!(missing.what.starts_with("the configuration none.toml cannot be read: "), "{}", missing.what);
    }

    #[test]
    fn a_file_beyond_the_limit_or_no_text_is_refused() {
        let disk = disk();
        let path = disk.folder.path().join("large");
        fs::write(&path, "#".repeat(FILE_BYTES_MAX as usize)).expect("a file");
        assert!(read(&path).is_ok());
        fs::write(&path, "#".repeat(FILE_BYTES_MAX as usize + 1)).expect("a file");
        assert_eq!(read(&path).expect_err("too large").to_string(), "it is larger than 1 MiB");
        fs::write(&path, b"a = \"\xff\"").expect("a file");
        assert_eq!(read(&path).expect_err("no text").kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn the_search_ends_at_a_repository_and_at_home() {
        let mut disk = disk();
        let root = disk.folder.path().to_owned();
        let found = |disk: &Disk| texts(find(None, &disk.surroundings));
        assert_eq!(found(&disk), ["user", "project"]);
        // The top of a work tree has a file of this name, a repository's a folder.
        fs::write(root.join("project/a/b/.git"), "gitdir: x").expect("a file");
        assert_eq!(found(&disk), ["user"]);
        disk.surroundings.current_dir = root.join("project/a");
        assert_eq!(found(&disk), ["user", "project"]);
        fs::create_dir(root.join("project/.git")).expect("a folder");
        assert_eq!(found(&disk), ["user", "project"], "the top itself counts");
        fs::write(root.join(FILE), "above home").expect("a file");
        fs::create_dir(root.join("home/deep")).expect("a folder");
        disk.surroundings.current_dir = root.join("home/deep");
        assert_eq!(found(&disk), ["user"]);
    }

    /// What becomes of a folder's file with this mode and owner.
    #[track_caller]
    fn check_obeyed(mode: u32, owner: Option<u32>, group: Option<u32>, expected: Option<&str>) {
        let disk = disk();
        let path = disk.folder.path().join("project").join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        if (owner.is_some() || group.is_some()) && chown(&path, owner, group).is_err() {
            // Only the administrator gives files away.
            return;
        }
        let found = find(None, &disk.surroundings).expect("the user's own is sound");
        let refused: Vec<&str> = found
            .refused
            .iter()
            .map(|line| line.split_once(" is not obeyed: it ").expect("a reason").1)
            .collect();
        assert_eq!(refused.first().copied(), expected, "{mode:o} {owner:?} {group:?}");
        assert_eq!(found.sources.len(), if expected.is_none() { 2 } else { 1 });
        assert!(found.refused.iter().all(|line| line.starts_with(&path.display().to_string())));
    }

    #[test]
    fn a_file_that_others_could_have_written_is_not_obeyed() {
        let by_others =
            Some("can be written by other users; take that away with `chmod go-w`, or name it with --config");
        check_obeyed(0o644, None, None, None);
        check_obeyed(0o600, None, None, None);
        check_obeyed(0o666, None, None, by_others);
        check_obeyed(0o646, None, None, by_others);
        let elsewhere = Some(4242);
        check_obeyed(0o664, None, elsewhere, by_others);
        check_obeyed(0o644, None, elsewhere, None);
        check_obeyed(0o664, Some(0), Some(0), None);
        let by_another = Some("belongs to another user; make it yours, or name it with --config");
        check_obeyed(0o644, elsewhere, None, by_another);
        check_obeyed(0o600, elsewhere, elsewhere, by_another);
    }

    #[test]
    fn the_users_own_file_is_held_to_the_same() {
        let disk = disk();
        let path = disk.folder.path().join("home/.config/toolcrib").join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a mode");
        let problem = find(None, &disk.surroundings).expect_err("others could have written it");
        assert!(problem.what.contains("can be written by other users"), "{}", problem.what);
        // One that is named is what its caller says.
        assert!(find(Some(&path), &disk.surroundings).is_ok());
    }
}

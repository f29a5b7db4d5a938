//! Which files make up the configuration, and reading them. Nothing of their content is understood here.
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::problem::{OTHERS_FILE, Problem, Source};
use super::surroundings::Surroundings;
use super::text_file;

/// The name of a configuration file, the project's and the user's.
pub(crate) const FILE: &str = "toolcrib.toml";

/// Names one file in place of the two that are looked for.
const VARIABLE: &str = "TOOLCRIB_CONFIG";

/// Written by people; more is the wrong file.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The files in effect, the user's before the project's, which are laid over it: first the one of another program,
/// then our own. A file that was asked for by name stands alone and must exist; the others need not.
pub(crate) fn find(named: Option<&Path>, surroundings: &Surroundings) -> Result<Vec<Source>, Problem> {
    if let Some(path) = self::named(named, surroundings) {
        let text = read(&surroundings.absolute(path)).map_err(|error| unreadable(path, &error))?;
        return Ok(vec![Source { path: path.to_owned(), text, is_projects: false }]);
    }
    let mut sources = Vec::new();
    let others = nearest(OTHERS_FILE, surroundings, None);
    let users = user(surroundings).map(|path| (path, false));
    let found = others.into_iter().chain(project(surroundings)).map(|path| (path, true));
    for (path, is_projects) in users.into_iter().chain(found) {
        match read(&path) {
            Ok(text) => sources.push(Source { path, text, is_projects }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    Ok(sources)
}

/// The file that was asked for by name, which then stands alone.
pub(super) fn named<'n>(named: Option<&'n Path>, surroundings: &'n Surroundings) -> Option<&'n Path> {
    named.or_else(|| surroundings.variable(VARIABLE).map(Path::new))
}

/// Where the user's own file is or would be, if they have a home.
pub(super) fn user(surroundings: &Surroundings) -> Option<PathBuf> {
    surroundings.config_folder().map(|folder| folder.join(FILE))
}

/// The project's file, if there is one: the nearest, from the current folder upwards.
pub(super) fn project(surroundings: &Surroundings) -> Option<PathBuf> {
    nearest(FILE, surroundings, user(surroundings).as_deref())
}

/// The nearest file of this name that is not `but`, from the current folder upwards.
fn nearest(name: &str, surroundings: &Surroundings, but: Option<&Path>) -> Option<PathBuf> {
    let above = surroundings.current_dir.ancestors().map(|folder| folder.join(name));
    above.filter(|path| Some(path.as_path()) != but).find(|path| path.is_file())
}

/// Reads a file that people write.
pub(super) fn read(path: &Path) -> io::Result<String> {
    text_file::read(path, FILE_BYTES_MAX)
}

/// The folder that relative paths of a file start at: its own, or the project's for a file that lies below it.
pub(super) fn folder_of(source: &Source, surroundings: &Surroundings) -> PathBuf {
    let path = surroundings.absolute(&source.path);
    let steps = if source.is_others() { Path::new(OTHERS_FILE).components().count() } else { 1 };
    path.ancestors().nth(steps).map_or_else(|| surroundings.current_dir.clone(), Path::to_owned)
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::nowhere(format!("the configuration {} cannot be read: {error}", path.display()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that are found")]
mod tests {
    use std::fs;

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
        let surroundings = Surroundings { current_dir: root.join("project/a/b"), variables };
        Disk { folder, surroundings }
    }

    fn texts(found: Result<Vec<Source>, Problem>) -> Vec<String> {
        found.expect("readable files").into_iter().map(|source| source.text).collect()
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
    fn another_programs_file_comes_before_the_projects() {
        let disk = disk();
        let below = disk.folder.path().join("project/a/.opencode");
        fs::create_dir_all(&below).expect("a folder");
        fs::write(below.join("config.toml"), "others").expect("a file");
        let found = find(None, &disk.surroundings).expect("readable files");
        let shown: Vec<_> = found.iter().map(|source| (source.text.as_str(), source.is_others())).collect();
        assert_eq!(shown, [("user", false), ("others", true), ("project", false)]);
        // Its paths start where its project does.
        assert_eq!(folder_of(&found[1], &disk.surroundings), disk.folder.path().join("project/a"));
        assert_eq!(folder_of(&found[2], &disk.surroundings), disk.folder.path().join("project"));
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
}

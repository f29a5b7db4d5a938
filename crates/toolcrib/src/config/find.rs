//! Which files make up the configuration, and reading them. Nothing of their content is understood here.
#![expect(clippy::disallowed_methods, reason = "the configuration is a declared home of files")]

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::problem::{Problem, Source};
use super::surroundings::Surroundings;

/// The name of a configuration file, the project's and the user's.
pub(crate) const FILE: &str = "toolcrib.toml";

/// Names one file in place of the two that are looked for.
const VARIABLE: &str = "TOOLCRIB_CONFIG";

/// Written by people; more is the wrong file.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The files in effect, the user's before the project's, which is laid over it. A file that was asked for
/// by name stands alone and must exist; the others need not.
pub(crate) fn find(named: Option<&Path>, surroundings: &Surroundings) -> Result<Vec<Source>, Problem> {
    let from_environment = || surroundings.variable(VARIABLE).map(Path::new);
    if let Some(path) = named.or_else(from_environment) {
        let text = read(&surroundings.absolute(path)).map_err(|error| unreadable(path, &error))?;
        return Ok(vec![Source { path: path.to_owned(), text }]);
    }
    let user = surroundings.config_folder().map(|folder| folder.join(FILE));
    let above = surroundings.current_dir.ancestors().map(|folder| folder.join(FILE));
    let project = above.filter(|path| Some(path) != user.as_ref()).find(|path| path.is_file());
    let mut sources = Vec::new();
    for path in user.into_iter().chain(project) {
        match read(&path) {
            Ok(text) => sources.push(Source { path, text }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    Ok(sources)
}

/// Reads a text of bounded size.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(text)
}

/// The folder that relative paths of a file start at.
pub(super) fn folder_of(source: &Source, surroundings: &Surroundings) -> PathBuf {
    let path = surroundings.absolute(&source.path);
    path.parent().map_or_else(|| surroundings.current_dir.clone(), Path::to_owned)
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::nowhere(format!("the configuration {} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
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

//! A configuration as it would be: with one file's text changed, before it is written. And which files a server
//! stands in, since that is what has to be changed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::load::{Loaded, loaded};
use crate::problem::{Problems, Source};
use crate::reference::Unfollowed;
use crate::surroundings::{Flags, Surroundings};
use crate::{find, read};
use sandbox::text_file;

/// The table of servers.
const SERVERS: &str = "mcp";

/// Loads the configuration that would be in effect if the file at `path`, which need not exist, held `text`.
///
/// # Errors
/// Everything that would be wrong.
pub fn load_as_if(
    named: Option<&Path>,
    surroundings: &Surroundings,
    path: &Path,
    text: String,
) -> Result<Loaded, Problems> {
    let is_it = |source: &Source| surroundings.absolute(&source.path) == path;
    // A file that was named and does not exist yet stands alone all the same.
    let is_new = find::named(named, surroundings).is_some() && !text_file::exists(path);
    let found = if is_new { Ok(find::Found::default()) } else { find::find(named, surroundings) };
    let mut sources = found?.sources;
    match sources.iter_mut().find(|source| is_it(source)) {
        Some(source) => source.text = text,
        None => {
            let is_own = is_new || find::user(surroundings).is_some_and(|own| own == path);
            sources.push(Source { path: path.to_owned(), text, is_projects: !is_own });
        }
    }
    // Whoever writes a file agrees to what they write, and nothing else of it is started by trying.
    let flags = Flags { trust_folder: true, ..surroundings.flags.clone() };
    let surroundings = Surroundings { flags, ..surroundings.clone() };
    loaded(sources, &surroundings, Unfollowed::FailsItsServer)
}

/// The files in which the server of this name has a table, among those that are in effect, in the order in which
/// they are laid over each other. What is no TOML has no tables.
///
/// # Errors
/// If a file cannot be read.
pub fn files_of_server(
    named: Option<&Path>,
    surroundings: &Surroundings,
    name: &str,
) -> Result<Vec<PathBuf>, Problems> {
    let sources = find::find(named, surroundings)?;
    let files = sources.sources.iter().filter(|source| has_server(source, name));
    Ok(files.map(|source| surroundings.absolute(&source.path)).collect())
}

fn has_server(source: &Source, name: &str) -> bool {
    read::written(source).is_some_and(|tree| tree.at(&[SERVERS, name]).is_some())
}

/// What stands in a file of configuration; nothing if there is no such file.
///
/// # Errors
/// A sentence with the path.
pub fn text_of(path: &Path) -> Result<Option<String>, String> {
    match find::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

impl Loaded {
    /// The file that decides about the server of this name, as it was named: the last that has a table for it.
    pub fn file_of_server(&self, name: &str) -> Option<&Path> {
        let with_it = self.sources.iter().rev().find(|source| has_server(source, name));
        with_it.map(|source| source.path.as_path())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "files to be found")]

    use super::*;

    const USER: &str = "[mcp.a]\ncommand = \"a\"\n[mcp.b]\ncommand = \"b\"\n";
    const PROJECT: &str = "mcp.b.prefix = \"bb\"\n";

    /// A home and a project with a configuration each.
    fn disk() -> (tempfile::TempDir, Surroundings) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in [("home/.config/toolcrib", USER), ("project", PROJECT)] {
            std::fs::create_dir_all(folder.path().join(path)).expect("a folder");
            std::fs::write(folder.path().join(path).join(find::FILE), text).expect("a file");
        }
        let variables = [("HOME".into(), folder.path().join("home").into())].into();
        let surroundings =
            Surroundings { current_dir: folder.path().join("project"), variables, ..Surroundings::default() };
        (folder, surroundings)
    }

    #[test]
    fn a_server_is_found_where_it_stands() {
        let (folder, surroundings) = disk();
        let files = |name| {
            let files = files_of_server(None, &surroundings, name).expect("readable");
            let short =
                |file: &PathBuf| file.strip_prefix(folder.path()).expect("inside").display().to_string();
            files.iter().map(short).collect::<Vec<_>>()
        };
        assert_eq!(files("a"), ["home/.config/toolcrib/toolcrib.toml"]);
        assert_eq!(files("b"), ["home/.config/toolcrib/toolcrib.toml", "project/toolcrib.toml"]);
        assert_eq!(files("c"), [""; 0]);
    }

    #[test]
    fn the_folders_file_decides_where_both_have_a_table() {
        let (folder, surroundings) = disk();
        let loaded = crate::load(None, &surroundings, Unfollowed::IsWrong).expect("sound");
        let user = folder.path().join("home/.config/toolcrib/toolcrib.toml");
        let project = folder.path().join("project/toolcrib.toml");
        for (name, expected) in [("a", Some(user)), ("b", Some(project)), ("d", None)] {
            assert_eq!(loaded.file_of_server(name), expected.as_deref(), "{name}");
        }
    }

    #[test]
    fn a_configuration_can_be_tried_before_it_is_written() {
        let (folder, surroundings) = disk();
        let project = folder.path().join("project/toolcrib.toml");
        let names = |named: Option<&Path>, path: &Path, text: &str| {
            let loaded = load_as_if(named, &surroundings, path, text.to_owned());
            loaded.map(|loaded| {
                loaded.settings.upstreams.iter().map(|it| it.name().to_owned()).collect::<Vec<_>>().join(" ")
            })
        };
        let added = format!("{PROJECT}\n[mcp.c]\ncommand = \"c\"\n");
        assert_eq!(names(None, &project, &added).expect("sound"), "a b c");
        let new = folder.path().join("new.toml");
        assert_eq!(names(Some(&new), &new, "[mcp.d]\ncommand = \"d\"\n").expect("sound"), "d");
        let wrong = names(None, &project, "[mcp.c]\n").expect_err("no program").to_string();
        assert!(wrong.contains("toolcrib.toml:1:1: mcp.c: needs `command`"), "{wrong}");
    }
}

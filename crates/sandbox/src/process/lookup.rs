//! Finding the executable before anything is started, so that a missing program is an error of the
//! start and says what to do.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::environment::Variables;
use super::program::Program;

/// Where programs are looked for when no PATH is set.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No such program.
    #[error("the program `{0}` was not found; install it, or give its full path or a PATH that holds it")]
    NotFound(String),
    /// Something is there, but it may not be run.
    #[error("`{0}` is there but may not be run; it must be a file with permission to execute")]
    NotExecutable(String),
    /// The working folder is not a folder.
    #[error("the working folder {} does not exist or is not a folder", .0.display())]
    Cwd(PathBuf),
    /// The folder of its own cannot be made.
    #[error("the folder {folder} that the program is to start in cannot be made: {source}; give it a `cwd`", folder = .folder.display())]
    OwnFolder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The operating system could not start another process.
    #[error("the program could not be started")]
    Io(#[source] io::Error),
}

/// The path of the program's executable, as seen from its working folder.
pub(crate) fn find(program: &Program, environment: &Variables) -> Result<PathBuf, StartError> {
    if let Some(cwd) = program.folder().filter(|cwd| !cwd.is_dir()) {
        return Err(StartError::Cwd(cwd.to_owned()));
    }
    let here = program.folder().unwrap_or(Path::new("."));
    // Absolute, since the search starts from our folder and the run from the program's.
    let here = std::path::absolute(here).map_err(StartError::Io)?;
    let candidates = candidates(&program.command, environment, &here);
    if let Some(found) = candidates.iter().find(|path| is_executable(path)) {
        return Ok(found.clone());
    }
    let command = program.command.clone();
    match candidates.iter().any(|path| path.exists()) && !command.is_empty() {
        true => Err(StartError::NotExecutable(command)),
        false => Err(StartError::NotFound(command)),
    }
}

fn candidates(command: &str, environment: &Variables, here: &Path) -> Vec<PathBuf> {
    if command.is_empty() {
        return Vec::new();
    }
    if command.contains('/') {
        return vec![here.join(command)];
    }
    let path = environment.get(OsStr::new("PATH")).cloned().unwrap_or(OsString::from(PATH_DEFAULT));
    // An empty entry means the working folder, and `join` gives just that.
    std::env::split_paths(&path).map(|folder| here.join(folder).join(command)).collect()
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// `bin/tool` may be run, `bin/data` and the folder `bin/folder` may not.
    fn machine() -> tempfile::TempDir {
        let machine = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(machine.path().join("bin")).expect("bin");
        std::fs::create_dir(machine.path().join("bin/folder")).expect("folder");
        for (name, mode) in [("tool", 0o755), ("data", 0o644)] {
            let file = tempfile::NamedTempFile::new_in(machine.path()).expect("file");
            let path = file.into_temp_path();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("mode");
            path.persist(machine.path().join("bin").join(name)).expect("rename");
        }
        machine
    }

    fn check(command: &str, path: &str, expected: &str) {
        let machine = machine();
        let at = |text: &str| text.replace("ROOT", machine.path().to_str().expect("UTF-8"));
        let program =
            Program { command: at(command), cwd: Some(machine.path().to_owned()), ..Program::default() };
        let environment = [("PATH".into(), at(path).into())].into();
        let found = match find(&program, &environment) {
            Ok(path) => format!("{}", path.strip_prefix(machine.path()).expect("inside").display()),
            Err(error) => error.to_string().split(';').next().expect("a sentence").to_owned(),
        };
        assert_eq!(found, expected, "{command} in {path}");
    }

    #[test]
    fn finds_what_a_shell_would() {
        for (command, path) in [
            ("tool", "ROOT/bin"),
            ("tool", "/nowhere:ROOT/bin"),
            ("tool", "bin"),
            ("bin/tool", ""),
            ("./bin/tool", "/nowhere"),
            ("ROOT/bin/tool", ""),
        ] {
            check(command, path, "bin/tool");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        check("tool", "/nowhere", "the program `tool` was not found");
        check("bin/none", "", "the program `bin/none` was not found");
        check("", "ROOT/bin", "the program `` was not found");
        check("data", "bin", "`data` is there but may not be run");
        check("folder", "bin", "`folder` is there but may not be run");
    }
}

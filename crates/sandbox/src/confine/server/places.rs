//! Where a program's parts are: its file, what interprets it, and the libraries beside them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::confine::wide::not_shown;

/// An interpreter may itself be a script.
const INTERPRETERS_MAX: usize = 4;

/// What the kernel reads of a script's first line.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// What says that a folder holds Python programs with what they import.
const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";

/// The folder of installed JavaScript.
const PACKAGES: &str = "node_modules";

/// A folder with one of these beside its `bin` is an installation.
const LIBRARIES: [&str; 4] = ["lib", "lib64", "libexec", "share"];

/// Personal folders of programs, in whose neighbours lies what is nobody's business.
const PERSONAL: [&str; 2] = [".local", ""];

/// All that `executable`, an absolute path, needs. Programs are looked up in `path`.
pub(super) fn of(executable: &Path, path: &OsStr, home: Option<&Path>) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut next = Some(executable.to_owned());
    for _ in 0..INTERPRETERS_MAX {
        let Some(program) = next.take().filter(|program| program.exists()) else { break };
        places.push(program.clone());
        // As it is named, and where links lead: either may have its parts beside it.
        let named =
            program.parent().and_then(|folder| Some(folder.canonicalize().ok()?.join(program.file_name()?)));
        for file in named.into_iter().chain(program.canonicalize().ok()) {
            places.extend(parts(&file, home));
        }
        next = interpreter(&program, path);
    }
    places
}

/// The folders of what lies beside a program or script, whose path has no link but perhaps the last.
pub(super) fn parts(file: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut parts = Vec::new();
    parts.extend(packages(file));
    for above in file.ancestors().skip(1) {
        let environment = above.join(PYTHON_ENVIRONMENT);
        if let Ok(text) = fs::read_to_string(environment) {
            parts.extend(base(&text));
            parts.push(above.to_owned());
            break;
        }
    }
    let Some(folder) = file.parent() else { return parts };
    let is_bin = folder.file_name() == Some(OsStr::new("bin"));
    let installation = folder.parent().filter(|above| {
        let is_personal = home.is_some_and(|home| PERSONAL.iter().any(|name| **above == home.join(name)));
        is_bin && !is_personal && LIBRARIES.iter().any(|name| above.join(name).is_dir())
    });
    let own = installation.or(Some(folder)).filter(|folder| {
        let is_personal_bin =
            home.is_some_and(|home| PERSONAL.iter().any(|name| **folder == home.join(name).join("bin")));
        !is_personal_bin && not_shown(folder, home).is_none()
    });
    parts.extend(own.map(Path::to_owned));
    parts.retain(|part| not_shown(part, home).is_none());
    parts
}

/// The packages among which `path` lies: they load their neighbours.
pub(super) fn packages(path: &Path) -> Option<PathBuf> {
    let packages = path.ancestors().filter(|above| above.file_name() == Some(OsStr::new(PACKAGES)));
    packages.last().map(Path::to_owned)
}

/// Where the interpreter of a Python environment is installed: `home = /usr/bin` in its file.
fn base(text: &str) -> Option<PathBuf> {
    let home = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "home").then(|| PathBuf::from(value.trim()))
    });
    home?.parent().map(Path::to_owned).filter(|base| base.is_absolute() && base.parent().is_some())
}

/// What runs a script: `#!/usr/bin/env -S node --flag`.
fn interpreter(script: &Path, path: &OsStr) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(script).ok()?.take(FIRST_LINE_BYTES_MAX).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let interpreter = PathBuf::from(words.next()?);
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(interpreter);
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|found| found.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A home folder with programs as they are commonly installed.
    fn machine() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("there").join("me");
        for file in [
            "node/bin/node",
            "node/lib/x",
            ".local/bin/tool",
            ".local/share/keys",
            "venv/bin/run",
            "venv/lib/x",
            "app/node_modules/it/cli.js",
            "built/server",
            "bin/own",
        ] {
            let path = home.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        fs::write(home.join("venv/pyvenv.cfg"), "home = /base/python/bin\nversion = 3\n").expect("a file");
        fs::write(home.join("app/node_modules/it/cli.js"), "#!/usr/bin/env node\n").expect("a file");
        fs::create_dir(home.join("app/node_modules/.bin")).expect("a folder");
        symlink("../it/cli.js", home.join("app/node_modules/.bin/it")).expect("a link");
        (folder, home)
    }

    #[track_caller]
    fn check(executable: &str, expected: &[&str]) {
        let (_folder, home) = machine();
        let places = of(&home.join(executable), home.join("node/bin").as_os_str(), Some(&home));
        let mut places: Vec<_> = places
            .iter()
            .map(|place| place.strip_prefix(&home).unwrap_or(place).to_str().expect("UTF-8").to_owned())
            .collect();
        places.sort();
        places.dedup();
        assert_eq!(places, expected, "{executable}");
    }

    #[test]
    fn a_program_comes_with_its_parts_and_nothing_of_the_persons() {
        check("node/bin/node", &["node", "node/bin/node"]);
        check(".local/bin/tool", &[".local/bin/tool"]);
        check("bin/own", &["bin/own"]);
        check("built/server", &["built", "built/server"]);
        check("venv/bin/run", &["/base/python", "venv", "venv/bin/run"]);
        check(
            "app/node_modules/.bin/it",
            &[
                "app/node_modules",
                "app/node_modules/.bin",
                "app/node_modules/.bin/it",
                "app/node_modules/it",
                "node",
                "node/bin/node",
            ],
        );
    }
}

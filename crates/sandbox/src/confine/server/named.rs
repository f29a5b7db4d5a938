//! What a server's command line and variables name. Nothing is run to find out, so a word is believed to be a path wherever
//! something is there.

use std::path::{Path, PathBuf};

use super::places;
use super::seen::Seen;
use crate::confine::wide::not_shown;
use crate::files::is_code;
use crate::process::Program;

/// What stands between a path and what else is in a word: `--db=/a`, `/a:/b`, `a,b`, `sqlite:///a`.
const SEPARATORS: [char; 4] = ['=', ':', ',', ';'];

/// What lies in the folder of a package, and says that all in it belongs together.
const PACKAGE_FILES: [&str; 7] =
    ["package.json", "pyproject.toml", "setup.py", "requirements.txt", "deno.json", "go.mod", "Cargo.toml"];

/// So far above a script its package may begin.
const PACKAGE_DEPTH_MAX: usize = 6;

pub(super) fn look(program: &Program, seen: &mut Seen<'_>) {
    if let Some(cwd) = &program.cwd {
        seen.add(cwd);
    }
    for word in program.args.iter().chain(program.env.iter().map(|(_, value)| value)) {
        // What lies in a folder of its own it has anyway.
        word_of(word, program.cwd.as_deref(), seen);
    }
    for value in program.inherited.iter().filter(|(name, _)| *name != "PATH" && *name != "SHELL") {
        let path = Path::new(value.1);
        // Such as a file of certificates. A folder would be the person's.
        if path.is_absolute() && path.is_file() {
            seen.add(path);
        }
    }
}

fn word_of(word: &str, folder: Option<&Path>, seen: &mut Seen<'_>) {
    let parts = word.split(SEPARATORS);
    for part in std::iter::once(word).chain(parts).filter(|part| !part.is_empty() && !part.starts_with('-')) {
        // Behind `sqlite:` there are up to four slashes.
        let part = part
            .strip_prefix("//")
            .map_or(part, |rest| &part[part.len() - rest.trim_start_matches('/').len() - 1..]);
        let path = match (Path::new(part), folder) {
            (path, _) if path.is_absolute() => path.to_owned(),
            (path, Some(folder)) => folder.join(path),
            (_, None) => continue,
        };
        if path.is_dir() {
            seen.add(&path);
            places::packages(&path).iter().for_each(|packages| seen.add(packages));
        } else if path.exists() {
            file(&path, seen);
        } else if Path::new(part).is_absolute()
            && path.parent().is_some_and(|above| above.parent().is_some() && above.is_dir())
        {
            seen.add_absent(&path);
        }
    }
}

/// A file, and if it is code what it loads.
fn file(path: &Path, seen: &mut Seen<'_>) {
    seen.add(path);
    if !is_code(path) {
        return;
    }
    let real = path.canonicalize().ok();
    for script in std::iter::once(path).chain(real.as_deref()) {
        let parts = places::parts(script, seen.home.as_deref());
        let package = package(script, seen.home.as_deref());
        parts.into_iter().chain(package).for_each(|part| seen.add(&part));
    }
}

/// The folder of the package that a script is part of.
fn package(script: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let above = script.ancestors().skip(1).take(PACKAGE_DEPTH_MAX);
    let mut above = above.take_while(|folder| not_shown(folder, home).is_none());
    above.find(|folder| PACKAGE_FILES.iter().any(|file| folder.join(file).is_file())).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::may::ServerMay;
    use super::*;

    /// What is read and, in brackets, written of what these words name.
    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there").join("me");
        for file in
            ["app/package.json", "app/build/index.js", "docs/a.txt", "work/b.txt", "lone/x.py", "ca.pem"]
        {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, "").expect("a file");
        }
        let at = |word: &&str| word.replace("~", root.to_str().expect("UTF-8"));
        let program = Program { args: words.iter().map(at).collect(), ..Program::default() };
        let may = ServerMay { workspaces: vec![root.join("work")], ..ServerMay::nothing() };
        let mut seen = Seen::new(Some(root.clone()), &may);
        look(&program, &mut seen);
        let name =
            |path: &PathBuf| path.strip_prefix(&root).map(|path| path.display().to_string()).expect("below");
        let mut all: Vec<_> = seen.read.iter().map(name).collect();
        all.extend(seen.write.iter().map(|path| format!("[{}]", name(path))));
        all.extend(seen.left_out.iter().map(|left| format!("!{}", name(&left.path))));
        all.sort();
        all.dedup();
        assert_eq!(all, expected, "{words:?}");
    }

    #[test]
    fn what_is_named_is_seen_and_written_in_the_workspace() {
        check(&["-y", "name", "~/docs"], &["docs"]);
        check(&["--root=~/docs:~/work"], &["[work]", "docs"]);
        check(&["~/work/b.txt"], &["[work/b.txt]"]);
        check(&["sqlite:///~/docs/a.txt"], &["docs/a.txt"]);
        check(&["~/app/build/index.js"], &["app", "app/build", "app/build/index.js"]);
        check(&["~/lone/x.py"], &["lone", "lone/x.py"]);
        check(&["~/work/new.db"], &["[work]"]);
        check(&["~/docs/new.db"], &["!docs/new.db"]);
        check(&["~/none/x", "https://host/x", "x"], &[]);
        check(&["~"], &["!"]);
    }
}

//! The files that a server is made of, as far as its table tells: its program, its scripts, and where those find the code
//! that they load. Nothing is run to find out, so a word is believed to be a path wherever it may be one.
#![expect(clippy::disallowed_methods, reason = "a server's files lie anywhere; none is opened here")]

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sandbox::{Program, ServerFiles, is_code};
use sha2::{Digest, Sha256};

use super::checked::Settings;
use super::endpoint::Endpoint;
use crate::naming;

/// Keeps folders apart whose servers' names differ only in what no file's name may hold.
const NAME_HASH_CHARS: usize = 16;

/// Programs that run code which they find in the folder they start in or are given, by the beginning of their names:
/// what follows may be a version (`python3.12`).
const RUN_CODE: &str = "\
    python pypy ipython pythonw uv poetry pdm hatch rye pipenv pixi conda fastmcp uvicorn gunicorn hypercorn \
    node nodejs npm pnpm yarn bun deno tsx ts-node nodemon electron ruby bundle rake perl lua luajit php composer \
    java kotlin gradle gradlew mvn mvnw dotnet go cargo mix elixir julia rscript \
    make sh bash zsh dash ksh fish mise direnv nix";

/// What stands between such a program and what it runs.
const SUBCOMMANDS: [&str; 8] = ["run", "exec", "start", "tool", "task", "dlx", "x", "shell"];

/// Options of theirs that name the folder they go to first.
const FOLDER_OPTIONS: [&str; 8] =
    ["-C", "--cwd", "--dir", "--directory", "--prefix", "--project", "--chdir", "--manifest-path"];

/// Variables that name folders of code.
const CODE_VARIABLES: &str =
    "PYTHONPATH PYTHONHOME NODE_PATH RUBYLIB PERL5LIB LUA_PATH LUA_CPATH CLASSPATH GEM_PATH";

/// Variables that name folders of programs and libraries, of which all counts.
const PROGRAM_VARIABLES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// What parts a word into what may be paths: `--import=./hooks.mjs`, `sh -c 'python3 server.py'`.
const SEPARATORS: [char; 9] = [' ', '\t', '\n', '=', ',', ':', ';', '\'', '"'];

impl Settings {
    /// The same, with a program that starts in `folder` unless its table has a `cwd`.
    #[must_use]
    pub fn starting_in(mut self, folder: PathBuf) -> Settings {
        if let Endpoint::Program(program) = &mut self.endpoint {
            program.own_folder = Some(folder);
        }
        self
    }

    /// A name for the folder of its own: the table's name, or what is legal of it and a hash, so that no two share one and
    /// none leads elsewhere.
    pub fn folder_name(&self) -> String {
        let plain = naming::sanitised(&self.name);
        if *plain == *self.name {
            return plain;
        }
        let hash = HEXLOWER.encode(&Sha256::digest(self.name.as_bytes()));
        format!("{plain}-{}", &hash[..NAME_HASH_CHARS])
    }

    /// What tools must leave alone, so that nobody but a person decides what this server runs.
    pub fn server_files(&self) -> ServerFiles {
        match &self.endpoint {
            Endpoint::Program(program) => Finding::new(program).found(),
            Endpoint::Socket(_) | Endpoint::Address { .. } => ServerFiles::default(),
        }
    }

    /// The files that its command line names and that are there. A word that no `cwd` gives a place names none: it would
    /// lie in the folder that is the server's own.
    pub(crate) fn named_files(&self) -> Vec<PathBuf> {
        let Endpoint::Program(program) = &self.endpoint else { return Vec::new() };
        let written = self.workspace.written().unwrap_or(program);
        let is_in_workspace = written.cwd != program.cwd;
        let pairs = program.args.iter().zip(&written.args);
        let pairs = std::iter::once((&program.command, &written.command)).chain(pairs);
        let mut files = Vec::new();
        for (word, written) in pairs {
            let is_moved = word != written;
            // As in `--import=./hooks.mjs`.
            for word in [Some(&**word), word.split_once('=').map(|(_, value)| value)].into_iter().flatten() {
                let path = match &program.cwd {
                    Some(cwd) => cwd.join(word),
                    None if Path::new(word).is_absolute() => PathBuf::from(word),
                    None => continue,
                };
                // Of a workspace's files only code makes it another program: others are its data.
                let is_workspaces = is_moved || is_in_workspace && Path::new(word).is_relative();
                if path.is_file() && (!is_workspaces || is_code(&path)) {
                    files.push(path);
                }
            }
        }
        files
    }

    /// The words of the command line that name something in `folder`, and nothing where the server starts: a relative path
    /// that was meant from elsewhere. Nothing with a `cwd`.
    pub fn misplaced_words(&self, folder: &Path) -> Vec<&str> {
        let Endpoint::Program(program) = &self.endpoint else { return Vec::new() };
        if program.cwd.is_some() {
            return Vec::new();
        }
        let is_here = |word: &str| {
            // These are everywhere, and mean something else there.
            let is_of_folder = matches!(word.trim_end_matches('/'), "." | "..");
            !is_of_folder && program.own_folder.as_ref().is_some_and(|own| own.join(word).exists())
        };
        relative_words(&program.command, &program.args)
            .filter(|word| folder.join(word).exists() && !is_here(word))
            .collect()
    }
}

/// The words of a command line, or their ends behind a `=`, that could be paths which start at a working folder.
pub fn relative_words<'a>(command: &'a str, args: &'a [String]) -> impl Iterator<Item = &'a str> {
    // A plain name is looked up in PATH.
    let command = Some(command).filter(|command| command.contains('/'));
    let ends = args.iter().map(|word| match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => word,
    });
    let words = command.into_iter().chain(ends);
    words.filter(|word| !word.is_empty() && !word.starts_with(['-', '/', '~']) && !word.contains(['$', '{']))
}

/// Finds a program's files.
struct Finding<'a> {
    program: &'a Program,
    folder: &'a Path,
    found: ServerFiles,
}

impl<'a> Finding<'a> {
    fn new(program: &'a Program) -> Finding<'a> {
        // Without one nothing is known of relative words.
        let folder = program.folder().unwrap_or(Path::new("/"));
        Finding { program, folder, found: ServerFiles::default() }
    }

    fn found(mut self) -> ServerFiles {
        let program = self.program;
        let words: Vec<&str> =
            std::iter::once(&program.command).chain(&program.args).map(String::as_str).collect();
        let values = program.env.iter().map(|(_, value)| value.as_str());
        for word in words.iter().copied().chain(values) {
            self.word(word);
        }
        if program.command.contains('/') {
            self.script(&self.at(&program.command));
        }
        let parts = words.iter().flat_map(|word| word.split_whitespace());
        let parts: Vec<&str> = parts.map(|part| part.trim_matches(['\'', '"'])).collect();
        for (nth, _) in parts.iter().enumerate().filter(|(_, part)| runs_code(part)) {
            self.add_code(self.folder.to_owned());
            self.operand(&parts[nth + 1..]);
        }
        for (name, value) in &program.env {
            self.variable(name, value);
        }
        self.found.starts.push(self.folder.to_owned());
        self.found
    }

    /// A word that may name a script, or have one in it.
    fn word(&mut self, word: &str) {
        let parts = std::iter::once(word).chain(word.split(SEPARATORS));
        for part in parts.filter(|part| !part.is_empty() && !part.starts_with('-')) {
            let path = self.at(part);
            if is_code(&path) && !path.is_dir() {
                self.script(&path);
            } else if path.is_file() {
                self.found.named.push(path);
            }
        }
    }

    /// What is run by a program that runs code: the first word that is no option, or the folder that it goes to.
    fn operand(&mut self, words: &[&str]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (option, value) =
                word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
            if FOLDER_OPTIONS.contains(&option) {
                let Some(folder) = value.or_else(|| words.next().copied()) else { return };
                self.add_start(self.at(folder));
            } else if !word.starts_with('-') && !SUBCOMMANDS.contains(word) {
                let path = self.at(word);
                match path.is_dir() {
                    true => self.add_start(path),
                    false if word.contains('/') || path.is_file() => self.script(&path),
                    false => {}
                }
                return;
            }
        }
    }

    fn variable(&mut self, name: &str, value: &str) {
        let folders =
            || value.split([':', ';']).filter(|folder| !folder.is_empty()).map(|folder| self.at(folder));
        if CODE_VARIABLES.split(' ').any(|variable| variable == name) {
            folders().collect::<Vec<_>>().into_iter().for_each(|folder| self.add_code(folder));
        } else if PROGRAM_VARIABLES.contains(&name) {
            let folders: Vec<_> = folders().collect();
            self.found.named.extend(folders);
        }
    }

    /// A script, which loads what lies beside it: beside its name, and beside the file that a link of that name leads to.
    fn script(&mut self, path: &Path) {
        let real = path.canonicalize().ok();
        for path in std::iter::once(path).chain(real.as_deref()) {
            self.found.named.push(path.to_owned());
            path.parent().into_iter().for_each(|folder| self.add_code(folder.to_owned()));
        }
    }

    fn add_code(&mut self, folder: PathBuf) {
        if !self.found.code.contains(&folder) {
            self.found.code.push(folder);
        }
    }

    /// A folder that is gone to before code is run.
    fn add_start(&mut self, folder: PathBuf) {
        self.add_code(folder.clone());
        self.found.starts.push(folder);
    }

    fn at(&self, word: &str) -> PathBuf {
        // Without `.` in it, and without a slash behind it.
        self.folder.join(word).components().collect()
    }
}

/// True for the name of a program that runs code which it finds by itself.
fn runs_code(word: &str) -> bool {
    let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    RUN_CODE.split(' ').any(|program| program == plain)
}

#[cfg(test)]
mod tests;

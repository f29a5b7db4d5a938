//! What the programs that we start load of the files around them. A tool that may write these runs code as the person at
//! the next start.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::path_names::{RealPaths, are_alike, lies_in};

/// The files and folders that the command line of one program, or of several, leads to. Absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFiles {
    /// What a command line names, whether it exists or not: a file, or a folder with all that is below it.
    pub named: Vec<PathBuf>,
    /// Folders that code is loaded from: those of scripts and modules. Only what lies in the workspace counts, and only
    /// what looks like code.
    pub code: Vec<PathBuf>,
    /// Folders that programs start in. What launchers read there, and in every folder above up to the workspace's.
    pub starts: Vec<PathBuf>,
}

/// What interpreters load by its suffix, from beside a script or from the folder of a module.
const CODE: [&str; 48] = [
    "py", "pyc", "pyd", "pyi", "pyw", "pyx", "pyz", "pth", "egg", "whl", "js", "mjs", "cjs", "jsx", "ts",
    "mts", "cts", "tsx", "json", "jsonc", "json5", "node", "wasm", "rb", "pl", "pm", "lua", "php", "phar",
    "sh", "bash", "zsh", "fish", "ps1", "so", "dll", "dylib", "jar", "class", "java", "kt", "go", "rs", "cs",
    "ex", "exs", "jl", "r",
];

/// What launchers, package managers and interpreters read in the folder they start in and in those above it.
const LAUNCHERS: &str = ".npmrc .pnpmrc .pnpmfile.cjs pnpm-workspace.yaml pnpm-lock.yaml .yarn .pnp.cjs .pnp.loader.mjs \
                         yarn.lock bunfig.toml bun.lock bun.lockb node_modules package.json package-lock.json \
                         npm-shrinkwrap.json deno.json deno.jsonc tsconfig.json pyproject.toml uv.toml uv.lock \
                         .python-version .python-versions pyvenv.cfg .venv venv setup.py setup.cfg sitecustomize.py \
                         usercustomize.py .nvmrc .node-version .tool-versions mise.toml .mise.toml Gemfile .bundle Cargo.toml \
                         .cargo Makefile justfile";

/// What such names begin with: `.yarnrc.yml`, `.env.local`.
const LAUNCHERS_BEGIN: [&str; 2] = [".yarnrc", ".env"];

/// What such names end with: files of paths that Python reads at its start.
const LAUNCHERS_END: &str = ".pth";

impl ServerFiles {
    /// The same as paths without links, as far as they exist.
    pub(super) fn real(&self, real: &mut RealPaths) -> ServerFiles {
        ServerFiles {
            named: real.of_all(&self.named),
            code: real.of_all(&self.code),
            starts: real.of_all(&self.starts),
        }
    }

    /// Adds another program's.
    pub fn extend(&mut self, other: ServerFiles) {
        self.named.extend(other.named);
        self.code.extend(other.code);
        self.starts.extend(other.starts);
    }

    /// Whether something of this name may be claimed that no command line names.
    pub(super) fn may_claim(&self, name: &OsStr) -> bool {
        (!self.code.is_empty() && is_code(Path::new(name))) || (!self.starts.is_empty() && is_launcher(name))
    }

    /// What a program that we start has to do with `real`, a path without links below `root`, completing "it …"; nothing
    /// if it is free. Names are compared without regard to case, since some file systems do.
    pub(super) fn claim(&self, root: &Path, real: &Path) -> Option<&'static str> {
        if self.named.iter().any(|named| lies_in(real, named)) {
            return Some("is named in the command line of a server");
        }
        let is_beside = |folder: &PathBuf| lies_in(folder, root) && lies_in(real, folder);
        if is_code(real) && self.code.iter().any(is_beside) {
            return Some("lies where a server loads its code from");
        }
        let is_read = |folder: &PathBuf| lies_in(folder, root) && is_launchers(root, real, folder);
        self.starts.iter().any(is_read).then_some("is read by what starts a server there")
    }
}

/// True for the name of a file that an interpreter takes for code.
pub fn is_code(path: &Path) -> bool {
    let suffix = path.extension().and_then(OsStr::to_str);
    suffix.is_some_and(|suffix| CODE.iter().any(|code| suffix.eq_ignore_ascii_case(code)))
}

/// Whether `real` is, or lies in, something that launchers read which start in `folder`.
fn is_launchers(root: &Path, real: &Path, folder: &Path) -> bool {
    let above = root.components().count();
    let starts: Vec<_> = folder.components().collect();
    let names: Vec<_> = real.components().collect();
    // How many names `real` and `folder` share: so far up and no further a name counts.
    let shared = names.iter().zip(&starts).take_while(|(one, other)| are_alike(**one, **other)).count();
    (above..=shared).any(|nth| names.get(nth).is_some_and(|name| is_launcher(name.as_os_str())))
}

fn is_launcher(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    LAUNCHERS.split_ascii_whitespace().any(|launcher| name.eq_ignore_ascii_case(launcher))
        || LAUNCHERS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || name.ends_with(LAUNCHERS_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of files below `/w`, by the last word of the claim.
    #[track_caller]
    fn check(files: &ServerFiles, cases: &[(&str, &str)]) {
        for (below, expected) in cases {
            let claim = files.claim(Path::new("/w"), &Path::new("/w").join(below));
            let word = claim.map_or("", |claim| claim.split(' ').nth(1).expect("a second word"));
            assert_eq!(word, *expected, "{below}");
        }
    }

    #[test]
    fn what_lies_beside_a_script_is_its_code() {
        let named = vec!["/w/tools/server.py".into()];
        let files = ServerFiles { named, code: vec!["/w/tools".into()], ..ServerFiles::default() };
        check(
            &files,
            &[
                ("tools/server.py", "named"),
                ("Tools/Server.PY", "named"),
                ("tools/server.py/x", "named"),
                ("tools/json.py", "where"),
                ("tools/JSON.Py", "where"),
                ("tools/json/__init__.py", "where"),
                ("tools/x.mjs", "where"),
                ("tools/deep/er/x.so", "where"),
                ("tools/a.pth", "where"),
                ("tools/README.md", ""),
                ("tools/data.txt", ""),
                ("toolsy/json.py", ""),
                ("json.py", ""),
                (".npmrc", ""),
            ],
        );
        let elsewhere = ServerFiles { code: vec!["/".into(), "/opt".into()], ..ServerFiles::default() };
        check(&elsewhere, &[("json.py", ""), ("opt/json.py", "")]);
    }

    #[test]
    fn what_launchers_read_is_kept_up_to_the_workspace() {
        let files = ServerFiles { starts: vec!["/w/a/b".into()], ..ServerFiles::default() };
        let mut cases: Vec<(String, &str)> = Vec::new();
        let others =
            [".yarnrc", ".yarnrc.yml", ".env", ".env.local", "x.pth", ".NPMRC", "Node_Modules/x/index.js"];
        for name in LAUNCHERS.split_ascii_whitespace().chain(others) {
            for (folder, expected) in
                [("", "read"), ("a/", "read"), ("A/b/", "read"), ("a/b/c/", ""), ("c/", "")]
            {
                cases.push((format!("{folder}{name}"), expected));
            }
        }
        let cases: Vec<_> = cases.iter().map(|(below, expected)| (below.as_str(), *expected)).collect();
        check(&files, &cases);
        check(
            &files,
            &[("a/b/main.py", ""), ("a/b/README.md", ""), ("a/b/npmrc", ""), ("a", ""), ("a/b", "")],
        );
    }

    #[test]
    fn a_server_that_starts_elsewhere_keeps_nothing() {
        for starts in ["/elsewhere", "/", "/wx"] {
            let files = ServerFiles { starts: vec![starts.into()], ..ServerFiles::default() };
            check(&files, &[(".npmrc", ""), ("package.json", ""), ("node_modules/x.js", "")]);
        }
        check(
            &ServerFiles { starts: vec!["/w".into()], ..ServerFiles::default() },
            &[("package.json", "read")],
        );
    }
}

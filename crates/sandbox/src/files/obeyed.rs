//! Files that others obey: what agents, editors, shells, `git`, package managers and build services read and act on
//! without asking. Tools read them freely; a person must agree before one is written. This is the one list of them.
//!
//! Ordinary sources, `Makefile` and `package.json` are not in it: they are the work itself.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::path_names::are_alike;

/// Names that others obey, wherever below the workspace they are, behind who obeys them, completing "which …": files
/// (`.mcp.json`), folders with all that is below them (`.vscode/`), and ends of files' names (`*.code-workspace`). Case does
/// not tell names apart.
const OBEYED: [(&str, &str); 10] = [
    (
        "agents obey",
        "AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CRUSH.md WARP.md \
         .cursorrules .windsurfrules .clinerules/ .roorules .rules .goosehints .augment-guidelines \
         .github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/chatmodes/ \
         .github/agents/",
    ),
    (
        "agents and editors obey: it can name what they start",
        ".mcp.json .claude/ .claude.json .codex/ .gemini/ .cursor/ .windsurf/ .codeium/ .continue/ \
         .continuerc.json .cline/ .roo/ .roomodes .kilocode/ .kiro/ .qwen/ .amazonq/ .augment/ .junie/ .trae/ \
         .factory/ .goose/ .openhands/ .agents/ .agent/ .copilot/ .aider.conf.yml .crush.json crush.json \
         opencode.json opencode.jsonc .config/opencode/ .config/toolcrib/",
    ),
    (
        "editors obey: it can name what they run",
        ".vscode/ *.code-workspace .vs/ .idea/ .run/ .fleet/ .zed/ .nova/ .devcontainer/ .devcontainer.json \
         .gitpod.yml .vimrc .vim/ .exrc .nvimrc .nvim.lua .config/nvim/ .emacs .emacs.d/ .dir-locals.el",
    ),
    (
        "git obeys: it can name what git fetches or runs",
        ".gitmodules .gitattributes .gitconfig .config/git/ .githooks/ .husky/ .pre-commit-config.yaml \
         .pre-commit-hooks.yaml lefthook.yml .lefthook.yml lefthook-local.yml .overcommit.yml",
    ),
    (
        "build services obey: they run what it says",
        ".github/workflows/ .github/actions/ .gitlab-ci.yml .forgejo/ .gitea/ .circleci/ .buildkite/ \
         .woodpecker/ .woodpecker.yml .drone.yml .travis.yml .cirrus.yml .appveyor.yml appveyor.yml \
         azure-pipelines.yml bitbucket-pipelines.yml Jenkinsfile",
    ),
    (
        "package managers and build tools obey: it can name what they run",
        ".npmrc .pnpmrc .pnpmfile.cjs .yarnrc .yarnrc.yml .yarn/ .pnp.cjs .pnp.loader.mjs bunfig.toml .pypirc \
         pip.conf .pip/ .config/pip/ .config/uv/ .condarc .cargo/ .bundle/ .gemrc .gradle/ .m2/ .mvn/ \
         .bazelrc",
    ),
    (
        "shells obey: they run it when they start or enter its folder",
        ".envrc .direnvrc .config/direnv/ .mise.toml mise.toml .config/mise/ .bashrc .bash_profile \
         .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc \
         .cshrc .tcshrc .login .inputrc .config/fish/",
    ),
    (
        "the system obeys: it can name what is started",
        ".config/autostart/ .config/systemd/ .config/environment.d/ .local/share/applications/ \
         .local/share/systemd/ .local/bin/ .pam_environment .xinitrc .xprofile .xsession .xsessionrc",
    ),
    (
        "the program that it configures obeys: it can name what that runs",
        ".tmux.conf .screenrc .gdbinit .lldbinit .sqliterc .psqlrc .irbrc .pryrc .Rprofile .terraformrc \
         .docker/",
    ),
    ("decides who may sign in, and as whom", ".ssh/ .gnupg/ .netrc .aws/ .kube/ .azure/ .config/gcloud/"),
];

/// Every name with who obeys it.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    OBEYED.iter().flat_map(|(why, names)| names.split_ascii_whitespace().map(move |name| (name, *why)))
}

/// The last part of every name, in lower case, but for ends of names.
static LAST_PARTS: LazyLock<HashSet<OsString>> = LazyLock::new(|| {
    let whole = names().filter(|(name, _)| !name.starts_with('*'));
    whole.filter_map(|(name, _)| Path::new(name).file_name().map(OsStr::to_ascii_lowercase)).collect()
});

/// The ends of names among them.
static ENDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| names().filter_map(|(name, _)| name.strip_prefix('*')).collect());

/// Whether something of this name, in lower case, may be obeyed where it lies.
pub(super) fn may_be_obeyed(lower: &OsStr) -> bool {
    LAST_PARTS.contains(lower) || ENDS.iter().any(|end| ends_with(lower, end))
}

/// A file that others obey, where a write would really reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObeyedFile {
    /// Where it is below the workspace, without links.
    pub path: PathBuf,
    /// The name in the list.
    pub name: &'static str,
    /// Who obeys it, completing "which …".
    pub why: &'static str,
}

/// "`.mcp.json`, which agents obey", as the end of a sentence.
impl fmt::Display for ObeyedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.path.to_string_lossy();
        // A name is chosen by whoever calls; it must not look like another, or like more than a name.
        let visible = |c| if crate::is_hidden(c) { char::REPLACEMENT_CHARACTER } else { c };
        let shown: String = shown.chars().map(visible).collect();
        write!(f, "{shown}, which {}", self.why)
    }
}

/// Which of the files that others obey are written without asking: globs below the workspace.
#[derive(Debug, Clone, Default)]
pub struct Writable(GlobSet);

impl Writable {
    /// Those that fit one of `globs`. `*` stays within a folder and `**` does not.
    ///
    /// # Errors
    /// The place of the first that is no glob, and why.
    pub fn new(globs: &[String]) -> Result<Writable, (usize, String)> {
        let mut set = GlobSetBuilder::new();
        for (nth, glob) in globs.iter().enumerate() {
            let plain = glob.strip_prefix("./").unwrap_or(glob);
            let built = GlobBuilder::new(plain).literal_separator(true).build();
            set.add(built.map_err(|error| (nth, error.kind().to_string()))?);
        }
        set.build().map(Writable).map_err(|error| (0, error.kind().to_string()))
    }
}

/// The file that others obey at `real`, a path without links below `root`; nothing if it is none, or is free to write.
pub(super) fn obeyed(root: &Path, writable: &Writable, real: &Path) -> Option<ObeyedFile> {
    let below = real.strip_prefix(root).ok()?;
    let (name, why) = names().find(|(name, _)| is_named(root, real, name))?;
    (!writable.0.is_match(below)).then(|| ObeyedFile { path: below.to_owned(), name, why })
}

/// Whether `name` stands in `real`, its end below `root`: a workspace in a folder that others obey was chosen by a person.
fn is_named(root: &Path, real: &Path, name: &str) -> bool {
    if let Some(end) = name.strip_prefix('*') {
        return real.file_name().is_some_and(|name| ends_with(name, end));
    }
    let wanted: Vec<_> = Path::new(name).components().collect();
    let names: Vec<_> = real.components().collect();
    let above = root.components().count();
    let found = |(nth, window): (usize, &[_])| {
        nth + wanted.len() > above && window.iter().zip(&wanted).all(|(one, other)| are_alike(*one, *other))
    };
    names.windows(wanted.len()).enumerate().any(found)
}

fn ends_with(name: &OsStr, end: &str) -> bool {
    let name = name.as_encoded_bytes();
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(root: &str, writable: &[&str], real: &str, expected: &str) {
        let globs: Vec<String> = writable.iter().map(|&glob| glob.to_owned()).collect();
        let writable = Writable::new(&globs).expect("globs");
        let found = obeyed(Path::new(root), &writable, Path::new(real));
        assert_eq!(found.map_or("", |file| file.name), expected, "{real}");
    }

    #[test]
    fn what_others_obey_is_found_in_every_place_and_case() {
        for (below, expected) in [
            (".mcp.json", ".mcp.json"),
            ("a/b/.MCP.Json", ".mcp.json"),
            (".vscode/settings.json", ".vscode/"),
            (".VSCode/deep/er/x.json", ".vscode/"),
            (".vscode", ".vscode/"),
            ("CLAUDE.md", "CLAUDE.md"),
            ("packages/a/claude.MD", "CLAUDE.md"),
            (".claude/settings.json", ".claude/"),
            (".github/workflows/ci.yml", ".github/workflows/"),
            (".github/copilot-instructions.md", ".github/copilot-instructions.md"),
            (".envrc", ".envrc"),
            (".husky/pre-commit", ".husky/"),
            (".npmrc", ".npmrc"),
            (".gitmodules", ".gitmodules"),
            (".gitattributes", ".gitattributes"),
            ("my.Code-Workspace", "*.code-workspace"),
            (".clinerules", ".clinerules/"),
            (".ssh/authorized_keys", ".ssh/"),
            (".config/fish/config.fish", ".config/fish/"),
        ] {
            check("/w", &[], &format!("/w/{below}"), expected);
        }
    }

    #[test]
    fn the_work_itself_is_free() {
        for below in [
            "Makefile",
            "package.json",
            "src/main.rs",
            "README.md",
            "CLAUDE.md.bak",
            "mcp.json",
            "vscode/settings.json",
            ".github/ISSUE_TEMPLATE/bug.md",
            "workflows/ci.yml",
            ".config/app.toml",
            ".gitignore",
            ".env",
            "docs/agents.txt",
            "code-workspace",
        ] {
            check("/w", &[], &format!("/w/{below}"), "");
        }
    }

    #[test]
    fn a_workspace_in_such_a_folder_was_chosen() {
        check("/home/me/.claude/worktrees/w", &[], "/home/me/.claude/worktrees/w/a.md", "");
        check("/home/me/.claude/worktrees/w", &[], "/home/me/.claude/worktrees/w/.claude/x", ".claude/");
        // Its own names are not over where the workspace begins.
        check("/r/.github", &[], "/r/.github/workflows/ci.yml", ".github/workflows/");
        check("/r/.github/workflows", &[], "/r/.github/workflows/ci.yml", "");
    }

    #[test]
    fn writable_frees_what_it_names() {
        for (writable, below, expected) in [
            (&["CLAUDE.md"][..], "CLAUDE.md", ""),
            (&["./CLAUDE.md"], "CLAUDE.md", ""),
            (&["CLAUDE.md"], "a/CLAUDE.md", "CLAUDE.md"),
            (&["CLAUDE.md"], "claude.md", "CLAUDE.md"),
            (&["**/CLAUDE.md"], "a/b/CLAUDE.md", ""),
            (&[".github/**"], ".github/workflows/ci.yml", ""),
            (&[".github/*"], ".github/workflows/ci.yml", ".github/workflows/"),
            (&["x", ".vscode/*.json"], ".vscode/settings.json", ""),
            (&["x", ".vscode/*.json"], ".vscode/tasks.sh", ".vscode/"),
            (&["**"], ".mcp.json", ""),
        ] {
            check("/w", writable, &format!("/w/{below}"), expected);
        }
        let wrong = Writable::new(&["a".to_owned(), "b[".to_owned()]).map_err(|(nth, _)| nth);
        assert_eq!(wrong.err(), Some(1));
    }

    #[test]
    fn a_file_is_shown_by_its_path_and_who_obeys_it_and_hides_nothing() {
        for (path, expected) in [
            ("a/.mcp.json", "a/.mcp.json, which agents obey"),
            ("a\u{202e}b\u{1b}[2J\n/.envrc", "a\u{fffd}b\u{fffd}[2J\u{fffd}/.envrc, which agents obey"),
            ("gr\u{fc}n/.envrc", "gr\u{fc}n/.envrc, which agents obey"),
        ] {
            let file = ObeyedFile { path: path.into(), name: ".mcp.json", why: "agents obey" };
            assert_eq!(file.to_string(), expected);
        }
    }

    #[test]
    fn every_name_is_there_once_and_can_be_found() {
        let mut names = Vec::new();
        for (name, _) in super::names() {
            check("/w", &[], &format!("/w/{}", name.replace('*', "x")), name);
            names.push(name.to_lowercase());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

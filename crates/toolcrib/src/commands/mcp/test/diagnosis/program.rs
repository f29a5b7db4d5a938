//! What is wrong with a program that is started here.

use upstream::NotStarted;

use super::finding::{Diagnosis, Failed};
use crate::nearest::nearest;

/// How much of a program's last words is repeated, in characters.
const WORDS_CHARS_MAX: usize = 300;

/// What last words tell: any of the phrases, what that is called, what it means, and what to try.
struct Hint {
    /// In small letters; the first hint with one of them in the last words counts.
    phrases: &'static [&'static str],
    kind: &'static str,
    means: &'static str,
    try_: &'static str,
}

/// What programs say before they give up, as runtimes and package runners word it.
const HINTS: &[Hint] = &[
    Hint {
        phrases: &[
            "npm error code e404",
            "npm err! code e404",
            "404 not found - get https://registry",
            "was not found in the package registry",
            "no matching distribution found",
        ],
        kind: "package_missing",
        means: "the package does not exist",
        try_: "check the package's name and version in `args`",
    },
    Hint {
        phrases: &[
            "code enotfound",
            "code eai_again",
            "getaddrinfo",
            "dns error",
            "failed to fetch",
            "network is unreachable",
            "temporary failure in name resolution",
        ],
        kind: "registry_unreachable",
        means: "it could not reach the network to fetch what it needs",
        try_: "check the connection; behind a proxy, pass its variables on with `inherit = [\"*_PROXY\", \"*_proxy\"]`",
    },
    Hint {
        phrases: &[
            "could not determine executable to run",
            "an executable named",
            "no executables are provided",
        ],
        kind: "no_executable",
        means: "the package holds no program of that name",
        try_: "check the package's name, and name its program too, such as `npx -y -p PACKAGE PROGRAM` or `uvx --from PACKAGE PROGRAM`",
    },
    Hint {
        phrases: &[
            "err_module_not_found",
            "cannot find module",
            "cannot find package",
            "modulenotfounderror",
            "no module named",
            "module not found",
            "can't open file",
        ],
        kind: "module_missing",
        means: "a file or module that it needs is not there",
        try_: "check the path of the script in `args` (relative paths start at `cwd`), and install what it depends on",
    },
    Hint {
        phrases: &["eaddrinuse", "address already in use"],
        kind: "port_taken",
        means: "it wants a network port that is taken",
        try_: "start it so that it speaks over its standard streams (often with an argument such as `stdio`), or give it another port",
    },
    Hint {
        phrases: &["permission denied", "eacces", "permissionerror", "operation not permitted"],
        kind: "no_permission",
        means: "it was not allowed to do something that it needs",
        try_: "give it a folder or file it may use, or run it as a user who may",
    },
    Hint {
        phrases: &[
            "unrecognized argument",
            "unknown option",
            "unexpected argument",
            "unknown argument",
            "invalid option",
            "usage:",
        ],
        kind: "wrong_arguments",
        means: "it does not understand its arguments",
        try_: "check `args`; its own help (mostly `--help`) says what it takes",
    },
    Hint {
        phrases: &["cannot connect to the docker daemon", "docker daemon is not running", "docker.sock"],
        kind: "no_docker",
        means: "Docker does not answer",
        try_: "start Docker; if it runs elsewhere, pass its variable on with `inherit = [\"DOCKER_*\"]`",
    },
    Hint {
        phrases: &[
            "api key",
            "api_key",
            "apikey",
            "access token",
            "environment variable",
            "env var",
            "credentials",
            "keyerror",
        ],
        kind: "setting_missing",
        means: "it misses a setting or a key",
        try_: "give it in `env`; a program inherits only a few variables of this one, others have to be named in `env` or `inherit`",
    },
    Hint {
        phrases: &[
            "syntaxerror",
            "unsupported engine",
            "ebadengine",
            "requires python",
            "requires node",
            "glibc_",
        ],
        kind: "wrong_version",
        means: "it does not fit the version of what runs it",
        try_: "install a newer version of what runs it (Node, Python, …), or an older one of the server",
    },
];

/// It was not started.
pub(super) fn not_started(failed: &Failed<'_>, kind: NotStarted, said: &str) -> Diagnosis {
    let Some(program) = failed.settings.program() else {
        return Diagnosis::new("not_started", said, "check `command`");
    };
    let command = &program.command;
    let said = said.split_once(';').map_or(said, |(what, _)| what);
    match kind {
        NotStarted::Missing => Diagnosis::new("program_missing", said, missing(failed, command)),
        NotStarted::NotExecutable => Diagnosis::new(
            "not_executable",
            said,
            format!(
                "make it executable (`chmod +x {command}`), or start it with what runs it, such as `python3` or `node`"
            ),
        ),
        NotStarted::Folder => {
            Diagnosis::new("folder_missing", said, "create the folder, or set another `cwd`")
        }
        NotStarted::System => Diagnosis::new(
            "not_started",
            said,
            "free memory or processes; the system's own message says which",
        ),
    }
}

/// What to try if there is no such program.
fn missing(failed: &Failed<'_>, command: &str) -> String {
    if command.contains(' ') && !command.contains('/') {
        return "put the program alone into `command` and each of its arguments into `args`".to_owned();
    }
    if command.contains('/') {
        return "check the path; a relative one starts at `cwd`".to_owned();
    }
    let programs = (failed.programs)();
    let install = match command {
        "npx" | "npm" | "node" => "install Node.js",
        "uvx" | "uv" => "install uv (https://docs.astral.sh/uv)",
        "docker" => "install Docker",
        _ => "install it",
    };
    let install =
        format!("{install}, or give its full path: Toolcrib's PATH may be another than your shell's");
    match nearest(command, programs.iter().map(String::as_str)) {
        Some(near) if near != command => format!("did you mean `{near}`? Otherwise {install}"),
        _ => install,
    }
}

/// It ended before it was ready.
pub(super) fn exited(failed: &Failed<'_>, how: &str) -> Diagnosis {
    let how = how.split_once(" (").map_or(how, |(how, _)| how);
    let stderr = failed.stderr.to_lowercase();
    for hint in HINTS {
        // The line that says it; the last one is often only where it happened.
        let telling = stderr.lines().position(|line| hint.phrases.iter().any(|phrase| line.contains(phrase)));
        if let Some(nth) = telling {
            let line = shortened(failed.stderr.lines().nth(nth).unwrap_or_default());
            return Diagnosis::new(
                hint.kind,
                format!("it {how}: {}; it said: {line}", hint.means),
                hint.try_,
            );
        }
    }
    let words = last_words(failed.stderr);
    let said = if words.is_empty() { String::new() } else { format!("; the last it said: {words}") };
    if let Some(text) = failed.seen.text.as_deref().filter(|_| failed.seen.messages == 0) {
        return Diagnosis::new(
            "exits_with_text",
            format!("it {how} after it had printed text instead of MCP: {text}{said}"),
            "run the command line in a shell to see all it says; it may need other arguments",
        );
    }
    if how.starts_with("closed") {
        return Diagnosis::new(
            "closes_output",
            format!("it {how} and goes on running without a word{said}"),
            "check that it is a server for standard streams; some programs go into the background",
        );
    }
    let run_it = format!("run `{}` in a shell to see what it misses", failed.settings.place());
    if let Some(signal) = how.strip_prefix("was ended by signal ") {
        let out_of_memory = if signal == "9" { "; signal 9 often means that memory ran out" } else { "" };
        return Diagnosis::new("killed", format!("it {how}{said}"), format!("{run_it}{out_of_memory}"));
    }
    if how.ends_with("code 126") || how.ends_with("code 127") {
        return Diagnosis::new(
            "cannot_run",
            format!("it could not be run{said}"),
            "check the first line of the script (`#!…`) and that the file is made for this machine",
        );
    }
    Diagnosis::new("exits", format!("it {how} before it was ready{said}"), run_it)
}

/// It prints text and never speaks.
pub(super) fn only_text(failed: &Failed<'_>, said: &str) -> Diagnosis {
    Diagnosis::new(
        "only_text",
        format!("it prints text where MCP is expected, and answers nothing: {said}"),
        format!(
            "check that `{}` starts an MCP server for standard streams: some need an argument such as `stdio`, some \
             serve HTTP and need `url` instead",
            failed.settings.place()
        ),
    )
}

/// The last line that is not blank.
fn last_words(stderr: &str) -> String {
    shortened(stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// A line, as much as fits into a sentence.
fn shortened(line: &str) -> String {
    let line = line.trim();
    let shown: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_CHARS_MAX).collect();
    if line.chars().count() > WORDS_CHARS_MAX { format!("{shown}…") } else { shown }
}

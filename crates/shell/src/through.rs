//! Through programs that start others, to those.

use crate::parse;
use crate::script::{CALLS_MAX, Call, Script, Unclear};
use crate::word::Word;
use crate::wrapper::{Wrapped, wrapper};

/// Shells: what stands behind `-c` is a text.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"];

/// What gives names another meaning, or runs what is not written here as such.
const OPAQUE: [&str; 34] = [
    ".",
    "alias",
    "at",
    "batch",
    "chroot",
    "crontab",
    "enable",
    "expect",
    "fakeroot",
    "fish",
    "flock",
    "hash",
    "nsenter",
    "parallel",
    "pkexec",
    "runuser",
    "screen",
    "script",
    "source",
    "ssh-agent",
    "strace",
    "su",
    "systemd-run",
    "tmux",
    "trap",
    "unshare",
    "watch",
    "gdb",
    "ltrace",
    "dbus-run-session",
    "firejail",
    "bwrap",
    "start-stop-daemon",
    "unalias",
];

/// Variables by which names lead elsewhere, and words are cut otherwise.
const NAMES: [&str; 7] = ["PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "CDPATH"];

/// What the names of others begin with: libraries, functions, and settings of git that are commands or aliases.
const NAME_BEGINS: [&str; 5] = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "BASH_ALIASES"];

/// What ends a command of `find`.
const FIND_ENDS: [&str; 2] = [";", "+"];

/// What begins one.
const FIND_BEGINS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Whether a variable of this name changes what is run.
pub(crate) fn changes_names(name: &str) -> bool {
    NAMES.contains(&name) || NAME_BEGINS.iter().any(|begins| name.starts_with(begins))
}

/// Notes a command, and those that it starts. `is_open`: more words follow than are known.
pub(crate) fn run(mut words: Vec<Word>, is_open: bool, depth: usize, script: &mut Script) {
    while let Some(first) = words.first() {
        let Some(name) = first.known() else { return script.doubt(Unclear::Name) };
        let Some(call) = call(name, &words[1..], is_open) else { return script.doubt(Unclear::Name) };
        if script.calls.len() >= CALLS_MAX {
            return script.doubt(Unclear::Much);
        }
        script.calls.push(call.clone());
        let Call { name, args, .. } = call;
        words = match &*name {
            name if SHELLS.contains(&name) => return shell(&args, is_open, depth, script),
            name if OPAQUE.contains(&name) => return script.doubt(Unclear::Names),
            "eval" => return evaluated(&args, is_open, depth, script),
            "find" => return found(&args, depth, script),
            "xargs" => match wrapper("xargs").map(|wrapper| wrapper.wrapped(&args)) {
                Some(Wrapped::Words(words)) => return run(words, true, depth, script),
                Some(Wrapped::Unclear(why)) => return script.doubt(why),
                None => return,
            },
            name => match wrapper(name).map(|wrapper| wrapper.wrapped(&args)) {
                Some(Wrapped::Words(words)) => words,
                Some(Wrapped::Unclear(why)) => return script.doubt(why),
                None => return,
            },
        };
    }
    if is_open {
        // All of it is read from elsewhere.
        script.doubt(Unclear::Elsewhere);
    }
}

/// `git-push` is `git push`; a name that is a folder is none.
fn call(name: &str, args: &[Word], is_open: bool) -> Option<Call> {
    let name = name.rsplit('/').next().filter(|name| !name.is_empty())?;
    let (name, first) = match name.strip_prefix("git-") {
        Some(word) => ("git", Some(Word::Known(word.to_owned()))),
        None => (name, None),
    };
    Some(Call {
        name: name.to_owned(),
        args: first.into_iter().chain(args.iter().cloned()).collect(),
        is_open,
    })
}

/// A shell: a text, a script, or what it reads.
fn shell(args: &[Word], is_open: bool, depth: usize, script: &mut Script) {
    let (mut is_text, mut rest) = (false, args.iter());
    while let Some(arg) = rest.next() {
        let Some(arg) = arg.known() else { return script.doubt(Unclear::Word) };
        match arg {
            // `-s` and `-i` read what they run, and `-O` has a value.
            "-" => return script.doubt(Unclear::Elsewhere),
            "-o" | "+o" | "-O" | "+O" => _ = rest.next(),
            "--rcfile" | "--init-file" => return script.doubt(Unclear::Elsewhere),
            "--" => {}
            arg if arg.starts_with("--") => {}
            arg if arg.starts_with(['-', '+']) => {
                if arg.contains(['s', 'i', 'o', 'O']) {
                    return script.doubt(Unclear::Option);
                }
                is_text |= arg.contains('c');
            }
            text if is_text => return parse::read(text, depth + 1, script),
            // A script is a program like others, unless it is what comes in.
            file if file.starts_with("/dev/") || file.starts_with("/proc/") => {
                return script.doubt(Unclear::Elsewhere);
            }
            _ => return,
        }
    }
    script.doubt(if is_text && !is_open { Unclear::Syntax } else { Unclear::Elsewhere });
}

fn evaluated(args: &[Word], is_open: bool, depth: usize, script: &mut Script) {
    let words: Option<Vec<&str>> = args.iter().map(Word::known).collect();
    match words.filter(|_| !is_open) {
        Some(words) => parse::read(&words.join(" "), depth + 1, script),
        None => script.doubt(Unclear::Elsewhere),
    }
}

/// The commands of `find`. What is not written between them may begin one.
fn found(args: &[Word], depth: usize, script: &mut Script) {
    let is_of = |word: &Word, words: &[&str]| word.known().is_some_and(|word| words.contains(&word));
    let mut rest = args;
    loop {
        let begin = rest.iter().position(|word| is_of(word, &FIND_BEGINS));
        let (before, from) = rest.split_at(begin.unwrap_or(rest.len()));
        if before.contains(&Word::Unknown) {
            script.doubt(Unclear::Word);
        }
        let Some((_, behind)) = from.split_first() else { return };
        let end = behind.iter().position(|word| is_of(word, &FIND_ENDS)).unwrap_or(behind.len());
        run(behind[..end].to_vec(), false, depth, script);
        rest = &behind[end..];
    }
}

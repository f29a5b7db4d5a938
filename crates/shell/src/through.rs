//! Through programs that start others, to those.

use crate::found::{Call, Found};
use crate::unclear::Unclear;
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

/// What ends a command of `find`.
const FIND_ENDS: [&str; 2] = [";", "+"];

/// What begins one.
const FIND_BEGINS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Notes a command, and those that it starts. `is_open`: more words follow than are known.
pub(crate) fn run(mut words: Vec<Word>, is_open: bool, depth: usize, found: &mut Found) {
    while let Some(first) = words.first() {
        let Some(name) = first.known() else { return found.doubt(Unclear::Name) };
        let Some(call) = call(name, &words[1..], is_open) else { return found.doubt(Unclear::Name) };
        if !found.note(call.clone()) {
            return;
        }
        let Call { name, args, .. } = call;
        words = match &*name {
            name if SHELLS.contains(&name) => return shell(&args, is_open, depth, found),
            name if OPAQUE.contains(&name) => return found.doubt(Unclear::Names),
            "eval" => return evaluated(&args, is_open, depth, found),
            "find" => return of_find(&args, depth, found),
            "xargs" => match wrapper("xargs").map(|wrapper| wrapper.wrapped(&args)) {
                Some(Wrapped::Words(words)) => return run(words, true, depth, found),
                Some(Wrapped::Unclear(why)) => return found.doubt(why),
                None => return,
            },
            name => match wrapper(name).map(|wrapper| wrapper.wrapped(&args)) {
                Some(Wrapped::Words(words)) => words,
                Some(Wrapped::Unclear(why)) => return found.doubt(why),
                None => return,
            },
        };
    }
    if is_open {
        // All of it is read from elsewhere.
        found.doubt(Unclear::Elsewhere);
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
fn shell(args: &[Word], is_open: bool, depth: usize, found: &mut Found) {
    let (mut is_text, mut rest) = (false, args.iter());
    while let Some(arg) = rest.next() {
        let Some(arg) = arg.known() else { return found.doubt(Unclear::Word) };
        match arg {
            // `-s` and `-i` read what they run, and `-O` has a value.
            "-" => return found.doubt(Unclear::Elsewhere),
            "-o" | "+o" | "-O" | "+O" => _ = rest.next(),
            "--rcfile" | "--init-file" => return found.doubt(Unclear::Elsewhere),
            "--" => {}
            arg if arg.starts_with("--") => {}
            arg if arg.starts_with(['-', '+']) => {
                if arg.contains(['s', 'i', 'o', 'O']) {
                    return found.doubt(Unclear::Option);
                }
                is_text |= arg.contains('c');
            }
            text if is_text => return found.text(text.to_owned(), depth),
            // A script is a program like others, unless it is what comes in.
            file if file.starts_with("/dev/") || file.starts_with("/proc/") => {
                return found.doubt(Unclear::Elsewhere);
            }
            _ => return,
        }
    }
    found.doubt(if is_text && !is_open { Unclear::Syntax } else { Unclear::Elsewhere });
}

fn evaluated(args: &[Word], is_open: bool, depth: usize, found: &mut Found) {
    let words: Option<Vec<&str>> = args.iter().map(Word::known).collect();
    match words.filter(|_| !is_open) {
        Some(words) => found.text(words.join(" "), depth),
        None => found.doubt(Unclear::Elsewhere),
    }
}

/// The commands of `find`. What is not written between them may begin one.
fn of_find(args: &[Word], depth: usize, found: &mut Found) {
    let is_of = |word: &Word, words: &[&str]| word.known().is_some_and(|word| words.contains(&word));
    let mut rest = args;
    loop {
        let begin = rest.iter().position(|word| is_of(word, &FIND_BEGINS));
        let (before, from) = rest.split_at(begin.unwrap_or(rest.len()));
        if before.contains(&Word::Unknown) {
            found.doubt(Unclear::Word);
        }
        let Some((_, behind)) = from.split_first() else { return };
        let end = behind.iter().position(|word| is_of(word, &FIND_ENDS)).unwrap_or(behind.len());
        run(behind[..end].to_vec(), false, depth, found);
        rest = &behind[end..];
    }
}

//! Through programs that start others, to those.

use crate::found::{Call, Found, Place};
use crate::git;
use crate::unclear::Unclear;
use crate::word::{PLACEHOLDER, Word};
use crate::wrapper::{Wrapped, wrapper};

/// Shells: what stands behind `-c` is a text.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "mksh", "ash", "rbash"];

/// Those of them that are bash.
const BASH: [&str; 2] = ["bash", "rbash"];

/// Nobody writes more of them before one program.
const WRAPPERS_MAX: usize = 16;

/// Words that are syntax where a command begins. The grammar does not always see that one does: behind `time`, say.
const RESERVED: [&str; 19] = [
    "!", "{", "}", "[[", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while",
];

/// What takes names of variables, whose subscripts are run, from quoted words.
const SUBSCRIPTING: [&str; 7] = ["let", "test", "[", "read", "printf", "wait", "getopts"];

/// What gives names another meaning, or runs what is not written here as such.
const OPAQUE: [&str; 85] = [
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
    "taskset",
    "chrt",
    "prlimit",
    "setpriv",
    "linux64",
    "linux32",
    "setarch",
    "i386",
    "x86_64",
    "sg",
    "choom",
    "perf",
    "valgrind",
    "csh",
    "tcsh",
    "pwsh",
    "powershell",
    "runcon",
    "unbuffer",
    "xvfb-run",
    "systemd-inhibit",
    "gosu",
    "su-exec",
    "fd",
    "fdfind",
    "sem",
    "hyperfine",
    "npx",
    "uv",
    "uvx",
    "nix-shell",
    "mapfile",
    "readarray",
    "compgen",
    "complete",
    "bind",
    "zsh",
    "pnpx",
    "bunx",
    "entr",
    "rlwrap",
    "proot",
    "faketime",
    "setuidgid",
    "chpst",
    "numactl",
    "catchsegv",
    "torsocks",
    "proxychains",
    "proxychains4",
    "eatmydata",
];

/// What begins a command of `find`.
const FIND_BEGINS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Whether a program of this name is known to start others, or changes what names mean.
pub(crate) fn starts_others(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    SHELLS.contains(&name) || OPAQUE.contains(&name) || name == "eval" || wrapper(name).is_some()
}

/// Notes a command, and those that it starts.
pub(crate) fn run(words: Vec<Word>, place: Place, found: &mut Found) {
    started(words, WRAPPERS_MAX, place, found);
}

/// The same of one that stands behind others; so many more of those may come.
fn started(mut words: Vec<Word>, mut left: usize, place: Place, found: &mut Found) {
    // Whether more words follow than are known.
    let mut is_open = false;
    while let Some(first) = words.first() {
        if found.is_late() {
            return found.doubt(Unclear::Slow);
        }
        let Some(name) = first.known() else { return found.doubt(Unclear::Name) };
        if RESERVED.contains(&name) || name.contains('=') {
            return found.doubt(Unclear::Syntax);
        }
        let Some(call) = call(name, &words[1..], is_open) else { return found.doubt(Unclear::Name) };
        if !found.note(call.clone()) {
            return;
        }
        let Call { name, args, .. } = call;
        let wrapped = match &*name {
            name if SHELLS.contains(&name) => {
                return shell(&args, (is_open, BASH.contains(&name)), place, found);
            }
            name if OPAQUE.contains(&name) => return found.doubt(Unclear::Names),
            name if SUBSCRIPTING.contains(&name) && args.iter().any(has_subscript) => {
                return found.doubt(Unclear::Syntax);
            }
            "eval" => return evaluated(&args, is_open, place, found),
            "find" => return of_find(&args, left, place, found),
            "git" => {
                let more = is_open.then_some(Word::Unknown);
                let args: Vec<Word> = args.into_iter().chain(more).collect();
                return git::starts_others(&args).into_iter().for_each(|why| found.doubt(why));
            }
            name => wrapper(name).map(|wrapper| wrapper.wrapped(&args)),
        };
        is_open |= name == "xargs";
        words = match wrapped {
            Some(Wrapped::Words(_)) if left == 0 => return found.doubt(Unclear::Much),
            Some(Wrapped::Words(words)) => words,
            Some(Wrapped::Unclear(why)) => return found.doubt(why),
            None => return,
        };
        left -= 1;
    }
    if is_open {
        // All of it is read from elsewhere.
        found.doubt(Unclear::Elsewhere);
    }
}

/// Whether a word has a subscript that starts a program, for whoever takes it as a name.
fn has_subscript(word: &Word) -> bool {
    word.known().is_some_and(|word| word.contains('[') && (word.contains("$(") || word.contains('`')))
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
fn shell(args: &[Word], (is_open, is_bash): (bool, bool), place: Place, found: &mut Found) {
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
            text if is_text => return found.text(text.to_owned(), place, is_bash),
            // A script is a program like others, unless it is what comes in.
            file if file.starts_with("/dev/") || file.starts_with("/proc/") => {
                return found.doubt(Unclear::Elsewhere);
            }
            _ => return,
        }
    }
    found.doubt(if is_text && !is_open { Unclear::Syntax } else { Unclear::Elsewhere });
}

fn evaluated(args: &[Word], is_open: bool, place: Place, found: &mut Found) {
    let words: Option<Vec<&str>> = args.iter().map(Word::known).collect();
    match words.filter(|_| !is_open).as_deref() {
        Some(["--", words @ ..]) => found.text(words.join(" "), place, place.is_for_bash),
        Some([option, ..]) if option.starts_with('-') => found.doubt(Unclear::Option),
        Some(words) => found.text(words.join(" "), place, place.is_for_bash),
        None => found.doubt(Unclear::Elsewhere),
    }
}

/// The commands of `find`. What is not written between them may begin one.
fn of_find(args: &[Word], left: usize, place: Place, found: &mut Found) {
    if left == 0 {
        return found.doubt(Unclear::Much);
    }
    let mut rest = args;
    loop {
        let begin = rest.iter().position(|word| word.known().is_some_and(|word| FIND_BEGINS.contains(&word)));
        let (before, from) = rest.split_at(begin.unwrap_or(rest.len()));
        if before.contains(&Word::Unknown) {
            found.doubt(Unclear::Word);
        }
        let Some((_, behind)) = from.split_first() else { return };
        let end = (0..behind.len()).find(|at| ends(behind, *at, found)).unwrap_or(behind.len());
        let words = behind[..end].iter().map(filled).collect();
        started(words, left - 1, place, found);
        rest = &behind[end..];
    }
}

/// Whether a command of `find` ends here: with `;`, or with `+` if the placeholder stands before it.
fn ends(words: &[Word], at: usize, found: &mut Found) -> bool {
    match words[at].known() {
        Some(";") => true,
        Some("+") => match at.checked_sub(1).map(|before| words[before].known()) {
            Some(Some(before)) => before == PLACEHOLDER,
            Some(None) => {
                found.doubt(Unclear::Word);
                false
            }
            None => false,
        },
        _ => false,
    }
}

/// A word as `find` hands it on: with the name of a file in it.
fn filled(word: &Word) -> Word {
    match word.known() {
        Some(known) if known.contains(PLACEHOLDER) => Word::Unknown,
        _ => word.clone(),
    }
}

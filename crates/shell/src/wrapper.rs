//! Programs whose arguments are another program with its own: which options of theirs stand before it.

use crate::names::changes_names;
use crate::unclear::Unclear;
use crate::word::Word;

/// One of them.
pub(crate) struct Wrapper {
    name: &'static str,
    /// Options that have a value, in the same word or the next.
    values: &'static [&'static str],
    /// Options that have none; letters may stand together.
    flags: &'static [&'static str],
    /// Words before the program that are none of both.
    before: usize,
    /// Whether variables may be set before it.
    sets: bool,
}

/// What is behind it.
pub(crate) enum Wrapped {
    Words(Vec<Word>),
    Unclear(Unclear),
}

const fn plain(
    name: &'static str,
    values: &'static [&'static str],
    flags: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, values, flags, before: 0, sets: false }
}

const SUDO: Wrapper = Wrapper {
    name: "sudo",
    values: &["-u", "--user", "-g", "--group", "-p", "--prompt", "-C", "-D", "--chdir", "-h", "--host"],
    flags: &[
        "-n",
        "-E",
        "-H",
        "-k",
        "-S",
        "-b",
        "-A",
        "-P",
        "--non-interactive",
        "--preserve-env",
        "--set-home",
    ],
    before: 0,
    sets: true,
};

const WRAPPERS: [Wrapper; 19] = [
    SUDO,
    Wrapper { name: "doas", values: &["-u", "-C"], flags: &["-n"], ..SUDO },
    Wrapper {
        name: "env",
        values: &["-u", "--unset", "-C", "--chdir"],
        flags: &["-i", "-0", "--ignore-environment", "-v"],
        before: 0,
        sets: true,
    },
    plain("command", &[], &["-p", "-v", "-V"]),
    plain("builtin", &[], &[]),
    plain("exec", &["-a"], &["-c", "-l"]),
    plain("coproc", &[], &[]),
    plain("nohup", &[], &[]),
    plain("setsid", &[], &["-c", "-f", "-w", "--fork", "--wait", "--ctty"]),
    plain("time", &["-f", "-o"], &["-p", "-v", "-a"]),
    plain("nice", &["-n", "--adjustment"], &[]),
    plain("ionice", &["-c", "-n", "--class", "--classdata"], &["-t"]),
    plain("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], &[]),
    plain("busybox", &[], &[]),
    plain("toybox", &[], &[]),
    plain("winpty", &[], &[]),
    plain("caffeinate", &["-t", "-w"], &["-d", "-i", "-m", "-s", "-u"]),
    Wrapper {
        before: 1,
        ..plain(
            "timeout",
            &["-s", "--signal", "-k", "--kill-after"],
            &["-v", "--foreground", "--preserve-status"],
        )
    },
    plain(
        "xargs",
        &["-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter", "--arg-file"],
        &["-0", "-r", "-t", "-x", "-o", "--max-lines", "--null", "--no-run-if-empty", "--verbose"],
    ),
];

/// The one of this name.
pub(crate) fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

impl Wrapper {
    /// The program in its arguments.
    pub(crate) fn wrapped(&self, args: &[Word]) -> Wrapped {
        let (mut at, mut before) = (0, self.before);
        while let Some(word) = args.get(at) {
            let Some(word) = word.known() else { return Wrapped::Unclear(Unclear::Word) };
            if word == "--" {
                at += 1;
                break;
            }
            match self.option(word) {
                Some(words) => at += words,
                None if word.starts_with('-') => return Wrapped::Unclear(Unclear::Option),
                None if self.sets && word.contains('=') => {
                    if word.split('=').next().is_none_or(changes_names) {
                        return Wrapped::Unclear(Unclear::Names);
                    }
                    at += 1;
                }
                None if before > 0 => (at, before) = (at + 1, before - 1),
                None => break,
            }
        }
        Wrapped::Words(args.get(at..).unwrap_or_default().to_vec())
    }

    /// How many words an option takes; nothing if it is none that is known.
    fn option(&self, word: &str) -> Option<usize> {
        if self.values.contains(&word) {
            return Some(2);
        }
        let is_flag = |flag: &str| self.flags.contains(&flag);
        let has_value = self.values.iter().any(|option| match option.starts_with("--") {
            true => word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')),
            false => word.starts_with(option) && !word.starts_with("--"),
        });
        let letters =
            word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'));
        let are_flags =
            letters.is_some_and(|letters| letters.chars().all(|letter| is_flag(&format!("-{letter}"))));
        (is_flag(word) || has_value || are_flags).then_some(1)
    }
}

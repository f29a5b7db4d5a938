//! Whether a program is the one that is asked about, with the words that are. Options are passed over; where it is not known
//! whether the word behind one is its value, both are tried.

use crate::found::Call;
use crate::git;
use crate::unclear::Unclear;
use crate::word::Word;

/// Options before the last word that matters; each doubles the ways to read them.
const OPTIONS_MAX: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Unclear(Unclear),
}

/// Whether `call` is a program of this name, with these words first if options are left out.
pub(crate) fn matches(call: &Call, name: &str, words: &[&str]) -> Answer {
    if call.name != name {
        return Answer::No;
    }
    let is_git = name == "git";
    found(&call.args, words, &Reading { is_git, is_open: call.is_open, all: words.len() }, 0)
}

struct Reading {
    is_git: bool,
    is_open: bool,
    /// How many words are asked for.
    all: usize,
}

fn found(args: &[Word], words: &[&str], reading: &Reading, options: usize) -> Answer {
    let Some((wanted, others)) = words.split_first() else { return Answer::Yes };
    let Some((first, rest)) = args.split_first() else {
        return if reading.is_open { Answer::Unclear(Unclear::Elsewhere) } else { Answer::No };
    };
    let Some(first) = first.known() else { return Answer::Unclear(Unclear::Word) };
    if !first.starts_with('-') || first == "-" {
        return if first == *wanted { found(rest, others, reading, options) } else { Answer::No };
    }
    if options == OPTIONS_MAX {
        return Answer::Unclear(Unclear::Option);
    }
    let with = |skipped: usize| found(rest.get(skipped..).unwrap_or_default(), words, reading, options + 1);
    let is_before_sub_command = words.len() == reading.all;
    if reading.is_git && is_before_sub_command {
        let value = rest.first().and_then(Word::known);
        return match git::renames(first, value) {
            true => Answer::Unclear(Unclear::Names),
            false => with(usize::from(git::has_value(first))),
        };
    }
    let without_value = with(0);
    match first == "--" || first.contains('=') || without_value == with(1) {
        true => without_value,
        false => Answer::Unclear(Unclear::Option),
    }
}

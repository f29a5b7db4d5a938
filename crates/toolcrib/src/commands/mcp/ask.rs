//! Asking the person at the terminal. Questions go to stderr, so that stdout stays what a script would read.

use std::io::{self, BufRead, IsTerminal as _};

use terminal::print;

/// Longer lines are no answers, in bytes.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Whether somebody is there to answer.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal()
}

/// Asks the person at the terminal; the answer, or nothing if there is no answer any more.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    print::question(question);
    line()
}

/// The line that the person at the terminal types next, or nothing if there is none any more.
pub(crate) fn line() -> io::Result<Option<String>> {
    answer(&mut io::stdin().lock())
}

/// The next line of `input` without the blanks around it, or nothing if there is none any more. One that is too long
/// is an error: what is left of it must not be taken for the next answer.
pub(super) fn answer(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let bytes = io::Read::take(input, ANSWER_BYTES_MAX as u64 + 1).read_line(&mut line)?;
    if bytes > ANSWER_BYTES_MAX {
        let message = format!("an answer is longer than {} KiB", ANSWER_BYTES_MAX / 1024);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((bytes > 0).then(|| line.trim().to_owned()))
}

/// Asks for a yes; anything else is a no.
pub(crate) fn confirm(question: &str) -> io::Result<bool> {
    let answer = ask(&format!("{question} [y/N]"))?;
    Ok(answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes")))
}

/// Asks for a yes for each of them; gives those that got one.
pub(crate) fn chosen<T>(all: Vec<T>, question: impl Fn(&T) -> String) -> io::Result<Vec<T>> {
    let mut chosen = Vec::new();
    for one in all {
        if confirm(&print::harmless(&question(&one)))? {
            chosen.push(one);
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_if_it_is_not_too_long() {
        let fits = "a".repeat(ANSWER_BYTES_MAX - 1);
        let lines = format!(" yes \r\n\n{fits}\nlast");
        let mut input = lines.as_bytes();
        for expected in [Some("yes"), Some(""), Some(&fits), Some("last"), None] {
            assert_eq!(answer(&mut input).expect("an answer").as_deref(), expected);
        }
        let error = answer(&mut format!("{fits}a\n").as_bytes()).expect_err("too long");
        assert_eq!(error.to_string(), "an answer is longer than 16 KiB");
    }
}

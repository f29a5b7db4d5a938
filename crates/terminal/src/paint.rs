//! Colours: a few, for whoever sits at a terminal. A text keeps them apart from what it says until it is printed, so that
//! nobody else's words can bring colours of their own.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::AnsiColor;

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Nothing of note.
    Plain,
    /// The title of a column.
    Title,
    /// What is as it should be, or comes.
    Good,
    /// What failed, was refused, or goes.
    Bad,
    /// What wants somebody to do something.
    Wanting,
}

/// How words begin that say how something is doing, and what they are.
const STATES: [(&str, Style); 15] = [
    ("connected", Style::Good),
    ("works", Style::Good),
    ("approved", Style::Good),
    ("result", Style::Good),
    ("failed", Style::Bad),
    ("does not", Style::Bad),
    ("denied", Style::Bad),
    ("refused", Style::Bad),
    ("tool_error", Style::Bad),
    ("internal", Style::Bad),
    ("abandoned", Style::Bad),
    ("unknown_after_crash", Style::Bad),
    ("needs", Style::Wanting),
    ("pending", Style::Wanting),
    ("asked", Style::Wanting),
];

impl Style {
    /// What words are that say how something is doing.
    pub fn of_state(words: &str) -> Style {
        let found = STATES.iter().find(|(start, _)| words.starts_with(start));
        found.map_or(Style::Plain, |(_, style)| *style)
    }

    fn codes(self) -> anstyle::Style {
        match self {
            Style::Plain => anstyle::Style::new(),
            Style::Title => anstyle::Style::new().bold(),
            Style::Good => AnsiColor::Green.on_default(),
            Style::Bad => AnsiColor::Red.on_default(),
            Style::Wanting => AnsiColor::Yellow.on_default(),
        }
    }

    /// The text between the codes of this style.
    pub(crate) fn around(self, text: &str) -> String {
        let codes = self.codes();
        format!("{codes}{text}{codes:#}")
    }
}

/// A text in pieces, each in a style. Displayed, it is the text alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Painted(Vec<(Style, String)>);

impl Painted {
    /// A text in one style.
    pub fn of(style: Style, text: impl Into<String>) -> Painted {
        Painted(vec![(style, text.into())])
    }

    /// A text whose lines that begin with `+` or `-` are what comes and what goes.
    pub fn changes(text: &str) -> Painted {
        let style = |line: &str| match line.trim_start().as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            _ => Style::Plain,
        };
        Painted(text.split_inclusive('\n').map(|line| (style(line), line.to_owned())).collect())
    }

    /// A text whose lines that begin with a name and a colon say how that is doing.
    pub fn states(text: &str) -> Painted {
        let line = |line: &str| {
            let named = line.split_once(": ").filter(|_| !line.starts_with(' '));
            let Some((name, words)) = named else { return Painted::of(Style::Plain, line) };
            let (state, more) = words.split_at(words.find([',', ':', '\n']).unwrap_or(words.len()));
            Painted::of(Style::Plain, format!("{name}: "))
                .and(Painted::of(Style::of_state(state), state))
                .and(Painted::of(Style::Plain, more))
        };
        text.split_inclusive('\n').map(line).fold(Painted::default(), Painted::and)
    }

    /// This, and another behind it.
    pub fn and(mut self, more: Painted) -> Painted {
        self.0.extend(more.0);
        self
    }

    /// Without blanks at its end.
    pub(crate) fn trimmed(mut self) -> Painted {
        while let Some((_, last)) = self.0.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            self.0.pop();
        }
        self
    }

    /// With its colours, each piece passed through `shown` first.
    pub(crate) fn in_colours(&self, shown: impl Fn(&str) -> String) -> String {
        // A style ends before its line does, or a pager would let it run on.
        let piece = |(style, text): &(Style, String)| match text.strip_suffix('\n') {
            Some(line) => style.around(&shown(line)) + "\n",
            None => style.around(&shown(text)),
        };
        self.0.iter().map(piece).collect()
    }
}

impl fmt::Display for Painted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, text)| out.write_str(text))
    }
}

/// Something that is printed for people, in its colours.
pub trait Words {
    /// In pieces.
    fn painted(&self) -> Painted;
}

impl Words for Painted {
    fn painted(&self) -> Painted {
        self.clone()
    }
}

impl Words for str {
    fn painted(&self) -> Painted {
        Painted::of(Style::Plain, self)
    }
}

impl Words for String {
    fn painted(&self) -> Painted {
        self.as_str().painted()
    }
}

/// Set by a command that prints for programs.
static IS_FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// Has nothing painted from now on: what is printed is for programs.
pub fn without_colours() {
    IS_FOR_PROGRAMS.store(true, Ordering::Relaxed);
}

/// Whether there are colours on this stream.
pub(crate) fn is_on(stream: &impl IsTerminal) -> bool {
    !IS_FOR_PROGRAMS.load(Ordering::Relaxed) && stream.is_terminal() && environment_allows()
}

/// Whether the terminal can begin a line anew, by its name.
#[expect(clippy::disallowed_methods, reason = "what a terminal can is told by this alone")]
pub(crate) fn can_move() -> bool {
    !IS_FOR_PROGRAMS.load(Ordering::Relaxed) && allows(None, std::env::var_os("TERM").as_deref())
}

#[expect(
    clippy::disallowed_methods,
    reason = "what a terminal can and a person wants is told by these two alone"
)]
fn environment_allows() -> bool {
    allows(std::env::var_os("NO_COLOR").as_deref(), std::env::var_os("TERM").as_deref())
}

/// As <https://no-color.org> has it. A terminal of no name may understand nothing.
fn allows(no_color: Option<&std::ffi::OsStr>, term: Option<&std::ffi::OsStr>) -> bool {
    no_color.is_none_or(|value| value.is_empty())
        && term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_know_them_and_people_who_want_them() {
        for (no_color, term, expected) in [
            (None, Some("xterm"), true),
            (Some(""), Some("xterm"), true),
            (Some("1"), Some("xterm"), false),
            (Some("0"), Some("xterm"), false),
            (None, Some("dumb"), false),
            (None, Some(""), false),
            (None, None, false),
        ] {
            let found = allows(no_color.map(std::ffi::OsStr::new), term.map(std::ffi::OsStr::new));
            assert_eq!(found, expected, "{no_color:?} {term:?}");
        }
    }

    #[test]
    fn colours_stand_around_what_is_said_and_nobody_elses_get_in() {
        let words = Painted::of(Style::Plain, "a ").and(Painted::of(Style::Bad, "b\u{1b}[1m\n"));
        assert_eq!(words.to_string(), "a b\u{1b}[1m\n");
        let shown = words.in_colours(|text| text.replace('\u{1b}', "\u{fffd}"));
        assert_eq!(shown, "a \u{1b}[31mb\u{fffd}[1m\u{1b}[0m\n");
        let states = Painted::states("a: works, 3 tools\n  b: failed\n").in_colours(str::to_owned);
        assert_eq!(states, "a: \u{1b}[32mworks\u{1b}[0m, 3 tools\n  b: failed\n");
        let changes = Painted::changes("x\n+ in\n- out").in_colours(str::to_owned);
        assert_eq!(changes, "x\n\u{1b}[32m+ in\u{1b}[0m\n\u{1b}[31m- out\u{1b}[0m");
        assert_eq!(
            Painted::of(Style::Good, "a").and(Painted::of(Style::Plain, "  ")).trimmed(),
            Painted::of(Style::Good, "a")
        );
    }

    #[test]
    fn words_of_states_are_told_apart() {
        for (words, expected) in [
            ("connected, 3 tools", Style::Good),
            ("failed: gone", Style::Bad),
            ("needs auth", Style::Wanting),
            ("remembered, 3 tools", Style::Plain),
            ("disabled", Style::Plain),
            ("", Style::Plain),
        ] {
            assert_eq!(Style::of_state(words), expected, "{words}");
        }
    }
}

//! A bar on one line of the terminal that says how far something has come. Whatever else is printed comes in its place; it is
//! drawn anew with the next step.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use rustix::termios::tcgetwinsize;

use crate::paint::{self, Style};

/// How wide the bar itself is, in characters.
const BAR_CHARS: usize = 24;

/// How wide a line is where the terminal does not say.
const LINE_CHARS: usize = 80;

/// Back to the beginning of the line, and nothing on it.
const EMPTY_LINE: &str = "\r\u{1b}[K";

/// What stands on the line.
static DRAWN: Mutex<Option<String>> = Mutex::new(None);

/// How far something has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// How much is done.
    pub done: Option<f64>,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<&'a str>,
}

/// Whether a bar can be drawn: somebody reads along, at a terminal that can begin a line anew.
pub fn is_possible() -> bool {
    io::stderr().is_terminal() && paint::can_move()
}

/// Draws the step, in which nothing drives a terminal, in the place of the one before.
pub(crate) fn draw(step: &Step<'_>) {
    let (filled, rest) = parts(step, width());
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = match paint::is_on(&io::stderr()) {
        true => format!("{}{rest}", Style::Good.around(&filled)),
        false => format!("{filled}{rest}"),
    };
    if drawn.as_ref() != Some(&text) {
        write(&format!("{EMPTY_LINE}{text}"));
        *drawn = Some(text);
    }
}

/// Takes it away, if there is one.
pub(crate) fn clear() {
    if DRAWN.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
        write(EMPTY_LINE);
    }
}

fn write(text: &str) {
    // With stderr gone there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn width() -> usize {
    let size = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { LINE_CHARS } else { size }
}

/// The filled part of the bar, and what follows it, in a line that is so wide.
fn parts(step: &Step<'_>, width: usize) -> (String, String) {
    let share = share(step);
    let bar = share.filter(|_| width > BAR_CHARS);
    let filled = bar.map_or(0, |share| (share * BAR_CHARS as f64) as usize);
    let empty = if bar.is_some() { BAR_CHARS - filled } else { 0 };
    let how_far = match (share, step.done) {
        (Some(share), _) => format!("{:.0} %", (share * 100.0).floor()),
        (None, Some(done)) => format!("\u{2026} {done}"),
        (None, None) => "\u{2026}".to_owned(),
    };
    let message = step.message.map(|message| format!(" {}", message.replace(['\n', '\t'], " ")));
    let gap = if bar.is_some() { " " } else { "" };
    let words = format!("{gap}{how_far}{}", message.unwrap_or_default());
    // The last column stays empty: a terminal may begin another line behind it.
    let rest = "\u{b7}".repeat(empty) + &fitting(&words, width.saturating_sub(filled + empty + 1));
    ("\u{2588}".repeat(filled), rest)
}

/// How much of it is done, from nothing to all.
fn share(step: &Step<'_>) -> Option<f64> {
    let total = step.total.filter(|total| total.is_finite() && *total > 0.0)?;
    Some((step.done? / total).clamp(0.0, 1.0)).filter(|share| share.is_finite())
}

/// As much of a text as has room in so many columns; what is not ASCII may take two.
fn fitting(text: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |c: &char| {
        let takes = if c.is_ascii() { 1 } else { 2 };
        let has_room = takes <= left;
        left = left.saturating_sub(takes);
        has_room
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fits_its_line_and_says_how_far_it_is() {
        let step = |done, total, message| Step { done, total, message };
        let (half, none, all) = ("\u{2588}".repeat(12), "\u{b7}".repeat(24), "\u{2588}".repeat(24));
        let rest = "\u{b7}".repeat(12);
        for (step, width, expected) in [
            (step(Some(1.0), Some(2.0), Some("reading")), 80, format!("{half}{rest} 50 % reading")),
            (step(Some(1.0), Some(2.0), Some("reading")), 34, format!("{half}{rest} 50 % rea")),
            (step(Some(1.0), Some(2.0), Some("reading")), 10, "50 % read".to_owned()),
            (step(Some(0.0), Some(2.0), None), 80, format!("{none} 0 %")),
            (step(Some(5.0), Some(2.0), None), 80, format!("{all} 100 %")),
            (step(Some(-5.0), Some(2.0), None), 80, format!("{none} 0 %")),
            (step(Some(1999.0), Some(2000.0), None), 80, format!("{}\u{b7} 99 %", "\u{2588}".repeat(23))),
            (step(Some(3.0), Some(0.0), Some("a\n\tb")), 80, "\u{2026} 3 a  b".to_owned()),
            (step(Some(f64::NAN), Some(2.0), None), 80, "\u{2026} NaN".to_owned()),
            (step(None, None, Some("\u{4e2d}\u{4e2d}\u{4e2d}")), 9, "\u{2026} \u{4e2d}\u{4e2d}".to_owned()),
            (step(None, None, None), 1, String::new()),
        ] {
            let (filled, rest) = parts(&step, width);
            assert_eq!(format!("{filled}{rest}"), expected, "{step:?} {width}");
        }
    }
}

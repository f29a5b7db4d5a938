//! Characters that nobody sees, but models read.

use std::collections::BTreeMap;

use super::finding::{Finding, Severity, Text};
use crate::shown::{Hidden, is_layout};

/// A few of these come from copying and pasting; more are a message.
const STRAY_MAX: usize = 3;

/// Characters before and after the first hidden one that are shown with it.
const AROUND: usize = 24;

/// What is hidden in a text.
pub(super) fn search(text: &Text<'_>) -> Vec<Finding> {
    // Nearly every text is plain ASCII. A name has one line.
    let is_lines = |byte: u8| !text.is_name && matches!(byte, b'\n' | b'\t' | b'\r');
    if text.said.bytes().all(|byte| (b' '..=b'~').contains(&byte) || is_lines(byte)) {
        return Vec::new();
    }
    let characters: Vec<char> = text.said.chars().collect();
    let mut found: BTreeMap<Hidden, (usize, usize)> = BTreeMap::new();
    for (at, &character) in characters.iter().enumerate() {
        let in_name = (text.is_name && is_layout(character)).then_some(Hidden::Control);
        let hidden =
            in_name.or(Hidden::of(character)).filter(|hidden| !is_ordinary(*hidden, &characters, at));
        if let Some(hidden) = hidden {
            found.entry(hidden).or_insert((0, at)).0 += 1;
        }
    }
    let is_rtl = characters.iter().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fefc}'));
    let finding = |(hidden, (count, first)): (Hidden, (usize, usize))| {
        let (severity, id, says) = judge(hidden, count, text.is_name, is_rtl)?;
        let part = &characters[first.saturating_sub(AROUND)..(first + 2 * AROUND).min(characters.len())];
        Some(Finding::new(severity, id, says, &text.at, &part.iter().collect::<String>()))
    };
    found.into_iter().filter_map(finding).collect()
}

/// True for a hidden character where honest texts have one: in emoji, and where a script needs it.
fn is_ordinary(hidden: Hidden, text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
    let after = text.get(at + 1).copied();
    match hidden {
        // One form for one character.
        Hidden::Variation => {
            matches!(text[at], '\u{fe0e}' | '\u{fe0f}')
                && before.is_some_and(|before| Hidden::of(before).is_none() && !before.is_ascii_alphabetic())
        }
        Hidden::ZeroWidth if matches!(text[at], '\u{200c}' | '\u{200d}') => {
            let is_joined = |c: Option<char>| {
                c.is_some_and(|c| !c.is_ascii() && (Hidden::of(c).is_none() || c == '\u{fe0f}'))
            };
            is_joined(before) && is_joined(after)
        }
        // The byte order mark in front of a text.
        Hidden::ZeroWidth => text[at] == '\u{feff}' && at == 0,
        // The flags of England, Scotland and Wales.
        Hidden::Tag => {
            let start = text[..at].iter().rposition(|c| Hidden::of(*c) != Some(Hidden::Tag));
            start.is_some_and(|start| text[start] == '\u{1f3f4}' && at - start <= 7)
        }
        Hidden::Escape | Hidden::Control | Hidden::Override | Hidden::Mark => false,
    }
}

fn judge(
    hidden: Hidden,
    count: usize,
    is_name: bool,
    is_rtl: bool,
) -> Option<(Severity, &'static str, String)> {
    use Severity::{High, Medium};
    let stray = if count > STRAY_MAX { High } else { Medium };
    let (severity, id, one, many) = match hidden {
        Hidden::Escape => {
            (High, "escape", "a sequence that drives a terminal", "sequences that drive a terminal")
        }
        Hidden::Control => (Medium, "control", "a control character", "control characters"),
        Hidden::ZeroWidth => {
            let severity = if is_name { High } else { stray };
            (severity, "zero-width", "a character that takes no room", "characters that take no room")
        }
        Hidden::Override => (
            High,
            "bidirectional",
            "a character that changes the direction of reading",
            "characters that change the direction of reading",
        ),
        Hidden::Mark if is_rtl && !is_name => return None,
        Hidden::Mark => (
            Medium,
            "bidirectional",
            "a mark of the direction of reading",
            "marks of the direction of reading",
        ),
        Hidden::Tag => {
            (High, "tags", "a letter that no font shows", "letters that no font shows, which models read")
        }
        Hidden::Variation => (stray, "variation", "a stray variation selector", "stray variation selectors"),
    };
    let says = if count == 1 { one.to_owned() } else { format!("{count} {many}") };
    Some((severity, id, says))
}

//! Where a text stands in characters that look the same: letters with their accents composed or apart, other blanks, quotes and
//! dashes, and what has no width at all. Reading the file again shows no difference.

use memchr::memmem;
use unicode_normalization::char::decompose_canonical;

use super::lines_told::{line_numbers, lines_told};

/// Most characters of a difference that are told.
const CHARS_TOLD_MAX: usize = 8;

/// Where `old` stands so in `text`, and the first difference, as a part of a sentence.
pub(super) fn look_alikes(text: &str, old: &str) -> Option<String> {
    let (folded, folded_old) = (Folded::of(text), Folded::of(old));
    let places: Vec<usize> = match folded_old.text.is_empty() {
        true => Vec::new(),
        false => memmem::find_iter(folded.text.as_bytes(), folded_old.text.as_bytes()).collect(),
    };
    let first = *places.first()?;
    let last = folded.from[first + folded_old.text.len() - 1];
    let end = last + text[last..].chars().next().map_or(0, char::len_utf8);
    let lines = lines_told(&line_numbers(&folded.text, &places));
    let (theirs, ours) = first_difference(&text[folded.from[first]..end], old);
    Some(format!(
        "it stands at {lines} in characters that look the same: the file has {} where `old_text` has {}; write them so \
         (\\u0301 is U+0301), or take text beside them",
        code_points(&theirs),
        code_points(&ours)
    ))
}

/// A text of which only the looks are left.
struct Folded {
    text: String,
    /// For each of its bytes, where the character that it is of begins in the original.
    from: Vec<usize>,
}

impl Folded {
    fn of(original: &str) -> Folded {
        let mut folded = Folded { text: String::new(), from: Vec::new() };
        for (at, char) in original.char_indices() {
            fold(char, &mut folded.text);
            folded.from.resize(folded.text.len(), at);
        }
        folded
    }
}

fn fold(char: char, into: &mut String) {
    match char {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => into.push(' '),
        '\u{2018}'..='\u{201b}' | '\u{2032}' => into.push('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => into.push('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => into.push('-'),
        '\u{2026}' => into.push_str("..."),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
        other => decompose_canonical(other, |part| into.push(part)),
    }
}

/// The first pieces of two texts that look the same and are not.
fn first_difference(theirs: &str, ours: &str) -> (Vec<char>, Vec<char>) {
    let same = theirs.chars().zip(ours.chars()).take_while(|(a, b)| a == b).count();
    let (mut theirs, mut ours) = (theirs.chars().skip(same), ours.chars().skip(same));
    let (mut of_theirs, mut of_ours, mut ahead) = (Vec::new(), Vec::new(), 0);
    loop {
        let their = if ahead <= 0 { theirs.next() } else { None };
        let our = if ahead >= 0 { ours.next() } else { None };
        ahead += their.map_or(0, looks_bytes) - our.map_or(0, looks_bytes);
        of_theirs.extend(their);
        of_ours.extend(our);
        if ahead == 0 || (their, our) == (None, None) {
            return (of_theirs, of_ours);
        }
    }
}

fn looks_bytes(char: char) -> isize {
    let mut looks = String::new();
    fold(char, &mut looks);
    looks.len().cast_signed()
}

fn code_points(chars: &[char]) -> String {
    let told = chars.iter().take(CHARS_TOLD_MAX).map(|char| format!("U+{:04X}", u32::from(*char)));
    match chars.len() {
        0 => "nothing".to_owned(),
        1..=CHARS_TOLD_MAX => told.collect::<Vec<_>>().join(" "),
        _ => told.collect::<Vec<_>>().join(" ") + " and more",
    }
}

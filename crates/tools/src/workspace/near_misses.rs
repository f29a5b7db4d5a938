//! Where a text stands almost: with other line ends, in characters that look the same, with other white space, or its first
//! line alone.

use memchr::memmem;

use super::lines_told::{line_numbers, lines_told};
use super::look_alikes::look_alikes;

/// Texts up to this size are looked through for what is almost there, in bytes.
const LOOKED_AT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What stands in `text` in place of `old`, as parts of a sentence.
pub(super) fn near_misses(text: &str, old: &str) -> Vec<String> {
    if text.len() > LOOKED_AT_BYTES_MAX {
        return Vec::new();
    }
    let without = |text: &str| text.replace('\r', "");
    let lines = lines_of(&without(text), &without(old));
    if !lines.is_empty() {
        return vec![format!("with other line ends it stands at {}", lines_told(&lines))];
    }
    if let Some(told) = look_alikes(text, old) {
        return vec![told];
    }
    let lines = lines_but_for_space(text, old);
    if !lines.is_empty() {
        return vec![format!("with other white space it stands at {}", lines_told(&lines))];
    }
    let first =
        old.lines().map(str::trim).find(|line| !line.is_empty()).filter(|_| old.trim().contains('\n'));
    let lines = first.map(|first| lines_of(text, first)).unwrap_or_default();
    if lines.is_empty() {
        Vec::new()
    } else {
        vec![format!("its first line alone stands at {}", lines_told(&lines))]
    }
}

fn lines_of(text: &str, old: &str) -> Vec<usize> {
    line_numbers(text, &memmem::find_iter(text.as_bytes(), old.as_bytes()).collect::<Vec<_>>())
}

/// The lines where the words of `old` stand one after the other, whatever white space is between them.
fn lines_but_for_space(text: &str, old: &str) -> Vec<usize> {
    let words: Vec<&str> = old.split_whitespace().collect();
    if words.is_empty() {
        return Vec::new();
    }
    let (old, mut joined, mut ends) = (words.join(" "), String::new(), Vec::new());
    for line in text.lines() {
        for word in line.split_whitespace() {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(word);
        }
        ends.push(joined.len());
    }
    // A line ends before its place: what begins there is on the next.
    memmem::find_iter(joined.as_bytes(), old.as_bytes())
        .map(|at| ends.partition_point(|end| *end <= at) + 1)
        .collect()
}

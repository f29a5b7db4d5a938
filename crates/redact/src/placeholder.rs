//! What stands in place of a secret, as somebody may send it back who has read it.

use memchr::{memchr, memmem};

use crate::hits::{MARK, NAME_BYTES_MAX};

/// The lines of `text`, counted from 1, that hold what is written in place of a secret: `[REDACTED:…]` with any name,
/// since what was known by it may be forgotten. The stars for what has no name are none: they stand in many texts.
pub fn placeholder_lines(text: &[u8]) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for at in memmem::find_iter(text, MARK) {
        let name = &text[at + MARK.len()..text.len().min(at + MARK.len() + NAME_BYTES_MAX + 1)];
        let end = memchr(b']', name).unwrap_or_default();
        if end == 0 || memchr(b'\n', &name[..end]).is_some() {
            continue;
        }
        line += memchr::memchr_iter(b'\n', &text[counted..at]).count();
        counted = at;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_with_a_placeholder_is_told_once() {
        for (text, expected) in [
            ("", &[][..]),
            ("a\n[REDACTED:A] [REDACTED:B#2]\n\nx=[REDACTED:github-pat]\n", &[2, 4]),
            ("[REDACTED:A]", &[1]),
            ("[REDACTED:[REDACTED:A]", &[1]),
            ("[REDACTED]\n[REDACTED:]\n[REDACTED:a\nb]\n***\n[redacted:A]", &[]),
        ] {
            assert_eq!(placeholder_lines(text.as_bytes()), expected, "{text}");
        }
        let long = format!("[REDACTED:{}]", "x".repeat(NAME_BYTES_MAX + 1));
        assert!(placeholder_lines(long.as_bytes()).is_empty());
    }
}

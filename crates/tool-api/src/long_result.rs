//! Results whose text is too long for one answer: where a part of it ends, and how the next one is read.

use std::ops::Range;
use std::sync::Arc;

/// The tool that reads on in such a result. The gate cuts nothing for callers who may not call it.
pub const RESULT_READ: &str = "result_read";

/// A part ends with a line, if a line ends within this fraction of the part before its end.
const LINE_END_FRACTION: usize = 8;

/// The whole text of a result that is shown in parts.
#[derive(Debug, Clone)]
pub struct LongResult {
    text: Arc<str>,
    part_bytes_max: usize,
}

impl LongResult {
    /// The result with this text, in parts of so many bytes at most.
    pub fn new(text: impl Into<Arc<str>>, part_bytes_max: usize) -> LongResult {
        LongResult { text: text.into(), part_bytes_max }
    }

    /// How many bytes the whole text has.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The range of the part that begins at this byte, or at the character that the byte is a part of.
    pub fn part(&self, from: usize) -> Range<usize> {
        let start = self.text.floor_char_boundary(from);
        start..part_end(&self.text, start, self.part_bytes_max)
    }

    /// The text of a part.
    pub fn text(&self, part: &Range<usize>) -> &str {
        self.text.get(part.clone()).unwrap_or_default()
    }

    /// What is said below a part of the result of this id.
    pub fn mark(&self, id: &str, part: &Range<usize>) -> String {
        let (Range { start, end }, whole) = (part, self.bytes());
        let on = match *end < whole {
            true => format!("To read on, call {RESULT_READ} with id: \"{id}\", offset: {end}."),
            false => "This is its end.".to_owned(),
        };
        let shown = end - start;
        format!("[{shown} bytes from byte {start} of a result with {whole} bytes of text. {on}]")
    }
}

/// Where a part ends that begins at `start`: at the end of a line close before the most it may have, or else between two
/// characters.
fn part_end(text: &str, start: usize, bytes_max: usize) -> usize {
    let most = start.saturating_add(bytes_max);
    if most >= text.len() {
        return text.len();
    }
    let end = text.floor_char_boundary(most);
    let near = text.floor_char_boundary(most - bytes_max / LINE_END_FRACTION).max(start);
    text[near..end].rfind('\n').map_or(end, |at| near + at + 1)
}

/// Finds results that their caller was shown a part of.
pub trait Results: Send + Sync {
    /// The result of this id; nothing if it is another caller's, or not kept any more.
    fn find(&self, id: &str) -> Option<LongResult>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All parts of a text one after the other.
    #[track_caller]
    fn check(text: &str, bytes_max: usize, expected: &[&str]) {
        let result = LongResult::new(text, bytes_max);
        let mut parts = Vec::new();
        let mut from = 0;
        while from < result.bytes() {
            let part = result.part(from);
            parts.push(result.text(&part).to_owned());
            from = part.end;
        }
        assert_eq!(parts, expected, "{text:?} in parts of {bytes_max}");
    }

    #[test]
    fn parts_end_with_a_line_or_a_character() {
        check("0123456789", 10, &["0123456789"]);
        check("0123456789a", 10, &["0123456789", "a"]);
        // A line that ends close before is the end; one that ends long before is not.
        check("0123456789abcd\nfghijk", 16, &["0123456789abcd\n", "fghijk"]);
        check("0123456789abc\nefghijk", 16, &["0123456789abc\nef", "ghijk"]);
        check("aéé", 4, &["aé", "é"]);
        check("😀😀", 7, &["😀", "😀"]);
        check("", 4, &[]);
    }

    #[test]
    fn an_offset_within_a_character_means_the_character() {
        let result = LongResult::new("a😀b", 100);
        assert_eq!([1, 2, 4, 5].map(|from| result.part(from).start), [1, 1, 1, 5]);
        assert_eq!(result.part(7), 6..6);
    }

    #[test]
    fn the_mark_says_how_to_read_on() {
        let result = LongResult::new("0123456789", 4);
        assert_eq!(
            result.mark("x1", &result.part(4)),
            r#"[4 bytes from byte 4 of a result with 10 bytes of text. To read on, call result_read with id: "x1", offset: 8.]"#
        );
        assert_eq!(
            result.mark("x1", &result.part(8)),
            "[2 bytes from byte 8 of a result with 10 bytes of text. This is its end.]"
        );
    }
}

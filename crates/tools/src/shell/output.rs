//! `Output`: what a command prints, of which an answer shows head and tail, and an artifact keeps the whole. However much it
//! is, little of it is in memory.

use memchr::memchr_iter;
use tool_api::{
    ARTIFACT_READ, ARTIFACT_SEARCH, Artifact, ArtifactWriter, Context, Striking, TEXT, ToolError,
};

use crate::workspace::read::LINES_MAX;

/// What the whole is called.
const NAME: &str = "output.txt";

/// The share of the tail: the end of a log says how it came out, and its beginning what it was.
const TAIL_FRACTION: usize = 3;

/// A part ends with a line, if a line ends within this fraction of the part before its end.
const LINE_END_FRACTION: usize = 8;

/// Lines of head and tail together.
const SHOWN_LINES_MAX: usize = LINES_MAX as usize;

/// The output of one command.
pub(super) struct Output<'c> {
    cx: &'c Context,
    bytes_max: usize,
    /// All of it while it fits.
    all: String,
    /// The lines of it.
    lines: usize,
    long: Option<Long>,
}

/// One that is too long for an answer.
struct Long {
    /// Before anything is cut: half a secret is not known as one any more.
    striking: Option<Box<dyn Striking>>,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Of all of it, without secrets.
    bytes: u64,
    writer: Option<Box<dyn ArtifactWriter>>,
    kept: Result<Option<Artifact>, ToolError>,
}

/// What is shown of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    /// The id of the artifact that holds the whole, if not all of it is shown.
    pub(super) artifact: Option<String>,
}

impl<'c> Output<'c> {
    pub(super) fn new(cx: &'c Context, bytes_max: usize) -> Output<'c> {
        Output { cx, bytes_max, all: String::new(), lines: 0, long: None }
    }

    /// Takes the next piece.
    pub(super) async fn take(&mut self, text: &str) {
        if self.long.is_none() {
            self.all.push_str(text);
            self.lines += line_ends(text.as_bytes()).count();
            if self.all.len() > self.bytes_max || self.lines > SHOWN_LINES_MAX {
                let all = std::mem::take(&mut self.all);
                let mut long = Long::begin(self.cx).await;
                long.take(&all, self.bytes_max).await;
                self.long = Some(long);
            }
        } else if let Some(long) = &mut self.long {
            long.take(text, self.bytes_max).await;
        }
    }

    /// What is shown of it.
    pub(super) async fn end(self) -> Shown {
        match self.long {
            None => Shown { text: self.all, artifact: None },
            Some(long) => long.end(self.bytes_max).await,
        }
    }
}

impl Long {
    async fn begin(cx: &Context) -> Long {
        let striking = cx.secrets.as_ref().map(|secrets| secrets.striking());
        let created = match cx.artifacts() {
            Ok(artifacts) => artifacts.create(NAME, TEXT).await,
            Err(error) => Err(error),
        };
        let (writer, kept) = match created {
            Ok(writer) => (Some(writer), Ok(None)),
            Err(error) => (None, Err(error)),
        };
        Long { striking, head: Vec::new(), tail: Vec::new(), bytes: 0, writer, kept }
    }

    async fn take(&mut self, text: &str, bytes_max: usize) {
        if let Some(mut writer) = self.writer.take() {
            match writer.write(text.to_owned().into()).await {
                Ok(()) => self.writer = Some(writer),
                Err(error) => self.kept = Err(error),
            }
        }
        match &mut self.striking {
            Some(striking) => {
                let clean = striking.push(text.as_bytes());
                self.show(&clean, bytes_max);
            }
            None => self.show(text.as_bytes(), bytes_max),
        }
    }

    /// Puts the next piece where it belongs, and lets go what is between head and tail.
    fn show(&mut self, clean: &[u8], bytes_max: usize) {
        let tail_max = bytes_max / TAIL_FRACTION;
        self.bytes += clean.len() as u64;
        let (head, rest) =
            clean.split_at(clean.len().min((bytes_max - tail_max).saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * tail_max {
            self.tail.drain(..self.tail.len() - tail_max);
        }
    }

    async fn end(mut self, bytes_max: usize) -> Shown {
        if let Some(mut striking) = self.striking.take() {
            let clean = striking.finish();
            self.show(&clean, bytes_max);
        }
        if let Some(writer) = self.writer.take() {
            self.kept = writer.finish().await.map(Some);
        }
        let tail_lines_max = SHOWN_LINES_MAX / TAIL_FRACTION;
        // What is too many lines for the head is the tail's, unless more than that is left out.
        let rest = self.head.split_off(first_lines(&self.head, SHOWN_LINES_MAX - tail_lines_max));
        self.tail.splice(..0, rest);
        self.tail.drain(..self.tail.len().saturating_sub(bytes_max / TAIL_FRACTION));
        self.tail.drain(..last_lines(&self.tail, tail_lines_max));
        let (head, tail) = (head(&self.head), tail(&self.tail));
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        let size = format!("{left_out} of {} bytes are left out here", self.bytes);
        let (mark, artifact) = match self.kept {
            Ok(Some(Artifact { id, .. })) => {
                let offset = head.len();
                let how = format!(
                    "To read on, call {ARTIFACT_READ} with id: \"{id}\", offset: {offset}; to find something, call \
                     {ARTIFACT_SEARCH} with this id"
                );
                (format!("[{size}. {how}.]"), Some(id))
            }
            Ok(None) => (format!("[{size}.]"), None),
            Err(error) => (format!("[{size}, and could not be kept: {error}.]"), None),
        };
        let line = |text: &str| if text.ends_with('\n') { "" } else { "\n" };
        Shown { text: format!("{head}{}{mark}\n{tail}", line(head)), artifact }
    }
}

fn line_ends(bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
    memchr_iter(b'\n', bytes).map(|at| at + 1)
}

/// Where so many lines end.
fn first_lines(bytes: &[u8], most: usize) -> usize {
    line_ends(bytes).nth(most - 1).unwrap_or(bytes.len())
}

/// Where the last so many lines begin.
fn last_lines(bytes: &[u8], most: usize) -> usize {
    line_ends(bytes).rev().filter(|end| *end < bytes.len()).nth(most - 1).unwrap_or(0)
}

/// As much of it as are whole characters, and whole lines if one ends close before.
fn head(bytes: &[u8]) -> &str {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    let near = text.floor_char_boundary(text.len() - text.len() / LINE_END_FRACTION);
    text[near..].rfind('\n').map_or(text, |at| &text[..near + at + 1])
}

/// The same of an end.
fn tail(bytes: &[u8]) -> &str {
    // The rest of a character that was cut.
    let start = bytes.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let text = std::str::from_utf8(&bytes[start..]).unwrap_or_default();
    let near = text.floor_char_boundary(text.len() / LINE_END_FRACTION);
    text[..near].find('\n').map_or(text, |at| &text[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_end_with_a_line_or_a_character() {
        for (bytes, head_of_it, tail_of_it) in [
            ("0123456789", "0123456789", "0123456789"),
            ("01234567890123456\n8", "01234567890123456\n", "01234567890123456\n8"),
            ("0\n234567890123456789", "0\n234567890123456789", "234567890123456789"),
        ] {
            assert_eq!(
                (head(bytes.as_bytes()), tail(bytes.as_bytes())),
                (head_of_it, tail_of_it),
                "{bytes:?}"
            );
        }
        assert_eq!(head(&"é".as_bytes()[..1]), "");
        assert_eq!(head(&"aé".as_bytes()[..2]), "a");
        assert_eq!(tail(&"éa".as_bytes()[1..]), "a");
        assert_eq!(tail(&"😀a".as_bytes()[1..]), "a");
    }

    #[test]
    fn so_many_lines_are_counted_from_either_end() {
        for (bytes, most, first, last) in [
            ("a\nb\nc\n", 1, "a\n", "c\n"),
            ("a\nb\nc", 1, "a\n", "c"),
            ("a\nb\nc", 2, "a\nb\n", "b\nc"),
            ("a\nb\nc", 3, "a\nb\nc", "a\nb\nc"),
            ("\n\n", 1, "\n", "\n"),
            ("", 1, "", ""),
        ] {
            let found =
                (&bytes[..first_lines(bytes.as_bytes(), most)], &bytes[last_lines(bytes.as_bytes(), most)..]);
            assert_eq!(found, (first, last), "{bytes:?} {most}");
        }
    }
}

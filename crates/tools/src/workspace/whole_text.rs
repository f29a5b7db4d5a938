//! `WholeText`: a text file read whole, to be changed and written again as it was: encoding, byte order mark and line ends.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use tool_api::{Expect, FileError, Inside, Root, ToolError};

use super::file_error::refused;
use super::text_encoding::{Encoding, Extent};
use super::writer::CONTENT_BYTES_MAX;

/// A text as it is shown, and how it is written.
#[derive(Debug)]
pub(super) struct WholeText {
    text: String,
    /// How much of it is a byte order mark, which is not shown.
    mark_bytes: usize,
    encoding: Encoding,
    /// What is in the file, if that is not the text itself.
    encoded: Option<Vec<u8>>,
}

impl WholeText {
    /// Reads a text of at most 10 MiB that comes out byte for byte when it is written again. Blocks.
    pub(super) fn read(files: &Root, path: &Inside) -> Result<WholeText, ToolError> {
        let file = files.read(path, 0, CONTENT_BYTES_MAX).map_err(refused)?;
        if file.total_bytes > CONTENT_BYTES_MAX as u64 {
            let (max, unit) = (CONTENT_BYTES_MAX, "bytes");
            return Err(refused(FileError::TooLarge { what: "the file", max, unit }));
        }
        WholeText::of(file.bytes).ok_or_else(|| {
            let message =
                format!("{path} is not text, or cannot be written again as it is; nothing was changed");
            ToolError::new("not_text", message)
        })
    }

    fn of(bytes: Vec<u8>) -> Option<WholeText> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => {
                let (encoding, mark_bytes) = Encoding::of_text(&text)?;
                return Some(WholeText { text, mark_bytes, encoding, encoded: None });
            }
            Err(error) => error.into_bytes(),
        };
        let encoding = Encoding::of(&bytes, Extent::Whole)?;
        let text = encoding.decoded(&bytes)?;
        let is_same = encoding.encoded(&text).is_some_and(|again| again == bytes);
        is_same.then_some(WholeText { text, mark_bytes: 0, encoding, encoded: Some(bytes) })
    }

    pub(super) fn text(&self) -> &str {
        &self.text[self.mark_bytes..]
    }

    fn bytes(&self) -> &[u8] {
        self.encoded.as_deref().unwrap_or(self.text.as_bytes())
    }

    /// Refuses if it is another than the caller expects.
    pub(super) fn check(&self, expected_sha256: Option<&str>) -> Result<(), ToolError> {
        let Some(expected) = expected_sha256 else { return Ok(()) };
        let found = hex(self.bytes());
        match expected.eq_ignore_ascii_case(&found) {
            true => Ok(()),
            false => Err(refused(FileError::Changed(Some(found)))),
        }
    }

    /// That the file is still this one when it is written.
    pub(super) fn expected(self) -> Expect {
        Expect::Content(self.encoded.unwrap_or(self.text.into_bytes()))
    }

    /// The bytes of a new text in the encoding of this one.
    pub(super) fn written(&self, path: &Inside, new: String) -> Result<Vec<u8>, ToolError> {
        let bytes = match self.encoding.is_plain() {
            true => Some(new.into_bytes()),
            false => self.encoding.encoded(&new),
        };
        let bytes = bytes.ok_or_else(|| {
            let message = format!(
                "{path} is {}, which has no sign for some letters of the new text; nothing was changed",
                self.encoding.name()
            );
            ToolError::new("not_in_encoding", message)
        })?;
        if bytes.len() > CONTENT_BYTES_MAX {
            let (max, unit) = (CONTENT_BYTES_MAX, "bytes");
            return Err(refused(FileError::TooLarge { what: "the new content", max, unit }));
        }
        Ok(bytes)
    }
}

/// Whether every line of a text ends with `\r\n`, and there is one.
pub(super) fn has_crlf_alone(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut ends = memchr::memchr_iter(b'\n', bytes).peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && bytes[at - 1] == b'\r')
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}

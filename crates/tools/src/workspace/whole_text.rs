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
    encoding: Encoding,
    sha256: String,
}

impl WholeText {
    /// Reads a text of at most 10 MiB that comes out byte for byte when it is written again. Blocks.
    pub(super) fn read(files: &Root, path: &Inside) -> Result<WholeText, ToolError> {
        let file = files.read(path, 0, CONTENT_BYTES_MAX).map_err(refused)?;
        if file.total_bytes > CONTENT_BYTES_MAX as u64 {
            let (max, unit) = (CONTENT_BYTES_MAX, "bytes");
            return Err(refused(FileError::TooLarge { what: "the file", max, unit }));
        }
        let encoding = Encoding::of(&file.bytes, Extent::Whole);
        let read = encoding.and_then(|encoding| Some((encoding, encoding.decoded(&file.bytes)?)));
        let same =
            read.filter(|(encoding, text)| encoding.encoded(text).is_some_and(|again| again == file.bytes));
        let (encoding, text) = same.ok_or_else(|| {
            let message =
                format!("{path} is not text, or cannot be written again as it is; nothing was changed");
            ToolError::new("not_text", message)
        })?;
        Ok(WholeText { text, encoding, sha256: hex(&file.bytes) })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// That the file is still this one when it is written; refuses if it is another than the caller expects.
    pub(super) fn expect(&self, expected_sha256: Option<&str>) -> Result<Expect, ToolError> {
        if expected_sha256.is_some_and(|expected| !expected.eq_ignore_ascii_case(&self.sha256)) {
            return Err(refused(FileError::Changed(Some(self.sha256.clone()))));
        }
        Ok(Expect::Sha256(self.sha256.clone()))
    }

    /// The bytes of a new text in the encoding of this one.
    pub(super) fn written(&self, path: &Inside, new: &str) -> Result<Vec<u8>, ToolError> {
        let bytes = self.encoding.encoded(new).ok_or_else(|| {
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

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}

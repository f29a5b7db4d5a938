//! The bytes of a file as content for a model: text within a range and a budget, a picture, a sound, or
//! bytes with an address; and a second block that says what is not there.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Seek as _};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tool_api::{Block, Cancel, Document, FileError, FilePart, Inside, Root, Secrets, ToolError};

use super::file_error::refused;
use super::media_type::{self, Form};
use super::text_encoding::{Decoder, Encoding, Extent, is_shown_as_is};
use super::text_range::{Picker, TextRange};

/// Pictures, sounds and other bytes in one answer, before base64; model providers refuse more.
pub(super) const MEDIA_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Larger files are not read to their end only to count their lines.
pub(super) const COUNTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One step of reading a large file; between two steps the call can be cancelled.
const STEP_BYTES: usize = 256 * 1024;

/// What is asked of one file.
pub(super) struct Asked {
    pub(super) path: Inside,
    pub(super) range: TextRange,
    /// In place of a range: the last so many lines.
    pub(super) tail: Option<u64>,
    pub(super) sha256: bool,
    /// Text in one answer.
    pub(super) text_bytes_max: usize,
    pub(super) secrets: Option<Arc<dyn Secrets>>,
}

impl Asked {
    /// Shows a file that was read to its end.
    pub(super) fn small(&self, file: FilePart, cancel: &Cancel) -> Result<Document, ToolError> {
        let plainly = self.tail.is_none() && !self.sha256 && !file.bytes.is_empty();
        let fits = |text: &str| text.len() <= self.text_bytes_max && self.range.is_all_of(text.as_bytes());
        let bytes = match String::from_utf8(file.bytes) {
            // By far the most common case, and the only one where the bytes are not copied.
            Ok(text) if plainly && fits(&text) && is_shown_as_is(&text) => {
                return Ok(Document(vec![Block::Text(text)]));
            }
            Ok(text) => text.into_bytes(),
            Err(error) => error.into_bytes(),
        };
        match Encoding::of(&bytes, Extent::Whole) {
            Some(encoding) => {
                let range = self.range(encoding, &mut bytes.as_slice(), file.total_bytes, cancel)?;
                self.text(encoding, range, &mut bytes.as_slice(), file.total_bytes, cancel)
            }
            None => Ok(self.media(bytes)),
        }
    }

    /// Shows a file of which `head` is only the beginning. Blocks.
    pub(super) fn large(&self, head: FilePart, files: &Root, cancel: &Cancel) -> Result<Document, ToolError> {
        if let Some(encoding) = Encoding::of(&head.bytes, Extent::Head) {
            let (file, meta) = files.open_read(&self.path).map_err(refused)?;
            let mut file = BufReader::with_capacity(STEP_BYTES, file);
            let range = self.range(encoding, &mut file, meta.bytes, cancel)?;
            file.rewind().map_err(|error| refused(FileError::Io(error)))?;
            return self.text(encoding, range, &mut file, meta.bytes, cancel);
        }
        if head.total_bytes > MEDIA_BYTES_MAX as u64 {
            return Err(self.too_large(&head));
        }
        Ok(self.media(files.read(&self.path, 0, MEDIA_BYTES_MAX).map_err(refused)?.bytes))
    }

    /// The range that is asked for; of a tail its first line, for which the lines are counted.
    fn range(
        &self,
        encoding: Encoding,
        file: &mut dyn BufRead,
        file_bytes: u64,
        cancel: &Cancel,
    ) -> Result<TextRange, ToolError> {
        let Some(tail) = self.tail else { return Ok(self.range) };
        if file_bytes > COUNTED_BYTES_MAX {
            let message = format!(
                "{} has {file_bytes} bytes; `tail` is for files up to {COUNTED_BYTES_MAX}",
                self.path
            );
            return Err(ToolError::new("too_large", message));
        }
        let first = TextRange { lines_max: Some(1), ..TextRange::ALL };
        let mut picker = Picker::new(first, STEP_BYTES, None);
        let ended = feed(&mut picker, None, encoding, file, 0, cancel)?;
        let lines = picker.finish(ended).ok().and_then(|picked| picked.lines_total).unwrap_or(1);
        Ok(TextRange { first_line: lines.saturating_sub(tail) + 1, ..TextRange::ALL })
    }

    fn text(
        &self,
        encoding: Encoding,
        range: TextRange,
        file: &mut dyn BufRead,
        file_bytes: u64,
        cancel: &Cancel,
    ) -> Result<Document, ToolError> {
        let striking = self.secrets.as_ref().map(|secrets| secrets.striking());
        let mut picker = Picker::new(range, self.text_bytes_max, striking);
        let mut digest = self.sha256.then(Sha256::new);
        // With its last byte seen, a file is always read to the end, so that the end is known.
        let may_stop_before = if file_bytes <= COUNTED_BYTES_MAX || self.sha256 { 0 } else { file_bytes };
        let ended = feed(&mut picker, digest.as_mut(), encoding, file, may_stop_before, cancel)?;
        let picked =
            picker.finish(ended).map_err(|error| ToolError::new("invalid_range", error.to_string()))?;

        let mut remarks: Vec<String> = Vec::new();
        if picked.bytes.is_empty() && ended {
            remarks.push(format!("[{} is empty.]", self.path));
        }
        remarks.extend(picked.mark(file_bytes));
        remarks.extend(encoding.remark());
        let text = String::from_utf8(picked.bytes).unwrap_or_else(|error| {
            remarks.push("[Bytes that are not UTF-8 are shown as U+FFFD.]".to_owned());
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        remarks.extend(digest.map(sha256_remark));
        Ok(document((!text.is_empty()).then_some(Block::Text(text)), &remarks))
    }

    fn media(&self, bytes: Vec<u8>) -> Document {
        let kind = media_type::of(self.path.name().unwrap_or_default(), &bytes);
        let remarks: Vec<String> =
            self.sha256.then(|| sha256_remark(Sha256::new_with_prefix(&bytes))).into_iter().collect();
        let mime = kind.name.into();
        let block = match kind.form {
            Form::Image => Block::Image { mime, bytes },
            Form::Audio => Block::Audio { mime, bytes },
            Form::Blob => Block::Blob { uri: file_uri(&self.path), mime, bytes },
        };
        document(Some(block), &remarks)
    }

    fn too_large(&self, head: &FilePart) -> ToolError {
        let kind = media_type::of(self.path.name().unwrap_or_default(), &head.bytes).name;
        let (path, bytes) = (&self.path, head.total_bytes);
        ToolError::new(
            "too_large",
            format!(
                "{path} ({kind}) has {bytes} bytes; files that are not text are shown up to {MEDIA_BYTES_MAX} bytes"
            ),
        )
    }
}

/// Feeds a file to the picker; true if it was read to its end. Before the byte `may_stop_before` it may be
/// left when the picker has what it wants.
fn feed(
    picker: &mut Picker,
    mut digest: Option<&mut Sha256>,
    encoding: Encoding,
    file: &mut dyn BufRead,
    may_stop_before: u64,
    cancel: &Cancel,
) -> Result<bool, ToolError> {
    let mut decoder = Decoder::new(encoding);
    let mut at = 0;
    while !picker.is_done() || at >= may_stop_before {
        if cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let bytes = match file.fill_buf() {
            Ok([]) => {
                picker.feed(decoder.finish());
                return Ok(true);
            }
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused(FileError::Io(error))),
        };
        let read = bytes.len();
        at += read as u64;
        if let Some(digest) = &mut digest {
            digest.update(bytes);
        }
        picker.feed(decoder.feed(bytes));
        file.consume(read);
    }
    Ok(false)
}

/// What is shown, and beside it what there is to say of it.
fn document(shown: Option<Block>, remarks: &[String]) -> Document {
    let remarks = (!remarks.is_empty()).then(|| Block::Text(remarks.join("\n")));
    Document(shown.into_iter().chain(remarks).collect())
}

fn sha256_remark(digest: Sha256) -> String {
    let mut remark = "[sha256: ".to_owned();
    for byte in digest.finalize() {
        write!(remark, "{byte:02x}").expect("writing to a string cannot fail");
    }
    remark + "]"
}

/// The address of a file as clients know the workspace, whatever its real path is.
fn file_uri(path: &Inside) -> String {
    let mut uri = "file:///workspace/".to_owned();
    for &byte in path.as_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            _ => write!(uri, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    uri
}

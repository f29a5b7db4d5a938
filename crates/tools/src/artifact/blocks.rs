//! `Blocks`: an artifact block after block, for whoever looks at all of it and holds little of it.

use tool_api::{ArtifactReader, Cancel, ToolError};

/// Bytes that are read at once.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;

/// Reads one after the other.
pub(super) struct Blocks<'a> {
    reader: &'a dyn ArtifactReader,
    cancel: &'a Cancel,
    block: Vec<u8>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(reader: &'a dyn ArtifactReader, cancel: &'a Cancel) -> Blocks<'a> {
        Blocks { reader, cancel, block: vec![0; BLOCK_BYTES] }
    }

    /// The block that begins there; empty at the end.
    pub(super) fn at(&mut self, offset: u64) -> Result<&[u8], ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let bytes = self.reader.read_at(offset, &mut self.block).map_err(unreadable)?;
        Ok(&self.block[..bytes])
    }

    /// Where the line of this number begins, counted from 1; the end if there are not so many.
    pub(super) fn line(&mut self, number: u64) -> Result<u64, ToolError> {
        let (mut offset, mut left) = (0, number.saturating_sub(1));
        while left > 0 {
            let block = self.at(offset)?;
            if block.is_empty() {
                break;
            }
            let ends = memchr::memchr_iter(b'\n', block);
            match ends.clone().nth(usize::try_from(left - 1).unwrap_or(usize::MAX)) {
                Some(end) => return Ok(offset + end as u64 + 1),
                None => {
                    left -= ends.count() as u64;
                    offset += block.len() as u64;
                }
            }
        }
        Ok(offset)
    }

    /// So many bytes from there on, or as many as there are.
    pub(super) fn range(&mut self, offset: u64, bytes: usize) -> Result<Vec<u8>, ToolError> {
        let mut range = Vec::with_capacity(bytes.min(BLOCK_BYTES));
        while range.len() < bytes {
            let block = self.at(offset + range.len() as u64)?;
            if block.is_empty() {
                break;
            }
            let taken = block.len().min(bytes - range.len());
            range.extend_from_slice(&block[..taken]);
        }
        Ok(range)
    }
}

fn unreadable(error: std::io::Error) -> ToolError {
    ToolError::new("artifacts_unavailable", "the artifact cannot be read").with_source(error)
}

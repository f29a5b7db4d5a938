//! The hand that writes, so that tests can make it shake.

use std::{fs::File, io, io::Write};

/// Writes bytes at the end of a file. Every byte of the book and of the journals passes here.
pub(crate) trait Pen: Send + Sync {
    /// Writes all bytes; after an error any part of them may have been written.
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()>;

    /// Takes back what a write left after this length.
    fn take_back(&self, file: &File, len: u64) -> io::Result<()>;
}

/// The real one.
pub(crate) struct Steady;

impl Pen for Steady {
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn take_back(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }
}

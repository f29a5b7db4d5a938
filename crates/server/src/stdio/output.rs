//! Standard output as a stream of lines.
//!
//! Lines gather in a buffer; one `write` takes all that one turn of the door has brought. While the reader
//! at the other end is slow the door waits here and reads nothing more, so the buffer stays bounded by
//! what one read can ask for.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixStream, unix::pipe};

use super::input::{file_type, socket};

/// Room kept between turns, in bytes; what a large answer needed beyond it is given back.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// From here on copying a line costs more than making a new buffer later.
const TAKEN_OVER_BYTES_MIN: usize = 16 * 1024;

enum Sink {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    /// A terminal or file: written to directly, since it cannot be waited for.
    Direct,
}

/// Where a client reads.
pub(super) struct Output {
    sink: Sink,
    buffer: Vec<u8>,
}

impl Output {
    pub(super) fn open() -> io::Result<Output> {
        let stdout: OwnedFd = rustix::io::dup(rustix::stdio::stdout())?;
        let sink = match file_type(&stdout)? {
            FileType::Fifo => Sink::Pipe(pipe::Sender::from_owned_fd(stdout)?),
            FileType::Socket => Sink::Socket(socket(stdout)?),
            _ => Sink::Direct,
        };
        Ok(Output { sink, buffer: Vec::new() })
    }

    /// Where a line is being written; end it with [`Output::end_line`], giving where it began.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(super) fn end_line(&mut self, start: usize) {
        wire::lines::end_line(&mut self.buffer, start);
    }

    /// Adds one line.
    pub(super) fn line(&mut self, frame: &[u8]) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(frame);
        self.end_line(start);
    }

    /// Adds one line that nobody else needs: a large one is taken over rather than copied.
    pub(super) fn own_line(&mut self, frame: Vec<u8>) {
        if self.buffer.is_empty() && frame.len() > TAKEN_OVER_BYTES_MIN {
            self.buffer = frame;
            self.end_line(0);
        } else {
            self.line(&frame);
        }
    }

    /// Writes all that has gathered.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        match &mut self.sink {
            Sink::Pipe(stdout) => stdout.write_all(&self.buffer).await?,
            Sink::Socket(stdout) => stdout.write_all(&self.buffer).await?,
            Sink::Direct => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&self.buffer)?;
                stdout.flush()?;
            }
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        Ok(())
    }
}

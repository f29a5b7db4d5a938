//! Standard input as a stream of bytes.
//!
//! Pipes and sockets are read when they are ready, on the thread that acts on what they bring. A terminal
//! or a file cannot be waited for like that, and to make a terminal non-blocking would change it for the
//! shell that comes after us; those are read on a thread of their own.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::BytesMut;
use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// Pieces read ahead from a terminal or file.
const PIECES_AHEAD_MAX: usize = 4;

/// Where a client's bytes come from.
pub(super) enum Input {
    /// A pipe; a socket, as some hosts use in place of pipes; or one direction of a connection.
    Stream(Box<dyn AsyncRead + Send + Unpin>),
    /// Anything else.
    Thread(mpsc::Receiver<io::Result<Vec<u8>>>),
}

impl Input {
    pub(super) fn open() -> io::Result<Input> {
        let stdin: OwnedFd = rustix::io::dup(rustix::stdio::stdin())?;
        if is_stream(&stdin) { Input::of(stdin) } else { Input::thread() }
    }

    /// From a pipe or a socket.
    ///
    /// # Errors
    /// It is neither, or cannot be read.
    pub(super) fn of(stream: OwnedFd) -> io::Result<Input> {
        Ok(Input::Stream(match file_type(&stream)? {
            FileType::Socket => Box::new(socket(stream)?),
            _ => Box::new(pipe::Receiver::from_owned_fd(stream)?),
        }))
    }

    fn thread() -> io::Result<Input> {
        let (pieces, receiver) = mpsc::channel(PIECES_AHEAD_MAX);
        let read = move || {
            loop {
                let mut piece = vec![0; wire::lines::READ_BYTES];
                let read = io::stdin().lock().read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let last = !matches!(&read, Ok(piece) if !piece.is_empty());
                if pieces.blocking_send(read).is_err() || last {
                    return;
                }
            }
        };
        // The thread ends with its input or, blocked in a read, with the process.
        std::thread::Builder::new().name("stdin".into()).spawn(read)?;
        Ok(Input::Thread(receiver))
    }

    /// Reads what is there into `buffer`; 0 means that the client has closed its end. A short read counts
    /// as "empty now" without a second system call to prove it.
    pub(super) async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Input::Stream(reader) => reader.read_buf(buffer).await,
            Input::Thread(pieces) => match pieces.recv().await {
                Some(piece) => piece.map(|piece| {
                    buffer.extend_from_slice(&piece);
                    piece.len()
                }),
                None => Ok(0),
            },
        }
    }
}

/// True for a pipe or a socket, which can be waited for, and be handed to another process that does so. A terminal or a
/// file is read where its client started us.
pub fn is_stream(fd: impl AsFd) -> bool {
    matches!(file_type(fd), Ok(FileType::Fifo | FileType::Socket))
}

/// What a descriptor is.
pub(super) fn file_type(fd: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// A socket that came as a standard descriptor.
pub(super) fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

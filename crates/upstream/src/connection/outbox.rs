//! `Outbox`: lines on their way into a pipe. The sender writes them itself while the pipe has room; what
//! does not fit waits in a bounded queue for the flusher.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::{Buf, BytesMut};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::unix::pipe::Sender;
use tokio::sync::Notify;

use crate::fault::Fault;

/// Bytes that wait for a server which does not read; room for one message of the largest size.
const QUEUE_BYTES_MAX: usize = wire::STDIO_MESSAGE_BYTES_MAX + 1024 * 1024;

/// What the lines go into.
#[derive(Debug)]
pub(crate) enum Pipe {
    /// The stdin of a program.
    Stdin(Sender),
    /// A socket.
    Socket(OwnedWriteHalf),
}

impl Pipe {
    async fn writable(&self) -> io::Result<()> {
        match self {
            Pipe::Stdin(stdin) => stdin.writable().await,
            Pipe::Socket(socket) => socket.writable().await,
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Pipe::Stdin(stdin) => stdin.try_write(bytes),
            Pipe::Socket(socket) => socket.try_write(bytes),
        }
    }
}

/// The way into a server.
#[derive(Debug)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// Tells the flusher that there is something to do.
    waiting: Notify,
}

#[derive(Debug)]
struct Inner {
    /// Nothing once the outbox is closed.
    pipe: Option<Arc<Pipe>>,
    queue: BytesMut,
}

impl Outbox {
    pub(crate) fn new(pipe: Pipe) -> Outbox {
        let inner = Inner { pipe: Some(Arc::new(pipe)), queue: BytesMut::new() };
        Outbox { inner: Mutex::new(inner), waiting: Notify::new() }
    }

    /// Sends `line`, which must hold its end, or queues what the pipe does not take. Never waits.
    pub(crate) fn send(&self, line: &[u8]) -> Result<(), Fault> {
        let mut inner = self.inner();
        let Some(pipe) = inner.pipe.clone() else { return Err(stopped()) };
        if inner.queue.len() + line.len() > QUEUE_BYTES_MAX {
            // It has stopped reading long ago. Closed, it is ended and started again with the next call.
            inner.close();
            return Err(stopped());
        }
        let written = if inner.queue.is_empty() {
            write_some(&pipe, line).map_err(|_| {
                inner.close();
                stopped()
            })?
        } else {
            0
        };
        if written < line.len() {
            inner.queue.extend_from_slice(&line[written..]);
            self.waiting.notify_one();
        }
        Ok(())
    }

    /// Writes what waits whenever the pipe has room; returns when the pipe is broken or the outbox closed.
    pub(crate) async fn flush(&self) {
        loop {
            let Some((pipe, is_empty)) = self.inner().state() else { return };
            if is_empty {
                drop(pipe);
                self.waiting.notified().await;
            } else if pipe.writable().await.is_err() || !self.inner().write_queue() {
                return self.close();
            }
        }
    }

    /// Closes the pipe; what waits is lost.
    pub(crate) fn close(&self) {
        self.inner().close();
        self.waiting.notify_one();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the lock")
    }
}

impl Inner {
    fn state(&self) -> Option<(Arc<Pipe>, bool)> {
        self.pipe.clone().map(|pipe| (pipe, self.queue.is_empty()))
    }

    /// Writes as much of the queue as the pipe takes; false if it is broken.
    fn write_queue(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let Ok(written) = write_some(pipe, &self.queue) else { return false };
        self.queue.advance(written);
        if self.queue.is_empty() {
            // A large message must not hold its memory for ever.
            self.queue = BytesMut::new();
        }
        true
    }

    fn close(&mut self) {
        self.pipe = None;
        self.queue = BytesMut::new();
    }
}

/// Writes until the pipe is full; how much went in.
fn write_some(pipe: &Pipe, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match pipe.try_write(&bytes[written..]) {
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

fn stopped() -> Fault {
    Fault::NotSent("it has stopped".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::unix::pipe;

    use super::*;

    #[tokio::test]
    async fn lines_stay_whole_and_in_order_when_the_pipe_is_full() {
        let (sender, mut receiver) = pipe::pipe().expect("a pipe");
        let outbox = Outbox::new(Pipe::Stdin(sender));
        let lines: Vec<Vec<u8>> = (b'a'..=b'z').map(|letter| vec![letter; 30_000]).collect();
        for line in &lines {
            outbox.send(line).expect("room in the queue");
        }
        let mut read = Vec::new();
        let expected = lines.concat();
        tokio::select! {
            () = outbox.flush() => panic!("the pipe is sound"),
            () = async {
                while read.len() < expected.len() {
                    receiver.read_buf(&mut read).await.expect("readable");
                }
            } => {}
        }
        assert_eq!(read, expected);
        assert!(outbox.inner().queue.is_empty());
    }

    #[tokio::test]
    async fn a_server_that_reads_nothing_is_refused_more() {
        let (sender, _receiver) = pipe::pipe().expect("a pipe");
        let outbox = Outbox::new(Pipe::Stdin(sender));
        let line = vec![b'x'; wire::STDIO_MESSAGE_BYTES_MAX];
        outbox.send(&line).expect("one fits");
        assert_eq!(outbox.send(&line), Err(stopped()), "it has hung, and is ended");
        assert_eq!(outbox.send(b"x"), Err(stopped()));
    }

    #[tokio::test]
    async fn a_broken_pipe_is_noticed_and_stays_closed() {
        let (sender, receiver) = pipe::pipe().expect("a pipe");
        sender.writable().await.expect("a new pipe has room");
        let outbox = Outbox::new(Pipe::Stdin(sender));
        drop(receiver);
        assert_eq!(outbox.send(b"a\n"), Err(stopped()));
        assert_eq!(outbox.send(b"b\n"), Err(stopped()));
        outbox.flush().await;
    }
}

//! Giving descriptors to another process over a socket, with the first bytes of what is said.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Most descriptors that go at once: standard input and output. The system drops more.
const DESCRIPTORS_MAX: usize = 2;

/// Bytes that are taken with them; the rest of a line is read as any other.
const FIRST_BYTES: usize = 4096;

/// Sends as many of these bytes as the system takes at once, and with the first of them these descriptors, which stay ours,
/// too. Gives how many bytes went.
///
/// # Errors
/// The connection fails.
pub async fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    stream
        .async_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
                return Err(io::Error::other("too many descriptors at once"));
            }
            Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
        })
        .await
}

/// The first bytes that come, and the descriptors that come with them; no bytes at the end.
///
/// # Errors
/// The connection fails.
pub(super) async fn receive(stream: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    stream
        .async_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = vec![0; FIRST_BYTES];
            let received =
                recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
            bytes.truncate(received.bytes);
            let descriptors = control.drain().flat_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
                _ => Vec::new(),
            });
            Ok((bytes, descriptors.collect()))
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;

    use super::*;

    #[tokio::test]
    async fn a_pipe_arrives_with_the_bytes() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let sent = send(&ours, b"hello", &[writer.as_fd(), reader.as_fd()]).await.expect("sent");
        assert_eq!(sent, 5);
        drop(writer);
        let (bytes, mut descriptors) = receive(&theirs).await.expect("received");
        assert_eq!((bytes.as_slice(), descriptors.len()), (&b"hello"[..], 2));
        std::fs::File::from(descriptors.remove(0)).write_all(b"x").expect("it is the writing end");
        let mut read = [0];
        reader.read_exact(&mut read).expect("what was written there");
        assert_eq!(&read, b"x");
        send(&ours, b"more", &[]).await.expect("sent");
        assert_eq!(receive(&theirs).await.expect("received").1.len(), 0);
        drop(ours);
        assert_eq!(receive(&theirs).await.expect("the end").0, b"");
    }
}

//! Packets to the spawner: no content but open files.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// The open files of one start, in the order in which they are sent.
pub(super) struct Packet {
    /// An [`Order`](super::order::Order).
    pub(super) order: OwnedFd,
    /// The program's standard input, output and error.
    pub(super) streams: [OwnedFd; 3],
    /// Ends when the program is to end.
    pub(super) lifeline: OwnedFd,
    /// Where to say how it went.
    pub(super) report: OwnedFd,
    /// Where to hand out the doors in its network, if it has a way out.
    pub(super) doors: Option<OwnedFd>,
}

/// More than any packet holds.
const FILES_MAX: usize = 32;

/// A packet without content would look like the end of the connection.
const CONTENT: &[u8] = b".";

/// Both ends: ours and the spawner's.
pub(super) fn connection() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl Packet {
    pub(super) fn send(self, socket: impl AsFd) -> io::Result<()> {
        let [stdin, stdout, stderr] = &self.streams;
        let files = [&self.order, stdin, stdout, stderr, &self.lifeline, &self.report];
        send_files(socket, files.into_iter().chain(&self.doors))
    }

    /// Waits for the next. Nothing when the other end has closed.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Packet>> {
        let Some(files) = receive_files(socket)? else { return Ok(None) };
        let mut files = files.into_iter();
        let mut next = || files.next().ok_or(io::ErrorKind::InvalidData);
        let (order, streams) = (next()?, [next()?, next()?, next()?]);
        let (lifeline, report) = (next()?, next()?);
        Ok(Some(Packet { order, streams, lifeline, report, doors: files.next() }))
    }
}

/// Sends open files, and does not wait.
pub(super) fn send_files<'f>(
    socket: impl AsFd,
    files: impl IntoIterator<Item = &'f OwnedFd>,
) -> io::Result<()> {
    let files: Vec<_> = files.into_iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("the open files do not fit in a packet"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(CONTENT)], &mut ancillary, flags)?;
    Ok(())
}

/// Waits for open files. Nothing when the other end has closed.
pub(super) fn receive_files(socket: impl AsFd) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut content = [0; CONTENT.len()];
    let received = loop {
        let mut content = [IoSliceMut::new(&mut content)];
        match recvmsg(&socket, &mut content, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok(Some(files.flatten().collect()))
}

//! Packets to the spawner and to inits that wait: open files, and a byte that says what they are.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socketpair,
};

/// The open files of one start, in the order in which they are sent.
pub(super) struct Packet {
    /// An [`Order`](super::order::Order).
    pub(super) order: OwnedFd,
    /// The program's standard input, output and error, and the one that it tells more on, if its order says so.
    pub(super) streams: [OwnedFd; 4],
    /// Ends when the program is to end.
    pub(super) lifeline: OwnedFd,
    /// Where to say how it went.
    pub(super) report: OwnedFd,
    /// Where to hand out the doors in its network, if it has a way out.
    pub(super) doors: Option<OwnedFd>,
    /// To an init that waits, as root: the order's mounts.
    pub(super) mounts: Vec<OwnedFd>,
}

/// What somebody wants of the spawner.
pub(super) enum Asked {
    Start(Packet),
    /// That its pool is full. It lets go of this file then.
    Fill(OwnedFd),
}

/// More than any packet holds; the kernel takes 253.
const FILES_MAX: usize = 200;

/// What a packet is. One without content would look like the end of the connection.
const START: u8 = b'.';
const START_WITH_DOORS: u8 = b'd';
const FILL: u8 = b'f';
/// From an init that waits: it may be asked now.
pub(super) const READY: u8 = b'r';
/// From an init in a template: its program has begun.
pub(super) const BEGUN: u8 = b'b';
/// The same: something was missing, and nothing has begun.
pub(super) const FAILED: u8 = b'x';
/// From an init whose program has ended with all that ran inside: only itself is left.
pub(super) const OVER: u8 = b'v';
/// Files that say themselves what they are.
pub(super) const FILES: u8 = b'o';

/// Both ends: ours and the spawner's.
pub(super) fn connection() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl Packet {
    pub(super) fn send(&self, socket: impl AsFd) -> io::Result<()> {
        let [stdin, stdout, stderr, told] = &self.streams;
        let files = [&self.order, stdin, stdout, stderr, told, &self.lifeline, &self.report];
        let content = if self.doors.is_some() { START_WITH_DOORS } else { START };
        send_files(socket, content, files.into_iter().chain(&self.doors).chain(&self.mounts))
    }

    /// What is sent for the same start again: the same files, without what was taken for it.
    pub(super) fn again(&self) -> io::Result<Packet> {
        let [stdin, stdout, stderr, told] = &self.streams;
        Ok(Packet {
            order: self.order.try_clone()?,
            streams: [stdin.try_clone()?, stdout.try_clone()?, stderr.try_clone()?, told.try_clone()?],
            lifeline: self.lifeline.try_clone()?,
            report: self.report.try_clone()?,
            doors: self.doors.as_ref().map(OwnedFd::try_clone).transpose()?,
            mounts: Vec::new(),
        })
    }

    /// Waits for one. Nothing when the other end has closed.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Packet>> {
        match Asked::receive(socket)? {
            Some(Asked::Start(packet)) => Ok(Some(packet)),
            Some(Asked::Fill(_)) => Err(io::ErrorKind::InvalidData.into()),
            None => Ok(None),
        }
    }
}

impl Asked {
    /// Waits for the next. Nothing when the other end has closed.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Asked>> {
        let Some((content, files)) = receive_files(socket)? else { return Ok(None) };
        let mut files = files.into_iter();
        let mut next = || files.next().ok_or(io::ErrorKind::InvalidData);
        if content == FILL {
            return Ok(Some(Asked::Fill(next()?)));
        }
        let (order, streams) = (next()?, [next()?, next()?, next()?, next()?]);
        let (lifeline, report) = (next()?, next()?);
        let doors = if content == START_WITH_DOORS { Some(next()?) } else { None };
        let mounts = files.collect();
        Ok(Some(Asked::Start(Packet { order, streams, lifeline, report, doors, mounts })))
    }
}

/// Asks for a full pool. The other end of `told` ends when it is, or cannot be.
pub(super) fn ask_to_fill(socket: impl AsFd, told: &OwnedFd) -> io::Result<()> {
    send_files(socket, FILL, [told])
}

/// Whether the pipe that is a program's life has ended: nobody wants it any more. A byte in it is for init.
pub(super) fn has_ended(lifeline: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(lifeline, PollFlags::empty())], Some(&now)).is_ok_and(|ended| ended > 0)
}

/// What the other end has said besides packets, if anything; an error if it says nothing any more.
pub(super) fn hear(socket: impl AsFd) -> io::Result<Option<u8>> {
    let mut said = [0; 1];
    match recv(socket, &mut said, RecvFlags::DONTWAIT) {
        Ok((_, 0)) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(said.first().copied()),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Sends open files and what they are, and does not wait.
pub(super) fn send_files<'f>(
    socket: impl AsFd,
    content: u8,
    files: impl IntoIterator<Item = &'f OwnedFd>,
) -> io::Result<()> {
    let files: Vec<_> = files.into_iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("the open files do not fit in a packet"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(&[content])], &mut ancillary, flags)?;
    Ok(())
}

/// Waits for open files. Nothing when the other end has closed.
pub(super) fn receive_files(socket: impl AsFd) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut content = [0; 1];
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
    let [content] = content;
    Ok(Some((content, files.flatten().collect())))
}

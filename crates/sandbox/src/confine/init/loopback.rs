//! The loopback device inside, which is down in a new network.

use std::io;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use super::given::Init;

/// In every network the loopback device has this number.
const LOOPBACK: i32 = 1;

/// A netlink message: its head, `ifinfomsg`, and nothing else.
const MESSAGE_BYTES: u32 = 32;

/// Where the answer holds its error.
const ERROR_AT: usize = 16;

pub(super) fn raise(_: &Init) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // Without a protocol it is the one about devices and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    send(&socket, &message(), SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, bytes) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let error = answer.get(..bytes).and_then(|answer| answer.get(ERROR_AT..ERROR_AT + 4));
    let error = error.and_then(|error| error.try_into().ok()).map(i32::from_ne_bytes);
    match error {
        Some(0) => Ok(()),
        Some(errno) => Err(Errno::from_raw_os_error(-errno).into()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// "Give the device these flags, and say how it went."
fn message() -> Vec<u8> {
    let kind = libc::RTM_NEWLINK;
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK).unwrap_or_default();
    let up = libc::IFF_UP.unsigned_abs();
    let mut message = Vec::new();
    message.extend(MESSAGE_BYTES.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    // The number of the message and of its sender; then family and kind of the device.
    message.extend([0; 12]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(up.to_ne_bytes());
    message.extend(up.to_ne_bytes());
    message
}

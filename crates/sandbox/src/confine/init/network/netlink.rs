//! Two requests to the kernel about the network (netlink, RFC 3549).

use std::io;
use std::net::Ipv4Addr;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// In every network the loopback device has this number.
const LOOPBACK: i32 = 1;

/// The head of a message: its length, kind, flags, number and sender.
const HEAD_BYTES: usize = 16;

/// Where the answer holds its error.
const ERROR_AT: usize = HEAD_BYTES;

/// What has an address in the network goes to the program's own machine.
const ROUTE: Route = Route { table: libc::RT_TABLE_LOCAL, scope: libc::RT_SCOPE_HOST, kind: libc::RTN_LOCAL };

struct Route {
    table: u8,
    scope: u8,
    kind: u8,
}

/// "Give the device these flags."
pub(super) fn raise_loopback() -> io::Result<()> {
    let up = libc::IFF_UP.unsigned_abs();
    // Family and kind of the device.
    let mut body = vec![0; 4];
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    body.extend(up.to_ne_bytes());
    ask(libc::RTM_NEWLINK, 0, &body)
}

/// "These addresses are all our own."
pub(super) fn route_to_loopback(network: Ipv4Addr, bits: u32) -> io::Result<()> {
    let bits = u8::try_from(bits).map_err(io::Error::other)?;
    let family = u8::try_from(libc::AF_INET).unwrap_or_default();
    let mut body = vec![family, bits, 0, 0, ROUTE.table, libc::RTPROT_BOOT, ROUTE.scope, ROUTE.kind];
    body.extend([0; 4]);
    for (kind, value) in [(libc::RTA_DST, network.octets()), (libc::RTA_OIF, LOOPBACK.to_ne_bytes())] {
        let bytes = u16::try_from(4 + value.len()).unwrap_or_default();
        body.extend(bytes.to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
    }
    ask(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &body)
}

/// Sends a request and waits for how it went.
fn ask(kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
    // Without a protocol it is the one about devices and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags).unwrap_or_default();
    let bytes = u32::try_from(HEAD_BYTES + body.len()).unwrap_or_default();
    let mut message = bytes.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (_, bytes) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let error = answer.get(..bytes).and_then(|answer| answer.get(ERROR_AT..ERROR_AT + 4));
    match error.and_then(|error| error.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(errno) => Err(Errno::from_raw_os_error(-errno).into()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

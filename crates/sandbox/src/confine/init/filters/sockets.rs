//! Which sockets are opened. What is allowed leads into a network of the program's own, or to files that it sees.

use super::program::Test;
use crate::confine::profile::Sockets;

/// The arguments of `socket`.
const FAMILY: usize = 0;
const KIND: usize = 1;
const PROTOCOL: usize = 2;

/// The bits of a kind that are no flags.
const KIND_MASK: u32 = 0xf;

/// None that is raw, and none of the devices' own.
const KINDS: [libc::c_int; 3] = [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET];

/// What internet sockets may speak: the default, TCP and UDP. Multipath TCP goes past rules about TCP.
const PROTOCOLS: [libc::c_int; 3] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];

/// The calls of `socket` that are allowed.
pub(super) fn allowed(sockets: Sockets) -> Vec<Vec<Test>> {
    let kind = || one_of(KIND, &KINDS).masked(KIND_MASK);
    let mut allowed = Vec::new();
    if sockets.has_local() {
        allowed.push(vec![one_of(FAMILY, &[libc::AF_UNIX]), kind()]);
    }
    if sockets.has_network() {
        let internet = one_of(FAMILY, &[libc::AF_INET, libc::AF_INET6]);
        allowed.push(vec![internet, kind(), one_of(PROTOCOL, &PROTOCOLS)]);
        // It tells of the devices in the program's own network, of which libraries want to know.
        allowed.push(vec![one_of(FAMILY, &[libc::AF_NETLINK]), one_of(PROTOCOL, &[libc::NETLINK_ROUTE])]);
    }
    allowed
}

fn one_of(argument: usize, values: &[libc::c_int]) -> Test {
    let values: Vec<u32> = values.iter().map(|value| value.unsigned_abs()).collect();
    Test::one_of(argument, &values)
}

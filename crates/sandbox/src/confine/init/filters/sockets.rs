//! Which sockets are refused. Whatever is not named here is: what is allowed leads into a network of the program's own, or to
//! files that it sees.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use crate::confine::profile::Sockets;

/// The arguments of `socket`.
const FAMILY: u8 = 0;
const KIND: u8 = 1;
const PROTOCOL: u8 = 2;

/// The bits of a kind that are no flags.
const KIND_MASK: u64 = 0xf;

/// Kinds besides streams, datagrams and packets in sequence: raw, reliable datagrams, DCCP and the devices' own.
const OTHER_KINDS: [libc::c_int; 4] = [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_DCCP, 10];

/// What internet sockets may speak: the default, TCP and UDP. Multipath TCP goes past rules about TCP.
const PROTOCOLS: [libc::c_int; 3] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];

/// The calls of `socket` that are refused; without a rule, all.
pub(super) fn refused(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    let mut families = Vec::new();
    if sockets.has_local() {
        families.push(libc::AF_UNIX);
    }
    if sockets.has_network() {
        // The last tells of the devices in the program's own network, of which libraries want to know.
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if families.is_empty() {
        return Ok(Vec::new());
    }
    let mut rules = vec![rule(families.iter().map(|family| isnt(FAMILY, *family)))?];
    for kind in OTHER_KINDS {
        rules.push(rule([is_kind(kind), isnt(FAMILY, libc::AF_NETLINK)])?);
    }
    let internet = [isnt(FAMILY, libc::AF_UNIX), isnt(FAMILY, libc::AF_NETLINK)];
    let others = PROTOCOLS.map(|protocol| isnt(PROTOCOL, protocol));
    rules.push(rule(internet.into_iter().chain(others))?);
    rules.push(rule([is(FAMILY, libc::AF_NETLINK), isnt(PROTOCOL, libc::NETLINK_ROUTE)])?);
    Ok(rules)
}

type Condition = Result<SeccompCondition, BackendError>;

/// All of them together.
fn rule(conditions: impl IntoIterator<Item = Condition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

fn is(argument: u8, value: libc::c_int) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn isnt(argument: u8, value: libc::c_int) -> Condition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn is_kind(kind: libc::c_int) -> Condition {
    condition(KIND, SeccompCmpOp::MaskedEq(KIND_MASK), kind)
}

/// The kernel looks at the lower half of these arguments only, and so must we.
fn condition(argument: u8, compared: SeccompCmpOp, value: libc::c_int) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, u64::from(value.unsigned_abs()))
}

//! What the way out asks of the machine: which addresses a name has, and what kinds of addresses they are.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, getsockname, socket_with};

use super::address::Kind;
use crate::net;

pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The network as the judge sees it. Tests have one of their own, where names lead to loopback and some of loopback
/// counts as public; everything else is the same.
pub(super) trait Network: Send + Sync {
    /// The addresses of a name, asked for once for each connection. The port of each is `port`.
    fn addresses<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;

    /// What sort of address it is for this machine.
    fn kind(&self, address: IpAddr) -> Kind;
}

/// The network of this machine.
#[derive(Debug)]
pub(super) struct Machine;

impl Network for Machine {
    fn addresses<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(net::addresses(name, port))
    }

    /// An address of this machine's own is as good as loopback: what a firewall keeps from the network is open there.
    fn kind(&self, address: IpAddr) -> Kind {
        match Kind::of(address) {
            Kind::Public | Kind::Private if is_own(address) => Kind::Loopback,
            kind => kind,
        }
    }
}

/// True for an address of this machine: a connection to it would come from that same address. Asked of the system by
/// connecting a datagram socket, which sends nothing. An address without a route is not ours.
fn is_own(address: IpAddr) -> bool {
    const ANY_PORT: u16 = 9;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let source = || {
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &SocketAddr::new(address, ANY_PORT))?;
        getsockname(&socket)
    };
    source()
        .ok()
        .and_then(|source| SocketAddr::try_from(source).ok())
        .is_some_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_known() {
        for (address, expected) in [("127.0.0.1", true), ("203.0.113.77", false), ("2001:db8::77", false)] {
            assert_eq!(is_own(address.parse().expect("an address")), expected, "{address}");
        }
    }
}

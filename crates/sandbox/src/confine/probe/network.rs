//! Attempts on the network.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use rustix::net::{AddressFamily, Protocol, SendFlags, SocketType, connect, sendto, socket};

use super::scene::Targets;

const AF_VSOCK: u16 = 40;
const AF_PACKET: u16 = 17;
const MULTIPATH_TCP: u32 = 262;
const MSG_FASTOPEN: u32 = 0x2000_0000;

fn server(targets: &Targets) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, targets.port)
}

pub(super) fn connect_tcp(targets: &Targets) -> io::Result<()> {
    TcpStream::connect(server(targets)).map(drop)
}

/// A connection that begins with data passes by rules about connecting.
pub(super) fn connect_tcp_fast_open(targets: &Targets) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sendto(&socket, b"hello", SendFlags::from_bits_retain(MSG_FASTOPEN), &server(targets))?;
    Ok(())
}

pub(super) fn connect_multipath_tcp(targets: &Targets) -> io::Result<()> {
    let protocol = std::num::NonZeroU32::new(MULTIPATH_TCP).map(Protocol::from_raw);
    let socket = socket(AddressFamily::INET, SocketType::STREAM, protocol)?;
    Ok(connect(&socket, &server(targets))?)
}

pub(super) fn send_udp(targets: &Targets) -> io::Result<()> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(b"hello", server(targets)).map(drop)
}

pub(super) fn connect_unix_path(targets: &Targets) -> io::Result<()> {
    UnixStream::connect(&targets.socket).map(drop)
}

pub(super) fn connect_unix_abstract(targets: &Targets) -> io::Result<()> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(&targets.abstract_name)?).map(drop)
}

/// No namespace holds these: they lead to the host of a virtual machine.
pub(super) fn open_vsock(_: &Targets) -> io::Result<()> {
    Ok(socket(AddressFamily::from_raw(AF_VSOCK), SocketType::STREAM, None).map(drop)?)
}

pub(super) fn open_netlink(_: &Targets) -> io::Result<()> {
    Ok(socket(AddressFamily::NETLINK, SocketType::RAW, None).map(drop)?)
}

pub(super) fn open_raw(_: &Targets) -> io::Result<()> {
    Ok(socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::ICMP)).map(drop)?)
}

pub(super) fn open_packet(_: &Targets) -> io::Result<()> {
    Ok(socket(AddressFamily::from_raw(AF_PACKET), SocketType::RAW, None).map(drop)?)
}

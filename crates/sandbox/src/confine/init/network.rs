//! The network inside: its loopback device, and the doors in it behind which Toolcrib's proxy stands, if there is a way out.

mod netlink;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use super::given::{Empty, Init};
use crate::confine::layer::Layer;
use crate::confine::mount::about;
use crate::confine::packet::{FILES, send_files};
use crate::egress::{NamesNet, PROXY_PORT};

/// Where programs ask for the addresses of names.
const NAMES_PORT: u16 = 53;

/// In a new network the device is down. The machine's own is not ours to raise.
pub(super) fn raise_loopback(sandbox: &Empty) -> io::Result<()> {
    if sandbox.without.contains(&Layer::NetworkNamespace) {
        return Ok(());
    }
    netlink::raise_loopback()
}

/// Makes the doors and hands them out: the proxy's, the name server's, and one for each port in their order.
pub(super) fn open_doors(init: &Init) -> io::Result<()> {
    let (Some(ports), Some(doors)) = (&init.order.ports, &init.doors) else { return Ok(()) };
    // What the name server answers with leads here.
    let NamesNet { base, bits } = NamesNet::INSIDE;
    netlink::route_to_loopback(base, bits).map_err(about("route"))?;
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT)).map_err(about("proxy"))?;
    let names = UdpSocket::bind((Ipv4Addr::LOCALHOST, NAMES_PORT)).map_err(about("names"))?;
    let mut files: Vec<OwnedFd> = vec![proxy.into(), names.into()];
    for port in ports {
        files.push(listen(*port).map_err(about(format!("port {port}")))?.into());
    }
    send_files(doors, FILES, &files)
}

/// Whether something can be sent to the device, which nobody here may raise.
pub(super) fn find_loopback(init: &Init) -> io::Result<()> {
    if init.without.contains(&Layer::NetworkNamespace) {
        return Ok(());
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    // It only looks for a way.
    socket.connect((Ipv4Addr::LOCALHOST, PROXY_PORT))
}

/// The doors that somebody without rights may make: the proxy's, and one for each port that is free to all. There is no name
/// server, and what it would answer with leads nowhere.
pub(super) fn open_free_doors(init: &Init) -> io::Result<()> {
    let (Some(ports), Some(doors)) = (&init.order.ports, &init.doors) else { return Ok(()) };
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT)).map_err(about("proxy"))?;
    let mut files: Vec<OwnedFd> = vec![proxy.into()];
    for port in ports {
        match listen(*port) {
            Ok(door) => files.push(door.into()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(about(format!("port {port}"))(error)),
        }
    }
    send_files(doors, FILES, &files)
}

/// At all addresses, of which the machine may have no new ones.
fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
}

//! The only way out to the network for a confined program. Inside, nothing is routed anywhere; three kinds of sockets that
//! were made there end here: an HTTP proxy, a name server with made-up addresses, and listeners that those addresses lead
//! to. Whichever a program uses, its destination is judged by the same rules (`rules`) in the same place (`access`).
//!
//! What is checked, and what is not:
//! - The host and the port by the rules, every address of a name by its kind, and that very address is dialled.
//! - A TLS connection must name the host that was allowed. One that names none passes only where `public` allows the host
//!   anyway; one that is too long, too slow or cut strangely is closed. To an address, or to `localhost`, any name passes.
//! - A plain HTTP request must name that host too, at the proxy and on direct connections to port 80.
//! - What a program says behind that, above all inside of TLS, nobody sees. Protocols that begin in clear and turn to TLS
//!   later are passed on as they are.
//! - What no rule names may be left to a [`Judge`]. Its yes is good for addresses of the open internet alone, and a name is
//!   looked up only after it.
//! - Behind a company's proxy, the addresses of a name that cannot be looked up here are checked by nobody. It is dialled
//!   only if a rule has the whole name.
//!
//! The sockets are made by `confine`; nothing here knows of namespaces.

mod access;
mod address;
mod client;
mod counted;
mod dial;
mod direct;
mod hello;
mod host;
mod http;
mod journal;
mod judge;
mod names;
mod proxy;
mod reason;
mod relay;
mod rules;
mod task;
mod upgrade;
mod way;

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

pub use address::Kind;
pub use client::{HostClient, NoAnswer};
pub use host::{Destination, HOST_BYTES_MAX, Host, HostError};
pub use journal::{Attempt, ENTRIES_MAX, Entry, Journal, Outcome};
pub use judge::Judge;
pub use names::NamesNet;
pub use reason::Reason;
pub use rules::{DOORS_MAX, Grant, HostRuleError, HostRules, PORTS_MAX, PROXY_PORT, RULES_MAX};

pub use crate::net::{CompanyProxy, CompanyProxyError};

pub use way::WayOut;

use access::Access;
use dial::{Machine, Network};
use task::Task;

/// After an error that is not the program's, mostly too many open files of our own: others may be closed meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The sockets that were made inside.
#[derive(Debug)]
pub struct Doors {
    /// Listens at 127.0.0.1 and [`PROXY_PORT`].
    pub proxy: OwnedFd,
    /// A datagram socket at 127.0.0.1 and port 53. Nothing where that may not be made.
    pub names: Option<OwnedFd>,
    /// One listener for each of [`HostRules::ports`] and of what else is named, at all addresses.
    pub direct: Vec<OwnedFd>,
}

/// The way out of one program, as long as this is held: dropping it ends every connection.
#[derive(Debug)]
pub struct Egress {
    _tasks: Vec<Task>,
    access: Arc<Access>,
}

impl Egress {
    /// Begins to serve. Must be called in a runtime.
    ///
    /// # Errors
    /// If a socket is none of the kind that it should be.
    pub fn open(doors: Doors, way: Arc<WayOut>, journal: Arc<Journal>) -> io::Result<Egress> {
        Egress::open_in(doors, way, journal, Arc::new(Machine), NamesNet::INSIDE)
    }

    fn open_in(
        doors: Doors,
        way: Arc<WayOut>,
        journal: Arc<Journal>,
        network: Arc<dyn Network>,
        net: NamesNet,
    ) -> io::Result<Egress> {
        let access = Arc::new(Access::new(way, journal, network, net));
        let proxy = accept(listener(doors.proxy)?, Arc::clone(&access), proxy::serve);
        let mut tasks = vec![Task::spawn(proxy)];
        if let Some(names) = doors.names {
            let names = std::net::UdpSocket::from(names);
            names.set_nonblocking(true)?;
            tasks.push(Task::spawn(names::serve(UdpSocket::from_std(names)?, Arc::clone(&access))));
        }
        for door in doors.direct {
            tasks.push(Task::spawn(accept(listener(door)?, Arc::clone(&access), direct::serve)));
        }
        Ok(Egress { _tasks: tasks, access })
    }

    /// Notes in the journal, once the program has ended, the names that it looked up and to which no connection came, and that
    /// were not noted while it ran.
    pub fn ended(&self) {
        self.access.note_unmet(tokio::time::Instant::now());
    }
}

fn listener(socket: OwnedFd) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Takes connections in until it is dropped, and ends those that it has with itself.
async fn accept<F>(listener: TcpListener, access: Arc<Access>, serve: fn(TcpStream, Arc<Access>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => take_in(stream, &access, serve, &mut connections),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            // Only to let go of what has ended.
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A connection beyond the limit is closed at once: one that waits would look like a host that is down.
fn take_in<F>(
    stream: TcpStream,
    access: &Arc<Access>,
    serve: fn(TcpStream, Arc<Access>) -> F,
    connections: &mut JoinSet<()>,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let Some(permit) = access.connection() else {
        access.journal().block(Attempt::Unheard, Reason::TooMany);
        return;
    };
    // Without it small messages would wait for each other. A connection that cannot be told so is gone already.
    let _ = stream.set_nodelay(true);
    let served = serve(stream, Arc::clone(access));
    connections.spawn(async move {
        served.await;
        drop(permit);
    });
}

#[cfg(test)]
mod tests;

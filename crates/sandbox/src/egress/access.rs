//! `Access`: the one place where a connection of a program is judged and made, whichever way the program asked for it. The
//! name is looked up once, each of its addresses is judged, and one of those is dialled: between the judgement and the
//! connection nothing is looked up again.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::address::Kind;
use super::dial::Network;
use super::host::{Destination, Host};
use super::journal::{Attempt, Journal, Tally};
use super::judge::{is_of_the_internet, judged_name};
use super::names::{Names, NamesNet};
use super::reason::Reason;
use super::rules::{Grant, HostRules};
use super::way::WayOut;
use crate::net::{self, CONNECT_TIMEOUT, NoTunnel};

/// Connections that one program may have open at once, as many as browsers have. Each is two open files of ours.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// Names that are looked up at once for one program: each may hold a thread for as long as a name server is silent.
const LOOKUPS_MAX: usize = 8;

/// What one program may reach, and how.
pub(super) struct Access {
    way: Arc<WayOut>,
    journal: Arc<Journal>,
    network: Arc<dyn Network>,
    names: Mutex<Names>,
    given: Notify,
    connections: Arc<Semaphore>,
    lookups: Semaphore,
}

/// A connection that was judged and made.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) stream: TcpStream,
    pub(super) tally: Tally,
    pub(super) tls_name: TlsName,
}

/// Which host the program may name when it begins a TLS connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsName {
    /// Any: it was the address that was allowed, whatever the machine there is called.
    Any,
    /// This one. Many hosts share the addresses of a provider, who picks one by this name.
    Equal(Host),
    /// This one or none: all of the internet may be reached, so that hiding the name gains nothing.
    EqualOrNone(Host),
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    #[error("{0}")]
    Blocked(Reason),
    #[error("the name could not be resolved")]
    UnknownName,
    #[error("it could not be reached in time")]
    TooSlow,
    #[error("it cannot be reached: {0}")]
    Unreachable(io::Error),
    #[error("{0}")]
    Proxy(NoTunnel),
    #[error("it closed the connection without an answer that is HTTP")]
    NoAnswer,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Access")
    }
}

impl Access {
    pub(super) fn new(
        way: Arc<WayOut>,
        journal: Arc<Journal>,
        network: Arc<dyn Network>,
        net: NamesNet,
    ) -> Access {
        Access {
            way,
            journal,
            network,
            names: Mutex::new(Names::new(net)),
            given: Notify::new(),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            lookups: Semaphore::new(LOOKUPS_MAX),
        }
    }

    pub(super) fn rules(&self) -> &HostRules {
        &self.way.rules
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The table stays whole whatever happened to whoever held it.
    pub(super) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The made-up address of a name.
    pub(super) fn give_name(&self, host: &Host) -> Ipv4Addr {
        let address = self.names().give(&host.to_string());
        self.given.notify_one();
        address
    }

    /// Waits until a name has been given an address since this was asked last. Who asks is one alone.
    pub(super) async fn names_given(&self) {
        self.given.notified().await;
    }

    /// Since when a name waits for a connection, if one does.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.names().waiting_since()
    }

    /// Room for one more connection, taken up until the permit is dropped.
    pub(super) fn connection(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).try_acquire_owned().ok()
    }

    /// Notes that a destination was blocked.
    pub(super) fn block(&self, to: &Destination, reason: Reason) -> NoWay {
        self.journal.block(Attempt::Connect(to.clone()), reason);
        NoWay::Blocked(reason)
    }

    /// Notes the names that were looked up by then and to which no connection came: of what else a program sends to an address
    /// the kernel inside tells nobody but the program.
    pub(super) fn note_unmet(&self, by: Instant) {
        let unmet = self.names().unmet(by);
        unmet.into_iter().for_each(|name| self.journal.block(Attempt::LookUp(name), Reason::NothingCame));
    }

    /// Where a program wants to go that has the address from our name server: to the name that it was made up for.
    pub(super) fn meant(&self, to: Destination) -> Result<Destination, NoWay> {
        let Host::Address(IpAddr::V4(address)) = to.host else {
            return Ok(to);
        };
        let (is_made_up, name) = {
            let mut names = self.names();
            (names.contains(address), names.name(address))
        };
        match name {
            Some(name) => Ok(Destination { host: Host::Name(name), ..to }),
            None if is_made_up => Err(self.block(&to, Reason::UnknownAddress)),
            None => Ok(to),
        }
    }

    /// Whether a name exists for the program: a rule could allow it, or somebody could be asked about it.
    pub(super) fn knows(&self, host: &Host) -> bool {
        let is_judged = || self.way.judge.is_some() && judged_name(host).is_some();
        self.rules().knows(host) || (is_judged() && self.rules().leaves_open(host, None))
    }

    /// To which addresses a destination may lead, by a rule, or by whoever decides about what no rule names.
    async fn grant(&self, to: &Destination) -> Result<Grant, Reason> {
        if let Some(grant) = self.rules().grant(to) {
            return Ok(grant);
        }
        let judge = self.way.judge.as_ref().ok_or(Reason::NoRule)?;
        let is_possible = match &to.host {
            Host::Localhost => false,
            Host::Name(name) => is_of_the_internet(name),
            Host::Address(address) => self.network.kind(*address) == Kind::Public,
        };
        let is_left = is_possible && self.rules().leaves_open(&to.host, Some(to.port));
        if !is_left {
            return Err(Reason::NoRule);
        }
        judge.allows(to).await.map(|()| Grant::Public)
    }

    /// For which call the program works; nothing while it may reach nothing.
    fn turn(&self) -> Option<u64> {
        self.way.judge.as_ref().map_or(Some(0), |judge| judge.turn())
    }

    /// Judges a destination and connects to it. What is blocked has been noted when this returns, unless the call that wanted it
    /// has ended: then it is no other's.
    pub(super) async fn open(&self, to: &Destination) -> Result<Opened, NoWay> {
        if let Host::Name(name) = &to.host {
            self.names().came(name);
        }
        let turn = self.turn();
        let grant = if turn.is_some() { self.grant(to).await } else { Err(Reason::NoRule) };
        // So does asking somebody.
        self.still(turn)?;
        let grant = grant.map_err(|reason| self.block(to, reason))?;
        // Looking a name up takes seconds, and so does connecting.
        let found = self.find(to).await;
        self.still(turn)?;
        let stream = match found {
            Ok(found) => self.dial(to, grant, found).await?,
            Err(error) => self.dial_by_name(to, grant, error).await?,
        };
        self.still(turn)?;
        Ok(Opened { stream, tally: self.journal.allow(to), tls_name: self.tls_name(to, grant) })
    }

    /// Fails once the program no longer works for the call for which it wanted something.
    fn still(&self, turn: Option<u64>) -> Result<(), NoWay> {
        if self.turn() == turn { Ok(()) } else { Err(NoWay::Blocked(Reason::NoRule)) }
    }

    async fn find(&self, to: &Destination) -> Result<Vec<SocketAddr>, NoWay> {
        let at = |address| SocketAddr::new(address, to.port);
        match &to.host {
            Host::Address(address) => Ok(vec![at(*address)]),
            Host::Localhost => Ok(vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())]),
            Host::Name(name) => {
                let look_up = async {
                    let _permit = self.lookups.acquire().await;
                    self.network.addresses(name, to.port).await
                };
                let found = timeout(CONNECT_TIMEOUT, look_up).await.map_err(|_| NoWay::TooSlow)?;
                found.ok().filter(|found| !found.is_empty()).ok_or(NoWay::UnknownName)
            }
        }
    }

    async fn dial(&self, to: &Destination, grant: Grant, found: Vec<SocketAddr>) -> Result<TcpStream, NoWay> {
        let kind = |address: &SocketAddr| self.network.kind(address.ip().to_canonical());
        let refused = found.first().map_or(Kind::Reserved, kind);
        let allowed: Vec<_> = found.into_iter().filter(|address| grant.allows(kind(address))).collect();
        let Some(first) = allowed.first() else {
            return Err(self.block(to, Reason::of(refused)));
        };
        match &self.way.company {
            // The proxy leads out of the company's network, not into it.
            Some(company) if kind(first) == Kind::Public => {
                company.tunnel(&first.to_string()).await.map_err(NoWay::Proxy)
            }
            Some(_) | None => net::to_any(allowed).await.map_err(NoWay::of),
        }
    }

    /// Behind a company's proxy, names of the internet often cannot be looked up. A person who wrote down the whole name
    /// trusts it; where it leads to is then the proxy's to judge, and not checked here.
    async fn dial_by_name(&self, to: &Destination, grant: Grant, error: NoWay) -> Result<TcpStream, NoWay> {
        match (&self.way.company, grant) {
            (Some(company), Grant::Named) => company.tunnel(&to.to_string()).await.map_err(NoWay::Proxy),
            (Some(_) | None, _) => Err(error),
        }
    }

    fn tls_name(&self, to: &Destination, grant: Grant) -> TlsName {
        let host = to.host.clone();
        match (&to.host, grant) {
            (Host::Localhost | Host::Address(_), _) => TlsName::Any,
            (Host::Name(_), Grant::Public) if self.rules().allows_internet() => TlsName::EqualOrNone(host),
            (Host::Name(_), _) => TlsName::Equal(host),
        }
    }
}

impl NoWay {
    fn of(error: io::Error) -> NoWay {
        match error.kind() {
            io::ErrorKind::TimedOut => NoWay::TooSlow,
            _ => NoWay::Unreachable(error),
        }
    }
}

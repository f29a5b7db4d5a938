//! `Reason`: why a program did not get where it wanted, in words for people and models.

use super::address::Kind;

/// Why a destination was blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// No rule allows the host at this port.
    #[error("no rule allows it")]
    NoRule,
    /// No rule allows it, and neither does the person who was asked.
    #[error("a person was asked and said no")]
    Denied,
    /// No rule allows it, and nobody has answered the question about it.
    #[error("no rule allows it, and nobody has answered the question about it")]
    Unanswered,
    /// The name leads to a private address, and the rule is `public` or a wildcard.
    #[error("it leads to a private address, which only a rule with its whole name allows")]
    Private,
    /// The name leads to this machine.
    #[error("it leads to this machine, which only a rule for localhost and a port allows")]
    ThisMachine,
    /// The name leads to a neighbour on the same wire.
    #[error("it leads to a link-local address, which only a rule with that address allows")]
    LinkLocal,
    /// The name leads to where a cloud keeps credentials.
    #[error(
        "it leads to the credentials of this machine in its cloud, which only a rule with that address allows"
    )]
    Metadata,
    /// The name leads to an address that is nobody's.
    #[error("it leads to an address of no use on the internet")]
    Reserved,
    /// What was asked for is not written as a host and a port.
    #[error("it is not written as a host and a port")]
    NotAHost,
    /// The request inside names another host than the one that was allowed.
    #[error("the request names another host")]
    OtherHost,
    /// The TLS handshake names another host than the one that was allowed.
    #[error("the TLS handshake names another host")]
    OtherName,
    /// The TLS handshake names no host.
    #[error("the TLS handshake names no host")]
    NoName,
    /// The TLS handshake is too long, took too long, or is none that can be read.
    #[error("the host in the TLS handshake cannot be read")]
    UnreadableHello,
    /// A direct connection to an address that the name server gave to nobody.
    #[error("no name was looked up for this address")]
    UnknownAddress,
    /// A name was looked up, and nothing came in for it: what the program wanted went where nothing leads out.
    #[error("nothing came of it: UDP goes nowhere, TCP only at ports 80, 443 and those that a rule names")]
    NothingCame,
    /// UDP that came where nobody listens.
    #[error("UDP goes nowhere: only TCP to hosts that are allowed leaves the sandbox")]
    NoDatagrams,
    /// An address to which no way leads.
    #[error(
        "no way leads to a mere address: only a name that is looked up, or the proxy that HTTP_PROXY names, leads out"
    )]
    NoWay,
    /// As many connections as one program may have are open.
    #[error("too many connections are open")]
    TooMany,
}

impl Reason {
    /// Why a name that leads to an address of this kind is blocked.
    pub(super) fn of(kind: Kind) -> Reason {
        match kind {
            // A public address is refused by no grant.
            Kind::Public => Reason::NoRule,
            Kind::Private => Reason::Private,
            Kind::Loopback => Reason::ThisMachine,
            Kind::LinkLocal => Reason::LinkLocal,
            Kind::Metadata => Reason::Metadata,
            Kind::Reserved => Reason::Reserved,
        }
    }
}

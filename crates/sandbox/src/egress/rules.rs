//! `HostRules`: which hosts a program may reach, as a person writes it. Pure data: what is decided here is decided by
//! names, ports and kinds of addresses alone; who looks names up and dials is `dial`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::address::Kind;
use super::host::{self, Destination, Host, HostError};

/// The rules of one program: more would be a policy of its own.
pub const RULES_MAX: usize = 256;

/// Ports that programs may reach without a proxy, 80 and 443 among them: each costs a socket in every confined program.
pub const PORTS_MAX: usize = 16;

/// The same with those that others than rules name.
pub const DOORS_MAX: usize = 32;

/// The ports of a rule that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Where the proxy listens inside. No direct connection to this port is possible, so it is no port of [`HostRules::ports`].
pub const PROXY_PORT: u16 = 3128;

/// Which hosts a program may reach. None at all, unless a rule says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    words: Vec<String>,
    rules: Vec<Rule>,
    /// What has to allow a destination as well.
    within: Option<Box<HostRules>>,
    /// What allows a destination besides.
    others: Vec<HostRules>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    to: To,
    /// None: 80 and 443; for the whole internet every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    Internet,
    Host(Host),
    /// Every name that ends in a dot and this.
    Below(String),
}

/// To which addresses a host may lead: the widest that a rule grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// To those of the open internet.
    Public,
    /// To private ones also: a person named this host.
    Named,
    /// To this very address: a person wrote it down, or `localhost`.
    Address,
}

impl Grant {
    /// True if an address of this kind may be dialled.
    pub fn allows(self, kind: Kind) -> bool {
        match self {
            Grant::Public => kind == Kind::Public,
            Grant::Named => matches!(kind, Kind::Public | Kind::Private),
            Grant::Address => true,
        }
    }
}

/// Why a list of hosts cannot be taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostRuleError {
    /// More rules than [`RULES_MAX`].
    #[error(
        "{0} hosts are too many, at most {RULES_MAX} can be named; try a wildcard such as *.example.com, or `public`"
    )]
    TooMany(usize),
    /// More ports than [`PORTS_MAX`].
    #[error("the hosts name {0} ports, 80 and 443 among them; at most {PORTS_MAX} are possible")]
    TooManyPorts(usize),
    /// One that is not written as a host.
    #[error("`{word}` names no host: {why}")]
    Host {
        /// As it was written, without what cannot be shown.
        word: String,
        /// What is wrong with it.
        why: HostError,
    },
    /// `localhost`, or an address of this machine, without a port.
    #[error("`{0}` needs a port, as in localhost:5432: nobody should get at everything on this machine")]
    LoopbackPort(String),
    /// A wildcard in the wrong place.
    #[error("`{0}`: a wildcard stands at the beginning and for whole parts, as in *.example.com")]
    Wildcard(String),
    /// An address that leads to nobody, or to everybody.
    #[error("`{0}` is the address of no one machine; write the address that the program connects to")]
    NoMachine(String),
}

impl HostRules {
    /// No host at all.
    pub fn none() -> HostRules {
        HostRules::default()
    }

    /// Every host of the open internet.
    pub fn public() -> HostRules {
        let rules = vec![Rule { to: To::Internet, port: None }];
        HostRules { words: vec!["public".to_owned()], rules, ..HostRules::default() }
    }

    /// Reads rules: `public`, `example.com`, `*.example.com`, `10.0.0.5`, `[fd00::1]`, each but the first with a port if
    /// it is not 80 and 443, and `localhost:5432`, which must have one.
    ///
    /// # Errors
    /// For the first that cannot be read, in words for whoever wrote it.
    pub fn parse<I>(words: I) -> Result<HostRules, HostRuleError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        if words.len() > RULES_MAX {
            return Err(HostRuleError::TooMany(words.len()));
        }
        let rules = words.iter().map(|word| read(word)).collect::<Result<Vec<_>, _>>()?;
        let rules = HostRules { words, rules, ..HostRules::default() };
        let ports: BTreeSet<_> = USUAL_PORTS.into_iter().chain(rules.named_ports()).collect();
        match ports.len() {
            count if count > PORTS_MAX => Err(HostRuleError::TooManyPorts(count)),
            _ => Ok(rules),
        }
    }

    /// These rules, but nothing that `outer` does not allow as well: however a folder's rules are written, they widen
    /// nothing.
    #[must_use]
    pub fn within(self, outer: HostRules) -> HostRules {
        let others = self.others.into_iter().map(|other| other.within(outer.clone())).collect();
        let outer = match self.within {
            Some(within) => within.within(outer),
            None => outer,
        };
        HostRules { within: Some(Box::new(outer)), others, ..self }
    }

    /// These rules, and what `more` allows besides.
    #[must_use]
    pub fn or(mut self, more: HostRules) -> HostRules {
        self.words.extend_from_slice(&more.words);
        self.others.push(more);
        self
    }

    fn allows_own(&self) -> bool {
        !self.rules.is_empty() && self.within.as_ref().is_none_or(|outer| !outer.is_none())
    }

    /// True if no host can be reached.
    pub fn is_none(&self) -> bool {
        !self.allows_own() && self.others.iter().all(HostRules::is_none)
    }

    /// The ports that can be reached without the proxy, sorted: 80, 443, and each that a rule names, at most
    /// [`PORTS_MAX`]. The others take the proxy.
    pub fn ports(&self) -> Vec<u16> {
        let mut ports = BTreeSet::from(USUAL_PORTS);
        ports.extend(self.named_ports());
        ports.remove(&PROXY_PORT);
        ports.into_iter().take(PORTS_MAX).collect()
    }

    /// The same with others, the first of them for which there is room.
    pub(crate) fn ports_and(&self, others: &[u16]) -> Vec<u16> {
        let mut ports = self.ports();
        for port in others {
            if ports.len() < DOORS_MAX && *port != PROXY_PORT && !ports.contains(port) {
                ports.push(*port);
            }
        }
        ports
    }

    fn named_ports(&self) -> impl Iterator<Item = u16> {
        let own = self.rules.iter().filter_map(|rule| rule.port);
        own.chain(self.others.iter().flat_map(|other| other.named_ports().collect::<Vec<_>>()))
    }

    /// The rules as they were written.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// To which addresses this destination may lead; nothing if no rule allows it.
    pub fn grant(&self, to: &Destination) -> Option<Grant> {
        let others = self.others.iter().filter_map(|other| other.grant(to));
        self.own_grant(to).into_iter().chain(others).max()
    }

    fn own_grant(&self, to: &Destination) -> Option<Grant> {
        let own = self.rules.iter().filter(|rule| rule.allows_port(to.port));
        let own = own.filter_map(|rule| rule.to.grant(&to.host)).max()?;
        match &self.within {
            Some(outer) => outer.grant(to).map(|granted| granted.min(own)),
            None => Some(own),
        }
    }

    /// True if nothing but a missing rule keeps a program from this host, at this port or at any: where a folder's rules
    /// narrow those of the user, what the folder names is left open and nothing else.
    pub(super) fn leaves_open(&self, host: &Host, port: Option<u16>) -> bool {
        let names =
            |rule: &Rule| rule.to.grant(host).is_some() && port.is_none_or(|port| rule.allows_port(port));
        let is_own = self
            .within
            .as_ref()
            .is_none_or(|outer| self.rules.iter().any(names) && outer.leaves_open(host, port));
        is_own && self.others.iter().all(|other| other.leaves_open(host, port))
    }

    /// True if all of the open internet is allowed.
    pub(super) fn allows_internet(&self) -> bool {
        let does_own = self.rules.iter().any(|rule| rule.to == To::Internet)
            && self.within.as_ref().is_none_or(|outer| outer.allows_internet());
        does_own || self.others.iter().any(HostRules::allows_internet)
    }

    /// True if a rule allows a port of this host.
    pub fn knows(&self, host: &Host) -> bool {
        let is_own = self.rules.iter().any(|rule| rule.to.grant(host).is_some())
            && self.within.as_ref().is_none_or(|outer| outer.knows(host));
        is_own || self.others.iter().any(|other| other.knows(host))
    }
}

impl Rule {
    fn allows_port(&self, port: u16) -> bool {
        match (self.port, &self.to) {
            (Some(named), _) => named == port,
            (None, To::Internet) => true,
            (None, To::Host(_) | To::Below(_)) => USUAL_PORTS.contains(&port),
        }
    }
}

impl To {
    fn grant(&self, host: &Host) -> Option<Grant> {
        match (self, host) {
            (To::Internet, Host::Name(_) | Host::Address(_)) => Some(Grant::Public),
            (To::Below(base), Host::Name(name)) => {
                let above = name.strip_suffix(base.as_str())?.strip_suffix('.')?;
                (!above.is_empty()).then_some(Grant::Public)
            }
            (To::Host(named), host) if named == host => Some(match named {
                Host::Name(_) => Grant::Named,
                Host::Localhost | Host::Address(_) => Grant::Address,
            }),
            (To::Internet | To::Below(_) | To::Host(_), _) => None,
        }
    }
}

fn read(word: &str) -> Result<Rule, HostRuleError> {
    if word == "public" {
        return Ok(Rule { to: To::Internet, port: None });
    }
    let wrong = |why| HostRuleError::Host { word: shown(word), why };
    let (host, port) = host::split(word).map_err(wrong)?;
    let port = port.map(host::read_port).transpose().map_err(wrong)?;
    let to = match host.strip_prefix("*.") {
        Some(base) => To::Below(below(word, base)?),
        None if host.contains('*') => return Err(HostRuleError::Wildcard(shown(word))),
        None => To::Host(Host::parse(host).map_err(wrong)?),
    };
    check_machine(word, &to, port)?;
    Ok(Rule { to, port })
}

fn below(word: &str, base: &str) -> Result<String, HostRuleError> {
    match Host::parse(base) {
        Ok(Host::Name(base)) => Ok(base),
        Ok(_) => Err(HostRuleError::Wildcard(shown(word))),
        Err(_) if base.contains('*') => Err(HostRuleError::Wildcard(shown(word))),
        Err(why) => Err(HostRuleError::Host { word: shown(word), why }),
    }
}

fn check_machine(word: &str, to: &To, port: Option<u16>) -> Result<(), HostRuleError> {
    match to {
        To::Host(Host::Localhost) if port.is_none() => Err(HostRuleError::LoopbackPort(shown(word))),
        To::Host(Host::Address(address)) if address.is_loopback() && port.is_none() => {
            Err(HostRuleError::LoopbackPort(shown(word)))
        }
        To::Host(Host::Address(address)) if !is_of_one_machine(*address) => {
            Err(HostRuleError::NoMachine(shown(word)))
        }
        To::Internet | To::Below(_) | To::Host(_) => Ok(()),
    }
}

/// Linux connects to this machine if asked for the unspecified address.
fn is_of_one_machine(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}

/// The longest word that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// A word without what cannot be seen, and without a password that somebody wrote before the host.
fn shown(word: &str) -> String {
    let word = word.rsplit('@').next().unwrap_or_default();
    let visible = word.chars().map(|character| if crate::is_hidden(character) { '?' } else { character });
    visible.take(SHOWN_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;

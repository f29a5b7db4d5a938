//! `Host` and `Destination`: where a program wants to go, read in one way everywhere, so that what is judged and what is
//! dialled cannot be two things.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name of a host, in bytes (RFC 1035).
pub const HOST_BYTES_MAX: usize = 253;

/// The longest part of a name between dots, in bytes (RFC 1035).
const LABEL_BYTES_MAX: usize = 63;

/// A host as it is compared: in lower case and without the dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// This machine, by its name or by the address that everybody has for it.
    Localhost,
    /// A name that has to be looked up.
    Name(String),
    /// An address. An IPv4 one that is written as IPv6 stands here as IPv4.
    Address(IpAddr),
}

/// Why something is not a host. The words are those of a hint: what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nothing is there.
    #[error("a host is missing")]
    Empty,
    /// Longer than any name can be.
    #[error("a host has at most {HOST_BYTES_MAX} characters")]
    TooLong,
    /// A character that no host has.
    #[error(
        "a host has only letters, digits, hyphens, underscores and dots; write other letters in their xn-- form"
    )]
    Character,
    /// A whole address of the web, or user information.
    #[error("only the host is written and, behind a colon, its port: no http://, no path and no user")]
    NotHostOnly,
    /// Two dots beside each other, or one at the beginning.
    #[error("a part between two dots is empty")]
    EmptyLabel,
    /// Too much between two dots.
    #[error("a part between two dots has at most {LABEL_BYTES_MAX} characters")]
    LongLabel,
    /// A number that some programs take for an address and others do not.
    #[error("an address is written as four decimal numbers, as in 10.0.0.5")]
    OddAddress,
    /// Brackets with something else than an IPv6 address in them.
    #[error("an IPv6 address is written in brackets, as in [fd00::1], and without a zone")]
    Ipv6,
    /// A port that there is not.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

impl Host {
    /// Reads a host as it stands in an address: a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// # Errors
    /// For everything that two programs might read in two ways: other spellings of addresses, characters that no name
    /// has, user information.
    pub fn parse(text: &str) -> Result<Host, HostError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(HostError::Ipv6)?;
            return inside
                .parse::<Ipv6Addr>()
                .map(|address| Host::of(address.into()))
                .map_err(|_| HostError::Ipv6);
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.contains(':') && name.parse::<Ipv6Addr>().is_ok() {
            return Err(HostError::Ipv6);
        }
        check_name(&name)?;
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Host::of(address.into()));
        }
        match name.rsplit('.').next() {
            Some(last) if is_number(last) => Err(HostError::OddAddress),
            _ if name == "localhost" => Ok(Host::Localhost),
            _ => Ok(Host::Name(name)),
        }
    }

    /// The host of an address.
    pub fn of(address: IpAddr) -> Host {
        match address.to_canonical() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Host::Localhost,
            address => Host::Address(address),
        }
    }
}

fn check_name(name: &str) -> Result<(), HostError> {
    match () {
        () if name.is_empty() => Err(HostError::Empty),
        () if name.len() > HOST_BYTES_MAX => Err(HostError::TooLong),
        () if !name.bytes().all(is_in_names) => Err(HostError::Character),
        () if name.split('.').any(str::is_empty) => Err(HostError::EmptyLabel),
        () if name.split('.').any(|label| label.len() > LABEL_BYTES_MAX) => Err(HostError::LongLabel),
        () => Ok(()),
    }
}

fn is_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// A last part that `inet_aton`, and so many a resolver, reads as a number: no name of the internet ends in one.
fn is_number(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit())
        || label.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Localhost => f.write_str("localhost"),
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host and a port of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// The port, which is not 0.
    pub port: u16,
}

impl Destination {
    /// Reads `host`, or `host:port`; without a port it is `otherwise`.
    ///
    /// # Errors
    /// As [`Host::parse`], and for a port that there is not.
    pub fn parse(text: &str, otherwise: Option<u16>) -> Result<Destination, HostError> {
        let (host, port) = split(text)?;
        let port = match port {
            Some(port) => read_port(port)?,
            None => otherwise.ok_or(HostError::Port)?,
        };
        Ok(Destination { host: Host::parse(host)?, port })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A host and what stands behind its colon. A bare IPv6 address is left whole, so that its own error tells of it.
pub(super) fn split(text: &str) -> Result<(&str, Option<&str>), HostError> {
    if text.contains(['/', '@']) {
        return Err(HostError::NotHostOnly);
    }
    let behind = text.rfind(']').map_or(0, |bracket| bracket + 1);
    match text[behind..].find(':') {
        Some(colon) if behind > 0 || text.matches(':').count() == 1 => {
            Ok((&text[..behind + colon], Some(&text[behind + colon + 1..])))
        }
        _ => Ok((text, None)),
    }
}

/// A port in decimal digits alone: `+80` is none.
pub(super) fn read_port(text: &str) -> Result<u16, HostError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0).ok_or(HostError::Port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let read = Destination::parse(text, Some(443));
        let read = read.map_or_else(|error| format!("{error:?}"), |destination| destination.to_string());
        assert_eq!(read, expected, "{text:?}");
    }

    #[test]
    fn hosts_have_one_spelling() {
        let label = "a".repeat(63);
        let longest = [label.as_str(), &label, &label, &"a".repeat(61)].join(".");
        for (text, expected) in [
            ("example.com", "example.com:443"),
            ("EXAMPLE.com.", "example.com:443"),
            ("example.com:8443", "example.com:8443"),
            ("a_b-c.example", "a_b-c.example:443"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example:443"),
            ("localhost:1", "localhost:1"),
            ("LOCALHOST.", "localhost:443"),
            ("127.0.0.1:5432", "localhost:5432"),
            ("[::1]:5432", "localhost:5432"),
            ("[::ffff:127.0.0.1]", "localhost:443"),
            ("[::ffff:a9fe:a9fe]:80", "169.254.169.254:80"),
            ("127.0.0.2", "127.0.0.2:443"),
            ("10.0.0.5.:80", "10.0.0.5:80"),
            ("[fd00::1]:80", "[fd00::1]:80"),
            ("[FD00:0::1]", "[fd00::1]:443"),
            (longest.as_str(), &format!("{longest}:443")),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_no_host() {
        let (label, long) = ("a".repeat(64), "a.".repeat(127));
        for (text, expected) in [
            ("", "Empty"),
            (".", "Empty"),
            (":443", "Empty"),
            ("example.com..", "EmptyLabel"),
            (".example.com", "EmptyLabel"),
            ("a..b", "EmptyLabel"),
            (label.as_str(), "LongLabel"),
            (&format!("{long}b"), "TooLong"),
            ("evil.test\0.example.com", "Character"),
            ("example.com\r\n", "Character"),
            ("user@example.com", "NotHostOnly"),
            ("example.com:80@evil.test", "NotHostOnly"),
            ("http://example.com", "NotHostOnly"),
            ("bücher.example", "Character"),
            ("example。com", "Character"),
            ("exa mple.com", "Character"),
            ("example.com/x", "NotHostOnly"),
            ("*.example.com", "Character"),
            ("%6cocalhost", "Character"),
            ("2130706433", "OddAddress"),
            ("0x7f000001", "OddAddress"),
            ("0x7f.1", "OddAddress"),
            ("127.1", "OddAddress"),
            ("0177.0.0.1", "OddAddress"),
            ("127.0.0.01", "OddAddress"),
            ("127.0.0.1.5", "OddAddress"),
            ("256.0.0.1", "OddAddress"),
            ("example.0x", "OddAddress"),
            ("::1", "Ipv6"),
            ("fd00::1:80", "Ipv6"),
            ("[fe80::1%eth0]", "Ipv6"),
            ("[127.0.0.1]", "Ipv6"),
            ("[::1", "Ipv6"),
            ("[::1]x:80", "Ipv6"),
            ("example.com:", "Port"),
            ("example.com:0", "Port"),
            ("example.com:+80", "Port"),
            ("example.com:65536", "Port"),
            ("a:1:2", "Character"),
        ] {
            check(text, expected);
        }
    }
}

//! The `[server]` section.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The path of the MCP endpoint over HTTP.
pub const MCP_PATH: &str = "/mcp";

/// Longest path of a socket, in bytes. Systems take between 103 and 107.
const SOCKET_PATH_BYTES_MAX: usize = 103;

/// Where the program listens.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Address and port for HTTP. Port 0 takes any free one. An address that other machines reach is accepted only
    /// if there are keys (`toolcrib keys create`) or issuers (`[[identity.issuers]]`). What is said there
    /// is encrypted by `[server.tls]`, or by a reverse proxy before it.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "read_address")]
    pub bind: SocketAddr,
    /// Whether programs on this machine may call without a key or token, as the local user. By default they may as
    /// long as there has never been a key and there is no issuer, as on a first run; from the first one on they need one,
    /// too, even when it is revoked. What a
    /// reverse proxy forwards always does.
    pub open_on_loopback: Option<bool>,
    /// Names beside `localhost` and loopback addresses under which HTTP clients may address this server, such
    /// as the name that a proxy before it is known by. Without port; a name is accepted with any.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call this server from a browser, such as `https://app.example`. Pages of
    /// loopback origins are let through by themselves, but only pages listed here may read the answers.
    pub origins: Vec<String>,
    /// Path of a Unix socket on which MCP is spoken as on standard input and output, one client on each
    /// connection. Only the user who started the program may connect. Without it there is no socket.
    pub socket: Option<PathBuf>,
    /// Speaks HTTPS instead of HTTP, with this certificate. Its files are read when the server starts.
    pub tls: Option<Tls>,
}

/// The certificate that the server shows, and its key. Both files are read when the server starts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The file with the certificate in PEM, and behind it those that it depends on.
    pub certificate: PathBuf,
    /// The file with its private key in PEM. Nobody else may be able to write it.
    pub key: PathBuf,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            bind: SocketAddr::from(([127, 0, 0, 1], 3000)),
            open_on_loopback: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            socket: None,
            tls: None,
        }
    }
}

/// The address and port of a text.
///
/// # Errors
/// How one is written, and which was probably meant.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost").unwrap_or(text).trim_start_matches(':').parse::<u16>();
    text.parse().map_err(|_| match port {
        Ok(port) => format!("an address has a host and a port; did you mean \"127.0.0.1:{port}\"?"),
        Err(_) => format!("{text:?} is no IP address with a port, such as \"127.0.0.1:3000\""),
    })
}

fn read_address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    address(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A value of the section that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("server.{key}: {why}")]
pub struct Problem {
    /// The key.
    pub key: &'static str,
    /// Which element, if the value is a list.
    pub nth: Option<usize>,
    /// Why not, as a sentence.
    pub why: String,
}

impl Config {
    /// How addresses of ours begin: `http`, or `https` with a certificate.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The MCP endpoint where it is served at this address.
    pub fn url(&self, address: SocketAddr) -> String {
        format!("{}://{address}{MCP_PATH}", self.scheme())
    }

    /// Checks every value.
    ///
    /// # Errors
    /// All that cannot be used.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        let socket = self.socket_fault().map(|why| Problem { key: "socket", nth: None, why });
        let listed = |key, values: &[String], fault: fn(&str) -> Option<String>| {
            let faults = values.iter().enumerate().filter_map(|(nth, value)| Some((nth, fault(value)?)));
            faults.map(|(nth, why)| Problem { key, nth: Some(nth), why }).collect::<Vec<_>>()
        };
        let hosts = listed("hosts", &self.hosts, host_fault);
        let origins = listed("origins", &self.origins, origin_fault);
        let problems: Vec<_> = hosts.into_iter().chain(origins).chain(socket).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn socket_fault(&self) -> Option<String> {
        let bytes = self.socket.as_deref()?.as_os_str().len();
        match bytes {
            0 => Some("must not be empty; leave it out for no socket".into()),
            1..=SOCKET_PATH_BYTES_MAX => None,
            _ => Some(format!("has {bytes} bytes; the path of a socket has at most {SOCKET_PATH_BYTES_MAX}")),
        }
    }
}

/// Why a text is no name that a `Host` header could hold before its port.
fn host_fault(host: &str) -> Option<String> {
    let is_name =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let is_address = host.parse::<IpAddr>().is_ok();
    (!is_name && !is_address).then(|| {
        format!("{host:?} is no host name; write it without scheme, port and path, such as \"crib.example\"")
    })
}

/// Why a text is no origin as browsers write it.
fn origin_fault(origin: &str) -> Option<String> {
    let sound = origin.split_once("://").is_some_and(|(scheme, authority)| {
        let scheme_is_sound = scheme.starts_with(|first: char| first.is_ascii_lowercase())
            && !scheme.bytes().any(|byte| byte.is_ascii_uppercase());
        let legal = |byte: u8| {
            byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && !b"/?#@*,\"\\".contains(&byte)
        };
        scheme_is_sound && scheme.bytes().all(legal) && !authority.is_empty() && authority.bytes().all(legal)
    });
    (!sound).then(|| {
        format!("{origin:?} is no origin; write scheme and host in lower case without path, such as \"https://app.example\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_origins_are_written_as_they_arrive() {
        let hosts = [
            ("crib.example", true),
            ("my_box", true),
            ("192.0.2.7", true),
            ("::1", true),
            ("", false),
            ("crib.example:3000", false),
            ("http://crib.example", false),
            ("*", false),
            ("a b", false),
        ];
        for (host, good) in hosts {
            assert_eq!(host_fault(host).is_none(), good, "{host:?}");
        }
        let origins = [
            ("https://app.example", true),
            ("http://app.example:8080", true),
            ("vscode-webview://abc", true),
            ("https://app.example/", false),
            ("https://App.example", false),
            ("HTTPS://app.example", false),
            ("app.example", false),
            ("https://", false),
            ("https://*.example", false),
            ("*", false),
            ("null", false),
        ];
        for (origin, good) in origins {
            assert_eq!(origin_fault(origin).is_none(), good, "{origin:?}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        assert_eq!(address("[::1]:3000"), Ok("[::1]:3000".parse().expect("an address")));
        for text in ["3000", ":3000", "localhost:3000"] {
            let why = address(text).expect_err("no address");
            assert!(why.ends_with("did you mean \"127.0.0.1:3000\"?"), "{why}");
        }
        let why = address("crib.example:3000").expect_err("a name");
        assert!(why.starts_with("\"crib.example:3000\" is no IP address with a port"), "{why}");
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let config = Config {
            hosts: vec!["good.example".into(), "a:1".into()],
            origins: vec!["null".into()],
            socket: Some("x".repeat(SOCKET_PATH_BYTES_MAX + 1).into()),
            ..Config::default()
        };
        let problems = config.check().expect_err("three are wrong");
        let places: Vec<_> = problems.iter().map(|problem| (problem.key, problem.nth)).collect();
        assert_eq!(places, [("hosts", Some(1)), ("origins", Some(0)), ("socket", None)]);
    }
}

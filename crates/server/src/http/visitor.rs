//! Who may knock: the names a request may use for us, and the pages it may come from.
//!
//! A web page can make a browser send requests to a loopback address under a name of its own (DNS
//! rebinding). So `Host` must be a loopback name or a configured one, and `Origin`, which only browsers send, a
//! loopback page or a configured one. Where the target of a request is a whole address, that counts as the name it
//! uses (RFC 9112, section 3.2.2), and `Host` must say the same. A browser leaves `Origin` out of some requests and tells all the same, in
//! `Sec-Fetch-Site`, if one comes from a page of another site.

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};

use crate::Config;
use crate::identity::is_loopback;

/// By which a browser says whose page a request comes from. No page can say anything else.
static SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What it says of the pages of others.
const OTHERS: &str = "cross-site";

/// Tells whoever uses a name that is not ours.
const FOREIGN_NAME: &str = "forbidden: the Host header must be a loopback name, such as 127.0.0.1 or localhost, or one of server.hosts";

/// Tells whoever uses two names: what stands between us may have gone by the other one.
const TWO_NAMES: &str =
    "forbidden: the target of the request is an address with another authority than the Host header";

/// Tells whoever comes from a page that may not.
const FOREIGN_PAGE: &str =
    "forbidden: pages from other origins may not call this server; server.origins lists those that may";

/// Who may knock.
pub(super) struct Visitors {
    hosts: Vec<Box<str>>,
    origins: Vec<Box<str>>,
}

impl Visitors {
    /// Loopback, and those that are configured.
    pub(super) fn new(config: &Config) -> Visitors {
        let kept = |values: &[String]| values.iter().map(|value| value.as_str().into()).collect();
        Visitors { hosts: kept(&config.hosts), origins: kept(&config.origins) }
    }

    /// Lets those visitors pass, and gives the origin of a page that may read the answer.
    ///
    /// # Errors
    /// What to tell others.
    pub(super) fn check(
        &self,
        target: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<HeaderValue>, &'static str> {
        self.check_names(target, headers)?;
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) if headers.get_all(&SITE).iter().any(|site| site == OTHERS) => Err(FOREIGN_PAGE),
            (None, _) => Ok(None),
            (Some(origin), None) if self.is_welcome(origin) => Ok(Some(origin.clone())),
            (Some(origin), None) if origin.to_str().is_ok_and(is_local_origin) => Ok(None),
            _ => Err(FOREIGN_PAGE),
        }
    }

    /// Whether a page may read what it asks for, where no browser keeps the answer from it: what a WebSocket brings.
    pub(super) fn may_read(&self, headers: &HeaderMap) -> bool {
        headers.get_all(ORIGIN).iter().all(|origin| self.is_welcome(origin))
    }

    fn check_names(&self, target: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().filter(|host| self.is_ours(host)).ok_or(FOREIGN_NAME)?,
            _ => return Err(FOREIGN_NAME),
        };
        let Some(authority) = target.authority() else { return Ok(()) };
        // As it stands, with whatever may be before an `@`: that is no name of ours.
        match authority.as_str() {
            authority if !self.is_ours(authority) => Err(FOREIGN_NAME),
            authority if !is_same(authority, host, target.scheme_str()) => Err(TWO_NAMES),
            _ => Ok(()),
        }
    }

    /// True for an authority that names this server.
    fn is_ours(&self, authority: &str) -> bool {
        host_of(authority).is_some_and(|host| {
            is_loopback(host) || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
        })
    }

    fn is_welcome(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
    }
}

fn is_local_origin(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.and_then(host_of).is_some_and(is_loopback)
}

/// Whether two authorities, both ours, are one: a port that goes without saying need not be said.
fn is_same(one: &str, other: &str, scheme: Option<&str>) -> bool {
    let default = match scheme {
        Some("https") => ":443",
        _ => ":80",
    };
    let said = |authority: &str| authority.strip_suffix(default).unwrap_or(authority).to_ascii_lowercase();
    said(one) == said(other)
}

/// The host of an authority with a sound port or none.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_is_sound = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    port_is_sound.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitors() -> Visitors {
        Visitors::new(&Config {
            hosts: vec!["crib.example".into(), "2001:db8::1".into()],
            origins: vec!["https://app.example".into()],
            ..Config::default()
        })
    }

    /// As nearly all clients write it.
    static TARGET: std::sync::LazyLock<Uri> = std::sync::LazyLock::new(|| Uri::from_static("/mcp"));

    #[test]
    fn an_address_as_target_names_us_as_the_host_header_does() {
        for (target, host, expected) in [
            ("http://localhost:3000/mcp", "localhost:3000", Ok(())),
            ("http://LOCALHOST:3000/mcp", "localhost:3000", Ok(())),
            ("http://localhost/mcp", "localhost:80", Ok(())),
            ("http://localhost:80/mcp", "localhost", Ok(())),
            ("https://crib.example/mcp", "crib.example:443", Ok(())),
            ("http://[::1]:3000/mcp", "[::1]:3000", Ok(())),
            ("/mcp", "localhost:3000", Ok(())),
            ("*", "localhost:3000", Ok(())),
            ("http://evil.test/mcp", "localhost:3000", Err(FOREIGN_NAME)),
            ("http://localhost:3000/mcp", "evil.test", Err(FOREIGN_NAME)),
            ("http://evil.test/mcp", "evil.test", Err(FOREIGN_NAME)),
            ("http://localhost:3000@evil.test/mcp", "localhost:3000", Err(FOREIGN_NAME)),
            ("http://me@localhost:3000/mcp", "localhost:3000", Err(FOREIGN_NAME)),
            ("http://127.0.0.1:3000/mcp", "localhost:3000", Err(TWO_NAMES)),
            ("http://crib.example/mcp", "localhost", Err(TWO_NAMES)),
            ("http://localhost:3001/mcp", "localhost:3000", Err(TWO_NAMES)),
            ("http://localhost:443/mcp", "localhost", Err(TWO_NAMES)),
            ("https://localhost:80/mcp", "localhost", Err(TWO_NAMES)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            let checked = visitors().check(&target.parse().expect("a target"), &headers);
            assert_eq!(checked.map(drop), expected, "{target} {host}");
        }
    }

    #[test]
    fn only_loopback_and_configured_names_and_pages_pass() {
        let (passes, reads, refused) = (Some(false), Some(true), None);
        // host, origin, whether it passes, and if so whether the page may read the answer
        let cases = [
            (Some("127.0.0.1:3000"), None, passes),
            (Some("localhost"), None, passes),
            (Some("LOCALHOST:1"), None, passes),
            (Some("[::1]:3000"), None, passes),
            (Some("127.8.8.8"), None, passes),
            (Some("crib.example"), None, passes),
            (Some("Crib.Example:8443"), None, passes),
            (Some("[2001:db8::1]:80"), None, passes),
            (None, None, refused),
            (Some(""), None, refused),
            (Some("evil.test"), None, refused),
            (Some("localhost.evil.test"), None, refused),
            (Some("crib.example.evil.test"), None, refused),
            (Some("evil.crib.example"), None, refused),
            (Some("127.0.0.1.evil.test"), None, refused),
            (Some("127.0.0.1:3000@evil.test"), None, refused),
            (Some("localhost:99999"), None, refused),
            (Some("192.0.2.1"), None, refused),
            (Some("0.0.0.0"), None, refused),
            (Some("[::1"), None, refused),
            (Some("localhost"), Some("http://localhost:5173"), passes),
            (Some("localhost"), Some("https://127.0.0.1"), passes),
            (Some("localhost"), Some("https://app.example"), reads),
            (Some("crib.example"), Some("https://app.example"), reads),
            (Some("evil.test"), Some("https://app.example"), refused),
            (Some("localhost"), Some("http://app.example"), refused),
            (Some("localhost"), Some("https://app.example:444"), refused),
            (Some("localhost"), Some("https://crib.example"), refused),
            (Some("localhost"), Some("http://evil.test"), refused),
            (Some("localhost"), Some("null"), refused),
            (Some("localhost"), Some("file://localhost"), refused),
            (Some("localhost"), Some("http://localhost.evil.test"), refused),
        ];
        for (host, origin, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin)] {
                value.map(|value| headers.insert(name, HeaderValue::from_str(value).expect("a sample")));
            }
            let checked = visitors().check(&TARGET, &headers).ok().map(|page| page.is_some());
            assert_eq!(checked, expected, "{host:?} {origin:?}");
        }
    }

    #[test]
    fn a_page_of_another_site_does_not_pass_without_its_origin() {
        for (site, origin, expected) in [
            ("cross-site", None, false),
            ("none", None, true),
            ("same-origin", None, true),
            ("same-site", None, true),
            ("cross-site", Some("https://app.example"), true),
            ("cross-site", Some("http://localhost:5173"), true),
            ("cross-site", Some("http://evil.test"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("localhost"));
            headers.insert(&SITE, HeaderValue::from_static(site));
            origin.map(|origin| headers.insert(ORIGIN, HeaderValue::from_static(origin)));
            assert_eq!(visitors().check(&TARGET, &headers).is_ok(), expected, "{site} {origin:?}");
        }
    }

    #[test]
    fn two_of_one_kind_are_one_too_many() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost"));
        headers.append(ORIGIN, HeaderValue::from_static("https://app.example"));
        assert!(visitors().check(&TARGET, &headers).is_ok());
        for (name, value) in [(HOST, "crib.example"), (ORIGIN, "http://localhost")] {
            let mut twice = headers.clone();
            twice.append(name, HeaderValue::from_static(value));
            assert!(visitors().check(&TARGET, &twice).is_err());
        }
    }
}

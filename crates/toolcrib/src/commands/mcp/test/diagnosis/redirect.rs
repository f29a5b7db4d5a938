//! It sends us somewhere else. Only an address that could as well have been given by a person is proposed: of http or
//! https, no less encrypted than what is configured, and in no private network.

use std::net::{IpAddr, Ipv4Addr};

use http::Uri;
use http::uri::Scheme;
use sandbox::is_public;

use super::finding::{Diagnosis, Failed};

/// Where a redirect leads.
#[derive(Debug, PartialEq, Eq)]
enum Leads {
    /// To an address that may be proposed.
    To(String),
    /// To this host, which is in a private network.
    Inside(String),
    /// From https to http.
    IntoTheOpen(String),
    /// To nothing that could stand in `url`.
    Nowhere,
}

pub(super) fn diagnose(failed: &Failed<'_>, status: u16) -> Diagnosis {
    let location = failed.seen.head.as_ref().and_then(|head| head.location.as_deref());
    let Some((own, location)) = failed.settings.address().zip(location) else {
        return Diagnosis::of("redirects:somewhere", &[("status", &status)]);
    };
    let (kind, target) = match leads(own, location) {
        Leads::To(target) if failed.settings.masked(&target) == target => ("redirects", target),
        Leads::To(target) => ("redirects:masked", target),
        Leads::Inside(host) => ("redirects_to_private", host),
        Leads::IntoTheOpen(target) => ("redirects_unencrypted", target),
        Leads::Nowhere => ("redirects_nowhere", String::new()),
    };
    Diagnosis::of(kind, &[("target", &target), ("status", &status)])
}

/// Where `location` leads from our own address (RFC 3986, section 5.2, as far as it may be proposed).
fn leads(own: &Uri, location: &str) -> Leads {
    let Some(target) = absolute(own, location) else { return Leads::Nowhere };
    let Some(host) = target.host() else { return Leads::Nowhere };
    if is_private(host) && !own.host().is_some_and(|own| own.eq_ignore_ascii_case(host)) {
        return Leads::Inside(host.to_owned());
    }
    let is_plain = |uri: &Uri| uri.scheme() == Some(&Scheme::HTTP);
    match is_plain(&target) && !is_plain(own) {
        true => Leads::IntoTheOpen(target.to_string()),
        false => Leads::To(target.to_string()),
    }
}

/// The whole address, if it is one of http or https, without user information and query.
fn absolute(own: &Uri, location: &str) -> Option<Uri> {
    // Printable ASCII is all that an address is made of. A backslash is a slash to browsers, and to us it is not; the
    // rest would end the text in which it is proposed.
    if location.is_empty()
        || !location.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"`<>".contains(&byte))
    {
        return None;
    }
    let (scheme, own_authority) = (own.scheme_str()?, own.authority()?.as_str());
    let location = location.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match scheme_of(location) {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => (scheme.to_owned(), location),
    };
    let whole = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (host_and_port(authority), without_dots(path))
        }
        // `http:path` is an address of nothing.
        None if scheme_of(location).is_some() => return None,
        None if rest.starts_with('/') => (host_and_port(own_authority), without_dots(rest)),
        None if rest.is_empty() => (host_and_port(own_authority), own.path().to_owned()),
        None => {
            let folder = own.path().rfind('/').map_or("/", |end| &own.path()[..=end]);
            (host_and_port(own_authority), without_dots(&format!("{folder}{rest}")))
        }
    };
    let (authority, path) = whole;
    let uri: Uri = format!("{scheme}://{authority}{path}").parse().ok()?;
    let is_web = uri.scheme() == Some(&Scheme::HTTP) || uri.scheme() == Some(&Scheme::HTTPS);
    (is_web && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

/// A scheme and what follows its colon.
fn scheme_of(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some((scheme, rest))
}

/// An authority without what may be secret in it.
fn host_and_port(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or_default()
}

/// A path whose dots are resolved (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut pieces = path.split('/').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        let is_last = pieces.peek().is_none();
        match piece {
            "." | ".." => {
                if piece == ".." {
                    parts.pop();
                }
                if is_last {
                    parts.push("");
                }
            }
            piece => parts.push(piece),
        }
    }
    if parts.is_empty() { String::new() } else { format!("/{}", parts.join("/")) }
}

/// True for a host that names this machine or an address that is not the open internet's. Where other names lead is
/// decided by whoever owns them, so nothing is said of those.
fn is_private(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    match bare.parse::<IpAddr>() {
        Ok(address) => !is_public(address),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost") || is_odd_number(&bare),
    }
}

/// True for a name that browsers and resolvers take for an IPv4 address in another notation: `2130706433`, `0x7f.1`.
fn is_odd_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    host.parse::<Ipv4Addr>().is_err()
        && (last.strip_prefix("0x").is_some_and(is_hex)
            || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(own: &str, cases: &[(&str, Leads)]) {
        let own = own.parse().expect("an address");
        for (location, expected) in cases {
            assert_eq!(&leads(&own, location), expected, "{location}");
        }
    }

    fn to(target: &str) -> Leads {
        Leads::To(target.to_owned())
    }

    #[test]
    fn only_web_addresses_are_proposed() {
        check(
            "https://h.example/a/mcp",
            &[
                ("https://other.example/mcp", to("https://other.example/mcp")),
                ("HTTPS://other.example:8443/mcp/", to("https://other.example:8443/mcp/")),
                ("//other.example/mcp", to("https://other.example/mcp")),
                ("/mcp/", to("https://h.example/mcp/")),
                ("mcp/", to("https://h.example/a/mcp/")),
                ("../b/./mcp", to("https://h.example/b/mcp")),
                ("../../../mcp", to("https://h.example/mcp")),
                ("?next=1", to("https://h.example/a/mcp")),
                ("https://me:pw@other.example/mcp?code=c#f", to("https://other.example/mcp")),
                ("//me:pw@other.example/mcp", to("https://other.example/mcp")),
                ("file:///etc/passwd", Leads::Nowhere),
                ("file:/etc/passwd", Leads::Nowhere),
                ("gopher://other.example:70/x", Leads::Nowhere),
                ("javascript:alert(1)", Leads::Nowhere),
                ("unix:/run/docker.sock", Leads::Nowhere),
                ("https:other.example", Leads::Nowhere),
                ("https://", Leads::Nowhere),
                ("https:///etc/passwd", Leads::Nowhere),
                ("//", Leads::Nowhere),
                ("", Leads::Nowhere),
                ("/\\evil.example/x", Leads::Nowhere),
                ("/x\"\nurl = \"y", Leads::Nowhere),
                ("/x\u{1b}[2J", Leads::Nowhere),
                ("/\u{202e}pcm", Leads::Nowhere),
                ("https://evil.example`", Leads::Nowhere),
            ],
        );
    }

    #[test]
    fn nothing_is_proposed_that_is_less_safe() {
        let inside = |host: &str| Leads::Inside(host.to_owned());
        let open = |target: &str| Leads::IntoTheOpen(target.to_owned());
        check(
            "https://h.example/mcp",
            &[
                ("http://h.example/mcp", open("http://h.example/mcp")),
                ("http://me:pw@other.example/", open("http://other.example/")),
                ("http://10.0.0.1/", inside("10.0.0.1")),
                ("https://127.0.0.1/", inside("127.0.0.1")),
                ("//169.254.169.254/latest", inside("169.254.169.254")),
                ("https://100.64.0.1/", inside("100.64.0.1")),
                ("https://[::1]:3000/", inside("[::1]")),
                ("https://[::ffff:127.0.0.1]/", inside("[::ffff:127.0.0.1]")),
                ("https://LOCALHOST/", inside("LOCALHOST")),
                ("https://localhost./", inside("localhost.")),
                ("https://a.localhost/", inside("a.localhost")),
                ("https://2130706433/", inside("2130706433")),
                ("https://0x7f.1/", inside("0x7f.1")),
                ("https://0177.0.0.1/", inside("0177.0.0.1")),
                ("https://1.1.1.1/", to("https://1.1.1.1/")),
            ],
        );
        check(
            "http://127.0.0.1:3000/mcp",
            &[
                ("http://127.0.0.1:1/elsewhere", to("http://127.0.0.1:1/elsewhere")),
                ("http://127.0.0.2/", inside("127.0.0.2")),
                ("https://h.example/", to("https://h.example/")),
            ],
        );
    }
}

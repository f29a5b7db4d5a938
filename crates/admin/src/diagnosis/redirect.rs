//! It sends us somewhere else. Only an address that could as well have been given by a person is proposed: of http or
//! https, no less encrypted than what is configured, and in no private network.

use http::Uri;
use http::uri::Scheme;
use sandbox::is_public;
use url::{Host, Url};

use super::finding::{Diagnosis, Failed};

pub(super) fn diagnose(failed: &Failed<'_>, status: u16) -> Diagnosis {
    let location = failed.seen.head.as_ref().and_then(|head| head.location.as_deref());
    let Some((own, location)) = failed.settings.address().zip(location) else {
        return Diagnosis::of("redirects:somewhere", &[("status", &status)]);
    };
    let (kind, target) = match leads(own, location) {
        ("redirects", target) if failed.settings.masked(&target) != target => ("redirects:masked", target),
        diagnosis => diagnosis,
    };
    Diagnosis::of(kind, &[("target", &target), ("status", &status)])
}

/// Where `location` leads from our own address, and what that is called: an address that may be proposed, a host in a
/// private network, an address to which nothing is encrypted, or nothing that could stand in `url`.
fn leads(own: &Uri, location: &str) -> (&'static str, String) {
    let Some(target) = absolute(own, location) else { return ("redirects_nowhere", String::new()) };
    let host = target.host_str().unwrap_or_default();
    if is_private(&target) && !own.host().is_some_and(|own| own.eq_ignore_ascii_case(host)) {
        return ("redirects_to_private", host.to_owned());
    }
    match target.scheme() == "http" && own.scheme() != Some(&Scheme::HTTP) {
        true => ("redirects_unencrypted", target.into()),
        false => ("redirects", target.into()),
    }
}

/// The whole address, if it is one of http or https, without user information and query.
fn absolute(own: &Uri, location: &str) -> Option<Url> {
    // Printable ASCII is all that an address is made of. A backslash is a slash to some; the rest would end the text in
    // which it is proposed.
    let is_sound = |byte: u8| byte.is_ascii_graphic() && !b"\\\"`<>".contains(&byte);
    if location.is_empty() || !location.bytes().all(is_sound) {
        return None;
    }
    let mut target = Url::parse(&own.to_string()).ok()?.join(location).ok()?;
    target.set_username("").ok()?;
    target.set_password(None).ok()?;
    target.set_query(None);
    target.set_fragment(None);
    matches!(target.scheme(), "http" | "https").then_some(target)
}

/// True for a host that names this machine or an address that is not the open internet's, in whichever notation. Where
/// other names lead is decided by whoever owns them, so nothing is said of those.
fn is_private(target: &Url) -> bool {
    match target.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Leads = (&'static str, String);

    #[track_caller]
    fn check(own: &str, cases: &[(&str, Leads)]) {
        let own = own.parse().expect("an address");
        for (location, expected) in cases {
            assert_eq!(&leads(&own, location), expected, "{location}");
        }
    }

    fn to(target: &str) -> Leads {
        ("redirects", target.to_owned())
    }

    fn nowhere() -> Leads {
        ("redirects_nowhere", String::new())
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
                ("file:///etc/passwd", nowhere()),
                ("file:/etc/passwd", nowhere()),
                ("gopher://other.example:70/x", nowhere()),
                ("javascript:alert(1)", nowhere()),
                ("unix:/run/docker.sock", nowhere()),
                ("https:other.example", to("https://h.example/a/other.example")),
                ("https://", nowhere()),
                ("https:///etc/passwd", to("https://etc/passwd")),
                ("//", nowhere()),
                ("", nowhere()),
                ("/\\evil.example/x", nowhere()),
                ("/x\"\nurl = \"y", nowhere()),
                ("/x\u{1b}[2J", nowhere()),
                ("/\u{202e}pcm", nowhere()),
                ("https://evil.example`", nowhere()),
            ],
        );
    }

    #[test]
    fn nothing_is_proposed_that_is_less_safe() {
        let inside = |host: &str| ("redirects_to_private", host.to_owned());
        let open = |target: &str| ("redirects_unencrypted", target.to_owned());
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
                ("https://[::ffff:127.0.0.1]/", inside("[::ffff:7f00:1]")),
                ("https://LOCALHOST/", inside("localhost")),
                ("https://localhost./", inside("localhost.")),
                ("https://a.localhost/", inside("a.localhost")),
                ("https://2130706433/", inside("127.0.0.1")),
                ("https://0x7f.1/", inside("127.0.0.1")),
                ("https://0177.0.0.1/", inside("127.0.0.1")),
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

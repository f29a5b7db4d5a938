//! Who may knock: the names a request may use for us, and the pages it may come from.
//!
//! A web page can make a browser send requests to a loopback address under a name of its own (DNS
//! rebinding). So `Host` must be a loopback name, and `Origin`, which only browsers send, a loopback page.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap, ORIGIN};

/// Lets local visitors pass.
///
/// # Errors
/// What to tell others.
pub(super) fn check(headers: &HeaderMap) -> Result<(), &'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if host.to_str().is_ok_and(is_local_authority) => {}
        _ => {
            return Err(
                "forbidden: the Host header must be a loopback name, such as 127.0.0.1 or localhost\n",
            );
        }
    }
    let local_origin = |origin: &str| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(is_local_authority)
    };
    if headers.get_all(ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(local_origin)) {
        Ok(())
    } else {
        Err("forbidden: pages from other origins may not call this server\n")
    }
}

/// True for `localhost` and loopback addresses, with any port or none.
fn is_local_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) => (host, port),
            None => return false,
        },
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_is_sound = match port.strip_prefix(':') {
        Some(digits) => digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    let host_is_local = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    port_is_sound && host_is_local
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_loopback_names_and_pages_pass() {
        // host, origin, whether it passes
        let cases = [
            (Some("127.0.0.1:3000"), None, true),
            (Some("localhost"), None, true),
            (Some("LOCALHOST:1"), None, true),
            (Some("[::1]:3000"), None, true),
            (Some("127.8.8.8"), None, true),
            (None, None, false),
            (Some(""), None, false),
            (Some("evil.test"), None, false),
            (Some("localhost.evil.test"), None, false),
            (Some("127.0.0.1.evil.test"), None, false),
            (Some("127.0.0.1:3000@evil.test"), None, false),
            (Some("localhost:99999"), None, false),
            (Some("192.0.2.1"), None, false),
            (Some("0.0.0.0"), None, false),
            (Some("[::1"), None, false),
            (Some("localhost"), Some("http://localhost:5173"), true),
            (Some("localhost"), Some("https://127.0.0.1"), true),
            (Some("localhost"), Some("http://evil.test"), false),
            (Some("localhost"), Some("null"), false),
            (Some("localhost"), Some("file://localhost"), false),
            (Some("localhost"), Some("http://localhost.evil.test"), false),
        ];
        for (host, origin, passes) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in [(HOST, host), (ORIGIN, origin)] {
                value.map(|value| headers.insert(name, HeaderValue::from_str(value).expect("a sample")));
            }
            assert_eq!(check(&headers).is_ok(), passes, "{host:?} {origin:?}");
        }
    }

    #[test]
    fn two_hosts_are_one_too_many() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, HeaderValue::from_static("localhost"));
        headers.append(HOST, HeaderValue::from_static("evil.test"));
        assert!(check(&headers).is_err());
    }
}

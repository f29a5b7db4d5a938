//! The rules for addresses that come from outside: from a challenge, from a metadata document.
//!
//! We send secrets to some of them and open others in the user's browser, so they are checked before anything
//! else is done with them. Whether a host is private is not decided here: the client that connects sees the
//! address that its name leads to.

use http::Uri;

use crate::clean_text;
use crate::error::{Failure, Reason};

/// Longer addresses are nobody's endpoint.
const ADDRESS_BYTES_MAX: usize = 2048;

/// Characters that belong to no endpoint, although a URL may hold some of them: a browser is started with the
/// address as an argument, and whatever stands between us and it must not find anything to interpret.
const FORBIDDEN: &str = "\"'`\\<>{}()|^$;";

/// Reads the address that `text` is meant to be; `what` says whose, as "the token endpoint".
///
/// # Errors
/// A sentence that begins with `what`: the address is not a whole one, is neither https nor http on this
/// machine, holds user information, a fragment, or characters that no endpoint needs.
pub(crate) fn endpoint(what: &str, text: &str) -> Result<Uri, Failure> {
    let refused = |why: &str| Err(Failure::new(Reason::EndpointRefused, format!("{what} is refused: {why}")));
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_https = scheme.eq_ignore_ascii_case("https");
    if !is_https && !scheme.eq_ignore_ascii_case("http") {
        let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return match is_scheme {
            true => {
                refused(&format!("it is a \"{}:\" address, not an https one", clean_text::cleaned(scheme)))
            }
            false => refused("it is not a whole address"),
        };
    }
    if text.len() > ADDRESS_BYTES_MAX {
        return refused(&format!("it is longer than {ADDRESS_BYTES_MAX} bytes"));
    }
    if let Some(bad) = text.chars().find(|&character| is_forbidden(character)) {
        return refused(&format!("it holds the character {bad:?}"));
    }
    if text.contains('#') {
        return refused("it has a fragment");
    }
    let Ok(uri) = text.parse::<Uri>() else {
        return refused("it is not a whole address");
    };
    let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else {
        return refused("it is not a whole address");
    };
    if authority.as_str().contains('@') {
        return refused("it holds a user name or password");
    }
    // A port that is no number is kept in the text, and connected to as if it were not there.
    let has_odd_port = uri.port_u16().is_none() && authority.as_str().len() != host.len();
    if host.is_empty() || has_odd_port {
        return refused("it is not a whole address");
    }
    if !is_https && !is_loopback(host) {
        return refused(&format!("it is not an https one, and only those of {LOOPBACK_NAMES} need not be"));
    }
    Ok(uri)
}

/// Whether `text` is an address that a secret may be sent to.
pub fn is_endpoint(text: &str) -> bool {
    endpoint("it", text).is_ok()
}

const LOOPBACK_NAMES: &str = "localhost, 127.0.0.1 and [::1]";

fn is_forbidden(character: char) -> bool {
    !character.is_ascii_graphic() || FORBIDDEN.contains(character)
}

/// Whether `host`, as it stands in an address, is this machine whatever a name server says.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Scheme, host and port, in one spelling: `https://example.com` is `https://EXAMPLE.com:443`.
pub(crate) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    match uri.port_u16() {
        Some(port) if !matches!((&*scheme, port), ("https", 443) | ("http", 80)) => {
            format!("{scheme}://{host}:{port}")
        }
        _ => format!("{scheme}://{host}"),
    }
}

/// The address of `path` (with its leading `/`) at the origin of `uri`.
pub(crate) fn at_origin(uri: &Uri, path: &str) -> Uri {
    format!("{}{path}", origin(uri)).parse().expect("an origin and a path that were part of an address")
}

/// Where an address leads, without its query, which may be secret.
pub(crate) fn shown(uri: &Uri) -> String {
    format!("{}{}", origin(uri), uri.path())
}

#[cfg(test)]
mod tests;

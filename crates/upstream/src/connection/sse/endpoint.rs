//! Where messages go: the address that a server names in its `endpoint` event. Only an address of the same
//! origin is taken, or a server could make us send our credentials to another one.

use http::Uri;

use crate::config::shown_url;
use crate::settings::Mask;

/// Longest address of an endpoint, in bytes.
const ENDPOINT_BYTES_MAX: usize = 4 * 1024;

/// How much of an endpoint is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// The address that `said` means, which was said at `base` (RFC 3986, section 5.2). `base` is a full address.
///
/// # Errors
/// If it is none, or leads to another origin; as a sentence without what may be secret in it.
pub(super) fn resolve(base: &Uri, said: &str, mask: &Mask) -> Result<Uri, String> {
    let said = said.trim_ascii();
    if said.is_empty() || said.len() > ENDPOINT_BYTES_MAX {
        return Err(format!("its endpoint is no address of 1 to {ENDPOINT_BYTES_MAX} bytes"));
    }
    let said = said.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str().unwrap_or_default();
    let authority = base.authority().map_or("", |authority| authority.as_str());
    let whole = match said {
        _ if has_scheme(said) => said.to_owned(),
        _ if said.starts_with("//") => format!("{scheme}:{said}"),
        _ if said.starts_with('/') => format!("{scheme}://{authority}{said}"),
        _ if said.starts_with('?') => format!("{scheme}://{authority}{}{said}", base.path()),
        _ => format!("{scheme}://{authority}{}", beside(base.path(), said)),
    };
    let shown = || mask.sentence(&shown_url(&whole), SHOWN_BYTES_MAX);
    let Ok(uri) = whole.parse::<Uri>() else {
        return Err(format!("its endpoint is no address: {}", shown()));
    };
    if origin(&uri) != origin(base) || whole_authority(&uri).contains('@') {
        return Err(format!("its endpoint is at another origin, which is refused: {}", shown()));
    }
    Ok(uri)
}

/// Scheme, host and port.
fn origin(uri: &Uri) -> (Option<&str>, String, Option<u16>) {
    let port = uri.port_u16().or(match uri.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    });
    (uri.scheme_str(), uri.host().unwrap_or_default().to_ascii_lowercase(), port)
}

fn whole_authority(uri: &Uri) -> &str {
    uri.authority().map_or("", |authority| authority.as_str())
}

/// True if the address begins with `scheme:`.
fn has_scheme(address: &str) -> bool {
    let scheme = address.split([':', '/', '?']).next().unwrap_or_default();
    address[scheme.len()..].starts_with(':') && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// The path, and the query if there is one, of `relative` as seen from `path`.
fn beside(path: &str, relative: &str) -> String {
    let (relative, query) = relative.split_at(relative.find('?').unwrap_or(relative.len()));
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut kept: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    let mut ends_in_folder = false;
    for segment in relative.split('/') {
        ends_in_folder = matches!(segment, "" | "." | "..");
        match segment {
            ".." => drop(kept.pop()),
            "" | "." => {}
            name => kept.push(name),
        }
    }
    let slash = if ends_in_folder && !kept.is_empty() { "/" } else { "" };
    format!("/{}{slash}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, said: &str, expected: Result<&str, &str>) {
        let resolved =
            resolve(&base.parse().expect("an address"), said, &Mask::default()).map(|uri| uri.to_string());
        assert_eq!(resolved.as_deref().map_err(String::as_str), expected, "{said} at {base}");
    }

    #[test]
    fn an_endpoint_is_absolute_or_relative() {
        const BASE: &str = "http://host:8080/api/sse?key=1";
        for (said, expected) in [
            ("/messages/?session_id=5", "http://host:8080/messages/?session_id=5"),
            (" messages/?s=a/b#x ", "http://host:8080/api/messages/?s=a/b"),
            ("./message", "http://host:8080/api/message"),
            ("../a/./b/", "http://host:8080/a/b/"),
            ("../../..", "http://host:8080/"),
            ("?s=1", "http://host:8080/api/sse?s=1"),
            ("//HOST:8080/m", "http://HOST:8080/m"),
            ("http://host:8080/m?x=http://y", "http://host:8080/m?x=http://y"),
        ] {
            check(BASE, said, Ok(expected));
        }
        check("https://host/sse", "https://HOST:443/m", Ok("https://HOST:443/m"));
        check("http://[::1]/sse", "http://[::1]:80/m", Ok("http://[::1]:80/m"));
    }

    #[test]
    fn another_origin_is_refused_and_no_secret_said() {
        const BASE: &str = "http://host:8080/sse";
        for (said, shown) in [
            ("http://other:8080/m?s=s3cret", "http://other:8080/m"),
            ("https://host:8080/m", "https://host:8080/m"),
            ("http://host/m", "http://host/m"),
            ("//host:8081/m", "http://host:8081/m"),
            ("http://me:s3cret@host:8080/m", "http://host:8080/m"),
            ("ftp://host:8080/m", "ftp://host:8080/m"),
            ("http://host:8080.evil/m", "http://host:8080.evil/m"),
        ] {
            let resolved = resolve(&Uri::from_static(BASE), said, &Mask::default()).expect_err("refused");
            assert!(resolved.ends_with(shown) && !resolved.contains("s3cret"), "{said}: {resolved}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        const BASE: &str = "http://host/sse";
        for said in ["", " ", "mailto:me", "http://", "/a b", "/\u{7f}", "http:/m"] {
            assert!(resolve(&Uri::from_static(BASE), said, &Mask::default()).is_err(), "{said:?}");
        }
        assert!(
            resolve(&Uri::from_static(BASE), &"x".repeat(ENDPOINT_BYTES_MAX + 1), &Mask::default()).is_err()
        );
    }
}

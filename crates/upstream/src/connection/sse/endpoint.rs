//! Where messages go: the address that a server names in its `endpoint` event. Only an address of the same
//! origin is taken, or a server could make us send our credentials to another one.

use http::Uri;
use url::Url;

use crate::config::shown_url;
use crate::settings::Mask;

/// Longest address of an endpoint, in bytes.
const ENDPOINT_BYTES_MAX: usize = 4 * 1024;

/// How much of an endpoint is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// The address that `endpoint` means at `base`, which is a full address.
///
/// # Errors
/// If it is none, or leads to another origin; as a sentence without what may be secret in it.
pub(super) fn resolve(base: &Uri, endpoint: &str, mask: &Mask) -> Result<Uri, String> {
    let endpoint = endpoint.trim_ascii();
    if endpoint.is_empty() || endpoint.len() > ENDPOINT_BYTES_MAX {
        return Err(format!("its endpoint is no address of 1 to {ENDPOINT_BYTES_MAX} bytes"));
    }
    let shown = |address: &str| mask.sentence(&shown_url(address), SHOWN_BYTES_MAX);
    let no_address = || format!("its endpoint is no address: {}", shown(endpoint));
    let base = Url::parse(&base.to_string()).map_err(|_| no_address())?;
    let mut url = base.join(endpoint).map_err(|_| no_address())?;
    url.set_fragment(None);
    let has_user = !url.username().is_empty() || url.password().is_some();
    if url.origin() != base.origin() || has_user {
        return Err(format!("its endpoint is at another origin, which is refused: {}", shown(url.as_str())));
    }
    url.as_str().parse().map_err(|_| no_address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, endpoint: &str, expected: Result<&str, &str>) {
        let resolved = resolve(&base.parse().expect("an address"), endpoint, &Mask::default())
            .map(|uri| uri.to_string());
        assert_eq!(resolved.as_deref().map_err(String::as_str), expected, "{endpoint} at {base}");
    }

    #[test]
    fn an_endpoint_is_absolute_or_relative() {
        const BASE: &str = "http://host:8080/api/sse?key=1";
        for (endpoint, expected) in [
            ("/messages/?session_id=5", "http://host:8080/messages/?session_id=5"),
            (" messages/?s=a/b#x ", "http://host:8080/api/messages/?s=a/b"),
            ("./message", "http://host:8080/api/message"),
            ("../a/./b/", "http://host:8080/a/b/"),
            ("../../..", "http://host:8080/"),
            ("?s=1", "http://host:8080/api/sse?s=1"),
            ("//HOST:8080/m", "http://host:8080/m"),
            ("http://host:8080/m?x=http://y", "http://host:8080/m?x=http://y"),
        ] {
            check(BASE, endpoint, Ok(expected));
        }
        check("https://host/sse", "https://HOST:443/m", Ok("https://host/m"));
        check("http://[::1]/sse", "http://[::1]:80/m", Ok("http://[::1]/m"));
    }

    #[test]
    fn another_origin_is_refused_and_no_secret_said() {
        const BASE: &str = "http://host:8080/sse";
        for (endpoint, shown) in [
            ("http://other:8080/m?s=s3cret", "http://other:8080/m"),
            ("https://host:8080/m", "https://host:8080/m"),
            ("http://host/m", "http://host/m"),
            ("//host:8081/m", "http://host:8081/m"),
            ("http://me:s3cret@host:8080/m", "http://host:8080/m"),
            ("ftp://host:8080/m", "ftp://host:8080/m"),
            (r"\\evil/m", "http://evil/m"),
            ("http://host:8080.evil/m", "http://host:8080.evil/m"),
        ] {
            let resolved = resolve(&Uri::from_static(BASE), endpoint, &Mask::default()).expect_err("refused");
            assert!(resolved.ends_with(shown) && !resolved.contains("s3cret"), "{endpoint}: {resolved}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        const BASE: &str = "http://host/sse";
        for endpoint in ["", " ", "mailto:me", "http://", "javascript:alert(1)"] {
            assert!(resolve(&Uri::from_static(BASE), endpoint, &Mask::default()).is_err(), "{endpoint:?}");
        }
        assert!(
            resolve(&Uri::from_static(BASE), &"x".repeat(ENDPOINT_BYTES_MAX + 1), &Mask::default()).is_err()
        );
    }
}

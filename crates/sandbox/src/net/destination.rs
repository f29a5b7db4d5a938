//! Where a request goes.

use http::Uri;

/// Host and port of an address, and nothing else of it: a query or user information may be secret.
pub(super) fn destination(uri: &Uri) -> (String, u16) {
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    (uri.host().unwrap_or_default().to_owned(), port)
}

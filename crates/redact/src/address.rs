//! Addresses as people may see them.

/// Stands for a value that is not shown.
pub const MASK: &str = "***";

/// An address without what it may carry: a user with a password, and values of a query.
pub fn without_credentials(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
    let mut shown = match address.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host.to_owned(), |(_, host)| format!("{MASK}@{host}"));
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    };
    if let Some(query) = query {
        let pair = |pair: &str| match pair.split_once('=') {
            Some((key, _)) => format!("{key}={MASK}"),
            None => MASK.to_owned(),
        };
        shown.push('?');
        shown.push_str(&query.split('&').map(pair).collect::<Vec<_>>().join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_opens_doors() {
        for (url, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example:1/mcp?key=hunter2&x", "https://a.example:1/mcp?key=***&***"),
            ("https://u:hunter2@a.example/p@q", "https://***@a.example/p@q"),
            ("https://hunter2@a.example", "https://***@a.example"),
            ("a.example/mcp", "a.example/mcp"),
        ] {
            assert_eq!(without_credentials(url), expected);
        }
    }
}

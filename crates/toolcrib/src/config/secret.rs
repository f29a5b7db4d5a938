//! Which values of the configuration are secrets, and how they are shown: never.

use serde_json::Value;

use super::tree::{Node, Written};

/// Stands for a value that is not shown.
pub(crate) const MASK: &str = "***";

/// Whether the value at this path, or anything in it, may be a secret. People put tokens in headers and
/// environment variables, and secrets of clients beside their ids, as plain text, too.
pub(crate) fn is_secret(path: &[&str]) -> bool {
    matches!(
        path,
        ["mcp", _, "headers" | "env", _, ..]
            | ["mcp", _, "oauth", "client_secret" | "private_key", ..]
            | ["mcp", _, "oauth", "identity_provider", "id_token" | "client_secret", ..]
    )
}

/// Where a secret is kept, as a note: a reference tells, a plain text has nothing to tell.
pub(crate) fn origin(node: &Node) -> String {
    let text = |key: &str| match &node.member(key)?.node.written {
        Written::Text(text) => Some(text.clone()),
        _ => None,
    };
    match (text("env"), text("file"), text("store")) {
        (Some(name), _, _) => format!(", from the environment variable {name}"),
        (None, Some(path), _) => format!(", from the file {path}"),
        (None, None, Some(name)) => format!(", the kept secret {name}"),
        (None, None, None) => String::new(),
    }
}

/// The value without what an address may carry: a user with a password, and values of a query.
pub(crate) fn without_credentials(path: &[&str], value: Value) -> Value {
    match (path, value) {
        (["mcp", _, "url"], Value::String(url)) => Value::String(without_credentials_in(&url)),
        (_, value) => value,
    }
}

/// An address without what it may carry: a user with a password, and values of a query.
pub(crate) fn without_credentials_in(url: &str) -> String {
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
    fn headers_environments_and_secrets_of_clients_are_secret_whole() {
        for (path, expected) in [
            (&["mcp", "git", "env", "TOKEN"][..], true),
            (&["mcp", "git", "headers", "Authorization"], true),
            (&["mcp", "git", "env", "TOKEN", "env"], true),
            (&["mcp", "git", "env"], false),
            (&["mcp", "web", "oauth", "client_secret"], true),
            (&["mcp", "web", "oauth", "private_key", "file"], true),
            (&["mcp", "web", "oauth", "identity_provider", "id_token"], true),
            (&["mcp", "web", "oauth", "identity_provider", "client_secret"], true),
            (&["mcp", "web", "oauth", "identity_provider", "client_id"], false),
            (&["mcp", "web", "oauth", "client_id"], false),
            (&["mcp", "env", "command"], false),
            (&["server", "bind"], false),
        ] {
            assert_eq!(is_secret(path), expected, "{path:?}");
        }
    }

    #[test]
    fn addresses_are_shown_without_what_opens_doors() {
        for (url, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example:1/mcp?key=hunter2&x", "https://a.example:1/mcp?key=***&***"),
            ("https://u:hunter2@a.example/p@q", "https://***@a.example/p@q"),
            ("https://hunter2@a.example", "https://***@a.example"),
            ("a.example/mcp", "a.example/mcp"),
        ] {
            assert_eq!(without_credentials_in(url), expected);
        }
    }
}

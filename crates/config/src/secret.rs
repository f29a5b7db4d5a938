//! Which values of the configuration are secrets, and how they are shown: never.

use redact::without_credentials;
use serde_json::Value;

use crate::tree::{Node, Written};

/// Whether the value at this path, or anything in it, may be a secret. People put tokens in headers and
/// environment variables, and secrets of clients beside their ids, as plain text, too.
pub(crate) fn is_secret(path: &[&str]) -> bool {
    matches!(
        path,
        ["sandbox", "proxy", ..]
            | ["artifacts", "access_key" | "secret_key", ..]
            | ["jobs", "notify", "secret", ..]
            | ["search", "services", _, "key", ..]
            | ["mcp", _, "headers" | "env", _, ..]
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
pub(crate) fn without_credentials_at(path: &[&str], value: Value) -> Value {
    match (path, value) {
        (["mcp", _, "url"] | ["jobs", "notify", "webhook"], Value::String(url)) => {
            Value::String(without_credentials(&url))
        }
        (_, value) => value,
    }
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
            (&["sandbox", "proxy"], true),
            (&["artifacts", "secret_key"], true),
            (&["artifacts", "access_key", "env"], true),
            (&["artifacts", "store"], false),
            (&["jobs", "notify", "secret"], true),
            (&["search", "services", "brave", "key", "env"], true),
            (&["search", "services", "brave", "url"], false),
            (&["jobs", "notify", "command"], false),
            (&["sandbox", "hosts"], false),
            (&["mcp", "git", "sandbox", "proxy"], false),
            (&["server", "bind"], false),
        ] {
            assert_eq!(is_secret(path), expected, "{path:?}");
        }
    }
}

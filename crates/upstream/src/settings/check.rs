//! Holds a `[mcp.NAME]` table to its rules and finds every problem at once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderName};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Uri};
use sandbox::Program;

use super::{CALL_TIMEOUT_MAX, CALL_TIMEOUT_MIN, Dialect, Endpoint, Settings};
use crate::config::{Config, Reference, Timeout, Transport, Value};
use crate::naming;

/// Longest NAME of a table, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest prefix, in characters; leaves room for the tools' own names.
const PREFIX_CHARS_MAX: usize = 40;

/// Longest path of a Unix socket, in bytes: what the system's own structure holds.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Headers that the transport sets itself.
const OUR_HEADERS: [&str; 11] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    wire::http::LAST_EVENT_ID,
    wire::http::METHOD,
    wire::http::NAME,
    wire::http::PROTOCOL_VERSION,
    wire::http::SESSION_ID,
    "transfer-encoding",
];

type LookUp<'a> = &'a dyn Fn(&Reference) -> Result<String, String>;

pub(super) fn settle(
    config: &Config,
    name: &str,
    default_timeout: Duration,
    look_up: LookUp<'_>,
) -> Result<Settings, Vec<String>> {
    let mut check = Check { table: format!("mcp.{}", key(name)), problems: Vec::new() };
    check.name(name);
    let prefix = check.prefix(config, name);
    let timeout = check.timeout(config.timeout, default_timeout);
    let endpoint = check.endpoint(config, look_up);
    match endpoint {
        Some(endpoint) if check.problems.is_empty() => {
            let (name, foreign) = (name.into(), Arc::default());
            Ok(Settings { name, enabled: config.enabled, timeout, prefix, foreign, endpoint })
        }
        _ => Err(check.problems),
    }
}

/// A key as TOML wants it in a path.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(naming::is_legal);
    if bare { name.to_owned() } else { format!("{name:?}") }
}

struct Check {
    table: String,
    problems: Vec<String>,
}

impl Check {
    fn wrong(&mut self, key: &str, why: impl Display) {
        self.problems.push(format!("{}.{key}: {why}", self.table));
    }

    fn name(&mut self, name: &str) {
        let table = &self.table;
        if !name.chars().any(|character| character.is_ascii_alphanumeric()) {
            self.problems.push(format!("{table}: the name needs at least one letter a-z or digit"));
        }
        if name.chars().count() > NAME_CHARS_MAX {
            self.problems.push(format!("{table}: the name is longer than {NAME_CHARS_MAX} characters"));
        }
    }

    fn prefix(&mut self, config: &Config, name: &str) -> String {
        let Some(prefix) = &config.prefix else { return naming::sanitised(name) };
        if !prefix.chars().all(naming::is_legal) {
            self.wrong("prefix", "only letters a-z, digits, `_` and `-` may stand in a tool's name");
        }
        if prefix.chars().count() > PREFIX_CHARS_MAX {
            self.wrong("prefix", format!("longer than {PREFIX_CHARS_MAX} characters"));
        }
        prefix.clone()
    }

    fn timeout(&mut self, given: Option<Timeout>, default_timeout: Duration) -> Duration {
        let timeout = given.map_or(default_timeout, |timeout| timeout.0);
        if !(CALL_TIMEOUT_MIN..=CALL_TIMEOUT_MAX).contains(&timeout) {
            self.wrong("timeout", "a call's time is between 1 ms and 24 h");
        }
        timeout
    }

    fn endpoint(&mut self, config: &Config, look_up: LookUp<'_>) -> Option<Endpoint> {
        match (&config.command, &config.url, &config.socket) {
            (Some(command), None, None) => self.program(command, config, look_up),
            (None, Some(url), None) => self.address(url, config, look_up),
            (None, None, Some(path)) => self.socket(path, config),
            (None, None, None) => {
                self.problems.push(format!("{}: needs `command`, `url` or `socket`", self.table));
                None
            }
            _ => {
                let keys = [
                    ("command", config.command.is_some()),
                    ("url", config.url.is_some()),
                    ("socket", config.socket.is_some()),
                ];
                let keys: Vec<_> =
                    keys.iter().filter(|(_, present)| *present).map(|(key, _)| format!("`{key}`")).collect();
                self.problems.push(format!("{}: has {}; keep one", self.table, keys.join(" and ")));
                None
            }
        }
    }

    fn socket(&mut self, path: &Path, config: &Config) -> Option<Endpoint> {
        self.refuse_http(config, "socket");
        self.refuse_for_programs(config);
        if !config.headers.is_empty() {
            self.wrong("headers", "only a server with `url` gets headers");
        }
        let bytes = path.as_os_str().as_encoded_bytes();
        if bytes.first() != Some(&b'/') || bytes.contains(&0) || bytes.len() > SOCKET_PATH_BYTES_MAX {
            self.wrong(
                "socket",
                format!("must be a path that begins with `/`, of at most {SOCKET_PATH_BYTES_MAX} bytes"),
            );
        }
        Some(Endpoint::Socket(path.to_owned()))
    }

    /// Finds a transport that only a server with `url` has.
    fn refuse_http(&mut self, config: &Config, has: &str) {
        let transport = match config.transport {
            Transport::Auto | Transport::Stdio => return,
            Transport::Http => "http",
            Transport::Sse => "sse",
        };
        self.wrong("transport", format!("\"{transport}\" needs `url`, but the table has `{has}`"));
    }

    /// Finds what only a server with `command` has.
    fn refuse_for_programs(&mut self, config: &Config) {
        let for_programs = [
            ("args", !config.args.is_empty()),
            ("env", !config.env.is_empty()),
            ("cwd", config.cwd.is_some()),
        ];
        for (key, _) in for_programs.into_iter().filter(|(_, present)| *present) {
            self.wrong(key, "only a server with `command` gets it");
        }
    }

    fn program(&mut self, command: &str, config: &Config, look_up: LookUp<'_>) -> Option<Endpoint> {
        self.refuse_http(config, "command");
        if !config.headers.is_empty() {
            self.wrong("headers", "only a server with `url` gets headers");
        }
        if command.trim().is_empty() || command.contains('\0') {
            self.wrong("command", "must be a program's name or path");
        }
        for (index, argument) in config.args.iter().enumerate() {
            if argument.contains('\0') {
                self.wrong(&format!("args[{index}]"), "must not contain NUL");
            }
        }
        for name in config.env.keys() {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.wrong(&format!("env.{}", key(name)), "is no name for an environment variable");
            }
        }
        let env = self.values("env", &config.env, config.enabled, look_up);
        for (name, _) in env.iter().filter(|(_, value)| value.contains('\0')) {
            self.wrong(&format!("env.{}", key(name)), "the value must not contain NUL");
        }
        let program =
            Program { command: command.to_owned(), args: config.args.clone(), env, cwd: config.cwd.clone() };
        Some(Endpoint::Program(program))
    }

    fn address(&mut self, url: &str, config: &Config, look_up: LookUp<'_>) -> Option<Endpoint> {
        let dialect = match config.transport {
            Transport::Http => Dialect::Streamable,
            Transport::Sse => Dialect::Sse,
            Transport::Auto => Dialect::Any,
            Transport::Stdio => {
                self.wrong("transport", "\"stdio\" needs `command`, but the table has `url`");
                Dialect::Any
            }
        };
        self.refuse_for_programs(config);
        let headers = self.headers(config, look_up);
        let url = self.url(url)?;
        Some(Endpoint::Address { url, headers, dialect })
    }

    fn url(&mut self, url: &str) -> Option<Uri> {
        let Ok(uri) = url.parse::<Uri>() else {
            self.wrong("url", "is no address; it looks like \"http://localhost:8080/mcp\"");
            return None;
        };
        let known = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme());
        let Some(authority) = uri.authority().filter(|authority| known && !authority.host().is_empty())
        else {
            self.wrong("url", "must begin with http:// or https:// and a host");
            return None;
        };
        if authority.as_str().contains('@') {
            self.wrong("url", "must not hold a user or password; send them with `headers`");
        }
        Some(uri)
    }

    fn headers(&mut self, config: &Config, look_up: LookUp<'_>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.values("headers", &config.headers, config.enabled, look_up) {
            let place = format!("headers.{}", key(&name));
            let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
                self.wrong(&place, "is no name for a header");
                continue;
            };
            if OUR_HEADERS.contains(&header.as_str()) || header.as_str().starts_with(wire::http::PARAM_PREFIX)
            {
                self.wrong(&place, "is set by the transport itself");
                continue;
            }
            let Ok(mut value) = HeaderValue::from_str(&value) else {
                self.wrong(&place, "the value must be printable ASCII without line ends");
                continue;
            };
            value.set_sensitive(true);
            if headers.insert(header, value).is_some() {
                self.wrong(&place, "is there twice; case does not tell headers apart");
            }
        }
        debug_assert!(!headers.contains_key(header::HOST));
        headers
    }

    /// The values of `env` or `headers` with their references followed.
    fn values(
        &mut self,
        table: &str,
        values: &BTreeMap<String, Value>,
        follow: bool,
        look_up: LookUp<'_>,
    ) -> Vec<(String, String)> {
        let mut settled = Vec::with_capacity(values.len());
        for (name, value) in values {
            let text = match value {
                Value::Plain(text) => Ok(text.to_string()),
                Value::Reference(reference) if follow => look_up(reference),
                Value::Reference(_) => Ok(String::new()),
            };
            match text {
                Ok(text) => settled.push((name.clone(), text)),
                Err(why) => self.wrong(&format!("{table}.{}", key(name)), why),
            }
        }
        settled
    }
}

#[cfg(test)]
mod tests;

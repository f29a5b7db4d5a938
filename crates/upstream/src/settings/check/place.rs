//! The keys that say where the server is: a program, an address, a socket.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{self, HeaderName};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Uri};
use sandbox::{Program, Variables};

use super::super::endpoint::{Dialect, Endpoint};
use super::text::May;
use super::{Check, key};
use crate::config::{Config, EraChoice, Oauth, Transport, Value};

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

/// Said of a file where everybody on the machine could read what it holds.
const VISIBLE: &str = "what stands here is visible in the machine's list of processes, and what this refers to is secret; put it into `env`";

/// Said of a file in a path.
pub(super) const NO_SECRET: &str = "a path holds no secret; use `${env:NAME}`";

impl Check<'_> {
    pub(super) fn endpoint(&mut self, config: &Config) -> Option<Endpoint> {
        let given = [
            ("command", config.command.is_some()),
            ("url", config.url.is_some()),
            ("socket", config.socket.is_some()),
        ];
        let given = given.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| format!("`{key}`"));
        match (&config.command, &config.url, &config.socket) {
            (Some(command), None, None) => return self.program(command, config),
            (None, Some(url), None) => return self.address(url, config),
            (None, None, Some(path)) => return self.socket(&path.to_string_lossy(), config),
            (None, None, None) => {
                self.problems.push(format!("{}: needs `command`, `url` or `socket`", self.table));
            }
            _ => {
                let keys = given.collect::<Vec<_>>().join(" and ");
                self.problems.push(format!("{}: has {keys}; keep one", self.table));
            }
        }
        None
    }

    fn socket(&mut self, path: &str, config: &Config) -> Option<Endpoint> {
        self.refuse_others(config, "socket");
        let Some(path) = self.text("socket", path, May::Variables(NO_SECRET)) else {
            return Some(Endpoint::Socket(PathBuf::new()));
        };
        if !path.starts_with('/') || path.contains('\0') || path.len() > SOCKET_PATH_BYTES_MAX {
            self.wrong(
                "socket",
                format!("must be a path that begins with `/`, of at most {SOCKET_PATH_BYTES_MAX} bytes"),
            );
        }
        Some(Endpoint::Socket(path.into()))
    }

    /// Finds what only a server of another kind than `has` gets.
    fn refuse_others(&mut self, config: &Config, has: &str) {
        let signs_in = !matches!(config.oauth, None | Some(Oauth::Switch(false)));
        match config.transport {
            Transport::Http | Transport::Sse if has != "url" => {
                let transport = if config.transport == Transport::Http { "http" } else { "sse" };
                self.wrong("transport", format!("\"{transport}\" needs `url`, but the table has `{has}`"));
            }
            Transport::Stdio if has == "url" => {
                self.wrong("transport", "\"stdio\" needs `command`, but the table has `url`");
            }
            Transport::Auto | Transport::Stdio | Transport::Http | Transport::Sse => {}
        }
        let for_programs = "only a server with `command` gets it";
        for (key, is_there, gets, why) in [
            ("args", !config.args.is_empty(), "command", for_programs),
            ("env", !config.env.is_empty(), "command", for_programs),
            ("cwd", config.cwd.is_some(), "command", for_programs),
            ("inherit", !config.inherit.is_empty(), "command", for_programs),
            ("sandbox", config.sandbox.is_some(), "command", "only a server with `command` is confined"),
            ("headers", !config.headers.is_empty(), "url", "only a server with `url` gets headers"),
            ("oauth", signs_in, "url", "only a server with `url` can be signed in to"),
        ] {
            if is_there && gets != has {
                self.wrong(key, why);
            }
        }
    }

    fn program(&mut self, command: &str, config: &Config) -> Option<Endpoint> {
        self.refuse_others(config, "command");
        let command = self.word("command", command);
        if command.trim().is_empty() || command.contains('\0') {
            self.wrong("command", "must be a program's name or path");
        }
        let mut args = Vec::with_capacity(config.args.len());
        for (index, argument) in config.args.iter().enumerate() {
            let place = format!("args[{index}]");
            let argument = self.word(&place, argument);
            if argument.contains('\0') {
                self.wrong(&place, "must not contain NUL");
            }
            args.push(argument);
        }
        for name in config.env.keys() {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.wrong(&format!("env.{}", key(name)), "is no name for an environment variable");
            }
        }
        let env = self.values("env", &config.env);
        for (name, _) in env.iter().filter(|(_, value)| value.contains('\0')) {
            self.wrong(&format!("env.{}", key(name)), "the value must not contain NUL");
        }
        let cwd = config.cwd.as_ref().map(|cwd| match cwd.to_str() {
            Some(text) => self.word("cwd", text).into(),
            None => cwd.clone(),
        });
        self.globs("inherit", &config.inherit);
        Some(Endpoint::Program(Program {
            command,
            args,
            env,
            cwd,
            own_folder: None,
            inherited: Variables::new(),
        }))
    }

    /// A text that everybody on the machine can read.
    fn word(&mut self, key: &str, written: &str) -> String {
        self.text(key, written, May::Variables(VISIBLE)).unwrap_or_else(|| written.to_owned())
    }

    fn address(&mut self, url: &str, config: &Config) -> Option<Endpoint> {
        let dialect = match config.transport {
            Transport::Http => Dialect::Streamable,
            Transport::Sse => Dialect::Sse,
            Transport::Auto | Transport::Stdio => Dialect::Any,
        };
        self.refuse_others(config, "url");
        if (dialect, config.era) == (Dialect::Sse, EraChoice::Modern) {
            self.wrong("era", "\"modern\" does not go over `transport = \"sse\"`, which is older");
        }
        let headers = self.headers(config);
        let sign_in = self.sign_in(config);
        let url = match self.text("url", url, May::Everything) {
            Some(url) => {
                self.address_named("url", &url);
                self.url(&url)?
            }
            // Of a disabled table, or a problem that has been told.
            None => Uri::from_static("http://unknown.invalid/"),
        };
        Some(Endpoint::Address { url, headers, dialect, sign_in })
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

    fn headers(&mut self, config: &Config) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.values("headers", &config.headers) {
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

    /// The values of `env` or `headers` with their references followed; those of a disabled table are empty, and what is
    /// still missing is, too.
    fn values(&mut self, table: &str, values: &BTreeMap<String, Value>) -> Vec<(String, String)> {
        let mut settled = Vec::with_capacity(values.len());
        for (name, value) in values {
            let value = self.value_named(&format!("{table}.{}", key(name)), name, value);
            let is_empty = !self.follow || self.lacks.is_some();
            settled.extend(value.or_else(|| is_empty.then(String::new)).map(|text| (name.clone(), text)));
        }
        settled
    }
}

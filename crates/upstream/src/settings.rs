//! `Settings`: a `[mcp.NAME]` table that has been checked and can be used as it is.

mod check;
mod fingerprint;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use sandbox::Program;

use crate::config::{Config, Reference, shown_url};
use crate::uri_map::UriMap;

/// The shortest and the longest time that one call may be given.
pub const CALL_TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// See [`CALL_TIMEOUT_MIN`].
pub const CALL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How one upstream is reached, and how its tools are offered.
#[derive(Clone)]
pub struct Settings {
    pub(crate) name: Arc<str>,
    pub(crate) enabled: bool,
    pub(crate) timeout: Duration,
    pub(crate) prefix: String,
    /// The prefixes of the other upstreams: what begins like theirs is not ours to offer.
    pub(crate) foreign: Arc<[Box<str>]>,
    pub(crate) endpoint: Endpoint,
}

/// Where an upstream is.
#[derive(Clone)]
pub(crate) enum Endpoint {
    /// A program to start.
    Program(Program),
    /// A server that listens at a Unix socket.
    Socket(PathBuf),
    /// A server that runs already, and the headers it wants.
    Address { url: Uri, headers: HeaderMap, dialect: Dialect },
}

/// What is spoken at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Whatever the server understands: Streamable HTTP is tried first.
    Any,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, as before 2025-03-26.
    Sse,
}

impl Config {
    /// Checks the table named `name` and follows its references with `look_up`, whose errors are sentences
    /// about the place, such as "the environment variable X is not set". `default_timeout` is for tables
    /// that name none. References of a disabled table are not followed.
    ///
    /// # Errors
    /// Everything that is wrong, each problem with the path of its key.
    pub fn settle(
        &self,
        name: &str,
        default_timeout: Duration,
        look_up: &dyn Fn(&Reference) -> Result<String, String>,
    ) -> Result<Settings, Vec<String>> {
        check::settle(self, name, default_timeout, look_up)
    }
}

impl Settings {
    /// The same, knowing which other upstreams there are, of which it may itself be one: it offers nothing under a
    /// name or URI that reads as theirs.
    pub fn knowing(self, all: &[Settings]) -> Settings {
        let others = all.iter().filter(|other| other.enabled && other.name != self.name);
        let prefixes = others.map(|other| other.prefix.as_str()).filter(|prefix| !prefix.is_empty());
        let foreign = prefixes.map(Box::from).collect();
        Settings { foreign, ..self }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its resources' URIs begin with here; empty if they keep their own. Two servers with the same one
    /// could not be told apart.
    pub fn uri_prefix(&self) -> String {
        UriMap::new(&self.prefix).scheme().to_owned()
    }

    /// False if the server is to be left alone.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// How long one call may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Identifies the server that is meant, as 64 hexadecimal digits: what was learnt from one server must
    /// not be believed of another. Nothing secret can be had back from it, and it does not depend on the
    /// timeout or the prefix.
    pub fn fingerprint(&self) -> String {
        fingerprint::of(&self.endpoint)
    }
}

/// Shorter values are too likely to be ordinary words; a secret has more.
const SECRET_BYTES_MIN: usize = 8;

impl Settings {
    /// `text`, which may hold words of the server, without the values of its environment variables and
    /// headers and what is secret in its address: a server that complains about its key must not tell it to
    /// everybody.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut values: Vec<&str> = match &self.endpoint {
            Endpoint::Program(program) => program.env.iter().map(|(_, value)| value.as_str()).collect(),
            Endpoint::Socket(_) => Vec::new(),
            Endpoint::Address { url, headers, .. } => {
                // Of `Bearer KEY` the key alone is the secret.
                let words = headers.values().filter_map(|value| value.to_str().ok());
                let words = words.flat_map(|value| [value, value.rsplit(' ').next().unwrap_or(value)]);
                words.chain(secrets_of(url)).collect()
            }
        };
        // A longer one may hold a shorter one.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let secrets = values.into_iter().filter(|value| value.len() >= SECRET_BYTES_MIN);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    /// The files that this server is made of, as far as its table names them: its program and scripts.
    pub fn own_files(&self) -> Vec<PathBuf> {
        let Endpoint::Program(program) = &self.endpoint else { return Vec::new() };
        let folder = program.cwd.clone().map_or_else(std::env::current_dir, Ok).unwrap_or_default();
        let words = std::iter::once(&program.command).chain(&program.args);
        words.map(|word| folder.join(word)).filter(|path| path.is_file()).collect()
    }
}

/// What an address holds that not everybody should read: its query, whole and value by value, and with the path
/// before it, as servers repeat it. It has no user information; see `check`.
fn secrets_of(url: &Uri) -> impl Iterator<Item = &str> {
    let query = url.query().unwrap_or_default();
    let whole = url.query().and(url.path_and_query()).map(PathAndQuery::as_str);
    let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    whole.into_iter().chain([query]).chain(values)
}

/// Shows neither the values of environment variables and headers nor the secret parts of an address.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("timeout", &self.timeout)
            .field("prefix", &self.prefix)
            .field("endpoint", &self.endpoint)
            .finish()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Program(program) => f
                .debug_struct("Program")
                .field("command", &program.command)
                .field("args", &program.args)
                .field("env", &program.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
                .field("cwd", &program.cwd)
                .finish(),
            Endpoint::Socket(path) => f.debug_tuple("Socket").field(path).finish(),
            Endpoint::Address { url, headers, dialect } => f
                .debug_struct("Address")
                .field("url", &shown_url(&url.to_string()))
                .field("dialect", dialect)
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: Endpoint) -> Settings {
        let prefix = "it".to_owned();
        let foreign = Arc::default();
        Settings { name: "it".into(), enabled: true, timeout: CALL_TIMEOUT_MAX, prefix, foreign, endpoint }
    }

    #[test]
    fn a_servers_words_do_not_give_its_secrets_away() {
        let env = vec![("KEY".to_owned(), "sk-12345678".to_owned()), ("MODE".to_owned(), "test".to_owned())];
        let program = settings(Endpoint::Program(Program { env, ..Program::default() }));
        assert_eq!(program.masked("invalid key sk-12345678 in test"), "invalid key *** in test");

        let headers =
            HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer abcdefgh".parse().expect("legal"))]);
        let url = Uri::from_static("http://127.0.0.1/mcp");
        let address = settings(Endpoint::Address { url, headers, dialect: Dialect::Any });
        assert_eq!(address.masked("got Bearer abcdefgh, want abcdefgh?"), "got ***, want ***?");

        let url = Uri::from_static("http://127.0.0.1/mcp?v=1&key=q-s3cret-1&tokentoken&n=");
        let address = settings(Endpoint::Address { url, headers: HeaderMap::new(), dialect: Dialect::Any });
        for (said, expected) in [
            ("no GET /mcp?v=1&key=q-s3cret-1&tokentoken&n= here", "no GET *** here"),
            ("bad query v=1&key=q-s3cret-1&tokentoken&n=", "bad query ***"),
            ("v=1, q-s3cret-1 and tokentoken are no keys for /mcp", "v=1, *** and *** are no keys for /mcp"),
        ] {
            assert_eq!(address.masked(said), expected);
        }
    }

    #[test]
    fn its_own_files_are_those_that_exist() {
        let folder = tempfile::tempdir().expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a script to be found")]
        std::fs::write(folder.path().join("server.py"), "").expect("written");
        let args = ["-u", "server.py", "missing.py", "."].map(str::to_owned).to_vec();
        let command = "python3".to_owned();
        let program = Program { command, args, cwd: Some(folder.path().to_owned()), ..Program::default() };
        assert_eq!(settings(Endpoint::Program(program)).own_files(), [folder.path().join("server.py")]);
    }
}

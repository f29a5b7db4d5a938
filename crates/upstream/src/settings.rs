//! `Settings`: a `[mcp.NAME]` table that has been checked and can be used as it is.

mod check;
mod fingerprint;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Uri};
use sandbox::Program;

use crate::config::{Config, Reference, shown_url};

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
    pub(crate) endpoint: Endpoint,
}

/// Where an upstream is.
#[derive(Clone)]
pub(crate) enum Endpoint {
    /// A program to start.
    Program(Program),
    /// A server that runs already, and the headers it wants.
    Address { url: Uri, headers: HeaderMap },
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
    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
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
            Endpoint::Address { url, headers } => f
                .debug_struct("Address")
                .field("url", &shown_url(&url.to_string()))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

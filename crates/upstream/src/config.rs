//! The `[mcp.NAME]` tables, as people write them. What they mean is settled in `settings`.

mod timeout;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

pub use timeout::Timeout;
pub use value::{Reference, Value};

/// One MCP server whose tools are offered beside our own: a program that is started here and spoken to over its
/// standard streams (`command`), a server that is reached over HTTP (`url`), or one that listens at a Unix socket
/// of this machine (`socket`).
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The program to start, such as `"npx"`: a name to look up in PATH, or a path.
    pub command: Option<String>,
    /// The program's arguments, such as `["-y", "@modelcontextprotocol/server-everything"]`. They are visible in
    /// the machine's list of processes, so secrets belong into `env`.
    pub args: Vec<String>,
    /// Environment variables for the program. It inherits PATH, HOME, the locale and a few more, nothing else.
    pub env: BTreeMap<String, Value>,
    /// The program's working folder; by default the one Toolcrib was started in.
    pub cwd: Option<PathBuf>,
    /// The address of a server that speaks Streamable HTTP, such as `"http://localhost:8080/mcp"`, or the older
    /// HTTP with server-sent events, such as `"http://localhost:8080/sse"`.
    pub url: Option<String>,
    /// The path of a Unix socket at which a server listens that is spoken to as over standard streams, such as
    /// another Toolcrib with `socket` in its `[server]` section. It must begin with `/`.
    pub socket: Option<PathBuf>,
    /// Headers to send with every request, such as `{ Authorization = { env = "MY_TOKEN" } }`.
    pub headers: BTreeMap<String, Value>,
    /// `false` keeps the table and leaves the server alone.
    pub enabled: bool,
    /// How long one call may take: milliseconds (`60000`) or a time with its unit (`"60s"`). Progress that the
    /// server reports starts the time anew.
    pub timeout: Option<Timeout>,
    /// What comes before the tools' names, with an underscore between; by default the table's own NAME.
    /// `""` offers the tools under their own names.
    pub prefix: Option<String>,
    /// How to talk to the server. `"auto"` means stdio for a `command` or a `socket`; for a `url` it means Streamable HTTP, or
    /// the older HTTP with server-sent events if the server speaks nothing else. `"http"` and `"sse"` fix one
    /// of the two.
    pub transport: Transport,
}

/// How a server is talked to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// As the table suggests.
    #[default]
    Auto,
    /// Over a program's standard streams.
    Stdio,
    /// Over Streamable HTTP.
    Http,
    /// Over HTTP with server-sent events, as before 2025-03-26.
    Sse,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            socket: None,
            headers: BTreeMap::new(),
            enabled: true,
            timeout: None,
            prefix: None,
            transport: Transport::Auto,
        }
    }
}

/// Shows no value of `env` or `headers`, and of the address only the harmless part.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .field("url", &self.url.as_deref().map(shown_url))
            .field("socket", &self.socket)
            .field("headers", &self.headers)
            .field("enabled", &self.enabled)
            .field("timeout", &self.timeout)
            .field("prefix", &self.prefix)
            .field("transport", &self.transport)
            .finish()
    }
}

/// An address without what may be secret in it: user information, query and fragment.
pub(crate) fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str) -> Result<Config, String> {
        toml::from_str(table).map_err(|error| error.to_string())
    }

    #[test]
    fn the_tables_of_the_seed_are_read() {
        let config = read(
            r#"
            command = "npx"
            args = ["-y", "server", "/path"]
            env = { "BRAVE_API_KEY" = "key", TOKEN = { file = "/run/token" } }
            timeout = 60000
            "#,
        )
        .expect("sound");
        assert_eq!(config.command.as_deref(), Some("npx"));
        assert_eq!(config.env["BRAVE_API_KEY"], Value::plain("key"));
        assert_eq!(config.env["TOKEN"], Value::Reference(Reference::File("/run/token".into())));
        assert!(config.enabled);
        let config = read("url = \"http://localhost:8080\"\nheaders = { \"X-API-Key\" = { env = \"KEY\" } }");
        let config = config.expect("sound");
        assert_eq!(config.headers["X-API-Key"], Value::Reference(Reference::Env("KEY".into())));
    }

    #[track_caller]
    fn check_refused(table: &str, expected: &str) {
        let error = read(table).expect_err("not sound");
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        check_refused("comand = \"npx\"", "unknown field `comand`, expected one of `command`, `args`");
        check_refused(
            "transport = \"ws\"",
            "unknown variant `ws`, expected one of `auto`, `stdio`, `http`, `sse`",
        );
        check_refused(
            "env = { A = 1 }",
            "invalid type: integer `1`, expected a string, `{ env = \"NAME\" }` or",
        );
        check_refused("env = { A = { envv = \"X\" } }", "unknown field `envv`, expected `env` or `file`");
        check_refused("env = { A = {} }", "an empty reference");
        check_refused("env = { A = { env = \"X\", file = \"y\" } }", "a reference names one place");
        check_refused(
            "timeout = \"soon\"",
            "invalid value: string \"soon\", expected milliseconds or a time",
        );
        check_refused("timeout = -1", "invalid value: integer `-1`, expected milliseconds or a time");
    }

    #[test]
    fn debug_shows_no_secret() {
        let config = read(
            "url = \"https://me:pass@host/mcp?key=secret\"\nheaders = { A = \"secret\", B = { env = \"X\" } }",
        );
        let shown = format!("{:?}", config.expect("sound"));
        assert!(!shown.contains("secret") && !shown.contains("pass"), "{shown}");
        assert!(shown.contains("https://host/mcp") && shown.contains("\"A\": ***"), "{shown}");
    }

    #[test]
    fn the_schema_can_be_written() {
        let schema = serde_json::to_string(&schemars::schema_for!(Config)).expect("plain JSON");
        assert!(schema.contains("\"additionalProperties\":false"), "{schema}");
    }
}

//! The `[mcp.NAME]` tables, as people write them. What they mean is settled in `settings`.

mod oauth;
mod sandbox;
mod timeout;
mod tool;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::Validate;

pub use oauth::{GrantKind, Oauth, OauthTable, ProviderTable};
pub use pins::Trust;
pub use sandbox::{Network, SandboxProfile, SandboxTable};
pub use timeout::Timeout;
pub use tool::Tool;
pub use value::{NotFollowed, Reference, Value};

/// The most text of one result that can be set, in KiB: as much as one result may have.
pub(crate) const RESULT_KIB_MAX: u16 = 32 * 1024;

/// One MCP server whose tools are offered beside our own: a program that is started here and spoken to over its
/// standard streams (`command`), a server that is reached over HTTP (`url`), or one that listens at a Unix socket
/// of this machine (`socket`).
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The program to start, such as `"npx"`: a name to look up in PATH, or a path.
    pub command: Option<String>,
    /// The program's arguments, such as `["-y", "@modelcontextprotocol/server-everything"]`. They are visible in
    /// the machine's list of processes, so secrets belong into `env`. `${workspace}` in them stands for the folder of the
    /// workspace, as an absolute path without links; each workspace then has a server of its own.
    pub args: Vec<String>,
    /// Environment variables for the program. It inherits PATH, HOME, the locale and a few more of the client's, what
    /// `inherit` names, and nothing else. `${workspace}` in their values is the folder of the workspace.
    pub env: BTreeMap<String, Value>,
    /// The program's working folder; by default a folder of its own in the state folder. `${workspace}` in it is the folder
    /// of the workspace.
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
    pub enabled: Enabled,
    /// How long one call may take: milliseconds (`60000`) or a time with its unit (`"60s"`). Progress that the
    /// server reports starts the time anew.
    pub timeout: Option<Timeout>,
    /// What comes before the tools' names, with an underscore between; by default the table's own NAME.
    /// `""` offers the tools under their own names, points in them too, which some model providers refuse.
    pub prefix: Option<String>,
    /// How to talk to the server. `"auto"` means stdio for a `command` or a `socket`; for a `url` it means Streamable HTTP, or
    /// the older HTTP with server-sent events if the server speaks nothing else. `"http"` and `"sse"` fix one
    /// of the two.
    pub transport: Transport,
    /// In which era of the protocol the server is spoken to. `"auto"` (the default): in the modern one (2026-07-28), if it knows
    /// that and does not declare more in the one before; which it is, is found out once and remembered. `"legacy"` (2025-11-25
    /// and before) and `"modern"` fix one of the two.
    pub era: EraChoice,
    /// Signing in to a server with `url` (OAuth 2.1). Without it, or with `true`, that happens when the server asks for
    /// it: `toolcrib mcp auth NAME` opens the browser. `false`, or an `Authorization` among the headers, never does. A table says more, such as the client that
    /// was registered by hand.
    pub oauth: Option<Oauth>,
    /// How long the server may take from its start to the end of the handshake. By default 30 seconds.
    pub start_timeout: Option<Timeout>,
    /// How long the server may take to list what it has. By default 30 seconds.
    pub list_timeout: Option<Timeout>,
    /// How long one call may take at most, however much progress the server reports. By default an hour, or `timeout`
    /// if that is longer. Set alone, it also bounds a call without progress.
    pub max_timeout: Option<Timeout>,
    /// Which of the server's tools are offered, as globs over their own names, such as `["read_*"]`. By default all.
    pub include: Vec<String>,
    /// Which are not, even if they are included, such as `["delete_*"]`. Those of your own
    /// file and of a folder's are both left out.
    pub exclude: Vec<String>,
    /// Changes to single tools, by the tool's own name.
    pub tool: BTreeMap<String, Tool>,
    /// Environment variables that the program inherits beside PATH, HOME, the locale and a few more, as globs over
    /// their names, such as `["HTTPS_PROXY", "AWS_*"]`.
    pub inherit: Vec<String>,
    /// `true` starts or dials the server with the first call that needs it, and not before.
    pub on_demand: bool,
    /// The server is stopped when it has had nothing to do for so long; the next call starts it again. By default it
    /// stays.
    pub idle_timeout: Option<Timeout>,
    /// Whether the server is started again after it has ended by itself: `"always"` (the default), `"on-failure"`,
    /// which leaves it to the next call if it has ended well, or `"never"`, which leaves it to people.
    pub restart: Restart,
    /// How many calls the server gets at once; further ones wait, first come, first served. By default there is no limit.
    #[schemars(range(min = 1, max = 10_000))]
    pub concurrency: Option<u16>,
    /// How many processes a program may have for those of its tools that ask clients something in the middle of calls. A
    /// question does not say for which call it is, so each process gets such calls of one client at a time; while somebody
    /// thinks about an answer, those of others go to a further process, and beyond the last one they wait. By default 8.
    /// All other calls stay with the first process.
    #[schemars(range(min = 1, max = 16))]
    pub processes: Option<u8>,
    /// Who shares a connection to the server, which for a program means a process: everybody (`"shared"`, the
    /// default), the calls of one caller (`"caller"`), or of one client's session (`"session"`). With the latter two no
    /// other workspace shares the server.
    pub isolation: Isolation,
    /// What a definition of the server (a tool, a prompt, a resource, a resource template, its instructions) has to pass
    /// before it is offered. `"pin"` (the default): what is there when the server is first seen is offered, unless it
    /// looks like an attack; what changes or is added later is held back until `toolcrib mcp trust NAME` accepts it.
    /// `"review"`: nothing is offered before it is accepted. `"trust"`: everything is offered as it comes, and a tool
    /// that the server marks as `readOnlyHint` counts as one that only reads, which can loosen what rules say of it; for
    /// servers that you could as well have written yourself.
    pub trust: Trust,
    /// What the default policy does with calls of tools that the server marks as destructive: `"ask"` a person each time
    /// (the default), ask once a `"session"` for each tool, or `"allow"` them.
    pub destructive: Destructive,
    /// How the arguments of calls are held against the schemas of the server's tools before they are sent on, always as they
    /// came. `"lenient"` (the default): structure and required members count, and single values as a server would read them
    /// that turns them into what it expects: `"1"` for a number, `5` for a text, `null` for a member that may be left out. A
    /// schema that cannot be used is said once, and its tool is called without a check. `"strict"`: as the schema is written,
    /// and a tool whose schema cannot be used is not called. `"off"`: not at all.
    pub validate: Validate,
    /// What a client is told when the server answers a call of a tool with an error of the protocol instead of a result.
    /// `"results"` (the default): a result that failed, in a sentence that models read. `"protocol"`: that error, with its
    /// code, message and data, as a client would be told by the server itself.
    pub errors: Errors,
    /// How much of one result of a tool agents are shown at once, in KiB; the rest is in an artifact, and the answer says how
    /// they read on. Clients refuse or put away what is too long. By default what `limits.result` says; `0` shows all at once.
    #[schemars(range(max = RESULT_KIB_MAX))]
    pub result_kib: Option<u16>,
    /// What the program may touch: `[mcp.NAME.sandbox]`. Without it it is confined as every server's is.
    pub sandbox: Option<SandboxTable>,
}

/// How calls of tools that a server marks as destructive are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Destructive {
    /// A person is asked each time.
    #[default]
    Ask,
    /// One answer is good for a session.
    Session,
    /// Nobody is asked.
    Allow,
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

/// In which era of the protocol a server is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EraChoice {
    /// In the one in which it has more, the modern one if that is the same.
    #[default]
    Auto,
    /// With a handshake (2025-11-25 and before).
    Legacy,
    /// Without one (2026-07-28).
    Modern,
}

/// How the errors are told with which a server answers calls of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Errors {
    /// As results that failed.
    #[default]
    Results,
    /// As they are.
    Protocol,
}

/// Whether a server is started, or dialled, again after it has ended by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Whenever it has ended, sooner or later as it fails less or more often.
    #[default]
    Always,
    /// Unless it has ended well (a program: with exit code 0); the next call then starts it.
    OnFailure,
    /// Not until somebody says so: calls fail.
    Never,
}

/// Who shares a connection to a server. For a program every further connection is a process of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Everybody: calls of all clients go over one connection.
    #[default]
    Shared,
    /// The calls of one caller whose clients can do the same, for a server that keeps something for each caller.
    Caller,
    /// The calls of one client's session, for a server that keeps something for each session.
    Session,
}

/// Whether a server is used, which it is unless its table says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Enabled(pub bool);

impl Default for Enabled {
    fn default() -> Enabled {
        Enabled(true)
    }
}

/// Shows where the server is, without what may be secret in its address, and no value of its headers.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("command", &self.command)
            .field("url", &self.url.as_deref().map(shown_url))
            .field("socket", &self.socket)
            .field("headers", &self.headers)
            .field("enabled", &self.enabled)
            .finish_non_exhaustive()
    }
}

/// An address without what may be secret in it: user information, query and fragment.
pub(crate) fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    // What follows two slashes is an authority, also without a scheme before them.
    let start = match url.find("//") {
        Some(at) if at == 0 || url[..at].ends_with(':') => at + 2,
        _ => 0,
    };
    let end = url[start..].find('/').map_or(url.len(), |length| start + length);
    let host = url[start..end].rsplit('@').next().unwrap_or_default();
    format!("{}{host}{}", &url[..start], &url[end..])
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
        assert!(config.enabled.0);
        let config = read("url = \"http://localhost:8080\"\nheaders = { \"X-API-Key\" = { env = \"KEY\" } }");
        let config = config.expect("sound");
        assert_eq!(config.headers["X-API-Key"], Value::Reference(Reference::Env("KEY".into())));
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, shown) in [
            ("https://me:pw@h:1/x?code=c#f", "https://h:1/x"),
            ("//me:pw@h/x?c", "//h/x"),
            ("https://h?u=//me@other/", "https://h"),
            ("/x/me@y?c", "/x/me@y"),
            ("me@h/x", "h/x"),
            ("https://a@b@h", "https://h"),
            ("", ""),
        ] {
            assert_eq!(shown_url(url), shown, "{url}");
        }
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
        for value in ["1", "{ envv = \"X\" }", "{}", "{ env = \"X\", file = \"y\" }"] {
            check_refused(&format!("env = {{ A = {value} }}"), "a string, or one of `{ env = \"NAME\" }`");
        }
        for time in ["\"soon\"", "-1", "1.5"] {
            check_refused(&format!("timeout = {time}"), "milliseconds, or a time such as");
        }
        check_refused("oauth = 1", "true, false or a table");
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

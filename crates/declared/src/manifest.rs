//! `Manifest`: a tool as a person writes it down.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool_api::Effect;
use units::Size;

use crate::table::{table, table_if_any};

/// Seconds that a tool may take which says nothing of it.
const TIMEOUT_SECONDS: u64 = 60;

/// A tool of your own: what it takes, what it gives, what it may do, and the program that does the work.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name that agents call it by, such as `word_count`: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub id: String,
    /// The name that people read.
    pub name: String,
    /// What it does, for the model that must choose: limits and defaults included.
    pub description: String,
    /// Yours, such as `"1.2.0"`; it is shown with the tool.
    pub version: Option<String>,
    /// JSON Schema of the arguments; its `type` is `object`.
    pub inputs: Map<String, Value>,
    /// JSON Schema of the result; its `type` is `object`. Without one any JSON value is a result, and is given as text.
    pub outputs: Option<Map<String, Value>>,
    /// What a caller must have been granted to see it: `read_workspace`, `write_workspace`, `run_tests`, `network`, or a scope of
    /// your own, `area:verb`.
    pub scopes: Vec<String>,
    /// The strongest thing it can do. `reads` gives its program the workspace to look at, the others to write in, if the caller
    /// may. The policy goes by it.
    pub effect: Effect,
    /// True if a second identical call changes nothing more.
    #[serde(default)]
    pub idempotent: bool,
    /// How often it is tried once more when its program fails, at most 3: after one second, two and four. Takes `idempotent`.
    #[serde(default)]
    #[schemars(range(max = 3))]
    pub retries: u8,
    /// Whether it knows the argument `dry_run`, by which its program says what it would do, and can change nothing in the
    /// workspace. With the scope `write_workspace` that is what a call does which says nothing else.
    #[serde(default)]
    pub dry_run_supported: bool,
    /// How long one call may take, at most 3600, with all that is tried. `sandbox.timeout` of the configuration may be less.
    #[serde(default = "timeout_seconds")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u64,
    /// Arguments of calls that show how it is meant. `manifest run` makes these calls.
    #[serde(default)]
    pub example_invocations: Vec<Map<String, Value>>,
    /// A request that does the work, in place of `command`. Takes the scope `network`, and its host in `hosts`.
    #[serde(default, deserialize_with = "table_if_any")]
    pub http: Option<HttpTable>,
    /// Another tool that does the work, in place of `command`: this one is its name, its words and its narrower inputs.
    #[serde(default, deserialize_with = "table_if_any")]
    pub mcp: Option<McpTable>,
    /// The program and its arguments, each a word; no shell reads them. `{NAME}` stands for an argument of the call, as a whole
    /// word or within one; a word whose argument is absent is left out, and a list gives a word for each of its items. `{{` and
    /// `}}` are braces. A word that begins with `./` names a file beside the manifest. All arguments come as JSON on standard
    /// input besides.
    #[serde(default)]
    pub command: Vec<String>,
    /// Arguments whose values may begin with `-`, and so be options of the program. Behind the word `--` all may.
    #[serde(default)]
    pub options_from: Vec<String>,
    /// What its program reaches of the network, as in `sandbox.hosts`: `["api.example.com", "*.example.org:443"]`. Needs the scope
    /// `network`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// How its program is confined, beyond what holds for all.
    #[serde(default, deserialize_with = "table")]
    pub sandbox: SandboxTable,
}

/// A request to a server. `{NAME}` stands for an argument of the call.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpTable {
    /// How it asks.
    #[serde(default)]
    pub method: HttpMethod,
    /// Where: `https://api.example.com/items/{id}`. An argument fills a part of the path and never leads out of it.
    pub url: String,
    /// What stands behind the `?`. One whose argument is absent is left out; a list gives one for each of its items.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Its headers. `${store:NAME}` is the kept secret of this name, if a person has bound it to the host with `toolcrib secrets
    /// set NAME --for HOST`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON that is sent. A text that is one `{NAME}` becomes the argument as it is; where that is absent, its member is left out.
    pub body: Option<Value>,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// Looks.
    #[default]
    Get,
    /// Does something, each time.
    Post,
    /// Puts something in its place.
    Put,
    /// Changes a part of something.
    Patch,
    /// Removes something.
    Delete,
}

/// A tool that does the work of another one. It is that one which the policy judges, people are asked about and the record names.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpTable {
    /// The name that it is offered under, such as `git_git_log`. It can be no tool that stands for another itself.
    pub tool: String,
    /// Arguments that it always gets, and no caller says.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// How a tool's program is confined, beyond what holds for all programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxTable {
    /// Whether it sees the workspace.
    pub workspace: WorkspaceSeen,
    /// How much memory all its processes may use together, such as `"256 MiB"`.
    pub memory: Option<Size>,
    /// How many processes and threads it may have at once.
    #[schemars(range(min = 1))]
    pub processes: Option<u64>,
    /// How many files each of its processes may have open.
    #[schemars(range(min = 16))]
    pub open_files: Option<u64>,
}

/// Whether a tool's program sees the workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceSeen {
    /// As far as its effect says and its caller may.
    #[default]
    Seen,
    /// Not at all: it computes with what it is sent.
    None,
}

fn timeout_seconds() -> u64 {
    TIMEOUT_SECONDS
}

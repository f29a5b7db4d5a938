//! Codex: the one client with TOML.

use super::client::{Client, program, slot};
use super::fields::Fields;
use super::form::Form;
use super::server::Server;
use super::variables::Syntax;

/// Milliseconds of the seconds it counts in.
const SECOND_MS: u32 = 1_000;

pub(super) const CLIENT: Client = Client {
    id: "codex",
    title: "Codex",
    files: &[".codex/config.toml"],
    places: |here| {
        let folder = here.variable("CODEX_HOME").or_else(|| Some(here.home()?.join(".codex")));
        let mut places = here.user(folder, &["config.toml"]);
        places.extend(here.projects(&[".codex/config.toml"]));
        places
    },
    form: Form::Toml,
    syntax: Syntax::Plain,
    knows: |root| root.contains_key("mcp_servers"),
    slots: |_, _| vec![slot(&["mcp_servers"])],
    read,
    notes: |_, _| Vec::new(),
    write: |_, server| program(server),
    fresh: "",
};

fn read(fields: &mut Fields<'_>) -> Result<Server, String> {
    let mut server = Server {
        command: fields.word("command"),
        args: fields.words("args"),
        env: fields.values("env"),
        inherit: fields.words("env_vars"),
        cwd: fields.word("cwd"),
        url: fields.word("url"),
        headers: fields.values("http_headers"),
        disabled: fields.switch("enabled") == Some(false),
        timeout_ms: fields.milliseconds("tool_timeout_sec", SECOND_MS),
        start_timeout_ms: fields.milliseconds("startup_timeout_ms", 1),
        include: fields.words("enabled_tools"),
        exclude: fields.words("disabled_tools"),
        ..Server::default()
    };
    server.start_timeout_ms =
        server.start_timeout_ms.or(fields.milliseconds("startup_timeout_sec", SECOND_MS));
    for (header, variable) in fields.values("env_http_headers") {
        let reference = fields.variable(&variable);
        server.headers.insert(header, reference);
    }
    if let Some(variable) = fields.plain("bearer_token_env_var") {
        let token = fields.variable(&variable);
        server.headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
    match (&server.command, &server.url) {
        (None, None) => Err("it has neither `command` nor `url`".to_owned()),
        _ => Ok(server),
    }
}

//! What `serve` says when it is ready: where it is, what it offers, and how an agent is connected to it.

use std::fmt;
use std::net::SocketAddr;

use serde_json::json;

use super::url;
use crate::config::Loaded;

/// The name under which agents know us.
const NAME: &str = "toolcrib";

/// The facts.
pub(super) struct Banner {
    url: String,
    socket: Option<String>,
    workspace: String,
    state: String,
    configuration: String,
    offer: String,
}

impl Banner {
    pub(super) fn new(loaded: &Loaded, address: SocketAddr) -> Banner {
        let settings = &loaded.settings;
        let files: Vec<String> = loaded.files().map(|path| path.display().to_string()).collect();
        let names = |enabled: bool| {
            let those = settings.upstreams.iter().filter(move |upstream| upstream.is_enabled() == enabled);
            those.map(|upstream| upstream.name().to_owned()).collect::<Vec<_>>()
        };
        Banner {
            url: url(address),
            socket: settings.server.socket.as_ref().map(|path| path.display().to_string()),
            workspace: settings.workspace.display().to_string(),
            state: settings.state.display().to_string(),
            configuration: if files.is_empty() {
                "none; these are the defaults".into()
            } else {
                files.join(", ")
            },
            offer: offer(tools::all(&settings.offer).len(), &names(true), &names(false)),
        }
    }

    /// The endpoint.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn offer(built_in: usize, connecting: &[String], disabled: &[String]) -> String {
    let mut offer = format!("{built_in} built in");
    if !connecting.is_empty() {
        offer.push_str(&format!("; connecting to {}", connecting.join(", ")));
    }
    if !disabled.is_empty() {
        offer.push_str(&format!("; disabled: {}", disabled.join(", ")));
    }
    offer
}

impl fmt::Display for Banner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        let socket = self.socket.iter().map(|path| format!("  socket         {path}\n")).collect::<String>();
        let cursor = json!({ "mcpServers": { NAME: { "url": url } } });
        let code = json!({ "name": NAME, "type": "http", "url": url });
        let opencode = json!({ "mcp": { NAME: { "type": "remote", "url": url } } });
        write!(
            out,
            "\
{NAME} serves MCP at {url}

{socket}  tools          {offer}
  workspace      {workspace}
  state          {state}
  configuration  {configuration}

To connect an agent, run or paste:
  Claude Code    claude mcp add --transport http {NAME} {url}
  VS Code        code --add-mcp '{code}'
  Cursor         in .cursor/mcp.json: {cursor}
  OpenCode       in opencode.json: {opencode}

Every program on this machine that reaches this address has your rights here. Ctrl-C stops it.
",
            offer = self.offer,
            workspace = self.workspace,
            state = self.state,
            configuration = self.configuration,
        )
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_lines_can_be_pasted() {
        let banner = Banner {
            url: url(SocketAddr::from(([127, 0, 0, 1], 3000))),
            socket: Some("/run/crib.sock".into()),
            workspace: "/work".into(),
            state: "/state".into(),
            configuration: "toolcrib.toml".into(),
            offer: offer(3, &["everything".into(), "git".into()], &["old".into()]),
        };
        expect![[r#"
            toolcrib serves MCP at http://127.0.0.1:3000/mcp

              socket         /run/crib.sock
              tools          3 built in; connecting to everything, git; disabled: old
              workspace      /work
              state          /state
              configuration  toolcrib.toml

            To connect an agent, run or paste:
              Claude Code    claude mcp add --transport http toolcrib http://127.0.0.1:3000/mcp
              VS Code        code --add-mcp '{"name":"toolcrib","type":"http","url":"http://127.0.0.1:3000/mcp"}'
              Cursor         in .cursor/mcp.json: {"mcpServers":{"toolcrib":{"url":"http://127.0.0.1:3000/mcp"}}}
              OpenCode       in opencode.json: {"mcp":{"toolcrib":{"type":"remote","url":"http://127.0.0.1:3000/mcp"}}}

            Every program on this machine that reaches this address has your rights here. Ctrl-C stops it.
        "#]].assert_eq(&banner.to_string());
    }

    #[test]
    fn the_offer_in_a_few_words() {
        assert_eq!(offer(3, &[], &[]), "3 built in");
        assert_eq!(offer(0, &[], &["a".into()]), "0 built in; disabled: a");
    }
}

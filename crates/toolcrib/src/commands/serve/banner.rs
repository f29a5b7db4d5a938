//! What `serve` says when it is ready: where it is, what it offers, and how an agent is connected to it.

use std::fmt;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::url;
use crate::config::{Loaded, Settings};

/// The name under which agents know us.
const NAME: &str = "toolcrib";

/// What clients send that have a key.
const BEARER: &str = "Bearer tc_…";

/// The facts.
pub(super) struct Banner {
    url: String,
    socket: Option<String>,
    workspace: String,
    state: String,
    configuration: String,
    offer: String,
    callers: Callers,
}

/// Who may call over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Callers {
    /// Every program on this machine; because the configuration says so, or as there is no key yet.
    Everybody { is_configured: bool },
    /// Holders of keys, and who signs in at one of these issuers.
    Known { issuers: Vec<String> },
    /// It cannot be found out who has a key.
    Unreadable,
}

impl Callers {
    /// By the settings, and whether everybody is let in, if that could be found out.
    fn of(settings: &Settings, is_open: Option<bool>) -> Callers {
        let issuers = settings.identity.issuers.iter().map(|issuer| issuer.issuer.clone());
        match is_open {
            None => Callers::Unreadable,
            Some(true) => Callers::Everybody { is_configured: settings.server.open_on_loopback.is_some() },
            Some(false) => Callers::Known { issuers: issuers.collect() },
        }
    }

    /// Whether clients must be given a key, since there is nothing else to come in with.
    fn need_keys(&self) -> bool {
        matches!(self, Callers::Known { issuers } if issuers.is_empty())
    }
}

impl fmt::Display for Callers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Callers::Everybody { is_configured: true } => {
                out.write_str("every program on this machine, as server.open_on_loopback says")
            }
            Callers::Everybody { is_configured: false } => out
                .write_str("every program on this machine, until there is a key (toolcrib keys create NAME)"),
            Callers::Known { issuers } if issuers.is_empty() => {
                out.write_str("holders of keys (toolcrib keys create NAME)")
            }
            Callers::Known { issuers } => {
                write!(out, "holders of keys, and who signs in at {}", issuers.join(", "))
            }
            Callers::Unreadable => out.write_str("nobody, as the keys cannot be read; the log says why"),
        }
    }
}

impl Banner {
    /// `is_open` says whether every program on this machine may call, if that could be found out.
    pub(super) fn new(loaded: &Loaded, address: SocketAddr, is_open: Option<bool>) -> Banner {
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
            offer: offer(tools::all(&settings.tools).len(), &names(true), &names(false)),
            callers: Callers::of(settings, is_open),
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
        let entry = |mut entry: Value| {
            if self.callers.need_keys() {
                entry["headers"] = json!({ "Authorization": BEARER });
            }
            entry
        };
        let claude = match self.callers.need_keys() {
            true => format!(" --header \"Authorization: {BEARER}\""),
            false => String::new(),
        };
        let cursor = json!({ "mcpServers": { NAME: entry(json!({ "url": url })) } });
        let code = entry(json!({ "name": NAME, "type": "http", "url": url }));
        let opencode = json!({ "mcp": { NAME: entry(json!({ "type": "remote", "url": url })) } });
        let warning = match self.callers {
            Callers::Everybody { .. } => {
                "Every program on this machine that reaches this address has your rights here. "
            }
            Callers::Known { .. } | Callers::Unreadable => "",
        };
        write!(
            out,
            "\
{NAME} serves MCP at {url}

{socket}  tools          {offer}
  workspace      {workspace}
  state          {state}
  configuration  {configuration}
  callers        {callers}

To connect an agent, run or paste:
  Claude Code    claude mcp add --transport http {NAME} {url}{claude}
  VS Code        code --add-mcp '{code}'
  Cursor         in .cursor/mcp.json: {cursor}
  OpenCode       in opencode.json: {opencode}

{warning}Ctrl-C stops it.
",
            offer = self.offer,
            workspace = self.workspace,
            state = self.state,
            configuration = self.configuration,
            callers = self.callers,
        )
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn banner(callers: Callers) -> String {
        let banner = Banner {
            url: url(SocketAddr::from(([127, 0, 0, 1], 3000))),
            socket: Some("/run/crib.sock".into()),
            workspace: "/work".into(),
            state: "/state".into(),
            configuration: "toolcrib.toml".into(),
            offer: offer(3, &["everything".into(), "git".into()], &["old".into()]),
            callers,
        };
        banner.to_string()
    }

    #[test]
    fn the_lines_can_be_pasted() {
        expect![[r#"
            toolcrib serves MCP at http://127.0.0.1:3000/mcp

              socket         /run/crib.sock
              tools          3 built in; connecting to everything, git; disabled: old
              workspace      /work
              state          /state
              configuration  toolcrib.toml
              callers        every program on this machine, until there is a key (toolcrib keys create NAME)

            To connect an agent, run or paste:
              Claude Code    claude mcp add --transport http toolcrib http://127.0.0.1:3000/mcp
              VS Code        code --add-mcp '{"name":"toolcrib","type":"http","url":"http://127.0.0.1:3000/mcp"}'
              Cursor         in .cursor/mcp.json: {"mcpServers":{"toolcrib":{"url":"http://127.0.0.1:3000/mcp"}}}
              OpenCode       in opencode.json: {"mcp":{"toolcrib":{"type":"remote","url":"http://127.0.0.1:3000/mcp"}}}

            Every program on this machine that reaches this address has your rights here. Ctrl-C stops it.
        "#]].assert_eq(&banner(Callers::Everybody { is_configured: false }));
        expect![[r#"
            toolcrib serves MCP at http://127.0.0.1:3000/mcp

              socket         /run/crib.sock
              tools          3 built in; connecting to everything, git; disabled: old
              workspace      /work
              state          /state
              configuration  toolcrib.toml
              callers        holders of keys (toolcrib keys create NAME)

            To connect an agent, run or paste:
              Claude Code    claude mcp add --transport http toolcrib http://127.0.0.1:3000/mcp --header "Authorization: Bearer tc_…"
              VS Code        code --add-mcp '{"headers":{"Authorization":"Bearer tc_…"},"name":"toolcrib","type":"http","url":"http://127.0.0.1:3000/mcp"}'
              Cursor         in .cursor/mcp.json: {"mcpServers":{"toolcrib":{"headers":{"Authorization":"Bearer tc_…"},"url":"http://127.0.0.1:3000/mcp"}}}
              OpenCode       in opencode.json: {"mcp":{"toolcrib":{"headers":{"Authorization":"Bearer tc_…"},"type":"remote","url":"http://127.0.0.1:3000/mcp"}}}

            Ctrl-C stops it.
        "#]].assert_eq(&banner(Callers::Known { issuers: Vec::new() }));
    }

    #[test]
    fn who_may_call_in_a_few_words() {
        let issuers = vec!["https://login.example".to_owned()];
        let all =
            [Callers::Everybody { is_configured: true }, Callers::Known { issuers }, Callers::Unreadable];
        expect![[r#"
            every program on this machine, as server.open_on_loopback says
            holders of keys, and who signs in at https://login.example
            nobody, as the keys cannot be read; the log says why"#]]
        .assert_eq(&all.map(|callers| callers.to_string()).join("\n"));
    }

    #[test]
    fn the_offer_in_a_few_words() {
        assert_eq!(offer(3, &[], &[]), "3 built in");
        assert_eq!(offer(0, &[], &["a".into()]), "0 built in; disabled: a");
    }
}

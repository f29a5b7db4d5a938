//! What `serve` says when it is ready: where it is, what it offers, and how an agent is connected to it.

use std::fmt;
use std::net::SocketAddr;

use config::Loaded;
use gate::Skills as _;
use serde_json::{Value, json};
use tools::{Budgets, SearchSettings, Set};

/// The name under which agents know us.
const NAME: &str = "toolcrib";

/// What clients send that have a key.
const BEARER: &str = "Bearer tc_…";

/// What the scope of tests lets callers do where there is a shell.
const SHELL: &str =
    "Who holds the scope run_tests, as every agent does, runs any command in the workspace, sandboxed.\n";

/// The facts.
pub(super) struct Banner {
    url: String,
    /// The names of other workspaces, each of which has an address of its own.
    named: Vec<String>,
    socket: Option<String>,
    workspace: String,
    state: String,
    configuration: String,
    offer: String,
    callers: String,
    /// Whether every program on this machine may call.
    is_open: bool,
    /// Whether clients must be given a key, since there is nothing else to come in with.
    needs_keys: bool,
    /// Whether commands are run here.
    has_shell: bool,
}

/// Who may call over HTTP, in a few words. `is_open` says whether everybody is let in, if that could be found out.
fn callers(is_open: Option<bool>, is_configured: bool, issuers: &[&str]) -> String {
    let words = match is_open {
        None => "nobody, as the keys cannot be read; the log says why",
        Some(true) if is_configured => "every program on this machine, as server.open_on_loopback says",
        Some(true) => "every program on this machine, until there is a key (toolcrib keys create NAME)",
        Some(false) if issuers.is_empty() => "holders of keys (toolcrib keys create NAME)",
        Some(false) => return format!("holders of keys, and who signs in at {}", issuers.join(", ")),
    };
    words.to_owned()
}

impl Banner {
    /// `is_open` says whether every program on this machine may call, if that could be found out.
    pub(super) fn new(loaded: &Loaded, address: SocketAddr, is_open: Option<bool>) -> Banner {
        let settings = &loaded.settings;
        let issuers: Vec<&str> = settings.identity.issuers.iter().map(|issuer| &*issuer.issuer).collect();
        let files: Vec<String> = loaded.files().map(|path| path.display().to_string()).collect();
        let names = |enabled: bool| {
            let those = settings.upstreams.iter().filter(move |upstream| upstream.enabled == enabled);
            those.map(|upstream| upstream.name().to_owned()).collect::<Vec<_>>()
        };
        Banner {
            url: settings.server.url(address),
            named: settings.named.keys().cloned().collect(),
            socket: settings.server.socket.as_ref().map(|path| path.display().to_string()),
            workspace: settings.workspace.display().to_string(),
            state: settings.state.display().to_string(),
            configuration: if files.is_empty() {
                "none; these are the defaults".into()
            } else {
                files.join(", ")
            },
            offer: {
                let connecting = names(true);
                let has_others = !connecting.is_empty() || !settings.manifests.tools.is_empty();
                let manifests = &settings.manifests;
                let there = (has_others, !manifests.skills.list().is_empty());
                let built_in = built_in(&settings.tools, (settings.budgets, &settings.search), there);
                offer(built_in, (manifests.tools.len(), manifests.wrong_files()), &connecting, &names(false))
            },
            callers: callers(is_open, settings.server.open_on_loopback.is_some(), &issuers),
            is_open: is_open == Some(true),
            needs_keys: is_open == Some(false) && issuers.is_empty(),
            has_shell: settings.tools.contains(&Set::Shell),
        }
    }

    /// The endpoint.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// What a person runs or pastes to connect an agent, which shows this where it needs to show something.
pub fn connecting(url: &str, authorization: Option<&str>) -> String {
    let entry = |mut entry: Value| {
        if let Some(shown) = authorization {
            entry["headers"] = json!({ "Authorization": shown });
        }
        entry
    };
    let claude =
        authorization.map(|shown| format!(" --header \"Authorization: {shown}\"")).unwrap_or_default();
    let cursor = json!({ "mcpServers": { NAME: entry(json!({ "url": url })) } });
    let code = entry(json!({ "name": NAME, "type": "http", "url": url }));
    let opencode = json!({ "mcp": { NAME: entry(json!({ "type": "remote", "url": url })) } });
    format!(
        "\
To connect an agent, run or paste:
  Claude Code    claude mcp add --transport http {NAME} {url}{claude}
  VS Code        code --add-mcp '{code}'
  Cursor         in .cursor/mcp.json: {cursor}
  OpenCode       in opencode.json: {opencode}"
    )
}

/// How many tools of our own are listed. Those that read artifacts wait for tools of others, which make them, and the one for
/// skills waits for skills.
fn built_in(
    sets: &[Set],
    (budgets, search): (Budgets, &SearchSettings),
    (has_others, has_skills): (bool, bool),
) -> usize {
    let are_kept = has_others || sets.contains(&Set::Shell);
    let sets = sets.iter().copied().filter(|set| match set {
        Set::Artifacts => are_kept,
        Set::Skills => has_skills,
        _ => true,
    });
    tools::all(&sets.collect::<Vec<_>>(), budgets, search).len()
}

/// `wrong` of the files that describe tools of yours do not.
fn offer(
    built_in: usize,
    (yours, wrong): (usize, usize),
    connecting: &[String],
    disabled: &[String],
) -> String {
    let mut offer = format!("{built_in} built in");
    if yours > 0 {
        offer.push_str(&format!(", {yours} of yours"));
    }
    if wrong > 0 {
        offer.push_str(&format!(", {wrong} left out as wrong (toolcrib manifest check)"));
    }
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
        let named = self.named.iter().map(|name| format!("  {name:<13}  {url}/{name}\n")).collect::<String>();
        let connecting = connecting(url, self.needs_keys.then_some(BEARER));
        let warning = match self.is_open {
            true => "Every program on this machine that reaches this address has your rights here. ",
            false => "",
        };
        let shell = if self.has_shell { SHELL } else { "" };
        write!(
            out,
            "\
{NAME} serves MCP at {url}

{named}{socket}  tools          {offer}
  workspace      {workspace}
  state          {state}
  configuration  {configuration}
  callers        {callers}

{connecting}

{shell}{warning}Ctrl-C stops it.
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

    fn banner(is_open: bool) -> String {
        let banner = Banner {
            url: server::Config::default().url(SocketAddr::from(([127, 0, 0, 1], 3000))),
            named: vec!["review".into(), "team".into()],
            socket: Some("/run/crib.sock".into()),
            workspace: "/work".into(),
            state: "/state".into(),
            configuration: "toolcrib.toml".into(),
            offer: offer(3, (12, 2), &["everything".into(), "git".into()], &["old".into()]),
            callers: callers(Some(is_open), false, &[]),
            is_open,
            needs_keys: !is_open,
            has_shell: !is_open,
        };
        banner.to_string()
    }

    #[test]
    fn the_lines_can_be_pasted() {
        expect![[r#"
            toolcrib serves MCP at http://127.0.0.1:3000/mcp

              review         http://127.0.0.1:3000/mcp/review
              team           http://127.0.0.1:3000/mcp/team
              socket         /run/crib.sock
              tools          3 built in, 12 of yours, 2 left out as wrong (toolcrib manifest check); connecting to everything, git; disabled: old
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
        "#]].assert_eq(&banner(true));
        expect![[r#"
            toolcrib serves MCP at http://127.0.0.1:3000/mcp

              review         http://127.0.0.1:3000/mcp/review
              team           http://127.0.0.1:3000/mcp/team
              socket         /run/crib.sock
              tools          3 built in, 12 of yours, 2 left out as wrong (toolcrib manifest check); connecting to everything, git; disabled: old
              workspace      /work
              state          /state
              configuration  toolcrib.toml
              callers        holders of keys (toolcrib keys create NAME)

            To connect an agent, run or paste:
              Claude Code    claude mcp add --transport http toolcrib http://127.0.0.1:3000/mcp --header "Authorization: Bearer tc_…"
              VS Code        code --add-mcp '{"headers":{"Authorization":"Bearer tc_…"},"name":"toolcrib","type":"http","url":"http://127.0.0.1:3000/mcp"}'
              Cursor         in .cursor/mcp.json: {"mcpServers":{"toolcrib":{"headers":{"Authorization":"Bearer tc_…"},"url":"http://127.0.0.1:3000/mcp"}}}
              OpenCode       in opencode.json: {"mcp":{"toolcrib":{"headers":{"Authorization":"Bearer tc_…"},"type":"remote","url":"http://127.0.0.1:3000/mcp"}}}

            Who holds the scope run_tests, as every agent does, runs any command in the workspace, sandboxed.
            Ctrl-C stops it.
        "#]].assert_eq(&banner(false));
    }

    #[test]
    fn who_may_call_in_a_few_words() {
        let all = [
            callers(Some(true), true, &[]),
            callers(Some(false), false, &["https://login.example"]),
            callers(None, false, &[]),
        ];
        expect![[r#"
            every program on this machine, as server.open_on_loopback says
            holders of keys, and who signs in at https://login.example
            nobody, as the keys cannot be read; the log says why"#]]
        .assert_eq(&all.join("\n"));
    }

    #[test]
    fn the_offer_in_a_few_words() {
        let (budgets, search) = (Budgets::default(), SearchSettings::default());
        let shell = [Set::Shell, Set::Artifacts];
        assert_eq!(built_in(&shell, (budgets, &search), (false, false)), 7);
        let sets = [Set::Workspace, Set::Artifacts, Set::Skills];
        for (there, expected) in [((false, false), 11), ((true, false), 13), ((false, true), 12)] {
            assert_eq!(built_in(&sets, (budgets, &search), there), expected);
        }
        assert_eq!(offer(3, (0, 0), &[], &[]), "3 built in");
        assert_eq!(offer(3, (1, 0), &[], &[]), "3 built in, 1 of yours");
        assert_eq!(offer(0, (0, 0), &[], &["a".into()]), "0 built in; disabled: a");
    }
}

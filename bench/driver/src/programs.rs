//! How each measured program is started. One method, one program; the phases never see a command line.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use super::install::Installed;
use super::message::quoted;
use super::process::Launch;
use super::watchdog::Watchdog;
use xtask::program::clean_environment;

/// The file that the read tool is asked for, and what it holds.
pub(crate) const FILE: (&str, &str) = ("hello.txt", "hello from the workspace");

/// What a gateway has behind it: always the leanest MCP server.
#[derive(Clone, Copy)]
pub(crate) enum Upstream {
    /// Nothing.
    None,
    /// Over stdio, with this many synthetic tools.
    Stdio { tools: u16 },
    /// Over stdio, and not believed to be read-only, so that each call is on the disk before it runs.
    Synced,
    /// Over HTTP, already running on this port.
    Http { port: u16 },
}

/// A process of its own for each client, which ends with it.
const ALONE: &str = "--standalone";

/// The upstream is believed that it only reads, so that no call waits for the disk.
const TRUST: &str = "trust = \"trust\"\n";

impl Upstream {
    fn tools(self) -> u16 {
        match self {
            Upstream::Stdio { tools } => tools,
            Upstream::None | Upstream::Synced | Upstream::Http { .. } => 0,
        }
    }
}

/// What decides about calls besides the defaults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Nothing.
    None,
    /// Something of every kind: see [`all_rules`].
    All,
}

/// All programs, and the temporary folder they run in.
pub(crate) struct Programs {
    installed: Installed,
    folder: TempDir,
    watchdog: Watchdog,
    /// Numbers logs, configuration files and state folders, so that no two programs share one.
    started: Cell<u32>,
}

impl Programs {
    /// A home and a workspace with one small file.
    pub(crate) fn new(installed: Installed) -> anyhow::Result<Self> {
        let folder = TempDir::new().context("no temporary folder")?;
        std::fs::write(folder.path().join(FILE.0), FILE.1)?;
        Ok(Self { installed, folder, watchdog: Watchdog::start(), started: Cell::new(0) })
    }

    pub(crate) fn pipe_echo(&self) -> Launch {
        self.floor("pipe-echo", &[])
    }

    pub(crate) fn http_echo(&self, port: u16) -> Launch {
        self.floor("http-echo", &["--port", &port.to_string()])
    }

    pub(crate) fn mcp_floor(&self, tools: u16) -> Launch {
        self.floor("mcp-echo-floor", &["--tools", &tools.to_string()])
    }

    pub(crate) fn mcp_floor_http(&self, port: u16, tools: u16) -> Launch {
        self.floor("mcp-echo-floor", &["--port", &port.to_string(), "--tools", &tools.to_string()])
    }

    pub(crate) fn tcp_relay(&self, port: u16, upstream: u16) -> Launch {
        self.floor("tcp-relay", &["--port", &port.to_string(), "--upstream", &upstream.to_string()])
    }

    /// The least gateway, in front of the floor over stdio.
    pub(crate) fn bare_gateway_stdio(&self, port: u16) -> Launch {
        let program = self.installed.yardsticks.join("mcp-echo-floor");
        self.floor("bare-gateway", &["--port", &port.to_string(), "--program", &program.to_string_lossy()])
    }

    /// The same on the libraries that the product is built on.
    pub(crate) fn library_gateway(&self, port: u16) -> Launch {
        let program = self.installed.yardsticks.join("mcp-echo-floor");
        self.floor("library-gateway", &["--port", &port.to_string(), "--program", &program.to_string_lossy()])
    }

    /// The least gateway, in front of a server over HTTP.
    pub(crate) fn bare_gateway_http(&self, port: u16, upstream: u16) -> Launch {
        self.floor("bare-gateway", &["--port", &port.to_string(), "--upstream", &upstream.to_string()])
    }

    /// The Rust SDK on its default stdin and stdout.
    pub(crate) fn rmcp(&self) -> Launch {
        self.floor("rmcp-echo", &[])
    }

    /// The Rust SDK on its non-blocking pipes.
    pub(crate) fn rmcp_pipes(&self) -> Launch {
        self.floor("rmcp-echo", &["--pipes"])
    }

    /// The Rust SDK over HTTP with sessions and SSE, its default.
    pub(crate) fn rmcp_http(&self, port: u16) -> Launch {
        self.floor("rmcp-echo", &["--port", &port.to_string()])
    }

    /// The Rust SDK over HTTP without sessions, answering JSON.
    pub(crate) fn rmcp_json(&self, port: u16) -> Launch {
        self.floor("rmcp-echo", &["--port", &port.to_string(), "--json"])
    }

    /// The TypeScript SDK.
    pub(crate) fn ts(&self) -> Launch {
        self.launch("ts-echo", &self.installed.node, [self.installed.ts_echo.clone().into()])
    }

    /// FastMCP's proxy over HTTP.
    pub(crate) fn fastmcp(&self, port: u16, upstream: Upstream) -> Launch {
        let mut words: Vec<OsString> =
            vec![self.installed.fastmcp_proxy.clone().into(), port.to_string().into()];
        match upstream {
            Upstream::None => {}
            Upstream::Stdio { .. } | Upstream::Synced => {
                words.extend(self.mcp_floor(upstream.tools()).line);
                words.push(self.mark().into());
            }
            Upstream::Http { port } => words.push(format!("http://127.0.0.1:{port}/mcp").into()),
        }
        self.launch("fastmcp-proxy", &self.installed.python, words)
    }

    /// The product over stdio as it starts on a fresh machine: no configuration, the current folder as workspace.
    pub(crate) fn toolcrib_default(&self) -> anyhow::Result<Launch> {
        Ok(self.launch("toolcrib", self.toolcrib()?, ["stdio".into(), ALONE.into()]))
    }

    /// The product over stdio.
    pub(crate) fn toolcrib_stdio(&self, upstream: Upstream) -> anyhow::Result<Launch> {
        let config = self.config(0, upstream)?;
        Ok(self.launch(
            "toolcrib",
            self.toolcrib()?,
            ["stdio".into(), ALONE.into(), "--config".into(), config],
        ))
    }

    /// A front to the product over stdio, and to one process that lasts until it is stopped.
    pub(crate) fn toolcrib_front(&self) -> anyhow::Result<Launch> {
        let config = self.config(0, Upstream::None)?;
        Ok(self.launch("toolcrib-front", self.toolcrib()?, ["stdio".into(), "--config".into(), config]))
    }

    /// What stops that process.
    pub(crate) fn toolcrib_stop(&self) -> anyhow::Result<Launch> {
        let config = self.config(0, Upstream::None)?;
        Ok(self.launch("toolcrib-stop", self.toolcrib()?, ["stop".into(), "--config".into(), config]))
    }

    /// The product over stdio, with rules of every kind or none.
    pub(crate) fn toolcrib_ruled(&self, rules: Rules) -> anyhow::Result<Launch> {
        let config = PathBuf::from(self.config(0, Upstream::None)?);
        if rules == Rules::All {
            let file = self.own_path("ai-rules.json");
            std::fs::write(&file, AI_RULES)?;
            let mut text =
                std::fs::read_to_string(&config)?.replace("per_second = 0", "per_second = 1000000");
            text.push_str(&all_rules(&file));
            std::fs::write(&config, text)?;
        }
        Ok(self.launch(
            "toolcrib",
            self.toolcrib()?,
            ["stdio".into(), ALONE.into(), "--config".into(), config.into()],
        ))
    }

    /// The product over HTTP.
    pub(crate) fn toolcrib_http(&self, port: u16, upstream: Upstream) -> anyhow::Result<Launch> {
        let config = self.config(port, upstream)?;
        Ok(self.launch(
            "toolcrib",
            self.toolcrib()?,
            ["serve".into(), ALONE.into(), "--config".into(), config],
        ))
    }

    /// The product over HTTP, with room for as many jobs as there may be.
    pub(crate) fn toolcrib_jobs(&self, port: u16) -> anyhow::Result<Launch> {
        let config = PathBuf::from(self.config(port, Upstream::Stdio { tools: 0 })?);
        let mut text = std::fs::read_to_string(&config)?;
        text.push_str("[tools]\noffer = [\"workspace\", \"jobs\"]\n[jobs]\nper_caller = 10000\n");
        std::fs::write(&config, text)?;
        let words = ["serve".into(), ALONE.into(), "--config".into(), config.into()];
        Ok(self.launch("toolcrib", self.toolcrib()?, words))
    }

    /// The product over stdio with the coding agent's tools, asking nobody; it searches and reads a site on this port.
    pub(crate) fn toolcrib_agent(&self, site: u16) -> anyhow::Result<Launch> {
        let services = SERVICES.map(|name| format!("[search.services.{name}]\nenabled = false\n")).concat();
        let mut launch = self.toolcrib_with(
            Upstream::None,
            &format!(
                "[sandbox]\nask = false\nhosts = [\"localhost:{site}\", \"127.0.0.1:{site}\"]\n{services}\
                 [search.services.local]\nurl = \"http://127.0.0.1:{site}/find?q={{query}}\"\nitems = \"/found\"\n"
            ),
        )?;
        // No program may write in a whole home, which the workspace is otherwise.
        launch.environment.retain(|(name, _)| *name != "HOME");
        Ok(launch)
    }

    /// The product over stdio in front of so many tools, which an agent is shown or has to search.
    pub(crate) fn toolcrib_exposing(&self, tools: u16, searched: bool) -> anyhow::Result<Launch> {
        let exposure = if searched { "search" } else { "all" };
        self.toolcrib_with(Upstream::Stdio { tools }, &format!("[tools]\nexposure = \"{exposure}\"\n"))
    }

    fn toolcrib_with(&self, upstream: Upstream, more: &str) -> anyhow::Result<Launch> {
        let config = PathBuf::from(self.config(0, upstream)?);
        std::fs::write(&config, std::fs::read_to_string(&config)? + more)?;
        let words = ["stdio".into(), ALONE.into(), "--config".into(), config.into()];
        Ok(self.launch("toolcrib", self.toolcrib()?, words))
    }

    /// A bare program.
    pub(crate) fn bare(&self, line: &[&str]) -> Launch {
        self.launch("bare", Path::new(line[0]), line[1..].iter().map(OsString::from))
    }

    /// The program in Debian's bubblewrap, with what our sandbox gives it: a small root, a workspace that is read, nothing else.
    pub(crate) fn bwrap(&self, line: &[&str]) -> Launch {
        let workspace = self.folder.path().as_os_str();
        let mut words: Vec<OsString> = BWRAP.iter().map(OsString::from).collect();
        words.extend(["--ro-bind".into(), workspace.into(), workspace.into()]);
        words.extend(["--chdir".into(), workspace.into(), "--".into()]);
        words.extend(line.iter().map(OsString::from));
        self.launch("bwrap", Path::new("/usr/bin/bwrap"), words)
    }

    /// The program in the sandbox that is in OpenAI's package.
    pub(crate) fn codex(&self, line: &[&str]) -> anyhow::Result<Launch> {
        let (package, kind) = match std::env::consts::ARCH {
            "aarch64" => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
            _ => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
        };
        let modules = &self.installed.sandboxes;
        let program = modules.join("@openai").join(package).join("vendor").join(kind).join("bin/codex");
        let words = ["sandbox", "--"].iter().chain(line).map(OsString::from);
        let mut launch = self.launch("codex", &program, words);
        // It makes itself at home nowhere below the folder for temporary files.
        let home = modules.with_file_name("codex-home");
        std::fs::create_dir_all(&home)?;
        launch.environment.push(("CODEX_HOME", home.into()));
        Ok(launch)
    }

    /// The program in Anthropic's package.
    pub(crate) fn srt(&self, line: &str) -> Launch {
        let script = self.installed.sandboxes.join(".bin/srt");
        self.launch("srt", &self.installed.node, [script.into(), "-c".into(), line.into()])
    }

    /// What starts confined programs in the product: the program and its words.
    pub(crate) fn spawner(&self) -> anyhow::Result<(PathBuf, Vec<String>)> {
        Ok((self.toolcrib()?.to_owned(), vec![SPAWNER.to_owned()]))
    }

    /// A path in the temporary folder that no other program has.
    pub(crate) fn own_path(&self, name: &str) -> PathBuf {
        let number = self.started.get();
        self.started.set(number + 1);
        self.folder.path().join(format!("{number}-{name}"))
    }

    /// The name of the folder that every command line of this run holds.
    pub(crate) fn mark(&self) -> &Path {
        self.folder.path()
    }

    fn toolcrib(&self) -> anyhow::Result<&Path> {
        self.installed.toolcrib.as_deref().context("not built: only floors and peers were asked for")
    }

    /// Writes a configuration with a state folder of its own and no limit on the rate.
    fn config(&self, port: u16, upstream: Upstream) -> anyhow::Result<OsString> {
        let text = |path: &Path| quoted(&path.to_string_lossy());
        let mut config = format!(
            "[server]\nbind = \"127.0.0.1:{port}\"\n[workspace]\nroot = {}\n[state]\ndir = {}\n\
             [limits.rate]\nper_second = 0\n[log]\nlevel = \"error\"\n",
            text(self.folder.path()),
            text(&self.own_path("state")),
        );
        match upstream {
            Upstream::None => {}
            Upstream::Stdio { .. } | Upstream::Synced => {
                let tools = upstream.tools();
                // The mark is an argument that the floor passes over; it tells this run's upstreams from others.
                let (program, mark) = (self.installed.yardsticks.join("mcp-echo-floor"), text(self.mark()));
                config.push_str(&format!(
                    "[mcp.floor]\ncommand = {}\nargs = [\"--tools\", \"{tools}\", {mark}]\nprefix = \"floor\"\n",
                    text(&program)
                ));
                if !matches!(upstream, Upstream::Synced) {
                    config.push_str(TRUST);
                }
            }
            Upstream::Http { port } => config.push_str(&format!(
                "[mcp.floor]\nurl = \"http://127.0.0.1:{port}/mcp\"\nprefix = \"floor\"\n{TRUST}"
            )),
        }
        let path = self.own_path("toolcrib.toml");
        std::fs::write(&path, config)?;
        Ok(path.into())
    }

    fn floor(&self, name: &str, words: &[&str]) -> Launch {
        self.launch(name, &self.installed.yardsticks.join(name), words.iter().map(OsString::from))
    }

    fn launch(&self, name: &str, program: &Path, words: impl IntoIterator<Item = OsString>) -> Launch {
        Launch {
            name: name.to_owned(),
            line: std::iter::once(program.as_os_str().to_owned()).chain(words).collect(),
            environment: clean_environment(self.folder.path()),
            folder: self.folder.path().to_owned(),
            log: self.own_path(&format!("{name}.log")),
            watchdog: self.watchdog.clone(),
        }
    }
}

/// The word by which the product becomes a spawner.
const SPAWNER: &str = "__spawner";

/// The services that a search asks where nothing else is said.
const SERVICES: [&str; 9] =
    ["wikipedia", "wikidata", "stackexchange", "github", "crates", "hackernews", "arxiv", "openalex", "mdn"];

/// What stands in for our layers.
const BWRAP: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--clearenv",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--ro-bind",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/home/agent",
];

/// Rules over paths and contents that look at the measured call and let it pass.
const AI_RULES: &str = r#"{ "version": "1.0", "rules": [
    { "id": "env", "type": "privacy", "description": "d", "match": { "paths": ["**/*.env", "**/secrets/**"] }, "action": { "on_violation": "block" } },
    { "id": "keys", "type": "privacy", "description": "d", "match": { "content_regex": "(?i)(api_key|password)\\s*=" }, "action": { "on_violation": "redact" } }
] }"#;

/// Fifty rules of policy, some with conditions over the arguments, limits for callers and tools, and fifty known secrets.
fn all_rules(ai_rules: &Path) -> String {
    let mut text = String::new();
    let mut secrets = String::new();
    for nth in 0..50 {
        let effect = ["deny", "ask"][nth % 2];
        text.push_str(&format!(
            "[[policy.rules]]\nid = \"rule-{nth}\"\neffect = \"{effect}\"\nwhy = \"is ruled out\"\n"
        ));
        // Every fifth concerns the measured tool and has to look at its arguments.
        match nth % 5 {
            0 => text
                .push_str(&format!("tools = [\"workspace_*\"]\nwhen = 'args.path.endsWith(\".{nth}\")'\n")),
            _ => text.push_str(&format!("tools = [\"tool_{nth}_*\"]\n")),
        }
        secrets.push_str(&format!("S{nth}_TOKEN = \"planted-{nth}-{}\"\n", "0123456789abcdef".repeat(2)));
    }
    text.push_str("[limits.callers.local]\nper_second = 1000000\nburst = 1000000\n");
    text.push_str("[limits.tools.\"workspace_*\"]\nper_second = 1000000\nburst = 1000000\n");
    text.push_str(&format!("[rules]\nuser = {}\n", quoted(&ai_rules.to_string_lossy())));
    text.push_str(&format!("[mcp.off]\nenabled = false\ncommand = \"true\"\n[mcp.off.env]\n{secrets}"));
    text
}

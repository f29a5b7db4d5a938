//! `mcp list`: the servers that are configured, where each is, how it is doing, and which file it stands in. Nothing
//! is started: what is known comes from the Toolcribs that are running and from what earlier runs remember.

use std::path::Path;
use std::sync::Arc;

use admin::servers::NO_SERVERS;
use daemon::control;
use oauth::Status as SignedIn;
use serde::Serialize;
use serde_json::{Value, json};
use store::{DefinitionStore as _, SqliteStore};
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print, runtime};
use upstream::{State, Upstream};

use super::reported::{ReportedServer, age, counted};
use super::servers::world;
use crate::cli::Cli;
use crate::commands::start::start_nobody;
use crate::commands::trust;

pub(super) fn run(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    runtime::run(async {
        let world = world(&loaded)?;
        let (running, silent) = control::told_apart(control::running(&loaded.settings.state).await);
        silent.iter().for_each(|line| print::remark(&print::harmless(line)));
        let store = loaded.settings.kept.store();
        let mut listed = Vec::new();
        for settings in &loaded.settings.upstreams {
            let upstream = Upstream::new(settings.clone(), world.clone());
            let name = settings.name();
            let running = running.iter().filter_map(|one| {
                let mut report = one.upstreams.iter().find(|report| report["name"] == name)?.clone();
                report["pid"] = one.pid.into();
                Some(report)
            });
            listed.push(Listed {
                name: name.to_owned(),
                transport: upstream.status().transport,
                place: settings.place(),
                is_enabled: settings.enabled,
                running: running.collect(),
                remembered: remembered(store, name, &settings.fingerprint()).await,
                is_signed_in: is_signed_in(&upstream).await,
                file: loaded.file_of_server(name).map(|file| file.display().to_string()),
            });
        }
        let facts = json!({ "servers": listed, "waiting": trust::to_json(&loaded.held) });
        let words = if listed.is_empty() { NO_SERVERS.to_owned() } else { table(&listed) };
        print::found(cli.json, &facts, &words)?;
        trust::line(&loaded.held).iter().for_each(|line| print::remark(line));
        Ok(Ending::Good)
    })?
}

/// One server, as it is listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    transport: &'static str,
    #[serde(rename = "where")]
    place: String,
    #[serde(rename = "enabled")]
    is_enabled: bool,
    /// How it is doing in each Toolcrib that is running and has it, with the `pid` of that.
    running: Vec<Value>,
    remembered: Option<Remembered>,
    #[serde(rename = "signed_in")]
    is_signed_in: Option<bool>,
    file: Option<String>,
}

/// What an earlier run has seen of a server.
#[derive(Serialize)]
struct Remembered {
    tools: usize,
    age_ms: i64,
}

impl Listed {
    /// How it is doing, for people.
    fn status(&self) -> String {
        if !self.is_enabled {
            return State::Disabled.to_string();
        }
        let remembered = |known: &Remembered| {
            format!("remembered, {}, {}", counted(u64::try_from(known.tools).ok()), age(known.age_ms))
        };
        let mut parts: Vec<String> = match self.running.as_slice() {
            [] => self.remembered.iter().map(remembered).collect(),
            [one] => vec![ReportedServer::of(one).in_short()],
            several => {
                let in_short = |one| ReportedServer::of(one).in_short();
                several.iter().map(|one| format!("{} (process {})", in_short(one), one["pid"])).collect()
            }
        };
        // Of one that is not, nothing is parts: whether it wants that is known when it was asked.
        if self.is_signed_in == Some(true) {
            parts.push("signed in".to_owned());
        }
        if parts.is_empty() { "not connected yet".to_owned() } else { parts.join(", ") }
    }
}

/// What is remembered, if anything is and it can be read.
async fn remembered(store: &SqliteStore, name: &str, fingerprint: &str) -> Option<Remembered> {
    let known = store.definitions(name, fingerprint).await.ok().flatten()?;
    let lists: Value = serde_json::from_str(&known.tools_json).ok()?;
    // Once the tools alone were remembered.
    let tools = lists.as_array().or_else(|| lists["tools"].as_array()).map_or(0, Vec::len);
    Some(Remembered { tools, age_ms: now_ms().saturating_sub(known.fetched_at_ms) })
}

/// Whether there is a sign-in, for a server that can be signed in to.
async fn is_signed_in(upstream: &Arc<Upstream>) -> Option<bool> {
    let status = upstream.account()?.status().await.ok()?;
    Some(matches!(status, SignedIn::SignedIn { .. }))
}

fn table(listed: &[Listed]) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let row = |one: &Listed| {
        let file = one.file.as_deref().map_or("", |file| {
            Path::new(file).strip_prefix(&here).ok().and_then(Path::to_str).unwrap_or(file)
        });
        vec![one.name.clone(), one.transport.to_owned(), one.status(), file.to_owned(), one.place.clone()]
    };
    print::Table::titled(["NAME", "TRANSPORT", "STATUS", "FILE", "WHERE"], listed.iter().map(row)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Listed {
        Listed {
            name: "git".to_owned(),
            transport: "stdio",
            place: "mcp-git".to_owned(),
            is_enabled: true,
            running: Vec::new(),
            remembered: None,
            is_signed_in: None,
            file: None,
        }
    }

    fn in_use(pid: u32, mut report: Value) -> Value {
        report["pid"] = pid.into();
        report
    }

    #[test]
    fn a_status_says_what_is_known() {
        let remembered = |tools, age_ms| Some(Remembered { tools, age_ms });
        let connected = || json!({ "state": { "status": "connected" }, "tools": 1 });
        let held = || json!({ "state": { "status": "connected" }, "tools": 1, "held_back": 2 });
        let failed = || json!({ "state": { "status": "failed", "error": "gone" } });
        for (listed, expected) in [
            (listed(), "not connected yet"),
            (Listed { is_enabled: false, remembered: remembered(3, 0), ..listed() }, "disabled"),
            (Listed { remembered: remembered(3, 300_000), ..listed() }, "remembered, 3 tools, 5 min old"),
            (
                Listed { remembered: remembered(0, 59_999), is_signed_in: Some(true), ..listed() },
                "remembered, 0 tools, new, signed in",
            ),
            (
                Listed { running: vec![in_use(7, connected())], remembered: remembered(3, 0), ..listed() },
                "connected, 1 tool",
            ),
            (Listed { running: vec![in_use(7, held())], ..listed() }, "connected, 1 tool, 2 held back"),
            (Listed { running: vec![in_use(7, failed())], ..listed() }, "failed: gone"),
            (
                Listed { running: vec![in_use(7, failed()), in_use(8, connected())], ..listed() },
                "failed: gone (process 7), connected, 1 tool (process 8)",
            ),
            (
                Listed {
                    running: vec![in_use(7, json!({ "state": { "status": "needs_auth" } }))],
                    is_signed_in: Some(false),
                    ..listed()
                },
                "needs auth",
            ),
        ] {
            assert_eq!(listed.status(), expected);
        }
    }
}

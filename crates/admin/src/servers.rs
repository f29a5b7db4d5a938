//! The servers that are configured and those that run: how they are doing, and having every running Toolcrib take up what
//! is configured.

mod known;
mod list;
mod status;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use upstream::Settings;

use crate::by::By;
use crate::fault::Fault;
use crate::folders::HeldBack;
use crate::nearest::nearest;
use crate::operation::Operation;
use crate::running::{Answered, Refused, Reloaded, Running, Told, Toolcrib};
pub use crate::server_report::{
    RefusalFacts, SandboxFacts, ServerFacts, ServerReport, ServerState, ServerStatus,
};
pub use known::{KnownServers, ListedServer, RememberedServer, RunningServer};
pub use list::{List, ServerList};
pub use status::{Status, StatusReport, ToolcribStatus};

/// What is said where there is nothing to tell of.
pub const NO_SERVERS: &str = "no servers are configured; `toolcrib mcp add` adds one, `toolcrib mcp import` takes over those \
                          of other clients";

/// What operations on servers work on.
pub struct ServersPart {
    /// Those that are configured.
    pub servers: Vec<Settings>,
    /// What a folder declares and nobody has agreed to.
    pub held: Vec<HeldBack>,
    /// What is known of those that are configured.
    pub known: Box<dyn KnownServers>,
    /// Those who run them.
    pub running: Arc<dyn Running>,
}

/// Has every running Toolcrib read its configuration again.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reload {}

/// What came of reading configurations again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadReport {
    /// One for each configuration of each that is running.
    pub toolcribs: Vec<ReloadedToolcrib>,
}

/// What one of them made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadedToolcrib {
    /// Its process.
    pub pid: u32,
    /// What has changed.
    #[serde(flatten)]
    pub reloaded: Option<Reloaded>,
    /// Why nothing has.
    #[serde(flatten)]
    pub refused: Option<Refused>,
}

/// Has every running Toolcrib let go of a server and connect to it anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconnect {
    /// Its name.
    pub server: String,
}

/// What came of connecting to a server anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reconnected {
    /// Its name.
    pub name: String,
    /// How it is doing in each that is running, or why that has not.
    pub running: Vec<Told>,
}

/// What the program of a server last wrote on its stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stderr {
    /// The server's name.
    pub server: String,
}

/// What programs of a server last wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StderrReport {
    /// One for each that is running and has it.
    pub running: Vec<StderrOf>,
}

/// What the program of a server last wrote in one running Toolcrib.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StderrOf {
    /// The process of that.
    pub pid: u32,
    /// The end of what it wrote, without the secrets of its table.
    pub text: String,
}

impl ServersPart {
    /// The server of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&self, name: &str) -> Result<&Settings, Fault> {
        named(&self.servers, &self.held, name)
    }

    /// Those that say how they are doing, and a sentence for each of the others.
    fn running(&self) -> Result<(Vec<Toolcrib>, Vec<String>), Fault> {
        let (mut running, mut silent) = (Vec::new(), Vec::new());
        for Answered { pid, answer } in self.running.status().map_err(Fault::because)? {
            match answer {
                Ok(one) => running.push(one),
                Err(why) => {
                    silent.push(format!("the Toolcrib of process {pid} does not say how it is doing: {why}"))
                }
            }
        }
        Ok((running, silent))
    }
}

impl Operation for Reload {
    const NAME: &'static str = "servers.reload";
    type Part = ServersPart;
    type Output = ReloadReport;

    fn perform(self, part: &ServersPart, _: &By) -> Result<ReloadReport, Fault> {
        let answers = part.running.reload().map_err(Fault::because)?;
        let one = |Answered { pid, answer }| match answer {
            Ok(reloaded) => ReloadedToolcrib { pid, reloaded: Some(reloaded), refused: None },
            Err(refused) => ReloadedToolcrib { pid, reloaded: None, refused: Some(refused) },
        };
        Ok(ReloadReport { toolcribs: answers.into_iter().map(one).collect() })
    }
}

impl Operation for Reconnect {
    const NAME: &'static str = "servers.reconnect";
    type Part = ServersPart;
    type Output = Reconnected;

    fn perform(self, part: &ServersPart, _: &By) -> Result<Reconnected, Fault> {
        part.named(&self.server)?;
        let running = part.running.reconnect(&self.server).map_err(Fault::because)?;
        Ok(Reconnected { name: self.server, running })
    }
}

impl Operation for Stderr {
    const NAME: &'static str = "servers.stderr";
    type Part = ServersPart;
    type Output = StderrReport;

    fn perform(self, part: &ServersPart, _: &By) -> Result<StderrReport, Fault> {
        let settings = part.named(&self.server)?;
        let answers = part.running.stderr(&self.server).map_err(Fault::because)?;
        let text = |Answered { pid, answer }: Answered<String>| {
            Some(StderrOf { pid, text: settings.masked(&answer.ok()?) })
        };
        Ok(StderrReport { running: answers.into_iter().filter_map(text).collect() })
    }
}

/// The server of this name. Those of `held` a folder declares, and nobody has agreed to them.
///
/// # Errors
/// There is none.
pub fn named<'s>(all: &'s [Settings], held: &[HeldBack], name: &str) -> Result<&'s Settings, Fault> {
    let found = all.iter().find(|settings| settings.name() == name);
    found.ok_or_else(|| match held.iter().any(|held| held.declaration.server() == Some(name)) {
        true => unknown_server(format!(
            "the server `{name}` is declared by a folder and waits for your agreement; `toolcrib trust` shows it and asks"
        )),
        false => no_server(all, name),
    })
}

/// There is no server of this name among these.
pub fn no_server(all: &[Settings], name: &str) -> Fault {
    unknown_server(match nearest(name, all.iter().map(Settings::name)) {
        _ if all.is_empty() => format!("there is no server `{name}`: {NO_SERVERS}"),
        Some(near) => format!("there is no server `{name}`; did you mean `{near}`?"),
        None => format!("there is no server `{name}`; `toolcrib mcp list` names them all"),
    })
}

/// There is no such server, as this sentence says.
fn unknown_server(message: String) -> Fault {
    Fault::unknown("unknown_server", message)
}

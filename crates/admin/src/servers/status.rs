//! How the servers of those that run are doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ServersPart, named, unknown_server};
use crate::by::By;
use crate::fault::Fault;
use crate::nearest::nearest;
use crate::operation::Operation;
use crate::running::{Health, Toolcrib};
use crate::server_report::{ServerReport, ServerStatus};

/// How the servers of every running Toolcrib are doing; without one, what is remembered of them. Starts none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Status {
    /// Which; all if none is named.
    pub servers: Vec<String>,
}

/// How servers are doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// One for each that is running; if none is, one that is none.
    pub toolcribs: Vec<ToolcribStatus>,
    /// A sentence for each running Toolcrib that does not say how it is doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

/// How the servers of one Toolcrib are doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolcribStatus {
    /// Its process; nothing for what is remembered.
    pub pid: Option<u32>,
    /// Where its clients come in: an address, or `stdio`.
    pub door: Option<String>,
    /// The files of its configuration, as they are shown.
    pub configuration: Option<Vec<String>>,
    /// Its servers.
    pub servers: Vec<ServerStatus>,
    /// How it is doing itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

impl ToolcribStatus {
    /// The servers of one that is running, those of these names or all.
    pub fn of(running: Toolcrib, names: &[String]) -> ToolcribStatus {
        let Toolcrib { pid, door, configuration, upstreams, health } = running;
        let servers = picked(upstreams, names);
        ToolcribStatus {
            pid: Some(pid),
            door: Some(door),
            configuration: Some(configuration),
            servers,
            health,
        }
    }
}

impl Operation for Status {
    const NAME: &'static str = "servers.status";
    type Part = ServersPart;
    type Output = StatusReport;

    fn perform(self, part: &ServersPart, _: &By) -> Result<StatusReport, Fault> {
        let (running, silent) = part.running()?;
        if running.is_empty() && silent.is_empty() {
            self.servers.iter().try_for_each(|name| named(&part.servers, &part.held, name).map(drop))?;
            let servers = picked(part.known.resting()?, &self.servers);
            let alone = ToolcribStatus { pid: None, door: None, configuration: None, servers, health: None };
            return Ok(StatusReport { toolcribs: vec![alone], silent });
        }
        let known: Vec<String> = running.iter().flat_map(names).collect();
        // Of those that do not answer nobody knows what they have.
        if !running.is_empty()
            && let Some(unknown) = self.servers.iter().find(|name| !known.contains(name))
        {
            let hint = nearest(unknown, known.iter().map(String::as_str));
            let hint = hint.map(|near| format!("did you mean `{near}`?"));
            let hint = hint.unwrap_or_else(|| "if it is new, run `toolcrib mcp reload`".to_owned());
            return Err(unknown_server(format!("no running Toolcrib has a server `{unknown}`; {hint}")));
        }
        let toolcribs = running.into_iter().map(|one| ToolcribStatus::of(one, &self.servers));
        Ok(StatusReport { toolcribs: toolcribs.collect(), silent })
    }
}

fn names(running: &Toolcrib) -> impl Iterator<Item = String> {
    running.upstreams.iter().map(|report| report.facts.name.clone())
}

fn picked(reports: Vec<ServerReport>, names: &[String]) -> Vec<ServerStatus> {
    let mut reports = reports;
    reports.retain(|report| names.is_empty() || names.contains(&report.facts.name));
    reports.into_iter().map(ServerStatus::from).collect()
}

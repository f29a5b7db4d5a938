//! The servers that are configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ServersPart;
use super::known::{ListedServer, RunningServer};
use crate::by::By;
use crate::fault::Fault;
use crate::folders::Waiting;
use crate::operation::Operation;

/// The servers that are configured, where each is, how it is doing, and which file it stands in. Starts none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// Servers that are configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// The user's before a folder's, each in the order of their names.
    pub servers: Vec<ListedServer>,
    /// What a folder declares that a person must agree to first.
    pub waiting: Vec<Waiting>,
    /// A sentence for each running Toolcrib that does not say how it is doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
}

impl Operation for List {
    const NAME: &'static str = "servers.list";
    type Part = ServersPart;
    type Output = ServerList;

    fn perform(self, part: &ServersPart, _: &By) -> Result<ServerList, Fault> {
        let (running, silent) = part.running()?;
        let mut servers = part.known.configured()?;
        for server in &mut servers {
            let found = running.iter().filter_map(|one| {
                let report = one.upstreams.iter().find(|report| report.facts.name == server.name)?;
                Some(RunningServer { pid: one.pid, report: report.clone() })
            });
            server.running = found.collect();
        }
        Ok(ServerList { servers, waiting: part.held.iter().map(Waiting::from).collect(), silent })
    }
}

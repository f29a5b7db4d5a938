//! `Kind`: what does the work of a tool, of which a manifest says one thing.

use std::path::Path;
use std::sync::Arc;

use sandbox::egress::HostRules;
use serde_json::Value;
use tool_api::{AnyTool, Definition, Need, StandsFor, ToolName};

use crate::asking::{Asking, KeptSecrets};
use crate::dry_run::DryRun;
use crate::manifest::{Manifest, McpTable, SandboxTable};
use crate::program::Program;
use crate::request::RequestTemplate;
use crate::stand_in::StandIn;
use crate::template::Template;

/// What does the work.
pub(crate) enum Kind {
    Program(Template),
    Request(Box<RequestTemplate>),
    StandIn(StandsFor),
}

impl Kind {
    /// What the manifest says of it.
    pub(crate) fn read(
        manifest: &Manifest,
        folder: &Path,
        hosts: Option<&HostRules>,
        problems: &mut Vec<String>,
    ) -> Option<Kind> {
        let properties = manifest.inputs.get("properties").and_then(Value::as_object);
        match (&manifest.command[..], &manifest.http, &manifest.mcp) {
            ([], None, Some(table)) => stands_for(manifest, table, problems).map(Kind::StandIn),
            ([], Some(table), None) => {
                without_program(manifest, problems);
                let request = RequestTemplate::read(table, properties, hosts);
                request.map_err(|more| problems.extend(more)).map(|it| Kind::Request(Box::new(it))).ok()
            }
            (_, None, None) => {
                let template = Template::read(&manifest.command, &manifest.options_from, properties, folder);
                template.map_err(|more| problems.extend(more)).map(Kind::Program).ok()
            }
            (_, _, _) => {
                let why = "command: one of `command`, `http` and `mcp` does the work; leave the others out";
                problems.push(why.to_owned());
                None
            }
        }
    }

    /// The tool that works in this way.
    pub(crate) fn tool(
        self,
        definition: Definition,
        (dry_run, retries): (Option<DryRun>, u8),
        secrets: Option<Arc<dyn KeptSecrets>>,
    ) -> Arc<dyn AnyTool> {
        match self {
            Kind::Program(template) => {
                let sees_workspace =
                    definition.listing.needs().iter().any(|need| matches!(need, Need::Process));
                Arc::new(Program { definition, template, dry_run, retries, sees_workspace })
            }
            Kind::Request(request) => Arc::new(Asking { definition, request: *request, secrets, retries }),
            Kind::StandIn(_) => Arc::new(StandIn { definition }),
        }
    }
}

/// What only a program could be told.
fn without_program(manifest: &Manifest, problems: &mut Vec<String>) {
    for (key, _) in [
        ("options_from", manifest.options_from.is_empty()),
        ("sandbox", manifest.sandbox == SandboxTable::default()),
        ("dry_run_supported", !manifest.dry_run_supported),
    ]
    .iter()
    .filter(|(_, is_left_out)| !is_left_out)
    {
        problems.push(format!("{key}: that is for programs (command); leave it out"));
    }
}

fn stands_for(manifest: &Manifest, table: &McpTable, problems: &mut Vec<String>) -> Option<StandsFor> {
    let programs = [
        ("options_from", manifest.options_from.is_empty()),
        ("hosts", manifest.hosts.is_empty()),
        ("sandbox", manifest.sandbox == SandboxTable::default()),
        ("retries", manifest.retries == 0),
        ("dry_run_supported", !manifest.dry_run_supported),
        ("outputs", manifest.outputs.is_none()),
    ];
    for (key, _) in programs.iter().filter(|(_, is_left_out)| !is_left_out) {
        problems.push(format!("{key}: that is for the tool to say which does the work; leave it out"));
    }
    if manifest.inputs.get("additionalProperties") != Some(&Value::Bool(false)) {
        let why = "inputs: `additionalProperties` must be false: what they do not name would be sent on";
        problems.push(why.to_owned());
    }
    let properties = manifest.inputs.get("properties").and_then(Value::as_object);
    let is_said = |name: &&String| properties.is_some_and(|all| all.contains_key(*name));
    for name in table.arguments.keys().filter(is_said) {
        problems.push(format!("mcp.arguments: `{name}` is in `inputs`, too; one of them says it"));
    }
    match ToolName::parse(&table.tool) {
        Some(_) if table.tool != manifest.id => {
            Some(StandsFor { tool: table.tool.clone(), fixed: table.arguments.clone() })
        }
        Some(_) => {
            problems.push("mcp.tool: it cannot stand for itself".to_owned());
            None
        }
        None => {
            problems.push(format!("mcp.tool: {:?} is no name of a tool", table.tool));
            None
        }
    }
}

//! The Rust SDK's client, driven from outside: one JSON command on a line of stdin, one JSON answer on a line of stdout.
//!
//! `rmcp-client initialize|discover|auto URL`, or instead of the address a command with its arguments. The first line it
//! writes tells how it connected. A command is `{"do": …}` with the members that [`perform`] reads; its answer is
//! `{"ok": RESULT}` or `{"error": TEXT}`, and `{"progress": …}` comes before it when the server reports some.

#![expect(deprecated, reason = "the newest revision drops sampling and roots; servers ask for them still")]

use std::error::Error;

use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, ClientCapabilities, ClientConfig, CompleteRequestParams,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, GetPromptRequestParams, Implementation, ListRootsResult, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

type Anything = Box<dyn Error>;

/// A client that answers whatever it is asked.
struct Answering;

fn read_as<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ClientHandler for Answering {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let content = json!({"username": "ada", "email": "ada@example.org", "name": "Ada"});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let content = json!({"type": "text", "text": "a sentence of the model"});
        read_as(json!({"role": "assistant", "model": "none", "stopReason": "endTurn", "content": content}))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        read_as(json!({"roots": [{"uri": "file:///where/the/client/works", "name": "work"}]}))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        println!("{}", json!({"progress": {"progress": params.progress, "total": params.total}}));
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities =
            read_as(json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}}))
                .expect("capabilities as the SDK spells them");
        ClientConfig::new(capabilities, Implementation::new("rmcp-client", "1.0.0"))
    }
}

fn lifecycle(mode: &str) -> Result<ClientLifecycleMode, Anything> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "initialize" => Ok(ClientLifecycleMode::Initialize),
        "discover" => Ok(ClientLifecycleMode::Discover { preferred_versions }),
        "auto" => Ok(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }),
        other => Err(format!("`{other}` is no mode").into()),
    }
}

async fn connect(mode: &str, target: &[String]) -> Result<RunningService<RoleClient, Answering>, Anything> {
    let [first, arguments @ ..] = target else { return Err("an address or a command is missing".into()) };
    if first.starts_with("http://") {
        let transport = StreamableHttpClientTransport::from_uri(first.as_str());
        return Ok(Answering.serve_with_lifecycle(transport, lifecycle(mode)?).await?);
    }
    let mut command = tokio::process::Command::new(first);
    command.args(arguments);
    Ok(Answering.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle(mode)?).await?)
}

/// Does what a command says; the result is what the SDK made of the answer, spelt again.
async fn perform(client: &RunningService<RoleClient, Answering>, command: &Value) -> Result<Value, Anything> {
    let word = |name: &str| command[name].as_str().unwrap_or_default().to_owned();
    let arguments = || command["arguments"].as_object().cloned().unwrap_or_default();
    let done = match command["do"].as_str() {
        Some("tools") => serde_json::to_value(client.list_all_tools().await?)?,
        Some("resources") => serde_json::to_value(client.list_all_resources().await?)?,
        Some("templates") => serde_json::to_value(client.list_all_resource_templates().await?)?,
        Some("prompts") => serde_json::to_value(client.list_all_prompts().await?)?,
        Some("call") => {
            let params = CallToolRequestParams::new(word("name")).with_arguments(arguments());
            serde_json::to_value(client.call_tool(params).await?)?
        }
        Some("read") => {
            serde_json::to_value(client.read_resource(ReadResourceRequestParams::new(word("uri"))).await?)?
        }
        Some("prompt") => {
            let params = GetPromptRequestParams::new(word("name")).with_arguments(arguments());
            serde_json::to_value(client.get_prompt(params).await?)?
        }
        Some("complete") => {
            let argument: ArgumentInfo = serde_json::from_value(command["argument"].clone())?;
            let params =
                CompleteRequestParams::new(serde_json::from_value(command["ref"].clone())?, argument);
            serde_json::to_value(client.complete(params).await?)?
        }
        _ => return Err(format!("no such command: {command}").into()),
    };
    Ok(done)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Anything> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, target) = words.split_first().ok_or("a mode is missing")?;
    let client = connect(mode, target).await?;
    println!("{}", json!({"ok": client.peer_info()}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match perform(&client, &serde_json::from_str(&line)?).await {
            Ok(result) => println!("{}", json!({"ok": result})),
            Err(error) => println!("{}", json!({"error": error.to_string()})),
        }
    }
    client.cancel().await?;
    Ok(())
}

//! An echo server on the Rust SDK, in the SDK's usual style.
//!
//! Without arguments it serves on the SDK's default stdin and stdout, with `--pipes` on its non-blocking pipes,
//! with `--port N` over Streamable HTTP (sessions and SSE, the SDK's default), and with `--json` added to that
//! without sessions, answering JSON.

use std::error::Error;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoRequest {
    /// What to return.
    message: String,
}

#[derive(Clone)]
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Returns the message.")]
    fn echo(&self, Parameters(EchoRequest { message }): Parameters<EchoRequest>) -> String {
        message
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if let Some(place) = arguments.iter().position(|argument| argument == "--port") {
        let port = arguments.get(place + 1).ok_or("--port needs a number")?.parse()?;
        return serve_http(port, has("--json")).await;
    }
    if has("--pipes") {
        Echo::new().serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    } else {
        Echo::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
    }
    Ok(())
}

async fn serve_http(port: u16, json: bool) -> Result<(), Box<dyn Error>> {
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(!json).with_json_response(json);
    let service =
        StreamableHttpService::new(|| Ok(Echo::new()), Arc::new(LocalSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)).await?;
    let listener = listener.tap_io(|stream| {
        // Kinder than the default: small answers do not wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

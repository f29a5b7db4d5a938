//! The versions of everything the tests install: exact ones only, each the newest when it was written here.

use super::cargo_tools::Tool;

/// The oldest Node that serves, as major and minor version: the Inspector's requirement.
pub const NODE_MIN: (u32, u32) = (22, 19);

/// The Node that is installed where the machine's own is older.
pub const NODE: &str = "24.21.0";

/// Clients that drive the program and servers it drives, in TypeScript.
pub const NPM: &[&str] = &[
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "mcp-remote@0.15.1",
    // Their programs come as optional packages for the platform; no script runs that would move them.
    "@anthropic-ai/claude-code@2.1.330",
    "opencode-ai@1.18.33",
    "oidc-provider@9.13.3",
    "puppeteer-core@25.16.0",
];

/// The protocol's own conformance suite: the released one, and the one that knows the newest revision.
pub const CONFORMANCE_RELEASED: &str = "@modelcontextprotocol/conformance@0.1.16";
/// The suite of the revision to come.
pub const CONFORMANCE_NEXT: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// Clients and servers in Python.
pub const PYTHON: &[&str] = &[
    "mcp==2.3.0",
    "fastmcp==4.1.2",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "opentelemetry-proto==1.45.2",
    "prometheus-client==0.26.0",
];

/// Runs the tests. Its version changes nothing that is tested, so the machine's own serves.
pub const CARGO_NEXTEST: Tool = Tool { name: "cargo-nextest", version: "0.9.143", exact: false };

/// Judges the dependencies. Its rules change between versions.
pub const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", exact: true };

//! The leanest MCP server: stdio, or Streamable HTTP with `--port N`; `--tools N` adds synthetic tools to its list.

fn main() -> std::io::Result<()> {
    let answers = floor::mcp_answers::McpAnswers::new(floor::argument::number("--tools").unwrap_or(0));
    match floor::argument::number("--port") {
        Some(port) => floor::http_loop::serve(port, |body, output| answers.answer(body, output)),
        None => floor::stdio_loop::serve(|line, output| answers.answer(line, output)),
    }
}

//! What the list of tools costs a conversation: its bytes with 10, 100 and 500 tools of a server, all shown or searched.

use crate::bench::Bench;
use crate::client::{Client as _, await_tools};
use crate::message::Request;
use crate::report::{Report, Section, Unit};
use crate::round::READY_TIME_MAX;
use crate::stdio_client::StdioClient;

const TOOLS: [u16; 3] = [10, 100, 500];

/// Characters of JSON that make one token, about: what the makers of models tell people to reckon with.
const TOKEN_BYTES: f64 = 4.0;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for tools in TOOLS {
        let mut row = vec![tools.to_string()];
        for searched in [false, true] {
            let mut client = StdioClient::open(&bench.programs.toolcrib_exposing(tools, searched)?)?;
            if !searched {
                await_tools(&mut client, tools.into(), READY_TIME_MAX)?;
            }
            client.call(&Request::tools(None))?;
            let bytes = client.last_answer().len() as f64;
            row.extend([Unit::SmallBytes.show(bytes), Unit::Count.show((bytes / TOKEN_BYTES).round())]);
        }
        rows.push(row);
    }
    report.section(Section {
        title: "What a list of tools costs".into(),
        about: "The answer to `tools/list`, built-in tools and those of one server, each with a sentence and one argument: its size, and a \
                quarter of it as tokens, which is what makers of models say to reckon with."
            .into(),
        columns: ["tools of the server", "all", "tokens", "searched", "tokens"].map(str::to_owned).to_vec(),
        rows,
    });
    Ok(())
}

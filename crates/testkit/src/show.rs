//! The outcome of a call as text for people and snapshots.

use std::fmt::Write as _;

use tool_api::{Block, Outcome, Payload, ToolError};

/// Writes an outcome down: each block on its own lines, then the structured form; or the error.
///
/// Text stands as it is, but for control characters other than the line feed, which are escaped.
pub fn show(outcome: &Result<Outcome, ToolError>) -> String {
    match outcome {
        Err(error) => format!("error {}: {error}\n", error.code()),
        Ok(outcome) => {
            let mut shown = if outcome.is_error { "is_error\n".to_owned() } else { String::new() };
            show_payload(&outcome.payload, &mut shown);
            shown
        }
    }
}

fn show_payload(payload: &Payload, shown: &mut String) {
    match payload {
        Payload::Ours { blocks, structured } => {
            blocks.iter().for_each(|block| show_block(block, shown));
            if let Some(structured) = structured {
                line(shown, format_args!("structured: {}", String::from_utf8_lossy(structured)));
            }
        }
        Payload::Relayed { result, .. } => {
            line(shown, format_args!("relayed: {}", String::from_utf8_lossy(result)))
        }
        Payload::InputRequired { requests, state, .. } => {
            let requests = requests.as_deref().map_or("-".into(), String::from_utf8_lossy);
            line(shown, format_args!("asks: {requests} {}", state.as_deref().unwrap_or("-")));
        }
        Payload::Task { result, id } => {
            line(shown, format_args!("task {id}: {}", String::from_utf8_lossy(result)));
        }
    }
}

fn show_block(block: &Block, shown: &mut String) {
    match block {
        Block::Text(text) => {
            shown.push_str("text: ");
            for c in text.chars() {
                match c {
                    '\n' => shown.push(c),
                    c if c.is_control() => shown.extend(c.escape_debug()),
                    c => shown.push(c),
                }
            }
            // A missing line end must show.
            shown.push_str(if text.ends_with('\n') { "" } else { "¶\n" });
        }
        Block::Image { mime, bytes } | Block::Audio { mime, bytes } => {
            line(shown, format_args!("{mime} {} bytes", bytes.len()));
        }
        Block::Blob { uri, mime, bytes } => line(shown, format_args!("{mime} {} bytes {uri}", bytes.len())),
    }
}

fn line(shown: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(shown, "{what}").expect("writing to a string cannot fail");
}

//! `audit`: the latest records of the book, and whether the book is as it was written.

use std::path::Path;

use audit::VerifyError;
use serde_json::{Value, json};
use store::SqliteStore;

use super::{Log, start};
use crate::cli::{Audit, Cli};
use crate::ending::{Ending, Trouble};
use crate::print;

pub(super) fn run(cli: &Cli, command: Audit) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::Quiet)?;
    match command {
        Audit::Tail { lines } => tail(cli, &loaded.settings.state, lines),
        Audit::Verify => verify(cli, &loaded.settings.state),
    }
}

fn tail(cli: &Cli, state: &Path, lines: usize) -> Result<Ending, Trouble> {
    let lines = audit::tail(&state.join(audit::FILE), lines)
        .map_err(|error| Trouble::Failed(format!("the audit book cannot be read: {error}")))?;
    if cli.json {
        // The book's own lines: one JSON object each, byte for byte.
        for line in &lines {
            print::line(line)?;
        }
    } else if !lines.is_empty() {
        print::foreign(&print::table(&lines.iter().map(|line| row(line)).collect::<Vec<_>>()))?;
    }
    Ok(Ending::Good)
}

/// A record in a few words: when, who, through which door, which tool, how it ended, how long it took.
fn row(line: &str) -> Vec<String> {
    let Ok(record) = serde_json::from_str::<Value>(line) else {
        return vec!["a line that a crash cut short".to_owned()];
    };
    let text = |key: &str| record[key].as_str().unwrap_or("").to_owned();
    let ending = match record["code"].as_str() {
        Some(code) => format!("{} ({code})", text("outcome")),
        None => text("outcome"),
    };
    let took = record["duration_us"].as_u64().unwrap_or(0);
    let took = format!("{}.{:03} ms", took / 1_000, took % 1_000);
    vec![time(&record["opened_at_ms"]), text("caller"), text("via"), text("tool"), ending, took]
}

fn time(ms: &Value) -> String {
    let time = ms.as_i64().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or("at an unknown time".to_owned(), |time| format!("{time:.3}"))
}

fn verify(cli: &Cli, state: &Path) -> Result<Ending, Trouble> {
    let store = SqliteStore::at(state);
    let kept = audit::anchored(&store).map_err(|error| Trouble::Failed(error.to_string()))?;
    let (ending, facts, words) = match audit::verify(&state.join(audit::FILE), kept) {
        Ok(book) => (
            Ending::Good,
            json!({ "good": true, "records": book.records, "torn_lines": book.torn_lines, "head": book.head.hash }),
            format!("{} records, none changed, moved or taken out; head {}", book.records, book.head.hash),
        ),
        Err(VerifyError::Unreadable(error)) => {
            return Err(Trouble::Failed(format!("the audit book cannot be read: {error}")));
        }
        Err(error @ VerifyError::Broken { line, .. }) => (
            Ending::Failed,
            json!({ "good": false, "line": line, "why": error.to_string() }),
            error.to_string(),
        ),
    };
    if cli.json {
        print::json(&facts)?
    } else {
        print::line(&words)?
    }
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_row() {
        let line = r#"{"seq":1,"opened_at_ms":1700000000000,"caller":"local","via":"stdio","tool":"x",
            "outcome":"refused","code":"policy_denied","duration_us":1234}"#;
        let expected =
            ["2023-11-14T22:13:20.000Z", "local", "stdio", "x", "refused (policy_denied)", "1.234 ms"];
        assert_eq!(row(line), expected);
        assert_eq!(row("{\"seq\":"), ["a line that a crash cut short"]);
    }
}

//! `audit tail`: the latest calls, and those to come.

use std::collections::VecDeque;
use std::path::Path;
use std::thread;
use std::time::Duration;

use audit::Reader;
use serde_json::Value;

use super::filter::{Wanted, outcome_of};
use super::unreadable::unreadable;
use crate::cli::{Cli, Filter};
use crate::ending::{Ending, Trouble};
use crate::{print, times};

/// How often the end of the audit log is looked at. Its writer gathers for 20 ms.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Lines that are read for each one asked for, before all of the audit log is: checkpoints and torn lines are among them.
const READ_FOR_EACH: usize = 4;

/// The characters of a name that are shown: callers invent long ones, and a column is as wide as its widest cell.
const NAME_CHARS_MAX: usize = 64;

/// Lines of the audit log that are printed at most: they are gathered in memory.
const LINES_MAX: usize = 100_000;

pub(super) fn run(
    cli: &Cli,
    state: &Path,
    lines: usize,
    follow: bool,
    filter: &Filter,
) -> Result<Ending, Trouble> {
    let wanted = Wanted::of(filter)?;
    // Before the lines are read: what is written in between comes later.
    let (last, seen) = latest(state, lines.min(LINES_MAX), &wanted).map_err(unreadable)?;
    show(cli, &last)?;
    if last.is_empty() && !follow && !cli.json {
        print::remark("there is no such call in the audit log");
    }
    if !follow {
        return Ok(Ending::Good);
    }
    let mut reader = Reader::since(state, seen).map_err(unreadable)?;
    loop {
        while let Some(line) = reader.next_line().map_err(unreadable)? {
            if wanted.has(&line) {
                show(cli, &[line])?;
            }
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The last wanted lines, oldest first, and the number of the last record of all.
fn latest(state: &Path, lines: usize, wanted: &Wanted) -> std::io::Result<(Vec<String>, u64)> {
    let asked = lines * READ_FOR_EACH + READ_FOR_EACH;
    let read = audit::tail(state, asked)?;
    let seen = read.iter().rev().find_map(|line| seq(line)).unwrap_or(0);
    let is_all = read.len() < asked;
    let mut found: Vec<String> = read.into_iter().filter(|line| wanted.has(line)).collect();
    if found.len() >= lines || is_all {
        return Ok((found.split_off(found.len().saturating_sub(lines)), seen));
    }
    let (mut found, mut seen) = (VecDeque::new(), seen);
    let mut reader = Reader::since(state, 0)?;
    while let Some(line) = reader.next_line()? {
        seen = seq(&line).unwrap_or(seen);
        if wanted.has(&line) {
            found.push_back(line);
            if found.len() > lines {
                found.pop_front();
            }
        }
    }
    Ok((found.into(), seen))
}

fn seq(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["seq"].as_u64()
}

fn show(cli: &Cli, lines: &[String]) -> Result<(), Trouble> {
    if cli.json {
        // The audit log's own lines: one JSON object each, byte for byte.
        lines.iter().try_for_each(|line| print::line(line))?;
    } else if !lines.is_empty() {
        print::foreign(&print::table(&lines.iter().map(|line| row(line)).collect::<Vec<_>>()))?;
    }
    Ok(())
}

/// A record in a few words: when, who, through which door, which tool, how it ended, how long it took.
fn row(line: &str) -> Vec<String> {
    let record = serde_json::from_str::<Value>(line).unwrap_or_default();
    let text = |key: &str| record[key].as_str().unwrap_or("").to_owned();
    let outcome = outcome_of(record["outcome"].as_str().unwrap_or("")).to_owned();
    let ending = match record["code"].as_str() {
        Some(code) => format!("{outcome} ({code})"),
        None => outcome,
    };
    let took = record["duration_us"].as_u64().unwrap_or(0);
    let took = format!("{}.{:03} ms", took / 1_000, took % 1_000);
    let (caller, tool) = (short(text("caller")), short(text("tool")));
    let time = record["opened_at_ms"].as_i64().map_or_else(String::new, times::shown);
    vec![time, caller, text("via"), tool, ending, took]
}

fn short(name: String) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_row() {
        let line = r#"{"seq":1,"opened_at_ms":1700000000000,"caller":"local","via":"stdio","tool":"x",
            "outcome":"refused","code":"policy_denied","duration_us":1234}"#;
        let expected = ["2023-11-14T22:13:20Z", "local", "stdio", "x", "refused (policy_denied)", "1.234 ms"];
        assert_eq!(row(line), expected);
        let long = format!(r#"{{"tool":"{}","caller":"{}"}}"#, "ä".repeat(64), "b".repeat(250));
        let row = row(&long);
        assert_eq!((&row[3], row[1].chars().count()), (&"ä".repeat(64), 65));
    }
}

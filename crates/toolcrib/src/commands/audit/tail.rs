//! `audit tail`: the latest calls, and those to come.

use std::thread;
use std::time::Duration;

use admin::audit_log::{self, AuditPart, Wanted, outcome_of, unreadable};
use admin::{By, Fault, Operation as _};
use audit::Reader;
use config::Settings;
use daemon::administration;
use serde_json::Value;
use terminal::paint::Words as _;
use terminal::times::time_ms;
use terminal::{Ending, Trouble, print, times};

use crate::cli::{Cli, Filter};

/// How often the end of the audit log is looked at. Its writer gathers for 20 ms.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The door of calls over HTTP, as records name it.
const HTTP: &str = "http";

/// The characters of a name that are shown: callers invent long ones, and a column is as wide as its widest cell.
const NAME_CHARS_MAX: usize = 64;

pub(super) fn run(
    cli: &Cli,
    part: &AuditPart,
    (lines, before): (usize, Option<u64>),
    follow: bool,
    filter: &Filter,
) -> Result<Ending, Trouble> {
    let filter = meant(filter)?;
    let wanted = Wanted::of(filter.clone())?;
    let found = audit_log::Tail { lines, before, filter }.perform(part, &By::owner())?;
    show(cli, &found.lines)?;
    if found.lines.is_empty() && !follow && !cli.json {
        print::remark("there is no such call in the audit log");
    }
    if !follow {
        return Ok(Ending::Good);
    }
    let mut reader = Reader::since(&part.state, found.seen).map_err(unreadable)?;
    loop {
        while let Some(line) = reader.next_line().map_err(unreadable)? {
            if wanted.has(&line) {
                show(cli, &[line])?;
            }
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Tells a person who serves at a terminal of each call that comes over HTTP from now on.
///
/// # Errors
/// The audit log cannot be read.
pub(crate) fn tell_calls(settings: &Settings) -> Result<(), Fault> {
    let part = administration::audit_log(settings);
    let all = audit_log::Filter::default();
    let wanted = Wanted::of(all.clone())?;
    let seen = audit_log::Tail { lines: 0, before: None, filter: all }.perform(&part, &By::owner())?.seen;
    let mut reader = Reader::since(&part.state, seen).map_err(unreadable)?;
    // It ends with the process.
    thread::spawn(move || {
        loop {
            // What cannot be read now may be later; `audit tail` says why.
            while let Ok(Some(line)) = reader.next_line() {
                let row = row(&line);
                if wanted.has(&line) && row[2] == HTTP {
                    print::remark(&print::harmless(&row.join("  ")));
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    });
    Ok(())
}

/// The filter that the words of the command mean.
fn meant(words: &Filter) -> Result<audit_log::Filter, Trouble> {
    let Filter { caller, tool, outcome, since, events } = words.clone();
    let since_ms = since.map(|since| time_ms("--since", &since)).transpose()?;
    Ok(audit_log::Filter { caller, tool, outcome, since_ms, events })
}

fn show(cli: &Cli, lines: &[String]) -> Result<(), Trouble> {
    if cli.json {
        // The audit log's own lines: one JSON object each, byte for byte.
        lines.iter().try_for_each(|line| print::line(line))?;
    } else if !lines.is_empty() {
        let rows = lines.iter().map(|line| row(line));
        print::painted(&print::Table::plain(rows).with_states_in(4).painted())?;
    }
    Ok(())
}

/// A record in a few words: when, who, through which door, which tool, how it ended, how long it took.
fn row(line: &str) -> Vec<String> {
    let record = serde_json::from_str::<Value>(line).unwrap_or_default();
    let text = |key: &str| record[key].as_str().unwrap_or("").to_owned();
    let time = record["opened_at_ms"].as_i64().map_or_else(String::new, times::shown);
    if let Some(event) = record["event"].as_str() {
        return event_row(&record, event, time);
    }
    let outcome = outcome_of(record["outcome"].as_str().unwrap_or("")).to_owned();
    let ending = match record["code"].as_str() {
        Some(code) => format!("{outcome} ({code})"),
        None => outcome,
    };
    let took = record["duration_us"].as_u64().unwrap_or(0);
    let took = format!("{}.{:03} ms", took / 1_000, took % 1_000);
    let (caller, tool) = (short(text("caller")), short(text("tool")));
    vec![time, caller, text("via"), tool, ending, took]
}

/// An event in the same columns: nobody called, so the server stands where the caller does.
fn event_row(record: &Value, event: &str, time: String) -> Vec<String> {
    let text = |value: &Value| short(value.as_str().unwrap_or("").to_owned());
    let reached = &record["hosts"][0];
    let count = match reached["connections"].as_u64() {
        None => String::new(),
        Some(1) => "once".to_owned(),
        Some(count) => format!("{count} times"),
    };
    let (what, ending) = match (&reached["host"], record["escaped"].as_array()) {
        (Value::String(host), _) => match reached["blocked"].as_str() {
            Some(why) => (short(host.clone()), format!("blocked ({why})")),
            None => (short(host.clone()), "reached".to_owned()),
        },
        (_, Some(escaped)) if !escaped.is_empty() => {
            let escaped: Vec<String> = escaped.iter().map(text).collect();
            (String::new(), format!("NOT HELD ({})", escaped.join(", ")))
        }
        (_, Some(_)) => (String::new(), "held".to_owned()),
        (_, None) => (String::new(), String::new()),
    };
    vec![time, text(&record["upstream"]), event.to_owned(), what, ending, count]
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
        for (line, expected) in [
            (
                r#"{"opened_at_ms":0,"event":"server_reached","upstream":"git","hosts":[{"host":"a:443","connections":3}]}"#,
                ["1970-01-01T00:00:00Z", "git", "server_reached", "a:443", "reached", "3 times"],
            ),
            (
                r#"{"event":"server_reached","upstream":"git","hosts":[{"host":"b:1","blocked":"no rule","connections":1}]}"#,
                ["", "git", "server_reached", "b:1", "blocked (no rule)", "once"],
            ),
            (
                r#"{"event":"sandbox_self_test","attempts":64,"escaped":[]}"#,
                ["", "", "sandbox_self_test", "", "held", ""],
            ),
            (
                r#"{"event":"sandbox_self_test","attempts":64,"escaped":["trace","open_raw"]}"#,
                ["", "", "sandbox_self_test", "", "NOT HELD (trace, open_raw)", ""],
            ),
        ] {
            assert_eq!(row(line), expected);
        }
        let long = format!(r#"{{"tool":"{}","caller":"{}"}}"#, "ä".repeat(64), "b".repeat(250));
        let row = row(&long);
        assert_eq!((&row[3], row[1].chars().count()), (&"ä".repeat(64), 65));
    }
}

//! `audit export`: the audit log as JSON Lines, as a table, or as OpenTelemetry logs, printed or in a file.
#![expect(clippy::disallowed_methods, reason = "an export goes where the person at the command line says")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use audit::{LOGS_BYTES_MAX, LOGS_MAX, Reader};
use serde_json::Value;

use super::unreadable::unreadable;
use crate::cli::{AuditExport, Format};
use crate::ending::{Ending, Trouble};
use crate::print;
use crate::times::time_ms;

/// Only the owner may read what they did.
const FILE_MODE: u32 = 0o600;

pub(super) fn run(state: &Path, export: &AuditExport) -> Result<Ending, Trouble> {
    let mut lines = Lines {
        reader: Reader::since(state, export.after).map_err(unreadable)?,
        since_ms: export.since.as_deref().map(|time| time_ms("--since", time)).transpose()?,
        until_ms: export.until.as_deref().map(|time| time_ms("--until", time)).transpose()?,
    };
    match export.to.as_deref() {
        Some(to) if to.contains("://") => Err(Trouble::Misused(format!(
            "--to: `{to}` is no file; write one, and have a collector read it or send it with a program such as curl"
        ))),
        to => write(&mut lines, export.format, to.map(Path::new)),
    }
}

/// The lines that are meant.
struct Lines {
    reader: Reader,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
}

impl Lines {
    fn next(&mut self) -> Result<Option<String>, Trouble> {
        while let Some(line) = self.reader.next_line().map_err(unreadable)? {
            if self.since_ms.is_none() && self.until_ms.is_none() {
                return Ok(Some(line));
            }
            let record: Value = serde_json::from_str(&line).unwrap_or_default();
            let at = record["opened_at_ms"].as_i64().or_else(|| record["written_at_ms"].as_i64());
            let is_meant = |at: i64| {
                self.since_ms.is_none_or(|since| at >= since) && self.until_ms.is_none_or(|until| at < until)
            };
            if at.is_some_and(is_meant) {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// As many as one request takes; none at the end.
    fn batch(&mut self) -> Result<Vec<String>, Trouble> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < LOGS_MAX && bytes < LOGS_BYTES_MAX {
            let Some(line) = self.next()? else { break };
            bytes += line.len();
            batch.push(line);
        }
        Ok(batch)
    }
}

/// Standard output as a writer: what is printed passes the redactor, some lines at a time.
struct Printed;

impl Write for Printed {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        print::line(&String::from_utf8_lossy(text))?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(lines: &mut Lines, format: Format, to: Option<&Path>) -> Result<Ending, Trouble> {
    let Some(path) = to else {
        fill(lines, format, &mut Printed)??;
        return Ok(Ending::Good);
    };
    let unwritten = |error| Trouble::Failed(format!("{} cannot be written: {error}", path.display()));
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path);
    let mut file = file.map_err(unwritten)?;
    let written = fill(lines, format, &mut file)?.map_err(unwritten)?;
    file.sync_all().map_err(unwritten)?;
    let up_to = written.last.map_or(String::new(), |seq| format!(", up to {seq}"));
    print::remark(&format!("{} records written to {}{up_to}", written.records, path.display()));
    Ok(Ending::Good)
}

/// What left the audit log.
#[derive(Default)]
struct Left {
    records: usize,
    /// The number of the last one.
    last: Option<u64>,
}

impl Left {
    fn add(&mut self, batch: &[String], records: usize) {
        self.records += records;
        let seq = |line: &String| serde_json::from_str::<Value>(line).ok()?["seq"].as_u64();
        self.last = batch.last().and_then(seq).or(self.last);
    }
}

fn fill(lines: &mut Lines, format: Format, sink: &mut dyn Write) -> Result<io::Result<Left>, Trouble> {
    let mut left = Left::default();
    if format == Format::Csv
        && let Err(error) = sink.write_all(audit::csv_head().as_bytes())
    {
        return Ok(Err(error));
    }
    loop {
        let batch = lines.batch()?;
        if batch.is_empty() {
            return Ok(Ok(left));
        }
        let mut rows = batch.len();
        let text: String = match format {
            Format::Jsonl => batch.iter().flat_map(|line| [line, "\n"]).collect(),
            Format::Csv => {
                // Only calls have one.
                let of_calls: Vec<String> = batch.iter().filter_map(|line| audit::csv_row(line)).collect();
                rows = of_calls.len();
                of_calls.concat()
            }
            // One request on each line, as the file exporter of collectors writes them.
            Format::Otlp => format!("{}\n", audit::otlp_logs(batch.iter().map(String::as_str))),
        };
        if let Err(error) = sink.write_all(text.as_bytes()) {
            return Ok(Err(error));
        }
        left.add(&batch, rows);
    }
}

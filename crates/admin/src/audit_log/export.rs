//! The audit log as other programs read it: as JSON Lines, as a table, or as OpenTelemetry logs. Page by page, since a
//! page goes through memory, and through one line of whoever carries it.

use audit::{LOGS_BYTES_MAX, LOGS_MAX, Reader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AuditPart, unreadable};
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Lines of one page that is carried, in bytes: as OpenTelemetry logs, and escaped, they become up to eight times as much.
const PAGE_BYTES_MAX: usize = 256 * 1024;

/// One page of the audit log. What comes behind it is the page `after` its last record; one that has none is the end.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Export {
    /// The form.
    pub format: Format,
    /// Only records after the one with this number.
    pub after: u64,
    /// Only calls since then, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Only calls before then, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// How many records at most, up to 512, which is what is taken if nothing is said.
    pub records: Option<usize>,
}

/// A form of the audit log.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Its own lines: one JSON object each.
    #[default]
    Jsonl,
    /// A table with one row for each call and each event.
    Csv,
    /// OpenTelemetry logs as JSON, one request for each page.
    Otlp,
}

/// Some records in the form that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportPage {
    /// What stands before the first page.
    pub head: String,
    /// The records, each line with its end.
    pub text: String,
    /// How many are in it.
    pub records: usize,
    /// The number of the last one; nothing if there is none, at the end of the audit log.
    pub last: Option<u64>,
}

/// The pages of an export, one after the other.
pub struct Pages {
    reader: Reader,
    asked: Export,
    bytes_max: usize,
}

impl Pages {
    /// Those that are asked for.
    ///
    /// # Errors
    /// The audit log cannot be read.
    pub fn of(part: &AuditPart, asked: Export) -> Result<Pages, Fault> {
        let reader = Reader::since(&part.state, asked.after).map_err(unreadable)?;
        Ok(Pages { reader, asked, bytes_max: LOGS_BYTES_MAX })
    }

    /// The next one, perhaps without records at the end.
    ///
    /// # Errors
    /// The audit log cannot be read.
    pub fn turn(&mut self) -> Result<ExportPage, Fault> {
        let records_max = self.asked.records.unwrap_or(LOGS_MAX).clamp(1, LOGS_MAX);
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < records_max && bytes < self.bytes_max {
            let Some(line) = self.reader.next_line().map_err(unreadable)? else { break };
            if self.is_meant(&line) {
                bytes += line.len();
                lines.push(line);
            }
        }
        Ok(self.asked.format.page(&lines))
    }

    fn is_meant(&self, line: &str) -> bool {
        let Export { since_ms, until_ms, .. } = self.asked;
        if since_ms.is_none() && until_ms.is_none() {
            return true;
        }
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        let at = record["opened_at_ms"].as_i64().or_else(|| record["written_at_ms"].as_i64());
        at.is_some_and(|at| {
            since_ms.is_none_or(|since| at >= since) && until_ms.is_none_or(|until| at < until)
        })
    }
}

impl Format {
    fn page(self, lines: &[String]) -> ExportPage {
        let seq = |line: &String| serde_json::from_str::<Value>(line).ok()?["seq"].as_u64();
        let last = lines.last().and_then(seq);
        let mut page = ExportPage { head: String::new(), text: String::new(), records: lines.len(), last };
        match self {
            Format::Jsonl | Format::Otlp if lines.is_empty() => {}
            Format::Jsonl => page.text = lines.join("\n") + "\n",
            Format::Csv => {
                page.head = audit::csv_head();
                // Checkpoints have none.
                let rows: Vec<String> = lines.iter().filter_map(|line| audit::csv_row(line)).collect();
                (page.records, page.text) = (rows.len(), rows.concat());
            }
            // One request on each line, as the file exporter of collectors writes them.
            Format::Otlp => {
                page.text = format!("{}\n", audit::otlp_logs(lines.iter().map(String::as_str)));
            }
        }
        page
    }
}

impl Operation for Export {
    const NAME: &'static str = "audit.export";
    type Part = AuditPart;
    type Output = ExportPage;

    fn perform(self, part: &AuditPart, _: &By) -> Result<ExportPage, Fault> {
        Pages { bytes_max: PAGE_BYTES_MAX, ..Pages::of(part, self)? }.turn()
    }
}

//! The latest records.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use audit::Reader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::{Filter, Wanted};
use super::{AuditPart, unreadable};
use crate::by::By;
use crate::fault::Fault;
use crate::operation::Operation;

/// Lines that are read for each one asked for, before all of the audit log is: checkpoints and torn lines are among them.
const READ_FOR_EACH: usize = 4;

/// Lines that are given at most: they are gathered in memory.
pub const LINES_MAX: usize = 100_000;

/// The latest calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// How many, up to 100,000.
    pub lines: usize,
    /// Only those before the record of this number.
    #[serde(default)]
    pub before: Option<u64>,
    /// Which.
    #[serde(default)]
    pub filter: Filter,
}

/// Lines of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// One JSON object each, byte for byte as it is written there; the oldest first.
    pub lines: Vec<String>,
    /// The number of the last record of all: what is written later comes behind it.
    pub seen: u64,
}

impl Operation for Tail {
    const NAME: &'static str = "audit.tail";
    type Part = AuditPart;
    type Output = Lines;

    fn perform(self, part: &AuditPart, _: &By) -> Result<Lines, Fault> {
        let wanted = Wanted::of(self.filter)?.before(self.before);
        latest(&part.state, self.lines.min(LINES_MAX), &wanted).map_err(unreadable)
    }
}

/// The last wanted lines, and the number of the last record of all.
pub(crate) fn latest(state: &Path, lines: usize, wanted: &Wanted) -> io::Result<Lines> {
    let asked = lines * READ_FOR_EACH + READ_FOR_EACH;
    let read = audit::tail(state, asked)?;
    let mut seen = read.iter().rev().find_map(|line| seq(line)).unwrap_or(0);
    let is_all = read.len() < asked;
    let mut found: Vec<String> = read.into_iter().filter(|line| wanted.has(line)).collect();
    if found.len() >= lines || is_all {
        return Ok(Lines { lines: found.split_off(found.len().saturating_sub(lines)), seen });
    }
    let mut found = VecDeque::new();
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
    Ok(Lines { lines: found.into(), seen })
}

fn seq(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["seq"].as_u64()
}

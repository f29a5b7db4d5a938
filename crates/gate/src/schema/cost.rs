//! What a schema costs, found before it is used.
//!
//! A schema comes from somebody else, and so do the values; together they must not keep the gate busy. Every look that the
//! validator takes at a value is counted while it takes it (`meter`), so here only what no meter sees is found: how much a
//! schema makes of one value without looking into it, by parts that apply to the same place and refer to each other.

mod plan;
mod references;

use serde_json::Value;

use super::pattern::NamePatterns;
use plan::Plan;

/// Most bytes of a schema's text. The largest of well-known servers have some 50 KiB.
pub(super) const SCHEMA_BYTES_MAX: usize = 1024 * 1024;

/// Most parts of a schema that may look at one value: when a check is given up, each value that it is in the middle of is
/// still looked at so often, at some 5 ns each.
const LOOKS_MAX: u64 = 20_000;

/// Most parts that may wait for each other while values within each other are looked at: each has some 400 bytes of a
/// thread's stack of 2 MiB.
const WAITING_MAX: u64 = 1_500;

/// Deepest JSON that is read at all.
const JSON_DEPTH_MAX: u64 = 128;

/// What a schema costs.
#[derive(Debug)]
pub(super) struct Cost {
    /// Steps for coming by a value within another.
    pub(super) steps_per_value: u64,
    /// How many parts wait for each other over one value.
    deep: u64,
    pub(super) name_patterns: NamePatterns,
}

impl Cost {
    /// Counts.
    ///
    /// # Errors
    /// It would cost too much whatever it is asked about, or cannot be counted.
    pub(super) fn of(schema: &Value) -> Result<Cost, String> {
        let plan = Plan::of(schema)?;
        match plan.looks() {
            None => Err("its parts refer to each other in more ways than are counted".to_owned()),
            Some(looks) if looks.all > LOOKS_MAX => {
                Err(format!("it looks at one value up to {} times; at most {LOOKS_MAX} are made", looks.all))
            }
            Some(looks) => Ok(Cost {
                steps_per_value: 1 + looks.unseen,
                deep: looks.deep,
                name_patterns: NamePatterns::of(plan.name_patterns.iter().map(String::as_str))?,
            }),
        }
    }
    /// False if a value is so deep that a thread's stack may be too small for looking at it.
    pub(super) fn is_bearable(&self, value: &Value) -> bool {
        // Nearly all schemas bear the deepest values there are.
        JSON_DEPTH_MAX * self.deep <= WAITING_MAX || depth(value) * self.deep <= WAITING_MAX
    }
}

fn depth(value: &Value) -> u64 {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    1 + deepest.unwrap_or_default()
}

//! Which records are meant.

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;

/// The words for how a call ends.
const OUTCOMES: [&str; 8] =
    ["result", "tool_error", "asked", "refused", "internal", "cancelled", "abandoned", "unknown_after_crash"];

/// What a record must be. Checkpoints are none of them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Whose call.
    pub caller: Option<String>,
    /// Of which tool; `*` stands for any part of a name.
    pub tool: Option<String>,
    /// How it ended: `result`, `tool_error`, `asked`, `refused`, `internal`, `cancelled`, `abandoned` or `unknown_after_crash`.
    pub outcome: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Not only calls: events, too. They have no caller, no tool and no outcome.
    pub events: bool,
}

/// A filter that means something.
pub struct Wanted {
    filter: Filter,
    tool: Option<GlobMatcher>,
    /// Only those before the record of this number.
    before: Option<u64>,
}

impl Wanted {
    /// What a filter means.
    ///
    /// # Errors
    /// A word of it means nothing.
    pub fn of(filter: Filter) -> Result<Wanted, Fault> {
        let tool = filter.tool.as_deref().map(|name| {
            let glob = GlobBuilder::new(name).literal_separator(false).build();
            Ok::<_, Fault>(glob.map_err(|error| Fault::misused(format!("tool: {error}")))?.compile_matcher())
        });
        let tool = tool.transpose()?;
        match filter.outcome.as_deref().filter(|outcome| !OUTCOMES.contains(outcome)) {
            Some(outcome) => {
                let known = OUTCOMES.join(", ");
                Err(Fault::misused(format!("outcome: no call ends with `{outcome}`; use one of {known}")))
            }
            None => Ok(Wanted { filter, tool, before: None }),
        }
    }

    /// The same, of the records before the one of this number.
    #[must_use]
    pub(crate) fn before(self, before: Option<u64>) -> Wanted {
        Wanted { before, ..self }
    }

    /// Whether this line is one of them.
    pub fn has(&self, line: &str) -> bool {
        let Ok(record) = serde_json::from_str::<Value>(line) else { return false };
        let text = |name: &str| record[name].as_str().unwrap_or_default();
        (record["call_id"].is_string() || self.filter.events && record["event"].is_string())
            && self.before.is_none_or(|before| record["seq"].as_u64().is_some_and(|seq| seq < before))
            && self.filter.caller.as_deref().is_none_or(|caller| caller == text("caller"))
            && self.tool.as_ref().is_none_or(|tool| tool.is_match(text("tool")))
            && self.filter.outcome.as_deref().is_none_or(|outcome| outcome == outcome_of(text("outcome")))
            && self
                .filter
                .since_ms
                .is_none_or(|since| record["opened_at_ms"].as_i64().is_some_and(|at| at >= since))
    }
}

/// How a call ended; books of earlier versions have another word for one ending.
pub fn outcome_of(word: &str) -> &str {
    if word == "crashed" { "unknown_after_crash" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"seq":1,"call_id":"c","caller":"local","tool":"git_push","outcome":"crashed","opened_at_ms":5}"#;

    fn has(filter: Filter) -> bool {
        Wanted::of(filter).unwrap_or_else(|_| panic!("a good filter")).has(LINE)
    }

    #[test]
    fn a_record_must_be_all_that_is_asked() {
        let some = |text: &str| Some(text.to_owned());
        assert!(has(Filter::default()));
        assert!(has(Filter { tool: some("git_*"), caller: some("local"), ..Filter::default() }));
        assert!(has(Filter { outcome: some("unknown_after_crash"), ..Filter::default() }));
        assert!(!has(Filter { tool: some("git"), ..Filter::default() }));
        assert!(!has(Filter { caller: some("loc"), tool: some("git_*"), ..Filter::default() }));
        assert!(!has(Filter { outcome: some("result"), ..Filter::default() }));
        assert!(!has(Filter { since_ms: Some(6), ..Filter::default() }));
        let checkpoint = r#"{"seq":1,"checkpoint":{"why":"shutdown"},"written_at_ms":5}"#;
        assert!(!Wanted::of(Filter::default()).unwrap_or_else(|_| panic!("good")).has(checkpoint));
        let event = r#"{"seq":1,"opened_at_ms":5,"event":"server_reached","upstream":"git"}"#;
        for (filter, expected) in [
            (Filter::default(), false),
            (Filter { events: true, ..Filter::default() }, true),
            (Filter { events: true, since_ms: Some(6), ..Filter::default() }, false),
            (Filter { events: true, tool: some("git*"), ..Filter::default() }, false),
        ] {
            let asked = format!("{filter:?}");
            let wanted = Wanted::of(filter).unwrap_or_else(|_| panic!("good"));
            assert_eq!(wanted.has(event), expected, "{asked}");
        }
        let wrong = Filter { outcome: some("lost"), ..Filter::default() };
        assert!(Wanted::of(wrong).is_err());
    }
}

//! Which records are meant.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::cli::Filter;
use crate::ending::Trouble;
use crate::times::time_ms;

/// The words for how a call ends.
const OUTCOMES: [&str; 7] =
    ["result", "tool_error", "refused", "internal", "cancelled", "abandoned", "unknown_after_crash"];

/// What a record must be. Lines that are no records of calls are none of them.
pub(super) struct Wanted {
    caller: Option<String>,
    tool: Option<GlobMatcher>,
    outcome: Option<String>,
    since_ms: Option<i64>,
}

impl Wanted {
    /// What the words of a command mean.
    ///
    /// # Errors
    /// A word that means nothing.
    pub(super) fn of(filter: &Filter) -> Result<Wanted, Trouble> {
        let tool = filter.tool.as_deref().map(|name| {
            let glob = GlobBuilder::new(name).literal_separator(false).build();
            let glob = glob.map_err(|error| Trouble::Misused(format!("--tool: {error}")))?;
            Ok::<_, Trouble>(glob.compile_matcher())
        });
        if let Some(outcome) = filter.outcome.as_deref().filter(|outcome| !OUTCOMES.contains(outcome)) {
            let known = OUTCOMES.join(", ");
            return Err(Trouble::Misused(format!(
                "--outcome: no call ends with `{outcome}`; use one of {known}"
            )));
        }
        Ok(Wanted {
            caller: filter.caller.clone(),
            tool: tool.transpose()?,
            outcome: filter.outcome.clone(),
            since_ms: filter.since.as_deref().map(|since| time_ms("--since", since)).transpose()?,
        })
    }

    /// Whether this line is one of them.
    pub(super) fn has(&self, line: &str) -> bool {
        let Ok(record) = serde_json::from_str::<Value>(line) else { return false };
        let text = |name: &str| record[name].as_str().unwrap_or_default();
        record["call_id"].is_string()
            && self.caller.as_deref().is_none_or(|caller| caller == text("caller"))
            && self.tool.as_ref().is_none_or(|tool| tool.is_match(text("tool")))
            && self.outcome.as_deref().is_none_or(|outcome| outcome == outcome_of(text("outcome")))
            && self.since_ms.is_none_or(|since| record["opened_at_ms"].as_i64().is_some_and(|at| at >= since))
    }
}

/// How a call ended; books of earlier versions have another word for one ending.
pub(super) fn outcome_of(word: &str) -> &str {
    if word == "crashed" { "unknown_after_crash" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"seq":1,"call_id":"c","caller":"local","tool":"git_push","outcome":"crashed","opened_at_ms":5}"#;

    fn has(filter: Filter) -> bool {
        Wanted::of(&filter).unwrap_or_else(|_| panic!("a good filter")).has(LINE)
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
        assert!(!has(Filter { since: some("1d"), ..Filter::default() }));
        let checkpoint = r#"{"seq":1,"checkpoint":{"why":"shutdown"},"written_at_ms":5}"#;
        assert!(!Wanted::of(&Filter::default()).unwrap_or_else(|_| panic!("good")).has(checkpoint));
        for wrong in [
            Filter { outcome: some("lost"), ..Filter::default() },
            Filter { since: some("then"), ..Filter::default() },
        ] {
            assert!(Wanted::of(&wrong).is_err(), "{wrong:?}");
        }
    }
}

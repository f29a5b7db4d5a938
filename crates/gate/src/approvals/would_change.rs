//! `WouldChange`: what a call would change, as the person is shown it who is asked about the call.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::Planned;

use super::visible::{beginning, visible_lines};

/// How much of a diff a person is shown, in bytes: some hundred lines.
const DIFF_SHOWN_BYTES_MAX: usize = 16 * 1024;

/// How much of it a client shows in its form, in bytes: whoever wants more looks at the approval.
const DIFF_IN_FORM_BYTES_MAX: usize = 4 * 1024;

/// What a dry run has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WouldChange {
    /// The plan that the call follows once it is allowed.
    pub plan_hash: Arc<str>,
    /// How many files it would change.
    pub files: usize,
    /// The beginning of the unified diff: secrets struck out, nothing in it that could drive a terminal or hide. Empty if
    /// nothing would change.
    pub diff: String,
    /// How many lines there are beyond that.
    pub lines_cut: usize,
}

impl WouldChange {
    /// As a dry run has found it, without secrets.
    pub(crate) fn of(planned: &Planned) -> WouldChange {
        let (diff, lines_cut) = beginning(&planned.diff, DIFF_SHOWN_BYTES_MAX);
        let diff = visible_lines(diff);
        WouldChange { plan_hash: planned.plan_hash.clone(), files: planned.changes.len(), diff, lines_cut }
    }

    /// What is said of it in a form; more of it is shown by a command, about the approval of this id.
    pub(super) fn in_form(&self, id: &str) -> String {
        let (diff, lines_cut) = beginning(&self.diff, DIFF_IN_FORM_BYTES_MAX);
        let more = match lines_cut + self.lines_cut {
            0 => String::new(),
            lines => format!("\n({lines} more lines; toolcrib approvals show {id} shows the first of them)"),
        };
        let diff = if diff.is_empty() { String::new() } else { format!(":\n{}", diff.trim_end()) };
        format!("\n{}{diff}{more}", self.summary())
    }

    /// In a few words.
    pub fn summary(&self) -> String {
        match self.files {
            0 => "its dry run changed nothing".to_owned(),
            1 => "it would change 1 file".to_owned(),
            files => format!("it would change {files} files"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn would_change(diff: &str) -> WouldChange {
        let changes = vec![("a".to_owned(), "changed")];
        WouldChange::of(&Planned { plan_hash: "p".into(), changes, is_cut: false, diff: diff.to_owned() })
    }

    #[test]
    fn a_diff_is_shown_as_it_is_but_for_what_hides() {
        for (diff, expected) in [
            ("-a\n+\tb\n", "-a\n+\tb\n"),
            ("+\u{202e}x\u{1b}[2J\r\n", "+\\u202ex\\u001b[2J\\u000d\n"),
            ("", ""),
        ] {
            assert_eq!(would_change(diff).diff, expected);
        }
    }

    #[test]
    fn what_is_cut_is_said() {
        let line = format!("+{}\n", "x".repeat(99));
        let of = |lines: usize| would_change(&line.repeat(lines));
        assert_eq!(of(162).lines_cut, 0);
        let long = of(200);
        assert_eq!((long.diff.lines().count(), long.lines_cut), (162, 38));
        assert!(
            long.in_form("k7")
                .ends_with("x\n(160 more lines; toolcrib approvals show k7 shows the first of them)")
        );
        // A line that does not fit is not shown in part.
        let one = would_change(&format!("{}\n", "x".repeat(DIFF_SHOWN_BYTES_MAX)));
        assert_eq!((one.diff.as_str(), one.lines_cut), ("", 1));
        assert_eq!(would_change("+x\n").in_form("k7"), "\nit would change 1 file:\n+x");
    }
}

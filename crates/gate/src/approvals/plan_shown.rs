//! The plan that a call would leave plan mode with, as the person is shown it who is asked about that. It stands beside the
//! arguments, so an answer is good for this plan alone.

use audit::Hash;
use redact::Redactor;

use super::record::Member;
use super::visible::{beginning, visible_lines};

/// What it is called among what stands beside arguments.
const PLAN: &str = "plan";

/// How much of it is kept to be shown, in bytes: all, unless what hides in it had to be written out.
const SHOWN_BYTES_MAX: usize = 64 * 1024;

/// How much of it a client shows in its form, in bytes: whoever wants more looks at the approval.
const IN_FORM_BYTES_MAX: usize = 16 * 1024;

impl Member {
    /// A plan: secrets struck out, nothing in it that could drive a terminal or hide.
    pub(super) fn plan(plan: &[u8], redactor: &Redactor) -> Member {
        let text = String::from_utf8_lossy(plan);
        let visible = visible_lines(&redactor.text(&text));
        let (shown, lines_cut) = beginning(&visible, SHOWN_BYTES_MAX);
        let more = if lines_cut > 0 { format!("({lines_cut} more lines)\n") } else { String::new() };
        Member { pointer: PLAN.to_owned(), sha256: Hash::of(plan), shown: format!("{shown}{more}") }
    }

    pub(super) fn is_plan(&self) -> bool {
        self.pointer == PLAN
    }

    /// What is said in a form of what stands beside the arguments of the approval of this id.
    pub(super) fn in_form(&self, id: &str) -> String {
        if !self.is_plan() {
            return format!("\n_meta: {}", self.shown);
        }
        let (plan, lines_cut) = beginning(&self.shown, IN_FORM_BYTES_MAX);
        let more = match lines_cut {
            0 => String::new(),
            lines => format!("\n({lines} more lines; toolcrib approvals show {id} shows them)"),
        };
        format!("\nthe plan:\n{}{more}", plan.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Member {
        Member::plan(text.as_bytes(), &Redactor::new(&redact::Config::default()))
    }

    #[test]
    fn a_plan_is_shown_as_it_is_laid_out_but_for_what_hides() {
        let shown = plan("# Plan\n\t1. \u{202e}Look\u{1b}[2J\n");
        assert_eq!(shown.shown, "# Plan\n\t1. \\u202eLook\\u001b[2J\n");
        assert_eq!(shown.in_form("k7"), "\nthe plan:\n# Plan\n\t1. \\u202eLook\\u001b[2J");
        let meta = Member { pointer: "_meta".to_owned(), ..plan("{}") };
        assert_eq!(meta.in_form("k7"), "\n_meta: {}");
    }

    #[test]
    fn what_is_cut_of_a_plan_is_said_and_bound_all_the_same() {
        let line = format!("{}\n", "x".repeat(99));
        let long = plan(&line.repeat(200));
        assert_eq!(long.shown, line.repeat(200));
        assert!(long.in_form("k7").ends_with("x\n(37 more lines; toolcrib approvals show k7 shows them)"));
        let hiding = |end: &str| plan(&format!("{}{end}", "\u{202e}\n".repeat(20_000)));
        assert!(hiding("").shown.ends_with("(10638 more lines)\n"), "{}", &hiding("").shown[65_500..]);
        assert_ne!(hiding("a").sha256, hiding("b").sha256);
        assert_eq!(hiding("a").shown, hiding("b").shown.replace("b", "a"));
    }
}

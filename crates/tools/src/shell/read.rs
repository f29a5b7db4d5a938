//! `ReadBgOutput`: what a background task has put out.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    ARTIFACT_READ, ARTIFACT_SEARCH, About, ArgumentRoles, BACKGROUND_READ, Context, Effect, Example, Need,
    OutputAsked, OutputPart, Structured, TaskOutput, Tool, ToolError,
};

use super::kill::unknown;
use super::list::Task;
use super::overwritten::{each_a_line, last_states};
use crate::plain_schema::{brief, plain};

/// The longest wait, in milliseconds: the least patient clients give up after a minute.
const WAIT_MS_MAX: u64 = 50_000;

/// How long a call waits for words that does not say how long.
const WAIT: Duration = Duration::from_secs(30);

/// Reads it.
#[derive(Debug)]
pub(crate) struct Read {
    /// What is shown at once.
    pub(crate) shown_bytes_max: usize,
}

/// The arguments of `ReadBgOutput`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The number of the task.
    task_id: u32,
    /// Show all that is kept, and not only what is new since the last call.
    #[serde(default)]
    all: bool,
    /// Show it from this byte on, as an answer names it that leaves something out.
    from: Option<u64>,
    /// Wait so many milliseconds at most, until the task ends.
    #[schemars(range(max = WAIT_MS_MAX))]
    wait_ms: Option<u64>,
    /// Or until a line has this text. `wait_ms` is 30000 then, unless it is said.
    until: Option<String>,
}

/// What it has put out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = brief)]
pub(crate) struct Seen {
    /// The task.
    #[serde(flatten)]
    task: Task,
    /// Its output, stdout and stderr in order.
    output: String,
    /// Bytes of it that are left out before; with `from` those that follow.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out_bytes: u64,
    /// The `from` that shows them, as far as they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_from: Option<u64>,
    /// The artifact that holds them, once the task is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
    /// Whether a line had the text of `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_met: Option<bool>,
    /// With `from`: bytes from there on that are not kept any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    gone_bytes: u64,
    #[serde(skip)]
    is_page: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Seen {
    /// The end of it, if it is too long: what is newest matters most. Of a line that is written over it is the last state.
    fn end_of(task: Task, output: TaskOutput, bytes_max: usize) -> Seen {
        let TaskOutput { text, start, missed, artifact } = output;
        let mut text = last_states(&text);
        let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
        let from = match text[from..].find('\n').filter(|_| from > 0) {
            Some(end) if end < bytes_max / 2 => from + end + 1,
            _ => from,
        };
        let output = text.split_off(from);
        let left_out_bytes = missed + from as u64;
        Seen {
            task,
            output,
            left_out_bytes,
            left_out_from: (from > 0).then_some(start),
            artifact: artifact.filter(|_| left_out_bytes > 0),
            until_met: None,
            gone_bytes: 0,
            is_page: false,
        }
    }

    /// Its beginning, with where to go on: all of it, each state of a line as a line.
    fn page_of(task: Task, output: TaskOutput, bytes_max: usize) -> Seen {
        let TaskOutput { mut text, start, missed: gone_bytes, .. } = output;
        let end = text.floor_char_boundary(bytes_max);
        let end = match text[..end].rfind(['\n', '\r']).filter(|_| end < text.len()) {
            Some(line) if line > bytes_max / 2 => line + 1,
            _ => end,
        };
        let left_out_bytes = (text.len() - end) as u64;
        text.truncate(end);
        let left_out_from = (left_out_bytes > 0).then_some(start + end as u64);
        Seen {
            task,
            output: each_a_line(&text).into_owned(),
            left_out_bytes,
            left_out_from,
            artifact: None,
            until_met: None,
            gone_bytes,
            is_page: true,
        }
    }

    /// What stands in the place of what is left out before.
    fn before(&self) -> Option<String> {
        if self.gone_bytes > 0 {
            return Some(format!("[{} bytes before are not kept any more]", self.gone_bytes));
        }
        let count = Some(self.left_out_bytes).filter(|count| *count > 0 && !self.is_page)?;
        let how = match (&self.artifact, self.left_out_from) {
            (Some(id), _) => format!(": {ARTIFACT_READ} and {ARTIFACT_SEARCH} with id: \"{id}\" show them"),
            (None, Some(from)) => format!(": from: {from} shows those that are kept"),
            (None, None) if self.task.runs() => {
                "; once the task has ended by itself, this names what shows them".to_owned()
            }
            (None, None) => String::new(),
        };
        Some(format!("[{count} bytes before are left out{how}]"))
    }

    fn behind(&self) -> Option<String> {
        let from = self.left_out_from.filter(|_| self.is_page)?;
        Some(format!("[{} bytes follow: from: {from} shows them]", self.left_out_bytes))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = self.output.trim_end_matches('\n');
        let output = if output.is_empty() { "(no new output)" } else { output };
        let unmet = (self.until_met == Some(false)).then(|| match self.task.runs() {
            true => "[no line with the text of `until` within the wait]".to_owned(),
            false => "[it has ended, and no line has the text of `until`]".to_owned(),
        });
        let parts = [Some(self.task.header()), self.before(), Some(output.to_owned()), self.behind(), unmet];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }
}

impl Input {
    /// Which part of the output is asked for.
    fn part(&self) -> Result<OutputPart, ToolError> {
        let wrong = |why: &str| Err(ToolError::new("invalid_arguments", why));
        match (self.all, self.from) {
            _ if self.until.as_deref() == Some("") => wrong(
                "`until` is empty, and every line has that: give a text, or `wait_ms` alone to wait for the end",
            ),
            (_, Some(_)) if self.all || self.until.is_some() => {
                wrong("`from` shows what is there already, so it goes with neither `all` nor `until`")
            }
            (_, Some(from)) => Ok(OutputPart::From(from)),
            (true, None) => Ok(OutputPart::All),
            (false, None) => Ok(OutputPart::New),
        }
    }
}

impl Tool for Read {
    const ABOUT: About = About {
        name: BACKGROUND_READ,
        title: "Read a background task's output",
        summary: "Show how a background task is doing and the end of what it has put out since the last call (or of `all` that \
                  is kept). With `until` it waits for a line with that text, such as \"listening\", with `wait_ms` alone \
                  for the task's end.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["run_tests"],
        needs: &[Need::Tasks],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[
            Example { title: "What is new", arguments: r#"{"task_id": 3}"# },
            Example {
                title: "Until it is ready",
                arguments: r#"{"task_id": 3, "until": "listening on", "wait_ms": 20000}"#,
            },
        ],
    };
    type Input = Input;
    type Output = Structured<Seen>;

    async fn run(&self, input: Input, cx: &Context) -> Result<Self::Output, ToolError> {
        let part = input.part()?;
        let Input { task_id, wait_ms, until, .. } = input;
        let until = until.as_deref();
        let unsaid = if until.is_some() { WAIT } else { Duration::ZERO };
        let within = wait_ms.map_or(unsaid, |wait_ms| Duration::from_millis(wait_ms.min(WAIT_MS_MAX)));
        let read = cx.tasks()?.read(task_id, OutputAsked { part, until, within }).await?;
        let (seen, output) = read.ok_or_else(|| unknown(task_id))?;
        let until_met = until.map(|words| output.text.lines().any(|line| line.contains(words)));
        let of = if matches!(part, OutputPart::From(_)) { Seen::page_of } else { Seen::end_of };
        let shown = of(Task::of(&seen), output, self.shown_bytes_max);
        Ok(Structured(Seen { until_met, ..shown }))
    }
}

#[cfg(test)]
mod tests {
    use tool_api::TaskSeen;

    use super::*;

    #[track_caller]
    fn check(text: &str, missed: u64, expected: &str) {
        check_in(true, None, text, missed, expected);
    }

    fn task(is_over: bool) -> Task {
        Task::of(&TaskSeen {
            number: 3,
            status: if is_over { "exited 0" } else { "running" }.to_owned(),
            is_over,
            runtime: Duration::from_secs(12),
            arguments: "{}".to_owned(),
        })
    }

    fn output(text: &str, missed: u64) -> TaskOutput {
        TaskOutput { text: text.to_owned(), start: 100, missed, artifact: None }
    }

    #[track_caller]
    fn check_in(is_over: bool, artifact: Option<&str>, text: &str, missed: u64, expected: &str) {
        let output = TaskOutput { artifact: artifact.map(str::to_owned), ..output(text, missed) };
        assert_eq!(Seen::end_of(task(is_over), output, 10).to_string(), expected);
    }

    #[test]
    fn the_end_of_what_is_new_is_shown() {
        check("", 0, "task 3 · exited 0 · 12s\n(no new output)");
        check("a\nb\n", 0, "task 3 · exited 0 · 12s\na\nb");
        check("a", 5, "task 3 · exited 0 · 12s\n[5 bytes before are left out]\na");
        let kept = ": from: 100 shows those that are kept";
        check(
            "0123456\n89abcdef",
            1,
            &format!("task 3 · exited 0 · 12s\n[9 bytes before are left out{kept}]\n89abcdef"),
        );
        check_in(true, Some("i"), "a", 0, "task 3 · exited 0 · 12s\na");
        let shown = "task 3 · exited 0 · 12s\n[5 bytes before are left out: artifact_read and artifact_search with id: \"i\" show them]\na";
        check_in(true, Some("i"), "a", 5, shown);
        let runs = "task 3 · running · 12s\n[5 bytes before are left out; once the task has ended by itself, this names what shows them]\na";
        check_in(false, None, "a", 5, runs);
        check("10%\r20%\r100%\r\nok", 0, "task 3 · exited 0 · 12s\n100%\nok");
        check("10%\r20%", 5, "task 3 · exited 0 · 12s\n[5 bytes before are left out]\n20%");
        check("aéééééé", 0, &format!("task 3 · exited 0 · 12s\n[3 bytes before are left out{kept}]\nééééé"));
    }

    #[test]
    fn what_was_left_out_is_read_on_from_its_place() {
        for (text, gone, expected) in [
            ("0123456\n8", 0, "0123456\n8"),
            ("0123456\n89ab", 0, "0123456\n[4 bytes follow: from: 108 shows them]"),
            ("1%\r2%\r\nab", 0, "1%\n2%\nab"),
            ("1%\r2%\r3%\r4%", 0, "1%\n2%\n3%\n[2 bytes follow: from: 109 shows them]"),
            ("aééééé", 0, "aéééé\n[2 bytes follow: from: 109 shows them]"),
            ("a", 7, "[7 bytes before are not kept any more]\na"),
        ] {
            let page = Seen::page_of(task(false), output(text, gone), 10);
            assert_eq!(page.to_string(), format!("task 3 · running · 12s\n{expected}"));
        }
    }

    #[test]
    fn what_was_waited_for_in_vain_is_said() {
        for (is_over, met, expected) in [
            (false, Some(true), "a"),
            (false, Some(false), "a\n[no line with the text of `until` within the wait]"),
            (true, Some(false), "a\n[it has ended, and no line has the text of `until`]"),
        ] {
            let seen = Seen { until_met: met, ..Seen::end_of(task(is_over), output("a", 0), 10) };
            assert!(seen.to_string().ends_with(&format!("s\n{expected}")), "{seen}");
        }
    }

    #[test]
    fn what_goes_with_nothing_else_is_refused() {
        let part = |arguments: &str| {
            let input: Input = serde_json::from_str(arguments).expect("as the schema says");
            input.part().map_err(|error| error.to_string())
        };
        assert_eq!(part(r#"{"task_id": 3}"#), Ok(OutputPart::New));
        assert_eq!(part(r#"{"task_id": 3, "all": true, "until": "x"}"#), Ok(OutputPart::All));
        assert_eq!(part(r#"{"task_id": 3, "from": 7}"#), Ok(OutputPart::From(7)));
        for (beside, why) in [
            (r#""until": """#, "`until` is empty"),
            (r#""from": 7, "until": "x""#, "neither `all` nor `until`"),
            (r#""from": 7, "all": true"#, "neither `all` nor `until`"),
        ] {
            let refused = part(&format!(r#"{{"task_id": 3, {beside}}}"#));
            assert!(refused.as_ref().is_err_and(|said| said.contains(why)), "{beside}: {refused:?}");
        }
    }
}

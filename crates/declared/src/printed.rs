//! `Printed`: what a tool's program has printed, and the result or the error that this is. The protocol is the simplest there is:
//! one JSON value on stdout, and exit code 0.

use serde_json::{Value, json};
use tool_api::{Chunk, Ended, Exit, Limit, PlainText, Process, ToolError};

use crate::told::Told;

/// The most that a program says on stdout. A result of that length fills a model's whole context several times.
pub(crate) const OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The code of what is no result.
pub(crate) const INVALID_OUTPUT: &str = "invalid_output";

/// How much of the end of stderr an error repeats.
const TOLD_BYTES_MAX: usize = 2 * 1024;
const TOLD_LINES_MAX: usize = 20;

/// What a program printed, and how it ended.
pub(crate) struct Printed {
    pub(crate) stdout: Vec<u8>,
    /// The end of it.
    stderr: Vec<u8>,
    ended: Ended,
}

impl Printed {
    /// Waits for the program's end; what it tells on the way is passed on.
    ///
    /// # Errors
    /// It prints too much, which ends it.
    pub(crate) async fn by(
        mut process: Process<'_>,
        tool: &str,
        told: &mut Told<'_>,
    ) -> Result<Printed, ToolError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Ok(Some(chunk)) = process.next().await {
            match chunk {
                Chunk::Stdout(bytes) if stdout.len() + bytes.len() > OUTPUT_BYTES_MAX => {
                    // Dropped with this, and with everything that it has started.
                    return Err(too_long(tool));
                }
                Chunk::Stdout(bytes) => stdout.extend_from_slice(&bytes),
                Chunk::Told(bytes) => told.take(&bytes).await,
                Chunk::Stderr(bytes) => {
                    told.print(&bytes).await;
                    stderr.extend_from_slice(&bytes);
                    let over = stderr.len().saturating_sub(TOLD_BYTES_MAX);
                    stderr.drain(..over);
                }
            }
        }
        let ended = process.wait().await;
        Ok(Printed { stdout, stderr, ended })
    }

    /// The one JSON value that a program prints which has done its work.
    ///
    /// # Errors
    /// It ended otherwise, or printed something else.
    pub(crate) fn value(&self, tool: &str) -> Result<Value, ToolError> {
        if let Some(limit) = self.ended.limit.filter(|limit| limit.ends_programs()) {
            let code = if limit == Limit::Time { "timeout" } else { "limit_reached" };
            let limit = limit.name();
            let why = format!("the program of `{tool}` was ended by its limit of {limit}");
            return Err(self.error(code, &why, json!({ "limit": limit })));
        }
        let (how, details) = match self.ended.exit {
            Exit::Code(0) => return self.json(tool),
            Exit::Code(code) => (format!("exited with code {code}"), json!({ "exit_code": code })),
            Exit::Signal(signal) => (format!("was ended by signal {signal}"), json!({ "signal": signal })),
            Exit::Lost => ("is gone, and nobody knows how it ended".to_owned(), json!({})),
        };
        Err(self.error("tool_failed", &format!("the program of `{tool}` {how}"), details))
    }

    fn json(&self, tool: &str) -> Result<Value, ToolError> {
        if self.stdout.trim_ascii().is_empty() {
            let why = format!("the program of `{tool}` printed nothing on stdout, where its result belongs");
            return Err(self.error(INVALID_OUTPUT, &why, json!({})));
        }
        serde_json::from_slice(&self.stdout).map_err(|error| {
            let why = format!("the program of `{tool}` printed no JSON value on stdout: {error}");
            self.error(INVALID_OUTPUT, &why, json!({}))
        })
    }

    /// With the last lines that the program said of it.
    fn error(&self, code: &'static str, why: &str, mut details: Value) -> ToolError {
        let told = last_lines(&self.stderr);
        let message = if told.is_empty() { why.to_owned() } else { format!("{why}; it said last:\n{told}") };
        if !told.is_empty() {
            details["stderr"] = told.into();
        }
        ToolError::new(code, message).with_details(details)
    }
}

fn too_long(tool: &str) -> ToolError {
    let mib = OUTPUT_BYTES_MAX / (1024 * 1024);
    let message = format!(
        "the program of `{tool}` printed more than {mib} MiB on stdout and was ended; ask for less at once"
    );
    ToolError::new("result_too_large", message)
}

/// The end of what a program said, as plain text: what draws on terminals is left out.
fn last_lines(bytes: &[u8]) -> String {
    let plain = PlainText::of(bytes);
    let plain = plain.trim_start_matches('\u{fffd}');
    let lines: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(TOLD_LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exit: Exit, stdout: &str, stderr: &str, expected: Result<Value, (&str, &str)>) {
        let ended = Ended::plain(exit, None);
        let printed = Printed { stdout: stdout.into(), stderr: stderr.into(), ended };
        match (printed.value("t"), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected),
            (Err(error), Err((code, message))) => {
                assert_eq!((&**error.code(), error.to_string().as_str()), (code, message));
            }
            (found, expected) => panic!("{found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_result_is_one_json_value_of_a_program_that_ends_well() {
        let (good, invalid) = (Exit::Code(0), "invalid_output");
        check(good, " {\"a\":1}\n", "noise", Ok(json!({ "a": 1 })));
        check(good, "\"x\"", "", Ok(json!("x")));
        check(good, "null", "", Ok(Value::Null));
        let nothing = "the program of `t` printed nothing on stdout, where its result belongs";
        check(good, "", "", Err((invalid, nothing)));
        check(good, " \n", "why\n", Err((invalid, &format!("{nothing}; it said last:\nwhy"))));
        let none = |why: &str| format!("the program of `t` printed no JSON value on stdout: {why}");
        check(good, "hello", "", Err((invalid, &none("expected value at line 1 column 1"))));
        check(good, "{\"a\":", "", Err((invalid, &none("EOF while parsing a value at line 1 column 5"))));
        check(good, "{} {}", "", Err((invalid, &none("trailing characters at line 1 column 4"))));
        check(good, "NaN", "", Err((invalid, &none("expected value at line 1 column 1"))));
        let deep = "[".repeat(1000);
        check(good, &deep, "", Err((invalid, &none("recursion limit exceeded at line 1 column 128"))));
    }

    #[test]
    fn a_program_that_ends_otherwise_has_failed_whatever_it_printed() {
        check(Exit::Code(3), "{}", "", Err(("tool_failed", "the program of `t` exited with code 3")));
        let signal = "the program of `t` was ended by signal 9; it said last:\nkilled";
        check(Exit::Signal(9), "{}", "killed", Err(("tool_failed", signal)));
    }

    #[test]
    fn what_it_said_last_is_plain_text_of_a_few_lines() {
        for (stderr, expected) in
            [("\u{1b}[31mred\u{1b}[0m\r\nnext\u{7}\u{202e}", "red\nnext"), ("a\n\n\nb\n", "a\nb"), ("", "")]
        {
            assert_eq!(last_lines(stderr.as_bytes()), expected, "{stderr:?}");
        }
        let many: String = (0..100).map(|nth| format!("line {nth}\n")).collect();
        let told = last_lines(many.as_bytes());
        assert!(told.starts_with("line 80\n") && told.ends_with("line 99"), "{told}");
        assert_eq!(last_lines(&[b"\xa9", "é".as_bytes()].concat()), "é");
    }
}

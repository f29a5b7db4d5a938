//! `Printed`: what a tool's program has printed, and the result or the error that this is. The protocol is the simplest there is:
//! one JSON value on stdout, and exit code 0.

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tool_api::{Chunk, Ended, Exit, Limit, Process, ToolError};

use crate::last_said::LastSaid;
use crate::told::Told;

/// The most that a program says on stdout. A result of that length fills a model's whole context several times.
pub(crate) const OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The code of what is no result.
pub(crate) const INVALID_OUTPUT: &str = "invalid_output";

/// What a program printed, and how it ended.
pub(crate) struct Printed {
    pub(crate) stdout: Vec<u8>,
    /// The last lines of stderr.
    last_said: String,
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
        let (mut stdout, mut last_said) = (Vec::new(), LastSaid::to(told.secrets()));
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
                    last_said.push(&bytes);
                }
            }
        }
        let ended = process.wait().await;
        Ok(Printed { stdout, last_said: last_said.lines(), ended })
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
        let (how, mut details) = match self.ended.exit {
            Exit::Code(0) => return self.json(tool),
            Exit::Code(code) => (format!("exited with code {code}"), json!({ "exit_code": code })),
            Exit::Signal(signal) => (format!("was ended by signal {signal}"), json!({ "signal": signal })),
            Exit::Lost => ("is gone, and nobody knows how it ended".to_owned(), json!({})),
        };
        let mut why = format!("the program of `{tool}` {how}");
        if let Some(limit) = self.ended.limit.map(Limit::name) {
            why = format!("{why}; it had reached its limit of {limit}");
            details["limit"] = limit.into();
        }
        Err(self.error("tool_failed", &why, details))
    }

    fn json(&self, tool: &str) -> Result<Value, ToolError> {
        if self.stdout.trim_ascii().is_empty() {
            let why = format!("the program of `{tool}` printed nothing on stdout, where its result belongs");
            return Err(self.error(INVALID_OUTPUT, &why, json!({})));
        }
        serde_json::from_slice(&self.stdout).map_err(|error| {
            let why = format!("the program of `{tool}` printed {}", self.no_value(&error));
            self.error(INVALID_OUTPUT, &why, json!({}))
        })
    }

    /// What it printed in place of one value.
    fn no_value(&self, error: &serde_json::Error) -> String {
        let (line, column) = (error.line(), error.column());
        let mut values = serde_json::Deserializer::from_slice(&self.stdout).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                format!(
                    "more than one JSON value on stdout: what stands at line {line} column {column} is beyond the first"
                )
            }
            _ if error.is_eof() => {
                format!("half a JSON value on stdout: it ends at line {line} column {column}")
            }
            _ => format!("no JSON value on stdout: {error}"),
        }
    }

    /// With the last lines that the program said of it.
    fn error(&self, code: &'static str, why: &str, mut details: Value) -> ToolError {
        let told = self.last_said.as_str();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exit: Exit, stdout: &str, stderr: &str, expected: Result<Value, (&str, &str)>) {
        check_with(Ended::plain(exit, None), stdout, stderr, expected);
    }

    #[track_caller]
    fn check_with(ended: Ended, stdout: &str, stderr: &str, expected: Result<Value, (&str, &str)>) {
        let printed = Printed { stdout: stdout.into(), last_said: stderr.into(), ended };
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
        check(good, " \n", "why", Err((invalid, &format!("{nothing}; it said last:\nwhy"))));
        let none = |why: &str| format!("the program of `t` printed no JSON value on stdout: {why}");
        let half = |why: &str| format!("the program of `t` printed half a JSON value on stdout: it {why}");
        let more = |why: &str| {
            format!(
                "the program of `t` printed more than one JSON value on stdout: what {why} is beyond the first"
            )
        };
        check(good, "hello", "", Err((invalid, &none("expected value at line 1 column 1"))));
        check(good, "{\"a\":", "", Err((invalid, &half("ends at line 1 column 5"))));
        check(good, "{} {}", "", Err((invalid, &more("stands at line 1 column 4"))));
        check(good, "NaN", "", Err((invalid, &none("expected value at line 1 column 1"))));
        check(
            good,
            "[\"a\nb",
            "",
            Err((
                invalid,
                &none("control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0"),
            )),
        );
        let deep = "[".repeat(1000);
        check(good, &deep, "", Err((invalid, &none("recursion limit exceeded at line 1 column 128"))));
    }

    #[test]
    fn a_program_that_ends_otherwise_has_failed_whatever_it_printed() {
        check(Exit::Code(3), "{}", "", Err(("tool_failed", "the program of `t` exited with code 3")));
        let reached = |code| Ended::plain(Exit::Code(code), Some(Limit::Processes));
        let why = "the program of `t` exited with code 3; it had reached its limit of processes";
        check_with(reached(3), "{}", "", Err(("tool_failed", why)));
        check_with(reached(0), "{}", "", Ok(json!({})));
        let signal = "the program of `t` was ended by signal 9; it said last:\nkilled";
        check(Exit::Signal(9), "{}", "killed", Err(("tool_failed", signal)));
    }
}

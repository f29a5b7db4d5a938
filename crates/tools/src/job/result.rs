//! `job_result`: gives what came of a job, as its call would have.

use std::time::Duration;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, JOB_RESULT, JOB_WAIT, Outcome, Output, Tool, ToolError,
};

use super::{gone, jobs};
use crate::plain_schema::plain;

/// Gives what came of a job.
#[derive(Debug)]
pub(crate) struct Result;

/// The arguments of `job_result`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The job, as the answer says that began it.
    job_id: String,
}

/// What another tool gave. It promises no structure, since that is the other's.
pub(crate) struct PassedOn(Outcome);

impl Output for PassedOn {
    const SCHEMA: Option<fn() -> Schema> = None;

    fn into_outcome(self) -> Outcome {
        self.0
    }
}

impl Tool for Result {
    const ABOUT: About = About {
        name: JOB_RESULT,
        title: "Result of a job",
        summary: "Give what came of a job that is over, as its call would have given it: its result, or why it failed. \
                  Which jobs there are, the answers say that began them; whether one is over, `job_wait` says. A result \
                  is kept for a day, unless newer ones need its room.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example {
            title: "What came of a job",
            arguments: r#"{"job_id": "0123456789abcdef0123456789abcdef"}"#,
        }],
    };
    type Input = Input;
    type Output = PassedOn;

    async fn run(&self, Input { job_id }: Input, cx: &Context) -> std::result::Result<PassedOn, ToolError> {
        let jobs = jobs(cx)?;
        if let Some(done) = jobs.result(&job_id).await {
            return done.map(PassedOn);
        }
        let seen = jobs.wait(&job_id, Duration::ZERO).await.ok_or_else(gone)?;
        let why = format!("the job is {}: call {JOB_WAIT} until it is over", seen.state);
        Err(ToolError::new("job_not_over", why))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::{Workspace, call};
    use tool_api::builtin;

    use super::*;

    fn check(arguments: &str, expected: Expect) {
        expected.assert_eq(&call(&*builtin(Result), &Workspace::new(""), arguments));
    }

    #[test]
    fn what_came_of_a_job_is_passed_on() {
        check(
            r#"{"job_id": "0123456789abcdef0123456789abcdef"}"#,
            expect![[r#"
            text: done¶
        "#]],
        );
        check(
            r#"{"job_id": "failed"}"#,
            expect![[r#"
            error not_found: there is no file a.txt
        "#]],
        );
    }

    #[test]
    fn a_job_that_is_not_over_or_not_the_callers_has_none() {
        check(
            r#"{"job_id": "running"}"#,
            expect![[r#"
            error job_not_over: the job is running: call job_wait until it is over
        "#]],
        );
        check(
            r#"{"job_id": "of_bob"}"#,
            expect![[r#"
            error job_not_found: no job of this id is kept for this caller: it may have been too long ago; call its tool again
        "#]],
        );
        check(
            "{}",
            expect![[r#"
            refused : "job_id" is a required property
        "#]],
        );
    }
}

//! `job_wait`: waits until a job is over, and has its client asked what the job asks meanwhile.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_api::{
    About, ArgumentRoles, Context, Effect, Example, JOB_RESULT, JOB_WAIT, JobAsks, Outcome, Output, Payload,
    Structured, Tool, ToolError, shows_forms,
};

use super::{gone, jobs};
use crate::plain_schema::plain;

/// How long a call waits that does not say how long: half of what the least patient clients wait for an answer.
const WAIT: Duration = Duration::from_secs(30);

/// The longest that a call waits: those clients give up after a minute.
const WAIT_MAX: Duration = Duration::from_secs(50);

/// [`WAIT_MAX`] in milliseconds.
const WAIT_MAX_MS: u64 = 50_000;

/// What is to come back with answers to what a job asks: this, and which of its questions it was.
const ASKED: &str = "asked ";

/// Waits for a job.
#[derive(Debug)]
pub(crate) struct Wait;

/// The arguments of `job_wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The job, as the answer says that began it.
    job_id: String,
    /// How long to wait at most, in milliseconds. Default: 30000.
    #[schemars(range(max = WAIT_MAX_MS))]
    timeout_ms: Option<u64>,
}

/// How the job is doing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Seen {
    /// Which job.
    job_id: String,
    /// Its state.
    state: &'static str,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// True if nothing will change any more.
    is_over: bool,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { job_id, state, message, is_over } = self;
        write!(f, "The job {job_id}: {state}")?;
        message.iter().try_for_each(|message| write!(f, " ({message})"))?;
        let on = match is_over {
            true => format!("Call {JOB_RESULT} for what came of it."),
            false => format!("Call {JOB_WAIT} again to go on waiting."),
        };
        write!(f, ". {on}")
    }
}

/// What comes of waiting.
pub(crate) enum Waited {
    /// The job asks its client something.
    Asks(JobAsks),
    Seen(Seen),
}

impl Output for Waited {
    const SCHEMA: Option<fn() -> Schema> = Structured::<Seen>::SCHEMA;

    fn into_outcome(self) -> Outcome {
        match self {
            Waited::Asks(JobAsks { requests, number }) => Outcome::of(Payload::InputRequired {
                requests: Some(requests),
                state: Some(format!("{ASKED}{number}").into()),
                hold: None,
            }),
            Waited::Seen(seen) => Structured(seen).into_outcome(),
        }
    }
}

/// What the client answers, and to which question.
fn answered(cx: &Context) -> Option<(u64, Bytes)> {
    let input = cx.input.as_ref()?;
    let number = input.state.as_deref()?.strip_prefix(ASKED)?.parse().ok()?;
    // Who brings no answers answers nothing, which is enough for what asks nothing.
    Some((number, input.responses.clone().unwrap_or_else(|| Bytes::from_static(b"{}"))))
}

/// Whether all that is asked are forms, which is what a client that shows some can be handed. So is what asks nothing and only
/// wants to go on.
fn are_forms(requests: &[u8]) -> bool {
    let is_form = |asked: &Value| asked["method"] == "elicitation/create" && asked["params"]["mode"] != "url";
    serde_json::from_slice::<Map<String, Value>>(requests).is_ok_and(|all| all.values().all(is_form))
}

impl Tool for Wait {
    const ABOUT: About = About {
        name: JOB_WAIT,
        title: "Wait for a job",
        summary: "Wait until a job is over: a call that goes on after its answer, which names its `job_id`. Says how the job \
                  is doing, at once if it is over or waits for somebody, else after `timeout_ms` (30000 unless it is said, \
                  50000 at most); call it again as long as it is not over. Then call `job_result`.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["read_workspace"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example {
            title: "Ten seconds",
            arguments: r#"{"job_id": "0123456789abcdef0123456789abcdef", "timeout_ms": 10000}"#,
        }],
    };
    type Input = Input;
    type Output = Waited;

    async fn run(
        &self,
        Input { job_id, timeout_ms }: Input,
        cx: &Context,
    ) -> Result<Self::Output, ToolError> {
        let longest = timeout_ms.map_or(WAIT, Duration::from_millis).min(WAIT_MAX);
        let jobs = jobs(cx)?;
        if let Some((number, responses)) = answered(cx) {
            jobs.answer(&job_id, number, responses).await;
        }
        let seen = jobs.wait(&job_id, longest).await.ok_or_else(gone)?;
        if !seen.is_over && shows_forms(&cx.client.capabilities) {
            // Who waits for a job is its client as far as it is concerned: nobody else may be there any more.
            let asks = jobs.asked(&job_id).await.filter(|asks| are_forms(&asks.requests));
            if let Some(asks) = asks {
                return Ok(Waited::Asks(asks));
            }
        }
        Ok(Waited::Seen(Seen { job_id, state: seen.state, message: seen.message, is_over: seen.is_over }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::{Workspace, call};
    use tool_api::builtin;

    use super::*;

    fn check(arguments: &str, expected: Expect) {
        expected.assert_eq(&call(&*builtin(Wait), &Workspace::new(""), arguments));
    }

    #[test]
    fn a_job_is_waited_for() {
        check(
            r#"{"job_id": "0123456789abcdef0123456789abcdef"}"#,
            expect![[r#"
            text: The job 0123456789abcdef0123456789abcdef: succeeded. Call job_result for what came of it.¶
            structured: {"job_id":"0123456789abcdef0123456789abcdef","state":"succeeded","is_over":true}
        "#]],
        );
        check(
            r#"{"job_id": "running", "timeout_ms": 0}"#,
            expect![[r#"
            text: The job running: running (half). Call job_wait again to go on waiting.¶
            structured: {"job_id":"running","state":"running","message":"half","is_over":false}
        "#]],
        );
    }

    #[test]
    fn what_a_job_asks_its_client_is_asked() {
        check(
            r#"{"job_id": "asks"}"#,
            expect![[r#"
                asks: {"k":{"method":"elicitation/create"}} asked 7
            "#]],
        );
    }

    #[test]
    fn what_a_client_that_shows_forms_need_not_be_able_to_answer_is_not_asked() {
        check(
            "{\"job_id\": \"asks_roots\"}",
            expect![[r#"
            text: The job asks_roots: input_required. Call job_wait again to go on waiting.¶
            structured: {"job_id":"asks_roots","state":"input_required","is_over":false}
        "#]],
        );
        for (requests, expected) in [
            (r#"{"k":{"method":"elicitation/create","params":{"mode":"form"}}}"#, true),
            (r#"{"k":{"method":"elicitation/create","params":{"mode":"url"}}}"#, false),
            (r#"{"k":{"method":"sampling/createMessage"}}"#, false),
            ("{}", true),
            ("no JSON", false),
        ] {
            assert_eq!(are_forms(requests.as_bytes()), expected, "{requests}");
        }
    }

    #[test]
    fn what_is_not_the_callers_is_not_there() {
        check(
            r#"{"job_id": "of_bob"}"#,
            expect![[r#"
            error job_not_found: no job of this id is kept for this caller: it may have been too long ago; call its tool again
        "#]],
        );
        check(
            r#"{"job_id": "running", "timeout_ms": 50001}"#,
            expect![[r#"
            refused /timeout_ms: 50001 is greater than the maximum of 50000
        "#]],
        );
        check(
            r#"{"job_id": "running", "timeout_ms": -1}"#,
            expect![[r#"
            refused /timeout_ms: -1 is less than the minimum of 0
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

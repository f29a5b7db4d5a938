//! Problem details (RFC 9457): the form of every error over HTTP that is no message of JSON-RPC.

use std::borrow::Cow;

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde::Serialize;
use serde_json::{Map, Value};

use super::response::{Answer, whole};

/// The media type.
const KIND: &str = "application/problem+json";

/// Why something was not done. Its type is `about:blank`: the code tells more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Problem {
    title: &'static str,
    #[serde(serialize_with = "number")]
    status: StatusCode,
    /// For people.
    detail: String,
    /// For programs.
    code: Cow<'static, str>,
    /// True if the same may be done a while later.
    pub(super) retryable: bool,
    /// What belongs to the code.
    #[serde(flatten)]
    facts: Map<String, Value>,
    #[serde(skip)]
    retry_after_ms: Option<u64>,
}

impl Problem {
    /// One that is known by its status alone; the code is the name of that.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error");
        Problem {
            title,
            status,
            detail: detail.into(),
            code: title.to_ascii_lowercase().replace(' ', "_").into(),
            retryable: matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE),
            facts: Map::new(),
            retry_after_ms: None,
        }
    }

    /// What was sent means nothing.
    pub(super) fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The same with this code.
    pub(super) fn with_code(self, code: impl Into<Cow<'static, str>>) -> Problem {
        Problem { code: code.into(), ..self }
    }

    /// The same with this fact, if it is one.
    pub(super) fn with(mut self, name: &str, fact: impl Into<Value>) -> Problem {
        let fact = fact.into();
        if !fact.is_null() {
            self.facts.insert(name.to_owned(), fact);
        }
        self
    }

    /// The same, which may be tried again after a while.
    pub(super) fn after(self, retry_after_ms: u64) -> Problem {
        Problem { retryable: true, retry_after_ms: Some(retry_after_ms), ..self }
            .with("retry_after_ms", retry_after_ms)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Adds to an answer that tells of it what belongs in the head.
    pub(super) fn mark(&self, answer: &mut Answer) {
        if let Some(wait_ms) = self.retry_after_ms {
            let wait_s = wait_ms.div_ceil(1_000).max(1);
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait_s));
        }
    }

    /// As an answer.
    pub(super) fn answer(&self) -> Answer {
        let text = serde_json::to_vec(self).expect("texts and numbers are JSON");
        let mut answer = whole(self.status, KIND, text);
        self.mark(&mut answer);
        answer
    }
}

impl From<Problem> for Box<Answer> {
    fn from(problem: Problem) -> Box<Answer> {
        Box::new(problem.answer())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_says_what_and_why() {
        let plain = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed here");
        let named =
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "slower").with_code("rate_limited").after(1_500);
        for (problem, expected) in [
            (
                plain,
                json!({ "title": "Method Not Allowed", "status": 405, "detail": "only GET is allowed here",
                        "code": "method_not_allowed", "retryable": false }),
            ),
            (
                named.with("rule_id", Value::Null).with("limit", "limits.rate"),
                json!({ "title": "Too Many Requests", "status": 429, "detail": "slower", "code": "rate_limited",
                        "retryable": true, "retry_after_ms": 1_500, "limit": "limits.rate" }),
            ),
        ] {
            assert_eq!(json!(problem), expected);
            let answer = problem.answer();
            assert_eq!(answer.status(), problem.status);
            assert_eq!(answer.headers()["content-type"], KIND);
            let wait = answer.headers().get(RETRY_AFTER).map(|wait| wait.to_str().expect("a number"));
            assert_eq!(wait, problem.retry_after_ms.map(|_| "2"));
        }
    }
}

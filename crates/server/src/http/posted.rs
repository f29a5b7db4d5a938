//! The body of a request: one JSON object with known members.

use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use wire::message::Text;

use super::answer::Answer;
use super::endpoint::Endpoint;
use super::intake;
use super::problem::Problem;

/// Longest body of a request that calls no tool, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Reads a body of at most so many bytes; `sample` shows how one looks.
///
/// # Errors
/// The answer to one that is too large, or says something else.
pub(super) async fn read<T: DeserializeOwned>(
    endpoint: &Endpoint,
    body: Incoming,
    bytes_max: usize,
    sample: &str,
) -> Result<T, Box<Answer>> {
    let bytes = intake::read_up_to(bytes_max, &endpoint.bodies, body).await?;
    parse(bytes, sample).map_err(Box::from)
}

/// Reads a body that has arrived.
///
/// # Errors
/// It says something else.
pub(super) fn parse<T: DeserializeOwned>(bytes: bytes::Bytes, sample: &str) -> Result<T, Problem> {
    let wrong = |why: &dyn std::fmt::Display| Problem::bad(format!("send an object such as {sample}: {why}"));
    // As strict as the wire: a key that stands twice would be checked once and read twice.
    let text = Text::check(bytes).map_err(|fault| wrong(&fault))?;
    // Types read an array as their members by position, which nobody means.
    if !text.as_str().trim_start().starts_with('{') {
        return Err(wrong(&"a JSON object is wanted"));
    }
    serde_json::from_str(text.as_str()).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is only read")]
    struct Sample {
        a: u8,
    }

    #[test]
    fn a_body_is_an_object_with_known_members() {
        assert!(parse::<Sample>("{\"a\":1}".into(), "{}").is_ok());
        for body in [
            "",
            "{",
            "[]",
            "[1]",
            " [1]",
            "7",
            "null",
            "{\"a\":1}{}",
            "{\"a\":1,\"a\":1}",
            "{\"a\":1,\"b\":2}",
            "{\"a\":256}",
        ] {
            let problem = serde_json::json!(parse::<Sample>(body.into(), "{\"a\":1}").expect_err(body));
            let detail = problem["detail"].as_str().expect("a text");
            assert!(detail.starts_with("send an object such as {\"a\":1}: "), "{detail}");
            let is_object = !matches!(body.trim(), "[]" | "[1]" | "7" | "null");
            assert_eq!(detail.ends_with(": a JSON object is wanted"), !is_object, "{detail}");
            assert_eq!((&problem["status"], &problem["code"]), (&400.into(), &"bad_request".into()));
        }
    }
}

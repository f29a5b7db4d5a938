//! The body of a request: one JSON object with known members.

mod fault;

use hyper::body::Incoming;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use wire::message::Text;

use super::answer::Answer;
use super::endpoint::Endpoint;
use super::intake;
use super::problem::Problem;

/// Longest body of a request that calls no tool, in bytes.
pub(super) const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Longest body where none is wanted, in bytes: `{}`, and room for blanks.
const NONE_BYTES_MAX: usize = 1024;

/// What some editors write before a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

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

/// Reads the body of a request that has none: nothing, or an object without members.
///
/// # Errors
/// The answer to one that says something.
pub(super) async fn read_none(endpoint: &Endpoint, body: Incoming) -> Result<(), Box<Answer>> {
    let bytes = intake::read_up_to(NONE_BYTES_MAX, &endpoint.bodies, body).await?;
    none(bytes).map_err(Box::from)
}

fn none(bytes: bytes::Bytes) -> Result<(), Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    if bytes.is_empty() {
        return Ok(());
    }
    let told = |_| Problem::bad("no body means anything here; leave it away, or send {}");
    parse::<Nothing>(bytes, "").map(drop).map_err(told)
}

/// Reads a body that has arrived.
///
/// # Errors
/// It says something else.
pub(super) fn parse<T: DeserializeOwned>(bytes: bytes::Bytes, sample: &str) -> Result<T, Problem> {
    let wrong = |why: &dyn std::fmt::Display| Problem::bad(format!("{why}; send an object such as {sample}"));
    if bytes.is_empty() {
        return Err(wrong(&"the body is empty"));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(wrong(
            &"the body begins with a byte order mark, which is no JSON; leave its three bytes away",
        ));
    }
    // As strict as the wire: a key that stands twice would be checked once and read twice.
    let text = Text::check(bytes).map_err(|fault| wrong(&fault))?;
    // Types read an array as their members by position, which nobody means.
    if !text.as_str().trim_start().starts_with('{') {
        return Err(wrong(&"the body must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text.as_str());
    serde_path_to_error::deserialize(&mut json)
        .map_err(|error| wrong(&fault::told(error.path(), error.inner())))
}

/// Reads a word of a list. An enum alone would say nothing of what it must be if it is no text.
pub(super) fn word<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::deserialize(String::deserialize(from)?.into_deserializer())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is only read")]
    struct Sample {
        count: u64,
        level: Option<i64>,
        name: Option<String>,
        #[serde(default, deserialize_with = "word")]
        mode: Mode,
        is_dry: Option<bool>,
        inner: Option<Inner>,
        list: Option<Vec<String>>,
        raw: Option<Box<RawValue>>,
        any: Option<Value>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Sync,
        Stream,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is only read")]
    struct Inner {
        text: String,
    }

    #[test]
    fn where_no_body_is_wanted_an_empty_one_will_do() {
        for (body, is_none) in [
            ("", true),
            ("{}", true),
            (" { }\n", true),
            (r#"{"priority":1}"#, false),
            ("[]", false),
            ("null", false),
            ("mode=async", false),
        ] {
            assert_eq!(none(body.into()).is_ok(), is_none, "{body}");
        }
    }

    #[test]
    fn a_body_is_an_object_with_known_members() {
        for good in [r#"{"count":1}"#, r#"{"count":1,"mode":"stream","raw":1e400,"name":null}"#] {
            assert!(parse::<Sample>(good.into(), "{}").is_ok(), "{good}");
        }
        let all = "(they are count, level, name, mode, is_dry, inner, list, raw, any)";
        let long = format!("{{\"{}\":1}}", "x".repeat(1_000));
        let told_short = format!("`/{}…` is no member that there is {all}", "x".repeat(127));
        for (body, expected) in [
            ("", "the body is empty"),
            (
                "\u{feff}{}",
                "the body begins with a byte order mark, which is no JSON; leave its three bytes away",
            ),
            ("{", "the JSON text ends too early"),
            ("[]", "the body must be a JSON object"),
            (" [1]", "the body must be a JSON object"),
            ("7", "the body must be a JSON object"),
            ("null", "the body must be a JSON object"),
            (r#"{"count":1}{}"#, "not JSON at byte 11"),
            (r#"{"count":1,"count":1}"#, "the member \"count\" occurs twice in one object"),
            ("{}", "`/count` is missing"),
            (r#"{"cuont":1}"#, "`/cuont` is no member that there is (did you mean `count`?)"),
            (r#"{"zzz":1}"#, &format!("`/zzz` is no member that there is {all}")),
            (&long, &told_short),
            (
                r#"{"count":-1}"#,
                "`/count` must be a whole number that is not negative, and is another number",
            ),
            (
                r#"{"count":1.5}"#,
                "`/count` must be a whole number that is not negative, and is another number",
            ),
            (r#"{"count":1e400}"#, "`/count` is a number beyond what programs reckon with"),
            (r#"{"count":"7"}"#, "`/count` must be a whole number that is not negative, and is a text"),
            (
                r#"{"count":1,"level":99999999999999999999}"#,
                "`/level` must be a whole number, and is another number",
            ),
            (r#"{"count":1,"name":["k33n"]}"#, "`/name` must be a text, and is a list"),
            (r#"{"count":1,"name":4711}"#, "`/name` must be a text, and is a number"),
            (r#"{"count":1,"is_dry":"k, expected x"}"#, "`/is_dry` must be true or false, and is a text"),
            (r#"{"count":1,"mode":"later"}"#, "`/mode` must be one of `sync`, `stream`, and is another text"),
            (r#"{"count":1,"mode":3}"#, "`/mode` must be a text, and is a number"),
            (r#"{"count":1,"mode":null}"#, "`/mode` must be a text, and is null"),
            (r#"{"count":1,"inner":{"text":{}}}"#, "`/inner/text` must be a text, and is an object"),
            (r#"{"count":1,"inner":{}}"#, "`/inner/text` is missing"),
            (
                r#"{"count":1,"inner":{"text":"","a/b":1}}"#,
                "`/inner/a~1b` is no member that there is (they are text)",
            ),
            (r#"{"count":1,"inner":7}"#, "`/inner` must be an object, and is a number"),
            (r#"{"count":1,"list":["a",true]}"#, "`/list/1` must be a text, and is true or false"),
            (r#"{"count":1,"list":{}}"#, "`/list` must be a list, and is an object"),
            (
                r#"{"count":1,"any":{"a":[0,1e400]}}"#,
                "`/any/a/1` is a number beyond what programs reckon with",
            ),
        ] {
            let problem =
                serde_json::json!(parse::<Sample>(body.to_owned().into(), "{\"a\":1}").expect_err(body));
            let whole = format!("{expected}; send an object such as {{\"a\":1}}");
            assert_eq!(problem["detail"], whole, "{body}");
            assert_eq!((&problem["status"], &problem["code"]), (&400.into(), &"bad_request".into()));
        }
    }
}

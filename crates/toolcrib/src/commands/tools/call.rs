//! `tools call`: one call through the gate, printed for people, or as the result an agent would get.

use std::io::{self, Read as _};
use std::sync::Arc;

use bytes::Bytes;
use daemon::assemble::Crib;
use gate::jobs::Wants;
use gate::{Call, Client, Earnest, Failure, Listener, Outcome, REQUEST_ID_BYTES_MAX, Refusal};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use terminal::{Ending, Trouble, print};
use tool_api::Arguments;
use wire::Revision;

use super::show::found;
use crate::cli::Cli;
use crate::commands::caller::caller;
use crate::commands::forms::FILLS_IN_FORMS;
use crate::commands::gated::{block, carry, failed, told};
use crate::commands::jobs::{submitted, told_of};
use crate::commands::troubles::unknown_tool;
use crate::commands::typed::typed;
use crate::commands::waiting::Streamed;

/// Reads the arguments from the command line, or from standard input for `-`.
pub(crate) fn arguments(given: &str) -> Result<Bytes, Trouble> {
    let how = r#"write NAME=VALUE, such as path=a.txt, or JSON in single quotes: '{"path":"a.txt"}'"#;
    let text = json_given(given, "the arguments", how)?;
    match Arguments::parse(Some(text.clone())) {
        Ok(_) => Ok(text),
        Err(fault) => Err(Trouble::Misused(format!("{fault}, such as '{{\"path\": \"notes.md\"}}'"))),
    }
}

/// Reads JSON from the command line, or from standard input for `-`. `what` it is to be, and `how` it is written, go into the error.
pub(crate) fn json_given(given: &str, what: &str, how: &str) -> Result<Bytes, Trouble> {
    let text = if given == "-" { from_stdin()? } else { given.to_owned() };
    let text = Bytes::from(text);
    // As strict as the wire: a key that stands twice would be checked once and sent twice.
    wire::message::Text::check(text.clone())
        .map_err(|fault| Trouble::Misused(format!("{what} cannot be read as JSON: {fault}; {how}")))?;
    Ok(text)
}

/// What was typed behind the tool's name.
pub(super) enum Given {
    /// All arguments as JSON.
    Json(Bytes),
    /// Names and values, whose types the tool's schema says.
    Pairs(Vec<(String, String)>),
}

impl Given {
    /// Reads `NAME=VALUE …`, or JSON in one word.
    pub(super) fn read(words: &[String]) -> Result<Given, Trouble> {
        let pairs: Option<Vec<_>> = words.iter().map(|word| pair(word)).collect();
        match (pairs, words) {
            (Some(pairs), [_, ..]) => Ok(Given::Pairs(pairs)),
            (_, []) => Ok(Given::Json(Bytes::from_static(b"{}"))),
            (None, [one]) => arguments(one).map(Given::Json),
            (None, _) => {
                let how =
                    "the arguments are NAME=VALUE, each in one word, or one JSON object in single quotes";
                Err(Trouble::Misused(how.to_owned()))
            }
        }
    }

    /// The arguments for the tool of this name.
    pub(super) async fn fitting(self, crib: &Crib, name: &str) -> Result<Bytes, Trouble> {
        let pairs = match self {
            Given::Json(json) => return Ok(json),
            Given::Pairs(pairs) => pairs,
        };
        let tool = found(crib, name).await?;
        let schema: Value = serde_json::from_slice(&tool.definition().input_schema).unwrap_or_default();
        let mut arguments = Map::new();
        for (key, text) in pairs {
            let value = typed(&schema["properties"][&key], &text);
            let value = value.map_err(|why| Trouble::Misused(format!("{key}: {why}")))?;
            if arguments.insert(key.clone(), value).is_some() {
                return Err(Trouble::Misused(format!("{key} is given twice")));
            }
        }
        Ok(Value::Object(arguments).to_string().into())
    }
}

fn pair(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "{[\"".contains(c));
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

fn from_stdin() -> Result<String, Trouble> {
    let mut text = String::new();
    // The same bound as for a message that an agent sends.
    let mut input = io::stdin().lock().take(wire::STDIO_MESSAGE_BYTES_MAX as u64);
    let read = input.read_to_string(&mut text);
    read.map_err(|error| Trouble::Failed(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

/// What is said of a call beside its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    request_id: Option<Arc<str>>,
    /// For the record.
    claims: Option<Arc<str>>,
}

impl Said {
    pub(super) fn read(request_id: Option<&str>, context: Option<&str>) -> Result<Said, Trouble> {
        if request_id.is_some_and(|id| !(1..=REQUEST_ID_BYTES_MAX).contains(&id.len())) {
            let why = format!("the request id must have 1 to {REQUEST_ID_BYTES_MAX} bytes");
            return Err(Trouble::Misused(why));
        }
        let claims = context.map(|context| {
            let read: Result<&RawValue, _> = serde_json::from_str(context);
            let read = read.map_err(|error| {
                Trouble::Misused(format!("the context is not JSON: {error}; write such as '{{\"run\":7}}'"))
            });
            read.map(|context| Arc::from(format!("{{\"context\":{}}}", context.get())))
        });
        Ok(Said { request_id: request_id.map(Arc::from), claims: claims.transpose()? })
    }
}

/// Takes the call as a job and ends; the user's process runs it.
pub(super) fn as_job(
    cli: &Cli,
    (name, given): (&str, Given),
    wants: Wants,
    said: &Said,
) -> Result<Ending, Trouble> {
    let taken = submitted(cli, async |crib| {
        let arguments = given.fitting(crib, name).await?;
        // So that its servers have said what they have.
        found(crib, name).await?;
        // What its tool asks is answered by `jobs answer`.
        let capabilities = Bytes::from_static(FILLS_IN_FORMS);
        let client = Client { capabilities, ..Client::default() };
        let (claims, request_id) = (said.claims.clone(), said.request_id.clone());
        let call = Call { client, claims, request_id, ..Call::tool(name, Some(arguments)) };
        let job = crib.gate.submit(&caller(), call, wants).await;
        Ok(job.map_err(|failure| (failure, crib.shared.state.clone())))
    })?;
    match taken {
        Ok(job) => told_of(cli, &job),
        Err((failure, state)) => told(&state, &failure, cli.json),
    }
}

pub(super) async fn run(
    crib: &Crib,
    (name, given): (&str, Given),
    (earnest, said): (Earnest, Said),
    (streams, json): (bool, bool),
) -> Result<Ending, Trouble> {
    let arguments = given.fitting(crib, name).await?;
    let listener = || streams.then(|| Arc::new(Streamed) as Arc<dyn Listener>);
    let client = || Client { log_level: streams.then_some("info"), ..Client::default() };
    let call = || Call {
        listener: listener(),
        client: client(),
        earnest: earnest.clone(),
        request_id: said.request_id.clone(),
        claims: said.claims.clone(),
        ..Call::tool(name, Some(arguments.clone()))
    };
    match carry(crib, call).await? {
        Ok(outcome) => shown(outcome, json),
        Err(Failure::Refused(Refusal::UnknownTool(_))) => Err(unknown_tool(crib, name)),
        Err(failure) => failed(crib, &failure, json),
    }
}

pub(in crate::commands) fn shown(outcome: Outcome, json: bool) -> Result<Ending, Trouble> {
    let is_error = outcome.is_error;
    let result = server::outcome_json(Revision::LATEST_LEGACY, &outcome);
    if json {
        // Byte for byte, since a number may be larger than ours and an order may matter to somebody.
        print::line(&String::from_utf8_lossy(&result))?;
    } else {
        let text = text(&serde_json::from_slice(&result).unwrap_or(Value::Null));
        if is_error { print::remark(&text) } else { print::line(&text)? }
    }
    Ok(if is_error { Ending::Failed } else { Ending::Good })
}

/// The result for people: text as it is, anything else as a note of what it is.
pub(in crate::commands) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = blocks.iter().map(block).collect::<Vec<_>>().join("\n");
    if text.is_empty() && result["structuredContent"].is_object() {
        text = format!("{:#}", result["structuredContent"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_see_text_and_notes() {
        let result = json!({ "content": [
            { "type": "text", "text": "a\nb" },
            { "type": "image", "mimeType": "image/png", "data": "AAAAAA==" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
            { "type": "resource", "resource": { "uri": "file:///x", "mimeType": "a/b", "blob": "AAA=" } },
            { "type": "resource", "resource": { "uri": "file:///y", "text": "inside" } },
            { "type": "resource_link", "uri": "file:///z" },
            { "type": "hologram" },
            7,
        ] });
        let unknown = "[content of an unknown type; --json shows it]";
        assert_eq!(
            text(&result),
            format!(
                "a\nb\n[image: image/png, 4 bytes]\n[audio: audio/wav, 3 bytes]\n\
                 [resource: file:///x, a/b, 2 bytes]\ninside\n[link: file:///z]\n{unknown}\n{unknown}"
            )
        );
        assert_eq!(text(&json!({ "content": [], "structuredContent": { "n": 1 } })), "{\n  \"n\": 1\n}");
        assert_eq!(text(&Value::Null), "");
    }

    #[test]
    fn arguments_are_pairs_or_an_object() {
        for (words, expected) in [
            (&["a=1", "b=x=y"][..], Ok("a:1 b:x=y")),
            (&[], Ok("{}")),
            (&[r#"{"a":"b=c"}"#], Ok(r#"{"a":"b=c"}"#)),
            (&["a"], Err(())),
            (&["a=1", "b"], Err(())),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let read = Given::read(&words).map_err(|trouble| assert_eq!(trouble.ending(), Ending::Misused));
            let read = read.map(|given| match given {
                Given::Json(json) => String::from_utf8_lossy(&json).into_owned(),
                Given::Pairs(pairs) => {
                    pairs.iter().map(|(name, value)| format!("{name}:{value}")).collect::<Vec<_>>().join(" ")
                }
            });
            assert_eq!(read, expected.map(str::to_owned), "{words:?}");
        }
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(arguments(r#"{"a":1.0}"#).expect("an object"), r#"{"a":1.0}"#);
        for wrong in ["not json", "[1]", "null", ""] {
            let trouble = arguments(wrong).expect_err(wrong);
            assert_eq!(trouble.ending(), Ending::Misused);
        }
    }
}

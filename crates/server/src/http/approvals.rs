//! Approvals over HTTP, for people and their programs: what waits, answering it, and standing permissions. Plain
//! requests with JSON, beside the MCP endpoint and behind the same checks of who knocks.
//!
//! A page of another origin cannot answer in a person's name: an answer must be `application/json`, which a browser
//! sends to another origin only after it was allowed to (`cors`), and what changes something is never a GET.

use std::sync::Arc;

use bytes::Bytes;
use gate::approvals::{Answer, AnswerFault, Code, CodeFault, Grant, Lasts, NOTE_CHARS_MAX, Pattern, Scope};
use gate::{Approvals, Caller};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self as wired, Answer as Reply, Answered};
use super::endpoint::Endpoint;
use super::posted::{parse, word};
use super::problem::Problem;
use super::query::Query;
use super::{head, intake};

/// Where questions are.
const APPROVALS: &str = "/mcp/approvals";

/// Where standing permissions are.
const GRANTS: &str = "/mcp/grants";

/// Longest body of an answer, in bytes.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// How a body looks.
const SAMPLE: &str = r#"{"answer":"approve","scope":"once"} or {"answer":"deny","reason":"…"}"#;

/// The words of the `state` of a list.
const STATES: [&str; 5] = ["pending", "approved", "denied", "used", "expired"];

/// What a request is about: all of a kind, or the one of this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place<'a> {
    Approvals(Option<&'a str>),
    Grants(Option<&'a str>),
}

/// True for the paths that are answered here.
pub(super) fn is_here(path: &str) -> bool {
    place(path).is_some()
}

/// The methods of such a path.
pub(super) fn methods(path: &str) -> Option<&'static str> {
    place(path).map(Place::methods)
}

impl Place<'_> {
    fn methods(self) -> &'static str {
        match self {
            Place::Approvals(None) | Place::Grants(None) => "GET, HEAD, OPTIONS",
            Place::Approvals(Some(_)) => "GET, HEAD, POST, OPTIONS",
            Place::Grants(Some(_)) => "GET, HEAD, DELETE, OPTIONS",
        }
    }
}

fn place(path: &str) -> Option<Place<'_>> {
    let id_in = |folder: &str| match path.strip_prefix(folder)?.strip_prefix('/') {
        None => (path == folder).then_some(None),
        Some(id) => (!id.is_empty() && !id.contains('/')).then_some(Some(id)),
    };
    id_in(APPROVALS).map(Place::Approvals).or_else(|| id_in(GRANTS).map(Place::Grants))
}

/// An answer as it is posted.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    #[serde(deserialize_with = "word")]
    answer: Word,
    #[serde(default, deserialize_with = "word")]
    scope: Reach,
    /// For `always`: which arguments. By default the very same ones. For `session`: `words` or nothing.
    arguments: Option<Arguments>,
    /// For people, and with `deny` for the model, too.
    reason: Option<String>,
    /// The code for approvals, if there is one.
    code: Option<Code>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reach {
    #[default]
    Once,
    Session,
    Always,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "it must be `same`, `any`, `words` or a list of JSON pointers")]
enum Arguments {
    Word(Which),
    /// Those in which these members are the same, by JSON Pointer.
    Members(Vec<String>),
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    Same,
    Any,
    /// Commands that begin as those of this call.
    Words,
}

impl Posted {
    /// What it means, or what is wrong with it.
    fn read(self) -> Result<(Answer, Option<Code>), String> {
        let Posted { answer, scope, arguments, reason, code } = self;
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > NOTE_CHARS_MAX) {
            return Err(format!("`reason` may have at most {NOTE_CHARS_MAX} characters"));
        }
        let scope = match (scope, arguments) {
            (Reach::Always, None | Some(Arguments::Word(Which::Same))) => Scope::Always(Pattern::Same),
            (Reach::Always, Some(Arguments::Word(Which::Any))) => Scope::Always(Pattern::Any),
            (Reach::Always, Some(Arguments::Word(Which::Words))) => Scope::Beginnings(Lasts::Always),
            (Reach::Always, Some(Arguments::Members(pointers))) => Scope::Always(Pattern::Members(pointers)),
            (Reach::Session, Some(Arguments::Word(Which::Words))) => Scope::Beginnings(Lasts::Session),
            (Reach::Session, None | Some(Arguments::Word(Which::Same))) => Scope::Session,
            (Reach::Once, None | Some(Arguments::Word(Which::Same))) => Scope::Once,
            (Reach::Session | Reach::Once, Some(_)) => {
                let how =
                    "`arguments` goes with the scope \"always\" only, but \"words\" with \"session\", too";
                return Err(how.to_owned());
            }
        };
        match (answer, scope) {
            (Word::Approve, scope) => Ok((Answer::Approve { scope, note: reason }, code)),
            (Word::Deny, Scope::Once) => Ok((Answer::Deny { reason }, code)),
            (Word::Deny, Scope::Session | Scope::Always(_) | Scope::Beginnings(_)) => {
                Err("`scope` goes with \"approve\" only; a rule of the policy denies for good".to_owned())
            }
        }
    }
}

/// Answers somebody whom we know.
pub(super) async fn handle(endpoint: &Arc<Endpoint>, caller: Caller, request: Request<Incoming>) -> Answered {
    let (head, body) = request.into_parts();
    let Some(place) = place(head.uri.path()) else { return Ok(wired::nothing_here()) };
    let (Place::Approvals(id) | Place::Grants(id)) = place;
    let id = id.unwrap_or_default().to_owned();
    let known: &[&str] = if place == Place::Approvals(None) { &["state"] } else { &[] };
    let query = Query::read(head.uri.query(), known)?;
    // Without its body, which the connection leaves away.
    let method = if head.method == Method::HEAD { &Method::GET } else { &head.method };
    Ok(match (place, method) {
        (Place::Approvals(None), &Method::GET) => {
            let state = state_of(&query)?;
            on_disk(endpoint, move |approvals| list(approvals, &caller, state)).await
        }
        (Place::Approvals(Some(_)), &Method::GET) => {
            on_disk(endpoint, move |approvals| {
                Ok(json!(approvals.whole_approval(&id, &caller)?.report(approvals.now_ms())))
            })
            .await
        }
        (Place::Approvals(Some(_)), &Method::POST) => {
            head::content_is_json(&head.headers)?;
            let bytes = intake::read_up_to(BODY_BYTES_MAX, &endpoint.bodies, body).await?;
            let (answer, code) = posted(bytes)?;
            on_disk(endpoint, move |approvals| {
                let answered = approvals.answer(&id, &answer, &caller, code.as_ref())?;
                Ok(json!(answered.report(approvals.now_ms())))
            })
            .await
        }
        (Place::Grants(None), &Method::GET) => {
            on_disk(endpoint, move |approvals| grants(approvals, &caller)).await
        }
        (Place::Grants(Some(_)), &Method::GET) => {
            on_disk(endpoint, move |approvals| Ok(json!(approvals.find_grant(&id, &caller)?.report()))).await
        }
        (Place::Grants(Some(_)), &Method::DELETE) => {
            on_disk(endpoint, move |approvals| Ok(json!(approvals.revoke(&id, &caller)?.report()))).await
        }
        (place, _) => wired::not_allowed(place.methods()),
    })
}

fn list(approvals: &Approvals, caller: &Caller, state: Option<&str>) -> Result<Value, AnswerFault> {
    let now_ms = approvals.now_ms();
    let all = approvals.approvals(caller)?;
    let wanted = all.iter().filter(|it| state.is_none_or(|state| it.status(now_ms).as_str() == state));
    Ok(json!({ "approvals": wanted.map(|it| it.report(now_ms)).collect::<Vec<_>>() }))
}

fn grants(approvals: &Approvals, caller: &Caller) -> Result<Value, AnswerFault> {
    let all = approvals.grants(caller)?;
    Ok(json!({ "grants": all.iter().map(Grant::report).collect::<Vec<_>>() }))
}

/// The state that a list is of; nothing for all.
fn state_of(query: &Query) -> Result<Option<&'static str>, Problem> {
    let Some(word) = query.text("state") else { return Ok(None) };
    let known = STATES.into_iter().find(|known| *known == word);
    known.map(Some).ok_or_else(|| Problem::bad(format!("`state` must be one of {}", STATES.join(", "))))
}

fn posted(body: Bytes) -> Result<(Answer, Option<Code>), Problem> {
    parse::<Posted>(body, SAMPLE)?.read().map_err(Problem::bad)
}

/// Does what waits for the disk on another thread.
async fn on_disk(
    endpoint: &Arc<Endpoint>,
    work: impl FnOnce(&Approvals) -> Result<Value, AnswerFault> + Send + 'static,
) -> Reply {
    let approvals = endpoint.server.gate().approvals().clone();
    match tokio::task::spawn_blocking(move || work(&approvals)).await {
        Ok(Ok(value)) => wired::json(StatusCode::OK, value.to_string().into_bytes()),
        Ok(Err(fault)) => Problem::new(status(&fault), fault.to_string()).with_code(fault.code()).answer(),
        Err(_) => wired::problem(StatusCode::SERVICE_UNAVAILABLE, "the program is ending; try again"),
    }
}

fn status(fault: &AnswerFault) -> StatusCode {
    match fault {
        AnswerFault::Unknown(_) | AnswerFault::UnknownGrant(_) | AnswerFault::NotDenied(_) => {
            StatusCode::NOT_FOUND
        }
        AnswerFault::WrongRole { .. }
        | AnswerFault::OwnQuestion(_)
        | AnswerFault::Nobody(_)
        | AnswerFault::NotAPerson(_)
        | AnswerFault::Code(CodeFault::Needed | CodeFault::Wrong | CodeFault::Length) => {
            StatusCode::FORBIDDEN
        }
        AnswerFault::Code(CodeFault::Wait { .. }) => StatusCode::TOO_MANY_REQUESTS,
        AnswerFault::Code(CodeFault::Unreadable | CodeFault::Store(_)) => StatusCode::SERVICE_UNAVAILABLE,
        AnswerFault::Answered { .. } | AnswerFault::TooManyGrants(_) => StatusCode::CONFLICT,
        AnswerFault::Expired { .. } => StatusCode::GONE,
        AnswerFault::NoMember { .. }
        | AnswerFault::OnceOnly(_)
        | AnswerFault::NotForGood(_)
        | AnswerFault::NoBeginnings(_) => StatusCode::BAD_REQUEST,
        AnswerFault::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_states() {
        for (path, expected) in [
            ("/mcp/approvals", Some(Place::Approvals(None))),
            ("/mcp/approvals/k7", Some(Place::Approvals(Some("k7")))),
            ("/mcp/grants", Some(Place::Grants(None))),
            ("/mcp/grants/k7", Some(Place::Grants(Some("k7")))),
            ("/mcp/approvals/", None),
            ("/mcp/approvals/k7/x", None),
            ("/mcp/approvalsx", None),
            ("/mcp", None),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
        for (query, expected) in [
            (None, Ok(None)),
            (Some(""), Ok(None)),
            (Some("state=pending"), Ok(Some("pending"))),
            (Some("state=open"), Err("`state` must be one of pending, approved, denied, used, expired")),
        ] {
            let query = Query::read(query, &["state"]).expect("known parameters");
            let state = state_of(&query).map_err(|problem| json!(problem)["detail"].clone());
            assert_eq!(state, expected.map_err(Value::from));
        }
    }

    #[test]
    fn an_answer_means_what_it_says_or_is_refused() {
        let approve = |scope| Ok((Answer::Approve { scope, note: None }, None));
        for (body, expected) in [
            (r#"{"answer":"approve"}"#, approve(Scope::Once)),
            (r#"{"answer":"approve","scope":"session"}"#, approve(Scope::Session)),
            (r#"{"answer":"approve","scope":"always"}"#, approve(Scope::Always(Pattern::Same))),
            (
                r#"{"answer":"approve","scope":"always","arguments":"any"}"#,
                approve(Scope::Always(Pattern::Any)),
            ),
            (
                r#"{"answer":"approve","scope":"always","arguments":["/a"]}"#,
                approve(Scope::Always(Pattern::Members(vec!["/a".to_owned()]))),
            ),
            (
                r#"{"answer":"approve","scope":"session","arguments":"words"}"#,
                approve(Scope::Beginnings(Lasts::Session)),
            ),
            (
                r#"{"answer":"approve","scope":"always","arguments":"words"}"#,
                approve(Scope::Beginnings(Lasts::Always)),
            ),
            (
                r#"{"answer":"deny","reason":"no"}"#,
                Ok((Answer::Deny { reason: Some("no".to_owned()) }, None)),
            ),
            (
                r#"{"answer":"approve","code":"k33n"}"#,
                Ok((Answer::Approve { scope: Scope::Once, note: None }, Some(Code::new("k33n")))),
            ),
            (r#"{"answer":"approve","code":4711}"#, Err("`/code` must be a text, and is a number; send")),
            (r#"{"answer":"deny","scope":"always"}"#, Err("`scope` goes with")),
            (r#"{"answer":"deny","scope":"always","arguments":"words"}"#, Err("`scope` goes with")),
            (r#"{"answer":"approve","arguments":"any"}"#, Err("`arguments` goes with")),
            (r#"{"answer":"approve","arguments":"words"}"#, Err("`arguments` goes with")),
            (r#"{"answer":"approve","scope":"session","arguments":"any"}"#, Err("`arguments` goes with")),
            (
                r#"{"answer":"perhaps"}"#,
                Err("`/answer` must be one of `approve`, `deny`, and is another text; send"),
            ),
            (r#"{"answer":"approve","scope":7}"#, Err("`/scope` must be a text, and is a number; send")),
            (
                r#"{"answer":"approve","scope":"always","arguments":7}"#,
                Err("`/arguments`: it must be `same`, `any`, `words` or a list of JSON pointers; send"),
            ),
            (
                r#"{"answer":"approve","scpoe":"once"}"#,
                Err("`/scpoe` is no member that there is (did you mean `scope`?)"),
            ),
            (r#"{"answer":"approve","answer":"deny"}"#, Err("the member \"answer\" occurs twice")),
            (r#"["approve"]"#, Err("the body must be a JSON object")),
            (r#"{}"#, Err("`/answer` is missing")),
            ("", Err("the body is empty")),
        ] {
            match (posted(body.into()), expected) {
                (Err(problem), Err(begins)) => {
                    let why = json!(problem)["detail"].clone();
                    assert!(why.as_str().is_some_and(|why| why.starts_with(begins)), "{body}: {why}");
                }
                (meant, expected) => assert_eq!(meant.ok(), expected.ok(), "{body}"),
            }
        }
        let long = format!(r#"{{"answer":"deny","reason":"{}"}}"#, "x".repeat(NOTE_CHARS_MAX + 1));
        assert!(posted(long.into()).is_err());
    }
}

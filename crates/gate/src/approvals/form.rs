//! The question as a client shows it to its user, and what comes back.

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer::{Answer, Lasts, Scope};
use super::code::{CODE_BYTES_MAX, Code};
use super::granted::Pattern;
use super::record::{Acted, Approval, begin_with, is_wish, time};

/// What the key of our question begins with among what a client is asked; the approval's id follows.
const KEY: &str = "toolcrib_approval_";

/// The answers, and their words for people, about a tool or what else is acted on, and commands that begin so.
fn answers(what: &str, beginnings: &[String]) -> Vec<(&'static str, String)> {
    if is_wish(what) {
        return vec![
            ("once", format!("Allow this {what} for this call")),
            ("session", format!("Allow this {what} for this session")),
            ("always", format!("Always allow this {what}")),
            ("deny", "Deny".to_owned()),
        ];
    }
    let mut answers = vec![
        ("once", "Allow this call once".to_owned()),
        ("session", format!("Allow this {what} for this session")),
        ("always", format!("Always allow this {what} with exactly these arguments")),
    ];
    if !beginnings.is_empty() {
        let commands = begin_with(beginnings);
        answers.push(("session_words", format!("Allow {commands} for this session")));
        answers.push(("always_words", format!("Always allow {commands}")));
    }
    answers.push(("deny", "Deny".to_owned()));
    answers
}

/// The `inputRequests` object that asks.
pub(super) fn question(approval: &Approval, wants_code: bool) -> Bytes {
    let what = approval.target.as_ref().map_or("tool", |target| &target.kind);
    let answers = answers(what, approval.offered_beginnings()).into_iter();
    // Where every yes is good for the session, nobody is offered less; where one is good for this call, nobody more.
    let fits = |(name, _): &(&str, String)| match *name {
        "once" | "session_words" => !approval.covers_session(),
        "session" => !approval.is_for_once(),
        "always" => !approval.is_for_once() && approval.can_hold_for_good(),
        _ => true,
    };
    let offered = answers.filter(fits);
    let (words, names): (Vec<_>, Vec<_>) = offered.unzip();
    let server = approval.upstream.as_deref().map(|name| format!("\nserver: {name}")).unwrap_or_default();
    let target = approval.target.as_ref();
    let target = target.map(|target| format!("\n{}: {}", target.kind, target.shown)).unwrap_or_default();
    let cut = if approval.is_cut {
        format!(
            "\n(the arguments have {} bytes, long values are shortened; all of them: toolcrib approvals show {} --full)",
            approval.arguments_bytes, approval.id
        )
    } else {
        String::new()
    };
    let beside = approval.beside.as_ref().map(|beside| beside.in_form(&approval.id)).unwrap_or_default();
    let would_change = approval.would_change.as_ref().map(|it| it.in_form(&approval.id)).unwrap_or_default();
    // Clients fold what is long: Claude Code shows three lines, so what is allowed stands in the first two.
    let wish = approval.target.as_ref().filter(|target| target.is_wish());
    let subject = wish.map_or("call", |wish: &Acted| &wish.kind);
    let message = format!(
        "Allow this {subject}? {}.{target}\narguments: {}{cut}{server}{beside}{would_change}\nApproval {}; ends at {}.",
        approval.why(),
        approval.arguments,
        approval.id,
        time(approval.expires_at_ms)
    );
    let mut params = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "string",
                    "title": "Answer",
                    "description": "What is allowed can be taken back: toolcrib approvals grants",
                    "enum": words,
                    "enumNames": names,
                },
            },
            "required": ["answer"],
        },
    });
    if wants_code {
        params["requestedSchema"]["properties"]["code"] = json!({
            "type": "string",
            "title": "Code",
            "description": "The code for approvals, to allow anything",
            "maxLength": CODE_BYTES_MAX,
        });
    }
    json!({ key(&approval.id): { "method": "elicitation/create", "params": params } }).to_string().into()
}

/// Which approval an `inputRequests` object asks for; nothing for what tools ask.
pub fn asked_for(requests: &[u8]) -> Option<String> {
    let Value::Object(requests) = serde_json::from_slice(requests).ok()? else { return None };
    requests.keys().next()?.strip_prefix(KEY).map(str::to_owned)
}

/// True for the `inputRequests` by which a client is asked for an approval.
pub fn is_question(requests: &[u8]) -> bool {
    asked_for(requests).is_some()
}

fn key(id: &str) -> String {
    format!("{KEY}{id}")
}

/// The `inputResponses` of a client that could not be asked for an approval: the call then waits for somebody else.
pub fn unanswered() -> Bytes {
    Bytes::from_static(b"{}")
}

/// What the `inputResponses` object says of an approval: the user's answer, and the code given with it. Nothing if the
/// client could not ask, its user dismissed the form, or it brings something that is no answer.
pub(super) fn answer(responses: &[u8], id: &str) -> Option<(Answer, Option<Code>)> {
    let responses: Value = serde_json::from_slice(responses).unwrap_or_default();
    let response = &responses[key(id)];
    let code = response["content"]["code"].as_str().filter(|code| !code.is_empty()).map(Code::new);
    let approve = |scope| Some((Answer::Approve { scope, note: None }, code.clone()));
    let deny = |reason: &str| Some((Answer::Deny { reason: Some(reason.to_owned()) }, None));
    match (response["action"].as_str(), response["content"]["answer"].as_str()) {
        (Some("accept"), Some("once")) => approve(Scope::Once),
        (Some("accept"), Some("session")) => approve(Scope::Session),
        (Some("accept"), Some("always")) => approve(Scope::Always(Pattern::Same)),
        (Some("accept"), Some("session_words")) => approve(Scope::Beginnings(Lasts::Session)),
        (Some("accept"), Some("always_words")) => approve(Scope::Beginnings(Lasts::Always)),
        (Some("accept"), Some("deny")) => deny("denied in the client"),
        (Some("decline"), _) => deny("declined in the client"),
        // Dismissed, or what is no answer: a client without a person at it does that by itself, so it says nothing.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_is_one() {
        let coded =
            |scope, code: Option<&str>| Some((Answer::Approve { scope, note: None }, code.map(Code::new)));
        let approve = |scope| coded(scope, None);
        let deny = |reason: &str| Some((Answer::Deny { reason: Some(reason.to_owned()) }, None));
        for (response, expected) in [
            (r#"{"action":"accept","content":{"answer":"once"}}"#, approve(Scope::Once)),
            (r#"{"action":"accept","content":{"answer":"session"}}"#, approve(Scope::Session)),
            (
                r#"{"action":"accept","content":{"answer":"once","code":"k33n"}}"#,
                coded(Scope::Once, Some("k33n")),
            ),
            (r#"{"action":"accept","content":{"answer":"once","code":""}}"#, approve(Scope::Once)),
            (r#"{"action":"accept","content":{"answer":"once","code":7}}"#, approve(Scope::Once)),
            (r#"{"action":"accept","content":{"answer":"always"}}"#, approve(Scope::Always(Pattern::Same))),
            (
                r#"{"action":"accept","content":{"answer":"session_words"}}"#,
                approve(Scope::Beginnings(Lasts::Session)),
            ),
            (
                r#"{"action":"accept","content":{"answer":"always_words"}}"#,
                approve(Scope::Beginnings(Lasts::Always)),
            ),
            (r#"{"action":"accept","content":{"answer":"deny"}}"#, deny("denied in the client")),
            (r#"{"action":"decline","content":{"answer":"once"}}"#, deny("declined in the client")),
            (r#"{"action":"cancel"}"#, None),
            (r#"{"action":"accept","content":{"answer":"yes"}}"#, None),
            (r#"{"action":"accept","content":{"answer":true}}"#, None),
            (r#"{"action":"accept"}"#, None),
            (r#"{"content":{"answer":"once"}}"#, None),
            ("[]", None),
        ] {
            assert_eq!(
                answer(format!(r#"{{"{KEY}k7":{response}}}"#).as_bytes(), "k7"),
                expected,
                "{response}"
            );
        }
        assert_eq!(
            answer(br#"{"toolcrib_approval_k8":{"action":"accept","content":{"answer":"once"}}}"#, "k7"),
            None
        );
        assert_eq!(answer(&unanswered(), "k7"), None);
        assert_eq!(answer(b"nonsense", "k7"), None);
    }

    #[test]
    fn an_answer_says_what_it_is_good_for() {
        let begun = ["git status".to_owned(), "git log".to_owned()];
        let words = |what| answers(what, &[]).into_iter().map(|(_, words)| words).collect::<Vec<_>>();
        let offered: Vec<_> = answers("tool", &begun).into_iter().map(|(_, words)| words).collect();
        assert_eq!(
            offered[3..],
            [
                "Allow commands that begin with `git status` or `git log` for this session",
                "Always allow commands that begin with `git status` or `git log`",
                "Deny",
            ]
        );
        assert_eq!(words("tool")[1], "Allow this tool for this session");
        assert_eq!(
            words("resource")[1..3],
            [
                "Allow this resource for this session",
                "Always allow this resource with exactly these arguments"
            ]
        );
    }
}

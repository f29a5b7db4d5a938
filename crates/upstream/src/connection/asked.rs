//! What a legacy server asks of the client in the middle of a call, and the modern form of it: entries of
//! `inputRequests`.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use wire::message::Text;
use wire::{Id, Object, object, patch, string};

use crate::profiles::Profile;

/// JSON-RPC's code for an error of 2025-11-25: the client must visit addresses first, and then call again.
const URL_ELICITATION_REQUIRED: i64 = -32_042;

/// Questions of one call that wait for its client; more are refused.
pub(crate) const QUESTIONS_MAX: usize = 32;

/// Where messages of a task of 2025-11-25 name it, below `_meta`.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Elicitation,
    Sampling,
    Roots,
}

/// One request of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The server's id for it.
    pub id: Id,
    /// What it asks for.
    pub kind: Kind,
    /// Its parameters.
    pub params: Option<Text>,
    /// The conversation that has the call it is about; nothing if the server said which call that is.
    pub of: Option<u64>,
}

impl Kind {
    /// Each with its method.
    const ALL: [(Kind, &str); 3] = [
        (Kind::Elicitation, "elicitation/create"),
        (Kind::Sampling, "sampling/createMessage"),
        (Kind::Roots, "roots/list"),
    ];

    /// The kind of this method.
    pub(crate) fn of(method: &str) -> Option<Kind> {
        Kind::ALL.iter().find(|(_, known)| *known == method).map(|(kind, _)| *kind)
    }

    /// True if a person, or a model, has to think about it.
    pub(super) fn is_for_somebody(self) -> bool {
        match self {
            Kind::Elicitation | Kind::Sampling => true,
            Kind::Roots => false,
        }
    }

    pub(super) fn method(self) -> &'static str {
        Kind::ALL[self as usize].1
    }

    /// True if `answer`, JSON text, has the shape of an answer to this.
    pub(crate) fn is_answer(self, answer: &str) -> bool {
        let Some(answer) = Object::parse(answer) else { return false };
        match self {
            Kind::Elicitation => {
                let action = answer.string("action");
                matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
            }
            Kind::Sampling => answer.get("content").is_some() && answer.string("role").is_some(),
            Kind::Roots => answer.get("roots").is_some_and(|roots| roots.starts_with('[')),
        }
    }

    /// A key that no other entry of this process has: whoever hears it again knows what it was about.
    pub(crate) fn mint_key(self) -> String {
        static MINTED: AtomicU64 = AtomicU64::new(0);
        let word = self.method().split('/').next().unwrap_or_default();
        format!("{word}_{}", MINTED.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Question {
    /// What a client with these `ClientCapabilities` lacks to answer this: such an object.
    pub(crate) fn lacks(&self, declared: &[u8]) -> Option<String> {
        let params = self.params.as_ref().and_then(Text::object);
        let tools = params.and_then(|params| params.get("tools"));
        let mode = params.and_then(|params| params.string("mode"));
        let needed = match self.kind {
            Kind::Roots => Profile::ROOTS,
            Kind::Sampling if tools.is_some_and(|tools| tools != "null") => Profile::TOOLS,
            Kind::Sampling => Profile::SAMPLING,
            Kind::Elicitation if mode.as_deref() == Some("url") => Profile::URL,
            Kind::Elicitation => Profile::FORM,
        };
        needed.lacking_in(declared)
    }

    /// The id by which the server speaks of this elicitation later, if it is one at an address.
    pub(crate) fn elicitation_id(&self) -> Option<String> {
        let params = self.params.as_ref()?.object()?;
        params.string("elicitationId").map(Cow::into_owned)
    }

    /// The server's own id of the task that asks, if it is one of 2025-11-25.
    pub(crate) fn task(&self) -> Option<String> {
        let meta = self.params.as_ref()?.object()?.object("_meta")?;
        meta.object(RELATED_TASK)?.string("taskId").map(Cow::into_owned)
    }

    /// What it takes to keep it, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.id.text().len() + self.params.as_ref().map_or(0, |params| params.as_str().len())
    }
}

/// Appends `"key":{"method":…,"params":…}`.
fn write_entry(key: &str, kind: Kind, params: Option<Object<'_>>, out: &mut Vec<u8>) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    string::encode(key, out);
    out.extend_from_slice(b":{\"method\":");
    string::encode(kind.method(), out);
    out.extend_from_slice(b",\"params\":");
    out.extend_from_slice(params.map_or(Cow::Borrowed("{}"), |params| fitting(kind, params)).as_bytes());
    out.push(b'}');
}

/// The parameters without what the modern form does not know: the id of an elicitation, since that it is done is learnt
/// by calling again, and the server's own id of a task.
fn fitting(kind: Kind, params: Object<'_>) -> Cow<'_, str> {
    let mut fitting = Cow::Borrowed(params.text());
    if kind == Kind::Elicitation && params.get("elicitationId").is_some() {
        fitting = patch::remove(params, "elicitationId").into();
    }
    let unrelated = Object::parse(&fitting).and_then(without_task);
    unrelated.map_or(fitting, Cow::Owned)
}

/// A result or parameters of a task without the server's own id of it; nothing if it is not there.
pub(crate) fn without_task(named: Object<'_>) -> Option<String> {
    let meta = named.object("_meta").filter(|meta| meta.get(RELATED_TASK).is_some())?;
    Some(match meta.members().count() {
        1 => patch::remove(named, "_meta"),
        _ => patch::set(named, "_meta", &patch::remove(meta, RELATED_TASK)),
    })
}

/// The `inputRequests` object for these questions, each with its key.
pub(crate) fn requests(questions: &[(String, Question)]) -> Bytes {
    let mut out = Vec::with_capacity(256);
    for (key, question) in questions {
        let params = question.params.as_ref().and_then(Text::object);
        write_entry(key, question.kind, params, &mut out);
    }
    closed(out)
}

fn closed(mut out: Vec<u8>) -> Bytes {
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out.into()
}

/// What an error asks that means "visit these addresses first".
pub(crate) struct Required {
    /// The `inputRequests` object.
    pub requests: Bytes,
    /// The server's ids of the elicitations, each with the key under which it is asked here.
    pub ids: Vec<(String, String)>,
}

/// The elicitations that an error of `tools/call` demands, if it is that error.
pub(crate) fn required(error: &Text) -> Option<Required> {
    let object = error.object()?;
    if object.get("code")?.parse() != Ok(URL_ELICITATION_REQUIRED) {
        return None;
    }
    let elicitations = object.object("data")?.get("elicitations").and_then(object::elements)?;
    let (mut out, mut ids) = (Vec::with_capacity(256), Vec::new());
    for params in elicitations.take(QUESTIONS_MAX).filter_map(Object::parse) {
        let key = Kind::Elicitation.mint_key();
        write_entry(&key, Kind::Elicitation, Some(params), &mut out);
        if let Some(id) = params.string("elicitationId") {
            ids.push((id.into_owned(), key));
        }
    }
    (!out.is_empty()).then(|| Required { requests: closed(out), ids })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    fn question(method: &str, params: &str) -> Question {
        let kind = Kind::of(method).expect("a kind");
        Question { id: Id::number(1), kind, params: Some(text(params)), of: None }
    }

    #[track_caller]
    fn check_lacks(method: &str, params: &str, declared: &str, expected: Option<&str>) {
        assert_eq!(question(method, params).lacks(declared.as_bytes()).as_deref(), expected, "{declared}");
    }

    #[test]
    fn a_client_is_asked_only_for_what_it_declared() {
        check_lacks("roots/list", "{}", "{}", Some(r#"{"roots":{}}"#));
        check_lacks("roots/list", "{}", r#"{"roots":{"listChanged":true}}"#, None);
        check_lacks("sampling/createMessage", "{}", r#"{"roots":{}}"#, Some(r#"{"sampling":{}}"#));
        check_lacks("sampling/createMessage", "{}", r#"{"sampling":{}}"#, None);
        let tools = Some(r#"{"sampling":{"tools":{}}}"#);
        check_lacks("sampling/createMessage", r#"{"tools":[]}"#, r#"{"sampling":{}}"#, tools);
        check_lacks("sampling/createMessage", r#"{"tools":[]}"#, r#"{"sampling":{"tools":{}}}"#, None);
        let form = Some(r#"{"elicitation":{"form":{}}}"#);
        check_lacks("elicitation/create", "{}", "{}", form);
        check_lacks("elicitation/create", "{}", r#"{"elicitation":{}}"#, None);
        check_lacks("elicitation/create", r#"{"mode":"form"}"#, r#"{"elicitation":{"url":{}}}"#, form);
        let url = Some(r#"{"elicitation":{"url":{}}}"#);
        check_lacks("elicitation/create", r#"{"mode":"url"}"#, r#"{"elicitation":{}}"#, url);
        check_lacks("elicitation/create", r#"{"mode":"url"}"#, r#"{"elicitation":{"url":{}}}"#, None);
        check_lacks("elicitation/create", "{}", "junk", form);
    }

    #[test]
    fn questions_take_the_modern_form_and_lose_their_ids() {
        let url = question(
            "elicitation/create",
            r#"{"mode":"url","elicitationId":"e1","url":"https://a/?x=1","message":"m"}"#,
        );
        let roots = Question { id: Id::number(2), kind: Kind::Roots, params: None, of: None };
        let requests = requests(&[("a".to_owned(), url.clone()), ("b".to_owned(), roots)]);
        let expected = concat!(
            r#"{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://a/?x=1","message":"m"}},"#,
            r#""b":{"method":"roots/list","params":{}}}"#
        );
        assert_eq!(std::str::from_utf8(&requests), Ok(expected));
        assert_eq!(url.elicitation_id().as_deref(), Some("e1"));
    }

    #[test]
    fn an_error_can_be_a_question() {
        let error =
            |code: i64, data: &str| text(&format!(r#"{{"code":{code},"message":"m","data":{data}}}"#));
        let data = r#"{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a","message":"m"}]}"#;
        let required = super::required(&error(-32_042, data)).expect("a question");
        let [(id, key)] = &required.ids[..] else { panic!("one id") };
        assert_eq!(id, "e");
        let entry =
            r#"{"method":"elicitation/create","params":{"mode":"url","url":"https://a","message":"m"}}"#;
        assert_eq!(required.requests, format!("{{\"{key}\":{entry}}}"));
        assert!(super::required(&error(-32_000, data)).is_none());
        assert!(super::required(&error(-32_042, r#"{"elicitations":[]}"#)).is_none());
        assert!(super::required(&error(-32_042, "5")).is_none());
    }
}

//! The headers of a modern request that repeat its body (MCP 2026-07-28, "Standard headers"). What stands between
//! may have acted on them, so a request in which the two differ is refused before anything else looks at it; but which
//! arguments a tool wants repeated only the gate knows, once it has found the tool.

use std::sync::Arc;

use gate::HeaderCheck;
use hyper::header::HeaderMap;
use wire::http::{METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION};
use wire::message::Text;
use wire::param_headers::{HeaderText, ParamHeaders};
use wire::{Code, Object, Revision, WireError, headers, meta};

use super::head::said;

/// Checks the revision.
///
/// # Errors
/// `HeaderMismatch`, or `UnsupportedVersion` if both name the same one and we do not speak it.
pub(super) fn version(head: &HeaderMap, params: Option<&Text>) -> Result<(), WireError> {
    let own = params.and_then(Text::object).and_then(|params| params.object("_meta"));
    // A version that is no text is a fault of the metadata, which has a code of its own.
    let Some(own) = own.and_then(|own| own.string(meta::PROTOCOL_VERSION)) else { return Ok(()) };
    let named = once(head, PROTOCOL_VERSION)?;
    if named != Some(&*own) {
        return Err(mismatch("MCP-Protocol-Version", named.is_none()));
    }
    match Revision::parse(&own) {
        Some(revision) if revision.is_modern() => Ok(()),
        _ => Err(meta::unsupported(&own)),
    }
}

/// Checks the method and what it is about.
///
/// # Errors
/// `HeaderMismatch`.
pub(super) fn method(head: &HeaderMap, method: &str, params: Option<&Text>) -> Result<(), WireError> {
    let named = once(head, METHOD)?;
    if named != Some(method) {
        return Err(mismatch("Mcp-Method", named.is_none()));
    }
    let Some(member) = headers::name_param(method) else { return Ok(()) };
    let own = params.and_then(Text::object).and_then(|params| params.string(member));
    let named = once(head, NAME)?.map(headers::decode).transpose();
    let named = named.map_err(|bad| WireError::new(Code::HeaderMismatch, format!("Mcp-Name: {bad}")))?;
    match (own, named) {
        // What is missing in the body is for the method to say.
        (None, None) => Ok(()),
        (Some(own), Some(named)) if own == named => Ok(()),
        (_, named) => Err(mismatch("Mcp-Name", named.is_none())),
    }
}

/// Checks the arguments of a call that its tool wants repeated.
pub(super) fn arguments(head: &HeaderMap) -> HeaderCheck {
    let of_params = head.iter().filter(|(name, _)| name.as_str().starts_with(PARAM_PREFIX));
    let head: HeaderMap = of_params.map(|(name, value)| (name.clone(), value.clone())).collect();
    Arc::new(move |tool, arguments| {
        let schema = String::from_utf8_lossy(&tool.input_schema);
        // A tool whose annotations break the rules cannot be called by these headers; nothing is compared then.
        let wanted = ParamHeaders::read(&schema).unwrap_or_default();
        if wanted.is_empty() {
            return Ok(());
        }
        let arguments = std::str::from_utf8(arguments).ok().and_then(Object::parse);
        wanted.check(arguments, &|name| said(&head, name))
    })
}

/// The value of a header that may be there but once.
fn once<'h>(head: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, WireError> {
    let why = match said(head, name) {
        HeaderText::Absent => return Ok(None),
        HeaderText::Once(value) => return Ok(Some(value)),
        HeaderText::Repeated => "is there more than once",
        HeaderText::Unreadable => "is not printable ASCII",
    };
    Err(WireError::new(Code::HeaderMismatch, format!("Header mismatch: {name} {why}")))
}

fn mismatch(name: &str, is_missing: bool) -> WireError {
    let why = if is_missing { "is missing" } else { "says something else than the body" };
    WireError::new(Code::HeaderMismatch, format!("Header mismatch: {name} {why}"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn head(lines: &[(&'static str, &str)]) -> HeaderMap {
        let line = |&(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a sample"))
        };
        let mut head = HeaderMap::new();
        lines.iter().map(line).for_each(|(name, value)| {
            head.append(name, value);
        });
        head
    }

    fn params(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check(checked: Result<(), WireError>, expected: Option<i64>) {
        assert_eq!(checked.err().map(|error| error.code.number()), expected);
    }

    #[test]
    fn versions_are_compared_before_they_are_known() {
        let both = |header: &[&str], body: &str| {
            let lines: Vec<_> = header.iter().map(|value| (PROTOCOL_VERSION, *value)).collect();
            let params = params(&format!(r#"{{"_meta":{{"{}":{body}}}}}"#, meta::PROTOCOL_VERSION));
            version(&head(&lines), Some(&params))
        };
        check(both(&["2026-07-28"], r#""2026-07-28""#), None);
        check(both(&["v999.0.0"], r#""v999.0.0""#), Some(-32022));
        check(both(&["2025-11-25"], r#""2025-11-25""#), Some(-32022));
        check(both(&["2026-07-28"], r#""v999.0.0""#), Some(-32020));
        check(both(&["v999.0.0"], r#""2026-07-28""#), Some(-32020));
        check(both(&[], r#""2026-07-28""#), Some(-32020));
        check(both(&["2026-07-28", "2026-07-28"], r#""2026-07-28""#), Some(-32020));
        check(both(&["2026-07-28"], "5"), None);
    }

    #[test]
    fn the_method_and_the_name_are_compared() {
        let call = |lines: &[(&'static str, &str)], json: &str| {
            method(&head(lines), "tools/call", Some(&params(json)))
        };
        let named = r#"{"name":"Hello"}"#;
        check(call(&[(METHOD, "tools/call"), (NAME, "Hello")], named), None);
        check(call(&[(METHOD, "tools/call"), (NAME, "  Hello\t")], named), None);
        check(call(&[(METHOD, "tools/call"), (NAME, "=?base64?SGVsbG8=?=")], named), None);
        check(call(&[(METHOD, "tools/call"), (NAME, "=?base64?SGVsbG8?=")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call"), (NAME, "=?base64?SGVs!!!bG8=?=")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call"), (NAME, "hello")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call")], named), Some(-32020));
        check(call(&[(NAME, "Hello")], named), Some(-32020));
        check(call(&[(METHOD, "TOOLS/CALL"), (NAME, "Hello")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call"), (METHOD, "tools/call"), (NAME, "Hello")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call"), (NAME, "Hello"), (NAME, "Hello")], named), Some(-32020));
        check(call(&[(METHOD, "tools/call"), (NAME, "Hello")], "{}"), Some(-32020));
        check(call(&[(METHOD, "tools/call")], "{}"), None);
        check(method(&head(&[(METHOD, "tools/list"), (NAME, "x")]), "tools/list", None), None);
    }
}

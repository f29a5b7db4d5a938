//! The messages about resources: reading, watching and listing them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::WireError;
use crate::object_writer::ObjectWriter;
use crate::paging::{self, Page};
use crate::relayed::{self, Extras, Relayed};
use crate::string::literal;
use crate::text::Text;

/// Reads the parameters of `method`, which is `resources/read`, `resources/subscribe` or `resources/unsubscribe`: the
/// resource's URI, and what they carry besides.
///
/// # Errors
/// `InvalidParams` if the URI is missing or empty, the answers are no object or the state is no string.
pub fn uri_params(method: &str, params: Option<&Text>) -> Result<(String, Extras), WireError> {
    relayed::named(method, "uri", params)
}

/// Writes the parameters of one of these.
pub fn write_uri_params(uri: &str, relayed: &Relayed<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(uri.len() + 64);
    relayed.end(ObjectWriter::begin(&mut out).string("uri", uri));
    out
}

/// Reads an upstream's answer to `resources/list`; nothing if it is no list of resources at all.
pub fn read_list_result(result: &Text) -> Option<Page> {
    paging::read_page(result, "resources", "uri", |_| true)
}

/// Reads an upstream's answer to `resources/templates/list`; nothing if it is no list of templates at all.
pub fn read_templates_result(result: &Text) -> Option<Page> {
    paging::read_page(result, "resourceTemplates", "uriTemplate", |_| true)
}

/// What a resource holds.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'a> {
    /// Text.
    Text(&'a str),
    /// Any bytes.
    Blob(&'a [u8]),
}

/// Appends the result of reading one resource as an object.
pub fn write_read_result(out: &mut Vec<u8>, uri: &str, mime: &str, contents: Contents<'_>) {
    out.extend_from_slice(b"{\"contents\":[");
    let resource = ObjectWriter::begin(out).string("uri", uri).string("mimeType", mime);
    match contents {
        Contents::Text(text) => resource.string("text", text).end(),
        Contents::Blob(bytes) => resource.string("blob", &*STANDARD.encode(bytes)).end(),
    }
    out.extend_from_slice(b"]}");
}

/// The `data` member of the error about a resource that does not exist, as JSON text.
pub fn not_found_data(uri: &str) -> String {
    format!("{{\"uri\":{}}}", literal(uri))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check(params: &str, expected: Expect) {
        expected.assert_eq(&match uri_params("resources/read", Some(&text(params))) {
            Ok((uri, extras)) => {
                let part = |part: &Option<Text>| part.as_ref().map_or("-", Text::as_str).to_owned();
                let state = extras.request_state.as_deref().unwrap_or("-");
                let parts = [part(&extras.progress_token), part(&extras.meta), part(&extras.input_responses)];
                format!("{} {} {state}", uri, parts.join(" "))
            }
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn parameters_are_read_or_refused() {
        check(r#"{"uri":"a:\u0062"}"#, expect!["a:b - - - -"]);
        check(
            r#"{"_meta":{"progressToken":"t"},"uri":"a:b","requestState":"s\n","inputResponses":{ "k":1.0 }}"#,
            expect![[r#"
                a:b "t" {"progressToken":"t"} { "k":1.0 } s
            "#]],
        );
        check(r#"{"uri":"a:b","requestState":null,"inputResponses":null,"_meta":5}"#, expect!["a:b - - - -"]);
        let refused = [
            ("{}", expect![[r#"-32602 Invalid params: resources/read needs the string "uri""#]]),
            (r#"{"uri":""}"#, expect![[r#"-32602 Invalid params: resources/read needs the string "uri""#]]),
            (r#"{"uri":5}"#, expect![[r#"-32602 Invalid params: resources/read needs the string "uri""#]]),
            (
                r#"{"uri":"a","inputResponses":[]}"#,
                expect![[r#"-32602 Invalid params: "inputResponses" must be an object"#]],
            ),
            (
                r#"{"uri":"a","requestState":{}}"#,
                expect![[r#"-32602 Invalid params: "requestState" must be a string"#]],
            ),
        ];
        for (params, expected) in refused {
            check(params, expected);
        }
        assert!(uri_params("resources/subscribe", None).is_err());
    }

    #[test]
    fn lists_are_read_with_their_bytes() {
        let list = text(
            r#"{"resources":[{"uri":"a:b","x":1.0},{"name":"no uri"},{"uri":""},5],"nextCursor":"","ttlMs":7}"#,
        );
        let page = read_list_result(&list).expect("a list");
        let entry = &page.entries[0];
        assert_eq!((&*entry.key, entry.text.as_str()), ("a:b", r#"{"uri":"a:b","x":1.0}"#));
        assert_eq!((page.entries.len(), page.unusable, page.next_cursor.as_deref()), (1, 3, Some("")));
        assert_eq!(page.cache.ttl_ms, 7);
        let templates = text(r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}"#);
        let page = read_templates_result(&templates).expect("a list");
        assert_eq!(page.entries[0].key, "a:{b}");
        assert!(read_list_result(&templates).is_none() && read_templates_result(&list).is_none());
    }

    #[test]
    fn what_is_read_is_text_or_bytes() {
        let mut out = Vec::new();
        write_read_result(&mut out, "a:b", "text/plain", Contents::Text("a\n"));
        write_read_result(&mut out, "a:b", "a/b", Contents::Blob(b"\0"));
        expect![[r#"{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"a\n"}]}{"contents":[{"uri":"a:b","mimeType":"a/b","blob":"AA=="}]}"#]]
            .assert_eq(&String::from_utf8(out).expect("UTF-8"));
    }

    #[test]
    fn a_missing_resource_is_named() {
        assert_eq!(not_found_data("a\"b"), r#"{"uri":"a\"b"}"#);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            uri in "\\PC{1,9}",
            token in prop::option::of("-?[1-9][0-9]{0,5}|\"[a-z]{0,3}\""),
            answers in prop::option::of("\\{\"[a-z]\":[0-9]\\}"),
            state in prop::option::of("\\PC{0,9}"),
        ) {
            let meta = token.as_ref().map(|token| format!("{{\"progressToken\":{token}}}"));
            let relayed = Relayed {
                meta: meta.as_deref(),
                input_responses: answers.as_deref(),
                request_state: state.as_deref(),
                task: None,
            };
            let written = Text::check(write_uri_params(&uri, &relayed).into()).expect("sound");
            let (read, extras) = uri_params("resources/read", Some(&written)).expect("sound");
            let text = |part: &Option<Text>| part.as_ref().map(|part| part.as_str().to_owned());
            prop_assert_eq!(read, uri);
            prop_assert_eq!(text(&extras.progress_token), token);
            prop_assert_eq!(text(&extras.meta), meta);
            prop_assert_eq!(text(&extras.input_responses), answers);
            prop_assert_eq!(extras.request_state, state);
        }
    }
}

//! The messages about prompts: getting one, and listing them.

use crate::error::WireError;
use crate::paging::{self, Page};
use crate::relayed::{self, Extras};
use crate::text::Text;

/// Reads the parameters of `prompts/get`: which prompt, and what they carry besides.
///
/// # Errors
/// `InvalidParams` if the name is missing, the arguments or the answers are no object, or the state is no string.
pub fn get_params(params: Option<&Text>) -> Result<(String, Extras), WireError> {
    relayed::named("prompts/get", "name", params)
}

/// Reads an upstream's answer to `prompts/list`; nothing if it is no list of prompts at all.
pub fn read_list_result(result: &Text) -> Option<Page> {
    paging::read_page(result, "prompts", "name", |_| true)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check(params: &str, expected: Expect) {
        expected.assert_eq(&match get_params(Some(&text(params))) {
            Ok((name, extras)) => format!("{name} {}", extras.request_state.as_deref().unwrap_or("-")),
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn parameters_are_read_or_refused() {
        check(r#"{"name":"\u0041","arguments":{},"requestState":"s"}"#, expect!["A s"]);
        check(r#"{"name":"a","arguments":null}"#, expect!["a -"]);
        check(
            r#"{"arguments":{}}"#,
            expect![[r#"-32602 Invalid params: prompts/get needs the string "name""#]],
        );
        check(
            r#"{"name":"a","arguments":[]}"#,
            expect![[r#"-32602 Invalid params: "arguments" must be an object"#]],
        );
        assert!(get_params(None).is_err());
    }

    #[test]
    fn lists_are_read_with_their_bytes() {
        let list = text(r#"{"prompts":[{"name":"a","x":1.0},{"name":""},{}]}"#);
        let page = read_list_result(&list).expect("a list");
        assert_eq!((page.entries.len(), page.unusable), (1, 2));
        assert_eq!(page.entries[0].text.as_str(), r#"{"name":"a","x":1.0}"#);
        assert!(read_list_result(&text("{}")).is_none());
    }
}

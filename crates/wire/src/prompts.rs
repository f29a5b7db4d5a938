//! The messages about prompts: getting one, and listing them.

use crate::error::WireError;
use crate::object::Object;
use crate::paging::{self, Page};
use crate::relayed::{Extras, Relayed, invalid};
use crate::string;
use crate::text::Text;

/// The parameters of `prompts/get`.
#[derive(Debug, Clone)]
pub struct GetParams {
    /// Which prompt.
    pub name: String,
    /// The arguments object, as written.
    pub arguments: Option<Text>,
    /// What it carries besides.
    pub extras: Extras,
}

/// Reads the parameters of `prompts/get`.
///
/// # Errors
/// `InvalidParams` if the name is missing, the arguments or the answers are no object, or the state is no string.
pub fn get_params(params: Option<&Text>) -> Result<GetParams, WireError> {
    let missing = || invalid("prompts/get needs the string \"name\"");
    let (Some(text), Some(object)) = (params, params.and_then(Text::object)) else {
        return Err(missing());
    };
    let (mut name, mut arguments, mut extras) = (None, None, Extras::default());
    for member in object.members() {
        match member.key().as_ref() {
            "name" => name = string::decode_if_string(member.value),
            "arguments" if member.value.starts_with('{') => arguments = Some(text.slice(member.value)),
            "arguments" if member.value == "null" => {}
            "arguments" => return Err(invalid("\"arguments\" must be an object")),
            key => extras.take(text, key, member.value)?,
        }
    }
    Ok(GetParams { name: name.ok_or_else(missing)?.into_owned(), arguments, extras })
}

/// Writes the parameters of `prompts/get`; `arguments` is JSON text.
pub fn write_get_params(name: &str, arguments: Option<&str>, relayed: &Relayed<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + arguments.map_or(0, str::len) + 64);
    out.extend_from_slice(b"{\"name\":");
    string::encode(name, &mut out);
    if let Some(arguments) = arguments {
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(arguments.as_bytes());
    }
    relayed.write(&mut out);
    out.push(b'}');
    out
}

/// A prompt in an upstream's list.
#[derive(Debug, Clone)]
pub struct ListedPrompt {
    /// Its name there.
    pub name: String,
    /// The whole `Prompt` object as it came.
    pub text: Text,
}

/// Reads an upstream's answer to `prompts/list`; nothing if it is no list of prompts at all.
pub fn read_list_result(result: &Text) -> Option<Page<ListedPrompt>> {
    paging::read_page(result, "prompts", |whole, entry| {
        let object = Object::parse(entry)?;
        let name = object.string("name").filter(|name| !name.is_empty())?.into_owned();
        Some(ListedPrompt { name, text: whole.slice(object.text()) })
    })
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
        expected.assert_eq(&match get_params(Some(&text(params))) {
            Ok(read) => format!("{} {}", read.name, read.arguments.as_ref().map_or("-", Text::as_str)),
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn parameters_are_read_or_refused() {
        check(r#"{"name":"a","arguments":{ "x":"\u0041" }}"#, expect![[r#"a { "x":"\u0041" }"#]]);
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

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            name in "\\PC{0,9}",
            arguments in prop::option::of("\\{\"[a-z]\":\"[a-z]\"\\}"),
            state in prop::option::of("\\PC{0,9}"),
        ) {
            let relayed = Relayed { request_state: state.as_deref(), ..Relayed::default() };
            let written = write_get_params(&name, arguments.as_deref(), &relayed);
            let read = get_params(Some(&Text::check(written.into()).expect("sound"))).expect("sound");
            prop_assert_eq!(read.name, name);
            prop_assert_eq!(read.arguments.map(|it| it.as_str().to_owned()), arguments);
            prop_assert_eq!(read.extras.request_state, state);
        }
    }
}

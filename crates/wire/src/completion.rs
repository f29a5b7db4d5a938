//! The request `completion/complete`: to whom it goes, and the same with another name.

use crate::edit::{self, Edit};
use crate::error::WireError;
use crate::relayed::{Extras, invalid};
use crate::text::Text;

/// What is being filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An argument of the prompt of this name.
    Prompt(String),
    /// A variable of the resource template of this text.
    Resource(String),
}

/// Reads the parameters of `completion/complete`: what is being filled in, and what they carry besides; it takes one
/// round, so no answers and no state.
///
/// # Errors
/// `InvalidParams` if `ref` names neither a prompt nor a resource, or `argument` is no object with name and value.
pub fn complete_params(params: Option<&Text>) -> Result<(Reference, Extras), WireError> {
    let (Some(text), Some(object)) = (params, params.and_then(Text::object)) else {
        return Err(invalid("completion/complete needs \"ref\" and \"argument\""));
    };
    let (mut reference, mut argument, mut extras) = (None, None, Extras::default());
    for member in object.members() {
        match member.key().as_ref() {
            "ref" => reference = self::reference(member.value),
            "argument" => argument = crate::Object::parse(member.value),
            "_meta" => extras.take(text, "_meta", member.value)?,
            _ => {}
        }
    }
    let reference = reference.ok_or_else(|| invalid("\"ref\" must name a prompt or a resource"))?;
    if !argument.is_some_and(|object| object.string("name").is_some() && object.string("value").is_some()) {
        return Err(invalid("\"argument\" must have the strings \"name\" and \"value\""));
    }
    Ok((reference, extras))
}

fn reference(value: &str) -> Option<Reference> {
    let object = crate::Object::parse(value)?;
    match object.string("type")?.as_ref() {
        "ref/prompt" => object.string("name").map(|name| Reference::Prompt(name.into_owned())),
        "ref/resource" => object.string("uri").map(|uri| Reference::Resource(uri.into_owned())),
        _ => None,
    }
}

/// The parameters as they go to an upstream: with `said` as the prompt's name or the template's text, with
/// `meta` (JSON text) or none as `_meta`, and every other byte as it came. `params` must have been read by
/// [`complete_params`].
pub fn redirected(params: &Text, name: &str, meta: Option<&str>) -> String {
    let Some(object) = params.object() else { return params.as_str().to_owned() };
    let named = edit::members(object, |member| match member.key().as_ref() {
        "ref" => Edit::value_or_keep(redirected_reference(member.value, name)),
        "_meta" => Edit::Drop,
        _ => Edit::Keep,
    });
    let named = named.unwrap_or_else(|| object.text().to_owned());
    match (meta, crate::Object::parse(&named)) {
        (Some(meta), Some(object)) => crate::patch::set(object, "_meta", meta),
        _ => named,
    }
}

fn redirected_reference(value: &str, name: &str) -> Option<String> {
    let object = crate::Object::parse(value)?;
    let key = match object.string("type")?.as_ref() {
        "ref/prompt" => "name",
        _ => "uri",
    };
    edit::member(value, key, |written| edit::mapped(written, &|_| name.to_owned()))
}

/// Writes a `CompleteResult` that offers nothing.
pub fn write_empty_result(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}}");
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
        let params = text(params);
        expected.assert_eq(&match complete_params(Some(&params)) {
            Ok((reference, _)) => {
                let sent = redirected(&params, "new\"", Some("{\"m\":1}"));
                let (again, _) = complete_params(Some(&text(&sent))).expect("still sound");
                let name = match again {
                    Reference::Prompt(name) | Reference::Resource(name) => name,
                };
                assert_eq!(name, "new\"");
                let plain = redirected(&params, "new", None);
                format!("{:?}\n{sent}\n{plain}", reference)
            }
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn requests_are_read_and_redirected() {
        check(
            r#"{"ref":{"type":"ref/prompt", "name":"a","title":"t"},"argument":{"name":"x","value":"\u0041"},"context":{"arguments":{ }}}"#,
            expect![[r#"
                Prompt("a")
                {"_meta":{"m":1},"ref":{"type":"ref/prompt", "name":"new\"","title":"t"},"argument":{"name":"x","value":"\u0041"},"context":{"arguments":{ }}}
                {"ref":{"type":"ref/prompt", "name":"new","title":"t"},"argument":{"name":"x","value":"\u0041"},"context":{"arguments":{ }}}"#]],
        );
        check(
            r#"{"_meta":{"progressToken":1},"ref":{"uri":"a:{b}","type":"ref/resource"},"argument":{"name":"b","value":""}}"#,
            expect![[r#"
                Resource("a:{b}")
                {"_meta":{"m":1},"ref":{"uri":"new\"","type":"ref/resource"},"argument":{"name":"b","value":""}}
                {"ref":{"uri":"new","type":"ref/resource"},"argument":{"name":"b","value":""}}"#]],
        );
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for reference in
            [r#"{"type":"ref/prompt"}"#, r#"{"type":"ref/tool","name":"a"}"#, r#"{"name":"a"}"#, "5"]
        {
            let params = format!(r#"{{"ref":{reference},"argument":{{"name":"x","value":""}}}}"#);
            check(&params, expect![[r#"-32602 Invalid params: "ref" must name a prompt or a resource"#]]);
        }
        for argument in ["{}", r#"{"name":"x"}"#, r#"{"name":"x","value":5}"#, "[]"] {
            let params = format!(r#"{{"ref":{{"type":"ref/prompt","name":"a"}},"argument":{argument}}}"#);
            check(
                &params,
                expect![[r#"-32602 Invalid params: "argument" must have the strings "name" and "value""#]],
            );
        }
        assert!(complete_params(None).is_err());
    }

    #[test]
    fn an_empty_result_is_sound() {
        let mut out = Vec::new();
        write_empty_result(&mut out);
        let result = Text::check(out.into()).expect("sound");
        assert!(result.object().and_then(|object| object.object("completion")).is_some());
    }
}

//! The parameters of `tools/call`: a client's, and ours to an upstream.

use bytestring::ByteString;

use crate::error::WireError;
use crate::object_writer::ObjectWriter;
use crate::relayed::{Extras, Relayed, invalid};
use crate::text::Text;

/// Room for the `_meta` that is put behind the parameters once the request's number is known, in bytes: without
/// it they would be copied once more.
const META_BYTES: usize = 512;

/// The parameters of `tools/call`.
#[derive(Debug, Clone)]
pub struct CallParams {
    /// Which tool.
    pub name: ByteString,
    /// The arguments object, as written.
    pub arguments: Option<Text>,
    /// What a client of 2025-11-25 says that wants a task of it, as written.
    pub task: Option<Text>,
    /// What it carries besides.
    pub extras: Extras,
}

/// Reads the parameters of `tools/call`.
///
/// # Errors
/// `InvalidParams` if the name is missing, the arguments or the answers are no object, or the state is no string.
pub fn call_params(params: Option<&Text>) -> Result<CallParams, WireError> {
    let missing = || invalid("tools/call needs the string \"name\"");
    let (Some(text), Some(object)) = (params, params.and_then(Text::object)) else {
        return Err(missing());
    };
    let (mut name, mut arguments, mut task, mut extras) = (None, None, None, Extras::default());
    for member in object.members() {
        match member.key().as_ref() {
            "name" => name = text.string(member.value),
            "arguments" if member.value.starts_with('{') => arguments = Some(text.slice(member.value)),
            "arguments" => return Err(invalid("\"arguments\" must be an object")),
            "task" => task = Some(text.slice(member.value)),
            key => extras.take(text, key, member.value)?,
        }
    }
    Ok(CallParams { name: name.ok_or_else(missing)?, arguments, task, extras })
}

/// Writes the parameters of a `tools/call` that is passed on with everything that belongs to it. `arguments` is
/// JSON text.
pub fn write_call(name: &str, arguments: Option<&str>, relayed: &Relayed<'_>) -> Vec<u8> {
    let meta_bytes = relayed.meta.map_or(META_BYTES, str::len);
    let mut out = Vec::with_capacity(name.len() + arguments.map_or(0, str::len) + meta_bytes + 64);
    relayed.end(ObjectWriter::begin(&mut out).string("name", name).json("arguments", arguments));
    out
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::error::Code;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check_call(params: &str, expected: Expect) {
        expected.assert_eq(&match call_params(Some(&text(params))) {
            Ok(call) => format!(
                "{} {} {}",
                call.name,
                call.arguments.as_ref().map_or("-", Text::as_str),
                call.extras.progress_token.as_ref().map_or("-", Text::as_str)
            ),
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn reads_call_parameters() {
        check_call(
            r#"{"name":"a\u0062","arguments":{ "x":1.0 },"_meta":{"progressToken":7}}"#,
            expect![[r#"ab { "x":1.0 } 7"#]],
        );
        check_call(r#"{"name":"a","_meta":{"progressToken":{}}}"#, expect!["a - -"]);
        check_call(r#"{"name":"a","_meta":null}"#, expect!["a - -"]);
        check_call(
            r#"{"name":"a","arguments":[1]}"#,
            expect![[r#"-32602 Invalid params: "arguments" must be an object"#]],
        );
        check_call(
            r#"{"name":5}"#,
            expect![[r#"-32602 Invalid params: tools/call needs the string "name""#]],
        );
        assert_eq!(call_params(None).expect_err("nothing given").code, Code::InvalidParams);
    }

    #[test]
    fn what_is_said_to_us_is_read_however_it_is_spelt() {
        let read = |meta: &str| {
            let params = text(&format!(r#"{{"name":"t","_meta":{meta}}}"#));
            match call_params(Some(&params)) {
                Err(error) => error.message,
                Ok(CallParams { extras, .. }) => format!(
                    "{:?} {} {:?} {:?}",
                    extras.request_id,
                    extras.dry_run,
                    extras.plan_hash,
                    extras.job.as_ref().map(Text::as_str)
                ),
            }
        };
        let all = r#"Some("r") true Some("h") Some("{}")"#;
        for meta in [
            r#"{"toolcrib/request_id":"r","toolcrib/dry_run":true,"toolcrib/plan_hash":"h","toolcrib/job":{}}"#,
            r#"{"toolcrib\/request_id":"r","toolcrib\/dry_run":true,"toolcrib\/plan_hash":"h","toolcrib\/job":{}}"#,
            r#"{"t\u006folcrib/request_id":"\u0072","to\u006flcrib/dry_run":true,"\u0074oolcrib/plan_hash":"h","toolcri\u0062/job":{}}"#,
        ] {
            assert_eq!(read(meta), all, "{meta}");
        }
        for meta in ["{}", r#"{"x":"toolcrib/dry_run"}"#, r#"{"x":{"toolcrib/dry_run":true}}"#] {
            assert_eq!(read(meta), "None false None None", "{meta}");
        }
        for (key, value) in
            [("request_id", "5"), ("request_id", r#""""#), ("dry_run", "1"), ("plan_hash", "1")]
        {
            let refused = read(&format!(r#"{{"toolcrib\/{key}":{value}}}"#));
            assert!(refused.contains(&format!("\"toolcrib/{key}\" must be")), "{refused}");
        }
    }

    #[test]
    fn what_belongs_to_a_round_is_read_and_written() {
        let params = r#"{"name":"t","arguments":{ },"_meta":{"x":1.0},"inputResponses":{"k":{}},"requestState":"s\"","task":{"ttl":5}}"#;
        let read = call_params(Some(&text(params))).expect("sound");
        let text_of = |part: &Option<Text>| part.as_ref().map(|part| part.as_str().to_owned());
        let (answers, meta) = (text_of(&read.extras.input_responses), text_of(&read.extras.meta));
        assert_eq!(answers.as_deref(), Some(r#"{"k":{}}"#));
        let relayed = Relayed {
            meta: meta.as_deref(),
            input_responses: answers.as_deref(),
            request_state: read.extras.request_state.as_deref(),
            task: Some(r#"{"ttl":5}"#),
        };
        let written = write_call(&read.name, text_of(&read.arguments).as_deref(), &relayed);
        assert_eq!(String::from_utf8(written).expect("UTF-8"), params);
        assert_eq!(write_call("t", None, &Relayed::default()), br#"{"name":"t"}"#);
        // A hint that makes no sense is no reason to refuse a call.
        assert!(call_params(Some(&text(r#"{"name":"t","task":5}"#))).is_ok());
    }
}

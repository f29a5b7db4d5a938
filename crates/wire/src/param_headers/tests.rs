//! Schemas, arguments and headers, and what comes of them.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::scan;

fn object(text: &str) -> Object<'_> {
    scan::check(text.as_bytes()).expect("a sample is sound");
    Object::parse(text).expect("a sample is an object")
}

#[track_caller]
fn check_read(properties: &str, expected: Expect) {
    let schema = format!("{{\"type\":\"object\",\"properties\":{{{properties}}}}}");
    check_schema(&schema, expected);
}

#[track_caller]
fn check_schema(schema: &str, expected: Expect) {
    object(schema);
    expected.assert_eq(&match ParamHeaders::read(schema) {
        Ok(read) => read
            .annotated
            .iter()
            .map(|annotated| format!("{}={}", annotated.header, annotated.path.join(".")))
            .collect::<Vec<_>>()
            .join(" "),
        Err(fault) => fault.to_string(),
    });
}

#[test]
fn annotations_are_found_at_plain_properties() {
    check_read(r#""a":{"type":"string"}"#, expect![""]);
    check_read(
        r#""a":{"type":"string","x-mcp-header":"Region"},"b":{"x-mcp-header":"X_1","type":"integer"}"#,
        expect!["mcp-param-region=a mcp-param-x_1=b"],
    );
    check_read(
        r#""o":{"type":"object","properties":{"in.ner":{"type":"boolean","x-mcp-header":"Deep"}}}"#,
        expect!["mcp-param-deep=o.in.ner"],
    );
    check_read(r#""a":{"type":"string","x\u002dmcp-header":"A"}"#, expect!["mcp-param-a=a"]);
    // Not annotations, but an argument of this name, and data.
    check_read(r#""x-mcp-header":{"type":"string"}"#, expect![""]);
    check_read(
        r#""a":{"type":"object","default":{"x-mcp-header":"no"},"enum":[{"x-mcp-header":1}]}"#,
        expect![""],
    );
}

#[test]
fn annotations_that_break_a_rule_are_named() {
    check_read(
        r#""v":{"type":"string","x-mcp-header":""}"#,
        expect![[r#"the x-mcp-header of "v" is no header name"#]],
    );
    for bad in ["My Region", "Region:Primary", "Région", "Region\\t1", "a\\u0000"] {
        let properties = format!(r#""v":{{"type":"string","x-mcp-header":"{bad}"}}"#);
        check_read(&properties, expect![[r#"the x-mcp-header of "v" is no header name"#]]);
    }
    check_read(
        r#""v":{"type":"string","x-mcp-header":5}"#,
        expect![[r#"the x-mcp-header of "v" is no header name"#]],
    );
    for bad in [r#""object""#, r#""array""#, r#""null""#, r#""number""#, r#"["string","null"]"#] {
        let properties = format!(r#""v":{{"type":{bad},"x-mcp-header":"V"}}"#);
        check_read(
            &properties,
            expect![[r#"the x-mcp-header of "v" stands at what is neither integer, string nor boolean"#]],
        );
    }
    check_read(
        r#""v":{"x-mcp-header":"V"}"#,
        expect![[r#"the x-mcp-header of "v" stands at what is neither integer, string nor boolean"#]],
    );
    check_read(
        r#""a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"}"#,
        expect![[r#"the x-mcp-header of "b" is given twice"#]],
    );
    for bad in [
        r#""v":{"type":"array","items":{"type":"string","x-mcp-header":"V"}}"#,
        r#""v":{"oneOf":[{"type":"string","x-mcp-header":"V"}]}"#,
        r#""v":{"not":{"properties":{"w":{"type":"string","x-mcp-header":"V"}}}}"#,
        r#""v":{"$defs":{"d":{"type":"string","x-mcp-header":"V"}}}"#,
    ] {
        let properties = bad.to_owned();
        let schema = format!("{{\"properties\":{{{properties}}}}}");
        let fault = ParamHeaders::read(&schema).expect_err("the place is wrong");
        assert!(fault.ends_with("outside of plain properties"), "{bad}: {fault}");
    }
    check_schema(
        r#"{"type":"string","x-mcp-header":"V"}"#,
        expect![[r#"there is an x-mcp-header below "", outside of plain properties"#]],
    );
    let many: Vec<String> = (0..=PARAM_HEADERS_MAX)
        .map(|n| format!(r#""p{n}":{{"type":"string","x-mcp-header":"P{n}"}}"#))
        .collect();
    check_read(&many.join(","), expect!["more than 64 arguments have an x-mcp-header"]);
}

const SCHEMA: &str = r#"{"properties":{
    "s":{"type":"string","x-mcp-header":"S"},
    "i":{"type":"integer","x-mcp-header":"I"},
    "b":{"type":"boolean","x-mcp-header":"B"},
    "o":{"properties":{"s":{"type":"string","x-mcp-header":"Deep"}}}}}"#;

#[test]
fn values_are_spelt_for_a_header() {
    let headers = ParamHeaders::read(SCHEMA).expect("sound");
    let cases = [
        ("{}", ""),
        (r#"{"s":null,"i":null,"o":null}"#, ""),
        (r#"{"s":"","i":42,"b":false,"o":{"s":"x"}}"#, "s= i=42 b=false deep=x"),
        (r#"{"s":" a"}"#, "s==?base64?IGE=?="),
        (r#"{"s":"\u4e16"}"#, "s==?base64?5LiW?="),
        (r#"{"i":-0}"#, "i=0"),
        (r#"{"i":4.20e1}"#, "i=42"),
        (r#"{"i":9007199254740993}"#, "i=9007199254740993"),
        (r#"{"i":1.5}"#, "i=1.5"),
        (r#"{"s":[1],"o":{"s":{}}}"#, ""),
        (r#"{"o":"s"}"#, ""),
    ];
    for (arguments, expected) in cases {
        let values = headers.values(Some(object(arguments)));
        let shown: Vec<String> =
            values.iter().map(|(name, value)| format!("{}={value}", &name[PARAM_PREFIX.len()..])).collect();
        assert_eq!(shown.join(" "), expected, "{arguments}");
    }
    assert!(headers.values(None).is_empty());
}

#[track_caller]
fn check_pair(argument: &str, value: HeaderText<'_>, expected: Expect) {
    let headers = ParamHeaders::read(SCHEMA).expect("sound");
    let arguments = format!("{{{argument}}}");
    let name = if argument.starts_with("\"i\"") { "mcp-param-i" } else { "mcp-param-s" };
    let header = |header: &str| if header == name { value } else { HeaderText::Absent };
    expected.assert_eq(
        &headers.check(Some(object(&arguments)), &header).map_or_else(|why| why, |()| "ok".into()),
    );
}

#[test]
fn headers_and_arguments_must_agree() {
    use HeaderText::{Absent, Once, Repeated, Unreadable};
    check_pair(r#""s":"a""#, Once("a"), expect!["ok"]);
    check_pair(r#""s":"a""#, Once(" a\t"), expect!["ok"]);
    check_pair(r#""s":"Hello""#, Once("=?base64?SGVsbG8=?="), expect!["ok"]);
    check_pair(r#""s":"=?base64?SGVsbG8=""#, Once("=?base64?SGVsbG8="), expect!["ok"]);
    check_pair(r#""s":"""#, Once(""), expect!["ok"]);
    check_pair("", Absent, expect!["ok"]);
    check_pair(r#""s":null"#, Absent, expect!["ok"]);
    check_pair(r#""s":"a""#, Once("A"), expect!["the header mcp-param-s and its argument differ"]);
    check_pair(
        r#""s":"a""#,
        Absent,
        expect!["the header mcp-param-s is missing, but its argument has a value"],
    );
    check_pair(
        r#""s":"""#,
        Absent,
        expect!["the header mcp-param-s is missing, but its argument has a value"],
    );
    check_pair("", Once("a"), expect!["the header mcp-param-s is there, but its argument has no value"]);
    check_pair(
        r#""s":null"#,
        Once(""),
        expect!["the header mcp-param-s is there, but its argument has no value"],
    );
    check_pair(r#""s":"a""#, Repeated, expect!["the header mcp-param-s is there more than once"]);
    check_pair("", Unreadable, expect!["the header mcp-param-s is not printable ASCII"]);
    check_pair(r#""s":[1]"#, Absent, expect!["ok"]);
    check_pair(r#""s":[1]"#, Once("[1]"), expect!["the header mcp-param-s and its argument differ"]);
    check_pair(
        r#""s":"Hello""#,
        Once("=?base64?SGVs!!!bG8=?="),
        expect![[
            r#"the header mcp-param-s: the header's value is neither printable ASCII nor the base64 of UTF-8 text between "=?base64?" and "?=""#
        ]],
    );
}

#[test]
fn whole_numbers_are_compared_by_value() {
    use HeaderText::Once;
    for (argument, header, same) in [
        ("42", "42", true),
        ("42", "42.0", true),
        ("4.2e1", "42", true),
        ("42", "0042", true),
        ("42", "+42", false),
        ("42", "4.2e1", false),
        ("42", "42.0000000000000000000001", false),
        ("42", "43", false),
        ("42", "", false),
        ("42", "-", false),
        ("9007199254740993", "9007199254740993", true),
        ("9007199254740993", "9007199254740992", false),
        ("1e999", "1e999", true),
        ("\"42\"", "42", true),
        ("\"042\"", "42", false),
    ] {
        let expected =
            if same { expect!["ok"] } else { expect!["the header mcp-param-i and its argument differ"] };
        check_pair(&format!("\"i\":{argument}"), Once(header), expected);
    }
}

proptest! {
    /// A server accepts what a client of ours sends, whatever the arguments.
    #[test]
    fn what_is_sent_is_accepted(
        s in prop::option::of("\\PC*|[\\x00-\\x7f]*"),
        i in prop::option::of("-?(0|[1-9][0-9]{0,18})(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?"),
        b: Option<bool>,
    ) {
        let mut members = Vec::new();
        members.extend(s.map(|s| format!("\"s\":{}", crate::string::literal(&s))));
        members.extend(i.map(|i| format!("\"i\":{i}")));
        members.extend(b.map(|b| format!("\"b\":{b}")));
        let arguments = format!("{{{}}}", members.join(","));
        let headers = ParamHeaders::read(SCHEMA).expect("sound");
        let sent = headers.values(Some(object(&arguments)));
        prop_assert_eq!(sent.len(), members.len());
        let header = |header: &str| match sent.iter().find(|(name, _)| name == header) {
            Some((_, value)) => HeaderText::Once(value),
            None => HeaderText::Absent,
        };
        prop_assert_eq!(headers.check(Some(object(&arguments)), &header), Ok(()));
    }
}

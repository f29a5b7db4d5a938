//! Definitions and arguments before and after.

use expect_test::{Expect, expect};

use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(Box<str>, Box<str>)> {
    pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn sent(fixed: &[(&str, &str)], defaults: &[(&str, &str)]) -> Option<Arc<Sent>> {
    Some(Sent::new(pairs(fixed), pairs(defaults)).into())
}

fn text(json: &str) -> Text {
    Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
}

const TOOL: &str = r#"{ "name":"t","x":1.0 ,"description":"Old.", "inputSchema":{"type":"object", "properties":{ "a":{"type":"string", "x":1e3}, "b":true,"c":{ } , "d":false},"required":[ "a" , "b"],"additionalProperties":false} ,"y":[1 , 2]}"#;

#[track_caller]
fn check(reshaped: ToolOverride, expected: Expect) {
    let changed = reshaped.definition(&text(TOOL));
    expected.assert_eq(changed.as_ref().map_or("as it came", Text::as_str));
}

#[test]
fn only_what_is_named_changes_in_a_definition() {
    check(ToolOverride::default(), expect![["as it came"]]);
    check(ToolOverride { name: Some("n".to_owned()), ..ToolOverride::default() }, expect![["as it came"]]);
    check(
        ToolOverride { description: Some("New \"one\".\n".to_owned()), ..ToolOverride::default() },
        expect![[
            r#"{ "name":"t","x":1.0 ,"description":"New \"one\".\n", "inputSchema":{"type":"object", "properties":{ "a":{"type":"string", "x":1e3}, "b":true,"c":{ } , "d":false},"required":[ "a" , "b"],"additionalProperties":false} ,"y":[1 , 2]}"#
        ]],
    );
    check(
        ToolOverride { sent: sent(&[("a", "1")], &[]), ..ToolOverride::default() },
        expect![[
            r#"{ "name":"t","x":1.0 ,"description":"Old.", "inputSchema":{"type":"object", "properties":{  "b":true,"c":{ } , "d":false},"required":["b"],"additionalProperties":false} ,"y":[1 , 2]}"#
        ]],
    );
    check(
        ToolOverride {
            sent: sent(&[], &[("a", "\"x\""), ("b", "1.0"), ("d", "2")]),
            ..ToolOverride::default()
        },
        expect![[
            r#"{ "name":"t","x":1.0 ,"description":"Old.", "inputSchema":{"type":"object", "properties":{ "a":{"default":"x","type":"string", "x":1e3}, "b":{"default":1.0},"c":{ } , "d":false},"additionalProperties":false} ,"y":[1 , 2]}"#
        ]],
    );
    check(
        ToolOverride {
            sent: sent(&[("b", "1"), ("none", "2")], &[("a", "null"), ("nor", "3")]),
            ..ToolOverride::default()
        },
        expect![[
            r#"{ "name":"t","x":1.0 ,"description":"Old.", "inputSchema":{"type":"object", "properties":{ "a":{"default":null,"type":"string", "x":1e3},"c":{ } , "d":false},"additionalProperties":false} ,"y":[1 , 2]}"#
        ]],
    );
}

#[test]
fn schemas_without_properties_are_left_alone() {
    let reshaped = ToolOverride { sent: sent(&[("a", "1")], &[("b", "2")]), ..ToolOverride::default() };
    for schema in
        ["{}", r#"{"type":"object"}"#, r#"{"properties":[],"required":"a"}"#, r#"{"required":[5,"c"]}"#]
    {
        let tool = format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
        assert_eq!(reshaped.definition(&text(&tool)).expect("a definition").as_str(), tool);
    }
}

#[test]
fn what_callers_cannot_keep_to_goes() {
    let tool = r#"{"name":"t","inputSchema":{"anyOf":[{"required":["a"]},{"required":["q"]}],"minProperties":2,"properties":{"a":{},"q":{}},"required":["q"]}}"#;
    let schema = |reshaped: ToolOverride| {
        let definition = reshaped.definition(&text(tool)).expect("a definition");
        definition.object().and_then(|tool| tool.object("inputSchema")).expect("a schema").text().to_owned()
    };
    assert_eq!(
        schema(ToolOverride { sent: sent(&[("a", "1")], &[]), ..ToolOverride::default() }),
        r#"{"properties":{"q":{}},"required":["q"]}"#
    );
    assert_eq!(
        schema(ToolOverride { sent: sent(&[], &[("a", "1")]), ..ToolOverride::default() }),
        r#"{"properties":{"a":{"default":1},"q":{}},"required":["q"]}"#
    );
}

#[test]
fn what_says_something_of_all_arguments_goes_and_the_rest_stays_as_it_came() {
    let added = ToolOverride { sent: sent(&[("ours", "1")], &[]), ..ToolOverride::default() };
    for key in OF_MEMBERS.split(' ') {
        let schema =
            format!(r#"{{"a":1.0,"{key}":[{{"required":["ours"]}}],"properties":{{"q":{{"{key}":1}}}}}}"#);
        let tool = text(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#));
        let left = r#"{"name":"t","inputSchema":{"a":1.0,"properties":{"q":{"KEY":1}}}}"#.replace("KEY", key);
        assert_eq!(added.definition(&tool).expect("a definition").as_str(), left);
        assert_eq!(added.obstacle(&tool), None);
    }
}

#[test]
fn what_is_described_elsewhere_cannot_be_hidden() {
    for (key, sent, is_refused) in [
        ("$ref", sent(&[("ours", "1")], &[]), true),
        ("$dynamicRef", sent(&[("ours", "1")], &[]), true),
        ("$ref", sent(&[], &[("ours", "1")]), false),
        ("$refs", sent(&[("ours", "1")], &[]), false),
    ] {
        let tool = text(&format!(r##"{{"name":"t","inputSchema":{{"{key}":"#/$defs/it"}}}}"##));
        let reshaped = ToolOverride { sent, ..ToolOverride::default() };
        assert_eq!(reshaped.obstacle(&tool).is_some(), is_refused, "{key}");
    }
}

#[test]
fn arguments_are_added_and_the_rest_keeps_its_bytes() {
    let sent = sent(&[("a", r#"{"x":1}"#), ("k\"", "2")], &[("b", "\"d\""), ("c", "null")]).expect("some");
    for (before, after) in [
        ("{}", r#"{"c":null,"b":"d","k\"":2,"a":{"x":1}}"#),
        (r#"{ "z" : 1.0 }"#, r#"{"c":null,"b":"d","k\"":2,"a":{"x":1}, "z" : 1.0 }"#),
        (r#"{"b":1e2,"c":"x","a":"mine","k\u0022":0}"#, r#"{"b":1e2,"c":"x","a":{"x":1},"k\u0022":2}"#),
        // A caller who says null says something.
        (r#"{"b":null,"c":1,"a":1,"k\"":1}"#, r#"{"b":null,"c":1,"a":{"x":1},"k\"":2}"#),
    ] {
        assert_eq!(sent.with(before), after);
    }
}

fn globs(written: &[&str]) -> Option<Globs> {
    let written: Vec<String> = written.iter().map(|&glob| glob.to_owned()).collect();
    Some(Globs::new(&written, |at, why| panic!("{at}: {why}")))
}

#[test]
fn who_is_excluded_is_out_even_if_included() {
    let admitted = |include: Option<Globs>, exclude: Option<Globs>| {
        let shape = ToolFilter { include, exclude, ..ToolFilter::default() };
        let names = ["read_file", "read_dir", "write_file", "a/b"];
        names.into_iter().filter(|name| shape.admits(name)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(admitted(None, None), "read_file read_dir write_file a/b");
    assert_eq!(admitted(globs(&["read_*"]), None), "read_file read_dir");
    assert_eq!(admitted(globs(&["*_file", "a*"]), globs(&["write_*"])), "read_file a/b");
    assert_eq!(admitted(None, globs(&["*"])), "");
}

#[test]
fn warnings_are_found() {
    let entry = |name: &'static str, properties: &str| {
        let tool = format!(r#"{{"name":"{name}","inputSchema":{{"properties":{properties}}}}}"#);
        (name, text(&tool))
    };
    let tools = [entry("read", r#"{"path":{}}"#), entry("write", "{}")];
    let tools = tools.each_ref().map(|(name, text)| (*name, text));
    let reshaped = |arguments: &[(&str, &str)]| ToolOverride {
        sent: sent(arguments, &[("path", "1")]),
        ..ToolOverride::default()
    };
    let shape = ToolFilter {
        include: globs(&["re*", "reed", "w*"]),
        exclude: globs(&["x*"]),
        tools: [
            ("read", reshaped(&[("pth", "1")])),
            ("raed", ToolOverride::default()),
            ("write", reshaped(&[])),
        ]
        .map(|(name, reshaped)| (name.to_owned(), reshaped))
        .into(),
    };
    expect![[r#"
        include[1]: "reed" matches none of its tools
        exclude[0]: "x*" matches none of its tools
        tool.raed: it has no tool of this name
        tool.read: the tool has no argument `pth`
        tool.write: the tool has no argument `path`"#]]
    .assert_eq(&shape.mistakes(&tools).join("\n"));
    assert!(ToolFilter::default().mistakes(&tools).is_empty());
}

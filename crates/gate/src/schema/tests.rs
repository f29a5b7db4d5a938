//! Schemas: what does not fit is told so that it can be repaired, and no schema and value together take long.

#[expect(clippy::disallowed_methods, reason = "the suite is read from files")]
mod suite;

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

#[track_caller]
fn check(value: Value, expected: Expect) {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1 },
            "limit": { "type": "integer", "minimum": 1 },
            "mode": { "enum": ["text", "base64"] },
            "nested": { "type": "array", "items": { "type": ["string", "null"] } },
            "even": { "multipleOf": 2 },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    let misfit = schema.check(&value).err();
    let lines = misfit.map(|found| Violation::lines(&found.violations())).unwrap_or_default();
    expected.assert_eq(&lines);
}

#[test]
fn violations_name_the_pointer_what_was_expected_and_what_came() {
    check(json!({ "path": "x", "limit": 5, "mode": "text", "nested": ["a", null] }), expect![""]);
    check(
        json!({}),
        expect![[r#"

        - (the whole): expected the member "path", got an object with no members"#]],
    );
    check(
        json!({ "path": 5, "limit": "abc", "nested": ["a", 1] }),
        expect![[r#"

        - /limit: expected integer, got string "abc"
        - /nested/1: expected null or string, got integer 1
        - /path: expected string, got integer 5"#]],
    );
    check(
        json!({ "path": "", "limit": 0, "mode": "hex", "pth": 1, "even": 3 }),
        expect![[r#"

        - /even: expected a value for which this holds: value is not a multiple of 2, got integer 3
        - /limit: expected at least 1, got integer 0
        - /mode: expected one of ["text","base64"], got string "hex"
        - /path: expected at least 1 characters, got string ""
        - (the whole): expected no member "pth" (did you mean "path"?), got an object with the members even, limit, mode, path, pth"#]],
    );
    check(
        json!({ "path": "x", "mode": "y".repeat(200) }),
        expect![[r#"

            - /mode: expected one of ["text","base64"], got a string of 200 characters"#]],
    );
}

/// Compiles it and checks a value with it, and says how that ended.
fn tried(schema: &Value, value: &Value) -> Result<bool, String> {
    let schema = Schema::compile(schema.to_string().as_bytes())?;
    Ok(schema.check(value).is_ok())
}

/// What a check says that reads values as servers would.
fn fits_leniently(schema: &Value, value: &Value) -> bool {
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    schema.check_leniently(value).is_ok()
}

#[test]
fn what_servers_turn_into_what_they_expect_is_let_through() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": 1 },
            "maybe": { "anyOf": [{ "type": "number" }, { "type": "null" }] },
            "text": { "type": "string" },
            "flag": { "type": "boolean" },
            "level": { "enum": [1, 2] },
            "list": { "type": "array", "items": { "type": "integer" } },
            "deep": { "oneOf": [{ "type": "object", "properties": { "a/b": { "type": "number" } }, "required": ["a/b"] }] },
        },
        "required": ["n"],
        "additionalProperties": false,
    });
    for (value, fits) in [
        (json!({ "n": "1" }), true),
        (json!({ "n": " 7 ", "text": 5, "flag": "True", "list": ["1", 2], "maybe": "1.5" }), true),
        (json!({ "n": true, "flag": 0, "level": "2", "deep": { "a/b": "1e3" } }), true),
        (
            json!({ "n": 1, "text": null, "flag": null, "list": null, "deep": null, "level": null, "maybe": null }),
            true,
        ),
        (json!({ "n": "0" }), false),
        (json!({ "n": "1.5" }), false),
        (json!({ "n": "one" }), false),
        (json!({ "n": null }), false),
        (json!({ "text": "x" }), false),
        (json!({ "n": 1, "flag": "maybe" }), false),
        (json!({ "n": 1, "level": "3" }), false),
        (json!({ "n": 1, "text": ["x"] }), false),
        (json!({ "n": 1, "list": "[1]" }), false),
        (json!({ "n": 1, "list": [null] }), false),
        (json!({ "n": 1, "deep": { "a/b": null } }), false),
        (json!({ "n": 1, "nn": null }), false),
    ] {
        assert_eq!(fits_leniently(&schema, &value), fits, "{value}");
        assert!(tried(&schema, &value).is_ok_and(|is_strict| !is_strict) || value.get("maybe").is_some());
    }
}

#[test]
fn what_means_one_thing_alone_is_read_as_that() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "maximum": 9 },
            "part": { "type": "number" },
            "flag": { "type": "boolean" },
            "text": { "type": "string" },
            "edits": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } },
            "options": { "type": "object" },
            "all_json": { "type": "string" },
        },
        "required": ["n"],
        "additionalProperties": false,
    });
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    for (value, meant) in [
        (
            json!({ "n": "1", "part": "1.5", "flag": "true" }),
            Some(json!({ "n": 1, "part": 1.5, "flag": true })),
        ),
        // What stands within a text is read as well, once it is.
        (json!({ "n": 1, "edits": r#"[{"n":"2"}]"# }), Some(json!({ "n": 1, "edits": [{ "n": 2 }] }))),
        (json!({ "n": 1, "options": "{}" }), Some(json!({ "n": 1, "options": {} }))),
        (json!({ "n": 1, "all_json": [{ "a": 1 }] }), Some(json!({ "n": 1, "all_json": r#"[{"a":1}]"# }))),
        (json!({ "n": 1, "text": null, "edits": null }), Some(json!({ "n": 1 }))),
        (json!({ "n": null }), None),
        (json!({ "n": "1.0" }), None),
        (json!({ "n": "one" }), None),
        (json!({ "n": "" }), None),
        (json!({ "n": true }), None),
        (json!({ "n": "10" }), None),
        (json!({ "n": 1, "flag": "yes" }), None),
        (json!({ "n": 1, "flag": "True" }), None),
        (json!({ "n": 1, "flag": 1 }), None),
        (json!({ "n": 1, "text": 5 }), None),
        (json!({ "n": 1, "text": ["x"] }), None),
        (json!({ "n": 1, "all_json": 5 }), None),
        (json!({ "n": 1, "edits": "a, b" }), None),
        (json!({ "n": 1, "edits": "{}" }), None),
        (json!({ "n": 1, "edits": { "n": 1 } }), None),
        (json!({ "n": 1, "edits": [null] }), None),
        // All of it must fit then.
        (json!({ "n": "1", "text": 5 }), None),
        (json!({ "n": "1", "m": 5 }), None),
    ] {
        assert_eq!(schema.meant(&value), meant, "{value}");
    }
}

#[test]
fn bombs_are_refused_or_harmless() {
    let branch = |nth: usize| json!({ "required": [format!("p{nth}")] });
    let many = json!({ "anyOf": (0..10_000).map(branch).collect::<Vec<_>>() });
    let items = json!({ "items": many });
    let long = json!("a".repeat(100_000) + "!");
    let cycle = json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
    let mut doubled = json!({ "d0": {} });
    for nth in 1..=40 {
        let before = json!({ "$ref": format!("#/$defs/d{}", nth - 1) });
        doubled[format!("d{nth}")] = json!({ "allOf": [before.clone(), before] });
    }
    let doubled = json!({ "$defs": doubled, "$ref": "#/$defs/d40" });
    let huge = json!({ "description": "x".repeat(2 * 1024 * 1024) });
    let array = |length: usize| Value::Array(vec![json!({}); length]);
    let outcome = |schema: &Value, value: &Value| tried(schema, value).map_err(|why| why[..22].to_owned());
    assert_eq!(outcome(&json!({ "pattern": "^(a+)+$" }), &long), Ok(false));
    assert_eq!(outcome(&many, &json!({ "p9999": 1 })), Ok(true));
    assert_eq!(outcome(&many, &json!({ "p10000": 1 })), Ok(false));
    assert_eq!(outcome(&items, &array(10)), Ok(false));
    assert_eq!(outcome(&items, &array(2_000)), Ok(false), "refused by its cost");
    assert_eq!(outcome(&cycle, &json!(1)), Ok(true));
    assert_eq!(outcome(&doubled, &json!(1)), Err("it looks at one value ".to_owned()));
    let recursive = json!({ "oneOf": [{ "type": "string" }, { "items": { "$ref": "#" } }, { "items": { "$ref": "#" }, "maxItems": 0 }] });
    let deep = |levels: usize| (0..levels).fold(json!(5), |within, _| json!([within]));
    assert_eq!(outcome(&recursive, &deep(100)), Ok(false), "refused by its cost");
    assert_eq!(outcome(&huge, &json!(1)), Err("it has 2097170 bytes, ".to_owned()));
}

#[test]
fn a_pattern_with_look_around_is_not_checked_and_all_else_is() {
    let schema = json!({ "pattern": "^(?!\\.)[a-z.]+$", "type": "string", "minLength": 2 });
    for (value, fits) in [(json!("a.b"), true), (json!(".a"), true), (json!("a"), false), (json!(1), false)] {
        assert_eq!(tried(&schema, &value), Ok(fits), "{value}");
    }
}

#[test]
fn a_bad_schema_says_why() {
    for text in [r#"{"type":"strng"}"#, "{", r#"{"required":5}"#, r##"{"$ref":"http://127.0.0.1/x"}"##] {
        assert!(!Schema::compile(text.as_bytes()).expect_err(text).is_empty());
    }
}

#[test]
fn a_schema_that_every_server_gets_along_with_is_used_as_far_as_it_goes() {
    for (schema, fits, does_not) in [
        (json!({ "items": [{ "type": "integer" }] }), json!([1, "x"]), json!(["x"])),
        (json!({ "$schema": "https://example.com/mine", "type": "integer" }), json!(1), json!("x")),
        (json!({ "type": "string", "pattern": "(" }), json!("x"), json!(1)),
        (json!({ "type": "string", "pattern": "^.{1,1000000}$" }), json!("x"), json!(1)),
        (
            json!({ "patternProperties": { "(": {} }, "additionalProperties": false, "required": ["a"] }),
            json!({ "a": 1 }),
            json!({}),
        ),
        (json!({ "properties": null, "type": "object", "default": null }), json!({}), json!(1)),
    ] {
        assert_eq!(tried(&schema, &fits), Ok(true), "{schema}");
        assert_eq!(tried(&schema, &does_not), Ok(false), "{schema}");
    }
}

/// The steps in which a value is found to fit or not, or nothing if they are more than a check may have.
#[track_caller]
fn steps(schema: &Value, value: &Value) -> Option<(bool, u64)> {
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    schema.within(STEPS_MAX, value, || schema.validator.is_valid(value))
}

/// True if a tenth of that is enough.
#[track_caller]
fn is_cheap(schema: &Value, value: &Value) -> bool {
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    schema.within(STEPS_MAX / 10, value, || schema.validator.is_valid(value)).is_some()
}

/// Blocks of ten kinds that hold others, as editors have them: each level is looked at through each kind.
fn blocks() -> Value {
    let block = |nth: usize| {
        json!({
            "type": "object",
            "properties": {
                "type": { "const": format!("t{nth}") },
                "children": { "type": "array", "items": { "$ref": "#/$defs/b" } },
            },
            "required": ["type", "children"],
        })
    };
    let text = json!({ "type": "object", "properties": { "type": { "const": "text" } }, "required": ["type", "text"] });
    let kinds: Vec<Value> = (0..10).map(block).chain([text]).collect();
    json!({ "$defs": { "b": { "anyOf": kinds } }, "$ref": "#/$defs/b" })
}

fn block(levels: usize, children: usize) -> Value {
    match levels {
        0 => json!({ "type": "text", "text": "q" }),
        _ => json!({ "type": "t9", "children": vec![block(levels - 1, children); children] }),
    }
}

/// Any JSON, spelt out.
fn any_json() -> Value {
    let plain = ["null", "boolean", "number", "string"].map(|kind| json!({ "type": kind }));
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/j" } });
    let table = json!({ "type": "object", "additionalProperties": { "$ref": "#/$defs/j" } });
    let kinds: Vec<Value> = plain.into_iter().chain([list, table]).collect();
    json!({ "$defs": { "j": { "anyOf": kinds } }, "$ref": "#/$defs/j" })
}

#[test]
fn honest_values_of_recursive_schemas_pass() {
    let row = |nth: usize| {
        (0..10).map(|column| (format!("k{column}"), json!(nth))).collect::<serde_json::Map<_, _>>()
    };
    let rows = |count: usize| (0..count).map(|nth| Value::Object(row(nth))).collect::<Value>();
    let (blocks, any) = (blocks(), any_json());
    for (schema, value) in [
        (&blocks, block(6, 1)),
        (&blocks, block(20, 1)),
        (&blocks, block(5, 5)),
        (&blocks, block(2, 50)),
        (&any, rows(3_000)),
        (&any, rows(8_000)),
        (&any, (0..100).fold(json!(5), |within, _| json!([within]))),
    ] {
        assert!(steps(schema, &value).is_some_and(|(fits, _)| fits), "{:?}", steps(schema, &value));
    }
    assert_eq!(steps(&blocks, &block(6, 1)).map(|(_, steps)| steps < 5_000), Some(true));
}

/// So many times the same text in an array, with a schema for each item.
#[track_caller]
fn check_texts(item: &Value, text: &str, expected: [bool; 3]) {
    // Whether one fits does not end the check.
    let schema = json!({ "properties": { "x": { "items": { "anyOf": [item, { "type": "string" }] } } } });
    let outcome = |texts: usize| {
        let texts: Vec<String> = (0..texts).map(|nth| format!("{text}{nth}")).collect();
        is_cheap(&schema, &json!({ "x": texts }))
    };
    assert_eq!([1, 100, 10_000].map(outcome), expected, "{item}");
}

#[test]
fn all_texts_patterns_and_branches_are_one_sum() {
    let patterns = |count: usize| json!({ "anyOf": (0..count).map(|nth| json!({ "pattern": format!("a[ab]*c{nth}|q") })).collect::<Vec<_>>() });
    let any_of =
        |count: usize| json!({ "anyOf": (0..count).map(|nth| json!({ "const": nth })).collect::<Vec<_>>() });
    let unseen = json!({ "allOf": vec![json!({}); 2_000] });
    let name = json!({ "propertyNames": { "anyOf": [{ "not": patterns(30) }, { "type": "string" }] } });
    let ab = "ab".repeat(100);
    check_texts(&patterns(1), &ab, [true, true, true]);
    check_texts(&json!({ "not": patterns(30) }), &ab, [true, true, false]);
    check_texts(&any_of(3), "x", [true, true, true]);
    check_texts(&any_of(5_000), "x", [true, true, false]);
    check_texts(&unseen, "x", [true, true, false]);
    check_texts(&json!({ "uniqueItems": true, "minLength": 1 }), &ab, [true, true, true]);
    let names = |count: usize| {
        let names = (0..count).map(|nth| (format!("{ab}{nth}"), json!(1)));
        Value::Object(names.collect())
    };
    assert_eq!([1, 100, 10_000].map(|count| is_cheap(&name, &names(count))), [true, true, false]);
    // The validator's own engine runs those of names; what it takes is found before.
    let patterned =
        json!({ "patternProperties": { "b(ab)+a0": {}, "^[a-z]*$": {}, "c1": {}, "c2": {}, "c3": {} } });
    assert_eq!([1, 100, 10_000].map(|count| is_cheap(&patterned, &names(count))), [true, true, false]);
    let honest = json!({ "patternProperties": { "^[a-zA-Z0-9._-]{1,64}$": { "type": "integer" } }, "additionalProperties": false });
    let ids = |count: usize| {
        (0..count).map(|nth| (format!("user.{nth}"), json!(1))).collect::<serde_json::Map<_, _>>()
    };
    assert!(steps(&honest, &Value::Object(ids(3_000))).is_some_and(|(fits, _)| fits));
}

#[test]
fn what_cannot_be_decided_says_so_and_the_next_check_is_not_affected() {
    let kinds: Vec<Value> = (0..5_000).map(|nth| json!({ "const": nth })).collect();
    let schema = json!({ "items": { "anyOf": kinds } });
    let schema = Schema::compile(schema.to_string().as_bytes()).expect("sound");
    let bomb = (0..5_000).collect::<Value>();
    let Err(Misfit::Undecided(violations)) = schema.check(&bomb) else { panic!("it is decided") };
    assert_eq!(violations[0].expected, "a value that can be checked against the schema in time");
    assert_eq!(schema.check(&json!([12])), Ok(()));
    assert!(matches!(schema.check(&json!([-1])), Err(Misfit::Wrong(_))));
}

#[test]
fn no_schema_and_no_value_are_too_deep_for_the_stack() {
    // Without optimisation, the same takes eight times as much as in a thread of the program.
    let roomy = std::thread::Builder::new().stack_size(16 * 1024 * 1024).spawn(check_chains);
    roomy.expect("it starts").join().expect("it comes to its end");
}

fn check_chains() {
    // So many parts, each of which leads into the next in one of the ways that there are.
    let chain = |length: usize, lead: &dyn Fn(Value) -> Value, last: Value| {
        let mut defs = serde_json::Map::from_iter([("d0".to_owned(), last)]);
        for nth in 1..=length {
            defs.insert(format!("d{nth}"), lead(json!({ "$ref": format!("#/$defs/d{}", nth - 1) })));
        }
        json!({ "$defs": defs, "$ref": format!("#/$defs/d{length}") })
    };
    let leads: [&dyn Fn(Value) -> Value; 5] = [
        &|next| next,
        &|next| json!({ "allOf": [next] }),
        &|next| json!({ "oneOf": [{ "type": "integer" }, next] }),
        &|next| json!({ "properties": { "a": next } }),
        &|next| json!({ "unevaluatedProperties": next, "if": { "not": { "type": "null" } } }),
    ];
    let deep = |levels: usize| (0..levels).fold(json!("x"), |within, _| json!({ "a": within }));
    for lead in leads {
        let mut ends = Vec::new();
        for length in [5, 20, 100, 250, 550, 5_000, 20_000] {
            let again = chain(length, lead, json!({ "additionalProperties": { "$ref": "#" } }));
            for schema in [again, chain(length, lead, json!({}))] {
                let compiled = Schema::compile(schema.to_string().as_bytes());
                let end = |compiled: &Schema, levels| match compiled.check(&deep(levels)) {
                    Ok(()) => "fits",
                    Err(Misfit::Wrong(_)) => "wrong",
                    Err(Misfit::Undecided(_)) => "undecided",
                };
                ends.push(
                    compiled
                        .map(|compiled| [5, 120].map(|levels| end(&compiled, levels)))
                        .map_err(|_| length),
                );
            }
        }
        assert!(ends[..2].iter().all(|end| end.as_ref().is_ok_and(|end| end[0] == "fits")), "{ends:?}");
        assert!(ends[12..].iter().all(Result::is_err), "{ends:?}");
    }
}

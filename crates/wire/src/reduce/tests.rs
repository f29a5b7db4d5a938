//! Entries and results before and after, in every revision.

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn text(json: &str) -> Text {
    Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
}

/// What leaves in each revision; `=` for the very same bytes.
#[track_caller]
fn check(reduce: fn(Revision, &Text) -> Text, before: &str, expected: Expect) {
    let before = text(before);
    let shown: String = Revision::ALL
        .into_iter()
        .map(|revision| {
            let after = reduce(revision, &before);
            let is_same = after.as_str().as_ptr() == before.as_str().as_ptr();
            format!("{} {}\n", revision.name(), if is_same { "=" } else { after.as_str() })
        })
        .collect();
    expected.assert_eq(&shown);
}

#[test]
fn what_an_upstream_says_of_itself_is_for_its_own_client() {
    check(
        complete_result,
        r#"{"a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"},"io.modelcontextprotocol/related-task":{},"x":1.0}}"#,
        expect![[r#"
            2024-11-05 {"a":1,"_meta":{"io.modelcontextprotocol/related-task":{},"x":1.0}}
            2025-03-26 {"a":1,"_meta":{"io.modelcontextprotocol/related-task":{},"x":1.0}}
            2025-06-18 {"a":1,"_meta":{"io.modelcontextprotocol/related-task":{},"x":1.0}}
            2025-11-25 {"a":1,"_meta":{"io.modelcontextprotocol/related-task":{},"x":1.0}}
            2026-07-28 {"resultType":"complete","a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"},"io.modelcontextprotocol/related-task":{},"x":1.0}}
        "#]],
    );
    check(
        call_result,
        r#"{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
        expect![[r#"
            2024-11-05 {"content":[]}
            2025-03-26 {"content":[]}
            2025-06-18 {"content":[]}
            2025-11-25 {"content":[]}
            2026-07-28 =
        "#]],
    );
}

#[test]
fn entries_lose_what_a_revision_lacks() {
    check(
        tool,
        r#"{"name":"n","title":"N","inputSchema":{ "title":1.0 },"outputSchema":{"type":"object"},"annotations":{},"icons":[],"execution":{},"_meta":{},"x":1}"#,
        expect![[r#"
            2024-11-05 {"name":"n","inputSchema":{ "title":1.0 },"x":1}
            2025-03-26 {"name":"n","inputSchema":{ "title":1.0 },"annotations":{},"x":1}
            2025-06-18 {"name":"n","title":"N","inputSchema":{ "title":1.0 },"outputSchema":{"type":"object"},"annotations":{},"_meta":{},"x":1}
            2025-11-25 =
            2026-07-28 {"name":"n","title":"N","inputSchema":{ "title":1.0 },"outputSchema":{"type":"object"},"annotations":{},"icons":[],"_meta":{},"x":1}
        "#]],
    );
    check(
        tool,
        r#"{"name":"n","description":"d","inputSchema":{}}"#,
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 =
    "#]],
    );
    check(
        tool,
        r#"{"name":"n","outputSchema":{"type":"array"}}"#,
        expect![[r#"
        2024-11-05 {"name":"n"}
        2025-03-26 {"name":"n"}
        2025-06-18 {"name":"n"}
        2025-11-25 {"name":"n"}
        2026-07-28 =
    "#]],
    );
    check(
        listed,
        r#"{"uri":"u","name":"n","title":"N","annotations":{},"size":1,"icons":[]}"#,
        expect![[r#"
            2024-11-05 {"uri":"u","name":"n","annotations":{},"size":1}
            2025-03-26 {"uri":"u","name":"n","annotations":{},"size":1}
            2025-06-18 {"uri":"u","name":"n","title":"N","annotations":{},"size":1}
            2025-11-25 =
            2026-07-28 =
        "#]],
    );
    check(
        listed,
        r#"{"_meta":{},"name":"n","arguments":[{"name":"a","title":"A"}]}"#,
        expect![[r#"
        2024-11-05 {"name":"n","arguments":[{"name":"a","title":"A"}]}
        2025-03-26 {"name":"n","arguments":[{"name":"a","title":"A"}]}
        2025-06-18 =
        2025-11-25 =
        2026-07-28 =
    "#]],
    );
    check(
        listed,
        r#"{"uriTemplate":"u","t\u0069tle":"N"}"#,
        expect![[r#"
        2024-11-05 {"uriTemplate":"u"}
        2025-03-26 {"uriTemplate":"u"}
        2025-06-18 =
        2025-11-25 =
        2026-07-28 =
    "#]],
    );
}

#[test]
fn results_of_calls_fit_their_clients() {
    check(
        call_result,
        r#"{"content":[{"type":"text","text":"a"}],"isError":false}"#,
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","content":[{"type":"text","text":"a"}],"isError":false}
    "#]],
    );
    check(
        call_result,
        r#"{"resultType":"complete","content":[{"type":"text","text":"a"}],"structuredContent":{"x":1.0}}"#,
        expect![[r#"
            2024-11-05 {"content":[{"type":"text","text":"a"}]}
            2025-03-26 {"content":[{"type":"text","text":"a"}]}
            2025-06-18 {"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1.0}}
            2025-11-25 {"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1.0}}
            2026-07-28 =
        "#]],
    );
    check(
        call_result,
        r#"{"content":[ ],"structuredContent":[1, 2],"resultType":"complete"}"#,
        expect![[r#"
            2024-11-05 {"content":[ {"type":"text","text":"[1, 2]"}]}
            2025-03-26 {"content":[ {"type":"text","text":"[1, 2]"}]}
            2025-06-18 {"content":[ {"type":"text","text":"[1, 2]"}]}
            2025-11-25 {"content":[ {"type":"text","text":"[1, 2]"}]}
            2026-07-28 =
        "#]],
    );
    check(
        call_result,
        r#"{"structuredContent":{"a":"b"}}"#,
        expect![[r#"
        2024-11-05 {"content":[{"type":"text","text":"{\"a\":\"b\"}"}]}
        2025-03-26 {"content":[{"type":"text","text":"{\"a\":\"b\"}"}]}
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","structuredContent":{"a":"b"}}
    "#]],
    );
    check(
        call_result,
        r#"{"content":[{"type":"image"}],"structuredContent":null}"#,
        expect![[r#"
        2024-11-05 {"content":[{"type":"image"}]}
        2025-03-26 {"content":[{"type":"image"}]}
        2025-06-18 {"content":[{"type":"image"}]}
        2025-11-25 {"content":[{"type":"image"}]}
        2026-07-28 {"resultType":"complete","content":[{"type":"image"}],"structuredContent":null}
    "#]],
    );
}

#[test]
fn blocks_and_members_of_calls_fit_their_clients() {
    check(
        call_result,
        r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":"AA=="},{"type":"resource_link","uri":"a:b","name":"n","description":"d"}, {"type":"text","text":"a"}]}"#,
        expect![[r#"
            2024-11-05 {"content":[{"type":"text","text":"[audio of the type \"audio/wav\": left out, since protocol version 2024-11-05 has none]"},{"type":"text","text":"[resource n, a:b: d]"}, {"type":"text","text":"a"}]}
            2025-03-26 {"content":[{"type":"audio","mimeType":"audio/wav","data":"AA=="},{"type":"text","text":"[resource n, a:b: d]"}, {"type":"text","text":"a"}]}
            2025-06-18 =
            2025-11-25 =
            2026-07-28 {"resultType":"complete","content":[{"type":"audio","mimeType":"audio/wav","data":"AA=="},{"type":"resource_link","uri":"a:b","name":"n","description":"d"}, {"type":"text","text":"a"}]}
        "#]],
    );
    check(
        call_result,
        r#"{"content":[{"type":"text","text":"\u00e9 \"resultType\""}]}"#,
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","content":[{"type":"text","text":"\u00e9 \"resultType\""}]}
    "#]],
    );
    check(
        call_result,
        r#"{"resultType":"task","taskId":"t","ttlMs":null}"#,
        expect![[r#"
        2024-11-05 {"taskId":"t"}
        2025-03-26 {"taskId":"t"}
        2025-06-18 {"taskId":"t"}
        2025-11-25 {"taskId":"t"}
        2026-07-28 =
    "#]],
    );
}

#[test]
fn results_of_prompts_fit_their_clients() {
    check(
        prompt_result,
        r#"{"messages":[{"role":"user","content":{"type":"audio","mimeType":"a/b"}},{"role":"user","content":[{"type":"resource_link","name":"n","title":"T","uri":"u"}]}]}"#,
        expect![[r#"
            2024-11-05 {"messages":[{"role":"user","content":{"type":"text","text":"[audio of the type \"a/b\": left out, since protocol version 2024-11-05 has none]"}},{"role":"user","content":[{"type":"text","text":"[resource T, u]"}]}]}
            2025-03-26 {"messages":[{"role":"user","content":{"type":"audio","mimeType":"a/b"}},{"role":"user","content":[{"type":"text","text":"[resource T, u]"}]}]}
            2025-06-18 =
            2025-11-25 =
            2026-07-28 {"resultType":"complete","messages":[{"role":"user","content":{"type":"audio","mimeType":"a/b"}},{"role":"user","content":[{"type":"resource_link","name":"n","title":"T","uri":"u"}]}]}
        "#]],
    );
    check(
        prompt_result,
        r#"{"resultType":"complete","messages":[]}"#,
        expect![[r#"
        2024-11-05 {"messages":[]}
        2025-03-26 {"messages":[]}
        2025-06-18 {"messages":[]}
        2025-11-25 {"messages":[]}
        2026-07-28 =
    "#]],
    );
}

#[test]
fn results_that_may_be_kept_say_for_how_long() {
    check(
        read_result,
        r#"{"contents":[]}"#,
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}
    "#]],
    );
    check(
        read_result,
        "{ }",
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","ttlMs":0,"cacheScope":"private" }
    "#]],
    );
    check(
        read_result,
        r#"{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"public"}"#,
        expect![[r#"
            2024-11-05 {"contents":[]}
            2025-03-26 {"contents":[]}
            2025-06-18 {"contents":[]}
            2025-11-25 {"contents":[]}
            2026-07-28 {"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"private"}
        "#]],
    );
    check(
        read_result,
        r#"{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"private"}"#,
        expect![[r#"
            2024-11-05 {"contents":[]}
            2025-03-26 {"contents":[]}
            2025-06-18 {"contents":[]}
            2025-11-25 {"contents":[]}
            2026-07-28 =
        "#]],
    );
    check(
        read_result,
        r#"{"resultType":"input_required","requestState":"s"}"#,
        expect![[r#"
        2024-11-05 {"requestState":"s"}
        2025-03-26 {"requestState":"s"}
        2025-06-18 {"requestState":"s"}
        2025-11-25 {"requestState":"s"}
        2026-07-28 =
    "#]],
    );
}

#[test]
fn other_results_say_that_they_are_complete() {
    check(
        read_result,
        r#"{"tools":[],"cacheScope":"private"}"#,
        expect![[r#"
        2024-11-05 {"tools":[]}
        2025-03-26 {"tools":[]}
        2025-06-18 {"tools":[]}
        2025-11-25 {"tools":[]}
        2026-07-28 {"resultType":"complete","ttlMs":0,"tools":[],"cacheScope":"private"}
    "#]],
    );
    check(
        complete_result,
        r#"{"completion":{"values":[]}}"#,
        expect![[r#"
        2024-11-05 =
        2025-03-26 =
        2025-06-18 =
        2025-11-25 =
        2026-07-28 {"resultType":"complete","completion":{"values":[]}}
    "#]],
    );
    check(
        complete_result,
        r#"{"result\u0054ype":"complete"}"#,
        expect![[r#"
        2024-11-05 {}
        2025-03-26 {}
        2025-06-18 {}
        2025-11-25 {}
        2026-07-28 =
    "#]],
    );
}

fn members_of(text: &Text) -> Vec<(String, String)> {
    let object = text.object().expect("an object");
    object.members().map(|it| (it.key().into_owned(), it.value.to_owned())).collect()
}

proptest! {
    /// Whatever a result is made of, what leaves is sound JSON, has a type only where it must, keeps all that is
    /// not about revisions, and is not changed by a second time.
    #[test]
    fn results_stay_sound(
        picked in prop::sample::subsequence(vec![
            r#""resultType":"complete""#, r#""ttlMs":1"#, r#""cacheScope":"public""#, r#""isError":true"#,
            r#""structuredContent":[1]"#, r#""_meta":{"x":"\u0041"}"#,
            r#""content":[{"type":"audio"}, {"type":"resource_link","uri":"u"}]"#,
            r#""messages":[{"content":{"type":"audio"}}]"#,
        ], 0..=8).prop_shuffle(),
        blank in "[ \n]{0,2}",
    ) {
        let before = text(&format!("{{{blank}{}{blank}}}", picked.join(&format!("{blank},{blank}"))));
        for revision in Revision::ALL {
            for reduce in [call_result, prompt_result, read_result, complete_result] {
                let after = reduce(revision, &before);
                crate::scan::check_text(after.as_str()).expect("sound");
                prop_assert_eq!(after.object().and_then(|it| it.get("resultType")).is_some(), revision.is_modern());
                let kept = |it: &(String, String)| ["isError", "_meta"].contains(&it.0.as_str());
                let left: Vec<_> = members_of(&after).into_iter().filter(kept).collect();
                prop_assert_eq!(left, members_of(&before).into_iter().filter(kept).collect::<Vec<_>>());
                prop_assert_eq!(reduce(revision, &after), after);
            }
        }
    }
}

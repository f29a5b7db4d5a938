//! `result_read`: reads on in a result that was too long for one answer. Who keeps it, for whom and for how long, is the
//! gate's affair.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Block, Context, Document, Effect, Example, LongResult, RESULT_READ, Tool, ToolError,
};

use crate::plain_schema::plain;

/// Reads on in a result.
#[derive(Debug)]
pub(crate) struct Read;

/// The arguments of `result_read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The result, as the end of the answer says that shows a part of it.
    id: String,
    /// The first byte to show, counted from 0. Default: the first that the first answer has not shown.
    offset: Option<u64>,
}

impl Tool for Read {
    const ABOUT: About = About {
        name: RESULT_READ,
        title: "Read on in a result",
        summary: "Read on in the result of a call that was too long for one answer: the end of that answer names its \
                  `id`, and the `offset` to go on at. Shows as much as suits one answer; a second block then says how \
                  to go on. A result is kept for half an hour, unless newer ones need its room.",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        // Whoever may call servers may read what they answer.
        scopes: &["upstream:call"],
        needs: &[],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[Example {
            title: "The second part of a result",
            arguments: r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 102400}"#,
        }],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, Input { id, offset }: Input, cx: &Context) -> Result<Document, ToolError> {
        let result = cx.results.as_ref().and_then(|results| results.find(&id)).ok_or_else(gone)?;
        let from = offset.map_or(result.part(0).end, |offset| usize::try_from(offset).unwrap_or(usize::MAX));
        if from >= result.bytes() {
            return Err(behind_the_end(&result));
        }
        let part = result.part(from);
        let mark = result.mark(&id, &part);
        Ok(Document(vec![Block::Text(result.text(&part).to_owned()), Block::Text(mark)]))
    }
}

/// The same words for what is another caller's: nobody learns of it.
fn gone() -> ToolError {
    ToolError::new(
        "result_not_found",
        "no result of this id is kept for this conversation: call the tool again that gave it, and ask it for less at once",
    )
}

fn behind_the_end(result: &LongResult) -> ToolError {
    let last = result.bytes().saturating_sub(1);
    ToolError::new(
        "invalid_offset",
        format!("`offset` is behind the end of this result: it goes up to {last}"),
    )
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use testkit::{Workspace, call};
    use tool_api::builtin;

    use super::*;

    /// The answer, with long texts told by their length and first letters.
    fn check(arguments: &str, expected: Expect) {
        let shown = call(&*builtin(Read), &Workspace::new(""), arguments);
        let line = |line: &str| match line.len() {
            0..=300 => format!("{line}\n"),
            bytes => format!("{}… ({bytes} bytes)\n", &line[..20]),
        };
        expected.assert_eq(&shown.lines().map(line).collect::<String>());
    }

    #[test]
    fn parts_are_read() {
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 0}"#,
            expect![[r#"
            text: aaaaaaaaaaaaaa… (102408 bytes)
            text: [102400 bytes from byte 0 of a result with 307200 bytes of text. To read on, call result_read with id: "0123456789abcdef0123456789abcdef", offset: 102400.]¶
        "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef"}"#,
            expect![[r#"
            text: bbbbbbbbbbbbbb… (102408 bytes)
            text: [102400 bytes from byte 102400 of a result with 307200 bytes of text. To read on, call result_read with id: "0123456789abcdef0123456789abcdef", offset: 204800.]¶
        "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 204800}"#,
            expect![[r#"
            text: cccccccccccccc… (102408 bytes)
            text: [102400 bytes from byte 204800 of a result with 307200 bytes of text. This is its end.]¶
        "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 307199}"#,
            expect![[r#"
            text: c¶
            text: [1 bytes from byte 307199 of a result with 307200 bytes of text. This is its end.]¶
        "#]],
        );
    }

    #[test]
    fn what_is_not_there_is_refused() {
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 307200}"#,
            expect![[r#"
                error invalid_offset: `offset` is behind the end of this result: it goes up to 307199
            "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": 18446744073709551615}"#,
            expect![[r#"
                error invalid_offset: `offset` is behind the end of this result: it goes up to 307199
            "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdef", "offset": -1}"#,
            expect![[r#"
                refused /offset: -1 is less than the minimum of 0
            "#]],
        );
        check(
            r#"{"id": "0123456789abcdef0123456789abcdee"}"#,
            expect![[r#"
                error result_not_found: no result of this id is kept for this conversation: call the tool again that gave it, and ask it for less at once
            "#]],
        );
        check(
            r#"{"id": ""}"#,
            expect![[r#"
                error result_not_found: no result of this id is kept for this conversation: call the tool again that gave it, and ask it for less at once
            "#]],
        );
        check(
            r#"{"offset": 1}"#,
            expect![[r#"
                refused : "id" is a required property
            "#]],
        );
    }
}

//! Results that are too large for one answer. Text is cut: the caller sees its head and its tail, and the whole is kept as an
//! artifact. Structure never is: it goes whole into the artifact, and the caller is told where it is.

use std::borrow::Cow;
use std::ops::Range;

use artifacts::Artifacts;
use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use tool_api::{ARTIFACT_READ, ARTIFACT_SEARCH, Artifact, Block, JSON, Outcome, Payload, TEXT, ToolError};

use crate::hands::Keeper;
use crate::result::TOO_LARGE;
use crate::result_limit::tokens;
use crate::text_block::{TextBlock, literal, replaced};

/// What stands between two blocks of text when they are read as one.
const BETWEEN: &str = "\n";

/// The share of the tail: the end of a log says how it came out, and its beginning what it was.
const TAIL_FRACTION: usize = 3;

/// A part ends with a line, if a line ends within this fraction of the part before its end.
const LINE_END_FRACTION: usize = 8;

/// Where the content stands in what a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the result of a call.
    Call,
    /// It is a task, which holds the result of a call once that is there.
    Task,
}

/// How the result of a call is cut.
pub(crate) struct Cutting {
    pub(crate) bytes_max: usize,
    pub(crate) place: Place,
    /// Where the whole goes.
    pub(crate) keeper: Keeper,
}

impl Cutting {
    /// The outcome with as much as one answer may have. Waits for the disk.
    pub(crate) fn cut(&self, outcome: Outcome) -> Result<Outcome, ToolError> {
        let Outcome { payload, mut artifacts, .. } = outcome;
        let payload = match payload {
            Payload::Ours { structured: Some(structured), .. } if structured.len() > self.bytes_max => {
                return Err(self.too_large(&structured));
            }
            Payload::Relayed { structured: Some(structured), result }
                if structured.len() > self.bytes_max =>
            {
                return Err(self.too_large(&result));
            }
            Payload::Ours { blocks, structured } => {
                Payload::Ours { blocks: self.blocks(blocks, &mut artifacts), structured }
            }
            Payload::Relayed { result, structured } => {
                let cut =
                    std::str::from_utf8(&result).ok().and_then(|text| self.answer(text, &mut artifacts));
                Payload::Relayed { result: cut.map_or(result, Bytes::from), structured }
            }
            other @ (Payload::InputRequired { .. } | Payload::Task { .. }) => other,
        };
        Ok(Outcome { payload, artifacts, ..outcome })
    }

    /// Keeps what has structure, and says where it is.
    fn too_large(&self, whole: &[u8]) -> ToolError {
        let size = format!(
            "the result has {} bytes with structure, about {} tokens, and one answer has at most {} bytes",
            whole.len(),
            tokens(whole.len()),
            self.bytes_max
        );
        match Artifacts::new_id().ok().map(|id| self.keeper.keep(id, ("result.json", JSON), whole)) {
            Some(Ok(kept)) => {
                let message = format!(
                    "{size}. It is kept whole: read it with {ARTIFACT_READ} (id: \"{}\"), find something in it with \
                     {ARTIFACT_SEARCH}, or ask for less at once",
                    kept.id
                );
                ToolError::new(TOO_LARGE, message).with_details(json!({ "artifact": kept.facts() }))
            }
            Some(Err(error)) => ToolError::new(
                TOO_LARGE,
                format!("{size}; it could not be kept: {error}. Ask for less at once"),
            ),
            None => ToolError::new(TOO_LARGE, format!("{size}; ask for less at once")),
        }
    }

    /// Content of ours.
    fn blocks(&self, blocks: Vec<Block>, kept: &mut Vec<Artifact>) -> Vec<Block> {
        let text_of = |block: &Block| match block {
            Block::Text(text) => Some(text.clone()),
            Block::Image { .. } | Block::Audio { .. } | Block::Blob { .. } => None,
        };
        let texts: Vec<_> = blocks.iter().map(text_of).collect();
        let Some(plan) = Plan::of(texts.iter().flatten().map(String::as_str), self.bytes_max) else {
            return blocks;
        };
        let mut mark = Some(self.mark(&plan, kept));
        let (mut shown, mut start) = (Vec::with_capacity(blocks.len() + 2), 0);
        for (block, text) in blocks.into_iter().zip(&texts) {
            let Some(text) = text else {
                shown.push(block);
                continue;
            };
            match plan.parts(start, text) {
                None => shown.push(block),
                Some((head, tail)) => {
                    let parts = [Some(head.to_owned()), mark.take(), Some(tail.to_owned())];
                    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
                    shown.extend(parts.map(Block::Text));
                }
            }
            start += text.len() + BETWEEN.len();
        }
        shown.extend(mark.map(Block::Text));
        shown
    }

    /// What a server answers, cut; nothing if it is to stay as it is.
    fn answer(&self, answer: &str, kept: &mut Vec<Artifact>) -> Option<String> {
        match self.place {
            Place::Call => self.call_result(answer, kept),
            Place::Task => replaced(answer, "result", |result| self.call_result(result, kept)),
        }
    }

    fn call_result(&self, result: &str, kept: &mut Vec<Artifact>) -> Option<String> {
        replaced(result, "content", |content| self.content(content, kept))
    }

    fn content(&self, content: &str, kept: &mut Vec<Artifact>) -> Option<String> {
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let texts: Vec<Option<TextBlock<'_>>> =
            blocks.iter().map(|block| TextBlock::of(block.get())).collect();
        let plan = Plan::of(texts.iter().flatten().map(|block| &*block.text), self.bytes_max)?;
        let mut mark = Some(format!(r#"{{"type":"text","text":{}}}"#, literal(&self.mark(&plan, kept))));
        let (mut shown, mut start) = (Vec::with_capacity(blocks.len() + 2), 0);
        for (block, text) in blocks.iter().zip(&texts) {
            let Some(text) = text else {
                shown.push(Cow::Borrowed(block.get()));
                continue;
            };
            match plan.parts(start, &text.text) {
                None => shown.push(Cow::Borrowed(block.get())),
                Some((head, tail)) => {
                    // One that names a resource stays, whatever is left of it.
                    shown.extend(text.with(head, text.is_resource, block.get()).map(Cow::Owned));
                    shown.extend(mark.take().map(Cow::Owned));
                    shown.extend(text.with(tail, false, block.get()).map(Cow::Owned));
                }
            }
            start += text.text.len() + BETWEEN.len();
        }
        shown.extend(mark.map(Cow::Owned));
        Some(format!("[{}]", shown.join(",")))
    }

    /// Keeps the whole, and says in the place of what is left out how to read it.
    fn mark(&self, plan: &Plan, kept: &mut Vec<Artifact>) -> String {
        let Plan { whole, left_out } = plan;
        let size = format!(
            "{} of {} bytes of text are left out here, {} lines and about {} tokens in all",
            left_out.len(),
            whole.len(),
            whole.lines().count(),
            tokens(whole.len())
        );
        let id = Artifacts::new_id().ok();
        match id.map(|id| self.keeper.keep(id, ("result.txt", TEXT), whole.as_bytes())) {
            Some(Ok(artifact)) => {
                let told = format!(
                    "[{size}. To read on, call {ARTIFACT_READ} with id: \"{}\", offset: {}; to find something, call \
                     {ARTIFACT_SEARCH} with this id.]",
                    artifact.id, left_out.start
                );
                kept.push(artifact);
                told
            }
            Some(Err(error)) => format!("[{size}. They could not be kept: {error}.]"),
            None => format!("[{size}. They could not be kept.]"),
        }
    }
}

/// What is left out of the text of a result.
struct Plan {
    whole: String,
    left_out: Range<usize>,
}

impl Plan {
    /// Nothing if all of it fits.
    fn of<'t>(texts: impl Iterator<Item = &'t str> + Clone, bytes_max: usize) -> Option<Plan> {
        let bytes: usize = texts.clone().map(str::len).sum();
        if bytes <= bytes_max {
            return None;
        }
        let whole = texts.collect::<Vec<_>>().join(BETWEEN);
        let tail_max = bytes_max / TAIL_FRACTION;
        let left_out = head_end(&whole, bytes_max - tail_max)..tail_start(&whole, tail_max);
        Some(Plan { whole, left_out })
    }

    /// What is shown of a text that begins there, of its head and its tail; nothing if all of it is.
    fn parts<'t>(&self, start: usize, text: &'t str) -> Option<(&'t str, &'t str)> {
        let Range { start: from, end: to } = self.left_out;
        let from = from.saturating_sub(start).min(text.len());
        let to = to.saturating_sub(start).min(text.len());
        (from < to).then(|| (&text[..from], &text[to..]))
    }
}

/// Where a head ends: with a line close before the most it may have, or else between two characters.
fn head_end(text: &str, bytes_max: usize) -> usize {
    let end = text.floor_char_boundary(bytes_max);
    let near = text.floor_char_boundary(bytes_max - bytes_max / LINE_END_FRACTION);
    text[near..end].rfind('\n').map_or(end, |at| near + at + 1)
}

/// Where a tail begins, by the same rule.
fn tail_start(text: &str, bytes_max: usize) -> usize {
    let start = text.ceil_char_boundary(text.len() - bytes_max);
    let near = text.floor_char_boundary(start + bytes_max / LINE_END_FRACTION).max(start);
    text[start..near].find('\n').map_or(start, |at| start + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a text at its head and at its tail, where 12 bytes are shown: 8 and 4.
    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let plan = Plan::of(std::iter::once(text), 12);
        assert_eq!(plan.as_ref().and_then(|plan| plan.parts(0, text)), expected, "{text:?}");
    }

    #[test]
    fn head_and_tail_end_with_a_line_or_a_character() {
        check("0123456789ab", None);
        check("0123456789abcdef", Some(("01234567", "cdef")));
        check("aééééééééé", Some(("aééé", "éé")));
        check("0123456\n89abcdef", Some(("0123456\n", "cdef")));
        check("😀😀😀😀😀", Some(("😀😀", "😀")));
        check("a😀😀😀😀😀", Some(("a😀", "😀")));
    }

    #[test]
    fn blocks_are_one_text() {
        let texts = ["0123456789", "abcdefghij", "klm"];
        let plan = Plan::of(texts.into_iter(), 12).expect("it is too long");
        assert_eq!(plan.whole, "0123456789\nabcdefghij\nklm");
        let starts = [0, 11, 22];
        let parts: Vec<_> = starts.iter().zip(texts).map(|(start, text)| plan.parts(*start, text)).collect();
        assert_eq!(parts, [Some(("01234567", "")), Some(("", "")), None]);
    }
}

//! Exact replacements in a text, one after the other, all or none; and why one could not be made.

use std::borrow::Cow;

use memchr::memmem;
use tool_api::ToolError;

use super::lines_told::{line_numbers, lines_told};
use super::near_misses::near_misses;
use super::whole_text::has_crlf_alone;
use super::writer::CONTENT_BYTES_MAX;

/// One replacement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// How often `old` must stand there.
    pub(super) count: usize,
}

/// The text after all edits, and how many places were replaced.
pub(super) fn edited(text: &str, edits: &[Edit<'_>]) -> Result<(String, usize), ToolError> {
    let has_crlf = has_crlf_alone(text);
    let (mut now, mut replaced) = (Cow::Borrowed(text), 0);
    for (nth, edit) in edits.iter().enumerate() {
        let which =
            if edits.len() == 1 { String::new() } else { format!("edit {} of {}: ", nth + 1, edits.len()) };
        let refused = |code: &'static str, why: String| {
            ToolError::new(code, format!("{which}{why}; nothing was changed"))
        };
        if edit.old.is_empty() {
            let why = "`old_text` is empty; to write a whole file call workspace_write";
            return Err(refused("invalid_edit", why.to_owned()));
        }
        if edit.old == edit.new {
            return Err(refused("invalid_edit", "`old_text` and `new_text` are the same".to_owned()));
        }
        // Models are shown `\r\n` and leave the `\r` out.
        let as_file = |given| if has_crlf { with_crlf(given) } else { Cow::Borrowed(given) };
        let (old, new) = match edit.old.contains('\r') || edit.new.contains('\r') {
            true => (Cow::Borrowed(edit.old), Cow::Borrowed(edit.new)),
            false => (as_file(edit.old), as_file(edit.new)),
        };
        let places: Vec<usize> = memmem::find_iter(now.as_bytes(), old.as_bytes()).collect();
        if places.len() != edit.count {
            let is_first = nth == 0;
            return Err(refused(code(&places), miscounted(&now, &old, &places, edit.count, is_first)));
        }
        // Asked before the new text is made: each place may take megabytes.
        if is_too_large(now.len(), places.len(), (old.len(), new.len())) {
            let why = format!("the new text is larger than {CONTENT_BYTES_MAX} bytes; make it shorter");
            return Err(refused("too_large", why));
        }
        replaced += places.len();
        now = Cow::Owned(with_new(&now, &places, old.len(), &new));
    }
    Ok((now.into_owned(), replaced))
}

/// The text with `new` in place of so many bytes at each of the places, which are in order.
fn with_new(text: &str, places: &[usize], old_bytes: usize, new: &str) -> String {
    // All at once: to grow a text of megabytes is to copy it.
    let bytes = text.len() + places.len() * new.len() - places.len() * old_bytes;
    let (mut out, mut copied) = (String::with_capacity(bytes), 0);
    for &place in places {
        out.push_str(&text[copied..place]);
        out.push_str(new);
        copied = place + old_bytes;
    }
    out.push_str(&text[copied..]);
    out
}

/// Whether a text grows beyond what is written. One that does not grow is judged by its bytes in its own encoding alone.
fn is_too_large(len: usize, places: usize, (old, new): (usize, usize)) -> bool {
    let added = places.saturating_mul(new.saturating_sub(old));
    added > 0 && len.saturating_add(added) > CONTENT_BYTES_MAX
}

fn with_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', "\r\n")) } else { Cow::Borrowed(text) }
}

fn code(places: &[usize]) -> &'static str {
    if places.is_empty() { "text_not_found" } else { "text_count" }
}

/// How often the text stands where, in place of how often it should.
fn miscounted(now: &str, old: &str, places: &[usize], count: usize, is_first: bool) -> String {
    let edited = if is_first { "" } else { " as the edits before have left it" };
    if places.is_empty() {
        let near = near_misses(now, old);
        let near = if near.is_empty() {
            "read the file and take the text from it".to_owned()
        } else {
            near.join("; ")
        };
        return format!("`old_text` does not stand in the file{edited}: {near}");
    }
    let times = |n: usize| if n == 1 { "once".to_owned() } else { format!("{n} times") };
    let lines = lines_told(&line_numbers(now, places));
    let hint = if places.len() > count { "take more of the text around it, or say" } else { "say" };
    format!(
        "`old_text` stands {} in the file{edited}, not {}: at {lines}; {hint} `count`: {}",
        times(places.len()),
        times(count),
        places.len()
    )
}

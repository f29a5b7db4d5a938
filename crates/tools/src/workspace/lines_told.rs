//! Numbers of lines as a sentence names them.

use std::borrow::Cow;

use tool_api::Secrets;

use memchr::memchr_iter;

/// Most lines that a sentence names.
pub(super) const LINES_TOLD_MAX: usize = 20;

/// "line 3", "lines 3, 8, 20", and "and more" behind the last that is named.
pub(super) fn lines_told(lines: &[usize]) -> String {
    let told = lines.iter().take(LINES_TOLD_MAX).map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if lines.len() > LINES_TOLD_MAX { " and more" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {told}{more}")
}

/// The lines, counted from 1, of places in ascending order.
pub(super) fn line_numbers(text: &str, places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut of = |&place: &usize| {
        line += memchr_iter(b'\n', &text.as_bytes()[from..place]).count();
        from = place;
        line
    };
    places.iter().map(&mut of).collect()
}

/// A line without secrets, for one who cuts it afterwards: half of a secret would pass every later look.
pub(super) fn struck<'a>(line: &'a [u8], secrets: Option<&dyn Secrets>) -> Cow<'a, [u8]> {
    let Some(secrets) = secrets else { return Cow::Borrowed(line) };
    let mut striking = secrets.striking();
    let mut clean = striking.push(line);
    clean.extend(striking.finish());
    Cow::Owned(clean)
}

//! Where the hunks of a patch fit in a text: at the lines that they name, or as near to them as their context stands, as
//! `git apply` has it; with fuzz also where some lines at the ends of the context differ.

use diffy::{Hunk, Line};
use tool_api::Secrets;

use super::super::lines_told::struck;
use super::looking::Looking;

/// Longest part of a line that is quoted, in characters.
const QUOTED_CHARS_MAX: usize = 80;

/// What is said of a hunk that was not looked for to the end.
const TOO_LONG: &str =
    "looking for where it stands takes too long; make the patch anew from the files as they are, or cut it";

/// What is said of a hunk that would fit where it says, were that the end of the file.
const BARE: &str =
    "no line of context stands below its changes, as only at the end of a file; give the lines around them";

/// A text with all hunks in it, and what is to say of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fitted {
    pub(super) text: String,
    pub(super) remarks: Vec<String>,
}

/// Puts all hunks in, or says of each that does not fit why.
pub(super) fn fit(
    text: &str,
    hunks: &[Hunk<'_, str>],
    fuzz_max: usize,
    looking: &Looking<'_>,
) -> Result<Fitted, Vec<String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut new, mut remarks, mut faults) = (String::with_capacity(text.len()), Vec::new(), Vec::new());
    // How far the hunks so far stood from where they said, and how much of the text is behind them.
    let (mut offset, mut done) = (0_isize, 0);
    for (nth, hunk) in hunks.iter().enumerate() {
        let old = before(hunk.lines());
        let said = if old.is_empty() {
            hunk.old_range().start()
        } else {
            hunk.old_range().start().saturating_sub(1)
        };
        let wanted = said.saturating_add_signed(offset).min(lines.len());
        let Some(place) = place(&lines, hunk, (wanted, done), fuzz_max, looking) else {
            if looking.is_over() {
                return Err(vec![format!("hunk {}: {TOO_LONG}", nth + 1)]);
            }
            let is_bare = context(hunk, &old).1 == 0 && wanted + old.len() < lines.len();
            let fault = match is_bare && lines[wanted..].starts_with(&old) {
                true => BARE.to_owned(),
                false => fault(&lines, &old, wanted, looking.secrets),
            };
            faults.push(format!("hunk {}: {fault}", nth + 1));
            continue;
        };
        offset = place.at as isize - said as isize - place.fuzz_before as isize;
        remarks.extend(remark(nth + 1, offset, place.fuzz));
        new.extend(lines[done..place.at].iter().copied());
        let kept = &hunk.lines()[place.fuzz_before..hunk.lines().len() - place.fuzz_behind];
        new.extend(kept.iter().filter_map(|line| match line {
            Line::Context(line) | Line::Insert(line) => Some(*line),
            Line::Delete(_) => None,
        }));
        done = place.at + old.len() - place.fuzz_before - place.fuzz_behind;
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    new.extend(lines[done..].iter().copied());
    Ok(Fitted { text: new, remarks })
}

/// Where a hunk stands.
struct Place {
    at: usize,
    fuzz: usize,
    /// Lines of its context that are left out before and behind.
    fuzz_before: usize,
    fuzz_behind: usize,
}

fn place(
    lines: &[&str],
    hunk: &Hunk<'_, str>,
    (wanted, done): (usize, usize),
    fuzz_max: usize,
    looking: &Looking<'_>,
) -> Option<Place> {
    let old = before(hunk.lines());
    let (leading, trailing) = context(hunk, &old);
    // As git has it: a hunk of the first line is of the beginning, and one without context behind it of the end.
    let (is_first, is_last) = (hunk.old_range().start() <= 1, trailing == 0);
    (0..=fuzz_max).find_map(|fuzz| {
        let (fuzz_before, fuzz_behind) = (fuzz.min(leading), fuzz.min(trailing));
        if fuzz > 0 && fuzz_before + fuzz_behind == 0 {
            return None;
        }
        let part = &old[fuzz_before..old.len() - fuzz_behind];
        let fits = |at: &usize| {
            let is_bound = fuzz == 0 && (is_first && *at != 0 || is_last && at + part.len() != lines.len());
            *at >= done
                && !is_bound
                && lines.get(*at..at + part.len()).is_some_and(|found| looking.are_same(found, part))
        };
        // A place costs something even where no line is compared.
        let mut places = nearest(wanted + fuzz_before, lines.len()).take_while(|_| looking.spend(1));
        let at = places.find(fits)?;
        Some(Place { at, fuzz, fuzz_before, fuzz_behind })
    })
}

/// How many lines of context a hunk begins with and ends with.
fn context(hunk: &Hunk<'_, str>, old: &[&str]) -> (usize, usize) {
    let is_context = |line: &&Line<'_, str>| matches!(line, Line::Context(_));
    let leading = hunk.lines().iter().take_while(is_context).count();
    let trailing = hunk.lines().iter().rev().take_while(is_context).count();
    (leading, trailing.min(old.len() - leading.min(old.len())))
}

/// All places, the nearest first.
fn nearest(wanted: usize, len: usize) -> impl Iterator<Item = usize> {
    let wanted = wanted.min(len);
    let by_distance = move |distance: usize| {
        let behind = (wanted + distance <= len).then_some(wanted + distance);
        let before = wanted.checked_sub(distance).filter(|_| distance > 0);
        before.into_iter().chain(behind)
    };
    (0..=len).flat_map(by_distance)
}

/// The lines that must stand there.
fn before<'a>(lines: &[Line<'a, str>]) -> Vec<&'a str> {
    let kept = lines.iter().filter_map(|line| match line {
        Line::Context(line) | Line::Delete(line) => Some(*line),
        Line::Insert(_) => None,
    });
    kept.collect()
}

fn remark(nth: usize, offset: isize, fuzz: usize) -> Option<String> {
    let at = match offset {
        0 => None,
        1.. => Some(format!("{offset} lines further down")),
        _ => Some(format!("{} lines further up", -offset)),
    };
    let fuzz = (fuzz > 0).then(|| format!("with a fuzz of {fuzz}"));
    let how: Vec<String> = at.into_iter().chain(fuzz).collect();
    (!how.is_empty()).then(|| format!("hunk {nth} fitted {}", how.join(" ")))
}

/// What stands where the hunk should in place of what it says.
fn fault(lines: &[&str], old: &[&str], wanted: usize, secrets: Option<&dyn Secrets>) -> String {
    let differs = |(nth, line): &(usize, &&str)| lines.get(wanted + nth) != Some(*line);
    let Some((nth, line)) = old.iter().enumerate().find(differs) else {
        return "it stands where another hunk is, or not at the beginning of the file as it says".to_owned();
    };
    let found = lines
        .get(wanted + nth)
        .map_or("the file has ended".to_owned(), |found| format!("stands {}", quoted(found, secrets)));
    let is_end_alone = lines.get(wanted + nth).is_some_and(|found| line.strip_suffix('\n') == Some(found));
    let hint = if is_end_alone { "; below that line write `\\ No newline at end of file`" } else { "" };
    format!("at line {} {found}, and the patch has {}{hint}", wanted + nth + 1, quoted(line, None))
}

/// A line as it is shown. Secrets go first: cut or escaped, nobody would know them again.
fn quoted(line: &str, secrets: Option<&dyn Secrets>) -> String {
    let has_end = line.ends_with('\n');
    let line = struck(line.trim_end_matches('\n').as_bytes(), secrets);
    let line = String::from_utf8_lossy(&line);
    let cut: String = line.chars().take(QUOTED_CHARS_MAX).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("`{}{more}`{}", cut.escape_debug(), if has_end { "" } else { " without a line end" })
}
